"""Exact search over all rows: metrics, blocks of queries, and how the work is cut.

A block of queries meets ranges of rows, one kernel call each. Many queries are split among threads by queries; few by
rows, and the threads' heaps merged, which a total order of (distance, row) makes the same answer.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, DeclaredState, declare
from .._threads import advance, n_threads, ranges, run
from .metrics import MetricOf, names_with, numbered

kernels = _simd.load("neighbors._scan")


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

# Shorter queries are for dot as if they were 0, and all rows pass; shorter rows are thought to be as long as this.
_LEAST_NORM = 1e-140

# What a heap holds where no row was found.
NO_ROW = np.iinfo(np.intp).max


class Scan(DeclaredState):
    """All rows of X, searched exactly.

    An index is a class with the same `nearest` and `within`. One that also steps through ranges of rows derives from
    this class, cuts ranges at multiples of `unit`, and has its own `_begin`, `_step` and `_end`.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
    """

    unit = 1

    _state_table = declare(
        X=Array("float32 or float64", "n_rows", "n_features", least=1),
        metric=MetricOf(names_with("scanned")),
    )

    def __init__(self, X, metric):
        if metric.name == "cosine" and metric.norm2 is None:
            metric = metric._replace(norm2=self._norms(X, metric, "row {} of X"))
        elif metric.name == "dot" and not metric.largest_norm:
            largest = np.sqrt(self._norms(X, metric, "row {} of X").max())
            metric = metric._replace(largest_norm=max(largest * (1 + 1e-9), _LEAST_NORM))
        self.X, self.metric = X, metric

    def _check_state(self, entries=True):
        super()._check_state(entries)
        if entries:
            self.metric = numbered(self.metric)

    def nearest(
        self, Q, k, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0, extra=0, fewer=False
    ):
        """Call consume(start, stop, distance, index) for blocks of queries, each row in ascending order.

        `own` is for each query the row that it must not find, or None; `allowed` (n,), uint8, marks the rows that may
        be found, or is None for all. `consume` may be called from several threads,
        and gets arrays of shape (stop - start, k) that it may keep. The `extra` bytes that it needs for each query
        count against `memory`. With `fewer` a query may find fewer than k rows, and has (inf, the largest intp) for the
        others.
        """

        def make_state(block):
            n_queries = len(block.query)
            return self._state(
                block,
                np.inf,
                distance=np.full((n_queries, k), np.inf),
                index=np.full((n_queries, k), NO_ROW),
                first_range=max(1, min(self._cheap_range(n_queries), (1 << 20) // (n_queries * k.bit_length()))),
                limit=None,
            )

        def step(state, start, stop):
            self._step(state, start, stop)

        def finish(start, stop, states):
            first, *others = states
            size = max(1, (1 << 16) // k)
            for begin in range(0, stop - start, size):
                part = slice(begin, begin + size)
                for other in others:
                    kernels.merge(first.distance[part], first.index[part], other.distance[part], other.index[part])
                sort_heaps(first.distance[part], first.index[part], fewer)
                yield
            consume(start, stop, first.distance, first.index)

        one = len(Q) == 1 and own is None and allowed is None and self.metric.named.as_it_lies
        arrays = one and isinstance(Q, np.ndarray) and isinstance(self.X, np.ndarray)
        if arrays and Q.dtype == self.X.dtype and self.X.size <= _THREAD_WORK:
            distance, index = np.empty((1, k)), np.empty((1, k), np.intp)
            if not kernels.find(self.X, Q, self.metric.code, distance, index):
                require_full(index, fewer)
            advance(progress, len(self.X))
            consume(0, 1, distance, index)
            return
        if self.metric.function is not None:
            for i, index, distance in self._call(Q, own, allowed, progress):
                order = np.lexsort((index, distance))[:k]
                consume(i, i + 1, distance[None, order], index[None, order])
            return
        plan = self._plan(Q, self._query_bytes(k) + extra, n_jobs, memory, self._most_queries(k))
        self._drive(Q, own, allowed, plan, progress, make_state, step, finish)

    def within(self, Q, radius, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0):
        """Call consume(i, index, distance) for each query i with all rows within the radius, by index."""
        capacity = max(1, int(min(1 << 18, memory * 1e6 / 2 / n_threads(n_jobs) / 80)))
        most = max(1, min(capacity // self.unit, _RADIUS_QUERIES))

        def make_state(block):
            n_queries = len(block.query)
            limit = max(self.unit, capacity // n_queries // self.unit * self.unit)
            return self._state(
                block,
                radius,
                hits=tuple(np.empty(limit * n_queries, kind) for kind in (np.intp, np.intp, np.float64)),
                found=[[] for _ in range(n_queries)],
                first_range=min(limit, self._cheap_range(n_queries)),
                limit=limit,
            )

        def step(state, start, stop):
            n_hits = self._step(state, start, stop, state.hits)
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
            for i, index, distance in self._call(Q, own, allowed, progress):
                near = distance <= radius
                consume(i, index[near], distance[near])
            return
        plan = self._plan(Q, 256 + self._query_bytes(0), n_jobs, memory / 2, most)
        self._drive(Q, own, allowed, plan, progress, make_state, step, finish)

    def _drive(self, Q, own, allowed, plan, progress, make_state, step, finish):
        """Step through all rows for all queries, threads taking blocks of queries or, for few queries, parts of X."""
        threads, blocks, parts = plan

        unit = self.unit

        def scan(state, first, last):
            self._begin(state, first, last)
            limit = state.limit and state.limit // unit
            for start, stop in ranges(first // unit, -(-last // unit), max(1, state.first_range // unit), limit):
                start, stop = start * unit, min(stop * unit, last)
                step(state, start, stop)
                advance(progress, (stop - start) * len(state.query))
                yield
            for _ in self._end(state):
                yield

        def whole(item):
            start, stop = item
            state = make_state(self._block(Q, start, stop, own, allowed))
            yield from scan(state, *parts[0])
            yield from finish(start, stop, [state])

        if len(parts) == 1:
            run(whole, blocks, threads)
            return
        for start, stop in blocks:
            block = self._block(Q, start, stop, own, allowed)
            states = [make_state(block) for _ in parts]
            run(lambda item: scan(*item), [(state, *part) for state, part in zip(states, parts)], threads)
            for _ in finish(start, stop, states):
                pass

    def _plan(self, Q, bytes_per_query, n_jobs, memory, most):
        """(threads, blocks of queries, parts of X), so that blocks of at most `most` queries fit the memory."""
        n, n_queries = len(self.X), len(Q)
        work, numbers, query_bytes, panel = self._costs(Q)
        bytes_per_query += query_bytes
        threads = n_threads(n_jobs) if n_queries * n * work >= _THREAD_WORK else 1
        while threads > 1 and memory * 1e6 < threads * (panel + kernels.GROUP * bytes_per_query):
            threads -= 1
        split_rows = threads > 1 and n_queries < 32 * threads and n >= 256 * threads
        fit = max(0, (memory * 1e6 / threads - panel) / bytes_per_query)
        size = int(min(_BLOCK_QUERIES, most, _BLOCK_NUMBERS // numbers, fit))
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
        cuts = [n * part // n_parts // self.unit * self.unit for part in range(n_parts)]
        return threads, blocks, list(pairwise([*cuts, n]))

    def _costs(self, Q):
        """(multiply-adds of a pair, numbers of a query, bytes of a query, bytes of a thread)."""
        d = self.X.shape[1]
        # a query in float64 and in X's type, and what it takes to compare the two
        query_bytes = d * (16 if Q.dtype == self.X.dtype else 56)
        return d, d, query_bytes, d * kernels.PANEL_ROWS[self.X.dtype.name] * self.X.itemsize

    def _begin(self, state, first, last):
        """Before the ranges of rows first..last."""

    def _step(self, state, start, stop, hits=None):
        """Search rows start..stop; with `hits`, write hits there and return their number."""
        return kernels.scan(self.X, start, stop, self.metric, state, hits)

    def _end(self, state):
        """After all ranges, in steps."""
        return ()

    def _most_queries(self, k):
        """Queries of a block that look for k neighbours."""
        return _BLOCK_QUERIES

    def _query_bytes(self, k):
        """Bytes of state that k neighbours of a query take, beside the query itself."""
        return 16 * k

    def _cheap_range(self, n_queries):
        """Rows that take no longer than a range should to screen: a power costs 20 ns, all else at most 0.3 ns."""
        numbers = 1 << 20 if self.metric.name == "minkowski" else 1 << 24
        return max(1, numbers // (n_queries * self.X.shape[1]))

    def _block(self, Q, start, stop, own, allowed):
        """Queries start..stop as the kernels want them."""
        X = self.X
        query = np.ascontiguousarray(Q[start:stop], dtype=np.float64)
        n_queries, d = query.shape
        block = SimpleNamespace(
            query=query,
            query_error=np.zeros(n_queries),
            query_norm2=None,
            own=None if own is None else own[start:stop],
            allowed=allowed,
            by_rows=n_queries <= _FEW_QUERIES,
        )
        padded = n_queries + -n_queries % kernels.GROUP
        if self.metric.name not in ("cosine", "dot") and X.dtype == query.dtype and padded == n_queries:
            block.screen_query = query
            return block
        block.screen_query = np.zeros((padded, d), X.dtype)
        if self.metric.name == "cosine":
            block.query_norm2 = self._norms(query, self.metric, "query {}", start)
            scale = np.sqrt(np.where(block.query_norm2 > 0, block.query_norm2, 1))
            np.divide(query, scale[:, None], out=block.screen_query[:n_queries], casting="same_kind")
        elif self.metric.name == "dot":
            norm = np.sqrt(self._norms(query, self.metric, "query {}", start))
            block.query_error = np.where(norm < _LEAST_NORM, 0, norm)
            scale = -np.where(block.query_error > 0, block.query_error, 1)
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
            panel=aligned((1 if by_rows else d, kernels.PANEL_ROWS[self.X.dtype.name]), self.X.dtype),
            **own,
        )

    @classmethod
    def _norms(cls, X, metric, name, first=0):
        """Squared norms of rows."""
        norm2 = np.empty(len(X))
        size = max(1, (1 << 20) // X.shape[1])
        for start, stop in ranges(0, len(X), size, size):
            kernels.squared_norms(X, start, stop, norm2)
            cls._check_norms(norm2[start:stop], X[start:stop], metric, name, first + start)
        return norm2

    @staticmethod
    def _check_norms(norm2, X, metric, name, first=0):
        """Squared norms of rows, which for cosine neither overflow nor vanish, and for dot do not overflow."""
        cosine = metric.name == "cosine"
        most = 1e76 if not cosine and X.dtype == np.float32 else np.inf
        for row in np.flatnonzero(~(norm2 < most) | (norm2 < 1e-290 if cosine else False)):
            if norm2[row] != 0 or X[row : row + 1].any():
                wanted = "one from 1e-290 to 1e308" if cosine else f"one up to {min(most, 1e308):.0e}"
                raise ValueError(
                    f"{name.format(first + row)} has a squared norm of {norm2[row]:g}; for metric={metric.name!r}"
                    f" {wanted} is wanted (scale the data)"
                )
        return norm2

    def _rounding(self, query, rounded):
        """Distance between the queries and what they were rounded to, rounded up.

        Hamming needs none: a coordinate that rounding makes equal to the row's only lowers the screen.
        """
        norm = 2 if self.metric.name == "sqeuclidean" else self.metric.named.norm
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

    def _call(self, Q, own, allowed, progress):
        """For each query (its number, rows that may be found, their distances) by the callable metric."""
        metric = self.metric.function
        candidates = np.arange(len(self.X)) if allowed is None else np.flatnonzero(allowed)
        for i, q in enumerate(Q):
            index = candidates if own is None else candidates[candidates != own[i]]
            distance = np.empty(len(index))
            for j, row in enumerate(index):
                distance[j] = called(self.metric, q, self.X[row])
                if np.isnan(distance[j]):
                    raise ValueError(f"metric {metric!r} gives no number for query {i} and row {row}; one is wanted")
            yield i, index, distance
            advance(progress, len(self.X))


def called(metric, q, x):
    """What the callable metric gives for a pair, NaN where that is no number."""
    value = metric.function(q, x, **metric.keywords)
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def sort_heaps(distance, index, fewer=False):
    """Turn heaps into ascending lists; that rows fill them is checked, unless they may be `fewer`."""
    kernels.sort(distance, index)
    require_full(index, fewer)


def require_full(index, fewer=False):
    """Refuse ascending lists in which a place is left empty, unless rows may be `fewer`."""
    if not fewer and index.size and (index[:, -1] == NO_ROW).any():
        raise ValueError(
            f"a query has fewer than {index.shape[1]} neighbours at a distance that is a number: X, or what was"
            " computed from it, has changed since fit, in memory or in its file"
        )
