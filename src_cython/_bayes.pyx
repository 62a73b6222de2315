# Naive Bayes: log P(x, class) of rows by what was learned.
#
# Classes lie side by side in the lanes and columns are added in their order, four rows at a time to hide the latency of
# a sum. Arrays by class have `width` columns: the classes, filled up to whole vectors.
from cython cimport cdivision
from libc.math cimport INFINITY, exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from _exp cimport exp_of_negative
from _finite cimport all_finite
from _model cimport bayes_t, model_t, normalise_f, score_double_f, score_float_f
from _numbers cimport as_doubles, number, real
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK
from _vector cimport LANES_D, fmadd_d, largest_d, max_d, spread_d, sum_d, vec_d

LANES = LANES_D


# joint[i, k] += constant[k] + sum_j weight[j, k] (x_ij - mean[j, k])^2
cdef void add_squares(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    const double* mean, const double* weight, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d t0, t1, t2, t3, m, w
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = as_doubles(X + min(i + r, stop - 1) * d, d, room + r * d)
        for v in range(width // LANES_D):
            k = v * LANES_D
            a[0] = a[1] = a[2] = a[3] = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                m = (<const vec_d*> (mean + j * width + k))[0]
                w = (<const vec_d*> (weight + j * width + k))[0]
                t0 = spread_d(x[0][j]) - m
                t1 = spread_d(x[1][j]) - m
                t2 = spread_d(x[2][j]) - m
                t3 = spread_d(x[3][j]) - m
                a[0] = fmadd_d(t0 * t0, w, a[0])
                a[1] = fmadd_d(t1 * t1, w, a[1])
                a[2] = fmadd_d(t2 * t2, w, a[2])
                a[3] = fmadd_d(t3 * t3, w, a[3])
            for r in range(min(4, stop - i)):
                add_lanes(a[r], joint + (i + r) * n_classes + k, min(LANES_D, n_classes - k))


cdef inline void add_lanes(vec_d a, double* out, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t lane
    if n == LANES_D:
        (<vec_d*> out)[0] += a
        return
    for lane in range(n):
        out[lane] += (<double*> &a)[lane]


# joint[i, k] += constant[k] + sum_j coef[j, k] x_ij, or with a threshold, over the x_ij above it, as ones
cdef void add_products(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    bint binary, double threshold, const double* coef, const double* constant, double* joint, double* room
) noexcept nogil:
    cdef Py_ssize_t i, j, k, r, v
    cdef const double* x[4]
    cdef vec_d c
    cdef vec_d a[4]
    for i in range(start, stop, 4):
        for r in range(4):
            x[r] = as_doubles(X + min(i + r, stop - 1) * d, d, room + r * d)
            if binary:
                for j in range(d):
                    room[r * d + j] = 1.0 if x[r][j] > threshold else 0.0
                x[r] = room + r * d
        for v in range(width // LANES_D):
            k = v * LANES_D
            a[0] = a[1] = a[2] = a[3] = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                c = (<const vec_d*> (coef + j * width + k))[0]
                a[0] = fmadd_d(spread_d(x[0][j]), c, a[0])
                a[1] = fmadd_d(spread_d(x[1][j]), c, a[1])
                a[2] = fmadd_d(spread_d(x[2][j]), c, a[2])
                a[3] = fmadd_d(spread_d(x[3][j]), c, a[3])
            for r in range(min(4, stop - i)):
                add_lanes(a[r], joint + (i + r) * n_classes + k, min(LANES_D, n_classes - k))


cdef void add_sparse_products(
    const int64_t* indptr, const int32_t* indices, const real* data, Py_ssize_t n_classes, Py_ssize_t width,
    Py_ssize_t start, Py_ssize_t stop, bint binary, double threshold, const double* coef, const double* constant,
    double* joint
) noexcept nogil:
    cdef Py_ssize_t i, e, k, v
    cdef double x
    cdef vec_d a
    for i in range(start, stop):
        for v in range(width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for e in range(indptr[i], indptr[i + 1]):
                x = data[e]
                if binary:
                    x = 1.0 if x > threshold else 0.0
                a = fmadd_d(spread_d(x), (<const vec_d*> (coef + indices[e] * width + k))[0], a)
            add_lanes(a, joint + i * n_classes + k, min(LANES_D, n_classes - k))


# joint[i, k] += constant[k] + sum_j table[first[j] + x_ij, k]; the last of a column's entries is for categories that
# are not below it. NaN, a value that is missing, adds nothing.
cdef void add_entries(
    const number* X, Py_ssize_t d, Py_ssize_t n_classes, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop,
    const int64_t* first, const double* table, const double* constant, double* joint
) noexcept nogil:
    cdef Py_ssize_t i, j, k, v
    cdef number x
    cdef vec_d a
    for i in range(start, stop):
        for v in range(width // LANES_D):
            k = v * LANES_D
            a = (<const vec_d*> (constant + k))[0]
            for j in range(d):
                x = X[i * d + j]
                if number is float or number is double:
                    if x != x:
                        continue
                a += (<const vec_d*> (table + entry_of(x, first, j) * width + k))[0]
            add_lanes(a, joint + i * n_classes + k, min(LANES_D, n_classes - k))


cdef inline int64_t entry_of(number x, const int64_t* first, Py_ssize_t j) noexcept nogil:
    cdef int64_t last = first[j + 1] - 1
    return first[j] + <int64_t> x if 0 <= x < last - first[j] else last


# out[i] = log(sum_a count[a] exp(-(x_i - cell[a])^2 / 2 h^2)) - constant, cells ascending, counts above 0.
#
# Terms that together are below 2^-60 of that of the nearest cell are left out: those beyond the reach r with
# r^2 / 2 h^2 = top + slack - log(count of the nearest), top its exponent, slack = log(largest count) + log(m) + 42.
cdef void log_densities(
    const double* x, Py_ssize_t n, const double* cell, const double* count, Py_ssize_t m, double h, double slack,
    double constant, double* out
) noexcept nogil:
    cdef Py_ssize_t i, a, last
    cdef double t, top, reach, total, scale = -0.5 / (h * h)
    cdef vec_d u, s
    for i in range(n):
        a = first_from(cell, m, x[i])
        if a == m or (a > 0 and x[i] - cell[a - 1] < cell[a] - x[i]):
            a -= 1
        t = x[i] - cell[a]
        top = -scale * t * t
        if top == INFINITY:
            out[i] = -INFINITY
            continue
        reach = h * sqrt(2 * (top + slack - log(count[a])))
        a = first_from(cell, m, x[i] - reach)
        last = first_from(cell, m, x[i] + reach)
        s = spread_d(0)
        while a + LANES_D <= last:
            u = spread_d(x[i]) - (<const vec_d*> (cell + a))[0]
            u = exp_of_negative(fmadd_d(u * u, spread_d(scale), spread_d(top)))
            s = fmadd_d((<const vec_d*> (count + a))[0], u, s)
            a += LANES_D
        total = sum_d(s)
        while a < last:
            t = x[i] - cell[a]
            total += count[a] * exp(scale * t * t + top)
            a += 1
        out[i] = log(total) - top - constant


cdef inline Py_ssize_t first_from(const double* cell, Py_ssize_t m, double x) noexcept nogil:
    """The first of m ascending cells that is at least x, or m."""
    cdef Py_ssize_t low = 0, high = m, middle
    while low < high:
        middle = (low + high) // 2
        if cell[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


# Where every class is impossible, all are alike.
cdef void normalise_rows(
    double* joint, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, bint log_wanted
) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double high, total
    cdef double* row
    for i in range(start, stop):
        row = joint + i * n_classes
        high = row[0]
        for k in range(1, n_classes):
            high = max(high, row[k])
        total = 0
        for k in range(n_classes):
            row[k] = 0 if high == -INFINITY else row[k] - high
            total += exp(row[k])
        for k in range(n_classes):
            row[k] = row[k] - log(total) if log_wanted else exp(row[k]) / total


cdef void decide_rows(
    const double* joint, Py_ssize_t n_classes, Py_ssize_t start, Py_ssize_t stop, int32_t* code
) noexcept nogil:
    cdef Py_ssize_t i, k, best
    for i in range(start, stop):
        best = 0
        for k in range(1, n_classes):
            if joint[i * n_classes + k] > joint[i * n_classes + best]:
                best = k
        code[i] = best


# Leave-one-out of Gaussian classes by subtraction: without row x, of class c with n rows and squares M about mean m,
#
#     m' = m - (x - m) / (n - 1),   M' = M - (x - m)^2 n / (n - 1)
#
# and so for all rows together, whose largest variance gives epsilon. Where less than half the digits of an M' remain,
# `lost` says so, and the row is to be fitted anew.
#
# Of the other classes only epsilon moves, by delta, which enters 1 / v and log v to first order where delta / v is so
# small that the second is below rounding.
#
# Most rows need none of that: the log joints by all rows, told as
#
#     base_k - 1/2 sum_j t (A_jk t + B_jk),   t = x_j - centre_j,   A = 1 / v,   B = -2 (m - centre) / v
#
# say which class is the best of the others' by more than they can move.
cdef struct gaussians_t:
    Py_ssize_t d
    Py_ssize_t n_classes
    Py_ssize_t widest  # the column of the largest squares of all rows
    double smoothing
    double epsilon
    double steepest  # the largest 1 / v
    const double* count  # [n_classes + 1], that of all classes together last
    const double* mean  # [n_classes + 1, d], likewise
    const double* squares
    const double* log_prior  # [2, n_classes]: with all rows, and without one of the class
    const double* inverse  # [n_classes, d]: 1 / v
    const double* sums  # [n_classes, 3]: sum log v, sum 1 / v, the largest 1 / v
    Py_ssize_t width
    const double* A  # [d, width], the classes filled up to whole vectors
    const double* B
    const double* base  # [width]
    const double* top  # [n_classes]: log joints at the class's mean
    double highest  # of them
    double off  # at most, of a log joint, by rounding, besides a share of it


cdef void leave_out_rows(
    const gaussians_t* g, const number* X, const int32_t* code, Py_ssize_t start, Py_ssize_t stop,
    int32_t* left_code, uint8_t* lost, double* room
) noexcept nogil:
    cdef Py_ssize_t d = g.d, i, j, r, first = start
    cdef double share = 1 / (g.count[g.n_classes] - 1), t, delta
    cdef const double* centre = g.mean + g.n_classes * d
    cdef double* joint = room + 4 * d
    while first < stop:
        for r in range(4):
            i = min(first + r, stop - 1)
            for j in range(d):
                room[r * d + j] = <double> X[i * d + j] - centre[j]
        tell_four(g, room, joint)
        for r in range(min(4, stop - first)):
            i = first + r
            # no column's squares are above the widest's, which bounds delta from both sides
            t = room[r * d + g.widest]
            delta = (g.epsilon + g.smoothing * t * t * (1 + share)) * share
            lost[i] = 0
            left_code[i] = certain_class(g, joint + r * g.width, code[i], delta * g.steepest)
            if left_code[i] < 0:
                left_code[i] = class_without(g, as_doubles(X + i * d, d, room + r * d), code[i], &lost[i])
        first += 4


cdef inline void tell_four(const gaussians_t* g, const double* t, double* joint) noexcept nogil:
    """The log joints of four rows."""
    cdef Py_ssize_t d = g.d, j, k, v
    cdef vec_d a, b, t0, t1, t2, t3, s0, s1, s2, s3
    cdef const vec_d* base
    for v in range(g.width // LANES_D):
        k = v * LANES_D
        s0 = s1 = s2 = s3 = spread_d(0)
        for j in range(d):
            a = (<const vec_d*> (g.A + j * g.width + k))[0]
            b = (<const vec_d*> (g.B + j * g.width + k))[0]
            t0 = spread_d(t[j])
            t1 = spread_d(t[d + j])
            t2 = spread_d(t[2 * d + j])
            t3 = spread_d(t[3 * d + j])
            s0 = fmadd_d(t0, fmadd_d(t0, a, b), s0)
            s1 = fmadd_d(t1, fmadd_d(t1, a, b), s1)
            s2 = fmadd_d(t2, fmadd_d(t2, a, b), s2)
            s3 = fmadd_d(t3, fmadd_d(t3, a, b), s3)
        base = <const vec_d*> (g.base + k)
        (<vec_d*> (joint + k))[0] = fmadd_d(s0, spread_d(-0.5), base[0])
        (<vec_d*> (joint + g.width + k))[0] = fmadd_d(s1, spread_d(-0.5), base[0])
        (<vec_d*> (joint + 2 * g.width + k))[0] = fmadd_d(s2, spread_d(-0.5), base[0])
        (<vec_d*> (joint + 3 * g.width + k))[0] = fmadd_d(s3, spread_d(-0.5), base[0])


# The class that is certain to be the best once a row of class c with n rows is left out, or -1. Of c's log density
#
#     -1/2 sum_j (z_j^2 + log 2 pi v_j),   z_j^2 = (x - m)^2 / v_j,   Q = sum_j z_j^2,
#
# z_j^2 becomes (n / (n - 1))^2 z_j^2 v_j / v'_j, where 1 + 1 / (n - 1) + rho >= v'_j / v_j >= 1 - h for
# h = Q n / (n - 1)^2 + rho, if no variance moves by more than rho of it for epsilon's sake. The others are
# bounded likewise, and the higher the log joint is, the higher is what it may become: the best two say it for all.
@cdivision(True)  # n may be 1
cdef inline int32_t certain_class(const gaussians_t* g, const double* joint, Py_ssize_t c, double rho) noexcept nogil:
    cdef Py_ssize_t k
    cdef int32_t found = 0
    cdef double n = g.count[c], b = 1 / (n - 1), a = n * b, Q = 2 * (g.top[c] - joint[c] + g.off)
    cdef double h = Q * a * b + rho, best = joint[0], second = -1e300, moved, ratio
    for k in range(1, g.n_classes):
        second = max(second, min(best, joint[k]))
        found = k if joint[k] > best else found
        best = max(best, joint[k])
    if not h < 0.5:
        return -1
    ratio = 1 / (1 - h)
    if found == c:
        moved = 0.5 * (Q * (a * a * ratio - 1) + g.d * (b + rho)) - (g.log_prior[g.n_classes + c] - g.log_prior[c])
    else:
        moved = 0.5 * (Q * a * b + g.d * rho) * ratio
    moved += (2 * g.highest - best - second + g.d) * rho / (1 - rho) + 2 * g.off + 1e-9 * (fabs(best) + fabs(second))
    return found if best - second > moved else -1


cdef int32_t class_without(const gaussians_t* g, const double* x, Py_ssize_t c, uint8_t* lost) noexcept nogil:
    """The best class without row x of class c."""
    cdef Py_ssize_t d = g.d, all = g.n_classes, k
    cdef int32_t found = 0
    cdef double n, score, best = -INFINITY, left, delta
    cdef bint own
    left = largest_left(x, d, g.mean + all * d, g.squares + all * d, g.count[all], lost)
    left *= g.smoothing / (g.count[all] - 1)
    delta = left - g.epsilon
    for k in range(g.n_classes):
        own = k == c
        n = g.count[k] - own
        if n == 0:
            continue
        score = g.sums[3 * k]
        if not own and fabs(delta) * g.sums[3 * k + 2] < 1e-8:
            score += near_distance(x, d, g.mean + k * d, g.inverse + k * d, delta) + delta * g.sums[3 * k + 1]
        else:
            score += distance_without(x, d, g.mean + k * d, g.squares + k * d, g.inverse + k * d, n, own, left, lost)
        score = g.log_prior[own * g.n_classes + k] - 0.5 * score
        if score > best:
            best = score
            found = k
    return found


cdef double largest_left(
    const double* x, Py_ssize_t d, const double* m, const double* M, double n, uint8_t* lost
) noexcept nogil:
    """The largest of the M' of all rows together."""
    cdef Py_ssize_t j = 0
    cdef double t, left, largest = 0, missing = 0, share = n / (n - 1)
    cdef vec_d u, v, high = spread_d(0), low = spread_d(0)
    while j + LANES_D <= d:
        u = (<const vec_d*> (x + j))[0] - (<const vec_d*> (m + j))[0]
        v = (<const vec_d*> (M + j))[0]
        u = v - u * u * spread_d(share)
        high = max_d(high, u)
        low = max_d(low, v * spread_d(1e-8) - u)
        j += LANES_D
    largest = largest_d(high)
    missing = largest_d(low)
    while j < d:
        t = x[j] - m[j]
        left = M[j] - t * t * share
        largest = max(largest, left)
        missing = max(missing, 1e-8 * M[j] - left)
        j += 1
    lost[0] |= missing > 0
    return largest


cdef double near_distance(
    const double* x, Py_ssize_t d, const double* m, const double* inverse, double delta
) noexcept nogil:
    """sum (x - m)^2 / (v + delta) to first order in delta."""
    cdef Py_ssize_t j = 0
    cdef double t, total
    cdef vec_d u, w, s = spread_d(0)
    while j + LANES_D <= d:
        u = (<const vec_d*> (x + j))[0] - (<const vec_d*> (m + j))[0]
        w = (<const vec_d*> (inverse + j))[0]
        s = fmadd_d(u * u * w, fmadd_d(spread_d(-delta), w, spread_d(1)), s)
        j += LANES_D
    total = sum_d(s)
    while j < d:
        t = x[j] - m[j]
        total += t * t * inverse[j] * (1 - delta * inverse[j])
        j += 1
    return total


# sum (x - m)^2 / v + log(v inverse) of a class that has n rows without x, which is `own` or not. Ratios v inverse are
# above 1e-8, or the row is lost: the product of 32 can be told.
@cdivision(True)  # the debug build's check is not for vectors
cdef double distance_without(
    const double* x, Py_ssize_t d, const double* m, const double* M, const double* inverse, double n, bint own,
    double epsilon, uint8_t* lost
) noexcept nogil:
    cdef Py_ssize_t j = 0, lane
    cdef double t, v, q, logs = 0, product = 1, missing, share = (n + 1) / n if own else 0, step = share if own else 1
    cdef vec_d u, w, z, total = spread_d(0), low = spread_d(0), ratio = spread_d(1)
    while j + LANES_D <= d:
        u = (<const vec_d*> (x + j))[0] - (<const vec_d*> (m + j))[0]
        w = (<const vec_d*> (M + j))[0]
        z = w - u * u * spread_d(share)
        low = max_d(low, w * spread_d(1e-8) - z)
        z = max_d(z / spread_d(n) + spread_d(epsilon), spread_d(1e-300))
        ratio = ratio * z * (<const vec_d*> (inverse + j))[0]
        u = u * spread_d(step)
        total += u * u / z
        j += LANES_D
        if j % 32 == 0 or j + LANES_D > d:
            for lane in range(LANES_D):
                product *= (<double*> &ratio)[lane]
            logs += log(product)
            product = 1
            ratio = spread_d(1)
    q = sum_d(total)
    missing = largest_d(low)
    while j < d:
        t = x[j] - m[j]
        v = M[j] - t * t * share
        missing = max(missing, 1e-8 * M[j] - v)
        v = max(v / n + epsilon, 1e-300)
        product *= v * inverse[j]
        t *= step
        q += t * t / v
        j += 1
    lost[0] |= own and missing > 0
    return q + logs + log(product)


def squares(
    const number[:, ::1] X, const double[:, ::1] mean, const double[:, ::1] weight, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add Gaussian log densities; `mean`, `weight` and `constant` have classes as columns, LANES a group."""
    cdef double[::1] room = np.empty(4 * X.shape[1])
    with nogil:
        add_squares(
            &X[0, 0], X.shape[1], joint.shape[1], mean.shape[1], start, stop, &mean[0, 0], &weight[0, 0],
            &constant[0], &joint[0, 0], &room[0]
        )


def products(
    const number[:, ::1] X, const double[:, ::1] coef, const double[::1] constant, threshold,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef double[::1] room = np.empty(4 * X.shape[1])
    with nogil:
        add_products(
            &X[0, 0], X.shape[1], joint.shape[1], coef.shape[1], start, stop, binary, limit, &coef[0, 0],
            &constant[0], &joint[0, 0], &room[0]
        )


def sparse_products(
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] data, const double[:, ::1] coef,
    const double[::1] constant, threshold, Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add linear scores of rows in CSR."""
    cdef bint binary = threshold is not None
    cdef double limit = threshold if binary else 0
    cdef const int32_t* columns = &indices[0] if indices.shape[0] else NULL
    cdef const real* values = &data[0] if data.shape[0] else NULL
    with nogil:
        add_sparse_products(
            &indptr[0], columns, values, joint.shape[1], coef.shape[1], start, stop, binary, limit, &coef[0, 0],
            &constant[0], &joint[0, 0]
        )


def entries(
    const number[:, ::1] X, const int64_t[::1] first, const double[:, ::1] table, const double[::1] constant,
    Py_ssize_t start, Py_ssize_t stop, double[:, ::1] joint
):
    """Add the table's entries for the categories of rows start to stop."""
    with nogil:
        add_entries(
            &X[0, 0], X.shape[1], joint.shape[1], table.shape[1], start, stop, &first[0], &table[0, 0], &constant[0],
            &joint[0, 0]
        )


def densities(
    const double[::1] x, const double[::1] cell, const double[::1] count, double h, double slack, double constant,
    double[::1] out
):
    """Logs of sums of normal densities of width h about cells, as `log_densities` says."""
    with nogil:
        log_densities(
            &x[0], x.shape[0], &cell[0], &count[0], cell.shape[0], h, slack, constant, &out[0]
        )


def normalise(double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, bint log_wanted):
    """Log joints become (log) posterior probabilities, in place."""
    with nogil:
        normalise_rows(&joint[0, 0], joint.shape[1], start, stop, log_wanted)


def decide(const double[:, ::1] joint, Py_ssize_t start, Py_ssize_t stop, int32_t[::1] code):
    """The class of the largest log joint of each row, the first of equal ones."""
    with nogil:
        decide_rows(&joint[0, 0], joint.shape[1], start, stop, &code[0])


def leave_out(
    const number[:, ::1] X, const int32_t[::1] code, const double[::1] count, const double[:, ::1] mean,
    const double[:, ::1] squares, const double[:, ::1] log_prior, double smoothing, double epsilon,
    const double[:, ::1] inverse, const double[:, ::1] sums, const double[:, ::1] A, const double[:, ::1] B,
    const double[::1] base, const double[::1] top, double off, Py_ssize_t start, Py_ssize_t stop,
    int32_t[::1] left_code, uint8_t[::1] lost
):
    """The class of each row by the Gaussian classes of all others, as `gaussians_t` has them."""
    cdef Py_ssize_t d = X.shape[1], n_classes = inverse.shape[0], width = base.shape[0]
    cdef double[::1] room = np.empty(4 * (d + width))
    cdef gaussians_t g = gaussians_t(
        d, n_classes, np.argmax(squares[n_classes]), smoothing, epsilon, np.max(inverse), &count[0], &mean[0, 0],
        &squares[0, 0], &log_prior[0, 0], &inverse[0, 0], &sums[0, 0], width, &A[0, 0], &B[0, 0], &base[0], &top[0],
        np.max(top), off
    )
    with nogil:
        leave_out_rows(&g, &X[0, 0], &code[0], start, stop, &left_code[0], &lost[0], &room[0])


cdef inline bint has_negative(const real* X, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(n):
        found |= X[i] < 0
    return found


cdef void rule_out(
    const model_t* model, const real* x, const double* marked, const double* most, double* joint, double* room
) noexcept nogil:
    """-inf for the classes of which the row has a marked column; or fewer of the marked ones than `most`."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, k
    cdef double* hits = room + 4 * d
    for k in range(K):
        hits[k] = 0
    add_products(x, d, K, b.width, 0, 1, b.binary, b.threshold, marked, b.zero, hits, room)
    for k in range(K):
        if hits[k] > 0 if most == NULL else hits[k] < most[k]:
            joint[k] = -INFINITY


cdef int joint_rows(
    const model_t* model, const real* X, Py_ssize_t n, double* joint, char* work
) noexcept nogil:
    """log P(x, class) of n rows; `work` has 4 n_features + n_outputs doubles."""
    cdef const bayes_t* b = &model.bayes
    cdef Py_ssize_t d = model.n_features, K = model.n_outputs, i, k
    cdef double* room = <double*> work
    if not all_finite(X, n * d) or (b.nonnegative and has_negative(X, n * d)):
        return FASTCLF_BAD_VALUE
    for i in range(n):
        for k in range(K):
            joint[i * K + k] = b.begin[k]
    if b.first != NULL:
        add_entries(X, d, K, b.width, 0, n, b.first, b.weight, b.zero, joint)
    elif b.mean != NULL:
        add_squares(X, d, K, b.width, 0, n, b.mean, b.weight, b.constant, joint, room)
    else:
        add_products(X, d, K, b.width, 0, n, b.binary, b.threshold, b.weight, b.zero, joint, room)
    for i in range(n):
        if b.impossible != NULL:
            rule_out(model, X + i * d, b.impossible, NULL, joint + i * K, room)
        if b.wanted != NULL:
            rule_out(model, X + i * d, b.wanted, b.n_wanted, joint + i * K, room)
    return FASTCLF_OK


cdef score_float_f _joint_floats = joint_rows[float]
cdef score_double_f _joint_doubles = joint_rows[double]
cdef normalise_f _normalise = normalise_rows
ADDRESSES = {
    "score_f": <size_t> _joint_floats, "score_d": <size_t> _joint_doubles, "normalise": <size_t> _normalise,
}
