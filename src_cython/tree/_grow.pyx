# Trees grown on lists that are sorted once (`_presort.pyx`): a node is a range of every list, a split partitions it.
#
# invariants: a node's rows are in list[start:stop] of every feature that differs among them; a feature that is constant
#             in a node is not partitioned any more, and both ends of its range keep the same rank, so it is never split
#             a list is in the order of its ranks within each node: what is missing is at the end, a category together
#             nodes are written in pre-order, a left child right behind its parent, and never read again
#
# Nodes that wait are on a stack in arrays, so no depth is too deep. A part is one subtree: the ranges of two parts have
# no rows in common, so threads may grow them side by side.
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from tree._node_summary cimport describe
from tree._growth cimport (
    SQUARED_ERROR, group_t, growth_t, is_constant, is_short, length_of, node_t, rank_of, room_t, row_of,
)
from tree._partition cimport mark_sides, partition
from tree._plain_split cimport IN_ORDER, MISSING_FIRST, arrange, first_at_least, split_t, try_feature

cdef enum:
    FEATURE = 0  # columns of a part's nodes; feature -1: a leaf, -2 - i: what is in part number i
    SIZE = 1
    BELOW = 2  # the row of the value next to the threshold on the left, or where the subset begins; of a leaf any row
    ABOVE = 3
    MISSING = 4  # where missing values go: 1 left, 0 right, -1 there were none
    NODE_INTS = 5
    START = 0  # columns of a part's stack
    STOP = 1
    DEPTH = 2
    LIST = 3
    LEAF = 4
    PATH = 5
    CONSTANT = 6
    STACK_INTS = 7
    WEIGHT = 0  # columns of both's numbers
    IMPURITY = 1
    VALUES = 2

ctypedef struct part_t:
    int32_t* nodes
    double* numbers
    int64_t* stack
    double* waiting
    Py_ssize_t width, n_nodes, n_waiting, n_words
    room_t room
    uint64_t* subsets  # each: the number of categories, then a bit for each: 1 goes left
    double* children  # 2 (width - VALUES)
    int32_t* features  # n_features: of the node that is next those known to be constant, then the others


cdef void fill_growth(growth_t* g, growth):
    cdef uint64_t[:, ::1] items = growth.items
    cdef const double[:, ::1] y = growth.y
    cdef const double[::1] weight = growth.weight
    cdef const double[::1] table = growth.table
    cdef const int32_t[::1] first_value = growth.first_value
    cdef const int32_t[::1] n_codes = growth.n_codes
    cdef const int8_t[::1] monotonic = growth.monotonic
    cdef const int32_t[:, ::1] common = growth.common
    cdef uint8_t[::1] side = growth.side
    g.items = &items[0, 0]
    g.n_features, g.n = growth.n_features, items.shape[1]
    g.common = NULL if common is None else &common[0, 0]
    g.common_row = NULL if common is None else &common[1, 0]
    g.n_values, g.n_outputs = growth.n_values, first_value.shape[0] - 1
    g.row_bits, g.rank_shift = growth.row_bits, growth.rank_shift
    g.row_mask = (<uint64_t> 1 << g.row_bits) - 1
    g.class_mask = (<uint64_t> 1 << (g.rank_shift - g.row_bits)) - 1
    g.missing = ~<uint64_t> 0 >> g.rank_shift
    g.criterion = growth.criterion
    g.y = NULL if y is None else &y[0, 0]
    g.weight = NULL if weight is None else &weight[0]
    g.table = NULL if table is None else &table[0]
    g.first_value = &first_value[0]
    g.n_codes = NULL if n_codes is None else &n_codes[0]
    g.monotonic = NULL if monotonic is None else &monotonic[0]
    g.side = &side[0]
    g.max_depth, g.min_split, g.min_leaf = growth.max_depth, growth.min_split, growth.min_leaf
    g.max_features, g.seed, g.most_words = growth.max_features, growth.seed, growth.most_words
    g.min_leaf_weight, g.min_decrease = growth.min_leaf_weight, growth.min_decrease
    g.total_weight = growth.total_weight


cdef void fill_room(room_t* r, room):
    cdef double[::1] sides = room.sides
    cdef uint64_t[::1] items = room.items
    cdef double[:, ::1] groups = room.groups
    cdef double[::1] losses = room.losses
    r.sides, r.items, r.groups, r.losses = &sides[0], &items[0], <group_t*> &groups[0, 0], &losses[0]


