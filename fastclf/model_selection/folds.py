"""Folds: pairs of train and test rows, from an argument `cv`."""

from itertools import islice
from numbers import Integral

import numpy as np

from .._exceptions import warn
from .._folds import is_leave_one_out
from .._threads import aside_if_many
from .._validation import as_array, as_generator, described, require_integer, require_memory, require_truth
from ..metrics.targets import target_kind
from .rows import as_y
from .splitters import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    Partition,
    Splitter,
    StratifiedKFold,
    is_replaced,
    pairs_of,
    require_rows,
)

# The number of bytes of a fold beside the numbers of its rows: a pair of arrays, and their entries in lists.
_FOLD_BYTES = 400


class Folds:
    """A sequence of pairs (train, test) of row numbers, each made when it is needed.

    Attributes
    ----------
    n_samples, n_folds : int
        `n_folds` counts the folds of one partition.
    partitions : list of ndarray of shape (n_samples,)
        The number of the fold in which each row is a test row, one array for each repetition; empty if there are pairs.
    pairs : list of (train, test), or None
        Folds that are no partition.
    leave_one_out : bool
        Whether there is one partition, in which fold i is row i.
    """

    def __init__(self, n_samples, partitions=(), n_folds=0, pairs=None):
        self.n_samples, self.pairs, self.n_folds = n_samples, pairs, n_folds
        self.partitions = list(partitions)
        self.leave_one_out = len(self.partitions) == 1 and is_leave_one_out(self.partitions[0])

    def __len__(self):
        return len(self.pairs) if self.pairs is not None else self.n_folds * len(self.partitions)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(i)
        if self.pairs is not None:
            return self.pairs[i]
        if self.leave_one_out:
            row = np.arange(i, i + 1)
            return np.concatenate([np.arange(i), np.arange(i + 1, self.n_samples)]), row
        fold = self.partitions[i // self.n_folds]
        return np.flatnonzero(fold != i % self.n_folds), np.flatnonzero(fold == i % self.n_folds)


def as_folds(cv, X, y, n, groups=None, random_state=None, repeats=1, classifies=True):
    """The Folds of n rows for an argument `cv`; `classifies`: whether folds are to be stratified by label."""
    repeats = require_integer("repeats", repeats, 1)
    cv = 5 if cv is None else cv
    if isinstance(cv, str) and cv == "loo":
        require_integer("the number of rows", n, 2)
        cv = LeaveOneOut()
    if repeats > 1 and (not isinstance(cv, Integral) or groups is not None):
        raise ValueError(
            f"repeats is {repeats}, but this cv always makes the same folds; an int for cv, without groups, is wanted"
        )
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        require_integer("cv", cv, 2)
        require_rows(cv, n)
        if groups is None and (repeats > 1 or random_state is not None):
            require_memory(8 * n * repeats, f"cross-validation with repeats={repeats}")
            rng = as_generator(random_state) if repeats > 1 else random_state
            return Folds(n, [dealt(as_y(y), cv, rng) for _ in range(repeats)], cv)
        cv = GroupKFold(cv) if groups is not None else StratifiedKFold(cv) if classifies and _labels(y) else KFold(cv)
    theirs = type(cv).__name__ == "LeaveOneOut" and type(cv).__module__.startswith("sklearn.")
    if theirs or (isinstance(cv, LeaveOneOut) and not is_replaced(cv)):
        if n < 2:
            raise ValueError(f"Cannot perform LeaveOneOut with n_samples={n}.")
        return Folds(n, [np.arange(n)], n)
    if isinstance(cv, Partition) and not is_replaced(cv):
        return Folds(n, [aside_if_many(n, cv._fold, n, y, groups)], cv.n_splits)
    if hasattr(cv, "split") and not isinstance(cv, (str, bytes)):
        pairs = cv.split(X, y) if groups is None else cv.split(X, y, groups)
    else:
        pairs = cv
    if isinstance(pairs, str) or not np.iterable(pairs):
        raise TypeError(
            f"cv is {described(cv)}; an int, 'loo', an object with split(X, y) or pairs (train, test) are wanted"
        )
    return _of_pairs(_listed(pairs, cv, X, y, groups), n)


def _listed(pairs, cv, X, y, groups):
    """The list of all (train, test) pairs; if memory cannot hold it, an error is raised after the first pair."""
    pairs = iter(pairs)
    found = list(islice(pairs, 1))
    if found and isinstance(cv, Splitter) and not isinstance(cv, GivenFolds):
        n_folds = cv.get_n_splits(X, y, groups)
        require_memory((_FOLD_BYTES + 8 * sum(map(len, found[0]))) * n_folds, f"cross-validation with cv={cv}")
    return found + list(pairs)


def check_cv(cv=5, y=None, *, classifier=False, shuffle=False, random_state=None):
    """The splitter that an argument `cv` stands for, as in scikit-learn.

    Parameters
    ----------
    cv : int, None, splitter, or iterable of (train, test), default=5
        The number of folds, None: 5; or an object with `split`, which is returned; or pairs of row numbers.
    y : array-like of shape (n_samples,), default=None
        Labels.
    classifier : bool, default=False
        True: the folds of a number are stratified if y has labels.
    shuffle : bool, default=False
        True: the rows are shuffled before a number of folds is cut.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.

    Returns
    -------
    splitter : object with `split` and `get_n_splits`

    Raises
    ------
    ValueError
        cv is none of these.

    Examples
    --------
    >>> from fastclf.model_selection import check_cv
    >>> check_cv(3, ["a", "b"] * 6, classifier=True)
    StratifiedKFold(n_splits=3, random_state=None, shuffle=False)
    """
    cv, classifier = 5 if cv is None else cv, require_truth("classifier", classifier)
    if isinstance(cv, Integral):
        cls = StratifiedKFold if classifier and _labels(y) else KFold
        return cls(cv, shuffle=shuffle, random_state=random_state)
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv
    if isinstance(cv, str) or not np.iterable(cv):
        raise ValueError(
            "Expected `cv` as an integer, a cross-validation object (from sklearn.model_selection), or an iterable"
            f" yielding (train, test) splits as arrays of indices. Got {cv}."
        )
    return GivenFolds(cv)


class GivenFolds(Splitter):
    """The splitter of given pairs of train and test rows."""

    def __init__(self, cv):
        self.cv = list(cv)

    def get_n_splits(self, X=None, y=None, groups=None):
        return len(self.cv)

    def split(self, X=None, y=None, groups=None):
        yield from self.cv


def _labels(y):
    """Whether y has labels, one for each row; it may be a single column."""
    if y is None or hasattr(y, "tocsr"):
        return False
    y = as_array(y, "y")
    return target_kind(y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y) in ("binary", "multiclass")


def _of_pairs(pairs, n):
    rows = np.arange(n)
    try:
        sides = [rows[side] for train, test in pairs for side in (train, test)]
        smallest = min(map(len, sides), default=0)
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"cv has to give pairs of indices into {n} rows, (train, test): {error}") from error
    if any(side.ndim != 1 for side in sides):
        raise ValueError("cv gives indices of several dimensions; pairs of lists of row numbers are wanted")
    if smallest == 0:
        raise ValueError("cv gives no fold, or one without rows; rows to train on and to test on are wanted")
    fold = _as_partition(pairs, n)
    return Folds(n, pairs=pairs) if fold is None else Folds(n, [fold], len(pairs))


