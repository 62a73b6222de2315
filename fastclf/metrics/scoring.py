"""Scorers: metrics of a fitted model by scikit-learn's names; larger values are better."""

import contextlib
import sys
from collections.abc import Mapping
from numbers import Number
from typing import NamedTuple

import numpy as np

from .._described import described
from .._estimator import Classifier, Regressor, r_squared
from .._threads import distinct
from .areas import average_precision_score, roc_auc_score, top_k_accuracy_score
from .classification import class_likelihood_ratios
from .contingency import as_costs, contingency_table
from .probabilities import brier_score_loss, d2_brier_score, d2_log_loss_score, log_loss
from .ratios import jaccard_score
from .scorers import NAMED, MetricScorer, accepts_weight, get_scorer, get_scorer_names, refuse_metric


class Scorer(NamedTuple):
    """A metric of a fitted model on some rows; larger values are better.

    `kind` says which arguments `function` takes. "table": the ContingencyTable of all labels of the fit. "table of what
    occurs": the ContingencyTable of the labels that occur in these rows. "answers": (y, predictions). "probabilities"
    and "scores": (y, the model's probabilities or scores, the sorted labels). "call": (model, X, y). "own": there is no
    function; the model's method `score` is called.
    """

    kind: str
    function: object
    # a function by_row(y, predictions) for metrics that are the mean of its values over the rows; otherwise None
    by_row: object = None

    @property
    def wants_answers(self):
        return self.kind in ("table", "table of what occurs", "answers")


def _by_row(function):
    return Scorer("answers", lambda y, answers: float(np.mean(function(y, answers))), function)


def _by_answers(function):
    return Scorer("answers", function)


def _of_metric(made):
    """The Scorer that computes the metric of a MetricScorer from predictions."""

    def weighted(y, answers, sample_weight=None):
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return made._sign * made._score_func(y, answers, **made._kwargs, **weight)

    return _by_answers(weighted if accepts_weight(made) else lambda y, answers: weighted(y, answers))


def _averages(name):
    """Yield (name for users, Scorer) for each kind of average of a ContingencyTable's method `name`."""
    yield name, Scorer("table", lambda table: getattr(table, name)("binary"))
    for average in ("macro", "micro", "weighted"):
        scorer = Scorer("table of what occurs", lambda table, average=average: getattr(table, name)(average))
        yield f"{name}_{average}", scorer


def _of_probabilities(loss, sign=-1, **options):
    return Scorer("probabilities", lambda y, proba, labels, **w: sign * loss(y, proba, labels=labels, **options, **w))


def _of_second(area):
    """A Scorer of area(y, scores); with two labels, y is whether the row has the second label."""

    def function(y, scores, labels, **weight):
        return area(y == labels[-1], scores, **weight) if len(labels) == 2 else area(y, scores, **weight)

    return Scorer("scores", function)


def _jaccard(average):
    def function(y, answers):
        positive = {"pos_label": distinct(y)[-1]} if average == "binary" else {}
        return jaccard_score(y, answers, average=average, zero_division=0, **positive)

    return _by_answers(function)


def _likelihood_ratios(y, answers):
    return class_likelihood_ratios(y, answers, replace_undefined_by=1.0)


# The named scorers of predictions for which this module has no faster function.
_OF_ANSWERS = (
    "d2_absolute_error_score",
    "explained_variance",
    "neg_max_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_gamma_deviance",
    "neg_mean_poisson_deviance",
    "neg_mean_squared_log_error",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    *(f"{name}_samples" for name in ("f1", "jaccard", "precision", "recall")),
)

