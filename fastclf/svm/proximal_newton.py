"""The soft-margin hyperplane by Newton's method, the fastest one for rows of few columns or few support vectors.

The dual variables are a function of the hyperplane: alpha_i = centre_i + gain_i z_i, clipped to [0, most_i]. Newton's
method with an exact line search finds the w with w = sum_i alpha_i y_i x_i, the minimum of a piecewise quadratic
function. Then alpha becomes the centre and the gain grows (the proximal method of multipliers, Rockafellar 1976); the
violation that remains is at most cost / gain.
"""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .._threads import inner, large_product, norm_of, ranges
from .dual_newton import compiled as systems
from .dual_newton import factorise
from .soft_margin import added, kernels

# The ratio cost / gain of the first step, where cost is the upper bound of the dual variables alpha, and gain their
# derivative by z = 1 - margin. At the start, all weights are 0 and all rows have z = 1, so that alpha = gain z is well
# below cost.
_FIRST_WIDTH = 4.0
# The first solution is that of a sample of the rows. The sample size is the largest of _SAMPLE rows for each parameter,
# _LEAST_SAMPLE rows, and n / _SHARE rows; there is none if all rows are fewer than _LEAST_SAMPLES samples.
_SAMPLE, _LEAST_SAMPLE, _SHARE, _LEAST_SAMPLES = 16, 2048, 8, 4
# The gain, the derivative of the dual variables alpha by z = 1 - margin, grows by this factor in each iteration of the
# proximal method of multipliers.
_FALL = 8.0
# A margin of a rough solution is taken to be within this share of its violation of the margin at the optimum.
_ROUGH = 0.3
# The largest product of the gain, the derivative of the dual variables by z = 1 - margin, and the squared length of the
# longest row: with a larger gain, rounding errors of z would become visible in margins.
_MOST_GAIN = 1e10
# The fit ends after this number of successive iterations of the proximal method that do not lower the violation by a
# tenth, because rounding then prevents progress.
_IDLE = 4
# The fit ends if an upper bound of the violation is at most this share of `tol`; the rest of `tol` is for rounding.
_ENOUGH = 0.9
# _FIRST_ROWS: the number of rows of a Cholesky factor in the first call of compiled code, before any call was timed.
# _LARGE: a factor of at least so many rows is shared by threads.
_FIRST_ROWS, _LARGE = 256, 256
# With at least _LARGE columns of dense rows, a Newton step solves a system of as many numbers as there are rows with
# 0 < alpha < cost, if these are at most this share of the columns.
_ROWS_PER_COLUMN = 0.5
# The most lengths that a line search tries.
_TRIALS = 40


