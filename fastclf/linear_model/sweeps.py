"""The training of perceptrons: sweeps over the rows, when they end, and what is kept of the weights on the way.

A *plane* is one pair (w, b). A *unit* is what learns and stops by itself: a plane, or all of them when they learn
jointly. Units share nothing, so that any number of them may go through the rows side by side, or on other threads.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._csr import Csr
from .._threads import ranges, run
from .votes import first_turns, votes_until

kernels = _simd.load("linear_model._perceptron")

# Products in the first range (1 ms), and turns of any range whose mistakes are logged.
_FIRST_PRODUCTS = 1 << 20
_LOGGED_TURNS = 1 << 16


@dataclass(frozen=True)
class Plan:
    """How to train: the estimator's parameters, checked."""

    order: str  # "cyclic", "shuffled", "random" or "batch"
    eta: float
    intercept: bool
    joint: bool
    average: str
    penalty: tuple | None  # (alpha, l1_ratio)
    max_iter: int
    tol: float  # -inf: no rule but max_iter
    n_iter_no_change: int
    until_clean: bool  # the first sweep without a mistake is the last
    seed: int


def as_rows(X, codes, cost, refuse=None):
    """The rows as the kernels take them; `refuse()` raises if X, which no one looked at, is not finite."""
    sparse = isinstance(X, Csr)
    return SimpleNamespace(
        data=X.data if sparse else X.reshape(-1),
        d=X.shape[1],
        indptr=X.indptr if sparse else None,
        indices=X.indices if sparse else None,
        ones=sparse and all((X.data[start:stop] == 1).all() for start, stop in ranges(0, X.size, 1 << 12)),
        codes=codes,
        cost=cost,
        order=None,
        refuse=refuse,
    )


class Unit:
    """One unit's weights and, after its training, what is to be told of it."""

    def __init__(self, positive, w, b, up, down, mistakes=0, lag=None, t=0):
        self.positive, self.up, self.down, self.mistakes = positive, up, down, mistakes
        self.w, self.b, self.first_w, self.first_b, self.first_t = w, b, w, b, t
        self.lag_w, self.lag_b = lag if lag is not None else (np.zeros_like(w), np.zeros_like(b))
        self.n_iter, self.t, self.margin, self.clean, self.reason = 0, t, np.nan, False, ""
        self.best, self.pocket = np.inf, (w, b)
        self.scale, self.due, self.paid = np.ones(len(w)), np.zeros(len(w)), np.zeros_like(w)
        self.log = []
        self._least, self._stale = np.inf, 0

    def must_stop(self, value, plan):
        """scikit-learn's rule: `value`, to be small, was no better than the best by tol, n_iter_no_change times."""
        self._stale = self._stale + 1 if value > self._least - plan.tol else 0
        self._least = min(self._least, value)
        return self._stale >= plan.n_iter_no_change


