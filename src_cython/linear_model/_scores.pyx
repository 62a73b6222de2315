# Scores of linear models, and the class with the largest score.
#
#     score[i, k] = sum_j x[i, j] w[k, j] + b[k]
#
# in:      rows X, dense or CSR, float32 or float64; W (K, d) float64, for CSR also float32; b (K,) float64
# changed: scores (rows, K), or the class of each row
#
# Each score is summed in float64 and in one order, so that tiles, ranges and threads change no bit. Dense row: LANES_D
# partial sums, which are added up, then the columns after the last whole vector, then b. Sparse row: its entries in
# their order, then b.
#
# A row with NaN or infinity has no finite score, as 0 * inf is NaN. The functions return the number of scores that are
# not finite, so that X needs no separate check.
from cython cimport floating
from libc.math cimport cos, fabs
from libc.string cimport memset

from _csr cimport csr_of, csr_t
from _exp cimport cos_of_moderate
from _model cimport model_t, score_double_f, score_float_f
from _shares cimport exp_of, to_shares
from _vector cimport (
    LANES_D, abs_d, at_most_d, fmadd_d, largest_d, max_d, prefetch, require, spread_d, sum_d, vec_d, widen,
)
from _winner cimport winner
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK

cdef enum:
    ROWS = 4  # the number of rows in a tile, whose scores are computed together
    # rows of float64 are scored one by one, and not ROWS together, for so many columns at least and so many weights at
    # most
    LEAST_READ = 32
    CACHED_WEIGHTS = 3 << 10
    # rows of float32 are prefetched this number of values ahead, so that 15.4 GB/s are read instead of 13.2; rows of
    # float64 are not, because prefetching slows them, to 10.6 GB/s instead of 11.9
    AHEAD = 512
    BYTES_AHEAD = 8192  # rows of a single class are prefetched so far ahead: 20 GB/s are read, otherwise 12 to 17
    BLOCK_ROWS = 32  # the number of dense rows whose scores are computed block of classes by block of classes
    # rows are packed, so that CLASS_ROWS of them share a load of weights, for so many columns and classes
    PACKED_COLUMNS = 32
    PACKED_CLASSES = 48
    NEAR = 1 << 11  # the number of sums of columns that are added up together
    MODERATE = 1 << 20  # cosines of larger angles are computed one by one

TILE_ROWS = ROWS
ROWS_OF_BLOCK = BLOCK_ROWS
LANES = LANES_D
MANY_CLASSES = PACKED_CLASSES

cdef extern from "linear_model/by_class.h" nogil:
    void score_pair(
        const double* x, const double* y, const double* W, const double* b, Py_ssize_t d, double* out_x, double* out_y
    )
    enum: CLASS_ROWS
    void score_packed(
        const double* X, const double* W, const double* b, Py_ssize_t d, Py_ssize_t width, bint two, double* out
    )

ctypedef fused weight_t:
    float
    double

# The layout of coefficients W (K, d) for scores of sparse rows: the coefficient of class k and column j is at k *
# class_stride + j * column_stride, where one of the strides is 1.
cdef struct sparse_t:
    Py_ssize_t n_classes
    Py_ssize_t class_stride
    Py_ssize_t column_stride
    bint is_by_class  # whether the coefficients of each class, and not those of each column, are adjacent in memory
    const double* b   # (K,)


cdef inline vec_d load(const floating* x) noexcept nogil:
    if floating is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline double finish(
    vec_d s, const floating* x, const double* w, double b, Py_ssize_t whole, Py_ssize_t d
) noexcept nogil:
    """A dense row's score: the lanes of s, which sum the first `whole` columns, the other columns' terms, and b."""
    cdef double total = sum_d(s)
    cdef Py_ssize_t j
    for j in range(whole, d):
        total += x[j] * w[j]
    return total + b


