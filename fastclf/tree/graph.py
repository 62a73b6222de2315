"""A tree as a graph in Graphviz' dot language, as scikit-learn writes it."""

import html

from .._validation import as_list, as_path, require_truth
from .node_text import Marks, NodeText, drawn_nodes

_DOT = Marks("#", "[", "]", "<=", "\\n", '"', '"')
_HTML = Marks("&#35;", "<SUB>", "</SUB>", "&le;", "<br/>", "<", ">")


def export_graphviz(
    decision_tree,
    out_file=None,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    leaves_parallel=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rotate=False,
    rounded=False,
    special_characters=False,
    precision=3,
    fontname="helvetica",
):
    """The tree as a graph in Graphviz' dot language, in scikit-learn's format.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor or TableClassifier
        One of scikit-learn's is taken too. Of a TableClassifier, its tree with the texts of its categories is shown.
    out_file : str, path-like or object with `write`, default=None
        Where the graph is written; None: it is returned.
    max_depth : int >= 0, default=None
        Nodes that are deeper are shown as (...); None: all are shown.
    feature_names : sequence of str, default=None
        None: the fitted names, or x[0] and so on.
    class_names : sequence of str or bool, default=None
        Names of the classes of a single output; True: y[0] and so on; None: the class is not shown.
    label : {'all', 'root', 'none'}, default='all'
        The nodes in which each number has its name in front: all of them, the root only, or none.
    filled : bool, default=False
        Colour the nodes: for labels by the class, stronger for purer nodes; for numbers stronger for larger ones.
    leaves_parallel : bool, default=False
        Draw all leaves at the bottom.
    impurity, node_ids : bool
        Show the impurity (default), and the number of each node.
    proportion : bool, default=False
        Show proportions in place of the weights of the classes and of the numbers of samples.
    rotate, rounded : bool, default=False
        Draw from left to right; round the corners.
    special_characters : bool, default=False
        Write an HTML label: special characters as entities, indices as subscripts.
    precision : int >= 0, default=3
        Number of digits after the decimal point.
    fontname : str, default='helvetica'

    Returns
    -------
    dot : str or None
        The graph, where out_file is None.

    Examples
    --------
    >>> from fastclf.tree import DecisionTreeClassifier, export_graphviz
    >>> print(export_graphviz(DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"]), class_names=True))
    digraph Tree {
    node [shape=box, fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="x[0] <= 1.5\\ngini = 0.5\\nsamples = 2\\nvalue = [1, 1]\\nclass = y[0]"] ;
    1 [label="gini = 0.0\\nsamples = 1\\nvalue = [1, 0]\\nclass = y[0]"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="gini = 0.0\\nsamples = 1\\nvalue = [0, 1]\\nclass = y[1]"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
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
    if feature_names is not None:
        feature_names = as_list(feature_names, "feature_names")
        if not all(isinstance(name, str) for name in feature_names):
            raise ValueError("All feature names must be strings.")
    form = (_HTML, _html) if require_truth("special_characters", special_characters) else (_DOT, _quoted)
    texts = NodeText(decision_tree, options, *form)
    filled, rounded = require_truth("filled", filled), require_truth("rounded", rounded)
    style = ", ".join(["filled"] * filled + ["rounded"] * rounded)
    style = f', style="{style}", color="black"' if style else ""
    leaves_parallel, rotate = require_truth("leaves_parallel", leaves_parallel), require_truth("rotate", rotate)
    lines = ["digraph Tree {", f'node [shape=box{style}, fontname="{fontname}"] ;']
    lines += ["graph [ranksep=equally, splines=polyline] ;"] * leaves_parallel
    lines += [f'edge [fontname="{fontname}"] ;', *["rankdir=LR ;"] * rotate]
    lines += _nodes(texts, max_depth, filled, -1 if rotate else 1)
    if leaves_parallel:
        lines += _ranks(texts.tree, max_depth)
    dot = "\n".join([*lines, "}"])
    if out_file is None:
        return dot
    if hasattr(out_file, "write"):
        out_file.write(dot)
    else:
        as_path(out_file, "out_file").write_text(dot, encoding="utf-8")
    return None


def _quoted(name):
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _html(name):
    return html.escape(name, quote=False)


def _nodes(texts, max_depth, filled, turn):
    """The lines of DOT for nodes and edges; turn: the sign of labels' angles, -1 if the root is on the left."""
    tree = texts.tree
    for node, parent, depth in drawn_nodes(tree, max_depth):
        hidden = max_depth is not None and depth > max_depth
        text = '"(...)"' if hidden else texts.of(node)
        fill = f', fillcolor="{"#C0C0C0" if hidden else texts.colour(node)}"' if filled else ""
        yield f"{node} [label={text}{fill}] ;"
        if parent is not None:
            told = ""
            if parent == 0 and not hidden:
                left = node == tree.children_left[0]
                told = f' [labeldistance=2.5, labelangle={turn * (45 if left else -45)}, headlabel="{left}"]'
            yield f"{parent} -> {node}{told} ;"


def _ranks(tree, max_depth):
    """Lines that put nodes of equal depth into one rank, and all leaves and truncated nodes into another."""
    ranks = {}
    for node, _, depth in drawn_nodes(tree, max_depth):
        end = tree.children_left[node] < 0 or (max_depth is not None and depth > max_depth)
        ranks.setdefault("leaves" if end else str(depth), []).append(str(node))
    return [f"{{rank=same ; {'; '.join(ranks[rank])}}} ;" for rank in sorted(ranks)]
