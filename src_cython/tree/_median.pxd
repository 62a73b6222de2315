# The weighted median of numbers that are added one by one, in O(log n) each, and the sum of distances to the median.
#
# There are two heaps, each with its smallest key on top. `low` has the least numbers, with keys -y: as few as have half
# of the total weight or more. `high` has the larger numbers y, with keys y.
from libc.math cimport fabs

ctypedef struct heap_t:
    double* keys
    double* weights
    Py_ssize_t n
    # weight: the sum of the weights of the heap's numbers; total: the sum of weight times key, where the key is y or -y
    double weight, total

ctypedef struct median_t:
    heap_t low, high


cdef inline void heap_push(heap_t* h, double key, double weight) noexcept nogil:
    cdef Py_ssize_t i = h.n, parent
    h.n += 1
    h.weight += weight
    h.total += weight * key
    while i > 0:
        parent = (i - 1) >> 1
        if h.keys[parent] <= key:
            break
        h.keys[i], h.weights[i] = h.keys[parent], h.weights[parent]
        i = parent
    h.keys[i], h.weights[i] = key, weight


cdef inline void heap_move(heap_t* h, heap_t* other) noexcept nogil:
    """Move the top of one heap of a running median to the other heap, whose keys have the opposite sign."""
    cdef double key = h.keys[0], weight = h.weights[0], last, last_weight
    cdef Py_ssize_t i = 0, child
    h.n -= 1
    h.weight -= weight
    h.total -= weight * key
    last, last_weight = h.keys[h.n], h.weights[h.n]
    while 2 * i + 1 < h.n:
        child = 2 * i + 1
        child += child + 1 < h.n and h.keys[child + 1] < h.keys[child]
        if last <= h.keys[child]:
            break
        h.keys[i], h.weights[i] = h.keys[child], h.weights[child]
        i = child
    h.keys[i], h.weights[i] = last, last_weight
    heap_push(other, -key, weight)


cdef inline void median_start(median_t* m, double* scratch, Py_ssize_t n) noexcept nogil:
    """Start a running median without numbers; scratch: space for 4 n doubles, if at most n numbers will be added."""
    m.low.keys, m.low.weights, m.high.keys, m.high.weights = scratch, scratch + n, scratch + 2 * n, scratch + 3 * n
    m.low.n = m.high.n = 0
    m.low.weight = m.high.weight = m.low.total = m.high.total = 0


cdef inline void median_add(median_t* m, double y, double weight) noexcept nogil:
    if m.low.n > 0 and y > -m.low.keys[0]:
        heap_push(&m.high, y, weight)
    else:
        heap_push(&m.low, -y, weight)
    while m.high.n > 0 and m.low.weight < m.high.weight:
        heap_move(&m.high, &m.low)
    while m.low.n > 1 and m.low.weight - m.low.weights[0] >= m.high.weight + m.low.weights[0]:
        heap_move(&m.low, &m.high)


cdef inline double median_of(const median_t* m) noexcept nogil:
    """The weighted median of the added numbers; with half of the weight on each side of a gap, its middle."""
    if m.high.n > 0 and m.low.weight == m.high.weight:
        return (m.high.keys[0] - m.low.keys[0]) / 2
    return -m.low.keys[0]


cdef inline double median_loss(const median_t* m) noexcept nogil:
    """The sum over the added numbers of the weight times the distance from the median."""
    cdef double middle = -m.low.keys[0]
    return fabs(m.high.total + m.low.total + middle * (m.low.weight - m.high.weight))
