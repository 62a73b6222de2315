"""Sparse rows, searched exactly by an inverted index; nothing is made dense."""

from types import SimpleNamespace

import numpy as np

from .. import _simd
from .._csr import Csr, ascends
from .._state_table import Array, DeclaredState, Instance, Starts, declare, require_positions
from .._threads import ranges
from .metrics import MetricOf, names_with
from .scan import Scan

kernels = _simd.load("neighbors._inverted_scan")

# Rows are taken this many entries at a time.
_ENTRIES = 1 << 22


def _norms(X, squared, norm_out=None):
    norm_out = np.empty(len(X)) if norm_out is None else norm_out
    for start, stop in _parts(X):
        kernels.norms(X.indptr, X.data, start, stop, squared, norm_out)
    return norm_out


def _parts(X):
    return ranges(0, len(X), max(1, _ENTRIES * len(X) // (X.size + len(X))))


class Columns(DeclaredState):
    """The inverted index: for each column its rows, ascending, and values; for cosine, of rows of length 1."""

    _state_table = declare(
        row=Array("int32", "n_entries"),
        value=Array("float32 or float64", "n_entries"),  # X's
        start=Starts("n_columns", "n_entries"),  # column j has the entries start[j] to start[j + 1]
        shift=Array("float64", "n_rows"),  # what the screen adds to the sum of a row
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
        # one entry more than there are, so that there is a first
        self.row, self.value = np.empty(X.size + 1, np.int32), np.empty(X.size + 1, X.dtype)
        self.row[-1] = self.value[-1] = 0
        end = self.start.copy()
        for start, stop in _parts(X):
            kernels.transpose(X.indptr, X.indices, X.data, scale, start, stop, end, self.row, self.value)
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
                raise ValueError("row does not ascend in each column")


class Sparse(Scan):
    """All rows of a sparse matrix, searched exactly.

    Costs a pass over the entries of the columns in which a query is not zero, and 8 bytes a row for each query. Memory
    beyond X: its columns, as large as X, 8 bytes a feature and 16 a row.

    Parameters
    ----------
    X : Csr
    metric : Metric
        One that is `sparse`.
    """

    _state_table = declare(
        X=Instance(Csr, "n_rows", "n_features"),
        metric=MetricOf(names_with("sparse")),
        _columns=Instance(Columns, "n_rows", "n_features"),
    )

    def __init__(self, X, metric):
        if metric.name in ("cosine", "dot"):
            norm2 = self._check_norms(_norms(X, True), X, metric, "row {} of X")
            if metric.name == "cosine":
                metric = metric._replace(norm2=norm2)
        # one entry more than there are, so that there is a first
        if X.size == 0:
            X = Csr(X.indptr, np.zeros(1, np.int32), np.zeros(1, X.dtype), X.n_columns)
        self.X, self.metric = X, metric
        self._columns = Columns(X, metric)

    def _check_rest(self, sizes, entries):
        if self._columns.value.dtype != self.X.dtype:
            raise ValueError(f"_columns has values of dtype {self._columns.value.dtype}; {self.X.dtype} is wanted")

    def _costs(self, Q):
        if isinstance(Q, Csr):
            numbers = 1 + int(np.diff(Q.indptr).max())
            query_bytes = 80 + 40 * numbers
        else:
            numbers = Q.shape[1]
            query_bytes = 80 + 72 * numbers
        return 2, numbers, query_bytes, 8 * kernels.PANEL_ROWS

    def _cheap_range(self, n_queries):
        return max(1, (1 << 22) // n_queries)

    def _block(self, Q, start, stop, own, allowed):
        Q = Q[start:stop] if isinstance(Q, Csr) else Csr.from_dense(Q[start:stop])
        # one entry more than there are, so that there is a first
        csr = Csr(Q.indptr, np.append(Q.indices, np.int32(0)), np.append(Q.data, 0.0).astype(np.float64), Q.n_columns)
        name = self.metric.name
        norm = _norms(csr, name != "manhattan")
        weight = csr.data
        if name == "euclidean" or name == "sqeuclidean":
            weight = -2 * weight
        elif name == "dot":
            self._check_norms(norm, Q, self.metric, "query {}", start)
            weight = -weight
        elif name == "cosine":
            self._check_norms(norm, Q, self.metric, "query {}", start)
            scale = np.sqrt(np.where(norm > 0, norm, 1))
            weight = -weight
            weight[:-1] /= np.repeat(scale, np.diff(Q.indptr))
        return SimpleNamespace(
            query=norm,
            csr=csr,
            weight=weight,
            query_norm=norm,
            query_norm2=norm,
            own=None if own is None else own[start:stop],
            allowed=allowed,
        )

    def _state(self, block, tau, **own):
        n_queries = len(block.csr)
        return SimpleNamespace(
            **vars(block),
            tau=np.full(n_queries, float(tau)),
            limits=np.empty(n_queries),
            cursor=np.empty(len(block.csr.indices), np.int64),
            sums=np.zeros(kernels.PANEL_ROWS),
            **own,
        )

    def _begin(self, state, first, last):
        kernels.begin(self._columns, state.csr.indices, state.cursor, first)

    def _step(self, state, start, stop, hits=None):
        return kernels.scan(self.X, self._columns, start, stop, self.metric, state, self._columns.value, hits)
