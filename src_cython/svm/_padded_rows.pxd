# Products with rows that zeros pad to d doubles, a multiple of 8, and Cholesky factors of d-by-d matrices.
from libc.math cimport sqrt

from _vector cimport LANES_D, fmadd_d, spread_d, sum_d, vec_d

cdef enum:
    PIVOTS = 4          # the number of rows of a Cholesky factor that are subtracted from the others at once


cdef inline double dot(const double* a, const double* b, Py_ssize_t d) noexcept nogil:
    # two sums, so that an addition need not wait for the one before
    cdef vec_d s = spread_d(0), t = s
    cdef Py_ssize_t v, n = d // LANES_D
    for v in range(0, n - 1, 2):
        s = fmadd_d((<const vec_d*> a)[v], (<const vec_d*> b)[v], s)
        t = fmadd_d((<const vec_d*> a)[v + 1], (<const vec_d*> b)[v + 1], t)
    if n % 2:
        s = fmadd_d((<const vec_d*> a)[n - 1], (<const vec_d*> b)[n - 1], s)
    return sum_d(s + t)


cdef inline void add_multiple(double a, const double* x, Py_ssize_t d, double* out) noexcept nogil:
    cdef Py_ssize_t v
    for v in range(d // LANES_D):
        (<vec_d*> out)[v] = fmadd_d(spread_d(a), (<const vec_d*> x)[v], (<vec_d*> out)[v])


cdef inline void add_squares(
    const double** x, const double* weight, Py_ssize_t n, Py_ssize_t first, Py_ssize_t d, double* out
) noexcept nogil:
    """Add the sum of weight[k] x_k x_k' over n vectors x_k to a (d, d) matrix, on and right of the diagonal.

    Rows before the even number `first` are left out; n is a multiple of 4.
    """
    cdef Py_ssize_t r, v, k
    cdef vec_d a0, a1, a2, a3, b0, b1, b2, b3
    cdef const vec_d* x0
    cdef const vec_d* x1
    cdef const vec_d* x2
    cdef const vec_d* x3
    cdef vec_d* u
    cdef vec_d* w
    for r in range(first, d, 2):
        u, w = <vec_d*> (out + r * d), <vec_d*> (out + (r + 1) * d)
        for k in range(0, n, 4):
            x0, x1 = <const vec_d*> x[k], <const vec_d*> x[k + 1]
            x2, x3 = <const vec_d*> x[k + 2], <const vec_d*> x[k + 3]
            a0, b0 = spread_d(weight[k] * x[k][r]), spread_d(weight[k] * x[k][r + 1])
            a1, b1 = spread_d(weight[k + 1] * x[k + 1][r]), spread_d(weight[k + 1] * x[k + 1][r + 1])
            a2, b2 = spread_d(weight[k + 2] * x[k + 2][r]), spread_d(weight[k + 2] * x[k + 2][r + 1])
            a3, b3 = spread_d(weight[k + 3] * x[k + 3][r]), spread_d(weight[k + 3] * x[k + 3][r + 1])
            for v in range(r // LANES_D, d // LANES_D):
                u[v] = fmadd_d(a3, x3[v], fmadd_d(a2, x2[v], fmadd_d(a1, x1[v], fmadd_d(a0, x0[v], u[v]))))
                w[v] = fmadd_d(b3, x3[v], fmadd_d(b2, x2[v], fmadd_d(b1, x1[v], fmadd_d(b0, x0[v], w[v]))))


cdef inline bint factorise(double* U, Py_ssize_t d) noexcept nogil:
    """Replace a symmetric (d, d) matrix by the upper triangular U with U'U equal to it; left of the diagonal is junk.

    Returns False if a pivot is not positive.
    """
    cdef Py_ssize_t i, j, k, m
    cdef double pivot
    cdef const double* x[PIVOTS]
    cdef double weight[PIVOTS]
    i = 0
    while i < d:
        for k in range(i, i + PIVOTS):
            j = k - k % LANES_D
            for m in range(i, k):
                add_multiple(-U[m * d + k], U + m * d + j, d - j, U + k * d + j)
            pivot = U[k * d + k]
            if not pivot > 0:
                return False
            pivot = 1 / sqrt(pivot)
            for j in range(k // LANES_D, d // LANES_D):
                (<vec_d*> (U + k * d))[j] *= spread_d(pivot)
            x[k - i], weight[k - i] = U + k * d, -1
        i += PIVOTS
        add_squares(x, weight, PIVOTS, i, d, U)
    return True


cdef inline void solve(const double* U, Py_ssize_t d, double* b) noexcept nogil:
    """Replace b by the solution x of U'U x = b, for a Cholesky factor U."""
    cdef Py_ssize_t i, j
    cdef const double* row
    cdef double t
    for i in range(d):
        row = U + i * d
        b[i] /= row[i]
        for j in range(i + 1, d):
            b[j] -= b[i] * row[j]
    for i in range(d - 1, -1, -1):
        row = U + i * d
        t = b[i]
        for j in range(i + 1, d):
            t -= row[j] * b[j]
        b[i] = t / row[i]
