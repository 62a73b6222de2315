"""Pruning: the subtrees follow from the definition, they are nested, and folds choose among them like separate fits."""

import numpy as np
import pytest
import reference_tree as reference
from sklearn import datasets
from sklearn import tree as sklearn_tree

import fastclf
from fastclf import DecisionTreeClassifier, DecisionTreeRegressor
from fastclf.tree.pruning import fold_of_rows

LOADERS = {name: getattr(datasets, f"load_{name}") for name in ("iris", "wine", "breast_cancer")}


def rows_of_nodes(model, X):
    return [np.flatnonzero(rows) for rows in model.decision_path(X).toarray().T]


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_pruning_path_is_that_of_the_weakest_links(name, criterion):
    X, y = LOADERS[name](return_X_y=True)
    model = DecisionTreeClassifier(criterion=criterion).fit(X, y)
    tree = model.tree_
    risk = tree.impurity * tree.weighted_n_node_samples / len(X)
    steps = reference.subtrees(tree.children_left, tree.children_right, risk)
    path = model.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas[1:], [alpha for alpha, _, _ in steps], rtol=1e-9)
    np.testing.assert_allclose(path["impurities"][1:], [impurity for _, impurity, _ in steps], rtol=1e-9)
    assert path.n_leaves[1:].tolist() == [n_leaves for _, _, n_leaves in steps]
    assert (path.ccp_alphas[0], path.n_leaves[0]) == (0, tree.n_leaves)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_pruned_trees_are_those_of_the_path_and_nest(rng, kind):
    X = rng.standard_normal((150, 3)).round(1)
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(150) < 0.2)
    whole = kind().fit(X, y)
    path = whole.cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) > 0).all()
    assert (np.diff(path.n_leaves) < 0).all()
    assert path.n_leaves[-1] == 1
    splits = None
    for alpha, impurity, n_leaves in zip(path.ccp_alphas[1:], path.impurities[1:], path.n_leaves[1:]):
        model = kind(ccp_alpha=alpha).fit(X, y)
        tree = model.tree_
        leaf = tree.children_left < 0
        assert tree.n_leaves == n_leaves
        assert tree.impurity[leaf] @ tree.weighted_n_node_samples[leaf] / 150 == pytest.approx(impurity, rel=1e-9)
        ours = {tuple(rows) for rows in rows_of_nodes(model, X)}
        assert splits is None or ours < splits
        splits = ours


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_pruning_by_an_alpha_leaves_scikit_learns_tree(rng, kind):
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + rng.standard_normal(300)
    if kind == "DecisionTreeClassifier":
        y = (y > 0).astype(int)
    ours, theirs = (getattr(module, kind)(min_samples_leaf=5, random_state=0) for module in (fastclf, sklearn_tree))
    for alpha in (0.001, 0.003, 0.01, 0.05, 1.0):
        ours.set_params(ccp_alpha=alpha).fit(X, y)
        theirs.set_params(ccp_alpha=alpha).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def naive_errors(model, X, y, weight, alphas, costs):
    """The loss of each row by the tree of the other folds, pruned at each alpha: (n_alphas, n)."""
    labels = np.unique(y, return_inverse=True)[1] if isinstance(model, DecisionTreeClassifier) else None
    fold = fold_of_rows(len(X), model.cv, labels, 0)
    losses = np.empty((len(alphas), len(X)))
    for number in range(model.cv):
        train, test = fold != number, fold == number
        w = None if weight is None else weight[train]
        for k, alpha in enumerate(alphas):
            parameters = model.get_params() | {"ccp_alpha": min(alpha, 1e300)}
            part = type(model)(**parameters).fit(X[train], y[train], w)
            losses[k, test] = costs(y[test], part.predict(X[test]))
    return losses


