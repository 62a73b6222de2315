"""scikit-learn's base classes, added to the classes here once scikit-learn is loaded; this package never imports it.

Then `isinstance(model, sklearn.base.BaseEstimator)` is true, and functions that scikit-learn adds to every estimator
(its picture in a notebook, metadata routing) work. Methods that the classes here define are not replaced.
"""

import sys

# Pairs of a class and the name of its base class in scikit-learn, until they are joined.
_waiting = []


def joins(name):
    """Decorator of a class that gets scikit-learn's base class of this name."""

    def remember(cls):
        _waiting.append((cls, name))
        return cls

    return remember


def join():
    """Add scikit-learn's base classes, if scikit-learn is loaded."""
    loaded = sys.modules.get("sklearn.base")
    if loaded is None or not hasattr(loaded, "is_outlier_detector"):  # its last name: the module is complete
        return
    while _waiting:
        cls, name = _waiting.pop(0)
        base = getattr(loaded, name)
        # scikit-learn wants its mixins ahead of BaseEstimator in the order of method resolution
        cls.__bases__ = (base, *cls.__bases__) if name.endswith("Mixin") else (*cls.__bases__, base)
        if name == "BaseEstimator":  # scikit-learn adds `set_fit_request` and similar methods when a class is created
            for each in [cls, *_below(cls)]:
                base.__init_subclass__.__func__(each)


def _below(cls):
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)
