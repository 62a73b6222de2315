"""The parameters of trees, checked, as the numbers that growing takes."""

import math
from numbers import Real

import numpy as np

from ._validation import require_choice, require_integer, require_number


def one_column(y):
    if y.ndim == 2:
        raise ValueError(f"y has shape {y.shape}; one output, of shape (n_samples,), is wanted")
    return y


def scaled(y):
    """(y', centre, scale): y = centre + scale y' with y' at most 1 in size, whose squares do not overflow."""
    with np.errstate(over="ignore"):
        low, high = y.min(), y.max()
        centre = low if low == high else low / 2 + high / 2
        spread = high / 2 - low / 2
    if spread > 1e150:
        raise ValueError(f"y lies between {low:g} and {high:g}, whose squares overflow; values within 1e150 are wanted")
    scale = 2.0 ** np.ceil(np.log2(spread)) if spread > 1e-150 else 1.0
    return (y - centre) / scale, centre, scale


def as_row_count(name, value, n, low, high):
    """A number of rows from a whole number or from a share of n rows, in (0, high]."""
    if isinstance(value, Real) and not hasattr(value, "__index__"):
        if not 0 < value <= high:
            raise ValueError(f"{name} is {value}; a whole number of at least {low} or a share from 0 to 1 is wanted")
        return max(low, math.ceil(value * n))
    return require_integer(name, value, low)


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


def as_seed(random_state):
    """A whole number of 64 bits."""
    if random_state is None:
        return int(np.random.default_rng().integers(1 << 63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 63))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(1 << 31))
    return require_integer("random_state", random_state, 0) & ((1 << 63) - 1)


def class_weighted(class_weight, classes, codes, weight):
    """sample_weight times the weight of each row's class; None: all are 1."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, str):
        require_choice("class_weight", class_weight, ["balanced"])
        factors = len(codes) / (len(classes) * np.bincount(codes, minlength=len(classes)))
    elif isinstance(class_weight, dict):
        known = {label: i for i, label in enumerate(classes.tolist())}
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is no label of y; labels of y are wanted")
        factors = np.ones(len(classes))
        for label, factor in class_weight.items():
            factors[known[label]] = require_number(f"class_weight[{label!r}]", factor, 0)
    else:
        raise TypeError(f"class_weight is {class_weight!r}; a dict, 'balanced' or None is wanted")
    if not np.isfinite(factors).all():
        raise ValueError(f"class_weight is {class_weight!r}; finite weights are wanted")
    return factors[codes] if weight is None else weight * factors[codes]
