"""Forms of fitted models for export: to compiled code, to C source, and to ONNX graphs.

A form has exactly the arrays and numbers that `predict` needs.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.values import KINDS
from ..linear_model.scores import LinearClassifier, as_dense
from ..naive_bayes.base import NaiveBayesBase
from ..naive_bayes.single import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB
from ..neighbors.base import Neighbors
from ..neighbors.cells import Cells
from ..neighbors.centroid import NearestCentroid
from ..neighbors.code_filter import Filter
from ..neighbors.kdtree import Tree
from ..svm.kernel_machine import KernelMachine
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

    begin: np.ndarray  # (n_classes,), float64: the constant term of each class
    weight: np.ndarray | None = None  # (n_classes, n_features), float64: the factors of squares or products
    # (n_classes, n_features), float64: the mean of each feature in each class, if the terms are squares
    mean: np.ndarray | None = None
    # (n_classes,), float64: a further constant term of each class, if the terms are squares
    constant: np.ndarray | None = None
    tables: list | None = None  # for each column a float64 array (n_classes, n_categories + 1) of log probabilities
    threshold: float | None = None
    nonnegative: bool = False  # whether negative values of x are refused
    impossible: np.ndarray | None = None  # (n_classes, n_features): True if a value above 0 makes the class impossible
    wanted: np.ndarray | None = None  # (n_classes, n_features): True if the value 0 makes the class impossible


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

    steps: np.ndarray  # each node's threshold, feature and right child, as `tree/_descend.pyx` describes them
    subsets: np.ndarray  # for splits by categories: the sets that go left, as `tree/_descend.pyx` describes them
    value: np.ndarray  # (n_nodes, n_classes or n_outputs), float64: the prediction of each node
    best: np.ndarray | None  # (n_nodes,), int32: the predicted class of each node; None for regression


class Rows(NamedTuple):
    """Rows and an index to search them."""

    index: object  # an index of the rows from `neighbors/`, such as Scan, Filter or Tree
    allowed: np.ndarray | None  # (n_rows,), uint8: 1 for each row that may be found; None: all rows may be found

    @property
    def is_filter(self):
        return type(self.index) is Filter

    @property
    def is_tree(self):
        return type(self.index) is Tree


def form_of(model):
    """The form of a fitted estimator; TypeError if it has none."""
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
    raise TypeError(f"model is {model!r}, which has no form for export; {_WANTED} is wanted")


_WANTED = (
    "a linear classifier with coef_ (no voted perceptron, no centroids of another metric than 'euclidean'), GaussianNB,"
    " MultinomialNB, ComplementNB, BernoulliNB, PoissonNB, CategoricalNB, a decision tree (if a classifier, with one"
    " output), SVC or NuSVC with a named kernel and without break_ties, or an estimator by nearest neighbours"
)


def _nodes(model):
    steps, subsets, value = (model._nodes[name] for name in ("steps", "subsets", "value"))
    best = model._decision.codes(value)[0].astype(np.int32) if hasattr(model, "classes_") else None
    return TreeNodes(steps, subsets, value, best)


def _machine(model):
    support = np.array(model._support_rows_, np.float64, order="C")
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
        model.class_log_prior_ + constant,
        np.where(impossible, 0, weight),
        threshold=model._threshold(),
        nonnegative=isinstance(model, PoissonNB),
        impossible=impossible if impossible.any() else None,
        wanted=always if always is not None and always.any() else None,
    )


def _complement(model):
    begin = model.class_log_prior_ if len(model.classes_) == 1 else np.zeros(len(model.classes_))
    return Bayes(begin, model.feature_log_prob_)


_BAYES = {
    GaussianNB: _gaussian,
    MultinomialNB: _linear,
    ComplementNB: _complement,
    BernoulliNB: _linear,
    PoissonNB: _linear,
    CategoricalNB: lambda model: Bayes(model.class_log_prior_, tables=model._tables(), nonnegative=True),
}
