# Orders: the entries of sparse rows, counted and sorted by column, and the shuffle of NumPy's RandomState, cut into
# ranges.
#
# RandomState.shuffle keeps Python's lock for its whole run, 0.2 s for 3M rows, in which no thread can obey Ctrl-C. Here
# is the same loop with the same random numbers (Fisher, Yates; `random_interval` of numpy/random/src/legacy).
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort

ctypedef fused column_t:
    int32_t
    int64_t

# Sparse rows of at most this number of entries are sorted by insertion, longer ones by qsort.
cdef enum:
    FEW = 24

cdef struct entry_t:
    int64_t column
    int64_t place  # the place of the entry in its row before the row is sorted


def count_columns(const int32_t[::1] column, Py_ssize_t start, Py_ssize_t stop, int64_t[::1] count):
    """Add to count[j] how many of the entries [start, stop) of sparse rows are in column j."""
    cdef Py_ssize_t e
    with nogil:
        for e in range(start, stop):
            count[column[e]] += 1


cdef int compare(const void* a, const void* b) noexcept nogil:
    """Compare two entries by column, then by place, so that entries of the same column keep their order."""
    cdef const entry_t* x = <const entry_t*> a
    cdef const entry_t* y = <const entry_t*> b
    if x.column != y.column:
        return 1 if x.column > y.column else -1
    return 1 if x.place > y.place else -1


cdef void insert(column_t* column, floating* value, Py_ssize_t n) noexcept nogil:
    """Sort n entries of a sparse row by column, by insertion."""
    cdef Py_ssize_t i, j
    cdef column_t c
    cdef floating x
    for i in range(1, n):
        c = column[i]
        x = value[i]
        j = i
        while j > 0 and column[j - 1] > c:
            column[j] = column[j - 1]
            value[j] = value[j - 1]
            j -= 1
        column[j] = c
        value[j] = x


cdef bint ascends(const column_t* column, Py_ssize_t n) noexcept nogil:
    """Whether the columns of a row ascend; one may follow itself."""
    cdef Py_ssize_t i
    cdef bint found = True
    for i in range(1, n):
        found &= column[i - 1] <= column[i]
    return found


cdef bint descends(const column_t* column, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint found = True
    for i in range(1, n):
        found &= column[i - 1] > column[i]
    return found


cdef bint repeats(const column_t* column, Py_ssize_t n) noexcept nogil:
    """Whether a column follows itself."""
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(1, n):
        found |= column[i - 1] == column[i]
    return found


cdef bint sort_row(
    const column_t* column, const floating* value, Py_ssize_t n, entry_t* entries, column_t* column_out,
    floating* value_out
) noexcept nogil:
    """Write n entries of a sparse row, sorted by column; returns whether a column occurs twice.

    entries: scratch space for n entries.
    """
    cdef Py_ssize_t i
    if descends(column, n):  # rows whose columns descend are common: SciPy's product of sparse matrices often has them
        for i in range(n):
            column_out[i] = column[n - 1 - i]
        for i in range(n):
            value_out[i] = value[n - 1 - i]
        return False
    if n <= FEW or ascends(column, n):
        for i in range(n):
            column_out[i], value_out[i] = column[i], value[i]
        insert(column_out, value_out, n)
        return repeats(column_out, n)
    for i in range(n):
        entries[i].column, entries[i].place = column[i], i
    qsort(entries, n, sizeof(entry_t), compare)
    for i in range(n):
        column_out[i], value_out[i] = <column_t> entries[i].column, value[entries[i].place]
    return repeats(column_out, n)


def sort_rows(
    rows, const floating[::1] data, column_t[::1] indices_out, floating[::1] data_out, Py_ssize_t start,
    Py_ssize_t stop, char[::1] scratch
):
    """Write the entries of rows [start, stop) of a `Csr`, sorted by column; whether a column is twice in a row.

    Entries of the same column keep their order. scratch: 16 bytes for each entry of the longest row.
    """
    cdef const int64_t[::1] indptr = rows.indptr
    cdef const column_t[::1] indices = rows.indices
    cdef Py_ssize_t i, e, n, longest = scratch.shape[0] // <Py_ssize_t> sizeof(entry_t)
    cdef bint twice = False
    cdef entry_t* entries = <entry_t*> &scratch[0]
    for i in range(start, stop):
        if indptr[i] < 0 or indptr[i + 1] - indptr[i] > longest or indptr[i + 1] > indices.shape[0]:
            raise ValueError("indptr of a sparse matrix must ascend from 0 to the number of its indices: correct it")
    if min(data.shape[0], indices_out.shape[0], data_out.shape[0]) < indices.shape[0]:
        raise ValueError("a sparse matrix has fewer values (data) than column indices (indices): correct its arrays")
    with nogil:
        for i in range(start, stop):
            e, n = indptr[i], indptr[i + 1] - indptr[i]
            if n:
                twice |= sort_row(&indices[e], &data[e], n, entries, &indices_out[e], &data_out[e])
    return twice


cdef struct bitgen_t:  # of numpy/random/bitgen.h
    void* state
    uint64_t (*next_uint64)(void*) noexcept nogil
    uint32_t (*next_uint32)(void*) noexcept nogil
    double (*next_double)(void*) noexcept nogil
    uint64_t (*next_raw)(void*) noexcept nogil


cdef void shuffle_down(bitgen_t* bits, int64_t* x, uint64_t start, uint64_t stop) noexcept nogil:
    """For i = start, start - 1, ..., stop + 1 swap x[i] with one of x[0], ..., x[i]; numbers above i are refused."""
    cdef uint64_t i = start, j, mask = start
    cdef int shift = 1
    while shift < 64:
        mask |= mask >> shift
        shift *= 2
    while i > stop:
        while mask >> 1 >= i:  # the mask is the smallest 2^k - 1 that is at least i
            mask >>= 1
        while True:
            if i >> 32 == 0:
                j = bits.next_uint32(bits.state) & mask
            else:
                j = bits.next_uint64(bits.state) & mask
            if j <= i:
                break
        x[i], x[j] = x[j], x[i]
        i -= 1


def shuffle(generator, int64_t[::1] x, Py_ssize_t start, Py_ssize_t stop):
    """Take the steps of a shuffle of x for the entries start, start - 1, ..., stop + 1; 0 <= stop <= start < len(x).

    generator: the MT19937, or another bit generator, of a RandomState.
    """
    cdef bitgen_t* bits = <bitgen_t*> PyCapsule_GetPointer(generator.capsule, "BitGenerator")
    if not 0 <= stop <= start < x.shape[0]:
        raise ValueError("a shuffle is asked for entries that are not there")
    with generator.lock, nogil:
        shuffle_down(bits, &x[0], start, stop)
