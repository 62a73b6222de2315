"""Least squares without the normal equations of all columns: by the products of the rows, or of the columns if fewer.

    A = root(s) (X - 1 mean'),    w = A' z with (AA' + alpha I) z = t,    or    (A'A + alpha I) w = A' t

Sparse rows stay sparse: A itself is never stored. With a penalty and many sparse rows, conjugate gradients solve the
system, for several targets together. Otherwise the matrix of products has a Cholesky factor. Iterative refinement, with
residuals from A itself, reduces the relative error from about the squared condition number of A to about the condition
number (Bjorck 1996, Numerical methods for least squares problems, 6.6). Where refinement does not converge, because A
lacks full rank, the eigenvectors are used.
"""

import math
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from .._exceptions import warn
from .._threads import (
    SLOW_WORK,
    all_finite,
    aside,
    aside_if_many,
    aside_if_slow,
    blocks,
    map_rows,
    norm_of,
    numbered_blocks,
    ranges,
    rows_at,
)
from ..sums.blocks import by_length, over_rows
from ..sums.moments import mirrored
from . import _centred
from .block_gradients import Split, basis_of, conjugate_block, is_enough, is_solved, scaled_gradients
from .scores import combined, linear_scores, products_with, transposed

kernels = _simd.load("linear_model._elastic_net")

# The largest number of entries of sparse rows whose product with a vector one thread computes, in about a millisecond.
_ONE_THREAD = 1 << 19

# The largest number of rows of a matrix of products (1.2 GB). Larger problems are solved by conjugate gradients.
MOST = 12_000

# A linear system of at most this number of rows is solved by the eigenvectors of its matrix, which also give the rank
# and the condition number, unless the penalty alone makes the matrix regular.
_FEW = 512

# _DENSE: columns with entries in more than this share of the rows are multiplied as dense columns. _NUMBERS: the number
# of values in a block of dense columns.
_DENSE, _NUMBERS = 1 / 4, 1 << 22

# The number of multiplications of a sparse product, each about 2 ns, that take as long as the first write to a number
# of new memory, at most: a page of 512 numbers costs up to 10 us.
_NEW_NUMBER = 8

# The number of rows in a block of a triangular matrix.
_BLOCK = 48

# The number of entries of a matrix whose product with few rows is read from memory within about 20 ms.
_READ_NUMBERS = 1 << 24

# The number of values in a block of rows, so small that the block stays in a cache.
CACHED = 1 << 16

# _ZERO: an eigenvalue below this share of the largest one counts as 0.
# _CERTAIN: an eigenvalue from _ZERO to this share of the largest one leaves the rank uncertain.
_ZERO, _CERTAIN = 1e-13, 1e-10

# A Cholesky factor of products that were rounded to float32 is used if each of its pivots is at least this share of the
# largest eigenvalue.
_ROUNDED = 4e-6

# A column whose sum of squares falls below this share when its mean is subtracted hardly varies.
_VARIES = 1e-12

# Sums of squares from this number to its inverse have lost no digits in float32 by overflow or underflow.
_LEAST_SQUARE = 1e-20

_STEPS = 20_000

# Conjugate gradients are not tried if fewer steps than this take as long as a Cholesky factor.
_FEW_STEPS = 8

# Rows of float32 are not stored in float64 for at most _MOST_TARGETS targets, and if no column's mean is more than _FAR
# times its spread in _SOME_ROWS rows. Rows of float64 are multiplied by kernels for 2 to _FEW_VECTORS vectors.
_MOST_TARGETS, _FAR, _SOME_ROWS, _FEW_VECTORS = 32, 1e4, 16, 8

# Targets that span a space of at most _FEW_TARGETS dimensions, such as those of three classes, are solved one after the
# other, or of _FEW_BY_STEPS, where the steps of conjugate gradients for a single target are compiled.
_FEW_TARGETS, _FEW_BY_STEPS = 2, 4

# The numbers of multiplications in a product of dense matrices that take as long as one with an entry of sparse rows,
# and as all that is done with each number of a matrix of products besides its Cholesky factor.
_SPARSE_WORK, _PRODUCTS_WORK = 16, 600


class Solution(NamedTuple):
    """The result of `solved`: coefficients, rank and condition number."""

    coef: np.ndarray  # (n_outputs, d): the weight vector of each output
    rank: int
    # the condition number of A'A + alpha I, where A has the centred rows times the roots of their weights
    condition: float


class Unsure(Exception):
    """Raised if the matrix of products does not determine the rank."""


