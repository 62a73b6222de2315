# Pointers to the arrays of a `Rows` of `fastclf/kernels/values.py`, the rows of a dense or sparse matrix; kernels only
# read these arrays.
from libc.stdint cimport int32_t, int64_t

ctypedef struct matrix_t:
    # the numbers of a dense matrix, row by row, or the entries of a sparse one, if they are floats; else NULL
    const float* single
    # the numbers of a dense matrix, row by row, or the entries of a sparse one, if they are doubles; else NULL
    const double* double_
    # (n + 1,): sparse row i has the entries indptr[i] to indptr[i + 1] - 1; NULL: the matrix is dense
    const int64_t* indptr
    const int32_t* index     # the column number of each entry of a sparse matrix
    const double* norm       # (n,): the squared length of each row
    Py_ssize_t d             # the number of columns of the matrix, also of those without an entry


cdef inline matrix_t as_matrix(X):
    """Fill in a matrix_t with pointers to the arrays of a `Rows`, which must outlive it."""
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
    """A pointer to the first number of a float or double array, which must outlive the pointer; NULL for None."""
    cdef float[::1] single
    cdef double[::1] double_
    if array is None:
        return NULL
    if array.dtype == "f":
        single = array.reshape(-1)
        return &single[0]
    double_ = array.reshape(-1)
    return &double_[0]
