# Sums over rows by class, and sums of products of columns, in float64. A shift c that lies among the rows is
# subtracted, so that the size of the sums depends on the spread of the data, not on their offset.
#
#     sum_out[y_i, j]  += w_i (x_ij - c_j)
#     gram_out[j, k]   += w_i (x_ij - c_j)(x_ik - c_k)
#
# Each number is a sum over the rows in their order, however the rows are divided into ranges. A row with weight 0 is
# skipped.
from cython cimport floating
from libc.math cimport sqrt
from libc.string cimport memset

import numpy as np

from fastclf._aligned import aligned

from _vector cimport LANES_D, fmadd_d, prefetch, spread_d, vec_d, widen

cdef extern from *:
    """
    #include "simd.h"

    #define TILE_COLUMNS (LANES_D > 1 ? 2 * LANES_D : 4)
    """
    enum:
        TILE_COLUMNS  # the number of columns in a block of a panel: those of whole tiles, and at least 4

cdef enum:
    AHEAD = 512  # while a value of X is read, the value that is this number of values ahead is prefetched
    WIDE = 2 * LANES_D  # the number of columns of a tile of the Gram matrix; a tile has 4 rows
    # The number of rows in a panel, a copy of rows from which the shift is subtracted. It is kept in blocks of
    # TILE_COLUMNS columns, row after row, which stay in the first cache while a tile is computed.
    PANEL_ROWS = 192
    NEAR = 256  # the number of columns of a panel, a multiple of TILE_COLUMNS, that stay in the second cache

# Python reads these two. The number of columns of the Gram matrix is rounded up to a multiple of TILE.
PANEL, TILE = PANEL_ROWS, TILE_COLUMNS


cdef inline vec_d load(const floating* x) noexcept nogil:
    if floating is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline Py_ssize_t place_of(Py_ssize_t j) noexcept nogil:
    """The index of column j in the first row of a panel."""
    return j // TILE_COLUMNS * (PANEL_ROWS * TILE_COLUMNS) + j % TILE_COLUMNS


cdef void pack(
    const floating* x, double w, const double* c, Py_ssize_t first, Py_ssize_t d, double* row, double* total
) noexcept nogil:
    """For d columns of row x, weight w, shift c: write sqrt(w) (x - c) to a row of a panel.

    w (x - c) is added to `total` from column `first` on.
    """
    cdef vec_d t, weight = spread_d(w), root = spread_d(sqrt(w))
    cdef double u
    cdef Py_ssize_t j = 0, whole = d - d % LANES_D
    while j < whole:
        prefetch(x + j + AHEAD)
        t = load(x + j) - load(c + j)
        (<vec_d*> (row + place_of(j)))[0] = root * t
        if j >= first:
            (<vec_d*> (total + j))[0] = fmadd_d(weight, t, load(total + j))
        j += LANES_D
    for j in range(whole, d):
        u = x[j] - c[j]
        row[place_of(j)] = sqrt(w) * u
        if j >= first:
            total[j] += w * u


cdef void add_tile(
    const double* a, const double* b, Py_ssize_t n_rows, Py_ssize_t stride, double* out
) noexcept nogil:
    """out[i * stride + j] += sum over rows r of a[r, i] b[r, j], for i < 4 and j < WIDE; a and b: blocks of a panel."""
    cdef vec_d s0, s1, s2, s3, t0, t1, t2, t3, p, q, u
    cdef Py_ssize_t _r
    cdef double* o = out
    s0 = load(o)
    t0 = load(o + LANES_D)
    s1 = load(o + stride)
    t1 = load(o + stride + LANES_D)
    s2 = load(o + 2 * stride)
    t2 = load(o + 2 * stride + LANES_D)
    s3 = load(o + 3 * stride)
    t3 = load(o + 3 * stride + LANES_D)
    for _r in range(n_rows):
        p = load(b)
        q = load(b + LANES_D)
        u = spread_d(a[0])
        s0 = fmadd_d(u, p, s0)
        t0 = fmadd_d(u, q, t0)
        u = spread_d(a[1])
        s1 = fmadd_d(u, p, s1)
        t1 = fmadd_d(u, q, t1)
        u = spread_d(a[2])
        s2 = fmadd_d(u, p, s2)
        t2 = fmadd_d(u, q, t2)
        u = spread_d(a[3])
        s3 = fmadd_d(u, p, s3)
        t3 = fmadd_d(u, q, t3)
        a += TILE_COLUMNS
        b += TILE_COLUMNS
    (<vec_d*> o)[0] = s0
    (<vec_d*> (o + LANES_D))[0] = t0
    (<vec_d*> (o + stride))[0] = s1
    (<vec_d*> (o + stride + LANES_D))[0] = t1
    (<vec_d*> (o + 2 * stride))[0] = s2
    (<vec_d*> (o + 2 * stride + LANES_D))[0] = t2
    (<vec_d*> (o + 3 * stride))[0] = s3
    (<vec_d*> (o + 3 * stride + LANES_D))[0] = t3


cdef void add_panel(
    const double* panel, Py_ssize_t n_rows, Py_ssize_t width, Py_ssize_t first, Py_ssize_t last, double* gram
) noexcept nogil:
    """Add the products of a panel's columns to columns [first, last) of the Gram matrix, in its upper triangle.

    NEAR columns of the panel at a time are multiplied by all columns that follow, so that they stay in a cache.
    """
    cdef Py_ssize_t i, j, r, near = 0
    while near < last:
        j = max(near, first)
        while j < last:
            i = near
            while i < j + WIDE and i < near + NEAR:
                for r in range(i + 4, i + 8):  # the next tile, or addresses after the last one, which do no harm
                    prefetch(gram + r * width + j)
                    prefetch(gram + r * width + j + LANES_D)
                add_tile(panel + place_of(i), panel + place_of(j), n_rows, width, gram + i * width + j)
                i += 4
            j += WIDE
        near += NEAR


# Arguments: this function has more than 8, because an object that holds them would be made anew for each range of rows.
def add_products(
    const floating[:, ::1] X, const Py_ssize_t[::1] code, const double[::1] weight, const double[::1] shift,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] sum_out, double[:, ::1] gram_out, Py_ssize_t first,
    Py_ssize_t last
):
    """Add rows [start, stop) to the sums of their classes and to the Gram matrix, on and right of its diagonal.

    Only columns [first, last) of these are changed; `first` and `last` are multiples of TILE. The number of columns of
    the Gram matrix is a multiple of TILE, of which the first d are used. If `weight` is None, all weights are 1.
    """
    cdef Py_ssize_t d = min(last, X.shape[1]), width = gram_out.shape[1], i = start, n_rows
    cdef double w = 1
    cdef double[:, ::1] panel = aligned((PANEL_ROWS, width), np.float64)
    with nogil:
        memset(&panel[0, 0], 0, PANEL_ROWS * width * sizeof(double))
        while i < stop:
            n_rows = 0
            while i < stop and n_rows < PANEL_ROWS:
                if weight is not None:
                    w = weight[i]
                if w > 0:
                    pack(&X[i, 0], w, &shift[0], first, d, &panel[0, 0] + n_rows * TILE_COLUMNS, &sum_out[code[i], 0])
                    n_rows += 1
                i += 1
            add_panel(&panel[0, 0], n_rows, width, first, last, &gram_out[0, 0])
