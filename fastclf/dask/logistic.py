"""Logistic regression on Dask: the plain solver runs in the client, and its sums over rows come from the workers.

Each place has consecutive rows, as whole panels, which compiled code reads. The solver asks for the sums of blocks,
whose bounds are those of the plain fit. A place sums the blocks that it has. If a block lies on two places, its sums
go from the first place to the second, which adds its rows.
"""

import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import linear_model as plain
from .._csr import Csr, as_unchecked_rows
from .._labels import class_factors, require_two
from .._threads import columns_at, run
from ..linear_model.likelihood import (
    Likelihood,
    Pass,
    RowsInDoubt,
    columns_of,
    in_doubt,
    kernels,
    panel_weights,
    sparse_moments,
)
from ..linear_model.logistic import check_classes, path_of
from ..linear_model.minimisers import LEAST_STEP, sample_step
from ..linear_model.scores import linear_scores
from ..sums.class_sums import span_bounds
from ..sums.layout import by_column
from .base import OnDask, on_dask
from .blocks import Reader, Shards, joined_rows
from .linear import require_finite_rows, silent, sizes_of, weighed
from .partitions import naming, threads_of

_NONE = np.empty(0)
# The largest number of scores, of all rows and classes, that the client collects: 67 MB.
_SCORES = 1 << 23
# The largest number of values of X that the client collects from the workers for coordinate descent over columns.
_HELD = 1 << 26
# The largest number of values of X in a sample of the rows that the client collects, so as to sum over it: 33 MB.
_SAMPLED = 1 << 22
# The number of entries of sparse rows whose sums by column are computed at a time. It is the same as in the fit without
# Dask, so that sums have the same rounding.
_ENTRIES = 1 << 20


class PanelRows(NamedTuple):
    """Rows of whole panels, which are blocks of rows of a fixed size."""

    first: int  # the number of the panel (block of rows) with which X begins, among the panels of all workers
    X: object  # rows of whole panels (blocks of rows), an ndarray or a Csr
    codes: np.ndarray  # (n_rows,), int32: the code of each row's class
    weights: np.ndarray  # (n_rows,), float64: the weight of each row; empty if all weights are 1


class Sums(NamedTuple):
    """The sums of a `Pass` over a block."""

    sums: np.ndarray
    grad: np.ndarray
    hess: np.ndarray


