"""The nearest centroid on Dask: the moments of blocks of rows, joined in the order of the plain fit.

Medians are found column by column: each task gets some columns of all rows. The sums of sparse rows are handed from one
partition to the next, since the plain fit adds entry by entry.
"""

import numpy as np

from .. import neighbors as plain
from .._csr import Csr, as_rows, as_unchecked_rows
from .._labels import encode_known, require_two
from .._validation import require_finite
from ..neighbors.centroid import class_medians, some_columns
from ..sums.blocks import added
from ..sums.class_sums import class_count_spans
from ..sums.layout import by_column
from ..sums.moments import joined_moments, moment_bounds, moment_spans
from .base import OnDask, on_dask
from .blocks import Reader, Shards, joined_copies
from .linear import require_finite_rows
from .partitions import naming

# The largest size in bytes of the columns, with the rows of all partitions, whose medians one task computes.
_MEDIAN_BYTES = 1 << 26


def class_moments(model, rows, codes, weight, bounds, n_classes):
    """The weights and the moments of each block by class."""
    found = list(moment_spans(rows, codes, weight, n_classes, model.n_jobs, bounds))
    if not all(np.isfinite(squares).all() for *_, squares in found):
        require_finite(rows, "X", type(model).__name__)
    return list(zip(class_count_spans(codes, weight, n_classes, bounds), found))


def class_weights(model, rows, codes, weight, bounds, n_classes):
    """The weights of each block by class."""
    return class_count_spans(codes, weight, n_classes, bounds)


def _entries(number, arrays, reader, classes):
    """A sparse partition's (rows, each stored value's class, each stored value's weight); None if no row is used."""
    with naming(number):
        read = reader.read(*arrays)
    if read is None:
        return None
    rows, y, weight = read
    if not isinstance(rows, Csr):
        raise TypeError("X has sparse and dense partitions; partitions of one kind are wanted")
    row = rows.row_numbers()
    return rows, encode_known(classes, y)[row], np.ones(rows.size) if weight is None else weight[row]


def class_totals(state, number, arrays, reader, classes):
    """`state`, (the sums of entries, the weights of entries) by class and column, with those of a partition added."""
    found = _entries(number, arrays, reader, classes)
    if found is None:
        return state
    rows, codes, weight = found
    place, (sums, present) = codes * rows.shape[1] + rows.indices[: rows.size], (part.copy() for part in state)
    np.add.at(sums, place, weight * rows.data[: rows.size].astype(np.float64))
    np.add.at(present, place, weight)
    return sums, present


def squares_around(state, number, arrays, reader, classes, means):
    """`state`, sums of squared distances by column of entries from class means, with those of a partition added."""
    found = _entries(number, arrays, reader, classes)
    if found is None:
        return state
    rows, codes, weight = found
    columns, squares = rows.indices[: rows.size], state.copy()
    place = codes * rows.shape[1] + columns
    with np.errstate(over="ignore"):
        np.add.at(squares, columns, weight * (rows.data[: rows.size].astype(np.float64) - means.ravel()[place]) ** 2)
    return squares


def columns(number, arrays, reader, start, stop):
    """(columns start to stop of the rows of a partition, their labels and weights), copied; None if it has no row."""
    with naming(number):
        read = reader.read(*arrays)
    if read is None:
        return None
    rows, y, weight = read
    return (some_columns(rows, start, stop) if isinstance(rows, Csr) else rows[:, start:stop].copy()), y, weight


def medians(copies, classes):
    """The medians of each class, for some columns of all rows."""
    rows, y, weight = joined_copies([copy for copy in copies if copy is not None])
    return class_medians(rows, encode_known(classes, y), weight, len(classes))


@on_dask(plain.NearestCentroid)
class NearestCentroid(OnDask):
    """Classify by the nearest centroid, on Dask: `fastclf.NearestCentroid`, bit for bit.

    With metric 'manhattan', each task gets some columns of all rows, 64 MB or one column at least.
    """

    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._require_parameters()
        model._check_shrinking()
        read = as_unchecked_rows if model.metric == "euclidean" else as_rows
        reader = Reader(model, read, True, require_finite_rows)
        shards = Shards(places, X, y, sample_weight, reader)
        n_classes, d = len(shards.classes), shards.columns["n_features_in_"]
        require_two("y", shards.classes)
        bounds = moment_bounds(shards.n, shards.size, n_classes, d)
        if shards.sparse:
            size = added(shards.sums(class_weights, bounds, n_classes))
            means, squares = self._sparse_moments(shards, size, d)
        else:
            sizes, spans = zip(*shards.sums(class_moments, bounds, n_classes))
            size, (_, means, squares) = added(sizes), joined_moments(spans, n_classes, d)
            with np.errstate(over="ignore"):
                squares = squares.sum(axis=0)
        prior, centroids = model._prior(size), means
        if model.metric == "manhattan":
            centroids = self._medians(shards, d)
            squares = squares + size @ (means - centroids) ** 2
        found = model._of_moments(size, prior, means, centroids, squares)
        if shards.sparse and len(found["coef_"]) > 1:
            found["coef_"] = by_column(found["coef_"])
        return model._become(**shards.columns, classes_=shards.classes, **found)

    def _sparse_moments(self, shards, size, d):
        """For sparse rows: the mean of each class, and per column the sum of squared distances from class means."""

        def passed(task, state, *arguments):
            for number, arrays, place, _ in shards.partitions:
                known = number, arrays, shards.reader, shards.classes
                state = shards.places.call(task, state, *known, *arguments, near=place)
            return shards.places.get([state])[0]

        n_cells = len(size) * d
        sums, present = passed(class_totals, (np.zeros(n_cells), np.zeros(n_cells)))
        means, absent = sums.reshape(-1, d) / size[:, None], size[:, None] - present.reshape(-1, d)
        squares = passed(squares_around, np.zeros(d), means)
        with np.errstate(over="ignore"):
            return means, squares + (np.maximum(absent, 0) * means**2).sum(axis=0)

    def _medians(self, shards, d):
        """An array (n_classes, n_features) of the medians of each feature in each class."""
        there = [place.address for place in shards.places.places()] or [None]
        width = max(1, min(-(-d // len(there)), _MEDIAN_BYTES // (8 * shards.n)))
        call, calls = shards.places.call, []
        for at, start in enumerate(range(0, d, width)):
            cut = [
                call(columns, number, arrays, shards.reader, start, min(start + width, d), near=place)
                for number, arrays, place, _ in shards.partitions
            ]
            calls.append(call(medians, cut, shards.classes, near=there[at % len(there)]))
        return np.concatenate(shards.places.get(calls), axis=1)
