# The state of a search by codes, apart from the fields of `search_t`: the codes of all rows and of the queries, and for
# each query a list of candidates, rows that may be near. The arrays belong to a Filter and a FilterPass of
# `fastclf/neighbors/code_filter.py`, or, for queries over raw pointers, to a model and to the caller's scratch space.
from libc.string cimport memset

from neighbors._metrics cimport COSINE, DOT, metrics_t
from neighbors._panel_layout cimport PANEL_BYTES
from neighbors._raw_queries cimport PY_SSIZE_T_MAX
from neighbors._search cimport search_t
from _model cimport model_t, piece, query_codes_t

ctypedef struct filter_t:
    Py_ssize_t width                # the number of bytes of one row's code
    const unsigned char* code       # the codes of all rows of X, in panels of rows side by side
    # (n_places,): the row number of each code in the array `code`, n_rows at an unused place; NULL: code i is of row i
    const Py_ssize_t* rows
    # (n_rows,): half the squared norm of each row's code, rounded down; not read for dot and manhattan
    const int* half
    const float* slack              # (n_blocks,): an upper bound of the coding errors of the rows of each block
    # (n_blocks,), for dot: the largest sum of a code's norm and the coding error of its row, in each block of rows
    const float* length
    # (n_queries + padding, number of bytes of a code): the codes of the queries: int8, or for manhattan bytes of 1..255
    const unsigned char* query_code
    # (n_queries,): half the squared norm of each query's code; for dot 0; not read for manhattan
    const double* query_base
    const double* query_total       # (n_queries,): the sum of each query's code
    const double* query_slack       # (n_queries,): an upper bound of the coding error of each query
    const double* query_length      # (n_queries,), for dot: the norm of each query's code
    const double* query_per         # (n_queries,): the factor that converts a distance into units of the codes' step
    # (n_queries,), for dot: the inner product of each query and the centre of the rows, plus an upper bound of errors
    const double* query_shift
    # every stride-th block of rows belongs to a sample, which is searched first, so that the limits of distances are
    # soon small; 0: there is no sample
    Py_ssize_t stride
    Py_ssize_t capacity             # the number of rows for which a candidate list has space
    Py_ssize_t* list_size           # (n_queries,): the number of rows in the candidate list of each query
    # (n_queries,): the size at which each query's candidate list is shortened next
    Py_ssize_t* list_mark
    Py_ssize_t* list_place          # (n_queries, capacity): for each candidate the place of its code in `code`
    # (n_queries, capacity): for each candidate a key, which grows with the lower bound of its distance from the query
    int* list_key
    # (n_best,): the keys, in a heap, of the candidates of one query whose distances are computed next
    double* best_key
    # (n_best,): the candidates of one query whose distances are computed next: places of codes, then row numbers
    Py_ssize_t* best_row
    Py_ssize_t n_best
    Py_ssize_t* n_measured          # (n_queries,): the number of rows whose distances have been computed so far
    # A query for which more than so many distances have been computed is given up: no more rows are listed for it, and
    # its heap lacks neighbours.
    Py_ssize_t most_measured
    Py_ssize_t n_refined            # the number of times that a candidate list has been shortened so far


