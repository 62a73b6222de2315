"""Rows for `NaiveBayes`, columns of mixed types or sparse rows of counts, without conversion of X."""

import copy
from itertools import chain

import numpy as np

from .._csr import Csr
from .._exceptions import of_column
from .._threads import ranges, run
from ..sums.class_sums import class_counts, column_sums, divide, threads_for
from .base import all_but_one, among
from .counted_cells import Bernoulli, Categorical, Histogram, Kernel, MdlHistogram, QuantileHistogram
from .distributions import Exponential, Gaussian, Multinomial, Poisson, log_factorial, ones_or
from .joints import Linear, add_linear

DISTRIBUTIONS = {
    "gaussian": Gaussian,
    "poisson": Poisson,
    "exponential": Exponential,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "multinomial": Multinomial,
    "histogram": Histogram,
    "quantile": QuantileHistogram,
    "mdl": MdlHistogram,
    "kernel": Kernel,
}

# The distributions that columns of sparse rows may have, because zeros need no work for them.
_SPARSE = ("bernoulli", "multinomial", "poisson")

# The number of rows whose log densities are added at a time.
_ROWS = 1 << 12

# The number of entries in a block of sparse rows, for leave-one-out predictions.
_NUMBERS = 1 << 20


class Rows:
    """Rows; after `assign` also the distribution of each column and the factors, as in `NaiveBayes`.

    choose(kinds, codes, rows)               the kinds of distribution; these rows decide about "auto"
    require(kinds)                           refuses distributions that columns cannot have
    learn(codes, weight, n_classes, options) the statistics of each factor
    add(joint, statistics, options)          adds the log densities of all factors
    add_left(joint, statistics, codes, ...)  adds log densities of rows of the fit, by the statistics without the row
    other_folds(folds, codes, ...)           add(joint, number, asked), which adds a fold's log densities by other folds
    """

    names = kinds = factors = None

    def __len__(self):
        return self.shape[0]

    def assign(self, kinds, factors):
        self.require(kinds)
        assigned = copy.copy(self)
        assigned.kinds, assigned.factors = kinds, factors
        return assigned

    def batches(self, apart=True):
        """(distribution, numbers of factors, their columns), for factors that are processed together.

        A multinomial distribution is processed alone, and so is, if `apart`, a column with missing values.
        """
        batches = {}
        for i, (first, *_) in enumerate(self.factors):
            alone = self.kinds[first] == "multinomial" or (apart and self.missing[first] is not None)
            batches.setdefault((self.kinds[first], i if alone else -1), []).append(i)
        for (kind, _), members in batches.items():
            yield kind, members, list(chain.from_iterable(self.factors[i] for i in members))


