# Exact distances, which are the answers, and screens, which bound a distance and so decide whether to compute it.
#
# An exact distance is computed in float64 over the coordinates in their order, every operation rounded once (no FMA, no
# reassociation), so that every build of this file returns the bits of
#
#     s = 0; for j in range(d): s = s (+ or max) term(x[j], q[j]);  distance = root(s)
#
# The rows of a panel are summed side by side, which makes this fast; no sum is split.
#
# A screen is the same sum in the type of X, in any order, with FMA. Let u be the unit roundoff of this type, t its
# smallest subnormal number, and s the sum in real numbers. Every term is >= 0, so that errors are relative (Higham,
# Accuracy and Stability, 3.5):
#
#     |screen - s| <= gamma s + 2 d t,   |exact - s| <= gamma s + 2 d t,   gamma = (d + 2) u / (1 - (d + 2) u)
#
# and the root adds at most 4 ulps. So a row whose exact distance is at most tau has
#
#     screen <= reduced(tau) (1 + (4 d + 16) u) + 8 d t       while (4 d + 16) u < 1/2          (see screen_bound)
#
# where reduced() undoes the root. A sum that overflows is inf; then the bound is inf, too, or s is truly beyond it.
# If the query was rounded to the type of X, by e in the metric's norm, tau + e replaces tau (triangle inequality).
#
# The screen of cosine is the sum of products of rows and queries that were first divided by their norms, -x/|x| and
# q/|q|, rounded to X's type. It is -cos up to an absolute error of (2 d + 8) u + 2 d t, as all norms are 1 and each
# coordinate carries at most (d / 2 + 4) u; the exact distance is 1 - cos up to (2 d + 8) u, so its bound is
# tau - 1 + (4 d + 16) u + 8 d t.
#
# The screen of dot, whose distance is -x'q, is the sum of products of rows and -q/|q|, rounded to X's type. It is
# -x'q/|q| up to (d + 4) u |x| + 2 d t, and the exact distance over |q| up to d u |x| more; |x| is at most the largest
# norm of a row, N, and no partial sum is larger, so that none overflows. Its bound is tau/|q| + (4 d + 16) u N + 8 d t.
# These terms also cover underflow in the exact sum, d 2^-1074 / |q|, because |q| and N are at least 1e-140; for a
# shorter query every row is measured.
#
# In the code t is the smallest normal number: it is larger than the smallest subnormal, and adding it to a bound is
# fast.
#
# Minkowski has no screen, but the bound avoids most roots: pow is off by 2 ulps and 1 / p is rounded, so that s and
# tau^p differ by (2 p + ln s) u more, and |ln s| < 800, as long as tau is a normal number.
from cython cimport floating
from libc.math cimport INFINITY, fabs, nextafterf, pow, sqrt

from neighbors._metrics cimport (
    chebyshev_t, cosine_t, dot_t, euclidean_t, hamming_t, manhattan_t, metric_t, minkowski_t,
)
from neighbors._panel_layout cimport ROWS_D, ROWS_F
from _vector cimport (
    LANES_D, LANES_F, absolute, differs, fmadd, larger, largest_lane, spread_d, spread_f, sum_lanes, vec, vec_d, vec_f,
    widen,
)


cdef inline double exact_term(
    const metric_t* metric, double s, double x, double q, Py_ssize_t j
) noexcept nogil:
    cdef double t = x - q
    if metric_t is euclidean_t:
        return s + t * t
    elif metric_t is manhattan_t:
        return s + fabs(t)
    elif metric_t is chebyshev_t:
        t = fabs(t)
        return t if t > s else s
    elif metric_t is hamming_t:
        return s + (x != q)
    elif metric_t is minkowski_t:
        t = pow(fabs(t), metric.p)
        if metric.w != NULL:
            t = metric.w[j] * t if metric.w[j] > 0 else 0  # a weight of 0 times an infinite power counts as 0, not NaN
        return s + t
    else:
        return s + x * q


