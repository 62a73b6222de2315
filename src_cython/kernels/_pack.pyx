# Rows are packed for `_values`, by the columns that they have: as lists of (line, value), or with zeros between.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from kernels._matrix cimport as_matrix, begin, matrix_t

ctypedef fused real:
    float
    double


cdef Py_ssize_t mark_entries(
    const floating* x, const int32_t* index, Py_ssize_t n, int32_t* line
) noexcept nogil:
    """Set line[column] = 0 where a row has an entry that is not zero; returns how many."""
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
    cdef Py_ssize_t j
    for j in range(n):
        if x[j] != 0:
            values[line[j if index == NULL else index[j]]] = <real> x[j]


cdef void pack_list(
    const floating* x, const int32_t* index, Py_ssize_t n, const int32_t* line, real* values, int32_t* lines
) noexcept nogil:
    """Without branches: what follows an entry is written over it if it is zero. Writes one more than there are."""
    cdef Py_ssize_t j, at = 0
    for j in range(n):
        values[at] = <real> x[j]
        lines[at] = line[j if index == NULL else index[j]]
        at += x[j] != 0


cdef void pack_rows(
    const floating* x, const matrix_t* X, const int64_t* rows, Py_ssize_t n_rows, const int32_t* line,
    const int32_t* column, Py_ssize_t n_lines, const int64_t* begins, real* values, int32_t* lines
) noexcept nogil:
    cdef Py_ssize_t r, at, first, length
    cdef const int32_t* index
    for r in range(n_rows):
        if X.indptr == NULL:
            first, length, index = rows[r] * X.d, X.d, NULL
        else:
            first = X.indptr[rows[r]]
            length, index = X.indptr[rows[r] + 1] - first, X.index + first
        if lines != NULL:
            pack_list(x + first, index, length, line, values + begins[r], lines + begins[r])
        elif index != NULL:
            pack_row(x + first, index, length, line, values + r * n_lines)
        else:
            for at in range(n_lines):
                values[r * n_lines + at] = <real> x[first + column[at]]


def mark(X, const int64_t[::1] rows, int32_t[::1] line, int64_t[::1] begins):
    """Number the columns that these rows have in `line` (filled with -1) and count their entries up in `begins`.

    Returns the number of such columns.
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


def pack(X, const int64_t[::1] rows, const int32_t[::1] line, const int32_t[::1] column, Py_ssize_t n_lines,
         const int64_t[::1] begins, values, lines):
    """Write rows as lists of (line, value), with room for one more, or with lines None as zeros and values of n_lines
    each."""
    cdef matrix_t x = as_matrix(X)
    cdef void* to = begin(values)
    cdef int32_t[::1] lines_view
    cdef int32_t* lines_ = NULL
    cdef bint single = values.dtype == "f"
    cdef Py_ssize_t n = rows.shape[0]
    if lines is not None:
        lines_view = lines
        lines_ = &lines_view[0]
    with nogil:
        if single and x.single != NULL:
            pack_rows(x.single, &x, &rows[0], n, &line[0], &column[0], n_lines, &begins[0], <float*> to, lines_)
        elif single:
            pack_rows(x.double_, &x, &rows[0], n, &line[0], &column[0], n_lines, &begins[0], <float*> to, lines_)
        elif x.single != NULL:
            pack_rows(x.single, &x, &rows[0], n, &line[0], &column[0], n_lines, &begins[0], <double*> to, lines_)
        else:
            pack_rows(x.double_, &x, &rows[0], n, &line[0], &column[0], n_lines, &begins[0], <double*> to, lines_)
