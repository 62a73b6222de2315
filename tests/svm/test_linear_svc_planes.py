"""LinearSVC with an L1 penalty, and of all classes at once: the optimum, with a proof that is true."""

import warnings

import numpy as np
import pytest
from conftest import seconds_to_obey_ctrl_c
from scipy.sparse import csr_array, issparse
from sklearn import svm as peer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs, make_classification
from sklearn.preprocessing import StandardScaler

from fastclf import LinearSVC, load, save
from fastclf._csr import as_rows
from fastclf.svm import l1_interior, l1_margin

pytestmark = pytest.mark.levels

L1 = {"penalty": "l1", "dual": False}
JOINT = {"multi_class": "crammer_singer"}

# Coordinate descent needs many epochs where columns are not scaled, or where rows have large costs.
PATIENT = {**JOINT, "C": 0.01, "max_iter": 100_000}


def l1_objective(model, X, y, cost, scaling=1.0):
    w, b = model.coef_[0], model.intercept_[0]
    z = np.maximum(0, 1 - y * (X @ w + b))
    return np.abs(w).sum() + abs(b) / scaling + np.sum(cost * z**2)


def shortest_subgradient(model, X, y, cost, scaling=1.0, penalised=True):
    """The largest entry of the shortest subgradient, over all weights and the weight of the bias column."""
    edge = np.append(np.ones(X.shape[1]), float(penalised))
    w = np.append(model.coef_[0], model.intercept_[0] / scaling)
    X = np.column_stack([X, np.full(len(X), scaling)])
    gradient = -2 * X.T @ (cost * y * np.maximum(0, 1 - y * (X @ w)))
    return np.where(w == 0, np.maximum(np.abs(gradient) - edge, 0), np.abs(gradient + edge * np.sign(w))).max()


def noisy(rng, n=200, d=30):
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, :3].sum(axis=1) + rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("shape", [(200, 30), (60, 400), (3, 5)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("scaling", [1, 50])
def test_no_subgradient_of_an_l1_penalty_is_left(rng, shape, C, scaling):
    X, y = noisy(rng, *shape)
    y[:2] = 1, -1
    cost = C * rng.integers(0, 3, len(y))
    cost[:2] = C
    model = LinearSVC(C=C, tol=1e-6, intercept_scaling=scaling, **L1).fit(X, y, cost / C)
    assert shortest_subgradient(model, X, y, cost, scaling) <= 2e-6
    assert model.violation_ <= 1e-6
    assert model.primal_objective_ == pytest.approx(l1_objective(model, X, y, cost, scaling))
    assert model.dual_objective_ <= model.primal_objective_ * (1 + 1e-12)
    assert model.duality_gap_ <= 1e-5 * max(1, model.primal_objective_)


def test_an_l1_penalty_is_liblinears(rng):
    X, y = StandardScaler().fit_transform(load_breast_cancer().data), load_breast_cancer().target
    for C in (0.01, 0.1, 1.0):
        ours = LinearSVC(C=C, tol=1e-7, **L1).fit(X, y)
        theirs = peer.LinearSVC(C=C, tol=1e-8, max_iter=100_000, random_state=0, **L1).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
        np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)


def test_an_intercept_without_penalty_has_no_slope(rng):
    X, y = noisy(rng)
    model = LinearSVC(intercept_scaling=None, tol=1e-7, **L1).fit(X + 3, y)
    z = np.maximum(0, 1 - y * model.decision_function(X + 3))
    assert abs(np.sum(y * z)) <= 1e-6
    assert model.duality_gap_ <= 1e-5
    other = LinearSVC(fit_intercept=False, tol=1e-7, **L1).fit(X, y)
    assert other.intercept_.tolist() == [0.0]
    assert shortest_subgradient(other, X, y, np.ones(len(y)), 1e-9) <= 1e-6


def far_from_optimal_at_first(rng, n, d, dense):
    """Rows on which coordinate descent takes hundreds of sweeps, and the interior point method follows."""
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1.5, 1.5, d)
    if not dense:
        X = csr_array(X * (rng.random((n, d)) < 0.05))
    return X, np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)


