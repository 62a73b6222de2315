"""Trees grown: columns sorted once, then nodes split from the root down, on any number of threads the same tree."""

from functools import partial
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._threads import ranges, run
from .sorted_columns import blocks_of

_grow = _simd.load("tree._grow")

CRITERIA = ("gini", "entropy", "misclassification", "squared_error", "absolute_error", "poisson")

# Columns of a part's nodes and numbers, as in `_grow.pyx`.
FEATURE, SIZE, BELOW, ABOVE, MISSING = range(5)
WEIGHT, IMPURITY, VALUES = range(3)

# Nodes that are written to an array before there is another one.
_BLOCK = 1 << 12

# Nodes of at least so many cells are split with all threads over features; a smaller one and its subtree is one
# thread's.
_MANY_CELLS = 1 << 19

# The same on one thread, where only Ctrl-C needs it.
_MANY_CELLS_ALONE = 1 << 22

# Cells that are searched at first, and at most, before Ctrl-C is looked for.
_CELLS, _MOST_CELLS = 1 << 18, 1 << 23


class Limits(NamedTuple):
    """When a node is a leaf, and how splits are found."""

    criterion: str
    max_depth: int
    min_split: int
    min_leaf: int
    min_leaf_weight: float
    min_decrease: float
    max_features: int
    seed: int
    monotonic: np.ndarray | None  # (n_features,), int8


class _Room:
    """What a search for splits needs beside the lists, for a node of n rows."""

    def __init__(self, growth, n):
        self.sides = np.empty(2 * growth.n_values)
        self.items = np.empty(n, np.uint64)
        self.groups = np.empty((growth.most_codes + 1, 3))
        self.losses = np.empty(7 * n if growth.criterion == CRITERIA.index("absolute_error") else 1)


class Grown(NamedTuple):
    """What came of it: nodes in pre-order, in blocks of (nodes, numbers), and the subsets of categories."""

    blocks: list
    subsets: np.ndarray

    @property
    def n_nodes(self):
        return sum(len(nodes) for nodes, _ in self.blocks)


class Part:
    """A subtree as it grows: its nodes, and those that wait to be split.

    n_numbers: of each node; n_places, n_waiting: of one that waits, whole ones and others; most_words: of a subset.
    """

    def __init__(self, n_numbers, n_places, n_waiting, most_words=0):
        self.nodes, self.numbers = np.empty((64, 5), np.int32), np.empty((64, n_numbers))
        self.stack, self.waiting = np.empty((32, n_places), np.int64), np.empty((32, n_waiting))
        self.subsets, self.most_words = np.empty(max(1, most_words), np.uint64), most_words
        self.blocks = []  # nodes and numbers that are full
        self.n_nodes = self.n_waiting = self.n_words = 0

    def make_room(self):
        """Room for one more node, for two more that wait, and for a subset."""
        if self.n_nodes == len(self.nodes):
            self.blocks.append((self.nodes, self.numbers))
            size = min(2 * self.n_nodes, _BLOCK)
            self.nodes, self.numbers = (np.empty((size, a.shape[1]), a.dtype) for a in self.blocks[-1])
            self.n_nodes = 0
        if self.n_waiting >= len(self.stack) - 2:
            self.stack, self.waiting = _longer(self.stack), _longer(self.waiting)
        if self.n_words + self.most_words > len(self.subsets):
            self.subsets = _longer(self.subsets, self.most_words)

    def steps(self, grow, progress):
        """Grow it whole by grow(part, cells), which says how many rows came to leaves; yields where it may stop."""
        for first, last in ranges(0, 1 << 62, _CELLS, _MOST_CELLS):
            self.make_room()
            if progress.advance(grow(self, last - first)) or not self.n_waiting:
                return
            yield

    def finished(self):
        """The Grown of this part; what it needed to grow is left behind."""
        last = self.nodes[: self.n_nodes].copy(), self.numbers[: self.n_nodes].copy()
        return Grown([*self.blocks, last], self.subsets[: self.n_words].copy())


class _TreePart(Part):
    """With what the kernels of `_grow.pyx` need beside it."""

    def __init__(self, growth, n_rows):
        width = VALUES + growth.n_values + (0 if growth.monotonic is None else 2)
        super().__init__(width, 7, width, growth.most_words)
        self.children = np.empty((2, width - VALUES))
        self.features = np.arange(growth.n_features, dtype=np.int32)
        self.room = _Room(growth, n_rows)


