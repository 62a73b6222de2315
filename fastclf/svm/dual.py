"""The dual of a binary support vector machine: the one owner of its alpha and its gradient."""

import numpy as np

from .. import _simd
from ..kernels.values import BLOCK
from . import _exact_sums
from .gram import PAD, padded

compiled = _simd.load("svm._smo")

# {name: place} of the numbers that `Dual.prove` returns.
PROOF = compiled.PROOF

# The number of steps for each row after which f is computed anew, as the rounding errors of steps add up.
_MANY_STEPS = 50

# The most columns of a linear kernel for which f is computed through w, and the numbers in a block of rows.
_NARROW, _EXACT_NUMBERS = 1000, 1 << 20

# A bound above this means a hard margin, as no alpha of an optimum is so large in float64.
HARD = 1e100


class Work:
    """Scratch space for shrinking problems of at most m rows; `scratch_t` of `_shrinking.pxd` is its twin."""

    __slots__ = ("arrays", "below", "change", "row")

    def __init__(self, m, dtype):
        self.arrays = np.empty(compiled.ARRAYS * (2 * padded(m, PAD) + compiled.DEPTH * PAD))
        self.below = np.empty(m * (m // 3 + PAD), dtype)
        self.row, self.change = np.empty(2 * m + 2, np.int64), np.empty(2 * m + 2)


class Dual:
    """min 1/2 b'Kb - y'b subject to 1'b = 0, lower <= b <= upper, where b_i = y_i alpha_i.

    Parameters
    ----------
    gram : Gram or GivenKernel
    rows : ndarray of shape (m,), int64
        The rows of the gram in the problem.
    y : ndarray of shape (m,)
        Their labels, +1 and -1.
    C : ndarray of shape (m,)
        The upper bounds of alpha.
    coef : ndarray of shape (m,), optional
        The start, made feasible; else 0.

    Attributes
    ----------
    arrays : ndarray of shape (8, padded m)
        The arrays of `dual_t`, in its order.
    y, lower, upper, coef, f : ndarray of shape (m,)
        Views of `arrays`; coef is b, and f = K b - y but for rounding.
    noise : float
        About the error of f, divided by the rounding error of one kernel value.
    n_steps : int
    converged, reason : bool, str
        How `smo.solve` ended.
    """

    nu = 0.0  # of nu-SVC alone, whose class below has it

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
        """A copy at the same coef, whose bounds may be changed."""
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
        """sum alpha - 1/2 alpha'Q alpha, which is to be maximised."""
        return self.total() - 0.5 * self.square()

    def prove(self):
        """The numbers that `PROOF` names: the intercept, and how far the solution is from the optimum."""
        out = np.empty(len(PROOF))
        compiled.proof(self, out)
        return out

    def bound(self, C):
        """Let 0 <= alpha <= C."""
        compiled.bound(self, np.ascontiguousarray(C))

    def move(self, C):
        """Change the bounds, and scale coef to the best that is within them."""
        self.bound(C)
        compiled.scale(self)
        self.n_steps, self.converged, self.reason = 0, False, ""

    def set_coef(self, rows, coef):
        """Set coef of some rows, rounded to a bound that it is close to; returns the change."""
        size = self.upper[rows] - self.lower[rows]
        alpha = np.abs(coef)
        alpha = np.where(alpha >= (1 - 1e-14) * size, size, np.where(alpha <= 1e-14 * size, 0.0, alpha))
        before, self.coef[rows] = self.coef[rows], self.y[rows] * alpha
        return self.coef[rows] - before

    def note(self, change):
        """Add to `noise` the error of updating f for a change of coef."""
        with np.errstate(over="ignore"):  # coef grows without end if no hyperplane separates the classes
            self.noise = float(np.hypot(self.noise, np.linalg.norm(change)))

    def add(self, gram, rows, change, columns, threads):
        """A generator: f[columns] += K[columns, rows] change, with the values of `gram`."""
        part = self.f[columns][None]
        yield from add(gram, self.rows[rows], change[None], self.rows[columns], part, threads)
        self.f[columns] = part[0]

    def is_doubtful(self, tol):
        """Whether rounding may have changed f by more than a tenth of tol, or the sum of coef from 0."""
        rounded = self.gram.rounding() * self.noise > 0.1 * tol or self.unsure > _MANY_STEPS * len(self)
        return rounded or compiled.unbalanced(self)[0] >= 0

    def refresh(self, threads):
        """A generator: bring the sum of coef back to 0, and compute f anew in float64."""
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
    """A generator: out[:, i] += coef @ the values between `rows` and row columns[i], block by block of rows."""
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        Z = gram.pack(rows[block])
        gram.add(Z, np.arange(len(Z)), np.ascontiguousarray(coef[:, block]), columns, out, threads)
        yield
