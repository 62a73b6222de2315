"""The dual of a binary support vector machine: `Dual` alone owns the variables alpha and their gradient."""

import numpy as np

from .. import _simd
from .._threads import norm_of
from ..kernels.values import BLOCK
from . import _exact_sums
from .gram import PAD, padded
from .reused import reused

compiled = _simd.load("svm._smo")

# The position of each number in the array that `Dual.prove` returns, by name.
PROOF = compiled.PROOF

# The gradient f of the dual objective is computed anew after this number of steps for each row, as rounding errors of
# the updates add up.
_MANY_STEPS = 50

# _NARROW: the largest number of columns for which the gradient of the dual objective, for a linear kernel, is computed
# from the weight vector.
# _EXACT_NUMBERS: the number of matrix entries in a block of rows of that computation.
_NARROW, _EXACT_NUMBERS = 1000, 1 << 20

# An upper bound of alpha above this means a hard margin, because no alpha at an optimum is that large in float64.
HARD = 1e100


class Work:
    """Scratch space to shrink problems of at most m rows; compiled code reads it as `scratch_t` (`_shrinking.pxd`)."""

    __slots__ = ("arrays", "below", "change", "row")

    def __init__(self, m, dtype):
        self.arrays = np.empty(compiled.ARRAYS * (2 * padded(m, PAD) + compiled.DEPTH * PAD))
        self.below = reused(m * (m // 3 + PAD), dtype)
        self.row, self.change = np.empty(2 * m + 2, np.int64), np.empty(2 * m + 2)


class Dual:
    """min 1/2 b'Kb - y'b subject to 1'b = 0, lower <= b <= upper, where b_i = y_i alpha_i.

    Parameters
    ----------
    gram : Gram or GivenKernel
    rows : ndarray of shape (m,), int64
        The rows of `gram` that are in the problem.
    y : ndarray of shape (m,)
        The labels of the rows, +1 or -1.
    C : ndarray of shape (m,)
        The upper bounds of alpha.
    coef : ndarray of shape (m,), optional
        The start, which is made feasible; zeros by default.

    Attributes
    ----------
    arrays : ndarray of shape (8, padded m)
        The arrays of `dual_t` (`_dual.pxd`), in the order of its fields.
    y, lower, upper, coef, f : ndarray of shape (m,)
        Views of `arrays`; coef is b, and f is the gradient K b - y but for rounding.
    noise : float
        An estimate of the error of f, divided by the rounding error of one kernel value.
    n_steps : int
    converged, reason : bool, str
        How `smo.solve` ended.
    """

    nu = 0.0  # the parameter nu of nu-SVC, set by `NuDual`; 0 for C-SVC

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
        """A copy with the same coef, whose bounds can be changed independently."""
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
        """The sum of alpha."""
        return float(np.abs(self.coef).sum())

    def square(self):
        """b'Kb, which is |w|^2."""
        return float(self.coef @ self.f) + self.total()

    def objective(self):
        """The dual objective, sum alpha - 1/2 alpha'Q alpha, which is maximised."""
        return self.total() - 0.5 * self.square()

    def prove(self):
        """The numbers named in `PROOF`: the intercept, and how far the solution is from the optimum."""
        out = np.empty(len(PROOF))
        compiled.proof(self, out)
        return out

    def bound(self, C):
        """Set the bounds 0 <= alpha <= C."""
        compiled.bound(self, np.ascontiguousarray(C))

    def move(self, C):
        """Change the bounds to 0 <= alpha <= C, and multiply coef by the best factor that keeps it within them."""
        self.bound(C)
        compiled.scale(self)
        self.n_steps, self.converged, self.reason = 0, False, ""

    def set_coef(self, rows, coef):
        """Set coef of some rows, rounded to a bound at a relative distance of up to 1e-14; returns the change."""
        size = self.upper[rows] - self.lower[rows]
        alpha = np.abs(coef)
        alpha = np.where(alpha >= (1 - 1e-14) * size, size, np.where(alpha <= 1e-14 * size, 0.0, alpha))
        before, self.coef[rows] = self.coef[rows], self.y[rows] * alpha
        return self.coef[rows] - before

    def note(self, change):
        """Add to `noise` the rounding error of updating f for this change of coef."""
        # with infinite C, coefficients grow without limit if no hyperplane separates the classes
        with np.errstate(over="ignore"):
            self.noise = float(np.hypot(self.noise, norm_of(change)))

    def add(self, gram, rows, change, columns, threads):
        """A generator: f[columns] += K[columns, rows] @ change, with kernel values from `gram`."""
        part = self.f[columns][None]
        yield from add(gram, self.rows[rows], change[None], self.rows[columns], part, threads)
        self.f[columns] = part[0]

    def is_doubtful(self, tol):
        """Whether rounding may have changed f by more than a tenth of tol, or has brought the sum of coef off 0."""
        rounded = self.gram.rounding() * self.noise > 0.1 * tol or self.unsure > _MANY_STEPS * len(self)
        return rounded or compiled.unbalanced(self)[0] >= 0

    def refresh(self, threads):
        """A generator: bring the sum of coef back to 0, and compute the gradient f anew in float64."""
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
        """A generator: f += K coef, for the linear kernel, with sums in twice the digits of float64.

        K coef comes from w = sum_i coef_i x_i over the support vectors. Where columns differ much in scale, sums of
        kernel values in float64 lose the digits that come from columns of small scale.
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
    """Whether the kernel is linear and rows have few columns, so that methods that use w are cheap."""
    kernel = getattr(gram, "kernel", None)
    return kernel is not None and kernel.name == "linear" and gram.X.n_columns <= _NARROW


def as_doubles(X, rows):
    return np.ascontiguousarray(np.asarray(X[rows], np.float64))


def add(gram, rows, coef, columns, out, threads):
    """A generator: out[:, i] += coef @ K[rows, columns[i]], one block of `rows` after another."""
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        Z = gram.pack(rows[block])
        gram.add(Z, np.arange(len(Z)), np.ascontiguousarray(coef[:, block]), columns, out, threads)
        yield
