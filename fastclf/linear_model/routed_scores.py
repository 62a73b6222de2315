"""Estimators that cross-validate in `fit`, and scikit-learn's metadata routing to their splitters and scorers."""

import inspect
import sys

from .._sklearn_bases import join
from .scores import LinearClassifier


class RoutedScores(LinearClassifier):
    """A linear classifier with the parameters `cv` and `scoring`; scoring=None is the accuracy."""

    def _scoring(self):
        chosen = isinstance(self.scoring, str) and self.scoring == "warn"
        return "accuracy" if chosen or self.scoring is None else self.scoring

    def _get_scorer(self):
        """scikit-learn's scorer object for `scoring`, which metadata routing needs."""
        from sklearn.metrics import get_scorer

        return get_scorer(self._scoring())

    def get_metadata_routing(self):
        """scikit-learn's MetadataRouter for this estimator."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        # this adds scikit-learn's base classes to the estimators, if scikit-learn was imported after this package
        join()
        scores = MethodMapping().add(caller="fit", callee="score")
        if self._hands_on_score:
            scores.add(caller="score", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router.add(scorer=self._get_scorer(), method_mapping=scores)

    # Whether the estimator's method `score` passes its arguments on to the scorer.
    _hands_on_score = False

    def _routed(self, X, y, sample_weight, params):
        """The pair (cv, arguments of the scorer), by scikit-learn's metadata routing; (cv, None) if routing is off."""
        if not routes():
            refuse_params(params, self, "fit")
            return self.cv, None
        from sklearn.model_selection import check_cv
        from sklearn.utils.metadata_routing import process_routing

        given = params if sample_weight is None else params | {"sample_weight": sample_weight}
        routed = process_routing(self, "fit", **given)
        if not routed.splitter.split:
            return self.cv, routed.scorer.score
        return list(check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split)), routed.scorer.score


def routes():
    """Whether scikit-learn's metadata routing is switched on."""
    sklearn = sys.modules.get("sklearn")
    return sklearn is not None and bool(sklearn.get_config().get("enable_metadata_routing"))


def refuse_params(params, owner, method):
    if params:
        raise ValueError(
            f"Passing extra keyword arguments to {type(owner).__name__}.{method} is only supported if"
            " enable_metadata_routing=True, which you can set using"
            f" `sklearn.set_config(enable_metadata_routing=True)`; extra arguments are {sorted(params)}"
        )


def with_labels(scorer, classes):
    """The scorer with the labels of all rows as its `labels`, if it takes them; a fold may lack some labels."""
    from sklearn.metrics import make_scorer

    known = inspect.signature(scorer._score_func).parameters
    if "labels" not in known:
        return scorer
    positive = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in known else {}
    return make_scorer(
        scorer._score_func,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        labels=classes,
        **positive,
        **scorer._kwargs,
    )
