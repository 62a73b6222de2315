"""The public search methods: the k nearest rows, all rows within a radius, and both answers as sparse graphs."""

import numpy as np

from .._sklearn_bases import joins
from .._threads import aside_if_many
from .._validation import described, require_truth
from .base import Neighbors
from .hits import Lists
from .search import require_radius

_MODES = ("connectivity", "distance")


def require_mode(mode):
    if not isinstance(mode, str) or mode not in _MODES:
        given = mode if isinstance(mode, str) else described(mode)
        raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{given}" instead')


def as_graph(data, indices, indptr, n_rows):
    """SciPy's sparse matrix with one row for each query and an entry for each neighbour."""
    from scipy.sparse import csr_matrix

    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_rows))


@joins("KNeighborsMixin", "sklearn.neighbors._base")
class NumberSearch(Neighbors):
    """The methods that search the k nearest rows, for the estimators that have them."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, mask=None, return_ids=False):
        """The k nearest rows of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself (but with its duplicates).
        n_neighbors : int, default=None
            k, from 1 to the number of fitted rows; None: the parameter of the estimator.
        return_distance : bool, default=True
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may be found; None: all.
        return_ids : bool, default=False
            Return the ids of the rows in place of their numbers, if they were fitted with ids.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), float64
            Ascending; only with `return_distance`. Each distance has the bits of a float64 sum over the coordinates in
            their order.
        indices : ndarray of shape (n_queries, k), intp
            Numbers of the rows. Of rows at equal distance, the row with the smaller number comes first. Rows with
            `sample_weight` 0 are not found.

        Notes
        -----
        O(n d) a query, split over threads. Memory beyond input and output is bounded by `working_memory`.
        """
        ids = self._require_ids() if require_truth("return_ids", return_ids) else None
        return_distance = require_truth("return_distance", return_distance)
        search = self._ask(X, "kneighbors", mask)
        k = self._check_k("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors, search)
        shape = len(search.queries), k
        distances, indices = np.empty(shape) if return_distance else None, np.empty(shape, dtype=np.intp)
        with search.progress:
            self._scan.nearest(search, distances, indices)
        if ids is not None:
            indices = ids.values[indices]
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity", *, mask=None):
        """The k nearest rows of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, n_neighbors, mask
            As for `kneighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'
            The value of an entry: 1, or the distance of the neighbour.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors, mask=mask)
        data = np.ones(indices.size) if mode == "connectivity" else distances.ravel()
        return as_graph(data, indices.ravel(), np.arange(len(indices) + 1) * indices.shape[1], self.n_samples_fit_)


@joins("RadiusNeighborsMixin", "sklearn.neighbors._base")
class RadiusSearch(Neighbors):
    """The methods that search all rows within a radius, for the estimators that have them."""

    def _check_radius(self, radius=None, n_queries=None):
        """The checked radius: the argument or, if it is None, the estimator's parameter; a number, or one per query."""
        least = -np.inf if self.metric == "dot" else 0
        return require_radius(self.radius if radius is None else radius, least, n_queries)

    def radius_neighbors(
        self, X=None, radius=None, return_distance=True, sort_results=False, *, mask=None, return_ids=False
    ):
        """Every row within a radius of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself.
        radius : float >= 0 or array-like of shape (n_queries,), default=None
            Rows at exactly this distance are found, too; None: the parameter of the estimator.
        return_distance : bool, default=True
        sort_results : bool, default=False
            By ascending distance, then index; otherwise by index.
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may be found; None: all.
        return_ids : bool, default=False
            Return the ids of the rows in place of their numbers, if they were fitted with ids.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of float64 arrays
            Only with `return_distance`.
        indices : ndarray of shape (n_queries,) of intp arrays
        """
        ids = self._require_ids() if require_truth("return_ids", return_ids) else None
        search = self._ask(X, "radius_neighbors", mask)
        radius = self._check_radius(radius, len(search.queries))
        sort_results = require_truth("sort_results", sort_results)
        return_distance = require_truth("return_distance", return_distance)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        found = Lists.empty(len(search.queries), return_distance)
        with search.progress:
            self._scan.within(search, radius, found)
        indices, distances = found.indices, found.distances
        if sort_results:
            for i, found in enumerate(zip(indices, distances)):
                order = np.lexsort(found)
                indices[i], distances[i] = found[0][order], found[1][order]
        if ids is not None:
            for i, found in enumerate(indices):
                indices[i] = ids.values[found]
        return (distances, indices) if return_distance else indices

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False, *, mask=None):
        """Every row within a radius of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, radius, sort_results, mask
            As for `radius_neighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_mode(mode)
        distances, indices = self.radius_neighbors(X, radius, True, sort_results, mask=mask)
        indptr = np.concatenate([[0], np.cumsum([len(found) for found in indices])])
        return aside_if_many(int(indptr[-1]), self._graph, indices, distances, indptr, mode)

    def _graph(self, indices, distances, indptr, mode):
        """The graph of the neighbours that `radius_neighbors` has found."""
        found = np.concatenate(list(indices))
        data = np.ones(len(found)) if mode == "connectivity" else np.concatenate(list(distances))
        return as_graph(data, found, indptr, self.n_samples_fit_)
