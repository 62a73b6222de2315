# Coding of rows and queries. `_code_bound.pxd` defines codes, and proves that a search by them misses no near row.
#
# in:      rows, a Coder of `fastclf/neighbors/code_filter.py`
# written: the codes in panels; half the squared norm of each code; for each block of rows the largest slack, an upper
#          bound of the coding error of a row, and the largest length, the norm of a code plus the slack
# needs:   scratch arrays of the stated sizes; row ranges that begin at multiples of 256
from cython cimport floating
from libc.math cimport INFINITY, sqrt
from libc.stdlib cimport abs

from neighbors._code_bound cimport BLOCK, PANEL
from neighbors._metrics cimport DOT, MANHATTAN
from neighbors._panel_layout cimport PANEL_BYTES, ROWS_F
from neighbors._raw_queries cimport metrics_of
from _model cimport encode_f, model_t, piece, query_codes_t
from _vector cimport LANES_F, fmadd_f, require, spread_f, sqrt_f, sum_f, vec_f


cdef inline void project(
    const float* panel, Py_ssize_t n, const float* axes, vec_f* out
) noexcept nogil:
    """Project the rows of a panel, with n coordinates, on 4 axes: out[i] = sum_j axes[i][j] panel[j] for all rows."""
    cdef const vec_f* x = <const vec_f*> panel
    cdef const float* a = axes
    cdef const float* b = a + n
    cdef const float* c = b + n
    cdef const float* d = c + n
    cdef vec_f a0 = spread_f(0), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0
    cdef Py_ssize_t j
    for j in range(n):
        a0 = fmadd_f(x[2 * j], spread_f(a[j]), a0)
        a1 = fmadd_f(x[2 * j + 1], spread_f(a[j]), a1)
        b0 = fmadd_f(x[2 * j], spread_f(b[j]), b0)
        b1 = fmadd_f(x[2 * j + 1], spread_f(b[j]), b1)
        c0 = fmadd_f(x[2 * j], spread_f(c[j]), c0)
        c1 = fmadd_f(x[2 * j + 1], spread_f(c[j]), c1)
        d0 = fmadd_f(x[2 * j], spread_f(d[j]), d0)
        d1 = fmadd_f(x[2 * j + 1], spread_f(d[j]), d1)
    out[0] = a0
    out[1] = a1
    out[2] = b0
    out[3] = b1
    out[4] = c0
    out[5] = c1
    out[6] = d0
    out[7] = d1


cdef inline void remainder(
    const float* panel, Py_ssize_t d, const float* y, Py_ssize_t m, const float* axes_t, vec_f* out
) noexcept nogil:
    """Write |x - V y|^2 for each row x of a panel: V has the axes as columns, and y is the projection of x on them."""
    cdef vec_f part[8]
    cdef vec_f t, u, s0 = spread_f(0), s1 = s0
    cdef Py_ssize_t i, j
    for j in range(0, d, 4):
        project(y, m, axes_t + j * m, part)
        for i in range(min(4, d - j)):
            t = (<const vec_f*> panel)[2 * (j + i)] - part[2 * i]
            u = (<const vec_f*> panel)[2 * (j + i) + 1] - part[2 * i + 1]
            s0 = fmadd_f(t, t, s0)
            s1 = fmadd_f(u, u, s1)
    out[0] = s0
    out[1] = s1


ctypedef struct coder_t:
    Py_ssize_t d
    Py_ssize_t m                    # the number of axes of the projection; 0: the rows are coded without projection
    Py_ssize_t n_codes              # the number of coordinates of a code, padding included
    const double* center
    double scale
    const float* axes               # (n_codes, d): the axes of the projection, and a last row of zeros
    # (d rounded up to a multiple of 4, number of axes): the axes of the projection as columns, then rows of zeros
    const float* axes_t
    float step
    float shift
    double kappa
    bint absolute                   # whether codes are for manhattan: errors and norms are sums of absolute values
    bint inner                      # whether the codes are for a search by inner products, not by distances
    float* w                        # (d, rows of a panel) scratch space: the centred rows of a panel
    float* y                        # (n_codes + 4, rows of a panel) scratch space: the projections of the rows
    int* code                       # (n_codes, rows of a panel) scratch space: the codes of the rows of a panel
    float* one                      # (d + n_codes,): scratch space for a single row and its projection


