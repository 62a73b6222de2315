# Binary SVMs for pairs of classes, solved one after another by `_shrinking.pxd`; the kernel matrix of each pair fits
# memory.
#
# All rows are sorted by class. For a pair (a, b), a < b, coef[b - 1, rows of a] and coef[a, rows of b] are y alpha,
# where y = 1 for class a, or for class b if there are only two classes. With several values of C, the problem for each
# value starts from the solution for the previous value.
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from kernels._matrix cimport begin as first_of
from svm._dual cimport (
    N_ARRAYS, N_PROOFS, VIOLATION, dual_t, ends_t, make_feasible, place,
    padded, place_all, prove, prove_at, rescale, row_to_balance, set_arrays, set_bounds,
)
from svm._few_rows cimport SIDE_BY_SIDE, descend_on_few, few_t, kernel_row, panels_t
from svm._shrinking cimport add_row, limits_t, scratch_t, solve
from svm._steps cimport entry, find_ends, row_of
from svm._within cimport (
    LEAST_MARGIN, centre, fill_within, margin_of, product, row_of_class, share_of, to_margin,
)
from _vector cimport LANES_D, LANES_F, require, transpose_4_by_4_d, transpose_4_by_4_f, vec, vec_d, vec_f

cdef enum:
    UNSOLVED
    SOLVED
    STOPPED     # the solver was stopped by max_iter or by the user's callback
    DOUBTFUL    # rounding may have changed the gradient of the objective too much for the tolerance
    SLOW        # the pair takes too many visits of rows in the compiled solver, and is left to the methods of `smo.py`

# The number of steps, divided by the number of rows, after which the gradient has too many rounding errors to be
# trusted.
cdef enum:
    MANY_STEPS = 50

STATUS = {"unsolved": UNSOLVED, "solved": SOLVED, "stopped": STOPPED, "doubtful": DOUBTFUL, "slow": SLOW}

# The data and the solutions of all pairs of classes: pointers to the arrays of a `pairs.Solutions`, and its numbers.
ctypedef struct pairs_t:
    Py_ssize_t n               # the number of training rows of all classes
    Py_ssize_t n_classes
    Py_ssize_t n_pairs
    Py_ssize_t n_Cs
    const int64_t* start  # (n_classes + 1,): the number of each class's first row and, last, the number of all rows
    const double* C            # (n_Cs, n): for each C, the upper bound of alpha of each row
    # (n_Cs, n_classes - 1, n): the coefficients y alpha of all pairs; in: the start for the first C; out: the solutions
    double* coef
    # (n_Cs, n_pairs, N_PROOFS), out: the intercept, violation, objective, duality gap and margin of each solution
    double* proof
    int64_t* n_steps           # (n_Cs, n_pairs), out: the number of steps to each solution
    signed char* status  # (n_Cs, n_pairs), out: the status of each solution, one of the constants from UNSOLVED to SLOW
    double tol                 # the largest violation of the optimality conditions with which a pair counts as solved
    double rounding            # an upper bound of the rounding error of a kernel value
    int64_t max_iter           # the largest number of steps for one pair of classes with one value of C
    int64_t patience  # the most visits of rows for a pair of classes, which is then left to the methods of `smo.py`
    double nu                  # the parameter nu of nu-SVC, for which n_Cs is 1; 0 for SVC

# The arrays of a `small_pairs.Tiles`, only read: kernel values from which each pair copies its matrix, or the matrix of
# a single pair. All are float or all double.
ctypedef struct tiles_t:
    const void* whole          # the kernel matrix of the single pair; NULL if there are several pairs
    Py_ssize_t whole_ld        # the number of entries from one row to the next in the kernel matrix `whole`
    const void* squares        # the kernel matrices within each group of classes, one matrix after another
    # (n_classes,): the index in `squares`, the kernel matrices of all groups, at which that of each class's group
    # begins
    const int64_t* square_at
    # (n_classes,): the number of entries from one row to the next in the matrix of each class's group
    const int64_t* square_ld
    # the kernel values between the rows of one group of classes and the rows of some later classes, as one matrix
    const void* cross
    # the number of entries from one row to the next in `cross`, the kernel values between two groups of classes
    Py_ssize_t cross_ld
    # (n_classes,): the index of each class's first row in `cross`, the kernel values between two groups of classes; -1:
    # the class has no rows in it
    const int64_t* cross_row
    # (n_classes,): the index of each class's first column in `cross`, the kernel values between two groups of classes;
    # -1: the class has no columns in it
    const int64_t* cross_column

