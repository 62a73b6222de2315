# The best split of a node by one feature, from the sorted list of the feature.
#
# in:  list[start:stop], the rows of a node in the order of one feature, as `_presort.pyx` makes items
# out: split_t, with the best cut: rows order[:cut] go left. A cut lies only between different ranks.
#
# An order is the list itself, or the list with the rows of missing values moved to its front, or the list with its
# categories sorted by their mean response. For two classes and for one number, some cut of the last order is the best
# of all subsets (Fisher 1958; Breiman et al. 1984, theorem 4.5). With more classes or numbers there is one such order
# for each class or number, and the best cut of all these orders is taken.
#
# Without weights, scores of classes are made of whole numbers; l and r are the numbers of rows on the two sides
# (`_general_split.pxd` has the scores for all other cases):
#
#     gini, two classes      (n l_1 - l n_1)^2 / (l r)                            integers, then one rounded division
#     gini                   (r sum_k l_k^2 + l sum_k r_k^2) / (l r)
#     entropy                sum_k t(l_k) + t(r_k) - t(l) - t(r),  t(i) = i log2 i in fixed point: every sum is exact
#     squared error          (sum_left (y - m))^2 / (l r),  m the node's mean
#
# A list is read from both ends up to a common value, which more than half of the rows have or which the list leaves
# out: the score of a cut does not depend on which of its two sides is summed.
#
# Scores are compared after rounding to 40 bits. So scores that differ by rounding errors only are ties, in whatever
# order the cuts are read; of equal scores the smaller threshold wins. Most cuts score below `bar`, the best score so
# far less a rounding error. A test without a division shows this for BLOCK places at a time, in vectors, including
# places between equal ranks.
from libc.math cimport fabs, sqrt
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
    list_of,
    mixed,
    node_t,
    rank_of,
    row_of,
    same_value,
    scratch_t,
    value_of,
    weight_of,
)
from tree._general_split cimport (
    above_noise, best_t, consider, fixed_scale, noise, order_t, read_totals, scan_classes, scan_distances, scan_sums,
    start_search,
)
from _vector cimport LANES_D, at_most_d, spread_d, vec_d

cdef enum:
    IN_ORDER = 0
    MISSING_FIRST = 1
    # BY_RESPONSE + v: the order of rows in which categories ascend by their means of value v (class or output) of the
    # target
    BY_RESPONSE = 2
    FEW = 32  # lists of at most this number of rows are read whole, without a search for a common value
    BLOCK = 64
    EXACT = 1 << 26  # in a node with fewer rows than this, a product of two counts of rows is exact as a double

ctypedef struct split_t:
    double score
    # feature: the feature of the split, -1 if there is none; cut: the number of rows that go left
    Py_ssize_t feature, cut
    # the order of the node's rows that the split cuts in two: by value (IN_ORDER), missing values first
    # (MISSING_FIRST), or categories by the mean of the target's value v (BY_RESPONSE + v)
    Py_ssize_t how

ctypedef struct end_t:  # the rows at one end of a sorted list, which are read from that end inwards
    const uint64_t* items  # the item at the end of the list, which is read first
    # the number of rows to read from this end; the row after them, if there is one, has another value of the feature
    Py_ssize_t count
    # first, last: the least and the largest number of rows, in reading order, after which a cut leaves enough rows for
    # a leaf on both sides
    Py_ssize_t first, last

# The direction in which a list is read, as a type, so that the loops are compiled for each direction. Of cuts with
# equal scores the one with the smaller threshold wins: the first one if the list is read upwards, the last one if it is
# read downwards.
ctypedef struct upwards_t:
    char nothing

ctypedef struct downwards_t:
    char nothing

ctypedef fused way_t:
    upwards_t
    downwards_t


cdef inline uint64_t item_at(const way_t* way, const end_t* end, Py_ssize_t k) noexcept nogil:
    if way_t is upwards_t:
        return end.items[k]
    else:
        return end.items[-k]


