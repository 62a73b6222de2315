"""Scorers as scikit-learn makes them: functions of (estimator, X, y), made from metrics of labels or of scores."""

import inspect
import sys
from collections.abc import Mapping, Set
from functools import partial

import numpy as np

from .._estimator import Estimator
from .._exceptions import warn
from .._sklearn_bases import join, joins
from .._validation import as_label, as_list, described, require_choice, require_truth
from .areas import average_precision_score, roc_auc_score, top_k_accuracy_score
from .classification import accuracy_score, balanced_accuracy_score, class_likelihood_ratios, matthews_corrcoef
from .probabilities import brier_score_loss, d2_brier_score, d2_log_loss_score, log_loss
from .ratios import f1_score, jaccard_score, precision_score, recall_score
from .regression import (
    d2_absolute_error_score,
    explained_variance_score,
    max_error,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_squared_log_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
    root_mean_squared_log_error,
)

_METHODS = ("predict", "predict_proba", "decision_function")


def kind_of(estimator):
    """scikit-learn's name for the type of an estimator of any library, such as "classifier"; None if it has none."""
    if not isinstance(estimator, Estimator) and hasattr(estimator, "__sklearn_tags__"):
        return estimator.__sklearn_tags__().estimator_type
    return getattr(estimator, "_estimator_type", None)


def first_method(estimator, methods):
    """The name of the first of several methods that an estimator has."""
    methods = [methods] if isinstance(methods, str) else list(methods)
    found = next((method for method in methods if hasattr(estimator, method)), None)
    if found is None:
        raise AttributeError(
            f"{type(estimator).__name__} has none of the following attributes: {', '.join(methods)}; an estimator with"
            " one of them is wanted"
        )
    return found


def responses(estimator, X, methods, pos_label=None):
    """What the first of `methods` returns for rows X; of two classes, only the column of the positive class."""
    name = first_method(estimator, methods)
    method = getattr(estimator, name)
    if kind_of(estimator) != "classifier":
        return method(X)
    classes = estimator.classes_
    two = not isinstance(classes, list) and np.ndim(classes) == 1 and len(classes) <= 2
    pos_label = as_label(pos_label, "pos_label")
    if two and pos_label is not None and pos_label not in np.asarray(classes).tolist():
        raise ValueError(f"pos_label={pos_label} is not a valid label: It should be one of {classes}")
    found = method(X)
    if name.startswith("predict_") and isinstance(found, list):
        # for several labels per row, `found` has the probabilities of each label in an array of its own
        return np.column_stack([proba[:, -1] for proba in found])
    positive = classes[-1] if two and pos_label is None else pos_label
    if two and name.startswith("predict_"):
        if found.shape[1] < 2:
            raise ValueError(f"Got {name} of shape {found.shape}, but need classifier with two classes.")
        return found[:, np.flatnonzero(classes == positive)[0]]
    return -found if two and name == "decision_function" and positive == classes[0] else found


def refuse_params(owner, params):
    """Refuse further arguments of a method `score`, unless scikit-learn's metadata routing is enabled."""
    sklearn = sys.modules.get("sklearn")
    if params and not (sklearn and sklearn.get_config().get("enable_metadata_routing")):
        raise ValueError(
            f"Passing extra keyword arguments to {type(owner).__name__}.score is only supported if"
            f" enable_metadata_routing=True, which you can set using `sklearn.set_config`; these came: {sorted(params)}"
        )


def _uncached(estimator, method, X, pos_label):
    return responses(estimator, X, method, pos_label)


class _Base:
    """The base of scorers; if scikit-learn is loaded, its class of scorers becomes a base of them, too."""

    def __setstate__(self, state):
        join()
        vars(self).update(state)


def _scikit_learns():
    """scikit-learn's module of scorers, if it is loaded, or None."""
    return sys.modules.get("sklearn.metrics._scorer")


