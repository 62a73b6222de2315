# Screens of the k nearest rows, or of all rows within a radius, by inner products in float32, for euclidean and
# sqeuclidean: a coordinate takes one multiplication, and twice as many fit a SIMD vector as in float64.
#
# in:      rows X, a block of queries, a centre c
# changed: the heaps of `_search.pxd`; for each query a list of rows that may be near and are not yet measured
#
# Let x and q be a row and a query after c was subtracted and both were rounded to float32, and d their distance before
# that. Then d^2 / 2 is |x|^2 / 2 - x'q + |q|^2 / 2 but for rounding. Let u be 2^-24. The rounding of x and q changes d
# by at most 1.1 u (|x| + |q|). The sum |x|^2 of n squares is off by at most 1.01 n u |x|^2, and the sum of products,
# which begins with a multiple of |x|^2, by at most 1.01 n u (|x|^2 / 2 + |x| |q|). As 2 |x| |q| and d^2 / 2 are at most
# |x|^2 + |q|^2, for n < 2^16 coordinates
#
#     |d^2 / 2 - (|x|^2 / 2 - x'q + |q|^2 / 2)| <= e (|x|^2 + |q|^2) + t,    e = (1.6 n + 24) u
#
# where t = (n + 8) 10^-36 is for numbers that float32 rounds to 0, and e has room for the exact distance's own rounding
# and for that of the sums below. So, with the score s = x'q - (1/2 - e) |x|^2, a row at distance tau or less has
#
#     s >= (1/2 - e) |q|^2 - tau^2 / 2 - t
#
# and if k rows have s - 2 e |x|^2 >= m, the k nearest rows have s >= m - 2 e |q|^2 - 2 t. Rows whose score is below the
# larger limit, the floor of a query, are not measured. A search by radius has the first limit alone, and measures rows
# at once; if no distances are wanted, it takes rows without measuring them that are within the radius tau for sure:
#
#     s - 2 e |x|^2 >= (1/2 + e) |q|^2 - tau^2 / 2 + t
#
# Rows and queries must have squares below 1e37, so that no score is infinite; a panel with a larger row is measured.
#
# If the numbers of rows, queries and c are whole, many rows may be equally far, but these sums are exact: e and t are
# 0. Rows come by ascending number, and of equally far ones the first are the neighbours, so that a row must be nearer
# than the k-th row known: only rows whose score is above the floor are measured. From the first panel with a number
# that is not whole, or a square of 2^21 or more, the limits with e and t count. In a search by radius of whole numbers
# exactly the rows above the floor are hits.
from cython cimport floating
from libc.math cimport fabs, floor as whole_part, rint, sqrt

from neighbors._measure cimport measure, measure_waiting
from neighbors._metrics cimport euclidean_t
from neighbors._panel_layout cimport ROWS_F, pack
from neighbors._search cimport search_t, take
from _vector cimport LANES_F, at_most_f, fmadd_f, lowest_bit, require, spread_f, vec_f
from fastclf._heap cimport push

cdef extern from "sums/screen.h" nogil:
    enum: SCREEN_ROWS
    void screen_rows(
        const float* X, Py_ssize_t ldx, const float* W, const float* b, Py_ssize_t ldb, Py_ssize_t d, Py_ssize_t width,
        float* out
    )

cdef enum:
    PART = 64        # the number of coordinates of rows that are centred together
    COLUMNS = 1024   # the number of coordinates of a panel and of queries that stay in a cache while multiplied
    MOST_WHOLE = 1 << 21  # squares of whole numbers are exact below this number

