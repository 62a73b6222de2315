# Growth of trees on lists that are sorted once (`_presort.pyx`): a node is a range of each list; a split partitions it.
#
# invariants: The range of a feature's list has the node's rows, if the feature differs among these rows. A feature that
#             is constant in a node is not partitioned any more; both ends of its range keep the same rank, so that no
#             node below is split by it.
#             Within a node, a list is in the order of its ranks: rows of a category are neighbours, and rows with
#             missing values are at the end.
#             Nodes are written in pre-order, a left child directly after its parent, and are never read again.
#
# Waiting nodes are on a stack in arrays, so that the depth has no limit. A part is a subtree. Different threads may
# grow two parts, since no row is in the ranges of both.
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tree._node_summary cimport describe
from tree._growth cimport (
    ABSOLUTE_ERROR, SQUARED_ERROR, group_t, growth_t, is_constant, is_short, length_of, list_of, mixed,
    node_t, rank_of, row_of, scratch_t, set_bits,
)
from tree._partition cimport halves_t, mark_sides, partition
from tree._plain_split cimport IN_ORDER, MISSING_FIRST, arrange, first_at_least, read_total, split_t, try_feature

cdef enum:
    # FEATURE to MISSING are column indices of `nodes`, an array with a row for each node that is written already. The
    # column FEATURE has the feature of a split, -1 for a leaf, and -2 - i for a node that is the root of part i, a
    # subtree that grows in arrays of its own.
    FEATURE = 0
    SIZE = 1
    # the column of `nodes` for the number of the row that has the split feature's largest value on the left side or,
    # for a split of categories, the index of the subset that goes left; for a leaf, the number of any of its rows
    BELOW = 2
    # the column of `nodes` for the number of the row that has the split feature's smallest value on the right side
    ABOVE = 3
    # the column of `nodes` for the child that rows with a missing value of the split feature go to: 1 left, 0 right;
    # -1: no row of the node has a missing value
    MISSING = 4
    NODE_INTS = 5
    # START to CONSTANT are column indices of `stack`, an array with a row for each node that waits to be split
    START = 0
    STOP = 1
    DEPTH = 2
    LIST = 3
    LEAF = 4
    PATH = 5
    CONSTANT = 6
    STACK_INTS = 7
    # WEIGHT to VALUES are column indices of `numbers`, an array with a row for each node that is written already, and
    # of `waiting`, an array with a row for each node that waits to be split
    WEIGHT = 0
    IMPURITY = 1
    VALUES = 2

ctypedef struct part_t:  # a growing subtree: pointers to the arrays of a `Part` of `growth.py`, and their lengths
    int32_t* nodes
    double* numbers
    int64_t* stack
    double* waiting
    uint64_t* subsets
    double* children
    int32_t* features
    Py_ssize_t n_nodes, n_waiting, n_words
    # the largest numbers of written nodes, waiting nodes and words of subsets with which another node is sure to fit
    # into the arrays; beyond them, the arrays are extended first
    Py_ssize_t most_nodes, most_waiting, most_words
    # the number of columns of `numbers` and `waiting`, which store the weight, the impurity and the values of each node
    Py_ssize_t width
    scratch_t scratch


