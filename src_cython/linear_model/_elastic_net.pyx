# Coordinate descent on a quadratic function with an L1 term, the model that a proximal Newton step minimises.
#
#     min over u    1/2 (u - u0)' H (u - u0) + g (u - u0) + sum_j edge_j |u_j|,      edge >= 0, H positive semidefinite
#
# u are the coefficients and u0 those at the start of the Newton step, g and H the gradient and the second derivatives
# of the smooth part of the objective at u0, and edge_j the L1 penalty of coefficient j. A step takes one coordinate to
# its minimum, u_j <- soft(u_j - G_j / H_jj, edge_j / H_jj), where G is the gradient of the smooth part at u. `descend`
# has H in memory. `sweep` has the columns of X in memory; H are the second derivatives of the loss of logistic
# regression at the scores W x of each row, with probabilities p and row weights a:
#
#     two classes:  H = sum_i a_i p_i (1 - p_i) x_i x_i'
#     K classes:    H_(k,j),(m,l) = sum_i a_i p_ik ([k = m] - p_im) x_ij x_il
#
# The violation of a coordinate is the absolute value of its smallest subgradient: |G_j + edge_j sign(u_j)| where u_j is
# not 0, and max(0, |G_j| - edge_j) where it is.
from cython cimport floating
from libc.math cimport fabs, sqrt

from _csr cimport csr_of, csr_t
from _vector cimport require


cdef inline double violation_of(double u, double G, double edge) noexcept nogil:
    if u > 0:
        return fabs(G + edge)
    if u < 0:
        return fabs(G - edge)
    return max(fabs(G) - edge, 0.0)


cdef inline double minimum(double u, double G, double h, double edge) noexcept nogil:
    """The coefficient where a quadratic with an L1 term is least, given all others; h > 0: its second derivative."""
    cdef double z = h * u - G
    if z > edge:
        return (z - edge) / h
    if z < -edge:
        return (z + edge) / h
    return 0


def descend(
    const double[:, ::1] H, const double[::1] edge, double[::1] u, double[::1] G, double tol, Py_ssize_t n_sweeps
):
    """Take at most n_sweeps sweeps over all coordinates, until the Euclidean norm of the violations is at most tol.

    Changes u, and G, the gradient of the smooth part at u; returns the norm of the violations.
    """
    cdef Py_ssize_t m = u.shape[0], j, i, sweep
    cdef double step, total = 0
    cdef const double* row
    cdef double* g = &G[0]
    require(H.shape[0] == m and H.shape[1] == m and edge.shape[0] == m and G.shape[0] == m)
    with nogil:
        for sweep in range(n_sweeps + 1):
            total = 0
            for j in range(m):
                total += violation_of(u[j], g[j], edge[j]) ** 2
            if total <= tol * tol or sweep == n_sweeps:
                break
            for j in range(m):
                if violation_of(u[j], g[j], edge[j]) == 0 or not H[j, j] > 0:
                    continue
                step = minimum(u[j], g[j], H[j, j], edge[j]) - u[j]
                if step != 0:
                    u[j] += step
                    row = &H[j, 0]
                    for i in range(m):
                        g[i] += step * row[i]
    return sqrt(total)


# The state of sweeps of coordinate descent over the K (p + 1) coefficients of a linear model: for each of K classes
# those of p columns of X, then that of a column of ones.
cdef struct state_t:
    Py_ssize_t n
    Py_ssize_t p
    Py_ssize_t K
    # (p + 1,): the index of each sparse column's first entry, then the number of all entries; NULL: columns are dense
    const long long* starts
    const int* rows          # the row number of each entry of the sparse columns
    const double* x          # the values of the entries of sparse columns, or the dense columns (p, n)
    # (K, n): for each of K classes the weight of each row times p (times p (1 - p) if K is 1), where p is the
    # probability of the class in the row
    const double* weight
    const double* share      # (K, n): the probability p of each of K classes for each of n rows; used with K > 1
    # (K, n): for each of K classes the change of each row's score since the sweeps of coordinate descent began; updated
    # by each step
    double* s
    # (n,): for each row the sum over the K classes of probability times change of score since the sweeps began; updated
    # by each step; used with K > 1
    double* mean


