"""The dual of a two-class support vector machine, by sequential minimal optimisation on working sets.

A step of the outer loop chooses a working set of rows that violate most, optimises alpha over it (`_smo.pyx`), and adds
the change to f for all rows: only of the rows whose alpha changed are kernel values wanted, and the last of them are
kept in a cache. Where much stays as it is, rows that are at a bound and look as if they would stay there are left out,
and made good for later (Joachims 1998).
"""

import numpy as np

from . import _kernels, _simd

compiled = _simd.load("_smo")

# Rows of a working set.
_SET = 256

# Steps inside a working set, for each of its rows: then all rows are looked at anew.
_STEPS = 50

# Outer steps after which rows may be left out, and the share of rows that must go to be worth it.
_SHRINK_EVERY, _SHRINK_SHARE = 10, 0.2

# Rows left out at one time are made good together; so many times at most until all are.
_LEVELS = 8

# Outer steps without gain, to the last digit, after which there will be none.
_PATIENCE = 30

# A hard margin is given up where it is below this share of the rows' greatest length.
_LEAST_MARGIN = 1e-6


class Gram:
    """Kernel values between the rows of X, computed in `dtype` by compiled code."""

    def __init__(self, kernel, X, dtype, threads):
        self.kernel, self.X, self.dtype, self.threads = kernel, X, np.dtype(dtype), threads
        self.wide = _kernels.compiled.width(self.dtype == np.float32)

    def __len__(self):
        return len(self.X)

    def in_double(self):
        return Gram(self.kernel, self.X, np.float64, self.threads)

    def rounding(self):
        return self.kernel.rounding(self.X, self.dtype)

    def diagonal(self, rows):
        return self.kernel.diagonal(self.X)[rows]

    def pack(self, rows):
        return _kernels.Packed(self.X, rows, self.dtype)

    def square(self, Z, rows):
        """Values between the packed rows, which are `rows`, with columns of zeros to a multiple of PAD."""
        out = np.zeros((len(rows), -(-len(rows) // compiled.PAD) * compiled.PAD), self.dtype)
        _kernels.fill(self.kernel, self.X, Z, out, self.threads, rows)
        return out

    def add(self, Z, picked, coef, columns, f, stored=()):
        """f[columns] += coef @ K of the packed rows in the list `picked`."""
        _kernels.add(self.kernel, self.X, Z, picked, coef[None], f[None], self.threads, columns, stored)


class Table:
    """Kernel values between rows from a function of (rows, columns), in float64 or float32."""

    def __init__(self, values, n, dtype):
        self.values, self.n, self.dtype, self.wide = values, n, np.dtype(dtype), 1

    def __len__(self):
        return self.n

    def in_double(self):
        return Table(self.values, self.n, np.float64)

    def rounding(self):
        return float(np.finfo(self.dtype).eps) / 2 * float(np.abs(self.diagonal(np.arange(self.n))).max())

    def diagonal(self, rows):
        return np.concatenate([[self.values(rows[i : i + 1], rows[i : i + 1])[0, 0]] for i in range(len(rows))])

    def pack(self, rows):
        return rows

    def square(self, Z, rows):
        out = np.zeros((len(rows), -(-len(rows) // compiled.PAD) * compiled.PAD), self.dtype)
        out[:, : len(rows)] = self.values(Z, rows)
        return out

    def add(self, Z, picked, coef, columns, f, stored=()):
        step = max(1, (1 << 20) // len(columns))
        for start in range(0, len(picked), step):
            f[columns] += coef[start : start + step] @ self.values(Z[picked[start : start + step]], columns)


class Cache:
    """Rows of kernel values that were computed last, within a number of bytes; those used longest ago go first."""

    def __init__(self, n_bytes, dtype, n_rows):
        self.room = np.empty(max(0, int(n_bytes)) // dtype.itemsize, dtype)
        self.slot_of = np.full(n_rows, -1, np.int64)
        self.time = self.hits = self.asked = 0

    def widen(self, width):
        """Begin anew with rows of `width` columns."""
        self.width = width
        n = len(self.room) // max(1, width)
        self.table = self.room[: n * width].reshape(n, width)
        self.row_of = np.full(n, -1, np.int64)
        self.used = np.zeros(n, np.int64)
        self.slot_of[:] = -1

    def narrow(self, keep, width):
        """Keep the columns in the list `keep`, which is not longer than width."""
        kept = np.flatnonzero(self.row_of >= 0)
        old, rows, used = self.table, self.row_of[kept], self.used[kept]
        self.widen(width)
        for slot, before in enumerate(kept):  # a row moves to the front, over what has moved
            self.table[slot, : len(keep)] = old[before, keep]
        self.row_of[: len(kept)], self.used[: len(kept)] = rows, used
        self.slot_of[rows] = np.arange(len(kept))

    def ask(self, rows):
        """(table, slots, ready) of some rows: what is not ready is to be written to its slot, where there is one."""
        self.time += 1
        slots = self.slot_of[rows]
        ready = slots >= 0
        self.used[slots[ready]] = self.time
        self.asked += len(rows)
        self.hits += int(ready.sum())
        new = np.flatnonzero(~ready)
        if len(new) and len(self.used):
            # those of this step have the greatest time, so that they stay
            n = min(len(new), int((self.used < self.time).sum()))
            free = np.argpartition(self.used, n - 1)[:n] if n else np.empty(0, np.int64)
            free.sort()
            gone = self.row_of[free]
            self.slot_of[gone[gone >= 0]] = -1
            self.row_of[free], self.used[free] = rows[new[:n]], self.time
            slots[new[:n]] = free
            self.slot_of[rows[new[:n]]] = free
        return (self.table, slots, ready.view(np.uint8)) if len(self.table) else ()


class Dual:
    """One problem: rows of a gram, labels y of all rows, -1, 0 or +1 (0: not in the problem), bounds C, start alpha."""

    def __init__(self, gram, y, C, alpha):
        self.gram, self.y, self.C, self.alpha = gram, y, C, alpha
        self.rows = np.flatnonzero(y)
        self.f = -y.astype(np.float64)
        self.n_steps = 0
        self.converged, self.reason = False, ""
        self.noise = 0.0  # of f: the sum of the squares of all changes

    def objective(self):
        """sum alpha - 1/2 alpha' Q alpha."""
        a, y, f = self.alpha[self.rows], self.y[self.rows], self.f[self.rows]
        return 0.5 * float(a.sum() - (a * y) @ f)

    def _add(self, gram, rows, coef, columns):
        """f[columns] += coef @ K[rows, columns], in blocks of rows."""
        for start in range(0, len(rows), _kernels.BLOCK):
            block = slice(start, start + _kernels.BLOCK)
            Z = gram.pack(rows[block])
            gram.add(Z, np.arange(len(Z)), coef[block], columns, self.f)
            yield

    def add_all(self, gram, rows, coef, columns):
        for _ in self._add(gram, rows, coef, columns):
            pass

    def _refresh(self):
        """f from nothing, in float64."""
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        self.f[:] = -self.y
        support = np.flatnonzero(self.alpha)
        yield from self._add(gram, support, self.y[support] * self.alpha[support], self.rows)
        self.noise = 0.0

    def violation_anew(self):
        """max_low f - min_up f, with f from nothing."""
        for _ in self._refresh():
            pass
        up, low = compiled.violation(self.rows, self.f, self.alpha, self.y, self.C)
        return max(0.0, low - up) if up < np.inf and low > -np.inf else 0.0

    def solve(self, tol, max_iter, shrinking, cache_bytes, set_rows=_SET, report=None):
        """A generator that ends with alpha optimal to `tol`, or when it can't be made better; see `_smo.pyx`."""
        y, C, alpha, f = self.y, self.C, self.alpha, self.f
        self.hard = bool(np.isinf(C[self.rows]).any())
        self.cache_bytes = cache_bytes
        if self.alpha.any():
            yield from self._refresh()
        self._use(self.gram)
        q = max(2, min(set_rows, len(self.rows)))
        taken, key, row = np.zeros(len(y), np.uint8), np.empty(q), np.empty(q, np.int64)
        chosen, coef, before = np.empty(q, np.int64), np.empty(q), np.empty(0, np.int64)
        room = np.zeros((8, q + compiled.PAD))
        ended, idle, n_outer, total = False, 0, 0, 0.0
        while True:
            up, low = compiled.violation(self.active, f, alpha, y, C)
            gap = max(0.0, low - up) if up < np.inf and low > -np.inf else 0.0
            if gap <= tol or ended or self.n_steps >= max_iter:
                if self.levels:
                    yield from self._restore()
                elif self._doubtful(tol):
                    yield from self._refresh()
                else:
                    break
                continue
            n = compiled.select(self.active, f, alpha, y, C, up, low, before, taken, key, row, chosen)
            before = chosen[:n].copy()
            Z = self.gram.pack(before)
            K = self.gram.square(Z, before)
            most = min(_STEPS * n, max_iter - self.n_steps)
            steps, gained = compiled.inner(K, before, alpha, f, y, C, room, max(0.1 * gap, 0.5 * tol), most, coef)
            self.n_steps += steps
            n_outer += 1
            total += gained
            picked = np.flatnonzero(coef[:n])
            if len(picked):
                change = coef[picked]
                self.noise += float(change @ change)
                self.gram.add(Z, picked, change, self.active, f, self.cache.ask(before[picked]))
            idle = 0 if len(picked) and gained > 1e-15 * total else idle + 1
            if idle > _PATIENCE or not len(picked):
                if self.gram.dtype == np.float64:
                    ended = True
                    self.reason = ": rounding lets no step get further"
                else:
                    yield from self._to_double()
            if self.hard:
                self._require_margin()
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
        self.cache = Cache(self.cache_bytes, gram.dtype, len(self.y))
        self._all()

    def _all(self):
        self.active, self.levels = self.rows, []
        self.cache.widen(self._width(len(self.rows)))

    def _width(self, n):
        return -(-n // self.gram.wide) * self.gram.wide

    def _doubtful(self, tol):
        """Whether rounding of kernel values may have brought f off by a part of tol that matters."""
        return self.gram.dtype != np.float64 and self.gram.rounding() * np.sqrt(self.noise) > 0.1 * tol

    def _to_double(self):
        """Go on with kernel values in float64."""
        self._use(self.gram.in_double())
        yield from self._refresh()

    def _shrink(self, up, low):
        """Leave rows out that are at a bound and not near to leaving it."""
        rows = self.active
        y, a, C, f = self.y[rows], self.alpha[rows], self.C[rows], self.f[rows]
        is_up = np.where(y > 0, a < C, a > 0)
        is_low = np.where(y > 0, a > 0, a < C)
        keep = (is_up & is_low) | (is_up & (f <= low)) | (is_low & (f >= up))
        if keep.sum() > (1 - _SHRINK_SHARE) * len(rows) or len(self.levels) == _LEVELS:
            return
        self.levels.append((rows[~keep], self.alpha.copy()))
        self.active = rows[keep]
        self.cache.narrow(np.flatnonzero(keep), self._width(len(self.active)))

    def _restore(self):
        """Make f good for the rows that were left out: since then some alphas have changed."""
        for rows, alpha in self.levels:
            changed = np.flatnonzero(self.alpha != alpha)
            yield from self._add(self.gram, changed, self.y[changed] * (self.alpha[changed] - alpha[changed]), rows)
        self._all()

    def _require_margin(self):
        """Of a hard margin: w'w / (sum alpha)^2 bounds its square from above, whatever alpha is."""
        a, y, f = self.alpha[self.rows], self.y[self.rows], self.f[self.rows]
        total = float(a.sum())
        square = float((a * y) @ (f + y))
        length = np.sqrt(float(self.gram.diagonal(self.rows).max()))
        if total > 0 and square < (_LEAST_MARGIN * length * total) ** 2:
            raise Inseparable(np.sqrt(max(square, 0.0)) / total, self._twins())

    def _twins(self):
        """Two rows of different classes that no kernel of this type tells apart, or None."""
        rows = self.rows[np.argsort(-self.alpha[self.rows], kind="stable")[:_SET]]
        gram = self.gram if self.gram.dtype == np.float64 else self.gram.in_double()
        K = gram.square(gram.pack(rows), rows)[:, : len(rows)]
        own = K.diagonal()
        apart = np.where(self.y[rows][:, None] != self.y[rows], own[:, None] + own - 2 * K, np.inf)
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        return sorted((int(rows[i]), int(rows[j]))) if apart[i, j] <= 1e-12 * max(own[i], own[j]) else None


class Inseparable(Exception):
    """No hyperplane separates the classes by more than `bound`; `twins` are two rows that show it, or None."""

    def __init__(self, bound, twins):
        if twins is None:
            self.reason = f": the margin is at most {bound:.3g}, if there is one"
        else:
            self.reason = f": rows {twins[0]} and {twins[1]} are equal and of different classes"
