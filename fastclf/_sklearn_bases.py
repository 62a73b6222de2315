"""scikit-learn's base classes, joined to ours once scikit-learn is loaded: it is never imported here.

Then `isinstance(model, sklearn.base.BaseEstimator)` holds, and what scikit-learn gives every estimator (its picture in
a notebook, metadata routing) works. What our classes define themselves stays as it is.
"""

import sys

# Our class and the name of its base in scikit-learn, until they are joined.
_waiting = []


def joins(name):
    """Decorator of a class: it gets scikit-learn's base class of this name."""

    def remember(cls):
        _waiting.append((cls, name))
        return cls

    return remember


def join():
    """Give each class its base, if scikit-learn is loaded by now."""
    loaded = sys.modules.get("sklearn.base")
    if loaded is None or not hasattr(loaded, "is_outlier_detector"):  # its last name: the module is complete
        return
    while _waiting:
        cls, name = _waiting.pop(0)
        base = getattr(loaded, name)
        # scikit-learn wants its mixins ahead of BaseEstimator, and so behind nothing that has it
        cls.__bases__ = (base, *cls.__bases__) if name.endswith("Mixin") else (*cls.__bases__, base)
        if name == "BaseEstimator":  # `set_fit_request` and its like, which scikit-learn gives a class when it is made
            for each in [cls, *_below(cls)]:
                base.__init_subclass__.__func__(each)


def _below(cls):
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)
