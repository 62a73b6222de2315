"""Predictions of trees: further criteria, several outputs, costs and monotonic constraints."""

import numpy as np
import pytest
import reference_tree as reference
from sklearn import tree as sklearn_tree

import fastclf
from fastclf import DecisionTreeClassifier, DecisionTreeRegressor, load, save

pytestmark = pytest.mark.levels


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_split_by_other_criteria_is_the_first_of_the_best(rng, criterion, weighted):
    for n, d, digits in [(1, 1, 0), (2, 2, 1), (25, 3, 0), (50, 2, 1)]:
        X = rng.standard_normal((n, d)).round(digits)
        y = rng.integers(0, 9, n).astype(float)
        y[0] = 1
        weight = rng.integers(1, 4, n) / 2 if weighted else None
        model = DecisionTreeRegressor(criterion=criterion, max_depth=3).fit(X, y, weight)
        tree = model.tree_
        for node, rows in enumerate(model.decision_path(X).toarray().T.astype(bool)):
            w = np.ones(n) if weight is None else weight
            assert tree.impurity[node] == pytest.approx(reference.impurity(y[rows], w[rows], criterion), abs=1e-9)
            if tree.children_left[node] >= 0:
                best = reference.best_split(X[rows], y[rows], w[rows], criterion)
                assert (tree.feature[node], tree.threshold[node]) == best[1:]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_regressors_are_scikit_learns(rng, criterion, weighted):
    X = rng.standard_normal((200, 3)).astype(np.float32)
    y = np.exp(X[:, 0] + rng.standard_normal(200))
    weight = rng.integers(1, 4, 200).astype(float) if weighted else None
    ours, theirs = (
        module.DecisionTreeRegressor(criterion=criterion, max_depth=4, min_samples_leaf=4, random_state=0).fit(
            X, y, weight
        )
        for module in (fastclf, sklearn_tree)
    )
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_allclose(ours.tree_.impurity, theirs.tree_.impurity, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
@pytest.mark.parametrize("criterion", [0, 1])
def test_trees_of_several_outputs_are_scikit_learns(rng, kind, criterion, tmp_path):
    X = rng.standard_normal((200, 3)).astype(np.float32)
    Y = X[:, :2] + rng.standard_normal((200, 2))
    criteria = ["squared_error", "absolute_error"]
    if kind == "DecisionTreeClassifier":
        Y, criteria = np.column_stack([Y[:, 0] > 0, np.digitize(Y[:, 1], [-1, 1])]).astype(int), ["gini", "entropy"]
    options = {"criterion": criteria[criterion], "max_depth": 3, "min_samples_leaf": 12, "random_state": 0}
    ours, theirs = (getattr(module, kind)(**options).fit(X, Y) for module in (fastclf, sklearn_tree))
    np.testing.assert_allclose(ours.tree_.impurity, theirs.tree_.impurity, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.tree_.value, theirs.tree_.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    if kind == "DecisionTreeClassifier":
        for p, q in zip(ours.predict_proba(X), theirs.predict_proba(X)):
            np.testing.assert_allclose(p, q, atol=1e-12)
    save(ours, tmp_path / "tree")
    np.testing.assert_array_equal(load(tmp_path / "tree").predict(X), ours.predict(X))
    pruned = getattr(fastclf, kind)(**options, ccp_alpha="cv", cv=3).fit(X, Y)
    assert 1 <= pruned.get_n_leaves() <= ours.get_n_leaves()


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_no_leaf_of_counts_predicts_0_whatever_the_sums_are_rounded_to(rng, n_outputs):
    X = rng.standard_normal((400, 2)).round(1)
    for _ in range(10):
        Y = rng.poisson(0.5 * (X[:, :1] > 0), (400, n_outputs))
        model = DecisionTreeRegressor(criterion="poisson", ccp_alpha="cv", cv=3).fit(X, Y)
        assert (model.tree_.value > 0).all()
        assert (model.cv_results_["errors"] > 0).all()
        assert np.isfinite(model.cv_results_["standard_errors"]).all()


def test_counts_that_are_0_outside_a_fold_are_refused(rng):
    y = np.zeros(30)
    y[7] = 1
    with pytest.raises(ValueError, match="y is 0 in all rows outside one of the folds"):
        DecisionTreeRegressor(criterion="poisson", ccp_alpha="cv").fit(rng.standard_normal((30, 2)), y)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_of_splits_that_gain_nothing_the_first_is_taken(rng, criterion, weighted):
    X = np.array(list(np.ndindex(2, 2, 2, 2)) * 3, float)
    for _ in range(20):
        order = rng.permutation(len(X))
        y = 0.1 + 0.7 * (X.sum(axis=1) % 2)
        weight = np.full(len(X), 0.3) if weighted else None
        model = DecisionTreeRegressor(criterion=criterion).fit(X[order], y[order], weight)
        assert model.tree_.feature[:3].tolist() == [0, 1, 2]


def test_misclassification_of_two_outputs_is_the_mean_of_both(rng):
    X, Y = rng.standard_normal((30, 2)).round(1), rng.integers(0, 3, (30, 2))
    model = DecisionTreeClassifier(criterion="misclassification", max_depth=1).fit(X, Y)
    ones = np.ones(30)
    gains = {}
    for o in (0, 1):
        for gain, feature, threshold in reference.splits(X, Y[:, o], ones, "misclassification"):
            gains[feature, threshold] = gains.get((feature, threshold), 0) + gain / 2
    split = model.tree_.feature[0], model.tree_.threshold[0]
    assert gains[split] == pytest.approx(max(gains.values()))


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
@pytest.mark.parametrize("constraint", [[1, 0], [-1, 1], [0, -1]], ids=str)
def test_constrained_trees_are_scikit_learns_and_in_order(rng, kind, constraint):
    X = rng.standard_normal((300, 2)).astype(np.float32)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(300)
    y = (y > 0).astype(int) if kind == "DecisionTreeClassifier" else y
    options = {"monotonic_cst": constraint, "min_samples_leaf": 3, "random_state": 0}
    ours, theirs = (getattr(module, kind)(**options).fit(X, y) for module in (fastclf, sklearn_tree))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)

    def said(Q):
        return ours.predict_proba(Q)[:, 1] if kind == "DecisionTreeClassifier" else ours.predict(Q)

    grid = np.linspace(-2, 2, 60).astype(np.float32)
    for feature, sign in enumerate(constraint):
        for other in (-1.0, 0.3):
            Q = np.full((60, 2), other, np.float32)
            Q[:, feature] = grid
            assert sign == 0 or (np.diff(said(Q)) * sign >= -1e-12).all()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_constraints_hold_for_leaves_of_one_number_too(rng, criterion):
    for _ in range(20):
        X, y = rng.standard_normal((40, 2)).round(1), rng.integers(0, 4, 40) + 0.5
        model = DecisionTreeRegressor(criterion=criterion, monotonic_cst=[1, 0]).fit(X, y)
        Q = rng.standard_normal((50, 2))
        assert (model.predict(Q + [1, 0]) >= model.predict(Q) - 1e-12).all()


def test_a_constrained_median_is_in_order(rng):
    X = rng.standard_normal((200, 1))
    y = X[:, 0] + rng.standard_normal(200)
    model = DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[1]).fit(X, y)
    assert (np.diff(model.predict(np.sort(X, axis=0))) >= 0).all()
    assert model.get_n_leaves() > 2


