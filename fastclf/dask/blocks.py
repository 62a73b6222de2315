"""Sums over rows of partitions, in the blocks of the plain fit, so that the sums have its bits.

The plain fit sums blocks of rows whose bounds depend on the shape of X, and adds their sums in order. Here a worker
sums the blocks that lie within one of its partitions, without a copy of their rows. A block that several partitions
share is put together from copies of its rows; if it is large, its sums go from worker to worker instead. The sums come
back one per block, and the client adds them in order.
"""

import copy
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .._estimator import clone
from .._labels import as_label_vector, encode_known
from .._threads import run
from .._validation import as_sample_weight, encode_labels, require_weight
from .partitions import (
    Partition,
    aligned,
    as_rows,
    beside,
    by_place,
    columns_of,
    count,
    give_back,
    naming,
    put_all,
    recipes,
    threads_of,
    value_of,
)


class Summary(NamedTuple):
    """What the client must know of a partition before the first round."""

    number: int
    n: int  # the number of rows of the partition that the fit uses; rows of weight 0 may be left out
    size: int  # the number of values of X in the rows that the fit uses; if X is sparse, of stored values
    # the sorted distinct labels that count as classes in the fit; None if no row of the partition has such a label
    labels: np.ndarray | None
    heavy: bool  # whether any row of the partition has a weight above 0
    counts: np.ndarray | None = None  # the number of the partition's rows with each of the labels
    sparse: bool = False
    dtype: np.dtype | None = None  # the dtype of X after checks; None if the fit uses no row of the partition
    length: int = 0  # the number of all rows of the partition


class Reader(NamedTuple):
    """How the partitions of a fit become checked arrays."""

    model: object  # an unfitted estimator of fastclf itself, without Dask
    as_rows: object  # a function (X, owner) to check a partition's rows; messages of errors name `owner`
    drops: bool = False  # whether fits leave out rows of weight 0
    require_rows: object = None  # a function (rows, name, owner) to check all rows before rows of weight 0 are left out
    # whether rows of weight 0 are kept, whatever their labels are; the labels of these rows do not count as classes
    spreads: bool = False

    def model_here(self):
        """The model with the number of threads of the present task."""
        model = clone(self.model)
        model.n_jobs = threads_of(model.n_jobs)
        return model

    def codes(self, classes, y, weight):
        """The class codes of rows; with `spreads`, rows of weight 0 have the code 0."""
        if not self.spreads or weight is None:
            return encode_known(classes, y)
        codes, heavy = np.zeros(len(y), np.intp), weight > 0
        if heavy.any():
            codes[heavy] = encode_known(classes, y[heavy])
        return codes

    def read(self, X, y, weight):
        """(rows, labels, weights or None) of a partition; None if it has no rows."""
        X = value_of(X)
        if X.shape[0] == 0:
            return None
        owner = type(self.model).__name__
        rows = self.as_rows(X, owner)
        y = as_label_vector(y, len(rows), owner)
        weight = as_sample_weight(weight, len(rows), all_zero=True)
        if self.drops and weight is not None and not weight.all():
            self.require_rows(rows, "X", owner)
            kept = np.flatnonzero(weight)
            rows, y, weight = rows[kept], y[kept], weight[kept]
            if len(rows) == 0:
                return None
        return rows, y, weight


class Source(NamedTuple):
    """Rows start to stop of a partition."""

    number: int
    arrays: list
    start: int
    stop: int


class Piece(NamedTuple):
    """Consecutive blocks of rows, in one partition or put together from several."""

    first: int  # the number of the first of these blocks of rows, among all blocks of the fit in order
    # the row numbers, counted within these rows, at which the blocks begin and end: 0, ..., the number of the rows
    bounds: list
    # a list with the Source of the rows if one partition has them all, otherwise with references to copies, in order
    sources: list
    place: str | None


