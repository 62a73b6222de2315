/* Scores of dense rows for LANES_D classes at once: lane c of each vector belongs to class c.
 *
 * A row has for each class LANES_D sums, which have what the lanes of a single sum over columns have in `_scores.pyx`,
 * and are folded by halves, as `sum_d` folds lanes. So both ways give the same bits, and this one folds once for LANES_D
 * scores. The sums are single variables, since GCC would keep an array of vectors in memory.
 */
#ifndef FASTCLF_BY_CLASS_H
#define FASTCLF_BY_CLASS_H

#include "simd.h"

/* EACH(op) expands op for as many numbers as a vector has lanes. */
#if LANES_D == 8
#define EACH(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#define FOLDED(s) (((s##0 + s##4) + (s##2 + s##6)) + ((s##1 + s##5) + (s##3 + s##7)))
#elif LANES_D == 4
#define EACH(op) op(0) op(1) op(2) op(3)
#define FOLDED(s) ((s##0 + s##2) + (s##1 + s##3))
#elif LANES_D == 2
#define EACH(op) op(0) op(1)
#define FOLDED(s) (s##0 + s##1)
#else
#define EACH(op) op(0)
#define FOLDED(s) (s##0)
#endif
#define BEGIN(l) vec_d s##l = spread_d(0), t##l = spread_d(0);
#define ADD(l)                                        \
    w = *(const vec_d *)(W + (j + l) * LANES_D);      \
    s##l = fmadd_d(spread_d(x[j + l]), w, s##l);      \
    t##l = fmadd_d(spread_d(y[j + l]), w, t##l);

/* Write the scores of the rows x and y of d columns; W has LANES_D weights for each column, b one for each class. */
static inline void score_pair(
    const double *x, const double *y, const double *W, const double *b, ptrdiff_t d, double *out_x, double *out_y)
{
    vec_d w, s, t;
    ptrdiff_t j = 0, whole = d - d % LANES_D;
    EACH(BEGIN)
    for (; j < whole; j += LANES_D) {
        EACH(ADD)
    }
    s = FOLDED(s), t = FOLDED(t);
    for (; j < d; j++) {
        w = *(const vec_d *)(W + j * LANES_D);
        s += spread_d(x[j]) * w;
        t += spread_d(y[j]) * w;
    }
    *(vec_d *)out_x = s + *(const vec_d *)b;
    *(vec_d *)out_y = t + *(const vec_d *)b;
}

#undef EACH
#undef FOLDED
#undef BEGIN
#undef ADD

#if LANES_D == 8 /* of 32 registers 16 have the sums; there are only 16 registers elsewhere */
#define CLASS_ROWS 8
#define EACH_ROW(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#define FOLDED_KEPT(s, at) \
    (((s[0][at] + s[4][at]) + (s[2][at] + s[6][at])) + ((s[1][at] + s[5][at]) + (s[3][at] + s[7][at])))
#else
#define CLASS_ROWS 4
#define EACH_ROW(op) op(0) op(1) op(2) op(3)
#if LANES_D == 4
#define FOLDED_KEPT(s, at) ((s[0][at] + s[2][at]) + (s[1][at] + s[3][at]))
#elif LANES_D == 2
#define FOLDED_KEPT(s, at) (s[0][at] + s[1][at])
#else
#define FOLDED_KEPT(s, at) (s[0][at])
#endif
#endif
#define BEGIN_ROW(r) vec_d s##r = spread_d(0), t##r = spread_d(0);
#define ADD_ROW(r)              \
    x = spread_d(row[r]);       \
    s##r = fmadd_d(x, w, s##r); \
    t##r = fmadd_d(x, v, t##r);
#define KEEP(r) sums[l][r] = s##r, sums[l][CLASS_ROWS + r] = t##r;
#define FOLD(r) vec_d s##r = FOLDED_KEPT(sums, r), t##r = FOLDED_KEPT(sums, CLASS_ROWS + r);
#define ADD_REST(r)       \
    x = spread_d(row[r]); \
    s##r += x * w;        \
    t##r += x * v;
#define WRITE(r)                                            \
    *(vec_d *)(out + r * width) = s##r + *(const vec_d *)b; \
    if (two) *(vec_d *)(out + r * width + LANES_D) = t##r + *(const vec_d *)(b + LANES_D);

/* Write the scores of packed rows of d columns for 2 LANES_D classes, or LANES_D classes if not `two`; rows of out are
 * `width` numbers apart. X has CLASS_ROWS numbers for each column: for the columns of each sum in turn, then for those
 * after the last whole vector. W has LANES_D weights for each column, then those of the next LANES_D classes. */
static inline void score_packed(
    const double *X, const double *W, const double *b, ptrdiff_t d, ptrdiff_t width, int two, double *out)
{
    vec_d sums[LANES_D][2 * CLASS_ROWS], x, w, v;
    /* without a second vector of classes the first one is computed twice */
    const double *W2 = two ? W + d * LANES_D : W, *row = X;
    ptrdiff_t whole = d - d % LANES_D;
    for (ptrdiff_t l = 0; l < LANES_D; l++) {
        EACH_ROW(BEGIN_ROW)
        for (ptrdiff_t j = l; j < whole; j += LANES_D, row += CLASS_ROWS) {
            w = *(const vec_d *)(W + j * LANES_D);
            v = *(const vec_d *)(W2 + j * LANES_D);
            EACH_ROW(ADD_ROW)
        }
        EACH_ROW(KEEP)
    }
    EACH_ROW(FOLD)
    for (ptrdiff_t j = whole; j < d; j++, row += CLASS_ROWS) {
        w = *(const vec_d *)(W + j * LANES_D);
        v = *(const vec_d *)(W2 + j * LANES_D);
        EACH_ROW(ADD_REST)
    }
    EACH_ROW(WRITE)
}

#undef EACH_ROW
#undef FOLDED_KEPT
#undef BEGIN_ROW
#undef ADD_ROW
#undef KEEP
#undef FOLD
#undef ADD_REST
#undef WRITE

#endif
