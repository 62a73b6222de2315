# Rows, dense or sparse, by turns, and the scores of planes w.x + b.
#
# A product and a sum are rounded one after the other, a dense score is summed as `planes.h` says, a sparse one in 4
# lanes: every SIMD level has the same bits.
from cython cimport floating
from libc.stdint cimport int64_t

from _vector cimport LANES_D, prefetch, require, spread_d, vec_d, widen

cdef extern from "linear_model/dot.h" nogil:
    double dot_dd(const double* w, const double* x, Py_ssize_t n)
    double dot_df(const double* w, const float* x, Py_ssize_t n)
    double dot_ff(const float* w, const float* x, Py_ssize_t n)
    double add_and_dot_d(double* w, double step, const double* x, const double* z, Py_ssize_t n)
    double add_and_dot_f(double* w, double step, const float* x, const float* z, Py_ssize_t n)

cdef enum:
    AHEAD = 16  # turns; so long before is a row asked for

ctypedef struct rows_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    const int64_t* order   # the row of each turn, or NULL
    const int64_t* indptr  # where each sparse row begins, or NULL
    const int* index
    bint ones              # whether every entry of a sparse row is 1
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


cdef inline double dot_dense(const number* w, const floating* x, Py_ssize_t n) noexcept nogil:
    """w.x; floats are not multiplied by doubles."""
    if number is double and floating is double:
        return dot_dd(w, x, n)
    elif number is double and floating is float:
        return dot_df(w, x, n)
    elif number is float and floating is float:
        return dot_ff(w, x, n)


cdef inline void add(double* w, double step, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    """w += step x; x is NULL for sparse rows of ones."""
    cdef Py_ssize_t j
    if x == NULL:
        for j in range(n):
            w[index[j]] += step
        return
    if index != NULL:
        for j in range(n):
            w[index[j]] += step * x[j]
        return
    for j in range(n // LANES_D):
        (<vec_d*> w)[j] += spread_d(step) * load(x + j * LANES_D)
    for j in range(n - n % LANES_D, n):
        w[j] += step * x[j]


cdef inline double dot_sparse(const double* w, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    """w.x; x is NULL for a row of ones."""
    cdef Py_ssize_t j
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    if x == NULL:
        for j in range(0, n - 3, 4):
            s0 += w[index[j]]
            s1 += w[index[j + 1]]
            s2 += w[index[j + 2]]
            s3 += w[index[j + 3]]
        for j in range(n & ~<Py_ssize_t> 3, n):
            s0 += w[index[j]]
        return (s0 + s2) + (s1 + s3)
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


cdef inline void ask_for(const rows_t* r, const floating* data, Py_ssize_t turn, Py_ssize_t end) noexcept nogil:
    """Have the dense row of a turn, if there is one, brought into the cache."""
    cdef const char* row
    cdef Py_ssize_t at
    if turn < end:
        row = <const char*> (data + (turn if r.order == NULL else r.order[turn]) * r.d)
        for at in range(0, min(r.d * <Py_ssize_t> sizeof(floating), <Py_ssize_t> 2048), 64):
            prefetch(row + at)


cdef inline const floating* find_row(
    const rows_t* r, const floating* data, Py_ssize_t turn, Py_ssize_t end, Py_ssize_t* row, const int** index,
    Py_ssize_t* n,
) noexcept nogil:
    row[0] = turn if r.order == NULL else r.order[turn]
    if r.indptr == NULL:
        ask_for(r, data, turn + AHEAD, end)
    require(0 <= row[0] < r.n_rows)
    if r.indptr == NULL:
        index[0] = NULL
        n[0] = r.d
        return data + row[0] * r.d
    index[0] = r.index + r.indptr[row[0]]
    n[0] = r.indptr[row[0] + 1] - r.indptr[row[0]]
    return data + r.indptr[row[0]]
