# Euclidean distances over the coordinates that both rows have; NaN stands for a missing value.
#
#     s = 0; n = 0; for j in range(d): if x[j] and q[j] are there: s = s + (x[j] - q[j])^2;  n = n + 1
#     distance = sqrt((d / n) s),  infinite where n = 0
#
# As infinite values are refused, a difference is NaN exactly where one of the two values is missing; such a lane adds 0
# to s and to n. The rows of a panel lie side by side, and every operation is rounded once.
from cython cimport cdivision, floating
from libc.math cimport INFINITY, NAN, sqrt

from neighbors._search cimport fill_found, search_t, take
from _vector cimport LANES_D, at_most_d, is_number, lowest_bit, or_zero, spread_d, vec_d

PANEL_ROWS = 2 * LANES_D


cdef inline double limit_of(double tau) noexcept nogil:
    """The limit of squared distances for neighbours within `tau`, with a margin for rounding; NaN for no limit."""
    return NAN if tau == INFINITY else tau * tau * (1 + 1e-15) + 1e-300


# cdivision turns off the debug build's check for divisors of 0, which does not work for SIMD vectors
@cdivision(True)
cdef void scan_missing(
    search_t* s, const floating* X, const double* Q, double* limit, Py_ssize_t start, Py_ssize_t stop, double* panel
) noexcept nogil:
    """Search rows X[start:stop]; limit, (n_queries,), and panel, (d, PANEL_ROWS), are scratch space."""
    cdef Py_ssize_t d = s.d, first = start, n_rows, row, query, j
    cdef const vec_d* x
    cdef const double* q
    cdef vec_d t0, t1, s0, s1, n0, n1
    cdef vec_d sums[2]
    cdef vec_d counts[2]
    cdef double n
    cdef unsigned int near, valid
    for query in range(s.n_queries):
        limit[query] = limit_of(s.tau[query])
    while first < stop:
        n_rows = min(<Py_ssize_t> (2 * LANES_D), stop - first)
        valid = (<unsigned int> 1 << n_rows) - 1
        for row in range(n_rows):
            for j in range(d):
                panel[j * 2 * LANES_D + row] = X[(first + row) * d + j]
        for row in range(n_rows, 2 * LANES_D):
            for j in range(d):
                panel[j * 2 * LANES_D + row] = 0
        for query in range(s.n_queries):
            x = <const vec_d*> panel
            q = Q + query * d
            s0 = s1 = n0 = n1 = spread_d(0)
            for j in range(d):
                t0 = x[2 * j] - spread_d(q[j])
                t1 = x[2 * j + 1] - spread_d(q[j])
                n0 += is_number(t0)
                n1 += is_number(t1)
                t0 = or_zero(t0)
                t1 = or_zero(t1)
                s0 += t0 * t0
                s1 += t1 * t1
            # Rows whose squared distances are at least the limit are ruled out. A row that shares no coordinate with
            # the query has NaN as squared distance, and stays.
            near = at_most_d(spread_d(limit[query]), spread_d(<double> d) / n0 * s0)
            near |= at_most_d(spread_d(limit[query]), spread_d(<double> d) / n1 * s1) << LANES_D
            near = valid & ~near
            if near:
                sums[0] = s0
                sums[1] = s1
                counts[0] = n0
                counts[1] = n1
                while near:
                    row = lowest_bit(near)
                    near &= near - 1
                    n = (<double*> counts)[row]
                    if take(
                        s, sqrt(<double> d / n * (<double*> sums)[row]) if n > 0 else INFINITY, first + row, query
                    ):
                        limit[query] = limit_of(s.tau[query])
        first += 2 * LANES_D


def scan(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, state):
    """Search rows X[start:stop]; `state` is a MissingPass of `missing_values.py`. Returns the number of hits."""
    cdef search_t s
    cdef const double[:, ::1] Q = state.query
    cdef double[::1] limit = state.limits
    cdef double[:, ::1] panel = state.panel
    fill_found(&s, X.shape[0], Q.shape[0], state)
    s.d = X.shape[1]
    with nogil:
        scan_missing(&s, &X[0, 0], &Q[0, 0], &limit[0], start, stop, &panel[0, 0])
    return s.n_hits
