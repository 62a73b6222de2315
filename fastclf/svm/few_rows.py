"""Pairs of classes that few rows of their kernel matrix are enough for, as for classes that lie apart.

A row of the kernel matrix is computed when a step first needs it. A pair that needs too many is left to the solvers
that compute whole matrices.
"""

import numpy as np

from .._aligned import aligned
from .._threads import run
from .dual import compiled as of_duals
from .gram import PAD, Gram, padded
from .small_pairs import UNSOLVED, compiled

# _SHARE, _LEAST_ROWS: of its kernel matrix a pair computes at most one in _SHARE rows, or _LEAST_ROWS if that is more.
# _STEPS: the most steps for each of these rows.
_SHARE, _LEAST_ROWS, _STEPS = 16, 128, 4

# The fewest rows of a pair for which rows of the kernel matrix are computed one by one.
_FEWEST = 512

# The most multiplications in one call of compiled code, some 30 ms, so that Ctrl-C is noticed; pairs that may take more
# are left to the other solvers.
_CALL = 1 << 28


class Panels:
    """The rows of a problem side by side, class by class; compiled code reads it as `panels_t` (`_few_rows.pxd`).

    Attributes
    ----------
    lines : ndarray of shape (n_panels, n_columns, width)
    terms : ndarray of shape (n_panels, width)
        -gamma |x|^2 for each row x.
    norm, diagonal : ndarray of shape (n,)
        |x|^2 and k(x, x) for each row x, with rows sorted by class.
    first : ndarray of shape (n_classes,), int64
        The number of each class's first panel.
    """

    def __init__(self, problem, gram):
        self.kernel = gram.kernel
        X, wide = gram.X, gram.wide
        self.norm = X.norm[problem.rows]
        self.diagonal = gram.diagonal(problem.rows).astype(gram.dtype).astype(np.float64)
        sizes = np.diff(problem.starts)
        counts = -(-sizes // wide)
        ends = np.cumsum(counts)
        self.first = np.ascontiguousarray(ends - counts)
        self.lines = aligned((int(ends[-1]) * X.n_columns, wide), gram.dtype).reshape(-1, X.n_columns, wide)
        self.terms = np.zeros((int(ends[-1]), wide), gram.dtype)
        for c, size in enumerate(sizes):
            rows = np.zeros((counts[c] * wide, X.n_columns), gram.dtype)
            rows[:size] = X.matrix[problem.class_rows(c)]
            panels = slice(self.first[c], ends[c])
            self.lines[panels] = rows.reshape(counts[c], wide, X.n_columns).transpose(0, 2, 1)
            norm = self.norm[problem.starts[c] : problem.starts[c + 1]]
            self.terms[panels].reshape(-1)[:size] = -self.kernel.gamma * norm


class FewWork:
    """Scratch space for pairs of at most m rows of d columns, of whose kernel matrix n_rows rows may be known."""

    def __init__(self, m, d, n_rows, dtype):
        self.arrays = np.empty(of_duals.ARRAYS * padded(m, PAD))
        self.K = aligned((n_rows, padded(m, PAD)), dtype)
        self.places, self.x = np.empty(m, np.int64), np.empty(d, dtype)


def solve(pairs, cache_bytes):
    """Solve those pairs of a `SmallPairs`, also large ones, that few rows of their kernel matrices are enough for."""
    problem, gram, found = pairs.problem, pairs.gram, pairs.found
    # sparse rows have too many columns for panels; a start would need the rows of all its coefficients
    if not isinstance(gram, Gram) or gram.X.indptr is not None or problem.nu > 0 or len(problem.Cs) > 1:
        return
    if found.coef.any() or found.max_iter < 2**62:
        return
    d, sizes = gram.X.n_columns, np.diff(problem.starts)
    numbers = np.array([(a, b, p, 0) for p, (a, b) in enumerate(problem.pairs)])
    n_rows = sizes[numbers[:, :2]].sum(axis=1)
    most = np.maximum(_LEAST_ROWS, n_rows // _SHARE)
    tried = (n_rows >= max(_FEWEST, d)) & (most * n_rows * d <= _CALL) & (sizes[numbers[:, :2]] > 0).all(axis=1)
    tried = np.flatnonzero(tried & (found.status[0] == UNSOLVED))
    if not len(tried):
        return
    room = cache_bytes / 2 / gram.dtype.itemsize - problem.n_rows * d
    n, m = int(n_rows[tried].max()), int(most[tried].max())
    threads = min(pairs.threads, len(tried), int(room // (n * m)))
    if threads < 1:
        return
    panels = Panels(problem, gram)

    def piece(listed):
        work = FewWork(n, d, m, gram.dtype)
        for p in listed:
            if pairs.watch.stopped:
                return
            compiled.solve_by_few_rows(found, panels, numbers[p], work, most[p], _STEPS * most[p])
            pairs.tell(p)
            yield

    run(piece, [tried[t::threads] for t in range(threads)], threads)
