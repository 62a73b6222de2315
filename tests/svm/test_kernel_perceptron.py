"""The kernel perceptron: the coefficients of the textbook's loop, on integers exactly."""

import warnings

import numpy as np
import pytest
import reference_kernel_perceptron as reference
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from fastclf import KernelPerceptron, Perceptron, load, save
from fastclf.svm import kernel_epochs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def integers(rng, n=120, d=3):
    X = rng.integers(-4, 5, (n, d)).astype(float)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def coefficients(model, n):
    """dual_coef_ as a matrix with a column for every training row."""
    full = np.zeros((len(model.dual_coef_), n))
    full[:, model.support_] = model.dual_coef_
    return full


@pytest.fixture(params=[256, 7, 1])
def block(request, monkeypatch):
    monkeypatch.setattr(kernel_epochs, "_BLOCK", request.param)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("average", ["none", "averaged"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix])
def test_the_updates_are_the_textbooks(rng, block, intercept, average, rows):
    X, y = integers(rng)
    K = (X @ X.T + 1) ** 2
    parameters = dict(kernel="poly", degree=2, gamma=1.0, coef0=1.0, fit_intercept=intercept, shuffle=False, max_iter=3)
    model = KernelPerceptron(average=average, **parameters).fit(rows(X), y)
    last, mean, mistakes = reference.learn(K, 2 * y - 1, [range(120)] * 3, float(intercept))
    expected = last if average == "none" else mean
    np.testing.assert_allclose(coefficients(model, 120)[0], expected, rtol=1e-12, atol=1e-12)
    assert model.n_mistakes_ == mistakes
    assert model.intercept_[0] == pytest.approx(expected.sum() if intercept else 0, abs=1e-9)
    scores = expected @ (K + float(intercept))
    np.testing.assert_allclose(model.decision_function(rows(X)), scores, rtol=1e-9, atol=1e-9)


def test_planes_against_the_rest_are_learned_alone(rng, block):
    X, y = integers(rng)
    y = y + (X[:, 2] > 2)
    model = KernelPerceptron("linear", shuffle=False, max_iter=4).fit(X, y)
    for k in range(3):
        alone = KernelPerceptron("linear", shuffle=False, max_iter=4).fit(X, y == k)
        np.testing.assert_array_equal(coefficients(model, 120)[k], coefficients(alone, 120)[0])
        assert model.n_mistakes_[k] == alone.n_mistakes_


@pytest.mark.parametrize("average", ["none", "averaged"])
def test_with_a_linear_kernel_it_is_the_perceptron(rng, average):
    X, y = integers(rng)
    model = KernelPerceptron("linear", average=average, shuffle=False, max_iter=5).fit(X, y)
    primal = Perceptron(order="cyclic", average=average, max_iter=5).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], primal.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, primal.intercept_, rtol=1e-12, atol=1e-12)
    assert model.n_mistakes_ == primal.n_mistakes_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_vote_is_that_of_the_perceptron(rng, block, n_classes, intercept, tmp_path):
    X, y = integers(rng)
    y = y + (X[:, 2] > 2) * (n_classes - 2)
    parameters = dict(average="voted", fit_intercept=intercept)
    model = KernelPerceptron("linear", shuffle=False, max_iter=4, **parameters).fit(X, y)
    primal = Perceptron(order="cyclic", max_iter=4, **parameters).fit(X, y)
    np.testing.assert_array_equal(model.votes_, primal.votes_[primal.votes_ > 0])
    np.testing.assert_allclose(model.decision_function(X), primal.decision_function(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), primal.predict(X))
    save(model, tmp_path / "voters")
    np.testing.assert_array_equal(load(tmp_path / "voters").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_go_on_with_more_rows(rng, n_classes):
    X, y = integers(rng)
    y = y + (X[:, 2] > 2) * (n_classes - 2)
    whole = KernelPerceptron("poly", average="voted", gamma=1.0).partial_fit(X, y, np.unique(y))
    parts = KernelPerceptron("poly", average="voted", gamma=1.0)
    for start in range(0, 120, 50):
        parts.partial_fit(X[start : start + 50], y[start : start + 50], np.unique(y))
    np.testing.assert_array_equal(parts.votes_, whole.votes_)
    np.testing.assert_array_equal(parts.support_[parts.voter_support_], whole.support_[whole.voter_support_])
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-12)
    with pytest.raises(ValueError, match="average is 'voted' but was not in earlier calls"):
        KernelPerceptron().partial_fit(X, y, np.unique(y)).set_params(average="voted").partial_fit(X, y)


