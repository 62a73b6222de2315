# The construction of a kd-tree: rows are sorted into leaves, and the boxes around the rows of each node are computed.
# `_kdtree_layout.pxd` describes the layout.
from cython cimport floating
from libc.string cimport memcpy

from neighbors._kdtree_layout cimport FAN, LEAF
from _vector cimport require

LEAF_ROWS = LEAF
NODE_CHILDREN = FAN


cdef inline Py_ssize_t middle(Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """The first leaf of the second half of leaves first..last, where a node is cut between two of its children."""
    cdef Py_ssize_t size = 1
    while size * FAN < last - first:
        size *= FAN
    return first + (last - first + size - 1) // size // 2 * size


cdef Py_ssize_t widest(
    const floating* X, Py_ssize_t d, const Py_ssize_t* rows, Py_ssize_t n, const double* scale
) noexcept nogil:
    """The coordinate j with the largest range times scale[j], over 64 of the rows, or over all if the 64 are equal."""
    cdef Py_ssize_t step = max(1, n // 64), i, j, best = 0
    cdef double largest = 0
    cdef floating low, high, x
    while True:
        for j in range(d):
            low = high = X[rows[0] * d + j]
            i = 0
            while i < n:
                x = X[rows[i] * d + j]
                low = min(low, x)
                high = max(high, x)
                i += step
            if (<double> high - <double> low) * scale[j] > largest:
                largest = (<double> high - <double> low) * scale[j]
                best = j
        if largest > 0 or step == 1:
            return best
        step = 1


cdef void bracket(
    const floating* keys, Py_ssize_t n, Py_ssize_t rank, floating* low_out, floating* high_out
) noexcept nogil:
    """Choose, by a sample of the keys to be ranked, two between which the key of the given rank most likely lies."""
    cdef floating sample[1024]
    cdef Py_ssize_t size = 8, i, hole, place, reach = 2
    cdef unsigned long long state = 88172645463325252
    cdef floating x
    while size < 1024 and size * size < n:
        size *= 2
    while reach * reach < size:
        reach += 1
    for i in range(size):
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        x = keys[<Py_ssize_t> (state % <unsigned long long> n)]
        hole = i
        while hole > 0 and x < sample[hole - 1]:
            sample[hole] = sample[hole - 1]
            hole -= 1
        sample[hole] = x
    place = <Py_ssize_t> (<double> rank / n * size)
    low_out[0] = sample[max(0, place - reach)]
    high_out[0] = sample[min(size - 1, place + reach)]


cdef floating select(
    const floating* keys, Py_ssize_t n, Py_ssize_t rank, floating* scratch, Py_ssize_t* n_less_out
) noexcept nogil:
    """The key of the given rank, counted from 0, and the number of smaller keys.

    Takes about 1.3 passes over the keys, without a branch that depends on a key.
    """
    cdef Py_ssize_t i, kept, up_to_low, below_low, up_to_high, below_high, less = 0
    cdef floating low, high, x
    cdef int side
    require(0 <= rank < n)
    while n > 64:
        bracket(keys, n, rank, &low, &high)
        below_low = up_to_low = below_high = up_to_high = 0
        for i in range(n):
            x = keys[i]
            below_low += x < low
            up_to_low += x <= low
            below_high += x < high
            up_to_high += x <= high
        if below_low <= rank < up_to_low:
            n_less_out[0] = less + below_low
            return low
        if below_high <= rank < up_to_high:
            n_less_out[0] = less + below_high
            return high
        # only the part of the keys that has the wanted rank is kept: those below `low`, between `low` and `high`, or
        # above `high`
        side = 0 if rank < below_low else (1 if rank < below_high else 2)
        kept = 0
        for i in range(n):
            x = keys[i]
            scratch[kept] = x
            kept += x < low if side == 0 else (x > high if side == 2 else (x > low) & (x < high))
        if side:
            less += up_to_low if side == 1 else up_to_high
            rank -= up_to_low if side == 1 else up_to_high
        n = kept
        keys = scratch
    for i in range(n):
        x = keys[i]
        below_low = up_to_low = 0
        for kept in range(n):
            below_low += keys[kept] < x
            up_to_low += keys[kept] <= x
        if below_low <= rank < up_to_low:
            n_less_out[0] = less + below_low
            return x
    require(False)
    return keys[0]


cdef inline void partition(
    const floating* keys, const Py_ssize_t* rows, Py_ssize_t n, floating pivot, Py_ssize_t* cursor, Py_ssize_t* out
) noexcept nogil:
    """Append rows with keys below the pivot at out[cursor[0]], and rows with keys above the pivot at out[cursor[1]].

    Of the rows whose keys equal the pivot, the first cursor[2] count as smaller. The cursors advance.
    """
    cdef Py_ssize_t smaller = cursor[0], greater = cursor[1], ties = cursor[2], i
    cdef bint left, tie
    for i in range(n):
        tie = (keys[i] == pivot) & (ties > 0)
        left = (keys[i] < pivot) | tie
        ties -= tie
        out[smaller if left else greater] = rows[i]
        smaller += left
        greater += 1 - left
    cursor[0] = smaller
    cursor[1] = greater
    cursor[2] = ties


ctypedef struct leaves_t:
    Py_ssize_t d
    Py_ssize_t n
    # (d,): a factor for each coordinate's range, by which the widest coordinate of a node is chosen
    const double* scale
    Py_ssize_t* rows     # (n,): row numbers, which are sorted by leaf in place
    Py_ssize_t* moved    # (n,): scratch space for row numbers while they are sorted


cdef void sort_leaves(
    const leaves_t* s, const floating* X, Py_ssize_t first, Py_ssize_t last, floating* keys, floating* scratch
) noexcept nogil:
    """Sort the row numbers of leaves first..last in s.rows by leaf; keys and scratch are scratch space, (n,)."""
    cdef Py_ssize_t begin = first * LEAF, end = min(last * LEAF, s.n), cut, i, j, n_less
    cdef Py_ssize_t cursor[3]
    cdef floating pivot
    if last - first < 2:
        return
    cut = middle(first, last)
    j = widest(X, s.d, s.rows + begin, end - begin, s.scale)
    for i in range(begin, end):
        keys[i] = X[s.rows[i] * s.d + j]
    pivot = select(keys + begin, end - begin, cut * LEAF - begin, scratch + begin, &n_less)
    cursor[0] = begin
    cursor[1] = cut * LEAF
    cursor[2] = cut * LEAF - begin - n_less
    partition(keys + begin, s.rows + begin, end - begin, pivot, cursor, s.moved)
    memcpy(s.rows + begin, s.moved + begin, (end - begin) * sizeof(Py_ssize_t))
    sort_leaves(s, X, first, cut, keys, scratch)
    sort_leaves(s, X, cut, last, keys, scratch)


def build_leaves(leaves, Py_ssize_t first, Py_ssize_t last, floating[::1] keys, floating[::1] scratch):
    """Sort the row numbers of leaves first..last by leaf, in a LeafSort of `fastclf/neighbors/kdtree.py`."""
    cdef leaves_t s
    cdef const floating[:, ::1] X = leaves.X
    cdef const double[::1] scale = leaves.scale
    cdef Py_ssize_t[::1] rows = leaves.rows, moved = leaves.moved
    s.d, s.n, s.scale, s.rows, s.moved = X.shape[1], X.shape[0], &scale[0], &rows[0], &moved[0]
    with nogil:
        sort_leaves(&s, &X[0, 0], first, last, &keys[0], &scratch[0])


# The functions below are the short steps by which a node of many rows is cut in two; Ctrl-C is obeyed between them.


def cut_leaf(Py_ssize_t first, Py_ssize_t last):
    """The first leaf of the second half of the node that spans leaves first..last."""
    return middle(first, last)


def widest_side(const floating[:, ::1] X, const Py_ssize_t[::1] rows, const double[::1] scale):
    """The coordinate j in which a sample of the given rows has the largest range times scale[j]."""
    return widest(&X[0, 0], X.shape[1], &rows[0], rows.shape[0], &scale[0])


def gather_keys(
    const floating[:, ::1] X, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const Py_ssize_t[::1] rows,
    floating[::1] keys,
):
    """Write the keys by which rows are partitioned: keys[i] = X[rows[i], j] for i from start to stop."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(start, stop):
            keys[i] = X[rows[i], j]


def select_key(const floating[::1] keys, Py_ssize_t rank, floating[::1] scratch):
    """The key of a rank, counted from 0 upwards, among `keys`, a coordinate of rows; and the number of smaller keys."""
    cdef Py_ssize_t n_less
    cdef floating key
    with nogil:
        key = select(&keys[0], keys.shape[0], rank, &scratch[0], &n_less)
    return key, n_less


def partition_rows(
    const floating[::1] keys, const Py_ssize_t[::1] rows, Py_ssize_t start, Py_ssize_t stop, floating pivot,
    Py_ssize_t[::1] cursor, Py_ssize_t[::1] moved,
):
    """Append rows[start:stop] to two lists in `moved`: rows with keys below `pivot`, a key, and rows above."""
    with nogil:
        partition(&keys[start], &rows[start], stop - start, pivot, &cursor[0], &moved[0])


def pack_leaves(
    const floating[:, ::1] X, const Py_ssize_t[::1] rows, Py_ssize_t start, Py_ssize_t stop,
    floating[:, :, ::1] panels, floating[:, :, :, ::1] boxes,
):
    """Fill the panels of leaves start..stop, and write the leaves' boxes; the last row of X pads the last leaf."""
    cdef Py_ssize_t d = X.shape[1], n = X.shape[0], leaf, j, r, row
    cdef floating low, high
    with nogil:
        for leaf in range(start, stop):
            for r in range(LEAF):
                row = rows[min(leaf * LEAF + r, n - 1)]
                for j in range(d):
                    panels[leaf, j, r] = X[row, j]
            for j in range(d):
                low = high = panels[leaf, j, 0]
                for r in range(LEAF):
                    low = min(low, panels[leaf, j, r])
                    high = max(high, panels[leaf, j, r])
                boxes[leaf // FAN, 0, j, leaf % FAN] = low
                boxes[leaf // FAN, 1, j, leaf % FAN] = high


def pack_nodes(floating[:, :, :, ::1] boxes, floating[:, :, :, ::1] boxes_above):
    """Write each node's box, around its children's boxes, into its parent; a missing child's limits are (inf, -inf)."""
    cdef Py_ssize_t node, j, c
    cdef floating low, high
    with nogil:
        for node in range(boxes.shape[0]):
            for j in range(boxes.shape[2]):
                low = boxes[node, 0, j, 0]
                high = boxes[node, 1, j, 0]
                for c in range(FAN):
                    low = min(low, boxes[node, 0, j, c])
                    high = max(high, boxes[node, 1, j, c])
                boxes_above[node // FAN, 0, j, node % FAN] = low
                boxes_above[node // FAN, 1, j, node % FAN] = high
