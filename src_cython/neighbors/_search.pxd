# The state of one thread's search for a block of queries: for each query the k nearest rows so far, or the hits, all
# rows within a radius.
#
# A kernel that computes a distance calls `take`, which keeps the row if it is near. A kernel that screens rows leaves
# this to `_measure.pxd`, which also computes the distance and lowers the bound of the screen.
from cython cimport floating
from libc.math cimport isnan

from _vector cimport require
from fastclf._heap cimport push

ctypedef struct search_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    Py_ssize_t n_queries
    const double* query           # (n_queries, d): the queries, from which exact distances are computed
    # (n_queries, d): the queries, rounded to X's type, for screens (approximate distances); padded to a multiple of 4
    # rows
    const void* screen_query
    # (n_queries,): the distance of each query from its copy rounded to X's type; for the metric dot the query's norm
    const double* query_error
    double* tau                   # (n_queries,): tau, the distance beyond which a row is no neighbour of the query
    # (n_queries,): an upper bound of the screens (approximate distances) of rows at distance tau or less; -1 for
    # padding queries, so that they take no row
    double* bound
    Py_ssize_t k                  # the number of neighbours of each query; 0: all rows within the query's radius
    double* distance              # (n_queries, k): the distances of each query's k nearest rows so far, a heap
    Py_ssize_t* index             # (n_queries, k): the row numbers of each query's k nearest rows so far
    const unsigned char* allowed  # (n_rows,): 1 for each row that may be found; NULL: all rows may be found
    # (n_queries,): the number of the row that each query is and must not find; NULL: queries are no rows of X
    const Py_ssize_t* self_row
    Py_ssize_t* hit_query         # (capacity,): the query number of each hit, a row found within the query's radius
    Py_ssize_t* hit_row           # (capacity,): the row number of each hit, a row found within the query's radius
    # (capacity,): the distance of each hit, a row found within the query's radius, from the query
    double* hit_distance
    Py_ssize_t n_hits
    Py_ssize_t capacity
    # the number of (row, query) pairs that passed a quick test and whose distances are not yet computed
    Py_ssize_t n_waiting
    Py_ssize_t waiting_query[4]
    Py_ssize_t waiting_row[4]


cdef inline bint take(search_t* s, double distance, Py_ssize_t row, Py_ssize_t query) noexcept nogil:
    """Add a row to the query's nearest rows or hits; returns whether the distance of its k-th nearest row fell."""
    cdef Py_ssize_t k = s.k
    require(0 <= row < s.n_rows and 0 <= query < s.n_queries and not isnan(distance))
    if not distance <= s.tau[query]:
        return False
    if (s.self_row != NULL and s.self_row[query] == row) or (s.allowed != NULL and not s.allowed[row]):
        return False
    if k == 0:
        require(s.n_hits < s.capacity)
        s.hit_query[s.n_hits] = query
        s.hit_row[s.n_hits] = row
        s.hit_distance[s.n_hits] = distance
        s.n_hits += 1
    elif push(s.distance + query * k, s.index + query * k, k, distance, row):
        if s.distance[query * k] < s.tau[query]:
            s.tau[query] = s.distance[query * k]
            return True
    return False


cdef inline int fill_search(search_t* s, Py_ssize_t n_rows, state, floating like) except -1:
    """Fill in a search_t from `state`, a Pass of `fastclf/neighbors/scan.py` or a Walk of `kdtree.py`."""
    cdef const double[:, ::1] query = state.queries.query
    cdef const floating[:, ::1] screen_query = state.queries.screen_query
    cdef const double[::1] query_error = state.queries.query_error
    cdef double[::1] bound = state.bound
    s.d = query.shape[1]
    s.query = &query[0, 0]
    s.screen_query = &screen_query[0, 0]
    s.query_error = &query_error[0]
    s.bound = &bound[0]
    return fill_found(s, n_rows, query.shape[0], state)


cdef inline int fill_found(search_t* s, Py_ssize_t n_rows, Py_ssize_t n_queries, state) except -1:
    """Fill in the fields of a search_t that `take` reads.

    state.search is a Search, and state.found is Heaps, of `fastclf/neighbors/search.py`, or Hits, of `hits.py`.
    """
    cdef double[::1] tau = state.found.tau
    cdef double[:, ::1] distance
    cdef Py_ssize_t[:, ::1] index
    cdef Py_ssize_t[::1] hit_query, hit_row
    cdef double[::1] hit_distance
    cdef const unsigned char[::1] allowed = state.search.allowed
    cdef const Py_ssize_t[::1] self_row = state.search.self_row
    s.n_rows = n_rows
    s.n_queries = n_queries
    s.tau = &tau[0]
    s.allowed = NULL
    if allowed is not None:
        s.allowed = &allowed[0]
    s.self_row = NULL
    if self_row is not None:
        s.self_row = &self_row[0]
    s.n_hits = s.capacity = s.n_waiting = 0
    s.k = state.found.k
    if s.k:
        distance = state.found.distance
        index = state.found.index
        s.distance = &distance[0, 0]
        s.index = &index[0, 0]
    else:
        hit_query = state.found.query
        hit_row = state.found.row
        hit_distance = state.found.distance
        s.capacity = hit_row.shape[0]
        s.hit_query = &hit_query[0]
        s.hit_row = &hit_row[0]
        s.hit_distance = &hit_distance[0]
    return 0
