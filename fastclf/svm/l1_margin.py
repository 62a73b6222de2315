"""The hyperplane of an L1 penalty and the squared hinge, by proximal Newton steps.

    min  sum_j edge_j |w_j| + sum_i cost_i max(0, z_i)^2,     z_i = 1 - y_i w x_i

Each step minimises the second-order model of the losses plus the exact penalty by coordinate descent: on the matrix of
second derivatives, for the columns with a weight other than 0 and those whose gradient is close to giving them one, or
on all columns of X, where that takes less time. A line search ends the step where the objective falls (Yuan, Chang,
Hsieh, Lin 2010). Weights that are 0 at the optimum are exactly 0. Where coordinate descent has taken as long as an
interior point method would, that gives the next point, and a step or two more the exact zeros.
"""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import ranges
from ..linear_model.elastic_net import follow_signs, sweeps
from ..linear_model.likelihood import columns_of
from ..linear_model.scores import transposed
from . import l1_interior
from .soft_margin import Problem, Proof

coordinates = _simd.load("linear_model._elastic_net")

# _MOST_COLUMNS: the most columns of a matrix of second derivatives.
# _FEW_COLUMNS: with at most this number of columns, a step has all of them.
# _NEAR: with more columns, a step has those whose |gradient| is above this; at 1, the factor of |w| in the objective, a
# weight leaves 0.
_MOST_COLUMNS, _FEW_COLUMNS, _NEAR = 4096, 64, 0.8
# Coordinate descent on the quadratic model of a step ends when the norm of the violations of its optimality conditions
# is this share of the norm at the start: on the matrix of second derivatives, and on columns.
_SHARE, _SHARE_OF_COLUMNS = 0.02, 0.1
# Second derivatives are computed as a matrix if they cost at most as much as this number of sweeps over columns.
_WORTH_SWEEPS = 60
# The number of multiplications in a nanosecond: in products of dense and of sparse rows, in coordinate descent on the
# matrix of second derivatives, on dense columns and on sparse columns, and at most in linear systems.
_DENSE, _SPARSE, _IN_MATRIX, _IN_COLUMNS, _IN_SPARSE_COLUMNS, _IN_SYSTEMS = 12, 2, 4, 1, 0.5, 24
# In systems of fewer than _LARGE_SYSTEM numbers it is smaller in proportion.
_LARGE_SYSTEM = 2000
# The number of nanoseconds that a visit of a column takes beside its multiplications.
_VISIT = 15
# The interior point method begins when the steps have taken this share of the time that it takes.
_TRIED = 0.5
# After it steps go on for at most this multiple of the time that it takes, or this number of nanoseconds.
_AFTER, _LEAST_AFTER = 10, 1e9
# The interior point method ends at a point without violations above the tolerance, which is asked for after each step
# below this relative gap.
_CLOSE = 1e-6
# _CALL_WORK: the number of multiplications in one call of coordinate descent.
# _MOST_SWEEPS: the most sweeps of coordinate descent in a step.
_CALL_WORK, _MOST_SWEEPS = 1 << 22, 500
# This share of the mean diagonal is added to the diagonal of second derivatives, as columns may be collinear.
_RIDGE = 1e-10
# The most Newton steps with fixed signs, each of which sets a weight to 0, between two runs of coordinate descent.
_BENDS = 8
# _TRIALS: the most lengths that a line search tries.
# _FALL: a length is accepted if the objective falls by this share of the slope times the length.
# _ROUNDING: the relative rounding error of an objective.
_TRIALS, _FALL, _ROUNDING = 40, 1e-3, 1e-14
# _STALE: the fit ends after this number of successive steps without gain.
# _GAIN: the least relative fall of the objective that is a gain.
_STALE, _GAIN = 10, 1e-12


class Point(NamedTuple):
    """A hyperplane with its objective, gradient and violations."""

    w: np.ndarray  # (d + 1,): the weights of d columns, then that of the bias column
    z: np.ndarray
    objective: float
    gradient: np.ndarray  # (d + 1,): the gradient of the losses, without that of the L1 penalty
    violations: np.ndarray  # (d + 1,): for each weight the absolute value of the objective's smallest subgradient


