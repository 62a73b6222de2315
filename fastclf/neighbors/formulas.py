"""Exact search by Canberra, Bray-Curtis, Mahalanobis, haversine and correlation distances, which are scanned alike."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import DeclaredState, declare
from .._validation import as_float64
from .hits import Hits
from .metrics import Metric, MetricOf, names_with
from .search import Heaps, Index, Search

kernels = _simd.load("neighbors._formula_scan")

# The approximate cost of a distance, in multiply-adds per coordinate (for 'mahalanobis', per pair of coordinates).
_WORK = {"canberra": 8, "braycurtis": 4, "seuclidean": 4, "mahalanobis": 1, "haversine": 4, "correlation": 2}


class FormulaPass(NamedTuple):
    """The state of one thread's pass over rows with a block of queries, for `_formula_scan.pyx`."""

    search: Search
    query: np.ndarray  # (n_queries, d) float64: the queries; for 'correlation', each query minus its mean
    # (n_queries, N_NOTES) float64: for each query the numbers, such as its norm, that the kernel computes once
    notes: np.ndarray
    found: Heaps | Hits
    # (N_NOTES + 2 d, PANEL_ROWS) float64: scratch space for each row of a panel: its N_NOTES numbers, such as a norm,
    # its coordinates, and sums
    panel: np.ndarray


class Formula(Index):
    """An index that scans all rows of X exactly, by a metric that `_formula_scan.pyx` computes.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        A Metric whose `named.formula` is True.
    """

    _state_table = declare(metric=MetricOf(names_with("formula")))

    # `_check_state` of Index is not used: it looks up the metric's number in `_scan.pyx`, and these metrics have none
    _check_state = DeclaredState._check_state

    def _work(self):
        d = self.X.shape[1]
        return _WORK[self.metric.name] * d * (d if self.metric.name == "mahalanobis" else 1)

    def _costs(self, queries):
        d = self.X.shape[1]
        return self._work(), d, 8 * d + 32, (32 + 16 * d) * kernels.PANEL_ROWS

    def _cheap_range(self, n_queries):
        return max(1, (1 << 24) // (n_queries * self._work()))

    def _queries(self, search):
        query = np.array(search.queries, np.float64, order="C")
        notes = np.zeros((len(query), kernels.N_NOTES))
        kernels.prepare(kernels.CODES[self.metric.name], query, notes)
        return query, notes

    def _pass(self, search, queries, found):
        shape = kernels.N_NOTES + 2 * self.X.shape[1], kernels.PANEL_ROWS
        return FormulaPass(search, *queries, found, aligned(shape, np.float64))

    def _step(self, state, start, stop):
        return kernels.scan(self.X, start, stop, kernels.CODES[self.metric.name], self.metric.V, state)


def formula_metric(name, params, d):
    """The Metric `name`, which has a formula, for rows of d features; entries that it uses are taken from `params`."""
    V = None
    if name == "seuclidean":
        V = _given(params, name, "V", (d,))
        if not (np.isfinite(V) & (V > 0)).all():
            raise ValueError(
                "metric_params['V'] has an entry that is NaN, infinite, or not above 0; variances above 0 are wanted"
            )
        V = V.reshape(-1, 1)
    elif name == "mahalanobis":
        V = _inverse_covariance(params, d)
    elif name == "haversine" and d != 2:
        raise ValueError(
            f"Haversine distance only valid in 2 dimensions: X has {d} features; latitude and longitude in radians are"
            " wanted"
        )
    return Metric(name, -1, V=V)


def _given(params, name, key, shape):
    """Remove the array metric_params[key] from `params`, and return it after a check that it has the given shape."""
    if params.get(key) is None:
        raise ValueError(
            f"metric_params has no {key!r}, which metric={name!r} needs; an array of shape {shape} is wanted"
        )
    array = as_float64(params.pop(key), f"metric_params[{key!r}]")
    if array.shape != shape:
        raise ValueError(f"metric_params[{key!r}] has shape {array.shape}; shape {shape} is wanted")
    return np.ascontiguousarray(array)


def _inverse_covariance(params, d):
    """The inverse covariance matrix for 'mahalanobis', checked to be positive semidefinite."""
    key = "V" if params.get("VI") is None and params.get("V") is not None else "VI"
    matrix = _given(params, "mahalanobis", key, (d, d))
    params.pop("V", None)
    params.pop("VI", None)
    if not np.isfinite(matrix).all():
        raise ValueError(f"metric_params[{key!r}] has NaN or infinity; finite numbers are wanted")
    if key == "V":
        try:
            matrix = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise ValueError("metric_params['V'] is singular; an invertible matrix, or 'VI', is wanted") from None
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if values[0] < -1e-9 * max(values[-1], 0):
        raise ValueError(
            f"metric_params[{key!r}] has a negative eigenvalue, {values[0]:g}, so that some distances would be NaN; a"
            " positive semidefinite matrix is wanted"
        )
    return np.ascontiguousarray(matrix)
