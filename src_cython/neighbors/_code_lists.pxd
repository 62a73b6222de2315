# What a search by codes has beside its `search_t`: from a Filter of `fastclf/neighbors/code_filter.py` and a state of
# its, or for raw queries in scratch of the caller's.
from libc.string cimport memset

from neighbors._raw_queries cimport PANEL_BYTES
from _model cimport asked_t, model_t, piece
from neighbors._search cimport COSINE, DOT, metrics_t, search_t

ctypedef struct filter_t:
    Py_ssize_t width                # bytes of a row's code
    const unsigned char* code
    const int* half                 # floor(|c(x)|^2 / 2); 0 for dot, unused for manhattan
    const float* slack              # of the block of rows, the largest
    const float* length             # the largest |c(x)| + e(x) of a block, for dot
    const unsigned char* query_code  # (n_queries, width), padded; int8 for products, bytes of 1..255 for differences
    const double* query_base        # what the query adds to each product; see key_limit
    const double* query_slack
    const double* query_length      # |c(q)|, for dot
    const double* query_per         # units of step per unit of distance
    const double* query_shift       # mu'q and the errors of products, for dot
    Py_ssize_t capacity             # of each list
    Py_ssize_t* list_size
    Py_ssize_t* list_mark           # the size at which a list is refined next
    Py_ssize_t* list_row
    int* list_key                   # the smaller the nearer
    double* best_key                # heap of `n_best` that are measured next
    Py_ssize_t* best_row
    Py_ssize_t n_best
    Py_ssize_t n_measured
    Py_ssize_t n_refined


cdef inline int fill_filter(filter_t* f, index, block) except -1:
    """The codes of a Filter and what a block of its queries and its lists have."""
    cdef const unsigned char[::1] code = index.code
    cdef const int[::1] half = index.half
    cdef const float[::1] slack = index.slack
    cdef const float[::1] length = index.length
    cdef const unsigned char[:, ::1] query_code = block.query_code
    cdef const double[::1] query_base = block.query_base
    cdef const double[::1] query_slack = block.query_slack
    cdef const double[::1] query_length = block.query_length
    cdef const double[::1] query_per = block.query_per
    cdef const double[::1] query_shift = block.query_shift
    cdef Py_ssize_t[::1] list_size = block.list_size
    cdef Py_ssize_t[::1] list_mark = block.list_mark
    cdef Py_ssize_t[:, ::1] list_row = block.list_row
    cdef int[:, ::1] list_key = block.list_key
    cdef double[::1] best_key = block.best_key
    cdef Py_ssize_t[::1] best_row = block.best_row
    f.width = query_code.shape[1]
    f.code = &code[0]
    f.half = &half[0]
    f.slack = &slack[0]
    f.length = &length[0]
    f.query_code = &query_code[0, 0]
    f.query_base = &query_base[0]
    f.query_slack = &query_slack[0]
    f.query_length = &query_length[0]
    f.query_per = &query_per[0]
    f.query_shift = &query_shift[0]
    f.capacity = list_row.shape[1]
    f.list_size = &list_size[0]
    f.list_mark = &list_mark[0]
    f.list_row = &list_row[0, 0]
    f.list_key = &list_key[0, 0]
    f.best_key = &best_key[0]
    f.best_row = &best_row[0]
    f.n_best = best_row.shape[0]
    f.n_measured = f.n_refined = 0
    return 0


cdef inline Py_ssize_t list_capacity(Py_ssize_t k) noexcept nogil:
    return 2048 + 2 * k


cdef inline Py_ssize_t codes_bytes(Py_ssize_t d, Py_ssize_t width, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """What `prepare_codes` needs for n queries, QUERIES at most."""
    cdef Py_ssize_t coder = PANEL_BYTES * (d + 2 * width + 4) + 12 * (d + width)
    return coder + (n + 3) * (width + 64) + (12 * n + 16) * list_capacity(k) + 2048


cdef inline void prepare_codes(
    const model_t* model, const metrics_t* metrics, const search_t* s, filter_t* f, char** room
) noexcept nogil:
    """The codes of a search's queries, and empty lists."""
    cdef Py_ssize_t n = s.n_queries, padded = (n + 3) // 4 * 4, capacity = list_capacity(s.k), query
    cdef asked_t asked
    cdef const double* norm2 = NULL
    asked.code = <unsigned char*> piece(room, padded * model.neighbors.width)
    asked.base = <double*> piece(room, 5 * padded * <Py_ssize_t> sizeof(double))
    asked.slack = asked.base + padded
    asked.length = asked.slack + padded
    asked.per = asked.length + padded
    asked.shift = asked.per + padded
    f.list_size = <Py_ssize_t*> piece(room, 2 * n * <Py_ssize_t> sizeof(Py_ssize_t))
    f.list_mark = f.list_size + n
    f.list_row = <Py_ssize_t*> piece(room, n * capacity * <Py_ssize_t> sizeof(Py_ssize_t))
    f.list_key = <int*> piece(room, n * capacity * <Py_ssize_t> sizeof(int))
    f.best_key = <double*> piece(room, capacity * <Py_ssize_t> sizeof(double))
    f.best_row = <Py_ssize_t*> piece(room, capacity * <Py_ssize_t> sizeof(Py_ssize_t))
    memset(asked.code, 0, padded * model.neighbors.width)
    if metrics.code == COSINE:
        norm2 = metrics.cosine.query_norm2
    elif metrics.code == DOT:
        norm2 = s.query_error  # not squared
    model.neighbors.encode(model, s.query, norm2, n, &asked, room[0])
    for query in range(n):
        f.list_size[query] = 0
        f.list_mark[query] = 64 + 2 * s.k
    f.width = model.neighbors.width
    f.code = model.neighbors.code
    f.half = model.neighbors.half
    f.slack = model.neighbors.slack
    f.length = model.neighbors.length
    f.query_code = asked.code
    f.query_base = asked.base
    f.query_slack = asked.slack
    f.query_length = asked.length
    f.query_per = asked.per
    f.query_shift = asked.shift
    f.capacity = f.n_best = capacity
    f.n_measured = f.n_refined = 0
