# Six metrics, each by its formula, in float64, over the coordinates in their order, every operation rounded once:
#
#     canberra       sum_j |x_j - q_j| / (|x_j| + |q_j|),  a term 0 where both are 0
#     braycurtis     sum_j |x_j - q_j|  /  sum_j (|x_j| + |q_j|),  0 where both rows are 0
#     seuclidean     sqrt(sum_j (x_j - q_j)^2 / V_j)
#     mahalanobis    sqrt(sum_j t_j (sum_k VI_jk t_k)),  t = x - q
#     haversine      2 asin(sqrt(sin^2((x_0 - q_0) / 2) + cos x_0 cos q_0 sin^2((x_1 - q_1) / 2)))
#     correlation    1 - sum_j x_j q_j / sqrt(sum_j x_j^2 sum_j q_j^2)  of rows minus their means; 1 if one is constant
#
# The rows of a panel lie side by side, coordinate by coordinate: panel[j][row]. A screen compares all rows of a panel
# with a query at a time. The distances of rows that may be within tau are computed by `exact`, whose bits are the same
# in every build.
#
# The screens of the first four metrics are the same operations in the same order, without the root. The screen of
# haversine is u'v of the unit vectors of the two places, which is 1 - 2 sin^2(distance / 2) in real numbers; a rounded
# argument shifts a sine by no more than the rounding. The screen of correlation has a product of roots instead of the
# root of a product.
#
# If a term overflows, the distance is computed with both rows scaled by a power of two, which is exact except for
# underflow.
from cython cimport cdivision, floating
from libc.math cimport INFINITY, NAN, asin, cos, fabs, frexp, isfinite, ldexp, sin, sqrt

from neighbors._search cimport fill_found, search_t, take
from _vector cimport LANES_D, absolute, at_most_d, larger, lowest_bit, or_zero, spread_d, vec_d

cdef enum:
    ROWS = 2 * LANES_D

PANEL_ROWS = 2 * LANES_D

# The number of values that are computed once for each query, by `prepare`, and for each row, by `fill_panel`: for
# correlation the squared norm and the inverse of the norm; for haversine the unit vector of the place, and the larger
# absolute value of its two angles.
N_NOTES = 4

cdef enum:
    CANBERRA
    BRAYCURTIS
    SEUCLIDEAN
    MAHALANOBIS
    HAVERSINE
    CORRELATION

CODES = {
    "canberra": CANBERRA,
    "braycurtis": BRAYCURTIS,
    "seuclidean": SEUCLIDEAN,
    "mahalanobis": MAHALANOBIS,
    "haversine": HAVERSINE,
    "correlation": CORRELATION,
}

ctypedef struct formula_t:
    int code
    Py_ssize_t d
    # for seuclidean (d,): the variance of each feature; for mahalanobis (d, d): the inverse covariance; NULL otherwise
    const double* V
    # (d, rows of a panel): the panel, some rows of X side by side, coordinate by coordinate
    double* panel
    double* scratch             # (d, rows of a panel): scratch space for the Mahalanobis distances of the panel's rows
    double* notes               # (N_NOTES, rows of a panel): the numbers, such as norms, computed once for each row


cdef void centre(double* x, Py_ssize_t step, Py_ssize_t d, double* norm2_out) noexcept nogil:
    """Subtract the mean of d numbers, `step` apart, and scale them by a power of 2: the largest is from 1/2 to 1."""
    cdef Py_ssize_t j
    cdef double low = x[0], high = x[0], largest, total = 0
    cdef int exponent
    for j in range(1, d):
        low = min(low, x[j * step])
        high = max(high, x[j * step])
    if low == high:  # equal numbers are set to 0: they may differ from their computed mean by rounding
        for j in range(d):
            x[j * step] = 0
        norm2_out[0] = 0
        return
    frexp(max(fabs(low), fabs(high)), &exponent)
    for j in range(d):
        x[j * step] = ldexp(x[j * step], -exponent)
        total += x[j * step]
    total /= d
    largest = 0
    for j in range(d):
        x[j * step] -= total
        largest = max(largest, fabs(x[j * step]))
    frexp(largest, &exponent)
    total = 0
    for j in range(d):
        x[j * step] = ldexp(x[j * step], -exponent)
        total += x[j * step] * x[j * step]
    norm2_out[0] = total


