"""The types of parameters follow from their names and defaults, and are checked before a method reads any parameter.

`fit` checks further conditions itself. If another method than `fit` reads a parameter, its further conditions are
checked by the method `_require_parameters` of the class.
"""

import functools
import inspect
from numbers import Real

import numpy as np

from ._validation import described

# The names of the parameters that may be arrays, lists, dicts, functions or objects; all others are numbers, strings or
# None.
_COMPOUND = {
    "Cs",
    "alpha",
    "alphas",
    "bounds",
    "callback",
    "categorical_features",
    "categories",
    "class_prior",
    "class_weight",
    "cost_matrix",
    "cv",
    "date_orders",
    "degree",
    "distributions",
    "drop",
    "dtype",
    "estimator",
    "evidence",
    "feature_map",
    "feature_name_combiner",
    "functions",
    "kernel",
    "kernel_params",
    "kernel_dtype",
    "l1_ratios",
    "metric",
    "metric_params",
    "min_categories",
    "model",
    "models",
    "monotonic_cst",
    "names",
    "outlier_label",
    "param_distributions",
    "param_grid",
    "pos_label",
    "prior",
    "priors",
    "random_state",
    "reading",
    "refit",
    "scoring",
    "thresholds",
    "weights",
}

# Pairs (parameter, value): values by which scikit-learn marks parameters that it is about to drop; they mean False.
_GIVEN_UP = {("probability", "deprecated")}

_SCALARS = (type(None), str, Real, np.bool_)


@functools.cache
def _checked(cls):
    """(names of a class's bool parameters; {name of a parameter for numbers or strings: the wanted type in words})."""
    ours = next(each for each in cls.__mro__ if each.__module__.partition(".")[0] == __package__)
    parameters = inspect.signature(ours.__init__).parameters.values()
    switches = [each.name for each in parameters if isinstance(each.default, bool) and each.name not in _COMPOUND]
    scalars = [each for each in parameters if each.name not in {"self", *switches} | _COMPOUND]
    return switches, {
        each.name: "a number" if isinstance(each.default, Real) else "a number, a string or None" for each in scalars
    }


def check_parameters(estimator):
    """Refuse parameters of wrong types: truth values must be bools, and numbers must compare with numbers."""
    switches, scalars = _checked(type(estimator))
    attributes = vars(estimator)
    for name in switches:
        value = attributes.get(name)
        if isinstance(value, str) and (name, value) in _GIVEN_UP:
            continue
        if value is not True and value is not False and not (isinstance(value, (Real, np.bool_)) and value in (0, 1)):
            raise TypeError(f"{name} is {described(value)}; True or False is wanted")
    for name, wanted in scalars.items():
        if not isinstance(attributes.get(name), _SCALARS):
            raise TypeError(f"{name} is {described(attributes[name])}; {wanted} is wanted")
