"""The squared hinge with an L1 penalty by an interior point method, where coordinate descent is slow.

    min  sum_j edge_j (p_j + q_j) + sum_i cost_i max(0, 1 - y_i w x_i)^2,     w = p - q,  p >= 0,  q >= 0

Newton's method on the perturbed optimality conditions of p, q, the dual variables a of the rows, and the multipliers s
of p >= 0, t of q >= 0 and v of a >= 0, with Mehrotra's predictor and corrector (1992):

    Z w + ridge a - 1 = v,    edge - Z'a = s,    edge + Z'a = t,    p s = q t = a v = mu,        row i of Z: y_i x_i

Each linear system is reduced to one with min(n, d + 1) rows. Some 20 steps suffice, also with more columns than rows.
Where columns differ by many orders of magnitude, rounding may end the steps early.
"""

import numpy as np

from .._csr import Csr
from .._threads import large_product
from .dual_newton import compiled as systems
from .dual_newton import factorise
from .soft_margin import Problem

# _STEPS: the most Newton steps.
# _SHARE: the longest step, as a share of the step with which a variable would become 0.
# _ENOUGH: the sum of the complementary products at the end, as a share of the objective.
# _IDLE: the steps end after this number of successive ones without a smaller gap, which only rounding can cause.
_STEPS, _SHARE, _ENOUGH, _IDLE = 60, 0.995, 1e-11, 12
# _START: the products p s, q t and a v at the start, as a multiple of the objective's share.
# _INSIDE: the least multiplier at the start, as a share of the penalty.
_START, _INSIDE = 100.0, 0.1
# _MOST_ROWS: the most rows of a linear system.
# _MOST_NUMBERS: fewer dense rows than columns are copied, so that the method is not used if they have more numbers.
_MOST_ROWS, _MOST_NUMBERS = 4096, 1 << 25
# The cost of the method is estimated as that of _COST_STEPS steps. A step takes _COST_CALLS nanoseconds, and _COST_READ
# for each entry of X; matrix products and factors make _COST_DENSE multiplications in a nanosecond, products of sparse
# rows _COST_SPARSE, and take _COST_ENTRY for each entry of the product.
_COST_STEPS, _COST_CALLS, _COST_READ, _COST_DENSE, _COST_SPARSE, _COST_ENTRY = 20, 300_000, 8, 12, 1, 10


def cost(problem):
    """About the number of nanoseconds that the method takes for a problem; infinite if that has too many rows."""
    n, D, size = problem.n, problem.d + 1, problem.X.size
    m = min(n, D)
    if m > _MOST_ROWS or (n < D and not isinstance(problem.X, Csr) and n * D > _MOST_NUMBERS):
        return np.inf
    products = m * size / 2 / _COST_DENSE
    if isinstance(problem.X, Csr):
        products = size**2 / max(n, D) / 2 / _COST_SPARSE + _COST_ENTRY * m * m
    return _COST_STEPS * (_COST_CALLS + _COST_READ * size + products + m**3 / 6 / _COST_DENSE)


class Interior:
    """The state of the interior point method.

    Parameters
    ----------
    problem : Problem
        All its costs are above 0.
    edge : ndarray of shape (d + 1,)
        The factors of |w| in the penalty; only that of the bias column may be 0, if the problem is `free`.
    turned : Csr or None
        The transpose of sparse X.

    Attributes
    ----------
    w : ndarray of shape (d + 1,)
    p, q, s, t : ndarray of shape (d + 1,)
    a, v : ndarray of shape (n,)
    """

    def __init__(self, problem, edge, turned):
        self.problem, self.edge, self.n_steps = problem, edge, 0
        n, D = problem.n, problem.d + 1
        self.few_rows = n < D
        # rows of the transpose, whose weighted products are those of the columns of X
        self.turned = None
        if self.few_rows and turned is not None:
            none = np.zeros(problem.d)
            self.turned = Problem(turned, none, none, none, True, 0.0, False, problem.threads)
        sums = problem.combine(problem.cost * problem.y)
        least = edge > 0
        shrink = min(1.0, (1 - _INSIDE) / max(float(np.abs(sums[least] / edge[least]).max()), 1e-300))
        self.a, sums = problem.cost * shrink, sums * shrink
        self.s = np.maximum(edge - sums, _INSIDE * edge)
        self.t = np.maximum(edge + sums, _INSIDE * edge)
        aim = _START * float(self.a.sum()) / (2 * D + n)
        self.s[~least] = self.t[~least] = 1.0
        self.p, self.q, self.v = np.where(least, aim / self.s, 0.0), np.where(least, aim / self.t, 0.0), aim / self.a
        self.w = self.p - self.q

    def rounded(self):
        """w, with a 0 for each weight that is smaller than the multipliers of its bounds."""
        return np.where((self.p > self.s) | (self.q > self.t) | (self.edge == 0), self.w, 0.0)

    def steps(self):
        """A generator: take Newton steps until rounding allows no more.

        Yields the relative gap before each step, and infinity within steps.
        """
        least, idle = np.inf, 0
        while self.n_steps < _STEPS and idle < _IDLE:
            gap = float(np.sum(self.p * self.s) + np.sum(self.q * self.t) + np.sum(self.a * self.v))
            dual = float(self.a.sum() - 0.5 * np.sum(self.problem.ridge * self.a * self.a))
            rest = gap / max(abs(dual), 1e-300)
            if not rest > _ENOUGH:
                return
            least, idle = min(least, rest), 0 if rest < least else idle + 1
            yield rest
            self.n_steps += 1
            system = System(self)
            for _ in system.factorised():
                yield np.inf
            if not self._move(system, gap):
                return

    @np.errstate(all="ignore")
    def _move(self, system, gap):
        """Take the Newton step of a factorised system; returns False if rounding allows none."""
        state = self.p, self.q, self.s, self.t, self.a, self.v
        _, dp, dq, ds, dt, da, dv = step = system.direction(0.0, 0.0, 0.0)
        p, q, s, t, a, v = _moved(state, step[1:], _longest(state, step[1:]))
        after = float(np.sum(p * s) + np.sum(q * t) + np.sum(a * v))
        aim = gap / (2 * len(p) + len(a)) * (after / gap) ** 3
        step = system.direction(aim - dp * ds, aim - dq * dt, aim - da * dv)
        length = min(1.0, _SHARE * _longest(state, step[1:]))
        if not all(np.isfinite(each).all() for each in step):
            return False
        self.w = self.w + length * step[0]
        self.p, self.q, self.s, self.t, self.a, self.v = _moved(state, step[1:], length)
        return True


