"""Least squares on sparse rows that stay sparse, from the matrix of products of rows, or of columns if they are fewer.

    A = root(s) (X - 1 mean'),    w = A' z with (AA' + alpha I) z = t,    or    (A'A + alpha I) w = A' t

A itself is never stored. The matrix of products has a Cholesky factor. Iterative refinement, with residuals from A,
reduces the relative error from about the squared condition number of A to about the condition number (Bjorck 1996,
Numerical methods for least squares problems, 6.6). Where refinement does not converge, because A lacks full rank,
eigenvectors are used.
"""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .._exceptions import warn
from .._threads import aside
from .scores import linear_scores

# The largest number of rows of a matrix of products (1.2 GB). Larger problems are solved by conjugate gradients.
MOST = 12_000

# Matrices of up to this number of rows are solved by eigenvectors, which also give the rank and the condition number.
_FEW = 512

# _DENSE: columns with entries in more than this share of the rows are multiplied as dense columns.
# _NUMBERS: the number of values that are made dense at a time.
_DENSE, _NUMBERS = 1 / 32, 1 << 22

_BLOCK = 256

# An eigenvalue below _ZERO times the largest one counts as 0. Between _ZERO and _CERTAIN this is uncertain.
_ZERO, _CERTAIN = 1e-13, 1e-10

_STEPS = 20_000


class Solution(NamedTuple):
    """The result of `solved`: coefficients, rank and condition number."""

    coef: np.ndarray  # (n_outputs, d), the weights w
    rank: int
    condition: float  # the condition number of A'A + alpha I


class Unsure(Exception):
    """Raised if the matrix of products does not determine the rank."""


def transposed(X):
    """The transpose of a Csr."""
    order = aside(np.argsort, X.indices[: X.size], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(X.indices[: X.size], minlength=X.n_columns))])
    return Csr(indptr, X.row_numbers()[order].astype(np.int32), X.data[: X.size][order], len(X))


class Centred:
    """The operator A = root (X - 1 mean') for a Csr X, without storing A."""

    def __init__(self, X, mean, root, n_jobs):
        self.X, self.turned, self.mean, self.root, self.n_jobs = X, transposed(X), mean, root, n_jobs

    def times(self, W):
        """A W for a W of shape (d, k)."""
        scores = linear_scores(self.X, W.T, -(self.mean @ W), self.n_jobs)
        return scores * self.root[:, None]

    def back(self, R):
        """A' R for an R of shape (n, k)."""
        R = R * self.root[:, None]
        return linear_scores(self.turned, R.T, np.zeros(R.shape[1]), self.n_jobs) - np.outer(self.mean, R.sum(axis=0))

    def products(self):
        """The matrix AA', or A'A if A has fewer columns than rows."""
        n, d = self.X.shape
        if n <= d:
            middle = linear_scores(self.X, self.mean[None], np.zeros(1), self.n_jobs)[:, 0]
            gram = products_of(self.X, self.turned)
            gram -= middle
            gram -= middle[:, None]
            gram += self.mean @ self.mean
            gram *= self.root
            gram *= self.root[:, None]
            return gram
        weighted = Csr(self.X.indptr, self.X.indices, self.X.data * self.root[self.X.row_numbers()], d)
        gram = products_of(transposed(weighted), weighted)
        sums = linear_scores(self.turned, (self.root**2)[None], np.zeros(1), self.n_jobs)[:, 0]
        total = (self.root**2).sum()
        gram -= np.outer(sums, self.mean)
        gram -= np.outer(self.mean, sums)
        gram += total * np.outer(self.mean, self.mean)
        return gram


def products_of(X, turned):
    """XX' in float64, for a Csr X and its transpose."""
    n = len(X)
    gram = np.zeros((n, n))
    flat, length = gram.reshape(-1), np.diff(turned.indptr)
    dense = np.flatnonzero(length > max(8, _DENSE * n))
    size = max(1, _NUMBERS // n)
    for start in range(0, len(dense), size):
        block = np.asarray(turned[dense[start : start + size]], np.float64).T.copy()
        aside(_add_square, block, gram)
    rare = np.flatnonzero((length <= max(8, _DENSE * n)) & (length > 0))
    ends = np.cumsum(length[rare] ** 2)
    start = 0
    while start < len(rare):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + (1 << 20))))
        part = turned[rare[start:stop]]
        counts = length[rare[start:stop]]
        # list all pairs of entries in the same column
        left = np.repeat(np.arange(part.size), np.repeat(counts, counts))
        first = np.repeat(part.indptr[:-1], counts * counts)
        place = np.arange(len(left)) - np.repeat(np.cumsum(counts * counts) - counts * counts, counts * counts)
        right = first + place % np.repeat(counts, counts * counts)
        rows, values = part.indices.astype(np.int64), part.data.astype(np.float64)
        np.add.at(flat, rows[left] * n + rows[right], values[left] * values[right])
        start = stop
    return gram


def _add_square(block, gram):
    gram += block @ block.T


