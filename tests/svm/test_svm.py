"""The support vector machine: its optimality conditions hold, and it never fails silently."""

import pickle
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import reference_svm as reference
from conftest import seconds_to_obey_ctrl_c
from scipy.sparse import csr_array
from sklearn import svm as peer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_svmlight_file
from sklearn.preprocessing import StandardScaler

import fastclf
from fastclf import SVC, svm_path
from fastclf.kernels import values
from fastclf.svm import interior_point, kernel_machine, pair_scores, pairs, small_pairs, smo, steps
from fastclf.svm.dual import Dual, Work
from fastclf.svm.gram import GivenKernel

pytestmark = pytest.mark.levels

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
}


def overlapping(rng, n=120, d=4, dtype=np.float64):
    X = rng.standard_normal((n, d)).astype(dtype)
    return X, (X[:, 0] + 0.7 * rng.standard_normal(n) > 0).astype(int)


def alphas(model, n):
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


@pytest.fixture(scope="module")
def heart(data_file):
    return load_svmlight_file(str(data_file("heart_scale.libsvm")))


@pytest.mark.parametrize("name", KERNELS)
def test_the_optimum_is_that_of_the_obvious_solver(rng, name):
    X, y = overlapping(rng, 60)
    sign = 2 * y - 1
    K = reference.kernel_matrix(name, X, X, **KERNELS[name])
    for C in (0.1, 10.0):
        model = SVC(kernel=name, C=C, tol=1e-8, kernel_dtype="float64", **KERNELS[name]).fit(X, y)
        best = reference.dual_objective(K, sign, reference.smo(K, sign, C))
        alpha = alphas(model, 60)
        assert model.dual_objective_[0] == pytest.approx(best, rel=1e-9)
        assert reference.dual_objective(K, sign, alpha) == pytest.approx(best, rel=1e-9)
        assert reference.violation(K, sign, alpha, C) == pytest.approx(model.violation_, abs=1e-10)
        assert abs(sign @ alpha) < 1e-9 * C
        assert (alpha <= C).all()
        primal = reference.primal_objective(K, sign, alpha, model.intercept_[0], C)
        assert model.duality_gap_ == pytest.approx(primal - best, abs=1e-7)
        np.testing.assert_allclose(
            model.decision_function(X), K @ (sign * alpha) + model.intercept_, rtol=1e-9, atol=1e-9
        )


def test_heart_scale_has_the_published_optimum(heart):
    X, y = heart
    for rows in (X, X.toarray(), X.toarray().astype(np.float32)):
        model = SVC(gamma=1 / 13, tol=1e-6).fit(rows, y)
        assert model.dual_objective_[0] == pytest.approx(100.8772916, abs=3e-7)
        assert len(model.support_) == 132
        assert model.violation_ <= 1e-6
        assert model.kkt_violation(rows, y) == pytest.approx(model.violation_, abs=1e-7)


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# A sigmoid kernel may have several optima; on iris both libraries find the same one.
@pytest.mark.parametrize(
    ("load", "kernel"),
    [(load_iris, name) for name in KERNELS] + [(load_breast_cancer, name) for name in ("linear", "poly", "rbf")],
)
def test_machines_are_libsvms(load, kernel):
    X, y = scaled(load)
    ours, theirs = (kind(kernel=kernel, gamma=0.02, tol=1e-8) for kind in (SVC, peer.SVC))
    ours.set_params(kernel_dtype="float64").fit(X, y)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def spambase(data_file):
    with np.load(data_file("spambase.npz")) as file:
        return StandardScaler().fit_transform(file["X"]), file["y"]


@pytest.mark.parametrize(("name", "kernel"), [("digits", "rbf"), ("digits", "linear"), ("spambase", "rbf")])
def test_objectives_are_libsvms(data_file, name, kernel):
    X, y = spambase(data_file) if name == "spambase" else load_digits(return_X_y=True)
    X = X if name == "spambase" else X / 16
    ours = SVC(kernel=kernel, tol=1e-7, C=3).fit(X, y)
    theirs = peer.SVC(kernel=kernel, tol=1e-8, C=3).fit(X, y)
    K = reference_gram(X, kernel, ours._gamma_)
    for p, (a, b) in enumerate(pair_scores.pairs_of(len(ours.classes_))):
        coef = np.zeros(len(y))
        ends = np.cumsum(theirs.n_support_)
        for c, row in ((a, b - 1), (b, a)):  # for two classes both classes have their coefficients in row 0
            own = slice(ends[c] - theirs.n_support_[c], ends[c])
            coef[theirs.support_[own]] = theirs.dual_coef_[row, own]
        objective = np.abs(coef).sum() - 0.5 * coef @ K @ coef
        assert ours.dual_objective_[p] == pytest.approx(objective, rel=1e-7)


def reference_gram(X, kernel, gamma):
    products = X @ X.T
    if kernel == "linear":
        return products
    own = products.diagonal()
    return np.exp(-gamma * np.maximum(0, own[:, None] + own - 2 * products))


