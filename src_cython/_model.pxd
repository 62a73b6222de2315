# A fitted model for functions over raw pointers. The arrays of a model are never written; its `owner` keeps them alive.
#
# A kernel module that is compiled at a SIMD level lists the addresses of its functions over models in `ADDRESSES`. A
# model holds the addresses for the level chosen at import, so that each call runs at this level.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t

# The name of the PyCapsule of a model.
cdef extern from *:
    """
    #define FASTCLF_MODEL_NAME "fastclf.model"
    """
    const char* MODEL "FASTCLF_MODEL_NAME"

ctypedef struct model_t

# A search for the nearest rows of queries, which C callers pass as pointers, and the arrays for its results.
ctypedef struct raw_search_t:
    const double* query          # (n, n_features) the queries, whose nearest rows are wanted
    Py_ssize_t n                 # the number of queries, at most QUERIES of `neighbors/_raw_queries.pxd`
    Py_ssize_t k                 # the number k of neighbours that are wanted for each query
    double* distance             # (n, k) written: the distances from each query to its neighbours, ascending
    Py_ssize_t* index            # (n, k) written: the row numbers of each query's neighbours
    char* scratch                # scratch space of at least as many bytes as `scratch_size` of `capi.pyx` returns

ctypedef int (*search_f)(const model_t*, const raw_search_t*) noexcept nogil
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
# The types of functions whose arguments are those of functions of the C interface, `fastclf/capi.pxd`.
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
# A feature's column, sorted in ascending order, and pointers to which its best split is written.
ctypedef struct column_t:
    const int* code              # (n,) the class of each row; NULL for regression
    const double* y              # (n,) the target of each row; NULL for classification
    const double* weight         # (n,) the weight, at least 0, of each row; NULL: all weights are 1
    Py_ssize_t n
    Py_ssize_t n_classes
    int criterion
    Py_ssize_t min_leaf
    Py_ssize_t* cut              # written: the number of rows on the left of the best split; -1: there is no split
    # written, if there is a split: the threshold of the best split, up to which values go left
    double* threshold
    double* score                # written: the score of the best split, which is larger for purer sides
    char* scratch                # scratch space for 2 n + 3 n_classes doubles and their alignment

ctypedef int (*split_float_f)(const float*, const column_t*) noexcept nogil
ctypedef int (*split_double_f)(const double*, const column_t*) noexcept nogil

# The state of a solver of the dual problem of a support vector machine:
#
#     min 1/2 a'Qa - 1'a  subject to  y'a = 0,  0 <= a_i <= C_i
ctypedef struct dual_t:
    Py_ssize_t n
    const double* y              # (n,) y, the label of each row, -1 or 1
    const double* C              # (n,) C_i, the upper bound of each row's variable a_i of the SVM's dual problem
    # (n,) the variables a of the SVM's dual problem, one for each row; a step of the solver changes two of them
    double* alpha
    # (n,) the gradient Qa - 1 of the dual objective 1/2 a'Qa - 1'a of the SVM; a step of the solver updates it
    double* grad

ctypedef int (*smo_first_f)(const dual_t*, Py_ssize_t*, double*) noexcept nogil
ctypedef int (*smo_second_f)(const dual_t*, Py_ssize_t, const double*, const double*, Py_ssize_t*) noexcept nogil
ctypedef int (*smo_step_f)(const dual_t*, Py_ssize_t, Py_ssize_t, const double*, const double*) noexcept nogil

# One-byte codes of n queries, from which a search bounds distances, so as to skip rows without computing their
# distances. `filter_t` of `neighbors/_code_lists.pxd` explains the fields; each array after `code` has n entries.
ctypedef struct query_codes_t:
    unsigned char* code          # (n rounded up to a multiple of 4, width) the code of each query, `width` bytes
    double* base
    double* total
    double* slack
    double* length
    double* per
    double* shift