@pytest.mark.parametrize("shape", [(120, 300), (300, 120), (60, 1500)])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"intercept_scaling": None}])
def test_the_interior_point_method_ends_at_the_optimum(rng, monkeypatch, shape, dense, options):
    X, y = far_from_optimal_at_first(rng, *shape, dense)
    weight = rng.integers(0, 3, len(y)) * 1.0
    weight[:2] = 1
    steps = []
    taken = l1_interior.Interior.steps

    def counted(search):
        yield from taken(search)
        steps.append(search.n_steps)

    monkeypatch.setattr(l1_interior.Interior, "steps", counted)
    monkeypatch.setattr(l1_margin, "_TRIED", 0.0)
    monkeypatch.setattr(l1_margin, "_CLOSE", 0.0)
    model = LinearSVC(C=10, tol=1e-5, **options, **L1).fit(X, y, weight)
    assert steps
    assert max(steps) < 40
    assert model.violation_ <= 1e-5
    assert model.duality_gap_ <= 1e-6 * model.primal_objective_
    if "fit_intercept" in options:
        assert model.intercept_.tolist() == [0.0]
    scaling, penalised = (1e-9 if "fit_intercept" in options else 1.0), "intercept_scaling" not in options
    full = X if dense else X.toarray()
    assert shortest_subgradient(model, full, y, 10 * weight, scaling, penalised) <= 2e-5


@pytest.mark.parametrize("shape", [(120, 300), (300, 120)])
@pytest.mark.parametrize("dense", [True, False])
def test_threads_do_not_change_a_bit_of_the_planes_of_an_l1_penalty(rng, shape, dense):
    X, y = far_from_optimal_at_first(rng, *shape, dense)
    y = np.where(rng.random(len(y)) < 0.3, 2.0, y)
    one, three = (LinearSVC(C=10, n_jobs=n, **L1).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.intercept_, three.intercept_)


@pytest.mark.parametrize("dense", [True, False])
def test_steps_by_columns_give_the_planes_of_steps_by_a_matrix(rng, monkeypatch, dense):
    X, y = noisy(rng, 150, 90)
    X *= rng.random(X.shape) < 0.3
    rows = X if dense else csr_array(X)
    planes = []
    for worth in (0, np.inf):
        monkeypatch.setattr(l1_margin, "_WORTH_SWEEPS", worth)
        assert (l1_margin.columns_for(as_rows(rows, "LinearSVC")) is None) == (worth > 0)
        planes.append(LinearSVC(C=0.5, tol=1e-8, **L1).fit(rows, y))
    np.testing.assert_allclose(planes[0].coef_, planes[1].coef_, atol=1e-6)
    np.testing.assert_array_equal(planes[0].coef_ == 0, planes[1].coef_ == 0)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_sparse_rows_with_more_used_columns_than_a_matrix_takes_end_at_the_optimum(rng, monkeypatch, C):
    monkeypatch.setattr(l1_margin, "_MOST_COLUMNS", 100)
    X = csr_array(rng.standard_normal((400, 900)) * (rng.random((400, 900)) < 0.03))
    y = np.where(X @ rng.standard_normal(900) + rng.standard_normal(400) > 0, 1.0, -1.0)
    model = LinearSVC(C=C, tol=1e-6, **L1).fit(X, y)
    assert np.count_nonzero(model.coef_) > 100 * C
    assert model.violation_ <= 1e-6
    assert shortest_subgradient(model, X.toarray(), y, np.full(400, C)) <= 2e-6


def test_a_large_penalty_leaves_no_weight(rng):
    X, y = noisy(rng)
    model = LinearSVC(C=1e-6, **L1).fit(X, y)
    assert not model.coef_.any()
    assert model.n_iter_ == 0


def test_collinear_columns_end_at_an_optimum(rng):
    X, y = noisy(rng)
    X = np.column_stack([X, X, X[:, :5] * 3, np.zeros(len(X))])
    model = LinearSVC(tol=1e-6, **L1).fit(X, y)
    assert shortest_subgradient(model, X, y, np.ones(len(y))) <= 2e-6


