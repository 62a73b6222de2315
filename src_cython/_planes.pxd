# Rows, dense or sparse, by turns, and the scores of planes w.x + b.
#
# A product and a sum are rounded one after the other, a dense score is summed in 16 lanes that are folded by halves,
# a sparse one in 4: every SIMD level has the same bits.
from cython cimport floating
from libc.stdint cimport int64_t

from _vector cimport LANES_D, prefetch, require, spread_d, sum_d, vec_d, widen

cdef enum:
    AHEAD = 16  # turns; so long before is a row asked for

ctypedef struct rows_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    const int64_t* order   # the row of each turn, or NULL
    const int64_t* indptr  # where each sparse row begins, or NULL
    const int* index
    const int* code        # the class of each row
    const double* cost     # c of each row, or NULL for 1

ctypedef fused number:  # of weights, beside `floating` for that of rows
    float
    double

ctypedef struct planes_t:
    Py_ssize_t n           # one, or one for each class
    const int* positive    # the class that each stands for
    double* w              # (n, d)
    double* b
    const double* up       # the weight of each plane's class; joint: of the row's
    const double* down     # ... of the rest


cdef inline vec_d load(const number* x) noexcept nogil:
    if number is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline double folded(vec_d* s) noexcept nogil:
    """The sum of 16 lanes by halves, in loops of constant length, which the compiler keeps in registers."""
    cdef Py_ssize_t v
    if LANES_D < 2:
        for v in range(8):
            s[v] += s[v + 8]
    if LANES_D < 4:
        for v in range(4):
            s[v] += s[v + 4]
    if LANES_D < 8:
        for v in range(2):
            s[v] += s[v + 2]
    return sum_d(s[0] + s[1])


cdef inline double dot_dense(const number* w, const floating* x, Py_ssize_t n) noexcept nogil:
    cdef vec_d s[16]  # 16 lanes are in use
    cdef Py_ssize_t j, v
    cdef double rest = 0
    for v in range(16 // LANES_D):
        s[v] = spread_d(0)
    for j in range(0, n - 15, 16):
        for v in range(16 // LANES_D):
            s[v] += load(w + j + v * LANES_D) * load(x + j + v * LANES_D)
    for j in range(n & ~<Py_ssize_t> 15, n):
        rest += <double> w[j] * x[j]
    return folded(s) + rest


cdef inline double dot_sparse(const double* w, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    for j in range(0, n - 3, 4):
        s0 += w[index[j]] * x[j]
        s1 += w[index[j + 1]] * x[j + 1]
        s2 += w[index[j + 2]] * x[j + 2]
        s3 += w[index[j + 3]] * x[j + 3]
    for j in range(n & ~<Py_ssize_t> 3, n):
        s0 += w[index[j]] * x[j]
    return (s0 + s2) + (s1 + s3)


cdef inline double dot(const double* w, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    return dot_dense(w, x, n) if index == NULL else dot_sparse(w, x, index, n)


cdef inline void add(double* w, double step, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    if index != NULL:
        for j in range(n):
            w[index[j]] += step * x[j]
        return
    for j in range(n // LANES_D):
        (<vec_d*> w)[j] += spread_d(step) * load(x + j * LANES_D)
    for j in range(n - n % LANES_D, n):
        w[j] += step * x[j]


cdef inline const floating* find_row(
    const rows_t* r, const floating* data, Py_ssize_t turn, Py_ssize_t end, Py_ssize_t* row, const int** index,
    Py_ssize_t* n,
) noexcept nogil:
    cdef Py_ssize_t line
    cdef const char* later
    row[0] = turn if r.order == NULL else r.order[turn]
    if turn + AHEAD < end and r.indptr == NULL:
        later = <const char*> (data + (turn + AHEAD if r.order == NULL else r.order[turn + AHEAD]) * r.d)
        for line in range(min(r.d * <Py_ssize_t> sizeof(floating) // 64 + 1, <Py_ssize_t> 32)):
            prefetch(later + 64 * line)
    require(0 <= row[0] < r.n_rows)
    if r.indptr == NULL:
        index[0] = NULL
        n[0] = r.d
        return data + row[0] * r.d
    index[0] = r.index + r.indptr[row[0]]
    n[0] = r.indptr[row[0] + 1] - r.indptr[row[0]]
    return data + r.indptr[row[0]]
