"""Logistic regression with an L1 term, by proximal Newton steps whose direction comes from coordinate descent.

Each step has the columns with a coefficient other than 0 and those whose gradient is close to giving them one. It
minimises the second-order model of the loss plus the exact penalty (Friedman, Hastie, Tibshirani 2010; Yuan, Ho, Lin
2012). All coefficients that are 0 at the optimum are exactly 0.
"""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._threads import aside, ranges
from .likelihood import kernels as likelihood_kernels
from .minimisers import sample_optimum
from .scores import transposed

kernels = _simd.load("linear_model._elastic_net")

# The most parameters whose second derivatives are computed as a matrix.
_MOST_PARAMETERS = 2048
# The number of multiplications in one call of compiled code, which takes about 5 ms.
_CALL_WORK = 1 << 23
# A step changes the columns in use, and each unused column whose |gradient| is above this share of the value at which
# its coefficient leaves 0.
_NEAR = 0.9
# With at most this number of columns, a step changes all of them.
_FEW = 64
# The coordinate descent that finds a step ends when the norm of the violations of optimality is this share of its
# initial value.
_SHARE = 0.05
# The matrix of second derivatives is computed from a sample of the rows, with this number of rows per parameter.
_ROWS_PER_PARAMETER = 16
# _TRIALS: the most step lengths that are tried.
# _ROUNDING: the relative rounding error of the objective.
_TRIALS, _ROUNDING = 40, 1e-13
# _WORTH_SWEEPS: second derivatives are computed as a matrix if they cost at most as much as this number of sweeps.
# _MOST_SWEEPS: the most sweeps of coordinate descent in a step.
_WORTH_SWEEPS, _MOST_SWEEPS = 30, 2000
# After this number of sweeps linear systems give the coefficients that are not 0: if there are at most _FEW_PARAMETERS,
# or the set of zeros has not changed.
_TRUSTED_SWEEPS, _FEW_PARAMETERS = 16, 512
# The most linear systems that are solved one after the other, each of which lets a coefficient become 0.
_MOST_BENDS = 64


class Model(NamedTuple):
    """The second-order model of the objective at theta, in the columns `taken`."""

    problem: object  # the `Likelihood` to be minimised, restricted to the columns of X that the step changes
    taken: np.ndarray  # (p,): the ascending numbers of the p columns of X that the step changes
    # (K, p + 1): the parameters of K score functions: the weights of the p columns that the step changes and, last, the
    # intercept
    theta: np.ndarray
    gradient: np.ndarray  # (K, p + 1): the gradient, at the parameters theta, of the objective without the L1 term
    # (p + 1,): for each column that the step changes, and the intercept, the factor of |theta| in the L1 term
    edge: np.ndarray


def proximal_points(problem, theta, tol, every=1):
    """The points of proximal Newton steps, beginning with the start, computed on every `every`-th panel of rows."""
    theta = sample_optimum(problem, theta, proximal_points) if every == 1 else theta
    point = problem.evaluate(theta, every)
    yield point
    while not (point is None or point.is_optimal(tol)):
        point = _next_point(problem, point, every)
        if point is not None:
            yield point


def _next_point(problem, point, every):
    """The point after a step of the minimisation from `point`, or None if rounding allows no better one."""
    taken = _wanted_columns(problem, point)
    of_taken = np.append(taken, problem.d)
    model = Model(
        problem.of_columns(taken),
        taken,
        np.ascontiguousarray(point.theta[:, of_taken]),
        np.ascontiguousarray(point.gradient[:, of_taken]),
        problem.edge[of_taken],
    )
    tol = _SHARE * point.norm
    found = _by_matrix(model, tol, every) if _is_matrix_faster(model) else _by_columns(model, tol, every)
    direction = np.zeros_like(point.theta)
    direction[:, of_taken] = found - model.theta
    return _move(problem, point, direction, every)


