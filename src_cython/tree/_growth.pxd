# The data structures of compiled code for growing a tree: lists, nodes, scratch space.
from libc.math cimport log2
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    GINI
    ENTROPY
    MISCLASSIFICATION
    # SQUARED_ERROR and the criteria after it are for regression, the criteria before it for classification
    SQUARED_ERROR
    ABSOLUTE_ERROR
    POISSON

# The sorted lists, the target and the limits of one tree. All fields are set before the first node is split. While the
# tree grows, only `items` and `side` change: the thread that splits a node writes the entries of the node's rows.
#
# A list has one item for each row, in the order of one feature (`_presort.pyx` describes an item). The lists of a node
# are ranges of the same arrays: the node has the rows of items[f * n + start] to items[f * n + stop - 1].
ctypedef struct growth_t:
    # (n_features, n): for each feature the list of its items in sorted order; (n_features + 1, n) if lists leave out a
    # common value: then the last list has all rows
    uint64_t* items
    Py_ssize_t n, n_features
    # row_mask: the bits of an item, an entry of a sorted list, that hold the row number; class_mask: the bits that hold
    # the class, after a shift by row_bits; missing: the rank of NaN
    uint64_t row_mask, class_mask, missing
    int row_bits, rank_shift
    # (n_features,): the rank of the common value that each feature's list leaves out, -1 if the list has all rows;
    # NULL: all lists have all rows
    const int32_t* common
    # (n_features,): for each feature whose list leaves out a common value, the number of one of the rows that have the
    # value
    const int32_t* common_row
    uint8_t* side  # (n,): 1 if the row goes to the left child, else 0; written when the row's node is split
    # the fields from `criterion` to `table` describe the criterion and the target of the tree
    int criterion
    # n_values: the number of values that a node stores: the class weights or the predicted number of each output
    Py_ssize_t n_values, n_outputs
    # (n, n_outputs): the targets, which are numbers or, for class c of output o, first_value[o] + c; NULL: the classes
    # are in the items of the lists
    const double* y
    const double* weight  # (n,): the weights of the rows; NULL: all weights are 1
    const int32_t* first_value  # (n_outputs + 1,): the index of each output's first value among the values of a node
    # (n + 1,): i log2 i for i = 0 to n, in fixed point, from which the entropy of unweighted counts is computed; else
    # NULL
    const double* table
    # (n_features,): the number of each feature's categories, 0 for a numeric feature; NULL: all features are numeric
    const int32_t* n_codes
    # (n_features,): 1 if predictions must not fall as the feature rises, -1 if they must not rise, 0 if the feature has
    # no monotonic constraint; NULL: no feature has one
    const int8_t* monotonic
    Py_ssize_t most_words  # the number of 64-bit words of the largest subset of categories
    # the fields from `max_depth` to `x_rows` are the parameters of the tree's growth
    Py_ssize_t max_depth, min_split, min_leaf, max_features
    double min_leaf_weight, min_decrease, total_weight
    uint64_t seed
    bint drawn  # whether a node tries a single random threshold of each feature, between its least and largest value
    # (number of rows of the data, n_features): X if its type is float32, else NULL; read to draw a random threshold
    # between values of a feature
    const float* x_single
    # (number of rows of the data, n_features): X if its type is float64, else NULL; read to draw a random threshold
    # between values of a feature
    const double* x_double
    const Py_ssize_t* x_rows  # (n,): the row number in X of each row of the tree; NULL: row i of the tree is row i of X

ctypedef struct node_t:
    Py_ssize_t start, stop, depth
    Py_ssize_t list  # the number of a sorted list whose range [start, stop) has all of the node's rows
    Py_ssize_t n_constant  # the number of features that are known to have a single value in the node
    bint leaf  # whether the node stays a leaf, because its targets are equal or a limit forbids a split
    uint64_t path  # a hash of the path from the root to the node, the seed of the node's random draws
    double weight, impurity
    # a power of 2, the factor of y - mean before it is truncated to a whole number; sums of whole numbers have the same
    # bits in any order of the rows
    double scale
    # the row that corrects truncation: the sum over the node's rows of y - mean, multiplied by `scale` and truncated,
    # is subtracted from the number of this row, so that the numbers add up to 0
    Py_ssize_t odd_row
    # the sum over the node's rows of y - mean, multiplied by `scale` and truncated, or, in `_general_split.pxd`, of the
    # rows' weights, which are scaled and truncated as well
    int64_t total
    # (n_values,): the node's class weights or predicted numbers; with monotonic constraints, the lower and the upper
    # bound of its predictions follow
    double* values

