# The Cholesky factor U of A + D = U'U for a symmetric A, in place: U on and right of the diagonal, A left of it.
#
# D is diagonal. Its entries are 0, or infinite where a pivot is lost to rounding, so that solutions are 0 there.
#
# A panel is PANEL rows of A. `begin` factorises the panel's square block on the diagonal. `pack` solves for the columns
# right of that block and copies them in groups of WIDE columns. `take_off` subtracts the panel's products from all rows
# below. The ranges of `pack` and of `take_off` may run in any order: the products are subtracted from an entry panel by
# panel, so that ranges change no bit.
from libc.math cimport sqrt

from _vector cimport LANES_D, fmadd_d, require, spread_d, sum_d, vec_d

cdef enum:
    PANEL_ROWS = 64
    VECTORS = 3  # the number of SIMD vectors in each row of a group of packed columns
    # the number of rows of A that are multiplied by a group of packed columns at once; their sums take 12 SIMD
    # registers
    ROWS = 4

cdef double HUGE = 1e150

PANEL = PANEL_ROWS
WIDE = VECTORS * LANES_D


def begin(double[:, ::1] A, const double[::1] least, Py_ssize_t k):
    """Factorise the panel's diagonal block from row k on; pivot i, if at most least[i], counts as lost to rounding."""
    cdef Py_ssize_t m = A.shape[0], stop = min(k + PANEL_ROWS, m), i, j, p
    cdef double pivot, factor
    require(A.shape[1] == m and least.shape[0] == m)
    with nogil:
        for i in range(k, stop):
            pivot = A[i, i]
            if not pivot > least[i]:
                A[i, i] = HUGE
                for j in range(i + 1, stop):
                    A[i, j] = 0
                continue
            A[i, i] = sqrt(pivot)
            for j in range(i + 1, stop):
                A[i, j] /= A[i, i]
            for p in range(i + 1, stop):
                factor = A[i, p]
                for j in range(p, stop):
                    A[p, j] -= factor * A[i, j]


def pack(double[:, ::1] A, Py_ssize_t k, double[::1] packed, Py_ssize_t start, Py_ssize_t stop):
    """Compute groups [start, stop) of WIDE columns of U right of the panel's diagonal block, with a packed copy."""
    cdef Py_ssize_t m = A.shape[0], after = k + PANEL_ROWS, wide = VECTORS * LANES_D, c, i, p, v, j, n
    cdef vec_d* block
    cdef vec_d x, s
    cdef double* row
    require(after <= m and packed.shape[0] >= stop * wide * PANEL_ROWS)
    with nogil:
        for c in range(start, stop):
            block = <vec_d*> (&packed[0] + c * wide * PANEL_ROWS)
            n = min(wide, m - after - c * wide)
            for i in range(PANEL_ROWS):
                row = &A[k + i, 0] + after + c * wide
                for j in range(wide):
                    (<double*> (block + i * VECTORS))[j] = row[j] if j < n else 0
            for i in range(PANEL_ROWS):
                if A[k + i, k + i] == HUGE:
                    for v in range(VECTORS):
                        block[i * VECTORS + v] = spread_d(0)
                for v in range(VECTORS):
                    s = block[i * VECTORS + v]
                    for p in range(i):
                        s = fmadd_d(spread_d(-A[k + p, k + i]), block[p * VECTORS + v], s)
                    x = spread_d(1 / A[k + i, k + i])
                    block[i * VECTORS + v] = s * x
                row = &A[k + i, 0] + after + c * wide
                for j in range(n):
                    row[j] = (<double*> (block + i * VECTORS))[j]


cdef inline void meet(
    const double* a, const double* b, const double* c, const double* d, const vec_d* block, vec_d* out
) noexcept nogil:
    """Write the inner products of four packed columns a, b, c and d with all columns of a packed group, `block`."""
    cdef vec_d s0, s1, s2, t0, t1, t2, u0, u1, u2, v0, v1, v2, x
    cdef Py_ssize_t _p, at = 0
    s0 = s1 = s2 = t0 = t1 = t2 = u0 = u1 = u2 = v0 = v1 = v2 = spread_d(0)
    for _p in range(PANEL_ROWS):
        x = spread_d(a[at])
        s0 = fmadd_d(x, block[0], s0)
        s1 = fmadd_d(x, block[1], s1)
        s2 = fmadd_d(x, block[2], s2)
        x = spread_d(b[at])
        t0 = fmadd_d(x, block[0], t0)
        t1 = fmadd_d(x, block[1], t1)
        t2 = fmadd_d(x, block[2], t2)
        x = spread_d(c[at])
        u0 = fmadd_d(x, block[0], u0)
        u1 = fmadd_d(x, block[1], u1)
        u2 = fmadd_d(x, block[2], u2)
        x = spread_d(d[at])
        v0 = fmadd_d(x, block[0], v0)
        v1 = fmadd_d(x, block[1], v1)
        v2 = fmadd_d(x, block[2], v2)
        block += VECTORS
        at += VECTORS * LANES_D
    out[0], out[1], out[2] = s0, s1, s2
    out[3], out[4], out[5] = t0, t1, t2
    out[6], out[7], out[8] = u0, u1, u2
    out[9], out[10], out[11] = v0, v1, v2