cdef tuple fill_coder(coder_t* c, coder, bint inner, Py_ssize_t d, Py_ssize_t n_codes):
    """Fill in a coder_t from a Coder of `fastclf/neighbors/code_filter.py`.

    Returns new scratch arrays, to which the caller must keep a reference.
    """
    cdef const double[::1] center = coder.center
    cdef const float[:, ::1] axes = coder.axes
    cdef const float[:, ::1] axes_t = coder.axes_t
    cdef float[:, ::1] w = coder.scratch(d, ROWS_F)
    cdef float[:, ::1] y = coder.scratch(n_codes + 4, ROWS_F)
    cdef int[:, ::1] code = coder.scratch(n_codes, ROWS_F, "intc")
    cdef float[:, ::1] one = coder.scratch(1, d + n_codes)
    c.d = d
    c.m = 0
    c.n_codes = n_codes
    c.center = &center[0]
    c.scale = coder.scale
    c.step = coder.step
    c.shift = coder.shift
    c.kappa = coder.kappa
    c.absolute = coder.absolute
    c.inner = inner
    c.axes = c.axes_t = NULL
    if axes is not None:
        c.m = axes_t.shape[1]
        c.axes = &axes[0, 0]
        c.axes_t = &axes_t[0, 0]
    require(n_codes % (8 if c.absolute else 4) == 0 and (n_codes == c.m + 1 if c.m else n_codes >= d))
    c.w, c.y, c.code, c.one = &w[0, 0], &y[0, 0], &code[0, 0], &one[0, 0]
    return w.base, y.base, code.base, one.base


cdef inline float dot(const float* a, const float* b, Py_ssize_t n) noexcept nogil:
    cdef vec_f s = spread_f(0), t = s
    cdef Py_ssize_t i = 0
    cdef float rest
    while i + 2 * LANES_F <= n:
        s = fmadd_f((<const vec_f*> (a + i))[0], (<const vec_f*> (b + i))[0], s)
        t = fmadd_f((<const vec_f*> (a + i + LANES_F))[0], (<const vec_f*> (b + i + LANES_F))[0], t)
        i += 2 * LANES_F
    rest = <float> sum_f(s + t)
    while i < n:
        rest += a[i] * b[i]
        i += 1
    return rest


cdef void project_one(const coder_t* c) noexcept nogil:
    """Project only the first row of a panel, in a thirtieth of the time that the whole panel takes."""
    cdef Py_ssize_t j
    cdef float* y = c.one + c.d
    cdef float t, rest = 0
    for j in range(c.d):
        c.one[j] = c.w[j * ROWS_F]
    for j in range(c.m):
        y[j] = dot(c.axes + j * c.d, c.one, c.d)
        c.y[j * ROWS_F] = y[j]
    for j in range(c.d):
        t = c.one[j] - dot(c.axes_t + j * c.m, y, c.m)
        rest += t * t
    c.y[c.m * ROWS_F] = <float> sqrt(rest) - c.shift


cdef inline void center_rows(
    const coder_t* c, const floating* X, Py_ssize_t n_rows, const double* norm2, float* norm_out
) noexcept nogil:
    """Centre at most ROWS_F rows: c.w[j][r] = g (x - mu).

    The norms written are squared Euclidean norms of the centred rows, or sums of absolute values if `absolute`.
    """
    cdef Py_ssize_t r, j, d = c.d
    cdef float* w = c.w
    cdef const floating* x
    cdef double unit
    cdef float t
    for r in range(ROWS_F):
        norm_out[r] = 0
    if n_rows < ROWS_F:
        for j in range(d * ROWS_F):
            w[j] = 0
    for r in range(n_rows):
        x = X + r * d
        if norm2 != NULL:
            unit = c.scale / sqrt(norm2[r]) if norm2[r] > 0 else 0
            for j in range(d):
                w[j * ROWS_F + r] = <float> (x[j] * unit - c.center[j] * c.scale)
        else:
            for j in range(d):
                w[j * ROWS_F + r] = <float> ((x[j] - c.center[j]) * c.scale)
    for j in range(d):
        for r in range(ROWS_F):
            t = w[j * ROWS_F + r]
            norm_out[r] += (t if t > 0 else -t) if c.absolute else t * t


cdef inline const float* project_rows(const coder_t* c, Py_ssize_t n_rows) noexcept nogil:
    """The coordinates of a panel's rows that become codes: those of the centred rows or, with axes, projections."""
    cdef Py_ssize_t j, r
    cdef vec_f rest[2]
    if c.m == 0:
        return c.w
    if n_rows == 1:
        project_one(c)
        return c.y
    for j in range(0, c.n_codes, 4):
        project(c.w, c.d, c.axes + j * c.d, <vec_f*> (c.y + j * ROWS_F))
    remainder(c.w, c.d, c.y, c.m, c.axes_t, rest)
    for r in range(2):
        (<vec_f*> (c.y + c.m * ROWS_F))[r] = sqrt_f(rest[r]) - spread_f(c.shift)
    return c.y


