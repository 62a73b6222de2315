"""Tables of fitted state: the type of each attribute of an object, and checks that all attributes fit together.

A class declares its attributes, except those of its base classes:

    class LinearClassifier(Classifier):
        _state_table = declare(
            classes_=Array("any", "n_classes", least=2),
            n_planes=SizeOf(lambda model: n_planes(model.classes_)),
            coef_=Array("float32 or float64", "n_planes", "n_features"),
        )

The first attribute with a size in its shape, such as n_classes, binds the size, and later attributes with this size
must agree. A file may have been altered, and a kernel checks neither indices nor lengths, so that a table must state
all conditions that kernels rely on. Conditions that no entry can express are checked by the method `_check_rest` of the
class. All checks raise ValueError with one sentence that names an attribute.
"""

import functools
from types import MappingProxyType

import numpy as np

from ._validation import require_integer

# The number of array entries that are checked between two checks for Ctrl-C, in a few milliseconds.
_CHECK_NUMBERS = 1 << 22


def declare(**entries):
    """A table of state: a dict of checks by the names of attributes, and of functions by the names of sizes."""
    return MappingProxyType(entries)


def where(condition, **entries):
    """Checks for a table of state that apply only to objects for which condition(object) is true."""
    for entry in entries.values():
        entry.condition = condition
    return entries


def has(name):
    """A condition for the function `where`: a function that tells whether an object has the attribute `name`."""
    return lambda owner: hasattr(owner, name)


def or_none(entry):
    """Let an entry of a table of state, which checks one attribute, also allow None; returns the entry."""
    entry.optional = True
    return entry


class DeclaredState:
    """The base of classes whose attributes are declared by tables."""

    _state_table = declare()

    def _check_state(self, entries=True):
        """Refuse attributes that do not fit together, for example from an altered file.

        With `entries` the contents of arrays are checked too; without, only types, dtypes and shapes are, in O(1) per
        attribute.
        """
        sizes = {}
        check_each(self, table_of(type(self)), sizes, entries)
        self._check_rest(sizes, entries)

    def _check_rest(self, sizes, entries):
        """Check conditions that no entry of the table can express; for subclasses to override."""

    def _require_fitted(self):
        """A hook for subclasses: refuse an object that is not fitted."""


def check_state(owner, entries=True):
    """Check the state of an object; any exception of a check becomes a ValueError of one sentence."""
    try:
        owner._check_state(entries)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        what = f"an attribute of the fitted {type(owner).__name__}"
        raise ValueError(f"{what} is not what a fit makes ({type(error).__name__}: {error})") from error


@functools.cache
def table_of(cls):
    """The table with all entries of a class and its base classes; entries of the base classes come first."""
    table = {}
    for base in reversed(cls.__mro__):
        table |= vars(base).get("_state_table", {})
    return table


def check_each(owner, table, sizes, entries, whole=None):
    """Check an object's attributes by a table; if `whole` is given, check a dict, which messages call by this name."""
    for name, entry in table.items():
        if entry.condition is not None and not entry.condition(owner):
            continue
        if isinstance(entry, SizeOf):
            sizes[name] = require_integer(name, entry.function(owner), 0)
        elif whole is None:
            if not hasattr(owner, name):
                raise ValueError(f"{name} of the {type(owner).__name__} is missing")
            # the contents of an attribute whose check has a condition are always checked: a parameter that a user has
            # assigned may have made the condition true, so that they were never checked before
            entry.check(name, getattr(owner, name), sizes, entries or entry.condition is not None)
        else:
            entry.check(f"{whole}[{name!r}]", owner[name], sizes, entries or entry.condition is not None)


class Entry:
    """The type of an attribute. A subclass defines `require`, which refuses values of another type."""

    condition, optional = None, False

    def check(self, name, value, sizes, entries):
        if value is not None or not self.optional:
            self.require(name, value, sizes, entries)


class Array(Entry):
    """A contiguous array in C order or, with `any_order`, in Fortran order, too.

    `dtypes` has the names of its possible dtypes, with " or " between them, or is "any".

    The length of each axis is a number, the name of a size, or None for any length; it is at least `least`. With
    `below`, a number or a size, all entries are indices from 0 to below - 1. With `ascends` each entry is larger than
    the one before.
    """

    def __init__(self, dtypes, *shape, least=0, below=None, ascends=False, any_order=False):
        self.names, self.shape, self.least, self.below, self.ascends = dtypes, shape, least, below, ascends
        self.any_order = any_order
        self.dtypes = None if dtypes == "any" else tuple(map(np.dtype, dtypes.split(" or ")))

    def require(self, name, value, sizes, entries):
        if not isinstance(value, np.ndarray) or (self.dtypes is not None and value.dtype not in self.dtypes):
            wanted = "an array" if self.dtypes is None else f"an array of dtype {self.names}"
            came = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise ValueError(f"{name} is {came}; {wanted} is wanted")
        require_shape(name, value.shape, self.shape, sizes)
        if self.least and min(value.shape) < self.least:
            raise ValueError(f"{name} has shape {value.shape}; a length of at least {self.least} is wanted")
        if not (value.flags.c_contiguous or (self.any_order and value.flags.f_contiguous)):
            raise ValueError(f"{name} is not contiguous; an array in C order is wanted")
        if entries and self.below is not None:
            require_positions(name, value, sizes.get(self.below, self.below))
        if entries and self.ascends and not (value[1:] > value[:-1]).all():
            raise ValueError(f"{name} has entries that do not ascend; ascending entries are wanted")


