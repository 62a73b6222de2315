"""Honest error estimates: how often a classifier is wrong on rows that it has not seen."""

import warnings
from collections.abc import Mapping
from numbers import Integral
from time import perf_counter

import numpy as np

from ._estimator import clone
from ._threads import Progress
from ._validation import require_integer, require_labels


class CrossValidation(dict):
    """What :func:`cross_validate` found out about one estimator.

    A dict with scikit-learn's keys, one entry per fold in each array, and the summary as properties.

    Keys
    ----
    fit_time, score_time : ndarray of float, seconds
    test_score : ndarray of float
        ``estimator.score`` on the test rows: for a classifier the share it got right.
    n_test : ndarray of int
        Number of test rows.
    """

    @property
    def error(self):
        """Mean over the folds of 1 - score (NaN without a finished fold)."""
        return float(1 - np.mean(self["test_score"])) if len(self["test_score"]) else float("nan")

    @property
    def standard_error(self):
        """Standard deviation of the fold errors (ddof=1) over sqrt(n_folds); NaN below two folds.

        The training sets overlap, so that this is a guide to the spread, not an unbiased estimate of it.
        """
        n_folds = len(self["test_score"])
        return float(np.std(self["test_score"], ddof=1) / np.sqrt(n_folds)) if n_folds > 1 else float("nan")

    @property
    def microseconds_per_query(self):
        """Time spent in ``score`` per test row, over all folds."""
        n_queries = np.sum(self["n_test"])
        return float(1e6 * np.sum(self["score_time"]) / n_queries) if n_queries else float("nan")


def cross_validate(estimators, X, y, *, cv=10, random_state=0, verbose=0, callback=None):
    """Fit and score estimators on the same folds of (X, y).

    Parameters
    ----------
    estimators : estimator or mapping of name to estimator
        Objects with ``fit``, ``score`` and ``get_params``, scikit-learn's included. They are cloned for every
        fold and stay as they are.
    X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels: ints, strings, bools, anything sortable. Numbers for a regressor, whose score is R^2.
    cv : int, splitter or iterable, default=10
        An int from 2 to n_samples makes that many stratified folds (:func:`stratified_folds`). Otherwise an
        object with ``split(X, y)``, or an iterable, giving pairs of row indices (train, test).
    random_state : int, Generator or None, default=0
        Shuffles the rows when `cv` is an int; None draws another shuffle at each call.
    verbose : int, default=0
        1 shows progress on stderr.
    callback : callable, optional
        ``callback(step, total, value)`` after each fold of each estimator. Returning True stops: the results
        then hold the folds finished so far.

    Returns
    -------
    CrossValidation, or dict of name to CrossValidation if `estimators` is a mapping

    Raises
    ------
    TypeError
        If an estimator is a class or lacks a method, or `cv` is none of the above.
    ValueError
        If X and y differ in length, or the folds do not fit them.

    Notes
    -----
    Memory beyond X: the rows of one fold, copied once for all estimators, and what an estimator needs itself.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier
    >>> from fastclf.evaluation import cross_validate
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
        _check_estimator(estimator, "estimators" if name is None else f"estimators[{name!r}]")
    y = _labels(y)
    rows = X.iloc if hasattr(X, "iloc") else X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    shape = np.shape(X) if hasattr(X, "iloc") else rows.shape
    if shape[:1] != y.shape:
        raise ValueError(f"X has shape {shape} and y {len(y)} entries; the same number of rows is wanted")
    n_folds, folds = _folds(cv, X, y, random_state)

    columns = {"fit_time": float, "score_time": float, "test_score": float, "n_test": np.intp}
    measured = {name: [] for name in named}
    with Progress(n_folds * len(named), "cross-validation", verbose=verbose, callback=callback) as progress:
        for name, measurement in _measure(named, rows, y, folds):
            measured[name].append(measurement)
            if progress.advance(1):
                break
    results = {
        name: CrossValidation(
            (key, np.array([row[i] for row in found], dtype=dtype)) for i, (key, dtype) in enumerate(columns.items())
        )
        for name, found in measured.items()
    }
    return results if named is estimators else results[None]


def stratified_folds(y, n_folds=10, random_state=0):
    """Split rows into folds that all have nearly the class shares of the whole.

    Every row is in exactly one test fold. Between any two folds the number of rows, and the number of rows of
    each class, differ by at most one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. A class with fewer members than folds is missing from some test folds, and a warning says so.
        Numbers that are not all whole are no labels: their rows are only shuffled.
    n_folds : int, default=10
        From 2 to n_samples.
    random_state : int, Generator or None, default=0
        Decides which rows of a class share a fold.

    Yields
    ------
    train, test : ndarray of int
        Row indices in ascending order.

    Examples
    --------
    >>> from fastclf.evaluation import stratified_folds
    >>> y = ["a", "b", "a", "b"]
    >>> for train, test in stratified_folds(y, 2):
    ...     print(sorted(y[i] for i in train), sorted(y[i] for i in test))
    ['a', 'b'] ['a', 'b']
    ['a', 'b'] ['a', 'b']
    """
    y = _labels(y)
    n_folds = require_integer("n_folds", n_folds, 2, len(y))
    deck = np.random.default_rng(random_state).permutation(len(y))
    if y.dtype.kind != "f" or np.array_equal(y, np.floor(y)):
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < n_folds:
            warnings.warn(
                f"The least populated class in y has only {counts.min()} members, fewer than the {n_folds} folds",
                stacklevel=2,
            )
        deck = deck[np.argsort(codes[deck], kind="stable")]
    # The rows are dealt out to the folds like cards. A class is one run of the deck, and so is the whole, so that
    # both are spread to within one.
    fold = np.empty(len(y), dtype=np.intp)
    fold[deck] = np.arange(len(y)) % n_folds
    return ((np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_folds))


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
    >>> from fastclf.evaluation import majority_error
    >>> majority_error(["ham", "ham", "ham", "spam"])
    0.25
    """
    _, codes = np.unique(_labels(y), return_inverse=True)
    if folds is None:
        folds = [(slice(None), slice(None))]
    return float(np.mean([np.mean(codes[test] != np.bincount(codes[train]).argmax()) for train, test in folds]))


