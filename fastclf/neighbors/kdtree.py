"""Exact search in few dimensions by a kd-tree, whose answers are the bits of a scan's.

A tree is fast if the boxes of most nodes are farther away than the k-th neighbour. This holds for up to about ten
independent features, and for more features if the rows lie near a surface of fewer dimensions or in clusters. Where it
does not hold, many queries are answered by a scan.
"""

from itertools import pairwise
from math import ceil

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, SizeOf, declare
from .._threads import Counted, Progress, advance, n_threads, ranges, run
from . import _kdtree_build
from .hits import Hits, Lists
from .metrics import MetricOf, names_with
from .scan import Scan
from .search import Heaps, Search, radius_of, require_full
from .search_costs import visits_of_scan

kernels = _simd.load("neighbors._kdtree_search")

# A node of at most this number of leaves is sorted by one kernel call, in about 5 ms; a larger node in several calls.
_BUILD_LEAVES = 4096

# The largest number of queries in a block. Blocks are large so that queries near each other share leaves in the caches.
_BLOCK_QUERIES = 1 << 15

# The number of nodes and leaves that the first kernel call of a search visits, before their duration is known.
_FIRST_NODES = 1024

# A tree of fewer entries than this is built by one thread, because waking a second thread takes longer.
_THREAD_WORK = 1 << 20

# Likewise a search whose queries are estimated to visit fewer entries of rows than _VISITS; for each query and column
# _QUERY of them stand for the time that does not depend on the number of rows. In more than LOW_DIMENSION dimensions
# a query visits about _VISITED rows, or is answered by a scan.
_VISITS, _QUERY, _VISITED = 40_000_000, 6000, 4096

# With at most this number of features a tree mostly takes less time than a scan, so that no query is tried.
LOW_DIMENSION = 8

# With more features, of at least _MANY_QUERIES queries one of _TRIED_OF, from _FEWEST_TRIED to _MOST_TRIED, is tried
# first. A scan answers all queries if it is expected to be faster.
_MANY_QUERIES, _TRIED_OF, _FEWEST_TRIED, _MOST_TRIED = 32, 64, 4, 32


# Whether a tree is worth its construction is told by trees of so many rows, for _TRIAL_QUERIES queries: not if more
# than the part _MOST_VISITED of the nodes and leaves of such a tree is visited, or if a tree of all rows is expected to
# take more than _PAYS of the time of a scan. Visits are counted in steps of _STEP.
_TRIAL_ROWS, _TRIAL_QUERIES, _MOST_VISITED, _PAYS, _STEP = (1 << 12, 1 << 14), 16, 0.7, 0.4, 128


class LeafSort:
    """The arrays by which the rows of X are sorted into leaves; threads that sort different nodes share no entries."""

    def __init__(self, X, metric):
        n, d = X.shape
        self.X = X
        # (d,) float64: factors by which the sides of a box of rows are multiplied before the longest side is chosen; 1
        # unless the metric has weights
        self.scale = np.ones(d)
        if metric.w is not None:
            with np.errstate(over="ignore"):
                self.scale = metric.w ** (1 / metric.p)
            self.scale = np.nan_to_num(self.scale, posinf=1e300)
        self.rows = np.arange(n)  # (n,) intp: the row numbers, ordered by leaf once all nodes are cut
        # (n,) intp: scratch space for the row numbers of a node of the tree, in their order after the node is cut
        self.moved = np.empty(n, np.intp)
        # (n,) each, dtype of X: the values of a node's rows in the coordinate along which the node is cut, and scratch
        # space
        self.keys, self.scratch = np.empty((2, n), X.dtype)

    def sorted(self, n_leaves, threads):
        """Cut all nodes of one level in two, then their halves, and so on; return the row numbers ordered by leaf."""
        nodes = [(0, n_leaves)]
        while nodes:
            halves = []
            run(self._cut, [(*node, halves) for node in nodes], threads)
            nodes = halves
        return self.rows

    def _cut(self, node):
        """Cut a node (first leaf, last leaf + 1, list to which its halves are added) in two; a generator of steps.

        A small node is sorted into its leaves in one step.
        """
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
    """The state of one thread's walk through the tree for a block of queries; kernels write all arrays but `queries`.

    A walk can be interrupted after any number of nodes and resumed.
    """

    __slots__ = ("bound", "found", "homes", "near", "node", "order", "position", "queries", "search")

    def __init__(self, search, queries, found):
        n_queries = len(queries.query)
        # `search` is the user's Search, `queries` are the Queries of one of its blocks, and `found`, an object Heaps or
        # Hits, collects their neighbours
        self.search, self.queries, self.found = search, queries, found
        # (n_queries,) float64: the limit of each query's screens (approximate distances); a row with a larger screen is
        # no neighbour
        self.bound = np.full(n_queries, np.inf)
        # (n_queries,) intp: the number of the node, one level above the leaves, at which the walk of each query starts
        self.homes = np.empty(n_queries, np.intp)
        # (n_queries,) intp: the queries sorted by `homes`, in which order they are answered; None at first
        self.order = None
        # (4,) intp: how far the walk is: the numbers of begun queries, of nodes on the stack, of hits in the buffer,
        # and of those hits that belong to completed queries
        self.position = np.zeros(4, np.intp)
        # a stack of nodes to open: for each node a lower bound of its rows' distances from the query, and its number
        self.near, self.node = np.empty(kernels.STACK_SIZE), np.empty(kernels.STACK_SIZE, np.intp)


