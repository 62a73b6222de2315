# Sufficient statistics of classes, in one read of the rows.
#
# in:      rows, dense of any type or CSR; the class and the weight of each row
# changed: arrays (class, column), to which the rows of a span, a range of rows, are added in their order. Spans have
#          fixed lengths, so that the bits do not depend on the number of threads.
from libc.stdint cimport int32_t, int64_t

import numpy as np

from _csr cimport csr_of, csr_t
from _numbers cimport FLOAT, number, real, row_of, rows_of, rows_t
from _vector cimport LANES_D, fmadd_d, prefetch, spread_d, vec_d, widen

cdef enum:
    AHEAD = 1024  # while a value of X is read, the value that is this number of values ahead is prefetched
    LINE = 64  # the number of bytes of a cache line


# The range of rows that one call adds to the sums of classes, with the classes and the weights of all rows.
cdef struct labelled_t:
    Py_ssize_t start
    Py_ssize_t stop
    const int32_t* code    # (n,) the class of each row of X, from row 0 on
    const double* weight   # (n,) the weight of each row of X, from row 0 on; NULL: all weights are 1


cdef inline labelled_t labelled(
    const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """A struct of the rows [start, stop) with their classes and weights; `weight` is empty if all weights are 1."""
    cdef labelled_t rows
    rows.start, rows.stop, rows.code, rows.weight = start, stop, &code[0], NULL
    if weight.shape[0]:
        rows.weight = &weight[0]
    return rows


cdef inline double weight_of(const labelled_t* rows, Py_ssize_t i) noexcept nogil:
    return 1 if rows.weight is NULL else rows.weight[i]


# For class k and column j, with the first row of k in the span as the shift:
#
#     sums = sum w (x - shift),   squares = sum w (x - shift)^2
#
# The shift is one of the summed values, so that squares is at most n + 1 times the sum of squares about the mean:
# cancellation costs at worst a factor of n, the length of a span, whatever the offset of the data.
#
# Rows are added four at a time to a class, so that the sums are read and written once for four rows; up to three rows
# of a class wait for a fourth.
cdef struct moments_t:
    # (classes,) the sum of the weights of each class's rows; 0: no row of the class has been added yet
    double* count
    # (classes, d) for each class the first of its rows, which is subtracted from all of its rows to avoid cancellation
    double* shift
    double* sums        # (classes, d) for each class the sum over its rows x, with weights w, of w (x - shift)
    double* squares     # (classes, d) for each class the sum over its rows x, with weights w, of w (x - shift)^2
    # (classes, 4) for each class the number of its rows that wait until there are four, followed by the numbers of
    # these rows
    int64_t* waiting


cdef void sum_moments(const rows_t* X, const labelled_t* rows, moments_t* m, double* scratch) noexcept nogil:
    """Add rows to the sums and sums of squares of their classes, always four rows of a class at once.

    Up to three rows of a class are left over, and wait for the next call. `scratch` has space for four rows of doubles.
    """
    cdef Py_ssize_t d = X.d, i, j, k
    cdef int64_t* waiting
    cdef const double* x
    for i in range(rows.start, rows.stop):
        for j in range((d * X.itemsize + LINE - 1) // LINE):
            prefetch(X.data + (i * d + AHEAD) * X.itemsize + j * LINE)
        if rows.weight is not NULL and rows.weight[i] == 0:
            continue
        k = rows.code[i]
        waiting = m.waiting + 4 * k
        if m.count[k] == 0:
            x = row_of(X, i, scratch)
            for j in range(d):
                m.shift[k * d + j] = x[j]
        m.count[k] += weight_of(rows, i)
        if waiting[0] < 3:
            waiting[0] += 1
            waiting[waiting[0]] = i
        else:
            waiting[0] = i  # row i completes a group of four rows of its class, with the three that have been waiting
            add_four(X, waiting, 4, rows.weight, m, k, scratch)
            waiting[0] = 0


cdef void add_four(
    const rows_t* X, const int64_t* row, Py_ssize_t n, const double* weight, moments_t* m, Py_ssize_t k, double* scratch
) noexcept nogil:
    """Add one to four rows to the weighted sums of class k; if fewer than four, the last is repeated with weight 0."""
    cdef Py_ssize_t d = X.d, r
    cdef const float* f[4]
    cdef const double* x[4]
    cdef double w[4]
    for r in range(4):
        w[r] = 0 if r >= n else 1 if weight is NULL else weight[row[r]]
        if X.kind == FLOAT:
            f[r] = <const float*> X.data + row[min(r, n - 1)] * d
        else:
            x[r] = row_of(X, row[min(r, n - 1)], scratch + r * d)
    if X.kind == FLOAT:
        add_four_rows(f, w, d, m.shift + k * d, m.sums + k * d, m.squares + k * d)
    else:
        add_four_rows(x, w, d, m.shift + k * d, m.sums + k * d, m.squares + k * d)


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


# For class k and column j, sums[k, j] is the sum of w x over the rows of the class or, with a threshold, the sum of w
# over those of its rows whose x is above the threshold. Sums of integers are exact.
cdef void sum_columns(
    const rows_t* X, const labelled_t* rows, const double* threshold, double* sums, double* scratch
) noexcept nogil:
    """Add rows to the column sums of their classes or, if `threshold` is not NULL, add up weights of x above it.

    `scratch` has space for a row of d doubles.
    """
    cdef Py_ssize_t d = X.d, i
    cdef double w
    for i in range(rows.start, rows.stop):
        w = weight_of(rows, i)
        if X.kind == FLOAT:
            add_row(<const float*> X.data + i * d, d, w, threshold, sums + rows.code[i] * d)
        else:
            add_row(row_of(X, i, scratch), d, w, threshold, sums + rows.code[i] * d)


cdef inline void add_row(
    const real* x, Py_ssize_t d, double w, const double* threshold, double* sums
) noexcept nogil:
    cdef Py_ssize_t j
    cdef double limit
    if threshold is not NULL:
        limit = threshold[0]
        for j in range(d):
            sums[j] += w if x[j] > limit else 0.0
    else:
        for j in range(d):
            sums[j] += w * <double> x[j]


cdef void sum_sparse_columns(
    const csr_t* X, const real* value, const labelled_t* rows, const double* threshold, double* sums
) noexcept nogil:
    """Add sparse rows to the column sums of their classes; with a threshold, only stored entries can be above it.

    The threshold is at least 0.
    """
    cdef Py_ssize_t i, e
    cdef double w
    cdef double* s
    for i in range(rows.start, rows.stop):
        w = weight_of(rows, i)
        s = sums + rows.code[i] * X.n_columns
        for e in range(X.indptr[i], X.indptr[i + 1]):
            if threshold is not NULL:
                s[X.indices[e]] += w if value[e] > threshold[0] else 0.0
            else:
                s[X.indices[e]] += w * <double> value[e]


cdef Py_ssize_t raise_largest(
    const number* X, Py_ssize_t d, Py_ssize_t start, Py_ssize_t stop, number* largest
) noexcept nogil:
    """Raise largest[j] to the largest entry of column j.

    Stops at the first row with an entry that is no category, but negative, NaN or at least 2^31, and returns the row's
    number; otherwise returns -1.
    """
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


cdef void count_categories(
    const rows_t* X, const labelled_t* rows, const int64_t* first, double[:, ::1] counts, double* scratch
) noexcept nogil:
    """Add each row's weight to counts[first[j] + category, class] for each column j.

    Column j has the rows of `counts` from first[j] on, one for each category; `scratch` has space for d doubles.
    """
    cdef Py_ssize_t i, j
    cdef double w
    cdef const double* x
    for i in range(rows.start, rows.stop):
        w = weight_of(rows, i)
        x = row_of(X, i, scratch)
        for j in range(X.d):
            counts[first[j] + <int64_t> x[j], rows.code[i]] += w


cdef moments_t moments_of(state) except *:
    """A struct of pointers to the arrays of a `ClassMoments`, which the caller must keep alive."""
    cdef double[::1] count = state.count
    cdef double[:, ::1] shift = state.shift, sums = state.sums, squares = state.squares
    cdef int64_t[:, ::1] waiting = state.waiting
    return moments_t(&count[0], &shift[0, 0], &sums[0, 0], &squares[0, 0], &waiting[0, 0])


def moments(X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop, state):
    """Add rows start to stop to a `ClassMoments`, except up to three rows of a class, which `waiting_moments` adds.

    `weight` is empty if all weights are 1.
    """
    cdef rows_t array = rows_of(X)
    cdef labelled_t rows = labelled(code, weight, start, stop)
    cdef moments_t m = moments_of(state)
    cdef double[::1] scratch = np.empty(4 * array.d)
    with nogil:
        sum_moments(&array, &rows, &m, &scratch[0])


def waiting_moments(X, const double[::1] weight, state):
    """Add the rows that wait in a `ClassMoments` for a group of four rows, up to three of each class, to its sums."""
    cdef rows_t array = rows_of(X)
    cdef moments_t m = moments_of(state)
    cdef Py_ssize_t k, n_classes = len(state.count)
    cdef const double* w = NULL if weight.shape[0] == 0 else &weight[0]
    cdef double[::1] scratch = np.empty(4 * array.d)
    with nogil:
        for k in range(n_classes):
            if m.waiting[4 * k]:
                add_four(&array, m.waiting + 4 * k + 1, m.waiting[4 * k], w, &m, k, &scratch[0])


def sums(
    X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    threshold, double[:, ::1] out
):
    """Add rows [start, stop) to their classes' column sums or, with a threshold, add up weights of values above it."""
    cdef rows_t array = rows_of(X)
    cdef labelled_t rows = labelled(code, weight, start, stop)
    cdef double limit = 0 if threshold is None else threshold
    cdef const double* above = NULL if threshold is None else &limit
    cdef double[::1] scratch = np.empty(array.d)
    with nogil:
        sum_columns(&array, &rows, above, &out[0, 0], &scratch[0])


def sparse_sums(
    X, const real[::1] data, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    threshold, double[:, ::1] out
):
    """Add rows [start, stop) of a `Csr` that has entries to the column sums of their classes.

    With a threshold, add up the weights of the values above it instead.
    """
    cdef csr_t sparse = csr_of(X)
    cdef labelled_t rows = labelled(code, weight, start, stop)
    cdef double limit = 0 if threshold is None else threshold
    cdef const double* above = NULL if threshold is None else &limit
    with nogil:
        sum_sparse_columns(&sparse, &data[0], &rows, above, &out[0, 0])


def largest(const number[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, number[::1] out):
    """Raise `out` to the largest category of each column.

    Returns the first row with an entry that is no category, or -1.
    """
    cdef Py_ssize_t bad
    with nogil:
        bad = raise_largest(&X[0, 0], X.shape[1], start, stop, &out[0])
    return bad


def categories(
    X, const int32_t[::1] code, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
    const int64_t[::1] first, double[:, ::1] out
):
    """Add the weights of rows start to stop to `out`, by category and class.

    Every entry must be a whole number not above the number that `largest` has found for its column.
    """
    cdef rows_t array = rows_of(X)
    cdef labelled_t rows = labelled(code, weight, start, stop)
    cdef double[::1] scratch = np.empty(array.d)
    with nogil:
        count_categories(&array, &rows, &first[0], out, &scratch[0])