cdef inline int fill_filter(filter_t* f, index, state) except -1:
    """Fill in a filter_t: the codes of all rows from a Filter, the query codes and the lists from a FilterPass."""
    cdef const unsigned char[::1] code = index.code
    cdef const int[::1] half = index.half
    cdef const float[::1] slack = index.slack
    cdef const float[::1] length = index.length
    cdef const unsigned char[:, ::1] query_code = state.codes.code
    cdef const double[::1] query_base = state.codes.base
    cdef const double[::1] query_total = state.codes.total
    cdef const double[::1] query_slack = state.codes.slack
    cdef const double[::1] query_length = state.codes.length
    cdef const double[::1] query_per = state.codes.per
    cdef const double[::1] query_shift = state.codes.shift
    cdef Py_ssize_t[::1] list_size = state.list_size
    cdef Py_ssize_t[::1] list_mark = state.list_mark
    cdef Py_ssize_t[::1] n_measured = state.n_measured
    cdef Py_ssize_t[:, ::1] list_place = state.list_place
    cdef int[:, ::1] list_key = state.list_key
    cdef double[::1] best_key = state.best_key
    cdef Py_ssize_t[::1] best_row = state.best_row
    f.stride = state.stride
    f.width = query_code.shape[1]
    f.code = &code[0]
    f.rows = NULL
    f.half = &half[0]
    f.slack = &slack[0]
    f.length = &length[0]
    f.query_code = &query_code[0, 0]
    f.query_base = &query_base[0]
    f.query_total = &query_total[0]
    f.query_slack = &query_slack[0]
    f.query_length = &query_length[0]
    f.query_per = &query_per[0]
    f.query_shift = &query_shift[0]
    f.capacity = list_place.shape[1]
    f.list_size = &list_size[0]
    f.list_mark = &list_mark[0]
    f.n_measured = &n_measured[0]
    f.most_measured = state.most_measured
    f.list_place = &list_place[0, 0]
    f.list_key = &list_key[0, 0]
    f.best_key = &best_key[0]
    f.best_row = &best_row[0]
    f.n_best = best_row.shape[0]
    f.n_refined = 0
    return 0


cdef inline Py_ssize_t list_capacity(Py_ssize_t k) noexcept nogil:
    return 2048 + 2 * k


cdef inline Py_ssize_t codes_bytes(Py_ssize_t d, Py_ssize_t width, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The size in bytes of the scratch space that `prepare_codes` needs for a block of n queries."""
    cdef Py_ssize_t coder = PANEL_BYTES * (d + 2 * width + 4) + 12 * (d + width)
    return coder + (n + 3) * (width + 72) + (12 * n + 16) * list_capacity(k) + 2048


cdef inline void prepare_codes(
    const model_t* model, const metrics_t* metrics, const search_t* s, filter_t* f, char** scratch
) noexcept nogil:
    """Code the queries of a search, and make an empty candidate list for each; the sample, `f.stride`, is not set."""
    cdef Py_ssize_t n = s.n_queries, padded = (n + 3) // 4 * 4, capacity = list_capacity(s.k), query
    cdef query_codes_t codes
    cdef const double* norm2 = NULL
    codes.code = <unsigned char*> piece(scratch, padded * model.neighbors.width)
    codes.base = <double*> piece(scratch, 6 * padded * <Py_ssize_t> sizeof(double))
    codes.total = codes.base + padded
    codes.slack = codes.total + padded
    codes.length = codes.slack + padded
    codes.per = codes.length + padded
    codes.shift = codes.per + padded
    f.list_size = <Py_ssize_t*> piece(scratch, 3 * n * <Py_ssize_t> sizeof(Py_ssize_t))
    f.list_mark = f.list_size + n
    f.n_measured = f.list_mark + n
    f.list_place = <Py_ssize_t*> piece(scratch, n * capacity * <Py_ssize_t> sizeof(Py_ssize_t))
    f.list_key = <int*> piece(scratch, n * capacity * <Py_ssize_t> sizeof(int))
    f.best_key = <double*> piece(scratch, capacity * <Py_ssize_t> sizeof(double))
    f.best_row = <Py_ssize_t*> piece(scratch, capacity * <Py_ssize_t> sizeof(Py_ssize_t))
    memset(codes.code, 0, padded * model.neighbors.width)
    if metrics.code == COSINE:
        norm2 = metrics.cosine.query_norm2
    elif metrics.code == DOT:
        norm2 = s.query_error  # for the metric dot, `query_error` has the norms of the queries
    model.neighbors.encode(model, s.query, norm2, n, &codes, scratch[0])
    for query in range(n):
        f.list_size[query] = f.n_measured[query] = 0
        f.list_mark[query] = 64 + 2 * s.k
    f.most_measured = PY_SSIZE_T_MAX
    f.width, f.code, f.half = model.neighbors.width, model.neighbors.code, model.neighbors.half
    f.rows = NULL
    f.slack, f.length = model.neighbors.slack, model.neighbors.length
    f.query_code, f.query_base, f.query_total, f.query_slack = codes.code, codes.base, codes.total, codes.slack
    f.query_length, f.query_per, f.query_shift = codes.length, codes.per, codes.shift
    f.capacity = f.n_best = capacity
    f.n_refined = 0
