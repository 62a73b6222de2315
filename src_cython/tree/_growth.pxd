# What the kernels of trees read and pass on while a tree grows.
from libc.math cimport log2
from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t

cdef enum:
    GINI
    ENTROPY
    MISCLASSIFICATION
    SQUARED_ERROR  # from here on numbers are predicted
    ABSOLUTE_ERROR
    POISSON

ctypedef struct growth_t:
    uint64_t* items  # n_features lists of n; with `common` one more, of all rows
    Py_ssize_t n, n_features
    Py_ssize_t n_values, n_outputs  # values of a node: the weight of each class of each output, or a number an output
    uint64_t row_mask, class_mask, missing  # missing: the rank of NaN
    int row_bits, rank_shift, criterion
    const double* y  # n_outputs numbers a row, or the places of its classes among the values; NULL: items hold classes
    const double* weight  # NULL: all rows weigh 1
    const double* table  # t of `_plain_split.pxd`, for entropy without weights
    const int32_t* first_value  # n_outputs + 1: where the classes of an output begin
    const int32_t* n_codes  # n_features: how many categories, 0: a feature of numbers; NULL: all are
    const int8_t* monotonic  # n_features: -1, 0 or 1; NULL: all 0
    const int32_t* common  # n_features: the rank of a value whose rows the list leaves out, -1: none; NULL: all
    const int32_t* common_row  # a row that has it
    uint8_t* side  # of each row: 1 goes left
    Py_ssize_t max_depth, min_split, min_leaf, max_features, most_words
    double min_leaf_weight, min_decrease, total_weight
    uint64_t seed

ctypedef struct node_t:
    Py_ssize_t start, stop, depth, list  # list: of a feature whose list holds the node's rows
    Py_ssize_t n_constant  # features that are known to be constant in it, the first of its part's
    bint leaf
    uint64_t path  # a number made of the turns from the root
    double weight, impurity
    double* values  # n_values; with `monotonic` then the least and the most that the node may predict

ctypedef struct group_t:
    double mean
    Py_ssize_t start, stop

ctypedef struct room_t:
    double* sides  # 2 n_values
    uint64_t* items  # as many as the node has rows
    group_t* groups  # of the categories of a feature and what is missing
    double* losses  # 7 a row of the node, for absolute errors


cdef inline Py_ssize_t row_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item & g.row_mask


cdef inline Py_ssize_t class_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item >> g.row_bits & g.class_mask


cdef inline uint64_t rank_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item >> g.rank_shift


cdef inline bint same_value(const growth_t* g, uint64_t a, uint64_t b) noexcept nogil:
    return (a ^ b) >> g.rank_shift == 0


cdef inline bint is_short(const growth_t* g, Py_ssize_t feature) noexcept nogil:
    """Whether the list leaves out the rows of a common value."""
    return g.common != NULL and feature < g.n_features and g.common[feature] >= 0


cdef inline Py_ssize_t length_of(const growth_t* g, const uint64_t* list, Py_ssize_t n) noexcept nogil:
    """How many of the node's n rows are in such a list: all, or its last item has the rank of what is missing."""
    return list[n - 1] & g.row_mask if rank_of(g, list[n - 1]) == g.missing else n


cdef inline void set_length(const growth_t* g, uint64_t* list, Py_ssize_t n, Py_ssize_t length) noexcept nogil:
    if length < n:
        list[n - 1] = g.missing << g.rank_shift | <uint64_t> length


cdef inline bint is_constant(
    const growth_t* g, Py_ssize_t feature, const uint64_t* list, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t length = length_of(g, list, n) if is_short(g, feature) else n
    return length == 0 or (length == n and same_value(g, list[0], list[n - 1]))


cdef inline double weight_of(const growth_t* g, Py_ssize_t row) noexcept nogil:
    return 1 if g.weight == NULL else g.weight[row]


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log2(x) if x > 0 else 0
