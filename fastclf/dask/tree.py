"""Decision trees on Dask: grown by columns, so that they are those of the plain fit, bit for bit."""

from itertools import pairwise

import numpy as np

from .. import tree as plain
from .._threads import advance
from ..tree.growth import ABOVE, BELOW, FEATURE, SIZE, Grown, by_subset, joined
from ..tree.regressor import NumberRule
from ..tree.sorted_columns import Target
from . import columns, tree_levels
from .base import OnDask, on_dask
from .blocks import placed
from .partitions import as_rows, by_place, columns_of
from .tree_levels import Rules, best

# A node with fewer cells (rows times features) than this is small: a single worker grows its subtree.
_LEAST_CELLS = 1 << 19

# The share of all cells (rows times features), divided by the number of workers, below which a node is small in any
# case: a single worker grows its subtree.
_SHARE = 0.25

# The increment of the state of the random number generator splitmix64, as in `_grow.pyx`.
_STEP, _WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


class _Outline:
    """What growth on the client needs of the data of a fit, in the form of a `Training` that has no rows.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
        Without memory; only its shape counts.
    target : Target
        Without rows.
    weight : float or None
        None if all weights are 1.
    n_codes : ndarray of shape (n_features,), int32, or None
    values : ndarray
        Written when the tree has grown: the values of X that `values_at` tells.
    """

    rows = values = None

    def __init__(self, known, d, form):
        self.X, self._total = np.broadcast_to(np.float64(0), (known.n, d)), known.total_weight
        has_codes = form.labels is not None and form.ndim == 1
        outputs = np.empty((0, len(known.first_value) - 1))
        self.target = Target(*(np.empty(0, np.int32), None) if has_codes else (None, outputs), known.first_value)
        self.weight = known.total_weight if known.weighted else None
        self.n_codes = None
        if form.categories is not None:
            self.n_codes = np.array([0 if each is None else len(each) for each in form.categories], np.int32)

    def __len__(self):
        return len(self.X)

    def total_weight(self):
        return self._total

    def values_at(self, rows, features):
        return self.values[rows]


