# Trees grown on lists that are sorted once (`_presort.pyx`): a node is a range of every list, a split partitions it.
#
# invariants: a node's rows are in list[start:stop] of every feature that differs among them; a feature that is constant
#             in a node is not partitioned any more, and both ends of its range keep the same rank, so it is never split
#             nodes are written in pre-order, a left child right behind its parent
#
# Nodes that wait are on a stack in arrays, so no depth is too deep. A part is one subtree: the ranges of two parts have
# no rows in common, so threads may grow them side by side.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from _split cimport (
    ENTROPY,
    GINI,
    SQUARED_ERROR,
    class_of,
    growth_t,
    node_t,
    row_of,
    same_value,
    scan_list,
    x_log_x,
)

cdef enum:
    FEATURE = 0  # columns of a part's nodes; feature -1: a leaf, -2 - i: what is in part number i
    RIGHT = 1
    SIZE = 2
    BELOW = 3  # the row of the value next to the threshold on the left; of a leaf any row of it
    ABOVE = 4
    NODE_INTS = 5
    START = 0  # columns of a part's stack
    STOP = 1
    DEPTH = 2
    PARENT = 3
    LIST = 4
    LEAF = 5
    PATH = 6
    STACK_INTS = 7
    WEIGHT = 0  # columns of both's numbers
    IMPURITY = 1
    VALUES = 2

ctypedef struct part_t:
    int32_t* nodes
    double* numbers
    int64_t* stack
    double* waiting
    Py_ssize_t width, n_nodes, n_waiting
    uint64_t* scratch  # as many as the part has rows
    double* sides  # 2 n_classes
    double* children  # 2 n_classes
    int32_t* features  # n_features


cdef void fill_growth(growth_t* g, growth):
    cdef uint64_t[:, ::1] items = growth.items
    cdef const double[::1] y = growth.y
    cdef const double[::1] weight = growth.weight
    cdef const double[::1] table = growth.table
    cdef uint8_t[::1] side = growth.side
    g.items = &items[0, 0]
    g.n_features, g.n = items.shape[0], items.shape[1]
    g.n_classes = growth.n_values
    g.row_bits, g.rank_shift = growth.row_bits, growth.rank_shift
    g.row_mask = (<uint64_t> 1 << g.row_bits) - 1
    g.class_mask = (<uint64_t> 1 << (g.rank_shift - g.row_bits)) - 1
    g.criterion = growth.criterion
    g.y = NULL if y is None else &y[0]
    g.weight = NULL if weight is None else &weight[0]
    g.table = NULL if table is None else &table[0]
    g.side = &side[0]
    g.max_depth, g.min_split, g.min_leaf = growth.max_depth, growth.min_split, growth.min_leaf
    g.max_features, g.seed = growth.max_features, growth.seed
    g.min_leaf_weight, g.min_decrease = growth.min_leaf_weight, growth.min_decrease
    g.total_weight = growth.total_weight


cdef void fill_part(part_t* p, part):
    cdef int32_t[:, ::1] nodes = part.nodes
    cdef double[:, ::1] numbers = part.numbers
    cdef int64_t[:, ::1] stack = part.stack
    cdef double[:, ::1] waiting = part.waiting
    cdef double[:, ::1] sides = part.sides
    cdef int32_t[::1] features = part.features
    cdef uint64_t[::1] scratch = part.scratch
    p.nodes, p.numbers, p.stack, p.waiting = &nodes[0, 0], &numbers[0, 0], &stack[0, 0], &waiting[0, 0]
    p.width, p.n_nodes, p.n_waiting = numbers.shape[1], part.n_nodes, part.n_waiting
    p.sides, p.children, p.features, p.scratch = &sides[0, 0], &sides[1, 0], &features[0], &scratch[0]


