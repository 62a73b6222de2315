"""The dual of a two-class support vector machine, by sequential minimal optimisation on working sets.

A step of the outer loop chooses a working set of rows that violate most, optimises alpha over it (`_smo.pyx`), and adds
the change to f for all rows: only of the rows whose alpha changed are kernel values wanted, and the last of them are
kept in a cache. Where much stays as it is, rows that are at a bound and look as if they would stay there are left out,
and made good for later (Joachims 1998). Where these steps are slow, Newton's method on the free alphas ends it
(`dual_newton.py`).
"""

import numpy as np

from .. import _simd
from ..kernels import values as kernel_values
from . import dual_newton
from .cache import NOTHING, Side
from .gram import PAD, padded, square
from .interior_point import Interior, SignedRows

compiled = _simd.load("svm._smo")

# Rows of a working set at first; it doubles every so many outer steps. A9a with C = 1000, 12,000 rows: 4.8 s
# with 2048, 10 with 1024, and never ending with 256, which is best where C = 1.
_SET, _DOUBLE_EVERY = 256, 32

# Steps inside a working set, for each of its rows: then all rows are looked at anew.
_STEPS = 50

# Rows that steps look at before Ctrl-C is, some 30 ms.
_AT_ONCE = 1 << 24

# Outer steps after which rows may be left out, and the share of rows that must go to be worth it.
_SHRINK_EVERY, _SHRINK_SHARE = 10, 0.2

# All rows are looked at again when the violation has come down to this share of what it was when some were left out.
_RESTORE = 0.1

# Rows left out at one time are made good together; so many times at most until all are.
_LEVELS = 8

# Outer steps without gain, to the last digit, or times that Newton's method ended with neither a smaller violation than
# ever before nor such a share of the objective more: after these there will be none.
_PATIENCE, _TRIES, _GAIN = 30, 20, 1e-9

# Steps for each row, and at least, after which the interior point method takes over; the columns that it takes at most.
_SLOW, _SLOW_LEAST, _COLUMNS = 20, 50_000, 1000

# Newton's method is worth it when the steps of two rows since the last time had so many rows to look at, in all, for
# each number that its factor multiplies: as much time. The rest of a Newton step (kernel values of the free rows,
# solutions) is as if there were so many more of them. So many free rows have room whatever the cache is.
# While violations are above 1, the margin, it is not known which rows stay free: it may take so many times as long.
_NEWTON_COST, _NEWTON_REST, _FREE, _EARLY = 1 / 165, 1000, 64, 8

# Steps by singular values, at most, before a fit is given up, and the free rows that they are for.
_POLISHES, _MOST_POLISHED = 30, 500

# A share of the sum of alpha that y'alpha may be, for its roundings.
_UNBALANCED = 1e-13

# A hard margin is given up where it is below this share of the rows' greatest length, or an alpha above this.
_LEAST_MARGIN, _ENDLESS = 1e-6, 1e100


