"""The soft-margin hyperplane by dual coordinate descent (Hsieh and others 2008), for rows of many columns.

An epoch takes a step on the alpha of each row. A row whose alpha is at a bound, with a gradient that holds alpha there,
is left out of later epochs until all others are optimal. An intercept without penalty is found by proximal steps: each
step penalises the distance of the intercept from its value before the step.
"""

import numpy as np

from .._threads import ranges
from ..linear_model.scores import _arrays
from .soft_margin import kernels

# _FIRST_ENTRIES: the number of entries of the rows that the first call of compiled code visits, before any call was
# timed.
# _MOST_VISITS: the most rows that a call visits.
_FIRST_ENTRIES, _MOST_VISITS = 1 << 16, 1 << 30


class Epochs:
    """The state of one descent, epoch after epoch; compiled code reads and changes it as `descent_t`
    (`_soft_margin.pyx`).

    Attributes
    ----------
    y, most, ridge, square : ndarray of shape (n,), float64
        The arrays of the `Problem`; only read.
    bias, offset, tol : float
        The value of the bias column, the part of the intercept that is not in its weight, and the violation at which
        the descent ends; only read.
    alpha : ndarray of shape (n,), float64
    w : ndarray of shape (d + 1,), float64
        sum_i alpha_i y_i x_i, with the bias column.
    order : ndarray, int64
        The rows with a cost above 0, those first that the epoch visits.
    n_active, n_begun, at : int
        The number of rows that the epoch visits, this number at its start, and the number of those already visited.
    seed : int
        The state of the random numbers, which decide the order of the visits.
    high, low : float
        The gradients beyond which a row at a bound is left out.
    largest, least : float
        The largest and the smallest projected gradient of the epoch so far.
    gap : float
        largest - least of the last epoch.
    done : bool
        Whether the last epoch has ended the descent.
    """

    __slots__ = (
        *("y", "most", "ridge", "square", "bias", "offset", "tol", "alpha", "w", "order", "n_active", "n_begun", "at"),
        *("seed", "high", "low", "largest", "least", "gap", "done"),
    )

    def __init__(self, problem, alpha, offset, tol, rng):
        self.y, self.most, self.ridge, self.square = problem.y, problem.most, problem.ridge, problem.squares
        self.bias, self.offset, self.tol, self.alpha = float(problem.bias), float(offset), tol, alpha.copy()
        self.w = problem.combine(self.alpha * self.y) if alpha.any() else np.zeros(problem.d + 1)
        self.order = np.flatnonzero(self.most)
        self.n_active = self.n_begun = len(self.order)
        self.seed = int(rng.integers(1, 1 << 63))
        self.high, self.low = np.inf, -np.inf
        self.at, self.largest, self.least, self.gap, self.done = 0, 0.0, 0.0, 0.0, not len(self.order)


class Descent:
    """A solver by coordinate descent, with its count of epochs.

    Parameters
    ----------
    tol, max_iter, advance
        As for `ProximalNewton`; an epoch counts as a step.
    rng : numpy.random.Generator
        Seeds the order of the rows in each epoch.
    watched : bool
        Whether `advance` must be called after each epoch. Otherwise it is called after several epochs.
    most_visits : int or None
        The number of visits of rows after which the descent ends; None: no limit.
    """

    def __init__(self, tol, rng, max_iter, advance, watched, most_visits=None):
        self.tol, self.rng, self.max_iter, self.advance, self.watched = tol, rng, max_iter, advance, watched
        self.visits_left = 1 << 62 if most_visits is None else most_visits
        self.n_iter, self.stopped = 0, False

    def solve(self, problem, start=None):
        """A generator that pauses from time to time and returns the `Proof` of its solution."""
        alpha = np.zeros(problem.n) if start is None else np.minimum(start.alpha, problem.most)
        b = 0.0 if start is None else start.b
        tol = 0.5 * self.tol
        # the violation of the optimality conditions at which a proximal step ends
        enough = 1.0 if problem.free else tol
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
        """A proximal step: the solution (w, alpha) if the distance of the intercept from b is penalised."""
        arrays = _arrays(problem.X)
        kernel = kernels.descend if len(arrays) == 1 else kernels.descend_sparse
        epochs = Epochs(problem, alpha, b, tol, self.rng)
        for start, stop in ranges(0, 1 << 62, 1 + _FIRST_ENTRIES // problem.work, _MOST_VISITS):
            if epochs.done or self.stopped:
                break
            # a call has no visits beyond the end of an epoch if that end must be reported
            visits = min(stop - start, self.visits_left, epochs.n_active - epochs.at if self.watched else _MOST_VISITS)
            n_epochs = kernel(*arrays, epochs, visits, self.max_iter - self.n_iter)
            self.n_iter += n_epochs
            self.visits_left -= visits
            called_off = n_epochs > 0 and self.advance(float, epochs.gap)
            self.stopped = called_off or self.n_iter >= self.max_iter or self.visits_left <= 0
            yield
        return epochs.w, epochs.alpha
