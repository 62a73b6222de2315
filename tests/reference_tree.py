"""Trees the slow, obvious way: every threshold of every feature is tried at every node."""

import numpy as np


def impurity(y, weight, criterion):
    share = weight / weight.sum()
    if criterion == "squared_error":
        return float(share @ (y - share @ y) ** 2)
    if criterion == "absolute_error":
        return float(min(share @ abs(y - middle) for middle in y))
    if criterion == "poisson":
        mean = share @ y
        return float(share @ np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0))
    p = np.array([share[y == label].sum() for label in np.unique(y)])
    if criterion == "gini":
        return float(1 - p @ p)
    if criterion == "misclassification":
        return float(1 - p.max())
    return float(-(p @ np.log2(p)))


def thresholds(x):
    """The middle of each two neighbouring values, or the left one if the middle is not below the right one."""
    values = np.unique(x).astype(np.float64)
    below, above = values[:-1], values[1:]
    middle = below / 2 + above / 2
    return np.where((middle >= below) & (middle < above), middle, below)


def splits(X, y, weight, criterion, min_leaf=1, min_leaf_weight=0.0):
    """(reduction of the node's impurity, feature, threshold) of every split, by feature and then by threshold."""
    for feature in range(X.shape[1]):
        for threshold in thresholds(X[:, feature]):
            left = X[:, feature] <= threshold
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            if min(weight[left].sum(), weight[~left].sum()) < min_leaf_weight:
                continue
            if criterion == "poisson" and not (y[left].any() and y[~left].any()):
                continue
            yield gain(y, weight, criterion, left), feature, threshold


def best_split(*arguments, **limits):
    """The first of the splits that reduce impurity most, within 1e-9; None if there is no split."""
    found = list(splits(*arguments, **limits))
    if not found:
        return None
    most = max(reduction for reduction, _, _ in found)
    return next(split for split in found if split[0] > most - 1e-9)


def subtrees(left, right, risk):
    """Weakest-link pruning by definition: [(alpha, collapsed nodes so far)], always the node with the least g(t)."""
    collapsed, alpha, steps = set(), 0.0, []

    def branch(node):
        if left[node] < 0 or node in collapsed:
            return risk[node], 1
        parts = branch(left[node]), branch(right[node])
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]

    def inner(node):
        if left[node] < 0 or node in collapsed:
            return []
        return [node, *inner(left[node]), *inner(right[node])]

    while inner(0):
        links = []
        for node in inner(0):
            total, leaves = branch(node)
            links.append(((risk[node] - total) / (leaves - 1), node))
        least = min(link for link, _ in links)
        alpha = max(alpha, least)
        collapsed |= {node for link, node in links if link <= least + 1e-12}
        steps.append((alpha, *branch(0)))
    return steps


def gain(y, weight, criterion, left):
    """The reduction of impurity by a split."""
    parts = sum(weight[side].sum() * impurity(y[side], weight[side], criterion) for side in (left, ~left))
    return impurity(y, weight, criterion) - parts / weight.sum()


def splits_with_missing(X, y, weight, criterion):
    """(gain, feature, threshold, whether NaN goes left) of every split."""
    for feature in range(X.shape[1]):
        x = X[:, feature]
        missing = np.isnan(x)
        for threshold in [*thresholds(x[~missing]), np.inf]:
            for missing_left in (False, True):
                left = np.where(missing, missing_left, x <= threshold)
                if left.any() and not left.all():
                    yield gain(y, weight, criterion, left), feature, threshold, missing_left
