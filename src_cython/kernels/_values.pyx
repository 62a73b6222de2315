# Values of a kernel between packed rows z and the rows x of a matrix, in float32 or float64, whatever the matrix is.
#
#     K(z, x) = k(z.x)  or, for rbf,  exp(2 gamma z.x - gamma |z|^2 - gamma |x|^2)
#
# The rows x come in panels of WIDE rows side by side, one line for each column that some z has: a panel is made once
# and met by all z. A z with many zeros is a list of (line, value): it costs what it has, for WIDE values at a time. The
# sum of a product runs over z's entries in their order, each step a fused multiply-add where the level has it, so that
# ranges and threads change no bit.
#
# `add` sums coef[o, r] K(z_r, x_i) over the rows r in their order, in float64. A row r may be one of a matrix of values
# between rows and columns, from which its values are read, or have a slot of a cache, from which they are read, or into
# which they are written.
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from kernels._matrix cimport as_matrix, begin, matrix_t
from kernels._functions cimport LINEAR, POLY, RBF, exp_at_most_0, kernel_t, power, tanh_of
from kernels._panel cimport HALF, packed_t, put_panel
from _vector cimport LANES_D, LANES_F, fmadd, fmadd_d, require, spread, spread_d, spread_f, vec, vec_d, vec_f, widen

cdef enum:
    ROWS = 3        # dense rows z that meet half a panel at once: 12 sums

WIDE_F = 2 * HALF * LANES_F
WIDE_D = 2 * HALF * LANES_D

ctypedef struct stored_t:
    char* cache              # rows of `width` values
    Py_ssize_t width
    const int64_t* slot      # of each row, or negative; NULL: none has one
    const unsigned char* ready
    const char* own          # NULL, or a matrix of `own_width` columns
    Py_ssize_t own_width
    const int64_t* own_row   # of each row, or negative
    const int64_t* own_column
    const char* panels       # of all columns, with all lines, or NULL


cdef inline bint is_own(const stored_t* stored, Py_ssize_t r) noexcept nogil:
    return stored.own != NULL and stored.own_row[r] >= 0


cdef inline bint is_ready(const stored_t* stored, Py_ssize_t r) noexcept nogil:
    return stored.ready != NULL and stored.ready[r]


cdef inline void meet_sparse(
    const int32_t* index, const vec* values, Py_ssize_t first, Py_ssize_t stop, const vec* panel, Py_ssize_t half,
    vec* out
) noexcept nogil:
    """Products of one row, a list of (line, value), and a panel."""
    cdef vec s0, s1, s2, s3, s4, s5, s6, s7, a
    cdef const vec* low
    cdef const vec* high
    cdef Py_ssize_t t
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = panel[0] - panel[0]
    for t in range(first, stop):
        a = spread(values, t)
        low = panel + index[t] * HALF
        high = low + half
        s0 = fmadd(a, low[0], s0)
        s1 = fmadd(a, low[1], s1)
        s2 = fmadd(a, low[2], s2)
        s3 = fmadd(a, low[3], s3)
        s4 = fmadd(a, high[0], s4)
        s5 = fmadd(a, high[1], s5)
        s6 = fmadd(a, high[2], s6)
        s7 = fmadd(a, high[3], s7)
    out[0] = s0
    out[1] = s1
    out[2] = s2
    out[3] = s3
    out[4] = s4
    out[5] = s5
    out[6] = s6
    out[7] = s7


cdef inline void meet_dense(
    const vec* values, Py_ssize_t z0, Py_ssize_t z1, Py_ssize_t z2, Py_ssize_t n_lines, const vec* panel,
    vec* out0, vec* out1, vec* out2
) noexcept nogil:
    """Products of three rows, whose values begin at z0, z1 and z2, and half a panel."""
    cdef vec s0, s1, s2, s3, t0, t1, t2, t3, u0, u1, u2, u3, a, b, c, p
    cdef Py_ssize_t k
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = u0 = u1 = u2 = u3 = panel[0] - panel[0]
    for k in range(n_lines):
        a = spread(values, z0 + k)
        b = spread(values, z1 + k)
        c = spread(values, z2 + k)
        p = panel[k * HALF]
        s0 = fmadd(a, p, s0)
        t0 = fmadd(b, p, t0)
        u0 = fmadd(c, p, u0)
        p = panel[k * HALF + 1]
        s1 = fmadd(a, p, s1)
        t1 = fmadd(b, p, t1)
        u1 = fmadd(c, p, u1)
        p = panel[k * HALF + 2]
        s2 = fmadd(a, p, s2)
        t2 = fmadd(b, p, t2)
        u2 = fmadd(c, p, u2)
        p = panel[k * HALF + 3]
        s3 = fmadd(a, p, s3)
        t3 = fmadd(b, p, t3)
        u3 = fmadd(c, p, u3)
    out0[0] = s0
    out0[1] = s1
    out0[2] = s2
    out0[3] = s3
    out1[0] = t0
    out1[1] = t1
    out1[2] = t2
    out1[3] = t3
    out2[0] = u0
    out2[1] = u1
    out2[2] = u2
    out2[3] = u3


