"""Minimisers of a smooth convex function that is a sum over many rows: Newton, L-BFGS and plain gradient descent.

Each minimiser is a generator of successive points. The last point is optimal to `tol`, or rounding allows no further
step. The caller may stop at any point.
"""

from functools import partial
from itertools import islice

import numpy as np

from .._threads import inner, norm_of
from .inverses import inverse_of, solution_of
from .score_lines import ScoreLine
from .small_steps import Search

# The most step lengths that are tried before the function is considered flat.
_TRIALS = 40
# The relative rounding error of the objective that is minimised.
_ROUNDING = 1e-13
# _LAST_STEPS: the last steps of a limited number are this number of steps of Newton's method.
# _LAST_WORK: they are taken only if the second derivatives by all parameters take at most this number of
# multiplications.
_LAST_STEPS, _LAST_WORK = 8, 1 << 31
# _ROWS_PER_PARAMETER: the number of rows for each parameter in the sample whose optimum is the starting point of a fit.
# _LEAST_ROWS: the least number of rows in this sample.
_ROWS_PER_PARAMETER, _LEAST_ROWS = 64, 1 << 15
# A sample of the rows is used if all rows are at least this number of times as many.
LEAST_STEP = 4
# Second derivatives are factorised only if X has at most this number of columns, and a matrix of the second derivatives
# by all parameters only if there are at most so many parameters.
_MOST_COLUMNS = 1024
# _SURE: truncated Newton's method at first leaves out rows that together have at most this share of the curvature.
# _DOUBTFUL_NUMBERS: the largest number of values in a copy of the rows that are not left out.
_SURE, _DOUBTFUL_NUMBERS = 0.02, 1 << 22
# _CHEAP: the largest number of multiplications in a product of the second derivatives and a direction.
# _MANY_STEPS: the preconditioner is computed again after a step of Newton's method with more than this number of such
# products.
_CHEAP, _MANY_STEPS = 1 << 30, 6
# _CONJUGATE_STEPS: the largest number of steps of conjugate gradients for one search direction.
# _CONJUGATE_SHARE: these steps end when the residual is this share of the gradient.
_CONJUGATE_STEPS, _CONJUGATE_SHARE = 100, 0.15
# From this number of parameters on, L-BFGS computes its direction in a form that reads the stored steps only once.
_MANY_PARAMETERS = 1 << 16
# A step of length 1 is too short if the derivative along it is still this share of the derivative at its start.
_SHORT = 0.2
# The number of steps until L-BFGS computes second derivatives again; the number doubles each time.
_STEPS = 15
# _MOST_STEPS: the most steps until then where steps are compiled and second derivatives take far longer than a step.
# _INVERSE: the time of the inverse of a matrix of D columns, in multiplications over D^3.
_MOST_STEPS, _INVERSE = 40, 4
# L-BFGS is not replaced by truncated Newton's method if it is likely to end within this number of steps, which take
# about as long as three steps of that method. That method takes less time with 3 to _FEW_CLASSES classes: this number
# is then multiplied by the number of classes over _FEW_CLASSES, but at least by 0.4.
_FEW_STEPS, _FEW_CLASSES = 12, 15
# The classes lie apart if the objective after the first step is at most this share of its value at the start.
_APART = 0.04
# The most steps that are taken towards the optimum of a sample of the rows.
_SAMPLE_STEPS = 100
# _CALL: the number of multiplications that take as long as the Python code of a call, 50 us.
# _LOAD: the number of multiplications that take as long as the preparation of a value for second derivatives.
# _CALLS: the number of calls in a step of truncated Newton's method, without those for each class.
_CALL, _LOAD, _CALLS = 1 << 20, 30, 12


def move(evaluate, point, direction, length=1.0):
    """A point along `direction` at which the objective has fallen enough by Armijo's rule, or None.

    The first length to be tried is `length`.

    Near the optimum, differences of the objective are rounding errors; there a point with a flatter slope is accepted
    (Hager and Zhang 2005).
    """
    slope = float(np.sum(point.gradient * direction))
    if not slope < 0:
        return None
    for _ in range(_TRIALS):
        found = evaluate(point.theta + length * direction)
        fall = found.objective - point.objective
        if fall <= 1e-4 * length * slope:
            return found
        at_end = float(np.sum(found.gradient * direction))
        if fall <= _ROUNDING * abs(point.objective) and abs(at_end) < abs(slope):
            return found
        # the next length to try is the minimum of the parabola that has the objective and slope at length 0, and the
        # objective at the length tried last
        bend = fall - length * slope
        guess = -0.5 * slope * length**2 / bend if bend > 0 else 0
        length = min(max(guess, 0.1 * length), 0.5 * length) if np.isfinite(guess) else 0.1 * length
    return None