cdef class Growth:
    """The state that all parts of a growing tree share: a filled `growth_t`, and the arrays behind its pointers.

    Parameters
    ----------
    lists : Sorted
        The items are overwritten.
    data : Training
    limits : Limits
    total_weight : float
        The weight of all rows of the tree.
    table : ndarray of shape (at least n + 1,), float64, or None
        i log2 i in fixed point, for entropy without weights.

    Attributes
    ----------
    n_rows, n_features, n_values : int
    n_numbers : int
        The number of columns of a part's numbers: weight, impurity, the values of a node, and bounds if there are any.
    most_codes, most_words : int
        The largest number of categories of a feature, and the number of words of a stored subset.
    needs_losses : bool
        Whether a search needs the scratch space `losses`.
    """

    cdef growth_t c
    cdef object kept
    cdef readonly Py_ssize_t n_rows, n_features, n_values, n_numbers, most_codes, most_words
    cdef readonly bint needs_losses

    def __init__(self, lists, data, limits, double total_weight, const double[::1] table):
        cdef growth_t* g = &self.c
        cdef uint64_t[:, ::1] items = lists.items
        cdef const int32_t[:, ::1] common = lists.common
        cdef uint8_t[::1] side = np.empty(1 << lists.row_bits, np.uint8)
        cdef const double[:, ::1] y = data.target.y
        cdef const double[::1] weight = data.weight
        cdef const int32_t[::1] first_value = data.target.first_value
        cdef const int32_t[::1] n_codes = data.n_codes
        memset(g, 0, sizeof(growth_t))
        g.items, g.n, g.n_features, g.side = &items[0, 0], items.shape[1], lists.n_features, &side[0]
        set_bits(g, lists.row_bits, lists.rank_shift)
        if common is not None:
            g.common, g.common_row = &common[0, 0], &common[1, 0]
        g.n_values, g.n_outputs = data.target.n_values, first_value.shape[0] - 1
        g.y = NULL if y is None else &y[0, 0]
        g.weight = NULL if weight is None else &weight[0]
        g.first_value = &first_value[0]
        if n_codes is not None:
            g.n_codes = &n_codes[0]
            self.most_codes = data.n_codes.max()
            self.most_words = 1 + (self.most_codes + 63) // 64
        g.total_weight = total_weight
        if limits.drawn:
            read_values(g, data)
        set_limits(g, limits)
        g.table = NULL if table is None else &table[0]
        self.kept = lists.items, lists.common, side, data, limits, table
        lists.items = None
        self.n_rows, self.n_features, self.n_values = g.n, g.n_features, g.n_values
        self.needs_losses = g.criterion == ABSOLUTE_ERROR
        self.n_numbers = VALUES + g.n_values + (2 if g.monotonic != NULL else 0)


cdef void read_values(growth_t* g, data):
    """Set the fields of a `growth_t` that give access to the values of X, between which random thresholds are drawn."""
    cdef const float[:, ::1] x_single
    cdef const double[:, ::1] x_double
    cdef const Py_ssize_t[::1] rows = data.rows
    g.drawn = True
    if data.X.dtype == np.float32:
        x_single = data.X
        g.x_single = &x_single[0, 0]
    else:
        x_double = data.X
        g.x_double = &x_double[0, 0]
    g.x_rows = NULL if rows is None else &rows[0]


cdef void set_limits(growth_t* g, limits):
    """Set the split criterion and the stopping limits for the growth of a tree from a `Limits`."""
    cdef const int8_t[::1] monotonic = limits.monotonic
    g.criterion = limits.criterion
    g.monotonic = NULL if monotonic is None else &monotonic[0]
    g.max_depth, g.min_split, g.min_leaf = limits.max_depth, limits.min_split, limits.min_leaf
    g.min_leaf_weight, g.min_decrease = limits.min_leaf_weight, limits.min_decrease
    g.max_features, g.seed = limits.max_features, limits.seed


cdef void fill_scratch(scratch_t* s, scratch):
    cdef double[::1] sides = scratch.sides
    cdef uint64_t[::1] items = scratch.items
    cdef double[:, ::1] groups = scratch.groups
    cdef double[::1] losses = scratch.losses
    s.sides, s.items, s.groups, s.losses = &sides[0], &items[0], <group_t*> &groups[0, 0], &losses[0]


cdef void fill_part(part_t* p, Growth growth, part):
    cdef int32_t[:, ::1] nodes = part.nodes
    cdef double[:, ::1] numbers = part.numbers
    cdef int64_t[:, ::1] stack = part.stack
    cdef double[:, ::1] waiting = part.waiting
    cdef uint64_t[::1] subsets = part.subsets
    cdef double[:, ::1] children = part.children
    cdef int32_t[::1] features = part.features
    p.nodes, p.numbers, p.stack, p.waiting = &nodes[0, 0], &numbers[0, 0], &stack[0, 0], &waiting[0, 0]
    p.subsets, p.children, p.features = &subsets[0], &children[0, 0], &features[0]
    p.n_nodes, p.n_waiting, p.n_words = part.n_nodes, part.n_waiting, part.n_words
    p.width = numbers.shape[1]
    p.most_nodes, p.most_waiting = nodes.shape[0] - 1, stack.shape[0] - 3
    p.most_words = subsets.shape[0] - growth.most_words
    fill_scratch(&p.scratch, part.scratch)


