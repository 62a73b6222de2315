# The choice of a working set: half of its rows are those that violate optimality most, among variables that may rise
# and among variables that may fall; the other half comes from the previous working set.
from libc.stdint cimport int64_t

# A list of the candidates for a working set whose keys are largest; the key of a row says how far its gradient violates
# optimality. The caller sets n to 0; `offer` changes n, key and row.
ctypedef struct heap_t:
    Py_ssize_t n         # the number of candidate rows on the list so far
    # the largest number of rows on the list; of rows with equal keys the row that was offered first stays
    Py_ssize_t most
    # (most,): the key of each row on the list, its gradient or minus its gradient; once the list is full, a heap with
    # the smallest key first
    double* key
    int64_t* row         # (most,): the number of the row with each key on the list


cdef inline bint goes_before(const heap_t* heap, Py_ssize_t a, double key, int64_t row) noexcept nogil:
    """Whether heap entry `a` ranks below an entry (key, row): by its key or, of equal keys, its larger row number."""
    return heap.key[a] < key or (heap.key[a] == key and heap.row[a] > row)


cdef inline void sift(heap_t* heap, Py_ssize_t at) noexcept nogil:
    """Move the entry at index `at` down the heap of keys, until no child of it has a smaller key."""
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
    """Add a row to the list of candidates; if the list is full, the row must replace one with a smaller key."""
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
    """Write the rows of both heaps in turn, then those of the set before, each row once; returns the number of rows.

    rows: of shape (2 most,); begins with the n_before rows of the set before, and gets the result. taken: of shape
    (n,), zeros before and after the call.
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
