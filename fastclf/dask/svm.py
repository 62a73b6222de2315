"""Support vector machines on Dask.

SVC is fitted by pairs of classes: a pair is a task on the rows of both classes. LinearSVC is fitted by classes: a class
against the rest is a task on all rows.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import svm as plain
from .._csr import Csr, as_rows, as_unchecked_rows
from .._estimator import clone
from .._labels import Labels, as_labels, encode_known, require_two, rows_that_count
from .._threads import run
from .._validation import require_weight
from ..kernels.gamma import gamma_by, gamma_of, mean_of, sum_bounds, variance_of, weighted_sums
from ..kernels.values import Rows
from ..svm import few_rows, pairs, small_pairs
from ..svm.gram import Gram
from ..svm.small_pairs import DOUBTFUL, SOLVED, STOPPED, UNSOLVED, SmallPairs
from .base import OnDask, on_dask
from .blocks import Reader, Shards, joined_rows
from .partitions import by_place, naming, threads_of


class Known(NamedTuple):
    """What the machine of a pair needs to know of the rows of all classes."""

    classes: np.ndarray
    class_weight: np.ndarray
    codes: list  # the index of each class among the sorted labels of all rows, even of those of weight 0
    sizes: np.ndarray  # (n_classes,): the number of rows of each class
    gamma: float
    dtype: str  # the name of the type of kernel values, "float32" or "float64"
    free_dtype: bool  # whether the solver may replace `dtype`, float32 by float64 or the reverse
    rounding: dict  # a dict {name of a type: the rounding error of a kernel value of this type}
    mean_diagonal: float
    largest_bound: float


class _Norms:
    """A stand-in for the `Rows` of all partitions that has their squared lengths, but not their values."""

    def __init__(self, norm):
        self.norm = norm

    def __len__(self):
        return len(self.norm)


def aligned(rows):
    """A copy of rows of numbers, since the bits of a sum may depend on the place of its terms in memory."""
    return rows if isinstance(rows, Csr) else rows.copy()


def gamma_sums(model, rows, codes, weight, bounds, mean):
    """`weighted_sums` of each block."""
    weight = np.ones(len(rows)) if weight is None else weight
    return [
        weighted_sums(aligned(rows[start:stop]), weight[start:stop].copy(), mean) for start, stop in pairwise(bounds)
    ]


def described(parts, reader, classes):
    """(number of a partition, codes, weights or None, squared lengths) of each (number, arrays) that has rows."""
    found = []
    for number, arrays in parts:
        with naming(number):
            read = reader.read(*arrays)
            if read is not None:
                rows, y, weight = read
                found.append((number, encode_known(classes, y), weight, Rows(aligned(rows)).norm))
    return found


def _together(lists):
    """The (codes, weights or None, squared lengths) of all rows, from lists for each worker's partitions."""
    found = sorted((each for part in lists for each in part), key=lambda each: each[0])
    codes, weight, norm = ([each[i] for each in found] for i in (1, 2, 3))
    return np.concatenate(codes), None if weight[0] is None else np.concatenate(weight), np.concatenate(norm)


def total_weight(lists):
    """The sum of the weights of all rows."""
    codes, weight, _ = _together(lists)
    return float(len(codes)) if weight is None else float(weight.sum())


def known(lists, model, classes, gamma):
    """The `Known` of all rows."""
    codes, weight, norm = _together(lists)
    rows = rows_that_count(weight)
    if weight is not None:
        require_weight(weight)
    counted = codes if rows is None else codes[rows]
    listed = np.unique(counted)
    labels = Labels(classes[listed], np.searchsorted(listed, counted), rows, weight)
    require_two("y", labels.classes)
    codes, bounds, class_weight = model._coded(labels, len(codes))
    norms, kernel = _Norms(norm), model._kernel(gamma)
    dtype, free_dtype = model._gram_types(kernel, norms)
    problem = pairs.Problem(Gram(kernel, norms, dtype), codes, [bounds], len(labels.classes))
    return Known(
        labels.classes,
        class_weight,
        listed.tolist(),
        np.diff(problem.starts),
        gamma,
        dtype,
        free_dtype,
        {name: kernel.rounding(norms, name) for name in ("float32", "float64")},
        problem.mean_diagonal(problem.gram),
        problem.largest_bound(),
    )