cdef void store_part(const part_t* p, part):
    part.n_nodes, part.n_waiting, part.n_words = p.n_nodes, p.n_waiting, p.n_words


cdef void push(part_t* p, const node_t* node) noexcept nogil:
    cdef int64_t* entry = p.stack + p.n_waiting * STACK_INTS
    cdef double* numbers = p.waiting + p.n_waiting * p.width
    entry[START], entry[STOP], entry[DEPTH] = node.start, node.stop, node.depth
    entry[LIST], entry[LEAF], entry[PATH] = node.list, node.leaf, <int64_t> node.path
    entry[CONSTANT] = node.n_constant
    numbers[WEIGHT], numbers[IMPURITY] = node.weight, node.impurity
    memcpy(numbers + VALUES, node.values, (p.width - VALUES) * sizeof(double))
    p.n_waiting += 1


cdef void read_waiting(const part_t* p, Py_ssize_t below, node_t* node) noexcept nogil:
    """Read a waiting node from the stack; `below` is the number of nodes above it, 0 for the top."""
    cdef int64_t* entry = p.stack + (p.n_waiting - 1 - below) * STACK_INTS
    cdef double* numbers = p.waiting + (p.n_waiting - 1 - below) * p.width
    node.start, node.stop, node.depth = entry[START], entry[STOP], entry[DEPTH]
    node.list, node.leaf, node.path = entry[LIST], entry[LEAF], <uint64_t> entry[PATH]
    node.n_constant = entry[CONSTANT]
    node.weight, node.impurity, node.values = numbers[WEIGHT], numbers[IMPURITY], numbers + VALUES


cdef void pop(const growth_t* g, part_t* p, node_t* node) noexcept nogil:
    """Take the top off the stack of waiting nodes, and write it as a leaf; a later split changes this record."""
    cdef int32_t* record = p.nodes + p.n_nodes * NODE_INTS
    cdef double* numbers = p.numbers + p.n_nodes * p.width
    read_waiting(p, 0, node)
    record[FEATURE], record[SIZE], record[MISSING] = -1, <int32_t> (node.stop - node.start), -1
    record[BELOW] = record[ABOVE] = <int32_t> row_of(g, list_of(g, node.list, node.start)[0])
    numbers[WEIGHT], numbers[IMPURITY] = node.weight, node.impurity
    memcpy(numbers + VALUES, node.values, (p.width - VALUES) * sizeof(double))
    node.values = numbers + VALUES
    p.n_nodes += 1
    p.n_waiting -= 1


cdef void find_varying(const growth_t* g, part_t* p, node_t* node, split_t* best) noexcept nogil:
    """Find the best split over all features that vary in the node.

    p.features begins with the features known to be constant in the node; features found to be constant are moved there.
    The search in the subtree of the node permutes only the features behind those. So the sibling of the node, which is
    searched later, still finds its constant features first.
    """
    cdef Py_ssize_t i
    cdef int32_t f
    best.feature = -1
    for i in range(node.n_constant, g.n_features):
        f = p.features[i]
        if is_constant(g, f, list_of(g, f, node.start), node.stop - node.start):
            p.features[i] = p.features[node.n_constant]
            p.features[node.n_constant] = f
            node.n_constant += 1
        else:
            try_feature(g, node, f, &p.scratch, best)


cdef void find_drawn(const growth_t* g, part_t* p, const node_t* node, split_t* best) noexcept nogil:
    """Find the best split over features in random order, until max_features that vary in the node have been tried."""
    cdef Py_ssize_t i, f, other, tried = 0
    cdef uint64_t state = mixed(g.seed ^ node.path)
    best.feature = -1
    for i in range(g.n_features):
        p.features[i] = <int32_t> i
    for i in range(g.n_features):
        if tried == g.max_features:
            break
        state += <uint64_t> 0x9E3779B97F4A7C15
        other = i + <Py_ssize_t> (mixed(state) % <uint64_t> (g.n_features - i))
        f = p.features[other]
        p.features[other] = p.features[i]
        p.features[i] = <int32_t> f
        tried += not is_constant(g, f, list_of(g, f, node.start), node.stop - node.start)
        try_feature(g, node, f, &p.scratch, best)


