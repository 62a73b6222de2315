# The best cut of a node's rows by any criterion, with weights, several outputs and monotonic constraints.
#
# A larger score means purer sides. l and r are the weights of the sides, l_k and r_k the weights of class k on each
# side:
#
#     gini                  sum_k l_k^2 / l + sum_k r_k^2 / r
#     entropy               sum_k l_k log2 l_k + r_k log2 r_k - l log2 l - r log2 r
#     misclassification     max_k l_k + max_k r_k
#     squared error         (sum_left w (y - m))^2 / (l r),  m the node's mean
#     absolute error        -sum_left w |y - median| - sum_right w |y - median|
#     Poisson               L log(L / (m l)) + R log(R / (m r)),  L and R the sides' sums of w y
#
# The score of several outputs is the sum of their scores.
from libc.math cimport fabs, log
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from tree._growth cimport (
    ENTROPY,
    GINI,
    MISCLASSIFICATION,
    POISSON,
    class_of,
    growth_t,
    node_t,
    row_of,
    same_value,
    scratch_t,
    weight_of,
    x_log_x,
)
from tree._median cimport median_add, median_loss, median_of, median_start, median_t

ctypedef struct order_t:  # rows of a node in the order of a feature; a cut sends the first rows to the left
    const uint64_t* items  # (number of rows of the node,)
    Py_ssize_t feature
    Py_ssize_t first, last  # the least and the largest number of rows that a cut may send to the left

ctypedef struct best_t:  # the best cut found so far in an order
    double score  # the score of the cut, rounded
    double bar  # a score below the bar cannot be the best after rounding
    Py_ssize_t cut  # the number of rows on the left; -1: there is no cut


cdef inline double rounded(double score) noexcept nogil:
    """The score rounded to 40 bits, with the border between two rounded values a quarter of a step above their middle.

    Exact scores are often whole numbers. With the border moved, rounding errors cannot take two of them to different
    sides.
    """
    cdef uint64_t bits
    score += score * 2.3e-13
    memcpy(&bits, &score, 8)
    bits &= ~<uint64_t> 0xFFF
    memcpy(&score, &bits, 8)
    return score


cdef inline double noise(const node_t* node) noexcept nogil:
    """The size below which a score of squares is a rounding error and counts as 0, so that splits without gain tie."""
    return 1e-22 * node.impurity


cdef inline double above_noise(double score, double least) noexcept nogil:
    return score if fabs(score) > least else 0


cdef inline void start_search(best_t* best, double floor) noexcept nogil:
    """Begin a search: no cut is found yet, and a cut must score at least `floor`."""
    best.score, best.bar, best.cut = floor, floor - fabs(floor) * 1e-12, -1


cdef inline bint consider(best_t* best, double score, Py_ssize_t cut, bint or_equal) noexcept nogil:
    """Take the cut if its rounded score is above the best one, or equal to it where `or_equal`.

    Returns whether it is taken.
    """
    if score < best.bar:
        return False
    score = rounded(score)
    if score < best.score or (score == best.score and not or_equal):
        return False
    best.score, best.bar, best.cut = score, score - fabs(score) * 1e-12, cut
    return True


cdef inline bint is_cut(const growth_t* g, const order_t* order, Py_ssize_t k) noexcept nogil:
    """Whether the order may be cut after k rows: both sides are large enough, and the values beside the cut differ."""
    return k >= order.first and not same_value(g, order.items[k - 1], order.items[k])


cdef inline bint heavy_enough(const growth_t* g, const node_t* node, double left) noexcept nogil:
    """Whether both sides weigh at least the smallest weight of a leaf; left: the weight of the left side."""
    cdef double right = node.weight - left
    return left >= g.min_leaf_weight and right >= g.min_leaf_weight and right > 0


cdef inline bint in_order(
    const growth_t* g, const node_t* node, Py_ssize_t feature, double left, double right
) noexcept nogil:
    """Whether the predictions of the two sides obey the feature's monotonic constraint and the bounds of the node.

    A feature without a constraint allows any predictions: those of its leaves are clipped to the bounds.
    """
    cdef const double* bounds = node.values + g.n_values
    return g.monotonic == NULL or g.monotonic[feature] == 0 or (
        min(left, right) >= bounds[0] and max(left, right) <= bounds[1]
        and (left - right) * g.monotonic[feature] <= 0
    )


cdef inline double class_score(const growth_t* g, const double* counts, double weight) noexcept nogil:
    """The contribution of one side to the score, from the weights of its classes."""
    cdef double score = 0, most
    cdef Py_ssize_t c, o
    if g.criterion == GINI:
        for c in range(g.n_values):
            score += counts[c] * counts[c]
        return score / weight
    if g.criterion == ENTROPY:
        for c in range(g.n_values):
            score += x_log_x(counts[c])
        return score - g.n_outputs * x_log_x(weight)
    for o in range(g.n_outputs):
        most = 0
        for c in range(g.first_value[o], g.first_value[o + 1]):
            most = max(most, counts[c])
        score += most
    return score