cdef inline void note_place(const double* x, Py_ssize_t step, double* notes, Py_ssize_t notes_step) noexcept nogil:
    """Write the unit vector of a place, and the larger absolute value of its latitude x[0] and longitude x[step]."""
    notes[0] = cos(x[0]) * cos(x[step])
    notes[notes_step] = cos(x[0]) * sin(x[step])
    notes[2 * notes_step] = sin(x[0])
    notes[3 * notes_step] = max(fabs(x[0]), fabs(x[step]))


cdef void fill_panel(formula_t* f, const floating* X, Py_ssize_t first, Py_ssize_t n_rows) noexcept nogil:
    """Fill the panel with n_rows rows from `first` on, then zeros, and compute the notes of each row, such as norms."""
    cdef Py_ssize_t j, row
    for row in range(n_rows):
        for j in range(f.d):
            f.panel[j * ROWS + row] = X[(first + row) * f.d + j]
    for row in range(n_rows, <Py_ssize_t> ROWS):
        for j in range(f.d):
            f.panel[j * ROWS + row] = 0
    for row in range(<Py_ssize_t> ROWS):
        if f.code == CORRELATION:
            centre(f.panel + row, ROWS, f.d, &f.notes[row])
            f.notes[ROWS + row] = 1 / sqrt(f.notes[row]) if f.notes[row] > 0 else 0
        elif f.code == HAVERSINE:
            note_place(f.panel + row, ROWS, f.notes + row, ROWS)


cdef double exact_quotient(const formula_t* f, const double* x, const double* q, double scale) noexcept nogil:
    """The Canberra or Bray-Curtis distance of two rows, whose values are multiplied by `scale` against overflow."""
    cdef double s = 0, below = 0, a, b
    cdef Py_ssize_t j
    for j in range(f.d):
        a = fabs(x[j * ROWS] * scale - q[j] * scale)
        b = fabs(x[j * ROWS] * scale) + fabs(q[j] * scale)
        if f.code == BRAYCURTIS:
            s += a
            below += b
        elif b == INFINITY:
            a = fabs(x[j * ROWS] * 0.5 - q[j] * 0.5)
            s += a / (fabs(x[j * ROWS] * 0.5) + fabs(q[j] * 0.5))
        elif b > 0:
            s += a / b
    if f.code == CANBERRA:
        return s
    if below == INFINITY:
        # the sum over fewer than 2^40 features cannot overflow if all values are multiplied by 2^-40
        return exact_quotient(f, x, q, ldexp(1.0, -40))
    return s / below if below > 0 else 0


cdef double exact_form(const formula_t* f, const double* x, const double* q) noexcept nogil:
    """The standardised Euclidean distance or the Mahalanobis distance of a row x of the panel and a query q."""
    cdef double s = 0, inner, t
    cdef Py_ssize_t j, k
    for j in range(f.d):
        t = x[j * ROWS] - q[j]
        if f.code == SEUCLIDEAN:
            s += t * t / f.V[j]
        else:
            inner = 0
            for k in range(f.d):
                inner += f.V[j * f.d + k] * (x[k * ROWS] - q[k])
            s += t * inner
    if not isfinite(s):  # a term of the sum has overflowed, so that the distance is infinity
        return INFINITY
    return sqrt(s) if s > 0 else 0  # rounding may make the sum slightly negative, which would have the root NaN