class System:
    """The linear system of a Newton step from the state of an `Interior`, with a factor of its matrix."""

    @np.errstate(all="ignore")  # numbers that overflow make a step that is refused
    def __init__(self, point):
        self.point, problem = point, point.problem
        p, q, s, t, a, v = point.p, point.q, point.s, point.t, point.a, point.v
        self.sums = problem.combine(a * problem.y)
        self.off_a = problem.y * problem.scores(point.w) + problem.ridge * a - 1 - v
        self.off_s, self.off_t = point.edge - self.sums - s, point.edge + self.sums - t
        self.bend, self.slack = p / s + q / t, problem.ridge + v / a

    def factorised(self):
        """A generator: compute the Cholesky factor of the system's matrix, with pauses."""
        point, problem = self.point, self.point.problem
        if point.few_rows:
            self.matrix, diagonal = self._of_rows(), self.slack
        else:
            self.stiff = np.where(self.bend > 0, 1 / np.where(self.bend > 0, self.bend, 1.0), 0.0)
            self.matrix, diagonal = problem.products(1 / self.slack), self.stiff
        self.matrix[np.diag_indices(len(self.matrix))] += diagonal
        yield
        yield from factorise(self.matrix, problem.threads)
        if point.few_rows and problem.free:
            self.along = self._solution(problem.bias * problem.y)

    def _solution(self, right):
        x = right[None].copy()
        systems.solve(self.matrix, x)
        return x[0]

    def _of_rows(self):
        """Z diag(bend) Z', of shape (n, n)."""
        problem, n = self.point.problem, self.point.problem.n
        if self.point.turned is None:
            rows = np.empty((n, problem.d + 1))
            rows[:, :-1], rows[:, -1] = problem.X, problem.bias
            rows *= np.sqrt(self.bend)
            matrix = large_product(rows, rows.T)
        else:
            matrix = self.point.turned.products(self.bend[:-1])[:n, :n] + self.bend[-1] * problem.bias**2
        matrix *= problem.y
        matrix *= problem.y[:, None]
        return matrix

    def direction(self, ps, qt, av):
        """The step (dw, dp, dq, ds, dt, da, dv) towards complementary products p s = `ps`, q t = `qt`, a v = `av`."""
        point, problem = self.point, self.point.problem
        p, q, s, t, a, v = point.p, point.q, point.s, point.t, point.a, point.v
        still = point.edge == 0  # an intercept without a penalty is one free number, not a difference p - q
        # the parts of dp and dq that do not depend on da
        from_p = np.where(still, 0.0, (ps - p * self.off_s) / s - p)
        from_q = np.where(still, 0.0, (qt - q * self.off_t) / t - q)
        r = av / a - v - self.off_a
        if point.few_rows:
            dw, da = self._by_rows(from_p - from_q, r)
        else:
            right = self.stiff * (from_p - from_q) + problem.combine(r / self.slack * problem.y)
            dw = self._solution(right + np.where(still, self.sums, 0.0))
            da = (r - problem.y * problem.scores(dw)) / self.slack
        change = problem.combine(da * problem.y)
        if point.few_rows:
            dw = np.where(still, dw, from_p - from_q + self.bend * change)
        # The larger of p and q moves by what w and the smaller one do: p / s may be so large that it magnifies the
        # rounding error of `change`.
        dp, dq = from_p + p / s * change, from_q - q / t * change
        plus = p * t > q * s
        dp, dq = np.where(plus, dw + dq, dp), np.where(plus, dq, dp - dw)
        ds, dt = self.off_s - change, self.off_t + change
        for each in (dp, dq, ds, dt):
            each[still] = 0
        return dw, dp, dq, ds, dt, da, av / a - v - v / a * da

    def _by_rows(self, known, r):
        """(a step that has only the weight of a free intercept, da) by the factor of an (n, n) matrix."""
        problem, dw = self.point.problem, np.zeros_like(known)
        da = self._solution(r - problem.y * problem.scores(known))
        if problem.free:
            dw[-1] = np.sum(problem.y * da) * problem.bias + self.sums[-1]
            dw[-1] /= np.sum(problem.y * self.along) * problem.bias
            da = da - dw[-1] * self.along
        return dw, da


def _longest(state, step):
    """The longest step, at most 1, that keeps all arrays of the state at 0 or above."""
    longest = 1.0
    for x, dx in zip(state, step):
        falls = dx < 0
        if falls.any():
            longest = min(longest, float((x[falls] / -dx[falls]).min()))
    return longest


def _moved(state, step, length):
    return [x + length * dx for x, dx in zip(state, step)]