@pytest.mark.parametrize("options", [L1, PATIENT])
def test_rows_of_any_kind_give_the_same_planes(rng, options, tmp_path):
    X, y = make_classification(300, 20, n_informative=8, n_classes=3, random_state=0)
    X *= np.abs(X) > 0.7
    np.save(tmp_path / "X.npy", X)
    labels = np.array(["one", "two", "three"])[y]
    model = LinearSVC(tol=1e-8, **options).fit(X, y)
    for rows, targets in (
        (csr_array(X), y),
        (np.asfortranarray(X), y),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), y),
        (X.tolist(), y),
    ):
        other = LinearSVC(tol=1e-8, **options).fit(rows, targets)
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-5)
    words = LinearSVC(tol=1e-8, **options).fit(X, labels)
    assert set(words.predict(X)) <= {"one", "two", "three"}
    single = LinearSVC(**options).fit(X.astype(np.float32), y)
    assert single.violation_ <= 1e-4
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("options", [L1, JOINT])
def test_threads_change_no_bit(options):
    X, y = load_digits(return_X_y=True)
    one, three = (LinearSVC(n_jobs=n_jobs, tol=1e-3, C=0.01, **options).fit(X / 16, y) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)


@pytest.mark.parametrize("options", [L1, PATIENT])
def test_a_weight_of_2_is_a_row_twice(rng, options):
    X, y = noisy(rng, 80, 6)
    y[:20] = 2
    weight = rng.integers(0, 3, len(y))
    one = LinearSVC(tol=1e-9, **options).fit(X, y, weight)
    other = LinearSVC(tol=1e-9, **options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-6)


def joint_objective(model, X, codes, cost):
    scores = X @ model.coef_.T + model.intercept_
    rows = np.arange(len(X))
    loss = scores - scores[rows, codes][:, None] + 1
    loss[rows, codes] = 0
    return 0.5 * np.sum(model.coef_**2) + 0.5 * np.sum(model.intercept_**2) + np.sum(cost * loss.max(axis=1))


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_planes_of_all_classes_at_once_prove_their_optimum(load):
    X, y = load(return_X_y=True)
    X = X / np.abs(X).max()
    for C in (0.1, 10.0):
        model = LinearSVC(C=C, tol=1e-5, max_iter=100_000, **JOINT).fit(X, y)
        theirs = peer.LinearSVC(C=C, tol=1e-5, max_iter=100_000, random_state=0, **JOINT).fit(X, y)
        objective, best = (joint_objective(each, X, y, C) for each in (model, theirs))
        assert model.violation_ <= 1e-4
        assert objective == pytest.approx(model.primal_objective_)
        assert objective <= best + model.duality_gap_
        assert 0 <= model.duality_gap_ <= 1e-4 * objective
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=0.02 * np.abs(model.coef_).max())


@pytest.mark.parametrize(("n", "spread"), [(150, 1.0), (3000, 1.2)])
def test_classes_that_overlap_are_optimal_at_once_by_default(rng, n, spread):
    centers, y = rng.standard_normal((3, 6)), rng.integers(3, size=n)
    X = centers[y] + spread * rng.standard_normal((n, 6))
    model = LinearSVC(**JOINT).fit(X, y)
    theirs = peer.LinearSVC(random_state=0, **JOINT).fit(X, y)
    assert model.violation_ <= model.tol
    assert model.n_iter_ < model.max_iter
    assert joint_objective(model, X, y, 1.0) <= joint_objective(theirs, X, y, 1.0) * (1 + 1e-6)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_all_planes_at_once_end_after_max_iter_sweeps(rng, max_iter):
    X, y = rng.standard_normal((50, 3)), rng.integers(3, size=50)
    with pytest.warns(UserWarning, match=f"max_iter={max_iter} was reached"):
        model = LinearSVC(max_iter=max_iter, **JOINT).fit(X, y)
    assert model.n_iter_ == max_iter


def test_two_classes_at_once_have_one_plane(rng):
    X, y = noisy(rng, 100, 5)
    ours, theirs = (
        kind(tol=1e-7, max_iter=100_000, random_state=0, **JOINT).fit(X, y) for kind in (LinearSVC, peer.LinearSVC)
    )
    assert ours.coef_.shape == (1, 5)
    assert ours.intercept_.shape == (1,)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_rows_of_zeros_cost_the_same_whatever_the_planes():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), [0, 0, 1, 2]
    model = LinearSVC(fit_intercept=False, tol=1e-10, **JOINT).fit(X, y)
    assert model.duality_gap_ <= 1e-8


