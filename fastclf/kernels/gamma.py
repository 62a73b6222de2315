"""The parameter gamma of kernel functions as a number."""

import numpy as np

from .._csr import Csr

# The number of values that are summed in one step, so that Ctrl-C need not wait.
_BLOCK_NUMBERS = 1 << 18


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


def _blocks(n, row_size):
    """Slices of n rows of `row_size` numbers; as their bounds are fixed, sums over them always have the same bits."""
    size = max(1, _BLOCK_NUMBERS // max(1, row_size))
    return [slice(start, start + size) for start in range(0, n, size)]


def _variance(X):
    values, size = X.data[: X.size] if isinstance(X, Csr) else X, X.shape[0] * X.shape[1]
    blocks = _blocks(len(values), values[:1].size)
    mean = sum(float(values[block].sum(dtype=np.float64)) for block in blocks) / size
    squares = sum(float(np.square(values[block] - mean, dtype=np.float64).sum()) for block in blocks)
    # mean * mean may overflow to infinity; mean**2 would raise OverflowError
    return (squares + (size - values.size) * mean * mean) / size


def _weighted_variance(X, weight):
    total = float(weight.sum()) * X.shape[1]
    if isinstance(X, Csr):
        values, heavy = X.data[: X.size], weight[X.row_numbers()]
        absent = max(0.0, total - float(heavy.sum()))
    else:
        values, heavy, absent = X, weight, 0.0
    blocks = _blocks(len(values), values[:1].size)
    mean = squares = 0.0
    for block in blocks:
        mean += float(heavy[block] @ _row_sums(values[block])) / total
    for block in blocks:
        squares += float(heavy[block] @ _row_sums(np.square(values[block] - np.float64(mean)))) / total
    return squares + absent / total * mean * mean


def _row_sums(values):
    return values.sum(axis=1, dtype=np.float64) if values.ndim == 2 else values.astype(np.float64, copy=False)
