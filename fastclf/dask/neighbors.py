"""Nearest neighbours on Dask: each worker indexes its rows, and answers are merged by distance and row number.

A search asks the index of every worker for its k nearest rows, or for all of them if it has fewer. The rows of a worker
keep their order, so that each list is sorted by (distance, row number of the whole X), and the first k entries of the
merged lists are the answer of one machine, ties included. The neighbours bring their labels or targets with them, and
vote after the merge. With sample weights, the index of a worker is asked for as many rows as it takes for their weights
to add up to k; the merged list is then cut where the weights of all its rows add up to k.
"""

import inspect
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import neighbors as plain
from .._labels import encode_known
from .._validation import (
    as_array,
    as_numbers,
    as_sample_weight,
    as_targets,
    encode_labels,
    require_integer,
    require_truth,
    require_weight,
)
from ..neighbors import _votes
from ..neighbors.density import log_density
from ..neighbors.search import require_radius
from ..neighbors.searches import as_graph, require_mode
from ..neighbors.voting import Ballot, taken_weights
from ..storage.file import load as load_index
from ..storage.file import save
from .base import OnDask, on_dask
from .lazy import first_row, lazy_merge
from .partitions import (
    aligned,
    as_rows,
    beside,
    by_place,
    chain,
    columns_of,
    count,
    is_collection,
    is_rows,
    naming,
    put_all,
    threads_of,
)
from .places import places_of

# The largest number of queries that all workers answer at a time.
_BLOCK_QUERIES = 1 << 16


class Shard(NamedTuple):
    """The rows of a place: an index of them, and for each its number in X and its target."""

    index: plain.NearestNeighbors
    rows: np.ndarray  # (n,) intp, ascending: the row number in X of each row of the shard
    targets: np.ndarray | None  # (n, n_outputs): the label or number y of each row; None if there is no y
    weight: np.ndarray | None = None  # (n,) float64: the weight of each row; None: all weights are 1


class Found(NamedTuple):
    """The nearest rows of queries in a shard or, merged, in all: m for each query, in the order of (distance, row)."""

    distances: np.ndarray  # (n_queries, m) float64: the distances of a query's m neighbours
    rows: np.ndarray  # (n_queries, m) intp: the numbers of a query's m neighbours among the fitted rows
    # (n_queries, m, n_outputs): the targets of a query's m neighbours; None if the rows have no targets
    targets: np.ndarray | None
    weight: np.ndarray | None = None  # (n_queries, m) float64: the weights of a query's m neighbours; None: all are 1


class Around(NamedTuple):
    """The rows of a shard within a radius of queries, one query after another, each in the order of the rows."""

    count: np.ndarray  # (n_queries,) intp: the number of found rows of each query
    distances: np.ndarray  # (n_found,) float64: the distance between each found row and its query
    rows: np.ndarray  # (n_found,) intp: the number, among all fitted rows, of each found row
    targets: np.ndarray  # (n_found, n_outputs): the target of each found row
    weight: np.ndarray | None  # (n_found,) float64: the weight of each found row; None: all weights are 1


def build(parts, model, starts, labels):
    """The Shard of the (number, X, y, weight) of a place.

    `labels` is True if y has labels, False if y has numbers, and None if there is no y.
    """
    xs, targets, rows, weights = [], [], [], []
    for number, X, y, weight in parts:
        if X.shape[0] == 0:
            continue
        with naming(number):
            if isinstance(X, np.ndarray) and not X.flags.aligned:
                # copied, because searches take 7 % longer in unaligned rows, as messages from other workers may have
                X = X.copy()
            index = _index(model).fit(X)
            xs.append(index._fit_X)
            if labels is not None:
                y = as_targets(y, X.shape[0], type(model).__name__, labels)
                y = y if labels else as_numbers(y)
                targets.append(y.reshape(len(y), -1))
            weights.append(as_sample_weight(weight, X.shape[0], all_zero=True))
            rows.append(np.arange(starts[number], starts[number] + X.shape[0]))
    if not xs:
        return None
    if len(xs) > 1:
        index = _index(model).fit(np.concatenate(xs))
    weight = None if weights[0] is None else np.concatenate(weights)
    return Shard(index, np.concatenate(rows), np.concatenate(targets) if targets else None, weight)


