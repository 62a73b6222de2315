# Kernels of the linear support vector machine, over ranges of rows, which are dense or sparse.
#
#     min over w:  |w|^2 / 2 + sum_i c_i max(0, z_i)^p,   z_i = 1 - y_i (w x_i + b),   p = 1 or 2
#     its dual:    max over 0 <= alpha_i <= U_i of  sum_i alpha_i - |v|^2 / 2 - sum_i r_i alpha_i^2 / 2,
#                  v = sum_i alpha_i y_i x_i,     p = 1: U_i = c_i, r_i = 0;     p = 2: U_i = inf, r_i = 1 / (2 c_i)
#
# All sums are of doubles, those over rows in the order of the rows. `indices` and `data` have at least one entry. The w
# of `descend` has d + 1 numbers for d columns: the last one is the weight of a column that is `bias` in every row.
from cython cimport cdivision, floating
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from linear_model._samples cimport LEARNERS, dot_each, dot_sparse
from _vector cimport (
    LANES_D, at_most_d, differs_d, fmadd_d, max_d, require, spread_d, sum_d, unless_positive, vec_d, widen,
)

cdef inline vec_d load(const floating* x) noexcept nogil:
    """A SIMD vector of doubles: the LANES_D numbers of an array from the address x on."""
    if floating is float:
        return widen(x)
    else:
        return (<const vec_d*> x)[0]


cdef inline double dot(const floating* x, const double* w, Py_ssize_t d) noexcept nogil:
    """The inner product w.x of the weights w and a dense row x."""
    cdef vec_d s = spread_d(0), t = spread_d(0)
    cdef Py_ssize_t j = 0
    cdef double total
    while j + 2 * LANES_D <= d:
        s = fmadd_d(load(x + j), load(w + j), s)
        t = fmadd_d(load(x + j + LANES_D), load(w + j + LANES_D), t)
        j += 2 * LANES_D
    total = sum_d(s + t)
    while j < d:
        total += x[j] * w[j]
        j += 1
    return total


cdef inline void add(double a, const floating* x, double* sum_out, Py_ssize_t d) noexcept nogil:
    """Add the dense row x, multiplied by the number a, to sum_out."""
    cdef vec_d factor = spread_d(a)
    cdef Py_ssize_t j = 0
    while j + LANES_D <= d:
        (<vec_d*> (sum_out + j))[0] = fmadd_d(factor, load(x + j), load(sum_out + j))
        j += LANES_D
    while j < d:
        sum_out[j] += a * x[j]
        j += 1


def square_norms(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, double[::1] out):
    """Write the squared lengths of rows [start, stop); a length is not finite if an entry of the row is not."""
    cdef Py_ssize_t i, j, d = X.shape[1]
    cdef vec_d s, x
    with nogil:
        for i in range(start, stop):
            s = spread_d(0)
            j = 0
            while j + LANES_D <= d:
                x = load(&X[i, j])
                s = fmadd_d(x, x, s)
                j += LANES_D
            out[i] = sum_d(s)
            while j < d:
                out[i] += <double> X[i, j] * X[i, j]
                j += 1


def square_norms_sparse(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data, Py_ssize_t start, Py_ssize_t stop,
    double[::1] out
):
    """Write the squared lengths of sparse rows [start, stop); a length is not finite if an entry of the row is not."""
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(start, stop):
            out[i] = 0
            for e in range(indptr[i], indptr[i + 1]):
                out[i] += <double> data[e] * data[e]


def combine(const floating[:, ::1] X, const double[::1] a, Py_ssize_t start, Py_ssize_t stop, double[::1] sum_out):
    """Add the sum of a[i] X[i] over rows [start, stop) to sum_out; a row with a[i] = 0 is not read."""
    cdef Py_ssize_t i, d = X.shape[1]
    with nogil:
        for i in range(start, stop):
            if a[i] != 0:
                add(a[i], &X[i, 0], &sum_out[0], d)


