# Dual coordinate descent for the SVM of Crammer and Singer (2001), which learns all classes at once (Keerthi,
# Sundararajan, Chang, Hsieh, Lin 2008, A sequential dual method for large scale multi-class linear SVMs).
#
#     min over w_1 .. w_K:  sum_k |w_k|^2 / 2 + sum_i c_i max_k (w_k x_i - w_y x_i + [k != y_i])
#     its dual:  max over alpha  - sum_k |w_k|^2 / 2 - sum_i sum_{k != y_i} alpha_ik,   w_k = sum_i alpha_ik x_i,
#                sum_k alpha_ik = 0,  alpha_ik <= c_i [k = y_i]
#
# A step takes the K numbers alpha_i of a row to their optimum, with A = |x_i|^2 and g_k = w_k x_i + [k != y_i]:
#
#     alpha_ik <- c_ik + min(0, (beta - D_k) / A),   D_k = g_k - A alpha_ik + A c_ik,   c_ik = c_i [k = y_i],
#
# where beta makes the new alpha_ik of the row add up to 0: the sum over k of max(0, D_k - beta) is A c_i.
#
# The weights of a column, one for each class, are contiguous, so that vectors run along the classes.
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from _csr cimport csr_of, csr_t
from _vector cimport LANES_D, fmadd_d, require, spread_d, vec_d

LANES = LANES_D

ctypedef struct machine_t:
    Py_ssize_t n               # the number of training rows
    Py_ssize_t d               # the number of columns, without the bias column
    Py_ssize_t K               # the number K of classes
    Py_ssize_t ld              # K rounded up to whole SIMD vectors, i.e. to a multiple of LANES; entries beyond K are 0
    const int64_t* code        # (n,): the class number of each row
    const double* cost         # (n,): the cost of each row, the upper bound of its alpha for the class of the row
    const double* square       # (n,): the squared length of each row
    double bias                # the value of the bias column, which stands for the intercept
    # (d + 1, K padded to ld): the weights, for each class, of each column and, last, of the bias column; updated
    double* w
    double* alpha              # (n, K padded to ld): the dual variable of each row and class; updated
    # (n,), written: how much each row violated the optimality conditions before the last step on it
    double* violation
    # (2, K padded to ld), scratch space for one row: the gradient for each class, and the gradient with alpha at its
    # upper bound
    double* g


cdef machine_t as_machine(machine) except *:
    cdef machine_t m
    cdef const int64_t[::1] code = machine.codes
    cdef const double[::1] cost = machine.cost
    cdef const double[::1] square = machine.squares
    cdef double[:, ::1] w = machine.w
    cdef double[:, ::1] alpha = machine.alpha
    cdef double[::1] violation = machine.violation
    cdef double[:, ::1] g = machine.scratch
    m.n, m.d, m.K, m.ld, m.bias = code.shape[0], w.shape[0] - 1, machine.n_classes, w.shape[1], machine.bias
    require(cost.shape[0] == m.n and square.shape[0] == m.n and violation.shape[0] == m.n)
    require(alpha.shape[0] == m.n and alpha.shape[1] == m.ld and g.shape[0] == 2 and g.shape[1] == m.ld)
    require(1 < m.K <= m.ld and m.ld % LANES_D == 0)
    m.code, m.cost, m.square, m.violation = &code[0], &cost[0], &square[0], &violation[0]
    m.w, m.alpha, m.g = &w[0, 0], &alpha[0, 0], &g[0, 0]
    return m


