"""Exact search in few dimensions: a kd-tree with the answers of a scan.

A tree pays where a leaf's box, at the distance of the k-th neighbour, is soon out of reach: up to about ten
coordinates of independent data, more where the data lie near a surface of fewer.
"""

from itertools import pairwise
from math import ceil

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, SizeOf, declare
from .._threads import Progress, advance, n_threads, ranges, run
from . import _kdtree_build
from .metrics import MetricOf, names_with
from .scan import Scan
from .search import Heaps, Hits, put_hits, require_full

kernels = _simd.load("neighbors._kdtree_search")

# A node of at most this many leaves is built by one kernel call, in about 5 ms; a larger node in steps.
_BUILD_LEAVES = 4096

# The most queries of a block: neighbours among them share leaves in the caches.
_BLOCK_QUERIES = 1 << 15

# Nodes that the first kernel call opens, as the time that one takes is not known yet: at most 16 leaves of 32 powers.
_FIRST_NODES = 64

# Fewer multiply-adds than this take less time than waking a thread does.
_THREAD_WORK = 1 << 20


class LeafSort:
    """The rows of X while they are sorted into leaves; nodes that are sorted at the same time share no entries."""

    def __init__(self, X, metric):
        n, d = X.shape
        self.X = X
        self.scale = np.ones(d)  # (d,) float64: the side of a box times this is compared with others
        if metric.w is not None:
            with np.errstate(over="ignore"):
                self.scale = metric.w ** (1 / metric.p)
            self.scale = np.nan_to_num(self.scale, posinf=1e300)
        self.rows = np.arange(n)  # (n,) intp: row numbers leaf by leaf, once all nodes are cut
        self.moved = np.empty(n, np.intp)  # (n,) intp, scratch: the rows of a node on their new places
        self.keys, self.scratch = np.empty((2, n), X.dtype)  # (n,) scratch: the coordinate by which a node is cut

    def sorted(self, n_leaves, threads):
        """The rows leaf by leaf: the nodes of one level are cut in two, then their halves, and so on."""
        nodes = [(0, n_leaves)]
        while nodes:
            halves = []
            run(self._cut, [(*node, halves) for node in nodes], threads)
            nodes = halves
        return self.rows

    def _cut(self, node):
        """Cut a node (first leaf, last leaf + 1, list for its halves) in two, in steps; sort a small one at once."""
        first, last, halves = node
        build, leaf, rows = _kdtree_build, _kdtree_build.LEAF_ROWS, self.rows
        if last - first <= _BUILD_LEAVES:
            build.build_leaves(self, first, last, self.keys, self.scratch)
            yield
            return
        begin, end = first * leaf, min(last * leaf, len(rows))
        middle = build.cut_leaf(first, last)
        at = middle * leaf
        j = build.widest_side(self.X, rows[begin:end], self.scale)
        for start, stop in ranges(begin, end, 1 << 18):
            build.gather_keys(self.X, j, start, stop, rows, self.keys)
            yield
        pivot, n_less = build.select_key(self.keys[begin:end], at - begin, self.scratch[begin:end])
        yield
        cursor = np.array([begin, at, at - begin - n_less])
        for start, stop in ranges(begin, end, 1 << 18):
            build.partition_rows(self.keys, rows, start, stop, pivot, cursor, self.moved)
            yield
        for start, stop in ranges(begin, end, 1 << 18):
            rows[start:stop] = self.moved[start:stop]
            yield
        halves += [(first, middle), (middle, last)]


class Walk:
    """One thread's walk through the tree with a block of queries; kernels write to all arrays but those of the queries.

    A walk can be left after any number of nodes and taken up again.
    """

    __slots__ = ("bound", "found", "homes", "near", "node", "order", "position", "queries", "search")

    def __init__(self, search, queries, found):
        n_queries = len(queries.query)
        self.search, self.queries, self.found = search, queries, found  # Search, Queries, and Heaps or Hits
        self.bound = np.full(n_queries, np.inf)  # (n_queries,) float64, as in a scan's Pass
        self.homes = np.empty(n_queries, np.intp)  # (n_queries,): the node of level 1 where the walk of each begins
        self.order = None  # (n_queries,) intp: the order in which queries are answered; set once homes are known
        # (4,) intp: the number of queries begun, of nodes on the stack, of hits, and of hits of the queries done
        self.position = np.zeros(4, np.intp)
        self.near, self.node = np.empty(kernels.STACK_SIZE), np.empty(kernels.STACK_SIZE, np.intp)  # the stack


