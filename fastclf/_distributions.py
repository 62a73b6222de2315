"""Class-conditional distributions of one column: what `NaiveBayes` is made of.

A distribution is a class of static methods on its statistics, a dict of arrays with the classes as first axis:

    learn(x, codes, weight, n_classes, options)   statistics of known values x of classes `codes`
    merge(one, other)                             those of both together
    score(state, x, options)                      log density of x by class, (len(x), n_classes)
    left(state, x, codes, weight, options)        `score` of each x of a fit by the statistics without it
    sample(state, k, n, rng, options)             n values of class k

Statistics are sums, so that merging adds and leaving out subtracts.
"""

import numpy as np

from ._mdl import mdl_cuts
from ._statistics import class_counts, class_moments, merge_moments


def sums(x, codes, weight, n_classes):
    return np.bincount(codes, x if weight is None else weight * x, minlength=n_classes).astype(np.float64)


def divide(a, b):
    """a / b, and 0 where b is."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=b != 0)


def ones_or(weight, x):
    return np.ones(len(x)) if weight is None else weight


class Gaussian:
    """Mean and variance by maximum likelihood, plus a share of the column's variance over all classes."""

    @staticmethod
    def learn(x, codes, weight, n_classes, options):
        values = np.ascontiguousarray(x, np.float32 if x.dtype == np.float32 else np.float64)[:, None]
        count, mean, squares = (
            part[:, 0] for part in class_moments(values, codes, weight, n_classes, options["n_jobs"])
        )
        return {"count": count, "mean": mean, "squares": squares}

    @staticmethod
    def merge(one, other):
        return dict(zip(one, merge_moments(*one.values(), *other.values())))

    @staticmethod
    def pooled(state):
        total = state["count"].sum()
        centre = divide((state["count"] * state["mean"]).sum(), total)
        return total, centre, (state["squares"] + state["count"] * (state["mean"] - centre) ** 2).sum()

    @staticmethod
    def variances(state, options):
        total, _, squares = Gaussian.pooled(state)
        floor = options["var_smoothing"] * divide(squares, total)
        return np.maximum(divide(state["squares"], state["count"]) + floor, 1e-300)

    @staticmethod
    def log_density(x, mean, variance):
        return -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)

    @staticmethod
    def score(state, x, options):
        return Gaussian.log_density(x[:, None].astype(float), state["mean"], Gaussian.variances(state, options))

    @staticmethod
    def left(state, x, codes, weight, options):
        w, rows = ones_or(weight, x), np.arange(len(x))
        count, squares = (np.tile(state[name], (len(x), 1)) for name in ("count", "squares"))
        mean = np.tile(state["mean"], (len(x), 1))
        count[rows, codes] -= w
        rest, step = count[rows, codes], x - state["mean"][codes]
        mean[rows, codes] -= divide(w * step, rest)
        fewer = squares[rows, codes] - w * step**2 * divide(state["count"][codes], rest)
        # where less than half the digits remain, the sum is made anew
        for i in np.flatnonzero((fewer < 1e-8 * squares[rows, codes]) & (rest > 0)):
            others = (codes == codes[i]) & (rows != i)
            centre = np.average(x[others], weights=w[others])
            fewer[i], mean[i, codes[i]] = (w[others] * (x[others] - centre) ** 2).sum(), centre
        squares[rows, codes] = np.where(rest > 0, fewer, 0)
        total = count.sum(axis=1, keepdims=True)
        centre = divide((count * mean).sum(axis=1, keepdims=True), total)
        pooled = (squares + count * (mean - centre) ** 2).sum(axis=1, keepdims=True)
        floor = options["var_smoothing"] * divide(pooled, total)
        return Gaussian.log_density(x[:, None], mean, np.maximum(divide(squares, count) + floor, 1e-300))

    @staticmethod
    def sample(state, k, n, rng, options):
        return rng.normal(state["mean"][k], np.sqrt(Gaussian.variances(state, options)[k]), n)


class Rate:
    """What Poisson and exponential share: how much, in how many rows, plus `alpha` rows of 1."""

    @staticmethod
    def merge(one, other):
        return {name: one[name] + other[name] for name in one}

    @classmethod
    def learn(cls, x, codes, weight, n_classes, options):
        cls.require(x, options)
        return {"count": class_counts(codes, weight, n_classes), "sum": sums(x, codes, weight, n_classes)}

    @staticmethod
    def mean(count, total, options):
        return divide(total + options["alpha"], count + options["alpha"])

    @classmethod
    def score(cls, state, x, options):
        cls.require(x, options)
        return cls.log_density(x[:, None].astype(float), Rate.mean(state["count"], state["sum"], options))

    @classmethod
    def left(cls, state, x, codes, weight, options):
        w, rows = ones_or(weight, x), np.arange(len(x))
        count, total = (np.tile(state[name], (len(x), 1)) for name in ("count", "sum"))
        count[rows, codes] -= w
        total[rows, codes] -= w * x
        return cls.log_density(x[:, None].astype(float), Rate.mean(count, total, options))


