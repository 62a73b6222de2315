# Exact nearest neighbours by codes of one byte per coordinate, which bound each distance from below. A row is measured,
# that is, its distance is computed, only if the bound is small enough.
#
# in:      the codes of all rows, a block of queries and their codes, a metric
# changed: the arrays of `_search.pxd`; for each query a list of rows that may be near and are not yet measured
# needs:   row ranges that begin at multiples of 256 rows; all rows of a list are measured or ruled out before the
#          heap of the nearest rows is read
#
# `_code_bound.pxd` defines codes and proves the bound.
from cython cimport floating
from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t

from neighbors._raw_queries cimport metrics_of, prepare
from neighbors._code_bound cimport BLOCK, PANEL
from neighbors._code_lists cimport fill_filter, filter_t, prepare_codes
from neighbors._code_screen cimport coded_t, is_given_up, key_limit, note, products_row, reach, refine
from neighbors._metrics cimport COSINE, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN, dot_t, fill_metric, manhattan_t, metrics_t
from neighbors._search cimport fill_search, search_t
from _model cimport model_t, raw_search_t, search_f
from _vector cimport (
    LANES_D, LANES_F, add_differences, add_products, at_least_i, at_most_l, lowest_bit, spread_i, spread_l, vec_i,
    vec_l,
)
from fastclf._heap cimport sort as sort_heap
from _status cimport FASTCLF_OK

BLOCK_ROWS = BLOCK

cdef enum:
    STEP = 64     # the number of blocks of rows after which a search for a C caller checks if codes still save time
    SAMPLED = 64  # the approximate number of blocks in the sample of rows that is searched before all other rows

cdef inline void products_tile(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t row, Py_ssize_t query,
    const int* limit
) noexcept nogil:
    """List those rows of 2 SIMD vectors, for each of 4 queries, whose keys, from products of codes, are in limits."""
    cdef Py_ssize_t n = f.width // 4, g, i, r
    cdef const unsigned char* x = f.code + row // PANEL * PANEL * f.width + row % PANEL * 4
    cdef const unsigned char* y = (
        f.code + (row + LANES_F) // PANEL * PANEL * f.width + (row + LANES_F) % PANEL * 4
    )
    cdef const int* q0 = <const int*> (f.query_code + query * f.width)
    cdef const int* q1 = q0 + n
    cdef const int* q2 = q1 + n
    cdef const int* q3 = q2 + n
    cdef vec_i a0 = spread_i(0), a1 = a0, b0, b1, c0, c1, d0, d1
    cdef vec_i sums[8]
    cdef unsigned int near[4]
    if coded_t is not dot_t:
        a0 = -(<const vec_i*> (f.half + row))[0]
        a1 = -(<const vec_i*> (f.half + row + LANES_F))[0]
    b0 = c0 = d0 = a0
    b1 = c1 = d1 = a1
    for g in range(n):
        a0 = add_products(a0, x, q0[g])
        a1 = add_products(a1, y, q0[g])
        b0 = add_products(b0, x, q1[g])
        b1 = add_products(b1, y, q1[g])
        c0 = add_products(c0, x, q2[g])
        c1 = add_products(c1, y, q2[g])
        d0 = add_products(d0, x, q3[g])
        d1 = add_products(d1, y, q3[g])
        x += 4 * PANEL
        y += 4 * PANEL
    near[0] = at_least_i(a0, spread_i(-limit[0])) | at_least_i(a1, spread_i(-limit[0])) << LANES_F
    near[1] = at_least_i(b0, spread_i(-limit[1])) | at_least_i(b1, spread_i(-limit[1])) << LANES_F
    near[2] = at_least_i(c0, spread_i(-limit[2])) | at_least_i(c1, spread_i(-limit[2])) << LANES_F
    near[3] = at_least_i(d0, spread_i(-limit[3])) | at_least_i(d1, spread_i(-limit[3])) << LANES_F
    if near[0] | near[1] | near[2] | near[3]:
        sums[0] = a0
        sums[1] = a1
        sums[2] = b0
        sums[3] = b1
        sums[4] = c0
        sums[5] = c1
        sums[6] = d0
        sums[7] = d1
        for i in range(min(4, s.n_queries - query)):
            while near[i]:
                r = lowest_bit(near[i])
                near[i] &= near[i] - 1
                note(metric, s, f, X, row + r, -(<const int*> sums)[2 * LANES_F * i + r], query + i)


