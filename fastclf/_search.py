"""Exact search over all rows: metrics, blocks of queries, and how the work is cut.

A block of queries meets ranges of rows, one kernel call each. Many queries are split among threads by queries; few by
rows, and the threads' heaps merged, which a total order of (distance, row) makes the same answer.
"""

import warnings
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from . import _simd
from ._threads import n_threads, ranges, run

kernels = _simd.load("_neighbors")

# The kernels' codes.
_CODES = {
    "euclidean": 0,
    "sqeuclidean": 1,
    "manhattan": 2,
    "chebyshev": 3,
    "hamming": 4,
    "minkowski": 5,
    "cosine": 6,
    "callable": -1,
}
_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev", "p": "minkowski"}
METRICS = sorted({*_CODES, *_ALIASES} - {"callable"})

# A block of at most this many queries, and of at most this many numbers, so that a single row against it takes less
# than a range should even where every coordinate costs a power (20 ns).
_BLOCK_QUERIES = 1024
_BLOCK_NUMBERS = 1 << 18

# With at most so many queries rows are read as they lie: packing a panel costs about as much as screening 3 queries.
_FEW_QUERIES = 2

# Fewer multiply-adds than this take less time than waking a thread does.
_THREAD_WORK = 1 << 20


class Metric(NamedTuple):
    """A metric as the kernels see it."""

    name: str
    code: int
    p: float = 2.0
    w: np.ndarray | None = None  # (n_features,) float64
    norm2: np.ndarray | None = None  # (n_rows,) float64, squared norms of the rows, for cosine
    function: object = None  # the callable metric
    keywords: dict | None = None


def resolve_metric(metric, p, metric_params, n_features):
    """The Metric for the arguments `metric`, `p` and `metric_params`."""
    params = dict(metric_params or {})
    if callable(metric):
        return Metric("callable", -1, function=metric, keywords=params)
    name = _ALIASES.get(metric, metric)
    w = None
    if name == "minkowski":
        if "p" in params:
            warnings.warn(
                "p is found in metric_params and used; the argument p is ignored", SyntaxWarning, stacklevel=4
            )
        p = params.pop("p", p)
        if isinstance(p, bool) or not np.isscalar(p) or not np.isreal(p) or not p > 0:
            raise ValueError(f"p is {p!r}; a number greater than 0 is wanted")
        w = params.pop("w", None)
        if w is not None:
            w = np.ascontiguousarray(w, dtype=np.float64)
            if w.shape != (n_features,) or not (np.isfinite(w) & (w >= 0)).all():
                raise ValueError(
                    f"metric_params['w'] has shape {w.shape}; {n_features} finite weights, one a feature and none"
                    " negative, are wanted"
                )
            if np.isinf(p):
                raise ValueError("metric_params['w'] is given with p=inf, where weights have no meaning; leave it out")
        elif p in (1, 2) or np.isinf(p):
            name = {1: "manhattan", 2: "euclidean"}.get(p, "chebyshev")
    if params:
        raise ValueError(f"metric_params has {sorted(params)}, which metric={metric!r} does not take")
    return Metric(name, _CODES[name], float(p) if name == "minkowski" else 2.0, w)


