"""Binary classifiers for pairs of classes whose kernel matrix fits memory, solved in compiled code.

With two classes all threads compute the kernel matrix. With more classes, successive classes form groups. Kernel values
within a group are computed once; values between a group and later classes are computed when pairs of these classes are
solved. Each pair copies its kernel matrix from these values. A group is the work of one thread, so that the number of
threads changes no bit.
"""

import numpy as np

from .. import _simd
from .._threads import run
from . import interior_point
from .dual import PROOF, Work, is_narrow
from .gram import PAD, Gram, padded
from .reused import reused

compiled = _simd.load("svm._small_pairs")

UNSOLVED, SOLVED, STOPPED, DOUBTFUL, SLOW = (
    compiled.STATUS[name] for name in ("unsolved", "solved", "stopped", "doubtful", "slow")
)

# The least number of rows in a group of classes whose pairs are solved together; the last group may have fewer.
_GROUP = 256

# _SQUARE_SHARE: the share of the cache's memory for the kernel matrices of all groups of classes.
# _CROSS_SHARE: the share of the cache's memory, for each thread, for kernel values between the rows of two groups.
_SQUARE_SHARE, _CROSS_SHARE = 1 / 4, 1 / 12

# _LOOKS: the number of visits of rows in one call of compiled code, which then takes some 30 ms.
# _LOOKS_WATCHED: the same if progress is shown.
# PATIENCE: after this number of visits a pair is left to the methods in `smo.py`.
_LOOKS, _LOOKS_WATCHED, PATIENCE = 1 << 24, 1 << 20, 1 << 24

# A fit that takes at most this number of multiplications is made in the calling thread alone.
_THREAD_WORK = 1 << 26


class Tiles:
    """Kernel values from which pairs copy their matrices, or the matrix of a single pair; C code: `tiles_t`.

    Attributes
    ----------
    whole : ndarray of shape (m, padded m), or None
        The matrix if there is a single pair, and then the other attributes are not set; else None.
    squares : ndarray, float32 or float64
        The kernel matrices of groups of classes, one after another.
    square_at, square_ld : ndarray of shape (n_classes,), int64
        The index in `squares` at which the matrix of each class begins, and the distance of two rows of that matrix.
    cross : ndarray of shape (rows of a group, columns), of the type of `squares`
        Kernel values between the rows of one group and those of some later classes.
    cross_row, cross_column : ndarray of shape (n_classes,), int64
        The first row, and the first column, of each class in `cross`; -1 if the class has none.
    """

    __slots__ = ("cross", "cross_column", "cross_row", "square_at", "square_ld", "squares", "whole")

    def __init__(self, whole=None):
        self.whole = whole


class PairWork(Work):
    """Scratch space for pairs of at most m rows.

    position : ndarray of shape (5,), int64
        Where the next call goes on, as a `position_t`; changed by compiled code.
    K : ndarray
        Space for the kernel matrix of a pair that copies it from tiles (`gathers`).
    """

    __slots__ = ("K", "position")

    def __init__(self, m, dtype, gathers):
        super().__init__(m, dtype)
        self.position = np.zeros(5, np.int64)
        self.K = reused(m * padded(m, PAD) if gathers else 1, dtype)


def grams(problem, found):
    """The grams for the pairs: float32, if its digits suffice, then float64 for pairs that rounding made doubtful."""
    gram = problem.gram
    single = gram.of_type(np.float32)
    if _has_digits(single, problem, found) if gram.free_dtype else gram.dtype == np.float32:
        yield single
    yield gram.of_type(np.float64)


def _has_digits(gram, problem, found):
    """Whether rounding of kernel values changes a gradient by at most tol / 10, for typical and initial alphas."""
    if len(problem.pairs) == 1 and problem.gram.dtype != gram.dtype:
        return False
    curvature = 2 * problem.mean_diagonal(gram)
    alpha = min(problem.largest_bound(), 2 / max(curvature, 1e-300))
    norm = alpha * np.sqrt(2 * problem.n_rows / problem.n_classes)
    return gram.rounding() * max(norm, float(np.linalg.norm(found.coef[0], axis=1).max())) <= 0.1 * found.tol


