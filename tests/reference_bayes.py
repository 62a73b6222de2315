"""Naive Bayes, slow and obvious: one loop over classes, whole columns at a time, in extended precision."""

import numpy as np
from sklearn.base import clone


def moments(X, y, weight=None):
    """(means, variances) for each class, in two reads."""
    X = np.asarray(X, np.longdouble)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, np.longdouble)
    means, variances = [], []
    for label in np.unique(y):
        rows, w = X[y == label], weight[y == label, None]
        mean = (w * rows).sum(axis=0) / w.sum()
        means.append(mean)
        variances.append((w * (rows - mean) ** 2).sum(axis=0) / w.sum())
    return np.array(means, float), np.array(variances, float)


def leave_one_out(model, X, y):
    """The label of each row by a fit to all others."""
    rows = np.arange(len(X))
    return np.array([model.fit(X[rows != i], y[rows != i]).predict(X[i : i + 1])[0] for i in rows])


def predict_folds(model, X, y, folds, weight, method):
    """The probabilities for each fold by a fit to the other folds; a class that is missing there has probability 0."""
    classes, answers = np.unique(y), [None] * len(y)
    absent = 0.0 if method == "predict_proba" else -np.inf
    for fold in np.unique(folds):
        out = folds == fold
        fitted = clone(model).fit(X[~out], y[~out], sample_weight=None if weight is None else weight[~out])
        found = getattr(fitted, method)(X[out])
        if found.ndim == 2:
            found, told = np.full((len(found), len(classes)), absent), found
            found[:, np.isin(classes, fitted.classes_)] = told
        for i, answer in zip(np.flatnonzero(out), found):
            answers[i] = answer
    return np.array(answers)


def log_joint(X, y, X_new, densities, priors):
    """log P(x, class), where densities[j](column of a class, value) is the log density in column j."""
    labels = np.unique(y)
    joint = np.log(np.tile(np.asarray(priors, float), (len(X_new), 1)))
    for i, row in enumerate(X_new):
        for k, label in enumerate(labels):
            for j, density in enumerate(densities):
                joint[i, k] += density([value for value, own in zip(X[:, j], y) if own == label], row[j])
    return joint
