# Exact nearest neighbours among sparse rows, by an inverted index, which lists for each column its rows in ascending
# order and their values.
#
# in:      the rows X as canonical CSR and as columns, a block of queries as CSR, a range of rows [start, stop)
# changed: the arrays of `_search.pxd`; for each query entry a cursor, the next entry of its column that is read
# needs:   ranges of rows in ascending order, because the cursors only advance
#
# Screen: for one query and a panel of rows, each column of the query adds its products to the sums of the rows that
# have an entry in it, so that a coordinate that is zero in the row or in the query costs nothing. With N = x'x or sum
# |x|, the sum over the common columns becomes
#
#     euclidean   x'x + q'q - 2 x'q         manhattan   |x| + |q| + sum (|x_j - q_j| - |x_j| - |q_j|)
#     dot         - x'q                     cosine      - (x / |x|)'(q / |q|)
#
# in float64 (the columns in X's type). Every sum of m terms is off by at most m u / (1 - m u), for the unit roundoff u,
# times the sum of its terms' magnitudes, here at most 2 (N_x + N_q), and so is the exact sum, of at most d + 2
# roundings, relative to itself. So with e = (8 d + 64) u a row whose exact sum is at most S has
#
#     N_x (1 - e) + sums  <  S (1 + e) - N_q (1 - e) + 1e-300
#
# where 1e-300 covers underflow. N_x (1 - e) is `shift`, the right side `limit`. Where a norm is above 1e290, shift is
# -inf or limit NaN, and the comparison, made as not (limit <= ...), lets the row pass. The sum of dot is the exact sum,
# coordinate by coordinate; the sum of cosine, of vectors of length 1, has absolute errors.
#
# The distances of the rows that pass are computed exactly, by merging the entries of row and query in the order of the
# coordinates. A coordinate that is zero in both would add exactly 0 to a dense sum, so the result has the same bits.
from cython cimport floating
from libc.math cimport INFINITY, NAN, fabs, nextafter
from libc.stdint cimport int64_t

from neighbors._distance cimport exact_term, root
from neighbors._metrics cimport (
    COSINE, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN, cosine_t, dot_t, euclidean_t, fill_metric, manhattan_t, metric_t,
    metrics_t,
)
from neighbors._search cimport fill_found, search_t, take
from _vector cimport LANES_D, at_most_d, lowest_bit, require, spread_d, vec_d

# The number of rows of a panel, chosen so that one sum for each of them stays in the second-level cache.
cdef enum:
    PANEL = 1 << 14
PANEL_ROWS = PANEL

ctypedef fused sparse_t:
    euclidean_t
    manhattan_t
    cosine_t
    dot_t

ctypedef struct sparse_s:
    Py_ssize_t d
    const int64_t* indptr        # (n + 1,): row i of X has the entries indptr[i] to indptr[i + 1] - 1
    const int* indices           # (n_entries,): the column of each entry of X, row by row
    const int64_t* column        # (d + 1,): the index in `row` of the first entry of each column
    const int* row               # (n_entries,): the row of each entry of X, column by column
    # (n,): the term of each row in the quick lower bound (screen) of its distance from any query
    const double* shift
    const int64_t* query_ptr     # (n_queries + 1,): query i has the entries query_ptr[i] to query_ptr[i + 1] - 1
    const int* query_indices     # (n_query_entries,): the column of each nonzero entry of the queries
    const double* query          # (n_query_entries,): the value of each nonzero entry of the queries
    # (n_query_entries,): the value of each nonzero entry of the queries, scaled for the screen, a quick lower bound of
    # a distance
    const double* weight
    const double* query_norm     # (n_queries,): each query's squared norm or, for manhattan, sum of absolute values
    # (n_query_entries,): for each nonzero entry of the queries, the position in the same column of X at which reading
    # continues; advances during a search
    int64_t* cursor
    # (n_queries,) scratch space: a row whose screen, a quick lower bound, reaches this limit is no neighbour
    double* limit
    # (rows of a panel,) scratch space: for each row a sum of terms of its distance from a query; zeros before each
    # query
    double* sums
    double rounding              # the relative error of a number that is rounded to the type of X


