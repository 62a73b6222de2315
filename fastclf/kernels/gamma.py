"""The width of kernels."""

import numpy as np

from .._csr import Csr
from .._threads import ranges


def scale_gamma(X):
    """What gamma='scale' means: 1 / (n_features * variance of X), with the numbers that a Csr does not hold."""
    values, size = X.data[: X.size] if isinstance(X, Csr) else X, X.shape[0] * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(values.sum(dtype=np.float64)) / size
        squares = sum(
            float(np.square(values[start:stop] - mean, dtype=np.float64).sum())
            for start, stop in ranges(0, len(values), 1 << 16)
        )
        variance = (squares + (size - values.size) * mean**2) / size
    if not np.isfinite(variance):
        raise ValueError("X has numbers so large that their variance overflows; smaller ones are wanted")
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
