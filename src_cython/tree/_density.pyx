# Density trees grown on sorted lists (Ram and Gray 2011): the leaves are boxes, each of constant density.
#
# in:      lists as in `_grow.pyx`; the data in the unit box; a stack with the root on it
# out:     nodes in pre-order, in the format of `_grow.pyx`; the numbers of a node are its number of rows, its risk
#          divided by its share of the rows, and its volume
# score:   minus the sum of the children's risks; of equal scores the first feature's smallest threshold wins
#
# The risk of a node t with n of N rows and volume V is
#
#     R(t) = (n^2 / N^2 - 2 n (n - 1) / (N (N - 1))) / V,
#
# the integral of the squared density, minus twice the mean over the rows of the density that is fitted without the row.
#
# The node that is split stays on top of the stack. The search for its cut, and then the partition of the lists, stop
# when the budget is spent and resume there, so that Ctrl-C need not wait for a node of any size.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tree._growth cimport growth_t, list_of, row_of, same_value, set_bits
from tree._partition cimport halves_t, mark_sides, partition
from tree._general_split cimport best_t, consider, start_search

cdef enum:
    # FEATURE to MISSING are column indices of `nodes`, an array with a row for each node that is written already
    FEATURE = 0
    SIZE = 1
    BELOW = 2
    ABOVE = 3
    MISSING = 4
    NODE_INTS = 5
    START = 0  # START to LIST are column indices of `stack`, an array with a row for each node that waits to be split
    STOP = 1
    LIST = 2
    STACK_INTS = 3
    # VOLUME and ENDS are column indices of `boxes`, an array with a row for each node that waits to be split: the
    # volume of its box is in the column VOLUME, and the box's lower and then upper ends are in the columns from ENDS on
    VOLUME = 0
    ENDS = 1
    # ROWS to VOLUME_OUT are column indices of `numbers`, an array with a row for each node that is written already
    ROWS = 0
    RISK = 1
    VOLUME_OUT = 2

# the progress in splitting a density tree's node (the top of the stack of waiting nodes), so that work can be
# interrupted
ctypedef struct cutting_t:
    bint open  # whether the search for the node's split has begun
    bint found  # whether the search has ended with a split, by which the lists are now partitioned
    # the feature whose list is searched for a cut at present or, once the split is found, partitioned at present
    Py_ssize_t feature
    # the number of rows that the next cut to be tried sends left, if the node's rows are in ascending order of
    # `feature`
    Py_ssize_t place
    Py_ssize_t best_feature
    best_t best
    double threshold  # the threshold of the best cut that has been found for the node so far

ctypedef struct part_t:  # a growing subtree: pointers to the arrays of a `Part` of `growth.py`, and their lengths
    int32_t* nodes
    double* numbers
    int64_t* stack
    double* boxes
    Py_ssize_t n_nodes, n_waiting, most_nodes, most_waiting, width


cdef class Growth:
    """The state of a growing density tree: a filled `growth_t`, the arrays behind its pointers, and the current node.

    Parameters
    ----------
    lists : Sorted
        The items are overwritten.
    min_leaf, min_split : int
    """

    cdef growth_t c
    cdef cutting_t cutting
    cdef uint64_t[::1] scratch
    cdef object kept
    cdef readonly Py_ssize_t n_rows

    def __init__(self, lists, Py_ssize_t min_leaf, Py_ssize_t min_split):
        cdef growth_t* g = &self.c
        cdef uint64_t[:, ::1] items = lists.items
        cdef uint8_t[::1] side = np.empty(1 << lists.row_bits, np.uint8)
        memset(g, 0, sizeof(growth_t))
        memset(&self.cutting, 0, sizeof(cutting_t))
        g.items, g.n, g.n_features, g.side = &items[0, 0], items.shape[1], items.shape[0], &side[0]
        set_bits(g, lists.row_bits, lists.rank_shift)
        g.min_leaf, g.min_split = min_leaf, min_split
        self.n_rows, self.scratch = g.n, np.empty(g.n, np.uint64)
        self.kept = lists.items, side
        lists.items = None


cdef inline double risk(double n, double total) noexcept nogil:
    """The risk n^2 / N^2 - 2 n (n - 1) / (N (N - 1)) of a node of volume 1 with n of all N = `total` rows.

    For N = 1 the second term is 0 / 0, and is taken as 1.
    """
    return n * n / (total * total) - (2 * n * (n - 1) / (total * (total - 1)) if total > 1 else 1)


cdef inline double threshold_between(double below, double above) noexcept nogil:
    cdef double middle = below / 2 + above / 2
    return middle if below <= middle < above else below


cdef void start_node(cutting_t* c, const growth_t* g, Py_ssize_t n, double volume) noexcept nogil:
    """Begin the search for the cut of a node of n rows; if n is too small for a split, search no feature."""
    c.open, c.found, c.place, c.best_feature = True, False, g.min_leaf, -1
    c.feature = g.n_features if n < g.min_split or n < 2 * g.min_leaf or volume < 1e-250 else 0
    start_search(&c.best, -1e300)


cdef Py_ssize_t search(
    cutting_t* c, const growth_t* g, const floating* X, const int64_t* node, const double* box, double budget
) noexcept nogil:
    """Try at most `budget` more cuts of the feature c.feature; returns the number of cuts tried."""
    cdef Py_ssize_t d = g.n_features, n = node[STOP] - node[START], f = c.feature, first = c.place, stop, k
    cdef double width = box[ENDS + d + f] - box[ENDS + f], low = box[ENDS + f], threshold, share
    cdef const uint64_t* list = list_of(g, f, node[START])
    stop = n - g.min_leaf + 1
    if same_value(g, list[0], list[n - 1]):
        first = stop
    if stop - first > budget:
        stop = first + <Py_ssize_t> budget + 1
    for k in range(first, stop):
        if same_value(g, list[k - 1], list[k]):
            continue
        threshold = threshold_between(X[row_of(g, list[k - 1]) * d + f], X[row_of(g, list[k]) * d + f])
        share = (threshold - low) / width
        if not 1e-9 < share < 1 - 1e-9:
            continue
        if consider(&c.best, -(risk(k, g.n) / share + risk(n - k, g.n) / (1 - share)), k, False):
            c.best_feature, c.threshold = f, threshold
    c.place = stop
    if stop == n - g.min_leaf + 1:
        c.feature += 1
        c.place = g.min_leaf
    return stop - first


