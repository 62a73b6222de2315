"""ONNX files, made of pieces, so that Ctrl-C is obeyed between two pieces of a large model.

An ONNX file is a message of Protocol Buffers. The content of a message is a list of pieces, which are bytes; a message
within a message is a field, whose content follows its length. The package onnx makes the small messages; the arrays and
the long attributes of a model are not copied through it, because each of its copies is one long call.
"""

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

from .._threads import map_rows

# The numbers of the fields of a message, from onnx.proto.
_GRAPH = ModelProto.GRAPH_FIELD_NUMBER
_NODE, _INITIALIZER = GraphProto.NODE_FIELD_NUMBER, GraphProto.INITIALIZER_FIELD_NUMBER
_ATTRIBUTE = NodeProto.ATTRIBUTE_FIELD_NUMBER
_TENSOR, _RAW_DATA = AttributeProto.T_FIELD_NUMBER, TensorProto.RAW_DATA_FIELD_NUMBER

# The number of items of an attribute in a piece, and the number of bytes that are written at once.
_ITEMS, _BYTES = 1 << 14, 1 << 22

# The largest number of bytes of a message of Protocol Buffers.
_MOST_BYTES = (1 << 31) - 1


class Node:
    """An operator: `checked` is a NodeProto whose lists and tensors are cut, and `pieces` the content of the whole."""

    def __init__(self, operator, inputs, output, domain, attributes):
        listed = {name: value for name, value in attributes.items() if isinstance(value, (list, np.ndarray))}
        short = {name: value for name, value in attributes.items() if name not in listed}
        node = helper.make_node(operator, inputs, [output], domain=domain, **short)
        self.pieces = [node.SerializeToString()]
        for name, value in sorted(listed.items()):
            if name.endswith("_as_tensor"):
                pieces, example = _tensor_attribute(name, value), _example(value, name)
            else:
                pieces, example = _list_attribute(name, value), _items(value[:1])
            self.pieces += _field(_ATTRIBUTE, pieces)
            node.attribute.append(helper.make_attribute(name, example))
        self.checked = node


class Constant:
    """An array: `checked` is a TensorProto with one of its numbers, and `pieces` the content of the whole."""

    def __init__(self, array, name):
        self.checked, self.pieces = _example(array, name), _tensor(array, name)


def write(path, graph, nodes, constants, **about):
    """Write an ONNX model, after a check by the package onnx.

    graph: a GraphProto without the lists `nodes` of Nodes and `constants` of Constants; about: arguments of
    onnx.helper.make_model.
    """
    rest = graph.SerializeToString()
    graph.node.extend(node.checked for node in nodes)
    graph.initializer.extend(constant.checked for constant in constants)
    model = helper.make_model(graph, **about)
    checker.check_model(model)
    model.ClearField("graph")
    content = [rest]
    for number, messages in ((_NODE, nodes), (_INITIALIZER, constants)):
        for message in messages:
            content += _field(number, message.pieces)
    pieces = [model.SerializeToString(), *_field(_GRAPH, content)]
    size = sum(map(len, pieces))
    if size > _MOST_BYTES:
        raise ValueError(f"model takes {size} bytes as an ONNX graph; at most {_MOST_BYTES} can be written")
    with path.open("wb") as file:
        for piece in pieces:
            for start in range(0, len(piece), _BYTES):
                file.write(memoryview(piece)[start : start + _BYTES])


def _field(number, content):
    """The pieces of a field that is a message or bytes."""
    return [_varint(number << 3 | 2) + _varint(sum(map(len, content))), *content]


def _varint(number):
    """A number in base 128, the lowest digit first; all digits but the last have their highest bit set."""
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def _tensor(array, name):
    if array.dtype.kind in "OU":
        return [numpy_helper.from_array(array, name).SerializeToString()]
    if not array.flags.c_contiguous:
        array = map_rows(np.ascontiguousarray, array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    head = TensorProto(name=name, dims=array.shape, data_type=kind).SerializeToString()
    return [head, *_field(_RAW_DATA, [memoryview(array.reshape(-1).view(np.uint8))])]


def _example(array, name):
    """A TensorProto of the type of an array, with at most one of its numbers."""
    return numpy_helper.from_array(np.ascontiguousarray(array[(slice(1),) * array.ndim]), name)


def _tensor_attribute(name, array):
    head = AttributeProto(name=name, type=AttributeProto.TENSOR).SerializeToString()
    return [head, *_field(_TENSOR, _tensor(array, name))]


def _list_attribute(name, values):
    """The pieces of an attribute of whole numbers or strings. Of fields in several pieces a reader makes one list."""
    items = _items(values[:1])
    field, kind = ("ints", AttributeProto.INTS) if isinstance(items[0], int) else ("strings", AttributeProto.STRINGS)
    pieces = [AttributeProto(name=name, type=kind).SerializeToString()]
    for start in range(0, len(values), _ITEMS):
        pieces.append(AttributeProto(**{field: _items(values[start : start + _ITEMS])}).SerializeToString())
    return pieces


def _items(values):
    """A list or an array of whole numbers or strings as a list of ints or bytes."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    return [value.encode() if isinstance(value, str) else value for value in values]