@joins("_Scorer", "sklearn.metrics._scorer")
class MetricScorer(_Base):
    """A function of (estimator, X, y) that computes a metric; see :func:`make_scorer`.

    The attributes have scikit-learn's names, as its functions read them.
    """

    def __init__(self, score_func, sign, kwargs, response_method="predict"):
        join()
        self._score_func, self._sign, self._kwargs, self._response_method = score_func, sign, kwargs, response_method

    def _get_pos_label(self):
        known = inspect.signature(self._score_func).parameters
        return self._kwargs.get("pos_label", known["pos_label"].default if "pos_label" in known else None)

    def _accept_sample_weight(self):
        return "sample_weight" in inspect.signature(self._score_func).parameters

    def __repr__(self):
        function = self._score_func
        name = repr(function) if isinstance(function, partial) else function.__name__
        sign = "" if self._sign > 0 else ", greater_is_better=False"
        more = "".join(f", {key}={value}" for key, value in self._kwargs.items())
        return f"make_scorer({name}{sign}, response_method={self._response_method!r}{more})"

    def __call__(self, estimator, X, y_true, *, sample_weight=None, **kwargs):
        refuse_params(self, kwargs)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._score(_uncached, estimator, X, y_true, **kwargs, **weight)

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        both = self._kwargs.keys() & kwargs.keys()
        if both:
            warn(
                "There is an overlap between set kwargs of this scorer instance and passed metadata. Please pass them"
                " either as kwargs to `make_scorer` or metadata, but not both. Overlapping parameters are:"
                f" {both}"
            )
        positive = None if kind_of(estimator) == "regressor" else self._get_pos_label()
        method = first_method(estimator, self._response_method)
        found = method_caller(estimator, method, X, pos_label=positive)
        return self._sign * self._score_func(y_true, found, **{**self._kwargs, **kwargs})


def make_scorer(score_func, *, response_method="predict", greater_is_better=True, **kwargs):
    """A value for `scoring`: a function of (estimator, X, y), from a metric.

    Parameters
    ----------
    score_func : callable
        ``score_func(y, answers, **kwargs)``.
    response_method : {"predict", "predict_proba", "decision_function"} or list of str, default="predict"
        The method of the estimator that gives the answers; of a list the first that the estimator has. Of two classes
        only the column of the positive one is passed: of `pos_label`, if it is an argument of the metric, else the
        second.
    greater_is_better : bool, default=True
        Whether larger values are better; otherwise the sign is changed.
    kwargs : object
        Further arguments of `score_func`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from fastclf import GaussianNB, cross_val_score, fbeta_score, make_scorer
    >>> X, y = [[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]], [0, 0, 0, 1, 1, 1]
    >>> cross_val_score(GaussianNB(), X, y, cv=3, scoring=make_scorer(fbeta_score, beta=2)).tolist()
    [1.0, 1.0, 1.0]
    """
    if not callable(score_func):
        raise TypeError(f"score_func is {described(score_func)}; a function of (y_true, predictions) is wanted")
    if isinstance(response_method, str):
        require_choice("response_method", response_method, _METHODS)
    elif not isinstance(response_method, (list, tuple)):
        raise TypeError(f"response_method is {described(response_method)}; the name of a method or a list is wanted")
    return MetricScorer(
        score_func, 1 if require_truth("greater_is_better", greater_is_better) else -1, kwargs, response_method
    )


def positive_likelihood_ratio(y_true, y_pred):
    return class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[0]


def negative_likelihood_ratio(y_true, y_pred):
    return class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[1]


_SCORES = ("decision_function", "predict_proba")


