"""The parameter gamma of kernel functions as a number."""

import numpy as np

from .._csr import Csr
from .._threads import ranges


def gamma_of(gamma, X, weight=None):
    """The parameter gamma as a number; each row of X counts as often as its `weight` says.

    'scale' is 1 / (n_features * variance of X), zeros of a Csr included; 'auto' is 1 / n_features.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(X) if weight is None else _weighted_variance(X, weight)
    if not np.isfinite(variance):
        raise ValueError("X has numbers so large that their variance overflows; smaller numbers are wanted")
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _variance(X):
    values, size = X.data[: X.size] if isinstance(X, Csr) else X, X.shape[0] * X.shape[1]
    mean = float(values.sum(dtype=np.float64)) / size
    squares = sum(
        float(np.square(values[start:stop] - mean, dtype=np.float64).sum())
        for start, stop in ranges(0, len(values), 1 << 16)
    )
    # mean * mean may overflow to infinity; mean**2 would raise OverflowError
    return (squares + (size - values.size) * mean * mean) / size


def _weighted_variance(X, weight):
    total = float(weight.sum()) * X.shape[1]
    if isinstance(X, Csr):
        entries, heavy = X.data[: X.size].astype(np.float64), weight[X.row_numbers()]
        return float((entries**2) @ heavy) / total - float(np.square(entries @ heavy / total))
    mean = squares = 0.0
    for start, stop in ranges(0, len(X), 1 + (1 << 18) // X.shape[1]):
        mean += float(weight[start:stop] @ X[start:stop].sum(axis=1, dtype=np.float64)) / total
    for start, stop in ranges(0, len(X), 1 + (1 << 18) // X.shape[1]):
        rows = X[start:stop] - np.float64(mean)
        squares += float(weight[start:stop] @ np.einsum("ij,ij->i", rows, rows)) / total
    return squares
