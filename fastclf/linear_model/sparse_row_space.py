"""Logistic regression on sparse rows with far more columns than rows: by one number for each row and class.

With a penalty the optimal weights are w = X_c' a with the centred rows X_c = X - 1 mean', and so are the gradient and
the steps of L-BFGS that starts at w = 0:

    gradient = X_c' h,    h = r + penalty a,    r: the derivatives of the losses by the scores z = X_c w + c

Inner products of such vectors are h_1' K h_2 with K = X_c X_c'. Each vector is kept as the pair (h, K h), which costs
one product with X and one with its transpose for a new gradient; all else takes time and memory for n rows, not for d
columns. Scores are linear on a line of steps, so that the search for its minimum needs no product.
"""

import numpy as np

from .. import _simd
from .._threads import inner, norm_of
from .likelihood import Point
from .score_lines import best_length
from .scores import products_with, transposed

kernels = _simd.load("linear_model._likelihood")

# The number of steps in the history of L-BFGS.
_MEMORY = 10

# Fits go by rows if X has at least _COLUMNS columns, _TIMES as many as rows, and at most _ENTRIES entries, which are
# copied, and if there are at most _NUMBERS numbers for rows and classes, of which the history holds 40 arrays.
_COLUMNS, _TIMES, _ENTRIES, _NUMBERS = 4096, 2, 1 << 26, 1 << 20

# The fourth power of numbers up to this one does not overflow, times any number of rows and columns.
_SAFE = 1e70

# A step has length 1 unless the objective falls by less than this share of what the slope promises, or unless this
# share of the slope is left.
_ENOUGH, _SHORT = 1e-4, 0.2

# The relative rounding error of the objective.
_ROUNDING = 1e-13


def fits_sparse_row_space(shape, size, n_outputs):
    """Whether a `SparseRowSpace` is likely to be faster for sparse rows of this shape and number of entries."""
    n, d = shape
    return d >= max(_COLUMNS, _TIMES * n) and size <= _ENTRIES and n * n_outputs <= _NUMBERS


def is_safe(outer):
    """Whether squares of products of the rows of a Likelihood cannot overflow."""
    return bool((outer.scale < _SAFE).all())


