"""The order of arrays in memory."""

import numpy as np

# The number of columns of a block that is transposed at a time, so that the block fits a cache.
_BLOCK_COLUMNS = 256

# The number of values in a block into which parts of many arrays are copied, so that the block fits a cache.
_BLOCK_NUMBERS = 1 << 16

# NumPy sums rows in Fortran order slowly if they are fewer than this.
_FEW_ROWS = 16


def by_column(coef):
    """Coefficients (K, d) in Fortran order, so that those of a column are adjacent."""
    return coef if coef.flags.f_contiguous else transposed_copy(coef).T


def transposed_copy(A):
    """A copy of the transpose of A in C order."""
    copy = np.empty(A.shape[::-1], A.dtype)
    for start in range(0, len(copy), _BLOCK_COLUMNS):
        copy[start : start + _BLOCK_COLUMNS] = A[:, start : start + _BLOCK_COLUMNS].T
    return copy


def joined_by_column(parts):
    """np.concatenate(parts) for arrays (k, d) of float64, in Fortran order."""
    bounds = np.cumsum([0, *map(len, parts)])
    joined = np.empty((parts[0].shape[1], bounds[-1]))
    size = max(_BLOCK_COLUMNS, _BLOCK_NUMBERS // bounds[-1])
    for start in range(0, len(joined), size):
        block = slice(start, start + size)
        for part, first, end in zip(parts, bounds, bounds[1:]):
            joined[block, first:end] = part[:, block].T
    return joined.T


def row_sums(A):
    """A.sum(axis=1) for A (K, d), by a copy in C order where that is faster."""
    return (transposed_copy(A.T) if len(A) < _FEW_ROWS and A.flags.f_contiguous else A).sum(axis=1)
