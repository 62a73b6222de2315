# Hamming and Jaccard distances between rows of packed bits, from the number of bits in which two rows differ.
#
# With c bits that differ and |x|, |q| ones, |x or q| = (|x| + |q| + c) / 2, so that
#
#     hamming = c / d,        jaccard = c / ((|x| + |q| + c) / 2),  0 where both are empty
#
# are quotients of whole numbers, rounded once. With t = min(tau, 1) (1 + 1e-12), which covers that rounding, a row at
# distance tau or less has
#
#     c <= t d,               c <= t / (2 - t) (|x| + |q|)
#
# Both bounds are at most  base + (slope |x| >> 20)  with whole numbers base and slope, rounded up. A row whose c
# exceeds this limit is skipped.
#
# For many queries the rows are packed into panels, in which the words of several rows lie side by side. For few queries
# the rows are read from X in its own layout.
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

ctypedef struct bits_t:
    const unsigned char* X     # (n, n_bytes)
    Py_ssize_t n_bytes
    Py_ssize_t n_words         # number of 64-bit words of a query; the padding after its n_bytes bytes is 0
    Py_ssize_t n_bits
    const uint64_t* Q          # (n_queries, n_words)
    const int* ones            # (n,) the number of ones in each row for Jaccard; NULL for Hamming
    const int* query_ones      # (n_queries,) the number of ones in each query for Jaccard; NULL for Hamming
    limit_t* limit             # (n_queries,) the largest c of a row within the query's tau


cdef inline void set_limit(const bits_t* b, const search_t* s, Py_ssize_t query) noexcept nogil:
    """Set the query's limit, the largest number of differing bits at a distance of tau or less."""
    cdef double t = min(s.tau[query], 1.0) * (1 + 1e-12)
    if b.ones == NULL:
        b.limit[query].base = <uint64_t> ceil(t * b.n_bits)
        b.limit[query].slope = 0
    else:
        t = t / (2 - t)
        b.limit[query].base = <uint64_t> ceil(t * b.query_ones[query]) + 1
        b.limit[query].slope = <uint64_t> ceil(t * (1 << 20))


cdef inline void take_count(
    const bits_t* b, search_t* s, Py_ssize_t count, Py_ssize_t row, Py_ssize_t query
) noexcept nogil:
    """Put a row that differs from the query in `count` bits into the heap, or among the hits, if it is within tau."""
    cdef Py_ssize_t of = b.n_bits
    if b.ones != NULL:
        of = (b.ones[row] + b.query_ones[query] + count) // 2
    require(0 <= count <= of)
    if take(s, <double> count / <double> of if of else 0, row, query):
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
                last = min(i + 31, b.n_words)  # 31 steps of at most 8 bits each fit a counter of one byte
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
    const unsigned char[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_bits, const int[::1] ones, state
):
    """Search rows X[start:stop], with a BitPass of `fastclf/neighbors/packed_bits.py`; returns the number of hits.

    The distance is Jaccard's where `ones` has the number of ones in each row, and Hamming's where it is None.
    """
    cdef search_t s
    cdef bits_t b
    cdef const uint64_t[:, ::1] Q = state.query
    cdef const int[::1] query_ones = state.ones
    cdef uint64_t[:, ::1] panel = state.panel
    cdef uint64_t[:, ::1] limits = state.limits
    cdef Py_ssize_t query
    fill_found(&s, X.shape[0], Q.shape[0], state)
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
