# The choice of a working set: half of it the rows that violate most, of both sides, half the last that were chosen
# before.
from libc.stdint cimport int64_t

ctypedef struct heap_t:
    Py_ssize_t n
    Py_ssize_t most      # entries that it keeps, those of the largest keys, of equal keys those that came first
    double* key          # once it has that many a heap: the first is the next to go
    int64_t* row


cdef inline bint goes_before(const heap_t* heap, Py_ssize_t a, double key, int64_t row) noexcept nogil:
    """Whether entry a is to go before one of this key and row."""
    return heap.key[a] < key or (heap.key[a] == key and heap.row[a] > row)


cdef inline void sift(heap_t* heap, Py_ssize_t at) noexcept nogil:
    """Let the entry `at` sink to its place."""
    cdef Py_ssize_t child
    cdef double key = heap.key[at]
    cdef int64_t row = heap.row[at]
    while True:
        child = 2 * at + 1
        if child >= heap.n:
            break
        if child + 1 < heap.n and goes_before(heap, child + 1, heap.key[child], heap.row[child]):
            child += 1
        if not goes_before(heap, child, key, row):
            break
        heap.key[at], heap.row[at] = heap.key[child], heap.row[child]
        at = child
    heap.key[at], heap.row[at] = key, row


cdef inline void offer(heap_t* heap, double key, int64_t row) noexcept nogil:
    cdef Py_ssize_t at
    if heap.n == heap.most:
        if key > heap.key[0]:
            heap.key[0], heap.row[0] = key, row
            sift(heap, 0)
        return
    heap.key[heap.n], heap.row[heap.n] = key, row
    heap.n += 1
    if heap.n == heap.most:
        for at in range(heap.n // 2 - 1, -1, -1):
            sift(heap, at)


cdef inline Py_ssize_t gather_set(
    const heap_t* rise, const heap_t* fall, unsigned char* taken, int64_t* rows, Py_ssize_t n_before, Py_ssize_t most
) noexcept nogil:
    """The rows of both heaps in turn, then those that `rows` begins with, each once; in `rows`, `most` at most.

    taken: zeros, one for each row, and left so. rows: 2 most numbers.
    """
    cdef Py_ssize_t i, n = 0, first = most
    for i in range(n_before):
        rows[first + i] = rows[i]
    for i in range(max(rise.n, fall.n)):
        if i < rise.n and not taken[rise.row[i]]:
            taken[rise.row[i]] = 1
            rows[n] = rise.row[i]
            n += 1
        if i < fall.n and not taken[fall.row[i]]:
            taken[fall.row[i]] = 1
            rows[n] = fall.row[i]
            n += 1
    for i in range(n_before):
        if n == most:
            break
        if not taken[rows[first + i]]:
            taken[rows[first + i]] = 1
            rows[n] = rows[first + i]
            n += 1
    for i in range(n):
        taken[rows[i]] = 0
    return n
