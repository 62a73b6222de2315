"""Snapshots: a public method works on a copy of the estimator's attributes, which is made when the method is called.

No other thread, callback, signal handler or assignment can change the attributes of a call that is running, and no
kernel gets arrays of two different fits. A method that changes the estimator replaces the whole state in one step at
its end. Attributes that a user has assigned are checked, with the table of state, when the next snapshot is made.

The copy is shallow: an object reachable from a fitted attribute is never changed in place.
"""

import functools
import types

from ._state_table import DeclaredState, check_state, table_of

# The name of an attribute that exists if a user has assigned attributes since the last check: True if a fitted
# attribute was assigned, False if only parameters were.
ASSIGNED = "_user_assigned"

# A function that does `estimator.__dict__ = attributes` without a call of `__setattr__`.
_replace_attributes = vars(DeclaredState)["__dict__"].__set__


def is_state(name):
    """Whether the name is that of a fitted attribute, not of a parameter or of an attribute that a user has added."""
    return (name[-1] == "_" or name[0] == "_") and name != ASSIGNED


def snapshot(estimator):
    """A copy of an estimator in its present state, which is checked if a user has assigned attributes."""
    if ASSIGNED in estimator.__dict__:
        _check(estimator)
    return _copy(estimator)


def _copy(estimator):
    taken, attributes = object.__new__(estimator.__class__), estimator.__dict__.copy()
    if "n_features_in_" not in attributes:  # an unfitted estimator has no fitted attributes
        table = table_of(estimator.__class__)
        made = [name for name in attributes if is_state(name) and (name[-1] == "_" or name in table)]
        for name in made:
            del attributes[name]
    _replace_attributes(taken, attributes)
    return taken


def _check(estimator):
    attributes = estimator.__dict__
    fitted = attributes.get(ASSIGNED, False)
    try:
        attributes.pop(ASSIGNED, None)  # first, so that an assignment during the check is checked by the next call
        estimator._require_parameters()
        if "n_features_in_" in attributes:
            check_state(estimator, entries=fitted)
    except BaseException:
        attributes[ASSIGNED] = fitted or attributes.get(ASSIGNED, False)
        raise


def tell_assigned(estimator, name):
    """Note that a user has assigned or deleted an attribute, so that the next snapshot checks the state."""
    attributes = estimator.__dict__
    attributes[ASSIGNED] = is_state(name) or attributes.get(ASSIGNED, False)


def on_snapshots(cls):
    """Make the public methods and properties that a class defines work on snapshots."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, types.FunctionType):
            setattr(cls, name, _changes(member) if name in cls._changing else _reads(member))
        elif isinstance(member, property):
            setattr(cls, name, property(_reads(member.fget), member.fset, member.fdel, member.__doc__))
        elif hasattr(member, "on_snapshots"):
            member.on_snapshots(_reads)


def _in_words(error, method):
    """A MemoryError that names the method that needed the memory; Python's and NumPy's errors do not name it."""
    told = type(error) is MemoryError and error.args
    return error if told else MemoryError(f"{method.__qualname__} needs more memory than there is")


def _reads(method):
    @functools.wraps(method)
    def read(self, *args, **kwargs):
        taken = snapshot(self)
        try:
            return method(taken, *args, **kwargs)
        except MemoryError as error:
            raise _in_words(error, method) from error

    return read


def _changes(method):
    @functools.wraps(method)
    def change(self, *args, **kwargs):
        self._require_parameters()
        # without warm_start, a fit does not depend on attributes that were fitted or assigned before
        afresh = method.__name__.startswith("fit") and not getattr(self, "warm_start", False)
        taken = _copy(self) if afresh else snapshot(self)
        try:
            result = method(taken, *args, **kwargs)
        except MemoryError as error:
            raise _in_words(error, method) from error
        kept = {name: value for name, value in self.__dict__.items() if not is_state(name) and name != ASSIGNED}
        _replace_attributes(self, kept | {name: value for name, value in taken.__dict__.items() if is_state(name)})
        return self if result is taken else result

    return change
