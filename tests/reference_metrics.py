"""Metrics as their definitions say, in plain Python: float64, coordinates in order, every operation rounded once."""

import math

import numpy as np


def canberra(x, q):
    return sum_in_order(abs(a - b) / (abs(a) + abs(b)) if a or b else 0.0 for a, b in zip(x, q))


def braycurtis(x, q):
    below = sum_in_order(abs(a) + abs(b) for a, b in zip(x, q))
    return sum_in_order(abs(a - b) for a, b in zip(x, q)) / below if below else 0.0


def seuclidean(x, q, V):
    return math.sqrt(sum_in_order((a - b) * (a - b) / v for a, b, v in zip(x, q, V)))


def mahalanobis(x, q, VI):
    t = [a - b for a, b in zip(x, q)]
    s = sum_in_order(a * sum_in_order(v * b for v, b in zip(row, t)) for a, row in zip(t, VI))
    return math.sqrt(max(s, 0.0))


def haversine(x, q):
    a, b = math.sin(0.5 * (x[0] - q[0])), math.sin(0.5 * (x[1] - q[1]))
    return 2 * math.asin(min(1.0, math.sqrt(a * a + math.cos(x[0]) * math.cos(q[0]) * b * b)))


def correlation(x, q):
    x, q = centred(x), centred(q)
    below = math.sqrt(sum_in_order(a * a for a in x) * sum_in_order(a * a for a in q))
    s = 1 - sum_in_order(a * b for a, b in zip(x, q)) / (below if below else 1.0)
    return min(2.0, max(0.0, s))


def centred(x):
    """x less its mean, scaled by powers of two so that the largest is from 1/2 to 1; zeros if x is constant."""
    if min(x) == max(x):
        return [0.0] * len(x)
    x = [math.ldexp(a, -math.frexp(max(map(abs, x)))[1]) for a in x]
    mean = sum_in_order(x) / len(x)
    x = [a - mean for a in x]
    return [math.ldexp(a, -math.frexp(max(map(abs, x)))[1]) for a in x]


def sum_in_order(terms):
    s = 0.0
    for term in terms:  # a loop, because the `sum` of Python 3.12 compensates rounding errors
        s += term
    return s


def of_counts(name):
    """A metric of bits by the numbers of places where both, one and none of two rows have a 1."""

    def distance(x, q):
        both = sum(a != 0 and b != 0 for a, b in zip(x, q))
        first, second = sum(a != 0 and b == 0 for a, b in zip(x, q)), sum(a == 0 and b != 0 for a, b in zip(x, q))
        unequal, n = first + second, len(x)
        above, below = {
            "dice": (unequal, 2 * both + unequal),
            "jaccard": (unequal, both + unequal),
            "rogerstanimoto": (2 * unequal, n + unequal),
            "russellrao": (n - both, n),
            "sokalmichener": (2 * unequal, n + unequal),
            "sokalsneath": (2 * unequal, both + 2 * unequal),
            "yule": (2 * first * second, both * (n - both - unequal) + first * second),
        }[name]
        return above / below if above else 0.0

    return distance


FORMULAS = {
    "canberra": canberra,
    "braycurtis": braycurtis,
    "seuclidean": seuclidean,
    "mahalanobis": mahalanobis,
    "haversine": haversine,
    "correlation": correlation,
}

BITS = ["dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule"]


def distances(X, Q, metric, **params):
    """The distances of all pairs: shape (len(Q), len(X))."""
    distance = FORMULAS[metric] if metric in FORMULAS else of_counts(metric)
    X, Q = np.asarray(X, np.float64).tolist(), np.asarray(Q, np.float64).tolist()
    params = {name: np.asarray(value, np.float64).tolist() for name, value in params.items()}
    return np.array([[distance(x, q, **params) for x in X] for q in Q])
