"""The base of trees for labels, numbers and densities: parameters, growth, pruning, and prediction."""

import copy
import math
from abc import ABC, abstractmethod
from functools import partial
from inspect import cleandoc

import numpy as np

from .._estimator import Estimator, clone, variants
from .._sklearn_bases import NotRouted
from .._state_table import Array, List, SizeOf, declare, has, or_none, where
from .._threads import Progress, n_threads
from .._validation import as_matrix, as_seed, require_choice, require_integer, require_number
from .categories import as_features, find_categories
from .growth import CRITERIA, Limits, grown_tree
from .nodes import NODES, Tree, best_first, cut_short, fill_nodes, leaves_of, new_nodes, require_tree
from .parameters import as_monotonic, as_row_count, n_features_drawn
from .pruning import (
    FoldErrors,
    Judged,
    chosen,
    fold_of_rows,
    fold_risks,
    middles,
    pruned,
    visits,
    weakest_links,
)
from .sorted_columns import Packed, Sorted

_SHARED = """
splitter : {'best', 'random'}, default='best'
    'random': a node tries one split of each feature that it searches, and takes the best of them: at a number drawn
    between the feature's least and largest value in the node, missing values on a side that is drawn; of categories at
    a drawn place of their order. The threshold is the middle of the two values beside the number.
max_depth : int >= 1, default=None
    A node of this depth is a leaf; None: no limit.
min_samples_split : int >= 2 or float in (0, 1], default=2
    A node of fewer rows is a leaf; a float is a share of all rows, rounded up.
min_samples_leaf : int >= 1 or float in (0, 1), default=1
    Each side of a split has at least this number of rows; a float is a share of all rows, rounded up.
min_weight_fraction_leaf : float in [0, 0.5], default=0.0
    Each side of a split has at least this share of the weight of all rows.
max_features : int, float in (0, 1], 'sqrt', 'log2' or None, default=None
    The number of features, drawn anew at each node, that are searched; features that are constant in the node do not
    count.
random_state : int, RandomState, Generator or None, default=None
    Seed of this draw and of the draws of splitter='random'. Nothing else is random.
max_leaf_nodes : int >= 2, default=None
    The largest number of leaves. The nodes with the largest improvement are split first; for this the whole tree is
    grown.
min_impurity_decrease : float >= 0, default=0.0
    A split that reduces the weighted impurity of all rows by less than this is not made."""

_SHARED_END = """
ccp_alpha : float >= 0 or 'cv', default=0.0
    The tree is pruned to the smallest subtree that minimises the total risk plus `ccp_alpha` times the number of
    leaves. The total risk is the mean over all N rows, so that textbooks' lambda, in the sum over leaves of N_m Q_m +
    lambda |T|, is N times `ccp_alpha`; criterion='entropy' is in bits, and lambda in nats N ln 2 times `ccp_alpha`.
    0: not pruned; 'cv': with the alpha whose trees have the least error on folds that they were not grown on
    (of equal alphas the one with the smallest tree). One tree per fold is grown, which gives the error of every alpha.
lam : float >= 0 or None, default=None
    The same pruning by textbooks' lambda: the tree is the smallest subtree that minimises the sum over leaves of N_m
    Q_m plus `lam` times the number of leaves, where N_m is the weight of a leaf's rows, and Q_m its impurity, in nats
    for the entropy. Only without `ccp_alpha`.
cv : int >= 2 or 'loo', default=10
    Number of folds for 'cv', drawn with the seed `random_state` (None: 0), with the classes spread evenly. Fewer rows
    than that, or 'loo': a fold for each row.
one_se : bool, default=False
    With 'cv', choose the smallest tree whose error is within one standard error of the least error.
monotonic_cst : array-like of shape (n_features,) of -1, 0 or 1, default=None
    1: the prediction (for two classes, the share of the second) must not fall while the feature grows, -1: it must not
    rise. For one output, with two classes at most.
categorical_features : 'from_dtype', None, or array-like of int, str or bool, default='from_dtype'
    The features that are split by subsets of their values: the columns of strings and categories of a table, none, or
    the given features.
{running}"""