def test_a_missing_row_does_not_count_for_gamma(rng):
    X, y = integers(rng)
    X = np.vstack([X, 100 * X])
    weight = np.repeat([1.0, 0.0], 120)
    missing = KernelPerceptron().fit(X, np.append(y, y), sample_weight=weight)
    np.testing.assert_array_equal(missing.decision_function(X), KernelPerceptron().fit(X[:120], y).decision_function(X))


def test_damaged_votes_are_refused(rng):
    for name, value in (
        ("votes_", np.ones(3)),
        ("voter_support_", np.array([10**6])),
        ("voter_starts_", np.array([0, 9])),
    ):
        model = KernelPerceptron(average="voted", max_iter=1).fit(*XOR)
        setattr(model, name, value)
        with pytest.raises(ValueError, match="vote"):
            model._check_state()


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_a_budget_is_kept_by_forgetting_the_weakest(rng, block, budget):
    X, y = integers(rng)
    parameters = dict(kernel="linear", shuffle=False, max_iter=1, budget=budget)
    model = KernelPerceptron(**parameters).fit(X, y)
    expected, _, mistakes = reference.learn(X @ X.T, 2 * y - 1, [range(120)], budget=budget)
    assert len(model.support_) <= budget
    np.testing.assert_array_equal(coefficients(model, 120)[0], expected)
    assert model.n_mistakes_ == mistakes
    assert np.isnan(model.mistake_bound_)


def test_xor_is_learned_within_novikoffs_bound():
    for shuffle in (True, False):
        model = KernelPerceptron(gamma=2.0, shuffle=shuffle).fit(*XOR)
        np.testing.assert_array_equal(model.predict(XOR[0]), XOR[1])
        assert model.converged_
        assert 0 < model.n_mistakes_ <= model.mistake_bound_
        K = np.exp(-2 * ((XOR[0][:, None] - XOR[0]) ** 2).sum(axis=2)) + 1
        a = coefficients(model, 4)[0]
        margin = ((2 * XOR[1] - 1) * (a @ K)).min() / np.sqrt(a @ K @ a)
        assert model.margin_ == pytest.approx(margin)
        assert model.radius_ == pytest.approx(2**0.5)


def test_what_no_plane_separates_is_told():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=9 epochs were made, the last with \d mistakes"):
        model = KernelPerceptron("linear", max_iter=9).fit(*XOR)
    assert not model.converged_
    assert model.n_iter_ == 9
    assert np.isnan(model.margin_)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_values_from_elsewhere_are_those_of_the_kernel(rng, kernel):
    from sklearn.metrics.pairwise import pairwise_kernels

    X, y = load_iris(return_X_y=True)
    parameters = {} if kernel == "linear" else dict(gamma=0.2) if kernel == "rbf" else dict(gamma=0.01, coef0=1.0)
    model = KernelPerceptron(kernel, max_iter=5, **parameters).fit(X, y)

    def values(A, B):
        return pairwise_kernels(A, B, kernel, **parameters)

    called = KernelPerceptron(values, max_iter=5).fit(X, y)
    given_values = KernelPerceptron("precomputed", max_iter=5).fit(values(X, X), y)
    for other, Q in ((called, X), (given_values, values(X, X))):
        np.testing.assert_allclose(coefficients(other, 150), coefficients(model, 150))
        np.testing.assert_allclose(other.decision_function(Q), model.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("average", ["none", "averaged"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix])
def test_partial_fits_in_a_row_are_one_sweep(rng, average, rows):
    X, y = integers(rng)
    X, y = rows(X), y + (np.arange(120) % 7 == 0)
    parameters = dict(kernel="rbf", gamma=0.1, average=average, shuffle=False, max_iter=1)
    whole = KernelPerceptron(**parameters).fit(X, y)
    parts = KernelPerceptron(**parameters)
    for start in (0, 50, 51):
        stop = {0: 50, 50: 51, 51: 120}[start]
        parts.partial_fit(X[start:stop], y[start:stop], classes=[0, 1, 2])
    np.testing.assert_array_equal(np.sort(parts.support_), np.sort(whole.support_))
    np.testing.assert_allclose(coefficients(parts, 120), coefficients(whole, 120), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(parts.n_mistakes_, whole.n_mistakes_)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


def test_weights_multiply_the_step_and_zero_is_a_missing_row(rng):
    X, y = integers(rng)
    weight = rng.integers(0, 3, 120).astype(float)
    model = KernelPerceptron("linear", shuffle=False, max_iter=4).fit(X, y, weight)
    there = np.flatnonzero(weight)
    expected = reference.learn(X @ X.T, 2 * y - 1, [there] * 4, steps=weight)[0]
    np.testing.assert_array_equal(coefficients(model, 120)[0], expected)
    by_class = KernelPerceptron("linear", shuffle=False, max_iter=4, class_weight={0: 3.0}).fit(X, y)
    expected = reference.learn(X @ X.T, 2 * y - 1, [range(120)] * 4, steps=np.where(y, 1.0, 3.0))[0]
    np.testing.assert_array_equal(coefficients(by_class, 120)[0], expected)


def test_threads_and_dtype_of_the_same_numbers_change_no_bit(rng):
    X, y = integers(rng, 700, 30)
    one, two = (KernelPerceptron(gamma=0.01, max_iter=2, n_jobs=n).fit(X, y) for n in (1, 3))
    single = KernelPerceptron(gamma=0.01, max_iter=2).fit(X.astype(np.float32), y)
    for other in (two, single):
        np.testing.assert_array_equal(other.dual_coef_, one.dual_coef_)
        np.testing.assert_array_equal(other.support_, one.support_)
    np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))