cdef void fill_part(part_t* p, part):
    cdef int32_t[:, ::1] nodes = part.nodes
    cdef double[:, ::1] numbers = part.numbers
    cdef int64_t[:, ::1] stack = part.stack
    cdef double[:, ::1] waiting = part.waiting
    cdef double[:, ::1] children = part.children
    cdef int32_t[::1] features = part.features
    cdef uint64_t[::1] subsets = part.subsets
    fill_room(&p.room, part.room)
    p.nodes, p.numbers, p.stack, p.waiting = &nodes[0, 0], &numbers[0, 0], &stack[0, 0], &waiting[0, 0]
    p.width, p.n_nodes, p.n_waiting, p.n_words = numbers.shape[1], part.n_nodes, part.n_waiting, part.n_words
    p.children, p.features, p.subsets = &children[0, 0], &features[0], &subsets[0]


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


cdef void read_top(part_t* p, node_t* node) noexcept nogil:
    cdef int64_t* entry = p.stack + (p.n_waiting - 1) * STACK_INTS
    cdef double* numbers = p.waiting + (p.n_waiting - 1) * p.width
    node.start, node.stop, node.depth = entry[START], entry[STOP], entry[DEPTH]
    node.list, node.leaf, node.path = entry[LIST], entry[LEAF], <uint64_t> entry[PATH]
    node.n_constant = entry[CONSTANT]
    node.weight, node.impurity, node.values = numbers[WEIGHT], numbers[IMPURITY], numbers + VALUES


cdef void write_leaf(const growth_t* g, part_t* p, const node_t* node) noexcept nogil:
    """Move the top of the stack to the nodes, as a leaf until it is split."""
    cdef int32_t* record = p.nodes + p.n_nodes * NODE_INTS
    cdef double* numbers = p.numbers + p.n_nodes * p.width
    record[FEATURE], record[SIZE], record[MISSING] = -1, <int32_t> (node.stop - node.start), -1
    record[BELOW] = record[ABOVE] = <int32_t> row_of(g, g.items[node.list * g.n + node.start])
    numbers[WEIGHT], numbers[IMPURITY] = node.weight, node.impurity
    memcpy(numbers + VALUES, node.values, (p.width - VALUES) * sizeof(double))
    p.n_nodes += 1
    p.n_waiting -= 1


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


cdef void find(
    const growth_t* g, room_t* room, const node_t* node, Py_ssize_t first, Py_ssize_t stop, split_t* best
) noexcept nogil:
    """The best split by features [first, stop): first feature, then smallest threshold, of equal scores."""
    cdef Py_ssize_t f
    best.feature = -1
    for f in range(first, stop):
        try_feature(g, node, f, room, best)


cdef void find_varying(const growth_t* g, part_t* p, node_t* node, split_t* best) noexcept nogil:
    """The best split by all features; more are known to be constant then.

    What is below the node turns only features behind its constant ones round, so a sibling finds all that it needs.
    """
    cdef Py_ssize_t i
    cdef int32_t f
    best.feature = -1
    for i in range(node.n_constant, g.n_features):
        f = p.features[i]
        if is_constant(g, f, g.items + f * g.n + node.start, node.stop - node.start):
            p.features[i] = p.features[node.n_constant]
            p.features[node.n_constant] = f
            node.n_constant += 1
        else:
            try_feature(g, node, f, &p.room, best)


cdef void find_drawn(
    const growth_t* g, int32_t* features, room_t* room, const node_t* node, split_t* best
) noexcept nogil:
    """The best split by features drawn by the node's own random numbers, until max_features are not constant."""
    cdef Py_ssize_t i, f, other, tried = 0
    cdef uint64_t state = mixed(g.seed ^ node.path)
    best.feature = -1
    for i in range(g.n_features):
        features[i] = <int32_t> i
    for i in range(g.n_features):
        if tried == g.max_features:
            break
        state += <uint64_t> 0x9E3779B97F4A7C15
        other = i + <Py_ssize_t> (mixed(state) % <uint64_t> (g.n_features - i))
        f = features[other]
        features[other] = features[i]
        features[i] = <int32_t> f
        tried += not is_constant(g, f, g.items + f * g.n + node.start, node.stop - node.start)
        try_feature(g, node, f, room, best)


cdef void write_subset(
    const growth_t* g, part_t* p, const uint64_t* order, Py_ssize_t n, const split_t* s, bint absent_left
) noexcept nogil:
    """The categories that go left; one that is not in the node goes where what is missing goes."""
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


