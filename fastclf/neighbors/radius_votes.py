"""Neighbours within a radius that vote: any number of them, and none for an outlier."""

from typing import NamedTuple

import numpy as np

from .._validation import require_number
from .living_rows import fit_in
from .searches import RadiusSearch
from .vote_weights import Weighted

# The most queries that are searched for at a time.
_BLOCK_QUERIES = 1 << 12


class Circle(NamedTuple):
    """The neighbours of a few queries, query by query, and what their votes are worth."""

    start: int  # the number of the first query
    query: np.ndarray  # (n_found,) intp: the query of each neighbour, counted from the first one
    row: np.ndarray  # (n_found,) intp
    votes: np.ndarray  # (n_found,) float64
    total: np.ndarray  # (n_queries,) float64: the sum of the votes of each query; 0 for an outlier

    def sums(self, values):
        """The sum of votes times values (n_found,) of each query, in order of the rows."""
        return np.bincount(self.query, self.votes * values, minlength=len(self.total))


class RadiusVoters(Weighted, RadiusSearch):
    """Neighbours within a radius that vote on labels or numbers."""

    n_neighbors = None  # no parameter of these estimators

    _optional_k = True

    def _check_voting(self):
        super()._check_voting()
        require_number("radius", self.radius, -np.inf if self.metric == "dot" else 0)

    def _circles(self, X, call, mask):
        """(number of queries, a generator of Circles): the searches that X asks for, with the votes."""
        self._check_voting_of_call()
        search = self._ask(X, call, mask)
        return len(search.queries), self._search(search)

    def _check_voting_of_call(self):
        self._require_fitted()
        self._check_voting()

    def _search(self, search):
        """Circles of blocks of queries, each as large as the memory allows by what the others have found."""
        n, radius = len(search.queries), float(self.radius)
        start, size, most = 0, fit_in(search.memory / 3, 64 * self.n_samples_fit_, 64), 16
        with search.progress:
            while start < n:
                part = search.of(slice(start, start + size))
                index, distance = np.empty((2, len(part.queries)), object)
                self._scan.within(part, radius, index, distance)
                yield self._weighed(start, index, distance)
                start += len(index)
                most = max(most, 2 * max(map(len, index)))
                size = min(4 * size, fit_in(search.memory / 3, 64 * most, _BLOCK_QUERIES))

    def _weighed(self, start, index, distance):
        """The Circle of some queries, whose neighbours are in arrays of arrays."""
        count = np.array([len(rows) for rows in index], np.intp)
        query, row = np.repeat(np.arange(len(count)), count), np.concatenate(list(index))
        votes = np.ones(len(row))
        if self.weights == "distance":
            votes = _inverse(np.concatenate(list(distance)), query, len(count))
        elif callable(self.weights):
            votes = _only_infinite(self._given_votes(distance, count), query, len(count))
        if self._weight is not None:
            votes = votes * self._weight[row]
        total = np.bincount(query, votes, minlength=len(count))
        if (total[count > 0] == 0).any():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if"
                " you are using a user-defined function."
            )
        return Circle(start, query, row, votes, total)

    def _given_votes(self, distance, count):
        """What the function `weights` makes of an array of arrays of distances, one after the other."""
        votes = self.weights(distance)
        try:
            votes = [np.asarray(each, np.float64) for each in votes]
        except (TypeError, ValueError) as error:
            raise type(error)(f"weights(distances) is not an array of arrays of numbers ({error})") from None
        if [each.shape for each in votes] != [(n,) for n in count]:
            raise ValueError(
                "weights(distances) has other shapes than its argument, an array of arrays of distances, one a query;"
                " those are wanted"
            )
        votes = np.concatenate(votes)
        if not (votes >= 0).all():
            raise ValueError("weights(distances) has a negative or NaN entry; votes from 0 up are wanted")
        return votes


def _inverse(distance, query, n):
    """1 / distance, times the nearest distance of the query, which cannot overflow; 1 and 0 where that is 0."""
    if (distance < 0).any():
        raise ValueError(
            f"metric gives {distance.min():g} for a query and a row; with weights='distance' distances from 0 up are"
            " wanted"
        )
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, query, distance)
    nearest = nearest[query]
    return np.where(distance == nearest, 1.0, nearest / np.where(distance > 0, distance, 1))


def _only_infinite(votes, query, n):
    """Votes of which infinite ones outvote all others of their query, with 1 each."""
    endless = np.isinf(votes)
    if not endless.any():
        return votes
    decided = np.zeros(n, bool)
    decided[query[endless]] = True
    return np.where(decided[query], endless.astype(np.float64), votes)