def test_a_callback_ends_the_training_and_an_interrupt_changes_nothing(rng, capsys):
    X, y = integers(rng, 600)
    seen = []
    model = KernelPerceptron(verbose=1, callback=lambda *told: seen.append(told) or len(seen) == 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert [told[:2] for told in seen] == [(256, 60_000), (512, 60_000)]
    assert "kernel perceptron" in capsys.readouterr().err
    before = vars(model).copy()

    def interrupt(*_):
        raise KeyboardInterrupt

    model.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert all(vars(model)[name] is before[name] for name in before if name != "callback")


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix])
def test_a_saved_model_answers_and_learns_as_before(rng, tmp_path, rows):
    X, y = integers(rng)
    X = rows(X)
    model = KernelPerceptron(max_iter=2).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    for each in (model, again):
        each.partial_fit(X[:40], y[:40])
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


def test_a_state_that_does_not_fit_is_refused(rng):
    model = KernelPerceptron(max_iter=2).fit(*integers(rng))
    n = len(model.support_)
    altered = {
        "dual_coef_": np.ones((1, n + 1)),
        "support_": np.full(n, 120),
        "intercept_": np.ones(2),
        "_support_rows_": np.ones((n, 2)),
        "n_seen_": -1,
    }
    for name, value in altered.items():
        other = KernelPerceptron()
        vars(other).update({**vars(model), name: value})
        with pytest.raises(ValueError, match=name):
            other._check_state()


BAD = {
    "kernel": (dict(kernel="cubic"), "kernel is 'cubic'; one of 'linear', 'poly'"),
    "gamma": (dict(gamma=np.inf), "gamma is inf; a finite number is wanted"),
    "coef0": (dict(coef0=np.nan), "coef0 is nan; a number of at least -inf is wanted"),
    "degree": (dict(degree=-1), "degree is -1; 0 to 2147483647 is wanted"),
    "max_iter": (dict(max_iter=0), "max_iter is 0; at least 1 is wanted"),
    "budget": (dict(budget=0), "budget is 0; at least 1 is wanted"),
    "both": (
        dict(budget=3, average="averaged"),
        "budget is 3 with average='averaged', which keeps more support vectors",
    ),
    "average": (dict(average="pocket"), "average is 'pocket'; one of 'none', 'averaged', 'voted' is wanted"),
    "class_weight": (dict(class_weight=3), "class_weight is 3; a dict, 'balanced' or None is wanted"),
    "precomputed": (dict(kernel="precomputed"), r"X has shape \(120, 3\); a square matrix is wanted"),
    "shape": (dict(kernel=lambda A, B: np.ones(3)), r"kernel gave values of shape \(3,\)"),
    "values": (dict(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)), "kernel gave NaN or infinity; finite"),
    "overflow": (dict(kernel="poly", degree=9000), "values that are NaN or infinite"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_get_one_sentence(rng, name):
    parameters, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        KernelPerceptron(**parameters).fit(*integers(rng))
    assert "\n" not in str(caught.value)


def test_bad_calls_get_one_sentence(rng):
    X, y = integers(rng)
    with pytest.raises(ValueError, match="y has one class, 1; the number of classes has to be greater than one"):
        KernelPerceptron().fit(X, np.ones(120, int))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        KernelPerceptron().fit(X, y, np.zeros(120))
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit; classes is None"):
        KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"target label\(s\) \[5\] in y do not exist in the initial classes \[0 1\]"):
        KernelPerceptron().partial_fit(X, y + 5 * (y > 0) - (y > 0), classes=[0, 1])
    with pytest.raises(
        ValueError, match="kernel is 'precomputed', which has no values between rows of different calls"
    ):
        KernelPerceptron("precomputed").partial_fit(X @ X.T, y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight is 'balanced', which needs all rows at once"):
        KernelPerceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
