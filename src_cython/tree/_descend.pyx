# Predictions, for which rows descend a tree to their leaves, and checks of a tree's structure.
#
# steps[node] = (threshold, feature, right child). Nodes are in pre-order, so that the left child is node + 1. A leaf is
# its own right child and has the threshold NaN, so that no value goes left: a row that descends further stays in the
# leaf. The number of the feature has two more bits. MISSING_LEFT sends NaN to the left. SUBSET says that the threshold
# is an index in `subsets`, where the number of categories stands, followed by one bit for each category, 1 for left. A
# value that is none of these categories goes where NaN goes.
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from _finite cimport any_infinite
from _model cimport apply_double_f, apply_float_f, model_t
from _status cimport FASTCLF_BAD_VALUE, FASTCLF_OK
from _vector cimport prefetch

cdef enum:
    # the number of rows that descend the tree side by side, so that cache misses overlap; a row that has reached its
    # leaf is replaced by the next row
    ROWS = 16
    # all cache lines of a row, if they are LINES at most, are fetched AHEAD rows before its descent: a tree reads
    # columns in no order that processors foresee
    LINES = 16
    AHEAD = 4
    MISSING_LEFT = 30  # the number of the bit, the highest of a feature
    SUBSET = 1 << 29
    FEATURE = SUBSET - 1


cdef extern from "<math.h>" nogil:
    int32_t isunordered(double x, double y)
    int32_t isgreaterequal(double x, double y)

cdef extern from *:  # Cython's hint for the compiler
    bint unlikely(bint condition) nogil


cdef struct step_t:
    double threshold
    int32_t feature
    int32_t right


cdef inline int32_t goes_left(const step_t* step, const uint64_t* subsets, const floating* x) noexcept nogil:
    cdef floating value = x[step.feature & FEATURE]
    cdef int32_t missing_left = step.feature >> MISSING_LEFT
    cdef const uint64_t* subset
    if unlikely((step.feature & SUBSET) != 0):
        subset = subsets + <Py_ssize_t> step.threshold
        if not (value >= 0 and value < subset[0]):
            return missing_left
        return subset[1 + (<uint64_t> value >> 6)] >> (<uint64_t> value & 63) & 1
    # the comparison with the threshold is computed without a branch, since the processor would mispredict half of the
    # branches; a leaf, whose threshold is NaN, sends no missing values to the left
    return isgreaterequal(step.threshold, value) | (isunordered(step.threshold, value) & missing_left)


