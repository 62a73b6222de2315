"""The nodes of a tree as arrays: made from a grown tree, pruned, used for predictions, and shown as in scikit-learn."""

import heapq
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._state_table import Array, Dict
from .._threads import aside_if_many, n_threads, ranges, run
from . import _descend, _prune
from .categories import as_features
from .growth import ABOVE, BELOW, FEATURE, IMPURITY, MISSING, SIZE, WEIGHT, by_subset

# The number of rows in the first call of the compiled code that finds leaves: about 30 ms of work.
_ROWS = 1 << 14

# The leaves of fewer rows than this are found by one thread, because a second thread costs more than it saves.
_FEW_ROWS = 1 << 13

# Two bits of the int32 field `feature` of a tree's node, above the number of the feature. _MISSING_LEFT: missing values
# go left. _SUBSET: the split is by a set of categories. `_descend.pyx` has the same bits.
_MISSING_LEFT, _SUBSET = 1 << 30, 1 << 29


def new_nodes(grown, n_values):
    """New arrays with the names in NODES, for `fill_nodes`; the caller writes `value`."""
    n = grown.n_nodes
    return {
        "steps": np.empty((n, 2), np.int64),
        "subsets": grown.subsets if len(grown.subsets) else np.zeros(1, np.uint64),
        "impurity": np.empty(n),
        "n_node_samples": np.empty(n, np.int64),
        "weighted_n_node_samples": np.empty(n),
        "value": np.empty((n, n_values)),
    }


def fill_nodes(made, grown, data):
    """Fill the arrays of `new_nodes` from a `Grown`, which is consumed.

    Yields (slice of the arrays, nodes, numbers) for each block of the `Grown`.
    """
    n = len(made["steps"])
    size, (feature, right) = made["n_node_samples"], made["steps"].view(np.int32).T[2:]
    missing, leaf = np.empty(n, np.int8), np.empty(n, np.uint8)
    start = 0
    grown.blocks.reverse()
    while grown.blocks:
        nodes, numbers = grown.blocks.pop()
        block = slice(start, start + len(nodes))
        start = block.stop
        made["impurity"][block], made["weighted_n_node_samples"][block] = numbers[:, IMPURITY], numbers[:, WEIGHT]
        subset = by_subset(nodes, data.n_codes)
        made["steps"].view(np.float64)[block, 0] = _thresholds(data, nodes, subset)
        feature[block] = np.maximum(nodes[:, FEATURE], 0) | _SUBSET * subset
        size[block], missing[block], leaf[block] = nodes[:, SIZE], nodes[:, MISSING], nodes[:, FEATURE] < 0
        yield block, nodes, numbers
    children = np.empty(n, np.int32)
    _prune.right_children(leaf, children)
    right[:] = children
    for start in range(0, n, _ROWS):
        inner = start + np.flatnonzero(leaf[start : start + _ROWS] == 0)
        # a node that had no missing values in the fit sends them to its larger child
        left = np.where(missing[inner] < 0, size[inner + 1] > size[children[inner]], missing[inner] > 0)
        feature[inner] |= _MISSING_LEFT * left


def _thresholds(data, nodes, subset):
    """The thresholds of nodes: the middle of the values on both sides, or the left value if that rounds to the right.

    Infinity if only missing values go right; NaN in leaves; for a split by categories the subset's index in `subsets`.
    """
    inner = np.flatnonzero((nodes[:, FEATURE] >= 0) & ~subset)
    below, above = (data.values_at(nodes[inner, side], nodes[inner, FEATURE]) for side in (BELOW, ABOVE))
    middle = below / 2 + above / 2
    threshold = np.full(len(nodes), np.nan)
    threshold[inner] = np.where((middle >= below) & (middle < above), middle, below)
    threshold[inner[np.isnan(above)]] = np.inf
    threshold[subset] = nodes[subset, BELOW]
    return threshold


def packed(threshold, feature, right):
    steps = np.empty((len(right), 2), np.int64)
    _descend.pack(threshold, feature, right, steps)
    return steps