cdef inline vec spread_to(double a, vec like) noexcept nogil:
    if vec is vec_f:
        return spread_f(<float> a)
    else:
        return spread_d(a)


cdef inline void transform(const kernel_t* kernel, double norm, const vec* column_terms, vec* k) noexcept nogil:
    """Products of one row and a panel become values; the column terms are -gamma |x|^2."""
    cdef vec scale, shift
    cdef int v
    if kernel.kind == LINEAR:
        return
    if kernel.kind == RBF:
        scale = spread_to(2 * kernel.gamma, k[0])
        shift = spread_to(-kernel.gamma * norm, k[0])
        for v in range(2 * HALF):
            k[v] = exp_at_most_0(fmadd(scale, k[v], column_terms[v] + shift))
        return
    scale = spread_to(kernel.gamma, k[0])
    shift = spread_to(kernel.coef0, k[0])
    for v in range(2 * HALF):
        k[v] = fmadd(scale, k[v], shift)
        k[v] = power(k[v], kernel.degree) if kernel.kind == POLY else tanh_of(k[v])


cdef void meet(
    const kernel_t* kernel, const packed_t* Z, const vec* values, const int64_t* rows, Py_ssize_t n_rows,
    const vec* panel, const vec* column_terms, vec* out
) noexcept nogil:
    """out[i, :] = K(z, panel) for the packed rows in the list."""
    cdef Py_ssize_t i, half = Z.n_lines * HALF, last
    cdef const int64_t* r
    if Z.indptr != NULL:
        for i in range(n_rows):
            meet_sparse(
                Z.index, values, Z.indptr[rows[i]], Z.indptr[rows[i] + 1], panel, half, out + i * 2 * HALF
            )
    else:
        i = 0
        while i < n_rows:
            r = rows + i
            last = min(<Py_ssize_t> ROWS, n_rows - i) - 1  # what is met twice is written twice
            meet_dense(
                values, r[0] * Z.n_lines, r[min(1, last)] * Z.n_lines, r[last] * Z.n_lines, Z.n_lines, panel,
                out + i * 2 * HALF, out + (i + min(1, last)) * 2 * HALF, out + (i + last) * 2 * HALF
            )
            meet_dense(
                values, r[0] * Z.n_lines, r[min(1, last)] * Z.n_lines, r[last] * Z.n_lines, Z.n_lines, panel + half,
                out + i * 2 * HALF + HALF, out + (i + min(1, last)) * 2 * HALF + HALF,
                out + (i + last) * 2 * HALF + HALF
            )
            i += ROWS
    for i in range(n_rows):
        transform(kernel, Z.norm[rows[i]], column_terms, out + i * 2 * HALF)


cdef void set_column_terms(
    const kernel_t* kernel, const matrix_t* X, const int64_t* columns, Py_ssize_t start, Py_ssize_t n, vec* out
) noexcept nogil:
    cdef Py_ssize_t i, row
    if kernel.kind != RBF:
        return
    memset(out, 0, 2 * HALF * sizeof(vec))
    for i in range(n):
        row = start + i if columns == NULL else columns[start + i]
        if vec is vec_f:
            (<float*> out)[i] = <float> (-kernel.gamma * X.norm[row])
        else:
            (<double*> out)[i] = -kernel.gamma * X.norm[row]


cdef inline vec_d load(const vec* a, Py_ssize_t i) noexcept nogil:
    """LANES_D values, from number i of the array at a."""
    if vec is vec_f:
        return widen(<const float*> a + i)
    else:
        return (<const vec_d*> (<const double*> a + i))[0]


