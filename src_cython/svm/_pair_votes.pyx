# The scores and votes of binary SVMs for all pairs of classes.
#
# S[i, c, o] is the sum of coef[o, j] k(s_j, x_i) over the support vectors s_j of class c. Pair p = (a, b), a < b, in
# the order (0, 1), (0, 2), ..., (1, 2), ..., has the score
#
#     S[i, a, b - 1] + S[i, b, a] + intercept[p],
#
# which is positive for class a.
#
# `score_few` computes all of this for a few dense rows in one call, and `decide_pairs` for blocks of rows, each of
# which has a lane of SIMD vectors, without storing S, which many classes make large. Their numbers have the same bits
# as those of `_values.pyx`, which is faster for many rows and few classes.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from kernels._functions cimport RBF, kernel_t, transform
from _vector cimport LANES_D, LANES_F, fmadd_d, prefetch, require, spread_d, unless_positive, vec_d, vec_f, widen

cdef extern from *:
    """
    #include "simd.h"

    /* The product and sum of one lane of fmadd_f and fmadd_d. */
    #if LANES_D > 1 && (defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__)) || defined(NEON))
    #define fmadd_1f(a, b, c) __builtin_fmaf(a, b, c)
    #define fmadd_1d(a, b, c) __builtin_fma(a, b, c)
    #else
    #define fmadd_1f(a, b, c) ((a) * (b) + (c))
    #define fmadd_1d(a, b, c) ((a) * (b) + (c))
    #endif
    """
    float fmadd_1f(float a, float b, float c) nogil
    double fmadd_1d(double a, double b, double c) nogil

cdef enum:
    LANE_ROWS = 2 * LANES_D  # the number of rows whose pairs are decided together, in two SIMD vectors

# The number of rows of a block for `decide_pairs`.
GROUP = LANE_ROWS

cdef enum:
    SUMS = 8       # the number of outputs, sums of coefficients times kernel values, that are computed side by side
    ROWS = 64      # the number of rows whose scores stay in the L1 cache during a loop over pairs of classes
    # the number of columns of support vectors that are converted to the type of the kernel values at once
    PART = 128

ctypedef fused value:
    float
    double


cdef void add_products(
    const value* K, const double* coef, Py_ssize_t n_support, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n,
    double* out
) noexcept nogil:
    """Add the sum of coef[o, j] K[j], start <= j < stop, for kernel values K, to each of n <= SUMS outputs out[o].

    Calls for adjacent ranges, in order, read long rows of `coef` from memory, which its prefetchers follow.
    """
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
    """Add the sum of coef[o, j] K[i, j] over the support vectors j of class c to each out[i, c, o].

    K: kernel values (n, n_support); class c has the support vectors starts[c] to starts[c + 1].
    """
    cdef Py_ssize_t i, o, c, n_support = coef.shape[1], n_outputs = coef.shape[0], n_classes = starts.shape[0] - 1
    require(K.shape[0] == out.shape[0] and K.shape[1] == n_support and starts[n_classes] <= n_support)
    require(out.shape[1] == n_classes and out.shape[2] == n_outputs)
    with nogil:
        for i in range(out.shape[0]):
            o = 0
            while o < n_outputs:
                for c in range(n_classes):
                    if starts[c] < starts[c + 1]:
                        add_products(
                            &K[i, 0], &coef[o, 0], n_support, starts[c], starts[c + 1],
                            min(<Py_ssize_t> SUMS, n_outputs - o), &out[i, c, o]
                        )
                o += SUMS


def score_pairs(const double[:, :, :] S, const double[:] intercept, double[:, ::1] out):
    """Write the scores (n, n_pairs) of all pairs of classes, from sums S over each class's support vectors."""
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


def rank(const double[:, ::1] score, double[:, ::1] won, double[:, ::1] confidence):
    """won[i, c] += the number of pairs that class c wins, where a score of 0 is for the first class.

    confidence[i, c] += the scores in favour of c.
    """
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