cdef double exact(const formula_t* f, Py_ssize_t row, const double* q, const double* notes) noexcept nogil:
    """The exact distance between the query q and a row of the panel."""
    cdef const double* x = f.panel + row
    cdef double a, b, s = 0
    cdef Py_ssize_t j
    if f.code == CANBERRA or f.code == BRAYCURTIS:
        return exact_quotient(f, x, q, 1)
    if f.code == SEUCLIDEAN or f.code == MAHALANOBIS:
        return exact_form(f, x, q)
    if f.code == HAVERSINE:
        a = sin(0.5 * (x[0] - q[0]))
        b = sin(0.5 * (x[ROWS] - q[1]))
        a = sqrt(a * a + cos(x[0]) * cos(q[0]) * b * b)
        return 2 * asin(a if a < 1 else 1.0)
    for j in range(f.d):
        s += x[j * ROWS] * q[j]
    # for equal rows the divisor is the root of a square, which is exact, so that a row is at distance 0 from itself
    a = sqrt(f.notes[row] * notes[0])
    b = 1 - s / (a if a > 0 else 1.0)
    return 0 if b < 0 else (2 if b > 2 else b)


# cdivision turns off the debug build's check for divisors of 0, which does not work for SIMD vectors
@cdivision(True)
cdef unsigned int near_quotients(const formula_t* f, const double* q, double tau) noexcept nogil:
    cdef const vec_d* x = <const vec_d*> f.panel
    cdef vec_d s0, s1, b0, b1, a0, a1, most, p
    cdef Py_ssize_t j
    cdef unsigned int near
    s0 = s1 = b0 = b1 = most = spread_d(0)
    for j in range(f.d):
        p = spread_d(q[j])
        a0 = absolute(x[2 * j]) + absolute(p)
        a1 = absolute(x[2 * j + 1]) + absolute(p)
        if f.code == CANBERRA:
            most = larger(most, larger(a0, a1))
            s0 += or_zero(absolute(x[2 * j] - p) / a0)
            s1 += or_zero(absolute(x[2 * j + 1] - p) / a1)
        else:
            b0 += a0
            b1 += a1
            s0 += absolute(x[2 * j] - p)
            s1 += absolute(x[2 * j + 1] - p)
    if f.code == BRAYCURTIS:
        s0 = s0 / b0
        s1 = s1 / b1
        most = larger(b0, b1)
    # a row may be near if its screen (approximate distance) is at most `tau`, the largest distance wanted, or is NaN
    near = at_most_d(s0, spread_d(tau)) | at_most_d(s1, spread_d(tau)) << LANES_D
    near |= ~(at_most_d(s0, s0) | at_most_d(s1, s1) << LANES_D)
    if at_most_d(spread_d(INFINITY), most):
        return ~<unsigned int> 0
    return near


@cdivision(True)
cdef unsigned int near_forms(const formula_t* f, const double* q, double tau) noexcept nogil:
    cdef const vec_d* x = <const vec_d*> f.panel
    cdef vec_d* t = <vec_d*> f.scratch
    cdef vec_d s0, s1, a0, a1, p
    cdef Py_ssize_t j, k
    cdef unsigned int near
    # An upper bound of the squares of distances up to `tau`, with a margin for two roundings and underflow. It is NaN,
    # which rules out no row, if `tau` is infinite.
    cdef double limit = NAN if tau == INFINITY else tau * tau * (1 + 1e-15) + 1e-300
    s0 = s1 = spread_d(0)
    if f.code == SEUCLIDEAN:
        for j in range(f.d):
            a0 = x[2 * j] - spread_d(q[j])
            a1 = x[2 * j + 1] - spread_d(q[j])
            p = spread_d(f.V[j])
            s0 += a0 * a0 / p
            s1 += a1 * a1 / p
    else:
        for j in range(f.d):
            t[2 * j] = x[2 * j] - spread_d(q[j])
            t[2 * j + 1] = x[2 * j + 1] - spread_d(q[j])
        for j in range(f.d):
            a0 = a1 = spread_d(0)
            for k in range(f.d):
                p = spread_d(f.V[j * f.d + k])
                a0 += p * t[2 * k]
                a1 += p * t[2 * k + 1]
            s0 += t[2 * j] * a0
            s1 += t[2 * j + 1] * a1
    near = at_most_d(spread_d(limit), s0) | at_most_d(spread_d(limit), s1) << LANES_D
    return ~near


