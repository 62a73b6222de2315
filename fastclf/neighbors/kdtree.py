"""Exact search in few dimensions: a kd-tree with the answers of a scan.

A tree pays where a leaf's box, at the distance of the k-th neighbour, is soon out of reach: up to about ten
coordinates of independent data, more where the data lie near a surface of fewer.
"""

from itertools import pairwise
from math import ceil
from types import SimpleNamespace

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, SizeOf, declare
from .._threads import advance, n_threads, ranges, run
from . import _kdtree_build
from .metrics import MetricOf, names_with
from .scan import _THREAD_WORK, NO_ROW, Scan, require_full

kernels = _simd.load("neighbors._kdtree_search")

# Nodes of at most so many leaves are built by one kernel call, in about 5 ms; others in steps.
_BUILD_LEAVES = 4096

# A block of at most so many queries: neighbours among them share leaves in the caches.
_BLOCK_QUERIES = 1 << 15

# Nodes opened by the first kernel call, when it is not known yet what one takes: at most 16 leaves of 32 powers each.
_FIRST_NODES = 64


class Tree(Scan):
    """A balanced tree over the rows of X, for metrics of the Minkowski family.

    It takes O(n log n) to build, on all threads, and about 32 bytes a row then, besides what it keeps: the rows again.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric, one that is `tree`
    n_jobs : int, default=None

    Attributes
    ----------
    rows : ndarray of shape (n,), intp
        The rows of X leaf by leaf: leaf i has rows[32 * i : 32 * (i + 1)].
    panels : ndarray of shape (n_leaves, d, 32), X's dtype
        The leaves' rows coordinate by coordinate; the last leaf repeats its last row.
    boxes : ndarray of shape (n_nodes, 2, d, 16), X's dtype
        For each node the smallest and the largest coordinates of its 16 children. First the nodes above the leaves,
        then those above these nodes, up to the root; child c of node i of one level is number 16 i + c of the one
        below.
    """

    _state_table = declare(
        metric=MetricOf(names_with("tree")),
        n_leaves=SizeOf(lambda tree: tree._sizes(len(tree.X))[0]),
        n_nodes=SizeOf(lambda tree: sum(tree._sizes(len(tree.X))[1:])),
        rows=Array("intp", "n_rows", below="n_rows"),
        panels=Array("float32 or float64", "n_leaves", "n_features", _kdtree_build.LEAF_ROWS),
        boxes=Array("float32 or float64", "n_nodes", 2, "n_features", _kdtree_build.NODE_CHILDREN),
    )

    def __init__(self, X, metric, n_jobs=None):
        super().__init__(X, metric)
        threads = n_threads(n_jobs) if X.size >= _THREAD_WORK else 1
        self.rows = self._sorted_rows(threads)
        self._pack(threads)

    def _sorted_rows(self, threads):
        X, n = self.X, len(self.X)
        d = X.shape[1]
        scale = np.ones(d)
        if self.metric.w is not None:
            with np.errstate(over="ignore"):
                scale = self.metric.w ** (1 / self.metric.p)
            scale = np.nan_to_num(scale, posinf=1e300)
        rows, moved = np.arange(n), np.empty(n, np.intp)
        keys, scratch = np.empty(n, X.dtype), np.empty(n, X.dtype)

        def cut(item):
            first, last, cuts = item
            begin, end = first * _kdtree_build.LEAF_ROWS, min(last * _kdtree_build.LEAF_ROWS, n)
            if last - first <= _BUILD_LEAVES:
                _kdtree_build.build_leaves(X, first, last, scale, rows, moved, keys, scratch)
                yield
                return
            middle = _kdtree_build.cut_leaf(first, last)
            at = middle * _kdtree_build.LEAF_ROWS
            j = _kdtree_build.widest_side(X, rows[begin:end], scale)
            for start, stop in ranges(begin, end, 1 << 18):
                _kdtree_build.gather_keys(X, j, start, stop, rows, keys)
                yield
            pivot, n_less = _kdtree_build.select_key(keys[begin:end], at - begin, scratch[begin:end])
            yield
            cursor = np.array([begin, at, at - begin - n_less])
            for start, stop in ranges(begin, end, 1 << 18):
                _kdtree_build.partition_rows(keys, rows, start, stop, pivot, cursor, moved)
                yield
            for start, stop in ranges(begin, end, 1 << 18):
                rows[start:stop] = moved[start:stop]
                yield
            cuts += [(first, middle), (middle, last)]

        nodes = [(0, ceil(n / _kdtree_build.LEAF_ROWS))]
        while nodes:
            cuts = []
            run(cut, [(*node, cuts) for node in nodes], threads)
            nodes = cuts
        return rows

    @staticmethod
    def _sizes(n):
        """Numbers of leaves, of the nodes above them, of those above these, up to the root."""
        sizes = [ceil(n / _kdtree_build.LEAF_ROWS)]
        while len(sizes) == 1 or sizes[-1] > 1:
            sizes.append(ceil(sizes[-1] / _kdtree_build.NODE_CHILDREN))
        return sizes

    def _check_rest(self, sizes, entries):
        if not self.X.dtype == self.panels.dtype == self.boxes.dtype:
            raise ValueError(f"panels and boxes have dtypes {self.panels.dtype} and {self.boxes.dtype}; X's is wanted")

    def _pack(self, threads):
        (n, d), dtype = self.X.shape, self.X.dtype
        leaf, fan = _kdtree_build.LEAF_ROWS, _kdtree_build.NODE_CHILDREN
        sizes = self._sizes(n)
        self.panels = aligned((sizes[0], d * leaf), dtype).reshape(sizes[0], d, leaf)
        self.boxes = aligned((sum(sizes[1:]), 2 * d * fan), dtype).reshape(-1, 2, d, fan)
        self.boxes[:, 0], self.boxes[:, 1] = np.inf, -np.inf

        def pack(item):
            for start, stop in ranges(*item, 1 + (1 << 18) // (d * leaf)):
                _kdtree_build.pack_leaves(self.X, self.rows, start, stop, self.panels, self.boxes)
                yield

        cuts = [sizes[0] * part // threads for part in range(threads + 1)]
        run(pack, pairwise(cuts), threads)
        first = 0
        for size in sizes[1:-1]:
            _kdtree_build.pack_nodes(self.boxes[first : first + size], self.boxes[first + size :])
            first += size

    def nearest(
        self, Q, k, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0, extra=0, fewer=False
    ):
        """Call consume(start, stop, distance, index) as `Scan.nearest` does."""

        def answer(item):
            start, stop = item
            state = self._walk_state(Q, start, stop, own, allowed, np.inf)
            state.distance = np.full((stop - start, k), np.inf)
            state.index = np.full((stop - start, k), NO_ROW)
            for _ in self._walk(state, progress):
                yield
            require_full(state.index, fewer)
            consume(start, stop, state.distance, state.index)

        threads, blocks = self._cut(Q, 16 * k + extra, n_jobs, memory)
        run(answer, blocks, threads)

    def within(self, Q, radius, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0):
        """Call consume(i, index, distance) as `Scan.within` does.

        Queries with more hits than there is room for are scanned in the end: a tree would take no less time.
        """
        least = 2 * _kdtree_build.LEAF_ROWS * _kdtree_build.NODE_CHILDREN
        capacity = max(least, int(min(1 << 18, memory * 1e6 / 2 / n_threads(n_jobs) / 80)))
        crowded = []

        def answer(item):
            start, stop = item
            state = self._walk_state(Q, start, stop, own, allowed, radius)
            state.hits = tuple(np.empty(capacity, kind) for kind in (np.intp, np.intp, np.float64))
            done = 0
            for outcome in self._walk(state, progress):
                n_begun, _, _, n_kept = state.position
                if outcome == kernels.OUT_OF_ROOM and n_begun == done:
                    crowded.append(start + state.order[done])
                    state.position[0] = done = done + 1
                elif outcome != kernels.PAUSED:
                    query, index, distance = (column[:n_kept] for column in state.hits)
                    by = np.lexsort((index, query))
                    index, distance = index[by], distance[by]
                    ends = np.cumsum(np.bincount(query, minlength=stop - start))
                    for i in state.order[done:n_begun]:
                        part = slice(ends[i - 1] if i else 0, ends[i])
                        consume(start + i, index[part].copy(), distance[part].copy())
                    done = n_begun
                    state.position[2:] = 0
                yield

        threads, blocks = self._cut(Q, 0, n_jobs, memory / 2)
        run(answer, blocks, threads)
        silent = SimpleNamespace(advance=lambda amount: False)
        for first in range(0, len(crowded), 64):
            some = crowded[first : first + 64]
            super().within(
                Q[some],
                radius,
                lambda i, *hits, some=some: consume(some[i], *hits),
                silent,
                own=None if own is None else own[some],
                allowed=allowed,
                n_jobs=n_jobs,
                memory=memory,
            )

    def _cut(self, Q, bytes_per_query, n_jobs, memory):
        """(threads, blocks of queries that fit the memory)."""
        (n, d), n_queries = self.X.shape, len(Q)
        bytes_per_query += 64 + d * (24 if Q.dtype == self.X.dtype else 64)
        # a guess, good enough to tell microseconds from milliseconds, of how many rows a query looks at
        visited = min(n, 64 * 3 ** min(d, 30))
        threads = min(n_threads(n_jobs), n_queries) if n_queries * visited * d >= _THREAD_WORK else 1
        most = int(max(1, min(_BLOCK_QUERIES, memory * 1e6 / threads / bytes_per_query)))
        n_blocks = ceil(n_queries / most)
        if threads > 1:
            n_blocks = max(n_blocks, min(4 * threads, n_queries))
        size = ceil(n_queries / n_blocks)
        return threads, [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]

    def _walk_state(self, Q, start, stop, own, allowed, tau):
        block = self._block(Q, start, stop, own, allowed)
        n_queries = stop - start
        block.hits = None
        block.tau = np.full(n_queries, float(tau))
        block.bound = np.full(n_queries, np.inf)
        block.homes = np.empty(n_queries, np.intp)
        block.position = np.zeros(4, np.intp)
        block.near = np.empty(kernels.STACK_SIZE)
        block.node = np.empty(kernels.STACK_SIZE, np.intp)
        return block

    def _walk(self, state, progress):
        """Answer the queries of a state, those with neighbouring homes one after the other; yields outcomes."""
        boxes, rows, metric = self.boxes, self.rows, self.metric
        n_queries = len(state.homes)
        for start, stop in ranges(0, n_queries, 1 << 10):
            kernels.homes(boxes, rows, metric, state, start, stop)
            yield kernels.PAUSED
        state.order = np.argsort(state.homes)
        done = 0
        for start, stop in ranges(0, 1 << 62, _FIRST_NODES, 1 << 20):  # which is without end
            outcome = kernels.walk(self.panels, boxes, rows, metric, state, stop - start)
            n_done = state.position[0] - (state.position[1] > 0)
            advance(progress, int(n_done - done) * len(rows))
            done = n_done
            yield outcome
            if outcome == kernels.FINISHED:
                return
