"""Density trees: a box cut into boxes of constant density."""

import numpy as np

from .._estimator import Estimator
from .._state_table import Array, SizeOf, declare
from .._threads import Progress, n_threads, ranges
from .._validation import as_matrix, as_seed, require_choice, require_integer, require_number
from . import _density
from .growth import VALUES, WEIGHT, Grown, longer
from .nodes import NODES, Tree, leaves_of, made_nodes, require_tree
from .pruning import (
    FoldErrors,
    chosen,
    fold_of_rows,
    fold_risks,
    link_alphas,
    middles,
    pruned,
    summed_over_visits,
    weakest_links,
)
from .sorted_columns import Packed, Sorted, Target

# Cells that are searched at first before Ctrl-C is looked for.
_CELLS = 1 << 18


class _Part:
    """A tree as it grows: its nodes, and the boxes that wait to be cut."""

    def __init__(self, n, low, high):
        d = len(low)
        self.nodes, self.numbers = np.empty((64, 5), np.int32), np.empty((64, 3))
        self.stack, self.boxes = np.zeros((32, 3), np.int64), np.empty((32, 1 + 2 * d))
        self.stack[0] = 0, n, 0
        self.boxes[0] = np.concatenate([[1.0], low, high])
        self.scratch = np.empty(n, np.uint64)
        self.n_nodes, self.n_waiting = 0, 1

    def make_room(self):
        if self.n_nodes == len(self.nodes):
            self.nodes, self.numbers = longer(self.nodes), longer(self.numbers)
        if self.n_waiting >= len(self.stack) - 2:
            self.stack, self.boxes = longer(self.stack), longer(self.boxes)


class _Growth:
    """What the kernel reads while a tree grows on `lists`, which it uses up."""

    def __init__(self, lists, min_leaf, min_split):
        self.items, self.row_bits, self.rank_shift = lists.items, lists.row_bits, lists.rank_shift
        lists.items = None
        self.side = np.empty(1 << self.row_bits, np.uint8)
        self.min_leaf, self.min_split = min_leaf, min_split


