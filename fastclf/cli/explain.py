"""The command `fastclf explain`: a description of a fitted model in words."""

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np

from .._dates import date_text
from ..table import TableClassifier
from .files import RequestError
from .options import add_running, command, open_saved, show
from .pictures import add_picture, check_picture, save_picture


def register(commands):
    parser = command(
        commands,
        "explain",
        run,
        help="say in words what a model has learned",
        description="Print what a model has learned: the rules of a tree, the weights of a linear model, the"
        " distributions of naive Bayes, the support vectors of a support vector machine, what a"
        " nearest-neighbour vote compares with.",
        examples=["fastclf explain model", "fastclf explain model --top 5", "fastclf explain model --json"],
        tables=False,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file that train or fastclf.save has written")
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="show at most N rules, weights, ... of a kind (default: 20)"
    )
    add_picture(parser, "a tree")
    add_running(parser, progress=False)


def run(args):
    check_picture(args.picture)
    saved = open_saved(args.model, "predict", "a model that predicts")
    if args.picture is not None:
        _draw(saved, args)
    record = {"file": str(args.model)} | describe(saved, args.top)
    show(args, record, "\n".join(record["text"]))


def _draw(saved, args):
    from ..display import TreeDisplay

    model = getattr(saved, "model_", saved)
    if not hasattr(model, "tree_"):
        raise RequestError(f"--picture is given with a {type(model).__name__}; a tree is wanted")
    save_picture(TreeDisplay(saved, max_depth=min(model.get_depth(), 5)), args.picture)


def describe(saved, top):
    """A description of a fitted estimator: a dict with the lines `text`, and their content as data."""
    model, names, categories = saved, None, None
    lines = []
    if isinstance(saved, TableClassifier):
        model, names, categories = saved.model_, saved.get_feature_names_out(), saved.categories_
        if hasattr(model, "tree_"):
            categories = saved._reading_of_tree()[2]
        shown = f"{saved.target!r}" if saved.target else "the label"
        lines.append(f"{model!r} predicts {shown}: {_list(saved.classes_)}")
        lines += _reading(saved)
    else:
        names = getattr(saved, "feature_names_in_", None)
        lines.append(f"{model!r}")
        if hasattr(model, "classes_"):
            lines[0] += f" predicts {_list(model.classes_)}"
    names = [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)
    if hasattr(model, "feature_map_"):
        names = _mapped_names(model.feature_map_, names)
        lines.append(f"features: {model.feature_map_!r} makes {len(names)} of them")
        model = model.model_
    record = {"model": repr(model)}
    if hasattr(model, "classes_") and not isinstance(model.classes_, list):
        record["classes"] = model.classes_
    for has, explain in _KINDS:
        if has(model):
            content, more = explain(model, names, top, categories)
            return record | content | {"text": lines + more}
    return record | {"text": [*lines, f"no description is available for a {type(model).__name__}"]}


def _list(values):
    values = [str(value) for value in values]
    return ", ".join(values[:12]) + (f" and {len(values) - 12} more" if len(values) > 12 else "")


def _reading(saved):
    """Lines of text that tell how a TableClassifier reads a table: known categories, and whether numbers are scaled."""
    names = list(getattr(saved, "feature_names_in_", [f"x{j}" for j in range(saved.n_features_in_)]))
    lines = []
    for name, known in zip(names, saved.categories_):
        if known is not None:
            lines.append(f"  {name} is one of {_list(known)}")
    if saved.shifted_:
        lines.append("  numbers are taken as (value - mean) / standard deviation of the training rows")
    return lines


def _mapped_names(feature_map, names):
    try:
        return list(feature_map.get_feature_names_out(names))
    except (TypeError, ValueError, AttributeError):
        return list(feature_map.get_feature_names_out())


def _more(count, top, what):
    return [f"  ... and {count - top} more {what} (--top {count} shows all)"] if count > top else []


def _tree(model, names, top, categories):
    from ..tree.text import conditions_told, rules

    known = categories if categories is not None and len(categories) == len(names) else [None] * len(names)
    dates = {name for name, texts in zip(names, known) if isinstance(texts, str)}

    def told(name, side, bound):
        return f"{name} {side} {date_text(bound)}" if name in dates else _condition(name, side, bound)

    found = sorted(rules(model), key=lambda rule: -rule["n_samples"])
    lines = [f"{model.get_n_leaves()} rules, {model.get_depth()} conditions at most, rules for most rows first:"]
    texts = []
    for rule in found:
        rule["conditions"] = [(j, side, _bound(side, bound, known[j])) for j, side, bound in rule["conditions"]]
        conditions = conditions_told(rule, names, model.features_with_missing_, told)
        rule["conditions"] = [(names[j], side, bound) for j, side, bound in rule["conditions"]]
        share = "" if rule["share"] is None else f", {rule['share']:.1%} of them {rule['prediction']}"
        text = f"IF {' AND '.join(conditions) or 'anything'} THEN {rule['prediction']}"
        texts.append(f"  {text}   ({rule['n_samples']} training rows{share})")
        rule["text"] = text
    weights = model.feature_importances_
    order = [j for j in np.argsort(-weights, kind="stable")[:top] if weights[j] > 0]
    used = ["share of the total gain by column:", *(f"  {weights[j]:6.1%}  {names[j]}" for j in order)] if order else []
    content = {"rules": found, "importances": {names[j]: weights[j] for j in order}}
    return content, [*lines, *texts[:top], *_more(len(texts), top, "rules"), *used]


