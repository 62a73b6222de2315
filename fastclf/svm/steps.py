"""Steps of two rows on a dual: with its whole kernel matrix in memory, or on working sets.

A working set has rows that violate most. Its alphas are optimised, and what changes is added to f for all rows that are
looked at: only of the rows whose alpha changed are kernel values wanted, and the last of them are kept. Rows that are
at a bound and look as if they would stay there are left out, and made good for later (Joachims 1998).
"""

import numpy as np

from ..kernels.values import BLOCK
from .cache import Cache
from .dual import Work, compiled
from .gram import PAD, padded

# Rows of a working set at first; the number doubles each time that this many were solved. A9a with C = 1000, 12,000
# rows: 4.8 s with 2048, 10 with 1024, and never ending with 256, which is best where C = 1.
_SET, _DOUBLE_EVERY = 256, 32

# Steps inside a working set, for each of its rows: then all rows are looked at anew.
_STEPS = 50

# Looks at rows before Ctrl-C is looked at, some 30 ms; and before other means are, where the whole matrix is there.
_LOOKS, _LOOKS_WHOLE = 1 << 24, 1 << 20

# Working sets after which rows may be left out, and the share of rows that must go to be worth it.
_SHRINK_EVERY, _SHRINK_SHARE = 10, 0.2

# All rows are looked at again when the violation has come down to this share of what it was when some were left out.
_RESTORE = 0.1

# Rows left out at one time are made good together; the number of such times until all are.
_LEVELS = 8


class WholeMatrix:
    """Steps with the kernel matrix of all rows."""

    def __init__(self, dual, limits):
        self.threads, self.looks = limits.threads, 0
        self.work = None
        self.use(dual, dual.gram)

    def use(self, dual, gram):
        """Take kernel values from another gram."""
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
        """A generator: some steps; returns (whether there were any, gain)."""
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
        """A generator: f += K change."""
        dual.note(change)
        compiled.add(dual, self.K, rows, change)
        yield

    def shrink(self, dual, ends):
        pass  # steps do

    def buffer(self, n):
        """A buffer of n doubles."""
        return np.empty(n)

    def give_back(self, dual):
        """The buffer is no longer used."""

    def shown(self):
        return ""


class WorkingSet:
    """The rows of a working set, and what choosing and optimising them writes in; see `_smo.pyx`."""

    __slots__ = ("arrays", "change", "entry", "key", "most", "n", "rows", "taken")

    def __init__(self, n_rows, largest):
        self.most = min(_SET, largest)  # rows
        self.n = 0  # rows that are chosen, in `rows`
        self.rows, self.change = np.empty(2 * largest, np.int64), np.empty(largest)
        self.key, self.entry = np.empty(largest), np.empty(largest, np.int64)
        self.taken = np.zeros(n_rows, np.uint8)
        self.arrays = np.empty((compiled.ARRAYS, padded(largest, PAD)))


class WorkingSets:
    """Steps on working sets, with rows of kernel values that are kept. goes_on: there will be other bounds."""

    def __init__(self, dual, limits, goes_on=False):
        self.threads, self.goes_on, self.looks = limits.threads, goes_on, 0
        # no more than the values of all pairs of rows take, and large working sets
        most = 2.0 * (len(dual) + 4 * limits.largest_set) ** 2
        self.room = np.empty(int(min(limits.kept_bytes / 8, most)))
        self.largest = max(2, min(limits.largest_set, len(dual)))
        self.use(dual, dual.gram)

    def use(self, dual, gram):
        """Take kernel values from another gram."""
        self.cache = Cache(self.room.view(gram.dtype), len(dual))
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
        """Whether the rows left out are to be looked at again."""
        return self.has_left_out() and gap <= _RESTORE * self.shrunk_at

    def make(self, dual, ends, limits):
        """A generator: the steps of a working set; returns (whether coef has changed, gain)."""
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
        """f += K change, of the packed rows in the list `picked`, which are `rows`."""
        dual.note(change)
        part = dual.f[self.active][None]
        cached = self.cache.ask(rows)
        dual.gram.add(Z, picked, change[None], dual.rows[self.active], part, self.threads, cached)
        dual.f[self.active] = part[0]

    def add(self, dual, rows, change):
        """A generator: f += K change."""
        for start in range(0, len(rows), BLOCK):
            own = rows[start : start + BLOCK]
            Z = dual.gram.pack(dual.rows[own])
            self._add(dual, Z, np.arange(len(own)), own, change[start : start + BLOCK])
            yield

    def shrink(self, dual, ends):
        """Now and then leave rows out that are at a bound and not near to leaving it."""
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
        """A generator: make f good for the rows that were left out, as some coef have changed since then."""
        for rows, coef in self.left_out:
            changed = np.flatnonzero(dual.coef != coef)
            yield from dual.add(dual.gram, changed, dual.coef[changed] - coef[changed], rows, self.threads)
        self._all(dual)

    def buffer(self, n):
        """A buffer of n doubles, that of the cache if there is none for it apart."""
        apart = n <= self.largest**2 // 8 or n > len(self.room)
        self.lent = not apart
        return np.empty(n) if apart else self.room

    def give_back(self, dual):
        """The buffer is no longer used."""
        if self.lent:
            self.cache.widen(padded(len(self.active), dual.gram.wide))

    def shown(self):
        hits = 100 * self.cache.hits / max(1, self.cache.asked)
        return f", {len(self.active)} rows, cache hits {hits:.0f} %"
