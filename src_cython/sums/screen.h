/* Scores in float32 of SCREEN_ROWS dense rows, for 2 LANES_F classes at once: a lane belongs to a class, and each row has
 * sums of its own. The sums are single variables, since GCC would keep an array of vectors in memory. */
#ifndef FASTCLF_SCREEN_H
#define FASTCLF_SCREEN_H

#include "simd.h"

#if LANES_F == 16 /* of 32 registers 16 have the sums; there are only 16 registers elsewhere */
#define SCREEN_ROWS 8
#define EACH_ROW(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#else
#define SCREEN_ROWS 4
#define EACH_ROW(op) op(0) op(1) op(2) op(3)
#endif
#define BEGIN(r) \
    vec_f s##r = *(const vec_f *)(b + r * ldb + k), t##r = *(const vec_f *)(b + r * ldb + k + LANES_F);
#define ADD(r)                    \
    x = spread_f(X[r * ldx + j]); \
    s##r = fmadd_f(x, w, s##r);   \
    t##r = fmadd_f(x, v, t##r);
#define WRITE(r)                            \
    *(vec_f *)(out + r * width + k) = s##r; \
    *(vec_f *)(out + r * width + k + LANES_F) = t##r;
#define BEGIN_HALF(r) vec_f s##r = *(const vec_f *)(b + r * ldb + k);
#define ADD_HALF(r) s##r = fmadd_f(spread_f(X[r * ldx + j]), w, s##r);
#define WRITE_HALF(r) *(vec_f *)(out + r * width + k) = s##r;

/* X has SCREEN_ROWS rows of d numbers, ldx numbers apart; W has the weights of 2 LANES_F classes for each column, then those of the next 2 LANES_F classes, ...,
 * and at last those of LANES_F classes, if so many are left; b has what each row's sums begin with, for all `width` classes,
 * a multiple of LANES_F, and rows ldb numbers apart, or 0 for all rows alike; out, of shape (SCREEN_ROWS, width), may be b. */
static inline void screen_rows(
    const float *X, ptrdiff_t ldx, const float *W, const float *b, ptrdiff_t ldb, ptrdiff_t d, ptrdiff_t width, float *out)
{
    ptrdiff_t k = 0;
    vec_f x, w, v;
    for (; k + 2 * LANES_F <= width; k += 2 * LANES_F) {
        EACH_ROW(BEGIN)
        for (ptrdiff_t j = 0; j < d; j++, W += 2 * LANES_F) {
            w = *(const vec_f *)W;
            v = *(const vec_f *)(W + LANES_F);
            EACH_ROW(ADD)
        }
        EACH_ROW(WRITE)
    }
    if (k < width) {
        EACH_ROW(BEGIN_HALF)
        for (ptrdiff_t j = 0; j < d; j++, W += LANES_F) {
            w = *(const vec_f *)W;
            EACH_ROW(ADD_HALF)
        }
        EACH_ROW(WRITE_HALF)
    }
}

/* The same for W of shape (d, ldw), with the weights of all classes for each column, of which `width`, a multiple of
 * 2 LANES_F, are taken. */
static inline void screen_columns(
    const float *X, ptrdiff_t ldx, const float *W, ptrdiff_t ldw, const float *b, ptrdiff_t d, ptrdiff_t width, float *out)
{
    const ptrdiff_t ldb = 0;
    vec_f x, w, v;
    for (ptrdiff_t k = 0; k < width; k += 2 * LANES_F) {
        EACH_ROW(BEGIN)
        for (ptrdiff_t j = 0; j < d; j++) {
            w = *(const vec_f *)(W + j * ldw + k);
            v = *(const vec_f *)(W + j * ldw + k + LANES_F);
            EACH_ROW(ADD)
        }
        EACH_ROW(WRITE)
    }
}

#undef EACH_ROW
#undef BEGIN
#undef ADD
#undef WRITE
#undef BEGIN_HALF
#undef ADD_HALF
#undef WRITE_HALF

#endif
