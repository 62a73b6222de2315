"""The perceptron: a separating hyperplane that is learned from mistakes."""

from dataclasses import replace
from functools import partial

import numpy as np

from .._csr import Csr, as_unchecked_rows
from .._exceptions import warn
from .._labels import as_labels, class_factors, declared_classes
from .._state_table import Array, SizeOf, Starts, Value, declare, has, where
from .._threads import Progress, n_threads, norm_of, ranges
from .._validation import (
    as_array,
    as_seed,
    described,
    require_choice,
    require_finite,
    require_integer,
    require_number,
    require_numbers,
)
from ..sums.layout import joined_by_column
from .epochs import (
    Plan,
    are_zeros,
    as_samples,
    between_centroids,
    hold_out,
    make_learners,
    share_out,
    weights_kept,
    zeros_at_no_cost,
)
from .scores import SparsifiableClassifier, as_dense, chosen, linear_scores, n_planes
from .votes import mean_votes

# A sum of squares between this and its inverse has not overflowed, and has lost no term that counts to underflow.
_SAFE_SQUARE = 1e-200

# The largest number of scores that are computed at a time in voting, one for each row and each weight vector that
# votes.
_VOTE_NUMBERS = 1 << 20

# The share of a step that the intercept takes if X is sparse and `order` None, as in scikit-learn. An entry of a sparse
# row is rare, and the intercept would otherwise move far more than any weight.
_SPARSE_SHARE = 0.01


