"""Trees for reading: as text, as rules, and as a Graphviz graph."""

from ._validation import require_integer


def _names(model, feature_names, class_names):
    model._require_fitted()
    d = model.n_features_in_
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", [f"feature_{i}" for i in range(d)])
    if len(feature_names) != d:
        raise ValueError(f"feature_names has {len(feature_names)} names; {d}, one a feature, are wanted")
    classes = getattr(model, "classes_", None)
    if classes is not None and class_names is not None:
        if len(class_names) != len(classes):
            raise ValueError(f"class_names has {len(class_names)} names; {len(classes)}, one a class, are wanted")
        classes = class_names
    return list(map(str, feature_names)), classes


def export_text(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    max_depth=10,
    spacing=3,
    decimals=2,
    show_weights=False,
):
    """The tree as indented text, in scikit-learn's format.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names, class_names : sequence of str, default=None
        None: the fitted names, or feature_0 and so on; the labels.
    max_depth : int >= 0, default=10
        What is deeper is shown as truncated.
    spacing, decimals : int
        Width of an indent, from 1 up; digits behind the point.
    show_weights : bool, default=False
        Show the weight of each class in the leaves of a classifier.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, export_text
    >>> print(export_text(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])), end="")
    |--- feature_0 <= 1.50
    |   |--- class: a
    |--- feature_0 >  1.50
    |   |--- class: b
    """
    max_depth = require_integer("max_depth", max_depth, 0)
    spacing = require_integer("spacing", spacing, 1)
    decimals = require_integer("decimals", decimals, 0)
    names, classes = _names(decision_tree, feature_names, class_names)
    tree = decision_tree.tree_
    lines = []
    waiting = [(0, 0, None)]
    while waiting:
        node, depth, line = waiting.pop()
        if line is not None:
            lines.append(line)
        indent = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if depth <= max_depth and tree.children_left[node] >= 0:
            name, threshold = names[tree.feature[node]], f"{tree.threshold[node]:.{decimals}f}"
            waiting.append((tree.children_right[node], depth + 1, f"{indent}{name} >  {threshold}"))
            waiting.append((tree.children_left[node], depth + 1, f"{indent}{name} <= {threshold}"))
        elif tree.children_left[node] >= 0:
            lines.append(f"{indent}truncated branch of depth {_height(tree, node)}")
        else:
            lines.append(indent + _leaf_text(tree, node, classes, decimals, show_weights))
    return "\n".join(lines) + "\n"


def _leaf_text(tree, node, classes, decimals, show_weights):
    value = tree.value[node, 0]
    if classes is None:
        return f"value: [{value[0]:.{decimals}f}]"
    text = f"class: {classes[value.argmax()]}"
    if not show_weights:
        return text
    weights = ", ".join(f"{weight:.{decimals}f}" for weight in value * tree.weighted_n_node_samples[node])
    return f"weights: [{weights}] {text}"


def _height(tree, node):
    """The number of levels of the subtree, its own among them."""
    end = node
    while tree.children_left[end] >= 0:
        end = tree.children_right[end]
    return int(tree.depths[node : end + 1].max() - tree.depths[node]) + 1


def rules(decision_tree):
    """A rule for each leaf, from left to right: the least conditions that lead there, and what it says.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor

    Returns
    -------
    rules : list of dict
        `conditions`: list of (feature, '<=' or '>', threshold), by feature, at most one of each kind a feature;
        `prediction`: the label or the mean; `share`: of the predicted class, or None; `n_samples`: int.

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, rules
    >>> for rule in rules(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])):
    ...     print(rule["conditions"], rule["prediction"], rule["n_samples"])
    [(0, '<=', 1.5)] a 1
    [(0, '>', 1.5)] b 1
    """
    _, classes = _names(decision_tree, None, None)
    tree = decision_tree.tree_
    found = []
    waiting = [(0, {})]
    while waiting:
        node, bounds = waiting.pop()
        if tree.children_left[node] >= 0:
            feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
            waiting.append((tree.children_right[node], bounds | {(feature, ">"): threshold}))
            waiting.append((tree.children_left[node], bounds | {(feature, "<="): threshold}))
            continue
        value = tree.value[node, 0]
        found.append(
            {
                "conditions": [(f, side, bounds[f, side]) for f, side in sorted(bounds)],
                "prediction": float(value[0]) if classes is None else classes[value.argmax()],
                "share": None if classes is None else float(value.max()),
                "n_samples": int(tree.n_node_samples[node]),
            }
        )
    return found


def export_graphviz(decision_tree, *, feature_names=None, class_names=None, precision=3):
    """The tree as a graph in Graphviz' dot language.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names, class_names : sequence of str, default=None
        None: the fitted names, or feature_0 and so on; the labels.
    precision : int, default=3
        Digits behind the point.

    Returns
    -------
    dot : str

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, export_graphviz
    >>> print(export_graphviz(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])), end="")
    digraph Tree {
    node [shape=box] ;
    0 [label="feature_0 <= 1.500\\nimpurity = 0.500\\nsamples = 2"] ;
    1 [label="a\\nimpurity = 0.000\\nsamples = 1"] ;
    2 [label="b\\nimpurity = 0.000\\nsamples = 1"] ;
    0 -> 1 [label="yes"] ;
    0 -> 2 [label="no"] ;
    }
    """
    precision = require_integer("precision", precision, 0)
    names, classes = _names(decision_tree, feature_names, class_names)
    tree = decision_tree.tree_
    nodes, edges = [], []
    for node in range(tree.node_count):
        value = tree.value[node, 0]
        if tree.children_left[node] >= 0:
            what = f"{names[tree.feature[node]]} <= {tree.threshold[node]:.{precision}f}"
            edges.append(f'{node} -> {tree.children_left[node]} [label="yes"] ;')
            edges.append(f'{node} -> {tree.children_right[node]} [label="no"] ;')
        else:
            what = f"{value[0]:.{precision}f}" if classes is None else str(classes[value.argmax()])
        what = what.replace("\\", "\\\\").replace('"', '\\"')
        impurity = f"{tree.impurity[node]:.{precision}f}"
        nodes.append(f'{node} [label="{what}\\nimpurity = {impurity}\\nsamples = {tree.n_node_samples[node]}"] ;')
    return "\n".join(["digraph Tree {", "node [shape=box] ;", *nodes, *edges, "}"]) + "\n"
