"""Voting by the k nearest neighbours: sample weights are multiplicities, and votes are weighted by distance."""

import copy
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from .._estimator import clone
from .._folds import is_leave_one_out
from .._threads import n_threads, run
from .._validation import require_integer
from . import _votes
from .living_rows import Segments, fit_in
from .own_neighbors import as_neighbors, as_pair
from .searches import NumberSearch
from .target_rows import Weighted

# The number of neighbours whose votes one kernel call counts, in 7 ms if each neighbour's label is a cache miss.
_PIECE = 1 << 16

# The share of `working_memory` for a search. A third of this share is for the neighbours of one block of queries.
SEARCH_SHARE = 3 / 4


class Ballot(NamedTuple):
    """The neighbours of some queries, and the weights of their votes, in the form that kernels take."""

    rows: np.ndarray  # (n_queries,) intp: the row of the answer at which the result of each query is stored
    distance: np.ndarray  # (n_queries, n_neighbors) float64: the distance of each neighbour, ascending for each query
    index: np.ndarray  # (n_queries, n_neighbors) intp: the row number of each neighbour
    # (n_queries, n_neighbors) float64: the multiplicity of each neighbour, from its sample weight; None: all are 1
    taken: np.ndarray | None = None
    # (n_queries, n_neighbors) float64: the votes that the user's function `weights` has returned; None if `weights` is
    # no function
    given: np.ndarray | None = None
    # whether a neighbour's vote is 1 / distance instead of 1; not read if the votes are in `given`
    by_distance: bool = False

    def pieces(self):
        """This Ballot, cut into Ballots of fewer queries, so that each kernel call is short."""
        size, n = max(1, _PIECE // self.index.shape[1]), len(self.rows)
        return [self] if 0 < n <= size else [self.of(slice(start, start + size)) for start in range(0, n, size)]

    def of(self, chosen):
        """The Ballot of some of the queries (a slice or a mask), before votes are weighted."""
        return Ballot(*(None if array is None else array[chosen] for array in self[:4]))

    def first(self, k, weight):
        """A Ballot of the same queries, whose neighbours are only the first, until their multiplicities add up to k.

        The last neighbour counts in part.
        """
        if weight is not None:
            return self._replace(taken=taken_weights(weight, self.index, k, 1)[0])
        distance, index = (np.ascontiguousarray(array[:, :k]) for array in (self.distance, self.index))
        return self._replace(distance=distance, index=index)


class WeightedNeighbors(NumberSearch):
    """The base of estimators that take the k nearest neighbours with sample weights as multiplicities."""

    def _check_reach(self, name, k, search):
        """Return k after a check that it does not exceed the total weight of the rows that a query may find."""
        weight = self._weight
        if weight is None:
            return self._check_k(name, k, search)
        k = require_integer(name, k, 1)
        weight = weight if search.allowed is None else weight[search.allowed.astype(bool)]
        total = weight.sum() - (0 if search.self_row is None else weight.max(initial=0))
        if k > total * (1 + 1e-12):
            raise ValueError(
                f"{name} is {k}, but the sample weights add up to {total:g}"
                + (" without the heaviest row" if search.self_row is not None else "")
                + f"; a sum of at least {name} is wanted"
            )
        return k

    def _ballots(self, search, k, extra=0):
        """Yield a list of Ballots for one block of queries after another; each query is in one Ballot.

        Neighbours are taken in order until their weights add up to k, the last one in part. The caller needs `extra`
        bytes for each query. The next block overwrites the arrays of a block.
        """
        weight, n_queries = self._weight, len(search.queries)
        if weight is None:
            for start, distance, index in self._found(search, k, extra):
                yield Ballot(np.arange(start, start + len(index)), distance, index).pieces()
            return
        most, pending = self._n_findable(search), np.arange(n_queries)
        wanted = min(k, most)
        while len(pending):
            short = [pending[:0]]
            part = search if len(pending) == n_queries else search.of(pending)
            for start, distance, index in self._found(part, wanted, extra + 36 * wanted):
                taken, reached = taken_weights(weight, index, k, n_threads(self.n_jobs))
                ballot = Ballot(pending[start : start + len(index)], distance, index, taken)
                if wanted < most and not reached.all():
                    short.append(ballot.rows[~reached])
                    ballot = ballot.of(reached)
                yield ballot.pieces()
            pending = np.concatenate(short)
            search.progress.extend(len(pending) * self._scan.n_places)
            wanted = min(2 * wanted, most)

    def _found(self, search, k, extra):
        """Search k neighbours; yield (number of the first query, distances, row numbers) for each block of queries.

        The arrays of a block take a third of the memory of the search.
        """
        n_queries = len(search.queries)
        cut_out = self._scan.row_bytes if isinstance(search.queries, Segments) else 0
        size = fit_in(search.memory / 3, 16 * k + 8 + extra + cut_out, n_queries)
        distance, index = np.empty((size, k)), np.empty((size, k), np.intp)
        for start in range(0, n_queries, size):
            n = min(size, n_queries - start)
            part = search if n == n_queries else search.of(slice(start, start + n))
            self._scan.nearest(part, distance[:n], index[:n])
            yield start, distance[:n], index[:n]


class OwnNeighbors:
    """The neighbours that the method `kneighbors` of a user's subclass has found, in place of a Search."""

    def __init__(self, found, n_rows):
        self.distance, self.queries = as_neighbors("kneighbors", *as_pair("kneighbors", found), n_rows, 2)
        if self.queries.shape[1] == 0:
            raise ValueError("kneighbors returns no neighbours; at least one for each query is wanted")
        self.progress = nullcontext()

    def ballot(self, weight, k):
        """The Ballot of all queries, with each query's neighbours by ascending distance."""
        order = np.argsort(self.distance, axis=1, kind="stable")
        distance, index = (np.take_along_axis(part, order, axis=1) for part in (self.distance, self.queries))
        taken = None if weight is None else taken_weights(weight, index, k, 1)[0]
        return Ballot(np.arange(len(index)), distance, index, taken)


class Voters(Weighted, WeightedNeighbors):
    """The base of estimators in which the k nearest neighbours vote on labels or numbers."""

    def _ask_voters(self, X, call, mask=None):
        """Check X, the mask and n_neighbors; return (Search, n_neighbors) for the public method named `call`.

        If a user's subclass defines `kneighbors`, its neighbours vote, as in scikit-learn, and take the Search's place.
        """
        if "kneighbors" in self._own_methods:
            self._require_fitted()
            self._check_voting()
            found = self.kneighbors(X) if mask is None else self.kneighbors(X, mask=mask)
            return OwnNeighbors(found, self.n_samples_fit_), self.n_neighbors
        search = self._ask(X, call, mask, share=SEARCH_SHARE)
        self._check_voting()
        return search, self._check_reach("n_neighbors", self.n_neighbors, search)

    def _polls(self, search, k):
        """Yield a list of Ballots per block of queries; blocks are smaller if a function `weights` makes the votes."""
        if isinstance(search, OwnNeighbors):
            return [search.ballot(self._weight, k).pieces()]
        return self._ballots(search, k, 48 * k if callable(self.weights) else 0)

    def _count(self, count, ballots):
        """Run the generator count(ballot), which counts votes, for each Ballot of a list; threads share the Ballots."""
        run(count, ballots, 1 if len(ballots) == 1 else n_threads(self.n_jobs))

    def _weigh(self, ballot):
        """The Ballot with its votes weighted as `weights` says: equally, by distance, or by a user's function."""
        if self.weights == "distance":
            nearest = ballot.distance[:, 0]
            if (nearest < 0).any():
                raise ValueError(
                    f"metric gives {nearest.min():g} for a query and its nearest row; distances from 0 up are wanted"
                    " with weights='distance'"
                )
            return ballot._replace(by_distance=True)
        if callable(self.weights):
            return ballot._replace(given=self._given_votes(ballot.distance, ballot.taken))
        return ballot

    def _given_votes(self, distance, taken):
        """The checked votes that the function `weights` returns for an array of distances."""
        votes = self.weights(distance)
        try:
            votes = np.ascontiguousarray(votes, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"weights(distances) is not an array of numbers ({error}); numbers are wanted") from None
        if votes.shape != distance.shape:
            raise ValueError(
                f"weights(distances) has shape {votes.shape}; the shape of the distances, {distance.shape}, is wanted"
            )
        if not (np.isfinite(votes) & (votes >= 0)).all():
            raise ValueError("weights(distances) has a negative, infinite or NaN entry; votes from 0 up are wanted")
        if not ((votes if taken is None else votes * taken).sum(axis=1) != 0).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if"
                " you are using a user-defined function."
            )
        return votes

    # The next methods serve tuning and leave-one-out: one index, and one search with the largest k, serve all numbers
    # of neighbours. In leave-one-out, each row is excluded from its search.

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

    def _predict_each(self, X):
        """The predictions with 1, 2, ..., n_neighbors neighbours, of shape (n_neighbors, n_queries), for one output.

        `weights` must not be a function, because its votes may depend on the number of neighbours.
        """

    def _answers_without(self, name, values, X, y, fold):
        ks = [self.n_neighbors] if name is None else values
        if not is_leave_one_out(fold) or callable(self.weights) or max(ks) >= len(y):
            return None
        return self._predict_path(self._fit_path("n_neighbors", ks, X, y), None)

    def _leave_one_out(self, k_max):
        """The mean leave-one-out errors of the fitted rows with 1, 2, ..., k_max neighbours, by one search."""
        search = self._ask(None, "leave_one_out", share=SEARCH_SHARE * 3 / 4)
        self._check_voting()
        k_max = self._check_reach("k_max", k_max, search)
        n, weight, total = len(search.queries), self._weight, np.zeros(k_max)
        # a quarter of the memory is reserved for the errors of one block of queries
        size = fit_in(self.working_memory / 4, 8 * k_max + self._scan.row_bytes, n)
        with search.progress:
            for start in range(0, n, size):
                cut = slice(start, start + size)
                errors = self._errors(search if size == n else search.of(cut), k_max)
                _votes.add_rows(errors, None if weight is None else weight[cut], total)
        return total / (n if weight is None else weight.sum())

    def _errors(self, search, k_max):
        """The prediction errors for fitted rows as queries, (n_queries, k_max): column k - 1 is for k neighbours."""
        errors = np.empty((len(search.queries), k_max))

        def judge(ballot):
            rows = ballot.rows
            ballot, row = ballot._replace(rows=np.arange(len(rows))), search.self_row[rows]
            # a function `weights` is called once for each number k of neighbours, because its votes may depend on k
            if callable(self.weights):
                for k in range(1, k_max + 1):
                    errors[rows, k - 1] = self._error_each(self._weigh(ballot.first(k, self._weight)), row, k)[:, -1]
                    yield
            else:
                errors[rows] = self._error_each(self._weigh(ballot), row, k_max)
                yield

        for ballots in self._ballots(search, k_max, 48 * k_max):
            self._count(judge, ballots)
        return errors

    def _error_each(self, ballot, row, k_max):
        """The prediction errors, (n_queries, k_max), of fitted rows `row` as queries; column k - 1: k neighbours."""


def taken_weights(weight, index, k, threads):
    """Cut the weights of each query's neighbours, in order of distance, to multiplicities whose sum is k.

    Returns (multiplicities, whether the weights of each query's neighbours add up to k or more).
    """
    taken, reached = np.empty(index.shape), np.empty(len(index), np.uint8)
    size = max(1, _PIECE // index.shape[1])

    def take(start):
        cut = slice(start, start + size)
        _votes.take(weight, index[cut], k, taken[cut], reached[cut])
        yield

    run(take, range(0, len(index), size), threads)
    return taken, reached.view(bool)