cdef void score_four_rows(
    const floating* x, const double* u, const double* v, double b_u, double b_v, Py_ssize_t d, double* out,
    Py_ssize_t stride
) noexcept nogil:
    """Write the scores of four rows, which begin at x, by weights u and v of adjacent classes; u is v for one class."""
    cdef vec_d s0, s1, s2, s3, t0, t1, t2, t3, a, b, row
    cdef Py_ssize_t j = 0, whole = d - d % LANES_D
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = spread_d(0)
    while j < whole:
        a = load(u + j)
        b = load(v + j)
        if floating is float:
            prefetch(x + j + AHEAD)
            prefetch(x + j + d + AHEAD)
            prefetch(x + j + 2 * d + AHEAD)
            prefetch(x + j + 3 * d + AHEAD)
        row = load(x + j)
        s0 = fmadd_d(row, a, s0)
        t0 = fmadd_d(row, b, t0)
        row = load(x + j + d)
        s1 = fmadd_d(row, a, s1)
        t1 = fmadd_d(row, b, t1)
        row = load(x + j + 2 * d)
        s2 = fmadd_d(row, a, s2)
        t2 = fmadd_d(row, b, t2)
        row = load(x + j + 3 * d)
        s3 = fmadd_d(row, a, s3)
        t3 = fmadd_d(row, b, t3)
        j += LANES_D
    out[0] = finish(s0, x, u, b_u, whole, d)
    out[stride] = finish(s1, x + d, u, b_u, whole, d)
    out[2 * stride] = finish(s2, x + 2 * d, u, b_u, whole, d)
    out[3 * stride] = finish(s3, x + 3 * d, u, b_u, whole, d)
    if u != v:
        out[1] = finish(t0, x, v, b_v, whole, d)
        out[stride + 1] = finish(t1, x + d, v, b_v, whole, d)
        out[2 * stride + 1] = finish(t2, x + 2 * d, v, b_v, whole, d)
        out[3 * stride + 1] = finish(t3, x + 3 * d, v, b_v, whole, d)


cdef inline double score_one(const floating* x, const double* w, double b, Py_ssize_t d) noexcept nogil:
    cdef vec_d s = spread_d(0)
    cdef Py_ssize_t j = 0, whole = d - d % LANES_D
    while j < whole:
        s = fmadd_d(load(x + j), load(w + j), s)
        j += LANES_D
    return finish(s, x, w, b, whole, d)


cdef Py_ssize_t score_plane(
    const floating* X, const double* w, double b, Py_ssize_t n_rows, Py_ssize_t d, double* out
) noexcept nogil:
    """Write the scores of adjacent rows for a single class; returns the number of scores that are not finite."""
    cdef Py_ssize_t r, at, odd = 0, length = d * <Py_ssize_t> sizeof(floating)
    cdef const char* row = <const char*> X
    for r in range(n_rows):
        for at in range(0, length, 64):
            prefetch(row + at + BYTES_AHEAD)
        out[r] = score_one(<const floating*> row, w, b, d)
        odd += not out[r] - out[r] == 0
        row += length
    return odd


cdef void score_row(
    const floating* x, const double* W, const double* b, Py_ssize_t d, Py_ssize_t K, double* out
) noexcept nogil:
    """Write the scores of one row for all classes, by four classes at a time, then by two."""
    cdef vec_d s0, s1, s2, s3, row
    cdef Py_ssize_t j, k = 0, whole = d - d % LANES_D
    cdef const double* w
    while k + 4 <= K:
        w = W + k * d
        s0 = s1 = s2 = s3 = spread_d(0)
        j = 0
        while j < whole:
            row = load(x + j)
            s0 = fmadd_d(row, load(w + j), s0)
            s1 = fmadd_d(row, load(w + j + d), s1)
            s2 = fmadd_d(row, load(w + j + 2 * d), s2)
            s3 = fmadd_d(row, load(w + j + 3 * d), s3)
            j += LANES_D
        out[k] = finish(s0, x, w, b[k], whole, d)
        out[k + 1] = finish(s1, x, w + d, b[k + 1], whole, d)
        out[k + 2] = finish(s2, x, w + 2 * d, b[k + 2], whole, d)
        out[k + 3] = finish(s3, x, w + 3 * d, b[k + 3], whole, d)
        k += 4
    if k + 2 <= K:
        w = W + k * d
        s0 = s1 = spread_d(0)
        j = 0
        while j < whole:
            row = load(x + j)
            s0 = fmadd_d(row, load(w + j), s0)
            s1 = fmadd_d(row, load(w + j + d), s1)
            j += LANES_D
        out[k] = finish(s0, x, w, b[k], whole, d)
        out[k + 1] = finish(s1, x, w + d, b[k + 1], whole, d)
        k += 2
    if k < K:
        out[k] = score_one(x, W + k * d, b[k], d)


