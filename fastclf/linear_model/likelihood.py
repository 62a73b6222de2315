"""The penalised likelihood of logistic regression, as a function of the coefficients of standardised columns."""

import contextlib
import copy
import math
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from .._exceptions import of_column
from .._threads import (
    aside_for_many,
    aside_if_many,
    aside_if_slow,
    columns_at,
    map_rows,
    norm_of,
    ranges,
)
from .._validation import as_matrix
from ..sums.blocks import added, even_bounds, n_blocks, over_blocks
from ..sums.class_sums import span_bounds
from .row_gram import DenseCentred, Factor
from .scores import linear_scores, products_with, transposed

kernels = _simd.load("linear_model._likelihood")
columns = _simd.load("linear_model._elastic_net")

# The number of multiplications in the first call of compiled code, before any call was timed.
_FIRST_WORK = 1 << 22
# A block of rows takes at least _BLOCK_WORK multiplications, whose time is several times that of the call of a compiled
# function, and at least _WORK_PER_NUMBER multiplications for each number that is summed over the block.
_BLOCK_WORK, _WORK_PER_NUMBER = 1 << 21, 64
# The number of sparse entries whose moments are computed at a time.
_ENTRIES = 1 << 20
# The largest number of multiplications for a QR decomposition of the rows, which then takes about 0.1 s.
_QR_WORK = 1 << 30
# Data with fewer rows than columns are reduced to as many columns as rows if the matrix of products of the rows takes
# at most this number of multiplications.
_PRODUCTS_WORK = 1 << 33
# A gradient norm below this is taken as a rounding error, even if the objective is small.
_LEAST_TOL = 1e-9
# Derivatives are summed over rows that are not centred if the mean of each column is within this number of standard
# deviations of 0.
_FAR = 100
# Squares of numbers from 1 / _SAFE to _SAFE neither overflow nor underflow.
_SAFE = 1e140


# The number of rows whose centred values are in float64 at a time.
_COPIED_ROWS = 4096

# The largest number of values in rows in float32 that are kept for later steps: 16 MB.
_KEPT_NUMBERS = 1 << 22

# The largest number of residuals, of all rows and classes, that are stored: 256 MB.
_RESIDUALS = 1 << 25

# A Cholesky factor of a matrix of products is accepted only if each pivot is at least this share of the matrix's trace.
_LEAST_PIVOT = 1e-11

# For several classes, the preconditioner of conjugate gradients has a block for each class (otherwise one block for all
# classes) up to _FEW_COLUMNS columns, or if the blocks cost less than _BLOCK_STEPS products with the second
# derivatives, which they save.
_FEW_COLUMNS, _BLOCK_STEPS = 128, 20

# _OWN_THREAD: the largest number of multiplications in a product of matrices that OpenBLAS computes on the thread that
# calls it. Its other threads wait for each other for up to 0.2 s where other programs keep the cores busy.
# _PART_ROWS: parts of rows whose products take no more are used if they have at least this number of rows.
_OWN_THREAD, _PART_ROWS = 1 << 18, 256

_NONE = np.empty(0)


class Point(NamedTuple):
    """The objective and its derivatives at the parameters theta."""

    theta: np.ndarray  # (K, d + 1): the parameters of K score functions for d columns, with the intercept last
    objective: float
    loss: float
    gradient: np.ndarray  # (K, d + 1): the gradient of the objective without the L1 term, at the parameters theta
    # the norm of the gradient or, with an L1 term, of the smallest subgradient; a lower bound of this norm if
    # `Likelihood.tol` is set and the bound shows that the point is not optimal
    norm: float
    margin: float  # the least margin of a row, if there is no penalty; else -inf
    # the matrix of second derivatives, of the kind that the caller of `evaluate` has requested
    curvature: np.ndarray | None

    def is_optimal(self, tol):
        """Whether the gradient norm is at most tol times the ratio of the objective to log K, its value at theta = 0.

        The curvature falls with the objective, and the possible gain is about the squared gradient over the curvature.
        """
        return self.norm <= self.limit(tol)

    def limit(self, tol):
        """The largest norm of the gradient at which the point is optimal to `tol`."""
        return least_norm(self.objective, len(self.theta), tol)


def least_norm(objective, K, tol):
    """The largest norm of the gradient at which a point with this objective is optimal to `tol`."""
    return max(tol * min(1, objective / np.log(max(2, K))), min(tol, _LEAST_TOL))


