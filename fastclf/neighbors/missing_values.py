"""Euclidean distances between rows with missing values."""

from types import SimpleNamespace

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import declare
from .metrics import MetricOf, names_with
from .scan import Scan

kernels = _simd.load("neighbors._missing_scan")


class Missing(Scan):
    """All rows of X, in which NaN is a missing value, searched exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        'nan_euclidean'.
    """

    _state_table = declare(metric=MetricOf(names_with("missing")))

    def __init__(self, X, metric):
        self.X, self.metric = X, metric

    def _costs(self, Q):
        d = self.X.shape[1]
        return 4 * d, d, 8 * d + 24, 8 * d * kernels.PANEL_ROWS

    def _block(self, Q, start, stop, own, allowed):
        return SimpleNamespace(
            query=np.ascontiguousarray(Q[start:stop], np.float64),
            own=None if own is None else own[start:stop],
            allowed=allowed,
        )

    def _state(self, block, tau, **own):
        n_queries, d = block.query.shape
        return SimpleNamespace(
            **vars(block),
            tau=np.full(n_queries, float(tau)),
            limits=np.empty(n_queries),
            panel=aligned((d, kernels.PANEL_ROWS), np.float64),
            **own,
        )

    def _step(self, state, start, stop, hits=None):
        return kernels.scan(self.X, start, stop, state, hits)
