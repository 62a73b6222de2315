# Sequential minimal optimisation (`_steps.pxd`) with shrinking (Joachims 1998).
#
# Rows that will probably stay at their bound are left out. The remaining rows form a smaller problem, with its own
# arrays and kernel matrix, which is solved in the same way, so shrinking is recursive. Then the
# gradient f of all rows is updated for the change of the variables b, and the steps go on with all rows.
from libc.stdint cimport int64_t

from svm._dual cimport N_ARRAYS, dual_t, ends_t, place, place_all, set_arrays
from svm._steps cimport descend, find_ends, load, row_of
from svm._within cimport centre, descend_within
from _vector cimport LANES_D, fmadd_d, spread_d, vec, vec_d, vec_f

cdef extern from *:
    """
    #define SHRINK_EVERY 1000   /* steps between two attempts to shrink */
    #define SHRINK_SHARE 0.5    /* the largest share of the rows that may remain; copying more rows does not pay */
    #define SHRINK_GOAL 0.1     /* the smaller problem ends at this share of the violation */
    """
    const int SHRINK_EVERY
    const double SHRINK_SHARE
    const double SHRINK_GOAL

# The number of levels of nested smaller problems, each with at most half of the rows of the problem above it, is at
# most LEVELS. Below a problem of n rows all levels together need N_ARRAYS * (n + 16 LEVELS) doubles in `arrays`, 2 n
# entries of `row` and `change`, and n (n / 3 + 16) kernel values.
cdef enum:
    LEVELS = 40

# Scratch space: the arrays of a `dual.Work`. Each level of recursion uses the beginning of each array, and passes the
# part after it to the next level.
ctypedef struct scratch_t:
    double* arrays     # the arrays of the smaller problem, one after another
    int64_t* row       # for each row of the smaller problem its row number in the larger problem
    double* change     # the change of each variable by the solution of the smaller problem
    void* K            # the kernel matrix of the smaller problem, float or double

# The limits at which `solve` ends. It subtracts the steps that it takes from `steps`, and the visits of rows that they
# make from `looks`.
ctypedef struct limits_t:
    double tol      # in: the violation of the optimality conditions at which steps end
    int64_t steps   # in: the most steps; out: how many of them are left
    int64_t looks   # in: the most visits of a row, about a nanosecond each; out: how many of them are left
    double gained   # in and out: the total gain of the objective by steps so far


cdef inline int64_t looks_of(const dual_t* d, int64_t steps) noexcept nogil:
    """The time of `steps` steps in visits of a row: a step on n rows takes the time of n + 64 visits."""
    return steps * (d.n + 64)


