"""Checks of the neighbours that a method of a user's subclass returns, before they vote."""

import numpy as np

from .._validation import as_array


def as_pair(method, found):
    """The two parts of what `method` returned: distances and row numbers."""
    if isinstance(found, (tuple, list)) and len(found) == 2:
        return found
    raise TypeError(f"{method} returns {type(found).__name__}; a pair (distances, indices) is wanted")


def as_neighbors(method, distance, index, n_rows, n_dim):
    """(distances as float64, row numbers as intp): arrays of one shape, of `n_dim` dimensions, without NaN."""
    distance, index = as_array(distance, f"distances of {method}"), as_array(index, f"indices of {method}")
    if distance.shape != index.shape or index.ndim != n_dim:
        raise ValueError(
            f"{method} returns distances of shape {distance.shape} and indices of shape {index.shape};"
            f" one shape is wanted, of {n_dim} dimension{'s' * (n_dim > 1)}"
        )
    if index.size == 0:  # a query without neighbours may have a list without numbers
        return np.empty(index.shape), np.empty(index.shape, np.intp)
    if index.dtype.kind not in "iu" or not (index.min() >= 0 and index.max() < n_rows):
        raise ValueError(
            f"{method} returns {index.dtype} indices that are no row numbers; whole numbers from 0 to"
            f" {n_rows - 1} are wanted"
        )
    if distance.dtype.kind not in "biuf" or np.isnan(distance).any():
        raise ValueError(f"{method} returns {distance.dtype} distances that are no numbers; real numbers are wanted")
    return distance.astype(np.float64), index.astype(np.intp)