class Perceptron(SparsifiableClassifier):
    """Linear classifier that learns from its mistakes, one row after another.

    ``Perceptron(order="cyclic")`` is the textbooks' algorithm: it goes on until all rows are right. ``Perceptron()`` is
    scikit-learn's: it may end before, by `tol`, and then warns unless its weights separate the rows. (Averaged weights,
    a penalty and held-out rows are for classes that overlap, and end by `tol` without a warning.)

    On a row (x, y), y = +1 or -1, with y (w.x + b) <= 0, w becomes w + eta0 y x and b becomes b + eta0 y; any other row
    changes nothing. If X is sparse and `order` None, b takes steps of eta0 y / 100, as in scikit-learn.
    With more than two classes each class has its own separating hyperplane, learned against the rest or jointly.

    Parameters
    ----------
    penalty : {'l2', 'l1', 'elasticnet'} or None, default=None
        Shrinks w at each row, as in scikit-learn. Only with `average='none'`, and neither with `multi_class='joint'`
        nor with `order='batch'`.
    alpha : float >= 0, default=0.0001
        Factor of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        Share of 'l1' in the penalty 'elasticnet'.
    fit_intercept : bool, default=True
        Whether to learn b; without it the hyperplane goes through the origin.
    max_iter : int >= 1, default=1000
        The largest number of epochs, each of which visits every row once.
    tol : float >= 0 or None, default=1e-3
        Training stops when the mean of max(0, -y f) over an epoch has not been below its minimum by `tol` for
        `n_iter_no_change` epochs. This rule is off with None, and with an explicit `order` without `early_stopping`.
    shuffle : bool, default=True
        Whether `order=None` means 'shuffled' or 'cyclic'.
    verbose : int, default=0
        1 shows progress on stderr.
    eta0 : float > 0, default=1.0
        The length of a step. If training starts at 0 without penalty, it only scales w and b.
    n_jobs : int or None, default=None
        Threads for more than two classes; None means every CPU. It changes no bit of the result.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the orders, of a random start and of the choice of held-out rows.
    early_stopping : bool, default=False
        Whether to hold out a share of each class; the error on the held-out rows then replaces the loss in the stopping
        rule.
    validation_fraction : float in (0, 1), default=0.1
        The share held out.
    n_iter_no_change : int >= 1, default=5
        See `tol`.
    class_weight : dict, 'balanced' or None, default=None
        Factor of the step for each class; 'balanced' is n_samples / (n_classes * number of rows of the class). If each
        class learns against the rest, the rest has the factor 1, as in scikit-learn.
    warm_start : bool, default=False
        Whether `fit` starts from the last fit's `coef_` and `intercept_`.
    order : {'cyclic', 'shuffled', 'random', 'batch'} or None, default=None
        The order of the rows. 'cyclic': 0 to n - 1 in each epoch; 'shuffled': a new permutation for each epoch;
        'random': n draws with replacement (stochastic gradient descent on the mean of max(0, -y f)); 'batch': the steps
        of all mistakes of an epoch are added up and taken at its end. Training with these orders ends with the first
        epoch without a mistake (after 'random' draws, if no other row is on a wrong side either), or after `max_iter`.
        None follows `shuffle` and ends by `tol`, as in scikit-learn.
    start : {'zero', 'random', 'centroids'}, default='zero'
        The first weights: 0; standard normal; or the hyperplane halfway between the mean p of the positive rows and the
        mean n of the others, w = p - n and b = (|n|^2 - |p|^2) / 2. Others can be passed as `coef_init` to `fit`.
    average : {'none', 'averaged', 'voted', 'pocket'}, default='none'
        The use of the weights during training. 'averaged': `coef_` is the mean of the weights after every sample;
        'voted': all weights predict, and each has one vote for every sample that it met (Freund, Schapire 1999);
        'pocket': `coef_` are the weights with the fewest errors, counted by sample weight, among those after each epoch
        and those at the end of each longest run of correct rows (Gallant 1990).
    multi_class : {'ovr', 'joint'}, default='ovr'
        'ovr': each class learns against the rest. 'joint': all classes learn at once: a row of class y with f_y <= max
        f_k over the others adds its step to y and subtracts it from the first best k. With two classes both give the
        same single hyperplane.
    callback : callable, optional
        ``callback(step, total, value)`` after each range of rows, with the number of visits of rows so far, the largest
        possible number of visits, and the number of mistakes of the epoch so far. Returning True ends the training.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_iter_ : int
        The largest number of epochs of a hyperplane. If an epoch without mistakes shows that further epochs would
        change nothing, they are counted, but not run.
    t_ : int
        n_iter_ * n_samples + 1.
    n_mistakes_ : int, or ndarray of shape (n_classes,) where each class learns against the rest
        Number of mistakes in training. The attributes below of type "float or ndarray" have the same shapes.
    converged_ : bool
        Whether every hyperplane is known to separate its training rows.
    stop_reason_ : str
        The reason for the end of the training, for the hyperplane whose training ended last; of several, if some are
        not known to separate their rows, for the last of those.
    loss_ : float or ndarray
        The perceptron's loss: the mean over the training rows of max(0, -y f), f the score by `coef_` (in joint
        learning y f is the score of the row's class minus the largest of the others). It is 0 if all rows are right.
        Weights of rows and classes count. Only after `fit`, because `partial_fit` reads its rows once.
    margin_ : float or ndarray
        gamma, the smallest y f / |(w, b)| of the rows (|w| without intercept), if `coef_` is known to separate them;
        else NaN. With steps of b that are a hundredth as long, |(w, 10 b)|.
    radius_ : float or ndarray
        rho, the largest |(x, 1)| (|x| without intercept) of the rows; in joint learning sqrt(2) times that. With steps
        of b that are a hundredth as long, |(x, 1/10)|.
    mistake_bound_ : float or ndarray
        (rho / gamma)^2, an upper bound of the number of mistakes of any training from 0 (Novikoff 1962); NaN if gamma
        is not known, or with a penalty, weights, another start or order='batch'. `novikoff_bound` gives the smallest
        such bound for whole steps of b, by the largest gamma of the rows.
    voters_, voter_intercepts_, votes_, voter_starts_ : ndarray
        With 'voted': the weights and intercepts that vote, their numbers of votes, and the index of the first voter of
        each class.

    Notes
    -----
    An epoch takes O(n d) time and reads X once, in its own order unless `order` says otherwise, at the speed of memory.
    Memory beyond X is O(K d), 8 bytes per row for an order, and d numbers per mistake for 'voted'. X is not converted:
    it may be float32 or float64, dense or sparse, and a memory map. All sums are float64, in an order that does not
    depend on threads, ranges or the SIMD level. With an explicit `order`, sparse rows and the same rows dense give the
    same answer. A row with `sample_weight` 0 is ignored.

    References
    ----------
    Rosenblatt (1958), The perceptron; Novikoff (1962), On convergence proofs for perceptrons; Collins (2002),
    Discriminative training methods for hidden Markov models (joint and averaged).

    Examples
    --------
    >>> from fastclf import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> model = Perceptron(order="cyclic").fit(X, y)
    >>> model.coef_, model.intercept_, model.predict(X)
    (array([[3., 2.]]), array([-4.]), array([0, 0, 0, 1]))
    >>> model.n_mistakes_ <= model.mistake_bound_
    True
    """

    _state_table = declare(
        n_learners=SizeOf(lambda model: 1 if np.ndim(model.n_mistakes_) == 0 else model.coef_.shape[0]),
        t_=Value(require_integer, 1),
        n_mistakes_=Value(require_numbers, "iu"),
        radius_=Value(require_numbers, "iuf"),
        # for each learner (a hyperplane or, in joint learning, all of them), the number of samples that it has learned
        # from
        _samples_met_=Array("int64", "n_learners"),
        **where(
            has("votes_"),
            votes_=Array("int64", "n_voters"),
            voters_=Array("float64", "n_voters", "n_features"),
            voter_intercepts_=Array("float64", "n_voters"),
            # for each hyperplane, the number of its first weight vector among all that vote
            voter_starts_=Starts("n_planes", "n_voters", full=True),
        ),
        # with average='averaged': the weights after the last sample, and the sums over all steps of the step times the
        # number of its sample
        **where(
            has("_last_coef_"),
            _last_coef_=Array("float64", "n_planes", "n_features"),
            _lag_coef_=Array("float64", "n_planes", "n_features"),
            _last_intercept_=Array("float64", "n_planes"),
            _lag_intercept_=Array("float64", "n_planes"),
        ),
    )

    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state=0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        order=None,
        start="zero",
        average="none",
        multi_class="ovr",
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        coef_init : array-like of shape (1 or n_classes, n_features), optional
            First weights, which replace `start`.
        intercept_init : array-like of shape (1 or n_classes,), optional
        sample_weight : array-like of shape (n_samples,), optional
            Factor of each row's step; a row with weight 0 is ignored.

        Returns
        -------
        self
        """
        plan = self._plan()
        samples, labels, columns = self._samples(X, y, sample_weight)
        sizes = np.bincount(labels.codes)
        return self._fit_to(samples, labels.rows, plan, (labels.classes, sizes), columns, (coef_init, intercept_init))

    def _fit_to(self, samples, members, plan, classes_and_sizes, columns, first_weights):
        """Learn from the rows `members` of checked samples.

        classes_and_sizes: the classes and their numbers of rows; first_weights: `coef_init` and `intercept_init`.
        """
        (classes, sizes), (coef_init, intercept_init) = classes_and_sizes, first_weights
        threads = n_threads(self.n_jobs)
        plan = _for_samples(plan, samples, classes)
        held_out = None
        if self.early_stopping:
            members, held_out = hold_out(samples.codes, members, self.validation_fraction, plan.seed)
        warm = self.warm_start and hasattr(self, "coef_")
        if coef_init is None and warm:
            coef_init = as_dense(self.coef_)
        if intercept_init is None and warm:
            intercept_init = self.intercept_
        w, b = self._first_weights(samples, plan, classes, coef_init, intercept_init)
        weights = class_factors(self.class_weight, classes, sizes)
        learners = make_learners(plan, w, b, weights)
        plain = not (plan.penalty or plan.order == "batch" or samples.cost is not None or self.class_weight)
        proves = plain and are_zeros(w) and not b.any()
        train = partial(self._train, samples, members, held_out, plan, learners, threads)
        return self._become(**columns, classes_=classes, **train(proves=proves))

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one epoch over these rows, in their order (or `order`), from the weights so far.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like of shape (n_classes,), optional
            All labels that will occur; required in the first call.

        Returns
        -------
        self
            `n_mistakes_` and `radius_` count all calls; `margin_` and `mistake_bound_` are NaN, because the rows of
            earlier calls are unknown. Averages and votes are continued. A pocket starts with the weights of the last
            pocket, which are then judged by the rows of this call.
        """
        plan, threads = self._plan(), n_threads(self.n_jobs)
        first = not hasattr(self, "coef_")
        if self.early_stopping:
            raise ValueError("early_stopping is True; partial_fit, which makes one epoch, wants False")
        classes = declared_classes(classes, None if first else self.classes_)
        weights = class_factors(self.class_weight, classes, None)
        samples, labels, columns = self._samples(X, y, sample_weight, classes, first)
        plan = replace(_for_samples(plan, samples, classes), one_epoch=True, max_iter=1, tol=-np.inf)
        if first:
            w, b = self._first_weights(samples, plan, classes, None, None)
            learners = make_learners(plan, w, b, weights)
        else:
            averaged = plan.average == "averaged" and hasattr(self, "_last_coef_")
            w, b = (self._last_coef_, self._last_intercept_) if averaged else (as_dense(self.coef_), self.intercept_)
            learners = make_learners(plan, w, b, weights)
            for learner, mistakes, t in zip(learners, np.atleast_1d(self.n_mistakes_), self._samples_met_):
                learner.mistakes, learner.t, learner.first_t = int(mistakes), int(t), int(t)
            if averaged:
                share_out(learners, "lag_w", self._lag_coef_)
                share_out(learners, "lag_b", self._lag_intercept_)
        before = None if first else vars(self)
        trained = self._train(samples, labels.rows, None, plan, learners, threads, before, proves=False)
        return self._become(**columns, classes_=classes, **trained)

    def _train(self, samples, members, held_out, plan, learners, threads, before=None, *, proves):
        """Train the learners; returns the attributes of the result, which continue the state `before`.

        proves: whether Novikoff's bound on the number of mistakes holds.
        """
        n = len(samples.codes) if members is None else len(members)
        with Progress(plan.max_iter * n * len(learners), "perceptron", self.verbose, self.callback) as progress:
            square = samples.train(members, held_out, plan, learners, threads, progress)
        kept = [weights_kept(learner, plan) for learner in learners]
        weights, intercepts = zip(*kept)
        intercept = np.concatenate(intercepts)
        coef = joined_by_column(weights) if samples.sparse and len(intercept) > 1 else np.concatenate(weights)
        losses = _judge(samples, members, plan, learners, coef, intercept)
        one = (lambda values: values[0]) if len(learners) == 1 else np.array
        radius = np.sqrt((2 if plan.joint else 1) * (square + plan.intercept))
        # the weight of the column that stands for the intercept is the intercept times this
        stretch = 1 / np.sqrt(plan.intercept or 1)
        if before is not None:
            radius = np.fmax(np.max(before["radius_"]), radius)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            margins = np.array([learner.margin if learner.margin > 0 else np.nan for learner in learners])
            if before is not None:
                margins[:] = np.nan
            if not np.isnan(margins).all():
                margins /= _lengths(coef, intercept * stretch, len(learners))
            proves = proves and 1e-140 < radius < np.inf
            bounds = [(radius / margin) ** 2 if proves else np.nan for margin in margins]
        last = max(learners, key=lambda learner: learner.n_iter)
        apart = [learner for learner in learners if not learner.margin > 0]
        told = max(apart or learners, key=lambda learner: learner.n_iter)
        attributes = {
            "coef_": coef,
            "intercept_": intercept,
            "n_iter_": last.n_iter,
            "t_": (1 if before is None else before["t_"]) + last.n_iter * len(samples.codes),
            "n_mistakes_": one([learner.mistakes for learner in learners]),
            "converged_": not apart,
            "stop_reason_": told.reason,
            "margin_": one([float(margin) for margin in margins]),
            "radius_": one([float(radius) for _ in learners]),
            "mistake_bound_": one([float(bound) for bound in bounds]),
            "_samples_met_": np.array([learner.t for learner in learners]),
        }
        if losses is not None:
            attributes["loss_"] = one(losses.tolist())
        if plan.average == "averaged":
            parts = {"_last_coef_": "w", "_last_intercept_": "b", "_lag_coef_": "lag_w", "_lag_intercept_": "lag_b"}
            for name, part in parts.items():
                attributes[name] = np.concatenate([getattr(learner, part) for learner in learners])
        if plan.average == "voted":
            attributes |= samples.voters(plan, learners, before if before and "votes_" in before else None)
        asked = told.n_iter == plan.max_iter > 1 and (self.tol is not None or plan.until_clean)
        # whether the fit aims at a hyperplane that separates the rows
        separates = plan.average == "none" and plan.penalty is None
        if apart and (asked or (told.ended_by_loss and separates)):
            hint = '; order="cyclic" goes on until it does, or max_iter' if told.ended_by_loss else ""
            warn(f"The perceptron is not known to separate the rows: {told.reason}{hint}", "ConvergenceWarning")
        return attributes

    def _scores(self, X):
        if not hasattr(self, "votes_"):
            return super()._scores(X)
        X = self._new_samples(X)
        scores = np.empty((X.shape[0], self.coef_.shape[0]))
        for start, stop in ranges(0, X.shape[0], 1, max(1, _VOTE_NUMBERS // len(self.votes_))):
            right = linear_scores(X[start:stop], self.voters_, self.voter_intercepts_) > 0
            scores[start:stop] = mean_votes(right, vars(self))
        return scores

    def _chosen(self, X):
        return chosen(self._scores(X)) if hasattr(self, "votes_") else super()._chosen(X)

    def _plan(self):
        """The checked parameters as a `Plan`.

        `class_weight` and other parameters that depend on the data are checked later.
        """
        for name in ("fit_intercept", "shuffle", "early_stopping", "warm_start"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} is {described(getattr(self, name))}; True or False is wanted")
        if self.order is not None:
            require_choice("order", self.order, ("cyclic", "shuffled", "random", "batch"))
        require_choice("start", self.start, ("zero", "random", "centroids"))
        require_choice("average", self.average, ("none", "averaged", "voted", "pocket"))
        require_choice("multi_class", self.multi_class, ("ovr", "joint"))
        alpha = require_number("alpha", self.alpha, 0)
        penalty = None
        if self.penalty is not None:
            require_choice("penalty", self.penalty, ("l2", "l1", "elasticnet"))
            penalty = alpha, {"l2": 0.0, "l1": 1.0}.get(self.penalty, self.l1_ratio)
            for name, wanted in (("average", "none"), ("multi_class", "ovr")):
                if getattr(self, name) != wanted:
                    raise ValueError(
                        f"{name} is {described(getattr(self, name))} and penalty {self.penalty!r}; with a penalty"
                        f" {wanted!r} is wanted"
                    )
        if not (self.l1_ratio is None or require_number("l1_ratio", self.l1_ratio, 0) <= 1) or penalty == (alpha, None):
            raise ValueError(f"l1_ratio is {self.l1_ratio}; a number from 0 to 1 is wanted")
        if self.order == "batch":
            for name, wanted in (("penalty", None), ("average", "none")):
                if getattr(self, name) != wanted and getattr(self, name) != "pocket":
                    raise ValueError(
                        f"{name} is {described(getattr(self, name))} and order 'batch'; {wanted!r} is wanted"
                    )
        if self.average == "voted" and self.multi_class == "joint":
            raise ValueError("average is 'voted' and multi_class 'joint'; another average is wanted for joint learning")
        if not 0 < require_number("validation_fraction", self.validation_fraction, 0) < 1:
            raise ValueError(f"validation_fraction is {self.validation_fraction}; a number between 0 and 1 is wanted")
        tol = -np.inf if self.tol is None else require_number("tol", self.tol, 0)
        rule = self.order is None or self.early_stopping
        return Plan(
            order=self.order or ("shuffled" if self.shuffle else "cyclic"),
            eta=require_number("eta0", self.eta0, 0, open_low=True),
            intercept=float(self.fit_intercept),
            joint=self.multi_class == "joint",
            average=self.average,
            penalty=penalty,
            max_iter=require_integer("max_iter", self.max_iter, 1),
            tol=tol if rule else -np.inf,
            n_iter_no_change=require_integer("n_iter_no_change", self.n_iter_no_change, 1),
            until_clean=self.order is not None,
            seed=as_seed(self.random_state),
        )

    def _samples(self, X, y, sample_weight, known=None, reset=True):
        """The checked (Samples, Labels, dict of attributes of the columns) of a fit; known: classes so far, or None."""
        name = type(self).__name__
        # X needs no check for NaN and infinity if an epoch without a penalty visits all rows, as it finds such values
        meets_all = not (self.early_stopping or self.start == "centroids" or self.order == "random" or self.penalty)
        read = as_unchecked_rows if meets_all and sample_weight is None else self._as_rows
        if reset:
            array = read(X, name)
            columns = self._fitted_columns(X, array)
        else:
            array = self._new_samples(X, read)
            columns = {key: vars(self)[key] for key in ("n_features_in_", "feature_names_in_") if key in vars(self)}
        labels = as_labels(y, sample_weight, len(array), name, known)
        codes = labels.spread(len(array), np.intc)
        refuse = None if isinstance(array, Csr) else partial(require_finite, array, "X", name)
        return as_samples(array, codes, labels.weight, refuse), labels, columns

    def _first_weights(self, samples, plan, classes, coef_init, intercept_init):
        """The weights (w, b) at the start of the training."""
        n = n_planes(classes)
        rng = np.random.default_rng([plan.seed, 1])
        if self.start == "random":
            w, b = rng.standard_normal((n, samples.d)), rng.standard_normal(n)
        elif self.start == "centroids":
            w, b = between_centroids(samples, n)
        else:
            w, b = zeros_at_no_cost((n, samples.d)), np.zeros(n)
        if coef_init is not None:
            w = _given("coef_init", coef_init, w.shape)
        if intercept_init is not None:
            b = _given("intercept_init", intercept_init, b.shape)
        elif coef_init is not None or not plan.intercept:
            b = np.zeros(n)
        return w, b


def _for_samples(plan, samples, classes):
    """The plan for these samples and classes."""
    share = _SPARSE_SHARE if samples.sparse and not plan.until_clean else 1
    return replace(plan, joint=plan.joint and len(classes) > 2, intercept=share * plan.intercept)


def _judge(samples, members, plan, learners, w, b):
    """Set each learner's margin, where its last epoch has not shown it; returns the losses, or None in `partial_fit`.

    w and b: the weights of all hyperplanes of the learners.
    """
    changed = plan.average in ("averaged", "pocket") or plan.penalty is not None
    if plan.one_epoch and not (changed or plan.order == "random"):
        return None
    losses = np.zeros(len(learners))
    unknown = [i for i, learner in enumerate(learners) if changed or not learner.clean]
    if unknown:
        # scores of sparse rows read the weights of a column side by side: most of them are not copied, but all judged,
        # and what is known of the others is kept
        scored = range(len(learners)) if samples.sparse and 2 * len(unknown) > len(learners) else unknown
        part = (w, b) if len(scored) == len(learners) else (w[scored], b[scored])
        margins, found = samples.judged(members, plan, [learners[i] for i in scored], *part)
        for i, margin, loss in zip(scored, margins, found):
            if changed or not learners[i].clean:
                learners[i].margin, losses[i] = margin, loss
    return None if plan.one_epoch else losses


def _given(name, values, shape):
    """The user's initial weights or intercepts, as a finite float64 array of the given shape."""
    try:
        array = np.array(as_array(values, name), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is not a number ({error}); numbers are wanted") from None
    if array.shape != shape and not (shape[0] == 1 and array.size == np.prod(shape)):
        raise ValueError(f"{name} has shape {array.shape}; {shape} is wanted")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; finite numbers are wanted")
    return array.reshape(shape)


def _lengths(w, b, n):
    """The Euclidean norms of (w, b) for n learners, without overflow or underflow.

    Each learner has an equal number of the rows of w (m, d) and of the numbers b (m,).
    """
    squares = (np.einsum("kd,kd->k", w, w) + b * b).reshape(n, -1).sum(axis=1)
    lengths = np.sqrt(squares)
    for i in np.flatnonzero(~((squares > _SAFE_SQUARE) & (squares < 1 / _SAFE_SQUARE))):
        part = slice(i * len(w) // n, (i + 1) * len(w) // n)
        v = np.append(w[part], b[part])
        largest = np.abs(v).max()
        lengths[i] = largest * norm_of(v / largest) if largest > 0 else 0.0
    return lengths
