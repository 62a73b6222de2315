"""Exact search over all rows of an array, by a metric that has a name."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import declare
from .._threads import advance, ranges
from .metrics import MetricOf, names_with
from .search import FEW_QUERIES, Index, require_full
from .search_costs import scan_cost

kernels = _simd.load("neighbors._scan")

# A single query in an X with at most this number of entries is answered by one kernel call, which has little overhead.
_AT_ONCE = 1 << 20

# For 'dot', a query with a smaller norm than this counts as a vector of zeros, and its distance from every row is
# computed. The largest norm of a row counts as at least this number.
_LEAST_NORM = 1e-140


# Rows are screened by inner products
# _PRODUCT_QUERIES, _PRODUCTS: for at least so many queries and, by the type of X, so many multiplications;
# _LEAST_COLUMNS, _MOST_COLUMNS: for at least and for fewer than so many columns, which `_product_screen.pxd` explains;
# _PRODUCT_SHARES, pairs (columns, share): if there are at least `share` rows for each neighbour, in the first pair with
# no more columns than X has; products need a second heap, whose time counts less with many columns;
# _FLOAT_COLUMNS: for at least so many columns if X is of float32 and queries are not whole numbers, as differences of
# float32 are as fast then;
# _LARGEST_HALF: if half the squared norm of each query is smaller.
_PRODUCT_QUERIES, _PRODUCTS = 16, {"float32": 1 << 18, "float64": 1 << 20}
_LEAST_COLUMNS, _MOST_COLUMNS, _FLOAT_COLUMNS, _LARGEST_HALF = 8, 1 << 16, 24, 5e36
_PRODUCT_SHARES = (2048, 16), (256, 24), (0, 64)

# _CENTRE_ROWS: the mean of at most so many rows is subtracted from rows and queries before they are multiplied.
# _CENTRED_NUMBERS: about so many numbers of queries are centred at a time, which fit a cache.
# _MOST_MEASURED: if more than this share of the distances of a range of rows is computed, the next ranges are screened
# by differences.
# _MOST_HITS: the same for a search by radius, in which a distance is computed for each hit if distances are wanted.
_CENTRE_ROWS, _CENTRED_NUMBERS, _MOST_MEASURED, _MOST_HITS = 16, 1 << 14, 1 / 32, 1 / 4


class Queries(NamedTuple):
    """A block of queries in the form that the kernels of a scan take; all threads share this object.

    A kernel screens rows in the type of X, and computes the exact distances of the rows that pass the screen.
    """

    query: np.ndarray  # (n_queries, d) float64: the queries for exact distances
    # (n_queries rounded up to a multiple of 4, d), dtype of X: the queries for screens (approximate distances)
    screen_query: np.ndarray
    # (n_queries,) float64: the distance between each query and its rounded copy in `screen_query`; for 'dot' the norm
    # of each query
    query_error: np.ndarray
    # (n_queries,) float64: for 'cosine' the squared norm of each query; None for other metrics
    query_norm2: np.ndarray | None


class Pass:
    """The state of one thread's pass over rows for a block of queries; kernels write `found`, `bound` and `panel`."""

    __slots__ = ("bound", "found", "panel", "queries", "search")

    def __init__(self, search, queries, found, panel):
        # `search` is the user's Search, `queries` are the Queries of one of its blocks, and `found`, an object Heaps or
        # Hits, collects their neighbours
        self.search, self.queries, self.found = search, queries, found
        # (n_queries rounded up to a multiple of 4,) float64: the limit of each query's screens, which are
        # approximate distances. A row whose screen exceeds the limit is farther away than the query's k nearest rows so
        # far, or than the radius. The limit is infinity at first; -1, which all screens exceed, for padding.
        self.bound = np.full(len(queries.screen_query), -1.0)
        self.bound[: len(queries.query)] = np.inf
        # (d, PANEL_ROWS), dtype of X: scratch space for a panel of rows; None: kernels read X in place
        self.panel = panel


