"""The linear support vector machine: the optimum that a slow dual method finds, with a proof that is true."""

import re
import warnings

import numpy as np
import pytest
import reference_linear_svc as reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from fastclf import LinearSVC, load, save
from fastclf._csr import as_csr
from fastclf.sums import blocks
from fastclf.svm import linear_svc, proximal_newton, small_planes, soft_margin

pytestmark = pytest.mark.levels

LOSSES = ["hinge", "squared_hinge"]


def noisy(rng, n, d, dtype=np.float64):
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) + 0.3 > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


def objective(model, X, y, cost, k=0):
    """The primal objective of hyperplane k, computed from its coefficients only."""
    positive = model.classes_[1] if len(model.classes_) == 2 else model.classes_[k]
    w, b = model.coef_[k], model.intercept_[k]
    penalty = 0 if model.intercept_scaling is None or not model.fit_intercept else (b / model.intercept_scaling) ** 2
    z = reference.losses(X, np.where(y == positive, 1, -1), cost, w, b, model.loss == "squared_hinge")
    return 0.5 * (w @ w + penalty) + z.sum()


@pytest.fixture(params=["few rows", "newton", "descent"])
def solver(request, monkeypatch):
    """Each of the three solvers, whichever is chosen by default."""
    if request.param != "few rows":
        monkeypatch.setattr(small_planes, "_COLUMNS", 0)
    if request.param == "newton":
        monkeypatch.setattr(linear_svc, "_TALL", 0)
    if request.param == "descent":
        monkeypatch.setattr(linear_svc, "_NEWTON_SIZE", 0)
        monkeypatch.setattr(linear_svc, "_DENSE_NEWTON_SIZE", 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None, 0.3, 3.0])
@pytest.mark.parametrize(("n", "d", "C"), [(40, 3, 1.0), (30, 40, 0.1), (30, 2, 3.0)])
def test_the_optimum_is_that_of_the_slow_method(rng, solver, loss, scaling, n, d, C):
    X, y = noisy(rng, n, d)
    model = LinearSVC(loss=loss, C=C, intercept_scaling=scaling, tol=1e-7, max_iter=100_000).fit(X, y)
    w, b, least = reference.solve(X, y, np.full(n, C), loss == "squared_hinge", scaling)
    np.testing.assert_allclose(model.coef_[0], w, rtol=0, atol=1e-5 * np.abs(w).max())
    assert model.primal_objective_ == pytest.approx(least, rel=1e-7)
    assert objective(model, X, y, np.full(n, C)) == pytest.approx(least, rel=1e-7)
    # without either condition, a whole interval of intercepts is optimal
    if loss == "squared_hinge" or scaling is not None:
        assert model.intercept_[0] == pytest.approx(b, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix])
