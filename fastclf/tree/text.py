"""Trees as text and as rules."""

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from .._dates import date_text
from .._exceptions import not_fitted_error
from .._validation import as_list, as_names, described, require_integer, require_truth


class Reading(NamedTuple):
    """A fitted tree, and the words for its features and categories.

    A TableClassifier, whose tree has the positions of categories only, makes one by its method `_reading_of_tree`.
    """

    model: object  # the decision tree to be shown, fastclf's or scikit-learn's
    names: list | None = None  # the names of the tree's features
    # for each feature: the list of the texts of its categories, "dates" if its numbers are days since 1970-01-01, or
    # None
    texts: list | None = None


def reading_of(model):
    """The Reading of a fitted decision tree or of a TableClassifier."""
    of_table = getattr(model, "_reading_of_tree", None)
    return Reading(model) if of_table is None or isinstance(model, type) else Reading(*of_table())


def fitted_tree(model):
    """The `tree_` of a fitted decision tree, which is fastclf's or scikit-learn's."""
    if not hasattr(model, "fit"):
        raise TypeError(f"{described(model)} is not an estimator instance; a fitted decision tree is wanted")
    tree = getattr(model, "tree_", None)
    if tree is None and (hasattr(model, "criterion") or hasattr(type(model), "tree_")):
        raise not_fitted_error(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before"
            " using this estimator."
        )
    if not hasattr(tree, "children_left"):
        raise TypeError(f"decision_tree is of type {type(model).__name__}; a fitted decision tree is wanted")
    return tree


def predicted_codes(model, tree):
    """The code of the class that each node predicts, for each output."""
    if hasattr(model, "_decision"):
        return model._decision.codes(model._nodes["value"])
    return tree.value.argmax(axis=2).T


class Notation(NamedTuple):
    """How the conditions of an output format are written."""

    at_most: str = "<="
    escape: object = str  # a function that writes a category in the notation of the output
    line_end: str | None = None  # the end of each line of a long list of categories; None: lists are not broken
    width: int = 32  # the largest number of letters in a line if lists of categories are broken into lines
    most: int = 8  # the most categories that are named if lists of categories are broken into lines


_IN_TEXT = Notation()


class Conditions:
    """The conditions of the inner nodes of a fitted tree, with the names of the features.

    texts: the field of a Reading.
    """

    def __init__(self, model, tree, names, texts=None, notation=_IN_TEXT):
        self.tree, self.names, self.notation = tree, names, notation
        self.categories = getattr(model, "categories_", None)
        if self.categories is not None and texts is not None:
            self.categories = [
                codes if known is None or codes is None else np.array([known[int(c)] for c in codes], dtype=object)
                for codes, known in zip(self.categories, texts)
            ]
        self.lacking = getattr(model, "features_with_missing_", np.zeros(len(names), bool))
        # the names of the features that are dates
        self.dates = {name for name, known in zip(names, texts or ()) if isinstance(known, str)}

    def left(self, node):
        """The categories that go left at a split by categories, or None at a split by a threshold."""
        if self.categories is None:
            return None
        codes = self.tree.codes_left(node)
        return None if codes is None else self.categories[self.tree.feature[node]][codes].tolist()

    def of(self, node, shown):
        """The conditions for the left child and for the right child; shown(threshold) is the text of a threshold."""
        tree, feature = self.tree, self.tree.feature[node]
        name, left = self.names[feature], self.left(node)
        if tree.threshold[node] == np.inf:
            return f"{name} is known", f"{name} is missing"
        if left is None:
            threshold = (date_text if name in self.dates else shown)(tree.threshold[node])
            said = f"{name} {self.notation.at_most} {threshold}", f"{name} >  {threshold}"
        else:
            said = self._listed(f"{name} in ", left), self._listed(f"{name} not in ", left)
        if self.lacking[feature]:
            if tree.missing_go_to_left[node]:
                return f"{said[0]} or missing", f"{said[1]} and known"
            return said[0], f"{said[1]} or missing"
        return said

    def _listed(self, begin, categories):
        """The text `begin`, then the list of the categories in braces, in lines if the notation breaks long lists."""
        escape, line_end, width, most = self.notation[1:]
        if line_end is None:
            return begin + "{" + ", ".join(escape(str(each)) for each in categories) + "}"
        listed = [" ".join(str(each).split()) for each in categories[:most]]
        listed += [f"... and {len(categories) - most} more"] if len(categories) > most else []
        lines, used = [begin + "{" + escape(listed[0])], len(begin) + 1 + len(listed[0])
        for each in listed[1:]:
            used += 2 + len(each)
            if used > width:
                lines.append(escape(each))
                used = len(each)
            else:
                lines[-1] += ", " + escape(each)
        return f",{line_end}".join(lines) + "}"


