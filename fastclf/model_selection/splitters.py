"""Splitters: objects that split rows into train and test rows."""

import inspect
from numbers import Integral, Real

import numpy as np

from .._document import document
from .._exceptions import warn
from .._shuffles import permutation, shuffle
from .._threads import aside_if_many, each_aside_if_many, repeated
from .._validation import (
    as_array,
    as_float64,
    as_generator,
    as_random_state,
    described,
    encode_groups,
    encode_labels,
    require_integer,
    require_truth,
)
from ..metrics.targets import as_label_vector, as_targets, target_kind
from .rows import as_y, n_rows, take_rows

documented = document(
    split="""\
X : array-like of shape (n_samples, n_features)
    Only the number of its rows matters.
y : array-like of shape (n_samples,), default=None
    Labels, for splitters that use them.
groups : array-like of shape (n_samples,), default=None
    The group of each row, for splitters that use it.""",
    n_splits="""\
n_splits : int >= 2, default=5
    The number of folds.""",
    random_state="""\
random_state : int, RandomState or None, default=None
    Seed of the shuffle; an integer shuffles as in scikit-learn.""",
)


def pairs_of(fold, n_folds):
    """(train, test) for each fold, as ascending row numbers; `fold` has the number of the fold of each row."""
    return (aside_if_many(len(fold), _pair, fold, i) for i in range(n_folds))


def _pair(fold, i):
    return np.flatnonzero(fold != i), np.flatnonzero(fold == i)


def require_rows(n_splits, n):
    """Refuse more folds than there are rows, with scikit-learn's message."""
    if n_splits > n:
        raise ValueError(
            f"Cannot have number of splits n_splits={n_splits} greater than the number of samples: n_samples={n}."
        )


def is_replaced(splitter, names=None):
    """Whether the object, or a class outside this package, has a method of its own in place of one of the package's.

    `names` is for the methods that are asked about; None: all that decide on the rows.
    """
    package = __name__.partition(".")[0]
    for name in ("split", *splitter._hooks) if names is None else names:
        module = getattr(getattr(type(splitter), name), "__module__", None) or ""
        if name in vars(splitter) or module.partition(".")[0] != package:
            return True
    return False


class Splitter:
    """An object with a method `split`, for this package and for scikit-learn's tools."""

    _takes_groups = False
    # A subclass may define its rows in one of these methods, and call the inherited one, as in scikit-learn. The
    # package's own splitters do not call them.
    _hooks = ("_iter_test_indices", "_iter_test_masks")

    def __repr__(self):
        names = sorted(inspect.signature(type(self)).parameters)
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @documented
    def split(self, X, y=None, groups=None):
        """The rows of each fold.

        Parameters
        ----------
        {split}

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        self._refuse_groups(groups)
        n = n_rows(X, y)
        if is_replaced(self, self._hooks):
            return self._pairs_of_hooks(X, y, groups, n)
        return each_aside_if_many(n, self._pairs, n, y, groups)

    def _iter_test_indices(self, X=None, y=None, groups=None):
        """The row numbers of each test fold."""
        return (test for _, test in self._pairs(n_rows(X, y), y, groups))

    def _iter_test_masks(self, X=None, y=None, groups=None):
        """A mask of the rows of each test fold."""
        n = n_rows(X, y)
        for test in self._iter_test_indices(X, y, groups):
            mask = np.zeros(n, bool)
            mask[test] = True
            yield mask

    def _pairs_of_hooks(self, X, y, groups, n):
        for mask in self._iter_test_masks(X, y, groups):
            yield _pair(np.asarray(mask, bool), True)

    def _refuse_groups(self, groups):
        if groups is not None and not self._takes_groups:
            warn(f"The groups parameter is ignored by {type(self).__name__}")

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of folds."""
        return self.n_splits

    def get_metadata_routing(self):
        """A MetadataRequest, by which scikit-learn learns whether `split` takes groups."""
        # scikit-learn is imported here and not above, because it is optional: only scikit-learn calls this method
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if self._takes_groups:
            request.split.add_request(param="groups", alias=vars(self).get("_groups_request", True))
        return request


class OfGroups(Splitter):
    """A splitter that looks at the group of each row."""

    _takes_groups = True

    def set_split_request(self, *, groups="$UNCHANGED$"):
        """What scikit-learn's metadata routing hands to `split` as `groups`: True, False, None or another name.

        Parameters
        ----------
        groups : bool, str or None, default="$UNCHANGED$"
            "$UNCHANGED$", scikit-learn's constant UNCHANGED, keeps the last choice.

        Returns
        -------
        self
        """
        if groups != "$UNCHANGED$":
            self._groups_request = groups
        return self


