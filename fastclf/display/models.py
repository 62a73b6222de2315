"""Pictures of models: the regions of a classifier of two features, and a tree."""

import numpy as np

from .._validation import as_array, as_float64, encode_labels, require_integer
from .drawing import axes, colours, finish


class DecisionBoundaryDisplay:
    """The label that a classifier of two features gives to each point of the plane.

    Rows are dots in the colour of their label; wrongly predicted rows are crossed out. For two classes the boundary is
    drawn; for a support vector machine also its margins and, ringed, its support vectors; for a tree the boxes of its
    leaves.

    Parameters
    ----------
    estimator : fitted classifier of two features
    xlim : pair of floats
    ylim : pair of floats
    grid_resolution : int >= 2, default=300
        Number of points on each side.

    Attributes
    ----------
    surface_ : matplotlib AxesImage
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf import GaussianNB
    >>> from fastclf.display import DecisionBoundaryDisplay
    >>> X, y = [[0.0, 0.0], [1.0, 0.5], [3.0, 3.0], [4.0, 2.5]], ["a", "a", "b", "b"]
    >>> display = DecisionBoundaryDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    >>> display.surface_.get_array().shape
    (300, 300, 3)
    """

    def __init__(self, estimator, xlim, ylim, *, grid_resolution=300):
        self.estimator, self.xlim, self.ylim = estimator, xlim, ylim
        self.grid_resolution = require_integer("grid_resolution", grid_resolution, 2)

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, grid_resolution=300, eps=0.08, feature_names=None, ax=None):
        """Draw the plane around rows X, with a margin of `eps` times their width, and the rows.

        Labels y colour the rows.
        """
        rows = as_float64(X, "X")
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"X has shape {rows.shape}; two features are wanted for a picture of the plane")
        low, high = rows.min(axis=0), rows.max(axis=0)
        border = eps * np.where(high > low, high - low, 1)
        display = cls(estimator, *zip(low - border, high + border), grid_resolution=grid_resolution)
        names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
        return display.plot(rows, y, feature_names=names, ax=ax)

    def plot(self, X=None, y=None, *, feature_names=None, ax=None):
        """Draw into `ax`, by default into a new figure, and return self."""
        ax, model = axes(ax, (6, 5)), self.estimator
        classes = model.classes_
        palette = np.array(colours(len(classes)))
        x0, x1 = (np.linspace(*limits, self.grid_resolution) for limits in (self.xlim, self.ylim))
        grid = np.column_stack([a.ravel() for a in np.meshgrid(x0, x1)])
        codes = np.searchsorted(classes, self._asked(model.predict, grid)).reshape(len(x1), len(x0))
        extent = (*self.xlim, *self.ylim)
        pale = 0.35 * palette[codes] + 0.65
        self.surface_ = ax.imshow(pale, origin="lower", extent=extent, aspect="auto", interpolation="nearest", zorder=0)
        if hasattr(model, "tree_"):
            self._draw_boxes(ax)
        elif hasattr(model, "decision_function") and len(classes) == 2:
            self._draw_margins(ax, x0, x1, grid)
        if X is not None and y is not None:
            self._draw_rows(ax, np.asarray(X, float), y, palette)
        elif X is not None:
            ax.scatter(*np.asarray(X, float).T, s=12, color="0.2")
        ax.set(xlim=self.xlim, ylim=self.ylim)
        if feature_names is not None:
            ax.set_xlabel(str(feature_names[0]))
            ax.set_ylabel(str(feature_names[1]))
        return finish(self, ax)

    def _asked(self, method, grid):
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return method(grid)
        import warnings

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(grid)

    def _draw_rows(self, ax, X, y, palette):
        labels = as_array(y, "y")
        classes = self.estimator.classes_
        predicted = self._asked(self.estimator.predict, X)
        marker = {"s": 22, "edgecolor": "white", "linewidth": 0.5, "zorder": 3}
        for k, label in enumerate(classes):
            in_class = labels == label
            ax.scatter(*X[in_class].T, color=[palette[k]], label=str(label), **marker)
        wrong = predicted != labels
        if wrong.any():
            ax.scatter(
                *X[wrong].T, marker="x", s=30, color="black", linewidth=1, zorder=4, label=f"wrong: {wrong.sum()}"
            )
        if hasattr(self.estimator, "support_vectors_"):
            support = np.asarray(self.estimator.support_vectors_)
            ring = {"s": 90, "facecolor": "none", "edgecolor": "black", "linewidth": 0.9, "zorder": 4}
            ax.scatter(*support.T, label=f"support vectors: {len(support)}", **ring)
        if len(encode_labels(labels)[0]) <= 12:
            ax.legend(loc="best", fontsize="small")

    def _draw_margins(self, ax, x0, x1, grid):
        score = np.asarray(self._asked(self.estimator.decision_function, grid)).reshape(len(x1), len(x0))
        wanted = (-1, 0, 1) if _has_margins(self.estimator) else (0,)
        levels = [level for level in wanted if score.min() < level < score.max()]
        styles = {-1: "--", 0: "-", 1: "--"}
        if levels:
            ax.contour(x0, x1, score, levels, colors="black", linewidths=1.1, linestyles=[styles[v] for v in levels])

    def _draw_boxes(self, ax):
        from matplotlib.patches import Rectangle

        tree = self.estimator.tree_
        waiting = [(0, *self.xlim, *self.ylim)]
        while waiting:
            node, a, b, c, d = waiting.pop()
            if tree.children_left[node] < 0:
                ax.add_patch(Rectangle((a, c), b - a, d - c, fill=False, edgecolor="0.25", linewidth=0.7, zorder=1))
                continue
            at = tree.threshold[node]
            if tree.feature[node] == 0:
                cut = min(max(at, a), b)
                sides = (a, cut, c, d), (cut, b, c, d)
            else:
                cut = min(max(at, c), d)
                sides = (a, b, c, cut), (a, b, cut, d)
            for child, box in zip((tree.children_left[node], tree.children_right[node]), sides):
                if box[0] < box[1] and box[2] < box[3]:
                    waiting.append((child, *box))