cdef inline void differences_tile(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t row, Py_ssize_t query,
    const int* limit
) noexcept nogil:
    """List those rows of 2 SIMD vectors, for each of 4 queries, whose Manhattan distances of codes are in limits."""
    cdef Py_ssize_t n = f.width // 8, g, i, r
    cdef const unsigned char* x = f.code + row // PANEL * PANEL * f.width + row % PANEL * 8
    cdef const unsigned char* y = (
        f.code + (row + LANES_D) // PANEL * PANEL * f.width + (row + LANES_D) % PANEL * 8
    )
    cdef const int64_t* q0 = <const int64_t*> (f.query_code + query * f.width)
    cdef const int64_t* q1 = q0 + n
    cdef const int64_t* q2 = q1 + n
    cdef const int64_t* q3 = q2 + n
    cdef vec_l a0 = spread_l(0), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0
    # read by the type of its elements: compilers assume that int64_t and long long, where they differ, never overlap
    cdef vec_l sums[8]
    cdef unsigned int near[4]
    for g in range(n):
        a0 = add_differences(a0, x, q0[g])
        a1 = add_differences(a1, y, q0[g])
        b0 = add_differences(b0, x, q1[g])
        b1 = add_differences(b1, y, q1[g])
        c0 = add_differences(c0, x, q2[g])
        c1 = add_differences(c1, y, q2[g])
        d0 = add_differences(d0, x, q3[g])
        d1 = add_differences(d1, y, q3[g])
        x += 8 * PANEL
        y += 8 * PANEL
    near[0] = at_most_l(a0, spread_l(limit[0])) | at_most_l(a1, spread_l(limit[0])) << LANES_D
    near[1] = at_most_l(b0, spread_l(limit[1])) | at_most_l(b1, spread_l(limit[1])) << LANES_D
    near[2] = at_most_l(c0, spread_l(limit[2])) | at_most_l(c1, spread_l(limit[2])) << LANES_D
    near[3] = at_most_l(d0, spread_l(limit[3])) | at_most_l(d1, spread_l(limit[3])) << LANES_D
    if near[0] | near[1] | near[2] | near[3]:
        sums[0] = a0
        sums[1] = a1
        sums[2] = b0
        sums[3] = b1
        sums[4] = c0
        sums[5] = c1
        sums[6] = d0
        sums[7] = d1
        for i in range(min(4, s.n_queries - query)):
            while near[i]:
                r = lowest_bit(near[i])
                near[i] &= near[i] - 1
                note(metric, s, f, X, row + r, <int> (<const int64_t*> sums)[2 * LANES_D * i + r], query + i)


cdef inline void set_limits(
    const coded_t* metric, const search_t* s, const filter_t* f, Py_ssize_t query, Py_ssize_t block, int* limit
) noexcept nogil:
    """Write for 4 queries the largest key of a candidate in a block; -INT_MAX for padding and given-up queries."""
    cdef Py_ssize_t i
    for i in range(4):
        limit[i] = -INT_MAX
        if query + i < s.n_queries and not is_given_up(f, query + i):
            limit[i] = key_limit(metric, f, reach(metric, s, f, query + i), query + i, block)


cdef void scan_blocks(
    const coded_t* metric, search_t* s, filter_t* f, const floating* X, Py_ssize_t first, Py_ssize_t last, bint sampled
) noexcept nogil:
    """Search blocks first..last: those of the sample (every stride-th) if `sampled`, otherwise all other blocks.

    A stride of 0 means all blocks.
    """
    cdef Py_ssize_t block, query, row, n_refined
    cdef int limit[4]
    for block in range(first, last):
        if f.stride and (block % f.stride == 0) != sampled:
            continue
        for query in range(0, s.n_queries, 4):
            row = block * BLOCK
            n_refined = -1
            while row < block * BLOCK + BLOCK:
                if n_refined != f.n_refined:
                    n_refined = f.n_refined
                    set_limits(metric, s, f, query, block, limit)
                if coded_t is manhattan_t:
                    differences_tile(metric, s, f, X, row, query, limit)
                    row += 2 * LANES_D
                elif s.n_queries == 1:
                    products_row(metric, s, f, X, row, query, limit[0])
                    row += PANEL
                else:
                    products_tile(metric, s, f, X, row, query, limit)
                    row += 2 * LANES_F
        if s.k == 0:
            for query in range(s.n_queries):
                refine(metric, s, f, X, query, True)


