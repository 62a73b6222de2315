"""Parts of ONNX graphs: naive Bayes with mixed distributions, and what a TableClassifier does before its model."""

import numpy as np
from onnx import TensorProto, helper

from ..naive_bayes.distributions import log_factorial

_OUTPUTS = ("label", "scores")


def column_of(graph, j):
    """A column of the rows of the model, of shape (n,)."""
    return graph.add("Squeeze", graph.add("Gather", graph.rows, np.array([j], np.int64), axis=1), np.array([1]))


def looked_up(graph, values, table):
    """The row of a table for each value, whose number it is; the last row for NaN and all other values."""
    size = np.array(float(len(table) - 1))
    known = graph.add("And", graph.add("GreaterOrEqual", values, np.array(0.0)), graph.add("Less", values, size))
    place = graph.add("Cast", graph.add("Where", known, values, size), to=TensorProto.INT64)
    return graph.add("Gather", table, place, axis=0)


def add_table(graph, form):
    """Add an input for each column, and the features of the model, as graph.rows; returns the inputs."""
    inputs, numbers, codes = [], [], []
    for name, known in zip(form.names, form.categories):
        name = f"column {name}" if name in _OUTPUTS or not name else name
        kind = TensorProto.DOUBLE if known is None else TensorProto.STRING
        inputs.append(helper.make_tensor_value_info(name, kind, ["n"]))
        numbers.append(name if known is None else None)
        codes.append(None if known is None else _codes(graph, name, known))
    if form.native:
        parts = [name if own is None else own for name, own in zip(numbers, _own_codes(graph, form, codes))]
        _side_by_side(graph, [graph.add("Unsqueeze", part, np.array([1])) for part in parts], graph.rows)
        return inputs
    parts = [_number(graph, form, j, name) for j, name in enumerate(numbers) if name is not None]
    for code, known in zip(codes, form.categories):
        if known:
            same = graph.add("Equal", graph.add("Unsqueeze", code, np.array([1])), np.arange(len(known)))
            parts.append(graph.add("Cast", same, to=TensorProto.DOUBLE))
    _side_by_side(graph, parts, graph.rows)
    return inputs


def add_products(graph, form):
    """Add the products of columns, which become graph.rows."""
    degree = max(map(len, form.factors))
    first = graph.add("Gather", graph.rows, np.array([0], np.int64), axis=1)
    one = graph.add("Where", graph.add("Equal", first, first), np.array(1.0), np.array(1.0))
    rows = graph.add("Concat", graph.rows, one, axis=1)
    places = np.array([factors + [graph.width] * (degree - len(factors)) for factors in form.factors], np.int64)
    product = graph.add("Gather", rows, np.full(len(places), graph.width), axis=1)
    for step in range(degree):
        product = graph.add("Mul", product, graph.add("Gather", rows, places[:, step], axis=1))
    graph.rows, graph.width = product, len(form.factors)


def _side_by_side(graph, parts, output):
    graph.add("Concat", *parts, axis=1, output=output)


def _codes(graph, name, known):
    """The index of each text among the categories, -1 for other texts, of shape (n,)."""
    keys = list(known) or [""]  # ONNX wants at least one key: without categories, "" gets the code -1
    values = np.arange(len(keys)) if known else np.array([-1])
    return graph.add(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=keys,
        values_int64s=values,
        default_int64=-1,
    )


def _own_codes(graph, form, codes):
    """For each column of categories the codes that the model takes, as numbers; None for a column of numbers."""
    for code, own, known in zip(codes, form.codes, form.categories):
        if code is None:
            yield None
            continue
        own = np.arange(len(known)) if own is None else own
        values = np.append(np.where(own < 0, np.nan, own.astype(np.float64)), np.nan)
        yield looked_up(graph, graph.add("Cast", code, to=TensorProto.DOUBLE), values)


def _number(graph, form, j, name):
    """A column of numbers as a feature of shape (n, 1): missing values are replaced, and numbers shifted and scaled."""
    value = graph.add("Where", graph.add("Equal", name, name), name, np.array(form.mean[j]))
    if form.shifted:
        value = graph.add("Div", graph.add("Sub", value, np.array(form.mean[j])), np.array(form.spread[j]))
    return graph.add("Unsqueeze", value, np.array([1]))


def add_mixed(graph, form):
    """Add the scores of a Mixed form."""
    total = None
    for j, column in enumerate(form.columns):
        value = column_of(graph, j)
        term = _TERMS[column.kind](graph, column, value)
        if form.missing:
            known = graph.add("Unsqueeze", graph.add("Equal", value, value), np.array([1]))
            term = graph.add("Where", known, term, np.array(0.0))
        total = term if total is None else graph.add("Add", total, term)
    graph.add("Add", total, form.begin, output="scores")
    return len(form.begin), lambda graph: graph.add("ArgMax", "scores", axis=1, keepdims=0)


def _normal(graph, column, value):
    mean, factor, constant = column.terms.T
    off = graph.add("Sub", graph.add("Unsqueeze", value, np.array([1])), mean)
    return graph.add("Add", graph.add("Mul", graph.add("Mul", off, off), factor), constant)


def _cells(graph, column, value):
    same = graph.add("Equal", graph.add("Unsqueeze", value, np.array([1])), column.cells)
    # the number of the cell that equals x, from 1 up, or 0 if no cell does: a sum of the indicators of equality, of
    # which at most one is 1, times 1, 2, ...
    place = graph.add("MatMul", graph.add("Cast", same, to=TensorProto.DOUBLE), np.arange(len(column.cells)) + 1.0)
    return graph.add(
        "Gather", np.roll(column.terms, 1, axis=1).T, graph.add("Cast", place, to=TensorProto.INT64), axis=0
    )


def _bins(graph, column, value):
    if not len(column.cells):
        none = graph.add("Cast", graph.add("Less", value, value), to=TensorProto.INT64)
        return graph.add("Gather", column.terms.T, none, axis=0)
    above = graph.add("GreaterOrEqual", graph.add("Unsqueeze", value, np.array([1])), column.cells)
    place = graph.add("ReduceSum", graph.add("Cast", above, to=TensorProto.INT64), np.array([1]), keepdims=0)
    return graph.add("Gather", column.terms.T, place, axis=0)


def _rate(graph, column, value):
    constant, coef = column.terms.T
    value = graph.add("Unsqueeze", value, np.array([1]))
    positive = graph.add("Greater", value, np.array(0.0))
    product = graph.add("Where", positive, graph.add("Mul", value, coef), np.array(0.0))
    term = graph.add("Add", product, constant)
    if column.counts:
        term = graph.add("Sub", term, _log_factorial(graph, value))
    return term


def _log_factorial(graph, value):
    """log x!, by a table below 256 and by Stirling's series from 256 up, for x of shape (n, 1)."""
    below = looked_up(graph, value, np.append(log_factorial(np.arange(256.0)), 0.0))
    y = graph.add("Add", graph.add("Max", value, np.array(256.0)), np.array(1.0))
    series = graph.add("Mul", graph.add("Sub", y, np.array(0.5)), graph.add("Log", y))
    series = graph.add("Add", graph.add("Sub", series, y), np.array(0.5 * np.log(2 * np.pi)))
    series = graph.add("Add", series, graph.add("Div", np.array(1 / 12), y))
    cube = graph.add("Mul", y, graph.add("Mul", y, y))
    series = graph.add("Sub", series, graph.add("Div", np.array(1 / 360), cube))
    return graph.add("Where", graph.add("Less", value, np.array(256.0)), below, series)


_TERMS = {"normal": _normal, "cells": _cells, "binary": _cells, "bins": _bins, "rate": _rate}
