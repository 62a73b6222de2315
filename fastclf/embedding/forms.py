"""Forms of fitted models for export: to compiled code, to C source, and to ONNX graphs.

A form has exactly the arrays and numbers that `predict` needs.
"""

from typing import NamedTuple

import numpy as np

from .._categories import codes_of
from .._described import described
from .._threads import copy_rows
from ..kernel_approximation.generalised import GeneralisedLinearClassifier
from ..kernels.values import KINDS
from ..linear_model.scores import LinearClassifier, as_dense
from ..naive_bayes.base import NaiveBayesBase
from ..naive_bayes.counted_cells import Histogram
from ..naive_bayes.distributions import Gaussian, Rate
from ..naive_bayes.mixed import NaiveBayes
from ..naive_bayes.rows import DISTRIBUTIONS
from ..naive_bayes.single import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB
from ..neighbors.base import Neighbors
from ..neighbors.cells import Cells
from ..neighbors.centroid import NearestCentroid
from ..neighbors.code_filter import Filter
from ..neighbors.kdtree import Tree
from ..preprocessing.polynomial import PolynomialFeatures
from ..svm.kernel_machine import KernelMachine
from ..table import TableClassifier, is_native
from ..tree.base import DecisionTree


class Linear(NamedTuple):
    """Scores X @ coef.T + intercept. The class with the largest score wins; a single score decides by its sign."""

    coef: np.ndarray  # (n_outputs, n_features), float64: the coefficients of each output
    intercept: np.ndarray  # (n_outputs,), float64: the intercept of each output


class Bayes(NamedTuple):
    """log P(x, class) is `begin`, plus `constant` if there is one, plus a sum over the columns j of one kind of term:

    squares:   weight (x_j - mean)^2
    products:  weight x_j; with a threshold, weight if x_j is above it, and 0 otherwise
    tables:    entry number x_j of the column's table; the last entry is for all unknown categories
    """

    begin: np.ndarray  # (n_classes,), float64: the constant term of each class's log P(x, class)
    # (n_classes, n_features), float64: in the sum for a class, the factor of each feature's value, or for normal
    # densities of the squared difference of value and mean
    weight: np.ndarray | None = None
    # (n_classes, n_features), float64: the mean of each feature in each class; None unless densities are normal
    mean: np.ndarray | None = None
    # (n_classes,), float64: for normal densities, the constant of each class that is added to log P(x, class) after
    # `begin`; None for other densities
    constant: np.ndarray | None = None
    # for each column the log probabilities of its categories, and last of unknown ones: a float64 array (n_classes,
    # n_categories + 1)
    tables: list | None = None
    threshold: float | None = None
    nonnegative: bool = False  # whether rows with a negative value are refused
    # (n_classes, n_features): True if a value above 0 of the feature makes the class impossible
    impossible: np.ndarray | None = None
    # (n_classes, n_features): True if the value 0 of the feature makes the class impossible
    wanted: np.ndarray | None = None


class Machine(NamedTuple):
    """A kernel machine: sums of weighted kernel values with the support vectors, one for each pair of classes.

    See `svm/_pair_scores.pyx`.
    """

    kernel: int  # the index of the kernel in `KINDS` of `kernels/values.py`
    gamma: float
    coef0: float
    degree: int
    support: np.ndarray  # (n_support, n_features), float64: the support vectors, sorted by class
    starts: np.ndarray  # (n_classes + 1,), int64: the index of each class's first support vector, then n_support
    # (n_classes - 1, n_support), float64: for each support vector, its coefficients against the other classes
    coef: np.ndarray
    intercept: np.ndarray  # (n_pairs,), float64: the intercept for each pair of classes


class TreeNodes(NamedTuple):
    """The nodes of a tree in pre-order: a node's left child is the next node; a leaf is its own right child."""

    # the threshold, feature and right child of each node, as the struct `step_t` of `tree/_descend.pyx`
    steps: np.ndarray
    # for each split by categories a set of bits, 1 for categories that go left (layout: `tree/_descend.pyx`)
    subsets: np.ndarray
    value: np.ndarray  # (n_nodes, n_classes or n_outputs), float64: the prediction of each node
    best: np.ndarray | None  # (n_nodes,), int32: the predicted class of each node; None for regression


# The kinds of a MixedColumn; compiled code denotes each kind by its index in this tuple.
MIXED_KINDS = ("normal", "cells", "bins", "rate", "binary")


