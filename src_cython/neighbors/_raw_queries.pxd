# Raw queries made ready for a search, in scratch of the caller's: what `Scan._block` and `Scan._state` of
# `fastclf/neighbors/scan.py` do for arrays.
from cython cimport floating
from libc.math cimport INFINITY, fabs, sqrt

from _finite cimport all_finite
from _model cimport model_t, piece
from neighbors._search cimport CHEBYSHEV, COSINE, DOT, HAMMING, MANHATTAN, MINKOWSKI, metrics_t, search_t
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK

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
                # shorter ones are as if they were 0; see `_LEAST_NORM` of `fastclf/neighbors/scan.py`
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


cdef inline const metrics_t* metrics_of(const model_t* model) noexcept nogil:
    return <const metrics_t*> model.neighbors.metrics