def _findable(shard, mask):
    """A mask of the rows of a Shard that a search may find; None: it may find every row."""
    mask = None if mask is None else mask[shard.rows]
    if shard.weight is None or shard.weight.all():
        return mask
    heavy = shard.weight > 0
    return heavy if mask is None else heavy & mask


def weigh(shard, mask):
    """(the number of rows of a Shard that a search may find, the sum of their weights, the largest weight)."""
    if shard is None:
        return 0, 0.0, 0.0
    found = _findable(shard, mask)
    weight = np.ones(len(shard.rows)) if shard.weight is None else shard.weight
    weight = weight if found is None else weight[found]
    return len(weight), float(weight.sum()), float(weight.max(initial=0))


def _index(model):
    """An unfitted NearestNeighbors without Dask, with those parameters of a model that control the search."""
    names = ("algorithm", "leaf_size", "p", "metric", "metric_params", "working_memory")
    k = getattr(model, "n_neighbors", None)
    options = {name: getattr(model, name) for name in names}
    return plain.NearestNeighbors(n_neighbors=k or 5, n_jobs=threads_of(model.n_jobs), **options)


def distinct(shard, labels):
    """The sorted distinct labels of each output of a Shard or, if targets are numbers, the number of outputs."""
    if shard is None:
        return None
    return [encode_labels(column)[0] for column in shard.targets.T] if labels else shard.targets.shape[1]


def nearest(shard, queries, k, mask):
    """The Found of a shard, of at most k rows; None if it has none.

    Without queries, these are its own rows, each of which does not find itself.
    """
    if shard is None:
        return None
    mask = _findable(shard, mask)
    n = len(shard.rows) if mask is None else int(np.count_nonzero(mask))
    k = min(k, n - (queries is None))
    if k < 1:
        return None
    shard.index.n_jobs = threads_of(None)
    distances, rows = shard.index.kneighbors(queries, k, mask=mask)
    return Found(distances, shard.rows[rows], None if shard.targets is None else shard.targets[rows])


def nearest_by_weight(shard, queries, k, mask):
    """The Found of a shard; the weights of each query's rows add up to k or more, unless no more rows can be found."""
    if shard is None:
        return None
    # rounding depends on the order in which fractional weights are added: a sum above this limit is at least k in every
    # order
    least = k if (shard.weight == np.floor(shard.weight)).all() else k * (1 + 1e-9)
    wanted = k
    while True:
        found = nearest(shard, queries, wanted, mask)
        if found is None:
            return None
        weight = shard.weight[np.searchsorted(shard.rows, found.rows)]
        if found.rows.shape[1] < wanted or (weight.sum(axis=1) >= least).all():
            return found._replace(weight=weight)
        wanted *= 2


def voters_within(shard, queries, radius, mask):
    """The Around of a shard; None if it has no rows."""
    if shard is None:
        return None
    shard.index.n_jobs = threads_of(None)
    distances, rows = shard.index.radius_neighbors(queries, radius, mask=_findable(shard, mask))
    count = np.array([len(found) for found in rows], np.intp)
    rows = np.concatenate(list(rows))
    weight = None if shard.weight is None else shard.weight[rows]
    return Around(count, np.concatenate(list(distances)), shard.rows[rows], shard.targets[rows], weight)


def within(shard, queries, radius, mask):
    """[(distances, rows) of each query] for all rows of a shard within a radius; None if it has no rows."""
    if shard is None:
        return None
    shard.index.n_jobs = threads_of(None)
    distances, rows = shard.index.radius_neighbors(queries, radius, mask=_findable(shard, mask))
    return [(far, shard.rows[found]) for far, found in zip(distances, rows)]


def own_rows(shard):
    """The rows of a shard, as queries."""
    return None if shard is None else shard.index._fit_X


def own_numbers(shard):
    """The numbers in X of the rows of a shard."""
    return np.empty(0, np.intp) if shard is None else shard.rows


def merge(found, k):
    """The first k entries, or all if k is None, of Founds of the same queries, in the order of (distance, row)."""
    found = [part for part in found if part is not None]
    distances, rows = (np.concatenate([part[i] for part in found], axis=1) for i in (0, 1))
    order = np.lexsort((rows, distances), axis=1)[:, :k]
    targets = weight = None
    if found[0].targets is not None:
        targets = np.concatenate([part.targets for part in found], axis=1)
        targets = np.take_along_axis(targets, order[:, :, None], axis=1)
    if found[0].weight is not None:
        weight = np.take_along_axis(np.concatenate([part.weight for part in found], axis=1), order, 1)
    distances, rows = (np.take_along_axis(array, order, 1) for array in (distances, rows))
    return Found(distances, rows, targets, weight)


