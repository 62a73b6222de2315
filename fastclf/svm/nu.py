"""The dual of nu-SVC (`_within.pxd`) by working sets, for pairs of classes whose kernel matrix does not fit memory."""

import numpy as np

from .dual import PROOF, Dual, compiled
from .gram import padded
from .smo import steps_for

# _LEAST_MARGIN: violations are measured in units of the margin. The unit is at least the product of three factors: this
# share, the mean squared distance of the rows from the first row in the kernel's feature space, and the sum of alpha
# over one class; `_within.pxd` uses the same unit. A fit is given up when both the margin and the violation are below
# this least unit.
_LEAST_MARGIN = 1e-6

# A fit is given up after this number of rounds of steps that do not change the last digit of the objective, or of
# checks that find no progress.
_PATIENCE = 30

# A check is made after this number of rounds, and where the gap has come to its goal. There is progress if the gap is
# below the share _LESS of the smallest one before, or if the objective falls by more than its share _GAIN.
_ROUNDS, _LESS, _GAIN = 256, 0.5, 1e-9

_ROUNDED = ": rounding lets no step get further"

# The number of rows whose kernel values with a few rows are computed in one call.
_COLUMNS = 4096


class NuDual(Dual):
    """min 1/2 b'Kb, where the sum of b over each class is given; f is K b minus a number for each class."""

    def __init__(self, gram, rows, y, C, nu, coef):
        self.nu = nu
        super().__init__(gram, rows, y, C, coef)
        first = gram.of_type(np.float64)
        values = self._values(first, rows[:1], rows)[0]
        # a kernel that is no inner product, such as 'sigmoid', may make the mean negative; a unit may not be
        apart = abs(float((first.diagonal(rows) + values[0] - 2 * values).mean()))
        self.least_margin = _LEAST_MARGIN * apart * self.total() / 2

    @staticmethod
    def _values(gram, rows, columns):
        """The matrix of kernel values between the few rows `rows` and the rows `columns`, without padding."""
        packed, parts = gram.pack(rows), []
        for start in range(0, max(1, len(columns)), _COLUMNS):  # Ctrl-C is obeyed between two parts
            part = columns[start : start + _COLUMNS]
            out = np.empty((len(rows), padded(len(part), max(1, gram.wide))))
            gram.fill(packed, part, out, 1)
            parts.append(out[:, : len(part)])
        return np.concatenate(parts, axis=1)

    def margin(self, active):
        """((K b - f) of each class, the margin), from an active row of each class, whose f is up to date."""
        of_class = [active[np.argmax(self.y[active] == sign)] for sign in (1, -1)]
        support = np.flatnonzero(self.coef)
        values = self._values(self.gram.of_type(np.float64), self.rows[of_class], self.rows[support])
        off = [float(row @ self.coef[support] - self.f[i]) for row, i in zip(values, of_class)]
        return off, compiled.margin(self, *off)

    def finish(self, active):
        """Turn this problem into the problem of SVC that has the same hyperplane."""
        off, margin = self.margin(active)
        self.intercept = compiled.scale_to_margin(self, *off, max(margin, self.least_margin) or 1.0)
        self.nu = 0.0

    def prove(self):
        out = np.empty(len(PROOF))
        compiled.proof_at(self, self.intercept, out)
        return out


class Progress:
    """Finds out whether a fit gets further, from gradients that are free from the rounding errors of many steps.

    Where kernel values are large beside their differences, each step can seem to gain what rounding then takes back.
    """

    def __init__(self):
        self.gap = self.square = np.inf
        self.failed = 0

    def ends(self, gap, square):
        """Whether this is one of too many checks in turn without progress; square: the objective b'Kb."""
        falls = square < self.square - _GAIN * abs(self.square) if np.isfinite(self.square) else True
        self.failed = 0 if falls or gap < _LESS * self.gap else self.failed + 1
        self.gap, self.square = min(self.gap, gap), min(self.square, square)
        return self.failed > _PATIENCE


def solve(dual, steps, limits, report=None):
    """A generator: make dual.coef optimal to limits.tol in units of the margin; `dual` becomes a problem of SVC."""
    steps.begin(dual)
    yield from dual.refresh(limits.threads)
    idle, total, ended = 0, 0.0, False
    progress, rounds, fresh = Progress(), 0, False
    while True:
        compiled.centre(dual, steps.active)
        least, most = steps.ends(dual)
        gap = max(0.0, most - least) if np.isfinite(most - least) else 0.0
        if steps.is_due(gap):
            yield from steps.restore(dual)
            continue
        margin = dual.margin(steps.active)[1]
        goal = limits.tol * max(margin, dual.least_margin)
        if fresh and progress.ends(gap, dual.square()) and gap > goal:
            ended, dual.reason = True, _ROUNDED
        fresh = False
        ended = ended or (margin < dual.least_margin and gap <= dual.least_margin)
        if gap <= goal or ended or dual.n_steps >= limits.max_iter:
            if steps.has_left_out():
                yield from steps.restore(dual)
            elif dual.is_doubtful(goal):
                yield from dual.refresh(limits.threads)
                # rounding errors of the gradient f need no check for the next few steps, because f has just been
                # computed anew
                dual.unsure = -np.inf
                rounds, fresh = 0, True
            else:
                break
            continue
        rounds += 1
        if rounds > _ROUNDS:
            yield from dual.refresh(limits.threads)
            rounds, fresh = 0, True
            continue
        changed, gained = yield from steps.make(dual, (least, most), limits._replace(tol=goal))
        total += gained
        idle = 0 if changed and gained > 1e-15 * total else idle + 1
        if idle > _PATIENCE and dual.gram.dtype == np.float64:
            ended, dual.reason = True, _ROUNDED
        elif idle > _PATIENCE:
            steps.use(dual, dual.gram.of_type(np.float64))
            yield from dual.refresh(limits.threads)
            idle = 0
        if limits.shrinking and idle == 0:
            compiled.centre(dual, steps.active)
            steps.shrink(dual, steps.ends(dual))
        if report is not None and report(dual, steps, gap):
            ended, dual.reason = True, ": the callback ended it"
        yield
    dual.converged = gap <= goal
    dual.finish(steps.active)


def solve_pair(problem, found, p, limits, watch):
    """A generator: solve pair number p, starting from the coefficients in `found`."""
    pair = problem.pairs[p]
    rows, y = problem.rows_of(pair)
    dual = NuDual(problem.gram, rows, y, problem.Cs[0][rows], problem.nu, np.concatenate(found.of_pair(0, pair)))
    dual.n_steps = int(found.n_steps[0, p])
    steps = steps_for(dual, limits)
    name = "" if len(problem.pairs) == 1 else "{} against {}".format(*pair)

    def report(dual, steps, gap):
        return watch.tell(name, dual.n_steps, gap, steps.shown())

    yield from solve(dual, steps, limits, report)
    found.keep(0, p, pair, dual)
