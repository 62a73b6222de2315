"""Pairs of classes that few rows of their kernel matrix are enough for (`fastclf/svm/few_rows.py`)."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fastclf import SVC
from fastclf.svm import few_rows
from fastclf.svm.small_pairs import SOLVED

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "C": 100.0},
    {"kernel": "poly", "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 1e-3},
]


def apart(rng, n, d, n_classes, dtype=np.float64):
    """Classes that lie far apart, of different sizes."""
    y = (n_classes * rng.random(n) ** 1.2).astype(int)
    return (8 * rng.standard_normal((n_classes, d))[y] + rng.standard_normal((n, d))).astype(dtype), y


@pytest.fixture
def solved(monkeypatch):
    """A list to which each fit adds the numbers of the pairs of classes that `few_rows` has solved."""
    numbers = []

    def watched(pairs, cache_bytes, status):
        before = pairs.found.status[0].copy()
        solve(pairs, cache_bytes, status)
        after = pairs.found.status[0]
        numbers.extend(np.flatnonzero((after == SOLVED) & (after != before)))

    solve = few_rows.solve
    monkeypatch.setattr(few_rows, "solve", watched)
    return numbers


@pytest.mark.levels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("options", KERNELS)
def test_classes_that_lie_apart_have_the_machines_of_the_whole_matrix(
    rng, solved, monkeypatch, options, n_classes, dtype
):
    X, y = apart(rng, 1000 * n_classes, 7, n_classes, dtype)
    model = SVC(tol=1e-4, decision_function_shape="ovo", **options).fit(X, y)
    assert len(solved) == len(model.violations_)
    assert model.violation_ <= 1e-4
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    other = SVC(tol=1e-4, decision_function_shape="ovo", **options).fit(X, y)
    assert np.allclose(model.dual_objective_, other.dual_objective_, rtol=1e-3, atol=0)
    if options["kernel"] != "sigmoid":  # which is no inner product, so that there may be several optima
        assert np.allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=5e-3)
    assert (model.predict(X) == other.predict(X)).all()


@pytest.mark.levels
@pytest.mark.parametrize(("gap", "C"), [(5, 1000.0), (4, 100.0)])
def test_solutions_that_float32_leaves_doubtful_are_confirmed_by_few_rows_in_float64(rng, solved, monkeypatch, gap, C):
    y = rng.integers(0, 2, 1500)
    X = gap * y[:, None] * np.array([1, 0.5, 0, 0, 0, 0]) + rng.standard_normal((1500, 6))
    types, solve = [], few_rows.solve

    def watched(pairs, cache_bytes, status):
        solve(pairs, cache_bytes, status)
        if pairs.found.status[0, 0] == SOLVED:
            types.append(pairs.gram.dtype.name)

    monkeypatch.setattr(few_rows, "solve", watched)
    model = SVC(C=C, gamma=0.05).fit(X, y)
    assert types == ["float64"]
    assert solved == [0]
    assert model.violation_ <= 1e-3
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    other = SVC(C=C, gamma=0.05).fit(X, y)
    assert np.allclose(model.dual_objective_, other.dual_objective_, rtol=1e-5, atol=0)
    assert min(model.n_iter_[0], other.n_iter_[0]) > len(model.support_)  # the steps in float32 count, too


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("few", [False, True])
def test_steps_in_float32_and_in_float64_are_together_within_max_iter(rng, monkeypatch, few):
    y = rng.integers(0, 2, 1500)
    X = 5 * y[:, None] * np.array([1, 0.5, 0, 0, 0, 0]) + rng.standard_normal((1500, 6))
    if not few:
        monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    options = {"C": 1000.0, "gamma": 0.05, "tol": 1e-5}
    n_steps = SVC(**options).fit(X, y).n_iter_[0]
    for most in (n_steps // 2, n_steps - 1, n_steps, n_steps + 1):
        model = SVC(max_iter=int(most), **options).fit(X, y)
        assert model.n_iter_[0] == min(most, n_steps)
        assert model.fit_status_ == (model.violation_ > 1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_violation_and_the_gap_hold_for_kernel_values_in_float64(rng, solved, kernel):
    X, y = apart(rng, 3000, 5, 2)
    gamma = 0.01
    model = SVC(kernel=kernel, gamma=gamma).fit(X, y)
    assert solved == [0]
    inner = X @ X.T
    square = np.diag(inner)
    K = inner if kernel == "linear" else np.exp(-gamma * (square[:, None] + square - 2 * inner))
    b = np.zeros(len(X))
    b[model.support_] = model.dual_coef_[0]
    label = np.where(y == 1, 1.0, -1.0)
    f = K @ b - label
    rises, falls = np.where(label > 0, b < 1, b < 0), np.where(label > 0, b > 0, b > -1)
    assert f[falls].max() - f[rises].min() <= 1.01e-3
    assert abs(b.sum()) < 1e-12
    square = b @ K @ b
    primal = 0.5 * square + np.maximum(0, 1 - label * (K @ b + model.intercept_)).sum()
    assert primal - (np.abs(b).sum() - 0.5 * square) == pytest.approx(model.duality_gap_, abs=1e-6)


def wide(rng, n, d, gap):
    """n rows of two classes, with more columns than rows, and 20 factors in which the classes' means are apart."""
    y = rng.integers(0, 2, n)
    factors = rng.standard_normal((n, 20)) + gap * y[:, None]
    return factors @ rng.standard_normal((20, d)) + 0.3 * rng.standard_normal((n, d)), y


