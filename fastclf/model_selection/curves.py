"""Scores as a function of a parameter, and of the number of train rows."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from .._estimator import clone
from .._exceptions import warn
from .._shuffles import permutation
from .._threads import distinct, require_verbose, run
from .._validation import as_array, as_numbers, as_random_state, described, require_strings, require_truth
from .candidates import Candidates
from .evaluation import Evaluation, Request, check_estimator, classifies, documented, tell_failures
from .routing import route
from .tuning import as_grids, candidates_of


@documented
def validation_curve(
    estimator,
    X,
    y=None,
    *,
    param_name,
    param_range,
    groups=None,
    cv=None,
    scoring=None,
    n_jobs=None,
    pre_dispatch="all",
    verbose=0,
    error_score=np.nan,
    params=None,
    random_state=None,
):
    """Scores on train and test rows for each value of one parameter, with the estimator's shortcuts.

    Parameters
    ----------
    {estimator}
    {X}
    {y}
    param_name : str
        The parameter.
    param_range : sequence of values
        Its values.
    {groups}
    {cv}
    {scoring}
        If there are several figures, the first is returned.
    {n_jobs}
    {pre_dispatch}
    {verbose}
    {error_score}
    {params}
    {random_state}

    Returns
    -------
    train_scores, test_scores : ndarray of shape (n_values, n_folds)
        The same as those of scikit-learn's `validation_curve`.

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier, validation_curve
    >>> X, y = [[float(i)] for i in range(20)], [0] * 10 + [1] * 10
    >>> train, test = validation_curve(
    ...     DecisionTreeClassifier(), X, y, param_name="ccp_alpha", param_range=[0.0, 0.6], cv=5
    ... )
    >>> train.mean(axis=1).tolist()
    [1.0, 0.5]
    """
    check_estimator(estimator, scoring=scoring)
    require_strings([param_name], "param_name")
    _, candidates, place = candidates_of(estimator, as_grids({param_name: param_range}))
    request = Request(X, y, cv, groups, scoring, params, error_score, random_state, train_scores=True)
    request = route(request, estimator, "validation_curve")
    measured = Evaluation(request, candidates).run(n_jobs, verbose, label="validation curve")
    tell_failures(measured)
    return _both_sides([measured[g].result(v) for g, v in place])


def _both_sides(results):
    """Arrays (n_results, n_folds) of the train scores and of the test scores by the first scorer."""
    name = next(key[5:] for key in results[0] if key.startswith("test_"))
    return tuple(np.array([result[f"{side}_{name}"] for result in results]) for side in ("train", "test"))


@documented
def learning_curve(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    train_sizes=(0.1, 0.325, 0.55, 0.775, 1.0),
    cv=None,
    scoring=None,
    exploit_incremental_learning=False,
    n_jobs=None,
    pre_dispatch="all",
    verbose=0,
    shuffle=False,
    random_state=None,
    error_score=np.nan,
    return_times=False,
    params=None,
):
    """Scores on train and test rows for increasing numbers of train rows.

    Parameters
    ----------
    {estimator}
    {X}
    {y}
    {groups}
    train_sizes : array-like, default=(0.1, 0.325, 0.55, 0.775, 1.0)
        Shares of the train rows of the first fold, in (0, 1], or numbers of rows; a fold with fewer rows uses all of
        them.
    {cv}
    {scoring}
        If there are several figures, the first is returned.
    exploit_incremental_learning : bool, default=False
        Whether a model is updated, by its ``partial_fit``, with the rows that the next size adds.
    {n_jobs}
    {pre_dispatch}
    {verbose}
    shuffle : bool, default=False
        Whether the train rows are drawn at random, by `random_state`; otherwise they are the first train rows of each
        fold.
    random_state : int, RandomState or None, default=None
        Seed of `shuffle`; an integer gives the same rows as in scikit-learn.
    {error_score}
    return_times : bool, default=False
        Whether the times are returned, too.
    {params}

    Returns
    -------
    train_sizes_abs : ndarray of shape (n_sizes,)
        The numbers of rows, ascending, without repetition.
    train_scores, test_scores : ndarray of shape (n_sizes, n_folds)
        The same as those of scikit-learn's `learning_curve`.
    fit_times, score_times : ndarray of shape (n_sizes, n_folds)
        Seconds, with `return_times`.

    Examples
    --------
    >>> from fastclf import NearestCentroid, learning_curve
    >>> X, y = [[float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> sizes, train, test = learning_curve(NearestCentroid(), X, y, train_sizes=[20, 30], cv=4)
    >>> sizes.tolist(), test.shape
    ([20, 30], (2, 4))
    """
    check_estimator(estimator, scoring=scoring)
    exploit_incremental_learning = require_truth("exploit_incremental_learning", exploit_incremental_learning)
    shuffle, return_times = require_truth("shuffle", shuffle), require_truth("return_times", return_times)
    if exploit_incremental_learning and not hasattr(estimator, "partial_fit"):
        raise ValueError(
            "An estimator must support the partial_fit interface to exploit incremental learning, and"
            f" {type(estimator).__name__} does not"
        )
    request = Request(X, y, cv, groups, scoring, params, error_score, train_scores=True)
    request = route(request, estimator, "learning_curve", ("fit", "partial_fit")[: 1 + exploit_incremental_learning])
    evaluation = Evaluation(request, [Candidates(estimator)])
    rows = np.arange(evaluation.n)
    folds = [(rows[train], rows[test]) for train, test in evaluation.folds]
    sizes = _as_sizes(train_sizes, len(folds[0][0]))
    if shuffle:
        rng = as_random_state(random_state)
        folds = [(permutation(rng, train), test) for train, test in folds]
    if (require_verbose(verbose) or 0) > 0:
        print(f"[learning_curve] Training set sizes: {sizes}")
    request = replace(request, groups=None)
    if exploit_incremental_learning:
        results = _fitted_further(Evaluation(replace(request, cv=folds), [Candidates(estimator)]), sizes, n_jobs)
    else:
        measured = []
        for size in sizes:
            request_of_size = replace(request, cv=[(train[:size], test) for train, test in folds])
            measured += Evaluation(request_of_size, [Candidates(estimator)]).run(n_jobs, verbose, label=f"{size} rows")
        tell_failures(measured)
        results = [found.result(0) for found in measured]
    scores = sizes, *_both_sides(results)
    if not return_times:
        return scores
    return *scores, *(np.array([result[name] for result in results]) for name in ("fit_time", "score_time"))


def _fitted_further(evaluation, sizes, n_jobs):
    """For each train size the scores and times of each fold's model, which `partial_fit` trains from size to size."""
    [candidates] = evaluation.candidates
    estimator, targets = candidates.estimator, evaluation.targets
    classes = {"classes": distinct(targets)} if targets is not None and classifies(estimator) else {}
    names = ["fit_time", "score_time", *(f"{side}_score" for side in ("train", "test"))]
    found = [{name: np.full(len(evaluation.folds), np.nan) for name in names} for _ in sizes]

    def work(i):
        train, test = evaluation.folds[i]
        model, first, asked = clone(estimator), 0, evaluation.part(test, train)
        for size, figures in zip(sizes, found):
            more, began = evaluation.part(train[first:size]), perf_counter()
            given = (more.X,) if more.y is None else (more.X, more.y)
            model.partial_fit(*given, **classes, **evaluation.fit_params(train[first:size]))
            figures["fit_time"][i], began, first = perf_counter() - began, perf_counter(), size
            for side, part in (("test", asked), ("train", evaluation.part(train[:size]))):
                [(scores, _)] = evaluation.judge(candidates, [model], part)
                figures[f"{side}_score"][i] = next(iter(scores.values()))
                if side == "test":
                    figures["score_time"][i] = perf_counter() - began
            yield

    run(work, range(len(evaluation.folds)), evaluation.threads(n_jobs))
    return found


def _as_sizes(train_sizes, n):
    """The numbers of train rows, ascending and at most n, from shares of n or numbers of rows."""
    sizes = as_array(train_sizes, "train_sizes")
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"train_sizes is {described(train_sizes)}; a list of shares or numbers of rows is wanted")
    if sizes.dtype.kind == "f":
        sizes = as_numbers(sizes)
        if not ((sizes > 0) & (sizes <= 1)).all():
            raise ValueError(f"train_sizes is {described(train_sizes)}; shares above 0 up to 1 are wanted")
        sizes = np.clip((sizes * n).astype(np.intp), 1, n)
    if sizes.dtype.kind not in "iu" or sizes.min() < 1 or sizes.max() > n:
        raise ValueError(
            f"train_sizes is {described(train_sizes)}; numbers from 1 to {n}, the number of train rows, are wanted"
        )
    different = np.unique(sizes)
    if len(different) < len(sizes):
        warn(
            "Removed duplicate entries from 'train_sizes'. Number of ticks will be less than the size of 'train_sizes':"
            f" {len(different)} instead of {len(sizes)}.",
            RuntimeWarning,
        )
    return different
