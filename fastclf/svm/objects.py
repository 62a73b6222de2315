"""Rows that are no vectors of numbers, such as texts, graphs or matrices, between which a user's kernel has values."""

import numpy as np

from .._csr import is_sparse
from .._described import described


class KernelTable(np.ndarray):
    """The kernel matrix (n, n) of all rows of a fit, where a user's kernel is called once for all of them."""

    @classmethod
    def of(cls, values):
        return values.view(cls)


def are_objects(X):
    """Whether X is neither a table nor a matrix of numbers, so that only a user's kernel can read its rows."""
    if is_sparse(X) or not _is_sequence(X) or (not isinstance(X, np.ndarray) and len(getattr(X, "shape", ())) == 2):
        return False
    try:
        array = np.asarray(X)
    # lists of different lengths, of which NumPy makes no array: only the user's kernel can read them
    except ValueError:
        return True
    return array.ndim != 2 or array.dtype.kind in "USV"


def require_objects(X, owner):
    """X, if it is a sequence of one object or more between which a user's kernel may have values."""
    if not _is_sequence(X):
        raise TypeError(f"X is {described(X)}; a list or an array of the objects that the kernel compares is wanted")
    if len(X) == 0:
        raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
    return X


def _is_sequence(X):
    if isinstance(X, np.ndarray):
        return X.ndim > 0
    return hasattr(X, "__len__") and not isinstance(X, (str, bytes, dict, set, frozenset))
