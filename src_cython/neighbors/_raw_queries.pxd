# Preparation of queries that a C caller passes as raw pointers, in the caller's scratch space. `Scan._queries` and
# `Pass` of `fastclf/neighbors/scan.py` do the same for arrays.
from cython cimport floating
from libc.math cimport INFINITY, fabs, sqrt

from _finite cimport all_finite
from _model cimport model_t, piece, raw_search_t
from neighbors._metrics cimport CHEBYSHEV, COSINE, DOT, HAMMING, MANHATTAN, MINKOWSKI, metrics_t
from neighbors._panel_layout cimport PANEL_BYTES
from neighbors._search cimport search_t
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    QUERIES = 32     # the largest number of queries in a block, which is searched as a whole
    FEW_QUERIES = 2  # the largest number of queries for which rows of X are read in place, not packed side by side


cdef inline Py_ssize_t scratch_bytes(Py_ssize_t d) noexcept nogil:
    """The size in bytes of the scratch space for the largest block of queries, for `prepare` and one panel of rows."""
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
    """The distance between a query and the same query rounded to X's type; the result is rounded up."""
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


cdef inline int measure_norm(
    int metric, const double* q, Py_ssize_t d, double* norm2_out, double* error_out, double* scale_out
) noexcept nogil:
    """For cosine or dot, write of a query q: |q|^2; |q|, for cosine 0; the number by which q is divided for screens."""
    norm2_out[0] = squared_norm(q, d)
    error_out[0] = 0
    scale_out[0] = 1
    if not norm2_out[0] < INFINITY:
        return FASTCLF_BAD_VALUE
    if metric == COSINE:
        if norm2_out[0] < 1e-290 and not is_zero(q, d):
            return FASTCLF_BAD_VALUE
        if norm2_out[0] > 0:
            scale_out[0] = sqrt(norm2_out[0])
    else:
        # a norm below 1e-140, `_LEAST_NORM` of `fastclf/neighbors/scan.py`, counts as 0: the distances of all rows are
        # then computed
        error_out[0] = sqrt(norm2_out[0])
        if error_out[0] < 1e-140:
            error_out[0] = 0
        scale_out[0] = -error_out[0] if error_out[0] > 0 else -1
    return FASTCLF_OK


cdef inline int prepare(
    const model_t* model, const raw_search_t* raw, metrics_t* metrics, search_t* s, char** scratch, floating like
) noexcept nogil:
    """Set up a search of at most QUERIES queries, with empty heaps.

    The pointer to the norms of the queries is set in `metrics`, a copy of the model's.
    """
    cdef Py_ssize_t d = model.n_features, n = raw.n, padded = (n + 3) // 4 * 4, query, j
    cdef floating* screen = <floating*> piece(scratch, padded * d * <Py_ssize_t> sizeof(floating))
    cdef double* error = <double*> piece(scratch, 4 * QUERIES * sizeof(double))
    cdef double* tau = error + QUERIES
    cdef double* bound = tau + QUERIES
    cdef double* norm2 = bound + QUERIES
    cdef const double* q
    cdef double scale = 1
    cdef bint by_norm = metrics.code == COSINE or metrics.code == DOT
    if not all_finite(raw.query, n * d):
        return FASTCLF_BAD_VALUE
    for query in range(n):
        q = raw.query + query * d
        tau[query] = bound[query] = INFINITY
        if by_norm and measure_norm(metrics.code, q, d, norm2 + query, error + query, &scale) != FASTCLF_OK:
            return FASTCLF_BAD_VALUE
        for j in range(d):
            screen[query * d + j] = <floating> (q[j] / scale if by_norm else q[j])
        if not by_norm:
            error[query] = rounding(metrics.code, q, screen + query * d, d)
    for query in range(n, padded):
        bound[query] = -1
        for j in range(d):
            screen[query * d + j] = 0
    for j in range(n * raw.k):
        raw.distance[j] = INFINITY
        raw.index[j] = PY_SSIZE_T_MAX
    metrics.cosine.query_norm2 = norm2
    s.d, s.n_rows, s.n_queries, s.k = d, model.neighbors.n_rows, n, raw.k
    s.query, s.screen_query, s.query_error, s.tau, s.bound = raw.query, screen, error, tau, bound
    s.distance, s.index = raw.distance, raw.index
    s.allowed, s.self_row = model.neighbors.allowed, NULL
    s.n_hits = s.capacity = s.n_waiting = 0
    return FASTCLF_OK


cdef inline const metrics_t* metrics_of(const model_t* model) noexcept nogil:
    return <const metrics_t*> model.neighbors.metrics
