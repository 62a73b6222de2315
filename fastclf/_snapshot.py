"""Snapshots: a public method works on a copy of the estimator's attributes, which is made when the method is called.

No other thread, callback, signal handler or assignment can change the attributes of a call that is running, and no
kernel gets arrays of two different fits. A method that changes the estimator replaces the whole state in one step at
its end. Attributes that a user has assigned are checked, with the table of state, when the next snapshot is made.

The copy is shallow: an object reachable from a fitted attribute is never changed in place.
"""

import functools
import types

from numpy.linalg import LinAlgError

from ._exceptions import name_column
from ._state_table import DeclaredState, check_state, table_of
from ._validation import feature_names

# The name of a slot that says what a user has assigned since the last check: True if a fitted attribute was assigned,
# False if only parameters were, None (or no value, which takes longer to find out) if nothing was. The slot is not in
# `__dict__`, which other tools compare and save.
ASSIGNED = "_user_assigned"

# A function that does `estimator.__dict__ = attributes` without `__setattr__`, which would mark a user's assignment.
_replace_attributes = vars(DeclaredState)["__dict__"].__set__


def is_state(name):
    """Whether an attribute of this name is part of the fitted state, and is not a parameter."""
    return name[-1] == "_" or name[0] == "_"


def is_fitted(cls, name):
    """Whether `name` is a fitted attribute that fits of the class set; other attributes may come from a subclass."""
    return is_state(name) and (name in cls._fitted_names or name in table_of(cls))


def snapshot(estimator):
    """A copy of an estimator in its present state, which is checked first if a user has assigned attributes."""
    if getattr(estimator, ASSIGNED, None) is not None:
        _check(estimator)
    return _copy(estimator)


def _copy(estimator):
    taken, attributes = object.__new__(estimator.__class__), estimator.__dict__.copy()
    estimator._adapt(attributes)
    # the snapshot of an estimator that was never fitted gets no fitted attributes, even if a user has assigned some
    if estimator._mark_of_fit not in attributes:
        for name in [name for name in attributes if is_fitted(estimator.__class__, name)]:
            del attributes[name]
    _replace_attributes(taken, attributes)
    return taken


def _check(estimator):
    # the mark "attributes were assigned" is removed before the attributes are checked: an assignment by another thread
    # during the check sets the mark again, so that the next call checks once more
    fitted = _take_mark(estimator)
    try:
        estimator._require_parameters()
        taken = _copy(estimator)
        if estimator._mark_of_fit in taken.__dict__:
            check_state(taken, entries=fitted)
    except BaseException:
        mark_assigned(estimator, fitted)
        raise


def _take_mark(estimator):
    """Remove the estimator's mark of a user's assignment and return it; False if there is no mark."""
    fitted = getattr(estimator, ASSIGNED, None) or False
    object.__setattr__(estimator, ASSIGNED, None)
    return fitted


def mark_assigned(estimator, fitted):
    """Mark an estimator, so that its next snapshot checks its parameters and, if `fitted`, its arrays' contents."""
    object.__setattr__(estimator, ASSIGNED, fitted or getattr(estimator, ASSIGNED, None) or False)


def tell_assigned(estimator, name):
    """Mark that a user has set or deleted the attribute `name`, so that the next snapshot checks the state."""
    mark_assigned(estimator, is_state(name))


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
    """An exception that names the method, in place of NumPy's MemoryError or LinAlgError, which does not name it."""
    if isinstance(error, LinAlgError):
        what = "comes to a system of equations that has no solution in float64"
        return ValueError(f"{method.__qualname__} {what} ({error}); columns of similar scales are wanted")
    told = type(error) is MemoryError and error.args
    return error if told else MemoryError(f"{method.__qualname__} needs more memory than there is")


def _name_column(error, args, kwargs):
    """If X, among the arguments of a method, is a table, put its column's name into an error about a column."""
    if hasattr(error, "column"):
        name_column(error, feature_names(args[0] if args else kwargs.get("X")))


def _reads(method):
    @functools.wraps(method)
    def read(self, *args, **kwargs):
        taken = snapshot(self)
        try:
            return method(taken, *args, **kwargs)
        except (MemoryError, LinAlgError) as error:
            raise _in_words(error, method) from error
        except (TypeError, ValueError) as error:
            _name_column(error, args, kwargs)
            raise
        finally:
            if not self._is_ours:
                _keep_added(self, taken)

    return read


def _keep_added(estimator, taken):
    """Copy back to the estimator the attributes that methods of a user's subclass have set on a snapshot of it."""
    for name, value in taken.__dict__.items():
        known = estimator.__dict__.get(name, estimator)
        if known is not value and not is_fitted(estimator.__class__, name) and name not in estimator._parameter_names():
            estimator.__dict__[name] = value


def _changes(method):
    @functools.wraps(method)
    def change(self, *args, **kwargs):
        self._require_parameters()
        # a fit without warm_start does not read fitted attributes, so that those assigned by a user are not checked
        afresh = method.__name__.startswith("fit") and not getattr(self, "warm_start", False)
        taken = _copy(self) if afresh else snapshot(self)
        try:
            result = method(taken, *args, **kwargs)
        except (MemoryError, LinAlgError) as error:
            raise _in_words(error, method) from error
        except (TypeError, ValueError) as error:
            _name_column(error, args, kwargs)
            raise
        kept = {name: value for name, value in self.__dict__.items() if not is_state(name)}
        _replace_attributes(self, kept | {name: value for name, value in taken.__dict__.items() if is_state(name)})
        _take_mark(self)
        if not self._is_ours:
            _keep_added(self, taken)
        return self if result is taken else result

    return change