cdef void describe(const growth_t* g, node_t* node) noexcept nogil:
    """Weight, values, impurity and whether it is a leaf for sure, from a list that holds."""
    cdef const uint64_t* list = g.items + node.list * g.n
    cdef Py_ssize_t k, c, row
    cdef double w = 1, total = 0, first, square = 0, most = 0
    cdef bint pure = True
    node.weight = 0
    for c in range(g.n_classes):
        node.values[c] = 0
    if g.criterion == SQUARED_ERROR:
        first = g.y[row_of(g, list[node.start])]
        for k in range(node.start, node.stop):
            row = row_of(g, list[k])
            if g.weight != NULL:
                w = g.weight[row]
            node.weight += w
            total += w * g.y[row]
            pure &= g.y[row] == first
        node.values[0] = total / node.weight
        if not pure:
            for k in range(node.start, node.stop):
                row = row_of(g, list[k])
                if g.weight != NULL:
                    w = g.weight[row]
                square += w * (g.y[row] - node.values[0]) * (g.y[row] - node.values[0])
        node.impurity = square / node.weight
    else:
        if g.weight == NULL:
            for k in range(node.start, node.stop):
                node.values[class_of(g, list[k])] += 1
            node.weight = node.stop - node.start
        else:
            for k in range(node.start, node.stop):
                w = g.weight[row_of(g, list[k])]
                node.values[class_of(g, list[k])] += w
                node.weight += w
        row = 0
        for c in range(g.n_classes):
            row += node.values[c] > 0
            most = max(most, node.values[c])
            square += (node.values[c] / node.weight) * (node.values[c] / node.weight)
            total += x_log_x(node.values[c] / node.weight)
        pure = row == 1
        if pure:
            node.impurity = 0
        elif g.criterion == GINI:
            node.impurity = 1 - square
        elif g.criterion == ENTROPY:
            node.impurity = -total
        else:
            node.impurity = 1 - most / node.weight
    node.leaf = (
        pure or node.depth >= g.max_depth or node.stop - node.start < g.min_split
        or node.stop - node.start < 2 * g.min_leaf or node.weight < 2 * g.min_leaf_weight
    )


cdef void push(const growth_t* g, part_t* p, const node_t* node) noexcept nogil:
    cdef int64_t* entry = p.stack + p.n_waiting * STACK_INTS
    cdef double* numbers = p.waiting + p.n_waiting * p.width
    cdef Py_ssize_t c
    entry[START], entry[STOP], entry[DEPTH], entry[PARENT] = node.start, node.stop, node.depth, node.parent
    entry[LIST], entry[LEAF], entry[PATH] = node.list, node.leaf, <int64_t> node.path
    numbers[WEIGHT], numbers[IMPURITY] = node.weight, node.impurity
    for c in range(g.n_classes):
        numbers[VALUES + c] = node.values[c]
    p.n_waiting += 1


cdef void read_top(part_t* p, node_t* node) noexcept nogil:
    cdef int64_t* entry = p.stack + (p.n_waiting - 1) * STACK_INTS
    cdef double* numbers = p.waiting + (p.n_waiting - 1) * p.width
    node.start, node.stop, node.depth, node.parent = entry[START], entry[STOP], entry[DEPTH], entry[PARENT]
    node.list, node.leaf, node.path = entry[LIST], entry[LEAF], <uint64_t> entry[PATH]
    node.weight, node.impurity, node.values = numbers[WEIGHT], numbers[IMPURITY], numbers + VALUES


cdef void write_leaf(const growth_t* g, part_t* p, const node_t* node) noexcept nogil:
    """Move the top of the stack to the nodes, as a leaf until it is split."""
    cdef int32_t* record = p.nodes + p.n_nodes * NODE_INTS
    cdef double* numbers = p.numbers + p.n_nodes * p.width
    cdef Py_ssize_t c
    record[FEATURE], record[RIGHT], record[SIZE] = -1, -1, <int32_t> (node.stop - node.start)
    record[BELOW] = record[ABOVE] = <int32_t> row_of(g, g.items[node.list * g.n + node.start])
    if node.parent >= 0:
        p.nodes[node.parent * NODE_INTS + RIGHT] = <int32_t> p.n_nodes
    numbers[WEIGHT], numbers[IMPURITY] = node.weight, node.impurity
    for c in range(g.n_classes):
        numbers[VALUES + c] = node.values[c]
    p.n_nodes += 1
    p.n_waiting -= 1


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


