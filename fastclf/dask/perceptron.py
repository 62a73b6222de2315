"""The perceptron on Dask, as a ring: its state goes from partition to partition, and the rows stay where they are."""

import math
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np

from .. import linear_model as plain
from .._aligned import aligned
from .._csr import as_unchecked_rows
from .._labels import encode_known, require_two
from .._threads import ranges
from ..linear_model.epochs import Group, Samples, as_samples, judge_of, kernels, voters
from .base import OnDask, on_dask
from .blocks import Reader, Shards, joined_rows
from .linear import require_finite_rows, silent
from .partitions import naming

# The largest number of samples for which the voted perceptron logs its mistakes in one kernel call.
_LOGGED_SAMPLES = 1 << 16


class State:
    """What goes from partition to partition: hyperplanes, the epoch, the penalty's state, and the log of mistakes."""

    def __init__(self, hyperplanes, epoch, shrinking, log=()):
        self.hyperplanes, self.epoch, self.shrinking, self.log = hyperplanes, epoch, shrinking, list(log)

    def copied(self, batch):
        """A copy, because tasks leave their arguments as they are; steps are added to w itself unless in a batch."""
        hyperplanes, epoch = _copied(self.hyperplanes), _copied(self.epoch)
        w = aligned(hyperplanes.w.shape, np.float64)
        w[:] = hyperplanes.w
        hyperplanes.w = w
        if not batch:
            epoch.to_w, epoch.to_b = hyperplanes.w, hyperplanes.b
        return State(hyperplanes, epoch, None if self.shrinking is None else _copied(self.shrinking), self.log)


def _copied(record):
    """A copy of a dataclass object, with copies of the arrays that are its fields."""
    arrays = {name: getattr(record, name) for name in record.__slots__}
    return replace(record, **{name: np.array(value) for name, value in arrays.items() if isinstance(value, np.ndarray)})


def prepared(number, arrays, reader, classes):
    """The Samples of a partition; None if it has no rows."""
    with naming(number):
        read = reader.read(*arrays)
        if read is None:
            return None
        rows, y, weight = read
        return as_samples(rows, encode_known(classes, y).astype(np.intc), weight)


def visited(state, plan, numbered, owner):
    """The State after the samples of partitions (number, Samples or None)."""
    state = state.copied(plan.order == "batch")
    hyperplanes, epoch = state.hyperplanes, state.epoch
    for number, samples in numbered:
        if samples is None:
            continue
        n = len(samples.codes)
        with np.errstate(over="ignore", invalid="ignore"):
            if state.shrinking is not None:
                kernels.learn_range_shrinking(samples.data, samples, hyperplanes, epoch, state.shrinking, 0, n)
            elif plan.average == "voted":
                for start, stop in ranges(0, n, _LOGGED_SAMPLES, _LOGGED_SAMPLES):
                    epoch.begin_log(stop - start)
                    kernels.learn_range(samples.data, samples, hyperplanes, epoch, start, stop)
                    sample, row, step = epoch.logged()
                    state.log.append((sample.copy(), samples.codes[row], samples.matrix()[row], step.copy()))
                epoch.log_sample = epoch.log_row = epoch.log_step = None
            else:
                kernels.learn_range(samples.data, samples, hyperplanes, epoch, 0, n)
        if epoch.square is not None and not math.isfinite(epoch.square[0]):
            with naming(number):
                require_finite_rows(samples.matrix(), "X", owner)
    return state


def judgements(model, rows, codes, weight, bounds, judge):
    """The sums of a Judge for each block."""
    parts = [slice(start, stop) for start, stop in pairwise(bounds)]
    return [judge.sums(rows[part], codes[part], None if weight is None else weight[part]) for part in parts]


class _RingGroup(Group):
    """A Group of perceptrons whose epochs run on the workers: its state passes from one partition to the next."""

    def _visit(self):
        state = State(self.hyperplanes, self.epoch, getattr(self, "shrinking", None))
        found = self.samples.ring.around(state, self.plan)
        for own, record in (
            (self.hyperplanes, found.hyperplanes),
            (self.epoch, found.epoch),
            (state.shrinking, found.shrinking),
        ):
            if own is not None:
                _take(own, record)
        self.learners[0].log += found.log
        yield
        return self.progress.advance(self.n * len(self.learners), sum(self.epoch.mistakes.tolist()))


def _take(record, other):
    """Copy the values of `other` into `record`, of the same dataclass, whose arrays are overwritten in place."""
    for name in record.__slots__:
        own, value = getattr(record, name), getattr(other, name)
        if isinstance(own, np.ndarray):
            own[...] = value
        else:
            setattr(record, name, value)