def neighbours(found, k):
    """[distances, rows] of the k nearest rows in Founds of the same queries."""
    return list(merge(found, k)[:2])


def _ballots(model, found, k):
    """(Ballots of the merged neighbours with vote weights, the targets to which the indices in the Ballots refer)."""
    weighted = any(part is not None and part.weight is not None for part in found)
    distances, rows, targets, weight = merge(found, None if weighted else k)
    ballot = Ballot(np.arange(len(rows)), distances, np.arange(rows.size).reshape(rows.shape))
    if weighted:
        taken, _ = taken_weights(weight.ravel(), ballot.index, k, 1)
        most = int(np.count_nonzero(taken, axis=1).max(initial=1))
        distances, index, taken = (np.ascontiguousarray(each[:, :most]) for each in (distances, ballot.index, taken))
        ballot = ballot._replace(distance=distances, index=index, taken=taken)
    return [model._weigh(piece) for piece in ballot.pieces()], targets.reshape(rows.size, -1)


def elect(found, k, model, classes, several):
    """[the labels that the k nearest rows elect]; `classes` has the labels of each output."""
    ballots, targets = _ballots(model, found, k)
    n = sum(len(ballot.rows) for ballot in ballots)
    labels = []
    for names, column in zip(classes, targets.T):
        codes, best = encode_known(names, column).astype(np.intp), np.empty(n, np.intp)
        for ballot in ballots:
            _votes.elect(ballot, codes, len(names), model.ties == "distance", best)
        labels.append(names[best])
    return [np.stack(labels, axis=1)] if several else labels


def share(found, k, model, classes):
    """[the shares of the votes for each class], for each output."""
    ballots, targets = _ballots(model, found, k)
    n = sum(len(ballot.rows) for ballot in ballots)
    shares = [np.empty((n, len(names))) for names in classes]
    for names, column, out in zip(classes, targets.T, shares):
        codes = encode_known(names, column).astype(np.intp)
        for ballot in ballots:
            _votes.share(ballot, codes, out)
    return shares


def average(found, k, model, n_outputs, several):
    """[the mean targets of the k nearest rows]"""
    ballots, targets = _ballots(model, found, k)
    predicted = np.empty((sum(len(ballot.rows) for ballot in ballots), n_outputs))
    for ballot in ballots:
        _votes.average(ballot, np.ascontiguousarray(targets), predicted)
    return [predicted if several else predicted[:, 0]]


def densities(found, k, n, volume, d):
    """[the log densities of queries among n rows of d features]; `volume` is the log volume of the unit ball."""
    return [log_density(k, n, volume, d, merge(found, k).distances[:, -1])]


class Indexed:
    """The fitted state: references to the Shards, and what the client knows of all rows."""

    _weighted = False  # whether the fitted rows have sample weights

    def __init__(self, shards, n, columns, lists):
        self.shards, self.n_samples_fit_ = shards, n
        self.lists = lists  # the sorted labels of each output; None if targets are not labels
        # {name: value} of the fitted attributes that do not depend on the shards, such as n_features_in_
        self.columns = columns
        vars(self).update(columns)