def test_columns_signs_and_votes_are_scikit_learns():
    X, y = load_iris(return_X_y=True)
    y = np.array(["c", "a", "b"])[y]
    for shape in ("ovo", "ovr"):
        ours, theirs = (
            kind(decision_function_shape=shape, tol=1e-8, break_ties=shape == "ovr").fit(X, y)
            for kind in (SVC, peer.SVC)
        )
        if shape == "ovr":
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape is 'ovo'"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


def test_probabilities_are_platts(rng):
    X, y = overlapping(rng, 400)
    model = SVC(probability=True, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (np.diff(P[np.argsort(model.decision_function(X)), 1]) >= 0).all()
    A, B = model.probA_[0], model.probB_[0]
    np.testing.assert_allclose(P[:, 0], 1 / (1 + np.exp(B - A * model.decision_function(X))), rtol=1e-9)
    # probabilities are calibrated: the share of positive rows is near their mean probability
    middle = np.abs(P[:, 1] - 0.5) < 0.25
    assert abs(y[middle].mean() - P[middle, 1].mean()) < 0.1
    X, y = load_iris(return_X_y=True)
    model = SVC(probability=True, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P.argmax(axis=1) == y).mean() > 0.95
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P))
    assert not hasattr(SVC(), "predict_proba")


def test_the_sigmoid_is_the_maximum_likelihood(rng):
    score = rng.standard_normal(300)
    positive = rng.random(300) < 1 / (1 + np.exp(-2 * score + 1))
    A, B = pair_scores.fit_sigmoid(score, positive)
    n1, n0 = positive.sum(), (~positive).sum()
    target = np.where(positive, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    p = pair_scores.sigmoid(score, A, B)
    assert abs((target - p).sum()) < 1e-4
    assert abs((target - p) @ score) < 1e-4
    assert abs(A + 2) < 0.6


def test_coupled_probabilities_of_consistent_pairs_are_the_classes(rng):
    p = rng.dirichlet(np.ones(4), 50)
    a, b = np.triu_indices(4, 1)
    np.testing.assert_allclose(pair_scores.couple(p[:, a] / (p[:, a] + p[:, b]), 4), p, atol=1e-9)


def test_a_hard_margin_is_the_distance_of_the_hulls(rng):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0], [3.0, 9.0], [1.0, -7.0]])
    y = np.array([0, 0, 1, 1, 1, 0])
    model = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    assert model.margin_[0] == pytest.approx(1)
    assert model.duality_gap_ == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(model.coef_, [[1, 0]], atol=1e-8)
    X = rng.standard_normal((150, 5))
    y = np.where(X[:, 0] > 0, "up", "down")
    for kernel in ("linear", "rbf"):
        model = SVC(kernel=kernel, C=np.inf, tol=1e-6, kernel_dtype="float64").fit(X, y)
        assert model.score(X, y) == 1
        margins = np.where(y == "up", 1, -1) * model.decision_function(X)
        assert margins.min() == pytest.approx(1, abs=1e-5)
        large = SVC(kernel=kernel, C=1e7, tol=1e-6).fit(X, y)
        assert large.dual_objective_[0] == pytest.approx(model.dual_objective_[0], rel=1e-5)


def test_what_cannot_be_separated_is_told(rng):
    X, y = overlapping(rng)
    with pytest.raises(ValueError, match="no hyperplane separates the classes: the margin is at most"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="rows 7 and 120 are equal and of different classes; a finite C is wanted"):
        SVC(C=np.inf).fit(np.concatenate([X, X[7:8]]), np.append(y, 1 - y[7]))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e3, 1e8])
def test_any_price_of_slacks_converges(rng, kernel, C):
    X, y = overlapping(rng)
    model = SVC(kernel=kernel, C=C).fit(X, y)
    assert model.fit_status_ == 0
    assert model.violation_ <= 1e-3
    assert model.kkt_violation(X, y) <= 1.1e-3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_unscaled_columns_converge(seed, kernel):
    X, y = overlapping(np.random.default_rng(seed))
    X *= [1e-3, 1e6, 1, 1]
    model = SVC(kernel=kernel).fit(X, y)
    assert model.violation_ <= 1e-3
    rounding = 64 * np.finfo(float).eps * (X**2).sum(axis=1).max() if kernel == "linear" else 0
    assert model.kkt_violation(X, y) <= 1.1e-3 + rounding
    assert model.duality_gap_ <= 1e-2 * model.dual_objective_[0]


def test_noisy_labels_of_related_columns_of_any_scale_converge(rng):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for _ in range(3):
        model = SVC(kernel="linear").fit(X * 10.0 ** rng.uniform(-3, 5, X.shape[1]), y)
        assert model.violation_ <= 1e-3
        assert model.duality_gap_ <= 1e-3 * model.dual_objective_[0]
        assert model.n_iter_[0] < 2_000_000


