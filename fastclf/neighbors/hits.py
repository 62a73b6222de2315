"""The hits of a search by radius: the buffers that kernels fill, and the answers that are made of them.

An answer, which `Index.within` takes as `out`, has these attributes:

measured : whether distances are wanted
buffer(n_queries, radius, capacity, unit) : the Hits of one thread for a block of queries
most_queries(n_rows, memory) : the largest number of queries in a block
finish(start, stop, found) : a generator, for `_threads.run`, that puts the Hits of all threads for a block of queries
put(i, rows, distances) : put the rows within the radius of query i
take(hits, n_hits, start, some) : a generator that puts the first n_hits hits in the buffer of a block that begins with
    query `start`; `some` are the numbers, in the block, of the queries whose hits they are
of(part) : the answer for some of the queries, which `part` (a slice) selects
size() : the number of hits so far
"""

from itertools import pairwise

import numpy as np

from . import _hits

# The number of queries in a block of a search for Lists, which holds all hits of the block in memory: more than the
# least if the hits take at most the memory of a thread even if each row is a hit of each query.
_LEAST_QUERIES, _MOST_QUERIES = 64, 256

# The number of bytes of a hit in Lists: in `calls`, sorted, and in the user's arrays.
_HIT_BYTES = 50

# The number of queries whose hits are copied between two checks for Ctrl-C, and about the number of hits that are
# sorted.
_FEW_QUERIES, _FEW_HITS = 64, 1 << 18


