"""Cross-validation: estimators on the same folds, how wrong they are, and whether one is better than another."""

import threading
from collections.abc import Mapping
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .._estimator import Classifier, Estimator
from .._exceptions import warn
from .._threads import Progress, n_threads, run
from ..metrics.contingency import contingency_table
from ..metrics.scoring import as_scorers, from_answers, judge, judge_folds, settled
from . import student_t
from .folds import as_folds, as_rows, as_y
from .groups import Group, shared_columns


class CrossValidation(dict):
    """What :func:`cross_validate` found out about one estimator.

    A dict with scikit-learn's keys, one entry per fold in each array, and the summary as properties.

    Keys
    ----
    fit_time, score_time : ndarray of float, seconds
    test_score : ndarray of float
        ``estimator.score`` on the test rows, for a classifier the share it got right, or what `scoring` says; of
        several figures ``test_<name>`` each.
    train_score, estimator, indices
        If asked for, as scikit-learn has them.
    n_train, n_test : ndarray of int
        Number of train and test rows.

    Attributes
    ----------
    table : ContingencyTable or None
        Of a classifier: the answers for the test rows of all folds together.
    shortcut : bool
        Whether the folds were answered by the method's own way of leaving rows out.
    interrupted : bool
        Whether Ctrl-C or the callback left folds out.
    """

    table = None
    shortcut = False
    interrupted = False
    finished = None  # the numbers of the folds

    @property
    def _scores(self):
        return self["test_score"] if "test_score" in self else next(self[k] for k in self if k.startswith("test_"))

    @property
    def error(self):
        """Mean over the folds of 1 - score (NaN without a finished fold)."""
        return float(1 - np.mean(self._scores)) if len(self._scores) else float("nan")

    @property
    def standard_error(self):
        """Standard deviation of the fold errors (ddof=1) over sqrt(n_folds); NaN below two folds.

        The training sets overlap, so that this is a guide to the spread, not an unbiased estimate of it.
        """
        n_folds = len(self._scores)
        return float(np.std(self._scores, ddof=1) / np.sqrt(n_folds)) if n_folds > 1 else float("nan")

    @property
    def microseconds_per_query(self):
        """Time spent in ``score`` per test row, over all folds."""
        n_queries = np.sum(self["n_test"])
        return float(1e6 * np.sum(self["score_time"]) / n_queries) if n_queries else float("nan")


class CrossValidations(dict):
    """The CrossValidation of each of several estimators, by name, on the same folds."""

    @property
    def winner(self):
        """The name with the least error, the first of equal ones."""
        return min(self, key=lambda name: self[name].error)

    def compare(self, one, other, level=0.95):
        """:func:`paired_comparison` of two, by name."""
        return paired_comparison(self[one], self[other], level)


class PairedComparison(NamedTuple):
    """How much larger one estimator's error is than another's; see :func:`paired_comparison`."""

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float
    level: float

    def __str__(self):
        return (
            f"difference {self.difference:+.4f}, {self.level:.0%} interval {self.low:+.4f} to {self.high:+.4f},"
            f" p = {self.p_value:.3g}"
        )


