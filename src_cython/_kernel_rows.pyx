# Values of a kernel between packed rows z and the rows x of a matrix, in float32 or float64, whatever the matrix is.
#
#     K(z, x) = k(z.x)  or, for rbf,  exp(2 gamma z.x - gamma |z|^2 - gamma |x|^2)
#
# The rows x come in panels of WIDE rows side by side, one line for each column that some z has: a panel is made once
# and met by all z. A z with many zeros is a list of (line, value): it costs what it has, for WIDE values at a time. The
# sum of a product runs over z's entries in their order, each step a fused multiply-add where the level has it, so that
# ranges and threads change no bit.
#
# `add` sums coef[o, r] K(z_r, x_i) over the rows r in their order, in float64. A row r may have a slot of a cache, from
# which its values are read, or into which they are written.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from _kernel_matrix cimport as_matrix, begin, matrix_t
from _kernel_functions cimport LINEAR, POLY, RBF, exp_at_most_0, kernel_t, power, tanh_of
from _vector cimport LANES_D, LANES_F, fmadd, fmadd_d, require, spread, spread_d, spread_f, vec, vec_d, vec_f, widen

cdef enum:
    HALF = 4        # vectors in a line of half a panel
    ROWS = 3        # dense rows z that meet half a panel at once: 12 sums

WIDE_F = 2 * HALF * LANES_F
WIDE_D = 2 * HALF * LANES_D

ctypedef struct packed_t:
    Py_ssize_t n_lines
    const int32_t* line      # of each column, or -1
    const int32_t* column    # of each line
    const int64_t* indptr    # NULL: rows of n_lines values
    const int32_t* index
    const double* norm


cdef inline Py_ssize_t row_of(const int64_t* columns, Py_ssize_t i) noexcept nogil:
    return i if columns == NULL else columns[i]


cdef inline void put_four(
    const floating* a, const floating* b, const floating* c, const floating* d, const packed_t* Z, vec* panel,
    Py_ssize_t place
) noexcept nogil:
    """Write four dense rows side by side into the panel's lines, from `place` on."""
    cdef Py_ssize_t at, j
    cdef floating p, q, r, s
    for at in range(Z.n_lines):
        j = Z.column[at]
        p, q, r, s = a[j], b[j], c[j], d[j]
        if vec is vec_f:
            (<float*> panel)[place] = <float> p
            (<float*> panel)[place + 1] = <float> q
            (<float*> panel)[place + 2] = <float> r
            (<float*> panel)[place + 3] = <float> s
            place += HALF * LANES_F
        else:
            (<double*> panel)[place] = p
            (<double*> panel)[place + 1] = q
            (<double*> panel)[place + 2] = r
            (<double*> panel)[place + 3] = s
            place += HALF * LANES_D


cdef void put_dense(
    const floating* x, Py_ssize_t d, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n,
    vec* panel
) noexcept nogil:
    """Four rows at a time; past the last row comes the last again."""
    cdef Py_ssize_t width = HALF * (LANES_F if vec is vec_f else LANES_D), i, last = start + n - 1
    for i in range(start, start + n, 4):
        put_four(
            x + row_of(columns, i) * d, x + row_of(columns, min(i + 1, last)) * d,
            x + row_of(columns, min(i + 2, last)) * d, x + row_of(columns, min(i + 3, last)) * d,
            Z, panel if i - start < width else panel + Z.n_lines * HALF, (i - start) % width
        )


cdef inline void put_entries(
    const floating* x, const int32_t* index, Py_ssize_t n, const packed_t* Z, vec* panel, Py_ssize_t place, bint clear
) noexcept nogil:
    """Write the entries of a sparse row into its place of the panel's lines, or zeros (`clear`)."""
    cdef Py_ssize_t j, at
    for j in range(n):
        at = Z.line[index[j]]
        if at < 0:
            continue
        if vec is vec_f:
            (<float*> panel)[at * HALF * LANES_F + place] = 0 if clear else <float> x[j]
        else:
            (<double*> panel)[at * HALF * LANES_D + place] = 0 if clear else x[j]


