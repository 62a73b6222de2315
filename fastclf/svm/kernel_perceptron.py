"""The perceptron in dual form: separating hyperplanes in the space of a kernel, learned from mistakes."""

from typing import NamedTuple

import numpy as np

from .._csr import Matrix, as_rows, as_scipy
from .._exceptions import warn
from .._labels import as_labels, class_factors, declared_classes
from .._state_table import Array, Size, SizeOf, Value, declare, has, or_none, where
from .._threads import Progress, n_threads, rows_at
from .._validation import (
    as_matrix,
    as_seed,
    require_choice,
    require_integer,
    require_number,
    require_numbers,
)
from ..kernels.gamma import gamma_of
from ..kernels.values import Block, Kernel, Packed, Rows, fill, require_kernel
from ..linear_model.scores import ScoreClassifier, n_planes
from .kernel_epochs import Learner
from .kernel_votes import VOTES, called, gather_votes, stacked, voted

# The most kernel values in memory while rows are scored, unless the values of a single row are more.
_SCORED_NUMBERS = 1 << 22


class Before(NamedTuple):
    """What earlier calls of `partial_fit` have learned, with a column for each support vector."""

    a: np.ndarray  # (n_hyperplanes, n_support), float64: the coefficients after the last sample
    # for each coefficient, the sum of its changes, each times the number of samples before the change, from which the
    # average follows
    lag: np.ndarray
    votes: dict | None  # with average="voted": the attributes returned by `gather_votes`; else None


