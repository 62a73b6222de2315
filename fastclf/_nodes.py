"""The nodes of a tree as arrays: made from what grew, cut short, gone down, shown under scikit-learn's names."""

import heapq
from functools import cached_property
from itertools import pairwise

import numpy as np

from . import _descend
from ._growth import ABOVE, BELOW, FEATURE, IMPURITY, RIGHT, SIZE, WEIGHT
from ._threads import ranges, run
from ._validation import require_array

# Rows that go down a tree in 30 ms at first.
_ROWS = 1 << 14

# Fewer rows than this are not worth a second thread.
_FEW_ROWS = 1 << 13


def made_nodes(X, rows, nodes, numbers, value):
    """A dict of arrays, as an estimator keeps it.

    steps : (n_nodes, 2) int64, for `_descend.pyx`
    impurity, weighted_n_node_samples : (n_nodes,) float64
    n_node_samples : (n_nodes,) int64
    value : (n_nodes, n_values) float64

    A threshold is the middle of the two values beside it, or the left one if the middle is rounded to the right one.
    """
    inner = np.flatnonzero(nodes[:, FEATURE] >= 0)
    feature = np.where(nodes[:, FEATURE] >= 0, nodes[:, FEATURE], 0).astype(np.int32)
    below, above = (nodes[inner, side] if rows is None else rows[nodes[inner, side]] for side in (BELOW, ABOVE))
    below, above = (X[side, feature[inner]].astype(np.float64) + 0.0 for side in (below, above))
    middle = below / 2 + above / 2
    threshold = np.full(len(nodes), np.nan)
    threshold[inner] = np.where((middle >= below) & (middle < above), middle, below)
    right = np.arange(len(nodes), dtype=np.int32)
    right[inner] = nodes[inner, RIGHT]
    return {
        "steps": packed(threshold, feature, right),
        "impurity": numbers[:, IMPURITY].copy(),
        "n_node_samples": nodes[:, SIZE].astype(np.int64),
        "weighted_n_node_samples": numbers[:, WEIGHT].copy(),
        "value": np.ascontiguousarray(value),
    }


def packed(threshold, feature, right):
    steps = np.empty((len(right), 2), np.int64)
    _descend.pack(threshold, feature, right, steps)
    return steps


def unpacked(nodes):
    """(threshold, feature, right) of each node; a leaf is its own right child."""
    n = len(nodes["steps"])
    columns = np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
    _descend.unpack(nodes["steps"], *columns)
    return columns


def check_nodes(nodes, n_features, n_values):
    """Refuse, as ValueError, what is no such dict."""
    wanted = {"steps", "impurity", "n_node_samples", "weighted_n_node_samples", "value"}
    if not isinstance(nodes, dict) or set(nodes) != wanted:
        raise ValueError(f"_nodes is not a dict of {', '.join(sorted(wanted))}")
    require_array("steps", nodes["steps"], [np.int64], (None, 2))
    n = len(nodes["steps"])
    if not 0 < n < 1 << 31:
        raise ValueError(f"the tree has {n} nodes; 1 to 2147483647 are wanted")
    threshold, feature, right = unpacked(nodes)
    leaf = right == np.arange(n)
    if feature.min() < 0 or feature.max() >= n_features or not _descend.is_tree(right):
        raise ValueError("steps does not describe a tree")
    if (np.isnan(threshold) != leaf).any():
        raise ValueError("steps has a leaf with a threshold, or a node without")
    require_array("n_node_samples", nodes["n_node_samples"], [np.int64], (n,))
    for name in ("impurity", "weighted_n_node_samples"):
        require_array(name, nodes[name], [np.float64], (n,))
    require_array("value", nodes["value"], [np.float64], (n, n_values))


def inner_nodes(right):
    return np.flatnonzero(right != np.arange(len(right)))


def improvements(nodes, right):
    """By how much each inner node's split reduces the weighted impurity of the whole."""
    risk = nodes["impurity"] * nodes["weighted_n_node_samples"]
    inner = inner_nodes(right)
    gain = np.zeros(len(right))
    gain[inner] = (risk[inner] - risk[inner + 1] - risk[right[inner]]) / nodes["weighted_n_node_samples"][0]
    return gain


