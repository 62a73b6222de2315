# Naive Bayes: log P(x, class) of rows by what was learned.
#
# Classes lie side by side in the lanes and columns are added in their order, four rows at a time to hide the latency of
# a sum. Arrays by class have `width` columns: the classes, filled up to whole vectors.
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from _finite cimport all_finite
from _model cimport bayes_t, model_t, normalise_f, score_double_f, score_float_f
from _numbers cimport as_doubles, number, real
from _vector cimport LANES_D, fmadd_d, spread_d, vec_d
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK

LANES = LANES_D


# joint[i, k] += constant[k] + sum_j weight[j, k] (x_ij - mean[j, k])^2
cdef void add_squares(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    const double* mean, const double* weight, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d t0, t1, t2, t3, m, w
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = as_doubles(X + min(i + r, stop - 1) * d, d, room + r * d)
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
            for r in range(min(4, stop - i)):
                add_lanes(a[r], joint + (i + r) * n_classes + k, min(LANES_D, n_classes - k))


cdef inline void add_lanes(vec_d a, double* out, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(n):
        out[lane] += (<double*> &a)[lane]


# joint[i, k] += constant[k] + sum_j coef[j, k] x_ij, or with a threshold, over the x_ij above it, as ones
cdef void add_products(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    bint binary, double threshold, const double* coef, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d c
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = as_doubles(X + min(i + r, stop - 1) * d, d, room + r * d)
            if binary:
                for j in range(d):
                    room[r * d + j] = 1.0 if x[r][j] > threshold else 0.0
                x[r] = room + r * d
        for v in range(width // LANES_D):
            k = v * LANES_D
            a[0] = a[1] = a[2] = a[3] = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                c = (<const vec_d*> (coef + j * width + k))[0]
                a[0] = fmadd_d(spread_d(x[0][j]), c, a[0])
                a[1] = fmadd_d(spread_d(x[1][j]), c, a[1])
                a[2] = fmadd_d(spread_d(x[2][j]), c, a[2])
                a[3] = fmadd_d(spread_d(x[3][j]), c, a[3])
            for r in range(min(4, stop - i)):
                add_lanes(a[r], joint + (i + r) * n_classes + k, min(LANES_D, n_classes - k))


cdef void add_sparse_products(
    const int64_t* indptr, const int32_t* indices, const real* data, Py_ssize_t n_classes, Py_ssize_t width,
    Py_ssize_t start, Py_ssize_t stop, bint binary, double threshold, const double* coef, const double* constant,
    double* joint
) noexcept nogil:
    cdef Py_ssize_t i, e, k, v
    cdef double x
    cdef vec_d a
    for i in range(start, stop):
        for v in range(width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for e in range(indptr[i], indptr[i + 1]):
                x = data[e]
                if binary:
                    x = 1.0 if x > threshold else 0.0
                a = fmadd_d(spread_d(x), (<const vec_d*> (coef + indices[e] * width + k))[0], a)
            add_lanes(a, joint + i * n_classes + k, min(LANES_D, n_classes - k))


# joint[i, k] += constant[k] + sum_j table[first[j] + x_ij, k]; the last of a column's entries is for categories that
# are not below it. NaN, a value that is missing, adds nothing.
cdef void add_entries(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    const int64_t* first, const double* table, const double* constant, double* joint
) noexcept nogil:
    cdef Py_ssize_t i, j, k, v
    cdef number x
    cdef vec_d a
    for i in range(start, stop):
        for v in range(width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                x = X[i * d + j]
                if number is float or number is double:
                    if x != x:
                        continue
                a += (<const vec_d*> (table + entry_of(x, first, j) * width + k))[0]
            add_lanes(a, joint + i * n_classes + k, min(LANES_D, n_classes - k))


cdef inline int64_t entry_of(number x, const int64_t* first, Py_ssize_t j) noexcept nogil:
    cdef int64_t last = first[j + 1] - 1
    return first[j] + <int64_t> x if 0 <= x < last - first[j] else last


# Where every class is impossible, all are alike.
cdef void normalise_rows(
    double* joint, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, bint log_wanted
) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double high, total
    cdef double* row
    for i in range(start, stop):
        row = joint + i * n_classes
        high = row[0]
        for k in range(1, n_classes):
            high = max(high, row[k])
        total = 0
        for k in range(n_classes):
            row[k] = 0 if high == -INFINITY else row[k] - high
            total += exp(row[k])
        for k in range(n_classes):
            row[k] = row[k] - log(total) if log_wanted else exp(row[k]) / total


cdef void decide_rows(
    const double* joint, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, int32_t* code
) noexcept nogil:
    cdef Py_ssize_t i, k, best
    for i in range(start, stop):
        best = 0
        for k in range(1, n_classes):
            if joint[i * n_classes + k] > joint[i * n_classes + best]:
                best = k
        code[i] = best


# Leave-one-out of Gaussian classes by subtraction: without row x, of class c with n rows and squares M about mean m,
#
#     m' = m - (x - m) / (n - 1),   M' = M - (x - m)^2 n / (n - 1)
#
# and so for all rows together, whose largest variance gives epsilon. Where less than half the digits of an M' remain,
# `lost` says so, and the row is to be fitted anew. Each (mean, squares) row K is that of all classes together.
cdef void leave_out_rows(
    const number* X, const int32_t* code, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop,
    const double* count, const double* mean, const double* squares, const double* log_prior, bint learned_prior,
    double smoothing, int32_t* left_code, uint8_t* lost, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, own
    cdef const double* x
    cdef const double* m
    cdef const double* M
    cdef double n, t, left, epsilon, v, q, product, logs, score, best
    cdef double total = count[n_classes]
    for i in range(start, stop):
        own = code[i]
        x = as_doubles(X + i * d, d, room)
        epsilon = 0
        lost[i] = 0
        m = mean + n_classes * d
        M = squares + n_classes * d
        for j in range(d):
            t = x[j] - m[j]
            left = M[j] - t * t * (total / (total - 1))
            lost[i] |= left < 1e-8 * M[j]
            epsilon = max(epsilon, left)
        epsilon *= smoothing / (total - 1)
        best = -INFINITY
        left_code[i] = 0
        for k in range(n_classes):
            m = mean + k * d
            M = squares + k * d
            n = count[k] - (k == own)
            if n == 0:
                continue
            q = logs = 0
            product = 1
            for j in range(d):
                t = x[j] - m[j]
                v = M[j]
                if k == own:
                    v -= t * t * ((n + 1) / n)
                    lost[i] |= v < 1e-8 * M[j]
                    t *= (n + 1) / n
                v = v / n + epsilon
                q += t * t / v
                product *= v
                if not 1e-100 < product < 1e100:
                    logs += log(product)
                    product = 1
            score = (log(n) if learned_prior else log_prior[k]) - 0.5 * (q + logs + log(product))
            if score > best:
                best = score
                left_code[i] = k


def squares(
    const number[:, ::1] X, const double[:, ::1] mean, const double[:, ::1] weight, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add Gaussian log densities; `mean`, `weight` and `constant` have classes as columns, LANES a group."""
    cdef double[::1] room = np.empty(4 * X.shape[1])
    with nogil:
        add_squares(
            &X[0, 0], X.shape[1], joint.shape[1], mean.shape[1], start, stop, &mean[0, 0], &weight[0, 0],
            &constant[0], &joint[0, 0], &room[0]
        )


def products(
    const number[:, ::1] X, const double[:, ::1] coef, const double[::1] constant, threshold,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef double[::1] room = np.empty(4 * X.shape[1])
    with nogil:
        add_products(
            &X[0, 0], X.shape[1], joint.shape[1], coef.shape[1], start, stop, binary, limit, &coef[0, 0],
            &constant[0], &joint[0, 0], &room[0]
        )


def sparse_products(
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] data, const double[:, ::1] coef,
    const double[::1] constant, threshold, Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores of rows in CSR."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef const int32_t* columns = &indices[0] if indices.shape[0] else NULL
    cdef const real* values = &data[0] if data.shape[0] else NULL
    with nogil:
        add_sparse_products(
            &indptr[0], columns, values, joint.shape[1], coef.shape[1], start, stop, binary, limit, &coef[0, 0],
            &constant[0], &joint[0, 0]
        )


def entries(
    const number[:, ::1] X, const int64_t[::1] first, const double[:, ::1] table, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add the table's entries for the categories of rows start to stop."""
    with nogil:
        add_entries(
            &X[0, 0], X.shape[1], joint.shape[1], table.shape[1], start, stop, &first[0], &table[0, 0], &constant[0],
            &joint[0, 0]
        )


def normalise(double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, bint log_wanted):
    """Log joints become (log) posterior probabilities, in place."""
    with nogil:
        normalise_rows(&joint[0, 0], joint.shape[1], start, stop, log_wanted)


def decide(const double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, int32_t[::1] code):
    """The class of the largest log joint of each row, the first of equal ones."""
    with nogil:
        decide_rows(&joint[0, 0], joint.shape[1], start, stop, &code[0])


def leave_out(
    const number[:, ::1] X, const int32_t[::1] code, const double[::1] count, const double[:, ::1] mean,
    const double[:, ::1] squares, const double[::1] log_prior, bint learned_prior, double smoothing,
    Py_ssize_t start, Py_ssize_t stop, int32_t[::1] left_code, uint8_t[::1] lost
):
    """The class of each row by the Gaussian classes of all others."""
    cdef double[::1] room = np.empty(X.shape[1])
    with nogil:
        leave_out_rows(
            &X[0, 0], &code[0], X.shape[1], log_prior.shape[0], start, stop, &count[0], &mean[0, 0], &squares[0, 0],
            &log_prior[0], learned_prior, smoothing, &left_code[0], &lost[0], &room[0]
        )


cdef inline bint has_negative(const real* X, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(n):
        found |= X[i] < 0
    return found


cdef void rule_out(
    const model_t* model, const real* x, const double* marked, const double* most, double* joint, double* room
) noexcept nogil:
    """-inf for the classes of which the row has a marked column; or fewer of the marked ones than `most`."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, k
    cdef double* hits = room + 4 * d
    for k in range(K):
        hits[k] = 0
    add_products(x, d, K, b.width, 0, 1, b.binary, b.threshold, marked, b.zero, hits, room)
    for k in range(K):
        if hits[k] > 0 if most == NULL else hits[k] < most[k]:
            joint[k] = -INFINITY


cdef int joint_rows(
    const model_t* model, const real* X, Py_ssize_t n, double* joint, char* work
) noexcept nogil:
    """log P(x, class) of n rows; `work` has 4 n_features + n_outputs doubles."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, i, k
    cdef double* room = <double*> work
    if not all_finite(X, n * d) or (b.nonnegative and has_negative(X, n * d)):
        return FASTCLF_BAD_VALUE
    for i in range(n):
        for k in range(K):
            joint[i * K + k] = b.begin[k]
    if b.first != NULL:
        add_entries(X, d, K, b.width, 0, n, b.first, b.weight, b.zero, joint)
    elif b.mean != NULL:
        add_squares(X, d, K, b.width, 0, n, b.mean, b.weight, b.constant, joint, room)
    else:
        add_products(X, d, K, b.width, 0, n, b.binary, b.threshold, b.weight, b.zero, joint, room)
    for i in range(n):
        if b.impossible != NULL:
            rule_out(model, X + i * d, b.impossible, NULL, joint + i * K, room)
        if b.wanted != NULL:
            rule_out(model, X + i * d, b.wanted, b.n_wanted, joint + i * K, room)
    return FASTCLF_OK


cdef score_float_f _joint_floats = joint_rows[float]
cdef score_double_f _joint_doubles = joint_rows[double]
cdef normalise_f _normalise = normalise_rows
ADDRESSES = {
    "score_f": <size_t> _joint_floats, "score_d": <size_t> _joint_doubles, "normalise": <size_t> _normalise,
}