cdef void write_subset(
    const growth_t* g, part_t* p, const uint64_t* order, Py_ssize_t n, const split_t* s, bint absent_left
) noexcept nogil:
    """Write the subset of categories that go left.

    absent_left: whether categories that no row of the node has go left.
    """
    cdef uint64_t* subset = p.subsets + p.n_words
    cdef Py_ssize_t n_codes = g.n_codes[s.feature], n_words = (n_codes + 63) >> 6, k
    cdef uint64_t code, bit
    subset[0] = n_codes
    for k in range(n_words):
        subset[1 + k] = ~<uint64_t> 0 if absent_left else 0
    for k in range(n):
        code = rank_of(g, order[k])
        if code != g.missing:
            bit = <uint64_t> 1 << (code & 63)
            if k < s.cut:
                subset[1 + (code >> 6)] |= bit
            else:
                subset[1 + (code >> 6)] &= ~bit
    p.n_words += 1 + n_words


cdef void mark_short(
    const growth_t* g, const node_t* node, const split_t* s, int32_t* record
) noexcept nogil:
    """Mark the child of each row, for a split by a list that omits a common value; record the rows next to the cut."""
    cdef const uint64_t* list = list_of(g, s.feature, node.start)
    cdef const uint64_t* rows = list_of(g, g.n_features, node.start)
    cdef Py_ssize_t n = node.stop - node.start, length = length_of(g, list, n), k, first
    # the place in the feature's list where the rows that it omits, those of a common value, would be
    cdef Py_ssize_t common = first_at_least(g, list, g.common[s.feature], 0, length)
    # whether the rows of the common value, which the feature's list omits, go left
    cdef bint common_left = s.cut > common
    first = s.cut - (n - length) if common_left else s.cut
    record[BELOW] = record[ABOVE] = g.common_row[s.feature]
    if first > common or not common_left:
        record[BELOW] = <int32_t> row_of(g, list[first - 1])
    if first < common or common_left or length == n:
        record[ABOVE] = <int32_t> row_of(g, list[first])
    for k in range(n):
        g.side[row_of(g, rows[k])] = common_left
    if common_left:
        for k in range(first, length):
            g.side[row_of(g, list[k])] = 0
    else:
        for k in range(first):
            g.side[row_of(g, list[k])] = 1


cdef int32_t mark_full(
    const growth_t* g, part_t* p, const node_t* node, const split_t* s, int32_t* record
) noexcept nogil:
    """Record the rows next to the cut, or the subset, of a split by a full list; returns the side of missing values.

    If the split is in another order than that of the list, the sides of rows are marked and the list is partitioned.
    """
    cdef const uint64_t* list = list_of(g, s.feature, node.start)
    cdef const uint64_t* order = list
    cdef Py_ssize_t n = node.stop - node.start
    cdef int32_t missing = 0 if rank_of(g, list[n - 1]) == g.missing else -1
    cdef halves_t halves
    if s.how != IN_ORDER:
        arrange(g, node, s.feature, s.how, &p.scratch)
        order = p.scratch.items
        mark_sides(g, order, s.cut, n)
        if missing == 0:
            missing = g.side[row_of(g, list[n - 1])]
    record[BELOW], record[ABOVE] = <int32_t> row_of(g, order[s.cut - 1]), <int32_t> row_of(g, order[s.cut])
    if s.how > MISSING_FIRST:
        record[BELOW] = <int32_t> p.n_words
        write_subset(g, p, order, n, s, missing > 0 or (missing < 0 and s.cut > n - s.cut))
    if s.how != IN_ORDER:
        halves.start, halves.cut, halves.stop = node.start, node.start + s.cut, node.stop
        halves.feature, halves.left, halves.right = -1, True, True
        partition(g, &halves, s.feature, p.scratch.items)
    return missing


