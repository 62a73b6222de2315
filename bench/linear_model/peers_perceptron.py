"""Perceptrons compared with scikit-learn's: the weights must be equal."""

import data
import numpy as np
from comparison import Work, comparison


def fits(kind, X, y, **parameters):
    """A call that fits and returns (coef_, intercept_)."""

    def prepare():
        def call(_):
            model = kind()(shuffle=False, tol=None, **parameters).fit(X, y)
            return model.coef_, model.intercept_

        return call

    return prepare


def ours():
    import fastclf

    return fastclf.Perceptron


def scikit_learn():
    from sklearn.linear_model import Perceptron

    return Perceptron


def same_weights(a, b):
    """Whether two hyperplanes are equal, up to rounding."""
    [(w, b0)], [(v, b1)] = a, b
    w, v = np.append(w, b0).astype(float), np.append(v, b1).astype(float)
    cosine = w @ v / np.linalg.norm(w) / np.linalg.norm(v)
    return cosine >= 1 - 1e-12, "equal bits" if np.array_equal(w, v) else f"cosine {cosine:.9f}"


def work(X, y, in_cache=True, **parameters):
    return Work(
        blocks=[None],
        ours=fits(ours, X, y, **parameters),
        peers={"sklearn": fits(scikit_learn, X, y, **parameters)},
        agree=same_weights,
        items=1,
        bytes_read=None if in_cache else X.nbytes * parameters["max_iter"],
    )


@comparison("perceptron 1M x 64 float64, 5 epochs", threads=(1,), share=0.7, sklearn=6)
def large(scale, threads):
    return work(*data.hyperplane(int(1_000_000 * scale), 64, "float64"), in_cache=False, max_iter=5)


@comparison("perceptron 1M x 64 float32, 5 epochs", threads=(1,), share=0.7, sklearn=10)
def large_float32(scale, threads):
    # The weights are float32 in scikit-learn and float64 here. Multiples of 1/16 are summed exactly in both types, so
    # that the libraries do the same work.
    X, y = data.hyperplane(int(1_000_000 * scale), 64, "float32")
    return work(np.round(16 * X) / 16, y, in_cache=False, max_iter=5)


@comparison("perceptron 10000 x 100 in cache, 200 epochs", threads=(1,), sklearn=5)
def in_cache(scale, threads):
    return work(*data.hyperplane(int(10_000 * scale), 100, "float64"), max_iter=200)


@comparison("perceptron a9a as CSR, 20 epochs", threads=(1,), sklearn=3)
def sparse(scale, threads):
    # There is no intercept, because scikit-learn moves it by a hundredth of the step on sparse rows.
    return work(*data.a9a(), max_iter=20, fit_intercept=False)
