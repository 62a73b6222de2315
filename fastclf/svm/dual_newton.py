"""Newton's method on the free alphas of a dual, for the end of a fit, where sequential minimal optimisation is slow.

Let s be the change of coef = y alpha of the free rows (0 < alpha < C), and f their gradient:

    min  f's + 1/2 s'Ks    subject to  1's = 0  and the box.

Without the box, s solves K s + b 1 = -f, by a Cholesky factor of K. If that s leaves the box, some points on the way to
s are clipped to the box, and the best of them is taken. Rows that reach a bound are no longer free, and the next step
moves the rows that still are. Each step lowers the objective; the last one stays inside the box.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from .. import _simd
from .._threads import ranges, run
from ..kernels import values as kernel_values

compiled = _simd.load("svm._cholesky")

# A pivot of a Cholesky factorisation below this share of the matrix's diagonal entry counts as lost to rounding.
_LOST = 1e-15

# _DROPPED: the most rows that are taken out of one Cholesky factor.
# _ROUNDS: the most rounds of clipping a step to the bounds of the variables and bringing its sum back to 0.
_DROPPED, _ROUNDS = 64, 20

# Newton's method also tries shorter steps, to the points where the first, the fifth and the seventeenth row reach their
# bounds; the tuple has these numbers, counted from 0.
_MET = 0, 4, 16


def numbers_for(m):
    """The length of the buffer for Newton steps on m free rows."""
    return m * (m + _DROPPED)


def most_rows(n):
    """The largest m with numbers_for(m) <= n."""
    return int(np.sqrt(n + (_DROPPED / 2) ** 2) - _DROPPED / 2)


def factorise(A, threads):
    """A generator: factorise the symmetric A in place, as the head of `_cholesky.pyx` says."""
    m, least = len(A), _LOST * A.diagonal()
    packed = np.empty((-(-m // compiled.WIDE) + 1) * compiled.WIDE * compiled.PANEL)
    for k in range(0, m, compiled.PANEL):
        compiled.begin(A, least, k)
        after = k + compiled.PANEL
        if after >= m:
            break

        # more pieces of work than threads are made, because the pieces with the first rows take longer
        pieces = 1 if threads == 1 or (m - after) ** 2 < 1 << 16 else 4 * threads
        for kernel, first, last in (
            (compiled.pack, 0, -(-(m - after) // compiled.WIDE)),
            (compiled.take_off, after, m),
        ):
            call = partial(kernel, A, k, packed)
            run(
                partial(_in_ranges, call),
                pairwise([first + (last - first) * i // pieces for i in range(pieces + 1)]),
                threads,
            )
            yield


def _in_ranges(call, bounds):
    for start, stop in ranges(*bounds, 1 << 8):
        call(start, stop)
        yield


def within(s, down, up, weight):
    """s clipped to the box [-down, up], with its sum brought to 0 in proportion to `weight`; None if that fails."""
    for _ in range(_ROUNDS):
        s = np.clip(s, -down, up)
        excess = float(s.sum())
        inside = np.where((s > -down) & (s < up), weight, 0.0)
        if abs(excess) <= 1e-15 * float(np.abs(s).sum()):
            return s
        if not inside.any():
            return None
        shift = excess / float(inside.sum())
        if not np.isfinite(shift):
            return None
        s = s - inside * shift
    return None


class Step:
    """Newton steps on free rows with one factor of their kernel matrix; rows that reach a bound are dropped.

    Let d be the Newton step of all rows and D the dropped rows. The step that is 0 in D is d - V (V_D)^-1 d_D, where
    V_j = K^-1 e_j.

    Attributes
    ----------
    A : ndarray of shape (m, m), float64
        The kernel matrix on entry; `factorised` writes the Cholesky factor on and right of the diagonal.
    V : ndarray of shape (_DROPPED, m), float64
        K^-1 e_j of each dropped row j, written by `drop`.
    dropped : ndarray, intp
    """

    def __init__(self, A, V):
        self.A, self.V, self.m = A, V, len(A)
        self.diagonal = A.diagonal().copy()
        self.dropped = np.empty(0, np.intp)

    def factorised(self, threads):
        yield from factorise(self.A, threads)
        self.one = np.ones((1, self.m))
        compiled.solve(self.A, self.one)

    def can_drop(self, n):
        return len(self.dropped) + n <= len(self.V)

    def drop(self, rows):
        first = len(self.dropped)
        self.dropped = np.append(self.dropped, rows)
        new = self.V[first : len(self.dropped)]
        new[:] = 0
        new[np.arange(len(rows)), rows] = 1
        compiled.solve(self.A, new)

    def direction(self, g):
        """(the Newton step d, 0 in the dropped rows; the weights by which `within` corrects the sum of a step)."""
        both = np.stack([self.one[0], -g])
        compiled.solve(self.A, both[1:])
        if len(self.dropped):
            V = self.V[: len(self.dropped)]
            both -= np.linalg.solve(V[:, self.dropped].T, both[:, self.dropped].T).T @ V
            both[:, self.dropped] = 0
        one, d = both
        if one.sum() > 0:
            d = d - one * (d.sum() / one.sum())
        return d, np.abs(one)

    def best(self, g, down, up):
        """(the best step s in the box towards the Newton step d; K s; whether s is d, so that no step follows)."""
        nothing = np.zeros(self.m), np.zeros(self.m), True
        try:
            d, weight = self.direction(g)
        # two of the rows that the factor leaves out are equal but for rounding, which makes their system singular
        except np.linalg.LinAlgError:
            return nothing
        if not np.isfinite(d).all():
            return nothing
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reach = np.where(d > 0, up / d, np.where(d < 0, -down / d, np.inf))
        met = np.sort(reach[reach < 1])
        lengths = [met[k] for k in _MET if k < len(met)] + [1.0] * (len(met) <= _MET[-1])
        best, found = 0.0, nothing
        for length in lengths:
            s = within(length * d, down, up, weight)
            if s is None:
                continue
            Ks = np.zeros(self.m)
            compiled.multiply(self.A, self.diagonal, s, Ks)
            value = float(g @ s) + 0.5 * float(s @ Ks)
            if value < best:
                best, found = value, (s, Ks, not len(met))
        return found


def steps(dual, gram, active, buffer, threads):
    """A generator: Newton steps on the free active rows; returns (the rows, their change of coef, whether converged).

    coef of the dual is changed, its gradient f is not. gram: kernel values in float64. buffer: doubles, at least
    `numbers_for(number of free rows)` of them.
    """
    free = active[dual.is_free()[active]]
    # the rows are taken in their original order: sorted by class, they would lose more pivots to rounding
    free = free[np.argsort(dual.rows[free], kind="stable")]
    m, g, rows = len(free), dual.f[free], dual.rows[free]
    A, V = buffer[: m * m].reshape(m, m), buffer[m * m : m * (m + _DROPPED)].reshape(_DROPPED, m)
    for start in range(0, m, kernel_values.BLOCK):
        block = rows[start : start + kernel_values.BLOCK]
        gram.fill(gram.pack(block), rows, A[start : start + len(block)], threads)
        yield
    step = Step(A, V)
    yield from step.factorised(threads)
    lower, upper, coef = dual.lower[free], dual.upper[free], dual.coef[free]
    total, stays = np.zeros(m), np.ones(m, bool)
    while True:
        up, down = upper - coef, coef - lower
        s, Ks, done = step.best(g, np.where(stays, down, 0), np.where(stays, up, 0))
        g = g + Ks
        total += s
        at_up, at_down = stays & (s == up), stays & (s == -down)
        coef = np.where(at_up, upper, np.where(at_down, lower, np.clip(coef + s, lower, upper)))
        new = np.flatnonzero(at_up | at_down)
        yield
        if done or not step.can_drop(len(new)):
            break
        step.drop(new)
        stays[new] = False
    dual.coef[free] = coef
    return free, total, done
