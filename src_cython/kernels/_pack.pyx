# Packing of rows for the kernels of `_values.pyx`.
#
# Only the columns in which at least one of the rows is not 0 are packed; they are called lines and numbered in order. A
# packed row is a list of pairs (line, value), or dense, with one value for each line.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from kernels._matrix cimport as_matrix, begin, matrix_t
from _vector cimport require

ctypedef fused real:
    float
    double


cdef Py_ssize_t mark_entries(
    const floating* x, const int32_t* index, Py_ssize_t n, int32_t* line
) noexcept nogil:
    """Mark the columns in which a row is not 0, by line[column] = 0; returns how many entries of the row are not 0."""
    cdef Py_ssize_t j, count = 0
    cdef bint used
    for j in range(n):
        used = x[j] != 0
        count += used
        if index == NULL:
            line[j] = 0 if used else line[j]
        elif used:
            line[index[j]] = 0
    return count


cdef void pack_row(
    const floating* x, const int32_t* index, Py_ssize_t n, const int32_t* line, real* values
) noexcept nogil:
    """Write the nonzero entries of a row into a dense packed row, which has zeros before the call."""
    cdef Py_ssize_t j
    for j in range(n):
        if x[j] != 0:
            values[line[j if index == NULL else index[j]]] = <real> x[j]


cdef void pack_list(
    const floating* x, const int32_t* index, Py_ssize_t n, const int32_t* line, real* values, int32_t* lines
) noexcept nogil:
    """Write the nonzero entries of a row as a list of (line, value), and one number after the list.

    There is no branch: a zero entry is written, too, and the next entry overwrites it.
    """
    cdef Py_ssize_t j, at = 0
    for j in range(n):
        values[at] = <real> x[j]
        lines[at] = line[j if index == NULL else index[j]]
        at += x[j] != 0


# How rows of a matrix are packed: pointers to arrays of a `Packed` of `fastclf/kernels/values.py`. Kernels write only
# `index`.
ctypedef struct packing_t:
    const int64_t* rows      # (n_rows,): the numbers of the matrix's rows that are packed
    Py_ssize_t n_rows
    # (n_columns,): for each column of the matrix its number among the packed columns, called lines; -1: the column is 0
    # in all packed rows
    const int32_t* line
    const int32_t* column    # (n_lines,): the column number of each line, which is a packed column
    Py_ssize_t n_lines
    const int64_t* begins    # (n_rows + 1,): the list of packed row i has the entries begins[i] to begins[i + 1] - 1
    # (begins[n_rows] + 1,): the line number of each value in the lists; NULL: rows are packed as dense rows
    int32_t* index


cdef void pack_rows(const floating* x, const matrix_t* X, const packing_t* p, real* values) noexcept nogil:
    """Write the packed rows into `values`: lists, (begins[n_rows] + 1,), or dense rows, (n_rows, n_lines) zeros before.

    x has the entries of the matrix X.
    """
    cdef Py_ssize_t r, at, first, length
    cdef const int32_t* index
    for r in range(p.n_rows):
        if X.indptr == NULL:
            first, length, index = p.rows[r] * X.d, X.d, NULL
        else:
            first = X.indptr[p.rows[r]]
            length, index = X.indptr[p.rows[r] + 1] - first, X.index + first
        if p.index != NULL:
            pack_list(x + first, index, length, p.line, values + p.begins[r], p.index + p.begins[r])
        elif index != NULL:
            pack_row(x + first, index, length, p.line, values + r * p.n_lines)
        else:
            for at in range(p.n_lines):
                values[r * p.n_lines + at] = <real> x[first + p.column[at]]


def mark(X, const int64_t[::1] rows, int32_t[::1] line, int64_t[::1] begins):
    """Number in `line` (filled with -1) the columns in which a row has a nonzero entry; returns the number of columns.

    Writes begins, (n_rows + 1,): the list of row i has the entries begins[i] to begins[i + 1] - 1 of all lists.
    """
    cdef matrix_t x = as_matrix(X)
    cdef Py_ssize_t r, j, row, n_lines = 0, n_rows = rows.shape[0], d = x.d
    with nogil:
        begins[0] = 0
        for r in range(n_rows):
            row = rows[r]
            if x.indptr == NULL:
                if x.single != NULL:
                    begins[r + 1] = begins[r] + mark_entries(x.single + row * d, NULL, d, &line[0])
                else:
                    begins[r + 1] = begins[r] + mark_entries(x.double_ + row * d, NULL, d, &line[0])
            else:
                j = x.indptr[row]
                if x.single != NULL:
                    begins[r + 1] = begins[r] + mark_entries(x.single + j, x.index + j, x.indptr[row + 1] - j, &line[0])
                else:
                    begins[r + 1] = begins[r] + mark_entries(
                        x.double_ + j, x.index + j, x.indptr[row + 1] - j, &line[0]
                    )
        for j in range(d):
            if line[j] == 0:
                line[j] = <int32_t> n_lines
                n_lines += 1
    return n_lines


def pack(X, const int64_t[::1] rows, const int64_t[::1] begins, packed):
    """Write rows of a matrix as packed rows, lists or dense, into a `Packed` whose lines `mark` has found before."""
    cdef matrix_t x = as_matrix(X)
    cdef packing_t p
    cdef const int32_t[::1] line = packed.line
    cdef const int32_t[::1] column = packed.columns
    cdef int32_t[::1] index
    cdef void* values = begin(packed.values)
    cdef bint single = packed.values.dtype == "f"
    require(begins.shape[0] == rows.shape[0] + 1 and line.shape[0] == x.d)
    p.rows, p.n_rows, p.line, p.column, p.n_lines = &rows[0], rows.shape[0], &line[0], &column[0], packed.n_lines
    p.begins, p.index = &begins[0], NULL
    if packed.index is not None:
        index = packed.index
        p.index = &index[0]
    with nogil:
        if single and x.single != NULL:
            pack_rows(x.single, &x, &p, <float*> values)
        elif single:
            pack_rows(x.double_, &x, &p, <float*> values)
        elif x.single != NULL:
            pack_rows(x.single, &x, &p, <double*> values)
        else:
            pack_rows(x.double_, &x, &p, <double*> values)