CASES = {
    "labels": (DecisionTreeClassifier, {}, lambda y, p: y != p),
    "few leaves": (DecisionTreeClassifier, {"max_leaf_nodes": 9, "criterion": "entropy"}, lambda y, p: y != p),
    "error": (DecisionTreeClassifier, {"ccp_risk": "error"}, lambda y, p: y != p),
    "squares": (DecisionTreeRegressor, {"min_samples_leaf": 3}, lambda y, p: (y - p) ** 2),
    "distances": (DecisionTreeRegressor, {"criterion": "absolute_error"}, lambda y, p: abs(y - p)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_give_the_errors_of_the_naive_loop(rng, case, weighted):
    kind, options, costs = CASES[case]
    X = rng.standard_normal((90, 3))
    y = X[:, 0] + 0.7 * rng.standard_normal(90)
    y = (y > 0).astype(int) if kind is DecisionTreeClassifier else y
    weight = rng.integers(1, 3, 90).astype(float) if weighted else None
    model = kind(ccp_alpha="cv", cv=4, **options).fit(X, y, weight)
    found = model.cv_results_
    alphas = found["ccp_alphas"]
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
    losses = naive_errors(model, X, y, weight, between, costs)
    w = np.ones(90) if weight is None else weight
    error = losses @ w / w.sum()
    np.testing.assert_allclose(found["errors"], error, rtol=1e-9, atol=1e-12)
    spread = np.sqrt(((losses - error[:, None]) ** 2 @ w) / w.sum() / 90)
    np.testing.assert_allclose(found["standard_errors"], spread, rtol=1e-6, atol=1e-9)
    assert (np.diff(found["n_leaves"]) < 0).all()
    best = np.flatnonzero(np.isclose(error, error.min(), rtol=1e-9))[-1]
    assert model.ccp_alpha_ == alphas[best]
    assert model.get_n_leaves() == found["n_leaves"][best]
    small = kind(ccp_alpha="cv", cv=4, one_se=True, **options).fit(X, y, weight)
    within = np.flatnonzero(found["errors"] <= found["errors"][best] + found["standard_errors"][best])[-1]
    assert small.get_n_leaves() == found["n_leaves"][within]


def test_risk_by_error_is_that_of_cart(rng):
    X = rng.standard_normal((150, 2)).round(1)
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(150) < 0.25)
    model = DecisionTreeClassifier(ccp_risk="error", min_samples_leaf=3).fit(X, y)
    tree = model.tree_
    risk = (1 - tree.value[:, 0].max(axis=1)) * tree.n_node_samples / 150
    steps = reference.subtrees(tree.children_left, tree.children_right, risk)
    path = model.cost_complexity_pruning_path(X, y)
    last = {n_leaves: (alpha, impurity) for alpha, impurity, n_leaves in steps}
    for alpha, impurity, n_leaves in zip(path.ccp_alphas[1:], path.impurities[1:], path.n_leaves[1:]):
        assert last[n_leaves] == pytest.approx((alpha, impurity))


def test_a_chain_10000_deep_is_pruned_by_folds():
    X, y = np.arange(10_001.0)[:, None], np.arange(10_001) % 2
    model = DecisionTreeClassifier(ccp_alpha="cv", cv=2).fit(X, y)
    assert model.get_n_leaves() < 10_001


def test_threads_change_no_fold(rng):
    X, y = rng.standard_normal((500, 3)), rng.integers(0, 2, 500)
    one, two = (DecisionTreeClassifier(ccp_alpha="cv", cv=5, n_jobs=n).fit(X, y).cv_results_ for n in (1, 3))
    for name, column in one.items():
        np.testing.assert_array_equal(column, two[name])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_lam_is_lambda_of_the_texts(rng, criterion):
    X = rng.standard_normal((80, 3)).round(1)
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(80) < 0.25)

    def cost(model, lam):
        leaf, total = model.apply(X), 0.0
        for m in np.unique(leaf):  # N_m Q_m is a leaf's number of rows times its impurity, as in textbooks
            share = np.bincount(y[leaf == m]) / (leaf == m).sum()
            share = share[share > 0]
            Q = {"gini": 1 - share @ share, "entropy": -share @ np.log(share), "misclassification": 1 - share.max()}
            total += (leaf == m).sum() * Q[criterion]
        return total + lam * model.get_n_leaves()

    alphas = DecisionTreeClassifier(criterion=criterion).cost_complexity_pruning_path(X, y).ccp_alphas
    models = [DecisionTreeClassifier(criterion=criterion, ccp_alpha=alpha).fit(X, y) for alpha in alphas]
    assert models[0].lam_ == 0
    for model in models:
        costs = [cost(other, model.lam_) for other in models]
        assert cost(model, model.lam_) == pytest.approx(min(costs))
        assert model.lam_ == pytest.approx(80 * model.ccp_alpha * (np.log(2) if criterion == "entropy" else 1))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification", "squared_error", "absolute_error"])