cdef inline vec_d exact_terms(const metric_t* metric, vec_d s, vec_d x, vec_d q) noexcept nogil:
    """The exact sum s plus one more coordinate's term (Chebyshev: the larger of both), in each lane of a vector."""
    cdef vec_d t = x - q
    if metric_t is euclidean_t:
        return s + t * t
    elif metric_t is manhattan_t:
        return s + absolute(t)
    elif metric_t is chebyshev_t:
        return larger(absolute(t), s)
    elif metric_t is hamming_t:
        return s + differs(x, q)
    else:
        return s + x * q


cdef inline double root(
    const metric_t* metric, double s, Py_ssize_t d, Py_ssize_t row, Py_ssize_t query
) noexcept nogil:
    cdef double norms, cosine
    if metric_t is euclidean_t:
        return s if metric.squared else sqrt(s)
    elif metric_t is hamming_t:
        return s / d
    elif metric_t is minkowski_t:
        return pow(s, 1.0 / metric.p)
    elif metric_t is cosine_t:
        # A single root of the product of two squared norms is exact where both are equal, so that a row is at distance
        # 0 from itself. Where the product overflows or underflows, two roots are multiplied.
        norms = metric.norm2[row] * metric.query_norm2[query]
        if 1e-290 < norms < 1e290:
            norms = sqrt(norms)
        else:
            norms = sqrt(metric.norm2[row]) * sqrt(metric.query_norm2[query])
        if norms == 0:
            return 1
        cosine = s / norms
        return 0 if cosine > 1 else (2 if cosine < -1 else 1 - cosine)
    elif metric_t is dot_t:
        return 0 - s
    else:
        return s


cdef inline void exact_four(
    const metric_t* metric, const floating** x, const double** q, Py_ssize_t d, double* s_out
) noexcept nogil:
    """The exact sums of four (row, query) pairs, before the root.

    The additions of one sum wait for each other, so that four sums side by side take little longer than one.
    """
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t j
    for j in range(d):
        s0 = exact_term(metric, s0, x[0][j], q[0][j], j)
        s1 = exact_term(metric, s1, x[1][j], q[1][j], j)
        s2 = exact_term(metric, s2, x[2][j], q[2][j], j)
        s3 = exact_term(metric, s3, x[3][j], q[3][j], j)
    s_out[0] = s0
    s_out[1] = s1
    s_out[2] = s2
    s_out[3] = s3


cdef inline void exact_panel(
    const metric_t* metric, const floating* panel, const double* q, Py_ssize_t d, double* s_out
) noexcept nogil:
    """Write the exact distance, before the root, of one query from each row of a panel."""
    cdef Py_ssize_t j, r
    cdef vec_d spread_q
    cdef vec_d s0, s1, s2, s3
    cdef vec_d* out = <vec_d*> s_out
    if metric_t is minkowski_t:
        for r in range(ROWS_F if floating is float else ROWS_D):
            s_out[r] = 0
        for j in range(d):
            for r in range(ROWS_F if floating is float else ROWS_D):
                s_out[r] = exact_term(metric, s_out[r], panel[r], q[j], j)
            panel += ROWS_F if floating is float else ROWS_D
    elif floating is float:
        s0 = s1 = s2 = s3 = spread_d(0)
        for j in range(d):
            spread_q = spread_d(q[j])
            s0 = exact_terms(metric, s0, widen(<const float*> panel), spread_q)
            s1 = exact_terms(metric, s1, widen(<const float*> panel + LANES_D), spread_q)
            if ROWS_F == 4 * LANES_D:
                s2 = exact_terms(metric, s2, widen(<const float*> panel + 2 * LANES_D), spread_q)
                s3 = exact_terms(metric, s3, widen(<const float*> panel + 3 * LANES_D), spread_q)
            panel += ROWS_F
        out[0] = s0
        out[1] = s1
        if ROWS_F == 4 * LANES_D:
            out[2] = s2
            out[3] = s3
    else:
        s0 = s1 = spread_d(0)
        for j in range(d):
            spread_q = spread_d(q[j])
            s0 = exact_terms(metric, s0, (<const vec_d*> panel)[0], spread_q)
            s1 = exact_terms(metric, s1, (<const vec_d*> panel)[1], spread_q)
            panel += ROWS_D
        out[0] = s0
        out[1] = s1


