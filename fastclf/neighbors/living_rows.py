"""Rows that can be added and removed, in several segments, each with an index of its own; a search covers them all.

Rows are numbered from 0 in the order in which they were added. Each row also has a place. The given rows, which belong
to the caller and are neither copied nor changed, have the first places. The added rows, which are in a buffer, have the
places after the given rows. A removed row leaves a hole among the places, so that the order of rows, by which ties are
broken, does not change.
"""

from functools import partial

import numpy as np

from .._state_table import Array, DeclaredState, Instance, SizeOf, declare, or_none, where
from .._threads import advance, aside_if_many, copy_rows, n_threads, rows_at, run
from .choose_index import Maker
from .hits import Lists
from .metrics import MetricOf, names_with, numbered
from .scan import Scan
from .search import Heaps, kernels, radius_of, require_full

# The largest number of queries in a block. For each block of queries all segments of rows are searched.
_BLOCK_QUERIES = 1 << 14


class SpareRows:
    """Spare rows at the end of an array's buffer, so that a row is appended in amortised O(1).

    Arrays that were returned earlier do not change, because each spare row is written for one array only. A copied or
    unpickled object has no spare rows.
    """

    def __init__(self, buffer=None):
        self._buffer = buffer
        # a dict {n: an object that identifies the call that appends rows after the first n rows of the buffer}, so that
        # no second call appends at the same place
        self._claimed = {}

    def __getstate__(self):
        return {"_buffer": None, "_claimed": {}}

    def _check_state(self):
        if vars(self).get("_buffer") is not None or vars(self).get("_claimed"):
            raise ValueError("the file holds spare rows, which fastclf never saves; a file that it saved is wanted")
        self._buffer, self._claimed = None, {}

    def extend(self, array, rows):
        """Append rows to an array; returns (the longer array, the SpareRows after its end)."""
        n, total = len(array), len(array) + len(rows)
        kind = np.result_type(array, rows)
        spare, buffer = self, self._buffer
        fits = buffer is not None and array.base is buffer and total <= len(buffer) and kind == buffer.dtype
        # setdefault is atomic, so that of several threads that append to the same array only one gets the spare rows
        claim = object()
        if not fits or self._claimed.setdefault(n, claim) is not claim:
            spare = SpareRows(np.empty((total + total // 2 + 16, *array.shape[1:]), kind))
            copy_rows(array, spare._buffer[:n])
        copy_rows(rows, spare._buffer[n:total])
        return spare._buffer[:total], spare


class Segments(DeclaredState):
    """Rows that can be added and removed, and their exact search by the methods `nearest` and `within` of `Index`.

    The rows of an object do not change: `add` and `remove` return a new object, which shares arrays with the old one.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous; or PackedRows or Csr, to which no rows can be added
    metric : Metric
    make, make_small : function of (X, metric)
        `make` makes the index of a lasting segment; `make_small` makes the index of the rows added last. The first
        search after each addition calls `make_small`, which must cost no more than a search.
    """

    _state_table = declare(
        _make=Instance(Maker),
        _make_small=Instance(Maker),
        n_features=SizeOf(lambda rows: rows.some_rows.shape[1]),
        n_places=SizeOf(lambda rows: rows.n_places),
        _alive=or_none(Array("uint8", "n_places", below=2)),
        **where(
            lambda rows: rows._given is None,
            metric=MetricOf([*names_with("scanned"), *names_with("missing"), *names_with("formula")], measured=False),
        ),
    )

    def __init__(self, X, metric, make=Scan, make_small=Scan):
        self.metric, self._make, self._make_small = metric, make, make_small
        # (n_added, d): the rows added since `fit`
        self._added, self._spare = np.empty((0, X.shape[1]), X.dtype), SpareRows()
        # (n_places,) uint8: 1 for the place of a row, 0 for a hole, which is the place of a removed row; None: there
        # are no holes
        self._alive, self._spare_alive = None, SpareRows()
        # the places of the removed rows in the array of all rows, in ascending order
        self._holes = np.empty(0, np.intp)
        # the index of the rows that were given to `fit`; None once all these rows are removed
        self._given = make(X, metric)
        # the index of the rows that were added first, before those of `_tail`; None: there is no such index yet
        self._sealed = None
        # whether the added rows have no index yet, as after reading from a file; the next search then makes `_sealed`
        self._unsealed = False
        # the index of the rows that were added after those of `_sealed`; None: the next search makes this index
        self._tail = None
        # the mask of the last search, kept for the next one: a pair of arrays (by row number, by place); None: there is
        # none
        self._placed = None

    def __getstate__(self):
        """The attributes from which all others can be made. In files the added rows have the name `_own`."""
        names = ("metric", "_make", "_make_small", "_given", "_alive")
        return {name: vars(self)[name] for name in names} | {"_own": self._added if len(self._added) else None}

    def __setstate__(self, state):
        vars(self).update(state)
        self._added = vars(self).pop("_own")
        self._spare, self._spare_alive = SpareRows(), SpareRows()
        if self._added is None:
            self._added = np.empty((0, self.some_rows.shape[1]), self.some_rows.dtype)
        self._holes = np.empty(0, np.intp) if self._alive is None else np.flatnonzero(self._alive == 0)
        self._sealed = self._tail = self._placed = None
        self._unsealed = len(self._added) > 0

    def _check_rest(self, sizes, entries):
        dense = isinstance(self.some_rows, np.ndarray)
        added = Array("float32 or float64", None, "n_features") if dense else Array("any", 0, "n_features")
        added.check("_own", self._added, sizes, entries)
        if len(self) == 0:
            raise ValueError("a file has no fitted rows; at least one is wanted")

    def _check_state(self, entries=True):
        super()._check_state(entries)
        if entries and self._given is None:
            self.metric = numbered(self.metric)
            self._make_small(self._added, self.metric)._check_state()
        elif entries:
            self.metric = self._given.metric._replace(norm2=None, largest_norm=0.0)

    @property
    def some_rows(self):
        """Some of the rows, whose type (array, PackedRows or Csr) is that of all rows."""
        return self._added if self._given is None else self._given.X

    @property
    def _n_given(self):
        return 0 if self._given is None else len(self._given.X)

    @property
    def n_places(self):
        """The number of places that a search passes over, including holes."""
        return self._n_given + len(self._added)

    def _parts(self):
        """A pair (place of the first row, index) for each segment of rows, as a list; missing indexes are made."""
        if self._unsealed and len(self._added):
            self._sealed, self._unsealed = self._make(self._added, self.metric), False
        parts = [] if self._given is None else [(0, self._given)]
        n_given, n_sealed = self._n_given, 0 if self._sealed is None else len(self._sealed.X)
        if n_sealed:
            parts.append((n_given, self._sealed))
        if n_sealed < len(self._added):
            if self._tail is None:
                self._tail = self._make_small(self._added[n_sealed:], self.metric)
            parts.append((n_given + n_sealed, self._tail))
        return parts

    def _single(self):
        """The index of all rows, if all are in one segment from which no row was removed; otherwise None."""
        if self._alive is not None:
            return None
        if not len(self._added):
            return self._given
        parts = self._parts()
        return parts[0][1] if len(parts) == 1 else None

    def whole(self):
        """An index of all rows by row number: that of the only segment, or a new index of a copy of all rows."""
        single = self._single()
        return self._make(self[:], self.metric) if single is None else single

    # The next properties and methods are those of an array, because fitted rows can serve as queries.

    @property
    def X(self):
        """All rows as an array, PackedRows or Csr if they are in one piece; otherwise this object."""
        single = self._single()
        return self if single is None else single.X

    @property
    def dtype(self):
        return np.result_type(self.some_rows.dtype, self._added.dtype)

    @property
    def shape(self):
        return len(self), self._added.shape[1]

    @property
    def row_bytes(self):
        """The largest number of bytes that a row takes in a slice of this object."""
        some = self.some_rows
        return 8 * some.shape[1] if isinstance(some, np.ndarray) else some.row_bytes

    def __len__(self):
        return self.n_places - len(self._holes)

    def __getitem__(self, rows):
        """The rows with the given numbers, which are a slice or an array."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        places = self._places(rows)
        if not isinstance(self.some_rows, np.ndarray):
            return self.some_rows[places]
        return aside_if_many(len(places) * self._added.shape[1], self._at, places)

    def _at(self, places):
        """The dense rows at the given places."""
        found = np.empty((len(places), self._added.shape[1]), self.dtype)
        for first, index in self._parts():
            inside = (places >= first) & (places < first + len(index.X))
            found[inside] = index.X[places[inside] - first]
        return found

    def _places(self, rows):
        """The places of the rows with the given numbers: each number plus the number of removed rows before it."""
        if self._alive is None:
            return rows
        return rows + np.searchsorted(self._holes - np.arange(len(self._holes)), rows, side="right")

    def _rows(self, places):
        """The numbers of the rows at the given places: each place minus the number of removed rows before it."""
        return places if self._alive is None else places - np.searchsorted(self._holes, places)

    def _twin(self):
        new = object.__new__(Segments)
        vars(new).update(vars(self), _placed=None)
        return new

    def add(self, rows):
        """A new object to which a copy of the rows is appended; O(d) per row, amortised, and sometimes a new index."""
        if not isinstance(self.some_rows, np.ndarray):
            raise TypeError(f"rows cannot be added to {self.some_rows.kind}; an array is wanted")
        if not isinstance(rows, np.ndarray):
            raise TypeError(f"X is {rows.kind}, but the fitted rows are an array; an array is wanted")
        # a Python function that is the metric is always given rows of one dtype, so that fitted and new rows are
        # converted to a common dtype
        if self.metric.function is not None and self.dtype != rows.dtype:
            return Segments(np.concatenate([self[:], rows]), self.metric, self._make, self._make_small)
        # this index is made only because its construction raises an error if the metric cannot take the new rows
        self._make_small(rows, self.metric)
        new = self._twin()
        new._added, new._spare = self._spare.extend(self._added, rows)
        new._tail = None
        if new._spare is not self._spare:
            # all added rows were copied into a larger buffer, which happens so rarely that the time for a new index of
            # these rows is affordable
            new._sealed = self._make(new._added, self.metric)
        if self._alive is not None:
            new._alive, new._spare_alive = self._spare_alive.extend(self._alive, np.ones(len(rows), np.uint8))
        return new

    def remove(self, rows):
        """A new object without some of the rows; at least one must remain. O(n).

        The added rows are compacted once fewer than half of them remain. The given rows are not copied, but removed
        rows at both ends are excluded from the search once all remaining given rows lie within half of the places.
        """
        new = self._twin()
        alive = np.ones(self.n_places, np.uint8) if self._alive is None else self._alive.copy()
        alive[self._places(rows)] = 0
        given, added = alive[: self._n_given], alive[self._n_given :]
        left = np.flatnonzero(given)
        if len(left) == 0:
            new._given, given = None, given[:0]
        elif 2 * (left[-1] + 1 - left[0]) <= len(given) and isinstance(self._given.X, np.ndarray):
            part = slice(left[0], left[-1] + 1)
            new._given, given = self._make(self._given.X[part], self.metric), given[part]
        if 2 * np.count_nonzero(added) < len(added):
            stays = np.flatnonzero(added)
            new._added, new._spare = rows_at(self._added, stays), SpareRows()
            new._sealed = self._make(new._added, self.metric) if len(new._added) else None
            new._tail, added = None, np.ones(len(new._added), np.uint8)
        alive = np.concatenate([given, added])
        new._holes = np.flatnonzero(alive == 0)
        new._alive, new._spare_alive = (alive if len(new._holes) else None), SpareRows()
        return new

    def nearest(self, search, distance_out, index_out):
        """Write the k nearest rows of each query; see `Index.nearest`."""
        single = self._single()
        (self._nearest if single is None else single.nearest)(search, distance_out, index_out)

    def within(self, search, radius, out):
        """Find all rows within the radius of each query; see `Index.within`."""
        single = self._single()
        (self._within if single is None else single.within)(search, radius, out)

    def _nearest(self, search, distance_out, index_out):
        """Search all segments for one block of queries after another, and merge the results.

        Half of the memory is for the search of a segment, the other half for the queries and the results of all
        segments.
        """
        n_queries, k = index_out.shape
        parts = self._allowed_parts(search.allowed)
        size = fit_in(search.memory / 2, 16 * k * (1 + len(parts)) + self.row_bytes, _BLOCK_QUERIES)
        step = max(1, min(1024, (1 << 20) // k))
        for start in range(0, n_queries, size):
            heaps = Heaps.of(distance_out, index_out, start, min(start + size, n_queries))
            found = []
            for first, part, here, findable in self._ask_parts(search.of(slice(start, start + size)), parts):
                if findable:
                    shape = len(heaps.index), min(k, findable)
                    found.append((np.empty(shape), np.empty(shape, np.intp), first))
                    part.nearest(here, *found[-1][:2])
                else:
                    advance(search.progress, len(heaps.index) * len(part.X))
            cuts = [slice(first, first + step) for first in range(0, len(heaps.index), step)]
            run(partial(self._finish, heaps, found, search.fewer), cuts, n_threads(search.n_jobs))

    def _finish(self, heaps, found, fewer, cut):
        """For the queries `cut` (a slice), merge the neighbours from all segments into heaps, and sort each heap."""
        for distance, index, first in found:
            kernels.merge(heaps.distance[cut], heaps.index[cut], distance[cut], index[cut], first)
        kernels.sort(heaps.distance[cut], heaps.index[cut])
        require_full(heaps.index[cut], fewer)
        heaps.index[cut] = self._rows(heaps.index[cut])
        yield

    def _within(self, search, radius, out):
        """Search by radius: for each block of queries all segments are searched, and their hits concatenated."""
        parts = self._allowed_parts(search.allowed)
        size = fit_in(search.memory / 4, self.row_bytes, 1024)
        for start in range(0, len(search.queries), size):
            block, found = search.of(slice(start, start + size)), []
            for first, part, here, _ in self._ask_parts(block, parts):
                lists = Lists.empty(len(block.queries))
                part.within(here, radius_of(radius, slice(start, start + size)), lists)
                found.append(zip(lists.indices + first, lists.distances))
            for i, pieces in enumerate(zip(*found), start):
                rows, distances = map(np.concatenate, zip(*pieces))
                out.put(i, self._rows(rows), distances)

    def _ask_parts(self, block, parts):
        """For each segment of rows, yield (place of its first row, index, Search, number of rows that may be found)."""
        places = None if block.self_row is None else self._places(block.self_row)
        block = block._replace(memory=block.memory / 2, fewer=True)
        for first, index, allowed, findable in parts:
            self_row = None if places is None else places - first
            yield first, index, block._replace(self_row=self_row, allowed=allowed), findable

    def _allowed_parts(self, allowed):
        """The segments as a list of (first place, index, mask of places that may be found, number of such places).

        A mask is None if all places of the segment may be found.
        """
        if self._alive is not None:
            if allowed is None:
                allowed = self._alive
            else:
                placed = self._placed  # `_placed` is read only once, because another thread may replace it
                if placed is None or placed[0] is not allowed:
                    by_place = self._alive.copy()
                    by_place[by_place != 0] = allowed
                    self._placed = placed = allowed, by_place
                allowed = placed[1]
        parts = []
        for first, index in self._parts():
            n = len(index.X)
            here = None if allowed is None else allowed[first : first + n]
            parts.append((first, index, here, n if here is None else int(np.count_nonzero(here))))
        return parts


def fit_in(memory, bytes_each, most):
    """The number of objects of `bytes_each` that fit into `memory` megabytes, from 1 to `most`."""
    return int(max(1, min(most, memory * 1e6 / bytes_each)))
