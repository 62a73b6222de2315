"""Sparse rows. SciPy's matrices are checked here once and converted to Csr, without an import of SciPy."""

import sys

import numpy as np

from . import _orders
from ._exceptions import of_column
from ._state_table import Array, DeclaredState, Instance, Size, Starts, declare
from ._threads import aside_if_many, n_numbers, ranges, repeated, with_pages
from ._validation import as_float, as_matrix, as_unchecked_matrix, require_matrix

# The number of entries of a sparse matrix that are checked between two checks for Ctrl-C.
_CHECK_ENTRIES = 1 << 20

# The number of entries of a sparse matrix that are sorted before the duration of a sort is first measured.
_SORT_ENTRIES = 1 << 16


def is_sparse(X):
    """Whether X is a Csr, or a sparse matrix or array of SciPy in any format."""
    return isinstance(X, Csr) or (hasattr(X, "tocsr") and hasattr(X, "nnz"))


class Csr(DeclaredState):
    """Rows as lists of (column, value), with ascending and distinct columns.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row i has the entries indptr[i] to indptr[i + 1].
    indices : ndarray, int32
        The column of each entry.
    data : ndarray, float32 or float64
        The value of each entry; zeros are allowed.
    n_columns : int
    """

    _state_table = declare(
        n_columns=Size("n_columns", 1, 2**31 - 1),
        indices=Array("int32", "n_entries", below="n_columns"),
        indptr=Starts("n_rows", "n_entries", least=1),
        data=Array("float32 or float64", "n_entries"),
    )

    def __init__(self, indptr, indices, data, n_columns):
        self.indptr, self.indices, self.data, self.n_columns = indptr, indices, data, n_columns

    kind = "a sparse matrix"

    @property
    def shape(self):
        return len(self), self.n_columns

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def size(self):
        return int(self.indptr[-1])

    @property
    def row_bytes(self):
        # The number of bytes of a copy of the longest row, including the array of entry numbers that __getitem__
        # makes for the copy.
        return 16 + 48 * int(np.diff(self.indptr).max())

    def any(self):
        return self.data[: self.size].any()

    def __len__(self):
        return len(self.indptr) - 1

    def __getitem__(self, rows):
        """The rows of a slice without a step, or of an array of row numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            first, last = self.indptr[start], self.indptr[stop]
            indptr = self.indptr[start : stop + 1] - first
            return Csr(indptr, self.indices[first:last], self.data[first:last], self.n_columns)
        length = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(length)])
        return aside_if_many(int(indptr[-1]), self._picked, rows, length, indptr)

    def _picked(self, rows, length, indptr):
        """The rows of an array of row numbers, with their numbers of entries, and the indptr of the result."""
        entry = np.arange(indptr[-1]) + repeated(self.indptr[rows] - indptr[:-1], length)
        return Csr(indptr, self.indices[entry], self.data[entry], self.n_columns)

    def row_numbers(self):
        """The row number of each stored entry of the sparse matrix."""
        return repeated(np.arange(len(self)), np.diff(self.indptr))

    def column_lengths(self):
        """The number of stored entries of each column."""
        lengths = np.zeros(self.n_columns, np.int64)
        for start, stop in ranges(0, self.size, _CHECK_ENTRIES):
            _orders.count_columns(self.indices, start, stop, lengths)
        return lengths

    def __array__(self, dtype=None, copy=None):
        dense = np.zeros(self.shape, dtype or self.dtype)
        for start, stop in ranges(0, len(self), max(1, _SORT_ENTRIES * len(self) // (self.size + 1))):
            rows = self[start:stop]
            dense[start:stop][rows.row_numbers(), rows.indices] = rows.data
        return dense

    @classmethod
    def from_dense(cls, X):
        return aside_if_many(X.size, cls._from_dense, X)

    @classmethod
    def _from_dense(cls, X):
        row, column = np.nonzero(X)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(X)))])
        return cls(indptr, column.astype(np.int32), X[row, column], X.shape[1])


class Matrix(Instance):
    """The check of an attribute that is a Csr or an array of shape (n, d); n and d are sizes, such as "n_features"."""

    def __init__(self, n, d):
        super().__init__(Csr, n, d)
        self.dense = Array("float32 or float64", n, d)

    def require(self, name, value, sizes, entries):
        (super() if isinstance(value, Csr) else self.dense).require(name, value, sizes, entries)


def sound(X, name="X"):
    """A sparse matrix of SciPy after its indices are checked: SciPy reads and writes wherever they point.

    A LIL matrix is returned as CSR; X itself is not changed.
    """
    X = X.tocsr() if X.format == "lil" else X
    try:
        if X.format == "coo" and X.ndim == 2:
            type(X)((X.data, (X.row, X.col)), shape=X.shape)
        elif hasattr(X, "check_format"):
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is a sparse matrix with a fault ({error}); a valid one is wanted") from None
    return X


def as_csr(X, owner, name="X", most=2**31 - 1, ordered=True):
    """X as Csr with finite numbers of float32 or float64; an array that already has its type is not copied.

    With ordered=False the entries of a row keep the order that they have in X, and a column may be in a row twice.

    X may have up to `most` columns. If X has more than 2^31 - 1 columns, its column indices are int64.
    """
    if isinstance(X, Csr):
        return X
    require_matrix(X, name, owner)
    if getattr(X, "format", "csr") != "csr":
        X = aside_if_many(n_numbers(X), _tocsr, X, name)
    n, d = map(int, X.shape)
    if d > most:
        raise ValueError(f"{name} has {d} features; at most {most} are wanted of a sparse matrix")
    indptr = np.ascontiguousarray(X.indptr, np.int64)
    length = len(X.indices)
    if indptr.shape != (n + 1,) or indptr[0] != 0 or indptr[-1] > length or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"{name}.indptr is not that of a CSR matrix; {n + 1} numbers ascending from 0 to at most {length} are"
            " wanted"
        )
    n_entries = int(indptr[-1])
    if len(X.data) < n_entries:
        raise ValueError(f"{name}.data has {len(X.data)} entries; {n_entries}, as {name}.indptr says, are wanted")
    indices, data = X.indices[:n_entries], X.data[:n_entries]
    if data.dtype != np.float32 and data.dtype != np.float64:
        data = as_float(data, f"{name}.data")
    _require_columns(indices, d, name)
    indices = aside_if_many(n_entries, np.ascontiguousarray, indices, np.int32 if d < 2**31 else np.int64)
    X = Csr(indptr, indices, aside_if_many(n_entries, np.ascontiguousarray, data), d)
    if ordered and not ascends(X.indices, X.indptr):
        X = _summed(X)
    for start, stop in ranges(0, X.size, _CHECK_ENTRIES):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.data[start:stop].sum()):
                continue
        bad = np.flatnonzero(~np.isfinite(X.data[start:stop]))
        if len(bad):
            entry = start + bad[0]
            row = np.searchsorted(X.indptr, entry, "right") - 1
            what = "NaN" if np.isnan(X.data[entry]) else "infinity"
            column = X.indices[entry]
            text = f"Input {name} contains {what} (row {row}, column {column}); {owner} wants finite numbers"
            raise of_column(ValueError(text), column)
    return X


def _tocsr(X, name):
    return sound(X, name).tocsr()


def as_scipy(rows):
    """A Csr as SciPy's matrix, if SciPy is loaded; anything but a Csr is returned unchanged."""
    scipy = sys.modules.get("scipy.sparse")
    if not isinstance(rows, Csr) or scipy is None:
        return rows
    return scipy.csr_matrix((rows.data, rows.indices, rows.indptr), rows.shape)


