# The best threshold of one sorted list.
#
# in:  list[start:stop], the rows of a node in the order of one feature, as `_presort.pyx` makes items
# out: score and cut; rows list[start:cut] go left. A threshold lies only between different ranks.
#
# A score is larger the less impure the two sides are, l and r the rows (or weights) of the sides, l_k those of class k:
#
#     gini, two classes      (n l_1 - l n_1)^2 / (l r)                            integers, then one rounded division
#     gini                   (r sum_k l_k^2 + l sum_k r_k^2) / (l r)
#     entropy                sum_k t(l_k) + t(r_k) - t(l) - t(r),  t(i) = i log2 i in fixed point: every sum is exact
#     squared error          (sum_left w (y - m))^2 / (l r),  m the node's mean
#
# Scores are compared as rounded to 40 bits, so that what is equal but for rounding is a tie, whatever the order in
# which it is met; of equal scores the smaller threshold wins.
from libc.math cimport fabs, log2
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    GINI
    ENTROPY
    MISCLASSIFICATION
    SQUARED_ERROR

ctypedef struct growth_t:
    uint64_t* items  # n_features lists of n
    Py_ssize_t n, n_features, n_classes  # n_classes: 1 for regression
    uint64_t row_mask, class_mask
    int row_bits, rank_shift, criterion
    const double* y  # regression only
    const double* weight  # NULL: all rows weigh 1
    const double* table  # t, for entropy without weights
    uint8_t* side  # of each row: 1 goes left
    Py_ssize_t max_depth, min_split, min_leaf, max_features
    double min_leaf_weight, min_decrease, total_weight
    uint64_t seed

ctypedef struct node_t:
    Py_ssize_t start, stop, depth, parent, list  # parent: -1, or of whom this is the right child; list: one that holds
    bint leaf
    uint64_t path  # a number made of the turns from the root
    double weight, impurity
    double* values  # n_classes: weight of each class, or the mean


cdef inline Py_ssize_t row_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item & g.row_mask


cdef inline Py_ssize_t class_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item >> g.row_bits & g.class_mask


cdef inline bint same_value(const growth_t* g, uint64_t a, uint64_t b) noexcept nogil:
    return (a ^ b) >> g.rank_shift == 0


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log2(x) if x > 0 else 0


cdef inline double rounded(double score) noexcept nogil:
    """To 40 bits, with the borders a quarter of a step aside: scores near whole numbers do not fall on two sides."""
    cdef uint64_t bits
    score += score * 2.3e-13
    memcpy(&bits, &score, 8)
    bits &= ~<uint64_t> 0xFFF
    memcpy(&score, &bits, 8)
    return score


cdef inline bint beats(double score, double* best, double* bar) noexcept nogil:
    """Whether a score, rounded, is above the best, which it then replaces; one below `bar` is not."""
    score = rounded(score)
    if score <= best[0]:
        return False
    best[0] = score
    bar[0] = score - fabs(score) * 1e-12
    return True


