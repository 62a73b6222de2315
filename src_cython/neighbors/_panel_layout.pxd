# The layout of a panel: rows side by side, coordinate by coordinate, so that panel[j][r] is coordinate j of row r, and
# one vector has the same coordinate of several rows.
from cython cimport floating
from libc.math cimport sqrt

from neighbors._metrics cimport cosine_t, metric_t
from _vector cimport LANES_D, LANES_F, prefetch, require, transpose_4_by_4_d, transpose_4_by_4_f

# The number of rows of a panel of floats (ROWS_F) or doubles (ROWS_D): the values of one coordinate fill two vectors.
cdef enum:
    ROWS_F = 2 * LANES_F
    ROWS_D = 2 * LANES_D

# The bytes of one coordinate of all rows of a panel: two of the widest SIMD vectors. Callers of the C
# interface provide the same scratch space at every SIMD level.
cdef enum:
    PANEL_BYTES = 128


cdef inline void pack(
    const metric_t* metric, const floating* X, Py_ssize_t first, Py_ssize_t n_rows, Py_ssize_t d, Py_ssize_t width,
    floating* panel
) noexcept nogil:
    """panel[j][r] = X[first + r][j], divided by minus the row's norm for cosine; zeros from row n_rows on.

    4 rows by 4 coordinates are transposed in registers, one cache line of each row after another, while the lines of
    the next panel are prefetched. This takes 5 ms a query instead of 10 (10 queries, 1M x 128).
    """
    cdef Py_ssize_t line = 64 // <Py_ssize_t> sizeof(floating), ahead = width * d
    cdef Py_ssize_t i, j = 0, r, last
    cdef double scale
    cdef const floating* x
    require(0 < n_rows <= width)
    if metric_t is cosine_t:
        for r in range(n_rows):
            x = X + (first + r) * d
            scale = metric.norm2[first + r]
            scale = -1 / sqrt(scale) if scale > 0 else 0
            for j in range(d):
                panel[j * width + r] = <floating> (x[j] * scale)
    else:
        while j < d:
            last = min(j + line, d)
            r = 0
            while r + 4 <= n_rows:
                x = X + (first + r) * d
                prefetch(x + ahead + j)
                prefetch(x + ahead + d + j)
                prefetch(x + ahead + 2 * d + j)
                prefetch(x + ahead + 3 * d + j)
                i = j
                while i + 4 <= last:
                    if floating is float:
                        transpose_4_by_4_f(x + i, d, panel + i * width + r, width)
                    else:
                        transpose_4_by_4_d(x + i, d, panel + i * width + r, width)
                    i += 4
                while i < last:
                    panel[i * width + r] = x[i]
                    panel[i * width + r + 1] = x[d + i]
                    panel[i * width + r + 2] = x[2 * d + i]
                    panel[i * width + r + 3] = x[3 * d + i]
                    i += 1
                r += 4
            while r < n_rows:
                for i in range(j, last):
                    panel[i * width + r] = X[(first + r) * d + i]
                r += 1
            j = last
    for r in range(n_rows, width):
        for j in range(d):
            panel[j * width + r] = 0
