# Scores of binary SVMs for all pairs of classes, for rows that a C caller passes as raw pointers.
from cython cimport floating
from libc.math cimport tanh

from _exp cimport exp_of_negative
from _finite cimport all_finite
from _model cimport machine_t, model_t, piece, score_double_f, score_float_f
from _numbers cimport as_doubles
from _vector cimport LANES_D, fmadd_d, spread_d, sum_d, vec_d
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK

# The numbers of the kernels, in the order of `fastclf/kernels/values.py`.
cdef enum:
    LINEAR
    POLY
    RBF
    SIGMOID


cdef inline double product(const double* s, const double* x, Py_ssize_t d, bint apart) noexcept nogil:
    """The squared distance |s - x|^2 of two vectors if `apart`, else their inner product s.x."""
    cdef vec_d total = spread_d(0), t
    cdef Py_ssize_t j = 0
    cdef double sum, off
    while j + LANES_D <= d:
        t = (<const vec_d*> (s + j))[0]
        if apart:
            t -= (<const vec_d*> (x + j))[0]
            total = fmadd_d(t, t, total)
        else:
            total = fmadd_d(t, (<const vec_d*> (x + j))[0], total)
        j += LANES_D
    sum = sum_d(total)
    while j < d:
        off = s[j] - x[j]
        sum += off * off if apart else s[j] * x[j]
        j += 1
    return sum


cdef void fill_values(const machine_t* m, const double* x, Py_ssize_t d, double* value) noexcept nogil:
    """Write the kernel values of x and all support vectors to `value`, which has space for whole SIMD vectors."""
    cdef Py_ssize_t j, _, n = m.n_support
    cdef double inner, power
    for j in range(n):
        value[j] = product(m.support + j * d, x, d, m.kernel == RBF)
    if m.kernel == RBF:
        for j in range((n + LANES_D - 1) // LANES_D):
            (<vec_d*> value)[j] = exp_of_negative(spread_d(-m.gamma) * (<vec_d*> value)[j])
    elif m.kernel != LINEAR:
        for j in range(n):
            inner = m.gamma * value[j] + m.coef0
            if m.kernel == SIGMOID:
                value[j] = tanh(inner)
            else:
                power = 1
                for _ in range(m.degree):
                    power *= inner
                value[j] = power


cdef int decide_rows(const model_t* model, const floating* X, Py_ssize_t n, double* out, char* scratch) noexcept nogil:
    """Write the scores of n rows, (n, pairs); returns FASTCLF_BAD_VALUE if an entry of X or a score is not finite."""
    cdef const machine_t* m = &model.machine
    cdef Py_ssize_t d = model.n_features, K = model.n_classes, P = model.n_outputs, i, j, p, a, b
    cdef double* wide = <double*> piece(&scratch, d * <Py_ssize_t> sizeof(double))
    cdef double* value = <double*> piece(&scratch, (m.n_support + LANES_D) * <Py_ssize_t> sizeof(double))
    cdef double* score = out
    if not all_finite(X, n * d):
        return FASTCLF_BAD_VALUE
    for j in range(m.n_support, m.n_support + LANES_D):
        value[j] = 0
    for i in range(n):
        fill_values(m, as_doubles(X + i * d, d, wide), d, value)
        p = 0
        for a in range(K):
            for b in range(a + 1, K):
                score[p] = m.intercept[p]
                for j in range(m.starts[a], m.starts[a + 1]):
                    score[p] += m.coef[(b - 1) * m.n_support + j] * value[j]
                for j in range(m.starts[b], m.starts[b + 1]):
                    score[p] += m.coef[a * m.n_support + j] * value[j]
                p += 1
        score += P
    return FASTCLF_OK if all_finite(out, n * P) else FASTCLF_BAD_VALUE


cdef score_float_f _decide_floats = decide_rows[float]
cdef score_double_f _decide_doubles = decide_rows[double]
ADDRESSES = {"score_f": <size_t> _decide_floats, "score_d": <size_t> _decide_doubles}