_RUNNING = """
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
    `threshold`, `impurity`, `n_node_samples`, `weighted_n_node_samples`, `value`, `missing_go_to_left`.
feature_importances_ : ndarray of shape (n_features,), float64
    The total reduction of impurity by the splits of each feature, as a share of the sum over all features.
cv_results_ : dict of ndarray
    With 'cv': `ccp_alphas` and `n_leaves` of the subtrees, and their `errors` and `standard_errors` over the folds:
    rates of wrong labels or mean costs, mean squared or absolute errors, or mean Poisson deviances.
ccp_alpha_ : float
    The alpha that the tree was pruned with.
lam_ : float
    The same as textbooks' lambda: `ccp_alpha_` times the weight N of all rows, for the entropy also times ln 2. The
    tree minimises the sum over leaves of N_m Q_m, plus lambda times their number; Q_m is in nats for the entropy.
categories_ : list of ndarray or None
    Only if there are categories: the sorted categories of each feature, None for a feature of numbers.
features_with_missing_ : ndarray of shape (n_features,), bool
    Whether each feature had missing values in `fit`; for the others, texts and rules do not mention missing values.
max_features_ : int
n_features_in_, n_outputs_ : int
feature_names_in_ : ndarray of str
    Only when X was a table with string column names."""

_NOTES = """
Every threshold between two distinct values of every feature is considered, in the type of X. Of splits with equal
scores the first feature's is chosen, and then the smallest threshold. A threshold is the middle of two neighbouring
values of X or, if the middle is rounded to the right one, the left one, so that no row of X is misrouted. Cost:
O(d n log n) to sort and O(d n) for each level of the tree. Memory beyond X: 8 bytes per cell of X and about 60 per row,
with 'cv' 12 per cell; if each row has its own leaf, as in regression, 120 per row, with 'cv' 350, and at least 200 in
all.

Categories are ordered by the mean response of their rows. For two classes and for one number, some cut of this order is
the best of all subsets; otherwise the best cut of several such orders, one for each class or number, is taken. For
absolute errors the mean is a heuristic. Missing values (NaN, None) go with each threshold to the side with the better
score, or alone to the right; in a categorical feature they are a category of their own. If a node had no missing values
in `fit`, they go to the larger side, and so do categories that the node or the fit has not seen.

References
----------
Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees.
Fisher (1958), On grouping for maximum homogeneity."""


def document(cls):
    doc = cleandoc(cls.__doc__ or "")
    shared = {"shared": _SHARED, "end": _SHARED_END, "running": _RUNNING, "attributes": _ATTRIBUTES, "notes": _NOTES}
    for name, text in shared.items():
        doc = doc.replace("{" + name + "}", text.strip())
    cls.__doc__ = doc
    return cls


LABEL_CRITERIA = ("gini", "entropy", "misclassification")


class Rule(ABC):
    """The predictions of the nodes of a tree, and the costs of these predictions; subclasses: for labels, for numbers.

    Attributes
    ----------
    criterion : str
    impurity_unit : float
        The impurities that compiled code computes are multiplied by this.
    """

    __slots__ = ()
    impurity_unit = 1.0

    @abstractmethod
    def values(self, nodes, numbers):
        """The values of nodes, from the arrays `nodes` and `numbers` of a `Part`."""

    def risk(self, nodes):
        """The risk of each node for pruning, or None if it is the impurity."""
        return

    @abstractmethod
    def predictions(self, nodes):
        """The prediction of each node for each output: (n_nodes, n_outputs)."""

    @abstractmethod
    def costs(self, rows, predicted):
        """The costs (n_rows,) of predictions (n_rows, n_outputs) for the given rows of the target."""