class MixedColumn(NamedTuple):
    """The log density of one column of a Mixed form, by its kind. A term has an entry for each class.

    normal:  terms 0 to 2 are the mean m, the factor f and the constant c of f (x - m)^2 + c
    cells:   the term of the cell that x equals; the last term is for all other values
    binary:  the same, but other values are refused
    bins:    the term whose number is the number of cells (cuts) that are at most x
    rate:    terms 0 and 1 are the constant and the coefficient of x, which is at least 0; minus log x! for counts
    """

    kind: str
    # (n_classes, n_terms), float64: the numbers from which the log density of a value in each class is computed; `kind`
    # tells how
    terms: np.ndarray
    # (n_cells,), float64, ascending: the values that the column may have or, if it is binned, the cuts between its bins
    cells: np.ndarray = np.empty(0)
    counts: bool = False  # whether the column has counts, which must be whole numbers


class Mixed(NamedTuple):
    """log P(x, class) is `begin`, plus the term of each column whose value is not missing."""

    begin: np.ndarray  # (n_classes,), float64: the constant term of each class's log P(x, class)
    columns: list  # a MixedColumn for each column, with the terms by which a value adds to log P(x, class)
    missing: bool  # whether rows with missing values are taken (a missing value adds no term) or refused


class Products(NamedTuple):
    """A model of products of the columns, which PolynomialFeatures makes."""

    factors: list  # for each product the list of its columns; a column is listed as often as its power
    model: object
    form: object  # the exported form of `model`, such as `Linear` or `TreeNodes`


class TableRows(NamedTuple):
    """A TableClassifier: how rows of numbers and categories become the features of its model, and the model's form."""

    names: list  # the name of each column of the table
    categories: list  # for each column the list of its categories, or None for a column of numbers
    # whether the model itself takes categories and missing values: it then needs `codes`, but not `mean` and `spread`
    native: bool
    # (n_columns,), float64: the number that replaces the missing values of each column; not used if `native`
    mean: np.ndarray
    # (n_columns,), float64: the number by which each column is divided; if `shifted`, its mean is subtracted before
    spread: np.ndarray
    shifted: bool
    # if `native`, for each column of categories the code of each category in the model (-1: the model does not know
    # it), and None for each column of numbers
    codes: list
    model: object
    form: object


class Rows(NamedTuple):
    """Rows and an index to search them."""

    index: object  # an index of the rows from `neighbors/`, such as Scan, Filter or Tree
    allowed: np.ndarray | None  # (n_rows,), uint8: 1 for each row that a search may find; None: it may find every row

    @property
    def is_filter(self):
        return type(self.index) is Filter

    @property
    def is_tree(self):
        return type(self.index) is Tree


def form_of(model):
    """The form of a fitted estimator; TypeError if it has none."""
    if isinstance(model, TableClassifier):
        model._require_fitted()
        return _table(model)
    if isinstance(model, GeneralisedLinearClassifier) and isinstance(
        getattr(model, "feature_map_", None), PolynomialFeatures
    ):
        factors = [np.repeat(np.arange(len(powers)), powers).tolist() for powers in model.feature_map_.powers_]
        return Products(factors, model.model_, form_of(model.model_))
    if type(model) is NaiveBayes:
        model._require_fitted()
        return _mixed(model)
    if isinstance(model, (LinearClassifier, NaiveBayesBase, DecisionTree, Neighbors, KernelMachine)):
        model._require_fitted()
        if isinstance(model, KernelMachine) and model.kernel in KINDS and not model.break_ties:
            return _machine(model)
        if isinstance(model, DecisionTree) and not isinstance(getattr(model, "classes_", None), list):
            return _nodes(model)
        if isinstance(model, Neighbors):
            index = model._scan.whole()
            return Rows(index.plain if type(index) is Cells else index, model._allowed)
        voted = hasattr(model, "votes_")
        other_metric = isinstance(model, NearestCentroid) and model.metric != "euclidean"
        if isinstance(model, LinearClassifier) and not voted and not other_metric:
            coef = np.atleast_2d(as_dense(model.coef_))
            return Linear(*(np.array(array, np.float64, order="C") for array in (coef, model.intercept_)))
        if type(model) in _BAYES:
            with np.errstate(divide="ignore"):
                return _BAYES[type(model)](model)
    raise TypeError(f"model is {described(model)}, which has no form for export; {_WANTED} is wanted")


