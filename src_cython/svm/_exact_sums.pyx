# Sums of products as precise as in twice the digits of float64: the rounding error of each product and each sum is
# added to a second number (Ogita, Rump, Oishi 2005, Accurate sum and dot product).
from libc.math cimport fma

from _vector cimport require


cdef inline void add_product(double a, double b, double* sum, double* rest) noexcept nogil:
    """Add a b to the pair (sum, rest), where `sum` is the rounded total and `rest` adds up the rounding errors."""
    cdef double product = a * b, before = sum[0], added
    sum[0] = before + product
    added = sum[0] - before
    rest[0] += ((before - (sum[0] - added)) + (product - added)) + fma(a, b, -product)


def add_rows(const double[:, ::1] X, const double[::1] coef, double[:, ::1] w):
    """Add sum_i coef[i] X[i] to w[0] + w[1], where w[1] adds up the rounding errors of w[0]."""
    cdef Py_ssize_t i, j
    require(X.shape[0] == coef.shape[0] and X.shape[1] == w.shape[1] and w.shape[0] == 2)
    with nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                add_product(coef[i], X[i, j], &w[0, j], &w[1, j])


def add_products(const double[:, ::1] X, const double[:, ::1] w, double[::1] out):
    """Add the score w.x to out[i] for each row x = X[i], for weights w = w[0] + w[1]; a result is rounded only once."""
    cdef Py_ssize_t i, j
    cdef double sum, rest
    require(X.shape[0] == out.shape[0] and X.shape[1] == w.shape[1] and w.shape[0] == 2)
    with nogil:
        for i in range(X.shape[0]):
            sum, rest = out[i], 0
            for j in range(X.shape[1]):
                add_product(w[0, j], X[i, j], &sum, &rest)
                rest += w[1, j] * X[i, j]
            out[i] = sum + rest
