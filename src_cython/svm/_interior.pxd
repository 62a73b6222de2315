# A step of the interior point method of `interior_point.py` for few rows Z of few columns: its formulas, in one order.
from cython cimport cdivision
from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memset

from svm._padded_rows cimport add_multiple, add_squares, dot, factorise, solve
from _vector cimport LANES_D, fmadd_d, largest_d, max_d, spread_d, sum_d, vec_d

cdef enum:
    TOGETHER = 8        # the number of rows that are added to the matrix at once

# what a method tells after a step
cdef enum:
    GO_ON               # the step was taken, and another may follow
    ENDED               # no step follows: the solution is good enough, or rounding lets no step get further
    INEXACT             # the Cholesky factor of the step's matrix is not precise enough; another method has to go on

# the rows of `interior_t.rows`: labels of 1 or -1, the four positive arrays of the state, and those of a step
cdef enum:
    Y, A, SLACK, S, T, OFF_A, INVERSE, ALONG, R, DA, DS, DT

# the rows of `interior_t.columns`
cdef enum:
    W, OFF_W, ALONG_W, DW

ctypedef struct interior_t:
    # the number of rows, the same up to whole SIMD vectors, and the length of a row with zeros up to whole SIMD vectors
    Py_ssize_t n, padded, d
    const double* Z     # (n, d)
    # (12, padded): the arrays with a number for each row, named above. After the last row the positive ones hold 1 and
    # the others 0, so that no lane of a vector divides by 0.
    double* rows
    double* columns     # (4, d): the weights w, the residual Z'a - w, and two parts of a step, named above
    double* factor      # (d, d): scratch space
    double b
    # the largest relative error |w - Z'a| / |w| of a step with a factor by Cholesky, the longest step as a share of the
    # distance to the boundary, and the relative gap at which the method ends
    double off, share, enough


cdef inline double* at(const interior_t* s, int which) noexcept nogil:
    return s.rows + which * s.padded


cdef inline vec_d* line(const interior_t* s, int which) noexcept nogil:
    return <vec_d*> at(s, which)


cdef inline double gap_after(const interior_t* s, double length) noexcept nogil:
    """The sum of s a + t slack over all rows after a step of this length."""
    cdef vec_d sum = spread_d(0), t = spread_d(length)
    cdef double total = 0
    cdef Py_ssize_t v, i, whole = s.n // LANES_D
    for v in range(whole):
        sum = fmadd_d(fmadd_d(t, line(s, DS)[v], line(s, S)[v]), fmadd_d(t, line(s, DA)[v], line(s, A)[v]), sum)
        sum = fmadd_d(fmadd_d(t, line(s, DT)[v], line(s, T)[v]), fmadd_d(-t, line(s, DA)[v], line(s, SLACK)[v]), sum)
    for i in range(whole * LANES_D, s.n):
        total += (at(s, S)[i] + length * at(s, DS)[i]) * (at(s, A)[i] + length * at(s, DA)[i])
        total += (at(s, T)[i] + length * at(s, DT)[i]) * (at(s, SLACK)[i] - length * at(s, DA)[i])
    return sum_d(sum) + total


