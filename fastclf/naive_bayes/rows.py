"""The rows of `NaiveBayes`: columns of mixed types, or sparse rows of counts, read as they are."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from ..sums.class_sums import class_counts, column_sums, divide
from .counted_cells import Bernoulli, Categorical, Histogram, Kernel, MdlHistogram, QuantileHistogram
from .distributions import Exponential, Gaussian, Multinomial, Poisson, by_column, log_factorial, ones_or
from .joints import add_linear

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

# Those that sparse rows may have: what is not there is 0.
_SPARSE = ("bernoulli", "multinomial", "poisson")


class Table(NamedTuple):
    """Columns of X, and for each which values are missing, or None."""

    columns: list
    missing: list
    names: np.ndarray | None

    def __len__(self):
        return len(self.columns[0])

    def among(self, rows):
        """Those of an index."""
        missing = [gone if gone is None else gone[rows] for gone in self.missing]
        return Table([column[rows] for column in self.columns], missing, self.names)

    def choose(self, kinds, codes, rows):
        """Those kinds of distribution, what "auto" takes for these rows in place of it."""
        kinds = list(kinds)
        for j, (kind, column, gone) in enumerate(zip(kinds, self.columns, self.missing)):
            if kind == "auto":
                kinds[j] = choose(column[rows], codes[rows], None if gone is None else gone[rows])
        self.require(kinds)
        return kinds

    def require(self, kinds):
        """Refuse strings where a distribution wants numbers."""
        for j, (kind, column) in enumerate(zip(kinds, self.columns)):
            if column.dtype.kind == "O" and kind != "categorical":
                raise ValueError(f"column {j} of X holds strings; numbers are wanted for distribution {kind!r}")


class SparseTable:
    """Sparse rows, each column with a distribution of counts."""

    names = None

    def __init__(self, rows):
        self.rows = rows
        self.columns = range(rows.shape[1])
        self.missing = [None] * rows.shape[1]

    def __len__(self):
        return len(self.rows)

    def among(self, rows):
        return SparseTable(self.rows[rows])

    def choose(self, kinds, codes, rows):
        """As for a Table; "auto" is one distribution for all columns that have it."""
        if "auto" in kinds:
            some = self.rows[rows]
            auto = "bernoulli" if _is_binary(some.data[: some.size]) else "multinomial"
            kinds = [auto if kind == "auto" else kind for kind in kinds]
        self.require(kinds)
        return kinds

    def require(self, kinds):
        """Refuse distributions that want every value."""
        for j, kind in enumerate(kinds):
            if kind not in _SPARSE:
                raise ValueError(
                    f"column {j} of a sparse X has the distribution {kind!r}; one of {', '.join(map(repr, _SPARSE))} is"
                    " wanted, or X.toarray()"
                )

    def _entries(self, kinds, kind):
        """The positions of the entries of columns of a kind, which are checked."""
        wanted = np.array([each == kind for each in kinds])
        own = np.flatnonzero(wanted[self.rows.indices[: self.rows.size]])
        bad = DISTRIBUTIONS[kind].is_bad(self.rows.data[own])
        if bad.any():
            entry = own[bad.argmax()]
            what = f"column {self.rows.indices[entry]} of X holds {self.rows.data[entry]}"
            raise ValueError(what + DISTRIBUTIONS[kind].wanted)
        return own

    def sums(self, codes, weight, n_classes, options):
        """(rows, sums of columns) of each class, which add up."""
        count = class_counts(codes, weight, n_classes)[:, None]
        return count, column_sums(self.rows, codes, weight, n_classes, options.n_jobs)

    def learn(self, codes, weight, n_classes, kinds, factors, options):
        """The statistics of each factor, all by one read of the rows."""
        rows = self.rows
        own = {kind: self._entries(kinds, kind) for kind in set(kinds)}
        count, sums = self.sums(codes, weight, n_classes, options)
        if "poisson" in own:
            logs = np.zeros(len(rows.data))
            logs[own["poisson"]] = log_factorial(rows.data[own["poisson"]])
            logs = Csr(rows.indptr, rows.indices, logs, rows.n_columns)
            logs = column_sums(logs, codes, weight, n_classes, options.n_jobs)
        statistics = []
        for places in factors:
            kind, [j, *_] = kinds[places[0]], places
            if kind == "bernoulli":
                counts = np.stack([count[:, 0] - sums[:, j], sums[:, j]], axis=1)
                statistics.append({"cells": np.array([0.0, 1.0]), "counts": counts})
            elif kind == "poisson":
                own_logs = logs[:, j].copy()
                statistics.append({"count": count[:, 0], "sum": sums[:, j].copy(), "log_factorials": own_logs})
            else:
                statistics.append({"count": count[:, 0], "sum": np.ascontiguousarray(sums[:, places])})
        return statistics

    def add(self, joint, kinds, factors, statistics, options):
        """Add the log densities of all factors."""
        count, sums = np.zeros((2, joint.shape[1], self.rows.n_columns))
        single = {"bernoulli": ([], []), "poisson": ([], [])}
        for places, state in zip(factors, statistics):
            if kinds[places[0]] == "multinomial":
                sums[:, places] = state["sum"]
            else:
                columns, states = single[kinds[places[0]]]
                columns += places
                states.append(state)
        columns, states = single["bernoulli"]
        if columns:
            counts = by_column(states, "counts")
            count[:, columns], sums[:, columns] = counts.sum(axis=2), counts[..., 1]
        columns, states = single["poisson"]
        if columns:
            count[:, columns], sums[:, columns] = by_column(states, "count"), by_column(states, "sum")
        self.add_by_sums(joint, kinds, factors, count, sums, options)

    def add_by_sums(self, joint, kinds, factors, count, sums, options):
        """Add the log densities of all factors: sums over the entries, and what a row of zeros has."""
        rows = self.rows
        own = {kind: self._entries(kinds, kind) for kind in set(kinds)}
        coef, never = np.zeros((2, joint.shape[1], rows.n_columns))
        count = np.broadcast_to(count, coef.shape)
        with np.errstate(divide="ignore"):
            if "bernoulli" in own:
                places = columns_of(kinds, "bernoulli")
                known, there = count[:, places], sums[:, places]
                absent = Bernoulli.logs(known - there, known, 2, options)
                # a class of which no row lacked the column is impossible for one that does
                never[:, places] = np.isneginf(absent)
                absent = np.where(np.isneginf(absent), 0, absent)
                coef[:, places] = Bernoulli.logs(there, known, 2, options) - absent
                joint += absent.sum(axis=1)
            if "poisson" in own:
                places = columns_of(kinds, "poisson")
                mean = Poisson.mean(count[:, places], sums[:, places], options)
                coef[:, places] = np.log(mean)
                joint -= mean.sum(axis=1)
                entries = own["poisson"]
                logs = np.bincount(rows.row_numbers()[entries], log_factorial(rows.data[entries]), len(rows))
                joint -= logs[:, None]
        for places in factors:
            if kinds[places[0]] == "multinomial":
                coef[:, places] = Multinomial.logs(sums[:, places], options)
        add_linear(joint, rows, coef, options.n_jobs)
        if never.any():
            met = np.zeros_like(joint)
            add_linear(met, rows, never, options.n_jobs, 0.0)
            joint[met < never.sum(axis=1)] = -np.inf

    def left(self, kinds, factors, count, sums, codes, weight, options):
        """The log density of each row by its class without it, where these are the sums of all rows."""
        rows, alpha, w = self.rows, options.alpha, ones_or(weight, codes)
        row, column, x = rows.row_numbers(), rows.indices[: rows.size], rows.data[: rows.size].astype(np.float64)
        rest = count[codes, 0] - w
        smoothed = sums[codes[row], column] - w[row] * x + alpha
        density = np.zeros(len(self))

        def entries(places):
            wanted = np.zeros(rows.n_columns, bool)
            wanted[places] = True
            return np.flatnonzero(wanted[column] & (x > 0))

        def by_row(values, own):
            return np.bincount(row[own], values, len(self))

        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(smoothed > 0, np.log(smoothed), -np.inf)
            for places in factors:
                if kinds[places[0]] == "multinomial":
                    own = entries(places)
                    whole = sums[:, places].sum(axis=1)[codes] - w * by_row(x[own], own) + alpha * len(places)
                    each = np.where(smoothed[own] > 0, logs[own] - np.log(whole)[row[own]], -np.inf)
                    density += by_row(x[own] * each, own)
            places = columns_of(kinds, "poisson")
            if len(places):
                own = entries(places)
                whole = sums[:, places].sum(axis=1)[codes] - w * by_row(x[own], own) + alpha * len(places)
                each = x[own] * (logs[own] - np.log(rest + alpha)[row[own]]) - log_factorial(x[own])
                density += by_row(each, own) - divide(whole, rest + alpha)
            places = columns_of(kinds, "bernoulli")
            if len(places):
                own = entries(places)
                density += by_row(logs[own], own) - len(places) * np.log(rest + 2 * alpha)
                # what it lacks: all columns, the same for rows of a class and weight, less those that it has
                lacked = rest[row[own]] - sums[codes[row[own]], column[own]] + alpha
                density -= by_row(np.where(lacked > 0, np.log(lacked), 0), own)
                met = by_row(lacked <= 0, own)
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


def columns_of(kinds, kind):
    return np.array([j for j, each in enumerate(kinds) if each == kind], np.intp)


def choose(x, codes, missing):
    """The distribution that "auto" takes for a column."""
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
