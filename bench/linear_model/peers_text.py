"""Linear classifiers of texts with many classes, here and in scikit-learn: the time of a fit at the default parameters.

Answers agree if the accuracy on the rows that are left out is at most 0.01 below the other's; the perceptrons, which
stop after different epochs, may differ by 0.03.
"""

import warnings
from functools import partial
from importlib import import_module

import sweep
from comparison import Work, comparison


def fits(kind, their_module, allowed, scale, threads):
    """The Work of a fit to four fifths of 6412 texts of 55,197 words in 105 classes."""
    shape = {"kind": "text", "n": int(6412 * scale), "d": 55_197, "classes": 105, "noise": 0.05, "dtype": "float64"}
    X, y = sweep.make(shape | {"scaled": True, "skew": 0.0, "form": "plain", "seed": 7})
    half = len(y) * 4 // 5

    def fitting(module, **parameters):
        def fit(_):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return getattr(import_module(module), kind)(**parameters).fit(X[:half], y[:half])

        return lambda: fit

    def agree(ours, theirs):
        own, other = (models[0].score(X[half:], y[half:]) for models in (ours, theirs))
        return bool(own >= other - allowed), f"accuracy {own:.3f}, theirs {other:.3f}"

    return Work([X], fitting("fastclf", n_jobs=threads), {"sklearn": fitting(their_module)}, agree, items=1)


for kind, module, allowed, target in (
    ("LogisticRegression", "sklearn.linear_model", 0.01, 4),
    ("LinearSVC", "sklearn.svm", 0.01, 3),
    ("RidgeClassifier", "sklearn.linear_model", 0.01, 4),
    ("Perceptron", "sklearn.linear_model", 0.03, 1),
):
    comparison(f"{kind}, fit 5129 texts x 55197, 105 classes", sklearn=target)(partial(fits, kind, module, allowed))
