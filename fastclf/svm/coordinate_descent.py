"""The soft-margin hyperplane by dual coordinate descent (Hsieh and others 2008), for rows of many columns.

An epoch takes a step on the alpha of each row. A row whose alpha is at a bound, with a gradient that holds alpha there,
is left out of later epochs until all others are optimal. An intercept without penalty is found by proximal steps: each
step penalises the distance of the intercept from its value before the step.
"""

import numpy as np

from .._aligned import aligned
from .._csr import Csr
from .._threads import ranges
from ..linear_model.epochs import LEARNERS
from ..linear_model.scores import _arrays
from .soft_margin import kernels

# _FIRST_ENTRIES: the number of entries of the rows that the first call of compiled code visits, before any call was
# timed.
# _MOST_VISITS: the most rows that a call visits.
_FIRST_ENTRIES, _MOST_VISITS = 1 << 16, 1 << 30


class Visits:
    """The order in which epochs visit rows; compiled code reads and changes it as `visits_t` (`_soft_margin.pyx`).

    Attributes
    ----------
    order : ndarray, int64
        The rows with a cost above 0, those first that the epoch visits.
    n_active, at : int
        The number of rows that the epoch visits, and the number of those already visited.
    seed : int
        The state of the random numbers, which decide the order of the visits.
    """

    __slots__ = ("at", "n_active", "order", "seed")

    def __init__(self, problem, rng):
        self.order = np.flatnonzero(problem.most)
        self.n_active, self.at, self.seed = len(self.order), 0, int(rng.integers(1, 1 << 63))


class Epochs(Visits):
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
        *("y", "most", "ridge", "square", "bias", "offset", "tol", "alpha", "w"),
        *("high", "low", "largest", "least", "gap", "done"),
    )

    def __init__(self, problem, alpha, offset, tol, rng):
        super().__init__(problem, rng)
        self.y, self.most, self.ridge, self.square = problem.y, problem.most, problem.ridge, problem.squares
        self.bias, self.offset, self.tol, self.alpha = float(problem.bias), float(offset), tol, alpha.copy()
        self.w = problem.combine(self.alpha * self.y) if alpha.any() else np.zeros(problem.d + 1)
        self.high, self.low = np.inf, -np.inf
        self.largest, self.least, self.gap, self.done = 0.0, 0.0, 0.0, not len(self.order)


class SideBySide(Visits):
    """The state of one descent for up to LEARNERS hyperplanes, each of a class against the rest, on sparse rows.

    Compiled code reads and changes it as `lanes_t` (`_soft_margin.pyx`). An entry of a row then reads one cache line of
    weights for all hyperplanes. A row is left out once it may be left out for each of them.

    Attributes
    ----------
    n_lanes : int
        The number of hyperplanes, each of which has an index of the second axis of `alpha` and `w`.
    lane : ndarray of shape (n,), int32
        The index of the hyperplane for which the label of a row is +1; LEARNERS if there is none.
    ridge, own_ridge : ndarray of shape (n,), float64
        The `Problem.ridge` of each row where its label is -1, and where it is +1.
    square : ndarray of shape (n,), float64
    bias, tol : float
        As in `Epochs`.
    alpha : ndarray of shape (n, LEARNERS), float64
    w : ndarray of shape (d + 1, LEARNERS), float64
    bounds : ndarray of shape (4, LEARNERS), float64
        In each lane a constant that keeps unused lanes at 0, the gradient beyond which a row is left out, and the
        largest violations by a positive and by a negative gradient in the epoch so far.
    gap : float
        The largest violation of all hyperplanes in the last epoch.
    done : bool
        Whether the last epoch has ended the descent.
    """

    __slots__ = (
        *("n_lanes", "lane", "ridge", "own_ridge", "square", "bias", "tol", "alpha", "w", "bounds", "gap", "done"),
    )

    def __init__(self, problems, alphas, tol, rng):
        first, n = problems[0], problems[0].n
        super().__init__(first, rng)
        self.n_lanes, self.square, self.bias, self.tol = len(problems), first.squares, float(first.bias), tol
        self.lane, self.own_ridge = np.full(n, LEARNERS, np.intc), np.zeros(n)
        self.alpha, self.w = aligned((n, LEARNERS), np.float64), aligned((first.d + 1, LEARNERS), np.float64)
        self.alpha[:], self.w[:] = 0, 0
        # a row has the label +1 in one lane at most, so that it has the label -1 in one of the first two
        self.ridge = np.where(first.y < 0, first.ridge, problems[1].ridge)
        for k, (problem, alpha) in enumerate(zip(problems, alphas)):
            own = problem.y > 0
            self.lane[own], self.own_ridge[own] = k, problem.ridge[own]
            if alpha.any():
                self.alpha[:, k], self.w[:, k] = alpha, problem.combine(alpha * problem.y)
        there = np.arange(LEARNERS) < self.n_lanes
        self.bounds = np.zeros((4, LEARNERS))
        self.bounds[0], self.bounds[1] = np.where(there, -1, 1), np.where(there, np.inf, -np.inf)
        self.gap, self.done = 0.0, not len(self.order)


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

    def solve_each(self, problems, starts):
        """A generator that returns the `Proof` of each of up to LEARNERS problems, which differ in their classes alone.

        The rows are sparse, the loss is the squared hinge, the intercept has a penalty, and every row has a cost.
        """
        alphas = [np.zeros(problem.n) if start is None else start.alpha for problem, start in zip(problems, starts)]
        tol = 0.5 * self.tol
        while True:
            epochs = SideBySide(problems, alphas, tol, self.rng)
            yield from self._run(kernels.descend_side_by_side, problems[0], epochs)
            alphas = [np.ascontiguousarray(epochs.alpha[:, k]) for k in range(len(problems))]
            proofs = []
            for k, problem in enumerate(problems):
                proofs.append(problem.proof(alphas[k], np.ascontiguousarray(epochs.w[:, k]), 0.0, self.tol))
                yield
            worst = max(proof.violation for proof in proofs)
            if self.stopped or worst <= self.tol or tol < 1e-3 * self.tol:
                return proofs
            tol /= 4

    def _descend(self, problem, alpha, b, tol):
        """A proximal step: the solution (w, alpha) if the distance of the intercept from b is penalised."""
        epochs = Epochs(problem, alpha, b, tol, self.rng)
        yield from self._run(kernels.descend_sparse if isinstance(problem.X, Csr) else kernels.descend, problem, epochs)
        return epochs.w, epochs.alpha

    def _run(self, kernel, problem, epochs):
        """A generator: run epochs until they are done, or the descent must stop."""
        arrays = _arrays(problem.X)
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
