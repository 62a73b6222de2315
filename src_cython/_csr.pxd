# Sparse rows: pointers to the arrays of a `Csr` of `fastclf/_csr.py`. Values are passed separately, because they are
# floats or doubles.
from libc.stdint cimport int32_t, int64_t


cdef struct csr_t:
    Py_ssize_t n_rows
    Py_ssize_t n_columns
    const int64_t* indptr   # (n_rows + 1,) row i of the sparse matrix has the entries indptr[i] to indptr[i + 1] - 1
    const int32_t* indices  # the column number of each entry of a sparse matrix; NULL if there are no entries


cdef inline csr_t csr_of(object X) except *:
    """A struct of pointers to the arrays of a `Csr`, which the caller must keep alive."""
    cdef const int64_t[::1] indptr = X.indptr
    cdef const int32_t[::1] indices = X.indices
    cdef csr_t rows
    rows.n_rows, rows.n_columns, rows.indptr, rows.indices = indptr.shape[0] - 1, X.n_columns, &indptr[0], NULL
    if indices.shape[0]:
        rows.indices = &indices[0]
    return rows