def test_lam_prunes_in_the_units_of_the_texts(rng, criterion):
    X, y = rng.standard_normal((80, 3)).round(1), rng.integers(0, 3, 80)
    weight = rng.random(80)
    tree = DecisionTreeRegressor if "_error" in criterion else DecisionTreeClassifier
    alphas = tree(criterion=criterion).cost_complexity_pruning_path(X, y, weight).ccp_alphas
    whole = tree(criterion=criterion).fit(X, y)
    assert tree(criterion=criterion, lam=0).fit(X, y).get_n_leaves() == whole.get_n_leaves()
    unit = weight.sum() * (np.log(2) if criterion == "entropy" else 1)
    for alpha in alphas[::4]:
        by_alpha = tree(criterion=criterion, ccp_alpha=alpha * 1.001).fit(X, y, weight)
        by_lam = tree(criterion=criterion, lam=alpha * 1.001 * unit).fit(X, y, weight)
        assert np.array_equal(by_lam.tree_.feature, by_alpha.tree_.feature)
        assert by_lam.lam_ == by_lam.lam == pytest.approx(by_alpha.lam_)
        assert by_lam.ccp_alpha_ == pytest.approx(by_alpha.ccp_alpha_)


def test_lam_is_tuned_on_one_tree_and_excludes_ccp_alpha(rng):
    X, y = rng.standard_normal((60, 2)), rng.integers(0, 2, 60)
    values = [0, 0.7, 1.5, 100]
    for model, lam in zip(DecisionTreeClassifier()._fit_path("lam", values, X, y), values):
        alone = DecisionTreeClassifier(lam=lam).fit(X, y)
        assert model.get_params() == alone.get_params()
        assert (model.lam_, model.ccp_alpha_) == (alone.lam_, alone.ccp_alpha_)
        assert np.array_equal(model.tree_.threshold, alone.tree_.threshold, equal_nan=True)
    for alpha in (0.1, "cv"):
        with pytest.raises(ValueError, match=r"ccp_alpha is .* and lam is 1; one of the two is wanted"):
            DecisionTreeClassifier(lam=1, ccp_alpha=alpha).fit(X, y)
    for wrong in (-1, np.nan, "cv", True):
        with pytest.raises((ValueError, TypeError), match="lam"):
            DecisionTreeClassifier(lam=wrong).fit(X, y)


def test_folds_by_deviance_and_one_by_one_are_those_of_separate_fits(rng):
    X = rng.standard_normal((40, 2)).round(1)
    y = (X[:, 0] > 0).astype(int) + (rng.random(40) < 0.25)
    for cv in (4, "loo"):
        model = DecisionTreeClassifier(ccp_alpha="cv", cv=cv, cv_loss="deviance", min_samples_leaf=3).fit(X, y)
        alphas = model.cv_results_["ccp_alphas"]
        between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), 1e100)
        fold = fold_of_rows(40, 40 if cv == "loo" else cv, y, 0)
        deviances = np.empty((len(alphas), 40))
        for k, alpha in enumerate(between):
            for number in np.unique(fold):
                left_out = fold == number
                part = DecisionTreeClassifier(ccp_alpha=alpha, min_samples_leaf=3).fit(X[~left_out], y[~left_out])
                shares = part.predict_proba(X[left_out])
                true = [shares[i, np.flatnonzero(part.classes_ == label)] for i, label in enumerate(y[left_out])]
                deviances[k, left_out] = [-2 * np.log(max(share.sum(), 2.0**-52)) for share in true]
        np.testing.assert_allclose(model.cv_results_["errors"], deviances.mean(axis=1), rtol=1e-9, atol=1e-12)


def test_fewer_rows_than_folds_are_left_out_one_by_one():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    few = DecisionTreeClassifier(ccp_alpha="cv").fit(X, y)
    one = DecisionTreeClassifier(ccp_alpha="cv", cv="loo").fit(X, y)
    assert few.ccp_alpha_ == one.ccp_alpha_
    assert few.predict(X).tolist() == one.predict(X).tolist()
    np.testing.assert_array_equal(few.cv_results_["errors"], one.cv_results_["errors"])
    assert DecisionTreeRegressor(ccp_alpha="cv").fit(X, y).cv_results_["errors"].shape
    with pytest.raises(ValueError, match="n_samples=1; at least two rows"):
        DecisionTreeRegressor(ccp_alpha="cv").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="cv_loss is 'hinge'; one of 'error', 'deviance' is wanted"):
        DecisionTreeClassifier(cv_loss="hinge").fit(X, y)
