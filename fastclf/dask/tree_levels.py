"""Growth of a tree by columns: each place searches and partitions the sorted lists of its columns, node by node.

A large node is split in two rounds: each place searches its columns; then the place of the best column splits the node,
and sends which rows go left to the others as bits. A place partitions copies of its lists, so that a task can be
repeated. Once a node is small, one place gets its lists from all others, and grows the subtree.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._threads import ranges, run
from ..tree.growth import CRITERIA, FEATURE, PLACES, Scratch, TreePart, log_table
from ..tree.sorted_columns import Sorted, blocks_of
from .partitions import threads_of

_START, _STOP, _DEPTH, _LIST, _LEAF, _PATH, _CONSTANT = PLACES

_grow = _simd.load("tree._grow")

# The order, by ascending values of the feature, in which a split cuts the rows of a node in two; it is IN_ORDER of
# `_plain_split.pxd`.
_IN_ORDER = 0


class Entry(NamedTuple):
    """A node that waits to be split, as the client and the places describe it to each other."""

    n: int  # the number of rows of the node
    depth: int
    leaf: bool
    path: int  # an integer of 64 bits, the seed from which the node's random features are drawn
    # the number of the row that stands first in the node's list of rows, so that sums over the rows begin with it
    row: int
    # the sums over the node's rows from which splits are scored, in the layout of a row of `TreePart.waiting`
    numbers: np.ndarray


class Rules(NamedTuple):
    """What all places need to know in order to grow the tree."""

    limits: object  # the parameters that limit the growth of the tree, such as max_depth, the same on all workers
    n: int  # the number of rows on which the tree is grown
    total_weight: float
    draws: bool  # whether each node searches only a random subset of the features
    n_jobs: int | None


class Pieces(NamedTuple):
    """The lists of some columns for each node that is not finished. Tasks do not change them."""

    # a Sorted without items, which describes the lists of this worker's columns: `form.common` is None unless a list of
    # any worker leaves out the rows that have one frequent value of its column
    form: Sorted
    # {number of a node: items (n_columns + 1, rows of the node)}: a sorted list for each column, then the rows in an
    # order that all workers share. Node i has the children 2 i and 2 i + 1.
    items: dict

    def row_mask(self):
        return np.uint64((1 << self.form.row_bits) - 1)

    def with_items(self, items):
        lists = copy(self.form)
        lists.items = np.require(items, requirements="CAW")
        return lists

    def rows(self, number):
        """The rows of a node, in the order that all places share."""
        return (self.items[number][-1] & self.row_mask()).astype(np.intp)


class Division(NamedTuple):
    """A split of a node, by the place that has its column."""

    # the integers that describe the split node; FEATURE to MISSING of `tree/growth.py` are their indices
    record: np.ndarray
    subset: np.ndarray  # for a split by categories, the set of categories that go left, a bit for each
    left: Entry
    right: Entry


def _limits(rules, first, stop, **changes):
    """The `Limits` of a tree's growth on a worker that has only the features first to stop - 1."""
    monotonic = rules.limits.monotonic
    if monotonic is not None:  # compiled code reads one more constraint, 0 for none, for the list of row numbers
        monotonic = np.append(monotonic[first:stop], np.int8(0))
    return rules.limits._replace(**{"monotonic": monotonic, "max_features": stop - first} | changes)


def _waiting(growth, entry, place, n=1):
    """A TreePart with the node of `entry` to split; place: the index of its list of rows; n: scratch space, in rows."""
    part = TreePart(growth, n)
    node = part.stack[0]
    node[[_START, _STOP, _DEPTH, _LIST]] = 0, entry.n, entry.depth, place
    node[[_LEAF, _CONSTANT]] = entry.leaf, 0
    node.view(np.uint64)[_PATH] = entry.path
    width = part.waiting.shape[1]
    part.waiting[0], part.n_waiting = entry.numbers[:width], 1
    return part


def _entry(part, place, lists, items):
    """The Entry of the node at a place on a TreePart's stack of nodes to split; items: the sorted lists of rows."""
    node = part.stack[place]
    first = int(items[int(node[_LIST]), int(node[_START])]) & ((1 << lists.row_bits) - 1)
    path = int(node.view(np.uint64)[_PATH])
    n = int(node[_STOP] - node[_START])
    return Entry(n, int(node[_DEPTH]), bool(node[_LEAF]), path, first, part.waiting[place].copy())


