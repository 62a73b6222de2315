"""Distributions of columns, for naive Bayes; distributions that count cells are in `counted_cells.py`.

A distribution is a class without instances. Its methods work on statistics: a dict of arrays whose first axis are the
classes. Columns are given as a list of vectors without missing values.

    learn(columns, codes, weight, n_classes, options)   the statistics of each column (of the multinomial: of all)
    merge(one, other)                                   the statistics of the rows of both
    scorer(states, options)                             add(joint, columns), which adds log densities, (rows, n_classes)
    left(state, columns, codes, weight, options)        log densities of rows of the fit by the statistics without each
    sample(state, k, n, rng, options)                   n rows of class k
    log_evidence(state, options)                        log P(columns | classes), parameters integrated out
    statistics                                          the fields of the dict, by which a file is checked

Statistics are sums: they are added in a merge, and subtracted when a row is left out. `left` is None if subtraction is
impossible, and a distribution without a prior of its parameters has no `log_evidence`.

Distributions of counts can also give their log density as a Linear function of x, for dense or sparse rows:

    totals(states)                                      (rows, sums of x) by class and column
        linear(count, total, options)                       the Linear for these totals
"""

import math
from typing import NamedTuple

import numpy as np

from .._exceptions import of_column
from .._state_table import Array, Dict
from .._threads import copy_rows
from ..sums.class_sums import class_counts, column_sums, divide
from ..sums.moments import class_moments, merge_moments, pool
from .joints import Linear, add_gaussian, add_linear

# The number of columns of a table that are copied to a matrix at a time.
_BLOCK = 8

# The number of rows of a block whose densities are computed together.
_ROWS = 1 << 11


def _log_gamma(x):
    """log |Gamma(x)|; inf at poles and for large x, where Python's `lgamma` raises an exception."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


log_gamma = np.vectorize(_log_gamma, otypes=[float])


_BY_CLASS = Array("float64", "n_classes")


class Options(NamedTuple):
    """Parameters of `NaiveBayes`, and the column numbers in X for error messages."""

    alpha: float
    var_smoothing: float
    bins: int
    n_jobs: int | None
    places: list


def side_by_side(columns):
    """Columns as a matrix of floats.

    The copy is made in blocks of rows, so that the cache lines of a block stay in the cache.
    """
    dtype = np.float32 if all(x.dtype == np.float32 for x in columns) else np.float64
    block = np.empty((len(columns[0]), len(columns)), dtype)
    for start in range(0, len(block), _ROWS):
        rows = slice(start, start + _ROWS)
        np.stack([x[rows] for x in columns], axis=1, out=block[rows])
    return block


def blocks_of(columns):
    """The columns as matrices with at most _BLOCK columns each."""
    return (side_by_side(columns[start : start + _BLOCK]) for start in range(0, len(columns), _BLOCK))


def by_column(states, name):
    """A statistic of several columns as one array (n_classes, columns, ...)."""
    return np.stack([state[name] for state in states], axis=1)


def ones_or(weight, x):
    """The weights of rows; ones for each row of x if `weight` is None."""
    return np.ones(len(x)) if weight is None else weight


def _for_each_row(values, n):
    """An array (n, n_classes) with a copy of the values (1, n_classes) or (n_classes,) in each row."""
    return copy_rows(np.broadcast_to(values, (n, np.shape(values)[-1])), np.empty((n, np.shape(values)[-1])))


def without(values, codes, less):
    """The statistics `values` of all classes for each row, (rows, n_classes), minus `less` in the row's own class."""
    rest = _for_each_row(values, len(codes))
    rest[np.arange(len(codes)), codes] -= less
    return rest


def log_share(part, whole):
    """log(part / whole); -inf if the part is 0, even if the whole is 0 too. An array `part` may be overwritten."""
    out = part if np.ndim(part) and np.shape(part) == np.broadcast_shapes(np.shape(part), np.shape(whole)) else None
    sound = np.min(part) >= 0 and np.min(whole) > 0  # then the logarithm of each 0 is -inf already
    possible = True if sound else np.asarray(part) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.subtract(np.log(part, out=out), np.log(whole), out=out)
    return logs if sound else np.where(possible, logs, -np.inf)