cdef inline double limit_of(
    const metric_t* metric, const sparse_s* x, double tau, double norm
) noexcept nogil:
    cdef double e = (8.0 * x.d + 64) * 1.1102230246251565e-16
    if metric_t is dot_t:
        return nextafter(tau, INFINITY)
    elif metric_t is cosine_t:
        return tau - 1 + e + 8 * x.rounding
    else:
        if norm > 1e290:
            return NAN
        if metric_t is euclidean_t:
            if not metric.squared:
                tau = tau * tau
        return tau * (1 + e) - norm * (1 - e) + 1e-300


cdef inline double exact_pair(
    const metric_t* metric, const floating* x, const int* x_column, Py_ssize_t n_x,
    const double* q, const int* q_column, Py_ssize_t n_q,
) noexcept nogil:
    """The exact distance, before the root, of a row and a query, given by their entries in ascending columns."""
    cdef Py_ssize_t i = 0, j = 0
    cdef double s = 0
    while i < n_x and j < n_q:
        if x_column[i] == q_column[j]:
            s = exact_term(metric, s, x[i], q[j], 0)
            i += 1
            j += 1
        elif x_column[i] < q_column[j]:
            s = exact_term(metric, s, x[i], 0, 0)
            i += 1
        else:
            s = exact_term(metric, s, 0, q[j], 0)
            j += 1
    if metric_t is euclidean_t or metric_t is manhattan_t:
        while i < n_x:
            s = exact_term(metric, s, x[i], 0, 0)
            i += 1
        while j < n_q:
            s = exact_term(metric, s, 0, q[j], 0)
            j += 1
    return s


cdef inline void add_columns(
    const metric_t* metric, const sparse_s* x, const floating* values, Py_ssize_t query, Py_ssize_t first,
    Py_ssize_t last
) noexcept nogil:
    """Add the terms of a query's nonzero entries to the sums of rows first to last, by which rows are screened."""
    cdef Py_ssize_t p, at, end
    cdef double* sums = x.sums - first
    cdef double w, v
    for p in range(x.query_ptr[query], x.query_ptr[query + 1]):
        w = x.weight[p]
        at = x.cursor[p]
        end = x.column[x.query_indices[p] + 1]
        while at < end and x.row[at] < last:
            require(first <= x.row[at])
            v = values[at]
            if metric_t is manhattan_t:
                sums[x.row[at]] += fabs(v - w) - fabs(v) - fabs(w)
            else:
                sums[x.row[at]] += v * w
            at += 1
        x.cursor[p] = at


cdef inline void measure_pair(
    const metric_t* metric, const sparse_s* x, search_t* s, const floating* data, Py_ssize_t row, Py_ssize_t query
) noexcept nogil:
    cdef Py_ssize_t p = x.indptr[row], q = x.query_ptr[query]
    cdef double distance
    if s.allowed != NULL and not s.allowed[row]:
        return
    distance = exact_pair(
        metric, data + p, x.indices + p, x.indptr[row + 1] - p,
        x.query + q, x.query_indices + q, x.query_ptr[query + 1] - q,
    )
    if take(s, root(metric, distance, x.d, row, query), row, query):
        x.limit[query] = limit_of(metric, x, s.tau[query], x.query_norm[query])