cdef void code_panel(
    const coder_t* c, const floating* X, Py_ssize_t n_rows, const double* norm2, float* slack_out, float* length_out
) noexcept nogil:
    """Code at most ROWS_F rows: writes the codes c.code[j][r], the slacks e and the lengths |c| + e.

    norm2 has the squared norms of the rows if they are to be divided by their norms; otherwise it is NULL.
    """
    cdef Py_ssize_t r, j, n_coordinates = c.n_codes if c.m else c.d
    cdef double up = 1 + 1e-5 + 1.2e-7 * n_coordinates
    cdef float inverse = 1 / c.step, v, i, t
    cdef float far[ROWS_F]
    cdef float near[ROWS_F]
    cdef float norm[ROWS_F]
    cdef const float* z
    center_rows(c, X, n_rows, norm2, norm)
    z = project_rows(c, n_rows)
    for r in range(ROWS_F):
        far[r] = near[r] = 0
    for j in range(n_coordinates):
        for r in range(ROWS_F):
            v = z[j * ROWS_F + r] * inverse
            t = v if v < 127 else 127
            t = t if t > -127 else -127
            # adding and then subtracting 1.5 2^23 rounds a float to an integer
            i = (t + <float> 12582912) - <float> 12582912
            t = (v if c.inner else t) - i
            far[r] += (t if t > 0 else -t) if c.absolute else t * t
            near[r] += i * i
            c.code[j * ROWS_F + r] = <int> i
    for j in range(n_coordinates * ROWS_F, c.n_codes * ROWS_F):
        c.code[j] = 0
    for r in range(n_rows):
        if c.absolute:
            slack_out[r] = <float> ((far[r] + c.kappa * norm[r] * inverse) * up + 1e-6)
        else:
            slack_out[r] = <float> (
                (sqrt(far[r]) + c.kappa * sqrt(norm[r]) * inverse) * up + 1e-6 + 2.4e-7 * c.shift * inverse
            )
        if not slack_out[r] < INFINITY:
            slack_out[r] = INFINITY
        length_out[r] = <float> (sqrt(near[r]) * up + slack_out[r])