class _Neighbors(OnDask):
    """The base of estimators by nearest neighbours on Dask."""

    _labels = None  # whether y has labels (True), numbers (False), or is ignored

    def _fit(self, places, X, y, sample_weight):
        model, owner = self._plain_unfitted(), self._plain.__name__
        model._require_parameters()
        model._check_voting()
        if sample_weight is not None and self._labels is None:
            raise ValueError(f"sample_weight is given, which {owner} of fastclf.dask does not take; None is wanted")
        X = as_rows(X, "X", owner)
        if y is None and self._labels is not None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None")
        columns = columns_of(X)
        y = None if self._labels is None else beside(y, X, "y", owner)
        weight = None if sample_weight is None else beside(sample_weight, X, "sample_weight", owner)
        refs, labels, weights = put_all(places, [X, y, weight])
        where, lengths = places.places(refs), count(places, refs)
        if sum(lengths) == 0:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
        several = False
        targets = [None] * len(refs)
        if self._labels is not None:
            several = y.ndim == 2 and y.shape[1] > 1
            columns |= {"outputs_2d_": several} if self._labels else {"_several": y.ndim == 2}
            targets = aligned(places, labels, lengths, "y")
        starts = np.concatenate([[0], np.cumsum(lengths)])
        weights = [None] * len(refs) if weights is None else aligned(places, weights, lengths, "sample_weight")
        columns["_weighted"] = sample_weight is not None
        groups = by_place(list(enumerate(zip(refs, targets, weights))), lambda item: where[item[0]])
        shards = [
            places.call(build, [[i, *arrays] for i, arrays in group], model, starts, self._labels, near=place)
            for place, group in groups.items()
        ]
        return self._indexed(places, shards, int(starts[-1]), columns)

    def _indexed(self, places, shards, n, columns):
        """The fitted state, after waiting for the shards and collecting their labels or their number of outputs."""
        lists = None
        if self._labels is None:
            places.get([places.call(own_count, shard) for shard in shards])
        else:
            found = [each for each in places.get([places.call(distinct, s, self._labels) for s in shards]) if each]
            if self._labels:
                lists = [encode_labels(np.concatenate(column))[0] for column in zip(*found)]
                columns = columns | {"classes_": lists if columns["outputs_2d_"] else lists[0]}
            else:
                columns = columns | {"_n_outputs": found[0]}
        if columns.get("_weighted") and not self._weights_of(places, shards, None)[1]:
            require_weight(np.zeros(1))
        return Indexed(shards, n, columns, lists)

    def _weights_of(self, places, shards, mask):
        """(number, sum of weights, largest weight) of the rows of all Shards that a search may find."""
        counts, sums, largest = zip(*places.get([places.call(weigh, shard, mask) for shard in shards]))
        return sum(counts), sum(sums), max(largest)

    def _reach(self, k, mask, own, by_weight):
        """The checked n_neighbors: at most the number of the rows a query may find or, `by_weight`, their weight."""
        k, state = require_integer("n_neighbors", k, 1), self._known()
        if state._weighted:
            most, total, largest = self._eagerly(self._weights_of, state.shards, mask)
            if by_weight:
                total -= largest if own else 0
                if k > total * (1 + 1e-12):
                    raise ValueError(
                        f"n_neighbors is {k}, but the sample weights add up to {total:g}"
                        + (" without the heaviest row" if own else "")
                        + "; a sum of at least n_neighbors is wanted"
                    )
                return k
        else:
            most = state.n_samples_fit_ if mask is None else int(np.count_nonzero(mask))
        if k > most - own:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {most - own}"
                + (" without the row itself" if own else "")
                + (", among the rows that mask and sample_weight leave" if state._weighted else "")
                + (", among the rows that mask leaves" if mask is not None and not state._weighted else "")
            )
        return k

    def _checked_mask(self, mask):
        n = self._known().n_samples_fit_
        if mask is None:
            return None
        mask = np.asarray(mask)
        if mask.shape != (n,) or mask.dtype != bool:
            raise ValueError(
                f"mask has dtype {mask.dtype} and shape {mask.shape}; bools of shape ({n},), one for each fitted row,"
                " are wanted"
            )
        return mask

    def _answers(self, X, k, mask, finish, *arguments):
        """The arrays that `finish` makes of the neighbours of X in all shards; for a Dask collection X, Dask arrays."""
        mask, by_weight = self._checked_mask(mask), self._known()._weighted and finish is not neighbours
        k = self._reach(k, mask, X is None, by_weight)
        search = (nearest_by_weight if by_weight else nearest, k, mask)
        if is_collection(X):
            return self._lazily(X, search, None, finish, k, *arguments)
        return self._eagerly(self._answer, X, search, finish, k, *arguments)

    def _answer(self, places, X, search, finish, *arguments):
        state, (ask, *rest) = self._known(), search
        if X is None:
            return self._answer_own(places, search, finish, *arguments)
        X = np.asarray(as_array(X, "X"))
        if X.ndim != 2 or X.shape[1] != state.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but {type(self).__name__} is expecting {state.n_features_in_} features as"
                " input."
            )

        def ask_all(queries):
            return places.get([places.call(ask, shard, queries, *rest) for shard in state.shards])

        blocks = []
        for start in range(0, len(X), _BLOCK_QUERIES):
            found = places.with_copies(X[start : start + _BLOCK_QUERIES], ask_all)
            blocks.append(finish(found, *arguments))
        return [chain(part) for part in zip(*blocks)]

    def _answer_own(self, places, search, finish, *arguments):
        """The arrays of the answer if the queries are the fitted rows; no row is its own neighbour."""
        state, (ask, *rest) = self._known(), search
        found, numbers = [], places.get([places.call(own_numbers, shard) for shard in state.shards])
        for i, shard in enumerate(state.shards):
            if len(numbers[i]) == 0:
                continue
            queries = places.call(own_rows, shard)
            refs = [places.call(ask, each, None if i == j else queries, *rest) for j, each in enumerate(state.shards)]
            found.append(finish(places.get(refs), *arguments))
        order = np.argsort(np.concatenate([each for each in numbers if len(each)]))
        return [chain(part)[order] for part in zip(*found)]

    def _lazily(self, X, search, empty, finish, *arguments):
        """The answer as Dask arrays; empty: arrays of length 0 of its types; None: a search for one row shows them."""
        state = self._known()
        X = as_rows(X, "X", type(self).__name__)
        if X.shape[1] != state.n_features_in_:
            wanted = f"is expecting {state.n_features_in_} features as input."
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} {wanted}")
        if empty is None:
            row = X.first_row() if is_rows(X) else first_row(X)
            form = self._eagerly(self._answer, np.asarray(row), search, finish, *arguments)
            empty = [array[:0] for array in form]
        return lazy_merge(X, state.shards, search, (finish, *arguments), empty)

    def save(self, folder):
        """Write the estimator to a folder that all workers see: a file per shard by its worker, and a manifest.

        Parameters
        ----------
        folder : path-like
        """
        folder, state = Path(folder).absolute(), self._known()
        columns = {name: getattr(state, name) for name in state.columns if name not in ("classes_", "outlier_label_")}
        if "feature_names_in_" in columns:
            columns["feature_names_in_"] = columns["feature_names_in_"].tolist()
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        try:
            manifest = {"class": type(self).__name__, "parameters": parameters, "columns": columns}
            json.dumps(manifest)
        except TypeError:
            raise TypeError("a parameter is a function or an array, which save cannot write") from None
        folder.mkdir(parents=True, exist_ok=True)
        with places_of(self.client) as places:
            where = places.places(state.shards)
            refs = [places.call(store, s, folder, i, near=at) for i, (s, at) in enumerate(zip(state.shards, where))]
            written = places.get(refs)
        manifest |= {"n": state.n_samples_fit_, "shards": [i for i, n in enumerate(written) if n]}
        (folder / _MANIFEST).write_text(json.dumps(manifest), "utf-8")

    def to_local(self):
        """The fitted plain estimator, with all rows in the memory of this machine."""
        with places_of(self.client) as places:
            parts = [each for each in places.get([places.call(whole, shard) for shard in self._known().shards]) if each]
        rows, X, targets, weights = zip(*parts)
        order = np.argsort(np.concatenate(rows))
        X = np.concatenate(X)[order]
        if self._labels is None:
            return self._plain_unfitted().fit(X)
        y = np.concatenate(targets)[order]
        weight = None if weights[0] is None else np.concatenate(weights)[order]
        return self._plain_unfitted().fit(X, y if self._shows_columns() else y[:, 0], weight)

    def _shows_columns(self):
        """Whether the targets are a matrix, of one or several columns, and not a vector."""
        state = self._known()
        return state.outputs_2d_ if self._labels else state._several