def columns_for(X):
    """The columns of X as arguments (starts, rows, entries) for steps by columns; None if a matrix takes less time."""
    n, d = X.shape
    sparse, length = isinstance(X, Csr), X.size / max(1, n)
    products = X.size * length / 2 / (_SPARSE if sparse else _DENSE)
    if d <= _FEW_COLUMNS or (d <= _MOST_COLUMNS and products + d * d <= _WORTH_SWEEPS * X.size):
        return None
    if sparse:
        turned = transposed(X)
        return turned.indptr, turned.indices, turned.data
    dense = np.empty((d, n))
    for start, stop in ranges(0, d, 1 + _CALL_WORK // n):
        dense[start:stop] = X[:, start:stop].T
    return None, None, dense


class L1Newton:
    """A solver by proximal Newton steps, with its count of steps.

    Parameters
    ----------
    tol : float
        The largest violation that is accepted.
    max_iter : int
        The most steps.
    advance : callable
        As for `proximal_newton.ProximalNewton`.
    columns : tuple or None
        What `columns_for` returns.
    """

    def __init__(self, tol, max_iter, advance, columns):
        self.tol, self.max_iter, self.advance, self.columns = tol, max_iter, advance, columns
        self.n_iter, self.ended = 0, False

    def solve(self, problem, start=None):
        """A generator that pauses within and after steps and returns the `Proof` of its solution.

        `start` is the `Proof` of a solution of a similar problem on the same rows.
        """
        self.problem, self.edge = problem, np.ones(problem.d + 1)
        if problem.free:
            self.edge[-1] = 0.0
        point = _point(problem, self.edge, np.zeros(problem.d + 1) if start is None else start.w)
        # about the number of nanoseconds until the interior point method begins
        inside = l1_interior.cost(problem)
        self.left, by_matrix, found_inside = _TRIED * inside, self.columns is None, False
        yield
        stale, least = 0, np.inf
        while point.violations.max() > self.tol and not self.ended and self.n_iter < self.max_iter and stale < _STALE:
            if self.left <= 0:
                if found_inside:
                    break
                # few weights are not 0 there, so that their matrix takes less time than all columns
                self.left, by_matrix, found_inside = max(_AFTER * inside, _LEAST_AFTER), True, True
                point = yield from self._by_interior(point)
                continue
            self.spent = 0.0
            found = yield from self._by_matrix(point) if by_matrix else self._by_columns(point)
            if found is None:  # the fit ends, because rounding allows no better point
                break
            self.left -= self.spent
            gains = found.violations.max() < 0.9 * least or found.objective < (1 - _GAIN) * point.objective
            stale, point = 0 if gains else stale + 1, found
            least = min(least, point.violations.max())
            self.n_iter += 1
            self.ended = self.advance(point.violations.max)
            yield
        return _proof(problem, self.edge, point)

    def _by_interior(self, point):
        """A generator that returns a point of the interior point method, or the given one if that is better."""
        problem, edge, found = self.problem, self.edge, None
        there = problem.cost > 0
        kept = problem if there.all() else problem.take(np.flatnonzero(there))
        search = l1_interior.Interior(kept, edge, transposed(kept.X) if isinstance(kept.X, Csr) else None)
        for gap in search.steps():
            if gap < _CLOSE:
                found = _point(problem, edge, search.rounded())
            self.ended = found is not None and found.violations.max() <= self.tol
            if gap < np.inf and search.n_steps:  # a step was taken
                self.ended |= self.advance(lambda: _point(problem, edge, search.rounded()).violations.max())
            if self.ended or self.n_iter + search.n_steps >= self.max_iter:
                break
            yield
        self.n_iter += search.n_steps
        found = _point(problem, edge, search.rounded()) if found is None else found
        return found if found.objective <= point.objective else point

    def _cost_of_matrix(self, point, m):
        """About the number of nanoseconds that a matrix of second derivatives of shape (m, m) takes."""
        if isinstance(self.problem.X, Csr):
            length = self.problem.X.size / self.problem.n * m / (self.problem.d + 1)
            return self.problem.n * length**2 / 2 / _SPARSE
        return np.count_nonzero(point.z > 0) * m * m / 2 / _DENSE

    def _by_matrix(self, point):
        """A generator: take a step in some columns; returns the next point, or None if rounding allows none."""
        problem, edge, taken = self.problem, self.edge, _wanted_columns(self.edge, point)
        weight = np.where(point.z > 0, 2 * problem.cost, 0.0)
        if len(taken) > 1:
            H = _of_columns(problem, taken[:-1]).products(weight)
        else:  # the step changes only the weight of the bias column
            H = np.array([[problem.bias**2 * weight.sum()]])
        m = len(H)
        self.spent += self._cost_of_matrix(point, m)
        yield
        H[np.diag_indices(m)] += _RIDGE * np.trace(H) / m
        goal = _SHARE * float(np.linalg.norm(point.violations[taken]))
        found = yield from self._minimum(H, point.gradient[taken], edge[taken], point.w[taken], goal)
        direction = np.zeros_like(point.w)
        direction[taken] = found - point.w[taken]
        return _moved(problem, edge, point, direction)

    def _minimum(self, H, g, edge, start, goal):
        """Coordinate descent of g.(u - start) + (u - start)'H(u - start) / 2 + edge.|u|; yields; returns u."""
        u, G, done, tried, m = start.copy(), g.copy(), 0, 4, len(H)
        n_sweeps = max(1, _CALL_WORK // m**2)
        while coordinates.descend(H, edge, u, G, goal, min(n_sweeps, tried)) > goal and done < _MOST_SWEEPS:
            done += min(n_sweeps, tried)
            self.spent += min(n_sweeps, tried) * m * m / _IN_MATRIX
            yield
            if done >= tried:
                tried = 2 * done
                G = follow_signs(H, edge, start, g, u, G, _BENDS)
                self.spent += _BENDS * _cost_of_system(np.count_nonzero(u))
            if self.spent > self.left:
                break
        return u

    def _by_columns(self, point):
        """A generator: take a step in all columns; returns the next point, or None if rounding allows none."""
        problem, n, D = self.problem, self.problem.n, self.problem.d + 1
        weight, none = np.where(point.z > 0, 2 * problem.cost, 0.0), np.zeros(n)
        state = self.columns, weight[None], none[None], np.zeros((1, n)), none
        per_column = max(1, problem.X.size // D)
        first = 1 + _CALL_WORK // per_column
        bend = np.empty((1, D))
        for start, stop in ranges(0, D, first):
            coordinates.bends(*state, bend, start, stop)
            yield
        bend += _RIDGE * bend.max()
        # compiled code takes the bias column as a column of ones
        size = np.ones(D)
        size[-1] = problem.bias or 1.0
        if not problem.bias:
            bend[0, -1] = 0
        origin = (point.w * size)[None]
        quadratic = bend, (point.gradient / size)[None], np.zeros(D), self.edge / size, origin
        starts, speed = self.columns[0], _IN_COLUMNS if self.columns[0] is None else _IN_SPARSE_COLUMNS
        lengths = np.full(D, n) if starts is None else np.append(np.diff(starts), n)
        goal, u = _SHARE_OF_COLUMNS * float(np.linalg.norm(point.violations / size)), origin.copy()
        for visited in sweeps(state, quadratic, u, goal, first):
            self.spent += len(visited) * _VISIT + float(lengths[visited].sum()) / speed
            if self.spent > self.left:
                break
            yield
        return _moved(problem, self.edge, point, (u - origin)[0] / size)


def _point(problem, edge, w, z=None):
    z = 1 - problem.y * problem.scores(w) if z is None else z
    gradient = -2 * problem.combine(problem.cost * np.maximum(z, 0) * problem.y)
    return Point(w, z, _objective(problem, edge, w, z), gradient, _violations(w, gradient, edge))


def _objective(problem, edge, w, z):
    return float(np.sum(edge * np.abs(w))) + problem.losses(z)


def _violations(w, gradient, edge):
    return np.where(w == 0, np.maximum(np.abs(gradient) - edge, 0), np.abs(gradient + edge * np.sign(w)))


def _cost_of_system(m):
    """About the number of nanoseconds in which a system of m linear equations is solved."""
    return m**3 / 3 / (_IN_SYSTEMS * min(1.0, max(m, 16) / _LARGE_SYSTEM))


def _moved(problem, edge, point, direction):
    """The point on a line search along `direction`, or None if rounding allows no better one."""
    slope = float(np.sum(point.gradient * direction + edge * (np.abs(point.w + direction) - np.abs(point.w))))
    change, length = problem.y * problem.scores(direction), 1.0
    for _ in range(_TRIALS if slope < 0 else 0):
        w, z = point.w + length * direction, point.z - length * change
        fall = _objective(problem, edge, w, z) - point.objective
        if fall <= _FALL * length * slope:
            return _point(problem, edge, w)
        # if objectives differ by rounding only, the point with the smaller violation is better
        if fall <= _ROUNDING * abs(point.objective):
            met = _point(problem, edge, w)
            if met.violations.max() < point.violations.max():
                return met
        length /= 2
    return None


def _wanted_columns(edge, point):
    """The numbers of the columns whose weights the next step may change, ascending; the bias column is the last."""
    d = len(edge) - 1
    if d <= _FEW_COLUMNS:
        return np.arange(d + 1)
    used, slope = point.w[:-1] != 0, np.abs(point.gradient[:-1])
    near = used | (slope > _NEAR)
    most = min(_MOST_COLUMNS, max(_FEW_COLUMNS, 2 * int(used.sum()), d // 8))
    # the number of columns in a step is limited: columns with weights other than 0 come first, if these alone are not
    # too many, then the columns that violate the optimality conditions most
    if near.sum() > most:
        rank = point.violations[:-1] + (1e300 * used if used.sum() <= most else 0)
        near &= rank >= np.partition(rank[near], -most)[-most]
    return np.append(np.flatnonzero(near), d)


def _of_columns(problem, columns):
    """A copy of the problem that has only the given columns, with the bias column among them."""
    if len(columns) == problem.d:
        return problem
    X = problem.X
    X = columns_of(X, columns) if isinstance(X, Csr) else np.ascontiguousarray(X[:, columns])
    return Problem(X, problem.y, problem.cost, problem.squares, True, problem.bias, problem.free, problem.threads)


def _proof(problem, edge, point):
    """The `Proof` of a point; alpha is scaled down until it is dual feasible, |sum_i alpha_i y_i x_ij| <= 1."""
    alpha = 2 * problem.cost * np.maximum(point.z, 0)
    if problem.free:
        alpha = problem._balanced(alpha, point.w, 0.0)
    sums = np.abs(problem.combine(alpha * problem.y))
    most = float(sums[:-1].max() if problem.free else sums.max())
    alpha = alpha / max(1.0, most)
    dual = float(alpha.sum() - 0.5 * np.sum(problem.ridge * alpha * alpha))
    violation = float(point.violations.max())
    return Proof(point.w, 0.0, alpha, point.z, point.objective, dual, violation)