cdef void score_rows(
    const floating* X, const double* W, const double* b, Py_ssize_t n_rows, Py_ssize_t d, Py_ssize_t K, double* out
) noexcept nogil:
    """Write the scores (n_rows, K) of a tile, at most ROWS dense rows, for all K classes.

    Rows of float64 are taken one by one while the weights stay in the nearest cache: memory gives 14 to 20 GB/s then,
    and 6 to 10 for four rows together.
    """
    cdef Py_ssize_t k, last, r
    if n_rows < ROWS or (floating is double and d >= LEAST_READ and K * d <= CACHED_WEIGHTS):
        for r in range(n_rows):
            score_row(X + r * d, W, b, d, K, out + r * K)
        return
    k = 0
    while k < K:
        last = min(k + 1, K - 1)
        score_four_rows(X, W + k * d, W + last * d, b[k], b[last], d, out + k, K)
        k += 2


cdef void score_by_class(
    const csr_t* X, const floating* value, Py_ssize_t row, const sparse_t* s, const weight_t* W, double* out
) noexcept nogil:
    """Write the scores of a sparse row for all classes; one SIMD vector sums the scores of LANES_D classes."""
    cdef Py_ssize_t k = 0, e, i, K = s.n_classes, stride = s.class_stride
    cdef double total
    cdef double lanes[LANES_D]
    cdef const weight_t* w
    cdef vec_d sums
    while k + LANES_D <= K:
        sums = spread_d(0)
        for e in range(X.indptr[row], X.indptr[row + 1]):
            w = W + k * stride + X.indices[e]
            for i in range(LANES_D):
                lanes[i] = w[i * stride]
            sums = sums + spread_d(value[e]) * (<vec_d*> lanes)[0]
        (<vec_d*> lanes)[0] = sums
        for i in range(LANES_D):
            out[k + i] = lanes[i] + s.b[k + i]
        k += LANES_D
    while k < K:
        total = 0
        for e in range(X.indptr[row], X.indptr[row + 1]):
            total = total + value[e] * <double> W[k * stride + X.indices[e]]
        out[k] = total + s.b[k]
        k += 1


cdef inline void score_two_rows(
    const csr_t* X, const floating* value, Py_ssize_t row, const weight_t* w, double b, double* out
) noexcept nogil:
    """Write the scores of sparse rows `row` and `row + 1` for a single class, with the same sums as `score_by_class`.

    The two sums overlap: an addition that waits for the one before takes longer than the loads of an entry.
    """
    cdef Py_ssize_t begin = X.indptr[row], middle = X.indptr[row + 1], end = X.indptr[row + 2], e
    cdef Py_ssize_t n = min(middle - begin, end - middle)
    cdef double s = 0, t = 0
    for e in range(n):
        s = s + value[begin + e] * <double> w[X.indices[begin + e]]
        t = t + value[middle + e] * <double> w[X.indices[middle + e]]
    for e in range(begin + n, middle):
        s = s + value[e] * <double> w[X.indices[e]]
    for e in range(middle + n, end):
        t = t + value[e] * <double> w[X.indices[e]]
    out[0], out[1] = s + b, t + b


cdef void score_few_by_column(
    const csr_t* X, const floating* value, Py_ssize_t row, const sparse_t* s, const weight_t* W, double* out
) noexcept nogil:
    """Write a sparse row's scores if a SIMD vector has more lanes than there are classes; W is stored by column."""
    cdef Py_ssize_t e, i, j, K = s.n_classes, stride = s.column_stride
    # the number of columns, from the first on, whose coefficients of all classes can be loaded as a whole SIMD vector;
    # for later columns the vector would extend beyond the end of W
    cdef Py_ssize_t whole = X.n_columns - (LANES_D - K + stride - 1) // stride
    cdef double lanes[LANES_D]
    cdef vec_d sums = spread_d(0)
    for i in range(K, LANES_D):
        lanes[i] = 0
    for e in range(X.indptr[row], X.indptr[row + 1]):
        j = X.indices[e]
        if j < whole:
            sums = sums + spread_d(value[e]) * load(W + j * stride)
        else:
            for i in range(K):
                lanes[i] = W[j * stride + i]
            sums = sums + spread_d(value[e]) * (<vec_d*> lanes)[0]
    (<vec_d*> lanes)[0] = sums
    for i in range(K):
        out[i] = lanes[i] + s.b[i]