cdef void accumulate(const vec* const* k, const double* coef, Py_ssize_t n_rows, double* f) noexcept nogil:
    """f += sum_r coef[r] k[r], over the width of a panel, r in order."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D), i = 0, r
    cdef vec_d s0, s1, s2, s3, s4, s5, s6, s7, a
    while i < wide:  # whose number of vec_d is 8 or 16
        s0 = (<vec_d*> (f + i))[0]
        s1 = (<vec_d*> (f + i))[1]
        s2 = (<vec_d*> (f + i))[2]
        s3 = (<vec_d*> (f + i))[3]
        s4 = (<vec_d*> (f + i))[4]
        s5 = (<vec_d*> (f + i))[5]
        s6 = (<vec_d*> (f + i))[6]
        s7 = (<vec_d*> (f + i))[7]
        for r in range(n_rows):
            a = spread_d(coef[r])
            s0 = fmadd_d(a, load(k[r], i), s0)
            s1 = fmadd_d(a, load(k[r], i + LANES_D), s1)
            s2 = fmadd_d(a, load(k[r], i + 2 * LANES_D), s2)
            s3 = fmadd_d(a, load(k[r], i + 3 * LANES_D), s3)
            s4 = fmadd_d(a, load(k[r], i + 4 * LANES_D), s4)
            s5 = fmadd_d(a, load(k[r], i + 5 * LANES_D), s5)
            s6 = fmadd_d(a, load(k[r], i + 6 * LANES_D), s6)
            s7 = fmadd_d(a, load(k[r], i + 7 * LANES_D), s7)
        (<vec_d*> (f + i))[0] = s0
        (<vec_d*> (f + i))[1] = s1
        (<vec_d*> (f + i))[2] = s2
        (<vec_d*> (f + i))[3] = s3
        (<vec_d*> (f + i))[4] = s4
        (<vec_d*> (f + i))[5] = s5
        (<vec_d*> (f + i))[6] = s6
        (<vec_d*> (f + i))[7] = s7
        i += 8 * LANES_D


cdef void fill_range(
    const kernel_t* kernel, const matrix_t* X, const packed_t* Z, const vec* values, const int64_t* rows,
    Py_ssize_t n_rows, const int64_t* columns, Py_ssize_t start, Py_ssize_t stop, vec* panel, vec* block,
    vec* out, Py_ssize_t n_out, bint mirrored, Py_ssize_t at
) noexcept nogil:
    """See `fill`; the rows of out have n_out numbers."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D)
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), i = start, n, r, c, first = 0
    cdef vec terms[2 * HALF]
    while i < stop:
        n = min(wide, stop - i)
        if mirrored and at == 0:
            first = i
        put_panel(X, Z, columns, i, n, panel, False)
        set_column_terms(kernel, X, columns, i, n, terms)
        meet(kernel, Z, values, rows + first, n_rows - first, panel, terms, block)
        for r in range(first, n_rows):
            memcpy(<char*> out + (r * n_out + at + i) * size, block + (r - first) * 2 * HALF, n * size)
        for c in range(n if mirrored else 0):
            for r in range(first, n_rows):
                if vec is vec_f:
                    (<float*> out)[(at + i + c) * n_out + r] = (<float*> block)[(r - first) * wide + c]
                else:
                    (<double*> out)[(at + i + c) * n_out + r] = (<double*> block)[(r - first) * wide + c]
        put_panel(X, Z, columns, i, n, panel, True)
        i += n


