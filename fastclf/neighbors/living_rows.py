"""Rows that come and go: several segments, each with an index of its own, searched as one.

Rows are numbered from 0 in the order in which they came. Each also has a place: first those of the rows that were
given, which belong to the caller and are neither copied nor changed; then those of the rows added since, in a buffer.
A row that is removed leaves a hole in the order of places, so that the order of rows, and with it every tie, stays.
"""

from functools import partial

import numpy as np

from .._state_table import Array, DeclaredState, Instance, SizeOf, declare, or_none, where
from .._threads import advance, copy_rows, n_threads, run
from . import scan
from .choose_index import Maker
from .metrics import MetricOf, names_with, numbered
from .scan import NO_ROW, Scan, sort_heaps

# As many queries are searched in all segments before the next.
_BLOCK_QUERIES = 1 << 14


class SpareRows:
    """Spare room behind an array, for rows to be put at its end in amortised O(1) each.

    Arrays that were handed out earlier keep what they hold: room that another array has taken is not written again. A
    copied or unpickled room is empty.
    """

    def __init__(self, buffer=None):
        self._buffer, self._used = buffer, 0

    def __getstate__(self):
        return {"_buffer": None, "_used": 0}

    def _check_state(self):
        if (self._buffer, self._used) != (None, 0):
            raise ValueError("spare room has something in it")

    def extend(self, array, rows):
        """(the array followed by the rows, the room behind that)."""
        n, total = len(array), len(array) + len(rows)
        kind = np.result_type(array, rows)
        room, buffer = self, self._buffer
        mine = buffer is not None and array.base is buffer and self._used == n
        if not mine or total > len(buffer) or kind != buffer.dtype:
            room = SpareRows(np.empty((total + total // 2 + 16, *array.shape[1:]), kind))
            copy_rows(array, room._buffer[:n])
        copy_rows(rows, room._buffer[n:total])
        room._used = total
        return room._buffer[:total], room


class Segments(DeclaredState):
    """Rows that can be added and removed, searched exactly; `nearest` and `within` as `Scan` has them.

    An object does not change: `add` and `remove` make a new one, which shares what it can.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous; or, for no rows to be added, PackedRows or Csr
    metric : Metric
    make, make_small : function of (X, metric)
        Make the index of a segment: of one that lasts, and of the rows that were added last, made anew for the
        first search after each addition (it must cost no more than a search).
    """

    _state_table = declare(
        _make=Instance(Maker),
        _make_small=Instance(Maker),
        n_features=SizeOf(lambda rows: rows.some_rows.shape[1]),
        n_places=SizeOf(lambda rows: rows.n_places),
        _alive=or_none(Array("uint8", "n_places", below=2)),
        **where(
            lambda rows: rows._given is None,
            metric=MetricOf([*names_with("scanned"), *names_with("missing")], measured=False),
        ),
    )

    def __init__(self, X, metric, make=Scan, make_small=Scan):
        self.metric, self._make, self._make_small = metric, make, make_small
        self._given = make(X, metric)  # None once all its rows are gone
        self._own, self._room = np.empty((0, X.shape[1]), X.dtype), SpareRows()
        self._sealed = None  # index of the first own rows
        self._unsealed = False  # whether that is to be made at the next search
        self._tail = None  # index of the others, or None: to be made
        self._alive, self._alive_room = None, SpareRows()  # (n_places,) uint8; None: no holes
        self._holes = np.empty(0, np.intp)
        self._placed = None

    def __getstate__(self):
        """What cannot be made again."""
        names = ("metric", "_make", "_make_small", "_given", "_alive")
        return {name: vars(self)[name] for name in names} | {"_own": self._own if len(self._own) else None}

    def __setstate__(self, state):
        vars(self).update(state)
        self._room, self._alive_room = SpareRows(), SpareRows()
        if self._own is None:
            self._own = np.empty((0, self.some_rows.shape[1]), self.some_rows.dtype)
        self._holes = np.empty(0, np.intp) if self._alive is None else np.flatnonzero(self._alive == 0)
        self._sealed = self._tail = self._placed = None
        self._unsealed = len(self._own) > 0

    def _check_rest(self, sizes, entries):
        dense = isinstance(self.some_rows, np.ndarray)
        own = Array("float32 or float64", None, "n_features") if dense else Array("any", 0, "n_features")
        own.check("_own", self._own, sizes, entries)
        if len(self) == 0:
            raise ValueError("there are no rows")

    def _check_state(self, entries=True):
        super()._check_state(entries)
        if entries and self._given is None:
            self.metric = numbered(self.metric)
            self._make_small(self._own, self.metric)._check_state()
        elif entries:
            self.metric = self._given.metric._replace(norm2=None, largest_norm=0.0)

    @property
    def some_rows(self):
        """Rows of the kind that all are."""
        return self._own if self._given is None else self._given.X

    @property
    def _n_given(self):
        return 0 if self._given is None else len(self._given.X)

    @property
    def n_places(self):
        """Rows that a search passes over, holes included."""
        return self._n_given + len(self._own)

    def _parts(self):
        """The segments as (their first place, index)."""
        if self._unsealed and len(self._own):
            self._sealed, self._unsealed = self._make(self._own, self.metric), False
        parts = [] if self._given is None else [(0, self._given)]
        n_given, n_sealed = self._n_given, 0 if self._sealed is None else len(self._sealed.X)
        if n_sealed:
            parts.append((n_given, self._sealed))
        if n_sealed < len(self._own):
            if self._tail is None:
                self._tail = self._make_small(self._own[n_sealed:], self.metric)
            parts.append((n_given + n_sealed, self._tail))
        return parts

    def _single(self):
        """The index that is all there is, or None."""
        if self._alive is not None:
            return None
        if not len(self._own):
            return self._given
        parts = self._parts()
        return parts[0][1] if len(parts) == 1 else None

    def whole(self):
        """One index of all rows, numbered as they are: that which there is, or one made of a copy of them."""
        single = self._single()
        return self._make(self[:], self.metric) if single is None else single

    # The rows themselves, as queries

    @property
    def X(self):
        """All rows, in the form in which they are searched, or as something to be cut into such."""
        single = self._single()
        return self if single is None else single.X

    @property
    def dtype(self):
        return np.result_type(self.some_rows.dtype, self._own.dtype)

    @property
    def shape(self):
        return len(self), self._own.shape[1]

    @property
    def row_bytes(self):
        """The most that a row takes when it is cut out."""
        some = self.some_rows
        return 8 * some.shape[1] if isinstance(some, np.ndarray) else some.row_bytes

    def __len__(self):
        return self.n_places - len(self._holes)

    def __getitem__(self, rows):
        """Rows by number (a slice or an array)."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        places = self._places(rows)
        if not isinstance(self.some_rows, np.ndarray):
            return self.some_rows[places]
        found = np.empty((len(places), self._own.shape[1]), self.dtype)
        for first, index in self._parts():
            inside = (places >= first) & (places < first + len(index.X))
            found[inside] = index.X[places[inside] - first]
        return found

    def _places(self, rows):
        """The places of rows: before hole number i lie hole[i] - i rows."""
        if self._alive is None:
            return rows
        return rows + np.searchsorted(self._holes - np.arange(len(self._holes)), rows, side="right")

    def _rows(self, places):
        """The rows at places, the holes before them left out."""
        return places if self._alive is None else places - np.searchsorted(self._holes, places)

    # Change

    def _twin(self):
        new = object.__new__(Segments)
        vars(new).update(vars(self), _placed=None)
        return new

    def add(self, rows):
        """These rows and more behind them, which are copied. O(d) a row, amortised, and now and then an index."""
        if not isinstance(self.some_rows, np.ndarray):
            raise TypeError(f"rows are added to {self.some_rows.kind}; an array is wanted")
        if not isinstance(rows, np.ndarray):
            raise TypeError(f"X is {rows.kind}, whose rows are added to an array; an array is wanted")
        if self.metric.function is not None and self.dtype != rows.dtype:  # it is called with rows of one type
            return Segments(np.concatenate([self[:], rows]), self.metric, self._make, self._make_small)
        self._make_small(rows, self.metric)  # refuses rows that the metric cannot take
        new = self._twin()
        new._own, new._room = self._room.extend(self._own, rows)
        new._tail = None
        if new._room is not self._room:
            new._sealed = self._make(new._own, self.metric)  # as seldom as the buffer moves, and of the new one
        if self._alive is not None:
            new._alive, new._alive_room = self._alive_room.extend(self._alive, np.ones(len(rows), np.uint8))
        return new

    def remove(self, rows):
        """These rows without some, not all. O(n).

        Own rows are moved together once fewer than half of them are left. Given rows are not copied; but those at the
        ends are left out of the search once what is left lies within half of it.
        """
        new = self._twin()
        alive = np.ones(self.n_places, np.uint8) if self._alive is None else self._alive.copy()
        alive[self._places(rows)] = 0
        given, own = alive[: self._n_given], alive[self._n_given :]
        left = np.flatnonzero(given)
        if len(left) == 0:
            new._given, given = None, given[:0]
        elif 2 * (left[-1] + 1 - left[0]) <= len(given) and isinstance(self._given.X, np.ndarray):
            part = slice(left[0], left[-1] + 1)
            new._given, given = self._make(self._given.X[part], self.metric), given[part]
        if 2 * np.count_nonzero(own) < len(own):
            new._own, new._room = self._own[own.astype(bool)], SpareRows()
            new._sealed = self._make(new._own, self.metric) if len(new._own) else None
            new._tail, own = None, np.ones(len(new._own), np.uint8)
        alive = np.concatenate([given, own])
        new._holes = np.flatnonzero(alive == 0)
        new._alive, new._alive_room = (alive if len(new._holes) else None), SpareRows()
        return new

    # Search

    def nearest(self, Q, k, consume, progress, **limits):
        """As `Scan.nearest`."""
        single = self._single()
        (self._nearest if single is None else single.nearest)(Q, k, consume, progress, **limits)

    def within(self, Q, radius, consume, progress, **limits):
        """As `Scan.within`."""
        single = self._single()
        (self._within if single is None else single.within)(Q, radius, consume, progress, **limits)

    def _nearest(self, Q, k, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0, extra=0):
        """In all segments. Of the memory, half is theirs, a quarter for the merged answers, a quarter for `extra`."""
        limits = {"n_jobs": n_jobs, "memory": memory / 2, "fewer": True}
        own = None if own is None else self._places(own)
        parts = self._allowed_parts(allowed)
        threads = n_threads(n_jobs)
        size = fit_in(memory / 4, 16 * k + self.row_bytes, _BLOCK_QUERIES)
        piece = fit_in(memory / 4 / threads, extra + 16 * k, max(1, min(1024, (1 << 20) // k)))

        def merge(distance, index, first, start, stop, other_distance, other_index):
            other_index = np.where(other_index == NO_ROW, NO_ROW, other_index + first)
            scan.kernels.merge(distance[start:stop], index[start:stop], other_distance, other_index)

        def deliver(begin, distance, index, start):
            part = slice(start, start + piece)
            sort_heaps(distance[part], index[part])
            index[part] = self._rows(index[part])
            consume(begin + start, begin + min(start + piece, len(index)), distance[part], index[part])
            yield

        for begin in range(0, len(Q), size):
            queries = Q[begin : begin + size]
            distance = np.full((len(queries), k), np.inf)
            index = np.full((len(queries), k), NO_ROW)
            for first, part, here, findable in parts:
                if findable:
                    limits["own"] = None if own is None else own[begin : begin + size] - first
                    store = partial(merge, distance, index, first)
                    part.nearest(queries, min(k, findable), store, progress, allowed=here, **limits)
                else:
                    advance(progress, len(queries) * len(part.X))
            run(partial(deliver, begin, distance, index), range(0, len(queries), piece), threads)

    def _within(self, Q, radius, consume, progress, *, own=None, allowed=None, n_jobs=None, memory=256.0):
        limits = {"n_jobs": n_jobs, "memory": memory / 2}
        own = None if own is None else self._places(own)
        parts = self._allowed_parts(allowed)
        size = fit_in(memory / 4, self.row_bytes, 1024)

        def store(found, first, i, index, distance):
            found[i].append((index + first, distance))

        for begin in range(0, len(Q), size):
            queries = Q[begin : begin + size]
            found = [[] for _ in range(len(queries))]
            for first, part, here, _ in parts:
                limits["own"] = None if own is None else own[begin : begin + size] - first
                part.within(queries, radius, partial(store, found, first), progress, allowed=here, **limits)
            for i, pieces in enumerate(found):
                index, distance = map(np.concatenate, zip(*pieces))
                consume(begin + i, self._rows(index), distance)

    def _allowed_parts(self, allowed):
        """The segments as (first place, index, places that may be found or None, how many these are)."""
        if self._alive is not None:
            if allowed is None:
                allowed = self._alive
            else:
                placed = self._placed  # which another thread's search may replace
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
    """How many of so many bytes each fit the megabytes, from 1 to `most`."""
    return int(max(1, min(most, memory * 1e6 / bytes_each)))