class Hits:
    """All rows within a radius of each query of a block, among the rows that one thread has searched.

    A kernel writes hits into the columns of a buffer, in any order; `keep` moves them from the buffer to `calls`.
    """

    __slots__ = ("calls", "distance", "first_rows", "measured", "most_rows", "query", "row", "tau")

    k = 0  # the number of neighbours wanted; 0 tells kernels that all rows within a radius are wanted

    def __init__(self, n_queries, radius, capacity, unit=1, measured=True):
        # the largest number of rows in a range whose hits fit the buffer, even if each row is a hit of each query
        self.most_rows = max(unit, capacity // n_queries // unit * unit)
        self.first_rows, capacity = self.most_rows, max(capacity, self.most_rows * n_queries)
        self.tau = np.full(n_queries, radius, np.float64)  # (n_queries,) float64: the radius of each query
        # (capacity,) intp each: for each hit in the buffer, which is a row within a query's radius, the numbers of
        # query and row
        self.query, self.row = np.empty((2, capacity), np.intp)
        # (capacity,) float64: for each hit in the buffer the distance between its query and its row
        self.distance = np.empty(capacity)
        # whether distances are wanted; otherwise a kernel may write any other number for a row that is a hit for sure
        self.measured = measured
        self.calls = []  # the hits of each kernel call: (query numbers of 16 bits, row numbers, distances or None)

    def keep(self, n_hits):
        """Called after each kernel call: move the hits from the buffer to `calls`."""
        if n_hits:
            distance = self.distance[:n_hits].copy() if self.measured else None
            self.calls.append((self.query[:n_hits].astype(np.uint16), self.row[:n_hits].copy(), distance))


class CountedHits(Hits):
    """Hits of which only the number in each class is kept."""

    __slots__ = ("codes", "counts")

    def keep(self, n_hits):
        for codes, counts in zip(self.codes, self.counts):
            _hits.tally(self.query[:n_hits], self.row[:n_hits], codes, counts)


def by_query(calls, n_queries, measured):
    """The hits of kernel calls, `calls` of Hits, sorted by query and then by row; empties the list `calls`.

    A generator, for `_threads.run`, that returns (rows, distances or None, begins): the hits of query i are those from
    begins[i] to begins[i + 1].
    """
    begins = np.zeros(n_queries + 1, np.intp)
    for query, _, _ in calls:
        _hits.count(query, begins[1:])
        yield
    np.cumsum(begins, out=begins)
    rows, distances, places = np.empty(begins[-1], np.intp), None, begins[:-1].copy()
    if measured:
        distances = np.empty(begins[-1])
    for i, call in enumerate(calls):
        _hits.deal(*call, places, rows, distances)
        calls[i] = None
        yield
    calls.clear()
    first = 0
    while first < n_queries:
        last = max(first + 1, int(np.searchsorted(begins, begins[first] + _FEW_HITS, "right")) - 1)
        _hits.sort(rows, distances, begins[first : last + 1])
        first = last
        yield
    return rows, distances, begins


class Lists:
    """For each query an array of the rows within the radius, ascending, and an array of their distances."""

    def __init__(self, indices, distances):
        self.indices = indices  # (n_queries,) object: an intp array for each query
        self.distances = distances  # (n_queries,) object: a float64 array for each query; None: not wanted

    @classmethod
    def empty(cls, n_queries, measured=True):
        return cls(np.empty(n_queries, object), np.empty(n_queries, object) if measured else None)

    @property
    def measured(self):
        return self.distances is not None

    def buffer(self, *limits):
        return Hits(*limits, self.measured)

    def most_queries(self, n_rows, memory):
        return max(_LEAST_QUERIES, int(min(_MOST_QUERIES, memory / (_HIT_BYTES * n_rows))))

    def put(self, i, rows, distances):
        self.indices[i] = rows
        if self.measured:
            self.distances[i] = distances

    def take(self, hits, n_hits, start, some):
        hits.keep(n_hits)
        rows, distances, begins = yield from by_query(hits.calls, len(hits.tau), self.measured)
        for i in some:
            part = slice(begins[i], begins[i + 1])
            self.put(start + i, rows[part].copy(), distances[part].copy() if self.measured else None)

    def finish(self, start, stop, found):
        calls = [call for hits in found for call in hits.calls]
        for hits in found:
            hits.calls.clear()
        rows, distances, begins = yield from by_query(calls, stop - start, self.measured)
        begins = begins.tolist()
        for out, values in (self.indices, rows), (self.distances, distances):
            if out is None:
                continue
            for i, (first, last) in enumerate(pairwise(begins), start):
                # arrays of their own, so that no query's hits keep those of others in memory
                out[i] = values[first:last].copy()
                if i % _FEW_QUERIES == 0:
                    yield

    def of(self, part):
        return Lists(self.indices[part], self.distances[part] if self.measured else None)

    def size(self):
        return sum(len(rows) for rows in self.indices if rows is not None)


class Counts:
    """For each query the number of rows of each class within the radius."""

    measured = False

    def __init__(self, codes, counts):
        # `codes` and `counts` have an item for each output
        self.codes = codes  # (n_rows,) intp each: the class of each row
        self.counts = counts  # (n_queries, n_classes) float64 each: 0 at first

    def buffer(self, n_queries, *limits):
        hits = CountedHits(n_queries, *limits, False)
        hits.codes, hits.counts = self.codes, [np.zeros((n_queries, each.shape[1])) for each in self.counts]
        return hits

    def most_queries(self, n_rows, memory):
        return int(max(1, min(_MOST_QUERIES, memory / 8 / sum(each.shape[1] for each in self.counts))))

    def take(self, hits, n_hits, start, some):
        for codes, counts in zip(self.codes, self.counts):
            _hits.tally(hits.query[:n_hits], hits.row[:n_hits], codes, counts[start : start + len(hits.tau)])
        yield

    def put(self, i, rows, distances):
        for codes, counts in zip(self.codes, self.counts):
            counts[i] += np.bincount(codes[rows], minlength=counts.shape[1])

    def finish(self, start, stop, found):
        for hits in found:
            for counts, some in zip(self.counts, hits.counts):
                counts[start:stop] += some
        yield

    def of(self, part):
        return Counts(self.codes, [each[part] for each in self.counts])

    def size(self):
        return int(self.counts[0].sum())