def paired_comparison(one, other, level=0.95):
    """By how much the errors of two estimators on the same folds differ, with an interval.

    The corrected resampled t: training rows are shared between folds, so that the variance of the mean difference is
    taken as (1 / J + n_test / n_train) s^2, not s^2 / J, for J folds whose differences have the variance s^2.

    Parameters
    ----------
    one : CrossValidation
    other : CrossValidation
        Of the same folds, two at least.
    level : float in (0, 1), default=0.95
        Of the interval.

    Returns
    -------
    PairedComparison
        `difference` is the mean of `one`'s error minus `other`'s, `low` to `high` its interval, `p_value` that of no
        difference, from both sides.

    References
    ----------
    Nadeau, Bengio (2003), Inference for the generalization error; Bouckaert, Frank (2004), Evaluating the
    replicability of significance tests for comparing learning algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import GaussianNB, NearestCentroid, cross_validate
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)) * [[1, 9]], np.arange(200) % 2
    >>> X[:, 0] += 3 * y
    >>> results = cross_validate({"Bayes": GaussianNB(), "centroid": NearestCentroid()}, X, y)
    >>> found = results.compare("Bayes", "centroid")
    >>> found.difference < 0, found.p_value < 0.05
    (True, True)
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; a number between 0 and 1 is wanted")
    same = one.finished == other.finished and all(np.array_equal(one[key], other[key]) for key in ("n_train", "n_test"))
    if not same or len(one._scores) < 2:
        raise ValueError("one and other do not have the same folds, two at least, which are wanted to compare them")
    gaps = other._scores - one._scores
    n, mean = len(gaps), float(np.mean(gaps))
    spread = float(np.sqrt((1 / n + np.mean(one["n_test"] / one["n_train"])) * np.var(gaps, ddof=1)))
    reach = student_t.quantile((1 + level) / 2, n - 1) * spread
    p_value = (2 * student_t.cdf(-abs(mean) / spread, n - 1)) if spread > 0 else float(mean == 0)
    return PairedComparison(mean, spread, mean - reach, mean + reach, p_value, level)


def cross_validate(
    estimators,
    X,
    y,
    *,
    cv=10,
    repeats=1,
    groups=None,
    scoring=None,
    n_jobs=None,
    random_state=0,
    return_train_score=False,
    return_estimator=False,
    return_indices=False,
    shortcuts=True,
    verbose=0,
    callback=None,
):
    """Fit and score estimators on the same folds of (X, y).

    Parameters
    ----------
    estimators : estimator or mapping of name to estimator
        Objects with ``fit``, ``score`` and ``get_params``, scikit-learn's included. They are cloned for every
        fold and stay as they are.
    X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels: ints, strings, bools, anything sortable. Numbers for a regressor, whose score is R^2.
    cv : int, "loo", splitter or iterable, default=10
        An int from 2 to n_samples makes that many stratified folds (:func:`stratified_folds`), or folds that keep
        `groups` together; "loo" leaves out each row in turn. Otherwise an object with ``split(X, y)``, or an
        iterable, giving pairs of row indices (train, test).
    repeats : int >= 1, default=1
        How often that many stratified folds are dealt out anew, where `cv` is an int.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group are never on both sides.
    scoring : str, callable, list or dict, default=None
        None: ``estimator.score``. A figure by scikit-learn's name, such as "f1_macro", "roc_auc", "neg_log_loss" or
        "r2", of two classes the second being the positive one; :func:`cost_scorer`; a function of (estimator, X, y);
        or several of them.
    n_jobs : int or None, default=None
        Folds at a time. None: every CPU that the process may use, if the estimators are all of this library, which
        then have the threads that are left; else 1. Times are undisturbed with 1. Scores do not depend on it.
    random_state : int, Generator or None, default=0
        Shuffles the rows when `cv` is an int; None draws another shuffle at each call.
    return_train_score : bool, default=False
        Whether the train rows are scored too, as ``train_score``.
    return_estimator : bool, default=False
        Whether the fitted estimators are kept, as ``estimator``.
    return_indices : bool, default=False
        Whether the rows of the folds are kept, as ``indices``.
    shortcuts : bool, default=True
        Whether a method's own way to leave rows out is taken where it gives the answers of the fits one by one:
        nearest neighbours for leave-one-out, naive Bayes, least squares, and `SVC` where its kernel is that of each
        fold (no `gamma="scale"`, no balanced weights), whose folds start from the machine of all rows.
    verbose : int, default=0
        1 shows progress on stderr.
    callback : callable, optional
        ``callback(step, total, value)`` after each fold of each estimator. Returning True stops: the results
        then hold the folds finished so far.

    Returns
    -------
    CrossValidation, or CrossValidations, a dict of name to CrossValidation, if `estimators` is a mapping

    Raises
    ------
    TypeError
        If an estimator is a class or lacks a method, or `cv` is none of the above.
    ValueError
        If X and y differ in length, or the folds do not fit them.

    Notes
    -----
    Ctrl-C leaves, with a warning, the results of the folds that are finished, if there are any.

    Memory beyond X: the rows of one fold for each thread, copied once for all estimators, and what an estimator needs
    itself; for decision trees, whose folds share sorted columns, 4 bytes a cell.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier
    >>> from fastclf import cross_validate
    >>> X = np.r_[np.zeros((10, 2)), np.ones((10, 2))]
    >>> y = ["left"] * 10 + ["right"] * 10
    >>> result = cross_validate(KNeighborsClassifier(n_neighbors=3), X, y, cv=5)
    >>> result["test_score"]
    array([1., 1., 1., 1., 1.])
    >>> result.error
    0.0
    """
    if isinstance(estimators, list | tuple):
        raise TypeError("estimators is a list; an estimator or a mapping of name to estimator is wanted")
    named = estimators if isinstance(estimators, Mapping) else {None: estimators}
    if not named:
        raise ValueError("estimators is an empty mapping; at least one estimator is wanted")
    for name, estimator in named.items():
        check_estimator(estimator, "estimators" if name is None else f"estimators[{name!r}]")
    asked = Asked(X, y, cv, repeats, groups, scoring, random_state, return_train_score, return_estimator)
    measured = asked.run([Group(own, shortcuts=shortcuts) for own in named.values()], n_jobs, verbose, callback)
    results = CrossValidations((name, own.result(0)) for name, own in zip(named, measured))
    if return_indices:
        for result in results.values():
            pairs = [asked.folds[i] for i in result.finished]
            result["indices"] = {side: [pair[i] for pair in pairs] for i, side in enumerate(("train", "test"))}
    return results if named is estimators else results[None]


def check_estimator(estimator, name="estimator"):
    if isinstance(estimator, type):
        raise TypeError(f"{name} is the class {estimator.__name__}; an object, {estimator.__name__}(), is wanted")
    missing = [method for method in ("fit", "score", "get_params") if not hasattr(estimator, method)]
    if missing:
        raise TypeError(f"{name} is {estimator!r}, which has no {missing[0]} method; an estimator is wanted")


class Fold(NamedTuple):
    """What one model did on one fold."""

    fit_time: float
    score_time: float
    scores: dict
    train_scores: dict | None
    answers: np.ndarray | None  # of a classifier
    model: object


class Measured:
    """What the models of one Group did, fold by fold, or all at once by a shortcut."""

    def __init__(self, asked, group):
        self.asked, self.group = asked, group
        self.folds = {}  # number of the fold -> a Fold for each value
        self.shortcut = None  # (seconds, answers for each value n_test rows in all)

    @property
    def finished(self):
        return sorted(self.folds) if self.shortcut is None else list(range(len(self.asked.folds)))

    def result(self, v):
        """The CrossValidation of the v-th value."""
        asked, finished = self.asked, self.finished
        tests = [asked.tests[i] for i in finished]
        result = CrossValidation()
        if self.shortcut is None:
            answers = self._from_folds(result, [self.folds[i][v] for i in finished])
        else:
            answers = self._from_shortcut(result, v)
        result["n_train"] = np.array([asked.n_train(i) for i in finished], np.intp)
        result["n_test"] = np.array([len(test) for test in tests], np.intp)
        result.shortcut = self.shortcut is not None
        result.interrupted = len(finished) < len(asked.folds)
        result.finished = finished
        if answers is not None and finished:
            result.table = contingency_table(asked.y[np.concatenate(tests)], answers, labels=asked.labels)
        return result

    def _from_folds(self, result, rows):
        for name in ("fit_time", "score_time"):
            result[name] = np.array([getattr(row, name) for row in rows], float)
        for name in self.asked.scorers:
            result[f"test_{name}"] = np.array([row.scores[name] for row in rows], float)
            if self.asked.train_scores:
                result[f"train_{name}"] = np.array([row.train_scores[name] for row in rows], float)
        if self.asked.keep_models:
            result["estimator"] = [row.model for row in rows]
        answers = [row.answers for row in rows]
        return None if any(own is None for own in answers) or not answers else np.concatenate(answers)

    def _from_shortcut(self, result, v):
        asked, (seconds, answers) = self.asked, self.shortcut
        n_folds = len(asked.folds)
        result["fit_time"], result["score_time"] = np.zeros(n_folds), np.full(n_folds, seconds)
        scorers = settled(asked.scorers, self.group.estimator)
        for name, scores in judge_folds(scorers, asked.y, asked.tests, answers[v], asked.labels).items():
            result[f"test_{name}"] = scores
        return answers[v] if isinstance(self.group.estimator, Classifier) else None


class Asked:
    """A question about estimators: rows, folds and figures, all checked."""

    def __init__(
        self, X, y, cv, repeats=1, groups=None, scoring=None, random_state=0, train_scores=False, keep_models=False
    ):
        self.y = as_y(y)
        self.rows = as_rows(X)
        shape = np.shape(X) if hasattr(X, "iloc") else self.rows.shape
        if shape[:1] != self.y.shape:
            raise ValueError(f"X has shape {shape} and y {len(self.y)} entries; the same number of rows is wanted")
        self.X = X if hasattr(X, "iloc") else self.rows
        self.folds = as_folds(cv, X, self.y, groups, random_state, repeats)
        self.scorers = as_scorers(scoring)
        self.train_scores, self.keep_models = train_scores, keep_models
        self.labels = np.unique(self.y)

    @cached_property
    def tests(self):
        """The test rows of each fold."""
        if self.folds.leave_one_out:
            return list(np.arange(len(self.y))[:, None])
        return [np.arange(len(self.y))[test] for _, test in self.folds]

    def n_train(self, i):
        pairs = self.folds.pairs
        return len(self.y) - len(self.tests[i]) if pairs is None else len(self.y[pairs[i][0]])

    def run(self, groups, n_jobs=None, verbose=0, callback=None, label="cross-validation"):
        """A Measured for each group."""
        threads = self._threads(groups, n_jobs)
        measured = [Measured(self, group) for group in groups]
        n_values = sum(len(group.values) for group in groups)
        lock, shared = threading.Lock(), {}
        with Progress(len(self.folds) * n_values, label, verbose=verbose, callback=callback) as progress:

            def work(i):
                if progress.stopped:
                    return
                train, test = self.folds[i]
                parts = (self.rows[train], self.y[train]), (self.rows[test], self.y[test])
                for own in measured:
                    if own.shortcut is not None:
                        continue
                    columns = shared[own.group].among(train) if own.group in shared else None
                    found = self._measure(own.group, *parts, threads, columns)
                    with lock:
                        if progress.stopped:
                            return
                        own.folds[i] = found
                        for _ in found:
                            progress.advance(1)
                    yield

            try:
                for own in measured:
                    if not progress.stopped and self._take_shortcut(own):
                        progress.advance(len(self.folds) * len(own.group.values))
                left = [own.group for own in measured if own.shortcut is None]
                if left:
                    # of pairs the rows need not be ascending
                    if self.folds.pairs is None:
                        shared = shared_columns(left, self.rows, threads)
                    run(work, range(len(self.folds)), threads)
            except KeyboardInterrupt:
                done = max(len(own.finished) for own in measured)
                if done == 0:
                    raise
                warn(f"interrupted: the results hold {done} of {len(self.folds)} folds")
        return measured

    def _threads(self, groups, n_jobs):
        ours = all(isinstance(group.estimator, Estimator) for group in groups)
        return min(1 if n_jobs is None and not ours else n_threads(n_jobs), len(self.folds))

    def _measure(self, group, train, test, threads, shared):
        """A Fold for each value of the group."""
        if threads > 1 and not self.keep_models:
            group = group.sharing(threads)
        scorers = settled(self.scorers, group.estimator)
        start = perf_counter()
        models = group.fit(*train, shared)
        fitted = perf_counter()
        scores, answers = _judged(group, scorers, models, *test, self.labels)
        seconds = (fitted - start) / len(models), (perf_counter() - fitted) / len(models)
        if not _is_classifier(models[0]):
            answers = [None] * len(models)
        elif answers is None:  # the estimator's own score has told none
            answers = group.answers(models, test[0])
        train_scores = [None] * len(models)
        if self.train_scores:
            train_scores = _judged(group, scorers, models, *train, self.labels)[0]
        kept = models if self.keep_models else [None] * len(models)
        return [Fold(*seconds, *own) for own in zip(scores, train_scores, answers, kept)]

    def _take_shortcut(self, own):
        """Answer all folds at once, if that is possible and enough; whether it was done."""
        scorers = settled(self.scorers, own.group.estimator)
        if self.train_scores or self.keep_models or not from_answers(scorers):
            return False
        start = perf_counter()
        answers = own.group.all_answers(self.X, self.y, self.folds)
        if answers is None:
            return False
        own.shortcut = (perf_counter() - start) / len(self.folds) / len(answers), answers
        return True


def _judged(group, scorers, models, X, y, labels):
    """(figures of each model, the answers of each or None if they were not needed)."""
    needed = any(scorer.wants_answers for scorer in scorers.values())
    answers = group.answers(models, X) if needed else [None] * len(models)
    scores = [judge(scorers, y, own, labels, model, X) for own, model in zip(answers, models)]
    return scores, answers if needed else None


def _is_classifier(model):
    return hasattr(model, "classes_") and hasattr(model, "predict")


def majority_error(y, folds=None):
    """Error of always answering the most frequent class: what a classifier has to beat.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. Of equally frequent classes the first in sorted order is answered.
    folds : iterable of (train, test), optional
        The class is then counted on the train rows and the error on the test rows, averaged over the folds,
        as :func:`cross_validate` does. By default both are taken from all of y.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import majority_error
    >>> majority_error(["ham", "ham", "ham", "spam"])
    0.25
    """
    _, codes = np.unique(as_y(y), return_inverse=True)
    if folds is None:
        folds = [(slice(None), slice(None))]
    return float(np.mean([np.mean(codes[test] != np.bincount(codes[train]).argmax()) for train, test in folds]))