def whole(shard):
    """(row numbers, rows, targets, weights) of a Shard."""
    return None if shard is None else (shard.rows, shard.index._fit_X, shard.targets, shard.weight)


def own_count(shard):
    """The number of rows of a Shard."""
    return 0 if shard is None else len(shard.rows)


class _ByNumber(_Neighbors):
    """The base of estimators on Dask that find the k nearest rows; it has their search methods."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, mask=None):
        """The k nearest rows of each query, with the arguments and the answer of the plain class.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself. The answer for a dask collection is lazy.
        n_neighbors : int, default=None
        return_distance : bool, default=True
        mask : array-like of bool of shape (n_samples_fit,), default=None

        Returns
        -------
        distances : of shape (n_queries, k), float64
        indices : of shape (n_queries, k), intp
        """
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return_distance = require_truth("return_distance", return_distance)
        found = self._answers(X, k, mask, neighbours)
        return tuple(found) if return_distance else found[1]

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity", *, mask=None):
        """The k nearest rows of each query as a sparse matrix, of arrays only (needs SciPy)."""
        require_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors, mask=mask)
        data = np.ones(rows.size) if mode == "connectivity" else distances.ravel()
        indptr = np.arange(len(rows) + 1) * rows.shape[1]
        return as_graph(data, rows.ravel(), indptr, self._known().n_samples_fit_)


class _ByRadius(_Neighbors):
    """The base of estimators on Dask that find all rows within a radius; it has their search method."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False, *, mask=None):
        """Every row within a radius of each query of an array, with the arguments and the answer of the plain class."""
        radius = require_radius(self.radius if radius is None else radius, -np.inf if self.metric == "dot" else 0, None)
        if is_collection(X):
            raise TypeError("X is a collection of Dask, which radius_neighbors does not take; an array is wanted")
        mask, sort_results = self._checked_mask(mask), require_truth("sort_results", sort_results)
        distances, rows = self._eagerly(self._answer, X, (within, radius, mask), joined, sort_results)
        return (distances, rows) if require_truth("return_distance", return_distance) else rows


