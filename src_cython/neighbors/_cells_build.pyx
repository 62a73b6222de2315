# Building of cells: the code of each row is assigned to the nearest centre, and the codes of a cell are sorted by their
# distance from the centre.
#
# in:      the codes of all rows, as `_encode.pyx` writes them; the centres, which are codes too
# written: the number of each row's centre, the squared distance of the row's code from it, and the codes in their new
#          order
# needs:   an even number of panels of codes
#
# All numbers are integers without error: they are sums over at most 32768 coordinates of -127..127.
from libc.limits cimport INT_MIN
from libc.string cimport memcpy

from neighbors._code_bound cimport BLOCK, PANEL
from _vector cimport LANES_F, PRODUCT_OFFSET, add_products, require, spread_i, vec_i

PANEL_ROWS, BLOCK_ROWS = PANEL, BLOCK


cdef inline const unsigned char* code_at(const unsigned char* code, Py_ssize_t place, Py_ssize_t width) noexcept nogil:
    """The address of the first 4 coordinates of a place's code; a panel has those of all its codes, then the next 4."""
    return code + place // PANEL * PANEL * width + place % PANEL * 4


cdef inline void nearest_tile(
    const unsigned char* code, Py_ssize_t place, Py_ssize_t width, const signed char* centers, const int* base,
    Py_ssize_t n_cells, int* cell_out
) noexcept nogil:
    """Write the nearest centre of each of 2 LANES_F rows, two vectors of lanes; of equally near ones the first.

    The nearest centre z of a row x with the code c(x) is the one with the largest 2 c(x)'z - |z|^2.
    """
    cdef const unsigned char* x
    cdef const unsigned char* y
    cdef const int* z
    cdef Py_ssize_t n = width // 4, c, i, g, r
    cdef vec_i a0, a1, b0, b1, c0, c1, d0, d1
    cdef vec_i sums[8]
    cdef int best[2 * LANES_F]
    cdef int score
    for r in range(2 * LANES_F):
        best[r] = INT_MIN
        cell_out[r] = 0
    for c in range(0, n_cells, 4):
        x = code_at(code, place, width)
        y = code_at(code, place + LANES_F, width)
        z = <const int*> (centers + c * width)
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = spread_i(0)
        for g in range(n):
            a0 = add_products(a0, x, z[g])
            a1 = add_products(a1, y, z[g])
            b0 = add_products(b0, x, z[n + g])
            b1 = add_products(b1, y, z[n + g])
            c0 = add_products(c0, x, z[2 * n + g])
            c1 = add_products(c1, y, z[2 * n + g])
            d0 = add_products(d0, x, z[3 * n + g])
            d1 = add_products(d1, y, z[3 * n + g])
            x += 4 * PANEL
            y += 4 * PANEL
        sums[0] = a0
        sums[1] = a1
        sums[2] = b0
        sums[3] = b1
        sums[4] = c0
        sums[5] = c1
        sums[6] = d0
        sums[7] = d1
        for i in range(4):
            for r in range(2 * LANES_F):
                score = 2 * (<const int*> sums)[2 * LANES_F * i + r] - base[c + i]
                cell_out[r] = <int> (c + i) if score > best[r] else cell_out[r]
                best[r] = score if score > best[r] else best[r]


def bases(const signed char[:, ::1] centers, int[::1] base_out):
    """Write |z|^2 of each centre z, corrected for rows' codes, which are stored as unsigned bytes with an offset."""
    cdef Py_ssize_t c, j
    cdef int square, total
    with nogil:
        for c in range(centers.shape[0]):
            square = total = 0
            for j in range(centers.shape[1]):
                square += centers[c, j] * centers[c, j]
                total += centers[c, j]
            base_out[c] = square + 2 * PRODUCT_OFFSET * total


def nearest_centers(
    const unsigned char[::1] code, Py_ssize_t start, Py_ssize_t stop, const signed char[:, ::1] centers,
    const int[::1] base, int[::1] cell_out,
):
    """Write the number of the centre nearest to the code at each place from start to stop, for pairs of panels."""
    cdef Py_ssize_t place = start, width = centers.shape[1]
    require(centers.shape[0] % 4 == 0 and start % (2 * PANEL) == 0 and stop % (2 * PANEL) == 0)
    with nogil:
        while place < stop:
            nearest_tile(
                &code[0], place, width, &centers[0, 0], &base[0], centers.shape[0], &cell_out[place]
            )
            place += 2 * LANES_F


def sum_codes(
    const unsigned char[::1] code, Py_ssize_t start, Py_ssize_t stop, const int[::1] cell, long long[:, ::1] sums,
    long long[::1] counts,
):
    """Add each code at places start to stop to the sum of the codes of its cell, and 1 to the cell's count."""
    cdef Py_ssize_t place, g, j, width = sums.shape[1]
    cdef const unsigned char* x
    with nogil:
        for place in range(start, stop):
            x = code_at(&code[0], place, width)
            counts[cell[place]] += 1
            for g in range(width // 4):
                for j in range(4):
                    sums[cell[place], 4 * g + j] += <long long> x[4 * PANEL * g + j] - 128


def squared_radii(
    const unsigned char[::1] code, Py_ssize_t start, Py_ssize_t stop, const signed char[:, ::1] centers,
    const int[::1] cell, int[::1] key_out,
):
    """Write the squared distance of each code at places start to stop from the centre of its cell."""
    cdef Py_ssize_t place, g, j, width = centers.shape[1]
    cdef const unsigned char* x
    cdef int t, square
    with nogil:
        for place in range(start, stop):
            x = code_at(&code[0], place, width)
            square = 0
            for g in range(width // 4):
                for j in range(4):
                    t = <int> x[4 * PANEL * g + j] - 128 - centers[cell[place], 4 * g + j]
                    square += t * t
            key_out[place] = square


def move_codes(index, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_rows):
    """Copy the codes of rows index.rows[start:stop] of the filter `index.plain` to places start to stop of `index`.

    A place without a row keeps what it has. `slack` and `length` become the largest of the rows' blocks.
    """
    cdef const Py_ssize_t[::1] rows = index.rows
    cdef const unsigned char[::1] code = index.plain.code
    cdef const int[::1] half = index.plain.half
    cdef const float[::1] slack = index.plain.slack, length = index.plain.length
    cdef unsigned char[::1] code_out = index.code
    cdef int[::1] half_out = index.half
    cdef float[::1] slack_out = index.slack, length_out = index.length
    cdef Py_ssize_t place, row, g, width = index.plain.width
    cdef const unsigned char* x
    cdef unsigned char* y
    with nogil:
        for place in range(start, stop):
            row = rows[place]
            if row >= n_rows:
                continue
            x = code_at(&code[0], row, width)
            y = <unsigned char*> code_at(&code_out[0], place, width)
            for g in range(width // 4):
                memcpy(y + 4 * PANEL * g, x + 4 * PANEL * g, 4)
            half_out[place] = half[row]
            slack_out[place // BLOCK] = max(slack_out[place // BLOCK], slack[row // BLOCK])
            length_out[place // BLOCK] = max(length_out[place // BLOCK], length[row // BLOCK])
