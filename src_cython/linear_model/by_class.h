/* Scores of dense rows for LANES_D classes at once: lane c of each vector belongs to class c.
 *
 * `s0`, `s1`, ... have for each class what the lanes of a single sum over columns have in `_scores.pyx`, and are folded
 * by halves, as `sum_d` folds lanes. So both ways give the same bits, and this one folds once for LANES_D scores.
 */
#ifndef FASTCLF_BY_CLASS_H
#define FASTCLF_BY_CLASS_H

#include "simd.h"

/* EACH(op) expands op for as many numbers as a vector has lanes. The sums are single variables, since GCC would keep an
 * array of vectors in memory. */
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

#endif
