"""Trees grown: columns sorted once, then nodes split from the root down, on any number of threads the same tree."""

from typing import NamedTuple

import numpy as np

from . import _presort, _simd
from ._threads import ranges, run

_tree = _simd.load("_tree")

CRITERIA = ("gini", "entropy", "misclassification", "squared_error")

# Columns of a part's nodes and numbers, as in `_tree.pyx`.
FEATURE, RIGHT, SIZE, BELOW, ABOVE = range(5)
WEIGHT, IMPURITY, VALUES = range(3)

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


class Sorted:
    """The columns of X[rows] (None: all) as lists of items, with the classes of the rows in them where there are any.

    Memory: 8 bytes a cell, and while it is made 8 (float32) or 16 bytes a row and thread.
    """

    def __init__(self, X, rows, codes, n_classes, threads):
        n, d = len(X) if rows is None else len(rows), X.shape[1]
        self.row_bits = max(1, (n - 1).bit_length())
        self.rank_shift = self.row_bits + (n_classes - 1).bit_length()
        if self.rank_shift + self.row_bits > 64 or n >= 1 << 31:
            raise ValueError(f"X has {n} rows of {n_classes} classes, more than trees are grown on")
        self.items = np.empty((d, n), np.uint64)
        scratch = 1 if X.dtype == np.float32 else 2

        def work(columns):
            buffers = np.empty((scratch, n), np.uint64), np.empty(3 << 11, np.uint32)
            for first, last in ranges(*columns, 8, 64):
                _presort.sort(X, rows, codes, self.row_bits, self.rank_shift, first, last, self.items, *buffers)
                yield

        run(work, _blocks(d, 8, threads), threads)