def combine_sparse(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data, const double[::1] a,
    Py_ssize_t start, Py_ssize_t stop, double[::1] sum_out
):
    """Add the sum of a[i] times sparse row i over rows [start, stop) to sum_out; a row with a[i] = 0 is not read."""
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(start, stop):
            if a[i] != 0:
                for e in range(indptr[i], indptr[i + 1]):
                    sum_out[indices[e]] += a[i] * data[e]


def add_products_sparse(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data, const double[::1] weight,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] sum_out
):
    """Add sum_i weight[i] x_i x_i' to the upper triangle of sum_out, and sum_i weight[i] x_i to its last column."""
    cdef Py_ssize_t i, e, f, last = sum_out.shape[1] - 1
    cdef double a
    cdef double* row
    with nogil:
        for i in range(start, stop):
            if weight[i] != 0:
                for e in range(indptr[i], indptr[i + 1]):
                    a = weight[i] * data[e]
                    row = &sum_out[indices[e], 0]
                    for f in range(e, indptr[i + 1]):
                        row[indices[f]] += a * data[f]
                    row[last] += a


# A line search along a direction of the weights: pointers to the arrays of a `proximal_newton.Line`; kernels only read
# these arrays.
ctypedef struct line_t:
    Py_ssize_t n               # the number of rows in the line search
    const double* z            # (n,): z = 1 - y (w x + b) of each row at the start of the line
    const double* q  # (n,): for z = 1 - y (w x + b), the amount by which each row's z decreases per unit of step length
    # (n,): the value that each row's alpha, a function of z = 1 - y (w x + b), would have at z = 0 if it had no bounds
    const double* centre
    # (n,): for z = 1 - y (w x + b), the derivative of each row's alpha with respect to z, where alpha is between its
    # bounds
    const double* gain
    const double* most         # (n,): the upper bound of each row's alpha


cdef line_t as_line(line):
    """A line_t of pointers to the arrays of a `Line`, which must outlive it."""
    cdef line_t out
    cdef const double[::1] z = line.z
    cdef const double[::1] q = line.q
    cdef const double[::1] centre = line.centre
    cdef const double[::1] gain = line.gain
    cdef const double[::1] most = line.most
    out.n = z.shape[0]
    require(q.shape[0] == out.n and centre.shape[0] == out.n and gain.shape[0] == out.n and most.shape[0] == out.n)
    out.z, out.q, out.centre, out.gain, out.most = &z[0], &q[0], &centre[0], &gain[0], &most[0]
    return out


def slope(line, double length, Py_ssize_t start, Py_ssize_t stop, double[::1] sum_out):
    """sum_out += (sum of a_i q_i, sum of gain_i q_i^2 where 0 < a_i < most_i) over rows [start, stop) of a `Line`.

    a_i = centre_i + gain_i (z_i - length q_i), clipped to [0, most_i].
    """
    cdef line_t s = as_line(line)
    cdef Py_ssize_t i = start
    cdef double a, first, second
    cdef vec_d zero = spread_d(0), step = spread_d(length), sum_a = zero, sum_gain = zero, free, clipped
    require(0 <= start and stop <= s.n)
    with nogil:
        while i + LANES_D <= stop:
            free = fmadd_d(load(s.gain + i), load(s.z + i) - step * load(s.q + i), load(s.centre + i))
            clipped = max_d(zero - max_d(zero - free, zero - load(s.most + i)), zero)
            sum_a = fmadd_d(clipped, load(s.q + i), sum_a)
            sum_gain = sum_gain + unless_positive(
                load(s.gain + i) * (load(s.q + i) * load(s.q + i)), differs_d(free, clipped)
            )
            i += LANES_D
        first, second = sum_d(sum_a), sum_d(sum_gain)
        for i in range(i, stop):
            a = s.centre[i] + s.gain[i] * (s.z[i] - length * s.q[i])
            if a >= s.most[i]:
                first += s.most[i] * s.q[i]
            elif a > 0:
                first += a * s.q[i]
                second += s.gain[i] * (s.q[i] * s.q[i])
    sum_out[0] += first
    sum_out[1] += second


