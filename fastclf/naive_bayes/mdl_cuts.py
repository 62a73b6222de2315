"""Cuts of a column by the minimum description length (Fayyad, Irani 1993)."""

import numpy as np


def mdl_cuts(x, codes):
    """Cuts between values of x, ascending, where the gain of information about classes exceeds the cost of a cut.

    An interval of N rows is cut where the gain, by which the cut lowers the entropy, is largest, if

        gain > (log2(N - 1) + log2(3^k - 2) - k Ent + k1 Ent1 + k2 Ent2) / N,

    where k, k1 and k2 are the numbers of classes in the interval and its two sides, and Ent, Ent1 and Ent2 their
    entropies. Costs O(n log n) for sorting and O(distinct values) for each level of cuts.
    """
    values, place = np.unique(np.asarray(x, float), return_inverse=True)
    n_classes = int(codes.max()) + 1 if len(codes) else 1
    counts = np.bincount(place * n_classes + codes, minlength=len(values) * n_classes).reshape(-1, n_classes)
    ahead = np.concatenate([np.zeros((1, n_classes)), np.cumsum(counts, axis=0)])
    cuts, intervals = [], [(0, len(values))]
    while intervals:
        first, last = intervals.pop()
        if last - first < 2:
            continue
        left, right = ahead[first + 1 : last] - ahead[first], ahead[last] - ahead[first + 1 : last]
        whole = ahead[last] - ahead[first]
        n = whole.sum()
        cost = (left.sum(axis=1) * _entropy(left) + right.sum(axis=1) * _entropy(right)) / n
        best = int(cost.argmin())
        bits = [np.count_nonzero(part) * float(_entropy(part)) for part in (whole, left[best], right[best])]
        price = np.log2(n - 1) + np.log2(3.0 ** np.count_nonzero(whole) - 2) - bits[0] + bits[1] + bits[2]
        if float(_entropy(whole)) - cost[best] > price / n:
            middle = first + 1 + best
            cuts.append((values[middle - 1] + values[middle]) / 2)
            intervals += [(first, middle), (middle, last)]
    return np.sort(cuts)


def _entropy(counts):
    """The entropy, in bits, of counts along the last axis."""
    share = counts / counts.sum(axis=-1, keepdims=True)
    return -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(axis=-1)
