"""Nearest neighbours on Dask: each worker indexes its rows, and answers are merged by distance and row number.

A search asks the index of every worker for its k nearest rows, or for all of them if it has fewer. The rows of a worker
keep their order, so that each list is sorted by (distance, row number of the whole X), and the first k entries of the
merged lists are the answer of one machine, ties included. The neighbours bring their labels or targets with them, and
vote after the merge.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import neighbors as plain
from .._labels import encode_known
from .._validation import as_array, as_numbers, as_targets, encode_labels, require_integer, require_truth
from ..neighbors import _votes
from ..neighbors.density import log_density
from ..neighbors.search import require_radius
from ..neighbors.searches import as_graph, require_mode
from ..neighbors.voting import Ballot
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
    naming,
    parts_of,
    threads_of,
)
from .places import places_of

# The largest number of queries that all workers answer at a time.
_BLOCK_QUERIES = 1 << 16


class Shard(NamedTuple):
    """The rows of a place: an index of them, and for each its number in X and its target."""

    index: plain.NearestNeighbors
    rows: np.ndarray  # (n,) intp, ascending: the numbers of the rows in X
    targets: np.ndarray | None  # (n, n_outputs): labels or numbers; None if there are none


class Found(NamedTuple):
    """The nearest rows of queries in a shard or, merged, in all: m for each query, in the order of (distance, row)."""

    distances: np.ndarray  # (n_queries, m), float64: the distances of each query's nearest rows, ascending
    rows: np.ndarray  # (n_queries, m), intp: the row numbers of each query's nearest rows
    # (n_queries, m, n_outputs): the targets of each query's nearest rows; None without targets
    targets: np.ndarray | None


def build(parts, model, starts, labels):
    """The Shard of the (number, X, y) of a place. `labels`: whether y has labels, numbers (False) or is None."""
    xs, targets, rows = [], [], []
    for number, X, y in parts:
        if X.shape[0] == 0:
            continue
        with naming(number):
            index = _index(model).fit(X)
            xs.append(index._fit_X)
            if labels is not None:
                y = as_targets(y, X.shape[0], type(model).__name__, labels)
                y = y if labels else as_numbers(y)
                targets.append(y.reshape(len(y), -1))
            rows.append(np.arange(starts[number], starts[number] + X.shape[0]))
    if not xs:
        return None
    if len(xs) > 1:
        index = _index(model).fit(np.concatenate(xs))
    return Shard(index, np.concatenate(rows), np.concatenate(targets) if targets else None)


def _index(model):
    """An unfitted index with the parameters of a search."""
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
    mask = None if mask is None else mask[shard.rows]
    n = len(shard.rows) if mask is None else int(np.count_nonzero(mask))
    k = min(k, n - (queries is None))
    if k < 1:
        return None
    shard.index.n_jobs = threads_of(None)
    distances, rows = shard.index.kneighbors(queries, k, mask=mask)
    return Found(distances, shard.rows[rows], None if shard.targets is None else shard.targets[rows])


def within(shard, queries, radius, mask):
    """[(distances, rows) of each query] for all rows of a shard within a radius; None if it has no rows."""
    if shard is None:
        return None
    mask = None if mask is None else mask[shard.rows]
    shard.index.n_jobs = threads_of(None)
    distances, rows = shard.index.radius_neighbors(queries, radius, mask=mask)
    return [(far, shard.rows[found]) for far, found in zip(distances, rows)]


def own_rows(shard):
    """The rows of a shard, as queries."""
    return None if shard is None else shard.index._fit_X


def own_numbers(shard):
    """The numbers in X of the rows of a shard."""
    return np.empty(0, np.intp) if shard is None else shard.rows


def merge(found, k):
    """The first k entries of Founds of the same queries, in the order of (distance, row)."""
    found = [part for part in found if part is not None]
    distances, rows = (np.concatenate([part[i] for part in found], axis=1) for i in (0, 1))
    order = np.lexsort((rows, distances), axis=1)[:, :k]
    targets = None
    if found[0].targets is not None:
        targets = np.concatenate([part.targets for part in found], axis=1)
        targets = np.take_along_axis(targets, order[:, :, None], axis=1)
    return Found(np.take_along_axis(distances, order, 1), np.take_along_axis(rows, order, 1), targets)


def neighbours(found, k):
    """[distances, rows] of the k nearest rows in Founds of the same queries."""
    return list(merge(found, k)[:2])


def _ballots(model, found, k):
    """Pieces of the weighted Ballot of merged neighbours, which it numbers from 0, and the neighbours' targets."""
    distances, rows, targets = merge(found, k)
    ballot = Ballot(np.arange(len(rows)), distances, np.arange(rows.size).reshape(rows.shape))
    return [model._weigh(piece) for piece in ballot.pieces()], targets.reshape(rows.size, -1)


