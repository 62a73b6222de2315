# The soft-margin hyperplane of few rows, by Newton's method, for
#
#     min |w|^2 / 2 + sum_i cost_i max(0, z_i)^p,   z_i = 1 - y_i w.x_i,  p = 1 or 2,
#
# where the rows x_i are doubles, with the bias column, and are padded with zeros to whole vectors. The dual variables
# are a function of z:
#
#     alpha_i = centre_i + gain_i z_i, clipped to [0, most_i]
#
# and Newton's method finds the w with w = sum alpha y x. Rows whose alpha is inside its bounds are active. Newton's
# point w + p solves (1 + sum gain x x') p = sum alpha y x - w, where the first sum is over the active rows. If no alpha
# reaches or leaves a bound on the way, it is the solution; else a line search along p finds the least objective.
#
# p = 2 (Keerthi, DeCoste 2005): gain = 2 cost, centre = 0, and there is no upper bound, so that w is the optimum.
# p = 1 (the proximal method of multipliers, Rockafellar 1976): alpha becomes the centre and the gain grows, until the
# violation of the optimality conditions is below `tol`.
#
# The matrix is updated when rows become active or inactive, and z at each step. The last step uses z computed anew, and
# a matrix summed anew if that is not enough.
from libc.math cimport INFINITY, fabs, sqrt
from libc.string cimport memcpy, memset

from svm._interior cimport ENDED, GO_ON, INEXACT, inside, interior_t
from svm._padded_rows cimport add_multiple, add_squares, dot, factorise, solve
from _vector cimport LANES_D, fmadd_d, max_d, require, spread_d, sum_d, unless_positive, vec_d

cdef enum:
    # the number of rows that are added to the matrix of second derivatives, or removed from it, at once
    ROWS = 16
    SEARCH_STEPS = 50   # the largest number of steps of a line search
    # the search ends after this number of centres that did not lower the violation by a tenth: rounding prevents it
    IDLE = 4

# what a step computes anew
cdef enum:
    NOTHING
    ONLY_Z
    Z_AND_MATRIX

# a line search ends when the slope is at most this share of the slope at its start: for an optimum, and for a centre
cdef double FLAT = 1e-9, NEARLY_FLAT = 1e-3
cdef double FALL = 8      # the factor by which the gain grows from centre to centre
# the search ends if an upper bound of the violation is at most this share of `tol`; the rest is for rounding
cdef double ENOUGH = 0.9
# a step that moves no margin by more than this share of `tol` ends the search
cdef double STILL = 1e-3


cdef struct plane_t:
    # the number of rows, the same up to whole SIMD vectors, and the length of a row, with the bias column and zeros up
    # to whole SIMD vectors
    Py_ssize_t n, padded, d
    const double* X        # (n, d): the training rows, with the bias column
    const double* y        # (n,): the label of each row, 1 or -1
    const double* cost     # (n,): the cost of each row, the factor of its loss
    double* w              # (d,): the weights w of the hyperplane; updated
    # (padded,) each, with zeros after the last row
    double* z              # z = 1 - y w.x of each row; updated
    double* u              # the inner product of the step p and each row x, times the row's label; scratch space
    double* active         # the gain of each row that is in the matrix of second derivatives, else 0; updated
    double* centre         # alpha at z = 0, before it is clipped; updated if p is 1
    double* gain           # the derivative of alpha by z; updated if p is 1
    double* most           # the upper bound of alpha
    # (d, d): the matrix of second derivatives, 1 + sum gain x x', on and right of the diagonal; updated
    double* matrix
    double* factor         # (d, d): the Cholesky factor of the matrix of second derivatives; scratch space
    double* p              # (d,): the step p of Newton's method; scratch space
    # (n,): the numbers of the rows to add to the matrix of second derivatives or to remove from it; scratch space
    Py_ssize_t* moved
    bint squared           # whether p is 2
    double tol, reach      # the violation that is accepted, and the length of the longest row
    double most_gain       # the largest gain
    # the ratio of cost and gain; the least violation at a centre; the number of centres since; all updated if p is 1
    double width, least
    int idle


cdef inline double raw(const plane_t* s, Py_ssize_t i, double z) noexcept nogil:
    """Alpha of row i at z, before it is clipped."""
    return s.centre[i] + s.gain[i] * z


cdef inline double alpha_of(const plane_t* s, Py_ssize_t i) noexcept nogil:
    return min(max(raw(s, i, s.z[i]), 0.0), s.most[i])


cdef inline double weight_of(const plane_t* s, Py_ssize_t i) noexcept nogil:
    """The weight of row i in the matrix of second derivatives."""
    cdef double alpha = raw(s, i, s.z[i])
    return s.gain[i] if 0 < alpha < s.most[i] else 0