class Pass:
    """The state of a pass over panels of rows of a Likelihood, for compiled code.

    The fields are described by `pass_t` in `_likelihood.pyx`. The pass adds to `sums`, `grad` and `hess`; the fields in
    the last line of `__slots__` are scratch space.
    """

    __slots__ = (
        *("d", "ld", "n_classes", "width", "codes", "weights", "bias", "shift", "factor", "W", "curvature"),
        *("triangular", "margins"),
        *("sums", "grad", "hess", "residuals", "scores"),
        *("s", "weight", "bend", "z", "zt", "az"),
    )

    def __init__(self, rows, shift, factor, W, bias, curvature=None, residuals=_NONE, scores=_NONE):
        K, panel = rows.K, kernels.PANEL
        self.d, self.ld, self.n_classes, self.width = rows.d, rows.ld, K, rows.width
        self.codes, self.weights, self.bias = rows.codes, rows.weights, bias
        self.shift, self.factor, self.W, self.curvature = shift, factor, W, curvature
        self.triangular, self.margins = rows.is_triangular, rows.margins
        self.sums, self.grad = np.array([0, np.inf, 0]), np.zeros(_NONE.shape if len(residuals) else W.shape)
        self.residuals, self.scores = residuals, scores
        self.hess = np.zeros((rows.n_blocks(curvature), rows.d + 1, rows.ld))
        self.s, self.z = np.empty((K, panel)), np.empty(rows.width if rows.sparse else rows.ld * panel)
        self.weight, self.bend = np.empty((2, panel))
        dense_curvature = curvature is not None and not rows.sparse
        transposed = dense_curvature or (K > kernels.FEW_CLASSES and not rows.sparse)
        self.zt = np.empty(rows.ld * panel if transposed else 0)
        self.az = np.empty(rows.ld * panel if dense_curvature else 0)


