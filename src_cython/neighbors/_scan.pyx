# Exact nearest neighbours by a scan of all rows: the k smallest pairs (distance, row) of each query, or every row
# within a radius.
#
# in:      rows X[start:stop], a block of queries, a metric
# changed: for each query a heap of the k smallest pairs (`_heap.pxd`) and its largest distance tau, or the list of hits
# needs:   no order of row ranges: pairs have a total order, so that any order and any cut of the ranges give one answer
#
# Each (row, query) pair is screened, and only rows whose screen is within the bound of `_distance.pxd` are measured
# exactly. For many queries, rows are packed into panels, and 2 vectors of rows are screened against 4 queries at a
# time. For few queries, the rows of X are read once in place, except for cosine, whose rows must be scaled. Minkowski
# has no screen.
from cython cimport floating
from libc.stdlib cimport free, malloc

from neighbors._distance cimport exact_panel, root, screen_bound, screen_row, screen_terms
from neighbors._measure cimport measure, measure_waiting, offer
from neighbors._metrics cimport (
    CHEBYSHEV, COSINE, DOT, EUCLIDEAN, HAMMING, MANHATTAN, MINKOWSKI, SQEUCLIDEAN, cosine_t, dot_t, euclidean_t,
    fill_metric, metric_t, metrics_t, minkowski_t,
)
from neighbors._panel_layout cimport PANEL_BYTES, ROWS_D, ROWS_F, pack
from neighbors._product_screen cimport MOST_WHOLE, SCREEN_ROWS, fill_products, products_t, scan_products
from neighbors._raw_queries cimport FEW_QUERIES, PY_SSIZE_T_MAX, metrics_of, prepare, scratch_bytes
from neighbors._search cimport fill_search, search_t
from _model cimport distances_double_f, distances_float_f, model_t, piece, raw_search_t, search_f
from _vector cimport (
    LANES_D, LANES_F, at_most, lowest_bit, spread, spread_d, spread_f, vec, vec_d, vec_f,
)
from fastclf._heap cimport push, sort as sort_heap
from _status cimport FASTCLF_OK

CODES = {
    "euclidean": EUCLIDEAN, "sqeuclidean": SQEUCLIDEAN, "manhattan": MANHATTAN, "chebyshev": CHEBYSHEV,
    "hamming": HAMMING, "minkowski": MINKOWSKI, "cosine": COSINE, "dot": DOT,
}

# The number of queries that are screened together. A block of queries is padded to a multiple of it, by queries that
# take no row.
GROUP = 4

# The number of rows of a panel, by the dtype of X.
PANEL_ROWS = {"float32": ROWS_F, "float64": ROWS_D}

# The number of queries that are compared with a panel of rows together by their products.
PRODUCT_GROUP = SCREEN_ROWS
# Products of whole numbers are exact for a query whose squared norm is below twice this number.
MOST_HALF = MOST_WHOLE // 2


cdef inline void screen_tile(
    const metric_t* metric, const vec* panel, const vec* queries, Py_ssize_t d, const double* bound,
    unsigned int* near_out
) noexcept nogil:
    """Write for each of 4 queries a bit per row of a panel: 1 if its approximate distance is within the bound."""
    cdef const vec* q0 = queries
    cdef const vec* q1
    cdef const vec* q2
    cdef const vec* q3
    cdef Py_ssize_t j
    cdef vec x0, x1, q
    cdef vec a0, a1, b0, b1, c0, c1, d0, d1
    cdef vec t0, t1, t2, t3
    cdef int lanes
    if vec is vec_f:
        lanes = LANES_F
        q1 = <const vec_f*> (<const float*> queries + d)
        q2 = <const vec_f*> (<const float*> queries + 2 * d)
        q3 = <const vec_f*> (<const float*> queries + 3 * d)
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = spread_f(0)
        t0 = spread_f(<float> bound[0])
        t1 = spread_f(<float> bound[1])
        t2 = spread_f(<float> bound[2])
        t3 = spread_f(<float> bound[3])
    else:
        lanes = LANES_D
        q1 = <const vec_d*> (<const double*> queries + d)
        q2 = <const vec_d*> (<const double*> queries + 2 * d)
        q3 = <const vec_d*> (<const double*> queries + 3 * d)
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
    """Compute the distances of the rows of a panel that `near` marks.

    If 4 or more rows are marked, it is faster to compute the sums of all rows of the panel side by side.
    """
    cdef double sums[ROWS_F]
    cdef const double* q = s.query + query * s.d
    cdef Py_ssize_t r
    cdef unsigned int many = 0
    # for cosine the rows in the panel are divided by their norms and rounded, so that exact distances need X
    if metric_t is not cosine_t:
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
        # the root is not computed for a row whose sum over the coordinates is beyond the upper bound for neighbours
        elif metric_t is dot_t or sums[r] <= s.bound[query]:
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
                    screen_tile(metric, <const vec_f*> panel, <const vec_f*> q, d, s.bound + query, near)
                else:
                    screen_tile(metric, <const vec_d*> panel, <const vec_d*> q, d, s.bound + query, near)
                if near[0] | near[1] | near[2] | near[3]:
                    for i in range(4):
                        if near[i] & valid:
                            measure_panel(metric, s, X, panel, first, n_rows, query + i, near[i] & valid)
        first += width


