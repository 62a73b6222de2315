"""Every public estimator, fitted to a few rows, and its answers, for tests that hold for all estimators."""

import inspect

import numpy as np
from scipy.sparse import csr_array

import fastclf
from fastclf import TableClassifier
from fastclf._estimator import Estimator
from fastclf.table import Table

RNG = np.random.default_rng(3)
X = np.abs(RNG.integers(0, 4, (40, 3)) + RNG.random((40, 3)))
Y = np.where(X[:, 0] + X[:, 1] > 4, "yes", "no")
COLOURS = np.array(["red", "green", None, "blue"], dtype=object)[np.arange(40) % 4]
MIXED = Table([X[:, 0], COLOURS, np.where(X[:, 2] > 3, np.nan, X[:, 2])], ["age", "colour", "size"])
NEIGHBORS = fastclf.KNeighborsClassifier(3)
POLYNOMIALS = fastclf.PolynomialFeatures(include_bias=False)

NUMBERS, CLASSES = X[:, 0], np.arange(40) % 3

# Estimators that are not made and fitted by Name().fit(X, Y), with the data of their fits.
SPECIAL = {
    "BayesOptimalClassifier": (lambda: fastclf.BayesOptimalClassifier([fastclf.GaussianNB(), NEIGHBORS]), X, Y),
    "CostSensitiveClassifier": (lambda: fastclf.CostSensitiveClassifier(cost_matrix=[[0, 1], [3, 0]]), X, Y),
    "CategoricalNB": (fastclf.CategoricalNB, X.astype(int), Y),
    "KNeighborsRegressor": (fastclf.KNeighborsRegressor, X, NUMBERS),
    "KNeighborsTransformer": (fastclf.KNeighborsTransformer, X, None),
    "RadiusNeighborsClassifier": (lambda: fastclf.RadiusNeighborsClassifier(3.0), X, Y),
    "RadiusNeighborsRegressor": (lambda: fastclf.RadiusNeighborsRegressor(3.0), X, NUMBERS),
    "RadiusNeighborsTransformer": (lambda: fastclf.RadiusNeighborsTransformer(radius=2.0), X, None),
    "DecisionTreeRegressor": (fastclf.DecisionTreeRegressor, X, NUMBERS),
    "OneHotEncoder": (lambda: fastclf.OneHotEncoder(sparse_output=False), X.astype(int).astype(str), None),
    "RBFSampler": (lambda: fastclf.RBFSampler(n_components=8, random_state=0), X, None),
    "TableClassifier": (TableClassifier, MIXED, Y),
    "Nystroem": (lambda: fastclf.Nystroem(n_components=8, random_state=0), X, None),
}
MORE = {
    "knn, cells": (lambda: fastclf.KNeighborsClassifier(3, algorithm="cells"), X.astype(np.float32), Y),
    "knn, filter": (lambda: fastclf.KNeighborsClassifier(3, algorithm="filter"), X.astype(np.float32), Y),
    "knn, canberra": (lambda: fastclf.KNeighborsClassifier(3, metric="canberra"), X, Y),
    "knn, brute": (lambda: fastclf.KNeighborsClassifier(3, algorithm="brute", weights="distance"), X, Y, NUMBERS),
    "bayes, table": (lambda: TableClassifier(fastclf.NaiveBayes()), MIXED, Y),
    "bayes, cuts": (lambda: fastclf.NaiveBayes("mdl"), X, Y),
    "knn, table": (lambda: TableClassifier(fastclf.KNeighborsClassifier(), scale=True), MIXED, Y),
    "perceptron, classes": (lambda: fastclf.Perceptron(multi_class="joint"), X, CLASSES),
    "logistic, classes": (fastclf.LogisticRegression, X, CLASSES),
    "svc, classes": (lambda: fastclf.SVC(probability=True, random_state=0), X, CLASSES),
    "svc, sparse": (lambda: fastclf.SVC(kernel="linear"), csr_array(X * (X > 2)), Y),
    "nu svc, classes": (lambda: fastclf.NuSVC(nu=0.3, probability=True, random_state=0), X, CLASSES),
    "linear svc, l1": (lambda: fastclf.LinearSVC("l1", dual=False), csr_array(X * (X > 2)), CLASSES),
    "linear svc, joint": (lambda: fastclf.LinearSVC(multi_class="crammer_singer"), X, CLASSES),
    "nystroem, matrix": (lambda: fastclf.Nystroem("precomputed", n_components=3, random_state=0), X[:3], None),
    "linear svc, classes": (lambda: fastclf.LinearSVC(loss="hinge"), X, CLASSES),
    "tree, outputs": (fastclf.DecisionTreeClassifier, X, np.column_stack([Y, X[:, 0] > 2])),
    "tree, cut": (lambda: fastclf.DecisionTreeClassifier(ccp_alpha=0.02), np.where(X > 4.5, np.nan, X), Y),
    "quadratic": (lambda: fastclf.GeneralisedLinearClassifier(POLYNOMIALS, fastclf.LogisticRegression()), X, Y),
    "quadratic, table": (lambda: TableClassifier(fastclf.GeneralisedLinearClassifier()), MIXED, Y),
}


def estimators():
    """Name: (function that makes the estimator, its data)."""
    found = {}
    for name in fastclf.__all__:
        cls = getattr(fastclf, name)
        # searches and thresholds, which hold another estimator and results, are tested in model_selection
        if inspect.isclass(cls) and issubclass(cls, Estimator) and hasattr(cls, "fit") and cls._can_be_saved:
            found[name] = SPECIAL.get(name, (cls, X, Y))
    return found | MORE


ESTIMATORS = estimators()

# A dict {name: a function that returns the estimator, fitted to its data}.
FITTED = {name: lambda make=make, data=data: make().fit(*data) for name, (make, *data) in ESTIMATORS.items()}


def asked(model):
    """Rows to predict."""
    if isinstance(model, TableClassifier):
        return MIXED.rows(np.arange(12))
    if type(model).__name__ in ("CategoricalNB", "OneHotEncoder"):
        rows = X[:12].astype(int)
        return rows if type(model).__name__ == "CategoricalNB" else rows.astype(str)
    return X[:12]


def other_rows(data):
    """Half of the rows of a fit, and two columns if they are an array."""
    rows = np.arange(0, data[0].shape[0], 2)
    first, *more = [part.rows(rows) if hasattr(part, "rows") else None if part is None else part[rows] for part in data]
    return [first if hasattr(first, "rows") else first[:, :2], *more]


METHODS = ("predict", "predict_proba", "decision_function", "transform", "kneighbors", "score_samples", "apply")


def answer(model, method, rows=None):
    """The arrays in the result of a method, for these rows or those of `asked`."""
    answer = getattr(model, method)(asked(model) if rows is None else rows)
    return list(answer) if isinstance(answer, tuple) else [answer]


def answers(model):
    for method in METHODS:
        if hasattr(model, method):
            yield from answer(model, method)


def same(a, b):
    """Whether two values have the same types and the same bits, in all nested parts."""
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return all(map(same, a.flat, b.flat)) if a.dtype == object else a.tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if hasattr(a, "__dict__"):
        return same(a.__getstate__(), b.__getstate__())
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return a.hex() == b.hex() if isinstance(a, float) else a == b