def _require_columns(indices, d, name):
    for start, stop in ranges(0, len(indices), _CHECK_ENTRIES):
        low, high = indices[start:stop].min(), indices[start:stop].max()
        if low < 0 or high >= d:
            raise ValueError(f"{name}.indices has {low if low < 0 else high}; columns from 0 to {d - 1} are wanted")


def ascends(entries, starts, strictly=True):
    """Whether each of several lists ascends; list i has the entries with the numbers starts[i] to starts[i + 1] - 1."""
    compare = np.less_equal if strictly else np.less
    for start, stop in ranges(0, int(starts[-1]) - 1, _CHECK_ENTRIES):
        drops = compare(entries[start + 1 : stop + 1], entries[start:stop])
        if drops.any():
            first, last = np.searchsorted(starts, [start + 1, stop + 1])
            # at the start of each list the entries may drop, because the list before may end with a larger entry
            drops[starts[first:last] - (start + 1)] = False
            if drops.any():
                return False
    return True


def _summed(X):
    """The sparse matrix X with sorted columns in each row; entries of the same row and column are added in order."""
    indices, data = (with_pages(np.empty_like(array)) for array in (X.indices, X.data))
    scratch = np.empty(16 * int(np.diff(X.indptr).max()), np.int8)
    size = max(1, _SORT_ENTRIES * len(X) // (X.size + 1))
    parts = [
        _orders.sort_rows(X, X.data, indices, data, start, stop, scratch) for start, stop in ranges(0, len(X), size)
    ]
    X = Csr(X.indptr, indices, data, X.n_columns)
    return _added_up(X) if any(parts) else X


def _added_up(X):
    """The sparse matrix X, sorted by column in each row, with entries of the same row and column added up."""
    size = max(1, _SORT_ENTRIES * len(X) // (X.size + 1))
    parts = [_added_up_part(X[start:stop]) for start, stop in ranges(0, len(X), size)]
    ends = np.cumsum([0, *(part.size for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends))])
    names = ("indices", "data")
    joined = (aside_if_many(X.size, np.concatenate, [getattr(part, name) for part in parts]) for name in names)
    return Csr(indptr, *joined, X.n_columns)


def _added_up_part(X):
    row, column, data = X.row_numbers(), X.indices, X.data
    new = np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])])
    total = np.zeros(np.count_nonzero(new), data.dtype)
    with np.errstate(over="ignore"):
        np.add.at(total, np.cumsum(new) - 1, data)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[new], minlength=len(X)))])
    return Csr(indptr, column[new], total, X.n_columns)


def as_rows(X, owner, most=2**31 - 1):
    """X as an array (`as_matrix`) or, if X is a sparse matrix of SciPy, as Csr (`as_csr`)."""
    return as_csr(X, owner, most=most) if is_sparse(X) else as_matrix(X, owner)


def as_unchecked_rows(X, owner, ordered=True):
    """X as an array, in which the caller must look for NaN and infinity, or as a checked Csr (`as_csr`)."""
    if type(X) is not np.ndarray and is_sparse(X):
        return as_csr(X, owner, ordered=ordered)
    return as_unchecked_matrix(X, owner)


def as_summands(X, owner):
    """`as_unchecked_rows` for linear functions of rows, whose entries are added in any order."""
    return as_unchecked_rows(X, owner, ordered=False)
