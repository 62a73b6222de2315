"""Columns sorted once: lists of the rows in the order of each feature, whole or packed for any rows of them."""

from copy import copy
from typing import NamedTuple

import numpy as np

from .._threads import ranges, run
from . import _presort

# The share of the rows from which on a value's are left out.
_COMMON = 0.25


class Target(NamedTuple):
    """What is predicted."""

    codes: np.ndarray | None  # (n,), int32: the class of each row, of a single output
    y: np.ndarray | None  # (n, n_outputs), float64: numbers, or the places of the classes among all outputs' classes
    first_value: np.ndarray  # (n_outputs + 1,), int32: where the values of an output begin

    @property
    def n_values(self):
        return int(self.first_value[-1])

    def of(self, rows):
        return self._replace(
            codes=None if self.codes is None else self.codes[rows], y=None if self.y is None else self.y[rows]
        )


class Sorted:
    """The columns of X[rows] (None: all) as lists of items, with the classes of the rows in them where there are any.

    leave_out: lists may leave the rows of a common value out; then the last list is one of all rows.
    Memory: 8 bytes a cell, and while it is made 40 a row and thread, from 128 features on 264.
    """

    def __init__(self, X, rows, target, n_codes, threads, leave_out=False):
        n, d = len(X) if rows is None else len(rows), X.shape[1]
        self.n_features = d
        if n >= 1 << 31:
            raise ValueError(f"X has {n} rows, more than trees are grown on")
        self.row_bits = max(1, (n - 1).bit_length())
        self.rank_shift = _rank_shift(self.row_bits, target)
        self.items = np.empty((d + leave_out, n), np.uint64)
        common = np.empty((2, d), np.int32) if leave_out else None

        # columns that are read at a time: more are faster, but memory counts where rows are short
        width = (32 if d < 128 else 256) // X.itemsize

        def work(columns):
            values = np.empty((width, n), X.dtype)
            buffers = values, np.empty(n, np.uint64), np.empty(3 << 11, np.uint32)
            codes = target.codes, n_codes, self.row_bits, self.rank_shift
            for first, last in ranges(*columns, width, 64):
                _presort.sort(X, rows, *codes, first, last, int(_COMMON * n), common, self.items, *buffers)
                yield

        run(work, blocks_of(d, 8, threads), threads)
        self.common, self.cells_a_row = None, d
        short = leave_out and common[0] >= 0
        if np.any(short):
            self.common = common
            lengths = self.items[:d, -1][short] & np.uint64((1 << self.row_bits) - 1)
            self.cells_a_row -= (n - lengths.astype(np.float64)).sum() / n
            _presort.list_rows(target.codes, self.row_bits, self.items[d])
        else:
            self.items = self.items[:d]
        self.find_lacking()

    def find_lacking(self):
        """Set which features have missing values."""
        missing = np.uint64((1 << 64 - self.rank_shift) - 1)
        self.lacking = self.items[: self.n_features, -1] >> np.uint64(self.rank_shift) == missing
        if self.common is not None:
            self.lacking &= self.common[0] < 0  # the last item of a list that leaves rows out is none


class Packed:
    """The orders of a Sorted in 4 bytes a cell: lists of any of its rows are made from it, without a sort."""

    def __init__(self, lists, X, rows, n_codes, threads):
        self.lists, self.X, self.rows, self.n_codes = copy(lists), X, rows, n_codes
        items, self.lists.items = lists.items, None
        common = self.lists.common = None if lists.common is None else lists.common.copy()
        self.packed = np.empty((lists.n_features, items.shape[1]), np.uint32)

        def work(columns):
            for first, last in ranges(*columns, 1):
                _presort.pack(items, common, lists.row_bits, lists.rank_shift, first, last, self.packed)
                yield

        run(work, blocks_of(lists.n_features, 1, threads), threads)

    @classmethod
    def of_columns(cls, X, threads):
        """Of X alone, whatever is to be predicted."""
        target = Target(None, None, np.array([0, 1], np.int32))
        return cls(Sorted(X, None, target, None, threads, leave_out=True), X, None, None, threads)

    def among(self, rows):
        """The Orders of rows of X, whose numbers are ascending."""
        return Orders(self, rows)

    def of(self, rows, numbers, target, threads):
        """The Sorted of those rows, ascending, which get the numbers that they have in the target."""
        lists, d = copy(self.lists), self.lists.n_features
        tags = np.full(self.packed.shape[1], -1)
        tags[rows] = numbers
        if target.codes is not None:
            tags[rows] |= target.codes[numbers].astype(np.int64) << lists.row_bits
        lists.rank_shift = _rank_shift(lists.row_bits, target)
        lists.items = np.empty((d + (lists.common is not None), len(rows)), np.uint64)
        lists.common = None if lists.common is None else lists.common.copy()
        bits = lists.row_bits, lists.rank_shift

        def work(columns):
            for first, last in ranges(*columns, 1):
                _presort.unpack(
                    self.packed, lists.common, tags, self.X, self.rows, self.n_codes, *bits, first, last, lists.items
                )
                yield

        run(work, blocks_of(d, 1, threads), threads)
        if lists.common is not None:
            lists.items[d] = tags[rows]
        lists.find_lacking()
        return lists


class Orders(NamedTuple):
    """Some rows of columns that are sorted."""

    packed: Packed
    rows: np.ndarray  # ascending

    def lists(self, target, threads):
        """As Sorted of these rows alone."""
        return self.packed.of(self.rows, np.arange(len(self.rows)), target, threads)


def _rank_shift(row_bits, target):
    n_classes = 1 if target.codes is None else target.n_values
    shift = row_bits + (n_classes - 1).bit_length()
    if shift + row_bits > 63:
        raise ValueError(f"X and y have {n_classes} classes and too many rows for them, more than trees are grown on")
    return shift


def blocks_of(n, size, threads):
    """[0, n) in about 4 blocks a thread, of whole multiples of `size`."""
    size *= max(1, -(-n // (4 * threads * size))) if threads > 1 else -(-n // size)
    return [(start, min(start + size, n)) for start in range(0, n, size)]
