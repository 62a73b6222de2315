# Values of a kernel between packed rows z and rows x of a matrix, in float32 or float64 whatever the matrix's type.
#
#     K(z, x) = k(z.x)  or, for rbf,  exp(2 gamma z.x - gamma |z|^2 - gamma |x|^2)
#
# A panel has WIDE rows x side by side, with one line for each column in which at least one row z is not 0. A panel is
# made once and multiplied by all rows z. A row z with many zeros is a list of (line, value), so that WIDE products take
# one step for each item of the list. A product is summed over the entries of z in their order, by fused multiply-adds
# if the SIMD level has them, so that neither ranges nor threads change a bit.
#
# `add` sums coef[o, r] K(z_r, x_i) over the rows r in their order, in float64. The values of a row z that has a slot in
# a cache are read from the slot, or written to the slot once they are computed.
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from kernels._matrix cimport as_matrix, begin, matrix_t
from kernels._functions cimport RBF, kernel_t, transform
from kernels._panel cimport HALF, packed_t, put_panel
from _vector cimport LANES_D, LANES_F, fmadd, fmadd_d, require, spread, spread_d, vec, vec_d, vec_f, widen

cdef enum:
    # the number of dense rows z by which half a panel is multiplied at once; their sums take 12 vector registers
    ROWS = 3
    # the number of lines of a panel that are multiplied by all rows z before the next lines, so that they (256 KB)
    # stay in the second-level cache
    LINES = 512

WIDE_F = 2 * HALF * LANES_F
WIDE_D = 2 * HALF * LANES_D

# Pointers to the arrays of a `Block` of `fastclf/kernels/values.py`, a block of a kernel matrix between some packed
# rows z and some rows x; kernels only read these arrays.
ctypedef struct block_t:
    kernel_t kernel
    matrix_t X                 # the matrix whose rows x belong to the columns of the block
    packed_t Z                 # the packed rows, some of which are the rows z of the block
    # (n_rows,): for each row of the block of the kernel matrix, its number among the packed rows
    const int64_t* rows
    Py_ssize_t n_rows
    # (n_columns,): for each column of the block of the kernel matrix its row number in X; NULL: column i is row i of X
    const int64_t* columns

# Pointers to the arrays of a `Scratch` of `fastclf/kernels/values.py`, the scratch space of one thread. Nothing
# is kept in these arrays between two calls, except zeros in a panel for sparse rows x.
ctypedef struct scratch_t:
    # (n_lines + 1, WIDE), float or double: WIDE rows x side by side; zeros between two calls if the rows are sparse
    void* panel
    # (n_rows + 1, WIDE), float or double: kernel values of the packed rows with the WIDE rows x of the panel
    void* values
    void* source               # (n_rows,): the address of each packed row's kernel values with the rows x of the panel
    int64_t* new_rows          # (n_rows,): the numbers of the packed rows whose kernel values are not in the cache
    double* tile               # (WIDE,): weighted sums of kernel values, one for each row x of a panel

# Pointers to the arrays of a `Cached` of `fastclf/kernels/values.py`, a cache of kernel values for the rows of a
# block.
ctypedef struct cached_t:
    # (n_slots, width of the block, padded to whole panels): in each slot the kernel values of a row z with all columns
    # of the block; kernels write the values that the cache does not have yet
    char* table
    Py_ssize_t width
    # (n_rows,): for each row of the block its slot, a row of the cache `table`; negative: it has no slot
    const int64_t* slot
    # (n_rows,): 1 if the row's slot of the cache already has its kernel values; NULL: there is no cache
    const unsigned char* ready

# The weighted sums of kernel values that `add` computes, f[o, i] += sum_r coef[o, r] K(z_rows[r], x_i), for n outputs
# o.
ctypedef struct sums_t:
    # (n, n_rows): the coefficient of each row of the block in each of the n weighted sums of kernel values
    const double* coef
    double* f  # (n, ld): for each of n outputs, the weighted sum of kernel values for each row x; changed
    Py_ssize_t n               # the number of outputs, weighted sums of kernel values that are computed for each row x
    Py_ssize_t ld              # the number of doubles from one row of the array f to the next


