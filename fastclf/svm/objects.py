"""Rows that are no vectors of numbers, such as texts, graphs or matrices, between which a user's kernel has values."""

import numpy as np

from .._csr import is_sparse


class KernelTable(np.ndarray):
    """The kernel matrix (n, n) of all rows of a fit, where a user's kernel is called once for all of them."""

    @classmethod
    def of(cls, values):
        return values.view(cls)


def are_objects(X):
    """Whether X is neither a table nor a matrix of numbers, so that only a user's kernel can read its rows."""
    if is_sparse(X) or (not isinstance(X, np.ndarray) and len(getattr(X, "shape", ())) == 2):
        return False
    try:
        array = np.asarray(X)
    except ValueError:  # lists of different lengths
        return True
    return array.ndim != 2 or array.dtype.kind in "USV"