class Ring:
    """The partitions of Shards as Samples on places."""

    def __init__(self, shards):
        self._shards, self._places = shards, shards.places
        self._owner = type(shards.reader.model).__name__
        self._runs = [
            (
                place,
                [
                    [part.number, self._places.call(prepared, *part[:2], shards.reader, shards.classes, near=place)]
                    for part in run
                ],
            )
            for place, run in groupby((part for part in shards.partitions if part.n), key=lambda part: part.place)
        ]

    def around(self, state, plan):
        """The State after all samples."""
        for place, run in self._runs:
            state = self._places.call(visited, state, plan, run, self._owner, near=place)
        return self._places.get([state])[0]

    def judge(self, judge):
        """(the least y f, the mean loss) of the hyperplanes of a Judge over all rows."""
        return judge.joined(self._shards.sums(judgements, judge.bounds(self._shards.n, self._shards.sparse), judge))


class RingSamples(Samples):
    """The samples of a ring in the place of `Samples`, for training in the order of the rows."""

    __slots__ = ("n", "ring", "sparse_rows")

    def __init__(self, shards):
        super().__init__(
            data=np.empty(0),
            d=shards.columns["n_features_in_"],
            indptr=None,
            indices=None,
            ones=False,
            codes=range(shards.length),
            cost=_WEIGHTED if shards.weighted else None,
            refuse=None,
        )
        self.n, self.ring, self.sparse_rows = shards.n, Ring(shards), shards.sparse

    @property
    def sparse(self):
        return self.sparse_rows

    def train(self, members, held_out, plan, learners, threads, progress):
        size = 1 if plan.average == "voted" else len(learners)
        squares = []
        for i in range(0, len(learners), size):
            squares.append(np.zeros(1))
            group = _RingGroup(self, members, held_out, plan, learners[i : i + size], squares[-1], progress)
            for _ in group.train():
                pass
        return squares[0][0]

    def judged(self, members, plan, learners, w, b):
        return self.ring.judge(judge_of(plan, learners, w, b))

    def voters(self, plan, learners, before):
        """The voters from logs whose entries bring the classes and rows of mistakes with them."""
        codes, rows, first, logs = [], [], 0, []
        for learner in learners:
            logs.append(learner.log)
            numbered = []
            for sample, own_codes, own_rows, step in learner.log:
                codes.append(own_codes)
                rows.append(own_rows)
                numbered.append((sample, np.arange(first, first + len(sample)), step))
                first += len(sample)
            learner.log = numbered
        return voters(as_samples(joined_rows(rows), np.concatenate(codes), None), plan, learners, before)


# A placeholder for sample weights, which only workers have: it tells the client that there are some.
_WEIGHTED = object()

_ONLY = {
    "order": "but a cluster visits its rows in their order; 'cyclic', 'batch' or shuffle=False is wanted",
    "average": "which judges all rows after each longest run; 'none', 'averaged' or 'voted' is wanted",
    "start": "which needs means of all rows; 'zero' or 'random' is wanted, or coef_init",
    "early_stopping": "which needs rows from anywhere; False is wanted",
}


def _require_ring(model):
    """Refuse parameters for which rows would be visited in another order than that of the partitions."""
    orders = ("cyclic", "batch") if model.order is not None or model.shuffle else (None,)
    allowed = {"order": orders, "average": ("none", "averaged", "voted"), "start": ("zero", "random")}
    for name, values in (allowed | {"early_stopping": (False,)}).items():
        if getattr(model, name) not in values:
            raise ValueError(f"{name} is {getattr(model, name)!r}, {_ONLY[name]}, or fastclf.Perceptron")


@on_dask(plain.Perceptron)
class Perceptron(OnDask):
    """The perceptron, on Dask: `fastclf.Perceptron`, bit for bit, for the orders 'cyclic' and 'batch'.

    The weights go from partition to partition, and rows stay where they are, so that an epoch takes a task for each run
    of partitions that lie on the same worker, one after another. `order=None` is taken with `shuffle=False`. Orders at
    random, `early_stopping`, start='centroids' and average='pocket' are refused, because they need rows from anywhere.
    `callback` is called after each epoch.
    """

    def fit(self, X, y=None, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit to the rows of collections.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Rows are visited in the order of the partitions. X should be persisted, because each epoch reads it.
        y : dask array or series of shape (n_samples,)
        coef_init : array-like of shape (1 or n_classes, n_features), optional
            First weights, which replace `start`.
        intercept_init : array-like of shape (1 or n_classes,), optional
        sample_weight : dask array or series of shape (n_samples,), default=None

        Returns
        -------
        self
            If `client` is asynchronous, an awaitable of it.
        """
        return self._eagerly(self._fit_from, X, y, coef_init, intercept_init, sample_weight)

    def _fit_from(self, places, X, y, coef_init, intercept_init, sample_weight):
        model = self._started()
        plan = model._plan()
        _require_ring(model)
        reader = Reader(silent(model), as_unchecked_rows, True, require_finite_rows)
        shards = Shards(places, X, y, sample_weight, reader)
        require_two("y", shards.classes)
        members = None if shards.n == shards.length else range(shards.n)
        known, first = (shards.classes, shards.counts), (coef_init, intercept_init)
        vars(self)["_fitted"] = model._fit_to(RingSamples(shards), members, plan, known, shards.columns, first)
        return self
