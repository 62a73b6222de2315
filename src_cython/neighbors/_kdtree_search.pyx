# Exact nearest neighbours in few dimensions, by a kd-tree, whose layout `_kdtree_layout.pxd` describes.
#
# The screen (approximate distance, before the root) of a box, which reaches from low_j to high_j in coordinate j, is
# that of the box's point nearest to the query, with the terms
#
#     gap_j = max(low_j - q_j, q_j - high_j, 0)
#
# A row x in the box has |x_j - q_j| >= gap_j, after rounding too, and products, sums and maxima of numbers that are not
# negative are monotone, fused or not, rounded or not. So no row's screen is smaller than the screen of its box, and a
# box beyond the bound of `_distance.pxd` holds only rows beyond tau. For Minkowski, whose powers need not be monotone,
# the sum of a box has a relative error of (d + 6) u (u: unit roundoff), as the sum of a row has; the bound covers both
# errors.
from cython cimport floating
from libc.math cimport isnan

from neighbors._distance cimport exact_term, exact_terms, root, screen_bound, screen_terms
from neighbors._kdtree_layout cimport FAN, FAN_BITS, LEAF, MAX_HEIGHT
from neighbors._measure cimport offer
from neighbors._metrics cimport (
    CHEBYSHEV, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN, chebyshev_t, euclidean_t, fill_metric, manhattan_t, metrics_t,
    minkowski_t,
)
from neighbors._raw_queries cimport PY_SSIZE_T_MAX, QUERIES, metrics_of, prepare
from neighbors._search cimport fill_search, search_t
from _model cimport model_t, raw_search_t, search_f
from _vector cimport (
    LANES_D, LANES_F, at_most, larger, lowest_bit, require, spread, spread_d, spread_f, vec, vec_d, vec_f, widen,
)
from fastclf._heap cimport precedes, sort as sort_heap
from _status cimport FASTCLF_OK

cdef enum:
    STACK = (FAN + 1) * MAX_HEIGHT
    LIST = 32      # the largest k for which a query's neighbours are kept in a sorted list; a larger k takes a heap

STACK_SIZE = STACK

# The reasons why a walk ends: all queries are answered, the budget of visits is spent, or the buffer of hits is
# nearly full.
cdef enum:
    DONE
    SPENT
    FULL
FINISHED, PAUSED, BUFFER_FULL = DONE, SPENT, FULL


ctypedef fused box_metric_t:
    euclidean_t
    manhattan_t
    chebyshev_t
    minkowski_t


ctypedef struct tree_t:
    Py_ssize_t d
    Py_ssize_t n_rows
    Py_ssize_t height                # the level of the root; leaves have level 0
    Py_ssize_t n_nodes[MAX_HEIGHT]   # the number of nodes of each level; the nodes of level 0 are the leaves
    Py_ssize_t first[MAX_HEIGHT]     # the index in the array of boxes of the first node of each level
    const Py_ssize_t* rows           # (n_rows,): the row numbers of X, leaf by leaf

# The state of a walk, the search of a tree for one query after another, which can be interrupted and resumed. The stack
# holds nodes that may have near rows, each with a lower bound of the distances of its rows; of two children of a node,
# the nearer lies above the farther. The walk for a query begins at its home, the node of level 1 that most likely has
# the nearest rows. The bottom of the stack is the path from the home to the root; one child of each node on this path
# has been visited already.
ctypedef struct walk_t:
    search_t* s
    const tree_t* tree
    const Py_ssize_t* order       # (n_queries,): the order in which queries are answered
    const Py_ssize_t* homes       # (n_queries,): the home of each query, the node at which its walk begins
    Py_ssize_t* n_begun           # the number of queries whose walks have begun so far
    Py_ssize_t* height            # the number of nodes on the stack
    Py_ssize_t* n_hits            # the number of hits, rows found within the radius of their query, in the buffer
    Py_ssize_t* n_kept            # the number of hits in the buffer that belong to completed queries
    # (size of the stack,): for each node on the stack the screen of its box, a lower bound of its rows' distances
    double* near
    # (size of the stack,): for each node on the stack a number made of the node's number in its level, its level, and
    # whether it is on the path from the home to the root
    Py_ssize_t* node


