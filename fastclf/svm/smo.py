"""The solution of a dual by sequential minimal optimisation, with help where that is slow or rounding stops it.

Where steps are slow, Newton's method on the free alphas (`dual_newton.py`) takes over; with a linear kernel of few
columns, an interior point method (`interior_point.py`) finds another point to start from.
"""

from typing import NamedTuple

import numpy as np

from . import dual_newton
from .dual import compiled, is_narrow
from .interior_point import Interior, SignedRows
from .steps import WholeMatrix, WorkingSets

# The number of rounds without a smaller violation, after which a solution is given up that rounding keeps above `tol`.
_STALE = 50

# No further progress is expected after _PATIENCE rounds of steps that do not change the last digit of the objective, or
# after _TRIES of Newton's method that neither lower the violation nor raise the objective by the share _GAIN.
_PATIENCE, _TRIES, _GAIN = 30, 20, 1e-9

# Steps for each row, and at least, after which the interior point method takes over.
_SLOW, _SLOW_LEAST = 20, 50_000

# Newton's method starts when steps have visited _NEWTON_COST rows, since it ran last, for each multiplication of its
# Cholesky factor: both then take the same time. The rest of a Newton step (kernel values of the free rows, solutions)
# takes as long as _NEWTON_REST more rows in the factor would. It is allowed for _FREE free rows even with a small
# cache. While the violation is above 1, the margin, free rows still change, and the wait is _EARLY times as long.
_NEWTON_COST, _NEWTON_REST, _FREE, _EARLY = 1 / 165, 1000, 64, 8

# The most Newton steps by singular values before a fit is given up, and the most free rows that they are taken for.
_POLISHES, _MOST_POLISHED = 30, 500

# A hard margin is given up if it is below this share of the longest row's length, or if an alpha is above this.
_LEAST_MARGIN, _ENDLESS = 1e-6, 1e100

# The number of rows, those of the largest alpha, that are searched for two equal rows of different classes.
_SUSPECTS = 256


class Limits(NamedTuple):
    """The limits of a solution in accuracy, steps, threads and memory."""

    tol: float  # the violation at which it ends
    max_iter: int
    shrinking: bool
    threads: int
    kept_bytes: float  # for the cache of rows of the kernel matrix
    newton_bytes: float  # for the matrix of a Newton step
    largest_set: int  # the most rows of a working set, and of a dual whose kernel matrix is made as a whole


class Inseparable(Exception):
    """No hyperplane separates the classes by more than `bound`; `twins` are two rows that show it, or None."""

    def __init__(self, bound, twins):
        if twins is None:
            self.reason = f": the margin is at most {bound:.3g}, if there is one"
        else:
            self.reason = f": rows {twins[0]} and {twins[1]} are equal and of different classes"


def steps_for(dual, limits, goes_on=False):
    """`WholeMatrix` or, for a dual with more rows than a working set may have, `WorkingSets`."""
    return WholeMatrix(dual, limits) if len(dual) <= limits.largest_set else WorkingSets(dual, limits, goes_on)


