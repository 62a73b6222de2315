# The search among distances that the user has computed: a matrix with a row for each query and a column for each
# training row.
from cython cimport floating

from neighbors._search cimport fill_found, search_t, take


def scan(const floating[:, ::1] distance, Py_ssize_t start, Py_ssize_t stop, state):
    """Search rows start to stop; `state` is a PrecomputedPass of `fastclf/neighbors/precomputed.py`.

    `distance` has shape (n_queries, n_rows). Returns the number of hits.
    """
    cdef search_t s
    cdef Py_ssize_t row, query
    fill_found(&s, distance.shape[1], distance.shape[0], state)
    with nogil:
        for query in range(s.n_queries):
            for row in range(start, stop):
                if distance[query, row] <= s.tau[query]:
                    take(&s, distance[query, row], row, query)
    return s.n_hits
