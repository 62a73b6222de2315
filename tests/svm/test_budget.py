"""The forms of the soft margin by name: lam, and a budget of the slacks, for every kernel."""

import numpy as np
import pytest
import reference_svm as reference

from fastclf import SVC, LinearSVC, load, save, svm_path

KERNELS = {"linear": {}, "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0}, "rbf": {"gamma": 0.2}}


def overlapping(rng, n=60, d=3, classes=2):
    X = rng.standard_normal((n, d))
    return X, np.digitize(X[:, 0] + 0.7 * rng.standard_normal(n), [0.0, 0.8][: classes - 1])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("intercept", [True, False])
def test_lam_is_the_objective_with_that_factor_of_the_norm(rng, name, intercept):
    X, y = overlapping(rng)
    for lam in (0.05, 5.0):
        by_lam = SVC(kernel=name, lam=lam, fit_intercept=intercept, **KERNELS[name]).fit(X, y)
        by_C = SVC(kernel=name, C=0.5 / lam, fit_intercept=intercept, **KERNELS[name]).fit(X, y)
        np.testing.assert_array_equal(by_lam.dual_coef_, by_C.dual_coef_)
        assert by_lam.C_.tolist() == by_C.C_.tolist() == [0.5 / lam]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_the_least_weights_within_a_budget_are_proved_by_the_obvious_solver(rng, name, intercept, tol):
    X, y = overlapping(rng)
    sign, K = 2 * y - 1, reference.kernel_matrix(name, X, X, **KERNELS[name])
    weight = rng.integers(1, 3, 60).astype(float)
    at_C = SVC(kernel=name, C=0.3, fit_intercept=intercept, tol=1e-8, **KERNELS[name]).fit(X, y, weight)
    budget = (weight * np.maximum(0, 1 - sign * at_C.decision_function(X))).sum()
    model = SVC(kernel=name, budget=budget, tol=tol, fit_intercept=intercept, **KERNELS[name]).fit(X, y, weight)
    spent = (weight * np.maximum(0, 1 - sign * model.decision_function(X))).sum()
    assert spent <= budget * (1 + 1e-9)
    half = 0.5 / model.margin_[0] ** 2
    # weak duality: for any C the least |w|^2 / 2 + C (slacks - budget) is at most the least |w|^2 / 2 within the budget
    C = model.C_[0]
    alpha = reference.smo(K, sign, C * weight) if intercept else reference.through_origin(K, sign, C * weight)
    least = reference.dual_objective(K, sign, alpha) - C * budget
    assert half - least <= tol * half * (1 + 1e-3) + 1e-9
    assert half == pytest.approx(0.5 / at_C.margin_[0] ** 2, rel=2 * tol)


@pytest.mark.parametrize(
    "parameters", [{"loss": "hinge", "intercept_scaling": None}, {"loss": "hinge"}, {}, {"penalty": "l1"}]
)
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_a_linear_machine_has_the_least_weights_within_its_budget(rng, parameters, tol):
    X, y = overlapping(rng, 200)
    sign = 2 * y - 1
    # budgets that hyperplanes can meet: 1.2 times the losses at a large C, and 0.98 times those of w = 0
    tight = LinearSVC(C=100, max_iter=100_000, **parameters).fit(X, y)

    def losses(model):
        z = np.maximum(0, 1 - sign * model.decision_function(X))
        return (z if parameters.get("loss") == "hinge" else z * z).sum()

    for budget in (
        1.2 * losses(tight),
        0.98 * 200 if parameters != {"loss": "hinge", "intercept_scaling": None} else 180,
    ):
        model = LinearSVC(budget=budget, tol=tol, max_iter=100_000, **parameters).fit(X, y)
        spent, C = losses(model), model.C_[0]
        assert spent <= budget * (1 + 1e-12)
        penalty = model.primal_objective_ - C * spent
        # the dual objective is at most the penalty plus C times the losses of any hyperplane, so that it bounds the
        # penalty
        assert penalty - (model.dual_objective_ - C * budget) <= tol * penalty * (1 + 1e-6)


def test_the_machine_with_a_budget_is_the_linear_one(rng):
    X, y = overlapping(rng, 200)
    by_kernel = SVC(kernel="linear", budget=150, tol=1e-8).fit(X, y)
    linear = LinearSVC(loss="hinge", intercept_scaling=None, budget=150, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(by_kernel.coef_, linear.coef_, rtol=1e-4)
    np.testing.assert_allclose(by_kernel.C_, linear.C_, rtol=1e-4)


def test_each_pair_of_classes_has_the_budget(rng, tmp_path):
    X, y = overlapping(rng, 150, classes=3)
    model = SVC(budget=30, gamma=0.2, decision_function_shape="ovo", tol=1e-6).fit(X, y)
    scores = model.decision_function(X)
    for p, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = np.isin(y, (a, b))
        single = SVC(budget=30, gamma=0.2, tol=1e-6).fit(X[pair], y[pair] == a)
        np.testing.assert_allclose(scores[pair, p], single.decision_function(X[pair]), atol=1e-4)
        assert model.C_[p] == pytest.approx(single.C_[0], rel=1e-3)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_large_budget_leaves_no_weights_and_a_small_one_is_refused(rng):
    X, y = overlapping(rng)
    for intercept in (True, False):
        model = SVC(budget=60.0, fit_intercept=intercept).fit(X, y)
        assert model.margin_.tolist() == [np.inf]
        assert model.C_.tolist() == [0.0]
        larger = model.classes_[np.bincount(y).argmax()]
        assert not intercept or set(model.predict(X)) == {larger}
        with pytest.raises(ValueError, match=r"budget is 1e-06; no hyperplane was found whose losses add up to less"):
            SVC(kernel="linear", budget=1e-6, fit_intercept=intercept).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": 0}, "lam is 0; "),
        ({"budget": "much"}, "budget is 'much'; a number is wanted"),
        ({"lam": 1.0, "budget": 1.0}, "lam is 1.0 and budget 1.0; one of them is wanted, or none"),
        ({"budget": 1.0, "probability": True}, "probability is True and budget 1.0; C or lam is wanted"),
    ],
)
def test_bad_forms_get_one_sentence(parameters, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SVC(**parameters).fit([[0.0], [1.0]], [0, 1])
    if "probability" not in parameters:
        with pytest.raises((TypeError, ValueError), match="wanted"):
            svm_path([[0.0], [1.0]], [0, 1], [1.0], **parameters)