def elect(found, k, model, classes):
    """[the labels that the k nearest rows elect]; `classes` has the labels of each output."""
    ballots, targets = _ballots(model, found, k)
    n = sum(len(ballot.rows) for ballot in ballots)
    labels = []
    for names, column in zip(classes, targets.T):
        codes, best = encode_known(names, column).astype(np.intp), np.empty(n, np.intp)
        for ballot in ballots:
            _votes.elect(ballot, codes, len(names), model.ties == "distance", best)
        labels.append(names[best])
    return labels


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


def average(found, k, model, n_outputs):
    """[the mean targets of the k nearest rows]"""
    ballots, targets = _ballots(model, found, k)
    predicted = np.empty((sum(len(ballot.rows) for ballot in ballots), n_outputs))
    for ballot in ballots:
        _votes.average(ballot, np.ascontiguousarray(targets), predicted)
    return [predicted]


def densities(found, k, n, volume, d):
    """[the log densities of queries among n rows of d features]; `volume` is the log volume of the unit ball."""
    return [log_density(k, n, volume, d, merge(found, k).distances[:, -1])]


class Indexed:
    """The fitted state: references to the Shards, and what the client knows of all rows."""

    def __init__(self, shards, n, columns, lists):
        self.shards, self.n_samples_fit_ = shards, n
        self.lists = lists  # the sorted labels of each output, or None
        # a dict of the fitted attributes that do not depend on the shards, such as n_features_in_
        self.columns = columns
        vars(self).update(columns)


class _Neighbors(OnDask):
    """The base of estimators by nearest neighbours on Dask."""

    _labels = None  # whether y has labels (True), numbers (False), or is ignored

    def _fit(self, places, X, y, sample_weight):
        model, owner = self._plain_unfitted(), self._plain.__name__
        model._require_parameters()
        model._check_voting()
        if sample_weight is not None:
            raise ValueError(f"sample_weight is given, which {owner} of fastclf.dask does not take; None is wanted")
        X = as_rows(X, "X", owner)
        if y is None and self._labels is not None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None")
        columns, refs = columns_of(X), places.put(parts_of(X))
        where, lengths = places.places(refs), count(places, refs)
        if sum(lengths) == 0:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
        several = False
        targets = [None] * len(refs)
        if self._labels is not None:
            y = beside(y, X, "y", owner)
            several = y.ndim == 2 and y.shape[1] > 1
            columns |= {"outputs_2d_": several} if self._labels else {"_several": y.ndim == 2}
            targets = aligned(places, places.put(parts_of(y)), lengths, "y")
        starts = np.concatenate([[0], np.cumsum(lengths)])
        groups = by_place(list(enumerate(zip(refs, targets))), lambda item: where[item[0]])
        shards = [
            places.call(build, [[i, *arrays] for i, arrays in group], model, starts, self._labels, near=place)
            for place, group in groups.items()
        ]
        return self._indexed(places, shards, int(starts[-1]), columns)

    def _indexed(self, places, shards, n, columns):
        """The fitted state, after the shards are built and their targets known."""
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
        return Indexed(shards, n, columns, lists)

    def _reach(self, name, k, mask, own):
        """k, which must not exceed the number of rows that a query may find."""
        k = require_integer(name, k, 1)
        most = (self._known().n_samples_fit_ if mask is None else int(np.count_nonzero(mask))) - own
        if k > most:
            raise ValueError(
                f"Expected {name} <= n_samples_fit, but {name} = {k}, n_samples_fit = {most}"
                + (" without the row itself" if own else "")
                + (", among the rows that mask leaves" if mask is not None else "")
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
        """The arrays that finish(Founds of the shards, k, *arguments) gives for queries X; lazy for a collection X."""
        mask = self._checked_mask(mask)
        k = self._reach("n_neighbors", k, mask, X is None)
        if is_collection(X):
            return self._lazily(X, (nearest, k, mask), finish, k, *arguments)
        return self._eagerly(self._answer, X, (nearest, k, mask), finish, k, *arguments)

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
        blocks = []
        for start in range(0, len(X), _BLOCK_QUERIES):
            queries = places.put(X[start : start + _BLOCK_QUERIES])
            refs = [places.call(ask, shard, queries, *rest) for shard in state.shards]
            blocks.append(finish(places.get(refs), *arguments))
        return [chain(part) for part in zip(*blocks)]

    def _answer_own(self, places, search, finish, *arguments):
        """The arrays of the answer for all fitted rows, each without itself."""
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

    def _lazily(self, X, search, finish, *arguments):
        state = self._known()
        X = as_rows(X, "X", type(self).__name__)
        if X.shape[1] != state.n_features_in_:
            wanted = f"is expecting {state.n_features_in_} features as input."
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} {wanted}")
        form = self._eagerly(self._answer, np.asarray(first_row(X)), search, finish, *arguments)
        return lazy_merge(X, state.shards, search, (finish, *arguments), [array[:0] for array in form])

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

    def save(self, folder):
        """Write the estimator to a folder that all workers see: a file per shard by its worker, and a manifest.

        Parameters
        ----------
        folder : path-like
        """
        folder, state = Path(folder).absolute(), self._known()
        columns = {name: getattr(state, name) for name in state.columns if name != "classes_"}
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
        rows, X, targets = zip(*parts)
        order = np.argsort(np.concatenate(rows))
        X = np.concatenate(X)[order]
        if self._labels is None:
            return self._plain_unfitted().fit(X)
        y = np.concatenate(targets)[order]
        return self._plain_unfitted().fit(X, y if self._shows_columns() else y[:, 0])

    def _shows_columns(self):
        """Whether the targets are a matrix, of one column or several."""
        state = self._known()
        return state.outputs_2d_ if self._labels else state._several


