# Raw queries made ready for a search, in scratch of the caller's: what `Scan._block` and `Scan._state` of
# `fastclf/_search.py` do for arrays.
from cython cimport floating
from libc.math cimport INFINITY, fabs, sqrt
from libc.string cimport memset

from _code cimport filter_t
from _finite cimport all_finite
from _model cimport asked_t, model_t, piece
from _search cimport CHEBYSHEV, COSINE, DOT, HAMMING, MANHATTAN, MINKOWSKI, metrics_t, search_t
from fastclf.capi cimport FASTCLF_BAD_VALUE, FASTCLF_OK

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

# Queries that are searched together, and the bytes of a panel's coordinate: two of the widest vectors.
cdef enum:
    QUERIES = 32
    PANEL_BYTES = 128
    FEW_QUERIES = 2


cdef inline Py_ssize_t scratch_bytes(Py_ssize_t d) noexcept nogil:
    """What `prepare` and a panel need, for as many queries as are searched together."""
    return (8 * QUERIES + PANEL_BYTES) * d + 32 * QUERIES + 256


cdef inline Py_ssize_t list_capacity(Py_ssize_t k) noexcept nogil:
    return 2048 + 2 * k


cdef inline Py_ssize_t codes_bytes(Py_ssize_t d, Py_ssize_t width, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """What `prepare_codes` needs for n queries, QUERIES at most."""
    cdef Py_ssize_t coder = PANEL_BYTES * (d + 2 * width + 4) + 12 * (d + width)
    return coder + (n + 3) * (width + 64) + (12 * n + 16) * list_capacity(k) + 2048


cdef inline double squared_norm(const double* x, Py_ssize_t d) noexcept nogil:
    cdef double s = 0
    cdef Py_ssize_t j
    for j in range(d):
        s += x[j] * x[j]
    return s


cdef inline bint is_zero(const double* x, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(d):
        if x[j] != 0:
            return False
    return True


cdef inline double rounding(int metric, const double* q, const floating* rounded, Py_ssize_t d) noexcept nogil:
    """Distance between a query and what it was rounded to, rounded up."""
    cdef double error = 0, largest = 0, total = 0
    cdef Py_ssize_t j
    if sizeof(floating) == sizeof(double) or metric == HAMMING or metric == MINKOWSKI:
        return 0
    for j in range(d):
        error = fabs(q[j] - rounded[j])
        total += error
        largest = max(largest, error)
    if metric == MANHATTAN:
        return total * (1 + 1e-6)
    if metric == CHEBYSHEV or largest == 0 or not largest < INFINITY:
        return largest * (1 + 1e-6)
    total = 0
    for j in range(d):
        error = (q[j] - rounded[j]) / largest
        total += error * error
    return largest * sqrt(total) * (1 + 1e-6)


cdef inline int prepare(
    const model_t* model, metrics_t* metrics, search_t* s, const double* queries, Py_ssize_t n, Py_ssize_t k,
    double* distance, Py_ssize_t* index, char** room, floating like
) noexcept nogil:
    """Up to QUERIES queries with empty heaps of k; `metrics` is the model's, with what the queries add."""
    cdef Py_ssize_t d = model.n_features, padded = (n + 3) // 4 * 4, query, j
    cdef floating* screen = <floating*> piece(room, padded * d * <Py_ssize_t> sizeof(floating))
    cdef double* error = <double*> piece(room, 4 * QUERIES * sizeof(double))
    cdef double* tau = error + QUERIES
    cdef double* bound = tau + QUERIES
    cdef double* norm2 = bound + QUERIES
    cdef const double* q
    cdef double scale
    cdef bint by_norm = metrics.code == COSINE or metrics.code == DOT
    if not all_finite(queries, n * d):
        return FASTCLF_BAD_VALUE
    for query in range(padded):
        bound[query] = INFINITY if query < n else -1
        if query >= n:
            for j in range(d):
                screen[query * d + j] = 0
            continue
        q = queries + query * d
        tau[query] = INFINITY
        error[query] = 0
        scale = 1
        if by_norm:
            norm2[query] = squared_norm(q, d)
            if not norm2[query] < INFINITY:
                return FASTCLF_BAD_VALUE
            if metrics.code == COSINE:
                if norm2[query] < 1e-290 and not is_zero(q, d):
                    return FASTCLF_BAD_VALUE
                if norm2[query] > 0:
                    scale = sqrt(norm2[query])
            else:
                # shorter ones are as if they were 0; see `_LEAST_NORM` of `fastclf/_search.py`
                error[query] = sqrt(norm2[query])
                if error[query] < 1e-140:
                    error[query] = 0
                scale = -error[query] if error[query] > 0 else -1
        for j in range(d):
            screen[query * d + j] = <floating> (q[j] / scale if by_norm else q[j])
        if not by_norm:
            error[query] = rounding(metrics.code, q, screen + query * d, d)
    for j in range(n * k):
        distance[j] = INFINITY
        index[j] = PY_SSIZE_T_MAX
    metrics.cosine.query_norm2 = norm2
    s.d = d
    s.n_rows = model.neighbors.n_rows
    s.n_queries = n
    s.query = queries
    s.screen_query = screen
    s.query_error = error
    s.tau = tau
    s.bound = bound
    s.k = k
    s.distance = distance
    s.index = index
    s.allowed = model.neighbors.allowed
    s.own = NULL
    s.n_hits = s.capacity = s.n_waiting = 0
    return FASTCLF_OK


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
