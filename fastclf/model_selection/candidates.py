"""Models of one estimator for several values of a parameter, fitted together if the estimator has a shortcut."""

import copy

import numpy as np

from .._described import described
from .._estimator import Estimator, clone, fit_each, has_shortcuts, variants
from .._threads import n_threads
from .._validation import require_truth


class Failed:
    """A placeholder for a model whose fit has failed."""

    def __init__(self, error):
        self.error = error


class Candidates:
    """An estimator with each of several values of the parameter `name`; if `name` is None, the estimator as it is.

    `shortcuts` tells whether the estimator's faster algorithms may fit the models, and predict by them, together.
    """

    def __init__(self, estimator, name=None, values=(None,), shortcuts=True):
        self.estimator, self.name, self.values = estimator, name, list(values)
        self.shortcuts = require_truth("shortcuts", shortcuts) and has_shortcuts(estimator)

    def sharing(self, threads):
        """The Candidates for use in one of `threads` parallel folds: the estimator gets a share of the CPUs."""
        if not isinstance(self.estimator, Estimator) or getattr(self.estimator, "n_jobs", 1) is not None:
            return self
        shared = copy.copy(self)
        shared.estimator = clone(self.estimator).set_params(n_jobs=max(1, n_threads() // threads))
        return shared

    def fit(self, X, y, params, shared=None, failing=False):
        """A fitted model for each value; if `failing`, a Failed in place of a model whose fit raises an exception.

        `params` are further arguments of `fit`; `shared` is the result of `shared_columns` for these rows.
        """
        try:
            if self.shortcuts and not params and not (self.name is None and shared is None):
                return fit_each(self.estimator, self.name, self.values, X, y, shared)
        except Exception:
            if not failing:
                raise
        return [self._fit_one(value, X, y, params, failing) for value in self.values]

    def _fit_one(self, value, X, y, params, failing):
        try:
            [model] = variants(self.estimator, self.name, [value])
            # as in scikit-learn, `fit` is called without y if there are no targets
            model.fit(X, **params or {}) if y is None else model.fit(X, y, **params or {})
            return model
        except Exception as error:
            if not failing:
                raise
            return Failed(error)

    def answers(self, models, X):
        """The predictions of each model."""
        if self.shortcuts:
            return self.estimator._predict_path(models, X)
        if not hasattr(models[0], "predict"):
            raise AttributeError(
                f"estimator is {described(self.estimator)}, which has no predict; one with it is wanted"
            )
        return [model.predict(X) for model in models]

    def all_answers(self, X, y, folds):
        """For each value, predictions for the test rows of fold 0, of fold 1, ..., by models fitted without these rows.

        None if the estimator has no shortcut for this.
        """
        if not self.shortcuts or folds.pairs is not None:
            return None
        found = []
        for fold in folds.partitions:
            answers = self.estimator._answers_without(self.name, self.values, X, y, fold)
            if answers is None:
                return None
            order = np.argsort(fold, kind="stable")
            found.append([predictions[order] for predictions in answers])
        return [np.concatenate(parts) for parts in zip(*found)]


def shared_columns(candidates, X, threads):
    """{Candidates: data of X that its fits share}, computed once for all estimators that can share the same data."""
    ways = {candidate: type(candidate.estimator)._shared_columns for candidate in candidates if candidate.shortcuts}
    made = {}
    for candidate, way in ways.items():
        if made.get(way) is None:
            made[way] = candidate.estimator._shared_columns(X, threads)
    return {candidate: made[way] for candidate, way in ways.items() if made[way] is not None}
