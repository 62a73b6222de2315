# The metrics: the number and the parameters of each, and a struct that says by which metric to search. The distances
# are computed in `_distance.pxd`.

# The numbers of the metrics in kernels. `CODES` of `_scan.pyx` maps the metrics' names to these numbers.
cdef enum:
    EUCLIDEAN
    SQEUCLIDEAN
    MANHATTAN
    CHEBYSHEV
    HAMMING
    MINKOWSKI
    COSINE
    DOT

# Each metric is a separate struct type, so that each loop is compiled for one metric. The fields of a struct are the
# parameters of its metric.
ctypedef struct euclidean_t:
    bint squared

ctypedef struct manhattan_t:
    char none

ctypedef struct chebyshev_t:
    char none

ctypedef struct hamming_t:
    char none

ctypedef struct minkowski_t:
    double p
    const double* w          # (d,) a weight for each coordinate, or NULL for equal weights

ctypedef struct cosine_t:
    const double* norm2      # (n_rows,): the squared norm of each row of X
    const double* query_norm2

ctypedef struct dot_t:
    double largest_norm      # the largest norm of a row of X; a query's norm is in search_t.query_error

ctypedef fused metric_t:
    euclidean_t
    manhattan_t
    chebyshev_t
    hamming_t
    minkowski_t
    cosine_t
    dot_t

ctypedef struct metrics_t:
    int code
    euclidean_t euclidean
    manhattan_t manhattan
    chebyshev_t chebyshev
    hamming_t hamming
    minkowski_t minkowski
    cosine_t cosine
    dot_t dot


cdef inline int fill_metric(metrics_t* metrics, metric, const double[::1] query_norm2) except -1:
    """Fill in a metrics_t from a Metric of `fastclf/neighbors/metrics.py`, to whose arrays it points.

    For cosine, `query_norm2` has the squared norms of the queries; if it is None, the caller sets the pointer later.
    """
    cdef const double[::1] w = metric.w
    cdef const double[::1] norm2 = metric.norm2
    metrics.code = metric.code
    metrics.euclidean.squared = metrics.code == SQEUCLIDEAN
    metrics.minkowski.p = metric.p
    metrics.minkowski.w = NULL
    if w is not None:
        metrics.minkowski.w = &w[0]
    metrics.dot.largest_norm = metric.largest_norm
    metrics.cosine.norm2 = metrics.cosine.query_norm2 = NULL
    if norm2 is not None:
        metrics.cosine.norm2 = &norm2[0]
    if query_norm2 is not None:
        metrics.cosine.query_norm2 = &query_norm2[0]
    return 0
