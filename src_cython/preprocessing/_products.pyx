# Products of the features of dense rows, a row at a time.
#
# An output row has 1, if there is a bias, then the features, then the products of two of them, of three, ... The
# products are made by steps: step s multiplies the feature s % n_features by count[s] products of one degree less that
# begin at place first[s] among the features and products, and appends the results.
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
    """Write the rows of `out`; returns whether all products are finite.

    `left_out` is the number of features and products whose degree is too small for `out`, and which come first. If it
    is not 0, the features and products of a row are first collected in `row`, and then copied.
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