cdef inline void scan_two(
    const growth_t* g, const node_t* node, const uint64_t* list, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    cdef int64_t n = node.stop - node.start, n_1 = <int64_t> node.values[1], l_1 = 0, k
    cdef double best = -1, bar = -1, score, difference
    cdef Py_ssize_t cut = -1
    cdef int row_bits = g.row_bits, rank_shift = g.rank_shift
    cdef uint64_t item, next_item
    for k in range(g.min_leaf - 1):
        l_1 += list[k] >> row_bits & 1
    next_item = list[g.min_leaf - 1]
    for k in range(g.min_leaf, n - g.min_leaf + 1):
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
    const growth_t* g, const node_t* node, const uint64_t* list, double* sides, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c
    cdef double best = -1, bar = -1, score, left = 0, right = 0
    cdef double* l = sides  # no-cython-lint
    cdef double* r = sides + g.n_classes
    for c in range(g.n_classes):
        l[c] = 0
        r[c] = node.values[c]
        right += r[c] * r[c]
    for k in range(1, n - g.min_leaf + 1):
        c = class_of(g, list[k - 1])
        left += 2 * l[c] + 1
        right -= 2 * r[c] - 1
        l[c] += 1
        r[c] -= 1
        if k < g.min_leaf or same_value(g, list[k - 1], list[k]):
            continue
        score = (left * (n - k) + right * k) / (<double> k * <double> (n - k))
        if score > bar and beats(score, &best, &bar):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_entropy(
    const growth_t* g, const node_t* node, const uint64_t* list, double* sides, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c, l_c, r_c
    cdef const double* t = g.table
    cdef double best = -1e300, score, total = 0
    cdef int64_t* l = <int64_t*> sides  # no-cython-lint
    cdef int64_t* r = <int64_t*> sides + g.n_classes
    for c in range(g.n_classes):
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
        if k < g.min_leaf or same_value(g, list[k - 1], list[k]):
            continue
        score = total - (t[k] + t[n - k])
        if score > best:
            best = score
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline double class_score(const growth_t* g, const double* counts, double weight) noexcept nogil:
    """What one side adds to the score, from the weights of its classes."""
    cdef double score = 0
    cdef Py_ssize_t c
    if g.criterion == GINI:
        for c in range(g.n_classes):
            score += counts[c] * counts[c]
        return score / weight
    if g.criterion == ENTROPY:
        for c in range(g.n_classes):
            score += x_log_x(counts[c])
        return score - x_log_x(weight)
    for c in range(g.n_classes):
        score = max(score, counts[c])
    return score


cdef inline void scan_classes(
    const growth_t* g, const node_t* node, const uint64_t* list, double* sides, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    """Any criterion of classes, with weights: O(n_classes) a threshold."""
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c
    cdef double best = -1e300, bar = -1e300, score, w, weight = 0
    cdef double* l = sides  # no-cython-lint
    cdef double* r = sides + g.n_classes
    for c in range(g.n_classes):
        l[c] = 0
        r[c] = node.values[c]
    for k in range(1, n - g.min_leaf + 1):
        c = class_of(g, list[k - 1])
        w = 1 if g.weight == NULL else g.weight[row_of(g, list[k - 1])]
        l[c] += w
        r[c] = max(r[c] - w, 0.0)
        weight += w
        if k < g.min_leaf or same_value(g, list[k - 1], list[k]):
            continue
        if weight < g.min_leaf_weight or not node.weight - weight >= g.min_leaf_weight or node.weight <= weight:
            continue
        score = class_score(g, l, weight) + class_score(g, r, node.weight - weight)
        if score > bar and beats(score, &best, &bar):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_squares(
    const growth_t* g, const node_t* node, const uint64_t* list, double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, row
    cdef double best = -1, bar = -1, score, mean = node.values[0], total = 0, weight = 0, w = 1
    for k in range(1, n - g.min_leaf + 1):
        row = row_of(g, list[k - 1])
        if g.weight != NULL:
            w = g.weight[row]
        total += w * (g.y[row] - mean)
        weight += w
        if k < g.min_leaf or same_value(g, list[k - 1], list[k]):
            continue
        if weight < g.min_leaf_weight or not node.weight - weight >= g.min_leaf_weight or node.weight <= weight:
            continue
        score = total * total / (weight * (node.weight - weight))
        if score > bar and beats(score, &best, &bar):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_list(
    const growth_t* g, const node_t* node, Py_ssize_t feature, double* sides, double* score, Py_ssize_t* cut
) noexcept nogil:
    """The best threshold of a feature; cut is -1 where there is none."""
    cdef const uint64_t* list = g.items + feature * g.n + node.start
    cut[0] = -1
    if node.stop - node.start < 2 * g.min_leaf or same_value(g, list[0], list[node.stop - node.start - 1]):
        return
    if g.criterion == SQUARED_ERROR:
        scan_squares(g, node, list, score, cut)
    elif g.criterion == ENTROPY and g.table != NULL:
        scan_entropy(g, node, list, sides, score, cut)
    elif g.criterion == GINI and g.weight == NULL:
        if g.n_classes == 2:
            scan_two(g, node, list, score, cut)
        else:
            scan_gini(g, node, list, sides, score, cut)
    else:
        scan_classes(g, node, list, sides, score, cut)
    if cut[0] >= 0:
        cut[0] += node.start
