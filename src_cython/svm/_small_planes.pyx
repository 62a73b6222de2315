# The soft-margin hyperplane of few rows, by Newton's method (Keerthi, DeCoste 2005) for
#
#     min |w|^2 / 2 + sum_i cost_i max(0, z_i)^2,   z_i = 1 - y_i w.x_i,
#
# where the rows x_i are doubles, with the bias column, and are padded with zeros to whole vectors. Rows with z_i > 0
# and cost_i > 0 are active. Newton's point w + p solves (1 + 2 sum cost x x') (w + p) = 2 sum cost y x over the active
# rows. If its active rows are the same, it is the optimum; else a line search along p finds the least objective.
#
# The matrix is updated when rows become active or inactive, and z at each step. The last step uses z computed anew, and
# a matrix summed anew if that is not enough.
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

from _vector cimport LANES_D, fmadd_d, require, spread_d, sum_d, vec_d

cdef enum:
    # the number of rows that are added to the matrix of second derivatives, or removed from it, at once
    ROWS = 16
    PIVOTS = 4          # the number of rows of the Cholesky factor that are subtracted from the others at once
    SEARCH_STEPS = 50   # the largest number of steps of a line search

# what a step computes anew
cdef enum:
    NOTHING
    ONLY_Z
    Z_AND_MATRIX

cdef double FLAT = 1e-9   # a line search ends when the slope is at most this share of the slope at its start


cdef struct plane_t:
    # the number of rows, and the length of a row, with the bias column and zeros up to whole SIMD vectors
    Py_ssize_t n, d
    const double* X        # (n, d): the training rows, with the bias column
    const double* y        # (n,): the label of each row, 1 or -1
    const double* cost     # (n,): the cost of each row, the factor of its loss
    double* w              # (d,): the weights w of the hyperplane; updated
    double* z              # (n,): z = 1 - y w.x of each row; updated
    double* u              # (n,): the inner product of the step p and each row x, times the row's label; scratch space
    # (n,): the cost of each row that is in the matrix of second derivatives, 0 for other rows; updated
    double* active
    # (d, d): the matrix of second derivatives, 1 + 2 sum cost x x', on and right of the diagonal; updated
    double* matrix
    double* factor         # (d, d): the Cholesky factor of the matrix of second derivatives; scratch space
    double* p              # (d,): the step p of Newton's method; scratch space
    # (n,): the numbers of the rows to add to the matrix of second derivatives or to remove from it; scratch space
    Py_ssize_t* moved


cdef inline double dot(const double* a, const double* b, Py_ssize_t d) noexcept nogil:
    # two sums, so that an addition need not wait for the one before
    cdef vec_d s = spread_d(0), t = s
    cdef Py_ssize_t v, n = d // LANES_D
    for v in range(0, n - 1, 2):
        s = fmadd_d((<const vec_d*> a)[v], (<const vec_d*> b)[v], s)
        t = fmadd_d((<const vec_d*> a)[v + 1], (<const vec_d*> b)[v + 1], t)
    if n % 2:
        s = fmadd_d((<const vec_d*> a)[n - 1], (<const vec_d*> b)[n - 1], s)
    return sum_d(s + t)