def train(rows, turns, held_out, plan, units, threads, progress):
    """Train the units on the rows `turns` (None: all); the largest squared norm of a row is returned.

    `held_out` are rows whose error stands in for the loss in the rule that stops, or None.
    """
    size = 1 if plan.average in ("pocket", "voted") else -(-len(units) // threads)
    groups = [units[i : i + size] for i in range(0, len(units), size)]
    squares = [np.zeros(1) for _ in groups]

    def work(number):
        yield from _Group(rows, turns, held_out, plan, groups[number], squares[number], progress).train()

    run(work, range(len(groups)), threads)
    return squares[0][0]


def count_wrong(rows, turns, plan, unit, w, b, limit=np.inf, by_class=False):
    """Generator whose return is (weight of the rows that w, b predict wrongly, least y f); it ends at `limit`.

    `by_class` multiplies the weights of the rows by those of their classes.
    """
    rows = SimpleNamespace(**vars(rows) | {"order": turns})
    up, down = (unit.up, unit.down) if by_class else np.ones((2, len(w)))
    planes = SimpleNamespace(w=w, b=b, positive=unit.positive, up=up, down=down)
    wrong, margin = np.zeros(1), np.full(1, np.inf)
    for start, stop in ranges(0, _n_turns(rows), _first_turns(rows, len(w))):
        kernels.count_wrong(rows.data, rows, planes, plan.joint, start, stop, wrong, margin)
        yield
        if wrong[0] >= limit:
            break
    return wrong[0], margin[0]


def _n_turns(rows):
    return len(rows.codes) if rows.order is None else len(rows.order)


def _first_turns(rows, n_planes):
    return 1 + _FIRST_PRODUCTS * len(rows.codes) // (n_planes * (len(rows.data) + 1))


class _Group:
    """Units that go through the rows side by side, so that a sweep reads the rows once for all of them."""

    def __init__(self, rows, turns, held_out, plan, units, square, progress):
        self.rows = SimpleNamespace(**vars(rows))
        self.turns, self.held_out, self.plan, self.progress = turns, held_out, plan, progress
        self.n = len(rows.codes) if turns is None else len(turns)
        self.rng = np.random.default_rng(plan.seed)
        self.lesson = SimpleNamespace(t=units[0].t, square=square)
        self._gather(units)

    def _gather(self, units):
        """Lay the units' arrays side by side."""
        self.units = units
        plan, joined = self.plan, lambda name: np.concatenate([getattr(unit, name) for unit in units])
        w = aligned((sum(len(unit.w) for unit in units), self.rows.d), np.float64)
        w[:] = joined("w")
        self.planes = SimpleNamespace(
            w=w, b=joined("b"), positive=joined("positive"), up=joined("up"), down=joined("down")
        )
        averaged, pocket = plan.average == "averaged", plan.average == "pocket"
        self.lesson = SimpleNamespace(
            joint=plan.joint,
            intercept=plan.intercept,
            eta=plan.eta,
            to_w=self.planes.w,
            to_b=self.planes.b,
            lag_w=joined("lag_w") if averaged else None,
            lag_b=joined("lag_b") if averaged else None,
            loss=np.zeros(len(units)),
            margin=np.zeros(len(units)),
            mistakes=np.zeros(len(units), np.int64),
            since=np.full(len(units), self.lesson.t, np.int64),
            record=np.zeros(1, np.int64) if pocket else None,
            square=self.lesson.square,
            log_turn=None,
            log_row=None,
            log_step=None,
            t=self.lesson.t,
        )
        if plan.penalty is not None:
            alpha, l1_ratio = plan.penalty
            self.penalty = SimpleNamespace(
                alpha=alpha,
                l1_ratio=l1_ratio,
                scale=joined("scale"),
                square=np.einsum("ij,ij->i", w, w),
                size=np.abs(w).sum(axis=1),
                due=joined("due"),
                paid=joined("paid"),
            )

    def _scatter(self):
        """Give the units back what is theirs."""
        n_planes = len(self.units[0].w)
        for i, unit in enumerate(self.units):
            own = slice(i * n_planes, (i + 1) * n_planes)
            unit.w, unit.b = self.planes.w[own].copy(), self.planes.b[own].copy()
            if self.lesson.lag_w is not None:
                unit.lag_w, unit.lag_b = self.lesson.lag_w[own].copy(), self.lesson.lag_b[own].copy()
            if self.plan.penalty is not None:
                for name in ("scale", "due", "paid"):
                    setattr(unit, name, getattr(self.penalty, name)[own].copy())

    def train(self):
        plan = self.plan
        for n_iter in range(1, plan.max_iter + 1):
            stopped = yield from self._sweep(n_iter)
            self._scatter()
            going = []
            for unit, loss, mistakes, margin in zip(
                self.units, self.lesson.loss, self.lesson.mistakes, self.lesson.margin
            ):
                unit.n_iter, unit.t = n_iter, self.lesson.t
                unit.mistakes += int(mistakes)
                unit.clean = mistakes == 0 and not stopped
                unit.margin = margin if unit.clean else np.nan
                if plan.average == "pocket":
                    yield from self._consider(unit)
                value = loss / self.n
                if self.held_out is not None:
                    wrong, _ = yield from count_wrong(self.rows, self.held_out, plan, unit, *self._weights(unit))
                    value = wrong
                if stopped:
                    unit.reason = "the callback stopped it"
                elif not self._is_over(unit, value, n_iter, mistakes):
                    going.append(unit)
            if not going or stopped:
                return
            if len(going) < len(self.units):
                self._gather(going)

    def _weights(self, unit):
        """w and b of a unit, its scale multiplied in."""
        return (unit.w if self.plan.penalty is None else unit.w * unit.scale[:, None]), unit.b

    def _is_over(self, unit, value, n_iter, mistakes):
        """Whether a unit's training has ended with this sweep, and why."""
        plan = self.plan
        fixed = unit.clean and plan.penalty is None and plan.order != "random"
        if plan.until_clean and unit.clean and plan.penalty is None:
            unit.reason = f"sweep {n_iter} had no mistake"
            return True
        over = unit.must_stop(value, plan)
        # more sweeps would change nothing: they are counted, not made
        while fixed and not over and unit.n_iter < plan.max_iter:
            unit.n_iter += 1
            unit.t += self.n
            over = unit.must_stop(value, plan)
        if over:
            what = "loss" if self.held_out is None else "error on the held-out rows"
            unit.reason = f"its {what} has not fallen by tol for {plan.n_iter_no_change} sweeps"
        else:
            unit.reason = f"max_iter={plan.max_iter} sweeps were made, the last with {mistakes} mistakes"
        return over or unit.n_iter == plan.max_iter

    def _sweep(self, n_iter):
        """One sweep; the return says whether the callback ended it."""
        plan, lesson, planes, rows = self.plan, self.lesson, self.planes, self.rows
        rows.order = self._order()
        lesson.loss[:], lesson.margin[:], lesson.mistakes[:] = 0, np.inf, 0
        if plan.order == "batch":
            lesson.to_w, lesson.to_b = np.zeros_like(planes.w), np.zeros_like(planes.b)
        logged = plan.average == "voted"
        stopped = False
        with np.errstate(over="ignore", invalid="ignore"):
            for start, stop in ranges(0, self.n, _first_turns(rows, len(planes.w)), _LOGGED_TURNS if logged else None):
                if logged:
                    size = stop - start
                    lesson.log_turn, lesson.log_row = np.empty(size, np.int64), np.empty(size, np.int64)
                    lesson.log_step = np.empty(size)
                yield from self._learn(start, stop)
                if logged:
                    found = slice(0, lesson.n_logged)
                    self.units[0].log.append((lesson.log_turn[found], lesson.log_row[found], lesson.log_step[found]))
                if self.progress.advance((stop - start) * len(self.units), sum(lesson.mistakes.tolist())):
                    stopped = True
                    break
                yield
            if plan.order == "batch" and not stopped:
                planes.w += lesson.to_w
                planes.b += lesson.to_b
            if lesson.square is not None and not math.isfinite(lesson.square[0]) and rows.refuse is not None:
                rows.refuse()
            lesson.square = None
            # a sum is finite only if every term is
            total = float(planes.w.sum()) + sum(planes.b.tolist()) + sum(lesson.loss.tolist())
            if not math.isfinite(total) and not (
                np.isfinite(planes.w).all() and np.isfinite(planes.b).all() and not np.isnan(lesson.loss).any()
            ):
                raise ValueError(
                    f"The weights overflowed in sweep {n_iter}; X of a smaller scale, or a smaller eta0, is wanted"
                )
        return stopped

    def _learn(self, start, stop):
        rows, planes, lesson = self.rows, self.planes, self.lesson
        if self.plan.penalty is not None:
            kernels.sweep_shrinking(rows.data, rows, planes, lesson, self.penalty, start, stop)
            return
        while start < stop:
            start = kernels.sweep(rows.data, rows, planes, lesson, start, stop)
            if start < stop:
                self._scatter()
                yield from self._consider(self.units[0])

    def _consider(self, unit):
        """Put the unit's weights into its pocket if they predict more rows rightly than those that are there."""
        wrong, _ = yield from count_wrong(self.rows, self.turns, self.plan, unit, unit.w, unit.b, unit.best, True)
        if wrong < unit.best:
            unit.best, unit.pocket = wrong, (unit.w, unit.b)

    def _order(self):
        turns, order = self.turns, self.plan.order
        if order in ("cyclic", "batch"):
            return turns
        drawn = self.rng.permutation(self.n) if order == "shuffled" else self.rng.integers(self.n, size=self.n)
        return drawn if turns is None else turns[drawn]


def make_units(plan, w, b, weight):
    """The units with these first weights and factors of the classes."""
    n = len(w)
    if n == 1:
        return [Unit(np.ones(1, np.intc), w, b, weight[1:], weight[:1])]
    positive = np.arange(n, dtype=np.intc)
    if plan.joint:
        return [Unit(positive, w, b, weight, weight)]
    one = np.ones(1)
    return [Unit(positive[k : k + 1], w[k : k + 1], b[k : k + 1], weight[k : k + 1], one) for k in range(n)]


def share_out(units, name, array):
    """Give the units their planes of an array."""
    for unit, part in zip(units, np.split(array, len(units))):
        setattr(unit, name, part)


def hold_out(codes, turns, fraction, seed):
    """(rows to train on, rows to hold out): a share of each class, but never all of it."""
    rows = np.arange(len(codes)) if turns is None else turns
    deck = np.random.default_rng([seed, 2]).permutation(rows)
    held_out = []
    for k in np.unique(codes[rows]):
        members = deck[codes[deck] == k]
        held_out.append(members[: min(round(fraction * len(members)), len(members) - 1)])
    held_out = np.sort(np.concatenate(held_out))
    if not len(held_out):
        raise ValueError(
            f"validation_fraction is {fraction}, which holds out none of {len(rows)} rows; a larger one is wanted"
        )
    return np.setdiff1d(rows, held_out, assume_unique=True), held_out


def between_centroids(rows, turns, n_planes):
    """w = p - n, b = (|n|^2 - |p|^2) / 2 of each class, p its mean and n that of the others, rows by their weights."""
    n_classes = max(2, n_planes)
    total, count = np.zeros((n_classes, rows.d)), np.zeros(n_classes)
    weight = np.ones(len(rows.codes)) if rows.cost is None else rows.cost
    for start, stop in ranges(0, len(rows.codes), 1024):
        code, part = rows.codes[start:stop], weight[start:stop]
        count += np.bincount(code, part, n_classes)
        share = np.where(code == np.arange(n_classes)[:, None], part, 0)
        if rows.indptr is None:
            total += share @ rows.data[start * rows.d : stop * rows.d].reshape(-1, rows.d)
        else:
            entries = slice(rows.indptr[start], rows.indptr[stop])
            lengths = np.diff(rows.indptr[start : stop + 1])
            for k in range(n_classes):
                values = rows.data[entries] * np.repeat(share[k], lengths)
                total[k] += np.bincount(rows.indices[entries], values, rows.d)
    positive = slice(1, None) if n_planes == 1 else slice(None)
    p = total[positive] / count[positive, None]
    n = (total.sum(axis=0) - total[positive]) / (count.sum() - count[positive, None])
    return p - n, ((n * n).sum(axis=1) - (p * p).sum(axis=1)) / 2


def planes_kept(unit, plan):
    """The planes that a unit's training ends with."""
    if plan.average == "averaged":
        t = max(unit.t, 1)
        return (t * unit.w - unit.lag_w) / t, (t * unit.b - unit.lag_b) / t
    if plan.average == "pocket":
        return unit.pocket
    return unit.w * unit.scale[:, None], unit.b


def least_margin(rows, turns, plan, unit, w, b):
    """The least y f of all rows."""
    judging = count_wrong(rows, turns, plan, unit, np.ascontiguousarray(w), np.ascontiguousarray(b))
    while True:
        try:
            next(judging)
        except StopIteration as end:
            return end.value[1]


def voters(rows, plan, units, before):
    """All planes of the training and how many turns each met, class after class, behind those of `before`."""
    planes, intercepts, turns = [], [], []
    earlier = [np.empty(0, np.int64)] * len(units) if before is None else first_turns(before)
    for k, unit in enumerate(units):
        turn, row, step = map(np.concatenate, zip(*unit.log))
        signed = np.where(rows.codes[row] == unit.positive[0], step, -step)[:, None]
        if rows.indptr is None:
            x = rows.data.reshape(-1, rows.d)[row]
        else:
            x = np.asarray(Csr(rows.indptr, rows.indices, rows.data, rows.d)[row])
        if before is not None:
            own = slice(before["voter_starts_"][k], before["voter_starts_"][k + 1])
            planes.append(before["voters_"][own])
            intercepts.append(before["voter_intercepts_"][own])
        planes.append(np.cumsum(np.concatenate([unit.first_w, signed * x]), axis=0))
        intercepts.append(np.cumsum(np.concatenate([unit.first_b, signed[:, 0] * plan.intercept])))
        turns.append(np.concatenate([earlier[k], [unit.first_t], turn]))
    found = {"voters_": np.concatenate(planes), "voter_intercepts_": np.concatenate(intercepts)}
    return found | votes_until(turns, [unit.t for unit in units])
