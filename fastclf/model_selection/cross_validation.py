"""Cross-validation: scores and predictions of estimators on rows that they were not fitted on."""

from collections.abc import Mapping

import numpy as np

from .._described import described
from .._validation import require_truth
from .candidates import Candidates
from .evaluation import Evaluation, Request, check_estimator, documented, tell_failures
from .results import CrossValidations
from .routing import route


@documented
def cross_validate(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    scoring=None,
    cv=None,
    n_jobs=None,
    verbose=0,
    params=None,
    pre_dispatch="2*n_jobs",
    return_train_score=False,
    return_estimator=False,
    return_indices=False,
    error_score=np.nan,
    repeats=1,
    random_state=None,
    shortcuts=True,
    callback=None,
):
    """Fit and score estimators on the same folds of (X, y).

    Parameters
    ----------
    estimator : estimator or mapping of name to estimator
        Objects with ``fit``, ``get_params`` and, without `scoring`, ``score``, of any library. They are cloned for
        every fold and do not change.
    {X}
    {y}
    {groups}
    {scoring}
    {cv}
    {n_jobs}
    {verbose}
    {params}
    {pre_dispatch}
    return_train_score : bool, default=False
        Whether the train rows are scored too, in ``train_score``.
    return_estimator : bool, default=False
        Whether the fitted estimators are returned, in ``estimator``.
    return_indices : bool, default=False
        Whether the rows of the folds are returned, in ``indices``.
    {error_score}
    {repeats}
    {random_state}
    {shortcuts}
    {callback}

    Returns
    -------
    CrossValidation
        scikit-learn's dict, with more attributes; if `estimator` is a mapping, CrossValidations, a dict of name to
        CrossValidation.

    Raises
    ------
    TypeError
        An estimator is a class or lacks a method, or `cv` is of a wrong type.
    ValueError
        X and y differ in length, the folds do not fit them, or all fits fail.

    Notes
    -----
    After Ctrl-C the results of the finished folds, if there are any, are returned with a warning.

    Memory beyond X: the rows of one fold for each thread, copied once for all estimators, and the memory of the
    estimator itself; for decision trees, whose folds share sorted columns, 4 bytes per cell.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier, cross_validate
    >>> X = np.r_[np.zeros((10, 2)), np.ones((10, 2))]
    >>> y = ["left"] * 10 + ["right"] * 10
    >>> result = cross_validate(KNeighborsClassifier(n_neighbors=3), X, y, cv=5)
    >>> result["test_score"]
    array([1., 1., 1., 1., 1.])
    >>> result.error
    0.0
    """
    return_indices = require_truth("return_indices", return_indices)
    if isinstance(estimator, list | tuple):
        raise TypeError("estimator is a list; an estimator or a mapping of name to estimator is wanted")
    named = estimator if isinstance(estimator, Mapping) else {None: estimator}
    if not named:
        raise ValueError("estimator is an empty mapping; at least one estimator is wanted")
    for name, candidate in named.items():
        check_estimator(candidate, "estimator" if name is None else f"estimator[{name!r}]", scoring)
    request = Request(X, y, cv, groups, scoring, params, error_score, random_state, repeats)
    request.train_scores, request.keep_models, request.keep_answers = return_train_score, return_estimator, True
    request = route(request, next(iter(named.values())), "cross_validate")
    evaluation = Evaluation(request, [Candidates(candidate, shortcuts=shortcuts) for candidate in named.values()])
    measured = evaluation.run(n_jobs, verbose, callback)
    tell_failures(measured)
    results = CrossValidations((name, found.result(0)) for name, found in zip(named, measured))
    if return_indices:
        for result in results.values():
            pairs = [evaluation.folds[i] for i in result.folds]
            result["indices"] = {side: [pair[i] for pair in pairs] for i, side in enumerate(("train", "test"))}
    return results if named is estimator else results[None]


@documented
def cross_val_score(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    scoring=None,
    cv=None,
    n_jobs=None,
    verbose=0,
    params=None,
    pre_dispatch="2*n_jobs",
    error_score=np.nan,
):
    """The score of an estimator on each fold.

    Parameters
    ----------
    {estimator}
    {X}
    {y}
    {groups}
    scoring : str or callable, default=None
        A single figure, as for :func:`cross_validate`.
    {cv}
    {n_jobs}
    {verbose}
    {params}
    {pre_dispatch}
    {error_score}

    Returns
    -------
    ndarray of shape (n_folds,)

    Examples
    --------
    >>> from fastclf import GaussianNB, cross_val_score
    >>> X, y = [[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]], ["n", "n", "n", "p", "p", "p"]
    >>> cross_val_score(GaussianNB(), X, y, cv=3)
    array([1., 1., 1.])
    """
    check_estimator(estimator, scoring=scoring)
    request = route(Request(X, y, cv, groups, scoring, params, error_score), estimator, "cross_val_score")
    [measured] = results = Evaluation(request, [Candidates(estimator)]).run(n_jobs, verbose)
    tell_failures(results)
    result = measured.result(0)
    if "test_score" not in result:
        raise ValueError(
            f"scoring is {described(scoring)}, which gives several figures; pass one, or call cross_validate"
        )
    return result["test_score"]
