"""Block conjugate gradients for least squares with a penalty, more columns than rows, and sparse rows.

    M z = t,    M = AA' + alpha I = F + BB',    F = CC' + alpha I

C has the columns of A with the largest norms, B the other columns. F is the preconditioner: its inverse needs products
with C and a small matrix only (Woodbury). The eigenvalues of F^-1 M are from 1 to 1 + |B|^2 / alpha, so that columns
with large norms, such as frequent words, cost no steps. F p is known for each search direction p, because p is a sum of
vectors F^-1 r: a step multiplies by each column of A twice, as it would without a preconditioner.

For few targets, building F mostly takes more time than the steps that it saves. Then conjugate gradients on the normal
equations are tried first, with the columns of A divided by their lengths.
"""

from functools import partial

import numpy as np

from .._threads import aside_if_many, inner, norm_of

# _ENDS: the relative error of the weights, by the type of X, at which steps end: an upper bound of it, from residuals
# that the steps update.
# _ENOUGH: the factor by which the bound may be larger once it is computed from X itself, without the rounding errors of
# the steps; otherwise the weights are refused.
_ENDS, _ENOUGH = {"float32": 1e-8, "float64": 1e-10}, 5

# C has at most _COLUMNS columns, and the square of their number is at most the share _SHARE of the number of entries
# of X, so that a product with the matrix C'C takes less time than a product with X.
_COLUMNS, _SHARE = 256, 1 / 2

# C is empty if the sum of the squares of its entries, before means are subtracted, is above this multiple of alpha: the
# rounding errors grow with the square of the condition number of F.
_STEEP = 1e6

# Conjugate gradients with scaled columns are given up if they are likely to take more steps than this: many small
# eigenvalues, as with a small penalty, slow them down, but not those with F.
_SCALED_STEPS = 64

# Conjugate gradients with scaled columns are not tried if a sum of squares is below this number or above its inverse,
# as its terms may have underflowed or overflowed.
_SAFE = 1e-200

# _MEASURED: the number of steps before the rate of convergence is first measured, and between two measurements.
# _PATIENCE: the rate decides only after this share of the steps that are allowed, as errors fall by fits and starts.
_MEASURED, _PATIENCE = 8, 1 / 8

# Columns are orthonormal after one multiplication by the inverse of their Cholesky factor if the smallest diagonal
# entry of this factor is above this share of the largest.
_WELL = 1e-2


def end_of(A):
    """The relative error of weights at which conjugate gradients end."""
    return _ENDS[A.X.dtype.name]


def is_enough(A, bounds, sizes):
    """Whether weights are accurate enough. sizes: their norms; bounds: upper bounds of the norms of their errors."""
    return bool(np.all(bounds <= _ENOUGH * end_of(A) * sizes))


class Split:
    """The matrix M = AA' + alpha I for a `Centred` A of more columns than rows, with its preconditioner F.

    `C` and `B` are None where they have no columns; `gram` is C'C, and `inverse` that of C'C + alpha I; `end` is the
    relative error at which a round ends.
    """

    def __init__(self, A, alpha):
        self.A, self.alpha, self.end = A, alpha, end_of(A)
        X, turned = A.X, A.turned
        norms = aside_if_many(turned.size, _square_sums, turned) * A.root.max() ** 2
        kept = min(_COLUMNS, int(np.sqrt(_SHARE * X.size)), len(norms))
        large = np.zeros(len(norms), bool)
        large[np.argpartition(norms, -kept)[-kept:]] = True
        large &= (norms > alpha) & (norms[large].sum() <= _STEEP * alpha)
        self.C = A.of_columns(np.flatnonzero(large)) if large.any() else None
        self.B = A.of_columns(np.flatnonzero(~large)) if not large.all() else None
        if self.C is not None:
            self.gram = self.C.dense_products()
            self.inverse = np.linalg.inv(self.gram + alpha * np.eye(len(self.gram)))

    def times(self, P, FP):
        """M P for a P of shape (n, k) whose product F P is given."""
        return FP.copy() if self.B is None else FP + self.B.square_times(P)

    def solve(self, R):
        """The product F^-1 R."""
        if self.C is None:
            return R / self.alpha
        found = self.C.times(self.inverse @ self.C.back(R))
        np.subtract(R, found, out=found)
        found /= self.alpha
        return found

    def bounds(self, R):
        """Upper bounds of |A'e| for the errors e = M^-1 R, for each column of R.

        No singular value of A' M^-1 is above 1 / (2 root(alpha)); and |A'e|^2 <= e'Me = r'M^-1 r <= r'F^-1 r.
        """
        squares = np.maximum(np.einsum("ij,ij->j", R, self.solve(R)), 0)
        return np.minimum(np.sqrt(squares), np.linalg.norm(R, axis=0) / (2 * np.sqrt(self.alpha)))

    def leading_vector(self):
        """An approximation of the eigenvector of the largest eigenvalue of AA'; None if it is not known."""
        if self.C is None:
            return None
        v = np.ones(len(self.gram))
        for _ in range(8):
            v = self.gram @ v
            size = norm_of(v)
            if not 0 < size < np.inf:
                return None
            v /= size
        return self.C.times(v[:, None])[:, 0]