def unpacked(nodes):
    """(threshold, feature with its bits, right child) of each node."""
    n = len(nodes["steps"])
    columns = np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
    _descend.unpack(nodes["steps"], *columns)
    return columns


class Steps(NamedTuple):
    """The arrays that `_descend.pyx` packs. A leaf has the threshold NaN, and is its own right child."""

    threshold: np.ndarray
    feature: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    by_subset: np.ndarray

    def members(self, subsets, node):
        """A mask of the category codes that go left at a node that is split by a subset."""
        words = subsets[int(self.threshold[node]) :]
        n = int(words[0])
        return np.unpackbits(words[1 : 1 + (n + 63) // 64].astype("<u8").view(np.uint8), bitorder="little")[:n] > 0


def split_steps(nodes):
    threshold, feature, right = unpacked(nodes)
    bits = [feature & bit > 0 for bit in (_MISSING_LEFT, _SUBSET)]
    return Steps(threshold, feature & (_SUBSET - 1), right, *bits)


# The arrays of a fitted tree, as an entry of an estimator's table of state; the estimator declares the size n_values.
NODES = Dict(
    # for each node a struct `step_t` of `_descend.pyx`: threshold, feature, right child
    steps=Array("int64", "n_nodes", 2, least=1),
    subsets=Array("uint64", None, least=1),
    impurity=Array("float64", "n_nodes"),
    n_node_samples=Array("int64", "n_nodes"),
    weighted_n_node_samples=Array("float64", "n_nodes"),
    value=Array("float64", "n_nodes", "n_values"),
)


def require_tree(nodes, categories, n_features):
    """Raise ValueError if the arrays `nodes` are not a tree; categories: those of each feature, or None."""
    n = len(nodes["steps"])
    if n >= 1 << 31:
        raise ValueError(f"the tree has {n} nodes; 1 to 2147483647 are wanted")
    threshold, feature, right = unpacked(nodes)
    leaf = right == np.arange(n)
    bits, column = feature & (_SUBSET | _MISSING_LEFT), feature & (_SUBSET - 1)
    if feature.min() < 0 or column.max() >= n_features or not _descend.is_tree(right) or bits[leaf].any():
        raise ValueError("steps, the nodes of a tree, does not describe one tree in pre-order")
    if (np.isnan(threshold) != leaf).any():
        raise ValueError("steps, the nodes of a tree, has a leaf with a threshold, or an inner node without one")
    _check_subsets(nodes["subsets"], threshold, column, bits & _SUBSET > 0, categories)


def _check_subsets(subsets, threshold, column, subset, categories):
    """Refuse a split by categories that is incomplete or does not match the feature's number of categories."""
    start = threshold[subset]
    if not ((start >= 0) & (start < len(subsets))).all():
        raise ValueError("steps, the nodes of a tree, refers to a set of categories beyond the end of subsets")
    for first, feature in zip(start.astype(np.intp).tolist(), column[subset].tolist()):
        listed = None if categories is None else categories[feature]
        if listed is None or subsets[first] != len(listed) or first + 1 + (len(listed) + 63) // 64 > len(subsets):
            raise ValueError("subsets has a set of categories of another size than the feature's number of categories")


def inner_nodes(right):
    return np.flatnonzero(right != np.arange(len(right)))


def improvements(nodes, right):
    """For each inner node, the reduction of the tree's weighted impurity by its split; 0 for leaves."""
    risk = nodes["impurity"] * nodes["weighted_n_node_samples"]
    inner = inner_nodes(right)
    gain = np.zeros(len(right))
    gain[inner] = (risk[inner] - risk[inner + 1] - risk[right[inner]]) / nodes["weighted_n_node_samples"][0]
    return gain


def best_first(nodes, max_leaf_nodes):
    """A mask of the nodes that become leaves if nodes are split in the order of improvement, the first if equal."""
    right = unpacked(nodes)[2]
    gain = improvements(nodes, right)
    collapsed = np.ones(len(right), np.uint8)
    waiting, n_leaves = [(-gain[0], 0)], 1
    while waiting and n_leaves < max_leaf_nodes:
        node = heapq.heappop(waiting)[1]
        if right[node] != node:
            collapsed[node] = 0
            n_leaves += 1
            for child in (node + 1, int(right[node])):
                heapq.heappush(waiting, (-gain[child], child))
    return collapsed


def cut_short(nodes, collapsed):
    """The nodes without the descendants of collapsed nodes, which become leaves; collapsed: a mask, uint8."""
    threshold, feature, right = unpacked(nodes)
    kept = np.empty(len(right), np.uint8)
    _descend.keep(right, collapsed, kept)
    stays = np.flatnonzero(kept)
    number = (np.cumsum(kept, dtype=np.int64) - 1).astype(np.int32)
    leaf = (collapsed[stays] != 0) | (right[stays] == stays)
    threshold = np.where(leaf, np.nan, threshold[stays])
    feature = np.where(leaf, 0, feature[stays]).astype(np.int32)
    right = np.where(leaf, np.arange(len(stays)), number[right[stays]]).astype(np.int32)
    made = {"steps": packed(threshold, feature, right), "subsets": nodes["subsets"]}
    return {name: made[name] if name in made else np.ascontiguousarray(array[stays]) for name, array in nodes.items()}


def leaves_of(nodes, X, n_jobs):
    """The leaf of each row of X, as int64."""
    leaf = np.empty(len(X), np.int64)

    def work(rows):
        for start, stop in ranges(*rows, _ROWS):
            _descend.apply(nodes["steps"], nodes["subsets"], X, start, stop, leaf)
            yield

    if len(X) < _FEW_ROWS:
        _descend.apply(nodes["steps"], nodes["subsets"], X, 0, len(X), leaf)
        return leaf
    threads = n_threads(n_jobs)
    edges = np.linspace(0, len(X), threads + 1).astype(int).tolist()
    run(work, list(pairwise(edges)), threads)
    return leaf


def paths_of(nodes, depths, X, leaf):
    """(indptr, indices) of the nodes on the path of each row.

    depths: the depth of each node; leaf: the leaf of each row.
    """
    indptr = np.concatenate([[0], np.cumsum(depths[leaf] + 1)])
    indices = np.empty(indptr[-1], np.int64)
    for start, stop in ranges(0, len(X), _ROWS):
        _descend.paths(nodes["steps"], nodes["subsets"], X, start, stop, indptr, indices)
    return indptr, indices


class Tree:
    """The arrays of a fitted tree under scikit-learn's names, computed when they are read.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs, max_n_classes : int
    n_classes : ndarray of shape (n_outputs,)
    children_left, children_right : ndarray of shape (node_count,), int64
    feature : ndarray of shape (node_count,), int64
        -2 in leaves.
    threshold : ndarray of shape (node_count,), float64
        Rows with x <= threshold go left; -2 in leaves, NaN if a subset of categories goes left.
    value : ndarray of shape (node_count, n_outputs, max_n_classes or 1)
        Shares of the classes, or the mean or median.
    impurity, weighted_n_node_samples : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), int64
    missing_go_to_left : ndarray of shape (node_count,), uint8
    """

    def __init__(self, nodes, n_features, n_classes):
        self._nodes, self.n_features, self.n_classes = nodes, n_features, n_classes
        self.impurity, self.n_node_samples = nodes["impurity"], nodes["n_node_samples"]
        self.weighted_n_node_samples = nodes["weighted_n_node_samples"]
        self.node_count = self.capacity = len(self.impurity)
        self.n_outputs, self.max_n_classes = len(n_classes), int(n_classes.max())

    @cached_property
    def value(self):
        flat = self._nodes["value"]
        if self.n_outputs == 1 or self.max_n_classes == 1:
            return flat.reshape(self.node_count, self.n_outputs, self.max_n_classes)
        value = np.zeros((self.node_count, self.n_outputs, self.max_n_classes))
        for o, part in enumerate(np.split(flat, np.cumsum(self.n_classes)[:-1], axis=1)):
            value[:, o, : part.shape[1]] = part
        return value

    @cached_property
    def _steps(self):
        return split_steps(self._nodes)

    @cached_property
    def _leaf(self):
        return self._steps.right == np.arange(self.node_count)

    @cached_property
    def depths(self):
        """The depth of each node, 0 for the root."""
        depth = np.empty(self.node_count, np.int64)
        _descend.depths(self._steps.right, depth)
        return depth

    @cached_property
    def threshold(self):
        return np.where(self._leaf, -2.0, np.where(self._steps.by_subset, np.nan, self._steps.threshold))

    @cached_property
    def feature(self):
        return np.where(self._leaf, -2, self._steps.feature).astype(np.int64)

    @cached_property
    def children_left(self):
        return np.where(self._leaf, -1, np.arange(self.node_count) + 1)

    @cached_property
    def children_right(self):
        return np.where(self._leaf, -1, self._steps.right).astype(np.int64)

    @cached_property
    def missing_go_to_left(self):
        return self._steps.missing_left.astype(np.uint8)

    def codes_left(self, node):
        """The codes of the categories that go left, or None for a split by a threshold."""
        if not self._steps.by_subset[node]:
            return None
        return np.flatnonzero(self._steps.members(self._nodes["subsets"], node))

    @property
    def n_leaves(self):
        return int(np.count_nonzero(self._leaf))

    @property
    def max_depth(self):
        return int(self.depths.max())

    def compute_feature_importances(self, normalize=True):
        """The total improvement by the splits of each feature; with `normalize` as a share of the sum over features."""
        inner = np.flatnonzero(~self._leaf)
        gain = improvements(self._nodes, self._steps.right)[inner]
        total = np.bincount(self.feature[inner], np.maximum(gain, 0), minlength=self.n_features)
        return total / total.sum() if normalize and total.sum() > 0 else total

    def _rows(self, X):
        """The checked rows X as the matrix that the compiled code of trees reads."""
        X = as_features(X, type(self).__name__, None)
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has shape {X.shape}; (n_samples, {self.n_features}) is wanted")
        return X

    def apply(self, X):
        """The leaf of each row of X, which is dense or sparse, with codes in place of categories."""
        return leaves_of(self._nodes, self._rows(X), 1)

    def predict(self, X):
        """The value of each row's leaf; without the axis of the outputs if there is one output."""
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def compute_node_depths(self):
        """The depth of each node, 1 for the root."""
        return self.depths + 1

    def compute_partial_dependence(self, X, target_features, out):
        """Add to `out` the mean value of the first output at each row of X, which has the target features alone.

        A row follows the splits of the target features, and goes both ways at others, with the shares of the weights
        of the rows that the tree was fitted to.
        """
        X, column = np.asarray(X), {int(feature): i for i, feature in enumerate(target_features)}
        value, weight = self.value[:, 0, 0], self.weighted_n_node_samples
        shares = {0: np.ones(len(X))}
        # parents come before their children, since a child has a larger number, so that a node's share is known when
        # the loop reaches it
        for node in range(self.node_count):
            share = shares.pop(node, None)
            if share is None or not share.any():
                continue
            left, right = self.children_left[node], self.children_right[node]
            if left == -1:
                out += share * value[node]
                continue
            if self.feature[node] in column:
                goes_left = self._goes_left(node, X[:, column[self.feature[node]]])
            else:
                goes_left = weight[left] / weight[node]
            shares[left], shares[right] = share * goes_left, share * (1 - goes_left)

    def _goes_left(self, node, x):
        """For each value x of a node's feature, 1.0 if the value goes to the left child, otherwise 0.0."""
        codes = self.codes_left(node)
        left = x <= self.threshold[node] if codes is None else np.isin(x, codes)
        return np.where(np.isnan(x), bool(self.missing_go_to_left[node]), left).astype(np.float64)

    def decision_path(self, X):
        """A SciPy CSR matrix (rows of X, nodes) with 1 where the path of a row has a node."""
        from scipy.sparse import csr_matrix

        X = self._rows(X)
        indptr, indices = paths_of(self._nodes, self.depths, X, leaves_of(self._nodes, X, 1))
        ones = aside_if_many(len(indices), np.ones, len(indices), np.int64)
        return aside_if_many(len(indices), csr_matrix, (ones, indices, indptr), shape=(len(X), self.node_count))
