# The class with the largest of many linear scores of dense rows, found by screens, which are scores in float32.
#
#     score[i, k] = sum_j x[i, j] w[k, j] + b[k]
#
# in:      rows X, rounded to float32; W (K, d) and b (K,), rounded to float32
# changed: the class of each row, or -1 where screens leave several
#
# Let u be 2^-24, and M be |x| |w| + |b| with the largest norm of a class's weights and the largest intercept. A
# product or a sum of a screen rounds once, relative to at most M, and the rounding of x, w and b to float32 adds 2 u M,
# so that
#
#     |screen - score| <= (d + 8) u / (1 - (d + 8) u) M + (d + 2 + sqrt(d) (|x| + |w|)) 2^-125
#
# where the second term is for numbers that float32 rounds to 0, also where it has no subnormal numbers. A class whose
# screen is below the largest one by more than twice this bound does not have the largest score. No class of a row with
# NaN or infinity is certain.
from libc.math cimport INFINITY, sqrt

from _vector cimport LANES_F, at_most_f, fmadd_f, largest_f, lowest_bit, max_f, require, spread_f, sum_f, vec_f

cdef extern from "sums/screen.h" nogil:
    enum: SCREEN_ROWS
    void screen_rows(
        const float* X, Py_ssize_t ldx, const float* W, const float* b, Py_ssize_t ldb, Py_ssize_t d, Py_ssize_t width,
        float* out
    )

LANES = LANES_F
ROWS = SCREEN_ROWS


cdef inline double screen_error(const float* x, Py_ssize_t d, double norm, double intercept) noexcept nogil:
    """A bound of the errors of a row's screens; infinity if a screen may not be finite.

    norm: the largest norm of a class's weights; intercept: the largest size of an intercept.
    """
    cdef vec_f squares = spread_f(0)
    cdef Py_ssize_t j = 0
    cdef double square, length, size
    while j + LANES_F <= d:
        squares = fmadd_f((<const vec_f*> (x + j))[0], (<const vec_f*> (x + j))[0], squares)
        j += LANES_F
    square = sum_f(squares)
    while j < d:
        square += <double> x[j] * x[j]
        j += 1
    # squares that float32 rounds to 0 are at most 2^-125 each
    length = sqrt(square * (1 + (d + 8) * 1.2e-7) + d * 2.4e-38)
    size = length * norm + intercept
    # 8 more units than the proof wants are for the rounding of the limit in `certain_class`
    if not size < 1e38:
        return INFINITY
    return (d + 16) * 6.1e-8 * size + (d + 2 + sqrt(<double> d) * (length + norm)) * 2.4e-38


cdef inline Py_ssize_t certain_class(const float* screens, Py_ssize_t width, double error) noexcept nogil:
    """The only class that may have the largest score; -1 if there are several."""
    cdef vec_f most = (<const vec_f*> screens)[0], limit
    cdef Py_ssize_t k = LANES_F, found = -1
    cdef unsigned int near
    while k < width:
        most = max_f(most, (<const vec_f*> (screens + k))[0])
        k += LANES_F
    limit = spread_f(<float> (largest_f(most) - 2 * error))
    k = 0
    while k < width:
        near = at_most_f(limit, (<const vec_f*> (screens + k))[0])
        if near:
            if found >= 0 or near & (near - 1):
                return -1
            found = k + lowest_bit(near)
        k += LANES_F
    return found


def screen(const float[:, ::1] X, weights, Py_ssize_t[::1] code_out, float[::1] scratch):
    """Write the class of each dense row that certainly has the largest score, or -1 where several may have it.

    X: rows, rounded to float32. weights: a `Screen` of `fastclf/sums/screens.py`. scratch: scratch space for
    ROWS * (d + len(weights.intercept)) numbers.
    """
    cdef const float[::1] W = weights.coef, b = weights.intercept
    cdef double norm = weights.norm, intercept = weights.largest
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], width = b.shape[0], row = 0, n_rows, r, j
    cdef float* screens = &scratch[0]
    cdef float* copy = screens + SCREEN_ROWS * width
    cdef const float* x
    require(W.shape[0] == d * width and width % LANES_F == 0 and d < 1 << 16 and code_out.shape[0] == n)
    require(scratch.shape[0] >= SCREEN_ROWS * (d + width))
    with nogil:
        while row < n:
            n_rows = min(<Py_ssize_t> SCREEN_ROWS, n - row)
            x = &X[row, 0]
            if n_rows < SCREEN_ROWS:
                for r in range(SCREEN_ROWS):
                    for j in range(d):
                        copy[r * d + j] = x[min(r, n_rows - 1) * d + j]
                x = copy
            screen_rows(x, d, &W[0], &b[0], 0, d, width, screens)
            for r in range(n_rows):
                code_out[row + r] = certain_class(
                    screens + r * width, width, screen_error(x + r * d, d, norm, intercept)
                )
            row += n_rows
