"""Columns with missing values and of categories: each split is the best of all, and every row goes where it is told."""

import itertools

import numpy as np
import pandas
import polars
import pytest
import reference_tree as reference
from scipy import sparse
from sklearn import tree as sklearn_tree

from fastclf import DecisionTreeClassifier, DecisionTreeRegressor, load, save

KINDS = {"gini": DecisionTreeClassifier, "squared_error": DecisionTreeRegressor}


def with_missing(rng, n, d, dtype="float64"):
    X = rng.standard_normal((n, d)).round(1).astype(dtype)
    X[rng.random((n, d)) < 0.3] = np.nan
    return X


def reduction(model):
    """By how much the root's split reduces its impurity."""
    tree = model.tree_
    children = [1, tree.children_right[0]]
    below = tree.impurity[children] @ tree.weighted_n_node_samples[children]
    return tree.impurity[0] - below / tree.weighted_n_node_samples[0]


@pytest.mark.parametrize("criterion", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_missing_goes_to_the_better_side(rng, criterion, dtype, weighted):
    for n in (2, 9, 40):
        X, y = with_missing(rng, n, 2, dtype), rng.integers(0, 2, n)
        weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
        model = KINDS[criterion](criterion=criterion, max_depth=1).fit(X, y, weight)
        best = max((split[0] for split in reference.splits_with_missing(X, y, weight, criterion)), default=0)
        assert (reduction(model) if model.get_depth() else 0) == pytest.approx(best, abs=1e-9)
        leaf = model.apply(X)
        counts = [np.count_nonzero(leaf == node) for node in range(model.tree_.node_count)]
        assert counts[1:] == model.tree_.n_node_samples.tolist()[1:]


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_trees_with_missing_values_are_scikit_learns(rng, kind):
    import fastclf

    X = rng.standard_normal((300, 3)).astype(np.float32)
    y = np.nan_to_num(X[:, 0]) + rng.standard_normal(300)
    X[rng.random((300, 3)) < 0.2] = np.nan
    y = (y > 0).astype(int) if kind == "DecisionTreeClassifier" else y
    ours, theirs = (
        getattr(module, kind)(max_depth=3, random_state=0).fit(X, y).tree_ for module in (fastclf, sklearn_tree)
    )
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    np.testing.assert_allclose(ours.threshold, theirs.threshold, rtol=1e-6)
    np.testing.assert_allclose(ours.value, theirs.value)
    inner = ours.children_left >= 0
    np.testing.assert_array_equal(ours.missing_go_to_left[inner], theirs.missing_go_to_left[inner])


def test_what_was_never_missing_goes_to_the_larger_side():
    model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert model.predict([[np.nan]]) == [0]
    assert DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).predict([[np.nan]]) == [1]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_subset_is_the_best_of_all_subsets(rng, criterion, missing):
    for n, n_categories in [(2, 2), (30, 6), (60, 8)]:
        codes = rng.integers(0, n_categories, n).astype(float)
        if missing:
            codes[rng.random(n) < 0.2] = np.nan
        y, weight = rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)
        y[0] = 1
        kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
        model = kind(criterion=criterion, max_depth=1, categorical_features=[0]).fit(codes[:, None], y, weight)
        categories = np.unique(np.nan_to_num(codes, nan=-1))
        best = 0
        for size in range(1, len(categories)):
            for subset in itertools.combinations(categories, size):
                left = np.isin(np.nan_to_num(codes, nan=-1), subset)
                if criterion == "poisson" and not (y[left].any() and y[~left].any()):
                    continue
                best = max(best, reference.gain(y, weight, criterion, left))
        assert (reduction(model) if model.get_depth() else 0) == pytest.approx(best, abs=1e-9)


