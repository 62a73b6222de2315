# Exact nearest neighbours by cells of codes: the distance of a query from the centre of a cell rules out most rows.
#
# in:      cells, the codes of their rows, a block of queries and their codes, a metric
# changed: the arrays of `_search.pxd`; a Visit of `fastclf/neighbors/cells.py`, so that a search can be resumed
#
# Let c be the code of a row or a query, as `_code_bound.pxd` has it, and z the centre of the row's cell, a code too.
# A row at a distance of at most tau has, with the query's reach (tau in units of the codes, plus the query's slack) and
# the row's slack e(x), a bound of its coding error,
#
#     |c(q) - c(x)|  <=  r,   r = reach + e(x) ,
#
# and so, by the triangle inequality,  |c(q) - z| - r  <=  |c(x) - z|  <=  |c(q) - z| + r.  The rows of a cell lie by
# ascending |c(x) - z|, so that only one range of them can be near. Each row is in the cell of its nearest centre: with
# h the centre next to the query, y -> |y - z|^2 - |y - h|^2 has slope 2 |z - h|, and is at most 0 at c(x). So a cell
# has no near row if
#
#     |c(q) - z|^2 - |c(q) - h|^2  >  2 r |z - h| .
#
# All squares are integers without error (at most 32768 254^2 < 2^31); roots and products are off by less than the
# relative 1e-9 that the code adds.
from cython cimport floating
from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, sqrt

from neighbors._code_bound cimport BLOCK, PANEL
from neighbors._code_lists cimport fill_filter, filter_t
from neighbors._code_screen cimport key_limit, products_row, reach, refine
from neighbors._metrics cimport COSINE, cosine_t, euclidean_t, fill_metric, metrics_t
from neighbors._search cimport fill_search, search_t
from _vector cimport LANES_F, PRODUCT_OFFSET, add_products, prefetch, require, spread_i, vec_i
from fastclf._heap cimport sort as sort_heap

cdef enum:
    # the number of cells, nearest first, that are searched before other cells are ruled out by bounds of distances
    NEAR_CELLS = 4
    MOST_NEAR = 64    # the largest number of cells, nearest first, that are searched until a query has k neighbours
    STEP = 1024       # the largest number of panels (groups of rows) searched before a call checks its budget of panels

# The outcomes of a call of `visit`: every query is answered, the budget of panels is spent, or a query is left to
# another index, because too many cells may have near rows.
cdef enum:
    DONE
    SPENT
    LEFT
FINISHED, PAUSED, CROWDED = DONE, SPENT, LEFT

# The indices of the numbers in the array `position` of a Visit, which say where a search has been interrupted.
cdef enum:
    QUERY       # the number of queries that are answered, or left to another index, so far
    N_CELLS     # the number of cells that were searched for the query, nearest first; -1 before the query is begun
    N_RANGES    # the number of ranges of code panels, at most one in each cell, that are to be searched for the query
    RANGE       # the index, among these N_RANGES ranges of panels, of the range that is searched next
    # whether all cells, not only the nearest ones, have been screened, and the panels that may have near rows listed
    LISTED

ctypedef fused celled_t:
    euclidean_t
    cosine_t

