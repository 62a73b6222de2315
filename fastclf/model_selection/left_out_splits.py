"""Splitters that leave out each set of rows or groups, that use given folds, or that split a time series."""

import itertools
import math
from numbers import Integral

import numpy as np

from .._threads import distinct
from .._validation import as_random_state, as_vector, described, require_integer
from .rows import n_rows
from .splitters import KFold, OfGroups, Splitter, StratifiedKFold, as_groups, documented


class LeavePOut(Splitter):
    """A split for each set of p rows, which are left out: scikit-learn's LeavePOut.

    Parameters
    ----------
    p : int >= 1
        The number of rows that are left out.

    Examples
    --------
    >>> from fastclf import LeavePOut
    >>> [test.tolist() for _, test in LeavePOut(2).split([[0], [1], [2]])]
    [[0, 1], [0, 2], [1, 2]]
    """

    def __init__(self, p):
        self.p = p

    def _pairs(self, n, y, groups):
        p = require_integer("p", self.p, 1)
        if n <= p:
            raise ValueError(f"p={p} must be strictly less than the number of samples={n}")
        for test in map(np.array, itertools.combinations(range(n), p)):
            yield np.delete(np.arange(n), test), test

    def get_n_splits(self, X, y=None, groups=None):
        """The number of sets of p rows."""
        if X is None:
            raise ValueError("The 'X' parameter should not be None.")
        return math.comb(n_rows(X), require_integer("p", self.p, 1))