class Partition(Splitter):
    """A splitter that puts each row into one test fold, defined by `_fold(n, y, groups)` in a subclass."""

    def __init__(self, n_splits=5, *, shuffle=False, random_state=None):
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral):
            raise ValueError(f"The number of folds must be of Integral type. n_splits is {described(n_splits)}")
        if n_splits < 2:
            raise ValueError(
                "k-fold cross-validation requires at least one train/test split by setting n_splits=2 or more, got"
                f" n_splits={n_splits}."
            )
        if not isinstance(shuffle, bool):
            raise TypeError(f"shuffle must be True or False; got {described(shuffle)}")
        if not shuffle and random_state is not None:
            raise ValueError(
                "Setting a random_state has no effect since shuffle is False. You should leave random_state to its"
                " default (None), or set shuffle=True."
            )
        self.n_splits, self.shuffle, self.random_state = int(n_splits), shuffle, random_state

    def _pairs(self, n, y, groups):
        yield from pairs_of(self._fold(n, y, groups), self.n_splits)

    def _shuffler(self):
        """The random generator with which rows are shuffled as in scikit-learn; None if they are not shuffled."""
        return as_random_state(self.random_state) if self.shuffle else None


@documented
class KFold(Partition):
    """Folds with equal numbers of rows, in order or shuffled: the same as those of scikit-learn's KFold.

    Parameters
    ----------
    {n_splits}
    shuffle : bool, default=False
        Whether the rows are shuffled.
    {random_state}

    Examples
    --------
    >>> from fastclf import KFold
    >>> [test.tolist() for _, test in KFold(2).split([[0], [1], [2]])]
    [[0, 1], [2]]
    """

    def _fold(self, n, y, groups):
        require_rows(self.n_splits, n)
        rng, n_splits = self._shuffler(), self.n_splits
        rows = np.arange(n)
        if rng is not None:
            shuffle(rng, rows)
        fold = np.empty(n, np.intp)
        fold[rows] = repeated(np.arange(n_splits), n // n_splits + (np.arange(n_splits) < n % n_splits))
        return fold


@documented
class StratifiedKFold(Partition):
    """Folds with nearly the same class shares as all rows: the same as those of scikit-learn's StratifiedKFold.

    Parameters
    ----------
    {n_splits}
    shuffle : bool, default=False
        Whether the rows of each class are shuffled.
    {random_state}

    Examples
    --------
    >>> from fastclf import StratifiedKFold
    >>> [test.tolist() for _, test in StratifiedKFold(2).split([[0], [1], [2], [3]], ["a", "a", "b", "b"])]
    [[0, 2], [1, 3]]
    """

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

    def _make_test_folds(self, X, y=None):
        """The fold of each row; scikit-learn's name for it, which packages call."""
        return self._fold(n_rows(X, y), y, None)

    def _fold(self, n, y, groups):
        require_rows(self.n_splits, n)
        y = as_classes(y, n)
        n_splits, rng = self.n_splits, self._shuffler()
        classes, codes = encode_labels(y)
        first = np.full(len(classes), n)
        np.minimum.at(first, codes, np.arange(n))
        # as in scikit-learn, the order of the classes is that of their first rows
        codes = np.argsort(np.argsort(first))[codes]
        counts = np.bincount(codes)
        if n_splits > counts.max():
            raise ValueError(
                f"n_splits={n_splits} cannot be greater than the number of members in each class; the largest class has"
                f" {counts.max()}"
            )
        if n_splits > counts.min():
            warn(
                f"The least populated class in y has only {counts.min()} members, which is less than"
                f" n_splits={n_splits}."
            )
        ordered, fold = np.sort(codes), np.empty(n, np.intp)
        shares = np.array([np.bincount(ordered[i::n_splits], minlength=len(counts)) for i in range(n_splits)])
        for k in range(len(counts)):
            folds = repeated(np.arange(n_splits), shares[:, k])
            if rng is not None:
                shuffle(rng, folds)
            fold[codes == k] = folds
        return fold


def require_same_rows(n, y):
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {len(y)}]")


def as_classes(y, n):
    """The labels of n rows for stratification, as a vector."""
    if y is None:
        raise ValueError("y is None; labels to stratify by are wanted")
    y = as_targets(y, "y")
    kind = target_kind(y)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Supported target types are: ('binary', 'multiclass'). Got {kind!r} instead.")
    require_same_rows(n, y)
    return y


@documented
class GroupKFold(OfGroups, Partition):
    """Folds in which all rows of a group stay together: the same as those of scikit-learn's GroupKFold.

    Parameters
    ----------
    {n_splits}
    shuffle : bool, default=False
        Whether groups are shuffled; otherwise the largest groups come first, each assigned to the fold with the fewest
        rows.
    {random_state}

    Examples
    --------
    >>> from fastclf import GroupKFold
    >>> [test.tolist() for _, test in GroupKFold(2).split([[0], [1], [2], [3]], groups=["a", "b", "a", "c"])]
    [[0, 2], [1, 3]]
    """

    def _fold(self, n, y, groups):
        names, codes = as_groups(groups, n)
        n_splits, rng = self.n_splits, self._shuffler()
        if n_splits > len(names):
            raise ValueError(
                f"Cannot have number of splits n_splits={n_splits} greater than the number of groups: {len(names)}."
            )
        fold = np.empty(len(names), np.intp)
        if rng is not None:
            for i, members in enumerate(np.array_split(permutation(rng, len(names)), n_splits)):
                fold[members] = i
            return fold[codes]
        size = np.bincount(codes)
        filled = np.zeros(n_splits)
        for group in np.argsort(size, kind="stable")[::-1]:
            fold[group] = filled.argmin()
            filled[fold[group]] += size[group]
        return fold[codes]


