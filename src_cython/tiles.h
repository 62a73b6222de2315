/* Products of matrices in tiles of registers:  c[m][n] += sum over k of a[m][k] b[k][n].
 *
 * a[m][k] is at a + m * row + k * step, so that a may be a transposed matrix; rows of b and c are whole vectors. A sum
 * starts from the value in c and adds its terms in the order of k, in any tile: the tiling changes no bit.
 *
 * A tile of 4 x 3 vectors has 12 sums in registers, and takes 7 loads for 12 multiplications. A tile one vector wide
 * has at most 8 sums, enough to hide the latency of an addition.
 */
#ifndef FASTCLF_TILES_H
#define FASTCLF_TILES_H

#include "simd.h"

/* TILE_n(op) expands the macro op for each of the n rows of a tile. */
#define TILE_1(op) op(0)
#define TILE_2(op) TILE_1(op) op(1)
#define TILE_3(op) TILE_2(op) op(2)
#define TILE_4(op) TILE_3(op) op(3)
#define TILE_8(op) TILE_4(op) op(4) op(5) op(6) op(7)

#define TILE_AT(x, v) (*(const vec_d *)((x) + (v) * LANES_D))
#define TILE_TO(x, v) (*(vec_d *)((x) + (v) * LANES_D))
#define BEGIN_THREE(m) \
    vec_d s##m = TILE_AT(c + m * ldc, 0), t##m = TILE_AT(c + m * ldc, 1), u##m = TILE_AT(c + m * ldc, 2);
#define ADD_THREE(m)                  \
    w = spread_d(a[m * row]);         \
    s##m = fmadd_d(w, x, s##m);       \
    t##m = fmadd_d(w, y, t##m);       \
    u##m = fmadd_d(w, z, u##m);
#define END_THREE(m) \
    TILE_TO(c + m * ldc, 0) = s##m, TILE_TO(c + m * ldc, 1) = t##m, TILE_TO(c + m * ldc, 2) = u##m;
#define BEGIN_ONE(m) vec_d s##m = TILE_AT(c + m * ldc, 0);
#define ADD_ONE(m) s##m = fmadd_d(spread_d(a[m * row]), x, s##m);
#define END_ONE(m) TILE_TO(c + m * ldc, 0) = s##m;

#define TILE_ARGUMENTS                                                                                               \
    const double *a, ptrdiff_t row, ptrdiff_t step, const double *b, ptrdiff_t ldb, ptrdiff_t n_k, double *c, ptrdiff_t ldc
#define TILE_THREE(rows)                                                                   \
    static inline void tile_##rows##_by_3(TILE_ARGUMENTS)                                  \
    {                                                                                      \
        vec_d w, x, y, z;                                                                  \
        TILE_##rows(BEGIN_THREE)                                                           \
        for (ptrdiff_t k = 0; k < n_k; k++, a += step, b += ldb) {                         \
            x = TILE_AT(b, 0), y = TILE_AT(b, 1), z = TILE_AT(b, 2);                       \
            TILE_##rows(ADD_THREE)                                                         \
        }                                                                                  \
        TILE_##rows(END_THREE)                                                             \
    }
#define TILE_ONE(rows)                                                                     \
    static inline void tile_##rows##_by_1(TILE_ARGUMENTS)                                  \
    {                                                                                      \
        vec_d x;                                                                           \
        TILE_##rows(BEGIN_ONE)                                                             \
        for (ptrdiff_t k = 0; k < n_k; k++, a += step, b += ldb) {                         \
            x = TILE_AT(b, 0);                                                             \
            TILE_##rows(ADD_ONE)                                                           \
        }                                                                                  \
        TILE_##rows(END_ONE)                                                               \
    }
TILE_THREE(1)
TILE_THREE(2)
TILE_THREE(3)
TILE_THREE(4)
TILE_ONE(1)
TILE_ONE(2)
TILE_ONE(3)
TILE_ONE(4)
TILE_ONE(8)

#define TILE_CALL a + m * row, row, step, b + v * LANES_D, ldb, n_k, c + m * ldc + v * LANES_D, ldc

/* Add the matrix product of a and b to n_m rows of c, in the columns of its SIMD vectors [first, last). */
static inline void add_tiles(
    const double *a, ptrdiff_t row, ptrdiff_t step, ptrdiff_t n_m, const double *b, ptrdiff_t ldb, ptrdiff_t n_k,
    double *c, ptrdiff_t ldc, ptrdiff_t first, ptrdiff_t last)
{
    ptrdiff_t m, v = first;
    for (; v + 3 <= last; v += 3) {
        for (m = 0; m + 4 <= n_m; m += 4) tile_4_by_3(TILE_CALL);
        if (n_m - m == 3) tile_3_by_3(TILE_CALL);
        else if (n_m - m == 2) tile_2_by_3(TILE_CALL);
        else if (n_m - m == 1) tile_1_by_3(TILE_CALL);
    }
    for (; v < last; v++) {
        for (m = 0; m + 8 <= n_m; m += 8) tile_8_by_1(TILE_CALL);
        if (n_m - m >= 4) {
            tile_4_by_1(TILE_CALL);
            m += 4;
        }
        if (n_m - m == 3) tile_3_by_1(TILE_CALL);
        else if (n_m - m == 2) tile_2_by_1(TILE_CALL);
        else if (n_m - m == 1) tile_1_by_1(TILE_CALL);
    }
}

/* Add the matrix product of a and b to a symmetric c of n_m rows, but only in tiles on its diagonal or right of it. */
static inline void add_upper_tiles(
    const double *a, ptrdiff_t row, ptrdiff_t step, ptrdiff_t n_m, const double *b, ptrdiff_t ldb, ptrdiff_t n_k,
    double *c, ptrdiff_t ldc)
{
    for (ptrdiff_t m = 0; m < n_m; m += 8) {
        ptrdiff_t rows = n_m - m < 8 ? n_m - m : 8;
        add_tiles(a + m * row, row, step, rows, b, ldb, n_k, c + m * ldc, ldc, m / LANES_D, (n_m + LANES_D - 1) / LANES_D);
    }
}

#endif