cdef void finish_row(double* a, Py_ssize_t i, Py_ssize_t D) noexcept nogil:
    """Subtract the rows above row i in a Cholesky factorisation: a[i, j] -= sum_(k < i) a[k, i] a[k, j] for j >= i."""
    cdef Py_ssize_t j = i, k, _j, _k
    cdef double* row
    cdef vec_d u, s0, s1, s2, s3
    while j + 4 * LANES_D <= D:
        row = a + j
        s0 = s1 = s2 = s3 = spread_d(0)
        for _k in range(i):
            u = spread_d(row[i - j])
            s0 = fmadd_d(u, (<vec_d*> row)[0], s0)
            s1 = fmadd_d(u, (<vec_d*> row)[1], s1)
            s2 = fmadd_d(u, (<vec_d*> row)[2], s2)
            s3 = fmadd_d(u, (<vec_d*> row)[3], s3)
            row += D
        (<vec_d*> row)[0] -= s0
        (<vec_d*> row)[1] -= s1
        (<vec_d*> row)[2] -= s2
        (<vec_d*> row)[3] -= s3
        j += 4 * LANES_D
    for k in range(i if j < D else 0):
        for _j in range(j, D):
            a[i * D + _j] -= a[k * D + i] * a[k * D + _j]


def solve(double[:, ::1] a, double[::1] x, Py_ssize_t start, Py_ssize_t stop):
    """Compute rows [start, stop) of the Cholesky factor U of a = U'U in place; after the last row, x becomes a^-1 x.

    The diagonal of `a` is 1 on entry. A pivot that rounding has left below 1e-14 is replaced by 1e-14.
    """
    cdef Py_ssize_t D = a.shape[0], i, j
    cdef double root
    require(a.shape[1] == D and x.shape[0] == D)
    with nogil:
        for i in range(start, stop):
            finish_row(&a[0, 0], i, D)
            root = 1 / sqrt(max(a[i, i], 1e-14))
            for j in range(i, D):
                a[i, j] *= root
            a[i, i] = 1 / root
        if stop == D:
            for i in range(D):
                x[i] /= a[i, i]
                for j in range(i + 1, D):
                    x[j] -= a[i, j] * x[i]
            for i in range(D - 1, -1, -1):
                for j in range(i + 1, D):
                    x[i] -= a[i, j] * x[j]
                x[i] /= a[i, i]


# The order in which coordinate descent visits the rows.
ctypedef struct visits_t:
    int64_t n_rows             # the number of rows in the array `order`
    # (n_rows,): row numbers, first of the n_active rows that the current epoch visits, then of the rows left out
    int64_t* order
    int64_t n_active
    int64_t at                 # the number of rows that the epoch has visited so far, without the rows left out
    uint64_t seed              # the state of the random number generator; it is never 0

# The state of dual coordinate descent: pointers to the arrays of a `coordinate_descent.Epochs`, and its numbers. The
# fields from y to tol are only read; the others are changed.
ctypedef struct descent_t:
    const double* y            # (n,): the label of each row, +1 or -1
    const double* most         # (n,): the upper bound of the alpha of each row, infinite for the squared loss
    const double* ridge        # (n,): the factor of each row's alpha^2 / 2 in the dual objective
    const double* square       # (n,): the squared length of each row
    double bias                # the value of the bias column in every row
    double offset              # a fixed part of the intercept, added to each score; the other part is bias * w[d]
    double tol                 # the largest violation of the optimality conditions with which the descent ends
    visits_t visits
    double high                # the largest gradient with which a row with alpha = 0 stays among the rows to visit
    # the smallest gradient with which a row with alpha at its upper bound stays among the rows to visit
    double low
    double* alpha              # (n,): the dual variable alpha of each row
    double* w                  # (d + 1,): the weights of the d columns and, last, of the bias column
    double largest             # the largest projected gradient of the epoch so far, at least 0
    double least               # the smallest projected gradient of the epoch so far, at most 0
    double gap                 # the largest minus the smallest projected gradient of the last whole epoch
    # whether the descent has ended: in the last epoch all rows were visited, and the violation was at most `tol`
    bint done


