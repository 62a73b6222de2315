/* One vector of floats and one of doubles, at the width of the instruction set this file is compiled for.
 *
 * GCC and Clang have operators on vector types (+ - * work lane by lane, a scalar operand is spread over the lanes), so
 * that only operations without an operator are defined here. With any other compiler, and with FASTCLF_PLAIN_C,
 * vectors have one lane, and the same kernels are plain C.
 *
 * The types are aligned to their element: every load and store through a pointer to them is unaligned.
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

#if defined(FASTCLF_VECTOR_BYTES)
#define VECTOR_BYTES FASTCLF_VECTOR_BYTES
#elif defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h> /* emmintrin.h has all of SSE2, and compiles ten times as fast as immintrin.h */
#elif defined(__aarch64__) && defined(__ARM_NEON) && VECTOR_BYTES == 16
#define NEON /* vec_f and vec_d are the vectors of arm64's NEON instructions */
#include <arm_neon.h>
#endif

#define LANES_F (VECTOR_BYTES / 4)
#define LANES_D (VECTOR_BYTES / 8)
typedef float vec_f __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double vec_d __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t vec_i __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int64_t vec_l __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t bits_f __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t bits_d __attribute__((vector_size(VECTOR_BYTES)));
typedef float half_f __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));

static inline vec_f spread_f(float a) { return a - (vec_f){0}; }
static inline vec_d spread_d(double a) { return a - (vec_d){0}; }
static inline vec_f abs_f(vec_f a) { return (vec_f)((bits_f)a & 0x7fffffff); }
static inline vec_d abs_d(vec_d a) { return (vec_d)((bits_d)a & 0x7fffffffffffffffLL); }
/* in each lane 1.0 if a != b, else 0.0 */
static inline vec_f differs_f(vec_f a, vec_f b) { return (vec_f)((a != b) & (bits_f)spread_f(1)); }
static inline vec_d differs_d(vec_d a, vec_d b) { return (vec_d)((a != b) & (bits_d)spread_d(1)); }
/* in each lane 0.0 if a is NaN, else a */
static inline vec_d or_zero(vec_d a) { return (vec_d)((bits_d)a & (a == a)); }
/* in each lane 0.0 if a is NaN, else 1.0 */
static inline vec_d is_number(vec_d a) { return (vec_d)((a == a) & (bits_d)spread_d(1)); }
/* in each lane 0.0 if b > 0, else a */
static inline vec_d unless_positive(vec_d a, vec_d b) { return (vec_d)((bits_d)a & ~(b > 0)); }
static inline vec_f sqrt_f(vec_f a)
{
#if defined(__AVX512F__)
    return _mm512_sqrt_ps(a);
#elif defined(__AVX__)
    return _mm256_sqrt_ps(a);
#elif defined(NEON)
    return (vec_f)vsqrtq_f32((float32x4_t)a);
#else
    for (int lane = 0; lane < LANES_F; lane++) a[lane] = sqrtf(a[lane]);
    return a;
#endif
}
static inline vec_i spread_i(int32_t a) { return a - (vec_i){0}; }
static inline vec_l spread_l(int64_t a) { return a - (vec_l){0}; }
/* the LANES_D floats from a on as a vector of doubles, which is exact */
static inline vec_d widen(const float *a)
{
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps(a));
#elif defined(__AVX__)
    return _mm256_cvtps_pd(_mm_loadu_ps(a));
#else
    return __builtin_convertvector(*(const half_f *)a, vec_d);
#endif
}

/* max is the maximum in each lane; fmadd is a * b + c, fused or, without such an instruction, rounded twice; at_most
 * gives the lanes with a <= b as bits. */
#if defined(__AVX512F__)
static inline vec_f max_f(vec_f a, vec_f b) { return _mm512_max_ps(a, b); }
static inline vec_d max_d(vec_d a, vec_d b) { return _mm512_max_pd(a, b); }
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return _mm512_fmadd_pd(a, b, c); }
/* The bits of a comparison; those above its lanes are 0. The instruction is written out, because GCC 12 may move a mask
 * through memory, where it stores 2 bytes and reads 4. */
