"""The hyperplane of an L1 penalty and the squared hinge, by proximal Newton steps.

    min  sum_j edge_j |w_j| + sum_i cost_i max(0, z_i)^2,     z_i = 1 - y_i w x_i

Each step minimises the second-order model of the losses plus the exact penalty, by coordinate descent on the matrix of
second derivatives. The step has the columns with a weight other than 0 and those whose gradient is close to giving them
one. A line search ends it where the objective falls (Yuan, Chang, Hsieh, Lin 2010). Weights that are 0 at the optimum
are exactly 0.
"""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from ..linear_model.elastic_net import follow_signs
from ..linear_model.likelihood import columns_of
from .soft_margin import Problem, Proof

coordinates = _simd.load("linear_model._elastic_net")

# _MOST_COLUMNS: the most columns in a step.
# _FEW_COLUMNS: with at most this number of columns, a step has all of them.
# _NEAR: with more columns, a step has those whose |gradient| is above this; at 1, the factor of |w| in the objective, a
# weight leaves 0.
_MOST_COLUMNS, _FEW_COLUMNS, _NEAR = 1536, 64, 0.8
# Coordinate descent on the quadratic model of a step ends when the norm of the violations of its optimality conditions
# is this share of the norm at the start.
_SHARE = 0.02
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
    """

    def __init__(self, tol, max_iter, advance):
        self.tol, self.max_iter, self.advance = tol, max_iter, advance
        self.n_iter = 0

    def solve(self, problem, start=None):
        """A generator that pauses within and after steps and returns the `Proof` of its solution.

        `start` is the `Proof` of a solution of a similar problem on the same rows.
        """
        edge = np.ones(problem.d + 1)
        if problem.free:
            edge[-1] = 0.0
        point = _point(problem, edge, np.zeros(problem.d + 1) if start is None else start.w)
        yield
        stale, least = 0, np.inf
        while point.violations.max() > self.tol and self.n_iter < self.max_iter and stale < _STALE:
            found = yield from _step(problem, edge, point)
            if found is None:  # the fit ends, because rounding allows no better point
                break
            gains = found.violations.max() < 0.9 * least or found.objective < (1 - _GAIN) * point.objective
            stale, point = 0 if gains else stale + 1, found
            least = min(least, point.violations.max())
            self.n_iter += 1
            if self.advance(point.violations.max):
                break
            yield
        return _proof(problem, edge, point)


def _point(problem, edge, w, z=None):
    z = 1 - problem.y * problem.scores(w) if z is None else z
    gradient = -2 * problem.combine(problem.cost * np.maximum(z, 0) * problem.y)
    return Point(w, z, _objective(problem, edge, w, z), gradient, _violations(w, gradient, edge))


def _objective(problem, edge, w, z):
    return float(np.sum(edge * np.abs(w))) + problem.losses(z)


def _violations(w, gradient, edge):
    return np.where(w == 0, np.maximum(np.abs(gradient) - edge, 0), np.abs(gradient + edge * np.sign(w)))


def _step(problem, edge, point):
    """A generator: take a step of Newton's method; returns the next point, or None if rounding allows no better one."""
    taken = _wanted_columns(edge, point)
    weight = np.where(point.z > 0, 2 * problem.cost, 0.0)
    if len(taken) > 1:
        H = _of_columns(problem, taken[:-1]).products(weight)
    else:  # the step changes only the weight of the bias column
        H = np.array([[problem.bias**2 * weight.sum()]])
    yield
    m = len(H)
    H[np.diag_indices(m)] += _RIDGE * np.trace(H) / m
    goal = _SHARE * float(np.linalg.norm(point.violations[taken]))
    found = yield from _minimum(H, point.gradient[taken], edge[taken], point.w[taken], goal)
    direction = np.zeros_like(point.w)
    direction[taken] = found - point.w[taken]
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


def _minimum(H, g, edge, start, goal):
    """Coordinate descent of g.(u - start) + (u - start)'H(u - start) / 2 + edge.|u|; yields at times, and returns u."""
    u, G, done, tried = start.copy(), g.copy(), 0, 4
    n_sweeps = max(1, _CALL_WORK // len(u) ** 2)
    while coordinates.descend(H, edge, u, G, goal, min(n_sweeps, tried)) > goal and done < _MOST_SWEEPS:
        done += min(n_sweeps, tried)
        yield
        if done >= tried:
            tried = 2 * done
            G = follow_signs(H, edge, start, g, u, G, _BENDS)
    return u


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
