"""Classifiers of two classes that predict by another threshold of the score: a given one, or the best for a metric."""

from numbers import Integral, Real

import numpy as np

from .._estimator import Classifier, clone, only_if
from .._exceptions import not_fitted_error
from .._state_table import Size, Value, declare, has, where
from .._validation import (
    as_float64,
    as_list,
    described,
    require_choice,
    require_integer,
    require_memory,
    require_number,
    require_truth,
)
from ..metrics.scorers import MetricScorer, check_scoring, first_method, responses
from ..metrics.targets import as_targets, target_kind
from .candidates import Candidates
from .drawn_splits import StratifiedShuffleSplit
from .evaluation import Evaluation, Request, check_estimator
from .folds import check_cv

_SCORES = ("predict_proba", "decision_function")

# The number of bytes that a threshold and its score take, as numbers of Python and in arrays.
_THRESHOLD_BYTES = 100


def _delegated(name):
    """A condition for `only_if`: the fitted estimator or, before `fit`, the given one has the method `name`."""
    return only_if(lambda model: hasattr(vars(model).get("estimator_", model.estimator), name))


def _labels_above(score, threshold, classes, positive):
    """The labels of scores: the positive class, by default the second of two, for scores of at least `threshold`."""
    second = classes[1] if positive is None else positive
    other = classes[0] if second == classes[1] else classes[1]
    place = np.array([np.flatnonzero(classes == other)[0], np.flatnonzero(classes == second)[0]])
    return classes[place[(score >= threshold).astype(np.intp)]]


class _Threshold(Classifier):
    """The base of binary classifiers that choose their own threshold; a subclass has `_fit`, for fitted attributes."""

    # the attribute that marks a fitted object; n_features_in_ does not, because an estimator of another library may
    # lack it
    _mark_of_fit = "estimator_"
    _can_be_saved = False  # `save` refuses this object; the fitted estimator that it holds can be saved

    _state_table = declare(**where(has("n_features_in_"), n_features_in_=Size("n_features")))

    def __sklearn_tags__(self):
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _sk_visual_block_(self):
        from sklearn.utils._repr_html.estimator import _VisualBlock

        inner = vars(self).get("estimator_", self.estimator)
        return _VisualBlock(
            "serial", [inner], names=[type(inner).__name__], name_details=[str(inner)], dash_wrapped=False
        )

    @property
    def classes_(self):
        """The two sorted labels."""
        model = vars(self).get("estimator_", self.estimator)
        if not hasattr(model, "classes_"):
            raise AttributeError("The underlying estimator is not fitted yet.")
        return model.classes_

    def _methods(self):
        """The methods of the estimator that may score the positive class, by name, in the order of preference."""
        require_choice("response_method", self.response_method, ("auto", *_SCORES))
        return _SCORES if self.response_method == "auto" else (self.response_method,)

    def fit(self, X, y, **params):
        """Fit the estimator, and choose the threshold.

        Parameters
        ----------
        X : array-like, as for the estimator
        y : array-like of shape (n_samples,)
            Labels of two classes.
        **params : further arguments of the estimator's `fit`

        Returns
        -------
        self
        """
        check_estimator(self.estimator)
        first_method(self.estimator, self._methods())
        kind = target_kind(as_targets(y, "y"))
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. Unknown label type: {kind}")
        found = self._fit(X, y, dict(params))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(found["estimator_"], name):
                found[name] = getattr(found["estimator_"], name)
        for name in [name for name in vars(self) if name.endswith("_")]:
            del vars(self)[name]
        vars(self).update(found)
        return self

    def _fitted(self):
        """The fitted estimator; before `fit`, the estimator that was passed, if it is fitted."""
        model = vars(self).get("estimator_", self.estimator)
        if not hasattr(model, "classes_"):
            raise not_fitted_error(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before"
                " using this estimator."
            )
        return model

    def _score(self, X, positive):
        """The scores that the fitted estimator gives the rows X for the positive class."""
        model = self._fitted()
        if len(model.classes_) != 2:
            raise ValueError(
                f"Expected 'estimator' to be a binary classifier. Got {len(model.classes_)} classes instead."
            )
        return responses(model, X, self._methods(), positive)

    @_delegated("predict_proba")
    def predict_proba(self, X):
        """The probabilities of the estimator."""
        return self._fitted().predict_proba(X)

    @_delegated("predict_log_proba")
    def predict_log_proba(self, X):
        """The logarithms of the probabilities of the estimator."""
        return self._fitted().predict_log_proba(X)

    @_delegated("decision_function")
    def decision_function(self, X):
        """The scores of the estimator."""
        return self._fitted().decision_function(X)


