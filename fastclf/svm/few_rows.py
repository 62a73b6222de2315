"""Pairs of classes that few rows of their kernel matrix are enough for, as for classes that lie apart.

A row of the kernel matrix is computed when a step first needs it. A pair that needs too many is left, where its steps
have led, to the solvers that compute whole matrices.
"""

import numpy as np

from .._aligned import aligned
from .._threads import ranges, run
from .dual import HARD
from .dual import compiled as of_duals
from .gram import PAD, Gram, padded
from .reused import reused
from .small_pairs import UNSOLVED, compiled

# _SHARE, _LEAST_ROWS: of its kernel matrix a pair computes at most one in _SHARE rows, or _LEAST_ROWS if that is more.
# _SMALL_SHARE: a small pair computes at most one in _SMALL_SHARE rows, since the pairs of several classes share the
# values of whole matrices.
# _STEPS: the most steps for each of these rows.
_SHARE, _LEAST_ROWS, _SMALL_SHARE, _STEPS = 16, 128, 4, 16

# The fewest rows of a pair for which rows of the kernel matrix are computed one by one. With d columns a pair has
# _TIMES d rows or _LARGE rows at least, since the rows of a pair that is given up are computed again.
_FEWEST, _TIMES, _LARGE = 256, 8, 512

# Two classes with fewer rows than columns have other limits. With a linear kernel, those that lie apart often have two
# dozen support vectors, and their kernel values take long.
# _FEWEST_WIDE: the fewest rows of both classes.
# _WIDE_SHARE, _WIDE_ROWS: at most one in _WIDE_SHARE rows of the kernel matrix is computed; if the other limits allow
# fewer than _WIDE_ROWS rows, none is.
# _WIDE_STEPS: the most steps for each of these rows.
# _FEW_NEARER: classes lie apart if at most this share of their rows is nearer to the mean of the other class.
_FEWEST_WIDE, _WIDE_SHARE, _WIDE_ROWS, _WIDE_STEPS, _FEW_NEARER = 128, 3, 32, 64, 0.01

# _CALL, _VISITS: the most multiplications, and the most visits of rows by steps, for a pair in one call of compiled
# code, so that it takes less than 0.1 s. They limit the number of rows that are computed.
# _TOGETHER: pairs are added to a call while its pairs take fewer multiplications.
_CALL, _VISITS, _TOGETHER = 1 << 28, 1 << 27, 1 << 26

# The largest share of the cache's memory for panels, and for the rows of a kernel matrix on all threads.
_MEMORY = 1 / 4

# The number of values in a block of rows that is copied to panels at a time.
_BLOCK_NUMBERS = 1 << 18


