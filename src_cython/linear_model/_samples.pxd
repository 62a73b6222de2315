# The samples of an epoch, each a dense or a sparse row, and the scores w.x + b of separating hyperplanes.
#
# Every SIMD level gives the same bits: a product is rounded before it is added, the head of `dot.h` states the order in
# which a dense score is summed, and a sparse score is summed in 4 lanes.
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
    AHEAD = 16  # a dense row is prefetched this number of samples before it is processed
    LEARNERS = 8  # the number of hyperplanes whose weights of a column lie side by side; 8 doubles fill a cache line

ctypedef struct rows_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    const int64_t* order   # the row number of each sample; NULL: sample i is row i of the data
    # (n_rows + 1,) the index of each sparse row's first entry, then the number of all entries; NULL: rows are dense
    const int64_t* indptr
    const int* index       # the column number of each entry of sparse rows
    bint ones              # whether every stored entry of the sparse rows is 1
    const int* code        # (n_rows,): the index of each row's class
    # (n_rows,): the factor of the length of each row's step, for example its sample weight; NULL: all factors are 1
    const double* cost

ctypedef fused number:  # the type of the weights of a hyperplane; the type of the rows is `floating`
    float
    double

ctypedef struct hyperplanes_t:
    Py_ssize_t n           # the number of hyperplanes: 1, or the number of classes
    const int* positive    # (n,): the index of the class on each hyperplane's positive side
    double* w              # (n, d): the weight vector w of each of n hyperplanes
    # whether w is of shape (n_blocks, d, LEARNERS) instead, in blocks of LEARNERS hyperplanes, of which the last may
    # have fewer
    bint interleaved
    double* b              # (n,): the intercept of each of n hyperplanes
    # (n,): the class weight of each hyperplane's positive class, a factor of its steps on samples of this class; in
    # joint learning, where hyperplane k belongs to class k, the weight of class k
    const double* up
    # (n,): for each hyperplane the class weight of all classes but the positive one, a factor of its steps on their
    # samples
    const double* down


cdef inline vec_d load(const number* x) noexcept nogil:
    if number is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline double dot_dense(const number* w, const floating* x, Py_ssize_t n) noexcept nogil:
    """The inner product w.x for a dense row; float weights with double rows are not supported."""
    if number is double and floating is double:
        return dot_dd(w, x, n)
    elif number is double and floating is float:
        return dot_df(w, x, n)
    elif number is float and floating is float:
        return dot_ff(w, x, n)


cdef inline void add(double* w, double step, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    """Add step times row x to the weights w; `index` is NULL for a dense row, and x for a sparse row of ones."""
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
    """The inner product w.x for a sparse row; x is NULL if all entries of the row are 1."""
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


cdef inline void dot_each(
    const double* w, const floating* x, const int* index, Py_ssize_t n, double* out
) noexcept nogil:
    """Write the inner products of a sparse row and LEARNERS hyperplanes, whose weights w are interleaved.

    Each is summed as in `dot_sparse`. x is NULL if all entries of the row are 1.
    """
    cdef Py_ssize_t j, k
    cdef const double* v
    cdef vec_d s0, s1, s2, s3
    for k in range(LEARNERS // LANES_D):
        v = w + k * LANES_D
        s0 = s1 = s2 = s3 = spread_d(0)
        if x == NULL:
            for j in range(0, n - 3, 4):
                s0 += load(v + <Py_ssize_t> LEARNERS * index[j])
                s1 += load(v + <Py_ssize_t> LEARNERS * index[j + 1])
                s2 += load(v + <Py_ssize_t> LEARNERS * index[j + 2])
                s3 += load(v + <Py_ssize_t> LEARNERS * index[j + 3])
            for j in range(n & ~<Py_ssize_t> 3, n):
                s0 += load(v + <Py_ssize_t> LEARNERS * index[j])
        else:
            for j in range(0, n - 3, 4):
                s0 += load(v + <Py_ssize_t> LEARNERS * index[j]) * spread_d(x[j])
                s1 += load(v + <Py_ssize_t> LEARNERS * index[j + 1]) * spread_d(x[j + 1])
                s2 += load(v + <Py_ssize_t> LEARNERS * index[j + 2]) * spread_d(x[j + 2])
                s3 += load(v + <Py_ssize_t> LEARNERS * index[j + 3]) * spread_d(x[j + 3])
            for j in range(n & ~<Py_ssize_t> 3, n):
                s0 += load(v + <Py_ssize_t> LEARNERS * index[j]) * spread_d(x[j])
        (<vec_d*> out)[k] = (s0 + s2) + (s1 + s3)


cdef inline double dot(const double* w, const floating* x, const int* index, Py_ssize_t n) noexcept nogil:
    """The inner product w.x of weights and a row; `index` is NULL for a dense row."""
    return dot_dense(w, x, n) if index == NULL else dot_sparse(w, x, index, n)


cdef inline void prefetch_row(const rows_t* r, const floating* data, Py_ssize_t sample, Py_ssize_t end) noexcept nogil:
    """Prefetch the first 2 kB of the dense row of a sample; `end` and later samples are not prefetched."""
    cdef const char* row
    cdef Py_ssize_t at
    if sample < end:
        row = <const char*> (data + (sample if r.order == NULL else r.order[sample]) * r.d)
        for at in range(0, min(r.d * <Py_ssize_t> sizeof(floating), <Py_ssize_t> 2048), 64):
            prefetch(row + at)


cdef inline const floating* find_row(
    const rows_t* r, const floating* data, Py_ssize_t sample, Py_ssize_t end, Py_ssize_t* row, const int** index,
    Py_ssize_t* n,
) noexcept nogil:
    """The address of a sample's values; also writes its row number, column numbers (NULL: dense), number of values."""
    row[0] = sample if r.order == NULL else r.order[sample]
    if r.indptr == NULL:
        prefetch_row(r, data, sample + AHEAD, end)
    require(0 <= row[0] < r.n_rows)
    if r.indptr == NULL:
        index[0] = NULL
        n[0] = r.d
        return data + row[0] * r.d
    index[0] = r.index + r.indptr[row[0]]
    n[0] = r.indptr[row[0] + 1] - r.indptr[row[0]]
    return data + r.indptr[row[0]]
