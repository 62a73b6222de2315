"""The dual of a two-class problem, and the one owner of its alpha and its gradient."""

import numpy as np

from .. import _simd
from ..kernels.values import BLOCK
from . import _exact_sums
from .gram import PAD, padded

compiled = _simd.load("svm._smo")

# What `prove` tells, by name.
PROOF = compiled.PROOF


# Steps for each row after which f is made anew before it is trusted: the roundings of steps add up.
_MANY_STEPS = 50

# The columns that a linear kernel's w is for at most, and the numbers of a block of rows.
_NARROW, _EXACT_NUMBERS = 1000, 1 << 20

# A bound above this is that of a hard margin: no alpha of an optimum gets there in float64.
HARD = 1e100


class Work:
    """What steps on a problem of at most m rows write in, where rows are left out: see `_shrinking.pxd`."""

    __slots__ = ("arrays", "below", "change", "row")

    def __init__(self, m, dtype):
        self.arrays = np.empty(compiled.ARRAYS * (2 * padded(m, PAD) + compiled.DEPTH * PAD))
        self.below = np.empty(m * (m // 3 + PAD), dtype)
        self.row, self.change = np.empty(2 * m + 2, np.int64), np.empty(2 * m + 2)


class Dual:
    """min 1/2 b'Kb - y'b subject to 1'b = 0, lower <= b <= upper, where b_i = y_i alpha_i.

    Parameters
    ----------
    gram : Gram or Table
    rows : ndarray of shape (m,), int64
        The rows of the gram that the problem has.
    y : ndarray of shape (m,)
        Their labels, +1 and -1.
    C : ndarray of shape (m,)
        Bounds of alpha.
    coef : ndarray of shape (m,), optional
        Where to begin, made feasible; else 0.

    Attributes
    ----------
    arrays : ndarray of shape (8, padded m)
        What compiled code takes: a `dual_t`.
    y, lower, upper, coef, f : ndarray of shape (m,)
        Views of it; coef is b, and f = K b - y, but for roundings.
    noise : float
        About how far f is off, in roundings of one kernel value.
    n_steps : int
    converged, reason : bool, str
        How `smo.solve` ended.
    """

    def __init__(self, gram, rows, y, C, coef=None):
        m = len(rows)
        self.gram, self.rows = gram, rows
        self.arrays = np.zeros((compiled.ARRAYS, padded(m, PAD)))
        self._view()
        self.y[:], self.f[:] = y, -y
        self.bound(C)
        if coef is not None:
            self.coef[:] = coef
            compiled.repair(self)
        self.noise, self.n_steps, self.converged, self.reason, self.unsure = 0.0, 0, False, "", 0

    def _view(self):
        self.y, self.lower, self.upper, self.coef, self.f = self.arrays[:5, : len(self.rows)]

    def __len__(self):
        return len(self.rows)

    def copy(self):
        """The same problem at the same coef, whose bounds may be others."""
        other = object.__new__(Dual)
        vars(other).update(vars(self))
        other.arrays = self.arrays.copy()
        other._view()
        other.n_steps, other.converged, other.reason = 0, False, ""
        return other

    def is_free(self):
        return (self.lower < self.coef) & (self.coef < self.upper)

    def is_hard(self):
        return bool((self.upper - self.lower > HARD).any())

    def total(self):
        """sum alpha"""
        return float(np.abs(self.coef).sum())

    def square(self):
        """b'Kb, the square of |w|."""
        return float(self.coef @ self.f) + self.total()

    def objective(self):
        """sum alpha - 1/2 alpha'Q alpha, of which this is the least problem."""
        return self.total() - 0.5 * self.square()

    def prove(self):
        """The numbers of `PROOF`."""
        out = np.empty(len(PROOF))
        compiled.proof(self, out)
        return out

    def bound(self, C):
        """Let alpha be from 0 to C."""
        compiled.bound(self, np.ascontiguousarray(C))

    def move(self, C):
        """Go over to other bounds, coef scaled as far as they and the objective let it."""
        self.bound(C)
        compiled.scale(self)
        self.n_steps, self.converged, self.reason = 0, False, ""

    def set_coef(self, rows, coef):
        """Give some rows another coef, at its bound where it is but for rounding; returns the change."""
        size = self.upper[rows] - self.lower[rows]
        alpha = np.abs(coef)
        alpha = np.where(alpha >= (1 - 1e-14) * size, size, np.where(alpha <= 1e-14 * size, 0.0, alpha))
        before, self.coef[rows] = self.coef[rows], self.y[rows] * alpha
        return self.coef[rows] - before

    def note(self, change):
        """Tell that f has taken on a change of coef."""
        with np.errstate(over="ignore"):  # where no hyperplane separates the classes coef has no end
            self.noise = float(np.hypot(self.noise, np.linalg.norm(change)))

    def add(self, gram, rows, change, columns, threads):
        """A generator: f[columns] += K[columns, rows] change, by values of another gram."""
        part = self.f[columns][None]
        yield from add(gram, self.rows[rows], change[None], self.rows[columns], part, threads)
        self.f[columns] = part[0]

    def is_doubtful(self, tol):
        """Whether roundings may have brought f off by a part of tol that matters, or the sum of coef off 0."""
        rounded = self.gram.rounding() * self.noise > 0.1 * tol or self.unsure > _MANY_STEPS * len(self)
        return rounded or compiled.unbalanced(self)[0] >= 0

    def refresh(self, threads):
        """A generator: f from nothing, in float64, once the roundings of the sum of coef are made good."""
        row, over = compiled.unbalanced(self)
        if row >= 0:
            self.coef[row] -= over
        self.f[:] = -self.y
        support = np.flatnonzero(self.coef)
        if is_narrow(self.gram):
            yield from self._add_exactly(support)
        else:
            gram = self.gram.of_type(np.float64)
            yield from self.add(gram, support, self.coef[support], np.arange(len(self)), threads)
        self.noise, self.unsure = 0.0, 0

    def _add_exactly(self, support):
        """A generator: as `add` of the linear kernel, by the sum w of the rows, and with no rounding but the last.

        Where columns have other scales, sums of kernel values lose the digits that the narrow columns need.
        """
        X = self.gram.X.matrix
        step = max(1, _EXACT_NUMBERS // X.shape[1])
        w = np.zeros((2, X.shape[1]))
        for start in range(0, len(support), step):
            part = support[start : start + step]
            _exact_sums.add_rows(as_doubles(X, self.rows[part]), self.coef[part], w)
            yield
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            _exact_sums.add_products(as_doubles(X, self.rows[part]), w, self.f[part])
            yield


def is_narrow(gram):
    """Whether the kernel is linear and rows have few columns, so that what is known of w is cheap."""
    kernel = getattr(gram, "kernel", None)
    return kernel is not None and kernel.name == "linear" and gram.X.n_columns <= _NARROW


def as_doubles(X, rows):
    return np.ascontiguousarray(np.asarray(X[rows], np.float64))


def add(gram, rows, coef, columns, out, threads):
    """A generator: out[:, i] += coef @ K of rows and of row columns[i], a block of rows at a time."""
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        Z = gram.pack(rows[block])
        gram.add(Z, np.arange(len(Z)), np.ascontiguousarray(coef[:, block]), columns, out, threads)
        yield