class ColumnRows(Rows):
    """Rows given as the columns of X, with a mask of missing values for each column, or None."""

    def __init__(self, columns, missing, names=None):
        self.columns, self.missing, self.names = columns, missing, names

    @property
    def shape(self):
        return len(self.columns[0]), len(self.columns)

    def among(self, rows):
        """The listed rows, as a new object."""
        chosen = copy.copy(self)
        chosen.columns = [column[rows] for column in self.columns]
        chosen.missing = [gone if gone is None else gone[rows] for gone in self.missing]
        return chosen

    def choose(self, kinds, codes, rows):
        kinds = list(kinds)
        for j, (kind, column, gone) in enumerate(zip(kinds, self.columns, self.missing)):
            if kind == "auto":
                kinds[j] = choose(column[rows], codes[rows], None if gone is None else gone[rows])
        return kinds

    def require(self, kinds):
        for j, (kind, column) in enumerate(zip(kinds, self.columns)):
            if column.dtype.kind == "O" and kind != "categorical":
                text = f"column {j} of X holds strings; numbers are wanted for distribution {kind!r}"
                raise of_column(ValueError(text), j)

    def learn(self, codes, weight, n_classes, options):
        statistics = [None] * len(self.factors)
        for kind, members, places in self.batches():
            gone = self.missing[places[0]]
            there = slice(None) if gone is None else ~gone
            columns = [self.columns[j][there] for j in places]
            arguments = codes[there], among(weight, there), n_classes, options._replace(places=options.places or places)
            for i, state in zip(members, DISTRIBUTIONS[kind].learn(columns, *arguments)):
                statistics[i] = state
        return statistics

    def add(self, joint, statistics, options):
        def part(kind, members, places):
            """(function that adds the log densities of some factors, their columns, masks of their missing values)."""
            add = DISTRIBUTIONS[kind].scorer([statistics[i] for i in members], options._replace(places=places))
            gone = [self.missing[j] for j in places if self.missing[j] is not None]
            return add, [self.columns[j] for j in places], gone

        parts = []
        for kind, members, places in self.batches(apart=False):
            whole = part(kind, members, places)
            singles = [part(kind, [i], list(self.factors[i])) for i in members] if whole[2] else []
            parts.append((whole, singles))

        # Whether factors are added together or one by one, which are rounded differently, depends on the missing values
        # of the row alone: its log densities do not depend on the rows beside it.
        def work(start):
            block = slice(start, min(start + _ROWS, len(joint)))
            for whole, singles in parts:
                incomplete = np.logical_or.reduce([gone[block] for gone in whole[2]]) if singles else np.False_
                if not incomplete.any():
                    whole[0](joint[block], [column[block] for column in whole[1]])
                else:
                    _add_to(joint[block], ~incomplete, *whole[:2], block)
                    for add, columns, gone in singles:
                        there = incomplete & ~gone[0][block] if gone else incomplete
                        _add_to(joint[block], there, add, columns, block)
                yield

        run(work, range(0, len(joint), _ROWS), threads_for(joint, options.n_jobs))

    def add_left(self, joint, statistics, codes, weight, options):
        rows = np.arange(len(self))
        for places, state in zip(self.factors, statistics):
            distribution, gone = DISTRIBUTIONS[self.kinds[places[0]]], self.missing[places[0]]
            there = rows if gone is None else rows[~gone]
            present = [self.columns[j][there] for j in places], codes[there], among(weight, there)
            factor_options = options._replace(places=places)
            if distribution.left is None:
                joint[there] += _learned_without(distribution, *present, len(joint[0]), factor_options)
            else:
                joint[there] += distribution.left(state, *present, factor_options)

    def other_folds(self, folds, codes, weight, n_classes, options):
        known = {}

        def statistics(kind, places):
            """For each fold, the statistics of a factor over all other folds."""
            table = ColumnRows([self.columns[j] for j in places], [self.missing[j] for j in places])
            table = table.assign([kind] * len(places), [list(range(len(places)))])

            def learn(rows):
                about = codes[rows], among(weight, rows), n_classes, options._replace(places=places)
                return table.among(rows).learn(*about)[0]

            if issubclass(DISTRIBUTIONS[kind], Histogram):
                return [learn(np.delete(np.arange(len(self)), fold)) for fold in folds]
            return list(all_but_one([learn(fold) for fold in folds], DISTRIBUTIONS[kind].merge))

        def add(joint, number, asked):
            factors = [(asked.kinds[places[0]], tuple(places)) for places in asked.factors]
            for factor in factors:
                if factor not in known:
                    known[factor] = statistics(*factor)
            asked.among(folds[number]).add(joint, [known[factor][number] for factor in factors], options)

        return add


def _add_to(joint, rows, add, columns, block):
    """Add log densities to the rows of `joint` in a mask; `block` is the slice of the columns' rows that are in it."""
    if rows.any():
        known = joint[rows]
        add(known, [column[block][rows] for column in columns])
        joint[rows] = known


