# Naive Bayes: log P(x, class) of rows by what was learned.
#
# Classes lie side by side in the lanes and columns are added in their order, four rows at a time to hide the latency of
# a sum. Arrays by class have `width` columns: the classes, filled up to whole vectors.
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from _exp cimport exp_of_negative
from _finite cimport all_finite
from naive_bayes._gaussian_leave_one_out cimport gaussians_t, leave_out_rows
from _model cimport bayes_t, model_t, normalise_f, score_double_f, score_float_f
from _numbers cimport real, row_of, rows_at, rows_of, rows_t
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK
from _vector cimport LANES_D, fmadd_d, spread_d, sum_d, vec_d

LANES = LANES_D


# joint[i, k] += constant[k] + sum_j weight[j, k] (x_ij - mean[j, k])^2
cdef void add_squares(
    const rows_t* X, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    const double* mean, const double* weight, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t d = X.d, i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d t0, t1, t2, t3, m, w
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = row_of(X, min(i + r, stop - 1), room + r * d)
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
    if n == LANES_D:
        (<vec_d*> out)[0] += a
        return
    for lane in range(n):
        out[lane] += (<double*> &a)[lane]


# joint[i, k] += constant[k] + sum_j coef[j, k] x_ij, or with a threshold, over the x_ij above it, as ones
cdef void add_products(
    const rows_t* X, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    bint binary, double threshold, const double* coef, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t d = X.d, i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d c
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = row_of(X, min(i + r, stop - 1), room + r * d)
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
    const rows_t* X, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop, const int64_t* first,
    const double* table, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, v
    cdef const double* x
    cdef vec_d a
    for i in range(start, stop):
        x = row_of(X, i, room)
        for v in range(width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for j in range(X.d):
                if x[j] == x[j]:
                    a += (<const vec_d*> (table + entry_of(x[j], first, j) * width + k))[0]
            add_lanes(a, joint + i * n_classes + k, min(LANES_D, n_classes - k))


cdef inline int64_t entry_of(double x, const int64_t* first, Py_ssize_t j) noexcept nogil:
    cdef int64_t last = first[j + 1] - 1
    return first[j] + <int64_t> x if 0 <= x < last - first[j] else last


# out[i] = log(sum_a count[a] exp(-(x_i - cell[a])^2 / 2 h^2)) - constant, cells ascending, counts above 0.
#
# Terms that together are below 2^-60 of that of the nearest cell are left out: those beyond the reach r with
# r^2 / 2 h^2 = top + slack - log(count of the nearest), top its exponent, slack = log(largest count) + log(m) + 42.
cdef void log_densities(
    const double* x, Py_ssize_t n, const double* cell, const double* count, Py_ssize_t m, double h, double slack,
    double constant, double* out
) noexcept nogil:
    cdef Py_ssize_t i, a, last
    cdef double t, top, reach, total, scale = -0.5 / (h * h)
    cdef vec_d u, s
    for i in range(n):
        a = first_from(cell, m, x[i])
        if a == m or (a > 0 and x[i] - cell[a - 1] < cell[a] - x[i]):
            a -= 1
        t = x[i] - cell[a]
        top = -scale * t * t
        if top == INFINITY:
            out[i] = -INFINITY
            continue
        reach = h * sqrt(2 * (top + slack - log(count[a])))
        a = first_from(cell, m, x[i] - reach)
        last = first_from(cell, m, x[i] + reach)
        s = spread_d(0)
        while a + LANES_D <= last:
            u = spread_d(x[i]) - (<const vec_d*> (cell + a))[0]
            u = exp_of_negative(fmadd_d(u * u, spread_d(scale), spread_d(top)))
            s = fmadd_d((<const vec_d*> (count + a))[0], u, s)
            a += LANES_D
        total = sum_d(s)
        while a < last:
            t = x[i] - cell[a]
            total += count[a] * exp(scale * t * t + top)
            a += 1
        out[i] = log(total) - top - constant


cdef inline Py_ssize_t first_from(const double* cell, Py_ssize_t m, double x) noexcept nogil:
    """The first of m ascending cells that is at least x, or m."""
    cdef Py_ssize_t low = 0, high = m, middle
    while low < high:
        middle = (low + high) // 2
        if cell[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


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


def squares(
    X, const double[:, ::1] mean, const double[:, ::1] weight, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add Gaussian log densities; `mean`, `weight` and `constant` have classes as columns, LANES a group."""
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(4 * rows.d)
    with nogil:
        add_squares(
            &rows, joint.shape[1], mean.shape[1], start, stop, &mean[0, 0], &weight[0, 0], &constant[0], &joint[0, 0],
            &room[0]
        )


def products(
    X, const double[:, ::1] coef, const double[::1] constant, threshold,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(4 * rows.d)
    with nogil:
        add_products(
            &rows, joint.shape[1], coef.shape[1], start, stop, binary, limit, &coef[0, 0], &constant[0], &joint[0, 0],
            &room[0]
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
    X, const int64_t[::1] first, const double[:, ::1] table, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add the table's entries for the categories of rows start to stop."""
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(rows.d)
    with nogil:
        add_entries(
            &rows, joint.shape[1], table.shape[1], start, stop, &first[0], &table[0, 0], &constant[0], &joint[0, 0],
            &room[0]
        )


def densities(
    const double[::1] x, const double[::1] cell, const double[::1] count, double h, double slack, double constant,
    double[::1] out
):
    """Logs of sums of normal densities of width h about cells, as `log_densities` says."""
    with nogil:
        log_densities(
            &x[0], x.shape[0], &cell[0], &count[0], cell.shape[0], h, slack, constant, &out[0]
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
    X, const int32_t[::1] code, const double[::1] count, const double[:, ::1] mean,
    const double[:, ::1] squares, const double[:, ::1] log_prior, double smoothing, double epsilon,
    const double[:, ::1] inverse, const double[:, ::1] sums, const double[:, ::1] A, const double[:, ::1] B,
    const double[::1] base, const double[::1] top, double off, Py_ssize_t start, Py_ssize_t stop,
    int32_t[::1] left_code, uint8_t[::1] lost
):
    """The class of each row by the Gaussian classes of all others, as `gaussians_t` has them."""
    cdef rows_t rows = rows_of(X)
    cdef Py_ssize_t d = rows.d, n_classes = inverse.shape[0], width = base.shape[0]
    cdef double[::1] room = np.empty(4 * (d + width))
    cdef gaussians_t g = gaussians_t(
        d, n_classes, np.argmax(squares[n_classes]), smoothing, epsilon, np.max(inverse), &count[0], &mean[0, 0],
        &squares[0, 0], &log_prior[0, 0], &inverse[0, 0], &sums[0, 0], width, &A[0, 0], &B[0, 0], &base[0], &top[0],
        np.max(top), off
    )
    with nogil:
        leave_out_rows(&g, &rows, &code[0], start, stop, &left_code[0], &lost[0], &room[0])


cdef inline bint has_negative(const real* X, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(n):
        found |= X[i] < 0
    return found


cdef void rule_out(
    const model_t* model, const rows_t* x, const double* marked, const double* most, double* joint, double* room
) noexcept nogil:
    """-inf for the classes of which the row has a marked column; or fewer of the marked ones than `most`."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, k
    cdef double* hits = room + 4 * d
    for k in range(K):
        hits[k] = 0
    add_products(x, K, b.width, 0, 1, b.binary, b.threshold, marked, b.zero, hits, room)
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
    cdef rows_t rows = rows_at(X, d), row
    if not all_finite(X, n * d) or (b.nonnegative and has_negative(X, n * d)):
        return FASTCLF_BAD_VALUE
    for i in range(n):
        for k in range(K):
            joint[i * K + k] = b.begin[k]
    if b.first != NULL:
        add_entries(&rows, K, b.width, 0, n, b.first, b.weight, b.zero, joint, room)
    elif b.mean != NULL:
        add_squares(&rows, K, b.width, 0, n, b.mean, b.weight, b.constant, joint, room)
    else:
        add_products(&rows, K, b.width, 0, n, b.binary, b.threshold, b.weight, b.zero, joint, room)
    for i in range(n):
        row = rows_at(X + i * d, d)
        if b.impossible != NULL:
            rule_out(model, &row, b.impossible, NULL, joint + i * K, room)
        if b.wanted != NULL:
            rule_out(model, &row, b.wanted, b.n_wanted, joint + i * K, room)
    return FASTCLF_OK


cdef score_float_f _joint_floats = joint_rows[float]
cdef score_double_f _joint_doubles = joint_rows[double]
cdef normalise_f _normalise = normalise_rows
ADDRESSES = {
    "score_f": <size_t> _joint_floats, "score_d": <size_t> _joint_doubles, "normalise": <size_t> _normalise,
}