class ProductPass(Pass):
    """A Pass that screens rows by inner products; its arrays are explained in `_product_screen.pxd` (`products_t`)."""

    __slots__ = (
        "centre",
        "centred",
        "centred_panel",
        "floor",
        "half",
        "list_row",
        "list_score",
        "list_size",
        "most",
        "most_row",
        "pays",
        "sums",
        "sure",
        "whole",
    )

    def __init__(self, search, queries, found, panel, centre, whole):
        super().__init__(search, queries, found, panel)
        (n, d), k = queries.query.shape, max(1, found.k)
        padded, width = n + -n % kernels.PRODUCT_GROUP, kernels.PANEL_ROWS["float32"]
        self.centre, self.centred = centre, np.zeros((padded, d), np.float32)
        self.half, size = np.empty(n), max(1, _CENTRED_NUMBERS // d)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in (slice(i, i + size) for i in range(0, n, size)):
                apart = queries.query[rows] - centre
                self.centred[:n][rows] = apart
                self.half[rows] = 0.5 * np.einsum("ij,ij->i", apart, apart)
        # (1,) intc: whether the numbers of queries, and of rows so far, are whole and small
        self.whole = np.array([whole and self.half.max() < kernels.MOST_HALF], np.intc)
        # whether the next rows are screened by products: not if too many distances had to be computed
        self.pays = bool(self.half.max() < _LARGEST_HALF)
        self.floor = np.full(padded, np.inf, np.float32)
        self.sure = None if found.k or found.measured else np.empty(n)
        self.most, self.most_row = np.full((n, k), np.inf), np.zeros((n, k), np.intp)
        capacity = _list_capacity(k)
        self.list_size = np.zeros(n, np.intp)
        self.list_row, self.list_score = np.empty((n, capacity), np.intp), np.empty((n, capacity), np.float32)
        self.centred_panel = aligned((d, width), np.float32)
        self.sums = aligned((padded, width), np.float32)


def _is_whole(queries):
    """Whether all numbers of queries are whole; if they are not, the first query mostly tells."""
    return bool((np.rint(queries[0]) == queries[0]).all() and (np.rint(queries) == queries).all())


def _list_capacity(k):
    """The largest number of rows that wait for their distances to be computed, for each query of a ProductPass."""
    return 32 + 4 * k


class Scan(Index):
    """An index that scans all rows of X exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        A Metric whose `named.scanned` is True. Its norms are computed if they are missing.
    """

    _state_table = declare(metric=MetricOf(names_with("scanned")))

    def __init__(self, X, metric):
        if metric.name == "cosine" and metric.norm2 is None:
            metric = metric._replace(norm2=squared_norms(X, metric, "row {} of X"))
        elif metric.name == "dot" and not metric.largest_norm:
            largest = np.sqrt(squared_norms(X, metric, "row {} of X").max())
            metric = metric._replace(largest_norm=max(largest * (1 + 1e-9), _LEAST_NORM))
        self.X, self.metric = X, metric

    def nearest(self, search, distance_out, index_out):
        queries, X = search.queries, self.X
        if (
            len(queries) == 1
            and X.size <= _AT_ONCE
            and isinstance(queries, np.ndarray)
            and queries.dtype == X.dtype
            and search.self_row is None
            and search.allowed is None
            and self.metric.named.as_it_lies
        ):
            distance = np.empty(index_out.shape) if distance_out is None else distance_out
            if not kernels.find(X, queries, self.metric.code, distance, index_out):
                require_full(index_out, search.fewer)
            advance(search.progress, len(X))
        else:
            super().nearest(search, distance_out, index_out)

    def _costs(self, queries):
        X, d = self.X, self.X.shape[1]
        # the number of bytes of a query: in float64, in its copies in X's dtype and in float32, and, if the query has
        # another dtype than X, in temporary arrays that compare the two copies
        query_bytes = d * (20 if queries.dtype == X.dtype else 60)
        multiplies = self._multiplies_fast(len(queries))
        takes_powers = self.metric.name == "minkowski"
        if multiplies:  # a thread that screens by products saves time only for several times the work
            work = -(-d // 64)
        elif takes_powers:  # 20 ns for a coordinate
            work = d
        elif len(queries) <= FEW_QUERIES:  # about 0.5 ns, of which a row of memory takes most
            work = 1 + d * X.itemsize // 20
        else:  # about 0.26 ns
            work = 1 + d // 5
        # blocks are cut for coordinates of 'minkowski'; others take at most 0.3 ns
        numbers = d if takes_powers else -(-d // 16)
        # a panel in X's dtype, and one in float32
        return work, numbers, query_bytes, 2 * d * kernels.PANEL_ROWS[X.dtype.name] * X.itemsize

    def _cheap_range(self, n_queries):
        size = super()._cheap_range(n_queries)
        return max(1, size // 16) if self.metric.name == "minkowski" else 4 * size

    def _queries(self, search):
        dtype, metric = self.X.dtype, self.metric
        query = np.ascontiguousarray(search.queries, dtype=np.float64)
        n_queries, d = query.shape
        padded = n_queries + -n_queries % kernels.GROUP
        error, norm2 = np.zeros(n_queries), None
        if metric.name not in ("cosine", "dot") and dtype == np.float64 and padded == n_queries:
            return Queries(query, query, error, norm2)
        screen = np.zeros((padded, d), dtype)
        if metric.name in ("cosine", "dot"):
            norm2 = squared_norms(query, metric, "query {}", search.first)
            norm, sign = np.sqrt(norm2), 1
            if metric.name == "dot":
                error = norm = np.where(norm < _LEAST_NORM, 0, norm)
                norm2, sign = None, -1
            scale = sign * np.where(norm > 0, norm, 1)
            np.divide(query, scale[:, None], out=screen[:n_queries], casting="same_kind")
        else:
            with np.errstate(over="ignore"):
                screen[:n_queries] = query
            if search.queries.dtype != dtype:
                error = _rounding(metric, query, screen[:n_queries])
        return Queries(query, screen, error, norm2)

    def _panel(self, n_queries):
        """Scratch space for a panel of rows; None for few queries, for which kernels read the rows of X in place."""
        if n_queries <= FEW_QUERIES and self.metric.name not in ("cosine", "minkowski"):
            return None
        return aligned((self.X.shape[1], kernels.PANEL_ROWS[self.X.dtype.name]), self.X.dtype)

    def _multiplies(self, n_queries):
        """Whether so many queries are screened by inner products."""
        X, is_euclidean = self.X, self.metric.name in ("euclidean", "sqeuclidean")
        many = n_queries >= _PRODUCT_QUERIES and n_queries * X.size >= _PRODUCTS[X.dtype.name]
        return is_euclidean and many and _LEAST_COLUMNS <= X.shape[1] < _MOST_COLUMNS

    def _multiplies_fast(self, n_queries):
        """Whether inner products of so many queries, of any numbers, take less time than differences."""
        return self._multiplies(n_queries) and (self.X.dtype == np.float64 or self.X.shape[1] >= _FLOAT_COLUMNS)

    def cost(self, n_queries):
        """The expected cost of a scan for so many queries, in nanoseconds for a pair of a row and a query."""
        return scan_cost(n_queries, self.X.shape[1], self.X.itemsize, self._multiplies_fast(n_queries))

    def _pass(self, search, queries, found):
        (n_queries, d), n = queries.query.shape, len(self.X)
        panel = self._panel(n_queries)
        share = next(share for least, share in _PRODUCT_SHARES if d >= least)
        if self._multiplies(n_queries) and found.k * share <= n:
            whole = _is_whole(queries.query)
            if found.k and d < _FLOAT_COLUMNS and self.X.dtype == np.float32 and not whole:
                return Pass(search, queries, found, panel)
            with np.errstate(over="ignore", invalid="ignore"):
                centre = self.X[:: -(-n // _CENTRE_ROWS)].mean(axis=0)
                centre = (np.rint(centre) if whole else centre).astype(np.float32)
                return ProductPass(search, queries, found, panel, centre, whole)
        return Pass(search, queries, found, panel)

    def _step(self, state, start, stop):
        if isinstance(state, ProductPass) and state.pays:
            n_hits, n_measured = kernels.products(self.X, start, stop, self.metric, state)
            share = _MOST_MEASURED if state.found.k else _MOST_HITS
            most = max(2 * state.found.k, share * (stop - start)) * len(state.queries.query)
            # of whole numbers, rows as far as the k-th pass a screen by differences, but not one by products
            state.pays = bool(state.whole[0]) or n_measured <= most
            return n_hits
        return kernels.scan(self.X, start, stop, self.metric, state)

    def _query_bytes(self, k):
        # the arrays of a ProductPass with a row for each query, of which `sums` takes at most 128 bytes
        return super()._query_bytes(k) + 16 * k + 12 * _list_capacity(k) + 160


def squared_norms(X, metric, name, first=0):
    """The squared norms of rows in float64, checked by `require_norms`."""
    norm2 = np.empty(len(X))
    size = max(1, (1 << 20) // X.shape[1])
    for start, stop in ranges(0, len(X), size, size):
        kernels.squared_norms(X, start, stop, norm2)
        require_norms(norm2[start:stop], X[start:stop], metric, name, first + start)
    return norm2


def require_norms(norm2, X, metric, name, first=0):
    """Refuse rows whose squared norms overflow or, for 'cosine', vanish. Messages call row i name.format(first + i)."""
    cosine = metric.name == "cosine"
    most = 1e76 if not cosine and X.dtype == np.float32 else np.inf
    for row in np.flatnonzero(~(norm2 < most) | (norm2 < 1e-290 if cosine else False)):
        if norm2[row] != 0 or X[row : row + 1].any():
            wanted = "one from 1e-290 to 1e308" if cosine else f"one up to {min(most, 1e308):.0e}"
            raise ValueError(
                f"{name.format(first + row)} has a squared norm of {norm2[row]:g}; for metric={metric.name!r} {wanted}"
                " is wanted (scale the data)"
            )


def _rounding(metric, query, rounded):
    """The distance between queries and their roundings to X's dtype, rounded up.

    The result is 0 for 'hamming': rounding can make a coordinate equal to that of a row, and only lowers the screen.
    """
    norm = 2 if metric.name == "sqeuclidean" else metric.named.norm
    if norm is None:
        return np.zeros(len(query))
    difference = np.abs(query - rounded)
    if norm == 1:
        error = difference.sum(axis=1)
    elif norm == np.inf:
        error = difference.max(axis=1)
    else:
        largest = difference.max(axis=1, keepdims=True)
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
        error = scale[:, 0] * np.sqrt(((difference / scale) ** 2).sum(axis=1))
    return error * (1 + 1e-6)