cdef visits_t as_visits(epochs, Py_ssize_t n_rows):
    """A visits_t with the state of a `coordinate_descent.Visits`, which must outlive it, for n_rows rows."""
    cdef visits_t out
    cdef int64_t[::1] order = epochs.order
    out.n_rows, out.order = order.shape[0], NULL
    if out.n_rows:
        out.order = &order[0]
    out.n_active, out.at, out.seed = epochs.n_active, epochs.at, epochs.seed
    require(0 <= out.at <= out.n_active <= out.n_rows <= n_rows)
    return out


cdef void tell_visits(const visits_t* v, epochs):
    """Copy the numbers of v that have changed back to the attributes of a `Visits`."""
    epochs.n_active, epochs.at, epochs.seed = v.n_active, v.at, v.seed


cdef descent_t as_descent(epochs, Py_ssize_t n_rows, Py_ssize_t d):
    """A descent_t of pointers to the arrays of an `Epochs`, which must outlive it, for n_rows rows of d columns."""
    cdef descent_t out
    cdef const double[::1] y = epochs.y
    cdef const double[::1] most = epochs.most
    cdef const double[::1] ridge = epochs.ridge
    cdef const double[::1] square = epochs.square
    cdef double[::1] alpha = epochs.alpha
    cdef double[::1] w = epochs.w
    cdef Py_ssize_t n = alpha.shape[0]
    require(n == n_rows and y.shape[0] == n and most.shape[0] == n and ridge.shape[0] == n and square.shape[0] == n)
    require(w.shape[0] == d + 1)
    out.y, out.most, out.ridge, out.square = &y[0], &most[0], &ridge[0], &square[0]
    out.alpha, out.w, out.visits = &alpha[0], &w[0], as_visits(epochs, n)
    out.bias, out.offset, out.tol = epochs.bias, epochs.offset, epochs.tol
    out.high, out.low, out.largest, out.least = epochs.high, epochs.low, epochs.largest, epochs.least
    out.gap, out.done = epochs.gap, False
    return out


cdef void tell(descent_t* s, epochs):
    """Copy the numbers that a descent has changed in s back to the attributes of an `Epochs`."""
    tell_visits(&s.visits, epochs)
    epochs.high, epochs.low, epochs.largest, epochs.least = s.high, s.low, s.largest, s.least
    epochs.gap, epochs.done = s.gap, s.done


cdef inline double step(descent_t* s, Py_ssize_t i, double score, bint* kept_out) noexcept nogil:
    """Minimise over alpha_i (Hsieh and others 2008, algorithm 3); returns y_i times the change of alpha_i.

    score: w.x_i with the bias column. kept_out: out, whether the next epoch visits the row.
    """
    cdef double old = s.alpha[i], gradient = s.y[i] * (score + s.offset) - 1 + s.ridge[i] * old, projected = gradient
    cdef double bend = s.square[i] + s.bias * s.bias + s.ridge[i], new
    kept_out[0] = True
    if old <= 0:
        if gradient > s.high:
            kept_out[0] = False
            return 0
        projected = min(gradient, <double> 0)
    elif old >= s.most[i]:
        if gradient < s.low:
            kept_out[0] = False
            return 0
        projected = max(gradient, <double> 0)
    s.largest = max(s.largest, projected)
    s.least = min(s.least, projected)
    if projected == 0:
        return 0
    if bend > 0:
        new = min(max(old - gradient / bend, <double> 0), s.most[i])
    else:
        new = s.most[i] if gradient < 0 else 0
    s.alpha[i] = new
    return (new - old) * s.y[i]