static inline uint32_t bits_of_mask(__mmask16 mask)
{
    uint32_t bits;
    __asm__("kmovw %1, %0" : "=r"(bits) : "k"(mask));
    return bits;
}
static inline uint32_t at_most_f(vec_f a, vec_f b) { return bits_of_mask(_mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return bits_of_mask(_mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)); }
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
#if defined(NEON)
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c)
{
    return (vec_f)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c)
{
    return (vec_d)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
static inline vec_f fmadd_f(vec_f a, vec_f b, vec_f c) { return a * b + c; }
static inline vec_d fmadd_d(vec_d a, vec_d b, vec_d c) { return a * b + c; }
#endif
#if defined(__SSE2__) && VECTOR_BYTES == 16
static inline uint32_t at_most_f(vec_f a, vec_f b) { return (uint32_t)_mm_movemask_ps((__m128)(a <= b)); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return (uint32_t)_mm_movemask_pd((__m128d)(a <= b)); }
#elif defined(NEON)
/* NEON has no instruction for the mask of a comparison: each lane keeps its own bit, and the lanes are added. */
static inline uint32_t mask_of_4(uint32x4_t where) { return vaddvq_u32(vandq_u32(where, (uint32x4_t){1, 2, 4, 8})); }
static inline uint32_t mask_of_2(uint64x2_t where) { return (uint32_t)vaddvq_u64(vandq_u64(where, (uint64x2_t){1, 2})); }
static inline uint32_t at_most_f(vec_f a, vec_f b) { return mask_of_4((uint32x4_t)(a <= b)); }
static inline uint32_t at_most_d(vec_d a, vec_d b) { return mask_of_2((uint64x2_t)(a <= b)); }
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

/* The sum of all lanes, and the largest lane. With AVX, halves of a vector are folded in registers, so that a
 * search of 1M rows of 128 floats for neighbours takes 16 ms; with a loop over the lanes in memory it takes 22 ms. */
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
#elif defined(NEON) /* NEON's sum of a vector adds halves, and so has the same bits as the loop for other processors */
static inline double sum_f(vec_f a)
{
    return vaddv_f32(vadd_f32(vget_low_f32((float32x4_t)a), vget_high_f32((float32x4_t)a)));
}
static inline double sum_d(vec_d a) { return vaddvq_f64((float64x2_t)a); }
static inline double largest_f(vec_f a) { return vmaxvq_f32((float32x4_t)a); }
static inline double largest_d(vec_d a) { return vmaxvq_f64((float64x2_t)a); }
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

/* Sums over one-byte codes of rows and of a query. Lane r belongs to row r, whose codes lie side by side: 4 codes in
 * add_products, 8 in add_differences. The query's 4 or 8 codes are repeated in all lanes.
 *
 * add_products adds the products of the query's codes (-127..127) with code - (128 - PRODUCT_OFFSET) for the codes
 * (1..255) of the row. AVX2 has no instruction for 4 products; it adds 2 products, whose sum must fit 16 bits.
 * 2 x 255 x 127 does not fit, so that PRODUCT_OFFSET is 0, and the sign of code - 128 moves to the query's code:
 * 2 x 127 x 127 fits. add_differences adds the absolute differences of the row's and the query's codes, all 0..255. */
#if defined(__AVX512BW__)
static inline uint32_t at_least_i(vec_i a, vec_i b) { return bits_of_mask(_mm512_cmpge_epi32_mask((__m512i)a, (__m512i)b)); }
static inline uint32_t at_most_l(vec_l a, vec_l b) { return bits_of_mask(_mm512_cmple_epi64_mask((__m512i)a, (__m512i)b)); }
static inline vec_l add_differences(vec_l s, const uint8_t *codes, int64_t query)
{
    return s + (vec_l)_mm512_sad_epu8(_mm512_loadu_si512(codes), _mm512_set1_epi64(query));
}
#elif defined(__AVX2__)
static inline uint32_t at_least_i(vec_i a, vec_i b) { return (uint32_t)_mm256_movemask_ps((__m256)(a >= b)); }
static inline uint32_t at_most_l(vec_l a, vec_l b) { return (uint32_t)_mm256_movemask_pd((__m256d)(a <= b)); }
static inline vec_l add_differences(vec_l s, const uint8_t *codes, int64_t query)
{
    return s + (vec_l)_mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)codes), _mm256_set1_epi64x(query));
}
#else
#if defined(NEON)
static inline uint32_t at_least_i(vec_i a, vec_i b) { return mask_of_4((uint32x4_t)(a >= b)); }
static inline uint32_t at_most_l(vec_l a, vec_l b) { return mask_of_2((uint64x2_t)(a <= b)); }
#else
static inline uint32_t at_least_i(vec_i a, vec_i b)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < LANES_F; lane++) mask |= (uint32_t)(a[lane] >= b[lane]) << lane;
    return mask;
}
static inline uint32_t at_most_l(vec_l a, vec_l b)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < LANES_D; lane++) mask |= (uint32_t)(a[lane] <= b[lane]) << lane;
    return mask;
}
#endif
static inline vec_l add_differences(vec_l s, const uint8_t *codes, int64_t query)
{
#if defined(__SSE2__) && VECTOR_BYTES == 16
    return s + (vec_l)_mm_sad_epu8(_mm_loadu_si128((const __m128i *)codes), _mm_set1_epi64x(query));
#elif defined(NEON)
    uint8x16_t differences = vabdq_u8(vld1q_u8(codes), vreinterpretq_u8_s64(vdupq_n_s64(query)));
    return s + (vec_l)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(differences)));