def encode(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, index):
    """Code rows start..stop (start a multiple of 256) of a Filter of `fastclf/neighbors/code_filter.py`.

    Writes index.code, index.half, and for each block of 256 rows its largest slack and length. All these arrays must be
    0 before the call.
    """
    cdef coder_t c
    cdef const double[::1] norm2 = index.metric.norm2
    cdef unsigned char[::1] code_out = index.code
    cdef int[::1] half_out = index.half
    cdef float[::1] slack_out = index.slack
    cdef float[::1] length_out = index.length
    cdef float slack[ROWS_F]
    cdef float length[ROWS_F]
    cdef Py_ssize_t row = start, r, j, at, n_rows, n_codes = index.width, side
    cdef long long square
    cdef tuple _kept = fill_coder(&c, index.coder, <int> index.metric.code == DOT, X.shape[1], n_codes)
    side = 8 if c.absolute else 4
    require(start % BLOCK == 0)
    with nogil:
        while row < stop:
            n_rows = min(stop - row, <Py_ssize_t> ROWS_F)
            code_panel(&c, &X[row, 0], n_rows, NULL if norm2 is None else &norm2[row], slack, length)
            for r in range(n_rows):
                at = (row + r) // PANEL * PANEL * n_codes + (row + r) % PANEL * side
                square = 0
                for j in range(n_codes):
                    square += c.code[j * ROWS_F + r] * c.code[j * ROWS_F + r]
                    code_out[at + j // side * side * PANEL + j % side] = <unsigned char> (c.code[j * ROWS_F + r] + 128)
                half_out[row + r] = <int> (square // 2)
                slack_out[(row + r) // BLOCK] = max(slack_out[(row + r) // BLOCK], slack[r])
                length_out[(row + r) // BLOCK] = max(length_out[(row + r) // BLOCK], length[r])
            row += ROWS_F


cdef void code_queries(
    const coder_t* c, const double* query, const double* norm2, Py_ssize_t n, const query_codes_t* out
) noexcept nogil:
    """Write the codes c of n queries, out.base, out.total, out.slack, and out.length = |c|.

    A code is int8, or for manhattan a byte of 1..255. out.base is half of |c|^2, or 0 if the codes are for inner
    products; out.total is the sum of c.
    """
    cdef float slack[ROWS_F]
    cdef float length[ROWS_F]
    cdef Py_ssize_t row = 0, r, j, n_rows
    cdef long long square, total
    cdef int value
    while row < n:
        n_rows = min(n - row, <Py_ssize_t> ROWS_F)
        code_panel(c, query + row * c.d, n_rows, NULL if norm2 == NULL else norm2 + row, slack, length)
        for r in range(n_rows):
            square = total = 0
            for j in range(c.n_codes):
                value = c.code[j * ROWS_F + r]
                square += value * value
                total += value
                out.code[(row + r) * c.n_codes + j] = <unsigned char> (value + 128 if c.absolute else value & 255)
            out.slack[row + r] = slack[r]
            out.length[row + r] = sqrt(square) * (1 + 1e-12)
            out.base[row + r] = 0 if c.inner else 0.5 * square
            out.total[row + r] = total
        row += ROWS_F


def encode_queries(const double[:, ::1] query, coder, const double[::1] norm2, queries, bint inner):
    """Write `code`, `base`, `total`, `slack` and `length` of a CodedQueries of `fastclf/neighbors/code_filter.py`."""
    cdef coder_t c
    cdef query_codes_t out
    cdef unsigned char[:, ::1] code = queries.code
    cdef double[::1] base = queries.base, total = queries.total, slack = queries.slack, length = queries.length
    cdef tuple _kept = fill_coder(&c, coder, inner, query.shape[1], code.shape[1])
    out.code, out.base, out.total, out.slack, out.length = &code[0, 0], &base[0], &total[0], &slack[0], &length[0]
    with nogil:
        code_queries(&c, &query[0, 0], NULL if norm2 is None else &norm2[0], query.shape[0], &out)


cdef void code_inner(
    const model_t* model, coder_t* c, const double* query, const double* norm, Py_ssize_t n, const query_codes_t* out,
    char* scratch
) noexcept nogil:
    """Code queries for inner products, scaled to norm 1 and not centred, by the smallest step that clips no coordinate.

    A query of norm 0 is not scaled.
    """
    cdef double* zero = <double*> piece(&scratch, (model.n_features + n) * <Py_ssize_t> sizeof(double))
    cdef double* norm2 = zero + model.n_features
    cdef double far = metrics_of(model).dot.largest_norm + model.neighbors.center_norm, step, s, error
    cdef Py_ssize_t i, j, d = model.n_features
    cdef int largest = 0
    for j in range(d):
        zero[j] = 0
    for i in range(n):
        norm2[i] = norm[i] * norm[i]
    c.center = zero
    c.scale = 1
    c.step = <float> (1.0 / 127)
    c.shift = 0
    code_queries(c, query, norm2, n, out)
    for i in range(n * c.n_codes):
        largest = max(largest, abs(<int> <signed char> out.code[i]))
    step = (largest + 1) / 16129.0
    c.step = <float> step
    code_queries(c, query, norm2, n, out)
    for i in range(n):
        out.per[i] = out.shift[i] = INFINITY
        if norm[i] > 0:
            s = 0
            for j in range(d):
                s += query[i * d + j] * model.neighbors.center[j]
            error = (model.neighbors.delta + 8 * (d + 4) * 1.1102230246251565e-16) * 1.01 * far * norm[i]
            out.per[i] = model.neighbors.scale / model.neighbors.step / step / norm[i]
            out.shift[i] = s + error


cdef void code_raw(
    const model_t* model, const double* query, const double* norms, Py_ssize_t n, const query_codes_t* out,
    char* scratch
) noexcept nogil:
    """Code queries as `Filter._queries` of `fastclf/neighbors/code_filter.py` does.

    `norms` are the squared norms of the queries for cosine, their norms for inner products, and NULL otherwise.
    """
    cdef coder_t c
    cdef Py_ssize_t i
    c.d = model.n_features
    c.m = model.neighbors.n_axes
    c.n_codes = model.neighbors.width
    c.center = model.neighbors.center
    c.scale = model.neighbors.scale
    c.axes = model.neighbors.axes
    c.axes_t = model.neighbors.axes_t
    c.step = <float> model.neighbors.step
    c.shift = <float> model.neighbors.code_shift
    c.kappa = model.neighbors.kappa
    c.absolute = metrics_of(model).code == MANHATTAN
    c.inner = metrics_of(model).code == DOT
    c.w = <float*> piece(&scratch, c.d * PANEL_BYTES)
    c.y = <float*> piece(&scratch, (c.n_codes + 4) * PANEL_BYTES)
    c.code = <int*> piece(&scratch, c.n_codes * PANEL_BYTES)
    c.one = <float*> piece(&scratch, (c.d + c.n_codes) * <Py_ssize_t> sizeof(float))
    if c.inner:
        code_inner(model, &c, query, norms, n, out, scratch)
        return
    code_queries(&c, query, norms, n, out)
    for i in range(n):
        out.per[i] = model.neighbors.per
        out.shift[i] = 0


cdef encode_f _code_raw = code_raw
ADDRESSES = {"encode": <size_t> _code_raw}