_WANTED = (
    "a linear classifier with coef_ (no voted perceptron, no centroids of another metric than 'euclidean'), GaussianNB,"
    " MultinomialNB, ComplementNB, BernoulliNB, PoissonNB, CategoricalNB, NaiveBayes (without 'kernel' and"
    " 'multinomial'), a decision tree (if a classifier, with one output), SVC or NuSVC with a named kernel and without"
    " break_ties, an estimator by nearest neighbours, or a TableClassifier or (with PolynomialFeatures) a"
    " GeneralisedLinearClassifier of one of these"
)


def _nodes(model):
    steps, subsets, value = (model._nodes[name] for name in ("steps", "subsets", "value"))
    best = model._decision.codes(value)[0].astype(np.int32) if hasattr(model, "classes_") else None
    return TreeNodes(steps, subsets, value, best)


def _machine(model):
    rows = model._support_rows_
    dense = isinstance(rows, np.ndarray)  # sparse rows make an array by themselves, in short ranges
    support = copy_rows(rows, np.empty(rows.shape)) if dense else np.array(rows, np.float64)
    starts = np.concatenate([[0], np.cumsum(model.n_support_, dtype=np.int64)])
    coef, intercept = (np.array(array, np.float64, order="C") for array in (model._dual_coef_, model.intercept_))
    kernel = KINDS.index(model.kernel)
    return Machine(kernel, model._gamma_, float(model.coef0), int(model.degree), support, starts, coef, intercept)


def _gaussian(model):
    variance = np.maximum(model.var_, 1e-300)
    constant = -0.5 * np.log(2 * np.pi * variance).sum(axis=1)
    return Bayes(np.log(model.class_prior_), -0.5 / variance, model.theta_, constant)


def _linear(model):
    weight, constant, always = model._linear()
    impossible = np.isneginf(weight)
    return Bayes(
        model._begin() + constant,
        np.where(impossible, 0, weight),
        threshold=model._threshold(),
        nonnegative=isinstance(model, PoissonNB),
        impossible=impossible if impossible.any() else None,
        wanted=always if always is not None and always.any() else None,
    )


_BAYES = {
    GaussianNB: _gaussian,
    MultinomialNB: _linear,
    ComplementNB: _linear,
    BernoulliNB: _linear,
    PoissonNB: _linear,
    CategoricalNB: lambda model: Bayes(model.class_log_prior_, tables=model._tables(), nonnegative=True),
}


def _mixed(model):
    with np.errstate(divide="ignore"):
        begin = np.log(model.class_prior_)
    columns = [None] * model.n_features_in_
    for places, state in zip(model.factors_, model.statistics_):
        kind = model.distributions_[places[0]]
        columns[places[0]] = _mixed_column(model, kind, state, model._options(places))
    return Mixed(begin, columns, model.missing == "ignore")


def _mixed_column(model, kind, state, options):
    distribution = DISTRIBUTIONS[kind]
    if kind in ("kernel", "multinomial"):
        raise TypeError(
            f"model is {model!r} with distribution {kind!r}, which has no form for export; {_WANTED} is wanted"
        )
    if distribution is Gaussian:
        variance = Gaussian.variances(state, options)
        return MixedColumn("normal", np.stack([state["mean"], -0.5 / variance, -0.5 * np.log(2 * np.pi * variance)], 1))
    if issubclass(distribution, Rate):
        form = distribution.linear(*distribution.totals([state]), options)
        return MixedColumn("rate", np.stack([form.constant, form.coef[:, 0]], 1), counts=kind == "poisson")
    if state["cells"].dtype.kind not in "biuf":
        raise TypeError(f"model is {model!r} of columns of strings; a TableClassifier with this model is wanted")
    cells = state["cells"][1:-1] if issubclass(distribution, Histogram) else state["cells"]
    terms = distribution.entries(state, options)
    named = {"bernoulli": "binary", "categorical": "cells"}
    return MixedColumn(named.get(kind, "bins"), terms, cells.astype(np.float64))


def _table(table):
    model, names = table.model_, getattr(table, "feature_names_in_", None)
    names = [f"x{j}" for j in range(table.n_features_in_)] if names is None else list(names)
    native = is_native(model)
    codes = [None] * len(names)
    if isinstance(model, DecisionTree) and any(known is not None for known in table.categories_):
        for j, (known, own) in enumerate(zip(table.categories_, model.categories_)):
            if known is not None:
                codes[j] = codes_of(np.arange(len(known), dtype=np.float64), own)
    rules = table.mean_, table.spread_, table.shifted_
    return TableRows(names, table.categories_, native, *rules, codes, model, form_of(model))