def whole(shard):
    """(row numbers, rows, targets) of a Shard."""
    return None if shard is None else (shard.rows, shard.index._fit_X, shard.targets)


def own_count(shard):
    """The number of rows of a Shard."""
    return 0 if shard is None else len(shard.rows)


@on_dask(plain.NearestNeighbors, answers=())
class NearestNeighbors(_Neighbors):
    """Exact nearest neighbours on Dask: `fastclf.NearestNeighbors`, with its distances and row numbers."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False, *, mask=None):
        """Every row within a radius of each query of an array, with the arguments and the answer of the plain class."""
        radius = require_radius(self.radius if radius is None else radius, -np.inf if self.metric == "dot" else 0, None)
        if is_collection(X):
            raise TypeError("X is a collection of Dask, whose answers by radius have no shape; an array is wanted")
        mask, sort_results = self._checked_mask(mask), require_truth("sort_results", sort_results)
        distances, rows = self._eagerly(self._answer, X, (within, radius, mask), joined, sort_results)
        return (distances, rows) if require_truth("return_distance", return_distance) else rows


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
class KNeighborsClassifier(_Neighbors):
    """Classification by the vote of the k nearest rows, on Dask: `fastclf.KNeighborsClassifier`, with its answers."""

    _labels = True

    def _vote(self, X, mask, finish):
        state = self._known()
        found = self._answers(X, self.n_neighbors, mask, finish, self._plain_unfitted(), state.lists)
        return found, state.outputs_2d_

    def predict(self, X, *, mask=None):
        """The label of each query, with the arguments and the answer of the plain class; of a collection lazy."""
        found, several = self._vote(X, mask, elect)
        if not several:
            return found[0]
        if is_collection(X):
            import dask.array as da

            return da.stack(found, axis=1)
        return np.stack(found, axis=1)

    def predict_proba(self, X, *, mask=None):
        """The share of the votes for each class, as by the plain class; of a collection lazy."""
        found, several = self._vote(X, mask, share)
        return found if several else found[0]


@on_dask(plain.KNeighborsRegressor, answers=())
class KNeighborsRegressor(_Neighbors):
    """Regression by the mean of the k nearest rows' targets, on Dask: `fastclf.KNeighborsRegressor`, bit for bit."""

    _labels = False

    def predict(self, X, *, mask=None):
        """The mean target of each query's neighbours, as by the plain class; of a collection lazy."""
        state = self._known()
        [found] = self._answers(X, self.n_neighbors, mask, average, self._plain_unfitted(), state._n_outputs)
        return found if state._several else found[:, 0]


@on_dask(plain.KNeighborsDensity, answers=())
class KNeighborsDensity(_Neighbors):
    """The density by the distance of the k-th neighbour, on Dask: `fastclf.KNeighborsDensity`, bit for bit."""

    def score_samples(self, X, *, mask=None):
        """The log density at each query, as by the plain class; of a collection lazy."""
        state = self._known()
        n = float(state.n_samples_fit_ if mask is None else np.count_nonzero(mask)) - (X is None)
        probe = self._plain_unfitted().set_params(n_neighbors=1).fit(np.zeros((1, state.n_features_in_)))
        [found] = self._answers(X, self.n_neighbors, mask, densities, n, probe._log_unit_ball, state.n_features_in_)
        return found


# The classes that `load` makes.
_CLASSES = {
    cls.__name__: cls for cls in (KNeighborsClassifier, KNeighborsDensity, KNeighborsRegressor, NearestNeighbors)
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
    np.savez(folder / f"{i}.npz", rows=shard.rows, **({} if targets is None else {"targets": targets}))
    return len(shard.rows)


def opened(folder, i):
    """The Shard of files of a folder, whose index is mapped."""
    with np.load(folder / f"{i}.npz") as found:
        return Shard(load_index(folder / f"{i}.fclf"), found["rows"], found.get("targets"))


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
    folder = Path(folder).absolute()
    manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
    if manifest.get("class") not in _CLASSES:
        raise ValueError(f"{folder} has no {_MANIFEST} of fastclf.dask; a folder of its method save is wanted")
    model = _CLASSES[manifest["class"]](**manifest["parameters"], client=client)
    columns = manifest["columns"]
    if "feature_names_in_" in columns:
        columns["feature_names_in_"] = np.array(columns["feature_names_in_"], dtype=object)
    with places_of(client) as places:
        there = [place.address for place in places.places()] or [None]
        shards = [
            places.call(opened, folder, i, near=there[at % len(there)]) for at, i in enumerate(manifest["shards"])
        ]
        vars(model)["_fitted"] = model._indexed(places, shards, manifest["n"], columns)
    return model