def root(lists, known, rules, is_short):
    """The Entry of the root, made by the worker that has the first column."""
    lists = copy(lists)
    d = lists.n_features
    lists.items = items = np.require(lists.items if is_short else lists.items[:d], requirements="CAW")
    if is_short:
        lists.common = _common(lists)
    growth = _grow.Growth(lists, known.among(0, d), _limits(rules, 0, d), rules.total_weight, None)
    part = TreePart(growth, len(items[0]))
    _grow.open_root(growth, part)
    return _entry(part, 0, lists, items)


def _common(lists):
    return np.full((2, lists.n_features), -1, np.int32) if lists.common is None else lists.common


def _with_first(rows, row, row_mask):
    """Move the row with the number `row` to the front of a node's list of rows, in place."""
    at = int(np.flatnonzero((rows & row_mask) == np.uint64(row))[0])
    rows[[0, at]] = rows[[at, 0]]


def opened(lists, entry, is_short):
    """The Pieces of the root alone."""
    form, items = copy(lists), lists.items.copy()
    form.items, form.common = None, _common(lists) if is_short else None
    pieces = Pieces(form, {1: items})
    _with_first(items[-1], entry.row, pieces.row_mask())
    return pieces


def searched(pieces, known, rules, entries, columns):
    """For each (number of a node, Entry) the best (score, feature, cut, order) by this place's columns, or None.

    If nodes draw features, instead for each column this, or None, or False if the column is constant in the node.
    """
    first, stop = columns
    limits, threads, found = _limits(rules, first, stop), threads_of(rules.n_jobs), {}
    most = max(entry.n for _, entry in entries)
    table = log_table(limits, known, rules.n, most)
    data = known.among(first, stop)
    jobs = []
    for number, entry in entries:
        growth = _grow.Growth(pieces.with_items(pieces.items[number]), data, limits, rules.total_weight, table)
        part = _waiting(growth, entry, stop - first)
        found[number] = {}
        jobs += [(number, entry.n, growth, part, block) for block in blocks_of(stop - first, 1, threads)]

    def search(job):
        number, n, growth, part, block = job
        scratch = Scratch(growth, n)
        for one in ((f, f + 1) for f in range(*block)) if rules.draws else ranges(*block, 1):
            score, f, cut, how = _grow.find_split(growth, part, scratch, *one)
            found[number][one] = (score, first + f, cut, how) if f >= 0 else None
            yield

    run(search, jobs, threads)
    if rules.draws:
        return [_of_columns(found[number], _constant(pieces, number)) for number, _ in entries]
    return [best(filter(None, found[number].values())) for number, _ in entries]


def best(splits):
    """The split with the largest score, of equal ones that of the first column; None if there is no split."""
    return min(splits, key=lambda split: (-split[0], split[1]), default=None)


def _of_columns(found, constant):
    return [False if flag else found[one] for one, flag in zip(sorted(found), constant)]


def _constant(pieces, number):
    """A mask of the columns that are constant in a node's rows."""
    items, shift = pieces.items[number][:-1], np.uint64(pieces.form.rank_shift)
    first, last = items[:, 0] >> shift, items[:, -1] >> shift
    if pieces.form.common is None:
        return first == last
    missing = np.uint64((1 << 64 - pieces.form.rank_shift) - 1)
    cut_short = (pieces.form.common[0] >= 0) & (last == missing)
    return np.where(cut_short, (items[:, -1] & pieces.row_mask()) == 0, first == last)


def divided(pieces, known, rules, cuts, columns):
    """{number of a node: (Division, bits of the rows that go left) or None} for cuts (number, Entry, split).

    None: the split does not reduce the impurity enough. The bits are in the order that all places share.
    """
    found, side = {}, np.zeros(rules.n, bool)
    for number, entry, (_, feature, cut, how) in cuts:
        place, items = feature - columns[0], pieces.items[number]
        lists = pieces.with_items(items[[place, -1]] if pieces.form.common is not None else items[[place]])
        lists.n_features, items = 1, lists.items
        if lists.common is not None:
            lists.common = np.ascontiguousarray(lists.common[:, [place]])
        limits = _limits(rules, feature, feature + 1)
        growth = _grow.Growth(lists, known.among(feature, feature + 1), limits, rules.total_weight, None)
        part = _waiting(growth, entry, len(items) - 1, entry.n)
        is_split, _ = _grow.split_top(growth, part, 0, cut, how)
        if not is_split:
            found[number] = None
            continue
        record = part.nodes[0].copy()
        record[FEATURE] = feature
        left = (items[-1, :cut] & pieces.row_mask()).astype(np.intp)
        side[left] = True
        bits = np.packbits(side[pieces.rows(number)])
        side[left] = False
        # the stack of nodes to split has the left child on top, at place 1, and the right child below it, at place 0
        children = (_entry(part, place, lists, items) for place in (1, 0))
        found[number] = Division(record, part.subsets[: part.n_words].copy(), *children), bits
    return found


