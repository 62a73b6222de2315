"""The dual of a linear support vector machine by an interior point method, where there are few columns.

    min  1/2 |w|^2 - 1'a    subject to  w = Z'a,  y'a = 0,  0 <= a <= C,     row i of Z: y_i x_i

Newton's method on the perturbed optimality conditions of w, a, b and the multipliers s (of a >= 0) and t (of a <= C),
with Mehrotra's predictor and corrector. Its systems come down to d-by-d ones, I + Z' D^-1 Z with a diagonal D (Ferris
and Munson 2003): O(n d^2) a step, and a few dozen steps whatever the scale of the columns and C are: where rounding
shows, their triangular factor comes by QR, to which that scale is nothing. What comes out is where the pairwise steps
begin, which prove the optimum.
"""

import numpy as np

# Numbers of a block of rows, which are converted to float64 for each use.
_BLOCK = 1 << 18

# Steps at most, and the share of the way to the boundary that one takes.
_STEPS, _SHARE = 100, 0.995

# The mean of the complementary products, relative to the objective, at which it ends.
_ENOUGH = 1e-16

# The share of |w| that Z'a may be off w before factors come by QR, which takes several times as long.
_OFF = 1e-8


class SignedRows:
    """The matrix Z of y_i (x_i - mean), of some rows of an array or a Csr, never made as a whole.

    As y'a = 0, the shift of all rows changes no w.
    """

    def __init__(self, X, rows, y):
        self.X, self.rows, self.y = X, rows, y
        self.step = max(1, _BLOCK // X.shape[1])
        self.mean = sum(np.asarray(X[rows[part]], np.float64).sum(axis=0) for part in self.parts()) / len(rows)

    def parts(self):
        return (slice(start, start + self.step) for start in range(0, len(self.rows), self.step))

    def block(self, part):
        Z = np.asarray(self.X[self.rows[part]], np.float64) - self.mean
        Z *= self.y[part, None]
        return Z

    def times(self, w):
        return np.concatenate([self.block(part) @ w for part in self.parts()])

    def transposed_times(self, v):
        return sum(self.block(part).T @ v[part] for part in self.parts())

    def factor(self, weight, exact):
        """R, upper triangular, of R'R = I + Z' diag(weight) Z: by QR if exact, to which no product loses digits."""
        R, root = np.eye(self.X.shape[1]), np.sqrt(weight)
        for part in self.parts():
            Z = self.block(part)
            Z *= root[part, None]
            if exact:
                R = np.linalg.qr(np.concatenate([R, Z]), "r")
            else:
                R += Z.T @ Z
        return R if exact else np.linalg.cholesky(R).T


class Interior:
    """A point inside the box, for rows Z, labels y, -1 or +1, and bounds C."""

    def __init__(self, Z, y, C):
        self.Z, self.y, self.C, self.n_steps, self.exact = Z, y, C, 0, False
        a = 0.5 * C
        sums = a[y > 0].sum(), a[y < 0].sum()
        a *= np.where(y > 0, min(1.0, sums[1] / sums[0]), min(1.0, sums[0] / sums[1]))
        w = Z.transposed_times(a)
        square = float(w @ w)
        shrink = min(1.0, float(a.sum()) / square) if square > 0 else 1.0
        self.a, self.w = a * shrink, w * shrink
        self.room, self.b = C - self.a, 0.0
        gradient = Z.times(self.w) - 1
        size = max(1.0, float(np.abs(gradient).mean()))
        self.s, self.t = np.maximum(gradient, 0) + size, np.maximum(-gradient, 0) + size

    def rounded(self):
        """alpha, with what is near a bound put there."""
        return np.where(self.a < self.s, 0.0, np.where(self.room < self.t, self.C, self.a))

    def step(self):
        """Make a step; returns whether another is worth it."""
        y, a, w, s, t, room = self.y, self.a, self.w, self.s, self.t, self.room
        gap = float(s @ a + t @ room)
        if self.n_steps == _STEPS or gap <= _ENOUGH * abs(float(a.sum()) - 0.5 * float(w @ w)):
            return False
        self.n_steps += 1
        try:
            self._factorise()
        except np.linalg.LinAlgError:  # rounding has the last word
            return False
        da, dw, db, ds, dt = self._direction(0.0, 0.0)
        length = min(_longest(a, da), _longest(room, -da), _longest(s, ds), _longest(t, dt))
        after = float((s + length * ds) @ (a + length * da) + (t + length * dt) @ (room - length * da))
        target = gap / (2 * len(y)) * (after / gap) ** 3
        da, dw, db, ds, dt = self._direction(target - da * ds, target + da * dt)
        length = min(1.0, _SHARE * min(_longest(a, da), _longest(room, -da), _longest(s, ds), _longest(t, dt)))
        if not np.isfinite(length * da).all():
            return False
        self.a, self.w, self.b = a + length * da, w + length * dw, self.b + length * db
        self.s, self.t = s + length * ds, t + length * dt
        self.room = room - length * da  # not C - a, which would lose the digits of a small room
        return True

    def _factorise(self):
        """What the systems of a step share, and how far the point is off the linear conditions."""
        Z, y, a, s, t = self.Z, self.y, self.a, self.s, self.t
        self.off_w, self.off_b = Z.transposed_times(a) - self.w, -float(y @ a)
        self.off_a = Z.times(self.w) - 1 + self.b * y - s + t
        self.inverse = 1 / (s / a + t / self.room)
        self.exact = self.exact or np.linalg.norm(self.off_w) > _OFF * np.linalg.norm(self.w)
        try:
            factor = Z.factor(self.inverse, self.exact)
        except np.linalg.LinAlgError:
            self.exact = True
            factor = Z.factor(self.inverse, True)
        self.root = np.linalg.inv(factor)
        self.along, self.along_w = self._solve(y, 0.0)

    def _solve(self, r, v):
        """x, u of D x + Z u = r, u - Z'x = v."""
        u = self.root @ (self.root.T @ (v + self.Z.transposed_times(self.inverse * r)))
        return self.inverse * (r - self.Z.times(u)), u

    def _direction(self, sa, tr):
        """The Newton step of a, w, b, s, t for s a = sa and t room = tr."""
        a, s, t, room = self.a, self.s, self.t, self.room
        x, u = self._solve(sa / a - s - (tr / room - t) - self.off_a, self.off_w)
        with np.errstate(divide="ignore", invalid="ignore"):  # where it is not finite, there is no further step
            db = float((self.y @ x - self.off_b) / (self.y @ self.along))
        da = x - db * self.along
        return da, u - db * self.along_w, db, (sa - s * da) / a - s, (tr + t * da) / room - t


def _longest(x, dx):
    """The longest step, 2 at most, that leaves x positive."""
    falls = dx < 0
    return min(2.0, float((x[falls] / -dx[falls]).min())) if falls.any() else 2.0
