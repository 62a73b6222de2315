"""A tree drawn with matplotlib, as scikit-learn labels it."""

from itertools import pairwise

from .._validation import described, require_number, require_truth
from .node_text import NodeText, drawn_nodes


def plot_tree(
    decision_tree,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rounded=False,
    precision=3,
    ax=None,
    fontsize=None,
):
    """Draw the tree with matplotlib; rows that fulfil a node's condition go left.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier
        One of scikit-learn's is taken too. Of a TableClassifier, its tree with the texts of its categories is shown.
    max_depth : int >= 0, default=None
        Nodes that are deeper are drawn as (...); None: all are drawn.
    feature_names : sequence of str, default=None
        None: the fitted names, or x[0] and so on.
    class_names : sequence of str or bool, default=None
        Names of the classes of a single output; True: y[0] and so on; None: the class is not shown.
    label : {'all', 'root', 'none'}, default='all'
        The nodes in which each number has its name in front: all of them, the root only, or none.
    filled : bool, default=False
        Colour the nodes: for labels by the class, stronger for purer nodes; for numbers stronger for larger ones.
    impurity, node_ids : bool
        Show the impurity (default), and the number of each node.
    proportion : bool, default=False
        Show proportions in place of the weights of the classes and of the numbers of samples.
    rounded : bool, default=False
        Round the corners.
    precision : int >= 0, default=3
        Number of digits after the decimal point.
    ax : matplotlib axes, default=None
        None: matplotlib's current axes. The axes are cleared.
    fontsize : float, default=None
        None: the largest size with which the boxes do not overlap.

    Returns
    -------
    texts : list of matplotlib.text.Annotation
        The annotations of the nodes in pre-order; after each child of the root the label "True" or "False" of its edge.
    """
    options = {
        "feature_names": feature_names,
        "class_names": class_names,
        "label": label,
        "impurity": impurity,
        "node_ids": node_ids,
        "proportion": proportion,
        "precision": precision,
    }
    texts = NodeText(decision_tree, options)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.gca()
    elif not hasattr(ax, "get_figure"):
        raise TypeError(f"ax is {described(ax)}; axes of matplotlib are wanted")
    ax.clear()
    ax.set_axis_off()
    style = {} if fontsize is None else {"fontsize": require_number("fontsize", fontsize, 0, True, finite=True)}
    box = {"boxstyle": "round"} if require_truth("rounded", rounded) else {}
    made = _drawn(ax, texts, max_depth, require_truth("filled", filled), box, style)
    if fontsize is None:
        _fit_text(ax, made, *_grid(texts.tree, max_depth)[1])
    return [text for text, _ in made]


def _grid(tree, max_depth):
    """A pair: {node: (x, depth)}, where x is midway between the node's drawn children; the grid's (columns, rows)."""
    place, ends = {}, 0
    nodes = list(drawn_nodes(tree, max_depth))
    drawn = {node for node, _, _ in nodes}
    for node, _, depth in nodes:
        if int(tree.children_left[node]) not in drawn:
            place[node] = (ends, depth)
            ends += 1
    for node, _, depth in reversed(nodes):
        if node not in place:
            left, right = (place[int(child[node])] for child in (tree.children_left, tree.children_right))
            place[node] = ((left[0] + right[0]) / 2, depth)
    return place, (ends, 1 + max(depth for _, _, depth in nodes))


def _drawn(ax, texts, max_depth, filled, box, style):
    """Draw the nodes into the axes; returns a list of (annotation, whether it is a node)."""
    tree, made = texts.tree, []
    place, (columns, rows) = _grid(tree, max_depth)
    at = {node: ((x + 0.5) / columns, 1 - (depth + 0.5) / rows) for node, (x, depth) in place.items()}
    from matplotlib import rcParams

    arrow = {"arrowstyle": "<-", "edgecolor": rcParams["text.color"]}
    for node, parent, depth in drawn_nodes(tree, max_depth):
        hidden = max_depth is not None and depth > max_depth
        colour = "grey" if hidden else texts.colour(node) if filled else ax.get_facecolor()
        common = {"xycoords": "axes fraction", "zorder": 100 - 10 * depth, "parse_math": False, **style}
        centred = {"ha": "center", "va": "center", "bbox": box | {"fc": colour}, "arrowprops": arrow, **common}
        text = "\n  (...)  \n" if hidden else texts.of(node)
        where = (at[node],) if parent is None else (at[parent], at[node])
        made.append((ax.annotate(text, *where, **centred), True))
        if parent == 0 and not hidden:
            left = node == tree.children_left[0]
            middle = tuple((a + b) / 2 for a, b in zip(at[0], at[node]))
            said = ax.annotate("True  " if left else "  False", middle, ha="right" if left else "left", **common)
            made.append((said, False))
    return made


def _fit_text(ax, made, columns, rows):
    """Set all text to the largest size at which no box is wider or higher than its cell of the grid."""
    ax.figure.draw_without_rendering()
    window = ax.get_window_extent()
    extents = {text: text.get_bbox_patch().get_window_extent() for text, is_node in made if is_node}
    width, height = (max(getattr(extent, side) for extent in extents.values()) for side in ("width", "height"))
    scale = min(window.width / columns / width, window.height / rows / height)
    for text, _ in made:
        text.set_fontsize(text.get_fontsize() * scale)
    root = made[0][0]
    for (child, _), (label, is_node) in pairwise(made):
        # the label of the edge to `child` is moved to the middle of the gap between the boxes of the two nodes
        if not is_node:
            (x0, y0), (x1, y1) = root.get_position(), child.get_position()
            uneven = (extents[root].height - extents[child].height) * scale / window.height / 4
            y = (y0 + y1) / 2 - uneven
            label.xy = x0 + (x1 - x0) * (y0 - y) / (y0 - y1), y
            label.set_position(label.xy)
