# The dual of a binary support vector machine, for the kernel matrix K and the labels y, 1 or -1.
#
#     min  1/2 b'Kb - y'b    subject to  1'b = 0,  lower <= b <= upper
#
# b_i = y_i alpha_i, so that 0 <= b_i <= C_i where y_i = 1, and -C_i <= b_i <= 0 where y_i = -1. The gradient is
# f = Kb - y. A row may rise if b_i < upper_i, and may fall if b_i > lower_i. The violation is the largest f of the rows
# that may fall minus the smallest f of the rows that may rise; b is optimal where it is at most 0.
from libc.math cimport INFINITY, fabs, sqrt

cdef enum:
    # arrays are padded to a multiple of this number of entries, so that they consist of whole SIMD vectors
    PADDED_TO = 16
    N_ARRAYS = 8    # the number of arrays of the struct dual_t, each as long as the problem

ctypedef struct dual_t:
    Py_ssize_t n       # the number of rows of the problem
    # the padded length of the arrays: n rounded up to a multiple of PADDED_TO; no step changes the entries beyond n
    Py_ssize_t ld
    double* y          # (n, padded to ld): the labels of the rows, +1 or -1; set once
    double* lower      # (n, padded to ld): the lower bounds of the variables b; written by `set_bounds`
    double* upper      # (n, padded to ld): the upper bounds of the variables b; written by `set_bounds`
    double* coef       # (n, padded to ld): the variables b, each the label of a row times its alpha; changed by steps
    double* f  # (n, padded to ld): the gradient f = Kb - y of the objective at the variables b; changed by steps
    double* diagonal   # (n, padded to ld): the diagonal of the kernel matrix K; set once by the caller that has K
    # (n, padded to ld): 0 where a variable b is below its upper bound and so may rise, else infinity; set by `place`
    double* rise
    # (n, padded to ld): 0 where a variable b is above its lower bound and so may fall, else -infinity; set by `place`
    double* fall
    bint within        # whether the sum of b over each class is given, as in nu-SVC (`_within.pxd`)

# The extreme values of the gradient f of the dual objective; their difference is the violation of the optimality
# conditions.
ctypedef struct ends_t:
    # the smallest gradient f of a row whose variable b is below its upper bound; infinity if there is none
    double least
    # the largest gradient f of a row whose variable b is above its lower bound; -infinity if there is none
    double most
    # the number of a row with the smallest gradient f among rows whose variable b is below its upper bound
    Py_ssize_t at

cdef enum:
    # the positions, in an array, of the numbers that describe a solution; by the duality gap they prove how near it is
    # to the optimum
    INTERCEPT
    VIOLATION
    OBJECTIVE
    GAP
    MARGIN
    N_PROOFS


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """The number n, rounded up to a multiple of PADDED_TO."""
    return (n + PADDED_TO - 1) // PADDED_TO * PADDED_TO


cdef inline void set_arrays(dual_t* d, double* arrays, Py_ssize_t n) noexcept nogil:
    """Set the pointers of a problem of n rows to its N_ARRAYS arrays, which lie one after another in `arrays`."""
    cdef Py_ssize_t ld = padded(n)
    d.n, d.ld, d.within = n, ld, False
    d.y, d.lower, d.upper, d.coef = arrays, arrays + ld, arrays + 2 * ld, arrays + 3 * ld
    d.f, d.diagonal, d.rise, d.fall = arrays + 4 * ld, arrays + 5 * ld, arrays + 6 * ld, arrays + 7 * ld


cdef inline void place(dual_t* d, Py_ssize_t i) noexcept nogil:
    """Set `rise` and `fall` of row i: whether the row's variable may rise, and whether it may fall."""
    d.rise[i] = 0 if d.coef[i] < d.upper[i] else INFINITY
    d.fall[i] = 0 if d.coef[i] > d.lower[i] else -INFINITY


cdef inline void place_all(dual_t* d) noexcept nogil:
    """Set `rise` and `fall` of all rows (whether variables may rise or fall), and all arrays to 0 beyond row n."""
    cdef Py_ssize_t i
    for i in range(d.n, d.ld):
        d.y[i] = d.lower[i] = d.upper[i] = d.coef[i] = d.f[i] = d.diagonal[i] = 0
    for i in range(d.ld):
        place(d, i)


cdef inline bint is_free(const dual_t* d, Py_ssize_t i) noexcept nogil:
    """Whether the variable b_i is strictly between its bounds."""
    return d.lower[i] < d.coef[i] < d.upper[i]


cdef inline void set_bounds(dual_t* d, Py_ssize_t i, double C) noexcept nogil:
    """Set the bounds of the variable b_i = y_i alpha_i from 0 <= alpha_i <= C."""
    d.lower[i] = 0 if d.y[i] > 0 else -C
    d.upper[i] = C if d.y[i] > 0 else 0


