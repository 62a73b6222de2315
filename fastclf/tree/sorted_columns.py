"""Columns sorted once: lists of rows in the order of each feature, and packed orders for subsets of rows."""

from copy import copy
from typing import NamedTuple

import numpy as np

from .._threads import budgets, ranges, run
from . import _presort

# A sorted list may leave out the rows with a certain value if more than this share of all rows have the value.
_COMMON = 0.25

# Fewer cells (row, column) than this are sorted by the calling thread, in less time than others are woken.
_THREAD_CELLS = 1 << 15

# The number of rows that are sorted before the first check for Ctrl-C, and the largest number between two checks.
_ROWS, _MOST_ROWS = 1 << 18, 1 << 21


class Target(NamedTuple):
    """The target of a tree: classes or numbers."""

    codes: np.ndarray | None  # (n,), int32: the class of each row; None in regression, and if there are several outputs
    # (n, n_outputs), float64: the target of each row and output; a class c of output o is stored as first_value[o] + c
    y: np.ndarray | None
    # (n_outputs + 1,), int32: the index of each output's first value among the values of a node
    first_value: np.ndarray

    @property
    def n_values(self):
        return int(self.first_value[-1])

    def of(self, rows):
        """The target of the listed rows."""
        return self._replace(
            codes=None if self.codes is None else self.codes[rows], y=None if self.y is None else self.y[rows]
        )


# The `Target` of trees that have nothing to predict, such as density trees.
NO_TARGET = Target(None, None, np.array([0, 1], np.int32))


class Training(NamedTuple):
    """The data of a fit: the rows of X with weight above 0, and their targets."""

    # (number of all rows, n_features), float32 or float64: the features, also of rows of weight 0, with codes in place
    # of categories
    X: np.ndarray
    rows: np.ndarray | None  # (n,), intp: the numbers of the rows with weight above 0; None: all rows
    target: Target  # the classes or numbers that the tree shall predict, for the n rows with weight above 0
    weight: np.ndarray | None  # (n,), float64: the weights of the rows with weight above 0; None: all weights are 1
    # (n_features,), int32: the number of each feature's categories, 0 for numbers; None: all features are numbers
    n_codes: np.ndarray | None

    def __len__(self):
        return len(self.X) if self.rows is None else len(self.rows)

    def total_weight(self, rows=None):
        """The sum of the weights of the listed rows, or of all rows if None."""
        if self.weight is None:
            return float(len(self) if rows is None else len(rows))
        return float((self.weight if rows is None else self.weight[rows]).sum())

    def values_at(self, rows, features):
        """The value of each listed row in the feature listed with it, as float64; -0.0 becomes 0.0."""
        with np.errstate(invalid="ignore"):  # NumPy reports a signaling NaN as invalid
            return np.add(self.X[rows if self.rows is None else self.rows[rows], features], 0.0, dtype=np.float64)


class Sorted:
    """The sorted columns of the data as lists of items, which `_presort.pyx` describes.

    With `leave_out`, the list of a feature may leave out the rows of a common value. If any list does, or with
    `with_rows`, there is an additional list with all rows. Memory: 8 bytes per cell; during construction
    another 40 per row and thread, or 264 from 128 features on.

    Attributes
    ----------
    n_features : int
    row_bits, rank_shift : int
        The positions, in an item, of the bits of the class and of the rank.
    items : ndarray of shape (n_features, n) or (n_features + 1, n), uint64
        None after a tree has consumed them.
    common : ndarray of shape (2, n_features), int32, or None
        The rank that a list leaves out (-1: none), and a row with this rank; None: no list leaves out rows.
    cells_a_row : float
        The mean number of items in all lists for a row.
    lacking : ndarray of shape (n_features,), bool
        Whether the feature has missing values.
    """

    __slots__ = ("cells_a_row", "common", "items", "lacking", "n_features", "rank_shift", "row_bits")

    def __init__(self, data, threads, leave_out=False, with_rows=False):
        n, d = len(data), data.X.shape[1]
        if n >= 1 << 31:
            raise ValueError(f"X has {n} rows; trees take at most 2147483647 (fit a sample of the rows)")
        self.n_features = d
        self.row_bits = max(1, (n - 1).bit_length())
        self.rank_shift = _rank_shift(n, self.row_bits, data.target)
        self.items = np.empty((d + (leave_out or with_rows), n), np.uint64)
        self.common = np.empty((2, d), np.int32) if leave_out else None
        # the number of columns read at a time: a larger number is faster, but needs more memory
        width = (32 if d < 128 else 256) // data.X.itemsize

        def work(columns):
            values = np.empty((width, n), data.X.dtype)
            sorting = _presort.Sorting(self, data, *columns, width, int(_COMMON * n))
            for rows in budgets(_ROWS, _MOST_ROWS):
                if not _presort.sort(sorting, data.X, values, rows):
                    return
                yield

        run(work, blocks_of(d, 8, threads), threads if n * d >= _THREAD_CELLS else 1)
        self.cells_a_row = d
        short = leave_out and self.common[0] >= 0
        if np.any(short):
            lengths = self.items[:d, -1][short] & np.uint64((1 << self.row_bits) - 1)
            self.cells_a_row -= (n - lengths.astype(np.float64)).sum() / n
        else:
            self.common = None
        if with_rows or self.common is not None:
            _presort.list_rows(data.target.codes, self.row_bits, self.items[d])
        else:
            self.items = self.items[:d]
        self._find_lacking()

    def _find_lacking(self):
        missing = np.uint64((1 << 64 - self.rank_shift) - 1)
        self.lacking = self.items[: self.n_features, -1] >> np.uint64(self.rank_shift) == missing
        if self.common is not None:
            # the last item of a feature's list belongs to a missing value, if the feature has any; a list that leaves
            # out rows holds its own length there, and has no missing value
            self.lacking &= self.common[0] < 0

    def like(self, n_rows, target):
        """A copy for n_rows of the rows and another target, with new items that are not yet filled."""
        other = copy(self)
        other.rank_shift = _rank_shift(n_rows, self.row_bits, target)
        other.items = np.empty((self.n_features + (self.common is not None), n_rows), np.uint64)
        other.common = None if self.common is None else self.common.copy()
        return other


