"""Decision trees by exact search, grown on lists that are sorted once."""

import math
from inspect import cleandoc

import numpy as np

from ._estimator import Classifier, Estimator, Regressor, not_fitted_error
from ._export import export_graphviz, export_text, rules
from ._growth import Growth, Limits, Sorted
from ._nodes import Tree, best_first, check_nodes, cut_short, leaves_of, made_nodes
from ._pruning import pruned, weakest_links
from ._threads import Progress, n_threads
from ._tree_parameters import as_row_count, as_seed, class_weighted, n_features_drawn, one_column, scaled
from ._validation import (
    as_matrix,
    as_numbers,
    as_sample_weight,
    as_targets,
    encode_labels,
    require_array,
    require_choice,
    require_integer,
    require_number,
)

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "export_graphviz", "export_text", "rules"]

_SHARED = """
splitter : {'best'}, default='best'
    'random' is not supported.
max_depth : int >= 1, default=None
    A node so deep is a leaf; None: no limit.
min_samples_split : int >= 2 or float in (0, 1], default=2
    A node of fewer rows is a leaf; a float is a share of all rows, rounded up.
min_samples_leaf : int >= 1 or float in (0, 1), default=1
    Each side of a split has at least so many rows; a float is a share of all rows, rounded up.
min_weight_fraction_leaf : float in [0, 0.5], default=0.0
    Each side of a split has at least this share of the weight of all rows.
max_features : int, float in (0, 1], 'sqrt', 'log2' or None, default=None
    How many features, drawn anew at each node, are searched; features that are constant in the node do not count.
random_state : int, RandomState, Generator or None, default=None
    Seeds that draw. Nothing else is random.
max_leaf_nodes : int >= 2, default=None
    At most so many leaves, those of the nodes with the largest improvement, which are split first. The whole tree is
    grown for it.
min_impurity_decrease : float >= 0, default=0.0
    A split that reduces the weighted impurity of all rows by less is not made."""

_SHARED_END = """
ccp_alpha : float >= 0, default=0.0
    The tree is pruned to its smallest subtree of least total impurity plus `ccp_alpha` times the number of leaves; 0:
    not pruned.
monotonic_cst : None
    Not supported.
n_jobs : int, default=None
    Threads. None: FASTCLF_NUM_THREADS, else every CPU that the process may use, at most OMP_NUM_THREADS; -1: every
    CPU, -2: all but one; 1: the calling thread alone. The tree does not depend on it.
verbose : int, default=0
    1 shows the progress of `fit` on stderr.
callback : callable, default=None
    Called as `callback(step, total, value)` after each piece of `fit`, in rows that have come to a leaf; value is None.
    Returning True stops `fit`, which then raises RuntimeError."""

_ATTRIBUTES = """
tree_ : Tree
    The arrays of the nodes under scikit-learn's names, in pre-order: `children_left`, `children_right`, `feature`,
    `threshold`, `impurity`, `n_node_samples`, `weighted_n_node_samples`, `value`.
feature_importances_ : ndarray of shape (n_features,), float64
    The total reduction of impurity by each feature's splits, as shares of the whole.
max_features_ : int
n_features_in_, n_outputs_ : int
feature_names_in_ : ndarray of str
    Only when X was a table with string column names."""

_NOTES = """
Every threshold between two distinct values of every feature is considered, in the type of X. Of splits with equal
scores the first feature's wins, and then the smallest threshold. A threshold is the middle of two values of X or, if
that cannot be told from the right one, the left one, so that no row of X is misrouted. Cost: O(d n log n) to sort and
O(d n) for each level of the tree. Memory beyond X: 8 bytes a cell and about 100 a row.

References
----------
Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees."""


def _document(cls):
    doc = cleandoc(cls.__doc__)
    for name, text in [("shared", _SHARED), ("end", _SHARED_END), ("attributes", _ATTRIBUTES), ("notes", _NOTES)]:
        doc = doc.replace("{" + name + "}", text.strip())
    cls.__doc__ = doc
    return cls


