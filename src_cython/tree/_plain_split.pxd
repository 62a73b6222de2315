# The best split of a node by one feature, from its sorted list.
#
# in:  list[start:stop], the rows of a node in the order of one feature, as `_presort.pyx` makes items
# out: split_t, of the best cut: rows order[:cut] go left. A cut lies only between different ranks.
#
# The order is the list itself; with what is missing moved to its front; or with its categories in the order of their
# mean response, of which some cut is the best of all subsets for two classes and one number (Fisher 1958; Breiman et
# al. 1984, theorem 4.5). With more classes or numbers the best by any of them, each against the rest, is taken.
#
# Without weights scores of classes are from whole numbers, l and r the rows of the sides (`_general_split.pxd` has the
# others):
#
#     gini, two classes      (n l_1 - l n_1)^2 / (l r)                            integers, then one rounded division
#     gini                   (r sum_k l_k^2 + l sum_k r_k^2) / (l r)
#     entropy                sum_k t(l_k) + t(r_k) - t(l) - t(r),  t(i) = i log2 i in fixed point: every sum is exact
#     squared error          (sum_left (y - m))^2 / (l r),  m the node's mean
#
# A list is taken from both ends up to the value that more than half of the rows have, or whose rows it leaves out: the
# scores are the same whichever side is which.
#
# Scores are compared as rounded to 40 bits, so that what is equal but for rounding is a tie, whatever the order in
# which it is met; of equal scores the smaller threshold wins. Most are below the bar, which is seen without a division,
# and of BLOCK cuts at a time, whether between different ranks or not, by vectors.
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from tree._growth cimport (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    SQUARED_ERROR,
    class_of,
    group_t,
    growth_t,
    is_constant,
    is_short,
    length_of,
    node_t,
    rank_of,
    room_t,
    row_of,
    same_value,
    weight_of,
)
from tree._general_split cimport above_noise, beats, noise, scan_classes, scan_distances, scan_sums
from _vector cimport LANES_D, at_most_d, spread_d, vec_d

cdef enum:
    IN_ORDER = 0
    MISSING_FIRST = 1
    BY_RESPONSE = 2  # + v: categories by the mean of value v
    FEW = 32  # rows, among which no value that more than half have is looked for
    BLOCK = 64
    EXACT = 1 << 26  # rows, of fewer of which all products are whole doubles

ctypedef struct split_t:
    double score
    Py_ssize_t feature, cut, how  # feature -1: none; cut: rows on the left


ctypedef struct best_t:
    double score, bar
    Py_ssize_t cut  # rows taken; -1: none

# From which end rows are taken: of equal scores the smaller threshold wins, the first or the last that is met.
ctypedef struct upwards_t:
    char nothing

ctypedef struct downwards_t:
    char nothing

ctypedef fused way_t:
    upwards_t
    downwards_t


cdef inline const uint64_t* item_at(const way_t* way, const uint64_t* list, Py_ssize_t k) noexcept nogil:
    if way_t is upwards_t:
        return list + k
    else:
        return list - k


cdef inline void consider(
    const way_t* way, double score, double product, Py_ssize_t cut, best_t* best
) noexcept nogil:
    """Take score / product if it is better; most are seen not to be without a division."""
    if score >= best.bar * product and beats(score / product, &best.score, &best.bar, way_t is downwards_t):
        best.cut = cut


cdef inline void consider_two(
    const way_t* way, int64_t n, int64_t n_1, int64_t k, int64_t l_1, best_t* best
) noexcept nogil:
    cdef double difference = <double> (n * l_1 - k * n_1)
    consider(way, difference * difference, <double> k * <double> (n - k), k, best)


cdef inline void count_up(vec_d* k, Py_ssize_t start) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(LANES_D):
        (<double*> k)[i] = start + i


cdef inline bint is_cut(
    const way_t* way, const growth_t* g, const uint64_t* list, Py_ssize_t k, Py_ssize_t count, Py_ssize_t first
) noexcept nogil:
    """Whether the first k rows can be one side."""
    return k >= first and (k == count or not same_value(g, item_at(way, list, k - 1)[0], item_at(way, list, k)[0]))


cdef inline bint is_run(
    const way_t* way, const growth_t* g, const uint64_t* list, Py_ssize_t start, Py_ssize_t size, Py_ssize_t count
) noexcept nogil:
    """Whether no cut ends within `size` rows from a start."""
    return start + size < count and same_value(g, item_at(way, list, start)[0], item_at(way, list, start + size)[0])