cdef inline const vec* in_order(const vec* row, const int64_t* column, Py_ssize_t n, vec* room) noexcept nogil:
    """n of the row's values, at rising columns: where they are, if side by side, or copied."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D), c
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double)
    if n == wide and column[n - 1] - column[0] == n - 1:
        return <const vec*> (<const char*> row + column[0] * size)
    for c in range(n):
        if vec is vec_f:
            (<float*> room)[c] = (<const float*> row)[column[c]]
        else:
            (<double*> room)[c] = (<const double*> row)[column[c]]
    return room


cdef void add_range(
    const kernel_t* kernel, const matrix_t* X, const packed_t* Z, const vec* values, const int64_t* rows,
    Py_ssize_t n_rows, const double* coef, Py_ssize_t n_out, const int64_t* columns, Py_ssize_t start, Py_ssize_t stop,
    vec* panel, vec* block, const vec** source, int64_t* new_rows, double* tile, const stored_t* stored, double* f,
    Py_ssize_t n_f
) noexcept nogil:
    """f[o, i] += sum_r coef[o, r] K(z_rows[r], x_i), for i from start, a multiple of WIDE."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D)
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), i = start, n, r, o, c, n_new = 0, at, copy
    cdef vec terms[2 * HALF]
    cdef vec* to
    cdef const vec* whole
    for r in range(n_rows):
        if not (is_own(stored, r) or is_ready(stored, r)):
            new_rows[n_new] = rows[r]
            n_new += 1
    while i < stop:
        n = min(wide, stop - i)
        if n_new:
            set_column_terms(kernel, X, columns, i, n, terms)
            if stored.panels != NULL:
                whole = <const vec*> (stored.panels + i * Z.n_lines * size)
                meet(kernel, Z, values, new_rows, n_new, whole, terms, block)
            else:
                put_panel(X, Z, columns, i, n, panel, False)
                meet(kernel, Z, values, new_rows, n_new, panel, terms, block)
                put_panel(X, Z, columns, i, n, panel, True)
        at, copy = 0, n_new
        for r in range(n_rows):
            if is_own(stored, r):
                source[r] = in_order(
                    <const vec*> (stored.own + stored.own_row[r] * stored.own_width * size), stored.own_column + i, n,
                    block + copy * 2 * HALF
                )
                copy += 1
                continue
            to = NULL
            if stored.slot != NULL and stored.slot[r] >= 0:
                to = <vec*> (stored.cache + (stored.slot[r] * stored.width + i) * size)
            if is_ready(stored, r):
                source[r] = to
                continue
            source[r] = block + at * 2 * HALF
            at += 1
            if to != NULL:
                memcpy(to, source[r], wide * size)
        for o in range(n_out):
            for c in range(n):
                tile[c] = f[o * n_f + i + c]
            for c in range(n, wide):
                tile[c] = 0
            accumulate(source, coef + o * n_rows, n_rows, tile)
            for c in range(n):
                f[o * n_f + i + c] = tile[c]
        i += n


cdef packed_t as_packed(Z):
    cdef packed_t out
    cdef const int32_t[::1] line = Z.line
    cdef const int32_t[::1] column = Z.columns
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] index
    cdef const double[::1] norm = Z.norm
    out.n_lines = Z.n_lines
    out.line = &line[0]
    out.column = &column[0]
    out.indptr = NULL
    out.index = NULL
    out.norm = &norm[0]
    if Z.indptr is not None:
        indptr = Z.indptr
        index = Z.index
        out.indptr = &indptr[0]
        out.index = &index[0]
    return out


cdef kernel_t as_kernel(kernel):
    cdef kernel_t out
    out.kind, out.degree, out.gamma, out.coef0 = kernel.kind, kernel.degree, kernel.gamma, kernel.coef0
    return out


cdef const int64_t* as_list(numbers):
    """The pointer into a list of row numbers, which outlives it, or NULL for None."""
    cdef const int64_t[::1] view
    if numbers is None:
        return NULL
    view = numbers
    return &view[0]


def width(bint single):
    """Rows of a panel."""
    return 2 * HALF * (LANES_F if single else LANES_D)


def fill(
    kernel, X, Z, rows, columns, Py_ssize_t start, Py_ssize_t stop, work, out, bint mirrored=False,
    Py_ssize_t at=0
):
    """out[r, at + i] = K(z_rows[r], x_i) for i in [start, stop), where x_i is row i of X, or row columns[i].

    mirrored: out is symmetric to the last bit, and values are written to both sides of its diagonal. If at is 0, each
    x_i is z_rows[i], and half of the values are computed.
    """
    cdef kernel_t k = as_kernel(kernel)
    cdef matrix_t x = as_matrix(X)
    cdef packed_t z = as_packed(Z)
    cdef const int64_t* rows_ = as_list(rows)
    cdef const int64_t* columns_ = as_list(columns)
    cdef void* values = begin(Z.values)
    cdef void* panel = begin(work.panel)
    cdef void* block = begin(work.block)
    cdef void* to = begin(out)
    cdef Py_ssize_t n_rows = len(rows), n_out = out.shape[1]
    cdef bint single = Z.single
    require(at + stop <= n_out and n_rows <= len(out) and (not mirrored or at + stop <= len(out)))
    with nogil:
        if single:
            fill_range(
                &k, &x, &z, <const vec_f*> values, rows_, n_rows, columns_, start, stop, <vec_f*> panel,
                <vec_f*> block, <vec_f*> to, n_out, mirrored, at
            )
        else:
            fill_range(
                &k, &x, &z, <const vec_d*> values, rows_, n_rows, columns_, start, stop, <vec_d*> panel,
                <vec_d*> block, <vec_d*> to, n_out, mirrored, at
            )