class LeavePGroupsOut(OfGroups):
    """A split for each set of groups of a given size, whose rows are left out: scikit-learn's LeavePGroupsOut.

    Parameters
    ----------
    n_groups : int >= 1
        The number of groups that are left out.

    Examples
    --------
    >>> from fastclf import LeavePGroupsOut
    >>> [test.tolist() for _, test in LeavePGroupsOut(2).split([[0], [1], [2], [3]], groups=["a", "b", "a", "c"])]
    [[0, 1, 2], [0, 2, 3], [1, 3]]
    """

    def __init__(self, n_groups):
        self.n_groups = n_groups

    def _pairs(self, n, y, groups):
        names, codes = as_groups(groups, n)
        p = self._left_out()
        if p >= len(names):
            raise ValueError(
                f"The groups parameter contains fewer than (or equal to) n_groups ({p}) numbers of unique groups"
                f" ({names}). {type(self).__name__} expects that at least n_groups + 1 ({p + 1}) unique groups be"
                " present"
            )
        for chosen in itertools.combinations(range(len(names)), p):
            out = np.isin(codes, chosen)
            yield np.flatnonzero(~out), np.flatnonzero(out)

    def _left_out(self):
        return require_integer("n_groups", self.n_groups, 1)

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of sets of groups."""
        return math.comb(len(as_groups(groups)[0]), self._left_out())


class LeaveOneGroupOut(LeavePGroupsOut):
    """A split for each group, whose rows are left out: scikit-learn's LeaveOneGroupOut.

    Examples
    --------
    >>> from fastclf import LeaveOneGroupOut
    >>> [test.tolist() for _, test in LeaveOneGroupOut().split([[0], [1], [2]], groups=["a", "b", "a"])]
    [[0, 2], [1]]
    """

    def __init__(self):
        pass

    def _left_out(self):
        return 1

    def _pairs(self, n, y, groups):
        names = as_groups(groups, n)[0]
        if len(names) <= 1:
            raise ValueError(
                f"The groups parameter contains fewer than 2 unique groups ({names}). LeaveOneGroupOut expects at least"
                " 2."
            )
        return super()._pairs(n, y, groups)


class PredefinedSplit(Splitter):
    """Folds that the user gives: scikit-learn's PredefinedSplit.

    Parameters
    ----------
    test_fold : array-like of shape (n_samples,), int
        The test fold of each row; rows with -1 are training rows in each split.

    Attributes
    ----------
    test_fold, unique_folds : ndarray of int

    Examples
    --------
    >>> from fastclf import PredefinedSplit
    >>> [test.tolist() for _, test in PredefinedSplit([0, 1, -1, 1]).split()]
    [[0], [1, 3]]
    """

    def __init__(self, test_fold):
        fold = as_vector(test_fold, "test_fold")
        if fold.dtype.kind not in "iufb":
            raise ValueError(f"test_fold has dtype {fold.dtype}; whole numbers are wanted")
        self.test_fold = fold.astype(int)
        folds = distinct(self.test_fold)
        self.unique_folds = folds[folds != -1]

    @documented
    def split(self, X=None, y=None, groups=None):
        """The rows of each fold.

        Parameters
        ----------
        {split}

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        self._refuse_groups(groups)
        return ((np.flatnonzero(self.test_fold != i), np.flatnonzero(self.test_fold == i)) for i in self.unique_folds)

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of folds."""
        return len(self.unique_folds)


class TimeSeriesSplit(Splitter):
    """Splits of a time series, with training rows before the test rows: the splits of scikit-learn's TimeSeriesSplit.

    Parameters
    ----------
    n_splits : int >= 2, default=5
    max_train_size : int >= 1, default=None
        The largest number of training rows, which are the last ones before the gap; None: no limit.
    test_size : int >= 1, default=None
        The number of test rows in each split; None: n_samples // (n_splits + 1).
    gap : int >= 0, default=0
        The number of rows between the training rows and the test rows that are left out.

    Examples
    --------
    >>> from fastclf import TimeSeriesSplit
    >>> [(train.tolist(), test.tolist()) for train, test in TimeSeriesSplit(2).split([[0], [1], [2], [3]])]
    [([0, 1], [2]), ([0, 1, 2], [3])]
    """

    def __init__(self, n_splits=5, *, max_train_size=None, test_size=None, gap=0):
        KFold(n_splits)  # the constructor of KFold is called only for its check of n_splits
        self.n_splits, self.max_train_size, self.test_size, self.gap = int(n_splits), max_train_size, test_size, gap

    def _pairs(self, n, y, groups):
        n_splits, gap = self.n_splits, require_integer("gap", self.gap, 0)
        size = n // (n_splits + 1) if self.test_size is None else require_integer("test_size", self.test_size, 1)
        most = n if self.max_train_size is None else require_integer("max_train_size", self.max_train_size, 1)
        if n_splits >= n:
            raise ValueError(f"Cannot have number of folds={n_splits + 1} greater than the number of samples={n}.")
        if n - gap - size * n_splits <= 0:
            raise ValueError(
                f"Too many splits={n_splits} for number of samples={n} with test_size={size} and gap={gap}."
            )
        for start in range(n - n_splits * size, n, size):
            end = start - gap
            yield np.arange(max(0, end - most), end), np.arange(start, start + size)


class _Repeated(Splitter):
    """A splitter that repeats the shuffled folds of another splitter."""

    _one = None  # the class of the splitter whose folds are repeated

    def __init__(self, *, n_splits=5, n_repeats=10, random_state=None):
        if isinstance(n_repeats, bool) or not isinstance(n_repeats, Integral):
            raise ValueError(f"Number of repetitions must be of Integral type. n_repeats is {described(n_repeats)}")
        if n_repeats < 1:
            raise ValueError(f"Number of repetitions must be greater than 0. n_repeats is {n_repeats}")
        self._one(n_splits)  # the constructor of the repeated splitter is called only for its check of n_splits
        self.n_splits, self.n_repeats, self.random_state = int(n_splits), int(n_repeats), random_state

    def _pairs(self, n, y, groups):
        splitter = self._one(self.n_splits, shuffle=True, random_state=self._generator())
        for _ in range(self.n_repeats):
            yield from splitter._pairs(n, y, groups)

    def _generator(self):
        return as_random_state(self.random_state)

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of folds of all repetitions."""
        return self.n_splits * self.n_repeats


@documented
class RepeatedKFold(_Repeated):
    """Several repetitions of `KFold` with a shuffle: the folds of scikit-learn's RepeatedKFold.

    Parameters
    ----------
    {n_splits}
    n_repeats : int >= 1, default=10
    {random_state}

    Examples
    --------
    >>> from fastclf import RepeatedKFold
    >>> [len(test) for _, test in RepeatedKFold(n_splits=2, n_repeats=2, random_state=0).split([[0], [1], [2]])]
    [2, 1, 2, 1]
    """

    _one = KFold


@documented
class RepeatedStratifiedKFold(_Repeated):
    """Several repetitions of `StratifiedKFold` with a shuffle: the folds of scikit-learn's RepeatedStratifiedKFold.

    Parameters
    ----------
    {n_splits}
    n_repeats : int >= 1, default=10
    {random_state}

    Examples
    --------
    >>> from fastclf import RepeatedStratifiedKFold
    >>> splitter = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    >>> [len(test) for _, test in splitter.split([[0], [1], [2], [3]], ["a", "b", "a", "b"])]
    [2, 2, 2, 2]
    """

    _one = StratifiedKFold

    @documented
    def split(self, X, y, groups=None):
        """The rows of each fold.

        Parameters
        ----------
        {split}

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        return super().split(X, y, groups)
