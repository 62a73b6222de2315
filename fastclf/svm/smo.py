"""The solution of a dual by sequential minimal optimisation; other methods help where it is slow or rounding stops it.

Where steps are slow, Newton's method on the free alphas (`dual_newton.py`) takes over. With a linear kernel of few
columns, an interior point method (`interior_point.py`) finds another point to start from.
"""

from typing import NamedTuple

import numpy as np

from .._threads import norm_of
from . import dual_newton, interior_point
from .dual import compiled, is_narrow
from .steps import WholeMatrix, WorkingSets

# A fit is given up after this number of rounds without a smaller violation, if rounding may keep it above `tol`.
_STALE = 50

# Kernel values in float32 are given up
# _NOISY: if the error of f that they cause exceeds `tol`, and the violation is at most _NOISY times that error, or
# _REFINED: if f, computed anew, shows more than this share of the violation that it showed the last time.
_NOISY, _REFINED = 10, 1 / 2

# No further progress is expected after
# _PATIENCE: this number of rounds of steps that do not change the last digit of the objective, or
# _TRIES: this number of rounds of Newton's method that neither lower the violation by 1 % nor raise the objective by
# the share _GAIN.
_PATIENCE, _TRIES, _GAIN = 30, 20, 1e-9

# The interior point method takes over when the steps of sequential minimal optimisation (SMO) have taken as long as it
# would take, at the latest after _SLOW steps for each row or, if that is more, _SLOW_LEAST steps. A step is assumed to
# take _STEP_COST nanoseconds, and one more for each row of a working set, which has at most _SET_ROWS rows.
_SLOW, _SLOW_LEAST, _SET_ROWS, _STEP_COST = 20, 50_000, 2048, 64

# A Newton step is taken when the SMO steps since the last one have taken as long as the Newton step will. Its time is
# that of _NEWTON_LEAST visits of a row, and of _NEWTON_COST visits for each multiplication of its Cholesky
# factorisation; its other parts (kernel values, triangular solves) are counted as _NEWTON_REST more rows of the factor.
# Newton steps are ruled out if the number of free rows exceeds both _FREE and the largest number for which the factor
# fits the memory. While the violation is above 1, the width of the margin, the set of free rows still changes much, and
# the wait for a Newton step is _EARLY times as long.
_NEWTON_COST, _NEWTON_REST, _NEWTON_LEAST, _FREE, _EARLY = 1 / 165, 1000, 1 << 18, 64, 8

# _POLISHES: the most Newton steps by singular values before a fit is given up.
# _MOST_POLISHED: the most free rows, with alpha between its bounds, for which these steps are taken.
_POLISHES, _MOST_POLISHED = 30, 500

# _LEAST_MARGIN: a hard margin is given up below this share of the length of the longest row.
# _ENDLESS: a hard margin is given up if an alpha exceeds this.
_LEAST_MARGIN, _ENDLESS = 1e-6, 1e100

# Two equal rows of different classes, which no hyperplane separates, are searched for among this number of rows with
# the largest alpha.
_SUSPECTS = 256


class Limits(NamedTuple):
    """The limits of a solution: accuracy, steps, threads and memory."""

    tol: float  # the largest violation of the optimality conditions with which a solution is accepted
    max_iter: int
    shrinking: bool
    threads: int
    kept_bytes: float  # the memory, in bytes, for the cache of rows of the kernel matrix
    newton_bytes: float  # the memory, in bytes, for the matrix of a Newton step
    # the largest number of rows in a working set; a dual problem of at most this number of rows is solved with its
    # whole kernel matrix
    largest_set: int


class Inseparable(Exception):
    """No hyperplane separates the classes with a margin above `bound`; `twins` are two rows that show it, or None."""

    def __init__(self, bound, twins):
        if twins is None:
            self.reason = f": the margin is at most {bound:.3g}, if there is one"
        else:
            self.reason = f": rows {twins[0]} and {twins[1]} are equal and of different classes"


def steps_for(dual, limits, goes_on=False):
    """`WholeMatrix`; for a dual with more rows than a working set may have, `WorkingSets`."""
    return WholeMatrix(dual, limits) if len(dual) <= limits.largest_set else WorkingSets(dual, limits, goes_on)


def solve(dual, steps, limits, report=None):
    """A generator: optimise dual.coef until the violation is at most limits.tol, or a limit or rounding ends it.

    report: report(dual, steps, violation) is called after each round; True ends the solution.
    """
    help = Help(dual, steps, limits)
    steps.begin(dual)
    while True:
        least, most = steps.ends(dual)
        gap = max(0.0, most - least) if least < np.inf and most > -np.inf else 0.0
        if steps.is_due(gap):
            yield from steps.restore(dual)
            continue
        if gap <= limits.tol or help.ended or dual.n_steps >= help.most_steps:
            if steps.has_left_out():
                yield from steps.restore(dual)
            elif dual.is_doubtful(limits.tol):
                yield from dual.refresh(limits.threads)
                # rounding errors of the gradient f need no check for the next few steps, because f has just been
                # computed anew
                dual.unsure = -np.inf
                help.after_refresh()
            elif gap <= limits.tol or help.ended or dual.n_steps >= limits.max_iter:
                break
            else:
                yield from help.go_inside()
            continue
        changed, gained = yield from steps.make(dual, (least, most), limits)
        yield from help.after(gap, changed, gained)
        if limits.shrinking:
            steps.shrink(dual, (least, most))
        if report is not None and report(dual, steps, gap):
            help.ended, dual.reason = True, ": the callback ended it"
        yield
    dual.converged = gap <= limits.tol


