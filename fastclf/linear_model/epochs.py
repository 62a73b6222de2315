"""The training of perceptrons: epochs over the rows, stopping rules, and averages of the weights.

A separating hyperplane is a pair (w, b). A learner is a unit that learns and stops by itself: one hyperplane, or all
hyperplanes in joint learning. Learners share nothing, so that any number of them may process the rows together, or on
different threads. A sample is one visit of a row; an epoch has as many samples as there are training rows.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._csr import Csr
from .._threads import aside_if_many, ranges, run
from .scores import by_column, linear_scores
from .votes import first_samples, votes_until

kernels = _simd.load("linear_model._perceptron")

# _FIRST_PRODUCTS: the number of multiplications for the first range of samples of an epoch, about 1 ms of work.
# _LOGGED_SAMPLES: the largest number of samples in a range if their mistakes are logged.
# _THREAD_WORK: epochs of fewer multiplications are made by the calling thread, in less time than others are woken.
_FIRST_PRODUCTS, _THREAD_WORK = 1 << 20, 1 << 18
_LOGGED_SAMPLES = 1 << 16
# The number of scores and features in a block of rows whose losses are computed together; a sparse row counts as
# _SPARSE_LENGTH features.
_JUDGED_NUMBERS, _SPARSE_LENGTH = 1 << 20, 128
# LEARNERS: the number of hyperplanes whose weights of a feature lie side by side.
# _FEWEST_INTERLEAVED: with fewer hyperplanes than this, each is trained for itself.
LEARNERS, _FEWEST_INTERLEAVED = kernels.INTERLEAVED, 3
# Below this, numbers are finite for certain, although their bound was computed with rounding errors.
_FAR_FROM_OVERFLOW = 1e300
# The names of the arrays that have an entry for each hyperplane of a learner, in the order of a `Judge`'s fields.
_OF_HYPERPLANES = ("positive", "up", "down")


@dataclass(frozen=True)
class Plan:
    """The checked parameters of a training."""

    order: str  # "cyclic", "shuffled", "random" or "batch": the order of the samples
    eta: float
    # the share of a step that the intercept takes: 0 without intercept. The intercept is the weight of a column whose
    # value is the root of the share, times that value.
    intercept: float
    joint: bool
    average: str
    penalty: tuple | None  # the parameters (alpha, l1_ratio) of the penalty; None: no penalty
    max_iter: int
    # the stopping rule's tolerance: the least fall of the loss (or held-out error) that counts; -inf: only max_iter
    # ends the training
    tol: float
    n_iter_no_change: int
    until_clean: bool  # whether training stops after the first epoch without a mistake
    seed: int
    one_epoch: bool = False  # whether this is the single epoch of `partial_fit`, after which no row is read again


@dataclass(slots=True)
class Samples:
    """Rows and the order of their visits, for compiled code; made by `as_samples`."""

    # float32 or float64: the n * d numbers of n dense rows of d features, or the stored entries of sparse rows
    data: np.ndarray
    d: int
    indptr: np.ndarray | None  # (n + 1,), int64: the index of each sparse row's first entry; None if rows are dense
    # (n_entries,), int32: the column number of each entry of sparse rows; None if rows are dense
    indices: np.ndarray | None
    ones: bool  # whether every stored entry of the sparse rows is 1
    codes: np.ndarray  # (n,), int32: the index of each row's class
    # (n,), float64: the factor of each row's step, such as its sample weight; None: all factors are 1
    cost: np.ndarray | None
    refuse: Callable | None  # refuse() raises an error if X, not yet checked, is not finite
    # (n_samples,), int64: the row number of each sample of the epoch; None: all rows in order
    order: np.ndarray | None = None

    def __len__(self):
        """The number of samples."""
        return len(self.codes) if self.order is None else len(self.order)

    def first_range(self, n_hyperplanes):
        """The number of samples whose scores take about a millisecond; used for the first range of an epoch."""
        return 1 + _FIRST_PRODUCTS * len(self.codes) // (n_hyperplanes * (len(self.data) + 1))

    def matrix(self):
        """The rows, as a dense matrix or a Csr."""
        if self.indptr is None:
            return self.data.reshape(-1, self.d)
        return Csr(self.indptr, self.indices, self.data, self.d)

    # A class with the following methods may take the place of `Samples`, for rows that are in other processes.

    @property
    def sparse(self):
        return self.indptr is not None

    def train(self, *arguments):
        return train(self, *arguments)

    def judged(self, *arguments):
        return judged(self, *arguments)

    def voters(self, *arguments):
        return voters(self, *arguments)


@dataclass(slots=True)
class Hyperplanes:
    """Separating hyperplanes (w, b), which compiled code reads and changes."""

    # (n, d), float64: the weight vectors of n hyperplanes for d features. If `interleaved`, (n_blocks * d, LEARNERS):
    # for each LEARNERS hyperplanes their weights of a feature side by side, and numbers that nobody reads if there are
    # fewer
    w: np.ndarray
    b: np.ndarray  # (n,), float64: the intercept of each hyperplane
    positive: np.ndarray  # (n,), int32: the index of the class on each hyperplane's positive side
    # (n,), float64: for each hyperplane, the step factor for rows of its positive class or, in joint learning, of class
    # k for hyperplane k
    up: np.ndarray
    down: np.ndarray  # (n,), float64: for each hyperplane, the step factor for rows that are not of its positive class
    interleaved: bool = False


@dataclass(slots=True)
class Epoch:
    """The state of an epoch of n learners with m hyperplanes, for compiled code."""

    joint: bool
    intercept: float  # the share of a step that the intercept takes
    eta: float
    # (m, d): the array to which steps of the weights of m hyperplanes are added: the weights or, for order="batch", a
    # sum of steps
    to_w: np.ndarray
    # (m,): the array to which steps of the m intercepts are added: the intercepts or, for order="batch", a sum of steps
    to_b: np.ndarray
    # (m, d): for averaged weights of m hyperplanes, the sum over all steps of the step times the number of its sample;
    # otherwise None
    lag_w: np.ndarray | None
    # (m,): for m averaged intercepts, the sum over all steps of the step times the number of its sample; otherwise None
    lag_b: np.ndarray | None
    # (n_learners,): the sum of -y f over each learner's mistakes, where f is the score and y the label, 1 or -1; a
    # learner is a hyperplane or, in joint learning, all hyperplanes together
    loss: np.ndarray
    # (n_learners,): the least y f over the samples that each learner scored right, where f is the score and y = 1 or -1
    margin: np.ndarray
    mistakes: np.ndarray  # (n_learners,), int64: the number of mistakes of each learner in the epoch
    since: np.ndarray  # (n_learners,), int64: for each learner the number of the first sample after its last mistake
    # (n_learners,), int64: the length of each learner's longest run without a mistake; None without a pocket of best
    # weights
    record: np.ndarray | None
    square: np.ndarray | None  # (1,): the largest squared norm of a row so far; None once an epoch has computed it
    t: int  # the number of the next sample, counted from the start of the training, in all epochs
    # the number of mistakes in the log of the last range of samples; voted weights are made from the log
    n_logged: int = 0
    # for each logged mistake the number of its sample in the training; None without a log
    log_sample: np.ndarray | None = None
    log_row: np.ndarray | None = None  # for each logged mistake the number of its row; None without a log
    # for each logged mistake the length of the step that followed; None without a log
    log_step: np.ndarray | None = None

    def begin_log(self, size):
        self.log_sample, self.log_row = np.empty((2, size), np.int64)
        self.log_step = np.empty(size)

    def logged(self):
        """(sample numbers, rows, steps) of the mistakes since `begin_log`."""
        found = slice(0, self.n_logged)
        return self.log_sample[found], self.log_row[found], self.log_step[found]


@dataclass(slots=True)
class Shrinking:
    """The state of the penalty of n hyperplanes, changed by compiled code; w is `scale` times the stored weights."""

    alpha: float
    l1_ratio: float
    scale: np.ndarray  # (n,): for each of n hyperplanes the number by which its stored weights are multiplied to give w
    square: np.ndarray  # (n,): for each hyperplane the squared L2 norm of its stored weights
    size: np.ndarray  # (n,): for each hyperplane the L1 norm of its stored weights
    # (n,): for each hyperplane the sum of all L1 cuts so far, amounts by which weights move towards 0; a coordinate
    # must be cut by this sum, less what it has undergone, before it is used
    due: np.ndarray
    # (n, d): for each coordinate of the weights the sum of the L1 cuts (moves towards 0) that it has undergone
    paid: np.ndarray


def as_samples(X, codes, cost, refuse=None):
    """The `Samples` of X; refuse() raises an error if X, not yet checked, is not finite."""
    sparse = isinstance(X, Csr)
    return Samples(
        data=X.data if sparse else X.reshape(-1),
        d=X.shape[1],
        indptr=X.indptr if sparse else None,
        indices=X.indices if sparse else None,
        ones=sparse and all((X.data[start:stop] == 1).all() for start, stop in ranges(0, X.size, 1 << 12)),
        codes=codes,
        cost=cost,
        refuse=refuse,
    )


def zeros_at_no_cost(shape):
    """An array of zeros that are all one number in memory: it is read-only, and not for compiled code."""
    return np.broadcast_to(0.0, shape)


def are_zeros(w):
    """Whether all weights are 0, which is known of `zeros_at_no_cost` by their strides."""
    return not (w[:1, :1] if w.strides == (0, 0) else w).any()


class Learner:
    """The weights of one learner and, after its training, the results to report."""

    def __init__(self, positive, w, b, up, down):
        self.positive, self.up, self.down, self.mistakes = positive, up, down, 0
        self.w, self.b, self.first_w, self.first_b, self.first_t = w, b, w, b, 0
        self.lag_w, self.lag_b = zeros_at_no_cost(w.shape), np.zeros(b.shape)
        self.n_iter, self.t, self.margin, self.clean, self.reason = 0, 0, np.nan, False, ""
        # whether the stopping rule of scikit-learn, by which the loss must keep falling, has ended the training
        self.ended_by_loss = False
        self.best, self.pocket = np.inf, (w, b)
        self.scale, self.due, self.paid = np.ones(len(w)), np.zeros(len(w)), zeros_at_no_cost(w.shape)
        self.log = []
        self._least, self._stale = np.inf, 0

    def must_stop(self, value, plan):
        """scikit-learn's stopping rule: `value` has not improved by tol for n_iter_no_change epochs in a row."""
        self._stale = self._stale + 1 if value > self._least - plan.tol else 0
        self._least = min(self._least, value)
        return self._stale >= plan.n_iter_no_change


