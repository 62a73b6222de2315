# The arrays of `_kernels.Rows` as pointers.
from libc.stdint cimport int32_t, int64_t

ctypedef struct matrix_t:
    const float* single      # the entries: of one of these types
    const double* double_
    const int64_t* indptr    # where each sparse row begins, or NULL
    const int32_t* index
    const double* norm       # |x|^2
    Py_ssize_t d


cdef inline matrix_t as_matrix(X):
    """The pointers into the arrays of `_kernels.Rows`, which outlives them."""
    cdef inline matrix_t out
    cdef const float[::1] single
    cdef const double[::1] double_
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] index
    cdef const double[::1] norm = X.norm
    out.single = NULL
    out.double_ = NULL
    out.indptr = NULL
    out.index = NULL
    out.norm = &norm[0]
    out.d = X.n_columns
    if X.single:
        single = X.entries
        out.single = &single[0]
    else:
        double_ = X.entries
        out.double_ = &double_[0]
    if X.indptr is not None:
        indptr = X.indptr
        index = X.index
        out.indptr = &indptr[0]
        out.index = &index[0]
    return out


cdef inline void* begin(array):
    """The pointer into an array of floats or doubles, which outlives it, or NULL for None."""
    cdef float[::1] single
    cdef double[::1] double_
    if array is None:
        return NULL
    if array.dtype == "f":
        single = array.reshape(-1)
        return &single[0]
    double_ = array.reshape(-1)
    return &double_[0]
