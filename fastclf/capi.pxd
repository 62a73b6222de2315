# The C interface for compiled code of others: functions over raw pointers, at the SIMD level chosen at import.
#
# `_d` takes float64, `_f` float32; rows are C-contiguous, (n, n_features). Every function may be called without the GIL
# and from any number of threads at once; none allocates. All but `dot` return a status, FASTCLF_OK being 0; then what
# is written is what the estimator's method returns, and otherwise means nothing.
#
# `scratch` is the caller's, of at least `scratch_size` bytes, and of one thread at a time.
#
# Between releases there are only additions, each with a new FASTCLF_ABI: see CONTRIBUTING.md and EMBEDDING.md.
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #ifndef FASTCLF_MODEL
    #define FASTCLF_MODEL
    typedef struct fastclf_model fastclf_model;
    #endif
    """
    # A fitted model: arrays that stay as they were when it was made, whatever becomes of the estimator.
    ctypedef struct fastclf_model:
        pass

cdef enum:
    FASTCLF_ABI = 1

cdef enum:
    FASTCLF_OK = 0
    FASTCLF_BAD_MODEL = 1  # the model has no such function
    FASTCLF_BAD_SIZE = 2   # a size or an index is out of its range: k > rows that can be found, n < 0
    FASTCLF_BAD_VALUE = 3  # NaN, infinity, or another number that the estimator refuses, or a sum that overflows

cdef enum:
    FASTCLF_NEIGHBORS = 1
    FASTCLF_LINEAR = 2
    FASTCLF_BAYES = 3
    FASTCLF_TREE = 4
    FASTCLF_MACHINE = 5

cdef enum:
    FASTCLF_GINI = 0
    FASTCLF_ENTROPY = 1
    FASTCLF_MISCLASSIFICATION = 2
    FASTCLF_SQUARED_ERROR = 3

# The version of the installed package; `require_abi` below compares it with the one compiled against.
cdef int abi() noexcept nogil

# The model of what fastclf.embed returned, with a reference to it for the caller. Needs the GIL.
cdef fastclf_model* take(object embedded) except NULL
cdef void retain(fastclf_model* model) noexcept nogil
# The last release takes the GIL, to let go of the arrays.
cdef void release(fastclf_model* model) noexcept nogil

cdef int kind(const fastclf_model* model) noexcept nogil
cdef Py_ssize_t n_features(const fastclf_model* model) noexcept nogil
cdef Py_ssize_t n_outputs(const fastclf_model* model) noexcept nogil  # columns of decide, log_joint, log_proba, proba
cdef Py_ssize_t n_classes(const fastclf_model* model) noexcept nogil    # 0: no classifier
cdef Py_ssize_t n_rows(const fastclf_model* model) noexcept nogil       # that can be found; 0 but for neighbours
# Bytes for a call with n rows, and for `nearest` k; more rows than 32 need no more.
cdef Py_ssize_t scratch_size(const fastclf_model* model, Py_ssize_t n, Py_ssize_t k) noexcept nogil

# The k nearest rows of n queries, ascending by (distance, row): kneighbors.
cdef int nearest_d(
    const fastclf_model* model, const double* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil
cdef int nearest_f(
    const fastclf_model* model, const float* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil

# Signed scores (n, n_outputs): decision_function of linear models; of support vector machines w.phi(x) + b for two
# classes, and for more of each pair, as with decision_function_shape='ovo'.
cdef int decide_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil
cdef int decide_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil

# log P(x, class), log P(class | x), of naive Bayes, and P(class | x), of trees too: all (n, n_outputs).
cdef int log_joint_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int log_joint_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int log_proba_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int log_proba_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int proba_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int proba_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil

# The leaf (n,) of each row: apply, of trees. NaN is missing; a category is its position in categories_, and any other
# number goes where NaN goes.
cdef int apply_d(const fastclf_model* model, const double* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil
cdef int apply_f(const fastclf_model* model, const float* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil

# Positions (n,) in classes_: predict, of all classifiers but neighbours.
cdef int classify_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil
cdef int classify_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil

# Numbers (n, n_outputs): predict, of regression trees.
cdef int estimate_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int estimate_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil

# Building blocks

# x'y, summed in float64; y += a x.
cdef double dot_d(const double* x, const double* y, Py_ssize_t n) noexcept nogil
cdef double dot_f(const float* x, const float* y, Py_ssize_t n) noexcept nogil
cdef int axpy_d(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil
cdef int axpy_f(Py_ssize_t n, float a, const float* x, float* y) noexcept nogil

# The k smallest (distance, index) pairs, equal distances by index: begin, push any number, sort ascending. Places that
# no pair took have infinity.
cdef int heap_begin(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil
cdef int heap_push(double* distance, Py_ssize_t* index, Py_ssize_t k, double a, Py_ssize_t i) noexcept nogil
cdef int heap_sort(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil

# out[q, r] = |queries[q] - rows[r]|^2 in float64, (n_queries, n_rows); scratch of squared_distances_scratch(d) bytes.
cdef Py_ssize_t squared_distances_scratch(Py_ssize_t d) noexcept nogil
cdef int squared_distances_d(
    const double* rows, Py_ssize_t n_rows, const double* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil
cdef int squared_distances_f(
    const float* rows, Py_ssize_t n_rows, const float* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil

# The best split of an ascending column: x[:cut] go left, cut is -1 where no split is allowed. `code` are classes 0 to
# n_classes - 1, or for FASTCLF_SQUARED_ERROR NULL, `y` the targets and n_classes 1; `weight` may be NULL. Of columns of
# the same rows a larger score is better. Scratch of best_split_scratch bytes.
cdef Py_ssize_t best_split_scratch(Py_ssize_t n, Py_ssize_t n_classes) noexcept nogil
cdef int best_split_d(
    const double* x, const int* code, const double* y, const double* weight, Py_ssize_t n, Py_ssize_t n_classes,
    int criterion, Py_ssize_t min_leaf, Py_ssize_t* cut, double* threshold, double* score, void* scratch
) noexcept nogil
cdef int best_split_f(
    const float* x, const int* code, const double* y, const double* weight, Py_ssize_t n, Py_ssize_t n_classes,
    int criterion, Py_ssize_t min_leaf, Py_ssize_t* cut, double* threshold, double* score, void* scratch
) noexcept nogil

# Sequential minimal optimisation of  1/2 a'Qa - 1'a,  y'a = 0,  0 <= a_i <= C_i,  Q_ij = y_i y_j K_ij,  y_i = -1 or 1;
# grad = Qa - 1, at first -1. The pair of the largest gain (WSS 2 of Fan, Chen, Lin 2005) in two halves, as j wants row
# i of K, and its step. `violation`, of the optimality conditions, is what to stop by; i or j is -1 where none is left.
cdef int smo_first(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t* i,
    double* violation
) noexcept nogil
cdef int smo_second(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t i,
    const double* K_i, const double* diagonal, Py_ssize_t* j
) noexcept nogil
cdef int smo_step(
    Py_ssize_t n, const double* y, const double* C, double* alpha, double* grad, Py_ssize_t i, Py_ssize_t j,
    const double* K_i, const double* K_j
) noexcept nogil

# One epoch of the perceptron: rows in `order`, or if that is NULL as they lie; codes 0 (negative) and 1. `w` (d,), `b`
# and `mistakes` (added to) go on from where they are.
cdef int perceptron_epoch_d(
    const double* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil
cdef int perceptron_epoch_f(
    const float* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil


cdef inline int require_abi() except -1:
    """Call it once, at import: an older package than the one compiled against is refused."""
    if abi() < FASTCLF_ABI:
        raise ImportError(
            f"compiled for version {FASTCLF_ABI} of fastclf's C interface; the fastclf installed has version {abi()}:"
            " upgrade it"
        )
    return 0
