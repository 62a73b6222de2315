"""The estimator that searches the nearest rows of queries."""

from .base import document
from .searches import NumberSearch, RadiusSearch


@document
class NearestNeighbors(NumberSearch, RadiusSearch):
    """Exact nearest neighbours of queries among the rows of X.

    Parameters
    ----------
    n_neighbors : int >= 1 or None, default=5
        k, unless an argument of the call gives another number.
    radius : float >= 0 or None, default=1.0
        For `radius_neighbors`, unless an argument of the call gives another radius.
    {shared}

    Attributes
    ----------
    {fitted}
    ids_ : ndarray of shape (n_samples_fit_,)
        The id of each row, int64 or strings. Only if the rows were fitted with ids.

    Notes
    -----
    `fit` stores a reference to X (float32 or float64, C-contiguous: no copy, except that a tree has one of at most 128
    MB by 'auto'; memory maps stay on disk) and reads it once, to refuse NaN and infinity. Rows of `partial_fit` are
    copied, into at most 1.5 times their size. Distances are sums in float64 over the coordinates in their order, for
    float32 input too, and ties go to the smaller row index: the number of threads, the batch size and the SIMD level
    change no bit of an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import NearestNeighbors
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> distances, indices = NearestNeighbors(n_neighbors=2).fit(X).kneighbors([[1.0, 0.2]])
    >>> distances.round(3), indices
    (array([[0.2, 0.8]]), array([[1, 2]]))

    Ids stay with their rows, while row numbers change:

    >>> model = NearestNeighbors(n_neighbors=2).fit(X, ids=[17, 4, 99, 5])
    >>> model.remove(ids=17).partial_fit([[0.9, 0.3]], ids=[2]).kneighbors([[1.0, 0.2]], return_ids=True)[1]
    array([[2, 4]])
    """

    def __init__(
        self,
        *,
        n_neighbors=5,
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

    _optional_k = True

    def fit(self, X, y=None, *, ids=None):
        """Store a reference to the rows: X must not be changed while it is searched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : ignored
        ids : array-like of int or str of shape (n_samples,), default=None
            An id for each row, all different, which stays with the row when rows are added or removed: `kneighbors`
            returns ids on request, and `remove` takes them. None: rows have numbers only.

        Returns
        -------
        self
        """
        if self.radius is not None:
            self._check_radius()
        return self._become(**self._fitted_rows(self._given_rows(X, ids=ids)))

    def partial_fit(self, X, y=None, *, ids=None):
        """Append rows (a copy of them) to the fitted rows; the first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `fit`.
        y : ignored
        ids : array-like of int or str of shape (n_samples,), default=None
            New ids, if the fitted rows have ids.

        Returns
        -------
        self
            The same as if all rows had been fitted at once. O(d) per row, amortised.
        """
        if not self._is_fitted():
            return self.fit(X, ids=ids)
        n, attributes = self._add_rows(X)
        vars(self).update(attributes | self._more_ids(ids, n))
        return self