class Likelihood:
    """f = sum_i s_i loss_i / S + penalty / 2 |w|^2 + l1 |w|_1, with S the sum of the weights s.

    theta holds a row (u, c) for each class, or one row for two classes: u_j = t_j w_j, where w_j are the coefficients
    for X itself, and c is the score of the mean row. t_j^2 = var_j + penalty makes second derivatives equally large,
    whatever the units of the columns. Without an intercept c is 0, and var_j is the mean square about 0, not about the
    mean.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous, or Csr
    codes : ndarray of shape (n,), int32
        The class of each row, from 0 up.
    n_classes : int
    weights : ndarray of shape (n,), float64, or None
    penalty : float
        0, with l1 = 0: no penalty; passes then compute the least margin of the rows.
    intercept : bool
    threads : int
    l1 : float, default=0

    Raises
    ------
    ValueError
        If a dense X holds NaN or infinity, or a column spans more than 1e300.
    """

    is_triangular = False  # whether the matrix of dense rows is known to be lower triangular

    def __init__(self, X, codes, n_classes, weights, penalty, intercept, threads, l1=0.0):
        self.X, self.codes, self.threads = X, codes, threads
        self.weights = _NONE if weights is None else weights
        self.K = 1 if n_classes == 2 else n_classes
        self._turned = None  # the transpose of X; None until it is needed
        # The tolerance of the fit, or None. With a tolerance, a lower bound replaces the norm of a gradient if the
        # bound shows already that the point is not optimal.
        self.tol = None
        self.sparse, self.bias = self._is_sparse(X), float(intercept)
        self.width = self.K if self.K == 1 else -(-self.K // kernels.LANES) * kernels.LANES
        self.n_panels = -(-len(X) // kernels.PANEL)
        self._measure()
        self.total = self.sum_of_weights(1)
        self.margins = False  # whether `evaluate` computes the least margin of a row
        self.mean, self._spread = self._moments()
        if not intercept:
            self.mean, self._spread = np.zeros(self.d), np.hypot(self._spread, self.mean)
        self.curvature = None  # the matrix of second derivatives that was computed last, from all rows or from a sample
        self._penalise(penalty, l1)

    # A subclass may have rows in other processes; it overrides the methods that read rows.

    @staticmethod
    def total_of(rows, weights):
        """The sum of the weights of all rows."""
        return float(len(rows)) if weights is None else total_weight(weights)

    @staticmethod
    def _is_sparse(X):
        return isinstance(X, Csr)

    def held(self):
        """The problem with its rows in this process."""
        return self

    def _measure(self):
        self.d = self.n_columns = self.X.shape[1]
        self.ld = -(-(self.d + 1) // kernels.LANES) * kernels.LANES
        # the mean number of stored entries of a row
        self.length = max(1, self.X.size // len(self.X)) if self.sparse else self.d

    def _penalise(self, penalty, l1=0.0):
        self.penalty, self.l1, self.margins = penalty, l1, penalty == 0 and l1 == 0
        self.scale = np.hypot(self._spread, np.sqrt(penalty))
        self.scale[self.scale == 0] = 1  # a constant column is not scaled; its coefficient stays 0
        self.factor = 1 / self.scale
        self._kept_rows = None  # all rows in float32, as `scaled_rows` makes them; None until they are needed
        # (d + 1,): the second derivatives of the L2 penalty by the scaled weights, and 0 for the intercept
        self.pull = np.append((np.sqrt(penalty) * self.factor) ** 2, 0)
        # the factors `edge` of the L1 term for scaled weights u: l1 |w| = edge |u|, as w = factor u
        self.edge = np.append(l1 * self.factor, 0)
        # derivatives are computed from rows that are not centred if there are two classes, and if centring afterwards
        # loses no digits
        self.is_plain = (
            self.K == 1
            and not self.sparse
            and bool((np.abs(self.mean) <= _FAR * self.scale).all())
            and bool((self.scale < _SAFE).all() and (self.factor < _SAFE).all())
        )

    def at(self, penalty, point):
        """(the problem with another penalty above 0, `point` as a Point of that problem), without a pass over the rows.

        The curvature of the new problem is that of this one, with the penalty's part exchanged.
        """
        other = copy.copy(self)
        other._penalise(penalty)
        ratio = np.append(self.scale / other.scale, 1)
        theta = point.theta / ratio
        gradient = (point.gradient - self.pull * point.theta) * ratio + other.pull * theta
        if self.curvature is not None:
            shape = (self.K, self.d + 1) * 2
            bends = self._with_penalty(self.curvature.reshape(shape).copy(), -1) * ratio[:, None, None] * ratio
            other.curvature = other._with_penalty(bends, 1).reshape(self.curvature.shape)
        return other, point._replace(
            theta=theta,
            objective=point.loss + 0.5 * float(np.sum(other.pull * theta**2)),
            gradient=gradient,
            norm=other.norm(gradient, theta),
            curvature=None,
        )

    def penalised(self, penalty, l1, theta):
        """(the problem with other penalties, theta converted for that problem)."""
        other = copy.copy(self)
        other._penalise(penalty, l1)
        return other, other.parameters(*self.coefficients(theta))

    def of_columns(self, taken):
        """The problem with only the columns `taken`, in ascending order; moments of columns are not computed again."""
        if len(taken) == self.d:
            return self
        other = copy.copy(self)
        other.X = columns_of(self.X, taken) if self.sparse else map_rows(partial(_columns, taken), self.X)
        other._turned, other.is_triangular = None, False
        other.mean, other._spread = self.mean[taken], self._spread[taken]
        other._measure()
        other._penalise(self.penalty, self.l1)
        return other

    @property
    def shape(self):
        """The shape of theta."""
        return self.K, self.d + 1

    @property
    def centre(self):
        """The mean row of X."""
        return self.mean

    @property
    def diagonal(self):
        """An approximate diagonal of the second derivatives at theta = 0, for one class."""
        at_0 = 0.25 if self.K == 1 else (self.K - 1) / self.K**2
        return at_0 * (1 - self.pull) + self.pull

    @property
    def fits_row_space(self):
        """Whether a `RowSpace` has fewer parameters and the same solution."""
        n = len(self.X)
        most = _QR_WORK if len(self.weights) else _PRODUCTS_WORK
        worth = n < self.d and n * n * self.d <= most and self.l1 == 0
        return worth and not self.sparse and self.penalty > 0 and bool((self.scale < _SAFE).all())

    def parameters(self, coef, intercept):
        """theta for given coefficients and intercepts."""
        return np.column_stack([coef * self.scale, (intercept + coef @ self.mean) * self.bias])

    def coefficients(self, theta):
        """(coefficients, intercepts) for a given theta."""
        coef = theta[:, :-1] * self.factor
        return coef, theta[:, -1] - coef @ self.mean

    def scores(self, theta):
        """The scores of the rows, of shape (n, K)."""
        coef, intercept = self.coefficients(theta)
        return linear_scores(self.X, coef, intercept, self.threads)

    @property
    def takes_small_steps(self):
        """Whether the rows are dense, and so few that a pass over them is one block and the steps can be compiled."""
        K = self.K
        work = self.n_panels * kernels.PANEL * 2 * K * self.d // max(_BLOCK_WORK, _WORK_PER_NUMBER * K * self.ld)
        return work <= 1 and not self.sparse and self.penalty > 0 and self.l1 == 0

    @property
    def has_lines(self):
        """Whether a `ScoreLine` can find the lengths of steps; without a penalty they may have no upper limit."""
        return self.penalty > 0 and self.l1 == 0 and len(self.X) * self.K <= _RESIDUALS

    def row_scores(self, theta):
        """Like `scores`, for the rows and columns that `theta` belongs to."""
        coef, intercept = Likelihood.coefficients(self, theta)
        return linear_scores(self.X, coef, intercept, self.threads)

    @property
    def keeps_rows(self):
        """Whether all rows are kept in float32 for the steps of truncated Newton's method."""
        return not self.sparse and len(self.X) * (self.d + 1) <= _KEPT_NUMBERS

    def row_classes(self):
        """(the class codes of the rows; their weights, or an empty array if all are 1)."""
        return self.codes, self.weights

    def certified(self, point):
        """A point with its exact norm."""
        return point._replace(norm=self.norm(point.gradient, point.theta))

    def norm(self, gradient, theta, _enough=None):
        """The norm of the gradient or, with an L1 term, of the smallest subgradient.

        A subclass may return a lower bound of the norm instead, if the bound is above the number `_enough`.
        """
        if self.l1:
            pulled = np.abs(gradient + self.edge * np.sign(theta))
            gradient = np.where(theta == 0, np.maximum(np.abs(gradient) - self.edge, 0), pulled)
        return norm_of(gradient)

    def plain_gradient(self, gradient):
        """The gradient with respect to coefficients and intercepts, from the gradient with respect to theta."""
        gc = gradient[:, -1:]
        return np.hstack([gradient[:, :-1] * self.scale + gc * self.mean, gc])

    def largest_curvature(self):
        """An upper bound of the second derivatives of f by coefficients and intercepts, for all theta.

        With two classes the second derivatives are largest at theta = 0: a quarter of the mean of xx'. With K classes
        the second derivatives of a row's loss with respect to its scores are at most 1/2 (I - 11'/K).
        """
        squares = (self.scale**2 - self.penalty + self.mean**2).sum() + self.bias
        return (0.25 if self.K == 1 else 0.5) * squares + self.penalty

    def sum_of_weights(self, step):
        """The sum of the weights of every step-th panel of rows."""
        n, weights = len(self.X), self.weights
        if step == 1:
            return self.total_of(self.X, weights if len(weights) else None)
        if len(weights) == 0:
            whole, rest = divmod(n, kernels.PANEL)
            return float(-(-whole // step) * kernels.PANEL + (rest if whole % step == 0 else 0))
        return float(panel_weights(weights, 0, step).sum())

    def n_blocks(self, curvature):
        """The number of (d + 1, d + 1) blocks that are summed for second derivatives of a kind; see `evaluate`."""
        return {None: 0, "shared": 1, "diagonal": self.K, "full": max(1, self.K * (self.K - 1) // 2)}[curvature]

    def evaluate(self, theta, step=1, curvature=None, scores=_NONE):
        """The Point at theta, computed from every step-th panel of rows.

        scores: an array (K, m), with m at least the number of rows, which the rows' scores are written to.

        `curvature` is None; "full" for the second derivatives, of shape (K (d + 1), K (d + 1)); "diagonal" for the
        diagonal blocks of the classes, (K, d + 1, d + 1); or "shared" for the mean of these blocks, (1, d + 1, d + 1).
        """
        K, D, ld = self.K, self.d + 1, self.ld
        n_blocks = self.n_blocks(curvature)
        kernel, W, shift, factor, bias = kernels.dense, np.zeros((K, ld)), self.mean, self.factor, self.bias
        plain = self.is_plain and curvature is None
        if self.sparse or plain:
            coef, intercept = Likelihood.coefficients(self, theta)
        if self.sparse:
            kernel, W = kernels.sparse, np.zeros((D, self.width))
            W[:-1, :K], W[-1, :K] = coef.T, intercept
        elif plain:
            kernel, shift, factor, bias = kernels.plain, np.zeros(self.d), np.ones(self.d), float(intercept[0])
            W[:, : self.d] = coef
        else:
            W[:, :D] = theta
        residuals = np.zeros((len(self.X), self.width) if self._turns and step == 1 else 0)
        passes = self._over_panels(
            kernel,
            lambda: Pass(self, shift, factor, W, bias, curvature, residuals, scores),
            self.length * (2 * K + self.length // 2 * n_blocks),
            n_blocks * D * ld or (K if len(residuals) else K * ld),
            step,
        )
        total = self.total if step == 1 else self.sum_of_weights(step) or 1.0
        loss = sum(float(part.sums[0]) for part in passes) / total
        if len(residuals):
            gradient = self._by_column(residuals) / total
        else:
            gradient = added(part.grad for part in passes) / total
            gradient = gradient.T[:K] if self.sparse else gradient[:, :D]
        if plain:
            gradient[:, -1] = self.bias * sum(part.sums[2] for part in passes) / total
        if self.sparse or plain:
            gradient[:, :-1] -= gradient[:, -1:] * self.mean
            gradient[:, :-1] *= self.factor
        gradient = gradient + self.pull * theta
        objective = loss + 0.5 * float(np.sum(self.pull * theta**2)) + float(np.sum(self.edge * np.abs(theta)))
        enough = None if self.tol is None else least_norm(objective, K, self.tol)
        return Point(
            theta=theta,
            objective=objective,
            loss=loss,
            gradient=gradient,
            norm=self.norm(gradient, theta, enough),
            margin=min(float(part.sums[1]) for part in passes) if self.margins else -np.inf,
            curvature=self._assembled(added(part.hess for part in passes) / total, curvature) if n_blocks else None,
        )

    @property
    def _turns(self):
        """Whether gradients of sparse rows are summed column by column, from the residuals of all rows.

        The gradient is then written once, not once for each entry, and needs no sum for each thread.
        """
        n = len(self.X)
        return self.sparse and self.K > 1 and self.width < n <= _RESIDUALS // self.width

    def _by_column(self, residuals):
        """Products of the columns of X, and of ones for the intercept, with the residuals of each class; (K, d + 1)."""
        if self._turned is None:
            self._turned = transposed(self.X)
        sums = np.empty((self.d + 1, self.K))
        sums[:-1] = products_with(self._turned, residuals[:, : self.K], np.zeros(self.K), self.threads)
        sums[-1] = self.bias * residuals.sum(axis=0)[: self.K]
        return np.ascontiguousarray(sums.T)

    def rows_in_doubt(self, line, share, most):
        """The `RowsInDoubt` at the point of a `ScoreLine` that hold all but `share` of the curvature.

        None if their number exceeds `most`. The curvature of a row falls with its loss: that of a row whose class is
        nearly certain hardly counts.
        """
        doubt, p = line.shares()
        rows = in_doubt(doubt, share, most)
        return None if rows is None else RowsInDoubt(self, rows, columns_at(p, rows))

    def scaled_rows(self, rows):
        """The rows with these numbers, centred and scaled, with the column for the intercept, in float32."""
        n = len(self.X)
        if not self.keeps_rows:
            return self._scaled(rows)
        if self._kept_rows is None:
            self._kept_rows = self._scaled(np.arange(n))
        return self._kept_rows if len(rows) == n else self._kept_rows[rows]

    def _scaled(self, rows):
        Z = np.full((len(rows), self.d + 1), self.bias, np.float32)
        for start in range(0, len(rows), _COPIED_ROWS):
            part = self.X[rows[start : start + _COPIED_ROWS]] - self.mean
            part *= self.factor
            Z[start : start + _COPIED_ROWS, :-1] = part
        return Z

    def _assembled(self, sums, curvature):
        """The matrix of second derivatives, from sums over rows in which only the upper half of each block is set."""
        return aside_if_many(sums.size, self._in_one, sums, curvature)

    def _in_one(self, sums, curvature):
        """Like `_assembled`, and on the thread that calls it."""
        D = self.d + 1
        blocks = sums[:, :, :D]
        blocks = np.where(np.tri(D, k=-1, dtype=bool), blocks.transpose(0, 2, 1), blocks)
        if self.sparse:
            to_theta = np.diag(np.append(self.factor, 1.0))
            to_theta[:-1, -1] = -self.mean * self.factor
            blocks = to_theta @ blocks @ to_theta.T
        if curvature != "full":
            return blocks + np.diag(self.pull)
        full = np.zeros((self.K, D, self.K, D))
        if self.K == 1:
            full[0, :, 0] = blocks[0]
        else:
            # the probabilities of a row add up to 1, so that its second derivatives by all classes add up to 0
            for block, k, m in zip(blocks, *np.triu_indices(self.K, 1)):
                full[k, :, m] = full[m, :, k] = block
                full[k, :, k] -= block
                full[m, :, m] -= block
        self.curvature = self._with_penalty(full, 1).reshape(self.K * D, self.K * D)
        return self.curvature

    def _with_penalty(self, full, times):
        """`full`, second derivatives (K, d + 1, K, d + 1), plus `times` the second derivatives of the penalty."""
        D = self.d + 1
        for k in range(self.K):
            full[k, range(D), k, range(D)] += times * self.pull
        if self.K > 1:
            # a change of all classes' scores by the same number changes no probability; curvature added in this
            # direction makes the change 0; with an L1 term only the intercepts need this
            held = [self.d] if self.l1 else range(D)
            full[:, held, :, held] += times / self.K
        return full

    def _over_panels(self, kernel, begin, work, doubles, step=1):
        """The states from begin(), after `kernel` has added every step-th panel of rows to them, in a fixed order.

        A row takes `work` multiplications; a state has `doubles` numbers.
        """
        work *= kernels.PANEL
        n_steps = -(-self.n_panels // step)
        worth = n_steps * work // max(_BLOCK_WORK, _WORK_PER_NUMBER * doubles)
        # an even number of blocks gives two threads equal work
        bounds = even_bounds(n_steps, min(n_steps, n_blocks(worth + worth % 2 if worth > 1 else 1, doubles)))
        return self._over_blocks(bounds, max(1, _FIRST_WORK // work), kernel, begin, step)

    def _over_blocks(self, bounds, first, kernel, begin, step):
        """For each block of rows, a state made by begin(), to which `kernel` has added every step-th panel of rows."""
        rows = (self.X, self.X.data) if self.sparse else (self.X,)

        def add(start, stop, state):
            kernel(*rows, start * step, min(stop * step, self.n_panels), step, state)

        return over_blocks(bounds, first, begin, add, self.threads)

    def _moments(self):
        """The weighted mean of each column, and its weighted standard deviation."""
        shift, factor = np.zeros(self.d), np.ones(self.d)
        if not self.sparse:
            shift[:] = self.X[0]
        for _ in range(3):
            total, squares, most = self._sums(shift, factor)
            if not (self.sparse or np.isfinite(total).all()):
                # this check raises an error that says where X has NaN or infinity
                as_matrix(self.X, "LogisticRegression")
            if not (most < 1e300).all():
                j = int(np.argmax(~(most < 1e300)))
                raise of_column(ValueError(f"column {j} of X spans more than 1e300; smaller numbers are wanted"), j)
            mean = total / self.total
            variance = squares / self.total - mean**2
            # the variance of a constant column is set to 0, which rounding would miss for sparse rows, as they are not
            # shifted; a column also counts as constant if the inverse of its largest value overflows
            most[most < 1e-300] = 0
            variance[(most == 0) | (variance < (1e-10 * mean**2 if self.sparse else 0))] = 0
            wild = (most > 0) & ((most > _SAFE) | (most < 1 / _SAFE) | (variance < 1e-6 * mean**2))
            found = shift + mean / factor, np.sqrt(variance) / factor
            if not wild.any():
                break
            if not self.sparse:
                shift = np.where(wild, np.where(np.isfinite(found[0]), found[0], shift), shift)
            factor = factor / np.where(wild, most, 1)
        return found

    def _sums(self, shift, factor):
        """For each scaled, shifted column: the weighted sum and sum of squares, and the largest absolute value."""
        if self.sparse:
            total, squares, most = np.zeros((3, self.d))
            step = max(1, _ENTRIES // self.length)
            for start in range(0, len(self.X), step):
                part = slice(start, start + step)
                found = sparse_moments(self.X[part], self.weights[part], factor)
                total += found[0]
                squares += found[1]
                np.maximum(most, found[2], out=most)
            return total, squares, most
        parts = self._over_panels(
            lambda X, start, stop, _, found: kernels.moments(
                X, start, stop, Pass(self, shift, factor, _NONE, 0), found
            ),
            lambda: np.zeros((3, self.ld)),
            2 * self.d,
            3 * self.ld,
        )
        found = np.array(parts)[:, :, : self.d]
        return found[:, 0].sum(axis=0), found[:, 1].sum(axis=0), found[:, 2].max(axis=0)


def total_weight(weights):
    """The sum of the weights, added in spans of rows."""
    return float(sum(weights[start:stop].sum() for start, stop in pairwise(span_bounds(len(weights), 0, 0))))


def panel_weights(weights, first, step):
    """The sums of the weights of every step-th panel of rows, where the first row is in panel number `first`."""
    whole, start = len(weights) // kernels.PANEL, -first % step
    sums = weights[: whole * kernels.PANEL].reshape(whole, kernels.PANEL)[start::step].sum(axis=1)
    rest = weights[whole * kernels.PANEL :]
    return np.append(sums, rest.sum()) if len(rest) and (first + whole) % step == 0 else sums


@aside_for_many
def sparse_moments(rows, weights, factor):
    """(weighted sum, weighted sum of squares, largest absolute value) of each column of sparse rows after scaling."""
    columns, most = rows.indices, np.zeros(rows.n_columns)
    z = rows.data * factor[columns]
    weighted = z * weights[rows.row_numbers()] if len(weights) else z
    np.maximum.at(most, columns, np.abs(z))
    return np.bincount(columns, weighted, len(factor)), np.bincount(columns, weighted * z, len(factor)), most


@aside_for_many
def in_doubt(doubt, share, most):
    """The rows, ascending, that have all but `share` of the doubt; None if their number exceeds `most`."""
    order = np.argsort(doubt)
    certain = int(np.searchsorted(np.cumsum(doubt[order]), share * doubt.sum()))
    return np.sort(order[certain:]) if len(order) - certain <= most else None


def _columns(taken, rows):
    return np.ascontiguousarray(rows[:, taken])


class RowsInDoubt:
    """Second derivatives of a dense Likelihood on some of its rows, in float32, which suffices for a direction.

    Parameters
    ----------
    problem : Likelihood
    rows : ndarray of int
        Row numbers.
    p : ndarray of shape (K, len(rows))
        Probabilities of the classes; with two classes p (1 - p).
    whole : ndarray of int, optional
        The row numbers in the problem that `problem` has only these rows of.
    """

    def __init__(self, problem, rows, p, whole=None):
        self.pull, self.numbers, self.rows = problem.pull, np.arange(len(rows)), rows if whole is None else whole
        weights = (problem.weights[rows] if len(problem.weights) else np.ones(len(rows))) / problem.total
        # the rows' weights are divided by the largest one, so that float32 can hold them
        self.unit = float(weights.max(initial=1e-300))
        weights = (weights / self.unit).astype(np.float32)
        # `p`, `shares`, the weights times p, and `bends`, the weights times p (1 - p), have a row for each class
        if problem.K == 1:
            self.bends, self.p = weights * p.astype(np.float32), None
        else:
            self.top = p.argmax(axis=0)
            rest = p.copy()
            rest[self.top, self.numbers] = 0
            bends = 1 - p
            # 1 - p as the sum of the other probabilities, which loses no digits where p is nearly 1
            bends[self.top, self.numbers] = rest.sum(axis=0)
            self.p = p.astype(np.float32)
            self.bends, self.shares = weights * (bends * p).astype(np.float32), weights * self.p
        self.Z = problem.scaled_rows(rows)
        step = _OWN_THREAD // (len(self.bends) * self.Z.shape[1])
        self.parts = [slice(i, i + step) for i in range(0, len(rows), step)] if step >= _PART_ROWS else [slice(None)]

    def score_changes(self, V):
        """How the scores of the rows, of shape (K, m), change by a step V."""
        size = float(np.abs(V).max(initial=1e-300))
        return ((V / size).astype(np.float32) @ self.Z.T) * size

    def times(self, V):
        """The second derivatives times V, both of shape (K, D)."""
        size = float(np.abs(V).max(initial=1e-300))
        W, total = (V / size).astype(np.float32), np.zeros(V.shape)
        for part in self.parts:
            Z = self.Z[part]
            S = W @ Z.T
            if self.p is None:
                S *= self.bends[:, part]
            else:
                S -= S[self.top[part], self.numbers[: len(Z)]]
                S -= np.einsum("ki,ki->i", self.p[:, part], S)
                S *= self.shares[:, part]
            total += S @ Z
        return total * (self.unit * size) + self.pull * V

    def preconditioner(self):
        """`diagonal` for few columns, or if it takes at most as long as `_BLOCK_STEPS` products; else `shared`."""
        (m, D), K = self.Z.shape, len(self.bends)
        work = D * (5 * K * D + np.count_nonzero(_counted(self.bends)))
        return self.diagonal() if D <= _FEW_COLUMNS or work <= 4 * _BLOCK_STEPS * m * K else self.shared()

    def shared(self):
        """The mean of the diagonal blocks over the classes, of shape (1, D, D)."""
        bends = self.bends.mean(axis=0)[:, None]
        return (self.unit * (self.Z.T @ (self.Z * bends)) + np.diag(self.pull))[None]

    def diagonal(self):
        """The diagonal blocks of the classes, of shape (K, D, D)."""
        blocks = np.empty((len(self.bends), *self.Z.shape[1:] * 2))
        for block, bends in zip(blocks, self.bends):
            rows = np.flatnonzero(_counted(bends))
            Z = self.Z[rows]
            np.multiply(Z.T @ (Z * bends[rows, None]), self.unit, out=block)
            block[np.diag_indices(len(block))] += self.pull
        return blocks


def _counted(bends):
    """A mask of the second derivatives `bends` (..., rows) that are above 1e-2 of the largest of their class."""
    return bends > 1e-2 * bends.max(axis=-1, keepdims=True, initial=0)


class ByProducts:
    """An orthonormal basis Q = A' L^-T of the span of the rows A = X - 1 mean', with A = LQ'.

    L is the Cholesky factor of AA'. Centred rows of equal weights are orthogonal to the vector of ones, which the
    matrix then gets an eigenvalue for: AA' + lift 11' = LL'. The score that this adds to all rows is an intercept.
    """

    def __init__(self, X, mean, centred, threads, n_targets):
        self.A = DenseCentred(X, mean, np.ones(len(X)), threads, n_targets)
        gram = self.A.products()
        largest = np.trace(gram)
        self.lift = largest / len(gram) ** 2 if centred else 0.0
        gram += self.lift
        self.factor = Factor(gram)
        pivots = self.factor.L.diagonal() ** 2
        if not pivots.min() > _LEAST_PIVOT * largest:
            raise np.linalg.LinAlgError
        self.rows = self.factor.L

    def within(self, coef):
        """coef Q, of shape (K, n)."""
        return self.factor.forward(self.A.times(coef.T)).T

    def outside(self, V):
        """(V Q', of shape (K, d); the intercepts that V stands for beyond it)."""
        inner = self.factor.backward(V.T)
        return self.A.back(inner).T, self.lift * inner.sum(axis=0)


class ByDecomposition:
    """The same as `ByProducts` for any rows, by a QR decomposition."""

    def __init__(self, X, mean):
        self.Q, R = aside_if_slow(2 * len(X) * X.size, _decomposed, X, mean)
        self.rows = np.ascontiguousarray(R.T)

    def within(self, coef):
        return coef @ self.Q

    def outside(self, V):
        return V @ self.Q.T, 0.0


def _decomposed(X, mean):
    return np.linalg.qr((X - mean).T)


class RowSpace(Likelihood):
    """A Likelihood with fewer parameters, for fewer dense rows than columns.

    With a penalty the optimal w is a combination of the centred rows. With an orthonormal basis Q of their span and
    X - 1 mean' = RQ' and lower triangular R, w = Q v has the norm of v, and row i has the score v (row i of R).

    Parameters
    ----------
    outer : Likelihood
        The same function for X itself, which also defines the norm of a gradient.
    """

    is_triangular = True

    def __init__(self, outer, threads):
        self._outer = outer
        self._basis = None
        if len(outer.weights) == 0:
            with contextlib.suppress(np.linalg.LinAlgError):
                self._basis = ByProducts(outer.X, outer.mean, bool(outer.bias), threads, outer.K)
        if self._basis is None:
            self._basis = ByDecomposition(outer.X, outer.mean)
        n_classes = 2 if outer.K == 1 else outer.K
        weights = outer.weights if len(outer.weights) else None
        super().__init__(self._basis.rows, outer.codes, n_classes, weights, outer.penalty, bool(outer.bias), threads)
        self.n_columns = outer.d

    def _penalise(self, penalty, l1=0.0):
        super()._penalise(penalty, l1)
        if penalty != self._outer.penalty:
            self._outer = copy.copy(self._outer)
            self._outer._penalise(penalty)
        self._least_factor = float(self._outer.factor.min())

    @property
    def centre(self):
        return self._outer.mean

    def parameters(self, coef, intercept):
        return super().parameters(self._basis.within(coef), intercept + coef @ self._outer.mean)

    def coefficients(self, theta):
        coef, intercept = super().coefficients(theta)
        coef, more = self._basis.outside(coef)
        return coef, intercept + more - coef @ self._outer.mean

    def norm(self, gradient, theta, enough=None):
        # The norm of the gradient for the scaled columns of X decides if a point is optimal, so that a gradient in
        # coordinates of the row space is converted, unless a lower bound of the norm shows already that the point is
        # not optimal.
        inside, own = gradient[:, :-1] * self.scale, norm_of(gradient[:, -1])
        bound = math.hypot(norm_of(inside) * self._least_factor, own)
        if enough is not None and bound > enough:
            return bound
        return math.hypot(norm_of(self._basis.outside(inside)[0] * self._outer.factor), own)


def columns_of(X, taken):
    """A Csr with only the listed columns of X, in ascending order."""
    place = np.full(X.n_columns, -1, np.int32)
    place[taken] = np.arange(len(taken))
    n = len(X)
    size = int(X.column_lengths()[taken].sum())
    indptr, indices, data = np.zeros(n + 1, np.int64), np.empty(size, np.int32), np.empty(size, X.dtype)
    for start, stop in ranges(0, n, max(1, n * _ENTRIES // (X.size + 1))):
        columns.take_columns(X, X.data, place, indptr, indices, data, start, stop)
    return Csr(indptr, indices, data, max(1, len(taken)))