cdef void describe_children(
    const growth_t* g, part_t* p, const node_t* node, const split_t* s, node_t* left, node_t* right
) noexcept nogil:
    left.start, left.stop, left.depth, left.list = node.start, node.start + s.cut, node.depth + 1, s.feature
    right.start, right.stop, right.depth, right.list = left.stop, node.stop, left.depth, s.feature
    if g.common != NULL:
        left.list = right.list = g.n_features
    left.n_constant = right.n_constant = node.n_constant
    left.path, right.path = mixed(2 * node.path), mixed(2 * node.path + 1)
    left.values = p.children
    right.values = p.children + p.width - VALUES
    describe(g, left, &p.scratch)
    describe(g, right, &p.scratch)


cdef bint gains_enough(
    const growth_t* g, const node_t* node, const node_t* left, const node_t* right
) noexcept nogil:
    """Whether the split lowers the impurity, as a mean over all rows of the tree, by min_decrease or more."""
    return g.min_decrease <= 0 or (
        node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity
    ) / g.total_weight + 2.220446049250313e-16 >= g.min_decrease


cdef void bound_children(
    const growth_t* g, const node_t* node, Py_ssize_t feature, node_t* left, node_t* right
) noexcept nogil:
    """Set the bounds of the predictions of the children.

    They are the bounds of the node; a constrained feature adds the middle between the children's predictions.
    """
    cdef int64_t place = g.n_values
    cdef double middle
    memcpy(left.values + place, node.values + place, 2 * sizeof(double))
    memcpy(right.values + place, node.values + place, 2 * sizeof(double))
    if g.monotonic[feature] == 0:
        return
    if g.criterion >= SQUARED_ERROR:
        middle = (left.values[0] + right.values[0]) / 2
    else:
        middle = (left.values[1] / left.weight + right.values[1] / right.weight) / 2
    if g.monotonic[feature] > 0:
        left.values[place + 1] = right.values[place] = middle
    else:
        left.values[place] = right.values[place + 1] = middle


cdef bint split(
    const growth_t* g, part_t* p, const node_t* node, const split_t* s, halves_t* halves
) noexcept nogil:
    """Split the node, which was written last, and put its children on the stack; returns whether the node was split.

    halves: out, set if the node was split: what the partition of the other lists needs.
    """
    cdef int32_t* record = p.nodes + (p.n_nodes - 1) * NODE_INTS
    cdef int32_t missing = -1
    cdef node_t left, right
    halves.start, halves.cut, halves.stop = node.start, node.start + s.cut, node.stop
    halves.feature, halves.left, halves.right = s.feature, True, True
    if is_short(g, s.feature):
        mark_short(g, node, s, record)
    else:
        missing = mark_full(g, p, node, s, record)
        if s.how == IN_ORDER and g.common != NULL:
            mark_sides(g, list_of(g, s.feature, node.start), s.cut, node.stop - node.start)
    if g.common != NULL:
        partition(g, halves, g.n_features, p.scratch.items)
    describe_children(g, p, node, s, &left, &right)
    if not gains_enough(g, node, &left, &right):
        return False
    if g.monotonic != NULL:
        bound_children(g, node, s.feature, &left, &right)
    record[FEATURE], record[MISSING] = <int32_t> s.feature, missing
    halves.left, halves.right = not left.leaf, not right.leaf
    if (halves.left or halves.right) and s.how == IN_ORDER and g.common == NULL:
        mark_sides(g, list_of(g, s.feature, node.start), s.cut, node.stop - node.start)
    push(p, &right)
    push(p, &left)
    return True


def open_root(Growth growth, part):
    """Put the root, the node of all rows, on the empty stack of the part's waiting nodes."""
    cdef growth_t* g = &growth.c
    cdef part_t p
    cdef node_t node
    fill_part(&p, growth, part)
    memset(&node, 0, sizeof(node_t))
    node.stop, node.values = g.n, p.children
    node.list = 0 if g.common == NULL else g.n_features
    with nogil:
        describe(g, &node, &p.scratch)
        if g.monotonic != NULL:
            node.values[g.n_values], node.values[g.n_values + 1] = -INFINITY, INFINITY
        push(&p, &node)
    store_part(&p, part)