@on_dask(plain.NearestNeighbors, answers=())
class NearestNeighbors(_ByNumber, _ByRadius):
    """Exact nearest neighbours on Dask: `fastclf.NearestNeighbors`, with its distances and row numbers."""


def joined(found, by_distance):
    """[distances, rows] of all neighbours, an array for each query, by row or by distance and row."""
    found = [part for part in found if part is not None]
    distances, rows = np.empty((2, len(found[0])), object)
    for i, parts in enumerate(zip(*found)):
        far, numbers = map(np.concatenate, zip(*parts))
        order = np.lexsort((numbers, far)) if by_distance else np.argsort(numbers)
        distances[i], rows[i] = far[order], numbers[order]
    return [distances, rows]


@on_dask(plain.KNeighborsClassifier, answers=())
class KNeighborsClassifier(_ByNumber):
    """Classification by the vote of the k nearest rows, on Dask: `fastclf.KNeighborsClassifier`, with its answers."""

    _labels = True

    def _vote(self, X, mask, finish, *arguments):
        model = self._plain_unfitted()
        return self._answers(X, self.n_neighbors, mask, finish, model, self._known().lists, *arguments)

    def predict(self, X, *, mask=None):
        """The label of each query, with the arguments and the answer of the plain class; of a collection lazy."""
        return self._vote(X, mask, elect, self._known().outputs_2d_)[0]

    def predict_proba(self, X, *, mask=None):
        """The share of the votes for each class, as by the plain class; of a collection lazy."""
        found = self._vote(X, mask, share)
        return found if self._known().outputs_2d_ else found[0]


@on_dask(plain.KNeighborsRegressor, answers=())
class KNeighborsRegressor(_ByNumber):
    """Regression by the mean of the k nearest rows' targets, on Dask: `fastclf.KNeighborsRegressor`, bit for bit."""

    _labels = False

    def predict(self, X, *, mask=None):
        """The mean target of each query's neighbours, as by the plain class; of a collection lazy."""
        state = self._known()
        form = state._n_outputs, state._several
        return self._answers(X, self.n_neighbors, mask, average, self._plain_unfitted(), *form)[0]


@on_dask(plain.KNeighborsDensity, answers=())
class KNeighborsDensity(_ByNumber):
    """The density by the distance of the k-th neighbour, on Dask: `fastclf.KNeighborsDensity`, bit for bit."""

    def score_samples(self, X, *, mask=None):
        """The log density at each query, as by the plain class; of a collection lazy."""
        state = self._known()
        n = float(state.n_samples_fit_ if mask is None else np.count_nonzero(mask)) - (X is None)
        probe = self._plain_unfitted().set_params(n_neighbors=1).fit(np.zeros((1, state.n_features_in_)))
        [found] = self._answers(X, self.n_neighbors, mask, densities, n, probe._log_unit_ball, state.n_features_in_)
        return found


