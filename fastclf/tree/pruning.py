"""Cost-complexity pruning: all subtrees that are optimal for some alpha, and the best of them by cross-validation."""

from typing import NamedTuple

import numpy as np

from . import _descend, _prune
from .nodes import cut_short, leaves_of, paths_of, unpacked

# Two values of ccp_alpha are equal if they differ by less than this share of themselves, or of the risk of the root.
_SAME = 1e-12

# A value of ccp_alpha that is so large that pruning leaves only the root.
_BEYOND = 1e300

# The number of pairs (row, node on the row's path) in a block that `visits` yields; in a large tree, a quarter of the
# number of nodes.
_VISITS = 1 << 13


class PruningPath(dict):
    """`ccp_alphas`, `impurities` and `n_leaves` of the subtrees, from whole tree to root, as items and attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Links(NamedTuple):
    """The alphas at which the nodes of a tree become leaves."""

    # (n_nodes,): the least ccp_alpha for which pruning makes the node a leaf; infinite for the leaves of the whole tree
    alpha: np.ndarray
    path: PruningPath


def link_alphas(nodes, risk=None):
    """(alpha as in `Links`, the number of leaves that each link removes, the part of each node in the tree's risk).

    risk: the risk of each node per row, or None for its impurity; it is multiplied by the node's share of the rows.
    """
    right = unpacked(nodes)[2]
    risk = nodes["impurity"] if risk is None else risk
    risk = risk * (nodes["weighted_n_node_samples"] / nodes["weighted_n_node_samples"][0])
    alpha, fewer = np.empty(len(right)), np.empty(len(right), np.int64)
    _prune.links(right, risk, alpha, fewer, np.empty((3, len(right)), np.int32))
    return alpha, fewer, risk


def weakest_links(nodes, risk=None):
    """The `Links` of a tree; risk: as in `link_alphas`."""
    alpha, fewer, risk = link_alphas(nodes, risk)
    leaf = np.isinf(alpha)
    breaks = np.flatnonzero(fewer)
    breaks = breaks[np.argsort(alpha[breaks], kind="stable")]
    at = alpha[breaks]
    first = (
        np.concatenate([[True], at[1:] > at[:-1] * (1 + _SAME) + _SAME * abs(risk[0])])
        if len(at)
        else np.empty(0, bool)
    )
    ends = np.append(np.flatnonzero(first)[1:], len(at))[: first.sum()] - 1
    n_leaves = np.count_nonzero(leaf) - np.cumsum(fewer[breaks])[ends]
    impurities = risk[leaf].sum() + np.cumsum(fewer[breaks] * at)[ends]
    start = [[0.0], [risk[leaf].sum()], [np.count_nonzero(leaf)]]
    columns = [np.concatenate([s, c]) for s, c in zip(start, (at[ends], impurities, n_leaves))]
    # splits that do not lower the risk are undone first: the path begins with the tree without such splits
    if len(at) and columns[0][1] <= _SAME * abs(risk[0]):
        columns = [column[1:] for column in columns]
        columns[0][0] = 0.0
    return Links(alpha, PruningPath(ccp_alphas=columns[0], impurities=columns[1], n_leaves=columns[2].astype(np.int64)))


def pruned(nodes, ccp_alpha, links):
    """The smallest subtree that minimises the risk plus ccp_alpha times the number of leaves."""
    return cut_short(nodes, (links.alpha <= ccp_alpha * (1 + _SAME)).astype(np.uint8))


class Judged(NamedTuple):
    """A finished tree with the risks and losses for pruning."""

    nodes: dict  # the arrays of the nodes, with the names in `nodes.NODES`
    risk: np.ndarray | None  # (n_nodes,), float64: the risk of each node; None: the risk is the impurity
    # (2, n_nodes), float64: for each node, the sum of the costs of its prediction over the left-out rows that pass it,
    # and the sum of the squared costs; None if no rows were left out
    losses: np.ndarray | None


class FoldErrors(NamedTuple):
    """The errors of a fold's tree on its left-out rows; a node adds its loss for alphas from `low` to below `high`."""

    low: np.ndarray  # (k,), float64: for each of k nodes, the least ccp_alpha for which it is a leaf
    high: np.ndarray  # (k,), float64: for each of the k nodes, the least ccp_alpha for which a node above it is a leaf
    # (k,), float64: for each of the k nodes, the sum of the costs of its prediction over left-out rows
    loss: np.ndarray
    square: np.ndarray  # (k,), float64: for each of the k nodes, the sum of the squared costs of its prediction

    @classmethod
    def of(cls, tree):
        """The `FoldErrors` of a `Judged` that has losses."""
        alpha = link_alphas(tree.nodes, tree.risk)[0]
        high = np.empty(len(alpha))
        _prune.least_above(unpacked(tree.nodes)[2], alpha, high)
        low = np.where(np.isinf(alpha), 0.0, alpha)
        loss, square = tree.losses
        shown = np.flatnonzero((low < high) & (loss != 0))
        return cls(low[shown], high[shown], loss[shown], square[shown])


def visits(nodes, X):
    """Yield blocks of (row of X, node) pairs, with each node on the path of each row."""
    right = unpacked(nodes)[2]
    depths = np.empty(len(right), np.int64)
    _descend.depths(right, depths)
    leaf = leaves_of(nodes, X, 1)
    ends = np.cumsum(depths[leaf] + 1)
    starts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], max(_VISITS, len(right) // 4))))
    for start, stop in zip(starts, [*starts[1:], len(X)]):
        indptr, visited = paths_of(nodes, depths, X[start:stop], leaf[start:stop])
        yield np.repeat(np.arange(start, stop), np.diff(indptr)), visited


def fold_risks(folds, alphas, total_weight, n_rows):
    """(error, standard error of the error) for each of the ascending alphas, over the left-out rows of all folds."""
    sums = np.zeros((2, len(alphas) + 1))
    reached = np.asarray(alphas) * (1 + _SAME)
    for fold in folds:
        first, last = np.searchsorted(reached, fold.low), np.searchsorted(reached, fold.high)
        for line, amount in zip(sums, (fold.loss, fold.square)):
            np.add.at(line, first, amount)
            np.subtract.at(line, last, amount)
    error, square = np.cumsum(sums, axis=1)[:, :-1] / total_weight
    error = np.where(abs(error) > _SAME * abs(error).max(), error, 0.0)
    return error, np.sqrt(np.maximum(square - error**2, 0) / n_rows)


def middles(alphas):
    """The geometric means of neighbouring alphas, and a last alpha above all (Breiman et al. 1984, section 3.4)."""
    return np.append(np.sqrt(alphas[:-1] * alphas[1:]), _BEYOND)


def chosen(error, standard_error, one_se):
    """The last index (smallest tree) with the least error, or with `one_se` within a standard error of the least."""
    best = np.flatnonzero(error <= error.min() + _SAME * abs(error).max())[-1]
    if one_se:
        best = np.flatnonzero(error <= error[best] + standard_error[best])[-1]
    return int(best)


def fold_of_rows(n, folds, groups, seed):
    """A random fold for each row, as an array.

    groups: a label for each row, or None; the rows of each label are spread evenly over the folds.
    """
    order = np.random.default_rng(seed).permutation(n)
    if groups is not None:
        order = order[np.argsort(groups[order], kind="stable")]
    fold = np.empty(n, np.intp)
    fold[order] = np.arange(n) % folds
    return fold