class Distribution:
    """The base of distributions. A subclass that does not allow all values has a method is_bad(x)."""

    # the end of the error message for a value that the distribution refuses; empty if the distribution refuses no value
    wanted = ""
    left = None

    @classmethod
    def require(cls, columns, options):
        """Refuse columns that have a bad value."""
        for x, place in zip(columns, options.places) if cls.wanted else ():
            found = cls.is_bad(x)
            if found.any():
                raise of_column(ValueError(f"column {place} of X holds {x[found][0]}{cls.wanted}"), place)


class Gaussian(Distribution):
    """A normal distribution: mean and variance by maximum likelihood, plus a share of the column's overall variance."""

    @staticmethod
    def learn(columns, codes, weight, n_classes, options):
        states = []
        for block in blocks_of(columns):
            count, mean, squares = class_moments(block, codes, weight, n_classes, options.n_jobs)
            Gaussian.require_finite(squares)
            for j in range(block.shape[1]):
                states.append({"count": count[:, 0], "mean": mean[:, j].copy(), "squares": squares[:, j].copy()})
        return states

    @staticmethod
    def require_finite(squares):
        if not np.isfinite(squares).all():
            raise ValueError("X has entries so large that their variance is not finite; smaller numbers are wanted")

    @staticmethod
    def merge(one, other):
        return dict(zip(one, merge_moments(*one.values(), *other.values())))

    @staticmethod
    def spread(state):
        """The variance of the column over all classes together."""
        total, _, squares = pool(state["count"], state["mean"], state["squares"])
        return divide(squares, total)

    @staticmethod
    def variances(state, options):
        floor = options.var_smoothing * Gaussian.spread(state)
        return np.maximum(divide(state["squares"], state["count"]) + floor, 1e-300)

    @staticmethod
    def scorer(states, options):
        mean = by_column(states, "mean")
        variance = np.stack([Gaussian.variances(state, options) for state in states], axis=1)
        return lambda joint, columns: add_gaussian(joint, side_by_side(columns), mean, variance, 1)

    @staticmethod
    def left(state, columns, codes, weight, options):
        [x] = columns
        w, rows = ones_or(weight, x), np.arange(len(x))
        count = without(state["count"], codes, w)
        mean, squares = (_for_each_row(state[name], len(x)) for name in ("mean", "squares"))
        rest, step = count[rows, codes], x - state["mean"][codes]
        mean[rows, codes] -= divide(w * step, rest)
        fewer = squares[rows, codes] - w * step**2 * divide(state["count"][codes], rest)
        # the squared deviations of a class without a row are summed anew where subtraction leaves less than half of the
        # digits
        for i in np.flatnonzero((fewer < 1e-8 * squares[rows, codes]) & (rest > 0)):
            others = (codes == codes[i]) & (rows != i)
            centre = np.average(x[others], weights=w[others])
            fewer[i], mean[i, codes[i]] = (w[others] * (x[others] - centre) ** 2).sum(), centre
        squares[rows, codes] = np.where(rest > 0, fewer, 0)
        total = count.sum(axis=1, keepdims=True)
        centre = divide((count * mean).sum(axis=1, keepdims=True), total)
        pooled = (squares + count * (mean - centre) ** 2).sum(axis=1, keepdims=True)
        floor = options.var_smoothing * divide(pooled, total)
        variance = np.maximum(divide(squares, count) + floor, 1e-300)
        return -0.5 * (np.log(2 * np.pi * variance) + (x[:, None] - mean) ** 2 / variance)

    @staticmethod
    def sample(state, k, n, rng, options):
        return rng.normal(state["mean"][k], np.sqrt(Gaussian.variances(state, options)[k]), n)

    @staticmethod
    def log_evidence(state, options):
        """log P(column | classes); the prior is worth `alpha` rows with the mean and variance of the whole column.

        A constant column has no information about the classes, and its log evidence is 0.
        """
        count, mean, squares = state["count"], state["mean"], state["squares"]
        alpha, (_, centre, _), spread = options.alpha, pool(count, mean, squares), Gaussian.spread(state)
        if spread == 0:
            return 0.0
        rows = alpha + count
        scatter = alpha * spread + squares + alpha * count / rows * (mean - centre) ** 2
        logs = log_gamma(rows / 2) - _log_gamma(alpha / 2) + 0.5 * np.log(alpha / rows) - count / 2 * np.log(np.pi)
        return float((logs + alpha / 2 * np.log(alpha * spread) - rows / 2 * np.log(scatter)).sum())

    statistics = Dict(count=_BY_CLASS, mean=_BY_CLASS, squares=_BY_CLASS)