cdef void put_sparse(
    const floating* x, const matrix_t* X, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n,
    vec* panel, bint clear
) noexcept nogil:
    cdef Py_ssize_t width = HALF * (LANES_F if vec is vec_f else LANES_D), i, row, first
    for i in range(n):
        row = row_of(columns, start + i)
        first = X.indptr[row]
        put_entries(
            x + first, X.index + first, X.indptr[row + 1] - first, Z, panel if i < width else panel + Z.n_lines * HALF,
            i % width, clear
        )


cdef void put_panel(
    const matrix_t* X, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n, vec* panel, bint clear
) noexcept nogil:
    """Write rows start..start + n (of the list `columns`, if there is one) into the panel, or clear what they wrote."""
    if X.indptr != NULL:
        if X.single != NULL:
            put_sparse(X.single, X, Z, columns, start, n, panel, clear)
        else:
            put_sparse(X.double_, X, Z, columns, start, n, panel, clear)
    elif not clear:  # dense rows write all lines
        if X.single != NULL:
            put_dense(X.single, X.d, Z, columns, start, n, panel)
        else:
            put_dense(X.double_, X.d, Z, columns, start, n, panel)


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
    vec* out, Py_ssize_t n_out, bint mirrored
) noexcept nogil:
    """out[r, i] = K(z_rows[r], x_i); its rows have n_out numbers. mirrored: for r >= i, and out[i, r] with it."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D)
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), i = start, n, r, c, first = 0
    cdef vec terms[2 * HALF]
    while i < stop:
        n = min(wide, stop - i)
        if mirrored:
            first = i
        put_panel(X, Z, columns, i, n, panel, False)
        set_column_terms(kernel, X, columns, i, n, terms)
        meet(kernel, Z, values, rows + first, n_rows - first, panel, terms, block)
        for r in range(first, n_rows):
            memcpy(<char*> out + (r * n_out + i) * size, block + (r - first) * 2 * HALF, n * size)
        for c in range(n if mirrored else 0):
            for r in range(first, n_rows):
                if vec is vec_f:
                    (<float*> out)[(i + c) * n_out + r] = (<float*> block)[(r - first) * wide + c]
                else:
                    (<double*> out)[(i + c) * n_out + r] = (<double*> block)[(r - first) * wide + c]
        put_panel(X, Z, columns, i, n, panel, True)
        i += n


cdef void add_range(
    const kernel_t* kernel, const matrix_t* X, const packed_t* Z, const vec* values, const int64_t* rows,
    Py_ssize_t n_rows, const double* coef, Py_ssize_t n_out, const int64_t* columns, Py_ssize_t start, Py_ssize_t stop,
    vec* panel, vec* block, const vec** source, int64_t* new_rows, double* tile,
    const int64_t* slot, const unsigned char* ready, vec* cache, Py_ssize_t cache_width, double* f, Py_ssize_t n_f
) noexcept nogil:
    """f[o, column i] += sum_r coef[o, r] K(z_rows[r], x_i), for i from start, a multiple of WIDE."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D)
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), i = start, n, r, o, c, n_new = 0
    cdef vec terms[2 * HALF]
    for r in range(n_rows):
        if ready == NULL or not ready[r]:
            new_rows[n_new] = rows[r]
            n_new += 1
    while i < stop:
        n = min(wide, stop - i)
        if n_new:
            put_panel(X, Z, columns, i, n, panel, False)
            set_column_terms(kernel, X, columns, i, n, terms)
            meet(kernel, Z, values, new_rows, n_new, panel, terms, block)
            put_panel(X, Z, columns, i, n, panel, True)
        n_new = 0
        for r in range(n_rows):
            if ready != NULL and ready[r]:
                source[r] = <const vec*> (<char*> cache + (slot[r] * cache_width + i) * size)
            else:
                source[r] = block + n_new * 2 * HALF
                if slot != NULL and slot[r] >= 0:
                    memcpy(<char*> cache + (slot[r] * cache_width + i) * size, source[r], wide * size)
                n_new += 1
        for o in range(n_out):
            for c in range(n):
                tile[c] = f[o * n_f + (i + c if columns == NULL else columns[i + c])]
            for c in range(n, wide):
                tile[c] = 0
            accumulate(source, coef + o * n_rows, n_rows, tile)
            for c in range(n):
                f[o * n_f + (i + c if columns == NULL else columns[i + c])] = tile[c]
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


