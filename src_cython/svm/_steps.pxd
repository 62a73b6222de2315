# Sequential minimal optimisation of a problem (`_dual.pxd`) whose kernel matrix is in memory. Each step changes the
# coefficients of two rows, chosen by second-order information (WSS 2 of Fan, Chen, Lin 2005).
from cython cimport cdivision
from libc.math cimport INFINITY

from svm._dual cimport dual_t, ends_t, place
from _vector cimport LANES_D, at_most_d, fmadd_d, larger, largest_d, lowest_bit, spread_d, vec, vec_d, vec_f, widen

cdef extern from * nogil:
    """
    #include "simd.h"

    #define LEAST_CURVATURE 1e-12 /* a smaller second derivative is replaced by this, as in LIBSVM */

    static inline vec_d lane_numbers(void)
    {
        static const double numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
        return *(const vec_d *)numbers;
    }

    /* In each lane, the least value and its index, or the largest quotient and its index. Quotients are compared by
     * products, as divisions take four times as long. */
    typedef struct { vec_d value, place; } least_t;
    typedef struct { vec_d above, below, place; } quotient_t;

    #if defined(__AVX512F__) && LANES_D == 8
    static inline void keep_least(least_t *best, vec_d value, vec_d place)
    {
        __mmask8 less = _mm512_cmp_pd_mask(value, best->value, _CMP_LT_OQ);
        best->value = _mm512_mask_mov_pd(best->value, less, value);
        best->place = _mm512_mask_mov_pd(best->place, less, place);
    }
    static inline void keep_largest(quotient_t *best, vec_d above, vec_d below, vec_d place)
    {
        __mmask8 more = _mm512_cmp_pd_mask(above * best->below, best->above * below, _CMP_GT_OQ);
        best->above = _mm512_mask_mov_pd(best->above, more, above);
        best->below = _mm512_mask_mov_pd(best->below, more, below);
        best->place = _mm512_mask_mov_pd(best->place, more, place);
    }
    #elif LANES_D > 1
    static inline vec_d choose(bits_d where, vec_d a, vec_d b)
    {
        return (vec_d)((where & (bits_d)a) | (~where & (bits_d)b));
    }
    static inline void keep_least(least_t *best, vec_d value, vec_d place)
    {
        bits_d less = value < best->value;
        best->value = choose(less, value, best->value);
        best->place = choose(less, place, best->place);
    }
    static inline void keep_largest(quotient_t *best, vec_d above, vec_d below, vec_d place)
    {
        bits_d more = above * best->below > best->above * below;
        best->above = choose(more, above, best->above);
        best->below = choose(more, below, best->below);
        best->place = choose(more, place, best->place);
    }
    #else
    static inline void keep_least(least_t *best, vec_d value, vec_d place)
    {
        if (value < best->value) *best = (least_t){value, place};
    }
    static inline void keep_largest(quotient_t *best, vec_d above, vec_d below, vec_d place)
    {
        if (above * best->below > best->above * below) *best = (quotient_t){above, below, place};
    }
    #endif
    """
    const double LEAST_CURVATURE
    ctypedef struct least_t:
        vec_d value
        vec_d place
    ctypedef struct quotient_t:
        vec_d above
        vec_d below
        vec_d place
    vec_d lane_numbers()
    void keep_least(least_t* best, vec_d value, vec_d place)
    void keep_largest(quotient_t* best, vec_d above, vec_d below, vec_d place)


cdef inline vec_d load(const vec* K, Py_ssize_t i) noexcept nogil:
    """A SIMD vector of doubles: the LANES_D numbers from K[i] on, of an array K of floats or doubles."""
    if vec is vec_f:
        return widen(<const float*> K + i)
    else:
        return (<const vec_d*> (<const double*> K + i))[0]


cdef inline double entry(const vec* K, Py_ssize_t i) noexcept nogil:
    """Entry i of an array K of floats or doubles, as a double."""
    return (<const float*> K)[i] if vec is vec_f else (<const double*> K)[i]


cdef inline const vec* row_of(const vec* K, Py_ssize_t i, Py_ssize_t ld) noexcept nogil:
    """The address of row i of a matrix K whose rows begin ld numbers apart."""
    return <const vec*> (<const char*> K + i * ld * <Py_ssize_t> (sizeof(float) if vec is vec_f else sizeof(double)))


cdef inline ends_t ends_of(const least_t* rise, vec_d fall) noexcept nogil:
    """The extreme values of the gradient over all rows, from its extreme values in each lane of the SIMD vectors."""
    cdef ends_t ends
    ends.least, ends.most = -largest_d(-rise.value), largest_d(fall)
    ends.at = <Py_ssize_t> (<const double*> &rise.place)[lowest_bit(at_most_d(rise.value, spread_d(ends.least)))]
    return ends