cdef void fill_tree(tree_t* tree, Py_ssize_t d, Py_ssize_t n_rows, const Py_ssize_t* rows) noexcept nogil:
    """Fill in a tree_t; the height and the number of nodes of each level follow from the number of rows."""
    cdef Py_ssize_t n = (n_rows + LEAF - 1) // LEAF, first = 0
    tree.d = d
    tree.n_rows = n_rows
    tree.rows = rows
    tree.height = 0
    tree.n_nodes[0] = n
    while tree.height == 0 or n > 1:
        n = (n + FAN - 1) // FAN
        tree.height += 1
        tree.n_nodes[tree.height] = n
        tree.first[tree.height] = first
        first += n


cdef inline unsigned int screen_boxes(
    const box_metric_t* metric, const vec* low, const vec* q, Py_ssize_t d, double bound, double* near_out
) noexcept nogil:
    """Write to near_out the screen of each box of a node: a lower bound of the screens of the rows in the box.

    A screen bounds a distance (see `_distance.pxd`). Returns as bits which boxes have a screen of at most `bound`.
    """
    cdef Py_ssize_t lanes = LANES_F if vec is vec_f else LANES_D
    cdef Py_ssize_t width = FAN // lanes, i, j, c
    cdef const vec* high = low + d * width
    cdef float narrow[FAN]
    cdef unsigned int within = 0
    cdef vec s, x, zero, limit
    if vec is vec_f:
        zero = spread_f(0)
        limit = spread_f(<float> bound)
    else:
        zero = spread_d(0)
        limit = spread_d(bound)
    for i in range(width):
        s = zero
        for j in range(d):
            x = spread(q, j)
            s = screen_terms(metric, s, larger(larger(low[j * width + i] - x, x - high[j * width + i]), zero), zero)
        within |= at_most(s, limit) << (i * lanes)
        if vec is vec_f:
            (<vec_f*> narrow)[i] = s
        else:
            (<vec_d*> near_out)[i] = s
    if vec is vec_f:
        for c in range(FAN):
            near_out[c] = narrow[c]
    return within


cdef inline unsigned int children_within(
    const box_metric_t* metric, const search_t* s, const tree_t* tree, const floating* boxes, Py_ssize_t query,
    Py_ssize_t level, Py_ssize_t node, double* near_out
) noexcept nogil:
    """Write to near_out the screen of each child's box: a lower bound of the screens of the rows in the box.

    Returns as bits which children have a screen of at most the query's bound; only these may have near rows.
    """
    cdef Py_ssize_t d = tree.d, c, j
    cdef double bound = s.bound[query]
    cdef const floating* low = boxes + (tree.first[level] + node) * 2 * d * FAN
    cdef const floating* q = <const floating*> s.screen_query + query * d
    cdef Py_ssize_t n = min(<Py_ssize_t> FAN, tree.n_nodes[level - 1] - node * FAN)
    cdef unsigned int within = 0
    cdef double x, gap, sum
    if box_metric_t is minkowski_t:
        for c in range(n):
            sum = 0
            for j in range(d):
                x = s.query[query * d + j]
                gap = max(low[j * FAN + c] - x, x - low[(d + j) * FAN + c])
                if gap > 0:
                    sum = exact_term(metric, sum, gap, 0, j)
            near_out[c] = sum
            within |= <unsigned int> (sum <= bound) << c
    elif floating is float:
        within = screen_boxes(metric, <const vec_f*> low, <const vec_f*> q, d, bound, near_out)
    else:
        within = screen_boxes(metric, <const vec_d*> low, <const vec_d*> q, d, bound, near_out)
    return within & ((<unsigned int> 1 << n) - 1)