def _slow_steps(dual):
    """The number of steps of sequential minimal optimisation after which an interior point method takes over."""
    n, X = len(dual), dual.gram.X
    alike = interior_point.cost(n, X.n_columns, X.indptr is not None) / (min(n, _SET_ROWS) + _STEP_COST)
    return int(min(alike, max(_SLOW * n, _SLOW_LEAST)))


class Help:
    """Decides when a solution goes over from steps to other methods, and runs these methods.

    ended: no further progress is expected. most_steps: the number of steps before the interior point method.
    """

    def __init__(self, dual, steps, limits):
        self.dual, self.steps, self.limits = dual, steps, limits
        self.ended = self.polished = False
        self.idle = self.tries = 0
        self.gained, self.least, self.reached = 0.0, np.inf, 0.0
        largest = float((dual.upper - dual.lower).max()) * float(dual.gram.diagonal(dual.rows).max())
        # whether rounding errors of the gradient f exceed tol if an alpha is at its upper bound
        self.is_rounded = np.finfo(np.float64).eps * largest > limits.tol
        self.smallest, self.stale, self.refined = np.inf, 0, np.inf
        self.newton_wait = 1
        self.hard = dual.is_hard()
        # the interior point method saves time only if the rows have few columns
        goes_inside = is_narrow(dual.gram) and not self.hard
        self.most_steps = min(limits.max_iter, _slow_steps(dual) if goes_inside else limits.max_iter)

    def go_inside(self):
        """A generator: move coef to the solution of the interior point method, if its objective is better."""
        self.most_steps = self.limits.max_iter
        dual = self.dual
        rows = np.flatnonzero(dual.upper > dual.lower)
        y, C = dual.y[rows], (dual.upper - dual.lower)[rows]
        X = dual.gram.X.matrix
        size = len(rows) * X.shape[1]
        buffer = self.steps.buffer(size) if 8 * size <= self.limits.kept_bytes else None
        point = interior_point.Interior(interior_point.SignedRows(X, dual.rows[rows], y, buffer), y, C)
        yield from interior_point.steps(point)
        before, objective = dual.arrays.copy(), dual.objective()
        dual.coef[rows] = y * point.rounded()
        compiled.repair(dual)
        yield from dual.refresh(self.limits.threads)
        if not dual.objective() > objective:
            dual.arrays[:] = before
        self.steps.use(dual, dual.gram.of_type(np.float64))

    def after(self, gap, changed, gained):
        """A generator: after a round of steps from the violation `gap`, run other methods where they are due."""
        dual = self.dual
        self._require_end()
        self.gained += gained
        self.stale = 0 if gap < 0.9 * self.smallest else self.stale + 1
        self.smallest = min(gap, self.smallest)
        if self.is_rounded and not self.hard and self.stale > _STALE:
            self.ended, dual.reason = True, ": rounding lets no step get further"
            return
        self.idle = 0 if changed and gained > 1e-15 * self.gained else self.idle + 1
        if self.hard:
            self._require_margin()
        noise = dual.gram.rounding() * dual.noise
        if dual.gram.dtype != np.float64 and noise > max(self.limits.tol, gap / _NOISY):
            self._use_float64()
            yield from dual.refresh(self.limits.threads)
        if self._newton_pays(gap):
            yield from self._newton()
            objective = dual.objective()
            better = gap < 0.99 * self.least or objective > self.reached + _GAIN * abs(self.reached)
            self.tries = 0 if better else self.tries + 1
            self.least, self.reached = min(gap, self.least), max(objective, self.reached)
        if changed and self.idle <= _PATIENCE and self.tries <= _TRIES:
            return
        self.tries = 0
        if not self.polished:
            yield from self._polish()
            self.polished = True
        elif dual.gram.dtype == np.float64:
            self.ended, dual.reason = True, ": rounding lets no step get further"
        else:
            self._use_float64()
            yield from dual.refresh(self.limits.threads)

    def after_refresh(self):
        """After f was computed anew, take kernel values in float64 if those in float32 get no further."""
        least, most = self.steps.ends(self.dual)
        if most - least > max(self.limits.tol, _REFINED * self.refined) and self.dual.gram.dtype != np.float64:
            self._use_float64()
        self.refined = most - least

    def _use_float64(self):
        """Take kernel values in float64 from now on; what those in float32 seemed to reach counts no more."""
        self.steps.use(self.dual, self.dual.gram.of_type(np.float64))
        self.idle = self.tries = 0
        self.least, self.reached = np.inf, 0.0

    def _n_free(self):
        """The number of active rows whose alpha is between its bounds."""
        return int(np.count_nonzero(self.dual.is_free()[self.steps.active]))

    def _newton_pays(self, gap):
        """Whether the steps since Newton's method last ran took as long as that run (twice as long if it failed)."""
        m = self._n_free()
        most = max(_FREE, dual_newton.most_rows(self.limits.newton_bytes / 8))
        cost = _NEWTON_LEAST + _NEWTON_COST * m**2 * (m + _NEWTON_REST) + self.steps.cost_of_rows(m)
        return 1 < m <= most and self.steps.looks >= self.newton_wait * (1 if gap <= 1 else _EARLY) * cost

    def _newton(self):
        """A generator: run Newton's method on the alphas between their bounds, and update the gradient f."""
        dual, steps, tol = self.dual, self.steps, self.limits.tol
        gram = dual.gram.of_type(np.float64)
        buffer = steps.buffer(dual_newton.numbers_for(self._n_free()))
        rows, change, done = yield from dual_newton.steps(dual, gram, steps.active, buffer, self.limits.threads)
        steps.give_back(dual)
        self._require_end()
        noise = float(np.hypot(dual.noise, norm_of(change)))
        if dual.gram.rounding() * noise <= 0.1 * tol:
            yield from steps.add(dual, rows, change)
        elif gram.rounding() * noise > 0.1 * tol:
            yield from dual.refresh(self.limits.threads)
        else:
            yield from dual.add(gram, rows, change, steps.active, self.limits.threads)
        self.newton_wait, steps.looks = 1 if done else 2, 0

    def _polish(self):
        """A generator: Newton steps on the free alphas by singular values, which lose fewer digits than Cholesky.

        The step d solves K d + b 1 = -f, 1'd = 0.
        """
        dual = self.dual
        gram = dual.gram.of_type(np.float64)
        for _ in range(_POLISHES):
            free = np.flatnonzero(dual.is_free())
            m = len(free)
            if not 1 < m <= _MOST_POLISHED:
                break
            f, coef = dual.f[free], dual.coef[free]
            K = gram.square(gram.pack(dual.rows[free]), dual.rows[free], 1)[:, :m]
            # the kernel matrix is scaled to a diagonal of ones, as `lstsq` compares singular values with the largest
            # one
            scale = 1 / np.sqrt(np.maximum(K.diagonal(), 1e-300))
            system = np.zeros((m + 1, m + 1))
            system[:m, :m] = K * scale * scale[:, None]
            system[:m, m] = system[m, :m] = scale / scale.max()
            try:
                step = scale * np.linalg.lstsq(system, np.append(-scale * f, 0.0), rcond=1e-15)[0][:m]
            except np.linalg.LinAlgError:  # the singular value decomposition did not converge
                break
            step -= step.mean()
            bound = np.where(step > 0, dual.upper[free], dual.lower[free])
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(step != 0, (bound - coef) / step, np.inf)
            length = min(1.0, float(reach.min()))
            if not length * float(step @ f) + 0.5 * length**2 * float(step @ K @ step) < 0:
                break
            met = np.clip(coef + length * step, dual.lower[free], dual.upper[free])
            dual.coef[free] = np.where(reach <= length, bound, met)
            dual.note(length * step)
            yield from dual.add(gram, free, length * step, np.arange(len(dual)), self.limits.threads)

    def _require_end(self):
        """Raise Inseparable if an alpha is so large that no separating hyperplane, thus no hard margin, can exist."""
        if self.hard and not float(np.abs(self.dual.coef).max()) < _ENDLESS:
            raise Inseparable(0.0, self._twins())

    def _require_margin(self):
        """Raise Inseparable if the margin, at most |w| / sum alpha for any alpha, is proved to be too small."""
        dual = self.dual
        total, square = dual.total(), dual.square()
        length = np.sqrt(max(0.0, float(dual.gram.diagonal(dual.rows).max())))
        if total > 0 and not square > (_LEAST_MARGIN * length * total) ** 2:  # both are 0 where the kernel is
            raise Inseparable(np.sqrt(max(square, 0.0)) / total, self._twins())

    def _twins(self):
        """Two rows of different classes that coincide in the kernel's feature space but for rounding, or None."""
        dual = self.dual
        largest = np.argsort(-np.abs(dual.coef), kind="stable")[:_SUSPECTS]
        rows, y = dual.rows[largest], dual.y[largest]
        gram = dual.gram.of_type(np.float64)
        K = gram.square(gram.pack(rows), rows, 1)[:, : len(rows)]
        length = K.diagonal()
        apart = np.where(y[:, None] != y, length[:, None] + length - 2 * K, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        rows = rows if gram.row_numbers is None else gram.row_numbers[rows]
        return sorted((int(rows[i]), int(rows[j]))) if apart[i, j] <= 1e-12 * max(length[i], length[j]) else None
