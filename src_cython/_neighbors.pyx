# Exact nearest neighbours by scanning: the k smallest (distance, row) pairs of a block of queries, or every row
# within a radius.
#
# in:      rows X[start:stop], a block of queries, a metric
# changed: per query a heap of the k best pairs (`_heap.pxd`) with its largest distance tau, or the list of hits
# needs:   ranges of one block in any order and any cut: the answer is a set under a total order, so cutting the
#          work differently cannot change it
#
# Each (row, query) pair is screened, and only rows whose screen is within the bound of `_distance.pxd` are measured
# exactly. Many queries: rows are packed into panels, 2 vectors of rows by 4 queries at a time. Few queries: rows are
# read once as they lie (not for cosine, whose rows must be scaled). Minkowski is measured exactly throughout.
from cython cimport floating
from libc.math cimport isnan, sqrt

from _distance cimport (
    ROWS_D, ROWS_F, chebyshev_t, cosine_t, euclidean_t, exact_four, exact_panel, exact_term, hamming_t,
    manhattan_t, metric_t, minkowski_t, root, screen_bound, screen_terms,
)
from _vector cimport (
    LANES_D, LANES_F, at_most, largest_lane, larger, lowest_bit, prefetch, require, spread, spread_d, spread_f,
    sum_lanes, transpose_4_by_4_d, transpose_4_by_4_f, vec, vec_d, vec_f,
)
from fastclf._heap cimport push, sort as sort_heap

cdef enum:
    EUCLIDEAN
    SQEUCLIDEAN
    MANHATTAN
    CHEBYSHEV
    HAMMING
    MINKOWSKI
    COSINE

CODES = {
    "euclidean": EUCLIDEAN, "sqeuclidean": SQEUCLIDEAN, "manhattan": MANHATTAN, "chebyshev": CHEBYSHEV,
    "hamming": HAMMING, "minkowski": MINKOWSKI, "cosine": COSINE,
}

# A block of queries is padded to a multiple of this many, with bounds that nothing meets.
GROUP = 4

# The rows of a panel, by X's type.
PANEL_ROWS = {"float32": ROWS_F, "float64": ROWS_D}

ctypedef struct search_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    Py_ssize_t n_queries
    const double* query           # (n_queries, d), what is measured
    const void* screen_query      # the same in X's type, padded to a multiple of 4 queries
    const double* query_error     # distance between the two
    double* tau                   # a row farther than this is of no use
    double* bound                 # ... which shows where its screen exceeds this; padded, with -1
    Py_ssize_t k                  # 0: collect hits within tau instead
    double* distance              # (n_queries, k) heaps
    Py_ssize_t* index
    const unsigned char* allowed  # rows that may be found, or NULL for all
    const Py_ssize_t* own         # the row that each query itself is, or NULL
    Py_ssize_t* hit_query
    Py_ssize_t* hit_row
    double* hit_distance
    Py_ssize_t n_hits
    Py_ssize_t capacity
    Py_ssize_t n_waiting          # pairs that passed the screen and are measured four at a time
    Py_ssize_t waiting_query[4]
    Py_ssize_t waiting_row[4]


cdef inline void offer(
    const metric_t* metric, search_t* s, double distance, Py_ssize_t row, Py_ssize_t query, floating like
) noexcept nogil:
    """Take a measured row into the query's heap or list."""
    cdef Py_ssize_t k = s.k
    require(0 <= row < s.n_rows and 0 <= query < s.n_queries and not isnan(distance))
    if not distance <= s.tau[query]:
        return
    if (s.own != NULL and s.own[query] == row) or (s.allowed != NULL and not s.allowed[row]):
        return
    if k == 0:
        require(s.n_hits < s.capacity)
        s.hit_query[s.n_hits] = query
        s.hit_row[s.n_hits] = row
        s.hit_distance[s.n_hits] = distance
        s.n_hits += 1
    elif push(s.distance + query * k, s.index + query * k, k, distance, row):
        if s.distance[query * k] < s.tau[query]:
            s.tau[query] = s.distance[query * k]
            s.bound[query] = screen_bound(metric, s.tau[query], s.query_error[query], s.d, like)


cdef void measure_waiting(const metric_t* metric, search_t* s, const floating* X) noexcept nogil:
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
    """Measure a row, now or with the next three: what waits only keeps tau larger for a while."""
    require(s.n_waiting < 4)
    s.waiting_row[s.n_waiting] = row
    s.waiting_query[s.n_waiting] = query
    s.n_waiting += 1
    if s.n_waiting == 4:
        measure_waiting(metric, s, X)


