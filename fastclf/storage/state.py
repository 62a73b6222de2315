"""Conversion of objects to JSON and arrays, and back; only the types named here can be stored in a file.

An object becomes the name of its class and all its attributes. An attribute is a number, a string, an array, a list,
tuple or dict of attributes, or an object of a class that is named here. Anything else is refused, so that a new
attribute is either stored without further code, or its type is reported when the first estimator with it is saved.

In JSON a string, a bool, an int, None and a list are themselves, and everything else is a dict with one tag: {"float":
hex}, {"scalar": [dtype, hex]}, {"array": number}, {"transposed": {"array": number}} for a matrix in Fortran order,
{"ordered": [byte order, {"array": number}]} for an array in another byte order than this machine's, {"objects": [shape,
values]}, {"tuple": list}, {"dict": dict}, {"items": [[key, value], ...]} for a dict with keys that are not strings,
{"object": [class, attributes]}.
"""

import math
import re
import sys
from importlib import import_module

import numpy as np

import fastclf

from .._estimator import Estimator

# The classes, in addition to the public estimators, that a file may hold: their names in files, and their places in the
# package. The method `_check_state` of `DeclaredState` refuses attributes that do not fit together. A NamedTuple, which
# has no such method, is checked by the object that has it as an attribute.
_CLASSES = {
    "Bits": "neighbors.packed_bits.Bits",
    "Cells": "neighbors.cells.Cells",
    "Coder": "neighbors.code_filter.Coder",
    "Columns": "neighbors.inverted_index.Columns",
    "Csr": "_csr.Csr",
    "Formula": "neighbors.formulas.Formula",
    "Filter": "neighbors.code_filter.Filter",
    "Maker": "neighbors.choose_index.Maker",
    "Metric": "neighbors.metrics.Metric",
    "Missing": "neighbors.missing_values.Missing",
    "PackedRows": "neighbors.packed_bits.PackedRows",
    "Precomputed": "neighbors.precomputed.Precomputed",
    "Room": "neighbors.living_rows.SpareRows",
    "RowIds": "neighbors.row_ids.RowIds",
    "Scan": "neighbors.scan.Scan",
    "Segments": "neighbors.living_rows.Segments",
    "Sparse": "neighbors.inverted_index.Sparse",
    "Tree": "neighbors.kdtree.Tree",
}

_TAGS = {path.rpartition(".")[2]: tag for tag, path in _CLASSES.items()}

# Regular expressions for the names of dtypes in a file. Strings of width 0 are excluded, because they have no bytes.
_NUMBERS = r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<[mM]8\[\d{0,6}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]"
_STRINGS = r"<U[1-9]\d{0,7}|\|S[1-9]\d{0,7}"

# The types that the entries of an array of objects may have in a file.
_ITEMS = frozenset([bool, int, float, str, np.str_, type(None)])


def find_class(name):
    """The class with the given name, or None if a file may not hold its objects."""
    if name in _CLASSES:
        module, _, attribute = _CLASSES[name].rpartition(".")
        return getattr(import_module(f"fastclf.{module}"), attribute)
    found = getattr(fastclf, name) if name in fastclf.__all__ else None
    return found if isinstance(found, type) and issubclass(found, Estimator) and found._can_be_saved else None


def dtype_name(dtype, kinds=f"{_NUMBERS}|{_STRINGS}"):
    """The name of a dtype in a file, or None if a file cannot hold arrays of this dtype."""
    name = dtype.newbyteorder("<").str
    return name if re.fullmatch(kinds, name, re.ASCII) else None


def _dtype(name, kinds=f"{_NUMBERS}|{_STRINGS}"):
    if not re.fullmatch(kinds, _require(str, name), re.ASCII):
        raise ValueError(f"the header names the dtype {name!r}; one that a file can hold is wanted")
    return np.dtype(name)


def encode(value, name):
    """Convert a value, called `name` in messages, to (JSON tree, arrays); an array that occurs twice is listed once."""
    arrays, numbers = [], {}

    def refuse(value, name):
        what = f"{value!r}, a function" if callable(value) else f"of type {type(value).__name__}"
        raise TypeError(f"{name} is {what}, which a file cannot hold; numbers, strings and arrays are wanted")

    def array(value, name):
        if value.dtype == object:
            values = value.ravel().tolist()
            for item in values:
                if type(item) not in _ITEMS:
                    refuse(item, f"an entry of {name}")
            return {"objects": [list(value.shape), [tree(item, name) for item in values]]}
        if dtype_name(value.dtype) is None:
            raise TypeError(
                f"{name} is an array of dtype {value.dtype}, which a file cannot hold; numbers, bools, strings of fixed"
                " width or times are wanted"
            )
        turned = value.ndim == 2 and value.flags.fnc and value.dtype.isnative
        if id(value) not in numbers:
            numbers[id(value)] = len(arrays)
            arrays.append(value.T if turned else value)
        if not value.dtype.isnative:
            return {"ordered": ["<" if sys.byteorder == "big" else ">", {"array": numbers[id(value)]}]}
        return {"transposed": {"array": numbers[id(value)]}} if turned else {"array": numbers[id(value)]}

    def tree(value, name):
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is np.str_:
            return str(value)
        if kind is float:
            return {"float": value.hex()}
        if kind in (list, tuple):
            items = [tree(item, f"{name}[{i}]") for i, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: tree(item, f"{name}[{key!r}]") for key, item in value.items()}}
        if kind is dict:
            return {"items": [[tree(key, f"a key of {name}"), tree(item, name)] for key, item in value.items()]}
        if kind in (np.ndarray, np.memmap):
            return array(value, name)
        if isinstance(value, np.generic) and dtype_name(value.dtype, _NUMBERS) is not None:
            dtype = dtype_name(value.dtype)
            return {"scalar": [dtype, np.asarray(value, dtype).tobytes().hex()]}
        # files name the base class of a class from `fastclf.sklearn`, because the subclass is made anew by each process
        if kind.__module__ == "fastclf.sklearn":
            kind = kind.__base__
        tag = _TAGS.get(kind.__name__, kind.__name__)
        if find_class(tag) is not kind:
            refuse(value, name)
        attributes = value._asdict() if isinstance(value, tuple) else value.__getstate__()
        if not isinstance(value, tuple):
            _restored(kind, attributes)  # this call raises an error if `load` would refuse the object
        prefix = "" if value is root else f"{name}."
        return {"object": [tag, {key: tree(item, prefix + key) for key, item in attributes.items()}]}

    root = value
    return tree(value, name), arrays


