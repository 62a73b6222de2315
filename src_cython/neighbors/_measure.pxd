# Measuring: the rows that pass a search's screen wait until there are four, as four distances are computed at once, and
# then go into the heap or the hits of their query.
#
# in:      rows X, (row, query) pairs, a metric
# changed: the heaps or hits of a search_t, and for each query that found a nearer row its tau and its bound
# needs:   a call of `measure_waiting` after the last pair
from cython cimport floating

from neighbors._distance cimport exact_four, root, screen_bound
from neighbors._metrics cimport metric_t
from neighbors._search cimport search_t, take
from _vector cimport require


cdef inline void offer(
    const metric_t* metric, search_t* s, double distance, Py_ssize_t row, Py_ssize_t query, floating like
) noexcept nogil:
    """Add a row to the query's nearest rows or hits; if its k-th distance fell, lower the bound of screens of rows."""
    if take(s, distance, row, query):
        s.bound[query] = screen_bound(metric, s.tau[query], s.query_error[query], s.d, like)


cdef inline void measure_waiting(const metric_t* metric, search_t* s, const floating* X) noexcept nogil:
    """Compute, side by side, the distances of the at most four (row, query) pairs that wait, and offer the rows."""
    cdef const floating* x[4]
    cdef const double* q[4]
    cdef double sums[4]
    cdef Py_ssize_t i, row, query, n = s.n_waiting
    s.n_waiting = 0
    if n == 0:
        return
    for i in range(4):
        x[i] = X + s.waiting_row[i if i < n else 0] * s.d
        q[i] = s.query + s.waiting_query[i if i < n else 0] * s.d
    exact_four(metric, x, q, s.d, sums)
    for i in range(n):
        row = s.waiting_row[i]
        query = s.waiting_query[i]
        offer(metric, s, root(metric, sums[i], s.d, row, query), row, query, X[0])


cdef inline void measure(
    const metric_t* metric, search_t* s, const floating* X, Py_ssize_t row, Py_ssize_t query
) noexcept nogil:
    """Let a (row, query) pair wait until there are four; then compute four distances at once, which is faster."""
    require(s.n_waiting < 4)
    if s.allowed != NULL and not s.allowed[row]:
        return
    s.waiting_row[s.n_waiting] = row
    s.waiting_query[s.n_waiting] = query
    s.n_waiting += 1
    if s.n_waiting == 4:
        measure_waiting(metric, s, X)
