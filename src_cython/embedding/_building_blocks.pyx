# Building blocks of solvers, for compiled code outside this package.
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from tree._node_summary cimport describe
from _finite cimport all_finite
from tree._growth cimport ENTROPY, GINI, SQUARED_ERROR, growth_t, node_t, scratch_t
from _model cimport (
    axpy_double_f, axpy_float_f, column_t, dot_double_f, dot_float_f, dual_t, piece, smo_first_f, smo_second_f,
    smo_step_f, split_double_f, split_float_f,
)
from linear_model._samples cimport load
from tree._plain_split cimport read_total, split_t, try_feature
from _vector cimport LANES_D, fmadd_d, spread_d, sum_d, vec_d
from _status cimport FASTCLF_BAD_SIZE, FASTCLF_BAD_VALUE, FASTCLF_OK

cdef enum:
    # A tree's sorted list packs the rank, the class and the number of a row into an item of 64 bits. At most this
    # number of bits may be used: the spare bit keeps every rank below the rank of missing values.
    MOST_BITS = 63


cdef double dot(const floating* x, const floating* y, Py_ssize_t n) noexcept nogil:
    """The inner product x'y of n numbers, summed in float64 in two SIMD vectors."""
    cdef vec_d s = spread_d(0), t = s
    cdef Py_ssize_t i = 0
    cdef double total
    while i + 2 * LANES_D <= n:
        s = fmadd_d(load(x + i), load(y + i), s)
        t = fmadd_d(load(x + i + LANES_D), load(y + i + LANES_D), t)
        i += 2 * LANES_D
    total = sum_d(s + t)
    while i < n:
        total += <double> x[i] * y[i]
        i += 1
    return total


cdef int axpy(Py_ssize_t n, floating a, const floating* x, floating* y) noexcept nogil:
    """Add a times the vector x to the vector y."""
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += a * x[i]
    return FASTCLF_OK


cdef inline int bits_of(Py_ssize_t n) noexcept nogil:
    """The number of bits that hold every number below n."""
    cdef int bits = 0
    while (n - 1) >> bits > 0:
        bits += 1
    return bits


cdef int set_items(
    const floating* x, const column_t* column, growth_t* g, uint64_t* items, double* weights
) noexcept nogil:
    """Write the weight of each row, and its item (rank, class and row number, packed as in `tree/_growth.pxd`).

    FASTCLF_BAD_VALUE if the column does not ascend, or a weight or code is out of range.
    """
    cdef uint64_t rank = 0
    cdef Py_ssize_t i
    for i in range(column.n):
        weights[i] = 1 if column.weight == NULL else column.weight[i]
        if not 0 <= weights[i] < INFINITY or (i > 0 and x[i] < x[i - 1]):
            return FASTCLF_BAD_VALUE
        rank += i > 0 and x[i] != x[i - 1]
        items[i] = rank << g.rank_shift | i
        if column.code != NULL:
            if not 0 <= column.code[i] < column.n_classes:
                return FASTCLF_BAD_VALUE
            items[i] |= <uint64_t> column.code[i] << g.row_bits
    return FASTCLF_OK


cdef int split_sorted(const floating* x, const column_t* column) noexcept nogil:
    """Write the best split of a sorted column: its threshold, its score, and the number of rows on the left."""
    cdef growth_t g
    cdef node_t node
    cdef scratch_t work
    cdef split_t best
    cdef Py_ssize_t n = column.n, n_classes = column.n_classes, i
    cdef int row_bits = bits_of(n), class_bits = 0 if column.code == NULL else bits_of(n_classes)
    cdef int criterion = column.criterion
    cdef int32_t[2] first_value = [0, <int32_t> n_classes]
    cdef char* scratch = column.scratch
    cdef uint64_t* items = <uint64_t*> piece(&scratch, n * <Py_ssize_t> sizeof(uint64_t))
    cdef double* weights = <double*> piece(&scratch, n * <Py_ssize_t> sizeof(double))
    cdef double middle
    cdef bint heavy = False
    work.sides = <double*> piece(&scratch, 3 * n_classes * <Py_ssize_t> sizeof(double))
    work.items, work.groups, work.losses = NULL, NULL, NULL
    if (criterion == SQUARED_ERROR) != (column.code == NULL) or not GINI <= criterion <= SQUARED_ERROR:
        return FASTCLF_BAD_VALUE
    if column.min_leaf < 1 or 2 * row_bits + class_bits > MOST_BITS:
        return FASTCLF_BAD_SIZE
    if not all_finite(x, n) or (column.y != NULL and not all_finite(column.y, n)):
        return FASTCLF_BAD_VALUE
    memset(&g, 0, sizeof(g))
    g.items, g.n, g.n_features, g.n_values, g.n_outputs = items, n, 1, n_classes, 1
    g.row_bits, g.rank_shift, g.criterion = row_bits, row_bits + class_bits, criterion
    g.row_mask = (<uint64_t> 1 << row_bits) - 1
    g.class_mask = (<uint64_t> 1 << class_bits) - 1
    g.missing = ~<uint64_t> 0 >> g.rank_shift
    g.y, g.weight, g.first_value, g.min_leaf = column.y, column.weight, first_value, column.min_leaf
    memset(&node, 0, sizeof(node))
    node.stop, node.values = n, work.sides + 2 * n_classes
    if set_items(x, column, &g, items, weights) != FASTCLF_OK:
        return FASTCLF_BAD_VALUE
    for i in range(n):
        heavy |= weights[i] > 0
    best.feature, best.cut, best.score = -1, -1, 0
    if heavy:
        if criterion == ENTROPY:
            # Without weights, a search by entropy reads a table of logarithms, which this function does not have. So
            # weights are passed, even if all are 1.
            g.weight = weights
        describe(&g, &node, &work)
        read_total(&g, &node, &work)
        try_feature(&g, &node, 0, &work, &best)
    column.cut[0], column.score[0] = best.cut, best.score
    if best.cut > 0:
        middle = <double> x[best.cut - 1] / 2 + <double> x[best.cut] / 2
        # The threshold is the middle of two values: values up to it go left. If the middle is rounded up to the value
        # on the right, the value on the left is the threshold.
        column.threshold[0] = middle if x[best.cut - 1] <= middle < x[best.cut] else x[best.cut - 1]
    return FASTCLF_OK


