"""ONNX graphs from the forms of fitted models."""

import numpy as np
from onnx import TensorProto, helper

from .. import __version__
from .._threads import map_rows, rows_at
from ..kernels.values import KINDS
from ..tree.nodes import split_steps
from . import onnx_file
from .forms import Bayes, Linear, Machine, Mixed, Products, TableRows
from .onnx_table import add_mixed, add_products, add_table, column_of, looked_up

_OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]


class _Graph:
    """An ONNX graph in the making: its nodes and constants, referred to by the names of their outputs.

    `rows` is the name of the matrix that the model's form takes, and `width` the number of its columns; `prefix` begins
    the names that the graph makes up.
    """

    def __init__(self, width, rows="X", prefix=""):
        self.nodes, self.constants = [], []
        self.width, self.rows, self.prefix = width, rows, prefix

    def constant(self, array):
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants.append(onnx_file.Constant(np.atleast_1d(array), name))
        return name

    def add(self, operator, *inputs, output=None, domain=None, **attributes):
        """Add an operator and return the name of its output; arrays among its inputs become constants."""
        inputs = [self.constant(value) if isinstance(value, np.ndarray) else value for value in inputs]
        output = output or f"{self.prefix}v{len(self.nodes)}"
        self.nodes.append(onnx_file.Node(operator, inputs, output, domain, attributes))
        return output


def write_graph(model, form, path):
    """Write the graph of a model's form."""
    classes = getattr(model, "classes_", None)
    X = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", model.n_features_in_])
    if isinstance(form, TableRows):
        graph = _Graph(form.model.n_features_in_, "model features", "model ")
        inputs = add_table(graph, form)
        form = form.form
    else:
        graph, inputs = _Graph(model.n_features_in_), [X]
    while isinstance(form, Products):
        add_products(graph, form)
        form = form.form
    builder = {Mixed: add_mixed, Linear: _linear, Bayes: _bayes, Machine: _machine}.get(type(form), _tree)
    n_outputs, code = builder(graph, form)
    outputs = [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n", n_outputs])]
    if classes is None:
        one = n_outputs == 1
        graph.add(*(("Squeeze", "scores", np.array([1])) if one else ("Identity", "scores")), output="value")
        shape = ["n"] if one else ["n", n_outputs]
        outputs.insert(0, helper.make_tensor_value_info("value", TensorProto.DOUBLE, shape))
    else:
        labels, kind = _labels(classes)
        graph.add("Gather", labels, code(graph), output="label")
        outputs.insert(0, helper.make_tensor_value_info("label", kind, ["n"]))
    onnx_file.write(
        path,
        helper.make_graph([], type(model).__name__, inputs, outputs),
        graph.nodes,
        graph.constants,
        producer_name="fastclf",
        producer_version=__version__,
        opset_imports=_OPSETS,
        ir_version=8,
    )


def _labels(classes):
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    if classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes):
        return classes.astype(object), TensorProto.STRING
    raise TypeError(f"classes_ has labels like {classes[0]!r}; numbers, bools or strings are wanted for ONNX")


def _largest(graph):
    return graph.add("ArgMax", "scores", axis=1, keepdims=0)


def _positive(graph):
    above = graph.add("Greater", "scores", np.array(0.0))
    return graph.add("Squeeze", graph.add("Cast", above, to=TensorProto.INT64), np.array([1]))


def _linear(graph, form):
    graph.add("Add", graph.add("MatMul", graph.rows, form.coef.T), form.intercept, output="scores")
    return len(form.coef), _positive if len(form.coef) == 1 else _largest


def _bayes(graph, form):
    if form.tables is not None:
        scores = _entries(graph, form)
    elif form.mean is not None:
        off = graph.add("Sub", graph.add("Unsqueeze", graph.rows, np.array([1])), form.mean)
        terms = graph.add("Mul", graph.add("Mul", off, off), form.weight)
        scores = graph.add("Add", graph.add("ReduceSum", terms, np.array([2]), keepdims=0), form.constant)
    else:
        scores = _products(graph, form)
    graph.add("Add", scores, form.begin, output="scores")
    return len(form.begin), _largest


def _products(graph, form):
    rows = graph.rows
    if form.threshold is not None:
        rows = graph.add("Cast", graph.add("Greater", graph.rows, np.array(form.threshold)), to=TensorProto.DOUBLE)
    scores = graph.add("MatMul", rows, form.weight.T)
    for marked, operator, most in (
        (form.impossible, "Greater", 0.0),
        (form.wanted, "Less", None if form.wanted is None else form.wanted.sum(axis=1).astype(np.float64)),
    ):
        if marked is not None:
            hits = graph.add("MatMul", rows, marked.T.astype(np.float64))
            ruled_out = graph.add(operator, hits, np.asarray(most))
            scores = graph.add("Where", ruled_out, np.array(-np.inf), scores)
    return scores