cdef inline void fetch(const void* address, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t k = 0
    while k < size:
        prefetch(<const char*> address + k)
        k += 64


cdef void descend(
    const step_t* steps, const uint64_t* subsets, const floating* X, Py_ssize_t d, Py_ssize_t start, Py_ssize_t stop,
    int64_t* leaf_out
) noexcept nogil:
    cdef int32_t node[ROWS]
    cdef const floating* x[ROWS]
    cdef int64_t* out[ROWS]
    cdef Py_ssize_t waiting = min(start + <Py_ssize_t> ROWS, stop), n_rows = waiting - start, i
    cdef Py_ssize_t last = stop - AHEAD if d * <Py_ssize_t> sizeof(floating) <= 64 * LINES else 0
    cdef int32_t here, right, next_node
    cdef const step_t* step
    for i in range(n_rows):
        node[i], x[i], out[i] = 0, X + (start + i) * d, leaf_out + start + i
    while n_rows > 0:
        i = 0
        while i < n_rows:
            here = node[i]
            step = steps + here
            right = step.right
            next_node = right ^ ((right ^ (here + 1)) & -goes_left(step, subsets, x[i]))
            if next_node != here:
                node[i] = next_node
            else:
                out[i][0] = here
                if waiting < stop:
                    if waiting < last:
                        fetch(X + (waiting + AHEAD) * d, d * sizeof(floating))
                    node[i], x[i], out[i] = 0, X + waiting * d, leaf_out + waiting
                    waiting += 1
                else:
                    n_rows -= 1
                    node[i], x[i], out[i] = node[n_rows], x[n_rows], out[n_rows]
            i += 1


cdef int apply_rows(const model_t* model, const floating* X, Py_ssize_t n, int64_t* leaf_out) noexcept nogil:
    cdef const step_t* steps = <const step_t*> model.tree.steps
    cdef int32_t node = -1, next_node = 0
    if any_infinite(X, n * model.n_features):
        return FASTCLF_BAD_VALUE
    if n == 1:
        while node != next_node:
            node = next_node
            next_node = node + 1 if goes_left(steps + node, model.tree.subsets, X) else steps[node].right
        leaf_out[0] = node
    else:
        descend(steps, model.tree.subsets, X, model.n_features, 0, n, leaf_out)
    return FASTCLF_OK


cdef apply_float_f _apply_floats = apply_rows[float]
cdef apply_double_f _apply_doubles = apply_rows[double]
ADDRESSES = {"apply_f": <size_t> _apply_floats, "apply_d": <size_t> _apply_doubles}


def apply(const int64_t[:, ::1] steps, const uint64_t[::1] subsets, const floating[:, ::1] X, Py_ssize_t start,
          Py_ssize_t stop, int64_t[::1] leaf_out):
    """Write the number of the leaf that each of the rows [start, stop) reaches."""
    with nogil:
        descend(<const step_t*> &steps[0, 0], &subsets[0], &X[0, 0], X.shape[1], start, stop, &leaf_out[0])


def paths(const int64_t[:, ::1] steps, const uint64_t[::1] subsets, const floating[:, ::1] X, Py_ssize_t start,
          Py_ssize_t stop, const int64_t[::1] indptr, int64_t[::1] nodes_out):
    """Write the nodes on the paths of rows [start, stop); the path of row i begins at nodes_out[indptr[i]]."""
    cdef const step_t* step = <const step_t*> &steps[0, 0]
    cdef Py_ssize_t i, k, node
    with nogil:
        for i in range(start, stop):
            node = 0
            for k in range(indptr[i], indptr[i + 1]):
                nodes_out[k] = node
                node = node + 1 if goes_left(step + node, &subsets[0], &X[i, 0]) else step[node].right


def pack(const double[::1] threshold, const int32_t[::1] feature, const int32_t[::1] right, int64_t[:, ::1] steps_out):
    cdef step_t* step = <step_t*> &steps_out[0, 0]
    cdef Py_ssize_t i
    for i in range(threshold.shape[0]):
        step[i].threshold, step[i].feature, step[i].right = threshold[i], feature[i], right[i]


def unpack(const int64_t[:, ::1] steps, double[::1] threshold_out, int32_t[::1] feature_out, int32_t[::1] right_out):
    cdef const step_t* step = <const step_t*> &steps[0, 0]
    cdef Py_ssize_t i
    for i in range(steps.shape[0]):
        threshold_out[i], feature_out[i], right_out[i] = step[i].threshold, step[i].feature, step[i].right


def depths(const int32_t[::1] right, int64_t[::1] depth_out):
    """Write the depth of each node; right[i] is the right child of node i, or i itself for a leaf."""
    cdef Py_ssize_t i, n = right.shape[0]
    with nogil:
        depth_out[0] = 0
        for i in range(n):
            if right[i] != i:
                depth_out[i + 1] = depth_out[right[i]] = depth_out[i] + 1


def is_tree(const int32_t[::1] right):
    """Whether the nodes form one tree in pre-order; right[i] is the right child of node i, or i itself for a leaf."""
    cdef Py_ssize_t i, n = right.shape[0], n_open = 0
    cdef int32_t[::1] waiting = right.copy()
    for i in range(n):
        # a leaf ends a left subtree, so the next node must be the right child of the last parent that still waits for
        # one
        if right[i] == i:
            if i + 1 == n:
                return n_open == 0
            if n_open == 0 or waiting[n_open - 1] != i + 1:
                return False
            n_open -= 1
        else:
            if right[i] <= i + 1 or right[i] >= n:
                return False
            waiting[n_open] = right[i]
            n_open += 1
    return False


def keep(const int32_t[::1] right, const uint8_t[::1] collapsed, uint8_t[::1] kept_out):
    """Write a mask of the nodes that remain in a pruned tree, in which the nodes marked in `collapsed` are leaves."""
    cdef Py_ssize_t i = 0, j, n = right.shape[0]
    with nogil:
        for j in range(n):
            kept_out[j] = 0
        while i < n:
            kept_out[i] = 1
            if collapsed[i] and right[i] != i:
                j = right[i]
                while right[j] != j:
                    j = right[j]
                i = j
            i += 1
