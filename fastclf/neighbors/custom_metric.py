"""Search by a metric that is a user's function, in Python or compiled, and pruning by the triangle inequality."""

import ctypes
import re
from typing import NamedTuple

import numpy as np

from .._csr import Csr, as_scipy
from .._threads import advance, n_threads, ranges, run
from . import _custom_scan as kernels
from .hits import Hits
from .search import NO_ROW, Heaps, Index, Search, radius_of, require_full

SIGNATURE = "double (const double *query, const double *row, ptrdiff_t d, void *user_data)"

_INTEGERS = ["ptrdiff_t", "Py_ssize_t", "ssize_t", "intptr_t", "npy_intp", "int64_t", "long long"]
if ctypes.sizeof(ctypes.c_long) == ctypes.sizeof(ctypes.c_ssize_t):
    _INTEGERS.append("long")

# The largest number of pivots, which are rows whose distances from all rows are stored.
_PIVOTS = 16

# The relative margin by which lower bounds of distances, computed by the triangle inequality, are reduced, because a
# user's metric rounds: its relative error is assumed to be at most a tenth of this.
_SLACK = 1e-9

# A search of fewer multiply-adds than this runs on one thread, because waking a second thread takes longer. A call of a
# user's function counts as at least 32 multiply-adds.
_THREAD_WORK = 1 << 20


class Compiled(NamedTuple):
    """A compiled function that the user has passed as metric."""

    address: int  # the address of the user's compiled function
    user_data: int  # the address that the user's compiled function gets as its argument user_data
    takes_user_data: bool  # whether the user's compiled function has the argument user_data
    source: object  # the object that the user passed as metric, which keeps the machine code of the function in memory


def as_compiled(metric):
    """The metric as Compiled if it is a Numba cfunc, a ctypes function, a PyCapsule, or SciPy's LowLevelCallable.

    For any other object the result is None.
    """
    capsule = tuple.__getitem__(metric, 0) if isinstance(metric, tuple) and len(metric) else metric
    if type(capsule).__name__ == "PyCapsule":
        name, address, context = kernels.unpack(capsule)
        n_arguments = _n_arguments(name)
        if n_arguments is None:
            raise TypeError(f"metric is a PyCapsule named {name!r}; the signature {SIGNATURE!r} is wanted as its name")
        return Compiled(address, context, n_arguments == 4, metric)
    function = metric.ctypes if hasattr(metric, "address") and hasattr(metric, "ctypes") else metric
    if not isinstance(function, ctypes._CFuncPtr):
        return None
    accepted = [_is_numbers, _is_numbers, lambda kind: kind is ctypes.c_ssize_t, lambda kind: kind is ctypes.c_void_p]
    kinds = function.argtypes or ()
    fit = len(kinds) in (3, 4) and all(accepts(kind) for accepts, kind in zip(accepted, kinds))
    if function.restype is not ctypes.c_double or not fit:
        took = ", ".join(kind.__name__ for kind in kinds)
        gave = getattr(function.restype, "__name__", None)
        raise TypeError(f"metric is a compiled function {gave} ({took}); {SIGNATURE} is wanted")
    return Compiled(ctypes.cast(function, ctypes.c_void_p).value, 0, len(kinds) == 4, metric)


def _is_numbers(kind):
    return kind is ctypes.c_void_p or getattr(kind, "_type_", None) is ctypes.c_double


def _n_arguments(signature):
    """The number of arguments in the text of a C signature if a compiled metric may have it; otherwise None."""
    match = re.fullmatch(r"\s*double\s*\(([^()]*)\)\s*", signature)
    if not match:
        return None
    arguments = [re.sub(r"\bconst\b", " ", argument).strip() for argument in match[1].split(",")]
    integer = "|".join(kind.replace(" ", r"\s+") for kind in _INTEGERS)
    wanted = [r"double\s*\*\s*\w*", r"double\s*\*\s*\w*", rf"({integer})(\s+\w+)?", r"void\s*\*\s*\w*"]
    if len(arguments) not in (3, 4) or not all(map(re.fullmatch, wanted, arguments)):
        return None
    return len(arguments)


