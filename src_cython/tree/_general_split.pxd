# The best cut of a list by any criterion, with weights, several outputs and monotonic constraints.
#
# A score is larger the less impure the two sides are; l and r the weights of the sides, l_k those of class k:
#
#     gini                  sum_k l_k^2 / l + sum_k r_k^2 / r
#     entropy               sum_k l_k log2 l_k + r_k log2 r_k - l log2 l - r log2 r
#     misclassification     max_k l_k + max_k r_k
#     squared error         (sum_left w (y - m))^2 / (l r),  m the node's mean
#     absolute error        -sum_left w |y - median| - sum_right w |y - median|
#     Poisson               L log(L / (m l)) + R log(R / (m r)),  L and R the sides' sums of w y
#
# Of several outputs it is the sum.
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
    room_t,
    row_of,
    same_value,
    weight_of,
    x_log_x,
)
from tree._median cimport median_add, median_loss, median_of, median_start, median_t


cdef inline double rounded(double score) noexcept nogil:
    """To 40 bits, with the borders a quarter of a step aside: scores near whole numbers do not fall on two sides."""
    cdef uint64_t bits
    score += score * 2.3e-13
    memcpy(&bits, &score, 8)
    bits &= ~<uint64_t> 0xFFF
    memcpy(&score, &bits, 8)
    return score


cdef inline double noise(const node_t* node) noexcept nogil:
    """A score of squares that is less is rounding: splits that gain nothing are ties."""
    return 1e-22 * node.impurity


cdef inline double above_noise(double score, double least) noexcept nogil:
    return score if fabs(score) > least else 0


cdef inline bint beats(double score, double* best, double* bar, bint or_equals) noexcept nogil:
    """Whether a score, rounded, is above the best, which it then replaces; one below `bar` is not."""
    score = rounded(score)
    if score < best[0] or (score == best[0] and not or_equals):
        return False
    best[0] = score
    bar[0] = score - fabs(score) * 1e-12
    return True


cdef inline bint heavy_enough(const growth_t* g, const node_t* node, double left) noexcept nogil:
    cdef double right = node.weight - left
    return left >= g.min_leaf_weight and right >= g.min_leaf_weight and right > 0


cdef inline bint in_order(
    const growth_t* g, const node_t* node, Py_ssize_t feature, double left, double right
) noexcept nogil:
    """Whether two sides that predict so keep to the feature's constraint; without one, leaves are clipped."""
    cdef const double* bounds = node.values + g.n_values
    return g.monotonic[feature] == 0 or (
        min(left, right) >= bounds[0] and max(left, right) <= bounds[1]
        and (left - right) * g.monotonic[feature] <= 0
    )


cdef inline double class_score(const growth_t* g, const double* counts, double weight) noexcept nogil:
    """What one side adds to the score, from the weights of its classes."""
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
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, Py_ssize_t feature, room_t* room,
    double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, c, o, row
    cdef double best = -1e300, bar = -1e300, score, w, weight = 0
    cdef double* l = room.sides  # no-cython-lint
    cdef double* r = room.sides + g.n_values
    memset(l, 0, g.n_values * sizeof(double))
    memcpy(r, node.values, g.n_values * sizeof(double))
    for k in range(1, n - g.min_leaf + 1):
        row = row_of(g, list[k - 1])
        w = weight_of(g, row)
        for o in range(g.n_outputs):
            c = class_of(g, list[k - 1]) if g.y == NULL else <Py_ssize_t> g.y[row * g.n_outputs + o]
            l[c] += w
            r[c] = max(r[c] - w, 0.0)
        weight += w
        if k < first or same_value(g, list[k - 1], list[k]) or not heavy_enough(g, node, weight):
            continue
        if g.monotonic != NULL and not in_order(g, node, feature, l[1] / weight, r[1] / (node.weight - weight)):
            continue
        score = class_score(g, l, weight) + class_score(g, r, node.weight - weight)
        if score > bar and beats(score, &best, &bar, False):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline double y_log(double y, double mean) noexcept nogil:
    """y log(y / mean); 0 for a y that rounding took to 0 or below."""
    return y * log(y / mean) if y > 0 else 0