def _square_sums(turned):
    """The sum of the squares of each row of a Csr."""
    sums = np.zeros(len(turned))
    filled = np.flatnonzero(np.diff(turned.indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(turned.data[: turned.size] ** 2, turned.indptr[filled])
    return sums


class Pace:
    """Whether conjugate gradients, whose errors fall by fits and starts, are likely to take more than `limit` steps."""

    def __init__(self, limit, end):
        self.limit, self.end, self.first = limit, end, np.inf

    def is_too_slow(self, step, left):
        """`left` is the relative error after this step; that after the last one is `end`."""
        if step == _MEASURED:
            self.first = left
        if not np.isfinite(left):
            return True
        if step % _MEASURED or step < max(2 * _MEASURED, _PATIENCE * self.limit):
            return False
        # the error after the first measurement and the error now give the rate of convergence, which predicts the
        # number of further steps
        rate = np.log(self.first / left) / (step - _MEASURED) if left < self.first else 0.0
        return step + np.log(left / self.end) / max(rate, 1e-9) > self.limit


def basis_of(target):
    """(B, C) with target = B C: an orthonormal basis of the span of the target's columns, and their coordinates in it.

    B has no columns if the target is 0.
    """
    # a power of 2 makes no rounding errors; without it, squares of targets with large weights would overflow
    unit = np.ldexp(1.0, np.frexp(np.abs(target).max())[1])
    scaled = target / unit
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = values > 1e-14 * values[-1]
    size = np.sqrt(values[kept])
    return scaled @ (vectors[:, kept] / size), size[:, None] * vectors[:, kept].T * unit


def conjugate_block(split, target, sizes_of, limit):
    """An approximate solution Z of M Z = target by block conjugate gradients with the preconditioner F of `split`.

    The error e of a column of Z, whose residual is r, has |A'e|^2 <= r' F^-1 r. The steps end where the root of this
    bound is at most `split.end` times sizes_of(Z), the norm of each column's weights. The result is None if more than
    `limit` steps are likely to be needed. Residuals Q are kept with Q' F^-1 Q = I (Dubrulle 2001, Retooling the method
    of block conjugate gradients).
    """
    Z = np.zeros(target.shape)
    # the first search directions are a basis, because the targets may be linearly dependent
    basis, shares = basis_of(target)
    if not basis.size:
        return Z
    Q, FQ, more = _orthonormal(split, basis)
    C = more @ shares
    P, FP, pace = FQ, Q, Pace(limit, split.end)
    for step in range(1, limit + 1):
        S = split.times(P, FP)
        try:
            move = np.linalg.solve(P.T @ S, np.eye(P.shape[1]))
        except np.linalg.LinAlgError:
            return Z
        Z += P @ (move @ C)
        Q, FQ, more = _orthonormal(split, Q - S @ move)
        C = more @ C
        bounds, sizes = np.linalg.norm(C, axis=0), sizes_of(Z)
        if (bounds <= split.end * sizes).all():
            return Z
        left = float((bounds / np.where(sizes > 0, sizes, 1)).max())
        if pace.is_too_slow(step, left):
            return None
        P = FQ + P @ more.T
        FP = Q + FP @ more.T
    return None


def scaled_gradients(A, target, alpha):
    """The weights W of least |A w - t|^2 + alpha |w|^2 for each target t; None if they are likely to take many steps.

    A column of A counts as divided by the root of its squared length plus alpha. The steps end where the relative error
    of each column of W is at most `end_of(A)`, but for the rounding errors of the steps, which `is_solved` finds: no
    eigenvalue of A'A + alpha I is below alpha, so that the error is at most |slope| / alpha.
    """
    weight = (alpha / (A.square_lengths + alpha))[:, None]
    W, rest, pace = np.zeros((A.shape[1], target.shape[1])), target.copy(), Pace(_SCALED_STEPS, end_of(A))
    slope = A.back(rest)
    P = slope * weight
    size = _inner(slope, P)
    if not ((size > _SAFE) & (_inner(slope, slope) < 1 / _SAFE)).all():
        return None
    state, take_step = (weight, W, rest, slope, P), partial(_step, A)
    if A.takes_steps(target.shape[1]):
        size, take_step = size.item(), A.step
        state = [*(array.ravel() for array in state), np.empty(len(rest))]
    for step in range(1, _SCALED_STEPS + 1):
        size, squares, lengths = take_step(alpha, size, state)
        left = float((np.sqrt(squares) / (alpha * np.sqrt(lengths))).max())
        if left <= pace.end:
            return W
        if pace.is_too_slow(step, left):
            return None
    return None


def _step(A, alpha, size, state):
    """A step of conjugate gradients for several targets together, which changes its state.

    state: weight, W, rest, slope and the directions P. Returns, for each target, the inner product of its slope and
    weight slope (the next `size`), |slope|^2 and |w|^2.
    """
    weight, W, rest, slope, P = state
    Q, scratch = A.times(P), np.empty_like(W)
    by = size / (_inner(Q, Q) + alpha * _inner(P, P))
    W += np.multiply(P, by, out=scratch)
    rest -= by * Q
    np.subtract(A.back(rest), np.multiply(W, alpha, out=scratch), out=slope)
    scaled = np.multiply(slope, weight, out=scratch)
    after = _inner(slope, scaled)
    P *= after / size
    P += scaled
    return after, _inner(slope, slope), _inner(W, W)


def is_solved(A, target, alpha, W):
    """Whether each column of W is the w of least |A w - t|^2 + alpha |w|^2 for its target t, accurately enough."""
    slope = A.back(target - A.times(W)) - alpha * W
    return is_enough(A, np.sqrt(_inner(slope, slope)) / alpha, np.sqrt(_inner(W, W)))


def _inner(X, Y):
    """The inner product of each column of X with the same column of Y."""
    return np.array([inner(X, Y)]) if X.shape[1] == 1 else np.einsum("ij,ij->j", X, Y)


def _orthonormal(split, W):
    """(Q, F^-1 Q, R) with W = Q R and Q' F^-1 Q = I, for a tall matrix W."""
    FW = split.solve(W)
    if W.shape[1] == 1:
        size = np.sqrt(max(float(W[:, 0] @ FW[:, 0]), 0.0))
        return (W / size, FW / size, np.full((1, 1), size)) if size > 0 else (W, FW, np.zeros((1, 1)))
    whole, is_new = np.eye(W.shape[1]), True
    for _ in range(2):
        R = _cholesky(W.T @ FW)
        if R is None:
            if not is_new:
                break
            # columns of W that are nearly dependent are replaced by an orthonormal basis
            W, whole = np.linalg.qr(W)
            FW, is_new = split.solve(W), False
            R = _cholesky(W.T @ FW)
            if R is None:
                break
        inverse = np.linalg.inv(R)
        W, FW, whole = W @ inverse, FW @ inverse, R @ whole
        size = np.abs(R.diagonal())
        if size.min() > _WELL * size.max():
            break
    return W, FW, whole


def _cholesky(matrix):
    """The upper triangular factor of a symmetric matrix; None if it has none or is nearly singular."""
    try:
        R = np.linalg.cholesky((matrix + matrix.T) / 2).T
    except np.linalg.LinAlgError:
        return None
    size = np.abs(R.diagonal())
    return R if size.min() > 1e-5 * size.max() else None