class DensityTree(Estimator):
    """Density estimation by a tree: a box is cut until a density that is constant in each part fits.

    Parameters
    ----------
    min_samples_leaf : int >= 1, default=5
        Each part has at least so many rows.
    min_samples_split : int >= 2, default=10
        A part of fewer rows is not cut.
    ccp_alpha : float >= 0 or 'cv', default='cv'
        The tree is pruned to its smallest subtree of least risk plus `ccp_alpha` times the number of leaves, volumes
        being shares of the box; 'cv': by the alpha whose trees have the least integrated squared error on folds that
        they were not grown on, the smallest tree of equal ones.
    cv : int >= 2, default=10
        Folds for 'cv', drawn with the seed `random_state`.
    one_se : bool, default=False
        With 'cv' take the smallest tree whose error is within one standard error of the least.
    bounds : array-like of shape (2, n_features), default=None
        The lower and the upper ends of the box, beyond which the density is 0. None: the least and the largest values
        of X.
    random_state : int, RandomState, Generator or None, default=None
        None: 0.
    n_jobs : int, default=None
        Threads. None: FASTCLF_NUM_THREADS, else every CPU that the process may use, at most OMP_NUM_THREADS; -1: every
        CPU, -2: all but one; 1: the calling thread alone. The tree does not depend on it.
    verbose : int, default=0
        1 shows the progress of `fit` on stderr.
    callback : callable, default=None
        Called as `callback(step, total, value)` after each piece of `fit`, in rows that have come to a leaf; value is
        None. Returning True stops `fit`, which then raises RuntimeError.

    Attributes
    ----------
    tree_ : Tree
        The nodes under scikit-learn's names; `value` is the logarithm of the density, `impurity` the risk by the share
        of the rows.
    bounds_ : ndarray of shape (2, n_features), float64
    ccp_alpha_ : float
        The alpha that the tree was pruned with.
    cv_results_ : dict of ndarray
        With 'cv': `ccp_alphas` and `n_leaves` of the subtrees, and their `errors` (integrated squared, less a constant)
        and `standard_errors` over the folds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    The risk of a leaf of n of N rows in the volume V is (n^2 / N^2 - 2 n (n - 1) / (N (N - 1))) / V: the integral of
    the square of the density, less twice the mean of the density at each row by the others. Every threshold between two
    distinct values of every feature is considered; of equal ones the first feature's smallest is taken. Cost:
    O(d n log n) to sort and O(d n) for each level. Memory beyond X: 8 bytes a cell and about 100 a row; with 'cv' 12
    a cell.

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

    _state_table = declare(bounds_=Array("float64", 2, "n_features"), n_values=SizeOf(lambda tree: 1), _nodes=NODES)

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

    @property
    def tree_(self):
        self._require_fitted()
        return Tree(self._nodes, self.n_features_in_, np.ones(1, np.int64))

    def _check_rest(self, sizes, entries):
        if entries:
            require_tree(self._nodes, None, self.n_features_in_)

    def _box(self, X):
        """The ends of the box, (2, n_features), checked."""
        if self.bounds is None:
            box = np.array([X.min(axis=0), X.max(axis=0)], np.float64)
        else:
            box = np.array(self.bounds, np.float64)
            if box.shape != (2, X.shape[1]):
                raise ValueError(f"bounds has shape {box.shape}; (2, {X.shape[1]}) is wanted")
            outside = (box[0] > X) | (box[1] < X)
            if outside.any():
                row, column = np.argwhere(outside)[0]
                raise ValueError(
                    f"X has {X[row, column]} in row {row}, column {column}, beyond bounds; rows within are wanted"
                )
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
        by_folds = isinstance(self.ccp_alpha, str)
        n = len(rows)
        if by_folds:
            require_choice("ccp_alpha", self.ccp_alpha, ["cv"])
            if n < require_integer("cv", self.cv, 2):
                raise ValueError(f"cv is {self.cv} and n_samples={n}; at least a row for each fold is wanted")
        else:
            require_number("ccp_alpha", self.ccp_alpha, 0)
        threads = n_threads(self.n_jobs)
        box = self._box(rows)
        log_volume = np.log(box[1] - box[0]).sum()
        target = Target(None, None, np.array([0, 1], np.int32))
        lists = Sorted(rows, None, target, None, threads)
        packed = Packed(lists, rows, None, None, threads) if by_folds else None
        with Progress(n * (self.cv if by_folds else 1), "fit", self.verbose, self.callback) as progress:

            def grown(lists):
                part, growth = _Part(lists.items.shape[1], *box), _Growth(lists, min_leaf, min_split)
                for first, last in ranges(0, 1 << 62, _CELLS):
                    part.make_room()
                    if progress.advance(_density.grow(growth, part, rows, last - first)):
                        raise RuntimeError("the callback stopped fit")
                    if not part.n_waiting:
                        break
                block = part.nodes[: part.n_nodes], part.numbers[: part.n_nodes]
                n_rows = block[1][0, WEIGHT]

                def valued(nodes, numbers):
                    return np.log(numbers[:, [WEIGHT]] / n_rows) - np.log(numbers[:, [VALUES]])

                return made_nodes(rows, None, Grown([block], np.empty(0, np.uint64)), None, 1, valued)

            nodes = grown(lists)
            links = weakest_links(nodes)
            if by_folds:
                fold = fold_of_rows(n, self.cv, None, as_seed(self.random_state, 0))
                alphas = links.path.ccp_alphas
                errors = np.empty((self.cv, len(alphas)))
                for number in range(self.cv):
                    others = np.flatnonzero(fold != number)
                    part = _fold_errors(grown(packed.of(others, others, target, threads)), rows[fold == number])
                    errors[number] = fold_risks([part], middles(alphas), 1.0, 1)[0]
        found = {"ccp_alpha_": None if by_folds else float(self.ccp_alpha)}
        if by_folds:
            error, standard_error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(self.cv)
            found["cv_results_"] = {
                "ccp_alphas": alphas,
                "n_leaves": links.path.n_leaves,
                "errors": error,
                "standard_errors": standard_error,
            }
            found["ccp_alpha_"] = float(alphas[chosen(error, standard_error, self.one_se)])
        nodes = pruned(nodes, found["ccp_alpha_"], links)
        nodes["value"] -= log_volume
        return self._become(_nodes=nodes, bounds_=box, **found, **self._fitted_columns(X, rows))

    def apply(self, X):
        """The node of `tree_` that each row ends in, int64; of a row beyond the bounds that of the nearest part."""
        self._require_fitted()
        return leaves_of(self._nodes, self._new_samples(X), self.n_jobs)

    def score_samples(self, X):
        """The logarithm of the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            -inf beyond the bounds.
        """
        self._require_fitted()
        X = self._new_samples(X)
        leaf = leaves_of(self._nodes, X, self.n_jobs)
        inside = ((self.bounds_[0] <= X) & (self.bounds_[1] >= X)).all(axis=1)
        return np.where(inside, self._nodes["value"][leaf, 0], -np.inf)

    def score(self, X, y=None):
        """The sum of `score_samples`."""
        return float(self.score_samples(X).sum())


def _fold_errors(nodes, X):
    """The FoldErrors of a tree on rows that it was not grown on: integral of f^2 less twice the mean of f at them."""
    density = np.exp(nodes["value"][:, 0])
    share = nodes["weighted_n_node_samples"] / nodes["weighted_n_node_samples"][0]
    [count] = summed_over_visits(nodes, X, lambda rows, visited: [np.ones(len(visited))])
    loss = share * density - 2 * count / len(X) * density
    return FoldErrors.of(nodes, link_alphas(nodes)[0], loss, np.zeros(len(loss)))
