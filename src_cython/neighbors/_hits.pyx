# The hits of a search by radius, which are the rows within the radius of each query: their order, and their classes.
#
# in:      query and row numbers of hits, and their distances, as the kernels of an index found them, in any order
# out:     rows and distances, those of one query after those of the query before it, by ascending row; or the number of
#          hits of each class


def count(const unsigned short[::1] query, Py_ssize_t[::1] n_hits):
    """Add to n_hits[q] the number of hits of query q."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(query.shape[0]):
            n_hits[query[i]] += 1


def deal(
    const unsigned short[::1] query, const Py_ssize_t[::1] row, const double[::1] distance, Py_ssize_t[::1] places,
    Py_ssize_t[::1] rows_out, double[::1] distances_out,
):
    """Write each hit to the place of its query, which then moves on by one; `distances_out` may be None."""
    cdef Py_ssize_t i, place
    cdef bint far = distances_out is not None
    with nogil:
        for i in range(query.shape[0]):
            place = places[query[i]]
            places[query[i]] += 1
            rows_out[place] = row[i]
            if far:
                distances_out[place] = distance[i]


cdef inline void sort_hits(Py_ssize_t* rows, double* distances, Py_ssize_t n) noexcept nogil:
    """Sort the hits of a query by row, by insertions at smaller and smaller distances (Shell's sort)."""
    cdef Py_ssize_t gap = 1, i, j, row
    cdef double distance = 0
    while gap < n // 9:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, n):
            row, j = rows[i], i
            if distances != NULL:
                distance = distances[i]
            while j >= gap and rows[j - gap] > row:
                rows[j] = rows[j - gap]
                if distances != NULL:
                    distances[j] = distances[j - gap]
                j -= gap
            rows[j] = row
            if distances != NULL:
                distances[j] = distance
        gap //= 3


def sort(Py_ssize_t[::1] rows, double[::1] distances, const Py_ssize_t[::1] begins):
    """Sort the hits of each query, from begins[q] to begins[q + 1], by row; `distances` may be None."""
    cdef Py_ssize_t q, i
    cdef double* far = NULL
    with nogil:
        for q in range(begins.shape[0] - 1):
            for i in range(begins[q] + 1, begins[q + 1]):
                if rows[i] < rows[i - 1]:
                    if distances is not None:
                        far = &distances[begins[q]]
                    sort_hits(&rows[begins[q]], far, begins[q + 1] - begins[q])
                    break


def tally(
    const Py_ssize_t[::1] query, const Py_ssize_t[::1] row, const Py_ssize_t[:] codes, double[:, ::1] counts
):
    """Add 1 to counts[q, c] for each hit of query q whose row is of class c."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(query.shape[0]):
            counts[query[i], codes[row[i]]] += 1