#else
    uint8_t q[8];
    memcpy(q, &query, 8);
    for (int lane = 0; lane < LANES_D; lane++)
        for (int i = 0; i < 8; i++) s[lane] += codes[8 * lane + i] > q[i] ? codes[8 * lane + i] - q[i] : q[i] - codes[8 * lane + i];
    return s;
#endif
}
#endif

#if defined(__AVX512VNNI__)
#define PRODUCT_OFFSET 128
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    return (vec_i)_mm512_dpbusd_epi32((__m512i)s, _mm512_loadu_si512(codes), _mm512_set1_epi32(query));
}
#elif defined(__AVX512BW__)
#define PRODUCT_OFFSET 0
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    __m512i c = _mm512_xor_si512(_mm512_loadu_si512(codes), _mm512_set1_epi8(-128)), q = _mm512_set1_epi32(query);
    __m512i signed_q = _mm512_mask_sub_epi8(q, _mm512_movepi8_mask(c), _mm512_setzero_si512(), q);
    __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(c), signed_q);
    return s + (vec_i)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
#elif defined(__AVX2__)
#define PRODUCT_OFFSET 0
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    __m256i c = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)codes), _mm256_set1_epi8(-128));
    __m256i q = _mm256_set1_epi32(query);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(c), _mm256_sign_epi8(q, c));
    return s + (vec_i)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#elif defined(__SSE2__) && VECTOR_BYTES == 16
#define PRODUCT_OFFSET 128
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    __m128i c = _mm_loadu_si128((const __m128i *)codes), zero = _mm_setzero_si128(), q = _mm_set1_epi32(query);
    q = _mm_srai_epi16(_mm_unpacklo_epi8(q, q), 8);
    __m128 low = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpacklo_epi8(c, zero), q));
    __m128 high = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpackhi_epi8(c, zero), q));
    return s + (vec_i)_mm_shuffle_ps(low, high, 0x88) + (vec_i)_mm_shuffle_ps(low, high, 0xdd);
}
#elif defined(NEON) /* (row's code - 128) * query's code is at most 128 x 127 in size, which fits 16 bits */
#define PRODUCT_OFFSET 0
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    int8x16_t c = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(codes), vdupq_n_u8(128)));
    int8x16_t q = vreinterpretq_s8_s32(vdupq_n_s32(query));