def divisions(found):
    """What the client needs of `divided`."""
    return {number: each and each[0] for number, each in found.items()}


def advanced(pieces, known, rules, found, open_numbers):
    """The Pieces after splits, from the results of `divided` of all places.

    open_numbers: the nodes that have been searched; those that are not split are finished.
    """
    limits = _limits(
        rules, 0, 0, monotonic=None, min_decrease=0.0, min_leaf_weight=0.0, max_depth=1 << 40, min_split=0, min_leaf=0
    )
    by_labels = CRITERIA[limits.criterion] in ("gini", "entropy", "misclassification")
    # The criterion determines only the impurities of the children, which are not used here, so that gini stands in for
    # every criterion of labels, and squared_error for every criterion of numbers.
    limits = limits._replace(criterion=CRITERIA.index("gini" if by_labels else "squared_error"), max_features=1 << 30)
    items = {number: each for number, each in pieces.items.items() if number not in open_numbers}
    for number, each in sorted((number, each) for part in found for number, each in part.items() if each):
        (_, _, left, right), _ = each
        if left.leaf and right.leaf:
            continue
        cut = _partitioned(pieces, known, rules._replace(limits=limits), number, each)
        for child, entry, start in ((2 * number, left, 0), (2 * number + 1, right, left.n)):
            if not entry.leaf:
                items[child] = cut[:, start : start + entry.n].copy()
                _with_first(items[child][-1], entry.row, pieces.row_mask())
    return Pieces(pieces.form, items)


def _partitioned(pieces, known, rules, number, found):
    """A copy of a split node's sorted lists, in which the rows of the left child come before those of the right one."""
    (_, _, left, right), bits = found
    n, d, threads = left.n + right.n, pieces.form.n_features, threads_of(rules.n_jobs)
    items = pieces.items[number].copy()
    goes_left = np.unpackbits(bits, count=n).view(bool)
    items[-1] = np.concatenate([items[-1][goes_left], items[-1][~goes_left]])
    lists = pieces.with_items(items)
    items = lists.items
    growth = _grow.Growth(lists, known.among(0, 0), rules.limits, rules.total_weight, None)
    part = TreePart(growth, n)
    node = part.stack[0]
    node[[_START, _STOP, _DEPTH, _LIST, _LEAF, _PATH, _CONSTANT]] = 0, n, 0, d, 0, 1, 0
    part.waiting[0], part.n_waiting = 1.0, 1
    _grow.split_top(growth, part, d, left.n, _IN_ORDER)
    part.stack[1, _LEAF], part.stack[0, _LEAF] = left.leaf, right.leaf

    def move(features):
        scratch = np.empty(n, np.uint64)
        for one in ranges(*features, 1):
            _grow.partition_lists(growth, part, scratch, *one)
            yield

    run(move, blocks_of(d, 1, threads), threads)
    return items


def pieces_of(pieces, numbers):
    """(the items of some nodes, the lists' form)."""
    return [pieces.items[number] for number in numbers], pieces.form


def grown(parts, known, rules, entries):
    """The `Grown` of each Entry's subtree; parts: the results of `pieces_of` of all places, in order of columns."""
    forms = [form for _, form in parts]
    lists = copy(forms[0])
    lists.n_features = sum(form.n_features for form in forms)
    if lists.common is not None:
        lists.common = np.ascontiguousarray(np.concatenate([form.common for form in forms], axis=1))
    data, most = known.among(0, lists.n_features), max(entry.n for entry in entries)
    table, found = log_table(rules.limits, known, rules.n, most), [None] * len(entries)

    def work(i):
        entry, own = entries[i], copy(lists)
        own.items = np.concatenate([*(each[i][:-1] for each, _ in parts), parts[0][0][i][-1:]])
        growth = _grow.Growth(own, data, rules.limits, rules.total_weight, table)
        part = _waiting(growth, entry, lists.n_features, entry.n)
        for cells in part.budgets():
            _grow.grow(growth, part, cells)
            yield
        found[i] = part.finished()

    run(work, sorted(range(len(entries)), key=lambda i: -entries[i].n), threads_of(rules.n_jobs))
    return found