def _bound(side, bound, known):
    """The threshold or the set of categories in a condition; codes of categories are replaced by texts in `known`."""
    return [known[int(code)] if known else code for code in bound] if side in ("in", "not in") else bound


def _condition(name, side, bound):
    if side in ("in", "not in"):
        return f"{name} {side} {{{_list(bound)}}}"
    # the column named "column = category" has 1 for this category and 0 for others
    if " = " in name and 0 <= bound < 1:
        return name if side == ">" else name.replace(" = ", " is not ", 1)
    return f"{name} {side} {bound:.6g}"


def _linear(model, names, top, categories):
    coef = np.atleast_2d(model.coef_)
    intercept = np.broadcast_to(np.atleast_1d(model.intercept_), len(coef))
    classes = model.classes_
    two = len(coef) == 1
    lines, content = [], {}
    for i, (weights, bias) in enumerate(zip(coef, intercept)):
        label = str(classes[1] if two else classes[i])
        if two:
            lines.append(f"score = sum of weight * column; {classes[1]} where it is above 0, else {classes[0]}")
        else:
            lines.append(f"score of {label} (the class with the largest is predicted):")
        # of the models with coef_, only a support vector machine, which also has C_, may have a margin per hyperplane
        margin = model.margin_[i] if hasattr(model, "C_") and len(model.margin_) == len(coef) else None
        lines += _plane(weights, bias, margin, names, top)
        content[label] = {"constant": bias, "weights": dict(zip(names, weights))}
        content[label] |= {} if margin is None else {"margin": margin}
    return {"scores": content}, lines


def _neighbors(model, names, top, categories):
    n, k = model.n_samples_fit_, model.n_neighbors
    kind = "every vote counts the same" if model.weights == "uniform" else f"votes have the weights {model.weights!r}"
    line = f"a new row takes the label of the {k} nearest of {n} training rows ({model.effective_metric_}); {kind}"
    return {"n_rows": n, "n_neighbors": k, "metric": model.effective_metric_}, [line]


def _centroids(model, names, top, categories):
    lines, content = ["the class whose centre is nearest; the columns in which the centres differ most:"], {}
    centres = model.centroids_
    order = np.argsort(-np.ptp(centres, axis=0), kind="stable")
    width = max((len(names[j]) for j in order[:top]), default=0)
    lines.append(f"  {''.ljust(width)}  " + "  ".join(f"{str(label)[:12]:>12}" for label in model.classes_))
    lines += [
        f"  {names[j].ljust(width)}  " + "  ".join(f"{value:12.5g}" for value in centres[:, j]) for j in order[:top]
    ]
    for label, centre in zip(model.classes_, centres):
        content[str(label)] = dict(zip(names, centre))
    return {"centres": content}, [*lines, *_more(len(names), top, "columns")]


def _bayes(model, names, top, categories):
    lines = [_shares(model)]
    content = {}
    known = categories or [None] * len(names)
    for places, state in zip(model.factors_, model.statistics_):
        kind, texts = model.distributions_[places[0]], known[places[0]]
        name = ", ".join(names[j] for j in places)
        content[name] = {"distribution": kind} | {key: value for key, value in state.items() if key != "atoms"}
        if len(content) > top:
            continue
        lines.append(f"{name} ({kind})")
        for k, label in enumerate(model.classes_):
            lines.append(f"  {label}: {_distribution(state, k, texts)}")
    return {"prior": model.class_prior_, "columns": content}, [*lines, *_more(len(content), top, "columns")]


def _shares(model):
    shares = zip(model.classes_, model.class_prior_)
    return "share of each class: " + ", ".join(f"{label} {share:.1%}" for label, share in shares)


def _distribution(state, k, texts):
    """One class's distribution of one column, in words."""
    if "squares" in state:
        deviation = np.sqrt(state["squares"][k] / max(state["count"][k], 1e-300))
        return f"mean {state['mean'][k]:.5g}, standard deviation {deviation:.5g}"
    if "sum" in state:
        return f"mean {state['sum'][k] / max(state['count'][k], 1e-300):.5g}"
    if "cells" in state:
        counts = state["counts"][k]
        likely = [j for j in np.argsort(-counts, kind="stable")[:5] if counts[j] > 0]
        named = _bins(state["cells"]) if len(state["cells"]) != len(counts) else state["cells"]
        named = [texts[int(code)] for code in named] if texts else named
        return ", ".join(f"{named[j]} {counts[j] / counts.sum():.1%}" for j in likely)
    if "atoms" in state:
        return f"{np.count_nonzero(state['counts'][k])} different values, each spread a little"
    return ", ".join(f"{key} {np.asarray(value)[k].tolist()}" for key, value in state.items() if np.ndim(value))