cdef Py_ssize_t follow(plane_t* s, bint afresh) noexcept nogil:
    """Update the second derivatives for rows that turned active or inactive; returns how many.

    They are summed anew if `afresh`, or if no more rows are active than have changed.
    """
    cdef Py_ssize_t i, j, row, n_moved = 0, n_active = 0, changes = 0
    cdef double wanted
    cdef const double* x[ROWS]
    cdef double weight[ROWS]
    for i in range(s.n):
        wanted = weight_of(s, i)
        changes += wanted != s.active[i]
        n_active += wanted > 0
    if afresh or n_active <= changes:
        memset(s.active, 0, s.n * sizeof(double))
        memset(s.matrix, 0, s.d * s.d * sizeof(double))
        for j in range(s.d):
            s.matrix[j * s.d + j] = 1
    for i in range(s.n):
        if weight_of(s, i) != s.active[i]:
            s.moved[n_moved] = i
            n_moved += 1
    i = 0
    while i < n_moved:
        for j in range(ROWS):
            row = s.moved[min(i + j, n_moved - 1)]
            x[j], weight[j] = s.X + row * s.d, weight_of(s, row) - s.active[row] if i + j < n_moved else 0
        add_squares(x, weight, min(<Py_ssize_t> ROWS, (n_moved - i + 3) // 4 * 4), 0, s.d, s.matrix)
        i += ROWS
    for i in range(n_moved):
        s.active[s.moved[i]] = weight_of(s, s.moved[i])
    return changes


cdef double slope(const plane_t* s, double t, double wp, double pp, double* curvature) noexcept nogil:
    """The derivative of the objective at w + t p along the step p; writes the second derivative to `curvature`."""
    cdef vec_d sum = spread_d(0), bend = sum, zero = sum, back = spread_d(-t), raw, alpha, u, most, gain
    cdef Py_ssize_t v
    for v in range(s.padded // LANES_D):
        u, gain, most = (<vec_d*> s.u)[v], (<vec_d*> s.gain)[v], (<vec_d*> s.most)[v]
        raw = fmadd_d(gain, fmadd_d(back, u, (<vec_d*> s.z)[v]), (<vec_d*> s.centre)[v])
        alpha = -max_d(-max_d(raw, zero), -most)
        sum = fmadd_d(alpha, u, sum)
        bend = fmadd_d(unless_positive(unless_positive(gain, -raw), raw - most) * u, u, bend)
    curvature[0] = pp + sum_d(bend)
    return wp + t * pp - sum_d(sum)


cdef double search(const plane_t* s) noexcept nogil:
    """The t at which the objective at w + t p is least: a root of its derivative, which rises piecewise linearly."""
    cdef double wp = dot(s.w, s.p, s.d), pp = dot(s.p, s.p, s.d), curvature, low = 0, high = 0, t = 1, g
    cdef double flat = (FLAT if s.squared else NEARLY_FLAT) * fabs(slope(s, 0, wp, pp, &curvature))
    cdef int _
    for _ in range(SEARCH_STEPS):
        g = slope(s, t, wp, pp, &curvature)
        if fabs(g) <= flat:
            break
        if g < 0:
            low = t
        else:
            high = t
        t -= g / curvature
        if t <= low or (high > 0 and t >= high):
            t = (low + high) / 2 if high > 0 else 2 * low
    return t


cdef void find_z(plane_t* s) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(s.n):
        s.z[i] = 1 - s.y[i] * dot(s.w, s.X + i * s.d, s.d)


cdef double begin_step(plane_t* s) noexcept nogil:
    """Write sum alpha y x - w, which is minus the gradient, to p; returns its length."""
    cdef Py_ssize_t i, j
    cdef double alpha
    for j in range(s.d):
        s.p[j] = -s.w[j]
    for i in range(s.n):
        alpha = alpha_of(s, i)
        if alpha > 0:
            add_multiple(alpha * s.y[i], s.X + i * s.d, s.d, s.p)
    return sqrt(dot(s.p, s.p, s.d))


cdef double step(plane_t* s) noexcept nogil:
    """Take a step of Newton's method; returns the largest change of a margin, or -1 if a pivot was not positive."""
    cdef Py_ssize_t i
    cdef double t = 1, now, then, largest = 0
    memcpy(s.factor, s.matrix, s.d * s.d * sizeof(double))
    if not factorise(s.factor, s.d):
        return -1
    solve(s.factor, s.d, s.p)
    for i in range(s.n):
        s.u[i] = s.y[i] * dot(s.p, s.X + i * s.d, s.d)
    for i in range(s.n):
        now, then = raw(s, i, s.z[i]), raw(s, i, s.z[i] - s.u[i])
        if (now > 0) != (then > 0) or (now < s.most[i]) != (then < s.most[i]):
            t = search(s)
            break
    add_multiple(t, s.p, s.d, s.w)
    for i in range(s.n):
        s.z[i] -= t * s.u[i]
        largest = max(largest, fabs(s.u[i]))
    return t * largest


cdef double violation_bound(const plane_t* s, double gap) noexcept nogil:
    """An upper bound of the violation of the optimality conditions if p is 1; gap: |w - sum alpha y x|."""
    cdef double worst = 0, alpha
    cdef Py_ssize_t i
    for i in range(s.n):
        alpha = alpha_of(s, i)
        if alpha < s.most[i]:
            worst = max(worst, s.z[i])
        if alpha > 0:
            worst = max(worst, -s.z[i])
    return 2 * (worst + gap * s.reach)


cdef bint is_centred(const plane_t* s, double moved, double before, double gap) noexcept nogil:
    """Whether w is near enough to the solution for this centre.

    moved: the largest change of a margin by the last step. before, gap: |w - sum alpha y x| before and after it.
    """
    cdef double scale = min(s.width, 1.0)
    return (moved <= 0.1 * scale and gap * s.reach <= 0.1 * max(scale, s.tol)) or (
        moved <= STILL * s.tol and gap >= 0.5 * before
    )


cdef bint centre_anew(plane_t* s, double gap) noexcept nogil:
    """Make alpha the centre and let the gain grow; returns True if no further centre is wanted or of use."""
    cdef double violation = violation_bound(s, gap), enough = 0.4 * s.tol
    cdef Py_ssize_t i
    if violation <= ENOUGH * s.tol:
        return True
    s.idle = 0 if violation < 0.9 * s.least else s.idle + 1
    s.least = min(s.least, violation)
    if s.idle == IDLE:
        return True
    # the gain is at first not higher than `tol` needs
    s.width = max(s.width / FALL, enough) if s.width > enough else s.width / FALL
    for i in range(s.n):
        s.centre[i] = alpha_of(s, i)
        s.gain[i] = min(s.cost[i] / s.width, s.most_gain)
    return False


cdef plane_t plane_of(const double[:, ::1] X, const double[::1] y, const double[::1] cost, work) except *:
    cdef plane_t s
    cdef double[:, ::1] matrix = work.matrix, factor = work.factor, rows = work.rows
    cdef double[::1] w = work.w, p = work.p
    cdef Py_ssize_t[::1] moved = work.moved
    s.n, s.padded, s.d = X.shape[0], rows.shape[1], X.shape[1]
    require(s.d % LANES_D == s.padded % LANES_D == 0 and y.shape[0] == cost.shape[0] == moved.shape[0] == s.n)
    require(rows.shape[0] == 6 and s.padded >= s.n and w.shape[0] == p.shape[0] == s.d)
    require(matrix.shape[0] == matrix.shape[1] == factor.shape[0] == factor.shape[1] == s.d)
    s.X, s.y, s.cost, s.w, s.p = &X[0, 0], &y[0], &cost[0], &w[0], &p[0]
    s.z, s.u, s.active = &rows[0, 0], &rows[1, 0], &rows[2, 0]
    s.centre, s.gain, s.most = &rows[3, 0], &rows[4, 0], &rows[5, 0]
    s.matrix, s.factor, s.moved = &matrix[0, 0], &factor[0, 0], &moved[0]
    s.squared, s.tol, s.reach, s.most_gain = work.squared, work.tol, work.reach, work.most_gain
    s.width, s.least, s.idle = work.width, work.least, work.idle
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
    """Take up to n_steps steps from the state of `work`, a `PlaneWork`; returns their number, and a value of `END`.

    A search is inexact if a matrix that was summed anew has no Cholesky factor. If p is 2, it ends after a step with z
    computed anew, from a gradient that is at most `enough` long or that rounding prevents from becoming shorter. If p
    is 1, it ends at a centre whose violation is small, or no longer falls.
    """
    cdef plane_t s = plane_of(X, y, cost, work)
    cdef Py_ssize_t made = 0, changes
    cdef bint begun = work.begun
    cdef int afresh = work.afresh, end = GO_ON
    cdef double gap, moved = work.moved_by, before = work.gap
    with nogil:
        while made < n_steps and end == GO_ON:
            if afresh:
                find_z(&s)
            gap = begin_step(&s)
            if not s.squared and is_centred(&s, moved, before, gap):
                if centre_anew(&s, gap):
                    end = ENDED
                    break
                find_z(&s)
                gap = begin_step(&s)
            changes = follow(&s, afresh == Z_AND_MATRIX)
            before, moved = gap, step(&s)
            made += 1
            if moved < 0:
                if afresh == Z_AND_MATRIX:
                    end = INEXACT
                afresh, moved, before = Z_AND_MATRIX, INFINITY, INFINITY
                continue
            if s.squared:
                if afresh != NOTHING and gap <= enough:
                    end = ENDED
                elif afresh == Z_AND_MATRIX and changes == 0 and moved <= STILL * s.tol:
                    end = ENDED
                if gap > enough and (changes > 0 or not begun):
                    afresh = NOTHING
                elif afresh < Z_AND_MATRIX:
                    afresh += 1
            else:
                afresh = NOTHING
            begun = True
    work.afresh, work.begun, work.moved_by, work.gap = afresh, True, moved, before
    work.width, work.least, work.idle = s.width, s.least, s.idle
    return made, end


def write_alpha(const double[:, ::1] X, const double[::1] y, const double[::1] cost, work, double[::1] alpha):
    """Write the dual variables for z of `work`, a `PlaneWork`."""
    cdef plane_t s = plane_of(X, y, cost, work)
    cdef Py_ssize_t i
    require(alpha.shape[0] == s.n)
    with nogil:
        for i in range(s.n):
            alpha[i] = alpha_of(&s, i)


def combine(const double[:, ::1] X, const double[::1] y, const double[::1] alpha, double[::1] w):
    """Write w = sum alpha y x."""
    cdef Py_ssize_t i, n = X.shape[0], d = X.shape[1]
    require(d % LANES_D == 0 and y.shape[0] == alpha.shape[0] == n and w.shape[0] == d)
    with nogil:
        memset(&w[0], 0, d * sizeof(double))
        for i in range(n):
            if alpha[i] > 0:
                add_multiple(alpha[i] * y[i], &X[i, 0], d, &w[0])


def prove(
    const double[:, ::1] X,
    const double[::1] y,
    const double[::1] cost,
    bint squared,
    const double[::1] alpha,
    const double[::1] w,
    double[::1] z,
):
    """Write z at w. Returns the primal objective of w, the dual objective of alpha, and the violation of alpha.

    w is sum alpha y x, up to rounding. The violation is the largest minus the smallest projected gradient of the dual,
    as in LIBLINEAR.
    """
    cdef Py_ssize_t i, n = X.shape[0], d = X.shape[1]
    cdef double ascent, rise = 0, fall = 0, length, primal, dual, ridge
    require(d % LANES_D == 0 and y.shape[0] == cost.shape[0] == alpha.shape[0] == z.shape[0] == n and w.shape[0] == d)
    with nogil:
        length = dot(&w[0], &w[0], d)
        primal, dual = 0.5 * length, -0.5 * length
        for i in range(n):
            z[i] = 1 - y[i] * dot(&w[0], &X[i, 0], d)
            if cost[i] > 0:
                ridge = 0.5 / cost[i] if squared else 0
                ascent = z[i] - ridge * alpha[i]
                if squared or alpha[i] < cost[i]:
                    rise = max(rise, ascent)
                if alpha[i] > 0:
                    fall = max(fall, -ascent)
                    dual += alpha[i] - 0.5 * ridge * alpha[i] * alpha[i]
                if z[i] > 0:
                    primal += cost[i] * (z[i] * z[i] if squared else z[i])
    return primal, dual, rise + fall


def step_inside(work, Py_ssize_t n_steps, double off, double share, double enough):
    """Take up to n_steps steps of an interior point method from the state of `work`, an `InteriorWork`.

    Returns their number, and a value of `END`: why there are no more.
    """
    cdef interior_t s
    cdef double[:, ::1] Z = work.Z, rows = work.rows, columns = work.columns, factor = work.factor
    cdef Py_ssize_t made = 0
    cdef int end = GO_ON
    s.n, s.padded, s.d = Z.shape[0], rows.shape[1], Z.shape[1]
    require(s.d % LANES_D == s.padded % LANES_D == 0 and s.padded >= s.n and rows.shape[0] == 12)
    require(columns.shape[0] == 4 and columns.shape[1] == factor.shape[0] == factor.shape[1] == s.d)
    s.Z, s.rows, s.columns, s.factor, s.b = &Z[0, 0], &rows[0, 0], &columns[0, 0], &factor[0, 0], work.b
    s.off, s.share, s.enough = off, share, enough
    with nogil:
        while made < n_steps and end == GO_ON:
            end = inside(&s)
            made += end == GO_ON
    work.b = s.b
    return made, end


END = {"none": GO_ON, "ended": ENDED, "inexact": INEXACT}
