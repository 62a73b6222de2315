# Tests whether numbers are finite: x - x is 0 for a finite x, and NaN for any other.
from cython cimport floating
from libc.math cimport INFINITY, fabs

from _vector cimport LANES_D, spread_d, sum_d, vec_d, widen


cdef inline bint all_finite(const floating* x, Py_ssize_t n) noexcept nogil:
    cdef vec_d s = spread_d(0), v
    cdef Py_ssize_t i = 0
    cdef double total
    while i + LANES_D <= n:
        if floating is float:
            v = widen(x + i)
        else:
            v = (<const vec_d*> (x + i))[0]
        s += v - v
        i += LANES_D
    total = sum_d(s)
    while i < n:
        total += <double> x[i] - <double> x[i]
        i += 1
    return total == 0


cdef inline bint any_infinite(const floating* x, Py_ssize_t n) noexcept nogil:
    """Whether any number is infinite; NaN does not count. The loop has no branch, so that it is vectorised."""
    cdef bint found = False
    cdef Py_ssize_t i
    for i in range(n):
        found |= fabs(x[i]) == INFINITY
    return found
