# Products of matrices in tiles of registers, which the head of `tiles.h` explains:
#
#     c[m][n] += sum over k of a[m][k] b[k][n]

cdef extern from "tiles.h" nogil:
    # Add the matrix product of a and b to n_m rows of c, in the columns of its SIMD vectors [first, last). The eleven
    # arguments are these three matrices with their strides and sizes, as in BLAS.
    void add_tiles(
        const double* a, Py_ssize_t row, Py_ssize_t step, Py_ssize_t n_m, const double* b, Py_ssize_t ldb,
        Py_ssize_t n_k, double* c, Py_ssize_t ldc, Py_ssize_t first, Py_ssize_t last
    )
    # Add the matrix product of a and b to a symmetric matrix c, but only in the tiles on the diagonal of c or right of
    # it.
    void add_upper_tiles(
        const double* a, Py_ssize_t row, Py_ssize_t step, Py_ssize_t n_m, const double* b, Py_ssize_t ldb,
        Py_ssize_t n_k, double* c, Py_ssize_t ldc
    )