ctypedef struct cells_t:
    Py_ssize_t n_cells
    const long long* starts         # (n_cells + 1,): the first panel of each cell
    # (n_panels,): the squared distance of the code of each panel's first row from the centre of its cell
    const int* first_key
    # (n_cells,): the squared distance of the code of each cell's last row, the farthest one, from the centre
    const int* last_key
    const float* slack              # (n_cells,): an upper bound of the coding errors of the rows of each cell
    const signed char* center       # (n_cells, number of coordinates of a code): the code of each cell's centre
    # the codes of the cells' centres, in panels of PANEL centres: 4 coordinates of each centre, then the next 4, ...
    const unsigned char* code
    const int* square               # (n_cells, padded to whole panels): the squared norm of each cell's centre
    # (n_cells, padded to whole panels): the squared distance of each cell's centre from the query's code; INT_MAX for
    # padding and for cells that have been searched
    int* far
    # (n_cells, padded to whole panels): the squared distance of each cell's centre from the centre nearest to the query
    int* home_far
    # begin and end, (n_cells,): the first panel of each range that is to be searched, and the panel after its last one
    Py_ssize_t* begin
    Py_ssize_t* end
    # (5,): where a call has interrupted the search, for the next call to resume it: the numbers with the indices QUERY,
    # N_CELLS, N_RANGES, RANGE and LISTED
    Py_ssize_t* position
    # the largest share of all panels that is searched for a query; a query that needs more is left to another index
    double most


