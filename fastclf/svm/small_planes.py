"""The soft-margin hyperplane of few rows, in compiled code; for the squared hinge and a penalised intercept."""

import numpy as np

from .. import _simd
from .._aligned import aligned
from .soft_margin import Proof

compiled = _simd.load("svm._small_planes")

# The compiled solver of small problems is used up to these sizes.
# _COLUMNS: the number of columns.
# _WORK: the number of multiplications for one matrix of second derivatives.
# _NUMBERS: the number of numbers in the copy of the rows, 32 MB.
_COLUMNS, _WORK, _NUMBERS = 384, 1 << 28, 1 << 22

# _CALL_WORK: the number of multiplications in one call of compiled code, which then takes some milliseconds.
# _STEPS: a hyperplane that takes more steps of Newton's method is left to `proximal_newton.py`.
_CALL_WORK, _STEPS = 1 << 24, 60

# Newton's method ends with a step that starts from a gradient below this share of the tolerance.
_SHARE = 1e-3


def is_small(X):
    n, d = X.shape
    few = d < _COLUMNS and n * (d + 1) ** 2 <= _WORK and n * _width(d) <= _NUMBERS
    return few and isinstance(X, np.ndarray)


def _width(d):
    """The length of a copied row: d numbers and the bias column, up to a multiple of 8."""
    return -(-(d + 1) // 8) * 8


class SmallRows:
    """The rows of an array as doubles, followed by the bias column, whose value is `bias` in each row.

    Attributes
    ----------
    X : ndarray of shape (n, width)
        Zeros pad each row to the width.
    squares : ndarray of shape (width, width) or None
        X'X, on and right of the diagonal.
    longest : float
        The length of the longest row.
    """

    def __init__(self, X, squares, bias):
        n, d = X.shape
        self.d, self.bias = d, float(bias)
        self.X = aligned((n, _width(d)), np.float64)
        self.X[:, :d] = X
        self.X[:, d] = bias
        self.X[:, d + 1 :] = 0
        self.longest = float(np.sqrt(squares.max() + bias**2))
        self.work = 2 * self.X.size + self.X.shape[1] ** 3 // 6
        self.squares = None

    def sum_squares(self):
        """Compute X'X, which the first steps for all hyperplanes with the same cost for all rows share."""
        self.squares = aligned((self.X.shape[1], self.X.shape[1]), np.float64)
        self.squares[:] = 0
        compiled.sum_squares(self.X, self.squares)


class PlaneWork:
    """The state of a search for a hyperplane: arrays for compiled code (`plane_t`), and two flags.

    `begun` says whether a step was taken; `afresh` is a value of `compiled.AFRESH`: what the next step computes anew.
    """

    __slots__ = ("afresh", "begun", "factor", "matrix", "moved", "p", "rows", "w")

    def __init__(self, n, d, w):
        self.w, self.p = np.zeros(d), np.empty(d)
        if w is not None:
            self.w[: len(w)] = w
        self.matrix, self.factor = aligned((d, d), np.float64), aligned((d, d), np.float64)
        self.rows, self.moved = np.zeros((3, n)), np.empty(n, np.intp)
        self.begun, self.afresh = False, compiled.AFRESH["z and matrix"]

    def begin_at_0(self, squares, cost):
        """Begin at w = 0, where all rows are active; `squares` is the part of the matrix that they contribute."""
        np.add(squares, np.eye(len(squares)), out=self.matrix)
        self.rows[0], self.rows[2], self.afresh = 1, cost, compiled.AFRESH["nothing"]


def search(rows, y, cost, tol, max_iter, start, progress):
    """A generator that returns (a `Proof`, or None where its violation is above tol; the number of steps).

    start: the first w, or None. progress: gets a report of each step if it is watched, and may end the search.
    """
    n, d = rows.X.shape
    work = PlaneWork(n, d, start)
    if start is None and rows.squares is not None and cost.min() == cost.max() > 0:
        work.begin_at_0(2 * cost[0] * rows.squares, cost)
    alpha, z = np.empty(n), np.empty(n)
    enough = _SHARE * tol / max(1.0, np.sqrt(d) * rows.longest)
    at_once = 1 if progress.watched else 1 + _CALL_WORK // rows.work
    most, n_steps, done, ended = min(_STEPS, max_iter), 0, False, False

    def proof():
        primal, dual, violation = compiled.prove(rows.X, y, cost, work, alpha, z)
        return Proof(work.p[: rows.d + 1].copy(), 0.0, alpha, z, primal, dual, violation)

    while not done and not ended and n_steps < most:
        made, done = compiled.descend(rows.X, y, cost, work, min(most - n_steps, at_once), enough)
        n_steps += made
        ended = progress.watched and progress.advance(1, proof().violation)
        yield
    found = proof()
    return found if ended or found.violation <= tol else None, n_steps
