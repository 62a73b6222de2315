"""An estimator for each value of a parameter, fitted for the price of few where it knows a way; see `Estimator`."""

import copy

import numpy as np

from .._estimator import Estimator, clone, fit_each, has_shortcuts, variants
from .._threads import n_threads


class Failed:
    """Stands for a model whose fit has failed."""

    def __init__(self, error):
        self.error = error


class Candidates:
    """An estimator with each of some values of a parameter; without a name there is one, the estimator as it is.

    `shortcuts` is whether models may be fitted, and asked, together.
    """

    def __init__(self, estimator, name=None, values=(None,), shortcuts=True):
        self.estimator, self.name, self.values = estimator, name, list(values)
        self.shortcuts = shortcuts and has_shortcuts(estimator)

    def sharing(self, threads):
        """The same for one of `threads` folds that are measured at a time, each with its part of the CPUs."""
        if not isinstance(self.estimator, Estimator) or getattr(self.estimator, "n_jobs", 1) is not None:
            return self
        shared = copy.copy(self)
        shared.estimator = clone(self.estimator).set_params(n_jobs=max(1, n_threads() // threads))
        return shared

    def fit(self, X, y, params, shared=None, failing=False):
        """A fitted model for each value, or a Failed if `failing`.

        `params` are further arguments of `fit`, and `shared` what `shared_columns` has made for these rows.
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
            # as scikit-learn does, where there are no targets none are given
            model.fit(X, **params or {}) if y is None else model.fit(X, y, **params or {})
            return model
        except Exception as error:
            if not failing:
                raise
            return Failed(error)

    def answers(self, models, X):
        """What each model predicts."""
        if self.shortcuts:
            return self.estimator._predict_path(models, X)
        return [model.predict(X) for model in models]

    def all_answers(self, X, y, folds):
        """For each value the predictions for the test rows of fold 0, of fold 1, ..., each by a model without them.

        None means that the estimator knows no shorter way than fits.
        """
        if not self.shortcuts or folds.pairs is not None:
            return None
        found = []
        for fold in folds.partitions:
            answers = self.estimator._answers_without(self.name, self.values, X, y, fold)
            if answers is None:
                return None
            order = np.argsort(fold, kind="stable")
            found.append([own[order] for own in answers])
        return [np.concatenate(own) for own in zip(*found)]


def shared_columns(candidates, X, threads):
    """What the fits of each of some Candidates to rows of X have in common, made once for all that can share it."""
    ways = {own: type(own.estimator)._shared_columns for own in candidates if own.shortcuts}
    made = {}
    for own, way in ways.items():
        if made.get(way) is None:
            made[way] = own.estimator._shared_columns(X, threads)
    return {own: made[way] for own, way in ways.items() if made[way] is not None}
