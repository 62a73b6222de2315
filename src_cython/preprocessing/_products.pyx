# Products of the features of dense rows, a row at a time.
#
# A row is 1 if it begins with that, then the features, then the products of two of them, of three, ... A plan tells
# how: after the features, step s multiplies the feature s % n_features with count[s] products of one degree less, which
# begin at number first[s] of the features and products, and appends what comes out.
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from _finite cimport all_finite
from _numbers cimport real
from _vector cimport require


cdef inline void multiply(real factor, const real* x, Py_ssize_t n, real* out) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = factor * x[k]


def fill(
    const real[:, ::1] X, const int64_t[::1] first, const int64_t[::1] count, Py_ssize_t left_out, bint bias,
    real[::1] row, real[:, ::1] out
):
    """Make the rows of `out`; whether all products are finite.

    left_out: the number of features and products at the beginning that are of too small a degree for `out`. Where there
    are any, the products of a row come together in `row` before they are copied.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], n_steps = first.shape[0], n_made, i, s, at
    cdef real* made
    cdef bint finite = True
    require(count.shape[0] == n_steps and n_steps % d == 0 and out.shape[0] == n)
    n_made = out.shape[1] - bias + left_out
    require(left_out == 0 or row.shape[0] >= n_made)
    with nogil:
        for i in range(n):
            made = &row[0] if left_out else &out[i, 0] + bias
            memcpy(made, &X[i, 0], d * sizeof(real))
            at = d
            for s in range(n_steps):
                require(first[s] + count[s] <= at and at + count[s] <= n_made)
                multiply(made[s % d], made + first[s], count[s], made + at)
                at += count[s]
            finite &= all_finite(made + d, n_made - d)
            if bias:
                out[i, 0] = 1
            if left_out:
                memcpy(&out[i, 0] + bias, made + left_out, (n_made - left_out) * sizeof(real))
    return finite
