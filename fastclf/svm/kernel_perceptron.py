"""The perceptron in its dual form: a separator learned from mistakes, in the space of a kernel."""

import numpy as np

from .._csr import Matrix, as_rows, as_scipy
from .._exceptions import warn
from .._labels import as_labels, class_factors, declared_classes
from .._state_table import Array, Size, SizeOf, Value, declare, has, or_none, where
from .._threads import Progress, n_threads
from .._validation import (
    as_matrix,
    as_seed,
    require_choice,
    require_integer,
    require_number,
    require_numbers,
)
from ..kernels.gamma import gamma_of
from ..kernels.values import Kernel, Packed, Rows, fill, require_kernel
from ..linear_model.scores import ScoreClassifier, n_planes
from . import _kernel_perceptron as kernels
from .kernel_votes import VOTES, called, gather_votes, slots, stacked, voted

# Rows that learn from one table of kernel values, and the numbers that such a table has at most, if a row allows.
_BLOCK = 256
_BLOCK_NUMBERS = 1 << 22


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
        Sweeps at most; a sweep without a mistake is the last.
    shuffle : bool, default=True
        Whether each sweep has an order of its own; else it is that of the rows.
    random_state : int, RandomState, Generator or None, default=0
        Draws the orders.
    budget : int >= 1 or None, default=None
        Most support vectors. Where one too many is found, that of the smallest coefficients, the first of equal ones,
        is forgotten.
    average : {'none', 'averaged', 'voted'}, default='none'
        'averaged': the coefficients are their means over all turns; 'voted': the f after each mistake predict, and
        count for as many turns as they were there (Freund, Schapire 1999). Neither with a budget, which they exceed.
    class_weight : dict, 'balanced' or None, default=None
        Factor of the step by class; 'balanced' is n_samples / (n_classes * rows of the class). Against the rest only
        the plane's own class has it.
    verbose : int, default=0
        1 shows progress on stderr.
    n_jobs : int or None, default=None
        Threads for kernel values; None means every CPU. It changes no bit of the result.
    callback : callable, optional
        ``callback(step, total, value)`` after each block of rows: turns so far and at most, and mistakes of the sweep
        so far. Returning True ends the training.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,), int64
        The rows that are support vectors, counted over all calls of `partial_fit`.
    support_vectors_ : array of shape (n_SV, n_features)
        Those rows, sparse if X was; not with kernel='precomputed'. With 'voted' all rows that were a mistake.
    dual_coef_ : ndarray of shape (1 or n_classes, n_SV), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Sweeps.
    n_mistakes_ : int, or ndarray of shape (n_classes,) of planes against the rest
        Mistakes in training. Below likewise.
    converged_ : bool
        Whether the last sweep had no mistake.
    margin_ : float or ndarray
        gamma, the least y f / |w| of the rows, |w| in the space of K + 1 (without intercept, K), where `converged_`;
        else NaN, as for 'averaged'.
    radius_ : float
        rho, the largest sqrt(K(x, x) + 1) (without intercept, sqrt(K(x, x))) of the rows.
    mistake_bound_ : float or ndarray
        (rho / gamma)^2, which no training from 0 exceeds in mistakes (Novikoff 1962); NaN where gamma is not known, or
        with weights or a budget.
    voter_support_, voter_steps_, votes_, voter_starts_ : ndarray
        With 'voted': of each mistake its place in `support_`, its step, the turns until the next one of its plane, and
        where those of each plane begin. A prediction costs a pass over all.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    A sweep costs n (n_SV + 256) kernel values, or with a budget n (budget + 256); nothing is kept of them, so that
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
        # for more turns: the number of those that were, the last weights, and what their average lags behind them
        _t_=Value(require_integer, 0),
        n_mistakes_=Value(require_numbers, "iu"),
        radius_=Value(require_number, -np.inf),
        _last_=Array("float64", "n_planes", "n_support"),
        _lag_=Array("float64", "n_planes", "n_support"),
        _support_rows_=or_none(Matrix("n_support", "n_features")),  # None: of a precomputed kernel
        **where(has("votes_"), **VOTES),
    )

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
        """Whether kernel values come from elsewhere."""
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
        turns = np.arange(len(rows)) if labels.rows is None else labels.rows
        codes = labels.spread(len(rows), np.intc)
        n_planes = 1 if len(labels.classes) == 2 else len(labels.classes)
        steps = self._steps(labels, codes, np.bincount(labels.codes))
        state = {
            "classes_": labels.classes,
            "_gamma_": self._gamma_of(rows, labels.rows),
            "support_": np.empty(0, np.int64),
            "n_seen_": 0,
            "_t_": 0,
            **self._fitted_columns(X, rows),
        }
        a = np.zeros((n_planes, 0))
        with Progress(self.max_iter * len(turns), "kernel perceptron", self.verbose, self.callback) as progress:
            learned = self._learn(rows, np.empty(0, np.int64), a, a, codes, turns, steps, state, budget, progress)
        alike = labels.weight is None or (labels.weight == 1).all()
        plain = budget == 0 and alike and self.class_weight is None
        self._become(**state, **self._proof(learned, plain))
        if not (self.converged_ or learned["called_off"]):
            warn(
                f"max_iter={self.max_iter} sweeps were made, the last with {learned['last']} mistakes",
                "ConvergenceWarning",
            )
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one sweep over these rows, in their order, from the support vectors so far.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; not with kernel='precomputed'.
        classes : array-like of shape (n_classes,), optional
            Every label that will come; wanted at the first call.

        Returns
        -------
        self
            `n_mistakes_` and `radius_` are those of all calls; the margin and the bound are NaN.
        """
        budget = self._check_parameters()
        first = not hasattr(self, "dual_coef_")
        if self.kernel == "precomputed":
            raise ValueError("kernel is 'precomputed', which has no values between calls; another one is wanted")
        known = declared_classes(classes, None if first else self.classes_)
        rows = self._training_rows(X, first)
        labels = as_labels(y, sample_weight, len(rows), type(self).__name__, known)
        turns = np.arange(len(rows)) if labels.rows is None else labels.rows
        codes = labels.spread(len(rows), np.intc)
        steps = self._steps(labels, codes, None)
        if first:
            a = lag = np.zeros((1 if len(known) == 2 else len(known), 0))
            gamma = self._gamma_of(rows, labels.rows)
            state = {"classes_": known, "_gamma_": gamma, "n_seen_": 0, "_t_": 0}
            state |= {"support_": np.empty(0, np.int64), **self._fitted_columns(X, rows)}
        else:
            a, lag = self._last_, self._lag_
            names = ("classes_", "_gamma_", "n_seen_", "_t_", "support_", "n_features_in_", "feature_names_in_")
            state = {name: getattr(self, name) for name in names if hasattr(self, name)}
            rows = stacked(self._support_rows_, rows)
            codes, turns = np.append(np.zeros(a.shape[1], np.intc), codes), turns + a.shape[1]
            steps = np.vstack([np.zeros((a.shape[1], len(a))), steps])
        own = np.arange(a.shape[1])
        with Progress(len(turns), "kernel perceptron", self.verbose, self.callback) as progress:
            learned = self._learn(rows, own, a, lag, codes, turns, steps, state, budget, progress, True)
        proof = self._proof(learned, False)
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
        """The budget, 0 for none."""
        require_kernel(self.kernel, self.degree, self.gamma, self.coef0)
        require_integer("max_iter", self.max_iter, 1)
        require_choice("average", self.average, ("none", "averaged", "voted"))
        if self.budget is None:
            return 0
        if self.average != "none":
            raise ValueError(f"budget is given with average={self.average!r}, which exceeds it; one of them is wanted")
        return require_integer("budget", self.budget, 1)

    def _as_rows(self, X, owner):
        return as_matrix(X, owner) if self._tabled else as_rows(X, owner)

    def _training_rows(self, X, reset=True):
        name = type(self).__name__
        rows = self._as_rows(X, name) if reset else self._new_samples(X)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"X has shape {rows.shape}; a square matrix is wanted of a precomputed kernel")
        return rows

    def _steps(self, labels, codes, heavy):
        """The step of each row for each plane."""
        factor = class_factors(self.class_weight, labels.classes, heavy)
        if len(factor) == 2:
            steps = factor[codes][:, None]
        else:
            steps = np.where(codes[:, None] == np.arange(len(factor)), factor, 1.0)
        return np.ascontiguousarray(steps if labels.weight is None else steps * labels.weight[:, None])

    def _gamma_of(self, X, rows):
        """gamma, by these rows of X, or None for all."""
        unused = self.gamma == "scale" and (self._tabled or self.kernel == "linear")
        return gamma_of("auto" if unused else self.gamma, X if rows is None else X[rows])

    def _table(self, X, gamma):
        """A function of two lists of rows of X that gives their kernel values."""
        if self.kernel == "precomputed":
            return lambda rows, columns: np.ascontiguousarray(X[rows][:, columns], np.float64)
        if callable(self.kernel):
            return lambda rows, columns: called(self.kernel, X[rows], X[columns])
        kernel, packable, threads = Kernel(self.kernel, gamma, self.degree, self.coef0), Rows(X), n_threads(self.n_jobs)

        def values(rows, columns):
            out = np.empty((len(rows), len(columns)))
            fill(kernel, packable, Packed(packable, rows, np.float64), out, threads, columns.astype(np.int64))
            return out

        return values

    def _learn(self, X, support, a, lag, codes, turns, steps, state, budget, progress, once=False):
        """Sweep over the rows `turns` of X; `support` are those that have coefficients a. Updates the state."""
        table, rng = self._table(X, state["_gamma_"]), np.random.default_rng(as_seed(self.random_state, 0))
        n_planes, bias, before = len(a), float(bool(self.fit_intercept)), len(support)
        positive = np.array([1] if n_planes == 1 else range(n_planes), np.intc)
        mistakes, radius, called_off = np.zeros(n_planes, np.int64), 0.0, False
        ids = np.concatenate([state["support_"], state["n_seen_"] + np.arange(len(X) - before)])
        t, n_iter, log = state["_t_"], 0, []
        voting = self.average == "voted"
        earlier = vars(self) if before and voting else None
        if earlier is not None and "votes_" not in earlier:
            raise ValueError("average is 'voted' and that of the calls before was not; the same one is wanted")
        while not called_off:
            in_sweep = np.zeros(n_planes, np.int64)
            least, square = np.full(n_planes, np.inf), np.zeros(n_planes)
            order = rng.permutation(turns) if self.shuffle and not once else turns
            start = 0
            while start < len(order) and not called_off:
                size = min(_BLOCK, max(1, _BLOCK_NUMBERS // (len(support) + _BLOCK)))
                rows = order[start : start + size]
                columns, slot = slots(support, rows)
                more = np.zeros((n_planes, len(columns) - len(support)))
                a, lag = np.hstack([a, more]), np.hstack([lag, more])
                values = table(rows, columns)
                if not np.isfinite(values).all():
                    raise ValueError(
                        "the kernel has values that are NaN or infinite; rows of a smaller scale are wanted"
                    )
                radius = max(radius, float(values[np.arange(len(rows)), slot].max()) + bias)
                n_live, wrong = int(a.any(axis=0).sum()), np.empty((len(rows), n_planes), np.uint8)
                kernels.learn(
                    values, slot, codes[rows], positive, steps[rows], a, lag, t, bias, budget, n_live, wrong, least,
                    square,
                )  # fmt: skip
                in_sweep += wrong.sum(axis=0, dtype=np.int64)
                kept = a.any(axis=0) | (lag.any(axis=0) if self.average == "averaged" else False)
                if voting:
                    row, plane = np.nonzero(wrong)
                    sign = np.where(codes[rows][row] == positive[plane], 1, -1)
                    log.append((plane, rows[row], sign * steps[rows][row, plane], t + row))
                    kept[: len(support)] = kept[slot[row]] = True
                support, a, lag = columns[kept], np.ascontiguousarray(a[:, kept]), np.ascontiguousarray(lag[:, kept])
                t, start = t + len(rows), start + len(rows)
                called_off = progress.advance(len(rows), int(in_sweep.sum()))
            mistakes += in_sweep
            n_iter += 1
            if not in_sweep.any() or once or n_iter == self.max_iter:
                break
        if not (np.isfinite(a).all() and np.isfinite(lag).all()):
            raise ValueError("The coefficients overflowed; smaller weights are wanted")
        coef = a - lag / max(t, 1) if self.average == "averaged" else a
        state |= {
            "support_": ids[support],
            "n_seen_": state["n_seen_"] + len(X) - before,
            "_t_": t,
            "_last_": a,
            "_lag_": lag,
            "_support_rows_": None if self.kernel == "precomputed" else X[support],
            "dual_coef_": coef,
            "intercept_": bias * coef.sum(axis=1),
            "n_iter_": n_iter,
        }
        if voting:
            state |= gather_votes(log, support, n_planes, t, bias, earlier)
        converged = not in_sweep.any() and not called_off
        known = converged and self.average != "averaged" and (square > 0).all()
        return {
            "mistakes": mistakes,
            "last": int(in_sweep.sum()),
            "converged": converged,
            "called_off": called_off,
            "radius": float(np.sqrt(max(radius, 0))),
            "margins": least / np.sqrt(square) if known else np.full(n_planes, np.nan),
        }

    def _proof(self, learned, plain):
        """The attributes that prove a fit; `plain`: Novikoff's bound holds."""
        one = (lambda values: values.tolist()[0]) if len(learned["mistakes"]) == 1 else np.asarray
        with np.errstate(divide="ignore", over="ignore"):
            bound = (learned["radius"] / learned["margins"]) ** 2
        return {
            "n_mistakes_": one(learned["mistakes"]),
            "converged_": learned["converged"],
            "margin_": one(learned["margins"]),
            "radius_": learned["radius"],
            "mistake_bound_": one(bound if plain else np.full_like(bound, np.nan)),
        }

    @property
    def support_vectors_(self):
        self._require_fitted()
        if self._support_rows_ is None:
            raise AttributeError("support_vectors_ is not known of a precomputed kernel")
        return as_scipy(self._support_rows_)

    def _scores(self, X):
        """Scores of shape (n_samples, planes)."""
        self._require_fitted()
        X = self._new_samples(X)
        scores = np.empty((len(X), len(self.dual_coef_)))
        a_row = 1 + len(self.support_) + len(getattr(self, "votes_", ()))
        step = max(1, min(_BLOCK_NUMBERS // a_row, len(X)))
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
            # in the order of the support vectors, whatever the block is
            scores[start : start + step] = np.einsum("is,ks->ik", values, self.dual_coef_) + self.intercept_
        return scores

    def _check_rest(self, sizes, entries):
        if self.kernel != "precomputed" and self._support_rows_ is None:
            raise ValueError("_support_rows_ is None; a row for each of support_ is wanted")
        if self.kernel == "precomputed" and self.n_seen_ != self.n_features_in_:
            raise ValueError(f"n_seen_ is {self.n_seen_}; n_features_in_, {self.n_features_in_}, is wanted")