def test_odd_rows_are_no_trouble(rng):
    X, y = overlapping(rng)
    twice, both = np.concatenate([X, X]), np.concatenate([y, 1 - y])
    for C in (1.0, 1e6):
        model = SVC(C=C).fit(twice, both)
        assert model.violation_ <= 1e-3
        assert model.dual_objective_[0] == pytest.approx(len(both) * C, rel=1e-6)
    model = SVC().fit(np.ones((20, 3)), y[:20])
    assert model.violation_ <= 1e-3
    assert (model.predict(np.ones((2, 3))) == np.bincount(y[:20]).argmax()).all()
    model = SVC(kernel="linear").fit([[0.0], [2.0]], [0, 1])
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0], [2.0]]), [-1, 0, 1], atol=1e-9)
    with pytest.raises(ValueError, match="y has one class, 0; the number of classes has to be greater than one"):
        SVC().fit(X, np.zeros(len(X), int))


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_kernel_that_is_not_positive_definite_ends(rng, kernel, C):
    X, y = overlapping(rng)
    K = X @ X.T - 5 * np.eye(len(X))
    model = SVC(kernel=kernel, gamma=1.0, coef0=1.0, C=C).fit(K if kernel == "precomputed" else X, y)
    assert model.violation_ <= 1e-3
    assert np.isfinite(model.dual_coef_).all()


def identity(n):
    return GivenKernel(lambda rows, columns: np.eye(n)[rows[:, None], columns], n, np.float64)


def test_an_alpha_a_digit_below_its_bound_reaches_it():
    # The first alpha is 2^-53, its last digit, below its bound. The other alpha, 16 times as large, cannot change by so
    # little, because of rounding.
    dual = Dual(identity(2), np.arange(2), np.ones(2), np.array([1.0, 20.0]))
    dual.coef[:], dual.f[:] = [1 - 2.0**-53, 16.0], [-2.0, 2.0]
    K = dual.gram.square(dual.gram.pack(dual.rows), dual.rows, 1)
    made, _, _ = smo.compiled.optimise_all(dual, K, Work(2, np.float64), 1e-3, 100, 1 << 20)
    assert (made, dual.coef.tolist()) == (1, [1.0, 16.0])


@pytest.mark.filterwarnings("error")
def test_a_hard_margin_without_an_optimum_is_told(rng):
    X, y = overlapping(rng)
    K = X @ X.T - 5 * np.eye(len(X))
    with pytest.raises(ValueError, match=r"C is infinite, but .*; a finite C is wanted"):
        SVC(kernel="precomputed", C=np.inf).fit(K, y)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [0, 1e-200])
def test_rows_whose_kernel_is_zero_have_no_hard_margin(kernel, fit_intercept, scale):
    X = scale * np.arange(120.0).reshape(40, 3)
    with pytest.raises(ValueError, match="no hyperplane separates the classes"):
        SVC(C=np.inf, kernel=kernel, gamma=1.0, fit_intercept=fit_intercept).fit(X, np.arange(40) % 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_the_one_error_is_all_that_a_hard_margin_tells(rng, kernel):
    X, y = overlapping(rng)
    X, y = np.concatenate([X, X[:1]]), np.append(y, 1 - y[0])
    with pytest.raises(ValueError, match="no hyperplane separates the classes"):
        SVC(kernel=kernel, C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="no hyperplane separates the classes"):
        SVC(kernel="precomputed", C=np.inf).fit(np.tanh(X @ X.T), y)


def test_max_iter_warns_with_what_is_left(rng):
    X, y = overlapping(rng)
    with pytest.warns(UserWarning, match=r"SVC stopped after 10 steps with a violation of [0-9.]+, above tol=0.001"):
        model = SVC(max_iter=10).fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [10]
    assert model.kkt_violation(X, y) == pytest.approx(model.violation_, abs=1e-6)


def test_weights_multiply_the_price_and_0_is_a_missing_row(rng):
    X, y = overlapping(rng)
    weight = rng.integers(0, 3, len(X)).astype(float)
    ours = SVC(tol=1e-8).fit(X, y, weight)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    plain = SVC(tol=1e-8, gamma=ours._gamma_).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert weight[ours.support_].all()
    by_class = SVC(tol=1e-8, gamma=0.2, class_weight={0: 3.0}).fit(X, y)
    by_row = SVC(tol=1e-8, gamma=0.2).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-6)
    balanced = SVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, len(y) / (2 * np.bincount(y)))


def test_dtypes_and_sparse_rows_agree(rng):
    X, y = overlapping(rng)
    X[rng.random(X.shape) < 0.5] = 0
    X = X.astype(np.float32).astype(np.float64)
    expected = SVC(tol=1e-7, gamma=0.3).fit(X, y).decision_function(X)
    for rows in (X.astype(np.float32), csr_array(X), csr_array(X.astype(np.float32)), np.asfortranarray(X)):
        for dtype in ("float32", "float64"):
            model = SVC(tol=1e-7, gamma=0.3, kernel_dtype=dtype).fit(rows, y)
            np.testing.assert_allclose(model.decision_function(rows), expected, atol=2e-5)
    model = SVC(gamma=0.3).fit(csr_array(X), y)
    assert model.support_vectors_.shape == (len(model.support_), 4)
    np.testing.assert_array_equal(model.support_vectors_.toarray(), X[model.support_])