def newton(moved, point, tol):
    """The points of Newton's method. `point`, and the points that moved(point, direction) returns, have a curvature."""
    while not (point is None or point.is_optimal(tol)):
        direction = -solution_of(point.curvature, point.gradient.ravel()).reshape(point.gradient.shape)
        point = moved(point, direction)
        if point is not None:
            yield point


class Mover:
    """`move` by the lengths that a `ScoreLine` finds, from the step on after which a length of 1 proves too short."""

    def __init__(self, problem, evaluate):
        self.problem, self.evaluate = problem, evaluate
        self.line = None  # a ScoreLine at the last point; None while steps have length 1
        self.short = False  # whether the last step, of length 1, was too short

    def __call__(self, point, direction):
        if self.short and self.line is None:
            self.line = ScoreLine(self.problem, point.theta)
        slope, line = float(np.sum(point.gradient * direction)), self.line
        length = line.length(point, direction) if line is not None and slope < 0 else 1.0
        found = move(self.evaluate, point, direction, length)
        if found is None:
            return None
        if line is not None:
            line.follow(point, found, direction)
        elif self.problem.has_lines:
            self.short = float(np.sum(found.gradient * direction)) < _SHORT * slope
        return found


def lbfgs(evaluate, point, tol, precondition, history=None, memory=10):
    """The points of limited-memory BFGS (Nocedal 1980).

    precondition(gradient) multiplies a gradient by an approximate inverse of the curvature; its scale does not matter.
    `history` is a list of (step, change of the gradient, their product), which a later call can continue.
    """
    history = [] if history is None else history
    while not (point is None or point.is_optimal(tol)):
        found = move(evaluate, point, -_two_loops(point.gradient, history, precondition))
        if found is None and history:
            history.clear()
            continue
        if found is not None:
            step, change = found.theta - point.theta, found.gradient - point.gradient
            product = inner(step, change)
            if product > 0:
                history.append((step, change, product))
                del history[:-memory]
            yield found
        point = found


def _two_loops(gradient, history, precondition):
    """The two-loop recursion of L-BFGS: the preconditioned gradient, corrected by the last steps (`history`)."""
    q = gradient.copy()
    shares = []
    for step, change, product in reversed(history):
        share = inner(step, q) / product
        shares.append(share)
        q -= share * change
    q = precondition(q)
    if history:
        # the initial inverse of the curvature is scaled so that it is exact along the last step
        _, change, product = history[-1]
        q *= product / inner(change, precondition(change))
    for (step, change, product), share in zip(history, reversed(shares)):
        q += (share - inner(change, q) / product) * step
    return q