cdef inline Py_ssize_t drawn(visits_t* v) noexcept nogil:
    """Choose a random row that the epoch has not visited yet, and move it to index `at` of the order."""
    cdef int64_t place, row
    v.seed ^= v.seed << 13
    v.seed ^= v.seed >> 7
    v.seed ^= v.seed << 17
    place = v.at + <int64_t> (((v.seed >> 32) * <uint64_t> (v.n_active - v.at)) >> 32)
    row = v.order[place]
    v.order[place] = v.order[v.at]
    v.order[v.at] = row
    return row


cdef inline bint visited(visits_t* v, bint kept) noexcept nogil:
    """Go on to the next row, after one that the next epoch visits or not; returns whether the epoch is over."""
    cdef int64_t row
    if kept:
        v.at += 1
    else:
        v.n_active -= 1
        row = v.order[v.at]
        v.order[v.at] = v.order[v.n_active]
        v.order[v.n_active] = row
    return v.at >= v.n_active


cdef bint passed(descent_t* s, bint kept) noexcept nogil:
    """Note whether the row at the place `at` is kept; returns whether the epoch is over. Then the next one begins.

    An epoch without a violation above tol ends the descent if it visited all rows and kept them.
    """
    cdef visits_t* v = &s.visits
    if not visited(v, kept):
        return False
    s.gap = s.largest - s.least
    s.done = s.gap <= s.tol and v.n_active == v.n_rows
    s.high = s.largest if s.largest > 0 else INFINITY
    s.low = s.least if s.least < 0 else -INFINITY
    if s.gap <= s.tol or v.n_active == 0:
        v.n_active, s.high, s.low = v.n_rows, INFINITY, -INFINITY
    v.at, s.largest, s.least = 0, 0, 0
    return True


def descend(const floating[:, ::1] X, epochs, Py_ssize_t n_visits, Py_ssize_t n_epochs):
    """Minimise over the alphas of rows in up to n_visits visits, n_epochs epochs; returns the ended epochs."""
    cdef Py_ssize_t i, d = X.shape[1], n_ended = 0
    cdef double change
    cdef bint kept
    cdef descent_t s = as_descent(epochs, X.shape[0], d)
    with nogil:
        while n_visits > 0 and n_ended < n_epochs and not s.done:
            n_visits -= 1
            i = drawn(&s.visits)
            change = step(&s, i, dot(&X[i, 0], s.w, d) + s.bias * s.w[d], &kept)
            if change != 0:
                add(change, &X[i, 0], s.w, d)
                s.w[d] += change * s.bias
            n_ended += passed(&s, kept)
    tell(&s, epochs)
    return n_ended


def descend_sparse(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data, epochs, Py_ssize_t n_visits,
    Py_ssize_t n_epochs,
):
    """Minimise over the alphas of sparse rows in up to n_visits visits, n_epochs epochs; returns the ended epochs."""
    cdef Py_ssize_t i, e, begin, d = len(epochs.w) - 1, n_ended = 0
    cdef double score, change
    cdef bint kept
    cdef descent_t s = as_descent(epochs, indptr.shape[0] - 1, d)
    cdef const int* index = <const int*> &indices[0]
    cdef const floating* x = &data[0]
    with nogil:
        while n_visits > 0 and n_ended < n_epochs and not s.done:
            n_visits -= 1
            i = drawn(&s.visits)
            begin = indptr[i]
            score = dot_sparse(s.w, x + begin, index + begin, indptr[i + 1] - begin)
            change = step(&s, i, score + s.bias * s.w[d], &kept)
            if change != 0:
                for e in range(begin, indptr[i + 1]):
                    s.w[index[e]] += change * x[e]
                s.w[d] += change * s.bias
            n_ended += passed(&s, kept)
    tell(&s, epochs)
    return n_ended