cdef void write_node(part_t* p, const growth_t* g, const double* box) noexcept nogil:
    """Write the node on top of the stack of waiting nodes to the density tree's arrays, as a leaf."""
    cdef const int64_t* node = p.stack + (p.n_waiting - 1) * STACK_INTS
    cdef int32_t* record = p.nodes + p.n_nodes * NODE_INTS
    cdef double* numbers = p.numbers + p.n_nodes * (VOLUME_OUT + 1)
    cdef Py_ssize_t n = node[STOP] - node[START]
    record[FEATURE], record[SIZE], record[MISSING] = -1, <int32_t> n, -1
    record[BELOW] = record[ABOVE] = <int32_t> row_of(g, list_of(g, node[LIST], node[START])[0])
    numbers[ROWS], numbers[VOLUME_OUT] = n, box[VOLUME]
    numbers[RISK] = risk(n, g.n) / box[VOLUME] / (n / <double> g.n)
    p.n_nodes += 1


cdef void split_top(part_t* p, const growth_t* g, const cutting_t* c, double* box) noexcept nogil:
    """Split the node that was written last.

    The right child takes the place of the node on the stack, and the left child is put on top of it.
    """
    cdef int64_t* right = p.stack + (p.n_waiting - 1) * STACK_INTS
    cdef int64_t* left = right + STACK_INTS
    cdef double* left_box = box + p.width
    cdef int32_t* record = p.nodes + (p.n_nodes - 1) * NODE_INTS
    cdef Py_ssize_t f = c.best_feature, d = g.n_features, cut = right[START] + c.best.cut
    cdef const uint64_t* list = list_of(g, f, cut)
    cdef double share = (c.threshold - box[ENDS + f]) / (box[ENDS + d + f] - box[ENDS + f])
    record[FEATURE] = <int32_t> f
    record[BELOW], record[ABOVE] = <int32_t> row_of(g, list[-1]), <int32_t> row_of(g, list[0])
    memcpy(left_box, box, p.width * sizeof(double))
    left_box[VOLUME] *= share
    box[VOLUME] *= 1 - share
    left_box[ENDS + d + f] = box[ENDS + f] = c.threshold
    left[START], left[STOP], left[LIST] = right[START], cut, f
    right[START], right[LIST] = cut, f
    p.n_waiting += 1


cdef Py_ssize_t advance(
    Growth growth, const floating* X, part_t* p, double budget
) noexcept nogil:
    """Continue to grow the subtree of a `Part` until `budget` rows and cuts are processed.

    Returns the number of rows in new leaves.
    """
    cdef const growth_t* g = &growth.c
    cdef cutting_t* c = &growth.cutting
    cdef Py_ssize_t n, n_done = 0
    cdef const int64_t* node
    cdef double* box
    cdef halves_t halves
    while p.n_waiting > 0 and budget > 0:
        node, box = p.stack + (p.n_waiting - 1) * STACK_INTS, p.boxes + (p.n_waiting - 1) * p.width
        n = node[STOP] - node[START]
        if not c.open:
            if p.n_nodes > p.most_nodes or p.n_waiting > p.most_waiting:
                break
            start_node(c, g, n, box[VOLUME])
        if c.feature < g.n_features and not c.found:
            budget -= 1 + search(c, g, X, node, box, budget)
        elif c.feature < g.n_features:
            halves.start, halves.cut, halves.stop = node[START], node[START] + c.best.cut, node[STOP]
            halves.feature, halves.left, halves.right = c.best_feature, True, True
            partition(g, &halves, c.feature, &growth.scratch[0])
            c.feature += 1
            budget -= n
        elif c.best_feature >= 0 and not c.found:
            mark_sides(g, list_of(g, c.best_feature, node[START]), c.best.cut, n)
            c.found, c.feature = True, 0
        else:
            write_node(p, g, box)
            c.open = False
            if c.found:
                split_top(p, g, c, box)
            else:
                p.n_waiting -= 1
                n_done += n
    return n_done


def grow(Growth growth, const floating[:, ::1] X, part, double budget):
    """Grow the part by about `budget` cells, or until it is full or complete; returns the number of rows in new leaves.

    The part is complete when no node waits on the stack. It is full when its arrays have no space for one more node or
    one more waiting node.
    """
    cdef int32_t[:, ::1] nodes = part.nodes
    cdef double[:, ::1] numbers = part.numbers
    cdef int64_t[:, ::1] stack = part.stack
    cdef double[:, ::1] boxes = part.waiting
    cdef part_t p
    cdef Py_ssize_t n_done
    p.nodes, p.numbers, p.stack, p.boxes = &nodes[0, 0], &numbers[0, 0], &stack[0, 0], &boxes[0, 0]
    p.n_nodes, p.n_waiting, p.width = part.n_nodes, part.n_waiting, boxes.shape[1]
    p.most_nodes, p.most_waiting = nodes.shape[0] - 1, stack.shape[0] - 1
    with nogil:
        n_done = advance(growth, &X[0, 0], &p, budget)
    part.n_nodes, part.n_waiting = p.n_nodes, p.n_waiting
    return n_done
