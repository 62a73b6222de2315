# A fitted model as functions over raw pointers see it. What it points to is kept by `owner` and never written.
#
# A kernel module compiled at a SIMD level gives the addresses of such functions (`ADDRESSES`), with which
# `capi.pyx` fills the model: so each call runs at the level chosen at import.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t

# The name of a model's capsule.
cdef extern from *:
    """
    #define FASTCLF_MODEL_NAME "fastclf.model"
    """
    const char* MODEL "FASTCLF_MODEL_NAME"

ctypedef struct model_t

ctypedef int (*search_f)(
    const model_t*, const double*, Py_ssize_t, Py_ssize_t, double*, Py_ssize_t*, char*
) noexcept nogil
ctypedef int (*score_float_f)(const model_t*, const float*, Py_ssize_t, double*, char*) noexcept nogil
ctypedef int (*score_double_f)(const model_t*, const double*, Py_ssize_t, double*, char*) noexcept nogil
ctypedef int (*apply_float_f)(const model_t*, const float*, Py_ssize_t, int64_t*) noexcept nogil
ctypedef int (*apply_double_f)(const model_t*, const double*, Py_ssize_t, int64_t*) noexcept nogil
ctypedef int (*distances_float_f)(
    const float*, Py_ssize_t, const float*, Py_ssize_t, Py_ssize_t, double*, char*
) noexcept nogil
ctypedef int (*distances_double_f)(
    const double*, Py_ssize_t, const double*, Py_ssize_t, Py_ssize_t, double*, char*
) noexcept nogil
ctypedef int (*epoch_float_f)(
    const float*, Py_ssize_t, Py_ssize_t, const int*, const int64_t*, double, bint, double*, double*, int64_t*
) noexcept nogil
ctypedef int (*epoch_double_f)(
    const double*, Py_ssize_t, Py_ssize_t, const int*, const int64_t*, double, bint, double*, double*, int64_t*
) noexcept nogil
ctypedef double (*dot_float_f)(const float*, const float*, Py_ssize_t) noexcept nogil
ctypedef double (*dot_double_f)(const double*, const double*, Py_ssize_t) noexcept nogil
ctypedef int (*axpy_float_f)(Py_ssize_t, float, const float*, float*) noexcept nogil
ctypedef int (*axpy_double_f)(Py_ssize_t, double, const double*, double*) noexcept nogil
ctypedef int (*split_float_f)(
    const float*, const int*, const double*, const double*, Py_ssize_t, Py_ssize_t, int, Py_ssize_t, Py_ssize_t*,
    double*, double*, char*
) noexcept nogil
ctypedef int (*split_double_f)(
    const double*, const int*, const double*, const double*, Py_ssize_t, Py_ssize_t, int, Py_ssize_t, Py_ssize_t*,
    double*, double*, char*
) noexcept nogil
ctypedef int (*smo_first_f)(
    Py_ssize_t, const double*, const double*, const double*, const double*, Py_ssize_t*, double*
) noexcept nogil
ctypedef int (*smo_second_f)(
    Py_ssize_t, const double*, const double*, const double*, const double*, Py_ssize_t, const double*, const double*,
    Py_ssize_t*
) noexcept nogil
ctypedef int (*smo_step_f)(
    Py_ssize_t, const double*, const double*, double*, double*, Py_ssize_t, Py_ssize_t, const double*, const double*
) noexcept nogil

# Makes codes of n queries of a filter in work memory; see `neighbors/_encode.pyx`.
ctypedef struct asked_t:
    unsigned char* code          # (n, width), n padded to a multiple of 4
    double* base
    double* slack
    double* length
    double* per
    double* shift

ctypedef void (*encode_f)(
    const model_t*, const double*, const double*, Py_ssize_t, asked_t*, char*
) noexcept nogil

ctypedef struct neighbors_t:
    Py_ssize_t n_rows
    Py_ssize_t n_findable
    bint narrow                  # X is float32
    const void* X
    const void* metrics          # a metrics_t of `neighbors/_search.pxd`, of the C heap
    const unsigned char* allowed  # rows that may be found, or NULL for all
    # a filter's
    Py_ssize_t width             # 0: none
    const unsigned char* code
    const int* half
    const float* slack
    const float* length
    Py_ssize_t n_axes            # 0: rows are coded as they are
    const double* center
    double scale, step, code_shift, delta, kappa, per, center_norm
    const float* axes
    const float* axes_t
    encode_f encode
    search_f scan                # for more neighbours than a filter pays for
    # a tree's
    const void* panels
    const void* boxes
    const Py_ssize_t* rows

ctypedef void (*normalise_f)(double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint) noexcept nogil

ctypedef struct linear_t:
    const double* coef           # (n_outputs, n_features)
    const double* intercept

ctypedef struct bayes_t:
    Py_ssize_t width             # classes, filled up to whole vectors
    const double* begin          # (n_outputs,) what every row begins with
    const double* zero           # (width,)
    const double* constant       # (width,); Gaussian
    const double* mean           # (n_features, width), or NULL
    const double* weight         # ... of the squares; of products the coefficients; or of categories the entries
    const int64_t* first         # the first entry of each column, and the end, or NULL
    bint binary
    double threshold
    bint nonnegative             # entries below 0 are refused
    const double* impossible     # (n_features, width): 1 where a value above 0 makes the class impossible, or NULL
    const double* wanted         # (n_features, width): 1 where a class never lacks the column, or NULL
    const double* n_wanted       # (n_outputs,) how many these are
    normalise_f normalise

ctypedef struct tree_t:
    const int64_t* steps
    const uint64_t* subsets      # of categories, as `tree/_descend.pyx` has them
    const double* value          # (n_nodes, n_outputs)
    const int32_t* best          # (n_nodes,) the class of each node
    apply_float_f apply_float
    apply_double_f apply_double

ctypedef struct machine_t:
    int kernel
    int degree
    double gamma, coef0
    Py_ssize_t n_support
    const double* support        # (n_support, n_features), class by class
    const int64_t* starts        # (n_classes + 1,) where those of each class begin
    const double* coef           # (n_classes - 1, n_support)
    const double* intercept      # (n_outputs,) of each pair of classes

ctypedef struct model_t:
    int64_t references
    void* owner                  # a Python object
    int kind
    Py_ssize_t n_features
    Py_ssize_t n_outputs         # columns of the scores; of a regressor 1
    Py_ssize_t n_classes         # 0: of no classifier
    search_f search
    score_float_f score_float
    score_double_f score_double
    neighbors_t neighbors
    linear_t linear
    bayes_t bayes
    tree_t tree
    machine_t machine


# Scratch of the caller's, handed out in pieces that begin on cache lines.
cdef inline void* piece(char** room, Py_ssize_t size) noexcept nogil:
    cdef char* start = <char*> ((<size_t> room[0] + 63) & ~<size_t> 63)
    room[0] = start + size
    return start
