# Naive Bayes: log P(x, class) of rows for the learned distributions.
#
# in:      rows, dense of any type or CSR; parameters (column, class), whose classes are padded to `width`, a multiple
#          of a SIMD vector's length
# changed: log joints (row, class), to which the kernels add terms
#
# A SIMD vector has adjacent classes in its lanes, and columns are added in order. Dense rows are processed four at a
# time, which hides the latency of additions.
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport INFINITY, exp, isfinite, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from math import gcd

import numpy as np

from _csr cimport csr_of, csr_t
from _exp cimport exp_of_negative, log_of_normal, log_of_rest
from _finite cimport all_finite
from naive_bayes._gaussian_leave_one_out cimport gaussians_t, left_out_t, leave_out_rows
from _model cimport bayes_t, model_t, normalise_f, score_double_f, score_float_f
from _numbers cimport real, row_of, rows_at, rows_of, rows_t
from _shares cimport to_shares
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK
from _vector cimport (
    LANES_D, at_most_d, fmadd_d, larger, largest_d, lowest_bit, require, spread_d, sum_d, vec_d,
)

LANES = LANES_D

cdef unsigned int ALL_LANES = (1 << LANES_D) - 1

cdef enum:
    PART = 64  # the number of columns whose parameters are turned together
    LOG_COLUMNS = 64  # the number of columns whose logarithms are computed together
    FACTORS = 16  # the number of factors of a product of which one logarithm is taken


# The rows from start to stop of an array of log joints, log P(x, class), to which a kernel adds terms.
cdef struct joints_t:
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t n_classes
    Py_ssize_t width   # the number of classes, rounded up to a multiple of a SIMD vector's length
    double* joint      # (rows, n_classes) the log joint, log P(x, class), of each row of X and class


cdef inline void add_lanes(const joints_t* to, Py_ssize_t i, Py_ssize_t k, vec_d a) noexcept nogil:
    """Add SIMD vector a to row i's log joints of classes k, k + 1, ...; lanes after the last class are ignored."""
    cdef double* out = to.joint + i * to.n_classes + k
    cdef Py_ssize_t lane, n = min(LANES_D, to.n_classes - k)
    if n == LANES_D:
        (<vec_d*> out)[0] += a
        return
    for lane in range(n):
        out[lane] += (<double*> &a)[lane]


