# Each column of X as a sorted list of items, one number a cell:
#
#     item = rank << (row_bits + class_bits) | class << row_bits | row
#
# rank numbers the distinct values of the column in ascending order; -0.0 is 0.0, NaN has the largest rank there is. The
# values of a categorical column are whole numbers, and are the ranks. Sorted by keys, unsigned integers in the order of
# the floats: 32 bits of key above 32 of row, radix 2^11 from the lowest digit, digits that are all the same left out.
# Of a float64 the upper half is sorted first and then, where those are equal, the lower half.
#
# A list may leave the rows of a common value out, which costs nothing then: half of a picture's pixels are black.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tree._growth cimport growth_t, length_of, rank_of, row_of, same_value, set_length
from _vector cimport prefetch

cdef enum:
    DIGIT = 2048
    SAMPLE = 64
    AHEAD = 16  # rows, of X in memory, that are each in another page
    SHORT = 48  # equal upper halves up to so many are sorted by insertion

cdef uint32_t FIRST = <uint32_t> 1 << 31  # beside a row, of which there are fewer


cdef void fill_bits(growth_t* g, int row_bits, int rank_shift) noexcept nogil:
    g.row_bits, g.rank_shift = row_bits, rank_shift
    g.row_mask, g.missing = (<uint64_t> 1 << row_bits) - 1, ~<uint64_t> 0 >> rank_shift


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


cdef inline uint64_t upper_key(floating x) noexcept nogil:
    return key_of(x) if floating is float else key_of(x) >> 32


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
    uint64_t* items, Py_ssize_t n, const double* x, uint64_t* scratch, uint32_t* counts
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
                items[i] = key_of(x[<uint32_t> items[i]]) << 32 | <uint32_t> items[i]
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


