# What solvers are built of, for compiled code of others.
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from tree._node_summary cimport describe
from _finite cimport all_finite
from tree._growth cimport ENTROPY, GINI, SQUARED_ERROR, growth_t, node_t, scratch_t
from _model cimport (
    axpy_double_f, axpy_float_f, dot_double_f, dot_float_f, piece, smo_first_f, smo_second_f, smo_step_f,
    split_double_f, split_float_f,
)
from linear_model._samples cimport load
from tree._plain_split cimport split_t, try_feature
from _vector cimport LANES_D, fmadd_d, spread_d, sum_d, vec_d
from _status cimport FASTCLF_BAD_SIZE, FASTCLF_BAD_VALUE, FASTCLF_OK

cdef enum:
    MOST_BITS = 63  # one is left, so that no rank is that of what is missing


cdef double dot(const floating* x, const floating* y, Py_ssize_t n) noexcept nogil:
    """x'y in float64, of two vectors side by side."""
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
    """y += a x"""
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += a * x[i]
    return FASTCLF_OK


cdef inline int bits_of(Py_ssize_t n) noexcept nogil:
    """Bits that numbers below n need."""
    cdef int bits = 0
    while (n - 1) >> bits > 0:
        bits += 1
    return bits


cdef int split_sorted(
    const floating* x, const int* code, const double* y, const double* weight, Py_ssize_t n, Py_ssize_t n_classes,
    int criterion, Py_ssize_t min_leaf, Py_ssize_t* cut_out, double* threshold_out, double* score_out, char* room
) noexcept nogil:
    """The best threshold of an ascending column, by `tree/_plain_split.pxd`; `room` for 2 n + 3 n_classes numbers."""
    cdef growth_t g
    cdef node_t node
    cdef scratch_t work
    cdef split_t best
    cdef int row_bits = bits_of(n), class_bits = 0 if code == NULL else bits_of(n_classes)
    cdef int32_t[2] first_value = [0, <int32_t> n_classes]
    cdef uint64_t* items = <uint64_t*> piece(&room, n * <Py_ssize_t> sizeof(uint64_t))
    cdef double* weights = <double*> piece(&room, n * <Py_ssize_t> sizeof(double))
    cdef uint64_t rank = 0
    cdef Py_ssize_t i
    cdef double middle
    cdef bint heavy = False
    work.sides = <double*> piece(&room, 3 * n_classes * <Py_ssize_t> sizeof(double))
    work.items, work.groups, work.losses = NULL, NULL, NULL
    if (criterion == SQUARED_ERROR) != (code == NULL) or not GINI <= criterion <= SQUARED_ERROR:
        return FASTCLF_BAD_VALUE
    if min_leaf < 1 or 2 * row_bits + class_bits > MOST_BITS:
        return FASTCLF_BAD_SIZE
    if not all_finite(x, n) or (y != NULL and not all_finite(y, n)):
        return FASTCLF_BAD_VALUE
    memset(&g, 0, sizeof(g))
    g.items, g.n, g.n_features, g.n_values, g.n_outputs = items, n, 1, n_classes, 1
    g.row_bits, g.rank_shift, g.criterion = row_bits, row_bits + class_bits, criterion
    g.row_mask = (<uint64_t> 1 << row_bits) - 1
    g.class_mask = (<uint64_t> 1 << class_bits) - 1
    g.missing = ~<uint64_t> 0 >> g.rank_shift
    g.y, g.weight, g.first_value, g.min_leaf = y, weight, first_value, min_leaf
    memset(&node, 0, sizeof(node))
    node.stop, node.values = n, work.sides + 2 * n_classes
    for i in range(n):
        weights[i] = 1 if weight == NULL else weight[i]
        if not 0 <= weights[i] < INFINITY or (i > 0 and x[i] < x[i - 1]):
            return FASTCLF_BAD_VALUE
        heavy |= weights[i] > 0
        rank += i > 0 and x[i] != x[i - 1]
        items[i] = rank << g.rank_shift | i
        if code != NULL:
            if not 0 <= code[i] < n_classes:
                return FASTCLF_BAD_VALUE
            items[i] |= <uint64_t> code[i] << row_bits
    best.feature, best.cut, best.score = -1, -1, 0
    if heavy:
        if criterion == ENTROPY:
            g.weight = weights  # for counts there would have to be a table
        describe(&g, &node, &work)
        try_feature(&g, &node, 0, &work, &best)
    cut_out[0], score_out[0] = best.cut, best.score
    if best.cut > 0:
        middle = <double> x[best.cut - 1] / 2 + <double> x[best.cut] / 2
        # where rounding loses the middle, the left value
        threshold_out[0] = middle if x[best.cut - 1] <= middle < x[best.cut] else x[best.cut - 1]
    return FASTCLF_OK