cdef void score_by_column(
    const csr_t* X, const floating* value, Py_ssize_t row, const sparse_t* s, const weight_t* W, double* out
) noexcept nogil:
    """The same as `score_by_class`, with the same sums, for coefficients that are stored by column.

    The last vector begins LANES_D classes before the end, so that it may overlap the one before.
    """
    cdef Py_ssize_t e, v = 0, K = s.n_classes, stride = s.column_stride, last = K - LANES_D
    cdef Py_ssize_t n_vectors = (K + LANES_D - 1) // LANES_D, n, o0, o1, o2, o3
    cdef const weight_t* w
    cdef vec_d s0, s1, s2, s3, x
    while v < n_vectors:
        s0 = s1 = s2 = s3 = spread_d(0)
        n = 4 if v + 4 <= n_vectors else 2 if v + 2 <= n_vectors else 1
        o0 = min(v * LANES_D, last)
        o1 = min((v + 1) * LANES_D, last)
        o2 = min((v + 2) * LANES_D, last)
        o3 = min((v + 3) * LANES_D, last)
        if n == 4:
            for e in range(X.indptr[row], X.indptr[row + 1]):
                w = W + X.indices[e] * stride
                x = spread_d(value[e])
                s0 = s0 + x * load(w + o0)
                s1 = s1 + x * load(w + o1)
                s2 = s2 + x * load(w + o2)
                s3 = s3 + x * load(w + o3)
            (<vec_d*> (out + o2))[0] = s2 + (<const vec_d*> (s.b + o2))[0]
            (<vec_d*> (out + o3))[0] = s3 + (<const vec_d*> (s.b + o3))[0]
        elif n == 2:
            for e in range(X.indptr[row], X.indptr[row + 1]):
                w = W + X.indices[e] * stride
                x = spread_d(value[e])
                s0 = s0 + x * load(w + o0)
                s1 = s1 + x * load(w + o1)
        else:
            for e in range(X.indptr[row], X.indptr[row + 1]):
                s0 = s0 + spread_d(value[e]) * load(W + X.indices[e] * stride + o0)
        (<vec_d*> (out + o0))[0] = s0 + (<const vec_d*> (s.b + o0))[0]
        if n > 1:
            (<vec_d*> (out + o1))[0] = s1 + (<const vec_d*> (s.b + o1))[0]
        v += n


cdef inline void pack_rows(const floating* X, Py_ssize_t n_rows, Py_ssize_t d, double* out) noexcept nogil:
    """Write at most CLASS_ROWS dense rows, and zeros for the others, as `score_packed` reads them."""
    cdef Py_ssize_t r, i, lane, j, steps = d // LANES_D, size = steps * CLASS_ROWS
    cdef const floating* x
    cdef double* to
    for r in range(CLASS_ROWS):
        x, to = X + r * d, out + r
        if r >= n_rows:
            for j in range(d):
                to[j * CLASS_ROWS] = 0
            continue
        for i in range(steps):
            for lane in range(LANES_D):
                to[lane * size + i * CLASS_ROWS] = x[i * LANES_D + lane]
        for j in range(steps * LANES_D, d):
            to[j * CLASS_ROWS] = x[j]


cdef void score_pairs(
    const floating* X, Py_ssize_t n_rows, const double* W, const double* b, Py_ssize_t d, Py_ssize_t width,
    double* scores, double* values
) noexcept nogil:
    """The same as `score_blocks` for few columns or classes: two rows and LANES_D classes at a time."""
    cdef Py_ssize_t k = 0, r, last, i
    cdef const double* rows
    if floating is float:
        for i in range(n_rows * d):
            values[i] = X[i]
        rows = values
    else:
        rows = X
    while k < width:
        r = 0
        while r < n_rows:
            last = min(r + 1, n_rows - 1)
            score_pair(
                rows + r * d, rows + last * d, W + k * d, b + k, d, scores + r * width + k, scores + last * width + k
            )
            r += 2
        k += LANES_D