class Scan:
    """All rows of X, searched exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
    allowed : ndarray of shape (n,), uint8, or None
        Rows that may be found; None for all.
    """

    def __init__(self, X, metric, allowed=None):
        if metric.name == "cosine":
            metric = metric._replace(norm2=self._norms(X, "X"))
        self.X, self.metric, self.allowed = X, metric, allowed

    @staticmethod
    def _norms(X, name):
        """Squared norms for cosine, where they neither overflow nor vanish."""
        norm2 = np.empty(len(X))
        size = max(1, (1 << 20) // X.shape[1])
        for start, stop in ranges(0, len(X), size, size):
            kernels.squared_norms(X, start, stop, norm2)
            for row in start + np.flatnonzero(~(norm2[start:stop] < np.inf) | (norm2[start:stop] < 1e-290)):
                if norm2[row] != 0 or X[row].any():
                    raise ValueError(
                        f"{name} has a row ({row}) whose squared norm leaves the range of float64; scale {name} for"
                        " metric='cosine'"
                    )
        return norm2

    def _block(self, Q, start, stop, own, tau=None, k=0):
        """Queries start..stop as the kernels want them."""
        X = self.X
        query = np.ascontiguousarray(Q[start:stop], dtype=np.float64)
        n_queries, d = query.shape
        padded = -(-n_queries // kernels.GROUP) * kernels.GROUP
        block = SimpleNamespace(
            query=query,
            own=None if own is None else own[start:stop],
            allowed=self.allowed,
            query_error=np.zeros(n_queries),
            query_norm2=None,
            by_rows=n_queries <= _FEW_QUERIES,
        )
        if X.dtype == query.dtype and padded == n_queries:
            block.screen_query = query
        else:
            block.screen_query = np.zeros((padded, d), X.dtype)
            with np.errstate(over="ignore"):
                block.screen_query[:n_queries] = query
        if self.metric.name == "cosine":
            block.query_norm2 = self._norms(query, "the queries")
            scale = np.sqrt(np.where(block.query_norm2 > 0, block.query_norm2, 1))
            block.screen_query = np.zeros((padded, d), X.dtype)
            block.screen_query[:n_queries] = query / scale[:, None]
        if X.dtype != np.float64 and Q.dtype != X.dtype:
            block.query_error = self._rounding(query, block.screen_query[:n_queries])
        return self._fresh(block, k, tau)

    def _rounding(self, query, rounded):
        """Distance between the queries and what they were rounded to, rounded up.

        Hamming needs none: a coordinate that rounding makes equal to the row's only lowers the screen.
        """
        difference = np.abs(query - rounded)
        if self.metric.name == "manhattan":
            error = difference.sum(axis=1)
        elif self.metric.name == "chebyshev":
            error = difference.max(axis=1)
        elif self.metric.name in ("euclidean", "sqeuclidean"):
            largest = difference.max(axis=1, keepdims=True)
            scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
            error = scale[:, 0] * np.sqrt(((difference / scale) ** 2).sum(axis=1))
        else:
            return np.zeros(len(query))
        return error * (1 + 1e-6)

    def _fresh(self, block, k, tau):
        """The same queries with state of their own: empty heaps of k, or (k = 0) the radius tau."""
        n_queries, d = block.query.shape
        block = SimpleNamespace(**vars(block))
        block.panel = _aligned((d, kernels.PANEL_ROWS[self.X.dtype.name]), self.X.dtype)
        block.tau = np.full(n_queries, np.inf) if tau is None else np.full(n_queries, float(tau))
        block.bound = np.full(len(block.screen_query), -1.0)
        block.bound[:n_queries] = np.inf
        if k:
            block.distance = np.full((n_queries, k), np.inf)
            block.index = np.full((n_queries, k), np.iinfo(np.intp).max)
        return block

    def _plan(self, n_queries, bytes_per_query, n_jobs, memory):
        """(threads, blocks, row parts) for this many queries."""
        n, d = self.X.shape
        threads = n_threads(n_jobs)
        if n_queries * n * d < _THREAD_WORK:
            threads = 1
        split_rows = threads > 1 and n_queries < 32 * threads and n >= 256 * threads
        size = min(_BLOCK_QUERIES, _BLOCK_NUMBERS // d, int(memory * 1e6 / threads) // bytes_per_query)
        if not split_rows:
            # as many blocks for each thread, of nearly the same size
            n_blocks = -(-n_queries // max(1, size))
            size = -(-n_queries // (-(-n_blocks // threads) * threads))
        size = max(kernels.GROUP, -(-size // kernels.GROUP) * kernels.GROUP)
        blocks = [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
        n_parts = threads if split_rows else 1
        cuts = [n * part // n_parts for part in range(n_parts + 1)]
        return threads, blocks, list(pairwise(cuts))

    def _first_range(self, n_queries):
        """Rows that surely take no longer than a range should: a power costs 20 ns, all else at most 0.3 ns."""
        numbers = 1 << 20 if self.metric.name == "minkowski" else 1 << 24
        return max(1, numbers // (n_queries * self.X.shape[1]))

    def nearest(self, Q, k, consume, progress, *, own=None, n_jobs=None, memory=256.0):
        """Call consume(start, stop, distance, index) for blocks of queries, each row in ascending order.

        `consume` may be called from several threads, and gets arrays of shape (stop - start, k) that it may keep.
        """
        if self.metric.function is not None:
            self._nearest_callable(Q, k, consume, progress, own)
            return
        d = self.X.shape[1]
        threads, blocks, parts = self._plan(len(Q), d * 16 + k * 80, n_jobs, memory)

        def scan(block, first, last):
            for start, stop in ranges(first, last, self._first_range(len(block.query))):
                kernels.scan(self.X, start, stop, self.metric, block)
                yield from _advance(progress, (stop - start) * len(block.query))

        def whole(item):
            start, stop = item
            block = self._block(Q, start, stop, own, k=k)
            yield from scan(block, 0, len(self.X))
            kernels.sort(block.distance, block.index)
            consume(start, stop, block.distance, block.index)

        if len(parts) == 1:
            run(whole, blocks, threads)
            return
        for start, stop in blocks:
            block = self._block(Q, start, stop, own, k=k)
            work = [(block, *parts[0])] + [(self._fresh(block, k, None), *part) for part in parts[1:]]
            run(lambda item: scan(*item), work, threads)
            for other, _, _ in work[1:]:
                kernels.merge(block.distance, block.index, other.distance, other.index)
            kernels.sort(block.distance, block.index)
            consume(start, stop, block.distance, block.index)

    def within(self, Q, radius, consume, progress, *, own=None, n_jobs=None, memory=256.0):
        """Call consume(start, stop, query, index, distance) for blocks of queries: every row within the radius.

        The three arrays have one entry a hit, by query (numbered from `start`), then by row.
        """
        if self.metric.function is not None:
            self._within_callable(Q, radius, consume, progress, own)
            return
        d = self.X.shape[1]
        threads, blocks, parts = self._plan(len(Q), d * 16 + 64, n_jobs, memory / 2)
        capacity = max(kernels.GROUP, int(memory * 1e6 / 2 / threads) // 24)

        def scan(block, first, last, found):
            n_queries = len(block.query)
            limit = max(1, min(capacity, 1 << 20) // n_queries)
            hits = tuple(np.empty(limit * n_queries, kind) for kind in (np.intp, np.intp, np.float64))
            for start, stop in ranges(first, last, min(limit, self._first_range(n_queries)), limit):
                n_hits = kernels.scan(self.X, start, stop, self.metric, block, hits)
                found.append([column[:n_hits].copy() for column in hits])
                yield from _advance(progress, (stop - start) * n_queries)

        def gather(start, stop, found):
            query, index, distance = (np.concatenate(column) for column in zip(*found))
            order = np.lexsort((index, query))
            consume(start, stop, query[order], index[order], distance[order])

        def whole(item):
            start, stop = item
            found = []
            yield from scan(self._block(Q, start, stop, own, tau=radius), 0, len(self.X), found)
            gather(start, stop, found)

        if len(parts) == 1:
            run(whole, blocks, threads)
            return
        for start, stop in blocks:
            block = self._block(Q, start, stop, own, tau=radius)
            work = [(self._fresh(block, 0, radius), *part, []) for part in parts]
            run(lambda item: scan(*item), work, threads)
            gather(start, stop, [piece for *_, found in work for piece in found])

    def _measure_callable(self, q, own):
        """Distance of one query to every row that may be found; inf, and left out, elsewhere."""
        candidates = np.arange(len(self.X)) if self.allowed is None else np.flatnonzero(self.allowed)
        if own is not None:
            candidates = candidates[candidates != own]
        metric, keywords = self.metric.function, self.metric.keywords
        distance = np.array([metric(q, self.X[row], **keywords) for row in candidates], dtype=np.float64)
        if np.isnan(distance).any():
            row = candidates[np.flatnonzero(np.isnan(distance))[0]]
            raise ValueError(f"metric {metric!r} returned NaN for a query and row {row}; a number is wanted")
        return candidates, distance

    def _nearest_callable(self, Q, k, consume, progress, own):
        for i, q in enumerate(Q):
            candidates, distance = self._measure_callable(q, None if own is None else own[i])
            order = np.lexsort((candidates, distance))[:k]
            consume(i, i + 1, distance[None, order], candidates[None, order])
            for _ in _advance(progress, len(self.X)):
                pass

    def _within_callable(self, Q, radius, consume, progress, own):
        for i, q in enumerate(Q):
            candidates, distance = self._measure_callable(q, None if own is None else own[i])
            hit = distance <= radius
            consume(i, i + 1, np.zeros(hit.sum(), np.intp), candidates[hit], distance[hit])
            for _ in _advance(progress, len(self.X)):
                pass


def _aligned(shape, dtype):
    """An empty array that begins on a cache line: a vector load that spans two lines costs two."""
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def _advance(progress, amount):
    """One step of a piece of work: say so, stop if the callback asks for it, and let `run` look at its flag."""
    if progress.advance(amount):
        raise RuntimeError(
            f"{progress.label}: stopped by callback at {100 * progress.step / progress.total:.0f} % of the work;"
            " there is no answer"
        )
    yield