cdef inline bint two_reach(
    const double* l_1, Py_ssize_t start, Py_ssize_t size, double n, double n_1, double bar
) noexcept nogil:
    """Whether a score of `size` cuts, from that of start + 1 rows on, is at least the bar."""
    cdef vec_d k, difference
    cdef Py_ssize_t i
    cdef unsigned int reached = 0
    count_up(&k, start + 1)
    for i in range(size // LANES_D):
        difference = spread_d(n) * (<const vec_d*> l_1)[i] - k * spread_d(n_1)
        reached |= at_most_d(spread_d(bar) * (k * (spread_d(n) - k)), difference * difference)
        k = k + spread_d(LANES_D)
    return reached


cdef inline void take_two(
    const way_t* way, const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t count, Py_ssize_t first,
    Py_ssize_t last, best_t* best_out
) noexcept nogil:
    cdef best_t best = best_out[0]
    cdef int64_t n = node.stop - node.start, n_1 = <int64_t> node.values[1], l_1 = 0
    cdef Py_ssize_t start = 0, size = 0, i
    cdef double l[BLOCK]  # no-cython-lint
    while start + size < min(count, last):
        start += size
        size = min(min(count, last) - start, <Py_ssize_t> BLOCK)
        for i in range(size):
            l_1 += item_at(way, list, start + i)[0] >> g.row_bits & 1
            l[i] = l_1
        if is_run(way, g, list, start, size, count):
            continue
        if size == BLOCK and n < EXACT and not two_reach(l, start, size, n, n_1, best.bar):
            continue
        for i in range(size):
            if is_cut(way, g, list, start + i + 1, count, first):
                consider_two(way, n, n_1, start + i + 1, <int64_t> l[i], &best)
    best_out[0] = best


cdef inline bint gini_reach(
    const double* left, const double* cross, Py_ssize_t start, Py_ssize_t size, double n, double squares, double bar
) noexcept nogil:
    cdef vec_d k, a, score
    cdef Py_ssize_t i
    cdef unsigned int reached = 0
    count_up(&k, start + 1)
    for i in range(size // LANES_D):
        a = (<const vec_d*> left)[i]
        score = a * (spread_d(n) - k) + (spread_d(squares) - spread_d(2) * (<const vec_d*> cross)[i] + a) * k
        reached |= at_most_d(spread_d(bar) * (k * (spread_d(n) - k)), score)
        k = k + spread_d(LANES_D)
    return reached


cdef inline void take_gini(
    const way_t* way, const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t count, Py_ssize_t first,
    Py_ssize_t last, double* sides, best_t* best_out
) noexcept nogil:
    cdef best_t best = best_out[0]
    cdef Py_ssize_t n = node.stop - node.start, start = 0, size = 0, i, k, c
    cdef double squares = 0, cross = 0  # the sums of n_c^2 and l_c n_c
    cdef int64_t left = 0  # the sum of l_c^2
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint; every second row's, so that no row waits for that before it
    cdef int64_t* others = l + g.n_values
    cdef double left_at[BLOCK]
    cdef double cross_at[BLOCK]
    for c in range(g.n_values):
        l[c] = others[c] = 0
        squares += node.values[c] * node.values[c]
    while start + size < min(count, last):
        start += size
        size = min(min(count, last) - start, <Py_ssize_t> BLOCK)
        for i in range(size):
            c = class_of(g, item_at(way, list, start + i)[0])
            left += 2 * (l[c] + others[c]) + 1
            cross += node.values[c]
            l[c] += 1
            l, others = others, l
            left_at[i], cross_at[i] = left, cross
        if is_run(way, g, list, start, size, count):
            continue
        if size == BLOCK and not gini_reach(left_at, cross_at, start, size, n, squares, best.bar):
            continue
        for i in range(size):
            k = start + i + 1
            if is_cut(way, g, list, k, count, first):
                consider(
                    way, left_at[i] * (n - k) + (squares - 2 * cross_at[i] + left_at[i]) * k,
                    <double> k * <double> (n - k), k, &best
                )
    best_out[0] = best


cdef inline void take_entropy(
    const way_t* way, const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t count, Py_ssize_t first,
    Py_ssize_t last, double* sides, best_t* best_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c, l_c, r_c
    cdef const double* t = g.table
    cdef double best = best_out.score, score, total = 0
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint
    cdef int64_t* r = <int64_t*> sides + g.n_values
    for c in range(g.n_values):
        l[c] = 0
        r[c] = <int64_t> node.values[c]
        total += t[r[c]]
    for k in range(1, min(count, last) + 1):
        c = class_of(g, item_at(way, list, k - 1)[0])
        l_c = l[c]
        r_c = r[c]
        total += (t[l_c + 1] - t[l_c]) - (t[r_c] - t[r_c - 1])
        l[c] = l_c + 1
        r[c] = r_c - 1
        if k < first or (k < count and same_value(g, item_at(way, list, k - 1)[0], item_at(way, list, k)[0])):
            continue
        score = total - (t[k] + t[n - k])
        if score > best or (way_t is downwards_t and score == best):
            best = score
            cut = k
    best_out.score = best
    best_out.cut = cut


cdef inline void consider_square(
    const way_t* way, double total, double product, double least, Py_ssize_t cut, best_t* best
) noexcept nogil:
    if total * total >= best.bar * product and beats(
        above_noise(total * total / product, least), &best.score, &best.bar, way_t is downwards_t
    ):
        best.cut = cut


cdef inline void take_squares(
    const way_t* way, const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t count, Py_ssize_t first,
    Py_ssize_t last, best_t* best_out
) noexcept nogil:
    cdef best_t best = best_out[0]
    cdef Py_ssize_t n = node.stop - node.start, k
    cdef double mean = node.values[0], total = 0, least = noise(node)
    cdef uint64_t item, next_item = list[0]
    for k in range(1, min(count - 1, last) + 1):
        item = next_item
        next_item = item_at(way, list, k)[0]
        total += g.y[row_of(g, item)] - mean
        if k < first or same_value(g, item, next_item):
            continue
        consider_square(way, total, <double> k * <double> (n - k), least, k, &best)
    if first <= count <= last:
        total += g.y[row_of(g, next_item)] - mean
        consider_square(way, total, <double> count * <double> (n - count), least, count, &best)
    best_out[0] = best


cdef inline void take_rows(
    const way_t* way, const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t count, Py_ssize_t first,
    Py_ssize_t last, double* sides, double floor, best_t* best
) noexcept nogil:
    """The best cut above the floor, of [first, last] rows taken, among the `count` rows from list[0] on."""
    best.score = floor
    best.bar = floor - fabs(floor) * 1e-12
    best.cut = -1
    if count == 0:
        return
    if g.criterion == SQUARED_ERROR:
        take_squares(way, g, node, list, count, first, last, best)
    elif g.criterion == ENTROPY:
        take_entropy(way, g, node, list, count, first, last, sides, best)
    elif g.n_values == 2:
        take_two(way, g, node, list, count, first, last, best)
    else:
        take_gini(way, g, node, list, count, first, last, sides, best)


cdef inline Py_ssize_t first_at_least(
    const growth_t* g, const uint64_t* list, uint64_t rank, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """The first place in [low, high) of such a rank, or `high`."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) >> 1
        if rank_of(g, list[middle]) < rank:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline Py_ssize_t far_end(
    const growth_t* g, const uint64_t* list, uint64_t item, Py_ssize_t inside, Py_ssize_t outside
) noexcept nogil:
    """The last place on the way from `inside` to `outside` that has the same value as the item."""
    cdef Py_ssize_t middle
    while outside - inside > 1 or inside - outside > 1:
        middle = (inside + outside) >> 1
        if same_value(g, list[middle], item):
            inside = middle
        else:
            outside = middle
    return inside


cdef inline void scan_from_both_ends(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, bint is_short_list, uint64_t common,
    double* sides, double floor, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    """Up to the rows of one value, which are left out or more than half, and which nothing need be known of."""
    cdef Py_ssize_t n = node.stop - node.start, below = n, above = n, stop = n
    cdef uint64_t middle
    cdef best_t left, right
    if is_short_list:
        stop = length_of(g, list, n)
        below = above = first_at_least(g, list, common, 0, stop)
    elif n > FEW:
        middle = list[n >> 1]
        if same_value(g, middle, list[n >> 2]) or same_value(g, middle, list[n - 1 - (n >> 2)]):
            below = far_end(g, list, middle, n >> 1, -1)
            above = far_end(g, list, middle, n >> 1, n) + 1
    take_rows(<const upwards_t*> NULL, g, node, list, below, first, n - g.min_leaf, sides, floor, &left)
    if above < stop:
        take_rows(
            <const downwards_t*> NULL, g, node, list + stop - 1, stop - above, g.min_leaf, n - first, sides, floor,
            &right,
        )
    else:
        right.cut = -1
    if right.cut >= 0 and (left.cut < 0 or right.score > left.score):
        score_out[0], cut_out[0] = right.score, n - right.cut
    else:
        score_out[0], cut_out[0] = left.score, left.cut


cdef inline int compare_groups(const void* a, const void* b) noexcept nogil:
    cdef const group_t* x = <const group_t*> a
    cdef const group_t* y = <const group_t*> b
    if x.mean != y.mean:
        return 1 if x.mean > y.mean else -1
    return 1 if x.start > y.start else -1


cdef inline double response(const growth_t* g, uint64_t item, Py_ssize_t v) noexcept nogil:
    """Value v of a row: a number, or whether it is of that class."""
    cdef Py_ssize_t row = row_of(g, item), o = 0
    if g.y == NULL:
        return class_of(g, item) == v
    if g.criterion >= SQUARED_ERROR:
        return g.y[row * g.n_outputs + v]
    while g.first_value[o + 1] <= v:
        o += 1
    return g.y[row * g.n_outputs + o] == v


cdef inline Py_ssize_t arrange(
    const growth_t* g, const node_t* node, Py_ssize_t feature, Py_ssize_t how, room_t* room
) noexcept nogil:
    """Write the node's list to room.items in another order; the first place of a cut."""
    cdef const uint64_t* list = g.items + feature * g.n + node.start
    cdef Py_ssize_t n = node.stop - node.start, k = n, n_groups = 0, i
    cdef double w, weight, total
    cdef group_t* group
    if how == MISSING_FIRST:
        while rank_of(g, list[k - 1]) == g.missing:
            k -= 1
        memcpy(room.items, list + k, (n - k) * sizeof(uint64_t))
        memcpy(room.items + n - k, list, k * sizeof(uint64_t))
        return n - k + 1
    k = 0
    while k < n:
        group = room.groups + n_groups
        n_groups += 1
        group.start = k
        weight = total = 0
        while k < n and same_value(g, list[k], list[group.start]):
            w = weight_of(g, row_of(g, list[k]))
            weight += w
            total += w * response(g, list[k], how - BY_RESPONSE)
            k += 1
        group.stop = k
        group.mean = total / weight
    qsort(room.groups, n_groups, sizeof(group_t), compare_groups)
    k = 0
    for i in range(n_groups):
        group = room.groups + i
        memcpy(room.items + k, list + group.start, (group.stop - group.start) * sizeof(uint64_t))
        k += group.stop - group.start
    return 1


cdef inline void scan(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, Py_ssize_t feature, Py_ssize_t how,
    room_t* room, split_t* best
) noexcept nogil:
    """Take the list's best cut, from the place `first` on, if it is better."""
    cdef double score = 0, floor = -1e300
    cdef Py_ssize_t cut = -1
    cdef bint plain = g.weight == NULL and g.monotonic == NULL
    first = max(first, g.min_leaf)
    if first > node.stop - node.start - g.min_leaf:
        return
    if plain and (
        (g.criterion == SQUARED_ERROR and g.n_outputs == 1)
        or (g.y == NULL and (g.criterion == GINI or g.criterion == ENTROPY))
    ):
        if best.feature >= 0:  # what ties with the best so far is above
            floor = best.score - fabs(best.score) * 1e-12 - 1e-300
        scan_from_both_ends(
            g, node, list, first, is_short(g, feature), g.common[feature] if is_short(g, feature) else 0, room.sides,
            floor, &score, &cut,
        )
    elif g.criterion < SQUARED_ERROR:
        scan_classes(g, node, list, first, feature, room, &score, &cut)
    elif g.criterion == ABSOLUTE_ERROR:
        scan_distances(g, node, list, first, feature, room, &score, &cut)
    else:
        scan_sums(g, node, list, first, feature, room, &score, &cut)
    if cut >= 0 and (
        best.feature < 0 or score > best.score or (score == best.score and feature < best.feature)
    ):
        best.score, best.feature, best.cut, best.how = score, feature, cut, how


cdef inline void try_feature(
    const growth_t* g, const node_t* node, Py_ssize_t feature, room_t* room, split_t* best
) noexcept nogil:
    """Take the feature's best split if it is better than the best so far."""
    cdef const uint64_t* list = g.items + feature * g.n + node.start
    cdef Py_ssize_t n = node.stop - node.start, first, v
    if is_constant(g, feature, list, n):
        return
    if g.n_codes != NULL and g.n_codes[feature] > 0:
        # of two classes the second's order is the first's turned round
        for v in range(1 if g.y == NULL and g.n_values == 2 else 0, g.n_values):
            first = arrange(g, node, feature, BY_RESPONSE + v, room)
            scan(g, node, room.items, first, feature, BY_RESPONSE + v, room, best)
        return
    scan(g, node, list, 1, feature, IN_ORDER, room, best)
    if not is_short(g, feature) and rank_of(g, list[n - 1]) == g.missing:
        first = arrange(g, node, feature, MISSING_FIRST, room)
        scan(g, node, room.items, first, feature, MISSING_FIRST, room, best)