cdef void score_blocks(
    const floating* X, Py_ssize_t n_rows, const double* W, const double* b, Py_ssize_t d, Py_ssize_t width,
    double* scores, double* values
) noexcept nogil:
    """Write the scores (n_rows, width) of at most BLOCK_ROWS dense rows, by LANES_D classes or twice as many at a time.

    W has the weights of each LANES_D classes column by column. `values` is scratch space for BLOCK_ROWS rows in
    float64, and `scores` has room for the scores of so many rows.
    """
    cdef Py_ssize_t k = 0, r = 0
    if d < PACKED_COLUMNS or width < PACKED_CLASSES:
        score_pairs(X, n_rows, W, b, d, width, scores, values)
        return
    while r < n_rows:
        pack_rows(X + r * d, n_rows - r, d, values + r * d)
        r += CLASS_ROWS
    while k < width:
        r = 0
        while r < n_rows:
            score_packed(values + r * d, W + k * d, b + k, d, width, k + LANES_D < width, scores + r * width + k)
            r += CLASS_ROWS
        k += 2 * LANES_D


cdef sparse_t layout_of(const csr_t* X, const weight_t[:, :] W, const double[::1] b) except *:
    """The layout of coefficients W (K, d), which must be contiguous by class or by column, as a sparse_t."""
    cdef sparse_t s
    cdef Py_ssize_t size = sizeof(weight_t)
    require(W.shape[0] == b.shape[0] and W.shape[1] == X.n_columns)
    s.n_classes, s.b = W.shape[0], &b[0]
    s.class_stride, s.column_stride = W.strides[0] // size, W.strides[1] // size
    s.is_by_class = W.shape[1] == 1 or W.strides[1] == size
    require(W.strides[0] % size == 0 and W.strides[1] % size == 0)
    require(s.is_by_class or (W.strides[0] == size and s.column_stride >= s.n_classes))
    return s


cdef inline void score_any(
    const csr_t* X, const floating* value, Py_ssize_t row, const sparse_t* s, const weight_t* W, double* out
) noexcept nogil:
    if s.is_by_class:
        score_by_class(X, value, row, s, W, out)
    elif s.n_classes < LANES_D:
        score_few_by_column(X, value, row, s, W, out)
    else:
        score_by_column(X, value, row, s, W, out)


cdef inline Py_ssize_t count_odd(const double* scores, Py_ssize_t n) noexcept nogil:
    """The number of scores that are NaN or infinite."""
    cdef Py_ssize_t i, odd = 0
    for i in range(n):
        odd += not scores[i] - scores[i] == 0
    return odd


cdef inline Py_ssize_t first_largest(const double* scores, Py_ssize_t K) noexcept nogil:
    """The same as `winner`, where no score is NaN."""
    cdef vec_d most
    cdef Py_ssize_t k = LANES_D
    cdef double largest
    if K <= LANES_D:
        return winner(scores, K)
    most = (<const vec_d*> scores)[0]
    while k + LANES_D <= K:
        most = max_d(most, (<const vec_d*> (scores + k))[0])
        k += LANES_D
    most = max_d(most, (<const vec_d*> (scores + K - LANES_D))[0])
    largest = largest_d(most)
    k = 0
    while k + LANES_D <= K and not at_most_d(spread_d(largest), (<const vec_d*> (scores + k))[0]):
        k += LANES_D
    while k < K - 1 and scores[k] < largest:
        k += 1
    return k


def score(
    const floating[:, ::1] X, const double[:, ::1] W, const double[::1] b, Py_ssize_t start, Py_ssize_t stop,
    double[:, ::1] out
):
    """Write the scores of dense rows [start, stop); returns the number of scores that are not finite."""
    cdef Py_ssize_t d = X.shape[1], K = W.shape[0], row, odd = 0
    require(W.shape[1] == d and b.shape[0] == K and out.shape[1] == K)
    with nogil:
        row = start
        if K == 1:
            odd = score_plane(&X[row, 0], &W[0, 0], b[0], stop - row, d, &out[row, 0])
        else:
            while row < stop:
                score_rows(&X[row, 0], &W[0, 0], &b[0], min(<Py_ssize_t> ROWS, stop - row), d, K, &out[row, 0])
                row += ROWS
            odd = count_odd(&out[start, 0], (stop - start) * K)
    return odd


