"""Pictures of models: the regions of a classifier of two features, and a tree."""

import numpy as np

from .._validation import (
    as_float64,
    as_names,
    as_vector,
    described,
    encode_labels,
    require_integer,
)
from ..tree.text import Conditions, Notation, reading_of
from .drawing import axes, colours, finish, require_method
from .responses import Surface, draw_surface, name_axes, plane, require_plot, require_resolution, surface_of

# scikit-learn's arguments of DecisionBoundaryDisplay.from_estimator and their defaults.
_SCIKIT_LEARNS = {"response_method": "auto", "class_of_interest": None, "multiclass_colors": None, "plot_method": None}


class DecisionBoundaryDisplay:
    """The label that a classifier of two features gives to each point of the plane.

    Rows are dots in the colour of their label; wrongly predicted rows are crossed out. For two classes the boundary is
    drawn; for a support vector machine also its margins and, ringed, its support vectors; for a tree the boxes of its
    leaves. With scikit-learn's arguments, the picture is scikit-learn's, also of regressors.

    Parameters
    ----------
    estimator : fitted classifier of two features, default=None
    xlim : pair of floats, default=None
    ylim : pair of floats, default=None
        None: `response` is given.
    grid_resolution : int >= 2, default=300
        Number of points on each side.
    xx0, xx1 : ndarray of shape (n, m), default=None
        The points of a grid, as `numpy.meshgrid` makes them.
    n_classes : int, default=None
        2 for numbers too.
    response : ndarray, default=None
        What a model answers for these points, of shape (n, m) or (n, m, n_classes).
    multiclass_colors : str or list, default=None
        The colours of three classes or more: the name of a map of matplotlib's, or a colour for each class.
    xlabel, ylabel : str, default=None

    Attributes
    ----------
    surface_ : matplotlib AxesImage, or what matplotlib drew of a response, or list of it
    multiclass_colors_ : ndarray of shape (n_classes, 4)
        The colours of the classes in scikit-learn's picture of three or more.
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

    # Arguments: estimator, xlim, ylim and grid_resolution are arguments of fastclf alone; the others are those of
    # scikit-learn's DecisionBoundaryDisplay.
    def __init__(
        self,
        estimator=None,
        xlim=None,
        ylim=None,
        *,
        grid_resolution=300,
        xx0=None,
        xx1=None,
        n_classes=None,
        response=None,
        multiclass_colors=None,
        xlabel=None,
        ylabel=None,
    ):
        self.estimator, self.xlim, self.ylim = estimator, xlim, ylim
        self.grid_resolution = require_resolution(grid_resolution)
        self.xx0, self.xx1, self.n_classes, self.response = xx0, xx1, n_classes, response
        self.multiclass_colors, self.xlabel, self.ylabel = multiclass_colors, xlabel, ylabel
        if response is None and (estimator is None or xlim is None or ylim is None):
            raise TypeError("response is None; a response is wanted, or all of estimator, xlim and ylim")

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, grid_resolution=None, eps=None, feature_names=None, ax=None, **options
    ):
        """Draw the plane around rows X, and the rows; labels y colour the rows.

        Parameters
        ----------
        estimator : fitted classifier, or with scikit-learn's arguments also regressor
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,), default=None
        grid_resolution : int >= 2, default=None
            None: 300; 100 with scikit-learn's arguments.
        eps : float >= 0, default=None
            The margin as a share of the rows' width, None: 0.08; with scikit-learn's arguments in units of X, None: 1.
        feature_names : pair of str, default=None
        ax : matplotlib Axes, default=None
        **options
            scikit-learn's arguments: `plot_method` ('contourf', 'contour' or 'pcolormesh'), `response_method` ('auto',
            'predict_proba', 'decision_function' or 'predict'), `class_of_interest`, `multiclass_colors`, and arguments
            of matplotlib such as `alpha` and `cmap`: with one of them the rows are not drawn. Besides, `xlabel` and
            `ylabel`.

        Returns
        -------
        display : DecisionBoundaryDisplay
        """
        labels = {name: options.pop(name, None) for name in ("xlabel", "ylabel")}
        if options:
            method, positive, palette, plot_method = (
                options.pop(name, default) for name, default in _SCIKIT_LEARNS.items()
            )
            if plot_method is not None:
                require_plot(plot_method)
            resolution, eps = (100 if grid_resolution is None else grid_resolution), (1.0 if eps is None else eps)
            surface = surface_of(estimator, X, resolution, eps, method, positive)
            names = feature_names if feature_names is not None else getattr(X, "columns", ("", ""))
            labels = {side: names[k] if told is None else told for k, (side, told) in enumerate(labels.items())}
            surface = surface._replace(multiclass_colors=palette, **labels)
            return cls(estimator, **surface._asdict()).plot(plot_method=plot_method, ax=ax, **options)
        resolution = 300 if grid_resolution is None else grid_resolution
        eps = 0.08 if eps is None else eps
        rows = plane(X, resolution, eps)
        require_method(estimator, "classes_")
        low, high = rows.min(axis=0), rows.max(axis=0)
        border = eps * np.where(high > low, high - low, 1)
        display = cls(estimator, *zip(low - border, high + border), grid_resolution=resolution)
        names = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
        names = names if feature_names is None else feature_names
        return display.plot(rows, y, feature_names=names, ax=ax, **labels)

    def plot(
        self, X=None, y=None, *, feature_names=None, ax=None, plot_method=None, xlabel=None, ylabel=None, **options
    ):
        """Draw into `ax`, by default into a new figure, and return self.

        A display with a `response` draws it by `plot_method`, 'contourf', 'contour' or 'pcolormesh', with the other
        options for matplotlib.
        """
        if isinstance(X, str):  # the arguments are in scikit-learn's order: plot_method, ax
            plot_method, X, ax, y = X, None, ax if y is None else y, None
        if self.response is not None:
            surface = Surface(*(getattr(self, name) for name in Surface._fields))
            return draw_surface(self, surface, ax, plot_method, (xlabel, ylabel), options)
        if plot_method is not None:
            require_plot(plot_method)
        if options or plot_method is not None:
            came = ", ".join([*options, *(["plot_method"] if plot_method is not None else [])])
            raise TypeError(f"plot takes {came} only if the display has a response; pass them to from_estimator")
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
            self._draw_rows(ax, as_float64(X, "X"), y, palette)
        elif X is not None:
            ax.scatter(*as_float64(X, "X").T, s=12, color="0.2")
        ax.set(xlim=self.xlim, ylim=self.ylim)
        if feature_names is not None:
            self.xlabel, self.ylabel = as_names(feature_names, "feature_names", 2)
        name_axes(ax, (xlabel, ylabel), (self.xlabel, self.ylabel))
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
        labels = as_vector(y, "y")
        if len(labels) != len(X):
            raise ValueError(f"y has {len(labels)} entries and X {len(X)} rows; one label per row is wanted")
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
            ax.legend(loc="best", fontsize="small", frameon=True)

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

    Rows that fulfil a node's condition go to the left.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier, fitted
        Of a TableClassifier, its tree with the texts of its categories is shown.
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
        estimator, fitted_names, texts = reading_of(estimator)
        if isinstance(estimator, type) or not hasattr(estimator, "tree_"):
            raise TypeError(f"estimator is {described(estimator)}; a fitted decision tree is wanted")
        self.estimator = estimator
        self.max_depth = None if max_depth is None else require_integer("max_depth", max_depth, 0)
        names = getattr(estimator, "feature_names_in_", fitted_names) if feature_names is None else feature_names
        d = estimator.n_features_in_
        self.feature_names = [f"x[{j}]" for j in range(d)] if names is None else as_names(names, "feature_names", d)
        classes = getattr(estimator, "classes_", None)
        self.class_names = None
        if classes is not None:
            self.class_names = as_names(classes if class_names is None else class_names, "class_names", len(classes))
        self._conditions = Conditions(estimator, estimator.tree_, self.feature_names, texts, Notation(line_end="\n"))

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
        grid = 1 + max(x for x, _ in place.values()), 1 + max(d for _, d in place.values())
        own, ax = ax is None, axes(ax, (4, 2.5))
        palette = colours(len(self.class_names)) if self.class_names is not None else None
        style = {"ha": "center", "va": "center", "fontsize": "small", "parse_math": False, "zorder": 2}
        drawn = []
        for node, (x, d) in sorted(place.items()):
            inner = int(tree.children_left[node]) in place
            if inner:
                for child, answer in ((tree.children_left[node], "yes"), (tree.children_right[node], "no")):
                    self._draw_edge(ax, (x, -d), place[int(child)], answer if node == 0 else "")
            box = {"boxstyle": "round", "facecolor": self._colour(node, palette), "edgecolor": "0.4"}
            drawn.append((ax.text(x, -d, self._words(node, inner), bbox=box, **style), inner))
        ax.set(xlim=(-0.5, grid[0] - 0.5), ylim=(0.5 - grid[1], 0.5))
        ax.set_axis_off()
        _fit_boxes(ax, drawn, grid, own)
        return finish(self, ax)

    @staticmethod
    def _draw_edge(ax, parent, place, answer):
        """Draw the edge between two nodes; `answer`, "yes", "no" or empty, is written on its outer side."""
        child = place[0], -place[1]
        ax.plot([parent[0], child[0]], [parent[1], child[1]], color="0.5", linewidth=0.9, zorder=0)
        if answer:
            left = child[0] < parent[0]
            middle = (parent[0] + child[0]) / 2, (parent[1] + child[1]) / 2
            beside = {"textcoords": "offset points", "xytext": (-4 if left else 4, 2), "va": "bottom"}
            ax.annotate(answer, middle, ha="right" if left else "left", color="0.4", fontsize="small", **beside)

    def _words(self, node, inner):
        tree = self.estimator.tree_
        value = tree.value[node, 0]
        n = tree.weighted_n_node_samples[node]
        if self.class_names is None:
            answer = f"{value[0]:.4g}"
        else:
            k = int(np.argmax(value))
            answer = f"{self.class_names[k]} {value[k]:.0%}"
        asked = self._conditions.of(node, "{:.6g}".format)[0] + "\n" if inner else ""
        cut = "" if inner or tree.children_left[node] < 0 else " ..."
        return f"{asked}{answer}\n{n:g} row{'' if n == 1 else 's'}{cut}"

    def _colour(self, node, palette):
        if palette is None:
            return "white"
        share = self.estimator.tree_.value[node, 0]
        k = int(np.argmax(share))
        strength = 0.5 * (share[k] - 1 / len(share)) / max(1 - 1 / len(share), 1e-9)
        return tuple(1 - strength * (1 - np.array(palette[k])))


# The largest widths of the boxes of a leaf and of an inner node, where the distance of two leaves is 1, and the largest
# height of a box, where the distance of two levels of the tree is 1. On a level, two inner nodes are at least 2 apart,
# an inner node and a leaf 1.5: boxes do not overlap, and edges pass between them.
_LEAF_WIDTH, _INNER_WIDTH, _BOX_HEIGHT = 0.92, 1.85, 0.66

_MOST_INCHES = 40, 30


def _fit_boxes(ax, drawn, grid, own):
    """Make the figure large enough for the boxes, if it is `own`, and otherwise the text small enough.

    drawn: a list of (text, whether it is an inner node); grid: the numbers of columns and rows.
    """
    ax.figure.draw_without_rendering()
    widths, heights = [], []
    for text, inner in drawn:
        extent = text.get_bbox_patch().get_window_extent()
        widths.append(extent.width / (_INNER_WIDTH if inner else _LEAF_WIDTH))
        heights.append(extent.height / _BOX_HEIGHT)
    wanted = grid[0] * max(widths), grid[1] * max(heights)
    if own:
        # the margins around the tree take 0.2 inches
        inches = [side / ax.figure.dpi + 0.2 for side in wanted]
        ax.figure.set_size_inches(*(min(side, most) for side, most in zip(inches, _MOST_INCHES)))
        ax.figure.draw_without_rendering()
    window = ax.get_window_extent()
    scale = min(window.width / wanted[0], window.height / wanted[1])
    if scale < 1:
        for text in ax.texts:
            text.set_fontsize(text.get_fontsize() * scale)