class Centred:
    """The operator A = root (X - 1 mean') for a Csr X, without storing A.

    `mean` is 0, or the mean of the rows, weighted by the squares of `root`. So A' r = X' (root r - share sum(root r)),
    with the shares of the rows in the weight: vectors of n numbers are centred, not those of d.
    """

    def __init__(self, X, mean, root, n_jobs, turned=None):
        self.X, self.mean, self.root, self.n_jobs = X, mean, root, n_jobs
        self.turned = transposed(X) if turned is None else turned
        # the share of each row in the total weight; empty if rows are not centred
        self.share = root**2 / np.sum(root**2) if mean.any() else np.empty(0)

    @property
    def shape(self):
        return self.X.shape

    def times(self, W):
        """A W for a W of shape (d, k)."""
        scores = self._product(self.X, W)
        _centred.centre_products(scores, self.root, self.share, np.empty(scores.shape[1]))
        return scores

    def back(self, R):
        """A' R for an R of shape (n, k)."""
        R, out = np.ascontiguousarray(R, np.float64), np.empty(R.shape)
        _centred.centre_factors(R, self.root, self.share, np.empty(R.shape[1]), out)
        return self._product(self.turned, out)

    def _product(self, X, W):
        """X W, by the calling thread if it is one product that takes little time."""
        if not self.takes_steps(W.shape[1]):
            return products_with(X, W, np.zeros(W.shape[1]), self.n_jobs)
        out = np.empty(len(X))
        _centred.multiply(X, X.data, np.ascontiguousarray(W, np.float64).ravel(), out)
        return out[:, None]

    def takes_steps(self, n_targets):
        """Whether `step` is the fastest way to take a step of conjugate gradients, by one thread."""
        return n_targets == 1 and 0 < self.X.size <= _ONE_THREAD

    def step(self, alpha, size, vectors):
        """Take a step of conjugate gradients, as `_centred.step` says. vectors: weight, w, rest, slope, p, q."""
        return _centred.step(self.X, self.X.data, self.turned, self.root, self.share, alpha, size, *vectors)

    def square_times(self, V):
        """AA' V for a V of shape (n, k)."""
        return self.times(self.back(V))

    @cached_property
    def square_lengths(self):
        """The squared length of each column; of one that hardly varies, that of its entries before they are centred."""
        squares = np.empty(self.shape[1])
        for start, stop in ranges(0, len(self.turned), max(1, _ONE_THREAD * len(squares) // (self.X.size + 1))):
            _centred.square_lengths(self.turned, self.root, squares, start, stop)
        centred = squares - np.sum(self.root**2) * self.mean**2
        return np.where(centred > _VARIES * squares, centred, squares)

    def products(self):
        """The matrix AA', or A'A if A has fewer columns than rows."""
        n, d = self.X.shape
        if n <= d:
            middle = linear_scores(self.X, self.mean[None], np.zeros(1), self.n_jobs)[:, 0]
            gram = products_of(self.X, self.turned, self.n_jobs)
            for i, rows in numbered_blocks(gram):
                rows -= middle
                rows -= middle[i, None]
                rows += self.mean @ self.mean
                rows *= self.root
                rows *= self.root[i, None]
            return gram
        return self.column_products()

    def rounded_products(self):
        return None

    def column_products(self):
        """The matrix A'A."""
        d = self.X.n_columns
        data = aside_if_many(self.X.size, np.multiply, self.X.data, rows_at(self.root, self.X.row_numbers()))
        weighted = Csr(self.X.indptr, self.X.indices, data, d)
        gram = products_of(transposed(weighted), weighted, self.n_jobs)
        sums = linear_scores(self.turned, (self.root**2)[None], np.zeros(1), self.n_jobs)[:, 0]
        total = (self.root**2).sum()
        for i, rows in numbered_blocks(gram):
            rows -= np.outer(sums[i], self.mean)
            rows -= np.outer(self.mean[i], sums)
            rows += total * np.outer(self.mean[i], self.mean)
        return gram

    def of_columns(self, columns):
        """The operator that has only these columns of A."""
        turned = self.turned[columns]
        return Centred(transposed(turned), self.mean[columns], self.root, self.n_jobs, turned)

    def dense_products(self):
        """The matrix A'A, by a dense copy of A'."""
        turned = np.asarray(self.turned, np.float64)
        turned -= self.mean[:, None]
        turned *= self.root
        return aside_if_slow(len(turned) * turned.size // 2, _square, turned)

    def gradients_limit(self, n_targets):
        """The number of steps of conjugate gradients that take as long as the products and their factor."""
        n = min(self.shape)
        step = 2 * _SPARSE_WORK * self.X.size * (1 + n_targets) + 4 * n * n_targets**2
        length = np.minimum(np.diff(self.turned.indptr), _DENSE * n)
        return int(n**3 / 3 + _PRODUCTS_WORK * n**2 + _SPARSE_WORK / 2 * (length**2).sum()) // step


class DenseCentred:
    """The operator A = root (X - 1 mean') for fewer dense rows than columns.

    It is stored in float64, unless X is float32, its means are not far from 0, and there are few targets. As in
    `Centred`, vectors of n numbers are then centred instead: with rows that take half the memory, products with few
    vectors take less than half the time.
    """

    def __init__(self, X, mean, root, n_jobs, n_targets):
        self.X, self.mean, self.root, self.n_jobs = X, mean, root, n_jobs
        is_single = X.dtype == np.float32 and n_targets <= _MOST_TARGETS and not _is_far(X, mean)
        self.rows = X if is_single else self._copied(np.float64)
        self.factor = root if is_single else np.ones(len(X))
        self.share = root**2 / np.sum(root**2) if is_single and mean.any() else np.empty(0)

    def _copied(self, dtype):
        """A in memory."""
        X, root = self.X, self.root
        A, is_plain, size = np.empty(X.shape, dtype), bool((root == 1).all()), max(8, CACHED // X.shape[1])
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            np.subtract(X[rows], self.mean, out=A[rows], casting="same_kind")
            if not is_plain:
                A[rows] *= root[rows, None]
        return A

    @property
    def shape(self):
        return self.X.shape

    def times(self, W):
        """A W for a W of shape (d, k)."""
        if not self._goes_by_kernels(W.shape[1]):
            return _product(W.T, self.rows.T).T
        scores = linear_scores(self.rows, W.T, np.zeros(W.shape[1]), self.n_jobs)
        _centred.centre_products(scores, self.factor, self.share, np.empty(W.shape[1]))
        return scores

    def back(self, R):
        """A' R for an R of shape (n, k)."""
        if not self._goes_by_kernels(R.shape[1]):
            return _product(R.T, self.rows).T
        R, factors = np.ascontiguousarray(R), np.empty(R.shape)
        _centred.centre_factors(R, self.factor, self.share, np.empty(R.shape[1]), factors)
        return combined(self.rows, factors, self.n_jobs).T

    def _goes_by_kernels(self, k):
        """Whether kernels compute products with k vectors: for float64, BLAS is faster with one and with many."""
        return self.rows.dtype == np.float32 or 2 <= k <= _FEW_VECTORS

    def products(self):
        """AA'."""
        A = self.rows if self.rows.dtype == np.float64 else self._copied(np.float64)
        return aside_if_slow(len(A) * A.size // 2, _square, A)

    def rounded_products(self):
        """AA' computed in float32, in half the time; None if X is of float64, or if float32 has no digits for it."""
        if self.X.dtype != np.float32:
            return None
        uncentred = self.rows is self.X and (len(self.share) == 0 or _is_near(self.X, self.mean))
        A = self.X if uncentred else self._copied(np.float32)
        gram = aside_if_slow(len(A) * A.size // 4, _square, A).astype(np.float64)
        if not _keeps_digits(gram):
            return None
        return self._from_products(gram) if uncentred else gram

    def _from_products(self, gram):
        """AA', in place of XX'."""
        if len(self.share):
            by_mean = gram @ self.share
            gram -= by_mean[:, None]
            gram -= by_mean - by_mean @ self.share
        if not (self.root == 1).all():
            gram *= self.root[:, None]
            gram *= self.root
        return gram

    def gradients_limit(self, _):
        return 0


def _is_far(X, mean):
    """Whether a column's mean is so far from 0, for the spread in some rows, that its subtraction costs many digits."""
    some = X[:: max(1, len(X) // _SOME_ROWS)][:_SOME_ROWS].astype(np.float64)
    spread = some.max(axis=0) - some.min(axis=0)
    return bool((np.abs(mean) > _FAR * spread)[spread > 0].any())


def _is_near(X, mean):
    """Whether |mean|^2 is at most an eighth of the mean |x|^2 of some rows, so that products lose no digit by it."""
    some = X[:: max(1, len(X) // _SOME_ROWS)][:_SOME_ROWS].astype(np.float64)
    return bool(8 * len(some) * (mean @ mean) <= np.square(some).sum())


def _keeps_digits(gram):
    """Whether products computed in float32 have neither overflowed nor lost digits to underflow."""
    return _LEAST_SQUARE < gram.diagonal().max() < 1 / _LEAST_SQUARE


def _product(A, B):
    return aside_if_slow(max(len(A), SLOW_WORK // _READ_NUMBERS) * B.size, np.dot, A, B)


def _square(A):
    """The matrix of products AA' of the rows of a dense array A."""
    return np.dot(A, A.T)


def products_of(X, turned, n_jobs=None):
    """XX' in float64, for a Csr X and its transpose."""
    n = len(X)
    gram = np.zeros((n, n))
    length = np.diff(turned.indptr)
    kept = length <= max(8, _DENSE * n)
    dense = np.flatnonzero(~kept)
    size = max(1, _NUMBERS // n)
    for start in range(0, len(dense), size):
        block = np.asarray(turned[dense[start : start + size]], np.float64)
        aside(_add_square, block, gram)
    skipped = (~kept).astype(np.int8)
    work = (int((length[kept] ** 2).sum()) + _NEW_NUMBER * n * n) // max(1, X.size) + 1

    def add(start, stop):
        kernels.add_products(X, X.data, turned, skipped, gram, start, stop)

    over_rows(add, X, work, n_jobs, by_length)
    mirrored(gram.T)
    return gram


def _add_square(block, gram):
    block = block.T.copy()
    gram += np.dot(block, block.T)


class Factor:
    """The Cholesky factor L of a matrix LL', and solutions of systems with this matrix."""

    def __init__(self, matrix):
        self.L = aside_if_slow(len(matrix) ** 3 // 3, np.linalg.cholesky, matrix)
        n = len(matrix)
        self.blocks = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
        self.inverses = [np.linalg.inv(self.L[block, block]) for block in self.blocks]

    def forward(self, B):
        """The product L^-1 B."""
        x = np.array(B)
        for block, inverse in zip(self.blocks, self.inverses):
            x[block] = inverse @ (x[block] - self.L[block, : block.start] @ x[: block.start])
        return x

    def backward(self, B):
        """The product of the inverse of L' and B."""
        x = np.array(B)
        for block, inverse in zip(self.blocks[::-1], self.inverses[::-1]):
            x[block] = inverse.T @ (x[block] - self.L[block.stop :, block].T @ x[block.stop :])
        return x

    def solve(self, B):
        return self.backward(self.forward(B))


class _Eigen:
    """The inverse of (matrix of products + alpha I) on the span of the eigenvectors whose eigenvalues are not 0."""

    def __init__(self, gram, alpha, longest, exact):
        values, self.V = aside_if_slow(9 * len(gram) ** 3, np.linalg.eigh, gram)
        most = max(values[-1], 0.0)
        least = most * max(_ZERO, longest * np.finfo(float).eps)
        kept = values > (least if alpha < least else -np.inf)
        if alpha < least and not exact and kept.any() and values[kept][0] < _CERTAIN * most:
            raise Unsure
        self.V, self.values = map_rows(lambda rows: rows[:, kept], self.V), np.maximum(values[kept], 0)
        self.alpha = alpha
        self.rank = int(kept.sum())

    def solve(self, B):
        return aside_if_many(self.V.size, self._solve, B)

    def _solve(self, B):
        return self.V @ ((self.V.T @ B) / (self.values + self.alpha)[:, None])


def solved(A, target, alpha, exact, with_condition=True):
    """The `Solution` of min |A w - target|^2 + alpha |w|^2 with the least |w|.

    Without `with_condition` its condition number is NaN where the solution does not need it.
    Raises Unsure if refinement does not converge or, unless `exact`, if an eigenvalue leaves the rank uncertain.
    """
    n, d = A.shape
    wide = n <= d
    if min(n, d) > MOST:
        return _by_gradients(A, target, alpha)
    if wide and alpha > 0 and n > _FEW:
        found = _by_conjugate_gradients(A, target, alpha, with_condition)
        if found is not None:
            return found
    gram = A.rounded_products() if wide and alpha > 0 else None
    if gram is not None and _keeps_digits(gram):
        found = _by_factor(A, target, alpha, gram, with_condition, _ROUNDED)
        if found is not None:
            return found
    gram = A.products()
    if not all_finite(gram):
        return Solution(np.full((target.shape[1], d), np.nan), 0, np.inf)
    if min(n, d) > _FEW or (wide and alpha > _CERTAIN * _norm(gram)):
        found = _by_factor(A, target, alpha, gram, with_condition)
        if found is not None:
            return found
    inverse = _Eigen(gram, alpha, max(n, d), exact)
    w = refined(A, target, alpha, inverse.solve)
    if w is None:
        raise Unsure
    full = d if alpha > 0 else inverse.rank
    least = alpha if n < d or not inverse.rank else inverse.values[0] + alpha
    condition = (inverse.values[-1] + alpha) / least if full == d and inverse.rank and least > 0 else np.inf
    return Solution(w.T, full, condition)


def _by_factor(A, target, alpha, gram, with_condition, least=0.0):
    """The Solution by a Cholesky factor; None if the matrix has no factor or the solution is not accurate enough.

    least: a share of the largest eigenvalue; a factor with a smaller pivot counts as none.
    """
    n, d = A.shape
    wide = n <= d
    # without a condition number, a bound of the largest eigenvalue is enough
    largest = _norm(gram)
    if with_condition:
        largest = largest_eigenvalue(partial(_product, gram), len(gram))
    # With fewer rows than columns, the matrix of products of centred rows has the null vector u, the roots of the
    # weights. The targets are orthogonal to u, too: a multiple of uu' makes the matrix regular and does not change the
    # solution.
    lost = int(wide and A.mean.any())
    u = A.root / np.linalg.norm(A.root) if lost else None
    matrix = aside_if_many(gram.size, _regular, gram, alpha, u, largest)
    try:
        factor = Factor(matrix)
    except np.linalg.LinAlgError:
        return None
    del matrix
    if not factor.L.diagonal().min() ** 2 > least * largest:
        return None
    smallest = alpha if wide and alpha > 0 else 1 / largest_eigenvalue(factor.solve, len(gram), 0.01)
    if not smallest > _CERTAIN * 0.1 * largest:
        return None
    w = refined(A, target, alpha, factor.solve)
    if w is None:
        return None
    if alpha > 0:
        condition = (largest + alpha) / (alpha if wide else smallest) if with_condition else np.nan
        return Solution(w.T, d, condition)
    rank = min(n - lost, d)
    return Solution(w.T, rank, largest / smallest if rank == d else np.inf)


def _norm(gram):
    """The Frobenius norm of a symmetric matrix, which is at least its largest eigenvalue."""
    return math.hypot(*(norm_of(rows) for rows in blocks(gram)))


def _regular(gram, alpha, u, largest):
    """The matrix gram + alpha I; `largest` is added to the eigenvalue of gram's null vector u, if u is not None."""
    matrix = gram.copy()
    if u is not None:
        for i, rows in numbered_blocks(matrix):
            rows += np.outer(largest * u[i], u)
    matrix[np.diag_indices(len(matrix))] += alpha
    return matrix


def refined(A, target, alpha, solve, by_columns=False):
    """The weight vectors, one for each target, refined until they do not change; None if the refinement diverges."""
    n, d = A.shape
    z = np.zeros(target.shape)

    def residual(w):
        return target - A.times(w) if w.any() else target

    def by_rows(w):
        # for weights w = A'z, the residual of the system (AA' + alpha I) z = target is target - A w - alpha z
        step = solve(residual(w) - alpha * z)
        np.add(z, step, out=z)
        return A.back(step)

    def by_slope(w):
        return solve(A.back(residual(w)) - alpha * w)

    return settled(by_slope if n > d or by_columns else by_rows, np.zeros((target.shape[1], d)).T)


def settled(step_from, w):
    """w plus the steps step_from(w) of a refinement until they do not change it; None if they diverge."""
    before = np.inf
    for step_number in range(12):
        step = step_from(w)
        w += step
        size, change = np.abs(w).max(), np.abs(step).max()
        if not np.isfinite(change):
            return None
        if change <= 1e-14 * size:
            return w
        if change > 0.25 * before:
            return w if change <= 1e-10 * size else None
        # the change of w is expected to fall further by the ratio of the last two changes
        if step_number and change * (change / before) <= 1e-12 * size:
            return w
        before = change
    return w


def largest_eigenvalue(times, n, digits=1e-10, start=None):
    """An estimate from below of the largest eigenvalue of a positive semidefinite matrix, by the Lanczos process.

    It starts at the vector `start`, or at a random one. A relative change of at most `digits` in 2 steps ends it, or in
    8 steps from a random vector.
    """
    steps = min(n, 100)
    Q, T, value = np.zeros((steps, n)), np.zeros((steps, steps)), 0.0
    every = 8 if start is None else 2
    v = _random(n) if start is None else start
    size = norm_of(v)
    for k in range(steps):
        Q[k] = v / size
        v = times(Q[k][:, None])[:, 0]
        T[k, k] = Q[k] @ v
        for _ in range(2):  # a single orthogonalisation would leave rounding errors
            v -= (Q[: k + 1] @ v) @ Q[: k + 1]
        size = norm_of(v)
        ends = k + 1 == steps or not size > 1e-14 * T[: k + 1, : k + 1].max()
        if ends or k % every == every - 1:
            before, value = value, float(np.linalg.eigvalsh(T[: k + 1, : k + 1])[-1])
            if ends or not abs(value - before) > digits * value:
                break
        T[k, k + 1] = T[k + 1, k] = size
    return value


def _random(n):
    return np.random.default_rng(0).standard_normal(n)


def _by_conjugate_gradients(A, target, alpha, with_condition):
    """The Solution for a penalty and fewer rows than columns; None if a Cholesky factor is likely to be faster."""
    limit = A.gradients_limit(target.shape[1])
    if limit < _FEW_STEPS:
        return None
    few = _FEW_BY_STEPS if A.takes_steps(1) else _FEW_TARGETS
    w = _by_scaled_gradients(A, target, alpha, few) if target.shape[1] <= 1 + few else None
    if w is not None:
        start = A.square_times(_random(len(target))[:, None])[:, 0] if with_condition else None
        return Solution(w.T, A.shape[1], _condition(A, alpha, start) if with_condition else np.nan)
    split, z, rest = Split(A, alpha), np.zeros(target.shape), target

    def sizes_of(step):
        # w = A'z has |w|^2 = z'(target - residual - alpha z). The residual is left out: it is small at the last steps,
        # and only their sizes decide when to stop.
        whole = z + step
        return np.sqrt(np.maximum(np.einsum("ij,ij->j", whole, target - alpha * whole), 0))

    # In each round, conjugate gradients start from a newly computed residual, because rounding errors add up in the
    # residual that their steps update.
    for _ in range(3):
        step = conjugate_block(split, rest, sizes_of, limit)
        if step is None:
            return None
        z += step
        w = A.back(z)
        rest = target - A.times(w) - alpha * z
        if is_enough(A, split.bounds(rest), np.linalg.norm(w, axis=0)):
            condition = _condition(A, alpha, split.leading_vector()) if with_condition else np.nan
            return Solution(w.T, A.shape[1], condition)
    return None


def _by_scaled_gradients(A, target, alpha, few):
    """The weights, from a solution for each vector of a basis of the targets; None if that is likely to be slow."""
    (basis, shares), found = basis_of(target), []
    if not 0 < len(shares) <= few:
        return None
    for vector in basis.T:
        w = scaled_gradients(A, vector[:, None], alpha)
        if w is None:
            return None
        found.append(w)
    w = np.hstack(found) @ shares
    return w if is_solved(A, target, alpha, w) else None


def _condition(A, alpha, start):
    if start is not None and not 0 < norm_of(start) < np.inf:
        start = None
    return (largest_eigenvalue(A.square_times, len(A.root), 1e-7, start) + alpha) / alpha


def _by_gradients(A, target, alpha):
    """The Solution by conjugate gradients on the normal equations (CGLS), for all targets together."""
    n, d = A.shape
    if alpha > 0 and isinstance(A, Centred):
        w = scaled_gradients(A, target, alpha)
        if w is not None and is_solved(A, target, alpha, w):
            return Solution(w.T, d, np.inf)
    w, rest = np.zeros((d, target.shape[1])), target.copy()
    slope = A.back(rest)
    first = size = (slope**2).sum(axis=0)
    p = slope.copy()
    for _ in range(_STEPS):
        if (size <= 1e-26 * first).all():
            break
        q = A.times(p)
        length = (q**2).sum(axis=0) + alpha * (p**2).sum(axis=0)
        step = np.divide(size, length, out=np.zeros_like(size), where=length > 0)
        w += step * p
        rest -= step * q
        slope = A.back(rest) - alpha * w
        before, size = size, (slope**2).sum(axis=0)
        p *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        p += slope
    else:
        warn(
            f"LeastSquaresClassifier: no solution after {_STEPS} steps; a larger alpha is wanted", "ConvergenceWarning"
        )
    return Solution(w.T, d if alpha > 0 else min(n, d), np.inf)