def as_groups(groups, n=None):
    """(the sorted groups, for each row the index of its group); n is the number of rows, or None if unknown."""
    if groups is None:
        raise ValueError("The 'groups' parameter should not be None.")
    groups = as_array(groups, "groups")
    if groups.size == 0:
        raise ValueError("Found array with 0 sample(s): groups is empty; the group of each row is wanted")
    groups = as_label_vector(groups, "groups")
    if n is not None and len(groups) != n:
        raise ValueError(f"groups has {len(groups)} entries and X {n} rows; one per row is wanted")
    return encode_groups(groups)


class LeaveOneOut(Splitter):
    """A fold for each row, which is its only test row.

    Examples
    --------
    >>> from fastclf import LeaveOneOut
    >>> [test.tolist() for _, test in LeaveOneOut().split([[0], [1], [2]])]
    [[0], [1], [2]]
    """

    def _pairs(self, n, y, groups):
        if n < 2:
            raise ValueError(f"Cannot perform LeaveOneOut with n_samples={n}.")
        yield from pairs_of(np.arange(n), n)

    def get_n_splits(self, X, y=None, groups=None):
        """The number of rows."""
        if X is None:
            raise ValueError("The 'X' parameter should not be None.")
        return n_rows(X, y)


class HoldOut(Splitter):
    """Random test rows, with all other rows as train rows; once, or several times.

    Parameters
    ----------
    test_size : float in (0, 1) or int, default=0.25
        The share of the rows, rounded up, or their number.
    n_splits : int >= 1, default=1
        The number of random draws.
    stratify : bool, default=True
        Whether both sides have nearly the same class shares as all rows. Numbers that are not whole are not treated as
        classes.
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

    def _pairs(self, n, y, groups):
        n_test = _size("test_size", self.test_size, n)
        if not 0 < n_test < n:
            raise ValueError(
                f"test_size is {described(self.test_size)} for {n} rows; a train row and a test row at least are wanted"
            )
        rng, n_splits = as_generator(self.random_state), require_integer("n_splits", self.n_splits, 1)
        for _ in range(n_splits):
            order = drawn(rng, n, y if require_truth("stratify", self.stratify) else None)
            yield np.sort(order[n_test:]), np.sort(order[:n_test])


def _size(name, value, n):
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not 0 < value < 1:
            raise ValueError(f"{name} is {value}; a share between 0 and 1 or a number of rows is wanted")
        return int(np.ceil(value * n))
    return require_integer(name, value, 1)


def drawn(rng, n, y):
    """The rows in a random order, such that the first m rows, for any m, have nearly the class shares of all.

    Without y any order is equally likely.
    """
    deck = rng.permutation(n)
    y = None if y is None else as_y(y)
    if y is not None:
        require_same_rows(n, y)
    if y is None or (y.dtype.kind == "f" and not np.array_equal(y, np.floor(y))):
        return deck
    codes = encode_labels(y)[1][deck]
    count = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    rank = np.empty(n)
    rank[order] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
    return deck[np.argsort((rank + rng.random(len(count))[codes]) / count[codes], kind="stable")]


def train_validation_test_split(*arrays, shares=(0.6, 0.2, 0.2), stratify=None, random_state=0):
    """Split rows into train rows, validation rows for choices, and test rows for the final error.

    Parameters
    ----------
    arrays : arrays, tables or sparse matrices of equal length
    shares : three numbers >= 0, default=(0.6, 0.2, 0.2)
        Shares of the rows, with the sum 1. A share of 0 gives no rows.
    stratify : array-like of shape (n_samples,), default=None
        Labels whose shares are to be nearly equal in all three parts.
    random_state : int, Generator or None, default=0

    Returns
    -------
    list
        For each array its three parts, with rows in their order: X_train, X_validation, X_test, y_train, ...

    Examples
    --------
    >>> from fastclf import train_validation_test_split
    >>> parts = train_validation_test_split(list(range(10)), shares=(0.5, 0.3, 0.2))
    >>> [len(part) for part in parts]
    [5, 3, 2]
    """
    if not arrays:
        raise TypeError("no array is given; at least one is wanted")
    sizes = [n_rows(array) for array in arrays]
    if len(set(sizes)) > 1 or sizes[0] == 0:
        raise ValueError(f"the arrays have {', '.join(map(str, sizes))} rows; the same number, above 0, is wanted")
    share = as_float64(shares, "shares")
    if share.shape != (3,) or not (share >= 0).all() or not np.isclose(share.sum(), 1):
        raise ValueError(f"shares is {described(shares)}; three numbers from 0 up, whose sum is 1, are wanted")
    order = drawn(as_generator(random_state), sizes[0], stratify)
    ends = np.rint(np.cumsum(share)[:2] * sizes[0]).astype(int)
    parts = [np.sort(part) for part in np.split(order, ends)]
    return [take(part) for take in map(take_rows, arrays) for part in parts]
