"""Minimisers of a smooth convex function that is evaluated over many rows: Newton, L-BFGS and plain gradient descent.

Each minimiser is a generator of the points that it comes to. It ends at a point that is optimal to `tol`, or where
rounding allows no further step. The caller may stop at any point.
"""

from itertools import islice

import numpy as np

# The number of step lengths that are tried before the function is taken as flat.
_TRIALS = 40
# The error of the objective by rounding, as a share of it.
_ROUNDING = 1e-13
# Second derivatives are taken from this many rows for each parameter, and from _LEAST_ROWS at least.
_ROWS_PER_PARAMETER, _LEAST_ROWS = 64, 1 << 15
# The most columns for which second derivatives that the classes share are factorised.
_SHARED_COLUMNS = 1024
# The number of steps after which shared second derivatives are taken again.
_STEPS_TO_SHARED = 15


def move(evaluate, point, direction):
    """A point along `direction` whose objective falls by Armijo's share of what the gradient promises, or None.

    Near the optimum differences of the objective are rounding; there a flatter slope is the proof of a better point
    (Hager and Zhang 2005).
    """
    slope = float(np.sum(point.gradient * direction))
    if not slope < 0:
        return None
    length = 1.0
    for _ in range(_TRIALS):
        found = evaluate(point.theta + length * direction)
        fall = found.objective - point.objective
        if fall <= 1e-4 * length * slope:
            return found
        at_end = float(np.sum(found.gradient * direction))
        if fall <= _ROUNDING * abs(point.objective) and abs(at_end) < abs(slope):
            return found
        # the next length is the minimum of the parabola through both objectives and the first slope
        bend = fall - length * slope
        guess = -0.5 * slope * length**2 / bend if bend > 0 else 0
        length = min(max(guess, 0.1 * length), 0.5 * length) if np.isfinite(guess) else 0.1 * length
    return None


def factorised(matrix):
    """L^-1 of the Cholesky factor L of a positive semidefinite matrix, whose diagonal is raised until it is regular."""
    size = len(matrix)
    ridge = 1e-10 * max(float(np.trace(matrix)) / size, 1e-300)
    while ridge < np.inf:  # false if the matrix holds NaN
        try:
            return np.linalg.inv(np.linalg.cholesky(matrix + ridge * np.eye(size)))
        except np.linalg.LinAlgError:
            ridge *= 100
    raise FloatingPointError("second derivatives overflowed; X of a smaller scale is wanted")


def _solved(half, gradient):
    """H^-1 gradient, with half = L^-1 of H = L L'."""
    return (half.T @ (half @ gradient.ravel())).reshape(gradient.shape)


def newton(evaluate, point, tol):
    """The points of Newton's method; the first point and those of `evaluate(theta)` have their curvature."""
    while not (point is None or point.is_optimal(tol)):
        point = move(evaluate, point, -_solved(factorised(point.curvature), point.gradient))
        if point is not None:
            yield point


def lbfgs(evaluate, point, tol, precondition, memory=20):
    """The points of limited-memory BFGS (Nocedal 1980).

    precondition(gradient) is the gradient times an approximate inverse of the curvature, whose scale does not matter.
    """
    steps, changes = [], []
    while not (point is None or point.is_optimal(tol)):
        direction = -_two_loops(point.gradient, steps, changes, precondition)
        found = move(evaluate, point, direction)
        if found is None and steps:
            steps, changes = [], []
            continue
        if found is not None:
            step, change = found.theta - point.theta, found.gradient - point.gradient
            if np.sum(step * change) > 0:
                steps, changes = [*steps, step][-memory:], [*changes, change][-memory:]
            yield found
        point = found


def _two_loops(gradient, steps, changes, precondition):
    q = gradient.copy()
    shares = []
    for step, change in zip(reversed(steps), reversed(changes)):
        share = np.vdot(step, q) / np.vdot(step, change)
        shares.append(share)
        q -= share * change
    q = precondition(q)
    if steps:
        # the scale at which the inverse is exact along the last step
        q *= np.vdot(steps[-1], changes[-1]) / np.vdot(changes[-1], precondition(changes[-1]))
    for step, change, share in zip(steps, changes, reversed(shares)):
        q += (share - np.vdot(change, q) / np.vdot(step, change)) * step
    return q