class CalledPass(NamedTuple):
    """The state of one thread's pass over rows with a block of queries and a compiled function as metric."""

    search: Search
    query: np.ndarray  # (n_queries, d) float64: the queries
    found: Heaps | Hits
    buffer: np.ndarray  # (d,) float64, scratch space: a row of X converted to float64
    # (2,) intp, written by the kernel: the numbers of a query and a row whose distance is NaN; -1, -1 if no distance is
    bad: np.ndarray


class Called(Index):
    """An index that measures all rows of X by a compiled function.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        A Metric whose `compiled` is not None.
    """

    def _costs(self, queries):
        # The number of values of a query is overstated as 2^15, so that blocks have few queries, because a call of the
        # user's function may be slow.
        d = self.X.shape[1]
        return max(d, 32), 1 << 15, 8 * d, 8 * d

    def _cheap_range(self, n_queries):
        return 1

    def _queries(self, search):
        return np.ascontiguousarray(search.queries, np.float64)

    def _pass(self, search, queries, found):
        return CalledPass(search, queries, found, np.empty(self.X.shape[1]), np.array([-1, -1]))

    def _step(self, state, start, stop):
        n_hits = kernels.scan(self.X, start, stop, self.metric.compiled, state)
        query, row = state.bad
        if query >= 0:
            name = f"query {state.search.first + query}"
            raise _no_number(self.metric.custom, name, row)
        return n_hits