class _Columns:
    """The rows of a fit on places, each of which has some of the columns.

    Attributes
    ----------
    places : DaskPlaces
    form : columns.Form
    everywhere : list of str
        The addresses of all places.
    bounds : list of int
        The place everywhere[i] has the columns bounds[i] to bounds[i + 1]; later places have none.
    known : list of references
        The `Whole` of each place.
    """

    def __init__(self, places, X, y, sample_weight, model):
        self.places, self.form = places, columns.as_form(model)
        owner = self.form.owner
        X = as_rows(X, "X", owner)
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None")
        self.attributes = columns_of(X)
        arrays, where = placed(places, X, {"y": y, "sample_weight": sample_weight}, owner)
        numbered = [[number, each] for number, each in enumerate(arrays)]
        self._groups = by_place(numbered, lambda item: where[item[0]])
        calls = [places.call(columns.described, group, self.form, near=place) for place, group in self._groups.items()]
        found = sorted((each for group in places.get(calls) for each in group), key=lambda each: each.number)
        d = self.attributes["n_features_in_"]
        if not found:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {d})) while a minimum of 1 is required by {owner}."
            )
        self.form = columns.whole_form(self.form, found, sample_weight is not None)
        self._starts = dict(zip([each.number for each in found], np.cumsum([0, *(each.n for each in found)]).tolist()))
        self.everywhere = [place.address for place in places.places()] or [None]
        n_owners = min(len(self.everywhere), d)
        self.bounds = [d * i // n_owners for i in range(n_owners + 1)]
        self._send()

    def _send(self):
        """Send the targets of all rows to every worker."""
        call = self.places.call
        self._cut = [
            call(columns.in_columns, group, self.form, self.bounds, near=place) for place, group in self._groups.items()
        ]
        targets = [call(columns.targets_of, cut, near=place) for cut, place in zip(self._cut, self._groups)]
        self.known = [call(columns.whole, targets, self.form, near=place) for place in self.everywhere]

    def owners(self):
        """(address, `Whole`, (first column, end of the columns)) of each place that has columns."""
        return zip(self.everywhere, self.known, pairwise(self.bounds))

    def sorted(self, leave_out, n_jobs):
        """(the sorted lists of each owner, what `of_columns` tells of them)."""
        call, lists = self.places.call, []
        for i, (place, known, ours) in enumerate(self.owners()):
            parts = [call(columns.range_of, cut, i, near=near) for cut, near in zip(self._cut, self._groups)]
            lists.append(call(columns.sorted_lists, parts, known, ours, leave_out, n_jobs, near=place))
        del self._cut
        told = [call(columns.of_columns, each, near=place) for each, place in zip(lists, self.everywhere)]
        return lists, self.places.get(told)

    def values(self, wanted):
        """The values of X, or of y, for each (rows, features or None) of `wanted`."""
        calls = [
            self.places.call(
                columns.looked_up,
                [[*item, self._starts[item[0]]] for item in group if item[0] in self._starts],
                self.form,
                self.known[i % len(self.known)],
                wanted,
                near=place,
            )
            for i, (place, group) in enumerate(self._groups.items())
        ]
        parts = [part for found in self.places.get(calls) for part in zip(range(len(wanted)), found)]
        listed = [[pair for i, found in parts if i == k for pair in found] for k in range(len(wanted))]
        return [_put_together(len(rows), pairs) for (rows, _), pairs in zip(wanted, listed)]


def _put_together(n, pairs):
    """An array of n values, which is filled from pairs (indices in the array, values at these indices)."""
    out = np.empty((n, *pairs[0][1].shape[1:])) if pairs else np.empty(n)
    for places, values in pairs:
        out[places] = values
    return out


class _Growing:
    """The growth of a tree, as the client sees it.

    Attributes
    ----------
    entries : dict
        {number of the node: its `Entry`}, for all nodes that are not in a subtree of a small node; node i has the
        children 2 i and 2 i + 1.
    splits : dict
        {number of the node: its `Division`}, for those that are split.
    small : list of int
        The numbers of the small nodes.
    """

    def __init__(self, on, rules, data, progress):
        self.on, self.rules, self.data, self.progress = on, rules, data, progress
        self.call, self.get = on.places.call, on.places.get
        d = data.X.shape[1]
        self.least = max(_LEAST_CELLS, _SHARE * len(data) * d / len(on.everywhere)) / d
        self.entries, self.splits, self.small = {}, {}, []

    def grow(self, lists, is_short):
        """A list of (number of the node, `Grown`), one for each small node."""
        owners = list(self.on.owners())
        place, known, _ = owners[0]
        [root] = self.get([self.call(tree_levels.root, lists[0], known, self.rules, is_short, near=place)])
        self.pieces = [
            self.call(tree_levels.opened, each, root, is_short, near=place) for each, (place, *_) in zip(lists, owners)
        ]
        waiting = self._sorted_out({1: root})
        while waiting:
            waiting = self._level(owners, waiting)
        return self._subtrees()

    def _sorted_out(self, entries):
        """Record the Entries of new nodes; returns the numbers of those to split next: no leaves, no small nodes."""
        self.entries.update(entries)
        waiting = [number for number, entry in entries.items() if not entry.leaf and entry.n >= self.least]
        self.small += [number for number, entry in entries.items() if not entry.leaf and entry.n < self.least]
        advance(self.progress, sum(entry.n for entry in entries.values() if entry.leaf))
        return waiting

    def _level(self, owners, waiting):
        """Split the nodes with the numbers `waiting`; returns the numbers of their children that are split next."""
        asked = [[number, self.entries[number]] for number in waiting]
        answers = self.get([
            self.call(tree_levels.searched, pieces, known, self.rules, asked, ours, near=place)
            for pieces, (place, known, ours) in zip(self.pieces, owners)
        ])  # fmt: skip
        splits = {number: self._chosen(number, found) for number, found in zip(waiting, zip(*answers))}
        cuts = by_place(
            [[number, self.entries[number], split] for number, split in splits.items() if split],
            lambda cut: int(np.searchsorted(self.on.bounds, cut[2][1], side="right")) - 1,
        )
        divided, told = [], []
        for i, group in cuts.items():
            place, known, ours = owners[i]
            divided.append(self.call(tree_levels.divided, self.pieces[i], known, self.rules, group, ours, near=place))
            told.append(self.call(tree_levels.divisions, divided[-1], near=place))
        found = {number: each for part in (self.get(told) if told else []) for number, each in part.items() if each}
        self.splits.update(found)
        advance(self.progress, sum(self.entries[number].n for number in waiting if number not in found))
        self.pieces = [
            self.call(tree_levels.advanced, pieces, known, self.rules, divided, waiting, near=place)
            for pieces, (place, known, _) in zip(self.pieces, owners)
        ]
        return self._sorted_out({
            child: entry
            for number, each in found.items()
            for child, entry in ((2 * number, each.left), (2 * number + 1, each.right))
        })  # fmt: skip

    def _chosen(self, number, answers):
        """The best split of a node among those that workers have found for their features; None if there is none."""
        if not self.rules.draws:
            return best(filter(None, answers))
        listed = [each for part in answers for each in part]
        return best(filter(None, (listed[f] for f in self._drawn(self.entries[number].path, listed))))

    def _drawn(self, path, listed):
        """The features drawn for a node, by the random numbers of `_grow.pyx`; listed[f]: False if f is constant."""
        features, limits, tried = list(range(len(listed))), self.rules.limits, 0
        state = _mixed(limits.seed ^ path)
        for i in range(len(features)):
            if tried == limits.max_features:
                return features[:i]
            state = (state + _STEP) & _WORD
            other = i + _mixed(state) % (len(features) - i)
            features[i], features[other] = features[other], features[i]
            tried += listed[features[i]] is not False
        return features

    def _subtrees(self):
        """Grow the subtrees of small nodes, the largest first, each on the worker that has the fewest rows so far."""
        load, groups = [0] * len(self.on.everywhere), {}
        for number in sorted(self.small, key=lambda number: -self.entries[number].n):
            place = load.index(min(load))
            load[place] += self.entries[number].n
            groups.setdefault(place, []).append(number)
        calls = []
        for place, numbers in groups.items():
            near, known = self.on.everywhere[place], self.on.known[place]
            parts = [
                self.call(tree_levels.pieces_of, pieces, numbers, near=owner)
                for pieces, (owner, *_) in zip(self.pieces, self.on.owners())
            ]
            entries = [self.entries[number] for number in numbers]
            calls.append(self.call(tree_levels.grown, parts, known, self.rules, entries, near=near))
        found = self.get(calls) if calls else []
        advance(self.progress, sum(self.entries[number].n for number in self.small))
        return [
            (number, _changeable(grown))
            for numbers, part in zip(groups.values(), found)
            for number, grown in zip(numbers, part)
        ]

    def top(self, subtrees):
        """The nodes above all subtrees as a `Grown`, in pre-order, where -2 - i in FEATURE stands for subtree i."""
        place = {number: i for i, (number, _) in enumerate(subtrees)}
        records, numbers, subsets, stack, n_words = [], [], [], [1], 0
        while stack:
            number = stack.pop()
            entry, record = self.entries[number], np.full(5, -1, np.int32)
            record[SIZE], record[BELOW] = entry.n, entry.row
            if number in self.splits:
                division = self.splits[number]
                record = division.record.copy()
                if len(division.subset):
                    record[BELOW] = n_words
                    n_words += len(division.subset)
                    subsets.append(division.subset)
                stack += [2 * number + 1, 2 * number]
            elif number in place:
                record[FEATURE] = -2 - place[number]
            records.append(record)
            numbers.append(entry.numbers)
        return Grown([(np.array(records), np.array(numbers))], np.concatenate([*subsets, np.empty(0, np.uint64)]))


def _changeable(grown):
    """A Grown like the given one, with writable arrays: Ray returns a task's arrays as read-only ones."""
    blocks = [tuple(np.require(part, requirements="CAW") for part in block) for block in grown.blocks]
    return grown._replace(blocks=blocks)


def _mixed(x):
    """A pseudo-random number of 64 bits from the number x, by splitmix64, as in `_growth.pxd`."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31


class _Tree(OnDask):
    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._require_choices()
        self._require_offered(model)
        on = _Columns(places, X, y, sample_weight, model)
        [known], d = places.get([places.call(columns.facts, on.known[0], near=on.everywhere[0])]), on.bounds[-1]
        data, criterion = _Outline(known, d, on.form), model.criterion.replace("log_loss", "entropy")
        limits = model._limits(criterion, data)
        lists, told = on.sorted(model._is_plain(criterion, limits, data), model.n_jobs)
        lacking, is_short = zip(*told)
        rules = Rules(limits, known.n, known.total_weight, limits.max_features < d, model.n_jobs)
        with model._fit_progress(len(data)) as progress:
            growing = _Growing(on, rules, data, progress)
            subtrees = growing.grow(lists, any(is_short))
        found = joined(growing.top(subtrees), [each for _, each in subtrees], data.n_codes)
        rule, fitted = self._rule(model, on, data, found, known)
        fitted |= {
            "features_with_missing_": np.concatenate(lacking),
            "max_features_": limits.max_features,
        }
        if on.form.categories is not None:
            fitted["categories_"] = on.form.categories
        fitted |= model._pruned(iter([model._judged(found, None, data, rule)]), data)
        fitted["lam_"] = fitted["ccp_alpha_"] * model._lam_unit(fitted["_nodes"])
        return model._become(**fitted, **on.attributes)

    @staticmethod
    def _require_offered(model):
        """Refuse parameters for which one process would have to hold all rows."""
        if model.ccp_alpha == "cv":
            raise ValueError(
                "ccp_alpha is 'cv', which passes left-out rows through the tree of each fold; a number is wanted, such"
                " as one that fastclf.dask.tune has chosen"
            )
        if model.splitter == "random":
            raise ValueError(
                "splitter is 'random', whose thresholds are drawn between values of X, and trees of fastclf.dask know"
                " only the order of the values; 'best' is wanted"
            )

    def _rule(self, model, on, data, found, known):
        """The tree's rule and fitted attributes; workers look up values of X and y, which nodes name by row number."""
        blocks = [nodes for nodes, _ in found.blocks]
        nodes = np.concatenate(blocks)
        inner = np.flatnonzero((nodes[:, FEATURE] >= 0) & ~by_subset(nodes, data.n_codes))
        leaf, n = np.flatnonzero(nodes[:, FEATURE] < 0), len(inner)
        wanted = [(nodes[inner, side].astype(np.intp), nodes[inner, FEATURE]) for side in (BELOW, ABOVE)]
        if on.form.labels is None:
            wanted.append((nodes[leaf, BELOW].astype(np.intp), None))
        below, above, *y = on.values(wanted)
        data.values = np.concatenate([below, above])
        nodes[inner, BELOW], nodes[inner, ABOVE], nodes[leaf, BELOW] = (
            np.arange(n),
            np.arange(n, 2 * n),
            np.arange(len(leaf)),
        )
        start = 0
        for i, (block, numbers) in enumerate(found.blocks):
            found.blocks[i] = nodes[start : start + len(block)], numbers
            start += len(block)
        if on.form.labels is None:
            return NumberRule(model.criterion, y[0], known.centre, known.scale), {"n_outputs_": y[0].shape[1]}
        return model._rule(on.form.labels, data.target, on.form.ndim)


@on_dask(plain.DecisionTreeClassifier)
class DecisionTreeClassifier(_Tree):
    """A decision tree for labels, grown by columns on Dask: `fastclf.DecisionTreeClassifier`, bit for bit.

    Each worker has some of the columns, and the labels and weights of all rows. `ccp_alpha='cv'` and
    `splitter='random'` are not offered.
    """


@on_dask(plain.DecisionTreeRegressor)
class DecisionTreeRegressor(_Tree):
    """A decision tree for numbers, grown by columns on Dask: `fastclf.DecisionTreeRegressor`, bit for bit.

    Each worker has some of the columns, and the numbers and weights of all rows. `ccp_alpha='cv'` and
    `splitter='random'` are not offered.
    """