class Poisson(Rate):
    """Counts; the rate is their mean."""

    @staticmethod
    def require(x, options):
        bad = (x < 0) | (x != np.floor(x))
        if bad.any():
            raise ValueError(
                f"{options['column']} holds {x[bad][0]}, which is no count; whole numbers from 0 up are wanted for"
                " distribution 'poisson'"
            )

    @staticmethod
    def log_density(x, mean):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x == 0, 0, x * np.log(mean)) - mean - log_factorial(x)

    @staticmethod
    def sample(state, k, n, rng, options):
        return rng.poisson(Rate.mean(state["count"], state["sum"], options)[k], n)


class Exponential(Rate):
    """Positive numbers; 1 / rate is their mean."""

    @staticmethod
    def require(x, options):
        if (x < 0).any():
            raise ValueError(
                f"{options['column']} holds {x[x < 0][0]}; numbers from 0 up are wanted for distribution 'exponential'"
            )

    @staticmethod
    def log_density(x, mean):
        mean = np.maximum(mean, 1e-300)
        return -np.log(mean) - x / mean

    @staticmethod
    def sample(state, k, n, rng, options):
        return rng.exponential(Rate.mean(state["count"], state["sum"], options)[k], n)


def log_factorial(x):
    """log x! of whole numbers: a table below 256, Stirling's series above, exact to rounding there."""
    table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 256)))])
    large = np.maximum(x, 256) + 1.0
    series = (large - 0.5) * np.log(large) - large + 0.5 * np.log(2 * np.pi) + 1 / (12 * large) - 1 / (360 * large**3)
    return np.where(x < 256, table[np.minimum(x, 255).astype(np.intp)], series)


class Table:
    """Counts of cells with `alpha` added to each; a value has one cell, or none: the last, which has the count 0."""

    @classmethod
    def learn(cls, x, codes, weight, n_classes, options):
        state = {"cells": cls.cells(x, codes, options)}
        m = cls.size(state)
        place = cls.places(state, x, options)
        counts = np.bincount(codes * np.intp(m) + place, weight, minlength=n_classes * m)
        return state | {"counts": counts.reshape(n_classes, m).astype(np.float64)}

    @staticmethod
    def logs(count, total, m, options):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(count + options["alpha"]) - np.log(total + options["alpha"] * m)

    @classmethod
    def score(cls, state, x, options):
        counts = np.concatenate([state["counts"], np.zeros((len(state["counts"]), 1))], axis=1)
        m = cls.size(state)
        logs = np.nan_to_num(cls.logs(counts, counts.sum(axis=1, keepdims=True), m, options), nan=-np.inf)
        place = cls.places(state, x, options)
        return logs.T[place] - cls.log_widths(state)[place][:, None]

    @classmethod
    def draw(cls, state, k, n, rng, options):
        p = state["counts"][k] + options["alpha"]
        return rng.choice(len(p), n, p=p / p.sum())


class Categorical(Table):
    """Categories, of any type that sorts; one never seen has the count 0."""

    @staticmethod
    def cells(x, codes, options):
        return np.unique(x)

    @staticmethod
    def size(state):
        return len(state["cells"])

    @staticmethod
    def places(state, x, options):
        cells = state["cells"]
        if (x.dtype.kind in "OU" and cells.dtype.kind not in "OU") or (
            x.dtype.kind not in "OU" and cells.dtype.kind in "OU"
        ):
            return np.full(len(x), len(cells))
        place = np.minimum(np.searchsorted(cells, x), len(cells) - 1)
        return np.where(cells[place] == x, place, len(cells))

    @classmethod
    def left(cls, state, x, codes, weight, options):
        w, place, rows = ones_or(weight, x), cls.places(state, x, options), np.arange(len(x))
        count, total = state["counts"].T[place], np.tile(state["counts"].sum(axis=1), (len(x), 1))
        count[rows, codes] -= w
        total[rows, codes] -= w
        m = cls.left_size(state, count)
        return np.nan_to_num(cls.logs(count, total, m, options), nan=-np.inf)

    @staticmethod
    def left_size(state, count):
        """A category that no other row has is none without it."""
        return len(state["cells"]) - (count.sum(axis=1, keepdims=True) == 0)

    @staticmethod
    def log_widths(state):
        return np.zeros(len(state["cells"]) + 1)

    @staticmethod
    def merge(one, other):
        cells = np.unique(np.concatenate([one["cells"], other["cells"]]))
        counts = np.zeros((len(one["counts"]), len(cells)))
        for state in (one, other):
            counts[:, np.searchsorted(cells, state["cells"])] += state["counts"]
        return {"cells": cells, "counts": counts}

    @classmethod
    def sample(cls, state, k, n, rng, options):
        return state["cells"][cls.draw(state, k, n, rng, options)]


