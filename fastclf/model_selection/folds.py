"""Folds: which rows are fitted on and which are asked about."""

from numbers import Integral, Real

import numpy as np

from .._csr import Csr
from .._exceptions import warn
from .._folds import is_leave_one_out
from .._validation import as_random_state, as_vector, encode_labels, require_integer, require_labels
from ..metrics.targets import as_label_vector


class Folds:
    """A sequence of pairs (train, test) of row indices, each made when it is asked for.

    Either each row is in one test fold, whose number is `fold`, one array for each repetition; or there are pairs.
    """

    def __init__(self, n_samples, partitions=None, n_folds=0, pairs=None):
        self.n_samples, self.pairs, self.n_folds = n_samples, pairs, n_folds
        self.partitions = partitions or []
        # whether fold i is row i, and there is no more
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


def as_folds(cv, X, y, groups=None, random_state=0, repeats=1):
    """The Folds that an argument `cv` asks for: an int, "loo", an object with `split`, or pairs."""
    n, repeats = len(y), require_integer("repeats", repeats, 1)
    if isinstance(cv, str) and cv == "loo":
        require_integer("the number of rows", n, 2)
        cv = LeaveOneOut()
    if repeats > 1 and (not isinstance(cv, Integral) or groups is not None):
        raise ValueError(
            f"repeats is {repeats}, with folds that do not change; an int for cv, without groups, is wanted"
        )
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        require_integer("cv", cv, 2, n)
        if groups is None:
            rng = np.random.default_rng(random_state) if repeats > 1 else random_state
            return Folds(n, [dealt(y, cv, rng) for _ in range(repeats)], cv)
        cv = GroupKFold(cv)
    theirs = type(cv).__name__ == "LeaveOneOut" and type(cv).__module__.startswith("sklearn.")
    if isinstance(cv, LeaveOneOut) or theirs:
        return Folds(n, [np.arange(n)], n)
    if isinstance(cv, _Partition):
        return Folds(n, [cv._fold(n, y, groups)], cv.n_splits)
    if hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, y) if groups is None else cv.split(X, y, groups)
    else:
        pairs = cv
    if isinstance(pairs, str) or not hasattr(pairs, "__iter__"):
        raise TypeError(f"cv is {cv!r}; an int, 'loo', an object with split(X, y) or pairs (train, test) are wanted")
    pairs = list(pairs)
    try:
        smallest = min(min(len(y[train]), len(y[test])) for train, test in pairs) if pairs else 0
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"cv gives something else than pairs of indices into {n} rows: {error}") from error
    if smallest == 0:
        raise ValueError("cv gives no fold, or one without rows; rows to train on and to test on are wanted")
    fold = _as_partition(pairs, n)
    return Folds(n, pairs=pairs) if fold is None else Folds(n, [fold], len(pairs))


def _as_partition(pairs, n):
    """The fold of each row, if each is in one of the tests, and each train side is all other rows; else None."""
    rows, fold = np.arange(n), np.full(n, -1)
    for i, (_, test) in enumerate(pairs):
        test = rows[test]
        if (fold[test] >= 0).any() or (np.diff(test) <= 0).any():
            return None
        fold[test] = i
    same = (np.array_equal(rows[train], np.flatnonzero(fold != i)) for i, (train, _) in enumerate(pairs))
    return fold if (fold >= 0).all() and all(same) else None


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
    >>> from fastclf import stratified_folds
    >>> y = ["a", "b", "a", "b"]
    >>> for train, test in stratified_folds(y, 2):
    ...     print(sorted(y[i] for i in train), sorted(y[i] for i in test))
    ['a', 'b'] ['a', 'b']
    ['a', 'b'] ['a', 'b']
    """
    y = as_y(y)
    n_folds = require_integer("n_folds", n_folds, 2, len(y))
    return iter(Folds(len(y), [dealt(y, n_folds, random_state)], n_folds))


def dealt(y, n_folds, random_state):
    """The fold of each row."""
    deck = np.random.default_rng(random_state).permutation(len(y))
    if y.dtype.kind != "f" or np.array_equal(y, np.floor(y)):
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < n_folds:
            warn(f"The least populated class in y has only {counts.min()} members, fewer than the {n_folds} folds")
        deck = deck[np.argsort(codes[deck], kind="stable")]
    # The rows are dealt out to the folds like cards. A class is one run of the deck, and so is the whole, so that
    # both are spread to within one.
    fold = np.empty(len(y), dtype=np.intp)
    fold[deck] = np.arange(len(y)) % n_folds
    return fold


def as_y(y):
    """Labels or numbers of shape (n_samples,), sortable."""
    y = as_vector(y, "y")
    require_labels(y)
    if y.dtype == object:
        try:
            np.unique(y)
        except TypeError as error:
            raise TypeError(f"y holds labels that cannot be sorted: {error}") from error
    return y


def _n_rows(X, y):
    for rows in (X, y):
        if rows is not None:
            return rows.shape[0] if hasattr(rows, "shape") else len(rows)
    raise ValueError("X is None, and y too; rows to split are wanted")


class _Splitter:
    """An object with `split`, as scikit-learn's tools take it."""

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def split(self, X, y=None, groups=None):
        """Yield (train, test), row indices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels, where the splitter looks at them.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, where the splitter looks at it.

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        return iter(as_folds(self, X, np.zeros(_n_rows(X, y)) if y is None else as_y(y), groups))

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of folds."""
        return self.n_splits