cdef inline ends_t find_ends(const dual_t* d) noexcept nogil:
    """The least gradient of a variable below its upper bound, and the largest of a variable above its lower bound."""
    cdef Py_ssize_t v
    cdef least_t least
    cdef vec_d most = spread_d(-INFINITY), at = lane_numbers()
    cdef const vec_d* f = <const vec_d*> d.f
    cdef const vec_d* rise = <const vec_d*> d.rise
    cdef const vec_d* fall = <const vec_d*> d.fall
    least.value, least.place = spread_d(INFINITY), at
    for v in range(d.ld // LANES_D):
        keep_least(&least, f[v] + rise[v], at)
        most = larger(most, f[v] + fall[v])
        at = at + <double> LANES_D
    return ends_of(&least, most)


cdef inline ends_t move(dual_t* d, const vec* Ki, const vec* Kj, double t) noexcept nogil:
    """Update the gradient after a step of length t on rows with kernel rows Ki and Kj; returns its extreme values."""
    cdef Py_ssize_t v
    cdef least_t least
    cdef vec_d most = spread_d(-INFINITY), at = lane_numbers(), step = spread_d(t), x
    cdef vec_d* f = <vec_d*> d.f
    cdef const vec_d* rise = <const vec_d*> d.rise
    cdef const vec_d* fall = <const vec_d*> d.fall
    least.value, least.place = spread_d(INFINITY), at
    for v in range(d.ld // LANES_D):
        x = fmadd_d(step, load(Ki, v * LANES_D) - load(Kj, v * LANES_D), f[v])
        f[v] = x
        keep_least(&least, x + rise[v], at)
        most = larger(most, x + fall[v])
        at = at + <double> LANES_D
    return ends_of(&least, most)


cdef inline void compare(
    quotient_t* best, const dual_t* d, const vec* Ki, Py_ssize_t v, vec_d fi, vec_d kii, vec_d at
) noexcept nogil:
    """In each SIMD lane, keep the row of vector v as row i's best partner so far if a step of the two gains more."""
    cdef vec_d slope = larger((<vec_d*> d.f)[v] + (<vec_d*> d.fall)[v] - fi, spread_d(0))
    cdef vec_d bend = fmadd_d(spread_d(-2), load(Ki, v * LANES_D), kii + (<vec_d*> d.diagonal)[v])
    keep_largest(best, slope * slope, larger(bend, spread_d(LEAST_CURVATURE)), at)


@cdivision(True)  # cdivision turns off the debug build's check for divisors of 0, which does not work for SIMD vectors
cdef inline Py_ssize_t choose_partner(const dual_t* d, const vec* Ki, Py_ssize_t i) noexcept nogil:
    """The row whose variable may fall and whose step with row i gains most if bounds are ignored; -1 if none gains."""
    cdef Py_ssize_t v = 0
    # the best partners in even-numbered and in odd-numbered SIMD vectors, found by two chains of comparisons that need
    # not wait for each other
    cdef quotient_t even, odd
    cdef vec_d fi = spread_d(d.f[i]), kii = spread_d(d.diagonal[i]), at = lane_numbers(), quotient
    cdef double most
    even.above, even.below, even.place = spread_d(0), spread_d(1), at
    odd = even
    while v < d.ld // LANES_D:
        compare(&even, d, Ki, v, fi, kii, at)
        at = at + <double> LANES_D
        compare(&odd, d, Ki, v + 1, fi, kii, at)
        at = at + <double> LANES_D
        v += 2
    keep_largest(&even, odd.above, odd.below, odd.place)
    quotient = even.above / even.below
    most = largest_d(quotient)
    if not most > 0:
        return -1
    return <Py_ssize_t> (<const double*> &even.place)[lowest_bit(at_most_d(spread_d(most), quotient))]


cdef inline double take_step(dual_t* d, Py_ssize_t i, Py_ssize_t j, double kij, double* gained) noexcept nogil:
    """Raise b_i and lower b_j by the same length, the best one or that at which a bound is reached; returns the length.

    A length that rounding would lose in b_i or b_j is not taken unless it reaches a bound; then 0 is returned. gained:
    in and out, the gain of the objective is added.
    """
    cdef double bend = max(d.diagonal[i] + d.diagonal[j] - 2 * kij, LEAST_CURVATURE), slope = d.f[j] - d.f[i]
    cdef double left_i = d.upper[i] - d.coef[i], left_j = d.coef[j] - d.lower[j]
    cdef double t = min(slope / bend, min(left_i, left_j))
    cdef double to_i = d.upper[i] if t == left_i else d.coef[i] + t, to_j = d.lower[j] if t == left_j else d.coef[j] - t
    if t < left_i and t < left_j and (to_i == d.coef[i] or to_j == d.coef[j]):
        return 0
    d.coef[i], d.coef[j] = to_i, to_j
    gained[0] += t * slope - 0.5 * t * t * bend
    place(d, i)
    place(d, j)
    return t


cdef inline Py_ssize_t descend(
    dual_t* d, const vec* K, Py_ssize_t ld, double tol, Py_ssize_t most, double* gained
) noexcept nogil:
    """Take `most` steps, or fewer if the violation falls to tol or rounding allows no step; returns the number taken.

    K: the kernel matrix, whose rows are ld numbers apart. gained: in and out, the gain of the objective is added.
    """
    cdef Py_ssize_t step = 0, i, j
    cdef ends_t ends = find_ends(d)
    cdef double t
    while step < most and ends.most - ends.least > tol:
        # choose the row i with the smallest gradient among rows whose variable may rise
        i = ends.at
        # choose the row j whose variable may fall and whose step with row i gains most
        j = choose_partner(d, row_of(K, i, ld), i)
        if j < 0:
            break
        # change the variables of rows i and j, and update the gradient
        t = take_step(d, i, j, entry(row_of(K, i, ld), j), gained)
        if t == 0:
            break
        ends = move(d, row_of(K, i, ld), row_of(K, j, ld), t)
        step += 1
    return step
