# Screening by codes for one query: rows that the codes do not rule out are listed as candidates, and the distances of
# the candidates are computed, those with the smallest bounds first.
#
# The code of row i lies at place i of a filter's codes, unless the array `filter_t.rows` has the row of each place.
# `_code_bound.pxd` has the proof of the bound.
from cython cimport floating
from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, floor, sqrt

from neighbors._code_bound cimport BLOCK, PANEL
from neighbors._code_lists cimport filter_t
from neighbors._distance cimport screen_row
from neighbors._measure cimport measure, measure_waiting
from neighbors._metrics cimport cosine_t, dot_t, euclidean_t, manhattan_t
from neighbors._search cimport search_t
from _vector cimport (
    LANES_F, PRODUCT_OFFSET, add_products, at_least_i, lowest_bit, prefetch, require, spread_i, vec_d, vec_f, vec_i,
)
from fastclf._heap cimport precedes, push
from neighbors._raw_queries cimport PY_SSIZE_T_MAX

cdef enum:
    # The number of candidates whose distances are computed first when a query's list is shortened; k more if fewer than
    # k neighbours are known.
    FEW = 8
    # the largest number of candidates that are sorted by approximate distances before their exact distances are
    # computed
    MOST_SORTED = 64

ctypedef fused coded_t:
    euclidean_t
    cosine_t
    manhattan_t
    dot_t


cdef inline double reach(const coded_t* metric, const search_t* s, const filter_t* f, Py_ssize_t query) noexcept nogil:
    """The largest distance of a query's code from the code of a possible neighbour, less the row's coding error."""
    cdef double tau = s.tau[query], up = 1 + 2 * (s.d + 4) * 1.2e-16
    if coded_t is euclidean_t:
        if metric.squared:
            tau = sqrt(tau)
        tau = tau * up + sqrt(<double> s.d) * 4e-162
    elif coded_t is cosine_t:
        tau = sqrt(2 * (tau + (2 * s.d + 8) * 1.2e-16)) * up + 1e-15
    elif coded_t is dot_t:
        tau = tau + f.query_shift[query]
    else:
        tau = tau * up
    return tau * f.query_per[query] + f.query_slack[query]


cdef inline int key_limit(
    const coded_t* metric, const filter_t* f, double reached, Py_ssize_t query, Py_ssize_t block
) noexcept nogil:
    """The largest key that a row of this block may have if its code is within `reached` of the query's code.

    A row of the block with a larger key is farther away than tau.
    """
    cdef double slack = f.slack[block], limit
    # the part of a key that is the same for all rows, with the offset of products of unsigned bytes
    cdef double base = f.query_base[query] + PRODUCT_OFFSET * f.query_total[query]
    if coded_t is dot_t:
        limit = reached + f.query_slack[query] * (f.length[block] - 1) + f.query_length[query] * slack - base
        limit = limit + 1e-12 * (1 + (limit if limit > 0 else -limit))
    elif coded_t is manhattan_t:
        limit = (reached + slack) * (1 + 1e-12)
    else:
        limit = reached + slack
        limit = 0.5 * limit * limit * (1 + 1e-12) - base
    if not limit < INT_MAX:
        return INT_MAX
    return <int> floor(limit) if limit > -INT_MAX else -INT_MAX


