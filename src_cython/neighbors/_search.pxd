# The state of one thread's search for a block of queries: for each query the k nearest rows so far, or the hits, all
# rows within a radius.
#
# The kernel of a scan, a filter or a tree calls `measure` for each row that may be near, which computes the distance,
# or `offer` with a distance; in the end it calls `measure_waiting`. A kernel that computes distances and bounds by
# itself calls `take`.
from cython cimport floating
from libc.math cimport isnan

from neighbors._distance cimport (
    chebyshev_t, cosine_t, dot_t, euclidean_t, exact_four, exact_term, hamming_t, manhattan_t, metric_t, minkowski_t,
    root, screen_bound, screen_terms,
)
from _vector cimport LANES_D, LANES_F, larger, largest_lane, require, spread_d, spread_f, sum_lanes, vec, vec_f
from fastclf._heap cimport push

ctypedef struct search_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    Py_ssize_t n_queries
    const double* query           # (n_queries, d): the queries, from which exact distances are computed
    # (n_queries, d): the queries, rounded to X's type, for screens (approximate distances); padded to a multiple of 4
    # rows
    const void* screen_query
    # (n_queries,): the distance of each query from its copy rounded to X's type; for the metric dot the query's norm
    const double* query_error
    double* tau                   # (n_queries,): tau, the distance beyond which a row is no neighbour of the query
    # (n_queries,): an upper bound of the screens (approximate distances) of rows at distance tau or less; -1 for
    # padding queries, so that they take no row
    double* bound
    Py_ssize_t k                  # the number of neighbours of each query; 0: all rows within the query's radius
    double* distance              # (n_queries, k): the distances of each query's k nearest rows so far, a heap
    Py_ssize_t* index             # (n_queries, k): the row numbers of each query's k nearest rows so far
    const unsigned char* allowed  # (n_rows,): 1 for each row that may be found; NULL: all rows may be found
    # (n_queries,): the number of the row that each query is and must not find; NULL: queries are no rows of X
    const Py_ssize_t* self_row
    Py_ssize_t* hit_query         # (capacity,): the query number of each hit, a row found within the query's radius
    Py_ssize_t* hit_row           # (capacity,): the row number of each hit, a row found within the query's radius
    # (capacity,): the distance of each hit, a row found within the query's radius, from the query
    double* hit_distance
    Py_ssize_t n_hits
    Py_ssize_t capacity
    # the number of (row, query) pairs that passed a quick test and whose distances are not yet computed
    Py_ssize_t n_waiting
    Py_ssize_t waiting_query[4]
    Py_ssize_t waiting_row[4]


cdef inline bint take(search_t* s, double distance, Py_ssize_t row, Py_ssize_t query) noexcept nogil:
    """Add a row to the query's nearest rows or hits; returns whether the distance of its k-th nearest row fell."""
    cdef Py_ssize_t k = s.k
    require(0 <= row < s.n_rows and 0 <= query < s.n_queries and not isnan(distance))
    if not distance <= s.tau[query]:
        return False
    if (s.self_row != NULL and s.self_row[query] == row) or (s.allowed != NULL and not s.allowed[row]):
        return False
    if k == 0:
        require(s.n_hits < s.capacity)
        s.hit_query[s.n_hits] = query
        s.hit_row[s.n_hits] = row
        s.hit_distance[s.n_hits] = distance
        s.n_hits += 1
    elif push(s.distance + query * k, s.index + query * k, k, distance, row):
        if s.distance[query * k] < s.tau[query]:
            s.tau[query] = s.distance[query * k]
            return True
    return False


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


# The numbers of the metrics in kernels. `CODES` of `_scan.pyx` maps the metrics' names to these numbers.
cdef enum:
    EUCLIDEAN
    SQEUCLIDEAN
    MANHATTAN
    CHEBYSHEV
    HAMMING
    MINKOWSKI
    COSINE
    DOT

ctypedef struct metrics_t:
    int code
    euclidean_t euclidean
    manhattan_t manhattan
    chebyshev_t chebyshev
    hamming_t hamming
    minkowski_t minkowski
    cosine_t cosine
    dot_t dot


cdef inline int fill_metric(metrics_t* metrics, metric, const double[::1] query_norm2) except -1:
    """Fill in a metrics_t from a Metric of `fastclf/neighbors/metrics.py`, to whose arrays it points.

    For cosine, `query_norm2` has the squared norms of the queries; if it is None, the caller sets the pointer later.
    """
    cdef const double[::1] w = metric.w
    cdef const double[::1] norm2 = metric.norm2
    metrics.code = metric.code
    metrics.euclidean.squared = metrics.code == SQEUCLIDEAN
    metrics.minkowski.p = metric.p
    metrics.minkowski.w = NULL
    if w is not None:
        metrics.minkowski.w = &w[0]
    metrics.dot.largest_norm = metric.largest_norm
    metrics.cosine.norm2 = metrics.cosine.query_norm2 = NULL
    if norm2 is not None:
        metrics.cosine.norm2 = &norm2[0]
    if query_norm2 is not None:
        metrics.cosine.query_norm2 = &query_norm2[0]
    return 0


cdef inline int fill_search(search_t* s, Py_ssize_t n_rows, state, floating like) except -1:
    """Fill in a search_t from `state`, a Pass of `fastclf/neighbors/scan.py` or a Walk of `kdtree.py`."""
    cdef const double[:, ::1] query = state.queries.query
    cdef const floating[:, ::1] screen_query = state.queries.screen_query
    cdef const double[::1] query_error = state.queries.query_error
    cdef double[::1] bound = state.bound
    s.d = query.shape[1]
    s.query = &query[0, 0]
    s.screen_query = &screen_query[0, 0]
    s.query_error = &query_error[0]
    s.bound = &bound[0]
    return fill_found(s, n_rows, query.shape[0], state)


cdef inline int fill_found(search_t* s, Py_ssize_t n_rows, Py_ssize_t n_queries, state) except -1:
    """Fill in the fields of a search_t that `take` reads.

    state.search is a Search, and state.found is Heaps or Hits, of `fastclf/neighbors/search.py`.
    """
    cdef double[::1] tau = state.found.tau
    cdef double[:, ::1] distance
    cdef Py_ssize_t[:, ::1] index
    cdef Py_ssize_t[::1] hit_query, hit_row
    cdef double[::1] hit_distance
    cdef const unsigned char[::1] allowed = state.search.allowed
    cdef const Py_ssize_t[::1] self_row = state.search.self_row
    s.n_rows = n_rows
    s.n_queries = n_queries
    s.tau = &tau[0]
    s.allowed = NULL
    if allowed is not None:
        s.allowed = &allowed[0]
    s.self_row = NULL
    if self_row is not None:
        s.self_row = &self_row[0]
    s.n_hits = s.capacity = s.n_waiting = 0
    s.k = state.found.k
    if s.k:
        distance = state.found.distance
        index = state.found.index
        s.distance = &distance[0, 0]
        s.index = &index[0, 0]
    else:
        hit_query = state.found.query
        hit_row = state.found.row
        hit_distance = state.found.distance
        s.capacity = hit_row.shape[0]
        s.hit_query = &hit_query[0]
        s.hit_row = &hit_row[0]
        s.hit_distance = &hit_distance[0]
    return 0
