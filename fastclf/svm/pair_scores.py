"""The answers of a binary classifier for each pair of classes: scores, votes and Platt's probabilities."""

import numpy as np

from .. import _simd
from .._threads import map_rows, ranges, run
from ..kernels import values as kernel_values
from ..kernels.values import Block, Packed

compiled = _simd.load("svm._pair_votes")

# The largest number of kernel values, or of scores of pairs of many classes, that are in memory at a time.
MOST_VALUES = 1 << 20

# The kernel multiplies packed rows by panels of other rows. The new rows are packed if there are at most _FEW of them
# with at most MOST_VALUES kernel values, or at most _FEWER of them; otherwise the support vectors are packed.
_FEW, _FEWER = 64, 8

# With at least _MANY_CLASSES classes, rows are decided in blocks of about _BLOCK_VALUES kernel values for each row of a
# group.
_MANY_CLASSES, _BLOCK_VALUES = 16, 1 << 14

# Up to this number of scores is read in one call of compiled code.
_FEW_SCORES = 1 << 12

# The scores of dense rows are computed in one call of compiled code if their kernel values take at most this number of
# multiplications, about 0.1 ms.
_FEW_WORK = 1 << 18

# The scores of one or two dense rows are computed in one call of compiled code if their kernel values take at most this
# number of multiplications, about 30 ms.
_TWO_WORK = 1 << 26