def _entries(graph, form):
    """Add nodes that sum, over columns, a table's entry for the column's category, the last one if it is unknown."""
    sizes = np.array([table.shape[1] - 1 for table in form.tables])
    known = graph.add("Min", graph.rows, sizes.astype(np.float64))
    place = graph.add("Cast", graph.add("Floor", known), to=TensorProto.INT64)
    first = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    entries = graph.add("Gather", np.concatenate(form.tables, axis=1).T, graph.add("Add", place, first), axis=0)
    return graph.add("ReduceSum", entries, np.array([1]), keepdims=0)


def _machine(graph, form):
    K = len(form.starts) - 1
    inner = graph.add("MatMul", graph.rows, form.support.T)
    kernel = KINDS[form.kernel]
    if kernel == "rbf":
        squares = graph.add("ReduceSum", graph.add("Mul", graph.rows, graph.rows), np.array([1]))
        apart = graph.add("Sub", squares, graph.add("Mul", inner, np.array(2.0)))
        apart = graph.add("Add", apart, map_rows(lambda rows: (rows**2).sum(axis=1), form.support))
        inner = graph.add("Exp", graph.add("Mul", apart, np.array(-form.gamma)))
    elif kernel != "linear":
        inner = graph.add("Add", graph.add("Mul", inner, np.array(form.gamma)), np.array(form.coef0))
        inner = (
            graph.add("Tanh", inner) if kernel == "sigmoid" else graph.add("Pow", inner, np.array(float(form.degree)))
        )
    # Each pair of classes (a, b) has coefficients and one vote, which goes to a if the pair's score is positive,
    # otherwise to b.
    pairs = [(a, b) for a in range(K) for b in range(a + 1, K)]
    coef = np.zeros((len(form.support), len(pairs)))
    first, second = np.zeros((2, len(pairs), K))
    for p, (a, b) in enumerate(pairs):
        of_a, of_b = (slice(*form.starts[c : c + 2]) for c in (a, b))
        coef[of_a, p], coef[of_b, p] = form.coef[b - 1, of_a], form.coef[a, of_b]
        first[p, a] = second[p, b] = 1
    graph.add("Add", graph.add("MatMul", inner, coef), form.intercept, output="scores")
    if K == 2:
        return 1, _positive

    def votes(graph):
        won = graph.add("Cast", graph.add("Greater", "scores", np.array(0.0)), to=TensorProto.DOUBLE)
        return graph.add(
            "ArgMax", graph.add("Add", graph.add("MatMul", won, first - second), second.sum(axis=0)), axis=1, keepdims=0
        )

    return len(pairs), votes


def _tree(graph, form):
    """Add the descent of rows to their leaves, by ONNX's operator for trees, and a table of the leaves' values."""
    steps = split_steps(form._asdict())
    nodes = np.arange(len(steps.right))
    leaf = steps.right == nodes
    leaves = np.flatnonzero(leaf)
    rows, feature, threshold = graph.rows, steps.feature, steps.threshold
    if steps.by_subset.any():
        rows, feature, threshold = _with_subsets(graph, form, steps)
    graph.add(
        "TreeEnsembleRegressor",
        rows,
        output="leaf",
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=np.zeros_like(nodes),
        nodes_nodeids=nodes,
        nodes_featureids=np.where(leaf, 0, feature),
        nodes_values_as_tensor=np.where(leaf, 0, threshold),
        nodes_modes=np.where(leaf, b"LEAF", b"BRANCH_LEQ"),
        nodes_truenodeids=np.where(leaf, 0, nodes + 1),
        nodes_falsenodeids=np.where(leaf, 0, steps.right),
        nodes_missing_value_tracks_true=steps.missing_left.astype(np.int64),
        target_treeids=np.zeros_like(leaves),
        target_nodeids=leaves,
        target_ids=np.zeros_like(leaves),
        target_weights_as_tensor=np.arange(len(leaves), dtype=np.float64),
    )
    number = graph.add("Squeeze", graph.add("Cast", "leaf", to=TensorProto.INT64), np.array([1]))
    graph.add("Gather", rows_at(form.value, leaves), number, axis=0, output="scores")
    return form.value.shape[1], lambda graph: graph.add("Gather", form.best[leaves].astype(np.int64), number)


def _with_subsets(graph, form, steps):
    """(rows with more columns, features, thresholds): each split by a subset becomes one of an additional column.

    The column of a split is 0 for rows that go left and 1 for the others.
    """
    feature, threshold = steps.feature.copy(), np.where(steps.by_subset, 0.5, steps.threshold)
    parts, width = [graph.rows], graph.width
    for j in np.unique(steps.feature[steps.by_subset]):
        splits = np.flatnonzero(steps.by_subset & (steps.feature == j))
        members = [steps.members(form.subsets, node) for node in splits]
        # the table's last row is for missing and unknown categories
        right = np.tile(~steps.missing_left[splits], (max(map(len, members)) + 1, 1)).astype(np.float64)
        for s, left in enumerate(members):
            right[: len(left), s] = ~left
        parts.append(looked_up(graph, column_of(graph, j), right))
        feature[splits] = width + np.arange(len(splits))
        width += len(splits)
    return graph.add("Concat", *parts, axis=1), feature, threshold
