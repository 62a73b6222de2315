"""Blocks of values of the kernel functions linear, poly, rbf and sigmoid between rows, which are dense or sparse."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._csr import Csr
from .._threads import n_threads, ranges, run
from .._validation import require_choice, require_integer, require_number
from . import _pack

compiled = _simd.load("kernels._values")

KINDS = ("linear", "poly", "rbf", "sigmoid")

# The largest number of rows that are packed together: so few that their kernel values with a panel, a few rows side by
# side, stay in the second-level cache.
BLOCK = 256

# Kernel values that take at most this number of multiplications, about 1 ms, are computed by the calling thread alone.
_THREAD_WORK = 1 << 23

# The number of multiplications in the first range of rows that a thread computes; later ranges are sized by time.
_RANGE_WORK = 1 << 24

# Rows are packed as dense rows if more than this share of their values is not 0, among the columns in which at least
# one of them is not 0.
_DENSE = 0.4


def require_kernel(kernel, degree, gamma, coef0):
    """Refuse parameters that stand for no kernel: a known name, a function, or 'precomputed' is wanted."""
    if not callable(kernel):
        require_choice("kernel", kernel, (*KINDS, "precomputed"))
    require_integer("degree", degree, 0, 2**31 - 1)
    if isinstance(gamma, str):
        require_choice("gamma", gamma, ("scale", "auto"))
    else:
        require_number("gamma", gamma, 0, finite=True)
    require_number("coef0", coef0, -np.inf, finite=True)


class Kernel:
    """A kernel k of rows x and z: x'z, (gamma x'z + coef0)^degree, exp(-gamma |x - z|^2) or tanh(gamma x'z + coef0)."""

    def __init__(self, name, gamma=1.0, degree=3, coef0=0.0):
        self.name, self.kind = name, KINDS.index(name)
        self.gamma, self.degree, self.coef0 = float(gamma), int(degree), float(coef0)

    def __call__(self, A, B, dtype=np.float64, n_jobs=None):
        """Kernel values of shape (len(A), len(B)) between the rows of A and B, which are arrays, Csr or `Rows`."""
        A, B = as_kernel_rows(A), as_kernel_rows(B)
        out = np.empty((len(A), len(B)), dtype)
        for start in range(0, len(A), BLOCK):
            Z = Packed(A, np.arange(start, min(start + BLOCK, len(A))), dtype)
            fill(Block(self, B, Z, Z.all), out[start : start + BLOCK], n_threads(n_jobs))
        return out

    def diagonal(self, X):
        """The kernel value k(x, x), in float64, of each row x of the `Rows` X with itself."""
        if self.name == "linear":
            return X.norm
        if self.name == "rbf":
            return np.ones(len(X))
        inner = self.gamma * X.norm + self.coef0
        return inner**self.degree if self.name == "poly" else np.tanh(inner)

    def rounding(self, X, dtype):
        """An estimate of the largest rounding error of the kernel's values between rows of X, computed in `dtype`."""
        eps, most = float(np.finfo(dtype).eps) / 2, float(X.norm.max())
        if self.name == "linear":
            return eps * most
        if self.name == "rbf":
            return eps * (1 + 4 * self.gamma * most)
        inner = abs(self.gamma) * most + abs(self.coef0)
        if self.name == "sigmoid":
            return eps * (1 + inner)
        with np.errstate(over="ignore"):
            return eps * (1 + self.degree) * float(np.float64(inner) ** self.degree)


class Rows:
    """The rows of an array or a Csr; the struct `matrix_t` of `_matrix.pxd` has the same fields.

    Parameters
    ----------
    X : ndarray or Csr
        The rows, float32 or float64, which are not changed.
    norm : ndarray of shape (n,), float64, optional
        The squared lengths of the rows, if they are known.

    Attributes
    ----------
    entries : ndarray, float32 (`single`) or float64
        The n d numbers of an array, or the entries of a Csr; at least one number.
    indptr : ndarray of shape (n + 1,), int64, or None
        Sparse row i has the entries indptr[i] to indptr[i + 1]; None: rows are dense.
    index : ndarray, int32, or None
        The column of each entry of sparse rows; None: rows are dense.
    norm : ndarray of shape (n,), float64
        The squared lengths of the rows.
    """

    def __init__(self, X, norm=None):
        sparse = isinstance(X, Csr)
        self.matrix = X
        self.shape = X.shape
        self.n_columns = X.shape[1]
        self.indptr = X.indptr if sparse else None
        self.index = (X.indices if X.size else np.zeros(1, np.int32)) if sparse else None
        entries = X.data if sparse else X.reshape(-1)
        self.entries = entries if entries.size else np.zeros(1, entries.dtype)
        self.single = entries.dtype == np.float32
        self.size = max(1, X.size)
        self.norm = norm
        if norm is None:
            self._measure(X, sparse)

    def _measure(self, X, sparse):
        """Compute the squared length |x|^2 of each row."""
        self.norm, size = np.empty(len(X)), 1 + (1 << 20) * len(X) // self.size
        for start, stop in ranges(0, len(X), size, size):
            rows = X[start:stop]
            if sparse:
                squares = np.bincount(rows.row_numbers(), np.square(rows.data, dtype=np.float64), len(rows))
                self.norm[start:stop] = squares
            else:
                np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="same_kind", out=self.norm[start:stop])

    def __len__(self):
        return self.shape[0]