def _circles(model, found):
    """(the targets of all rows in Arounds, the argument in which the methods of the plain model take their votes).

    The rows are numbered from 0, query by query and, within a query, in the order of their numbers in X. The weights of
    these rows become an attribute of the model.
    """
    found = [part for part in found if part is not None]
    n = len(found[0].count)
    query = np.concatenate([np.repeat(np.arange(n), part.count) for part in found])
    order = np.lexsort((np.concatenate([part.rows for part in found]), query))
    ends = np.cumsum(np.bincount(query, minlength=n))[:-1]
    index, distances = np.empty((2, n), object)
    index[:] = np.split(np.arange(len(order)), ends)
    distances[:] = np.split(np.concatenate([part.distances for part in found])[order], ends)
    if found[0].weight is None:
        vars(model)["_weight"] = None
    else:
        vars(model)["_weight"] = np.concatenate([part.weight for part in found])[order]
    targets = np.concatenate([part.targets for part in found])[order]
    return targets, (n, [model._weighed(0, index, distances)])


class _Elector(plain.RadiusNeighborsClassifier):
    """The classifier without Dask, with methods that take, as X, votes of neighbours that workers have found."""

    def _counted(self, X, call, mask):
        return None

    def _circles(self, X, call, mask):
        return X


class _Averager(plain.RadiusNeighborsRegressor):
    """The regressor without Dask, with a `predict` that takes, as X, votes of neighbours that workers have found."""

    def _circles(self, X, call, mask):
        return X


def elect_all(found, parameters, known, method):
    """[the answers of a method of the plain classifier]; `known` has its fitted attributes, and its labels."""
    model = _Elector(**parameters)
    lists, attributes = known
    vars(model).update(attributes)
    targets, votes = _circles(model, found)
    codes = [encode_known(names, column) if len(column) else np.empty(0) for names, column in zip(lists, targets.T)]
    vars(model)["_codes"] = np.stack(codes, axis=1).astype(np.intp)
    answer = inspect.unwrap(getattr(plain.RadiusNeighborsClassifier, method))(model, votes)
    return answer if isinstance(answer, list) else [answer]


def average_all(found, parameters, several):
    """[the mean targets of all rows within the radius]"""
    model = _Averager(**parameters)
    targets, votes = _circles(model, found)
    vars(model)["_y"] = targets
    predicted = inspect.unwrap(plain.RadiusNeighborsRegressor.predict)(model, votes)
    return [predicted if several else predicted[:, 0]]


def tallies(shard, lists):
    """The number of rows of each label, for each output."""
    if shard is None:
        return [np.zeros(len(names), np.intp) for names in lists]
    return [
        np.bincount(encode_known(names, column), minlength=len(names)) for names, column in zip(lists, shard.targets.T)
    ]


class _RadiusVoters(_ByRadius):
    """The base of estimators on Dask in which all neighbours within a radius vote."""

    def _votes(self, X, mask, empty, finish, *arguments):
        plain_model = self._plain_unfitted()
        plain_model._check_voting()
        search = voters_within, float(self.radius), self._checked_mask(mask)
        parameters = plain_model.get_params(deep=False)
        if is_collection(X):
            return self._lazily(X, search, empty, finish, parameters, *arguments)
        return self._eagerly(self._answer, X, search, finish, parameters, *arguments)