def decode(tree, arrays):
    """The value of a JSON tree, which refers to `arrays` by number; an altered tree raises ValueError."""
    if tree is None or type(tree) in (bool, int, str):
        return tree
    if type(tree) is list:
        return [decode(item, arrays) for item in tree]
    if type(tree) is not dict or len(tree) != 1:
        raise ValueError("the header has an entry of no known kind")
    [(tag, content)] = tree.items()
    if tag == "float":
        return float.fromhex(content)
    if tag == "tuple":
        return tuple(decode(_require(list, content), arrays))
    if tag == "dict":
        return {key: decode(item, arrays) for key, item in _require(dict, content).items()}
    if tag == "items":
        pairs = [_require(list, pair) for pair in _require(list, content)]
        return {decode(key, arrays): decode(item, arrays) for key, item in pairs}
    if tag == "array":
        if not 0 <= _require(int, content) < len(arrays):
            raise ValueError(f"the header names array {content}; the file has {len(arrays)}, numbered from 0")
        return arrays[content]
    if tag == "transposed":
        array = decode(_require(dict, content), arrays)
        if not isinstance(array, np.ndarray):
            raise ValueError("the header has a 'transposed' entry without an array; one is wanted")
        return array.T
    first, second = _require(list, content)
    if tag == "ordered":
        array = decode(second, arrays)
        if first not in ("<", ">") or not isinstance(array, np.ndarray):
            raise ValueError("the header has an 'ordered' entry without a byte order or an array; both are wanted")
        array = array.astype(array.dtype.newbyteorder(first))
        array.flags.writeable = False
        return array
    if tag == "scalar":
        dtype = _dtype(first, _NUMBERS)
        [value] = view(np.frombuffer(bytes.fromhex(second), np.uint8), dtype, [1], 0, dtype.itemsize)
        return value
    if tag == "objects":
        values = decode(_require(list, second), arrays)
        flat = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            flat[i] = value
        return flat.reshape([_require(int, length) for length in first])
    if tag == "object":
        return _make(first, {key: decode(item, arrays) for key, item in _require(dict, second).items()})
    raise ValueError("the header has an entry of no known kind")


def _make(name, attributes):
    """An object of the class that a file calls `name`, with these attributes, after a check that they fit together."""
    cls = find_class(_require(str, name))
    if cls is None:
        raise ValueError(f"the file holds a {name!r}, which fastclf {fastclf.__version__} does not know")
    if issubclass(cls, tuple):
        return cls(**attributes)
    return _restored(cls, attributes)


def _restored(cls, attributes):
    # an estimator is created with default parameters first, because an older file may lack some parameters
    made = cls() if issubclass(cls, Estimator) else cls.__new__(cls)
    if hasattr(cls, "__setstate__") and not issubclass(cls, Estimator):
        made.__setstate__(attributes)
    else:
        vars(made).update(attributes)
    if not _is_template(made, attributes):
        if isinstance(made, Estimator):
            made._require_parameters()
        cls._check_state(made)
    return made


def _is_template(value, attributes):
    """Whether the value is an unfitted estimator, which may be a parameter of another estimator."""
    return isinstance(value, Estimator) and "n_features_in_" not in attributes


def _require(kind, value):
    if type(value) is not kind:
        raise ValueError(f"the header has a {type(value).__name__}; a {kind.__name__} is wanted in its place")
    return value


def list_arrays(arrays):
    """The list of arrays in the header: [dtype, shape] of each."""
    return [[dtype_name(array.dtype), list(array.shape)] for array in arrays]


def layout(listed, start):
    """Yield (dtype, shape, first byte, last byte + 1) of each listed array; the first array comes after byte `start`.

    Each array begins at a multiple of 64, so that a kernel's vectors lie in whole cache lines.
    """
    for entry in _require(list, listed):
        name, shape = _require(list, entry)
        dtype = _dtype(name)
        shape = [_require(int, length) for length in _require(list, shape)]
        # an axis of length 0 counts as 1, because NumPy refuses an array whose other axes are too large together
        if len(shape) > 32 or any(n < 0 for n in shape) or dtype.itemsize * math.prod(n or 1 for n in shape) >= 1 << 62:
            raise ValueError("the header has an array of an impossible shape; up to 32 axes and 2^62 bytes are wanted")
        start += -start % 64
        stop = start + dtype.itemsize * math.prod(shape)
        yield dtype, tuple(shape), start, stop
        start = stop


def view(raw, dtype, shape, start, stop):
    """The bytes start..stop of `raw` as an array in this machine's byte order.

    Bytes that stand for no value of the dtype are refused.
    """
    array = raw[start:stop].view(dtype).reshape(shape)
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError("an array of bools holds a byte above 1; 0 and 1 are wanted")
    if dtype.kind == "U" and (raw[start:stop].view("<u4") > 0x10FFFF).any():
        raise ValueError("an array of strings holds an invalid character; Unicode characters are wanted")
    if not array.dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
        array.flags.writeable = False
    return array