def choose_winners(const double[:, ::1] score, double[::1] won, int64_t[::1] out):
    """out[i] = the first class that wins the most pairs; a score of 0 is for the second class, as in LIBSVM.

    won: scratch space, a number for each class.
    """
    cdef Py_ssize_t n_classes = won.shape[0], a, b, p, i
    require(score.shape[0] == out.shape[0] and score.shape[1] == n_classes * (n_classes - 1) // 2)
    with nogil:
        for i in range(out.shape[0]):
            memset(&won[0], 0, n_classes * sizeof(double))
            p = 0
            for a in range(n_classes):
                for b in range(a + 1, n_classes):
                    won[a if score[i, p] > 0 else b] += 1
                    p += 1
            out[i] = 0
            for a in range(1, n_classes):
                if won[a] > won[out[i]]:
                    out[i] = a


# The scores or votes of LANE_ROWS rows at a time, by `decide_pairs`.
ctypedef struct pairs_t:
    # (n_support, LANE_ROWS): the kernel values of each support vector and the rows
    double* values
    const double* coef         # (n_classes - 1, n_support)
    const int64_t* starts      # (n_classes + 1,): class c has the support vectors starts[c] to starts[c + 1]
    const double* intercept    # (n_pairs,)
    Py_ssize_t n_support
    Py_ssize_t n_classes
    double* won                # (n_classes, LANE_ROWS): the votes for each class; NULL if scores are wanted
    double* score              # (rows, n_pairs): the scores of the rows; NULL if votes are wanted


cdef inline vec_d own_sum(const pairs_t* m, Py_ssize_t c, Py_ssize_t o, Py_ssize_t half) noexcept nogil:
    """The sum of coef[o, j] times the kernel values of LANES_D rows, over the support vectors j of class c."""
    cdef Py_ssize_t j
    cdef const double* coef = m.coef + o * m.n_support
    cdef const vec_d* value = <const vec_d*> (m.values + half * LANES_D)
    cdef vec_d sum = spread_d(0)
    for j in range(m.starts[c], m.starts[c + 1]):
        sum = fmadd_d(spread_d(coef[j]), value[2 * j], sum)
    return sum


cdef inline void keep(
    const pairs_t* m, Py_ssize_t a, Py_ssize_t b, Py_ssize_t p, Py_ssize_t half, Py_ssize_t n_rows, vec_d sum
) noexcept nogil:
    """Keep the scores or votes of pair p = (a, b) for LANES_D rows; sum: the sums over class a."""
    cdef vec_d* won = <vec_d*> (m.won + half * LANES_D)
    cdef Py_ssize_t lane
    cdef double* part = <double*> &sum
    cdef vec_d votes
    sum = (sum + own_sum(m, b, a, half)) + spread_d(m.intercept[p])
    if m.score != NULL:
        for lane in range(min(<Py_ssize_t> LANES_D, n_rows - half * LANES_D)):
            m.score[(half * LANES_D + lane) * (m.n_classes * (m.n_classes - 1) // 2) + p] = part[lane]
    else:
        # a score of 0 is for the second class, as in LIBSVM
        votes = spread_d(1) - unless_positive(spread_d(1), sum)
        won[2 * a] += votes
        won[2 * b] += spread_d(1) - votes


cdef void decide_block(const pairs_t* m, Py_ssize_t n_rows) noexcept nogil:
    """The scores or votes of up to LANE_ROWS rows; the sums over class a are computed for four partners at a time."""
    cdef Py_ssize_t a, b, j, i, n, p = 0, K = m.n_classes
    cdef const double* coef
    cdef const vec_d* value = <const vec_d*> m.values
    cdef vec_d x, y, c
    cdef vec_d s0, s1, s2, s3, t0, t1, t2, t3
    cdef vec_d sums[8]
    if m.won != NULL:
        memset(m.won, 0, K * LANE_ROWS * sizeof(double))
    for a in range(K):
        b = a + 1
        while b < K:
            n = min(<Py_ssize_t> 4, K - b)
            coef = m.coef + (b - 1) * m.n_support
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = spread_d(0)
            for j in range(m.starts[a], m.starts[a + 1]):
                x, y = value[2 * j], value[2 * j + 1]
                c = spread_d(coef[j])
                s0, t0 = fmadd_d(c, x, s0), fmadd_d(c, y, t0)
                # beyond the last class, the last one is repeated
                c = spread_d(coef[min(<Py_ssize_t> 1, n - 1) * m.n_support + j])
                s1, t1 = fmadd_d(c, x, s1), fmadd_d(c, y, t1)
                c = spread_d(coef[min(<Py_ssize_t> 2, n - 1) * m.n_support + j])
                s2, t2 = fmadd_d(c, x, s2), fmadd_d(c, y, t2)
                c = spread_d(coef[(n - 1) * m.n_support + j])
                s3, t3 = fmadd_d(c, x, s3), fmadd_d(c, y, t3)
            sums[0], sums[1], sums[2], sums[3] = s0, t0, s1, t1
            sums[4], sums[5], sums[6], sums[7] = s2, t2, s3, t3
            for i in range(n):
                keep(m, a, b + i, p + i, 0, n_rows, sums[2 * i])
                keep(m, a, b + i, p + i, 1, n_rows, sums[2 * i + 1])
            p += n
            b += n


def decide_pairs(
    const value[:, ::1] K, const double[:, ::1] coef, const int64_t[::1] starts, const double[::1] intercept,
    double[::1] scratch, int64_t[::1] winner, double[:, ::1] score
):
    """Write the class of each row that wins the most pairs to `winner`, or the scores of all pairs to `score`.

    The other one is None. K: kernel values (n, n_support). scratch: (n_support + n_classes) * LANE_ROWS numbers.
    """
    cdef pairs_t m
    cdef Py_ssize_t n = K.shape[0], n_support = coef.shape[1], n_classes = starts.shape[0] - 1
    cdef Py_ssize_t first = 0, i, j, c, n_rows
    m.values, m.coef, m.starts, m.intercept = &scratch[0], &coef[0, 0], &starts[0], &intercept[0]
    m.n_support, m.n_classes = n_support, n_classes
    m.won, m.score = NULL, NULL
    require(K.shape[1] == n_support and coef.shape[0] == n_classes - 1 and starts[n_classes] == n_support)
    require(scratch.shape[0] >= (n_support + n_classes) * LANE_ROWS)
    require(intercept.shape[0] == n_classes * (n_classes - 1) // 2)
    if winner is not None:
        require(winner.shape[0] == n)
        m.won = &scratch[0] + n_support * LANE_ROWS
    with nogil:
        while first < n:
            n_rows = min(<Py_ssize_t> LANE_ROWS, n - first)
            for j in range(n_support):
                for i in range(LANE_ROWS):
                    m.values[j * LANE_ROWS + i] = K[first + min(i, n_rows - 1), j]
            if winner is None:
                m.score = &score[first, 0]
            decide_block(&m, n_rows)
            if winner is not None:
                for i in range(n_rows):
                    winner[first + i] = 0
                    for c in range(1, n_classes):
                        if m.won[c * LANE_ROWS + i] > m.won[winner[first + i] * LANE_ROWS + i]:
                            winner[first + i] = c
            first += n_rows


# A fitted SVM, and scratch space for the scores of one row of X; `score_few` sets the fields.
ctypedef struct few_t:
    kernel_t kernel
    const double* norm         # (n_support,): the squared lengths of the support vectors
    # (n_classes - 1, n_support): the coefficients of each support vector in the pairs of its class with all other
    # classes
    const double* coef
    const int32_t* n_support_of  # (n_classes,): the number of support vectors of each class
    const double* intercept    # (n_pairs,): the intercept of each pair of classes
    Py_ssize_t n_support
    Py_ssize_t n_classes
    Py_ssize_t d
    # The fields from x to sums are scratch space. All but `sums`, which has doubles, have the type of the kernel
    # values.
    void* x                    # (d,): the row that is scored, converted to the type of the kernel values
    # (SUMS, PART): PART columns of SUMS support vectors, converted to the type of the kernel values
    void* part
    # (n_support, padded to whole SIMD vectors): -gamma times the squared length of each support vector
    void* terms
    # (n_support, padded to whole SIMD vectors): the kernel values of the row and each support vector
    void* values
    # (n_classes, n_classes - 1): for each class and each pair that it is in, the sum of coefficient times kernel value
    # over its support vectors
    double* sums


cdef inline value chain(value a, value b, value c) noexcept nogil:
    if value is float:
        return fmadd_1f(a, b, c)
    else:
        return fmadd_1d(a, b, c)


cdef void multiply(const few_t* m, const floating* support, const value* x, value* part, value* out) noexcept nogil:
    """Write the inner products of the row x and all support vectors, each summed over the columns in order."""
    cdef Py_ssize_t i = 0, r, j, start, n
    cdef const floating* row
    cdef const value* s[SUMS]
    cdef value s0, s1, s2, s3, s4, s5, s6, s7, a
    while i < m.n_support:
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0
        start = 0
        while start < m.d:
            n = min(<Py_ssize_t> PART, m.d - start)
            # beyond the last support vector, the last one is repeated, because SUMS rows are read at a time
            for r in range(SUMS):
                row = support + min(i + r, m.n_support - 1) * m.d + start
                if floating is double:  # floats are read as fast without
                    j = 0
                    while j < n:
                        prefetch(row + SUMS * m.d + j)
                        j += 8
                if (floating is float and value is float) or (floating is double and value is double):
                    s[r] = <const value*> row
                else:
                    j = 0
                    if floating is float and value is double:
                        while j + LANES_D <= n:
                            (<vec_d*> (part + r * PART + j))[0] = widen(row + j)
                            j += LANES_D
                    while j < n:
                        part[r * PART + j] = <value> row[j]
                        j += 1
                    s[r] = part + r * PART
            for j in range(n):
                a = x[start + j]
                s0, s1 = chain(a, s[0][j], s0), chain(a, s[1][j], s1)
                s2, s3 = chain(a, s[2][j], s2), chain(a, s[3][j], s3)
                s4, s5 = chain(a, s[4][j], s4), chain(a, s[5][j], s5)
                s6, s7 = chain(a, s[6][j], s6), chain(a, s[7][j], s7)
            start += n
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
        i += SUMS


cdef void score_row(
    const few_t* m, const floating* support, const void* row, bint single, double norm, value* x, double* out
) noexcept nogil:
    """Write the scores of a row, of floats if `single`, else of doubles; norm: squared length of the row."""
    cdef Py_ssize_t j, c, o = 0, first, a, b, p = 0
    cdef value* values = <value*> m.values
    for j in range(m.d):
        x[j] = <value> (<const float*> row)[j] if single else <value> (<const double*> row)[j]
    multiply(m, support, x, <value*> m.part, values)
    if value is float:
        transform(
            &m.kernel, norm, <const vec_f*> m.terms, <vec_f*> values, (m.n_support + LANES_F - 1) // LANES_F
        )
    else:
        transform(
            &m.kernel, norm, <const vec_d*> m.terms, <vec_d*> values, (m.n_support + LANES_D - 1) // LANES_D
        )
    memset(m.sums, 0, m.n_classes * (m.n_classes - 1) * sizeof(double))
    while o < m.n_classes - 1:
        first = 0
        for c in range(m.n_classes):
            add_products(
                values, m.coef + o * m.n_support, m.n_support, first, first + m.n_support_of[c],
                min(<Py_ssize_t> SUMS, m.n_classes - 1 - o), m.sums + c * (m.n_classes - 1) + o
            )
            first += m.n_support_of[c]
        o += SUMS
    for a in range(m.n_classes):
        for b in range(a + 1, m.n_classes):
            out[p] = (
                m.sums[a * (m.n_classes - 1) + b - 1] + m.sums[b * (m.n_classes - 1) + a] + m.intercept[p]
            )
            p += 1


cdef void score_rows(
    const few_t* m, const floating* support, const char* X, bint single, const double* norm, value* x,
    double[:, ::1] out
) noexcept nogil:
    """Write the scores of the rows of X, of floats if `single`, else of doubles; norm: squared length of each row."""
    cdef Py_ssize_t i, j, size = m.d * (sizeof(float) if single else sizeof(double))
    cdef value* terms = <value*> m.terms
    for j in range(m.n_support if m.kernel.kind == RBF else 0):
        terms[j] = <value> (-m.kernel.gamma * m.norm[j])
    for i in range(out.shape[0]):
        score_row(m, support, X + i * size, single, norm[i], x, &out[i, 0])


cdef const void* address(array, bint* single):
    """The address of the first number of an array; writes to `single` whether it has floats, not doubles."""
    cdef const float[:, ::1] floats
    cdef const double[:, ::1] doubles
    single[0] = array.itemsize == sizeof(float)
    if single[0]:
        floats = array
        return &floats[0, 0]
    doubles = array
    return &doubles[0, 0]


cdef Py_ssize_t whole(Py_ssize_t n):
    """n, rounded up to a multiple of 16, which is itself a multiple of SUMS and of the lanes of any SIMD vector."""
    return (n + 15) // 16 * 16


def score_few(model, kernel, X, const double[::1] norm, double[:, ::1] out):
    """The scores of dense rows X (n, n_pairs), by the fitted state of a `KernelMachine` whose rows were dense.

    norm: the squared lengths of the rows, which only the rbf kernel needs. kernel: a `Kernel`.
    """
    cdef few_t m
    cdef const double[::1] support_norm = model._support_norms_
    cdef const double[:, ::1] coef = model._dual_coef_
    cdef const int32_t[::1] n_support_of = model.n_support_
    cdef const double[::1] intercept = model.intercept_
    cdef bint single_support, single_row, single = model._dtype_ == "float32"
    cdef const void* support = address(model._support_rows_, &single_support)
    cdef const void* rows = address(X, &single_row)
    cdef Py_ssize_t n_classes = n_support_of.shape[0], n = whole(coef.shape[1]), d = whole(X.shape[1])
    cdef double[::1] scratch = np.empty(d + SUMS * PART + 2 * n + n_classes * (n_classes - 1))
    require(coef.shape[0] == n_classes - 1 and support_norm.shape[0] == coef.shape[1] and norm.shape[0] == len(X))
    require(out.shape[0] == len(X) and out.shape[1] == intercept.shape[0] == n_classes * (n_classes - 1) // 2)
    m.kernel.kind, m.kernel.degree, m.kernel.gamma = kernel.kind, kernel.degree, kernel.gamma
    m.kernel.coef0 = kernel.coef0
    m.norm, m.coef, m.n_support_of, m.intercept = &support_norm[0], &coef[0, 0], &n_support_of[0], &intercept[0]
    m.n_support, m.n_classes, m.d = coef.shape[1], n_classes, X.shape[1]
    m.x, m.part, m.terms = &scratch[0], &scratch[d], &scratch[d + SUMS * PART]
    m.values, m.sums = &scratch[d + SUMS * PART + n], &scratch[d + SUMS * PART + 2 * n]
    with nogil:
        if single and single_support:
            score_rows(&m, <const float*> support, <const char*> rows, single_row, &norm[0], <float*> m.x, out)
        elif single:
            score_rows(&m, <const double*> support, <const char*> rows, single_row, &norm[0], <float*> m.x, out)
        elif single_support:
            score_rows(&m, <const float*> support, <const char*> rows, single_row, &norm[0], <double*> m.x, out)
        else:
            score_rows(&m, <const double*> support, <const char*> rows, single_row, &norm[0], <double*> m.x, out)