class Pivots(Index):
    """An index for a metric that is a function, which measures only rows that the triangle inequality cannot rule out.

    The distances of all rows from some of them, the pivots, are stored: 8 bytes per row and pivot. Without pivots all
    rows are measured. For a pivot p

        d(q, x)  >=  |d(q, p) - d(x, p)|

    holds for exact distances. For computed distances, with relative errors below a tenth of e = 1e-9, the right side
    minus e (d(q, p) + d(x, p)) is at most (1 + e) times the left side. Rows are measured in the order of this bound,
    until it exceeds the distance of the k-th nearest row so far. A search takes another 40 bytes per row and thread.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        A Metric with a function.
    n_pivots : int, default=16
        The largest number of pivots; 0 for a function without the triangle inequality.
    """

    def __init__(self, X, metric, n_pivots=_PIVOTS):
        super().__init__(X, metric)
        n = len(X)
        everything = np.arange(n)
        pivots, columns, closest = [], [np.empty((n, 0))], np.full(n, np.inf)
        pivot = 0
        while len(pivots) < min(n_pivots, n):
            pivots.append(pivot)
            column = np.empty(n)
            for _ in self._distances(_row(X, pivot), f"row {pivot} of X", everything, column):
                pass
            columns.append(column[:, None])
            closest = np.minimum(closest, column)
            pivot = int(closest.argmax())
            if not closest[pivot] > 0:
                break
        # (n_pivots,) intp: the row numbers of the pivots, rows whose distances from all rows are stored
        self.pivots = np.array(pivots, np.intp)
        # (n_rows, n_pivots) float64: the distance of each row from each pivot
        self.from_pivots = np.concatenate(columns, axis=1)

    def nearest(self, search, distance_out, index_out):
        k = index_out.shape[1]

        def answer(i):
            rows, distances, rest, bound = yield from self._begin_query(search, i)
            rows, distances = np.append(rows, np.full(k, NO_ROW)), np.append(distances, np.full(k, np.inf))
            rows, distances = _first(rows, distances, k)
            size = max(k, _PIVOTS)
            if len(self.pivots) and len(rest) > size:
                order = np.argpartition(bound, size)
                rest, bound = rest[order], bound[order]
            while len(rest):
                part, rest, bound = rest[:size], rest[size:], bound[size:]
                far = np.empty(len(part))
                yield from self._distances(_row(search.queries, i), f"query {search.first + i}", part, far)
                rows, distances = _first(np.append(rows, part), np.append(distances, far), k)
                if len(self.pivots):
                    near = np.flatnonzero(bound <= distances[-1] * (1 + _SLACK))
                    near = near[np.argsort(bound[near], kind="stable")]
                    rest, bound = rest[near], bound[near]
                size = min(2 * size, 1 << 16)
            require_full(rows[None], search.fewer)
            index_out[i] = rows
            if distance_out is not None:
                distance_out[i] = distances
            advance(search.progress, len(self.X))

        run(answer, range(len(search.queries)), self._threads(search))

    def within(self, search, radius, out):
        def answer(i):
            rows, distances, rest, bound = yield from self._begin_query(search, i)
            reach = radius_of(radius, i)
            rest = rest[bound <= reach * (1 + _SLACK)] if len(self.pivots) else rest
            far = np.empty(len(rest))
            yield from self._distances(_row(search.queries, i), f"query {search.first + i}", rest, far)
            rows, distances = np.append(rows, rest), np.append(distances, far)
            near = distances <= reach
            rows, distances = rows[near], distances[near]
            order = np.argsort(rows)
            out.put(i, rows[order], distances[order])
            advance(search.progress, len(self.X))

        run(answer, range(len(search.queries)), self._threads(search))

    def _threads(self, search):
        """The number of threads for a search: 1 if the metric is a Python function or there is little work."""
        n, d = self.X.shape
        if self.metric.compiled is None or len(search.queries) * n * max(d, 32) < _THREAD_WORK:
            return 1
        return int(max(1, min(n_threads(search.n_jobs), search.memory * 1e6 / (40 * n))))

    def _begin_query(self, search, i):
        """Measure a query's distances from all pivots, in steps.

        Returns (pivots that may be found, distances of these pivots, other rows that may be found, lower bounds of the
        distances of these rows).
        """
        to_pivots = np.empty(len(self.pivots))
        yield from self._distances(_row(search.queries, i), f"query {search.first + i}", self.pivots, to_pivots)
        bound = np.empty(len(self.X))
        for start, stop in ranges(0, len(self.X), 1 << 16):
            kernels.lower_bounds(self.from_pivots, to_pivots, _SLACK, start, stop, bound)
            yield
        left = np.ones(len(self.X), bool) if search.allowed is None else search.allowed != 0
        self_row = -1 if search.self_row is None else search.self_row[i]
        # a query that is a fitted row of another segment has a row number outside the range of this segment's rows
        if 0 <= self_row < len(left):
            left[self_row] = False
        found = left[self.pivots]
        left[self.pivots] = False
        rest = np.flatnonzero(left)
        return self.pivots[found], to_pivots[found], rest, bound[rest]

    def _distances(self, query, name, rows, distance_out):
        """Write the distances of `rows` from the query to distance_out, in steps; messages call the query `name`."""
        metric = self.metric
        buffer = np.empty(self.X.shape[1])
        if metric.compiled is not None:
            query = np.ascontiguousarray(query, np.float64)
        for start, stop in ranges(0, len(rows), 1):
            if metric.compiled is not None:
                kernels.distances(self.X, rows, start, stop, metric.compiled, query, buffer, distance_out)
            else:
                for i in range(start, stop):
                    distance_out[i] = _call(metric, query, _row(self.X, rows[i]))
            bad = np.isnan(distance_out[start:stop])
            if bad.any():
                raise _no_number(metric.custom, name, rows[start + bad.argmax()])
            yield


def _row(X, i):
    """Row i of X in the form that a user's Python function takes: an array, or SciPy's matrix of one row."""
    return as_scipy(X[i : i + 1]) if isinstance(X, Csr) else X[i]


def _first(rows, distances, k):
    """The k smallest pairs (distance, row) in ascending order, as arrays (rows, distances)."""
    order = np.lexsort((rows, distances))[:k]
    return rows[order], distances[order]


def _call(metric, query, row):
    """The result of the user's Python function for a query and a row, or NaN if the result is no number."""
    value = metric.function(query, row, **metric.keywords)
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _no_number(metric, query, row):
    return ValueError(f"metric {metric!r} gives no number for {query} and row {row}; a number is wanted")