cdef inline double unbalance(const dual_t* d, double* total) noexcept nogil:
    """The sum of the variables b, or 0 if it is as small as rounding errors; writes the sum of alpha to `total`."""
    cdef Py_ssize_t i
    cdef double sum = 0
    total[0] = 0
    for i in range(d.n):
        sum += d.coef[i]
        total[0] += fabs(d.coef[i])
    return sum if fabs(sum) > 1e-13 * total[0] else 0


cdef inline void make_feasible(dual_t* d) noexcept nogil:
    """Clip the variables b to their bounds, and shrink those of the sign with the larger sum until all add up to 0."""
    cdef Py_ssize_t i
    cdef double total, over, free = 0, side = 0
    for i in range(d.n):
        d.coef[i] = min(max(d.coef[i], d.lower[i]), d.upper[i])
    over = unbalance(d, &total)
    if over == 0:
        return
    for i in range(d.n):
        if d.coef[i] * over > 0:
            side += fabs(d.coef[i])
            free += fabs(d.coef[i]) if is_free(d, i) else 0
    for i in range(d.n):
        if d.coef[i] * over > 0 and (free < fabs(over) or is_free(d, i)):
            d.coef[i] *= max(<double> 0, 1 - fabs(over) / (side if free < fabs(over) else free))


cdef inline void rescale(dual_t* d) noexcept nogil:
    """Multiply the variables b by the factor of least objective within new bounds, and update the gradient f."""
    cdef Py_ssize_t i
    cdef double total = 0, square = 0, factor = INFINITY, C
    for i in range(d.n):
        total += fabs(d.coef[i])
        square += d.coef[i] * (d.f[i] + d.y[i])
        if d.coef[i] != 0:
            factor = min(factor, (d.upper[i] - d.lower[i]) / fabs(d.coef[i]))
    if square > 0:
        factor = min(factor, total / square)
    factor = factor if factor < INFINITY else 1
    for i in range(d.n):
        C = d.upper[i] - d.lower[i]
        d.coef[i] *= factor
        # a variable that differs from its bound by rounding only must not count as free: it is set to the bound
        if d.y[i] * d.coef[i] >= (1 - 1e-14) * C:
            d.coef[i] = d.y[i] * C
        d.f[i] = factor * (d.f[i] + d.y[i]) - d.y[i]


cdef inline Py_ssize_t row_to_balance(const dual_t* d, double* over) noexcept nogil:
    """The row farthest from its bounds if changing its b can make all b add up to 0, else -1; over: the sum of b."""
    cdef double total, most = 0, least
    cdef Py_ssize_t i, best = -1
    over[0] = unbalance(d, &total)
    for i in range(d.n if over[0] != 0 else 0):
        least = min(d.coef[i] - d.lower[i], d.upper[i] - d.coef[i])
        if least > most:
            best, most = i, least
    return best if fabs(over[0]) < most else -1


cdef inline void prove(const dual_t* d, ends_t ends, double* proof) noexcept nogil:
    """Write the N_PROOFS numbers that describe a solution: intercept, violation, objective, duality gap, margin."""
    cdef Py_ssize_t i, n_free = 0
    cdef double free = 0, intercept
    for i in range(d.n):
        if is_free(d, i):
            free += d.f[i]
            n_free += 1
    if n_free:
        intercept = -free / n_free
    elif ends.least < INFINITY and ends.most > -INFINITY:
        intercept = -0.5 * (ends.least + ends.most)
    else:
        intercept = d.y[0] if d.n else 0  # no variable may rise, or none may fall, since all rows have the same class
    prove_at(d, ends, intercept, proof)


cdef inline void prove_at(const dual_t* d, ends_t ends, double intercept, double* proof) noexcept nogil:
    """Write the N_PROOFS numbers that describe a solution and prove it by a duality gap, for a given intercept."""
    cdef Py_ssize_t i
    cdef bint two = ends.least < INFINITY and ends.most > -INFINITY, hard = False
    cdef double square = 0, total = 0, slack = 0, least = INFINITY, margin
    for i in range(d.n):
        square += d.coef[i] * (d.f[i] + d.y[i])
        total += fabs(d.coef[i])
        hard = hard or d.upper[i] - d.lower[i] == INFINITY
    proof[INTERCEPT] = intercept
    for i in range(d.n):
        margin = 1 + d.y[i] * (d.f[i] + proof[INTERCEPT])
        least = min(least, margin)
        slack += 0 if hard else (d.upper[i] - d.lower[i]) * max(<double> 0, 1 - margin)
    proof[VIOLATION] = max(<double> 0, ends.most - ends.least) if two else 0
    proof[OBJECTIVE] = total - 0.5 * square
    proof[MARGIN] = (least if hard else 1) / sqrt(square) if square > 0 else INFINITY
    if not hard:
        proof[GAP] = 0.5 * square + slack - proof[OBJECTIVE]
    else:
        proof[GAP] = 0.5 * square / (least * least) - proof[OBJECTIVE] if least > 0 else INFINITY
