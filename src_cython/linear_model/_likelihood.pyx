# The log likelihood of logistic regression, its gradient and its curvature, over a range of rows.
#
#     two classes:  loss_i = log(1 + exp(-m_i)),  m_i = +-s_i,  s_i = w z_i                          K = 1
#     more:         loss_i = log(sum_k exp(s_ik)) - s_i,y(i),  s_ik = w_k z_i                        K classes
#     sums of weight_i times:  loss_i,  r_ik z_i,  a_ikm z_i z_i',    r = d loss / d s,  a = d2 loss / d s2
#
# in:      rows X, dense or CSR, their classes y and weights, parameters W
# changed: the sums of the rows so far: sums = [loss, least margin], grad, and hess if it is wanted, a block for each
#          pair of classes k <= m
#
# Dense rows are taken a panel at a time as z = ((x - shift) * factor, bias), doubles in scratch space that stays in the
# cache: W, grad and hess are those of centred and scaled columns. Sparse rows are z = (x, bias), not centred or scaled;
# the caller translates W, grad and hess. Panels and the sums in them have a fixed order; a `step` above 1 takes every
# step-th panel.
from cython cimport cdivision, floating
from libc.math cimport log
from libc.string cimport memset

from _csr cimport csr_of, csr_t
from _exp cimport exp_of_negative, logistic
from _vector cimport LANES_D, absolute, fmadd, larger, require, spread, spread_d, sum_lanes, vec_d, widen

cdef enum:
    ROWS = 24  # of a panel: whole vectors at every level, and a multiple of six
PANEL = ROWS
LANES = LANES_D

# A pass over rows, as `Pass` of `likelihood.py` has it. K is n_classes; ld is d + 1, rounded up to whole vectors.
cdef struct pass_t:
    Py_ssize_t n               # rows of X
    Py_ssize_t d               # columns of X
    Py_ssize_t ld              # numbers from one row of W, grad, hess or the panel to the next, where rows are dense
    Py_ssize_t n_classes       # 1 where there are two classes
    const int* codes           # (n,) the class of each row
    const double* weights      # (n,) or NULL: all 1
    double bias                # the number behind the columns of a row: 1, or 0 without intercept
    const double* shift        # (d,) and (d,), of dense rows
    const double* factor
    const double* W            # (K, ld); of sparse rows (d + 1, K), so that what an entry needs lies side by side
    bint shared                # whether hess has one block, the mean over classes of those on the diagonal
    bint margins               # whether the least margin is wanted
    double* sums               # [loss, least margin]
    double* grad               # as W
    double* hess               # (blocks, d + 1, ld), or NULL: not wanted
    # scratch space
    double* s                  # (K, ROWS) scores, then r
    double* weight             # (ROWS,) 0 beyond the last row
    double* curvature          # (ROWS,) weight times a, of two classes
    double* z                  # (ROWS, ld) the panel
    double* az                 # (ld, ROWS) the panel times a, transposed


cdef void load_rows(pass_t* p, const floating* x, Py_ssize_t n_rows) noexcept nogil:
    """z = ((x - shift) * factor, bias), 0 beyond the columns and the rows."""
    cdef Py_ssize_t _i, j, d = p.d, n_whole = d // LANES_D
    cdef const double* shift = p.shift
    cdef const double* factor = p.factor
    cdef double* z = p.z
    cdef vec_d v
    for _i in range(n_rows):
        for j in range(n_whole):
            if floating is float:
                v = widen(x + j * LANES_D)
            else:
                v = (<const vec_d*> x)[j]
            (<vec_d*> z)[j] = (v - (<const vec_d*> shift)[j]) * (<const vec_d*> factor)[j]
        for j in range(n_whole * LANES_D, d):
            z[j] = (x[j] - shift[j]) * factor[j]
        z[d] = p.bias
        memset(z + d + 1, 0, (p.ld - d - 1) * sizeof(double))
        x += d
        z += p.ld
    memset(z, 0, (ROWS - n_rows) * p.ld * sizeof(double))


