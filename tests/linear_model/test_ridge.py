"""RidgeClassifier and RidgeClassifierCV: the normal equations, and every row left out by a fit without it."""

import numpy as np
import pytest
import reference_least_squares as reference
import scipy.sparse as sp
from conftest import pairwise_grid
from sklearn.linear_model import RidgeClassifier as TheirRidge
from sklearn.linear_model import RidgeClassifierCV as TheirRidgeCV

from fastclf import LeastSquaresClassifier, RidgeClassifier, RidgeClassifierCV, load, save
from fastclf.linear_model import ridge


def problem(rng, n=60, d=5, n_classes=3, dtype=np.float64):
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 3, d) + rng.uniform(-2, 2, d)
    X[rng.random((n, d)) < 0.3] = 0
    y = np.arange(n) % n_classes
    X[:, 0] += y
    return X.astype(dtype), y, rng.uniform(0.2, 3, n)


def own(model):
    return np.atleast_2d(model.coef_), model.intercept_


@pairwise_grid(
    shape=[(60, 5), (20, 40), (30, 30)],
    n_classes=[2, 3],
    alpha=[1e-6, 0.7, 1e4],
    intercept=[True, False],
    dtype=[np.float32, np.float64],
    sparse=[False, True],
)
def test_the_weights_are_those_of_the_normal_equations(rng, shape, n_classes, alpha, intercept, dtype, sparse):
    X, y, weight = problem(rng, *shape, n_classes, dtype)
    coef, b = reference.fit(X, reference.targets(y), alpha, intercept, weight)
    model = RidgeClassifier(alpha, fit_intercept=intercept).fit(sp.csr_matrix(X) if sparse else X, y, weight)
    size = np.abs(coef).max()
    np.testing.assert_allclose(own(model)[0], coef, rtol=0, atol=1e-7 * size)
    np.testing.assert_allclose(own(model)[1], b, rtol=0, atol=1e-6 * (1 + size))
    assert model.coef_.shape == ((shape[1],) if n_classes == 2 else (n_classes, shape[1]))


def test_an_ill_conditioned_problem_is_solved_as_least_squares_is(rng):
    X, y, _ = problem(rng, 200, 4)
    X = np.hstack([X, X[:, :1] + 1e-7 * rng.standard_normal((200, 1))])
    for rows in (X, X[:4]):
        labels = y[: len(rows)]
        assert ridge._inverse(rows.T @ rows + 1e-12 * np.eye(5)) == (None, np.inf)
        coef, _ = reference.fit(rows, reference.targets(labels), 1e-12, True, None)
        model = RidgeClassifier(1e-12).fit(rows, labels)
        np.testing.assert_allclose(rows @ model.coef_.T, rows @ coef.T, atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.3e21, 7e3])
def test_a_constant_column_far_from_0_has_no_part_in_the_scores(rng, scale):
    for _ in range(20):
        X, y, weight = problem(rng, 60, 5)
        X = (X + 1e8 * rng.standard_normal(5)) * scale
        X[:, 0] = X[0, 0]
        for sample_weight in (None, np.ceil(3 * weight)):
            model = RidgeClassifier(1e-12).fit(X, y, sample_weight)
            wanted = LeastSquaresClassifier(1e-12).fit(X, y, sample_weight)
            np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-6, atol=1e-9 * np.abs(wanted.coef_).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_class_weights_multiply_the_rows_weights(rng, n_classes, class_weight):
    X, y, weight = problem(rng, n_classes=n_classes)
    y[::4] = 0
    model = RidgeClassifier(class_weight=class_weight).fit(X, y)
    theirs = TheirRidge(class_weight=class_weight, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-10)
    if class_weight == {0: 3.0}:
        same = RidgeClassifier().fit(X, y, weight * np.where(y == 0, 3.0, 1.0))
        np.testing.assert_allclose(
            RidgeClassifier(class_weight=class_weight).fit(X, y, weight).coef_, same.coef_, atol=1e-12
        )


