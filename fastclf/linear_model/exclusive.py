"""Least squares on sparse rows whose columns mostly exclude each other, like zeros and ones of a categorical column.

Of these columns, B, each row has at most one, so that B'B is diagonal. They are eliminated from the normal equations.
The other columns, minus their means, and the intercept, E, keep a system as small as their number:

    (E'E - E'B D^-1 B'E) e = E't - E'B D^-1 B't,    D = B'B + alpha I,    b = D^-1 (B't - B'E e)

Its eigenvectors with eigenvalue 0 give all solutions of the normal equations of 0, from which the solution is freed, so
that it has the least norm.
"""

import numpy as np

from .._csr import Csr
from .._threads import aside
from .row_gram import Solution, Unsure, largest_eigenvalue, refined
from .scores import products_with, transposed

# Columns are eliminated if there are at least this number of them, and at least as many as other columns.
_LEAST = 128

# Columns are eliminated if the others are at most _FEW; or at most _MOST, if all columns are more than _LARGE: then a
# factorisation of all takes longer than one of the others. The others have at most _NUMBERS values in all rows.
_FEW, _MOST, _LARGE, _NUMBERS = 128, 2048, 1500, 1 << 24

# An eigenvalue below _ZERO counts as 0, relative to columns of length 1. Between _ZERO and _CERTAIN this is uncertain.
_ZERO, _CERTAIN = 1e-14, 1e-10


def exclusive_columns(X):
    """The most columns side by side of which no row of a Csr has two, as a slice; None if they are too few."""
    d = X.shape[1]
    if d < _LEAST:
        return None
    rows = transposed(transposed(X))  # the columns of each row are in ascending order
    columns, numbers = rows.indices[: rows.size], rows.row_numbers()
    beside = numbers[1:] == numbers[:-1]
    # for each column the first one after it that some row has, too
    first = np.full(d, d)
    aside(np.minimum.at, first, columns[:-1][beside], columns[1:][beside])
    ends = np.minimum.accumulate(first[::-1])[::-1]
    start = int(np.argmax(ends - np.arange(d)))
    found = slice(start, int(ends[start]))
    n_others = d - (found.stop - start)
    small = n_others <= (_MOST if d > _LARGE else _FEW) and n_others * len(X) <= _NUMBERS
    return found if small and d - n_others >= max(n_others, _LEAST) else None


def solved_by_elimination(A, target, alpha, columns, fit_intercept):
    """The `Solution` of min |A w - target|^2 + alpha |w|^2 with the least |w|, or None if that is uncertain.

    A is a `Centred`, and `columns` a slice of columns that exclude each other.
    """
    try:
        system = _Eliminated(A, alpha, columns, fit_intercept)
    except Unsure:
        return None
    w = refined(A, target, alpha, system.solve, by_columns=True)
    if w is None:
        return None
    d, n_null = A.shape[1], system.null.shape[1]
    return Solution(w.T, d - n_null, np.inf if n_null else _condition(A, alpha, system))


class _Eliminated:
    """The inverse of A'A + alpha I on the vectors that are orthogonal to its null space."""

    def __init__(self, A, alpha, columns, fit_intercept):
        n, d = A.shape
        self.columns, self.rest = columns, np.delete(np.arange(d), columns)
        weight, p = A.root**2, len(self.rest)
        B, E = A.turned[np.arange(d)[columns]], A.turned[self.rest]
        values = B.data[: B.size] * weight[B.indices[: B.size]]
        self.diagonal = np.bincount(B.row_numbers(), values * B.data[: B.size], len(B)) + alpha
        if not (self.diagonal > 0).all():
            raise Unsure
        B = Csr(B.indptr, B.indices[: B.size], values, n)
        E = aside(_dense_columns, E, A.mean[self.rest], fit_intercept)
        self.both = products_with(B, E, np.zeros(E.shape[1]))  # B'E
        E *= A.root[:, None]
        gram = aside(np.matmul, E.T, E)
        del E
        gram[np.arange(p), np.arange(p)] += alpha
        length = np.sqrt(gram.diagonal())
        rest = gram - aside(np.matmul, self.both.T, self.both / self.diagonal[:, None])
        if not (np.isfinite(rest).all() and (length > 0).all()):
            raise Unsure
        self.scale = np.ldexp(1.0, -np.frexp(length)[1])
        values, vectors = aside(np.linalg.eigh, rest * self.scale * self.scale[:, None])
        kept = values > max(_ZERO, np.finfo(float).eps * len(values))
        # with a penalty the matrix is positive definite, so that no eigenvalue is 0
        if (kept.any() and values[kept][0] < _CERTAIN) or (alpha > 0 and not kept.all()):
            raise Unsure
        self.values, self.vectors = values[kept], vectors[:, kept]
        self.null = np.zeros((d, 0))
        self.null = np.linalg.qr(self._placed(self.scale[:, None] * vectors[:, ~kept], 0.0))[0]

    def _placed(self, e, B_target):
        """The vectors w for the solution e of the other columns and the intercept."""
        w = np.empty((len(self.rest) + len(self.diagonal), e.shape[1]))
        w[self.rest] = e[: len(self.rest)]
        w[self.columns] = (B_target - self.both @ e) / self.diagonal[:, None]
        return w - self.null @ (self.null.T @ w)

    def solve(self, G):
        """The solutions w of (A'A + alpha I) w = G that have the least norm."""
        right = np.zeros((len(self.scale), G.shape[1]))
        right[: len(self.rest)] = G[self.rest]
        right -= self.both.T @ (G[self.columns] / self.diagonal[:, None])
        right *= self.scale[:, None]
        e = self.vectors @ ((self.vectors.T @ right) / self.values[:, None])
        return self._placed(self.scale[:, None] * e, G[self.columns])


def _dense_columns(E, mean, fit_intercept):
    """Sparse columns, a Csr (p, n), as an array (n, p) minus their means; for an intercept a column of ones more.

    Without its mean a column keeps its digits; the mean changes the intercept alone.
    """
    p, n = E.shape
    dense = np.ones((n, p + fit_intercept))
    dense[:, :p] = np.asarray(E, np.float64).T
    dense[:, :p] -= mean
    return dense


def _condition(A, alpha, system):
    """An estimate of the condition number of A'A + alpha I, after its columns are scaled to about length 1."""
    d, X = A.shape[1], A.turned
    squares = X.data[: X.size] ** 2 * A.root[X.indices[: X.size]] ** 2
    length = np.bincount(X.row_numbers(), squares, d) - (A.root**2).sum() * A.mean**2 + alpha
    scale = np.ldexp(1.0, -np.frexp(np.sqrt(np.maximum(length, np.finfo(float).tiny)))[1])[:, None]

    def times(v):
        v = scale * v
        return scale * (A.back(A.times(v)) + alpha * v)

    return largest_eigenvalue(times, d) * largest_eigenvalue(lambda v: system.solve(v / scale) / scale, d, 0.01)
