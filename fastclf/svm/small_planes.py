"""The soft-margin hyperplane of few rows, in compiled code; for an intercept that is penalised, or absent."""

import numpy as np

from .. import _simd
from .._aligned import aligned
from .proximal_newton import first_width
from .soft_margin import Problem, Proof

compiled = _simd.load("svm._small_planes")

# The compiled solver of small problems is used up to these sizes.
# _COLUMNS: the number of columns.
# _WORK: the number of multiplications for one matrix of second derivatives.
# _NUMBERS: the number of numbers in the copy of the rows, 32 MB.
_COLUMNS, _WORK, _NUMBERS = 384, 1 << 28, 1 << 22

# _CALL_WORK: the number of multiplications in one call of compiled code, which then takes some milliseconds.
# _STEPS: a hyperplane that takes more steps of Newton's method is left to `proximal_newton.py`.
_CALL_WORK, _STEPS = 1 << 24, 200

# The largest product of the gain and the squared length of the longest row. Matrices of second derivatives with larger
# numbers lose the 1 that is added to their diagonal.
_MOST_GAIN = 1e15

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


class SmallProblem(Problem):
    """A `Problem` whose rows are also there as `rows`, a `SmallRows`, from which its solutions are proven."""

    def __init__(self, rows, *arguments):
        super().__init__(*arguments)
        self.rows = rows

    def proof(self, alpha, w, b, tol):
        return self.better(self.proof_at(alpha), w, tol)

    def proof_at(self, alpha, w=None):
        """The `Proof` of the hyperplane of alpha; w, where given, is that hyperplane up to rounding."""
        X, D = self.rows.X, self.rows.d + 1
        exact, z = np.zeros(X.shape[1]), np.empty(self.n)
        if w is None:
            compiled.combine(X, self.y, alpha, exact)
        else:
            exact[:D] = w
        primal, dual, violation = compiled.prove(X, self.y, self.cost, self.squared, alpha, exact, z)
        return Proof(exact[:D], 0.0, alpha, z, primal, dual, violation)

    def better(self, found, w, tol):
        """The `Proof` found; with the hyperplane w, if alpha is not optimal to `tol` and w has the lower objective."""
        if found.violation > tol:
            at_w = self.proof_at(found.alpha, w)
            if at_w.primal < found.primal:
                return found._replace(w=at_w.w, z=at_w.z, primal=at_w.primal)
        return found


class PlaneWork:
    """The state of a search for a hyperplane: what compiled code reads and changes as `plane_t`, and where it goes on.

    `begun` says whether a step was taken; `afresh` is a value of `compiled.AFRESH`: what the next step computes anew;
    `moved_by` and `gap` are the largest change of a margin by the last step, and the length of the gradient before it.

    Parameters
    ----------
    problem : SmallProblem
    tol : float
    start : Proof or None
        The first w.
    rough : Proof or None
        A rough solution of this problem: with the hinge, its alpha is the first centre.
    """

    __slots__ = (
        *("afresh", "begun", "factor", "gap", "idle", "least", "matrix", "most_gain", "moved", "moved_by", "p"),
        *("reach", "rows", "squared", "tol", "w", "width"),
    )

    def __init__(self, problem, tol, start, rough):
        rows = problem.rows
        n, d = rows.X.shape
        first = rough or start
        self.w, self.p = np.zeros(d), np.empty(d)
        if first is not None:
            self.w[: len(first.w)] = first.w
        self.matrix, self.factor = aligned((d, d), np.float64), aligned((d, d), np.float64)
        self.rows, self.moved = aligned((6, -(-n // 8) * 8), np.float64), np.empty(n, np.intp)
        self.rows[:] = 0
        z, _, active, centre, gain, most = self.rows[:, :n]
        self.tol, self.reach, self.squared = tol, rows.longest, problem.squared
        self.most_gain, self.width = _MOST_GAIN / max(rows.longest, 1e-150) ** 2, first_width(rough, tol)
        most[:] = problem.most
        if problem.squared:
            gain[:] = 2 * problem.cost
        else:
            gain[:] = np.minimum(problem.cost / self.width, self.most_gain)
            centre[:] = 0 if rough is None else rough.alpha
        self.begun, self.afresh = False, compiled.AFRESH["z and matrix"]
        self.moved_by, self.gap, self.least, self.idle = np.inf, np.inf, np.inf, 0
        if first is None and rows.squares is not None and gain.min() == gain.max() > 0:
            # at w = 0 all rows are active
            np.add(gain[0] * rows.squares, np.eye(d), out=self.matrix)
            z[:], active[:], self.afresh = 1, gain, compiled.AFRESH["nothing"]


def search(problem, tol, max_iter, start, rough, progress):
    """A generator that returns (a `Proof`, or None if the search came to no end; the number of steps).

    The violation may be above `tol`, where rounding let no step get further or `progress` has ended the search.
    problem: a `SmallProblem`. start, rough: as for `PlaneWork`. progress: gets a report of each step if it is watched,
    and may end the search.
    """
    rows = problem.rows
    work = PlaneWork(problem, tol, start, rough)
    state = rows.X, problem.y, problem.cost, work
    enough = _SHARE * tol / max(1.0, rows.longest)
    at_once = 1 if progress.watched else 1 + _CALL_WORK // rows.work
    most, n_steps, end, ended, least = min(_STEPS, max_iter), 0, compiled.END["none"], False, np.inf

    def alpha():
        found = np.empty(problem.n)
        compiled.write_alpha(*state, found)
        return found

    while end == compiled.END["none"] and not ended and n_steps < most:
        made, end = compiled.descend(*state, min(most - n_steps, at_once), enough)
        n_steps += made
        if progress.watched:
            # the violation itself rises with a new centre
            least = min(least, problem.proof_at(alpha()).violation)
            ended = progress.advance(1, least)
        yield
    found, w = problem.proof_at(alpha()), work.w[: rows.d + 1]
    done = end == compiled.END["ended"]
    if done and problem.squared and found.violation > tol:
        # where rows are long, rounding moves sum alpha y x away from w, which is optimal
        found = problem.proof_at(found.alpha, w)
    elif done or ended:
        found = problem.better(found, w, tol)
    return found if done or ended or found.violation <= tol else None, n_steps
