"""The soft-margin hyperplane by dual coordinate descent (Hsieh and others 2008), for rows of many columns.

An epoch takes a step on the alpha of each row. A row whose alpha is at a bound, with a gradient that holds alpha there,
is left out of later epochs until all others are optimal. An intercept without penalty is found by proximal steps: each
step penalises the distance of the intercept from its value before the step.
"""

import numpy as np

from .._threads import ranges
from ..linear_model.scores import _arrays
from .soft_margin import kernels

# The number of rows in the first call of the compiled epoch, before any call was timed.
_FIRST_ROWS = 256


class Epochs:
    """The state of one descent, epoch after epoch; compiled code reads it as `descent_t` (`_soft_margin.pyx`).

    Attributes
    ----------
    y, most, ridge, square : ndarray of shape (n,), float64
        The arrays of the `Problem`; only read.
    bias, offset : float
        The value of the bias column, and the part of the intercept that is not in its weight; only read.
    alpha : ndarray of shape (n,), float64
        Changed by the kernel.
    w : ndarray of shape (d + 1,), float64
        sum_i alpha_i y_i x_i, with the bias column; changed by the kernel.
    order : ndarray, int64
        The rows of the epoch in their order, shuffled by `begin`.
    kept : ndarray, int8
        For each row in `order`, whether the next epoch visits it; written by the kernel.
    high, low : float
        The gradients beyond which a row at a bound is left out; set by `leave_out` and `take_all`.
    largest, least : float
        The largest and the smallest projected gradient of the epoch; set to 0 by `begin`, changed by the kernel.
    """

    __slots__ = (
        *("y", "most", "ridge", "square", "bias", "offset"),
        *("alpha", "w", "order", "kept", "high", "low", "largest", "least"),
    )

    def __init__(self, problem, alpha, offset):
        self.y, self.most, self.ridge, self.square = problem.y, problem.most, problem.ridge, problem.squares
        self.bias, self.offset, self.alpha = float(problem.bias), float(offset), alpha.copy()
        self.w = problem.combine(self.alpha * self.y)
        self.take_all()

    def take_all(self):
        """Let the next epoch visit all rows with a cost above 0."""
        self.order = np.flatnonzero(self.most)
        self.high, self.low = np.inf, -np.inf

    def begin(self, rng):
        """Begin an epoch: shuffle the rows, and reset the extreme gradients."""
        rng.shuffle(self.order)
        self.kept = np.empty(len(self.order), np.int8)
        self.largest = self.least = 0.0

    def leave_out(self):
        """Let the next epoch visit the rows that this one kept; this epoch's extreme gradients become the limits."""
        self.order = self.order[self.kept.astype(bool)]
        self.high, self.low = self.largest or np.inf, self.least or -np.inf


class Descent:
    """A solver by coordinate descent, with its count of epochs.

    Parameters
    ----------
    tol, max_iter, advance
        As for `ProximalNewton`; an epoch counts as a step.
    rng : numpy.random.Generator
        Draws the order of the rows in each epoch.
    """

    def __init__(self, tol, rng, max_iter, advance):
        self.tol, self.rng, self.max_iter, self.advance = tol, rng, max_iter, advance
        self.n_iter, self.stopped = 0, False

    def solve(self, problem, start=None):
        """A generator that pauses several times in each epoch and returns the `Proof` of its solution."""
        alpha = np.zeros(problem.n) if start is None else np.minimum(start.alpha, problem.most)
        b = 0.0 if start is None else start.b
        tol = 0.5 * self.tol
        enough = 1.0 if problem.free else tol  # the violation at which a proximal step ends
        while True:
            w, alpha = yield from self._descend(problem, alpha, b, max(tol, enough))
            if problem.free:
                shift = problem.bias * w[-1]
                b, w[-1] = b + shift, 0.0
                done = abs(shift) <= 0.1 * self.tol and enough <= tol
                enough = min(0.5 * enough, 0.1 * abs(shift))
                if not self.stopped and not done:
                    continue
            proof = problem.proof(alpha, w, b, self.tol)
            if self.stopped or proof.violation <= self.tol or tol < 1e-3 * self.tol:
                return proof
            tol /= 4

    def _descend(self, problem, alpha, b, tol):
        """The solution (w, alpha) of the problem in which the distance of the intercept from b is penalised."""
        arrays = _arrays(problem.X)
        kernel = kernels.descend if len(arrays) == 1 else kernels.descend_sparse
        epochs = Epochs(problem, alpha, b)
        n_rows = len(epochs.order)
        while True:
            epochs.begin(self.rng)
            for start, stop in ranges(0, len(epochs.order), _FIRST_ROWS):
                kernel(*arrays, epochs, start, stop)
                yield
            self.n_iter += 1
            gap = epochs.largest - epochs.least
            self.stopped = self.advance(float, gap) or self.n_iter >= self.max_iter
            if self.stopped or (gap <= tol and len(epochs.order) == n_rows and epochs.kept.all()):
                return epochs.w, epochs.alpha
            epochs.leave_out()
            if gap <= tol or len(epochs.order) == 0:
                epochs.take_all()
