"""Conversion of columns of categories into columns of codes, which trees split by subsets."""

import numpy as np

from .._categories import float_codes, sorted_categories
from .._columns import as_columns
from .._csr import sound
from .._exceptions import of_column
from .._validation import as_array, as_matrix, feature_names, require_choice, require_integer

# The first words of the names of categorical types in pandas, polars and pyarrow.
_CATEGORICAL = ("category", "Categorical", "Enum", "dictionary")


def as_features(X, owner, categories):
    """X as a matrix of floats (NaN: missing), in which codes replace categories.

    categories: None, or a list with the sorted categories of each feature, None for a feature of numbers. An unknown
    category becomes a missing value.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        X = sound(X).toarray()
    if categories is None:
        return as_matrix(X, owner, allow_nan=True)
    columns = as_columns(X, owner)[0]
    if len(columns) != len(categories):
        raise ValueError(
            f"X has {len(columns)} features, but {owner} is expecting {len(categories)} features as input."
        )
    small = all(column.dtype == np.float32 for column in columns)
    matrix = np.empty((len(columns[0]), len(columns)), np.float32 if small else np.float64)
    for j, (column, known) in enumerate(zip(columns, categories)):
        if known is not None:
            matrix[:, j] = float_codes(column, known)
        elif column.dtype == object:
            text = f"column {j} of X holds strings, and {owner} was fitted with numbers; numbers are wanted"
            raise of_column(ValueError(text), j)
        else:
            matrix[:, j] = column
    return matrix


def find_categories(X, categorical_features, owner):
    """The categories for `as_features`: of the given features, or with 'from_dtype' of categories and strings."""
    if categorical_features is None:
        return None
    if isinstance(categorical_features, str):
        require_choice("categorical_features", categorical_features, ["from_dtype"])
        kinds = _column_types(X)
        if all(kind.lower().startswith(("int", "uint", "float", "bool", "double")) for kind in kinds):
            return None
        columns = as_columns(X, owner)[0]
        chosen = [kind.startswith(_CATEGORICAL) or column.dtype == object for kind, column in zip(kinds, columns)]
    else:
        chosen = _chosen(X, categorical_features)
        if not chosen.any():
            return None
        columns = as_columns(X, owner)[0]
    return [sorted_categories(column) if is_one else None for column, is_one in zip(columns, chosen)]


def _column_types(X):
    """The names of the types of a table's columns; empty for an array."""
    # `column_names` marks a pyarrow table, whose types are in its schema; other tables have `dtypes`
    if hasattr(X, "column_names"):
        return [str(field.type) for field in X.schema]
    return [] if feature_names(X) is None else [str(kind) for kind in X.dtypes]


def _chosen(X, given):
    """A mask of the columns that `given` lists as a mask, as indices or as names."""
    names = feature_names(X)
    d = len(names) if names is not None else as_array(X, "X").shape[-1]
    given = as_array(given, "categorical_features")
    chosen = np.zeros(d, bool)
    if given.dtype == bool:
        if given.shape != (d,):
            raise ValueError(f"categorical_features has shape {given.shape}; ({d},), one per feature, is wanted")
        return given
    known = {} if names is None else {name: j for j, name in enumerate(names)}
    for item in given.ravel().tolist():
        if isinstance(item, str):
            if item not in known:
                raise ValueError(
                    f"categorical_features names {item!r}, which is no column of X; a column of X is wanted"
                )
            chosen[known[item]] = True
        else:
            chosen[require_integer("categorical_features", item, 0, d - 1)] = True
    return chosen
