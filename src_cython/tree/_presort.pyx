# Sorted lists of the columns of X. A list has an item, one integer, for each cell of its column:
#
#     item = rank << (row_bits + class_bits) | class << row_bits | row
#
# The rank numbers the distinct values of the column in ascending order; -0.0 equals 0.0, and NaN has the largest
# possible rank. The values of a categorical column are whole numbers, and are the ranks. A column is sorted by keys,
# which are unsigned integers in the order of the floats, by radix sort (11-bit digits, lowest first): the numbers that
# are sorted have the key in the upper 32 bits and the row in the lower. A digit that is the same in all keys is
# skipped. float64 columns are sorted by the upper halves of their keys; then each run of equal upper halves is sorted
# by the lower halves.
#
# A list may leave out the rows of a common value, as black is among the pixels of pictures; these rows cost nothing.
#
# The work on a column is a sequence of passes over its rows. It can be interrupted when its budget is spent, even
# within a pass, and resumed there, so that Ctrl-C need not wait for a column of any length.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tree._growth cimport growth_t, length_of, rank_of, row_of, same_value, set_bits, set_length
from _vector cimport prefetch

cdef enum:
    DIGIT = 2048
    SAMPLE = 64
    # the number of rows by which reads of X are prefetched, since the values of a column lie in another page of memory
    # for each row
    AHEAD = 16
    # a run of rows whose keys have equal upper halves is sorted by insertion up to this length, and by digits if it is
    # longer
    SHORT = 48

    # READ to RANKS number the passes that sort a column of X, in their order; the pass READ copies a block of columns
    # at once
    READ = 0
    # this pass counts the rows that have the column's most frequent value, to find out whether they can be omitted
    COUNT = 1
    # this pass lists the sort key and the row number of each row, except rows of a common value, which the list omits
    LIST = 2
    DIGITS = 3  # this pass counts how often each value of each digit occurs in the keys, for the radix sort
    # this pass sorts the keys of a column by their lowest digit, the first of three; MIDDLE and HIGH sort by the other
    # two
    LOW = 4
    MIDDLE = 5
    HIGH = 6
    BACK = 7  # this pass copies the radix-sorted keys to the column's list, if they have ended up in the scratch space
    LOWER = 8  # this pass, for float64, sorts runs of keys that have equal upper halves by the lower halves of the keys
    # this pass replaces the sorted keys of the column by items: the rank of the value, the class, and the row number
    RANKS = 9

# the bit, above all row numbers, by which `pack` marks the first row of each distinct value in a column's list
cdef uint32_t FIRST = <uint32_t> 1 << 31

ctypedef struct sorting_t:  # the state of a sort of the columns [column, stop) of X
    # n, d: the numbers of rows and columns of X; stop: the end of the range of columns to sort
    Py_ssize_t n, d, stop
    Py_ssize_t width  # the number of columns of X that are copied to contiguous memory at a time
    Py_ssize_t least  # a value is common, and its rows are omitted, if more than this number of rows have it
    const Py_ssize_t* rows  # (n,): the row numbers in X of the rows to sort; NULL: all rows
    const int32_t* codes  # (n,): the class of each row; NULL: items have no class
    # (d,): the number of each column's categories, 0 for a numeric column; NULL: all columns are numeric
    const int32_t* n_codes
    # (2, d): for each list, the rank of the value that it leaves out, or -1, and the number of a row that has the
    # value; NULL: no list leaves out a value
    int32_t* common
    # (d, n): the sorted list of each of d columns: an item (rank, class and row number) for each of n rows
    uint64_t* items
    uint64_t* scratch  # (n,): scratch space for the items of one list
    # (3, DIGIT): how often each of the DIGIT values of a digit occurs in the keys, for each of three digits
    uint32_t* counts
    # the masks and shifts by which the parts of an item are read, as fields of a growth_t; its other fields are not set
    growth_t g
    # the fields from `block` on are the progress of the sort, and change; the fields before `block` stay the same
    Py_ssize_t block, block_end  # the columns [block, block_end) of X are those that are copied to contiguous memory
    Py_ssize_t column  # the number of the column that is being sorted
    int step  # the pass that is under way in the sort of the column, by its number from READ to RANKS
    # place: the number of rows that the current pass has processed; todo: the number of all rows that it must process
    Py_ssize_t place, todo
    # length: the number of items of the column's list; n_equal: the number of the column's rows with the common value
    Py_ssize_t length, n_equal
    bint lacks  # whether the column has missing values
    # the most frequent value in a sample of the column, which may be common in the column; undefined unless `repeated`
    double value
    # whether a value occurs more than once in a sample of the column, so that it may be common enough to leave its rows
    # out of the sorted list
    bint repeated
    uint64_t* source  # the items that a pass of the radix sort reads
    # the items that a pass of the radix sort writes: the read items, sorted by one more digit
    uint64_t* target
    # in the pass RANKS, last: the key before the current one; n_ranks: the number of ranks, of distinct values, used so
    # far
    uint64_t last, n_ranks
    # in the pass RANKS: whether the key of the omitted common value, which also takes a rank, is still to come
    bint waiting


