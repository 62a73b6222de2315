# Sequential minimal optimisation on a working set, second-order pair choice (Fan, Chen, Lin 2005, WSS 2).
#
#     min  1/2 a'Qa - 1'a    subject to  y'a = 0,  0 <= a_i <= C_i,     Q_ij = y_i y_j K(x_i, x_j)
#
# f_i = sum_j y_j a_j K_ij - y_i is y_i times the gradient. A row is `up` if y_i a_i may rise (y = 1 and a < C, or
# y = -1 and a > 0), `low` if it may fall. The violation is max_low f - min_up f.
from cython cimport cdivision, floating
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from _vector cimport LANES_D, fmadd_d, larger, largest_d, require, spread_d, vec, vec_d, vec_f, widen

cdef enum:
    LANES_MOST = 8  # arrays of a working set are padded to a multiple of it

cdef double TAU = 1e-12  # the least curvature that a step takes, as in LIBSVM

PAD = LANES_MOST


cdef inline bint is_up(signed char y, double a, double C) noexcept nogil:
    return a < C if y > 0 else a > 0


cdef inline bint is_low(signed char y, double a, double C) noexcept nogil:
    return a > 0 if y > 0 else a < C


cdef inline void sift(double* key, int64_t* row, Py_ssize_t n, Py_ssize_t at) noexcept nogil:
    """Let the entry `at` sink in a heap whose first has the smallest key, of equal ones the largest row."""
    cdef Py_ssize_t child
    cdef double k = key[at]
    cdef int64_t r = row[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and (
            key[child + 1] < key[child] or (key[child + 1] == key[child] and row[child + 1] > row[child])
        ):
            child += 1
        if not (key[child] < k or (key[child] == k and row[child] > r)):
            break
        key[at], row[at] = key[child], row[child]
        at = child
    key[at], row[at] = k, r


cdef inline Py_ssize_t offer(
    double k, int64_t r, double* key, int64_t* row, Py_ssize_t n, Py_ssize_t room
) noexcept nogil:
    """Keep the `room` largest keys seen, of equal ones those that came first; returns how many are kept."""
    cdef Py_ssize_t at
    if n == room:
        if k > key[0]:
            key[0], row[0] = k, r
            sift(key, row, n, 0)
        return n
    key[n], row[n] = k, r
    n += 1
    if n == room:
        for at in range(n // 2 - 1, -1, -1):
            sift(key, row, n, at)
    return n


def violation(
    const int64_t[::1] active, const double[::1] f, const double[::1] alpha, const signed char[::1] y,
    const double[::1] C
):
    """(min_up f, max_low f) over the rows of the list; infinite where there is none."""
    cdef Py_ssize_t i, r
    cdef double up = INFINITY, low = -INFINITY
    with nogil:
        for i in range(active.shape[0]):
            r = active[i]
            if f[r] < up and is_up(y[r], alpha[r], C[r]):
                up = f[r]
            if f[r] > low and is_low(y[r], alpha[r], C[r]):
                low = f[r]
    return up, low


def select(
    const int64_t[::1] active, const double[::1] f, const double[::1] alpha, const signed char[::1] y,
    const double[::1] C, double up, double low, const int64_t[::1] before, unsigned char[::1] taken,
    double[::1] key, int64_t[::1] row, int64_t[::1] out
):
    """Choose a working set: half of it the worst of both sides, half the last that were chosen before.

    up, low: what `violation` says. taken: zeros, one for each row, and left so. key, row: room for as many as `out`
    has. Returns how many are chosen, in `out`.
    """
    cdef Py_ssize_t room = max(1, out.shape[0] // 4), i, r, n_up = 0, n_low = 0, n = 0
    cdef double* up_key = &key[0]
    cdef double* low_key = &key[0] + room
    cdef int64_t* up_row = &row[0]
    cdef int64_t* low_row = &row[0] + room
    require(key.shape[0] >= 2 * room and row.shape[0] >= 2 * room)
    with nogil:
        for i in range(active.shape[0]):
            r = active[i]
            if f[r] < low and is_up(y[r], alpha[r], C[r]):
                n_up = offer(-f[r], r, up_key, up_row, n_up, room)
            if f[r] > up and is_low(y[r], alpha[r], C[r]):
                n_low = offer(f[r], r, low_key, low_row, n_low, room)
        for i in range(max(n_up, n_low)):
            if i < n_up and not taken[up_row[i]]:
                taken[up_row[i]] = 1
                out[n] = up_row[i]
                n += 1
            if i < n_low and not taken[low_row[i]]:
                taken[low_row[i]] = 1
                out[n] = low_row[i]
                n += 1
        for i in range(before.shape[0]):
            if n == out.shape[0]:
                break
            if not taken[before[i]]:
                taken[before[i]] = 1
                out[n] = before[i]
                n += 1
        for i in range(n):
            taken[out[i]] = 0
    return n


cdef inline vec_d load(const vec* K, Py_ssize_t i) noexcept nogil:
    if vec is vec_f:
        return widen(<const float*> K + i)
    else:
        return (<const vec_d*> (<const double*> K + i))[0]


cdef inline double entry(const vec* K, Py_ssize_t i) noexcept nogil:
    return (<const float*> K)[i] if vec is vec_f else (<const double*> K)[i]


cdef inline Py_ssize_t find(const double* x, double value) noexcept nogil:
    cdef Py_ssize_t i = 0
    while x[i] != value:
        i += 1
    return i


ctypedef struct set_t:
    Py_ssize_t n           # rows, of which those that pad are neither up nor low
    Py_ssize_t ld          # of K
    const double* y
    const double* C
    const double* diagonal
    double* alpha
    double* f
    double* not_up         # 0, or infinity
    double* not_low        # 0, or -infinity
    double* gain           # scratch


cdef void place(set_t* s, Py_ssize_t t) noexcept nogil:
    cdef double y = s.y[t], a = s.alpha[t], C = s.C[t]
    s.not_up[t] = 0 if (a < C if y > 0 else a > 0) else INFINITY
    s.not_low[t] = 0 if (a > 0 if y > 0 else a < C) else -INFINITY


@cdivision(True)  # the debug build's check is not for vectors
cdef Py_ssize_t solve(set_t* s, const vec* K, double tol, Py_ssize_t most, double* gained) noexcept nogil:
    """Steps taken until the violation is at most tol, `most` are taken, or rounding ends it; adds up their gain."""
    cdef Py_ssize_t step = 0, v, i, j, n = s.n // LANES_D
    cdef vec_d* f = <vec_d*> s.f
    cdef const vec_d* not_up = <const vec_d*> s.not_up
    cdef const vec_d* not_low = <const vec_d*> s.not_low
    cdef const vec_d* diagonal = <const vec_d*> s.diagonal
    cdef vec_d* gain = <vec_d*> s.gain
    cdef vec_d best_up, best_low, best, b, e, fi, kii, x, zero = spread_d(0), tau = spread_d(TAU)
    cdef double up, low, most_gain, curvature, t, room_i, room_j, before_i, before_j
    cdef const vec* Ki
    cdef const vec* Kj
    best_up = best_low = spread_d(-INFINITY)
    for v in range(n):
        best_up = larger(best_up, -(f[v] + not_up[v]))
        best_low = larger(best_low, f[v] + not_low[v])
    while step < most:
        up, low = -largest_d(best_up), largest_d(best_low)
        if not low - up > tol:
            break
        i = 0
        while s.f[i] + s.not_up[i] != up:
            i += 1
        Ki = <const vec*> (<const char*> K + i * s.ld * (sizeof(float) if vec is vec_f else sizeof(double)))
        best = zero
        fi = spread_d(up)
        kii = spread_d(s.diagonal[i])
        for v in range(n):
            b = larger(f[v] + not_low[v] - fi, zero)
            e = larger(kii + diagonal[v] - 2 * load(Ki, v * LANES_D), tau)
            x = b * b / e
            gain[v] = x
            best = larger(best, x)
        most_gain = largest_d(best)
        if not most_gain > 0:
            break
        j = find(s.gain, most_gain)
        Kj = <const vec*> (<const char*> K + j * s.ld * (sizeof(float) if vec is vec_f else sizeof(double)))
        curvature = max(s.diagonal[i] + s.diagonal[j] - 2 * entry(Ki, j), TAU)
        t = (s.f[j] - up) / curvature
        room_i = s.C[i] - s.alpha[i] if s.y[i] > 0 else s.alpha[i]
        room_j = s.alpha[j] if s.y[j] > 0 else s.C[j] - s.alpha[j]
        t = min(t, min(room_i, room_j))
        before_i, before_j = s.alpha[i], s.alpha[j]
        s.alpha[i] = (s.C[i] if s.y[i] > 0 else 0) if t == room_i else s.alpha[i] + s.y[i] * t
        s.alpha[j] = (0 if s.y[j] > 0 else s.C[j]) if t == room_j else s.alpha[j] - s.y[j] * t
        # below the last digit, if it is not what is left to a bound, which is reached whatever the other's digits
        if t < room_i and t < room_j and (s.alpha[i] == before_i or s.alpha[j] == before_j):
            s.alpha[i], s.alpha[j] = before_i, before_j
            break
        gained[0] += t * (s.f[j] - up) - 0.5 * t * t * curvature
        place(s, i)
        place(s, j)
        step += 1
        best_up = best_low = spread_d(-INFINITY)
        fi = spread_d(t)
        for v in range(n):
            x = f[v] + fi * (load(Ki, v * LANES_D) - load(Kj, v * LANES_D))
            f[v] = x
            best_up = larger(best_up, -(x + not_up[v]))
            best_low = larger(best_low, x + not_low[v])
    return step


def inner(
    K, const int64_t[::1] rows, double[::1] alpha, const double[::1] f, const signed char[::1] y,
    const double[::1] C, double[:, ::1] room, double tol, Py_ssize_t most, double[::1] coef, bint again=False
):
    """Optimise alpha over the working set `rows`, of which K is the kernel matrix (rows padded to a multiple of PAD).

    room: 8 rows of as many numbers. coef: out, the change of y alpha. again: go on where the last call of `most` steps
    ended; coef adds up. Returns (steps, gain of the dual objective).
    """
    cdef set_t s
    cdef Py_ssize_t t, r, n = rows.shape[0], steps
    cdef double gained = 0
    cdef const float[:, ::1] single
    cdef const double[:, ::1] double_
    s.n = s.ld = K.shape[1]
    require(s.n % LANES_MOST == 0 and n <= s.n and n == K.shape[0] and room.shape[0] >= 8 and room.shape[1] >= s.n)
    s.alpha, s.f, s.not_up, s.not_low = &room[0, 0], &room[1, 0], &room[2, 0], &room[3, 0]
    s.gain, s.y, s.C, s.diagonal = &room[4, 0], &room[5, 0], &room[6, 0], &room[7, 0]
    for t in range(0 if again else s.n):
        r = rows[min(t, n - 1)]
        room[0, t], room[1, t], room[5, t], room[6, t], room[7, t] = alpha[r], f[r], y[r], C[r], 0
        place(&s, t)
        if t >= n:
            room[2, t], room[3, t] = INFINITY, -INFINITY
    if K.dtype == "f":
        single = K
        for t in range(n):
            room[7, t] = single[t, t]
        with nogil:
            steps = solve(&s, <const vec_f*> &single[0, 0], tol, most, &gained)
    else:
        double_ = K
        for t in range(n):
            room[7, t] = double_[t, t]
        with nogil:
            steps = solve(&s, <const vec_d*> &double_[0, 0], tol, most, &gained)
    for t in range(n):
        r = rows[t]
        coef[t] = (coef[t] if again else 0) + y[r] * (s.alpha[t] - alpha[r])
        alpha[r] = s.alpha[t]
    return steps, gained


def combine(K, const double[:, ::1] coef, const int64_t[::1] starts, double[:, :, ::1] out):
    """out[i, c, o] = sum of coef[o, j] K[i, j] over starts[c] <= j < starts[c + 1], in order, as `_values.add`."""
    cdef Py_ssize_t i, j, o, c
    cdef const float[:, ::1] single
    cdef const double[:, ::1] double_
    cdef bint is_single = K.dtype == "f"
    cdef vec_d k, s
    if is_single:
        single = K
    else:
        double_ = K
    with nogil:
        for i in range(out.shape[0]):
            for c in range(out.shape[1]):
                for j in range(starts[c], starts[c + 1]):
                    k = spread_d(single[i, j] if is_single else double_[i, j])
                    for o in range(out.shape[2]):
                        s = fmadd_d(spread_d(coef[o, j]), k, spread_d(out[i, c, o]))
                        out[i, c, o] = (<double*> &s)[0]


def gather(const floating[:, ::1] block, const int64_t[::1] places, Py_ssize_t first, floating[:, ::1] out):
    """out[first + i, first + j] = block[places[i], places[j]]."""
    cdef Py_ssize_t i, j, n = places.shape[0]
    require(first + n <= out.shape[0] <= out.shape[1])
    with nogil:
        for i in range(n):
            for j in range(n):
                out[first + i, first + j] = block[places[i], places[j]]