class FixedThresholdClassifier(_Threshold):
    """A classifier of two classes that predicts the positive one where its score is at least a given threshold.

    Parameters
    ----------
    estimator : estimator
        It has `predict_proba` or `decision_function`. A clone
        of it is fitted; without a call of `fit`, a fitted estimator is used as it is.
    threshold : float or 'auto', default='auto'
        'auto': 0.5 for probabilities, 0 for other scores.
    pos_label : label, default=None
        The positive class; None: the second of the sorted labels.
    response_method : {'auto', 'predict_proba', 'decision_function'}, default='auto'
        The method that gives the score; 'auto': probabilities, if the estimator has them.

    Attributes
    ----------
    estimator_ : estimator
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Examples
    --------
    >>> from fastclf import FixedThresholdClassifier, GaussianNB
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> FixedThresholdClassifier(GaussianNB(), threshold=0.01).fit(X, y).predict([[0.9], [1.4]]).tolist()
    [0, 1]
    """

    def __init__(self, estimator, *, threshold="auto", pos_label=None, response_method="auto"):
        self._take(locals())

    def get_metadata_routing(self):
        """What scikit-learn's metadata routing asks of the estimator."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        mapping = MethodMapping().add(callee="fit", caller="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def _fit(self, X, y, params):
        return {"estimator_": clone(self.estimator).fit(X, y, **params)}

    def predict(self, X):
        """The label of each row, by the threshold."""
        score, threshold = self._score(X, self.pos_label), self.threshold
        if isinstance(threshold, str):
            require_choice("threshold", threshold, ("auto",))
            threshold = 0.5 if first_method(self._fitted(), self._methods()) == "predict_proba" else 0.0
        return _labels_above(score, require_number("threshold", threshold, -np.inf), self.classes_, self.pos_label)


class TunedThresholdClassifierCV(_Threshold):
    """A classifier of two classes whose threshold is the best one for a metric, by cross-validation.

    Parameters
    ----------
    estimator : estimator
        It has `predict_proba` or `decision_function`. A clone of it is fitted.
    scoring : str or callable, default='balanced_accuracy'
        The metric: a name or the result of :func:`make_scorer`, of predicted labels.
    response_method : {'auto', 'predict_proba', 'decision_function'}, default='auto'
        The method that gives the score; 'auto': probabilities, if the estimator has them.
    thresholds : int >= 1 or array-like of shape (n_thresholds,), default=100
        The number of thresholds, between the smallest and the largest score of the test rows, or the thresholds.
    cv : int, float in (0, 1), splitter, iterable, 'prefit' or None, default=None
        The folds; a share of test rows; or 'prefit': the estimator is fitted, and the rows are for the choice alone.
    refit : bool, default=True
        Whether the estimator is fitted to all rows; otherwise, for a single fold, to its train rows.
    n_jobs : int or None, default=None
        Number of folds that are processed in parallel.
    random_state : int, RandomState or None, default=None
        Seed of the rows of a float `cv`.
    store_cv_results : bool, default=False
        Whether to keep `cv_results_`.

    Attributes
    ----------
    estimator_ : estimator
    best_threshold_ : float
    best_score_ : float
    cv_results_ : dict
        ``thresholds`` and their mean ``scores``, only with `store_cv_results`.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    The score of a threshold is interpolated between those of each fold. :func:`best_threshold` tries all thresholds.

    Examples
    --------
    >>> from fastclf import GaussianNB, TunedThresholdClassifierCV
    >>> X, y = [[float(i)] for i in range(40)], [int(i > 9) for i in range(40)]
    >>> model = TunedThresholdClassifierCV(GaussianNB(), cv=2).fit(X, y)
    >>> model.predict([[0.0], [30.0]]).tolist()
    [0, 1]
    """

    _state_table = declare(**where(has("best_threshold_"), best_threshold_=Value(require_number, -np.inf)))

    def __init__(
        self,
        estimator,
        *,
        scoring="balanced_accuracy",
        response_method="auto",
        thresholds=100,
        cv=None,
        refit=True,
        n_jobs=None,
        random_state=None,
        store_cv_results=False,
    ):
        self._take(locals())

    def get_metadata_routing(self):
        """What scikit-learn's metadata routing asks of the estimator, the splitter and the scorer."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        def mapping(callee):
            return MethodMapping().add(callee=callee, caller="fit")

        router = MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping("fit"))
        router.add(splitter=self.cv, method_mapping=mapping("split"))
        return router.add(scorer=self._scorer(), method_mapping=mapping("score"))

    def _scorer(self):
        scorer = check_scoring(self.estimator, self.scoring)
        if not hasattr(scorer, "_score_func"):
            raise TypeError(f"scoring is {described(self.scoring)}; a name or the result of make_scorer is wanted")
        return scorer

    @property
    def _curve_scorer(self):
        """The scorer, under the private name of scikit-learn's class by which converters of models ask for it."""
        return self._scorer()

    def _positive(self):
        return MetricScorer._get_pos_label(self._scorer())

    def _folds(self, y):
        """The splitter, after checks of `cv` and `refit`; None for cv='prefit', an estimator that is fitted already."""
        cv, refit = self.cv, require_truth("refit", self.refit)
        if isinstance(cv, str):
            require_choice("cv", cv, ("prefit",))
            if refit:
                raise ValueError("When cv='prefit', refit cannot be True.")
            if not hasattr(self.estimator, "classes_"):
                raise not_fitted_error("When cv='prefit', `estimator` must be fitted.")
            return None
        if isinstance(cv, Real) and not isinstance(cv, Integral) and 0 < cv < 1:
            return StratifiedShuffleSplit(n_splits=1, test_size=cv, random_state=self.random_state)
        cv = check_cv(cv, y, classifier=True)
        if not refit and cv.get_n_splits() > 1:
            raise ValueError("When cv has several folds, refit cannot be False.")
        return cv

    def _fit(self, X, y, params):
        scorer, splitter = self._scorer(), self._folds(y)
        if splitter is None:
            given, curves = self.estimator, [self._curve(scorer, self.estimator, X, y)]
        else:
            request = Request(X, y, splitter, params=params, groups=params.pop("groups", None), error_score="raise")
            evaluation, curves = Evaluation(request, [Candidates(self.estimator)]), []
            for i in range(len(evaluation.folds)):
                train, test = evaluation.folds[i]
                part, asked = evaluation.part(train), evaluation.part(test, train)
                given = clone(self.estimator).fit(part.X, part.y, **evaluation.fit_params(train))
                curves.append(self._curve(scorer, given, asked.X, asked.y))
            if self.refit:
                given = clone(self.estimator).fit(X, y, **params)
        return {"estimator_": given, **self._chosen(curves)}

    def _curve(self, scorer, model, X, y):
        """The thresholds to try, and for each of them the score of the labels that the model then gives the rows X."""
        positive, classes = self._positive(), model.classes_
        score = responses(model, X, self._methods(), positive)
        if isinstance(self.thresholds, Integral):
            n = require_integer("thresholds", self.thresholds, 1)
            require_memory(_THRESHOLD_BYTES * n, f"a curve of thresholds={n}")
            tried = np.linspace(score.min(), score.max(), n)
        else:
            tried = self._given()
        values = [
            scorer._sign * scorer._score_func(y, _labels_above(score, at, classes, positive), **scorer._kwargs)
            for at in tried
        ]
        return tried, np.array(values)

    def _given(self):
        """The user's list of thresholds as an array."""
        given = as_float64(as_list(self.thresholds, "thresholds"), "thresholds")
        if given.ndim != 1 or len(given) == 0:
            raise ValueError(f"thresholds is {described(self.thresholds)}; a number of thresholds or a list is wanted")
        return given

    def _chosen(self, curves):
        """The best threshold by mean score, and this score, by name; curves: (thresholds, scores) of each fold."""
        if any(np.isclose(tried[0], tried[-1]) for tried, _ in curves):
            raise ValueError(
                "The provided estimator makes constant predictions. Therefore, it is impossible to optimize the"
                " decision threshold."
            )
        low, high = min(tried.min() for tried, _ in curves), max(tried.max() for tried, _ in curves)
        of_all = isinstance(self.thresholds, Integral)
        thresholds = np.linspace(low, high, self.thresholds) if of_all else self._given()
        scores = np.mean([np.interp(thresholds, tried, values) for tried, values in curves], axis=0)
        best = scores.argmax()
        found = {"best_score_": scores[best], "best_threshold_": thresholds[best]}
        return found | ({"cv_results_": {"thresholds": thresholds, "scores": scores}} if self.store_cv_results else {})

    def predict(self, X):
        """The label of each row, by the best threshold."""
        if "best_threshold_" not in vars(self):
            raise not_fitted_error(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before"
                " using this estimator."
            )
        positive = self._positive()
        return _labels_above(self._score(X, positive), self.best_threshold_, self.classes_, positive)