cdef inline uint64_t key_of(floating x) noexcept nogil:
    """The key of a float: an unsigned integer, in the same order as the floats; for NaN all bits are set."""
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


cdef bint is_repeated(const floating* x, Py_ssize_t n, double* value_out) noexcept nogil:
    """Write the most frequent of SAMPLE evenly spaced values of a column; returns whether it is repeated in them."""
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


cdef void read_rows(
    const sorting_t* s, const floating* X, floating* values, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Copy a block of columns of X to `values`; each cache line of a row is read once for all these columns."""
    cdef Py_ssize_t n = s.n, d = s.d, first = s.block, end = s.block_end, i, f, ahead
    cdef const Py_ssize_t* rows = s.rows
    cdef const floating* x
    for i in range(start, stop):
        ahead = min(i + AHEAD, n - 1)
        x = X + (ahead if rows == NULL else rows[ahead]) * d
        for f in range(first, end, 8):
            prefetch(x + f)
        prefetch(x + end - 1)
        x = X + (i if rows == NULL else rows[i]) * d
        for f in range(first, end):
            values[(f - first) * n + i] = x[f]


cdef void count_common(sorting_t* s, const floating* x, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t n_equal = 0, i
    cdef floating value = <floating> s.value
    cdef bint lacks = False
    for i in range(start, stop):
        n_equal += x[i] == value
        lacks |= x[i] != x[i]
    s.n_equal += n_equal
    s.lacks |= lacks


cdef void list_keys(sorting_t* s, const floating* x, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """List each row with the upper half of its key; rows of a common value are omitted unless values are missing."""
    cdef uint64_t* list = s.items + s.column * s.n
    cdef Py_ssize_t i, o = s.length, most = s.n - s.n_equal
    cdef floating value = <floating> s.value
    if s.n_equal == 0:
        for i in range(start, stop):
            list[i] = upper_key(x[i]) << 32 | <uint64_t> i
        s.length = stop
        return
    for i in range(start, stop):
        if o == most:
            break
        list[o] = upper_key(x[i]) << 32 | <uint64_t> i
        o += x[i] != value
    s.length = o


cdef void count_digits(
    const uint64_t* items, uint32_t* counts, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef uint64_t item
    cdef Py_ssize_t i
    for i in range(start, stop):
        item = items[i]
        counts[item >> 32 & 2047] += 1
        counts[DIGIT + (item >> 43 & 2047)] += 1
        counts[2 * DIGIT + (item >> 54)] += 1


cdef bint start_digit(uint32_t* count, uint64_t digit, Py_ssize_t n) noexcept nogil:
    """Replace the counts of a digit's values by the places of their first items after a radix sort by this digit.

    Returns False, and changes nothing, if all n items have the value `digit`, so that no sort by this digit is needed.
    """
    cdef uint32_t total = 0, here
    cdef Py_ssize_t i
    if count[digit] == n:
        return False
    for i in range(DIGIT):
        here = count[i]
        count[i] = total
        total += here
    return True


cdef void sort_by_digit(
    const uint64_t* source, uint64_t* target, uint32_t* count, int shift, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Do one stable pass of a radix sort: move each item to the next free place for its value of a digit."""
    cdef uint64_t item
    cdef uint32_t digit
    cdef Py_ssize_t i
    for i in range(start, stop):
        item = source[i]
        digit = item >> shift & 2047
        target[count[digit]] = item
        count[digit] += 1


cdef void sort_run(uint64_t* items, Py_ssize_t n, uint64_t* scratch, uint32_t* counts) noexcept nogil:
    """Sort items by their upper 32 bits; items in which these are equal keep their order."""
    cdef uint64_t* source = items
    cdef uint64_t* target = scratch
    cdef uint64_t item
    cdef Py_ssize_t i, j
    cdef int digit, shift
    if n <= SHORT:
        for i in range(1, n):
            item = items[i]
            j = i
            while j > 0 and items[j - 1] > item:
                items[j] = items[j - 1]
                j -= 1
            items[j] = item
        return
    memset(counts, 0, 3 * DIGIT * sizeof(uint32_t))
    count_digits(items, counts, 0, n)
    for digit in range(3):
        shift = 32 + 11 * digit
        if start_digit(counts + digit * DIGIT, items[0] >> shift & 2047, n):
            sort_by_digit(source, target, counts + digit * DIGIT, shift, 0, n)
            source, target = target, source
    if source != items:
        memcpy(items, source, n * sizeof(uint64_t))


cdef Py_ssize_t sort_lower(sorting_t* s, const double* x, Py_ssize_t start, Py_ssize_t least) noexcept nogil:
    """Sort runs of equal upper halves by the lower halves of their keys, in whole runs, until `least` rows are done.

    Returns the start of the next run.
    """
    cdef uint64_t* items = s.items + s.column * s.n
    cdef Py_ssize_t n = s.length, end = min(start + least, n), stop, i
    while start < end:
        stop = start + 1
        while stop < n and (items[stop] ^ items[start]) >> 32 == 0:
            stop += 1
        if stop - start > 1:
            for i in range(start, stop):
                items[i] = key_of(x[<uint32_t> items[i]]) << 32 | <uint32_t> items[i]
            sort_run(items + start, stop - start, s.scratch, s.counts)
        start = stop
    return start


cdef void write_ranks(sorting_t* s, const floating* x, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Replace the key of each row in a sorted list by the rank of its value and its class, read by the split search."""
    cdef uint64_t* list = s.items + s.column * s.n
    cdef uint64_t missing = 0xFFFFFFFF if floating is float else ~<uint64_t> 0, left_out = key_of(<floating> s.value)
    cdef uint64_t row, key, rank, last = s.last, n_ranks = s.n_ranks, missing_rank = s.g.missing
    cdef bint categorical = s.n_codes != NULL and s.n_codes[s.column] > 0, waiting = s.waiting
    cdef int row_bits = s.g.row_bits, rank_shift = s.g.rank_shift
    cdef const int32_t* codes = s.codes
    cdef Py_ssize_t i
    for i in range(start, stop):
        row = <uint32_t> list[i]
        if floating is float:
            key = list[i] >> 32
        else:
            key = key_of(x[row])
        if i == 0 or key != last:
            if waiting and key > left_out:
                s.common[s.column] = <int32_t> n_ranks
                waiting = False
                n_ranks += 1
            n_ranks += 1
        last = key
        rank = n_ranks - 1
        if key == missing:
            rank = missing_rank
        elif categorical:
            rank = <uint64_t> x[row]
        list[i] = rank << rank_shift | (<uint64_t> codes[row] << row_bits if codes != NULL else 0) | row
    s.last, s.n_ranks, s.waiting = last, n_ranks, waiting


cdef void end_list(sorting_t* s, const floating* x) noexcept nogil:
    """Finish a list that leaves out a common value: set its length, and record the value's rank and one of its rows."""
    cdef Py_ssize_t i = 0
    if s.common == NULL:
        return
    if s.length == s.n:
        s.common[s.column] = -1
        return
    if s.waiting:
        s.common[s.column] = <int32_t> s.n_ranks
    while x[i] != <floating> s.value:
        i += 1
    s.common[s.d + s.column] = <int32_t> i
    set_length(&s.g, s.items + s.column * s.n, s.n, s.length)


cdef Py_ssize_t start_pass(sorting_t* s, const floating* x) noexcept nogil:
    """Begin the pass `s.step` of a column's sort; returns the number of rows to process, 0 to skip the pass."""
    cdef uint64_t* items = s.items + s.column * s.n
    cdef bint numbers = s.n_codes == NULL or s.n_codes[s.column] == 0
    if s.step == READ:
        s.block, s.block_end = s.column, min(s.column + s.width, s.stop)
        return s.n
    if s.step == COUNT:
        s.n_equal = s.lacks = s.length = 0
        s.repeated = s.common != NULL and numbers and is_repeated(x, s.n, &s.value)
        return s.n if s.repeated else 0
    if s.step == LIST:
        if s.n_equal <= s.least or s.lacks:
            s.n_equal = 0
        return s.n
    if s.step == DIGITS:
        memset(s.counts, 0, 3 * DIGIT * sizeof(uint32_t))
        s.source, s.target = items, s.scratch
    elif s.step == BACK and s.source == items:
        return 0
    elif s.step == RANKS:
        s.last, s.n_ranks, s.waiting = 0, 0, s.length < s.n
    elif LOW <= s.step <= HIGH:
        if s.length == 0 or not start_digit(
            s.counts + (s.step - LOW) * DIGIT, items[0] >> (32 + 11 * (s.step - LOW)) & 2047, s.length
        ):
            return 0
    return s.length


cdef bint next_pass(sorting_t* s, const floating* values) noexcept nogil:
    """End the current pass of a column's sort, and begin the next pass; returns False if all columns are sorted."""
    cdef const floating* x = values + (s.column - s.block) * s.n
    if LOW <= s.step <= HIGH and s.todo > 0:
        s.source, s.target = s.target, s.source
    if s.step == RANKS:
        end_list(s, x)
        s.column += 1
        x += s.n
        s.step = COUNT if s.column < s.block_end else READ
    else:
        s.step += 1
        if floating is float and s.step == LOWER:
            s.step = RANKS
    s.place = s.todo = 0
    if s.column < s.stop:
        s.todo = start_pass(s, x)
    return s.column < s.stop


cdef bint advance(sorting_t* s, const floating* X, floating* values, Py_ssize_t budget) noexcept nogil:
    """Continue the sort of the columns over about `budget` rows; returns whether any column is left to sort."""
    cdef const floating* x
    cdef Py_ssize_t start, stop, cost
    while budget > 0:
        if s.place == s.todo:
            if not next_pass(s, values):
                return False
            continue
        x = values + (s.column - s.block) * s.n
        cost = s.block_end - s.block if s.step == READ else 1
        start, stop = s.place, min(s.place + (budget + cost - 1) // cost, s.todo)
        if s.step == READ:
            read_rows(s, X, values, start, stop)
        elif s.step == COUNT:
            count_common(s, x, start, stop)
        elif s.step == LIST:
            list_keys(s, x, start, stop)
        elif s.step == DIGITS:
            count_digits(s.source, s.counts, start, stop)
        elif s.step <= HIGH:
            sort_by_digit(
                s.source, s.target, s.counts + (s.step - LOW) * DIGIT, 32 + 11 * (s.step - LOW), start, stop
            )
        elif s.step == BACK:
            memcpy(s.target + start, s.source + start, (stop - start) * sizeof(uint64_t))
        elif s.step == LOWER:
            if floating is double:
                stop = sort_lower(s, x, start, stop - start)
        else:
            write_ranks(s, x, start, stop)
        budget -= (stop - start) * cost
        s.place = stop
    return True


cdef class Sorting:
    """The state of sorting columns [first, stop) into lists: a `sorting_t`, and the arrays behind its pointers.

    Parameters
    ----------
    lists : Sorted
        Its items and, if it has short lists, `common` are written.
    data : Training
    first, stop : int
    width : int
        The number of columns that are read at a time.
    least : int
        A list leaves out the rows of a value if more rows than this have it.
    """

    cdef sorting_t s
    cdef object kept

    def __init__(self, lists, data, Py_ssize_t first, Py_ssize_t stop, Py_ssize_t width, Py_ssize_t least):
        cdef sorting_t* s = &self.s
        cdef uint64_t[:, ::1] items = lists.items
        cdef int32_t[:, ::1] common = lists.common
        cdef const Py_ssize_t[::1] rows = data.rows
        cdef const int32_t[::1] codes = data.target.codes
        cdef const int32_t[::1] n_codes = data.n_codes
        cdef uint64_t[::1] scratch = np.empty(items.shape[1], np.uint64)
        cdef uint32_t[::1] counts = np.empty(3 * DIGIT, np.uint32)
        memset(s, 0, sizeof(sorting_t))
        s.n, s.d, s.stop, s.width, s.least = items.shape[1], lists.n_features, stop, width, least
        s.rows = NULL if rows is None else &rows[0]
        s.codes = NULL if codes is None else &codes[0]
        s.n_codes = NULL if n_codes is None else &n_codes[0]
        s.common = NULL if common is None else &common[0, 0]
        s.items, s.scratch, s.counts = &items[0, 0], &scratch[0], &counts[0]
        set_bits(&s.g, lists.row_bits, lists.rank_shift)
        s.column, s.block, s.block_end, s.step = first, first, min(first + width, stop), READ
        s.todo = s.n
        self.kept = lists.items, lists.common, data, scratch, counts


def sort(Sorting sorting, const floating[:, ::1] X, floating[:, ::1] values, Py_ssize_t budget):
    """Sort columns of X for about `budget` rows; returns whether there is more to do.

    values: scratch space of shape (width, n).
    """
    cdef bint more
    with nogil:
        more = advance(&sorting.s, &X[0, 0], &values[0, 0], budget)
    return more


def list_rows(const int32_t[::1] codes, int row_bits, uint64_t[::1] items_out):
    """Write a list of all rows by ascending number: rank 0, and the row's class unless codes is None."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(items_out.shape[0]):
            items_out[i] = (0 if codes is None else <uint64_t> codes[i] << row_bits) | <uint64_t> i


def pack(lists, Py_ssize_t first, Py_ssize_t stop, uint32_t[:, ::1] packed_out):
    """Pack lists [first, stop): row numbers, with the bit FIRST where the value differs from that of the row before.

    The last entry of a short list is its length. Ranks in `lists.common` are replaced by the number of distinct values
    in the list below the common value.
    """
    cdef uint64_t[:, ::1] items = lists.items
    cdef int32_t[:, ::1] common = lists.common
    cdef growth_t g
    cdef Py_ssize_t f, i, n = items.shape[1], length
    cdef int32_t n_below
    cdef uint64_t last
    cdef const uint64_t* list
    cdef bint is_short
    set_bits(&g, lists.row_bits, lists.rank_shift)
    with nogil:
        for f in range(first, stop):
            list = &items[f, 0]
            is_short = common is not None and common[0, f] >= 0
            length = length_of(&g, list, n) if is_short else n
            last = ~list[0]
            n_below = 0
            for i in range(length):
                packed_out[f, i] = <uint32_t> row_of(&g, list[i])
                if not same_value(&g, list[i], last):
                    packed_out[f, i] |= FIRST
                    n_below += is_short and rank_of(&g, list[i]) < <uint64_t> common[0, f]
                last = list[i]
            if is_short:
                packed_out[f, n - 1] = <uint32_t> length
                common[0, f] = n_below


# a selection of rows, and the packed list of a column from which the sorted list of the selected rows is made
ctypedef struct chosen_t:
    # (length,): the row numbers in the order of a column's values, with a bit that marks the first row of each value
    const uint32_t* packed
    Py_ssize_t length
    # (n_rows,): for each selected row its number in the selection and its class, packed as in an item of a sorted list,
    # with rank 0; -1 for a row that is not selected
    const int64_t* tags
    Py_ssize_t n_chosen, n_rows  # n_chosen: the number of selected rows; n_rows: the number of all rows
    # the rank of the common value whose rows the list leaves out, which is the number of smaller distinct values; -1:
    # the list has all rows
    int64_t common
    bint categorical


cdef Py_ssize_t unpack_list(
    const chosen_t* c, const growth_t* g, const floating* x, Py_ssize_t d, const Py_ssize_t* rows, uint64_t* items
) noexcept nogil:
    """Write the items (rank, class, row) of a column's selected rows, in sorted order; returns their number.

    x: the address of the first row's value of the column in X, whose rows have d numbers.
    """
    cdef Py_ssize_t i, row, o = 0, last = c.length - 1
    cdef int64_t n_values = 0
    cdef uint64_t rank = 0
    cdef floating value
    while last > 0 and c.packed[last] & FIRST == 0:
        last -= 1
    for i in range(c.length):
        if o == c.n_chosen:
            break
        row = c.packed[i] & ~FIRST
        if c.packed[i] & FIRST:
            n_values += n_values == c.common
            rank = n_values
            n_values += 1
            if c.categorical or i == last:
                value = x[(row if rows == NULL else rows[row]) * d]
                if value != value:
                    rank = g.missing
                elif c.categorical:
                    rank = <uint64_t> value
        items[o] = rank << g.rank_shift | <uint64_t> c.tags[row]
        o += c.tags[row] >= 0
    return o


cdef int32_t row_like(
    const chosen_t* c, const growth_t* g, const floating* x, Py_ssize_t d, const Py_ssize_t* rows, floating value
) noexcept nogil:
    """The number, in the selection, of the first selected row whose value in column x is `value`.

    If no selected row has the value, the result is 0, which is then not read.
    """
    cdef Py_ssize_t i
    for i in range(c.n_rows):
        if c.tags[i] >= 0 and x[(i if rows == NULL else rows[i]) * d] == value:
            return <int32_t> row_of(g, <uint64_t> c.tags[i])
    return 0


def unpack(packed, lists, const floating[:, ::1] X, const int64_t[::1] tags, Py_ssize_t first, Py_ssize_t stop):
    """Write lists [first, stop) of the rows that have a tag, from the `Packed` of X to the items of a `Sorted`.

    tags: for each packed row the bits of its item below the rank; -1 if the row gets no item. In `lists.common`, the
    row with each common value is replaced by a row that has a tag.
    """
    cdef const uint32_t[:, ::1] order = packed.packed
    cdef const Py_ssize_t[::1] some = packed.data.rows
    cdef const int32_t[::1] n_codes = packed.data.n_codes
    cdef uint64_t[:, ::1] items = lists.items
    cdef int32_t[:, ::1] common = lists.common
    cdef growth_t g
    cdef chosen_t c
    cdef Py_ssize_t f, row, d = X.shape[1], length
    cdef const Py_ssize_t* rows = NULL if some is None else &some[0]
    set_bits(&g, lists.row_bits, lists.rank_shift)
    c.tags, c.n_chosen, c.n_rows = &tags[0], items.shape[1], tags.shape[0]
    with nogil:
        for f in range(first, stop):
            c.packed = &order[f, 0]
            c.common = common[0, f] if common is not None else -1
            c.length = order[f, order.shape[1] - 1] if c.common >= 0 else order.shape[1]
            c.categorical = n_codes is not None and n_codes[f] > 0
            length = unpack_list(&c, &g, &X[0, f], d, rows, &items[f, 0])
            if c.common >= 0:
                set_length(&g, &items[f, 0], c.n_chosen, length)
                row = common[1, f]
                common[1, f] = row_like(&c, &g, &X[0, f], d, rows, X[row if rows == NULL else rows[row], f])