cdef inline void add(const double* x, double a, double* out, Py_ssize_t ld) noexcept nogil:
    """Add the vector x, multiplied by the number a, to the vector `out`; both have ld numbers, one for each class."""
    cdef Py_ssize_t v
    for v in range(ld // LANES_D):
        (<vec_d*> out)[v] = fmadd_d(spread_d(a), (<const vec_d*> x)[v], (<vec_d*> out)[v])


cdef inline double root(const double* D, Py_ssize_t K, double wanted) noexcept nogil:
    """The root beta of sum_k max(0, D[k] - beta) = wanted, by Newton's method; with it a row's alphas add up to 0."""
    cdef Py_ssize_t k, n, above = K + 1
    cdef double beta = -INFINITY, sum
    while True:
        n, sum, above = above, 0, 0
        for k in range(K):
            if D[k] > beta:
                sum += D[k]
                above += 1
        # beta rises until the number of entries of D above it stays the same; then it is the root, but for rounding
        if above >= n or above == 0:
            return beta
        beta = (sum - wanted) / above


cdef inline double choose(machine_t* m, Py_ssize_t i) noexcept nogil:
    """Take a step on row i: update its alphas, and write their changes to m.g; returns the largest change."""
    cdef Py_ssize_t k, y = m.code[i]
    cdef double A = m.square[i], c = m.cost[i], high = -INFINITY, low = INFINITY, beta, to, most = 0
    cdef double* alpha = m.alpha + i * m.ld
    cdef double* g = m.g
    cdef double* D = m.g + m.ld
    for k in range(m.K):
        g[k] += k != y
        high = max(high, g[k])
        if alpha[k] < (c if k == y else 0):
            low = min(low, g[k])
    m.violation[i] = high - low if low < INFINITY else 0
    for k in range(m.K):
        D[k] = g[k] + A * ((c if k == y else 0) - alpha[k])
    beta = root(D, m.K, A * c)
    for k in range(m.K):
        to = (c if k == y else 0) + min(<double> 0, (beta - D[k]) / A)
        # an alpha at its bound gets the bound itself: with a value just below, by rounding, it would count as free
        g[k], alpha[k] = to - alpha[k], to
        most = max(most, g[k])
    return most


def sweep(const floating[:, ::1] X, machine, const int64_t[::1] order, Py_ssize_t start, Py_ssize_t stop):
    """Take a step of dual coordinate descent on each row of order[start:stop], none of which may have length 0."""
    cdef machine_t m = as_machine(machine)
    cdef Py_ssize_t at, i, j
    require(X.shape[0] == m.n and X.shape[1] == m.d and 0 <= start <= stop <= order.shape[0])
    with nogil:
        for at in range(start, stop):
            i = order[at]
            for j in range(m.ld):
                m.g[j] = 0
            for j in range(m.d):
                add(m.w + j * m.ld, X[i, j], m.g, m.ld)
            add(m.w + m.d * m.ld, m.bias, m.g, m.ld)
            if choose(&m, i) > 0:
                for j in range(m.d):
                    add(m.g, X[i, j], m.w + j * m.ld, m.ld)
                add(m.g, m.bias, m.w + m.d * m.ld, m.ld)


def sweep_sparse(
    X, const floating[::1] data, machine, const int64_t[::1] order, Py_ssize_t start, Py_ssize_t stop
):
    """Take a step of dual coordinate descent on each row of order[start:stop] of a `Csr`; no row may have length 0."""
    cdef machine_t m = as_machine(machine)
    cdef csr_t rows = csr_of(X)
    cdef Py_ssize_t at, i, j, e
    require(rows.n_rows == m.n and rows.n_columns == m.d and 0 <= start <= stop <= order.shape[0])
    with nogil:
        for at in range(start, stop):
            i = order[at]
            for j in range(m.ld):
                m.g[j] = 0
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                add(m.w + rows.indices[e] * m.ld, data[e], m.g, m.ld)
            add(m.w + m.d * m.ld, m.bias, m.g, m.ld)
            if choose(&m, i) > 0:
                for e in range(rows.indptr[i], rows.indptr[i + 1]):
                    add(m.g, data[e], m.w + rows.indices[e] * m.ld, m.ld)
                add(m.g, m.bias, m.w + m.d * m.ld, m.ld)
