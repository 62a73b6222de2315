# Distances between rows of packed bits, from the number of bits in which two rows differ.
#
# With c bits that differ and |x|, |q| ones, b = (|x| + |q| - c) / 2 bits are 1 in both, so that
#
#     hamming         c / d                    jaccard         c / (b + c)
#     dice            c / (2 b + c)            sokalsneath     2 c / (b + 2 c)
#     rogerstanimoto  2 c / (d + c)            russellrao      (d - b) / d
#     sokalmichener   2 c / (d + c)            yule            2 u v / (b (d - b - c) + u v),  u = |x| - b, v = |q| - b
#
# are quotients of whole numbers, rounded once, and 0 where the numerator is 0. (Only yule's may exceed 2^53.) With
# t = min(tau, 1) (1 + 1e-12), which covers that rounding, a row at Hamming's or Jaccard's distance tau or less has
#
#     c <= t d,               c <= t / (2 - t) (|x| + |q|)
#
# Each distance of dice, sokalsneath and rogerstanimoto is a rising function of one of these two; for russellrao and
# yule there is no bound.
#
# Both bounds are at most  base + (slope |x| >> 20)  with whole numbers base and slope, rounded up. A row whose c
# exceeds this limit is skipped.
#
# For many queries the rows are packed into panels, in which the words of several rows lie side by side. For few queries
# the rows are read from X as it is.
from libc.math cimport ceil
from libc.stdint cimport uint64_t

from neighbors._search cimport fill_found, search_t, take
from _vector cimport (
    LANES_D, at_most_b, count_bytes, count_word, load_word, lowest_bit, require, spread_b, sum_bytes, vec_b,
)

PANEL_ROWS = 2 * LANES_D

ctypedef struct limit_t:
    uint64_t base
    uint64_t slope

cdef enum:
    HAMMING
    JACCARD
    DICE
    SOKALSNEATH
    ROGERSTANIMOTO
    RUSSELLRAO
    YULE

CODES = {
    "hamming": HAMMING,
    "jaccard": JACCARD,
    "dice": DICE,
    "sokalsneath": SOKALSNEATH,
    "rogerstanimoto": ROGERSTANIMOTO,
    "sokalmichener": ROGERSTANIMOTO,
    "russellrao": RUSSELLRAO,
    "yule": YULE,
}

ctypedef struct bits_t:
    int code
    const unsigned char* X     # (n, n_bytes): the bits of the rows that are searched, packed into bytes
    Py_ssize_t n_bytes
    Py_ssize_t n_words         # the number of 64-bit words that hold the n_bytes bytes of a query, and zeros after them
    Py_ssize_t n_bits
    const uint64_t* Q          # (n_queries, n_words): the bits of the queries, packed into words
    const int* ones            # (n,): the number of ones in each row; NULL for Hamming, which does not read it
    const int* query_ones      # (n_queries,): the number of ones in each query; NULL for Hamming, which needs none
    # (n_queries,): each query's limit: a row that differs from the query in more bits is no neighbour
    limit_t* limit


cdef inline void set_limit(const bits_t* b, const search_t* s, Py_ssize_t query) noexcept nogil:
    """Set a query's limit: a row that differs from the query in more bits is too far away to be a neighbour."""
    cdef double t = min(s.tau[query], 1.0)
    if b.code == DICE:
        t = 2 * t / (1 + t)
    elif b.code == SOKALSNEATH or b.code == ROGERSTANIMOTO:
        t = t / (2 - t)
    elif b.code == RUSSELLRAO or b.code == YULE:
        t = 1
    t = t * (1 + 1e-12)
    if b.code != JACCARD and b.code != DICE and b.code != SOKALSNEATH:
        b.limit[query].base = <uint64_t> ceil(t * b.n_bits)
        b.limit[query].slope = 0
    else:
        t = t / (2 - t)
        b.limit[query].base = <uint64_t> ceil(t * b.query_ones[query]) + 1
        b.limit[query].slope = <uint64_t> ceil(t * (1 << 20))


cdef inline double quotient(const bits_t* b, Py_ssize_t c, Py_ssize_t x, Py_ssize_t q) noexcept nogil:
    """The distance of a row with x ones and a query with q ones, which differ in c bits."""
    cdef Py_ssize_t both = (x + q - c) // 2
    cdef double above = c, below
    if b.code == HAMMING:
        below = b.n_bits
    elif b.code == JACCARD:
        below = both + c
    elif b.code == DICE:
        below = 2 * both + c
    elif b.code == SOKALSNEATH:
        above = 2 * c
        below = both + 2 * c
    elif b.code == ROGERSTANIMOTO:
        above = 2 * c
        below = b.n_bits + c
    elif b.code == RUSSELLRAO:
        above = b.n_bits - both
        below = b.n_bits
    else:
        above = 2.0 * <double> (x - both) * <double> (q - both)
        below = <double> both * <double> (b.n_bits - both - c) + 0.5 * above
    return above / below if above > 0 else 0