def truncated_newton(problem, point, tol):
    """The points of Newton's method, with the second derivatives of the rows whose class is in doubt alone.

    Each step is found by conjugate gradients. It ends early where too many rows are in doubt, or where the gradient
    falls slowly.
    """
    if problem.sparse or not problem.has_lines:
        return
    if problem.keeps_rows:
        problem = problem.held()
    D = problem.d + 1
    share, n_slow, most = _SURE, 0, min(len(problem.codes), _DOUBTFUL_NUMBERS // D, _CHEAP // (D * problem.K))
    if D > _MOST_COLUMNS:
        return
    precondition, n_steps, line = None, 0, ScoreLine(problem, point.theta)
    while not point.is_optimal(tol):
        rows = problem.rows_in_doubt(line, share, most)
        if rows is None:
            return
        if n_steps > _MANY_STEPS or precondition is None:
            precondition = inverse_of(rows.preconditioner(), np.float32)
        direction, n_steps = conjugate_direction(rows.times, point.gradient, precondition)
        # the mean over the classes is subtracted: it changes no probability, and the penalty is least without it
        if problem.K > 1:
            direction -= (point.theta + direction).mean(axis=0)
        found = move(line.evaluate, point, direction, line.length_in_doubt(point, direction, rows))
        if found is None:
            return
        slow = found.norm > 0.5 * point.norm
        point = found
        yield point
        if slow:
            share, n_slow = 0.1 * share, n_slow + 1
            if n_slow > 3:
                return


def conjugate_direction(times, gradient, precondition):
    """(about minus the inverse of a matrix times the gradient, number of steps), by preconditioned conjugate gradients.

    times(V) multiplies by the matrix.
    """
    direction, rest = np.zeros(gradient.shape), -gradient
    z = precondition(rest)
    p, product = z, inner(rest, z)
    first = norm_of(gradient)
    n_steps = 0
    while n_steps < _CONJUGATE_STEPS:
        n_steps += 1
        image = times(p)
        bend = inner(p, image)
        if not (bend > 0 and product > 0):
            break
        length = product / bend
        direction += length * p
        rest -= length * image
        if norm_of(rest) <= _CONJUGATE_SHARE * first:
            break
        z = precondition(rest)
        before, product = product, inner(rest, z)
        p = z + (product / before) * p
    return (direction if direction.any() else -precondition(gradient)), n_steps


class CompactHistory:
    """The last steps of L-BFGS with few parameters' worth of reads: their products with each other are kept.

    A direction then takes two products of the stored vectors with the gradient and two sums of them; the two loops run
    over numbers. The vectors are stored in float32, because a direction need not be exact.
    """

    def __init__(self, size, memory=10):
        # S: the stored steps of the parameters; P: the changes of the gradient in these steps, preconditioned
        self.S, self.P = np.zeros((2, memory, size), np.float32)
        # inner products of the stored steps s, changes y of the gradient and changes P y after preconditioning: SY has
        # s_i'y_j for i before j, YP has y_i'P y_j
        self.SY, self.YP = np.zeros((2, memory, memory))
        self.order = []  # the indices of the stored steps in S and P, from the oldest to the newest
        # the index of the step that was stored last; None once a direction has computed its products with older steps
        self.newest = None
        # the products of all stored steps and gradient changes with the gradient at which a direction was computed last
        self.before = None

    def direction(self, gradient, preconditioned):
        """Minus the inverse of the curvature times the gradient, of which `preconditioned` is a rough estimate."""
        if not self.order:
            return -preconditioned
        products = self._products(gradient)
        SY, YP, order = self.SY, self.YP, self.order
        alpha, rest = np.zeros((2, len(self.S)))
        for at, i in reversed(list(enumerate(order))):
            newer = order[at + 1 :]
            alpha[i] = (products[0, i] - alpha[newer] @ SY[i, newer]) / SY[i, i]
        last = order[-1]
        scale = SY[last, last] / YP[last, last]
        for at, i in enumerate(order):
            older = order[:at]
            beta = (scale * (products[1, i] - YP[i] @ alpha) + rest[older] @ SY[older, i]) / SY[i, i]
            rest[i] = alpha[i] - beta
        q = preconditioned.ravel() - alpha.astype(np.float32) @ self.P
        q *= scale
        q += rest.astype(np.float32) @ self.S
        np.negative(q, out=q)
        return q.reshape(gradient.shape)

    def _products(self, gradient):
        flat = gradient.ravel().astype(np.float32)
        products = np.array([self.S @ flat, self.P @ flat], float)
        k = self.newest
        if k is not None:
            for i in self.order[:-1]:
                self.SY[i, k] = products[0, i] - self.before[0, i]
                self.YP[i, k] = self.YP[k, i] = products[1, i] - self.before[1, i]
        self.before, self.newest = products, None
        return products

    def append(self, step, change, preconditioned):
        """Add a step, the change of the gradient, and that change preconditioned."""
        product = inner(step, change)
        if not product > 0:
            return
        if self.before is None:
            self.before = np.zeros((2, len(self.S)))
        k = self.order.pop(0) if len(self.order) == len(self.S) else len(self.order)
        self.order.append(k)
        self.newest = k
        self.S[k], self.P[k] = step.ravel(), preconditioned.ravel()
        self.SY[k, k], self.YP[k, k] = product, inner(change, preconditioned)


def compact_lbfgs(evaluate, point, tol, precondition):
    """The points of `lbfgs` for many parameters, whose history takes more time than its products."""
    history, preconditioned = CompactHistory(point.theta.size), precondition(point.gradient)
    while not (point is None or point.is_optimal(tol)):
        found = move(evaluate, point, history.direction(point.gradient, preconditioned))
        if found is None and history.order:
            history = CompactHistory(point.theta.size)
            continue
        if found is not None:
            last, preconditioned = preconditioned, precondition(found.gradient)
            history.append(found.theta - point.theta, found.gradient - point.gradient, preconditioned - last)
            yield found
        point = found


def newton_points(problem, theta, tol):
    """The points of Newton's method on all rows, beginning with the start."""

    def evaluate(theta):
        return problem.evaluate(theta, 1, "full")

    point = evaluate(theta)
    yield point
    yield from newton(Mover(problem, evaluate), point, tol)


def ended_by_newton(problem, points, max_iter, tol):
    """`points`, of which only the start and the next max_iter are wanted; the last few are those of Newton's method.

    `max_iter` may be meant for steps of Newton's method, of which far fewer than of L-BFGS lead to the optimum. No
    point is replaced where second derivatives are expensive.
    """
    size = problem.K * (problem.d + 1)
    replaced = _LAST_STEPS if size <= _MOST_COLUMNS and len(problem.codes) * size**2 <= _LAST_WORK else 0
    last = max(0, max_iter - replaced)
    n_points = 0
    for point in islice(points, last + 1):
        n_points += 1
        yield point
    if replaced and n_points > last and not point.is_optimal(tol):
        evaluate = partial(problem.evaluate, curvature="full")
        yield from newton(partial(move, evaluate), evaluate(point.theta), tol)


def quasi_newton_points(problem, theta, tol, every=1):
    """The points of L-BFGS, beginning with the start; the preconditioner is second derivatives on a sample of the rows.

    If there are many rows, the start is the optimum of a sample. With `every` above 1 only every `every`-th panel of
    rows is used.
    """

    def evaluate(theta):
        return problem.evaluate(theta, every)

    theta = sample_optimum(problem, theta, quasi_newton_points) if every == 1 else theta
    is_small = every == 1 and problem.takes_small_steps
    problem = problem.held() if is_small else problem
    point = evaluate(theta)
    yield point
    kind, step = _affordable(problem, every)
    if kind == "diagonal" and not theta.any():
        # at theta = 0 the blocks of second derivatives on the diagonal are the same for all classes, so that one block
        # is enough
        kind = "shared"
    is_compact = kind is None and theta.size >= _MANY_PARAMETERS
    n_steps, few, history = None if is_compact else _STEPS, _FEW_STEPS, []
    if is_small:
        n_steps, few = _small_steps(problem, kind, step)
    few *= min(1, max(0.4, problem.K / _FEW_CLASSES)) if problem.K > 1 else 1
    while not point.is_optimal(tol):
        curvature = problem.diagonal if kind is None else problem.evaluate(point.theta, step, kind).curvature
        last = point
        if is_compact:
            steps = compact_lbfgs(evaluate, last, tol, inverse_of(curvature))
        elif is_small:
            steps = _preconditioned(Search(problem, last).points, last, tol, curvature)
        else:
            steps = _preconditioned(_lbfgs_points(evaluate, history), last, tol, curvature)
        n_done = 0
        for found in islice(steps, n_steps):
            point, n_done = found, n_done + 1
            yield point
        flat = n_steps is None or n_done < n_steps  # the steps have ended by themselves
        if point is last or (flat and not point.objective < (1 - _ROUNDING) * last.objective):
            return
        if every == 1 and _steps_left(last, point, n_done, tol) > few:
            for found in truncated_newton(problem, point, tol):
                point, history = found, []
                yield point
        kind, step = _affordable(problem, every)
        n_steps = None if kind is None else 2 * n_steps


def _small_steps(problem, kind, step):
    """For compiled steps (the number until second derivatives are computed again, `_FEW_STEPS`)."""
    n, K, D, n_blocks = len(problem.codes), problem.K, problem.d + 1, problem.n_blocks(kind)
    inverses, own = n_blocks * (n // step * D * D // 2 + _INVERSE * D**3), 4 * n * K * D
    calls = _CALL * (_CALLS + K) + _INVERSE * D**3
    return max(_STEPS, min(_MOST_STEPS, inverses // own)), _FEW_STEPS + _FEW_STEPS * calls // (4 * own)


def _lbfgs_points(evaluate, history):
    def points(point, tol, curvature):
        return lbfgs(evaluate, point, tol, inverse_of(curvature), history)

    return points


def _preconditioned(points, first, tol, curvature):
    """The points of points(first, tol, curvature), whose preconditioner is damped where the classes lie apart.

    Second derivatives at theta = 0 are those of all rows. Where classes lie apart, only those of the penalty and of few
    rows are left at the optimum, so that after one step the preconditioner is halfway between the former and none.
    """
    steps = points(first, tol, curvature)
    found = next(steps, None)
    if found is None:
        return
    yield found
    if first.theta.any() or found.objective > _APART * first.objective:
        yield from steps
    else:
        yield from points(found, tol, _damped(curvature))


def _damped(curvature):
    """Matrices of second derivatives (..., D, D), or a diagonal (D,), plus their mean diagonal entry."""
    if curvature.ndim == 1:
        return curvature + curvature.mean()
    D = curvature.shape[-1]
    return curvature + (np.trace(curvature, axis1=-2, axis2=-1) / D)[..., None, None] * np.eye(D)


def _steps_left(first, point, n_steps, tol):
    """The expected number of steps to the end, if the gradient's norm falls as from `first` to `point` in n_steps."""
    rate = np.log(first.norm / point.norm) / n_steps if point.norm > 0 else 0
    least = point.limit(tol)
    return np.log(point.norm / least) / rate if rate > 0 and least > 0 else np.inf


def _affordable(problem, every=1):
    """A pair: the kind of second derivatives that costs few passes over X, or None; its step between panels of rows."""
    n, K, D = len(problem.codes) // every, problem.K, problem.d + 1
    rows_of_full = _ROWS_PER_PARAMETER * K * D
    if K == 1:  # as many as take the time of about four passes over all rows, if these are enough
        rows_of_full = max(8 * D, min(rows_of_full, 16 * n // D))
    for kind, rows, most in (
        ("full", rows_of_full, 3 if K > 1 else 64),
        ("diagonal", max(32 * D, 16 * n // D), 6),
        ("shared", 8 * D, 64),
    ):
        rows = min(n, rows)
        fits = D <= _MOST_COLUMNS and (kind != "full" or K * D <= _MOST_COLUMNS)
        if fits and rows * problem.length * problem.n_blocks(kind) <= most * 4 * K * n:
            return kind, every * max(1, n // rows)
    return None, every


def sample_step(problem):
    """The step for which every step-th panel of rows is a sample large enough for the number of parameters."""
    return len(problem.codes) // max(_LEAST_ROWS, _ROWS_PER_PARAMETER * problem.K * (problem.d + 1))


def sample_optimum(problem, theta, points):
    """The optimum of a sample of the rows if the sample is much smaller than all rows; otherwise theta.

    points(problem, theta, tol, every): the points of a minimiser on every `every`-th panel of rows.
    """
    n, size, last = len(problem.codes), theta.size, sample_step(problem)
    # the optimum of a smaller sample is found first, as a start for this sample, unless theta comes from an earlier fit
    steps = [last] if theta.any() else [8 * last, last]
    if last < LEAST_STEP or any(step * problem.sum_of_weights(step) < 0.5 * problem.total for step in steps):
        return theta
    for step in steps:
        # the gradient from a sample of m rows has an error of about sqrt(number of parameters / m)
        for point in islice(points(problem, theta, 0.1 * np.sqrt(size * step / n), step), _SAMPLE_STEPS):
            if point.margin > 0:  # without a penalty, a sample whose classes a hyperplane separates has no optimum
                return theta
        theta = point.theta
    return theta


def newton_is_faster(problem):
    """Whether Newton's method is likely to be faster than L-BFGS, if 7 of its steps replace 22 of L-BFGS.

    With all second derivatives at the start L-BFGS takes 14 steps.
    """
    if problem.takes_small_steps and problem.K > 1:
        return False
    n, K, D, length = len(problem.codes), problem.K, problem.d + 1, problem.length
    one_pass = _CALL + n * K * (2 * length + 20)
    newton = 7 * (2 * _CALL + one_pass + n * length * (_LOAD + length * problem.n_blocks("full") // 2) + (K * D) ** 3)
    kind, step = _affordable(problem)
    blocks = problem.n_blocks(kind)
    steps = 14 if kind == "full" else 22
    others = steps * (one_pass + 3 * _CALL) + 2 * blocks * (n // step * length**2 // 2 + D**3)
    return K * D <= _MOST_COLUMNS and sample_step(problem) < LEAST_STEP and newton <= others


def continued_points(problem, point, tol):
    """The points of L-BFGS that begin with `point`, the optimum for another penalty.

    The preconditioner is `problem.curvature`, computed for the other penalty. If L-BFGS is slow, second derivatives are
    computed again, each time on more rows.
    """
    yield point
    n, size = len(problem.codes), point.theta.size
    step = max(1, n // max(_LEAST_ROWS, _ROWS_PER_PARAMETER * size))
    while not point.is_optimal(tol):
        slow = False
        for found in lbfgs(problem.evaluate, point, tol, inverse_of(problem.curvature)):
            slow = found.norm > 0.5 * point.norm
            point = found
            yield point
            if slow:
                break
        if not slow:
            return
        problem.evaluate(point.theta, step, "full")
        step = max(1, step // 4)


def gradient_points(problem, theta, tol, length):
    """The points of w <- w - length * gradient, beginning with the start; w are the coefficients for X itself.

    If length is None, it is 1 / L, where L bounds the second derivatives: with two classes those at 0; with K classes K
    / 2 times that, because (diag(p) - pp') <= 1/2 (I - 11'/K) (Boehning 1992).
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
