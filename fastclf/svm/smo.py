"""The solution of a dual: steps of two rows, and what helps where these are slow or rounding shows.

Where the steps are slow Newton's method on the free alphas ends it (`dual_newton.py`), and with a linear kernel of few
columns an interior point method finds another start.
"""

from typing import NamedTuple

import numpy as np

from . import dual_newton
from .dual import compiled, is_narrow
from .interior_point import Interior, SignedRows
from .steps import WholeMatrix, WorkingSets

# Rounds without a smaller violation after which a solution that rounding keeps from `tol` is given up.
_STALE = 50

# Sets or rounds of steps without gain, to the last digit, or times that Newton's method ended with neither a smaller
# violation than ever before nor such a share of the objective more: after these there will be none.
_PATIENCE, _TRIES, _GAIN = 30, 20, 1e-9

# Steps for each row, and at least, after which the interior point method takes over.
_SLOW, _SLOW_LEAST = 20, 50_000

# Newton's method is worth it when the steps of two rows since the last time have made this many looks at rows for each
# number that its factor multiplies: as much time. The rest of a Newton step (kernel values of the free rows, solutions)
# takes as long as that number of rows more would. This many free rows are few whatever the cache is.
# While violations are above 1, the margin, it is not known which rows stay free: it may take some times as long.
_NEWTON_COST, _NEWTON_REST, _FREE, _EARLY = 1 / 165, 1000, 64, 8

# Steps by singular values, at most, before a fit is given up, and the free rows that they are for.
_POLISHES, _MOST_POLISHED = 30, 500

# A hard margin is given up where it is below this share of the rows' greatest length, or an alpha above this.
_LEAST_MARGIN, _ENDLESS = 1e-6, 1e100

# Rows of the greatest alpha, among which two that no kernel value tells apart are looked for.
_SUSPECTS = 256


class Limits(NamedTuple):
    """What a solution may take."""

    tol: float  # the violation at which it ends
    max_iter: int
    shrinking: bool
    threads: int
    kept_bytes: float  # of rows of kernel values
    newton_bytes: float  # of a Newton step's matrix
    largest_set: int  # rows of a working set, and of a whole matrix


class Inseparable(Exception):
    """No hyperplane separates the classes by more than `bound`; `twins` are two rows that show it, or None."""

    def __init__(self, bound, twins):
        if twins is None:
            self.reason = f": the margin is at most {bound:.3g}, if there is one"
        else:
            self.reason = f": rows {twins[0]} and {twins[1]} are equal and of different classes"


def steps_for(dual, limits, goes_on=False):
    """The kind of steps that a dual of this size takes; see `WorkingSets`."""
    return WholeMatrix(dual, limits) if len(dual) <= limits.largest_set else WorkingSets(dual, limits, goes_on)


def solve(dual, steps, limits, report=None):
    """A generator that ends with dual.coef optimal to limits.tol, or when it can't be made better."""
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
    """What is done beside the steps of two rows of one solution, and when."""

    def __init__(self, dual, steps, limits):
        self.dual, self.steps, self.limits = dual, steps, limits
        self.ended = self.polished = False
        self.idle = self.tries = 0
        self.gained, self.least, self.reached = 0.0, np.inf, 0.0
        largest = float((dual.upper - dual.lower).max()) * float(dual.gram.diagonal(dual.rows).max())
        # where alphas at their bounds round f by more than tol, rounds without a smaller violation are counted
        self.is_rounded = np.finfo(np.float64).eps * largest > limits.tol
        self.smallest, self.stale = np.inf, 0
        self.newton_wait = 1
        self.hard = dual.is_hard()
        # the interior point method is for narrow rows
        goes_inside = is_narrow(dual.gram) and not self.hard
        self.most_steps = min(limits.max_iter, max(_SLOW * len(dual), _SLOW_LEAST) if goes_inside else limits.max_iter)

    def go_inside(self):
        """A generator: start anew from what the interior point method finds, if that is better."""
        self.most_steps = self.limits.max_iter
        dual = self.dual
        own = np.flatnonzero(dual.upper > dual.lower)
        y, C = dual.y[own], (dual.upper - dual.lower)[own]
        point = Interior(SignedRows(dual.gram.X.matrix, dual.rows[own], y), y, C)
        while point.step():
            yield
        before, objective = dual.arrays.copy(), dual.objective()
        dual.coef[own] = y * point.rounded()
        compiled.repair(dual)
        yield from dual.refresh(self.limits.threads)
        if not dual.objective() > objective:
            dual.arrays[:] = before
        self.steps.use(dual, dual.gram.of_type(np.float64))

    def after(self, gap, changed, gained):
        """A generator: after a round of steps that began at the violation `gap`, whatever is worth it."""
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
        return int(np.count_nonzero(self.dual.is_free()[self.steps.active]))

    def _newton_pays(self, gap):
        """Whether steps of two rows have taken as long as a factor does since the last time; longer if that failed."""
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
        """A generator: as `_newton` by singular values, for what rounding hides from a Cholesky factor.

        K d + b 1 = -f, 1'd = 0.
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
            # to a diagonal of ones: the least squares below know no scale
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
        """Of a hard margin: alpha grows without end where there is no optimum."""
        if self.hard and not float(np.abs(self.dual.coef).max()) < _ENDLESS:
            raise Inseparable(0.0, self._twins())

    def _require_margin(self):
        """Of a hard margin: w'w / (sum alpha)^2 bounds its square from above, whatever alpha is."""
        dual = self.dual
        total, square = dual.total(), dual.square()
        length = np.sqrt(max(0.0, float(dual.gram.diagonal(dual.rows).max())))
        if total > 0 and not square >= (_LEAST_MARGIN * length * total) ** 2:
            raise Inseparable(np.sqrt(max(square, 0.0)) / total, self._twins())

    def _twins(self):
        """Two rows of different classes that no kernel of this type tells apart, or None."""
        dual = self.dual
        own = np.argsort(-np.abs(dual.coef), kind="stable")[:_SUSPECTS]
        rows, y = dual.rows[own], dual.y[own]
        gram = dual.gram.of_type(np.float64)
        K = gram.square(gram.pack(rows), rows, 1)[:, : len(rows)]
        length = K.diagonal()
        apart = np.where(y[:, None] != y, length[:, None] + length - 2 * K, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        return sorted((int(rows[i]), int(rows[j]))) if apart[i, j] <= 1e-12 * max(length[i], length[j]) else None
