"""Density trees: a box is cut into boxes, each with a constant density."""

import numpy as np

from .._exceptions import of_column
from .._state_table import Array, declare
from .._threads import advance, map_rows, n_threads
from .._validation import as_float64, as_matrix, require_integer
from . import _density
from .base import PrunedTree, document
from .growth import VALUES, Part
from .nodes import fill_nodes, leaves_of, new_nodes
from .pruning import Judged, fold_risks, visits
from .sorted_columns import NO_TARGET, Sorted, Training

# The most cells (a row and a feature) that are searched for a split between two checks for Ctrl-C. It is smaller than
# for other trees, since each cell may be in another page of memory.
_MOST_CELLS = 1 << 20


@document
class DensityTree(PrunedTree):
    """Density estimation by a tree: a box is cut into parts, in each of which the density is constant.

    Parameters
    ----------
    min_samples_leaf : int >= 1, default=5
        Each part has at least this number of rows.
    min_samples_split : int >= 2, default=10
        A part with fewer rows is not cut.
    ccp_alpha : float >= 0 or 'cv', default='cv'
        The tree is pruned to the smallest subtree that minimises the risk plus `ccp_alpha` times the number of leaves,
        with volumes as shares of the box; 'cv': with the alpha whose trees have the least integrated squared error on
        folds that they were not grown on (of equal alphas the one with the smallest tree).
    cv : int >= 2 or 'loo', default=10
        Number of folds for 'cv', drawn with the seed `random_state`. Fewer rows than that, or 'loo': a fold for each
        row.
    one_se : bool, default=False
        With 'cv', choose the smallest tree whose error is within one standard error of the least error.
    bounds : array-like of shape (2, n_features), default=None
        The lower and the upper ends of the box, outside of which the density is 0. None: the smallest and the largest
        values of X.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds; None: 0.
    {running}

    Attributes
    ----------
    tree_ : Tree
        The nodes under scikit-learn's names; `value` is the logarithm of the density, `impurity` the risk divided by
        the share of the rows.
    bounds_ : ndarray of shape (2, n_features), float64
    ccp_alpha_ : float
        The alpha that the tree was pruned with.
    cv_results_ : dict of ndarray
        With 'cv': `ccp_alphas` and `n_leaves` of the subtrees, and their `errors` (integrated squared errors, minus a
        constant) and `standard_errors` over the folds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    The risk of a leaf with n of N rows and the volume V is (n^2 / N^2 - 2 n (n - 1) / (N (N - 1))) / V: the integral of
    the squared density, minus twice the mean of the leave-one-out density at the rows. Every threshold between two
    distinct values of every feature is considered; of equal scores the first feature's smallest threshold is taken.
    Cost: O(d n log n) to sort and O(d n) for each level. Memory beyond X: 8 bytes per cell of X and about 100 per row;
    with 'cv' 12 per cell.

    References
    ----------
    Ram, Gray (2011), Density estimation trees.

    Examples
    --------
    >>> from fastclf import DensityTree
    >>> X = [[0.0], [0.1], [0.2], [0.3], [4.0]]
    >>> model = DensityTree(min_samples_leaf=1, min_samples_split=2, ccp_alpha=0.1).fit(X)
    >>> model.score_samples([[0.1], [3.0], [5.0]]).round(2)
    array([ 0.88, -2.24,  -inf])
    """

    _state_table = declare(bounds_=Array("float64", 2, "n_features"))

    def __init__(
        self,
        *,
        min_samples_leaf=5,
        min_samples_split=10,
        ccp_alpha="cv",
        cv=10,
        one_se=False,
        bounds=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    _n_classes, _n_values = np.ones(1, np.int64), 1
    _always_pruned = True

    def _box(self, X):
        """The lower and upper ends of the box that bounds the density, (2, n_features), after checks."""
        if self.bounds is None:
            box = np.array([X.min(axis=0), X.max(axis=0)], np.float64)
        else:
            box = as_float64(self.bounds, "bounds")
            if box.shape != (2, X.shape[1]):
                raise ValueError(f"bounds has shape {box.shape}; (2, {X.shape[1]}) is wanted")
            outside = (box[0] > X) | (box[1] < X)
            if outside.any():
                row, column = np.argwhere(outside)[0]
                text = f"X has {X[row, column]} in row {row}, column {column}, beyond bounds"
                raise of_column(ValueError(f"{text}; rows within bounds are wanted"), column)
        with np.errstate(over="ignore"):
            width = box[1] - box[0]
        if not (np.isfinite(width) & (width > 0)).all():
            column = int(np.flatnonzero(~(np.isfinite(width) & (width > 0)))[0])
            raise ValueError(
                f"feature {column} lies between {box[0, column]} and {box[1, column]}; a box of finite width above 0 is"
                " wanted (pass bounds)"
            )
        return box

    def fit(self, X, y=None):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers; float32 and float64 are not copied.
        y : ignored

        Returns
        -------
        self
        """
        rows = as_matrix(X, type(self).__name__)
        min_leaf = require_integer("min_samples_leaf", self.min_samples_leaf, 1)
        min_split = require_integer("min_samples_split", self.min_samples_split, 2)
        self._check_pruning(len(rows))
        threads = n_threads(self.n_jobs)
        box = self._box(rows)
        log_volume = np.log(box[1] - box[0]).sum()
        data = Training(rows, None, NO_TARGET, None, None)
        with self._fit_progress(len(rows)) as progress:
            lists = self._lists_to_grow(Sorted(data, threads), data, threads)
            grown = (
                (_grown(_density.Growth(some, min_leaf, min_split), rows, box, progress), t) for some, _, t in lists
            )
            found = self._pruned((_judged(tree, left_out, data) for tree, left_out in grown), data)
        nodes = found.pop("_nodes")
        nodes["value"] -= log_volume
        state = {"_nodes": nodes, "bounds_": box, "ccp_alpha_": found.pop("ccp_alpha_")}
        return self._become(**state, **found, **self._fitted_columns(X, rows))

    def _fold_risks(self, folds, alphas, data):
        """For each alpha the mean and standard error of the folds' integrated squared errors (minus a constant)."""
        errors = np.array([fold_risks([fold], alphas, 1.0, 1)[0] for fold in folds])
        return errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))

    def apply(self, X):
        """The leaf of each row, as a node number of `tree_`, int64; outside the bounds the leaf of the nearest part."""
        self._require_fitted()
        return leaves_of(self._nodes, self._new_samples(X), self.n_jobs)

    def score_samples(self, X):
        """The log density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            -inf outside the bounds.
        """
        self._require_fitted()
        X = self._new_samples(X)
        leaf = leaves_of(self._nodes, X, self.n_jobs)
        value, (low, high) = self._nodes["value"][:, 0], self.bounds_

        def density(X, leaf):
            return np.where(((low <= X) & (high >= X)).all(axis=1), value[leaf], -np.inf)

        return map_rows(density, X, leaf)

    def score(self, X, y=None):
        """The sum of `score_samples`."""
        return float(self.score_samples(X).sum())