class SparseRows(Rows):
    """Sparse rows, with a distribution of counts for each column."""

    def __init__(self, rows):
        self.rows = rows
        self.missing = [None] * rows.shape[1]

    @property
    def shape(self):
        return self.rows.shape

    def among(self, rows):
        chosen = copy.copy(self)
        chosen.rows = self.rows[rows]
        return chosen

    def choose(self, kinds, codes, rows):
        """The distribution of each column; all columns with "auto" get the same one."""
        if "auto" in kinds:
            some = self.rows[rows]
            auto = "bernoulli" if _is_binary(some.data[: some.size]) else "multinomial"
            kinds = [auto if kind == "auto" else kind for kind in kinds]
        return kinds

    def require(self, kinds):
        for j, kind in enumerate(kinds):
            if kind not in _SPARSE:
                raise ValueError(
                    f"column {j} of a sparse X has the distribution {kind!r}; one of {', '.join(map(repr, _SPARSE))} is"
                    " wanted, or X.toarray()"
                )

    def _entries(self):
        """A dict: for each distribution the positions of the stored entries of its columns; refuses bad values."""
        entries = {}
        for kind in sorted(set(self.kinds)):
            wanted = np.array([each == kind for each in self.kinds])
            positions = entries[kind] = np.flatnonzero(wanted[self.rows.indices[: self.rows.size]])
            bad = DISTRIBUTIONS[kind].is_bad(self.rows.data[positions])
            if bad.any():
                entry = positions[bad.argmax()]
                column = self.rows.indices[entry]
                text = f"column {column} of X holds {self.rows.data[entry]}{DISTRIBUTIONS[kind].wanted}"
                raise of_column(ValueError(text), column)
        return entries

    def _sums(self, codes, weight, n_classes, options):
        """A pair: the weight of each class's rows, and the sums of the columns over these rows."""
        count = class_counts(codes, weight, n_classes)[:, None]
        return count, column_sums(self.rows, codes, weight, n_classes, options.n_jobs)

    def learn(self, codes, weight, n_classes, options):
        rows = self.rows
        entries = self._entries()
        count, sums = self._sums(codes, weight, n_classes, options)
        if "poisson" in entries:
            logs = np.zeros(len(rows.data))
            logs[entries["poisson"]] = log_factorial(rows.data[entries["poisson"]])
            logs = Csr(rows.indptr, rows.indices, logs, rows.n_columns)
            logs = column_sums(logs, codes, weight, n_classes, options.n_jobs)
        statistics = []
        for places in self.factors:
            kind, [j, *_] = self.kinds[places[0]], places
            if kind == "bernoulli":
                counts = np.stack([count[:, 0] - sums[:, j], sums[:, j]], axis=1)
                statistics.append({"cells": np.array([0.0, 1.0]), "counts": counts})
            elif kind == "poisson":
                log_factorials = logs[:, j].copy()
                statistics.append({"count": count[:, 0], "sum": sums[:, j].copy(), "log_factorials": log_factorials})
            else:
                statistics.append({"count": count[:, 0], "sum": np.ascontiguousarray(sums[:, places])})
        return statistics

    def add(self, joint, statistics, options):
        count, sums = np.zeros((2, joint.shape[1], self.rows.n_columns))
        for kind, members, places in self.batches():
            count[:, places], sums[:, places] = DISTRIBUTIONS[kind].totals([statistics[i] for i in members])
        self._add_by_sums(joint, count, sums, options)

    def _add_by_sums(self, joint, count, sums, options):
        """Add the log density of a row of zeros and, for each stored entry, the log of its density over that of 0."""
        rows, coef, always = self.rows, np.zeros(sums.shape), np.zeros(sums.shape, bool)
        count, entries = np.broadcast_to(count, sums.shape), self._entries()
        for kind, _, places in sorted(self.batches()):
            form = DISTRIBUTIONS[kind].linear(count[:, places], sums[:, places], options)
            coef[:, places] = form.coef
            joint += form.constant
            if kind == "bernoulli":
                always[:, places] = form.always
            elif kind == "poisson":
                logs = log_factorial(rows.data[entries[kind]])
                joint -= np.bincount(rows.row_numbers()[entries[kind]], logs, len(rows))[:, None]
        add_linear(joint, rows, Linear(coef, always=always), options.n_jobs)

    def other_folds(self, folds, codes, weight, n_classes, options):
        parts = [self.among(fold)._sums(codes[fold], among(weight, fold), n_classes, options) for fold in folds]
        sums = list(all_but_one(parts, lambda some, more: [one + other for one, other in zip(some, more)]))
        return lambda joint, number, asked: asked.among(folds[number])._add_by_sums(joint, *sums[number], options)

    def add_left(self, joint, statistics, codes, weight, options):
        """Add log densities of the rows of a fit; a row's own class uses sums without the row."""
        count, sums = self._sums(codes, weight, joint.shape[1], options)
        prior = joint[np.arange(len(joint)), codes]
        self._add_by_sums(joint, count, sums, options)
        size = 1 + _NUMBERS * len(self) // (self.rows.size + 1)
        for start, stop in ranges(0, len(self), size, size):
            rows = slice(start, stop)
            left = self.among(rows)._left(count, sums, codes[rows], among(weight, rows), options)
            joint[np.arange(start, stop), codes[rows]] = prior[rows] + left

    def _left(self, count, sums, codes, weight, options):
        """The log density of each row in its own class by leave-one-out: without the row in the class's sums."""
        rows, alpha, w = self.rows, options.alpha, ones_or(weight, codes)
        row, column, x = rows.row_numbers(), rows.indices[: rows.size], rows.data[: rows.size].astype(np.float64)
        rest = count[codes, 0] - w
        smoothed = sums[codes[row], column] - w[row] * x + alpha
        density = np.zeros(len(self))

        def by_row(values, entries):
            return np.bincount(row[entries], values, len(self))

        for kind, _, places in self.batches():
            wanted = np.zeros(rows.n_columns, bool)
            wanted[places] = True
            entries = np.flatnonzero(wanted[column] & (x > 0))
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(smoothed[entries] > 0, np.log(smoothed[entries]), -np.inf)
                if kind != "bernoulli":
                    whole = sums[:, places].sum(axis=1)[codes] - w * by_row(x[entries], entries) + alpha * len(places)
                if kind == "multinomial":
                    each = np.where(smoothed[entries] > 0, logs - np.log(whole)[row[entries]], -np.inf)
                    density += by_row(x[entries] * each, entries)
                elif kind == "poisson":
                    each = x[entries] * (logs - np.log(rest + alpha)[row[entries]]) - log_factorial(x[entries])
                    density += by_row(each, entries) - divide(whole, rest + alpha)
                else:
                    density += by_row(logs, entries) - len(places) * np.log(rest + 2 * alpha)
                    # the log probabilities of the zeros of a row: their sum over all columns, which is the same for
                    # rows with the same class and weight, minus the sum over the columns that are not 0
                    lacked = rest[row[entries]] - sums[codes[row[entries]], column[entries]] + alpha
                    density -= by_row(np.where(lacked > 0, np.log(lacked), 0), entries)
                    met = by_row(lacked <= 0, entries)
                    weights, place = np.unique(w, return_inverse=True)
                    pairs, group = np.unique(codes * len(weights) + place, return_inverse=True)
                    all_logs, impossible = np.empty((2, len(pairs)))
                    for number, (k, place) in enumerate(zip(*np.divmod(pairs, len(weights)))):
                        lacked = count[k] - weights[place] - sums[k, places] + alpha
                        all_logs[number] = np.log(lacked[lacked > 0]).sum()
                        impossible[number] = np.count_nonzero(lacked <= 0)
                    density += all_logs[group]
                    density[met < impossible[group]] = -np.inf
        return density


