"""Searches for parameters as estimators: fitted by cross-validation, they predict with the best setting."""

import time
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np

from .._estimator import Estimator, clone, only_if
from .._exceptions import not_fitted_error, warn
from .._state_table import Instance, Size, Value, declare, has, where
from .._validation import described, require_memory, require_number, require_truth
from ..metrics.scorers import SeveralScorers, accepts_weight, check_scoring, kind_of, refuse_params, scorers_of
from .evaluation import Evaluation, Request, check_estimator, tell_failures
from .parameters import ParameterGrid, ParameterSampler
from .results import deviation
from .routing import route
from .tuning import COMBINATION_BYTES, as_grids, candidates_of


def _require_refit(search, name):
    if search.refit is False or search.refit is None:
        raise AttributeError(
            f"This {type(search).__name__} instance was initialized with `refit=False`. {name} is available only after"
            " refitting on the best parameters. You can refit an estimator manually using the `best_params_` attribute"
        )


def _require_scorers(name, value):
    """Refuse a value that is neither a scorer nor a dict of scorers."""
    scorers = list(value.values()) if isinstance(value, Mapping) else [value]
    if not scorers or not all(map(callable, scorers)):
        raise ValueError(f"{name} is {described(value)}; a scorer or a dict of scorers is wanted")


def _require_model(name, value):
    """Refuse a value that is no estimator."""
    if not hasattr(value, "fit"):
        raise ValueError(f"{name} is {described(value)}; a fitted estimator is wanted")


def _delegated(name):
    """A condition for `only_if`: the best estimator or, before `fit`, the estimator to tune has the method `name`."""

    def has_it(search):
        _require_refit(search, name)
        getattr(vars(search).get("best_estimator_", search.estimator), name)
        return True

    return only_if(has_it)


