"""The classes of dense rows with the largest of many linear scores, found by scores in float32."""

import numpy as np

from .. import _simd
from .._csr import Csr

kernels = _simd.load("sums._screens")

# The classes of dense rows are found by a screen in float32 if there are at least _MANY_CLASSES classes, products of
# _LEAST_PRODUCTS entries and weights, and fewer than _MOST_COLUMNS columns, up to which the bound of the errors holds.
_MANY_CLASSES, _LEAST_PRODUCTS, _MOST_COLUMNS = 8, 1 << 18, 1 << 16
# A screen reads all weights about ten times before it sees a row: fewer rows than _LEAST_ROWS, or than _LEAST_ANSWERS
# over the number of classes, take less time without it.
_LEAST_ROWS, _LEAST_ANSWERS = 64, 1 << 11

# The number of entries of rows that are screened at a time, so that their copy in float32 fits a cache.
_BLOCK_NUMBERS = 1 << 16

# Norms of weights, and intercepts, up to which float32 has all screens.
_LARGEST_SCREENED = 1e37


def _largest_norm(coef):
    """An upper bound of the norms of the rows of coefficients, which may be infinite."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.einsum("ij,ij->i", coef, coef, dtype=np.float64).max()) * (1 + 1e-9))


class Screen:
    """Coefficients for choosing classes of dense rows X by scores in float32, or by exact ones where these are near.

    Attributes
    ----------
    exact : callable
        exact(rows) gives the pair (codes of the rows, a number that tells whether their scores are finite).
    as_floats : callable
        as_floats(rows) gives what is multiplied by the coefficients, rounded to float32.
    coef : ndarray, float32
        The coefficients as `screen_rows` reads them (`src_cython/sums/screen.h`).
    intercept : ndarray, float32
        -3e38 for the classes that fill the last SIMD vector.
    norm, largest : float
        The largest norm of a class's coefficients, and the largest size of an intercept.
    """

    def __init__(self, X, coef, intercept, norm, largest, exact, as_floats):
        n_classes, d = coef.shape
        lanes = kernels.LANES
        width = -(-n_classes // lanes) * lanes
        self.X, self.norm, self.largest, self.exact, self.as_floats = X, norm, largest, exact, as_floats
        self.coef = np.zeros(width * d, np.float32)
        for start in range(0, n_classes, 2 * lanes):
            block = self.coef[start * d : (start + 2 * lanes) * d].reshape(d, -1)
            block[:, : n_classes - start] = coef[start : start + 2 * lanes].T
        self.intercept = np.full(width, -3e38, np.float32)
        self.intercept[:n_classes] = intercept

    def choose(self, start, stop, codes):
        """Write the classes with the largest scores of rows [start, stop); return the sum of `exact`'s numbers."""
        d = self.X.shape[1]
        scratch = np.empty(kernels.ROWS * (d + len(self.intercept)), np.float32)
        rows = max(kernels.ROWS, _BLOCK_NUMBERS // d)
        return sum(self._choose(slice(i, min(i + rows, stop)), codes, scratch) for i in range(start, stop, rows))

    def _choose(self, rows, codes, scratch):
        """Write the classes of a block of rows; return the number that `exact` gives, or 0."""
        X, found = self.X[rows], codes[rows]
        with np.errstate(over="ignore"):
            kernels.screen(self.as_floats(X), self, found, scratch)
        near = np.flatnonzero(found < 0)
        if not len(near):
            return 0
        found[near], number = self.exact(X[near])
        return number


def _rounded(rows):
    return rows.astype(np.float32, copy=False)


def is_worth_screening(X, n_classes):
    """Whether rows X and classes are so many that a Screen is faster than exact scores."""
    n, d = X.shape
    many = n_classes >= _MANY_CLASSES and n * d * n_classes >= _LEAST_PRODUCTS and d < _MOST_COLUMNS
    return many and n >= _LEAST_ROWS and n * n_classes >= _LEAST_ANSWERS and not isinstance(X, Csr)


def screen_for(X, coef, intercept, exact, as_floats=_rounded):
    """A Screen that chooses classes of the rows X, or None if `is_worth_screening` or the numbers forbid it."""
    if not is_worth_screening(X, len(coef)):
        return None
    norm, largest = _largest_norm(coef), float(np.abs(intercept).max())
    if not (norm < _LARGEST_SCREENED and largest < _LARGEST_SCREENED):
        return None
    return Screen(X, coef, intercept, norm, largest, exact, as_floats)
