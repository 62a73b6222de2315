# exp, log, cos and the functions of logistic models, in each lane of a vec_d, to one or two ulps; with FMA if the SIMD
# level has FMA.
#
# exp(x) = 2^n exp(r) with n = round(x / log 2) and |r| <= log(2) / 2. The Taylor polynomial of degree 13 gives exp(r)
# with a remainder below 5e-18. The low bits of x / log 2 + 1.5 * 2^52 are n, which is added to the exponent.
#
# log(x) = n log 2 + log(1 + f) with x = 2^n (1 + f) and sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f),
# |s| < 0.172, log(1 + f) = 2 (s + s^3 / 3 + s^5 / 5 + ...) = f - f^2 / 2 + s (f^2 / 2 + 2 s^2 / 3 + 2 s^4 / 5 + ...),
# whose terms from s^22 on are below 1e-18 of f. The last form rounds least, because f is exact.
#
# cos(x) = (-1)^(n+1) sin(r) with x = (n + 1/2) pi + r and |r| <= pi / 2. The Taylor polynomial of degree 21 gives
# sin(r) with a remainder below 2e-18; in each lane of a vec_f degree 13, with a remainder below 7e-10.
from _vector cimport vec_d, vec_f

cdef extern from * nogil:
    """
    #include "simd.h"

    static inline vec_d times_power_of_two(vec_d a, vec_d shifted)
    {
    #if LANES_D > 1
        return (vec_d)((vec_b)a + ((vec_b)shifted << 52));
    #else
        uint64_t bits, power;
        memcpy(&bits, &a, 8);
        memcpy(&power, &shifted, 8);
        bits += power << 52;
        memcpy(&a, &bits, 8);
        return a;
    #endif
    }

    /* exp(x) for x <= 0, but at least exp(-708), which is still a normal number */
    static inline vec_d exp_of_negative(vec_d x)
    {
        static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                   1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
        const vec_d magic = spread_d(6755399441055744.0);
        x = max_d(x, spread_d(-708));
        vec_d shifted = fmadd_d(x, spread_d(1.4426950408889634), magic), n = shifted - magic;
        /* log 2 is split into two parts; the first has so few bits that its product with n is exact */
        vec_d r = fmadd_d(n, spread_d(-6.93147180369123816490e-01), x);
        r = fmadd_d(n, spread_d(-1.90821492927058770002e-10), r);
        vec_d p = spread_d(c[0]);
        for (int i = 1; i < 14; i++) p = fmadd_d(p, r, spread_d(c[i]));
        return times_power_of_two(p, shifted);
    }

    /* cos(x) for |x| <= 2^20 */
    static inline vec_d cos_of_moderate(vec_d x)
    {
        static const double c[] = {1.0 / 51090942171709440000.0, -1.0 / 121645100408832000.0, 1.0 / 355687428096000.0,
                                   -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800, 1.0 / 362880,
                                   -1.0 / 5040, 1.0 / 120, -1.0 / 6};
        const vec_d magic = spread_d(6755399441055744.0);
        vec_d shifted = fmadd_d(x, spread_d(0.31830988618379067154), spread_d(-0.5)) + magic;
        vec_d h = shifted - magic + 0.5;
        /* pi is split into three parts; the first two have so few bits that their products with n + 1/2 are exact */
        vec_d r = fmadd_d(h, spread_d(-3.141592651605606), x);
        r = fmadd_d(h, spread_d(-1.9841871583270443e-09), r);
        r = fmadd_d(h, spread_d(-1.034036596358821e-18), r);
        vec_d t = r * r, p = spread_d(c[0]);
        for (int i = 1; i < 10; i++) p = fmadd_d(p, t, spread_d(c[i]));
        p = fmadd_d(p * t, r, r);
    #if LANES_D > 1
        return (vec_d)((vec_b)p ^ (((vec_b)shifted << 63) ^ 0x8000000000000000ULL));
    #else
        return fmod(h - 0.5, 2) == 0 ? -p : p;
    #endif
    }

    /* cos(x) for |x| <= 2^13; pi is split into three parts, the first two with so few bits that their products with
     * n + 1/2 are exact */
    static inline vec_f cos_of_small(vec_f x)
    {
        static const float c[] = {1.0f / 6227020800.0f, -1.0f / 39916800.0f, 1.0f / 362880.0f, -1.0f / 5040.0f,
                                  1.0f / 120.0f, -1.0f / 6.0f};
        const vec_f magic = spread_f(12582912.0f);
        vec_f shifted = fmadd_f(x, spread_f(0.318309886183790672f), spread_f(-0.5f)) + magic;
        vec_f h = shifted - magic + 0.5f;
        vec_f r = fmadd_f(h, spread_f(-3.140625f), x);
        r = fmadd_f(h, spread_f(-9.67502593994140625e-4f), r);
        r = fmadd_f(h, spread_f(-1.50995799097837643e-7f), r);
        vec_f t = r * r, p = spread_f(c[0]);
        for (int i = 1; i < 6; i++) p = fmadd_f(p, t, spread_f(c[i]));
        p = fmadd_f(p * t, r, r);
    #if LANES_F > 1
        return (vec_f)((bits_f)p ^ (((bits_f)shifted << 31) ^ INT32_MIN));
    #else
        return fmodf(h - 0.5f, 2) == 0 ? -p : p;
    #endif
    }

    /* log(x) for x > 0 that is neither subnormal nor infinite */
    static inline vec_d log_of_normal(vec_d x)
    {
        static const int64_t least = 0x3fe6a09e667f3bcdLL; /* the bits of sqrt(1/2) */
        static const double c[] = {2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7,
                                   2.0 / 5, 2.0 / 3};
        vec_d n, f;
    #if LANES_D > 1
        vec_b bits = (vec_b)x + (uint64_t)(0x3ff0000000000000LL - least);
        /* the biased exponent n + 1023 becomes the low bits of 2^52 */
        n = (vec_d)((bits >> 52) | 0x4330000000000000ULL) - (4503599627370496.0 + 1023);
        f = (vec_d)((bits & 0x000fffffffffffffULL) + (uint64_t)least) - 1;
    #else
        uint64_t bits;
        memcpy(&bits, &x, 8);
        bits += (uint64_t)(0x3ff0000000000000LL - least);
        n = (double)(bits >> 52) - 1023;
        bits = (bits & 0x000fffffffffffffULL) + (uint64_t)least;
        memcpy(&f, &bits, 8);
        f -= 1;
    #endif
        vec_d s = f / (f + 2), t = s * s, half = f * f * 0.5, p = spread_d(c[0]);
        for (int i = 1; i < 10; i++) p = fmadd_d(p, t, spread_d(c[i]));
        p = fmadd_d(s, fmadd_d(p, t, half), n * spread_d(1.90821492927058770002e-10));
        return fmadd_d(n, spread_d(6.93147180369123816490e-01), f - (half - p));
    }

    /* log(1 - e) for 0 <= e <= 1; -inf if e is 1. What rounding takes from 1 - e is added to the logarithm. */
    static inline vec_d log_of_rest(vec_d e)
    {
        vec_d u = spread_d(1) - e, lost = (spread_d(1) - u) - e, found = log_of_normal(u) + lost / u;
    #if LANES_D > 1
        bits_d none = u == 0;
        return (vec_d)((none & (bits_d)spread_d(-INFINITY)) | (~none & (bits_d)found));
    #else
        return u == 0 ? -INFINITY : found;
    #endif
    }

    /* For the margin m: loss = log(1 + exp(-m)), and q = 1 / (1 + exp(m)), the probability of the wrong class.
     * With e = exp(-|m|) and s = e / (2 + e) <= 1/3, log(1 + e) = 2 (s + s^3 / 3 + s^5 / 5 + ...). NaN gives NaN. */
    static inline void logistic(vec_d m, vec_d *loss, vec_d *q, vec_d *curvature)
    {
        const vec_d one = spread_d(1), size = abs_d(m);
        vec_d e = exp_of_negative(-size), s = e / (e + 2), t = s * s, p = spread_d(1.0 / 33), inverse = one / (one + e);
        for (int i = 31; i > 0; i -= 2) p = fmadd_d(p, t, spread_d(1.0 / i));
        *loss = fmadd_d(p, s + s, (size - m) * 0.5);
        *curvature = e * inverse * inverse;
    #if LANES_D > 1
        bits_d wrong = m < 0;
        *q = inverse * (vec_d)((wrong & (bits_d)one) | (~wrong & (bits_d)e));
    #else
        *q = inverse * (m < 0 ? one : e);
    #endif
    }
    """
    vec_d exp_of_negative(vec_d x)
    vec_d cos_of_moderate(vec_d x)
    vec_f cos_of_small(vec_f x)
    vec_d log_of_normal(vec_d x)
    vec_d log_of_rest(vec_d e)
    void logistic(vec_d m, vec_d* loss, vec_d* q, vec_d* curvature)