class _DecisionTree(Estimator):
    """What both trees share."""

    def __getattr__(self, name):
        if name in ("tree_", "feature_importances_"):
            if "_nodes" not in vars(self):
                raise not_fitted_error(
                    f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments"
                    " before using this estimator."
                )
            tree = Tree(self._nodes, self.n_features_in_)
            return tree if name == "tree_" else tree.compute_feature_importances()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_state(self):
        super()._check_state()
        check_nodes(self._nodes, self.n_features_in_, self._n_values)

    def _limits(self, criterion, n, d, total_weight, weighted):
        """The parameters, checked."""
        require_choice("splitter", self.splitter, ["best"])
        if self.monotonic_cst is not None:
            raise ValueError(f"monotonic_cst is {self.monotonic_cst!r}, which is not supported; None is wanted")
        max_depth = n if self.max_depth is None else require_integer("max_depth", self.max_depth, 1)
        min_split = as_row_count("min_samples_split", self.min_samples_split, n, 2, 1.0)
        min_leaf = as_row_count("min_samples_leaf", self.min_samples_leaf, n, 1, np.nextafter(1.0, 0))
        fraction = require_number("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0)
        if fraction > 0.5:
            raise ValueError(f"min_weight_fraction_leaf is {fraction}; a number from 0 to 0.5 is wanted")
        min_weight = fraction * total_weight
        if not weighted:
            min_leaf, min_weight = max(min_leaf, math.ceil(min_weight)), 0.0
        min_decrease = require_number("min_impurity_decrease", self.min_impurity_decrease, 0)
        if self.max_leaf_nodes is not None:
            require_integer("max_leaf_nodes", self.max_leaf_nodes, 2)
        require_number("ccp_alpha", self.ccp_alpha, 0)
        return Limits(
            criterion=criterion,
            max_depth=min(max_depth, n),
            min_split=min_split,
            min_leaf=min(min_leaf, n),
            min_leaf_weight=min_weight,
            min_decrease=min_decrease,
            max_features=n_features_drawn(self.max_features, d),
            seed=as_seed(self.random_state),
        )

    def _grow(self, X, codes, y, weight, n_values, criterion):
        """(nodes, numbers, rows) of the tree, and the checked parameters it was grown with."""
        threads = n_threads(self.n_jobs)
        rows = None
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            if len(rows) == 0:
                raise ValueError("sample_weight is zero for all rows; a row that counts is wanted")
            codes, y = (None if column is None else column[rows] for column in (codes, y))
            weight = weight[rows]
        if weight is not None and (weight == 1).all():
            weight = None
        n = len(X) if rows is None else len(rows)
        total = float(n) if weight is None else float(weight.sum())
        limits = self._limits(criterion, n, X.shape[1], total, weight is not None)
        with Progress(n, "fit", verbose=self.verbose, callback=self.callback) as progress:
            lists = Sorted(X, rows, codes, n_values, threads)
            grown = Growth(lists, limits, n_values, y, weight, total).grow(threads, progress)
            if grown is None:
                raise RuntimeError("the callback stopped fit")
        return *grown, rows, limits

    def _cut(self, nodes):
        """The tree that the parameters ask for, out of the one that was grown."""
        if self.max_leaf_nodes is not None:
            nodes = cut_short(nodes, best_first(nodes, self.max_leaf_nodes))
        if self.ccp_alpha > 0:
            nodes = pruned(nodes, self.ccp_alpha)
        return nodes

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The subtrees that some `ccp_alpha` gives, of the tree that the other parameters give. The fit is not kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        path : dict, the entries also as attributes
            `ccp_alphas` ascending from 0, `impurities` the total impurity of the leaves of the subtree from that alpha
            on, `n_leaves` their number. Cost beyond the fit: O(n_leaves log n_leaves).
        """
        model = type(self)(**(self.get_params(deep=False) | {"ccp_alpha": 0.0})).fit(X, y, sample_weight)
        return weakest_links(model._nodes).path

    def _asked(self, X):
        self._require_fitted()
        return self._new_samples(X)

    def apply(self, X, check_input=True):
        """The node of `tree_` that each row ends in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored: the check is what makes the answer safe.

        Returns
        -------
        leaf : ndarray of shape (n_samples,), int64
        """
        X = self._asked(X)
        return leaves_of(self._nodes, X, n_threads(self.n_jobs))

    def decision_path(self, X, check_input=True):
        """The nodes that each row goes through.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        path : scipy.sparse.csr_matrix of shape (n_samples, n_nodes), int64
            1 where a row goes through a node. Needs SciPy.
        """
        return self.tree_.decision_path(self._asked(X))

    def get_depth(self):
        """The largest depth of a leaf; a tree of one node has depth 0."""
        self._require_fitted()
        return self.tree_.max_depth

    def get_n_leaves(self):
        """The number of leaves."""
        self._require_fitted()
        return self.tree_.n_leaves


@_document
class DecisionTreeClassifier(_DecisionTree, Classifier):
    """Decision tree for labels.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'misclassification'}, default='gini'
        What a split reduces; 'log_loss' is 'entropy', in bits.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        Weight of the rows of each class, which multiplies `sample_weight`; a class that is not named has 1. 'balanced':
        n_samples / (n_classes * rows of the class).
    {end}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The distinct labels, sorted.
    n_classes_ : int
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> model = DecisionTreeClassifier(criterion="entropy").fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.4, 9.0], [1.6, 9.0]])
    array(['a', 'b'], dtype='<U1')
    >>> float(model.tree_.threshold[0])
    1.5
    """

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    @property
    def _n_values(self):
        return len(self.classes_)

    def _check_state(self):
        require_array("classes_", self.classes_, None, (None,))
        super()._check_state()

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table; float32 and float64 are not copied.
        y : array-like of shape (n_samples,)
            Labels of one sortable type.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 up; rows of weight 0 do not count.
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        self
        """
        name = type(self).__name__
        criterion = require_choice(
            "criterion", self.criterion, ["gini", "entropy", "log_loss", "misclassification"]
        ).replace("log_loss", "entropy")
        rows = as_matrix(X, name)
        y = one_column(as_targets(y, len(rows), name, labels=True))
        weight = as_sample_weight(sample_weight, len(rows))
        classes, codes = encode_labels(y)
        weight = class_weighted(self.class_weight, classes, codes, weight)
        nodes, numbers, kept, limits = self._grow(rows, codes.astype(np.int32), None, weight, len(classes), criterion)
        value = numbers[:, 2:] / numbers[:, 2:].sum(axis=1, keepdims=True)
        return self._become(
            _nodes=self._cut(made_nodes(rows, kept, nodes, numbers, value)),
            classes_=classes,
            n_classes_=len(classes),
            n_outputs_=1,
            max_features_=limits.max_features,
            **self._fitted_columns(X, rows),
        )

    def predict(self, X, check_input=True):
        """The label of each row: the class with the largest weight in its leaf, the first of equal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        leaf = self.apply(X)
        value = self._nodes["value"]
        if len(leaf) < len(value):
            return self.classes_[value[leaf].argmax(axis=1)]
        return self.classes_[value.argmax(axis=1)][leaf]

    def predict_proba(self, X, check_input=True):
        """The share of each class in each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes), float64
        """
        leaf = self.apply(X)
        return self._nodes["value"][leaf]

    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`; -inf where a class has no share."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@_document
class DecisionTreeRegressor(_DecisionTree, Regressor):
    """Decision tree for numbers.

    Parameters
    ----------
    criterion : {'squared_error'}, default='squared_error'
        What a split reduces.
    {shared}
    {end}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from fastclf import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 5.0, 6.0])
    >>> model.predict([[-1.0], [9.0]])
    array([1.5, 5.5])
    """

    _n_values = 1

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        monotonic_cst=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table; float32 and float64 are not copied.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 up; rows of weight 0 do not count.
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        self
        """
        name = type(self).__name__
        criterion = require_choice("criterion", self.criterion, ["squared_error"])
        rows = as_matrix(X, name)
        y = as_targets(y, len(rows), name, labels=False)
        if y.ndim == 2:  # for the warning
            y = as_targets(y, len(rows), name, labels=True)
        y = as_numbers(one_column(y))
        weight = as_sample_weight(sample_weight, len(rows))
        unit, centre, scale = scaled(y)
        nodes, numbers, kept, limits = self._grow(rows, None, unit, weight, 1, criterion)
        some_row = nodes[:, 3] if kept is None else kept[nodes[:, 3]]
        pure = numbers[:, 1] == 0
        value = np.where(pure, y[some_row], centre + scale * numbers[:, 2])
        numbers[:, 1] *= scale**2
        return self._become(
            _nodes=self._cut(made_nodes(rows, kept, nodes, numbers, value[:, None])),
            n_outputs_=1,
            max_features_=limits.max_features,
            **self._fitted_columns(X, rows),
        )

    def predict(self, X, check_input=True):
        """The mean of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        means : ndarray of shape (n_samples,), float64
        """
        leaf = self.apply(X)
        return self._nodes["value"][leaf, 0]