def _bins(edges):
    """Conditions for the bins between cuts, in words; the first and the last bin are unbounded."""
    cuts = [f"{cut:.5g}" for cut in edges[1:-1]]
    if not cuts:
        return ["anything"]
    return [f"x < {cuts[0]}", *(f"{low} <= x < {high}" for low, high in pairwise(cuts)), f"x >= {cuts[-1]}"]


def _gaussian(model, names, top, categories):
    deviation = np.sqrt(model.var_)
    lines = [_shares(model)]
    for j in range(min(top, len(names))):
        pairs = zip(model.classes_, model.theta_[:, j], deviation[:, j])
        lines.append(f"{names[j]}: " + "; ".join(f"{label} mean {m:.5g}, sd {s:.5g}" for label, m, s in pairs))
    return {"mean": model.theta_, "variance": model.var_}, [*lines, *_more(len(names), top, "columns")]


def _support_vectors(model, names, top, categories):
    counts = ", ".join(f"{n} of {label}" for n, label in zip(model.n_support_, model.classes_))
    n = len(model.support_)
    softness = f"C = {np.max(model.C_):g}" if hasattr(model, "C") else f"nu = {model.nu:g}"
    lines = [f"{n} training rows, the support vectors, decide: {counts}; kernel {model.kernel!r}, {softness}"]
    coef = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    weight = np.abs(coef).max(axis=0)
    bound = _count_at_bound(model, coef)
    limit = "C" if hasattr(model, "C") else "of their weights"
    where = "inside the margin or on its wrong side; the others are on it"
    lines.append(f"{bound} of them are at the bound {limit}: {where}")
    order = np.argsort(-weight, kind="stable")[:top]
    lines.append("those with the largest weights (training rows are numbered from 0):")
    vectors = [np.asarray(model.support_vectors_[i]).ravel() for i in order]
    shown = min(len(names), 6)
    for i, vector in zip(order, vectors):
        values = ", ".join(f"{names[j]} {vector[j]:.4g}" for j in range(shown))
        values += ", ..." if len(names) > shown else ""
        lines.append(f"  row {model.support_[i]}, weight {weight[i]:.4g}: {values}")
    content = {"support": model.support_, "n_support": model.n_support_, "at_bound": bound}
    content |= {"dual_coef": coef, "intercept": model.intercept_}
    if model.kernel == "linear" and not hasattr(model.coef_, "toarray"):
        plane, plane_lines = (_linear if len(model.classes_) == 2 else _planes)(model, names, top, categories)
        content, lines = content | plane, [*plane_lines, *lines]
    return content, [*lines, *_more(n, top, "support vectors")]


def _count_at_bound(model, coef):
    """The number of support vectors whose dual coefficient is at its upper bound for some pair of classes."""
    ends = np.cumsum([0, *model.n_support_])
    at_bound = np.zeros(ends[-1], bool)
    for p, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        for own, other in ((i, j), (j, i)):
            rows = slice(ends[own], ends[own + 1])
            most = model.C_[p] * model.class_weight_[own]
            at_bound[rows] |= np.abs(coef[other - (other > own), rows]) >= most * (1 - 1e-9)
    return int(at_bound.sum())


def _planes(model, names, top, categories):
    """(content of the JSON, lines of text): a description of the hyperplane of each pair of classes."""
    lines, content = [f"a vote of {len(model.coef_)} pairs of classes; the class with the most votes is predicted:"], {}
    pairs = combinations(model.classes_, 2)
    for (one, other), weights, bias, margin in zip(pairs, model.coef_, model.intercept_, model.margin_):
        lines.append(f"{one} against {other}: score = sum of weight * column; {one} where it is above 0, else {other}")
        lines += _plane(weights, bias, margin, names, top)
        named = {"constant": bias, "weights": dict(zip(names, weights)), "margin": margin}
        content[f"{one} against {other}"] = named
    return {"scores": content}, lines


def _plane(weights, bias, margin, names, top):
    """Lines of text about a hyperplane: its largest weights, its constant and, unless it is None, its margin."""
    order = np.argsort(-np.abs(weights), kind="stable")
    lines = [f"  {weights[j]:+12.5g}  {names[j]}" for j in order[:top] if weights[j] != 0]
    lines += _more(np.count_nonzero(weights), top, "weights")
    lines.append(f"  {bias:+12.5g}  (the constant)")
    return lines + ([] if margin is None else [f"  {margin:12.5g}  (the margin, 1 over the length of the weights)"])


# Pairs (test of a model, function that explains models of this kind); the first test that is true decides.
_KINDS = [
    (lambda model: hasattr(model, "tree_"), _tree),
    (lambda model: hasattr(model, "dual_coef_") and hasattr(model, "support_"), _support_vectors),
    (lambda model: hasattr(model, "centroids_"), _centroids),
    (lambda model: hasattr(model, "coef_"), _linear),
    (lambda model: hasattr(model, "kneighbors"), _neighbors),
    (lambda model: hasattr(model, "statistics_"), _bayes),
    (lambda model: hasattr(model, "theta_"), _gaussian),
]