def by_class(parts, reader, classes, facts):
    """For each class triples (row numbers, rows, bounds), from each (number, arrays, number of the first row)."""
    found = [[] for _ in facts.codes]
    for number, arrays, first in parts:
        with naming(number):
            read = reader.read(*arrays)
        if read is None:
            continue
        rows, y, weight = read
        codes = encode_known(classes, y)
        for k, code in enumerate(facts.codes):
            here = np.flatnonzero(codes == code)
            bounds = reader.model._bounds(
                np.full(len(here), facts.class_weight[k]), None if weight is None else weight[here]
            )
            here, bounds = here[bounds > 0], bounds[bounds > 0]
            if len(here):
                found[k].append((first + here, rows[here], bounds))
    return found


def of_class(found, k):
    """The triples of a class."""
    return found[k]


def class_rows(lists):
    """(row numbers, rows, bounds) of a class, from the triples of all places."""
    found = sorted((each for part in lists for each in part), key=lambda each: each[0][0])
    numbers, rows, bounds = zip(*found)
    return np.concatenate(numbers), joined_rows(rows), np.concatenate(bounds)


class _PairGram(Gram):
    """The kernel values between rows of two classes, in the float type that was chosen for the rows of all classes."""

    def __init__(self, kernel, X, facts, row_numbers, dtype=None):
        super().__init__(kernel, X, dtype or facts.dtype, facts.free_dtype)
        self.facts, self.row_numbers = facts, row_numbers

    def of_type(self, dtype):
        return self if self.dtype == dtype else _PairGram(self.kernel, self.X, self.facts, self.row_numbers, dtype)

    def rounding(self):
        return self.facts.rounding[self.dtype.name]


def _problem(cls, model, pair, facts, first, second):
    """The `Problem` of all pairs of classes, for a task with the rows of one pair alone; cls: the class to extend."""

    class PairProblem(cls):
        n_rows = int(facts.sizes.sum())

        def mean_diagonal(self, gram):
            return facts.mean_diagonal

        def largest_bound(self):
            return facts.largest_bound

    numbers = np.concatenate([first[0], second[0]])
    order = np.argsort(numbers)
    X = joined_rows([first[1], second[1]])[order]
    codes = np.repeat(pair, [len(first[0]), len(second[0])])[order]
    gram = _PairGram(model._kernel(facts.gamma), Rows(X), facts, numbers[order])
    bounds = np.concatenate([first[2], second[2]])[order]
    return PairProblem(gram, codes, [bounds], len(facts.classes))


def _prepared(model, p, facts, first, second, coef=None):
    """(Problem, Solutions, solver's options) for pair p of classes; other pairs, marked as solved, are skipped."""
    pair = pairs.pairs_of(len(facts.classes))[p]
    problem = _problem(model._problem_type, model, pair, facts, first, second)
    options = model._options() | {"threads": threads_of(model.n_jobs)}
    found = pairs.Solutions(problem, options)
    found.status[:] = SOLVED
    found.status[0, p] = UNSOLVED
    return problem, found, options


class Solution(NamedTuple):
    """The support vector machine for a pair of classes (a, b)."""

    coefs: tuple  # two arrays: the dual coefficients of the rows of class a, and those of the rows of class b
    proof: np.ndarray
    n_steps: int
    status: int
    reason: str
    patience: int

    def is_left(self):
        return self.status not in (SOLVED, STOPPED)


def _solution(found, p, pair):
    coefs = tuple(part.copy() for part in found.of_pair(0, pair))
    return Solution(
        coefs, found.proof[0, p].copy(), int(found.n_steps[0, p]), int(found.status[0, p]), found.reason, found.patience
    )


def small_pair(model, p, facts, first, second):
    """The `Solution` of a pair by the methods for few rows, which may leave it unsolved."""
    problem, found, options = _prepared(model, p, facts, first, second)
    pair, watch = problem.pairs[p], pairs.Watch(0, None)
    if not model.fit_intercept:
        problem._solve_pair(p, pair, options, found, watch)
        return _solution(found, p, pair)
    for number, gram in enumerate(small_pairs.grams(problem, found)):
        largest = pairs.limits_of(options, gram.dtype, 1, 1).largest_set
        small = SmallPairs(problem, gram, found, 1, watch)
        few_rows.solve(small, options["cache_bytes"], UNSOLVED if number == 0 else DOUBTFUL)
        if len(problem.rows) <= largest and small.takes(found.status[0, p]):
            run(small.alone, [np.array([*pair, p, 0])], 1)
    return _solution(found, p, pair)


