"""Many models for the price of few, where the estimator knows a way; see the shortcuts of `Estimator`."""

import copy

import numpy as np

from .._estimator import Estimator, clone, fit_each, has_shortcuts, variants
from .._threads import n_threads


class Group:
    """An estimator for each of some values of a parameter; name None: as it is.

    shortcuts=False fits every model by itself.
    """

    def __init__(self, estimator, name=None, values=(None,), shortcuts=True):
        self.estimator, self.name, self.values = estimator, name, list(values)
        self.shortcuts = shortcuts and has_shortcuts(estimator)

    def sharing(self, threads):
        """The same, one of so many that run at a time, on as many CPUs as fall to it."""
        if not isinstance(self.estimator, Estimator) or getattr(self.estimator, "n_jobs", 1) is not None:
            return self
        group = copy.copy(self)
        group.estimator = clone(self.estimator).set_params(n_jobs=max(1, n_threads() // threads))
        return group

    def fit(self, X, y, shared=None):
        """One fitted model for each value; shared: what `shared_columns` made, for these rows."""
        if self.shortcuts and not (self.name is None and shared is None):
            return fit_each(self.estimator, self.name, self.values, X, y, shared)
        return [model.fit(X, y) for model in variants(self.estimator, self.name, self.values)]

    def answers(self, models, X):
        """What each model predicts."""
        if self.shortcuts:
            return self.estimator._predict_path(models, X)
        return [model.predict(X) for model in models]

    def all_answers(self, X, y, folds):
        """What the models of each fold predict for its test rows: for each value n_test rows in all; or None."""
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


def shared_columns(groups, X, threads):
    """By group what its fits to rows of X have in common, if anything; made once for all groups that can share it."""
    ways = {group: type(group.estimator)._shared_columns for group in groups if group.shortcuts}
    made = {}
    for group, way in ways.items():
        if made.get(way) is None:
            made[way] = group.estimator._shared_columns(X, threads)
    return {group: made[way] for group, way in ways.items() if made[way] is not None}