class Rate(Distribution):
    """A distribution given by the mean of x; `alpha` rows with x = 1 are added to each class.

    For Poisson this is the posterior mean of the rate under a gamma prior with shape and rate `alpha`. For the
    exponential distribution the same holds for its rate, the inverse of the mean.
    """

    statistics = Dict(count=_BY_CLASS, sum=_BY_CLASS)

    @classmethod
    def learn(cls, columns, codes, weight, n_classes, options):
        cls.require(columns, options)
        states, count = [], class_counts(codes, weight, n_classes)
        for block in blocks_of(columns):
            sums = column_sums(block, codes, weight, n_classes, options.n_jobs)
            states += [{"count": count, "sum": sums[:, j].copy()} for j in range(block.shape[1])]
        return states

    @staticmethod
    def merge(one, other):
        return {name: one[name] + other[name] for name in one}

    @staticmethod
    def mean(count, total, alpha):
        return divide(total + alpha, count + alpha)

    @staticmethod
    def totals(states):
        return by_column(states, "count"), by_column(states, "sum")

    @classmethod
    def linear(cls, count, total, options):
        return cls.of_mean(cls.mean(count, total, options.alpha))

    @staticmethod
    def unshared(block):
        """The part of each row's log density that is the same for all classes."""
        return 0.0

    @classmethod
    def scorer(cls, states, options):
        form = cls.linear(*cls.totals(states), options)

        def add(joint, columns):
            cls.require(columns, options)
            block = side_by_side(columns)
            joint += form.constant + cls.unshared(block)
            add_linear(joint, block, form, 1)

        return add

    @classmethod
    def left(cls, state, columns, codes, weight, options):
        [x] = columns
        w = ones_or(weight, x)
        count, total = without(state["count"], codes, w), without(state["sum"], codes, w * x)
        return cls.log_density(x[:, None].astype(float), cls.mean(count, total, options.alpha))

    @classmethod
    def sample(cls, state, k, n, rng, options):
        return cls.draw(rng, cls.mean(state["count"][k], state["sum"][k], options.alpha), n)


class Poisson(Rate):
    """The Poisson distribution of counts; its rate is the mean."""

    statistics = Dict(count=_BY_CLASS, sum=_BY_CLASS, log_factorials=_BY_CLASS)
    wanted = ", which is no count; whole numbers from 0 up are wanted for distribution 'poisson'"
    draw = staticmethod(np.random.Generator.poisson)

    @staticmethod
    def is_bad(x):
        return (x < 0) | (x != np.floor(x))

    @classmethod
    def learn(cls, columns, codes, weight, n_classes, options):
        states = super().learn(columns, codes, weight, n_classes, options)
        for state, x in zip(states, columns):
            logs = log_factorial(x)
            logs = np.bincount(codes, logs if weight is None else weight * logs, n_classes)
            state["log_factorials"] = logs.astype(np.float64)
        return states

    @staticmethod
    def log_density(x, mean):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x == 0, 0, x * np.log(mean)) - mean - log_factorial(x)

    @staticmethod
    def of_mean(mean):
        with np.errstate(divide="ignore"):
            return Linear(np.log(mean), -mean.sum(axis=1))

    @staticmethod
    def unshared(block):
        return -log_factorial(block).sum(axis=1)[:, None]

    @staticmethod
    def log_evidence(state, options):
        a, count, total = options.alpha, state["count"], state["sum"]
        logs = a * np.log(a) - _log_gamma(a) + log_gamma(a + total) - (a + total) * np.log(a + count)
        return float((logs - state["log_factorials"]).sum())