def _as_partition(pairs, n):
    """The test fold of each row, if each row has one and is a train row of all other folds; otherwise None."""
    rows, fold = np.arange(n), np.full(n, -1)
    for i, (_, test) in enumerate(pairs):
        test = rows[test]
        if (fold[test] >= 0).any() or (np.diff(test) <= 0).any():
            return None
        fold[test] = i
    same = (np.array_equal(rows[train], np.flatnonzero(fold != i)) for i, (train, _) in enumerate(pairs))
    return fold if (fold >= 0).all() and all(same) else None


def stratified_folds(y, n_folds=10, random_state=0):
    """Split rows into folds that all have nearly the same class shares as all rows.

    Every row is in exactly one test fold. Between any two folds the number of rows, and the number of rows of
    each class, differ by at most one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. A class with fewer members than folds is missing from some test folds, and a warning is given. Numbers
        that are not all whole are not treated as labels: their rows are only shuffled.
    n_folds : int, default=10
        From 2 to n_samples.
    random_state : int, Generator or None, default=0
        Seed of the random choice of rows for each fold.

    Returns
    -------
    iterator of (train, test), ndarrays of int
        Numbers of rows, ascending.

    Examples
    --------
    >>> from fastclf import stratified_folds
    >>> y = ["a", "b", "a", "b"]
    >>> for train, test in stratified_folds(y, 2):
    ...     print(sorted(y[i] for i in train), sorted(y[i] for i in test))
    ['a', 'b'] ['a', 'b']
    ['a', 'b'] ['a', 'b']
    """
    y = as_y(y)
    n_folds = require_integer("n_folds", n_folds, 2, len(y))
    return pairs_of(dealt(y, n_folds, random_state), n_folds)


def dealt(y, n_folds, random_state):
    """The fold of each row, for stratified folds."""
    deck = as_generator(random_state).permutation(len(y))
    if y.dtype.kind != "f" or np.array_equal(y, np.floor(y)):
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < n_folds:
            warn(f"The least populated class in y has only {counts.min()} members, fewer than the {n_folds} folds")
        deck = deck[np.argsort(codes[deck], kind="stable")]
    # The rows are dealt out to the folds in turn, class after class: the numbers of rows in two folds differ by at most
    # one, and so do the numbers of rows of any class.
    fold = np.empty(len(y), dtype=np.intp)
    fold[deck] = np.arange(len(y)) % n_folds
    return fold
