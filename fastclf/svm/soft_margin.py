"""The soft-margin problem of one separating hyperplane: its sums over rows, and the proof of a solution."""

import math
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import inner, large_product, rows_at
from .._validation import require_finite
from ..linear_model.scores import _arrays, linear_scores
from ..sums import blocks
from ..sums.moments import kernels as moments

kernels = _simd.load("svm._soft_margin")

# The number of multiplications in a range of rows, which takes some milliseconds. Each range has its own partial sum:
# the range must not depend on measured times, or these would change bits of the result.
_RANGE_WORK = 1 << 22

# A block of rows takes at least this number of multiplications for each number that is summed over the block.
_WORK_PER_NUMBER = 128

# The products of at most _FEW_ROWS dense rows, or of rows with at least _WIDE columns, are products of matrices, in
# blocks of _WIDE_NUMBERS numbers.
_FEW_ROWS, _WIDE, _WIDE_NUMBERS = 64, 384, 1 << 22


def added(n, work, shape, add, threads):
    """The sum over n rows that add(start, stop, sum_out) makes in blocks; a row takes `work` multiplications."""
    numbers = shape if isinstance(shape, int) else math.prod(shape)
    worth = n * work // max(blocks.BLOCK_WORK, _WORK_PER_NUMBER * numbers)
    n_blocks, length = blocks.n_blocks(min(n, worth), numbers), 1 + _RANGE_WORK // work
    if n_blocks == 1 and n <= length:
        found = np.zeros(shape)
        add(0, n, found)
        return found
    bounds = blocks.even_bounds(n, n_blocks)
    return blocks.added(blocks.over_blocks(bounds, length, lambda: np.zeros(shape), add, threads, blocks.by_length))


def square_norms(X, owner, threads):
    """The squared lengths of the rows of X, dense or Csr; `owner` is the estimator named if X is not finite."""
    squares = np.empty(len(X))
    arrays = _arrays(X)
    kernel = kernels.square_norms if len(arrays) == 1 else kernels.square_norms_sparse
    blocks.over_rows(lambda start, stop: kernel(*arrays, start, stop, squares), X, 1, threads)
    longest = np.max(squares)
    if not longest < 1e300:
        if not isinstance(X, Csr):
            require_finite(X, "X", owner)
        row = int(np.argmax(squares))
        raise ValueError(f"row {row} of X is longer than 1e150; smaller numbers are wanted")
    return squares