def as_kernel_rows(X):
    return X if isinstance(X, Rows) else Rows(X)


class Packed:
    """A copy of some `Rows` in `dtype`, without the columns in which all these rows are 0.

    A packed row is a list of pairs (line, value), or dense: one value for each line. The struct `packed_t` of
    `_panel.pxd` has the same fields.

    Attributes
    ----------
    n_lines : int
        The number of lines, which are the columns with a value other than 0, in their order.
    line : ndarray of shape (n_columns,), int32
        The line of each column of X, or -1.
    columns : ndarray of shape (n_lines + 1,), int32
        The column of each line.
    indptr : ndarray of shape (n_rows + 1,), int64, or None
        The list of row i has the values indptr[i] to indptr[i + 1]; None: rows are dense.
    index : ndarray of shape (n_values + 1,), int32, or None
        The line of each value of the lists; None: rows are dense.
    values : ndarray of `dtype`, of shape (n_values + 1,) or, if rows are dense, (n_rows * n_lines,)
        The values of the rows, row by row.
    norm : ndarray of shape (n_rows,), float64
        The squared lengths of the rows.
    """

    def __init__(self, X, rows, dtype):
        rows = np.ascontiguousarray(rows, np.int64)
        self.single = np.dtype(dtype) == np.float32
        self.norm = X.norm[rows]
        self.line = np.full(X.n_columns, -1, np.int32)
        if len(rows) == 1 and X.indptr is not None:
            begins = self._mark_one(X, rows[0])
        else:
            begins = np.empty(len(rows) + 1, np.int64)
            self.n_lines = _pack.mark(X, rows, self.line, begins)
            self.columns = np.zeros(self.n_lines + 1, np.int32)
            self.columns[: self.n_lines] = np.flatnonzero(self.line >= 0)
        dense = begins[-1] > _DENSE * len(rows) * self.n_lines
        self.indptr = None if dense else begins
        self.index = None if dense else np.zeros(begins[-1] + 1, np.int32)
        self.values = np.zeros(len(rows) * self.n_lines if dense else begins[-1] + 1, dtype)
        self.all = np.arange(len(rows))
        self.work = 1 + (self.values.size // len(rows))  # the number of multiplications that one kernel value takes
        _pack.pack(X, rows, begins, self)

    def _mark_one(self, X, row):
        """Set the lines of one sparse row, as `_pack.mark` does, without a loop over all columns."""
        entries = slice(X.indptr[row], X.indptr[row + 1])
        columns = X.index[entries][X.entries[entries] != 0]
        self.n_lines = len(columns)
        self.line[columns] = np.arange(self.n_lines)
        self.columns = np.append(columns, np.int32(0))
        return np.array([0, self.n_lines], np.int64)

    def __len__(self):
        return len(self.all)


class Block(NamedTuple):
    """A block of the kernel matrix, between rows of Z and rows of X; `block_t` of `_values.pyx` has the same fields."""

    kernel: Kernel
    X: Rows
    Z: Packed
    # (n_rows,) int64: for each row of this block of the kernel matrix the number of its row among the packed rows Z
    rows: np.ndarray
    # (n_columns,) int64: for each column of this block of the kernel matrix the number of its row of X; None: the
    # columns stand for all rows of X
    columns: np.ndarray | None = None

    @property
    def n_columns(self):
        return len(self.X) if self.columns is None else len(self.columns)


class Cached(NamedTuple):
    """A cache of kernel values for the rows of a `Block`; `cached_t` of `_values.pyx` has the same fields."""

    # (n_slots, n_columns rounded up to whole panels), dtype of Z: the cached kernel values, a slot for each cached row;
    # compiled code writes the values that are not there yet
    table: np.ndarray
    # (n_rows,) int64: for each row of the block the number of its slot, a row of the cache `table`; negative: it has no
    # slot
    slot: np.ndarray
    # (n_rows,) uint8: 1 for each row of the block whose slot of the cache has its kernel values already
    ready: np.ndarray


class Scratch:
    """A thread's scratch space for the values between n_rows packed rows and a panel of rows of X.

    The struct `scratch_t` of `_values.pyx` has the same fields.

    Attributes
    ----------
    panel : ndarray of shape (n_lines + 1, width), dtype of the packed rows
        The rows of the panel side by side; zeros before and after each call of the kernel.
    values : ndarray of shape (n_rows + 1, width), dtype of the packed rows
        Kernel values between packed rows and the panel.
    source : ndarray of shape (n_rows,), int64
        The address of the values of each packed row, in `values` or in a cache.
    new_rows : ndarray of shape (n_rows,), int64
        The packed rows whose values a cache does not have.
    tile : ndarray of shape (width,), float64
        The sums for the rows of the panel.
    """

    __slots__ = ("new_rows", "panel", "source", "tile", "values")

    def __init__(self, Z, n_rows):
        wide, dtype = compiled.width(Z.single), Z.values.dtype
        self.panel = aligned((Z.n_lines + 1, wide), dtype)
        self.panel[:] = 0
        self.values = aligned((n_rows + 1, wide), dtype)
        self.source, self.new_rows = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
        self.tile = np.empty(wide)


def over_columns(call, block, threads):
    """Run call(start, stop, scratch) for ranges of whole panels of a block's columns, on threads if this is faster."""
    n, n_rows, Z = block.n_columns, len(block.rows), block.Z
    wide = compiled.width(Z.single)
    work = n * n_rows * Z.work
    if threads == 1 and work <= _RANGE_WORK:
        call(0, n, Scratch(Z, n_rows))
        return
    threads = 1 if work <= _THREAD_WORK else threads
    panels = -(-n // wide)

    def piece(bounds):
        scratch = Scratch(Z, n_rows)
        for start, stop in ranges(*bounds, 1 + panels * _RANGE_WORK // work):
            call(start * wide, min(n, stop * wide), scratch)
            yield

    pieces = 1 if threads == 1 else min(panels, 2 * threads)
    run(piece, pairwise([panels * i // pieces for i in range(pieces + 1)]), threads)


def fill(block, out, threads, mirrored=False):
    """Write a `Block` of the kernel matrix to `out`; `mirrored`: its rows and columns stand for the same rows of X."""

    def call(start, stop, scratch):
        compiled.fill(block, scratch, start, stop, out, mirrored)

    over_columns(call, block, threads)


def add(block, coef, f, threads, cached=None):
    """f[:, i] += coef k(z, x_i) for each column i of a `Block`.

    `coef` has shape (n_outputs, n_rows); `cached` is a `Cached` or None.
    """

    def call(start, stop, scratch):
        compiled.add(block, cached, scratch, coef, f, start, stop)

    over_columns(call, block, threads)