cdef inline unsigned int sum_leaf(
    const box_metric_t* metric, const double* panel, const double* q, Py_ssize_t d, double bound, double* s_out
) noexcept nogil:
    """Write the distance, before the root, of each row of a leaf; returns a bit per row: 1 if it is at most `bound`."""
    cdef const vec_d* x = <const vec_d*> panel
    cdef vec_d* out = <vec_d*> s_out
    cdef vec_d s0, s1, s2, s3, spread_q, limit = spread_d(bound)
    cdef Py_ssize_t width = LEAF // LANES_D, i, j
    cdef unsigned int within = 0
    for i in range(0, width, 4):
        s0 = s1 = s2 = s3 = spread_d(0)
        for j in range(d):
            spread_q = spread_d(q[j])
            s0 = exact_terms(metric, s0, x[j * width + i], spread_q)
            s1 = exact_terms(metric, s1, x[j * width + i + 1], spread_q)
            s2 = exact_terms(metric, s2, x[j * width + i + 2], spread_q)
            s3 = exact_terms(metric, s3, x[j * width + i + 3], spread_q)
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
        within |= (
            at_most(s0, limit) | at_most(s1, limit) << LANES_D | at_most(s2, limit) << 2 * LANES_D
            | at_most(s3, limit) << 3 * LANES_D
        ) << (i * LANES_D)
    return within