cdef void bound_children(
    const growth_t* g, const node_t* node, Py_ssize_t feature, node_t* left, node_t* right
) noexcept nogil:
    """The children may predict what the node may, and not pass the middle between them where order matters."""
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


cdef void mark_short(
    const growth_t* g, const node_t* node, Py_ssize_t feature, Py_ssize_t cut, int32_t* below_out, int32_t* above_out
) noexcept nogil:
    """Mark the sides of the rows, and find those next to the cut, by a list that leaves rows out."""
    cdef const uint64_t* list = g.items + feature * g.n + node.start
    cdef const uint64_t* rows = g.items + g.n_features * g.n + node.start
    cdef Py_ssize_t n = node.stop - node.start, length = length_of(g, list, n), k, first
    cdef Py_ssize_t common = first_at_least(g, list, g.common[feature], 0, length)  # where the rows left out would be
    cdef bint others_left = cut > common
    first = cut - (n - length) if others_left else cut
    below_out[0] = above_out[0] = g.common_row[feature]
    if first > common or (not others_left):
        below_out[0] = <int32_t> row_of(g, list[first - 1])
    if first < common or others_left or length == n:
        above_out[0] = <int32_t> row_of(g, list[first])
    for k in range(n):
        g.side[row_of(g, rows[k])] = others_left
    if others_left:
        for k in range(first, length):
            g.side[row_of(g, list[k])] = 0
    else:
        for k in range(first):
            g.side[row_of(g, list[k])] = 1


cdef bint split(
    const growth_t* g, part_t* p, const node_t* node, const split_t* s, bint* left_out, bint* right_out
) noexcept nogil:
    """Make the last node written, `node`, the parent of two that wait; False: it stays a leaf.

    left_out, right_out: whether the child is to be searched, so that its lists must be partitioned.
    """
    cdef Py_ssize_t f = s.feature, cut = node.start + s.cut, n = node.stop - node.start
    cdef const uint64_t* order = g.items + f * g.n + node.start
    cdef int32_t* record = p.nodes + (p.n_nodes - 1) * NODE_INTS
    cdef node_t left, right
    cdef int32_t missing = -1
    cdef bint marked = s.how != IN_ORDER or g.common != NULL
    if is_short(g, f):
        mark_short(g, node, f, s.cut, &record[BELOW], &record[ABOVE])
    else:
        if rank_of(g, order[n - 1]) == g.missing:
            missing = s.how == MISSING_FIRST
        if s.how != IN_ORDER:
            arrange(g, node, f, s.how, &p.room)
            order = p.room.items
        if marked:
            mark_sides(g, order, s.cut, n)
        if s.how != IN_ORDER and missing >= 0:
            missing = g.side[row_of(g, g.items[f * g.n + node.stop - 1])]
        record[BELOW] = <int32_t> row_of(g, order[s.cut - 1])
        record[ABOVE] = <int32_t> row_of(g, order[s.cut])
        if s.how > MISSING_FIRST:
            record[BELOW] = <int32_t> p.n_words
            write_subset(g, p, order, n, s, missing > 0 or (missing < 0 and s.cut > n - s.cut))
        if s.how != IN_ORDER:
            partition(g, node.start, node.stop, cut, -1, True, True, NULL, f, f + 1, p.room.items)
    left.start, left.stop, left.depth, left.list = node.start, cut, node.depth + 1, f
    right.start, right.stop, right.depth, right.list = cut, node.stop, left.depth, f
    if g.common != NULL:
        left.list = right.list = g.n_features
        partition(
            g, node.start, node.stop, cut, f, True, True, NULL, g.n_features, g.n_features + 1, p.room.items
        )
    left.n_constant = right.n_constant = node.n_constant
    left.path, right.path = mixed(2 * node.path), mixed(2 * node.path + 1)
    left.values = p.children
    right.values = p.children + p.width - VALUES
    describe(g, &left, &p.room)
    describe(g, &right, &p.room)
    if g.min_decrease > 0:
        if (
            node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity
        ) / g.total_weight + 2.220446049250313e-16 < g.min_decrease:
            return False
    if g.monotonic != NULL:
        bound_children(g, node, f, &left, &right)
    record[FEATURE], record[MISSING] = <int32_t> f, missing
    left_out[0] = not left.leaf
    right_out[0] = not right.leaf
    if not marked and (left_out[0] or right_out[0]):
        mark_sides(g, order, s.cut, n)
    push(p, &right)
    push(p, &left)
    return True


