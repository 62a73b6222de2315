# Sequential minimal optimisation where few rows matter: a row of the kernel matrix is computed when a step first needs
# it, and kept.
#
# The rows x of a class lie in panels: a panel has WIDE rows side by side, a line for each column. A kernel value is
# summed over the columns in their order, by fused multiply-adds if the SIMD level has them.
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from kernels._functions cimport kernel_t, transform
from svm._dual cimport dual_t, ends_t
from svm._steps cimport choose_partner, entry, find_ends, move, row_of, take_step
from _vector cimport LANES_D, LANES_F, fmadd, spread, vec, vec_d, vec_f

cdef enum:
    SIDE_BY_SIDE = 8    # the number of SIMD vectors in each line of a panel
    # a pair is given up if its violation, which is 2 before the first step, is still above 1 when this number of rows
    # of its kernel matrix has been computed: it would need many more
    TRIAL = 64

# Pointers to the arrays of a `few_rows.Panels`, and its numbers; kernels only read these arrays. All are float or all
# double.
ctypedef struct panels_t:
    kernel_t kernel
    Py_ssize_t d               # the number of columns
    const void* lines          # (n_panels, d, WIDE): the rows side by side; zeros fill the last panel of a class
    const void* terms          # (n_panels, WIDE): -gamma |x|^2 of each row, for the rbf kernel
    const double* norm         # (n,): |x|^2 of each row, with rows sorted by class
    const double* diagonal     # (n,): the kernel value of each row with itself, with rows sorted by class
    const int64_t* first       # (n_classes,): the number of the first panel of each class; -1: the class has none

# The rows of a pair's kernel matrix that are known: first n_a rows of class a, then n_b of class b.
ctypedef struct few_t:
    const panels_t* panels
    Py_ssize_t a, b            # the numbers of the classes
    Py_ssize_t n_a, n_b        # their numbers of rows
    const double* norm_a       # (n_a,): |x|^2 of the rows of class a
    const double* norm_b       # (n_b,): |x|^2 of the rows of class b
    Py_ssize_t ld              # the number of entries from one known row to the next
    Py_ssize_t n, most         # the number of known rows, and the most that may be computed
    void* K                    # (most, ld), float or double: the known rows, padded by zeros; written
    int64_t* places            # (n_a + n_b,): where each row is among the known rows; -1: it is not known
    void* x                    # (d,), float or double: scratch space for a row


cdef inline void take_row(const panels_t* p, Py_ssize_t panel, Py_ssize_t lane, vec* x_out) noexcept nogil:
    """Copy the row x in a lane of a panel."""
    cdef Py_ssize_t wide = SIDE_BY_SIDE * (LANES_F if vec is vec_f else LANES_D), j
    for j in range(p.d):
        if vec is vec_f:
            (<float*> x_out)[j] = (<const float*> p.lines)[(panel * p.d + j) * wide + lane]
        else:
            (<double*> x_out)[j] = (<const double*> p.lines)[(panel * p.d + j) * wide + lane]


cdef inline void meet_panel(const vec* x, Py_ssize_t d, const vec* lines, vec* out) noexcept nogil:
    """The inner products of a row x with the rows of a panel."""
    cdef vec s0, s1, s2, s3, s4, s5, s6, s7, a
    cdef Py_ssize_t j
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = lines[0] - lines[0]
    for j in range(d):
        a = spread(x, j)
        s0 = fmadd(a, lines[0], s0)
        s1 = fmadd(a, lines[1], s1)
        s2 = fmadd(a, lines[2], s2)
        s3 = fmadd(a, lines[3], s3)
        s4 = fmadd(a, lines[4], s4)
        s5 = fmadd(a, lines[5], s5)
        s6 = fmadd(a, lines[6], s6)
        s7 = fmadd(a, lines[7], s7)
        lines += SIDE_BY_SIDE
    out[0], out[1], out[2], out[3] = s0, s1, s2, s3
    out[4], out[5], out[6], out[7] = s4, s5, s6, s7


cdef inline void meet_class(
    const panels_t* p, const vec* x, double norm, Py_ssize_t panel, Py_ssize_t n, vec* K_out
) noexcept nogil:
    """Write the kernel values between a row x and the n rows of the class whose first panel has the number `panel`."""
    cdef Py_ssize_t wide = SIDE_BY_SIDE * (LANES_F if vec is vec_f else LANES_D), i = 0
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double)
    cdef vec k[SIDE_BY_SIDE]
    while i < n:
        meet_panel(x, p.d, <const vec*> p.lines + panel * p.d * SIDE_BY_SIDE, k)
        transform(&p.kernel, norm, <const vec*> p.terms + panel * SIDE_BY_SIDE, k, SIDE_BY_SIDE)
        memcpy(<char*> K_out + i * size, k, min(wide, n - i) * size)
        panel += 1
        i += wide


cdef inline const vec* kernel_row(few_t* s, Py_ssize_t i, const vec* like) noexcept nogil:
    """Row i of the kernel matrix of a pair; NULL if it is not known and no more rows may be computed.

    like: not read; its type is that of the kernel values.
    """
    cdef Py_ssize_t wide = SIDE_BY_SIDE * (LANES_F if vec is vec_f else LANES_D), n = s.n_a + s.n_b
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), r
    cdef double norm
    cdef bint in_a
    cdef vec* out
    if s.places[i] >= 0:
        return row_of(<const vec*> s.K, s.places[i], s.ld)
    if s.n == s.most:
        return NULL
    in_a = i < s.n_a
    r = i if in_a else i - s.n_a
    norm = s.norm_a[r] if in_a else s.norm_b[r]
    take_row(s.panels, s.panels.first[s.a if in_a else s.b] + r // wide, r % wide, <vec*> s.x)
    out = <vec*> row_of(<const vec*> s.K, s.n, s.ld)
    meet_class(s.panels, <const vec*> s.x, norm, s.panels.first[s.a], s.n_a, out)
    meet_class(s.panels, <const vec*> s.x, norm, s.panels.first[s.b], s.n_b, <vec*> (<char*> out + s.n_a * size))
    memset(<char*> out + n * size, 0, (s.ld - n) * size)
    s.places[i] = s.n
    s.n += 1
    return out


cdef inline Py_ssize_t descend_on_few(
    dual_t* d, few_t* s, double tol, Py_ssize_t most, double* gained, const vec* like
) noexcept nogil:
    """Take the steps of `descend`, but end when one needs a row that may not be computed; returns how many were taken.

    most: the most steps. gained: in and out, the gain of the objective is added. like: as for `kernel_row`.
    """
    cdef Py_ssize_t step = 0, i, j
    cdef ends_t ends = find_ends(d)
    cdef const vec* Ki
    cdef const vec* Kj
    cdef double t
    cdef bint tried = False
    while step < most and ends.most - ends.least > tol:
        if s.n >= TRIAL and not tried:
            tried = True
            if ends.most - ends.least > 1:
                break
        i = ends.at
        Ki = kernel_row(s, i, like)
        if Ki == NULL:
            break
        j = choose_partner(d, Ki, i)
        Kj = kernel_row(s, j, like) if j >= 0 else NULL
        if Kj == NULL:
            break
        t = take_step(d, i, j, entry(Ki, j), gained)
        if t == 0:
            break
        ends = move(d, Ki, Kj, t)
        step += 1
    return step