class Panels:
    """The rows of some classes side by side, class by class; compiled code reads it as `panels_t` (`_few_rows.pxd`).

    Attributes
    ----------
    lines : ndarray of shape (n_panels, n_columns, width)
    terms : ndarray of shape (n_panels, width)
        -gamma |x|^2 for each row x.
    norm, diagonal : ndarray of shape (n,)
        |x|^2 and k(x, x) for each row x of the problem, with rows sorted by class.
    first : ndarray of shape (n_classes,), int64
        The number of each class's first panel; -1 for other classes.
    """

    def __init__(self, problem, gram, classes):
        self.kernel = gram.kernel
        d, wide = gram.X.n_columns, gram.wide
        self.norm = gram.X.norm[problem.rows]
        # values beyond the range of float32 become infinite, as those that compiled code computes do
        with np.errstate(over="ignore"):
            self.diagonal = gram.diagonal(problem.rows).astype(gram.dtype).astype(np.float64)
        counts = -(-np.diff(problem.starts)[classes] // wide)
        ends = np.cumsum(counts)
        self.first = np.full(len(problem.starts) - 1, -1)
        self.first[classes] = ends - counts
        self.lines = aligned((int(ends[-1]) * d, wide), gram.dtype, reused).reshape(-1, d, wide)
        self.terms = np.zeros((int(ends[-1]), wide), gram.dtype)
        for c, count in zip(classes, counts):
            for start, stop in ranges(0, int(count), 1 + _BLOCK_NUMBERS // (wide * d)):
                self._fill(problem, gram, c, start, stop)

    def _fill(self, problem, gram, c, start, stop):
        """Write the panels from `start` to `stop` of class c."""
        wide, d = gram.wide, gram.X.n_columns
        numbers = problem.class_rows(c)[start * wide : stop * wide]
        norm = self.norm[problem.starts[c] + start * wide :][: len(numbers)]
        panels = slice(self.first[c] + start, self.first[c] + stop)
        rows = np.zeros(((stop - start) * wide, d), gram.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            rows[: len(numbers)] = gram.X.matrix[numbers]
            self.terms[panels].reshape(-1)[: len(numbers)] = -self.kernel.gamma * norm
        self.lines[panels] = rows.reshape(stop - start, wide, d).transpose(0, 2, 1)


class FewWork:
    """Scratch space for pairs of at most m rows of d columns, with at most `n_values` known kernel values."""

    def __init__(self, m, d, n_values, dtype):
        self.arrays = np.empty(of_duals.ARRAYS * padded(m, PAD))
        self.K = aligned((1, n_values), dtype, reused)
        self.places, self.x = np.empty(m, np.int64), np.empty(d, dtype)


def solve(pairs, cache_bytes, status):
    """Solve those pairs of a `SmallPairs`, also large ones, that few rows of their kernel matrices are enough for.

    status: UNSOLVED, or DOUBTFUL for pairs that float32 has solved. Whether a pair is tried, and its solution, depend
    on its own rows only, and on whether there are other classes if it has fewer rows than columns.
    """
    problem, gram, found = pairs.problem, pairs.gram, pairs.found
    # panels are dense, and sparse rows may have too many columns for that
    if not isinstance(gram, Gram) or gram.X.indptr is not None or problem.nu > 0 or len(problem.Cs) > 1:
        return
    d, sizes = gram.X.n_columns, np.diff(problem.starts)
    # with warm_start, the kernel rows of all coefficients of the last fit might be needed
    if status == UNSOLVED and found.coef.any():
        return
    wide = _is_wide(problem, gram) and _lie_apart(problem, gram)
    fewest = _FEWEST_WIDE if wide else max(_FEWEST, d, min(_LARGE, _TIMES * d))
    if np.sort(sizes)[-2:].sum() < fewest:
        return
    room = _MEMORY * cache_bytes / gram.dtype.itemsize
    listed = np.array(problem.pairs)
    n_rows = sizes[listed].sum(axis=1)
    steps = _WIDE_STEPS if wide else _STEPS
    wanted = n_rows // _WIDE_SHARE if wide else np.minimum(_LEAST_ROWS, n_rows // _SMALL_SHARE)
    most = _most_rows(np.maximum(n_rows, 1), d, wanted, steps)
    taken = (-(-sizes // gram.wide) * gram.wide * d)[listed].sum(axis=1)
    tried = np.flatnonzero(
        (found.status[0] == status)
        & (n_rows >= fewest)
        & (sizes[listed] > 0).all(axis=1)
        & (most >= (_WIDE_ROWS if wide else wanted))
        & (np.maximum(taken, most * (n_rows + PAD)) <= room)
    )
    if not len(tried):
        return
    numbers = np.column_stack([listed, np.arange(len(listed)), most])
    n, n_values = int(n_rows[tried].max()), int((most * (n_rows + PAD))[tried].max())
    threads = int(min(pairs.threads, len(tried), room / n_values))
    classes = np.unique(listed[tried])
    fits = (-(-sizes[classes] // gram.wide)).sum() * gram.wide * d <= room
    shared = Panels(problem, gram, classes) if fits else None

    def piece(part):
        work = FewWork(n, d, n_values, gram.dtype)
        for some in part:
            if pairs.watch.stopped:
                return
            panels = shared or Panels(problem, gram, listed[some[0]])
            compiled.solve_by_few_rows(found, panels, numbers[some], work, steps)
            for p in some:
                pairs.tell(p)
            yield

    # a pair with a C as good as infinite is solved anew, from 0, if few rows are not enough: what it began is undone
    hard = tried if (problem.Cs[0] > HARD).any() else ()
    before = [([part.copy() for part in found.of_pair(0, problem.pairs[p])], found.n_steps[0, p]) for p in hard]
    threads = threads if fits else 1
    # panels that are not shared are made for each call, and progress is shown, and may end the fit, after each pair
    many = fits and not pairs.watch.is_asked
    work = most * n_rows * max(d, _CALL * _STEPS // _VISITS) if many else np.full(len(most), _TOGETHER)
    parts = [_calls(tried[t::threads], work) for t in range(threads)]
    run(piece, parts, threads)
    for p, (coefs, n_steps) in zip(hard, before):
        if found.status[0, p] == status:
            found.n_steps[0, p] = n_steps
            for part, coef in zip(found.of_pair(0, problem.pairs[p]), coefs):
                part[:] = coef


def _calls(tried, work):
    """Lists of successive pairs, one list for each call of compiled code; work: the multiplications for each pair."""
    ends = np.cumsum(work[tried])
    calls = (ends - work[tried]) // _TOGETHER
    return np.split(tried, 1 + np.flatnonzero(np.diff(calls)))


def _most_rows(n, d, wanted, steps):
    """The most rows of the kernel matrix that are computed for pairs of n rows of d columns.

    wanted: this number if no other limit is smaller. steps: the most steps for each of these rows.
    """
    return np.minimum(np.maximum(wanted, n // _SHARE), np.minimum(_CALL // (n * d), _VISITS // (steps * n)))


def _is_wide(problem, gram):
    """Whether there are two classes with enough rows, but fewer than columns, and a linear kernel."""
    is_linear = len(problem.pairs) == 1 and gram.kernel.name == "linear"
    return is_linear and _FEWEST_WIDE <= len(problem.rows) < gram.X.n_columns


def _lie_apart(problem, gram):
    """Whether hardly any row of two classes is nearer to the other class's mean than to that of its own class.

    What the row x itself adds to its product with the mean of n rows, |x|^2 / n, does not count. A product that
    overflows is not finite, and the row then counts as nearer to the other mean.
    """
    X, norm = gram.X.matrix, gram.X.norm
    first, second = (problem.class_rows(c) for c in problem.pairs[0])
    if min(len(first), len(second)) < 2:
        return False
    weight = np.zeros(len(X), X.dtype)
    weight[first], weight[second] = 1 / len(first), -1 / len(second)
    with np.errstate(all="ignore"):
        score = np.einsum("ij,j->i", X, np.einsum("i,ij->j", weight, X)).astype(np.float64)
        score -= (score[first].mean() + score[second].mean()) / 2
        # half of: the squared distance from the other class's mean minus that from the own one
        apart = np.concatenate([score[first] - norm[first] / len(first), -score[second] - norm[second] / len(second)])
    return np.count_nonzero(~(apart > 0)) <= _FEW_NEARER * len(apart)
