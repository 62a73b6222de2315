"""The search of an index: its input, the results of each thread, and the division of the work among threads.

One kernel call searches one range of rows for one block of queries. If there are many queries, each thread searches all
rows for some of the queries. If there are few, each thread searches some of the rows for all queries, and the heaps of
the threads are merged. The answer is the same, because pairs (distance, row) have a total order.
"""

from functools import partial
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._state_table import Array, DeclaredState, declare
from .._threads import Progress, advance, n_threads, ranges, run
from .._validation import as_array, as_float64, require_number
from .metrics import numbered

kernels = _simd.load("neighbors._scan")

# The largest number of queries in a block. A kernel call compares a range of rows with all queries of a block. If there
# are at most _FEW_ROWS rows, a call takes less time than its preparation, and a block has up to _MORE_QUERIES. So has
# a block of queries that one index leaves to another.
_BLOCK_QUERIES, _FEW_ROWS, _MORE_QUERIES = 1024, 64, 4096

# The largest number of coordinates in a block of queries. A block is compared with one row in 5 ms, even if every
# coordinate takes a power (20 ns).
_BLOCK_NUMBERS = 1 << 18

# A block of at most this number of queries is compared with rows of X in place. For larger blocks, rows are first
# copied into a panel, which costs as much as screening them for 3 queries.
FEW_QUERIES = 2

# A search of fewer multiply-adds than this runs on one thread, because waking a second thread takes longer.
_THREAD_WORK = 1 << 20

# The row number of an unused entry of a heap; its distance is infinity.
NO_ROW = np.iinfo(np.intp).max


class Search(NamedTuple):
    """Input of a search in an index: the queries, the rows that may be found, and the limits of threads and memory."""

    # the queries, (n_queries, d): an array, PackedRows, Csr, or Segments (fitted rows), whose slices are arrays
    queries: object
    # (n_queries,) intp: for queries that are fitted rows, the row numbers, which are excluded from the answers; None
    # for other queries
    self_row: np.ndarray | None
    allowed: np.ndarray | None  # (n_rows,) uint8: 1 for each row that may be found; None: all rows may be found
    progress: Progress  # the progress of the search, which counts the finished (query, row) pairs
    n_jobs: int | None = None
    memory: float = 256.0  # the number of megabytes that all threads together may use, beyond the arrays of the answer
    # whether a query may find fewer than k rows; its list is then filled up with NO_ROW at distance infinity
    fewer: bool = False
    first: int = 0  # the number that error messages give to the first of the queries

    def of(self, chosen):
        """The same search for some of its queries, which `chosen` (a slice or numbers) selects."""
        queries, self_row, *others, first = self
        self_row = None if self_row is None else self_row[chosen]
        first = first + chosen.start if isinstance(chosen, slice) else first
        return Search(queries[chosen], self_row, *others, first)


