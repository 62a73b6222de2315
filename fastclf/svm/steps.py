"""Sequential minimal optimisation of a dual, with the whole kernel matrix in memory or on working sets.

A working set is a few rows that violate optimality most. Their alphas are optimised; then f of all active rows is
updated for the change of alpha. Only the kernel values of rows whose alpha has changed are needed, and those used last
are cached. A row that will probably stay at its bound becomes inactive, and its f is updated later (Joachims 1998).
"""

import numpy as np

from ..kernels.values import BLOCK
from .cache import Cache
from .dual import Work, compiled
from .gram import PAD, padded

# _SET: the number of rows in the first working set.
# _DOUBLE_EVERY: the size of working sets doubles after this number of sets.
# Measurement: 12,000 rows of a9a with C = 1000 take 4.8 s with sets of 2048 rows and 10 s with 1024; with 256 rows, the
# best size for C = 1, the fit does not end.
_SET, _DOUBLE_EVERY = 256, 32

# The most steps inside a working set, as a multiple of its number of rows.
_STEPS = 50

# _LOOKS: the number of visits of rows in one call of compiled code, some 30 ms, so that Ctrl-C is noticed.
# _LOOKS_WHOLE: the same with the whole kernel matrix, where Newton's method may take over after a call.
_LOOKS, _LOOKS_WHOLE = 1 << 24, 1 << 20

# A kernel value takes as long as this number of visits of a row by a step.
_VALUE = 12

# _SHRINK_EVERY: the number of working sets between two attempts to make rows inactive.
# _SHRINK_SHARE: an attempt is dropped if less than this share of the rows would become inactive.
_SHRINK_EVERY, _SHRINK_SHARE = 10, 0.2

# Inactive rows come back when the violation is at most this share of its value when they were left out.
_RESTORE = 0.1

# After rows have been left out this number of times, no more rows are left out until all rows are in the problem again.
_LEVELS = 8


class WholeMatrix:
    """Steps on all rows of a dual, with the whole kernel matrix in memory."""

    def __init__(self, dual, limits):
        self.threads, self.looks = limits.threads, 0
        self.work = None
        self.use(dual, dual.gram)

    def use(self, dual, gram):
        """Take the kernel values from another gram from now on."""
        self.K = None
        self.K = gram.square(gram.pack(dual.rows), dual.rows, self.threads)
        self.work = Work(len(dual), gram.dtype)
        dual.gram = gram

    def begin(self, dual):
        self.active = np.arange(len(dual))

    def ends(self, dual):
        return compiled.ends(dual, self.active)

    def is_due(self, gap):
        return False

    def has_left_out(self):
        return False

    def make(self, dual, ends, limits):
        """A generator: take some steps; returns (whether a step was taken, the gain of the objective)."""
        before = dual.coef.copy()
        made, left, gained = compiled.optimise_all(
            dual, self.K, self.work, limits.tol, limits.max_iter - dual.n_steps, _LOOKS_WHOLE
        )
        dual.n_steps += made
        dual.unsure += made
        dual.note(dual.coef - before)
        self.looks += _LOOKS_WHOLE - left
        yield
        return made > 0, gained

    def add(self, dual, rows, change):
        """A generator: f += K[:, rows] @ change."""
        dual.note(change)
        compiled.add(dual, self.K, rows, change)
        yield

    def cost_of_rows(self, m):
        """The time of kernel values of m rows with all active rows, in visits of a row: all values are in memory."""
        return 0

    def shrink(self, dual, ends):
        pass  # the compiled steps on the whole kernel matrix leave rows out themselves

    def buffer(self, n):
        """A buffer of n doubles."""
        return np.empty(n)

    def give_back(self, dual):
        """Take back the array that `buffer` returned."""

    def shown(self):
        return ""


class WorkingSet:
    """A working set, and the scratch space of `_smo.pyx` to choose and to optimise it.

    Attributes
    ----------
    most, n : int
        The most rows, which doubles now and then, and the number of rows; set by `WorkingSets.make`.
    rows : ndarray of shape (2 largest,), int64
        The rows of the dual in the set, the first n entries; written by `_smo.choose`, which needs the rest as scratch.
    change : ndarray of shape (largest,), float64
        The change of coef of each row; written by `_smo.optimise`.
    key, entry : ndarray of shape (largest,), float64 and int64
        Two heaps for `_smo.choose`.
    taken : ndarray of shape (n_rows,), uint8
        Zeros between calls of `_smo.choose`.
    arrays : ndarray of shape (8, padded largest), float64
        The problem of the set's rows, as a `dual_t`; kept between calls of `_smo.optimise`.
    """

    __slots__ = ("arrays", "change", "entry", "key", "most", "n", "rows", "taken")

    def __init__(self, n_rows, largest):
        self.most, self.n = min(_SET, largest), 0
        self.rows, self.change = np.empty(2 * largest, np.int64), np.empty(largest)
        self.key, self.entry = np.empty(largest), np.empty(largest, np.int64)
        self.taken = np.zeros(n_rows, np.uint8)
        self.arrays = np.empty((compiled.ARRAYS, padded(largest, PAD)))


