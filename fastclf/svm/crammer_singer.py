"""The hyperplanes of all classes at once (Crammer, Singer 2001), by dual coordinate descent: `_crammer_singer.pyx`."""

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import ranges
from ..linear_model.scores import linear_scores

kernels = _simd.load("svm._crammer_singer")

# The number of multiplications in one call of compiled code, which then takes some milliseconds, and of dual variables
# that are copied at a time.
_CALL_WORK, _CALL_NUMBERS = 1 << 22, 1 << 18

# The last goal of a sweep over the rows, as a share of `tol`: in this sweep no row's violation exceeds the goal. It
# is below `tol` because each step changes the violations of rows visited before.
_GOAL = 0.25

# Rows whose violation is below this share of the goal are left out until all other rows have met the goal, which is
# _FIRST_GOAL at first, and a tenth of it as soon as all rows have met it. A row is not left out if its dual variables
# are not all at their limits, as each step on another row moves their optimum.
_LEFT_OUT, _FIRST_GOAL = 0.5, 1.0

# Few rows are swept several times, until there are about so many visits, before it is looked which are left out.
_VISITS = 1 << 10


class Machine:
    """The state of a descent. Compiled code reads it as `machine_t` (`_crammer_singer.pyx`), which describes it.

    Parameters
    ----------
    X : ndarray or Csr
    codes : ndarray of shape (n,)
        The class of each row; any class for a row of cost 0.
    cost : ndarray of shape (n,)
    squares : ndarray of shape (n,)
        Squared lengths of the rows, with the bias column.
    n_classes : int
    bias : float
        The value of the bias column, or 0 for no intercept.
    """

    __slots__ = ("X", "alpha", "bias", "codes", "cost", "n_classes", "scratch", "squares", "violation", "w")

    def __init__(self, X, codes, cost, squares, n_classes, bias):
        self.X, self.codes, self.cost, self.squares = X, codes.astype(np.int64), cost, squares
        self.n_classes, self.bias = n_classes, float(bias)
        n, d = X.shape
        ld = -(-n_classes // kernels.LANES) * kernels.LANES
        self.w, self.alpha = np.zeros((d + 1, ld)), np.zeros((n, ld))
        self.violation, self.scratch = np.zeros(n), np.zeros((2, ld))
        # a row of zeros has the same score for each class, so that its solution is known
        nothing = np.flatnonzero((squares == 0) & (cost > 0))
        self.alpha[nothing, :n_classes] = -cost[nothing, None] / (n_classes - 1)
        self.alpha[nothing, self.codes[nothing]] = cost[nothing]

    def sweep(self, order):
        """A generator: take a step on each row in the list `order`."""
        sparse = isinstance(self.X, Csr)
        rows, kernel = ((self.X, self.X.data), kernels.sweep_sparse) if sparse else ((self.X,), kernels.sweep)
        work = max(1, 2 * self.alpha.shape[1] * self.X.size // len(self.codes))
        for start, stop in ranges(0, len(order), max(1, _CALL_WORK // work)):
            kernel(*rows, self, order, start, stop)
            yield

    def may_move(self, order):
        """Whether rows in the list `order` have dual variables that are not all at their limits."""
        alpha = self.alpha[order]
        own = alpha[np.arange(len(order)), self.codes[order]]
        # at the limits all variables of a row are 0, or that of its class is the row's cost and one other its negative
        return (own > 0) & ((own < self.cost[order]) | (np.count_nonzero(alpha, axis=1) > 2))

    def planes(self):
        """The hyperplanes of the classes: (weights (K, d), intercepts (K,))."""
        K, d = self.n_classes, self.X.shape[1]
        return np.ascontiguousarray(self.w[:d, :K].T), self.bias * self.w[d, :K]

    def proof(self, threads):
        """(violation, primal objective, dual objective), computed from alpha and w alone."""
        K, there = self.n_classes, self.cost > 0
        scores = linear_scores(self.X, *self.planes(), threads)
        rows = np.arange(len(scores))
        loss = scores - scores[rows, self.codes][:, None] + 1
        loss[rows, self.codes] = 0
        norm = 0.5 * float(np.sum(self.w**2))
        alpha = self.alpha[:, :K]
        most = np.zeros_like(loss)
        most[rows, self.codes] = self.cost
        free = np.where(alpha < most, loss, np.inf).min(axis=1)
        violation = np.where(there & (self.squares > 0) & (free < np.inf), loss.max(axis=1) - free, 0.0)
        others = alpha.sum(axis=1) - alpha[rows, self.codes]
        primal = norm + float(np.sum(self.cost * loss.max(axis=1)))
        return float(violation.max()), primal, -norm - float(others.sum())


def solve(machine, tol, max_iter, rng, advance):
    """A generator that makes the hyperplanes optimal to `tol`, and returns the number of sweeps.

    As many visits of rows as there are rows count as one sweep.
    After some sweeps advance(call) is called; call() returns the largest violation in the last of them. If advance
    returns True, the descent ends.
    """
    tol *= _GOAL
    every = np.flatnonzero((machine.cost > 0) & (machine.squares > 0))
    order, goal = every.copy(), max(tol, _FIRST_GOAL)
    n_visits, most_visits = 0, max_iter * len(every)
    while n_visits < most_visits:
        n_sweeps = max(1, min(_VISITS, most_visits - n_visits) // len(order))
        turns = rng.permuted(np.tile(order, (n_sweeps, 1)), axis=1).ravel()
        yield from machine.sweep(turns)
        n_visits += len(turns)
        met = machine.violation[order]
        if advance(met.max):
            break
        if met.max() > goal:
            kept = met > _LEFT_OUT * goal
            rest = np.flatnonzero(~kept)
            for start, stop in ranges(0, len(rest), max(1, _CALL_NUMBERS // machine.alpha.shape[1])):
                some = rest[start:stop]
                kept[some] = machine.may_move(order[some])
                yield
            order = order[kept]
        elif len(order) < len(every):
            order = every.copy()
        elif goal > tol:
            goal = max(goal / 10, tol)
        else:
            break
    return min(-(-n_visits // max(1, len(every))), max_iter)
