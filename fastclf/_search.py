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
from ._validation import require_number

kernels = _simd.load("_neighbors")

_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev", "p": "minkowski"}
METRICS = sorted({*kernels.CODES, *_ALIASES})

# A block of at most this many queries, and of at most this many numbers, so that a single row against it takes less
# than a range should even where every coordinate costs a power (20 ns).
_BLOCK_QUERIES = 1024
_BLOCK_NUMBERS = 1 << 18

# The hits of a block are held in pieces until it is done: few queries, so that the pieces are few and large.
_RADIUS_QUERIES = 64

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
        p = require_number("p", params.pop("p", p), 0, open_low=True)
        w = params.pop("w", None)
        if w is not None:
            try:
                w = np.ascontiguousarray(w, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise type(error)(f"metric_params['w'] is {w!r}; numbers are wanted") from None
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
    return Metric(name, kernels.CODES[name], p if name == "minkowski" else 2.0, w)


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
            metric = metric._replace(norm2=self._norms(X, "row {} of X"))
        self.X, self.metric, self.allowed = X, metric, allowed

    def nearest(self, Q, k, consume, progress, *, own=None, n_jobs=None, memory=256.0, extra=0):
        """Call consume(start, stop, distance, index) for blocks of queries, each row in ascending order.

        `consume` may be called from several threads, and gets arrays of shape (stop - start, k) that it may keep. The
        `extra` bytes that it needs for each query count against `memory`.
        """

        def make_state(block):
            n_queries = len(block.query)
            return self._state(
                block,
                np.inf,
                distance=np.full((n_queries, k), np.inf),
                index=np.full((n_queries, k), np.iinfo(np.intp).max),
                first_range=max(1, min(self._cheap_range(n_queries), (1 << 20) // (n_queries * k.bit_length()))),
                limit=None,
            )

        def step(state, start, stop):
            kernels.scan(self.X, start, stop, self.metric, state)

        def finish(start, stop, states):
            first, *others = states
            size = max(1, (1 << 16) // k)
            for begin in range(0, stop - start, size):
                part = slice(begin, begin + size)
                for other in others:
                    kernels.merge(first.distance[part], first.index[part], other.distance[part], other.index[part])
                kernels.sort(first.distance[part], first.index[part])
                yield
            consume(start, stop, first.distance, first.index)

        if self.metric.function is not None:
            for i, index, distance in self._call(Q, own, progress):
                order = np.lexsort((index, distance))[:k]
                consume(i, i + 1, distance[None, order], index[None, order])
            return
        plan = self._plan(Q, 16 * k + extra, n_jobs, memory)
        self._drive(Q, own, plan, progress, make_state, step, finish)

    def within(self, Q, radius, consume, progress, *, own=None, n_jobs=None, memory=256.0):
        """Call consume(i, index, distance) for each query i with all rows within the radius, by index."""
        capacity = max(1, int(min(1 << 18, memory * 1e6 / 2 / n_threads(n_jobs) / 80)))

        def make_state(block):
            n_queries = len(block.query)
            limit = max(1, capacity // n_queries)
            return self._state(
                block,
                radius,
                hits=tuple(np.empty(limit * n_queries, kind) for kind in (np.intp, np.intp, np.float64)),
                found=[[] for _ in range(n_queries)],
                first_range=min(limit, self._cheap_range(n_queries)),
                limit=limit,
            )

        def step(state, start, stop):
            n_hits = kernels.scan(self.X, start, stop, self.metric, state, state.hits)
            query, index, distance = (column[:n_hits] for column in state.hits)
            order = np.lexsort((index, query))
            ends = np.cumsum(np.bincount(query, minlength=len(state.found)))
            for i in np.unique(query):
                part = order[ends[i - 1] if i else 0 : ends[i]]
                state.found[i].append((index[part], distance[part]))

        def finish(start, stop, states):
            for i in range(start, stop):
                pieces = [piece for state in states for piece in state.found[i - start]]
                pieces = pieces or [(np.empty(0, np.intp), np.empty(0))]
                consume(i, *(pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces))))
                for state in states:
                    state.found[i - start] = None
                yield

        if self.metric.function is not None:
            for i, index, distance in self._call(Q, own, progress):
                near = distance <= radius
                consume(i, index[near], distance[near])
            return
        plan = self._plan(Q, 256, n_jobs, memory / 2, min(capacity, _RADIUS_QUERIES))
        self._drive(Q, own, plan, progress, make_state, step, finish)

    def _drive(self, Q, own, plan, progress, make_state, step, finish):
        """Step through all rows for all queries, threads taking blocks of queries or, for few queries, parts of X."""
        threads, blocks, parts = plan

        def scan(state, first, last):
            for start, stop in ranges(first, last, state.first_range, state.limit):
                step(state, start, stop)
                _advance(progress, (stop - start) * len(state.query))
                yield

        def whole(item):
            start, stop = item
            state = make_state(self._block(Q, start, stop, own))
            yield from scan(state, *parts[0])
            yield from finish(start, stop, [state])

        if len(parts) == 1:
            run(whole, blocks, threads)
            return
        for start, stop in blocks:
            block = self._block(Q, start, stop, own)
            states = [make_state(block) for _ in parts]
            run(lambda item: scan(*item), [(state, *part) for state, part in zip(states, parts)], threads)
            for _ in finish(start, stop, states):
                pass

    def _plan(self, Q, bytes_per_query, n_jobs, memory, most=_BLOCK_QUERIES):
        """(threads, blocks of queries, parts of X), so that blocks of at most `most` queries fit the memory."""
        (n, d), n_queries = self.X.shape, len(Q)
        # a query in float64 and in X's type, and what it takes to compare the two
        bytes_per_query += d * (16 if Q.dtype == self.X.dtype else 56)
        threads = n_threads(n_jobs) if n_queries * n * d >= _THREAD_WORK else 1
        panel = d * kernels.PANEL_ROWS[self.X.dtype.name] * self.X.itemsize
        while threads > 1 and memory * 1e6 < threads * (panel + kernels.GROUP * bytes_per_query):
            threads -= 1
        split_rows = threads > 1 and n_queries < 32 * threads and n >= 256 * threads
        fit = max(0, (memory * 1e6 / threads - panel) / bytes_per_query)
        size = int(min(_BLOCK_QUERIES, most, _BLOCK_NUMBERS // d, fit))
        if size >= kernels.GROUP:
            size -= size % kernels.GROUP
            if not split_rows:
                # as many blocks for each thread, of nearly the same size
                n_blocks = -(-n_queries // size)
                size = -(-n_queries // (-(-n_blocks // threads) * threads))
                size += -size % kernels.GROUP
        else:
            size = max(1, min(size, _FEW_QUERIES))
        blocks = [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
        n_parts = threads if split_rows else 1
        return threads, blocks, list(pairwise(n * part // n_parts for part in range(n_parts + 1)))

    def _cheap_range(self, n_queries):
        """Rows that take no longer than a range should to screen: a power costs 20 ns, all else at most 0.3 ns."""
        numbers = 1 << 20 if self.metric.name == "minkowski" else 1 << 24
        return max(1, numbers // (n_queries * self.X.shape[1]))

    def _block(self, Q, start, stop, own):
        """Queries start..stop as the kernels want them."""
        X = self.X
        query = np.ascontiguousarray(Q[start:stop], dtype=np.float64)
        n_queries, d = query.shape
        block = SimpleNamespace(
            query=query,
            query_error=np.zeros(n_queries),
            query_norm2=None,
            own=None if own is None else own[start:stop],
            allowed=self.allowed,
            by_rows=n_queries <= _FEW_QUERIES,
        )
        padded = n_queries + -n_queries % kernels.GROUP
        if self.metric.name != "cosine" and X.dtype == query.dtype and padded == n_queries:
            block.screen_query = query
            return block
        block.screen_query = np.zeros((padded, d), X.dtype)
        if self.metric.name == "cosine":
            block.query_norm2 = self._norms(query, "query {}", start)
            scale = np.sqrt(np.where(block.query_norm2 > 0, block.query_norm2, 1))
            np.divide(query, scale[:, None], out=block.screen_query[:n_queries], casting="same_kind")
        else:
            with np.errstate(over="ignore"):
                block.screen_query[:n_queries] = query
            if Q.dtype != X.dtype:
                block.query_error = self._rounding(query, block.screen_query[:n_queries])
        return block

    def _state(self, block, tau, **own):
        """A block with what one thread changes: tau and bounds, a panel, and `own`."""
        n_queries, d = block.query.shape
        by_rows = block.by_rows and self.metric.name not in ("cosine", "minkowski")
        bound = np.full(len(block.screen_query), -1.0)
        bound[:n_queries] = np.inf
        return SimpleNamespace(
            **vars(block),
            tau=np.full(n_queries, float(tau)),
            bound=bound,
            panel=_aligned((1 if by_rows else d, kernels.PANEL_ROWS[self.X.dtype.name]), self.X.dtype),
            **own,
        )

    @staticmethod
    def _norms(X, name, first=0):
        """Squared norms for cosine, where they neither overflow nor vanish."""
        norm2 = np.empty(len(X))
        size = max(1, (1 << 20) // X.shape[1])
        for start, stop in ranges(0, len(X), size, size):
            kernels.squared_norms(X, start, stop, norm2)
            for row in start + np.flatnonzero(~(norm2[start:stop] < np.inf) | (norm2[start:stop] < 1e-290)):
                if norm2[row] != 0 or X[row].any():
                    raise ValueError(
                        f"{name.format(first + row)} has a squared norm of {norm2[row]:g}; for metric='cosine' one from"
                        " 1e-290 to 1e308 is wanted (scale the data)"
                    )
        return norm2

    def _rounding(self, query, rounded):
        """Distance between the queries and what they were rounded to, rounded up.

        Hamming needs none: a coordinate that rounding makes equal to the row's only lowers the screen.
        """
        if self.metric.name not in ("euclidean", "sqeuclidean", "manhattan", "chebyshev"):
            return np.zeros(len(query))
        difference = np.abs(query - rounded)
        if self.metric.name == "manhattan":
            error = difference.sum(axis=1)
        elif self.metric.name == "chebyshev":
            error = difference.max(axis=1)
        else:
            largest = difference.max(axis=1, keepdims=True)
            scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
            error = scale[:, 0] * np.sqrt(((difference / scale) ** 2).sum(axis=1))
        return error * (1 + 1e-6)

    def _call(self, Q, own, progress):
        """For each query (its number, rows that may be found, their distances) by the callable metric."""
        metric, keywords = self.metric.function, self.metric.keywords
        candidates = np.arange(len(self.X)) if self.allowed is None else np.flatnonzero(self.allowed)
        for i, q in enumerate(Q):
            index = candidates if own is None else candidates[candidates != own[i]]
            distance = np.empty(len(index))
            for j, row in enumerate(index):
                value = metric(q, self.X[row], **keywords)
                try:
                    distance[j] = value
                except (TypeError, ValueError):
                    value = np.nan
                if value != value:
                    raise ValueError(f"metric {metric!r} gives no number for query {i} and row {row}; one is wanted")
            yield i, index, distance
            _advance(progress, len(self.X))


def _aligned(shape, dtype):
    """An empty array that begins on a cache line: a vector load that spans two lines costs two."""
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def _advance(progress, amount):
    """Tell of progress, and stop if the callback says so."""
    if progress.advance(amount):
        raise RuntimeError(
            f"{progress.label}: stopped by callback at {100 * progress.step / progress.total:.0f} % of the work;"
            " there is no answer"
        )