cdef unsigned int near_angles(const formula_t* f, const double* q, const double* notes, double tau) noexcept nogil:
    cdef const vec_d* x = <const vec_d*> f.panel
    cdef const vec_d* note = <const vec_d*> f.notes
    cdef vec_d s0, s1, p
    cdef Py_ssize_t j
    cdef double least, a
    s0 = s1 = spread_d(0)
    if f.code == HAVERSINE:
        for j in range(3):
            s0 += note[2 * j] * spread_d(notes[j])
            s1 += note[2 * j + 1] * spread_d(notes[j])
        # the unit vectors u and v of two places at distance tau have u'v = 1 - 2 sin^2(tau / 2)
        a = sin(0.5 * tau) if tau < 3.1415926535 else 1
        p = spread_d(1 - 2 * a * a - 4e-15 * (2 + notes[3]))
        s0 += note[6] * spread_d(4e-15)
        s1 += note[7] * spread_d(4e-15)
        return at_most_d(p, s0) | at_most_d(p, s1) << LANES_D if isfinite(notes[3]) else ~<unsigned int> 0
    for j in range(f.d):
        p = spread_d(q[j])
        s0 += x[2 * j] * p
        s1 += x[2 * j + 1] * p
    least = 1 - tau - 1e-14
    p = spread_d(notes[1])
    return at_most_d(spread_d(least), s0 * note[2] * p) | at_most_d(spread_d(least), s1 * note[3] * p) << LANES_D


cdef void scan_formula(
    formula_t* f, search_t* s, const floating* X, const double* Q, const double* notes, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil:
    cdef Py_ssize_t first = start, n_rows, row, query
    cdef const double* q
    cdef const double* note
    cdef unsigned int near
    while first < stop:
        n_rows = min(<Py_ssize_t> ROWS, stop - first)
        fill_panel(f, X, first, n_rows)
        for query in range(s.n_queries):
            q = Q + query * f.d
            note = notes + 4 * query
            if f.code == CANBERRA or f.code == BRAYCURTIS:
                near = near_quotients(f, q, s.tau[query])
            elif f.code == SEUCLIDEAN or f.code == MAHALANOBIS:
                near = near_forms(f, q, s.tau[query])
            else:
                near = near_angles(f, q, note, s.tau[query])
            near &= (<unsigned int> 1 << n_rows) - 1
            while near:
                row = lowest_bit(near)
                near &= near - 1
                take(s, exact(f, row, q, note), first + row, query)
        first += ROWS


def prepare(int code, double[:, ::1] Q, double[:, ::1] notes_out):
    """Write the notes of each query, such as its norm, (n_queries, N_NOTES); for correlation, centre the queries."""
    cdef Py_ssize_t i
    for i in range(Q.shape[0]):
        if code == CORRELATION:
            centre(&Q[i, 0], 1, Q.shape[1], &notes_out[i, 0])
            notes_out[i, 1] = 1 / sqrt(notes_out[i, 0]) if notes_out[i, 0] > 0 else 0
        elif code == HAVERSINE:
            note_place(&Q[i, 0], 1, &notes_out[i, 0], 1)


def scan(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, int code, V, state):
    """Search rows X[start:stop]; `state` is a FormulaPass of `fastclf/neighbors/formulas.py`.

    Returns the number of hits.
    """
    cdef search_t s
    cdef formula_t f
    cdef const double[:, ::1] Q = state.query
    cdef const double[:, ::1] notes = state.notes
    cdef const double[::1] numbers = None if V is None else V.reshape(-1)
    cdef double[:, ::1] panel = state.panel
    fill_found(&s, X.shape[0], Q.shape[0], state)
    f.code = code
    f.d = X.shape[1]
    f.V = NULL
    if numbers is not None:
        f.V = &numbers[0]
    f.notes = &panel[0, 0]
    f.panel = &panel[4, 0]
    f.scratch = &panel[4 + f.d, 0]
    with nogil:
        scan_formula(&f, &s, &X[0, 0], &Q[0, 0], &notes[0, 0], start, stop)
    return s.n_hits