class Tree(Scan):
    """A balanced tree over the rows of X, for metrics of the Minkowski family.

    Its construction takes O(n log n), on all threads, and about 32 bytes per row. The tree holds a copy of the rows.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        A Metric whose `named.tree` is True.
    n_jobs : int, default=None

    Attributes
    ----------
    rows : ndarray of shape (n,), intp
        The row numbers of X leaf by leaf: leaf i has rows[32 * i : 32 * (i + 1)].
    panels : ndarray of shape (n_leaves, d, 32), X's dtype
        The leaves' rows coordinate by coordinate; the last leaf is filled up with its last row.
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
        """The number of nodes on each level of the tree: leaves, nodes above the leaves, ..., 1 for the root."""
        sizes = [ceil(n / _kdtree_build.LEAF_ROWS)]
        while len(sizes) == 1 or sizes[-1] > 1:
            sizes.append(ceil(sizes[-1] / _kdtree_build.NODE_CHILDREN))
        return sizes

    def _check_rest(self, sizes, entries):
        if not self.X.dtype == self.panels.dtype == self.boxes.dtype:
            raise ValueError(
                f"panels and boxes have dtypes {self.panels.dtype} and {self.boxes.dtype}; the dtype of X,"
                f" {self.X.dtype}, is wanted"
            )

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
        def empty(tried):
            shape = len(tried), index_out.shape[1]
            return Heaps(np.empty(shape), np.empty(shape, np.intp))

        if not self._pays(search, empty):
            super().nearest(search, distance_out, index_out)
            return

        def walk(block):
            part, heaps = search.of(slice(*block)), Heaps.of(distance_out, index_out, *block)
            for _ in self._walk(Walk(part, self._queries(part), heaps)):
                yield
            require_full(heaps.index, search.fewer)

        threads, blocks = self._cut(search, 16 * index_out.shape[1], search.memory)
        run(walk, blocks, threads)

    def within(self, search, radius, out):
        """Find all rows within the radius of each query; see `Index.within`.

        Queries with more hits than the buffer can hold are answered by a scan in the end, which is then as fast as the
        tree.
        """
        least = 2 * _kdtree_build.LEAF_ROWS * _kdtree_build.NODE_CHILDREN
        capacity = max(least, int(min(1 << 18, search.memory * 1e6 / 2 / n_threads(search.n_jobs) / 80)))
        crowded = []

        def empty(tried):
            return Hits(len(tried), radius_of(radius, tried), capacity, measured=out.measured)

        if not self._pays(search, empty):
            super().within(search, radius, out)
            return

        def answer(block):
            start, stop = block
            part, reach = search.of(slice(*block)), radius_of(radius, slice(*block))
            hits = Hits(stop - start, reach, capacity, measured=out.measured)
            state = Walk(part, self._queries(part), hits)
            done = 0
            for outcome in self._walk(state):
                n_begun, _, _, n_kept = state.position
                if outcome == kernels.BUFFER_FULL and n_begun == done:
                    crowded.append(start + state.order[done])
                    state.position[0] = done = done + 1
                elif outcome != kernels.PAUSED:
                    yield from out.take(hits, n_kept, start, state.order[done:n_begun])
                    done = n_begun
                    state.position[2:] = 0
                yield

        threads, blocks = self._cut(search, 0, search.memory / 2)
        run(answer, blocks, threads)
        counted = Counted(search.progress)  # the walk through the tree has already counted these queries
        for first in range(0, len(crowded), 64):
            some = np.array(crowded[first : first + 64])
            found = Lists.empty(len(some), out.measured)
            super().within(search.of(some)._replace(progress=counted), radius_of(radius, some), found)
            for i, rows in enumerate(found.indices):
                out.put(some[i], rows, found.distances[i] if out.measured else None)

    def _pays(self, search, empty):
        """Whether the tree takes less time than a scan, by the number of visits to nodes for some of the queries.

        empty(numbers of queries) makes the Heaps or Hits of these queries, which are not read.
        """
        (n, d), n_queries = self.X.shape, len(search.queries)
        if d <= LOW_DIMENSION or n_queries < _MANY_QUERIES or self.metric.name == "minkowski":
            return True
        n_tried = min(max(n_queries // _TRIED_OF, _FEWEST_TRIED), _MOST_TRIED)
        tried = np.arange(n_tried) * (n_queries // n_tried)
        most = int(n_tried * visits_of_scan(n, d, self.X.itemsize, self.cost(n_queries)))
        return self._visits(search.of(tried), empty(tried), ranges(0, most, _FIRST_NODES, 1 << 20)) is not None

    def _visits(self, search, found, steps):
        """The number of visits to nodes and leaves for a few queries, rounded up to the end of one of the steps.

        None: not all queries are answered after all steps.
        """
        state = Walk(search, self._queries(search), found)
        kernels.homes(self, state, 0, len(state.homes), self.boxes)
        state.order = np.argsort(state.homes)
        for start, stop in steps:
            outcome = kernels.walk(self, state, stop - start, self.panels, self.boxes)
            if outcome == kernels.FINISHED:
                return stop
            state.position[2:] = 0  # hits are not read
        return None

    def _cut(self, search, bytes_per_query, memory):
        """Cut the queries into blocks that fit into `memory` MB: (number of threads, [(start, stop) of each block])."""
        (n, d), n_queries = self.X.shape, len(search.queries)
        bytes_per_query += 64 + d * (24 if search.queries.dtype == self.X.dtype else 64)
        visited = _QUERY + (min(n, 64 * 2**d) if d <= LOW_DIMENSION else _VISITED)
        threads = min(n_threads(search.n_jobs), n_queries) if n_queries * visited * d >= _VISITS else 1
        most = int(max(1, min(_BLOCK_QUERIES, memory * 1e6 / threads / bytes_per_query)))
        n_blocks = ceil(n_queries / most)
        if threads > 1:
            n_blocks = max(n_blocks, min(4 * threads, n_queries))
        size = ceil(n_queries / n_blocks)
        return threads, [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]

    def _walk(self, state):
        """Answer the queries of a Walk, sorted by the node at which each starts; yields each kernel call's outcome."""
        for start, stop in ranges(0, len(state.homes), 1 << 10):
            kernels.homes(self, state, start, stop, self.boxes)
            yield kernels.PAUSED
        state.order = np.argsort(state.homes)
        done = 0
        # the loop over an unlimited range ends by a return, once all queries are answered
        for start, stop in ranges(0, 1 << 62, _FIRST_NODES, 1 << 20):
            outcome = kernels.walk(self, state, stop - start, self.panels, self.boxes)
            n_done = state.position[0] - (state.position[1] > 0)
            advance(state.search.progress, int(n_done - done) * len(self.rows))
            done = n_done
            yield outcome
            if outcome == kernels.FINISHED:
                return


