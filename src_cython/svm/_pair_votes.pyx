# The scores and votes of binary SVMs for all pairs of classes.
#
# S[i, c, o] is the sum of coef[o, j] k(s_j, x_i) over the support vectors s_j of class c. Pair p = (a, b), a < b, in
# the order (0, 1), (0, 2), ..., (1, 2), ..., has the score
#
#     S[i, a, b - 1] + S[i, b, a] + intercept[p],
#
# which is positive for class a.
from libc.stdint cimport int64_t

from _vector cimport fmadd_d, require, spread_d, vec_d

cdef enum:
    SUMS = 8       # the number of outputs that are summed side by side
    ROWS = 64      # the number of rows whose scores stay in the L1 cache during the loop over pairs

ctypedef fused value:
    float
    double


cdef void add_products(
    const value* K, const double* coef, Py_ssize_t n_support, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n,
    double* out
) noexcept nogil:
    """out[o] += the sum of coef[o, j] K[j] over start <= j < stop, in the order of `_values.add`; n <= SUMS outputs."""
    cdef vec_d sum[SUMS]
    cdef vec_d k
    cdef Py_ssize_t j, o
    for o in range(SUMS):
        sum[o] = spread_d(out[o] if o < n else 0)
    for j in range(start, stop):
        k = spread_d(K[j])
        for o in range(SUMS):
            sum[o] = fmadd_d(spread_d(coef[min(o, n - 1) * n_support + j]), k, sum[o])
    for o in range(n):
        out[o] = (<double*> &sum[o])[0]


def combine(const value[:, ::1] K, const double[:, ::1] coef, const int64_t[::1] starts, double[:, :, ::1] out):
    """out += S for the kernel values K (n, n_support); class c has the support vectors starts[c] to starts[c + 1]."""
    cdef Py_ssize_t i, o, c, n_support = coef.shape[1], n_outputs = coef.shape[0], n_classes = starts.shape[0] - 1
    require(K.shape[0] == out.shape[0] and K.shape[1] == n_support and starts[n_classes] <= n_support)
    require(out.shape[1] == n_classes and out.shape[2] == n_outputs)
    with nogil:
        for i in range(out.shape[0]):
            for c in range(n_classes):
                o = 0
                while o < n_outputs and starts[c] < starts[c + 1]:
                    add_products(
                        &K[i, 0], &coef[o, 0], n_support, starts[c], starts[c + 1],
                        min(<Py_ssize_t> SUMS, n_outputs - o), &out[i, c, o]
                    )
                    o += SUMS


def score_pairs(const double[:, :, :] S, const double[:] intercept, double[:, ::1] out):
    """Write the scores (n, n_pairs) of all pairs of classes, from their partial scores S."""
    cdef Py_ssize_t n_classes = S.shape[1], n = S.shape[0], a, b, p, i, start = 0, stop
    require(out.shape[0] == n and out.shape[1] == intercept.shape[0] == n_classes * (n_classes - 1) // 2)
    require(S.shape[2] == n_classes - 1)
    with nogil:
        while start < n:
            stop = min(n, start + ROWS)
            p = 0
            for a in range(n_classes):
                for b in range(a + 1, n_classes):
                    for i in range(start, stop):
                        out[i, p] = S[i, a, b - 1] + S[i, b, a] + intercept[p]
                    p += 1
            start = stop


def count_votes(const double[:, ::1] score, double[:, ::1] won):
    """won[i, c] += the number of pairs that class c wins; a score of 0 is for the second class, as in LIBSVM."""
    cdef Py_ssize_t n_classes = won.shape[1], a, b, p, i
    require(score.shape[0] == won.shape[0] and score.shape[1] == n_classes * (n_classes - 1) // 2)
    with nogil:
        for i in range(won.shape[0]):
            p = 0
            for a in range(n_classes):
                for b in range(a + 1, n_classes):
                    won[i, a if score[i, p] > 0 else b] += 1
                    p += 1


def rank(const double[:, ::1] score, double[:, ::1] won, double[:, ::1] confidence):
    """Like `count_votes`, but a score of 0 is for the first class; confidence[i, c] += the scores in favour of c."""
    cdef Py_ssize_t n_classes = won.shape[1], a, b, p, i
    require(score.shape[0] == won.shape[0] and score.shape[1] == n_classes * (n_classes - 1) // 2)
    require(confidence.shape[0] == won.shape[0] and confidence.shape[1] == n_classes)
    with nogil:
        for i in range(won.shape[0]):
            p = 0
            for a in range(n_classes):
                for b in range(a + 1, n_classes):
                    won[i, b if score[i, p] < 0 else a] += 1
                    confidence[i, a] += score[i, p]
                    confidence[i, b] -= score[i, p]
                    p += 1
