# Partition of a node's sorted lists into those of its two children: the rows that go left, then the rows that go right,
# each in the order of the list.
from libc.stdint cimport uint8_t, uint64_t

from tree._growth cimport growth_t, is_short, length_of, list_of, row_of, same_value, set_length

ctypedef struct halves_t:  # a node that is being split: its range of the sorted lists, and which children need lists
    # in each sorted list of the node, the left child gets the range [start, cut), the right child [cut, stop)
    Py_ssize_t start, cut, stop
    # the feature of the split, whose list is partitioned already, so that it is skipped; -1: no list is partitioned yet
    Py_ssize_t feature
    # left, right: whether the left and the right child will be split further, and so need their ranges of the lists
    bint left, right


cdef inline void mark_sides(
    const growth_t* g, const uint64_t* order, Py_ssize_t cut, Py_ssize_t n
) noexcept nogil:
    """Mark the children of a node's n rows in `g.side`: 1, left, for the first `cut` of the order; 0, right."""
    cdef Py_ssize_t k
    for k in range(cut):
        g.side[row_of(g, order[k])] = 1
    for k in range(cut, n):
        g.side[row_of(g, order[k])] = 0


cdef inline void partition_short(
    const growth_t* g, uint64_t* list, Py_ssize_t n, Py_ssize_t n_left, uint64_t* scratch
) noexcept nogil:
    """Partition a list that omits a common value; n, n_left: the number of rows in the node and in its left child."""
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
    const growth_t* g, const halves_t* node, Py_ssize_t feature, uint64_t* scratch
) noexcept nogil:
    """Move the rows with g.side 1 to the front of the node's range of a feature's list, if a child needs the list.

    scratch: scratch space of shape (number of rows of the node,).
    """
    cdef uint64_t* list = list_of(g, feature, node.start)
    cdef Py_ssize_t n = node.stop - node.start, n_left = node.cut - node.start, k, o = 0, t = 0
    cdef uint64_t item, row_mask = g.row_mask
    cdef const uint8_t* side = g.side
    if is_short(g, feature):
        partition_short(g, list, n, n_left, scratch)
    elif feature == node.feature or (feature < g.n_features and same_value(g, list[0], list[n - 1])):
        return
    elif node.right:
        for k in range(n):
            item = list[k]
            list[o] = item
            scratch[t] = item
            o += side[item & row_mask]
            t = k + 1 - o
        for k in range(t):
            list[o + k] = scratch[k]
    else:
        for k in range(n):
            item = list[k]
            list[o] = item
            o += side[item & row_mask]
            if o == n_left:
                break