def _blocks(n, size, threads):
    """[0, n) in about 4 blocks a thread, of whole multiples of `size`."""
    size *= max(1, -(-n // (4 * threads * size))) if threads > 1 else -(-n // size)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


class _Part:
    """A subtree as it grows: its nodes, and those that wait to be split."""

    def __init__(self, growth, n_rows):
        width = VALUES + growth.n_values
        self.nodes, self.numbers = np.empty((64, 5), np.int32), np.empty((64, width))
        self.stack, self.waiting = np.empty((32, 7), np.int64), np.empty((32, width))
        self.n_nodes = self.n_waiting = 0
        self.sides = np.empty((2, 2 * growth.n_values))
        self.features = np.empty(growth.items.shape[0], np.int32)
        self.scratch = np.empty(n_rows, np.uint64)

    def make_room(self):
        """Room for one more node and for two more that wait."""
        if self.n_nodes == len(self.nodes):
            self.nodes, self.numbers = _longer(self.nodes), _longer(self.numbers)
        if self.n_waiting >= len(self.stack) - 2:
            self.stack, self.waiting = _longer(self.stack), _longer(self.waiting)

    def grow(self, growth, budget):
        """Grow for about so many cells; how many rows are now in leaves."""
        self.make_room()
        return _tree.grow(growth, self, budget)

    def finished(self):
        return self.nodes[: self.n_nodes], self.numbers[: self.n_nodes]


def _longer(array):
    longer = np.empty((len(array) + len(array) // 2 + 8, array.shape[1]), array.dtype)
    longer[: len(array)] = array
    return longer


def fixed_log_table(n):
    """i log2 i for i = 0..n as whole numbers below 2^52, in a unit of a power of two: sums of them are exact."""
    i = np.arange(1, n + 1, dtype=np.float64)
    table = np.concatenate([[0.0], i * np.log2(i)])
    return np.rint(np.ldexp(table, 52 - max(1, int(np.ceil(np.log2(table[-1] + 2))))))


class Growth:
    """What the kernels read while a tree grows on `lists`, which it uses up."""

    def __init__(self, lists, limits, n_values, y, weight, total_weight):
        self.items, self.row_bits, self.rank_shift = lists.items, lists.row_bits, lists.rank_shift
        self.criterion = CRITERIA.index(limits.criterion)
        self.n_values, self.y, self.weight, self.total_weight = n_values, y, weight, total_weight
        exact = limits.criterion == "entropy" and weight is None
        self.table = fixed_log_table(lists.items.shape[1]) if exact else None
        self.side = np.empty(1 << self.row_bits, np.uint8)
        self.max_depth, self.min_split, self.min_leaf = limits.max_depth, limits.min_split, limits.min_leaf
        self.min_leaf_weight, self.min_decrease = limits.min_leaf_weight, limits.min_decrease
        self.max_features, self.seed = limits.max_features, limits.seed

    def grow(self, threads, progress):
        """(nodes, numbers) in pre-order."""
        n, d = self.items.shape[1], self.items.shape[0]
        # where features are drawn, a node is searched in one go
        many = _MANY_CELLS if threads > 1 and self.max_features == d else _MANY_CELLS_ALONE
        top = _Part(self, n)
        _tree.open_part(self, top, 0, n, 0, 0, 0)
        parts = []
        while top.n_waiting and not progress.stopped:
            top.make_room()
            start, stop, depth, path, feature, leaf = _tree.take_top(self, top)
            if leaf:
                progress.advance(stop - start)
            elif (stop - start) * d < many:
                top.nodes[top.n_nodes - 1, FEATURE] = -2 - len(parts)
                parts.append((start, stop, depth, path, feature))
            elif not self._split_large(top, start, stop, depth, path, threads):
                progress.advance(stop - start)
        grown = [None] * len(parts)

        def work(number):
            part = _Part(self, parts[number][1] - parts[number][0])
            _tree.open_part(self, part, *parts[number])
            for first, last in ranges(0, 1 << 62, _CELLS, _MOST_CELLS):
                if progress.advance(part.grow(self, last - first)):
                    return
                if not part.n_waiting:
                    break
                yield
            grown[number] = part.finished()

        run(work, sorted(range(len(parts)), key=lambda i: parts[i][0] - parts[i][1]), threads)
        if progress.stopped:
            return None
        return _joined(*top.finished(), grown)

    def _split_large(self, part, start, stop, depth, path, threads):
        """Split the last node of the part, by work that is cut into ranges of features; False: it is a leaf."""
        n_features, size = len(self.items), 1 + _CELLS // (stop - start)
        found = []

        def search(features):
            sides = np.empty((1, 2 * self.n_values))
            for first, last in ranges(*features, size):
                found.append(_tree.find_split(self, part, sides, start, stop, depth, path, first, last))
                yield

        def move(features):
            scratch = np.empty(stop - start, np.uint64)
            for first, last in ranges(*features, size):
                _tree.partition_lists(self, scratch, start, stop, cut, feature, left, right, first, last)
                yield

        if self.max_features < n_features:
            found.append(_tree.find_split(self, part, part.sides, start, stop, depth, path, 0, n_features))
        else:
            run(search, _blocks(n_features, 1, threads), threads)
        found = [split for split in found if split[1] >= 0]
        if not found:
            return False
        _, feature, cut = min(found, key=lambda split: (-split[0], split[1]))
        done, left, right = _tree.split_node(self, part, start, stop, depth, path, feature, cut)
        if left or right:
            run(move, _blocks(n_features, 1, threads), threads)
        return done


def _joined(nodes, numbers, parts):
    """The nodes with those of each part in the place that is kept for it."""
    place = np.where(nodes[:, FEATURE] < -1, -2 - nodes[:, FEATURE], -1)
    length = np.ones(len(nodes), np.intp)
    length[place >= 0] = [len(parts[number][0]) for number in place[place >= 0]]
    start = np.cumsum(length) - length
    all_nodes = np.empty((length.sum(), nodes.shape[1]), nodes.dtype)
    all_numbers = np.empty((len(all_nodes), numbers.shape[1]))
    single = start[place < 0]
    all_nodes[single], all_numbers[single] = nodes[place < 0], numbers[place < 0]
    inner = single[nodes[place < 0, FEATURE] >= 0]
    all_nodes[inner, RIGHT] = start[all_nodes[inner, RIGHT]]
    for at in np.flatnonzero(place >= 0):
        part_nodes, part_numbers = parts[place[at]]
        rows = slice(start[at], start[at] + length[at])
        all_nodes[rows], all_numbers[rows] = part_nodes, part_numbers
        all_nodes[rows, RIGHT][part_nodes[:, FEATURE] >= 0] += start[at]
    return all_nodes, all_numbers
