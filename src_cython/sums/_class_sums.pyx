# Sufficient statistics of classes, in one read of the rows.
#
# Rows of a span are added to arrays (class, column) in their order, so that spans of fixed lengths give the same bits
# whatever thread takes them.
from libc.stdint cimport int32_t, int64_t

import numpy as np

from _numbers cimport FLOAT, number, real, row_of, rows_of, rows_t
from _vector cimport LANES_D, fmadd_d, prefetch, spread_d, vec_d, widen

cdef enum:
    AHEAD = 1024  # numbers
    LINE = 64  # bytes


# For class k and column j, with the first row of k in the span as the shift:
#
#     sums = sum w (x - shift),   squares = sum w (x - shift)^2
#
# The shift is one of the summed values, so that squares is at most n + 1 times the sum of squares about the mean:
# what cancels is a factor of n at worst, the length of a span, wherever the data lie.
#
# Rows are added four of a class at a time, so that the sums are read and written once for all four: waiting[4 k] rows
# of class k, whose numbers follow, wait for another.
cdef void sum_moments(
    const rows_t* X, const int32_t* code, const double* weight, Py_ssize_t start, Py_ssize_t stop,
    double* count, double* shift, double* sums, double* squares, int64_t* waiting, double* room
) noexcept nogil:
    cdef Py_ssize_t d = X.d, i, j, k
    cdef int64_t* rows
    cdef const double* x
    for i in range(start, stop):
        for j in range((d * X.itemsize + LINE - 1) // LINE):
            prefetch(X.data + (i * d + AHEAD) * X.itemsize + j * LINE)
        if weight is not NULL and weight[i] == 0:
            continue
        k = code[i]
        rows = waiting + 4 * k
        if count[k] == 0:
            x = row_of(X, i, room)
            for j in range(d):
                shift[k * d + j] = x[j]
        count[k] += 1 if weight is NULL else weight[i]
        if rows[0] < 3:
            rows[0] += 1
            rows[rows[0]] = i
        else:
            rows[0] = i
            add_four(X, rows, 4, weight, shift + k * d, sums + k * d, squares + k * d, room)
            rows[0] = 0


# Add n rows of a class, the last of which stands for those to four, without weight.
cdef void add_four(
    const rows_t* X, const int64_t* rows, Py_ssize_t n, const double* weight, const double* shift, double* sums,
    double* squares, double* room
) noexcept nogil:
    cdef Py_ssize_t r
    cdef const float* row[4]
    cdef const double* x[4]
    cdef double w[4]
    for r in range(4):
        w[r] = 0 if r >= n else 1 if weight is NULL else weight[rows[r]]
        if X.kind == FLOAT:
            row[r] = <const float*> X.data + rows[min(r, n - 1)] * X.d
        else:
            x[r] = row_of(X, rows[min(r, n - 1)], room + r * X.d)
    if X.kind == FLOAT:
        add_four_rows(row, w, X.d, shift, sums, squares)
    else:
        add_four_rows(x, w, X.d, shift, sums, squares)


cdef inline void add_four_rows(
    const real** x, const double* w, Py_ssize_t d, const double* shift, double* sums, double* squares
) noexcept nogil:
    cdef Py_ssize_t j, r, v
    cdef double t
    cdef vec_d c, s, q, u, wu
    for v in range(d // LANES_D):
        j = v * LANES_D
        c = (<const vec_d*> (shift + j))[0]
        s = (<vec_d*> (sums + j))[0]
        q = (<vec_d*> (squares + j))[0]
        for r in range(4):
            if real is float:
                u = widen(x[r] + j) - c
            else:
                u = (<const vec_d*> (x[r] + j))[0] - c
            wu = spread_d(w[r]) * u
            s += wu
            q = fmadd_d(wu, u, q)
        (<vec_d*> (sums + j))[0] = s
        (<vec_d*> (squares + j))[0] = q
    for j in range(d - d % LANES_D, d):
        for r in range(4):
            t = <double> x[r][j] - shift[j]
            sums[j] += w[r] * t
            squares[j] += w[r] * t * t


# sums[k, j] = sum w x, or with a threshold, how often x is above it; whole numbers are summed exactly.
cdef void sum_columns(
    const rows_t* X, const int32_t* code, const double* weight, Py_ssize_t start, Py_ssize_t stop, bint binary,
    double threshold, double* sums, double* room
) noexcept nogil:
    cdef Py_ssize_t d = X.d, i
    cdef double w
    for i in range(start, stop):
        w = 1 if weight is NULL else weight[i]
        if X.kind == FLOAT:
            add_row(<const float*> X.data + i * d, d, w, binary, threshold, sums + code[i] * d)
        else:
            add_row(row_of(X, i, room), d, w, binary, threshold, sums + code[i] * d)


cdef inline void add_row(
    const real* x, Py_ssize_t d, double w, bint binary, double threshold, double* sums
) noexcept nogil:
    cdef Py_ssize_t j
    if binary:
        for j in range(d):
            sums[j] += w if x[j] > threshold else 0.0
    else:
        for j in range(d):
            sums[j] += w * <double> x[j]


cdef void sum_sparse_columns(
    const int64_t* indptr, const int32_t* indices, const real* data, const int32_t* code, const double* weight,
    Py_ssize_t d, Py_ssize_t start, Py_ssize_t stop, bint binary, double threshold, double* sums
) noexcept nogil:
    cdef Py_ssize_t i, e
    cdef double w
    cdef double* s
    for i in range(start, stop):
        w = 1 if weight is NULL else weight[i]
        s = sums + code[i] * d
        for e in range(indptr[i], indptr[i + 1]):
            if binary:
                s[indices[e]] += w if data[e] > threshold else 0.0
            else:
                s[indices[e]] += w * <double> data[e]


# largest[j] = the largest entry of column j; the first row with what is no category (negative, NaN, huge), or -1.
cdef Py_ssize_t raise_largest(
    const number* X, Py_ssize_t d, Py_ssize_t start, Py_ssize_t stop, number* largest
) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef bint bad
    cdef number x
    for i in range(start, stop):
        bad = False
        for j in range(d):
            x = X[i * d + j]
            if number is float or number is double:
                bad |= not (x >= 0 and x < <number> 2147483648.0)
            else:
                bad |= x < 0
            largest[j] = x if x > largest[j] else largest[j]
        if bad:
            return i
    return -1


# counts[first[j] + category, k] += w
cdef void count_categories(
    const rows_t* X, const int32_t* code, const double* weight, Py_ssize_t n_classes, Py_ssize_t start,
    Py_ssize_t stop, const int64_t* first, double* counts, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double w
    cdef const double* x
    for i in range(start, stop):
        w = 1 if weight is NULL else weight[i]
        x = row_of(X, i, room)
        for j in range(X.d):
            counts[(first[j] + <int64_t> x[j]) * n_classes + code[i]] += w


cdef inline const double* weights(const double[::1] weight) noexcept nogil:
    return NULL if weight.shape[0] == 0 else &weight[0]


def moments(
    X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    double[::1] count, double[:, ::1] shift, double[:, ::1] sums, double[:, ::1] squares, int64_t[:, ::1] waiting
):
    """Add rows start to stop to the moments of their classes; `weight` of no entries: ones. Some rows then wait."""
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(4 * rows.d)
    with nogil:
        sum_moments(
            &rows, &code[0], weights(weight), start, stop, &count[0], &shift[0, 0], &sums[0, 0], &squares[0, 0],
            &waiting[0, 0], &room[0]
        )


def waiting_moments(
    X, const double[::1] weight, const double[:, ::1] shift, double[:, ::1] sums,
    double[:, ::1] squares, int64_t[:, ::1] waiting
):
    """Add the rows that wait."""
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(4 * rows.d)
    cdef Py_ssize_t k
    with nogil:
        for k in range(shift.shape[0]):
            if waiting[k, 0]:
                add_four(
                    &rows, &waiting[k, 1], waiting[k, 0], weights(weight), &shift[k, 0], &sums[k, 0], &squares[k, 0],
                    &room[0]
                )


def sums(
    X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    threshold, double[:, ::1] out
):
    """Add rows start to stop to the sums of their classes; with a threshold, how often it is exceeded."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(rows.d)
    with nogil:
        sum_columns(
            &rows, &code[0], weights(weight), start, stop, binary, limit, &out[0, 0], &room[0]
        )


def sparse_sums(
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] data, const int32_t[::1] code,
    const double[::1] weight, Py_ssize_t start, Py_ssize_t stop, threshold, double[:, ::1] out
):
    """As `sums`, of rows in CSR that have an entry."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    with nogil:
        sum_sparse_columns(
            &indptr[0], &indices[0], &data[0], &code[0], weights(weight), out.shape[1], start, stop, binary, limit,
            &out[0, 0]
        )


def largest(const number[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, number[::1] out):
    """Raise `out` to the largest category of each column; returns the first row that holds none, or -1."""
    cdef Py_ssize_t bad
    with nogil:
        bad = raise_largest(&X[0, 0], X.shape[1], start, stop, &out[0])
    return bad


def categories(
    X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    const int64_t[::1] first, double[:, ::1] out
):
    """Count the categories of rows start to stop, each a whole number below what `largest` said."""
    cdef rows_t rows = rows_of(X)
    cdef double[::1] room = np.empty(rows.d)
    with nogil:
        count_categories(
            &rows, &code[0], weights(weight), out.shape[1], start, stop, &first[0], &out[0, 0], &room[0]
        )