class PrunedTree(Estimator):
    """A tree that is pruned with `ccp_alpha`, which is given or chosen by cross-validation.

    A subclass has `_n_classes`, a list with an entry for each output (1 for numbers), and their sum `_n_values`.
    """

    # Whether splits that do not lower the risk are undone even with ccp_alpha=0.
    _always_pruned = False

    _state_table = declare(n_values=SizeOf(lambda tree: tree._n_values), _nodes=NODES)

    def _check_rest(self, sizes, entries):
        if entries:
            require_tree(self._nodes, getattr(self, "categories_", None), self.n_features_in_)

    @property
    def tree_(self):
        self._require_fitted()
        return Tree(self._nodes, self.n_features_in_, self._n_classes)

    def _check_pruning(self, n):
        """Refuse parameters with which a tree of n rows cannot be pruned."""
        if not isinstance(self.ccp_alpha, str):
            require_number("ccp_alpha", self.ccp_alpha, 0)
            return
        require_choice("ccp_alpha", self.ccp_alpha, ["cv"])
        if isinstance(self.cv, str):
            require_choice("cv", self.cv, ["loo"])
        else:
            require_integer("cv", self.cv, 2)
        if n < 2:
            raise ValueError(
                f"ccp_alpha is 'cv' and n_samples={n}; at least two rows of weight above 0 are wanted for folds"
            )

    def _alpha(self, nodes):
        """The alpha with which a tree with these nodes is pruned, according to the parameters."""
        return float(self.ccp_alpha)

    def _n_folds(self, n):
        """The number of folds for n rows: `cv`, but at most one for each row."""
        return n if self.cv == "loo" else min(self.cv, n)

    def _fit_progress(self, n):
        """The progress of a fit to n rows, as a `Progress`."""
        return Progress(n * (self._n_folds(n) if self.ccp_alpha == "cv" else 1), "fit", self.verbose, self.callback)

    def _fold_risks(self, folds, alphas, data):
        """Pairs (error, standard error of the error), one for each alpha, from the `FoldErrors` of all folds."""
        return fold_risks(folds, alphas, data.total_weight(), len(data))

    def _fold_seed(self):
        return as_seed(self.random_state, 0)

    def _lists_to_grow(self, lists, data, threads):
        """Yield (sorted columns, total weight, left-out rows) for all rows and, if ccp_alpha='cv', for each fold."""
        by_folds = self.ccp_alpha == "cv"
        packed = Packed(lists, data, threads) if by_folds else None
        yield lists, data.total_weight(), None
        if by_folds:
            n_folds = self._n_folds(len(data))
            fold = fold_of_rows(len(data), n_folds, data.target.codes, self._fold_seed())
            for number in range(n_folds):
                rows = np.flatnonzero(fold != number)
                lists = packed.of(rows, rows, data.target, threads)
                yield lists, data.total_weight(rows), np.flatnonzero(fold == number)

    def _pruned(self, trees, data):
        """The fitted attributes of the first tree after pruning.

        trees: the `Judged` of the tree of all rows, followed with 'cv' by those of the folds' trees.
        """
        whole = next(trees)
        by_folds = self.ccp_alpha == "cv"
        found = {} if by_folds else {"ccp_alpha_": self._alpha(whole.nodes)}
        if found.get("ccp_alpha_") == 0 and not self._always_pruned:
            return found | {"_nodes": whole.nodes}
        links = weakest_links(whole.nodes, whole.risk)
        if by_folds:
            alphas = links.path.ccp_alphas
            error, standard_error = self._fold_risks(map(FoldErrors.of, trees), middles(alphas), data)
            found["cv_results_"] = {
                "ccp_alphas": alphas,
                "n_leaves": links.path.n_leaves,
                "errors": error,
                "standard_errors": standard_error,
            }
            found["ccp_alpha_"] = float(alphas[chosen(error, standard_error, self.one_se)])
        return found | {"_nodes": pruned(whole.nodes, found["ccp_alpha_"], links)}


