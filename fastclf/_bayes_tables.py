"""The rows of `NaiveBayes`: columns of mixed types, or sparse rows of counts, read as they are."""

from typing import NamedTuple

import numpy as np

from ._cells import Bernoulli, Categorical, Histogram, Kernel, MdlHistogram, QuantileHistogram
from ._csr import Csr
from ._distributions import Exponential, Gaussian, Multinomial, Poisson, log_factorial
from ._statistics import add_linear, class_counts, column_sums

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

    def dense(self, start, stop):
        return Table(list(np.asarray(self.rows[start:stop]).T), self.missing, None)

    def choose(self, kinds, codes, rows):
        """As for a Table; "auto" is one distribution for all columns that have it."""
        some = self.rows[rows]
        values = some.data[: some.size]
        auto = "bernoulli" if ((values == 0) | (values == 1)).all() else "multinomial"
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

    def learn(self, codes, weight, n_classes, kinds, factors, options):
        """The statistics of each factor, all by one read of the rows."""
        rows, count = self.rows, class_counts(codes, weight, n_classes)
        own = {kind: self._entries(kinds, kind) for kind in set(kinds)}
        sums = column_sums(rows, codes, weight, n_classes, options.n_jobs)
        if "poisson" in own:
            logs = np.zeros(len(rows.data))
            logs[own["poisson"]] = log_factorial(rows.data[own["poisson"]])
            logs = Csr(rows.indptr, rows.indices, logs, rows.n_columns)
            logs = column_sums(logs, codes, weight, n_classes, options.n_jobs)
        statistics = []
        for places in factors:
            kind, [j, *_] = kinds[places[0]], places
            if kind == "bernoulli":
                counts = np.stack([count - sums[:, j], sums[:, j]], axis=1)
                statistics.append({"cells": np.array([0.0, 1.0]), "counts": counts})
            elif kind == "poisson":
                own_logs = logs[:, j].copy()
                statistics.append({"count": count, "sum": sums[:, j].copy(), "log_factorials": own_logs})
            else:
                statistics.append({"count": count, "sum": np.ascontiguousarray(sums[:, places])})
        return statistics

    def add(self, joint, kinds, factors, statistics, options):
        """Add the log densities of all factors: sums over the entries, and what a row of zeros has."""
        rows = self.rows
        own = {kind: self._entries(kinds, kind) for kind in set(kinds)}
        coef, never = np.zeros((2, joint.shape[1], rows.n_columns))
        for kind in own:
            members = [(places, state) for places, state in zip(factors, statistics) if kinds[places[0]] == kind]
            places = np.concatenate([each for each, _ in members])
            states = [state for _, state in members]
            with np.errstate(divide="ignore"):
                if kind == "bernoulli":
                    counts = np.stack([state["counts"] for state in states], axis=1)
                    absent, there = np.moveaxis(
                        Bernoulli.logs(counts, counts.sum(axis=2, keepdims=True), 2, options), 2, 0
                    )
                    # a class of which no row lacked the column is impossible for one that does
                    never[:, places] = np.isneginf(absent)
                    absent = np.where(np.isneginf(absent), 0, absent)
                    coef[:, places] = there - absent
                    joint += absent.sum(axis=1)
                elif kind == "poisson":
                    mean = Poisson.means(states, options)
                    coef[:, places] = np.log(mean)
                    joint -= mean.sum(axis=1)
                    entries = own[kind]
                    logs = np.bincount(rows.row_numbers()[entries], log_factorial(rows.data[entries]), len(rows))
                    joint -= logs[:, None]
                else:
                    for each, state in members:
                        coef[:, each] = Multinomial.logs(state["sum"], options)
        add_linear(joint, rows, coef, options.n_jobs)
        if never.any():
            met = np.zeros_like(joint)
            add_linear(met, rows, never, options.n_jobs, 0.0)
            joint[met < never.sum(axis=1)] = -np.inf


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
