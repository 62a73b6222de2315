# Density trees grown on sorted lists (Ram and Gray 2011): boxes with a constant density each.
#
# in:      lists as of `_grow.pyx`; the data in the unit box; a stack with the root on it
# out:     nodes in pre-order, as `_grow.pyx` writes them; numbers: rows, risk by the share of the rows, volume
# score:   the less the two sides risk the larger; of equal ones the first feature's smallest threshold wins
#
#     R(t) = (n^2 / N^2 - 2 n (n - 1) / (N (N - 1))) / V        integral of f^2 less twice the mean of f without a row
#
# of n of N rows in a box of volume V.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from tree._growth cimport growth_t, row_of, same_value
from tree._partition cimport mark_sides, partition
from tree._general_split cimport beats

cdef enum:
    FEATURE = 0
    SIZE = 1
    BELOW = 2
    ABOVE = 3
    MISSING = 4
    START = 0  # columns of the stack
    STOP = 1
    LIST = 2
    VOLUME = 0  # of the boxes: then the lower and the upper ends
    ENDS = 1


cdef inline double risk(double n, double total) noexcept nogil:
    """R(t) of a volume of 1; of a single row in all there is none to leave out."""
    return n * n / (total * total) - (2 * n * (n - 1) / (total * (total - 1)) if total > 1 else 1)


cdef inline double threshold_between(double below, double above) noexcept nogil:
    cdef double middle = below / 2 + above / 2
    return middle if below <= middle < above else below


cdef bint find(
    const growth_t* g, const floating* X, Py_ssize_t start, Py_ssize_t stop, const double* box, Py_ssize_t* feature_out,
    Py_ssize_t* cut_out, double* threshold_out
) noexcept nogil:
    cdef Py_ssize_t d = g.n_features, n = stop - start, f, k
    cdef double best = -1e300, bar = -1e300, score, threshold, share
    cdef const uint64_t* list
    feature_out[0] = -1
    for f in range(d):
        list = g.items + f * g.n + start
        if same_value(g, list[0], list[n - 1]):
            continue
        for k in range(g.min_leaf, n - g.min_leaf + 1):
            if same_value(g, list[k - 1], list[k]):
                continue
            threshold = threshold_between(X[row_of(g, list[k - 1]) * d + f], X[row_of(g, list[k]) * d + f])
            share = (threshold - box[ENDS + f]) / (box[ENDS + d + f] - box[ENDS + f])
            if not 1e-9 < share < 1 - 1e-9:
                continue
            score = -(risk(k, g.n) / share + risk(n - k, g.n) / (1 - share))
            if score > bar and beats(score, &best, &bar, False):
                feature_out[0], cut_out[0], threshold_out[0] = f, k, threshold
    return feature_out[0] >= 0


def grow(growth, const floating[:, ::1] X, part, double budget):
    """Grow for about `budget` cells, or until the arrays are full; it is whole once part.n_waiting is 0."""
    cdef uint64_t[:, ::1] items = growth.items
    cdef uint8_t[::1] side = growth.side
    cdef int32_t[:, ::1] nodes = part.nodes
    cdef double[:, ::1] numbers = part.numbers
    cdef int64_t[:, ::1] stack = part.stack
    cdef double[:, ::1] boxes = part.waiting
    cdef uint64_t[::1] scratch = growth.scratch
    cdef Py_ssize_t n_nodes = part.n_nodes, n_waiting = part.n_waiting, width = boxes.shape[1], start, stop, d, cut = 0
    cdef Py_ssize_t n_done = 0, feature = -1, node
    cdef double threshold = 0, share
    cdef const uint64_t* list
    cdef int32_t* record
    cdef double* box
    cdef double* other
    cdef growth_t g
    g.items, g.side = &items[0, 0], &side[0]
    g.n_features, g.n = items.shape[0], items.shape[1]
    g.common = NULL
    g.row_mask, g.rank_shift = (<uint64_t> 1 << <int> growth.row_bits) - 1, growth.rank_shift
    g.min_leaf, g.min_split = growth.min_leaf, growth.min_split
    d = g.n_features
    with nogil:
        while n_waiting > 0 and n_nodes < nodes.shape[0] and n_waiting < stack.shape[0] - 2 and budget > 0:
            n_waiting -= 1
            start, stop = stack[n_waiting, START], stack[n_waiting, STOP]
            box = &boxes[n_waiting, 0]
            list = g.items + stack[n_waiting, LIST] * g.n + start
            node = n_nodes
            n_nodes += 1
            record = &nodes[node, 0]
            record[FEATURE], record[SIZE], record[MISSING] = -1, <int32_t> (stop - start), -1
            record[BELOW] = record[ABOVE] = <int32_t> row_of(&g, list[0])
            numbers[node, 0], numbers[node, 2] = stop - start, box[VOLUME]
            numbers[node, 1] = risk(stop - start, g.n) / box[VOLUME] / ((stop - start) / <double> g.n)
            budget -= <double> d * (stop - start)
            if (
                stop - start < g.min_split or stop - start < 2 * g.min_leaf or box[VOLUME] < 1e-250
                or not find(&g, &X[0, 0], start, stop, box, &feature, &cut, &threshold)
            ):
                n_done += stop - start
                continue
            list = g.items + feature * g.n + start
            record[FEATURE] = <int32_t> feature
            record[BELOW], record[ABOVE] = <int32_t> row_of(&g, list[cut - 1]), <int32_t> row_of(&g, list[cut])
            mark_sides(&g, list, cut, stop - start)
            partition(&g, start, stop, start + cut, feature, True, True, NULL, 0, d, &scratch[0])
            # the right child takes the place of the node on the stack, the left one is above it
            other = &boxes[n_waiting + 1, 0]
            memcpy(other, box, width * sizeof(double))
            share = (threshold - box[ENDS + feature]) / (box[ENDS + d + feature] - box[ENDS + feature])
            other[VOLUME] *= share
            box[VOLUME] *= 1 - share
            other[ENDS + d + feature] = box[ENDS + feature] = threshold
            stack[n_waiting, START], stack[n_waiting, LIST] = start + cut, feature
            stack[n_waiting + 1, START], stack[n_waiting + 1, STOP] = start, start + cut
            stack[n_waiting + 1, LIST] = feature
            n_waiting += 2
    part.n_nodes, part.n_waiting = n_nodes, n_waiting
    return n_done