class Names(Array):
    """The check of an attribute that is an array of strings of any length."""

    def __init__(self, *shape):
        super().__init__("object", *shape)

    def require(self, name, value, sizes, entries):
        super().require(name, value, sizes, entries)
        if entries and not all(isinstance(each, str) for each in value.ravel().tolist()):
            raise ValueError(f"{name} has an entry that is no string; strings are wanted")


class Starts(Entry):
    """An int64 array of the starts of consecutive lists of entries, and of the end of the last list.

    `lists` and `entries` are the names of sizes: the numbers of lists and of entries. With `full` no list is empty, and
    each entry belongs to a list.
    """

    def __init__(self, lists, entries, least=0, full=False):
        self.lists, self.entries, self.least, self.full = lists, entries, least, full

    def require(self, name, value, sizes, entries):
        Array("int64", None, least=1 + self.least).require(name, value, sizes, entries)
        if len(value) != 1 + sizes.setdefault(self.lists, len(value) - 1):
            raise ValueError(f"{name} has shape {value.shape}; ({1 + sizes[self.lists]},) is wanted")
        if entries:
            n = sizes[self.entries]
            rises = value[1:] > value[:-1] if self.full else value[1:] >= value[:-1]
            if value[0] != 0 or not rises.all() or value[-1] > n or (self.full and value[-1] != n):
                raise ValueError(f"{name} has an entry outside of 0 to {n}, or does not ascend")


class Size(Entry):
    """The check of an integer attribute from `low` to `high`, which defines or must equal the size named `size`."""

    def __init__(self, size, low=1, high=None):
        self.size, self.low, self.high = size, low, high

    def require(self, name, value, sizes, entries):
        require_integer(name, value, self.low, self.high)
        if sizes.setdefault(self.size, value) != value:
            raise ValueError(f"{name} is {value}; {sizes[self.size]} is wanted")


class SizeOf(Entry):
    """A size that is no attribute, but is computed from attributes by function(object)."""

    def __init__(self, function):
        self.function = function


class Value(Entry):
    """A value that function(name, value, *limits) accepts.

    The function is, for example, `require_integer` or `require_choice`.
    """

    def __init__(self, function, *limits):
        self.function, self.limits = function, limits

    def require(self, name, value, sizes, entries):
        self.function(name, value, *self.limits)


class Instance(Entry):
    """An object of a class, whose own check is called, or a NamedTuple, whose table is checked with the known sizes.

    `shape`, if given, is the object's shape, as for `Array`.
    """

    def __init__(self, cls, *shape):
        self.cls, self.shape = cls, shape

    def require(self, name, value, sizes, entries):
        if not isinstance(value, self.cls):
            raise ValueError(f"{name} is a {type(value).__name__}; a {self.cls.__name__} is wanted")
        if self.shape:
            require_shape(name, value.shape, self.shape, sizes)
        if isinstance(value, DeclaredState):
            value._require_fitted()
        elif isinstance(value, tuple):
            check_each(value, table_of(self.cls), sizes, entries)


class Part(Entry):
    """The check of an attribute that is a fitted estimator: of the class `cls`, or a foreign object with `method`."""

    def __init__(self, cls, method):
        self.instance, self.method = Instance(cls), method

    def require(self, name, value, sizes, entries):
        if isinstance(value, DeclaredState) or not hasattr(value, self.method):
            self.instance.require(name, value, sizes, entries)


class List(Entry):
    """The check of an attribute that is a list of the given length (None: any), whose items all pass one check."""

    def __init__(self, length, entry):
        self.length, self.entry = length, entry

    def require(self, name, value, sizes, entries):
        if type(value) is not list:
            raise ValueError(f"{name} is a {type(value).__name__}; a list is wanted")
        require_shape(name, (len(value),), (self.length,), sizes)
        for i, item in enumerate(value):
            self.entry.check(f"{name}[{i}]", item, sizes, entries)


class Dict(Entry):
    """The check of a dict whose keys are those of a table of checks; sizes that its values define hold in it alone."""

    def __init__(self, **table):
        self.table = table
        self.names = {name for name, entry in table.items() if not isinstance(entry, SizeOf)}

    def require(self, name, value, sizes, entries):
        if type(value) is not dict or set(value) != self.names:
            raise ValueError(f"{name} is not a dict with the keys {', '.join(sorted(self.names))}, which is wanted")
        check_each(value, self.table, dict(sizes), entries, name)


def require_shape(name, came, wanted, sizes):
    """Refuse a shape that differs from `wanted`, a tuple of numbers, names of sizes, and None for any length.

    Sizes that are unknown so far are bound.
    """
    if len(came) == len(wanted):
        for length, size in zip(came, wanted):
            if size is not None and length != (sizes.setdefault(size, length) if isinstance(size, str) else size):
                break
        else:
            return
    shown = str(tuple(sizes.get(size, size) for size in wanted)).replace("None", "any").replace("'", "")
    raise ValueError(f"{name} has shape {came}; {shown} is wanted")


def require_positions(name, array, end):
    """Refuse an array of integers with an entry outside [0, end)."""
    # read as unsigned, negative entries are large, so that the comparison with the end finds them as well
    unsigned = array.view(f"u{array.itemsize}").ravel()
    for start in range(0, unsigned.size, _CHECK_NUMBERS):
        if unsigned[start : start + _CHECK_NUMBERS].max() >= end:
            raise ValueError(f"{name} has an entry outside of 0 to {end - 1}; entries in this range are wanted")


def require_same(name, owner, part):
    """Refuse an attribute of `owner` that differs from the same attribute of `part`, a fitted object in `owner`."""
    value, wanted = getattr(owner, name), getattr(getattr(owner, part), name)
    if type(value) is not type(wanted) or not np.array_equal(value, wanted):
        raise ValueError(f"{name} is {value!r}; {wanted!r} is wanted, as {part} has it")