cdef void add_one_row(
    const floating* x, Py_ssize_t d, const double* r, Py_ssize_t K, double* out, Py_ssize_t start, Py_ssize_t size
) noexcept nogil:
    """Add r_k x_j to out[k, j], for columns j from `start` to `size` of d."""
    cdef vec_d s
    cdef Py_ssize_t j = start, k
    while j + LANES_D <= size:
        for k in range(K):
            s = fmadd_d(spread_d(r[k]), load(x + j), load(out + k * d + j))
            (<vec_d*> (out + k * d + j))[0] = s
        j += LANES_D
    while j < size:
        for k in range(K):
            s = fmadd_d(spread_d(r[k]), spread_d(x[j]), spread_d(out[k * d + j]))
            out[k * d + j] = (<double*> &s)[0]
        j += 1


cdef void add_four_rows(
    const floating* x, Py_ssize_t d, const double* r, Py_ssize_t K, double* out, Py_ssize_t size
) noexcept nogil:
    """Add the products of four rows x, one after the other, for `size` of d columns, a multiple of LANES_D."""
    cdef vec_d x0, x1, x2, x3, s
    cdef Py_ssize_t j = 0, k
    while j < size:
        x0, x1, x2, x3 = load(x + j), load(x + d + j), load(x + 2 * d + j), load(x + 3 * d + j)
        for k in range(K):
            s = fmadd_d(spread_d(r[k]), x0, load(out + k * d + j))
            s = fmadd_d(spread_d(r[K + k]), x1, s)
            s = fmadd_d(spread_d(r[2 * K + k]), x2, s)
            (<vec_d*> (out + k * d + j))[0] = fmadd_d(spread_d(r[3 * K + k]), x3, s)
        j += LANES_D