def take_off(double[:, ::1] A, Py_ssize_t k, const double[::1] packed, Py_ssize_t start, Py_ssize_t stop):
    """Subtract the products of the panel's packed columns from rows [start, stop) of A, from the diagonal on."""
    cdef Py_ssize_t m = A.shape[0], after = k + PANEL_ROWS, wide = VECTORS * LANES_D
    cdef Py_ssize_t size = wide * PANEL_ROWS, i, r, c, j, first, n, v
    cdef const double* columns = &packed[0]
    cdef const double* of_row[ROWS]
    cdef vec_d out[ROWS * VECTORS]
    cdef double* to
    require(after <= start and stop <= m and packed.shape[0] >= (m - after + wide - 1) // wide * size)
    with nogil:
        i = start
        while i < stop:
            for r in range(ROWS):
                j = min(i + r, stop - 1) - after
                of_row[r] = columns + j // wide * size + j % wide
            for c in range((i - after) // wide, (m - after + wide - 1) // wide):
                first = after + c * wide
                n = min(wide, m - first)
                meet(of_row[0], of_row[1], of_row[2], of_row[3], <const vec_d*> (columns + c * size), out)
                for r in range(min(<Py_ssize_t> ROWS, stop - i)):
                    to = &A[i + r, 0] + first
                    if n == wide and first >= i + r:
                        for v in range(VECTORS):
                            (<vec_d*> to)[v] = (<vec_d*> to)[v] - out[r * VECTORS + v]
                    else:
                        for j in range(max(0, i + r - first), n):
                            to[j] -= (<double*> (out + r * VECTORS))[j]
            i += ROWS


def solve(const double[:, ::1] A, double[:, ::1] X):
    """Replace each row x of X by (U'U)^-1 x, where U is the Cholesky factor on and right of the diagonal of A."""
    cdef Py_ssize_t m = A.shape[0], i, j, r
    cdef vec_d factor, s
    cdef double total
    cdef const double* row
    cdef double* x
    require(A.shape[1] == m and X.shape[1] == m)
    with nogil:
        for i in range(m):
            row = &A[i, 0]
            for r in range(X.shape[0]):
                x = &X[r, 0]
                if x[i] == 0:
                    continue
                x[i] /= row[i]
                factor = spread_d(-x[i])
                j = i + 1
                while j + LANES_D <= m:
                    (<vec_d*> (x + j))[0] = fmadd_d(factor, (<const vec_d*> (row + j))[0], (<vec_d*> (x + j))[0])
                    j += LANES_D
                while j < m:
                    x[j] -= x[i] * row[j]
                    j += 1
        for i in range(m - 1, -1, -1):
            row = &A[i, 0]
            for r in range(X.shape[0]):
                x = &X[r, 0]
                s = spread_d(0)
                j = i + 1
                while j + LANES_D <= m:
                    s = fmadd_d((<const vec_d*> (row + j))[0], (<const vec_d*> (x + j))[0], s)
                    j += LANES_D
                total = sum_d(s)
                while j < m:
                    total += row[j] * x[j]
                    j += 1
                x[i] = (x[i] - total) / row[i]


def multiply(const double[:, ::1] A, const double[::1] diagonal, const double[::1] x, double[::1] out):
    """Write A x to `out`, for a symmetric A, given by the entries left of its diagonal and by its diagonal."""
    cdef Py_ssize_t m = A.shape[0], i, j
    cdef vec_d factor, s, a
    cdef double total
    require(A.shape[1] == m and diagonal.shape[0] == m and x.shape[0] == m and out.shape[0] == m)
    with nogil:
        for i in range(m):
            factor = spread_d(x[i])
            s = spread_d(0)
            j = 0
            while j + LANES_D <= i:
                a = (<const vec_d*> &A[i, j])[0]
                s = fmadd_d(a, (<const vec_d*> &x[j])[0], s)
                (<vec_d*> &out[j])[0] = fmadd_d(factor, a, (<vec_d*> &out[j])[0])
                j += LANES_D
            total = sum_d(s)
            while j < i:
                total += A[i, j] * x[j]
                out[j] += x[i] * A[i, j]
                j += 1
            out[i] = total + diagonal[i] * x[i]
