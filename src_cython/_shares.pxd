# Scores or log joints of classes to shares, which are at least 0 and add up to 1 for each row: exp(score), divided by
# the sum of these over the classes.
cimport cython
from libc.math cimport INFINITY

from _exp cimport exp_of_negative, log_of_normal
from _vector cimport LANES_D, is_number, spread_d, unless_positive, vec_d

cdef enum:
    SHARES = 512  # a block of rows has about so many scores


@cython.cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline vec_d exp_of(vec_d x) noexcept nogil:
    """exp(x) for x <= 0: 0 below exp(-708), and NaN for NaN."""
    cdef vec_d known = is_number(x)
    return unless_positive(exp_of_negative(x), spread_d(-708) - x) * (known / known)


cdef inline void exps_of(const double* x, Py_ssize_t n, double* out) noexcept nogil:
    """Write exp(x) of n numbers x <= 0; the place of a number changes no bit."""
    cdef Py_ssize_t i = 0, k
    cdef double lanes[LANES_D]
    (<vec_d*> lanes)[0] = spread_d(0)
    while i < n:
        if i + LANES_D <= n:
            (<vec_d*> (out + i))[0] = exp_of((<const vec_d*> (x + i))[0])
        else:
            for k in range(n - i):
                lanes[k] = x[i + k]
            (<vec_d*> lanes)[0] = exp_of((<const vec_d*> lanes)[0])
            for k in range(n - i):
                out[i + k] = lanes[k]
        i += LANES_D


cdef inline double sum_of(const double* x, Py_ssize_t n) noexcept nogil:
    cdef double sums[4]
    cdef Py_ssize_t i = 0, k
    sums[0] = sums[1] = sums[2] = sums[3] = 0
    while i + 4 <= n:
        for k in range(4):
            sums[k] += x[i + k]
        i += 4
    for k in range(n - i):
        sums[k] += x[i + k]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline void subtract_largest(double* x, Py_ssize_t n) noexcept nogil:
    """Subtract the largest of n numbers from all; if that is -infinity, all but NaN become 0."""
    cdef double most[4]
    cdef double largest
    cdef Py_ssize_t i = 0, k
    most[0] = most[1] = most[2] = most[3] = x[0]
    while i + 4 <= n:
        for k in range(4):
            most[k] = max(most[k], x[i + k])
        i += 4
    for k in range(n - i):
        most[k] = max(most[k], x[i + k])
    largest = max(max(most[0], most[1]), max(most[2], most[3]))
    for k in range(n):
        x[k] = 0 if largest == -INFINITY and x[k] == x[k] else x[k] - largest


@cython.cdivision(True)
cdef inline void subtract_logs_of_sums(double* x, Py_ssize_t n_rows, Py_ssize_t n) noexcept nogil:
    """Subtract log(sum of exp(x)) from the n numbers x <= 0 of each row.

    There are at most SHARES numbers if there is more than one row.
    """
    cdef double part[SHARES]
    cdef double total[SHARES + LANES_D]
    cdef vec_d known
    cdef Py_ssize_t i, k, size, first = 0
    for i in range(n_rows + LANES_D):
        total[i] = i >= n_rows
    while first < n_rows * n:
        size = min(<Py_ssize_t> SHARES, n_rows * n - first)
        exps_of(x + first, size, part)
        for i in range(n_rows):
            total[i] += sum_of(part + i * n, min(n, size))
        first += size
    i = 0
    while i < n_rows:
        known = is_number((<vec_d*> (total + i))[0])
        (<vec_d*> (total + i))[0] = log_of_normal((<vec_d*> (total + i))[0]) * (known / known)
        i += LANES_D
    for i in range(n_rows):
        for k in range(n):
            x[i * n + k] -= total[i]


cdef inline void to_shares(
    double* scores, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, bint log_wanted
) noexcept nogil:
    """Convert the scores of rows to shares or to their logarithms, in place."""
    cdef double* rows
    cdef double total
    cdef Py_ssize_t size = max(<Py_ssize_t> 1, SHARES // n_classes), i, k
    while start < stop:
        size = min(size, stop - start)
        rows = scores + start * n_classes
        for i in range(size):
            subtract_largest(rows + i * n_classes, n_classes)
        if log_wanted:
            subtract_logs_of_sums(rows, size, n_classes)
        else:
            exps_of(rows, size * n_classes, rows)
            for _ in range(size):
                total = sum_of(rows, n_classes)
                for k in range(n_classes):
                    rows[k] /= total
                rows += n_classes
        start += size