def test_dense_and_sparse_rows_of_both_types_have_the_same_planes(rng, solver, loss, dtype, rows):
    X, y = noisy(rng, 200, 7, dtype)
    X[rng.random(X.shape) < 0.4] = 0
    expected = LinearSVC(loss=loss, tol=1e-8, max_iter=100_000).fit(X.astype(np.float64), y)
    model = LinearSVC(loss=loss, tol=1e-8, max_iter=100_000).fit(rows(X), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.predict(rows(X)), expected.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("load_data", [load_iris, load_breast_cancer])
def test_on_known_data_the_optimum_is_liblinears(loss, load_data):
    X, y = load_data(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
    theirs = svm.LinearSVC(loss=loss, tol=1e-10, dual=True, max_iter=1_000_000).fit(X, y)
    assert model.violation_ <= 1e-6
    cost = np.ones(len(y))
    for k in range(len(model.coef_)):
        assert objective(model, X, y, cost, k) == pytest.approx(objective(theirs, X, y, cost, k), rel=1e-7)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
    assert (model.predict(X) == theirs.predict(X)).mean() > 0.99


@pytest.mark.parametrize("loss", LOSSES)
def test_on_a9a_the_optimum_is_liblinears(data_file, loss):
    with np.load(data_file("a9a.npz")) as file:
        X, y = sparse.csr_matrix(file["X_train"].astype(float)), file["y_train"]
    model = LinearSVC(loss=loss).fit(X, y)
    # the objectives that LIBLINEAR's dual method reaches with tol=1e-8
    assert model.primal_objective_ == pytest.approx({"hinge": 11433.70, "squared_hinge": 13742.3733}[loss], rel=1e-7)
    assert model.violation_ <= 1e-4
    assert 0 <= model.duality_gap_ <= 1e-6 * model.primal_objective_


@pytest.mark.parametrize("scaling", [1, None])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_proof_is_true(rng, loss, scaling):
    X, y = noisy(rng, 500, 4)
    model = LinearSVC(loss=loss, intercept_scaling=scaling).fit(X, y)
    assert model.violation_ <= 1e-4
    assert model.primal_objective_ == pytest.approx(objective(model, X, y, np.ones(500)), rel=1e-12)
    least = reference.solve(X, y, np.ones(500), loss == "squared_hinge", scaling)[2]
    assert model.dual_objective_ <= least * (1 + 1e-9)
    assert model.primal_objective_ >= least * (1 - 1e-9)
    assert model.duality_gap_ == pytest.approx(model.primal_objective_ - model.dual_objective_, abs=1e-12)


def test_a_sample_leads_to_the_optimum_of_all_rows(rng):
    X, y = noisy(rng, 40_000, 3)
    for loss in LOSSES:
        for scaling in (1, None):
            model = LinearSVC(loss=loss, intercept_scaling=scaling).fit(X, y)
            assert model.violation_ <= 1e-4
            assert model.duality_gap_ <= 1e-6 * model.primal_objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_at_a_price_that_leaves_no_row_near_the_margin_the_optimum_is_exact(rng, loss):
    X, y = noisy(rng, 6000, 2)
    model = LinearSVC(loss=loss, C=1e-9).fit(X, y)
    assert model.primal_objective_ == pytest.approx(6000e-9, rel=1e-4)
    assert model.duality_gap_ <= 1e-12 * model.primal_objective_


def test_rows_that_the_sample_has_not_change_the_plane(rng):
    """A fit that begins with a sample of the rows also finds the few far rows whose costs move the hyperplane."""
    X, y = noisy(rng, 30_000, 2)
    X[::3000] *= 1000
    weight = np.ones(30_000)
    weight[::3000] = 500
    model = LinearSVC(loss="hinge").fit(X, y, weight)
    assert model.violation_ <= 1e-4
    assert model.duality_gap_ <= 1e-5 * model.primal_objective_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
def test_weight_two_is_a_row_twice_and_weight_zero_a_missing_one(rng, solver, loss, scaling):
    X, y = noisy(rng, 90, 3)
    weight = rng.integers(0, 3, 90).astype(float)
    parameters = dict(loss=loss, tol=1e-8, intercept_scaling=scaling, max_iter=100_000)
    weighted = LinearSVC(**parameters).fit(X, y, weight)
    rows = np.repeat(np.arange(90), weight.astype(int))
    repeated = LinearSVC(**parameters).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-9)
    assert weighted.violation_ <= 1e-8
    y[weight == 0] = 7  # a label that only rows of weight 0 have is no class
    np.testing.assert_array_equal(LinearSVC(**parameters).fit(X, y, weight).coef_, weighted.coef_)


def test_class_weights_are_factors_of_the_cost(rng):
    X, y = noisy(rng, 120, 3)
    for given_weight in ({-1: 3.0, 1: 0.5}, "balanced"):
        model = LinearSVC(tol=1e-8, class_weight=given_weight).fit(X, y)
        balanced = {k: 120 / (2 * (y == k).sum()) for k in (-1, 1)}
        factor = balanced if given_weight == "balanced" else given_weight
        by_row = LinearSVC(tol=1e-8).fit(X, y, np.where(y == 1, factor[1], factor[-1]))
        np.testing.assert_allclose(model.coef_, by_row.coef_, rtol=1e-9)
    X, y = load_iris(return_X_y=True)
    ours = LinearSVC(tol=1e-8, class_weight={0: 5.0, 2: 0.1}).fit(X, y)
    theirs = svm.LinearSVC(tol=1e-10, class_weight={0: 5.0, 2: 0.1}, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


def test_lam_is_another_word_for_C(rng):
    X, y = noisy(rng, 100, 3)
    by_lam, by_C = LinearSVC(loss="hinge", lam=0.25).fit(X, y), LinearSVC(loss="hinge", C=2.0).fit(X, y)
    np.testing.assert_array_equal(by_lam.coef_, by_C.coef_)
    assert by_lam.C_.tolist() == by_C.C_.tolist() == [2.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
@pytest.mark.parametrize("C", [0.01, 0.2])
def test_a_budget_is_spent_and_no_shorter_plane_is_within_it(rng, solver, loss, scaling, C):
    X, y = noisy(rng, 100, 3)
    first = LinearSVC(loss=loss, C=C, intercept_scaling=scaling, max_iter=100_000).fit(X, y)
    budget = reference.losses(X, y, 1, first.coef_[0], first.intercept_[0], loss == "squared_hinge").sum()
    model = LinearSVC(loss=loss, budget=budget, intercept_scaling=scaling, max_iter=100_000).fit(X, y)
    spent = reference.losses(X, y, 1, model.coef_[0], model.intercept_[0], loss == "squared_hinge").sum()
    assert 0.999 * budget - 1e-9 <= spent <= budget + 1e-9
    # the solution at a C has the least norm among hyperplanes with the same sum of losses
    again = LinearSVC(loss=loss, C=model.C_[0], intercept_scaling=scaling, tol=1e-6, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(model.coef_, first.coef_, rtol=1e-2, atol=1e-2)


def test_a_large_budget_leaves_no_weights(rng):
    X, y = noisy(rng, 100, 3)
    model = LinearSVC(loss="hinge", budget=100.0).fit(X, y)
    assert not model.coef_.any()
    assert (model.intercept_[0], model.C_[0], model.violation_) == (0, 0, 0)
    few = 2.0 * min((y == 1).sum(), (y == -1).sum())
    model = LinearSVC(loss="hinge", budget=few, intercept_scaling=None).fit(X, y)
    assert not model.coef_.any()
    assert set(model.predict(X)) == {1 if (y == 1).sum() > 50 else -1}


def test_a_budget_that_no_plane_keeps_is_refused(rng):
    X, y = noisy(rng, 100, 2)
    with pytest.raises(ValueError, match=r"budget is 1e-06; no hyperplane was found whose losses add up to less"):
        LinearSVC(budget=1e-6).fit(X, y)


def test_separable_rows_have_a_budget_of_almost_nothing():
    model = LinearSVC(loss="hinge", budget=1e-6, intercept_scaling=None).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], [1, -2], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_no_bit(rng, monkeypatch, solver, loss):
    monkeypatch.setattr(blocks, "BLOCK_WORK", 64)
    monkeypatch.setattr(soft_margin, "_RANGE_WORK", 64)
    X, y = noisy(rng, 400, 5)
    y += rng.integers(0, 2, 400)
    for rows in (X, sparse.csr_matrix(X)):
        one, three = (LinearSVC(loss=loss, n_jobs=n, max_iter=50_000).fit(rows, y) for n in (1, 3))
        np.testing.assert_array_equal(one.coef_, three.coef_)
        np.testing.assert_array_equal(one.intercept_, three.intercept_)


@pytest.mark.parametrize("rows", [np.asarray, lambda X: as_csr(sparse.csr_matrix(X), "a test")])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_second_derivatives_are_sums_with_weights_of_any_sign(rng, rows, share):
    X, y = noisy(rng, 300, 21)
    weight = np.where(rng.random(300) < share, rng.standard_normal(300), 0)
    problem = soft_margin.Problem(rows(X), y, np.ones(300), (X * X).sum(axis=1), False, 0.5, False, 1)
    with_bias = np.column_stack([X, np.full(300, 0.5)])
    np.testing.assert_allclose(problem.products(weight), with_bias.T @ (weight[:, None] * with_bias), atol=1e-11)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("scaling", [1, None])
def test_extreme_prices_have_an_optimum(rng, loss, C, scaling):
    X, y = noisy(rng, 60, 2)
    model = LinearSVC(loss=loss, C=C, intercept_scaling=scaling).fit(X, y)
    assert model.violation_ <= 1e-4
    assert model.duality_gap_ <= 1e-4 * model.primal_objective_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
def test_unscaled_columns_have_an_answer_or_a_warning(rng, solver, loss, scaling):
    X, y = noisy(rng, 200, 3)
    X = X * [1e-3, 1.0, 1e6] + [0.0, 5.0, 1e6]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LinearSVC(loss=loss, intercept_scaling=scaling).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.violation_ <= 1e-4 or [w.category for w in caught] == [ConvergenceWarning]


DEGENERATE = {
    "two rows": ([[0.0], [2.0]], [0, 1]),
    "rows equal": ([[1.0, 2.0]] * 6, [0, 1, 0, 1, 1, 1]),
    "rows of zeros": ([[0.0, 0.0]] * 4, [0, 1, 0, 1]),
    "a constant column": ([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 1, 0, 1]),
    "opposite labels": ([[1.0], [1.0], [-1.0], [-1.0]], [0, 1, 0, 1]),
    "tiny": ([[1e-200], [2e-200], [3e-200]], [0, 0, 1]),
    "huge": ([[1e140], [2e140], [3e140]], [0, 0, 1]),
    "subnormal": ([[5e-324, 1.0], [0.0, 2.0]], [0, 1]),
    "wide": (np.eye(3, 2000), [0, 1, 1]),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_rows_have_a_finite_answer(name, loss, scaling, solver):
    X, y = map(np.array, DEGENERATE[name])
    for rows in (X, sparse.csr_matrix(X)):
        model = LinearSVC(loss=loss, intercept_scaling=scaling).fit(rows, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert model.violation_ >= 0
        assert set(model.predict(rows)) <= {0, 1}
        if name != "huge":
            assert model.violation_ <= 1e-4


@given(st.integers(2, 30), st.integers(1, 4), st.data())
def test_the_dual_never_exceeds_the_primal_and_converged_is_true(n, d, data):
    values = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 100.0])
    X = np.array(data.draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.arange(n) % 2
    C = data.draw(st.sampled_from([1e-3, 1.0, 1e3]))
    for loss in LOSSES:
        for scaling in (1, None):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = LinearSVC(loss=loss, C=C, intercept_scaling=scaling).fit(X, y)
            assert model.dual_objective_ <= model.primal_objective_ * (1 + 1e-9) + 1e-9
            assert model.violation_ <= 1e-4 or len(caught) == 1


def sparse_classes(rng, n_classes, dtype=np.float64):
    """Sparse rows of 1100 columns, and a class that each of them has mostly for its largest sum."""
    X = sparse.random(40 * n_classes, 1100, 0.02, "csr", dtype, random_state=rng)
    y = (X @ rng.standard_normal((1100, n_classes)) + 0.1 * rng.standard_normal((40 * n_classes, n_classes))).argmax(1)
    y[:n_classes] = np.arange(n_classes)  # every class occurs
    return X, y


@pairwise_grid(
    n_classes=[3, 8, 9, 20],
    dtype=[np.float32, np.float64],
    C=[0.01, 1, 100],
    weights=[None, "samples", "zeros", "classes"],
    intercept=[{}, {"fit_intercept": False}, {"intercept_scaling": 5}],
)
def test_planes_that_are_found_side_by_side_are_those_of_each_alone(
    rng, monkeypatch, n_classes, dtype, C, weights, intercept
):
    X, y = sparse_classes(rng, n_classes, dtype)
    weight = rng.random(len(y)) + 0.5 if weights in ("samples", "zeros") else None
    if weights == "zeros":
        weight[n_classes : 3 * n_classes] = 0
    class_weight = {0: 2.5, 2: 0.3} if weights == "classes" else None
    model = LinearSVC(C=C, tol=1e-7, max_iter=100_000, class_weight=class_weight, **intercept)
    together = model.fit(X, y, weight)
    found = {name: getattr(together, name) for name in ("coef_", "intercept_", "primal_objective_", "violation_")}
    assert found["violation_"] <= 1e-7
    monkeypatch.setattr(linear_svc, "_FEWEST_TOGETHER", np.inf)
    alone = model.fit(X, y, weight)
    np.testing.assert_allclose(found["primal_objective_"], alone.primal_objective_, rtol=1e-9)
    atol = 1e-5 * np.abs(alone.coef_).max()
    np.testing.assert_allclose(found["coef_"], alone.coef_, rtol=0, atol=atol)
    np.testing.assert_allclose(found["intercept_"], alone.intercept_, rtol=0, atol=10 * atol)


def test_planes_found_side_by_side_do_not_depend_on_threads_or_on_who_watches(rng):
    X, y = sparse_classes(rng, 20)
    coef = LinearSVC(n_jobs=1).fit(X, y).coef_
    np.testing.assert_array_equal(LinearSVC(n_jobs=2).fit(X, y).coef_, coef)
    seen = []
    watched = LinearSVC(n_jobs=1, callback=lambda step, total, value: seen.append(value)).fit(X, y)
    np.testing.assert_array_equal(watched.coef_, coef)
    assert len(seen) >= 3 * watched.n_iter_ // 2  # three groups, of which the slowest tells n_iter_
    assert min(seen) <= 1e-4
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        stopped = LinearSVC(n_jobs=1, max_iter=2).fit(X, y)
    assert stopped.n_iter_ == 2
    assert any("max_iter=2" in str(each.message) for each in told)


def test_many_columns_are_for_coordinate_descent(rng):
    X = sparse.random(1200, 3000, 0.01, "csr", random_state=0)
    y = (X @ rng.standard_normal(3000) > 0).astype(int)
    for loss in LOSSES:
        model = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
        theirs = svm.LinearSVC(loss=loss, tol=1e-8, dual=True, max_iter=100_000).fit(X, y)
        assert model.violation_ <= 1e-6
        cost = np.ones(1200)
        assert objective(model, X, y, cost) == pytest.approx(objective(theirs, X, y, cost), rel=1e-6)
        quick = LinearSVC(loss=loss).fit(X, y)
        assert quick.violation_ <= 1e-4
        assert -1e-9 <= objective(quick, X, y, cost) - objective(model, X, y, cost) <= quick.duality_gap_


def test_reaching_max_iter_warns_with_the_violation_left(rng, solver):
    X, y = noisy(rng, 300, 5)
    with pytest.warns(
        ConvergenceWarning, match=r"violation_ is [0-9.e+-]+, above tol=1e-06, as max_iter=2 was reached"
    ):
        model = LinearSVC(loss="hinge", tol=1e-6, max_iter=2).fit(X, y)
    assert model.violation_ > 1e-6
    assert model.n_iter_ == 2


def test_a_callback_sees_each_step_and_ends_the_fit(rng, solver):
    X, y = noisy(rng, 300, 5)
    seen = []

    def callback(step, total, value):
        seen.append((step, total, value))
        return len(seen) == 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC(loss="hinge", callback=callback).fit(X, y)
    assert [step for step, _, _ in seen] == [1, 2, 3]
    assert model.n_iter_ == 3


def test_an_interrupted_fit_leaves_the_model_as_it_was(rng, solver):
    X, y = noisy(rng, 300, 5)
    model = LinearSVC(loss="hinge").fit(X, y)
    before = dict(vars(model))

    def interrupt(*_):
        raise KeyboardInterrupt

    model.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert {**model.__getstate__(), "callback": None} == before


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
def test_what_a_callback_is_told_falls_to_the_tolerance(rng, solver, loss, scaling):
    X, y = noisy(rng, 300, 5)
    told = []
    model = LinearSVC(
        loss=loss, intercept_scaling=scaling, max_iter=100_000, callback=lambda *now: told.append(now[2])
    ).fit(X, y)
    assert told[0] > 1e-2
    assert told[-1] <= 1e-4
    assert model.violation_ <= 1e-4


def test_what_a_callback_is_told_never_rises_in_newtons_method(rng, monkeypatch):
    monkeypatch.setattr(linear_svc, "_EPOCHS", 0)
    X, y = noisy(rng, 300, 5)
    told = []
    LinearSVC(loss="hinge", callback=lambda *now: told.append(now[2])).fit(X, y)
    assert told == sorted(told, reverse=True)
    assert told[-1] <= 1e-4 < 1 < told[0]


def test_the_hinge_of_many_rows_does_not_wait_for_coordinate_descent(rng):
    X, y = noisy(rng, 20_000, 30)
    steps = []
    model = LinearSVC(loss="hinge", max_iter=100_000, callback=lambda *now: steps.append(now[2])).fit(X, y)
    assert model.violation_ <= 1e-4
    assert len(steps) < 300  # a thousand epochs would take ten times as long as Newton's method
    np.testing.assert_array_equal(model.coef_, LinearSVC(loss="hinge", max_iter=100_000).fit(X, y).coef_)


def test_progress_shows_the_violation(rng, capsys, solver):
    X, y = noisy(rng, 50, 2)
    LinearSVC(verbose=1).fit(X, y)
    assert re.search(r"LinearSVC.fit: .*violation \d.*e-", capsys.readouterr().err)


def test_predictions_and_scores_are_those_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four"] * 2)[y]
    model = LinearSVC(tol=1e-6, C=1e-3).fit(X, names)
    theirs = svm.LinearSVC(tol=1e-8, C=1e-3, max_iter=100_000).fit(X, names)
    np.testing.assert_array_equal(model.classes_, theirs.classes_)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))


def test_a_saved_model_answers_as_before(rng, tmp_path):
    X, y = noisy(rng, 100, 3)
    model = LinearSVC(class_weight="balanced").fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.violation_, again.n_iter_) == (model.violation_, model.n_iter_)


def test_a_state_that_does_not_fit_is_refused(rng):
    model = LinearSVC().fit(*noisy(rng, 20, 3))
    for name, value in {"C_": np.ones(2), "coef_": np.ones((1, 2)), "n_iter_": -1}.items():
        other = LinearSVC()
        vars(other).update({**vars(model), name: value})
        with pytest.raises(ValueError, match=name):
            other._check_state()


BAD = {
    "penalty": (dict(penalty="l0"), "penalty is 'l0'; one of 'l1', 'l2' is wanted"),
    "loss": (dict(loss="log"), "loss is 'log'; one of 'hinge', 'squared_hinge' is wanted"),
    "dual": (dict(dual="no"), "dual is 'no'; 'auto', True or False is wanted"),
    "multi_class": (dict(multi_class="ovo"), "multi_class is 'ovo'; one of 'ovr', 'crammer_singer' is wanted"),
    "tol": (dict(tol=0), "tol is 0; a number above 0 is wanted"),
    "C": (dict(C=np.inf), "C is inf; a finite number is wanted"),
    "lam": (dict(lam=-1), "lam is -1; a number above 0 is wanted"),
    "budget": (dict(budget="much"), "budget is 'much'; a number is wanted"),
    "both": (dict(lam=1.0, budget=1.0), "lam is 1.0 and budget 1.0; one of them is wanted, or none"),
    "intercept_scaling": (dict(intercept_scaling=0), "intercept_scaling is 0; a number above 0 is wanted"),
    "max_iter": (dict(max_iter=0), "max_iter is 0; at least 1 is wanted"),
    "class_weight": (dict(class_weight="heavy"), "class_weight is 'heavy'; a dict, 'balanced' or None is wanted"),
    "class weights": (dict(class_weight={1: -1}), r"class_weight\[1\] is -1; a number of at least 0 is wanted"),
    "no class counts": (dict(class_weight={1: 0, -1: 0}), "class_weight is {1: 0, -1: 0}; a weight above 0 is wanted"),
    "class list": (dict(class_weight=[1, 2]), r"class_weight is \[1, 2\]; a dict, 'balanced' or None is wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_get_one_sentence(rng, name):
    parameters, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        LinearSVC(**parameters).fit(*noisy(rng, 20, 2))
    assert "\n" not in str(caught.value)


def test_bad_rows_get_one_sentence(rng):
    X, y = noisy(rng, 20, 2)
    X[3, 1] = np.nan
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=r"Input X contains NaN \(row 3, column 1\); LinearSVC wants finite"):
            LinearSVC().fit(rows, y)
    with pytest.raises(ValueError, match="row 1 of X is longer than 1e150; smaller numbers are wanted"):
        LinearSVC().fit([[1.0], [1e200]], [0, 1])
    with pytest.raises(ValueError, match="y has one class, 3; the number of classes has to be greater than one"):
        LinearSVC().fit([[1.0], [2.0]], [3, 3])
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        LinearSVC().fit([[1.0], [2.0]], [3, 4], [0, 0])


@pytest.mark.parametrize(
    ("C", "scale"), [(1e-4, 1.0), (1.0, 1.0), (1e4, 1.0), (1e-4, 1e3), (1.0, 1e3), (1.0, 1e-3), (1e8, 1e-3)]
)
def test_few_rows_are_optimal_at_any_price_and_scale(rng, C, scale):
    X, y = noisy(rng, 60, 4)
    X, weight = X * scale, rng.integers(0, 3, 60)
    model = LinearSVC(C=C).fit(X, y, sample_weight=weight)
    assert model.violation_ <= 1e-4
    assert model.duality_gap_ <= 1e-6 * max(1.0, model.primal_objective_)


def test_equal_rows_of_two_classes_and_columns_of_zeros_are_no_obstacle():
    X = np.zeros((6, 3))
    X[:, 1] = [1, 1, 1, 1, 2, 2]
    model = LinearSVC().fit(X, [0, 1, 0, 1, 1, 1])
    assert model.violation_ <= 1e-4
    assert model.coef_[0, [0, 2]].tolist() == [0, 0]


@pytest.fixture
def any_size_descends(monkeypatch):
    """Coordinate descent is tried before Newton's method on data of any size."""
    monkeypatch.setattr(linear_svc, "_SMALL_WORK", 0)


@pytest.mark.usefixtures("any_size_descends")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("columns", [0, 128])
@pytest.mark.parametrize("apart", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("visits", [0, 2000, 1 << 30])
def test_newtons_method_goes_on_from_wherever_descent_ends(rng, monkeypatch, loss, columns, apart, visits):
    monkeypatch.setattr(small_planes, "_COLUMNS", columns)
    monkeypatch.setattr(linear_svc, "_visits", lambda problem: visits)
    X, y = noisy(rng, 300, 12)
    X += apart * y[:, None]
    model = LinearSVC(loss=loss, tol=1e-5).fit(X, y)
    w, _, least = reference.solve(X, y, np.ones(300), loss == "squared_hinge", 1)
    assert model.violation_ <= 1e-5
    np.testing.assert_allclose(model.coef_[0], w, rtol=0, atol=1e-3 * np.abs(w).max())
    assert objective(model, X, y, np.ones(300)) == pytest.approx(least, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("twice", [False, True])
def test_of_few_rows_of_large_numbers_the_squared_hinge_has_its_optimum(rng, twice):
    X, y = noisy(rng, 300, 3)
    X = 1e6 * (np.hstack([X, X]) if twice else X)
    model = LinearSVC().fit(X, y)  # without a warning
    assert model.violation_ <= 1e-4
    z = np.maximum(0, 1 - y * model.decision_function(X))
    # the objective is convex, and flat at its optimum
    gradient = np.append(model.coef_[0] / 1e6 - 2 * (z * y) @ (X / 1e6), model.intercept_ - 2 * (z * y).sum())
    np.testing.assert_allclose(gradient, 0, atol=1e-7)


@pytest.mark.filterwarnings("ignore:violation_ is .* as rounding allows no further step")
@pytest.mark.parametrize("d", [2, 8])
def test_of_few_rows_of_large_numbers_the_hinge_loses_as_little_as_a_linear_program(rng, d):
    X, y = noisy(rng, 400, d)
    model = LinearSVC(loss="hinge").fit(1e6 * X, y)
    columns = y[:, None] * np.column_stack([X, np.ones(400)])
    least = optimize.linprog(
        np.append(np.zeros(2 * d + 2), np.ones(400)),
        np.column_stack([-columns, columns, -np.eye(400)]),
        -np.ones(400),
    ).fun
    b = model.intercept_[0]
    z = np.maximum(0, 1 - y * model.decision_function(1e6 * X)).sum()
    assert model.primal_objective_ == pytest.approx(z + 0.5 * (model.coef_[0] @ model.coef_[0] + b * b), rel=1e-6)
    assert z + 0.5 * b * b <= 1.001 * least + 0.5


@pytest.mark.filterwarnings("ignore:violation_ is:", "ignore:Liblinear failed to converge")
@pytest.mark.parametrize("calls", [13, 14, 16, 20])
@pytest.mark.parametrize("scale", [1, 100])
def test_a_fit_that_a_callback_ends_is_better_than_no_hyperplane(rng, calls, scale):
    X, y = noisy(rng, 150, 5)
    told = []
    model = LinearSVC(loss="hinge", C=100, callback=lambda *_: told.append(1) or len(told) == calls).fit(scale * X, y)
    assert len(told) == calls
    assert model.n_iter_ >= calls - linear_svc._HINGE_EPOCHS
    assert model.primal_objective_ == pytest.approx(objective(model, scale * X, y, np.full(150, 100.0)), rel=1e-6)
    assert model.primal_objective_ <= 100 * 150


@pytest.mark.filterwarnings("ignore:violation_ is", "ignore:Liblinear failed to converge")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [954, 18, 3, 7, 31, 60])
def test_rows_of_low_rank_and_large_numbers_are_fitted_as_well_as_without_compiled_steps(monkeypatch, loss, seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(20, 200), rng.integers(2, 8)
    rank, e, c = rng.integers(1, d + 1), rng.integers(0, 8), rng.integers(0, 9)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) * 10.0**e
    y = np.sign(X[:, 0] / 10.0**e + rng.standard_normal(n))
    model = LinearSVC(loss=loss, C=10.0**c).fit(X, y)
    monkeypatch.setattr(small_planes, "_COLUMNS", 0)
    other = LinearSVC(loss=loss, C=10.0**c).fit(X, y)
    assert model.primal_objective_ <= 1.01 * other.primal_objective_ or model.violation_ <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_descent_that_is_called_off_ends_the_fit(rng, any_size_descends, loss):
    X, y = noisy(rng, 300, 12)
    model = LinearSVC(loss=loss, callback=lambda *_: True).fit(X, y)
    assert model.n_iter_ == 1


def test_first_steps_that_classes_share_change_no_plane(rng, monkeypatch):
    X = rng.standard_normal((90, 11))
    y = np.arange(90) % 4
    model = LinearSVC(tol=1e-9).fit(X, y)
    monkeypatch.setattr(small_planes.SmallRows, "sum_squares", lambda rows: None)
    other = LinearSVC(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    weighed = LinearSVC(tol=1e-9, class_weight="balanced").fit(X, y)
    assert weighed.violation_ <= 1e-9


@pytest.mark.parametrize("bias", [0.0, 0.5])
@pytest.mark.parametrize("kept", [1.0, 0.1])
def test_products_of_wide_rows_are_those_of_the_definition(rng, monkeypatch, bias, kept):
    X, y = noisy(rng, 900, 20, np.float32)
    weight = rng.standard_normal(900) * (rng.random(900) < kept)
    monkeypatch.setattr(soft_margin, "_WIDE", 1)
    monkeypatch.setattr(soft_margin, "_WIDE_NUMBERS", 4000)
    problem = soft_margin.Problem(X, y, np.ones(900), (X * X).sum(axis=1), False, bias, False, 2)
    full = np.column_stack([X.astype(np.float64), np.full(900, bias)])
    np.testing.assert_allclose(problem.products(weight), (full * weight[:, None]).T @ full, atol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(1200, 400), (1400, 1100)])
def test_rows_hardly_more_than_columns_end_at_the_optimum_without_a_warning(rng, n, d):
    X = rng.standard_normal((n, d))
    y = np.where(X[:, :20].sum(axis=1) + 10 * rng.standard_normal(n) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC(C=0.01).fit(X, y)
    assert model.violation_ <= 1e-4
    assert model.duality_gap_ <= 1e-3 * model.primal_objective_
    assert objective(model, X, y, 0.01) == pytest.approx(model.primal_objective_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scaling", [1, None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_by_rows_and_steps_by_columns_find_the_same_plane(rng, monkeypatch, loss, scaling, dtype):
    X, _ = noisy(rng, 700, 400, dtype)
    y = X[:, :9].sum(axis=1) > 0.4
    taken = []

    def step(problem, rows, *arguments):
        taken.append(len(rows))
        return (yield from by_rows(problem, rows, *arguments))

    by_rows = proximal_newton._step_by_rows
    monkeypatch.setattr(proximal_newton, "_step_by_rows", step)
    monkeypatch.setattr(linear_svc, "_LEAST_DESCENT_TOL", 1)
    found = {}
    for share in (-1, 2):
        monkeypatch.setattr(proximal_newton, "_ROWS_PER_COLUMN", share)
        found[share] = LinearSVC(loss=loss, intercept_scaling=scaling, tol=1e-6).fit(X, y)
        assert bool(taken) == (share > 0)
        assert found[share].violation_ <= 1e-6
    np.testing.assert_allclose(found[2].coef_, found[-1].coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[2].intercept_, found[-1].intercept_, rtol=0, atol=1e-5)


def test_threads_change_no_bit_of_steps_by_rows(rng):
    X, _ = noisy(rng, 800, 420)
    y = np.argmax(X[:, :4], axis=1)
    one, two = (LinearSVC(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.n_iter_ == two.n_iter_


@pytest.mark.parametrize(("n", "d", "factor"), [(700, 400, 1e5), (700, 400, 1e6), (4500, 500, 1e6)])
def test_one_long_row_keeps_no_plane_from_its_optimum(rng, n, d, factor):
    X = rng.standard_normal((n, d))
    y = X[:, :9].sum(axis=1) > 0.4 if n < 1000 else rng.random(n) > 0.5
    X[:, 0] += 0 if n < 1000 else np.where(y, 6, -6)
    X[0] *= factor
    model = LinearSVC().fit(X, y)
    assert model.violation_ <= 1e-4
    assert model.duality_gap_ <= 1e-3 * model.primal_objective_


def test_steps_are_counted_and_max_iter_is_kept_where_epochs_come_first(rng):
    X, y = rng.standard_normal((5000, 500)), rng.random(5000) > 0.5
    X[:, 0] += np.where(y, 8, -8)
    called = []
    stopped = LinearSVC(callback=lambda step, total, violation: called.append(step) or step >= 2).fit(X, y)
    assert stopped.n_iter_ == len(called) == 2
    X[:, 0] = np.where(y, 3000, -3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert LinearSVC(max_iter=1).fit(X, y).n_iter_ == 1