class WorkingSets:
    """Steps on working sets, with a cache of rows of the kernel matrix. goes_on: other bounds will follow."""

    def __init__(self, dual, limits, goes_on=False):
        self.threads, self.goes_on, self.looks = limits.threads, goes_on, 0
        # the memory needed for the whole kernel matrix and a few of the largest working sets: more would be of no use
        most = 2.0 * (len(dual) + 4 * limits.largest_set) ** 2
        self.cache_buffer = np.empty(int(min(limits.kept_bytes / 8, most)))
        self.largest = max(2, min(limits.largest_set, len(dual)))
        self.use(dual, dual.gram)

    def use(self, dual, gram):
        """Take the kernel values from another gram from now on."""
        self.cache = Cache(self.cache_buffer.view(gram.dtype), len(dual))
        dual.gram = gram
        self._all(dual)

    def begin(self, dual):
        self.set, self.n_sets = WorkingSet(len(dual), self.largest), 0

    def _all(self, dual):
        self.active, self.left_out = np.arange(len(dual)), []
        self.cache.widen(padded(len(dual), dual.gram.wide))

    def ends(self, dual):
        return compiled.ends(dual, self.active)

    def has_left_out(self):
        return bool(self.left_out)

    def is_due(self, gap):
        """Whether the violation is so low that the inactive rows should come back."""
        return self.has_left_out() and gap <= _RESTORE * self.shrunk_at

    def make(self, dual, ends, limits):
        """A generator: optimise a working set; returns (whether coef has changed, the gain of the objective)."""
        set, gram = self.set, dual.gram
        gap = ends[1] - ends[0]
        set.n = n = compiled.choose(dual, self.active, *ends, set)
        rows = set.rows[:n].copy()
        Z = gram.pack(dual.rows[rows])
        K = gram.square(Z, dual.rows[rows], self.threads)
        most = min(_STEPS * n, limits.max_iter - dual.n_steps)
        goal, at_once, steps, gained, going = max(0.1 * gap, 0.5 * limits.tol), 1 + _LOOKS // n, 0, 0.0, True
        while going:
            part = min(most - steps, at_once)
            made, gain = compiled.optimise(dual, set, K, goal, part, steps > 0)
            steps, gained, going = steps + made, gained + gain, made == part and steps + made < most
            yield
        dual.n_steps += steps
        self.looks += steps * n
        self.n_sets += 1
        if self.n_sets % _DOUBLE_EVERY == 0:
            set.most = min(2 * set.most, self.largest)
        picked = np.flatnonzero(set.change[:n])
        if len(picked):
            self._add(dual, Z, picked, rows[picked], set.change[picked])
        return len(picked) > 0, gained

    def _add(self, dual, Z, picked, rows, change):
        """Add K[:, rows] @ change to the gradient f of active rows; K: the kernel matrix; Z[picked]: packed `rows`."""
        dual.note(change)
        part = dual.f[self.active][None]
        cached = self.cache.ask(rows)
        dual.gram.add(Z, picked, change[None], dual.rows[self.active], part, self.threads, cached)
        dual.f[self.active] = part[0]

    def add(self, dual, rows, change):
        """A generator: f += K[:, rows] @ change for all active rows."""
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            Z = dual.gram.pack(dual.rows[block])
            self._add(dual, Z, np.arange(len(block)), block, change[start : start + BLOCK])
            yield

    def cost_of_rows(self, m):
        """The time of kernel values of m rows with all active rows, in visits of a row by a step."""
        return _VALUE * m * len(self.active)

    def shrink(self, dual, ends):
        """Now and then make those rows inactive that will probably stay at their bound."""
        if self.n_sets % _SHRINK_EVERY or (self.goes_on and self.cache.holds_all()) or len(self.left_out) == _LEVELS:
            return
        rows, (least, most) = self.active, ends
        coef, f = dual.coef[rows], dual.f[rows]
        rises, falls = coef < dual.upper[rows], coef > dual.lower[rows]
        keep = (rises & falls) | (rises & (f <= most)) | (falls & (f >= least))
        if keep.sum() > (1 - _SHRINK_SHARE) * len(rows):
            return
        if not self.left_out:
            self.shrunk_at = most - least
        self.left_out.append((rows[~keep], dual.coef.copy()))
        self.active = rows[keep]
        self.cache.narrow(np.flatnonzero(keep), padded(len(self.active), dual.gram.wide))

    def restore(self, dual):
        """A generator: make all rows active, and update f for the changes of coef since each row was left out."""
        for rows, coef in self.left_out:
            changed = np.flatnonzero(dual.coef != coef)
            yield from dual.add(dual.gram, changed, dual.coef[changed] - coef[changed], rows, self.threads)
        self._all(dual)

    def buffer(self, n):
        """A buffer of n doubles: the memory of the cache if n is large and fits, else a new array."""
        apart = n <= self.largest**2 // 8 or n > len(self.cache_buffer)
        self.lent = not apart
        return np.empty(n) if apart else self.cache_buffer

    def give_back(self, dual):
        """Take the buffer back; if it was the memory of the cache, the cache is now empty."""
        if self.lent:
            self.cache.widen(padded(len(self.active), dual.gram.wide))

    def shown(self):
        hits = 100 * self.cache.hits / max(1, self.cache.asked)
        return f", {len(self.active)} rows, cache hits {hits:.0f} %"
