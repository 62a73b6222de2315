"""Exact search among sparse rows by an inverted index, which lists the entries of each column."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr, ascends
from .._state_table import Array, DeclaredState, Instance, Starts, declare, require_positions
from .._threads import ranges
from .hits import Hits
from .metrics import MetricOf, names_with
from .scan import require_norms
from .search import Heaps, Index, Search

kernels = _simd.load("neighbors._inverted_scan")

# The number of entries of a sparse matrix that are processed before the first check for Ctrl-C.
_ENTRIES = 1 << 22


def _norms(X, squared):
    """For each row of X, the sum of its squared entries if `squared`, otherwise of their absolute values."""
    norms = np.empty(len(X))
    for start, stop in _parts(X):
        kernels.norms(X.indptr, X.data, start, stop, squared, norms)
    return norms


def _parts(X):
    return ranges(0, len(X), max(1, _ENTRIES * len(X) // (X.size + len(X))))


class Columns(DeclaredState):
    """The entries of a sparse matrix column by column; for 'cosine' each row is divided by its norm."""

    _state_table = declare(
        # the row numbers of the sparse matrix's entries, column by column, ascending in each column
        row=Array("int32", "n_entries"),
        # the values of the sparse matrix's entries, column by column, in the dtype of X
        value=Array("float32 or float64", "n_entries"),
        # (n_columns + 1,) int64: the entries of column j of the sparse matrix have the numbers from start[j] up to, but
        # not including, start[j + 1]
        start=Starts("n_columns", "n_entries"),
        # (n_rows,) float64: the row's term in a lower bound of its distance from a query: 0 for 'cosine' and 'dot',
        # otherwise the sum of its squared (for 'manhattan' absolute) entries, rounded down
        shift=Array("float64", "n_rows"),
    )

    def __init__(self, X, metric):
        n, d = X.shape
        self.start = np.zeros(d + 1, np.int64)
        for start, stop in ranges(0, X.size, _ENTRIES):
            np.add.at(self.start, X.indices[start:stop] + 1, 1)
        np.cumsum(self.start, out=self.start)
        scale = np.ones(n)
        if metric.name == "cosine":
            scale = 1 / np.sqrt(np.where(metric.norm2 > 0, metric.norm2, 1))
        # one unused entry at the end, so that the pointer to entry 0 is valid even if X has no entries
        self.row, self.value = np.empty(X.size + 1, np.int32), np.empty(X.size + 1, X.dtype)
        self.row[-1] = self.value[-1] = 0
        end = self.start.copy()
        for start, stop in _parts(X):
            kernels.transpose(X, start, stop, scale, end, self, X.data)
        if metric.name in ("cosine", "dot"):
            self.shift = np.zeros(n)
        else:
            norm = _norms(X, metric.name != "manhattan")
            self.shift = np.where(norm > 1e290, -np.inf, norm * (1 - (8 * d + 64) * 2.0**-53))

    @property
    def shape(self):
        return len(self.shift), len(self.start) - 1

    def _check_rest(self, sizes, entries):
        if entries:
            require_positions("row", self.row[: self.start[-1]], len(self.shift))
            if not ascends(self.row, self.start, strictly=False):
                raise ValueError("row does not ascend in each column; ascending rows are wanted")


class SparsePass(NamedTuple):
    """The state of one thread's pass over sparse rows with a block of sparse queries.

    All threads share `csr`, `weight` and `norm`.
    """

    search: Search
    csr: Csr  # the queries in float64, with an unused entry at the end, so that the pointer to entry 0 is valid
    # (n_entries + 1,) float64: for each entry of a query its factor in the lower bound of a distance, such as -2 times
    # its value for 'euclidean'
    weight: np.ndarray
    # (n_queries,) float64: for each query the sum of its squared entries, or for 'manhattan' of their absolute values
    norm: np.ndarray
    found: Heaps | Hits
    # (n_queries,) float64: scratch space for the limit of each query's screens (approximate distances), beyond which a
    # row is not near
    limits: np.ndarray
    # (n_entries + 1,) int64: for each entry of a query, the first entry in the same column of X that is not read yet
    cursor: np.ndarray
    # (PANEL_ROWS,) float64: scratch space for one sum per row of a panel; all zeros between two kernel calls
    sums: np.ndarray


class Sparse(Index):
    """An index over all rows of a sparse matrix, searched exactly.

    A query takes one pass over the entries of the columns in which it is not zero, and 8 bytes per row. The index takes
    the memory of a copy of X, 8 bytes per feature and 16 bytes per row.

    Parameters
    ----------
    X : Csr
    metric : Metric
        A Metric whose `named.sparse` is True.
    """

    _state_table = declare(
        X=Instance(Csr, "n_rows", "n_features"),
        metric=MetricOf(names_with("sparse")),
        _columns=Instance(Columns, "n_rows", "n_features"),
    )

    def __init__(self, X, metric):
        if metric.name in ("cosine", "dot"):
            norm2 = _norms(X, True)
            require_norms(norm2, X, metric, "row {} of X")
            if metric.name == "cosine":
                metric = metric._replace(norm2=norm2)
        # an X without entries gets an unused entry, so that the pointer to entry 0 is valid
        if X.size == 0:
            X = Csr(X.indptr, np.zeros(1, np.int32), np.zeros(1, X.dtype), X.n_columns)
        super().__init__(X, metric)
        self._columns = Columns(X, metric)

    def _check_rest(self, sizes, entries):
        if self._columns.value.dtype != self.X.dtype:
            raise ValueError(f"_columns has dtype {self._columns.value.dtype}; that of X, {self.X.dtype}, is wanted")

    def _costs(self, queries):
        if isinstance(queries, Csr):
            numbers = 1 + int(np.diff(queries.indptr).max())
            query_bytes = 80 + 40 * numbers
        else:
            numbers = queries.shape[1]
            query_bytes = 80 + 72 * numbers
        return 2, numbers, query_bytes, 8 * kernels.PANEL_ROWS

    def _cheap_range(self, n_queries):
        return max(1, (1 << 22) // n_queries)

    def _queries(self, search):
        rows, name = search.queries, self.metric.name
        rows = rows if isinstance(rows, Csr) else Csr.from_dense(rows)
        data = np.append(rows.data, 0.0).astype(np.float64)
        csr = Csr(rows.indptr, np.append(rows.indices, np.int32(0)), data, rows.n_columns)
        norm, weight = _norms(csr, name != "manhattan"), data
        if name in ("euclidean", "sqeuclidean"):
            weight = -2 * data
        elif name in ("cosine", "dot"):
            require_norms(norm, rows, self.metric, "query {}", search.first)
            weight = -data
        if name == "cosine":
            weight[:-1] /= np.repeat(np.sqrt(np.where(norm > 0, norm, 1)), np.diff(rows.indptr))
        return csr, weight, norm

    def _pass(self, search, queries, found):
        csr, weight, _ = queries
        cursor, sums = np.empty(len(weight), np.int64), np.zeros(kernels.PANEL_ROWS)
        return SparsePass(search, *queries, found, np.empty(len(csr)), cursor, sums)

    def _begin(self, state, first, last):
        kernels.begin(self._columns, state.csr.indices, state.cursor, first)

    def _step(self, state, start, stop):
        return kernels.scan(self, start, stop, state, self._columns.value)
