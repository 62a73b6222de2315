"""Trees as text: the printed rules are those of the tree."""

import doctest
import re

import numpy as np
import pytest
from sklearn import datasets, ensemble
from sklearn import tree as sklearn_tree
from sklearn.exceptions import NotFittedError

from fastclf.table import Table, TableClassifier
from fastclf.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DensityTree,
    export_graphviz,
    export_rules,
    export_text,
    graph,
    plot_tree,
    rules,
    text,
)

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
        assert len(boxes) == model.tree_.node_count + 2
        said = [box.get_text() for box in boxes if "samples" in box.get_text()]
        assert [line.split("samples = ")[1].split()[0] for line in said] == list(map(str, model.tree_.n_node_samples))
        boxes = plot_tree(model, ax=Figure().subplots(), max_depth=1, filled=True, rounded=True, fontsize=7)
        assert len(boxes) == 2 + (model.tree_.depths <= 2).sum()
        assert {box.get_fontsize() for box in boxes} == {7}


def test_a_graph_has_every_node_and_edge(rng):
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    lines = export_graphviz(model, feature_names=['the "first"', "b"]).splitlines()
    assert sum("samples" in line for line in lines) == model.tree_.node_count
    assert sum("->" in line for line in lines) == model.tree_.node_count - 1
    assert any(r"the \"first\"" in line for line in lines)


OPTIONS = {
    "plain": {},
    "names": {"feature_names": ["a", "b", "c"], "class_names": True},
    "shares": {"proportion": True, "precision": 1, "node_ids": True, "filled": True},
    "cut": {"max_depth": 1, "filled": True, "label": "root", "rounded": True},
    "short": {"impurity": False, "label": "none"},
}
LAYOUT = {"leaves_parallel": True, "rotate": True, "special_characters": True, "fontname": "sans"}


def grown(kind, rng):
    """A tree of each kind that scikit-learn has, grown on data whose best splits are unique."""
    X, weight = rng.standard_normal((150, 3)).astype(np.float32), rng.integers(1, 5, 150) / 2
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(150)).round(2)
    labels = np.digitize(y, [0.3, 1.2])
    models = {
        "labels": (DecisionTreeClassifier(max_depth=3), labels, None),
        "weights": (DecisionTreeClassifier(max_depth=3, criterion="entropy"), labels, weight),
        "outputs": (DecisionTreeClassifier(max_depth=3), np.stack([labels, labels > 0], axis=1), None),
        "numbers": (DecisionTreeRegressor(max_depth=3), y, None),
        "vectors": (DecisionTreeRegressor(max_depth=3), np.stack([y, -y], axis=1), weight),
        "stump": (DecisionTreeRegressor(max_depth=1), np.zeros(150), None),
        "one class": (DecisionTreeClassifier(), np.zeros(150), None),
    }
    model, target, weight = models[kind]
    return model.fit(X, target, sample_weight=weight)


KINDS = ["labels", "weights", "outputs", "numbers", "vectors", "stump", "one class"]


@pytest.mark.parametrize("layout", [{}, LAYOUT], ids=["default", "layout"])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_is_what_scikit_learn_writes_of_the_same_tree(rng, kind, name, layout):
    model, options = grown(kind, rng), OPTIONS[name] | layout
    assert export_graphviz(model, **options) == sklearn_tree.export_graphviz(model, **options)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("kind", ["labels", "numbers", "outputs"])
def test_the_picture_says_what_scikit_learns_says_of_the_same_tree(rng, kind, name):
    from matplotlib import colors, pyplot

    ours = grown(kind, rng)
    theirs = getattr(sklearn_tree, type(ours).__name__)(max_depth=3, random_state=0)
    X = rng.standard_normal((90, 3)).round(1)
    y = np.digitize(X[:, :2], [0.0]) if kind == "outputs" else (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    theirs.fit(X, y)
    axes = pyplot.figure().subplots(2)
    got, expected = (
        plot_tree(theirs, ax=axes[0], **OPTIONS[name]),
        sklearn_tree.plot_tree(theirs, ax=axes[1], **OPTIONS[name]),
    )
    assert [text.get_text() for text in got] == [text.get_text() for text in expected]
    for a, b in zip(got, expected):
        assert (a.get_bbox_patch() is None) == (b.get_bbox_patch() is None)
        if a.get_bbox_patch() is not None:
            assert len({colors.to_hex(text.get_bbox_patch().get_facecolor()) for text in (a, b)}) == 1
    pyplot.close("all")


@pytest.mark.parametrize("kind", ["labels", "numbers", "outputs", "weights"])
def test_scikit_learns_trees_are_told_as_scikit_learn_tells_them(rng, kind):
    X, y = datasets.load_wine(return_X_y=True)
    forest = ensemble.RandomForestClassifier(2, random_state=0, max_depth=4).fit(X, y)
    for tree in [*forest.estimators_, sklearn_tree.DecisionTreeRegressor(max_leaf_nodes=7).fit(X, y)]:
        assert export_text(tree, show_weights=True) == sklearn_tree.export_text(tree, show_weights=True)
        assert export_graphviz(tree, filled=True) == sklearn_tree.export_graphviz(tree, filled=True)


def test_boxes_of_a_picture_do_not_overlap(rng):
    from matplotlib.figure import Figure

    X = rng.standard_normal((200, 2))
    texts = plot_tree(DecisionTreeClassifier().fit(X, X.prod(axis=1) > 0), ax=Figure(figsize=(9, 6)).subplots())
    texts[0].figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts if text.get_bbox_patch() is not None]
    for i, a in enumerate(boxes):
        assert not any(a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1 for b in boxes[:i])