def test_a_table_or_a_function_is_the_kernel_it_holds(rng):
    X, y = overlapping(rng)
    expected = SVC(kernel="linear", tol=1e-8).fit(X, y)
    model = SVC(kernel=lambda A, B: A @ B.T, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-5)
    for dtype in (np.float32, np.float64):
        table = SVC(kernel="precomputed", tol=1e-6).fit((X @ X.T).astype(dtype), y)
        scores = table.decision_function((X @ X.T).astype(dtype)[:5])
        np.testing.assert_allclose(scores, expected.decision_function(X[:5]), atol=1e-3)


def slow(monkeypatch):
    """Make `small_pairs` leave each pair to the methods of `smo.py` soon."""
    monkeypatch.setattr(small_pairs, "_LOOKS", 1)
    monkeypatch.setattr(small_pairs, "PATIENCE", 0)


def test_threads_do_not_decide_whether_the_interior_point_method_is_taken(rng, monkeypatch):
    monkeypatch.setattr(smo, "_SLOW", 0)
    monkeypatch.setattr(smo, "_SLOW_LEAST", 20)
    slow(monkeypatch)
    X = rng.standard_normal((300, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(300), [-0.5, 0.5])
    # cache sizes in MB; a pair of classes has 200 rows and 10 products of columns as features
    for size in (0.05, 0.1, 0.2, 0.4):
        one, three = (SVC(kernel="poly", degree=2, C=10, n_jobs=n, cache_size=size).fit(X, y) for n in (1, 3))
        np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)


def test_a_singular_system_of_the_interior_point_method_is_no_error(rng, monkeypatch):
    def singular(self):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(smo, "_SLOW", 0)
    monkeypatch.setattr(smo, "_SLOW_LEAST", 20)
    slow(monkeypatch)
    monkeypatch.setattr(interior_point, "_NUMBERS", 0)
    monkeypatch.setattr(interior_point.Interior, "_factorise", singular)
    X, y = overlapping(rng)
    model = SVC(kernel="linear", C=10, tol=1e-6).fit(X, y)
    assert model.violation_ <= 1e-6
    assert model.kkt_violation(X, y) <= 1.1e-6


def three_classes(rng, n=600, cuts=(-0.5, 0.5)):
    X = rng.standard_normal((n, 6)).astype(np.float32)
    return X, np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), cuts)


def in_working_sets(monkeypatch, largest):
    """Make fits use working sets of at most `largest` rows, and no whole kernel matrix of a pair."""
    monkeypatch.setattr(pairs, "_LARGEST_SET", largest)