def summaries(parts, reader):
    """The Summary of each (number, arrays)."""
    found = []
    for number, arrays in parts:
        with naming(number):
            X, *columns = value_of(arrays[0]), *arrays[1:]
            read, length = reader.read(X, *columns), len(arrays[1])
            if read is None:
                found.append(Summary(number, 0, 0, None, False, length=length))
                continue
            rows, y, weight = read
            heavy = weight is None or bool(weight.any())
            if reader.spreads and weight is not None:
                y = y[weight > 0]
            labels, codes = encode_labels(y) if len(y) else (None, np.empty(0, np.intp))
            counts, sparse = np.bincount(codes), isinstance(rows, Csr)
            found.append(Summary(number, len(rows), rows.size, labels, heavy, counts, sparse, rows.dtype, length))
        give_back(X)
    return found


def taken(source, reader):
    """A copy of the rows of a Source."""
    number, arrays, start, stop = source
    with naming(number):
        rows, y, weight = reader.read(*arrays)
    rows = rows[start:stop]
    if not isinstance(rows, Csr):
        rows = rows.copy()
    return rows, y[start:stop].copy(), None if weight is None else weight[start:stop].copy()


def picked(number, arrays, own, reader):
    """The rows of a partition that have the numbers `own` in it."""
    with naming(number):
        return reader.read(*arrays)[0][own]


def joined_rows(parts):
    """Rows that follow each other, as one array or Csr."""
    if not isinstance(parts[0], Csr):
        return np.concatenate(parts)
    ends = np.cumsum([0, *(part.size for part in parts)])
    indptr = [part.indptr[1:] + end for part, end in zip(parts, ends)]
    return Csr(
        np.concatenate([[0], *indptr]).astype(np.int64),
        np.concatenate([part.indices[: part.size] for part in parts]),
        np.concatenate([part.data[: part.size] for part in parts]),
        parts[0].n_columns,
    )


def joined_copies(copies):
    """(rows, labels, weights or None) from copies of rows that follow each other."""
    rows, y, weight = zip(*copies)
    # the arrays are concatenated, because arrays that Dask has moved may be misaligned in memory
    return joined_rows(rows), np.concatenate(y), None if weight[0] is None else np.concatenate(weight)


def block_sums(pieces, reader, classes, job, job_arguments):
    """[(number of the first block, sums of each block)] for Pieces, by job(model, rows, codes, weight, bounds, ...)."""
    found, model = [], reader.model_here()
    for first, bounds, sources, _ in pieces:
        if isinstance(sources[0], Source):
            number, arrays, start, stop = sources[0]
            with naming(number):
                X, *columns = value_of(arrays[0]), *arrays[1:]
                rows, y, weight = reader.read(X, *columns)
            with naming(number, start):
                rows, y, weight = rows[start:stop], y[start:stop], None if weight is None else weight[start:stop]
                sums = job(model, rows, reader.codes(classes, y, weight), weight, bounds, *job_arguments)
            give_back(X)
        else:
            rows, y, weight = joined_copies(sources)
            sums = job(model, rows, reader.codes(classes, y, weight), weight, bounds, *job_arguments)
        found.append((first, sums))
    return found


def placed(places, X, columns, owner, anew=False):
    """(for each partition references to its part of X and of each column, the place of its part of X).

    columns: {name: a collection with an entry for each row of X, or None}
    anew: whether the parts of X may be Recipes, which a task reads with `value_of`
    """
    given = {name: column if column is None else beside(column, X, name, owner) for name, column in columns.items()}
    # the partitions of all collections are put on the workers by one call, because each call takes some milliseconds
    made = recipes(X, places) if anew else None
    rows, *refs = put_all(places, [None if made else X, *given.values()])
    rows, where = made or (rows, places.places(rows))
    found, wanted = [], None
    for (name, column), own in zip(given.items(), refs):
        if column is None:
            found.append([None] * len(rows))
            continue
        if wanted is None and not _cut_alike(column, X):
            wanted = count(places, rows, where)
        found.append(own if wanted is None else aligned(places, own, wanted, name))
    return [list(each) for each in zip(rows, *found)], where