def choose(x, codes, missing):
    """The distribution that "auto" chooses for a column."""
    if x.dtype.kind == "O":
        return "categorical"
    if missing is not None:
        x, codes = x[~missing], codes[~missing]
    if x.dtype.kind == "b" or (len(x) and _is_binary(x[:64]) and _is_binary(x)):
        return "bernoulli"
    if x.dtype.kind in "iu" and len(x) and x.min() >= 0:
        count = np.maximum(np.bincount(codes), 1)
        mean = np.bincount(codes, x) / count
        within = np.average((x - mean[codes]) ** 2)
        if 0.5 * x.mean() <= within <= 2 * x.mean():
            return "poisson"
    return "gaussian"


def _is_binary(x):
    return ((x == 0) | (x == 1)).all()


def _learned_without(distribution, columns, codes, weight, n_classes, options):
    """The log densities of each row by a fit to all other rows, one fit for each row."""
    joint = np.zeros((len(codes), n_classes))
    rows = np.arange(len(codes))
    for i in rows:
        rest = rows != i
        others = [column[rest] for column in columns], codes[rest], among(weight, rest)
        states = distribution.learn(*others, n_classes, options)
        distribution.scorer(states, options)(joint[i : i + 1], [column[i : i + 1] for column in columns])
    return joint