@pytest.mark.parametrize("options", [L1, JOINT])
def test_a_hundred_classes(options):
    X, y = make_blobs(1000, 20, centers=100, random_state=0)
    model = LinearSVC(C=0.01, **options).fit(X, y)
    assert model.coef_.shape == (100, 20)
    assert (model.predict(X) == y).mean() > 0.95


def test_what_liblinear_cannot_do_is_refused_in_scikit_learns_words(rng):
    X, y = noisy(rng, 20, 3)
    for penalty, loss, dual in (("l1", "hinge", True), ("l1", "hinge", False), ("l2", "hinge", False)):
        with pytest.raises(ValueError, match=f"Unsupported set of arguments.*penalty='{penalty}', loss='{loss}'"):
            LinearSVC(penalty, loss, dual=dual).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVC("l1", dual=True).fit(X, y)
    for wrong, sentence in (
        ({"budget": 1.0}, "budget is 1.0; None is wanted with multi_class='crammer_singer'"),
        ({"intercept_scaling": None}, "intercept_scaling is None; a number is wanted"),
    ):
        with pytest.raises(ValueError, match=sentence):
            LinearSVC(**wrong, **JOINT).fit(X, y)
    with pytest.raises(ValueError, match="penalty is 'l0'; one of 'l1', 'l2' is wanted"):
        LinearSVC("l0").fit(X, y)


@pytest.mark.parametrize("options", [L1, JOINT])
def test_bad_rows_get_one_sentence(rng, options):
    X, y = noisy(rng, 20, 3)
    with pytest.raises(ValueError, match="the number of classes has to be greater than one"):
        LinearSVC(**options).fit(X, np.ones(20))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LinearSVC(**options).fit(X, y)


@pytest.mark.parametrize("options", [L1, JOINT])
def test_few_steps_and_a_callback_end_a_fit(options):
    X, y = load_digits(return_X_y=True)
    with pytest.warns(UserWarning, match="Liblinear failed to converge, increase the number of iterations"):
        LinearSVC(max_iter=1, tol=1e-12, **options).fit(X, y)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(tol=1e-12, callback=lambda *told: seen.append(told) or len(seen) == 2, **options).fit(X, y)
    assert len(seen) == 2


@pytest.mark.once
@pytest.mark.parametrize("options", [L1, JOINT])
def test_ctrl_c_is_obeyed(options):
    code = f"""
import time
import numpy as np
from fastclf import LinearSVC
rng = np.random.default_rng(0)
X, y = rng.standard_normal((20_000, 600)), rng.integers(0, 5, 20_000)
model = LinearSVC(tol=1e-12, **{options!r})
print("ready", flush=True)
try:
    while True:
        model.fit(X, y)
except KeyboardInterrupt:
    print(time.time())
"""
    assert seconds_to_obey_ctrl_c(code) < 1.0


@pytest.mark.once
def test_ctrl_c_is_obeyed_by_the_interior_point_method():
    code = """
import time
import numpy as np
from fastclf import LinearSVC
from fastclf.svm import l1_margin
l1_margin._TRIED = 0.0
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 2100))
y = X[:, :50].sum(axis=1) > 0
print("ready", flush=True)
try:
    while True:
        LinearSVC(penalty="l1", dual=False, tol=1e-12).fit(X, y)
except KeyboardInterrupt:
    print(time.time())
"""
    assert seconds_to_obey_ctrl_c(code) < 1.0


def test_the_interior_point_method_is_called_off_by_the_callback(rng, monkeypatch):
    monkeypatch.setattr(l1_margin, "_TRIED", 0.0)
    X, y = far_from_optimal_at_first(rng, 60, 150, dense=True)
    seen = []
    LinearSVC(C=10, tol=1e-12, callback=lambda *told: seen.append(told) or len(seen) == 5, **L1).fit(X, y)
    assert len(seen) == 5


def test_sparse_coefficients_predict_the_same(rng):
    X, y = noisy(rng)
    model = LinearSVC(**L1).fit(X, y)
    before = model.decision_function(X)
    assert issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert isinstance(model.densify().coef_, np.ndarray)
