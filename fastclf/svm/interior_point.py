"""The dual of a linear support vector machine by an interior point method, for rows of few columns.

    min  1/2 |w|^2 - 1'a    subject to  w = Z'a,  y'a = 0,  0 <= a <= C,     row i of Z: y_i x_i

Newton's method on the perturbed optimality conditions of w, a, b and the multipliers s (of a >= 0) and t (of a <= C),
with Mehrotra's predictor and corrector. Each linear system is reduced to one with the d-by-d matrix I + Z' D^-1 Z,
where D is diagonal (Ferris and Munson 2003). A step is O(n d^2), and a few dozen steps suffice at any scale of the
columns and of C: where rounding would show, the triangular factor comes by QR, which no scale affects. Sequential
minimal optimisation starts from the result and proves the optimum.

The steps for few rows are compiled (`_interior.pxd`), as long as Cholesky's factor is precise enough.
"""

import numpy as np

from .. import _simd
from .._aligned import aligned

compiled = _simd.load("svm._small_planes")

# The largest number of matrix entries in a block of rows of Z, the matrix of signed rows. If there is no memory for Z
# in float64, each block of Z is converted at each use.
_BLOCK = 1 << 18

# The largest number of matrix entries in a block if rows and columns are few. OpenBLAS multiplies so small a block in
# the calling thread; other threads would gain nothing, and would slow the product down while other programs use the
# processors.
_SMALL_BLOCK = 1 << 13

# The cost of the interior point method is estimated as that of _COST_STEPS Newton steps on n rows of d columns. A step
# takes p + n (q + d (r + d s)) nanoseconds: p for calls, q for each row, r for the products of a row's entry with
# vectors, and s for its part of a d-by-d matrix. The numbers (p, q, r, s) are those of compiled steps, and of others.
_COST_STEPS, _COST_COMPILED, _COST_CALLED = 40, (5_000, 60, 1, 1 / 16), (80_000, 0, 5, 1 / 16)

# _STEPS: the most Newton steps.
# _SHARE: the longest step, as a share of the distance to the boundary of the feasible region.
_STEPS, _SHARE = 100, 0.995

# The method ends when the sum of the complementary products s a + t (C - a) is this share of the objective; s and t are
# the multipliers of the bounds 0 <= a <= C.
_ENOUGH = 1e-16

# Triangular factors are computed by QR, which takes several times as long as Cholesky, if the relative error |w - Z'a|
# / |w| exceeds this. The weights w and dual variables a are optimal only if w = Z'a, where Z has the signed rows y_i
# x_i.
_OFF = 1e-8


# _NUMBERS: the most numbers in few rows, whose steps are compiled.
# _CALL_NUMBERS: the numbers that are read in one call of compiled code, which then takes some milliseconds.
_NUMBERS, _CALL_NUMBERS = 1 << 18, 1 << 20


def cost(n, d, sparse):
    """About the number of nanoseconds that the method takes for n rows of d columns."""
    for_calls, for_rows, for_passes, for_squares = _COST_COMPILED if _are_few(n, d, sparse) else _COST_CALLED
    return _COST_STEPS * (for_calls + n * (for_rows + d * (for_passes + d * for_squares)))


def _are_few(n, d, sparse):
    return n * d <= _NUMBERS and not sparse