cdef inline void pack(
    const metric_t* metric, const floating* X, Py_ssize_t first, Py_ssize_t n_rows, Py_ssize_t d, Py_ssize_t width,
    floating* panel
) noexcept nogil:
    """panel[j][r] = X[first + r][j], for cosine divided by minus the row's norm; zero from n_rows on.

    4 rows by 4 coordinates at a time in registers, a cache line of each row after the other, while the lines of the
    next panel are asked for: 10 queries of 1M x 128 take 5 ms each in place of 10.
    """
    cdef Py_ssize_t line = 64 // <Py_ssize_t> sizeof(floating), ahead = width * d
    cdef Py_ssize_t i, j = 0, r, last
    cdef double scale
    cdef const floating* x
    require(0 < n_rows <= width)
    if metric_t is cosine_t:
        for r in range(n_rows):
            x = X + (first + r) * d
            scale = metric.norm2[first + r]
            scale = -1 / sqrt(scale) if scale > 0 else 0
            for j in range(d):
                panel[j * width + r] = <floating> (x[j] * scale)
    else:
        while j < d:
            last = min(j + line, d)
            r = 0
            while r + 4 <= n_rows:
                x = X + (first + r) * d
                prefetch(x + ahead + j)
                prefetch(x + ahead + d + j)
                prefetch(x + ahead + 2 * d + j)
                prefetch(x + ahead + 3 * d + j)
                i = j
                while i + 4 <= last:
                    if floating is float:
                        transpose_4_by_4_f(x + i, d, panel + i * width + r, width)
                    else:
                        transpose_4_by_4_d(x + i, d, panel + i * width + r, width)
                    i += 4
                while i < last:
                    panel[i * width + r] = x[i]
                    panel[i * width + r + 1] = x[d + i]
                    panel[i * width + r + 2] = x[2 * d + i]
                    panel[i * width + r + 3] = x[3 * d + i]
                    i += 1
                r += 4
            while r < n_rows:
                for i in range(j, last):
                    panel[i * width + r] = X[(first + r) * d + i]
                r += 1
            j = last
    for r in range(n_rows, width):
        for j in range(d):
            panel[j * width + r] = 0


cdef inline void screen_tile(
    const metric_t* metric, const vec* panel, const vec* q0, const vec* q1, const vec* q2, const vec* q3,
    Py_ssize_t d, const double* bound, unsigned int* near_out
) noexcept nogil:
    """For 4 queries (arrays of d scalars) and one panel: the rows whose screen is within the bound, as bits."""
    cdef Py_ssize_t j
    cdef vec x0, x1, q
    cdef vec a0, a1, b0, b1, c0, c1, d0, d1
    cdef vec t0, t1, t2, t3
    cdef int lanes
    if vec is vec_f:
        lanes = LANES_F
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = spread_f(0)
        t0 = spread_f(<float> bound[0])
        t1 = spread_f(<float> bound[1])
        t2 = spread_f(<float> bound[2])
        t3 = spread_f(<float> bound[3])
    else:
        lanes = LANES_D
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = spread_d(0)
        t0 = spread_d(bound[0])
        t1 = spread_d(bound[1])
        t2 = spread_d(bound[2])
        t3 = spread_d(bound[3])
    for j in range(d):
        x0 = panel[2 * j]
        x1 = panel[2 * j + 1]
        q = spread(q0, j)
        a0 = screen_terms(metric, a0, x0, q)
        a1 = screen_terms(metric, a1, x1, q)
        q = spread(q1, j)
        b0 = screen_terms(metric, b0, x0, q)
        b1 = screen_terms(metric, b1, x1, q)
        q = spread(q2, j)
        c0 = screen_terms(metric, c0, x0, q)
        c1 = screen_terms(metric, c1, x1, q)
        q = spread(q3, j)
        d0 = screen_terms(metric, d0, x0, q)
        d1 = screen_terms(metric, d1, x1, q)
    near_out[0] = at_most(a0, t0) | at_most(a1, t0) << lanes
    near_out[1] = at_most(b0, t1) | at_most(b1, t1) << lanes
    near_out[2] = at_most(c0, t2) | at_most(c1, t2) << lanes
    near_out[3] = at_most(d0, t3) | at_most(d1, t3) << lanes


cdef void measure_panel(
    const metric_t* metric, search_t* s, const floating* X, const floating* panel,
    Py_ssize_t first, Py_ssize_t n_rows, Py_ssize_t query, unsigned int near
) noexcept nogil:
    """Measure the rows of a panel that `near` marks. From 4 marked rows on, all side by side cost less."""
    cdef double sums[ROWS_F]
    cdef const double* q = s.query + query * s.d
    cdef Py_ssize_t r
    cdef unsigned int many = 0
    if metric_t is not cosine_t:  # whose panel is not X
        many = near & (near - 1)
        many &= many - 1
        many &= many - 1
        if many:
            exact_panel(metric, panel, q, s.d, sums)
    while near:
        r = lowest_bit(near)
        near &= near - 1
        if not many:
            measure(metric, s, X, first + r, query)
        elif sums[r] <= s.bound[query]:  # else no root is needed
            offer(metric, s, root(metric, sums[r], s.d, first + r, query), first + r, query, panel[0])