cdef inline void meet_sparse(
    const int32_t* index, const vec* values, Py_ssize_t first, Py_ssize_t stop, const vec* panel, Py_ssize_t half,
    vec* out
) noexcept nogil:
    """Compute the inner products of one packed row, a list of (line, value), with the rows of a panel."""
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
    const vec* values, const Py_ssize_t* z, Py_ssize_t n_lines, const vec* panel, bint begins, vec** out
) noexcept nogil:
    """Compute the inner products of ROWS dense packed rows, row k from values[z[k]] on, with rows of half a panel.

    They are added to `out` unless `begins`.
    """
    cdef vec s0, s1, s2, s3, t0, t1, t2, t3, u0, u1, u2, u3, a, b, c, p
    cdef Py_ssize_t k
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = u0 = u1 = u2 = u3 = panel[0] - panel[0]
    if not begins:
        s0 = out[0][0]
        s1 = out[0][1]
        s2 = out[0][2]
        s3 = out[0][3]
        t0 = out[1][0]
        t1 = out[1][1]
        t2 = out[1][2]
        t3 = out[1][3]
        u0 = out[2][0]
        u1 = out[2][1]
        u2 = out[2][2]
        u3 = out[2][3]
    for k in range(n_lines):
        a = spread(values, z[0] + k)
        b = spread(values, z[1] + k)
        c = spread(values, z[2] + k)
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
    out[0][0] = s0
    out[0][1] = s1
    out[0][2] = s2
    out[0][3] = s3
    out[1][0] = t0
    out[1][1] = t1
    out[1][2] = t2
    out[1][3] = t3
    out[2][0] = u0
    out[2][1] = u1
    out[2][2] = u2
    out[2][3] = u3


cdef inline void meet_halves(
    const packed_t* Z, const int64_t* r, Py_ssize_t n, Py_ssize_t first, const vec* panel, vec* to
) noexcept nogil:
    """Compute the inner products of the dense packed rows r[k], k < min(n, ROWS), with the rows of a panel.

    Only LINES lines from `first` on count; their products are added to those of the lines before.
    """
    cdef Py_ssize_t half = Z.n_lines * HALF, n_lines = min(<Py_ssize_t> LINES, Z.n_lines - first), k, row
    cdef Py_ssize_t z[ROWS]
    cdef vec* out[ROWS]
    panel += first * HALF
    for k in range(ROWS):
        row = min(k, n - 1)
        z[k] = r[row] * Z.n_lines + first
        out[k] = to + row * 2 * HALF
    meet_dense(<const vec*> Z.values, z, n_lines, panel, first == 0, out)
    for k in range(ROWS):
        out[k] += HALF
    meet_dense(<const vec*> Z.values, z, n_lines, panel + half, first == 0, out)


cdef void meet(
    const block_t* b, const int64_t* rows, Py_ssize_t n_rows, const vec* panel, const vec* column_terms, vec* out
) noexcept nogil:
    """Write to out[i, :] the kernel values between packed row rows[i] and the rows of a panel."""
    cdef Py_ssize_t i, half = b.Z.n_lines * HALF, first
    cdef const packed_t* Z = &b.Z
    if Z.indptr != NULL:
        for i in range(n_rows):
            meet_sparse(
                Z.index, <const vec*> Z.values, Z.indptr[rows[i]], Z.indptr[rows[i] + 1], panel, half,
                out + i * 2 * HALF
            )
    else:
        first = 0
        while True:
            i = 0
            while i < n_rows:
                meet_halves(Z, rows + i, n_rows - i, first, panel, out + i * 2 * HALF)
                i += ROWS
            first += LINES
            if first >= Z.n_lines:  # also where no column has a value, and all products are 0
                break
    for i in range(n_rows):
        transform(&b.kernel, Z.norm[rows[i]], column_terms, out + i * 2 * HALF, 2 * HALF)


cdef void set_column_terms(const block_t* b, Py_ssize_t start, Py_ssize_t n, vec* out) noexcept nogil:
    """For rbf, write -gamma |x|^2 of the rows x of columns [start, start + n), then zeros to the width of a panel."""
    cdef Py_ssize_t i, row
    if b.kernel.kind != RBF:
        return
    memset(out, 0, 2 * HALF * sizeof(vec))
    for i in range(n):
        row = start + i if b.columns == NULL else b.columns[start + i]
        if vec is vec_f:
            (<float*> out)[i] = <float> (-b.kernel.gamma * b.X.norm[row])
        else:
            (<double*> out)[i] = -b.kernel.gamma * b.X.norm[row]


cdef inline vec_d load(const vec* a, Py_ssize_t i) noexcept nogil:
    """A SIMD vector of doubles: the LANES_D numbers from a[i] on."""
    if vec is vec_f:
        return widen(<const float*> a + i)
    else:
        return (<const vec_d*> (<const double*> a + i))[0]


