"""Distributions of columns by counts of cells, or by kernel densities; the others are in `distributions.py`."""

import numpy as np

from .._categories import codes_of, sorted_categories
from .._state_table import Array, Dict, SizeOf
from ..sums.layout import row_sums
from .distributions import Distribution, by_column, log_dirichlet, log_share, ones_or, without
from .joints import Linear, add_table, joined_tables, kernels
from .mdl_cuts import mdl_cuts


class CellCounts(Distribution):
    """The distribution by counts of cells, with `alpha` added to each count.

    A value outside of all cells belongs to an additional cell with the count 0.
    """

    @classmethod
    def learn(cls, columns, codes, weight, n_classes, options):
        cls.require(columns, options)
        return [cls.learn_one(x, codes, weight, n_classes, options) for x in columns]

    @classmethod
    def learn_one(cls, x, codes, weight, n_classes, options):
        state = {"cells": cls.cells(x, codes, options)}
        m = cls.size(state)
        counts = np.bincount(codes * np.intp(m) + cls.places(state, x), weight, minlength=n_classes * m)
        return state | {"counts": counts.reshape(n_classes, m).astype(np.float64)}

    @staticmethod
    def logs(count, total, m, alpha):
        """The log probabilities of cells with the counts `count`, out of m cells with `total` counts."""
        return log_share(count + alpha, total + alpha * m)

    @classmethod
    def entries(cls, state, options):
        """The log densities of the cells, of shape (n_classes, n_cells + 1); the additional cell is the last."""
        counts = np.concatenate([state["counts"], np.zeros((len(state["counts"]), 1))], axis=1)
        logs = cls.logs(counts, counts.sum(axis=1, keepdims=True), cls.size(state), options.alpha)
        return logs - cls.log_widths(state)

    @classmethod
    def scorer(cls, states, options):
        first, table = joined_tables([cls.entries(state, options) for state in states])

        def add(joint, columns):
            cls.require(columns, options)
            places = [cls.places(state, x).astype(np.int32) for state, x in zip(states, columns)]
            add_table(joint, np.stack(places, axis=1), first, table, 1)

        return add

    @classmethod
    def draw(cls, state, k, n, rng, options):
        p = state["counts"][k] + options.alpha
        return rng.choice(len(p), n, p=p / p.sum())

    @classmethod
    def log_evidence(cls, state, options):
        widths = (state["counts"] * cls.log_widths(state)[:-1]).sum()
        return float(log_dirichlet(state["counts"], options.alpha).sum() - widths)


class Categorical(CellCounts):
    """A categorical distribution of values of any type that can be sorted; an unknown category has the count 0."""

    @staticmethod
    def cells(x, codes, options):
        return sorted_categories(x)

    @staticmethod
    def size(state):
        return len(state["cells"])

    @staticmethod
    def places(state, x):
        place = codes_of(x, state["cells"])
        return np.where(place < 0, len(state["cells"]), place)

    @classmethod
    def left(cls, state, columns, codes, weight, options):
        [x] = columns
        w = ones_or(weight, x)
        count, total = state["counts"].T[cls.places(state, x)], without(state["counts"].sum(axis=1), codes, w)
        count[np.arange(len(x)), codes] -= w
        return cls.logs(count, total, cls.left_size(state, count), options.alpha)

    @staticmethod
    def left_size(state, count):
        """The number of categories in the other rows, one less if none has the row's category; count: their counts."""
        return len(state["cells"]) - (count.sum(axis=1, keepdims=True) == 0)

    @staticmethod
    def log_widths(state):
        return np.zeros(len(state["cells"]) + 1)

    @staticmethod
    def merge(one, other):
        cells = sorted_categories(np.concatenate([one["cells"], other["cells"]]))
        counts = np.zeros((len(one["counts"]), len(cells)))
        for state in (one, other):
            counts[:, codes_of(state["cells"], cells)] += state["counts"]
        return {"cells": cells, "counts": counts}

    @classmethod
    def sample(cls, state, k, n, rng, options):
        return state["cells"][cls.draw(state, k, n, rng, options)]

    statistics = Dict(cells=Array("any", "n_cells", ascends=True), counts=Array("float64", "n_classes", "n_cells"))