class Packed:
    """The orders of a `Sorted` in 4 bytes per cell; lists of any subset of the rows are made from them without sorting.

    Attributes
    ----------
    lists : Sorted
        Has no items; a rank in `common` is replaced by the number of smaller distinct values in the list.
    data : Training
        The rows in the lists.
    packed : ndarray of shape (n_features, n), uint32
        Written by `pack` of `_presort.pyx`.
    """

    __slots__ = ("data", "lists", "packed")

    def __init__(self, lists, data, threads):
        self.lists, self.data = copy(lists), data
        self.lists.common = None if lists.common is None else lists.common.copy()
        self.packed = np.empty((lists.n_features, lists.items.shape[1]), np.uint32)

        def work(columns):
            for first, last in ranges(*columns, 1):
                _presort.pack(self.lists, first, last, self.packed)
                yield

        run(work, blocks_of(lists.n_features, 1, threads), threads)
        self.lists.items = None

    @classmethod
    def of_columns(cls, X, threads):
        """The `Packed` orders of the columns of X, for any target."""
        data = Training(X, None, NO_TARGET, None, None)
        return cls(Sorted(data, threads, leave_out=True), data, threads)

    def among(self, rows):
        """The `Orders` of the listed rows of X, whose numbers must ascend."""
        return Orders(self, rows)

    def of(self, rows, numbers, target, threads):
        """The `Sorted` of the listed rows, which ascend; numbers: the number of each of these rows in the target."""
        lists, d = self.lists.like(len(rows), target), self.lists.n_features
        tags = np.full(self.packed.shape[1], -1)
        tags[rows] = numbers
        if target.codes is not None:
            tags[rows] |= target.codes[numbers].astype(np.int64) << lists.row_bits

        def work(columns):
            for first, last in ranges(*columns, 1):
                _presort.unpack(self, lists, self.data.X, tags, first, last)
                yield

        run(work, blocks_of(d, 1, threads), threads)
        if lists.common is not None:
            lists.items[d] = tags[rows]
        lists._find_lacking()
        return lists


class Orders(NamedTuple):
    """The orders of some rows, as a selection from packed orders of all rows."""

    packed: Packed
    rows: np.ndarray  # (n,): the numbers of the rows to which a tree is fitted, such as those of a fold, ascending

    def lists(self, target, threads):
        """The `Sorted` of these rows, for a target."""
        return self.packed.of(self.rows, np.arange(len(self.rows)), target, threads)


def _rank_shift(n_rows, row_bits, target):
    """The number of bits below the rank in a 64-bit item (rank, class, row); ValueError if too few are left for it."""
    n_classes = 1 if target.codes is None else target.n_values
    shift = row_bits + (n_classes - 1).bit_length()
    if shift + row_bits > 63:
        raise ValueError(
            f"X has {n_rows} rows and y {n_classes} classes; for trees the squared number of rows times"
            " the number of classes must be below 2^63 (fit a sample of the rows)"
        )
    return shift


def blocks_of(n, size, threads):
    """The range [0, n) as about 4 blocks per thread, in multiples of `size`."""
    size *= max(1, -(-n // (4 * threads * size))) if threads > 1 else -(-n // size)
    return [(start, min(start + size, n)) for start in range(0, n, size)]