cdef void accumulate(const vec* const* k, const double* coef, Py_ssize_t n_rows, double* f) noexcept nogil:
    """Add sum_r coef[r] k[r] to f, in order of r, where k[r] has the kernel values of row r with a panel's rows."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D), i = 0, r
    cdef vec_d s0, s1, s2, s3, s4, s5, s6, s7, a
    # Sums are doubles, also sums of floats. Each pass through the loop adds to 8 SIMD vectors of sums: for all rows of
    # a panel of doubles or, as a vector holds twice as many floats, for half the rows of a panel of floats.
    while i < wide:
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


cdef inline void meet_panel(
    const block_t* b, const int64_t* rows, Py_ssize_t n_rows, Py_ssize_t start, Py_ssize_t n, vec* panel, vec* out
) noexcept nogil:
    """out[i, :] = K(z, x) for the packed row z with the number rows[i] and columns [start, start + n) of the block.

    `panel` has zeros before and after the call.
    """
    cdef vec terms[2 * HALF]
    put_panel(&b.X, &b.Z, b.columns, start, n, panel, False)
    set_column_terms(b, start, n, terms)
    meet(b, rows, n_rows, panel, terms, out)
    put_panel(&b.X, &b.Z, b.columns, start, n, panel, True)


cdef void fill_range(
    const block_t* b, const scratch_t* scratch, Py_ssize_t start, Py_ssize_t stop, vec* out, Py_ssize_t ld,
    bint mirrored
) noexcept nogil:
    """Write columns [start, stop) of a kernel matrix block to `out`, (n_rows, ld), and also as rows if `mirrored`."""
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D)
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), i = start, n, r, c, first = 0
    cdef vec* values = <vec*> scratch.values
    while i < stop:
        n = min(wide, stop - i)
        if mirrored:
            first = i
        meet_panel(b, b.rows + first, b.n_rows - first, i, n, <vec*> scratch.panel, values)
        for r in range(first, b.n_rows):
            memcpy(<char*> out + (r * ld + i) * size, values + (r - first) * 2 * HALF, n * size)
        for c in range(n if mirrored else 0):
            for r in range(first, b.n_rows):
                if vec is vec_f:
                    (<float*> out)[(i + c) * ld + r] = (<float*> values)[(r - first) * wide + c]
                else:
                    (<double*> out)[(i + c) * ld + r] = (<double*> values)[(r - first) * wide + c]
        i += n


cdef inline bint is_ready(const cached_t* cached, Py_ssize_t r) noexcept nogil:
    """Whether the cache already has the kernel values of row r of a block."""
    return cached.ready != NULL and cached.ready[r]


cdef inline void find_values(
    const cached_t* cached, Py_ssize_t n_rows, Py_ssize_t start, const vec* values, const vec** source_out
) noexcept nogil:
    """Find the values between each row and the panel that begins at column `start`, and copy new values to the cache.

    `values` has the new values, row after row.
    """
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D), r
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double)
    cdef vec* slot
    for r in range(n_rows):
        slot = NULL
        if cached.ready != NULL and cached.slot[r] >= 0:
            slot = <vec*> (cached.table + (cached.slot[r] * cached.width + start) * size)
        if is_ready(cached, r):
            source_out[r] = slot
            continue
        source_out[r] = values
        if slot != NULL:
            memcpy(slot, values, wide * size)
        values += 2 * HALF


cdef void add_range(
    const block_t* b, const cached_t* cached, const scratch_t* scratch, const sums_t* sums, vec* values,
    Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Add to the sums of columns [start, stop) of the block; start is a multiple of WIDE.

    `values` is `scratch.values` with its type.
    """
    cdef Py_ssize_t wide = 2 * HALF * (LANES_F if vec is vec_f else LANES_D), i = start, n, r, o, c, n_new = 0
    cdef const vec** source = <const vec**> scratch.source
    cdef double* f
    for r in range(b.n_rows):
        if not is_ready(cached, r):
            scratch.new_rows[n_new] = b.rows[r]
            n_new += 1
    while i < stop:
        n = min(wide, stop - i)
        if n_new:
            meet_panel(b, scratch.new_rows, n_new, i, n, <vec*> scratch.panel, values)
        find_values(cached, b.n_rows, i, values, source)
        for o in range(sums.n):
            f = sums.f + o * sums.ld + i
            for c in range(n):
                scratch.tile[c] = f[c]
            for c in range(n, wide):
                scratch.tile[c] = 0
            accumulate(source, sums.coef + o * b.n_rows, b.n_rows, scratch.tile)
            for c in range(n):
                f[c] = scratch.tile[c]
        i += n


