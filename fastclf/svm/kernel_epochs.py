"""The training of kernel perceptrons: hyperplanes in the space of a kernel that learn from samples, block after block.

A sample is one visit of a row; an epoch has as many samples as there are rows to learn from. Before a block of samples
is learned, the kernel values between the rows of the block and all support vectors, and within the block, are computed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import _kernel_perceptron as kernels
from .kernel_votes import slots

# _BLOCK: the most samples in a block, whose kernel values are computed at once.
# _BLOCK_NUMBERS: the most kernel values in a block, unless the values of a single sample are more.
_BLOCK = 256
_BLOCK_NUMBERS = 1 << 22


@dataclass(slots=True)
class SampleBlock:
    """A block of samples as compiled code reads it; each support vector and each row of the block has a slot."""

    # (n_samples, n_slots), float64: the kernel values of each sample with the support vectors and the samples, each of
    # which has a column, called its slot
    values: np.ndarray
    # (n_samples,), intp: the slot of each sample, i.e. the column of `values` with the kernel values of its row
    slot: np.ndarray
    codes: np.ndarray  # (n_samples,), intc: the index of each sample's class
    # (n_samples, n_hyperplanes), float64: the amount by which a mistake on a sample raises the absolute value of its
    # coefficient
    steps: np.ndarray
    wrong: np.ndarray  # (n_samples, n_hyperplanes), uint8: whether the sample was a mistake; written by compiled code


@dataclass(slots=True)
class Learner:
    """Hyperplanes sum_j a_j (K(x_j, x) + bias) while they learn: one, or one for each class against the rest.

    Compiled code changes a, lag, least and square, one block of samples at a time; `epoch` changes the rest.
    """

    # a function values(rows, columns) of two lists of rows of X: the matrix of their kernel values, float64
    values: Callable
    codes: np.ndarray  # (n,), intc: the index of the class of each row of X
    # (n, n_hyperplanes), float64: the amount by which a mistake on a row raises the absolute value of its coefficient
    steps: np.ndarray
    bias: float  # the number that is added to every kernel value: 1 if there is an intercept, else 0
    budget: int  # the largest number of support vectors; 0: no limit
    average: str  # how the weights of the training are used: "none", "averaged" or "voted"
    support: np.ndarray  # (n_support,), int64: the numbers of the rows of X that have coefficients
    # (n_hyperplanes, n_support), float64: the coefficient of each support vector; while a block is learned, rows of the
    # block have columns, too
    a: np.ndarray
    # for each coefficient in `a`, the sum of its changes, each times the number of samples before the change, from
    # which the average follows
    lag: np.ndarray
    t: int  # the number of samples learned so far
    positive: np.ndarray = field(init=False)  # (n_hyperplanes,), intc, the class on each hyperplane's positive side
    mistakes: np.ndarray = field(init=False)  # (n_hyperplanes,), int64, the number of mistakes in all epochs
    # (n_hyperplanes,), int64: the number of mistakes of each hyperplane in the last epoch
    n_wrong: np.ndarray = field(init=False)
    # (n_hyperplanes,), float64: the least y f(x) of each hyperplane over the last epoch's samples
    least: np.ndarray = field(init=False)
    # (n_hyperplanes,), float64: the sum over samples of coefficient times score, which is |w|^2 if no sample was a
    # mistake
    square: np.ndarray = field(init=False)
    radius: float = 0.0  # the largest K(x, x) + bias, squared length in feature space, of any sample x
    # with average="voted": the logged mistakes of each block, for `gather_votes`
    log: list = field(default_factory=list)

    def __post_init__(self):
        n = len(self.a)
        self.positive = np.array([1] if n == 1 else range(n), np.intc)
        self.mistakes = np.zeros(n, np.int64)

    def epoch(self, order, progress):
        """Learn from a sample of each row in the list `order`; returns whether the user's callback ends the fit."""
        n = len(self.a)
        self.n_wrong, self.least, self.square = np.zeros(n, np.int64), np.full(n, np.inf), np.zeros(n)
        start, called_off = 0, False
        while start < len(order) and not called_off:
            size = min(_BLOCK, max(1, _BLOCK_NUMBERS // (len(self.support) + _BLOCK)))
            rows = order[start : start + size]
            self._learn(rows)
            start += len(rows)
            called_off = progress.advance(len(rows), int(self.n_wrong.sum()))
        self.mistakes += self.n_wrong
        return called_off

    def _learn(self, rows):
        """Learn from one block of samples, which are the rows of X with the numbers `rows`."""
        columns, slot = slots(self.support, rows)
        values = self.values(rows, columns)
        if not np.isfinite(values).all():
            raise ValueError("the kernel has values that are NaN or infinite; rows of a smaller scale are wanted")
        self.radius = max(self.radius, float(values[np.arange(len(rows)), slot].max()) + self.bias)
        new = np.zeros((len(self.a), len(columns) - len(self.support)))
        self.a, self.lag = np.hstack([self.a, new]), np.hstack([self.lag, new])
        wrong = np.empty((len(rows), len(self.a)), np.uint8)
        n_support = int(self.a.any(axis=0).sum())
        kernels.learn(SampleBlock(values, slot, self.codes[rows], self.steps[rows], wrong), self, n_support)
        self.n_wrong += wrong.sum(axis=0, dtype=np.int64)
        kept = self.a.any(axis=0)
        if self.average == "averaged":
            kept |= self.lag.any(axis=0)
        if self.average == "voted":
            kept[: len(self.support)] = kept[self._log_mistakes(rows, wrong, slot)] = True
        self.support = columns[kept]
        self.a, self.lag = np.ascontiguousarray(self.a[:, kept]), np.ascontiguousarray(self.lag[:, kept])
        self.t += len(rows)

    def _log_mistakes(self, rows, wrong, slot):
        """Log the mistakes in a block of samples for voting; returns the slot (column of `a`) of each mistake."""
        sample, hyperplane = np.nonzero(wrong)
        row = rows[sample]
        sign = np.where(self.codes[row] == self.positive[hyperplane], 1, -1)
        self.log.append((hyperplane, row, sign * self.steps[row, hyperplane], self.t + sample))
        return slot[sample]

    def coefficients(self):
        """The coefficients for predictions; a ValueError if some are not finite."""
        if not (np.isfinite(self.a).all() and np.isfinite(self.lag).all()):
            raise ValueError("The coefficients overflowed; smaller sample or class weights are wanted")
        return self.a - self.lag / max(self.t, 1) if self.average == "averaged" else self.a
