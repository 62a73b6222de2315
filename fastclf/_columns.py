"""Tables and arrays with columns of mixed types, as lists of vectors with masks of missing values."""

import numbers

import numpy as np

from ._validation import as_array, feature_names, require_matrix


def as_columns(X, owner):
    """(columns, missing) of a table or array: each column has numbers, or objects that are strings.

    missing[j] is the mask of the missing values of column j (NaN in numbers, None in strings), or None if nothing is
    missing.
    """
    if feature_names(X) is not None:
        get = X.column if hasattr(X, "column_names") else X.__getitem__
        columns = [np.asarray(get(name)) for name in feature_names(X)]
        if not columns or len(columns[0]) == 0:
            require_matrix(np.empty((0 if columns else 1, len(columns))), "X", owner)
    else:
        array = as_array(X, "X")
        require_matrix(array, "X", owner)
        columns = list(array.T)
        if array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                finite = np.isfinite(array.sum(axis=0))  # one pass; an infinite sum may be an overflow
            if finite.all():
                return columns, [None] * len(columns)
    pairs = [_as_column(column, j) for j, column in enumerate(columns)]
    return [column for column, _ in pairs], [missing for _, missing in pairs]


def _as_column(column, j):
    """(column, mask of its missing values or None)."""
    if column.dtype.kind in "biu":
        return column, None
    if column.dtype.kind == "f":
        if np.isinf(column).any():
            raise ValueError(f"Input X contains infinity (column {j}); finite numbers are wanted")
        missing = np.isnan(column)
        return column, missing if missing.any() else None
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
    column = np.array([None if gone else str(value) for value, gone in zip(values, missing)], dtype=object)
    return column, np.array(missing) if any(missing) else None