def _has_margins(model):
    """Whether the model is a support vector machine, whose scores on the margins are -1 and 1."""
    return hasattr(model, "support_vectors_") or type(model).__name__ == "LinearSVC"


class TreeDisplay:
    """A fitted decision tree: the conditions of its nodes, and the shares of the classes in its leaves.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor, fitted
    max_depth : int >= 0, default=None
        The largest depth that is drawn; None: the whole tree.
    feature_names : list of str, default=None
    class_names : list of str, default=None

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier
    >>> from fastclf.display import TreeDisplay
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["low", "low", "high"])
    >>> [text.get_text().splitlines()[0] for text in TreeDisplay.from_estimator(model).ax_.texts][-1]
    'high 100%'
    """

    def __init__(self, estimator, *, max_depth=None, feature_names=None, class_names=None):
        if not hasattr(estimator, "tree_"):
            raise TypeError(f"estimator is {estimator!r}; a fitted decision tree is wanted")
        self.estimator = estimator
        self.max_depth = None if max_depth is None else require_integer("max_depth", max_depth, 0)
        names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
        self.feature_names = [f"x[{j}]" for j in range(estimator.n_features_in_)] if names is None else list(names)
        classes = getattr(estimator, "classes_", None)
        self.class_names = None
        if classes is not None:
            self.class_names = [str(name) for name in (classes if class_names is None else class_names)]
        d = estimator.n_features_in_
        if len(self.feature_names) != d:
            raise ValueError(f"feature_names has {len(self.feature_names)} entries; {d}, one per feature, are wanted")

    @classmethod
    def from_estimator(cls, estimator, *, max_depth=None, feature_names=None, class_names=None, ax=None):
        """Draw immediately; the parameters are those of the class and of :meth:`plot`."""
        return cls(estimator, max_depth=max_depth, feature_names=feature_names, class_names=class_names).plot(ax)

    def _placed(self):
        """The places {node: (x, depth)} of a drawn tree: leaves side by side, inner nodes midway above children."""
        tree = self.estimator.tree_
        limit = self.max_depth if self.max_depth is not None else tree.node_count
        place, next_x = {}, 0
        waiting = [(0, 0, False)]
        while waiting:
            node, depth, done = waiting.pop()
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            if left < 0 or depth == limit:
                place[node] = (next_x, depth)
                next_x += 1
            elif done:
                place[node] = ((place[left][0] + place[right][0]) / 2, depth)
            else:
                waiting += [(node, depth, True), (right, depth + 1, False), (left, depth + 1, False)]
        return place

    def plot(self, ax=None):
        """Draw into `ax`, by default into a new figure, and return self."""
        tree, place = self.estimator.tree_, self._placed()
        n_leaves = 1 + max(x for x, _ in place.values())
        depth = max(d for _, d in place.values())
        ax = axes(ax, (min(max(4, 1.25 * n_leaves), 40), min(max(2.5, 1.25 * (depth + 1)), 30)))
        palette = colours(len(self.class_names)) if self.class_names is not None else None
        for node, (x, d) in sorted(place.items()):
            inner = int(tree.children_left[node]) in place
            if inner:
                for child, answer in ((tree.children_left[node], "yes"), (tree.children_right[node], "no")):
                    cx, cd = place[int(child)]
                    ax.plot([x, cx], [-d, -cd], color="0.5", linewidth=0.9, zorder=0)
                    if node == 0:
                        ax.annotate(answer, ((x + cx) / 2, (-d - cd) / 2), ha="center", color="0.4", fontsize="small")
            ax.text(
                x, -d, self._words(node, inner), ha="center", va="center", fontsize="small", zorder=2,
                bbox={"boxstyle": "round", "facecolor": self._colour(node, palette), "edgecolor": "0.4"},
            )  # fmt: skip
        ax.set(xlim=(-0.6, n_leaves - 0.4), ylim=(-depth - 0.5, 0.5))
        ax.set_axis_off()
        return finish(self, ax)

    def _words(self, node, inner):
        tree = self.estimator.tree_
        value = tree.value[node, 0]
        n = tree.weighted_n_node_samples[node]
        if self.class_names is None:
            answer = f"{value[0]:.4g}"
        else:
            k = int(np.argmax(value))
            answer = f"{self.class_names[k]} {value[k]:.0%}"
        asked = f"{self.feature_names[tree.feature[node]]} <= {tree.threshold[node]:.4g}\n" if inner else ""
        cut = "" if inner or tree.children_left[node] < 0 else " ..."
        return f"{asked}{answer}\n{n:g} row{'' if n == 1 else 's'}{cut}"

    def _colour(self, node, palette):
        if palette is None:
            return "white"
        share = self.estimator.tree_.value[node, 0]
        k = int(np.argmax(share))
        strength = 0.5 * (share[k] - 1 / len(share)) / max(1 - 1 / len(share), 1e-9)
        return tuple(1 - strength * (1 - np.array(palette[k])))