cdef inline void solve_for(interior_t* s, const double* r, double* x, double* u) noexcept nogil:
    """The solution (x, u) of D x + Z u = r, u - Z'x = v, for the v in u, where D is diagonal."""
    cdef double* inverse = at(s, INVERSE)
    cdef Py_ssize_t i
    for i in range(s.n):
        add_multiple(inverse[i] * r[i], s.Z + i * s.d, s.d, u)
    solve(s.factor, s.d, u)
    for i in range(s.n):
        x[i] = inverse[i] * (r[i] - dot(s.Z + i * s.d, u, s.d))


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline bint begin_step(interior_t* s) noexcept nogil:
    """Factorise the matrix of a step, and find its residuals; returns False if that is not precise enough."""
    cdef Py_ssize_t i, j, v, d = s.d
    cdef double* w = s.columns + W * d
    cdef double* off_w = s.columns + OFF_W * d
    cdef double* a = at(s, A)
    cdef double* y = at(s, Y)
    cdef double* off_a = at(s, OFF_A)
    cdef double* inverse = at(s, INVERSE)
    cdef double* along_w = s.columns + ALONG_W * d
    cdef const double* x[TOGETHER]
    cdef double weight[TOGETHER]
    for j in range(d):
        off_w[j] = -w[j]
    for i in range(s.n):
        add_multiple(a[i], s.Z + i * d, d, off_w)
        off_a[i] = dot(s.Z + i * d, w, d) - 1 + s.b * y[i]
    if not sqrt(dot(off_w, off_w, d)) <= s.off * sqrt(dot(w, w, d)):
        return False
    for v in range(s.padded // LANES_D):
        line(s, OFF_A)[v] += line(s, T)[v] - line(s, S)[v]
        line(s, INVERSE)[v] = spread_d(1) / (line(s, S)[v] / line(s, A)[v] + line(s, T)[v] / line(s, SLACK)[v])
    memset(s.factor, 0, d * d * sizeof(double))
    for j in range(d):
        s.factor[j * d + j] = 1
    i = 0
    while i < s.n:
        for j in range(TOGETHER):
            x[j], weight[j] = s.Z + min(i + j, s.n - 1) * d, inverse[i + j] if i + j < s.n else 0
        add_squares(x, weight, TOGETHER, 0, d, s.factor)
        i += TOGETHER
    if not factorise(s.factor, d):
        return False
    memset(along_w, 0, d * sizeof(double))
    solve_for(s, y, at(s, ALONG), along_w)
    return True


@cdivision(True)
cdef inline double find_direction(interior_t* s, double target, bint corrects) noexcept nogil:
    """Write the step (da, dw, ds, dt) towards complementary products `target`; returns db.

    corrects: whether the products of the step before, da ds and da dt, are taken off.
    """
    cdef double* x = at(s, DA)
    cdef double* dw = s.columns + DW * s.d
    cdef double* y = at(s, Y)
    cdef double* along = at(s, ALONG)
    cdef double db, off_b = 0, across = 0, total = 0
    cdef vec_d a, slack, sa, ts, da, back, aim = spread_d(target)
    cdef Py_ssize_t i, v
    for v in range(s.padded // LANES_D):
        # ds and dt hold the products s a and t slack that are aimed at, until the step itself is known
        sa, ts = aim, aim
        if corrects:
            sa -= line(s, DA)[v] * line(s, DS)[v]
            ts += line(s, DA)[v] * line(s, DT)[v]
        line(s, DS)[v], line(s, DT)[v] = sa, ts
        line(s, R)[v] = (sa / line(s, A)[v] - line(s, S)[v]) - (ts / line(s, SLACK)[v] - line(s, T)[v])
        line(s, R)[v] -= line(s, OFF_A)[v]
    for i in range(s.d):
        dw[i] = s.columns[OFF_W * s.d + i]
    solve_for(s, at(s, R), x, dw)
    for i in range(s.n):
        off_b -= y[i] * at(s, A)[i]
        across += y[i] * x[i]
        total += y[i] * along[i]
    db = (across - off_b) / total
    add_multiple(-db, s.columns + ALONG_W * s.d, s.d, dw)
    back = spread_d(-db)
    for v in range(s.padded // LANES_D):
        a, slack = line(s, A)[v], line(s, SLACK)[v]
        da = fmadd_d(back, line(s, ALONG)[v], line(s, DA)[v])
        line(s, DA)[v] = da
        line(s, DS)[v] = (line(s, DS)[v] - line(s, S)[v] * da) / a - line(s, S)[v]
        line(s, DT)[v] = (line(s, DT)[v] + line(s, T)[v] * da) / slack - line(s, T)[v]
    for i in range(s.n, s.padded):
        at(s, DS)[i] = at(s, DT)[i] = 0
    return db


@cdivision(True)
cdef inline double longest(const interior_t* s) noexcept nogil:
    """The longest step, at most 2, that keeps a, slack, s and t at 0 or above; NaN if the step is not finite."""
    cdef vec_d most = spread_d(0.5), sum = spread_d(0), da
    cdef Py_ssize_t v
    for v in range(s.padded // LANES_D):
        da = line(s, DA)[v]
        most = max_d(max_d(-da / line(s, A)[v], da / line(s, SLACK)[v]), most)
        most = max_d(max_d(-line(s, DS)[v] / line(s, S)[v], -line(s, DT)[v] / line(s, T)[v]), most)
        sum += spread_d(0) * da
    return 1 / largest_d(most) + sum_d(sum)


@cdivision(True)
cdef inline int inside(interior_t* s) noexcept nogil:
    """Take a Newton step with Mehrotra's predictor and corrector, if there is one."""
    cdef double gap = gap_after(s, 0), total = 0, after, length, db
    cdef double* w = s.columns + W * s.d
    cdef vec_d t
    cdef Py_ssize_t v, i
    for i in range(s.n):
        total += at(s, A)[i]
    if gap <= s.enough * fabs(total - 0.5 * dot(w, w, s.d)):
        return ENDED
    if not begin_step(s):
        return INEXACT
    find_direction(s, 0, False)
    after = gap_after(s, longest(s))
    db = find_direction(s, gap / (2 * s.n) * (after / gap) ** 3, True)
    length = s.share * longest(s)
    if not isfinite(length):
        return ENDED
    length = min(1.0, length)
    t = spread_d(length)
    for v in range(s.padded // LANES_D):
        line(s, A)[v] += t * line(s, DA)[v]
        line(s, SLACK)[v] -= t * line(s, DA)[v]
        line(s, S)[v] += t * line(s, DS)[v]
        line(s, T)[v] += t * line(s, DT)[v]
    add_multiple(length, s.columns + DW * s.d, s.d, w)
    s.b += length * db
    return GO_ON
