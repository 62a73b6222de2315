"""Logistic regression whose penalty is chosen by cross-validation."""

import numpy as np

from .._csr import as_rows, as_scipy
from .._exceptions import warn
from .._labels import as_label_vector, as_labels, class_factors
from .._sklearn_bases import NotRouted
from .._state_table import Array, Value, declare
from .._threads import require_verbose, rows_at
from .._validation import (
    as_float64,
    as_list,
    as_sample_weight,
    as_vector,
    described,
    require_choice,
    require_integer,
    require_numbers,
    require_truth,
)
from ..metrics.scoring import as_scorers, figure_of
from ..model_selection.folds import as_folds
from .logistic import SOLVERS, LogisticRegression, check_solver, is_native, path_of, penalty_of
from .routed_scores import RoutedScores, refuse_params, routes, with_labels
from .scores import in_order_for

# The largest number of values of C for an integer `Cs`; each value is a fit in each fold.
_MOST_CS = 10_000

# The parameters that are passed on to each LogisticRegression.
_SHARED = ("dual", "tol", "fit_intercept", "intercept_scaling", "solver", "max_iter", "n_jobs", "callback")


class LogisticRegressionCV(RoutedScores, LogisticRegression):
    """Logistic regression with the C, and the share of the L1 penalty, that score best in cross-validation.

    Each fold's train rows are fitted along all Cs, each fit starting from the last one's optimum; the pair with the
    best mean score is then fitted to all rows. What is minimised is :class:`LogisticRegression`'s.

    Parameters
    ----------
    Cs : int or list of float, default=10
        The values of C; an int is that many between 1e-4 and 1e4, at equal ratios.
    l1_ratios : list of float in [0, 1] or None, default='warn'
        The shares of the L1 penalty. None and 'warn', which is scikit-learn's default, are (0,).
    fit_intercept : bool, default=True
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds; an int is that of stratified folds, None is 5.
    dual : bool, default=False
        For scikit-learn's signature.
    penalty : {'l1', 'l2', 'elasticnet'} or 'deprecated', default='deprecated'
        The older way to choose the penalty; 'deprecated' leaves it to `l1_ratios`.
    scoring : str, callable or None, default='warn'
        What is best: a name or a function of (estimator, X, y), as for `cross_validate`. None and 'warn', which is
        scikit-learn's default, are the accuracy.
    solver : str, default='auto'
        As LogisticRegression's.
    tol : float >= 0, default=1e-4
    max_iter : int >= 0, default=1000
    class_weight : dict, 'balanced' or None, default=None
        As LogisticRegression's; 'balanced' weighs the classes of all rows.
    n_jobs : int or None, default=None
        Threads; None is all CPUs that the process may use. The result is the same for any.
    verbose : int, default=0
        1 shows progress.
    refit : bool, default=True
        False: the coefficients are the means over the folds of those with each fold's own best parameters.
    intercept_scaling : float > 0, default=1.0
        For scikit-learn's signature.
    random_state : ignored
    use_legacy_attributes : bool or 'warn', default='warn'
        True, and 'warn', which is scikit-learn's default: `C_`, `l1_ratio_`, `coefs_paths_`, `scores_` and `n_iter_`
        are those of scikit-learn up to 1.9, by class. False: as described below.
    callback : callable or None, default=None
        As LogisticRegression's, called in every fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features), float64
    intercept_ : ndarray of shape (1,) or (n_classes,), float64
    Cs_ : ndarray of shape (n_Cs,)
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
    C_ : float
        The best C; without refit the mean of the folds' best. Legacy: an array of it for each row of `coef_`.
    l1_ratio_ : float
        Likewise. Legacy: an array.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs, 1 or n_classes, n_features + 1)
        Coefficients of each fold, with the intercept last if there is one. Legacy: a dict of class (with two classes
        the second alone) to an array of shape (n_folds, n_Cs, n_l1_ratios, n_features + 1), without the third axis
        where `l1_ratios` is None.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs)
        Legacy: a dict likewise.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs), int32
        Legacy: of shape (1, n_folds, n_Cs, n_l1_ratios), without the last axis where `l1_ratios` is None.
    gradient_norm_, log_likelihood_ : float
        Of the last fit, as LogisticRegression has them; NaN without refit.
    separated_ : bool
        Likewise; False without refit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Of equal scores the first C wins, then the first share. A class that a fold's train rows lack has coefficients
    all the same, and hardly a probability. Rows of `sample_weight` count by it in the fits and in the scores.

    Examples
    --------
    >>> from fastclf import LogisticRegressionCV
    >>> X, y = [[i / 10] for i in range(20)], [0] * 9 + [1, 0] + [1] * 9
    >>> model = LogisticRegressionCV(Cs=[0.1, 1, 10], cv=2, scoring="neg_log_loss", use_legacy_attributes=False)
    >>> model.fit(X, y).C_
    10.0
    >>> model.scores_.shape
    (2, 1, 3)
    """

    _state_table = declare(
        n_iter_=Value(require_numbers, "iu"),
        C_=Value(require_numbers, "iuf"),
        l1_ratio_=Value(require_numbers, "iuf"),
        Cs_=Array("float64", None),
        l1_ratios_=Array("float64", None),
    )

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios="warn",
        fit_intercept=True,
        cv=None,
        dual=False,
        penalty="deprecated",
        scoring="warn",
        solver="auto",
        tol=1e-4,
        max_iter=1000,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        use_legacy_attributes="warn",
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty, and find the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for LogisticRegression.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 up.
        **params
            For the splitter and the scorer, where scikit-learn's metadata routing is switched on.

        Returns
        -------
        self
        """
        Cs, l1_ratios, penalty = self._grid()
        require_truth("refit", self.refit)
        name = type(self).__name__
        rows = X if is_native(X) else as_rows(X, name)
        labels = as_labels(y, sample_weight, len(rows), name)
        codes, weights = labels.spread(len(rows), np.int32), labels.weight
        if self.solver == "liblinear" and len(labels.classes) > 2:
            raise ValueError("The 'liblinear' solver does not support multiclass classification (n_classes >= 3)")
        cv, score_params = self._routed(X, y, sample_weight, params)
        targets = as_label_vector(y, len(rows), name)
        folds = list(as_folds(cv, X, targets, len(rows)))
        loads = weights
        if self.class_weight is not None:
            factor = class_factors(self.class_weight, labels.classes, np.bincount(codes, weights))
            loads = factor[codes] * (1.0 if weights is None else weights)
        score = self._scorer(labels.classes, weights, score_params)
        models = {share: self._models(Cs, penalty, share) for share in l1_ratios}
        paths, scores, steps = [], [], []
        for train, test in folds:
            part = rows_at(rows, np.arange(len(rows))[train]), codes[train], None if loads is None else loads[train]
            for share in l1_ratios:
                path, n_iter = _path(models[share], Cs, *part, len(labels.classes))
                paths.append(path)
                steps.append(n_iter)
                stubs = [self._stub(labels.classes, coef, C=C, l1_ratio=share) for C, coef in zip(Cs.tolist(), path)]
                scores.append([score(stub, rows, targets, test) for stub in stubs])
        shape = len(folds), len(l1_ratios), len(Cs)
        paths = np.reshape(paths, (*shape, *paths[0].shape[1:]))
        scores, steps = np.reshape(scores, shape), np.reshape(steps, shape).astype(np.int32)
        i, share = best = self._best(scores)
        if self.refit:
            fitted = self._refitted(Cs[i], l1_ratios[share], penalty, (rows, codes, len(labels.classes), loads))
        else:
            fitted = self._mean_of_folds(Cs, l1_ratios, best, paths, labels.classes)
        columns = self._fitted_columns(X, rows)
        told = self._attributes(labels.classes, fitted["C_"], fitted["l1_ratio_"], paths, scores, steps)
        return self._become(classes_=labels.classes, Cs_=Cs, l1_ratios_=np.array(l1_ratios), **fitted | told, **columns)

    def _grid(self):
        """Check the parameters of the grid; returns (Cs, shares of L1, the name of the penalty)."""
        require_choice("solver", self.solver, SOLVERS)
        if isinstance(self.Cs, (int, np.integer)) and not isinstance(self.Cs, bool):
            Cs = np.logspace(-4, 4, require_integer("Cs", self.Cs, 1, _MOST_CS))
        else:
            Cs = as_float64(self.Cs, "Cs")
            if Cs.ndim != 1 or len(Cs) == 0 or not (Cs > 0).all():
                raise ValueError(f"Cs is {described(self.Cs)}; a number or a list of numbers above 0 is wanted")
        if self.use_legacy_attributes not in (True, False, "warn"):
            raise ValueError(
                f"use_legacy_attributes is {described(self.use_legacy_attributes)}; True or False is wanted"
            )
        shares = None if self._has_no_shares() else as_list(self.l1_ratios, "l1_ratios")
        numbers = shares is not None and all(isinstance(r, (int, float, np.number)) and 0 <= r <= 1 for r in shares)
        if (shares is None and self.penalty == "elasticnet") or not (shares is None or (shares and numbers)):
            raise ValueError(
                f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={described(shares)})"
            )
        if self.penalty not in ("deprecated", "l1", "l2", "elasticnet"):
            raise ValueError(f"penalty is {described(self.penalty)}; 'l1', 'l2' or 'elasticnet' is wanted")
        shares = [0.0] if shares is None else [float(share) for share in shares]
        penalty = self.penalty
        if penalty == "deprecated":
            kinds = {penalty_of("deprecated", share, False)[0] for share in shares}
            penalty = kinds.pop() if len(kinds) == 1 else "elasticnet"
        elif penalty != "elasticnet" and not self._has_no_shares():
            warn(f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
        check_solver(self.solver, penalty, self.dual)
        return Cs, shares, penalty

    def _has_no_shares(self):
        return self.l1_ratios is None or (isinstance(self.l1_ratios, str) and self.l1_ratios == "warn")

    def _models(self, Cs, penalty, share):
        """An unfitted LogisticRegression for each C."""
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["l1_ratio"] = {"l1": 1.0, "l2": 0.0}.get(penalty, share)
        return [LogisticRegression(C=C, verbose=max(0, (require_verbose(self.verbose) or 0) - 1), **shared) for C in Cs]

    def _stub(self, classes, coef, **penalty):
        """A fitted LogisticRegression with the coefficients of a path, whose last column is the intercept, if any."""
        model, d = LogisticRegression(n_jobs=self.n_jobs, **penalty), coef.shape[1] - bool(self.fit_intercept)
        intercept = coef[:, -1] if self.fit_intercept else np.zeros(len(coef))
        return model._become(
            classes_=classes, coef_=np.ascontiguousarray(coef[:, :d]), intercept_=intercept.copy(), n_features_in_=d
        )

    def _best(self, scores):
        """Indices in Cs and l1_ratios of the best mean score over folds or, with refit=False, of each fold's best."""
        by_C = scores.transpose(0, 2, 1)  # C varies slowest, so that of equal scores the smallest index of C wins
        best = by_C.sum(axis=0).argmax() if self.refit else by_C.reshape(len(by_C), -1).argmax(axis=1)
        return np.unravel_index(best, by_C.shape[1:])

    def _refitted(self, C, l1_ratio, penalty, data):
        """The attributes of the fit with the best parameters to data = (rows, codes, number of classes, weights)."""
        models = self._models([C], penalty, l1_ratio)
        [fit] = path_of(models, [models[0]._check_parameters()], *data)
        chosen = {"C_": float(C), "l1_ratio_": l1_ratio}
        return fit.attributes() | chosen | {"coef_": in_order_for(data[0], fit.coef), "intercept_": fit.intercept}

    def _mean_of_folds(self, Cs, l1_ratios, best, paths, classes):
        """The fitted attributes with refit=False: means of C, l1_ratio and coefficients over the folds' best fits."""
        i, share = best
        mean = self._stub(classes, paths[np.arange(len(paths)), share, i].mean(axis=0))
        return {
            "C_": float(Cs[i].mean()),
            "l1_ratio_": float(np.mean(np.array(l1_ratios)[share])),
            "coef_": mean.coef_,
            "intercept_": mean.intercept_,
            "gradient_norm_": np.nan,
            "log_likelihood_": np.nan,
            "separated_": False,
        }

    def _attributes(self, classes, C, l1_ratio, paths, scores, steps):
        """The attributes whose form depends on `use_legacy_attributes`."""
        if self.use_legacy_attributes is False:
            return {"coefs_paths_": paths, "scores_": scores, "n_iter_": steps}
        K = paths.shape[3]
        names = classes[1:] if K == 1 else classes
        # the axes of the paths become (n_classes, n_folds, n_Cs, n_l1_ratios, ...), as in scikit-learn
        paths, scores = np.moveaxis(paths, (3, 0, 2, 1), (0, 1, 2, 3)), np.swapaxes(scores, 1, 2)
        steps = np.swapaxes(steps, 1, 2)[None]
        if self._has_no_shares():
            paths, scores, steps = paths[:, :, :, 0], scores[:, :, 0], steps[..., 0]
        return {
            "C_": np.full(K, C),
            "l1_ratio_": np.full(K, l1_ratio),
            "coefs_paths_": dict(zip(names.tolist(), np.ascontiguousarray(paths))),
            "scores_": {name: scores.copy() for name in names.tolist()},
            "n_iter_": np.ascontiguousarray(steps),
        }

    _hands_on_score = True

    def _scorer(self, classes, weights, params):
        """A function (model, rows, targets, test) that scores a fold; params: the routed arguments, or None."""
        scoring = self._scoring()
        if params is not None:  # metadata routing is on, so scikit-learn's scorer is used
            scoring = self._get_scorer()
        if hasattr(scoring, "_score_func"):
            scoring = with_labels(scoring, classes)
        [scorer] = as_scorers(scoring).values()

        def score(model, rows, targets, test):
            given = {} if weights is None else {"sample_weight": weights}
            given = {name: np.asarray(value)[test] for name, value in (given if params is None else params).items()}
            taken = as_scipy(rows_at(rows, np.arange(len(rows))[test]))
            return figure_of(scorer, model, taken, targets[test], classes, given)

        return score

    # with scikit-learn's metadata routing, sample_weight goes to the scorer, so that `score` does not request it itself
    __metadata_request__score = NotRouted(["sample_weight"])

    def score(self, X, y, sample_weight=None, **score_params):
        """The score by `scoring` of what is predicted for X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        **score_params
            What else the scorer asks for, where scikit-learn's metadata routing is switched on.

        Returns
        -------
        float
        """
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routes():
            from sklearn.utils.metadata_routing import process_routing

            routed = process_routing(self, "score", **score_params, **given)
            return self._get_scorer()(self, X, y, **routed.scorer.score)
        refuse_params(score_params, self, "score")
        self._require_fitted()
        [scorer] = as_scorers(self._scoring()).values()
        if scorer.kind == "call":
            return scorer.function(self, X, y, **given)
        y = as_vector(y, "y")
        given = {name: as_sample_weight(value, len(y)) for name, value in given.items()}
        return figure_of(scorer, self, X, y, self.classes_, given)


def _path(models, Cs, rows, codes, weights, n_classes):
    """Fit a model for each C; returns, in Cs's order, coefficients (n_Cs, n_functions, d + 1) and numbers of steps."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is 0 in all train rows of a fold; a weight above 0 is wanted in each fold")
    order = np.argsort(Cs, kind="stable")
    ascending = [models[i] for i in order]
    strengths = [model._check_parameters() for model in ascending]
    found, steps = [None] * len(models), [0] * len(models)
    fits = path_of(ascending, strengths, rows, np.ascontiguousarray(codes), n_classes, weights)
    for i, model, fit in zip(order, ascending, fits):
        found[i] = np.column_stack([fit.coef, fit.intercept]) if model.fit_intercept else fit.coef
        steps[i] = fit.n_iter
    return np.array(found), steps
