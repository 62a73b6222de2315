"""Metrics of the user's own: compiled ones, called without the GIL, and pruning by the triangle inequality."""

import ctypes
import re
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .._threads import advance, n_threads, ranges, run
from . import _custom_scan as kernels
from . import scan
from .scan import Scan, require_full

SIGNATURE = "double (const double *query, const double *row, ptrdiff_t d, void *user_data)"

_INTEGERS = ["ptrdiff_t", "Py_ssize_t", "ssize_t", "intptr_t", "npy_intp", "int64_t", "long long"]
if ctypes.sizeof(ctypes.c_long) == ctypes.sizeof(ctypes.c_ssize_t):
    _INTEGERS.append("long")

# Rows whose distances from all others bound those of a query.
_PIVOTS = 16

# A computed distance is taken to be off by at most a tenth of this, relative to itself.
_SLACK = 1e-9


class Compiled(NamedTuple):
    """A function in machine code; `source` keeps it there."""

    address: int
    user_data: int
    takes_user_data: bool
    source: object


def as_compiled(metric):
    """metric as Compiled: a Numba cfunc, a ctypes function, a PyCapsule, or SciPy's LowLevelCallable; else None."""
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
    """The number of arguments of a C signature that a metric may have, or None."""
    match = re.fullmatch(r"\s*double\s*\(([^()]*)\)\s*", signature)
    if not match:
        return None
    arguments = [re.sub(r"\bconst\b", " ", argument).strip() for argument in match[1].split(",")]
    integer = "|".join(kind.replace(" ", r"\s+") for kind in _INTEGERS)
    wanted = [r"double\s*\*\s*\w*", r"double\s*\*\s*\w*", rf"({integer})(\s+\w+)?", r"void\s*\*\s*\w*"]
    if len(arguments) not in (3, 4) or not all(map(re.fullmatch, wanted, arguments)):
        return None
    return len(arguments)


class Called(Scan):
    """All rows of X, measured by a compiled function.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
    """

    def __init__(self, X, metric):
        self.X, self.metric = X, metric

    def _costs(self, Q):
        # few queries a block, as a call may take long
        d = self.X.shape[1]
        return max(d, 32), 1 << 15, 8 * d, 8 * d

    def _cheap_range(self, n_queries):
        return 1

    def _block(self, Q, start, stop, own, allowed):
        return SimpleNamespace(
            query=np.ascontiguousarray(Q[start:stop], np.float64),
            first=start,
            own=None if own is None else own[start:stop],
            allowed=allowed,
        )

    def _state(self, block, tau, **own):
        n_queries, d = block.query.shape
        return SimpleNamespace(
            **vars(block), tau=np.full(n_queries, float(tau)), buffer=np.empty(d), bad=np.array([-1, -1]), **own
        )

    def _step(self, state, start, stop, hits=None):
        n_hits = kernels.scan(self.X, start, stop, self.metric.compiled, state, state.bad, hits)
        query, row = state.bad
        if query >= 0:
            raise _no_number(self.metric.custom, state.first + query, row)
        return n_hits