cdef bint find(
    const growth_t* g, part_t* p, const node_t* node, Py_ssize_t first, Py_ssize_t stop, double* score_out,
    Py_ssize_t* feature_out, Py_ssize_t* cut_out
) noexcept nogil:
    """The best split by features [first, stop): first feature, then smallest threshold, of equal scores.

    With max_features below n_features, all features are wanted: those that are tried are drawn by the node's own random
    numbers, until max_features of them are not constant.
    """
    cdef Py_ssize_t i, f, other, tried = 0, cut = -1
    cdef double score = 0
    cdef uint64_t state = mixed(g.seed ^ node.path)
    cdef bint drawn = g.max_features < g.n_features
    feature_out[0] = -1
    if drawn:
        for i in range(g.n_features):
            p.features[i] = <int32_t> i
    for i in range(first, stop):
        f = i
        if drawn:
            if tried == g.max_features:
                break
            state += <uint64_t> 0x9E3779B97F4A7C15
            other = i + <Py_ssize_t> (mixed(state) % <uint64_t> (g.n_features - i))
            f = p.features[other]
            p.features[other] = p.features[i]
            tried += not same_value(
                g, g.items[f * g.n + node.start], g.items[f * g.n + node.stop - 1]
            )
        scan_list(g, node, f, p.sides, &score, &cut)
        if cut >= 0 and (
            feature_out[0] < 0 or score > score_out[0] or (score == score_out[0] and f < feature_out[0])
        ):
            score_out[0], feature_out[0], cut_out[0] = score, f, cut
    return feature_out[0] >= 0


cdef bint split(
    const growth_t* g, part_t* p, const node_t* node, Py_ssize_t feature, Py_ssize_t cut, bint* left_out,
    bint* right_out
) noexcept nogil:
    """Make the last node written, `node`, the parent of two that wait; False: it stays a leaf.

    left_out, right_out: whether the child is to be searched, so that its lists must be partitioned.
    """
    cdef const uint64_t* list = g.items + feature * g.n
    cdef int32_t* record = p.nodes + (p.n_nodes - 1) * NODE_INTS
    cdef node_t left, right
    cdef Py_ssize_t k
    left.start, left.stop, left.depth, left.parent, left.list = node.start, cut, node.depth + 1, -1, feature
    right.start, right.stop, right.depth, right.parent, right.list = cut, node.stop, left.depth, p.n_nodes - 1, feature
    left.path, right.path = mixed(2 * node.path), mixed(2 * node.path + 1)
    left.values = p.children
    right.values = p.children + g.n_classes
    describe(g, &left)
    describe(g, &right)
    if g.min_decrease > 0:
        if (
            node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity
        ) / g.total_weight + 2.220446049250313e-16 < g.min_decrease:
            return False
    record[FEATURE] = <int32_t> feature
    record[BELOW] = <int32_t> row_of(g, list[cut - 1])
    record[ABOVE] = <int32_t> row_of(g, list[cut])
    left_out[0] = not left.leaf
    right_out[0] = not right.leaf
    if left_out[0] or right_out[0]:
        for k in range(node.start, cut):
            g.side[row_of(g, list[k])] = 1
        for k in range(cut, node.stop):
            g.side[row_of(g, list[k])] = 0
    push(g, p, &right)
    push(g, p, &left)
    return True


cdef void partition(
    const growth_t* g, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t cut, Py_ssize_t split_feature, bint left,
    bint right, Py_ssize_t first, Py_ssize_t last, uint64_t* scratch
) noexcept nogil:
    """Bring the rows of side 1 to the front of [start, stop) of lists [first, last), those that the children need."""
    cdef Py_ssize_t f, k, o, t, n_left = cut - start
    cdef uint64_t* list
    cdef uint64_t item
    cdef uint64_t row_mask = g.row_mask
    cdef const uint8_t* side = g.side
    for f in range(first, last):
        list = g.items + f * g.n + start
        if f == split_feature or same_value(g, list[0], list[stop - start - 1]):
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


