# The log likelihood of logistic regression, its gradient and its curvature, over a range of rows.
#
#     two classes:  loss_i = log(1 + exp(-m_i)),  m_i = +-s_i,  s_i = w z_i                          K = 1
#     more:         loss_i = log(sum_k exp(s_ik)) - s_i,y(i),  s_ik = w_k z_i                        K classes
#     sums of:  weight_i loss_i,  r_ik z_i,  weight_i a_ikm z_i z_i',    r = weight d loss / d s,  a = d2 loss / d s2
#
# z_i is row i with one more column for the intercept, s are its scores, w the parameters, and m_i is the margin.
#
# in:      rows X, dense or CSR, their classes y and weights, parameters W
# changed: sums over the rows so far: sums = [loss, least margin, ...], grad and, if wanted, hess, with a block for each
#          pair of classes k <= m
#
# Dense rows are processed in panels of z = ((x - shift) * factor, bias), doubles in scratch space that stays in the
# cache: W, grad and hess belong to centred and scaled columns. Sparse rows are z = (x, bias), neither centred nor
# scaled; the caller converts W, grad and hess. The order of panels, and of the sums within them, is fixed; with a
# `step` above 1 only every step-th panel is used.
from cython cimport cdivision, floating
from libc.math cimport fabs, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from _csr cimport csr_of, csr_t
from _exp cimport exp_of_negative, log_of_normal, logistic
from _tiles cimport add_tiles, add_upper_tiles
from _vector cimport (
    LANES_D,
    absolute,
    fmadd,
    larger,
    prefetch,
    require,
    spread,
    spread_d,
    sum_lanes,
    transpose_4_by_4_d,
    vec_d,
    widen,
)

cdef enum:
    ROWS = 48  # the number of rows in a panel, a multiple of 6 and, at every SIMD level, of three vectors' lengths
    # the largest number of classes whose scores are computed one after the other, from rows that are not transposed
    FEW = 7
PANEL = ROWS
LANES = LANES_D
FEW_CLASSES = FEW

cdef enum curvature_t:
    NONE
    SHARED  # second derivatives are computed as one block, the mean of the blocks of all classes
    DIAGONAL  # second derivatives are computed as one block for each class
    FULL  # second derivatives are computed as one block for each pair of classes k <= m
CURVATURES = {None: NONE, "shared": SHARED, "diagonal": DIAGONAL, "full": FULL}

# The state of a pass over rows that sums the loss of logistic regression and its derivatives, with the fields of a
# `Pass` of `likelihood.py`. K is n_classes, and ld is d + 1 rounded up to whole vectors. For sparse rows W and grad are
# stored by column, so that the numbers that an entry of a row is multiplied by, one for each class, are adjacent.
cdef struct pass_t:
    Py_ssize_t n               # the number of rows of X
    Py_ssize_t d               # the number of columns of X
    Py_ssize_t ld
    Py_ssize_t n_classes       # the number K of sets of parameters: 1 for two classes, else the number of classes
    # the number K of sets of parameters, rounded up to a multiple of a SIMD vector's length unless it is 1, to which
    # the columns of W and grad are padded for sparse rows
    Py_ssize_t width
    const int* codes           # (n,) the index of each row's class
    const double* weights      # (n,) the weight of each row, or NULL if all are 1
    # the value of the column that is added to each row for the intercept: 1, or 0 without intercept
    double bias
    # (d,) for each column the number that is subtracted to centre dense rows; sparse rows are not centred
    const double* shift
    # (d,) for each column the factor that scales its values in dense rows, after `shift` is subtracted
    const double* factor
    # (K, ld) K sets of parameters, each of d + 1 numbers padded to ld; for sparse rows (d + 1, width)
    const double* W
    curvature_t curvature
    # whether X is lower triangular, 0 in row i from column i + 1 on: `pass_plain` leaves out columns that are 0 in all
    # rows of a panel
    bint triangular
    # whether the pass also finds the least margin of all rows: the score of a row's class minus the best other score,
    # or label times score for two classes
    bint margins
    # (3,) the sum of the losses, the least margin, and the derivative with respect to the intercept; the last is
    # computed only by `pass_plain`, whose gradient leaves it out
    double* sums
    double* grad               # the gradient of the loss with respect to the parameters W, in the layout of W
    # (blocks, d + 1, ld) the second derivatives, in one block, one for each class, or one for each pair of classes; a
    # block has d + 1 rows and columns, and its rows are padded to ld numbers
    double* hess
    # (n, padded K): for sparse rows, an array for the derivatives of each row's weighted loss with respect to its K
    # scores, from which the caller computes the gradient; NULL: the gradient is added to `grad`
    double* residuals
    # (K, stride): an array for the scores of all rows; NULL: they are not kept
    double* scores
    Py_ssize_t stride
    # the fields from `s` on are scratch space for one panel of rows
    double* s                  # (K, ROWS): a panel's scores, then the losses' derivatives with respect to these
    # (ROWS,): the weight of each row of a panel; 0 for the rows by which the last panel is filled up
    double* weight
    # (ROWS,): for two classes the second derivative of each row's weighted loss with respect to the score; for more
    # classes 1 / weight of each row (0 if the weight is 0), a factor of the product of two weighted probabilities
    double* bend
    # (ROWS, ld): a panel of ROWS dense rows, centred, scaled, and padded to ld columns; for sparse rows, the scores of
    # a single row
    double* z
    # (ld, ROWS): a panel of ROWS rows, transposed; rows have ld numbers, which is d + 1 rounded up to whole SIMD
    # vectors
    double* zt
    # (d + 1, ROWS): a panel, transposed, whose rows are multiplied by the second derivatives of their weighted losses
    double* az