def best_first(nodes, max_leaf_nodes):
    """Which nodes become leaves where the node of the largest improvement, the first of equal ones, is split first."""
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
    """The nodes without what is below the collapsed ones (uint8), which become leaves."""
    threshold, feature, right = unpacked(nodes)
    kept = np.empty(len(right), np.uint8)
    _descend.keep(right, collapsed, kept)
    stays = np.flatnonzero(kept)
    number = (np.cumsum(kept, dtype=np.int64) - 1).astype(np.int32)
    leaf = (collapsed[stays] != 0) | (right[stays] == stays)
    threshold = np.where(leaf, np.nan, threshold[stays])
    feature = np.where(leaf, 0, feature[stays]).astype(np.int32)
    right = np.where(leaf, np.arange(len(stays)), number[right[stays]]).astype(np.int32)
    return {
        name: packed(threshold, feature, right) if name == "steps" else np.ascontiguousarray(array[stays])
        for name, array in nodes.items()
    }


def leaves_of(nodes, X, threads):
    """The leaf of each row of X, int64."""
    leaf = np.empty(len(X), np.int64)

    def work(rows):
        for start, stop in ranges(*rows, _ROWS):
            _descend.apply(nodes["steps"], X, start, stop, leaf)
            yield

    n_blocks = threads if len(X) >= _FEW_ROWS else 1
    edges = np.linspace(0, len(X), n_blocks + 1).astype(int).tolist()
    run(work, list(pairwise(edges)), threads)
    return leaf


class Tree:
    """The arrays of a fitted tree under scikit-learn's names, made when they are asked for; a leaf's children are -1.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs, max_n_classes : int
    n_classes : ndarray of shape (1,)
    children_left, children_right : ndarray of shape (node_count,), int64
    feature : ndarray of shape (node_count,), int64
        -2 in leaves.
    threshold : ndarray of shape (node_count,), float64
        Rows with x <= threshold go left; -2 in leaves.
    value : ndarray of shape (node_count, 1, n_classes or 1)
        Shares of the classes, or the mean.
    impurity, weighted_n_node_samples : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), int64
    missing_go_to_left : ndarray of shape (node_count,), uint8
    """

    n_outputs = 1

    def __init__(self, nodes, n_features):
        self._nodes, self.n_features = nodes, n_features
        self.impurity, self.n_node_samples = nodes["impurity"], nodes["n_node_samples"]
        self.weighted_n_node_samples = nodes["weighted_n_node_samples"]
        self.value = nodes["value"][:, None, :]
        self.node_count = self.capacity = len(self.impurity)
        self.max_n_classes = self.value.shape[2]
        self.n_classes = np.array([self.max_n_classes])

    @cached_property
    def _columns(self):
        return unpacked(self._nodes)

    @cached_property
    def _leaf(self):
        return self._columns[2] == np.arange(self.node_count)

    @cached_property
    def depths(self):
        """The depth of each node, 0 for the root."""
        depth = np.empty(self.node_count, np.int64)
        _descend.depths(self._columns[2], depth)
        return depth

    @cached_property
    def threshold(self):
        return np.where(self._leaf, -2.0, self._columns[0])

    @cached_property
    def feature(self):
        return np.where(self._leaf, -2, self._columns[1]).astype(np.int64)

    @cached_property
    def children_left(self):
        return np.where(self._leaf, -1, np.arange(self.node_count) + 1)

    @cached_property
    def children_right(self):
        return np.where(self._leaf, -1, self._columns[2]).astype(np.int64)

    @property
    def missing_go_to_left(self):
        return np.zeros(self.node_count, np.uint8)

    @property
    def n_leaves(self):
        return int(np.count_nonzero(self._leaf))

    @property
    def max_depth(self):
        return int(self.depths.max())

    def compute_feature_importances(self, normalize=True):
        """The total improvement by the splits of each feature, as shares of the whole unless told otherwise."""
        inner = np.flatnonzero(~self._leaf)
        gain = improvements(self._nodes, self._columns[2])[inner]
        total = np.bincount(self.feature[inner], np.maximum(gain, 0), minlength=self.n_features)
        return total / total.sum() if normalize and total.sum() > 0 else total

    def apply(self, X):
        """The leaf of each row of a C-contiguous array of float32 or float64."""
        return leaves_of(self._nodes, X, 1)

    def predict(self, X):
        """The value of each row's leaf."""
        return self._nodes["value"][self.apply(X)]

    def decision_path(self, X):
        """A SciPy CSR matrix that has 1 where a row (its row) goes through a node (its column)."""
        from scipy.sparse import csr_matrix

        length = self.depths[self.apply(X)] + 1
        indptr = np.concatenate([[0], np.cumsum(length)])
        indices = np.empty(indptr[-1], np.int64)
        for start, stop in ranges(0, len(X), _ROWS):
            _descend.paths(self._nodes["steps"], X, start, stop, indptr, indices)
        return csr_matrix((np.ones(len(indices), np.int64), indices, indptr), shape=(len(X), self.node_count))