cdef packed_t as_packed(Z):
    """A struct of pointers to the arrays of a `Packed`, which must outlive the struct."""
    cdef packed_t out
    cdef const int32_t[::1] line = Z.line
    cdef const int32_t[::1] column = Z.columns
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] index
    cdef const double[::1] norm = Z.norm
    out.n_lines = Z.n_lines
    out.line = &line[0]
    out.column = &column[0]
    out.values = begin(Z.values)
    out.indptr = NULL
    out.index = NULL
    out.norm = &norm[0]
    if Z.indptr is not None:
        indptr = Z.indptr
        index = Z.index
        out.indptr = &indptr[0]
        out.index = &index[0]
    return out


cdef const int64_t* as_list(numbers):
    """A pointer to an array of row numbers, which must outlive the pointer; NULL for None."""
    cdef const int64_t[::1] view
    if numbers is None:
        return NULL
    view = numbers
    return &view[0]


cdef block_t as_block(block):
    """A struct of pointers to the arrays of a `Block`, which must outlive the struct."""
    cdef block_t out
    kernel = block.kernel
    out.kernel.kind, out.kernel.degree, out.kernel.gamma = kernel.kind, kernel.degree, kernel.gamma
    out.kernel.coef0 = kernel.coef0
    out.X, out.Z = as_matrix(block.X), as_packed(block.Z)
    out.rows, out.n_rows, out.columns = as_list(block.rows), len(block.rows), as_list(block.columns)
    return out


cdef scratch_t as_scratch(scratch, Py_ssize_t n_rows):
    """A struct of pointers to the arrays of a `Scratch` for n_rows rows, which must outlive the struct."""
    cdef scratch_t out
    cdef int64_t[::1] source = scratch.source
    cdef int64_t[::1] new_rows = scratch.new_rows
    require(source.shape[0] >= n_rows and new_rows.shape[0] >= n_rows)
    out.panel, out.values, out.tile = begin(scratch.panel), begin(scratch.values), <double*> begin(scratch.tile)
    out.source, out.new_rows = &source[0], &new_rows[0]
    return out


cdef cached_t as_cached(cached, Py_ssize_t n_rows):
    """A struct of pointers to the arrays of a `Cached`, which must outlive the struct; None means no cache."""
    cdef cached_t out
    cdef const unsigned char[::1] ready
    out.table, out.width, out.slot, out.ready = NULL, 0, NULL, NULL
    if cached is not None:
        ready = cached.ready
        require(ready.shape[0] == n_rows and len(cached.slot) == n_rows)
        out.table = <char*> begin(cached.table if cached.table.size else None)
        out.width, out.slot, out.ready = cached.table.shape[1], as_list(cached.slot), &ready[0]
    return out


def width(bint single):
    """The number of rows of a panel, which has floats if `single`, otherwise doubles."""
    return 2 * HALF * (LANES_F if single else LANES_D)


def fill(block, scratch, Py_ssize_t start, Py_ssize_t stop, out, bint mirrored):
    """out[r, i] = K(z_rows[r], x_i) for columns i in [start, stop) of a `Block`, with a thread's `Scratch`.

    If `mirrored`, each x_i is z_rows[i]. Half of the values are then computed and written to both sides of the
    diagonal, so that `out` is symmetric to the last bit.
    """
    cdef block_t b = as_block(block)
    cdef scratch_t s = as_scratch(scratch, b.n_rows)
    cdef void* to = begin(out)
    cdef Py_ssize_t ld = out.shape[1]
    cdef bint single = block.Z.single
    require(stop <= ld and b.n_rows <= len(out) and (not mirrored or stop <= len(out)))
    with nogil:
        if single:
            fill_range(&b, &s, start, stop, <vec_f*> to, ld, mirrored)
        else:
            fill_range(&b, &s, start, stop, <vec_d*> to, ld, mirrored)


def add(block, cached, scratch, const double[:, ::1] coef, double[:, ::1] f, Py_ssize_t start, Py_ssize_t stop):
    """f[:, i] += coef K(z_rows, x_i) for columns i in [start, stop) of a `Block`; start is a multiple of `width`.

    `cached` is a `Cached` or None; `scratch` is the thread's `Scratch`.
    """
    cdef block_t b = as_block(block)
    cdef scratch_t s = as_scratch(scratch, b.n_rows)
    cdef cached_t have = as_cached(cached, b.n_rows)
    cdef sums_t sums
    cdef bint single = block.Z.single
    require(b.n_rows > 0 and coef.shape[1] == b.n_rows and coef.shape[0] > 0)
    require(f.shape[0] == coef.shape[0] and stop <= f.shape[1])
    sums.coef, sums.f, sums.n, sums.ld = &coef[0, 0], &f[0, 0], coef.shape[0], f.shape[1]
    with nogil:
        if single:
            add_range(&b, &have, &s, &sums, <vec_f*> s.values, start, stop)
        else:
            add_range(&b, &have, &s, &sums, <vec_d*> s.values, start, stop)