class Factor:
    """The Cholesky factor L of a matrix LL', and solutions of systems with this matrix."""

    def __init__(self, matrix):
        self.L = aside(np.linalg.cholesky, matrix)
        n = len(matrix)
        self.blocks = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
        self.inverses = [np.linalg.inv(self.L[block, block]) for block in self.blocks]

    def forward(self, B):
        """The product L^-1 B."""
        x = np.array(B)
        for block, inverse in zip(self.blocks, self.inverses):
            x[block] = inverse @ (x[block] - self.L[block, : block.start] @ x[: block.start])
        return x

    def solve(self, B):
        x = self.forward(B)
        for block, inverse in zip(self.blocks[::-1], self.inverses[::-1]):
            x[block] = inverse.T @ (x[block] - self.L[block.stop :, block].T @ x[block.stop :])
        return x


class _Eigen:
    """The inverse of (matrix of products + alpha I), restricted to eigenvectors with eigenvalues other than 0."""

    def __init__(self, gram, alpha, longest, exact):
        values, self.V = aside(np.linalg.eigh, gram)
        most = max(values[-1], 0.0)
        kept = values > most * max(_ZERO, longest * np.finfo(float).eps)
        if not exact and kept.any() and values[kept][0] < _CERTAIN * most:
            raise Unsure
        self.V, self.values = self.V[:, kept], values[kept]
        self.alpha = alpha
        self.rank = int(kept.sum())

    def solve(self, B):
        return self.V @ ((self.V.T @ B) / (self.values + self.alpha)[:, None])


def solved(A, target, alpha, exact):
    """The `Solution` of min |A w - target|^2 + alpha |w|^2 with the least |w|.

    Raises Unsure if refinement does not converge or, unless `exact`, if an eigenvalue leaves the rank uncertain.
    """
    n, d = A.X.shape
    if min(n, d) > MOST:
        return _by_gradients(A, target, alpha)
    gram = A.products()
    if not np.isfinite(gram).all():
        return Solution(np.full((target.shape[1], d), np.nan), 0, np.inf)
    largest = _largest(lambda v: gram @ v, len(gram))
    if min(n, d) > _FEW:
        found = _by_factor(A, target, alpha, gram, largest)
        if found is not None:
            return found
    inverse = _Eigen(gram, alpha, max(n, d), exact)
    w = _refined(A, target, alpha, inverse.solve)
    if w is None:
        raise Unsure
    full = d if alpha > 0 else inverse.rank
    least = alpha if n < d or not inverse.rank else inverse.values[0] + alpha
    condition = (inverse.values[-1] + alpha) / least if full == d and inverse.rank and least > 0 else np.inf
    return Solution(w.T, full, condition)


def _by_factor(A, target, alpha, gram, largest):
    """The `Solution` by a Cholesky factor, or None if there is no factor or the solution is not accurate enough."""
    n, d = A.X.shape
    wide = n <= d
    lost = 0
    matrix = gram.copy()
    if wide and A.mean.any():
        # centred rows and targets are orthogonal to u; adding a multiple of uu' makes the matrix regular
        lost = 1
        u = A.root / np.linalg.norm(A.root)
        matrix += largest * np.outer(u, u)
    matrix[np.diag_indices(len(matrix))] += alpha
    try:
        factor = Factor(matrix)
    except np.linalg.LinAlgError:
        return None
    del matrix
    smallest = 1 / _largest(factor.solve, len(gram), 0.01)
    if not smallest > _CERTAIN * 0.1 * largest:
        return None
    w = _refined(A, target, alpha, factor.solve)
    if w is None:
        return None
    if alpha > 0:
        return Solution(w.T, d, (largest + alpha) / (alpha if wide else smallest))
    rank = min(n - lost, d)
    return Solution(w.T, rank, largest / smallest if rank == d else np.inf)


def _refined(A, target, alpha, solve):
    """The solution w by iterative refinement until steps change nothing; None if that does not converge."""
    n, d = A.X.shape
    wide = n <= d
    w, z, before = np.zeros((d, target.shape[1])), np.zeros(target.shape), np.inf
    for _ in range(12):
        rest = target - A.times(w)
        if wide:
            # as w = A'z, the residual of (AA' + alpha I) z = target is target - A w - alpha z
            step = solve(rest - alpha * z)
            z += step
            step = A.back(step)
        else:
            step = solve(A.back(rest) - alpha * w)
        w += step
        size, change = np.abs(w).max(), np.abs(step).max()
        if not np.isfinite(change):
            return None
        if change <= 1e-14 * size:
            return w
        if change > 0.25 * before:
            return w if change <= 1e-10 * size else None
        before = change
    return w


def _largest(times, n, digits=1e-10):
    """A lower estimate of the largest eigenvalue of a symmetric matrix, by subspace iteration."""
    v = np.linalg.qr(np.random.default_rng(0).standard_normal((n, min(n, 4))))[0]
    value = 0.0
    for _ in range(60):
        product = times(v)
        before, value = value, float(np.linalg.eigvalsh(v.T @ product)[-1])
        if not abs(value - before) > digits * value:
            break
        v = np.linalg.qr(product)[0]
    return value


def _by_gradients(A, target, alpha):
    """The `Solution` by conjugate gradients on the normal equations (CGLS), for all targets together."""
    n, d = A.X.shape
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
