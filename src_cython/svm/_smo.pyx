# Compiled functions for one `Dual`, read as a `dual_t`: they choose and optimise working sets, or optimise all rows.
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from kernels._matrix cimport begin as first_of
from svm._dual cimport (
    GAP, INTERCEPT, MARGIN, N_ARRAYS, N_PROOFS, OBJECTIVE, PADDED_TO, VIOLATION, dual_t, ends_t, make_feasible,
    place_all, prove, prove_at, rescale, row_to_balance, set_arrays, set_bounds,
)
from svm._shrinking cimport LEVELS, add_rows, limits_t, scratch_t, solve
from svm._steps cimport descend, find_ends
from svm._within cimport centre_at, descend_within, fill_within, margin_of, share_of, sides_t, to_margin
from svm._working_set cimport gather_set, heap_t, offer
from _vector cimport require, vec, vec_d, vec_f

PAD, ARRAYS, DEPTH = PADDED_TO, N_ARRAYS, LEVELS

# The positions of the numbers that describe and prove a solution, in the array that `proof` writes.
PROOF = {"intercept": INTERCEPT, "violation": VIOLATION, "objective": OBJECTIVE, "gap": GAP, "margin": MARGIN}


cdef dual_t as_dual(dual):
    """A dual_t of pointers to the arrays of a `Dual`; computes anew which variables may rise and which may fall."""
    cdef dual_t out
    cdef double[:, ::1] arrays = dual.arrays
    cdef Py_ssize_t n = len(dual)
    set_arrays(&out, &arrays[0, 0], n)
    require(arrays.shape[0] == N_ARRAYS and arrays.shape[1] == out.ld)
    out.within = dual.nu > 0
    with nogil:
        place_all(&out)
    return out


def bound(dual, const double[::1] C):
    """Set the bounds of the variables of a `Dual`, so that 0 <= alpha[i] <= C[i]."""
    cdef dual_t d = as_dual(dual)
    cdef Py_ssize_t i
    require(C.shape[0] == d.n)
    for i in range(d.n):
        set_bounds(&d, i, C[i])


def repair(dual):
    """Clip the variables of a `Dual` to their bounds, and restore their sum: 0, or for nu-SVC that of each class."""
    cdef dual_t d = as_dual(dual)
    if d.within:
        fill_within(&d, share_of(&d, dual.nu))
    else:
        make_feasible(&d)


def scale(dual):
    """Multiply the variables of a `Dual` by the best factor within new bounds, and update the gradient."""
    cdef dual_t d = as_dual(dual)
    rescale(&d)


def unbalanced(dual):
    """A pair: a row whose change can make the variables add up to 0, or -1; and their sum, or 0 if it is rounding."""
    cdef dual_t d = as_dual(dual)
    cdef double over
    return row_to_balance(&d, &over), over


def proof(dual, double[::1] out):
    """Write the numbers that describe and prove a solution, in the order of `PROOF`, with a computed intercept."""
    cdef dual_t d = as_dual(dual)
    require(out.shape[0] == N_PROOFS)
    prove(&d, find_ends(&d), &out[0])


def ends(dual, const int64_t[::1] rows):
    """The least gradient of given rows whose variable may rise, and the largest of those whose variable may fall."""
    cdef dual_t d = as_dual(dual)
    cdef Py_ssize_t k, i
    cdef double least = INFINITY, most = -INFINITY
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            if d.rise[i] == 0 and d.f[i] < least:
                least = d.f[i]
            if d.fall[i] == 0 and d.f[i] > most:
                most = d.f[i]
    return least, most


def centre(dual, const int64_t[::1] rows):
    """For nu-SVC: add a constant to the gradient in each class, so that its extremes are equally far from 0."""
    cdef dual_t d = as_dual(dual)
    cdef Py_ssize_t k, i
    cdef sides_t sides
    cdef ends_t* ends
    sides.positive.least = sides.negative.least = INFINITY
    sides.positive.most = sides.negative.most = -INFINITY
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            ends = &sides.positive if d.y[i] > 0 else &sides.negative
            if d.rise[i] == 0:
                ends.least = min(ends.least, d.f[i])
            if d.fall[i] == 0:
                ends.most = max(ends.most, d.f[i])
        centre_at(&d, sides)


def margin(dual, double off_positive, double off_negative):
    """The margin of a solution of nu-SVC; off_positive, off_negative: K b minus the gradient in each class."""
    cdef dual_t d = as_dual(dual)
    return margin_of(&d, off_positive, off_negative)


def scale_to_margin(dual, double off_positive, double off_negative, double r):
    """Divide variables and bounds by the margin r, which turns nu-SVC into SVC; returns the intercept of SVC."""
    cdef dual_t d = as_dual(dual)
    return to_margin(&d, off_positive, off_negative, r)


def proof_at(dual, double intercept, double[::1] out):
    """Write the numbers that describe and prove a solution, in the order of `PROOF`, for a given intercept."""
    cdef dual_t d = as_dual(dual)
    require(out.shape[0] == N_PROOFS)
    prove_at(&d, find_ends(&d), intercept, &out[0])