cdef void scan_panels(
    const metric_t* metric, search_t* s, const floating* X, Py_ssize_t start, Py_ssize_t stop, floating* panel
) noexcept nogil:
    cdef Py_ssize_t width = ROWS_F if floating is float else ROWS_D
    cdef Py_ssize_t d = s.d, first, n_rows, query, i
    cdef const floating* q
    cdef unsigned int near[4]
    cdef unsigned int valid
    first = start
    while first < stop:
        n_rows = min(width, stop - first)
        valid = <unsigned int> ((<unsigned long long> 1 << n_rows) - 1)
        pack(metric, X, first, n_rows, d, width, panel)
        if metric_t is minkowski_t:
            for query in range(s.n_queries):
                measure_panel(metric, s, X, panel, first, n_rows, query, valid)
        else:
            for query in range(0, s.n_queries, 4):
                q = <const floating*> s.screen_query + query * d
                if floating is float:
                    screen_tile(
                        metric, <const vec_f*> panel, <const vec_f*> q, <const vec_f*> (q + d),
                        <const vec_f*> (q + 2 * d), <const vec_f*> (q + 3 * d), d, s.bound + query, near,
                    )
                else:
                    screen_tile(
                        metric, <const vec_d*> panel, <const vec_d*> q, <const vec_d*> (q + d),
                        <const vec_d*> (q + 2 * d), <const vec_d*> (q + 3 * d), d, s.bound + query, near,
                    )
                if near[0] | near[1] | near[2] | near[3]:
                    for i in range(4):
                        if near[i] & valid:
                            measure_panel(metric, s, X, panel, first, n_rows, query + i, near[i] & valid)
        first += width


cdef inline double screen_row(
    const metric_t* metric, const vec* x, const vec* q, Py_ssize_t d
) noexcept nogil:
    """The screen of one row (arrays of d scalars): coordinates side by side, what is left over in float64."""
    cdef Py_ssize_t lanes = LANES_F if vec is vec_f else LANES_D
    cdef Py_ssize_t i = 0, n = d // lanes, j
    cdef vec a, b
    cdef double s = 0
    if n:
        if vec is vec_f:
            a = b = spread_f(0)
        else:
            a = b = spread_d(0)
        while i + 2 <= n:
            a = screen_terms(metric, a, x[i], q[i])
            b = screen_terms(metric, b, x[i + 1], q[i + 1])
            i += 2
        if i < n:
            a = screen_terms(metric, a, x[i], q[i])
        s = largest_lane(larger(a, b)) if metric_t is chebyshev_t else sum_lanes(a + b)
    for j in range(n * lanes, d):
        if vec is vec_f:
            s = exact_term(metric, s, (<const float*> x)[j], (<const float*> q)[j], j)
        else:
            s = exact_term(metric, s, (<const double*> x)[j], (<const double*> q)[j], j)
    return s


