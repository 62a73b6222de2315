# The vectors of `simd.h` for Cython, to which a vector is a number, and functions with the same names for vectors of
# floats and of doubles.
from libc.stdint cimport uint64_t

cdef extern from "simd.h" nogil:
    ctypedef float vec_f
    ctypedef double vec_d
    enum: LANES_F
    enum: LANES_D
    enum: PRODUCT_OFFSET
    vec_f spread_f(float a)
    vec_d spread_d(double a)
    vec_f abs_f(vec_f a)
    vec_d abs_d(vec_d a)
    vec_f differs_f(vec_f a, vec_f b)
    vec_d differs_d(vec_d a, vec_d b)
    vec_d or_zero(vec_d a)
    vec_d is_number(vec_d a)
    vec_d unless_positive(vec_d a, vec_d b)
    vec_f max_f(vec_f a, vec_f b)
    vec_d max_d(vec_d a, vec_d b)
    vec_f fmadd_f(vec_f a, vec_f b, vec_f c)
    vec_d fmadd_d(vec_d a, vec_d b, vec_d c)
    unsigned int at_most_f(vec_f a, vec_f b)
    unsigned int at_most_d(vec_d a, vec_d b)
    vec_d widen(const float* a)
    ctypedef int vec_i
    ctypedef long long vec_l
    vec_f sqrt_f(vec_f a)
    vec_i spread_i(int a)
    vec_l spread_l(long long a)
    unsigned int at_least_i(vec_i a, vec_i b)
    unsigned int at_most_l(vec_l a, vec_l b)
    vec_i add_products(vec_i s, const unsigned char* codes, int query)
    vec_l add_differences(vec_l s, const unsigned char* codes, long long query)
    double sum_f(vec_f a)
    double sum_d(vec_d a)
    double largest_f(vec_f a)
    double largest_d(vec_d a)
    void transpose_4_by_4_f(const float* x, Py_ssize_t stride, float* out, Py_ssize_t out_stride)
    void transpose_4_by_4_d(const double* x, Py_ssize_t stride, double* out, Py_ssize_t out_stride)
    ctypedef uint64_t vec_b
    vec_b spread_b(uint64_t a)
    vec_b count_bytes(vec_b a)
    vec_b sum_bytes(vec_b a)
    unsigned int at_most_b(vec_b a, vec_b b)
    uint64_t load_word(const unsigned char* x, Py_ssize_t n)
    Py_ssize_t count_word(uint64_t a)
    void prefetch(const void* address)
    int lowest_bit(unsigned int mask)
    void require "FASTCLF_ASSERT"(bint condition)

ctypedef fused vec:
    vec_f
    vec_d


cdef inline vec spread(const vec* a, Py_ssize_t i) noexcept nogil:
    """A vector that has the number a[i] in every lane."""
    if vec is vec_f:
        return spread_f((<const float*> a)[i])
    else:
        return spread_d((<const double*> a)[i])


cdef inline vec absolute(vec a) noexcept nogil:
    if vec is vec_f:
        return abs_f(a)
    else:
        return abs_d(a)


cdef inline vec differs(vec a, vec b) noexcept nogil:
    if vec is vec_f:
        return differs_f(a, b)
    else:
        return differs_d(a, b)


cdef inline vec larger(vec a, vec b) noexcept nogil:
    if vec is vec_f:
        return max_f(a, b)
    else:
        return max_d(a, b)


cdef inline vec fmadd(vec a, vec b, vec c) noexcept nogil:
    if vec is vec_f:
        return fmadd_f(a, b, c)
    else:
        return fmadd_d(a, b, c)


cdef inline unsigned int at_most(vec a, vec b) noexcept nogil:
    if vec is vec_f:
        return at_most_f(a, b)
    else:
        return at_most_d(a, b)


cdef inline double sum_lanes(vec a) noexcept nogil:
    if vec is vec_f:
        return sum_f(a)
    else:
        return sum_d(a)


cdef inline double largest_lane(vec a) noexcept nogil:
    if vec is vec_f:
        return largest_f(a)
    else:
        return largest_d(a)