def chained_sums(todo, reader, classes, job, job_arguments):
    """[(number of the block, its state)] for (number, [state of the last place or nothing], Sources) of blocks."""
    model, found = reader.model_here(), [None] * len(todo)

    def work(i):
        number, before, sources = todo[i]
        # the state that an earlier task has returned is copied, because a task must not change its arguments
        state = copy.deepcopy(before[0][0][1]) if before else None
        for at, arrays, start, stop in sources:
            with naming(at):
                rows, y, weight = reader.read(*arrays)
            with naming(at, start):
                rows, y, weight = rows[start:stop], y[start:stop], None if weight is None else weight[start:stop]
                state = job(model, rows, reader.codes(classes, y, weight), weight, state, *job_arguments)
            yield
        found[i] = number, state

    run(work, range(len(todo)), model.n_jobs)
    return found


class Shards:
    """The rows of a fit as partitions on places.

    Parameters
    ----------
    places : DaskPlaces
    X, y, sample_weight : collections of Dask; `sample_weight` may be None
    reader : Reader
    """

    def __init__(self, places, X, y, sample_weight, reader):
        owner = type(reader.model).__name__
        X = as_rows(X, "X", owner)
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None")
        self.places, self.reader, self.columns = places, reader, columns_of(X)
        self.weighted = sample_weight is not None
        arrays, where = placed(places, X, {"y": y, "sample_weight": sample_weight}, owner, True)
        self.partitions, labels = self._described(arrays, where)
        self.n = sum(partition.n for partition in self.partitions)
        labels, counts = zip(*labels) if labels else ((), ())
        if self.n == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {self.columns['n_features_in_']})) while a minimum of 1 is"
                f" required by {owner}."
            )
        self.classes, codes = encode_labels(np.concatenate(labels))
        # (n_classes,): the number of rows of each class
        self.counts = np.bincount(codes, np.concatenate(counts), len(self.classes))

    def _described(self, arrays, where):
        """(the Partitions, a list of (labels, counts) of those with labels); workers read the partitions they hold."""
        numbered = list(enumerate(arrays))
        groups = by_place(numbered, lambda item: where[item[0]])
        calls = [
            self.places.call(summaries, [list(item) for item in group], self.reader, near=place)
            for place, group in groups.items()
        ]
        found = sorted(each for group in self.places.get(calls) for each in group)
        if self.weighted and not any(each.heavy for each in found):
            require_weight(np.zeros(1))
        self.size, self.length = sum(each.size for each in found), sum(each.length for each in found)
        self.sparse = any(each.sparse for each in found)
        self.dtype = np.result_type(*{each.dtype for each in found if each.dtype is not None} or {np.dtype(float)})
        partitions = [Partition(each.number, arrays[each.number], where[each.number], each.n) for each in found]
        return partitions, [(each.labels, each.counts) for each in found if each.labels is not None]

    def _pieces(self, bounds):
        """The blocks of rows between `bounds` as Pieces, each for the worker that has most of its rows."""
        bounds, pieces, first, shared = np.asarray(bounds), [], 0, []

        def close():
            if shared:
                start, stop = shared[0][0], shared[-1][1]
                blocks = bounds[np.searchsorted(bounds, start) : np.searchsorted(bounds, stop) + 1]
                copies = [self.places.call(taken, source, self.reader, near=place) for *_, source, place in shared]
                place = max(shared, key=lambda each: each[1] - each[0])[-1]
                pieces.append(Piece(int(np.searchsorted(bounds, start)), (blocks - start).tolist(), copies, place))
                shared.clear()

        for number, arrays, place, n in self.partitions:
            if n == 0:
                continue
            last = first + n
            # the blocks that lie within this partition have the numbers low to high - 1
            low, high = int(np.searchsorted(bounds, first)), int(np.searchsorted(bounds, last, side="right")) - 1

            def part(start, stop, number=number, arrays=arrays, first=first):
                return Source(number, arrays, int(start - first), int(stop - first))

            if low > high:
                shared.append((first, last, part(first, last), place))
            else:
                if bounds[low] > first:
                    shared.append((first, bounds[low], part(first, bounds[low]), place))
                close()
                if high > low:
                    inside = (bounds[low : high + 1] - bounds[low]).tolist()
                    pieces.append(Piece(low, inside, [part(bounds[low], bounds[high])], place))
                if bounds[high] < last:
                    shared.append((bounds[high], last, part(bounds[high], last), place))
            first = last
        close()
        return pieces

    def copies(self, start, stop):
        """References to copies of the rows start to stop, one for each partition that has some of them."""
        return [
            self.places.call(taken, source, self.reader, near=place) for place, source in self._sources(start, stop)
        ]

    def here(self, refs):
        """(rows, codes, weights or None) from references to copies of rows that follow each other."""
        rows, y, weight = joined_copies(self.places.get(refs))
        return rows, self.reader.codes(self.classes, y, weight), weight

    def rows_at(self, numbers):
        """The rows with these numbers, which ascend, as one array."""
        refs, first = [], 0
        for number, arrays, place, n in self.partitions:
            own = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + n)] - first
            if len(own):
                refs.append(self.places.call(picked, number, arrays, own, self.reader, near=place))
            first += n
        return np.concatenate(self.places.get(refs))

    def chained(self, job, bounds, *arguments):
        """The states of each block, in order, after state = job(model, rows, codes, weight, state, *arguments).

        The first state of a block is None. If a block lies on several places, its state goes from place to place, so
        that no rows are copied.
        """
        calls, groups, more = [], {}, (self.reader, self.classes, job, arguments)
        for number, (start, stop) in enumerate(pairwise(bounds)):
            before, runs = [], by_run(self._sources(start, stop))
            if len(runs) == 1:
                [(place, sources)] = runs
                groups.setdefault(place, []).append((number, [], sources))
                continue
            for place, sources in runs:
                before = [self.places.call(chained_sums, [(number, before, sources)], *more, near=place)]
            calls += before
        calls += [self.places.call(chained_sums, todo, *more, near=place) for place, todo in groups.items()]
        found = sorted((part for group in self.places.get(calls) for part in group), key=lambda part: part[0])
        return [state for _, state in found]

    def _sources(self, start, stop):
        """The pair (place, Source) of each partition that holds some of the rows from start to stop."""
        first = 0
        for number, arrays, place, n in self.partitions:
            low, high = max(start, first), min(stop, first + n)
            if low < high:
                yield place, Source(number, arrays, low - first, high - first)
            first += n

    def sums(self, job, bounds, *arguments):
        """The sums of each block, in order, by job(model, rows, codes, weight, bounds, *arguments) on the workers."""
        pieces = self._pieces(bounds)
        groups = by_place(pieces, lambda piece: piece.place)
        calls = [
            self.places.call(block_sums, group, self.reader, self.classes, job, arguments, near=place)
            for place, group in groups.items()
        ]
        found = sorted((part for group in self.places.get(calls) for part in group), key=lambda part: part[0])
        return [sums for _, part in found for sums in part]


def by_run(placed):
    """[(place, items)] of runs of (place, item) with the same place."""
    return [(place, [item for _, item in run]) for place, run in groupby(placed, key=lambda pair: pair[0])]


def _cut_alike(column, X):
    """Whether two collections certainly have partitions of the same lengths."""
    chunks = [getattr(part, "chunks", None) for part in (column, X)]
    return None not in chunks and chunks[0][0] == chunks[1][0] and not np.isnan(chunks[0][0]).any()