def combine(
    const floating[:, ::1] X, const double[:, ::1] R, double[:, ::1] out, Py_ssize_t start, Py_ssize_t stop
):
    """Write columns [start, stop) of R'X: out[k, j] = sum_i R[i, k] X[i, j], added up in the order of the rows."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], K = R.shape[1], i, k, r, size, whole, most
    require(R.shape[0] == n and out.shape[0] == K and out.shape[1] == d)
    with nogil:
        # so few columns together that their sums stay in the nearest cache
        most = max(<Py_ssize_t> LANES_D, NEAR // K // LANES_D * LANES_D)
        while start < stop:
            size = min(most, stop - start)
            for k in range(K):
                memset(&out[k, start], 0, size * sizeof(double))
            i = 0
            while i < n:
                whole = size - size % LANES_D if i + 4 <= n else 0
                add_four_rows(&X[i, start], d, &R[i, 0], K, &out[0, start], whole)
                for r in range(min(<Py_ssize_t> 4, n - i)):
                    add_one_row(&X[i + r, start], d, &R[i + r, 0], K, &out[0, start], whole, size)
                i += 4
            start += size


def choose(
    const floating[:, ::1] X, const double[:, ::1] W, const double[::1] b, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t[::1] code_out, double[:, ::1] scratch
):
    """Write the classes of rows [start, stop); returns the number of scores that are not finite.

    scratch: scratch space of shape (TILE_ROWS, K).
    """
    cdef Py_ssize_t d = X.shape[1], K = W.shape[0], row, n_rows, r, odd = 0
    cdef double f
    require(W.shape[1] == d and b.shape[0] == K and scratch.shape[1] == K)
    with nogil:
        row = start
        while K == 1 and row < stop:
            f = score_one(&X[row, 0], &W[0, 0], b[0], d)
            odd += not f - f == 0
            code_out[row] = f > 0
            row += 1
        while row < stop:
            n_rows = min(<Py_ssize_t> ROWS, stop - row)
            score_rows(&X[row, 0], &W[0, 0], &b[0], n_rows, d, K, &scratch[0, 0])
            odd += count_odd(&scratch[0, 0], n_rows * K)
            for r in range(n_rows):
                code_out[row + r] = first_largest(&scratch[r, 0], K)
            row += ROWS
    return odd


def score_by_blocks(
    const floating[:, ::1] X, const double[::1] W, const double[::1] b, Py_ssize_t start, Py_ssize_t stop,
    double[:, ::1] out, Py_ssize_t[::1] code_out, double[::1] scratch
):
    """The same as `score`, by LANES_D of the K classes at a time; if `out` is of shape (0, K), the same as `choose`.

    W: for each LANES_D classes, and for each column, their weights, with zeros for classes that do not exist. b: an
    intercept for each of these classes. scratch: scratch space for ROWS_OF_BLOCK * (d + len(b)) numbers.
    """
    cdef Py_ssize_t d = X.shape[1], width = b.shape[0], K = out.shape[1], row = start, n_rows, r, k, odd = 0
    cdef bint chooses = out.shape[0] == 0
    cdef double* scores = &scratch[0]
    require(W.shape[0] == d * width and width % LANES_D == 0 and K <= width)
    require((code_out.shape[0] if chooses else out.shape[0]) == X.shape[0])
    require(scratch.shape[0] >= BLOCK_ROWS * (d + width))
    with nogil:
        while row < stop:
            n_rows = min(<Py_ssize_t> BLOCK_ROWS, stop - row)
            score_blocks(&X[row, 0], n_rows, &W[0], &b[0], d, width, scores, scores + BLOCK_ROWS * width)
            for r in range(n_rows):
                odd += count_odd(scores + r * width, K)
                if chooses:
                    code_out[row + r] = first_largest(scores + r * width, K)
                else:
                    for k in range(K):
                        out[row + r, k] = scores[r * width + k]
            row += n_rows
    return odd


cdef void write_cosines(const double* x, Py_ssize_t n, double length, floating* out) noexcept nogil:
    """Write length * cos(angle) for at most LANES_D angles, of any size."""
    cdef double angle[LANES_D]
    cdef double found[LANES_D]
    cdef Py_ssize_t i
    (<vec_d*> angle)[0] = spread_d(0)
    for i in range(n):
        angle[i] = x[i]
    (<vec_d*> found)[0] = cos_of_moderate((<const vec_d*> angle)[0])
    for i in range(n):
        out[i] = <floating> (length * (found[i] if fabs(angle[i]) <= MODERATE else cos(angle[i])))


def cosines(const double[:, ::1] angles, double length, floating[:, ::1] out):
    """Write length * cos(angle) for all angles; an angle's place changes no bit."""
    cdef Py_ssize_t size = angles.shape[0] * angles.shape[1], i = 0, j
    cdef const double* x
    cdef floating* to
    cdef double found[LANES_D]
    cdef vec_d angle, most = spread_d(MODERATE)
    require(angles.shape[0] == out.shape[0] and angles.shape[1] == out.shape[1])
    if not size:
        return
    x, to = &angles[0, 0], &out[0, 0]
    with nogil:
        while i + LANES_D <= size:
            angle = (<const vec_d*> (x + i))[0]
            if at_most_d(abs_d(angle), most) == (1 << LANES_D) - 1:
                (<vec_d*> found)[0] = spread_d(length) * cos_of_moderate(angle)
                for j in range(LANES_D):
                    to[i + j] = <floating> found[j]
            else:
                write_cosines(x + i, LANES_D, length, to + i)
            i += LANES_D
        write_cosines(x + i, size - i, length, to + i)


def shares(double[:, ::1] scores, Py_ssize_t start, Py_ssize_t stop, bint log_wanted):
    """Convert the scores of rows to shares of the classes, or to logarithms of shares, in place."""
    require(0 <= start <= stop <= scores.shape[0] and scores.shape[1] > 0)
    if start < stop:
        with nogil:
            to_shares(&scores[0, 0], scores.shape[1], start, stop, log_wanted)


cdef inline vec_d gaussian(vec_d product, vec_d square, vec_d gamma) noexcept nogil:
    """exp(-gamma max(0, square - 2 product)): 0 below exp(-708), and NaN if the difference is NaN."""
    return exp_of(-gamma * max_d(spread_d(0), fmadd_d(spread_d(-2), product, square)))