@pytest.mark.levels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gap", [0, 2])
def test_two_classes_of_fewer_rows_than_columns_have_the_machine_of_the_whole_matrix(
    rng, solved, monkeypatch, gap, dtype
):
    X, y = wide(rng, 300, 700, gap)
    X = X.astype(dtype)
    model = SVC(kernel="linear", tol=1e-5).fit(X, y)
    assert len(solved) == (gap > 0)
    assert model.violation_ <= 1e-5
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    other = SVC(kernel="linear", tol=1e-5).fit(X, y)
    np.testing.assert_allclose(model.dual_objective_, other.dual_objective_, rtol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1e18, 1e30])
def test_two_classes_of_few_rows_with_tiny_or_huge_values_give_no_other_answer_than_the_whole_matrix(
    rng, monkeypatch, scale
):
    X, y = wide(rng, 200, 400, 2)
    X = (scale * X).astype(np.float32)

    def outcome():
        try:
            return SVC(kernel="linear", C=scale**-2).fit(X, y).predict(X)
        except ValueError as error:
            return str(error)

    here = outcome()
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    assert np.array_equal(here, outcome())


def test_a_class_of_a_single_row_is_left_to_the_other_solvers(rng, solved):
    X, _ = wide(rng, 200, 400, 0)
    y = np.arange(200) == 7
    model = SVC(kernel="linear").fit(X, y)
    assert not solved
    assert model.violation_ <= 1e-3