class Bernoulli(Categorical):
    """A distribution of the values 0 and 1."""

    @staticmethod
    def cells(x, codes, options):
        return np.array([0.0, 1.0])

    wanted = "; 0 and 1 are wanted for distribution 'bernoulli'"

    @staticmethod
    def is_bad(x):
        return (x != 0) & (x != 1)

    @staticmethod
    def places(state, x):
        return x.astype(np.intp)

    @staticmethod
    def totals(states):
        counts = by_column(states, "counts")
        return counts.sum(axis=2), counts[..., 1]

    @classmethod
    def linear(cls, count, total, options):
        there, absent = (cls.logs(part, count, 2, options.alpha) for part in (total, count - total))
        return cls.of_logs(there, absent)

    @staticmethod
    def of_logs(there, absent):
        """The Linear for given log probabilities of 1 and of 0."""
        always = absent == -np.inf
        absent = np.where(always, 0, absent) if always.any() else absent
        return Linear(there - absent, row_sums(absent), always)

    @staticmethod
    def left_size(state, count):
        return 2

    statistics = Dict(cells=Array("float64", 2, ascends=True), counts=Array("float64", "n_classes", 2))


class Histogram(CellCounts):
    """A histogram; the first fit determines the cuts between bins.

    Values outside of all bins belong to the first bin or the last.
    """

    cut = "equal"

    @classmethod
    def cells(cls, x, codes, options):
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        if cls.cut == "equal":
            edges = np.linspace(low, high, options.bins + 1)
        elif cls.cut == "quantile":
            edges = np.quantile(x.astype(float), np.linspace(0, 1, options.bins + 1)) if len(x) else [low, high]
        else:
            edges = np.concatenate([[low], mdl_cuts(x, codes), [high]])
        edges = np.unique(edges)
        return edges if len(edges) > 1 else np.array([low, low + max(abs(low), 1.0)])

    @staticmethod
    def size(state):
        return len(state["cells"]) - 1

    @staticmethod
    def places(state, x):
        return np.searchsorted(state["cells"][1:-1], x, side="right")

    @staticmethod
    def log_widths(state):
        return np.append(np.log(np.diff(state["cells"])), 0)

    @staticmethod
    def merge(one, other):
        if not np.array_equal(one["cells"], other["cells"]):
            raise ValueError(
                "the histograms of the models have different bins; bins of the same call of partial_fit are wanted"
            )
        return {"cells": one["cells"], "counts": one["counts"] + other["counts"]}

    @classmethod
    def sample(cls, state, k, n, rng, options):
        place = cls.draw(state, k, n, rng, options)
        return rng.uniform(state["cells"][place], state["cells"][place + 1])

    statistics = Dict(
        cells=Array("float64", "n_edges", least=2, ascends=True),
        n_bins=SizeOf(lambda state: len(state["cells"]) - 1),
        counts=Array("float64", "n_classes", "n_bins"),
    )


class QuantileHistogram(Histogram):
    cut = "quantile"


class MdlHistogram(Histogram):
    cut = "mdl"


def _terms(cells, counts, h):
    """The arguments of the compiled `densities` for the kernel density of a class, with normal kernels of width h."""
    cells, counts = cells[counts > 0], counts[counts > 0]
    with np.errstate(divide="ignore"):
        slack = np.log(counts.max(initial=0)) + np.log(len(cells)) + 42
        return cells, counts, float(h), float(slack), float(np.log(counts.sum() * h * np.sqrt(2 * np.pi)))


class Kernel(Categorical):
    """A kernel density for each class: the mean of normal densities centred at the values of its rows.

    The standard deviation of each normal density is s / sqrt(n), where s is the standard deviation of the column and n
    the number of rows in the class. John, Langley (1995), Estimating continuous distributions in Bayesian classifiers,
    use 1 / sqrt(n), which depends on the unit of the column.
    """

    left = None

    @staticmethod
    def cells(x, codes, options):
        return np.unique(x.astype(float))

    @staticmethod
    def widths(state):
        """The standard deviation of the normal densities, for each class."""
        count = state["counts"].sum(axis=0)
        if count.sum() == 0:
            return np.ones(len(state["counts"]))
        mean = np.average(state["cells"], weights=count)
        scale = np.sqrt(np.average((state["cells"] - mean) ** 2, weights=count)) or 1.0
        return scale / np.sqrt(np.maximum(state["counts"].sum(axis=1), 1))

    @staticmethod
    def scorer(states, options):
        parts = [
            [_terms(state["cells"], *pair) for pair in zip(state["counts"], Kernel.widths(state))] for state in states
        ]

        def add(joint, columns):
            for x, classes in zip(columns, parts):
                values, place = np.unique(x.astype(float), return_inverse=True)
                found = np.full((len(classes), len(values)), -np.inf)
                for out, terms in zip(found, classes):
                    if len(terms[0]):
                        kernels.densities(values, *terms, out)
                joint += found.T[place]

        return add

    @staticmethod
    def sample(state, k, n, rng, options):
        p = state["counts"][k]
        return rng.normal(rng.choice(state["cells"], n, p=p / p.sum()), Kernel.widths(state)[k])

    statistics = Dict(cells=Array("float64", "n_cells", ascends=True), counts=Array("float64", "n_classes", "n_cells"))