def gaussians(double[:, ::1] products, const double[::1] squares, double gamma):
    """Change products p to exp(-gamma max(0, s - 2p)), where s is the square of their row and gamma is at least 0."""
    cdef Py_ssize_t K = products.shape[1], i, k, j
    cdef double* p
    cdef double lanes[LANES_D]
    cdef vec_d s, factor = spread_d(gamma)
    require(products.shape[0] == squares.shape[0])
    (<vec_d*> lanes)[0] = spread_d(0)
    with nogil:
        for i in range(products.shape[0]):
            s, p, k = spread_d(squares[i]), &products[i, 0], 0
            while k + LANES_D <= K:
                (<vec_d*> (p + k))[0] = gaussian((<vec_d*> (p + k))[0], s, factor)
                k += LANES_D
            for j in range(K - k):
                lanes[j] = p[k + j]
            (<vec_d*> lanes)[0] = gaussian((<vec_d*> lanes)[0], s, factor)
            for j in range(K - k):
                p[k + j] = lanes[j]


def score_sparse(
    X, const floating[::1] data, const weight_t[:, :] W, const double[::1] b, Py_ssize_t start, Py_ssize_t stop,
    double[:, ::1] out
):
    """Write the scores of rows [start, stop) of a `Csr`; returns the number of scores that are not finite."""
    cdef csr_t rows = csr_of(X)
    cdef const floating* value = &data[0] if data.shape[0] else NULL
    cdef Py_ssize_t row, odd = 0
    cdef sparse_t layout = layout_of(&rows, W, b)
    require(out.shape[1] == layout.n_classes)
    with nogil:
        row = start
        while layout.n_classes == 1 and row + 2 <= stop:
            score_two_rows(&rows, value, row, &W[0, 0], b[0], &out[row, 0])
            row += 2
        while row < stop:
            score_any(&rows, value, row, &layout, &W[0, 0], &out[row, 0])
            row += 1
        odd = count_odd(&out[start, 0], (stop - start) * layout.n_classes)
    return odd


def choose_sparse(
    X, const floating[::1] data, const weight_t[:, :] W, const double[::1] b, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t[::1] code_out, double[:, ::1] scratch
):
    """Write the classes of rows [start, stop) of a `Csr`; returns the number of scores that are not finite."""
    cdef csr_t rows = csr_of(X)
    cdef const floating* value = &data[0] if data.shape[0] else NULL
    cdef Py_ssize_t row, odd = 0
    cdef sparse_t layout = layout_of(&rows, W, b)
    cdef double[2] pair
    require(scratch.shape[1] == layout.n_classes)
    with nogil:
        row = start
        while layout.n_classes == 1 and row + 2 <= stop:
            score_two_rows(&rows, value, row, &W[0, 0], b[0], pair)
            odd += count_odd(pair, 2)
            code_out[row], code_out[row + 1] = pair[0] > 0, pair[1] > 0
            row += 2
        for row in range(row, stop):
            score_any(&rows, value, row, &layout, &W[0, 0], &scratch[0, 0])
            odd += count_odd(&scratch[0, 0], layout.n_classes)
            code_out[row] = first_largest(&scratch[0, 0], layout.n_classes)
    return odd


cdef int decide_rows(
    const model_t* model, const floating* X, Py_ssize_t n, double* out, char* scratch
) noexcept nogil:
    """Write the scores of n rows; returns FASTCLF_OK if all of them are finite, else FASTCLF_BAD_VALUE."""
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, row = 0
    # a faster way for a single row and output: it adds 14 ns to the time of the inner product, the general way 34 ns
    if n == 1 and K == 1:
        out[0] = score_one(X, model.linear.coef, model.linear.intercept[0], d)
        return FASTCLF_OK if out[0] - out[0] == 0 else FASTCLF_BAD_VALUE
    while row < n:
        score_rows(
            X + row * d, model.linear.coef, model.linear.intercept, min(<Py_ssize_t> ROWS, n - row), d, K, out + row * K
        )
        row += ROWS
    return FASTCLF_BAD_VALUE if count_odd(out, n * K) else FASTCLF_OK


cdef score_float_f _decide_floats = decide_rows[float]
cdef score_double_f _decide_doubles = decide_rows[double]
ADDRESSES = {"score_f": <size_t> _decide_floats, "score_d": <size_t> _decide_doubles}
