"""What a parameter of an estimator may be, by its name and default: checked before a method reads any.

What a fit asks of a parameter beyond that is checked there, and what another method reads once more by the
`_require_parameters` of a class.
"""

import functools
import inspect
from numbers import Real

import numpy as np

from ._validation import described

# Parameters that may be arrays, lists, dicts, functions or objects; all others are numbers, strings or None.
_COMPOUND = {
    "alpha",
    "bounds",
    "callback",
    "categorical_features",
    "categories",
    "class_prior",
    "class_weight",
    "cost_matrix",
    "cv",
    "degree",
    "distributions",
    "drop",
    "dtype",
    "estimator",
    "evidence",
    "feature_map",
    "feature_name_combiner",
    "kernel",
    "kernel_dtype",
    "metric",
    "metric_params",
    "min_categories",
    "model",
    "models",
    "monotonic_cst",
    "names",
    "prior",
    "priors",
    "random_state",
    "weights",
}

_SCALARS = (type(None), str, Real, np.bool_)


@functools.cache
def _checked(cls):
    """(names of parameters that are True or False, {name: what is wanted} of those that are numbers or strings)."""
    ours = next(each for each in cls.__mro__ if each.__module__.partition(".")[0] == __package__)
    parameters = inspect.signature(ours.__init__).parameters.values()
    switches = [each.name for each in parameters if isinstance(each.default, bool)]
    scalars = [each for each in parameters if each.name not in {"self", *switches} | _COMPOUND]
    return switches, {
        each.name: "a number" if isinstance(each.default, Real) else "a number, a string or None" for each in scalars
    }


def check_parameters(estimator):
    """Refuse parameters whose truth or size cannot even be asked."""
    switches, scalars = _checked(type(estimator))
    attributes = vars(estimator)
    for name in switches:
        value = attributes.get(name)
        if value is not True and value is not False and not (isinstance(value, (Real, np.bool_)) and value in (0, 1)):
            raise TypeError(f"{name} is {described(value)}; True or False is wanted")
    for name, wanted in scalars.items():
        if not isinstance(attributes.get(name), _SCALARS):
            raise TypeError(f"{name} is {described(attributes[name])}; {wanted} is wanted")