def _longer(array, least=8):
    """A copy with room for more."""
    longer = np.empty((len(array) + len(array) // 4 + least, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def fixed_log_table(n):
    """i log2 i for i = 0..n as whole numbers below 2^52, in a unit of a power of two: sums of them are exact."""
    i = np.arange(1, n + 1, dtype=np.float64)
    table = np.concatenate([[0.0], i * np.log2(i)])
    return np.rint(np.ldexp(table, 52 - max(1, int(np.ceil(np.log2(table[-1] + 2))))))


class ListGrowth:
    """What every kernel reads while a tree grows on `lists`, which it uses up."""

    def __init__(self, lists, min_leaf, min_split):
        self.items, self.row_bits, self.rank_shift = lists.items, lists.row_bits, lists.rank_shift
        lists.items = None
        self.side = np.empty(1 << self.row_bits, np.uint8)
        self.min_leaf, self.min_split = min_leaf, min_split


class Growth(ListGrowth):
    """What the kernels of `_grow.pyx` read."""

    def __init__(self, lists, limits, target, n_codes, weight, total_weight):
        super().__init__(lists, limits.min_leaf, limits.min_split)
        self.common, self.n_features, self.cells_a_row = lists.common, lists.n_features, lists.cells_a_row
        self.criterion = CRITERIA.index(limits.criterion)
        self.y, self.first_value, self.n_values = target.y, target.first_value, target.n_values
        self.weight, self.total_weight = weight, total_weight
        self.n_codes, self.monotonic = n_codes, limits.monotonic
        self.most_codes = 0 if n_codes is None else int(n_codes.max())
        self.most_words = 0 if n_codes is None else 1 + (self.most_codes + 63) // 64
        exact = limits.criterion == "entropy" and weight is None
        self.table = fixed_log_table(self.items.shape[1]) if exact else None
        self.max_depth, self.min_leaf_weight = limits.max_depth, limits.min_leaf_weight
        self.min_decrease = limits.min_decrease
        self.max_features, self.seed = limits.max_features, limits.seed

    def grow(self, threads, progress):
        """The Grown of the tree; None: it was stopped."""
        n, d = self.items.shape[1], self.n_features
        # where features are drawn, a node is searched in one go
        many = _MANY_CELLS if threads > 1 and self.max_features == d else _MANY_CELLS_ALONE
        top = _TreePart(self, n)
        _grow.open_part(self, top, 0, n, 0, 0, 0 if self.common is None else d, None)
        parts = []
        while top.n_waiting and not progress.stopped:
            top.make_room()
            start, stop, depth, path, feature, leaf = _grow.take_top(self, top)
            if leaf:
                progress.advance(stop - start)
            elif (stop - start) * self.cells_a_row < many:
                top.nodes[top.n_nodes - 1, FEATURE] = -2 - len(parts)
                parts.append((start, stop, depth, path, feature, top.numbers[top.n_nodes - 1, VALUES:].copy()))
            elif not self._split_large(top, start, stop, depth, path, threads):
                progress.advance(stop - start)
        grown = [None] * len(parts)

        def work(number):
            part = _TreePart(self, parts[number][1] - parts[number][0])
            _grow.open_part(self, part, *parts[number])
            yield from part.steps(partial(_grow.grow, self), progress)
            grown[number] = part.finished()

        run(work, sorted(range(len(parts)), key=lambda i: parts[i][0] - parts[i][1]), threads)
        if progress.stopped:
            return None
        self.items = None  # before the nodes are made into others
        return _joined(top.finished(), grown, self.n_codes)

    def _split_large(self, part, start, stop, depth, path, threads):
        """Split the last node of the part, by work that is cut into ranges of features; False: it is a leaf."""
        n_features, size = self.n_features, 1 + _CELLS // (stop - start)
        found = []

        def search(features):
            room = _Room(self, stop - start)
            for first, last in ranges(*features, size):
                found.append(_grow.find_split(self, part, room, start, stop, depth, path, first, last))
                yield

        def move(features):
            scratch = np.empty(stop - start, np.uint64)
            for first, last in ranges(*features, size):
                _grow.partition_lists(self, scratch, start, stop, cut, feature, left, right, first, last)
                yield

        if self.max_features < n_features:
            found.append(_grow.find_split(self, part, part.room, start, stop, depth, path, 0, n_features))
        else:
            run(search, blocks_of(n_features, 1, threads), threads)
        found = [split for split in found if split[1] >= 0]
        if not found:
            return False
        _, feature, n_left, how = min(found, key=lambda split: (-split[0], split[1]))
        cut = start + n_left
        done, left, right = _grow.split_node(self, part, start, stop, depth, path, feature, n_left, how)
        if left or right:
            run(move, blocks_of(n_features, 1, threads), threads)
        return done


def _joined(top, parts, n_codes):
    """The Grown with the blocks of each part in the place that is kept for it."""
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
    """Which nodes are split by a subset of categories."""
    feature = nodes[:, FEATURE]
    return (feature >= 0) & (n_codes[feature] > 0) if n_codes is not None else np.zeros(len(nodes), bool)