def _grown(growth, X, box, progress):
    """Grow a density tree from a `_density.Growth`; returns a `Grown`. box: lower and upper ends of the root's box."""
    part = Part(VALUES + 1, 3, 1 + box.size)
    part.stack[0], part.waiting[0], part.n_waiting = (0, growth.n_rows, 0), np.concatenate([[1.0], *box]), 1
    for cells in part.budgets(_MOST_CELLS):
        advance(progress, _density.grow(growth, X, part, cells))
    return part.finished()


def _judged(grown, left_out, data):
    """The `Judged` of a `Grown`, which is consumed; its values are log densities, in units where the box has volume 1.

    left_out: the rows that the tree was not grown on, or None. The loss of a node is its part of the integral of f^2,
    minus twice its part of the mean of f over the left-out rows.
    """
    nodes = new_nodes(grown, 1)
    for block, _, numbers in fill_nodes(nodes, grown, data):
        nodes["value"][block] = numbers[:, [VALUES]]
    share = _shares(nodes)
    nodes["value"] = np.log(share[:, None]) - np.log(nodes["value"])
    if left_out is None:
        return Judged(nodes, None, None)
    density = np.exp(nodes["value"][:, 0])
    count = sum(np.bincount(node, minlength=len(density)) for _, node in visits(nodes, data.X[left_out]))
    loss = share * density - 2 * count / len(left_out) * density
    return Judged(nodes, None, np.stack([loss, np.zeros(len(loss))]))


def _shares(nodes):
    """The share of all rows that are in each node."""
    return nodes["weighted_n_node_samples"] / nodes["weighted_n_node_samples"][0]