class Heaps:
    """The k nearest rows of each query of a block, among the rows that one thread has searched."""

    __slots__ = ("distance", "first_rows", "index", "k", "tau")

    most_rows = None  # the largest number of rows in a range that one kernel call searches; None: no limit

    def __init__(self, distance, index):
        # `distance` and `index` hold a heap of pairs (distance, row number) for each query, into which kernels push
        # (`_heap.pxd`)
        self.distance = distance  # (n_queries, k), float64: the distances of each query's nearest rows so far
        self.index = index  # (n_queries, k), intp: the row numbers of each query's nearest rows so far
        self.k = index.shape[1]
        # (n_queries,) float64, lowered by kernels: the distance beyond which a row is no neighbour of the query
        self.tau = np.full(len(index), np.inf)
        # the number of rows in the first range of a search, which is small because every row may be pushed into every
        # heap
        self.first_rows = (1 << 20) // (len(index) * self.k.bit_length())
        distance.fill(np.inf)
        index.fill(NO_ROW)

    @classmethod
    def of(cls, distance_out, index_out, start, stop, first=True):
        """Empty heaps for the queries start to stop; the first thread's heaps are views of the answer's arrays."""
        shape = stop - start, index_out.shape[1]
        inside = first and distance_out is not None
        distance = distance_out[start:stop] if inside else np.empty(shape)
        return cls(distance, index_out[start:stop] if first else np.empty(shape, np.intp))

    def keep(self, n_hits):
        """Called after each kernel call; does nothing, because the kernel has updated the heaps."""

    def finish(self, others, fewer):
        """Merge the heaps of other threads into these heaps, and sort each into an ascending list; a generator."""
        size = max(1, (1 << 16) // self.k)
        for start in range(0, len(self.tau), size):
            part = slice(start, start + size)
            for other in others:
                kernels.merge(self.distance[part], self.index[part], other.distance[part], other.index[part], 0)
            kernels.sort(self.distance[part], self.index[part])
            require_full(self.index[part], fewer)
            yield


class Index(DeclaredState):
    """Rows X and a way to search them by a metric. An Index does not change after its construction.

    A derived class either overrides `nearest` and `within`, or defines these four methods, by which ranges of rows are
    searched. It may override the small methods at the end of this class, too.

    _costs(queries) : (multiply-adds of a pair, values of a query, bytes of a query, bytes of a thread)
    _queries(search) : the queries of a block in the form that the kernels take; all threads share this object
    _pass(search, queries, found) : the state of one thread's pass over rows, with the thread's scratch arrays
    _step(state, start, stop) : search rows start to stop in this pass; returns the number of hits in the buffer
    """

    unit = 1  # the ranges of rows into which a search is cut begin at multiples of this number

    _state_table = declare(X=Array("float32 or float64", "n_rows", "n_features", least=1))

    def __init__(self, X, metric):
        self.X, self.metric = X, metric

    def _check_state(self, entries=True):
        super()._check_state(entries)
        if entries:
            self.metric = numbered(self.metric)

    def nearest(self, search, distance_out, index_out):
        """Write the k nearest rows of each query, by ascending (distance, row).

        Parameters
        ----------
        search : Search
        distance_out : ndarray of shape (n_queries, k), float64; or None
            None: the distances are not wanted.
        index_out : ndarray of shape (n_queries, k), intp
        """
        k = index_out.shape[1]

        def finish(start, stop, found):
            return found[0].finish(found[1:], search.fewer)

        plan = self._plan(search, self._query_bytes(k), self._most_queries(k), search.memory)
        self._run(search, plan, partial(Heaps.of, distance_out, index_out), finish)

    def within(self, search, radius, out):
        """Find all rows within the radius of each query.

        Parameters
        ----------
        search : Search
        radius : float, or ndarray of shape (n_queries,), float64
        out : Lists or Counts
            Takes the rows of each query.
        """
        memory = search.memory / 2
        bytes_of_thread = memory * 1e6 / n_threads(search.n_jobs)
        capacity = max(1, int(min(1 << 18, bytes_of_thread / 80)))

        def begin(start, stop, first=True):
            return out.buffer(stop - start, radius_of(radius, slice(start, stop)), capacity, self.unit)

        most = max(1, min(capacity // self.unit, out.most_queries(len(self.X), bytes_of_thread)))
        plan = self._plan(search, 256 + self._query_bytes(0), most, memory)
        self._run(search, plan, begin, out.finish)

    def _run(self, search, plan, begin, finish):
        """Answer all queries. Threads take blocks of queries or, if there are few queries, parts of the rows.

        begin(start, stop, first) makes the Heaps or Hits of one thread for the queries start to stop. The generator
        finish(start, stop, found) combines the Heaps or Hits of all threads, the list `found`, into the answer.
        """
        threads, blocks, parts = plan

        def whole(block):
            found, part = begin(*block), search.of(slice(*block))
            yield from self._pass_over(part, self._queries(part), found, *parts[0])
            yield from finish(*block, [found])

        if len(parts) == 1:
            run(whole, blocks, threads)
            return
        for block in blocks:
            part = search.of(slice(*block))
            queries, found = self._queries(part), [begin(*block, rows == parts[0]) for rows in parts]
            items = [(part, queries, each, *rows) for each, rows in zip(found, parts)]
            run(lambda item: self._pass_over(*item), items, threads)
            for _ in finish(*block, found):
                pass

    def _pass_over(self, search, queries, found, first, last):
        """Search the rows `first` to `last` for a block of queries, range by range; a generator for `_threads.run`."""
        n_queries, unit = len(found.tau), self.unit
        state = self._pass(search, queries, found)
        self._begin(state, first, last)
        size = max(1, min(self._cheap_range(n_queries), found.first_rows) // unit)
        most = found.most_rows and found.most_rows // unit
        for start, stop in ranges(first // unit, -(-last // unit), size, most):
            start, stop = start * unit, min(stop * unit, last)
            found.keep(self._step(state, start, stop))
            advance(search.progress, (stop - start) * n_queries)
            yield
        yield from self._end(state)

    def _plan(self, search, bytes_per_query, most, memory):
        """The division of a search: (number of threads, blocks of queries, parts of the rows).

        Blocks have at most `most` queries and fit into `memory` megabytes.
        """
        n, n_queries = len(self.X), len(search.queries)
        work, numbers, query_bytes, panel = self._costs(search.queries)
        bytes_per_query += query_bytes
        threads = n_threads(search.n_jobs) if n_queries * n * work >= _THREAD_WORK else 1
        while threads > 1 and memory * 1e6 < threads * (panel + kernels.GROUP * bytes_per_query):
            threads -= 1
        split_rows = threads > 1 and n_queries < 32 * threads and n >= 256 * threads
        fit = max(0, (memory * 1e6 / threads - panel) / bytes_per_query)
        size = int(min(most, _BLOCK_NUMBERS // numbers, fit))
        if size >= kernels.GROUP:
            size -= size % kernels.GROUP
            if not split_rows:
                # each thread gets the same number of blocks of queries, all of nearly the same size
                n_blocks = -(-n_queries // size)
                size = -(-n_queries // (-(-n_blocks // threads) * threads))
                size += -size % kernels.GROUP
        else:
            size = max(1, min(size, FEW_QUERIES))
        blocks = [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
        n_parts = threads if split_rows else 1
        cuts = [n * part // n_parts // self.unit * self.unit for part in range(n_parts)]
        return threads, blocks, list(pairwise([*cuts, n]))

    def _begin(self, state, first, last):
        """A hook for subclasses, called before the rows `first` to `last` are searched range by range."""

    def _end(self, state):
        """A hook for subclasses, called when all ranges of rows have been searched; returns further steps to run."""
        return ()

    def _most_queries(self, k):
        """The largest number of queries in a block of a search for k neighbours."""
        return _BLOCK_QUERIES if len(self.X) > _FEW_ROWS else _MORE_QUERIES

    def _query_bytes(self, k):
        """The bytes that a search holds for the k neighbours of one query, beyond the query itself."""
        return 16 * k

    def _cheap_range(self, n_queries):
        """The number of rows in the first range of a search, to be searched for n_queries queries within 30 ms."""
        return max(1, (1 << 24) // (n_queries * self.X.shape[1]))


def answer_left(index, search, left, distance_out, index_out):
    """Write the k nearest rows of the queries whose numbers are in `left`, which another index has not answered."""
    query_bytes = 8 * search.queries.shape[1] + 32 * index_out.shape[1]
    size = int(max(1, min(_MORE_QUERIES, search.memory * 1e6 / 4 / query_bytes)))
    for first in range(0, len(left), size):
        some = left[first : first + size]
        shape = len(some), index_out.shape[1]
        distance, found = np.empty(shape), np.empty(shape, np.intp)
        part = search.of(some)._replace(memory=search.memory / 2)
        index.nearest(part, None if distance_out is None else distance, found)
        index_out[some] = found
        if distance_out is not None:
            distance_out[some] = distance


def require_radius(radius, least, n_queries=None):
    """The checked argument `radius`: a number, or an array with a number for each query."""
    if isinstance(radius, (Real, np.bool_)) or n_queries is None or as_array(radius, "radius").ndim == 0:
        return require_number("radius", radius, least)
    radius = as_float64(radius, "radius")
    if radius.shape != (n_queries,):
        raise ValueError(f"radius has shape {radius.shape}; a number, or an array of shape ({n_queries},), is wanted")
    if not (radius >= least).all():
        raise ValueError(f"radius has an entry that is NaN or below {least:g}; numbers from {least:g} up are wanted")
    return np.ascontiguousarray(radius)


def radius_of(radius, chosen):
    """The radius of the queries that `chosen` (a slice, a number or numbers) selects."""
    return radius[chosen] if np.ndim(radius) else radius


def require_full(index, fewer=False):
    """Raise an error if a query's list of neighbours ends with an unused entry, unless `fewer` allows this."""
    if not fewer and index.size and (index[:, -1] == NO_ROW).any():
        raise ValueError(
            f"a query has fewer than {index.shape[1]} neighbours at a distance that is a number: X, or what was"
            " computed from it, has changed since fit, in memory or in its file; an unchanged X is wanted, or a new fit"
        )