cdef inline void take_count(
    const bits_t* b, search_t* s, Py_ssize_t count, Py_ssize_t row, Py_ssize_t query
) noexcept nogil:
    """Take a row that differs from the query in `count` bits as a neighbour, and lower the query's limit of bits."""
    cdef Py_ssize_t x = 0, q = count
    if b.ones != NULL:
        x = b.ones[row]
        q = b.query_ones[query]
    require(0 <= count <= b.n_bits and x + q >= count)
    if take(s, quotient(b, count, x, q), row, query):
        set_limit(b, s, query)


cdef void scan_rows(const bits_t* b, search_t* s, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t row, query, i, count
    cdef const unsigned char* x
    cdef const uint64_t* q
    cdef const limit_t* limit
    for query in range(s.n_queries):
        q = b.Q + query * b.n_words
        limit = b.limit + query
        for row in range(start, stop):
            x = b.X + row * b.n_bytes
            count = 0
            for i in range(b.n_bytes // 8):
                count += count_word(load_word(x + 8 * i, 8) ^ q[i])
            if b.n_bytes % 8:
                i = b.n_words - 1
                count += count_word(load_word(x + 8 * i, b.n_bytes - 8 * i) ^ q[i])
            if <uint64_t> count <= limit.base + (limit.slope * (0 if b.ones == NULL else b.ones[row]) >> 20):
                take_count(b, s, count, row, query)


cdef void scan_panels(
    const bits_t* b, search_t* s, Py_ssize_t start, Py_ssize_t stop, uint64_t* panel
) noexcept nogil:
    cdef Py_ssize_t first = start, n_rows, row, query, i, last
    cdef const unsigned char* x
    cdef const uint64_t* q
    cdef const vec_b* p
    cdef vec_b count0, count1, bytes0, bytes1, spread_q
    cdef vec_b ones[2]
    cdef vec_b counts[2]
    cdef const limit_t* limit
    cdef unsigned int near, valid
    while first < stop:
        n_rows = min(<Py_ssize_t> (2 * LANES_D), stop - first)
        valid = (<unsigned int> 1 << n_rows) - 1
        ones[0] = ones[1] = spread_b(0)
        for row in range(n_rows):
            x = b.X + (first + row) * b.n_bytes
            for i in range(b.n_words):
                panel[i * 2 * LANES_D + row] = load_word(x + 8 * i, b.n_bytes - 8 * i)
            if b.ones != NULL:
                (<uint64_t*> ones)[row] = b.ones[first + row]
        for row in range(n_rows, 2 * LANES_D):
            for i in range(b.n_words):
                panel[i * 2 * LANES_D + row] = 0
        for query in range(s.n_queries):
            q = b.Q + query * b.n_words
            p = <const vec_b*> panel
            count0 = count1 = spread_b(0)
            i = 0
            while i < b.n_words:
                # each byte of a sum counts the bits that differ in one byte of at most 31 words, so at most 248 bits
                last = min(i + 31, b.n_words)
                bytes0 = bytes1 = spread_b(0)
                while i < last:
                    spread_q = spread_b(q[i])
                    bytes0 += count_bytes(p[2 * i] ^ spread_q)
                    bytes1 += count_bytes(p[2 * i + 1] ^ spread_q)
                    i += 1
                count0 += sum_bytes(bytes0)
                count1 += sum_bytes(bytes1)
            limit = b.limit + query
            near = at_most_b(count0, spread_b(limit.base) + (ones[0] * spread_b(limit.slope) >> 20))
            near |= at_most_b(count1, spread_b(limit.base) + (ones[1] * spread_b(limit.slope) >> 20)) << LANES_D
            near &= valid
            if near:
                counts[0] = count0
                counts[1] = count1
                while near:
                    row = lowest_bit(near)
                    near &= near - 1
                    take_count(b, s, (<uint64_t*> counts)[row], first + row, query)
        first += 2 * LANES_D


def scan(
    const unsigned char[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_bits, int code, const int[::1] ones,
    state,
):
    """Search rows X[start:stop]; `state` is a BitPass of `fastclf/neighbors/packed_bits.py`.

    `ones` has the number of ones in each row; it is None for Hamming's distance. Returns the number of hits.
    """
    cdef search_t s
    cdef bits_t b
    cdef const uint64_t[:, ::1] Q = state.query
    cdef const int[::1] query_ones = state.ones
    cdef uint64_t[:, ::1] panel = state.panel
    cdef uint64_t[:, ::1] limits = state.limits
    cdef Py_ssize_t query
    fill_found(&s, X.shape[0], Q.shape[0], state)
    b.code = code
    b.X = &X[0, 0]
    b.n_bytes = X.shape[1]
    b.n_words = Q.shape[1]
    b.n_bits = n_bits
    b.Q = &Q[0, 0]
    b.limit = <limit_t*> &limits[0, 0]
    b.ones = b.query_ones = NULL
    if ones is not None:
        b.ones = &ones[0]
        b.query_ones = &query_ones[0]
    with nogil:
        for query in range(s.n_queries):
            set_limit(&b, &s, query)
        if panel is None:
            scan_rows(&b, &s, start, stop)
        else:
            scan_panels(&b, &s, start, stop, &panel[0, 0])
    return s.n_hits