cdef void scan_sparse(
    const sparse_t* metric, const sparse_s* x, search_t* s, const floating* data, const floating* values,
    Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef Py_ssize_t first = start, last, query, i
    cdef unsigned int near, all_lanes = (<unsigned int> 1 << LANES_D) - 1
    cdef vec_d* sums
    cdef const vec_d* shift
    for query in range(s.n_queries):
        x.limit[query] = limit_of(metric, x, s.tau[query], x.query_norm[query])
    while first < stop:
        last = min(first + PANEL, stop)
        for query in range(s.n_queries):
            add_columns(metric, x, values, query, first, last)
            i = 0
            while i + LANES_D <= last - first:
                sums = <vec_d*> (x.sums + i)
                shift = <const vec_d*> (x.shift + first + i)
                near = all_lanes & ~at_most_d(spread_d(x.limit[query]), shift[0] + sums[0])
                sums[0] = spread_d(0)
                while near:
                    measure_pair(metric, x, s, data, first + i + lowest_bit(near), query)
                    near &= near - 1
                i += LANES_D
            while i < last - first:
                if not x.limit[query] <= x.shift[first + i] + x.sums[i]:
                    measure_pair(metric, x, s, data, first + i, query)
                x.sums[i] = 0
                i += 1
        first = last


def scan(index, Py_ssize_t start, Py_ssize_t stop, state, const floating[::1] values):
    """Search rows start to stop, which must follow the rows of the last call with this state, or of `begin`.

    `index` is a Sparse with `values` as the values of its columns, and `state` a SparsePass of
    `fastclf/neighbors/inverted_index.py`. Returns the number of hits.
    """
    cdef search_t s
    cdef sparse_s x
    cdef metrics_t m
    X, columns, csr = index.X, index._columns, state.csr
    cdef const int64_t[::1] indptr = X.indptr, column = columns.start, query_ptr = csr.indptr
    cdef const int[::1] indices = X.indices, row = columns.row, query_indices = csr.indices
    cdef const floating[::1] data = X.data
    cdef const double[::1] shift = columns.shift, query = csr.data
    cdef const double[::1] weight = state.weight, query_norm = state.norm
    cdef int64_t[::1] cursor = state.cursor
    cdef double[::1] limit = state.limits, sums = state.sums
    fill_metric(&m, index.metric, query_norm)
    fill_found(&s, indptr.shape[0] - 1, query_ptr.shape[0] - 1, state)
    x.d = X.n_columns
    x.rounding = 5.9604644775390625e-8 if floating is float else 1.1102230246251565e-16
    x.indptr = &indptr[0]
    x.indices = &indices[0]
    x.column = &column[0]
    x.row = &row[0]
    x.shift = &shift[0]
    x.query_ptr = &query_ptr[0]
    x.query_indices = &query_indices[0]
    x.query = &query[0]
    x.weight = &weight[0]
    x.query_norm = &query_norm[0]
    x.cursor = &cursor[0]
    x.limit = &limit[0]
    x.sums = &sums[0]
    with nogil:
        if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
            scan_sparse(&m.euclidean, &x, &s, &data[0], &values[0], start, stop)
        elif m.code == MANHATTAN:
            scan_sparse(&m.manhattan, &x, &s, &data[0], &values[0], start, stop)
        elif m.code == COSINE:
            scan_sparse(&m.cosine, &x, &s, &data[0], &values[0], start, stop)
        else:
            scan_sparse(&m.dot, &x, &s, &data[0], &values[0], start, stop)
    return s.n_hits


def begin(columns, const int[::1] query_indices, int64_t[::1] cursor_out, Py_ssize_t first):
    """Set the cursor of each nonzero entry of the queries to the first entry of its column in rows from `first` on."""
    cdef const int64_t[::1] column = columns.start
    cdef const int[::1] row = columns.row
    cdef int64_t low, high, middle
    cdef Py_ssize_t p
    with nogil:
        for p in range(cursor_out.shape[0]):
            low = column[query_indices[p]]
            high = column[query_indices[p] + 1]
            while low < high:
                middle = (low + high) // 2
                if row[middle] < first:
                    low = middle + 1
                else:
                    high = middle
            cursor_out[p] = low


def transpose(
    X, Py_ssize_t start, Py_ssize_t stop, const double[::1] scale, int64_t[::1] end, columns,
    const floating[::1] data,
):
    """Append the entries of rows start to stop of the Csr X, whose values are `data`, to their columns.

    end[j], the index after the last entry of column j, advances. A value is multiplied by the `scale` of its row.
    """
    cdef const int64_t[::1] indptr = X.indptr
    cdef const int[::1] indices = X.indices
    cdef int[::1] row_out = columns.row
    cdef floating[::1] value_out = columns.value
    cdef Py_ssize_t row, p
    cdef int64_t at
    with nogil:
        for row in range(start, stop):
            for p in range(indptr[row], indptr[row + 1]):
                at = end[indices[p]]
                end[indices[p]] = at + 1
                row_out[at] = <int> row
                value_out[at] = <floating> (data[p] * scale[row])


def norms(
    const int64_t[::1] indptr, const floating[::1] data, Py_ssize_t start, Py_ssize_t stop, bint squared,
    double[::1] norm_out,
):
    """Write the sum of x_j^2 if `squared`, else of |x_j|, of rows start to stop, over the coordinates in order."""
    cdef Py_ssize_t row, p
    cdef double s, v
    with nogil:
        for row in range(start, stop):
            s = 0
            for p in range(indptr[row], indptr[row + 1]):
                v = data[p]
                s = s + (v * v if squared else fabs(v))
            norm_out[row] = s
