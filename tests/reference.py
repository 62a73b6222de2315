"""Slow and obvious versions of the algorithms. Every kernel must agree with them, to the last bit where stated."""

import math

import numpy as np


def power(a, p):
    """a ** p as in C: inf where Python raises OverflowError."""
    try:
        return math.pow(a, p)
    except OverflowError:
        return math.inf


def distance(x, q, metric="euclidean", p=2.0, w=None):
    """The textbook loop: float64, one coordinate after another."""
    x, q = [float(v) for v in x], [float(v) for v in q]
    w = [1.0] * len(x) if w is None else [float(v) for v in w]
    s = 0.0
    if metric in ("euclidean", "sqeuclidean"):
        for xj, qj in zip(x, q):
            t = xj - qj
            s += t * t
        return math.sqrt(s) if metric == "euclidean" else s
    if metric == "manhattan":
        for xj, qj in zip(x, q):
            s += abs(xj - qj)
        return s
    if metric == "chebyshev":
        for xj, qj in zip(x, q):
            s = max(s, abs(xj - qj))
        return s
    if metric == "minkowski":
        for xj, qj, wj in zip(x, q, w):
            s += wj * power(abs(xj - qj), p) if wj else 0.0
        return power(s, 1 / p)
    if metric == "hamming":
        for xj, qj in zip(x, q):
            s += xj != qj
        return s / len(x)
    if metric == "nan_euclidean":
        both = [xj - qj for xj, qj in zip(x, q) if xj == xj and qj == qj]
        for t in both:
            s += t * t
        return math.sqrt(len(x) / len(both) * s) if both else math.inf
    if metric == "jaccard":
        either = sum(xj != 0 or qj != 0 for xj, qj in zip(x, q))
        return sum((xj != 0) != (qj != 0) for xj, qj in zip(x, q)) / either if either else 0.0
    if metric == "dot":
        for xj, qj in zip(x, q):
            s += xj * qj
        return 0.0 - s
    if metric == "cosine":
        xx = qq = 0.0
        for xj, qj in zip(x, q):
            s += xj * qj
            xx += xj * xj
            qq += qj * qj
        norms = math.sqrt(xx * qq) if 1e-290 < xx * qq < 1e290 else math.sqrt(xx) * math.sqrt(qq)
        return 1.0 if norms == 0 else 1 - min(1.0, max(-1.0, s / norms))
    raise ValueError(metric)


def distances(X, Q, metric="euclidean", **params):
    """The distances of all pairs, by two nested loops: shape (len(Q), len(X))."""
    return np.array([[distance(x, q, metric, **params) for x in X] for q in Q])


def fast_distances(X, Q, metric="euclidean"):
    """`distances` for metrics without powers: the same operations in the same order, for all pairs at once."""
    X, Q = np.asarray(X, np.float64), np.asarray(Q, np.float64)
    s = np.zeros((len(Q), len(X)))
    with np.errstate(over="ignore"):
        for j in range(X.shape[1]):
            t = X[None, :, j] - Q[:, j, None]
            if metric in ("euclidean", "sqeuclidean"):
                s += t * t
            elif metric == "manhattan":
                s += np.abs(t)
            elif metric == "chebyshev":
                s = np.maximum(s, np.abs(t))
            elif metric == "hamming":
                s += X[None, :, j] != Q[:, j, None]
            elif metric == "jaccard":
                s += (X[None, :, j] != 0) != (Q[:, j, None] != 0)
            else:
                raise ValueError(metric)
    if metric == "jaccard":
        either = ((X != 0).sum(axis=1) + (Q != 0).sum(axis=1)[:, None] + s) / 2
        return s / np.where(either > 0, either, 1)
    return np.sqrt(s) if metric == "euclidean" else s / X.shape[1] if metric == "hamming" else s


def nearest(D, k, own=None, allowed=None):
    """(distances, indices) of the k nearest rows, from a distance matrix: smaller distance first, then index."""
    far, index = np.empty((len(D), k)), np.empty((len(D), k), np.intp)
    for i, row in enumerate(D):
        order = [j for j in np.lexsort((np.arange(len(row)), row)) if allowed is None or allowed[j]]
        order = [j for j in order if own is None or j != own[i]][:k]
        far[i], index[i] = row[order], order
    return far, index


def counted(D, k, weight):
    """For each query the neighbours whose weights add up to k, as (index, its part of the weight)."""
    rows = []
    for row in D:
        left, taken = float(k), []
        for j in np.lexsort((np.arange(len(row)), row)):
            if weight[j] > 0 and left > 0:
                taken.append((j, min(weight[j], left)))
                left -= taken[-1][1]
        rows.append(taken)
    return rows


def vote(D, y, k, weights="uniform", weight=None):
    """(classes, share of the votes for each), by counting one neighbour after another."""
    classes = np.unique(y)
    weight = np.ones(len(y)) if weight is None else weight
    shares = np.zeros((len(D), len(classes)))
    for i, taken in enumerate(counted(D, k, weight)):
        at_zero = any(D[i, j] == 0 for j, _ in taken)
        for j, amount in taken:
            if weights == "distance":
                amount *= (D[i, j] == 0) if at_zero else 1 / D[i, j]
            shares[i, np.searchsorted(classes, y[j])] += amount
    return classes, shares / shares.sum(axis=1, keepdims=True)


def ballot(row, k, weights="uniform", weight=None):
    """The votes for one query from its row of distances: [(row number, distance, taken, vote)], in order."""
    weight = np.ones(len(row)) if weight is None else weight
    order = [j for j in np.lexsort((np.arange(len(row)), row)) if weight[j] > 0 and row[j] < np.inf]
    votes, before = [], 0.0
    for j in order:
        if not before < k * (1 - 1e-12):
            break
        taken = min(k - before, weight[j])
        vote = 1.0 if weights == "uniform" or row[j] == row[order[0]] else row[order[0]] / row[j]
        votes.append((j, row[j], taken, vote * taken))
        before += weight[j]
    return votes


def elect(votes, codes, nearer):
    """The class with the most votes; a tie goes to the first class, or by total distance. Sums in neighbour order."""
    count, far = {}, {}
    for j, distance, taken, vote in votes:
        count[codes[j]] = count.get(codes[j], 0.0) + vote
        far[codes[j]] = far.get(codes[j], 0.0) + distance * taken
    return min(count, key=lambda code: (-count[code], far[code] if nearer else 0, code))


def share(votes, codes, n_classes):
    """The share of each class in the votes, which are summed in the order of the neighbours."""
    count, total = np.zeros(n_classes), 0.0
    for j, _, _, vote in votes:
        count[codes[j]] += vote
        total += vote
    return count / total


def mean(votes, y):
    """The mean target of the neighbours, which are summed in their order."""
    sums, total = np.zeros(y.shape[1:]), 0.0
    for j, _, _, vote in votes:
        sums = sums + vote * y[j]
        total += vote
    return sums / total
