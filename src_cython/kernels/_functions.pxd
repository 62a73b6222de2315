# Kernel functions of inner products x.z, computed in every lane of the SIMD vectors vec_f and vec_d.
#
#     linear  x.z     poly  (gamma x.z + r)^degree     rbf  exp(-gamma |x - z|^2)     sigmoid  tanh(gamma x.z + r)
from cython cimport cdivision

from _exp cimport exp_of_negative
from _vector cimport absolute, fmadd, larger, spread_d, spread_f, vec, vec_d, vec_f

cdef extern from * nogil:
    """
    #include "simd.h"

    static inline vec_f times_power_of_two_f(vec_f a, vec_f shifted)
    {
    #if LANES_F > 1
        return (vec_f)((vec_i)a + (vec_i)((bits_f)shifted << 23));
    #else
        uint32_t bits, power;
        memcpy(&bits, &a, 4);
        memcpy(&power, &shifted, 4);
        bits += power << 23;
        memcpy(&a, &bits, 4);
        return a;
    #endif
    }

    /* exp(x) for x <= 0 to 2 ulp, but at least exp(-87). The method is that of exp_of_negative (`_exp.pxd`), with the
       Taylor polynomial of degree 7. */
    static inline vec_f exp_of_negative_f(vec_f x)
    {
        static const float c[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1};
        const vec_f magic = spread_f(12582912.0f);
        x = max_f(x, spread_f(-87));
        vec_f shifted = fmadd_f(x, spread_f(1.44269504f), magic), n = shifted - magic;
        vec_f r = fmadd_f(n, spread_f(-0.693359375f), x);
        r = fmadd_f(n, spread_f(2.12194440e-4f), r);
        vec_f p = spread_f(c[0]);
        for (int i = 1; i < 8; i++) p = fmadd_f(p, r, spread_f(c[i]));
        return times_power_of_two_f(p, shifted);
    }

    static inline vec_f with_sign_f(vec_f size, vec_f sign)
    {
    #if LANES_F > 1
        return (vec_f)((bits_f)size | ((bits_f)sign & (int32_t)0x80000000));
    #else
        return copysignf(size, sign);
    #endif
    }

    static inline vec_d with_sign_d(vec_d size, vec_d sign)
    {
    #if LANES_D > 1
        return (vec_d)((bits_d)size | ((bits_d)sign & (int64_t)0x8000000000000000ull));
    #else
        return copysign(size, sign);
    #endif
    }
    """
    vec_f exp_of_negative_f(vec_f x)
    vec_f with_sign_f(vec_f size, vec_f sign)
    vec_d with_sign_d(vec_d size, vec_d sign)

cdef enum:
    LINEAR = 0
    POLY = 1
    RBF = 2
    SIGMOID = 3

ctypedef struct kernel_t:
    int kind
    int degree
    double gamma
    double coef0


cdef inline vec exp_at_most_0(vec x) noexcept nogil:
    """exp(min(x, 0)) in every lane of a SIMD vector."""
    if vec is vec_f:
        return exp_of_negative_f(-larger(-x, x - x))
    else:
        return exp_of_negative(-larger(-x, x - x))


# cdivision turns off the debug build's check for divisors of 0, which does not work for SIMD vectors
@cdivision(True)
cdef inline vec tanh_of(vec x) noexcept nogil:
    cdef vec size = absolute(x), e = exp_at_most_0(-(size + size))
    if vec is vec_f:
        return with_sign_f((1 - e) / (1 + e), x)
    else:
        return with_sign_d((1 - e) / (1 + e), x)


cdef inline vec power(vec x, int degree) noexcept nogil:
    """x^degree in every lane of a SIMD vector, by repeated squaring."""
    cdef vec result = x - x + 1
    while degree:
        if degree & 1:
            result = result * x
        x = x * x
        degree >>= 1
    return result


cdef inline vec spread_to(double a, vec like) noexcept nogil:
    """A SIMD vector, of the type of `like`, that has the number `a` in every lane."""
    if vec is vec_f:
        return spread_f(<float> a)
    else:
        return spread_d(a)


cdef inline void transform(
    const kernel_t* kernel, double norm, const vec* column_terms, vec* k, Py_ssize_t n
) noexcept nogil:
    """Turn n vectors of inner products z.x of a row z into kernel values; norm: |z|^2; column_terms: -gamma |x|^2."""
    cdef vec scale, shift
    cdef Py_ssize_t v
    if kernel.kind == LINEAR:
        return
    if kernel.kind == RBF:
        scale = spread_to(2 * kernel.gamma, k[0])
        shift = spread_to(-kernel.gamma * norm, k[0])
        for v in range(n):
            k[v] = exp_at_most_0(fmadd(scale, k[v], column_terms[v] + shift))
        return
    scale = spread_to(kernel.gamma, k[0])
    shift = spread_to(kernel.coef0, k[0])
    for v in range(n):
        k[v] = fmadd(scale, k[v], shift)
        k[v] = power(k[v], kernel.degree) if kernel.kind == POLY else tanh_of(k[v])
