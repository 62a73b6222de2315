"""Columns of mixed types: tables and arrays as a list of vectors, of numbers or of strings, with what is missing."""

import numbers

import numpy as np

from ._validation import as_array, feature_names, require_matrix


def as_columns(X, owner):
    """The columns of a table or array: numbers (NaN: missing) or objects that are strings (None: missing)."""
    if feature_names(X) is not None:
        get = X.column if hasattr(X, "column_names") else X.__getitem__
        columns = [np.asarray(get(name)) for name in feature_names(X)]
        if not columns or len(columns[0]) == 0:
            require_matrix(np.empty((0 if columns else 1, len(columns))), "X", owner)
    else:
        array = as_array(X, "X")
        require_matrix(array, "X", owner)
        columns = list(array.T)
    return [_as_column(column, j) for j, column in enumerate(columns)]


def _as_column(column, j):
    if column.dtype.kind in "biu":
        return column
    if column.dtype.kind == "f":
        if np.isinf(column).any():
            raise ValueError(f"Input X contains infinity (column {j}); finite numbers are wanted")
        return column
    if column.dtype.kind not in "OUT":
        raise TypeError(f"column {j} of X has dtype {column.dtype}; numbers or strings are wanted")
    values = column.tolist()
    missing = [value is None or (value != value) is not False for value in values]
    if all(isinstance(value, numbers.Real) or gone for value, gone in zip(values, missing)):
        return _as_column(np.array([np.nan if gone else float(value) for value, gone in zip(values, missing)]), j)
    for value, gone in zip(values, missing):
        if not gone and not isinstance(value, str):
            raise TypeError(
                f"column {j} of X holds {value!r}; an argument must be a string or a real number, and a column's of one"
                " kind"
            )
    return np.array([None if gone else str(value) for value, gone in zip(values, missing)], dtype=object)


def is_missing(column):
    if column.dtype.kind == "O":
        return np.equal(column, None).astype(bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)
