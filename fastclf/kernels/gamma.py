"""The parameter gamma of kernel functions as a number."""

from itertools import pairwise

import numpy as np

from .._csr import Csr

# The number of values of X that are summed between two checks for Ctrl-C.
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
    return gamma_by(variance, X.shape[1])


def _blocks(n, row_size):
    """Slices that cut n rows into blocks, with fixed bounds, so that sums over blocks always have the same bits."""
    size = max(1, _BLOCK_NUMBERS // max(1, row_size))
    return [slice(start, start + size) for start in range(0, n, size)]


def _variance(X):
    values, size = X.data[: X.size] if isinstance(X, Csr) else X, X.shape[0] * X.shape[1]
    blocks = _blocks(len(values), values[:1].size)
    mean = sum(float(values[block].sum(dtype=np.float64)) for block in blocks) / size
    squares = sum(float(np.square(values[block] - mean, dtype=np.float64).sum()) for block in blocks)
    # mean * mean, not mean**2: if the square overflows, the product is infinity, but the power raises OverflowError
    return (squares + (size - values.size) * mean * mean) / size


def _weighted_variance(X, weight):
    total, bounds = float(weight.sum()) * X.shape[1], sum_bounds(len(X), X.size)
    blocks = [(X[start:stop], weight[start:stop]) for start, stop in pairwise(bounds)]
    mean, present = mean_of((weighted_sums(*block) for block in blocks), total)
    squares, _ = mean_of((weighted_sums(*block, mean) for block in blocks), total)
    return variance_of(mean, squares, total, present)


def sum_bounds(n, size):
    """The bounds that cut n rows, with `size` numbers in all, into the blocks over which the variance is summed."""
    step = max(1, _BLOCK_NUMBERS * n // max(1, size))
    return [*range(0, n, step), n]


def weighted_sums(rows, weight, mean=None):
    """(the weighted sum of the numbers in a block of rows, the weight of the numbers that are stored: inf if dense).

    With a mean it is the sum of the squared distances to it.
    """
    sparse = isinstance(rows, Csr)
    values, heavy = (rows.data[: rows.size], weight[rows.row_numbers()]) if sparse else (rows, weight)
    if mean is not None:
        values = np.square(values - np.float64(mean))
    return float(heavy @ _row_sums(values)), float(heavy.sum()) if sparse else np.inf


def mean_of(sums, total):
    """Join results of `weighted_sums`: (all sums divided by the total weight, the weight of all stored numbers)."""
    mean = present = 0.0
    for one, stored in sums:
        mean += one / total
        present += stored
    return mean, present


def variance_of(mean, squares, total, present):
    """The variance: `squares`, the share of the stored numbers in it, plus the share of the others, which are 0."""
    return squares + max(0.0, total - present) / total * mean * mean


def gamma_by(variance, n_features):
    """The value of gamma='scale' for rows with this variance: 1 / (n_features * variance), or 1 if it is 0."""
    if not np.isfinite(variance):
        raise ValueError("X has numbers so large that their variance overflows; smaller numbers are wanted")
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


def _row_sums(values):
    return values.sum(axis=1, dtype=np.float64) if values.ndim == 2 else values.astype(np.float64, copy=False)