# Sequential minimal optimisation, second-order pair choice (Fan, Chen, Lin 2005, WSS 2).
#
#     min  1/2 a'Qa - 1'a    subject to  y'a = 0,  0 <= a_i <= C_i,     Q_ij = y_i y_j K(x_i, x_j)
#
# grad = Qa - 1. A step moves a_i and a_j: i maximises -y_i grad_i over the rows whose y_i a_i may rise, and j the
# second-order gain over the rows whose y_j a_j may fall.
cdef inline bint may_rise(double y, double C, double alpha) noexcept nogil:
    """Whether label y times alpha may rise within 0 <= alpha <= C; it may fall if may_rise(-y, C, alpha)."""
    return alpha < C if y > 0 else alpha > 0


cdef int smo_first(const dual_t* p, Py_ssize_t* i_out, double* violation_out) noexcept nogil:
    """Write the first row i of an SMO step, -1 if no y_i alpha_i may rise, and the largest KKT violation."""
    cdef double high = -INFINITY, low = INFINITY, v
    cdef Py_ssize_t t
    i_out[0] = -1
    for t in range(p.n):
        v = -p.y[t] * p.grad[t]
        if v > high and may_rise(p.y[t], p.C[t], p.alpha[t]):
            high = v
            i_out[0] = t
        if v < low and may_rise(-p.y[t], p.C[t], p.alpha[t]):
            low = v
    violation_out[0] = high - low if i_out[0] >= 0 and low < INFINITY else 0
    return FASTCLF_OK


cdef int smo_second(
    const dual_t* p, Py_ssize_t i, const double* K_i, const double* diagonal, Py_ssize_t* j_out
) noexcept nogil:
    """Write the second row j of an SMO step, -1 if no pair improves the objective; K_i: row i of the kernel matrix."""
    cdef double high, v, gain, curvature, best = 0
    cdef Py_ssize_t t
    j_out[0] = -1
    if not 0 <= i < p.n:
        return FASTCLF_BAD_SIZE
    high = -p.y[i] * p.grad[i]
    for t in range(p.n):
        v = high + p.y[t] * p.grad[t]
        if v > 0 and may_rise(-p.y[t], p.C[t], p.alpha[t]):
            curvature = diagonal[i] + diagonal[t] - 2 * K_i[t]
            gain = v * v / (curvature if curvature > 0 else 1e-12)
            if gain > best:
                best = gain
                j_out[0] = t
    return FASTCLF_OK


cdef int smo_step(
    const dual_t* p, Py_ssize_t i, Py_ssize_t j, const double* K_i, const double* K_j
) noexcept nogil:
    """Take an SMO step: move alpha_i and alpha_j to the minimum that keeps y'alpha, and update the gradient `grad`."""
    cdef const double* y = p.y
    cdef const double* C = p.C
    cdef double* alpha = p.alpha
    cdef double* grad = p.grad
    cdef double curvature, step, a, b
    cdef Py_ssize_t t
    if not (0 <= i < p.n and 0 <= j < p.n) or i == j:
        return FASTCLF_BAD_SIZE
    curvature = K_i[i] + K_j[j] - 2 * K_i[j]
    step = (y[j] * grad[j] - y[i] * grad[i]) / (curvature if curvature > 0 else 1e-12)
    # y_i alpha_i rises and y_j alpha_j falls by the step, as far as the bounds 0 and C of the two alphas allow
    step = max(step, -alpha[i] if y[i] > 0 else alpha[i] - C[i])
    step = max(step, alpha[j] - C[j] if y[j] > 0 else -alpha[j])
    step = min(step, C[i] - alpha[i] if y[i] > 0 else alpha[i])
    step = min(step, alpha[j] if y[j] > 0 else C[j] - alpha[j])
    a = alpha[i] + y[i] * step
    b = alpha[j] - y[j] * step
    # each alpha is clamped to its bounds, since rounding may move an alpha that reaches a bound off it
    alpha[i] = min(max(a, 0.0), C[i])
    alpha[j] = min(max(b, 0.0), C[j])
    for t in range(p.n):
        grad[t] += y[t] * step * (K_i[t] - K_j[t])
    return FASTCLF_OK


cdef dot_float_f _dot_floats = dot[float]
cdef dot_double_f _dot_doubles = dot[double]
cdef axpy_float_f _axpy_floats = axpy[float]
cdef axpy_double_f _axpy_doubles = axpy[double]
cdef split_float_f _split_floats = split_sorted[float]
cdef split_double_f _split_doubles = split_sorted[double]
cdef smo_first_f _smo_first = smo_first
cdef smo_second_f _smo_second = smo_second
cdef smo_step_f _smo_step = smo_step
ADDRESSES = {
    "dot_f": <size_t> _dot_floats,
    "dot_d": <size_t> _dot_doubles,
    "axpy_f": <size_t> _axpy_floats,
    "axpy_d": <size_t> _axpy_doubles,
    "split_f": <size_t> _split_floats,
    "split_d": <size_t> _split_doubles,
    "smo_first": <size_t> _smo_first,
    "smo_second": <size_t> _smo_second,
    "smo_step": <size_t> _smo_step,
}
