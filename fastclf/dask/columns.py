"""Rows of partitions as sorted columns: each place gets some columns of all rows, and the targets of all rows."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._categories import sorted_categories
from .._estimator import clone
from .._labels import encode_known
from .._validation import as_numbers, as_sample_weight, as_targets, encode_labels, require_weight
from ..tree.categories import as_features, find_categories
from ..tree.parameters import training
from ..tree.sorted_columns import Sorted, Target, Training
from .partitions import naming, threads_of


class Description(NamedTuple):
    """What the client must know of a partition before its rows become columns."""

    number: int
    n: int  # the number of rows of the partition
    y_shape: tuple  # the shape of y without its first axis: () or (n_outputs,)
    labels: list | None  # for each output its sorted distinct labels; None if y has numbers
    # for each feature the list of its categories, or None if it has numbers; None: all features have numbers
    categories: list | None
    heavy: bool  # whether any row of the partition has a weight above 0


class Form(NamedTuple):
    """How partitions become arrays."""

    model: object  # an unfitted tree of fastclf itself, without Dask
    # a list that has for each feature the categories of all partitions, or None if the feature has numbers; None if all
    # features have numbers
    categories: list | None = None
    labels: list | None = None  # for each output the sorted distinct labels of all partitions; None if y has numbers
    ndim: int = 1  # the number of axes of y: 1, or 2 for several outputs

    @property
    def owner(self):
        return type(self.model).__name__

    def matrix(self, X):
        return as_features(X, self.owner, self.categories)

    def targets(self, y, n):
        """y of n rows: labels of shape (n,) or (n, n_outputs), or numbers of shape (n, n_outputs)."""
        if self.model._estimator_type == "classifier":
            return as_targets(y, n, self.owner, labels=True, warns=False)
        return as_numbers(as_targets(y, n, self.owner, labels=False)).reshape(n, -1)


def as_form(model):
    """The `Form` for a plain tree, without what belongs to the client."""
    return Form(clone(model).set_params(verbose=0, callback=None))


def described(parts, form):
    """The `Description` of each (number, arrays) that has rows."""
    found = []
    for number, (X, y, weight) in parts:
        n = X.shape[0]
        if n == 0:
            continue
        with naming(number):
            y = form.targets(y, n)
            labels = None
            if form.model._estimator_type == "classifier":
                labels = [encode_labels(column)[0] for column in np.atleast_2d(y.T)]
            weight = as_sample_weight(weight, n, all_zero=True)
            categories = find_categories(X, form.model.categorical_features, form.owner)
        heavy = weight is None or bool(weight.any())
        found.append(Description(number, n, y.shape[1:], labels, categories, heavy))
    return found


def whole_form(form, found, weighted):
    """The `Form` for all rows, from the Descriptions of the partitions."""
    if weighted and not any(each.heavy for each in found):
        require_weight(np.zeros(1))
    shapes = {each.y_shape for each in found}
    if len(shapes) > 1:
        raise ValueError(f"rows of y have different shapes by partition, {sorted(shapes)}; one shape is wanted")
    labels = categories = None
    if found[0].labels is not None:
        labels = [encode_labels(np.concatenate(each))[0] for each in zip(*(part.labels for part in found))]
    listed = [each.categories for each in found if each.categories is not None]
    if listed:
        columns = [[part for part in each if part is not None] for each in zip(*listed)]
        categories = [sorted_categories(np.concatenate(each)) if each else None for each in columns]
    return form._replace(labels=labels, categories=categories, ndim=1 + len(found[0].y_shape))


def in_columns(parts, form, bounds):
    """The rows of partitions, cut into ranges of columns: ([for each range pairs (number, values)], targets).

    targets: triples (number, codes or numbers, weights or None)
    """
    cut, targets = [[] for _ in bounds[1:]], []
    for number, (X, y, weight) in parts:
        n = X.shape[0]
        if n == 0:
            continue
        with naming(number):
            matrix = form.matrix(X)
            y, weight = form.targets(y, n), as_sample_weight(weight, n, all_zero=True)
        if form.labels is not None:
            y = np.stack([encode_known(known, column) for known, column in zip(form.labels, np.atleast_2d(y.T))])
        targets.append((number, y, weight))
        for place, (first, stop) in enumerate(pairwise(bounds)):
            cut[place].append((number, np.ascontiguousarray(matrix[:, first:stop])))
    return cut, targets


def range_of(cut, place):
    """The pairs (number, values) of a range of columns."""
    return cut[0][place]


def targets_of(cut):
    """The triples (number, codes or numbers, weights or None)."""
    return cut[1]


def _in_order(lists):
    """All tuples of several lists in one list, sorted by their first entries, the numbers of partitions."""
    return sorted((each for part in lists for each in part), key=lambda each: each[0])


class Whole(NamedTuple):
    """The targets of all rows, at a place: the fields of a `Training` without X, and what the fit computes of them."""

    n: int  # the number of rows of X, in all partitions
    rows: np.ndarray | None
    target: Target
    weight: np.ndarray | None
    n_codes: np.ndarray | None
    centre: np.ndarray | float  # if y has numbers, the tree is grown on (y - centre) / scale
    scale: float
    total_weight: float

    def among(self, first, stop, X=None):
        """The `Training` for features first to stop, whose values are X or unknown."""
        codes = None if self.n_codes is None or first == stop else self.n_codes[first:stop]
        return Training(np.empty((self.n, 0)) if X is None else X, self.rows, self.target, self.weight, codes)


def whole(lists, form):
    """The `Whole` of all targets, from the lists of `targets_of` of all places."""
    _, y, weight = zip(*_in_order(lists))
    weight = None if weight[0] is None else np.concatenate(weight)
    centre, scale = 0.0, 1.0
    if form.labels is None:
        target, centre, scale = form.model._target(np.concatenate(y), weight)
    else:
        target, weight = form.model._target(form.labels, list(np.concatenate(y, axis=1)), weight, form.ndim)
    n = len(target.y if target.codes is None else target.codes)
    data = training(np.empty((n, 0)), target, weight, form.categories)
    return Whole(n, *data[1:], centre, scale, data.total_weight())


def sorted_lists(lists, known, columns, leave_out, n_jobs):
    """The `Sorted` lists of a range of columns; lists: those of `range_of` of all places."""
    values = np.concatenate([part for _, part in _in_order(lists)])
    data = known.among(*columns, np.ascontiguousarray(values))
    return Sorted(data, threads_of(n_jobs), leave_out, with_rows=True)


class Facts(NamedTuple):
    """What the client must know of the targets before the tree grows."""

    n: int  # the number of rows with a weight above 0
    first_value: np.ndarray  # (n_outputs + 1,): class c of output o has the number first_value[o] + c
    total_weight: float
    weighted: bool  # whether some weight of a row differs from 1
    centre: np.ndarray | float
    scale: float


def facts(known):
    """The `Facts` of the targets."""
    n = known.n if known.rows is None else len(known.rows)
    weighted = known.weight is not None
    return Facts(n, known.target.first_value, known.total_weight, weighted, known.centre, known.scale)


def of_columns(lists):
    """(for each column whether it has missing values, whether a list leaves out the rows of a common value)."""
    return lists.lacking, lists.common is not None


def looked_up(parts, form, known, wanted):
    """Values of X and of y in rows of partitions.

    Parameters
    ----------
    parts : list of (number, arrays, number of the first row)
    form : Form
    known : Whole
    wanted : list of (rows, features)
        The rows are those of the tree; no features stands for y.

    Returns
    -------
    list of (places, values)
        For each entry of `wanted`, the places in it of rows of these partitions, and their values.
    """
    rows = [each if known.rows is None else known.rows[each] for each, _ in wanted]
    found = [[] for _ in wanted]
    for number, (X, y, _), first in parts:
        n = X.shape[0]
        inside = [np.flatnonzero((each >= first) & (each < first + n)) for each in rows]
        if not any(map(len, inside)):
            continue
        with naming(number):
            matrix = form.matrix(X)
            y = form.targets(y, n) if form.labels is None else None
        for i, (_, features) in enumerate(wanted):
            here = rows[i][inside[i]] - first
            values = y[here] if features is None else matrix[here, features[inside[i]]].astype(np.float64)
            found[i].append((inside[i], values))
    return found