# The part of the problem that belongs to a pair of classes, a and b, with one value of C.
ctypedef struct pair_t:
    Py_ssize_t n_a             # the number of rows of class a
    Py_ssize_t n_b             # the number of rows of class b
    double sign_a              # the label y, 1 or -1, of the rows of class a; rows of class b have the other sign
    double* coef_a             # (n_a,): y alpha of the rows of class a; read and written
    double* coef_b             # (n_b,): y alpha of the rows of class b; read and written
    const double* C_a          # (n_a,): the upper bound of alpha of each row of class a
    const double* C_b          # (n_b,): the upper bound of alpha of each row of class b

# The position in the list of class pairs at which the next call of `solve_list` continues.
ctypedef struct position_t:
    int64_t pair               # the index of the current pair in the list of pairs
    int64_t C                  # the index of the value of C for which the current pair is solved
    int64_t begun              # whether the problem of the current pair and value of C has been set up
    int64_t looks              # the number of visits of rows so far, for the current pair and value of C
    # the number of steps that were taken for the current pair and value of C before, by few rows or with another gram
    int64_t earlier


cdef pair_t as_pair(const pairs_t* pairs, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    """A pair_t of pointers into the arrays of `pairs`, for classes a and b and the value of C with the index c."""
    cdef pair_t pair
    cdef Py_ssize_t first = c * (pairs.n_classes - 1) * pairs.n
    pair.n_a, pair.n_b = pairs.start[a + 1] - pairs.start[a], pairs.start[b + 1] - pairs.start[b]
    pair.sign_a = 1 if pairs.n_classes > 2 else -1
    pair.coef_a = pairs.coef + first + (b - 1) * pairs.n + pairs.start[a]
    pair.coef_b = pairs.coef + first + a * pairs.n + pairs.start[b]
    pair.C_a = pairs.C + c * pairs.n + pairs.start[a]
    pair.C_b = pairs.C + c * pairs.n + pairs.start[b]
    return pair


cdef inline const vec* at(const vec* K, Py_ssize_t i) noexcept nogil:
    """The address of entry i of an array of floats or doubles."""
    return row_of(K, 1, i)


cdef void copy(
    const vec* tile, Py_ssize_t ld, Py_ssize_t n_rows, Py_ssize_t n_columns, vec* out, Py_ssize_t ld_out
) noexcept nogil:
    """Copy a tile of a matrix to `out`; rows begin ld numbers apart in the tile, and ld_out numbers apart in `out`."""
    cdef Py_ssize_t i, size = sizeof(float) if vec is vec_f else sizeof(double)
    for i in range(n_rows):
        memcpy(<void*> row_of(out, i, ld_out), row_of(tile, i, ld), n_columns * size)


cdef void copy_transposed(
    const vec* tile, Py_ssize_t ld, Py_ssize_t n_rows, Py_ssize_t n_columns, vec* out, Py_ssize_t ld_out
) noexcept nogil:
    """Copy the transpose of a tile of a matrix to `out`; rows begin ld numbers apart in the tile, ld_out in `out`."""
    cdef Py_ssize_t i, j
    cdef Py_ssize_t n = n_rows // 4 * 4, m = n_columns // 4 * 4
    for i in range(0, n, 4):
        for j in range(0, m, 4):
            if vec is vec_f:
                transpose_4_by_4_f(
                    <const float*> tile + i * ld + j, ld, <float*> out + j * ld_out + i, ld_out
                )
            else:
                transpose_4_by_4_d(
                    <const double*> tile + i * ld + j, ld, <double*> out + j * ld_out + i, ld_out
                )
    for i in range(n_rows):
        for j in range(m if i < n else 0, n_columns):
            if vec is vec_f:
                (<float*> out)[j * ld_out + i] = (<const float*> tile)[i * ld + j]
            else:
                (<double*> out)[j * ld_out + i] = (<const double*> tile)[i * ld + j]


cdef void gather(
    const pairs_t* pairs, const tiles_t* tiles, Py_ssize_t a, Py_ssize_t b, vec* out, Py_ssize_t ld
) noexcept nogil:
    """Copy the kernel matrix of classes (a, b) from the matrices of their groups; zeros pad its rows to ld numbers."""
    cdef Py_ssize_t n_a = pairs.start[a + 1] - pairs.start[a], n_b = pairs.start[b + 1] - pairs.start[b], i
    cdef Py_ssize_t size = sizeof(float) if vec is vec_f else sizeof(double), cross_ld
    cdef const vec* squares = <const vec*> tiles.squares
    cdef const vec* cross
    copy(at(squares, tiles.square_at[a]), tiles.square_ld[a], n_a, n_a, out, ld)
    copy(at(squares, tiles.square_at[b]), tiles.square_ld[b], n_b, n_b, <vec*> at(out, n_a * ld + n_a), ld)
    if tiles.cross_column[b] >= 0:
        cross_ld = tiles.cross_ld
        cross = at(<const vec*> tiles.cross, tiles.cross_row[a] * cross_ld + tiles.cross_column[b])
    else:  # classes a and b are in the same group, whose matrix has the kernel values of both
        cross_ld = tiles.square_ld[a]
        cross = at(squares, tiles.square_at[a] + pairs.start[b] - pairs.start[a])
    copy(cross, cross_ld, n_a, n_b, <vec*> at(out, n_a), ld)
    copy_transposed(cross, cross_ld, n_a, n_b, <vec*> at(out, n_a * ld), ld)
    for i in range(n_a + n_b):
        memset(<char*> row_of(out, i, ld) + (n_a + n_b) * size, 0, (ld - n_a - n_b) * size)


cdef void begin(dual_t* d, const pair_t* pair, const vec* K, Py_ssize_t ld, double nu) noexcept nogil:
    """Set up the problem of a pair, which starts from the pair's coefficients; rows of K begin ld numbers apart."""
    cdef Py_ssize_t i
    memcpy(d.coef, pair.coef_a, pair.n_a * sizeof(double))
    memcpy(d.coef + pair.n_a, pair.coef_b, pair.n_b * sizeof(double))
    for i in range(d.n):
        d.y[i] = pair.sign_a if i < pair.n_a else -pair.sign_a
        d.diagonal[i], d.f[i] = entry(row_of(K, i, ld), i), -d.y[i]
    set_all_bounds(d, pair)
    d.within = nu > 0
    if d.within:
        fill_within(d, share_of(d, nu))
    else:
        make_feasible(d)
    place_all(d)
    for i in range(d.n):
        if d.coef[i] != 0:
            add_row(d, row_of(K, i, ld), d.coef[i])
    if d.within:
        centre(d)


cdef void set_all_bounds(dual_t* d, const pair_t* pair) noexcept nogil:
    """Set the bounds of the variables of all rows from the upper bounds of alpha of the pair."""
    cdef Py_ssize_t i
    for i in range(d.n):
        set_bounds(d, i, pair.C_a[i] if i < pair.n_a else pair.C_b[i - pair.n_a])


cdef bint is_doubtful(const pairs_t* pairs, const dual_t* d, double tol) noexcept nogil:
    """Whether rounding of kernel values may have changed the gradient by more than a tenth of tol."""
    cdef Py_ssize_t i
    cdef double square = 0
    for i in range(d.n):
        square += d.coef[i] * d.coef[i]
    return not pairs.rounding * sqrt(square) <= 0.1 * tol


cdef signed char go_on(
    const pairs_t* pairs, Py_ssize_t number, dual_t* d, const vec* K, Py_ssize_t ld, const scratch_t* scratch,
    position_t* position, int64_t* looks
) noexcept nogil:
    """Take steps while visits of rows are left; returns the status of the pair, UNSOLVED if more steps are needed.

    number: the index of the pair and its C in the arrays of `pairs_t`. looks: the visits that are left, changed.
    """
    cdef limits_t limits
    cdef ends_t ends
    cdef Py_ssize_t row
    cdef double over
    cdef bint many
    cdef int64_t* n_steps = pairs.n_steps + number
    cdef int64_t before = min(looks[0], max(<int64_t> 1, pairs.patience - position.looks))
    limits.tol, limits.steps, limits.looks, limits.gained = pairs.tol, pairs.max_iter - n_steps[0], before, 0
    solve(d, K, ld, scratch, &limits)
    position.looks += before - limits.looks
    looks[0] -= before - limits.looks
    n_steps[0] = pairs.max_iter - limits.steps
    ends = find_ends(d)
    pairs.proof[N_PROOFS * number + VIOLATION] = ends.most - ends.least
    if not ends.most - ends.least > pairs.tol:
        row = row_to_balance(d, &over)
        if row >= 0:
            d.coef[row] -= over
            place(d, row)
            add_row(d, row_of(K, row, ld), -over)
            return UNSOLVED
        # after many steps the gradient may have large rounding errors, so that the caller must compute it anew
        many = n_steps[0] - position.earlier > MANY_STEPS * d.n
        return DOUBTFUL if is_doubtful(pairs, d, pairs.tol) or many else SOLVED
    if limits.steps <= 0:
        return STOPPED
    if limits.looks <= 0 and position.looks < pairs.patience:
        return UNSOLVED
    return SLOW


cdef struct margin_t:
    # by how much the score Kb differs from the gradient f in the rows with y = 1 and with y = -1, for variables b
    double off_positive, off_negative
    # r: the margin of nu-SVC, the unit of violations; least: a lower bound of this unit, used if the margin is smaller
    double r, least


cdef margin_t find_margin(const dual_t* d, const vec* K, Py_ssize_t ld) noexcept nogil:
    """The margin of a nu-SVC solution, and by how much the score Kb differs from the gradient f in each class."""
    cdef margin_t margin
    cdef Py_ssize_t i, first = row_of_class(d, 1), second = row_of_class(d, -1)
    cdef double apart = 0, share = 0
    margin.off_positive = product(d, row_of(K, first, ld)) - d.f[first]
    margin.off_negative = product(d, row_of(K, second, ld)) - d.f[second]
    margin.r = margin_of(d, margin.off_positive, margin.off_negative)
    for i in range(d.n):
        apart += d.diagonal[i] + d.diagonal[0] - 2 * entry(row_of(K, 0, ld), i)
        share += 0.5 * fabs(d.coef[i])
    # a kernel that is no inner product, such as 'sigmoid', may make the sum negative; a unit may not be
    margin.least = LEAST_MARGIN * share * fabs(apart) / d.n
    return margin


cdef signed char go_on_within(
    const pairs_t* pairs, Py_ssize_t number, dual_t* d, const vec* K, Py_ssize_t ld, const scratch_t* scratch,
    const position_t* position, int64_t* looks
) noexcept nogil:
    """Solve a pair of nu-SVC until the violation is at most tol times the margin, which is computed between steps."""
    cdef limits_t limits
    cdef ends_t ends
    cdef margin_t margin
    cdef int64_t before
    cdef bint many
    cdef int64_t* n_steps = pairs.n_steps + number
    cdef double* proof = pairs.proof + N_PROOFS * number
    cdef double goal, gap
    limits.steps, limits.looks, limits.gained = pairs.max_iter - n_steps[0], looks[0], 0
    while True:
        ends, margin = find_ends(d), find_margin(d, K, ld)
        gap, goal = ends.most - ends.least, pairs.tol * max(margin.r, margin.least)
        proof[VIOLATION] = gap / max(margin.r, margin.least) if goal > 0 else 0
        if not gap > goal:
            many = n_steps[0] - position.earlier > MANY_STEPS * d.n
            return DOUBTFUL if is_doubtful(pairs, d, goal) or many else SOLVED
        if limits.steps <= 0 or (margin.r < margin.least and gap <= margin.least):
            return STOPPED
        if limits.looks <= 0:
            return UNSOLVED
        before, limits.tol = limits.steps, max(0.5 * goal, 0.1 * gap)
        solve(d, K, ld, scratch, &limits)
        n_steps[0], looks[0] = pairs.max_iter - limits.steps, limits.looks
        if limits.steps == before:  # no step was taken, since rounding would lose every step
            return DOUBTFUL


cdef void keep_margin(dual_t* d, const vec* K, Py_ssize_t ld, double* proof) noexcept nogil:
    """Turn a solution of nu-SVC into a solution of SVC, and write the numbers that describe and prove the latter."""
    cdef margin_t margin = find_margin(d, K, ld)
    cdef double r = max(margin.r, margin.least), intercept
    intercept = to_margin(d, margin.off_positive, margin.off_negative, r if r > 0 else 1)
    prove_at(d, find_ends(d), intercept, proof)


cdef void solve_pairs(
    const pairs_t* pairs, const tiles_t* tiles, const int64_t[:, ::1] numbers, vec* K_out, const scratch_t* scratch,
    position_t* position, int64_t looks
) noexcept nogil:
    """Go on with the pairs in the list until all are solved or no visits of rows (`looks`) are left.

    numbers: for each pair (a, b, its number among all pairs, the number of its first C). K_out: scratch space for a
    kernel matrix that is copied from tiles.
    """
    cdef dual_t d
    cdef pair_t pair
    cdef const vec* K
    cdef Py_ssize_t ld, number, a, b
    cdef signed char status
    cdef scratch_t below = scratch[0]
    while position.pair < numbers.shape[0] and looks > 0:
        a, b = numbers[position.pair, 0], numbers[position.pair, 1]
        number = position.C * pairs.n_pairs + numbers[position.pair, 2]
        pair = as_pair(pairs, a, b, position.C)
        set_arrays(&d, scratch.arrays, pair.n_a + pair.n_b)
        below.arrays = scratch.arrays + N_ARRAYS * d.ld
        K, ld = (<const vec*> tiles.whole), tiles.whole_ld
        if tiles.whole == NULL:
            K, ld = K_out, d.ld
        if not position.begun:
            if position.C > numbers[position.pair, 3]:
                set_all_bounds(&d, &pair)
                rescale(&d)
                place_all(&d)
            else:
                if tiles.whole == NULL:
                    gather(pairs, tiles, a, b, K_out, ld)
                begin(&d, &pair, K, ld, pairs.nu)
            position.begun, position.looks, position.earlier = True, 0, pairs.n_steps[number]
            looks -= d.n * (16 + d.n // 4)
        d.within = pairs.nu > 0
        if d.within:
            status = go_on_within(pairs, number, &d, K, ld, &below, position, &looks)
        else:
            status = go_on(pairs, number, &d, K, ld, &below, position, &looks)
        if status == UNSOLVED:
            continue
        if d.within and status != DOUBTFUL:
            keep_margin(&d, K, ld, pairs.proof + N_PROOFS * number)
        else:
            prove(&d, find_ends(&d), pairs.proof + N_PROOFS * number)
        pairs.status[number] = status
        memcpy(pair.coef_a, d.coef, pair.n_a * sizeof(double))
        memcpy(pair.coef_b, d.coef + pair.n_a, pair.n_b * sizeof(double))
        position.begun = False
        position.C += 1
        if position.C == pairs.n_Cs or status == DOUBTFUL or status == SLOW:
            position.pair += 1
            position.C = numbers[position.pair, 3] if position.pair < numbers.shape[0] else 0


cdef void set_up(dual_t* d, const pair_t* pair, const double* diagonal_a, const double* diagonal_b) noexcept nogil:
    """Set up the problem of a pair; the caller adds the kernel rows of its coefficients to the gradient f."""
    cdef Py_ssize_t i
    memcpy(d.coef, pair.coef_a, pair.n_a * sizeof(double))
    memcpy(d.coef + pair.n_a, pair.coef_b, pair.n_b * sizeof(double))
    for i in range(d.n):
        d.y[i] = pair.sign_a if i < pair.n_a else -pair.sign_a
        d.f[i] = -d.y[i]
        d.diagonal[i] = diagonal_a[i] if i < pair.n_a else diagonal_b[i - pair.n_a]
    set_all_bounds(d, pair)
    make_feasible(d)
    place_all(d)


cdef void try_pair(
    const pairs_t* pairs, const int64_t* number, double* arrays, few_t* few, Py_ssize_t steps, const vec* like
) noexcept nogil:
    """Solve a pair, from its coefficients, if few rows of its kernel matrix are enough; else take the first steps.

    number: (a, b, its number among all pairs, the most rows of its kernel matrix). steps: the most steps for each of
    these rows. like: not read; its type is that of the kernel values.
    """
    cdef dual_t d
    cdef pair_t pair = as_pair(pairs, number[0], number[1], 0)
    cdef ends_t ends
    cdef Py_ssize_t p = number[2], i, n_support = 0
    cdef double over, gained = 0
    few.a, few.b, few.n_a, few.n_b, few.n = number[0], number[1], pair.n_a, pair.n_b, 0
    few.most = number[3]
    few.norm_a, few.norm_b = few.panels.norm + pairs.start[few.a], few.panels.norm + pairs.start[few.b]
    set_arrays(&d, arrays, pair.n_a + pair.n_b)
    set_up(&d, &pair, few.panels.diagonal + pairs.start[few.a], few.panels.diagonal + pairs.start[few.b])
    few.ld = d.ld
    memset(few.places, -1, d.n * sizeof(int64_t))
    for i in range(d.n):
        n_support += d.coef[i] != 0
    if n_support > few.most:
        return
    for i in range(d.n):
        if d.coef[i] != 0:
            add_row(&d, kernel_row(few, i, like), d.coef[i])
    steps = descend_on_few(&d, few, pairs.tol, min(steps * few.most, pairs.max_iter - pairs.n_steps[p]), &gained, like)
    ends = find_ends(&d)
    pairs.proof[N_PROOFS * p + VIOLATION] = ends.most - ends.least
    pairs.n_steps[p] += steps
    memcpy(pair.coef_a, d.coef, pair.n_a * sizeof(double))
    memcpy(pair.coef_b, d.coef + pair.n_a, pair.n_b * sizeof(double))
    if ends.most - ends.least > pairs.tol or row_to_balance(&d, &over) >= 0:
        return
    prove(&d, ends, pairs.proof + N_PROOFS * p)
    pairs.status[p] = DOUBTFUL if is_doubtful(pairs, &d, pairs.tol) else SOLVED


cdef pairs_t as_pairs(pairs):
    cdef pairs_t out
    cdef const int64_t[::1] start = pairs.starts
    cdef const double[:, ::1] C = pairs.C
    cdef double[:, :, ::1] coef = pairs.coef
    cdef double[:, :, ::1] proof = pairs.proof
    cdef int64_t[:, ::1] n_steps = pairs.n_steps
    cdef signed char[:, ::1] status = pairs.status
    out.n_Cs, out.n, out.n_classes, out.n_pairs = C.shape[0], C.shape[1], start.shape[0] - 1, n_steps.shape[1]
    require(coef.shape[0] == out.n_Cs and coef.shape[1] == out.n_classes - 1 and coef.shape[2] == out.n)
    require(proof.shape[0] == out.n_Cs and proof.shape[1] == out.n_pairs and proof.shape[2] == N_PROOFS)
    require(n_steps.shape[0] == out.n_Cs and status.shape[0] == out.n_Cs and status.shape[1] == out.n_pairs)
    out.start, out.C, out.coef, out.proof = &start[0], &C[0, 0], &coef[0, 0, 0], &proof[0, 0, 0]
    out.n_steps, out.status = &n_steps[0, 0], &status[0, 0]
    out.tol, out.rounding, out.max_iter, out.patience = pairs.tol, pairs.rounding, pairs.max_iter, pairs.patience
    out.nu = pairs.nu
    return out


cdef tiles_t as_tiles(tiles):
    cdef tiles_t out
    cdef const int64_t[::1] square_at
    cdef const int64_t[::1] square_ld
    cdef const int64_t[::1] cross_row
    cdef const int64_t[::1] cross_column
    memset(&out, 0, sizeof(tiles_t))
    if tiles.whole is not None:
        out.whole, out.whole_ld = first_of(tiles.whole), tiles.whole.shape[1]
        return out
    square_at, square_ld, cross_row, cross_column = (
        tiles.square_at, tiles.square_ld, tiles.cross_row, tiles.cross_column
    )
    out.squares, out.square_at, out.square_ld = first_of(tiles.squares), &square_at[0], &square_ld[0]
    out.cross, out.cross_ld = first_of(tiles.cross), tiles.cross.shape[1]
    out.cross_row, out.cross_column = &cross_row[0], &cross_column[0]
    return out


def solve_list(pairs, tiles, const int64_t[:, ::1] numbers, work, int64_t looks):
    """Go on with a list of pairs from `work.position`; returns whether all of them are done.

    pairs: a `pairs.Solutions`. tiles: a `small_pairs.Tiles`. numbers: for each pair (a, b, its number among all pairs,
    the number of its first C). work: a `small_pairs.PairWork`. looks: about the number of visits of rows in this call.
    """
    cdef pairs_t pairs_ = as_pairs(pairs)
    cdef tiles_t tiles_ = as_tiles(tiles)
    cdef int64_t[::1] position = work.position
    cdef double[::1] arrays = work.arrays
    cdef double[::1] change = work.change
    cdef int64_t[::1] row = work.row
    cdef void* K = first_of(work.K)
    cdef scratch_t scratch
    cdef bint single = work.below.dtype == "f"
    require(numbers.shape[1] == 4 and position.shape[0] * sizeof(int64_t) == sizeof(position_t))
    scratch.arrays, scratch.change, scratch.row, scratch.K = &arrays[0], &change[0], &row[0], first_of(work.below)
    with nogil:
        if single:
            solve_pairs(
                &pairs_, &tiles_, numbers, <vec_f*> K, &scratch, <position_t*> &position[0], looks
            )
        else:
            solve_pairs(
                &pairs_, &tiles_, numbers, <vec_d*> K, &scratch, <position_t*> &position[0], looks
            )
    return position[0] == numbers.shape[0]


cdef panels_t as_panels(panels):
    cdef panels_t out
    cdef const double[::1] norm = panels.norm
    cdef const double[::1] diagonal = panels.diagonal
    cdef const int64_t[::1] first = panels.first
    kernel = panels.kernel
    out.kernel.kind, out.kernel.degree, out.kernel.gamma = kernel.kind, kernel.degree, kernel.gamma
    out.kernel.coef0 = kernel.coef0
    out.d, out.lines, out.terms = panels.lines.shape[1], first_of(panels.lines), first_of(panels.terms)
    out.norm, out.diagonal, out.first = &norm[0], &diagonal[0], &first[0]
    return out


def solve_by_few_rows(pairs, panels, const int64_t[:, ::1] numbers, work, Py_ssize_t steps):
    """Solve those pairs of a list, from their coefficients, that few rows of their kernel matrices are enough for.

    Other pairs get the coefficients of the first steps.

    pairs: a `pairs.Solutions`. panels: a `few_rows.Panels`. numbers: for each pair (a, b, its number among all pairs,
    the most rows of its kernel matrix). work: a `few_rows.FewWork`. steps: the most steps for each of these rows.
    """
    cdef pairs_t pairs_ = as_pairs(pairs)
    cdef panels_t panels_ = as_panels(panels)
    cdef few_t few
    cdef double[::1] arrays = work.arrays
    cdef int64_t[::1] places = work.places
    cdef bint single = work.K.dtype == "f"
    cdef Py_ssize_t n, i, a, b, n_values = work.K.size, width = SIDE_BY_SIDE * (LANES_F if single else LANES_D)
    require(numbers.shape[1] == 4 and pairs.nu == 0 and len(panels.norm) == pairs_.n == len(panels.diagonal))
    require(len(panels.first) == pairs_.n_classes)
    require(panels.lines.shape[2] == width and panels.terms.shape == (len(panels.lines), width))
    require(panels.lines.dtype == work.K.dtype == panels.terms.dtype == work.x.dtype and len(work.x) >= panels_.d)
    for i in range(numbers.shape[0]):
        a, b = numbers[i, 0], numbers[i, 1]
        require(0 <= a < b < pairs_.n_classes and 0 <= numbers[i, 2] < pairs_.n_pairs)
        require(panels_.first[a] >= 0 and panels_.first[b] >= 0)
        n = pairs_.start[a + 1] - pairs_.start[a] + pairs_.start[b + 1] - pairs_.start[b]
        require(n_values >= numbers[i, 3] * padded(n))
        require(arrays.shape[0] >= N_ARRAYS * padded(n) and places.shape[0] >= n)
    few.panels, few.K, few.x, few.places = &panels_, first_of(work.K), first_of(work.x), &places[0]
    with nogil:
        for i in range(numbers.shape[0]):
            if single:
                try_pair(&pairs_, &numbers[i, 0], &arrays[0], &few, steps, <const vec_f*> NULL)
            else:
                try_pair(&pairs_, &numbers[i, 0], &arrays[0], &few, steps, <const vec_d*> NULL)
