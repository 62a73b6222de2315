"""Categories and missing values: each split is the best of all, and every row reaches the right leaf."""

import itertools

import numpy as np
import pandas
import polars
import pytest
import reference_tree as reference
from scipy import sparse
from sklearn import tree as sklearn_tree

from fastclf import DecisionTreeClassifier, DecisionTreeRegressor, load, save
from fastclf.tree import growth, sorted_columns

pytestmark = pytest.mark.levels

KINDS = {"gini": DecisionTreeClassifier, "squared_error": DecisionTreeRegressor}


def with_missing(rng, n, d, dtype="float64"):
    X = rng.standard_normal((n, d)).round(1).astype(dtype)
    X[rng.random((n, d)) < 0.3] = np.nan
    return X


def reduction(model):
    """The reduction of impurity by the root's split."""
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


OPTIONS = {
    "gini": (DecisionTreeClassifier, {}),
    "weighted": (DecisionTreeClassifier, {"class_weight": {0: 2.5}}),
    "drawn": (DecisionTreeClassifier, {"max_features": 2, "random_state": 1}),
    "in order": (DecisionTreeRegressor, {"monotonic_cst": [0, 1, -1], "min_samples_leaf": 3}),
    "medians": (DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 5}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_threads_and_pieces_change_nothing(rng, monkeypatch, name):
    kind, options = OPTIONS[name]
    X = np.column_stack([rng.integers(0, 99, 800), with_missing(rng, 800, 2)])
    y = (rng.standard_normal(800) + np.nan_to_num(X[:, 1]) > 0).astype(int)
    trees = []
    for threads, cells in itertools.product([1, 3], [1 << 22, 1 << 8]):
        monkeypatch.setattr(growth, "_MANY_CELLS", cells)
        monkeypatch.setattr(growth, "_MANY_CELLS_ALONE", cells)
        trees.append(kind(categorical_features=[0], n_jobs=threads, **options).fit(X, y))
    for other in trees[1:]:
        np.testing.assert_array_equal(other.apply(X), trees[0].apply(X))
        for column in ("impurity", "value"):
            np.testing.assert_array_equal(other._nodes[column], trees[0]._nodes[column])


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
@pytest.mark.parametrize("options", [{}, {"max_features": 3, "random_state": 1}, {"ccp_alpha": "cv", "cv": 3}], ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_lists_that_leave_rows_out_grow_the_same_tree(rng, monkeypatch, options, criterion, n_classes):
    n = 400
    X = rng.integers(-3, 4, (n, 8)) * (rng.random((n, 8)) < rng.random(8)).astype(float)
    X[:, 0], X[:, 1], X[:, 2] = 5, np.maximum(X[:, 1], 0), np.minimum(X[:, 2], 0)
    X[:, 3], X[:, 4] = rng.standard_normal(n), abs(X[:, 4])
    X[rng.random(n) < 0.1, 5] = np.nan
    y = (X[:, 1] + X[:, 2] > 0) + rng.integers(0, n_classes, n)
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    trees = []
    for share, threads, cells in [(2.0, 1, 1 << 22), (0.0, 1, 1 << 22), (0.25, 2, 1 << 9)]:
        monkeypatch.setattr(sorted_columns, "_COMMON", share)
        monkeypatch.setattr(growth, "_MANY_CELLS", cells)
        model = kind(criterion=criterion, categorical_features=[4], n_jobs=threads, min_samples_leaf=2, **options)
        trees.append(model.fit(X, y).tree_)
    for other in trees[1:]:
        for name in ("feature", "threshold", "children_right", "missing_go_to_left"):
            np.testing.assert_array_equal(getattr(trees[0], name), getattr(other, name))
        np.testing.assert_allclose(trees[0].impurity, other.impurity, rtol=1e-9, atol=1e-12)
        for node in range(other.node_count):
            np.testing.assert_array_equal(trees[0].codes_left(node), other.codes_left(node))


def test_a_sparse_matrix_is_a_dense_one(rng):
    X = rng.integers(0, 3, (40, 4)) * (rng.random((40, 4)) < 0.4)
    y = rng.integers(0, 2, 40)
    model = DecisionTreeClassifier().fit(sparse.csr_matrix(X, dtype=np.float64), y)
    np.testing.assert_array_equal(model._nodes["steps"], DecisionTreeClassifier().fit(X, y)._nodes["steps"])
    np.testing.assert_array_equal(model.predict(sparse.csc_matrix(X, dtype=np.float64)), model.predict(X))


@pytest.mark.once
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("leave_out", [True, False])
def test_lists_unpacked_are_those_sorted_without_the_rows_that_are_left_out(rng, dtype, leave_out):
    n, threads = 300, 2
    X = (rng.integers(-3, 4, (n, 7)) * (rng.random((n, 7)) < rng.random(7))).astype(dtype)
    X[:, 0], X[:, 1], X[:, 2] = np.nan, abs(X[:, 1]), 5
    X[rng.random((n, 7)) < [0, 0.2, 0, 0, 0.1, 0, 0]] = np.nan
    rows = np.sort(rng.permutation(n)[:250])
    target = sorted_columns.Target(rng.integers(0, 3, 250).astype(np.int32), None, np.array([0, 3], np.int32))
    n_codes = np.array([0, 4, 0, 0, 0, 0, 0], np.int32)
    data = sorted_columns.Training(X, rows, target, None, n_codes)
    lists = sorted_columns.Sorted(data, threads, leave_out)
    sorted_items, mask = lists.items.copy(), np.uint64((1 << lists.row_bits) - 1)
    packed = sorted_columns.Packed(lists, data, threads)
    for kept in (np.ones(250, bool), rng.random(250) < 0.6, np.arange(250) == 7):
        unpacked = packed.of(np.flatnonzero(kept), np.flatnonzero(kept), target, threads)
        for f, (expected, found) in enumerate(zip(sorted_items, unpacked.items)):
            if leave_out and f < 7 and lists.common[0, f] >= 0:
                expected = expected[: expected[-1] & mask]
            expected = expected[kept[(expected & mask).astype(int)]]
            np.testing.assert_array_equal(found[: len(expected)], expected)
