# The summary of a node: its prediction, its impurity, and whether it is a leaf.
from libc.math cimport log
from libc.stdint cimport uint64_t

from tree._growth cimport (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    POISSON,
    SQUARED_ERROR,
    class_of,
    growth_t,
    list_of,
    node_t,
    row_of,
    scratch_t,
    weight_of,
    x_log_x,
)
from tree._median cimport median_add, median_loss, median_of, median_start, median_t


cdef inline double distance(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t o, double mean
) noexcept nogil:
    """The weighted sum over a node's rows of (y - mean)^2, or of half the Poisson deviance, for output o."""
    cdef Py_ssize_t k, row
    cdef double total = 0, y
    for k in range(node.stop - node.start):
        row = row_of(g, list[k])
        y = g.y[row * g.n_outputs + o]
        if g.criterion == POISSON:
            total += weight_of(g, row) * y * log(y / mean) if y > 0 else 0
        else:
            total += weight_of(g, row) * (y - mean) * (y - mean)
    return total


cdef inline bint describe_numbers(
    const growth_t* g, node_t* node, const uint64_t* list, const scratch_t* scratch
) noexcept nogil:
    """Set a node's weight, impurity and each output's mean or median; returns whether its rows have equal targets."""
    cdef Py_ssize_t n = node.stop - node.start, k, o, row
    cdef double w, y, first
    cdef bint pure = True, same
    cdef median_t m
    node.weight = node.impurity = 0
    for k in range(n):
        node.weight += weight_of(g, row_of(g, list[k]))
    for o in range(g.n_outputs):
        node.values[o] = 0
        same = True
        first = g.y[row_of(g, list[0]) * g.n_outputs + o]
        if g.criterion == ABSOLUTE_ERROR:
            median_start(&m, scratch.losses, n)
        for k in range(n):
            row = row_of(g, list[k])
            w, y = weight_of(g, row), g.y[row * g.n_outputs + o]
            same &= y == first
            if g.criterion == ABSOLUTE_ERROR:
                median_add(&m, y, w)
            else:
                node.values[o] += w * y
        if g.criterion == ABSOLUTE_ERROR:
            node.values[o] = median_of(&m)
            if not same:
                node.impurity += median_loss(&m)
        else:
            node.values[o] /= node.weight
            if not same:
                node.impurity += distance(g, node, list, o, node.values[o])
        pure &= same
    node.impurity /= node.weight * g.n_outputs
    return pure


cdef inline bint describe_classes(const growth_t* g, node_t* node, const uint64_t* list) noexcept nogil:
    """Set a node's weight, impurity and the weight of each class; returns whether its rows are all of one class."""
    cdef Py_ssize_t n = node.stop - node.start, k, c, o, row, n_classes
    cdef double w, most, square, total
    cdef bint pure = True
    for c in range(g.n_values):
        node.values[c] = 0
    node.weight = node.impurity = 0
    if g.y == NULL and g.weight == NULL:
        for k in range(n):
            node.values[class_of(g, list[k])] += 1
        node.weight = n
    else:
        for k in range(n):
            row = row_of(g, list[k])
            w = weight_of(g, row)
            node.weight += w
            for o in range(g.n_outputs):
                c = class_of(g, list[k]) if g.y == NULL else <Py_ssize_t> g.y[row * g.n_outputs + o]
                node.values[c] += w
    for o in range(g.n_outputs):
        most = square = total = 0
        n_classes = 0
        for c in range(g.first_value[o], g.first_value[o + 1]):
            n_classes += node.values[c] > 0
            most = max(most, node.values[c])
            square += (node.values[c] / node.weight) * (node.values[c] / node.weight)
            total += x_log_x(node.values[c] / node.weight)
        if n_classes == 1:
            continue
        pure = False
        if g.criterion == GINI:
            node.impurity += 1 - square
        elif g.criterion == ENTROPY:
            node.impurity -= total
        else:
            node.impurity += 1 - most / node.weight
    node.impurity /= g.n_outputs
    return pure


cdef inline void describe(const growth_t* g, node_t* node, const scratch_t* scratch) noexcept nogil:
    """Set weight, impurity, values and `leaf` of a node, from its range of rows, its depth and one of its lists."""
    cdef const uint64_t* list = list_of(g, node.list, node.start)
    cdef Py_ssize_t n = node.stop - node.start
    cdef bint pure
    if g.criterion >= SQUARED_ERROR:
        pure = describe_numbers(g, node, list, scratch)
    else:
        pure = describe_classes(g, node, list)
    node.leaf = (
        pure or node.depth >= g.max_depth or n < g.min_split or n < 2 * g.min_leaf
        or node.weight < 2 * g.min_leaf_weight
    )
