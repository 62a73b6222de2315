"""Rows and targets in any container, for estimators of any library."""

from functools import partial

import numpy as np

from .._csr import Csr, sound
from .._threads import aside_if_many, distinct, n_numbers, ranges
from .._validation import as_array, as_vector, described, require_labels


def n_rows(*containers):
    """The number of rows of the first container that is not None."""
    for rows in containers:
        if rows is not None:
            lengthless = not np.shape(rows) if hasattr(rows, "shape") else not hasattr(type(rows), "__len__")
            if lengthless or isinstance(rows, type):
                raise TypeError(f"rows are {described(rows)}; an array, a list or a table is wanted")
            return rows.shape[0] if hasattr(rows, "shape") else len(rows)
    raise ValueError("X and y are None; rows to split are wanted")


def take_rows(rows, as_lists=False):
    """A function of an array of row numbers, which returns these entries of `rows` in the same type of container.

    A list becomes an array, unless `as_lists`; for None the function returns None.
    """
    if rows is None:
        return lambda numbers: None
    return partial(aside_if_many, n_numbers(rows), _taker(rows, as_lists))


def _taker(rows, as_lists):
    if hasattr(rows, "iloc"):
        return rows.iloc.__getitem__
    if isinstance(rows, Csr):
        return rows.__getitem__
    if hasattr(rows, "tocsr"):
        return sound(rows, "an argument of one entry per row").tocsr().__getitem__
    if as_lists and isinstance(rows, list | tuple):
        return lambda numbers: [rows[number] for number in np.arange(len(rows))[numbers].tolist()]
    if as_lists and hasattr(rows, "get_columns"):  # `rows` is a table of polars
        return rows.__getitem__
    if as_lists and hasattr(rows, "column_names"):  # `rows` is a table of pyarrow
        return rows.take
    # another container of rows, as of tensors or of arrays by name, keeps its type, as with scikit-learn
    if as_lists and not isinstance(rows, np.ndarray) and hasattr(rows, "shape") and hasattr(rows, "__getitem__"):
        return rows.__getitem__
    array = as_array(rows, "an argument of one entry per row")
    if array.ndim == 0:
        raise TypeError(f"rows are {described(rows)}; an array, a list or a table is wanted")
    return array.__getitem__


def as_y(y):
    """Labels or numbers of shape (n_samples,), which can be sorted."""
    y = as_vector(y, "y")
    require_labels(y)
    if y.dtype == object:
        try:
            distinct(np.concatenate([distinct(y[start:stop]) for start, stop in ranges(0, len(y), 1 << 14)]))
        except TypeError as error:
            raise TypeError(f"y holds labels that cannot be sorted: {error}") from error
    return y
