"""The perceptron in its dual form: a separator learned from mistakes, in the space of a kernel."""

import sys

import numpy as np

from .._csr import Csr
from .._estimator import warn_unconverged
from .._threads import Progress, n_threads
from .._validation import (
    as_array,
    as_matrix,
    as_sample_weight,
    as_seed,
    as_targets,
    class_factors,
    encode_labels,
    require_array,
    require_choice,
    require_integer,
    require_number,
)
from ..kernels.gamma import scale_gamma
from ..kernels.values import KINDS, Kernel, Packed, Rows, fill
from ..linear_model.scores import ScoreClassifier, as_rows
from ..linear_model.votes import codes_among, require_classes, require_two
from . import _kernel_perceptron as kernels
from .kernel_votes import called, check_voters, gather_votes, slots, stacked, voted

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
        rows, y, weight = self._training_rows(X, y, sample_weight)
        turns = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        if not len(turns):
            raise ValueError("sample_weight is zero for every row; a weight above 0 is wanted")
        classes, of_turns = encode_labels(y[turns])
        require_two("y", classes)
        codes = np.zeros(len(y), np.intc)
        codes[turns] = of_turns
        n_planes = 1 if len(classes) == 2 else len(classes)
        steps = self._steps(classes, codes, weight, turns)
        state = {
            "classes_": classes,
            "_gamma_": self._gamma_of(rows if weight is None else rows[turns]),
            "support_": np.empty(0, np.int64),
            "n_seen_": 0,
            "_t_": 0,
            **self._fitted_columns(X, rows),
        }
        a = np.zeros((n_planes, 0))
        with Progress(self.max_iter * len(turns), "kernel perceptron", self.verbose, self.callback) as progress:
            learned = self._learn(rows, np.empty(0, np.int64), a, a, codes, turns, steps, state, budget, progress)
        plain = budget == 0 and weight is None and self.class_weight is None
        self._become(**state, **self._proof(learned, plain))
        if not (self.converged_ or learned["called_off"]):
            warn_unconverged(f"max_iter={self.max_iter} sweeps were made, the last with {learned['last']} mistakes", 3)
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
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight is 'balanced', which needs all rows at once; a dict or None is wanted")
        if first:
            require_classes(classes)
        rows, y, weight = self._training_rows(X, y, sample_weight, first)
        known = encode_labels(as_array(classes, "classes"))[0] if first else self.classes_
        require_two("classes", known)
        codes = codes_among(y, known)
        turns = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        steps = self._steps(known, codes, weight, turns)
        if first:
            a = lag = np.zeros((1 if len(known) == 2 else len(known), 0))
            gamma = self._gamma_of(rows if weight is None else rows[turns])
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

    def _check_parameters(self):
        """The budget, 0 for none."""
        if not callable(self.kernel):
            require_choice("kernel", self.kernel, (*KINDS, "precomputed"))
        require_integer("degree", self.degree, 0)
        if isinstance(self.gamma, str):
            require_choice("gamma", self.gamma, ("scale", "auto"))
        elif not np.isfinite(require_number("gamma", self.gamma, 0)):
            raise ValueError(f"gamma is {self.gamma}; a finite number is wanted")
        if not np.isfinite(require_number("coef0", self.coef0, -np.inf)):
            raise ValueError(f"coef0 is {self.coef0}; a finite number is wanted")
        require_integer("max_iter", self.max_iter, 1)
        require_choice("average", self.average, ("none", "averaged", "voted"))
        if self.budget is None:
            return 0
        if self.average != "none":
            raise ValueError(f"budget is given with average={self.average!r}, which exceeds it; one of them is wanted")
        return require_integer("budget", self.budget, 1)

    def _as_rows(self, X, owner):
        return as_matrix(X, owner) if self._tabled else as_rows(X, owner)

    def _training_rows(self, X, y, sample_weight, reset=True):
        name = type(self).__name__
        rows = self._as_rows(X, name) if reset else self._new_samples(X)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"X has shape {rows.shape}; a square matrix is wanted of a precomputed kernel")
        y = as_targets(y, len(rows), name, labels=True)
        if y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}; one label a row, of shape ({len(rows)},), is wanted")
        weight = as_sample_weight(sample_weight, len(rows))
        if weight is not None and (weight == 1).all():
            weight = None
        return rows, y, weight

    def _steps(self, classes, codes, weight, turns):
        """The step of each row for each plane."""
        heavy = np.bincount(codes[turns], minlength=len(classes))
        factor = class_factors(self.class_weight, classes, heavy, open_low=True)
        if len(classes) == 2:
            steps = factor[codes][:, None]
        else:
            steps = np.where(codes[:, None] == np.arange(len(classes)), factor, 1.0)
        return np.ascontiguousarray(steps if weight is None else steps * weight[:, None])

    def _gamma_of(self, X):
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto" or self._tabled or self.kernel == "linear":
            return 1.0 / X.shape[1]
        return scale_gamma(X)

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
        table, rng = self._table(X, state["_gamma_"]), np.random.default_rng(as_seed(self.random_state or 0))
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
        rows = self._support_rows_
        scipy = sys.modules.get("scipy.sparse")
        if isinstance(rows, Csr) and scipy is not None:
            return scipy.csr_matrix((rows.data, rows.indices, rows.indptr), rows.shape)
        if rows is None:
            raise AttributeError("support_vectors_ is not known of a precomputed kernel")
        return rows

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

    def _check_state(self):
        super()._check_state()
        n_planes = 1 if len(self.classes_) == 2 else len(self.classes_)
        require_array("support_", self.support_, [np.int64], (None,))
        for name in ("dual_coef_", "_last_", "_lag_"):
            require_array(name, getattr(self, name), [np.float64], (n_planes, len(self.support_)))
        require_array("intercept_", self.intercept_, [np.float64], (n_planes,))
        require_number("_gamma_", self._gamma_, 0)
        for name in ("_t_", "n_seen_"):
            require_integer(name, getattr(self, name), 0)
        if hasattr(self, "votes_"):
            check_voters(vars(self), n_planes, len(self.support_))
        if len(self.support_) and not 0 <= self.support_.min() <= self.support_.max() < self.n_seen_:
            raise ValueError(f"support_ has an entry outside of 0 to {self.n_seen_ - 1}")
        rows = self._support_rows_
        if self.kernel == "precomputed":
            if self.n_seen_ != self.n_features_in_:
                raise ValueError(f"n_seen_ is {self.n_seen_}; n_features_in_, {self.n_features_in_}, is wanted")
        elif not isinstance(rows, Csr):
            floats = [np.float32, np.float64]
            require_array("_support_rows_", rows, floats, (len(self.support_), self.n_features_in_))
        elif rows.shape != (len(self.support_), self.n_features_in_):
            raise ValueError(f"_support_rows_ has shape {rows.shape}; a row for each of support_ is wanted")
