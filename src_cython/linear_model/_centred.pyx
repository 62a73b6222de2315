# Products of vectors with a sparse matrix whose columns are centred, and steps of conjugate gradients with it.
#
#     A = root (X - 1 share'X),    A v = root (X v - 1 share'X v),    A'r = X'(root r - share sum(root r))
#
# X has n sparse rows and d columns, `turned` is its transpose with entries in float64. root, share: (n,) float64;
# without centring `share` has no numbers. Vectors of n numbers are centred, not those of d.
#
# The sum of a row has the parts of two vectors, which are added up at its end: an addition that waits for the one
# before takes longer than the loads of an entry. Rows of `turned` of one length should be adjacent: the processor then
# foresees where their sums end.
from cython cimport cdivision, floating
from libc.stdint cimport int32_t

from _csr cimport csr_of, csr_t
from _vector cimport LANES_D, require, spread_d, sum_d, vec_d, widen

cdef extern from *:
    """
    #include "simd.h"

    /* The numbers v[j[0]], v[j[1]], ... */
    static inline vec_d picked(const double* v, const int32_t* j) {
    #if LANES_D == 2
        return (vec_d) {v[j[0]], v[j[1]]};
    #else
        double lanes[LANES_D];
        for (int i = 0; i < LANES_D; i++)
            lanes[i] = v[j[i]];
        return *(vec_d*) lanes;
    #endif
    }
    """
    vec_d picked(const double* v, const int32_t* j) noexcept nogil


cdef inline vec_d load(const floating* x) noexcept nogil:
    if floating is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline double row_sum(const csr_t* X, const floating* value, Py_ssize_t row, const double* v) noexcept nogil:
    """The product of a row of X and the vector v."""
    cdef Py_ssize_t e = X.indptr[row], end = X.indptr[row + 1]
    cdef vec_d s = spread_d(0), t = s
    cdef double rest = 0
    while e + 2 * LANES_D <= end:
        s = s + load(value + e) * picked(v, X.indices + e)
        t = t + load(value + e + LANES_D) * picked(v, X.indices + e + LANES_D)
        e += 2 * LANES_D
    while e < end:
        rest += value[e] * v[X.indices[e]]
        e += 1
    return sum_d(s + t) + rest


cdef double inner(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    while i + 4 <= n:
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        s0 += x[i] * y[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


cdef void centre_after(
    double* s, const double[::1] root, const double[::1] share, Py_ssize_t K, double* sums
) noexcept nogil:
    """Turn products X V, for V of K columns, into A V. sums: scratch space of K numbers."""
    cdef Py_ssize_t i, k, n = root.shape[0]
    for k in range(K):
        sums[k] = 0
    for i in range(share.shape[0]):
        for k in range(K):
            sums[k] += share[i] * s[i * K + k]
    for i in range(n):
        for k in range(K):
            s[i * K + k] = root[i] * (s[i * K + k] - sums[k])


cdef void centre_before(
    const double* r, const double[::1] root, const double[::1] share, Py_ssize_t K, double* sums, double* out
) noexcept nogil:
    """Write root R - share sum(root R), whose product with X' is A'R, for R of K columns."""
    cdef Py_ssize_t i, k, n = root.shape[0]
    for k in range(K):
        sums[k] = 0
    for i in range(n):
        for k in range(K):
            out[i * K + k] = root[i] * r[i * K + k]
            sums[k] += out[i * K + k]
    for i in range(share.shape[0]):
        for k in range(K):
            out[i * K + k] -= share[i] * sums[k]


def centre_products(double[:, ::1] s, const double[::1] root, const double[::1] share, double[::1] sums):
    """Turn s = X V into A V."""
    require(s.shape[0] == root.shape[0] and s.shape[1] == sums.shape[0])
    with nogil:
        centre_after(&s[0, 0], root, share, s.shape[1], &sums[0])


def centre_factors(
    const double[:, ::1] r, const double[::1] root, const double[::1] share, double[::1] sums, double[:, ::1] out
):
    """Write the matrix whose product with X' is A'r."""
    require(r.shape[0] == root.shape[0] == out.shape[0] and r.shape[1] == sums.shape[0] == out.shape[1])
    with nogil:
        centre_before(&r[0, 0], root, share, r.shape[1], &sums[0], &out[0, 0])


def multiply(X, const floating[::1] data, const double[::1] v, double[::1] out):
    """Write X v for a `Csr` X with its `data`."""
    cdef csr_t rows = csr_of(X)
    cdef Py_ssize_t i
    require(v.shape[0] == rows.n_columns and out.shape[0] == rows.n_rows)
    with nogil:
        for i in range(rows.n_rows):
            out[i] = row_sum(&rows, &data[0], i, &v[0])


def square_lengths(turned, const double[::1] root, double[::1] out, Py_ssize_t start, Py_ssize_t stop):
    """Write the squared lengths of columns [start, stop) of the rows of X times their roots, before centring."""
    cdef csr_t columns = csr_of(turned)
    cdef const double[::1] entries = turned.data
    cdef Py_ssize_t j, e
    cdef double x, total
    require(root.shape[0] == columns.n_columns and out.shape[0] == columns.n_rows)
    with nogil:
        for j in range(start, stop):
            total = 0
            for e in range(columns.indptr[j], columns.indptr[j + 1]):
                x = root[columns.indices[e]] * entries[e]
                total += x * x
            out[j] = total


# Arguments: more than 8, because a step works on arrays that the caller allocates once for all steps.
@cdivision(True)  # a number divided by 0 is not finite, which ends the steps
def step(
    X, const floating[::1] data, turned, const double[::1] root, const double[::1] share, double alpha, double size,
    const double[::1] weight, double[::1] w, double[::1] rest, double[::1] slope, double[::1] p, double[::1] q
):
    """Take a step of conjugate gradients for the least |A w - t|^2 + alpha |w|^2.

    The preconditioner multiplies by `weight`; rest = t - A w; slope = A'rest - alpha w; p is the direction; q: scratch
    space of n numbers. size: the inner product of slope and weight slope. Returns (size, |slope|^2, |w|^2) after the
    step.
    """
    cdef csr_t rows = csr_of(X), columns = csr_of(turned)
    cdef const double[::1] entries = turned.data
    cdef Py_ssize_t i, j, n = rows.n_rows, d = rows.n_columns
    cdef double by, s, total, squares = 0, length = 0, after = 0
    require(columns.n_rows == d and columns.n_columns == n and root.shape[0] == rest.shape[0] == q.shape[0] == n)
    require(weight.shape[0] == w.shape[0] == slope.shape[0] == p.shape[0] == d)
    with nogil:
        for i in range(n):
            q[i] = row_sum(&rows, &data[0], i, &p[0])
        centre_after(&q[0], root, share, 1, &total)
        by = size / (inner(&q[0], &q[0], n) + alpha * inner(&p[0], &p[0], d))
        for i in range(n):
            rest[i] -= by * q[i]
        centre_before(&rest[0], root, share, 1, &total, &q[0])
        for j in range(d):
            w[j] += by * p[j]
            s = row_sum(&columns, &entries[0], j, &q[0]) - alpha * w[j]
            slope[j] = s
            squares += s * s
            length += w[j] * w[j]
            after += s * (s * weight[j])
        s = after / size
        for j in range(d):
            p[j] = s * p[j] + slope[j] * weight[j]
    return after, squares, length