# The state of dual coordinate descent for up to LEARNERS hyperplanes side by side, each of a class against the rest,
# with the squared hinge loss: pointers to the arrays of a `coordinate_descent.SideBySide`, and its numbers. A lane is
# the index of a hyperplane. The fields from lane to tol are only read; the others are changed.
ctypedef struct lanes_t:
    Py_ssize_t n_lanes         # the number of hyperplanes; the other lanes have weights and alphas of 0
    const int* lane            # (n,): the lane in which the label of each row is +1, LEARNERS if it is -1 in all lanes
    const double* ridge        # (n,): the factor of each row's alpha^2 / 2 in the dual objective where its label is -1
    const double* own_ridge    # (n,): the same where its label is +1
    const double* square       # (n,): the squared length of each row
    double bias                # the value of the bias column in every row
    double tol                 # the largest violation of the optimality conditions with which the descent ends
    visits_t visits
    double* alpha              # (n, LEARNERS): the dual variables of each row
    double* w                  # (d + 1, LEARNERS): the weights of the d columns and, last, of the bias column
    # (LEARNERS,): -1; where there is no hyperplane, 1, so that each row's gradient is 1 and holds its alpha at 0
    const double* base
    # (LEARNERS,): the largest gradient with which a row with alpha = 0 stays among the rows to visit
    double* high
    double* rise               # (LEARNERS,): the largest projected gradient of the epoch so far, at least 0
    double* fall               # (LEARNERS,): minus the smallest projected gradient of the epoch so far, at least 0
    double gap                 # the largest of the sums rise + fall at the end of the last whole epoch
    bint done                  # whether the last epoch visited all rows, and the gap was at most `tol`

# The LEARNERS numbers from index LEARNERS - k on are 1 in lane k and 0 in all others.
cdef double[2 * LEARNERS] ONE_LANE = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


cdef lanes_t as_lanes(epochs, Py_ssize_t n, Py_ssize_t d):
    """A lanes_t of pointers to the arrays of a `SideBySide`, which must outlive it, for n rows of d columns."""
    cdef lanes_t out
    cdef const int[::1] lane = epochs.lane
    cdef const double[::1] ridge = epochs.ridge
    cdef const double[::1] own_ridge = epochs.own_ridge
    cdef const double[::1] square = epochs.square
    cdef double[:, ::1] alpha = epochs.alpha
    cdef double[:, ::1] w = epochs.w
    cdef double[:, ::1] bounds = epochs.bounds
    require(lane.shape[0] == n and ridge.shape[0] == n and own_ridge.shape[0] == n and square.shape[0] == n)
    require(alpha.shape[0] == n and w.shape[0] == d + 1 and bounds.shape[0] == 4)
    require(alpha.shape[1] == LEARNERS and w.shape[1] == LEARNERS and bounds.shape[1] == LEARNERS)
    out.lane, out.ridge, out.own_ridge, out.square = &lane[0], &ridge[0], &own_ridge[0], &square[0]
    out.alpha, out.w, out.visits, out.n_lanes = &alpha[0, 0], &w[0, 0], as_visits(epochs, n), epochs.n_lanes
    out.base, out.high, out.rise, out.fall = &bounds[0, 0], &bounds[1, 0], &bounds[2, 0], &bounds[3, 0]
    out.bias, out.tol, out.gap, out.done = epochs.bias, epochs.tol, epochs.gap, False
    return out


