"""Votes of all neighbours within a radius; an outlier is a query without neighbours."""

from typing import NamedTuple

import numpy as np

from .._described import described
from .._threads import repeated
from .hits import Lists
from .living_rows import fit_in
from .own_neighbors import as_neighbors, as_pair
from .searches import RadiusSearch
from .target_rows import Weighted

# The largest number of queries that are searched at once.
_BLOCK_QUERIES = 1 << 12


class Circle(NamedTuple):
    """The neighbours of a few consecutive queries, ordered by query, and the weights of their votes."""

    start: int  # the number of the first query of this block of consecutive queries
    query: np.ndarray  # (n_found,) intp: for each neighbour the number of its query, from 0 in this block
    row: np.ndarray  # (n_found,) intp: the row number of each neighbour
    votes: np.ndarray  # (n_found,) float64: the weight of each neighbour's vote
    total: np.ndarray  # (n_queries,) float64: the sum of the votes of each query; 0 for an outlier

    def sums(self, values):
        """For each query the sum of its votes times `values` of shape (n_found,), over its neighbours in row order."""
        return np.bincount(self.query, self.votes * values, minlength=len(self.total))


class RadiusVoters(Weighted, RadiusSearch):
    """The base of estimators in which all neighbours within a radius vote on labels or numbers."""

    # estimators by radius have no parameter `n_neighbors`, because all neighbours within the radius vote
    n_neighbors = None

    _optional_k = True

    def _check_voting(self):
        super()._check_voting()
        self._check_radius()

    def _circles(self, X, call, mask):
        """Check X and the mask; return (number of queries, generator of a Circle, neighbours with votes, per block)."""
        self._require_fitted()
        self._check_voting()
        if "radius_neighbors" in self._own_methods:  # a user's subclass finds the neighbours, as in scikit-learn
            given = {} if mask is None else {"mask": mask}
            index, distance = _as_found(self.radius_neighbors(X, **given), self.n_samples_fit_)
            return len(index), iter([self._weighed(0, index, distance)])
        search = self._ask(X, call, mask)
        return len(search.queries), self._search(search)

    def _search(self, search):
        """Yield a Circle per block of queries; to limit memory, blocks are small if queries have many neighbours."""
        n, radius = len(search.queries), float(self.radius)
        start, size, most = 0, fit_in(search.memory / 3, 64 * self.n_samples_fit_, _BLOCK_QUERIES), 16
        with search.progress:
            while start < n:
                part = search.of(slice(start, start + size))
                found = Lists.empty(len(part.queries), self.weights != "uniform")
                self._scan.within(part, radius, found)
                yield self._weighed(start, found.indices, found.distances)
                start += len(part.queries)
                most = max(most, 2 * max(map(len, found.indices)))
                size = min(4 * size, fit_in(search.memory / 3, 64 * most, _BLOCK_QUERIES))

    def _weighed(self, start, index, distance):
        """The Circle, neighbours and votes, for a block of queries; `index` and `distance` have an array per query.

        `distance` may be None if votes do not depend on it.
        """
        count = np.array([len(rows) for rows in index], np.intp)
        query, row = repeated(np.arange(len(count)), count), np.concatenate(list(index))
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
        """Call the function `weights` on arrays of distances, one for each query; return the votes concatenated."""
        votes = self.weights(distance)
        try:
            votes = [np.asarray(each, np.float64) for each in votes]
        except (TypeError, ValueError) as error:
            raise type(error)(f"weights(distances) is not an array of arrays of numbers ({error})") from None
        if [each.shape for each in votes] != [(n,) for n in count]:
            raise ValueError(
                "weights(distances) has not the shapes of its argument, an array with an array of distances for each"
                " query; the same shapes are wanted"
            )
        votes = np.concatenate(votes)
        if not (votes >= 0).all():
            raise ValueError("weights(distances) has a negative or NaN entry; votes from 0 up are wanted")
        return votes


def _as_found(found, n_rows):
    """(row numbers, distances) of each query, as arrays of arrays, from what a user's `radius_neighbors` returned."""
    name = "radius_neighbors"
    distances, rows = map(_as_list, as_pair(name, found))
    if len(distances) != len(rows):
        raise ValueError(f"{name} returns distances of {len(distances)} queries and indices of {len(rows)}")
    index, distance = np.empty((2, len(rows)), object)
    for i, each in enumerate(zip(distances, rows)):
        distance[i], index[i] = as_neighbors(name, *each, n_rows, 1)
    return index, distance


def _as_list(part):
    try:
        return list(part)
    except TypeError:
        raise TypeError(f"radius_neighbors returns {described(part)}; an array for each query is wanted") from None


def _inverse(distance, query, n):
    """Votes by 1 / distance, multiplied by the query's smallest distance, so that they are from 0 to 1.

    If this smallest distance is 0, votes are 1 at distance 0 and 0 elsewhere.
    """
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
    """The votes; but if some votes of a query are infinite, they become 1, and the query's other votes become 0."""
    endless = np.isinf(votes)
    if not endless.any():
        return votes
    decided = np.zeros(n, bool)
    decided[query[endless]] = True
    return np.where(decided[query], endless.astype(np.float64), votes)