cdef inline void keep_sums_above_zero(
    const growth_t* g, const uint64_t* list, Py_ssize_t n, Py_ssize_t* first, Py_ssize_t* last
) noexcept nogil:
    """Narrow the cuts to those with a number above 0 of each output on either side: no leaf predicts 0."""
    cdef Py_ssize_t k, o
    for o in range(g.n_outputs):
        k = 0
        while k < n and g.y[row_of(g, list[k]) * g.n_outputs + o] <= 0:
            k += 1
        first[0] = max(first[0], k + 1)
        k = n
        while k > 0 and g.y[row_of(g, list[k - 1]) * g.n_outputs + o] <= 0:
            k -= 1
        last[0] = min(last[0], k - 1)


cdef inline void scan_sums(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, Py_ssize_t feature, room_t* room,
    double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    """Squared error and Poisson, by the sums of y - m on the left."""
    cdef Py_ssize_t n = node.stop - node.start, last = n - g.min_leaf, cut = -1, k, o, row
    cdef double best = -1, bar = -1, score, w, weight = 0, other
    cdef const double* m = node.values
    cdef double least = noise(node) * g.n_outputs
    cdef double* sums = room.sides
    memset(sums, 0, g.n_outputs * sizeof(double))
    if g.criterion == POISSON:
        least = 0
        for o in range(g.n_outputs):
            least += 1e-15 * node.weight * m[o]
        keep_sums_above_zero(g, list, n, &first, &last)
    for k in range(1, last + 1):
        row = row_of(g, list[k - 1])
        w = weight_of(g, row)
        for o in range(g.n_outputs):
            sums[o] += w * (g.y[row * g.n_outputs + o] - m[o])
        weight += w
        if k < first or same_value(g, list[k - 1], list[k]) or not heavy_enough(g, node, weight):
            continue
        other = node.weight - weight
        if g.monotonic != NULL and not in_order(g, node, feature, m[0] + sums[0] / weight, m[0] - sums[0] / other):
            continue
        score = 0
        if g.criterion == POISSON:
            for o in range(g.n_outputs):
                score += weight * y_log(sums[o] / weight + m[o], m[o]) + other * y_log(m[o] - sums[o] / other, m[o])
        else:
            for o in range(g.n_outputs):
                score += sums[o] * sums[o] / (weight * other)
        score = above_noise(score, least)
        if score > bar and beats(score, &best, &bar, False):
            cut = k
    score_out[0] = best
    cut_out[0] = cut


cdef inline void scan_distances(
    const growth_t* g, const node_t* node, const uint64_t* list, Py_ssize_t first, Py_ssize_t feature, room_t* room,
    double* score_out, Py_ssize_t* cut_out
) noexcept nogil:
    """Absolute error: losses of all beginnings of the list, then of all ends, by heaps."""
    cdef Py_ssize_t n = node.stop - node.start, cut = -1, k, o, row
    cdef double best = -1e300, bar = -1e300, score, weight = 0
    cdef double* loss = room.losses + 4 * n  # of the first k rows and of the others
    cdef double* left = loss + n  # the last output's medians, of which there is one where they matter
    cdef double* right = left + n
    cdef median_t m
    memset(loss, 0, n * sizeof(double))
    for o in range(g.n_outputs):
        median_start(&m, room.losses, n)
        for k in range(1, n):
            row = row_of(g, list[k - 1])
            median_add(&m, g.y[row * g.n_outputs + o], weight_of(g, row))
            loss[k] += median_loss(&m)
            left[k] = median_of(&m)
        median_start(&m, room.losses, n)
        for k in range(n - 1, 0, -1):
            row = row_of(g, list[k])
            median_add(&m, g.y[row * g.n_outputs + o], weight_of(g, row))
            loss[k] += median_loss(&m)
            right[k] = median_of(&m)
    for k in range(1, n - g.min_leaf + 1):
        weight += weight_of(g, row_of(g, list[k - 1]))
        if k < first or same_value(g, list[k - 1], list[k]) or not heavy_enough(g, node, weight):
            continue
        if g.monotonic != NULL and not in_order(g, node, feature, left[k], right[k]):
            continue
        score = -loss[k]
        if score > bar and beats(score, &best, &bar, False):
            cut = k
    score_out[0] = best
    cut_out[0] = cut