cdef double slope(const state_t* t, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
    """The change of the gradient since the start of the sweeps, H (u - u0), in its entry for class k and column j."""
    cdef Py_ssize_t e, i, n = t.n
    cdef const double* weight = t.weight + k * n
    cdef const double* s = t.s + k * n
    cdef const double* x = t.x + j * n
    cdef const double* mean = t.mean
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    if j < t.p and t.starts is not NULL:
        for e in range(t.starts[j], t.starts[j + 1]):
            i = t.rows[e]
            s0 += t.x[e] * weight[i] * (s[i] - mean[i])
        return s0
    if j == t.p:
        for i in range(n):
            s0 += weight[i] * (s[i] - mean[i])
        return s0
    for i in range(0, n - 3, 4):
        s0 += x[i] * weight[i] * (s[i] - mean[i])
        s1 += x[i + 1] * weight[i + 1] * (s[i + 1] - mean[i + 1])
        s2 += x[i + 2] * weight[i + 2] * (s[i + 2] - mean[i + 2])
        s3 += x[i + 3] * weight[i + 3] * (s[i + 3] - mean[i + 3])
    for i in range(n - n % 4, n):
        s0 += x[i] * weight[i] * (s[i] - mean[i])
    return (s0 + s1) + (s2 + s3)


cdef void move(const state_t* t, Py_ssize_t k, Py_ssize_t j, double step) noexcept nogil:
    """Change the coefficient of class k and column j by `step`, and update the changes of the rows' scores."""
    cdef Py_ssize_t e, i, n = t.n
    cdef double* s = t.s + k * n
    cdef const double* x = t.x + j * n
    cdef const double* share = t.share + k * n
    if j < t.p and t.starts is not NULL:
        for e in range(t.starts[j], t.starts[j + 1]):
            s[t.rows[e]] += step * t.x[e]
        if t.K > 1:
            for e in range(t.starts[j], t.starts[j + 1]):
                t.mean[t.rows[e]] += share[t.rows[e]] * step * t.x[e]
        return
    if j == t.p:
        for i in range(n):
            s[i] += step
        if t.K > 1:
            for i in range(n):
                t.mean[i] += share[i] * step
        return
    for i in range(n):
        s[i] += step * x[i]
    if t.K > 1:
        for i in range(n):
            t.mean[i] += share[i] * step * x[i]


cdef double bend_of(const state_t* t, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
    """The second derivative of the loss with respect to the coefficient of class k and column j."""
    cdef Py_ssize_t e, i, n = t.n
    cdef const double* weight = t.weight + k * n
    cdef const double* share = t.share + k * n
    cdef const double* x = t.x + j * n
    cdef double total = 0
    if j < t.p and t.starts is not NULL:
        for e in range(t.starts[j], t.starts[j + 1]):
            i = t.rows[e]
            total += t.x[e] * t.x[e] * weight[i] * (1 - share[i] if t.K > 1 else 1.0)
    else:
        for i in range(n):
            total += (1.0 if j == t.p else x[i] * x[i]) * weight[i] * (1 - share[i] if t.K > 1 else 1.0)
    return total


cdef state_t state_of(
    columns, const double[:, ::1] weight, const double[:, ::1] share, double[:, ::1] s, double[::1] mean
) except *:
    """A state_t of pointers to the arrays of sweeps; columns: (starts, rows, entries); if dense (None, None, array)."""
    cdef const long long[::1] starts
    cdef const int[::1] rows
    cdef const double[::1] entries
    cdef const double[:, ::1] dense
    cdef state_t t
    t.K, t.n, t.starts, t.rows, t.x = weight.shape[0], weight.shape[1], NULL, NULL, NULL
    require(share.shape[0] == t.K and share.shape[1] == t.n and s.shape[0] == t.K and s.shape[1] == t.n)
    require(mean.shape[0] == t.n)
    if columns[0] is None:
        dense = columns[2]
        t.p = dense.shape[0]
        if t.p:
            t.x = &dense[0, 0]
            require(dense.shape[1] == t.n)
    else:
        starts, rows, entries = columns
        t.p, t.starts = starts.shape[0] - 1, &starts[0]
        if rows.shape[0]:
            t.rows, t.x = &rows[0], &entries[0]
    t.weight, t.share, t.s, t.mean = &weight[0, 0], &share[0, 0], &s[0, 0], &mean[0]
    return t


def bends(columns, weight, share, s, mean, double[:, ::1] out, Py_ssize_t start, Py_ssize_t stop):
    """Write the loss's second derivatives with respect to coefficients [start, stop) of (K, p + 1), flattened."""
    cdef state_t t = state_of(columns, weight, share, s, mean)
    cdef Py_ssize_t c, D = t.p + 1
    require(out.shape[0] == t.K and out.shape[1] == D)
    with nogil:
        for c in range(start, stop):
            out[c // D, c % D] = bend_of(&t, c // D, c % D)


# Arguments: more than 8, because a sweep works on arrays that the caller allocates once for all sweeps, and reads
# afterwards.
def sweep(
    columns, weight, share, s, mean, const double[:, ::1] bend, const double[:, ::1] g, const double[::1] pull,
    const double[::1] edge, const double[:, ::1] u0, double[:, ::1] u, const int[::1] order, Py_ssize_t start,
    Py_ssize_t stop, unsigned char[::1] kept
):
    """Take the coordinates order[start:stop], numbered as in (K, p + 1), to their minima one after another.

    bend: the second derivatives of loss and penalty; pull: those of the penalty; g: the gradient of the smooth part at
    u0. Changes u, s and mean, and sets kept[i] to whether coordinate order[i] is not 0 or has moved. Returns the sum of
    squared violations, each before its coordinate moved.
    """
    cdef state_t t = state_of(columns, weight, share, s, mean)
    cdef Py_ssize_t at, c, k, j, D = t.p + 1
    cdef double G, step, total = 0
    require(bend.shape[0] == t.K and bend.shape[1] == D and u.shape[0] == t.K and u.shape[1] == D)
    require(g.shape[1] == D and u0.shape[1] == D and pull.shape[0] == D and edge.shape[0] == D)
    with nogil:
        for at in range(start, stop):
            c = order[at]
            k = c // D
            j = c % D
            G = g[k, j] + pull[j] * (u[k, j] - u0[k, j]) + slope(&t, k, j)
            total += violation_of(u[k, j], G, edge[j]) ** 2
            step = 0
            if bend[k, j] > 0:
                step = minimum(u[k, j], G, bend[k, j], edge[j]) - u[k, j]
            if step != 0:
                u[k, j] += step
                move(&t, k, j, step)
            kept[at] = u[k, j] != 0 or step != 0
    return total


def take_columns(
    X, const floating[::1] data, const int[::1] place, long long[::1] indptr, int[::1] indices, floating[::1] out,
    Py_ssize_t start, Py_ssize_t stop
):
    """Copy those columns of a `Csr` X, with its `data`, whose place is not negative, for rows [start, stop).

    Writes indptr[start + 1] to indptr[stop], and the entries from number indptr[start] on.
    """
    cdef csr_t rows = csr_of(X)
    cdef Py_ssize_t i, e, at = indptr[start]
    require(place.shape[0] == rows.n_columns and indices.shape[0] == out.shape[0])
    with nogil:
        for i in range(start, stop):
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                if place[rows.indices[e]] >= 0:
                    indices[at] = place[rows.indices[e]]
                    out[at] = data[e]
                    at += 1
            indptr[i + 1] = at


def by_column(
    X, const floating[::1] data, const double[::1] factor, long long[::1] ends, int[::1] rows, double[::1] out,
    Py_ssize_t start, Py_ssize_t stop
):
    """Sort the entries of rows [start, stop) of a `Csr` X by column, multiplied by the factors of their columns.

    ends[j]: where the next entry of column j is written; changed.
    """
    cdef csr_t X_ = csr_of(X)
    cdef Py_ssize_t i, e
    cdef int j
    require(ends.shape[0] >= X_.n_columns and factor.shape[0] >= X_.n_columns)
    with nogil:
        for i in range(start, stop):
            for e in range(X_.indptr[i], X_.indptr[i + 1]):
                j = X_.indices[e]
                rows[ends[j]] = <int> i
                out[ends[j]] = data[e] * factor[j]
                ends[j] += 1


def add_products(
    X, const floating[::1] data, turned, const signed char[::1] skipped, double[:, ::1] products, Py_ssize_t start,
    Py_ssize_t stop
):
    """Add the products of rows [start, stop) with the rows up to themselves: products[i, l] += x_ij x_lj, for l <= i.

    X is a `Csr` with its `data`, `turned` its transpose in float64. Columns j with `skipped` are left out.
    """
    cdef csr_t rows = csr_of(X), columns = csr_of(turned)
    cdef const double[::1] entries = turned.data
    cdef Py_ssize_t i, j, e, a
    cdef double x
    cdef double* row
    require(skipped.shape[0] == rows.n_columns and columns.n_rows == rows.n_columns)
    require(products.shape[0] == rows.n_rows and products.shape[1] == rows.n_rows)
    with nogil:
        for i in range(start, stop):
            row = &products[i, 0]
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                j = rows.indices[e]
                if skipped[j]:
                    continue
                x = data[e]
                a = columns.indptr[j]
                # no test for an empty column is needed, since column j has at least the entry of row i
                while columns.indices[a] <= i:
                    row[columns.indices[a]] += x * entries[a]
                    a += 1
                    if a == columns.indptr[j + 1]:
                        break