def large_pair(model, p, facts, first, second, start, n_left):
    """The `Solution` of a pair that `small_pair` has left as `start`; n_left: the number of such pairs."""
    problem, found, options = _prepared(model, p, facts, first, second)
    pair = problem.pairs[p]
    for part, coef in zip(found.of_pair(0, pair), start.coefs):
        part[:] = coef
    found.n_steps[0, p], found.status[0, p], found.patience = start.n_steps, start.status, start.patience
    limits = pairs.limits_of(options, problem.gram.dtype, n_left, 1)._replace(threads=options["threads"])
    run(lambda p: pairs.solve_large(problem, found, p, limits, pairs.Watch(0, None)), [p], 1)
    return _solution(found, p, pair)


def told(solution):
    """What the client needs of a `Solution`: in place of coefficients, the places in both classes of those not 0."""
    return solution._replace(coefs=[np.flatnonzero(coef) for coef in solution.coefs])


def coefs_at(solution, first, second):
    """The coefficients in some places of both classes; some of them are 0 or -0."""
    return solution.coefs[0][first], solution.coefs[1][second]


def picked(found, places):
    """(the row numbers, the rows) in some places of a class."""
    return found[0][places], found[1][places]


class _Support(NamedTuple):
    """A stand-in for X that has its shape, but only the support vectors as rows."""

    rows: object
    n: int

    @property
    def shape(self):
        return self.n, self.rows.shape[1]

    def __getitem__(self, numbers):
        return self.rows