def choose(dual, const int64_t[::1] rows, double least, double most, set):
    """Choose at most set.most of the given rows as working set; returns its size. least, most: gradient's extremes."""
    cdef dual_t d = as_dual(dual)
    cdef heap_t rise, fall
    cdef int64_t[::1] chosen = set.rows
    cdef double[::1] key = set.key
    cdef int64_t[::1] entry = set.entry
    cdef unsigned char[::1] taken = set.taken
    cdef Py_ssize_t k, i, n, n_before = set.n, size = set.most, part = max(<Py_ssize_t> 1, size // 4)
    require(chosen.shape[0] >= 2 * size and key.shape[0] >= 2 * part and entry.shape[0] >= 2 * part)
    require(taken.shape[0] == d.n and n_before <= size)
    rise.n = fall.n = 0
    rise.most = fall.most = part
    rise.key, rise.row, fall.key, fall.row = &key[0], &entry[0], &key[0] + part, &entry[0] + part
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            if d.rise[i] == 0 and d.f[i] < most:
                offer(&rise, -d.f[i], i)
            if d.fall[i] == 0 and d.f[i] > least:
                offer(&fall, d.f[i], i)
        n = gather_set(&rise, &fall, &taken[0], &chosen[0], n_before, size)
    return n


cdef void take(const dual_t* d, const int64_t* rows, dual_t* s) noexcept nogil:
    """Copy the part of problem d that has the listed rows to problem s, without a kernel matrix."""
    cdef Py_ssize_t k, i
    for k in range(s.n):
        i = rows[k]
        s.y[k], s.lower[k], s.upper[k], s.coef[k], s.f[k] = d.y[i], d.lower[i], d.upper[i], d.coef[i], d.f[i]
    place_all(s)


cdef Py_ssize_t steps_on(
    dual_t* d, const vec* K, Py_ssize_t ld, double tol, Py_ssize_t most, double* gained
) noexcept nogil:
    if d.within:
        return descend_within(d, K, ld, tol, most, gained)
    return descend(d, K, ld, tol, most, gained)


def optimise(dual, set, K, double tol, Py_ssize_t most, bint again):
    """Optimise coef of a `WorkingSet` with kernel matrix K by at most `most` steps; f is not changed.

    again: whether this call continues the last one; then set.change is the change of coef by all these calls, else by
    this one. Returns (the number of steps, the gain of the objective).
    """
    cdef dual_t d = as_dual(dual), s
    cdef const int64_t[::1] rows = set.rows
    cdef double[:, ::1] arrays = set.arrays
    cdef double[::1] change = set.change
    cdef const float[:, ::1] single
    cdef const double[:, ::1] double_
    cdef Py_ssize_t k, n = set.n, ld = K.shape[1], steps
    cdef double gained = 0
    set_arrays(&s, &arrays[0, 0], n)
    require(s.ld <= ld and K.shape[0] == n and arrays.size >= N_ARRAYS * s.ld and change.shape[0] >= n)
    s.within = d.within
    if not again:
        take(&d, &rows[0], &s)
    if K.dtype == "f":
        single = K
        for k in range(n):
            s.diagonal[k] = single[k, k]
        with nogil:
            steps = steps_on(&s, <const vec_f*> &single[0, 0], ld, tol, most, &gained)
    else:
        double_ = K
        for k in range(n):
            s.diagonal[k] = double_[k, k]
        with nogil:
            steps = steps_on(&s, <const vec_d*> &double_[0, 0], ld, tol, most, &gained)
    for k in range(n):
        change[k] = s.coef[k] - d.coef[rows[k]] + (change[k] if again else 0)
        d.coef[rows[k]] = s.coef[k]
    return steps, gained


def optimise_all(dual, K, work, double tol, int64_t steps, int64_t looks):
    """Optimise coef and f of all rows with kernel matrix K, by at most `steps` steps and `looks` visits of rows.

    work: a `dual.Work`. Returns (the number of steps, the visits of rows that are left, the gain of the objective).
    """
    cdef dual_t d = as_dual(dual)
    cdef scratch_t scratch
    cdef limits_t limits
    cdef double[::1] arrays = work.arrays
    cdef double[::1] change = work.change
    cdef int64_t[::1] row = work.row
    cdef void* values = first_of(K)
    cdef bint single = K.dtype == "f"
    cdef Py_ssize_t ld = K.shape[1], i
    require(d.ld <= ld and K.shape[0] == d.n and row.shape[0] >= 2 * d.n)
    scratch.arrays, scratch.change, scratch.row, scratch.K = &arrays[0], &change[0], &row[0], first_of(work.below)
    limits.tol, limits.steps, limits.looks, limits.gained = tol, steps, looks, 0
    with nogil:
        for i in range(d.n):
            d.diagonal[i] = (<float*> values)[i * ld + i] if single else (<double*> values)[i * ld + i]
        if single:
            solve(&d, <const vec_f*> values, ld, &scratch, &limits)
        else:
            solve(&d, <const vec_d*> values, ld, &scratch, &limits)
    return steps - limits.steps, limits.looks, limits.gained


def add(dual, K, const int64_t[::1] rows, const double[::1] change):
    """Add the sum of change[k] K[rows[k]], of rows of the kernel matrix, to the gradient of all rows."""
    cdef dual_t d = as_dual(dual)
    cdef void* values = first_of(K)
    cdef Py_ssize_t ld = K.shape[1], n = rows.shape[0]
    cdef bint single = K.dtype == "f"
    require(d.ld <= ld and K.shape[0] == d.n and change.shape[0] == n)
    with nogil:
        if single and n:
            add_rows(&d, <const vec_f*> values, ld, &rows[0], &change[0], n)
        elif n:
            add_rows(&d, <const vec_d*> values, ld, &rows[0], &change[0], n)