# Sequential minimal optimisation, second-order pair choice (Fan, Chen, Lin 2005, WSS 2).
#
#     min  1/2 a'Qa - 1'a    subject to  y'a = 0,  0 <= a_i <= C_i,     Q_ij = y_i y_j K(x_i, x_j)
#
# grad = Qa - 1; i maximises -y_i grad_i over those that may go up, j the second-order gain over those that may go down.
cdef inline bint may_rise(double y, double C, double alpha) noexcept nogil:
    return alpha < C if y > 0 else alpha > 0


cdef int smo_first(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t* i_out,
    double* violation_out
) noexcept nogil:
    cdef double high = -INFINITY, low = INFINITY, v
    cdef Py_ssize_t t
    i_out[0] = -1
    for t in range(n):
        v = -y[t] * grad[t]
        if v > high and may_rise(y[t], C[t], alpha[t]):
            high = v
            i_out[0] = t
        if v < low and may_rise(-y[t], C[t], alpha[t]):
            low = v
    violation_out[0] = high - low if i_out[0] >= 0 and low < INFINITY else 0
    return FASTCLF_OK


cdef int smo_second(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t i,
    const double* K_i, const double* diagonal, Py_ssize_t* j_out
) noexcept nogil:
    cdef double high, v, gain, curvature, best = 0
    cdef Py_ssize_t t
    j_out[0] = -1
    if not 0 <= i < n:
        return FASTCLF_BAD_SIZE
    high = -y[i] * grad[i]
    for t in range(n):
        v = high + y[t] * grad[t]
        if v > 0 and may_rise(-y[t], C[t], alpha[t]):
            curvature = diagonal[i] + diagonal[t] - 2 * K_i[t]
            gain = v * v / (curvature if curvature > 0 else 1e-12)
            if gain > best:
                best = gain
                j_out[0] = t
    return FASTCLF_OK


cdef int smo_step(
    Py_ssize_t n, const double* y, const double* C, double* alpha, double* grad, Py_ssize_t i, Py_ssize_t j,
    const double* K_i, const double* K_j
) noexcept nogil:
    """Move alpha_i and alpha_j to the minimum between the two, and grad with them."""
    cdef double curvature, step, a, b
    cdef Py_ssize_t t
    if not (0 <= i < n and 0 <= j < n) or i == j:
        return FASTCLF_BAD_SIZE
    curvature = K_i[i] + K_j[j] - 2 * K_i[j]
    step = (y[j] * grad[j] - y[i] * grad[i]) / (curvature if curvature > 0 else 1e-12)
    # y_i alpha_i rises by the step, y_j alpha_j falls by it, each as far as its box lets it
    step = max(step, -alpha[i] if y[i] > 0 else alpha[i] - C[i])
    step = max(step, alpha[j] - C[j] if y[j] > 0 else -alpha[j])
    step = min(step, C[i] - alpha[i] if y[i] > 0 else alpha[i])
    step = min(step, alpha[j] if y[j] > 0 else C[j] - alpha[j])
    a = alpha[i] + y[i] * step
    b = alpha[j] - y[j] * step
    # at a bound exactly, not but for rounding
    alpha[i] = min(max(a, 0.0), C[i])
    alpha[j] = min(max(b, 0.0), C[j])
    for t in range(n):
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
