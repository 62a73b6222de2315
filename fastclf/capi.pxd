# The C interface for compiled code outside this package: functions over raw pointers, at the SIMD level chosen at
# import.
#
# Functions ending in `_d` take float64, those in `_f` float32; rows are C-contiguous, (n, n_features). Every function
# may be called without the GIL, unless its comment says otherwise, and from any number of threads at once; none
# allocates. All computing functions but `dot` return a status. With FASTCLF_OK the written values are the results of
# the estimator's method; with any other status the written values mean nothing.
#
# `scratch` is memory of the caller, at least `scratch_size` bytes, used by one thread at a time.
#
# New releases only add functions, each with a new FASTCLF_ABI: see CONTRIBUTING.md and EMBEDDING.md.
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #ifndef FASTCLF_MODEL
    #define FASTCLF_MODEL
    typedef struct fastclf_model fastclf_model;
    #endif
    """
    # A fitted model. Its arrays never change, whatever happens to the estimator.
    ctypedef struct fastclf_model:
        pass

cdef enum:
    FASTCLF_ABI = 2

cdef enum:
    FASTCLF_OK = 0
    FASTCLF_BAD_MODEL = 1  # status: the model has no method for this call
    # status: a size or an index is out of range, such as n < 0, or k above the number of rows that can be found
    FASTCLF_BAD_SIZE = 2
    # status: an input is NaN, infinite or another number that the estimator refuses, or a sum overflows
    FASTCLF_BAD_VALUE = 3

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

# The version of the interface in the installed package; `require_abi` below compares it with FASTCLF_ABI.
cdef int abi() noexcept nogil

# The model in an object returned by fastclf.embed, with a new reference for the caller. This function needs the GIL.
cdef fastclf_model* take(object embedded) except NULL
cdef void retain(fastclf_model* model) noexcept nogil
# `release` of the last reference takes the GIL, to free the model's arrays.
cdef void release(fastclf_model* model) noexcept nogil

cdef int kind(const fastclf_model* model) noexcept nogil
cdef Py_ssize_t n_features(const fastclf_model* model) noexcept nogil
# the number of scores that the model computes for each row
cdef Py_ssize_t n_outputs(const fastclf_model* model) noexcept nogil
# the number of classes; 0: the model is no classifier
cdef Py_ssize_t n_classes(const fastclf_model* model) noexcept nogil
cdef Py_ssize_t n_rows(const fastclf_model* model) noexcept nogil       # the number of rows that `nearest` can find
# The scratch space in bytes for a call with n rows and, for `nearest`, k neighbours; more than 32 rows need no more.
cdef Py_ssize_t scratch_size(const fastclf_model* model, Py_ssize_t n, Py_ssize_t k) noexcept nogil

# The k nearest rows of n queries, ascending by (distance, row), as by the method kneighbors.
cdef int nearest_d(
    const fastclf_model* model, const double* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil
cdef int nearest_f(
    const fastclf_model* model, const float* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil

# Signed scores (n, n_outputs). For linear models they are those of decision_function. For support vector machines they
# are w.phi(x) + b for two classes; for more classes there is one score for each pair, as with
# decision_function_shape='ovo'.
cdef int decide_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil
cdef int decide_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil

# log P(x, class) and log P(class | x) of naive Bayes; P(class | x) of naive Bayes and trees: all (n, n_outputs).
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

# The leaf (n,) of each row, as by the method apply of trees. NaN is a missing value. A category is given as its index
# in categories_, and any other number is treated as a missing value.
cdef int apply_d(const fastclf_model* model, const double* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil
cdef int apply_f(const fastclf_model* model, const float* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil

# The index (n,) in classes_ of each row's predicted class, for all classifiers except nearest neighbours.
cdef int classify_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil
cdef int classify_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil

# The predictions (n, n_outputs) of regression trees.
cdef int estimate_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil
cdef int estimate_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil

# Building blocks, which need no model

# `dot` is x'y, summed in float64; `axpy` is y += a x.
cdef double dot_d(const double* x, const double* y, Py_ssize_t n) noexcept nogil
cdef double dot_f(const float* x, const float* y, Py_ssize_t n) noexcept nogil
cdef int axpy_d(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil
cdef int axpy_f(Py_ssize_t n, float a, const float* x, float* y) noexcept nogil

# The k smallest pairs (distance, index), ordered by distance and then by index. Call `heap_begin`, then `heap_push` for
# any number of pairs, and then `heap_sort` for ascending order. Unused places have infinite distance.
cdef int heap_begin(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil
cdef int heap_push(double* distance, Py_ssize_t* index, Py_ssize_t k, double a, Py_ssize_t i) noexcept nogil
cdef int heap_sort(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil

# out[q, r] = |queries[q] - rows[r]|^2 in float64, (n_queries, n_rows). The scratch space takes
# squared_distances_scratch(d) bytes.
cdef Py_ssize_t squared_distances_scratch(Py_ssize_t d) noexcept nogil
cdef int squared_distances_d(
    const double* rows, Py_ssize_t n_rows, const double* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil
cdef int squared_distances_f(
    const float* rows, Py_ssize_t n_rows, const float* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil

# The best split of an ascending column: x[:cut] go left; cut is -1 if no split is allowed. `code` has classes 0 to
# n_classes - 1; for FASTCLF_SQUARED_ERROR `code` is NULL, `y` has the targets, and n_classes is 1. `weight` may be
# NULL. Of several columns of the same rows, the one with the largest score has the best split. The scratch space takes
# best_split_scratch bytes.
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
# grad = Qa - 1, which is -1 at a = 0. The pair with the largest gain (WSS 2 of Fan, Chen, Lin 2005) is chosen by two
# functions, since the choice of j needs row i of K; a third takes its step. `violation`, of the optimality conditions,
# serves as stopping criterion; i or j is -1 if no index can change.
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

# One epoch of the perceptron, over the rows in `order`, or first to last if it is NULL; codes are 0 (negative) and 1.
# `w` (d,), `b` and `mistakes` are updated in place.
cdef int perceptron_epoch_d(
    const double* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil
cdef int perceptron_epoch_f(
    const float* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil

# The index of a text among the categories of a column of a TableClassifier: the number that stands for the text in the
# model's rows. NaN for NULL, for a text that is no category, and for a column of numbers. Since version 2.
cdef double category(const fastclf_model* model, Py_ssize_t column, const char* text) noexcept nogil


cdef inline int require_abi() except -1:
    """Refuse an installed package that is older than the interface compiled against; to be called once, at import."""
    if abi() < FASTCLF_ABI:
        raise ImportError(
            f"compiled for version {FASTCLF_ABI} of fastclf's C interface; the fastclf installed has version {abi()}:"
            " upgrade it"
        )
    return 0