def fill(kernel, X, Z, rows, columns, Py_ssize_t start, Py_ssize_t stop, work, out, bint mirrored=False):
    """out[r, i] = K(z_rows[r], x_i) for i in [start, stop), where x_i is row i of X, or row columns[i].

    mirrored: each x_i is z_rows[i]; a value and the one across the diagonal, equal to the last bit, are computed once.
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
    require(not mirrored or stop <= n_rows)
    with nogil:
        if single:
            fill_range(
                &k, &x, &z, <const vec_f*> values, rows_, n_rows, columns_, start, stop, <vec_f*> panel,
                <vec_f*> block, <vec_f*> to, n_out, mirrored
            )
        else:
            fill_range(
                &k, &x, &z, <const vec_d*> values, rows_, n_rows, columns_, start, stop, <vec_d*> panel,
                <vec_d*> block, <vec_d*> to, n_out, mirrored
            )


def add(
    kernel, X, Z, rows, const double[:, ::1] coef, columns, Py_ssize_t start, Py_ssize_t stop, work, double[:, ::1] f,
    cache=None, slot=None, ready=None
):
    """f[:, i] += coef K(z_rows, x_i) for i in [start, stop) (see `fill`), where start is a multiple of `width`.

    Row r with ready[r] is read from slot[r] of the cache, another is written there if slot[r] >= 0.
    """
    cdef kernel_t k = as_kernel(kernel)
    cdef matrix_t x = as_matrix(X)
    cdef packed_t z = as_packed(Z)
    cdef const int64_t* rows_ = as_list(rows)
    cdef const int64_t* columns_ = as_list(columns)
    cdef const int64_t* slot_ = as_list(slot)
    cdef const unsigned char[::1] ready_view
    cdef const unsigned char* ready_ = NULL
    cdef void* values = begin(Z.values)
    cdef void* panel = begin(work.panel)
    cdef void* block = begin(work.block)
    cdef void* cache_ = begin(cache)
    cdef double* tile = <double*> begin(work.tile)
    cdef int64_t[::1] source = work.source
    cdef int64_t[::1] new = work.new
    cdef Py_ssize_t n_rows = coef.shape[1], n_out = coef.shape[0], cache_width = 0 if cache is None else cache.shape[1]
    cdef bint single = Z.single
    require(n_rows > 0 and n_out > 0 and source.shape[0] >= n_rows)
    if ready is not None:
        ready_view = ready
        ready_ = &ready_view[0]
    with nogil:
        if single:
            add_range(
                &k, &x, &z, <const vec_f*> values, rows_, n_rows, &coef[0, 0], n_out, columns_, start, stop,
                <vec_f*> panel, <vec_f*> block, <const vec_f**> &source[0], &new[0], tile, slot_, ready_,
                <vec_f*> cache_, cache_width, &f[0, 0], f.shape[1]
            )
        else:
            add_range(
                &k, &x, &z, <const vec_d*> values, rows_, n_rows, &coef[0, 0], n_out, columns_, start, stop,
                <vec_d*> panel, <vec_d*> block, <const vec_d**> &source[0], &new[0], tile, slot_, ready_,
                <vec_d*> cache_, cache_width, &f[0, 0], f.shape[1]
            )