cdef inline unsigned int screen_leaf(
    const box_metric_t* metric, const float* panel, const float* q, const double* exact_q, Py_ssize_t d, double bound,
    double* s_out
) noexcept nogil:
    """Return a bit per row of a leaf, 1 if its screen is at most `bound`; write these rows' distances before roots."""
    cdef const vec_f* x = <const vec_f*> panel
    cdef vec_d* out = <vec_d*> s_out
    cdef vec_f s0, s1, spread_q, limit = spread_f(<float> bound)
    cdef vec_d s
    cdef Py_ssize_t width = LEAF // LANES_F, i, j
    cdef unsigned int within = 0
    for i in range(0, width, 2):
        s0 = s1 = spread_f(0)
        for j in range(d):
            spread_q = spread_f(q[j])
            s0 = screen_terms(metric, s0, x[j * width + i], spread_q)
            s1 = screen_terms(metric, s1, x[j * width + i + 1], spread_q)
        within |= (at_most(s0, limit) | at_most(s1, limit) << LANES_F) << (i * LANES_F)
    if within:
        for i in range(LEAF // LANES_D):
            if within >> (i * LANES_D) & ((1 << LANES_D) - 1):
                s = spread_d(0)
                for j in range(d):
                    s = exact_terms(metric, s, widen(panel + j * LEAF + i * LANES_D), spread_d(exact_q[j]))
                out[i] = s
    return within


cdef inline void take(
    const box_metric_t* metric, search_t* s, double distance, Py_ssize_t row, Py_ssize_t query, floating like
) noexcept nogil:
    """Do as `offer` of `_measure.pxd` does, but keep the neighbours of a query in a sorted list if k is small.

    Insertion into a short sorted list takes one branch that is hard to predict. A heap takes several such branches, and
    a sort in the end.
    """
    cdef Py_ssize_t hole = s.k - 1
    cdef double* D = s.distance + query * s.k
    cdef Py_ssize_t* index = s.index + query * s.k
    if s.k == 0 or s.k > LIST:
        offer(metric, s, distance, row, query, like)
        return
    require(0 <= row < s.n_rows and 0 <= query < s.n_queries and not isnan(distance))
    if not precedes(distance, row, D[hole], index[hole]):
        return
    if (s.self_row != NULL and s.self_row[query] == row) or (s.allowed != NULL and not s.allowed[row]):
        return
    while hole > 0 and precedes(distance, row, D[hole - 1], index[hole - 1]):
        D[hole] = D[hole - 1]
        index[hole] = index[hole - 1]
        hole -= 1
    D[hole] = distance
    index[hole] = row
    if D[s.k - 1] < s.tau[query]:
        s.tau[query] = D[s.k - 1]
        s.bound[query] = screen_bound(metric, s.tau[query], s.query_error[query], s.d, like)


cdef inline void visit_leaf(
    const box_metric_t* metric, search_t* s, const tree_t* tree, const floating* panels, Py_ssize_t leaf,
    Py_ssize_t query
) noexcept nogil:
    """Take the rows of a leaf as neighbours of a query, except those farther away than its neighbours may be."""
    cdef Py_ssize_t d = tree.d, r, j
    cdef const floating* panel = panels + leaf * d * LEAF
    cdef const Py_ssize_t* rows = tree.rows + leaf * LEAF
    cdef Py_ssize_t n = min(<Py_ssize_t> LEAF, tree.n_rows - leaf * LEAF)
    cdef const double* q = s.query + query * d
    cdef double bound = s.bound[query]
    cdef double sums[LEAF]
    cdef unsigned int within = 0
    require(0 < n)
    if box_metric_t is minkowski_t:
        for r in range(n):
            sums[r] = 0
            for j in range(d):
                sums[r] = exact_term(metric, sums[r], panel[j * LEAF + r], q[j], j)
                if sums[r] > bound:
                    break
            within |= <unsigned int> (sums[r] <= bound) << r
    elif floating is float:
        within = screen_leaf(
            metric, panel, <const float*> s.screen_query + query * d, q, d, bound, sums
        )
    else:
        within = sum_leaf(metric, panel, q, d, bound, sums)
    within &= <unsigned int> ((<unsigned long long> 1 << n) - 1)
    while within:
        r = lowest_bit(within)
        within &= within - 1
        if sums[r] <= s.bound[query]:
            take(metric, s, root(metric, sums[r], d, rows[r], query), rows[r], query, panel[0])


cdef inline void stack_node(
    walk_t* w, Py_ssize_t base, double near, Py_ssize_t level, Py_ssize_t node, bint on_path
) noexcept nogil:
    """Put a node on the stack of nodes to open: above height `base`, nearer nodes lie above farther ones."""
    cdef Py_ssize_t place = w.height[0]
    require(place < STACK)
    while place > base and w.near[place - 1] < near:
        w.near[place] = w.near[place - 1]
        w.node[place] = w.node[place - 1]
        place -= 1
    w.near[place] = near
    w.node[place] = (node * MAX_HEIGHT + level) * 2 + on_path
    w.height[0] += 1


cdef inline Py_ssize_t nearest_child(const double* near, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t c, best = 0
    cdef double least = near[0]
    for c in range(1, n):
        best = c if near[c] < least else best
        least = near[c] if near[c] < least else least
    return best


cdef Py_ssize_t open_node(
    const box_metric_t* metric, walk_t* w, const floating* panels, const floating* boxes, Py_ssize_t query,
    Py_ssize_t level, Py_ssize_t node, bint on_path
) noexcept nogil:
    """Open a node: visit the children that may have near rows if they are leaves; otherwise put them on the stack.

    Returns the number of visited leaves.
    """
    cdef search_t* s = w.s
    cdef const tree_t* tree = w.tree
    cdef double near[FAN]
    cdef Py_ssize_t c, base = w.height[0], n_visited = 0
    cdef unsigned int within = children_within(metric, s, tree, boxes, query, level, node, near)
    if level == 1:
        if on_path:
            c = nearest_child(near, min(<Py_ssize_t> FAN, tree.n_nodes[0] - node * FAN))
            visit_leaf(metric, s, tree, panels, node * FAN + c, query)
            n_visited += 1
            within &= ~(<unsigned int> 1 << c)
        while within:
            c = lowest_bit(within)
            within &= within - 1
            if near[c] <= s.bound[query]:
                visit_leaf(metric, s, tree, panels, node * FAN + c, query)
                n_visited += 1
    else:
        if on_path:
            within &= ~(<unsigned int> 1 << (w.homes[query] >> FAN_BITS * (level - 2) & (FAN - 1)))
        while within:
            c = lowest_bit(within)
            within &= within - 1
            stack_node(w, base, near[c], level - 1, node * FAN + c, False)
    return n_visited


cdef int walk_tree(
    const box_metric_t* metric, walk_t* w, const floating* panels, const floating* boxes, Py_ssize_t budget
) noexcept nogil:
    """Resume a walk until all queries are answered, `budget` visits are made, or the buffer of hits is nearly full."""
    cdef search_t* s = w.s
    cdef Py_ssize_t query, level, node, k = s.k
    while True:
        if w.height[0] == 0:
            if w.n_begun[0] == s.n_queries:
                return DONE
            query = w.order[w.n_begun[0]]
            w.n_begun[0] += 1
            if k == 0:
                s.bound[query] = screen_bound(metric, s.tau[query], s.query_error[query], s.d, panels[0])
            for level in range(w.tree.height, 0, -1):
                stack_node(w, w.height[0], 0, level, w.homes[query] >> FAN_BITS * (level - 1), True)
        else:
            query = w.order[w.n_begun[0] - 1]
        while w.height[0]:
            if k == 0 and s.capacity - s.n_hits < FAN * LEAF:
                w.n_begun[0] -= 1
                w.height[0] = 0
                s.n_hits = w.n_kept[0]
                return FULL
            if budget <= 0:
                return SPENT
            w.height[0] -= 1
            if w.near[w.height[0]] <= s.bound[query]:
                node = w.node[w.height[0]]
                level = node // 2 % MAX_HEIGHT
                budget -= 1 + open_node(metric, w, panels, boxes, query, level, node // (2 * MAX_HEIGHT), node & 1)
        w.n_kept[0] = s.n_hits
        if k > LIST:
            sort_heap(s.distance + query * k, s.index + query * k, k)


cdef void find_homes(
    const box_metric_t* metric, const walk_t* w, const floating* boxes, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t* homes_out
) noexcept nogil:
    """Find the homes of queries start to stop: nodes of level 1, by a descent from the root to nearest children."""
    cdef const tree_t* tree = w.tree
    cdef double near[FAN]
    cdef Py_ssize_t query, level, node
    for query in range(start, stop):
        node = 0
        for level in range(tree.height, 1, -1):
            children_within(metric, w.s, tree, boxes, query, level, node, near)
            node = node * FAN + nearest_child(near, min(<Py_ssize_t> FAN, tree.n_nodes[level - 1] - node * FAN))
        homes_out[query] = node


cdef void find_homes_by(
    const metrics_t* m, const walk_t* w, const floating* boxes, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* homes_out
) noexcept nogil:
    if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
        find_homes(&m.euclidean, w, boxes, start, stop, homes_out)
    elif m.code == MANHATTAN:
        find_homes(&m.manhattan, w, boxes, start, stop, homes_out)
    elif m.code == CHEBYSHEV:
        find_homes(&m.chebyshev, w, boxes, start, stop, homes_out)
    else:
        find_homes(&m.minkowski, w, boxes, start, stop, homes_out)


cdef int walk_tree_by(
    const metrics_t* m, walk_t* w, const floating* panels, const floating* boxes, Py_ssize_t budget
) noexcept nogil:
    if m.code == EUCLIDEAN or m.code == SQEUCLIDEAN:
        return walk_tree(&m.euclidean, w, panels, boxes, budget)
    if m.code == MANHATTAN:
        return walk_tree(&m.manhattan, w, panels, boxes, budget)
    if m.code == CHEBYSHEV:
        return walk_tree(&m.chebyshev, w, panels, boxes, budget)
    return walk_tree(&m.minkowski, w, panels, boxes, budget)


def homes(index, state, Py_ssize_t start, Py_ssize_t stop, const floating[:, :, :, ::1] boxes):
    """Find the homes of queries start to stop; `index` is a Tree, `state` a Walk of `fastclf/neighbors/kdtree.py`."""
    cdef search_t s
    cdef metrics_t m
    cdef tree_t tree
    cdef walk_t w
    cdef const Py_ssize_t[::1] rows = index.rows
    cdef Py_ssize_t[::1] found = state.homes
    fill_metric(&m, index.metric, None)
    fill_search(&s, rows.shape[0], state, boxes[0, 0, 0, 0])
    fill_tree(&tree, boxes.shape[2], rows.shape[0], &rows[0])
    w.s, w.tree = &s, &tree
    with nogil:
        find_homes_by(&m, &w, &boxes[0, 0, 0, 0], start, stop, &found[0])


def walk(
    index, state, Py_ssize_t budget, const floating[:, :, ::1] panels, const floating[:, :, :, ::1] boxes
):
    """Answer the queries of a Walk in state.order, from state.position on, by visits to `budget` nodes and leaves.

    `index` is a Tree of `fastclf/neighbors/kdtree.py` with these panels and boxes. Returns FINISHED, PAUSED, or
    BUFFER_FULL. The buffer then has the hits of all completed queries, state.position[3] in number, and the next call
    continues with the query after the last completed one.
    """
    cdef search_t s
    cdef metrics_t m
    cdef tree_t tree
    cdef walk_t w
    cdef int outcome
    cdef const Py_ssize_t[::1] rows = index.rows
    cdef const Py_ssize_t[::1] order = state.order
    cdef const Py_ssize_t[::1] found = state.homes
    cdef Py_ssize_t[::1] position = state.position
    cdef double[::1] near = state.near
    cdef Py_ssize_t[::1] node = state.node
    fill_metric(&m, index.metric, None)
    fill_search(&s, rows.shape[0], state, boxes[0, 0, 0, 0])
    fill_tree(&tree, boxes.shape[2], rows.shape[0], &rows[0])
    w.s, w.tree, w.order, w.homes, w.near, w.node = &s, &tree, &order[0], &found[0], &near[0], &node[0]
    w.n_begun, w.height, w.n_hits, w.n_kept = &position[0], &position[1], &position[2], &position[3]
    s.n_hits = w.n_hits[0]
    with nogil:
        outcome = walk_tree_by(&m, &w, &panels[0, 0, 0], &boxes[0, 0, 0, 0], budget)
    w.n_hits[0] = s.n_hits
    return outcome


cdef int find_block(
    const model_t* model, const raw_search_t* raw, const floating* panels, const floating* boxes
) noexcept nogil:
    cdef search_t s
    cdef metrics_t m = metrics_of(model)[0]
    cdef tree_t tree
    cdef walk_t w
    cdef char* scratch = raw.scratch
    cdef Py_ssize_t order[QUERIES]
    cdef Py_ssize_t homes[QUERIES]
    cdef Py_ssize_t position[4]
    cdef double near[STACK]
    cdef Py_ssize_t node[STACK]
    cdef Py_ssize_t i
    cdef int status = prepare(model, raw, &m, &s, &scratch, panels[0])
    if status != FASTCLF_OK:
        return status
    fill_tree(&tree, model.n_features, model.neighbors.n_rows, model.neighbors.rows)
    for i in range(4):
        position[i] = 0
    for i in range(raw.n):
        order[i] = i
    w.s, w.tree, w.order, w.homes, w.near, w.node = &s, &tree, order, homes, near, node
    w.n_begun, w.height, w.n_hits, w.n_kept = position, position + 1, position + 2, position + 3
    find_homes_by(&m, &w, boxes, 0, raw.n, homes)
    walk_tree_by(&m, &w, panels, boxes, PY_SSIZE_T_MAX)
    return FASTCLF_OK


cdef int find_rows(const model_t* model, const raw_search_t* raw) noexcept nogil:
    """Find the k nearest rows of each query of a block, nearest first, by the kd-tree of a model."""
    cdef const void* panels = model.neighbors.panels
    cdef const void* boxes = model.neighbors.boxes
    if model.neighbors.narrow:
        return find_block(model, raw, <const float*> panels, <const float*> boxes)
    return find_block(model, raw, <const double*> panels, <const double*> boxes)


cdef search_f _find_rows = find_rows
ADDRESSES = {"search": <size_t> _find_rows}
