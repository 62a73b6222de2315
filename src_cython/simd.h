/* One vector of floats and one of doubles, at the width of the instruction set this file is compiled for.
 *
 * GCC and Clang carry arithmetic on vector types themselves (+ - * work lane by lane, a scalar operand is spread
 * over the lanes); only what has no operator is spelled here. Any other compiler, and FASTCLF_PLAIN_C, gets vectors
 * of one lane, so that the same kernels are plain C there.
 *
 * The types are aligned to their element: every load and store through a pointer to them is an unaligned one.
 */
#ifndef FASTCLF_SIMD_H
#define FASTCLF_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef FASTCLF_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define FASTCLF_ASSERT(condition)                                                              \
    ((condition) ? (void)0                                                                     \
                 : (fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition), abort()))
#else
#define FASTCLF_ASSERT(condition) ((void)0)
#endif

#if defined(__GNUC__) && !defined(FASTCLF_PLAIN_C)

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#if defined(__AVX__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#define LANES_F (VECTOR_BYTES / 4)
#define LANES_D (VECTOR_BYTES / 8)
typedef float vec_f __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double vec_d __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t bits_f __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t bits_d __attribute__((vector_size(VECTOR_BYTES)));
typedef float half_f __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));

static inline vec_f spread_f(float a) { return a - (vec_f){0}; }
static inline vec_d spread_d(double a) { return a - (vec_d){0}; }
static inline vec_f abs_f(vec_f a) { return (vec_f)((bits_f)a & 0x7fffffff); }
static inline vec_d abs_d(vec_d a) { return (vec_d)((bits_d)a & 0x7fffffffffffffffLL); }
/* 1.0 where a != b, else 0.0 */
static inline vec_f differs_f(vec_f a, vec_f b) { return (vec_f)((a != b) & (bits_f)spread_f(1)); }
static inline vec_d differs_d(vec_d a, vec_d b) { return (vec_d)((a != b) & (bits_d)spread_d(1)); }
/* LANES_D floats, widened: exact */
static inline vec_d widen(const float *a) { return __builtin_convertvector(*(const half_f *)a, vec_d); }

/* max; a fused (or, where there is none, rounded) a * b + c; the lanes in which a <= b, as bits */
#if defined(__AVX512F__)
static inline vec_f max_f(vec_f a, vec_f b) { return _mm512_max_ps(a, b); }
static inline vec_d max_d(vec_d a, vec_d b) { return _mm512_max_pd(a, b); }
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return _mm512_fmadd_pd(a, b, c); }
static inline uint32_t at_most_f(vec_f a, vec_f b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
#elif defined(__AVX2__) && defined(__FMA__)
static inline vec_f max_f(vec_f a, vec_f b) { return _mm256_max_ps(a, b); }
static inline vec_d max_d(vec_d a, vec_d b) { return _mm256_max_pd(a, b); }
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return _mm256_fmadd_pd(a, b, c); }
static inline uint32_t at_most_f(vec_f a, vec_f b) { return (uint32_t)_mm256_movemask_ps((__m256)(a <= b)); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return (uint32_t)_mm256_movemask_pd((__m256d)(a <= b)); }
#else
static inline vec_f max_f(vec_f a, vec_f b)
{
    bits_f larger = a > b;
    return (vec_f)((larger & (bits_f)a) | (~larger & (bits_f)b));
}
static inline vec_d max_d(vec_d a, vec_d b)
{
    bits_d larger = a > b;
    return (vec_d)((larger & (bits_d)a) | (~larger & (bits_d)b));
}
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return a * b + c; }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return a * b + c; }
#if defined(__SSE2__) && VECTOR_BYTES == 16
static inline uint32_t at_most_f(vec_f a, vec_f b) { return (uint32_t)_mm_movemask_ps((__m128)(a <= b)); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return (uint32_t)_mm_movemask_pd((__m128d)(a <= b)); }
#else
static inline uint32_t at_most_f(vec_f a, vec_f b)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < LANES_F; lane++) mask |= (uint32_t)(a[lane] <= b[lane]) << lane;
    return mask;
}
static inline uint32_t at_most_d(vec_d a, vec_d b)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < LANES_D; lane++) mask |= (uint32_t)(a[lane] <= b[lane]) << lane;
    return mask;
}
#endif
#endif

/* The sum and the largest of the lanes. With AVX halves are folded in registers: through memory, as the loop does, a
 * scan of 1M x 128 floats takes 22 ms in place of 16. */