def train(samples, members, held_out, plan, learners, threads, progress):
    """Train the learners on the rows `members`, None for all rows; returns the largest squared norm of a row.

    held_out: the rows whose error replaces the loss in the stopping rule, or None.
    """
    threads = threads if samples.data.size * len(learners) >= _THREAD_WORK else 1
    size = 1 if plan.average in ("pocket", "voted") else -(-len(learners) // threads)
    groups = [learners[i : i + size] for i in range(0, len(learners), size)]
    squares = [np.zeros(1) for _ in groups]

    def work(number):
        yield from Group(samples, members, held_out, plan, groups[number], squares[number], progress).train()

    run(work, range(len(groups)), threads)
    return squares[0][0]


def count_wrong(samples, judged, plan, learner, w, b, limit=np.inf, by_class=False):
    """A generator that returns (the weight of the rows `judged` that (w, b) predicts wrongly, the least y f over them).

    It may end early, when the weight has reached `limit`. With `by_class` the weight of a row is multiplied by the
    factor of its class.
    """
    samples = replace(samples, order=judged)
    up, down = (learner.up, learner.down) if by_class else np.ones((2, len(w)))
    hyperplanes = Hyperplanes(np.ascontiguousarray(w), b, learner.positive, up, down)
    wrong, margin = np.zeros(1), np.full(1, np.inf)
    for start, stop in ranges(0, len(samples), samples.first_range(len(w))):
        kernels.count_wrong(samples.data, samples, hyperplanes, plan.joint, start, stop, wrong, margin)
        yield
        if wrong[0] >= limit:
            break
    return wrong[0], margin[0]


class Group:
    """Learners that process the rows together: an epoch reads the rows once for all of them."""

    def __init__(self, samples, members, held_out, plan, learners, square, progress):
        self.samples = copy.copy(samples)
        self.members, self.held_out, self.plan, self.progress = members, held_out, plan, progress
        self.n = len(samples.codes) if members is None else len(members)
        self.hyperplanes = None
        self.rng = np.random.default_rng(plan.seed)
        # Whether the weights of several learners may be interleaved, which the plainest epochs on sparse rows can take.
        # To copy a weight into its place and out of it takes longer than some visits of an entry.
        self._may_interleave = (
            samples.indptr is not None
            and samples.data.size * (1 if plan.one_epoch else 8) >= 4 * samples.d
            and plan.penalty is None
            and plan.average == "none"
            and plan.order != "batch"
            and not plan.joint
        )
        # No weight has an absolute value above `reach`, which grows with each epoch by `stride`, the longest step that
        # the rows of the first epoch allow, times the number of mistakes. It is infinite where no bound is known: an
        # epoch of random samples may leave out the longest row.
        known = plan.penalty is None and plan.order != "random" and all(are_zeros(learner.w) for learner in learners)
        self._reach, self._stride = 0.0 if known else np.inf, np.inf
        self._gather(learners, learners[0].t, square)

    def _gather(self, learners, t, square):
        """Join the arrays of learners, for compiled code; t: the next sample's number since the training began.

        Later the learners are those of the group that go on; the others then keep what they have learned.
        """
        plan, interleaved = self.plan, self._may_interleave and len(learners) >= _FEWEST_INTERLEAVED
        n, d = len(learners) * len(learners[0].w), self.samples.d
        shape, copied = (-(-n // LEARNERS) * d, LEARNERS) if interleaved else (n, d), []
        if self.hyperplanes is not None and self.hyperplanes.interleaved == interleaved:
            learners, w = self._moved_up(learners), self.hyperplanes.w[: shape[0]]
        else:
            w, copied = aligned(shape, np.float64, np.zeros), learners

        def joined(name):
            return np.concatenate([getattr(learner, name) for learner in learners])

        self.learners, self.hyperplanes = learners, Hyperplanes(w, *map(joined, ("b", *_OF_HYPERPLANES)), interleaved)
        for i, learner in enumerate(copied):
            if not are_zeros(learner.w):
                self._weights_of(i)[:] = learner.w
        averaged = plan.average == "averaged"
        self.epoch = Epoch(
            joint=plan.joint,
            intercept=plan.intercept,
            eta=plan.eta,
            to_w=w,
            to_b=self.hyperplanes.b,
            lag_w=joined("lag_w") if averaged else None,
            lag_b=joined("lag_b") if averaged else None,
            loss=np.zeros(len(learners)),
            margin=np.zeros(len(learners)),
            mistakes=np.zeros(len(learners), np.int64),
            since=np.full(len(learners), t, np.int64),
            record=np.zeros(1, np.int64) if plan.average == "pocket" else None,
            square=square,
            t=t,
        )
        if plan.penalty is not None:
            square, size = np.einsum("ij,ij->i", w, w), np.abs(w).sum(axis=1)
            self.shrinking = Shrinking(*plan.penalty, joined("scale"), square, size, joined("due"), joined("paid"))
        self._scatter()

    def _moved_up(self, going):
        """Move the weights of the learners that go on to the first places; returns the learners in that order.

        A learner that stops at a place which is taken gets a copy of its weights. Others that stop keep their places
        behind all that go on, where no epoch writes.
        """
        n, stay = len(going), set(going)
        left = [learner for learner in self.learners[:n] if learner not in stay]
        moved = [learner for learner in self.learners[n:] if learner in stay]
        for gone, learner in zip(left, moved):
            place = gone.w
            gone.w = place.copy()
            place[:] = learner.w
        to_place = iter(moved)
        return [learner if learner in stay else next(to_place) for learner in self.learners[:n]]

    def _weights_of(self, i):
        """The part of the joined weights that belongs to learner i, of the shape of its own."""
        w, n = self.hyperplanes.w, len(self.learners[0].w)
        if self.hyperplanes.interleaved:
            return w.reshape(-1, self.samples.d, LEARNERS)[i // LEARNERS, :, i % LEARNERS][None]
        return w[i * n : (i + 1) * n]

    def _scatter(self):
        """Make the arrays of the learners views of parts of the joined arrays."""
        n = len(self.learners[0].w)
        for i, learner in enumerate(self.learners):
            part = slice(i * n, (i + 1) * n)
            learner.w, learner.b = self._weights_of(i), self.hyperplanes.b[part]
            if self.epoch.lag_w is not None:
                learner.lag_w, learner.lag_b = self.epoch.lag_w[part], self.epoch.lag_b[part]
            if self.plan.penalty is not None:
                for name in ("scale", "due", "paid"):
                    setattr(learner, name, getattr(self.shrinking, name)[part])

    def train(self):
        """A generator: run epochs until every learner has stopped."""
        plan, epoch = self.plan, self.epoch
        for n_iter in range(1, plan.max_iter + 1):
            stopped = yield from self._make_epoch(n_iter)
            going = []
            for learner, loss, mistakes, margin in zip(self.learners, epoch.loss, epoch.mistakes, epoch.margin):
                learner.n_iter, learner.t = n_iter, epoch.t
                learner.mistakes += int(mistakes)
                learner.clean = mistakes == 0 and not stopped
                if learner.clean and plan.order == "random" and plan.penalty is None:
                    # randomly drawn samples may leave out some rows, so that all rows are scored to see if any is on a
                    # wrong side
                    _, margin = yield from count_wrong(self.samples, self.members, plan, learner, learner.w, learner.b)
                    learner.clean = margin > 0
                learner.margin = margin if learner.clean else np.nan
                if plan.average == "pocket":
                    yield from self._consider(learner)
                value = loss / self.n
                if self.held_out is not None:
                    weights = self._weights(learner)
                    value, _ = yield from count_wrong(self.samples, self.held_out, plan, learner, *weights)
                if stopped:
                    learner.reason = "the callback stopped it"
                elif not self._is_over(learner, value, n_iter, mistakes):
                    going.append(learner)
            if not going or stopped:
                return
            if len(going) < len(self.learners):
                self._gather(going, epoch.t, epoch.square)
                epoch = self.epoch

    def _weights(self, learner):
        """The weights w and intercepts b of a learner; with a penalty, w is its stored weights times their scale."""
        return (learner.w if self.plan.penalty is None else learner.w * learner.scale[:, None]), learner.b

    def _is_over(self, learner, value, n_iter, mistakes):
        """Whether a learner's training ends with this epoch; sets `learner.reason`."""
        plan = self.plan
        fixed = learner.clean and plan.penalty is None and plan.order != "random"
        if plan.until_clean and learner.clean and plan.penalty is None:
            learner.reason = f"epoch {n_iter} had no mistake"
            if plan.order == "random":
                learner.reason += ", and no row is on a wrong side"
            return True
        over = learner.must_stop(value, plan)
        # further epochs would make no mistake and change no weight: they are counted, but not run
        while fixed and not over and learner.n_iter < plan.max_iter:
            learner.n_iter += 1
            learner.t += self.n
            over = learner.must_stop(value, plan)
        if over:
            what = "loss" if self.held_out is None else "error on the held-out rows"
            learner.reason = f"its {what} has not fallen by tol for {plan.n_iter_no_change} epochs"
            learner.ended_by_loss = self.held_out is None
        else:
            learner.reason = f"max_iter={plan.max_iter} epochs were made, the last with {mistakes} mistakes"
        return over or learner.n_iter == plan.max_iter

    def _make_epoch(self, n_iter):
        """A generator: run one epoch; returns whether the callback has ended the training."""
        plan, epoch, hyperplanes, samples = self.plan, self.epoch, self.hyperplanes, self.samples
        epoch.loss[:], epoch.margin[:], epoch.mistakes[:] = 0, np.inf, 0
        if plan.order == "batch":
            epoch.to_w, epoch.to_b = np.zeros_like(hyperplanes.w), np.zeros_like(hyperplanes.b)
        with np.errstate(over="ignore", invalid="ignore"):
            stopped = yield from self._visit()
            if plan.order == "batch" and not stopped:
                hyperplanes.w += epoch.to_w
                hyperplanes.b += epoch.to_b
            if epoch.square is not None and not math.isfinite(epoch.square[0]) and samples.refuse is not None:
                samples.refuse()
            if epoch.square is not None:
                self._stride = self._longest_step(math.sqrt(epoch.square[0]))
            self._reach += self._stride * float(epoch.mistakes.sum())
            epoch.square = None
            # if the sum of all weights, intercepts and losses is finite, each of them is finite
            weights = 0.0 if self._reach < _FAR_FROM_OVERFLOW else float(hyperplanes.w.sum())
            total = weights + sum(hyperplanes.b.tolist()) + sum(epoch.loss.tolist())
            if not math.isfinite(total) and not (
                np.isfinite(hyperplanes.w).all() and np.isfinite(hyperplanes.b).all() and not np.isnan(epoch.loss).any()
            ):
                raise ValueError(
                    f"The weights overflowed in epoch {n_iter}; X of a smaller scale, or a smaller eta0, is wanted"
                )
        return stopped

    def _longest_step(self, radius):
        """The largest change of a weight by a mistake, for rows of at most the norm `radius`; inf if unknown."""
        cost, hyperplanes = self.samples.cost, self.hyperplanes
        if not (cost is None or isinstance(cost, np.ndarray)):
            return np.inf
        largest = max(hyperplanes.up.max(), hyperplanes.down.max()) * (1 if cost is None else cost.max())
        return self.plan.eta * float(largest) * radius

    def _visit(self):
        """A generator: learn all samples of an epoch; returns whether the callback has ended the training."""
        epoch, samples, voted = self.epoch, self.samples, self.plan.average == "voted"
        samples.order = self._order()
        first, most = samples.first_range(len(self.hyperplanes.b)), _LOGGED_SAMPLES if voted else None
        for start, stop in ranges(0, self.n, first, most):
            if voted:
                epoch.begin_log(stop - start)
            yield from self._learn(start, stop)
            if voted:
                self.learners[0].log.append(epoch.logged())
            if self.progress.advance((stop - start) * len(self.learners), sum(epoch.mistakes.tolist())):
                return True
            yield
        return False

    def _learn(self, start, stop):
        """A generator: learn samples start to stop.

        At the end of each longest run without a mistake, the weights are compared with those in the pocket.
        """
        samples, hyperplanes, epoch = self.samples, self.hyperplanes, self.epoch
        if self.plan.penalty is not None:
            kernels.learn_range_shrinking(samples.data, samples, hyperplanes, epoch, self.shrinking, start, stop)
            return
        while start < stop:
            start = kernels.learn_range(samples.data, samples, hyperplanes, epoch, start, stop)
            if start < stop:
                yield from self._consider(self.learners[0])

    def _consider(self, learner):
        """A generator: put the learner's weights into its pocket if they make fewer errors than those in the pocket."""
        weights = learner.w, learner.b
        wrong, _ = yield from count_wrong(self.samples, self.members, self.plan, learner, *weights, learner.best, True)
        if wrong < learner.best:
            learner.best, learner.pocket = wrong, tuple(each.copy() for each in weights)

    def _order(self):
        """The number of the row of each sample of an epoch, or None for all rows in order."""
        members, order = self.members, self.plan.order
        if order in ("cyclic", "batch"):
            return members
        if order == "shuffled":
            drawn = aside_if_many(self.n, self.rng.permutation, self.n)
        else:
            drawn = self.rng.integers(self.n, size=self.n)
        return drawn if members is None else members[drawn]


def make_learners(plan, w, b, weight):
    """The learners with the given first weights and class weights."""
    n = len(w)
    if n == 1:
        return [Learner(np.ones(1, np.intc), w, b, weight[1:], weight[:1])]
    positive = np.arange(n, dtype=np.intc)
    if plan.joint:
        return [Learner(positive, w, b, weight, weight)]
    one = np.ones(1)
    return [Learner(positive[k : k + 1], w[k : k + 1], b[k : k + 1], weight[k : k + 1], one) for k in range(n)]


def share_out(learners, name, array):
    """Set an attribute of each learner to its part of an array, which has a row for each hyperplane."""
    for learner, part in zip(learners, np.split(array, len(learners))):
        setattr(learner, name, part)


def hold_out(codes, members, fraction, seed):
    """(training rows, held-out rows): a share of each class is held out, but never all rows of a class."""
    rows = np.arange(len(codes)) if members is None else members
    deck = np.random.default_rng([seed, 2]).permutation(rows)
    held_out = []
    for k in np.unique(codes[rows]):
        of_class = deck[codes[deck] == k]
        held_out.append(of_class[: min(round(fraction * len(of_class)), len(of_class) - 1)])
    held_out = np.sort(np.concatenate(held_out))
    if not len(held_out):
        raise ValueError(
            f"validation_fraction is {fraction}, which holds out none of {len(rows)} rows; a larger one is wanted"
        )
    return np.setdiff1d(rows, held_out, assume_unique=True), held_out


def between_centroids(samples, n_hyperplanes):
    """For each class w = p - n and b = (|n|^2 - |p|^2) / 2, where p is its (weighted) mean and n that of the rest."""
    n_classes = max(2, n_hyperplanes)
    total, count = np.zeros((n_classes, samples.d)), np.zeros(n_classes)
    weight = np.ones(len(samples.codes)) if samples.cost is None else samples.cost
    n_rows = len(samples.codes)
    size = max(1024, (1 << 22) * n_rows // max(1, samples.data.size))
    # the bounds of the row ranges do not depend on the number of threads, so that the sums always have the same bits
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        code, part = samples.codes[start:stop], weight[start:stop]
        count += np.bincount(code, part, n_classes)
        share = np.where(code == np.arange(n_classes)[:, None], part, 0)
        if samples.indptr is None:
            total += share @ samples.data[start * samples.d : stop * samples.d].reshape(-1, samples.d)
        else:
            entries = slice(samples.indptr[start], samples.indptr[stop])
            lengths = np.diff(samples.indptr[start : stop + 1])
            for k in range(n_classes):
                values = samples.data[entries] * np.repeat(share[k], lengths)
                total[k] += np.bincount(samples.indices[entries], values, samples.d)
    positive = slice(1, None) if n_hyperplanes == 1 else slice(None)
    p = total[positive] / count[positive, None]
    n = (total.sum(axis=0) - total[positive]) / (count.sum() - count[positive, None])
    return p - n, ((n * n).sum(axis=1) - (p * p).sum(axis=1)) / 2


def weights_kept(learner, plan):
    """The weights (w, b) that result from a learner's training."""
    if plan.average == "averaged":
        t = max(learner.t, 1)
        return (t * learner.w - learner.lag_w) / t, (t * learner.b - learner.lag_b) / t
    if plan.average == "pocket":
        return learner.pocket
    return learner.w if plan.penalty is None else learner.w * learner.scale[:, None], learner.b


def judged(samples, members, plan, learners, w, b):
    """(the least y f, the mean loss) over the rows `members`: two arrays with a number for each learner.

    The loss of a row is max(0, -y f); the mean weights each row by the factor of its step. In joint learning y f is the
    score of the row's class minus the largest of the others.

    w (m, d) and b (m,): the weights that are judged, of the learners' m hyperplanes.
    """
    judge = judge_of(plan, learners, w, b)
    if samples.indptr is not None:
        # the matrix of weights is transposed once, for all blocks of sparse rows
        judge = judge._replace(w=by_column(judge.w))
    X, n = samples.matrix(), len(samples.codes) if members is None else len(members)
    found = []
    for start, stop in pairwise(judge.bounds(n, samples.sparse)):
        rows = slice(start, stop) if members is None else members[start:stop]
        found.append(judge.sums(X[rows], samples.codes[rows], None if samples.cost is None else samples.cost[rows]))
    return judge.joined(found)


def judge_of(plan, learners, w, b):
    """The `Judge` of the weights of learners."""
    arrays = (np.concatenate([getattr(learner, name) for learner in learners]) for name in _OF_HYPERPLANES)
    return Judge(plan.joint, w, b, *arrays)


class Judge(NamedTuple):
    """Hyperplanes whose least y f and losses are found block by block of rows; see `judged`."""

    joint: bool
    w: np.ndarray
    b: np.ndarray
    positive: np.ndarray
    up: np.ndarray
    down: np.ndarray

    def bounds(self, n, sparse):
        """The bounds of the blocks of n rows. They are fixed, so that the sums always have the same bits."""
        n_classes, d = self.w.shape
        size = n_classes + (_SPARSE_LENGTH if sparse else d)
        return [*range(0, n, max(256, _JUDGED_NUMBERS // size)), n]

    def sums(self, X, codes, cost):
        """(the least y f, the sum of losses, the sum of their weights) of a block of rows, for each learner."""
        with np.errstate(over="ignore", invalid="ignore"):
            f = linear_scores(X, self.w, self.b)
            if self.joint:
                place = np.arange(len(f)), codes
                own = f[place]
                f[place] = -np.inf
                margins = (own - f.max(axis=1))[:, None]
            else:
                margins = f * np.where(codes[:, None] == self.positive, 1.0, -1.0)
            if cost is None and (self.up == 1).all() and (self.down == 1).all():
                return margins.min(axis=0), -np.minimum(margins, 0).sum(axis=0), float(len(f))
            if self.joint:
                factor = self.up[codes][:, None]
            else:
                factor = np.where(codes[:, None] == self.positive, self.up, self.down)
            if cost is not None:
                factor = factor * cost[:, None]
            return margins.min(axis=0), (factor * np.maximum(-margins, 0)).sum(axis=0), factor.sum(axis=0)

    def joined(self, found):
        """(the least y f, the mean loss) over all blocks."""
        with np.errstate(over="ignore", invalid="ignore"):
            least, total, weight = np.full(len(found[0][0]), np.inf), 0.0, 0.0
            for margins, losses, factors in found:
                least, total, weight = np.minimum(least, margins), total + losses, weight + factors
        return least, total / weight


def voters(samples, plan, learners, before):
    """The voters of the training, with the number of samples that each was used for, after the voters of `before`."""
    weights, intercepts, begun = [], [], []
    earlier = [np.empty(0, np.int64)] * len(learners) if before is None else first_samples(before)
    for k, learner in enumerate(learners):
        sample, row, step = map(np.concatenate, zip(*learner.log))
        signed = np.where(samples.codes[row] == learner.positive[0], step, -step)[:, None]
        x = np.asarray(samples.matrix()[row])
        if before is not None:
            part = slice(before["voter_starts_"][k], before["voter_starts_"][k + 1])
            weights.append(before["voters_"][part])
            intercepts.append(before["voter_intercepts_"][part])
        weights.append(np.cumsum(np.concatenate([learner.first_w, signed * x]), axis=0))
        intercepts.append(np.cumsum(np.concatenate([learner.first_b, signed[:, 0] * plan.intercept])))
        begun.append(np.concatenate([earlier[k], [learner.first_t], sample]))
    found = {"voters_": np.concatenate(weights), "voter_intercepts_": np.concatenate(intercepts)}
    return found | votes_until(begun, [learner.t for learner in learners])