class _Shown:
    """A class that writes the texts of the nodes of a fitted tree."""

    def __init__(self, model, feature_names, class_names, decimals):
        model, names, texts = reading_of(model)
        self.tree, self.decimals = fitted_tree(model), require_integer("decimals", decimals, 0, 1074)
        d = model.n_features_in_
        if feature_names is None:
            feature_names = names
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", [f"feature_{i}" for i in range(d)])
        self.names = as_names(feature_names, "feature_names", d)
        self.conditions = Conditions(model, self.tree, self.names, texts)
        self.lacking, self.left = self.conditions.lacking, self.conditions.left
        self.labels = None
        if hasattr(model, "classes_"):
            classes = [model.classes_] if self.tree.n_outputs == 1 else model.classes_
            if class_names is not None:
                class_names = as_list(class_names, "class_names")
                if len(classes) > 1 or len(class_names) != len(classes[0]):
                    raise ValueError(
                        "When `class_names` is an array, it should contain as many items as `decision_tree.classes_`."
                        f" Got {len(class_names)} while the tree was fitted with {len(classes[0])} classes."
                    )
                classes = [np.asarray(class_names, dtype=object)]
            self.codes = predicted_codes(model, self.tree)
            self.labels = [labels[code] for labels, code in zip(classes, self.codes)]

    def tests(self, node):
        """The conditions for the left child and for the right child."""
        return self.conditions.of(node, lambda threshold: f"{threshold:.{self.decimals}f}")

    def prediction(self, node):
        """The predicted label or number; a tuple if there are several outputs."""
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
        """The share of the predicted label; None for numbers, and for several outputs."""
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
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier
        A fitted tree, also one of scikit-learn's; of a TableClassifier, its tree with the texts of its categories.
    feature_names, class_names : sequence of str, default=None
        Names of the features and classes. None: the fitted names, or feature_0 and so on; the labels.
    max_depth : int >= 0, default=10
        Deeper nodes are shown as truncated.
    spacing, decimals : int
        Width of an indent, from 1 up; number of digits after the decimal point.
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
    spacing, show_weights = require_integer("spacing", spacing, 1, 1000), require_truth("show_weights", show_weights)
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
    """The number of levels of the subtree below a node, including the node."""
    height, level = 0, [node]
    while level:
        inner = [node for node in level if tree.children_left[node] >= 0]
        level = [child[node] for node in inner for child in (tree.children_left, tree.children_right)]
        height += 1
    return height


def rules(decision_tree):
    """A rule for each leaf, from left to right: the shortest conditions that lead to it, and its prediction.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier

    Returns
    -------
    rules : list of dict
        `conditions`: list of (feature, '<=' or '>', threshold) or (feature, 'in' or 'not in', categories), sorted by
        feature, at most one of each kind for a feature; `missing`: the features of the conditions that may be missing;
        `prediction`: the label or the number; `share`: the share of the predicted class, or None; `n_samples`: int.

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, rules
    >>> for rule in rules(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])):
    ...     print(rule["conditions"], rule["prediction"], rule["n_samples"])
    [(0, '<=', 1.5)] a 1
    [(0, '>', 1.5)] b 1
    """
    return list(_rules(_Shown(decision_tree, None, None, 2)))