def _wanted_columns(problem, point):
    """The ascending numbers of the columns that a step changes: those in use, and others with a large gradient."""
    d = problem.d
    if d <= _FEW:
        return np.arange(d)
    used = point.theta[:, :-1].any(axis=0)
    slope = np.abs(point.gradient[:, :-1]).max(axis=0) / np.maximum(problem.edge[:-1], 1e-300)
    most = max(_FEW, 2 * np.count_nonzero(used), d // 8)
    near = ~used & (slope > _NEAR)
    if np.count_nonzero(near) > most:
        near &= slope >= np.partition(slope[near], -most)[-most]
    taken = np.flatnonzero(used | near)
    return taken if len(taken) else np.arange(1)


def _is_matrix_faster(model):
    """Whether the matrix of second derivatives costs no more than the sweeps over columns that it saves."""
    problem = model.problem
    n, K, p = len(problem.codes), problem.K, len(model.taken)
    if K * (p + 1) > _MOST_PARAMETERS:
        return False
    length = problem.length
    made = min(n, _ROWS_PER_PARAMETER * K * (p + 1)) * length * length * problem.n_blocks("full") / 2
    if problem.sparse:  # sparse rows cost two more matrix products, which centre the matrix of second derivatives
        made += problem.n_blocks("full") * (p + 1) ** 3 / 2
    # a multiplication in a compiled matrix product takes less time than one in coordinate descent, most of all for
    # dense rows
    speed = 2 if problem.sparse else 12
    return made / speed + (K * p) ** 2 <= _WORTH_SWEEPS * 2 * K * n * length


def _by_matrix(model, tol, every):
    """The minimum of the quadratic model by its matrix of second derivatives; many rows are replaced by a sample."""
    problem, theta = model.problem, model.theta
    wanted = _ROWS_PER_PARAMETER * theta.size
    step = max(every, len(problem.codes) // max(wanted, 1 << 14))
    H = problem.evaluate(theta, step, "full").curvature
    m = len(H)
    H = H + 1e-10 * max(np.trace(H) / m, 1e-300) * np.eye(m)
    edge = np.tile(model.edge, problem.K)
    start = theta.ravel()
    u, G, g = start.copy(), model.gradient.ravel().copy(), model.gradient.ravel()
    n_sweeps, done = min(_TRUSTED_SWEEPS, max(1, _CALL_WORK // m**2)), 0
    zeros = None
    while kernels.descend(H, edge, u, G, tol, n_sweeps) > tol and done < _MOST_SWEEPS:
        done += n_sweeps
        if done >= _TRUSTED_SWEEPS and (m <= _FEW_PARAMETERS or np.array_equal(zeros, u == 0)):
            G = follow_signs(H, edge, start, g, u, G, _MOST_BENDS)
        zeros = u == 0
    return u.reshape(theta.shape)


def follow_signs(H, edge, start, g, u, G, most):
    """Let up to `most` weights become 0 on the way to the minimum of the quadratic model for the signs that are left.

    Changes u; returns the gradient of the model's smooth part at u. It is G before, and g at `start`.
    """
    for _ in range(most):
        met = _along_signs(H, edge, u, G)
        G = g + H @ (u - start)
        if not met:
            break
    return G


def _along_signs(H, edge, u, G):
    """Move u to the minimum of the quadratic model for the signs of u, or to where a weight becomes 0; changes u.

    Weights that are 0 stay 0, and the model falls on the whole way. G is the gradient of the model's smooth part at u.
    Returns whether a weight became 0, so that there may be a better point with the signs that u has now.
    """
    free = np.flatnonzero((u != 0) | (edge == 0))
    matrix, wanted = H[np.ix_(free, free)], -(G + edge * np.sign(u))[free]
    try:
        step = aside(np.linalg.solve, matrix, wanted) if len(free) > 200 else np.linalg.solve(matrix, wanted)
    except np.linalg.LinAlgError:
        return False
    if not np.isfinite(step).all():
        return False
    crosses = (u[free] * (u[free] + step) < 0) & (edge[free] > 0)
    if not crosses.any():
        u[free] += step
        return False
    reach = np.where(crosses, -u[free] / np.where(crosses, step, 1.0), np.inf)
    length = reach.min()
    u[free] = np.where(reach == length, 0.0, u[free] + length * step)
    return True


def _by_columns(model, tol, every):
    """The minimum of the quadratic model by coordinate descent, without the matrix of second derivatives."""
    problem, K, p = model.problem.held(), model.problem.K, len(model.taken)
    columns, mean = _columns(problem)
    n = len(problem.codes)
    share = _probabilities(problem, model.theta)
    weight = np.broadcast_to(1.0, n) if len(problem.weights) == 0 else problem.weights
    if every > 1:  # a weight of 0 leaves out the rows that are not in the sample
        panel = np.arange(n) // likelihood_kernels.PANEL
        weight = np.where(panel % every == 0, weight, 0.0)
    weight = share * weight / (problem.total if every == 1 else problem.sum_of_weights(every) or 1.0)
    if K == 1:
        weight = weight * (1 - share)
    s, row_mean, bend = np.zeros((K, n)), np.zeros(n), np.empty((K, p + 1))
    state = columns, np.ascontiguousarray(weight), share, s, row_mean
    per_column = max(1, n * problem.length // (p + 1))
    first = max(1, _CALL_WORK // per_column)
    for start, stop in ranges(0, bend.size, first):
        kernels.bends(*state, bend, start, stop)
    # the second derivatives of the loss must stay above 0, even if all probabilities are close to 0 or 1
    bend += problem.pull + 1e-10 * max(bend.max(), 1e-300)
    # the gradient for centred columns becomes that for the columns of X, on which coordinate descent works
    g = model.gradient.copy()
    g[:, :-1] += g[:, -1:] * mean
    u = model.theta.copy()
    if not problem.bias:
        bend[:, -1] = 0
    for _ in sweeps(state, (bend, g, problem.pull, model.edge, model.theta), u, tol, first):
        pass
    u[:, -1] += ((u - model.theta)[:, :-1] * mean).sum(axis=1)
    return u


def sweeps(state, quadratic, u, tol, first):
    """A generator: coordinate descent on columns, until the norm of the violations is at most tol; changes u.

    state, quadratic: (columns, weight, share, s, mean) and (bend, g, pull, edge, u0), the arguments of
    `_elastic_net.sweep`. first: the number of coordinates in the first call. Yields the numbers of the coordinates
    visited after each call. Coordinates that stay 0 are left out of the sweeps until all others are at their minimum.
    """
    size = u.shape[1]
    everything = np.arange(u.size, dtype=np.int32).reshape(-1, size)[:, ::-1].ravel()
    order, last = np.ascontiguousarray(everything), None
    for _ in range(_MOST_SWEEPS):
        kept, total = np.empty(len(order), np.uint8), 0.0
        for start, stop in ranges(0, len(order), first):
            total += kernels.sweep(*state, *quadratic, u, order, start, stop, kept)
            yield order[start:stop]
        if total <= tol * tol:
            if len(order) == len(everything):
                break
            # no coordinate with a large violation is left in the short order: the descent may end only after a sweep
            # over all
            order = np.ascontiguousarray(everything)
            continue
        last = np.ascontiguousarray(order[kept.astype(bool)])
        order = last if len(last) else everything


def _columns(problem):
    """The scaled columns of X as arguments (starts, rows, entries) of compiled code, and each scaled column's mean."""
    X, d = problem.X, problem.d
    if not problem.sparse:
        dense = np.empty((d, len(X)))
        size = max(1, _CALL_WORK // max(1, len(X)))
        for start, stop in ranges(0, d, size):
            dense[start:stop] = ((X[:, start:stop] - problem.mean[start:stop]) * problem.factor[start:stop]).T
        return (None, None, dense), np.zeros(d)
    turned = transposed(X, problem.factor)
    return (turned.indptr, turned.indices, turned.data), problem.mean * problem.factor


def _probabilities(problem, theta):
    """The probability of each class for each row, (n_classes, n); for two classes that of class 1, (1, n)."""
    scores = problem.scores(theta)
    if problem.K == 1:
        return np.ascontiguousarray((0.5 * (1 + np.tanh(0.5 * scores))).T)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.ascontiguousarray((scores / scores.sum(axis=1, keepdims=True)).T)


def _move(problem, point, direction, every):
    """A point along `direction` whose objective falls by enough of what the model predicts, or None.

    Near the optimum, differences of the objective are rounding errors; there a smaller violation shows a better point.
    """
    slope = float(np.sum(point.gradient * direction))
    slope += float(np.sum(problem.edge * (np.abs(point.theta + direction) - np.abs(point.theta))))
    if not slope < 0:
        return None
    length = 1.0
    for _ in range(_TRIALS):
        found = problem.evaluate(point.theta + length * direction, every)
        fall = found.objective - point.objective
        if fall <= 1e-4 * length * slope:
            return found
        if fall <= _ROUNDING * abs(point.objective) and found.norm < point.norm:
            return found
        length *= 0.5
    return None
