# A panel has some rows of a matrix side by side; the kernels of `_values.pyx` multiply them with packed rows. A column
# of the matrix has a line in the panel if at least one packed row is not 0 in this column; other columns add nothing to
# a product.
#
# A panel has two halves, one after the other. In a half, each line has HALF vectors: the entries of the half's rows in
# one column of the matrix.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from kernels._matrix cimport matrix_t
from _vector cimport LANES_D, LANES_F, vec, vec_d, vec_f

cdef enum:
    HALF = 4        # the number of SIMD vectors in each line (column of the matrix) of half a panel

# Pointers to the arrays of a `Packed` of `fastclf/kernels/values.py`, packed rows z; kernels only read these arrays.
# The lines of a panel are the columns of the matrix in which at least one packed row is not 0.
ctypedef struct packed_t:
    Py_ssize_t n_lines
    # (n_columns,): the line of the panel for each column of the matrix; -1: the column is 0 in all packed rows
    const int32_t* line
    const int32_t* column    # (n_lines,): the column of the matrix for each line of the panel
    # the values of the packed rows, float or double: lists of nonzero values, or dense rows, (n_rows, n_lines)
    const void* values
    # (n_rows + 1,): the list of packed row i has the values indptr[i] to indptr[i + 1] - 1; NULL: packed rows are dense
    const int64_t* indptr
    const int32_t* index  # for each value in the lists of packed rows, the line of the panel by which it is multiplied
    const double* norm       # (n_rows,): the squared length of each packed row


cdef inline Py_ssize_t row_of(const int64_t* columns, Py_ssize_t i) noexcept nogil:
    """The number of the matrix row x that belongs to column i of a block of the kernel matrix."""
    return i if columns == NULL else columns[i]


cdef inline void put_four(
    const floating* a, const floating* b, const floating* c, const floating* d, const packed_t* Z, vec* panel,
    Py_ssize_t place
) noexcept nogil:
    """Write four dense rows a, b, c and d into half a panel, as its rows `place` to `place` + 3."""
    cdef Py_ssize_t at, j
    cdef floating p, q, r, s
    for at in range(Z.n_lines):
        j = Z.column[at]
        p, q, r, s = a[j], b[j], c[j], d[j]
        if vec is vec_f:
            (<float*> panel)[place] = <float> p
            (<float*> panel)[place + 1] = <float> q
            (<float*> panel)[place + 2] = <float> r
            (<float*> panel)[place + 3] = <float> s
            place += HALF * LANES_F
        else:
            (<double*> panel)[place] = p
            (<double*> panel)[place + 1] = q
            (<double*> panel)[place + 2] = r
            (<double*> panel)[place + 3] = s
            place += HALF * LANES_D


cdef inline void put_dense(
    const floating* x, Py_ssize_t d, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n,
    vec* panel
) noexcept nogil:
    """Write n dense rows into the panel, four at a time; the last row is repeated if n is no multiple of four."""
    cdef Py_ssize_t width = HALF * (LANES_F if vec is vec_f else LANES_D), i, last = start + n - 1
    for i in range(start, start + n, 4):
        put_four(
            x + row_of(columns, i) * d, x + row_of(columns, min(i + 1, last)) * d,
            x + row_of(columns, min(i + 2, last)) * d, x + row_of(columns, min(i + 3, last)) * d,
            Z, panel if i - start < width else panel + Z.n_lines * HALF, (i - start) % width
        )


cdef inline void put_entries(
    const floating* x, const int32_t* index, Py_ssize_t n, const packed_t* Z, vec* panel, Py_ssize_t place, bint clear
) noexcept nogil:
    """Write the entries of a sparse row, or zeros in their stead if `clear`, into half a panel, as its row `place`."""
    cdef Py_ssize_t j, at
    for j in range(n):
        at = Z.line[index[j]]
        if at < 0:
            continue
        if vec is vec_f:
            (<float*> panel)[at * HALF * LANES_F + place] = 0 if clear else <float> x[j]
        else:
            (<double*> panel)[at * HALF * LANES_D + place] = 0 if clear else x[j]


cdef inline void put_sparse(
    const floating* x, const matrix_t* X, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n,
    vec* panel, bint clear
) noexcept nogil:
    """Write the entries of n sparse rows, or zeros in their stead if `clear`, into the panel."""
    cdef Py_ssize_t width = HALF * (LANES_F if vec is vec_f else LANES_D), i, row, first
    for i in range(n):
        row = row_of(columns, start + i)
        first = X.indptr[row]
        put_entries(
            x + first, X.index + first, X.indptr[row + 1] - first, Z, panel if i < width else panel + Z.n_lines * HALF,
            i % width, clear
        )


cdef inline void put_panel(
    const matrix_t* X, const packed_t* Z, const int64_t* columns, Py_ssize_t start, Py_ssize_t n, vec* panel, bint clear
) noexcept nogil:
    """Write the rows x of columns [start, start + n) of a block into the panel; `clear`: overwrite sparse rows by 0."""
    if X.indptr != NULL:
        if X.single != NULL:
            put_sparse(X.single, X, Z, columns, start, n, panel, clear)
        else:
            put_sparse(X.double_, X, Z, columns, start, n, panel, clear)
    elif not clear:  # a panel of dense rows is not cleared, because the next rows overwrite all its lines
        if X.single != NULL:
            put_dense(X.single, X.d, Z, columns, start, n, panel)
        else:
            put_dense(X.double_, X.d, Z, columns, start, n, panel)
