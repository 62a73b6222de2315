"""Functions that make graphs of neighbours, and one that sorts a graph's entries as scikit-learn requires."""

import numpy as np

from .._csr import is_sparse
from .._exceptions import warn
from .._threads import aside_if_many, copy_rows, map_rows, repeated
from .._validation import require_truth
from .base import Neighbors
from .nearest import NearestNeighbors


def _queries(X, include_self, mode):
    """The queries of a graph: X, or None if a row must not find itself.

    With include_self='auto', rows find themselves in a graph of mode 'connectivity'.
    """
    if isinstance(include_self, str) and include_self == "auto":
        include_self = mode == "connectivity"
    return X if require_truth("include_self", include_self) else None


def _fitted(X, metric, p, metric_params, **params):
    """A pair: a fitted NearestNeighbors and its rows. X is such an estimator, with the same metric, or rows to fit."""
    wanted = {"metric": metric, "p": p, "metric_params": metric_params}
    if not isinstance(X, Neighbors):
        return NearestNeighbors(**wanted, **params).fit(X), X
    X._require_fitted()
    for name, value in wanted.items():
        if getattr(X, name) is not value and repr(getattr(X, name)) != repr(value):
            raise ValueError(
                f"Got {value} for {name}, while the estimator has {getattr(X, name)} for the same parameter."
            )
    return X, X._fit_X


def kneighbors_graph(
    X,
    n_neighbors,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """The k nearest rows of each row of X as a sparse matrix (needs SciPy).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a fitted NearestNeighbors
    n_neighbors : int >= 1
        k, the number of neighbours of each row.
    mode : {'connectivity', 'distance'}, default='connectivity'
        The value of an entry: 1, or the distance of the neighbour.
    metric : str or callable, default='minkowski'
        As for NearestNeighbors; if X is a fitted NearestNeighbors, `metric` must be the metric of X.
    p : float > 0, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        As for NearestNeighbors.
    include_self : bool or 'auto', default=False
        Whether a row is its own nearest neighbour. 'auto': True with mode 'connectivity', otherwise False.
    n_jobs : int, default=None
        The number of threads, as for NearestNeighbors.

    Returns
    -------
    graph : scipy.sparse.csr_matrix of shape (n_samples, n_samples), float64

    Examples
    --------
    >>> from fastclf.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0.0], [1.0], [3.0]], 1, mode="distance").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    model, rows = _fitted(X, metric, p, metric_params, n_neighbors=n_neighbors, n_jobs=n_jobs)
    return model.kneighbors_graph(_queries(rows, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X,
    radius,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """All rows within a radius of each row of X as a sparse matrix (needs SciPy).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a fitted NearestNeighbors
    radius : float >= 0
        Rows at exactly this distance are found.
    mode : {'connectivity', 'distance'}, default='connectivity'
        The value of an entry: 1, or the distance of the neighbour.
    metric : str or callable, default='minkowski'
        As for NearestNeighbors; if X is a fitted NearestNeighbors, `metric` must be the metric of X.
    p : float > 0, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        As for NearestNeighbors.
    include_self : bool or 'auto', default=False
        Whether a row is its own neighbour. 'auto': True with mode 'connectivity', otherwise False.
    n_jobs : int, default=None
        The number of threads, as for NearestNeighbors.

    Returns
    -------
    graph : scipy.sparse.csr_matrix of shape (n_samples, n_samples), float64

    Examples
    --------
    >>> from fastclf.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [1.0], [3.0]], 1.0, mode="distance").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    model, rows = _fitted(X, metric, p, metric_params, radius=radius, n_jobs=n_jobs)
    return model.radius_neighbors_graph(_queries(rows, include_self, mode), radius, mode)


def sort_graph_by_row_values(graph, copy=False, warn_when_not_sorted=True):
    """Sort the entries of each row of a sparse graph, as scikit-learn requires of graphs of precomputed distances.

    fastclf's estimators take entries in any order.

    Parameters
    ----------
    graph : scipy.sparse matrix or array in format 'csr', 'csc', 'coo' or 'lil'
    copy : bool, default=False
        False sorts the entries in place, and refuses a graph that is not in format 'csr', which must be copied.
    warn_when_not_sorted : bool, default=True

    Returns
    -------
    graph : scipy.sparse matrix or array in format 'csr'
        Equal values stay in their order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from fastclf.neighbors import sort_graph_by_row_values
    >>> graph = csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> sort_graph_by_row_values(graph, warn_when_not_sorted=False).data
    array([1., 3., 2., 3., 1., 2.])
    """
    if not is_sparse(graph):
        raise TypeError(f"graph is of type {type(graph).__name__}; one of SciPy's sparse matrices is wanted")
    if graph.format == "csr" and aside_if_many(graph.nnz, _ascends, graph):
        return graph
    if warn_when_not_sorted:
        warn(
            "Precomputed sparse input was not sorted by row values. Use the function sort_graph_by_row_values to sort"
            " the input by row values, with warn_when_not_sorted=False to remove this warning.",
            "EfficiencyWarning",
        )
    if graph.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(
            f"Sparse matrix in {graph.format!r} format is not supported due to its handling of explicit zeros; 'csr',"
            " 'csc', 'coo' or 'lil' is wanted"
        )
    if graph.format != "csr":
        if not copy:
            raise ValueError(
                "The input graph is not in CSR format. Use copy=True to allow the conversion to CSR format."
            )
        graph = aside_if_many(graph.nnz, graph.asformat, "csr")
    elif copy:
        graph = aside_if_many(graph.nnz, graph.copy)
    data, indices = aside_if_many(graph.nnz, _by_value, graph)
    copy_rows(data, graph.data[: len(data)])
    copy_rows(indices, graph.indices[: len(data)])
    graph.has_sorted_indices = False
    return graph


def _by_value(graph):
    """A pair: the distances and the column indices of a sparse graph's entries, sorted by distance within each row."""
    row = repeated(np.arange(graph.shape[0]), np.diff(graph.indptr))
    order = np.lexsort((graph.data, row))
    return map_rows(graph.data.__getitem__, order), map_rows(graph.indices.__getitem__, order)


def _ascends(graph):
    """Whether the stored distances of each row of a sparse graph ascend."""
    drops = graph.data[1:] < graph.data[:-1]
    starts = graph.indptr[1:-1]
    drops[starts[(starts > 0) & (starts <= len(drops))] - 1] = False
    return not drops.any()
