"""Density estimation by the distance to the k-th nearest neighbour."""

from itertools import chain
from math import lgamma, log

import numpy as np

from .._state_table import Value, declare
from .._validation import described, require_number
from .base import document
from .voting import SEARCH_SHARE, WeightedNeighbors


@document
class KNeighborsDensity(WeightedNeighbors):
    """Density estimation by the distance to the k-th nearest row: p(x) = k / (n V_d r_k(x)^d).

    V_d r^d is the volume of the metric's ball of radius r in d dimensions. All computations use logarithms.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, the number of nearest rows.
    {shared}

    Attributes
    ----------
    {fitted}

    Notes
    -----
    The metric must have a ball with a volume: 'euclidean', 'manhattan', 'chebyshev' or 'minkowski'. If k rows are equal
    to the query (r_k = 0) the estimate is infinite. The estimate does not integrate to 1 over all space.

    References
    ----------
    Loftsgaarden, Quesenberry (1965), A nonparametric estimate of a multivariate density function.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsDensity
    >>> X = np.linspace(0, 1, 101)[:, None]  # uniform: the density is 1, its log 0
    >>> abs(KNeighborsDensity(n_neighbors=20).fit(X).score_samples([[0.5]])) < 0.03
    array([ True])
    """

    _state_table = declare(_log_unit_ball=Value(require_number, -np.inf))

    def __init__(
        self,
        n_neighbors=5,
        *,
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

    def fit(self, X, y=None, sample_weight=None, *, ids=None):
        """Keep the rows, by reference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            The multiplicity of each row, from 0 up; n is their sum.
        ids : array-like of int or str of shape (n_samples,), default=None
            An id for each row, all different, which stays with the row when rows are added or removed: `remove` and
            `rows_of` take ids. None: rows have numbers only.

        Returns
        -------
        self
        """
        attributes = self._fitted_rows(self._given_rows(X, sample_weight, ids))
        volume = _log_unit_ball(attributes["_scan"].metric, attributes["n_features_in_"])
        return self._become(_log_unit_ball=volume, **attributes)

    def partial_fit(self, X, y=None, sample_weight=None, *, ids=None):
        """Append rows (a copy of them) to the fitted rows; the first call is a fit. The arguments are those of `fit`.

        Returns
        -------
        self
        """
        if not self._is_fitted():
            return self.fit(X, y, sample_weight, ids=ids)
        n, attributes = self._add_rows(X, sample_weight)
        vars(self).update(attributes | self._more_ids(ids, n))
        return self

    def score_samples(self, X, *, mask=None):
        """The log density at each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (its weight is subtracted from n), for leave-one-out likelihoods.
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows to estimate from, as if the other rows had not been fitted; None: all rows.

        Returns
        -------
        log_density : ndarray of shape (n_queries,), float64
        """
        search = self._ask(X, "score_samples", mask, share=SEARCH_SHARE)
        k = self._check_reach("n_neighbors", self.n_neighbors, search)
        radius = np.empty(len(search.queries))
        with search.progress:
            for ballot in chain.from_iterable(self._ballots(search, k)):
                last = -1 if ballot.taken is None else np.count_nonzero(ballot.taken, axis=1) - 1
                radius[ballot.rows] = ballot.distance[np.arange(len(ballot.rows)), last]
        weight = search.allowed if self._weight is None else self._weight
        if self._weight is not None and search.allowed is not None:
            weight = weight * search.allowed
        n = float(self.n_samples_fit_) if weight is None else weight.sum(dtype=np.float64)
        if search.self_row is not None:
            n = n - (1 if weight is None else weight)
        return log_density(k, n, self._log_unit_ball, self.n_features_in_, radius)

    def score(self, X, y=None):
        """The sum of `score_samples(X)`: the log likelihood of the rows of X."""
        return float(self.score_samples(X).sum())


def log_density(k, n, volume, d, radius):
    """The log of k / (n V r^d), where `volume` is log V and r the distance of the k-th neighbour."""
    with np.errstate(divide="ignore"):
        return log(k) - np.log(n) - volume - d * np.log(radius)


def _log_unit_ball(metric, d):
    """The log of the volume of {x : sum_j w_j |x_j|^p <= 1}.

    The volume is (2 Gamma(1 + 1/p))^d / Gamma(1 + d/p) / prod_j w_j^(1/p).
    """
    p = metric.p if metric.name == "minkowski" else metric.named.norm
    if p is None:
        raise ValueError(
            f"metric is {described(metric.shown)}, whose ball has no volume formula; 'euclidean', 'manhattan',"
            " 'chebyshev' or 'minkowski' is wanted"
        )
    volume = d * log(2.0) if np.isinf(p) else d * (log(2.0) + lgamma(1 + 1 / p)) - lgamma(1 + d / p)
    if metric.w is not None:
        if not metric.w.all():
            raise ValueError(
                "metric_params['w'] has a 0, so that a ball has no finite volume; weights above 0 are wanted"
            )
        volume -= float(np.log(metric.w).sum()) / p
    return volume