#if defined(__AVX512F__)
static inline double sum_f(vec_f a) { return _mm512_reduce_add_ps(a); }
static inline double sum_d(vec_d a) { return _mm512_reduce_add_pd(a); }
static inline double largest_f(vec_f a) { return _mm512_reduce_max_ps(a); }
static inline double largest_d(vec_d a) { return _mm512_reduce_max_pd(a); }
#elif defined(__AVX__)
#define FOLD(name, op)                                                                              \
    static inline double name##_f(vec_f v)                                                          \
    {                                                                                               \
        __m128 a = _mm_##op##_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));           \
        a = _mm_##op##_ps(a, _mm_movehl_ps(a, a));                                                  \
        return _mm_cvtss_f32(_mm_##op##_ss(a, _mm_movehdup_ps(a)));                                 \
    }                                                                                               \
    static inline double name##_d(vec_d v)                                                          \
    {                                                                                               \
        __m128d a = _mm_##op##_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));          \
        return _mm_cvtsd_f64(_mm_##op##_sd(a, _mm_unpackhi_pd(a, a)));                              \
    }
FOLD(sum, add)
FOLD(largest, max)
#undef FOLD
#else
#define FOLD(name, vec, scalar, lanes, expression)             \
    static inline double name(vec v)                           \
    {                                                          \
        scalar x[lanes];                                       \
        memcpy(x, &v, sizeof x);                               \
        for (int half = lanes / 2; half; half /= 2)            \
            for (int i = 0; i < half; i++) {                   \
                scalar a = x[i], b = x[i + half];              \
                x[i] = expression;                             \
            }                                                  \
        return x[0];                                           \
    }
FOLD(sum_f, vec_f, float, LANES_F, a + b)
FOLD(sum_d, vec_d, double, LANES_D, a + b)
FOLD(largest_f, vec_f, float, LANES_F, a > b ? a : b)
FOLD(largest_d, vec_d, double, LANES_D, a > b ? a : b)
#undef FOLD
#endif

#else /* one lane */

#define LANES_F 1
#define LANES_D 1
typedef float vec_f;
typedef double vec_d;
static inline vec_f spread_f(float a) { return a; }
static inline vec_d spread_d(double a) { return a; }
static inline vec_f abs_f(vec_f a) { return fabsf(a); }
static inline vec_d abs_d(vec_d a) { return fabs(a); }
static inline vec_f differs_f(vec_f a, vec_f b) { return a != b; }
static inline vec_d differs_d(vec_d a, vec_d b) { return a != b; }
static inline vec_d widen(const float *a) { return *a; }
static inline vec_f max_f(vec_f a, vec_f b) { return a > b ? a : b; }
static inline vec_d max_d(vec_d a, vec_d b) { return a > b ? a : b; }
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return a * b + c; }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return a * b + c; }
static inline uint32_t at_most_f(vec_f a, vec_f b) { return a <= b; }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return a <= b; }
static inline double sum_f(vec_f a) { return a; }
static inline double sum_d(vec_d a) { return a; }
static inline double largest_f(vec_f a) { return a; }
static inline double largest_d(vec_d a) { return a; }

#endif

/* out[j][i] = x[i][j] for i, j < 4; rows lie a stride apart */
#if defined(__SSE2__) && !defined(FASTCLF_PLAIN_C)
static inline void transpose_4_by_4_f(const float *x, ptrdiff_t stride, float *out, ptrdiff_t out_stride)
{
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + stride);
    __m128 c = _mm_loadu_ps(x + 2 * stride), d = _mm_loadu_ps(x + 3 * stride);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, a);
    _mm_storeu_ps(out + out_stride, b);
    _mm_storeu_ps(out + 2 * out_stride, c);
    _mm_storeu_ps(out + 3 * out_stride, d);
}
static inline void transpose_4_by_4_d(const double *x, ptrdiff_t stride, double *out, ptrdiff_t out_stride)
{
    for (int i = 0; i < 4; i += 2)
        for (int j = 0; j < 4; j += 2) {
            __m128d a = _mm_loadu_pd(x + i * stride + j), b = _mm_loadu_pd(x + (i + 1) * stride + j);
            _mm_storeu_pd(out + j * out_stride + i, _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(out + (j + 1) * out_stride + i, _mm_unpackhi_pd(a, b));
        }
}
#else
#define TRANSPOSE_4_BY_4(name, scalar)                                                              \
    static inline void name(const scalar *x, ptrdiff_t stride, scalar *out, ptrdiff_t out_stride)   \
    {                                                                                               \
        for (int i = 0; i < 4; i++)                                                                 \
            for (int j = 0; j < 4; j++) out[j * out_stride + i] = x[i * stride + j];                \
    }
TRANSPOSE_4_BY_4(transpose_4_by_4_f, float)
TRANSPOSE_4_BY_4(transpose_4_by_4_d, double)
#undef TRANSPOSE_4_BY_4
#endif

/* Ask for the cache line of an address that will be read soon; any address will do. */
#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch((address), 0, 2)
#else
#define prefetch(address) ((void)(address))
#endif

/* the position of the lowest set bit of a mask that is not zero */
static inline int lowest_bit(uint32_t mask)
{
#if defined(__GNUC__)
    return __builtin_ctz(mask);
#else
    int position = 0;
    while (!(mask >> position & 1)) position++;
    return position;
#endif
}

#endif
