"""Trees as text: what is printed is what the tree does."""

import doctest

import numpy as np
import pytest
from sklearn import datasets
from sklearn import tree as sklearn_tree

from fastclf.tree import text
from fastclf.tree.classifier import DecisionTreeClassifier
from fastclf.tree.regressor import DecisionTreeRegressor
from fastclf.tree.text import export_graphviz, export_rules, export_text, plot_tree, rules

pytestmark = pytest.mark.once


@pytest.mark.parametrize("options", [{}, {"max_depth": 1}, {"decimals": 4, "spacing": 1}], ids=str)
def test_the_text_is_scikit_learns(rng, options):
    X = rng.standard_normal((200, 3)).astype(np.float32)
    y = X[:, 0] + rng.standard_normal(200)
    ours = DecisionTreeRegressor(min_samples_leaf=9).fit(X, y)
    theirs = sklearn_tree.DecisionTreeRegressor(min_samples_leaf=9, random_state=0).fit(X, y)
    assert export_text(ours, **options) == sklearn_tree.export_text(theirs, **options)
    X, y = datasets.load_wine(return_X_y=True)
    X = X.astype(np.float32)
    ours = DecisionTreeClassifier(max_depth=2).fit(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    options = options | {"class_names": ["x", "y", "z"], "show_weights": True}
    assert export_text(ours, **options) == sklearn_tree.export_text(theirs, **options)


def test_each_row_keeps_one_rule_that_of_its_leaf(rng):
    X = rng.standard_normal((300, 3)).round(1)
    y = rng.choice(["a", "b", "c"], 300)
    model = DecisionTreeClassifier(min_samples_leaf=5).fit(X, y)
    found = rules(model)
    holds = np.ones((len(found), 300), bool)
    for kept, rule in zip(holds, found):
        for feature, side, threshold in rule["conditions"]:
            kept &= X[:, feature] <= threshold if side == "<=" else X[:, feature] > threshold
        assert kept.sum() == rule["n_samples"]
        assert (y[kept] == rule["prediction"]).mean() == pytest.approx(rule["share"])
    assert (holds.sum(axis=0) == 1).all()
    assert [found[i]["prediction"] for i in holds.argmax(axis=0)] == model.predict(X).tolist()


def test_rules_of_categories_and_missing_values_hold_for_one_row_each(rng):
    X = np.column_stack([rng.integers(0, 9, 300), rng.standard_normal(300).round(1)])
    X[rng.random((300, 2)) < 0.1] = np.nan
    y = (np.isin(X[:, 0], [1, 4, 5]) ^ (X[:, 1] > 0.3)).astype(int)
    model = DecisionTreeClassifier(categorical_features=[0], min_samples_leaf=3).fit(X, y)
    holds = []
    for rule in rules(model):
        kept = np.ones(300, bool)
        for feature, side, bound in rule["conditions"]:
            x = X[:, feature]
            passed = np.isin(x, bound) if side in ("in", "not in") else x <= bound
            passed ^= side in ("not in", ">")
            kept &= np.where(np.isnan(x), feature in rule["missing"], passed)
        assert kept.sum() == rule["n_samples"]
        holds.append(kept)
    assert (np.sum(holds, axis=0) == 1).all()


def test_rules_are_told_as_conjunctions_of_names():
    X = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", 4.0]]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(np.array(X, dtype=object), ["n", "n", "y", "n"])
    text = export_rules(model, feature_names=["colour", "size"], decimals=1)
    assert text.splitlines() == [
        "IF colour in {blue} THEN n (1.0, 2)",
        "IF colour not in {blue} AND size <= 2.0 THEN n (1.0, 1)",
        "IF colour not in {blue} AND size > 2.0 THEN y (1.0, 1)",
    ]
    assert "colour in {blue}" in export_text(model, feature_names=["colour", "size"])
    assert export_rules(DecisionTreeRegressor().fit([[1.0]], [2.0])) == "IF TRUE THEN 2.00 (1)\n"


def test_texts_say_where_missing_values_go():
    X = np.array(
        [["a", 1.0, 5.0], ["b", 2.0, 5.0], ["c", 3.0, 5.0], [None, np.nan, np.nan], ["a", np.nan, 5.0]], object
    )
    names = ["letter", "size", "depth"]

    def said(column, y):
        model = DecisionTreeClassifier(categorical_features=[0] if column == 0 else None)
        model.fit(X[:, [column]] if column == 0 else X[:, [column]].astype(float), y)
        rules_told = export_rules(model, feature_names=names[column : column + 1], decimals=0).splitlines()
        tests = [
            line.split("- ")[1] for line in export_text(model, feature_names=[names[column]], decimals=0).splitlines()
        ]
        return [rule.split(" THEN")[0][3:] for rule in rules_told], [test for test in tests if "class" not in test]

    assert said(1, [0, 0, 1, 0, 0]) == (
        ["(size <= 2 OR size is missing)", "size > 2"],
        ["size <= 2 or missing", "size >  2 and known"],
    )
    assert said(1, [0, 0, 1, 1, 1]) == (
        ["size <= 2", "(size > 2 OR size is missing)"],
        ["size <= 2", "size >  2 or missing"],
    )
    assert said(2, [0, 0, 0, 1, 0]) == (["depth is known", "depth is missing"],) * 2
    assert said(0, [0, 1, 1, 1, 0]) == (
        ["letter in {a}", "(letter not in {a} OR letter is missing)"],
        ["letter in {a}", "letter not in {a} or missing"],
    )
    assert said(0, [0, 1, 1, 0, 0]) == (
        ["(letter in {a} OR letter is missing)", "letter is known AND letter not in {a}"],
        ["letter in {a} or missing", "letter not in {a} and known"],
    )


def test_a_picture_has_a_box_for_each_node(rng):
    from matplotlib.figure import Figure

    X, y = rng.standard_normal((60, 2)), rng.integers(0, 2, (60, 2))
    for model in (DecisionTreeClassifier().fit(X, y[:, 0]), DecisionTreeRegressor().fit(X, y)):
        boxes = plot_tree(model, ax=Figure().subplots(), feature_names=["a", "b"])
        assert len(boxes) == model.tree_.node_count
        assert f"samples = {model.tree_.n_node_samples[3]}" in boxes[3].get_text()
        assert len(plot_tree(model, ax=Figure().subplots(), max_depth=1)) == 3


def test_a_graph_has_every_node_and_edge(rng):
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    lines = export_graphviz(model, feature_names=['the "first"', "b"]).splitlines()
    assert sum("samples" in line for line in lines) == model.tree_.node_count
    assert sum("->" in line for line in lines) == model.tree_.node_count - 1
    assert any(r"the \"first\"" in line for line in lines)


def test_wrong_names_are_refused():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="feature_names has 2 names; 1, one a feature"):
        export_text(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names has 1 names; 2, one a class"):
        export_text(model, class_names=["a"])
    with pytest.raises(TypeError, match="decision_tree is of type int; a tree of fastclf"):
        export_text(3)
    with pytest.raises(ValueError, match="not fitted"):
        rules(DecisionTreeClassifier())


def test_the_examples_run():
    result = doctest.testmod(text)
    assert result.attempted > 0
    assert result.failed == 0
