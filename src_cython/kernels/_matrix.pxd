# The rows of a matrix, dense or sparse, as pointers into the arrays of a `values.Rows`; they are only read.
from libc.stdint cimport int32_t, int64_t

ctypedef struct matrix_t:
    const float* single      # the n d numbers of dense rows or the entries of sparse ones, or NULL: they are doubles
    const double* double_    # the same as doubles, or NULL: they are floats
    const int64_t* indptr    # (n + 1,), where each sparse row begins and the last ends, or NULL: rows are dense
    const int32_t* index     # the column of each entry of the sparse rows
    const double* norm       # (n,), |x|^2
    Py_ssize_t d             # columns


cdef inline matrix_t as_matrix(X):
    """The pointers into the arrays of a `Rows`, which outlives them."""
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
    """The address of the first number of a float or double array, which must outlive it; NULL for None."""
    cdef float[::1] single
    cdef double[::1] double_
    if array is None:
        return NULL
    if array.dtype == "f":
        single = array.reshape(-1)
        return &single[0]
    double_ = array.reshape(-1)
    return &double_[0]