class _ByPairs:
    """The client's side of an SVC fit on Dask, in which a task on a worker solves each pair of classes."""

    def __init__(self, places, model, X, y, sample_weight):
        self.places = places
        self.model = clone(model).set_params(verbose=0, callback=None)
        self.reader = Reader(self.model, as_rows)
        self.shards = Shards(places, X, y, sample_weight, self.reader)
        numbered = [[each.number, each.arrays, each.place, each.n] for each in self.shards.partitions]
        starts = np.cumsum([0, *(each.n for each in self.shards.partitions)]).tolist()
        self.parts = [[number, arrays, first] for (number, arrays, *_), first in zip(numbered, starts)]
        self.groups = by_place(
            list(zip(self.parts, [each.place for each in self.shards.partitions])), lambda item: item[1]
        )
        self.facts = self._facts()
        self.pairs = pairs.pairs_of(len(self.facts.classes))

    def _facts(self):
        call, [home, *_], classes = self.places.call, self.places.places() or [None], self.shards.classes
        near = home and home.address
        described_parts = [
            call(described, [item[:2] for item, _ in group], self.reader, classes, near=place)
            for place, group in self.groups.items()
        ]
        gamma = 1.0
        if self.model._uses_gamma():
            gamma = self._gamma(lambda: self.places.get([call(total_weight, described_parts, near=near)])[0])
        gamma = self.model._rounded_gamma(gamma)
        return self.places.get([call(known, described_parts, self.model, classes, gamma, near=near)])[0]

    def _gamma(self, weigh):
        """The value of the kernel's parameter gamma; weigh: a function that returns the sum of all rows' weights."""
        shards, d = self.shards, self.shards.columns["n_features_in_"]
        if self.model.gamma != "scale":
            return gamma_of(self.model.gamma, np.empty((0, d)))
        bounds, total = sum_bounds(shards.n, shards.size), weigh() * d
        with np.errstate(over="ignore", invalid="ignore"):
            mean, present = mean_of(shards.sums(gamma_sums, bounds, None), total)
            squares, _ = mean_of(shards.sums(gamma_sums, bounds, mean), total)
            return gamma_by(variance_of(mean, squares, total, present), d)

    def solved(self):
        """The `Solution` of each pair, as `told` tells it."""
        call, everywhere = self.places.call, [place.address for place in self.places.places()] or [None]
        parts = [
            call(by_class, [item for item, _ in group], self.reader, self.shards.classes, self.facts, near=place)
            for place, group in self.groups.items()
        ]
        self.classes = [
            call(
                class_rows,
                [call(of_class, part, k, near=place) for part, place in zip(parts, self.groups)],
                near=everywhere[k % len(everywhere)],
            )
            for k in range(len(self.facts.classes))
        ]
        where = self._shared_out(everywhere)
        refs = [
            call(small_pair, self.model, p, self.facts, self.classes[a], self.classes[b], near=where[p])
            for p, (a, b) in enumerate(self.pairs)
        ]
        found = self._told(refs, where)
        left = [p for p, each in enumerate(found) if each.is_left()]
        if left:
            for p in left:
                a, b = self.pairs[p]
                rest = self.classes[a], self.classes[b], refs[p], len(left)
                refs[p] = call(large_pair, self.model, p, self.facts, *rest, near=where[p])
            for p, each in zip(left, self._told([refs[p] for p in left], [where[p] for p in left])):
                found[p] = each
        self.refs, self.where = refs, where
        return found

    def _told(self, refs, where):
        return self.places.get([self.places.call(told, ref, near=place) for ref, place in zip(refs, where)])

    def _shared_out(self, everywhere):
        """The address of a worker for each pair: the largest pairs first, each to the worker with the least work."""
        sizes = [int(self.facts.sizes[a] + self.facts.sizes[b]) for a, b in self.pairs]
        load, where = [0] * len(everywhere), [None] * len(sizes)
        for p in sorted(range(len(sizes)), key=lambda p: -sizes[p]):
            place = load.index(min(load))
            load[place] += sizes[p] ** 2
            where[p] = everywhere[place]
        return where

    def attributes(self, found):
        """(the fitted attributes, the support vectors) from the `Solution` of each pair."""
        n_classes = len(self.facts.classes)
        listed = [
            np.unique(np.concatenate([each.coefs[pair.index(k)] for each, pair in zip(found, self.pairs) if k in pair]))
            for k in range(n_classes)
        ]
        call, n_pairs = self.places.call, len(self.pairs)
        asked = [
            call(coefs_at, ref, listed[a], listed[b], near=place)
            for ref, (a, b), place in zip(self.refs, self.pairs, self.where)
        ]
        answers = self.places.get(asked + [call(picked, ref, at) for ref, at in zip(self.classes, listed)])
        coefs, picks = answers[:n_pairs], answers[n_pairs:]
        starts = np.cumsum([0, *map(len, listed)])
        all_found = object.__new__(pairs.Solutions)
        all_found.starts, all_found.coef = starts, np.zeros((1, n_classes - 1, starts[-1]))
        for (first, second), (a, b) in zip(coefs, self.pairs):
            all_found.coef[0, b - 1, starts[a] : starts[a + 1]] = first
            all_found.coef[0, a, starts[b] : starts[b + 1]] = second
        all_found.proof = np.array([[each.proof for each in found]])
        all_found.n_steps = np.array([[each.n_steps for each in found]], np.int64)
        all_found.status = np.array([[each.status for each in found]], np.int8)
        all_found.reason = next((each.reason for each in found if each.reason), "")
        rows = _Numbers(np.concatenate([numbers for numbers, _ in picks]))
        return all_found.attributes(rows, 0), joined_rows([rows for _, rows in picks])


class _Numbers(NamedTuple):
    """A stand-in for a `Problem` that has only the row numbers of the support vectors."""

    rows: np.ndarray