def newton_points(problem, theta, tol):
    """The start and its successors: of few rows by Newton's method, of many by second derivatives of a sample of them.

    The sample's second derivatives precondition L-BFGS over all rows, which reads each row once a step. Where L-BFGS is
    slow, second derivatives are taken anew, from four times as many rows.
    """
    sampled, step = _sample_optimum(problem, theta)
    point = sampled if step == 1 else problem.evaluate(sampled.theta)
    yield point
    while step > 1:
        half = factorised(sampled.curvature)
        for found in lbfgs(problem.evaluate, point, tol, lambda g: _solved(half, g)):  # noqa: B023
            slow = found.norm > 0.5 * point.norm
            point = found
            yield point
            if slow:
                break
        if point.is_optimal(tol):
            return
        step = max(1, step // 4)
        sampled = problem.evaluate(point.theta, step, "full")
        point = sampled if step == 1 else point
    yield from newton(lambda theta: problem.evaluate(theta, 1, "full"), point, tol)


def continued_points(problem, point, tol):
    """The point, which is the optimum of another penalty, and its successors.

    `problem.curvature`, of that other problem, preconditions L-BFGS; where L-BFGS is slow, second derivatives are taken
    anew, from more rows each time.
    """
    yield point
    n, size = len(problem.codes), point.theta.size
    step = max(1, n // max(_LEAST_ROWS, _ROWS_PER_PARAMETER * size))
    while not point.is_optimal(tol):
        half = factorised(problem.curvature)
        slow = False
        for found in lbfgs(problem.evaluate, point, tol, lambda g: _solved(half, g)):  # noqa: B023
            slow = found.norm > 0.5 * point.norm
            point = found
            yield point
            if slow:
                break
        if not slow:
            return
        problem.evaluate(point.theta, step, "full")
        step = max(1, step // 4)


def _sample_optimum(problem, theta):
    """(a point with curvature near the optimum of every step-th panel of rows, step); if step is 1, the start."""
    n, size = len(problem.codes), theta.size
    last = max(1, n // max(_LEAST_ROWS, _ROWS_PER_PARAMETER * size))
    # the larger sample starts at the optimum of a smaller one, unless there is an earlier fit to start from
    steps = [last] if last == 1 or theta.any() else [8 * last, last]
    if any(step * problem.sum_of_weights(step) < 0.5 * problem.total for step in steps):
        steps = [1]
    for step in steps:

        def evaluate(theta, step=step):
            return problem.evaluate(theta, step, "full")

        sampled = start = evaluate(theta)
        if len(steps) == 1:
            break
        # a gradient's error from m rows is about sqrt(size / m)
        for _, sampled in zip(range(20), newton(evaluate, start, 0.1 * np.sqrt(size * step / n))):
            if sampled.margin > 0:  # the sample is separated, and has no optimum
                sampled = start
                break
        theta = sampled.theta
    return sampled, step


def lbfgs_points(problem, theta, tol):
    """The start and its successors by L-BFGS, preconditioned by second derivatives that the classes share.

    The second derivatives are taken at the start and again after some steps, when the rows that matter are known:
    MNIST's digits need 99 steps in place of 157.
    """
    n, D = len(problem.codes), problem.d + 1
    point = problem.evaluate(theta)
    yield point
    if D > _SHARED_COLUMNS or problem.d > n:
        yield from lbfgs(problem.evaluate, point, tol, np.copy)
        return
    sample = max(1, n // max(_LEAST_ROWS, 8 * D))
    for n_steps in (_STEPS_TO_SHARED, None):
        if point.is_optimal(tol):
            return
        half = factorised(problem.evaluate(point.theta, sample, "shared").curvature)
        inverse = half.T @ half
        steps = lbfgs(problem.evaluate, point, tol, lambda g: g @ inverse)  # noqa: B023
        for point in islice(steps, n_steps):
            yield point


def gradient_points(problem, theta, tol, length):
    """The start and its successors by w <- w - length * gradient, on the coefficients of the columns as they are.

    Without a length it is 1 / L, with L the largest second derivative anywhere: that at 0 with two classes, and K / 2
    times that with K, where (diag(p) - pp') <= 1/2 (I - 11'/K) (Boehning 1992).
    """
    if length is None:
        length = 1 / problem.largest_curvature()
    coef, intercept = problem.coefficients(theta)
    point = problem.evaluate(theta)
    yield point
    while not point.is_optimal(tol) and np.isfinite(point.norm):
        plain = problem.plain_gradient(point.gradient)
        coef, intercept = coef - length * plain[:, :-1], intercept - length * plain[:, -1]
        point = problem.evaluate(problem.parameters(coef, intercept))
        yield point