cdef void load_rows(pass_t* p, const floating* x, Py_ssize_t n_rows) noexcept nogil:
    """Load rows x as a panel z = ((x - shift) * factor, bias), padded with zeros to ld columns and ROWS rows."""
    cdef Py_ssize_t _i, j, d = p.d, n_whole = d // LANES_D
    cdef const double* shift = p.shift
    cdef const double* factor = p.factor
    cdef double* z = p.z
    cdef vec_d v
    for _i in range(n_rows):
        for j in range(n_whole):
            prefetch(x + ROWS * d + j * LANES_D)
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


cdef void transpose_panel(pass_t* p) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(0, ROWS, 4):
        for j in range(0, p.d + 1, 4):
            if j + 4 <= p.ld:
                transpose_4_by_4_d(p.z + i * p.ld + j, p.ld, p.zt + j * ROWS + i, ROWS)
            else:  # fewer than four columns are left, since rows are padded to SIMD vectors of fewer than four lanes
                transpose_rest(p, i, j)


cdef inline void transpose_rest(pass_t* p, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t r, column
    for column in range(j, p.ld):
        for r in range(i, i + 4):
            p.zt[column * ROWS + r] = p.z[r * p.ld + column]


cdef inline vec_d vector_at(const floating* x) noexcept nogil:
    if floating is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef void score_rows(
    const floating* x, Py_ssize_t stride, Py_ssize_t n_vectors, const double* w, double bias, double* s
) noexcept nogil:
    """Write the scores w x + bias of a panel's rows x to s, six rows at a time; rows are `stride` numbers apart."""
    cdef Py_ssize_t i, j
    cdef const floating* row
    cdef vec_d c, s0, s1, s2, s3, s4, s5
    for i in range(0, ROWS, 6):
        s0 = s1 = s2 = s3 = s4 = s5 = spread_d(0)
        for j in range(n_vectors):
            c = (<const vec_d*> w)[j]
            row = x + i * stride + j * LANES_D
            s0 = fmadd(vector_at(row), c, s0)
            s1 = fmadd(vector_at(row + stride), c, s1)
            s2 = fmadd(vector_at(row + 2 * stride), c, s2)
            s3 = fmadd(vector_at(row + 3 * stride), c, s3)
            s4 = fmadd(vector_at(row + 4 * stride), c, s4)
            s5 = fmadd(vector_at(row + 5 * stride), c, s5)
        s[i] = sum_lanes(s0) + bias
        s[i + 1] = sum_lanes(s1) + bias
        s[i + 2] = sum_lanes(s2) + bias
        s[i + 3] = sum_lanes(s3) + bias
        s[i + 4] = sum_lanes(s4) + bias
        s[i + 5] = sum_lanes(s5) + bias


cdef void score_block(const double* z, Py_ssize_t ld, const double* w, double* s, double* t) noexcept nogil:
    """Write the scores of six rows z of ld numbers for two classes, with parameters from w and from w + ld on."""
    cdef Py_ssize_t j
    cdef const double* row
    cdef vec_d c, e, x, s0, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5
    s0 = s1 = s2 = s3 = s4 = s5 = t0 = t1 = t2 = t3 = t4 = t5 = spread_d(0)
    for j in range(ld // LANES_D):
        c = (<const vec_d*> w)[j]
        e = (<const vec_d*> (w + ld))[j]
        row = z + j * LANES_D
        x = (<const vec_d*> row)[0]
        s0 = fmadd(x, c, s0)
        t0 = fmadd(x, e, t0)
        x = (<const vec_d*> (row + ld))[0]
        s1 = fmadd(x, c, s1)
        t1 = fmadd(x, e, t1)
        x = (<const vec_d*> (row + 2 * ld))[0]
        s2 = fmadd(x, c, s2)
        t2 = fmadd(x, e, t2)
        x = (<const vec_d*> (row + 3 * ld))[0]
        s3 = fmadd(x, c, s3)
        t3 = fmadd(x, e, t3)
        x = (<const vec_d*> (row + 4 * ld))[0]
        s4 = fmadd(x, c, s4)
        t4 = fmadd(x, e, t4)
        x = (<const vec_d*> (row + 5 * ld))[0]
        s5 = fmadd(x, c, s5)
        t5 = fmadd(x, e, t5)
    s[0] = sum_lanes(s0)
    t[0] = sum_lanes(t0)
    s[1] = sum_lanes(s1)
    t[1] = sum_lanes(t1)
    s[2] = sum_lanes(s2)
    t[2] = sum_lanes(t2)
    s[3] = sum_lanes(s3)
    t[3] = sum_lanes(t3)
    s[4] = sum_lanes(s4)
    t[4] = sum_lanes(t4)
    s[5] = sum_lanes(s5)
    t[5] = sum_lanes(t5)


cdef void score_panel(pass_t* p) noexcept nogil:
    """Write the scores of a panel for all classes, of six rows at a time, which stay in the nearest cache."""
    cdef Py_ssize_t i, k, K = p.n_classes
    if K % 2:
        score_rows(p.z, p.ld, p.ld // LANES_D, p.W, 0, p.s)
    for i in range(0, ROWS, 6):
        for k in range(K % 2, K, 2):
            score_block(p.z + i * p.ld, p.ld, p.W + k * p.ld, p.s + k * ROWS + i, p.s + (k + 1) * ROWS + i)


cdef void add_rows(
    double* g, const double* r, const floating* x, Py_ssize_t stride, Py_ssize_t n_vectors
) noexcept nogil:
    """Add the rows x of a panel, multiplied by their losses' derivatives r, to the gradient g; `stride`: row length."""
    cdef Py_ssize_t i, v = 0
    cdef const floating* row
    cdef vec_d c, g0, g1, g2, g3
    while v + 4 <= n_vectors:
        g0 = (<vec_d*> g)[v]
        g1 = (<vec_d*> g)[v + 1]
        g2 = (<vec_d*> g)[v + 2]
        g3 = (<vec_d*> g)[v + 3]
        row = x + v * LANES_D
        for i in range(ROWS):
            c = spread(<const vec_d*> r, i)
            g0 = fmadd(vector_at(row), c, g0)
            g1 = fmadd(vector_at(row + LANES_D), c, g1)
            g2 = fmadd(vector_at(row + 2 * LANES_D), c, g2)
            g3 = fmadd(vector_at(row + 3 * LANES_D), c, g3)
            row += stride
        (<vec_d*> g)[v] = g0
        (<vec_d*> g)[v + 1] = g1
        (<vec_d*> g)[v + 2] = g2
        (<vec_d*> g)[v + 3] = g3
        v += 4
    while v < n_vectors:
        g0 = (<vec_d*> g)[v]
        g1 = spread_d(0)
        row = x + v * LANES_D
        for i in range(0, ROWS, 2):
            g0 = fmadd(vector_at(row), spread(<const vec_d*> r, i), g0)
            g1 = fmadd(vector_at(row + stride), spread(<const vec_d*> r, i + 1), g1)
            row += 2 * stride
        (<vec_d*> g)[v] = g0 + g1
        v += 1


cdef void link_two(pass_t* p, const int* codes, Py_ssize_t n_rows) noexcept nogil:
    """For two classes: replace each score s by weight times d loss / d s, and add the weighted losses to sums[0].

    Writes weight times d2 loss / d s2 to `bend`.
    """
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
        (<vec_d*> p.bend)[i] = weight * a
        (<vec_d*> sign)[i] = m
    p.sums[0] += sum_lanes(total)
    if p.margins:
        for i in range(n_rows):
            if p.weight[i] > 0 and not sign[i] >= p.sums[1]:
                p.sums[1] = sign[i]


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef void link_more(pass_t* p, const int* codes, Py_ssize_t n_rows) noexcept nogil:
    """With more than two classes: replace a panel's scores by weight times probability, and add up weighted losses."""
    cdef double correct[ROWS]
    cdef Py_ssize_t i, k
    cdef double margin
    cdef vec_d e, top, norm, weight, total = spread_d(0)
    for i in range(ROWS):
        correct[i] = p.s[codes[i] * ROWS + i] if i < n_rows else 0
    if p.margins:
        for i in range(n_rows):
            if p.weight[i] > 0:
                for k in range(p.n_classes):
                    margin = correct[i] - p.s[k * ROWS + i]
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
        weight = (<vec_d*> p.weight)[i]
        # the logarithm takes NaN for a number; norm - norm is 0, or NaN
        e = log_of_normal(norm) + (norm - norm)
        total = fmadd(weight, e + (top - (<vec_d*> correct)[i]), total)
        norm = weight / norm
        for k in range(p.n_classes):
            (<vec_d*> (p.s + k * ROWS))[i] *= norm
    p.sums[0] += sum_lanes(total)


cdef void fill_az(pass_t* p, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    """Set az, transposed: weight a_km z, where a_km is the loss's second derivative by the scores of classes k and m.

    s[k] must hold the weight times the probability of class k.
    """
    cdef Py_ssize_t j, v
    cdef double a[ROWS]
    for v in range(ROWS // LANES_D):
        (<vec_d*> a)[v] = curvature_of(p, k, m, v)
    for j in range(p.d + 1):
        for v in range(ROWS // LANES_D):
            (<vec_d*> (p.az + j * ROWS))[v] = (<const vec_d*> a)[v] * (<const vec_d*> (p.zt + j * ROWS))[v]


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD results
cdef inline vec_d curvature_of(const pass_t* p, Py_ssize_t k, Py_ssize_t m, Py_ssize_t v) noexcept nogil:
    """The second derivatives of weighted losses by the scores of classes k and m, for the rows of SIMD vector v."""
    cdef Py_ssize_t j
    cdef vec_d s, a
    cdef vec_d inverse = (<const vec_d*> p.bend)[v]
    if p.n_classes == 1:
        return inverse
    if p.curvature == SHARED:
        a = (<const vec_d*> p.weight)[v]
        for j in range(p.n_classes):
            s = (<const vec_d*> (p.s + j * ROWS))[v]
            a -= s * s * inverse
        return a * spread_d(1.0 / p.n_classes)
    s = (<const vec_d*> (p.s + k * ROWS))[v]
    a = spread_d(0) - s * (<const vec_d*> (p.s + m * ROWS))[v] * inverse
    return a + s if k == m else a


cdef inline bint is_wanted(const pass_t* p, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    """Whether `hess` has a block of second derivatives for the pair of classes k <= m.

    Of the full matrix with K > 1 the blocks with k = m are not wanted: minus the sum of the others in their row.
    """
    if p.curvature == FULL and p.n_classes > 1:
        return k < m
    return k == m and (k == 0 or p.curvature == DIAGONAL)


cdef void add_curvature(pass_t* p) noexcept nogil:
    """Add second derivatives of a panel of dense rows to `hess`: the tiles on or right of each block's diagonal."""
    cdef Py_ssize_t k, m
    cdef double* hess = p.hess
    for k in range(p.n_classes):
        for m in range(k, p.n_classes):
            if is_wanted(p, k, m):
                fill_az(p, k, m)
                add_upper_tiles(p.az, ROWS, 1, p.d + 1, p.z, p.ld, ROWS, hess, p.ld)
                hess += (p.d + 1) * p.ld


cdef void link(pass_t* p, Py_ssize_t first, Py_ssize_t n_rows) noexcept nogil:
    """Add a panel's losses, and replace its scores by the losses' derivatives, which are only complete if K = 1.

    `finish_residual` completes them if K > 1.
    """
    cdef Py_ssize_t i
    if p.scores is not NULL:
        for i in range(p.n_classes):
            memcpy(p.scores + i * p.stride + first, p.s + i * ROWS, n_rows * sizeof(double))
    for i in range(n_rows):
        p.weight[i] = 1 if p.weights is NULL else p.weights[first + i]
    for i in range(n_rows, ROWS):
        p.weight[i] = 0
    if p.n_classes > 1 and p.curvature != NONE:
        for i in range(ROWS):
            p.bend[i] = 1 / p.weight[i] if p.weight[i] > 0 else 0
    if p.n_classes == 1:
        link_two(p, p.codes + first, n_rows)
    else:
        link_more(p, p.codes + first, n_rows)


cdef void finish_residual(pass_t* p, Py_ssize_t first, Py_ssize_t n_rows) noexcept nogil:
    """With K > 1, complete the derivatives of a panel's losses: subtract a row's weight from that of its class."""
    cdef Py_ssize_t i
    if p.n_classes > 1:
        for i in range(n_rows):
            p.s[p.codes[first + i] * ROWS + i] -= p.weight[i]


cdef void pass_dense(
    pass_t* p, const floating* X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step
) noexcept nogil:
    """Add loss and derivatives for every step-th panel from start to stop, of dense rows, centred and scaled."""
    cdef Py_ssize_t panel = start, first, n_rows, K = p.n_classes
    while panel < stop:
        first = panel * ROWS
        n_rows = min(<Py_ssize_t> ROWS, p.n - first)
        load_rows(p, X + first * p.d, n_rows)
        if p.zt is not NULL:
            transpose_panel(p)
        if K <= FEW:
            score_panel(p)
        else:
            memset(p.s, 0, K * ROWS * sizeof(double))
            add_tiles(p.W, p.ld, 1, K, p.zt, ROWS, p.d + 1, p.s, ROWS, 0, ROWS // LANES_D)
        link(p, first, n_rows)
        if p.curvature != NONE:
            add_curvature(p)
        finish_residual(p, first, n_rows)
        if K == 1:
            add_rows(p.grad, p.s, p.z, p.ld, p.ld // LANES_D)
        else:
            add_tiles(p.s, ROWS, 1, K, p.z, p.ld, ROWS, p.grad, p.ld, 0, p.ld // LANES_D)
        panel += step


# Rows are read in whole SIMD vectors, so that the last vector of a row may extend into the next row. The numbers of the
# next row do no harm: they are finite, their parameters in W are 0, and their entries of grad are ignored. Panels at
# the end of X, which no row follows, are copied to padded rows first.
cdef void pass_plain(
    pass_t* p, const floating* X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step
) noexcept nogil:
    """`pass_dense` for two classes without second derivatives; rows are not copied, and W and grad belong to X itself.

    p.bias is the intercept here, and sums[2] the derivative by the intercept.
    """
    cdef Py_ssize_t panel = start, first, n_rows, i, n_vectors, n_all = (p.d + LANES_D - 1) // LANES_D
    cdef double total
    cdef const floating* x
    while panel < stop:
        first = panel * ROWS
        n_rows = min(<Py_ssize_t> ROWS, p.n - first)
        n_vectors = min(n_all, (first + ROWS + LANES_D - 1) // LANES_D) if p.triangular else n_all
        x = X + first * p.d
        if (p.n - first - ROWS) * p.d >= LANES_D:
            score_rows(x, p.d, n_vectors, p.W, p.bias, p.s)
            link(p, first, n_rows)
            add_rows(p.grad, p.s, x, p.d, n_vectors)
        else:
            load_rows(p, x, n_rows)
            score_rows(p.z, p.ld, n_vectors, p.W, p.bias, p.s)
            link(p, first, n_rows)
            add_rows(p.grad, p.s, p.z, p.ld, n_vectors)
        total = 0
        for i in range(ROWS):
            total += p.s[i]
        p.sums[2] += total
        panel += step


cdef void add_sparse_curvature(
    pass_t* p, const csr_t* X, const floating* value, Py_ssize_t first, Py_ssize_t n_rows
) noexcept nogil:
    """Add second derivatives of a panel of sparse rows to the upper triangle of each block of `hess`."""
    cdef Py_ssize_t i, j, k, m, e, f, v
    cdef double weighted
    cdef double* hess = p.hess
    cdef double a[ROWS]
    for k in range(p.n_classes):
        for m in range(k, p.n_classes):
            if not is_wanted(p, k, m):
                continue
            for v in range(ROWS // LANES_D):
                (<vec_d*> a)[v] = curvature_of(p, k, m, v)
            for i in range(n_rows):
                for e in range(X.indptr[first + i], X.indptr[first + i + 1]):
                    weighted = a[i] * value[e]
                    j = X.indices[e] * p.ld
                    for f in range(e, X.indptr[first + i + 1]):
                        hess[j + X.indices[f]] += weighted * value[f]
                    hess[j + p.d] += weighted * p.bias
                hess[p.d * p.ld + p.d] += a[i] * p.bias * p.bias
            hess += (p.d + 1) * p.ld


cdef inline void add_multiple(double* y, double a, const double* x, Py_ssize_t n) noexcept nogil:
    """y += a x for arrays of n numbers, where n is 1 or a multiple of a vector's length."""
    cdef Py_ssize_t v
    if n == 1:
        y[0] += a * x[0]
        return
    for v in range(n // LANES_D):
        (<vec_d*> y)[v] = fmadd(spread_d(a), (<const vec_d*> x)[v], (<const vec_d*> y)[v])


cdef inline Py_ssize_t add_vectors(
    double* y, const double* W, const csr_t* X, const floating* value, Py_ssize_t i, Py_ssize_t stride,
    Py_ssize_t width
) noexcept nogil:
    """Add the entries of row i times their rows of W to vectors of y, of which there are `width` numbers.

    W has rows of `stride` numbers. Returns the number of vectors.
    """
    cdef Py_ssize_t e, n_vectors = 4 if width >= 4 * LANES_D else 2 if width >= 2 * LANES_D else 1
    cdef const vec_d* w
    cdef vec_d a, s0, s1, s2, s3
    s0 = (<vec_d*> y)[0]
    if n_vectors == 1:
        for e in range(X.indptr[i], X.indptr[i + 1]):
            s0 = fmadd(spread_d(value[e]), (<const vec_d*> (W + X.indices[e] * stride))[0], s0)
        (<vec_d*> y)[0] = s0
        return 1
    s1 = (<vec_d*> y)[1]
    if n_vectors == 2:
        for e in range(X.indptr[i], X.indptr[i + 1]):
            a = spread_d(value[e])
            w = <const vec_d*> (W + X.indices[e] * stride)
            s0 = fmadd(a, w[0], s0)
            s1 = fmadd(a, w[1], s1)
        (<vec_d*> y)[0] = s0
        (<vec_d*> y)[1] = s1
        return 2
    s2 = (<vec_d*> y)[2]
    s3 = (<vec_d*> y)[3]
    for e in range(X.indptr[i], X.indptr[i + 1]):
        a = spread_d(value[e])
        w = <const vec_d*> (W + X.indices[e] * stride)
        s0 = fmadd(a, w[0], s0)
        s1 = fmadd(a, w[1], s1)
        s2 = fmadd(a, w[2], s2)
        s3 = fmadd(a, w[3], s3)
    (<vec_d*> y)[0] = s0
    (<vec_d*> y)[1] = s1
    (<vec_d*> y)[2] = s2
    (<vec_d*> y)[3] = s3
    return 4


cdef void score_sparse_row(
    pass_t* p, const csr_t* X, const floating* value, Py_ssize_t i, double* row
) noexcept nogil:
    """Write the scores of sparse row i of X for all classes, padded to `width` numbers."""
    cdef Py_ssize_t e, v, width = p.width
    memset(row, 0, width * sizeof(double))
    add_multiple(row, p.bias, p.W + p.d * width, width)
    if width == 1:
        for e in range(X.indptr[i], X.indptr[i + 1]):
            row[0] += value[e] * p.W[X.indices[e]]
        return
    v = 0
    while v < width:
        v += LANES_D * add_vectors(row + v, p.W + v, X, value, i, width, width - v)


cdef void pass_sparse(
    pass_t* p, const csr_t* X, const floating* value, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step
) noexcept nogil:
    """Add panels of sparse rows to the loss and the gradient, or write each row's derivatives, not the gradient."""
    cdef Py_ssize_t panel = start, first, n_rows, i, k, e, K = p.n_classes, width = p.width
    cdef double* row = p.z
    while panel < stop:
        first = panel * ROWS
        n_rows = min(<Py_ssize_t> ROWS, p.n - first)
        memset(p.s, 0, K * ROWS * sizeof(double))
        for i in range(n_rows):
            score_sparse_row(p, X, value, first + i, row)
            for k in range(K):
                p.s[k * ROWS + i] = row[k]
        link(p, first, n_rows)
        if p.curvature != NONE:
            add_sparse_curvature(p, X, value, first, n_rows)
        finish_residual(p, first, n_rows)
        for i in range(n_rows):
            if p.residuals is not NULL:
                row = p.residuals + (first + i) * width
            for k in range(K):
                row[k] = p.s[k * ROWS + i]
            if p.residuals is NULL:
                for e in range(X.indptr[first + i], X.indptr[first + i + 1]):
                    add_multiple(p.grad + X.indices[e] * width, value[e], row, width)
                add_multiple(p.grad + p.d * width, p.bias, row, width)
        row = p.z
        panel += step


cdef void add_moments(pass_t* p, double* total, double* squares, double* most) noexcept nogil:
    """Update each column's weighted sum, weighted sum of squares and largest absolute value by the rows of a panel."""
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


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline vec_d slope_of_rows(
    const double* s, const double* change, Py_ssize_t K, Py_ssize_t m, double length
) noexcept nogil:
    """`slope` for the rows of one SIMD vector, each of weight 1; the scores of a class are m numbers from the last."""
    cdef Py_ssize_t k
    cdef vec_d e, d, loss, q, a, top, norm, total, t = spread_d(length)
    if K == 1:
        d = (<const vec_d*> change)[0]
        logistic(fmadd(t, d, (<const vec_d*> s)[0]), &loss, &q, &a)
        return -(q * d)
    top = fmadd(t, (<const vec_d*> change)[0], (<const vec_d*> s)[0])
    for k in range(1, K):
        top = larger(top, fmadd(t, (<const vec_d*> (change + k * m))[0], (<const vec_d*> (s + k * m))[0]))
    norm = total = spread_d(0)
    for k in range(K):
        d = (<const vec_d*> (change + k * m))[0]
        e = exp_of_negative(fmadd(t, d, (<const vec_d*> (s + k * m))[0]) - top)
        norm += e
        total = fmadd(e, d, total)
    return total / norm


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline vec_d shares_of_rows(const double* s, double* p, Py_ssize_t K, Py_ssize_t m) noexcept nogil:
    """`shares` for the rows of one SIMD vector."""
    cdef Py_ssize_t k
    cdef vec_d e, loss, q, a, top, norm, squares
    if K == 1:
        logistic((<const vec_d*> s)[0], &loss, &q, &a)
        (<vec_d*> p)[0] = a
        return a
    top = (<const vec_d*> s)[0]
    for k in range(1, K):
        top = larger(top, (<const vec_d*> (s + k * m))[0])
    norm = squares = spread_d(0)
    for k in range(K):
        e = exp_of_negative((<const vec_d*> (s + k * m))[0] - top)
        (<vec_d*> (p + k * m))[0] = e
        norm += e
    norm = spread_d(1) / norm
    for k in range(K):
        e = (<vec_d*> (p + k * m))[0] * norm
        (<vec_d*> (p + k * m))[0] = e
        squares = fmadd(e, e, squares)
    return spread_d(1) - squares


cdef double slope_of(
    const double* s, const double* change, const double* weights, Py_ssize_t K, Py_ssize_t m, double length,
    Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef Py_ssize_t v, i
    cdef vec_d total = spread_d(0)
    for v in range(start, stop):
        i = v * LANES_D
        total = fmadd((<const vec_d*> (weights + i))[0], slope_of_rows(s + i, change + i, K, m, length), total)
    return sum_lanes(total)


cdef double* doubles(array):
    """The address of the first number of an array, NULL for an empty array. The caller keeps the array alive."""
    cdef const double[::1] flat = array.reshape(-1)
    return <double*> &flat[0] if flat.shape[0] else NULL


cdef pass_t pass_of(state, Py_ssize_t n) except *:
    """A struct of pointers to the arrays of a `Pass` over n rows; the caller must keep the `Pass` alive."""
    cdef pass_t p
    cdef const int[::1] codes = state.codes
    require(len(codes) == n and len(state.weights) in (0, n) and len(state.s) == state.n_classes)
    p.n, p.d, p.ld, p.n_classes, p.width, p.codes = n, state.d, state.ld, state.n_classes, state.width, &codes[0]
    p.weights, p.bias = doubles(state.weights), state.bias
    p.shift, p.factor = doubles(state.shift), doubles(state.factor)
    p.W, p.curvature = doubles(state.W), CURVATURES[state.curvature]
    p.triangular, p.margins = state.triangular, state.margins
    p.sums, p.grad, p.hess = doubles(state.sums), doubles(state.grad), doubles(state.hess)
    p.s, p.weight, p.bend = doubles(state.s), doubles(state.weight), doubles(state.bend)
    p.residuals, p.scores, p.stride = doubles(state.residuals), doubles(state.scores), state.scores.size // p.n_classes
    require(p.ld % LANES_D == 0 and (p.scores is NULL or (len(state.scores) == p.n_classes and p.stride >= n)))
    p.z, p.zt, p.az = doubles(state.z), doubles(state.zt), doubles(state.az)
    return p


def dense(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, state):
    """Add the loss and its derivatives for every step-th panel of rows of X, from start to stop, to a `Pass`."""
    cdef pass_t p = pass_of(state, X.shape[0])
    require(p.d == X.shape[1] and p.z is not NULL)
    with nogil:
        pass_dense(&p, &X[0, 0], start, stop, step)


def plain(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, state):
    """For two classes, add the loss and gradient of panels of dense rows to a `Pass`, without centring and scaling."""
    cdef pass_t p = pass_of(state, X.shape[0])
    require(p.d == X.shape[1] and p.n_classes == 1)
    with nogil:
        pass_plain(&p, &X[0, 0], start, stop, step)


def sparse(X, const floating[::1] data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, state):
    """Add to a `Pass` the loss and its derivatives over every step-th panel of rows of a `Csr` X with values `data`."""
    cdef csr_t rows = csr_of(X)
    cdef pass_t p = pass_of(state, rows.n_rows)
    require(p.residuals is NULL or len(state.residuals) == rows.n_rows)
    cdef const floating* value = &data[0] if data.shape[0] else NULL
    with nogil:
        pass_sparse(&p, &rows, value, start, stop, step)


def slope(
    const double[:, ::1] scores, const double[:, ::1] change, const double[::1] weights, double length,
    Py_ssize_t start, Py_ssize_t stop
):
    """The derivative by `length` of the loss of the vectors [start, stop) of rows, with scores + length * change.

    scores, change: (K, m), a row for each class, in which m is a multiple of LANES; with K = 1 the margins. With K > 1
    the changes of the scores of the rows' own classes are not subtracted.
    """
    cdef Py_ssize_t K = scores.shape[0], m = scores.shape[1]
    cdef double total
    require(change.shape[0] == K and change.shape[1] == m == weights.shape[0] and stop * LANES_D <= m)
    with nogil:
        total = slope_of(&scores[0, 0], &change[0, 0], &weights[0], K, m, length, start, stop)
    return total


def shares(const double[:, ::1] scores, double[:, ::1] p, double[::1] doubt):
    """The probabilities p (K, m) of the classes, with K = 1 p (1 - p), and the sums `doubt` (m,) of p_k (1 - p_k).

    scores: (K, m), in which m is a multiple of LANES.
    """
    cdef Py_ssize_t v, i, K = scores.shape[0], m = scores.shape[1]
    require(p.shape[0] == K and p.shape[1] == m == doubt.shape[0] and m % LANES == 0)
    with nogil:
        for v in range(m // LANES_D):
            i = v * LANES_D
            (<vec_d*> &doubt[i])[0] = shares_of_rows(&scores[0, i], &p[0, i], K, m)


def moments(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, state, double[:, ::1] found):
    """Update each column's sum, sum of squares and largest absolute value in `found` by panels [start, stop) of X."""
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


def invert(double[:, :, ::1] matrices, double[::1] column):
    """Invert symmetric matrices (D, D), whose rows are filled up to whole vectors, in place.

    By sweeps (Goodnight 1979, A tutorial on the SWEEP operator), which keep a matrix symmetric. `column`: scratch space
    as long as a row. Returns whether all matrices are positive definite; if not, their entries are lost.
    """
    cdef Py_ssize_t D = matrices.shape[1], ld = matrices.shape[2], m, i, j, k
    cdef double* row
    cdef double* c = &column[0]
    cdef double pivot
    cdef bint good = True
    require(column.shape[0] == ld and ld % LANES_D == 0)
    with nogil:
        memset(c, 0, ld * sizeof(double))
        for m in range(matrices.shape[0]):
            for k in range(D if good else 0):
                for i in range(D):
                    c[i] = matrices[m, k, i] if i < k else matrices[m, i, k]
                pivot = c[k]
                if not pivot > 0:
                    good = False
                    break
                for i in range(D):
                    row = &matrices[m, i, 0]
                    if i != k:
                        for j in range(i // LANES_D + 1):
                            (<vec_d*> row)[j] = fmadd(spread_d(-c[i] / pivot), (<vec_d*> c)[j], (<vec_d*> row)[j])
                for i in range(D):
                    row = &matrices[m, max(i, k), min(i, k)]
                    row[0] = c[i] / pivot if i != k else -1 / pivot
            for i in range(D):
                for j in range(i + 1):
                    matrices[m, i, j] = matrices[m, j, i] = -matrices[m, i, j]
    return good


# Steps of L-BFGS (Nocedal 1980) for rows so few that the Python code of a step would take longer than its pass, by the
# rules of `lbfgs` and `move` in `minimisers.py`.
#
#     theta <- theta - t H grad,   H by the last steps s and changes y of the gradient, from the preconditioner P
#
# in:      rows X, and P: a diagonal, blocks of (d + 1, ld), one for each class or one for all, or a full matrix
# changed: theta, the gradient, the objective and the history; `trial` and the pass's grad are those of the last trial
# stops:   after one step; without a step if no length lowers the objective by more than rounding
cdef struct search_t:
    Py_ssize_t size            # K ld, the number of entries of a vector
    # the number of blocks of P: 1 or K; 0 if P is a diagonal, -1 if P is a full matrix
    Py_ssize_t n_blocks
    Py_ssize_t memory          # the largest number of steps in the history
    double total               # the sum of the rows' weights
    # (d,) the means of the columns and their factors, if rows are neither centred nor scaled; else NULL
    const double* mean
    const double* factor
    double bias                # the value of the column for the intercept
    const double* pull         # (ld,) second derivatives of the penalty
    const double* inverse      # (ld,), (n_blocks, d + 1, ld) or (K ld, K ld): P
    double* theta              # (K, ld)
    double* trial              # (K, ld) the parameters at which the pass is made
    double* grad               # (K, ld) the gradient of the objective
    double* direction          # (K, ld)
    double* spare              # (K, ld) scratch space
    double* steps              # (memory, K, ld) the last steps s; step number i is at i modulo memory
    double* changes            # (memory, K, ld) the last changes y of the gradient
    double* products           # (memory,) s'y
    double* shares             # (memory,) scratch space
    double* values             # (3,) the objective, the loss, and s'y / y'Py of the last step
    int64_t* n_steps           # (2,) the number of steps so far, and of those that are in the history

cdef enum:
    TRIALS = 40  # the most step lengths that are tried before the objective is considered flat
cdef double FLAT = 1e-13  # the relative rounding error of the objective


cdef double inner(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t v
    cdef vec_d total = spread_d(0)
    for v in range(n // LANES_D):
        total = fmadd((<const vec_d*> x)[v], (<const vec_d*> y)[v], total)
    return sum_lanes(total)


cdef void precondition(const search_t* s, const pass_t* p, const double* x, double* out) noexcept nogil:
    """out = P x."""
    cdef Py_ssize_t k, j, n_rows = p.n_classes if s.n_blocks == 1 else 1
    if s.n_blocks == 0:
        for k in range(p.n_classes):
            for j in range(p.ld):
                out[k * p.ld + j] = s.inverse[j] * x[k * p.ld + j]
        return
    memset(out, 0, s.size * sizeof(double))
    if s.n_blocks < 0:
        add_tiles(x, s.size, 1, 1, s.inverse, s.size, s.size, out, s.size, 0, s.size // LANES_D)
    for k in range(s.n_blocks):
        add_tiles(
            x + k * p.ld, p.ld, 1, n_rows, s.inverse + k * (p.d + 1) * p.ld, p.ld, p.d + 1, out + k * p.ld, p.ld, 0,
            p.ld // LANES_D
        )


@cdivision(True)  # products of a step and a change of the gradient are above 0
cdef void find_direction(search_t* s, const pass_t* p) noexcept nogil:
    cdef Py_ssize_t i, at, n = s.size
    cdef int64_t last = s.n_steps[0], first = last - s.n_steps[1]
    cdef double* q = s.spare
    memcpy(q, s.grad, n * sizeof(double))
    for i in range(last - 1, first - 1, -1):
        at = i % s.memory
        s.shares[at] = inner(s.steps + at * n, q, n) / s.products[at]
        add_multiple(q, -s.shares[at], s.changes + at * n, n)
    precondition(s, p, q, s.direction)
    q = s.direction
    if last > first:
        for i in range(n):
            q[i] *= s.values[2]
    for i in range(first, last):
        at = i % s.memory
        add_multiple(q, s.shares[at] - inner(s.changes + at * n, q, n) / s.products[at], s.steps + at * n, n)
    for i in range(n):
        q[i] = -q[i]


cdef void sum_plainly(const search_t* s, pass_t* p, const floating* X) noexcept nogil:
    """For two classes, add loss and gradient at the trial parameters by a pass over rows as they are."""
    cdef double* coef = <double*> p.W
    cdef Py_ssize_t j, d = p.d
    p.bias = s.trial[d] * s.bias
    for j in range(d):
        coef[j] = s.trial[j] * s.factor[j]
        p.bias -= coef[j] * s.mean[j]
    p.sums[2] = 0
    pass_plain(p, X, 0, (p.n + ROWS - 1) // ROWS, 1)
    for j in range(d):
        p.grad[j] = (p.grad[j] - s.bias * p.sums[2] * s.mean[j]) * s.factor[j]
    p.grad[d] = s.bias * p.sums[2]
    for j in range(d + 1, p.ld):
        p.grad[j] = 0


@cdivision(True)  # the sum of weights is above 0
cdef double evaluate(const search_t* s, pass_t* p, const floating* X) noexcept nogil:
    """Set the pass's grad to the gradient of the objective at the trial parameters; returns the objective."""
    cdef Py_ssize_t k, j, at
    cdef double penalty = 0
    p.sums[0] = 0
    memset(p.grad, 0, s.size * sizeof(double))
    if s.mean is not NULL:
        sum_plainly(s, p, X)
    else:
        memcpy(<double*> p.W, s.trial, s.size * sizeof(double))
        pass_dense(p, X, 0, (p.n + ROWS - 1) // ROWS, 1)
    for k in range(p.n_classes):
        for j in range(p.ld):
            at = k * p.ld + j
            penalty += s.pull[j] * s.trial[at] * s.trial[at]
            p.grad[at] = p.grad[at] / s.total + s.pull[j] * s.trial[at]
    return p.sums[0] / s.total + 0.5 * penalty


@cdivision(True)  # a bend is above 0 where it divides
cdef bint search_line(search_t* s, pass_t* p, const floating* X) noexcept nogil:
    """Find a point along the direction, as `move` does; it is the last trial."""
    cdef Py_ssize_t i, _trial
    cdef double slope = inner(s.grad, s.direction, s.size), length = 1, fall, bend, guess, objective
    if not slope < 0:
        return False
    for _trial in range(TRIALS):
        for i in range(s.size):
            s.trial[i] = s.theta[i] + length * s.direction[i]
        objective = evaluate(s, p, X)
        fall = objective - s.values[0]
        if fall <= 1e-4 * length * slope or (
            fall <= FLAT * fabs(s.values[0]) and fabs(inner(p.grad, s.direction, s.size)) < -slope
        ):
            s.values[0] = objective
            return True
        bend = fall - length * slope
        guess = -0.5 * slope * length * length / bend if bend > 0 else 0
        length = min(max(guess, 0.1 * length), 0.5 * length) if isfinite(guess) else 0.1 * length
    return False


@cdivision(True)  # the squared size of a change is above 0
cdef void follow(search_t* s, const pass_t* p) noexcept nogil:
    """Go to the last trial, and store the step if the gradient's change has a positive product with it."""
    cdef Py_ssize_t i, at = s.n_steps[0] % s.memory
    cdef double* step = s.steps + at * s.size
    cdef double* change = s.changes + at * s.size
    for i in range(s.size):
        step[i] = s.trial[i] - s.theta[i]
        change[i] = p.grad[i] - s.grad[i]
    memcpy(s.theta, s.trial, s.size * sizeof(double))
    memcpy(s.grad, p.grad, s.size * sizeof(double))
    s.values[1] = p.sums[0] / s.total
    s.products[at] = inner(step, change, s.size)
    if not s.products[at] > 0:
        s.n_steps[1] = min(s.n_steps[1], <int64_t> s.memory - 1)  # the slot of the oldest step has been overwritten
        return
    precondition(s, p, change, s.spare)
    s.values[2] = s.products[at] / inner(change, s.spare, s.size)
    s.n_steps[0] += 1
    s.n_steps[1] = min(s.n_steps[1] + 1, <int64_t> s.memory)


cdef bint take_step(search_t* s, pass_t* p, const floating* X) noexcept nogil:
    """Take one step; where none is found with the history, one without it. Returns whether there was one."""
    find_direction(s, p)
    if not search_line(s, p, X):
        if s.n_steps[1] == 0:
            return False
        s.n_steps[1] = 0
        find_direction(s, p)
        if not search_line(s, p, X):
            return False
    follow(s, p)
    return True


def lbfgs_step(const floating[:, ::1] X, state, search):
    """Take a step of L-BFGS on dense rows X by a `Pass`, from the point of a `Search`; whether there was a step."""
    cdef pass_t p = pass_of(state, X.shape[0])
    cdef search_t s
    cdef int64_t[::1] n_steps = search.n_steps
    cdef bint found
    s.size, s.memory, s.total = p.n_classes * p.ld, len(search.products), search.total
    s.n_blocks = {1: 0, 2: -1, 3: len(search.inverse)}[search.inverse.ndim]
    sizes = {0: p.ld, -1: s.size * s.size, 1: (p.d + 1) * p.ld, p.n_classes: p.n_classes * (p.d + 1) * p.ld}
    require(
        p.d == X.shape[1] and search.steps.size == search.changes.size == s.memory * s.size and len(n_steps) == 2
        and search.inverse.size == sizes[s.n_blocks]
    )
    s.pull, s.inverse, s.n_steps = doubles(search.pull), doubles(search.inverse), &n_steps[0]
    s.mean, s.factor, s.bias = doubles(search.mean), doubles(search.factor), search.bias
    require(s.mean is NULL or (p.n_classes == 1 and len(search.mean) == len(search.factor) == p.d))
    s.theta, s.trial, s.grad = doubles(search.theta), doubles(search.trial), doubles(search.grad)
    s.direction, s.spare = doubles(search.direction), doubles(search.spare)
    s.steps, s.changes = doubles(search.steps), doubles(search.changes)
    s.products, s.shares, s.values = doubles(search.products), doubles(search.shares), doubles(search.values)
    with nogil:
        found = take_step(&s, &p, &X[0, 0])
    return found