def open_part(growth, part, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path, Py_ssize_t feature):
    """Put a node on the part's stack; the list of `feature` holds its rows."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    fill_growth(&g, growth)
    fill_part(&p, part)
    node.start, node.stop, node.depth, node.parent, node.list = start, stop, depth, -1, feature
    node.path = path
    node.values = p.children
    with nogil:
        describe(&g, &node)
        push(&g, &p, &node)
    part.n_waiting = p.n_waiting


def grow(growth, part, double budget):
    """Grow the part for about `budget` cells; it is whole once `part.n_waiting` is 0. Returns the rows now in leaves.

    Stops also where the arrays are full: nodes for one more, the stack for two.
    """
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef Py_ssize_t feature, cut, n_done = 0, most_nodes = part.nodes.shape[0], most_waiting = part.stack.shape[0] - 2
    cdef double score
    cdef bint left, right
    fill_growth(&g, growth)
    fill_part(&p, part)
    with nogil:
        while p.n_waiting > 0 and p.n_nodes < most_nodes and p.n_waiting < most_waiting and budget > 0:
            read_top(&p, &node)
            write_leaf(&g, &p, &node)
            node.values = p.numbers + (p.n_nodes - 1) * p.width + VALUES
            if not node.leaf:
                budget -= <double> g.n_features * (node.stop - node.start)
                if find(&g, &p, &node, 0, g.n_features, &score, &feature, &cut) and split(
                    &g, &p, &node, feature, cut, &left, &right
                ):
                    if left or right:
                        partition(
                            &g, node.start, node.stop, cut, feature, left, right, 0, g.n_features, p.scratch
                        )
                    continue
            n_done += node.stop - node.start
    part.n_nodes = p.n_nodes
    part.n_waiting = p.n_waiting
    return n_done


def take_top(growth, part):
    """Write the top of the stack as a node; (start, stop, depth, path, feature whose list holds, is a leaf)."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    fill_growth(&g, growth)
    fill_part(&p, part)
    read_top(&p, &node)
    write_leaf(&g, &p, &node)
    part.n_nodes = p.n_nodes
    part.n_waiting = p.n_waiting
    return node.start, node.stop, node.depth, node.path, node.list, node.leaf


cdef void last_node(
    part_t* p, node_t* node, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path
) noexcept nogil:
    cdef double* numbers = p.numbers + (p.n_nodes - 1) * p.width
    node.start, node.stop, node.depth, node.path = start, stop, depth, path
    node.weight, node.impurity, node.values = numbers[WEIGHT], numbers[IMPURITY], numbers + VALUES


def find_split(growth, part, double[:, ::1] sides, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth,
               uint64_t path, Py_ssize_t first, Py_ssize_t last):
    """(score, feature, cut) of the best split of the last node by features [first, last); feature -1: none."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef double score = 0
    cdef Py_ssize_t feature = -1, cut = -1
    fill_growth(&g, growth)
    fill_part(&p, part)
    p.sides = &sides[0, 0]
    last_node(&p, &node, start, stop, depth, path)
    with nogil:
        find(&g, &p, &node, first, last, &score, &feature, &cut)
    return score, feature, cut


def split_node(growth, part, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path, Py_ssize_t feature,
               Py_ssize_t cut):
    """(whether it was split, whether the left and whether the right child is to be searched)."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef bint done, left = False, right = False
    fill_growth(&g, growth)
    fill_part(&p, part)
    last_node(&p, &node, start, stop, depth, path)
    with nogil:
        done = split(&g, &p, &node, feature, cut, &left, &right)
    part.n_waiting = p.n_waiting
    return done, left, right


def partition_lists(growth, uint64_t[::1] scratch, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t cut,
                    Py_ssize_t feature, bint left, bint right, Py_ssize_t first, Py_ssize_t last):
    cdef growth_t g
    fill_growth(&g, growth)
    with nogil:
        partition(&g, start, stop, cut, feature, left, right, first, last, &scratch[0])
