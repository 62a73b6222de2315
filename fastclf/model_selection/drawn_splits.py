"""Random splits into training and test rows, with scikit-learn's random numbers."""

from math import ceil, floor
from numbers import Integral, Real

import numpy as np

from .._document import document
from .._shuffles import permutation
from .._threads import each_aside_if_many
from .._validation import as_array, as_random_state, described, encode_groups, require_integer, require_truth
from .rows import n_rows, take_rows
from .splitters import OfGroups, Splitter, as_groups, require_same_rows


def _documented(n_splits, what, least):
    """Insert descriptions of parameters into a splitter's docstring; `least` is the default share of test rows."""
    return document(
        n_splits=f"""\
n_splits : int >= 1, default={n_splits}
    The number of random draws of {what}.""",
        sizes=f"""\
test_size : float in (0, 1) or int, default=None
    The share of the {what} in the test set, or their number; None: the complement of `train_size` or, if that is None
    too, {least}.
train_size : float in (0, 1) or int, default=None
    The share of the {what} in the training set, or their number; None: all outside the test set.""",
        random_state="""\
random_state : int, RandomState or None, default=None
    An integer draws the same rows as in scikit-learn.""",
    )


def side_sizes(n, test_size, train_size, default):
    """(number of training rows, number of test rows) of a random split of n rows."""
    if test_size is None and train_size is None:
        test_size = default
    sizes = {"test_size": test_size, "train_size": train_size}
    count = {}
    for name, size in sizes.items():
        if size is None:
            continue
        if isinstance(size, bool) or not isinstance(size, Real):
            raise ValueError(f"Invalid value for {name}: {described(size)}; a number is wanted")
        whole = isinstance(size, Integral)
        if not 0 < size < (n if whole else 1):
            raise ValueError(
                f"{name}={size} should be either positive and smaller than the number of samples {n} or a float in the"
                " (0, 1) range"
            )
        count[name] = int(size) if whole else (ceil if name == "test_size" else floor)(size * n)
    shares = [size for size in sizes.values() if size is not None and not isinstance(size, Integral)]
    if sum(shares) > 1:
        raise ValueError(
            f"The sum of test_size and train_size = {sum(shares)}, should be in the (0, 1) range. Reduce test_size"
            " and/or train_size."
        )
    n_train, n_test = count.get("train_size"), count.get("test_size")
    n_train, n_test = n - n_test if n_train is None else n_train, n - n_train if n_test is None else n_test
    if n_train + n_test > n:
        raise ValueError(
            f"The sum of train_size and test_size = {n_train + n_test}, should be smaller than the number of samples"
            f" {n}. Reduce test_size and/or train_size."
        )
    if n_train == 0:
        raise ValueError(
            f"With n_samples={n}, test_size={test_size} and train_size={train_size}, the resulting train set will be"
            " empty. Adjust any of the aforementioned parameters."
        )
    return n_train, n_test


class _Drawn(Splitter):
    """A splitter that draws each split's rows independently of the other splits."""

    _default = 0.1  # the default share of the rows in the test set
    _hooks = ("_iter_indices",)

    def __init__(self, n_splits=10, *, test_size=None, train_size=None, random_state=None):
        self.n_splits, self.random_state = n_splits, random_state
        self.test_size, self.train_size = test_size, train_size

    def _iter_indices(self, X, y=None, groups=None):
        """The rows of each split."""
        return self._pairs(n_rows(X, y), y, groups)

    def _pairs_of_hooks(self, X, y, groups, n):
        return iter(self._iter_indices(X, y, groups))

    def _sizes(self, n):
        require_integer("n_splits", self.n_splits, 1)
        return side_sizes(n, self.test_size, self.train_size, self._default)

    def _pairs(self, n, y, groups):
        n_train, n_test = self._sizes(n)
        rng = as_random_state(self.random_state)
        for _ in range(self.n_splits):
            order = permutation(rng, n)
            yield order[n_test : n_test + n_train], order[:n_test]


@_documented(10, "rows", "a tenth")
class ShuffleSplit(_Drawn):
    """Test rows drawn at random for each split: the splits of scikit-learn's ShuffleSplit.

    Parameters
    ----------
    {n_splits}
    {sizes}
    {random_state}

    Examples
    --------
    >>> from fastclf import ShuffleSplit
    >>> [(len(train), len(test)) for train, test in ShuffleSplit(2, test_size=0.25).split([[0]] * 8)]
    [(6, 2), (6, 2)]
    """


@_documented(5, "groups", "a fifth")
class GroupShuffleSplit(OfGroups, _Drawn):
    """Test groups drawn at random for each split: the splits of scikit-learn's GroupShuffleSplit.

    Parameters
    ----------
    {n_splits}
    {sizes}
    {random_state}

    Examples
    --------
    >>> from fastclf import GroupShuffleSplit
    >>> [(train, test)] = GroupShuffleSplit(1, random_state=0).split([[0]] * 4, groups=["a", "a", "b", "b"])
    >>> train.tolist(), test.tolist()
    ([0, 1], [2, 3])
    """

    _default = 0.2

    def __init__(self, n_splits=5, *, test_size=None, train_size=None, random_state=None):
        super().__init__(n_splits, test_size=test_size, train_size=train_size, random_state=random_state)

    def _pairs(self, n, y, groups):
        names, codes = as_groups(groups, n)
        for train, test in super()._pairs(len(names), None, None):
            yield np.flatnonzero(np.isin(codes, train)), np.flatnonzero(np.isin(codes, test))


