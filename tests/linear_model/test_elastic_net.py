"""Logistic regression with an L1 term: the optimum, its zeros, and its proof, whatever way the solver takes."""

import warnings

import numpy as np
import pytest
import reference_elastic_net as reference
import scipy.sparse as sp
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st

from fastclf import LogisticRegression, Perceptron, _simd, load, save
from fastclf.linear_model import elastic_net, minimisers

pytestmark = pytest.mark.levels


def problem(rng, n, d, n_classes, dtype=np.float64):
    X = (rng.standard_normal((n, d)) * rng.uniform(0.3, 3, d) + rng.uniform(-1, 1, d)).astype(dtype)
    W = rng.standard_normal((d, n_classes)) * (rng.random((d, 1)) < 0.4)
    y = (X @ W + 2 * rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.integers(1, 3, n).astype(np.float64)


def containers(X):
    return X, sp.csr_matrix(X)


@pairwise_grid(n_classes=[2, 3, 5], d=[1, 3, 8], C=[0.02, 0.3, 5.0], l1_ratio=[0.2, 0.7, 1.0], intercept=[True, False])
def test_the_optimum_is_the_references(rng, n_classes, d, C, l1_ratio, intercept):
    X, y, weight = problem(rng, 60, d, n_classes)
    coef, b = reference.fit(X, y, weight, C, l1_ratio, intercept)
    least = reference.objective(X, y, coef, b, weight, C, l1_ratio)
    for rows in containers(X):
        model = LogisticRegression(C=C, l1_ratio=l1_ratio, fit_intercept=intercept, tol=1e-9).fit(rows, y, weight)
        found = reference.objective(X, y, model.coef_, model.intercept_, weight, C, l1_ratio)
        assert found <= least * (1 + 1e-9)
        size = C * weight.sum()
        assert reference.violation(X, y, model.coef_, model.intercept_, weight, C, l1_ratio, intercept) < 1e-6 * size
        assert model.gradient_norm_ <= 1e-9


@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
def test_classes_far_apart_in_columns_of_any_scale_take_few_steps(rng, l1_ratio):
    y = rng.integers(5, size=400)
    X = (rng.standard_normal((5, 24))[y] + 0.7 * rng.standard_normal((400, 24))) * 10 ** rng.uniform(-2, 2, 24)
    model = LogisticRegression(C=50, l1_ratio=l1_ratio).fit(X, y)
    assert model.gradient_norm_ <= model.tol
    assert model.n_iter_.max() <= 60


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_sweeps_over_columns_and_the_matrix_find_the_same(rng, monkeypatch, n_classes, l1_ratio, intercept):
    X, y, weight = problem(rng, 80, 100, n_classes)
    for rows in containers(X):
        found = []
        for faster in (True, False):
            monkeypatch.setattr(elastic_net, "_is_matrix_faster", lambda model, faster=faster: faster)
            model = LogisticRegression(C=0.3, l1_ratio=l1_ratio, fit_intercept=intercept, tol=1e-9)
            found.append(model.fit(rows, y, weight))
        np.testing.assert_allclose(found[0].coef_, found[1].coef_, atol=1e-6)
        np.testing.assert_array_equal(found[0].coef_ == 0, found[1].coef_ == 0)
        np.testing.assert_allclose(found[0].intercept_, found[1].intercept_, atol=1e-6)
        assert 0 < np.count_nonzero(found[0].coef_) < found[0].coef_.size


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_coefficient_is_0_exactly_where_its_slope_is_within_the_edge(rng, n_classes):
    X, y, weight = problem(rng, 200, 120, n_classes)
    model = LogisticRegression(C=0.05, l1_ratio=1, tol=1e-8).fit(X, y, weight)
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size / 2
    assert reference.violation(X, y, model.coef_, model.intercept_, weight, 0.05, 1.0) < 1e-6
    with_small_C = LogisticRegression(C=1e-6, l1_ratio=1).fit(X, y)
    assert not with_small_C.coef_.any()
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(with_small_C.predict_proba(X[:1])[0], shares, atol=1e-4)


def test_the_share_of_l1_goes_over_into_l2_without_a_jump(rng):
    X, y, _ = problem(rng, 150, 6, 2)
    for low, high, which in ((0.0, 1e-7, 0), (1 - 1e-7, 1.0, 1)):
        one, other = (LogisticRegression(l1_ratio=ratio, tol=1e-9).fit(X, y) for ratio in (low, high))
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5, err_msg=str(which))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_older_names_of_penalties_mean_the_same(rng, n_classes):
    X, y, _ = problem(rng, 100, 5, n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for old, new in (
            ({"penalty": "l1", "l1_ratio": 1}, {"l1_ratio": 1}),
            ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
            ({"penalty": "l2"}, {}),
            ({"penalty": None}, {"C": np.inf}),
        ):
            one, other = LogisticRegression(**old).fit(X, y), LogisticRegression(**new).fit(X, y)
            np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_threads_and_memory_maps_change_no_bit(rng, tmp_path, n_classes):
    X, y, _ = problem(rng, 3000, 90, n_classes)
    path = tmp_path / "X.npy"
    np.save(path, X)
    expected = LogisticRegression(C=0.02, l1_ratio=0.9, n_jobs=1).fit(X, y)
    for rows, jobs in ((X, 3), (np.load(path, mmap_mode="r"), 2)):
        model = LogisticRegression(C=0.02, l1_ratio=0.9, n_jobs=jobs).fit(rows, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.gradient_norm_ == expected.gradient_norm_


def test_simd_levels_agree(rng, monkeypatch):
    X, y, _ = problem(rng, 500, 70, 3)
    expected = LogisticRegression(C=0.1, l1_ratio=1, tol=1e-9).fit(X, y)
    for level in _simd.available():
        monkeypatch.setattr(elastic_net, "kernels", _simd.load("linear_model._elastic_net", level))
        model = LogisticRegression(C=0.1, l1_ratio=1, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)


def test_a_sample_of_the_rows_only_chooses_the_way_to_the_optimum(rng, monkeypatch):
    X, y, _ = problem(rng, 20000, 6, 3)
    whole = LogisticRegression(C=0.01, l1_ratio=0.8, tol=1e-9).fit(X, y)
    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 200)
    monkeypatch.setattr(minimisers, "_ROWS_PER_PARAMETER", 1)
    sampled = LogisticRegression(C=0.01, l1_ratio=0.8, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(sampled.coef_, whole.coef_, atol=1e-7)
    assert sampled.gradient_norm_ <= 1e-9


def test_weight_0_is_a_missing_row_and_2_a_duplicated_one(rng):
    X, y, _ = problem(rng, 200, 5, 3)
    weight = rng.integers(0, 3, 200).astype(np.float64)
    repeat = np.repeat(np.arange(200), weight.astype(int))
    for rows in containers(X):
        model = LogisticRegression(l1_ratio=0.6, C=0.2, tol=1e-9).fit(rows, y, weight)
        other = LogisticRegression(l1_ratio=0.6, C=0.2, tol=1e-9).fit(rows[repeat], y[repeat])
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-7)


def test_string_labels_class_weights_and_a_hundred_classes(rng):
    X, y, _ = problem(rng, 150, 4, 2)
    names = np.array(["no", "yes"])[y]
    model = LogisticRegression(l1_ratio=1, class_weight={"yes": 3.0}, tol=1e-9).fit(X, names)
    other = LogisticRegression(l1_ratio=1, tol=1e-9).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-7)
    assert model.classes_.tolist() == ["no", "yes"]
    X, y, _ = problem(rng, 600, 3, 100)
    model = LogisticRegression(l1_ratio=1, C=0.5, tol=1e-7).fit(X, y)
    assert model.coef_.shape == (100, 3)
    assert reference.violation(X, y, model.coef_, model.intercept_, np.ones(600), 0.5, 1.0) < 1e-3
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_what_is_not_finite_and_one_class_are_refused():
    X = np.array([[0.0], [np.nan], [1.0]])
    for rows in containers(X):
        with pytest.raises(ValueError, match="contains NaN"):
            LogisticRegression(l1_ratio=1).fit(rows, [0, 1, 0])
    with pytest.raises(ValueError, match="one class"):
        LogisticRegression(l1_ratio=1).fit([[0.0], [1.0]], [1, 1])


