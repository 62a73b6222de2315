# Rows of numbers of any type, for kernels that read arrays without a converted copy.
#
# A kernel over the fused type `number` is compiled once for each type. A kernel that converts each row to doubles
# anyway takes a `rows_t`, which has the type at run time, and is compiled once.
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

ctypedef fused number:
    float
    double
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    int64_t

ctypedef fused real:
    float
    double


cdef inline const double* as_doubles(const number* x, Py_ssize_t d, double* buffer) noexcept nogil:
    """The d numbers of row x as doubles: x itself if its type is double, otherwise a copy in `buffer`."""
    cdef Py_ssize_t j
    if number is double:
        return x
    else:
        for j in range(d):
            buffer[j] = <double> x[j]
        return buffer


cdef enum:
    FLOAT
    DOUBLE
    INT8
    UINT8
    INT16
    UINT16
    INT32
    INT64


cdef struct rows_t:
    const char* data  # the address of the first number of a C-contiguous array of shape (n, d)
    Py_ssize_t d
    Py_ssize_t itemsize
    int kind


cdef inline rows_t rows_of(object X) except *:
    """A struct for the rows of a C-contiguous array of floats or integers; the caller must keep the array alive."""
    cdef Py_buffer view
    cdef rows_t rows
    cdef char letter
    PyObject_GetBuffer(X, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    # the letter of the type in a buffer's format follows a prefix for the byte order if the array is not aligned
    letter = view.format[1] if view.format[0] in b"@=<>!^" else view.format[0]
    rows.data, rows.d, rows.itemsize = <const char*> view.buf, view.shape[1], view.itemsize
    PyBuffer_Release(&view)
    if rows.itemsize == 8:
        rows.kind = DOUBLE if letter == b'd' else INT64
    elif rows.itemsize == 4:
        rows.kind = FLOAT if letter == b'f' else INT32
    elif rows.itemsize == 2:
        rows.kind = INT16 if letter == b'h' else UINT16
    else:
        rows.kind = INT8 if letter == b'b' else UINT8
    return rows


cdef inline rows_t rows_at(const real* X, Py_ssize_t d) noexcept nogil:
    """A struct for the rows of the C-contiguous array with d columns that begins at X."""
    return rows_t(<const char*> X, d, sizeof(real), FLOAT if real is float else DOUBLE)


cdef inline const double* row_of(const rows_t* rows, Py_ssize_t i, double* buffer) noexcept nogil:
    """Row i of an array as doubles: the row itself if its type is double, otherwise a copy in `buffer`."""
    cdef const char* x = rows.data + i * rows.d * rows.itemsize
    if rows.kind == DOUBLE:
        return as_doubles(<const double*> x, rows.d, buffer)
    if rows.kind == FLOAT:
        return as_doubles(<const float*> x, rows.d, buffer)
    if rows.kind == INT8:
        return as_doubles(<const int8_t*> x, rows.d, buffer)
    if rows.kind == UINT8:
        return as_doubles(<const uint8_t*> x, rows.d, buffer)
    if rows.kind == INT16:
        return as_doubles(<const int16_t*> x, rows.d, buffer)
    if rows.kind == UINT16:
        return as_doubles(<const uint16_t*> x, rows.d, buffer)
    if rows.kind == INT32:
        return as_doubles(<const int32_t*> x, rows.d, buffer)
    return as_doubles(<const int64_t*> x, rows.d, buffer)
