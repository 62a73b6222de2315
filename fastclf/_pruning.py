"""Cost-complexity pruning: every subtree that is the smallest best one for some alpha."""

from typing import NamedTuple

import numpy as np

from . import _prune
from ._nodes import cut_short, unpacked

# Alphas that agree to this share of the largest, or of themselves, are one: what differs is rounding.
_SAME = 1e-12


class PruningPath(dict):
    """`ccp_alphas`, `impurities` and `n_leaves` of the subtrees, from the whole tree to the root; also attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Links(NamedTuple):
    """Where the nodes of a tree become leaves."""

    alpha: np.ndarray  # (n_nodes,): from which on a node is a leaf, if none above it is; infinite for leaves
    path: PruningPath


def weakest_links(nodes):
    """The Links of a tree, risks being impurities weighted by the share of the rows."""
    right = unpacked(nodes)[2]
    risk = nodes["impurity"] * (nodes["weighted_n_node_samples"] / nodes["weighted_n_node_samples"][0])
    n = len(right)
    alpha, fewer = np.empty(n), np.empty(n, np.int64)
    _prune.links(right, risk, alpha, fewer, np.empty((3, n), np.int32))
    leaf = right == np.arange(n)
    breaks = np.flatnonzero(fewer)
    breaks = breaks[np.argsort(alpha[breaks], kind="stable")]
    at = alpha[breaks]
    first = np.concatenate([[True], at[1:] > at[:-1] * (1 + _SAME) + _SAME * risk[0]]) if len(at) else np.empty(0, bool)
    ends = np.append(np.flatnonzero(first)[1:], len(at))[: first.sum()] - 1
    n_leaves = np.count_nonzero(leaf) - np.cumsum(fewer[breaks])[ends]
    impurities = risk[leaf].sum() + np.cumsum(fewer[breaks] * at)[ends]
    start = [[0.0], [risk[leaf].sum()], [np.count_nonzero(leaf)]]
    columns = [np.concatenate([s, c]) for s, c in zip(start, (at[ends], impurities, n_leaves))]
    if len(at) and columns[0][1] <= _SAME * risk[0]:  # splits that gain nothing are no subtree of their own
        columns = [column[1:] for column in columns]
        columns[0][0] = 0.0
    return Links(alpha, PruningPath(ccp_alphas=columns[0], impurities=columns[1], n_leaves=columns[2].astype(np.int64)))


def at_most(alpha, ccp_alpha):
    """Which nodes of these Links.alpha become leaves, uint8."""
    return (alpha <= ccp_alpha * (1 + _SAME)).astype(np.uint8)


def pruned(nodes, ccp_alpha):
    """The smallest subtree of least impurity plus ccp_alpha times the number of leaves."""
    return cut_short(nodes, at_most(weakest_links(nodes).alpha, ccp_alpha))
