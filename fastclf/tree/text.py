"""Trees for reading: as text, as rules, as a Graphviz graph, and as a picture."""

from itertools import groupby

import numpy as np

from .._validation import require_integer


class _Shown:
    """What is said of the nodes of a fitted tree."""

    def __init__(self, model, feature_names, class_names, decimals):
        if not isinstance(getattr(type(model), "tree_", None), property):
            raise TypeError(f"decision_tree is of type {type(model).__name__}; a tree of fastclf is wanted")
        self.tree, self.decimals = model.tree_, require_integer("decimals", decimals, 0)
        self.categories = getattr(model, "categories_", None)
        d = model.n_features_in_
        self.lacking = getattr(model, "features_with_missing_", np.zeros(d, bool))
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", [f"feature_{i}" for i in range(d)])
        if len(feature_names) != d:
            raise ValueError(f"feature_names has {len(feature_names)} names; {d}, one a feature, are wanted")
        self.names = list(map(str, feature_names))
        self.labels = None
        if hasattr(model, "classes_"):
            classes = model._labels
            if class_names is not None:
                if len(classes) > 1 or len(class_names) != len(classes[0]):
                    raise ValueError(
                        f"class_names has {len(class_names)} names; {len(classes[0])}, one a class of a single output,"
                        " are wanted"
                    )
                classes = [np.asarray(class_names, dtype=object)]
            self.codes = model._decision.codes(model._nodes["value"])
            self.labels = [labels[code] for labels, code in zip(classes, self.codes)]

    def left(self, node):
        """The categories that go left, or None."""
        codes = self.tree.codes_left(node)
        return None if codes is None else self.categories[self.tree.feature[node]][codes].tolist()

    def tests(self, node):
        """What holds on the left, and on the right."""
        feature, left = self.tree.feature[node], self.left(node)
        name = self.names[feature]
        if self.tree.threshold[node] == np.inf:
            return f"{name} is known", f"{name} is missing"
        if left is None:
            threshold = f"{self.tree.threshold[node]:.{self.decimals}f}"
            said = f"{name} <= {threshold}", f"{name} >  {threshold}"
        else:
            listed = "{" + ", ".join(map(str, left)) + "}"
            said = f"{name} in {listed}", f"{name} not in {listed}"
        if self.lacking[feature]:
            if self.tree.missing_go_to_left[node]:
                return f"{said[0]} or missing", f"{said[1]} and known"
            return said[0], f"{said[1]} or missing"
        return said

    def prediction(self, node):
        """The label or the number; a tuple of several outputs'."""
        if self.labels is None:
            said = [float(value) for value in self.tree.value[node, :, 0]]
        else:
            said = [labels[node] for labels in self.labels]
        return said[0] if len(said) == 1 else tuple(said)

    def said(self, node):
        """The prediction as text."""
        if self.labels is None:
            return ", ".join(f"{value:.{self.decimals}f}" for value in self.tree.value[node, :, 0])
        return ", ".join(str(labels[node]) for labels in self.labels)

    def share(self, node):
        """The share of the label that is predicted; None for numbers and for several outputs."""
        if self.labels is None or len(self.labels) > 1:
            return None
        return float(self.tree.value[node, 0, self.codes[0][node]])


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
    shown = _Shown(decision_tree, feature_names, class_names, decimals)
    tree = shown.tree
    lines = []
    waiting = [(0, 0, None)]
    while waiting:
        node, depth, line = waiting.pop()
        if line is not None:
            lines.append(line)
        indent = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if depth <= max_depth and tree.children_left[node] >= 0:
            left, right = shown.tests(node)
            waiting.append((tree.children_right[node], depth + 1, indent + right))
            waiting.append((tree.children_left[node], depth + 1, indent + left))
        elif tree.children_left[node] >= 0:
            lines.append(f"{indent}truncated branch of depth {_height(tree, node)}")
        elif shown.labels is None:
            lines.append(f"{indent}value: [{shown.said(node)}]")
        else:
            weights = tree.value[node, 0] * tree.weighted_n_node_samples[node]
            listed = ", ".join(f"{weight:.{decimals}f}" for weight in weights)
            lines.append(f"{indent}{f'weights: [{listed}] ' if show_weights else ''}class: {shown.said(node)}")
    return "\n".join(lines) + "\n"


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
        `conditions`: list of (feature, '<=' or '>', threshold) or (feature, 'in' or 'not in', categories), by feature,
        at most one of each kind a feature; `missing`: the features of the conditions that may be missing;
        `prediction`: the label or the number; `share`: of the predicted class, or None; `n_samples`: int.

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, rules
    >>> for rule in rules(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])):
    ...     print(rule["conditions"], rule["prediction"], rule["n_samples"])
    [(0, '<=', 1.5)] a 1
    [(0, '>', 1.5)] b 1
    """
    return _rules(_Shown(decision_tree, None, None, 2))


def _rules(shown):
    tree = shown.tree
    found = []
    waiting = [(0, {}, {})]
    while waiting:
        node, bounds, missing = waiting.pop()
        if tree.children_left[node] >= 0:
            feature, left = int(tree.feature[node]), shown.left(node)
            for child, side in ((tree.children_right[node], ">"), (tree.children_left[node], "<=")):
                may_miss = missing.get(feature, True) and bool(tree.missing_go_to_left[node]) == (side == "<=")
                if left is None:
                    narrower = bounds | {(feature, side): float(tree.threshold[node])}
                else:
                    narrower = bounds | _subset_bounds(bounds, feature, left, side == "<=")
                waiting.append((child, narrower, missing | {feature: may_miss}))
            continue
        conditions = [
            (f, side, sorted(bound) if isinstance(bound, frozenset) else bound)
            for (f, side), bound in sorted(bounds.items(), key=lambda item: item[0])
            if not (side == "not in" and (f, "in") in bounds)
        ]
        found.append(
            {
                "conditions": conditions,
                "missing": sorted(feature for feature, may in missing.items() if may),
                "prediction": shown.prediction(node),
                "share": shown.share(node),
                "n_samples": int(tree.n_node_samples[node]),
            }
        )
    return found


def _subset_bounds(bounds, feature, left, inside):
    """What is known of a category on one side of a subset."""
    among, without = bounds.get((feature, "in")), bounds.get((feature, "not in"), frozenset())
    if inside:
        among = frozenset(left) if among is None else among & frozenset(left)
    else:
        without |= frozenset(left)
    return {(feature, "not in"): without} if among is None else {(feature, "in"): among - without}


def conditions_told(rule, names, lacking, told):
    """The conditions of a rule as texts, told(name, side, bound) for each, and whether features may be missing.

    lacking: which features had missing values in training. Of the others that is not said.
    """
    texts = []
    for feature, conditions in groupby(rule["conditions"], key=lambda condition: condition[0]):
        name, tests = names[feature], [condition[1:] for condition in conditions]
        if (">", np.inf) in tests:
            texts.append(f"{name} is missing")
            continue
        said = [told(name, side, bound) for side, bound in tests if bound != np.inf]
        if lacking[feature] and feature in rule["missing"]:
            said = [f"({' AND '.join(said)} OR {name} is missing)"]
        elif not said or (lacking[feature] and tests[0][0] == "not in"):
            said.insert(0, f"{name} is known")
        texts += said
    return texts


def export_rules(decision_tree, *, feature_names=None, class_names=None, decimals=2):
    """The rules of the leaves as text, a line each.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names, class_names : sequence of str, default=None
        None: the fitted names, or feature_0 and so on; the labels.
    decimals : int, default=2
        Digits behind the point.

    Returns
    -------
    text : str
        Behind a label its share and the number of rows, behind a number that of rows.

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, export_rules
    >>> print(export_rules(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"]), feature_names=["x"]), end="")
    IF x <= 1.50 THEN a (1.00, 1)
    IF x > 1.50 THEN b (1.00, 1)
    """
    shown = _Shown(decision_tree, feature_names, class_names, decimals)
    leaves = np.flatnonzero(shown.tree.children_left < 0)
    lines = []

    def told(name, side, bound):
        listed = "{" + ", ".join(map(str, bound)) + "}" if isinstance(bound, list) else f"{bound:.{decimals}f}"
        return f"{name} {side} {listed}"

    for leaf, rule in zip(leaves, _rules(shown)):
        tests = conditions_told(rule, shown.names, shown.lacking, told)
        share = "" if rule["share"] is None else f"{rule['share']:.{decimals}f}, "
        lines.append(f"IF {' AND '.join(tests) or 'TRUE'} THEN {shown.said(leaf)} ({share}{rule['n_samples']})")
    return "\n".join(lines) + "\n"


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
    shown = _Shown(decision_tree, feature_names, class_names, require_integer("precision", precision, 0))
    tree = shown.tree
    nodes, edges = [], []
    for node in range(tree.node_count):
        what = shown.said(node)
        if tree.children_left[node] >= 0:
            what = shown.tests(node)[0]
            edges.append(f'{node} -> {tree.children_left[node]} [label="yes"] ;')
            edges.append(f'{node} -> {tree.children_right[node]} [label="no"] ;')
        what = what.replace("\\", "\\\\").replace('"', '\\"')
        impurity = f"{tree.impurity[node]:.{precision}f}"
        nodes.append(f'{node} [label="{what}\\nimpurity = {impurity}\\nsamples = {tree.n_node_samples[node]}"] ;')
    return "\n".join(["digraph Tree {", "node [shape=box] ;", *nodes, *edges, "}"]) + "\n"


def plot_tree(
    decision_tree, *, max_depth=None, feature_names=None, class_names=None, precision=3, ax=None, fontsize=None
):
    """Draw the tree with matplotlib: yes goes left; a box is the fuller, the less impure its node is.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    max_depth : int >= 0, default=None
        Nodes that are deeper are not drawn; None: all are.
    feature_names, class_names : sequence of str, default=None
        None: the fitted names, or feature_0 and so on; the labels.
    precision : int, default=3
        Digits behind the point.
    ax : matplotlib axes, default=None
        None: the current ones.
    fontsize : float, default=None

    Returns
    -------
    boxes : list of matplotlib.text.Annotation
        One a node, in the order of `tree_`.
    """
    shown = _Shown(decision_tree, feature_names, class_names, require_integer("precision", precision, 0))
    tree = shown.tree
    depth = tree.depths
    last = int(depth.max()) if max_depth is None else require_integer("max_depth", max_depth, 0)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.gca()
    drawn = np.flatnonzero(depth <= last)
    end = (tree.children_left < 0) | (depth == last)
    x = np.zeros(tree.node_count)
    x[drawn[end[drawn]]] = np.arange(np.count_nonzero(end[drawn]))
    for node in drawn[::-1]:
        if not end[node]:
            x[node] = (x[tree.children_left[node]] + x[tree.children_right[node]]) / 2
    most = tree.impurity.max() or 1.0
    boxes = []
    for node in drawn:
        what = shown.said(node) if tree.children_left[node] < 0 else shown.tests(node)[0]
        text = f"{what}\nimpurity = {tree.impurity[node]:.{precision}f}\nsamples = {tree.n_node_samples[node]}"
        colour = "white" if shown.labels is None else f"C{int(shown.codes[0][node]) % 10}"
        box = {"boxstyle": "round", "facecolor": colour, "alpha": 1 - 0.8 * tree.impurity[node] / most}
        boxes.append(ax.annotate(text, (x[node], -depth[node]), ha="center", va="center", bbox=box, fontsize=fontsize))
        if not end[node]:
            for child in (tree.children_left[node], tree.children_right[node]):
                ax.plot([x[node], x[child]], [-depth[node], -depth[child]], color="black", linewidth=0.8, zorder=0)
    ax.set_axis_off()
    return boxes
