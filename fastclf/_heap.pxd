# The k smallest pairs (distance, index) so far, as a bounded max-heap in two parallel arrays.
#
# Pairs are ordered by distance, then by index, so that the content of a heap does not depend on the order of arrival.
# Invariant: (distance[0], index[0]) is the largest pair in the heap, and no pair is larger than its parent at
# (i - 1) // 2. A heap starts full of (inf, PY_SSIZE_T_MAX), which every real pair replaces.


cdef inline bint precedes(double a, Py_ssize_t i, double b, Py_ssize_t j) noexcept nogil:
    return a < b or (a == b and i < j)


cdef inline void sift_down(
    double* distance, Py_ssize_t* index, Py_ssize_t size, double a, Py_ssize_t i
) noexcept nogil:
    """Replace the top of a heap of `size` pairs by the pair (a, i), which then moves down to its place."""
    cdef Py_ssize_t hole = 0, child = 1
    while child < size:
        if child + 1 < size and precedes(distance[child], index[child], distance[child + 1], index[child + 1]):
            child += 1
        if not precedes(a, i, distance[child], index[child]):
            break
        distance[hole] = distance[child]
        index[hole] = index[child]
        hole = child
        child = 2 * hole + 1
    distance[hole] = a
    index[hole] = i


cdef inline bint push(double* distance, Py_ssize_t* index, Py_ssize_t k, double a, Py_ssize_t i) noexcept nogil:
    """Keep the pair (a, i) if it is among the k smallest pairs so far; returns whether the pair is kept."""
    if not precedes(a, i, distance[0], index[0]):
        return False
    sift_down(distance, index, k, a, i)
    return True


cdef inline void sort(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil:
    """Turn the heap of pairs into a list in ascending order, in place."""
    cdef Py_ssize_t last, i
    cdef double a
    for last in range(k - 1, 0, -1):
        a = distance[last]
        i = index[last]
        distance[last] = distance[0]
        index[last] = index[0]
        sift_down(distance, index, last, a, i)