def _named():
    """A dict of the scorers, MetricScorer objects; its keys are scikit-learn's names."""
    gains = {
        "explained_variance": explained_variance_score,
        "r2": r2_score,
        "d2_absolute_error_score": d2_absolute_error_score,
        "accuracy": accuracy_score,
        "balanced_accuracy": balanced_accuracy_score,
        "matthews_corrcoef": matthews_corrcoef,
        "positive_likelihood_ratio": positive_likelihood_ratio,
    }
    losses = {
        "neg_max_error": max_error,
        "neg_median_absolute_error": median_absolute_error,
        "neg_mean_absolute_error": mean_absolute_error,
        "neg_mean_absolute_percentage_error": mean_absolute_percentage_error,
        "neg_mean_squared_error": mean_squared_error,
        "neg_mean_squared_log_error": mean_squared_log_error,
        "neg_root_mean_squared_error": root_mean_squared_error,
        "neg_root_mean_squared_log_error": root_mean_squared_log_error,
        "neg_mean_poisson_deviance": mean_poisson_deviance,
        "neg_mean_gamma_deviance": mean_gamma_deviance,
        "neg_negative_likelihood_ratio": negative_likelihood_ratio,
    }
    made = {name: make_scorer(function) for name, function in gains.items()}
    made |= {name: make_scorer(function, greater_is_better=False) for name, function in losses.items()}
    by_proba = {"neg_log_loss": (log_loss, False), "neg_brier_score": (brier_score_loss, False)}
    by_proba |= {"d2_log_loss_score": (d2_log_loss_score, True), "d2_brier_score": (d2_brier_score, True)}
    for name, (function, greater) in by_proba.items():
        made[name] = make_scorer(function, response_method="predict_proba", greater_is_better=greater)
    by_score = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
    for name, function in (by_score | {"top_k_accuracy": top_k_accuracy_score}).items():
        made[name] = make_scorer(function, response_method=_SCORES)
    for way in ("ovr", "ovo"):
        made[f"roc_auc_{way}"] = make_scorer(roc_auc_score, response_method="predict_proba", multi_class=way)
        made[f"roc_auc_{way}_weighted"] = make_scorer(
            roc_auc_score, response_method="predict_proba", multi_class=way, average="weighted"
        )
    ratios = {"precision": precision_score, "recall": recall_score, "f1": f1_score, "jaccard": jaccard_score}
    for name, function in ratios.items():
        made[name] = make_scorer(function, average="binary")
        for average in ("macro", "micro", "samples", "weighted"):
            made[f"{name}_{average}"] = make_scorer(function, pos_label=None, average=average)
    return made


NAMED = _named()


def get_scorer(scoring):
    """The scorer with a name: a function of (estimator, X, y, sample_weight=None).

    Parameters
    ----------
    scoring : str or callable
        One of :func:`get_scorer_names`; a function is returned as it is.

    Returns
    -------
    callable

    Examples
    --------
    >>> from fastclf import GaussianNB, get_scorer
    >>> X, y = [[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1]
    >>> get_scorer("roc_auc")(GaussianNB().fit(X, y), X, y)
    1.0
    """
    if not isinstance(scoring, str):
        if not callable(scoring):
            raise TypeError(f"scoring is {described(scoring)}; a name or a function of (estimator, X, y) is wanted")
        return scoring
    if scoring not in NAMED:
        # scorers that this package lacks, such as those of clusterings, are scikit-learn's
        if _scikit_learns() and scoring in _scikit_learns()._SCORERS:
            return _scikit_learns().get_scorer(scoring)
        raise ValueError(f"{scoring!r} is not a valid scoring value. get_scorer_names() tells the valid names")
    # a copy, because a user may set metadata requests of a scorer, which must not change the named scorer
    named = NAMED[scoring]
    return MetricScorer(named._score_func, named._sign, dict(named._kwargs), named._response_method)


def get_scorer_names():
    """The names that :func:`get_scorer` takes, sorted; if scikit-learn is loaded, with its others.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from fastclf import get_scorer_names
    >>> "neg_log_loss" in get_scorer_names()
    True
    """
    return sorted({*NAMED, *(_scikit_learns()._SCORERS if _scikit_learns() else ())})


@joins("_PassthroughScorer", "sklearn.metrics._scorer")
class OwnScore(_Base):
    """A scorer that calls the estimator's method `score`."""

    def __init__(self, estimator):
        join()
        self._estimator = estimator

    def __call__(self, estimator, *args, **kwargs):
        return estimator.score(*args, **kwargs)

    def __repr__(self):
        return f"{type(self._estimator).__name__}.score"

    def _accept_sample_weight(self):
        return "sample_weight" in inspect.signature(self._estimator.score).parameters


@joins("_MultimetricScorer", "sklearn.metrics._scorer")
class SeveralScorers(_Base):
    """A scorer that returns a dict with the value of each of several scorers, which share the model's answers."""

    def __init__(self, scorers, raise_exc=True):
        join()
        self._scorers, self._raise_exc = scorers, raise_exc

    def __call__(self, estimator, X, y=None, **kwargs):
        found, scores = {}, {}

        def once(model, method, rows, pos_label):
            if method not in found:
                found[method] = responses(model, rows, method, pos_label)
            return found[method]

        for name, scorer in self._scorers.items():
            left_out = () if accepts_weight(scorer) else ("sample_weight",)
            options = {key: value for key, value in kwargs.items() if key not in left_out and value is not None}
            given = (X,) if y is None else (X, y)
            try:
                made = isinstance(scorer, MetricScorer)
                scores[name] = (partial(scorer._score, once) if made else scorer)(estimator, *given, **options)
            except Exception:
                if self._raise_exc:
                    raise
                import traceback

                scores[name] = traceback.format_exc()
        return scores

    def __repr__(self):
        names = ", ".join(f'"{name}"' for name in self._scorers)
        return f"MultiMetricScorer({names})"

    def _accept_sample_weight(self):
        return any(map(accepts_weight, self._scorers.values()))