cdef inline void add_row(dual_t* d, const vec* Ki, double change) noexcept nogil:
    """Add `change` times the row Ki of the kernel matrix to the gradient f."""
    cdef Py_ssize_t v
    for v in range(d.ld // LANES_D):
        (<vec_d*> d.f)[v] = fmadd_d(spread_d(change), load(Ki, v * LANES_D), (<vec_d*> d.f)[v])


cdef inline void add_four(
    dual_t* d, const vec* K, Py_ssize_t ld, const int64_t* row, const double* change
) noexcept nogil:
    """Add the sum of change_i K_i over four rows K_i of the kernel matrix to the gradient f."""
    cdef Py_ssize_t v
    cdef const vec* a = row_of(K, row[0], ld)
    cdef const vec* b = row_of(K, row[1], ld)
    cdef const vec* c = row_of(K, row[2], ld)
    cdef const vec* e = row_of(K, row[3], ld)
    cdef vec_d sum
    for v in range(d.ld // LANES_D):
        sum = fmadd_d(spread_d(change[0]), load(a, v * LANES_D), (<vec_d*> d.f)[v])
        sum = fmadd_d(spread_d(change[1]), load(b, v * LANES_D), sum)
        sum = fmadd_d(spread_d(change[2]), load(c, v * LANES_D), sum)
        (<vec_d*> d.f)[v] = fmadd_d(spread_d(change[3]), load(e, v * LANES_D), sum)


cdef inline void add_rows(
    dual_t* d, const vec* K, Py_ssize_t ld, const int64_t* row, const double* change, Py_ssize_t n
) noexcept nogil:
    """Add the sum of change_i K_i over n rows K_i of the kernel matrix to the gradient f."""
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        add_four(d, K, ld, row + i, change + i)
        i += 4
    for i in range(i, n):
        add_row(d, row_of(K, row[i], ld), change[i])


cdef inline Py_ssize_t choose_rows(const dual_t* d, int64_t* row_out) noexcept nogil:
    """Write the numbers of rows that are free (between bounds) or violate optimality at a bound; returns how many."""
    cdef ends_t ends = find_ends(d)
    cdef Py_ssize_t i, n = 0
    for i in range(d.n):
        row_out[n] = i
        n += (d.rise[i] == 0 and d.f[i] <= ends.most) or (d.fall[i] == 0 and d.f[i] >= ends.least)
    return n


cdef inline void take_rows(
    const dual_t* d, const vec* K, Py_ssize_t ld, const int64_t* row, dual_t* s, vec* K_out
) noexcept nogil:
    """Copy the part of problem d that has the listed rows to the smaller problem s, and its kernel matrix to K_out."""
    cdef Py_ssize_t i, j
    cdef const vec* Ki
    cdef vec* to
    for i in range(s.n):
        s.y[i], s.lower[i], s.upper[i] = d.y[row[i]], d.lower[row[i]], d.upper[row[i]]
        s.coef[i], s.f[i], s.diagonal[i] = d.coef[row[i]], d.f[row[i]], d.diagonal[row[i]]
        Ki, to = row_of(K, row[i], ld), <vec*> row_of(K_out, i, s.ld)
        for j in range(s.ld):
            if vec is vec_f:
                (<float*> to)[j] = (<const float*> Ki)[row[j]] if j < s.n else 0
            else:
                (<double*> to)[j] = (<const double*> Ki)[row[j]] if j < s.n else 0
    place_all(s)


cdef inline void recover(
    dual_t* d, const vec* K, Py_ssize_t ld, const dual_t* s, const scratch_t* scratch
) noexcept nogil:
    """Copy the variables of the smaller problem s back to problem d, and update the gradient of all rows of d."""
    cdef Py_ssize_t i, row, n = 0
    for i in range(s.n):
        row = scratch.row[i]
        if s.coef[i] != d.coef[row]:
            scratch.row[n], scratch.change[n] = row, s.coef[i] - d.coef[row]
            d.coef[row] = s.coef[i]
            place(d, row)
            n += 1
    add_rows(d, K, ld, scratch.row, scratch.change, n)


cdef inline void shrink(
    dual_t* d, const vec* K, Py_ssize_t ld, Py_ssize_t n, const scratch_t* scratch, limits_t* limits
) noexcept nogil:
    """Solve the smaller problem of the n rows in `scratch.row`, and copy its solution back to problem d."""
    cdef dual_t s
    cdef scratch_t below = scratch[0]
    cdef ends_t ends = find_ends(d)
    cdef double tol = limits.tol
    set_arrays(&s, scratch.arrays, n)
    s.within = d.within
    take_rows(d, K, ld, scratch.row, &s, <vec*> scratch.K)
    below.row, below.change, below.arrays = scratch.row + n, scratch.change + n, scratch.arrays + N_ARRAYS * s.ld
    below.K = <void*> row_of(<const vec*> scratch.K, n, s.ld)
    limits.tol = max(SHRINK_GOAL * (ends.most - ends.least), 0.5 * tol)
    solve(&s, <const vec*> scratch.K, s.ld, &below, limits)
    limits.tol = tol
    recover(d, K, ld, &s, scratch)
    if d.within:
        centre(d)
    limits.looks -= n * s.ld + n * d.n // 4


cdef inline void solve(
    dual_t* d, const vec* K, Py_ssize_t ld, const scratch_t* scratch, limits_t* limits
) noexcept nogil:
    """Take steps until the violation is at most limits.tol, a limit is reached, or rounding allows no further step."""
    cdef int64_t most, made
    cdef Py_ssize_t n
    while limits.steps > 0 and limits.looks > 0:
        most = min(min(<int64_t> SHRINK_EVERY, limits.steps), 1 + limits.looks // looks_of(d, 1))
        if d.within:
            made = descend_within(d, K, ld, limits.tol, most, &limits.gained)
        else:
            made = descend(d, K, ld, limits.tol, most, &limits.gained)
        limits.steps -= made
        limits.looks -= looks_of(d, made)
        if made < most:
            return
        n = choose_rows(d, scratch.row)
        if 2 <= n <= SHRINK_SHARE * d.n and limits.steps > 0 and limits.looks > 0:
            shrink(d, K, ld, n, scratch, limits)