def open_part(growth, part, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path, Py_ssize_t feature,
              values):
    """Put a node on the part's stack; the list of `feature` holds its rows. values: None, or with its bounds."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef const double[::1] bounds = values
    fill_growth(&g, growth)
    fill_part(&p, part)
    node.start, node.stop, node.depth, node.list = start, stop, depth, feature
    node.path = path
    node.n_constant = 0
    node.values = p.children
    with nogil:
        describe(&g, &node, &p.room)
        if g.monotonic != NULL:
            node.values[g.n_values] = -INFINITY if bounds is None else bounds[g.n_values]
            node.values[g.n_values + 1] = INFINITY if bounds is None else bounds[g.n_values + 1]
        push(&p, &node)
    store_part(&p, part)


def grow(growth, part, double budget):
    """Grow the part for about `budget` cells; it is whole once `part.n_waiting` is 0. Returns the rows now in leaves.

    Stops also where the arrays are full: nodes for one more, the stack for two, subsets for one.
    """
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef split_t best
    cdef Py_ssize_t n_done = 0, most_nodes = part.nodes.shape[0], most_waiting = part.stack.shape[0] - 2, most_words
    cdef bint left, right
    fill_growth(&g, growth)
    fill_part(&p, part)
    most_words = part.subsets.shape[0] - g.most_words
    with nogil:
        while (
            p.n_waiting > 0 and p.n_nodes < most_nodes and p.n_waiting < most_waiting and p.n_words <= most_words
            and budget > 0
        ):
            read_top(&p, &node)
            write_leaf(&g, &p, &node)
            node.values = p.numbers + (p.n_nodes - 1) * p.width + VALUES
            if not node.leaf:
                budget -= <double> g.n_features * (node.stop - node.start)
                if g.max_features < g.n_features:
                    find_drawn(&g, p.features, &p.room, &node, &best)
                else:
                    find_varying(&g, &p, &node, &best)
                if best.feature >= 0 and split(&g, &p, &node, &best, &left, &right):
                    if left or right:
                        partition(
                            &g, node.start, node.stop, node.start + best.cut, best.feature, left, right, p.features,
                            node.n_constant, g.n_features, p.room.items
                        )
                    continue
            n_done += node.stop - node.start
    store_part(&p, part)
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
    store_part(&p, part)
    return node.start, node.stop, node.depth, node.path, node.list, node.leaf


cdef void last_node(
    part_t* p, node_t* node, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path
) noexcept nogil:
    cdef double* numbers = p.numbers + (p.n_nodes - 1) * p.width
    node.start, node.stop, node.depth, node.path, node.n_constant = start, stop, depth, path, 0
    node.weight, node.impurity, node.values = numbers[WEIGHT], numbers[IMPURITY], numbers + VALUES


def find_split(growth, part, room, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path,
               Py_ssize_t first, Py_ssize_t last):
    """(score, feature, cut, how) of the best split of the last node by features [first, last); feature -1: none."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef split_t best
    fill_growth(&g, growth)
    fill_part(&p, part)
    fill_room(&p.room, room)
    last_node(&p, &node, start, stop, depth, path)
    with nogil:
        best.score, best.cut, best.how = 0, 0, 0
        if g.max_features < g.n_features:
            find_drawn(&g, p.features, &p.room, &node, &best)
        else:
            find(&g, &p.room, &node, first, last, &best)
    return best.score, best.feature, best.cut, best.how


def split_node(growth, part, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, uint64_t path, Py_ssize_t feature,
               Py_ssize_t cut, Py_ssize_t how):
    """(whether it was split, whether the left and whether the right child is to be searched)."""
    cdef growth_t g
    cdef part_t p
    cdef node_t node
    cdef split_t s
    cdef bint done, left = False, right = False
    fill_growth(&g, growth)
    fill_part(&p, part)
    last_node(&p, &node, start, stop, depth, path)
    s.feature, s.cut, s.how = feature, cut, how
    with nogil:
        done = split(&g, &p, &node, &s, &left, &right)
    store_part(&p, part)
    return done, left, right


def partition_lists(growth, uint64_t[::1] scratch, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t cut,
                    Py_ssize_t feature, bint left, bint right, Py_ssize_t first, Py_ssize_t last):
    cdef growth_t g
    fill_growth(&g, growth)
    with nogil:
        partition(&g, start, stop, cut, feature, left, right, NULL, first, last, &scratch[0])