def _rules(shown):
    """The rules one after another: all at once are millions of objects, through which Python's collector then goes.

    Rules share the tuples of their conditions, of which there is one for each node.
    """
    tree = shown.tree
    waiting = [(0, {}, {})]
    while waiting:
        node, bounds, missing = waiting.pop()
        if tree.children_left[node] >= 0:
            feature, left = int(tree.feature[node]), shown.left(node)
            for child, side in ((tree.children_right[node], ">"), (tree.children_left[node], "<=")):
                may_miss = missing.get(feature, True) and bool(tree.missing_go_to_left[node]) == (side == "<=")
                if left is None:
                    narrower = bounds | {(feature, side): (feature, side, float(tree.threshold[node]))}
                else:
                    narrower = bounds | _subset_bounds(bounds, feature, left, side == "<=")
                waiting.append((child, narrower, missing | {feature: may_miss}))
            continue
        conditions = [
            (f, side, sorted(condition[2])) if side in ("in", "not in") else condition
            for (f, side), condition in sorted(bounds.items(), key=itemgetter(0))
            if not (side == "not in" and (f, "in") in bounds)
        ]
        yield {
            "conditions": conditions,
            "missing": sorted(feature for feature, may in missing.items() if may),
            "prediction": shown.prediction(node),
            "share": shown.share(node),
            "n_samples": int(tree.n_node_samples[node]),
        }


def _subset_bounds(bounds, feature, left, inside):
    """The condition on a feature after a split by categories: {(feature, side): (feature, side, set of categories)}."""
    among, without = (bounds[feature, side][2] if (feature, side) in bounds else None for side in ("in", "not in"))
    if inside:
        among = frozenset(left) if among is None else among & frozenset(left)
    else:
        without = frozenset(left) if without is None else without | frozenset(left)
    side, categories = ("not in", without) if among is None else ("in", among - (without or frozenset()))
    return {(feature, side): (feature, side, categories)}


def conditions_told(rule, names, lacking, told):
    """The conditions of a rule as texts, which are made by told(name, side, bound).

    lacking: a mask of the features with missing values in the fit; for other features missing values are not mentioned.
    """
    texts = []
    for feature, conditions in groupby(rule["conditions"], key=lambda condition: condition[0]):
        name, tests = names[feature], [condition[1:] for condition in conditions]
        if (">", np.inf) in tests:
            texts.append(f"{name} is missing")
            continue
        if ("in", []) in tests:  # no known category satisfies the conditions, so that the feature must be missing
            texts.append(f"{name} is missing")
            continue
        said = [told(name, side, bound) for side, bound in tests if bound not in (np.inf, [])]
        if lacking[feature] and feature in rule["missing"]:
            said = [f"({' AND '.join(said)} OR {name} is missing)"]
        elif not said or (lacking[feature] and tests[0][0] == "not in"):
            said.insert(0, f"{name} is known")
        texts += said
    return texts


def export_rules(decision_tree, *, feature_names=None, class_names=None, decimals=2):
    """The rules of the leaves as text, one line for each.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier
    feature_names, class_names : sequence of str, default=None
        Names of the features and classes. None: the fitted names, or feature_0 and so on; the labels.
    decimals : int, default=2
        Number of digits after the decimal point.

    Returns
    -------
    text : str
        After a label its share and the number of rows; after a predicted number only the number of rows.

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
        if name in shown.conditions.dates:
            return f"{name} {side} {date_text(bound)}"
        listed = "{" + ", ".join(map(str, bound)) + "}" if isinstance(bound, list) else f"{bound:.{decimals}f}"
        return f"{name} {side} {listed}"

    for leaf, rule in zip(leaves, _rules(shown)):
        tests = conditions_told(rule, shown.names, shown.lacking, told)
        share = "" if rule["share"] is None else f"{rule['share']:.{decimals}f}, "
        lines.append(f"IF {' AND '.join(tests) or 'TRUE'} THEN {shown.said(leaf)} ({share}{rule['n_samples']})")
    return "\n".join(lines) + "\n"
