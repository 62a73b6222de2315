"""Least squares on indicators, slow and obvious."""

import numpy as np


def targets(y):
    """+1 for a class and -1 for the others; for two classes a single column, for the second class."""
    classes = np.unique(y)
    T = np.where(np.asarray(y)[:, None] == classes, 1.0, -1.0)
    return T[:, 1:] if len(classes) == 2 else T


def fit(X, T, alpha=0.0, fit_intercept=True, weight=None):
    """(coef, intercept) with the least norm, by numpy.linalg.lstsq on [centred rows; sqrt(alpha) I]."""
    X = np.asarray(X, float)
    weight = np.ones(len(X)) if weight is None else weight
    mean, level = np.zeros(X.shape[1]), np.zeros(T.shape[1])
    if fit_intercept:
        mean, level = np.average(X, axis=0, weights=weight), np.average(T, axis=0, weights=weight)
    root = np.sqrt(weight)[:, None]
    rows = np.concatenate([(X - mean) * root, np.sqrt(alpha) * np.eye(X.shape[1])])
    right = np.concatenate([(T - level) * root, np.zeros((X.shape[1], T.shape[1]))])
    coef = np.linalg.lstsq(rows, right, rcond=None)[0].T
    return coef, level - coef @ mean


def leave_one_out(X, T, **parameters):
    """The scores of each row by a fit to all others."""
    scores = []
    weight = parameters.pop("weight", None)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        own = None if weight is None else weight[rest]
        coef, intercept = fit(X[rest], T[rest], weight=own, **parameters)
        scores.append(X[i] @ coef.T + intercept)
    return np.array(scores)