@on_dask(plain.SVC)
class SVC(OnDask):
    """A support vector machine with a kernel, on Dask: `fastclf.SVC`, bit for bit.

    Each pair of classes is solved by a worker, which gets the rows of both classes. `kernel` is a name; `budget`,
    `probability` and `warm_start` are not offered; `verbose` and `callback` have no effect.
    """

    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._require_parameters()
        self._require_offered(model)
        fit = _ByPairs(places, model, X, y, sample_weight)
        fitted, rows = fit.attributes(fit.solved())
        facts = fit.facts
        fitted["C_"] = np.full(len(fit.pairs), model._price(), np.float64)
        attributes = {"classes_": facts.classes, "class_weight_": facts.class_weight, "_gamma_": facts.gamma}
        gram = _PairGram(model._kernel(facts.gamma), None, facts, None)
        model._keep(_Support(rows, fit.shards.n), gram, attributes | fit.shards.columns, fitted)
        return model

    @staticmethod
    def _require_offered(model):
        """Refuse parameters for which one process would have to hold all rows."""
        if callable(model.kernel) or model.kernel == "precomputed":
            raise ValueError(
                "kernel is a function or 'precomputed'; the name of a kernel of rows, such as 'rbf', is wanted on Dask"
            )
        for name, off in (("budget", None), ("probability", False), ("warm_start", False)):
            value = getattr(model, name)
            if value not in (off, "deprecated"):
                raise ValueError(f"{name} is {value!r}, which fastclf.dask.SVC does not offer; {off} is wanted")


class Found(NamedTuple):
    """The attributes of a `Plane` that `LinearSVC` keeps."""

    coef: np.ndarray
    intercept: float
    C: float
    primal: float
    dual: float
    violation: float
    n_iter: int
    called_off: bool


def gathered(parts, reader):
    """(rows, labels, weights or None) of all (number, arrays)."""
    found = []
    for number, arrays in parts:
        with naming(number):
            read = reader.read(*arrays)
        if read is not None:
            found.append(read)
    rows, y, weight = zip(*found)
    return joined_rows(rows), np.concatenate(y), None if weight[0] is None else np.concatenate(weight)


def planes(model, rows, listed):
    """The `Found` of each listed class against the rest; rows: the result of `gathered`."""
    X, y, weight = rows
    model = clone(model).set_params(n_jobs=threads_of(model.n_jobs))
    labels = as_labels(y, weight, len(X), type(model).__name__)
    found = model._find_planes([model._check_parameters()], X, labels, listed)
    return [Found(*(getattr(found[0, k], name) for name in Found._fields)) for k in listed]


def jointly(model, rows):
    """The fitted plain model; rows: the result of `gathered`."""
    return clone(model).set_params(n_jobs=threads_of(model.n_jobs)).fit(*rows)


def classes_of(model, rows):
    """(the classes of the rows with weight above 0, an empty matrix of the kind of the rows)."""
    X, y, weight = rows
    return as_labels(y, weight, len(X), type(model).__name__).classes, X[:0]


@on_dask(plain.LinearSVC)
class LinearSVC(OnDask):
    """A linear support vector machine, on Dask: `fastclf.LinearSVC`, bit for bit.

    Its solver goes back to single rows, so that each worker that fits a class against the rest gets all rows: classes
    are fitted at once, but X has to fit into the memory of a worker. With more columns than rows, and more than 1024
    columns, NumPy's matrix products may have other bits if a worker has another number of threads than the client.
    `verbose` and `callback` have no effect.
    """

    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._check_parameters()
        sent = clone(model).set_params(verbose=0, callback=None)
        reader = Reader(sent, as_unchecked_rows)
        shards = Shards(places, X, y, sample_weight, reader)
        parts = [[each.number, each.arrays] for each in shards.partitions]
        everywhere = [place.address for place in places.places()] or [None]
        joint = model.multi_class == "crammer_singer"
        n_places = 1 if joint else min(len(everywhere), len(model._planes(len(shards.classes))))
        rows = [places.call(gathered, parts, reader, near=near) for near in everywhere[:n_places]]
        if joint:
            [fitted] = places.get([places.call(jointly, sent, rows[0], near=everywhere[0])])
            if fitted.violation_ > model.tol:
                model._tell_of_violation(fitted.violation_, fitted.n_iter_)
            kept = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
            return model._become(**kept | shards.columns)
        [(classes, kind)] = places.get([places.call(classes_of, sent, rows[0], near=everywhere[0])])
        listed = model._planes(len(classes))
        groups = [group for i in range(n_places) if (group := listed[i::n_places])]
        calls = [
            places.call(planes, sent, each, group, near=near) for each, group, near in zip(rows, groups, everywhere)
        ]
        found = {k: one for group, part in zip(groups, places.get(calls)) for k, one in zip(group, part)}
        model._take_on([found[k] for k in listed], classes, shards.columns, kind)
        return model
