"""Once scikit-learn is loaded, its base classes are added to the classes here; this package never imports scikit-learn.

Then `isinstance(model, sklearn.base.BaseEstimator)` is true, and functions that scikit-learn adds to every estimator
(its picture in a notebook, metadata routing) work. Methods that the classes here define are not replaced.
"""

import sys

# The modules of scikit-learn that define base classes, and the last name that each module defines. If a module has this
# name, the import of the module is complete.
_MODULES = {
    "sklearn.base": "is_outlier_detector",
    "sklearn.metrics._scorer": "_CurveScorer",
    "sklearn.neighbors._base": "RadiusNeighborsMixin",
    "sklearn.tree._classes": "ExtraTreeRegressor",
}

# Classes of fastclf that wait for a base class of scikit-learn: tuples (class, name of the base class, its module,
# whether it is only registered as a virtual base class). A tuple is removed once the base class is added.
_waiting = []


def joins(name, module="sklearn.base", virtual=False):
    """A decorator of a class that gets scikit-learn's base class of this name.

    With `virtual` the class inherits nothing, and is a subclass for `isinstance` only.
    """

    def remember(cls):
        _waiting.append((cls, name, module, virtual))
        return cls

    return remember


def join():
    """Add scikit-learn's base classes to the classes of fastclf that wait for them, if their modules are loaded."""
    for entry in list(_waiting):
        cls, name, module, virtual = entry
        loaded = sys.modules.get(module)
        if loaded is None or not hasattr(loaded, _MODULES[module]):
            continue
        _waiting.remove(entry)
        base = getattr(loaded, name)
        if virtual:
            base.register(cls)
            continue
        # scikit-learn requires its mixins ahead of BaseEstimator in the order of method resolution
        cls.__bases__ = (base, *cls.__bases__) if name.endswith("Mixin") else (*cls.__bases__, base)
        # BaseEstimator's `__init_subclass__`, which gives a new class methods such as `set_fit_request`, is called for
        # the classes that existed before they had this base class
        if name == "BaseEstimator":
            for each in [cls, *_below(cls)]:
                base.__init_subclass__.__func__(each)


def _below(cls):
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)


class NotRouted(tuple):
    """Names of a method's parameters, which scikit-learn's metadata routing ignores (in `__metadata_request__fit`)."""

    __slots__ = ()

    def items(self):
        from sklearn.utils.metadata_routing import UNUSED

        return [(name, UNUSED) for name in self]
