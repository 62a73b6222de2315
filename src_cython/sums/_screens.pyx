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
#
# The cosines of scores, for random Fourier features, are those of the scores in float32, of rows that have no score
# above MOST_ANGLE.
import numpy as np

from libc.math cimport INFINITY, sqrt

from _exp cimport cos_of_small
from _vector cimport LANES_F, abs_f, at_most_f, fmadd_f, largest_f, lowest_bit, max_f, require, spread_f, sum_f, vec_f

cdef extern from "sums/screen.h" nogil:
    enum: SCREEN_ROWS
    void screen_rows(
        const float* X, Py_ssize_t ldx, const float* W, const float* b, Py_ssize_t ldb, Py_ssize_t d, Py_ssize_t width,
        float* out
    )
    void screen_columns(
        const float* X, Py_ssize_t ldx, const float* W, Py_ssize_t ldw, const float* b, Py_ssize_t d, Py_ssize_t width,
        float* out
    )

cdef enum:
    MOST_ANGLE = 1 << 13  # the largest angle that `cos_of_small` takes

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


cdef inline const float* whole_group(const float* x, Py_ssize_t n_rows, Py_ssize_t d, float* copy) noexcept nogil:
    """SCREEN_ROWS rows, of which the first n_rows begin at x; the last one stands for those that are not there."""
    cdef Py_ssize_t r, j
    if n_rows >= SCREEN_ROWS:
        return x
    for r in range(SCREEN_ROWS):
        for j in range(d):
            copy[r * d + j] = x[min(r, n_rows - 1) * d + j]
    return copy


def screen(const float[:, ::1] X, weights, Py_ssize_t[::1] code_out, float[::1] scratch):
    """Write the class of each dense row that certainly has the largest score, or -1 where several may have it.

    X: rows, rounded to float32. weights: a `Screen` of `fastclf/sums/screens.py`. scratch: scratch space for
    ROWS * (d + len(weights.intercept)) numbers.
    """
    cdef const float[::1] W = weights.coef, b = weights.intercept
    cdef double norm = weights.norm, intercept = weights.largest
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], width = b.shape[0], row = 0, n_rows, r
    cdef float* screens = &scratch[0]
    cdef float* copy = screens + SCREEN_ROWS * width
    cdef const float* x
    require(W.shape[0] == d * width and width % LANES_F == 0 and d < 1 << 16 and code_out.shape[0] == n)
    require(scratch.shape[0] >= SCREEN_ROWS * (d + width))
    with nogil:
        while row < n:
            n_rows = min(<Py_ssize_t> SCREEN_ROWS, n - row)
            x = whole_group(&X[row, 0], n_rows, d, copy)
            screen_rows(x, d, &W[0], &b[0], 0, d, width, screens)
            for r in range(n_rows):
                code_out[row + r] = certain_class(
                    screens + r * width, width, screen_error(x + r * d, d, norm, intercept)
                )
            row += n_rows


cdef inline bint write_cosines(const float* angles, Py_ssize_t n, float length, float* out) noexcept nogil:
    """Write length * cos(angle) for n angles, in an array that is long enough for whole SIMD vectors.

    Returns whether all angles are at most MOST_ANGLE, also those that fill the last vector.
    """
    cdef float lanes[LANES_F]
    cdef vec_f angle, most = spread_f(MOST_ANGLE)
    cdef Py_ssize_t k = 0, i
    cdef unsigned int all_lanes = <unsigned int> ((<unsigned long long> 1 << LANES_F) - 1), small = all_lanes
    while k < n:
        angle = (<const vec_f*> (angles + k))[0]
        small &= at_most_f(abs_f(angle), most)
        (<vec_f*> lanes)[0] = spread_f(length) * cos_of_small(angle)
        if k + LANES_F <= n:
            (<vec_f*> (out + k))[0] = (<vec_f*> lanes)[0]
        else:
            for i in range(n - k):
                out[k + i] = lanes[i]
        k += LANES_F
    return small == all_lanes


def cosines(
    const float[:, ::1] X, const float[:, ::1] W, const float[::1] b, float length, float[:, ::1] out,
    unsigned char[::1] far_out
):
    """Write length * cos(x W + b) for each row x, and far_out[i] = 1 for a row with an angle above MOST_ANGLE."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], K = W.shape[1], whole = K - K % (2 * LANES_F), row = 0, n_rows, r, j
    cdef Py_ssize_t rest = 2 * LANES_F
    # the weights of the classes after the last whole pair of SIMD vectors, with zeros for the others, their intercepts,
    # the scores of a group of rows for all classes, and a copy of a group's rows
    cdef float[::1] scratch = np.zeros((d + 1 + SCREEN_ROWS) * rest + SCREEN_ROWS * (whole + d), np.float32)
    cdef float* weights = &scratch[0]
    cdef float* begin = weights + d * rest
    cdef float* last = begin + rest
    cdef float* screens = last + SCREEN_ROWS * rest
    cdef float* copy = screens + SCREEN_ROWS * whole
    cdef const float* x
    require(W.shape[0] == d and b.shape[0] == K == out.shape[1] and out.shape[0] == n == far_out.shape[0])
    with nogil:
        for r in range(whole, K):
            begin[r - whole] = b[r]
            for j in range(d):
                weights[j * rest + r - whole] = W[j, r]
        while row < n:
            n_rows = min(<Py_ssize_t> SCREEN_ROWS, n - row)
            x = whole_group(&X[row, 0], n_rows, d, copy)
            screen_columns(x, d, &W[0, 0], K, &b[0], d, whole, screens)
            if whole < K:
                screen_columns(x, d, weights, rest, begin, d, rest, last)
            for r in range(n_rows):
                far_out[row + r] = not write_cosines(screens + r * whole, whole, length, &out[row + r, 0])
                if whole < K and not write_cosines(last + r * rest, K - whole, length, &out[row + r, 0] + whole):
                    far_out[row + r] = 1
            row += n_rows