@on_dask(plain.RadiusNeighborsClassifier, answers=())
class RadiusNeighborsClassifier(_RadiusVoters):
    """Classification by the vote of all rows within a radius, on Dask: `fastclf.RadiusNeighborsClassifier`.

    `outlier_label='most_frequent'` is refused with `sample_weight`.
    """

    _labels = True

    def _indexed(self, places, shards, n, columns):
        state = super()._indexed(places, shards, n, columns)
        label = self.outlier_label
        if isinstance(label, str) and label == "most_frequent":
            if state._weighted:
                raise ValueError(
                    "outlier_label is 'most_frequent' and sample_weight is given, but sums of weights depend on the"
                    " order of all rows; a label is wanted"
                )
            counts = map(sum, zip(*places.get([places.call(tallies, shard, state.lists) for shard in shards])))
            found = [names[count.argmax()] for names, count in zip(state.lists, counts)]
        else:
            found = self._plain_unfitted()._outlier_labels(state.lists, None, None)
        return Indexed(shards, n, state.columns | {"outlier_label_": found}, state.lists)

    def _elected(self, X, mask, method, empty):
        state = self._known()
        names = ("classes_", "outputs_2d_", "outlier_label_")
        known = state.lists, {name: getattr(state, name) for name in names}
        return self._votes(X, mask, empty, elect_all, known, method)

    def predict(self, X, *, mask=None):
        """The class with the most votes for each query, as by the plain class; of a collection lazy."""
        state = self._known()
        dtype = np.result_type(*(names.dtype for names in state.lists))
        empty = np.empty((0, len(state.lists)) if state.outputs_2d_ else 0, dtype)
        return self._elected(X, mask, "predict", [empty])[0]

    def predict_proba(self, X, *, mask=None):
        """The share of the votes of each class, as by the plain class; of a collection lazy."""
        state = self._known()
        found = self._elected(X, mask, "predict_proba", [np.empty((0, len(names))) for names in state.lists])
        return found if state.outputs_2d_ else found[0]


@on_dask(plain.RadiusNeighborsRegressor, answers=())
class RadiusNeighborsRegressor(_RadiusVoters):
    """Regression by the mean target of all rows within a radius, on Dask: `fastclf.RadiusNeighborsRegressor`."""

    _labels = False

    def predict(self, X, *, mask=None):
        """The mean target of the rows within the radius of each query, as by the plain class; of a collection lazy."""
        state = self._known()
        empty = np.empty((0, state._n_outputs) if state._several else 0)
        return self._votes(X, mask, [empty], average_all, state._several)[0]


# The classes of the objects that `load` can make, by name.
_CLASSES = {
    cls.__name__: cls
    for cls in (
        KNeighborsClassifier,
        KNeighborsDensity,
        KNeighborsRegressor,
        NearestNeighbors,
        RadiusNeighborsClassifier,
        RadiusNeighborsRegressor,
    )
}

_MANIFEST = "manifest.json"


def store(shard, folder, i):
    """Write a Shard to files of a folder; returns its number of rows."""
    if shard is None:
        return 0
    targets = shard.targets
    if targets is not None and targets.dtype == object:
        targets = targets.astype(str)
    save(shard.index, folder / f"{i}.fclf")
    columns = {"targets": targets, "weight": shard.weight}
    columns = {name: column for name, column in columns.items() if column is not None}
    np.savez(folder / f"{i}.npz", rows=shard.rows, **columns)
    return len(shard.rows)


class MappedShard(Shard):
    """A Shard of files, which another process maps anew instead of getting the rows."""

    def __reduce__(self):
        return opened, self.files


def opened(folder, i):
    """The Shard of files of a folder, whose index is mapped."""
    with np.load(folder / f"{i}.npz") as found:
        columns = found["rows"], found.get("targets"), found.get("weight")
        shard = MappedShard(load_index(folder / f"{i}.fclf"), *columns)
    shard.files = folder, i
    return shard


def load(folder, client=None):
    """The estimator on Dask that its method `save` has written to a folder, which all workers read.

    Parameters
    ----------
    folder : path-like
    client : distributed.Client, default=None
        The cluster, which may have another number of workers than the one that wrote the folder.

    Returns
    -------
    estimator
        The workers map the files of their shards, so that rows are read when a search needs them.
    """
    return loaded(folder, lambda name, parameters: _CLASSES[name](**parameters, client=client))


def loaded(folder, made):
    """The estimator of a folder; made(name of its class, parameters): the unfitted one."""
    folder = Path(folder).absolute()
    manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
    if manifest.get("class") not in _CLASSES:
        raise ValueError(f"{folder} has no {_MANIFEST} of nearest neighbours; a folder of their method save is wanted")
    model = made(manifest["class"], manifest["parameters"])
    columns = manifest["columns"]
    if "feature_names_in_" in columns:
        columns["feature_names_in_"] = np.array(columns["feature_names_in_"], dtype=object)
    with places_of(model.client) as places:
        there = [place.address for place in places.places()] or [None]
        shards = [
            places.call(opened, folder, i, near=there[at % len(there)]) for at, i in enumerate(manifest["shards"])
        ]
        vars(model)["_fitted"] = model._indexed(places, shards, manifest["n"], columns)
    return model