def test_leaves_predict_the_least_expected_cost(rng):
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 3, 200)
    cost = np.array([[0, 1, 4], [2, 0, 1], [9, 1, 0.0]])
    model = DecisionTreeClassifier(max_depth=3, cost_matrix=cost).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X) @ cost).argmin(axis=1))
    pruned = DecisionTreeClassifier(cost_matrix=cost, ccp_alpha=0.05, ccp_risk="error").fit(X, y)
    risk = pruned.cost_complexity_pruning_path(X, y).impurities
    whole = DecisionTreeClassifier(cost_matrix=cost).fit(X, y)
    shares = whole.tree_.value[0, 0]
    assert risk[-1] == pytest.approx((shares @ cost).min())
    assert pruned.get_n_leaves() < whole.get_n_leaves()


def test_wrong_costs_and_constraints_are_refused():
    X, two = [[0.0], [1.0]], [0, 1]
    for make, y, message in [
        (lambda: DecisionTreeClassifier(cost_matrix=[[0, 1]]), two, r"cost_matrix has shape \(1, 2\)"),
        (
            lambda: DecisionTreeClassifier(cost_matrix=[[0, -1], [1, 0]]),
            two,
            "cost_matrix has an entry that is negative",
        ),
        (lambda: DecisionTreeClassifier(cost_matrix=np.eye(2)), [[0, 1], [1, 0]], "y has 2 outputs"),
        (lambda: DecisionTreeClassifier(monotonic_cst=[1]), [[0, 1], [1, 0]], "not supported with multiple output"),
        (lambda: DecisionTreeClassifier(monotonic_cst=[2]), two, "monotonic_cst must be None"),
        (lambda: DecisionTreeClassifier(monotonic_cst=[1, 0]), two, "monotonic_cst has shape"),
        (lambda: DecisionTreeRegressor(criterion="poisson"), [-1.0, 2.0], "value.s. of y are negative"),
        (lambda: DecisionTreeClassifier(ccp_risk="gini"), two, "ccp_risk is 'gini'"),
    ]:
        with pytest.raises(ValueError, match=message):
            make().fit(X, y)
    with pytest.raises(ValueError, match="not supported with multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1]).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