# the rows of a node that have one category: their mean response, and their range in the node's list
ctypedef struct group_t:
    double mean
    Py_ssize_t start, stop

ctypedef struct scratch_t:  # scratch space of the search for a node's best split
    # (2 n_values,): for each class or output two sums over rows, for example on the left of a cut and in the node, from
    # which the cut is scored
    double* sides
    # (number of rows of the node,): space for a copy of a list's items, one for each row, while they are put in another
    # order or partitioned between two children
    uint64_t* items
    # (largest number of categories of a feature + 1,): for each category, and for missing values, the group of the
    # node's rows that have it
    group_t* groups
    # (7 times the number of rows of the node,): the heaps of medians and the losses of cuts in the search by absolute
    # error; not used for other criteria
    double* losses


cdef inline Py_ssize_t row_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item & g.row_mask


cdef inline Py_ssize_t class_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item >> g.row_bits & g.class_mask


cdef inline uint64_t rank_of(const growth_t* g, uint64_t item) noexcept nogil:
    return item >> g.rank_shift


cdef inline bint same_value(const growth_t* g, uint64_t a, uint64_t b) noexcept nogil:
    return (a ^ b) >> g.rank_shift == 0


cdef inline uint64_t* list_of(const growth_t* g, Py_ssize_t feature, Py_ssize_t start) noexcept nogil:
    """The address of the item at place `start` of a feature's sorted list."""
    return g.items + feature * g.n + start


cdef inline void set_bits(growth_t* g, int row_bits, int rank_shift) noexcept nogil:
    """Set the masks and shifts that extract the row, the class and the rank from an item of a sorted list."""
    g.row_bits, g.rank_shift = row_bits, rank_shift
    g.row_mask = (<uint64_t> 1 << row_bits) - 1
    g.class_mask = (<uint64_t> 1 << (rank_shift - row_bits)) - 1
    g.missing = ~<uint64_t> 0 >> rank_shift


cdef inline bint is_short(const growth_t* g, Py_ssize_t feature) noexcept nogil:
    """Whether the list of a feature leaves out the rows with the feature's common value."""
    return g.common != NULL and feature < g.n_features and g.common[feature] >= 0


cdef inline Py_ssize_t length_of(const growth_t* g, const uint64_t* list, Py_ssize_t n) noexcept nogil:
    """The number of items in the short list of a node with n rows.

    A short list has no missing values. If it has fewer than n items, the last of its n places has the rank of missing
    values, and the number of items in place of a row.
    """
    return list[n - 1] & g.row_mask if rank_of(g, list[n - 1]) == g.missing else n


cdef inline void set_length(const growth_t* g, uint64_t* list, Py_ssize_t n, Py_ssize_t length) noexcept nogil:
    if length < n:
        list[n - 1] = g.missing << g.rank_shift | <uint64_t> length


cdef inline bint is_constant(
    const growth_t* g, Py_ssize_t feature, const uint64_t* list, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t length = length_of(g, list, n) if is_short(g, feature) else n
    return length == 0 or (length == n and same_value(g, list[0], list[n - 1]))


cdef inline double value_of(const growth_t* g, Py_ssize_t feature, uint64_t item) noexcept nogil:
    """The value of a feature in the row of an item (an entry of a sorted list), for drawing random thresholds."""
    cdef Py_ssize_t row = row_of(g, item)
    if g.x_rows != NULL:
        row = g.x_rows[row]
    row = row * g.n_features + feature
    return g.x_double[row] if g.x_single == NULL else g.x_single[row]


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """Random bits from the bits of x, by the last step of the random number generator splitmix64."""
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


cdef inline double weight_of(const growth_t* g, Py_ssize_t row) noexcept nogil:
    return 1 if g.weight == NULL else g.weight[row]


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log2(x) if x > 0 else 0
