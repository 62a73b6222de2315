"""The soft-margin plane by dual coordinate descent, row after row (Hsieh and others 2008): for rows of many columns.

Rows at a bound that are far beyond it are left out until all others are optimal. An intercept that is not penalised
comes from proximal steps: each is a problem whose intercept is penalised for its distance from the last.
"""

import numpy as np

from .._threads import ranges
from ..linear_model.scores import _arrays
from .soft_margin import kernels

# Of `kernels.descend`'s state.
_OFFSET, _HIGH, _LOW, _MOST, _LEAST = 1, 2, 3, 4, 5
# Rows of a first range.
_FIRST_ROWS = 256


class Descent:
    """A solver with its counts; parameters as those of `Newton`, with `rng` for the order of the rows."""

    def __init__(self, tol, rng, max_iter, advance):
        self.tol, self.rng, self.max_iter, self.advance = tol, rng, max_iter, advance
        self.n_iter, self.stopped = 0, False

    def solve(self, problem, start=None):
        """A generator that pauses within each sweep and returns the proof of its solution."""
        alpha = np.zeros(problem.n) if start is None else np.minimum(start.alpha, problem.most)
        b = 0.0 if start is None else start.b
        tol = 0.5 * self.tol
        enough = 1.0 if problem.free else tol  # for a proximal step, whose plane need be no nearer than it is long
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
        """(plane, alpha) with the intercept penalised for its distance from b."""
        arrays = _arrays(problem.X)
        kernel = kernels.descend if len(arrays) == 1 else kernels.descend_sparse
        alpha = alpha.copy()
        w = problem.combine(alpha * problem.y)
        rows = np.flatnonzero(problem.most)  # one that costs nothing has no step
        order = rows.copy()
        state = np.array([problem.bias, b, np.inf, -np.inf, 0, 0])
        shared = (problem.y, alpha, problem.most, problem.ridge, problem.squares, w)
        while True:
            self.rng.shuffle(order)
            kept = np.empty(len(order), np.int8)
            state[_MOST], state[_LEAST] = 0, 0
            for start, stop in ranges(0, len(order), _FIRST_ROWS):
                kernel(*arrays, order, start, stop, *shared, kept, state)
                yield
            self.n_iter += 1
            gap = state[_MOST] - state[_LEAST]
            self.stopped = self.advance(float, gap) or self.n_iter >= self.max_iter
            if gap <= tol and len(order) == len(rows) and kept.all():
                return w, alpha
            if self.stopped:
                return w, alpha
            order = order[kept.astype(bool)]
            state[_HIGH], state[_LOW] = state[_MOST] or np.inf, state[_LEAST] or -np.inf
            if gap <= tol or len(order) == 0:
                order = rows.copy()
                state[_HIGH], state[_LOW] = np.inf, -np.inf
