"""Logistic regression by rows has the optimum, and the numbers about it, of logistic regression by columns."""

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn import linear_model

from fastclf import LogisticRegression
from fastclf._csr import as_csr
from fastclf.linear_model import logistic, sparse_row_space
from fastclf.linear_model.likelihood import Likelihood
from fastclf.linear_model.sparse_row_space import SparseRowSpace


@pytest.fixture
def by_rows(monkeypatch):
    """Lets fits to any sparse rows go by rows, and counts them."""
    made = []

    class Counted(SparseRowSpace):
        def __init__(self, outer):
            made.append(outer)
            super().__init__(outer)

    monkeypatch.setattr(sparse_row_space, "_COLUMNS", 1)
    monkeypatch.setattr(logistic, "SparseRowSpace", Counted)
    return made


def problem(rng, n_classes, n=60, d=300, dtype=np.float64):
    X = random_array((n, d), density=0.1, rng=rng, dtype=dtype, format="csr")
    y = rng.permutation(np.arange(n) % n_classes)
    X[:, :n_classes] = (y[:, None] == np.arange(n_classes)) * rng.random((n, n_classes))
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0, 1e3])
def test_the_optimum_is_that_of_a_fit_by_columns(rng, by_rows, monkeypatch, n_classes, weighted, intercept, C):
    X, y = problem(rng, n_classes)
    weights = rng.integers(3, size=len(y)) if weighted else None
    model = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-10, max_iter=5000)
    found = model.fit(X, y, weights)
    ours = found.coef_, found.intercept_
    assert len(by_rows) == 1
    monkeypatch.setattr(sparse_row_space, "_COLUMNS", 1 << 60)
    other = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-10, max_iter=5000).fit(X, y, weights)
    assert len(by_rows) == 1
    for one, two in zip(ours, (other.coef_, other.intercept_)):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6 * np.abs(other.coef_).max())
    np.testing.assert_allclose(found.log_likelihood_, other.log_likelihood_, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("max_iter", [1, 3, 500])
def test_the_numbers_about_a_fit_are_those_of_its_coefficients(rng, by_rows, n_classes, max_iter):
    X, y = problem(rng, n_classes)
    model = LogisticRegression(max_iter=max_iter)
    if max_iter < 500:
        with pytest.warns(UserWarning, match="max_iter"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    assert by_rows
    shares = model.predict_log_proba(X)[np.arange(len(y)), y]
    np.testing.assert_allclose(model.log_likelihood_, shares.sum(), rtol=1e-9)
    plain = Likelihood(as_csr(X, "X"), y.astype(np.int32), n_classes, None, 1 / len(y), True, 1)
    point = plain.evaluate(plain.parameters(model.coef_, model.intercept_))
    np.testing.assert_allclose(model.gradient_norm_, point.norm, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_text_of_many_words_has_scikit_learns_optimum(rng, dtype):
    X, y = problem(rng, 3, n=400, d=5000, dtype=dtype)
    ours = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=5000).fit(X.astype(float), y)
    assert ours.coef_.dtype == dtype
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X.astype(float)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_no_bit(rng, by_rows, n_classes):
    X, y = problem(rng, n_classes, n=900, d=6000)
    one, other = (LogisticRegression(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert len(by_rows) == 2
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


@pytest.mark.parametrize("size", [1e-200, 1e-8, 1e8, 1e60, 1e130])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_of_any_size_give_finite_coefficients(rng, by_rows, size, n_classes):
    X, y = problem(rng, n_classes)
    model = LogisticRegression(max_iter=50)
    with np.errstate(all="raise", under="ignore"):
        model.fit(X * size, y)
    assert (len(by_rows) == 1) == (size < 1e100)
    assert np.isfinite(model.coef_).all()
    if size > 1:
        assert (model.predict(X * size) == y).mean() > 0.9


def test_rows_that_are_all_equal_have_the_shares_of_the_classes(by_rows):
    X, _ = problem(np.random.default_rng(0), 2, n=30)
    model = LogisticRegression().fit(X[[0] * 30], np.arange(30) % 3 == 0)
    assert by_rows
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[2 / 3, 1 / 3]], atol=1e-4)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-15)


@pytest.mark.parametrize("options", [{"warm_start": True}, {"solver": "liblinear"}, {"l1_ratio": 0.5}, {"C": np.inf}])
def test_a_start_and_other_penalties_go_by_columns(rng, by_rows, options):
    X, y = problem(rng, 2)
    LogisticRegression(**options).fit(X, y)
    assert not by_rows