class DecisionTree(PrunedTree):
    """The base of trees for labels and for numbers."""

    _state_table = declare(
        **where(
            has("categories_"),
            # for each feature its categories, or None for a feature of numbers
            categories_=or_none(List("n_features", or_none(Array("any", None)))),
        ),
        features_with_missing_=Array("bool", "n_features"),
    )

    @property
    def feature_importances_(self):
        return self.tree_.compute_feature_importances()

    # The argument `check_input` takes no part in scikit-learn's metadata routing.
    __metadata_request__fit = __metadata_request__predict = NotRouted(["check_input"])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Real numbers with NaN for missing values, or categories: array, memory map, pandas, polars or pyarrow table;
            float32 and float64 are not copied if there are no categories. Sparse matrices are made dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, of one sortable type for each output; or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 up; rows of weight 0 are ignored.
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        self
        """
        return self._fit_tree(X, y, sample_weight)

    # Methods that scikit-learn's forests, and classes that are derived from them, call on a tree.
    def _fit(self, X, y, sample_weight=None, check_input=True, missing_values_in_feature_mask=None):
        return self.fit(X, y, sample_weight)

    def _support_missing_values(self, X):
        return True

    def _compute_missing_values_in_feature_mask(self, X, estimator_name=None):
        return  # no mask is returned, because `fit` looks for missing values itself

    def _validate_X_predict(self, X, check_input):
        return self._asked(X) if check_input else X

    def _limits(self, criterion, data):
        """The checked parameters that limit the growth of a tree, such as max_depth, as a `Limits`."""
        n, d = len(data), data.X.shape[1]
        require_choice("splitter", self.splitter, ["best", "random"])
        max_depth = n if self.max_depth is None else require_integer("max_depth", self.max_depth, 1)
        min_split = as_row_count("min_samples_split", self.min_samples_split, n, 2, 1.0)
        min_leaf = as_row_count("min_samples_leaf", self.min_samples_leaf, n, 1, np.nextafter(1.0, 0))
        fraction = require_number("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0)
        if fraction > 0.5:
            raise ValueError(f"min_weight_fraction_leaf is {fraction}; a number from 0 to 0.5 is wanted")
        min_weight = fraction * data.total_weight()
        if data.weight is None:
            min_leaf, min_weight = max(min_leaf, math.ceil(min_weight)), 0.0
        min_decrease = require_number("min_impurity_decrease", self.min_impurity_decrease, 0)
        if self.max_leaf_nodes is not None:
            require_integer("max_leaf_nodes", self.max_leaf_nodes, 2)
        self._check_pruning(n)
        n_classes = np.diff(data.target.first_value).max() if criterion in LABEL_CRITERIA else 0
        return Limits(
            criterion=CRITERIA.index(criterion),
            max_depth=min(max_depth, n),
            min_split=min(min_split, n + 1),
            min_leaf=min(min_leaf, n),
            min_leaf_weight=min_weight,
            min_decrease=min_decrease,
            max_features=n_features_drawn(self.max_features, d),
            seed=as_seed(self.random_state),
            monotonic=as_monotonic(self.monotonic_cst, d, len(data.target.first_value) - 1, n_classes),
            drawn=self.splitter == "random",
        )

    def _features(self, X):
        """The pair (X as a matrix, the categories of its features or None) for a fit."""
        name = type(self).__name__
        categories = find_categories(X, self.categorical_features, name)
        return as_features(X, name, categories), categories

    def _grow(self, data, rule, orders):
        """The fitted attributes of the grown and pruned tree; orders: the sorted columns (`Orders`) of X, or None."""
        threads = n_threads(self.n_jobs)
        limits = self._limits(rule.criterion, data)
        with self._fit_progress(len(data)) as progress:
            plain = self._is_plain(rule.criterion, limits, data)
            if orders is not None and plain and data.rows is None and data.n_codes is None:
                lists = orders.lists(data.target, threads)
            else:
                lists = Sorted(data, threads, plain)
            found = {"features_with_missing_": lists.lacking, "max_features_": limits.max_features}
            grown = self._grown(lists, data, limits, threads, progress)
            found |= self._pruned((self._judged(tree, left_out, data, rule) for tree, left_out in grown), data)
        lam = self.lam
        return found | {"lam_": found["ccp_alpha_"] * self._lam_unit(found["_nodes"]) if lam is None else float(lam)}

    def _check_pruning(self, n):
        super()._check_pruning(n)
        if self.lam is not None:
            require_number("lam", self.lam, 0)
            if self.ccp_alpha != 0:
                raise ValueError(f"ccp_alpha is {self.ccp_alpha!r} and lam is {self.lam!r}; one of the two is wanted")

    def _alpha(self, nodes):
        return float(self.ccp_alpha) if self.lam is None else float(self.lam) / self._lam_unit(nodes)

    def _lam_unit(self, nodes):
        """The penalty for each leaf (lambda in textbooks) that means the same as ccp_alpha = 1 for this tree."""
        in_bits = self.criterion in ("entropy", "log_loss") and getattr(self, "ccp_risk", "impurity") == "impurity"
        return float(nodes["weighted_n_node_samples"][0]) * (math.log(2) if in_bits else 1.0)

    def _grown(self, lists, data, limits, threads, progress):
        """Yield (`Grown` tree, left-out rows or None) for all rows and, if ccp_alpha='cv', for each fold."""
        for chosen_lists, total_weight, left_out in self._lists_to_grow(lists, data, threads):
            yield grown_tree(chosen_lists, data, limits, total_weight, threads, progress), left_out

    def _judged(self, grown, left_out, data, rule):
        """The nodes and risks of a grown tree, as a `Judged`; left_out: rows held out of its growth, or None."""
        nodes = new_nodes(grown, data.target.n_values)
        for block, part_nodes, numbers in fill_nodes(nodes, grown, data):
            nodes["value"][block] = rule.values(part_nodes, numbers)
        nodes["impurity"] *= rule.impurity_unit
        if self.max_leaf_nodes is not None:
            nodes = cut_short(nodes, best_first(nodes, self.max_leaf_nodes))
        return Judged(nodes, rule.risk(nodes), None if left_out is None else _losses(nodes, left_out, data, rule))

    @staticmethod
    def _is_plain(criterion, limits, data):
        """Whether sorted lists may leave out the rows with a column's most frequent value (see `_plain_split.pxd`)."""
        if data.weight is not None or limits.monotonic is not None or limits.drawn:
            return False
        if criterion == "squared_error":
            return data.target.n_values == 1
        return criterion in ("gini", "entropy") and data.target.codes is not None

    # With ccp_alpha='cv' or many values of ccp_alpha, columns are sorted once for all folds, and the tree of a fold is
    # grown once and then pruned for each value.

    _path_parameters = ("ccp_alpha", "lam")

    def _shared_columns(self, X, threads):
        """The sorted columns of a matrix, as a `Packed`, from which trees on any subset of rows can be grown.

        None if the parameters or X do not allow that.
        """
        criteria = ("gini", "entropy", "log_loss", "squared_error")
        weighted = getattr(self, "class_weight", None) is not None
        if self.criterion not in criteria or weighted or self.monotonic_cst is not None or self.splitter == "random":
            return None
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
            return None
        return Packed.of_columns(as_matrix(X, type(self).__name__, allow_nan=True), threads)

    def _fit_path(self, name, values, X, y, shared=None):
        if name is None or any(isinstance(alpha, str) for alpha in values):
            return [model._fit_tree(X, y, orders=shared) for model in variants(self, name, values)]
        tried = variants(self, name, values)
        for model in tried:
            model._check_pruning(2)
        whole = clone(self).set_params(ccp_alpha=0.0, lam=None)._fit_tree(X, y, orders=shared)
        links, unit = weakest_links(whole._nodes, whole._risk()), self._lam_unit(whole._nodes)
        models = [copy.copy(whole) for _ in values]
        for model, wanted in zip(models, tried):
            model.ccp_alpha, model.lam = wanted.ccp_alpha, wanted.lam
            alpha = model.ccp_alpha_ = wanted._alpha(whole._nodes)
            model.lam_ = alpha * unit if wanted.lam is None else float(wanted.lam)
            if alpha > 0:
                model._nodes = pruned(whole._nodes, alpha, links)
        return models

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The subtrees that different values of `ccp_alpha` give, with the other parameters as they are; nothing is
        fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        path : dict, the entries also as attributes
            `ccp_alphas`, ascending from 0; `impurities`, the total risk of the leaves of each subtree, which is the
            pruned tree from that alpha on; `n_leaves`, their number. Cost beyond a fit: O(n_leaves log n_leaves).
        """
        model = type(self)(**(self.get_params(deep=False) | {"ccp_alpha": 0.0, "lam": None})).fit(X, y, sample_weight)
        return weakest_links(model._nodes, model._risk()).path

    def _risk(self):
        """The risk of each node, which pruning weighs against the number of leaves; None: the risk is the impurity."""
        return

    def _asked(self, X):
        self._require_fitted()
        return self._new_samples(X, partial(as_features, categories=getattr(self, "categories_", None)))

    def apply(self, X, check_input=True):
        """The leaf of each row, as a node number of `tree_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored: the answer is safe only because X is always checked.

        Returns
        -------
        leaf : ndarray of shape (n_samples,), int64
        """
        return self._leaves(X)

    def _leaves(self, X):
        X = self._asked(X)
        return leaves_of(self._nodes, X, self.n_jobs)

    def decision_path(self, X, check_input=True):
        """The nodes on each row's path from the root to its leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        path : scipy.sparse.csr_matrix of shape (n_samples, n_nodes), int64
            1 where a row's path has a node. Needs SciPy.
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


def _losses(nodes, rows, data, rule):
    """The sums of costs and of squared costs of each node's prediction, over the left-out rows that pass the node."""
    predicted = rule.predictions(nodes)
    sums = np.zeros((2, len(predicted)))
    for place, node in visits(nodes, data.X[rows if data.rows is None else data.rows[rows]]):
        row = rows[place]
        cost = rule.costs(row, predicted[node])
        weighted = cost if data.weight is None else data.weight[row] * cost
        sums += [np.bincount(node, terms, len(predicted)) for terms in (weighted, weighted * cost)]
    return sums