cdef inline void scan_classes(
    const growth_t* g, const node_t* node, const order_t* order, const scratch_t* scratch, best_t* best
) noexcept nogil:
    cdef Py_ssize_t k, c, o, row
    cdef double w, weight = 0, other
    cdef double* l = scratch.sides  # no-cython-lint
    cdef double* r = scratch.sides + g.n_values
    memset(l, 0, g.n_values * sizeof(double))
    memcpy(r, node.values, g.n_values * sizeof(double))
    for k in range(1, order.last + 1):
        row = row_of(g, order.items[k - 1])
        w = weight_of(g, row)
        for o in range(g.n_outputs):
            c = class_of(g, order.items[k - 1]) if g.y == NULL else <Py_ssize_t> g.y[row * g.n_outputs + o]
            l[c] += w
            r[c] = max(r[c] - w, 0.0)
        weight += w
        other = node.weight - weight
        if is_cut(g, order, k) and heavy_enough(g, node, weight):
            if in_order(g, node, order.feature, l[1] / weight, r[1] / other):
                consider(best, class_score(g, l, weight) + class_score(g, r, other), k, False)


cdef inline double y_log(double y, double mean) noexcept nogil:
    """y log(y / mean); 0 for a y that rounding has made 0 or negative."""
    return y * log(y / mean) if y > 0 else 0


cdef inline order_t with_sums_above_zero(const growth_t* g, const node_t* node, const order_t* order) noexcept nogil:
    """The order, limited to cuts with a positive number of each output on either side, so that no leaf predicts 0."""
    cdef Py_ssize_t n = node.stop - node.start, k, o
    cdef order_t kept = order[0]
    for o in range(g.n_outputs):
        k = 0
        while k < n and g.y[row_of(g, order.items[k]) * g.n_outputs + o] <= 0:
            k += 1
        kept.first = max(kept.first, k + 1)
        k = n
        while k > 0 and g.y[row_of(g, order.items[k - 1]) * g.n_outputs + o] <= 0:
            k -= 1
        kept.last = min(kept.last, k - 1)
    return kept


cdef inline double score_of_sums(
    const growth_t* g, const node_t* node, const double* sums, double weight
) noexcept nogil:
    """The score for squared error or Poisson, from the left side's weight and its sum of w (y - m) for each output."""
    cdef const double* m = node.values
    cdef double score = 0, other = node.weight - weight
    cdef Py_ssize_t o
    for o in range(g.n_outputs):
        if g.criterion == POISSON:
            score += weight * y_log(sums[o] / weight + m[o], m[o]) + other * y_log(m[o] - sums[o] / other, m[o])
        else:
            score += sums[o] * sums[o] / (weight * other)
    return score


cdef inline void scan_sums(
    const growth_t* g, const node_t* node, const order_t* given, const scratch_t* scratch, best_t* best
) noexcept nogil:
    """Search the cuts by squared error or Poisson."""
    cdef order_t order = given[0]
    cdef Py_ssize_t k, o, row
    cdef double w, weight = 0, other, least = noise(node) * g.n_outputs
    cdef const double* m = node.values
    cdef double* sums = scratch.sides
    memset(sums, 0, g.n_outputs * sizeof(double))
    if g.criterion == POISSON:
        order = with_sums_above_zero(g, node, given)
        least = 0
        for o in range(g.n_outputs):
            least += 1e-15 * node.weight * m[o]
    for k in range(1, order.last + 1):
        row = row_of(g, order.items[k - 1])
        w = weight_of(g, row)
        for o in range(g.n_outputs):
            sums[o] += w * (g.y[row * g.n_outputs + o] - m[o])
        weight += w
        other = node.weight - weight
        if is_cut(g, &order, k) and heavy_enough(g, node, weight):
            if in_order(g, node, order.feature, m[0] + sums[0] / weight, m[0] - sums[0] / other):
                consider(best, above_noise(score_of_sums(g, node, sums, weight), least), k, False)


cdef inline void scan_distances(
    const growth_t* g, const node_t* node, const order_t* order, const scratch_t* scratch, best_t* best
) noexcept nogil:
    """Search the cuts by absolute error: heaps give the losses of all beginnings of the list, then of all its ends."""
    cdef Py_ssize_t n = node.stop - node.start, k, o, row
    cdef double weight = 0
    cdef double* loss = scratch.losses + 4 * n  # loss[k]: of the first k rows, plus of the others
    cdef double* left = loss + n  # left[k], right[k]: the sides' medians of the last output
    cdef double* right = left + n
    cdef median_t m
    memset(loss, 0, n * sizeof(double))
    for o in range(g.n_outputs):
        median_start(&m, scratch.losses, n)
        for k in range(1, n):
            row = row_of(g, order.items[k - 1])
            median_add(&m, g.y[row * g.n_outputs + o], weight_of(g, row))
            loss[k] += median_loss(&m)
            left[k] = median_of(&m)
        median_start(&m, scratch.losses, n)
        for k in range(n - 1, 0, -1):
            row = row_of(g, order.items[k])
            median_add(&m, g.y[row * g.n_outputs + o], weight_of(g, row))
            loss[k] += median_loss(&m)
            right[k] = median_of(&m)
    for k in range(1, order.last + 1):
        weight += weight_of(g, row_of(g, order.items[k - 1]))
        if is_cut(g, order, k) and heavy_enough(g, node, weight):
            if in_order(g, node, order.feature, left[k], right[k]):
                consider(best, -loss[k], k, False)