# The type of a function that writes the one-byte codes of n queries; its last argument is scratch space.
ctypedef void (*encode_f)(
    const model_t*, const double*, const double*, Py_ssize_t, const query_codes_t*, char*
) noexcept nogil

ctypedef struct neighbors_t:
    Py_ssize_t n_rows
    Py_ssize_t n_findable
    bint narrow                  # whether X, the rows to search, is float32, not float64
    const void* X                # (n_rows, n_features) float32 or float64: the rows to search
    const void* metrics          # the metric and its parameters, a metrics_t of `neighbors/_metrics.pxd` on the C heap
    const unsigned char* allowed  # (n_rows,) 1 for each row that may be found; NULL: all rows may be found
    # the next fields belong to an index with one-byte codes of its rows, by which a search skips most rows without
    # computing their distances; `neighbors/_code_lists.pxd` and `neighbors/_encode.pyx` explain them
    Py_ssize_t width             # the number of bytes of a row's code; 0: the index has no codes
    const unsigned char* code
    const int* half
    const float* slack
    const float* length
    # the number of axes on which rows are projected before they are coded; 0: they are not projected
    Py_ssize_t n_axes
    const double* center
    double scale, step, code_shift, delta, kappa, per, center_norm
    const float* axes
    const float* axes_t
    encode_f encode
    # the search that compares each query with every row; it is called instead of a search by codes that would save no
    # time
    search_f scan
    # the next fields are the arrays of a kd-tree, which `fastclf/neighbors/kdtree.py` explains
    const void* panels
    const void* boxes
    const Py_ssize_t* rows

ctypedef void (*normalise_f)(double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint) noexcept nogil

ctypedef struct linear_t:
    const double* coef           # (n_outputs, n_features) the coefficients of a linear model
    const double* intercept      # (n_outputs,) the intercepts of a linear model

ctypedef struct bayes_t:
    Py_ssize_t width             # the number of classes, rounded up to a multiple of a SIMD vector's length
    # (n_outputs,) for each class the log joint, log P(x, class), before the terms of the row's features are added
    const double* begin
    # (padded n_classes,) zeros, the constant terms for kernels to add if `begin` already includes all constant terms
    const double* zero
    # (padded n_classes,) for each class the sum over the features of the constant terms of Gaussian log densities;
    # NULL: the model is not Gaussian
    const double* constant
    # (n_features, padded n_classes) the mean of each feature in each class; NULL: the model is not Gaussian
    const double* mean
    # (n_features, padded n_classes) for each class the coefficient of each feature's value or, in a Gaussian model, of
    # its squared distance from the mean; for categorical features a row of log probabilities for each category
    const double* weight
    # (n_features + 1,) the row of `weight`, here a table of log probabilities, at which each feature's categories
    # begin; NULL: features are numbers
    const int64_t* first
    bint binary                  # whether feature values are replaced by 1 above `threshold`, and by 0 otherwise
    double threshold
    bint nonnegative             # whether negative feature values are refused
    # (n_features, padded n_classes) 1 if a feature value above 0 has probability 0 in the class, so that the class is
    # impossible, else 0; NULL: all entries would be 0
    const double* impossible
    # (n_features, padded n_classes) 1 if the feature value 0 has probability 0 in the class, so that the class is
    # impossible, else 0; NULL: all entries would be 0
    const double* wanted
    # (n_outputs,) for each class the number of features whose value 0 makes the class impossible, so that a row needs
    # all of them above 0
    const double* n_wanted
    normalise_f normalise

ctypedef struct tree_t:
    const int64_t* steps
    # the sets of categories by which the tree's nodes split, as `tree/_descend.pyx` describes them
    const uint64_t* subsets
    const double* value          # (n_nodes, n_outputs) the tree's prediction in each node
    const int32_t* best          # (n_nodes,) the predicted class of each node
    apply_float_f apply_float
    apply_double_f apply_double