@_documented(10, "rows", "a tenth")
class StratifiedShuffleSplit(_Drawn):
    """Rows drawn with the class shares of the whole: the splits of scikit-learn's StratifiedShuffleSplit.

    Parameters
    ----------
    {n_splits}
    {sizes}
    {random_state}

    Examples
    --------
    >>> from fastclf import StratifiedShuffleSplit
    >>> y = ["a", "b"] * 4
    >>> [sorted(y[i] for i in test) for _, test in StratifiedShuffleSplit(2, test_size=2).split([[0]] * 8, y)]
    [['a', 'b'], ['a', 'b']]
    """

    def split(self, X, y, groups=None):
        """The rows of each split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only the number of its rows matters.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels; for several outputs each combination of labels is a class.
        groups : ignored

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        return super().split(X, y, groups)

    def _pairs(self, n, y, groups):
        if y is None:
            raise ValueError("y is None; labels to stratify by are wanted")
        y = as_array(y, "y")
        if y.ndim == 0:
            raise TypeError(f"y is {described(y)}; labels to stratify by are wanted")
        if y.ndim > 2:
            raise ValueError(f"y has shape {y.shape}; (n_samples,) or (n_samples, n_outputs) is wanted")
        require_same_rows(n, y)
        n_train, n_test = self._sizes(n)
        if y.ndim == 2:
            y = np.array([" ".join(row.astype(str)) for row in y])
        names, codes = encode_groups(y, "y")
        counts = np.bincount(codes)
        if counts.min() < 2:
            raise ValueError(
                "The least populated classes in y have only 1 member, which is too few. The minimum number of groups"
                f" for any class cannot be less than 2. Classes with too few members are: {names[counts < 2].tolist()}"
            )
        for name, size in (("train_size", n_train), ("test_size", n_test)):
            if size < len(names):
                raise ValueError(
                    f"The {name} = {size} should be greater or equal to the number of classes = {len(names)}"
                )
        members = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
        rng = as_random_state(self.random_state)
        for _ in range(self.n_splits):
            fitted = _shares(counts, n_train, rng)
            asked = _shares(counts - fitted, n_test, rng)
            train, test = [], []
            for rows, k, m in zip(members, fitted, asked):
                rows = rows[permutation(rng, len(rows))]
                train.append(rows[:k])
                test.append(rows[k : k + m])
            yield permutation(rng, np.concatenate(train)), permutation(rng, np.concatenate(test))


def _shares(counts, n, rng):
    """The likeliest number of members of each class in a sample of n; equally likely ones are drawn at random."""
    exact = counts / counts.sum() * n
    found = np.floor(exact)
    rest, lacking = exact - found, int(n - found.sum())
    for value in np.unique(rest)[::-1]:
        if lacking <= 0:
            break
        chosen = np.flatnonzero(rest == value)
        chosen = rng.choice(chosen, size=min(len(chosen), lacking), replace=False)
        found[chosen] += 1
        lacking -= len(chosen)
    return found.astype(int)


def train_test_split(*arrays, test_size=None, train_size=None, random_state=None, shuffle=True, stratify=None):
    """Split rows into training and test rows: the rows of scikit-learn's train_test_split.

    Parameters
    ----------
    arrays : arrays, lists, tables or sparse matrices of equal length
    test_size : float in (0, 1) or int, default=None
        The share of the rows in the test set, or their number; None: the complement of `train_size` or, if that is
        None too, a quarter.
    train_size : float in (0, 1) or int, default=None
        The share of the rows in the training set, or their number; None: all rows outside the test set.
    random_state : int, RandomState or None, default=None
        An integer draws the same rows as in scikit-learn.
    shuffle : bool, default=True
        Whether the test rows are drawn at random; otherwise they are the last rows.
    stratify : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Labels whose class shares both parts have, as far as possible.

    Returns
    -------
    list
        The two parts of each array in turn: X_train, X_test, y_train, ...

    Examples
    --------
    >>> from fastclf import train_test_split
    >>> X_train, X_test, y_train, y_test = train_test_split([[0], [1], [2], [3]], "abab", random_state=0)
    >>> X_test, y_test
    ([[2]], ['a'])
    """
    shuffle = require_truth("shuffle", shuffle)
    if not arrays:
        raise ValueError("At least one array required as input")
    sizes = [n_rows(array) for array in arrays if array is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {sizes}")
    n = n_rows(arrays[0])
    n_train, n_test = side_sizes(n, test_size, train_size, 0.25)
    if not shuffle:
        if stratify is not None:
            raise ValueError("Stratified train/test split is not implemented for shuffle=False")
        train, test = np.arange(n_train), np.arange(n_train, n_train + n_test)
    else:
        kind = ShuffleSplit if stratify is None else StratifiedShuffleSplit
        splitter = kind(1, test_size=n_test, train_size=n_train, random_state=random_state)
        [(train, test)] = each_aside_if_many(n, splitter._pairs, n, stratify, None)
    taken = [take_rows(list(array) if isinstance(array, str) else array, as_lists=True) for array in arrays]
    return [take(rows) for take in taken for rows in (train, test)]


# Test runners collect functions with "test" in their names, but must not collect this one.
train_test_split.__test__ = False
