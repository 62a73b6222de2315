"""Exact search by Euclidean distances between rows with missing values."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import declare
from .hits import Hits
from .metrics import MetricOf, names_with
from .search import Heaps, Index, Search

kernels = _simd.load("neighbors._missing_scan")


class MissingPass(NamedTuple):
    """The state of one thread's pass over rows with a block of queries, for `_missing_scan.pyx`."""

    search: Search
    query: np.ndarray  # (n_queries, d) float64: the queries, with NaN for missing values
    found: Heaps | Hits
    # (n_queries,) float64: scratch space for the squared distance from each query beyond which a row is no neighbour
    limits: np.ndarray
    panel: np.ndarray  # (d, PANEL_ROWS) float64: scratch space for a panel of rows


class Missing(Index):
    """An index that scans all rows of X, in which NaN is a missing value, exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        The Metric 'nan_euclidean'.
    """

    _state_table = declare(metric=MetricOf(names_with("missing")))

    def _costs(self, queries):
        d = self.X.shape[1]
        return 4 * d, d, 8 * d + 24, 8 * d * kernels.PANEL_ROWS

    def _queries(self, search):
        with np.errstate(invalid="ignore"):  # NumPy reports a signaling NaN as invalid
            return np.ascontiguousarray(search.queries, np.float64)

    def _pass(self, search, queries, found):
        n_queries, d = queries.shape
        return MissingPass(search, queries, found, np.empty(n_queries), aligned((d, kernels.PANEL_ROWS), np.float64))

    def _step(self, state, start, stop):
        return kernels.scan(self.X, start, stop, state)