class _Search(Estimator):
    """The base of searches; a subclass has `_settings`, which gives the settings that are tried."""

    # the attribute that marks a fitted search; n_features_in_ does not, because an estimator of another library may
    # lack it
    _mark_of_fit = "cv_results_"
    _can_be_saved = False  # `save` refuses a search; its best estimator can be saved

    _state_table = declare(
        multimetric_=Instance(bool),
        scorer_=Value(_require_scorers),
        **where(has("n_features_in_"), n_features_in_=Size("n_features")),
        **where(has("best_estimator_"), best_estimator_=Value(_require_model)),
    )

    @property
    def _estimator_type(self):
        return kind_of(self.estimator)

    @property
    def classes_(self):
        """The classes of the best estimator."""
        _require_refit(self, "classes_")
        return vars(self).get("best_estimator_", self.estimator).classes_

    def __sklearn_tags__(self):
        from sklearn.utils import get_tags

        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.input_tags.pairwise, inner.input_tags.sparse
        tags.target_tags.required = False
        return tags

    def get_metadata_routing(self):
        """What scikit-learn's metadata routing asks of the estimator, the scorer and the splitter."""
        from sklearn.metrics._scorer import check_scoring as as_theirs
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        to_score = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        router = MetadataRouter(owner=self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        router.add(scorer=as_theirs(self.estimator, self.scoring), method_mapping=to_score)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _sk_visual_block_(self):
        from sklearn.utils._repr_html.estimator import _VisualBlock

        key = "best_estimator_" if hasattr(self, "best_estimator_") else "estimator"
        inner = getattr(self, key)
        names = [f"{key}: {type(inner).__name__}"]
        return _VisualBlock("parallel", [inner], names=names, name_details=[str(inner)])

    def fit(self, X, y=None, **params):
        """Try all settings by cross-validation, and fit the best one to all rows.

        Parameters
        ----------
        X : array-like, as for the estimator
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        **params : further arguments of the estimator's `fit`
            `groups` are given to the splitter; `sample_weight` also to scorers that take it.

        Returns
        -------
        self
        """
        check_estimator(self.estimator, scoring=self.scoring)
        if not callable(self.refit) and not isinstance(self.refit, (str, Real, np.bool_, type(None))):
            raise TypeError(
                f"refit is {described(self.refit)}; True, False, the name of a scorer or a function is wanted"
            )
        verbose = int(self.verbose) if isinstance(self.verbose, (bool, np.bool_)) else self.verbose
        verbose = require_number("verbose", verbose, -np.inf) > 0
        several = self.scoring is not None and not isinstance(self.scoring, str) and not callable(self.scoring)
        scorer = scorers_of(self.estimator, self.scoring) if several else check_scoring(self.estimator, self.scoring)
        if several:
            self._require_refit_name(scorer)
        request = self._request(X, y, params, SeveralScorers(scorer) if several else scorer)
        settings, candidates, place = self._settings()
        evaluation = Evaluation(request, candidates)
        n_splits, n = len(evaluation.folds), len(settings)
        if n_splits * n == 0:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        _require_promised(self.cv, X, y, request.groups, n_splits)
        if verbose:
            print(f"Fitting {n_splits} folds for each of {n} candidates, totalling {n_splits * n} fits")
        measured = evaluation.run(self.n_jobs, verbose, label=type(self).__name__)
        if any(len(result.folds) < len(evaluation.folds) for result in measured):
            raise KeyboardInterrupt  # a fit that was interrupted leaves the object unchanged
        tell_failures(measured)
        results = _results(settings, [measured[g].result(v) for g, v in place], self.error_score)
        multimetric = "mean_test_score" not in results
        if callable(self.scoring) and multimetric:
            self._require_refit_name({key[10:]: None for key in results if key.startswith("mean_test_")})
        found = {"multimetric_": multimetric, "scorer_": scorer, "cv_results_": results}
        found["n_splits_"] = n_splits
        found |= self._best(results, multimetric, X, y, request.params)
        # the best estimator may lack n_features_in_, which other estimators have once they are fitted
        for name in [name for name in vars(self) if name.endswith("_")]:
            del vars(self)[name]
        vars(self).update(found)
        return self

    def _require_refit_name(self, names):
        chosen = isinstance(self.refit, str) and self.refit in names
        if self.refit is not False and not chosen and not callable(self.refit):
            raise ValueError(
                "For multi-metric scoring, the parameter refit must be set to a scorer key or a callable to refit an"
                " estimator with the best parameter setting on the whole data and make the best_* attributes available"
                f" for that metric. If this is not needed, refit should be set to False explicitly. {self.refit!r} was"
                " passed."
            )

    def _request(self, X, y, params, scorer):
        """The Request for the evaluation of all settings, from the search's parameters and the arguments of `fit`."""
        request = Request(X, y, self.cv, scoring=self.scoring, params=dict(params), error_score=self.error_score)
        request.one_after_another = True
        request.train_scores = require_truth("return_train_score", self.return_train_score)
        routed = route(request, self.estimator, type(self).__name__)
        if routed is not request:
            return routed
        request.groups = request.params.pop("groups", None)
        if request.params.get("sample_weight") is not None:
            parts = scorer._scorers.items() if isinstance(scorer, SeveralScorers) else [("score", scorer)]
            for name, part in parts:
                if not accepts_weight(part):
                    warn(
                        f"The scoring {name}={part} does not support sample_weight, which may lead to statistically"
                        f" incorrect results when fitting {self} with sample_weight. "
                    )
            if accepts_weight(scorer):
                request.scoring = scorer if isinstance(scorer, SeveralScorers) else _as_function(scorer)
                request.score_params = {"sample_weight": request.params["sample_weight"]}
        return request

    def _best(self, results, multimetric, X, y, params):
        """The attributes of the best setting, and of the model that is fitted to all rows with it."""
        found = {}
        if self.refit or not multimetric:
            name = self.refit if multimetric else "score"
            found["best_index_"] = best = _best_index(self.refit, name, results)
            if not callable(self.refit):
                found["best_score_"] = results[f"mean_test_{name}"][best]
            found["best_params_"] = results["params"][best]
        if self.refit:
            chosen = {name: clone(value) for name, value in found["best_params_"].items()}
            model, start = clone(self.estimator).set_params(**chosen), time.time()
            model.fit(X, **params) if y is None else model.fit(X, y, **params)
            found |= {"best_estimator_": model, "refit_time_": time.time() - start}
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(model, name):
                    found[name] = getattr(model, name)
        return found

    def _fitted(self, name="score"):
        """The best estimator, fitted to all rows; an error if there is none."""
        _require_refit(self, name)
        if "best_estimator_" not in vars(self):
            raise not_fitted_error(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before"
                " using this estimator."
            )
        return self.best_estimator_

    def score(self, X, y=None, **params):
        """The value of `scoring` for the best estimator on some rows; of several scorers, of the one in `refit`."""
        refuse_params(self, params)
        model = self._fitted()
        if isinstance(self.scorer_, Mapping):
            return self._of_refit(self.scorer_)(model, X, y, **params)
        value = self.scorer_(model, X, y, **params)
        return self._of_refit(value) if self.multimetric_ else value

    def _of_refit(self, parts):
        """The entry of a dict, of scorers or of scores, whose name is the parameter `refit`."""
        if not isinstance(parts, Mapping) or not isinstance(self.refit, str) or self.refit not in parts:
            raise ValueError(f"refit is {described(self.refit)}; the name of one of several scorers is wanted")
        return parts[self.refit]

    @_delegated("predict")
    def predict(self, X):
        """The predictions of the best estimator."""
        return self._fitted("predict").predict(X)

    @_delegated("predict_proba")
    def predict_proba(self, X):
        """The probabilities of the best estimator."""
        return self._fitted("predict_proba").predict_proba(X)

    @_delegated("predict_log_proba")
    def predict_log_proba(self, X):
        """The logarithms of the probabilities of the best estimator."""
        return self._fitted("predict_log_proba").predict_log_proba(X)

    @_delegated("decision_function")
    def decision_function(self, X):
        """The scores of the best estimator."""
        return self._fitted("decision_function").decision_function(X)

    @_delegated("score_samples")
    def score_samples(self, X):
        """The log densities of the best estimator."""
        return self._fitted("score_samples").score_samples(X)

    @_delegated("transform")
    def transform(self, X):
        """The rows as the best estimator transforms them."""
        return self._fitted("transform").transform(X)

    @_delegated("inverse_transform")
    def inverse_transform(self, X):
        """The rows before the transformation of the best estimator."""
        return self._fitted("inverse_transform").inverse_transform(X)


def _require_promised(cv, X, y, groups, n_splits):
    """Refuse a splitter whose `get_n_splits` returns another number of folds than its `split` has made."""
    promised = cv.get_n_splits(X, y, groups) if hasattr(cv, "get_n_splits") else n_splits
    if promised != n_splits:
        raise ValueError(
            f"cv.split and cv.get_n_splits return inconsistent results. Expected {promised} splits, got {n_splits}"
        )


def _as_function(scorer):
    """A plain function that calls the scorer: `cross_validate` passes the weights of rows to plain functions only."""
    return lambda model, *given, **options: scorer(model, *given, **options)


def _best_index(refit, name, results):
    if not callable(refit):
        return results[f"rank_test_{name}"].argmin()
    best = refit(results)
    if not isinstance(best, Integral):
        raise TypeError(f"best_index_ returned is not an integer: refit returned {described(best)}")
    if not 0 <= best < len(results["params"]):
        raise IndexError(f"best_index_ index out of range: refit returned {best} for {len(results['params'])} settings")
    return best


def _column(values, settings):
    """A parameter's values, {number of a setting: value}, as scikit-learn's masked array with an entry per setting."""
    try:
        array = np.array(list(values.values()))
        kind = array.dtype if array.ndim == 1 and array.dtype.kind != "U" else object
    except ValueError:
        kind = object
    column = np.ma.MaskedArray(np.empty(len(settings), kind), mask=True)
    for i, value in values.items():
        column[i] = value
    return column


def _results(settings, measured, error_score):
    """The dict `cv_results_` of scikit-learn for all settings, from the CrossValidation of each setting."""
    results = {}
    # if all fits of a setting have failed, the names of the scores that a scoring function would give are unknown
    most = max(measured, key=lambda result: (len(result), "test_score" not in result))
    keys = [key for key in most if key.startswith(("test_", "train_"))]
    missing = np.full(len(most["fit_time"]), error_score if isinstance(error_score, Real) else np.nan)
    figures = {
        key: np.array([result.get(key, missing) for result in measured], float)
        for key in ("fit_time", "score_time", *keys)
    }
    for key in ("fit_time", "score_time"):
        results[f"mean_{key}"], results[f"std_{key}"] = figures[key].mean(axis=1), deviation(figures[key])
    for name in dict.fromkeys(name for setting in settings for name in setting):
        values = {i: setting[name] for i, setting in enumerate(settings) if name in setting}
        results[f"param_{name}"] = _column(values, settings)
    results["params"] = settings
    # in scikit-learn's order of keys, the test scores of each scorer come before its train scores
    for key in sorted(keys, key=lambda key: keys.index(f"test_{key.partition('_')[2]}")):
        values = figures[key]
        results |= {f"split{i}_{key}": column for i, column in enumerate(values.T)}
        mean = results[f"mean_{key}"] = values.mean(axis=1)
        results[f"std_{key}"] = deviation(values)
        if not np.isfinite(mean).all():
            warn(f"One or more of the {key.partition('_')[0]} scores are non-finite: {mean}")
        if key.startswith("test_"):
            known = np.nan_to_num(mean, nan=-np.inf, neginf=-np.inf)
            ranks = 1 + np.count_nonzero(known > known[:, None], axis=1)
            results[f"rank_{key}"] = ranks.astype(np.int32)
    return results


class GridSearchCV(_Search):
    """The best of all combinations of parameters by cross-validation, fitted to all rows.

    Along one parameter of a grid the work of a fold is shared, as in :func:`tune`, with the scores of separate fits.

    Parameters
    ----------
    estimator : estimator
        An object with ``fit`` and ``get_params``, of any library; it is cloned.
    param_grid : dict of str to list, or list of dicts
        Values for each parameter; every combination of a dict is tried.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in :func:`cross_validate`; None: the estimator's `score`.
    n_jobs : int or None, default=None
        Number of folds that are processed in parallel, as in :func:`cross_validate`.
    refit : bool, str or callable, default=True
        Whether to fit the best setting to all rows; of several scorers the name of the one that decides; or a function
        of `cv_results_` that returns the number of the best setting.
    cv : int, splitter, iterable or None, default=None
        The folds, as in :func:`cross_validate`.
    verbose : int, default=0
        1 shows progress.
    pre_dispatch : ignored
    error_score : float or 'raise', default=nan
        The score if a fit fails.
    return_train_score : bool, default=False
        Whether the train rows are scored, too.

    Attributes
    ----------
    cv_results_ : dict of arrays
        ``params``, ``param_<name>``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``split<i>_test_score``, times; with several scorers their names in place of ``score``.
    best_estimator_ : estimator
    best_score_ : float
        The mean test score of the best setting; of equally good ones the first.
    best_params_ : dict
    best_index_ : int
    scorer_ : callable, or dict of callables
    n_splits_ : int
    refit_time_ : float
        In seconds.
    multimetric_ : bool
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    See Also
    --------
    tune : the one-standard-error rule, and outer folds for an unbiased estimate of the error.

    Examples
    --------
    >>> from fastclf import GridSearchCV, KNeighborsClassifier
    >>> X, y = [[float(i)] for i in range(30)], [i // 15 for i in range(30)]
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 19]}, cv=3).fit(X, y)
    >>> search.best_params_, search.predict([[2.0]]).tolist()
    ({'n_neighbors': 1}, [0])
    """

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
    ):
        self._take(locals())

    def _settings(self):
        grids = ParameterGrid(self.param_grid).param_grid
        return candidates_of(self.estimator, as_grids(grids))


