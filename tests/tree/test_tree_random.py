"""Trees in which each node draws a single split of each feature."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.model_selection import cross_val_score as looped_scores
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from fastclf import DecisionTreeClassifier, DecisionTreeRegressor, KFold, cross_val_score, load, save

CASES = {
    "gini": (DecisionTreeClassifier, {}),
    "entropy": (DecisionTreeClassifier, {"criterion": "entropy"}),
    "misclassification": (DecisionTreeClassifier, {"criterion": "misclassification"}),
    "squares": (DecisionTreeRegressor, {}),
    "distances": (DecisionTreeRegressor, {"criterion": "absolute_error"}),
    "counts": (DecisionTreeRegressor, {"criterion": "poisson"}),
    "drawn features": (DecisionTreeClassifier, {"max_features": 1}),
    "in order": (DecisionTreeRegressor, {"monotonic_cst": [1, 0, -1]}),
}


def same(a, b):
    names = ("feature", "threshold", "n_node_samples", "impurity", "missing_go_to_left")
    return all(np.array_equal(getattr(a.tree_, name), getattr(b.tree_, name), equal_nan=True) for name in names)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_each_row_is_where_the_thresholds_send_it(rng, case, dtype, weighted, tmp_path):
    kind, parameters = CASES[case]
    X = rng.standard_normal((120, 3)).round(1).astype(dtype)
    y = rng.integers(0, 3, 120)
    weight = rng.integers(0, 3, 120) / 2 if weighted else None
    model = kind(splitter="random", random_state=3, min_samples_leaf=2, **parameters).fit(X, y, sample_weight=weight)
    tree, counted = model.tree_, np.ones(120, bool) if weight is None else weight > 0
    path = model.decision_path(X[counted]).toarray().astype(bool)
    np.testing.assert_array_equal(path.sum(axis=0), tree.n_node_samples)
    assert tree.n_node_samples.min() >= 2
    for node in np.flatnonzero(tree.children_left >= 0):
        x = X[counted][path[:, node], tree.feature[node]]
        assert x.min() <= tree.threshold[node] < x.max()
        assert path[:, tree.children_left[node]].sum() == (x <= tree.threshold[node]).sum()
    assert same(model, kind(**model.get_params()).fit(X, y, sample_weight=weight))
    save(model, tmp_path / "tree")
    np.testing.assert_array_equal(load(tmp_path / "tree").predict(X), model.predict(X))


def test_a_cut_is_drawn_evenly_between_the_least_and_the_largest_value():
    X, y = np.array([[0.0], [0.1], [0.4], [1.0]]), [0, 1, 2, 3]
    cuts = [
        DecisionTreeRegressor(splitter="random", max_depth=1, random_state=seed).fit(X, y).tree_.threshold[0]
        for seed in range(3000)
    ]
    values, counts = np.unique(cuts, return_counts=True)
    np.testing.assert_allclose(values, [0.05, 0.25, 0.7])
    gaps = np.array([0.1, 0.3, 0.6])
    assert (abs(counts - 3000 * gaps) < 5 * np.sqrt(3000 * gaps * (1 - gaps))).all()


def test_missing_values_go_to_either_side_and_alone_where_nothing_else_varies():
    X, y = np.array([[0.0], [1.0], [np.nan], [0.5]]), [0, 1, 5, 2]
    sides = [
        DecisionTreeRegressor(splitter="random", max_depth=1, random_state=seed).fit(X, y).tree_.missing_go_to_left[0]
        for seed in range(200)
    ]
    assert 60 < sum(sides) < 140
    model = DecisionTreeRegressor(splitter="random").fit([[1.0], [1.0], [np.nan]], [1.0, 1.0, 7.0])
    assert model.predict([[1.0], [np.nan]]).tolist() == [1, 7]


def test_categories_are_cut_at_a_drawn_place_of_their_order(rng):
    X = rng.integers(0, 6, (200, 2)).astype(float)
    X[rng.random((200, 2)) < 0.1] = np.nan
    y = np.isin(X[:, 0], [1, 4]) * 2 + (X[:, 1] > 2)
    seen = set()
    for seed in range(30):
        model = DecisionTreeClassifier(splitter="random", categorical_features=[0, 1], random_state=seed).fit(X, y)
        seen.add((int(model.tree_.feature[0]), tuple(model.tree_.codes_left(0))))
        assert model.tree_.n_node_samples.min() > 0
        assert model.score(X, y) > 0.9
    assert len(seen) > 4


@pytest.mark.parametrize("case", ["gini", "squares", "drawn features"])
def test_the_tree_does_not_depend_on_threads(rng, case):
    kind, parameters = CASES[case]
    X, y = rng.standard_normal((60_000, 10)).astype(np.float32), rng.integers(0, 2, 60_000)
    parameters = parameters | {"splitter": "random", "random_state": 5, "min_samples_leaf": 50}
    one, two = (kind(n_jobs=n_jobs, **parameters).fit(X, y) for n_jobs in (1, 2))
    assert one.tree_.node_count > 100
    assert same(one, two)


def test_a_random_tree_splits_worse_than_the_best_and_all_the_same_until_leaves_are_pure(rng):
    X = rng.standard_normal((300, 4))
    y = X[:, 0] + X[:, 1] ** 2
    best = DecisionTreeRegressor(max_depth=1).fit(X, y)
    scores = [DecisionTreeRegressor(max_depth=1, splitter="random", random_state=s).fit(X, y) for s in range(20)]
    assert all(model.score(X, y) <= best.score(X, y) + 1e-12 for model in scores)
    whole = DecisionTreeRegressor(splitter="random", random_state=0).fit(X, y)
    assert whole.score(X, y) == 1
    theirs = [TheirRegressor(splitter="random", random_state=s, max_depth=4).fit(X, y).score(X, y) for s in range(40)]
    ours = [
        DecisionTreeRegressor(splitter="random", random_state=s, max_depth=4).fit(X, y).score(X, y) for s in range(40)
    ]
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(40)


def test_folds_and_pruning_grow_random_trees(rng):
    X, y = rng.standard_normal((150, 3)), rng.integers(0, 2, 150)
    model = DecisionTreeClassifier(splitter="random", random_state=1, ccp_alpha="cv", cv=4).fit(X, y)
    assert len(model.cv_results_["errors"]) > 1
    plain = DecisionTreeClassifier(splitter="random", random_state=1)
    folds = KFold(4)
    np.testing.assert_array_equal(cross_val_score(plain, X, y, cv=folds), looped_scores(plain, X, y, cv=folds))


@pytest.mark.parametrize("make", [csr_array, csc_array])
def test_sparse_rows_go_down_the_tree_as_dense_ones(rng, make):
    X = rng.integers(0, 3, (80, 5)) * (rng.random((80, 5)) < 0.5)
    model = DecisionTreeClassifier(splitter="random", random_state=0).fit(make(X), X[:, 0])
    assert same(model, DecisionTreeClassifier(splitter="random", random_state=0).fit(X, X[:, 0]))
    for method in ("apply", "decision_path", "predict"):
        for one, other in ((model, model), (model.tree_, model.tree_)):
            got, expected = getattr(one, method)(make(X)), getattr(other, method)(X)
            dense = [each.toarray() if hasattr(each, "toarray") else each for each in (got, expected)]
            np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(model.tree_.apply(np.asfortranarray(X)), model.apply(X))


def test_rows_of_weight_0_change_nothing(rng):
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    y[::2] *= 1e6
    weight = np.arange(100) % 2
    for criterion in ("squared_error", "absolute_error"):
        with_all = DecisionTreeRegressor(criterion=criterion).fit(X, y, sample_weight=weight)
        assert same(with_all, DecisionTreeRegressor(criterion=criterion).fit(X[1::2], y[1::2]))


def test_friedmans_criterion_is_the_squared_error():
    with pytest.warns(FutureWarning, match='It maps to `"squared_error"`'):
        model = DecisionTreeRegressor(criterion="friedman_mse")
    assert model.criterion == "squared_error"
