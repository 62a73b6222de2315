/* Inner products of dense rows, always inlined: calls would make them twice as slow.
 *
 * Products and sums are rounded separately; coordinate j is added in lane j % 16 of 16 lanes, which are folded by
 * halves. So every SIMD level gives the same bits.
 */
#ifndef FASTCLF_PLANES_H
#define FASTCLF_PLANES_H

#include "simd.h"

#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* EACH(op) expands op for each of the vectors s0, s1, ... that together have 16 lanes. They are single variables, since
 * GCC would keep an array of vectors in memory. */
#define EACH_2(op) op(0) op(1)
#define EACH_4(op) EACH_2(op) op(2) op(3)
#define EACH_8(op) EACH_4(op) op(4) op(5) op(6) op(7)
#if LANES_D == 8
#define EACH EACH_2
#define FOLDED s0 + s1
#elif LANES_D == 4
#define EACH EACH_4
#define FOLDED (s0 + s2) + (s1 + s3)
#elif LANES_D == 2
#define EACH EACH_8
#define FOLDED ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
#else
#define EACH(op) EACH_8(op) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15)
#define FOLDED                                                          \
    (((s0 + s8) + (s4 + s12)) + ((s2 + s10) + (s6 + s14)))              \
        + (((s1 + s9) + (s5 + s13)) + ((s3 + s11) + (s7 + s15)))
#endif
#define BEGIN(v) vec_d s##v = spread_d(0);

INLINED vec_d load_d(const double *x) { return *(const vec_d *)x; }
INLINED vec_d load_f(const float *x) { return widen(x); }

/* The first n > 0 lanes of a vector or, if it has fewer, all its lanes: FIRST(n) is a mask of them; first_d and first_f
 * load them, with zeros in the lanes after them; store_first stores them. */
#if LANES_D == 8 && defined(__AVX512VL__)
#define FIRST(n) ((__mmask8)((n) >= 8 ? 255 : (1 << (n)) - 1))
INLINED vec_d first_d(const double *x, ptrdiff_t n) { return _mm512_maskz_loadu_pd(FIRST(n), x); }
INLINED vec_d first_f(const float *x, ptrdiff_t n) { return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(FIRST(n), x)); }
INLINED void store_first(double *x, vec_d a, ptrdiff_t n) { _mm512_mask_storeu_pd(x, FIRST(n), a); }
#elif LANES_D == 4 && defined(__AVX2__)
#define FIRST(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0))
INLINED vec_d first_d(const double *x, ptrdiff_t n) { return _mm256_maskload_pd(x, FIRST(n)); }
INLINED vec_d first_f(const float *x, ptrdiff_t n)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(x, _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_set_epi32(3, 2, 1, 0))));
}
INLINED void store_first(double *x, vec_d a, ptrdiff_t n) { _mm256_maskstore_pd(x, FIRST(n), a); }
#else
#define FIRST(name, number)                                                     \
    INLINED vec_d name(const number *x, ptrdiff_t n)                            \
    {                                                                           \
        double lanes[LANES_D];                                                  \
        for (ptrdiff_t i = 0; i < LANES_D; i++) lanes[i] = i < n ? x[i] : 0;    \
        return load_d(lanes);                                                   \
    }
FIRST(first_d, double)
FIRST(first_f, float)
INLINED void store_first(double *x, vec_d a, ptrdiff_t n)
{
    double lanes[LANES_D];
    memcpy(lanes, &a, sizeof lanes);
    for (ptrdiff_t i = 0; i < LANES_D && i < n; i++) x[i] = lanes[i];
}
#endif

/* Defines a function: the inner product of weights w and numbers x, of the types a and b (d: double, f: float). */
#define DOT(name, a, b)                                                                       \
    INLINED double name(const a##_number *w, const b##_number *x, ptrdiff_t n)                \
    {                                                                                         \
        ptrdiff_t j = 0;                                                                      \
        EACH(BEGIN)                                                                           \
        for (; j < n - 15; j += 16) {                                                         \
            EACH(WHOLE_##a##b)                                                                \
        }                                                                                     \
        if (j < n) {                                                                          \
            EACH(PART_##a##b)                                                                 \
        }                                                                                     \
        return sum_d(FOLDED);                                                                 \
    }
#define AT(v) (j + v * LANES_D)
#define WHOLE(v, a, b) s##v += load_##a(w + AT(v)) * load_##b(x + AT(v));
#define PART(v, a, b) if (AT(v) < n) s##v += first_##a(w + AT(v), n - AT(v)) * first_##b(x + AT(v), n - AT(v));
#define WHOLE_dd(v) WHOLE(v, d, d)
#define WHOLE_df(v) WHOLE(v, d, f)
#define WHOLE_ff(v) WHOLE(v, f, f)
#define PART_dd(v) PART(v, d, d)
#define PART_df(v) PART(v, d, f)
#define PART_ff(v) PART(v, f, f)

/* Defines a function that adds step times row x to the weights w, and returns the inner product of the new w and the
 * next row z. One loop does both, so that the product need not wait until w is stored. */
#define ADD_AND_DOT(name, b)                                                                  \
    INLINED double name(double *w, double step, const b##_number *x, const b##_number *z, ptrdiff_t n) \
    {                                                                                         \
        ptrdiff_t j = 0;                                                                      \
        vec_d sum;                                                                            \
        EACH(BEGIN)                                                                           \
        for (; j < n - 15; j += 16) {                                                         \
            EACH(ADD_##b)                                                                     \
        }                                                                                     \
        if (j < n) {                                                                          \
            EACH(ADD_PART_##b)                                                                \
        }                                                                                     \
        return sum_d(FOLDED);                                                                 \
    }
#define ADD(v, b)                                                                             \
    sum = load_d(w + AT(v)) + spread_d(step) * load_##b(x + AT(v));                           \
    *(vec_d *)(w + AT(v)) = sum;                                                              \
    s##v += sum * load_##b(z + AT(v));
#define ADD_PART(v, b)                                                                            \
    if (AT(v) < n) {                                                                              \
        sum = first_d(w + AT(v), n - AT(v)) + spread_d(step) * first_##b(x + AT(v), n - AT(v));   \
        store_first(w + AT(v), sum, n - AT(v));                                                   \
        s##v += sum * first_##b(z + AT(v), n - AT(v));                                            \
    }
#define ADD_d(v) ADD(v, d)
#define ADD_f(v) ADD(v, f)
#define ADD_PART_d(v) ADD_PART(v, d)
#define ADD_PART_f(v) ADD_PART(v, f)

typedef double d_number;
typedef float f_number;
DOT(dot_dd, d, d)
DOT(dot_df, d, f)
DOT(dot_ff, f, f)
ADD_AND_DOT(add_and_dot_d, d)
ADD_AND_DOT(add_and_dot_f, f)

#endif