class SparseRowSpace:
    """The maximum of the Likelihood `outer` among weights w = X_c' a.

    theta has for each class the numbers a of all rows, and last the intercept c, the score of the mean row.
    """

    l1, margins, curvature = 0.0, False, None

    def __init__(self, outer):
        self._outer, self._turned = outer, transposed(outer.X)
        self.K, self.n, self.total, self.penalty = outer.K, len(outer.X), outer.total, outer.penalty
        self.n_columns, self.shape, self.centre = outer.d, (outer.K, len(outer.X) + 1), outer.mean
        weights = outer.weights if len(outer.weights) else np.ones(self.n)
        self._share, self._none = weights[:, None] / outer.total, np.zeros(outer.K)
        self.tol = None

    def coefficients(self, theta):
        """(coefficients, intercepts) for a given theta."""
        coef = self._columns(theta[:, :-1].T).T
        return coef, theta[:, -1] - coef @ self._outer.mean

    def certified(self, point):
        return point

    def _columns(self, H):
        """X_c' H of shape (d, K)."""
        if self._outer.bias:
            H = H - self._share * H.sum(axis=0)
        return products_with(self._turned, H, self._none, self._outer.threads)

    def _rows(self, U):
        """X_c U of shape (n, K)."""
        found = products_with(self._outer.X, U, self._none, self._outer.threads)
        if self._outer.bias:
            found -= (self._share * found).sum(axis=0)
        return found

    def _losses(self, Z):
        """(sum of the losses of the rows with scores Z, derivatives by Z), both over the total weight."""
        codes = self._outer.codes
        if self.K == 1:
            sign = np.where(codes == 1, -1.0, 1.0)[:, None]
            loss = np.logaddexp(0, sign * Z)
            return float((self._share * loss).sum()), self._share * sign * np.exp(sign * Z - loss)
        scores = np.zeros((self.K, -(-self.n // kernels.LANES) * kernels.LANES))
        scores[:, : self.n] = Z.T
        p, doubt = np.empty_like(scores), np.empty(scores.shape[1])
        kernels.shares(scores, p, doubt)
        R, own = np.ascontiguousarray(p[:, : self.n].T), (np.arange(self.n), codes)
        with np.errstate(divide="ignore"):
            loss = -float(self._share[:, 0] @ np.log(R[own]))
        R[own] -= 1
        return loss, R * self._share

    def points(self, tol):
        """The points of L-BFGS, beginning with theta = 0, as each a `Point` whose gradient is h and that by c."""
        at = _Place(self, np.zeros((self.n, self.K)), np.zeros((self.n, self.K)), np.zeros(self.K))
        yield at.point
        bend = 0.25 if self.K == 1 else (self.K - 1) / self.K**2
        # the first step is as long as the second derivatives along the gradient tell
        steep = inner(at.H, at.KH)
        unit = bend * inner(self._share * at.KH, at.KH) / steep + self.penalty if steep > 0 else 1.0
        history = []
        while not at.point.is_optimal(tol):
            found = at.moved(_direction(at, history, unit, bend))
            if found is None:
                if not history:
                    return
                history.clear()
                continue
            step = _Step(at, found)
            if step.product > 0:
                history.append(step)
                del history[:-_MEMORY]
            at = found
            yield at.point


class _Place:
    """A point of the search: (A, K A), the intercepts c, and the gradient as (H, K H) and its part by c."""

    def __init__(self, space, A, KA, c, losses=None):
        self.space, self.A, self.KA, self.c = space, A, KA, c
        loss, R = losses or space._losses(KA + c)
        self.H, self.slope_c = R + space.penalty * A, R.sum(axis=0) * bool(space._outer.bias)
        U = space._columns(self.H)
        self.KH = space._rows(U)
        self.point = Point(
            theta=np.column_stack([A.T, c]),
            objective=loss + 0.5 * space.penalty * inner(A, KA),
            loss=loss,
            gradient=np.column_stack([self.H.T, self.slope_c]),
            norm=float(np.hypot(norm_of(U * space._outer.factor[:, None]), norm_of(self.slope_c))),
            margin=-np.inf,
            curvature=None,
        )

    def moved(self, direction):
        """The place on the line of a direction (D, K D, its part by c) where the objective is least, or None."""
        slope = inner(self.H, direction[1]) + inner(self.slope_c, direction[2])
        if not slope < 0:
            return None
        line, before = _Line(self, direction), self.point.objective
        at_1 = line.slope(1.0)
        if not (line.objective <= before + _ENOUGH * slope and at_1 >= _SHORT * slope):
            line.slope(best_length(line.slope, slope))
        if not line.objective < before + _ROUNDING * abs(before):
            return None
        ends = (own + line.length * part for own, part in zip((self.A, self.KA, self.c), direction))
        return _Place(self.space, *ends, line.losses)


class _Line:
    """The objective on the line from a place, at the length that its slope was computed for last."""

    def __init__(self, place, direction):
        D, KD, part = direction
        self.space, self.start, self.change = place.space, place.KA + place.c, KD + part
        # the penalty at length t is half of these numbers' sum, times 1, 2 t and t^2
        penalty = place.space.penalty
        self.squares = penalty * inner(place.A, place.KA), penalty * inner(place.A, KD), penalty * inner(D, KD)
        self.length = None

    def slope(self, length):
        """The derivative by the length."""
        _, once, twice = self.squares
        if length != self.length:
            Z = self.change * length
            Z += self.start
            self.length, self.losses = length, self.space._losses(Z)
            self.fall = inner(self.losses[1], self.change)
        return self.fall + once + length * twice

    @property
    def objective(self):
        at_0, once, twice = self.squares
        return self.losses[0] + 0.5 * (at_0 + self.length * (2 * once + self.length * twice))


class _Step:
    """A step of the search and the change of the gradient in it, each as (H, K H, part by c)."""

    def __init__(self, before, after):
        self.step = after.A - before.A, after.KA - before.KA, after.c - before.c
        self.change = after.H - before.H, after.KH - before.KH, after.slope_c - before.slope_c
        self.product = _inner(self.step, self.change)


def _inner(x, y):
    """The inner product of two vectors, each as (H, K H, part by c)."""
    return inner(x[1], y[0]) + inner(x[2], y[2])


def _direction(at, history, unit, unit_c):
    """Minus the inverse of the curvature times the gradient, by the two loops of L-BFGS.

    The first estimate of the curvature is `unit` by the weights and `unit_c` by the intercepts.
    """
    q, shares, scale = [-at.H, -at.KH, -at.slope_c], [], 1.0
    scratch = np.empty_like(at.H)

    def add(factor, vector):
        for to, part in zip(q, vector):
            to += np.multiply(part, factor, out=scratch if part.ndim > 1 else None)

    for each in reversed(history):
        share = _inner(each.step, q) / each.product
        shares.append(share)
        add(-share, each.change)
    if history:
        last = history[-1].change
        scale = history[-1].product / (inner(last[0], last[1]) / unit + inner(last[2], last[2]) / unit_c)
    for part, own in zip(q, (unit, unit, unit_c)):
        part *= scale / own
    for each, share in zip(history, reversed(shares)):
        add(share - _inner(each.change, q) / each.product, each.step)
    return q
