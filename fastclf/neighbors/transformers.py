"""Transformers that make a sparse graph of neighbours, for pipelines whose next step takes precomputed distances."""

import numpy as np

from .._output import TableOutput
from .._sklearn_bases import joins
from .._validation import require_integer
from .base import Neighbors, document
from .searches import NumberSearch, RadiusSearch, require_mode


@joins("TransformerMixin")
class GraphMaker(TableOutput, Neighbors):
    """The base of the transformers that make a sparse graph of neighbours, of which no table can be made."""

    def __sklearn_tags__(self):
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags

    def _check_voting(self):
        require_mode(self.mode)

    def fit(self, X, y=None):
        """Keep the rows, by reference: X must not be changed while it is searched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : ignored

        Returns
        -------
        self
        """
        return self._become(**self._fitted_rows(self._given_rows(X)))

    def fit_transform(self, X, y=None):
        """`fit` and `transform` of the same rows."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features=None):
        """The names of the columns of `transform`, which are the estimator's name in lower case and a row number."""
        self._require_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{row}" for row in range(self.n_samples_fit_)], dtype=object)


@document
class KNeighborsTransformer(GraphMaker, NumberSearch):
    """The k nearest fitted rows of each row as a sparse graph (needs SciPy).

    Parameters
    ----------
    mode : {'distance', 'connectivity'}, default='distance'
        What an entry of the graph is: the distance of a neighbour, or 1.
    n_neighbors : int >= 1, default=5
        k. With mode 'distance' a row has k + 1 neighbours, because a fitted row is its own nearest neighbour.
    {shared}

    Attributes
    ----------
    {fitted}

    Examples
    --------
    >>> from fastclf import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    def __init__(
        self,
        *,
        mode="distance",
        n_neighbors=5,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def transform(self, X):
        """The graph of the nearest fitted rows of each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
            The entries of each row ascend by distance; a distance of 0 is an entry, too.
        """
        k = require_integer("n_neighbors", self.n_neighbors, 1)
        return self.kneighbors_graph(X, k + (self.mode == "distance"), self.mode)


@document
class RadiusNeighborsTransformer(GraphMaker, RadiusSearch):
    """All fitted rows within a radius of each row as a sparse graph (needs SciPy).

    Parameters
    ----------
    mode : {'distance', 'connectivity'}, default='distance'
        What an entry of the graph is: the distance of a neighbour, or 1.
    radius : float >= 0, default=1.0
        Rows at exactly this distance are found.
    {shared}

    Attributes
    ----------
    {fitted}

    Examples
    --------
    >>> from fastclf import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.0).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    n_neighbors = None  # `n_neighbors` is no parameter of this estimator: all rows within a radius are found

    _optional_k = True

    def __init__(
        self,
        *,
        mode="distance",
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def _check_voting(self):
        super()._check_voting()
        self._check_radius()

    def transform(self, X):
        """The graph of the fitted rows within the radius of each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
            The entries of each row ascend by distance; a distance of 0 is an entry, too.
        """
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