#if defined(__ARM_FEATURE_DOTPROD)
    return (vec_i)vdotq_s32((int32x4_t)s, c, q);
#else
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(c), vget_low_s8(q))), high = vpaddlq_s16(vmull_high_s8(c, q));
    return s + (vec_i)vpaddq_s32(low, high);
#endif
}
#else
#define PRODUCT_OFFSET 128
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    int8_t q[4];
    memcpy(q, &query, 4);
    for (int lane = 0; lane < LANES_F; lane++)
        for (int i = 0; i < 4; i++) s[lane] += codes[4 * lane + i] * q[i];
    return s;
}
#endif

#else /* a compiler without vector types: a vector is a single number */

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
static inline vec_d or_zero(vec_d a) { return a == a ? a : 0; }
static inline vec_d is_number(vec_d a) { return a == a; }
static inline vec_d unless_positive(vec_d a, vec_d b) { return b > 0 ? 0 : a; }
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
static inline vec_f sqrt_f(vec_f a) { return sqrtf(a); }
typedef int32_t vec_i;
typedef int64_t vec_l;
static inline vec_i spread_i(int32_t a) { return a; }
static inline vec_l spread_l(int64_t a) { return a; }
static inline uint32_t at_least_i(vec_i a, vec_i b) { return a >= b; }
static inline uint32_t at_most_l(vec_l a, vec_l b) { return a <= b; }
#define PRODUCT_OFFSET 128
static inline vec_i add_products(vec_i s, const uint8_t *codes, int32_t query)
{
    int8_t q[4];
    memcpy(q, &query, 4);
    for (int i = 0; i < 4; i++) s += codes[i] * q[i];
    return s;
}
static inline vec_l add_differences(vec_l s, const uint8_t *codes, int64_t query)
{
    uint8_t q[8];
    memcpy(q, &query, 8);
    for (int i = 0; i < 8; i++) s += codes[i] > q[i] ? codes[i] - q[i] : q[i] - codes[i];
    return s;
}

#endif