cdef inline vec screen_terms(const metric_t* metric, vec s, vec x, vec q) noexcept nogil:
    cdef vec t = x - q
    if metric_t is euclidean_t:
        return fmadd(t, t, s)
    elif metric_t is manhattan_t:
        return s + absolute(t)
    elif metric_t is chebyshev_t:
        return larger(absolute(t), s)
    elif metric_t is cosine_t or metric_t is dot_t:
        return fmadd(x, q, s)
    else:
        return s + differs(x, q)


cdef inline double screen_row(
    const metric_t* metric, const vec* x, const vec* q, Py_ssize_t d
) noexcept nogil:
    """The screen of one row, summed by whole vectors of coordinates, then by the remaining coordinates in float64.

    x and q are arrays of d scalars.
    """
    cdef Py_ssize_t lanes = LANES_F if vec is vec_f else LANES_D
    cdef Py_ssize_t i = 0, n = d // lanes, j
    cdef vec a, b, c, e
    cdef double s = 0
    if n:
        if vec is vec_f:
            a = b = c = e = spread_f(0)
        else:
            a = b = c = e = spread_d(0)
        while i + 4 <= n:
            a = screen_terms(metric, a, x[i], q[i])
            b = screen_terms(metric, b, x[i + 1], q[i + 1])
            c = screen_terms(metric, c, x[i + 2], q[i + 2])
            e = screen_terms(metric, e, x[i + 3], q[i + 3])
            i += 4
        while i < n:
            a = screen_terms(metric, a, x[i], q[i])
            i += 1
        if metric_t is chebyshev_t:
            s = largest_lane(larger(larger(a, b), larger(c, e)))
        else:
            s = sum_lanes((a + b) + (c + e))
    for j in range(n * lanes, d):
        if vec is vec_f:
            s = exact_term(metric, s, (<const float*> x)[j], (<const float*> q)[j], j)
        else:
            s = exact_term(metric, s, (<const double*> x)[j], (<const double*> q)[j], j)
    return s


cdef inline double screen_bound(
    const metric_t* metric, double tau, double query_error, Py_ssize_t d, floating like
) noexcept nogil:
    """An upper bound of the screen (approximate distance before the root) of every row at distance `tau` or less."""
    cdef double u = 5.9604644775390625e-8 if floating is float else 1.1102230246251565e-16
    cdef double t = 1.1754943508222875e-38 if floating is float else 2.2250738585072014e-308
    cdef double slack = (4 * d + 16) * u
    cdef double bound
    if metric_t is minkowski_t:
        slack = slack + (2 * metric.p + 1600) * u
    if slack >= 0.5 or (metric_t is minkowski_t and tau < 1e-290):
        return INFINITY
    if metric_t is euclidean_t:
        bound = (sqrt(tau) if metric.squared else tau) + query_error
        bound = bound * bound
    elif metric_t is hamming_t:
        bound = tau * d + query_error
    elif metric_t is minkowski_t:
        bound = pow(tau, metric.p)
    elif metric_t is cosine_t:
        bound = tau - 1
    elif metric_t is dot_t:
        bound = tau / query_error if query_error > 0 else INFINITY
    else:
        bound = tau + query_error
    if metric_t is cosine_t:
        bound = bound + slack + 8 * d * t
    elif metric_t is dot_t:
        bound = bound + slack * metric.largest_norm + 8 * d * t
    else:
        bound = bound * (1 + slack) + 8 * d * t
    if floating is float:
        return nextafterf(<float> bound, INFINITY)
    else:
        return bound
