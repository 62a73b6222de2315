"""The hyperplanes of all classes at once (Crammer, Singer 2001), by dual coordinate descent: `_crammer_singer.pyx`."""

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import ranges
from ..linear_model.scores import linear_scores

kernels = _simd.load("svm._crammer_singer")

# The number of multiplications in one call of compiled code, which then takes some milliseconds.
_CALL_WORK = 1 << 22

# The goal of the last sweep over the rows, as a share of `tol`: in this sweep no row's violation exceeds the goal. It
# is below `tol` because each step changes the violations of rows visited before.
_GOAL = 0.25

# Rows whose violation is below this share of the sweep's goal are left out until all other rows are optimal.
_LEFT_OUT = 0.5


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

    After each sweep advance(call) is called; call() returns the largest violation in that sweep. If advance returns
    True, the descent ends.
    """
    tol *= _GOAL
    every = np.flatnonzero((machine.cost > 0) & (machine.squares > 0))
    order, n_iter = every.copy(), 0
    while len(order) and n_iter < max_iter:
        rng.shuffle(order)
        yield from machine.sweep(order)
        n_iter += 1
        met = machine.violation[order]
        if advance(met.max):
            break
        if met.max() <= tol:
            if len(order) == len(every):
                break
            order = every.copy()
        else:
            order = order[met > _LEFT_OUT * tol]
    return n_iter