class Bernoulli(Categorical):
    """Two values, 0 and 1."""

    @staticmethod
    def cells(x, codes, options):
        return np.array([0.0, 1.0])

    @staticmethod
    def places(state, x, options):
        bad = (x != 0) & (x != 1)
        if bad.any():
            raise ValueError(
                f"{options['column']} holds {x[bad][0]!r}; 0 and 1 are wanted for distribution 'bernoulli'"
            )
        return x.astype(np.intp)

    @staticmethod
    def left_size(state, count):
        return 2


class Histogram(Table):
    """Bins between cuts that are fixed at the first fit; what lies beyond the first and last falls into them."""

    cut = "equal"

    @classmethod
    def cells(cls, x, codes, options):
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        if cls.cut == "equal":
            edges = np.linspace(low, high, options["bins"] + 1)
        elif cls.cut == "quantile":
            edges = np.quantile(x.astype(float), np.linspace(0, 1, options["bins"] + 1)) if len(x) else [low, high]
        else:
            edges = np.concatenate([[low], mdl_cuts(x, codes), [high]])
        edges = np.unique(edges)
        return edges if len(edges) > 1 else np.array([low, low + max(abs(low), 1.0)])

    @staticmethod
    def size(state):
        return len(state["cells"]) - 1

    @staticmethod
    def places(state, x, options):
        return np.searchsorted(state["cells"][1:-1], x, side="right")

    @staticmethod
    def log_widths(state):
        return np.append(np.log(np.diff(state["cells"])), 0)

    @staticmethod
    def merge(one, other):
        if not np.array_equal(one["cells"], other["cells"]):
            raise ValueError("the histograms of the models have other bins; those of one `partial_fit` are wanted")
        return {"cells": one["cells"], "counts": one["counts"] + other["counts"]}

    @classmethod
    def sample(cls, state, k, n, rng, options):
        place = cls.draw(state, k, n, rng, options)
        return rng.uniform(state["cells"][place], state["cells"][place + 1])


class QuantileHistogram(Histogram):
    cut = "quantile"


class MdlHistogram(Histogram):
    cut = "mdl"


class Kernel:
    """The mean of normal densities about each value of a class, of width 1 / sqrt(n) of the column's own scale.

    John, Langley (1995), Estimating continuous distributions in Bayesian classifiers.
    """

    @staticmethod
    def learn(x, codes, weight, n_classes, options):
        atoms, place = np.unique(x.astype(float), return_inverse=True)
        counts = np.bincount(codes * np.intp(len(atoms)) + place, weight, minlength=n_classes * len(atoms))
        return {"atoms": atoms, "counts": counts.reshape(n_classes, len(atoms)).astype(np.float64)}

    @staticmethod
    def merge(one, other):
        merged = Categorical.merge(*({"cells": s["atoms"], "counts": s["counts"]} for s in (one, other)))
        return {"atoms": merged["cells"], "counts": merged["counts"]}

    @staticmethod
    def widths(state):
        """A class's bandwidth: the column's standard deviation / sqrt(n)."""
        count = state["counts"].sum(axis=0)
        if count.sum() == 0:
            return np.ones(len(state["counts"]))
        mean = np.average(state["atoms"], weights=count)
        scale = np.sqrt(np.average((state["atoms"] - mean) ** 2, weights=count)) or 1.0
        return scale / np.sqrt(np.maximum(state["counts"].sum(axis=1), 1))

    @staticmethod
    def score(state, x, options):
        values, place = np.unique(x.astype(float), return_inverse=True)
        scores = np.full((len(values), len(state["counts"])), -np.inf)
        step = max(1, (1 << 20) // max(1, len(state["atoms"])))
        for k, (counts, h) in enumerate(zip(state["counts"], Kernel.widths(state))):
            there = counts > 0
            atoms, logs = state["atoms"][there], np.log(counts[there])
            for start in range(0, len(values) if there.any() else 0, step):
                terms = values[start : start + step, None] - atoms
                terms = logs - 0.5 * (terms / h) ** 2
                high = terms.max(axis=1)
                total = high + np.log(np.exp(terms - high[:, None]).sum(axis=1))
                scores[start : start + step, k] = total - np.log(counts.sum() * h * np.sqrt(2 * np.pi))
        return scores[place]

    @staticmethod
    def sample(state, k, n, rng, options):
        p = state["counts"][k]
        return rng.normal(rng.choice(state["atoms"], n, p=p / p.sum()), Kernel.widths(state)[k])


DISTRIBUTIONS = {
    "gaussian": Gaussian,
    "poisson": Poisson,
    "exponential": Exponential,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "histogram": Histogram,
    "quantile": QuantileHistogram,
    "mdl": MdlHistogram,
    "kernel": Kernel,
}