class SignedRows:
    """The matrix Z, whose rows are y_i (x_i - mean), for some rows of an array or a Csr.

    As y'a = 0, w = Z'a does not depend on the mean. Z is kept in `buffer`, which has len(rows) * X.shape[1] doubles.
    Without a buffer Z is made block by block at each use.
    """

    def __init__(self, X, rows, y, buffer=None):
        self.X, self.rows, self.y = X, rows, y
        n, d = self.shape = len(rows), X.shape[1]
        small = n * d <= _BLOCK and 4 * d * d <= _SMALL_BLOCK
        self.step, self.kept = max(1, (_SMALL_BLOCK if small else _BLOCK) // d), None
        self.mean = sum(np.asarray(X[rows[part]], np.float64).sum(axis=0) for part in self.parts()) / len(rows)
        if buffer is not None:
            kept = buffer[: len(rows) * X.shape[1]].reshape(len(rows), -1)
            for part in self.parts():
                kept[part] = self.block(part)
            self.kept = kept

    def parts(self):
        return (slice(start, start + self.step) for start in range(0, len(self.rows), self.step))

    def block(self, part):
        """Some rows of Z, which are only read."""
        if self.kept is not None:
            return self.kept[part]
        Z = np.asarray(self.X[self.rows[part]], np.float64) - self.mean
        Z *= self.y[part, None]
        return Z

    def times(self, w):
        return np.concatenate([self.block(part) @ w for part in self.parts()])

    def transposed_times(self, v):
        return sum(self.block(part).T @ v[part] for part in self.parts())

    def factor(self, weight, exact):
        """The upper triangular R of R'R = I + Z' diag(weight) Z: by QR if `exact`, else by Cholesky."""
        R, root = np.eye(self.X.shape[1]), np.sqrt(weight)
        for part in self.parts():
            Z = self.block(part) * root[part, None]
            if exact:
                R = np.linalg.qr(np.concatenate([R, Z]), "r")
            else:
                R += Z.T @ Z
        return R if exact else np.linalg.cholesky(R).T


class Interior:
    """The state of the interior point method for rows Z, labels y of -1 or +1, and upper bounds C.

    Attributes
    ----------
    a, slack, s, t : ndarray of shape (n,), all above 0
        alpha, C - alpha, and the multipliers of a >= 0 and of slack >= 0.
    w, b : ndarray of shape (d,), float
    exact : bool
        Whether triangular factors come by QR from now on.
    """

    def __init__(self, Z, y, C):
        self.Z, self.y, self.C, self.n_steps, self.exact = Z, y, C, 0, False
        a = 0.5 * C
        sums = a[y > 0].sum(), a[y < 0].sum()
        a *= np.where(y > 0, min(1.0, sums[1] / sums[0]), min(1.0, sums[0] / sums[1]))
        w = Z.transposed_times(a)
        square = float(w @ w)
        shrink = min(1.0, float(a.sum()) / square) if square > 0 else 1.0
        self.a, self.w = a * shrink, w * shrink
        self.slack, self.b = C - self.a, 0.0
        gradient = Z.times(self.w) - 1
        size = max(1.0, float(np.abs(gradient).mean()))
        self.s, self.t = np.maximum(gradient, 0) + size, np.maximum(-gradient, 0) + size

    def rounded(self):
        """alpha, moved to a bound where its distance from that bound is smaller than the multiplier of the bound."""
        return np.where(self.a < self.s, 0.0, np.where(self.slack < self.t, self.C, self.a))

    def step(self):
        """Take a Newton step; returns False if no step could be taken or the solution is good enough."""
        y, a, w, s, t, slack = self.y, self.a, self.w, self.s, self.t, self.slack
        gap = float(s @ a + t @ slack)
        if self.n_steps == _STEPS or gap <= _ENOUGH * abs(float(a.sum()) - 0.5 * float(w @ w)):
            return False
        self.n_steps += 1
        try:
            self._factorise()
        except np.linalg.LinAlgError:  # rounding has made the matrix of the Newton system singular
            return False
        da, dw, db, ds, dt = self._direction(0.0, 0.0)
        length = min(_longest(a, da), _longest(slack, -da), _longest(s, ds), _longest(t, dt))
        after = float((s + length * ds) @ (a + length * da) + (t + length * dt) @ (slack - length * da))
        target = gap / (2 * len(y)) * (after / gap) ** 3
        da, dw, db, ds, dt = self._direction(target - da * ds, target + da * dt)
        length = min(1.0, _SHARE * min(_longest(a, da), _longest(slack, -da), _longest(s, ds), _longest(t, dt)))
        if not np.isfinite(length * da).all():
            return False
        self.a, self.w, self.b = a + length * da, w + length * dw, self.b + length * db
        self.s, self.t = s + length * ds, t + length * dt
        # the slack C - a has its own update, because the subtraction would lose the digits of a small slack
        self.slack = slack - length * da
        return True

    def _factorise(self):
        """Compute the triangular factor for a Newton step, and the residuals of the linear optimality conditions."""
        Z, y, a, s, t = self.Z, self.y, self.a, self.s, self.t
        self.off_w, self.off_b = Z.transposed_times(a) - self.w, -float(y @ a)
        self.off_a = Z.times(self.w) - 1 + self.b * y - s + t
        self.inverse = 1 / (s / a + t / self.slack)
        self.exact = self.exact or np.linalg.norm(self.off_w) > _OFF * np.linalg.norm(self.w)
        try:
            factor = Z.factor(self.inverse, self.exact)
        except np.linalg.LinAlgError:
            self.exact = True
            factor = Z.factor(self.inverse, True)
        self.root = np.linalg.inv(factor)
        self.along, self.along_w = self._solve(y, 0.0)

    def _solve(self, r, v):
        """The solution (x, u) of the system D x + Z u = r, u - Z'x = v of a Newton step, where D is diagonal."""
        u = self.root @ (self.root.T @ (v + self.Z.transposed_times(self.inverse * r)))
        return self.inverse * (r - self.Z.times(u)), u

    def _direction(self, sa, t_slack):
        """The Newton step of (a, w, b, s, t) towards complementary products s a = `sa` and t (C - a) = `t_slack`."""
        a, s, t, slack = self.a, self.s, self.t, self.slack
        x, u = self._solve(sa / a - s - (t_slack / slack - t) - self.off_a, self.off_w)
        # a step may be infinite or NaN, and is then refused by the caller
        with np.errstate(divide="ignore", invalid="ignore"):
            db = float((self.y @ x - self.off_b) / (self.y @ self.along))
        da = x - db * self.along
        return da, u - db * self.along_w, db, (sa - s * da) / a - s, (t_slack + t * da) / slack - t


class InteriorWork:
    """The state of an `Interior` for few rows; compiled code reads and changes it as `interior_t`."""

    __slots__ = ("Z", "b", "columns", "factor", "rows")

    def __init__(self, point):
        n, d = point.Z.shape
        wide = -(-d // 8) * 8
        self.Z, self.rows = aligned((n, wide), np.float64), aligned((12, -(-n // 8) * 8), np.float64)
        self.columns, self.factor = aligned((4, wide), np.float64), aligned((wide, wide), np.float64)
        self.Z[:], self.columns[:], self.rows[:] = 0, 0, 0
        for part in point.Z.parts():
            self.Z[part, :d] = point.Z.block(part)
        self.rows[1:5] = 1
        self.rows[0, :n] = point.y
        for line, name in zip(self.rows[1:], _STATE):
            line[:n] = getattr(point, name)
        self.columns[0, :d], self.b = point.w, point.b

    def leave(self, point):
        """Make the state that of the `Interior` point."""
        n, d = point.Z.shape
        for line, name in zip(self.rows[1:], _STATE):
            setattr(point, name, line[:n].copy())
        point.w, point.b = self.columns[0, :d].copy(), self.b


# the positive arrays of an `Interior`, in the order of their lines in `InteriorWork.rows`
_STATE = ("a", "slack", "s", "t")


def steps(point):
    """A generator: take the steps of an `Interior`, and pause after some milliseconds each time."""
    n, d = point.Z.shape
    if _are_few(n, d, not isinstance(point.Z.X, np.ndarray)):
        work, at_once, end = InteriorWork(point), 1 + _CALL_NUMBERS // (n * d), compiled.END["none"]
        while end == compiled.END["none"] and point.n_steps < _STEPS:
            made, end = compiled.step_inside(work, min(at_once, _STEPS - point.n_steps), _OFF, _SHARE, _ENOUGH)
            point.n_steps += made
            yield
        work.leave(point)
        if end != compiled.END["inexact"]:
            return
        point.exact = True
    while point.step():
        yield


def _longest(x, dx):
    """The longest step length, at most 2, that keeps x + length dx at 0 or above."""
    falls = dx < 0
    return min(2.0, float((x[falls] / -dx[falls]).min())) if falls.any() else 2.0
