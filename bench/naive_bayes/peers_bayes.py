"""Naive Bayes compared with scikit-learn's; `python bench/peers.py --only NB` runs the comparison."""

from importlib import import_module

import numpy as np
from comparison import Work, comparison, same_labels


def _classed(n, d, dtype, n_classes=5):
    rng = np.random.default_rng(64)
    y = rng.integers(0, n_classes, n)
    X = rng.standard_normal((n, d), dtype=dtype)
    X[:, 0] += y
    return X, y


def _fits(kind, X, y, Q, threads, **about):
    """The Work of a comparison: a fit and the predictions for the rows Q."""

    def make(module, **own):
        def call(_):
            model = getattr(import_module(module), kind)(**own).fit(X, y)
            return model.predict(Q)

        return lambda: call

    peers = {"sklearn": make("sklearn.naive_bayes")}
    return Work([y], make("fastclf", n_jobs=threads), peers, same_labels, items=1, **about)


def _predictions(kind, X, y, threads, blocks, calls=1):
    # Both libraries are fitted to float64, because scikit-learn sums float32 rows in float32, and its means would
    # differ.
    def make(module, **own):
        return lambda: getattr(import_module(module), kind)(**own).fit(X.astype(np.float64), y).predict

    return Work(blocks, make("fastclf", n_jobs=threads), {"sklearn": make("sklearn.naive_bayes")}, same_labels, calls)


def _register_gaussian(dtype):
    @comparison(f"GaussianNB fit, 1M x 64 {dtype}", threads=(2,), share=0.6, sklearn=12)
    def fit(scale, threads):
        X, y = _classed(int(1_000_000 * scale), 64, dtype)
        return _fits("GaussianNB", X, y, X[:1000], threads, bytes_read=X.nbytes)

    @comparison(f"GaussianNB predict, 1M x 64 {dtype}", threads=(2,), sklearn=10)
    def predict(scale, threads):
        X, y = _classed(int(1_000_000 * scale), 64, dtype)
        return _predictions("GaussianNB", X, y, threads, [X])


_register_gaussian("float64")
_register_gaussian("float32")


def _register_counts(kind):
    @comparison(f"{kind} fit + predict, 200k x 1000 CSR, 1 % full", threads=(2,), sklearn=2)
    def work(scale, threads):
        from scipy import sparse

        n = int(200_000 * scale)
        X = sparse.random_array((n, 1000), density=0.01, format="csr", rng=np.random.default_rng(1))
        X.data = np.ceil(9 * X.data)
        return _fits(kind, X, np.random.default_rng(2).integers(0, 5, n), X, threads)


_register_counts("MultinomialNB")
_register_counts("BernoulliNB")


@comparison("CategoricalNB fit + predict, 1M x 20, 10 categories each", threads=(2,), sklearn=10)
def categories(scale, threads):
    rng = np.random.default_rng(3)
    n = int(1_000_000 * scale)
    X = rng.integers(0, 10, (n, 20))
    return _fits("CategoricalNB", X, rng.integers(0, 5, n), X, threads)


@comparison("GaussianNB predict, one row", threads=(1,), sklearn=5)
def one_row(scale, threads):
    X, y = _classed(10_000, 20, "float64")
    return _predictions("GaussianNB", X, y, threads, [X[i : i + 1] for i in range(2000)], calls=200)


@comparison("GaussianNB leave-one-out against 3 fits of ours, 100k x 20", threads=(2,), fits=1)
def leave_one_out(scale, threads):
    from fastclf import GaussianNB

    X, y = _classed(int(100_000 * scale), 20, "float64")
    model = GaussianNB(n_jobs=threads)

    def left(_):
        return model.leave_one_out(X, y)

    def three_fits(_):
        return [model.fit(X, y) for _ in range(3)]

    return Work([X], lambda: left, {"fits": lambda: three_fits}, lambda ours, theirs: (True, "another work"))