class Dual:
    """One problem: rows of a gram, labels y of all rows, -1, 0 or +1 (0: not in the problem), bounds C, start alpha.

    `goes_on` tells that there will be other bounds, for which the cache is kept. place, up, low: that of `OwnClasses`,
    and its classes that have the rows of +1 and of -1.
    """

    def __init__(self, gram, y, C, alpha, goes_on=False, place=None, up=NOTHING, low=NOTHING):
        self.gram, self.y, self.C, self.alpha = gram, y, C, feasible(alpha, y, C)
        self.rows = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y < 0)])
        self.f = -y.astype(np.float64)
        self.n_steps = 0
        self.converged, self.reason = False, ""
        self.newton_wait, self.looked_at = 1, 0  # rows that steps of two looked at since Newton's method was used
        self.noise = 0.0  # of f: the root of the sum of the squares of all changes
        self.sides, self.own, self.goes_on = None, (gram, place, (up, low)), goes_on

    def objective(self):
        """sum alpha - 1/2 alpha' Q alpha."""
        a, y, f = self.alpha[self.rows], self.y[self.rows], self.f[self.rows]
        return 0.5 * float(a.sum() - (a * y) @ f)

    def _add(self, gram, rows, coef, columns):
        """f[columns] += coef @ K[rows, columns], in blocks of rows."""
        for start in range(0, len(rows), kernel_values.BLOCK):
            block = slice(start, start + kernel_values.BLOCK)
            Z = gram.pack(rows[block])
            gram.add(Z, np.arange(len(Z)), coef[block], columns, self.f)
            yield

    def add_kept(self, Z, picked, coef, rows):
        """f[active] += coef @ K of the packed rows in the list `picked`, which are `rows`, from and to what is kept."""
        n = self._n_up(self.active)
        for side, columns in zip(self.sides, (self.active[:n], self.active[n:])):
            if len(columns):
                self.gram.add(Z, picked, coef, columns, self.f, side.stored(rows, self.y[rows], columns))

    def _n_up(self, rows):
        """How many of rows, which are in the order of `self.rows`, are of +1."""
        return int(np.count_nonzero(self.y[rows] > 0))

    def _square(self, Z, rows):
        """`square` of rows in the order of `self.rows`, by what is kept of the two classes."""
        if any(side.block is None for side in self.sides):
            return square(self.gram, Z, rows)
        out, n = np.zeros((len(rows), padded(len(rows), PAD)), self.gram.dtype), self._n_up(rows)
        for side, first, stop in zip(self.sides, (0, n), (n, len(rows))):
            compiled.gather(side.block, side.place[rows[first:stop]], first, out)
        if 0 < n < len(rows):
            self.gram.fill_square(Z, rows, out, n)
        return out

    def add_all(self, gram, rows, coef, columns):
        for _ in self._add(gram, rows, coef, columns):
            pass

    def move(self, C):
        """Go on to other bounds, alpha scaled as far as they and the objective let it; f and the cache stay good."""
        a, y, f = self.alpha[self.rows], self.y[self.rows], self.f[self.rows]
        used, square = a > 0, float((a * y) @ (f + y))
        with np.errstate(divide="ignore"):
            most = float(np.min(C[self.rows][used] / a[used], initial=np.inf))
            factor = min(most, float(np.float64(a.sum()) / max(square, 0.0))) if used.any() else 1.0
        factor = factor if np.isfinite(factor) else 1.0
        self.alpha, self.C = at_bounds(self.alpha * factor, C), C
        self.f = factor * (self.f + self.y) - self.y
        self.noise *= factor
        self.n_steps, self.converged, self.reason = 0, False, ""

    def _refresh(self):
        """f from nothing, in float64, once the roundings of y'alpha are made good."""
        row, excess = self._unbalanced()
        self.alpha[row] -= self.y[row] * excess
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        self.f[:] = -self.y
        support = np.flatnonzero(self.alpha)
        yield from self._add(gram, support, self.y[support] * self.alpha[support], self.rows)
        self.noise = 0.0

    def _unbalanced(self):
        """(the free row with the most room, y'alpha if `feasible` would change it and that row can; else 0)."""
        rows = self.rows
        y, a, C = self.y[rows], self.alpha[rows], self.C[rows]
        excess, room = float(y @ a), np.minimum(a, C - a)
        most = int(room.argmax())
        return rows[most], excess if _UNBALANCED * float(a.sum()) < abs(excess) < room[most] else 0.0

    def violation_anew(self):
        """max_low f - min_up f, with f from nothing."""
        for _ in self._refresh():
            pass
        up, low = compiled.violation(self.rows, self.f, self.alpha, self.y, self.C)
        return max(0.0, low - up) if up < np.inf and low > -np.inf else 0.0

    def solve(self, tol, max_iter, shrinking, cache_bytes, newton_bytes, largest_set, report=None):
        """A generator that ends with alpha optimal to `tol`, or when it can't be made better; see `_smo.pyx`."""
        y, C, alpha, f = self.y, self.C, self.alpha, self.f
        self.hard = bool(np.isinf(C[self.rows]).any())
        self.cache_bytes, self.newton_bytes = cache_bytes, newton_bytes
        self.set_bytes = largest_set**2 * self.gram.dtype.itemsize
        if self.sides is None:
            if self.alpha.any():
                yield from self._refresh()
            self._use(self.gram)
        shrinking = shrinking and not (self.goes_on and all(side.holds_all() for side in self.sides))
        largest = max(2, min(largest_set, len(self.rows)))
        q = min(_SET, largest)
        taken, key, row = np.zeros(len(y), np.uint8), np.empty(largest), np.empty(largest, np.int64)
        chosen, coef, before = np.empty(largest, np.int64), np.empty(largest), np.empty(0, np.int64)
        room = np.zeros((8, largest + PAD))
        ended, polished, idle, tries, n_outer, total = False, False, 0, 0, 0, 0.0
        least, reached = np.inf, 0.0
        patience = max(_SLOW * len(self.rows), _SLOW_LEAST) if self._is_narrow() and not self.hard else np.inf
        while True:
            up, low = compiled.violation(self.active, f, alpha, y, C)
            gap = max(0.0, low - up) if up < np.inf and low > -np.inf else 0.0
            if self.levels and gap <= _RESTORE * self.shrunk_at:
                yield from self._restore()
                continue
            if gap <= tol or ended or self.n_steps >= min(max_iter, patience):
                if self.levels:
                    yield from self._restore()
                    continue
                if self._doubtful(tol):
                    yield from self._refresh()
                    continue
                if gap <= tol or ended or self.n_steps >= max_iter:
                    break
                yield from self._go_inside()
                patience = np.inf
                continue
            n = compiled.select(self.active, f, alpha, y, C, up, low, before, taken, key, row, chosen[:q])
            before = chosen[:n].copy()
            chosen[:n] = before[np.argsort(y[before] < 0, kind="stable")]
            Z = self.gram.pack(chosen[:n])
            K = self._square(Z, chosen[:n])
            most = min(_STEPS * n, max_iter - self.n_steps)
            goal, at_once, steps, gained, going = max(0.1 * gap, 0.5 * tol), 1 + _AT_ONCE // n, 0, 0.0, True
            while going:
                part = min(most - steps, at_once)
                made, gain = compiled.inner(K, chosen[:n], alpha, f, y, C, room, goal, part, coef, steps > 0)
                steps, gained, going = steps + made, gained + gain, made == part and steps + made < most
                yield
            self.n_steps += steps
            self.looked_at += steps * n
            n_outer += 1
            q = min(q if n_outer % _DOUBLE_EVERY else 2 * q, largest)
            total += gained
            self._require_end()
            picked = np.flatnonzero(coef[:n])
            if len(picked):
                change = coef[picked]
                self.noise = float(np.hypot(self.noise, np.linalg.norm(change)))
                self.add_kept(Z, picked, change, chosen[picked])
            idle = 0 if len(picked) and gained > 1e-15 * total else idle + 1
            if self.hard:
                self._require_margin()
            if self._newton_pays(gap):
                Z = K = None  # whose room it takes
                yield from self._newton(tol)
                objective = self.objective()
                tries = 0 if gap < 0.99 * least or objective > reached + _GAIN * abs(reached) else tries + 1
                least, reached = min(gap, least), max(objective, reached)
            if idle > _PATIENCE or tries > _TRIES or not len(picked):
                tries = 0
                if not polished:
                    yield from self._polish()
                    polished = True
                elif self.gram.dtype == np.float64:
                    ended = True
                    self.reason = ": rounding lets no step get further"
                else:
                    yield from self._to_double()
            if shrinking and n_outer % _SHRINK_EVERY == 0:
                self._shrink(up, low)
            if report is not None and report(self, gap):
                ended = True
                self.reason = ": the callback ended it"
            yield
        self.violation, self.up, self.low = gap, up, low
        self.converged = gap <= tol

    def _use(self, gram):
        self.gram = gram
        self.sides = self.room = None  # before there are others
        self.room = np.empty(int(self.cache_bytes) // 8, np.float64)
        first, place, own = self.own
        own = own if gram is first else (NOTHING, NOTHING)
        n = self._n_up(self.rows)
        sizes, signs = (n, len(self.rows) - n), (1, -1)
        asked = [len(self.rows) - (0 if each.block is None else size) for size, each in zip(sizes, own)]
        most = [rows * padded(size, gram.wide) for rows, size in zip(asked, sizes)]
        part = int(len(self.room) * (most[0] / max(1, sum(most))))
        self.sides = [
            Side(room.view(gram.dtype), len(self.y), rows, sign, place, each)
            for room, rows, sign, each in zip((self.room[:part], self.room[part:]), asked, signs, own)
        ]
        self._all()

    def _all(self):
        self.active, self.levels = self.rows, []
        self._widen()

    def _widen(self):
        n = self._n_up(self.active)
        for side, size in zip(self.sides, (n, len(self.active) - n)):
            side.widen(padded(size, self.gram.wide))

    def _doubtful(self, tol):
        """Whether rounding may have brought f off by a part of tol that matters, or y'alpha off 0."""
        return self.gram.rounding() * self.noise > 0.1 * tol or self._unbalanced()[1] != 0

    def _to_double(self):
        """Go on with kernel values in float64."""
        self._use(self.gram.in_double())
        yield from self._refresh()

    def _is_narrow(self):
        """Whether the interior point method is for it: a linear kernel of few columns."""
        kernel = getattr(self.gram, "kernel", None)
        return kernel is not None and kernel.name == "linear" and self.gram.X.n_columns <= _COLUMNS

    def _go_inside(self):
        """Start anew from what the interior point method finds, if that is better."""
        rows = self.rows[self.C[self.rows] > 0]
        Z = SignedRows(self.gram.X.matrix, rows, self.y[rows])
        point = Interior(Z, self.y[rows].astype(np.float64), self.C[rows])
        while point.step():
            yield
        before, alpha, f = self.objective(), self.alpha.copy(), self.f.copy()
        self.alpha[rows] = point.rounded()
        self.alpha[:] = feasible(self.alpha, self.y, self.C)
        self.gram = self.gram.in_double()
        yield from self._refresh()
        if not self.objective() > before:
            self.alpha[:], self.f[:] = alpha, f
        self._use(self.gram)

    def _newton(self, tol):
        """Newton's method on the free alphas, in the room of a working set's matrix, or else of the cache."""
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        n = dual_newton.room_of(self.n_free())
        # where folds run side by side the cache may be the smaller
        apart = n <= max(dual_newton.room_of(_FREE), self.set_bytes // 8) or n > len(self.room)
        room = np.empty(n) if apart else self.room
        rows, change, done = yield from dual_newton.steps(gram, self.active, self.y, self.alpha, self.C, self.f, room)
        if not apart:
            self._widen()
        self._require_end()
        noise = float(np.hypot(self.noise, np.linalg.norm(change)))
        if self.gram.rounding() * noise <= 0.1 * tol:
            self.noise = noise
            for start in range(0, len(rows), kernel_values.BLOCK):
                block = slice(start, start + kernel_values.BLOCK)
                Z = self.gram.pack(rows[block])
                self.add_kept(Z, np.arange(len(Z)), change[block], rows[block])
                yield
        elif gram.rounding() * noise > 0.1 * tol:
            yield from self._refresh()
        else:
            yield from self._add(gram, rows, change, self.active)
        self.newton_wait, self.looked_at = 1 if done else 2, 0

    def n_free(self):
        a, C = self.alpha[self.active], self.C[self.active]
        return int(np.count_nonzero((a > 0) & (a < C)))

    def _newton_pays(self, gap):
        """Whether steps of two rows have taken as long as a factor does since the last time; longer if that failed."""
        m = self.n_free()
        most = max(_FREE, dual_newton.most_rows(self.newton_bytes / 8))
        cost = _NEWTON_COST * m**2 * (m + _NEWTON_REST)
        return 1 < m <= most and self.looked_at >= self.newton_wait * (1 if gap <= 1 else _EARLY) * cost

    def _polish(self):
        """As `_newton` by singular values, for what rounding hides from a Cholesky factor; K d + b 1 = -f, 1'd = 0."""
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        for _ in range(_POLISHES):
            free = self.rows[(self.alpha[self.rows] > 0) & (self.alpha[self.rows] < self.C[self.rows])]
            m = len(free)
            if not 1 < m <= _MOST_POLISHED:
                break
            y, a, C, f = self.y[free], self.alpha[free], self.C[free], self.f[free]
            Z = gram.pack(free)
            K = square(gram, Z, free)[:, :m]
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
            room = np.where(y * step > 0, C - a, a)
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(step != 0, room / np.abs(step), np.inf)
            length = min(1.0, float(reach.min()))
            if not length * float(step @ f) + 0.5 * length**2 * float(step @ K @ step) < 0:
                break
            a = a + length * y * step
            stopped = reach <= length
            self.alpha[free] = np.where(stopped, np.where(y * step > 0, C, 0.0), np.clip(a, 0, C))
            gram.add(Z, np.arange(m), length * step, self.rows, self.f)
            self.noise = float(np.hypot(self.noise, np.linalg.norm(length * step)))
            yield

    def _shrink(self, up, low):
        """Leave rows out that are at a bound and not near to leaving it."""
        rows = self.active
        y, a, C, f = self.y[rows], self.alpha[rows], self.C[rows], self.f[rows]
        is_up = np.where(y > 0, a < C, a > 0)
        is_low = np.where(y > 0, a > 0, a < C)
        keep = (is_up & is_low) | (is_up & (f <= low)) | (is_low & (f >= up))
        if keep.sum() > (1 - _SHRINK_SHARE) * len(rows) or len(self.levels) == _LEVELS:
            return
        if not self.levels:
            self.shrunk_at = low - up
        self.levels.append((rows[~keep], self.alpha.copy()))
        self.active = rows[keep]
        n = self._n_up(rows)
        for side, kept in zip(self.sides, (keep[:n], keep[n:])):
            side.narrow(np.flatnonzero(kept), padded(np.count_nonzero(kept), self.gram.wide))

    def _restore(self):
        """Make f good for the rows that were left out: since then some alphas have changed."""
        for rows, alpha in self.levels:
            changed = np.flatnonzero(self.alpha != alpha)
            yield from self._add(self.gram, changed, self.y[changed] * (self.alpha[changed] - alpha[changed]), rows)
        self._all()

    def _require_end(self):
        """Of a hard margin: alpha grows without end where there is no optimum."""
        if self.hard and not float(self.alpha.max()) < _ENDLESS:
            raise Inseparable(0.0, self._twins())

    def _require_margin(self):
        """Of a hard margin: w'w / (sum alpha)^2 bounds its square from above, whatever alpha is."""
        a, y, f = self.alpha[self.rows], self.y[self.rows], self.f[self.rows]
        total = float(a.sum())
        square = float((a * y) @ (f + y))
        length = np.sqrt(max(0.0, float(self.gram.diagonal(self.rows).max())))
        if total > 0 and not square >= (_LEAST_MARGIN * length * total) ** 2:
            raise Inseparable(np.sqrt(max(square, 0.0)) / total, self._twins())

    def _twins(self):
        """Two rows of different classes that no kernel of this type tells apart, or None."""
        rows = self.rows[np.argsort(-self.alpha[self.rows], kind="stable")[:_SET]]
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        K = square(gram, gram.pack(rows), rows)[:, : len(rows)]
        own = K.diagonal()
        apart = np.where(self.y[rows][:, None] != self.y[rows], own[:, None] + own - 2 * K, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        return sorted((int(rows[i]), int(rows[j]))) if apart[i, j] <= 1e-12 * max(own[i], own[j]) else None


def at_bounds(alpha, C):
    """alpha, at its bound where it is but for rounding: a free row tells b."""
    return np.where(alpha >= (1 - 1e-14) * C, C, np.where(alpha <= 1e-14 * C, 0.0, alpha))


def feasible(alpha, y, C):
    """alpha brought within its bounds, and y'alpha to 0 by less of the side that has more, free alphas first."""
    alpha = np.where(y == 0, 0.0, np.clip(alpha, 0, C))
    excess = float(y @ alpha)
    if abs(excess) <= _UNBALANCED * float(alpha.sum()):
        return alpha
    side = (y > 0) == (excess > 0)
    free = side & (alpha < C)
    if alpha[free].sum() < abs(excess):
        free = side
    alpha[free] *= max(0.0, 1 - abs(excess) / float(alpha[free].sum()))
    return alpha


class Inseparable(Exception):
    """No hyperplane separates the classes by more than `bound`; `twins` are two rows that show it, or None."""

    def __init__(self, bound, twins):
        if twins is None:
            self.reason = f": the margin is at most {bound:.3g}, if there is one"
        else:
            self.reason = f": rows {twins[0]} and {twins[1]} are equal and of different classes"