def is_worth_a_tree(X, metric, k):
    """Whether a tree of X is expected to take clearly less time than a scan, by the visits to trees of a few rows.

    The number of visits is assumed to grow from the smaller tree to the larger one, and on to a tree of all rows, by
    the same power of the number of rows.
    """
    (n, d), visits = X.shape, []
    queries = X[n // (2 * _TRIAL_QUERIES) :: n // _TRIAL_QUERIES][:_TRIAL_QUERIES]
    for n_rows in _TRIAL_ROWS:
        tree = Tree(np.ascontiguousarray(X[:: max(1, n // n_rows)][:n_rows]), metric, 1)
        most = int(_MOST_VISITED * sum(tree._sizes(n_rows))) * len(queries)
        shape = len(queries), min(k, n_rows)
        heaps = Heaps(np.empty(shape), np.empty(shape, np.intp))
        steps = pairwise(range(0, most + _STEP, _STEP))
        visits.append(tree._visits(Search(queries, None, None, Progress(None, ""), 1), heaps, steps))
        if visits[-1] is None:
            return False
    (few, more), (few_rows, more_rows) = visits, _TRIAL_ROWS
    growth = np.log(n / more_rows) / np.log(more_rows / few_rows)
    expected = more / len(queries) * max(more / few, 1) ** growth
    return bool(expected < _PAYS * visits_of_scan(n, d, X.itemsize, Scan(X, metric).cost(_BLOCK_QUERIES)))