_SCORERS = {
    "accuracy": Scorer("table", lambda table: table.accuracy, np.equal),
    "balanced_accuracy": Scorer("table", lambda table: table.balanced_accuracy),
    "kappa": Scorer("table", lambda table: table.kappa),
    "matthews_corrcoef": Scorer("table", lambda table: table.mcc),
    **dict(pair for name in ("f1", "precision", "recall") for pair in _averages(name)),
    "jaccard": _jaccard("binary"),
    **{f"jaccard_{average}": _jaccard(average) for average in ("macro", "micro", "weighted")},
    "positive_likelihood_ratio": _by_answers(lambda y, answers: _likelihood_ratios(y, answers)[0]),
    "neg_negative_likelihood_ratio": _by_answers(lambda y, answers: -_likelihood_ratios(y, answers)[1]),
    "neg_log_loss": _of_probabilities(log_loss),
    "neg_brier_score": _of_probabilities(brier_score_loss),
    "d2_log_loss_score": _of_probabilities(d2_log_loss_score, 1),
    "d2_brier_score": _of_probabilities(d2_brier_score, 1),
    "roc_auc": _of_second(roc_auc_score),
    "average_precision": _of_second(average_precision_score),
    **{
        f"roc_auc_{way}{'' if average == 'macro' else f'_{average}'}": _of_probabilities(
            roc_auc_score, 1, multi_class=way, average=average
        )
        for way in ("ovr", "ovo")
        for average in ("macro", "weighted")
    },
    "top_k_accuracy": Scorer(
        "scores", lambda y, scores, labels, **w: top_k_accuracy_score(y, scores, labels=labels, **w)
    ),
    "r2": _by_answers(r_squared),
    "neg_mean_squared_error": _by_row(lambda y, answers: -np.square(y - answers)),
    "neg_mean_absolute_error": _by_row(lambda y, answers: -np.abs(y - answers)),
    **{name: _of_metric(each) for name, each in NAMED.items() if name in _OF_ANSWERS},
}


def cost_scorer(cost_matrix):
    """A value for `scoring`: minus the mean cost of the answers.

    Parameters
    ----------
    cost_matrix : array-like of shape (n_classes, n_classes)
        `cost_matrix[true, predicted]`, in the order of the sorted labels.

    Examples
    --------
    >>> from fastclf import GaussianNB, cost_scorer, cross_validate
    >>> X, y = [[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]], ["n", "n", "n", "p", "p", "p"]
    >>> result = cross_validate(GaussianNB(), X, y, cv=3, scoring=cost_scorer([[0, 1], [5, 0]]))
    >>> result["test_score"].tolist()
    [0.0, 0.0, 0.0]
    """
    return Scorer("table", lambda table: 0.0 - table.cost(as_costs(cost_matrix, len(table.labels))))


def as_scorers(scoring):
    """The argument `scoring` as a dict of names to Scorers; a single Scorer has the name "score"."""
    if isinstance(scoring, list | tuple | set) and not isinstance(scoring, Scorer):
        names = list(scoring)
        strings = all(isinstance(name, str) for name in names)
        if not names or not strings or len(set(names)) < len(names):
            what = "Empty list was given" if not names else "Duplicate elements" if strings else "Other elements"
            raise ValueError(f"The list/tuple elements must be unique strings of figures. {what}: scoring is {scoring}")
        scoring = {name: name for name in names}
    if isinstance(scoring, Mapping):
        if not scoring:
            raise ValueError("An empty dict was passed as scoring; one figure at least is wanted")
        return {name: _as_scorer(value) for name, value in scoring.items()}
    return {"score": _as_scorer(scoring)}


def _as_scorer(scoring):
    if isinstance(scoring, Scorer):
        return scoring
    if scoring is None:
        return Scorer("own", None)
    if isinstance(scoring, str):
        if scoring in _SCORERS:
            return _SCORERS[scoring]
        if scoring in get_scorer_names():  # the name of a scorer that only scikit-learn has
            return Scorer("call", get_scorer(scoring))
        raise ValueError(f"scoring is {scoring!r}; one of {', '.join(_SCORERS)} is wanted")
    if isinstance(scoring, MetricScorer) and _is_of_answers(scoring):
        return _of_metric(scoring)
    if callable(scoring):
        refuse_metric(scoring)
        return Scorer("call", scoring)
    raise TypeError(
        f"scoring is {described(scoring)}; a name, a function of (estimator, X, y), or a dict of these is wanted"
    )


def _is_of_answers(scorer):
    """Whether a MetricScorer needs only predictions, in an array, because its metric belongs to this package."""
    ours = str(getattr(scorer._score_func, "__module__", "")).startswith(__package__)
    return ours and scorer._response_method == "predict" and not hasattr(scorer, "_metadata_request")


def settled(scorers, estimator):
    """The scorers, where the `score` of the estimator is replaced by accuracy or R2, if it computes one of these.

    Accuracy and R2 need only predictions, which other scorers may have requested.
    """
    method = getattr(type(estimator), "score", None)
    usual = {Classifier.score: _SCORERS["accuracy"], Regressor.score: _SCORERS["r2"]}
    if "sklearn.base" in sys.modules:
        usual[sys.modules["sklearn.base"].ClassifierMixin.score] = _SCORERS["accuracy"]
    return {name: usual.get(method, s) if s.kind == "own" else s for name, s in scorers.items()}


def from_answers(scorers):
    """Whether predictions are all that these scorers need."""
    return all(scorer.wants_answers for scorer in scorers.values())


