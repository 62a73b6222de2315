"""The regressor by all neighbours within a radius."""

import numpy as np

from .._estimator import Regressor
from .._exceptions import warn
from .base import document
from .radius_votes import RadiusVoters
from .target_rows import TargetRows


@document
class RadiusNeighborsRegressor(TargetRows, RadiusVoters, Regressor):
    """Regression by the (weighted) mean of the targets of all rows within a radius.

    Parameters
    ----------
    radius : float >= 0, default=1.0
        Rows at exactly this distance count too.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        A target counts 1, or 1 / distance (if some neighbours are at distance 0, only these count), or the function's
        value: it takes an array of arrays of distances, one for each query, and returns arrays of the same shapes. If
        some values of a query are infinite, only these count.
    {shared}

    Attributes
    ----------
    {fitted}
    ids_ : ndarray of shape (n_samples_fit_,)
        The id of each row, int64 or strings. Only if the rows were fitted with ids.

    See Also
    --------
    KNeighborsRegressor : the mean of a number of rows.
    NearestNeighbors : the search itself, and what is exact about it.

    Examples
    --------
    >>> from fastclf import RadiusNeighborsRegressor
    >>> RadiusNeighborsRegressor(radius=1.5).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]).predict([[0.6], [2.0]])
    array([0.5, 2. ])
    """

    def __init__(
        self,
        radius=1.0,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def predict(self, X, *, mask=None):
        """The mean target of each query's neighbours.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (leave-one-out).
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may vote; None: all.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs), float64
            NaN, with a warning, for a query without neighbours.
        """
        n, circles = self._circles(X, "predict", mask)
        y = self._targets()
        predicted = np.full((n, y.shape[1]), np.nan)
        for circle in circles:
            some = circle.total > 0
            for output, target in enumerate(y.T):
                mean = circle.sums(target[circle.row])[some] / circle.total[some]
                predicted[circle.start : circle.start + len(some), output][some] = mean
        if np.isnan(predicted).any():
            warn("One or more samples have no neighbors within specified radius; predicting NaN.")
        return predicted.reshape(-1, *self._y.shape[1:])
