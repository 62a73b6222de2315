# Numbers of any type as doubles, for kernels that read rows unconverted.
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


cdef inline const double* as_doubles(const number* x, Py_ssize_t d, double* room) noexcept nogil:
    """A row as doubles: itself, or a copy in `room`."""
    cdef Py_ssize_t j
    if number is double:
        return x
    else:
        for j in range(d):
            room[j] = <double> x[j]
        return room