class ProximalNewton:
    """A solver by the proximal method of multipliers, with its count of Newton steps.

    Parameters
    ----------
    tol : float
        The largest violation that is accepted.
    rng : numpy.random.Generator
        Draws samples of the rows.
    max_iter : int
        The most steps.
    advance : callable
        After each step advance(call, *arguments) is called; call(*arguments) is the violation. True ends the fit.
    """

    def __init__(self, tol, rng, max_iter, advance):
        self.tol, self.rng, self.max_iter, self.advance = tol, rng, max_iter, advance
        self.n_iter, self.stopped, self.least = 0, False, np.inf

    def solve(self, problem, start=None, rough=None):
        """A generator that pauses after each step and returns the `Proof` of its solution.

        `start` is the `Proof` of a solution of a similar problem on the same rows; `rough` that of a rough solution of
        this problem, whose alpha then is the first centre.
        """
        n, D = problem.n, problem.d + 1
        alpha = np.zeros(n)
        if rough is not None and not problem.squared:
            w, b, alpha = rough.w, rough.b, rough.alpha
            width = first_width(rough, self.tol)
        elif start is not None or rough is not None:
            w, b = (start or rough)[:2]
            width = first_width(None, self.tol)
        else:
            w, b, width = yield from self._first(problem)
        h = width
        z = 1 - problem.y * (problem.scores(w) + b)
        while True:
            self.least = np.inf
            if width < 1 and not problem.squared:
                w, z, alpha, gap = yield from self._centred(problem, 0, w, alpha, h, z)
                if _violation(problem, w, z, alpha, gap) <= _ENOUGH * self.tol:
                    proof = problem.proof(alpha, w, b, self.tol)
                    if proof.violation <= self.tol:
                        return proof
                h = self._following(h)
            else:
                alpha = _clipped(problem, alpha, h, z)
            near = (z > -2 * width) if problem.squared else np.abs(z) < 2 * width
            rows = np.flatnonzero(near | ((alpha > 0) & (alpha < problem.most)))
            rest = np.zeros(D)
            if not 0 < len(rows) <= n // 2:
                rows, part = None, problem
            else:
                part = problem.take(rows)
                rest = problem.combine(alpha * problem.y) - part.combine(alpha[rows] * part.y)
            part_alpha = alpha if rows is None else alpha[rows]
            w, b, part_alpha = yield from self._refine(part, rest, w, b, part_alpha, h)
            if rows is None:
                alpha = part_alpha
            else:
                alpha[rows] = part_alpha
            proof = problem.proof(alpha, w, b, self.tol)
            if rows is None or self.stopped or proof.violation <= self.tol:
                return proof
            # the next iteration adds the rows that were left out, but whose dual variables can improve the objective
            w, b, z = proof.w, proof.b, proof.z
            ascent = z - problem.ridge * alpha
            odd = np.where(ascent > 0, alpha < problem.most, alpha > 0)
            odd[rows] = False
            if not odd.any():
                return proof
            h = width = min(1.0, 2 * float(np.abs(ascent[odd]).max()))
            alpha = proof.alpha

    def _first(self, problem):
        """A generator; returns (w, b, estimated error of a margin) for the start: a fit to a sample, or w = 0."""
        n, D = problem.n, problem.d + 1
        size = max(n // _SHARE, _SAMPLE * D, _LEAST_SAMPLE)
        if n < _LEAST_SAMPLES * size:
            return np.zeros(D), 0.0, _FIRST_WIDTH
        rows = np.sort(self.rng.choice(n, size, replace=False))
        if not (problem.y[rows].min() < 0 < problem.y[rows].max()):
            return np.zeros(D), 0.0, _FIRST_WIDTH
        error = min(1.0, 2 * np.sqrt(D / size))
        solver = ProximalNewton(max(self.tol, 2 * error), self.rng, self.max_iter, self.advance)
        found = yield from solver.solve(problem.take(rows, n / size))
        self.stopped = solver.stopped
        return found.w, found.b, error

    def _following(self, h):
        """The next ratio h of alpha's upper bound to its gain: smaller, but at first not below what `tol` needs."""
        enough = 0.4 * self.tol
        return max(h / _FALL, enough) if h > enough else h / _FALL

    def _refine(self, problem, rest, w, b, alpha, h):
        """(w, b, alpha) that violate the optimality conditions on these rows by less than tol, if rounding allows.

        rest: the sum of alpha_i y_i x_i over the rows that are not in `problem`.
        """
        y = problem.y
        least, idle = np.inf, 0
        w = w.copy()
        while True:
            z = 1 - y * (problem.scores(w) + b)
            w, z, alpha, gap = yield from self._centred(problem, rest, w, alpha, h, z)
            violation = _violation(problem, w, z, alpha, gap)
            if problem.free:
                b, w[-1] = b + problem.bias * w[-1], 0.0
            idle = 0 if violation < 0.9 * least else idle + 1
            least = min(least, violation)
            if self.stopped or violation <= _ENOUGH * self.tol or idle == _IDLE:
                return w, b, alpha
            h = self._following(h)

    def _centred(self, problem, rest, w, alpha, h, z):
        """Newton's method for alpha = clip(c + gain z), c fixed; returns (w, z, alpha, |w - sum alpha_i y_i x_i|)."""
        y, most = problem.y, problem.most
        gain = _gain(problem, h)
        centre = _centre(problem, alpha, gain)
        alpha = np.clip(centre + gain * z, 0, most)
        v = rest + problem.combine(alpha * y)
        reach, gap = _reach(problem), norm_of(w - v)
        products, weight = 0, np.zeros(problem.n)
        while True:
            gradient = w - v
            before, weight = weight, np.where((alpha > 0) & (alpha < most), gain, 0)
            rows = np.flatnonzero(weight)
            if len(rows) <= _ROWS_PER_COLUMN * len(w) and problem.d >= _LARGE and not isinstance(problem.X, Csr):
                direction = yield from _step_by_rows(problem, rows, gain[rows], gradient)
                weight = np.zeros(problem.n)  # those of the matrix, of which there is none now
            else:
                change = weight - before
                if np.count_nonzero(change) < len(rows):
                    products = products + problem.products(change)
                else:
                    products = problem.products(weight)
                matrix = products.copy()
                np.einsum("ii->i", matrix)[:] += 1
                direction = -(yield from _solved(matrix, gradient, problem.threads))
            fall = inner(gradient, direction)
            if not fall < 0 or self.stopped:
                break
            q = y * problem.scores(direction)
            along, bend = inner(w - rest, direction), inner(direction, direction)
            length = _search(Line(z, q, centre, gain, most), along, bend, fall, problem.threads)
            if length == 0:
                break
            w = w + length * direction
            z = z - length * q
            new = np.clip(centre + gain * z, 0, most)
            changed = new != alpha
            if np.count_nonzero(changed) > problem.n // 2:
                v = rest + problem.combine(new * y)
            else:
                v = v + problem.combine(np.where(changed, (new - alpha) * y, 0))
            alpha = new
            moved = length * float(np.abs(q).max())
            before, gap = gap, norm_of(w - v)
            self.n_iter += 1
            called_off = self.advance(self._least_violation, problem, w, z, alpha, gap)
            self.stopped = called_off or self.n_iter >= self.max_iter
            yield
            near = moved <= 0.1 * min(h, 1.0) and gap * reach <= 0.1 * max(min(h, 1.0), self.tol)
            if near or (moved <= 1e-3 * self.tol and gap >= 0.5 * before):
                break
        return w, z, alpha, gap

    def _least_violation(self, *state):
        """The smallest violation so far, shown as progress; the violation itself rises with a new centre or gain."""
        self.least = min(self.least, _violation(*state))
        return self.least


def _reach(problem):
    """The Euclidean length of the longest row."""
    return float(np.sqrt(problem.squares.max() + problem.bias**2))


def _violation(problem, w, z, alpha, gap):
    """An upper bound of the violation of the optimality conditions; gap: |w - sum_i alpha_i y_i x_i|."""
    ascent = z - problem.ridge * alpha
    rise = np.max(ascent, where=alpha < problem.most, initial=0)
    fall = np.max(-ascent, where=alpha > 0, initial=0)
    shift = abs(problem.bias * w[-1]) if problem.free else 0.0
    return 2 * float(max(rise, fall) + shift + gap * _reach(problem))


def gain_is_limited(problem):
    """Whether rounding limits the gain that squared losses have, so that steps may not reach the solution."""
    return 2 * problem.cost.max() * _reach(problem) ** 2 > _MOST_GAIN


def _gain(problem, h):
    """The gain, the derivative of alpha by z = 1 - margin: cost / h (squared losses: 2 cost), limited by rounding."""
    gain = 2 * problem.cost if problem.squared else problem.cost / h
    return np.minimum(gain, _MOST_GAIN / max(_reach(problem), 1e-150) ** 2)


def first_width(rough, tol):
    """The first ratio h of cost and gain, for a `Proof` of a rough solution or None."""
    return _FIRST_WIDTH if rough is None else min(max(_ROUGH * rough.violation, tol), 1.0)


def _centre(problem, alpha, gain):
    """The constant c of alpha = clip(c + gain z); a Newton fit with it makes a proximal step from the given alpha."""
    return alpha * (1 - problem.ridge * gain)


def _clipped(problem, alpha, h, z):
    gain = _gain(problem, h)
    return np.clip(_centre(problem, alpha, gain) + gain * z, 0, problem.most)


def _step_by_rows(problem, rows, gain, gradient):
    """A generator: the Newton step -(I + A' diag(gain) A)^-1 gradient, where the rows of A are the listed dense ones.

    It is A'u - gradient with (diag(1 / gain) + A A') u = A gradient, a system of as many numbers as there are rows.
    """
    A = np.full((len(rows), problem.d + 1), problem.bias, np.float64)
    A[:, :-1] = problem.X[rows]
    matrix = large_product(A, A.T)
    np.einsum("ii->i", matrix)[:] += 1 / gain
    # sums that BLAS shares among threads would ignore n_jobs; a product of matrices is worth that
    u = yield from _solved(matrix, np.einsum("ij,j->i", A, gradient), problem.threads)
    return np.einsum("ij,i->j", A, u) - gradient


def _solved(matrix, right, threads):
    """A generator: the solution of a system with a positive definite matrix, which it scales to unit diagonal and
    factorises in place."""
    scale = 1 / np.sqrt(np.einsum("ii->i", matrix))
    matrix *= scale
    matrix *= scale[:, None]
    x = scale * right
    if len(x) >= _LARGE:
        yield from factorise(matrix, threads)
        systems.solve(matrix, x[None])
        return scale * x
    for start, stop in ranges(0, len(x), _FIRST_ROWS):
        kernels.solve(matrix, x, start, stop)
    return scale * x


class Line(NamedTuple):
    """A line from w. At length t, z becomes z - t q, and alpha is centre + gain (z - t q), clipped to [0, most].

    Each array has the shape (n,) and is float64. A `Line` is made for each Newton step and only read; compiled code
    reads it as `line_t` (`_soft_margin.pyx`).
    """

    z: np.ndarray
    q: np.ndarray
    centre: np.ndarray
    gain: np.ndarray
    most: np.ndarray


def _search(line, along, bend, fall, threads):
    """The length at which the slope along + length * bend - sum_i alpha_i q_i is 0, to within 1e-3 |fall|.

    `fall` is the slope at length 0, which is negative.
    """

    def slope(length):
        first, second = added(
            len(line.z),
            8,
            2,
            lambda start, stop, out: kernels.slope(line, length, start, stop, out),
            threads,
        )
        return along + length * bend - first, bend + second

    low, high, length = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        at, change = slope(length)
        if abs(at) <= 1e-3 * abs(fall):
            return length
        if at < 0:
            low = length
        else:
            high = length
        following = length - at / change if change > 0 else np.inf
        if not low < following < high:
            following = 2 * length if high == np.inf else 0.5 * (low + high)
        if following == length:
            return length
        length = following
    return low