def pairs_of(n_classes):
    """The pairs (a, b) of classes, a < b, in the order of the columns of scores."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def few_scores(model, kernel, X):
    """Scores (n, n_pairs) of a few dense rows in one compiled call; None if X or the machine is too large for that.

    model: the fitted `KernelMachine` with that kernel, whose support vectors are dense.
    """
    support = model._support_rows_
    if support.size * len(X) > (_FEW_WORK if len(X) > 2 else _TWO_WORK) or not support.size:
        return None
    if kernel.name != "rbf":
        norm = np.zeros(len(X))
    elif X.dtype == np.float64:
        norm = np.einsum("ij,ij->i", X, X)  # without further arguments a call takes half the time
    else:
        norm = np.einsum("ij,ij->i", X, X, dtype=np.float64, casting="same_kind")
    scores = np.empty((len(X), len(model.intercept_)))
    compiled.score_few(model, kernel, X, norm, scores)
    return scores


def partial_scores(kernel, support, X, coef, starts, dtype, threads):
    """S[i, c, o] = sum of coef[o, j] k(s_j, x_i) over the support vectors s_j of class c. support, X: `Rows`."""
    n_classes, n_outputs = len(starts) - 1, len(coef)
    if len(X) <= _FEWER or (len(X) <= _FEW and len(X) * len(support) <= MOST_VALUES):
        out = np.zeros((len(X), n_classes, n_outputs))
        if len(support):
            K = np.empty((len(X), len(support)), dtype)
            Z = Packed(X, np.arange(len(X)), dtype)
            kernel_values.fill(Block(kernel, support, Z, Z.all), K, threads)
            compiled.combine(K, np.ascontiguousarray(coef), starts, out)
        return out
    out = np.zeros((n_classes, n_outputs, len(X)))
    for c in range(n_classes):
        for start in range(starts[c], starts[c + 1], kernel_values.BLOCK):
            rows = np.arange(start, min(start + kernel_values.BLOCK, starts[c + 1]))
            Z = Packed(support, rows, dtype)
            kernel_values.add(Block(kernel, X, Z, Z.all), np.ascontiguousarray(coef[:, rows]), out[c], threads)
    return out.transpose(2, 0, 1)


def has_many_classes(model):
    """Whether a fitted `KernelMachine` has so many classes that rows are decided in blocks, not all together."""
    return len(model.classes_) >= _MANY_CLASSES and len(model.support_) > 0


def many_pairs(model, kernel, support, X, starts, threads, votes):
    """The scores (n, n_pairs) of all pairs of many classes or, with `votes`, the class that wins the most pairs.

    model: the fitted `KernelMachine` with that kernel. support, X: `Rows`. Rows are decided in blocks, because
    all their sums and scores would not fit a cache.
    """
    coef, intercept = model._dual_coef_, model.intercept_
    n, size = len(X), coef.shape[1]
    winner = np.empty(n, np.int64) if votes else None
    scores = None if votes else np.empty((n, len(intercept)))
    step = int(np.clip(_BLOCK_VALUES // size, 1, _FEW // compiled.GROUP)) * compiled.GROUP

    def decide(part):
        K = np.empty((step, size), model._dtype_)
        scratch = np.empty((size + len(starts) - 1) * compiled.GROUP)
        for start in part:
            rows = slice(start, min(start + step, n))
            Z = Packed(X, np.arange(rows.start, rows.stop), model._dtype_)
            values = K[: len(Z)]
            kernel_values.fill(Block(kernel, support, Z, Z.all), values, 1)
            answers = winner[rows] if votes else None, None if votes else scores[rows]
            compiled.decide_pairs(values, coef, starts, intercept, scratch, *answers)
            yield

    starts_of_blocks = range(0, n, step)
    threads = min(threads, len(starts_of_blocks))
    run(decide, [starts_of_blocks[t::threads] for t in range(threads)], threads)
    return winner if votes else scores


def table_scores(values, n, coef, starts):
    """Like `partial_scores`; values(start, stop) gives kernel values of rows [start, stop) with all support vectors."""
    out = np.zeros((n, len(starts) - 1, len(coef)))
    step = max(1, MOST_VALUES // max(1, coef.shape[1]))
    for start in range(0, n, step):
        stop = min(n, start + step)
        compiled.combine(np.ascontiguousarray(values(start, stop)), coef, starts, out[start:stop])
    return out


def _row_ranges(scores):
    if scores.size <= _FEW_SCORES:
        return [(0, len(scores))]
    return ranges(0, len(scores), 1 + MOST_VALUES // max(1, scores.shape[1]))


def pair_scores(S, intercept):
    """Scores (n, n_pairs) from partial scores S; a positive score is for the first class of the pair."""
    scores = np.empty((len(S), len(intercept)))
    for start, stop in _row_ranges(scores):
        compiled.score_pairs(S[start:stop], intercept, scores[start:stop])
    return scores


def winners(scores, n_classes):
    """For each row the class that wins the most pairs, the first of equal ones.

    A score of 0 is for the second class, as in LIBSVM.
    """
    chosen = np.empty(len(scores), np.intp)
    won = np.empty(n_classes)
    for start, stop in _row_ranges(scores):
        compiled.choose_winners(scores[start:stop], won, chosen[start:stop])
    return chosen


def one_for_each_class(scores, n_classes):
    """The number of pairs that each class wins, plus a term of less than a third that orders equal numbers.

    The term grows with the sum of the scores, as in scikit-learn.
    """

    def ranked(scores):
        won, confidence = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
        compiled.rank(scores, won, confidence)
        return won + confidence / (3 * (np.abs(confidence) + 1))

    return map_rows(ranked, scores)


def fit_sigmoid(score, positive):
    """A and B of P(positive) = 1 / (1 + exp(A score + B)), by Newton's method (Lin, Lin, Weng 2007)."""
    n_positive = int(positive.sum())
    n_negative = len(score) - n_positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    A, B = 0.0, np.log((n_negative + 1) / (n_positive + 1))

    def loss(A, B):
        z = A * score + B
        return float((np.logaddexp(0, z) - (1 - target) * z).sum())

    value = loss(A, B)
    for _ in range(100):
        z = A * score + B
        p = np.exp(-np.logaddexp(0, z))
        q = p * (1 - p)
        slope = target - p
        gradient = np.array([score @ slope, slope.sum()])
        if np.abs(gradient).max() < 1e-5:
            break
        mixed = float(score @ q)
        hessian = np.array([[score**2 @ q + 1e-12, mixed], [mixed, q.sum() + 1e-12]])
        step = -np.linalg.solve(hessian, gradient)
        descent, length = float(gradient @ step), 1.0
        while length >= 1e-10:
            new = loss(A + length * step[0], B + length * step[1])
            if new < value + 1e-4 * length * descent:
                A, B, value = A + length * step[0], B + length * step[1], new
                break
            length /= 2
        else:
            break
    return A, B


def sigmoid(score, A, B):
    z = A * score + B
    return np.where(z >= 0, np.exp(-np.abs(z)), 1) / (1 + np.exp(-np.abs(z)))


def couple(P, K):
    """Probabilities (n, K) from P(a | a or b) of each pair a < b of K classes, by method 2 of Wu, Lin, Weng (2004)."""
    n = len(P)
    R = np.zeros((n, K, K))
    a, b = np.triu_indices(K, 1)
    R[:, a, b], R[:, b, a] = P, 1 - P
    Q = -np.swapaxes(R, 1, 2) * R
    index = np.arange(K)
    Q[:, index, index] = (np.swapaxes(R, 1, 2) ** 2).sum(axis=2) - R[:, index, index] ** 2
    # the classes' probabilities p minimise p'Qp = sum over pairs of (R_ba p_a - R_ab p_b)^2 subject to sum p = 1, where
    # R_ab is the probability of class a for a row that is of class a or b
    system = np.zeros((n, K + 1, K + 1))
    system[:, :K, :K] = Q
    system[:, :K, K] = system[:, K, :K] = 1
    right = np.zeros((n, K + 1, 1))
    right[:, K] = 1
    p = np.clip(np.linalg.solve(system, right)[:, :K, 0], 0, None)
    return p / p.sum(axis=1, keepdims=True)
