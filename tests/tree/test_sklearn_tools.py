"""What scikit-learn's tools, and packages that build on it, ask of a tree beyond its public methods."""

import numpy as np
import pytest
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import partial_dependence
from sklearn.utils import get_tags

from fastclf import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = pytest.mark.once

RNG = np.random.default_rng(5)
X = RNG.standard_normal((300, 4))
Y = X[:, 0] ** 2 + X[:, 1] * X[:, 2]


@pytest.mark.parametrize("features", [[0], [0, 2], [3]])
def test_partial_dependence_by_recursion_is_scikit_learns(features):
    ours, theirs = (
        partial_dependence(
            tree(max_depth=3, min_samples_leaf=20).fit(X, Y), X, features, method="recursion", grid_resolution=9
        ).average
        for tree in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    )
    assert_allclose(ours, theirs, rtol=1e-6)


def mean_value(tree, row, node=0):
    """The value at a row with a NaN for each feature that is averaged over, by recursion."""
    if tree.children_left[node] == -1:
        return tree.value[node, 0, 0]
    left, right = tree.children_left[node], tree.children_right[node]
    share = tree.weighted_n_node_samples[left] / tree.weighted_n_node_samples[node]
    x, codes = row[tree.feature[node]], tree.codes_left(node)
    if not np.isnan(x):
        share = float(x <= tree.threshold[node] if codes is None else x in codes)
    return share * mean_value(tree, row, left) + (1 - share) * mean_value(tree, row, right)


def test_partial_dependence_on_categories_is_the_mean_of_the_other_feature():
    rows = np.column_stack([RNG.integers(0, 5, 400), RNG.standard_normal(400)])
    y = np.array([3.0, -1, 2, 0, 5])[rows[:, 0].astype(int)] * rows[:, 1]
    tree = DecisionTreeRegressor(categorical_features=[0], max_depth=8).fit(rows, y).tree_
    out = np.zeros(5)
    tree.compute_partial_dependence(np.arange(5.0)[:, None], [0], out)
    assert_allclose(out, [mean_value(tree, [code, np.nan]) for code in range(5)])


def test_partial_dependence_at_a_missing_value_is_of_the_side_that_missing_values_go_to():
    rows = np.where(np.arange(40) < 10, np.nan, np.arange(40.0))[:, None]
    tree = DecisionTreeRegressor().fit(rows, np.where(np.isnan(rows[:, 0]), -3, rows[:, 0] > 25))
    out = np.zeros(3)
    tree.tree_.compute_partial_dependence(np.array([[np.nan], [11], [30]]), [0], out)
    assert_array_equal(out, [-3, 0, 1])


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_predictions_and_depths_of_tree_have_scikit_learns_shapes(n_outputs):
    labels = (Y > 0) if n_outputs == 1 else np.column_stack([Y > 0, X[:, 3] > 0])
    ours = DecisionTreeClassifier(max_depth=3).fit(X, labels)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, labels)
    rows = X.astype(np.float32)
    assert ours.tree_.predict(rows).shape == theirs.tree_.predict(rows).shape
    assert_array_equal(ours.tree_.compute_node_depths(), theirs.tree_.compute_node_depths())


@pytest.mark.parametrize(
    ("forest", "tree", "y"),
    [(RandomForestClassifier, DecisionTreeClassifier, Y > 0), (RandomForestRegressor, DecisionTreeRegressor, Y)],
)
def test_a_class_derived_from_a_forest_grows_our_trees(forest, tree, y):
    model = forest(n_estimators=5, random_state=0)
    model.__class__ = type("Forest", (forest,), {})
    model._validate_estimator = lambda: setattr(model, "estimator_", tree())
    model.fit(X, y)
    assert {type(each) for each in model.estimators_} == {tree}
    assert model.score(X, y) > 0.8
    assert model.feature_importances_.shape == (4,)


def test_the_tags_and_metadata_requests_are_scikit_learns():
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor"):
        ours, theirs = globals()[name](), getattr(sklearn.tree, name)()
        assert get_tags(ours) == get_tags(theirs)
        assert str(ours.get_metadata_routing()) == str(theirs.get_metadata_routing())


def test_a_column_of_labels_is_taken_without_a_warning(recwarn):
    DecisionTreeClassifier().fit(X, (Y > 0)[:, None])
    assert not recwarn.list