class Tree(Scan):
    """A balanced tree over the rows of X, for metrics of the Minkowski family.

    To build it takes O(n log n), on all threads, and about 32 bytes a row. It keeps a copy of the rows.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        One that is `tree`.
    n_jobs : int, default=None

    Attributes
    ----------
    rows : ndarray of shape (n,), intp
        The rows of X leaf by leaf: leaf i has rows[32 * i : 32 * (i + 1)].
    panels : ndarray of shape (n_leaves, d, 32), X's dtype
        The leaves' rows coordinate by coordinate; the last leaf repeats its last row.
    boxes : ndarray of shape (n_nodes, 2, d, 16), X's dtype
        For each node the smallest and the largest coordinates of its 16 children. The nodes above the leaves come
        first, then the nodes of the next level, up to the root. Child c of node i of a level is number 16 i + c of the
        level below.
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
        self.rows = LeafSort(X, metric).sorted(self._sizes(len(X))[0], threads)
        self._pack(threads)

    @staticmethod
    def _sizes(n):
        """The number of leaves, and of the nodes of each level above them, up to 1 for the root."""
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

    def nearest(self, search, distance_out, index_out):
        def walk(block):
            part, heaps = search.of(slice(*block)), Heaps.of(distance_out, index_out, *block)
            for _ in self._walk(Walk(part, self._queries(part), heaps)):
                yield
            require_full(heaps.index, search.fewer)

        threads, blocks = self._cut(search, 16 * index_out.shape[1], search.memory)
        run(walk, blocks, threads)

    def within(self, search, radius, indices_out, distances_out):
        """As `Index.within`.

        Queries whose hits exceed the capacity of the buffer are scanned in the end: a tree would take no less time.
        """
        least = 2 * _kdtree_build.LEAF_ROWS * _kdtree_build.NODE_CHILDREN
        capacity = max(least, int(min(1 << 18, search.memory * 1e6 / 2 / n_threads(search.n_jobs) / 80)))
        crowded = []

        def answer(block):
            start, stop = block
            part, hits = search.of(slice(*block)), Hits(stop - start, radius, capacity)
            state = Walk(part, self._queries(part), hits)
            done = 0
            for outcome in self._walk(state):
                n_begun, _, _, n_kept = state.position
                if outcome == kernels.BUFFER_FULL and n_begun == done:
                    crowded.append(start + state.order[done])
                    state.position[0] = done = done + 1
                elif outcome != kernels.PAUSED:
                    rows, distances, ends = hits.by_query(n_kept)
                    for i in state.order[done:n_begun]:
                        part = slice(ends[i - 1] if i else 0, ends[i])
                        put_hits(start + i, rows[part].copy(), distances[part].copy(), indices_out, distances_out)
                    done = n_begun
                    state.position[2:] = 0
                yield

        threads, blocks = self._cut(search, 0, search.memory / 2)
        run(answer, blocks, threads)
        unwatched = Progress(0, "")  # these queries have been told of
        for first in range(0, len(crowded), 64):
            some = np.array(crowded[first : first + 64])
            rows, distances = np.empty((2, len(some)), object)
            super().within(search.of(some)._replace(progress=unwatched), radius, rows, distances)
            put_hits(some, rows, distances, indices_out, distances_out)

    def _cut(self, search, bytes_per_query, memory):
        """(threads, blocks of queries that fit the megabytes)."""
        (n, d), n_queries = self.X.shape, len(search.queries)
        bytes_per_query += 64 + d * (24 if search.queries.dtype == self.X.dtype else 64)
        # a guess of the number of rows that a query meets, good enough to tell microseconds from milliseconds
        visited = min(n, 64 * 3 ** min(d, 30))
        threads = min(n_threads(search.n_jobs), n_queries) if n_queries * visited * d >= _THREAD_WORK else 1
        most = int(max(1, min(_BLOCK_QUERIES, memory * 1e6 / threads / bytes_per_query)))
        n_blocks = ceil(n_queries / most)
        if threads > 1:
            n_blocks = max(n_blocks, min(4 * threads, n_queries))
        size = ceil(n_queries / n_blocks)
        return threads, [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]

    def _walk(self, state):
        """Answer the queries of a Walk, those with neighbouring homes one after the other; yields outcomes."""
        for start, stop in ranges(0, len(state.homes), 1 << 10):
            kernels.homes(self, state, start, stop, self.boxes)
            yield kernels.PAUSED
        state.order = np.argsort(state.homes)
        done = 0
        for start, stop in ranges(0, 1 << 62, _FIRST_NODES, 1 << 20):  # which is without end
            outcome = kernels.walk(self, state, stop - start, self.panels, self.boxes)
            n_done = state.position[0] - (state.position[1] > 0)
            advance(state.search.progress, int(n_done - done) * len(self.rows))
            done = n_done
            yield outcome
            if outcome == kernels.FINISHED:
                return
