"""Growth of trees: nodes are split from the root down, and the tree does not depend on the number of threads."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._threads import advance, budgets, ranges, run
from .sorted_columns import blocks_of

_grow = _simd.load("tree._grow")

CRITERIA = ("gini", "entropy", "misclassification", "squared_error", "absolute_error", "poisson")

# The numbers of the columns of the arrays nodes, numbers and stack of a `Part`, the same as in `_grow.pyx`.
FEATURE, SIZE, BELOW, ABOVE, MISSING = range(5)
WEIGHT, IMPURITY, VALUES = range(3)
PLACES = _START, _STOP, _DEPTH, _LIST, _LEAF, _PATH, _CONSTANT = range(7)

# The largest number of nodes in one array of a growing tree; the nodes of a larger subtree are in several arrays.
_BLOCK = 1 << 12

# A node with at least this number of cells (rows times features) is split by all threads together, each of which
# searches some features. The subtree of a smaller node is grown by one thread.
_MANY_CELLS = 1 << 19

# If there is a single thread, or if features are drawn at random, this number takes the place of _MANY_CELLS, the
# number of cells from which a node is split by all threads together. Its only purpose is to bound the time between two
# checks for Ctrl-C.
_MANY_CELLS_ALONE = 1 << 22

# The number of cells (row, column) that are searched for a split before the first check for Ctrl-C, and the largest
# number between two checks.
_CELLS, _MOST_CELLS = 1 << 18, 1 << 22

# The time that the search of a cell (a row and a feature) takes with these splitting criteria, in units of the time
# that it takes with all other criteria.
_COST = {"absolute_error": 32, "poisson": 4}


class Limits(NamedTuple):
    """The parameters that limit growth and the search for splits."""

    criterion: int  # the index of the splitting criterion in CRITERIA
    max_depth: int
    min_split: int
    min_leaf: int
    min_leaf_weight: float
    min_decrease: float
    max_features: int
    seed: int
    # (n_features,), int8: 1: predictions must not fall with the feature; -1: not rise; 0: free
    monotonic: np.ndarray | None
    drawn: bool = False  # whether a node tries a single random threshold of each feature


def fixed_log_table(n, most):
    """i log2 i for i = 0..most, as multiples of a power of two that depends on n, the number of rows of the tree.

    The multiples are whole numbers below 2^52, so that sums of them are exact.
    """
    i = np.arange(1, most + 1, dtype=np.float64)
    table = np.concatenate([[0.0], i * np.log2(i)])
    largest = n * np.log2(np.float64(n))
    return np.rint(np.ldexp(table, 52 - max(1, int(np.ceil(np.log2(largest + 2))))))


def log_table(limits, data, n, most):
    """The `fixed_log_table` if the criterion is entropy without weights; otherwise None."""
    by_table = CRITERIA[limits.criterion] == "entropy" and data.weight is None
    return fixed_log_table(n, most) if by_table else None


class Scratch:
    """Scratch space of the search for a split of a node with at most n rows.

    Attributes
    ----------
    sides : ndarray of shape (2 n_values,), float64
    items : ndarray of shape (n,), uint64
    groups : ndarray of shape (most_codes + 1, 3), float64
        A `group_t` of `_growth.pxd` for each category, and for missing values.
    losses : ndarray of shape (7 n,), float64
        For absolute errors; otherwise it has one entry.
    """

    __slots__ = ("groups", "items", "losses", "sides")

    def __init__(self, growth, n):
        self.sides = np.empty(2 * growth.n_values)
        self.items = np.empty(n, np.uint64)
        self.groups = np.empty((growth.most_codes + 1, 3))
        self.losses = np.empty(7 * n if growth.needs_losses else 1)


class Grown(NamedTuple):
    """The nodes of a grown tree, in the format of compiled code."""

    # pairs (nodes, numbers) of arrays, as in `Part`; together they have all nodes of the tree, in pre-order
    blocks: list
    subsets: np.ndarray  # for splits by categories: the subsets that go left, in the format of `Part.subsets`

    @property
    def n_nodes(self):
        return sum(len(nodes) for nodes, _ in self.blocks)


class Part:
    """A growing subtree, changed by compiled code and by Python: its nodes, and the nodes that wait to be split.

    Parameters
    ----------
    n_numbers, n_places, n_waiting : int
        The number of columns of `numbers`, of `stack` and of `waiting`.
    most_words : int
        The number of words of the largest subset.

    Attributes
    ----------
    nodes : ndarray of shape (capacity, 5), int32
        FEATURE, SIZE, BELOW, ABOVE, MISSING of each node, in pre-order.
    numbers : ndarray of shape (capacity, n_numbers), float64
        WEIGHT, IMPURITY and values of each node.
    stack : ndarray of shape (capacity, n_places), int64
        Range, depth and other integers of each waiting node; the last node is split next.
    waiting : ndarray of shape (capacity, n_waiting), float64
        The numbers of each node on the stack.
    subsets : ndarray of shape (capacity,), uint64
        Subsets of categories, one after another: the number of categories, then a bit for each category, 1 for left.
    n_nodes, n_waiting, n_words : int
        The number of used entries of `nodes`, of `stack` and of `subsets`.
    blocks : list of (nodes, numbers)
        Earlier arrays of nodes and numbers, which are full.
    """

    __slots__ = (
        "blocks", "most_words", "n_nodes", "n_waiting", "n_words", "nodes", "numbers", "stack", "subsets", "waiting"
    )  # fmt: skip

    def __init__(self, n_numbers, n_places, n_waiting, most_words=0):
        self.nodes, self.numbers = np.empty((64, 5), np.int32), np.empty((64, n_numbers))
        self.stack, self.waiting = np.empty((32, n_places), np.int64), np.empty((32, n_waiting))
        self.subsets, self.most_words = np.empty(max(1, most_words), np.uint64), most_words
        self.blocks = []
        self.n_nodes = self.n_waiting = self.n_words = 0

    def extend(self):
        """Make the arrays long enough for one more node, two more waiting nodes, and one more subset."""
        if self.n_nodes == len(self.nodes):
            self.blocks.append((self.nodes, self.numbers))
            size = min(2 * self.n_nodes, _BLOCK)
            self.nodes, self.numbers = (np.empty((size, a.shape[1]), a.dtype) for a in self.blocks[-1])
            self.n_nodes = 0
        if self.n_waiting >= len(self.stack) - 2:
            self.stack, self.waiting = _longer(self.stack), _longer(self.waiting)
        if self.n_words + self.most_words > len(self.subsets):
            self.subsets = _longer(self.subsets, self.most_words)

    def budgets(self, most=_MOST_CELLS):
        """Yield the number of cells that may be searched next, at most `most`, until no node waits."""
        for cells in budgets(_CELLS, most):
            if not self.n_waiting:
                return
            self.extend()
            yield cells

    def finished(self):
        """The `Grown` of this part."""
        last = self.nodes[: self.n_nodes].copy(), self.numbers[: self.n_nodes].copy()
        return Grown([*self.blocks, last], self.subsets[: self.n_words].copy())


class TreePart(Part):
    """A part for `_grow.pyx`, with at most n rows.

    Attributes
    ----------
    children : ndarray of shape (2, n_numbers - 2), float64
        Scratch space for the values of two children.
    features : ndarray of shape (n_features,), int32
        All features, in the order in which compiled code searches them.
    scratch : Scratch
    """

    __slots__ = ("children", "features", "scratch")

    def __init__(self, growth, n):
        super().__init__(growth.n_numbers, 7, growth.n_numbers, growth.most_words)
        self.children = np.empty((2, growth.n_numbers - VALUES))
        self.features = np.arange(growth.n_features, dtype=np.int32)
        self.scratch = Scratch(growth, n)


def _longer(array, least=8):
    """A longer copy of an array, with at least a quarter and at least `least` more entries."""
    longer = np.empty((len(array) + len(array) // 4 + least, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


class _Grower:
    """Grows one tree from sorted lists, which are overwritten.

    Attributes
    ----------
    growth : _grow.Growth
    cost : float
        The time for a cell, relative to a fast criterion.
    cells_a_row : float
        The mean number of items in all lists for a row, times this cost.
    draws : bool
        Whether each node draws the features that it searches; then a single thread searches a node.
    threads : int
    progress : Progress
    """

    __slots__ = ("cells_a_row", "cost", "draws", "growth", "progress", "threads")

    def __init__(self, lists, data, limits, total_weight, threads, progress):
        n = lists.items.shape[1]
        self.growth = _grow.Growth(lists, data, limits, total_weight, log_table(limits, data, n, n))
        self.cost = _COST.get(CRITERIA[limits.criterion], 1)
        self.cells_a_row, self.draws = lists.cells_a_row * self.cost, limits.max_features < lists.n_features
        self.threads, self.progress = threads, progress

    def grow(self):
        """(the `Grown` of the nodes above all parts, a list with the `Grown` of each part)."""
        growth, pending = self.growth, []
        top = TreePart(growth, growth.n_rows)
        _grow.open_root(growth, top)
        many = _MANY_CELLS if self.threads > 1 and not self.draws else _MANY_CELLS_ALONE
        if growth.n_rows * self.cells_a_row < many:
            run(self._grow_part, [top], 1)
            return top.finished(), []
        while top.n_waiting:
            top.extend()
            node, numbers = top.stack[top.n_waiting - 1], top.waiting[top.n_waiting - 1]
            n = int(node[_STOP] - node[_START])
            if node[_LEAF]:
                _grow.write_leaf(growth, top)
                advance(self.progress, n)
            elif n * self.cells_a_row < many:
                pending.append((node.copy(), numbers.copy()))
                _grow.write_leaf(growth, top)
                top.nodes[top.n_nodes - 1, FEATURE] = -1 - len(pending)
            elif not self._split_large(top, n):
                advance(self.progress, n)
        grown = [None] * len(pending)

        def work(number):
            node, numbers = pending[number]
            part = TreePart(growth, node[_STOP] - node[_START])
            part.stack[0], part.waiting[0], part.n_waiting = node, numbers, 1
            yield from self._grow_part(part)
            grown[number] = part.finished()

        run(work, sorted(range(len(pending)), key=lambda i: pending[i][0][_START] - pending[i][0][_STOP]), self.threads)
        return top.finished(), grown

    def _grow_part(self, part):
        """Grow the subtree of a `Part` to its end; yields between pieces of work, so that Ctrl-C is noticed."""
        for cells in part.budgets():
            advance(self.progress, _grow.grow(self.growth, part, cells / self.cost))
            yield

    def _split_large(self, part, n):
        """Split the node on top of the part's stack, which has n rows; each thread searches a range of features.

        Returns whether the node was split; otherwise it is written as a leaf.
        """
        growth, size = self.growth, 1 + _CELLS // (n * self.cost)
        blocks, found = blocks_of(growth.n_features, 1, self.threads), []

        def search(features):
            scratch = Scratch(growth, n)
            for first, last in ranges(*features, size):
                found.append(_grow.find_split(growth, part, scratch, first, last))
                yield

        def move(features):
            scratch = np.empty(n, np.uint64)
            for first, last in ranges(*features, size):
                _grow.partition_lists(growth, part, scratch, first, last)
                yield

        if self.draws:
            found.append(_grow.find_split(growth, part, part.scratch, 0, growth.n_features))
        else:
            run(search, blocks, self.threads)
        found = [split for split in found if split[1] >= 0]
        if not found:
            _grow.write_leaf(growth, part)
            return False
        _, *cut = min(found, key=lambda split: (-split[0], split[1]))
        is_split, searched = _grow.split_top(growth, part, *cut)
        if searched:
            run(move, blocks, self.threads)
        return is_split


def grown_tree(lists, data, limits, total_weight, threads, progress):
    """The `Grown` of the tree on sorted lists, which are overwritten; RuntimeError if the callback stops growth."""
    top, parts = _Grower(lists, data, limits, total_weight, threads, progress).grow()
    return joined(top, parts, data.n_codes) if parts else top


def joined(top, parts, n_codes):
    """The whole tree as a `Grown`: the nodes of each part replace the node that marks the place of the part."""
    blocks, subsets, n_words = [], [top.subsets], len(top.subsets)
    for nodes, numbers in top.blocks:
        start = 0
        for at in np.flatnonzero(nodes[:, FEATURE] < -1):
            part = parts[-2 - nodes[at, FEATURE]]
            for part_nodes, _ in part.blocks:
                part_nodes[by_subset(part_nodes, n_codes), BELOW] += n_words
            subsets.append(part.subsets)
            n_words += len(part.subsets)
            blocks += [(nodes[start:at], numbers[start:at]), *part.blocks]
            start = at + 1
        blocks.append((nodes[start:], numbers[start:]))
    return Grown(blocks, np.concatenate(subsets))


def by_subset(nodes, n_codes):
    """A mask of the nodes that are split by a subset of categories."""
    feature = nodes[:, FEATURE]
    return (feature >= 0) & (n_codes[feature] > 0) if n_codes is not None else np.zeros(len(nodes), bool)