class Pivots(Scan):
    """Rows of X, of which those are measured that the triangle inequality leaves, by a function of the user's.

    The distances of all rows from some of them, the pivots, are kept: 8 bytes a row and pivot. For a pivot p

        d(q, x)  >=  |d(q, p) - d(x, p)|

    and with computed distances, each off by less than a tenth of e = 1e-9 of itself, the right side less
    e (d(q, p) + d(x, p)) is no more than (1 + e) times the computed left side. Rows are measured in order of this
    bound, until it exceeds the distance of the k-th. A search takes 40 bytes a row and thread beside.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
    """

    def __init__(self, X, metric):
        self.X, self.metric = X, metric
        n = len(X)
        everything = np.arange(n)
        pivots, columns, closest = [], [], np.full(n, np.inf)
        pivot = 0
        while len(pivots) < min(_PIVOTS, n):
            pivots.append(pivot)
            column = np.empty(n)
            for _ in self._distances(self._query(X[pivot]), f"row {pivot} of X", everything, column):
                pass
            columns.append(column)
            closest = np.minimum(closest, column)
            pivot = int(closest.argmax())
            if not closest[pivot] > 0:
                break
        self.pivots, self.from_pivots = np.array(pivots), np.stack(columns, axis=1)

    def nearest(
        self, Q, k, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0, extra=0, fewer=False
    ):
        def search(i):
            index, distance, rest, bound = yield from self._begin_query(Q, i, own, allowed)
            index, distance = np.append(index, np.full(k, scan.NO_ROW)), np.append(distance, np.full(k, np.inf))
            index, distance = _first(index, distance, k)
            size = max(k, _PIVOTS)
            if len(rest) > size:
                order = np.argpartition(bound, size)
                rest, bound = rest[order], bound[order]
            while len(rest):
                part, rest, bound = rest[:size], rest[size:], bound[size:]
                far = np.empty(len(part))
                yield from self._distances(self._query(Q[i]), f"query {i}", part, far)
                index, distance = _first(np.append(index, part), np.append(distance, far), k)
                near = np.flatnonzero(bound <= distance[-1] * (1 + _SLACK))
                near = near[np.argsort(bound[near], kind="stable")]
                rest, bound = rest[near], bound[near]
                size = min(2 * size, 1 << 16)
            require_full(index[None], fewer)
            consume(i, i + 1, distance[None], index[None])

        self._run(search, Q, progress, n_jobs, memory)

    def within(self, Q, radius, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0):
        def search(i):
            index, distance, rest, bound = yield from self._begin_query(Q, i, own, allowed)
            rest = rest[bound <= radius * (1 + _SLACK)]
            far = np.empty(len(rest))
            yield from self._distances(self._query(Q[i]), f"query {i}", rest, far)
            index, distance = np.append(index, rest), np.append(distance, far)
            near = distance <= radius
            index, distance = index[near], distance[near]
            order = np.argsort(index)
            consume(i, index[order], distance[order])

        self._run(search, Q, progress, n_jobs, memory)

    def _run(self, search, Q, progress, n_jobs, memory):
        def work(i):
            yield from search(i)
            advance(progress, len(self.X))

        threads = 1 if self.metric.compiled is None else n_threads(n_jobs)
        if len(Q) * len(self.X) * max(self.X.shape[1], 32) < scan._THREAD_WORK:
            threads = 1
        run(work, range(len(Q)), max(1, min(threads, int(min(memory * 1e6 / (40 * len(self.X)), threads)))))

    def _begin_query(self, Q, i, own, allowed):
        """(pivots that may be found, their distances, other rows that may be, their bounds)."""
        to_pivots = np.empty(len(self.pivots))
        yield from self._distances(self._query(Q[i]), f"query {i}", self.pivots, to_pivots)
        bound = np.empty(len(self.X))
        for start, stop in ranges(0, len(self.X), 1 << 16):
            kernels.lower_bounds(self.from_pivots, to_pivots, _SLACK, start, stop, bound)
            yield
        left = np.ones(len(self.X), bool) if allowed is None else allowed != 0
        if own is not None and 0 <= own[i] < len(left):  # the row may be in another segment
            left[own[i]] = False
        found = left[self.pivots]
        left[self.pivots] = False
        rest = np.flatnonzero(left)
        return self.pivots[found], to_pivots[found], rest, bound[rest]

    def _query(self, q):
        return q if self.metric.compiled is None else np.ascontiguousarray(q, np.float64)

    def _distances(self, q, name, rows, distance_out):
        """Measure rows, with a stop between ranges."""
        metric = self.metric
        buffer = np.empty(self.X.shape[1])
        for start, stop in ranges(0, len(rows), 1):
            if metric.compiled is not None:
                kernels.distances(self.X, rows, start, stop, metric.compiled, q, buffer, distance_out)
            else:
                for i in range(start, stop):
                    distance_out[i] = scan.called(metric, q, self.X[rows[i]])
            bad = np.isnan(distance_out[start:stop])
            if bad.any():
                raise _no_number(metric.custom, name, rows[start + bad.argmax()])
            yield


def _first(index, distance, k):
    """The k smallest pairs, in order."""
    order = np.lexsort((index, distance))[:k]
    return index[order], distance[order]


def _no_number(metric, query, row):
    query = query if isinstance(query, str) else f"query {query}"
    return ValueError(f"metric {metric!r} gives no number for {query} and row {row}; one is wanted")