def solve(dual, steps, limits, report=None):
    """A generator: optimise dual.coef to limits.tol, or until a limit or rounding ends it.

    report: report(dual, steps, violation) is called after each round; true ends the solution.
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
                dual.unsure = -np.inf  # once: the next steps are few, and begin with an f that is right
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


class Help:
    """When one solution turns from steps to other methods, and these methods.

    ended: no further progress is expected. most_steps: the interior point method takes over after them.
    """

    def __init__(self, dual, steps, limits):
        self.dual, self.steps, self.limits = dual, steps, limits
        self.ended = self.polished = False
        self.idle = self.tries = 0
        self.gained, self.least, self.reached = 0.0, np.inf, 0.0
        largest = float((dual.upper - dual.lower).max()) * float(dual.gram.diagonal(dual.rows).max())
        # whether alphas at their bounds make the rounding of f larger than tol
        self.is_rounded = np.finfo(np.float64).eps * largest > limits.tol
        self.smallest, self.stale = np.inf, 0
        self.newton_wait = 1
        self.hard = dual.is_hard()
        # the interior point method is for narrow rows
        goes_inside = is_narrow(dual.gram) and not self.hard
        self.most_steps = min(limits.max_iter, max(_SLOW * len(dual), _SLOW_LEAST) if goes_inside else limits.max_iter)

    def go_inside(self):
        """A generator: move coef to the solution of the interior point method, if that is better."""
        self.most_steps = self.limits.max_iter
        dual = self.dual
        rows = np.flatnonzero(dual.upper > dual.lower)
        y, C = dual.y[rows], (dual.upper - dual.lower)[rows]
        point = Interior(SignedRows(dual.gram.X.matrix, dual.rows[rows], y), y, C)
        while point.step():
            yield
        before, objective = dual.arrays.copy(), dual.objective()
        dual.coef[rows] = y * point.rounded()
        compiled.repair(dual)
        yield from dual.refresh(self.limits.threads)
        if not dual.objective() > objective:
            dual.arrays[:] = before
        self.steps.use(dual, dual.gram.of_type(np.float64))

    def after(self, gap, changed, gained):
        """A generator: after a round of steps that began at the violation `gap`, other methods if it is time."""
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
            self.steps.use(dual, dual.gram.of_type(np.float64))
            yield from dual.refresh(self.limits.threads)

    def _n_free(self):
        """The number of active rows whose alpha is between its bounds."""
        return int(np.count_nonzero(self.dual.is_free()[self.steps.active]))

    def _newton_pays(self, gap):
        """Whether steps since Newton's method last ran took as long as it does, or twice that if it did not end."""
        m = self._n_free()
        most = max(_FREE, dual_newton.most_rows(self.limits.newton_bytes / 8))
        cost = _NEWTON_COST * m**2 * (m + _NEWTON_REST)
        return 1 < m <= most and self.steps.looks >= self.newton_wait * (1 if gap <= 1 else _EARLY) * cost

    def _newton(self):
        """A generator: Newton's method on the free alphas."""
        dual, steps, tol = self.dual, self.steps, self.limits.tol
        gram = dual.gram.of_type(np.float64)
        buffer = steps.buffer(dual_newton.numbers_for(self._n_free()))
        rows, change, done = yield from dual_newton.steps(dual, gram, steps.active, buffer, self.limits.threads)
        steps.give_back(dual)
        self._require_end()
        noise = float(np.hypot(dual.noise, np.linalg.norm(change)))
        if dual.gram.rounding() * noise <= 0.1 * tol:
            yield from steps.add(dual, rows, change)
        elif gram.rounding() * noise > 0.1 * tol:
            yield from dual.refresh(self.limits.threads)
        else:
            yield from dual.add(gram, rows, change, steps.active, self.limits.threads)
        self.newton_wait, steps.looks = 1 if done else 2, 0

    def _polish(self):
        """A generator: Newton steps on the free alphas by singular values, which lose fewer digits than a factor.

        The step d is that of K d + b 1 = -f, 1'd = 0.
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
            # a diagonal of ones, as the least squares below do not scale
            scale = 1 / np.sqrt(np.maximum(K.diagonal(), 1e-300))
            system = np.zeros((m + 1, m + 1))
            system[:m, :m] = K * scale * scale[:, None]
            system[:m, m] = system[m, :m] = scale / scale.max()
            try:
                step = scale * np.linalg.lstsq(system, np.append(-scale * f, 0.0), rcond=1e-15)[0][:m]
            except np.linalg.LinAlgError:  # the singular values do not converge
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
        """Refuse a hard margin that does not exist: there alpha grows without end."""
        if self.hard and not float(np.abs(self.dual.coef).max()) < _ENDLESS:
            raise Inseparable(0.0, self._twins())

    def _require_margin(self):
        """Refuse a hard margin that is too small: w'w / (sum alpha)^2 is an upper bound of its square for any alpha."""
        dual = self.dual
        total, square = dual.total(), dual.square()
        length = np.sqrt(max(0.0, float(dual.gram.diagonal(dual.rows).max())))
        if total > 0 and not square >= (_LEAST_MARGIN * length * total) ** 2:
            raise Inseparable(np.sqrt(max(square, 0.0)) / total, self._twins())

    def _twins(self):
        """Two rows of different classes at a distance of 0 in the kernel's space, but for rounding; or None."""
        dual = self.dual
        largest = np.argsort(-np.abs(dual.coef), kind="stable")[:_SUSPECTS]
        rows, y = dual.rows[largest], dual.y[largest]
        gram = dual.gram.of_type(np.float64)
        K = gram.square(gram.pack(rows), rows, 1)[:, : len(rows)]
        length = K.diagonal()
        apart = np.where(y[:, None] != y, length[:, None] + length - 2 * K, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        return sorted((int(rows[i]), int(rows[j]))) if apart[i, j] <= 1e-12 * max(length[i], length[j]) else None
