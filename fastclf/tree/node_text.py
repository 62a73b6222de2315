"""The text and the colour of each node of a drawn tree, in scikit-learn's format."""

from typing import NamedTuple

import numpy as np

from .._validation import as_list, as_names, require_choice, require_integer, require_truth
from .text import Conditions, Notation, fitted_tree, predicted_codes, reading_of


class Marks(NamedTuple):
    """The characters of an output format."""

    number: str
    index: str
    index_end: str
    at_most: str
    line_end: str
    begin: str
    end: str


class _WrongNumber(ValueError, IndexError):
    """An error about the number of class names; scikit-learn raises an IndexError, so that it is one, too."""


PLAIN = Marks("#", "[", "]", "<=", "\n", "", "")


class NodeText:
    """The texts and colours of the nodes of a fitted tree, by the options of `export_graphviz` and `plot_tree`.

    Attributes
    ----------
    model, tree : the fitted decision tree, fastclf's or scikit-learn's, and its `tree_`
    marks : Marks
    escape : callable
        A function that quotes a name for the output format.
    options : dict
        `feature_names`, `class_names`, `label`, `impurity`, `node_ids`, `proportion` and `precision`.
    """

    def __init__(self, model, options, marks=PLAIN, escape=str):
        model, fitted_names, texts = reading_of(model)
        self.model, self.tree, self.marks, self.escape = model, fitted_tree(model), marks, escape
        require_choice("label", options["label"], ["all", "root", "none"])
        self.precision = require_integer("precision", options["precision"], 0)
        self.options = options | {
            name: require_truth(name, options[name]) for name in ("impurity", "node_ids", "proportion")
        }
        names, d = options["feature_names"], model.n_features_in_
        if names is None:
            names = getattr(model, "feature_names_in_", fitted_names)
        else:
            names = as_list(names, "feature_names")
            if len(names) != d:
                raise ValueError(f"Length of feature_names, {len(names)} does not match number of features, {d}")
        if names is None:
            self.names = [f"x{marks.index}{j}{marks.index_end}" for j in range(d)]
        else:
            self.names = [escape(str(name)) for name in names]
        notation = Notation(marks.at_most, escape, marks.line_end)
        self.conditions = Conditions(model, self.tree, self.names, texts, notation)
        self.of_labels = self.tree.n_classes[0] != 1
        self.named = options["class_names"] is not None and options["class_names"] is not False
        self.named = self.named and self.of_labels and self.tree.n_outputs == 1
        if self.named and options["class_names"] is not True:
            names = as_names(options["class_names"], "class_names", self.tree.n_classes[0], _WrongNumber)
            self.options["class_names"] = names
        self.codes = predicted_codes(model, self.tree)[0] if self.named else None
        self._bounds = self._extremes()

    def of(self, node):
        """The text of a node."""
        marks, options, tree = self.marks, self.options, self.tree
        said = options["label"] == "all" or (options["label"] == "root" and node == 0)

        def titled(title, text):
            return f"{title}{text}" if said else text

        lines = [titled("node ", f"{marks.number}{node}")] if options["node_ids"] else []
        if tree.children_left[node] >= 0:
            lines.append(self._test(node))
        if options["impurity"]:
            lines.append(titled(f"{self._criterion()} = ", str(round(float(tree.impurity[node]), self.precision))))
        size = tree.n_node_samples[node]
        if options["proportion"]:
            size = f"{round(100.0 * size / float(tree.n_node_samples[0]), 1)}%"
        lines.append(titled("samples = ", str(size)))
        lines.append(titled("value = ", self._value(node)))
        if self.named:
            lines.append(titled("class = ", self._class(self.codes[node])))
        return marks.begin + marks.line_end.join(lines) + marks.end

    def _test(self, node):
        return self.conditions.of(node, lambda value: str(round(float(value), self.precision)))[0]

    def _criterion(self):
        criterion = getattr(self.model, "criterion", "impurity")
        if not isinstance(criterion, str):
            return "squared_error" if type(criterion).__name__ == "MSE" else "impurity"
        return criterion

    def _class(self, code):
        names = self.options["class_names"]
        return f"y{self.marks.index}{code}{self.marks.index_end}" if names is True else self.escape(str(names[code]))

    def _value(self, node):
        """The text of a node's value: the shares or weights of the classes, or the predicted numbers."""
        tree = self.tree
        value = tree.value[node, 0] if tree.n_outputs == 1 else tree.value[node]
        if self.of_labels and not self.options["proportion"]:
            value = value * tree.weighted_n_node_samples[node]
        if self.of_labels and not self.options["proportion"] and (np.mod(value, 1) == 0).all():
            value = value.astype(int)
        else:
            value = np.around(value, self.precision)
        if tree.n_outputs == 1 and not self.of_labels:
            return ", ".join(map(str, value.tolist()))
        # NumPy breaks the text of a long array into lines, which then get the line end of the picture's notation
        text = str(value.astype("S32")).replace("b'", "'").replace("' '", ", ").replace("'", "")
        return text.replace("\n ", self.marks.line_end)

    def _extremes(self):
        """The range of the numbers (predictions or -impurity) that determine the nodes' colours; None for classes."""
        tree = self.tree
        shown = -tree.impurity if tree.n_outputs > 1 else tree.value
        if tree.n_outputs == 1 and self.of_labels:
            return None
        low, high = float(np.min(shown)), float(np.max(shown))
        return (low, high) if low < high else None

    def colour(self, node):
        """The colour of a node as #rrggbb; it is stronger for a larger number, or for a purer node of labels."""
        tree, palette = self.tree, _hues(int(self.tree.n_classes[0]))
        share = tree.value[node, 0]
        if tree.n_outputs == 1 and self.of_labels:
            second, first = np.sort(share)[-2:]
            colour, strength = palette[int(np.argmax(share))], (first - second) / (1 - second)
        else:
            colour, strength = palette[0], 0.0
            if self._bounds is not None:
                low, high = self._bounds
                strength = ((-tree.impurity[node] if tree.n_outputs > 1 else share[0]) - low) / (high - low)
        return "#" + "".join(f"{round(strength * c + (1 - strength) * 255):02x}" for c in colour)


def _hues(n):
    """n colours with evenly spaced hues, saturation 0.75 and value 0.9, as in scikit-learn."""
    chroma, lift = 0.675, 0.225
    colours = []
    for angle in np.arange(25, 385, 360 / n).astype(int):
        sector = angle / 60
        middle = chroma * (1 - abs(sector % 2 - 1))
        parts = [(chroma, middle, 0), (middle, chroma, 0), (0, chroma, middle), (0, middle, chroma)]
        parts += [(middle, 0, chroma), (chroma, 0, middle), (chroma, middle, 0)]
        colours.append([int(255 * (part + lift)) for part in parts[int(sector)]])
    return colours


def drawn_nodes(tree, max_depth):
    """(node, its parent or None, depth) in pre-order, down to one level below max_depth if that is not None."""
    last = np.inf if max_depth is None else require_integer("max_depth", max_depth, 0)
    waiting = [(0, None, 0)]
    while waiting:
        node, parent, depth = waiting.pop()
        yield node, parent, depth
        if tree.children_left[node] >= 0 and depth <= last:
            waiting.append((int(tree.children_right[node]), node, depth + 1))
            waiting.append((int(tree.children_left[node]), node, depth + 1))