def accepts_weight(scorer):
    """Whether a scorer takes the argument `sample_weight`."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    return "sample_weight" in inspect.signature(scorer).parameters


def check_scoring(estimator=None, scoring=None, *, allow_none=False, raise_exc=True):
    """The argument `scoring` as a function of (estimator, X, y).

    Parameters
    ----------
    estimator : estimator, default=None
        Only needed without `scoring`: its method `score` is the scorer.
    scoring : str, callable, list, tuple, set, dict or None, default=None
        A name, a scorer, or several of them.
    allow_none : bool, default=False
        Whether the result is None, if there is neither `scoring` nor ``estimator.score``; otherwise that is an error.
    raise_exc : bool, default=True
        For several scorers: whether an error is raised; otherwise its text takes the place of the score.

    Returns
    -------
    callable
        For several scorers, it returns a dict.

    Examples
    --------
    >>> from fastclf import GaussianNB, check_scoring
    >>> X, y = [[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1]
    >>> check_scoring(scoring=["accuracy", "f1"])(GaussianNB().fit(X, y), X, y)
    {'accuracy': 1.0, 'f1': 1.0}
    """
    if estimator is not None and not hasattr(estimator, "fit"):
        raise TypeError(f"estimator is {described(estimator)}; an estimator with a fit method is wanted")
    if isinstance(scoring, (list, tuple, set, Mapping)):
        return SeveralScorers(scorers_of(estimator, scoring), require_truth("raise_exc", raise_exc))
    if scoring is not None:
        refuse_metric(scoring)
        return get_scorer(scoring)
    if hasattr(estimator, "score"):
        return OwnScore(estimator)
    if require_truth("allow_none", allow_none):
        return None
    raise TypeError(
        "If no scoring is specified, the estimator passed should have a 'score' method. The estimator"
        f" {estimator!r} does not."
    )


def refuse_metric(scoring):
    """Refuse a metric, of this package or scikit-learn's, where a scorer is wanted."""
    module = str(getattr(scoring, "__module__", None))
    theirs = module.startswith("sklearn.metrics.") and not module.startswith(
        ("sklearn.metrics._scorer", "sklearn.metrics.tests.")
    )
    if theirs or (module.startswith("fastclf.metrics.") and inspect.isfunction(scoring)):
        raise ValueError(
            f"scoring value {scoring!r} looks like it is a metric function rather than a scorer. A scorer should"
            " require an estimator as its first parameter. Please use `make_scorer` to convert a metric to a scorer"
        )


def scorers_of(estimator, scoring):
    """{name: scorer} for several values of `scoring`, in a dict or, as names, in a list."""
    if isinstance(scoring, Mapping):
        if not scoring:
            raise ValueError(f"An empty dict was passed as scoring: {scoring!r}; one scorer at least is wanted")
        if not all(isinstance(name, str) for name in scoring):
            raise ValueError(f"Non-string types were found in the keys of the given dict. scoring={scoring!r}")
        return {name: check_scoring(estimator, scorer) for name, scorer in scoring.items()}
    names = as_list(list(scoring) if isinstance(scoring, Set) else scoring, "scoring")
    wanted = "The list/tuple elements must be unique strings of predefined scorers."
    if not names:
        raise ValueError(f"{wanted} Empty list was given. {scoring!r}")
    if any(callable(name) for name in names):
        raise ValueError(
            f"{wanted} One or more of the elements were callables. Use a dict of score name mapped to the scorer"
            f" callable. Got {scoring!r}"
        )
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{wanted} Non-string types were found in the given list. Got {scoring!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"{wanted} Duplicate elements were found in the given list. {scoring!r}")
    return {name: get_scorer(name) for name in names}
