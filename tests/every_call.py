"""Every public method of an estimator, with right arguments, for tests that alter the fitted state."""

import copy
import inspect

import numpy as np
from every_estimator import ESTIMATORS, asked
from test_one_wrong_argument import ONESELF, TWO, right_values


def calls(name):
    """{method: function of a fitted model} for the public methods and properties of an estimator, except `fit`.

    Each function calls the method of a copy of the model.
    """
    make, rows, *targets = ESTIMATORS[name]
    fitted = make().fit(rows, *targets)
    values = TWO | {"X": rows, "queries": asked(fitted), "y": targets[0] if targets else None, "other": fitted}
    values["classes"] = None if values["y"] is None or values["y"].ndim > 1 else np.unique(values["y"])
    found = {}
    for method in dir(type(fitted)):
        member = getattr(type(fitted), method)
        if method[0] == "_" or method in ONESELF | {"fit"} or method.endswith("_request"):
            continue
        if isinstance(member, property):
            found[method] = lambda model, method=method: getattr(copy.copy(model), method)
        elif inspect.isfunction(member) and hasattr(fitted, method):
            given = right_values(getattr(fitted, method), method, values)
            given = {key: value for key, value in given.items() if value is not inspect.Parameter.empty}
            found[method] = lambda model, method=method, given=given: getattr(copy.copy(model), method)(**given)
    return found