cdef inline void prefetch_row(const floating* x, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j = 0
    while j < d:
        prefetch(x + j)
        j += 64 // <Py_ssize_t> sizeof(floating)


cdef inline void measure_rows(
    const coded_t* metric, search_t* s, const floating* X, Py_ssize_t* row, double* near, Py_ssize_t n,
    Py_ssize_t query
) noexcept nogil:
    """Measure n rows of a list, prefetching the next ones; `near` is scratch space for n numbers.

    Rows are screened first. The rows that pass, up to MOST_SORTED, are measured in the order of their screens, because
    the nearest rows make tau small for the other rows.
    """
    cdef Py_ssize_t i, j, at, n_near = 0, d = s.d, ahead = min(d, 1024 // <Py_ssize_t> sizeof(floating))
    cdef const floating* x
    cdef const floating* q = <const floating*> s.screen_query + query * d
    cdef double screen
    for i in range(min(n, 4)):
        prefetch_row(X + row[i] * d, ahead)
    for i in range(n):
        if i + 4 < n:
            prefetch_row(X + row[i + 4] * d, ahead)
        # for cosine a row has no approximate distance, because it would first have to be divided by its norm
        if coded_t is cosine_t:
            measure(metric, s, X, row[i], query)
            continue
        x = X + row[i] * d
        if floating is float:
            screen = screen_row(metric, <const vec_f*> x, <const vec_f*> q, d)
        else:
            screen = screen_row(metric, <const vec_d*> x, <const vec_d*> q, d)
        if screen <= s.bound[query]:
            at = row[i]
            j = n_near
            while 0 < j < MOST_SORTED and near[j - 1] > screen:
                near[j] = near[j - 1]
                row[j] = row[j - 1]
                j -= 1
            near[j] = screen
            row[j] = at
            n_near += 1
    for i in range(n_near):
        if near[i] <= s.bound[query]:
            measure(metric, s, X, row[i], query)
    measure_waiting(metric, s, X)


cdef inline void measure_all(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t query
) noexcept nogil:
    """Compute the distances of all candidates of a search by radius, in which no distance spares another."""
    cdef Py_ssize_t* row = f.list_place + query * f.capacity
    cdef Py_ssize_t n = f.list_size[query], i, d = s.d, ahead = min(d, 1024 // <Py_ssize_t> sizeof(floating))
    cdef const floating* q = <const floating*> s.screen_query + query * d
    cdef const floating* x
    cdef bint near = True
    for i in range(n):
        row[i] = row[i] if f.rows == NULL else f.rows[row[i]]
        if i < 4:
            prefetch_row(X + row[i] * d, ahead)
    for i in range(n):
        if i + 4 < n:
            prefetch_row(X + row[i + 4] * d, ahead)
        x = X + row[i] * d
        # for cosine a row has no approximate distance, because it would first have to be divided by its norm
        if coded_t is not cosine_t:
            if floating is float:
                near = screen_row(metric, <const vec_f*> x, <const vec_f*> q, d) <= s.bound[query]
            else:
                near = screen_row(metric, <const vec_d*> x, <const vec_d*> q, d) <= s.bound[query]
        if near:
            measure(metric, s, X, row[i], query)
    measure_waiting(metric, s, X)
    f.n_measured[query] += n
    f.n_refined += 1
    f.list_size[query] = 0
    f.list_mark[query] = f.capacity


cdef inline bint is_given_up(const filter_t* f, Py_ssize_t query) noexcept nogil:
    return f.n_measured[query] > f.most_measured


cdef inline void refine(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t query, bint to_the_end
) noexcept nogil:
    """Compute the distances of candidates with the smallest keys (bounds from codes), and drop those too far away."""
    cdef Py_ssize_t* place = f.list_place + query * f.capacity
    cdef int* key = f.list_key + query * f.capacity
    cdef Py_ssize_t n = f.list_size[query], kept, i, n_best
    cdef Py_ssize_t first = FEW if s.tau[query] < INFINITY else FEW + s.k, wanted = first, block
    cdef double reached
    cdef int limit = 0
    cdef bint beyond
    if s.k == 0:
        measure_all(metric, s, f, X, query)
        return
    if is_given_up(f, query):
        n = 0
    while n:
        reached = reach(metric, s, f, query)
        kept = 0
        block = -1
        for i in range(n):
            if place[i] // BLOCK != block:
                block = place[i] // BLOCK
                limit = key_limit(metric, f, reached, query, block)
            key[kept] = key[i]
            place[kept] = place[i]
            kept += key[i] <= limit
        n = kept
        if not to_the_end and n <= f.capacity // 2 and wanted > first:
            break
        n_best = min(n, wanted)
        if n_best == n:
            for i in range(n):
                f.best_row[i] = place[i]
            n = 0
        else:
            for i in range(n_best):
                f.best_key[i] = INFINITY
                f.best_row[i] = PY_SSIZE_T_MAX
            for i in range(n):
                push(f.best_key, f.best_row, n_best, key[i], place[i])
            kept = 0
            for i in range(n):
                beyond = precedes(f.best_key[0], f.best_row[0], key[i], place[i])
                key[kept] = key[i]
                place[kept] = place[i]
                kept += beyond
            n = kept
        if f.rows != NULL:
            for i in range(n_best):
                f.best_row[i] = f.rows[f.best_row[i]]
        measure_rows(metric, s, X, f.best_row, f.best_key, n_best, query)
        f.n_measured[query] += n_best
        if is_given_up(f, query):
            n = 0
        wanted = min(2 * wanted, f.n_best)
    f.n_refined += 1
    f.list_size[query] = n
    f.list_mark[query] = min(f.capacity, max(128 + 2 * s.k, 2 * n))


cdef inline void note(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t place, int key, Py_ssize_t query
) noexcept nogil:
    """Append the row of the code at a place to the query's candidates, unless the query must not find this row."""
    cdef Py_ssize_t row = place if f.rows == NULL else f.rows[place], at
    if row >= s.n_rows or (s.allowed != NULL and not s.allowed[row]):
        return
    if s.self_row != NULL and s.self_row[query] == row:
        return
    if f.list_size[query] >= f.list_mark[query]:
        refine(metric, s, f, X, query, False)
    at = query * f.capacity + f.list_size[query]
    require(f.list_size[query] < f.capacity)
    f.list_place[at] = place
    f.list_key[at] = key
    f.list_size[query] += 1


cdef inline void products_row(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t place, Py_ssize_t query,
    int limit
) noexcept nogil:
    """Append to the candidates the rows of a panel whose keys, from products of codes, are at most `limit`."""
    cdef Py_ssize_t n = f.width // 4, g, i, r
    cdef const unsigned char* x = f.code + place * f.width
    cdef const int* q = <const int*> (f.query_code + query * f.width)
    # sums of products of codes, one for each row of a panel, in vectors: only without SIMD, where a vector has one
    # lane, are all PANEL vectors used
    cdef vec_i sums[PANEL]
    cdef unsigned int near
    for i in range(PANEL // LANES_F):
        sums[i] = -(<const vec_i*> (f.half + place))[i] if coded_t is not dot_t else spread_i(0)
    for g in range(n):
        prefetch(x + 2048)
        for i in range(PANEL // LANES_F):
            sums[i] = add_products(sums[i], x + 4 * LANES_F * i, q[g])
        x += 4 * PANEL
    for i in range(PANEL // LANES_F):
        near = at_least_i(sums[i], spread_i(-limit))
        while near:
            r = lowest_bit(near)
            near &= near - 1
            note(metric, s, f, X, place + i * LANES_F + r, -(<const int*> &sums[i])[r], query)