class KernelPerceptron(ScoreClassifier):
    """Classifier that learns from its mistakes, one row after another, in the space of a kernel.

    f(x) = sum_j a_j K(x_j, x) + b over the support vectors. On a row (x_i, y), y = +1 or -1, with y f(x_i) <= 0, a_i
    becomes a_i + y and b becomes b + y; any other row changes nothing. With more than two classes each has its own f,
    against the rest.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        x'z, (gamma x'z + coef0)^degree, exp(-gamma |x - z|^2), tanh(gamma x'z + coef0), the values themselves as X, or
        a function of two arrays of rows that gives the table of values.
    degree : int >= 0, default=3
    gamma : {'scale', 'auto'} or float >= 0, default='scale'
        'scale' is 1 / (n_features * variance of X), of the first call; 'auto' is 1 / n_features.
    coef0 : float, default=0.0
    fit_intercept : bool, default=True
        Whether there is a b: the sum of the a_j.
    max_iter : int >= 1, default=100
        The most epochs; an epoch without a mistake is the last one.
    shuffle : bool, default=True
        Whether each epoch visits the rows in a new random order; else in the order given.
    random_state : int, RandomState, Generator or None, default=0
        Draws the orders.
    budget : int >= 1 or None, default=None
        The most support vectors. If one more is found, the one with the smallest coefficients is dropped, of equal ones
        the first.
    average : {'none', 'averaged', 'voted'}, default='none'
        'averaged': the coefficients are their means over all samples that were visited; 'voted': the f after each
        mistake has a vote for each sample until its next mistake (Freund, Schapire 1999). Neither is allowed with a
        budget, which both exceed.
    class_weight : dict, 'balanced' or None, default=None
        Factor of the step by class; 'balanced' is n_samples / (n_classes * rows of the class). With more than two
        classes, only rows of a hyperplane's positive class have the factor.
    verbose : int, default=0
        1 shows progress on stderr.
    n_jobs : int or None, default=None
        Threads for kernel values; None means every CPU. It changes no bit of the result.
    callback : callable, optional
        ``callback(step, total, value)`` after each block of samples: samples so far and at most, and mistakes of the
        epoch so far. Returning True ends the training.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,), int64
        The rows that are support vectors, counted over all calls of `partial_fit`.
    support_vectors_ : array of shape (n_SV, n_features)
        Those rows, sparse if X was; not with kernel='precomputed'. With 'voted', all rows on which a mistake was made.
    dual_coef_ : ndarray of shape (1 or n_classes, n_SV), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        The number of epochs.
    n_mistakes_ : int, or ndarray of shape (n_classes,)
        The number of mistakes in training, with more than two classes of each hyperplane; likewise below.
    converged_ : bool
        Whether the last epoch had no mistake.
    margin_ : float or ndarray
        gamma, the least y f / |w| of the rows, |w| in the space of K + 1 (without intercept, K), where `converged_`;
        else NaN, as for 'averaged'.
    radius_ : float
        rho, the largest sqrt(K(x, x) + 1) (without intercept, sqrt(K(x, x))) of the rows.
    mistake_bound_ : float or ndarray
        (rho / gamma)^2, which no training from 0 exceeds in mistakes (Novikoff 1962); NaN where gamma is not known, or
        with weights or a budget.
    voter_support_, voter_steps_, votes_, voter_starts_ : ndarray
        With 'voted': of each mistake its place in `support_`, its step, and the number of samples until the
        hyperplane's next mistake; and where the mistakes of each hyperplane begin. A prediction takes time for all of
        them.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    An epoch costs n (n_SV + 256) kernel values, or with a budget n (budget + 256); nothing is kept of them, so that
    memory beyond X is 32 MB, or a row of n_SV numbers for each of a block's rows, and O(n). All sums are float64. A row
    of `sample_weight` 0 is a missing row.

    References
    ----------
    Aizerman, Braverman, Rozonoer (1964), Theoretical foundations of the potential function method; Freund, Schapire
    (1999), Large margin classification using the perceptron algorithm; Crammer, Kandola, Singer (2003), Online
    classification on a budget.

    Examples
    --------
    >>> from fastclf import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelPerceptron(gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist(), model.converged_
    ([0, 1, 1, 0], True)
    >>> model.n_mistakes_ <= model.mistake_bound_
    True
    """

    _state_table = declare(
        classes_=Array("any", "n_classes", least=2),
        n_planes=SizeOf(lambda model: n_planes(model.classes_)),
        n_seen_=Size("n_seen", 0),
        support_=Array("int64", "n_support", below="n_seen"),
        dual_coef_=Array("float64", "n_planes", "n_support"),
        intercept_=Array("float64", "n_planes"),
        _gamma_=Value(require_number, 0),
        # what later calls of `partial_fit` need: _t_, the number of samples; _last_, the last coefficients; _lag_, the
        # sums from which the average coefficients follow
        _t_=Value(require_integer, 0),
        n_mistakes_=Value(require_numbers, "iu"),
        radius_=Value(require_number, -np.inf),
        _last_=Array("float64", "n_planes", "n_support"),
        _lag_=Array("float64", "n_planes", "n_support"),
        # the support vectors; None if the kernel is precomputed
        _support_rows_=or_none(Matrix("n_support", "n_features")),
        **where(has("votes_"), **VOTES),
    )

    # among equally good values of `budget`, a smaller one is a simpler model, with fewer support vectors
    _simpler = (("budget", "smaller"),)

    def __init__(
        self,
        kernel="rbf",
        *,
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        max_iter=100,
        shuffle=True,
        random_state=0,
        budget=None,
        average="none",
        class_weight=None,
        verbose=0,
        n_jobs=None,
        callback=None,
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._tabled
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def _tabled(self):
        """Whether the user gives the kernel values, as a matrix or by a function."""
        return self.kernel == "precomputed" or callable(self.kernel)

    def fit(self, X, y, sample_weight=None):
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With kernel='precomputed' the values, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Factor of each row's step; 0 is a missing row.

        Returns
        -------
        self
        """
        budget = self._check_parameters()
        rows = self._training_rows(X)
        labels = as_labels(y, sample_weight, len(rows), type(self).__name__)
        order = np.arange(len(rows)) if labels.rows is None else labels.rows
        codes = labels.spread(len(rows), np.intc)
        steps = self._steps(labels, codes, np.bincount(labels.codes))
        gamma = self._gamma_of(rows, labels.rows)
        state = self._empty_state(labels.classes, gamma) | self._fitted_columns(X, rows)
        learner = self._learner(rows, codes, steps, state)
        with Progress(self.max_iter * len(order), "kernel perceptron", self.verbose, self.callback) as progress:
            n_iter, called_off = self._train(learner, order, progress)
        state |= self._learned(learner, state, rows, n_iter)
        alike = labels.weight is None or (labels.weight == 1).all()
        plain = budget == 0 and alike and self.class_weight is None
        self._become(**state, **self._proof(learner, called_off, plain))
        if not (self.converged_ or called_off):
            wrong = int(learner.n_wrong.sum())
            warn(f"max_iter={self.max_iter} epochs were made, the last with {wrong} mistakes", "ConvergenceWarning")
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one epoch over these rows in their order, starting from the support vectors so far.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; not with kernel='precomputed'.
        classes : array-like of shape (n_classes,), optional
            All labels that will come; needed at the first call.

        Returns
        -------
        self
            `n_mistakes_` and `radius_` are those of all calls; the margin and the bound are NaN.
        """
        self._check_parameters()
        first = not hasattr(self, "dual_coef_")
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel is 'precomputed', which has no values between rows of different calls; another kernel is wanted"
            )
        known = declared_classes(classes, None if first else self.classes_)
        rows = self._training_rows(X, first)
        labels = as_labels(y, sample_weight, len(rows), type(self).__name__, known)
        order = np.arange(len(rows)) if labels.rows is None else labels.rows
        codes = labels.spread(len(rows), np.intc)
        steps = self._steps(labels, codes, None)
        if first:
            before = None
            state = self._empty_state(known, self._gamma_of(rows, labels.rows)) | self._fitted_columns(X, rows)
        else:
            before = self._before()
            names = ("classes_", "_gamma_", "n_seen_", "_t_", "support_", "n_features_in_", "feature_names_in_")
            state = {name: vars(self)[name] for name in names if name in vars(self)}
            rows = stacked(self._support_rows_, rows)
            n, n_rows = before.a.shape
            codes, order = np.append(np.zeros(n_rows, np.intc), codes), order + n_rows
            steps = np.vstack([np.zeros((n_rows, n)), steps])
        learner = self._learner(rows, codes, steps, state, before)
        with Progress(len(order), "kernel perceptron", self.verbose, self.callback) as progress:
            called_off = learner.epoch(order, progress)
        state |= self._learned(learner, state, rows, 1, before)
        proof = self._proof(learner, called_off, False)
        if not first:
            proof["n_mistakes_"] = proof["n_mistakes_"] + self.n_mistakes_
            proof["radius_"] = max(proof["radius_"], self.radius_)
        proof["margin_"] = proof["margin_"] * np.nan
        proof["converged_"] = False
        return self._become(**state, **proof)

    def _require_parameters(self):
        super()._require_parameters()
        self._check_parameters()

    def _check_parameters(self):
        """Check the parameters; returns the budget, or 0 if there is none."""
        require_kernel(self.kernel, self.degree, self.gamma, self.coef0)
        require_integer("max_iter", self.max_iter, 1)
        require_choice("average", self.average, ("none", "averaged", "voted"))
        if self.budget is None:
            return 0
        if self.average != "none":
            raise ValueError(
                f"budget is {self.budget} with average={self.average!r}, which keeps more support vectors;"
                " budget=None or average='none' is wanted"
            )
        return require_integer("budget", self.budget, 1)

    def _as_rows(self, X, owner):
        return as_matrix(X, owner) if self._tabled else as_rows(X, owner)

    def _training_rows(self, X, reset=True):
        name = type(self).__name__
        rows = self._as_rows(X, name) if reset else self._new_samples(X)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"X has shape {rows.shape}; a square matrix is wanted for a precomputed kernel")
        return rows

    def _steps(self, labels, codes, heavy):
        """The length of the step for each row and each hyperplane, (n, n_hyperplanes)."""
        factor = class_factors(self.class_weight, labels.classes, heavy)
        if len(factor) == 2:
            steps = factor[codes][:, None]
        else:
            steps = np.where(codes[:, None] == np.arange(len(factor)), factor, 1.0)
        return np.ascontiguousarray(steps if labels.weight is None else steps * labels.weight[:, None])

    def _gamma_of(self, X, rows):
        """The value of gamma for the listed rows of X, or for all rows if `rows` is None."""
        unused = self.gamma == "scale" and (self._tabled or self.kernel == "linear")
        return gamma_of("auto" if unused else self.gamma, X if rows is None else X[rows])

    def _table(self, X, gamma):
        """A function of two lists of rows of X that returns the kernel values between them."""
        if self.kernel == "precomputed":
            return lambda rows, columns: np.ascontiguousarray(X[rows][:, columns], np.float64)
        if callable(self.kernel):
            return lambda rows, columns: called(self.kernel, X[rows], X[columns])
        kernel, packable, threads = Kernel(self.kernel, gamma, self.degree, self.coef0), Rows(X), n_threads(self.n_jobs)

        def values(rows, columns):
            out = np.empty((len(rows), len(columns)))
            Z = Packed(packable, rows, np.float64)
            fill(Block(kernel, packable, Z, Z.all, columns.astype(np.int64)), out, threads)
            return out

        return values

    @staticmethod
    def _empty_state(classes, gamma):
        """The fitted attributes of a perceptron that has not yet seen a sample."""
        return {"classes_": classes, "_gamma_": gamma, "support_": np.empty(0, np.int64), "n_seen_": 0, "_t_": 0}

    def _before(self):
        """A record of what the earlier calls of `partial_fit` have learned."""
        a, fitted = self._last_, vars(self)
        voting = self.average == "voted" and a.shape[1] > 0
        if voting and "votes_" not in fitted:
            raise ValueError("average is 'voted' but was not in earlier calls; the same average is wanted in all calls")
        return Before(a, self._lag_, fitted if voting else None)

    def _learner(self, X, codes, steps, state, before=None):
        """The `Learner` of the rows X, which begin with the support vectors of earlier calls."""
        a, lag = (np.zeros((steps.shape[1], 0)),) * 2 if before is None else (before.a, before.lag)
        return Learner(
            values=self._table(X, state["_gamma_"]),
            codes=codes,
            steps=steps,
            bias=float(bool(self.fit_intercept)),
            budget=self._check_parameters(),
            average=self.average,
            support=np.arange(a.shape[1]),
            a=a,
            lag=lag,
            t=state["_t_"],
        )

    def _train(self, learner, rows, progress):
        """Train on epochs over the listed rows; returns (the number of epochs, whether the callback ended the fit)."""
        rng = np.random.default_rng(as_seed(self.random_state, 0))
        called_off, n_iter = False, 0
        while not called_off and n_iter < self.max_iter:
            called_off = learner.epoch(rng.permutation(rows) if self.shuffle else rows, progress)
            n_iter += 1
            if not learner.n_wrong.any():
                break
        return n_iter, called_off

    def _learned(self, learner, state, X, n_iter, before=None):
        """The fitted attributes after a `Learner`, which starts from the dict `state`, has learned from the rows X."""
        coef = learner.coefficients()
        n_new = len(X) if before is None else len(X) - before.a.shape[1]
        ids = np.concatenate([state["support_"], state["n_seen_"] + np.arange(n_new)])
        learned = {
            "support_": ids[learner.support],
            "n_seen_": state["n_seen_"] + n_new,
            "_t_": learner.t,
            "_last_": learner.a,
            "_lag_": learner.lag,
            "_support_rows_": None if self.kernel == "precomputed" else rows_at(X, learner.support),
            "dual_coef_": coef,
            "intercept_": learner.bias * coef.sum(axis=1),
            "n_iter_": n_iter,
        }
        if self.average == "voted":
            learned |= gather_votes(learner, None if before is None else before.votes)
        return learned

    def _proof(self, learner, called_off, plain):
        """The attributes that tell how good the fit is; `plain` says that Novikoff's bound on mistakes holds."""
        converged = not learner.n_wrong.any() and not called_off
        known = converged and self.average != "averaged" and (learner.square > 0).all()
        margins = learner.least / np.sqrt(learner.square) if known else np.full(len(learner.a), np.nan)
        radius = float(np.sqrt(max(learner.radius, 0)))
        one = (lambda values: values.tolist()[0]) if len(margins) == 1 else np.asarray
        with np.errstate(divide="ignore", over="ignore"):
            bound = (radius / margins) ** 2
        return {
            "n_mistakes_": one(learner.mistakes),
            "converged_": converged,
            "margin_": one(margins),
            "radius_": radius,
            "mistake_bound_": one(bound if plain else np.full_like(bound, np.nan)),
        }

    @property
    def support_vectors_(self):
        self._require_fitted()
        if self._support_rows_ is None:
            raise AttributeError(
                "support_vectors_ is not known with a precomputed kernel; support_ has the numbers of their rows"
            )
        return as_scipy(self._support_rows_)

    def _scores(self, X):
        """The scores w.x + b of rows, of shape (n_samples, n_hyperplanes)."""
        self._require_fitted()
        X = self._new_samples(X)
        scores = np.empty((len(X), len(self.dual_coef_)))
        a_row = 1 + len(self.support_) + len(getattr(self, "votes_", ()))
        step = max(1, min(_SCORED_NUMBERS // a_row, len(X)))
        kernel = None if self._tabled else Kernel(self.kernel, self._gamma_, self.degree, self.coef0)
        known = None if self._tabled else Rows(self._support_rows_)
        for start in range(0, len(X), step):
            rows = X[start : start + step]
            if len(self.support_) == 0:
                values = np.zeros((len(rows), 0))
            elif self.kernel == "precomputed":
                values = rows[:, self.support_]
            elif callable(self.kernel):
                values = called(self.kernel, rows, self._support_rows_)
            else:
                values = kernel(rows, known, np.float64, self.n_jobs)
            if hasattr(self, "votes_"):
                scores[start : start + step] = voted(values, vars(self))
                continue
            # the sum runs over the support vectors in their order, so that its bits do not depend on the size of a
            # block
            scores[start : start + step] = np.einsum("is,ks->ik", values, self.dual_coef_) + self.intercept_
        return scores

    def _check_rest(self, sizes, entries):
        if self.kernel != "precomputed" and self._support_rows_ is None:
            raise ValueError("_support_rows_ is None; one row for each entry of support_ is wanted")
        if self.kernel == "precomputed" and self.n_seen_ != self.n_features_in_:
            raise ValueError(f"n_seen_ is {self.n_seen_}; n_features_in_, {self.n_features_in_}, is wanted")
