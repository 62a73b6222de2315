# The best cut of a node's rows, for any criterion, with weights, several outputs and monotonic constraints.
#
# A larger score means purer sides. In the scores, l and r are the weights of the two sides, l_k and r_k the weights of
# class k on each side, and w and y the weight and the target of a row:
#
#     gini                  sum_k l_k^2 / l + sum_k r_k^2 / r
#     entropy               sum_k l_k log2 l_k + r_k log2 r_k - l log2 l - r log2 r
#     misclassification     max_k l_k + max_k r_k
#     squared error         (sum_left w (y - m))^2 / (l r),  m the node's mean
#     absolute error        -sum_left w |y - median| - sum_right w |y - median|
#     Poisson               L log(L / (m l)) + R log(R / (m r)),  L and R the sums of w y on each side
#
# The score for several outputs is the sum of the outputs' scores.
from libc.math cimport INFINITY, fabs, frexp, ldexp, log, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from tree._growth cimport (
    ENTROPY,
    GINI,
    MISCLASSIFICATION,
    POISSON,
    SQUARED_ERROR,
    class_of,
    growth_t,
    list_of,
    node_t,
    row_of,
    same_value,
    scratch_t,
    weight_of,
    x_log_x,
)
from tree._median cimport median_add, median_loss, median_of, median_start, median_t

ctypedef struct order_t:  # the rows of a node in some order, which a cut divides: the first rows go to the left
    const uint64_t* items  # (number of rows of the node,): an item for each row, which packs rank, class and row number
    Py_ssize_t feature
    Py_ssize_t first, last  # first, last: the least and the largest number of rows that a cut may send to the left

ctypedef struct best_t:  # the best cut found so far of a node's rows in one order
    # the score of the best cut, rounded to 40 bits, so that scores that differ by rounding errors only are equal
    double score
    # a score limit a little below `score`: a cut with a lower score, before rounding, cannot become the best
    double bar
    Py_ssize_t cut  # the number of rows that the best cut sends to the left; -1: there is no cut yet


cdef inline double rounded(double score) noexcept nogil:
    """The score rounded to 40 bits; the border between two rounded values is a quarter of a step above their middle.

    Exact scores are often whole numbers. With the border there, rounding errors of equal scores cannot lead to
    different rounded values.
    """
    cdef uint64_t bits
    score += score * 2.3e-13
    memcpy(&bits, &score, 8)
    bits &= ~<uint64_t> 0xFFF
    memcpy(&score, &bits, 8)
    return score


cdef inline double noise(const node_t* node) noexcept nogil:
    """A limit for the size of squared-error scores: smaller ones are rounding errors, taken as 0, so that they tie."""
    return 1e-22 * node.impurity


cdef inline double above_noise(double score, double least) noexcept nogil:
    return score if fabs(score) > least else 0


cdef inline void start_search(best_t* best, double floor) noexcept nogil:
    """Begin a search: no cut is found yet, and only a cut whose score is at least `floor` will be taken."""
    best.score, best.bar, best.cut = floor, floor - fabs(floor) * 1e-12, -1