class Exponential(Rate):
    """The exponential distribution of numbers from 0 up; its mean is 1 / rate."""

    wanted = "; numbers from 0 up are wanted for distribution 'exponential'"
    draw = staticmethod(np.random.Generator.exponential)

    @staticmethod
    def is_bad(x):
        return x < 0

    @staticmethod
    def log_density(x, mean):
        mean = np.maximum(mean, 1e-300)
        return -np.log(mean) - x / mean

    @staticmethod
    def of_mean(mean):
        mean = np.maximum(mean, 1e-300)
        return Linear(-1 / mean, -np.log(mean).sum(axis=1))

    @staticmethod
    def log_evidence(state, options):
        a, count, total = options.alpha, state["count"], state["sum"]
        return float((a * np.log(a) - _log_gamma(a) + log_gamma(a + count) - (a + count) * np.log(a + total)).sum())


_LOG_FACTORIALS = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 256)))])


def log_factorial(x):
    """log x! of whole numbers, accurate to rounding: by a table below 256, by Stirling's series from 256 up."""
    logs = _LOG_FACTORIALS[np.minimum(x, 255).astype(np.intp)]
    above = x > 255
    if above.any():
        large = x[above] + 1.0
        logs[above] = (large - 0.5) * np.log(large) - large + 0.5 * np.log(2 * np.pi)
        logs[above] += 1 / (12 * large) - 1 / (360 * large**3)
    return logs


class Multinomial(Rate):
    """A multinomial distribution over the columns of a group; `alpha` is added to the count of each column.

    The multinomial coefficient, which is the same for all classes, is left out of the density.
    """

    wanted = "; counts from 0 up are wanted for distribution 'multinomial'"

    @staticmethod
    def is_bad(x):
        return x < 0

    @classmethod
    def learn(cls, columns, codes, weight, n_classes, options):
        states = super().learn(columns, codes, weight, n_classes, options)
        return [{"count": states[0]["count"], "sum": by_column(states, "sum")}]

    @staticmethod
    def logs(total, alpha):
        smoothed = total + alpha
        return log_share(smoothed, smoothed.sum(axis=-1, keepdims=True))

    @staticmethod
    def totals(states):
        [state] = states
        return state["count"][:, None], state["sum"]

    @classmethod
    def linear(cls, count, total, options):
        return Linear(cls.logs(total, options.alpha))

    @classmethod
    def left(cls, state, columns, codes, weight, options):
        joint = np.zeros((len(codes), len(state["count"])))
        cls.scorer([state], options)(joint, columns)
        w = ones_or(weight, codes)
        for start in range(0, len(codes), _ROWS):
            rows = slice(start, start + _ROWS)
            x = side_by_side([column[rows] for column in columns])
            logs = cls.logs(state["sum"][codes[rows]] - w[rows, None] * x, options.alpha)
            with np.errstate(invalid="ignore"):
                joint[np.arange(len(codes))[rows], codes[rows]] = np.where(x == 0, 0, x * logs).sum(axis=1)
        return joint

    @classmethod
    def sample(cls, state, k, n, rng, options):
        """n random rows of class k; the sum of each is the mean sum of the class's rows."""
        p = np.exp(cls.logs(state["sum"][k], options.alpha))
        return rng.multinomial(round(float(divide(state["sum"][k].sum(), state["count"][k]))), p, n)

    @staticmethod
    def log_evidence(state, options):
        return float(log_dirichlet(state["sum"], options.alpha).sum())

    statistics = Dict(count=_BY_CLASS, sum=Array("float64", "n_classes", None))


def log_dirichlet(counts, alpha):
    """For each row of counts, log P of a sequence of draws with these counts.

    The prior of the cell probabilities is a Dirichlet distribution with parameter `alpha`.
    """
    whole = alpha * counts.shape[1]
    logs = _log_gamma(whole) - log_gamma(whole + counts.sum(axis=1))
    return logs + (log_gamma(alpha + counts) - _log_gamma(alpha)).sum(axis=1)
