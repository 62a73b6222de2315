"""The regressor by the k nearest neighbours."""

import numpy as np

from .._estimator import Regressor
from . import _votes
from .base import document
from .target_rows import TargetRows
from .voting import Voters


@document
class KNeighborsRegressor(TargetRows, Voters, Regressor, shortcuts=True):
    """Regression by the (weighted) mean of the k nearest rows' targets.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, the number of nearest rows that count.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        A target counts 1, or 1 / distance (if some neighbours are at distance 0, only these count), or the function's
        value: it takes the array of distances, of shape (n_queries, k), and returns one of the same shape.
    {shared}

    Attributes
    ----------
    {fitted}
    ids_ : ndarray of shape (n_samples_fit_,)
        The id of each row, int64 or strings. Only if the rows were fitted with ids.

    See Also
    --------
    NearestNeighbors : the search itself, and the conditions for exact answers.

    Examples
    --------
    >>> from fastclf import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]).predict([[0.6]])
    array([0.5])
    """

    def __init__(
        self,
        n_neighbors=5,
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
        """
        search, k = self._ask_voters(X, "predict", mask)
        y = self._targets()
        predicted = np.empty((len(search.queries), y.shape[1]))

        def average(ballot):
            _votes.average(self._weigh(ballot), y, predicted)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(average, ballots)
        return predicted.reshape(-1, *self._y.shape[1:])

    def _predict_each(self, X):
        search, k = self._ask_voters(X, "predict")
        y = self._targets()
        predicted = np.empty((len(search.queries), k, y.shape[1]))

        def average(ballot):
            _votes.average_each(self._weigh(ballot), self._weight, y, predicted)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(average, ballots)
        return predicted[:, :, 0].T

    def leave_one_out(self, k_max):
        """The leave-one-out mean squared error for every number of neighbours, by one search.

        Parameters
        ----------
        k_max : int
            The largest number of neighbours, from 1 to the number of fitted rows minus one.

        Returns
        -------
        error : ndarray of shape (k_max,), float64
            Entry k - 1 is the error with k neighbours: the mean (weighted by the `sample_weight` of `fit`) over the
            fitted rows of the squared error of `predict(None)`, averaged over the outputs.

        Notes
        -----
        One search, and O(k_max) per row; with a function for `weights`, O(k_max^2).

        Examples
        --------
        >>> from fastclf import KNeighborsRegressor
        >>> KNeighborsRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]).leave_one_out(2)
        array([2. , 3.5])
        """
        return self._leave_one_out(k_max)

    def _error_each(self, ballot, row, k_max):
        y = self._targets()
        predicted = np.empty((len(row), k_max, y.shape[1]))
        _votes.average_each(ballot, self._weight, y, predicted)
        return ((predicted - y[row][:, None]) ** 2).mean(axis=2)