cdef void scan_rows(
    const metric_t* metric, search_t* s, const floating* X, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef Py_ssize_t d = s.d, row, query, first, last
    # the number of rows that stay in the first-level cache while all queries are compared with them
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


cdef void scan_metric(
    const metrics_t* m, search_t* s, const floating* X, Py_ssize_t start, Py_ssize_t stop, floating* panel, bint by_rows
) noexcept nogil:
    if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
        scan_range(&m.euclidean, s, X, start, stop, panel, by_rows)
    elif m.code == MANHATTAN:
        scan_range(&m.manhattan, s, X, start, stop, panel, by_rows)
    elif m.code == CHEBYSHEV:
        scan_range(&m.chebyshev, s, X, start, stop, panel, by_rows)
    elif m.code == HAMMING:
        scan_range(&m.hamming, s, X, start, stop, panel, by_rows)
    elif m.code == MINKOWSKI:
        scan_range(&m.minkowski, s, X, start, stop, panel, by_rows)
    elif m.code == COSINE:
        scan_range(&m.cosine, s, X, start, stop, panel, by_rows)
    else:
        scan_range(&m.dot, s, X, start, stop, panel, by_rows)


def scan(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, metric, state):
    """Search rows X[start:stop] by a Metric; `state` is a Pass of `fastclf/neighbors/scan.py`.

    Returns the number of hits if all rows within tau are wanted; all hits must fit the buffer.
    """
    cdef search_t s
    cdef metrics_t m
    cdef floating[:, ::1] panel = state.panel
    cdef floating* scratch = NULL  # the panel for packed rows; NULL for a search that reads the rows of X in place
    fill_metric(&m, metric, state.queries.query_norm2)
    fill_search(&s, X.shape[0], state, X[0, 0])
    if panel is not None:
        scratch = &panel[0, 0]
    with nogil:
        scan_metric(&m, &s, &X[0, 0], start, stop, scratch, scratch == NULL)
    return s.n_hits


def products(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, metric, state):
    """Search rows X[start:stop] by euclidean or sqeuclidean, by screens from inner products.

    state: a ProductPass of `fastclf/neighbors/scan.py`. Returns the number of hits, as `scan` does, and the number of
    distances that were computed.
    """
    cdef search_t s
    cdef metrics_t m
    cdef products_t p
    fill_metric(&m, metric, None)
    fill_search(&s, X.shape[0], state, X[0, 0])
    fill_products(&p, &s, state)
    with nogil:
        scan_products(&m.euclidean, &s, &p, &X[0, 0], start, stop)
    return s.n_hits, p.n_measured


cdef int find_block(const model_t* model, const raw_search_t* raw, const floating* X) noexcept nogil:
    """Find the k nearest rows of each query of a block, as heaps, by one pass over all rows."""
    cdef search_t s
    cdef metrics_t m = metrics_of(model)[0]
    cdef char* scratch = raw.scratch
    cdef Py_ssize_t query, d = model.n_features, width = ROWS_F if floating is float else ROWS_D
    # whether rows of X are read in place, not packed side by side: for few queries, if a row fills two SIMD vectors
    cdef bint by_rows = raw.n <= FEW_QUERIES and d >= width
    cdef floating* panel = <floating*> piece(&scratch, d * PANEL_BYTES)
    cdef int status = prepare(model, raw, &m, &s, &scratch, X[0])
    if status != FASTCLF_OK:
        return status
    scan_metric(&m, &s, X, 0, s.n_rows, panel, by_rows)
    for query in range(raw.n):
        sort_heap(raw.distance + query * raw.k, raw.index + query * raw.k, raw.k)
    return FASTCLF_OK


cdef int find_rows(const model_t* model, const raw_search_t* raw) noexcept nogil:
    """Find the k nearest rows of each query of a block, nearest first, by a scan of all rows of a model."""
    if model.neighbors.narrow:
        return find_block(model, raw, <const float*> model.neighbors.X)
    return find_block(model, raw, <const double*> model.neighbors.X)


cdef int measure_block(
    const floating* X, Py_ssize_t n_rows, const floating* Q, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    char* scratch
) noexcept nogil:
    """Write the squared distances out[q][r] = |Q[q] - X[r]|^2, summed over the coordinates in their order."""
    cdef euclidean_t metric
    cdef Py_ssize_t width = ROWS_F if floating is float else ROWS_D
    cdef floating* panel = <floating*> piece(&scratch, d * PANEL_BYTES)
    cdef double* q = <double*> piece(&scratch, d * <Py_ssize_t> sizeof(double))
    cdef double* sums = <double*> piece(&scratch, ROWS_F * <Py_ssize_t> sizeof(double))
    cdef Py_ssize_t first = 0, query, j, r, n
    metric.squared = True
    while first < n_rows:
        n = min(width, n_rows - first)
        pack(&metric, X, first, n, d, width, panel)
        for query in range(n_queries):
            for j in range(d):
                q[j] = Q[query * d + j]
            exact_panel(&metric, panel, q, d, sums)
            for r in range(n):
                out[query * n_rows + first + r] = sums[r]
        first += width
    return FASTCLF_OK


cdef search_f _find_rows = find_rows
cdef distances_float_f _measure_floats = measure_block[float]
cdef distances_double_f _measure_doubles = measure_block[double]
ADDRESSES = {
    "search": <size_t> _find_rows,
    "distances_f": <size_t> _measure_floats,
    "distances_d": <size_t> _measure_doubles,
}


def find(
    const floating[:, ::1] X, const floating[:, ::1] Q, int code, double[:, ::1] distance, Py_ssize_t[:, ::1] index
):
    """Search all rows for the query Q[0] with little overhead, by a metric without norms and powers.

    Writes the neighbours in ascending order and returns whether there are k of them.
    """
    cdef model_t model
    cdef metrics_t metrics
    cdef raw_search_t raw
    cdef Py_ssize_t d = X.shape[1], j
    cdef double* query = <double*> malloc(d * sizeof(double) + scratch_bytes(d))
    if query == NULL:
        raise MemoryError
    for j in range(d):
        query[j] = Q[0, j]
    model.n_features = d
    model.neighbors.n_rows = X.shape[0]
    model.neighbors.allowed = NULL
    model.neighbors.metrics = &metrics
    metrics.code = code
    metrics.euclidean.squared = code == SQEUCLIDEAN
    raw.query, raw.n, raw.k, raw.scratch = query, 1, index.shape[1], <char*> (query + d)
    raw.distance, raw.index = &distance[0, 0], &index[0, 0]
    with nogil:
        find_block(&model, &raw, &X[0, 0])
        free(query)
    return index[0, raw.k - 1] != PY_SSIZE_T_MAX


def merge(
    double[:, ::1] distance, Py_ssize_t[:, ::1] index, const double[:, ::1] other_distance,
    const Py_ssize_t[:, ::1] other_index, Py_ssize_t first
):
    """Push the pairs of other heaps, or of lists, into the heaps of the same queries.

    `first` is added to the row numbers of the other pairs.
    """
    cdef Py_ssize_t k = distance.shape[1], query, i, row
    with nogil:
        for query in range(distance.shape[0]):
            for i in range(other_distance.shape[1]):
                row = other_index[query, i]
                if row != PY_SSIZE_T_MAX:
                    push(&distance[query, 0], &index[query, 0], k, other_distance[query, i], first + row)


def sort(double[:, ::1] distance, Py_ssize_t[:, ::1] index):
    """Turn each query's heap of (distance, row) pairs into a list in ascending order, in place."""
    cdef Py_ssize_t query
    with nogil:
        for query in range(distance.shape[0]):
            sort_heap(&distance[query, 0], &index[query, 0], distance.shape[1])


def squared_norms(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, double[::1] norm2_out):
    """Write the squared norm of each of the rows X[start:stop], summed over the coordinates in their order."""
    cdef Py_ssize_t row, j, d = X.shape[1]
    cdef double s, x
    with nogil:
        for row in range(start, stop):
            s = 0
            for j in range(d):
                x = X[row, j]
                s = s + x * x
            norm2_out[row] = s