def test_many_classes_and_categories_are_told_apart(rng):
    codes = rng.integers(0, 200, 3000)
    label = rng.integers(0, 7, 200)
    X = np.column_stack([codes, rng.standard_normal(3000)])
    model = DecisionTreeClassifier(categorical_features=[True, False]).fit(X, label[codes])
    assert model.score(X, label[codes]) == 1
    assert model.feature_importances_[0] == 1
    for threads in (1, 3):
        other = DecisionTreeClassifier(categorical_features=[0], n_jobs=threads).fit(X, label[codes])
        np.testing.assert_array_equal(other._nodes["steps"], model._nodes["steps"])
        np.testing.assert_array_equal(other._nodes["subsets"], model._nodes["subsets"])


COLOURS = ["red", "green", "blue", "green", None, "red", "blue", "green"]
SIZES = [1.0, 2.0, 3.0, np.nan, 5.0, 6.0, 7.0, 8.0]
TABLES = {
    "pandas strings": lambda: pandas.DataFrame({"colour": COLOURS, "size": SIZES}),
    "pandas categories": lambda: pandas.DataFrame({"colour": pandas.Categorical(COLOURS), "size": SIZES}),
    "polars strings": lambda: polars.DataFrame({"colour": COLOURS, "size": SIZES}),
    "polars categories": lambda: polars.DataFrame(
        {"colour": polars.Series(COLOURS).cast(polars.Categorical), "size": SIZES}
    ),
    "pyarrow": lambda: polars.DataFrame({"colour": COLOURS, "size": SIZES}).to_arrow(),
}


@pytest.mark.once
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_categories_are_taken(name, tmp_path):
    table = TABLES[name]()
    y = ["a", "b", "a", "b", "a", "a", "a", "b"]
    model = DecisionTreeClassifier(max_depth=1).fit(table, y)
    assert model.tree_.node_count == 3
    assert model.predict(table).tolist() == y
    assert model.categories_[0].tolist() == ["blue", "green", "red"]
    assert model.categories_[1] is None
    save(model, tmp_path / "tree")
    assert load(tmp_path / "tree").predict(table).tolist() == y


@pytest.mark.once
def test_an_unseen_category_goes_where_missing_values_go():
    table = pandas.DataFrame({"colour": ["red", "green", "red", None]})
    model = DecisionTreeClassifier().fit(table, [0, 1, 0, 1])
    assert model.predict(pandas.DataFrame({"colour": ["pink", "red"]})).tolist() == [1, 0]
    model = DecisionTreeClassifier().fit(table[:3], [0, 1, 0])
    assert model.predict(pandas.DataFrame({"colour": ["pink", None]})).tolist() == [0, 0]


@pytest.mark.once
def test_wrong_categories_are_refused():
    X = [[0.0, 1.0], [1.0, 0.0]]
    for given, message in [
        ([2], "categorical_features is 2; 0 to 1 is wanted"),
        (["a"], "categorical_features names 'a'"),
        ([True], r"categorical_features has shape \(1,\)"),
        ("all", "categorical_features is 'all'"),
    ]:
        with pytest.raises(ValueError, match=message):
            DecisionTreeClassifier(categorical_features=given).fit(X, [0, 1])
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1])
    for name, value in [
        ("categories_", [None, None]),
        ("categories_", [np.arange(70.0), None]),
        ("_nodes", model._nodes | {"subsets": np.zeros(1, np.uint64)}),
    ]:
        other = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1])
        setattr(other, name, value)
        with pytest.raises(ValueError):
            other._check_state()


@pytest.mark.once
def test_a_sparse_matrix_is_a_dense_one(rng):
    X = rng.integers(0, 3, (40, 4)) * (rng.random((40, 4)) < 0.4)
    y = rng.integers(0, 2, 40)
    model = DecisionTreeClassifier().fit(sparse.csr_matrix(X, dtype=np.float64), y)
    np.testing.assert_array_equal(model._nodes["steps"], DecisionTreeClassifier().fit(X, y)._nodes["steps"])
    np.testing.assert_array_equal(model.predict(sparse.csc_matrix(X, dtype=np.float64)), model.predict(X))