# The arrays of a ProductPass of `fastclf/neighbors/scan.py`.
ctypedef struct products_t:
    const float* centre        # (d,): the centre c
    const float* query         # (n_queries, d): the centred queries, padded to a multiple of SCREEN_ROWS queries
    const double* half         # (n_queries,): half of each centred query's squared norm
    int* whole                 # (1,): whether queries, and rows so far, have small whole numbers
    double error               # e
    double tiny                # t
    float* floor               # (n_queries,): the least score of a row that is listed; infinity for padding queries
    # (n_queries,): the least s - 2 e |x|^2 of a row that is taken without being measured; NULL: all are measured
    double* sure
    double* most               # (n_queries, k): a heap of 2 e |x|^2 - s for the k listed rows for which this is least
    Py_ssize_t* most_row       # (n_queries, k): their rows
    Py_ssize_t capacity
    Py_ssize_t* size           # (n_queries,): the number of rows on each query's list
    Py_ssize_t* row            # (n_queries, capacity): the rows on each query's list
    float* score               # (n_queries, capacity): their scores
    float* panel               # (d, ROWS_F): scratch space for centred rows side by side
    # scratch space for the scores of SCREEN_ROWS queries or, with more than COLUMNS coordinates, all queries
    float* sums
    Py_ssize_t n_measured


cdef inline int fill_products(products_t* p, const search_t* s, state) except -1:
    cdef const float[::1] centre = state.centre
    cdef const float[:, ::1] query = state.centred
    cdef const double[::1] half = state.half
    cdef int[::1] whole = state.whole
    cdef float[::1] floor = state.floor
    cdef double[::1] sure = state.sure
    cdef double[:, ::1] most = state.most
    cdef Py_ssize_t[:, ::1] most_row = state.most_row, row = state.list_row
    cdef Py_ssize_t[::1] size = state.list_size
    cdef float[:, ::1] score = state.list_score
    cdef float[:, ::1] panel = state.centred_panel, sums = state.sums
    require(query.shape[0] % SCREEN_ROWS == 0 and query.shape[0] == floor.shape[0] and query.shape[1] == s.d < 1 << 16)
    require(most.shape[1] == max(<Py_ssize_t> 1, s.k) and half.shape[0] == s.n_queries)
    require(panel.size >= ROWS_F * s.d)
    require(sums.shape[1] == ROWS_F and sums.shape[0] >= (SCREEN_ROWS if s.d <= COLUMNS else query.shape[0]))
    p.centre, p.query, p.half, p.floor, p.whole = &centre[0], &query[0, 0], &half[0], &floor[0], &whole[0]
    p.sure = NULL if sure is None else &sure[0]
    p.error, p.tiny = (1.6 * s.d + 24) * 6e-8, (s.d + 8) * 1e-36
    p.most, p.most_row = &most[0, 0], &most_row[0, 0]
    p.capacity, p.size, p.row, p.score = row.shape[1], &size[0], &row[0, 0], &score[0, 0]
    p.panel, p.sums = &panel[0, 0], &sums[0, 0]
    p.n_measured = 0
    return 0


cdef inline bint is_whole(floating x) noexcept nogil:
    """Whether a number is whole; a large one may count as not whole."""
    if floating is float:
        return x == (x + <float> 12582912) - <float> 12582912
    else:
        return x == (x + 6755399441055744.0) - 6755399441055744.0


cdef inline double centre_rows(
    products_t* p, const floating* X, Py_ssize_t first, Py_ssize_t n_rows, Py_ssize_t d, float* base, float* gap
) noexcept nogil:
    """Write centred rows side by side to the panel, and -(1/2 - e) |x|^2 and 2 e |x|^2; returns the largest square."""
    cdef float part[ROWS_F * PART]
    cdef Py_ssize_t start = 0, n, r, j
    cdef const floating* x
    cdef const float* centre = p.centre
    cdef float* to
    cdef euclidean_t plain
    cdef vec_f a, b, v, w
    cdef double square, error, largest = 0
    cdef int whole = True
    plain.squared = True
    while start < d:
        n = min(<Py_ssize_t> PART, d - start)
        for r in range(n_rows):
            x, to = X + (first + r) * d + start, part + r * n
            for j in range(n):
                to[j] = <float> (x[j] - centre[start + j])
            if p.whole[0]:
                for j in range(n):
                    whole &= is_whole(x[j])
        pack(&plain, part, 0, n_rows, n, ROWS_F, p.panel + start * ROWS_F)
        start += n
    a = b = spread_f(0)
    for j in range(d):
        v = (<const vec_f*> p.panel)[2 * j]
        w = (<const vec_f*> p.panel)[2 * j + 1]
        a = fmadd_f(v, v, a)
        b = fmadd_f(w, w, b)
    (<vec_f*> gap)[0], (<vec_f*> gap)[1] = a, b
    for r in range(ROWS_F):
        square = gap[r]
        # NaN, which an infinite difference gives, counts as large
        largest = square if not square <= largest else largest
    if not (whole and largest < MOST_WHOLE):
        p.whole[0] = False
    error = 0 if p.whole[0] else p.error
    for r in range(ROWS_F):
        square = gap[r]
        base[r], gap[r] = <float> ((error - 0.5) * square), <float> (2 * error * square)
    return largest