def put_panels(X, Z, columns, out):
    """Write the rows in the list `columns` side by side, with the lines of Z, into the rows of out, which are zeros."""
    cdef matrix_t x = as_matrix(X)
    cdef packed_t z = as_packed(Z)
    cdef const int64_t* columns_ = as_list(columns)
    cdef Py_ssize_t i = 0, n = len(columns), wide = width(Z.single)
    cdef float* single = NULL
    cdef double* double_ = NULL
    require(out.shape[0] * wide >= n and out.shape[1] == z.n_lines * wide)
    if Z.single:
        single = <float*> begin(out)
    else:
        double_ = <double*> begin(out)
    with nogil:
        while i < n:
            if single != NULL:
                put_panel(&x, &z, columns_, i, min(wide, n - i), <vec_f*> (single + i * z.n_lines), False)
            else:
                put_panel(&x, &z, columns_, i, min(wide, n - i), <vec_d*> (double_ + i * z.n_lines), False)
            i += wide


def add(
    kernel, X, Z, rows, const double[:, ::1] coef, columns, Py_ssize_t start, Py_ssize_t stop, work, double[:, ::1] f,
    panels=None, cache=None, slot=None, ready=None, own=None, own_row=None, own_column=None
):
    """f[:, i] += coef K(z_rows, x_i) for i in [start, stop) (see `fill`), where start is a multiple of `width`.

    Row r with own_row[r] >= 0 is read from that row of `own`, x_i from its column own_column[i]; one with ready[r] from
    slot[r] of the cache; another is written there if slot[r] >= 0. panels: `columns` by `put_panels`, or None.
    """
    cdef kernel_t k = as_kernel(kernel)
    cdef matrix_t x = as_matrix(X)
    cdef packed_t z = as_packed(Z)
    cdef stored_t stored
    cdef const int64_t* rows_ = as_list(rows)
    cdef const int64_t* columns_ = as_list(columns)
    cdef const unsigned char[::1] ready_view
    cdef void* values = begin(Z.values)
    cdef void* panel = begin(work.panel)
    cdef void* block = begin(work.block)
    cdef double* tile = <double*> begin(work.tile)
    cdef int64_t[::1] source = work.source
    cdef int64_t[::1] new = work.new
    cdef Py_ssize_t n_rows = coef.shape[1], n_out = coef.shape[0]
    cdef bint single = Z.single
    require(n_rows > 0 and n_out > 0 and source.shape[0] >= n_rows and f.shape[0] == n_out and stop <= f.shape[1])
    stored.cache, stored.own, stored.panels = NULL, NULL, <const char*> begin(panels)
    require(panels is None or panels.shape[1] == Z.n_lines * (WIDE_F if single else WIDE_D))
    stored.slot, stored.own_row, stored.own_column = as_list(slot), as_list(own_row), as_list(own_column)
    stored.ready = NULL
    stored.width = stored.own_width = 0
    if ready is not None:
        ready_view = ready
        stored.ready = &ready_view[0]
        stored.width = cache.shape[1]
        stored.cache = <char*> begin(cache if cache.size else None)
    if own is not None:
        stored.own_width = own.shape[1]
        stored.own = <const char*> begin(own)
    with nogil:
        if single:
            add_range(
                &k, &x, &z, <const vec_f*> values, rows_, n_rows, &coef[0, 0], n_out, columns_, start, stop,
                <vec_f*> panel, <vec_f*> block, <const vec_f**> &source[0], &new[0], tile, &stored, &f[0, 0], f.shape[1]
            )
        else:
            add_range(
                &k, &x, &z, <const vec_d*> values, rows_, n_rows, &coef[0, 0], n_out, columns_, start, stop,
                <vec_d*> panel, <vec_d*> block, <const vec_d**> &source[0], &new[0], tile, &stored, &f[0, 0], f.shape[1]
            )