def grow(Growth growth, part, double budget):
    """Grow the part by about `budget` cells, or until it is full or complete; returns the number of rows in new leaves.

    The part is complete when no node waits on the stack. It is full when its arrays have no space for one more node,
    two more waiting nodes, and one more subset.
    """
    cdef growth_t* g = &growth.c
    cdef part_t p
    cdef node_t node
    cdef split_t best
    cdef halves_t halves
    cdef Py_ssize_t n_done = 0, i
    fill_part(&p, growth, part)
    with nogil:
        while (
            p.n_waiting > 0 and p.n_nodes <= p.most_nodes and p.n_waiting <= p.most_waiting
            and p.n_words <= p.most_words and budget > 0
        ):
            pop(g, &p, &node)
            if not node.leaf:
                budget -= <double> g.n_features * (node.stop - node.start)
                read_total(g, &node, &p.scratch)
                if g.max_features < g.n_features:
                    find_drawn(g, &p, &node, &best)
                else:
                    find_varying(g, &p, &node, &best)
                if best.feature >= 0 and split(g, &p, &node, &best, &halves):
                    if halves.left or halves.right:
                        for i in range(node.n_constant, g.n_features):
                            partition(g, &halves, p.features[i], p.scratch.items)
                    continue
            n_done += node.stop - node.start
    store_part(&p, part)
    return n_done


def write_leaf(Growth growth, part):
    """Take the top off the stack of a subtree's waiting nodes, and write it to the subtree's arrays as a leaf."""
    cdef part_t p
    cdef node_t node
    fill_part(&p, growth, part)
    pop(&growth.c, &p, &node)
    store_part(&p, part)


def find_split(Growth growth, part, scratch, Py_ssize_t first, Py_ssize_t stop):
    """(score, feature, cut, how) of the best split of the node on top of the part's stack, over features [first, stop).

    The feature is -1 if there is no split. If nodes draw features at random, the draw is over all features.
    """
    cdef growth_t* g = &growth.c
    cdef part_t p
    cdef node_t node
    cdef split_t best
    cdef Py_ssize_t f
    fill_part(&p, growth, part)
    fill_scratch(&p.scratch, scratch)
    read_waiting(&p, 0, &node)
    with nogil:
        read_total(g, &node, &p.scratch)
        best.feature, best.score, best.cut, best.how = -1, 0, 0, 0
        if g.max_features < g.n_features:
            find_drawn(g, &p, &node, &best)
        else:
            for f in range(first, stop):
                try_feature(g, &node, f, &p.scratch, &best)
    return best.score, best.feature, best.cut, best.how


def split_top(Growth growth, part, Py_ssize_t feature, Py_ssize_t cut, Py_ssize_t how):
    """Split the node on top of the part's stack, and write it.

    Returns (whether it was split, whether a child will be searched).
    """
    cdef part_t p
    cdef node_t node
    cdef split_t s
    cdef halves_t halves
    cdef bint done
    fill_part(&p, growth, part)
    s.feature, s.cut, s.how = feature, cut, how
    with nogil:
        pop(&growth.c, &p, &node)
        done = split(&growth.c, &p, &node, &s, &halves)
    store_part(&p, part)
    return done, done and (halves.left or halves.right)


def partition_lists(Growth growth, part, uint64_t[::1] scratch, Py_ssize_t first, Py_ssize_t stop):
    """Partition the lists of features [first, stop) of the node written last, for its children, the top of the stack.

    scratch: scratch space of shape (number of rows of the node,).
    """
    cdef part_t p
    cdef node_t left, right
    cdef halves_t halves
    cdef Py_ssize_t f
    fill_part(&p, growth, part)
    read_waiting(&p, 0, &left)
    read_waiting(&p, 1, &right)
    halves.start, halves.cut, halves.stop = left.start, right.start, right.stop
    halves.feature = p.nodes[(p.n_nodes - 1) * NODE_INTS + FEATURE]
    halves.left, halves.right = not left.leaf, not right.leaf
    with nogil:
        for f in range(first, stop):
            partition(&growth.c, &halves, f, &scratch[0])