class _Partition(_Splitter):
    """A splitter that puts each row into one test fold, which `_fold(n, y, groups)` gives."""

    def __init__(self, n_splits=5, *, shuffle=False, random_state=None):
        self.n_splits, self.shuffle, self.random_state = n_splits, shuffle, random_state

    def split(self, X, y=None, groups=None):
        n = _n_rows(X, y)
        return iter(Folds(n, [self._fold(n, None if y is None else as_y(y), groups)], self.n_splits))

    split.__doc__ = _Splitter.split.__doc__

    def _shuffler(self):
        """NumPy's old generator, as scikit-learn draws from it; None: no shuffle."""
        if not self.shuffle:
            if self.random_state is not None:
                raise ValueError("random_state is given without shuffle=True, which it has no effect without")
            return None
        return as_random_state(self.random_state)


class KFold(_Partition):
    """Folds of equal numbers of rows, in the order of the rows or shuffled: those of scikit-learn's KFold.

    Parameters
    ----------
    n_splits : int >= 2, default=5
    shuffle : bool, default=False
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from fastclf import KFold
    >>> [test.tolist() for _, test in KFold(2).split([[0], [1], [2]])]
    [[0, 1], [2]]
    """

    def _fold(self, n, y, groups):
        n_splits, rng = require_integer("n_splits", self.n_splits, 2, n), self._shuffler()
        rows = np.arange(n)
        if rng is not None:
            rng.shuffle(rows)
        fold = np.empty(n, np.intp)
        fold[rows] = np.repeat(np.arange(n_splits), n // n_splits + (np.arange(n_splits) < n % n_splits))
        return fold


class StratifiedKFold(_Partition):
    """Folds with nearly the class shares of the whole: those of scikit-learn's StratifiedKFold.

    Parameters
    ----------
    n_splits : int >= 2, default=5
    shuffle : bool, default=False
        Whether the rows of each class are shuffled.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from fastclf import StratifiedKFold
    >>> [test.tolist() for _, test in StratifiedKFold(2).split([[0], [1], [2], [3]], ["a", "a", "b", "b"])]
    [[0, 2], [1, 3]]
    """

    def _fold(self, n, y, groups):
        if y is None:
            raise ValueError("y is None; labels to stratify by are wanted")
        n_splits, rng = require_integer("n_splits", self.n_splits, 2, n), self._shuffler()
        classes, codes = encode_labels(y)
        first = np.full(len(classes), n)
        np.minimum.at(first, codes, np.arange(n))
        codes = np.argsort(np.argsort(first))[codes]  # classes in the order in which they occur
        counts = np.bincount(codes)
        if n_splits > counts.max():
            raise ValueError(f"n_splits is {n_splits}, more than the {counts.max()} members of the largest class")
        if n_splits > counts.min():
            warn(f"The least populated class in y has only {counts.min()} members, fewer than n_splits={n_splits}")
        ordered, fold = np.sort(codes), np.empty(n, np.intp)
        shares = np.array([np.bincount(ordered[i::n_splits], minlength=len(counts)) for i in range(n_splits)])
        for k in range(len(counts)):
            own = np.repeat(np.arange(n_splits), shares[:, k])
            if rng is not None:
                rng.shuffle(own)
            fold[codes == k] = own
        return fold


class GroupKFold(_Partition):
    """Folds that keep the rows of a group together: those of scikit-learn's GroupKFold.

    Parameters
    ----------
    n_splits : int >= 2, default=5
    shuffle : bool, default=False
        Whether groups are shuffled; else the largest come first, each into the fold with the fewest rows.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from fastclf import GroupKFold
    >>> [test.tolist() for _, test in GroupKFold(2).split([[0], [1], [2], [3]], groups=["a", "b", "a", "c"])]
    [[0, 2], [1, 3]]
    """

    def _fold(self, n, y, groups):
        if groups is None:
            raise ValueError("groups is None; the group of each row is wanted")
        groups = as_label_vector(groups, "groups")
        if len(groups) != n:
            raise ValueError(f"groups has {len(groups)} entries and X {n} rows; one a row is wanted")
        names, codes = encode_labels(groups)
        n_splits, rng = require_integer("n_splits", self.n_splits, 2), self._shuffler()
        if n_splits > len(names):
            raise ValueError(f"n_splits is {n_splits}, but there are {len(names)} groups; no more folds are wanted")
        fold = np.empty(len(names), np.intp)
        if rng is not None:
            for i, own in enumerate(np.array_split(rng.permutation(len(names)), n_splits)):
                fold[own] = i
            return fold[codes]
        size = np.bincount(codes)
        filled = np.zeros(n_splits)
        for group in np.argsort(size, kind="stable")[::-1]:
            fold[group] = filled.argmin()
            filled[fold[group]] += size[group]
        return fold[codes]


class LeaveOneOut(_Splitter):
    """A fold for each row, which is left out alone.

    Parameters
    ----------
    None.

    Examples
    --------
    >>> from fastclf import LeaveOneOut
    >>> [test.tolist() for _, test in LeaveOneOut().split([[0], [1], [2]])]
    [[0], [1], [2]]
    """

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of rows."""
        return _n_rows(X, y)


class HoldOut(_Splitter):
    """Some rows are drawn to be asked about, and all others are fitted on; once, or several times anew.

    Parameters
    ----------
    test_size : float in (0, 1) or int, default=0.25
        The share of the rows, rounded up, or their number.
    n_splits : int >= 1, default=1
    stratify : bool, default=True
        Whether both sides have nearly the class shares of the whole. Numbers that are not whole are no classes.
    random_state : int, Generator or None, default=0

    Examples
    --------
    >>> from fastclf import HoldOut
    >>> [(train, test)] = HoldOut(0.5).split([[0], [1], [2], [3]], ["a", "a", "b", "b"])
    >>> sorted(train // 2), sorted(test // 2)
    ([np.int64(0), np.int64(1)], [np.int64(0), np.int64(1)])
    """

    def __init__(self, test_size=0.25, *, n_splits=1, stratify=True, random_state=0):
        self.test_size, self.n_splits, self.stratify, self.random_state = test_size, n_splits, stratify, random_state

    def split(self, X, y=None, groups=None):
        n = _n_rows(X, y)
        n_test = _size("test_size", self.test_size, n)
        if not 0 < n_test < n:
            raise ValueError(f"test_size is {self.test_size!r}, of {n} rows; rows on both sides are wanted")
        rng = np.random.default_rng(self.random_state)
        for _ in range(require_integer("n_splits", self.n_splits, 1)):
            tested = np.zeros(n, bool)
            tested[drawn(rng, n, y if self.stratify else None)[:n_test]] = True
            yield np.flatnonzero(~tested), np.flatnonzero(tested)

    split.__doc__ = _Splitter.split.__doc__


def _size(name, value, n):
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not 0 < value < 1:
            raise ValueError(f"{name} is {value}; a share between 0 and 1 or a number of rows is wanted")
        return int(np.ceil(value * n))
    return require_integer(name, value, 1)


def drawn(rng, n, y):
    """The rows in an order of which each beginning has nearly the class shares of the whole; y None: any order."""
    deck = rng.permutation(n)
    y = None if y is None else as_y(y)
    if y is None or (y.dtype.kind == "f" and not np.array_equal(y, np.floor(y))):
        return deck
    codes = encode_labels(y)[1][deck]
    count = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    rank = np.empty(n)
    rank[order] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
    return deck[np.argsort((rank + rng.random(len(count))[codes]) / count[codes], kind="stable")]


def train_validation_test_split(*arrays, shares=(0.6, 0.2, 0.2), stratify=None, random_state=0):
    """Part rows into those to fit on, those to choose by, and those to judge by at last.

    Parameters
    ----------
    arrays : arrays, tables or sparse matrices of equal length
    shares : three numbers >= 0, default=(0.6, 0.2, 0.2)
        Of the rows, of the sum 1. A share of 0 gives no rows.
    stratify : array-like of shape (n_samples,), default=None
        Labels of which all three parts are to have nearly equal shares.
    random_state : int, Generator or None, default=0

    Returns
    -------
    list
        Of each array its three parts in turn, the rows in their order: X_train, X_validation, X_test, y_train, ...

    Examples
    --------
    >>> from fastclf import train_validation_test_split
    >>> parts = train_validation_test_split(list(range(10)), shares=(0.5, 0.3, 0.2))
    >>> [len(part) for part in parts]
    [5, 3, 2]
    """
    if not arrays:
        raise TypeError("no array is given; at least one is wanted")
    sizes = [_n_rows(array, None) for array in arrays]
    if len(set(sizes)) > 1 or sizes[0] == 0:
        raise ValueError(f"the arrays have {', '.join(map(str, sizes))} rows; the same number, above 0, is wanted")
    share = np.asarray(shares, np.float64)
    if share.shape != (3,) or not (share >= 0).all() or not np.isclose(share.sum(), 1):
        raise ValueError(f"shares is {shares!r}; three numbers from 0 up, of the sum 1, are wanted")
    order = drawn(np.random.default_rng(random_state), sizes[0], stratify)
    ends = np.rint(np.cumsum(share)[:2] * sizes[0]).astype(int)
    parts = [np.sort(part) for part in np.split(order, ends)]
    return [as_rows(array)[part] for array in arrays for part in parts]


def as_rows(X):
    """X as what rows are taken from by an array of indices."""
    if isinstance(X, Csr):
        return X
    return X.iloc if hasattr(X, "iloc") else X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