class Tally(NamedTuple):
    """What is summed over panels: by `kernel`, into arrays that are those of `state` at first.

    A kernel named "moments" adds to an array; another one adds to the arrays of a Pass.
    """

    kernel: str
    settings: Pass
    taken: np.ndarray | None = None  # the numbers of the columns of X that the model uses; None: all columns
    # for the kernel "moments", the sums of each column so far, to which those of further rows are added
    start: np.ndarray | None = None

    def state_from(self, arrays):
        """A Pass for a thread, with copies of the arrays of the last place, or with zeros."""
        state = copy.copy(self.settings)
        for name in state.__slots__:
            value = getattr(state, name)
            if isinstance(value, np.ndarray):
                setattr(state, name, np.array(value))
        found = None if self.start is None else np.array(self.start)
        if arrays is not None and found is not None:
            [found] = map(np.array, arrays)
        elif arrays is not None:
            state.sums, state.grad, state.hess = map(np.array, arrays)
        return state, found

    def add(self, rows, start, stop, step, state):
        """Add every step-th panel of all panels, of those from start to stop."""
        state, found = state
        low, high = max(start, rows.first) - rows.first, min(stop - rows.first, -(-len(rows.X) // kernels.PANEL))
        low += -(rows.first + low) % step
        if low >= high:
            return
        state.codes, state.weights, X = rows.codes, rows.weights, rows.X
        if self.taken is not None:
            X = columns_of(X, self.taken) if isinstance(X, Csr) else np.ascontiguousarray(X[:, self.taken])
        if found is not None:
            kernels.moments(X, low, high, state, found)
        else:
            getattr(kernels, self.kernel)(*((X, X.data) if isinstance(X, Csr) else (X,)), low, high, step, state)

    @staticmethod
    def arrays_of(state):
        state, found = state
        return Sums(state.sums, state.grad, state.hess) if found is None else (found,)


def tallied(todo, panels, tally, step, model):
    """[(number, arrays)] of blocks (number, first panel, last panel + 1, [] or the found of the last place)."""
    found = [None] * len(todo)

    def work(i):
        number, start, stop, *before = todo[i]
        state = tally.state_from(before[0][0][1] if before else None)
        for rows in panels:
            tally.add(rows, start, stop, step, state)
            yield
        found[i] = number, tally.arrays_of(state)

    run(work, range(len(todo)), threads_of(model.n_jobs))
    if tally.start is not None and not all(np.isfinite(arrays[0]).all() for _, arrays in found):
        for rows in panels:
            require_finite_rows(rows.X, "X", type(model).__name__)
    return found


def panels_of(first, parts, reader, classes, factor):
    """Consecutive rows, the first of which begins panel number `first`, as PanelRows.

    parts: for each part of the rows (number, arrays, start, stop) of a partition, or a copy made by `taken`. Rows are
    copied only if their panel has rows of several parts.
    """
    found, waiting, row = [], [], first * kernels.PANEL

    def append(X, codes, weights, row):
        found.append(PanelRows(row // kernels.PANEL, X, codes, weights))

    def complete():
        X, codes, weights = zip(*waiting)
        append(joined_rows(X), np.concatenate(codes), np.concatenate(weights), row - sum(map(len, codes)))
        waiting.clear()

    for part in parts:
        X, codes, weights = _part(part, reader, classes, factor)
        begin = min(-row % kernels.PANEL, len(X))
        if begin:
            waiting.append((X[:begin], codes[:begin], weights[:begin]))
            row += begin
            if row % kernels.PANEL == 0:
                complete()
        end = begin + (len(X) - begin) // kernels.PANEL * kernels.PANEL
        if end > begin:
            append(X[begin:end], codes[begin:end], weights[begin:end], row)
            row += end - begin
        if end < len(X):
            waiting.append((X[end:], codes[end:], weights[end:]))
            row += len(X) - end
    if waiting:
        complete()
    return found


def _part(part, reader, classes, factor):
    """(rows, class codes, weights) from a range of rows of a partition, or from rows copied by another worker."""
    if len(part) == 4:
        number, arrays, start, stop = part
        with naming(number):
            rows, y, weight = reader.read(*arrays)
        rows, y, weight = rows[start:stop], y[start:stop], None if weight is None else weight[start:stop]
    else:
        rows, y, weight = part
    if not isinstance(rows, Csr) and not rows.flags.aligned:
        rows = rows.copy()
    codes = reader.codes(classes, y, weight).astype(np.int32)
    weight = weighed(codes, weight, factor)
    return rows, codes, _NONE if weight is None else np.array(weight)


def weight_sums(model, rows, codes, weight, bounds, factor):
    """The sum of the weights of each block."""
    weight = weighed(codes, weight, factor)
    return [weight[start:stop].sum() for start, stop in pairwise(bounds)]


def sparse_moment_sums(model, rows, codes, weight, bounds, scale, factor):
    """The moments of the columns of sparse rows, for each block."""
    weight = weighed(codes, weight, factor)
    weight = _NONE if weight is None else weight
    return [sparse_moments(rows[start:stop], weight[start:stop], scale) for start, stop in pairwise(bounds)]


def entry_counts(model, rows, codes, weight, bounds):
    """For each block of sparse rows, the number of entries of each column."""
    return [rows[start:stop].column_lengths() for start, stop in pairwise(bounds)]


def sampled_rows(panels, step):
    """(rows, class codes, weights) of every step-th panel of all panels, of those that are given."""
    found = []
    for rows in panels:
        n, size = len(rows.X), kernels.PANEL
        starts = np.arange(-rows.first % step, -(-n // size), step) * size
        numbers = (starts[:, None] + np.arange(size)).ravel()
        numbers = numbers[: np.searchsorted(numbers, n)]
        weights = rows.weights[numbers] if len(rows.weights) else _NONE
        found.append((rows.X[numbers], rows.codes[numbers], weights))
    X, codes, weights = zip(*found)
    return joined_rows(X), np.concatenate(codes), np.concatenate(weights)


def sampled_weights(panels, step):
    """The sums of the weights of every step-th panel."""
    return np.concatenate([panel_weights(rows.weights, rows.first, step) for rows in panels])


def scores_of(panels, coef, intercept, model):
    """The scores of rows."""
    threads = threads_of(model.n_jobs)
    return np.concatenate([linear_scores(rows.X, coef, intercept, threads) for rows in panels])


def classes_of(panels):
    """(class codes, weights) of rows; the weights are empty if all are 1."""
    return tuple(np.concatenate([getattr(rows, name) for rows in panels]) for name in ("codes", "weights"))


def weighted_rows(panels, numbers):
    """(rows, weights) of the rows with these numbers, which ascend."""
    found = []
    for rows in panels:
        first = rows.first * kernels.PANEL
        low, high = np.searchsorted(numbers, [first, first + len(rows.X)])
        own = numbers[low:high] - first
        found.append((rows.X[own], rows.weights[own] if len(rows.weights) else _NONE))
    return [np.concatenate(parts) for parts in zip(*found)]


class ShardRows:
    """The rows of Shards, in the place of an array, for a `ShardLikelihood`.

    factor: the factor of the weights of each class, or None.
    """

    def __init__(self, shards, factor):
        self.shards, self.factor, self.sparse, self.dtype = shards, factor, shards.sparse, shards.dtype
        self.shape, self.size = (shards.n, shards.columns["n_features_in_"]), shards.size
        self.weighted = shards.weighted or factor is not None
        self.model = shards.reader.model
        self._sample = None  # the rows on which the fit starts: (step, PanelRows of every step-th block of rows)
        self._place()

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, number):
        return self.shards.rows_at(np.array([number]))[0]

    def _place(self):
        """Give each worker consecutive rows, about as many as it has now; rows of other workers are copied to it."""
        shards, n = self.shards, len(self)
        ends = np.cumsum([part.n for part in shards.partitions])
        held = {}
        for part, end in zip(shards.partitions, ends):
            size, middle = held.get(part.place, (0, 0.0))
            held[part.place] = size + part.n, middle + part.n * (end - part.n / 2)
        kept = [place for place in held if held[place][0]]
        kept.sort(key=lambda place: held[place][1] / held[place][0])
        # each worker gets whole panels of PANEL rows; only the last panel may be shorter
        stops = np.cumsum([held[place][0] for place in kept]) // kernels.PANEL * kernels.PANEL
        stops[-1] = n
        self.places, start = [], 0  # for each worker (its first panel, last panel + 1, reference to PanelRows, address)
        for place, stop in zip(kept, stops.tolist()):
            if stop > start:
                first, last = start // kernels.PANEL, -(-stop // kernels.PANEL)
                parts = self._parts(start, stop, place)
                panels = shards.places.call(
                    panels_of, first, parts, shards.reader, shards.classes, self.factor, near=place
                )
                self.places.append((first, last, panels, place))
            start = stop

    def _parts(self, start, stop, place):
        """The rows start to stop for the worker `place`: its own rows as ranges of partitions, all others as copies."""
        parts, first = [], 0
        for number, arrays, where, n in self.shards.partitions:
            low, high = max(start, first), min(stop, first + n)
            if low < high and where == place:
                parts.append((number, arrays, low - first, high - first))
            elif low < high:
                parts += self.shards.copies(low, high)
            first += n
        return parts

    def call(self, f, *arguments):
        """The results of f(panels, *arguments) of all places, in the order of the rows."""
        places = self.shards.places
        return places.get([places.call(f, panels, *arguments, near=place) for *_, panels, place in self.places])

    def tallies(self, blocks, tally, step):
        """The arrays of the sums over each block of panels, (first panel, last panel + 1)."""
        places, groups, chains = self.shards.places, {}, []
        for number, (start, stop) in enumerate(blocks):
            there = [at for at in self.places if at[0] < stop and start < at[1]]
            if len(there) == 1:
                groups.setdefault(there[0][2:], []).append((number, start, stop))
                continue
            before = []
            for *_, panels, place in there:
                todo = [(number, start, stop, *before)]
                before = [places.call(tallied, todo, panels, tally, step, self.model, near=place)]
            chains += before
        calls = [
            places.call(tallied, todo, panels, tally, step, self.model, near=place)
            for (panels, place), todo in groups.items()
        ]
        found = {number: arrays for part in places.get(calls + chains) for number, arrays in part}
        # the arrays are copied, because arrays that Dask has moved may be misaligned in memory and read-only
        return [
            type(found[i])(*map(np.array, found[i])) if tally.start is None else np.array(found[i][0])
            for i in range(len(blocks))
        ]

    def tallies_here(self, blocks, tally, step, each):
        """`tallies` in this process, for panels of a sample: every `each`-th panel of all rows, numbered from 0."""
        if self._sample is None or self._sample[0] != each:
            X, codes, weights = zip(*self.call(sampled_rows, each))
            self._sample = each, PanelRows(0, joined_rows(X), np.concatenate(codes), np.concatenate(weights))
        todo = [(number, start, stop) for number, (start, stop) in enumerate(blocks)]
        return [sums for _, sums in tallied(todo, [self._sample[1]], tally, step, self.model)]

    def total_weight(self):
        if not self.weighted:
            return float(len(self))
        return float(sum(self.shards.sums(weight_sums, span_bounds(len(self), 0, 0), self.factor)))

    def here(self):
        """(rows, codes, weights or None) of all rows."""
        rows, codes, weight = self.shards.here(self.shards.copies(0, len(self)))
        return rows, codes.astype(np.int32), weighed(codes, weight, self.factor)


class ShardLikelihood(Likelihood):
    """The Likelihood of ShardRows."""

    _taken = None  # the numbers of the columns of the ShardRows that the model uses; None: all columns
    _counts = None  # for sparse rows, the number of stored values of each column; None: not counted yet
    fits_row_space = False
    _turns = False

    def __init__(self, rows, *arguments):
        self._rows, self._totals = rows, {}
        super().__init__(rows, *arguments)

    @staticmethod
    def total_of(rows, weights):
        return rows.total_weight()

    @staticmethod
    def _is_sparse(X):
        return X.sparse

    def held(self):
        if len(self._rows) * self.d > _HELD:
            raise ValueError(
                f"the L1 penalty leaves {self.d} columns of {len(self._rows)} rows in use, which the client would have"
                " to collect; a stronger penalty, or l1_ratio=0, is wanted"
            )
        rows, codes, weights = self._rows.here()
        if self._taken is not None:
            rows = columns_of(rows, self._taken) if self.sparse else np.ascontiguousarray(rows[:, self._taken])
        found = object.__new__(Likelihood)
        vars(found).update(vars(self) | {"X": rows, "codes": codes, "weights": _NONE if weights is None else weights})
        return found

    def of_columns(self, taken):
        if len(taken) == self.d:
            return self
        other = copy.copy(self)
        other._taken = taken if self._taken is None else self._taken[taken]
        other.X = copy.copy(self._rows)
        other.X.shape = len(self._rows), len(taken)
        if self.sparse:
            if self._counts is None:
                n = len(self._rows)
                self._counts = sum(self._rows.shards.sums(entry_counts, span_bounds(n, self._rows.size, 0)))
            other.X.size = int(self._counts[other._taken].sum())
        other.mean, other._spread = self.mean[taken], self._spread[taken]
        other._measure()
        other._penalise(self.penalty, self.l1)
        return other

    def sum_of_weights(self, step):
        if step not in self._totals:
            if step == 1:
                total = self._rows.total_weight()
            elif self._rows.weighted:
                total = float(np.concatenate(self._rows.call(sampled_weights, step)).sum())
            else:
                total = super().sum_of_weights(step)
            self._totals[step] = total
        return self._totals[step]

    @property
    def has_lines(self):
        return super().has_lines and len(self._rows) * self.K <= _SCORES

    def row_scores(self, theta):
        return np.concatenate(self._rows.call(scores_of, *self.coefficients(theta), self._rows.model))

    def row_classes(self):
        codes, weights = (np.concatenate(parts) for parts in zip(*self._rows.call(classes_of)))
        return codes, weights

    def rows_in_doubt(self, line, share, most):
        doubt, p = line.shares()
        rows = in_doubt(doubt, share, most)
        if rows is None:
            return None
        found = self._rows.call(weighted_rows, rows)
        other = copy.copy(self)
        other.X, other.weights = (np.concatenate(parts) for parts in zip(*found))
        return RowsInDoubt(other, np.arange(len(rows)), columns_at(p, rows), rows)

    def _over_blocks(self, bounds, first, kernel, begin, step):
        tally = kernel
        if not isinstance(kernel, Tally):
            tally = Tally(kernel.__name__, _stripped(begin()), self._taken)
        each, n_panels = self._sample_step(step), self.n_panels
        if each:  # the sum is over the client's sample, the panels (blocks of rows) 0, each, 2 each, ... of all panels
            step, n_panels = step // each, -(-n_panels // each)
        blocks = [(start * step, min(stop * step, n_panels)) for start, stop in pairwise(bounds)]
        return self._rows.tallies_here(blocks, tally, step, each) if each else self._rows.tallies(blocks, tally, step)

    def _sample_step(self, step):
        """The step of the sample in the client that has every step-th panel; None if the client collects no sample.

        A sum over few rows takes a worker less time than its round.
        """
        each = sample_step(self)
        is_used = each >= LEAST_STEP and step % each == 0 and self._rows.size <= _SAMPLED * each
        return each if is_used else None

    def _sums(self, shift, factor):
        if self.sparse:
            step = max(1, _ENTRIES // self.length)
            bounds = [*range(0, len(self._rows), step), len(self._rows)]
            parts = self._rows.shards.sums(sparse_moment_sums, bounds, factor, self._rows.factor)
            total, squares, most = np.zeros((3, self.d))
            for part in parts:
                total += part[0]
                squares += part[1]
                np.maximum(most, part[2], out=most)
            return total, squares, most
        start = np.zeros((3, self.ld))
        tally = Tally("moments", _stripped(Pass(self, shift, factor, _NONE, 0)), None, start)
        parts = self._over_panels(tally, None, 2 * self.d, 3 * self.ld)
        found = np.array(parts)[:, :, : self.d]
        return found[:, 0].sum(axis=0), found[:, 1].sum(axis=0), found[:, 2].max(axis=0)


def _stripped(state):
    """The Pass without its arrays of class codes and weights, which need not be sent."""
    state.codes = state.weights = None
    return state


@on_dask(plain.LogisticRegression)
class LogisticRegression(OnDask):
    """Logistic regression, on Dask: `fastclf.LogisticRegression`, bit for bit, with two exceptions.

    The solver runs in the client, and each of its steps is a round, in which a worker sums its rows. Before, rows are
    moved once, if need be, so that each worker has consecutive rows. If X has fewer dense rows than columns, or sparse
    rows that are at most half as many as its 4096 columns or more, the client collects X. With an L1 penalty it
    collects the columns in use where coordinate descent goes over columns.

    In two cases only the optimum is the same, to `tol`: for sparse X with three classes or more, because the plain fit
    then adds up whole columns; and for more than 8 million scores, one for each dense row and class, if the plain fit
    needs them to choose the lengths of its steps. `gradient_norm_`, the proof, covers all rows in any case.
    """

    def _fit(self, places, X, y, sample_weight):
        model = self._started()
        strength = model._check_parameters()
        reader = Reader(silent(model), as_unchecked_rows, spreads=True)
        shards = Shards(places, X, y, sample_weight, reader)
        classes, factor = shards.classes, None
        require_two("y", classes)
        check_classes(model.solver, classes)
        if model.class_weight is not None:
            factor = class_factors(model.class_weight, classes, sizes_of(shards))
        rows = ShardRows(shards, factor)
        n_outputs = 1 if len(classes) == 2 else len(classes)
        few = (
            model._goes_by_rows(rows.shape, rows.size, n_outputs, strength)
            if rows.sparse
            else len(rows) < rows.shape[1]
        )
        if few:
            held, codes, weights = rows.here()
            [fit] = path_of([model], [strength], held, codes, len(classes), weights)
        else:
            # only workers read class codes and weights; here any sequence of the same length stands for them
            stub = range(len(rows))
            weights = stub if rows.weighted else None
            [fit] = path_of([model], [strength], rows, stub, len(classes), weights, ShardLikelihood)
        coef, intercept = fit.rounded(model._coefficient_dtype(X, rows))
        return model._become(
            classes_=classes,
            coef_=by_column(coef) if rows.sparse and len(coef) > 1 else coef,
            intercept_=intercept,
            n_iter_=np.array([fit.n_iter], np.int32),
            **fit.attributes(),
            **shards.columns,
        )