cdef inline void add_multiple(double a, const double* x, Py_ssize_t d, double* out) noexcept nogil:
    cdef Py_ssize_t v
    for v in range(d // LANES_D):
        (<vec_d*> out)[v] = fmadd_d(spread_d(a), (<const vec_d*> x)[v], (<vec_d*> out)[v])


cdef void add_squares(
    const double** x, const double* weight, Py_ssize_t n, Py_ssize_t first, Py_ssize_t d, double* out
) noexcept nogil:
    """Add the sum of weight[k] x_k x_k' over n vectors x_k to a (d, d) matrix, on and right of the diagonal.

    Rows before the even number `first` are left out; n is a multiple of 4, and d of 8.
    """
    cdef Py_ssize_t r, v, k
    cdef vec_d a0, a1, a2, a3, b0, b1, b2, b3
    cdef const vec_d* x0
    cdef const vec_d* x1
    cdef const vec_d* x2
    cdef const vec_d* x3
    cdef vec_d* u
    cdef vec_d* w
    for r in range(first, d, 2):
        u, w = <vec_d*> (out + r * d), <vec_d*> (out + (r + 1) * d)
        for k in range(0, n, 4):
            x0, x1 = <const vec_d*> x[k], <const vec_d*> x[k + 1]
            x2, x3 = <const vec_d*> x[k + 2], <const vec_d*> x[k + 3]
            a0, b0 = spread_d(weight[k] * x[k][r]), spread_d(weight[k] * x[k][r + 1])
            a1, b1 = spread_d(weight[k + 1] * x[k + 1][r]), spread_d(weight[k + 1] * x[k + 1][r + 1])
            a2, b2 = spread_d(weight[k + 2] * x[k + 2][r]), spread_d(weight[k + 2] * x[k + 2][r + 1])
            a3, b3 = spread_d(weight[k + 3] * x[k + 3][r]), spread_d(weight[k + 3] * x[k + 3][r + 1])
            for v in range(r // LANES_D, d // LANES_D):
                u[v] = fmadd_d(a3, x3[v], fmadd_d(a2, x2[v], fmadd_d(a1, x1[v], fmadd_d(a0, x0[v], u[v]))))
                w[v] = fmadd_d(b3, x3[v], fmadd_d(b2, x2[v], fmadd_d(b1, x1[v], fmadd_d(b0, x0[v], w[v]))))


cdef Py_ssize_t follow(plane_t* s, bint afresh) noexcept nogil:
    """Update the second derivatives for rows that turned active or inactive; returns how many.

    They are summed anew if `afresh`, or if fewer rows are active than have changed.
    """
    cdef Py_ssize_t i, j, row, n_moved = 0, n_active = 0, changes = 0
    cdef double wanted
    cdef const double* x[ROWS]
    cdef double weight[ROWS]
    for i in range(s.n):
        wanted = s.cost[i] if s.z[i] > 0 else 0
        changes += wanted != s.active[i]
        n_active += wanted > 0
    if afresh or n_active < changes:
        memset(s.active, 0, s.n * sizeof(double))
        memset(s.matrix, 0, s.d * s.d * sizeof(double))
        for j in range(s.d):
            s.matrix[j * s.d + j] = 1
    for i in range(s.n):
        wanted = s.cost[i] if s.z[i] > 0 else 0
        if wanted != s.active[i]:
            s.moved[n_moved] = i
            n_moved += 1
    i = 0
    while i < n_moved:
        for j in range(ROWS):
            row = s.moved[min(i + j, n_moved - 1)]
            wanted = s.cost[row] if s.z[row] > 0 else 0
            x[j], weight[j] = s.X + row * s.d, 2 * (wanted - s.active[row]) if i + j < n_moved else 0
        add_squares(x, weight, min(<Py_ssize_t> ROWS, (n_moved - i + 3) // 4 * 4), 0, s.d, s.matrix)
        i += ROWS
    for i in range(n_moved):
        s.active[s.moved[i]] = s.cost[s.moved[i]] if s.z[s.moved[i]] > 0 else 0
    return changes


cdef bint factorise(plane_t* s) noexcept nogil:
    """Write the Cholesky factor of the matrix of second derivatives; returns False if a pivot is not positive."""
    cdef Py_ssize_t i, j, k, m, d = s.d
    cdef double pivot
    cdef double* U = s.factor
    cdef const double* x[PIVOTS]
    cdef double weight[PIVOTS]
    memcpy(U, s.matrix, d * d * sizeof(double))
    i = 0
    while i < d:
        for k in range(i, i + PIVOTS):
            j = k - k % LANES_D
            for m in range(i, k):
                add_multiple(-U[m * d + k], U + m * d + j, d - j, U + k * d + j)
            pivot = U[k * d + k]
            if not pivot > 0:
                return False
            pivot = 1 / sqrt(pivot)
            for j in range(k // LANES_D, d // LANES_D):
                (<vec_d*> (U + k * d))[j] *= spread_d(pivot)
            x[k - i], weight[k - i] = U + k * d, -1
        i += PIVOTS
        add_squares(x, weight, PIVOTS, i, d, U)
    return True


cdef void solve(const plane_t* s, double* b) noexcept nogil:
    """Replace b by the solution x of U'U x = b, for the Cholesky factor U of the matrix of second derivatives."""
    cdef Py_ssize_t i, j, d = s.d
    cdef const double* U
    cdef double t
    for i in range(d):
        U = s.factor + i * d
        b[i] /= U[i]
        for j in range(i + 1, d):
            b[j] -= b[i] * U[j]
    for i in range(d - 1, -1, -1):
        U = s.factor + i * d
        t = b[i]
        for j in range(i + 1, d):
            t -= U[j] * b[j]
        b[i] = t / U[i]


cdef double slope(const plane_t* s, double t, double wp, double pp, double* curvature) noexcept nogil:
    """The derivative of the objective at w + t p along the step p; writes the second derivative to `curvature`."""
    cdef double sum = 0, bend = 0, z
    cdef Py_ssize_t i
    for i in range(s.n):
        z = s.z[i] - t * s.u[i]
        if z > 0:
            sum += s.cost[i] * z * s.u[i]
            bend += s.cost[i] * s.u[i] * s.u[i]
    curvature[0] = pp + 2 * bend
    return wp + t * pp - 2 * sum


cdef double search(const plane_t* s) noexcept nogil:
    """The t at which the objective at w + t p is least: a root of its derivative, which rises piecewise linearly."""
    cdef double wp = dot(s.w, s.p, s.d), pp = dot(s.p, s.p, s.d), curvature, low = 0, high = 0, t = 1, g
    cdef double first = fabs(slope(s, 0, wp, pp, &curvature))
    cdef int _
    for _ in range(SEARCH_STEPS):
        g = slope(s, t, wp, pp, &curvature)
        if fabs(g) <= FLAT * first:
            break
        if g < 0:
            low = t
        else:
            high = t
        t -= g / curvature
        if t <= low or (high > 0 and t >= high):
            t = (low + high) / 2 if high > 0 else 2 * low
    return t


cdef double step(plane_t* s) noexcept nogil:
    """Take a step of Newton's method; returns the largest |gradient| before it, or -1 if a pivot was not positive."""
    cdef Py_ssize_t i, j
    cdef double t, gradient = 0
    # s.p is minus the gradient of the objective, until `solve` replaces it by the step of Newton's method
    for j in range(s.d):
        s.p[j] = -s.w[j]
    for i in range(s.n):
        if s.active[i] > 0:
            add_multiple(2 * s.active[i] * s.z[i] * s.y[i], s.X + i * s.d, s.d, s.p)
    for j in range(s.d):
        gradient = max(gradient, fabs(s.p[j]))
    if not factorise(s):
        return -1
    solve(s, s.p)
    for i in range(s.n):
        s.u[i] = s.y[i] * dot(s.p, s.X + i * s.d, s.d)
    t = 1
    for i in range(s.n):
        if s.cost[i] > 0 and (s.z[i] - s.u[i] > 0) != (s.active[i] > 0):
            t = search(s)
            break
    add_multiple(t, s.p, s.d, s.w)
    for i in range(s.n):
        s.z[i] -= t * s.u[i]
    return gradient


cdef plane_t plane_of(const double[:, ::1] X, const double[::1] y, const double[::1] cost, work) except *:
    cdef plane_t s
    cdef double[:, ::1] matrix = work.matrix, factor = work.factor, rows = work.rows
    cdef double[::1] w = work.w, p = work.p
    cdef Py_ssize_t[::1] moved = work.moved
    s.n, s.d = X.shape[0], X.shape[1]
    require(s.d % LANES_D == 0 and y.shape[0] == cost.shape[0] == moved.shape[0] == rows.shape[1] == s.n)
    require(rows.shape[0] == 3 and w.shape[0] == p.shape[0] == s.d)
    require(matrix.shape[0] == matrix.shape[1] == factor.shape[0] == factor.shape[1] == s.d)
    s.X, s.y, s.cost, s.w, s.p = &X[0, 0], &y[0], &cost[0], &w[0], &p[0]
    s.z, s.u, s.active = &rows[0, 0], &rows[1, 0], &rows[2, 0]
    s.matrix, s.factor, s.moved = &matrix[0, 0], &factor[0, 0], &moved[0]
    return s


AFRESH = {"nothing": NOTHING, "z and matrix": Z_AND_MATRIX}


def sum_squares(const double[:, ::1] X, double[:, ::1] out):
    """Add the sum of x x' over the rows x of X to `out`, on and right of the diagonal."""
    cdef Py_ssize_t i = 0, j, n = X.shape[0], d = X.shape[1]
    cdef const double* x[ROWS]
    cdef double weight[ROWS]
    require(d % LANES_D == 0 and d % 2 == 0 and out.shape[0] == out.shape[1] == d)
    with nogil:
        while i < n:
            for j in range(ROWS):
                x[j], weight[j] = &X[min(i + j, n - 1), 0], 1 if i + j < n else 0
            add_squares(x, weight, ROWS, 0, d, &out[0, 0])
            i += ROWS


def descend(
    const double[:, ::1] X, const double[::1] y, const double[::1] cost, work, Py_ssize_t n_steps, double enough
):
    """Take up to n_steps steps from the state of `work`, a `PlaneWork`; returns (their number, whether w is optimal).

    The result is optimal after a step with z computed anew, from a gradient of at most `enough` in each entry.
    """
    cdef plane_t s = plane_of(X, y, cost, work)
    cdef Py_ssize_t made = 0, i, changes
    cdef bint begun = work.begun, done = False
    cdef int afresh = work.afresh
    cdef double gradient
    with nogil:
        while made < n_steps and not done:
            if afresh:
                for i in range(s.n):
                    s.z[i] = 1 - s.y[i] * dot(s.w, s.X + i * s.d, s.d)
            changes = follow(&s, afresh == Z_AND_MATRIX)
            gradient = step(&s)
            made += 1
            if gradient < 0:
                break
            done = afresh != NOTHING and gradient <= enough
            if gradient > enough and (changes > 0 or not begun):
                afresh = NOTHING
            elif afresh < Z_AND_MATRIX:
                afresh += 1
            begun = True
    work.afresh, work.begun = afresh, True
    return made, done


def prove(const double[:, ::1] X, const double[::1] y, const double[::1] cost, work, double[::1] alpha, double[::1] z):
    """Write alpha for z of `work`, then p, the hyperplane of alpha, and z at p.

    Returns the primal objective of p, the dual objective of alpha, and the violation of alpha, which is the largest
    minus the smallest projected gradient of the dual, as in LIBLINEAR.
    """
    cdef plane_t s = plane_of(X, y, cost, work)
    cdef Py_ssize_t i
    cdef double ascent, rise = 0, fall = 0, length, primal, dual
    require(alpha.shape[0] == z.shape[0] == s.n)
    with nogil:
        memset(s.p, 0, s.d * sizeof(double))
        for i in range(s.n):
            alpha[i] = 2 * s.cost[i] * max(0.0, s.z[i])
            if alpha[i] > 0:
                add_multiple(alpha[i] * s.y[i], s.X + i * s.d, s.d, s.p)
        length = dot(s.p, s.p, s.d)
        primal, dual = 0.5 * length, -0.5 * length
        for i in range(s.n):
            z[i] = 1 - s.y[i] * dot(s.p, s.X + i * s.d, s.d)
            if s.cost[i] > 0:
                ascent = z[i] - 0.5 * alpha[i] / s.cost[i]
                rise = max(rise, ascent)
                if alpha[i] > 0:
                    fall = max(fall, -ascent)
                    dual += alpha[i] - 0.25 * alpha[i] * alpha[i] / s.cost[i]
                if z[i] > 0:
                    primal += s.cost[i] * z[i] * z[i]
    return primal, dual, rise + fall