class RandomizedSearchCV(_Search):
    """The best of random settings of parameters by cross-validation, fitted to all rows.

    Parameters
    ----------
    estimator : estimator
        An object with ``fit`` and ``get_params``, of any library; it is cloned.
    param_distributions : dict of str to list, or list of dicts
        For each parameter a list of values, or an object with a method ``rvs``, such as SciPy's distributions.
    n_iter : int >= 1, default=10
        The number of settings; from lists, no setting is drawn twice.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in :func:`cross_validate`; None: the estimator's `score`.
    n_jobs : int or None, default=None
        Number of folds that are processed in parallel, as in :func:`cross_validate`.
    refit : bool, str or callable, default=True
        Whether to fit the best setting to all rows; of several scorers the name of the one that decides; or a function
        of `cv_results_` that returns the number of the best setting.
    cv : int, splitter, iterable or None, default=None
        The folds, as in :func:`cross_validate`.
    verbose : int, default=0
        1 shows progress.
    pre_dispatch : ignored
    random_state : int, RandomState or None, default=None
        Seed of the settings, which are scikit-learn's for the same seed.
    error_score : float or 'raise', default=nan
        The score if a fit fails.
    return_train_score : bool, default=False
        Whether the train rows are scored, too.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_
        As those of :class:`GridSearchCV`.
    multimetric_ : bool
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Examples
    --------
    >>> from fastclf import KNeighborsClassifier, RandomizedSearchCV
    >>> X, y = [[float(i)] for i in range(30)], [i // 15 for i in range(30)]
    >>> grid = {"n_neighbors": range(1, 9), "weights": ["uniform", "distance"]}
    >>> search = RandomizedSearchCV(KNeighborsClassifier(), grid, n_iter=4, random_state=0, cv=3).fit(X, y)
    >>> len(search.cv_results_["params"])
    4
    """

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
    ):
        self._take(locals())

    def _settings(self):
        sampler = ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state)
        require_memory(COMBINATION_BYTES * len(sampler), f"a search with n_iter={self.n_iter}")
        drawn = list(sampler)
        return candidates_of(self.estimator, [{name: [value] for name, value in each.items()} for each in drawn])
