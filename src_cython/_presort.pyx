# Each column of X as a sorted list of items, one number a cell:
#
#     item = rank << (row_bits + class_bits) | class << row_bits | row
#
# rank numbers the distinct values of the column in ascending order; -0.0 is 0.0, NaN has the largest rank there is. The
# values of a categorical column are whole numbers, and are the ranks. Sorted by keys, unsigned integers in the order of
# the floats: 32 bits of key above 32 of row, radix 2^11 from the lowest digit, digits that are all the same left out.
# Of a float64 the upper half is sorted first and then, where those are equal, the lower half.
from cython cimport floating
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    DIGIT = 2048
    BLOCK = 8  # columns that are read at a time: a row of X is brought into the cache once for them
    SHORT = 48  # equal upper halves up to so many are sorted by insertion


cdef inline uint64_t key_of(floating x) noexcept nogil:
    """The float as an unsigned integer in the same order; of NaN all bits are set."""
    cdef floating value = x + 0
    cdef uint32_t u = 0
    cdef uint64_t v = 0
    if value != value:
        return 0xFFFFFFFF if floating is float else ~<uint64_t> 0
    if floating is float:
        memcpy(&u, &value, 4)
        return u ^ (-(u >> 31) | <uint32_t> 0x80000000)
    else:
        memcpy(&v, &value, 8)
        return v ^ (-(v >> 63) | <uint64_t> 0x8000000000000000)


cdef void sort_upper(uint64_t* items, Py_ssize_t n, uint64_t* scratch, uint32_t* counts) noexcept nogil:
    """Sort by the upper 32 bits, stably; `counts` has room for 3 * DIGIT."""
    cdef uint64_t* source = items
    cdef uint64_t* target = scratch
    cdef uint64_t item
    cdef uint32_t* count
    cdef uint32_t total, here
    cdef int digit, shift
    cdef Py_ssize_t i
    memset(counts, 0, 3 * DIGIT * sizeof(uint32_t))
    for i in range(n):
        item = items[i]
        counts[item >> 32 & 2047] += 1
        counts[DIGIT + (item >> 43 & 2047)] += 1
        counts[2 * DIGIT + (item >> 54)] += 1
    for digit in range(3):
        shift = 32 + 11 * digit
        count = counts + digit * DIGIT
        if count[items[0] >> shift & 2047] == n:
            continue
        total = 0
        for i in range(DIGIT):
            here = count[i]
            count[i] = total
            total += here
        for i in range(n):
            item = source[i]
            here = item >> shift & 2047
            target[count[here]] = item
            count[here] += 1
        source, target = target, source
    if source != items:
        memcpy(items, source, n * sizeof(uint64_t))


cdef void sort_lower(
    uint64_t* items, Py_ssize_t n, const uint64_t* keys, uint64_t* scratch, uint32_t* counts
) noexcept nogil:
    """Sort runs of equal upper halves by the lower half of their keys."""
    cdef Py_ssize_t start = 0, stop, i, j
    cdef uint64_t item
    while start < n:
        stop = start + 1
        while stop < n and (items[stop] ^ items[start]) >> 32 == 0:
            stop += 1
        if stop - start > 1:
            for i in range(start, stop):
                items[i] = keys[<uint32_t> items[i]] << 32 | <uint32_t> items[i]
            if stop - start > SHORT:
                sort_upper(items + start, stop - start, scratch, counts)
            else:
                for i in range(start + 1, stop):
                    item = items[i]
                    j = i
                    while j > start and items[j - 1] > item:
                        items[j] = items[j - 1]
                        j -= 1
                    items[j] = item
        start = stop


cdef void sort_columns(
    const floating* X, Py_ssize_t d, const Py_ssize_t* rows, Py_ssize_t n, const int32_t* codes,
    const int32_t* n_codes, int row_bits, int rank_shift, Py_ssize_t first, Py_ssize_t stop, uint64_t* items,
    uint64_t* keys, uint64_t* scratch, uint32_t* counts
) noexcept nogil:
    cdef Py_ssize_t block = first, end, f, i
    cdef const floating* x
    cdef uint64_t* column
    cdef uint64_t rank, row, key, last, shown, missing = 0xFFFFFFFF if floating is float else ~<uint64_t> 0
    cdef bint categorical
    while block < stop:
        end = min(block + <Py_ssize_t> BLOCK, stop)
        for i in range(n):
            x = X + (i if rows == NULL else rows[i]) * d
            for f in range(block, end):
                items[f * n + i] = key_of(x[f])
        for f in range(block, end):
            column = items + f * n
            if floating is float:
                for i in range(n):
                    column[i] = column[i] << 32 | <uint64_t> i
                sort_upper(column, n, scratch, counts)
            else:
                memcpy(keys, column, n * sizeof(uint64_t))
                for i in range(n):
                    column[i] = keys[i] >> 32 << 32 | <uint64_t> i
                sort_upper(column, n, scratch, counts)
                sort_lower(column, n, keys, scratch, counts)
            rank = 0
            last = 0
            categorical = n_codes != NULL and n_codes[f] > 0
            for i in range(n):
                row = <uint32_t> column[i]
                if floating is float:
                    key = column[i] >> 32
                else:
                    key = keys[row]
                rank += i > 0 and key != last
                last = key
                shown = rank
                if key == missing:
                    shown = ~<uint64_t> 0 >> rank_shift
                elif categorical:
                    shown = <uint64_t> X[(row if rows == NULL else <uint64_t> rows[row]) * d + f]
                column[i] = shown << rank_shift | (<uint64_t> codes[row] << row_bits if codes != NULL else 0) | row
        block = end


def sort(const floating[:, ::1] X, const Py_ssize_t[::1] rows, const int32_t[::1] codes, const int32_t[::1] n_codes,
         int row_bits, int rank_shift, Py_ssize_t first, Py_ssize_t stop, uint64_t[:, ::1] items,
         uint64_t[:, ::1] scratch, uint32_t[::1] counts):
    """Write the lists of columns [first, stop) of X[rows] (None: of all rows) to items[first:stop]."""
    cdef Py_ssize_t n = items.shape[1]
    with nogil:
        sort_columns(
            &X[0, 0], X.shape[1], NULL if rows is None else &rows[0], n, NULL if codes is None else &codes[0],
            NULL if n_codes is None else &n_codes[0], row_bits, rank_shift, first, stop, &items[0, 0],
            &scratch[scratch.shape[0] - 1, 0], &scratch[0, 0], &counts[0],
        )


def keep(const uint64_t[:, ::1] items, const uint8_t[::1] kept, uint64_t row_mask, Py_ssize_t first, Py_ssize_t stop,
         uint64_t[:, ::1] items_out):
    """Write the items of the rows that are kept, in their order."""
    cdef Py_ssize_t f, i, o, n = items_out.shape[1]
    with nogil:
        for f in range(first, stop):
            o = 0
            for i in range(items.shape[1]):
                if o == n:
                    break
                items_out[f, o] = items[f, i]
                o += kept[items[f, i] & row_mask]
