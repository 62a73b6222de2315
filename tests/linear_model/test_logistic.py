"""Logistic regression: its gradient is 0, its reported numbers are right, and they depend only on the problem."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
import reference_logistic as reference
import scipy.sparse as sp
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

import fastclf
from fastclf import LogisticRegression, LogisticRegressionCV, _simd
from fastclf.linear_model import inverses, likelihood, minimisers, small_steps
from fastclf.linear_model.score_lines import ScoreLine

pytestmark = pytest.mark.levels

PANEL = likelihood.kernels.PANEL
SOLVERS = ["auto", "lbfgs", "newton-cholesky", "newton-cg", "liblinear", "sag", "saga"]


def problem(rng, n, d, n_classes, dtype=np.float64):
    X = (rng.standard_normal((n, d)) * rng.uniform(0.1, 20, d) + rng.uniform(-3, 3, d)).astype(dtype)
    return X, rng.integers(0, n_classes, n), rng.integers(0, 3, n).astype(np.float64)


def planted(rng, n, d, n_classes=2):
    X = rng.standard_normal((n, d))
    return X, (X @ rng.standard_normal((d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def assert_same(model, other, rtol=0):
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=rtol)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=rtol)


@pairwise_grid(n_classes=[2, 3, 5], d=[1, 3, 8, 17], C=[0.05, 1.0, 1e3, np.inf], intercept=[True, False])
def test_the_optimum_and_its_numbers_are_the_references(rng, n_classes, d, C, intercept):
    X, y, weight = problem(rng, 120, d, n_classes)
    coef, b = reference.fit(X, y, weight, C, intercept)
    least = reference.objective(X, y, coef, b, weight, C)
    for solver in ("auto", "lbfgs"):
        for rows in (X, sp.csr_matrix(X)):
            model = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-8, solver=solver).fit(rows, y, weight)
            found = model.coef_, model.intercept_
            assert reference.objective(X, y, *found, weight, C) == pytest.approx(least, rel=1e-10)
            assert model.log_likelihood_ == pytest.approx(reference.log_likelihood(X, y, *found, weight), rel=1e-10)
            assert model.gradient_norm_ <= 1e-8
            assert abs(reference.gradient_norm(X, y, *found, weight, C, intercept) - model.gradient_norm_) < 1e-9


@pytest.mark.parametrize("solver", [*SOLVERS, "gradient"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver_finds_the_same_optimum_as_scikit_learn(rng, solver, n_classes):
    from sklearn.linear_model import LogisticRegression as Theirs

    if solver == "liblinear" and n_classes > 2:
        pytest.skip("for two classes alone, as scikit-learn's")
    X, y = planted(rng, 400, 5, n_classes)
    model = LogisticRegression(solver=solver, tol=1e-9, max_iter=10000).fit(X, y)
    theirs = Theirs(tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert model.n_iter_.shape == theirs.n_iter_.shape


@pytest.mark.parametrize("shape", [(1, 1), (23, 2), (24, 3), (25, 4), (49, 5), (60, 12), (97, 31)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_pass_gives_loss_gradient_and_curvature_of_the_references(rng, shape, dtype, n_classes):
    X, y, weight = problem(rng, *shape, n_classes, dtype)
    weight[0] = 1
    d = shape[1]
    K = 1 if n_classes == 2 else n_classes
    theta = rng.standard_normal((K, d + 1))
    theta -= theta.mean(axis=0) if K > 1 else 0
    C, total = 2.0, weight.sum()
    for rows in (X, likelihood.Csr.from_dense(X)):
        ours = likelihood.Likelihood(rows, y.astype(np.int32), n_classes, weight, 1 / (C * total), True, 1)

        def gradient(theta, ours=ours):
            plain = reference.gradient(X, y, *ours.coefficients(theta), weight, C) / (C * total)
            return np.hstack([(plain[:, :-1] - plain[:, -1:] * ours.mean) / ours.scale, plain[:, -1:]])

        point = ours.evaluate(theta, curvature="full")
        coef, b = ours.coefficients(theta)
        assert point.objective == pytest.approx(reference.objective(X, y, coef, b, weight, C) / (C * total), rel=1e-9)
        assert point.loss == pytest.approx(-reference.log_likelihood(X, y, coef, b, weight) / total, rel=1e-9)
        np.testing.assert_allclose(point.gradient, gradient(theta), atol=1e-9)
        np.testing.assert_allclose(ours.parameters(coef, b), theta, atol=1e-9)
        if K * d > 40:
            continue
        h = 1e-5
        steps = np.eye(theta.size).reshape(-1, *theta.shape) * h
        H = np.array([(gradient(theta + e) - gradient(theta - e)).ravel() / (2 * h) for e in steps])
        blocks = H.reshape(K, d + 1, K, d + 1)
        diagonal = np.array([blocks[k, :, k] for k in range(K)])
        np.testing.assert_allclose(ours.evaluate(theta, curvature="diagonal").curvature, diagonal, atol=1e-7)
        shared = ours.evaluate(theta, curvature="shared").curvature
        np.testing.assert_allclose(shared, diagonal.mean(axis=0, keepdims=True), atol=1e-7)
        # the solver adds curvature where the scores of all classes change equally, because the likelihood is flat there
        if K > 1:
            blocks[:, range(d + 1), :, range(d + 1)] += 1 / K
        np.testing.assert_allclose(point.curvature, H, atol=1e-7)


def test_threads_and_the_first_range_change_no_bit(rng, monkeypatch):
    monkeypatch.setattr(likelihood, "_BLOCK_WORK", 1 << 18)  # the rows are divided into several blocks
    X, y = planted(rng, 40000, 20, 3)
    for rows in (X, X.astype(np.float32), sp.csr_matrix(X * (rng.random(X.shape) < 0.3))):
        expected = LogisticRegression(n_jobs=1).fit(rows, y)
        for jobs, first in ((2, 1), (5, 1 << 16)):
            monkeypatch.setattr(likelihood, "_FIRST_WORK", first)
            model = LogisticRegression(n_jobs=jobs).fit(rows, y)
            assert_same(model, expected)
            assert model.gradient_norm_ == expected.gradient_norm_
            assert model.log_likelihood_ == expected.log_likelihood_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_simd_levels_agree(rng, monkeypatch, n_classes):
    X, y = planted(rng, 3000, 11, n_classes)
    expected = LogisticRegression(tol=1e-9).fit(X, y)
    for level in _simd.available():
        for module in (likelihood, small_steps):
            monkeypatch.setattr(module, "kernels", _simd.load("linear_model._likelihood", level))
        assert_same(LogisticRegression(tol=1e-9).fit(X, y), expected, rtol=1e-7)


def test_float32_is_as_exact_as_the_same_numbers_in_float64(rng):
    X, y = planted(rng, 2000, 9)
    X = (X + 1000).astype(np.float32)
    ours, wide = LogisticRegression().fit(X, y), LogisticRegression().fit(X.astype(np.float64), y)
    assert ours.gradient_norm_ == wide.gradient_norm_
    assert ours.coef_.dtype == ours.intercept_.dtype == np.float32
    np.testing.assert_array_equal(ours.coef_, wide.coef_.astype(np.float32))
    # although the columns have an offset of 1000, rounding of the coefficients to float32 changes scores little
    np.testing.assert_allclose(ours.decision_function(X), wide.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("sort", [False, True])
def test_a_sample_of_the_rows_only_chooses_the_way_to_the_optimum(rng, monkeypatch, sort):
    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 200)
    monkeypatch.setattr(minimisers, "_ROWS_PER_PARAMETER", 1)
    X, y = planted(rng, 20000, 6, 3)
    if sort:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    steps = []
    evaluate = likelihood.Likelihood.evaluate

    def recorded(self, theta, step=1, curvature=None, **options):
        steps.append(step)
        return evaluate(self, theta, step, curvature, **options)

    monkeypatch.setattr(likelihood.Likelihood, "evaluate", recorded)
    sampled = LogisticRegression(tol=1e-9).fit(X, y)
    assert max(steps) > 50
    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 1 << 20)
    steps.clear()
    whole = LogisticRegression(tol=1e-9, solver="newton-cholesky").fit(X, y)
    assert set(steps) == {1}
    assert_same(sampled, whole, rtol=1e-6)
    assert sampled.gradient_norm_ <= 1e-9


def test_a_sample_that_is_separated_does_not_mislead(rng, monkeypatch):
    X, y = planted(rng, 12000, 4)
    X[:] *= 4
    y = (X[:, 0] > 0).astype(int)
    y[PANEL * 3 + 5 :: PANEL * 20] ^= 1  # these rows are in panels (blocks of rows) that the sample leaves out
    expected = LogisticRegression(penalty=None, tol=1e-8).fit(X, y)
    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 600)
    monkeypatch.setattr(minimisers, "_ROWS_PER_PARAMETER", 1)
    model = LogisticRegression(penalty=None, tol=1e-8).fit(X, y)
    assert not model.separated_
    assert_same(model, expected, rtol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weight_0_is_a_missing_row_and_2_a_duplicated_one(rng, solver, n_classes):
    X, y, weight = problem(rng, 200, 4, n_classes)
    y[weight == 0] = n_classes  # a class whose rows all have weight 0 counts as missing
    repeat = np.repeat(np.arange(200), weight.astype(int))
    for rows, repeated in ((X, X[repeat]), (sp.csr_matrix(X), sp.csr_matrix(X[repeat]))):
        model = LogisticRegression(solver=solver, tol=1e-9).fit(rows, y, weight)
        other = LogisticRegression(solver=solver, tol=1e-9).fit(repeated, y[repeat])
        assert model.classes_.tolist() == list(range(n_classes))
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-8)
        assert model.log_likelihood_ == pytest.approx(other.log_likelihood_)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_are_scikit_learns(rng, class_weight, weighted):
    from sklearn.linear_model import LogisticRegression as Theirs

    X, y, weight = problem(rng, 200, 3, 3)
    fit = (X, y, weight + 0.5) if weighted else (X, y)
    ours = LogisticRegression(class_weight=class_weight, tol=1e-8).fit(*fit)
    theirs = Theirs(class_weight=class_weight, tol=1e-10, max_iter=10000, solver="newton-cg").fit(*fit)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "gradient"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_perfect_separation_without_a_penalty_is_said(rng, solver, n_classes):
    X = rng.standard_normal((300, 3))
    y = (X @ rng.standard_normal((3, n_classes))).argmax(axis=1)
    tol = 1e-2 if solver == "gradient" else 1e-4  # gradient ascent takes about 1 / tol steps
    for rows in (X, sp.csr_matrix(X)):
        with pytest.warns(UserWarning, match="perfectly separated"):
            model = LogisticRegression(penalty=None, solver=solver, tol=tol, max_iter=100000).fit(rows, y)
        assert model.separated_
        assert model.score(rows, y) == 1
        assert model.gradient_norm_ <= model.tol
        # probabilities are near 0 and 1, as scikit-learn's are: the mean loss is about the gradient's norm
        assert model.log_likelihood_ >= -300 * 100 * model.tol
        assert not LogisticRegression(solver=solver, max_iter=100000).fit(rows, y).separated_


def test_separation_but_for_the_border_ends_with_finite_numbers():
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(model.predict_proba([[1.0]]), 0.5, atol=1e-3)
    assert model.log_likelihood_ == pytest.approx(-2 * np.log(2), rel=1e-2)


@pytest.mark.parametrize("max_iter", [9, 20])
@pytest.mark.parametrize("strengths", [[1.0], [0.3, 1.0, 30.0]])
def test_a_max_iter_that_counts_newtons_steps_is_enough_for_liblinear(rng, max_iter, strengths):
    # a column for each of almost all rows, with which L-BFGS takes more than 20 steps
    X = np.hstack([np.eye(300), rng.integers(0, 2, (300, 6)), np.eye(6)[rng.integers(0, 6, 300)]])
    y, weight = rng.integers(0, 2, 300), rng.random(300)
    parameters = {"solver": "liblinear", "max_iter": max_iter, "tol": 1e-4}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(**parameters).fit(X, y, weight)
        LogisticRegressionCV(Cs=strengths, cv=3, l1_ratios=(0,), **parameters).fit(X, y)
    assert model.n_iter_[0] <= max_iter
    exact = LogisticRegression(tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=2e-3)


def test_the_warning_of_too_few_steps_names_the_limit_that_holds(rng):
    X, y, weight = problem(rng, 60, 2, 3)
    model = LogisticRegression(max_iter=1)
    with pytest.warns(UserWarning, match="max_iter=1 was reached") as caught:
        model.fit(X, y, weight)
    norm, limit = re.search(r"is (\S+), above the limit of (\S+) that tol=0.0001", str(caught[0].message)).groups()
    assert float(norm) == pytest.approx(model.gradient_norm_, rel=0.1)
    assert float(limit) < min(1e-4, float(norm))


def test_gradient_ascent_is_the_textbooks(rng):
    X, y, weight = problem(rng, 60, 2, 3)
    with pytest.warns(UserWarning, match="max_iter=7 was reached"):
        model = LogisticRegression(solver="gradient", eta0=0.01, max_iter=7, penalty=None).fit(X, y, weight)
    theta = np.zeros((3, 3))
    for _ in range(7):
        theta -= 0.01 * reference.gradient(X, y, theta[:, :-1], theta[:, -1], weight, np.inf) / weight.sum()
    np.testing.assert_allclose(model.coef_, theta[:, :-1], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, theta[:, -1], rtol=1e-9)
    assert model.n_iter_.tolist() == [7]


def test_gradient_ascent_by_default_ascends_at_every_step(rng):
    X, y, _ = problem(rng, 200, 4, 3)
    told = []
    LogisticRegression(solver="gradient", tol=1e-3, max_iter=50000, callback=lambda *a: told.append(a[2])).fit(X, y)
    assert len(told) > 10
    assert (np.diff(told) <= 1e-15).all()


def test_a_warm_start_begins_where_the_last_fit_ended(rng):
    X, y = planted(rng, 500, 6, 3)
    model = LogisticRegression(warm_start=True, tol=1e-6).fit(X, y)
    assert model.n_iter_[0] > 1
    coef = model.coef_
    model.fit(X, y)
    assert model.n_iter_.tolist() == [0]
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-6)
    assert model.fit(X[:, :3], y).coef_.shape == (3, 3)
    cold = LogisticRegression(tol=1e-6).fit(X[:, :3], y)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-4)


def test_units_and_offsets_of_columns_do_not_matter_without_a_penalty(rng):
    X, y = planted(rng, 600, 4)
    plain = LogisticRegression(penalty=None, tol=1e-9).fit(X, y)
    factor, offset = np.array([1e-200, 1e150, 1e-3, 1.0]), np.array([0, 0, 7, 1e6])
    model = LogisticRegression(penalty=None, tol=1e-9).fit(X * factor + offset, y)
    np.testing.assert_allclose(model.coef_ * factor, plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X * factor + offset), plain.predict_proba(X), rtol=1e-5)


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_and_repeated_columns_are_no_trouble(rng, C, sparse):
    X, y = planted(rng, 300, 3, 3)
    more = np.hstack([X, np.full((300, 1), 0.1), X[:, :1], np.zeros((300, 1))])
    model = LogisticRegression(C=C, tol=1e-8).fit(sp.csr_matrix(more) if sparse else more, y)
    assert abs(model.coef_[:, [3, 5]]).max() < 1e-4
    np.testing.assert_allclose(model.coef_[:, 0], model.coef_[:, 4], atol=1e-4)
    if np.isinf(C):
        plain = LogisticRegression(C=C, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(more), plain.predict_proba(X), atol=1e-6)


def test_more_columns_than_rows(rng):
    from sklearn.linear_model import LogisticRegression as Theirs

    X, y = rng.standard_normal((40, 300)), rng.integers(0, 4, 40)
    theirs = Theirs(tol=1e-9, max_iter=10000).fit(X, y)
    for rows in (X, sp.csr_array(X)):
        ours = LogisticRegression(tol=1e-8).fit(rows, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 1e6, np.inf]))
def test_nasty_values_give_finite_numbers(n, d, seed, C):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, 5e-324, 1e-160, 1e154, -1e290, 0.1], (n + 1, d))
    y = rng.integers(0, 3, n + 1)
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=C, max_iter=50).fit(X, y)
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_a_callback_sees_each_step_and_may_stop(rng):
    X, y = planted(rng, 500, 5)
    told = []
    full = LogisticRegression(callback=lambda *a: told.append(a)).fit(X, y)
    assert [step for step, _, _ in told] == list(range(1, full.n_iter_[0] + 1))
    assert all(a[2] >= b[2] for a, b in pairwise(told))
    stopped = LogisticRegression(callback=lambda *a: True).fit(X, y)
    assert stopped.n_iter_.tolist() == [1]
    assert stopped.gradient_norm_ > 1e-4


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(rng):
    X, y = planted(rng, 300, 5)

    def interrupt(*_):
        raise KeyboardInterrupt

    model = LogisticRegression().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(X[:, :2], y)
    assert {**model.__getstate__(), "callback": None} == before


@pytest.mark.parametrize("labels", [[True, False], ["no", "yes"], [7, -3], ["a", "b", "c"]])
def test_labels_of_any_kind(rng, labels):
    X, y = planted(rng, 200, 3, len(labels))
    model = LogisticRegression().fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(X).tolist()) == set(labels)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"penalty": "lasso"}, "penalty is 'lasso'; 'l2', 'l1', 'elasticnet' or None is wanted"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be specified"),
        ({"l1_ratio": 1.5}, "l1_ratio is 1.5; a number from 0 to 1 is wanted"),
        ({"l1_ratio": 0.5, "solver": "lbfgs"}, "Solver lbfgs supports only 'l2' or None penalties, got elasticnet"),
        ({"l1_ratio": 0.5, "solver": "liblinear"}, "Only 'saga' solver supports elasticnet penalty"),
        ({"C": np.inf, "solver": "liblinear"}, "penalty=None is not supported for the liblinear solver"),
        ({"dual": True, "solver": "saga"}, "Solver saga supports only dual=False, got dual=True"),
        ({"intercept_scaling": 0}, "intercept_scaling is 0; a number above 0 is wanted"),
        ({"C": 0}, "C is 0; a number above 0 is wanted"),
        ({"tol": -1}, "tol is -1; a number of at least 0 is wanted"),
        ({"solver": "adam"}, "solver is 'adam'; one of 'auto'"),
        ({"max_iter": -1}, "max_iter is -1; at least 0 is wanted"),
        ({"eta0": -1}, "eta0 is -1; a number above 0 is wanted"),
        ({"class_weight": "heavy"}, "class_weight is 'heavy'; a dict, 'balanced' or None is wanted"),
        ({"class_weight": {0: -1}}, r"class_weight\[0\] is -1; a number of at least 0 is wanted"),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**params).fit([[0.0], [1.0], [2.0]], [0, 1, 0])


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[0.0], [1.0]], [1, 1], None, "y has one class, [01]; the number of classes has to be"),
        ([[0.0], [1.0]], [0, 1], [1, 0], "y has one class, [01]; the number of classes has to be"),
        ([[0.0], [1.0]], [0, 1], [0, 0], "sample_weight is zero for every row"),
        ([[0.0], [1.0]], [[0, 1], [1, 0]], None, "y has shape"),
        ([[-1e308], [1e308]], [0, 1], None, "column 0 of X spans more than 1e300"),
        (np.array([[0.0], [np.nan], [1.0]]), [0, 1, 1], [1, 0, 1], r"Input X contains NaN \(row 1, column 0\)"),
        (np.array([[0.0], [np.inf]], np.float32), [0, 1], None, r"Input X contains infinity \(row 1, column 0\)"),
    ],
)
def test_wrong_data_are_refused_in_one_sentence(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression().fit(X, y, weight)


def test_a_saved_model_predicts_the_same(rng, tmp_path):
    X, y = planted(rng, 200, 3, 3)
    model = LogisticRegression(C=2.0, class_weight="balanced").fit(X, y)
    fastclf.save(model, tmp_path / "model")
    loaded = fastclf.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert vars(loaded).keys() == vars(model).keys()


@pytest.mark.parametrize("sparse", [False, True])
def test_scikit_learns_optimum_on_a9a(data_file, sparse):
    from sklearn.linear_model import LogisticRegression as Theirs

    with np.load(data_file("a9a.npz")) as file:
        X, y, X_test, y_test = file["X_train"].astype(np.float32), file["y_train"], file["X_test"], file["y_test"]
    rows = sp.csr_matrix(X) if sparse else X
    ours = LogisticRegression().fit(rows, y)
    theirs = Theirs(solver="newton-cholesky", tol=1e-8).fit(X.astype(np.float64), y)
    codes, weight = (y == ours.classes_[1]).astype(int), np.ones(len(y))
    least = reference.objective(X, codes, theirs.coef_, theirs.intercept_, weight, 1.0)
    assert reference.objective(X, codes, ours.coef_, ours.intercept_, weight, 1.0) == pytest.approx(least, rel=1e-6)
    assert ours.gradient_norm_ <= 1e-4
    assert ours.score(X_test, y_test) == pytest.approx(theirs.score(X_test, y_test), abs=2e-4)


def test_a_sample_without_weight_is_not_taken(rng, monkeypatch):
    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 600)
    monkeypatch.setattr(minimisers, "_ROWS_PER_PARAMETER", 1)
    X, y = planted(rng, 12000, 4)
    # every panel (block of rows) in the sample has weight 0
    weight = (np.arange(12000) // PANEL % 20 != 0).astype(float)
    model = LogisticRegression(tol=1e-9).fit(X, y, weight)
    assert_same(model, LogisticRegression(tol=1e-9).fit(X[weight > 0], y[weight > 0]), rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_subnormal_columns_count_as_constant_ones(rng, C, sparse):
    X, y = planted(rng, 100, 2)
    more = np.column_stack([X, X[:, 0] * 1e-315])
    plain = LogisticRegression(C=C).fit(X, y)
    model = LogisticRegression(C=C).fit(sp.csr_matrix(more) if sparse else more, y)
    np.testing.assert_allclose(model.predict_proba(more), plain.predict_proba(X), atol=1e-4)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("load", [datasets.load_wine, datasets.load_breast_cancer])
def test_the_default_tolerance_leaves_the_objective_right_to_a_millionth(load):
    # the rows are nearly separable, so that the curvature is small at the optimum
    X, y = load(return_X_y=True)
    weight = np.ones(len(y))
    loose, tight = (LogisticRegression(tol=tol).fit(X, y) for tol in (1e-4, 1e-9))
    least = reference.objective(X, y, tight.coef_, tight.intercept_, weight, 1.0)
    assert reference.objective(X, y, loose.coef_, loose.intercept_, weight, 1.0) == pytest.approx(least, rel=1e-6)


def test_second_derivatives_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="second derivatives overflowed"):
        inverses.inverted(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="second derivatives overflowed"):
        inverses.solution_of(np.full((2, 2), np.nan), np.ones(2))


@pytest.mark.parametrize("D", [1, 2, 7, 8, 9, 33, 144, 145])
@pytest.mark.parametrize("stack", [(), (1,), (3,)])
def test_inverses_are_those_of_lapack(D, stack, rng):
    A = rng.normal(size=(*stack, D, 2 * D))
    matrices = A @ A.swapaxes(-1, -2)
    raised = matrices + 1e-10 * np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / D * np.eye(D)
    expected = np.linalg.inv(raised)
    np.testing.assert_allclose(inverses.inverted(matrices), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_no_matrix_of_several_is_inverted_unless_all_are_positive_definite(rng):
    A = rng.normal(size=(3, 9, 20))
    matrices = A @ A.swapaxes(1, 2)
    matrices[1, 4] = matrices[1, :, 4] = 0
    found = inverses.inverted(matrices)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[2] @ matrices[2], np.eye(9), atol=1e-6)
    matrices[1, 4, 4] = -1e-3
    with pytest.raises(np.linalg.LinAlgError):
        inverses._swept(matrices)
    assert np.isfinite(inverses.inverted(matrices)).all()


@pytest.mark.parametrize("rank", [3, 8])
def test_a_newton_step_solves_the_system_of_the_inverse(rank, rng):
    A = rng.normal(size=(8, rank)) * 10.0 ** rng.uniform(-3, 3, (8, 1))
    matrix = A @ A.T
    target = matrix @ rng.normal(size=8)
    size = 1e-8 * np.abs(target).max()  # the diagonal of a singular matrix is increased by 1e-10 of its mean
    np.testing.assert_allclose(matrix @ inverses.solution_of(matrix, target), target, atol=size)
    np.testing.assert_allclose(matrix @ inverses.inverted(matrix) @ target, target, atol=size)


@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_an_inverse_in_float32_has_its_precision_at_any_scale(blocks, scale, rng):
    A = rng.normal(size=(blocks, 9, 9))
    matrices, gradient = scale * (A @ A.transpose(0, 2, 1) + np.eye(9)), rng.normal(size=(4, 9)) * 1e-50
    exact, found = (inverses.inverse_of(matrices, dtype)(gradient) for dtype in (np.float64, np.float32))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    expected = (
        np.linalg.solve(matrices, np.broadcast_to(gradient, (4, 9))[:, :, None])[:, :, 0]
        if blocks == 4
        else (np.linalg.solve(matrices[0], gradient.T).T)
    )
    np.testing.assert_allclose(exact, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_coefficients_of_any_point_in_the_row_space_have_its_scores(rng, n_classes, weighted, intercept):
    X = rng.normal(size=(20, 50)) * np.geomspace(1e-2, 1e2, 50) + 3
    codes = (np.arange(len(X)) % n_classes).astype(np.int32)
    weights = rng.random(len(X)) if weighted else None
    space = likelihood.RowSpace(likelihood.Likelihood(X, codes, n_classes, weights, 0.1, intercept, 1), 1)
    theta = rng.normal(size=space.shape) * [*[1] * space.d, intercept]
    coef, b = space.coefficients(theta)
    np.testing.assert_allclose(X @ coef.T + b, space.row_scores(theta), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [2, PANEL - 1, PANEL + 1, 3 * PANEL, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_zeros_of_triangular_rows_may_be_left_out(rng, n, weighted):
    X, codes = rng.normal(size=(n, n + 9)), (np.arange(n) % 2).astype(np.int32)
    weights = rng.random(n) if weighted else None
    space = likelihood.RowSpace(likelihood.Likelihood(X, codes, 2, weights, 0.1, True, 1), 1)
    assert space.is_plain
    assert space.is_triangular
    np.testing.assert_array_equal(np.triu(space.X, 1), 0)
    theta = rng.normal(size=space.shape)
    found = space.evaluate(theta)
    space.is_triangular = False
    expected = space.evaluate(theta)
    assert found.objective == pytest.approx(expected.objective, rel=1e-14)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", [(200, 5), (20, 50)])
def test_a_point_of_one_penalty_is_that_of_another(n_classes, shape, rng):
    X = rng.normal(size=shape) * np.geomspace(0.1, 10, shape[1]) + 3
    codes = (np.arange(len(X)) % n_classes).astype(np.int32)
    first, other = (likelihood.Likelihood(X, codes, n_classes, None, penalty, True, 1) for penalty in (0.1, 2.0))
    if first.fits_row_space:
        first, other = likelihood.RowSpace(first, 1), likelihood.RowSpace(other, 1)
    assert (shape == (20, 50)) == isinstance(first, likelihood.RowSpace)
    point = first.evaluate(rng.normal(size=first.shape), 1, "full")
    moved, found = first.at(2.0, point)
    expected = other.evaluate(found.theta, 1, "full")
    for ours, theirs in zip(moved.coefficients(found.theta), first.coefficients(point.theta)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    for ours, theirs in (
        (found.objective, expected.objective),
        (found.gradient, expected.gradient),
        (found.norm, expected.norm),
        (moved.curvature, expected.curvature),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_row_space_by_products_is_that_of_a_decomposition(n_classes, fit_intercept, rng, monkeypatch):
    X = rng.normal(size=(30, 80)) * np.geomspace(0.1, 10, 80) + 3
    codes = (np.arange(30) % n_classes).astype(np.int32)
    fits = [LogisticRegression(tol=1e-10, fit_intercept=fit_intercept).fit(X, codes)]
    monkeypatch.setattr(likelihood, "_LEAST_PIVOT", np.inf)
    fits.append(LogisticRegression(tol=1e-10, fit_intercept=fit_intercept).fit(X, codes))
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fits[0].intercept_, fits[1].intercept_, rtol=1e-6, atol=1e-8)


def test_rows_that_occur_twice_have_a_row_space(rng):
    X = rng.normal(size=(20, 80))
    X, codes = np.vstack([X, X]), np.r_[np.arange(20) % 2, np.arange(20) % 2]
    twice, once = LogisticRegression(tol=1e-9).fit(X, codes), LogisticRegression(tol=1e-9, C=2).fit(X[:20], codes[:20])
    np.testing.assert_allclose(twice.coef_, once.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_second_derivatives_of_rows_in_doubt_are_those_of_the_rows(n_classes, share, rng):
    X = rng.normal(size=(300, 5)) + np.arange(5)
    codes, weight = (np.arange(300) % n_classes).astype(np.int32), rng.random(300)
    problem = likelihood.Likelihood(X, codes, n_classes, weight, 0.1, True, 1)
    theta = rng.normal(size=problem.shape)
    model = problem.rows_in_doubt(ScoreLine(problem, theta), share, 300)
    assert problem.rows_in_doubt(ScoreLine(problem, theta), share, len(model.Z) - 1) is None
    V, width = rng.normal(size=problem.shape), 1e-6
    if share == 0:
        slope = problem.evaluate(theta + width * V).gradient - problem.evaluate(theta - width * V).gradient
        rounding = 8 * np.finfo(np.float32).eps  # the products of the model are computed in float32
        np.testing.assert_allclose(model.times(V), slope / (2 * width), rtol=1e-5, atol=rounding * np.abs(slope).max())
        blocks = problem.evaluate(theta, 1, "diagonal").curvature
        np.testing.assert_allclose(model.diagonal(), blocks, atol=1e-3)
        np.testing.assert_allclose(model.shared()[0], blocks.mean(axis=0), atol=rounding * np.abs(blocks).max())
    else:
        assert len(model.Z) < 300


@pytest.mark.parametrize("n_classes", [2, 4])
def test_second_derivatives_keep_their_digits_where_all_rows_are_nearly_certain(n_classes, rng):
    codes = (np.arange(40) % n_classes).astype(np.int32)
    X = np.eye(n_classes)[codes] + 0.1 * rng.random((40, n_classes))
    problem = likelihood.Likelihood(X, codes, n_classes, None, 1e-30, True, 1)
    towards = problem.parameters(np.eye(n_classes), np.zeros(n_classes)) if n_classes > 2 else [[-1.0, 1.0, 0.0]]
    theta = 30 * np.array(towards)
    model, V = problem.rows_in_doubt(ScoreLine(problem, theta), 0.0, 40), rng.normal(size=problem.shape)
    coef, intercept = problem.coefficients(theta)
    Z = np.column_stack([(X - problem.mean) * problem.factor, np.ones(40)])
    s, t = X @ coef.T + intercept, Z @ V.T
    if n_classes == 2:
        bends = np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s))) ** 2 * t
    else:
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        # p_k (t_k - sum_m p_m t_m) is computed as a sum of differences, in which no digits cancel
        bends = p * np.einsum("im,ikm->ik", p, t[:, :, None] - t[:, None, :])
    expected = bends.T @ Z / 40
    assert np.abs(expected).max() < 1e-6
    np.testing.assert_allclose(model.times(V), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_nearly_separated_rows_of_many_classes_take_few_steps(rng):
    codes = np.arange(3000) % 20
    X = rng.normal(size=(20, 30))[codes] * 3 + rng.normal(size=(3000, 30))
    model = LogisticRegression().fit(X, codes)
    assert model.gradient_norm_ <= 1e-4
    assert model.n_iter_[0] <= 40


@pytest.mark.parametrize("columns", [0, 128])
@pytest.mark.parametrize("steps", [0, 1000])
def test_the_preconditioner_only_changes_the_way_to_the_optimum(columns, steps, rng, monkeypatch):
    codes = np.arange(1500) % 6
    X = rng.normal(size=(6, 20))[codes] * 2 + rng.normal(size=(1500, 20))
    weight = rng.random(1500)
    expected = LogisticRegression(tol=1e-9, solver="newton-cholesky").fit(X, codes, weight)
    monkeypatch.setattr(likelihood, "_FEW_COLUMNS", columns)
    monkeypatch.setattr(likelihood, "_BLOCK_STEPS", steps)
    monkeypatch.setattr(minimisers, "_STEPS", 2)
    model = LogisticRegression(tol=1e-9, solver="lbfgs").fit(X, codes, weight)
    assert model.gradient_norm_ <= 1e-9
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_blocks_are_chosen_where_their_products_are_saved(n_classes, rng, monkeypatch):
    X, y = planted(rng, 400, 12, n_classes)
    problem = likelihood.Likelihood(X, y.astype(np.int32), n_classes, None, 0.1, True, 1)
    model = problem.rows_in_doubt(ScoreLine(problem, np.zeros(problem.shape)), 0.0, 400)
    np.testing.assert_array_equal(model.preconditioner(), model.diagonal())
    monkeypatch.setattr(likelihood, "_FEW_COLUMNS", 12)
    monkeypatch.setattr(likelihood, "_BLOCK_STEPS", 1000)
    np.testing.assert_array_equal(model.preconditioner(), model.diagonal())
    monkeypatch.setattr(likelihood, "_BLOCK_STEPS", 0)
    np.testing.assert_array_equal(model.preconditioner(), model.shared())


def test_a_compact_history_ends_at_the_same_optimum(rng, monkeypatch):
    X = sp.random_array((200, 1100), density=0.03, rng=rng, format="csr")
    y = rng.integers(0, 3, 200)
    expected = LogisticRegression(tol=1e-9).fit(X, y)
    monkeypatch.setattr(minimisers, "_MANY_PARAMETERS", 1)
    found = LogisticRegression(tol=1e-9).fit(X, y)
    assert found.gradient_norm_ <= 1e-9
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 11])
@pytest.mark.parametrize("kind", ["diagonal", "shared", "of each class", "full"])
def test_compiled_steps_are_those_of_the_plain_loop(rng, n_classes, kind):
    X, y = planted(rng, 500, 7, n_classes)
    problem = likelihood.Likelihood(X, y.astype(np.int32), n_classes, None, 1e-3, True, 1)
    assert problem.takes_small_steps
    start = problem.evaluate(np.zeros(problem.shape))
    if kind == "diagonal":
        curvature = problem.diagonal
    else:
        curvature = problem.evaluate(start.theta, 1, {"of each class": "diagonal"}.get(kind, kind)).curvature
    compiled = list(small_steps.Search(problem, start).points(start, 1e-6, curvature))
    plain = list(minimisers.lbfgs(problem.evaluate, start, 1e-6, inverses.inverse_of(curvature)))
    assert len(compiled) == len(plain) > 3
    for ours, other in zip(compiled, plain):
        # rounding errors of the first steps grow in later ones
        np.testing.assert_allclose(ours.theta, other.theta, rtol=1e-4, atol=1e-5)
        assert np.isclose(ours.objective, problem.evaluate(ours.theta).objective, rtol=1e-12)
    assert compiled[-1].is_optimal(1e-6)


def test_steps_for_few_rows_reach_the_optimum_of_newton_s_method(rng):
    for n, d, n_classes, spread in ((60, 3, 2, 1), (300, 10, 3, 1), (400, 5, 9, 5), (90, 200, 2, 3), (700, 30, 4, 4)):
        X = rng.standard_normal((n, d)) + spread * rng.standard_normal((n_classes, d))[np.arange(n) % n_classes]
        y = np.arange(n) % n_classes
        ours, newton = (
            LogisticRegression(solver=solver, tol=1e-8).fit(X, y) for solver in ("lbfgs", "newton-cholesky")
        )
        np.testing.assert_allclose(ours.predict_proba(X), newton.predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(ours.log_likelihood_, newton.log_likelihood_, rtol=1e-6)