class Part(NamedTuple):
    """Rows for a fit or for a prediction."""

    X: object  # rows in a form that estimators take, such as an array or a table
    y: object  # the targets in a form that estimators take; None if the scored rows have none
    targets: np.ndarray | None  # y as an array; None if the scored rows have no y
    params: dict | None = None  # further arguments for a scorer that is the user's function


def judge_folds(scorers, y, tests, answers, labels):
    """{name: an array with the score of each fold}; `answers` are predictions for the test rows, fold after fold."""
    ends = np.cumsum([len(test) for test in tests])
    figures = {}
    by_fold = None
    for name, scorer in scorers.items():
        if scorer.by_row is not None:
            values = scorer.by_row(y[np.concatenate(tests)], answers)
            sums = np.add.reduceat(values, np.concatenate([[0], ends[:-1]]), dtype=float)
            figures[name] = sums / np.diff(ends, prepend=0)
        else:
            if by_fold is None:
                parts = [(Part(None, None, y[test]), answers[end - len(test) : end]) for test, end in zip(tests, ends)]
                by_fold = [judge(scorers, part, predictions, labels) for part, predictions in parts]
            figures[name] = np.array([scores[name] for scores in by_fold])
    return figures


def judge(scorers, part, answers, labels, model=None, otherwise=None):
    """{name: score} of one model on some rows; a dict from a scorer or `model.score` contributes its entries.

    `answers` are the model's predictions, or the exception that `predict` raised; None if no scorer needs them. The
    score of a scorer that fails is otherwise(error), which may raise an exception.
    """
    tables, figures = {}, {}
    for name, scorer in scorers.items():
        try:
            if scorer.wants_answers and isinstance(answers, Exception):
                raise answers
            value = _figure(scorer, part, answers, labels, model, tables)
        except Exception as error:
            if otherwise is None:
                raise
            value = otherwise(error)
        several = value if isinstance(value, Mapping) and scorer.kind in ("call", "own") else {name: value}
        figures |= {key: _as_number(figure, scorer) for key, figure in several.items()}
    return figures


def _figure(scorer, part, answers, labels, model, tables):
    """The score of a fitted model by one scorer; tables: a dict of ContingencyTables, which scorers share."""
    kind, function, _ = scorer
    if kind in ("table", "table of what occurs"):
        if kind not in tables:
            tables[kind] = contingency_table(part.targets, answers, labels=labels if kind == "table" else None)
        return function(tables[kind])
    if kind == "answers":
        return function(part.targets, answers)
    given = (part.X,) if part.y is None else (part.X, part.y)
    if kind == "own":
        return model.score(*given)
    if kind == "call":
        return function(model, *given, **part.params or {})
    return function(part.targets, *_scores(kind, model, part.X))


def figure_of(scorer, model, X, y, labels, params):
    """The score of a model on rows X with the array of labels y; `params` is empty or has the `sample_weight`."""
    kind, function, by_row = scorer
    if kind in ("own", "call"):
        value = (model.score if kind == "own" else function)(*(() if kind == "own" else (model,)), X, y, **params)
    elif kind in ("probabilities", "scores"):
        value = function(y, *_scores(kind, model, X), **params)
    elif kind == "answers":
        answers = model.predict(X)
        if params and by_row is None and accepts_weight(function):
            return _as_number(function(y, answers, **params), scorer)
        if params and by_row is None:
            raise ValueError(
                "this scoring takes no sample_weight; a function of (model, X, y, sample_weight) is wanted"
            )
        value = np.average(by_row(y, answers), weights=params["sample_weight"]) if params else function(y, answers)
    else:
        value = function(contingency_table(y, model.predict(X), labels=labels if kind == "table" else None, **params))
    return _as_number(value, scorer)


def _as_number(value, scorer):
    with contextlib.suppress(ValueError):
        value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, Number):
        raise ValueError(
            f"scoring must return a number, got {described(value)} ({type(value)}) instead. (scorer={scorer.function})"
        )
    return value


def _scores(kind, model, X):
    """The pair (the model's probabilities or scores of rows X, the labels of their columns)."""
    if kind == "scores" and hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    elif hasattr(model, "predict_proba"):
        scores = model.predict_proba(X)
    else:
        wanted = "predict_proba" if kind == "probabilities" else "decision_function or predict_proba"
        raise TypeError(f"scoring needs {wanted}, which {type(model).__name__} does not have")
    if kind == "scores" and np.ndim(scores) == 2 and np.shape(scores)[1] == 2:
        scores = np.asarray(scores)[:, 1]
    return scores, model.classes_
