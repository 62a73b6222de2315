# Minimal cost-complexity pruning, from the leaves up (Breiman et al. 1984, chapter 3). The least cost of the subtree
# below node t, for the price alpha of a leaf and the risk R(t) of t as a leaf,
#
#     F_t(alpha) = min(R(t) + alpha, F_left(alpha) + F_right(alpha))
#
# is concave and piecewise linear in alpha. From alpha_t on, where the two arguments of the minimum are equal, t is a
# leaf of the smallest best subtree. F_left + F_right is kept as a heap of breakpoints (alpha, number of leaves removed
# there), with the largest alpha on top. Breakpoints beyond alpha_t are popped, and alpha_t is pushed. Each breakpoint
# is pushed and popped at most once, so the cost is O(n log n) at any depth.
#
# in:  right: right[t] == t if t is a leaf, else its children are t + 1 and right[t]; risk: R(t)
# out: alpha[t], infinite for leaves; fewer[t]: the number of leaves removed at alpha[t] if t is a breakpoint of the
#      root, else 0
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t


cdef int32_t melded(int32_t a, int32_t b, const double* key, int32_t* low, int32_t* high) noexcept nogil:
    """The root of the union of two skew heaps with the roots a and b, where -1 is an empty heap."""
    cdef int32_t root = -1
    cdef int32_t* place = &root
    while a >= 0 and b >= 0:
        if key[b] > key[a]:
            a, b = b, a
        place[0] = a
        place = &low[a]
        # of two heaps the one with the larger root stays on top: its children are swapped, and its former child in
        # `high` is melded with the other heap
        low[a], high[a], a = high[a], low[a], high[a]
    place[0] = a if a >= 0 else b
    return root


cdef void weakest_links(
    const int32_t* right, const double* risk, Py_ssize_t n, double* alpha, int64_t* fewer, int32_t* heap, int32_t* low,
    int32_t* high
) noexcept nogil:
    cdef Py_ssize_t t
    cdef int32_t top
    cdef double constant
    cdef int64_t slope
    for t in range(n - 1, -1, -1):
        heap[t] = low[t] = high[t] = -1
        alpha[t] = INFINITY
        fewer[t] = 0
        if right[t] == t:
            continue
        top = melded(heap[t + 1], heap[right[t]], alpha, low, high)
        constant = risk[t + 1] + risk[right[t]]
        slope = 2
        while top >= 0 and constant + (slope - 1) * alpha[top] >= risk[t]:
            constant -= fewer[top] * alpha[top]
            slope += fewer[top]
            fewer[top] = 0
            top = melded(low[top], high[top], alpha, low, high)
        alpha[t] = max((risk[t] - constant) / (slope - 1), 0.0)
        fewer[t] = slope - 1
        low[t] = high[t] = -1
        heap[t] = melded(<int32_t> t, top, alpha, low, high)


def right_children(const uint8_t[::1] leaf, int32_t[::1] right_out):
    """Write the right child of each node, from a mask of the leaves in pre-order; a leaf is its own right child."""
    cdef Py_ssize_t t
    cdef int32_t waiting = -1, before  # waiting: the number of the last node whose right child is not known yet
    with nogil:
        for t in range(leaf.shape[0]):
            if not leaf[t]:
                right_out[t] = waiting
                waiting = <int32_t> t
                continue
            right_out[t] = <int32_t> t
            if waiting >= 0:
                before = right_out[waiting]
                right_out[waiting] = <int32_t> t + 1
                waiting = before


def links(const int32_t[::1] right, const double[::1] risk, double[::1] alpha_out, int64_t[::1] fewer_out,
          int32_t[:, ::1] heaps):
    """Write each node's alpha and the number of leaves that pruning at it removes; heaps: scratch (3, n_nodes)."""
    with nogil:
        weakest_links(
            &right[0], &risk[0], right.shape[0], &alpha_out[0], &fewer_out[0], &heaps[0, 0], &heaps[1, 0], &heaps[2, 0]
        )


def least_above(const int32_t[::1] right, const double[::1] alpha, double[::1] least_out):
    """Write for each node the least alpha at which an ancestor becomes a leaf by pruning; infinity for the root."""
    cdef Py_ssize_t t, n = right.shape[0]
    with nogil:
        least_out[0] = INFINITY
        for t in range(n):
            if right[t] != t:
                least_out[t + 1] = least_out[right[t]] = min(least_out[t], alpha[t])
