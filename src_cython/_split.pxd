# The best split of a node by one feature, from its sorted list.
#
# in:  list[start:stop], the rows of a node in the order of one feature, as `_presort.pyx` makes items
# out: split_t, of the best cut: rows order[:cut] go left. A cut lies only between different ranks.
#
# The order is the list itself; with what is missing moved to its front; or with its categories in the order of their
# mean response, of which some cut is the best of all subsets for two classes and one number (Fisher 1958; Breiman et
# al. 1984, theorem 4.5). With more classes or numbers the best by any of them, each against the rest, is taken.
#
# Without weights, scores of classes are from whole numbers (others are in `_sides.pxd`), l and r the rows of the sides:
#
#     gini, two classes      (n l_1 - l n_1)^2 / (l r)                            integers, then one rounded division
#     gini                   (r sum_k l_k^2 + l sum_k r_k^2) / (l r)
#     entropy                sum_k t(l_k) + t(r_k) - t(l) - t(r),  t(i) = i log2 i in fixed point: every sum is exact
#
# Scores are compared as rounded to 40 bits, so that what is equal but for rounding is a tie, whatever the order in
# which it is met; of equal scores the smaller threshold wins.
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from _grown cimport (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    SQUARED_ERROR,
    class_of,
    group_t,
    growth_t,
    node_t,
    rank_of,
    room_t,
    row_of,
    same_value,
    weight_of,
)
from _sides cimport beats, scan_classes, scan_distances, scan_sums

cdef enum:
    IN_ORDER = 0
    MISSING_FIRST = 1
    BY_RESPONSE = 2  # + v: categories by the mean of value v

ctypedef struct split_t:
    double score
    Py_ssize_t feature, cut, how  # feature -1: none; cut: rows on the left


cdef inline void scan_two(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, double* score_out,
    Py_ssize_t* cut_out
) noexcept nogil:
    cdef int64_t n = node.stop - node.start, n_1 = <int64_t> node.values[1], l_1 = 0, k
    cdef double best = -1, bar = -1, score, difference
    cdef Py_ssize_t cut = -1
    cdef int row_bits = g.row_bits, rank_shift = g.rank_shift
    cdef uint64_t item, next_item
    for k in range(first - 1):
        l_1 += list[k] >> row_bits & 1
    next_item = list[first - 1]
    for k in range(first, n - g.min_leaf + 1):
        item = next_item
        next_item = list[k]
        l_1 += item >> row_bits & 1
        if (item ^ next_item) >> rank_shift == 0:
            continue
        difference = <double> (n * l_1 - k * n_1)
        score = difference * difference / (<double> k * <double> (n - k))
        if score > bar and beats(score, &best, &bar):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_gini(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, double* sides, double* score_out,
    Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c
    cdef double best = -1, bar = -1, score, left = 0, right = 0
    cdef double* l = sides  # no-cython-lint
    cdef double* r = sides + g.n_values
    for c in range(g.n_values):
        l[c] = 0
        r[c] = node.values[c]
        right += r[c] * r[c]
    for k in range(1, n - g.min_leaf + 1):
        c = class_of(g, list[k - 1])
        left += 2 * l[c] + 1
        right -= 2 * r[c] - 1
        l[c] += 1
        r[c] -= 1
        if k < first or same_value(g, list[k - 1], list[k]):
            continue
        score = (left * (n - k) + right * k) / (<double> k * <double> (n - k))
        if score > bar and beats(score, &best, &bar):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_entropy(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, double* sides, double* score_out,
    Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c, l_c, r_c
    cdef const double* t = g.table
    cdef double best = -1e300, score, total = 0
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint
    cdef int64_t* r = <int64_t*> sides + g.n_values
    for c in range(g.n_values):
        l[c] = 0
        r[c] = <int64_t> node.values[c]
        total += t[r[c]]
    for k in range(1, n - g.min_leaf + 1):
        c = class_of(g, list[k - 1])
        l_c = l[c]
        r_c = r[c]
        total += (t[l_c + 1] - t[l_c]) - (t[r_c] - t[r_c - 1])
        l[c] = l_c + 1
        r[c] = r_c - 1
        if k < first or same_value(g, list[k - 1], list[k]):
            continue
        score = total - (t[k] + t[n - k])
        if score > best:
            best = score
            cut = k
    score_out[0] = best
    cut_out[0] = cut


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
    cdef double score = 0
    cdef Py_ssize_t cut = -1
    cdef bint plain = g.weight == NULL and g.y == NULL and g.monotonic == NULL
    first = max(first, g.min_leaf)
    if first > node.stop - node.start - g.min_leaf:
        return
    if g.criterion == ENTROPY and plain:
        scan_entropy(g, node, list, first, room.sides, &score, &cut)
    elif g.criterion == GINI and plain and g.n_values == 2:
        scan_two(g, node, list, first, &score, &cut)
    elif g.criterion == GINI and plain:
        scan_gini(g, node, list, first, room.sides, &score, &cut)
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
    if same_value(g, list[0], list[n - 1]):
        return
    if g.n_codes != NULL and g.n_codes[feature] > 0:
        # of two classes the second's order is the first's turned round
        for v in range(1 if g.y == NULL and g.n_values == 2 else 0, g.n_values):
            first = arrange(g, node, feature, BY_RESPONSE + v, room)
            scan(g, node, room.items, first, feature, BY_RESPONSE + v, room, best)
        return
    scan(g, node, list, 1, feature, IN_ORDER, room, best)
    if rank_of(g, list[n - 1]) == g.missing:
        first = arrange(g, node, feature, MISSING_FIRST, room)
        scan(g, node, room.items, first, feature, MISSING_FIRST, room, best)