cdef void scan_rows(
    const metric_t* metric, search_t* s, const floating* X, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef Py_ssize_t d = s.d, row, query, first, last
    # of several queries each passes over rows that stay in the first-level cache
    cdef Py_ssize_t n_rows = max(1, 16384 // (d * <Py_ssize_t> sizeof(floating)))
    cdef const floating* x
    cdef const floating* q
    cdef double near
    if s.n_queries == 1:
        n_rows = stop - start
    first = start
    while first < stop:
        last = min(first + n_rows, stop)
        for query in range(s.n_queries):
            q = <const floating*> s.screen_query + query * d
            for row in range(first, last):
                x = X + row * d
                if floating is float:
                    near = screen_row(metric, <const vec_f*> x, <const vec_f*> q, d)
                else:
                    near = screen_row(metric, <const vec_d*> x, <const vec_d*> q, d)
                if near <= s.bound[query]:
                    measure(metric, s, X, row, query)
        first = last


cdef void scan_range(
    const metric_t* metric, search_t* s, const floating* X, Py_ssize_t start, Py_ssize_t stop, floating* panel,
    bint by_rows
) noexcept nogil:
    cdef Py_ssize_t query
    if s.k == 0:
        for query in range(s.n_queries):
            s.bound[query] = screen_bound(metric, s.tau[query], s.query_error[query], s.d, X[0])
    if metric_t is minkowski_t or metric_t is cosine_t:
        scan_panels(metric, s, X, start, stop, panel)
    elif by_rows:
        scan_rows(metric, s, X, start, stop)
    else:
        scan_panels(metric, s, X, start, stop, panel)
    measure_waiting(metric, s, X)


def scan(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, metric, block, hits=None):
    """Search rows X[start:stop] for a block of queries.

    `metric` and `block` are those of `fastclf/_search.py`. With `hits` = (query, row, distance) arrays, long
    enough for (stop - start) * n_queries, every row within block.tau is written there, and their number returned.
    """
    cdef search_t s
    cdef const double[:, ::1] query = block.query
    cdef const floating[:, ::1] screen_query = block.screen_query
    cdef const double[::1] query_error = block.query_error
    cdef double[::1] tau = block.tau
    cdef double[::1] bound = block.bound
    cdef floating[:, ::1] panel = block.panel
    cdef double[:, ::1] distance
    cdef Py_ssize_t[:, ::1] index
    cdef Py_ssize_t[::1] hit_query, hit_row
    cdef double[::1] hit_distance
    cdef const unsigned char[::1] allowed = block.allowed
    cdef const Py_ssize_t[::1] own = block.own
    cdef const double[::1] w = metric.w
    cdef const double[::1] norm2 = metric.norm2
    cdef const double[::1] query_norm2 = block.query_norm2
    cdef int code = metric.code
    cdef bint by_rows = block.by_rows
    cdef euclidean_t euclidean
    cdef manhattan_t manhattan
    cdef chebyshev_t chebyshev
    cdef hamming_t hamming
    cdef minkowski_t minkowski
    cdef cosine_t cosine

    s.d = X.shape[1]
    s.n_rows = X.shape[0]
    s.n_queries = query.shape[0]
    s.query = &query[0, 0]
    s.screen_query = &screen_query[0, 0]
    s.query_error = &query_error[0]
    s.tau = &tau[0]
    s.bound = &bound[0]
    s.allowed = NULL
    if allowed is not None:
        s.allowed = &allowed[0]
    s.own = NULL
    if own is not None:
        s.own = &own[0]
    s.n_hits = s.capacity = s.n_waiting = 0
    if hits is None:
        distance = block.distance
        index = block.index
        s.k = distance.shape[1]
        s.distance = &distance[0, 0]
        s.index = &index[0, 0]
    else:
        hit_query, hit_row, hit_distance = hits
        s.k = 0
        s.capacity = hit_row.shape[0]
        s.hit_query = &hit_query[0]
        s.hit_row = &hit_row[0]
        s.hit_distance = &hit_distance[0]
    euclidean.squared = code == SQEUCLIDEAN
    minkowski.p = metric.p
    minkowski.w = NULL
    if w is not None:
        minkowski.w = &w[0]
    if norm2 is not None:
        cosine.norm2 = &norm2[0]
        cosine.query_norm2 = &query_norm2[0]
    with nogil:
        if code == EUCLIDEAN or code == SQEUCLIDEAN:
            scan_range(&euclidean, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
        elif code == MANHATTAN:
            scan_range(&manhattan, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
        elif code == CHEBYSHEV:
            scan_range(&chebyshev, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
        elif code == HAMMING:
            scan_range(&hamming, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
        elif code == MINKOWSKI:
            scan_range(&minkowski, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
        else:
            scan_range(&cosine, &s, &X[0, 0], start, stop, &panel[0, 0], by_rows)
    return s.n_hits


def merge(
    double[:, ::1] distance, Py_ssize_t[:, ::1] index,
    const double[:, ::1] other_distance, const Py_ssize_t[:, ::1] other_index,
):
    """Push the pairs of other heaps into these, query by query."""
    cdef Py_ssize_t k = distance.shape[1], query, i
    with nogil:
        for query in range(distance.shape[0]):
            for i in range(k):
                push(&distance[query, 0], &index[query, 0], k, other_distance[query, i], other_index[query, i])


def sort(double[:, ::1] distance, Py_ssize_t[:, ::1] index):
    """Turn each query's heap into a list in ascending order, in place."""
    cdef Py_ssize_t query
    with nogil:
        for query in range(distance.shape[0]):
            sort_heap(&distance[query, 0], &index[query, 0], distance.shape[1])


def squared_norms(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, double[::1] norm2_out):
    """The exact sums x'x of rows X[start:stop], coordinates in order."""
    cdef Py_ssize_t row, j, d = X.shape[1]
    cdef double s, x
    with nogil:
        for row in range(start, stop):
            s = 0
            for j in range(d):
                x = X[row, j]
                s = s + x * x
            norm2_out[row] = s