@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline bint step_each(lanes_t* s, Py_ssize_t i, const double* score, const double* w, double* out) noexcept nogil:
    """Minimise over the alphas of row i in all lanes; returns whether the next epoch visits the row for any lane.

    score: the products of the row and the weights, without the bias column. w: the weights of the bias column.
    out: the label times the change of alpha in each lane.
    """
    cdef double* alpha = s.alpha + i * LEARNERS
    cdef const double* one_lane = ONE_LANE + LEARNERS - s.lane[i]
    cdef vec_d zero = spread_d(0), one = spread_d(1), y, old, new, ridge, own, gradient, rise
    cdef Py_ssize_t v
    cdef bint kept = False
    for v in range(LEARNERS // LANES_D):
        own, old = load(one_lane + v * LANES_D), load(alpha + v * LANES_D)
        y = own + own - one
        ridge = fmadd_d(own, spread_d(s.own_ridge[i] - s.ridge[i]), spread_d(s.ridge[i]))
        gradient = y * fmadd_d(spread_d(s.bias), load(w + v * LANES_D), load(score + v * LANES_D))
        gradient = fmadd_d(ridge, old, gradient + load(s.base + v * LANES_D))
        new = max_d(old - gradient / (spread_d(s.square[i] + s.bias * s.bias) + ridge), zero)
        (<vec_d*> alpha)[v] = new
        (<vec_d*> out)[v] = (new - old) * y
        # where alpha is 0, a positive gradient violates nothing
        rise = max_d(gradient, zero)
        rise = rise - unless_positive(rise, old)
        (<vec_d*> s.rise)[v] = max_d(load(s.rise + v * LANES_D), rise)
        (<vec_d*> s.fall)[v] = max_d(load(s.fall + v * LANES_D), zero - gradient)
        kept = kept or at_most_d(old, zero) & ~at_most_d(gradient, load(s.high + v * LANES_D)) != (1 << LANES_D) - 1
    return kept


cdef bint passed_each(lanes_t* s, bint kept) noexcept nogil:
    """The same as `passed`; the violation is the largest of all hyperplanes."""
    cdef visits_t* v = &s.visits
    cdef Py_ssize_t k
    if not visited(v, kept):
        return False
    s.gap = 0
    for k in range(s.n_lanes):
        s.gap = max(s.gap, s.rise[k] + s.fall[k])
        s.high[k] = s.rise[k] if s.rise[k] > 0 else INFINITY
    s.done = s.gap <= s.tol and v.n_active == v.n_rows
    if s.gap <= s.tol or v.n_active == 0:
        v.n_active = v.n_rows
        for k in range(s.n_lanes):
            s.high[k] = INFINITY
    v.at = 0
    for k in range(LEARNERS):
        s.rise[k] = s.fall[k] = 0
    return True


cdef inline void add_each(
    const double* a, const floating* x, const int* index, Py_ssize_t n, double* sum_out
) noexcept nogil:
    """Add a sparse row, multiplied by the number a[k] for each lane k, to sum_out of shape (d, LEARNERS)."""
    cdef Py_ssize_t e, v
    cdef double* sums
    for e in range(n):
        sums = sum_out + <Py_ssize_t> LEARNERS * index[e]
        for v in range(LEARNERS // LANES_D):
            (<vec_d*> sums)[v] = fmadd_d(load(a + v * LANES_D), spread_d(x[e]), load(sums + v * LANES_D))


def descend_side_by_side(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data, epochs, Py_ssize_t n_visits,
    Py_ssize_t n_epochs,
):
    """The same as `descend_sparse` for the hyperplanes of a `SideBySide`."""
    cdef Py_ssize_t i, begin, n, k, d = len(epochs.w) - 1, n_ended = 0
    cdef double[LEARNERS] score, change
    cdef bint kept
    cdef lanes_t s = as_lanes(epochs, indptr.shape[0] - 1, d)
    cdef double* last = s.w + d * LEARNERS
    cdef const int* index = <const int*> &indices[0]
    cdef const floating* x = &data[0]
    with nogil:
        while n_visits > 0 and n_ended < n_epochs and not s.done:
            n_visits -= 1
            i = drawn(&s.visits)
            begin, n = indptr[i], indptr[i + 1] - indptr[i]
            dot_each(s.w, x + begin, index + begin, n, score)
            kept = step_each(&s, i, score, last, change)
            add_each(change, x + begin, index + begin, n, s.w)
            for k in range(LEARNERS):
                last[k] += change[k] * s.bias
            n_ended += passed_each(&s, kept)
    tell_visits(&s.visits, epochs)
    epochs.gap, epochs.done = s.gap, s.done
    return n_ended