cdef bint is_repeated(const floating* x, Py_ssize_t n, floating* value_out) noexcept nogil:
    """The most frequent of SAMPLE values, evenly spaced; whether it is there twice."""
    cdef Py_ssize_t step = max(n // SAMPLE, <Py_ssize_t> 1), i, j, count, most = 0
    n = min(n, <Py_ssize_t> SAMPLE)
    for i in range(n):
        if n - i <= most:
            break
        count = 0
        for j in range(i, n):
            count += x[j * step] == x[i * step]
        if count > most:
            most, value_out[0] = count, x[i * step]
    return most > 1


cdef Py_ssize_t fill_column(
    const floating* x, Py_ssize_t n, bint leave_out, Py_ssize_t least, floating* value_out, uint64_t* column
) noexcept nogil:
    """Write the rows below the upper halves of their keys, without those of a value that more than `least` have.

    Returns how many are written. All are where some are missing.
    """
    cdef Py_ssize_t i, o = 0, n_equal = 0
    cdef bint lacks = False
    if leave_out and is_repeated(x, n, value_out):
        for i in range(n):
            n_equal += x[i] == value_out[0]
            lacks |= x[i] != x[i]
    if n_equal <= least or lacks:
        for i in range(n):
            column[i] = upper_key(x[i]) << 32 | <uint64_t> i
        return n
    for i in range(n):
        if o == n - n_equal:
            break
        column[o] = upper_key(x[i]) << 32 | <uint64_t> i
        o += x[i] != value_out[0]
    return o


cdef void sort_columns(
    const floating* X, Py_ssize_t d, const Py_ssize_t* rows, Py_ssize_t n, const int32_t* codes,
    const int32_t* n_codes, growth_t* g, Py_ssize_t first, Py_ssize_t stop, Py_ssize_t least, int32_t* common,
    uint64_t* items, floating* values, Py_ssize_t width, uint64_t* scratch, uint32_t* counts
) noexcept nogil:
    cdef Py_ssize_t block = first, end, f, i, ahead, length
    cdef const floating* x
    cdef uint64_t* column
    cdef uint64_t row, key, last, shown, n_ranks, left_out, missing = 0xFFFFFFFF if floating is float else ~<uint64_t> 0
    cdef floating value = 0
    cdef bint categorical, waiting
    while block < stop:
        end = min(block + width, stop)
        for i in range(n):
            ahead = min(i + AHEAD, n - 1)
            x = X + (ahead if rows == NULL else rows[ahead]) * d
            for f in range(block, end, 8):
                prefetch(x + f)
            prefetch(x + end - 1)
            x = X + (i if rows == NULL else rows[i]) * d
            for f in range(block, end):
                values[(f - block) * n + i] = x[f]
        for f in range(block, end):
            column = items + f * n
            x = values + (f - block) * n
            categorical = n_codes != NULL and n_codes[f] > 0
            length = fill_column(x, n, common != NULL and not categorical, least, &value, column)
            left_out = key_of(value)
            waiting = length < n
            if length:
                sort_upper(column, length, scratch, counts)
            if floating is double:
                sort_lower(column, length, x, scratch, counts)
            n_ranks = 0
            last = 0
            if common != NULL:
                common[f] = -1
            for i in range(length):
                row = <uint32_t> column[i]
                if floating is float:
                    key = column[i] >> 32
                else:
                    key = key_of(x[row])
                if i == 0 or key != last:
                    if waiting and key > left_out:
                        common[f] = <int32_t> n_ranks
                        waiting = False
                        n_ranks += 1
                    n_ranks += 1
                last = key
                shown = n_ranks - 1
                if key == missing:
                    shown = g.missing
                elif categorical:
                    shown = <uint64_t> x[row]
                column[i] = (
                    shown << g.rank_shift | (<uint64_t> codes[row] << g.row_bits if codes != NULL else 0) | row
                )
            if waiting:
                common[f] = <int32_t> n_ranks
            if length < n:
                i = 0
                while x[i] != value:
                    i += 1
                common[d + f] = <int32_t> i
                set_length(g, column, n, length)
        block = end


def sort(const floating[:, ::1] X, const Py_ssize_t[::1] rows, const int32_t[::1] codes, const int32_t[::1] n_codes,
         int row_bits, int rank_shift, Py_ssize_t first, Py_ssize_t stop, Py_ssize_t least, int32_t[:, ::1] common_out,
         uint64_t[:, ::1] items, floating[:, ::1] values, uint64_t[::1] scratch, uint32_t[::1] counts):
    """Write the lists of columns [first, stop) of X[rows] (None: of all rows) to items[first:stop].

    common_out: of each feature the rank of a value that more than `least` rows have, which its list leaves out, -1
    where there is none; and a row that has it. None: no row is left out. So many columns are read at a time as
    `values` has room for: a row of X is brought into the cache once for them.
    """
    cdef Py_ssize_t n = items.shape[1]
    cdef growth_t g
    fill_bits(&g, row_bits, rank_shift)
    with nogil:
        sort_columns(
            &X[0, 0], X.shape[1], NULL if rows is None else &rows[0], n, NULL if codes is None else &codes[0],
            NULL if n_codes is None else &n_codes[0], &g, first, stop, least,
            NULL if common_out is None else &common_out[0, 0], &items[0, 0], &values[0, 0], values.shape[0],
            &scratch[0], &counts[0],
        )


def list_rows(const int32_t[::1] codes, int row_bits, uint64_t[::1] items_out):
    """Write a list of all rows."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(items_out.shape[0]):
            items_out[i] = (0 if codes is None else <uint64_t> codes[i] << row_bits) | <uint64_t> i


def pack(const uint64_t[:, ::1] items, int32_t[:, ::1] common, int row_bits, int rank_shift, Py_ssize_t first,
         Py_ssize_t stop, uint32_t[:, ::1] packed_out):
    """Write of lists [first, stop) the rows, with FIRST where one's value is not that of the row before.

    The last of a list that leaves rows out is its length. common: ranks are changed to those without gaps.
    """
    cdef growth_t g
    cdef Py_ssize_t f, i, n = items.shape[1], length
    cdef int32_t n_below
    cdef uint64_t last
    cdef bint is_short
    fill_bits(&g, row_bits, rank_shift)
    with nogil:
        for f in range(first, stop):
            is_short = common is not None and common[0, f] >= 0
            length = length_of(&g, &items[f, 0], n) if is_short else n
            last = ~items[f, 0]
            n_below = 0
            for i in range(length):
                packed_out[f, i] = <uint32_t> row_of(&g, items[f, i])
                if not same_value(&g, items[f, i], last):
                    packed_out[f, i] |= FIRST
                    n_below += is_short and rank_of(&g, items[f, i]) < <uint64_t> common[0, f]
                last = items[f, i]
            if is_short:
                packed_out[f, n - 1] = <uint32_t> length
                common[0, f] = n_below


cdef Py_ssize_t unpack_list(
    const uint32_t* packed, Py_ssize_t length, const int64_t* tags, const floating* x, Py_ssize_t d,
    const Py_ssize_t* rows, bint categorical, int64_t common, const growth_t* g, uint64_t* items, Py_ssize_t n
) noexcept nogil:
    """Write the items of the rows that have a tag, n at most; x: the column. Returns how many."""
    cdef Py_ssize_t i, row, o = 0, last = length - 1
    cdef int64_t n_values = 0
    cdef uint64_t rank = 0
    cdef floating value
    while last > 0 and packed[last] & FIRST == 0:
        last -= 1
    for i in range(length):
        if o == n:
            break
        row = packed[i] & ~FIRST
        if packed[i] & FIRST:
            n_values += n_values == common
            rank = n_values
            n_values += 1
            if categorical or i == last:
                value = x[(row if rows == NULL else rows[row]) * d]
                if value != value:
                    rank = g.missing
                elif categorical:
                    rank = <uint64_t> value
        items[o] = rank << g.rank_shift | <uint64_t> tags[row]
        o += tags[row] >= 0
    return o


cdef int32_t row_like(
    const floating* x, Py_ssize_t d, const Py_ssize_t* rows, const int64_t* tags, Py_ssize_t n, floating value,
    const growth_t* g
) noexcept nogil:
    """The first that has a tag and the value in column x, as the tag numbers it; 0 if none has."""
    cdef Py_ssize_t i
    for i in range(n):
        if tags[i] >= 0 and x[(i if rows == NULL else rows[i]) * d] == value:
            return <int32_t> row_of(g, <uint64_t> tags[i])
    return 0


def unpack(const uint32_t[:, ::1] packed, int32_t[:, ::1] common, const int64_t[::1] tags,
           const floating[:, ::1] X, const Py_ssize_t[::1] rows, const int32_t[::1] n_codes, int row_bits,
           int rank_shift, Py_ssize_t first, Py_ssize_t stop, uint64_t[:, ::1] items_out):
    """Write lists [first, stop) of X[rows] (None: of all rows) again, of the rows that have a tag.

    tags: of each row what its items have below the rank, -1 where there is none to be. common: the rows that have a
    common value are changed to some of these.
    """
    cdef growth_t g
    cdef Py_ssize_t f, row, n = items_out.shape[1], d = X.shape[1], length
    cdef const Py_ssize_t* all_rows = NULL if rows is None else &rows[0]
    cdef bint is_short
    fill_bits(&g, row_bits, rank_shift)
    with nogil:
        for f in range(first, stop):
            is_short = common is not None and common[0, f] >= 0
            length = packed[f, packed.shape[1] - 1] if is_short else packed.shape[1]
            length = unpack_list(
                &packed[f, 0], length, &tags[0], &X[0, f], d, all_rows, n_codes is not None and n_codes[f] > 0,
                common[0, f] if is_short else -1, &g, &items_out[f, 0], n,
            )
            if is_short:
                set_length(&g, &items_out[f, 0], n, length)
                row = common[1, f]
                common[1, f] = row_like(
                    &X[0, f], d, all_rows, &tags[0], tags.shape[0], X[row if rows is None else rows[row], f], &g
                )
