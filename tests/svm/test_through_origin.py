"""Support vector machines without an intercept, and Novikoff's bound by the largest margin."""

import warnings

import numpy as np
import pytest
import reference_perceptron
import reference_svm as reference
from scipy.sparse import csr_array

from fastclf import SVC, LinearSVC, NuSVC, Perceptron, load, novikoff_bound, save, svm_path, tune

CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
KERNELS = {"linear": {}, "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0}, "rbf": {"gamma": 0.2}}


def overlapping(rng, n=60, d=4, classes=2):
    X = rng.standard_normal((n, d))
    return X, np.digitize(X[:, 0] + 0.7 * rng.standard_normal(n), [0.0, 0.8][: classes - 1])


@pytest.mark.levels
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed", "function"])
def test_the_optimum_without_intercept_is_that_of_the_obvious_solver(rng, name, kind):
    X, y = overlapping(rng)
    sign = 2 * y - 1
    K = reference.kernel_matrix(name, X, X, **KERNELS[name])
    parameters = {"kernel": name, **KERNELS[name]}
    rows = X if kind == "dense" else csr_array(X)
    if kind == "precomputed":
        parameters, rows = {"kernel": "precomputed"}, K
    elif kind == "function":
        parameters, rows = {"kernel": lambda A, B: reference.kernel_matrix(name, A, B, **KERNELS[name])}, X
    weight = rng.integers(0, 3, 60).astype(float)
    for C in (0.1, 10.0):
        for bound, model in (
            (C, SVC(C=C, tol=1e-8, fit_intercept=False, **parameters).fit(rows, y)),
            (C * weight, SVC(C=C, tol=1e-8, fit_intercept=False, **parameters).fit(rows, y, weight)),
        ):
            best = reference.through_origin(K, sign, bound)
            objective = reference.dual_objective(K, sign, best)
            assert model.intercept_.tolist() == [0.0]
            assert model.dual_objective_[0] == pytest.approx(objective, rel=1e-6)
            assert model.violation_ <= 1e-8
            assert model.duality_gap_ == pytest.approx(0, abs=1e-6 * objective)
            np.testing.assert_allclose(model.decision_function(rows), K @ (sign * best), rtol=1e-4, atol=1e-4)


def test_several_classes_without_intercept_are_the_fits_of_the_pairs(rng):
    X, y = overlapping(rng, 150, classes=3)
    model = SVC(kernel="rbf", gamma=0.2, tol=1e-7, fit_intercept=False, decision_function_shape="ovo").fit(X, y)
    scores = model.decision_function(X)
    for p, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = np.isin(y, (a, b))
        single = SVC(kernel="rbf", gamma=0.2, tol=1e-7, fit_intercept=False).fit(X[pair], y[pair] == a)
        np.testing.assert_allclose(scores[:, p], single.decision_function(X), atol=1e-5)
    assert model.kkt_violation(X, y) == pytest.approx(model.violation_, abs=1e-9)


def test_paths_warm_starts_and_saved_models_without_intercept_are_plain_fits(rng, tmp_path):
    X, y = overlapping(rng)
    Cs = [0.1, 1.0, 10.0]
    for C, along in zip(Cs, svm_path(X, y, Cs, kernel="linear", tol=1e-8, fit_intercept=False)):
        plain = SVC(kernel="linear", C=C, tol=1e-8, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(along.coef_, plain.coef_, atol=1e-6)
        linear = LinearSVC(loss="hinge", C=C, tol=1e-9, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(plain.coef_, linear.coef_, atol=1e-6)
        np.testing.assert_allclose(plain.margin_, linear.margin_, rtol=1e-6)
    plain.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(plain.coef_, along.coef_, atol=1e-6)
    save(plain, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), plain.predict(X))
    result = tune(SVC(kernel="linear", fit_intercept=False), {"C": Cs}, X, y, cv=3)
    assert result.best_estimator_.fit_intercept is False


def test_probabilities_without_intercept_add_up_to_1(rng):
    X, y = overlapping(rng, classes=3)
    P = SVC(probability=True, fit_intercept=False).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_a_hard_margin_through_the_origin_is_the_widest(rng):
    for _ in range(20):
        X, y = reference_perceptron.separable(rng)
        Z = np.column_stack([X, np.ones(len(X))])
        model = SVC(kernel="linear", C=np.inf, fit_intercept=False, tol=1e-7).fit(Z, y)
        widest = reference.widest_margin(Z, y)
        assert model.margin_[0] == pytest.approx(widest, rel=1e-5)
    with pytest.raises(ValueError, match="no hyperplane separates the classes"):
        SVC(kernel="linear", C=np.inf, fit_intercept=False).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("intercept", [True, False])
def test_novikoffs_bound_is_that_of_the_widest_margin(rng, kind, intercept):
    for _ in range(100 if kind == "dense" else 10):
        X, y = reference_perceptron.separable(rng)
        if not intercept:
            X = np.column_stack([X, np.ones(len(X))])
        rows = X.astype(np.float32).astype(float) if kind == "float32" else X
        given = {"dense": X, "sparse": csr_array(X), "float32": X.astype(np.float32)}[kind]
        Z = np.column_stack([rows, np.ones(len(X))]) if intercept else rows
        bound = novikoff_bound(given, y, fit_intercept=intercept)
        assert bound.radius == pytest.approx(np.linalg.norm(Z, axis=1).max())
        assert bound.margin == pytest.approx(reference.widest_margin(Z, y), rel=1e-5)
        assert bound.margin == pytest.approx((y * (rows @ bound.coef + bound.intercept)).min(), rel=1e-6)
        assert bound.mistakes == pytest.approx((bound.radius / bound.margin) ** 2)
        model = Perceptron(order="cyclic", max_iter=100_000, fit_intercept=intercept).fit(given, y)
        assert model.n_mistakes_ <= bound.mistakes <= model.mistake_bound_ * (1 + 1e-5)


def test_novikoffs_bound_is_infinite_where_no_hyperplane_separates():
    bound = novikoff_bound(CORNERS, [0, 1, 1, 0])
    assert (bound.mistakes, bound.margin, bound.coef.tolist(), bound.intercept) == (np.inf, 0.0, [0.0, 0.0], 0.0)
    assert novikoff_bound(CORNERS, [0, 0, 0, 1]).mistakes == pytest.approx(51, rel=1e-5)


def test_novikoffs_bound_of_several_classes_is_that_of_each_against_the_rest(rng):
    X = np.concatenate([rng.standard_normal((30, 2)) + centre for centre in ([0, 9], [9, -9], [-9, -9])])
    y = np.repeat([0, 1, 2], 30)
    bound = novikoff_bound(X, y)
    for k in range(3):
        alone = novikoff_bound(X, y == k)
        assert (bound.mistakes[k], bound.margin[k]) == (alone.mistakes, alone.margin)
        np.testing.assert_array_equal(bound.coef[k], alone.coef)
    assert (Perceptron(order="cyclic").fit(X, y).n_mistakes_ <= bound.mistakes).all()


@pytest.mark.parametrize("model", [SVC(), SVC(fit_intercept=False), SVC(cache_size=1e-3), NuSVC()])
@pytest.mark.parametrize("n_classes", [2, 3, 6, 20])
def test_folds_of_probability_may_lack_both_classes_of_a_pair(rng, model, n_classes):
    X, y = rng.standard_normal((n_classes + 30, 3)), np.arange(n_classes + 30) % n_classes
    counts = np.arange(n_classes + 30) < n_classes
    model.set_params(probability=True, random_state=0)
    for parts in ((X[counts], y[counts]), (X, y, counts * 1.0)):
        np.testing.assert_allclose(model.fit(*parts).predict_proba(X).sum(axis=1), 1)


def test_the_margin_of_a_linear_machine_is_1_over_the_length_of_w(rng):
    X, y = overlapping(rng, 100, classes=3)
    for parameters in ({}, {"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}):
        model = LinearSVC(**{"max_iter": 100_000} | parameters).fit(X, y)
        np.testing.assert_allclose(model.margin_, 1 / np.linalg.norm(model.coef_, axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LinearSVC(penalty="l1", C=1e-9).fit(X, y > 0).margin_.tolist() == [np.inf]


def test_novikoffs_bound_refuses_bad_rows_in_a_sentence():
    for X, y, message in (([[1.0], [np.nan]], [0, 1], "NaN"), ([[1.0], [2.0]], [0, 0], "class")):
        with pytest.raises(ValueError, match=message):
            novikoff_bound(X, y)
