"""Inverses of positive semidefinite matrices of second derivatives, which may be singular."""

import contextlib

import numpy as np

from .. import _simd
from .._threads import aside_for_many, aside_if_slow

kernels = _simd.load("linear_model._likelihood")

# Matrices of at most this number of rows are inverted by compiled sweeps, in 0.1 to 0.9 of LAPACK's time.
_SWEPT = 144

# Triangular matrices of at most this number of rows are inverted at once.
_FEW_ROWS = 24


def inverted(matrices):
    """The inverses of positive semidefinite matrices (..., D, D).

    The diagonals are increased until the matrices can be inverted.
    """
    return aside_if_slow(2 * matrices.size * matrices.shape[-1], _inverted, matrices)


def _inverted(matrices):
    ridge = _ridge(matrices)[..., None, None] * np.eye(matrices.shape[-1])
    # the number added to the diagonals becomes infinite or NaN, which ends the loop, if a matrix holds infinity or NaN
    while np.max(ridge) < np.inf:
        try:
            if matrices.shape[-1] <= _SWEPT:
                return _swept(matrices + ridge)
            # cholesky raises LinAlgError if a matrix is not positive definite
            factors = np.linalg.cholesky(matrices + ridge)
            sides = _triangular_inverses(factors)
            return sides.swapaxes(-1, -2) @ sides
        except np.linalg.LinAlgError:
            ridge = ridge * 100
    raise ValueError("second derivatives overflowed; X of a smaller scale is wanted")


def _swept(matrices):
    """The inverses of positive definite matrices; raises LinAlgError if one is not."""
    D = matrices.shape[-1]
    padded = np.zeros((matrices.size // D**2, D, -(-D // kernels.LANES) * kernels.LANES))
    padded[:, :, :D] = matrices.reshape(-1, D, D)
    if not kernels.invert(padded, np.empty(padded.shape[2])):
        raise np.linalg.LinAlgError
    return np.ascontiguousarray(padded[:, :, :D]).reshape(matrices.shape)


def _triangular_inverses(factors):
    """The inverses of lower triangular matrices (..., D, D), by halves: nearly all of the work is in large products."""
    D = factors.shape[-1]
    if D <= _FEW_ROWS:
        return np.linalg.inv(factors)
    found, half = np.zeros_like(factors), D // 2
    first, last = slice(half), slice(half, D)
    found[..., first, first] = _triangular_inverses(factors[..., first, first])
    found[..., last, last] = _triangular_inverses(factors[..., last, last])
    found[..., last, first] = -(found[..., last, last] @ (factors[..., last, first] @ found[..., first, first]))
    return found


def solution_of(matrix, target):
    """The solution of a system with a positive semidefinite matrix, which is increased like those of `inverted`."""
    return aside_if_slow(matrix.size * len(matrix), _solution, matrix, target)


def _solution(matrix, target):
    ridge = _ridge(matrix)
    if ridge < np.inf:  # `inverted` raises an error for a matrix with infinity or NaN
        raised = matrix.copy()
        raised[np.diag_indices(len(raised))] += ridge
        with contextlib.suppress(np.linalg.LinAlgError):
            np.linalg.cholesky(raised)  # cholesky raises LinAlgError if the matrix is not positive definite
            return np.linalg.solve(raised, target)
    return _inverted(matrix) @ target


def _ridge(matrices):
    """The number that is added to the diagonal of each matrix of second derivatives, so that it can be inverted."""
    return 1e-10 * np.maximum(np.trace(matrices, axis1=-2, axis2=-1) / matrices.shape[-1], 1e-300)


def inverse_of(curvature, dtype=np.float64):
    """A function that multiplies a gradient (K, D) by the inverse of the second derivatives.

    The second derivatives are one matrix (K D, K D), blocks (K, D, D) or (1, D, D), or a diagonal (D,). The inverse of
    blocks is kept in `dtype`.
    """
    if curvature.ndim == 1:
        return lambda gradient: gradient / curvature
    inverse = inverted(curvature)
    if curvature.ndim == 2:
        return lambda gradient: (inverse @ gradient.ravel()).reshape(gradient.shape)
    unit, inverse = _in_units(inverse, dtype)

    def times_inverse(gradient):
        size = np.abs(gradient).max(initial=1e-300)
        rest = (gradient / size).astype(dtype)
        found = rest @ inverse[0] if len(inverse) == 1 else (inverse @ rest[:, :, None])[:, :, 0]
        return found * (unit * size)

    return times_inverse


@aside_for_many
def _in_units(inverse, dtype):
    """(unit, inverse / unit in `dtype`), where unit is the largest entry, so that no entry overflows in float32."""
    unit = np.abs(inverse).max(initial=1e-300)
    return unit, (inverse / unit).astype(dtype)