cdef void scan_metric(
    const metrics_t* m, search_t* s, filter_t* f, const floating* X, Py_ssize_t first, Py_ssize_t last, bint sampled
) noexcept nogil:
    if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
        scan_blocks(&m.euclidean, s, f, X, first, last, sampled)
    elif m.code == MANHATTAN:
        scan_blocks(&m.manhattan, s, f, X, first, last, sampled)
    elif m.code == COSINE:
        scan_blocks(&m.cosine, s, f, X, first, last, sampled)
    else:
        scan_blocks(&m.dot, s, f, X, first, last, sampled)


cdef void refine_metric(
    const metrics_t* m, search_t* s, filter_t* f, const floating* X, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    cdef Py_ssize_t query
    for query in range(first, last):
        if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
            refine(&m.euclidean, s, f, X, query, True)
        elif m.code == MANHATTAN:
            refine(&m.manhattan, s, f, X, query, True)
        elif m.code == COSINE:
            refine(&m.cosine, s, f, X, query, True)
        else:
            refine(&m.dot, s, f, X, query, True)


def scan(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last, bint sampled, index, state):
    """Search the blocks first..last of 256 rows, with a Filter and a FilterPass of `fastclf/neighbors/code_filter.py`.

    If `sampled`, only the blocks of the sample, every stride-th, are searched, otherwise all other blocks; a stride of
    0 means all blocks. Returns the number of hits if all rows within tau are wanted. `finish` measures the rows that
    remain on the lists.
    """
    cdef search_t s
    cdef filter_t f
    cdef metrics_t m
    fill_metric(&m, index.metric, state.queries.query_norm2)
    fill_search(&s, X.shape[0], state, X[0, 0])
    fill_filter(&f, index, state)
    with nogil:
        scan_metric(&m, &s, &f, &X[0, 0], first, last, sampled)
    return s.n_hits


def finish(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last, index, state):
    """Compute the distances of the candidates left on the lists of queries first..last."""
    cdef search_t s
    cdef filter_t f
    cdef metrics_t m
    fill_metric(&m, index.metric, state.queries.query_norm2)
    fill_search(&s, X.shape[0], state, X[0, 0])
    fill_filter(&f, index, state)
    with nogil:
        refine_metric(&m, &s, &f, &X[0, 0], first, last)


cdef Py_ssize_t n_measured(const filter_t* f, Py_ssize_t n_queries) noexcept nogil:
    cdef Py_ssize_t query, n = 0
    for query in range(n_queries):
        n += f.n_measured[query]
    return n


cdef int find_block(const model_t* model, const raw_search_t* raw, const floating* X) noexcept nogil:
    cdef search_t s
    cdef filter_t f
    cdef metrics_t m = metrics_of(model)[0]
    cdef char* scratch = raw.scratch
    cdef Py_ssize_t n_blocks = (model.neighbors.n_rows + BLOCK - 1) // BLOCK, first, last = 0, n_before, query
    cdef int status = prepare(model, raw, &m, &s, &scratch, X[0])
    if status != FASTCLF_OK:
        return status
    prepare_codes(model, &m, &s, &f, &scratch)
    f.stride = max(2, n_blocks // SAMPLED)
    scan_metric(&m, &s, &f, X, 0, n_blocks, True)
    while last < n_blocks:
        first = last
        last = min(first + STEP, n_blocks)
        n_before = n_measured(&f, raw.n)
        scan_metric(&m, &s, &f, X, first, last, False)
        if 8 * (n_measured(&f, raw.n) - n_before) > (last - first) * BLOCK * raw.n:
            return model.neighbors.scan(model, raw)
    refine_metric(&m, &s, &f, X, 0, raw.n)
    for query in range(raw.n):
        sort_heap(raw.distance + query * raw.k, raw.index + query * raw.k, raw.k)
    return FASTCLF_OK


cdef int find_rows(const model_t* model, const raw_search_t* raw) noexcept nogil:
    """Find the k nearest rows of a block of queries, by codes or, if codes save no time, by `model.neighbors.scan`."""
    if 16 * raw.k > model.neighbors.n_rows:
        return model.neighbors.scan(model, raw)
    if model.neighbors.narrow:
        return find_block(model, raw, <const float*> model.neighbors.X)
    return find_block(model, raw, <const double*> model.neighbors.X)


cdef search_f _find_rows = find_rows
ADDRESSES = {"search": <size_t> _find_rows}