/* Transpose 4 x 4 numbers: out[j][i] = x[i][j]; rows of x begin `stride` numbers apart, rows of out `out_stride`. */
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
#elif defined(NEON)
static inline void transpose_2_by_2_d(const double *x, ptrdiff_t stride, double *out, ptrdiff_t out_stride)
{
    float64x2_t a = vld1q_f64(x), b = vld1q_f64(x + stride);
    vst1q_f64(out, vtrn1q_f64(a, b));
    vst1q_f64(out + out_stride, vtrn2q_f64(a, b));
}
static inline void transpose_4_by_4_d(const double *x, ptrdiff_t stride, double *out, ptrdiff_t out_stride)
{
    for (int i = 0; i < 4; i += 2)
        for (int j = 0; j < 4; j += 2)
            transpose_2_by_2_d(x + i * stride + j, stride, out + j * out_stride + i, out_stride);
}
static inline void transpose_4_by_4_f(const float *x, ptrdiff_t stride, float *out, ptrdiff_t out_stride)
{
    float32x4_t a = vld1q_f32(x), b = vld1q_f32(x + stride);
    float32x4_t c = vld1q_f32(x + 2 * stride), d = vld1q_f32(x + 3 * stride);
    float32x4x2_t ac = vzipq_f32(a, c), bd = vzipq_f32(b, d);
    float32x4x2_t first = vzipq_f32(ac.val[0], bd.val[0]), last = vzipq_f32(ac.val[1], bd.val[1]);
    vst1q_f32(out, first.val[0]);
    vst1q_f32(out + out_stride, first.val[1]);
    vst1q_f32(out + 2 * out_stride, last.val[0]);
    vst1q_f32(out + 3 * out_stride, last.val[1]);
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

/* Counts of the ones in bit vectors, by vectors of 64-bit words: count_bytes gives the number of ones in each byte,
 * sum_bytes the sum of the bytes in each word. Of the SIMD levels, those of arm64 have an instruction for count_bytes;
 * the other levels use a table of nibbles, or SWAR (Knuth 7.1.3, (62)). */
#if LANES_D > 1
typedef uint64_t vec_b __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
static inline vec_b spread_b(uint64_t a) { return a - (vec_b){0}; }
#else
typedef uint64_t vec_b;
static inline vec_b spread_b(uint64_t a) { return a; }
#endif
#if defined(__AVX512BW__) && LANES_D == 8
static inline vec_b count_bytes(vec_b a)
{
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return (vec_b)_mm512_add_epi8(
        _mm512_shuffle_epi8(table, _mm512_and_si512((__m512i)a, low)),
        _mm512_shuffle_epi8(table, _mm512_and_si512((__m512i)(a >> 4), low)));
}
static inline vec_b sum_bytes(vec_b a) { return (vec_b)_mm512_sad_epu8((__m512i)a, _mm512_setzero_si512()); }
static inline uint32_t at_most_b(vec_b a, vec_b b) { return bits_of_mask(_mm512_cmple_epu64_mask((__m512i)a, (__m512i)b)); }
#elif defined(__AVX2__) && LANES_D == 4
static inline vec_b count_bytes(vec_b a)
{
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return (vec_b)_mm256_add_epi8(
        _mm256_shuffle_epi8(table, _mm256_and_si256((__m256i)a, low)),
        _mm256_shuffle_epi8(table, _mm256_and_si256((__m256i)(a >> 4), low)));
}
static inline vec_b sum_bytes(vec_b a) { return (vec_b)_mm256_sad_epu8((__m256i)a, _mm256_setzero_si256()); }
static inline uint32_t at_most_b(vec_b a, vec_b b)
{
    return (uint32_t)_mm256_movemask_pd((__m256d)((bits_d)a <= (bits_d)b));
}
#elif defined(NEON)
static inline vec_b count_bytes(vec_b a) { return (vec_b)vcntq_u8((uint8x16_t)a); }
static inline vec_b sum_bytes(vec_b a) { return (vec_b)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8((uint8x16_t)a))); }
static inline uint32_t at_most_b(vec_b a, vec_b b) { return mask_of_2((uint64x2_t)(a <= b)); }
#else
static inline vec_b count_bytes(vec_b a)
{
    a -= a >> 1 & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + (a >> 2 & 0x3333333333333333u);
    return (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}
static inline vec_b sum_bytes(vec_b a)
{
    a = (a & 0x00ff00ff00ff00ffu) + (a >> 8 & 0x00ff00ff00ff00ffu);
    a += a >> 16;
    return (a + (a >> 32)) & 0xffff;
}
#if LANES_D > 1
static inline uint32_t at_most_b(vec_b a, vec_b b)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < LANES_D; lane++) mask |= (uint32_t)(a[lane] <= b[lane]) << lane;
    return mask;
}
#else
static inline uint32_t at_most_b(vec_b a, vec_b b) { return a <= b; }
#endif
#endif

/* The first n bytes of x, at most 8, as the low bytes of a word; the high bytes are zeros. */
static inline uint64_t load_word(const uint8_t *x, ptrdiff_t n)
{
    uint64_t word = 0;
    if (n >= 8)
        memcpy(&word, x, 8);
    else
        memcpy(&word, x, (size_t)n);
    return word;
}

static inline ptrdiff_t count_word(uint64_t a)
{
#if defined(__GNUC__) && (defined(__POPCNT__) || !(defined(__x86_64__) || defined(__i386__)))
    return __builtin_popcountll(a);
#else
    a -= a >> 1 & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + (a >> 2 & 0x3333333333333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (ptrdiff_t)(a * 0x0101010101010101u >> 56);
#endif
}

/* Prefetch the cache line of an address that will be read soon; an invalid address does no harm. */
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