cdef inline bint consider(best_t* best, double score, Py_ssize_t cut, bint or_equal) noexcept nogil:
    """Take the cut if its rounded score is above the best one, or with `or_equal` if it is equal.

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
    """Whether the order may be cut after k rows: enough rows are on the left, and the values beside the cut differ."""
    return k >= order.first and not same_value(g, order.items[k - 1], order.items[k])


cdef inline double fixed_scale(double bound) noexcept nogil:
    """A power of 2 for the conversion to int64; bound: the largest possible sum of absolute values before scaling.

    Sums of whole numbers do not depend on their order: cuts with the same two sides get scores with the same bits.
    """
    cdef int exponent = 0
    if not bound < INFINITY:
        return ldexp(1, -1000)
    frexp(bound, &exponent)
    return ldexp(1, 61 - max(exponent, -900))


cdef inline bint heavy_enough(const growth_t* g, double left, double right) noexcept nogil:
    """Whether the weights of the rows on both sides of a cut are positive and at least the minimum weight of a leaf."""
    return left >= g.min_leaf_weight and right >= g.min_leaf_weight and left > 0 and right > 0


cdef inline bint in_order(
    const growth_t* g, const node_t* node, Py_ssize_t feature, double left, double right
) noexcept nogil:
    """Whether the predictions of the two sides obey the feature's monotonic constraint, and the bounds of the node.

    A feature without a constraint allows any predictions; predictions of leaves are clipped to the bounds later.
    """
    cdef const double* bounds = node.values + g.n_values
    return g.monotonic == NULL or g.monotonic[feature] == 0 or (
        min(left, right) >= bounds[0] and max(left, right) <= bounds[1]
        and (left - right) * g.monotonic[feature] <= 0
    )


cdef inline double side_weight(const int64_t* all_rows, const int64_t* l, Py_ssize_t c, double unit) noexcept nogil:
    """The weight of class c on the left side or, if the class totals `all_rows` are not NULL, on the right side."""
    return (l[c] if all_rows == NULL else all_rows[c] - l[c]) * unit


cdef inline double class_score(
    const growth_t* g, const int64_t* all_rows, const int64_t* l, double unit, double weight
) noexcept nogil:
    """The term of a cut's score for one side; `unit`: the factor that turns stored class weights into weights."""
    cdef double score = 0, most, class_weight
    cdef Py_ssize_t c, o
    if g.criterion == GINI:
        for c in range(g.n_values):
            class_weight = side_weight(all_rows, l, c, unit)
            score += class_weight * class_weight
        return score / weight
    if g.criterion == ENTROPY:
        for c in range(g.n_values):
            score += x_log_x(side_weight(all_rows, l, c, unit))
        return score - g.n_outputs * x_log_x(weight)
    for o in range(g.n_outputs):
        most = 0
        for c in range(g.first_value[o], g.first_value[o + 1]):
            most = max(most, side_weight(all_rows, l, c, unit))
        score += most
    return score


cdef inline void scan_classes(
    const growth_t* g, const node_t* node, const order_t* order, const scratch_t* scratch, best_t* best
) noexcept nogil:
    cdef Py_ssize_t k, o, row
    cdef double scale = fixed_scale(node.weight), unit = 1 / scale, weight, other, score
    cdef int64_t w, left = 0
    cdef int64_t* l = <int64_t*> scratch.sides  # no-cython-lint: l (left of a cut) is named as in the file's formulas
    cdef const int64_t* all_rows = l + g.n_values
    memset(l, 0, g.n_values * sizeof(int64_t))
    for k in range(1, order.last + 1):
        row = row_of(g, order.items[k - 1])
        w = <int64_t> (weight_of(g, row) * scale)
        for o in range(g.n_outputs):
            l[class_of(g, order.items[k - 1]) if g.y == NULL else <Py_ssize_t> g.y[row * g.n_outputs + o]] += w
        left += w
        weight, other = left * unit, (node.total - left) * unit
        if is_cut(g, order, k) and heavy_enough(g, weight, other):
            if in_order(g, node, order.feature, l[1] * unit / weight, (all_rows[1] - l[1]) * unit / other):
                score = class_score(g, NULL, l, unit, weight) + class_score(g, all_rows, l, unit, other)
                consider(best, score, k, False)


cdef inline double y_log(double y, double mean) noexcept nogil:
    """The term y log(y / mean) of a Poisson score, where y is a side's mean; 0 if rounding has made y 0 or negative."""
    return y * log(y / mean) if y > 0 else 0


cdef inline order_t with_sums_above_zero(const growth_t* g, const node_t* node, const order_t* order) noexcept nogil:
    """The order, with cuts only where each side has a positive y of every output: no Poisson leaf may predict 0."""
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