def _measure(named, rows, y, folds):
    """Yield (name, (fit seconds, score seconds, score, n_test)) fold by fold, every estimator on each."""
    for train, test in folds:
        X_train, y_train, X_test, y_test = rows[train], y[train], rows[test], y[test]
        for name, estimator in named.items():
            fresh = clone(estimator)
            start = perf_counter()
            fresh.fit(X_train, y_train)
            fitted = perf_counter()
            score = fresh.score(X_test, y_test)
            yield name, (fitted - start, perf_counter() - fitted, score, len(y_test))


def _folds(cv, X, y, random_state):
    """The number of folds and the folds: lazily for an int, checked against y if they come from outside."""
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        return cv, stratified_folds(y, require_integer("cv", cv, 2, len(y)), random_state)
    pairs = cv.split(X, y) if hasattr(cv, "split") and not isinstance(cv, str) else cv
    if isinstance(pairs, str) or not hasattr(pairs, "__iter__"):
        raise TypeError(f"cv is {cv!r}; an int, an object with split(X, y) or pairs (train, test) are wanted")
    pairs = list(pairs)
    try:
        smallest = min(min(len(y[train]), len(y[test])) for train, test in pairs) if pairs else 0
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"cv gives something else than pairs of indices into {len(y)} rows: {error}") from error
    if smallest == 0:
        raise ValueError("cv gives no fold, or one without rows; rows to train on and to test on are wanted")
    return len(pairs), pairs


def _labels(y):
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y has shape {y.shape}; one label per row is wanted")
    require_labels(y)
    if y.dtype == object:
        try:
            np.unique(y)
        except TypeError as error:
            raise TypeError(f"y holds labels that cannot be sorted: {error}") from error
    return y


def _check_estimator(estimator, name):
    if isinstance(estimator, type):
        raise TypeError(f"{name} is the class {estimator.__name__}; an object, {estimator.__name__}(), is wanted")
    missing = [method for method in ("fit", "score", "get_params") if not hasattr(estimator, method)]
    if missing:
        raise TypeError(f"{name} is {estimator!r}, which has no {missing[0]} method; an estimator is wanted")
