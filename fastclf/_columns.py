"""Tables and arrays with columns of mixed types, as lists of vectors with masks of missing values."""

import datetime
import decimal
import numbers

import numpy as np

from ._threads import all_finite
from ._validation import as_array, described, feature_names, require_matrix

# The length of a day in microseconds.
_DAY = 86_400e6


def as_columns(X, owner, wanted=None):
    """Split a table or array into (columns, missing): each column is an array of numbers, or of objects with strings.

    Dates become days since 1970-01-01, and durations become days. missing[j] is the mask of the missing values of
    column j (NaN in numbers, None in strings), or None if no value is missing. If `wanted` is given, only the columns
    that it names are taken; other columns may be of any type.
    """
    names = feature_names(X)
    if names is not None:
        get = X.column if hasattr(X, "column_names") else X.__getitem__
        names = names if wanted is None else wanted
        columns = [_vector(get(name), name) for name in names]
        if not columns or len(columns[0]) == 0:
            require_matrix(np.empty((0 if columns else 1, len(columns))), "X", owner)
    else:
        array = as_array(X, "X")
        require_matrix(array, "X", owner)
        columns = list(array.T)
        if array.dtype.kind == "f" and all_finite(array):
            return columns, [None] * len(columns)
    titles = range(len(columns)) if names is None else map(repr, names)
    pairs = [_as_column(column, title) for column, title in zip(columns, titles)]
    return [column for column, _ in pairs], [missing for _, missing in pairs]


def _vector(column, name):
    array = np.asarray(column)
    if array.ndim != 1 and hasattr(column, "columns"):
        raise ValueError(f"there are {array.shape[1]} columns {name!r}; each name is wanted once")
    if array.ndim != 1:
        raise TypeError(f"column {name!r} of X holds arrays; numbers or strings are wanted")
    return array


def _as_column(column, j):
    """A pair: the column as an array of numbers or strings; the mask of its missing values, or None if it has none."""
    if column.dtype.kind in "mM":
        column = np.where(
            np.isnat(column), np.nan, column.astype(f"{column.dtype.kind}8[us]").astype(np.float64) / _DAY
        )
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
    missing = [value is None or _is_nan(value) for value in values]
    values = [
        float(value) if isinstance(value, decimal.Decimal) and not gone else value
        for value, gone in zip(values, missing)
    ]
    if any(isinstance(value, datetime.date) for value in values):
        return _as_column(_as_moments(values, missing, j), j)
    if all(isinstance(value, numbers.Real) or gone for value, gone in zip(values, missing)):
        return _as_column(np.array([np.nan if gone else float(value) for value, gone in zip(values, missing)]), j)
    for value, gone in zip(values, missing):
        if not gone and not isinstance(value, str):
            raise TypeError(
                f"column {j} of X holds {described(value)}; an argument must be a string or a real number, and a column"
                " must have values of one kind"
            )
    column = np.array([None if gone else str(value) for value, gone in zip(values, missing)], dtype=object)
    return column, np.array(missing) if any(missing) else None


def _is_nan(value):
    """Whether a value is NaN or NaT, which differ from themselves, or pandas.NA, which cannot be compared."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    return np.ndim(value) == 0 and (value != value) is not False


def _as_moments(values, missing, j):
    """Python's dates and datetimes as an array of datetime64; those with a time zone are converted to UTC."""
    moments = []
    for value, gone in zip(values, missing):
        if not gone and not isinstance(value, datetime.date):
            raise TypeError(f"column {j} of X holds dates and {value!r}; values of one kind are wanted")
        if not gone and getattr(value, "tzinfo", None) is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        moments.append(np.datetime64("NaT" if gone else value, "us"))
    return np.array(moments)