cdef inline double scale_of_sums(const growth_t* g, const node_t* node) noexcept nogil:
    """The power of 2 by which weight * (y - mean) becomes whole numbers whose sums over a node's rows fit int64."""
    cdef double most = 0
    cdef Py_ssize_t o
    if g.criterion == POISSON:
        for o in range(g.n_outputs):
            most = max(most, node.values[o])
        return fixed_scale(2 * node.weight * most)
    return fixed_scale(1.01 * node.weight * sqrt(node.impurity * g.n_outputs))


cdef inline double score_of_sums(
    const growth_t* g, const node_t* node, const int64_t* l, double unit, double weight, double other
) noexcept nogil:
    """A cut's score for squared error or Poisson; l: for each output, the left sum of weight * (y - mean) / unit."""
    cdef const double* m = node.values
    cdef double score = 0, total
    cdef Py_ssize_t o
    for o in range(g.n_outputs):
        total = l[o] * unit
        if g.criterion == POISSON:
            score += weight * y_log(m[o] + total / weight, m[o]) + other * y_log(m[o] - total / other, m[o])
        else:
            score += total * total / (weight * other)
    return score


cdef inline int64_t scaled_part(
    const growth_t* g, const node_t* node, Py_ssize_t row, Py_ssize_t o, const int64_t* totals
) noexcept nogil:
    """A row's weight * (y - mean) for output o, scaled to a whole number; over the node's rows these add up to 0."""
    cdef double y = g.y[row * g.n_outputs + o] - node.values[o]
    cdef int64_t part = <int64_t> (weight_of(g, row) * y * node.scale)
    return part - totals[o] if row == node.odd_row else part


cdef inline void read_totals(const growth_t* g, node_t* node, const scratch_t* scratch) noexcept nogil:
    """Set the node's scale and total for exact sums; write its sums to the second half of `scratch.sides`."""
    cdef const uint64_t* list = list_of(g, node.list, node.start)
    cdef Py_ssize_t n = node.stop - node.start, k, o, row
    cdef double scale = fixed_scale(node.weight), y
    cdef int64_t* all_rows = <int64_t*> scratch.sides + g.n_values
    cdef int64_t w
    memset(all_rows, 0, g.n_values * sizeof(int64_t))
    node.total = 0
    if g.criterion >= SQUARED_ERROR:
        node.scale = scale_of_sums(g, node)
    for k in range(n):
        row = row_of(g, list[k])
        w = <int64_t> (weight_of(g, row) * scale)
        node.total += w
        for o in range(g.n_outputs):
            if g.criterion >= SQUARED_ERROR:
                y = g.y[row * g.n_outputs + o] - node.values[o]
                all_rows[o] += <int64_t> (weight_of(g, row) * y * node.scale)
            else:
                all_rows[class_of(g, list[k]) if g.y == NULL else <Py_ssize_t> g.y[row * g.n_outputs + o]] += w


cdef inline void scan_sums(
    const growth_t* g, const node_t* node, const order_t* given, const scratch_t* scratch, best_t* best
) noexcept nogil:
    """Search the cuts of a node's rows, which are in a given order, by squared error or Poisson deviance."""
    cdef order_t order = given[0]
    cdef Py_ssize_t k, o, row
    cdef double scale = fixed_scale(node.weight), weight_unit = 1 / scale, unit = 1 / node.scale
    cdef double weight, other, least = noise(node) * g.n_outputs
    cdef int64_t left = 0
    cdef const double* m = node.values
    cdef int64_t* l = <int64_t*> scratch.sides  # no-cython-lint: l (left of a cut) is named as in the file's formulas
    cdef const int64_t* totals = l + g.n_outputs
    memset(l, 0, g.n_outputs * sizeof(int64_t))
    if g.criterion == POISSON:
        order = with_sums_above_zero(g, node, given)
        least = 0
        for o in range(g.n_outputs):
            least += 1e-15 * node.weight * m[o]
    for k in range(1, order.last + 1):
        row = row_of(g, order.items[k - 1])
        left += <int64_t> (weight_of(g, row) * scale)
        for o in range(g.n_outputs):
            l[o] += scaled_part(g, node, row, o, totals)
        weight, other = left * weight_unit, (node.total - left) * weight_unit
        if is_cut(g, &order, k) and heavy_enough(g, weight, other):
            if in_order(g, node, order.feature, m[0] + l[0] * unit / weight, m[0] - l[0] * unit / other):
                consider(best, above_noise(score_of_sums(g, node, l, unit, weight, other), least), k, False)