class SmallPairs:
    """The solution, in compiled code, of those pairs of classes that have few rows."""

    def __init__(self, problem, gram, found, threads, watch):
        self.problem, self.gram, self.found, self.watch = problem, gram, found, watch
        n = len(problem.rows)
        work = n * n * (gram.X.n_columns + 64) if isinstance(gram, Gram) else 0
        self.threads = threads if work > _THREAD_WORK else 1
        found.rounding, found.patience = gram.rounding(), patience(problem)

    def solve(self, limit, cache_bytes):
        """Solve those pairs of at most `limit` rows whose status this gram `takes`."""
        sizes = np.diff(self.problem.starts)
        pairs = np.array(self.problem.pairs)
        rows = sizes[pairs].sum(axis=1)
        # a pair may have no rows: with `probability`, problems are folds, which may lack both of its classes
        self.found.status[:, rows == 0] = SOLVED
        # for each pair of classes, the index of the first C whose problem is still to be solved
        first = self.found.n_solved()
        status = self.found.status[np.minimum(first, len(self.found.status) - 1), np.arange(len(pairs))]
        wanted = (rows <= limit) & self.takes(status)
        numbers = np.column_stack([pairs, np.arange(len(pairs)), first])[wanted]
        groups = grouped(sizes)
        squares = sum(sum(sizes[group]) ** 2 for group in groups) * self.gram.dtype.itemsize
        if len(pairs) == 1 or squares > _SQUARE_SHARE * cache_bytes:
            run(self.alone, numbers[np.argsort(-rows[wanted], kind="stable")], 1 if len(pairs) == 1 else self.threads)
        elif len(numbers):
            self._by_groups(groups, numbers, _CROSS_SHARE * cache_bytes)

    def takes(self, status):
        """Whether this gram is for pairs of a status; only that of float64 is for those that float32 left doubtful."""
        return (status == UNSOLVED) | ((status == DOUBTFUL) & (self.gram.dtype == np.float64))

    def alone(self, number):
        """A generator: solve a pair by itself; number: (a, b, number of the pair, number of C)."""
        rows = np.concatenate([self.problem.class_rows(c) for c in number[:2]])
        threads = self.threads if len(self.problem.pairs) == 1 else 1
        tiles = Tiles(self.gram.square(self.gram.pack(rows), rows, threads))
        yield from self._steps(tiles, number[None])

    def _by_groups(self, groups, numbers, cross_bytes):
        problem, gram, starts = self.problem, self.gram, self.problem.starts
        n_classes = len(starts) - 1
        sizes = [int(starts[group[-1] + 1] - starts[group[0]]) for group in groups]
        begins = np.concatenate([[0], np.cumsum(np.square(sizes))])
        squares = reused(int(begins[-1]), gram.dtype)
        square_at, square_ld = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
        for group, size, begin in zip(groups, sizes, begins):
            for c in group:
                square_at[c], square_ld[c] = begin + (starts[c] - starts[group[0]]) * (size + 1), size

        def fill_square(g):
            rows = problem.rows[starts[groups[g][0]] : starts[groups[g][-1] + 1]]
            out = squares[begins[g] : begins[g + 1]].reshape(sizes[g], sizes[g])
            gram.fill(gram.pack(rows), rows, out, 1, mirrored=True)
            yield

        def solve(item):
            # an item of work: a group of classes, a range [first, stop) of later classes, and a list of pairs to solve;
            # a pair has two classes of the group, or one class of the group and one of the range
            group, first, stop, listed = item
            rows = problem.rows[starts[group[0]] : starts[group[-1] + 1]]
            columns = problem.rows[starts[first] : starts[stop]]
            tiles = Tiles()
            tiles.squares, tiles.square_at, tiles.square_ld = squares, square_at, square_ld
            shape = len(rows), max(1, len(columns))
            tiles.cross = reused(shape[0] * shape[1], gram.dtype).reshape(shape)
            tiles.cross_row, tiles.cross_column = np.full((2, n_classes), -1)
            tiles.cross_row[group], tiles.cross_column[first:stop] = (
                starts[group] - starts[group[0]],
                starts[first:stop] - starts[first],
            )
            if len(columns):
                gram.fill(gram.pack(rows), columns, tiles.cross, 1)
                yield
            yield from self._steps(tiles, listed)

        run(fill_square, range(len(groups)), self.threads)
        run(solve, list(items(groups, starts, numbers, cross_bytes / gram.dtype.itemsize)), self.threads)

    def _steps(self, tiles, numbers):
        sizes = np.diff(self.problem.starts)
        work = PairWork(int(sizes[numbers[:, :2]].sum(axis=1).max()), self.gram.dtype, tiles.whole is None)
        looks = _LOOKS_WATCHED if self.watch.is_asked else _LOOKS
        done = False
        while not done:
            done = compiled.solve_list(self.found, tiles, numbers, work, looks)
            at = min(work.position[0], len(numbers) - 1)
            self.tell(numbers[at, 2])
            yield

    def tell(self, p):
        """Report the progress of pair number p of classes to the `Watch`, which may end the fit."""
        if not self.watch.is_asked:
            return
        found = self.found
        c = np.minimum(found.n_solved()[p], len(found.status) - 1)
        if self.watch.tell("pairs", int(found.n_steps.sum()), float(found.proof[c, p, PROOF["violation"]])):
            found.max_iter, found.reason = 0, ": the callback ended it"


def patience(problem):
    """The visits of rows, of a nanosecond each, after which a pair is left to the methods of `smo.py`.

    With a linear kernel of few columns these are as many as the interior point method takes nanoseconds.
    """
    if not is_narrow(problem.gram) or problem.nu > 0:
        return PATIENCE
    n_rows = 2 * problem.n_rows / problem.n_classes
    X = problem.gram.X
    return int(min(PATIENCE, interior_point.cost(n_rows, X.n_columns, X.indptr is not None)))


def grouped(sizes):
    """Lists of successive classes; each list but the last has _GROUP rows or more."""
    groups, size = [], _GROUP
    for c, rows in enumerate(sizes):
        if size >= _GROUP:
            groups.append([])
            size = 0
        groups[-1].append(c)
        size += rows
    return groups


def items(groups, starts, numbers, most):
    """(group, first, stop, pairs): the pairs within each group, then its pairs with the later classes [first, stop).

    These later classes have at most `most` kernel values with the group, unless a single class has more.
    """
    for group in groups:
        a, b = numbers[:, 0], numbers[:, 1]
        listed = numbers[(a >= group[0]) & (b <= group[-1])]
        if len(listed):
            yield group, group[-1] + 1, group[-1] + 1, listed
        n_rows, first = starts[group[-1] + 1] - starts[group[0]], group[-1] + 1
        while first < len(starts) - 1:
            stop = max(first + 1, int(np.searchsorted(starts, starts[first] + most / n_rows, "right")) - 1)
            listed = numbers[(a >= group[0]) & (a <= group[-1]) & (b >= first) & (b < stop)]
            if len(listed):
                yield group, first, stop, listed
            first = stop
