# Lists brought into the order of two children.
from libc.stdint cimport int32_t, uint8_t, uint64_t

from tree._growth cimport growth_t, is_short, length_of, row_of, same_value, set_length


cdef inline void mark_sides(
    const growth_t* g, const uint64_t* order, Py_ssize_t cut, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(cut):
        g.side[row_of(g, order[k])] = 1
    for k in range(cut, n):
        g.side[row_of(g, order[k])] = 0


cdef inline void part_short(
    const growth_t* g, uint64_t* list, Py_ssize_t n, Py_ssize_t n_left, uint64_t* scratch
) noexcept nogil:
    """The same for a list that leaves rows out."""
    cdef Py_ssize_t k, o = 0, t = 0, length = length_of(g, list, n)
    cdef uint64_t item
    for k in range(length):
        item = list[k]
        list[o] = item
        scratch[t] = item
        o += g.side[row_of(g, item)]
        t = k + 1 - o
    for k in range(t):
        list[n_left + k] = scratch[k]
    set_length(g, list, n_left, o)
    set_length(g, list + n_left, n - n_left, t)


cdef inline void partition(
    const growth_t* g, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t cut, Py_ssize_t split_feature, bint left,
    bint right, const int32_t* features, Py_ssize_t first, Py_ssize_t last, uint64_t* scratch
) noexcept nogil:
    """Bring the rows of side 1 to the front of [start, stop) of lists [first, last), those that the children need.

    features: NULL, or the lists' numbers, of which those from `first` on are meant.
    """
    cdef Py_ssize_t i, f, k, o, t, n_left = cut - start
    cdef uint64_t* list
    cdef uint64_t item
    cdef uint64_t row_mask = g.row_mask
    cdef const uint8_t* side = g.side
    for i in range(first, last):
        f = i if features == NULL else features[i]
        list = g.items + f * g.n + start
        if is_short(g, f):
            part_short(g, list, stop - start, n_left, scratch)
            continue
        if f == split_feature or (f < g.n_features and same_value(g, list[0], list[stop - start - 1])):
            continue
        o = 0
        if not right:
            for k in range(stop - start):
                item = list[k]
                list[o] = item
                o += side[item & row_mask]
                if o == n_left:
                    break
            continue
        t = 0
        for k in range(stop - start):
            item = list[k]
            list[o] = item
            scratch[t] = item
            o += side[item & row_mask]
            t = k + 1 - o
        for k in range(t):
            list[o + k] = scratch[k]