@given(st.integers(0, 10**6))
def test_duplicates_constants_and_huge_offsets_keep_the_proof(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X = rng.integers(-2, 3, (n, d)) * rng.choice([1e-3, 1.0, 1e3], d) + rng.choice([0.0, 1e4], d)
    X[:, rng.integers(0, d)] = rng.integers(0, 2)
    y = rng.integers(0, 3, n)
    y[:2] = 0, 1
    model = LogisticRegression(l1_ratio=float(rng.choice([0.1, 1.0])), C=float(rng.choice([0.1, 10.0]))).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.gradient_norm_ <= 1e-4


def test_a_path_along_C_has_the_answers_of_single_fits(rng):
    X, y, _ = problem(rng, 200, 30, 2)
    path = LogisticRegression(l1_ratio=1, tol=1e-9)._fit_path("C", [10.0, 0.1, 1.0], X, y)
    for C, model in zip([10.0, 0.1, 1.0], path):
        alone = LogisticRegression(l1_ratio=1, tol=1e-9, C=C).fit(X, y)
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)


def test_a_warm_start_begins_where_the_last_fit_ended(rng):
    X, y, _ = problem(rng, 300, 6, 3)
    model = LogisticRegression(l1_ratio=0.5, warm_start=True, tol=1e-6).fit(X, y)
    assert model.n_iter_[0] > 1
    coef = model.coef_
    model.fit(X, y)
    assert model.n_iter_.tolist() == [0]
    np.testing.assert_allclose(model.coef_, coef, atol=1e-12)


def test_a_callback_ends_the_fit_and_an_interrupt_leaves_the_estimator_as_it_was(rng):
    X, y, _ = problem(rng, 300, 40, 2)
    told = []
    model = LogisticRegression(l1_ratio=1, callback=lambda *step: told.append(step) or len(told) == 2).fit(X, y)
    assert model.n_iter_.tolist() == [2]
    assert told[0][2] > told[1][2]

    def interrupt(*step):
        raise KeyboardInterrupt

    before = model.coef_
    model.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_ is before


@pytest.mark.parametrize("cls", [LogisticRegression, Perceptron])
def test_sparse_coefficients_predict_the_same(rng, tmp_path, cls):
    X, y, _ = problem(rng, 100, 30, 3)
    model = cls(**({"l1_ratio": 1, "C": 0.1} if cls is LogisticRegression else {})).fit(X, y)
    dense, scores = model.coef_, model.decision_function(X)
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(X)), dense_answers(model, X))
    np.testing.assert_array_equal(model.sparsify().densify().coef_, dense)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").coef_, dense)


def dense_answers(model, X):
    return model.classes_[model.decision_function(X).argmax(axis=1)]