ctypedef struct machine_t:
    int kernel
    int degree
    double gamma, coef0
    Py_ssize_t n_support
    const double* support        # (n_support, n_features) the support vectors of a kernel machine, sorted by class
    const int64_t* starts        # (n_classes + 1,) the index of each class's first support vector, then n_support
    # (n_classes - 1, n_support) the coefficients of the support vectors, in libsvm's layout
    const double* coef
    const double* intercept      # (n_outputs,) the intercept of the decision function of each pair of classes

# The types of functions that convert a table's rows to features. Their arguments are the model, n rows of the table, n,
# and the array to which the features of these rows are written.
ctypedef void (*features_float_f)(const model_t*, const float*, Py_ssize_t, double*) noexcept nogil
ctypedef void (*features_double_f)(const model_t*, const double*, Py_ssize_t, double*) noexcept nogil

# The conversion of a table's rows to features, from which scores are computed. Arrays that have an entry for each
# column have n_features entries.
ctypedef struct table_t:
    # the model that computes scores from the features; NULL: this model has no features other than its rows
    const model_t* inner
    features_float_f features_float
    features_double_f features_double
    const double* mean           # for each column the number that replaces missing values
    # the divisor of each column's numbers, after `mean` is subtracted; NULL: numbers are not scaled
    const double* spread
    # for products of columns: the column numbers of each product's factors, one product after another
    const int* factors
    const int* degree            # (inner.n_features,) the number of factors of each product of columns
    const int* levels            # the number of categories of each column; -1: the column is numeric
    # for each column the index of its first category in the arrays `code`, `value` and `begin`, which have an entry for
    # each category of each column; a column's categories are sorted by the bytes of their texts
    const int64_t* first
    const int* code              # the code of each category: its index in the list of its column's categories
    const double* value          # the number that each category's text spells; NaN if it spells none
    const int64_t* begin         # the index in `texts` at which each category's text begins
    const char* texts            # the texts of all categories, each with a zero byte at its end

# The log densities of naive Bayes whose columns have different kinds of distributions, such as normal or categorical;
# `MixedColumn` of `fastclf/embedding/forms.py` explains how a value chooses or computes a term.
ctypedef struct mixed_t:
    const double* begin          # (n_outputs,) the constant term of each class's log density
    # (n_features,) the index of each column's kind in `MIXED_KINDS` of `fastclf/embedding/forms.py`
    const int* kind
    # (n_features,) the number of each column's cells: the values of a categorical column, or the cuts between the bins
    # of a binned one; the cell of x chooses the term that x adds to the log density
    const int* size
    const int* whole             # (n_features,) 1 if the column may have whole numbers only, else 0
    # (n_features,) the index in `terms` at which the numbers of each column begin: its cells, then its log density's
    # terms
    const int64_t* start
    # for each column its cells (the values that it may have, or the cuts between its bins), then the terms of its log
    # density, among which the cell of a value chooses; a term has one number for each class
    const double* terms
    bint missing                 # whether missing values add nothing to log densities; otherwise they are refused

ctypedef struct model_t:
    int64_t references
    void* owner                  # a Python object that keeps the model's arrays alive
    int kind
    Py_ssize_t n_features
    Py_ssize_t n_outputs         # the number of scores of a row; 1 for a regressor with one output
    Py_ssize_t n_classes         # the number of classes; 0: the model is no classifier
    search_f search
    score_float_f score_float
    score_double_f score_double
    neighbors_t neighbors
    linear_t linear
    bayes_t bayes
    tree_t tree
    machine_t machine
    table_t table
    mixed_t mixed


# Take `size` bytes, which begin on a cache line, from the caller's scratch space, and move `scratch` behind them.
cdef inline void* piece(char** scratch, Py_ssize_t size) noexcept nogil:
    cdef char* start = <char*> ((<size_t> scratch[0] + 63) & ~<size_t> 63)
    scratch[0] = start + size
    return start