cdef inline void lift(
    const products_t* p, const search_t* s, const euclidean_t* metric, Py_ssize_t query, Py_ssize_t row
) noexcept nogil:
    """Raise the floor of a query to what its k nearest rows, measured and listed, allow for `row` and later rows."""
    cdef double tau = s.tau[query] if metric.squared else s.tau[query] * s.tau[query]
    cdef double half = p.half[query], least
    cdef Py_ssize_t worst = query * s.k
    if p.whole[0] and s.k == 0:
        # squared distances are whole numbers: the largest one whose root, as float64 rounds it, is at most the radius
        tau = whole_part(tau)
        if not metric.squared:
            tau += sqrt(tau + 1) <= s.tau[query]
            tau -= sqrt(tau) > s.tau[query]
        p.floor[query] = <float> max(half - 0.5 * tau - 0.25, -2.0 * MOST_WHOLE)
        if p.sure != NULL:
            p.sure[query] = -2.0 * MOST_WHOLE
        return
    if p.whole[0]:
        least = half - 0.5 * rint(tau)
        # a row at distance tau is a neighbour, too, unless the k-th row known has this distance and a smaller number
        if not (s.distance[worst] == s.tau[query] and s.index[worst] < row):
            least -= 0.25
        p.floor[query] = <float> max(max(least, -p.most[worst]), -2.0 * MOST_WHOLE)
        return
    if p.sure != NULL:
        least = (1 + 2 * p.error) * half - 0.5 * tau + p.tiny
        p.sure[query] = least + 1.5e-7 * fabs(least) + p.tiny
    least = (1 - 2 * p.error) * half - 0.5 * tau - p.tiny
    if s.k:
        least = max(least, -p.most[worst] - 4 * p.error * half - 2 * p.tiny)
    p.floor[query] = <float> (least - 1.5e-7 * fabs(least) - p.tiny)


cdef inline void measure_listed(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t query, Py_ssize_t row
) noexcept nogil:
    """Measure the rows on a query's list whose scores reach its floor, and empty the list; `row` comes next."""
    cdef Py_ssize_t i, at = query * p.capacity
    for i in range(p.size[query]):
        if p.score[at + i] >= p.floor[query]:
            measure(metric, s, X, p.row[at + i], query)
            p.n_measured += 1
    p.size[query] = 0
    measure_waiting(metric, s, X)
    lift(p, s, metric, query, row)


cdef inline void shorten(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t query, Py_ssize_t row
) noexcept nogil:
    """Make room on a query's full list: drop the rows below its floor; if many are left, measure them."""
    cdef Py_ssize_t i, at = query * p.capacity, n = 0
    for i in range(p.size[query]):
        p.row[at + n], p.score[at + n] = p.row[at + i], p.score[at + i]
        n += p.score[at + i] >= p.floor[query]
    p.size[query] = n
    if n > p.capacity // 2:
        measure_listed(metric, s, p, X, query, row)