# Gaussian log densities: joint[i, k] += constant[k] + sum_j weight[j, k] (x_ij - mean[j, k])^2 for row i, class k and
# column j; `scratch` has 4 d doubles
cdef void add_squares(
    const rows_t* X, const joints_t* to, const double* mean, const double* weight, const double* constant,
    double* scratch
) noexcept nogil:
    cdef Py_ssize_t d = X.d, width = to.width, i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d t0, t1, t2, t3, m, w
    cdef vec_d a[4]
    for i in range(to.start, to.stop, 4):
        for r in range(4):
            x[r] = row_of(X, min(i + r, to.stop - 1), scratch + r * d)
        for v in range(width // LANES_D):
            k = v * LANES_D
            a[0] = a[1] = a[2] = a[3] = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                m = (<const vec_d*> (mean + j * width + k))[0]
                w = (<const vec_d*> (weight + j * width + k))[0]
                t0 = spread_d(x[0][j]) - m
                t1 = spread_d(x[1][j]) - m
                t2 = spread_d(x[2][j]) - m
                t3 = spread_d(x[3][j]) - m
                a[0] = fmadd_d(t0 * t0, w, a[0])
                a[1] = fmadd_d(t1 * t1, w, a[1])
                a[2] = fmadd_d(t2 * t2, w, a[2])
                a[3] = fmadd_d(t3 * t3, w, a[3])
            for r in range(min(4, to.stop - i)):
                add_lanes(to, i + r, k, a[r])


# The same as `add_squares` for a row x, to its log joints: the parameters (class, column) are turned for few columns at
# a time, which stay in a cache. `sums` has `width` doubles, first the constants, and `part` 2 PART times as many.
cdef void add_squares_of_row(
    const double* x, const double[:, :] mean, const double[:, :] variance, Py_ssize_t width, double* sums, double* part,
    double* joint
) noexcept nogil:
    cdef Py_ssize_t n_classes = mean.shape[0], d = mean.shape[1], first = 0, n, j, k
    cdef double* factor = part + PART * width
    cdef vec_d t, a
    while first < d:
        n = min(<Py_ssize_t> PART, d - first)
        for k in range(n_classes):
            for j in range(n):
                part[j * width + k] = mean[k, first + j]
                factor[j * width + k] = factor_of(variance[k, first + j])
        k = 0
        while k < width:
            a = (<vec_d*> (sums + k))[0]
            for j in range(n):
                t = spread_d(x[first + j]) - (<vec_d*> (part + j * width + k))[0]
                a = fmadd_d(t * t, (<vec_d*> (factor + j * width + k))[0], a)
            (<vec_d*> (sums + k))[0] = a
            k += LANES_D
        first += n
    for k in range(n_classes):
        joint[k] += sums[k]


cdef inline double factor_of(double variance) noexcept nogil:
    """What the square of a distance to the mean is multiplied by; a variance of 0 is replaced by 1e-300."""
    return -0.5 / (1e-300 if variance < 1e-300 else variance)


# The coefficients (column, class) of linear scores. Unless they are padded to whole vectors, the last vector of a
# column extends into the next: `end` has a copy of the columns from n_safe on, whose vectors would extend beyond the
# last column, and is padded.
cdef struct coef_t:
    const double* coef
    const double* end
    Py_ssize_t n_safe
    Py_ssize_t stride  # the number of coefficients of a column, with those that pad it


cdef inline void multiply(vec_d* a, const double* const* x, Py_ssize_t j, const double* coef) noexcept nogil:
    """Add a coefficient of column j, for the classes of a vector, times x to the sums `a` of four rows."""
    cdef vec_d c = (<const vec_d*> coef)[0]
    a[0] = fmadd_d(spread_d(x[0][j]), c, a[0])
    a[1] = fmadd_d(spread_d(x[1][j]), c, a[1])
    a[2] = fmadd_d(spread_d(x[2][j]), c, a[2])
    a[3] = fmadd_d(spread_d(x[3][j]), c, a[3])


# Linear scores of dense rows: joint[i, k] += sum_j coef[j, k] x_ij for row i, class k and column j. With a threshold,
# x_ij is replaced by 1 if it is above, else by 0; `threshold` is NULL if there is none. `scratch` has 4 d doubles.
cdef void add_products(
    const rows_t* X, const joints_t* to, const coef_t* by, const double* threshold, double* scratch
) noexcept nogil:
    cdef Py_ssize_t d = X.d, i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d a[4]
    for i in range(to.start, to.stop, 4):
        for r in range(4):
            x[r] = row_of(X, min(i + r, to.stop - 1), scratch + r * d)
            if threshold is not NULL:
                for j in range(d):
                    scratch[r * d + j] = 1.0 if x[r][j] > threshold[0] else 0.0
                x[r] = scratch + r * d
        for v in range(to.width // LANES_D):
            k = v * LANES_D
            a[0] = a[1] = a[2] = a[3] = spread_d(0)
            for j in range(by.n_safe):
                multiply(a, x, j, by.coef + j * by.stride + k)
            for j in range(by.n_safe, d):
                multiply(a, x, j, by.end + (j - by.n_safe) * by.stride + k)
            for r in range(min(4, to.stop - i)):
                add_lanes(to, i + r, k, a[r])


# The same for sparse rows.
cdef void add_sparse_products(
    const csr_t* X, const real* value, const joints_t* to, const coef_t* by, const double* threshold
) noexcept nogil:
    cdef Py_ssize_t i, e, j, k, v
    cdef const double* column
    cdef double x
    cdef vec_d a
    for i in range(to.start, to.stop):
        for v in range(to.width // LANES_D):
            k = v * LANES_D
            a = spread_d(0)
            for e in range(X.indptr[i], X.indptr[i + 1]):
                x = value[e]
                if threshold is not NULL:
                    x = 1.0 if x > threshold[0] else 0.0
                j = X.indices[e]
                column = by.coef + j * by.stride if j < by.n_safe else by.end + (j - by.n_safe) * by.stride
                a = fmadd_d(spread_d(x), (<const vec_d*> (column + k))[0], a)
            add_lanes(to, i, k, a)


# Log probabilities of categories: joint[i, k] += constant[k] + sum_j table[first[j] + x_ij, k] for row i, class k and
# column j, whose categories have the rows of the table from first[j] on; the last of them is for all unknown
# categories. NaN, a missing value, adds nothing. `scratch` has d doubles.
cdef void add_entries(
    const rows_t* X, const joints_t* to, const int64_t* first, const double* table, const double* constant,
    double* scratch
) noexcept nogil:
    cdef Py_ssize_t i, j, k, v
    cdef const double* x
    cdef vec_d a
    for i in range(to.start, to.stop):
        x = row_of(X, i, scratch)
        for v in range(to.width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for j in range(X.d):
                if x[j] == x[j]:
                    a += (<const vec_d*> (table + entry_of(x[j], first, j) * to.width + k))[0]
            add_lanes(to, i, k, a)


cdef inline int64_t entry_of(double x, const int64_t* first, Py_ssize_t j) noexcept nogil:
    """The row of the table of log probabilities for category x of column j: the column's last row if x is unknown."""
    cdef int64_t last = first[j + 1] - 1
    return first[j] + <int64_t> x if 0 <= x < last - first[j] else last


# The density of a numeric column in one class: a mean of m normal densities of standard deviation h, which are centred
# at training values and weighted by their counts.
cdef struct density_t:
    # (m,) the centres of the m normal densities, ascending; a centre is a value of the training data
    const double* cell
    const double* count  # (m,) for each centre of a normal density the number of training values that equal it, above 0
    Py_ssize_t m
    double h
    # log(the largest count) + log(m) + 42, for m centres; from it follows the distance from x beyond which centres are
    # skipped, because their normal densities are negligible at x
    double slack
    # the logarithm of the number that divides the weighted sum of normal densities, so that the density integrates to 1
    double constant


# The log density at x of a numeric column in one class:
#
#     log(sum_a count[a] exp(-(x - cell[a])^2 / 2 h^2)) - constant
#
# Centres (cells) at a distance of more than r from x are skipped. All their terms together are below 2^-60 of the term
# count exp(-top) of the nearest centre, if r^2 / (2 h^2) = top + slack - log(count), where slack is 42 plus the
# logarithms of the largest count and of the number of centres.
cdef double log_density(const density_t* p, double x) noexcept nogil:
    cdef Py_ssize_t a, last
    cdef double t, top, reach, total, scale = -0.5 / (p.h * p.h)
    cdef vec_d u, s = spread_d(0)
    a = first_from(p.cell, p.m, x)
    if a == p.m or (a > 0 and x - p.cell[a - 1] < p.cell[a] - x):
        a -= 1
    t = x - p.cell[a]
    top = -scale * t * t
    if top == INFINITY:
        return -INFINITY
    reach = p.h * sqrt(2 * (top + p.slack - log(p.count[a])))
    a = first_from(p.cell, p.m, x - reach)
    last = first_from(p.cell, p.m, x + reach)
    while a + LANES_D <= last:
        u = spread_d(x) - (<const vec_d*> (p.cell + a))[0]
        u = exp_of_negative(fmadd_d(u * u, spread_d(scale), spread_d(top)))
        s = fmadd_d((<const vec_d*> (p.count + a))[0], u, s)
        a += LANES_D
    total = sum_d(s)
    while a < last:
        t = x - p.cell[a]
        total += p.count[a] * exp(scale * t * t + top)
        a += 1
    return log(total) - top - p.constant


cdef inline Py_ssize_t first_from(const double* cell, Py_ssize_t m, double x) noexcept nogil:
    """The index of the first of m ascending numbers in `cell` that is at least x; m if all of them are below x."""
    cdef Py_ssize_t low = 0, high = m, middle
    while low < high:
        middle = (low + high) // 2
        if cell[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


# Counts of a column for each class, from which log probabilities are computed.
cdef struct counts_t:
    Py_ssize_t d
    Py_ssize_t n_classes
    const double* count      # (n_classes, d)
    const double* alpha      # what is added to the counts: a number, or one for each of the d columns
    bint alphas              # whether `alpha` has a number for each column
    const double* log_total  # (n_classes,) the logarithm of the number that divides all counts of a class


# Log shares: out[j, k] = log(count[k, j] + alpha[j]) - log_total[k] for column j and class k; -inf if the sum of both
# is at most 0 or NaN
cdef void log_shares_of(const counts_t* from_, Py_ssize_t start, Py_ssize_t stop, double* out) noexcept nogil:
    cdef Py_ssize_t K = from_.n_classes, first = start, last, j, k, lane, n
    cdef const double* count
    cdef vec_d x
    cdef double* part = <double*> &x
    # counts of a class are read line by line for some columns together
    while first < stop:
        last = min(first + LOG_COLUMNS, stop)
        for k in range(K):
            j = first
            while j < last:
                n = min(<Py_ssize_t> LANES_D, last - j)
                count = from_.count + k * from_.d + j
                if n == LANES_D:
                    x = (<const vec_d*> count)[0]
                    x += (<const vec_d*> (from_.alpha + j))[0] if from_.alphas else spread_d(from_.alpha[0])
                else:
                    x = spread_d(1)
                    for lane in range(n):
                        part[lane] = count[lane] + from_.alpha[j + lane if from_.alphas else 0]
                if at_most_d(spread_d(DBL_MIN), x) & at_most_d(x, spread_d(DBL_MAX)) == ALL_LANES:
                    x = log_of_normal(x) - spread_d(from_.log_total[k])
                else:
                    for lane in range(LANES_D):
                        part[lane] = log(part[lane]) - from_.log_total[k] if part[lane] > 0 else -INFINITY
                for lane in range(n):
                    out[(j + lane) * K + k] = part[lane]
                j += LANES_D
        first = last


# Logarithms of absence: out[i] = log(1 - exp(min(log_there[i], 0))), for numbers (column, class) whose classes are
# adjacent. They are added up in `sums`, which has `period` vectors: number i belongs to lane i modulo the lanes of
# these vectors, and so each lane to one class. `out` may be NULL. A sum takes one logarithm for FACTORS numbers, of
# their product: a factor is 0 or at least 2^-53, so that no product but 0 underflows. `products`: as `sums`, all 1.
# `rests`: as `sums`, all 0: 1 minus the products, which keep the digits of small probabilities.
cdef void logs_of_absence_of(
    const double* log_there, Py_ssize_t n, double* out, double* sums, double* products, double* rests,
    Py_ssize_t period
) noexcept nogil:
    cdef Py_ssize_t i = 0, v = 0, n_factors = 0, lane, left
    cdef vec_d x, there
    cdef double* part = <double*> &x
    while i < n:
        left = min(LANES_D, n - i)
        if left == LANES_D:
            x = (<const vec_d*> (log_there + i))[0]
        else:
            # lanes after the last number get log(1 - 0)
            x = spread_d(-INFINITY)
            for lane in range(left):
                part[lane] = log_there[i + lane]
        there = exp_of_negative(-larger(-x, spread_d(0)))
        (<vec_d*> rests)[v] += there * (<vec_d*> products)[v]
        (<vec_d*> products)[v] *= spread_d(1) - there
        if out != NULL:
            x = log_of_rest(there)
            for lane in range(left):
                out[i + lane] = part[lane]
        i += LANES_D
        v += 1
        if v == period or i >= n:
            v = 0
            n_factors += 1
            if n_factors == FACTORS or i >= n:
                n_factors = 0
                take_logs(products, rests, sums, period)


cdef void take_logs(double* products, double* rests, double* sums, Py_ssize_t n_vectors) noexcept nogil:
    """Add the logarithm of each product, which is from 0 to 1, to the sum in its place, and set it to 1, its rest to 0.

    Of a product near 1 it is computed from the rest.
    """
    cdef Py_ssize_t v, lane
    cdef vec_d x
    for v in range(n_vectors):
        x = (<vec_d*> products)[v]
        if at_most_d(spread_d(0.5), x) == ALL_LANES:
            (<vec_d*> sums)[v] += log_of_rest((<vec_d*> rests)[v])
        elif at_most_d(x, spread_d(0.5)) == at_most_d(spread_d(DBL_MIN), x) == ALL_LANES:
            (<vec_d*> sums)[v] += log_of_normal(x)
        else:
            for lane in range(v * LANES_D, (v + 1) * LANES_D):
                if products[lane] > 0.5:
                    sums[lane] += log1p(-rests[lane])
                else:
                    sums[lane] += log(products[lane]) if products[lane] > 0 else -INFINITY
        (<vec_d*> products)[v], (<vec_d*> rests)[v] = spread_d(1), spread_d(0)


cdef void decide_rows(
    const double* joint, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, int32_t* code
) noexcept nogil:
    cdef Py_ssize_t i, k, best
    cdef const double* row
    cdef double high
    for i in range(start, stop):
        row = joint + i * n_classes
        best = 0
        if n_classes >= 2 * LANES_D:
            best = place_of_largest(row, n_classes)
        else:
            high = -INFINITY
            for k in range(n_classes):
                if row[k] > high:
                    best, high = k, row[k]
        code[i] = best


cdef inline Py_ssize_t place_of_largest(const double* x, Py_ssize_t n) noexcept nogil:
    """The index of the largest of n numbers, n >= LANES_D; of equal ones the first; NaN does not count."""
    cdef Py_ssize_t k = 0, last = n - LANES_D
    cdef unsigned int mask
    cdef vec_d high = spread_d(-INFINITY)
    # the last vector overlaps the one before it
    while k < n:
        high = larger((<const vec_d*> (x + min(k, last)))[0], high)
        k += LANES_D
    high = spread_d(largest_d(high))
    k = 0
    while k < n:
        mask = at_most_d(high, (<const vec_d*> (x + min(k, last)))[0])
        if mask:
            return min(k, last) + lowest_bit(mask)
        k += LANES_D
    return 0


cdef bint are_finite(const joints_t* to) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(to.stop * to.n_classes):
        total += to.joint[i]
    return isfinite(total)


cdef bint have_finite_rows(const rows_t* X, Py_ssize_t n, double* scratch) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef const double* x
    for i in range(n):
        x = row_of(X, i, scratch)
        for j in range(X.d):
            if not isfinite(x[j]):
                return False
    return True


cdef inline joints_t joints_of(
    double[:, ::1] joint, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    return joints_t(start, stop, joint.shape[1], width, &joint[0, 0])


def squares(
    X, const double[:, ::1] mean, const double[:, ::1] weight, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add Gaussian log densities to rows [start, stop) of the log joints; parameters are padded with zeros."""
    cdef rows_t rows = rows_of(X)
    cdef joints_t to = joints_of(joint, mean.shape[1], start, stop)
    cdef double[::1] scratch = np.empty(4 * rows.d)
    with nogil:
        add_squares(&rows, &to, &mean[0, 0], &weight[0, 0], &constant[0], &scratch[0])


cdef Py_ssize_t whole(Py_ssize_t n):
    """n, rounded up to a multiple of a SIMD vector's length."""
    return (n + LANES_D - 1) // LANES_D * LANES_D


cdef double[::1] end_of(const double[:, ::1] coef):
    """A padded copy of the last columns of coefficients (d, n_classes), as many as a SIMD vector has lanes."""
    cdef Py_ssize_t n = coef.shape[1], size = min(<Py_ssize_t> LANES_D, coef.shape[0]) * n
    cdef double[::1] end = np.zeros(size + LANES_D)
    memcpy(&end[0], &coef[0, 0] + coef.shape[0] * n - size, size * sizeof(double))
    return end


def products(
    X, const double[:, ::1] coef, threshold, Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores to the log joints of rows [start, stop); with a `threshold`, x is 1 above it, else 0.

    coef: the coefficients of all classes for each column, of shape (d, n_classes).
    """
    cdef double limit = 0 if threshold is None else threshold
    cdef const double* above = NULL if threshold is None else &limit
    cdef rows_t rows = rows_of(X)
    cdef joints_t to = joints_of(joint, whole(joint.shape[1]), start, stop)
    cdef double[::1] scratch = np.empty(4 * rows.d), end = end_of(coef)
    cdef coef_t by = coef_t(&coef[0, 0], &end[0], max(0, rows.d - LANES_D), coef.shape[1])
    require(coef.shape[0] == rows.d and coef.shape[1] == joint.shape[1])
    with nogil:
        add_products(&rows, &to, &by, above, &scratch[0])


def sparse_products(
    X, const real[::1] data, const double[:, ::1] coef, threshold, Py_ssize_t start, Py_ssize_t stop,
    double[:, ::1] joint
):
    """Add linear scores to rows [start, stop) of the log joints, for a `Csr` X with its values `data`.

    coef: the coefficients of all classes for each column, of shape (d, n_classes).
    """
    cdef double limit = 0 if threshold is None else threshold
    cdef const double* above = NULL if threshold is None else &limit
    cdef const real* values = &data[0] if data.shape[0] else NULL
    cdef csr_t rows = csr_of(X)
    cdef double[::1] end = end_of(coef)
    cdef coef_t by = coef_t(&coef[0, 0], &end[0], max(0, rows.n_columns - LANES_D), coef.shape[1])
    cdef joints_t to = joints_of(joint, whole(joint.shape[1]), start, stop)
    require(coef.shape[0] == rows.n_columns and coef.shape[1] == joint.shape[1])
    with nogil:
        add_sparse_products(&rows, values, &to, &by, above)


def entries(
    X, const int64_t[::1] first, const double[:, ::1] table, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add the log probabilities of the rows' categories to rows [start, stop) of the log joints."""
    cdef rows_t rows = rows_of(X)
    cdef joints_t to = joints_of(joint, table.shape[1], start, stop)
    cdef double[::1] scratch = np.empty(rows.d)
    with nogil:
        add_entries(&rows, &to, &first[0], &table[0, 0], &constant[0], &scratch[0])


def densities(
    const double[::1] x, const double[::1] cell, const double[::1] count, double h, double slack, double constant,
    double[::1] out
):
    """Write the log density of each number in x: a weighted sum of normal densities that are centred at `cell`."""
    cdef density_t p = density_t(&cell[0], &count[0], cell.shape[0], h, slack, constant)
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            out[i] = log_density(&p, x[i])


def log_shares(
    const double[:, ::1] count, const double[::1] alpha, const double[::1] log_total, Py_ssize_t start,
    Py_ssize_t stop, double[:, ::1] out
):
    """Write log((count + alpha) / total) of the columns from start to stop to `out` (d, n_classes); see `counts_t`."""
    cdef Py_ssize_t n_classes = count.shape[0], d = count.shape[1]
    cdef counts_t given = counts_t(d, n_classes, &count[0, 0], &alpha[0], alpha.shape[0] > 1, &log_total[0])
    require(out.shape[0] == d and out.shape[1] == n_classes == log_total.shape[0] and alpha.shape[0] in (1, d))
    with nogil:
        log_shares_of(&given, start, stop, &out[0, 0])


def logs_of_absence(const double[:, ::1] log_there, double[:, ::1] out=None):
    """For log probabilities of presence (columns, n_classes), write those of absence to `out`, and return their sums.

    They are added up by class; the sums have shape (n_classes,).
    """
    cdef Py_ssize_t n_classes = log_there.shape[1], n = log_there.shape[0] * n_classes, i
    cdef Py_ssize_t period = n_classes // gcd(n_classes, LANES_D)
    cdef double[::1] lanes = np.zeros(period * LANES_D), products = np.ones(period * LANES_D)
    cdef double[::1] rests = np.zeros(period * LANES_D), sums = np.zeros(n_classes)
    require(out is None or (out.shape[0] == log_there.shape[0] and out.shape[1] == n_classes))
    with nogil:
        logs_of_absence_of(
            &log_there[0, 0], n, NULL if out is None else &out[0, 0], &lanes[0], &products[0], &rests[0], period
        )
        for i in range(period * LANES_D):
            sums[i % n_classes] += lanes[i]
    return np.asarray(sums)


def normalise(double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, bint log_wanted):
    """Convert log joints, log P(x, class), to posterior probabilities or their logarithms, in place."""
    with nogil:
        to_shares(&joint[0, 0], joint.shape[1], start, stop, log_wanted)


def decide(const double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, int32_t[::1] code):
    """Write the class with the largest log joint, log P(x, class), of each row; the first of equal classes wins."""
    with nogil:
        decide_rows(&joint[0, 0], joint.shape[1], start, stop, &code[0])


def decide_few(
    X, const double[::1] begin, const double[::1] constant, const double[:, :] coef, const double[:, :] variance,
    threshold, int32_t[::1] code
):
    """Decide a few dense rows by log joints that begin with `begin`; whether the rows and all log joints are finite.

    coef, (n_classes, d): the means of `squares` if there are a `variance` of the same shape and its `constant`, else
    the coefficients of `products`. The log joints have the bits of those that these functions compute.
    """
    cdef double limit = 0 if threshold is None else threshold
    cdef const double* above = NULL if threshold is None else &limit
    cdef rows_t rows = rows_of(X)
    cdef Py_ssize_t n = code.shape[0], n_classes = coef.shape[0], d = rows.d, width = whole(n_classes), i, j, k
    cdef bint sound, normal = variance is not None
    cdef Py_ssize_t size = width * (2 * PART if normal else d)
    cdef double[::1] scratch = np.zeros(size + width + 4 * d + n * n_classes)
    cdef double* table = &scratch[0]
    cdef double* sums = table + size
    cdef double* values = sums + width
    cdef joints_t to = joints_t(0, n, n_classes, width, values + 4 * d)
    cdef coef_t by = coef_t(table, NULL, d, width)
    require(n == len(X) and d == coef.shape[1] and n_classes == begin.shape[0])
    require(not normal or (variance.shape[0] == constant.shape[0] == n_classes and variance.shape[1] == d))
    with nogil:
        for i in range(n):
            for k in range(n_classes):
                to.joint[i * n_classes + k] = begin[k]
        if normal:
            for i in range(n):
                for k in range(n_classes):
                    sums[k] = constant[k]
                add_squares_of_row(
                    row_of(&rows, i, values), coef, variance, width, sums, table, to.joint + i * n_classes
                )
        else:
            for k in range(n_classes):
                for j in range(d):
                    table[j * width + k] = coef[k, j]
            add_products(&rows, &to, &by, above, values)
        decide_rows(to.joint, n_classes, 0, n, &code[0])
        sound = are_finite(&to) and (above is NULL or have_finite_rows(&rows, n, values))
    return sound


def leave_out(
    X, const int32_t[::1] code, gaussians, Py_ssize_t start, Py_ssize_t stop, int32_t[::1] left_code, uint8_t[::1] lost
):
    """Predict the class of rows start to stop by the fits without each row, and write whether too few digits remain.

    gaussians: a `Gaussians` of `gaussian_leave_one_out.py`.
    """
    cdef const double[::1] count = gaussians.count, base = gaussians.base, top = gaussians.top
    cdef const double[:, ::1] mean = gaussians.mean, squares = gaussians.squares, log_prior = gaussians.log_prior
    cdef const double[:, ::1] inverse = gaussians.inverse, sums = gaussians.sums, A = gaussians.A, B = gaussians.B
    cdef rows_t rows = rows_of(X)
    cdef Py_ssize_t d = rows.d, n_classes = inverse.shape[0], width = base.shape[0]
    cdef double[::1] scratch = np.empty(4 * (d + width))
    cdef gaussians_t g = gaussians_t(
        d, n_classes, np.argmax(squares[n_classes]), gaussians.smoothing, gaussians.epsilon, np.max(inverse), &count[0],
        &mean[0, 0], &squares[0, 0], &log_prior[0, 0], &inverse[0, 0], &sums[0, 0], width, &A[0, 0], &B[0, 0], &base[0],
        &top[0], np.max(top), gaussians.off
    )
    cdef left_out_t out = left_out_t(&left_code[0], &lost[0])
    with nogil:
        leave_out_rows(&g, &rows, &code[0], start, stop, &out, &scratch[0])


cdef inline bint has_negative(const real* X, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(n):
        found |= X[i] < 0
    return found


cdef void rule_out(
    const model_t* model, const rows_t* x, const double* marked, const double* most, double* joint, double* scratch
) noexcept nogil:
    """Set the joints of impossible classes of a row to -inf: of classes with a nonzero value in a marked column; or, if
    `most` is not NULL, of classes with fewer nonzero values in marked columns than `most`. `scratch` has 4 d +
    n_outputs doubles."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, k
    cdef double* hits = scratch + 4 * d
    cdef joints_t to = joints_t(0, 1, K, b.width, hits)
    for k in range(K):
        hits[k] = 0
    cdef coef_t by = coef_t(marked, NULL, d, b.width)
    add_products(x, &to, &by, &b.threshold if b.binary else NULL, scratch)
    for k in range(K):
        if hits[k] > 0 if most == NULL else hits[k] < most[k]:
            joint[k] = -INFINITY


cdef int joint_rows(
    const model_t* model, const real* X, Py_ssize_t n, double* joint, char* work
) noexcept nogil:
    """Write log P(x, class) of n rows for a naive Bayes model; `work` has 4 n_features + n_outputs doubles."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, i, k
    cdef double* scratch = <double*> work
    cdef rows_t rows = rows_at(X, d), row
    cdef joints_t to = joints_t(0, n, K, b.width, joint)
    cdef coef_t by
    if not all_finite(X, n * d) or (b.nonnegative and has_negative(X, n * d)):
        return FASTCLF_BAD_VALUE
    for i in range(n):
        for k in range(K):
            joint[i * K + k] = b.begin[k]
    if b.first != NULL:
        add_entries(&rows, &to, b.first, b.weight, b.zero, scratch)
    elif b.mean != NULL:
        add_squares(&rows, &to, b.mean, b.weight, b.constant, scratch)
    else:
        by = coef_t(b.weight, NULL, model.n_features, b.width)
        add_products(&rows, &to, &by, &b.threshold if b.binary else NULL, scratch)
    for i in range(n):
        row = rows_at(X + i * d, d)
        if b.impossible != NULL:
            rule_out(model, &row, b.impossible, NULL, joint + i * K, scratch)
        if b.wanted != NULL:
            rule_out(model, &row, b.wanted, b.n_wanted, joint + i * K, scratch)
    return FASTCLF_OK


cdef score_float_f _joint_floats = joint_rows[float]
cdef score_double_f _joint_doubles = joint_rows[double]
cdef normalise_f _normalise = to_shares
ADDRESSES = {
    "score_f": <size_t> _joint_floats, "score_d": <size_t> _joint_doubles, "normalise": <size_t> _normalise,
}
