"""Linear classifiers compared with those of other libraries; `python bench/peers.py` runs the comparison."""

from functools import partial
from importlib import import_module

import data
import numpy as np
from comparison import Work, comparison, refused_fallback, same_labels


def fit(module, kind, **parameters):
    """A call that fits `kind(**parameters)` of a module to (X, y) and returns the model."""
    with refused_fallback():
        cls = getattr(import_module(module), kind)
        cls(**parameters).fit(np.eye(4), [0, 0, 1, 1])
    return lambda block: cls(**parameters).fit(*block)


def same_numbers(name, rtol, ours, theirs):
    """Whether an attribute of the models is equal, relative to its largest number."""
    a, b = (np.stack([np.ravel(getattr(model, name)) for model in models]) for models in (ours, theirs))
    off = np.abs(a - b).max() / np.abs(b).max()
    return bool(off <= rtol), f"{name} {off:.0e} off"


def fitted(X, y, threads, kind, peers, name, **parameters):
    """The Work of fitting an estimator; each library's is given by (module, kind, parameters)."""
    ours = partial(fit, "fastclf", kind, n_jobs=threads, **parameters)
    known = {peer: partial(fit, *about[:2], **about[2]) for peer, about in peers.items()}
    return Work([(X, y)], ours, known, partial(same_numbers, name, 1e-5 if X.dtype == np.float32 else 1e-9), items=1)


@comparison("linear, least squares 1M x 64, float64", sklearn=8)
def least_squares(scale, threads, dtype="float64"):
    X, y = data.hyperplane(int(1_000_000 * scale), 64, dtype)
    peers = {"sklearn": ("sklearn.linear_model", "RidgeClassifier", {"alpha": 1.0})}
    return fitted(X, y, threads, "LeastSquaresClassifier", peers, "coef_", alpha=1.0)


@comparison("linear, least squares 1M x 64, float32", sklearn=8)
def least_squares_float32(scale, threads):
    return least_squares(scale, threads, "float32")


@comparison("linear, centroids 1M x 64, float64", sklearn=8)
def centroids(scale, threads, dtype="float64"):
    X, y = data.hyperplane(int(1_000_000 * scale), 64, dtype)
    peers = {"sklearn": ("sklearn.neighbors", "NearestCentroid", {})}
    return fitted(X, y, threads, "NearestCentroid", peers, "centroids_")


@comparison("linear, centroids 1M x 64, float32", sklearn=8)
def centroids_float32(scale, threads):
    return centroids(scale, threads, "float32")


def predicted(X, y, threads, blocks, calls=1):
    """The Work of predicting blocks of rows by least squares with a ridge penalty."""

    def prepare(module, kind, **parameters):
        return getattr(import_module(module), kind)(alpha=1.0, **parameters).fit(X, y).predict

    ours = partial(prepare, "fastclf", "LeastSquaresClassifier", n_jobs=threads)
    peers = {"sklearn": partial(prepare, "sklearn.linear_model", "RidgeClassifier")}
    return Work(blocks, ours, peers, same_labels, calls)


@comparison("linear, predict 1M x 64, float64", sklearn=1.5)
def predict(scale, threads, dtype="float64"):
    X, y = data.hyperplane(int(1_000_000 * scale), 64, dtype)
    return predicted(X[:10_000], y[:10_000], threads, [X])


@comparison("linear, predict 1M x 64, float32", sklearn=1.5)
def predict_float32(scale, threads):
    return predict(scale, threads, "float32")


@comparison("linear, predict 20000 x 94, 138 classes, float64", sklearn=1.5)
def predict_many(scale, threads, dtype="float64"):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(20_000 * scale), 94)).astype(dtype)
    return predicted(X, (X @ rng.standard_normal((94, 138))).argmax(axis=1), threads, [X])


@comparison("linear, predict 20000 x 94, 138 classes, float32", sklearn=1)
def predict_many_float32(scale, threads):
    return predict_many(scale, threads, "float32")


@comparison("linear, predict one row of 64", threads=(1,), sklearn=5)
def predict_row(scale, threads):
    X, y = data.hyperplane(10_000, 64)
    blocks = [X[i : i + 1] for i in range(1000)]
    return predicted(X, y, threads, blocks, calls=200)