@pytest.mark.levels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_pairs_in_one_call_have_the_bits_of_pairs_in_a_call_each(rng, solved, monkeypatch, dtype):
    X, y = apart(rng, 2000, 7, 5, dtype)
    calls, compiled = [], few_rows.compiled.solve_by_few_rows

    class Watched:
        def solve_by_few_rows(self, found, panels, numbers, work, steps):
            calls.append(len(numbers))
            compiled(found, panels, numbers, work, steps)

    monkeypatch.setattr(few_rows, "compiled", Watched())
    together = SVC(n_jobs=1).fit(X, y)
    assert len(calls) == 1
    assert len(solved) > 3
    monkeypatch.setattr(few_rows, "_TOGETHER", 1)
    alone = SVC(n_jobs=1).fit(X, y)
    assert calls[1:] == [1] * calls[0]
    assert together.violation_ <= 1e-3
    assert together.dual_coef_.tobytes() == alone.dual_coef_.tobytes()
    assert together.intercept_.tobytes() == alone.intercept_.tobytes()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_number_of_threads_changes_no_bit(rng, solved, n_classes):
    X, y = apart(rng, 800 * n_classes, 20, n_classes, np.float32)
    one, three = (SVC(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert len(solved) == 2 * len(one.violations_)
    assert one.dual_coef_.tobytes() == three.dual_coef_.tobytes()
    assert one.intercept_.tobytes() == three.intercept_.tobytes()


@pytest.mark.levels
@pytest.mark.parametrize("options", KERNELS[:3])
def test_pairs_that_overlap_go_on_from_the_first_steps(rng, solved, monkeypatch, options):
    X, y = rng.standard_normal((2000, 6)), rng.integers(3, size=2000)
    begun = []

    def solve_and_look(pairs, cache_bytes, status):
        solve(pairs, cache_bytes, status)
        begun.append((pairs.found.n_steps[0].copy(), np.count_nonzero(pairs.found.coef[0], axis=1)))

    solve = few_rows.solve
    monkeypatch.setattr(few_rows, "solve", solve_and_look)
    model = SVC(**options).fit(X, y)
    assert solved == []
    assert (begun[0][0] > 0).all()
    assert (begun[0][1] > 0).all()
    assert model.violation_ <= 1e-3
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    other = SVC(**options).fit(X, y)
    assert np.allclose(model.dual_objective_, other.dual_objective_, rtol=1e-4, atol=0)
    assert model.n_iter_.sum() <= 1.5 * other.n_iter_.sum()


def test_a_pair_has_the_bits_that_it_has_without_other_classes(rng, solved):
    X, y = apart(rng, 3000, 6, 4)
    three = y < 3
    model, other = SVC(gamma=0.01).fit(X, y), SVC(gamma=0.01).fit(X[three], y[three])
    assert {0, 1, 3} <= set(solved)
    assert model.intercept_[[0, 1, 3]].tobytes() == other.intercept_.tobytes()


def test_panels_that_do_not_fit_the_memory_together_are_made_for_each_pair(rng, solved, monkeypatch):
    X, y = apart(rng, 3000, 200, 3)
    options = {"cache_size": 40, "n_jobs": 2}
    model = SVC(**options).fit(X, y)
    n_solved = len(solved)
    made = []

    class Watched(few_rows.Panels):
        def __init__(self, problem, gram, classes):
            made.append(len(classes))
            super().__init__(problem, gram, classes)

    monkeypatch.setattr(few_rows, "Panels", Watched)
    monkeypatch.setattr(few_rows, "_MEMORY", 0.05)
    other = SVC(**options).fit(X, y)
    assert n_solved == 3
    assert made == [2, 2, 2]
    assert model.dual_coef_.tobytes() == other.dual_coef_.tobytes()


def test_panels_have_the_classes_of_pairs_that_are_tried(rng, monkeypatch):
    X, y = apart(rng, 2000, 5, 2)
    y[:3] = [7, 8, 9]
    made = []
    panels = few_rows.Panels
    monkeypatch.setattr(few_rows, "Panels", lambda *told: made.append(panels(*told)) or made[-1])
    monkeypatch.setattr(few_rows, "_FEWEST", 1500)
    SVC().fit(X, y)
    assert len(made) == 1
    assert (made[0].first >= 0).tolist() == [True, True, False, False, False]


def test_an_unlimited_cache_and_a_large_limit_of_steps_change_no_bit(rng, solved):
    X, y = apart(rng, 1500, 4, 2)
    model, *others = (SVC(**options).fit(X, y) for options in ({}, {"cache_size": np.inf}, {"max_iter": 10**9}))
    assert solved == [0, 0, 0]
    assert all(model.dual_coef_.tobytes() == other.dual_coef_.tobytes() for other in others)


@pytest.mark.filterwarnings("error")
def test_values_beyond_float32_give_no_warning(rng):
    X, y = apart(rng, 1500, 4, 2)
    assert SVC().fit(X * 1e39, y).score(X * 1e39, y) == 1
    assert SVC(kernel="linear").fit(X * 1e19, y).score(X * 1e19, y) == 1


def test_pairs_that_lie_apart_are_solved_beside_pairs_that_overlap(rng, solved):
    X, y = apart(rng, 3000, 6, 3)
    X[y == 1] = X[y == 0][rng.integers((y == 0).sum(), size=(y == 1).sum())] + 0.1
    model = SVC().fit(X, y)
    assert solved == [1, 2]
    assert model.violation_ <= 1e-3


@pytest.mark.parametrize(
    "options", [{"max_iter": 5}, {"kernel": "precomputed"}, {"kernel": lambda A, B: A @ B.T}, {"cache_size": 0.1}]
)
def test_fits_that_few_rows_are_not_meant_for_are_left_to_the_other_solvers(rng, solved, options):
    X, y = apart(rng, 1500, 4, 2)
    X = X @ X.T if options.get("kernel") == "precomputed" else X
    model = SVC(**options)
    if "max_iter" in options:
        with pytest.warns(UserWarning, match="terminated early"):
            model.fit(X, y)
        assert (model.n_iter_ <= 5).all()
    else:
        model.fit(X, y)
    assert solved == []


def test_sparse_rows_are_left_to_the_other_solvers(rng, solved):
    X, y = apart(rng, 1500, 4, 2)
    dense, sparse = SVC().fit(X, y), SVC().fit(csr_array(X), y)
    assert solved == [0]
    assert np.allclose(dense.decision_function(X), sparse.decision_function(csr_array(X)), rtol=0, atol=2e-3)


def test_folds_that_lack_a_class_are_fitted(rng):
    X, y = apart(rng, 1500, 4, 2)
    y[:3] = 2
    model = SVC(probability=True, random_state=0).fit(X, y)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_callback_sees_the_pairs_and_ends_the_fit(rng):
    X, y = apart(rng, 3000, 6, 3)
    seen = []
    SVC(callback=lambda *told: seen.append(told)).fit(X, y)
    assert len(seen) >= 3
    with pytest.warns(UserWarning, match="the callback ended it"):
        model = SVC(callback=lambda *told: True).fit(X, y)
    assert model.fit_status_ == 1


@pytest.mark.parametrize("seed", [3, 4])
def test_a_hard_margin_that_few_rows_are_not_enough_for_begins_anew(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 2))
    y = (X[:, 0] > 0) * 1
    X[:, 0] += 0.02 * (2 * y - 1)
    model = SVC(C=np.inf, gamma=0.5).fit(X, y)
    monkeypatch.setattr(few_rows, "solve", lambda pairs, cache_bytes, status: None)
    other = SVC(C=np.inf, gamma=0.5).fit(X, y)
    assert model.fit_status_ == 0
    assert (model.n_iter_ == other.n_iter_).all()
    assert model.dual_coef_.tobytes() == other.dual_coef_.tobytes()
