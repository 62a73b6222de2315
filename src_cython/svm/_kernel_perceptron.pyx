# The dual perceptron over rows whose kernel values with all support vectors are at hand.
#
#     f_k(x) = sum_s a_ks (K(x_s, x) + bias);   where y f_k(x) <= 0:  a_k of x += step y
#
# Planes of one-vs-rest learn side by side; y is +1 where the row's code is that of the plane. Sums are in the order of
# the slots, in four parts that take turns, so that no number of threads changes a bit.
from libc.math cimport fabs

from _vector cimport require


cdef double score(const double* a, const double* values, Py_ssize_t n, double bias) noexcept nogil:
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t s = 0
    while s + 4 <= n:
        s0 += a[s] * (values[s] + bias)
        s1 += a[s + 1] * (values[s + 1] + bias)
        s2 += a[s + 2] * (values[s + 2] + bias)
        s3 += a[s + 3] * (values[s + 3] + bias)
        s += 4
    while s < n:
        s0 += a[s] * (values[s] + bias)
        s += 1
    return (s0 + s1) + (s2 + s3)


cdef double size_of(const double* a, Py_ssize_t slot, Py_ssize_t n, Py_ssize_t K) noexcept nogil:
    """The largest coefficient of a slot."""
    cdef Py_ssize_t k
    cdef double most = 0
    for k in range(K):
        most = max(most, fabs(a[k * n + slot]))
    return most


cdef void drop(double* a, Py_ssize_t n, Py_ssize_t K, Py_ssize_t kept) noexcept nogil:
    """Take the support vector of the smallest coefficients, the first of equal ones, but never the slot `kept`."""
    cdef Py_ssize_t slot, k, best = -1
    cdef double size, least = 0
    for slot in range(n):
        size = size_of(a, slot, n, K)
        if slot != kept and size > 0 and (best < 0 or size < least):
            best, least = slot, size
    if best >= 0:
        for k in range(K):
            a[k * n + best] = 0


def learn(
    const double[:, ::1] values, const Py_ssize_t[::1] slot, const int[::1] code, const int[::1] positive,
    const double[:, ::1] step, double[:, ::1] a, double[:, ::1] lag, double t, double bias, Py_ssize_t budget,
    Py_ssize_t n_live, unsigned char[:, ::1] wrong_out, double[::1] least, double[::1] square
):
    """Learn from the rows of a block in their order.

    values: (rows, slots); step, and wrong_out, the mistakes: (rows, planes). `lag` gathers changes times the turns
    before them; `least` the least y f, and `square` a f of the block's rows, which over a sweep without a mistake is
    |w|^2. A budget of 0 is none.
    """
    cdef Py_ssize_t n_rows = values.shape[0], n = values.shape[1], K = a.shape[0], r, k, own
    cdef double f, y, before
    cdef bint changed
    require(a.shape[1] == n and lag.shape[1] == n and slot.shape[0] == n_rows and step.shape[1] == K)
    require(wrong_out.shape[0] == n_rows and wrong_out.shape[1] == K)
    with nogil:
        for r in range(n_rows):
            own = slot[r]
            before = size_of(&a[0, 0], own, n, K)
            changed = False
            for k in range(K):
                f = score(&a[k, 0], &values[r, 0], n, bias)
                y = 1 if code[r] == positive[k] else -1
                least[k] = min(least[k], y * f)
                square[k] += a[k, own] * f
                wrong_out[r, k] = not y * f > 0
                if wrong_out[r, k]:
                    a[k, own] += y * step[r, k]
                    lag[k, own] += t * y * step[r, k]
                    changed = True
            if changed:
                n_live += (size_of(&a[0, 0], own, n, K) > 0) - (before > 0)
                if budget and n_live > budget:
                    drop(&a[0, 0], n, K, own)
                    n_live -= 1
            t += 1
