"""One snapshot a call: a public method works on a copy of the estimator's attributes, taken when it is called.

No other thread, callback, signal handler or assignment changes what a call under way reads, and no kernel is given
arrays of two fits. A method that changes the estimator replaces all of its state in one step when it has ended.
Attributes that a user has assigned are checked, by the table of state, when the next snapshot is taken.

A copy has the same arrays: whatever is reachable from a fitted attribute is never changed in place.
"""

import functools
import types

from ._state_table import DeclaredState, check_state

# The attribute that tells that a user has assigned others since the state was checked.
ASSIGNED = "_user_assigned"

# What `estimator.__dict__ = attributes` calls, past `__setattr__`.
_replace_attributes = vars(DeclaredState)["__dict__"].__set__


def is_state(name):
    """Whether an attribute of this name is fitted: the other ones are parameters and notes of the user."""
    return (name[-1] == "_" or name[0] == "_") and name != ASSIGNED


def snapshot(estimator):
    """A copy of an estimator as it is now, checked if a user has assigned attributes."""
    if ASSIGNED in estimator.__dict__:
        _check(estimator)
    return _copy(estimator)


def _copy(estimator):
    taken = object.__new__(estimator.__class__)
    _replace_attributes(taken, estimator.__dict__.copy())
    return taken


def _check(estimator):
    attributes = estimator.__dict__
    attributes.pop(ASSIGNED, None)  # before the check: an assignment meanwhile is checked by the next call
    try:
        if "n_features_in_" in attributes:
            check_state(estimator)
    except BaseException:
        attributes[ASSIGNED] = True
        raise


def on_snapshots(cls):
    """Let the public methods and properties that a class defines work on snapshots."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, types.FunctionType):
            setattr(cls, name, _changes(member) if name in cls._changing else _reads(member))
        elif isinstance(member, property):
            setattr(cls, name, property(_reads(member.fget), member.fset, member.fdel, member.__doc__))
        elif hasattr(member, "on_snapshots"):
            member.on_snapshots(_reads)


def _reads(method):
    @functools.wraps(method)
    def read(self, *args, **kwargs):
        return method(snapshot(self), *args, **kwargs)

    return read


def _changes(method):
    @functools.wraps(method)
    def change(self, *args, **kwargs):
        # a fit that starts afresh reads nothing of what was fitted or assigned before
        afresh = method.__name__.startswith("fit") and not getattr(self, "warm_start", False)
        taken = _copy(self) if afresh else snapshot(self)
        result = method(taken, *args, **kwargs)
        kept = {name: value for name, value in self.__dict__.items() if not is_state(name) and name != ASSIGNED}
        _replace_attributes(self, kept | {name: value for name, value in taken.__dict__.items() if is_state(name)})
        return self if result is taken else result

    return change
