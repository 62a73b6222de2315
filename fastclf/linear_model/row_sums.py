"""The sums over rows from which least squares are solved.

A class with the methods of `RowSums` may stand in its place, for rows that are not in this process.
"""

import numpy as np

from .._csr import Csr
from .._validation import require_finite
from ..sums.class_sums import class_counts
from ..sums.moments import products

# The mean of a sample of this number of rows is subtracted from all rows before squares are summed, so that the
# subtraction of the squared mean loses few digits.
_SAMPLE = 256


class RowSums:
    """The rows of a fit, dense or Csr, with the code and the weight of each."""

    def __init__(self, X, codes, n_classes, weight, n_jobs):
        self.X, self.codes, self.n_classes, self.weight, self.n_jobs = X, codes, n_classes, weight, n_jobs

    @property
    def shape(self):
        return self.X.shape

    @property
    def sparse(self):
        return isinstance(self.X, Csr)

    def __len__(self):
        return len(self.X)

    def sample_mean(self):
        """The mean of at most 256 dense rows at equal distances."""
        with np.errstate(all="ignore"):  # the rows are checked after their sums are taken
            return np.asarray(self.X[:: sample_step(len(self))], np.float64).mean(axis=0)

    def products(self, shift, progress):
        """The sums of `fastclf.sums.moments.products`."""
        return products(self.X, self.codes, self.n_classes, self.weight, shift, self.n_jobs, progress)

    def sizes(self):
        """The total weight of each class."""
        return class_counts(self.codes, self.weight, self.n_classes)

    def blocks(self, size):
        """Yield (rows, codes, weights or None) of successive blocks of `size` rows."""
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield self.X[rows], self.codes[rows], None if self.weight is None else self.weight[rows]

    def require_finite(self, owner):
        """Refuse NaN and infinity in dense rows; sparse rows are checked before."""
        if not self.sparse:
            require_finite(self.X, "X", owner)


def sample_step(n):
    """The distance between the rows of which `sample_mean` is the mean."""
    return -(-n // _SAMPLE)