def test_a_graph_tells_categories_and_missing_values_and_densities(rng):
    X = np.array([["red", 1.0], ["blue", np.nan], ["green", 3.0], ["blue", 4.0]], dtype=object)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, ["y", "n", "y", "n"])
    assert "x[0] in {blue}" in export_graphviz(model)
    assert "samples = 30" in export_graphviz(DensityTree().fit(rng.standard_normal((30, 2))))


def test_the_class_that_is_told_is_the_one_that_is_predicted():
    X, y = [[0.0]] * 3 + [[1.0]] * 3, ["a", "a", "b", "b", "b", "b"]
    model = DecisionTreeClassifier(cost_matrix=[[0, 1], [9, 0]], max_depth=1, min_samples_leaf=3).fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == ["b", "b"]
    assert export_graphviz(model, class_names=["A", "B"]).count("class = B") == 3


def test_a_graph_is_written_where_one_wants_it(tmp_path):
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    expected = export_graphviz(model)
    assert export_graphviz(model, str(tmp_path / "tree.dot")) is None
    assert (tmp_path / "tree.dot").read_text() == expected
    with (tmp_path / "other.dot").open("w") as file:
        export_graphviz(model, file)
    assert (tmp_path / "other.dot").read_text() == expected


def table_tree(rng, n_towns=18):
    """A TableClassifier with a tree that splits categories with difficult texts and numbers with missing values."""
    towns = np.array([f"Town {i}" for i in range(n_towns)] + ['5 $ & "10" $', "a\\b <c>", None], dtype=object)
    town, age = rng.integers(0, n_towns + 3, 600), rng.integers(18, 90, 600).astype(float)
    age[rng.random(600) < 0.2] = np.nan
    y = np.where((town % 3 == 0) ^ (np.isnan(age) | (age > 60)), "yes", "no")
    table = Table([towns[town], age], ["town of birth", "age $"])
    return TableClassifier(DecisionTreeClassifier(max_depth=4)).fit(table, y)


def test_the_tree_of_a_table_is_told_with_the_texts_of_its_categories(rng):
    model = table_tree(rng)
    texts = {str(float(i)): text for i, text in enumerate(model.categories_[0])}
    with_codes = export_text(model.model_, feature_names=model.get_feature_names_out())
    assert export_text(model) == re.sub(r"\d+\.0(?=[,}])", lambda code: texts[code[0]], with_codes) != with_codes
    bounds = [bound for rule in rules(model) for _, _, bound in rule["conditions"] if isinstance(bound, list)]
    assert {text for bound in bounds for text in bound} == {*texts.values()}
    assert "town of birth in {" in export_rules(model)
    assert "or missing" in export_text(model)


def test_graphs_quote_categories_and_break_long_lists_into_lines(rng):
    model = table_tree(rng, 4)
    dot, html = export_graphviz(model), export_graphviz(model, special_characters=True)
    assert re.search(r"age \$ <= \d", dot)
    assert "nan" not in dot
    assert r"5 $ & \"10\" $" in dot
    assert r"a\\b <c>" in dot
    assert '5 $ &amp; "10" $' in html
    assert r"a\b &lt;c&gt;" in html
    splits = [line for line in export_graphviz(table_tree(rng, 40)).splitlines() if "town of birth in" in line]
    assert splits
    for line in splits:
        assert all(len(part) < 60 for part in line.split(r"\n"))
        assert "more}" in line or line.count("Town") <= 8


@pytest.mark.parametrize("size", [(4, 3), (14, 8)])
def test_the_labels_of_edges_are_beside_the_boxes(rng, size):
    from matplotlib.figure import Figure

    ax = Figure(figsize=size).subplots()
    texts = plot_tree(table_tree(rng), ax=ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts if text.get_bbox_patch() is not None]
    labels = [text.get_window_extent() for text in texts if text.get_bbox_patch() is None]
    assert len(labels) == 2
    assert not any(label.overlaps(box) for label in labels for box in boxes)


@pytest.mark.parametrize("function", [export_graphviz, export_text, plot_tree, rules])
def test_an_unfitted_tree_is_refused(function):
    for model in (DecisionTreeClassifier(), sklearn_tree.DecisionTreeRegressor()):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            function(model)


def test_wrong_names_are_refused():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="feature_names must contain 1 elements, got 2"):
        export_text(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="Got 1 while the tree was fitted with 2 classes"):
        export_text(model, class_names=["a"])
    with pytest.raises(TypeError, match="3 is not an estimator instance"):
        export_text(3)
    with pytest.raises(ValueError, match="not fitted"):
        rules(DecisionTreeClassifier())


@pytest.mark.parametrize("module", [text, graph])
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_a_rule_without_a_category_that_remains_says_missing():
    town = np.array(["a", "b", None] * 20, dtype=object)
    size = np.tile(np.arange(20.0), 3)
    y = np.where([text is None for text in town], size > 9, town == "a")
    model = TableClassifier().fit(Table([town, size], ["town", "size"]), y)
    told = export_rules(model)
    assert "town is missing" in told
    assert "{}" not in told
    assert "town in" in told