class Problem:
    """min |w|^2 / 2 + sum_i cost_i max(0, 1 - y_i (w x_i + b))^p, p = 1 or 2, over rows of cost 0 or more.

    A hyperplane is an array of d + 1 numbers: w, and the weight of a column that is `bias` in each row.

    Parameters
    ----------
    X : ndarray or Csr
    y : ndarray of shape (n,)
        1.0 or -1.0.
    cost : ndarray of shape (n,)
    squares : ndarray of shape (n,)
        Squared lengths of the rows.
    squared : bool
        Whether p is 2.
    bias : float
        The value of the bias column; 0 for no intercept.
    free : bool
        Whether the intercept has no penalty. Then `bias` sets the length of one proximal step of the intercept.
    threads : int
    """

    def __init__(self, X, y, cost, squares, squared, bias, free, threads):
        self.X, self.y, self.cost, self.squares = X, y, cost, squares
        self.squared, self.bias, self.free, self.threads = squared, bias, free, threads
        self.n, self.d = X.shape
        there = cost > 0
        self.most = np.where(there, np.inf, 0.0) if squared else cost
        self.ridge = 0.5 / np.where(there, cost, 0.5) if squared else np.zeros(self.n)
        self.work = max(1, X.size // self.n)

    def take(self, rows, factor=1.0):
        """The problem of the listed rows, with their cost multiplied by `factor`."""
        return Problem(
            self.X[rows],
            self.y[rows],
            self.cost[rows] * factor,
            self.squares[rows],
            self.squared,
            self.bias,
            self.free,
            self.threads,
        )

    def scores(self, w):
        """w x_i, with the bias column."""
        return linear_scores(self.X, w[None, :-1], [self.bias * w[-1]], self.threads)[:, 0]

    def combine(self, a):
        """sum_i a_i x_i, with the bias column."""
        arrays = _arrays(self.X)
        kernel = kernels.combine if len(arrays) == 1 else kernels.combine_sparse
        total = added(
            self.n, self.work, self.d, lambda start, stop, out: kernel(*arrays, a, start, stop, out), self.threads
        )
        return np.append(total, self.bias * a.sum())

    def products(self, weight):
        """sum_i weight_i x_i x_i', with the bias column; weights may be negative, and rows of weight 0 are skipped."""
        d, total_weight = self.d, weight.sum()
        rows = np.flatnonzero(weight)
        if len(rows) <= _FEW_ROWS and not isinstance(self.X, Csr):
            few = np.full((len(rows), d + 1), self.bias, np.float64)
            few[:, :d] = self.X[rows]
            return (few * weight[rows, None]).T @ few
        if isinstance(self.X, Csr):
            arrays = _arrays(self.X)
            work = 1 + (1 + self.work**2) * len(rows) // self.n
            total = added(
                self.n,
                work,
                (d, d + 1),
                lambda start, stop, out: kernels.add_products_sparse(*arrays, weight, start, stop, out),
                self.threads,
            )
            sums, gram = total[:, -1], np.triu(total[:, :-1])
        else:
            if weight.min() < 0:
                return self.products(np.maximum(weight, 0)) - self.products(np.maximum(-weight, 0))
            if d >= _WIDE:
                return self._wide_products(rows, weight)
            X, width = self.X, -(-d // moments.TILE) * moments.TILE
            if len(rows) < self.n // 4:
                X, weight = rows_at(X, rows), weight[rows]
            codes, shift = np.zeros(len(X), np.intp), np.zeros(d)

            def add(start, stop, out):
                sums = out[0, :d].reshape(1, d)
                moments.add_products(X, codes, weight, shift, start, stop, sums, out[1:], 0, out.shape[1])

            total = added(len(X), d * d, (1 + width, width), add, self.threads)
            sums, gram = total[0, :d], np.triu(total[1 : 1 + d, :d])
        gram += np.triu(gram, 1).T
        found = np.empty((d + 1, d + 1))
        found[:d, :d] = gram
        found[:d, d] = found[d, :d] = self.bias * sums
        found[d, d] = self.bias**2 * total_weight
        return found

    def _wide_products(self, rows, weight):
        """`products` of dense rows with many columns, by products of matrices in blocks of rows."""
        found = np.zeros((self.d + 1, self.d + 1))
        for start in range(0, len(rows), _WIDE_NUMBERS // self.d):
            part = rows[start : start + _WIDE_NUMBERS // self.d]
            block = np.empty((len(part), self.d + 1))
            block[:, :-1], block[:, -1] = self.X[part], self.bias
            block *= np.sqrt(weight[part])[:, None]
            found += large_product(block.T, block)
        return found

    def losses(self, z):
        """sum_i cost_i max(0, z_i)^p"""
        z = np.maximum(z, 0)
        # np.sum is used, since an inner product by BLAS would ignore n_jobs
        return float(np.sum(self.cost * z * z if self.squared else self.cost * z))

    def proof(self, alpha, w, b, tol):
        """The `Proof` of the hyperplane of alpha, or of (w, b) if that is better and alpha is not optimal to tol."""
        if self.free:
            alpha = self._balanced(alpha, w, b)
        v = self.combine(alpha * self.y)
        if self.free:
            v[-1] = 0
        scores = self.scores(v)
        ascent = 1 - self.y * scores - self.ridge * alpha
        may_rise, may_fall = alpha < self.most, alpha > 0
        if self.free:
            # m(alpha) and M(alpha) of Fan, Chen, Lin (2005), the bounds of the intercept; alpha is optimal if m <= M
            up = np.where(self.y > 0, may_rise, may_fall)
            low = np.where(self.y > 0, may_fall, may_rise)
            m = np.max(self.y * ascent, where=up, initial=-np.inf)
            M = np.min(self.y * ascent, where=low, initial=np.inf)
            violation, offset = max(0.0, float(m - M)), float(m + M) / 2
        else:
            # the violation is the largest minus the smallest projected gradient, as in LIBLINEAR
            rise = np.max(ascent, where=may_rise, initial=0)
            fall = np.max(-ascent, where=may_fall, initial=0)
            violation, offset = float(rise + fall), 0.0
        z = 1 - self.y * (scores + offset)
        dual = float(alpha.sum() - 0.5 * inner(v, v) - 0.5 * np.sum(self.ridge * alpha * alpha))
        found = Proof(v, offset, alpha, z, 0.5 * inner(v, v) + self.losses(z), dual, violation)
        if violation > tol:
            z = 1 - self.y * (self.scores(w) + b)
            primal = 0.5 * inner(w, w) + self.losses(z)
            if primal < found.primal:
                return found._replace(w=w, b=b, z=z, primal=primal)
        return found

    def _balanced(self, alpha, w, b):
        """The dual variables alpha, changed within their bounds so that sum_i alpha_i y_i = 0."""
        excess = float(np.sum(alpha * self.y))
        falls = self.y * excess > 0
        reach = np.minimum(np.where(falls, alpha, self.most - alpha), abs(excess))
        inside = (alpha > 0) & (alpha < self.most)
        if reach[inside].sum() >= abs(excess):
            share = np.where(inside, reach, 0)
            share *= abs(excess) / max(share.sum(), 1e-300)
        else:
            order = np.argsort(np.abs(1 - self.y * (self.scores(w) + b) - self.ridge * alpha), kind="stable")
            before = np.cumsum(reach[order]) - reach[order]
            share = np.empty(self.n)
            share[order] = np.clip(abs(excess) - before, 0, reach[order])
        return np.clip(alpha + np.where(falls, -share, share), 0, self.most)


class Proof(NamedTuple):
    """A hyperplane, its dual variables, and how far both are from the optimum."""

    w: np.ndarray  # (d + 1,), float64: the weights w of d columns, then that of the bias column
    b: float  # the part of the intercept that the bias column does not contribute
    alpha: np.ndarray  # (n,), float64: the dual variable of each row
    z: np.ndarray  # (n,), float64: 1 - y_i (w x_i + b) of each row i
    primal: float  # the value of the primal objective at (w, b)
    dual: float
    violation: float  # the largest violation of the optimality conditions
