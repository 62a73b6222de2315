# Leave-one-out of Gaussian classes by subtraction. Without row x, a class c with n rows, mean m and sum of squares M
# about the mean has
#
#     m' = m - (x - m) / (n - 1),   M' = M - (x - m)^2 n / (n - 1)
#
# and the same holds for all rows together, whose largest variance gives epsilon. If less than half of the digits of an
# M' remain, `lost` is set, and the caller fits again without the row.
#
# In the other classes only epsilon changes, by delta, and with it all variances v. The change of 1 / v and log v is
# computed to first order, if delta over v is so small that the second order is below rounding.
#
# Most rows need none of this. The log joints with all rows in the fit, computed as
#
#     base_k - 1/2 sum_j t (A_jk t + B_jk),   t = x_j - centre_j,   A = 1 / v,   B = -2 (m - centre) / v
#
# decide the class if the best class leads by more than the removal of the row can change.
from cython cimport cdivision
from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int32_t, uint8_t

from _numbers cimport row_of, rows_t
from _vector cimport LANES_D, fmadd_d, largest_d, max_d, spread_d, sum_d, vec_d


cdef struct gaussians_t:
    Py_ssize_t d
    Py_ssize_t n_classes
    # the column with the largest sum of squares about the mean of all rows, whose variance determines epsilon
    Py_ssize_t widest
    # epsilon, which is added to all variances, is this share of the largest variance of a column
    double smoothing
    double epsilon
    # the largest 1 / variance of any class and column; times a change of epsilon, it is an upper bound of the relative
    # change of any variance
    double steepest
    const double* count      # (n_classes + 1,) the number of rows of each class, then of all rows
    const double* mean       # (n_classes + 1, d) the mean of each column in each class, then over all rows
    # (n_classes + 1, d) each column's sum of squares about the mean, in each class, then over all rows
    const double* squares
    # (2, n_classes) the log prior of each class: first if all rows are counted, then if one row of the class is left
    # out
    const double* log_prior
    const double* inverse    # (n_classes, d) 1 / v, where v is the variance of the column in the class
    # (n_classes, 3) for each class the sum over columns of log v, the sum of 1 / v, and the largest 1 / v, where v is
    # the variance of the column in the class
    const double* sums
    # the number of classes, rounded up to a multiple of a SIMD vector's length, by which A, B and base are padded
    Py_ssize_t width
    # (d, padded n_classes) the coefficient A = 1 / variance of each column and class; with it log P(x, class) = base -
    # 1/2 sum_j t_j (A_j t_j + B_j), where t is x minus the mean of all rows
    const double* A
    # (d, padded n_classes) the coefficient B = -2 (mean of the class - mean of all rows) / variance of each column and
    # class; with it log P(x, class) = base - 1/2 sum_j t_j (A_j t_j + B_j), where t is x minus the mean of all rows
    const double* B
    # (padded n_classes,) for each class log P(x, class) at x = mean of all rows, the point about which the quadratic
    # log joint is expanded
    const double* base
    # (n_classes,) the highest log joint, log P(x, class), of each class, which is at the mean of the class
    const double* top
    # the highest log joint of any class at any row, an upper bound for each row: the largest entry of `top`
    double highest
    # an upper bound of the rounding error of a log joint near 0; for other log joints a share of their size is added to
    # it
    double off


# The results of leave-one-out predictions; each array has an entry for each row of X.
cdef struct left_out_t:
    int32_t* code   # for each row the class that the model predicts if it is fitted without this row
    # for each row, 1 if the subtraction of the row left too few digits, so that the caller must fit without the row;
    # else 0
    uint8_t* lost


cdef inline void leave_out_rows(
    const gaussians_t* g, const rows_t* X, const int32_t* code, Py_ssize_t start, Py_ssize_t stop, left_out_t* out,
    double* scratch
) noexcept nogil:
    """Predict each of the rows [start, stop) by a model fitted without this row.

    `scratch` has space for four rows and their log joints, which are 4 (d + width) doubles.
    """
    cdef Py_ssize_t d = g.d, i, j, r, first = start
    cdef double share = 1 / (g.count[g.n_classes] - 1), t, delta
    cdef const double* centre = g.mean + g.n_classes * d
    cdef double* joint = scratch + 4 * d
    cdef const double* x
    while first < stop:
        for r in range(4):
            x = row_of(X, min(first + r, stop - 1), scratch + r * d)
            for j in range(d):
                scratch[r * d + j] = x[j] - centre[j]
        score_four(g, scratch, joint)
        for r in range(min(4, stop - first)):
            i = first + r
            # delta, the change of epsilon, has either sign; this is an upper bound of its size, from the column with
            # the largest sum of squares, which grows most without the row
            t = scratch[r * d + g.widest]
            delta = (g.epsilon + g.smoothing * t * t * (1 + share)) * share
            out.lost[i] = 0
            out.code[i] = certain_class(g, joint + r * g.width, code[i], delta * g.steepest)
            if out.code[i] < 0:
                out.code[i] = class_without(g, row_of(X, i, scratch + r * d), code[i], &out.lost[i])
        first += 4