@pairwise_grid(
    shape=[(40, 5), (15, 30), (20, 20)],
    n_classes=[2, 3],
    intercept=[True, False],
    weighted=[True, False],
    sparse=[False, True],
)
def test_residuals_left_out_are_those_of_fits_without_the_row(rng, shape, n_classes, intercept, weighted, sparse):
    X, y, weight = problem(rng, *shape, n_classes)
    weight = weight if weighted else None
    alphas = (0.05, 2.0, 50.0)
    rows = sp.csr_matrix(X) if sparse else X
    model = RidgeClassifierCV(alphas, fit_intercept=intercept, store_cv_results=True).fit(rows, y, weight)
    target = reference.targets(y)
    w = np.ones(len(y)) if weight is None else weight
    for j, alpha in enumerate(alphas):
        for i in range(0, len(y), 7):
            rest = np.arange(len(y)) != i
            coef, b = reference.fit(X[rest], target[rest], alpha, intercept, w[rest])
            wanted = w[i] * (target[i] - X[i] @ coef.T - b) ** 2
            np.testing.assert_allclose(model.cv_results_[i, :, j], wanted, rtol=1e-6, atol=1e-9)
    means = model.cv_results_.mean(axis=(0, 1))
    assert model.alpha_ == alphas[means.argmin()]
    assert model.best_score_ == pytest.approx(-means.min())
    again = RidgeClassifier(model.alpha_, fit_intercept=intercept).fit(rows, y, weight)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_the_choice_is_scikit_learns(rng, n_classes, cv, scoring):
    X, y, _ = problem(rng, 80, 12, n_classes)
    alphas = np.logspace(-3, 4, 8)
    ours = RidgeClassifierCV(alphas, cv=cv, scoring=scoring).fit(X, y)
    if n_classes == 2 and cv is None and scoring:  # scikit-learn compares with the constant label 0 for these arguments
        predicted = [
            [
                RidgeClassifier(alpha).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0]
                for i in range(80)
            ]
            for alpha in alphas
        ]
        assert ours.best_score_ == np.max(np.mean(np.array(predicted) == y, axis=1))
        return
    theirs = TheirRidgeCV(alphas, cv=cv, scoring=scoring).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    assert ours.coef_.shape == theirs.coef_.shape


def test_labels_of_any_kind_one_class_and_a_hundred(rng):
    X, y, _ = problem(rng, n_classes=2)
    names = np.array(["no", "yes"])[y]
    for cls in (RidgeClassifier, RidgeClassifierCV):
        assert set(cls().fit(X, names).predict(X)) <= {"no", "yes"}
        with pytest.raises(ValueError, match="one class"):
            cls().fit(X, np.zeros(len(X)))
        for rows in (X, sp.csr_matrix(X)):
            bad = rows.copy()
            bad[0, 0] = np.nan
            with pytest.raises(ValueError, match="contains NaN"):
                cls().fit(bad, y)
    X, y, _ = problem(rng, 400, 5, 100)
    assert RidgeClassifier().fit(X, y).coef_.shape == (100, 5)
    assert RidgeClassifierCV().fit(X, y).coef_.shape == (100, 5)


@pytest.mark.parametrize(
    ("cls", "params", "error", "message"),
    [
        (RidgeClassifier, {"alpha": -1}, ValueError, "alpha is -1"),
        (RidgeClassifier, {"positive": True}, ValueError, "positive is True; False is wanted"),
        (RidgeClassifier, {"solver": "adam"}, ValueError, "solver is 'adam'"),
        (RidgeClassifierCV, {"alphas": [1, -1]}, ValueError, r"alphas\[1\] == -1, must be > 0.0"),
        (RidgeClassifierCV, {"alphas": [0.0]}, ValueError, "alphas == 0.0, must be > 0.0"),
        (RidgeClassifierCV, {"alphas": [1, "1"]}, TypeError, r"alphas\[1\] must be an instance of float, not str"),
        (RidgeClassifierCV, {"cv": 3, "store_cv_results": True}, ValueError, "are incompatible"),
        (RidgeClassifierCV, {"scoring": "beauty"}, ValueError, "scoring is 'beauty'"),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(rng, cls, params, error, message):
    X, y, _ = problem(rng)
    with pytest.raises(error, match=message):
        cls(**params).fit(X, y)


def test_threads_memory_maps_and_files_change_nothing(rng, tmp_path):
    X, y, _ = problem(rng, 3000, 20)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for cls in (RidgeClassifier, RidgeClassifierCV):
        one, two = cls(n_jobs=1).fit(X, y), cls(n_jobs=3).fit(mapped, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        save(one, tmp_path / cls.__name__)
        np.testing.assert_array_equal(load(tmp_path / cls.__name__).predict(X), one.predict(X))


@pytest.mark.parametrize("shape", [(40, 3), (5, 20)])
def test_squares_beyond_float64_are_refused_where_each_row_is_left_out(rng, shape):
    X, y = rng.standard_normal(shape), np.arange(shape[0]) % 2
    X[0, 0] = 1e300
    with pytest.raises(ValueError, match="X has values whose squares exceed 1e308; scaled columns are wanted"):
        RidgeClassifierCV().fit(X, y)
