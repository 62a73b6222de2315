"""Neighbours that vote: sample weights as multiplicities, and weights by distance."""

import copy
from typing import NamedTuple

import numpy as np

from .._estimator import clone
from .._folds import is_leave_one_out
from .._validation import as_targets, require_choice, require_integer
from . import _votes
from .base import Neighbors
from .living_rows import fit_in

# Votes are counted for so many neighbours at a time: at a cache miss each, 30 ms.
_PIECE = 1 << 18


class Ballot(NamedTuple):
    """Neighbours and what their votes are worth, as the kernels see it: arrays of shape (n_queries, k)."""

    distance: np.ndarray
    index: np.ndarray
    taken: np.ndarray | None  # how often each neighbour counts; None: once
    given: np.ndarray | None  # votes made by a function, else ...
    by_distance: bool  # ... 1 / distance or 1


class Supervised(Neighbors):
    """Neighbours that are counted with sample weights as multiplicities, and weighted by distance."""

    def _fit_supervised(self, X, y, sample_weight, labels=True):
        require_integer("n_neighbors", self.n_neighbors, 1)
        self._check_voting()
        rows, _, attributes = self._fit_rows(X, sample_weight)
        return as_targets(y, len(rows), type(self).__name__, labels), attributes

    def _more_targets(self, y, n, shape, labels=True):
        """The targets of n rows that are added, each of the shape of those before."""
        y = as_targets(y, n, type(self).__name__, labels)
        if y.shape[1:] != shape:
            raise ValueError(f"y has shape {y.shape}; {(n, *shape)} is wanted, as in the first fit")
        return y

    def _check_voting(self):
        if self.weights is not None and not callable(self.weights):
            require_choice("weights", self.weights, ("uniform", "distance"))
        if self.weights == "distance" and self.metric == "dot":
            raise ValueError("weights='distance' with metric='dot', whose values are no distances; 'uniform' is wanted")

    def _check_reach(self, name, k, asked):
        """k, if every query has so many neighbours, by weight."""
        if self._weight is None:
            return self._check_k(name, k, asked)
        k = require_integer(name, k, 1)
        weight = self._weight if asked.allowed is None else self._weight[asked.allowed.astype(bool)]
        total = weight.sum() - (0 if asked.own is None else weight.max(initial=0))
        if k > total * (1 + 1e-12):
            raise ValueError(
                f"{name} is {k}, but the sample weights add up to {total:g}"
                + (" without the heaviest row" if asked.own is not None else "")
                + f"; weights of at least {name} are wanted"
            )
        return k

    def _counted(self, asked, k, consume, progress, extra=0, memory=None):
        """Call consume(rows, distance, index, taken) for blocks of queries, which are `rows` of the output.

        `taken` is how often each neighbour counts: neighbours are taken in order until their weights reach k, the last
        one in part. Without sample weights it is None: each of k once. `extra` bytes are needed for each query.
        """
        limits = self._limits(asked) | ({} if memory is None else {"memory": memory})

        def in_pieces(rows, *arrays):
            size = max(1, _PIECE // k)
            for start in range(0, len(rows), size):
                part = slice(start, start + size)
                consume(rows[part], *(None if array is None else array[part] for array in arrays))

        if self._weight is None:

            def store(start, stop, distance, index):
                in_pieces(np.arange(start, stop), distance, index, None)

            self._scan.nearest(asked.queries, k, store, progress, extra=extra + 64, **limits)
            return
        pending = np.arange(len(asked.queries))
        wanted = min(k, asked.findable)
        while len(pending):
            pending = self._count_pending(asked, pending, wanted, k, in_pieces, progress, extra, limits)
            progress.extend(len(pending) * self._scan.n_places)
            wanted = min(2 * wanted, asked.findable)

    def _count_pending(self, asked, pending, wanted, k, consume, progress, extra, limits):
        """Search `wanted` neighbours of the pending queries; return those whose weights do not reach k with them."""
        short = []
        queries = asked.queries
        if len(pending) < len(queries):
            queries = queries[pending]
            limits = limits | {"own": None if asked.own is None else asked.own[pending]}

        def count(start, stop, distance, index):
            taken, done = _taken(self._weight[index], k)
            rows = pending[start:stop]
            if wanted < asked.findable and not done.all():
                short.append(rows[~done])
                rows, distance, index, taken = rows[done], distance[done], index[done], taken[done]
            consume(rows, distance, index, taken)

        self._scan.nearest(queries, wanted, count, progress, extra=extra + 96 * wanted, **limits)
        return np.sort(np.concatenate(short)) if short else pending[:0]

    def _ballot(self, distance, index, taken):
        if self.weights == "distance" and (distance[:, 0] < 0).any():
            raise ValueError(
                f"metric gives {distance[:, 0].min():g} for a query and its nearest row; with weights='distance'"
                " distances from 0 up are wanted"
            )
        given = self._given_votes(distance, taken) if callable(self.weights) else None
        return Ballot(distance, index, taken, given, self.weights == "distance")

    def _given_votes(self, distance, taken):
        """What the function `weights` makes of the distances."""
        votes = self.weights(distance)
        try:
            votes = np.ascontiguousarray(votes, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"weights(distances) is not an array of numbers ({error})") from None
        if votes.shape != distance.shape:
            raise ValueError(
                f"weights(distances) has shape {votes.shape}; that of the distances, {distance.shape}, is wanted"
            )
        if not (np.isfinite(votes) & (votes >= 0)).all():
            raise ValueError("weights(distances) has a negative, infinite or NaN entry; votes from 0 up are wanted")
        if not ((votes if taken is None else votes * taken).sum(axis=1) != 0).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if"
                " you are using a user-defined function."
            )
        return votes

    def _poll(self, asked, count, label):
        """Call count(ballot, rows) for blocks of queries."""
        self._check_voting()
        k = self._check_reach("n_neighbors", self.n_neighbors, asked)
        with self._progress(asked, label) as progress:
            self._counted(
                asked,
                k,
                lambda rows, *neighbors: count(self._ballot(*neighbors), rows),
                progress,
                self._vote_bytes(k),
            )

    def _vote_bytes(self, k):
        """Bytes that the votes of one query take."""
        return 48 * k if callable(self.weights) else 0

    def _answer_each(self, X, answer):
        """answer(ballot, k), of shape (n_queries, k), for k = n_neighbors and all queries, with queries last.

        Not for a function as `weights`, which may make other votes for other k.
        """
        asked = self._ask(X)
        k = self._check_reach("n_neighbors", self.n_neighbors, asked)
        found = []

        def consume(rows, distance, index, _):
            found.append((rows, answer(self._ballot(distance, index, None), k)))

        with self._progress(asked, "predict") as progress:
            self._counted(asked, k, consume, progress)
        answers = np.empty((k, len(asked.queries)), found[0][1].dtype)
        for rows, own in found:
            answers[:, rows] = own.T
        return answers

    # Shortcuts: one index, and one search for the largest k. A row is left out by a search that does not find it.

    _path_parameters = ("n_neighbors",)

    def _fit_path(self, name, values, X, y, shared=None):
        for k in values:
            require_integer("n_neighbors", k, 1)
        fitted = clone(self).set_params(n_neighbors=values[0]).fit(X, y)
        models = [copy.copy(fitted) for _ in values]
        for model, k in zip(models, values):
            model.n_neighbors = k
        return models

    def _predict_path(self, models, X):
        if len(models) == 1 or callable(self.weights):
            return super()._predict_path(models, X)
        ks = np.array([model.n_neighbors for model in models])
        return models[ks.argmax()]._predict_each(X)[ks - 1]

    def _answers_without(self, name, values, X, y, fold):
        ks = [self.n_neighbors] if name is None else values
        if not is_leave_one_out(fold) or callable(self.weights) or max(ks) >= len(y):
            return None
        return self._predict_path(self._fit_path("n_neighbors", ks, X, y), None)

    def _leave_one_out(self, k_max, judge, judge_one):
        """Mean error for each k, by one search of k_max neighbours.

        judge(ballot, weight, own, rows, errors) writes the errors of some rows for every k. With a function for
        `weights`, which may make other votes for other k, judge_one(ballot, own) returns the errors for one k.
        """
        self._check_voting()
        self._check_memory()
        asked = self._ask(None)
        k_max = self._check_reach("k_max", k_max, asked)
        n, weight, total = len(asked.queries), self._weight, np.zeros(k_max)
        # of the memory a quarter is for the errors of the rows between two sums
        size = fit_in(self.working_memory / 4, 8 * k_max + self._scan.row_bytes, n)

        def consume(rows, distance, index, _):
            own = part.own[rows]
            if not callable(self.weights):
                judge(self._ballot(distance, index, None), weight, own, rows, errors)
                return
            for k in range(1, k_max + 1):
                if weight is None:
                    neighbors = *map(np.ascontiguousarray, (distance[:, :k], index[:, :k])), None
                else:
                    neighbors = distance, index, _taken(weight[index], k)[0]
                errors[rows, k - 1] = judge_one(self._ballot(*neighbors), own)

        with self._progress(asked, "leave_one_out") as progress:
            for start in range(0, n, size):
                cut = slice(start, start + size)
                part = asked._replace(queries=asked.queries[cut], own=asked.own[cut])
                errors = np.zeros((len(part.own), k_max))
                self._counted(part, k_max, consume, progress, self._vote_bytes(k_max), self.working_memory * 3 / 4)
                _votes.add_rows(errors, None if weight is None else weight[cut], total)
        return total / (n if weight is None else weight.sum())


def _taken(weight, k):
    """(how often each of some neighbours counts so that it makes k in all, whether their weights reach k)."""
    before = np.zeros_like(weight)
    np.cumsum(weight[:, :-1], axis=1, out=before[:, 1:])
    # what is left to take; after weights that add up to k but for rounding, nothing
    left = np.where(before < k * (1 - 1e-12), k - before, 0)
    return np.minimum(left, weight), before[:, -1] + weight[:, -1] >= k * (1 - 1e-12)