cdef void score_one(const double* z, Py_ssize_t ld, const double* w, double* s) noexcept nogil:
    """s[i] = w z_i of a panel."""
    cdef Py_ssize_t i, j
    cdef const vec_d* row
    cdef vec_d c, s0, s1, s2, s3, s4, s5
    for i in range(0, ROWS, 6):
        s0 = s1 = s2 = s3 = s4 = s5 = spread_d(0)
        for j in range(ld // LANES_D):
            c = (<const vec_d*> w)[j]
            row = <const vec_d*> (z + i * ld) + j
            s0 = fmadd(row[0], c, s0)
            row = <const vec_d*> (<const double*> row + ld)
            s1 = fmadd(row[0], c, s1)
            row = <const vec_d*> (<const double*> row + ld)
            s2 = fmadd(row[0], c, s2)
            row = <const vec_d*> (<const double*> row + ld)
            s3 = fmadd(row[0], c, s3)
            row = <const vec_d*> (<const double*> row + ld)
            s4 = fmadd(row[0], c, s4)
            row = <const vec_d*> (<const double*> row + ld)
            s5 = fmadd(row[0], c, s5)
        s[i] = sum_lanes(s0)
        s[i + 1] = sum_lanes(s1)
        s[i + 2] = sum_lanes(s2)
        s[i + 3] = sum_lanes(s3)
        s[i + 4] = sum_lanes(s4)
        s[i + 5] = sum_lanes(s5)


cdef void score_two(const double* z, Py_ssize_t ld, const double* w, double* s) noexcept nogil:
    """s[k, i] = w_k z_i of a panel, for two k, six rows at a time: twelve sums in registers."""
    cdef Py_ssize_t i, j
    cdef const double* row
    cdef vec_d c, e, x, s0, s1, s2, t0, t1, t2, s3, s4, s5, t3, t4, t5
    for i in range(0, ROWS, 6):
        s0 = s1 = s2 = s3 = s4 = s5 = t0 = t1 = t2 = t3 = t4 = t5 = spread_d(0)
        for j in range(ld // LANES_D):
            c = (<const vec_d*> w)[j]
            e = (<const vec_d*> (w + ld))[j]
            row = z + i * ld + j * LANES_D
            x = (<const vec_d*> row)[0]
            s0 = fmadd(x, c, s0)
            t0 = fmadd(x, e, t0)
            x = (<const vec_d*> (row + ld))[0]
            s1 = fmadd(x, c, s1)
            t1 = fmadd(x, e, t1)
            x = (<const vec_d*> (row + 2 * ld))[0]
            s2 = fmadd(x, c, s2)
            t2 = fmadd(x, e, t2)
            row += 3 * ld
            x = (<const vec_d*> row)[0]
            s3 = fmadd(x, c, s3)
            t3 = fmadd(x, e, t3)
            x = (<const vec_d*> (row + ld))[0]
            s4 = fmadd(x, c, s4)
            t4 = fmadd(x, e, t4)
            x = (<const vec_d*> (row + 2 * ld))[0]
            s5 = fmadd(x, c, s5)
            t5 = fmadd(x, e, t5)
        s[i] = sum_lanes(s0)
        s[i + 1] = sum_lanes(s1)
        s[i + 2] = sum_lanes(s2)
        s[i + 3] = sum_lanes(s3)
        s[i + 4] = sum_lanes(s4)
        s[i + 5] = sum_lanes(s5)
        s[ROWS + i] = sum_lanes(t0)
        s[ROWS + i + 1] = sum_lanes(t1)
        s[ROWS + i + 2] = sum_lanes(t2)
        s[ROWS + i + 3] = sum_lanes(t3)
        s[ROWS + i + 4] = sum_lanes(t4)
        s[ROWS + i + 5] = sum_lanes(t5)


cdef void add_products_one(double* g, const double* r, const double* z, Py_ssize_t first, Py_ssize_t ld) noexcept nogil:
    """g[j] += sum_i r[i] z[i, j], from column `first` on."""
    cdef Py_ssize_t i, j = first
    cdef const double* row
    cdef vec_d c, g0, g1, g2, g3
    while j + 4 * LANES_D <= ld:
        g0 = (<vec_d*> (g + j))[0]
        g1 = (<vec_d*> (g + j))[1]
        g2 = (<vec_d*> (g + j))[2]
        g3 = (<vec_d*> (g + j))[3]
        row = z + j
        for i in range(ROWS):
            c = spread(<const vec_d*> r, i)
            g0 = fmadd((<const vec_d*> row)[0], c, g0)
            g1 = fmadd((<const vec_d*> row)[1], c, g1)
            g2 = fmadd((<const vec_d*> row)[2], c, g2)
            g3 = fmadd((<const vec_d*> row)[3], c, g3)
            row += ld
        (<vec_d*> (g + j))[0] = g0
        (<vec_d*> (g + j))[1] = g1
        (<vec_d*> (g + j))[2] = g2
        (<vec_d*> (g + j))[3] = g3
        j += 4 * LANES_D
    while j < ld:
        g0 = (<vec_d*> (g + j))[0]
        row = z + j
        for i in range(ROWS):
            g0 = fmadd((<const vec_d*> row)[0], spread(<const vec_d*> r, i), g0)
            row += ld
        (<vec_d*> (g + j))[0] = g0
        j += LANES_D


cdef void add_products_two(double* g, const double* r, const double* z, Py_ssize_t first, Py_ssize_t ld) noexcept nogil:
    """g[k, j] += sum_i r[k, i] z[i, j] for two k, from column `first` on."""
    cdef Py_ssize_t i, j = first
    cdef const double* row
    cdef double* h = g + ld
    cdef vec_d c, e, x, g0, g1, g2, g3, h0, h1, h2, h3
    while j + 4 * LANES_D <= ld:
        g0 = (<vec_d*> (g + j))[0]
        g1 = (<vec_d*> (g + j))[1]
        g2 = (<vec_d*> (g + j))[2]
        g3 = (<vec_d*> (g + j))[3]
        h0 = (<vec_d*> (h + j))[0]
        h1 = (<vec_d*> (h + j))[1]
        h2 = (<vec_d*> (h + j))[2]
        h3 = (<vec_d*> (h + j))[3]
        row = z + j
        for i in range(ROWS):
            c = spread(<const vec_d*> r, i)
            e = spread(<const vec_d*> r, ROWS + i)
            x = (<const vec_d*> row)[0]
            g0 = fmadd(x, c, g0)
            h0 = fmadd(x, e, h0)
            x = (<const vec_d*> row)[1]
            g1 = fmadd(x, c, g1)
            h1 = fmadd(x, e, h1)
            x = (<const vec_d*> row)[2]
            g2 = fmadd(x, c, g2)
            h2 = fmadd(x, e, h2)
            x = (<const vec_d*> row)[3]
            g3 = fmadd(x, c, g3)
            h3 = fmadd(x, e, h3)
            row += ld
        (<vec_d*> (g + j))[0] = g0
        (<vec_d*> (g + j))[1] = g1
        (<vec_d*> (g + j))[2] = g2
        (<vec_d*> (g + j))[3] = g3
        (<vec_d*> (h + j))[0] = h0
        (<vec_d*> (h + j))[1] = h1
        (<vec_d*> (h + j))[2] = h2
        (<vec_d*> (h + j))[3] = h3
        j += 4 * LANES_D
    add_products_one(g, r, z, j, ld)
    add_products_one(h, r + ROWS, z, j, ld)


cdef void link_two(pass_t* p, const int* codes, Py_ssize_t n_rows) noexcept nogil:
    """Of two classes: the scores become r, the losses are added, and the curvature is kept."""
    cdef double sign[ROWS]
    cdef Py_ssize_t i
    cdef vec_d m, loss, q, a, y, weight, total = spread_d(0)
    for i in range(ROWS):
        sign[i] = 2.0 * codes[i] - 1 if i < n_rows else 1.0
    for i in range(ROWS // LANES_D):
        y = (<vec_d*> sign)[i]
        weight = (<vec_d*> p.weight)[i]
        m = y * (<vec_d*> p.s)[i]
        logistic(m, &loss, &q, &a)
        total = fmadd(weight, loss, total)
        (<vec_d*> p.s)[i] = -(y * weight) * q
        (<vec_d*> p.curvature)[i] = weight * a
        (<vec_d*> sign)[i] = m
    p.sums[0] += sum_lanes(total)
    if p.margins:
        for i in range(n_rows):
            if p.weight[i] > 0 and not sign[i] >= p.sums[1]:
                p.sums[1] = sign[i]


@cdivision(True)  # the debug build's check is not for vectors
cdef void link_more(pass_t* p, const int* codes, Py_ssize_t n_rows) noexcept nogil:
    """Of more classes: the scores become weight times probability, and the losses are added."""
    cdef double most[ROWS]
    cdef double total[ROWS]
    cdef double own[ROWS]
    cdef Py_ssize_t i, k
    cdef double margin
    cdef vec_d e, top, norm
    for i in range(n_rows):
        own[i] = p.s[codes[i] * ROWS + i]
    if p.margins:
        for i in range(n_rows):
            if p.weight[i] > 0:
                for k in range(p.n_classes):
                    margin = own[i] - p.s[k * ROWS + i]
                    if k != codes[i] and not margin >= p.sums[1]:
                        p.sums[1] = margin
    for i in range(ROWS // LANES_D):
        top = (<vec_d*> p.s)[i]
        for k in range(1, p.n_classes):
            top = larger(top, (<vec_d*> (p.s + k * ROWS))[i])
        norm = spread_d(0)
        for k in range(p.n_classes):
            e = exp_of_negative((<vec_d*> (p.s + k * ROWS))[i] - top)
            (<vec_d*> (p.s + k * ROWS))[i] = e
            norm += e
        (<vec_d*> most)[i] = top
        (<vec_d*> total)[i] = norm
        norm = (<vec_d*> p.weight)[i] / norm
        for k in range(p.n_classes):
            (<vec_d*> (p.s + k * ROWS))[i] *= norm
    for i in range(n_rows):
        p.sums[0] += p.weight[i] * (log(total[i]) + (most[i] - own[i]))


cdef inline double curvature_of(const pass_t* p, Py_ssize_t k, Py_ssize_t m, Py_ssize_t i) noexcept nogil:
    """weight a_km of row i, or the mean of all weight a_kk if `shared`; s[k] is weight times probability."""
    cdef Py_ssize_t j
    cdef double a
    if p.n_classes == 1:
        return p.curvature[i]
    if p.weight[i] == 0:
        return 0
    if p.shared:
        a = p.weight[i]
        for j in range(p.n_classes):
            a -= p.s[j * ROWS + i] * (p.s[j * ROWS + i] / p.weight[i])
        return a / p.n_classes
    if k == m:
        return p.s[k * ROWS + i] * (1 - p.s[k * ROWS + i] / p.weight[i])
    return -p.s[k * ROWS + i] * (p.s[m * ROWS + i] / p.weight[i])


cdef void add_curvature(pass_t* p) noexcept nogil:
    """hess[k, m] += sum_i a_i z_i z_i', on and above the diagonal."""
    cdef Py_ssize_t i, j, k, m, last = 1 if p.shared else p.n_classes
    cdef double a
    cdef double* hess = p.hess
    for k in range(last):
        for m in range(k, last):
            for i in range(ROWS):
                a = curvature_of(p, k, m, i)
                for j in range(p.ld):
                    p.az[j * ROWS + i] = a * p.z[i * p.ld + j]
            for j in range(0, p.d, 2):
                add_products_two(hess + j * p.ld, p.az + j * ROWS, p.z, j - j % LANES_D, p.ld)
            if p.d % 2 == 0:
                add_products_one(hess + p.d * p.ld, p.az + p.d * ROWS, p.z, p.d - p.d % LANES_D, p.ld)
            hess += (p.d + 1) * p.ld


cdef void link(pass_t* p, Py_ssize_t first, Py_ssize_t n_rows) noexcept nogil:
    """Load the weights of a panel's rows, then add the losses of its scores, which become r or probabilities."""
    cdef Py_ssize_t i
    for i in range(n_rows):
        p.weight[i] = 1 if p.weights is NULL else p.weights[first + i]
    for i in range(n_rows, ROWS):
        p.weight[i] = 0
    if p.n_classes == 1:
        link_two(p, p.codes + first, n_rows)
    else:
        link_more(p, p.codes + first, n_rows)


cdef void finish_residual(pass_t* p, Py_ssize_t first, Py_ssize_t n_rows) noexcept nogil:
    """Probabilities become r = weight (probability - [own class]), once the curvature no longer needs them."""
    cdef Py_ssize_t i
    if p.n_classes > 1:
        for i in range(n_rows):
            p.s[p.codes[first + i] * ROWS + i] -= p.weight[i]


cdef void pass_dense(
    pass_t* p, const floating* X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step
) noexcept nogil:
    """Add up panels start, start + step, ... before stop."""
    cdef Py_ssize_t panel = start, first, n_rows, k
    while panel < stop:
        first = panel * ROWS
        n_rows = min(<Py_ssize_t> ROWS, p.n - first)
        load_rows(p, X + first * p.d, n_rows)
        for k in range(0, p.n_classes - 1, 2):
            score_two(p.z, p.ld, p.W + k * p.ld, p.s + k * ROWS)
        if p.n_classes % 2:
            score_one(p.z, p.ld, p.W + (p.n_classes - 1) * p.ld, p.s + (p.n_classes - 1) * ROWS)
        link(p, first, n_rows)
        if p.hess is not NULL:
            add_curvature(p)
        finish_residual(p, first, n_rows)
        for k in range(0, p.n_classes - 1, 2):
            add_products_two(p.grad + k * p.ld, p.s + k * ROWS, p.z, 0, p.ld)
        if p.n_classes % 2:
            add_products_one(p.grad + (p.n_classes - 1) * p.ld, p.s + (p.n_classes - 1) * ROWS, p.z, 0, p.ld)
        panel += step


cdef void add_sparse_curvature(
    pass_t* p, const csr_t* X, const floating* value, Py_ssize_t first, Py_ssize_t n_rows
) noexcept nogil:
    """hess[k, m] += sum_i a_i z_i z_i' of a panel's rows, on and above the diagonal."""
    cdef Py_ssize_t i, j, k, m, e, f, last = 1 if p.shared else p.n_classes
    cdef double a, ax
    cdef double* hess = p.hess
    for k in range(last):
        for m in range(k, last):
            for i in range(n_rows):
                a = curvature_of(p, k, m, i)
                for e in range(X.indptr[first + i], X.indptr[first + i + 1]):
                    ax = a * value[e]
                    j = X.indices[e] * p.ld
                    for f in range(e, X.indptr[first + i + 1]):
                        hess[j + X.indices[f]] += ax * value[f]
                    hess[j + p.d] += ax * p.bias
                hess[p.d * p.ld + p.d] += a * p.bias * p.bias
            hess += (p.d + 1) * p.ld


cdef void pass_sparse(
    pass_t* p, const csr_t* X, const floating* value, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step
) noexcept nogil:
    """Add up panels start, start + step, ... before stop."""
    cdef Py_ssize_t panel = start, first, n_rows, i, k, e, K = p.n_classes
    cdef double x
    cdef const double* w
    cdef double* g
    while panel < stop:
        first = panel * ROWS
        n_rows = min(<Py_ssize_t> ROWS, p.n - first)
        memset(p.s, 0, K * ROWS * sizeof(double))
        for i in range(n_rows):
            for k in range(K):
                p.s[k * ROWS + i] = p.bias * p.W[p.d * K + k]
            for e in range(X.indptr[first + i], X.indptr[first + i + 1]):
                x = value[e]
                w = p.W + X.indices[e] * K
                for k in range(K):
                    p.s[k * ROWS + i] += x * w[k]
        link(p, first, n_rows)
        if p.hess is not NULL:
            add_sparse_curvature(p, X, value, first, n_rows)
        finish_residual(p, first, n_rows)
        for i in range(n_rows):
            for e in range(X.indptr[first + i], X.indptr[first + i + 1]):
                x = value[e]
                g = p.grad + X.indices[e] * K
                for k in range(K):
                    g[k] += x * p.s[k * ROWS + i]
            for k in range(K):
                p.grad[p.d * K + k] += p.bias * p.s[k * ROWS + i]
        panel += step


cdef void add_moments(pass_t* p, double* total, double* squares, double* most) noexcept nogil:
    """For each column of the panel: total += weight z, squares += weight z^2, most = max(most, |z|)."""
    cdef Py_ssize_t i, j
    cdef vec_d z, weight, t, s, m
    for j in range(p.ld // LANES_D):
        t = (<vec_d*> total)[j]
        s = (<vec_d*> squares)[j]
        m = (<vec_d*> most)[j]
        for i in range(ROWS):
            z = (<const vec_d*> (p.z + i * p.ld))[j]
            weight = spread(<const vec_d*> p.weight, i)
            t = fmadd(weight, z, t)
            s = fmadd(weight * z, z, s)
            m = larger(m, absolute(z))
        (<vec_d*> total)[j] = t
        (<vec_d*> squares)[j] = s
        (<vec_d*> most)[j] = m


cdef double* doubles(array):
    """The address of the first number of an array, which its owner keeps alive; NULL of an empty one."""
    cdef const double[::1] flat = array.reshape(-1)
    return <double*> &flat[0] if flat.shape[0] else NULL


cdef pass_t pass_of(state, Py_ssize_t n) except *:
    """A `Pass` of `likelihood.py`, whose owner keeps it alive, over n rows."""
    cdef pass_t p
    cdef const int[::1] codes = state.codes
    require(len(codes) == n and len(state.weights) in (0, n) and len(state.s) == state.n_classes)
    p.n, p.d, p.ld, p.n_classes, p.codes = n, state.d, state.ld, state.n_classes, &codes[0]
    p.weights, p.bias = doubles(state.weights), state.bias
    p.shift, p.factor = doubles(state.shift), doubles(state.factor)
    p.W, p.shared, p.margins = doubles(state.W), state.shared, state.margins
    p.sums, p.grad, p.hess = doubles(state.sums), doubles(state.grad), doubles(state.hess)
    p.s, p.weight, p.curvature = doubles(state.s), doubles(state.weight), doubles(state.curvature)
    p.z, p.az = doubles(state.z), doubles(state.az)
    return p


def dense(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, state):
    """Add panels start, start + step, ... before stop of the rows of X to a `Pass`."""
    cdef pass_t p = pass_of(state, X.shape[0])
    require(p.d == X.shape[1] and p.z is not NULL)
    with nogil:
        pass_dense(&p, &X[0, 0], start, stop, step)


def sparse(X, const floating[::1] data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, state):
    """As `dense`, of a `Csr` X with its `data`."""
    cdef csr_t rows = csr_of(X)
    cdef pass_t p = pass_of(state, rows.n_rows)
    cdef const floating* value = &data[0] if data.shape[0] else NULL
    with nogil:
        pass_sparse(&p, &rows, value, start, stop, step)


def moments(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, state, double[:, ::1] found):
    """Raise `found`, (3, ld), by the panels start to stop: sum, sum of squares and largest size of each column."""
    cdef pass_t p = pass_of(state, X.shape[0])
    cdef Py_ssize_t panel, first, n_rows, i
    require(p.d == X.shape[1] and found.shape[1] == p.ld)
    with nogil:
        for panel in range(start, stop):
            first = panel * ROWS
            n_rows = min(<Py_ssize_t> ROWS, p.n - first)
            load_rows(&p, &X[first, 0], n_rows)
            for i in range(ROWS):
                p.weight[i] = 0 if i >= n_rows else 1 if p.weights is NULL else p.weights[first + i]
            add_moments(&p, &found[0, 0], &found[1, 0], &found[2, 0])