cdef inline double whole_number(double y, double median, double scale) noexcept nogil:
    """A row's y minus the median, scaled to a whole number of size at most 2^50, for exact sums; y if `scale` is 0."""
    # Sums of whole numbers are exact, so that cuts with the same two sides have scores of the same bits. 2^51 is added
    # so that the conversion to int64 rounds down, also for negative numbers.
    cdef double above_zero = 2251799813685248.0
    return <double> (<int64_t> ((y - median) * scale + above_zero)) - above_zero if scale > 0 else y


cdef inline double scale_of_distances(const growth_t* g, const node_t* node, const order_t* order) noexcept nogil:
    """The scale of y - median: the weighted distances of all rows add up to 2^50 at most, so that all sums are exact.

    0 if weights are not whole numbers, and for monotonic constraints, which compare medians with bounds.
    """
    cdef double bound = 1.01 * node.impurity * node.weight * g.n_outputs, w
    cdef Py_ssize_t k
    if g.monotonic != NULL or not bound > 0:
        return 0
    if g.weight != NULL:
        for k in range(node.stop - node.start):
            w = weight_of(g, row_of(g, order.items[k]))
            if not 1 <= w < 1e9 or w != <double> (<int64_t> w):
                return 0
    return fixed_scale(bound) / 2048


cdef inline void scan_distances(
    const growth_t* g, const node_t* node, const order_t* order, const scratch_t* scratch, best_t* best
) noexcept nogil:
    """Search the cuts by absolute error; a running median, kept in heaps, gives the errors on each side of each cut."""
    cdef Py_ssize_t n = node.stop - node.start, k, o, row
    cdef double weight = 0, scale = scale_of_distances(g, node, order), unit = 1 / scale if scale > 0 else 1, y
    # loss[k]: for the cut after k rows, the sum of absolute differences between the rows' y and the medians of their
    # sides
    cdef double* loss = scratch.losses + 4 * n
    # left[k] and right[k] belong to the cut after k rows of the order. With monotonic constraints, they end as the last
    # output's medians on the two sides of the cut; without, left[k] keeps the scaled y of row k - 1. The first loop
    # over the rows leaves the loss of the first k rows in right[k].
    cdef double* left = loss + n
    cdef double* right = left + n
    cdef median_t m
    memset(loss, 0, n * sizeof(double))
    for o in range(g.n_outputs):
        median_start(&m, scratch.losses, n)
        for k in range(1, n):
            row = row_of(g, order.items[k - 1])
            y = whole_number(g.y[row * g.n_outputs + o], node.values[o], scale)
            median_add(&m, y, weight_of(g, row))
            right[k] = median_loss(&m)
            left[k] = y if g.monotonic == NULL else median_of(&m)
        median_start(&m, scratch.losses, n)
        for k in range(n - 1, 0, -1):
            row = row_of(g, order.items[k])
            if g.monotonic == NULL and k < n - 1:
                y = left[k + 1]
            else:
                y = whole_number(g.y[row * g.n_outputs + o], node.values[o], scale)
            median_add(&m, y, weight_of(g, row))
            loss[k] += right[k] + median_loss(&m)
            if g.monotonic != NULL:
                right[k] = median_of(&m)
    for k in range(1, order.last + 1):
        weight += weight_of(g, row_of(g, order.items[k - 1]))
        if is_cut(g, order, k) and heavy_enough(g, weight, node.weight - weight):
            if in_order(g, node, order.feature, left[k], right[k]):
                consider(best, -loss[k] * unit, k, False)