@pytest.mark.parametrize("largest", [2048, 300])
def test_threads_and_ranges_change_no_bit(rng, monkeypatch, largest):
    X, y = three_classes(rng)
    in_working_sets(monkeypatch, largest)
    models = [SVC(C=10, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    monkeypatch.setattr(small_pairs, "_THREAD_WORK", 0)
    monkeypatch.setattr(values, "_THREAD_WORK", 0)
    monkeypatch.setattr(values, "_RANGE_WORK", 1000)
    models.append(SVC(C=10, n_jobs=3).fit(X, y))
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(model.n_iter_, models[0].n_iter_)
        np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))
    rows = np.concatenate([models[0].decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(rows, models[0].decision_function(X)[:20])


def test_caches_shrinking_and_working_sets_end_at_the_same_optimum(rng, monkeypatch):
    X, y = three_classes(rng)
    models = [SVC(C=10, cache_size=size).fit(X, y) for size in (200, 4, 0.01, 1e-6)]
    monkeypatch.setattr(steps, "_SHRINK_EVERY", 2)
    monkeypatch.setattr(steps, "_SET", 16)
    in_working_sets(monkeypatch, 300)
    parameters = ({}, {"shrinking": False}, {"cache_size": 0.01}, {"cache_size": 1e-6})
    for model in (*models, *(SVC(C=10, **own).fit(X, y) for own in parameters)):
        np.testing.assert_allclose(model.dual_objective_, models[0].dual_objective_, rtol=1e-4)
        assert model.violation_ <= 1e-3
        assert model.kkt_violation(X, y) == pytest.approx(model.violation_, abs=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_how_classes_are_grouped_changes_no_bit(rng, monkeypatch, dtype):
    X, y = three_classes(rng, 600, (-1, -0.3, 0.5, 0.6, 0.7))
    monkeypatch.setattr(small_pairs, "_THREAD_WORK", 0)
    model = SVC(C=10, kernel_dtype=dtype, n_jobs=1).fit(X, y)
    assert len(small_pairs.grouped(np.bincount(y))) > 1
    grown = []
    for name, value, n_jobs in (
        ("_GROUP", 1, 2),
        ("_GROUP", 90, 1),
        ("_GROUP", 1000, 4),
        ("_CROSS_SHARE", 0, 2),  # kernel values between groups of classes are made for one class at a time
        ("_SQUARE_SHARE", 0, 3),  # each pair gets a kernel matrix of its own
    ):
        with monkeypatch.context() as patch:
            patch.setattr(small_pairs, name, value)
            grown.append(SVC(C=10, kernel_dtype=dtype, n_jobs=n_jobs).fit(X, y))
    for other in grown:
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(other.n_iter_, model.n_iter_)
        np.testing.assert_array_equal(other.intercept_, model.intercept_)


def test_rows_left_out_come_back(rng, monkeypatch):
    X, y = overlapping(rng, 500)
    K = X @ X.T
    model = SVC(C=10, kernel="linear", tol=1e-5, kernel_dtype="float64").fit(X, y)
    assert model.n_iter_[0] > 1000  # the fit takes more than 1000 steps, after which the first rows are left out
    assert reference.violation(K, 2 * y - 1, alphas(model, 500), 10) <= 1.01e-5
    left_out = []
    shrink = steps.WorkingSets.shrink

    def spy(self, dual, ends):
        shrink(self, dual, ends)
        left_out.append(len(self.left_out))

    in_working_sets(monkeypatch, 300)
    monkeypatch.setattr(steps.WorkingSets, "shrink", spy)
    monkeypatch.setattr(steps, "_SHRINK_EVERY", 1)
    model = SVC(C=10, kernel="linear", tol=1e-5, kernel_dtype="float64").fit(X, y)
    assert max(left_out) >= 1
    assert reference.violation(K, 2 * y - 1, alphas(model, 500), 10) <= 1.01e-5


def test_a_warm_start_ends_at_the_same_optimum_sooner(rng):
    X, y = overlapping(rng, 300)
    Cs = [0.1, 1.0, 3.0, 10.0]
    for model, C in zip(svm_path(X, y, Cs, tol=1e-6), Cs):
        cold = SVC(C=C, tol=1e-6).fit(X, y)
        assert model.dual_objective_[0] == pytest.approx(cold.dual_objective_[0], rel=1e-7)
        assert model.violation_ <= 1e-6
    again = SVC(C=10.0, tol=1e-6, warm_start=True).fit(X, y)
    assert again.fit(X, y).fit(X, y).n_iter_[0] < 10
    assert again.set_params(C=0.5).fit(X, y).dual_objective_[0] == pytest.approx(
        SVC(C=0.5, tol=1e-6).fit(X, y).dual_objective_[0], rel=1e-7
    )


def test_an_alpha_is_repaired_to_feasibility():
    y, C = np.array([1.0, 1, -1, -1]), np.array([1.0, 2, 3, 1])
    coef = Dual(identity(4), np.arange(4), y, C, [5.0, 1, -1, -0.5]).coef
    assert coef.sum() == pytest.approx(0)
    assert (y * coef >= 0).all()
    assert (y * coef <= C).all()


def test_a_failed_fit_changes_nothing(rng):
    X, y = overlapping(rng)
    model = SVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError):
        model.fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_callback_sees_the_violation_and_ends_the_fit(rng, capsys):
    X, y = overlapping(rng, 1500, 6)
    seen = []
    SVC(C=10, callback=lambda *told: seen.append(told)).fit(X, y)
    assert seen[-1][2] < seen[0][2]
    assert all(total is None for _, total, _ in seen)
    with pytest.warns(UserWarning, match="the callback ended it"):
        SVC(C=10, callback=lambda *told: True).fit(X, y)
    SVC(verbose=1).fit(X, y)
    assert "violation" in capsys.readouterr().err


def test_ctrl_c_is_obeyed():
    code = """
import time
import numpy as np
from fastclf import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((30_000, 60))
y = rng.integers(0, 2, 30_000)
model = SVC(C=100)
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(time.time())
assert not hasattr(model, "support_")
"""
    assert seconds_to_obey_ctrl_c(code) < 1.0


def test_memory_is_the_cache_and_a_little_for_each_row(rng):
    X = rng.standard_normal((20_000, 5)).astype(np.float32)
    y = (X[:, 0] + 0.1 * rng.standard_normal(20_000) > 0).astype(int)
    SVC().fit(X[:500], y[:500])
    tracemalloc.start()
    SVC(cache_size=5, n_jobs=1).fit(X, y)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 5e6 + 200 * len(X) + 2e6


@pytest.mark.once
def test_the_peak_of_an_adult_sized_fit_is_the_cache_and_200_bytes_a_row(data_file):
    code = """
import resource
import sys
import numpy as np
from fastclf import SVC
with np.load(sys.argv[1]) as file:
    X, y = file["X_train"].astype(np.float32), file["y_train"]
SVC(cache_size=1, max_iter=20_000, n_jobs=2).fit(X[:2000], y[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
SVC(C=1000, gamma=0.01, cache_size=100, max_iter=150_000, n_jobs=2).fit(X, y)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) - 100e6, 200 * len(X))
"""
    command = [sys.executable, "-P", "-W", "ignore", "-c", code, str(data_file("a9a.npz"))]
    beyond, allowed = map(float, subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
    assert beyond <= allowed


def test_saved_and_pickled_machines_predict_the_same(rng, tmp_path):
    X, y = load_iris(return_X_y=True)
    models = [SVC(probability=True, random_state=0).fit(X, y), SVC(kernel="precomputed").fit(X @ X.T, y)]
    models.append(SVC(kernel="linear").fit(csr_array(X), y))
    for model, rows in zip(models, (X, X @ X.T, csr_array(X))):
        fastclf.save(model, tmp_path / "model")
        for other in (fastclf.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.decision_function(rows), model.decision_function(rows))
            np.testing.assert_array_equal(other.predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("support_", np.array([10**6], np.int32)),
        ("n_support_", np.array([1, 2], np.int32)),
        ("dual_coef_", np.ones((1, 3))),
        ("intercept_", np.ones(7)),
        ("_support_rows_", np.ones((1, 4))),
        ("_dtype_", "int8"),
    ],
)
def test_an_altered_state_is_refused(rng, name, value):
    X, y = overlapping(rng)
    model = SVC().fit(X, y)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=name):
        model._check_state()


BAD = {
    "C": ({"C": 0}, "C is 0; a number above 0 is wanted"),
    "kernel": (
        {"kernel": "rbff"},
        "kernel is 'rbff'; one of 'linear', 'poly', 'rbf', 'sigmoid', 'precomputed' is wanted",
    ),
    "gamma": ({"gamma": "big"}, "gamma is 'big'; one of 'scale', 'auto' is wanted"),
    "gamma sign": ({"gamma": -1.0}, "gamma is -1.0; a number of at least 0 is wanted"),
    "degree": ({"degree": 2.5}, "degree is 2.5; a whole number is wanted"),
    "tol": ({"tol": 0}, "tol is 0; a number above 0 is wanted"),
    "cache": ({"cache_size": -1}, "cache_size is -1; a number above 0 is wanted"),
    "max_iter": ({"max_iter": 0}, "max_iter is 0"),
    "shape": ({"decision_function_shape": "one"}, "decision_function_shape is 'one'"),
    "dtype": ({"kernel_dtype": "float16"}, "kernel_dtype is 'float16'; one of 'float32', 'float64' is wanted"),
    "shrinking": ({"shrinking": 2}, "shrinking is 2; True or False is wanted"),
    "class_weight": ({"class_weight": {9: 1}}, "class_weight has 9, which is no class"),
    "square": (
        {"kernel": "precomputed"},
        r"X has shape \(120, 4\); a square matrix is wanted for a precomputed kernel",
    ),
    "callable": ({"kernel": lambda A, B: A}, "kernel gave values of shape"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    parameters, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        SVC(**parameters).fit(*overlapping(rng))
    assert "\n" not in str(caught.value)


def test_rows_too_long_for_the_kernel_are_refused(rng):
    X, y = overlapping(rng)
    with pytest.raises(ValueError, match="X has rows so long that kernel='poly' overflows; shorter ones are wanted"):
        SVC(kernel="poly", gamma=1).fit(X * 1e150, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SVC().fit(X * 1e30, y).violation_ <= 1e-3


@pytest.mark.parametrize("Cs", [[0.01, 0.1, 1.0, 10.0, 100.0], [10.0, 0.1, 10.0]])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_machines_along_a_path_prove_their_optima(Cs, kernel):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int) + (X[:, 1] > 1)
    for C, model in zip(Cs, svm_path(X, y, Cs, kernel=kernel, tol=1e-5)):
        alone = SVC(C=C, kernel=kernel, tol=1e-5).fit(X, y)
        assert model.kkt_violation(X, y) <= 1.1e-5
        np.testing.assert_allclose(model.dual_objective_, alone.dual_objective_, rtol=1e-6)
        np.testing.assert_array_equal(np.abs(model.dual_coef_).max() >= C, np.abs(alone.dual_coef_).max() >= C)


@pytest.mark.parametrize("n_classes", [3, 12])
def test_pairs_vote_and_rank_as_counted_one_by_one(rng, n_classes):
    n_pairs = n_classes * (n_classes - 1) // 2
    scores = rng.integers(-2, 3, (70, n_pairs)).astype(float)
    won, ranked, confidence = (np.zeros((70, n_classes)) for _ in range(3))
    for p, (a, b) in enumerate(pair_scores.pairs_of(n_classes)):
        for i, score in enumerate(scores[:, p]):
            won[i, a if score > 0 else b] += 1
            ranked[i, b if score < 0 else a] += 1
            confidence[i, a] += score
            confidence[i, b] -= score
    np.testing.assert_array_equal(pair_scores.winners(scores, n_classes), won.argmax(axis=1))
    expected = ranked + confidence / (3 * (np.abs(confidence) + 1))
    np.testing.assert_array_equal(pair_scores.one_for_each_class(scores, n_classes), expected)


@pytest.mark.levels
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize(("n", "d", "n_classes"), [(60, 3, 2), (90, 300, 5), (300, 131, 3)])
def test_any_number_of_rows_has_the_same_bits(rng, monkeypatch, kernel, n, d, n_classes):
    y = np.arange(n) % n_classes
    for types in (("f", "f", None), ("f", "d", "float64"), ("d", "f", "float32"), ("d", "d", None)):
        X, Q = (
            (rng.standard_normal((rows, d)) * (rng.random((rows, d)) < 0.7)).astype(dtype)
            for rows, dtype in zip((n, 150), types)
        )
        model = SVC(kernel=kernel, gamma=1 / d, kernel_dtype=types[2], decision_function_shape="ovo").fit(X, y)
        expected = model.decision_function(Q)
        for size in (1, 2, 20, 100):
            for few in (True, False):
                with monkeypatch.context() as patch:
                    patch.setattr(pair_scores, "_FEW_WORK", 1 << 40 if few else -1)
                    patch.setattr(pair_scores, "_TWO_WORK", 1 << 40 if few else -1)
                    np.testing.assert_array_equal(model.decision_function(Q[:size]), expected[:size])


def test_the_interior_point_method_keeps_its_rows_or_makes_them_anew(rng):
    X, rows = rng.standard_normal((400, 5)).astype(np.float32), np.arange(0, 400, 2)
    y = np.where(X[rows, 0] + rng.standard_normal(200) > 0, 1.0, -1.0)
    points = []
    for buffer in (None, np.empty(1000)):
        points.append(interior_point.Interior(interior_point.SignedRows(X, rows, y, buffer), y, np.ones(200)))
        while points[-1].step():
            pass
    np.testing.assert_array_equal(points[0].a, points[1].a)
    assert points[0].n_steps > 5


@pytest.mark.parametrize(("n", "d"), [(30, 1), (64, 8), (203, 5), (331, 26)])
@pytest.mark.parametrize("spread", [0, 7])
def test_compiled_steps_of_the_interior_point_method_are_those_of_its_formulas(rng, n, d, spread):
    X = rng.standard_normal((n, d)) * np.logspace(0, spread, d)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    C = rng.uniform(0.5, 2, n)
    slow, fast = (interior_point.Interior(interior_point.SignedRows(X, np.arange(n), y), y, C) for _ in range(2))
    while slow.step():
        pass
    for _ in interior_point.steps(fast):
        pass
    assert slow.n_steps > 5
    assert abs(fast.n_steps - slow.n_steps) <= (10 if spread else 0)
    if spread == 0:
        np.testing.assert_allclose(fast.a, slow.a, atol=1e-9)
        np.testing.assert_allclose(fast.w, slow.w, rtol=1e-9)
    for point in (fast, slow):
        gap = point.s @ point.a + point.t @ point.slack
        assert gap <= 1e-8 * point.a.sum()
        np.testing.assert_allclose(point.a + point.slack, C)
        assert np.linalg.norm(point.Z.transposed_times(point.a) - point.w) <= 1e-6 * np.linalg.norm(point.w)


def test_a_step_that_rounding_prevents_ends_the_compiled_method_or_hands_it_over(rng):
    X = rng.standard_normal((60, 4)) * [1e-3, 1, 1e4, 1e9]
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    point = interior_point.Interior(interior_point.SignedRows(X, np.arange(60), y), y, np.full(60, 1e6))
    n_pauses = sum(1 for _ in interior_point.steps(point))
    assert n_pauses > 1
    assert point.exact
    assert np.isfinite(point.a).all()
    assert (point.a > 0).all()


def test_slow_pairs_of_narrow_rows_are_given_up_when_another_method_takes_as_long(rng, monkeypatch):
    X = rng.standard_normal((240, 6)) * 10.0 ** np.arange(-2, 4)
    y = np.where(rng.random(240) < 0.2, rng.integers(0, 4, 240), np.digitize(X[:, 5], [-600, 0, 600]))
    model = SVC(kernel="linear").fit(X, y)
    assert model.fit_status_ == 0
    assert model.kkt_violation(X, y) <= 1.1e-3
    assert model.n_iter_.max() * 120 < 4 * small_pairs.PATIENCE


def test_one_row_has_the_scores_that_it_has_among_many(rng):
    centres = rng.normal(size=(12, 5))
    y = np.arange(240) % 12
    X = centres[y] + rng.normal(size=(240, 5))
    for kernel in ("rbf", "linear"):
        model = SVC(kernel=kernel, decision_function_shape="ovo").fit(X, y)
        together = model.decision_function(X)
        for i in range(0, 240, 40):
            np.testing.assert_array_equal(model.decision_function(X[i : i + 1])[0], together[i])


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_by_the_hyperplanes_of_a_linear_kernel_are_those_by_its_support_vectors(
    rng, monkeypatch, n_classes, dtype
):
    monkeypatch.setattr(pairs, "_BLOCK_NUMBERS", 700)
    X = rng.standard_normal((600, 70)).astype(dtype)
    y = (X @ rng.standard_normal((70, n_classes)) + 3 * rng.standard_normal((600, n_classes))).argmax(axis=1)
    model = SVC(kernel="linear", decision_function_shape="ovo", kernel_dtype="float64").fit(X, y)
    scores, labels = model.decision_function(X), model.predict(X)
    np.testing.assert_allclose(scores, np.squeeze(X @ model.coef_.T + model.intercept_), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(SVC, "_planes_of", lambda *_: np.empty((0, 0)))
    other = SVC(kernel="linear", decision_function_shape="ovo", kernel_dtype="float64").fit(X, y)
    np.testing.assert_allclose(other.decision_function(X), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-12)
    assert (other.predict(X) == labels).mean() > 0.99


def test_coefficients_that_a_user_assigns_replace_the_hyperplanes_of_a_linear_kernel(rng):
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 3
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="read-only"):
        model.dual_coef_[:] = 0
    model.dual_coef_ = 2 * model.dual_coef_
    twice = 2 * (scores - model.intercept_) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), twice, rtol=1e-9, atol=1e-9)
    model.set_params(kernel="rbf")
    model.decision_function(X)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = model.coef_


def far_apart_in_scale(n):
    """Noisy rows whose columns differ much in scale: large alphas, and so large errors of float32, for large C."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = ((rng.standard_normal((2, 17)) * 3)[y] + rng.standard_normal((n, 17))) * 10 ** rng.uniform(-2, 2, 17)
    return X, np.where(rng.random(n) < 0.2, 1 - y, y)


@pytest.mark.parametrize("noisy", [smo._NOISY, 1e-9])
def test_values_in_float32_that_bring_the_exact_violation_no_further_down_are_given_up(monkeypatch, noisy):
    refresh, use, dtypes = Dual.refresh, smo.Help._use_float64, []

    def noted(dual, threads):
        dtypes.append(dual.gram.dtype)
        return refresh(dual, threads)

    monkeypatch.setattr(Dual, "refresh", noted)
    monkeypatch.setattr(smo.Help, "_use_float64", lambda help: dtypes.append("given up") or use(help))
    monkeypatch.setattr(smo, "_NOISY", noisy)
    model = SVC(C=3000.0).fit(*far_apart_in_scale(2500))
    assert model.violation_ <= model.tol
    assert dtypes.count("given up") == 1
    assert dtypes.count(np.float32) <= 3


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("kernel_dtype", [None, "float32"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_many_classes_are_decided_in_blocks_with_the_same_bits(rng, monkeypatch, kernel, kernel_dtype, sparse, n_jobs):
    n_classes, d = 19, 12
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 300)]
    X = rng.standard_normal((n_classes, d))[y] + rng.standard_normal((len(y), d))
    X[rng.random(X.shape) < 0.5] = 0
    Q = rng.standard_normal((135, d))
    A, B = (csr_array(X), csr_array(Q)) if sparse else (X, Q)
    model = SVC(kernel=kernel, decision_function_shape="ovo", n_jobs=n_jobs, kernel_dtype=kernel_dtype).fit(A, y)
    monkeypatch.setattr(pair_scores, "_BLOCK_VALUES", 1 << 9)
    for n in (1, 15, 16, 17, 135):
        found = model.decision_function(B[:n]), model.predict(B[:n])
        with monkeypatch.context() as patch:
            patch.setattr(pair_scores, "_MANY_CLASSES", n_classes + 1)
            np.testing.assert_array_equal(found[0], model.decision_function(B[:n]))
            np.testing.assert_array_equal(found[1], model.predict(B[:n]))
    theirs = peer.SVC(kernel=kernel).fit(A, y)
    assert np.mean(found[1] == theirs.predict(B)) > 0.97


def test_more_pairs_than_support_vectors_are_decided_by_planes_in_blocks_if_these_take_fewer_products(rng, monkeypatch):
    n_classes, d = 30, 5
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 150)]
    X = 2 * rng.standard_normal((n_classes, d))[y] + rng.standard_normal((len(y), d))
    Q = rng.standard_normal((50, d))
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert len(model.support_) < len(model.intercept_) == len(model._planes_)
    scores, labels = model.decision_function(Q), model.predict(Q)
    theirs = peer.SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(scores, theirs.decision_function(Q), atol=2e-2)
    with monkeypatch.context() as patch:
        patch.setattr(kernel_machine, "MOST_VALUES", 3 * len(model.intercept_))
        np.testing.assert_array_equal(model.predict(Q), labels)
    # without planes the scores are sums of kernel values
    model._planes_ = np.empty((0, 0))
    np.testing.assert_allclose(model.decision_function(Q), scores, atol=1e-10)
    np.testing.assert_array_equal(model.predict(Q), labels)
    wide = SVC(kernel="linear").fit(rng.standard_normal((len(y), 3000)), y)
    assert np.size(wide._planes_) == 0


def test_a_score_of_0_of_many_classes_is_a_vote_for_the_second():
    n_classes = 20
    K, coef = np.zeros((35, 40)), np.ones((n_classes - 1, 40))
    starts, intercept = np.arange(0, 41, 2), np.zeros(n_classes * (n_classes - 1) // 2)
    winner = np.empty(35, np.int64)
    scratch = np.empty((40 + n_classes) * pair_scores.compiled.GROUP)
    pair_scores.compiled.decide_pairs(K, coef, starts, intercept, scratch, winner, None)
    assert winner.tolist() == [n_classes - 1] * 35