cdef inline void score_four(const gaussians_t* g, const double* t, double* joint) noexcept nogil:
    """Write log P(x, class) of four rows x for the model of all rows; t: the four rows minus the mean of all rows."""
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


# The class that is certain to be the best after a row of class c with n rows is left out, or -1 if none is certain.
#
# Without the row x, the terms of c's log density change; m_j and v_j are mean and variance of column j in c, and
# v'_j is the variance without x:
#
#     -1/2 sum_j (z_j^2 + log 2 pi v_j),   z_j^2 = (x_j - m_j)^2 / v_j,   Q = sum_j z_j^2.
#
# z_j^2 becomes (n / (n - 1))^2 z_j^2 v_j / v'_j, where 1 + 1 / (n - 1) + rho >= v'_j / v_j >= 1 - h and
# h = Q n / (n - 1)^2 + rho, if the change of epsilon changes each variance by at most a share rho of it. The other
# classes are bounded in the same way. The bound of a class is monotone in its log joint, so the best two classes
# decide.
@cdivision(True)  # n is 1 and 1 / (n - 1) infinite if the row is the only one of its class; then no class is certain
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


cdef inline int32_t class_without(const gaussians_t* g, const double* x, Py_ssize_t c, uint8_t* lost) noexcept nogil:
    """The predicted class of row x, of class c, by the model without x; sets `lost` if too few digits are left."""
    cdef Py_ssize_t d = g.d, all = g.n_classes, k
    cdef int32_t found = 0
    cdef double n, score, best = -INFINITY, left, delta
    cdef bint held
    left = largest_left(x, d, g.mean + all * d, g.squares + all * d, g.count[all], lost)
    left *= g.smoothing / (g.count[all] - 1)
    delta = left - g.epsilon
    for k in range(g.n_classes):
        held = k == c
        n = g.count[k] - held
        if n == 0:
            continue
        score = g.sums[3 * k]
        if not held and fabs(delta) * g.sums[3 * k + 2] < 1e-8:
            score += near_distance(x, d, g.mean + k * d, g.inverse + k * d, delta) + delta * g.sums[3 * k + 1]
        else:
            score += distance_without(g, k, x, n, held, left, lost)
        score = g.log_prior[held * g.n_classes + k] - 0.5 * score
        if best == -INFINITY or score > best + 1e-12 * fabs(best):  # if log joints are equal, the first class wins
            best = score
            found = k
    return found


cdef inline double largest_left(
    const double* x, Py_ssize_t d, const double* m, const double* M, double n, uint8_t* lost
) noexcept nogil:
    """The largest sum of squares of any column without row x; sets `lost` if one loses more than half of its digits."""
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


cdef inline double near_distance(
    const double* x, Py_ssize_t d, const double* m, const double* inverse, double delta
) noexcept nogil:
    """The sum over columns of (x - mean)^2 / (variance + delta) in a class, to first order in the small delta."""
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


# The sum over columns of (x - m)^2 / v + log(v / u), for the mean m and variance v of class k by the fit without row x,
# and the variance u by the fit with all rows. The class has n rows without x; `held`: whether x is one of its rows in
# the fit. All ratios v / u are above 1e-8, or x is marked as lost: so a product of 32 ratios does not underflow.
@cdivision(True)  # the debug build's check for division by zero is off: it does not compile for SIMD vectors
cdef inline double distance_without(
    const gaussians_t* g, Py_ssize_t k, const double* x, double n, bint held, double epsilon, uint8_t* lost
) noexcept nogil:
    cdef Py_ssize_t d = g.d, j = 0, lane
    cdef const double* m = g.mean + k * d
    cdef const double* M = g.squares + k * d
    cdef const double* inverse = g.inverse + k * d
    cdef double t, v, q, logs = 0, product = 1, missing, share = (n + 1) / n if held else 0, step = share if held else 1
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
    lost[0] |= held and missing > 0
    return q + logs + log(product)