cdef inline void consider_quotient(
    const way_t* way, double score, double product, Py_ssize_t cut, best_t* best
) noexcept nogil:
    """Record a cut if its score, `score / product`, is the best so far; most cuts are rejected without the division."""
    if score >= best.bar * product:
        consider(best, score / product, cut, way_t is downwards_t)


cdef inline void count_up(vec_d* k, Py_ssize_t start) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(LANES_D):
        (<double*> k)[i] = start + i


cdef inline bint ends_a_value(const way_t* way, const growth_t* g, const end_t* end, Py_ssize_t k) noexcept nogil:
    """Whether a cut after the k rows read first is allowed: k is large enough, and the values beside the cut differ."""
    return k >= end.first and (k == end.count or not same_value(g, item_at(way, end, k - 1), item_at(way, end, k)))


cdef inline bint is_run(
    const way_t* way, const growth_t* g, const end_t* end, Py_ssize_t start, Py_ssize_t size
) noexcept nogil:
    """Whether `size` rows from place `start` on, and the row after them, have one value, so that no cut lies there."""
    return start + size < end.count and same_value(g, item_at(way, end, start), item_at(way, end, start + size))


cdef inline bint two_reach(
    const double* l_1, Py_ssize_t start, Py_ssize_t size, double n, double n_1, double bar
) noexcept nogil:
    """Whether one of `size` cuts may reach the score `bar`, by the Gini score of two classes.

    The first of these cuts is after start + 1 rows; l_1: the number of rows of class 1 before each cut.
    """
    cdef vec_d k, difference
    cdef Py_ssize_t i
    cdef unsigned int reached = 0
    count_up(&k, start + 1)
    for i in range(size // LANES_D):
        difference = spread_d(n) * (<const vec_d*> l_1)[i] - k * spread_d(n_1)
        reached |= at_most_d(spread_d(bar) * (k * (spread_d(n) - k)), difference * difference)
        k = k + spread_d(LANES_D)
    return reached


cdef inline void read_two(
    const way_t* way, const growth_t* g, const node_t* node, const end_t* given, best_t* best_out
) noexcept nogil:
    """Search the cuts among the rows at one end of a sorted list by the Gini score of two classes."""
    cdef best_t best = best_out[0]
    cdef end_t end = given[0]
    cdef int64_t n = node.stop - node.start, n_1 = <int64_t> node.values[1], l_1 = 0, k
    cdef Py_ssize_t start = 0, size = 0, stop = min(end.count, end.last), i
    cdef double l[BLOCK]  # no-cython-lint: l (left of a cut) is named as in the file's formulas
    cdef double difference
    while start + size < stop:
        start += size
        size = min(stop - start, <Py_ssize_t> BLOCK)
        for i in range(size):
            l_1 += item_at(way, &end, start + i) >> g.row_bits & 1
            l[i] = l_1
        if is_run(way, g, &end, start, size):
            continue
        if size == BLOCK and n < EXACT and not two_reach(l, start, size, n, n_1, best.bar):
            continue
        for i in range(size):
            k = start + i + 1
            if ends_a_value(way, g, &end, k):
                difference = <double> (n * <int64_t> l[i] - k * n_1)
                consider_quotient(way, difference * difference, <double> k * <double> (n - k), k, &best)
    best_out[0] = best


cdef inline bint gini_reach(
    const double* left, const double* cross, Py_ssize_t start, Py_ssize_t size, double n, double squares, double bar
) noexcept nogil:
    """Whether one of `size` cuts may have a Gini score, with any number of classes, of at least `bar`."""
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


cdef inline void read_gini(
    const way_t* way, const growth_t* g, const node_t* node, const end_t* given, double* sides, best_t* best_out
) noexcept nogil:
    cdef best_t best = best_out[0]
    cdef end_t end = given[0]
    cdef Py_ssize_t n = node.stop - node.start, start = 0, size = 0, stop = min(end.count, end.last), i, k, c
    # squares: the sum of n_c^2 over classes c; cross: the sum of l_c n_c; n_c rows of class c are in the node, and l_c
    # of them are on the left
    cdef double squares = 0, cross = 0
    cdef int64_t left = 0  # the sum of l_c^2 over classes c, where l_c rows of class c are on the left
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint; l and others, in turn, count the left rows of each class
    cdef int64_t* others = l + g.n_values
    cdef double left_at[BLOCK]
    cdef double cross_at[BLOCK]
    for c in range(g.n_values):
        l[c] = others[c] = 0
        squares += node.values[c] * node.values[c]
    while start + size < stop:
        start += size
        size = min(stop - start, <Py_ssize_t> BLOCK)
        for i in range(size):
            c = class_of(g, item_at(way, &end, start + i))
            left += 2 * (l[c] + others[c]) + 1
            cross += node.values[c]
            l[c] += 1
            l, others = others, l
            left_at[i], cross_at[i] = left, cross
        if is_run(way, g, &end, start, size):
            continue
        if size == BLOCK and not gini_reach(left_at, cross_at, start, size, n, squares, best.bar):
            continue
        for i in range(size):
            k = start + i + 1
            if ends_a_value(way, g, &end, k):
                consider_quotient(
                    way, left_at[i] * (n - k) + (squares - 2 * cross_at[i] + left_at[i]) * k,
                    <double> k * <double> (n - k), k, &best
                )
    best_out[0] = best


cdef inline void read_entropy(
    const way_t* way, const growth_t* g, const node_t* node, const end_t* given, double* sides, best_t* best
) noexcept nogil:
    cdef end_t end = given[0]
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c, l_c, r_c
    cdef const double* t = g.table
    cdef double most = best.score, score, total = 0
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint: l (left of a cut) is named as in the file's formulas
    cdef int64_t* r = <int64_t*> sides + g.n_values
    for c in range(g.n_values):
        l[c] = 0
        r[c] = <int64_t> node.values[c]
        total += t[r[c]]
    for k in range(1, min(end.count, end.last) + 1):
        c = class_of(g, item_at(way, &end, k - 1))
        l_c = l[c]
        r_c = r[c]
        total += (t[l_c + 1] - t[l_c]) - (t[r_c] - t[r_c - 1])
        l[c] = l_c + 1
        r[c] = r_c - 1
        if ends_a_value(way, g, &end, k):
            score = total - (t[k] + t[n - k])
            if score > most or (way_t is downwards_t and score == most):
                most = score
                cut = k
    best.score = most
    best.cut = cut


cdef inline bint is_plain(const growth_t* g) noexcept nogil:
    """Whether this file's faster loops support the tree's criterion; if not, those of `_general_split.pxd` are used."""
    if g.weight != NULL or g.monotonic != NULL:
        return False
    if g.criterion == SQUARED_ERROR:
        return g.n_outputs == 1
    return g.y == NULL and (g.criterion == GINI or g.criterion == ENTROPY)


cdef inline int64_t scaled(const growth_t* g, const node_t* node, uint64_t item) noexcept nogil:
    """A row's y minus the node's mean, scaled to a whole number; over the node's rows these numbers add up to 0."""
    cdef Py_ssize_t row = row_of(g, item)
    cdef int64_t part = <int64_t> ((g.y[row] - node.values[0]) * node.scale)
    return part - node.total if row == node.odd_row else part


cdef inline void read_total(const growth_t* g, node_t* node, const scratch_t* scratch) noexcept nogil:
    """Set the node's fields odd_row, scale and total, by which y - mean becomes whole numbers, whose sums are exact."""
    cdef const uint64_t* list = list_of(g, node.list, node.start)
    cdef Py_ssize_t n = node.stop - node.start, k
    cdef int64_t total = 0
    node.odd_row = row_of(g, list[0])
    if not is_plain(g):
        if g.criterion != ABSOLUTE_ERROR:
            read_totals(g, node, scratch)
        return
    if g.criterion != SQUARED_ERROR:
        return
    # by Cauchy's inequality, the sum of |y - mean| over the n rows, which bounds every partial sum, is at most n times
    # the standard deviation
    node.scale = fixed_scale(1.01 * n * sqrt(node.impurity))
    node.total = 0
    for k in range(n):
        total += scaled(g, node, list[k])
    node.total = total


cdef inline void consider_square(
    const way_t* way, double total, double product, double least, Py_ssize_t cut, best_t* best
) noexcept nogil:
    if total * total >= best.bar * product:
        consider(best, above_noise(total * total / product, least), cut, way_t is downwards_t)


cdef inline void read_squares(
    const way_t* way, const growth_t* g, const node_t* node, const end_t* given, best_t* best_out
) noexcept nogil:
    """Search the cuts among the rows at one end of a sorted list by the squared error of a single output."""
    cdef best_t best = best_out[0]
    cdef end_t end = given[0]
    cdef Py_ssize_t n = node.stop - node.start, k
    cdef double least = noise(node), unit = 1 / node.scale
    # the sum of the scaled y - mean over the rows read so far; the rows on the other side have the sum -total, so that
    # a cut's score has the same bits from both ends of the list
    cdef int64_t total = 0
    cdef uint64_t item, next_item = end.items[0]
    for k in range(1, min(end.count - 1, end.last) + 1):
        item = next_item
        next_item = item_at(way, &end, k)
        total += scaled(g, node, item)
        if k < end.first or same_value(g, item, next_item):
            continue
        consider_square(way, total * unit, <double> k * <double> (n - k), least, k, &best)
    k = end.count
    if end.first <= k <= end.last:
        total += scaled(g, node, next_item)
        consider_square(way, total * unit, <double> k * <double> (n - k), least, k, &best)
    best_out[0] = best


cdef inline void read_end(
    const way_t* way, const growth_t* g, const node_t* node, const end_t* end, double* sides, best_t* best
) noexcept nogil:
    """Search the cuts among the rows at one end of a feature's sorted list, by the criterion of the tree."""
    if end.count == 0:
        return
    if g.criterion == SQUARED_ERROR:
        read_squares(way, g, node, end, best)
    elif g.criterion == ENTROPY:
        read_entropy(way, g, node, end, sides, best)
    elif g.n_values == 2:
        read_two(way, g, node, end, best)
    else:
        read_gini(way, g, node, end, sides, best)


cdef inline Py_ssize_t first_at_least(
    const growth_t* g, const uint64_t* list, uint64_t rank, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """The first place in [low, high) of a sorted list at which an item's rank is at least `rank`; `high` if none is."""
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
    """The last place with an item's value on the way from `inside`, which has it, to `outside`, which has not."""
    cdef Py_ssize_t middle
    while outside - inside > 1 or inside - outside > 1:
        middle = (inside + outside) >> 1
        if same_value(g, list[middle], item):
            inside = middle
        else:
            outside = middle
    return inside


cdef inline void scan_from_both_ends(
    const growth_t* g, const node_t* node, const order_t* order, double* sides, best_t* best
) noexcept nogil:
    """Search a list from both ends up to a common value, which the list leaves out or more than half of the rows have.

    The rows with the common value need not be read, because no cut lies among them.
    """
    cdef Py_ssize_t n = node.stop - node.start, below = n, above = n, stop = n
    cdef const uint64_t* list = order.items
    cdef uint64_t middle
    cdef end_t end
    cdef best_t right = best[0]
    if is_short(g, order.feature):
        stop = length_of(g, list, n)
        below = above = first_at_least(g, list, g.common[order.feature], 0, stop)
    elif n > FEW:
        middle = list[n >> 1]
        if same_value(g, middle, list[n >> 2]) or same_value(g, middle, list[n - 1 - (n >> 2)]):
            below = far_end(g, list, middle, n >> 1, -1)
            above = far_end(g, list, middle, n >> 1, n) + 1
    end.items, end.count, end.first, end.last = list, below, order.first, order.last
    read_end(<const upwards_t*> NULL, g, node, &end, sides, best)
    if above < stop:
        end.items, end.count, end.first, end.last = list + stop - 1, stop - above, n - order.last, n - order.first
        read_end(<const downwards_t*> NULL, g, node, &end, sides, &right)
        if right.cut >= 0 and (best.cut < 0 or right.score > best.score):
            best.score, best.cut = right.score, n - right.cut


cdef inline int compare_groups(const void* a, const void* b) noexcept nogil:
    cdef const group_t* x = <const group_t*> a
    cdef const group_t* y = <const group_t*> b
    if x.mean != y.mean:
        return 1 if x.mean > y.mean else -1
    return 1 if x.start > y.start else -1


cdef inline double response(const growth_t* g, uint64_t item, Py_ssize_t v) noexcept nogil:
    """Value v of a row's target: the number of output v or, for classes, 1 if the row is of class v, else 0."""
    cdef Py_ssize_t row = row_of(g, item), o = 0
    if g.y == NULL:
        return class_of(g, item) == v
    if g.criterion >= SQUARED_ERROR:
        return g.y[row * g.n_outputs + v]
    while g.first_value[o + 1] <= v:
        o += 1
    return g.y[row * g.n_outputs + o] == v


cdef inline Py_ssize_t arrange(
    const growth_t* g, const node_t* node, Py_ssize_t feature, Py_ssize_t how, const scratch_t* scratch
) noexcept nogil:
    """Write the node's list of a feature to scratch.items, in the order MISSING_FIRST or BY_RESPONSE + v.

    Returns the number of rows with missing values that were moved to the front.
    """
    cdef const uint64_t* list = list_of(g, feature, node.start)
    cdef Py_ssize_t n = node.stop - node.start, k = n, n_groups = 0, i
    cdef double w, weight, total
    cdef group_t* group
    if how == MISSING_FIRST:
        while rank_of(g, list[k - 1]) == g.missing:
            k -= 1
        memcpy(scratch.items, list + k, (n - k) * sizeof(uint64_t))
        memcpy(scratch.items + n - k, list, k * sizeof(uint64_t))
        return n - k
    k = 0
    while k < n:
        group = scratch.groups + n_groups
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
    qsort(scratch.groups, n_groups, sizeof(group_t), compare_groups)
    k = 0
    for i in range(n_groups):
        group = scratch.groups + i
        memcpy(scratch.items + k, list + group.start, (group.stop - group.start) * sizeof(uint64_t))
        k += group.stop - group.start
    return 0


cdef inline void scan(
    const growth_t* g, const node_t* node, const order_t* order, Py_ssize_t how, const scratch_t* scratch,
    split_t* split
) noexcept nogil:
    """Replace `split` by the order's best cut if its score is higher, or the same for an earlier feature."""
    cdef best_t best
    if order.first > order.last:
        return
    if is_plain(g):
        # the score below which the search rejects cuts lies under that of the best split so far by more than a rounding
        # error, so that a cut whose score ties is still found
        start_search(&best, split.score - fabs(split.score) * 1e-12 - 1e-300 if split.feature >= 0 else -1e300)
        scan_from_both_ends(g, node, order, scratch.sides, &best)
    else:
        start_search(&best, -1e300)
        if g.criterion < SQUARED_ERROR:
            scan_classes(g, node, order, scratch, &best)
        elif g.criterion == ABSOLUTE_ERROR:
            scan_distances(g, node, order, scratch, &best)
        else:
            scan_sums(g, node, order, scratch, &best)
    if best.cut >= 0 and (
        split.feature < 0 or best.score > split.score or (best.score == split.score and order.feature < split.feature)
    ):
        split.score, split.feature, split.cut, split.how = best.score, order.feature, best.cut, how


cdef inline Py_ssize_t draw_threshold(
    const growth_t* g, const node_t* node, uint64_t bits, const scratch_t* scratch, order_t* order
) noexcept nogil:
    """Restrict a list to a cut at a number drawn between its least and largest value; returns the kind of order.

    Missing values go to a side that is drawn too.
    """
    cdef Py_ssize_t n = node.stop - node.start, known = n, cut = 0, high, middle, how = IN_ORDER
    cdef double least, largest, at, share = <double> (bits >> 11) * 1.1102230246251565e-16
    while known > 1 and rank_of(g, order.items[known - 1]) == g.missing:
        known -= 1
    least = value_of(g, order.feature, order.items[0])
    largest = value_of(g, order.feature, order.items[known - 1])
    at = (1 - share) * least + share * largest
    if not least <= at < largest:
        at = least
    high = known
    while cut < high:
        middle = (cut + high) >> 1
        if value_of(g, order.feature, order.items[middle]) <= at:
            cut = middle + 1
        else:
            high = middle
    if cut < known < n and bits & 1:
        cut += arrange(g, node, order.feature, MISSING_FIRST, scratch)
        order.items, how = scratch.items, MISSING_FIRST
    order.first, order.last = max(order.first, cut), min(order.last, cut)
    return how


cdef inline Py_ssize_t draw_subset(
    const growth_t* g, const node_t* node, uint64_t bits, const scratch_t* scratch, order_t* order
) noexcept nogil:
    """Sort a feature's categories by the mean response of a random class or output, and allow one random cut.

    Returns the kind of the order: BY_RESPONSE plus the number of the class or output.
    """
    cdef Py_ssize_t n = node.stop - node.start, cut
    cdef Py_ssize_t how = BY_RESPONSE + <Py_ssize_t> (bits % <uint64_t> g.n_values)
    arrange(g, node, order.feature, how, scratch)
    order.items = scratch.items
    cut = 1 + <Py_ssize_t> (mixed(bits) % <uint64_t> (n - 1))
    while cut < n and same_value(g, order.items[cut - 1], order.items[cut]):
        cut += 1
    if cut == n:  # all categories are on the left of the cut, so the last one is moved to the right
        cut -= 1
        while same_value(g, order.items[cut - 1], order.items[cut]):
            cut -= 1
    order.first, order.last = max(order.first, cut), min(order.last, cut)
    return how


cdef inline void try_drawn(
    const growth_t* g, const node_t* node, const scratch_t* scratch, order_t* order, split_t* split
) noexcept nogil:
    """Try a single random cut of a feature, drawn by a hash of the seed, the node and the feature."""
    cdef uint64_t bits = mixed(g.seed ^ node.path ^ <uint64_t> (order.feature + 1) * <uint64_t> 0x9E3779B97F4A7C15)
    cdef Py_ssize_t how
    if g.n_codes == NULL or g.n_codes[order.feature] == 0:
        how = draw_threshold(g, node, bits, scratch, order)
    else:
        how = draw_subset(g, node, bits, scratch, order)
    scan(g, node, order, how, scratch, split)


cdef inline void try_feature(
    const growth_t* g, const node_t* node, Py_ssize_t feature, const scratch_t* scratch, split_t* split
) noexcept nogil:
    """Replace the node's best split so far by the best split of a feature, if that one is better."""
    cdef Py_ssize_t n = node.stop - node.start, v
    cdef order_t order
    order.items, order.feature = list_of(g, feature, node.start), feature
    order.first, order.last = g.min_leaf, n - g.min_leaf
    if is_constant(g, feature, order.items, n):
        return
    if g.drawn:
        try_drawn(g, node, scratch, &order, split)
        return
    if g.n_codes == NULL or g.n_codes[feature] == 0:
        scan(g, node, &order, IN_ORDER, scratch, split)
        if not is_short(g, feature) and rank_of(g, order.items[n - 1]) == g.missing:
            order.first = max(arrange(g, node, feature, MISSING_FIRST, scratch) + 1, g.min_leaf)
            order.items = scratch.items
            scan(g, node, &order, MISSING_FIRST, scratch, split)
        return
    order.items = scratch.items
    # for two classes one order of the categories is enough, since the order by the first class is the reverse of that
    # by the second
    for v in range(1 if g.y == NULL and g.n_values == 2 else 0, g.n_values):
        arrange(g, node, feature, BY_RESPONSE + v, scratch)
        scan(g, node, &order, BY_RESPONSE + v, scratch, split)
