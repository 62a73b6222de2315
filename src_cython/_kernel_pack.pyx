# Rows are packed for `_kernel_rows`, by the columns that they have: as lists of (line, value), or with zeros between.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from _kernel_matrix cimport as_matrix, begin, matrix_t

ctypedef fused real:
    float
    double


cdef Py_ssize_t mark_entries(
    const floating* x, const int32_t* index, Py_ssize_t n, int32_t* line
) noexcept nogil:
    """Set line[column] = 0 where a row has an entry that is not zero; returns how many."""
    cdef Py_ssize_t j, count = 0
    for j in range(n):
        if x[j] != 0:
            line[j if index == NULL else index[j]] = 0
            count += 1
    return count


cdef Py_ssize_t pack_row(
    const floating* x, const int32_t* index, Py_ssize_t n, const int32_t* line, real* values, Py_ssize_t at,
    int32_t* lines
) noexcept nogil:
    """Append a row's entries to the list at position `at`, whose end is returned; lines NULL: a row of n_lines."""
    cdef Py_ssize_t j, here
    for j in range(n):
        if x[j] != 0:
            here = line[j if index == NULL else index[j]]
            if lines != NULL:
                lines[at] = <int32_t> here
                here = at
                at += 1
            else:
                here += at
            values[here] = <real> x[j]
    return at


cdef void pack_rows(
    const matrix_t* X, const int64_t* rows, Py_ssize_t n_rows, const int32_t* line, Py_ssize_t n_lines,
    const int64_t* begins, real* values, int32_t* lines
) noexcept nogil:
    cdef Py_ssize_t r, first, length
    cdef const int32_t* index
    for r in range(n_rows):
        if X.indptr == NULL:
            first, length, index = rows[r] * X.d, X.d, NULL
        else:
            first = X.indptr[rows[r]]
            length, index = X.indptr[rows[r] + 1] - first, X.index + first
        if X.single != NULL:
            pack_row(X.single + first, index, length, line, values, r * n_lines if lines == NULL else begins[r], lines)
        else:
            pack_row(X.double_ + first, index, length, line, values, r * n_lines if lines == NULL else begins[r], lines)


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


def pack(X, const int64_t[::1] rows, const int32_t[::1] line, Py_ssize_t n_lines, const int64_t[::1] begins, values,
         lines):
    """Write rows as lists of (line, value), or with lines None as zeros and values of n_lines each."""
    cdef matrix_t x = as_matrix(X)
    cdef void* to = begin(values)
    cdef int32_t[::1] lines_view
    cdef int32_t* lines_ = NULL
    cdef bint single = values.dtype == "f"
    if lines is not None:
        lines_view = lines
        lines_ = &lines_view[0]
    with nogil:
        if single:
            pack_rows(&x, &rows[0], rows.shape[0], &line[0], n_lines, &begins[0], <float*> to, lines_)
        else:
            pack_rows(&x, &rows[0], rows.shape[0], &line[0], n_lines, &begins[0], <double*> to, lines_)