cdef void measure_centers(const cells_t* c, const signed char* point, Py_ssize_t width, int* far_out) noexcept nogil:
    """Write the squared distances of all cells' centres from `point`, the code of a query or of a centre."""
    cdef Py_ssize_t n = width // 4, first = 0, g, i
    cdef const unsigned char* z = c.code
    cdef const int* q = <const int*> point
    cdef int base = 0
    # sums of products of codes, one for each centre of a panel, in vectors: only without SIMD, where a vector has one
    # lane, are all PANEL vectors used
    cdef vec_i sums[PANEL]
    for i in range(width):
        base += point[i] * point[i] + 2 * PRODUCT_OFFSET * point[i]
    while first < c.n_cells:
        for i in range(PANEL // LANES_F):
            sums[i] = spread_i(0)
        for g in range(n):
            for i in range(PANEL // LANES_F):
                sums[i] = add_products(sums[i], z + 4 * LANES_F * i, q[g])
            z += 4 * PANEL
        for i in range(PANEL // LANES_F):
            (<vec_i*> (far_out + first))[i] = (
                (<const vec_i*> (c.square + first))[i] + spread_i(base) - sums[i] - sums[i]
            )
        first += PANEL
    for i in range(c.n_cells, first):
        far_out[i] = INT_MAX


cdef inline Py_ssize_t nearest_cell(const int* far, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int least = INT_MAX
    for i in range(n):
        least = far[i] if far[i] < least else least
    for i in range(n):
        if far[i] == least:
            return i
    return 0


cdef inline void list_range(cells_t* c, Py_ssize_t cell, double reached) noexcept nogil:
    """Add the range of a cell's panels that may have neighbours of the query, if any may, to the ranges to search."""
    cdef double r = reached + c.slack[cell], at = sqrt(c.far[cell])
    cdef double low = (at - r) * (at - r) * (1 - 1e-9) - 1 if at > r else -1
    cdef double high = (at + r) * (at + r) * (1 + 1e-9) + 1
    cdef Py_ssize_t first = c.starts[cell], last = c.starts[cell + 1], lower, upper, middle, n = c.position[N_RANGES]
    if c.first_key[first] > high or c.last_key[cell] < low:
        return
    lower = first + 1
    upper = last
    # binary search, from the cell's second panel on, for the first panel whose first row is at a squared distance of
    # `low` or more from the centre
    while lower < upper:
        middle = (lower + upper) // 2
        if c.first_key[middle] < low:
            lower = middle + 1
        else:
            upper = middle
    require(n < c.n_cells)
    c.begin[n] = lower - 1
    upper = last
    # binary search for the cell's first panel whose first row has a squared distance above `high` from the centre
    while lower < upper:
        middle = (lower + upper) // 2
        if c.first_key[middle] > high:
            upper = middle
        else:
            lower = middle + 1
    c.end[n] = lower
    c.position[N_RANGES] += 1


cdef bint list_others(
    const celled_t* metric, cells_t* c, const search_t* s, const filter_t* f, Py_ssize_t home, double home_square
) noexcept nogil:
    """List the panels, of cells not yet searched, that may have near rows; return whether they are few enough."""
    cdef double reached = reach(metric, s, f, 0), twice
    cdef Py_ssize_t cell, i, n_panels = 0
    measure_centers(c, c.center + home * f.width, f.width, c.home_far)
    c.position[RANGE] = c.position[N_RANGES] = 0
    for cell in range(c.n_cells):
        if c.far[cell] == INT_MAX:
            continue
        twice = 2 * (reached + c.slack[cell]) * (1 + 1e-9)
        if c.far[cell] - home_square > twice * sqrt(c.home_far[cell]) + 1:
            continue
        list_range(c, cell, reached)
    for i in range(c.position[N_RANGES]):
        n_panels += c.end[i] - c.begin[i]
    return n_panels <= c.most * c.starts[c.n_cells]


cdef inline void search_panels(
    const celled_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    cdef Py_ssize_t panel, n_refined = -1, block = -1
    cdef int limit = 0
    for panel in range(first, last):
        if n_refined != f.n_refined or block != panel * PANEL // BLOCK:
            n_refined = f.n_refined
            block = panel * PANEL // BLOCK
            limit = key_limit(metric, f, reach(metric, s, f, 0), 0, block)
        products_row(metric, s, f, X, panel * PANEL, 0, limit)


cdef inline void prefetch_range(const cells_t* c, const filter_t* f, Py_ssize_t i) noexcept nogil:
    cdef const unsigned char* code
    cdef Py_ssize_t j
    if i < c.position[N_RANGES]:
        code = f.code + c.begin[i] * PANEL * f.width
        for j in range(0, min(f.width * PANEL, <Py_ssize_t> 1024), 64):
            prefetch(code + j)
        prefetch(f.half + c.begin[i] * PANEL)


cdef int search_cells(
    const celled_t* metric, cells_t* c, search_t* s, filter_t* f, const floating* X, Py_ssize_t* budget,
    Py_ssize_t* home
) noexcept nogil:
    """Continue a query's search until it is answered, left to another index, or `budget`, in panels, is spent."""
    cdef Py_ssize_t* at = c.position
    cdef Py_ssize_t cell, last
    if at[N_CELLS] < 0:
        measure_centers(c, <const signed char*> f.query_code, f.width, c.far)
        f.list_size[0] = 0
        f.list_mark[0] = 64 + 2 * s.k
        home[0] = nearest_cell(c.far, c.n_cells)
        home[1] = c.far[home[0]]
        at[N_CELLS] = at[N_RANGES] = at[RANGE] = at[LISTED] = 0
    while True:
        while at[RANGE] < at[N_RANGES]:
            if budget[0] <= 0:
                return SPENT
            prefetch_range(c, f, at[RANGE] + 1)
            last = min(c.end[at[RANGE]], c.begin[at[RANGE]] + STEP)
            search_panels(metric, s, f, X, c.begin[at[RANGE]], last)
            budget[0] -= last - c.begin[at[RANGE]]
            c.begin[at[RANGE]] = last
            at[RANGE] += last == c.end[at[RANGE]]
        refine(metric, s, f, X, 0, True)
        if at[LISTED]:
            sort_heap(s.distance, s.index, s.k)
            return DONE
        if at[N_CELLS] < min(c.n_cells, <Py_ssize_t> (NEAR_CELLS if s.tau[0] < INFINITY else MOST_NEAR)):
            cell = nearest_cell(c.far, c.n_cells)
            at[RANGE] = at[N_RANGES] = 0
            list_range(c, cell, reach(metric, s, f, 0))
            c.far[cell] = INT_MAX
            at[N_CELLS] += 1
            budget[0] -= 1
        else:
            at[LISTED] = 1
            if not list_others(metric, c, s, f, home[0], <double> home[1]):
                return LEFT


cdef inline void choose_query(
    search_t* one, const search_t* s, filter_t* f_one, const filter_t* f, Py_ssize_t query, floating like
) noexcept nogil:
    """Set `one` and `f_one` to the parts of a search s and of its filter f that belong to one of the queries."""
    one[0] = s[0]
    one.n_queries = 1
    one.query = s.query + query * s.d
    one.screen_query = <const floating*> s.screen_query + query * s.d
    one.query_error = s.query_error + query
    one.tau = s.tau + query
    one.bound = s.bound + query
    one.distance = s.distance + query * s.k
    one.index = s.index + query * s.k
    if s.self_row != NULL:
        one.self_row = s.self_row + query
    f_one[0] = f[0]
    f_one.query_code = f.query_code + query * f.width
    f_one.query_base = f.query_base + query
    f_one.query_total = f.query_total + query
    f_one.query_slack = f.query_slack + query
    f_one.query_length = f.query_length + query
    f_one.query_per = f.query_per + query
    f_one.query_shift = f.query_shift + query


cdef int search_queries(
    metrics_t* m, cells_t* c, const search_t* s, const filter_t* f, const floating* X, Py_ssize_t budget,
    Py_ssize_t* home
) noexcept nogil:
    cdef search_t one
    cdef filter_t f_one
    cdef cosine_t cosine = m.cosine
    cdef Py_ssize_t query
    cdef int outcome
    while c.position[QUERY] < s.n_queries:
        query = c.position[QUERY]
        choose_query(&one, s, &f_one, f, query, X[0])
        if m.code == COSINE:
            cosine.query_norm2 = m.cosine.query_norm2 + query
            outcome = search_cells(&cosine, c, &one, &f_one, X, &budget, home)
        else:
            outcome = search_cells(&m.euclidean, c, &one, &f_one, X, &budget, home)
        if outcome == SPENT:
            return SPENT
        c.position[QUERY] += 1
        c.position[N_CELLS] = -1
        if outcome == LEFT:
            return LEFT
    return DONE


cdef int fill_cells(cells_t* c, index, state) except -1:
    """Fill in a cells_t from a Cells and a Visit of `fastclf/neighbors/cells.py`, which must outlive it."""
    cdef const long long[::1] starts = index.starts
    cdef const int[::1] first_key = index.first_key, last_key = index.last_key, square = index.center_square
    cdef const float[::1] slack = index.cell_slack
    cdef const signed char[:, ::1] center = index.centers
    cdef const unsigned char[::1] code = index.center_code
    cdef int[::1] far = state.far, home_far = state.home_far
    cdef Py_ssize_t[::1] begin = state.begin, end = state.end, position = state.position
    c.n_cells = center.shape[0]
    c.starts, c.first_key, c.last_key, c.slack = &starts[0], &first_key[0], &last_key[0], &slack[0]
    c.center, c.code, c.square = &center[0, 0], &code[0], &square[0]
    c.far, c.home_far, c.begin, c.end, c.position = &far[0], &home_far[0], &begin[0], &end[0], &position[0]
    c.most = state.most
    return 0


def visit(const floating[:, ::1] X, index, state, Py_ssize_t budget):
    """Go on with the queries of a Visit in a Cells of `fastclf/neighbors/cells.py`, for about `budget` panels.

    Returns FINISHED, PAUSED, or CROWDED: the last query begun has near rows in too many panels, and its heap has some
    rows; the next call begins the query after it.
    """
    cdef search_t s
    cdef filter_t f
    cdef metrics_t m
    cdef cells_t c
    cdef int outcome
    cdef const Py_ssize_t[::1] rows = index.rows
    cdef Py_ssize_t[::1] home = state.home
    fill_metric(&m, index.metric, state.queries.query_norm2)
    fill_search(&s, X.shape[0], state, X[0, 0])
    fill_filter(&f, index, state)
    fill_cells(&c, index, state)
    f.rows = &rows[0]
    with nogil:
        outcome = search_queries(&m, &c, &s, &f, &X[0, 0], budget, &home[0])
    return outcome
