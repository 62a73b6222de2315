"""Checks of the parameters of trees, and their conversion to the numbers that growth uses."""

import math
from numbers import Real

import numpy as np

from .._labels import class_factors, rows_that_count
from .._validation import as_array, as_float64, require_choice, require_integer
from .sorted_columns import Training


def training(X, target, weight, categories):
    """The `Training` of a fit, without rows of weight 0.

    categories: those of each feature, None for a feature of numbers; or None if all features have numbers.
    """
    if weight is not None and not 1e-100 <= weight.max() <= 1e100:
        raise ValueError(
            f"the largest weight of a row is {weight.max():g}; one between 1e-100 and 1e100 is wanted, whose"
            " square neither vanishes nor overflows"
        )
    rows = rows_that_count(weight)
    if rows is not None:
        target, weight = target.of(rows), weight[rows]
    if weight is not None and (weight == 1).all():
        weight = None
    n_codes = None
    if categories is not None:
        n_codes = np.array([0 if known is None else len(known) for known in categories], np.int32)
    return Training(X, rows, target, weight, n_codes)


def scaled(y, centred=True):
    """(y', centre, scale): y = centre + scale y', where |y'| is at most 1, so that squares do not overflow."""
    with np.errstate(over="ignore"):
        low, high = (y.min(axis=0), y.max(axis=0)) if centred else (-abs(y).max(axis=0), abs(y).max(axis=0))
        centre = np.where(low == high, low, low / 2 + high / 2)
        spread = (high / 2 - low / 2).max()
    if spread > 1e150:
        raise ValueError(
            f"y lies between {y.min():g} and {y.max():g}, whose squares overflow; values within 1e150 are wanted"
        )
    scale = 2.0 ** np.ceil(np.log2(spread)) if spread > 1e-150 else 1.0
    return (y - centre) / scale, centre, scale


def as_monotonic(value, d, n_outputs, n_classes):
    """monotonic_cst as int8, or None if no feature is constrained."""
    if value is None:
        return None
    unsupported = "multiple output" if n_outputs > 1 else "multiclass classification" if n_classes > 2 else None
    if unsupported:
        raise ValueError(f"Monotonicity constraints are not supported with {unsupported}")
    cst = as_array(value, "monotonic_cst")
    if cst.shape != (d,):
        size = len(cst) if cst.ndim == 1 else cst.shape
        raise ValueError(f"monotonic_cst has shape {size} but the input data X has {d} features.")
    if not np.isin(cst, (-1, 0, 1)).all():
        raise ValueError(f"monotonic_cst must be None or an array-like of -1, 0 or 1. Got {cst.tolist()}")
    return np.ascontiguousarray(cst, np.int8) if cst.any() and n_classes != 1 else None


def as_cost_matrix(value, n_classes, n_outputs):
    """The checked cost_matrix as float64, or None."""
    if value is None:
        return None
    cost = as_float64(value, "cost_matrix")
    if n_outputs > 1:
        raise ValueError(f"cost_matrix is set and y has {n_outputs} outputs; a y of one output is wanted")
    if cost.shape != (n_classes, n_classes):
        raise ValueError(f"cost_matrix has shape {cost.shape}; ({n_classes}, {n_classes}) is wanted for the classes")
    if not (np.isfinite(cost) & (cost >= 0)).all():
        raise ValueError("cost_matrix has an entry that is negative, NaN or infinite; costs from 0 up are wanted")
    return cost


def as_row_count(name, value, n, low, high):
    """The number of rows for a parameter that is a whole number or a share, in (0, high], of n rows."""
    share = isinstance(value, Real) and not hasattr(value, "__index__")
    if not (0 < value <= high if share else require_integer(name, value, -np.inf, np.inf) >= low):
        raise ValueError(
            f"The {name!r} parameter must be an int in the range [{low}, inf) or a float in the range (0.0,"
            f" 1.0{']' if high == 1 else ')'}. Got {value} instead."
        )
    return max(low, math.ceil(value * n)) if share else int(value)


def n_features_drawn(value, d):
    if value is None:
        return d
    if isinstance(value, str):
        require_choice("max_features", value, ["sqrt", "log2"])
        return max(1, int(math.sqrt(d) if value == "sqrt" else math.log2(d)))
    if isinstance(value, Real) and not hasattr(value, "__index__"):
        if not 0 < value <= 1:
            raise ValueError(f"max_features is {value}; a whole number, a share above 0 up to 1, or a name is wanted")
        return max(1, int(value * d))
    return min(d, require_integer("max_features", value, 1))


def class_weighted(class_weight, classes, codes, weight):
    """sample_weight times the weight of each row's class, or None if all are 1; classes, codes: lists over outputs."""
    if class_weight is None:
        return weight
    listed = class_weight if isinstance(class_weight, list) else [class_weight] * len(classes)
    if len(listed) != len(classes):
        raise ValueError(
            "number of elements in class_weight should match number of outputs. It has"
            f" {len(listed)} and y {len(classes)}"
        )
    if isinstance(class_weight, dict) and len(classes) > 1:
        raise ValueError("class_weight is a dict and y has several outputs; a list of dicts or 'balanced' is wanted")
    for given, labels, column in zip(listed, classes, codes):
        factors = class_factors(given, labels, np.bincount(column))
        weight = factors[column] if weight is None else weight * factors[column]
    return weight