cdef inline void list_row(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t row, Py_ssize_t query,
    float score, float gap
) noexcept nogil:
    cdef Py_ssize_t at
    if (s.allowed != NULL and not s.allowed[row]) or (s.self_row != NULL and s.self_row[query] == row):
        return
    if s.k == 0:
        if p.sure != NULL and <double> score - gap >= p.sure[query]:
            measure_waiting(metric, s, X)  # these rows come before this one
            take(s, s.tau[query], row, query)
        else:
            measure(metric, s, X, row, query)
            p.n_measured += 1
        return
    if p.size[query] == p.capacity:
        shorten(metric, s, p, X, query, row)
    at = query * p.capacity + p.size[query]
    p.row[at], p.score[at] = row, score
    p.size[query] += 1
    if push(p.most + query * s.k, p.most_row + query * s.k, s.k, <double> gap - score, row):
        lift(p, s, metric, query, row + 1)


cdef inline float* scores_of(const products_t* p, Py_ssize_t d, Py_ssize_t query) noexcept nogil:
    """The scores (SCREEN_ROWS, ROWS_F) of a panel for a query and those after it."""
    return p.sums + (query * ROWS_F if d > COLUMNS else 0)


cdef inline void list_near(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t first, unsigned int valid,
    const float* gap, Py_ssize_t query
) noexcept nogil:
    """List the rows of a panel that may be near, for SCREEN_ROWS queries whose scores are complete."""
    cdef Py_ssize_t i, r
    cdef const float* score = scores_of(p, s.d, query)
    cdef unsigned int near
    cdef const vec_f* scores
    cdef vec_f floor
    for i in range(min(<Py_ssize_t> SCREEN_ROWS, s.n_queries - query)):
        scores, floor = <const vec_f*> (score + i * ROWS_F), spread_f(p.floor[query + i])
        if p.whole[0]:
            near = ~(at_most_f(scores[0], floor) | at_most_f(scores[1], floor) << LANES_F) & valid
        else:
            near = (at_most_f(floor, scores[0]) | at_most_f(floor, scores[1]) << LANES_F) & valid
        while near:
            r = lowest_bit(near)
            near &= near - 1
            list_row(metric, s, p, X, first + r, query + i, score[i * ROWS_F + r], gap[r])


cdef inline void screen_panel(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t first, unsigned int valid,
    const float* base, const float* gap
) noexcept nogil:
    """List the rows of a panel that may be near, for all queries."""
    cdef Py_ssize_t d = s.d, column = 0, query, n
    cdef float* score
    while column < d:
        n = min(<Py_ssize_t> COLUMNS, d - column)
        query = 0
        while query < s.n_queries:
            score = scores_of(p, d, query)
            screen_rows(
                p.query + query * d + column, d, p.panel + column * ROWS_F, score if column else base,
                ROWS_F if column else 0, n, ROWS_F, score
            )
            if column + n == d:
                list_near(metric, s, p, X, first, valid, gap, query)
            query += SCREEN_ROWS
        column += n


cdef inline void scan_products(
    const euclidean_t* metric, search_t* s, products_t* p, const floating* X, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Search rows start to stop, of which all rows that may be near are measured at the end."""
    cdef float base[ROWS_F]
    cdef float gap[ROWS_F]
    cdef Py_ssize_t first = start, n_rows, query, r
    cdef double largest
    cdef int whole = -1
    while first < stop:
        n_rows = min(<Py_ssize_t> ROWS_F, stop - first)
        largest = centre_rows(p, X, first, n_rows, s.d, base, gap)
        if whole != p.whole[0]:
            whole = p.whole[0]
            for query in range(s.n_queries):
                lift(p, s, metric, query, first)
        if largest < 1e37:
            screen_panel(metric, s, p, X, first, <unsigned int> ((<unsigned long long> 1 << n_rows) - 1), base, gap)
        else:
            for query in range(s.n_queries):
                for r in range(n_rows):
                    measure(metric, s, X, first + r, query)
            p.n_measured += n_rows * s.n_queries
        first += ROWS_F
    for query in range(s.n_queries):
        measure_listed(metric, s, p, X, query, stop)
