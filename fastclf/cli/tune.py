"""The command `fastclf tune`: the choice of parameters by cross-validation."""

from pathlib import Path

import numpy as np

import fastclf

from .._estimator import clone
from .files import RequestError, blame
from .methods import add_method, make, require_values, set_parameters
from .options import Data, add_data, add_folds, add_running, check_out, command, folds, parse_value, show, table_text
from .pictures import add_picture, check_picture, save_picture

# The default grid of each method: the values to try for its parameters. The grid of a tree follows from its pruning
# path.
_GRIDS = {
    "KNeighborsClassifier": ["n_neighbors=1:50"],
    "NearestCentroid": ["shrink_threshold=None,0.1,0.2,0.5,1,2,5,10"],
    "LeastSquaresClassifier": ["alpha=0,0.001:10000:15"],
    "Perceptron": ["average=none,averaged,voted,pocket"],
    "LogisticRegression": ["C=0.001:1000:13"],
    "LinearSVC": ["C=0.001:1000:13"],
    "SVC": ["C=0.03125:512:15"],
    "NaiveBayes": ["distributions=gaussian,quantile,mdl,kernel"],
    "DecisionTreeClassifier": [],
}
_ALPHAS = 30


def register(commands):
    parser = command(
        commands,
        "tune",
        run,
        help="choose parameters of a method by cross-validation",
        description="Try values of parameters on the same folds of DATA. The smallest error of many is too optimistic,"
        " because it was selected; --outer 5 repeats the whole choice on 5 outer folds, whose error is unbiased.",
        examples=[
            "fastclf tune data.csv --model knn",
            "fastclf tune data.csv --model svm --grid C=0.1:1000:9 --grid gamma=0.01,0.1,1 --outer 5",
            "fastclf tune data.csv --model tree --rule one-standard-error --out model",
        ],
    )
    add_data(parser)
    add_method(parser)
    parser.add_argument(
        "--grid", action="append", default=[], metavar="NAME=VALUES",
        help="values with commas between, 1:50 for whole numbers, 0.01:100:9 for nine with equal ratios; may be given "
        "again, for all combinations (default: values that suit the method)",
    )  # fmt: skip
    add_folds(parser)
    parser.add_argument(
        "--rule", choices=["best", "one-standard-error"], default="best",
        help="take the best, or the simplest that is at most one standard error worse (default: best)",
    )  # fmt: skip
    parser.add_argument("--outer", type=int, metavar="N", help="number of outer folds, for an unbiased error")
    add_picture(parser, "the error by a parameter, of which there is one")
    parser.add_argument("--out", type=Path, metavar="MODEL", help="train the choice on all rows, into this file")
    add_running(parser)


def run(args):
    if args.out is not None:
        check_out(args.out)
    check_picture(args.picture)
    model = make(args.model, args.set, args.n_jobs)
    _require_grid(args, model)
    data = Data(args)
    data.require_classes()
    # with error_score, a combination of parameters that cannot be fitted becomes a row of the table, not an error
    how = folds(args, data) | {"error_score": np.nan}
    if args.outer is not None and not 2 <= args.outer <= len(data.y):
        raise RequestError(f"--outer is {args.outer}; 2 to {len(data.y)} folds are wanted")
    classifier = data.classifier(model)
    grid = _grid(args, model, classifier, data)
    if args.picture is not None and len(grid) != 1:
        raise RequestError(f"--picture is given with {len(grid)} parameters; one is wanted for a curve")
    prefix = "" if classifier is model else "model__"
    with blame(data.name):
        found = fastclf.tune(
            classifier, {prefix + name: values for name, values in grid.items()}, data.X, data.y, **how,
            rule=args.rule.replace("-", "_"), outer=args.outer, refit=False, n_jobs=args.n_jobs,
            verbose=int(not args.quiet),
        )  # fmt: skip
    found.params = params = [
        {name.removeprefix(prefix): value for name, value in combination.items()} for combination in found.params
    ]
    chosen = params[found.chosen_index]
    record = {
        "model": repr(model),
        "params": params,
        "error": 1 - found.mean_score,
        "standard_error": found.standard_error,
        "best": params[found.best_index],
        "one_standard_error": params[found.one_standard_error_index],
        "chosen": chosen,
    }
    lines = [_table(found, params), "", *_verdict(found, params)]
    if found.outer is not None:
        outer = found.outer
        record |= {"outer_error": outer.error, "outer_standard_error": outer.standard_error}
        record["outer_params"] = [
            {n.removeprefix(prefix): v for n, v in combination.items()} for combination in found.outer_params
        ]
        lines.append(f"unbiased error of the whole choice, on {args.outer} outer folds: {_error(outer)}")
    if found.interrupted:
        record["interrupted"] = True
        lines.append("interrupted: these are the figures of the folds that were finished")
    if args.out is not None and not found.interrupted:
        with blame(data.name):
            trained = data.table_classifier(clone(model).set_params(**chosen)).fit(data.X, data.y)
        with blame(args.out):
            fastclf.save(trained, args.out)
        record["file"] = str(args.out)
        lines.append(f"trained on all {len(data.y)} rows with {_text(chosen)}; written to {args.out}")
    if args.picture is not None:
        from ..display import ValidationCurveDisplay

        save_picture(ValidationCurveDisplay(found), args.picture)
    show(args, record, "\n".join(lines))
    return not found.interrupted


def _grid(args, model, classifier, data):
    """A dict {parameter: list of values}, from --grid or the default grid."""
    return _parsed(_entries(args, model)) or {"ccp_alpha": _alphas(classifier, data)}


def _entries(args, model):
    """The texts NAME=VALUES of --grid or of the default grid; none for a tree without --grid."""
    given = args.grid or _GRIDS.get(type(model).__name__)
    if given is None:
        raise RequestError(f"--grid is wanted for {args.model}, such as --grid alpha=0.1,1,10")
    return given


def _parsed(entries):
    """A dict {parameter: list of values}, from texts NAME=VALUES."""
    grid = {}
    for entry in entries:
        name, equals, values = entry.partition("=")
        if not (name and equals and values):
            raise RequestError(f"--grid is {entry!r}; NAME=VALUES is wanted, such as C=0.1,1,10 or n_neighbors=1:50")
        grid[name.strip()] = [value for part in _split(values) for value in _values(part.strip(), entry)]
    return grid


def _require_grid(args, model):
    """Refuse, before the data are read, a parameter that the method lacks or of which every value is wrong."""
    _entries(args, model)
    for name, values in _parsed(args.grid).items():
        refusals = []
        for value in values:
            tried = clone(model)
            try:
                set_parameters(tried, {name: value}, args.model)
                require_values(tried, {name: value}, args.model)
                break
            except RequestError as error:
                refusals.append(error)
        if len(refusals) == len(values):
            raise refusals[0]


def _split(values):
    """Split a text at the commas that are outside of brackets."""
    depth, parts = 0, [""]
    for mark in values:
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return parts


def _values(text, entry):
    """The values that a text "a", "a:b" or "a:b:n" in --grid stands for."""
    bounds = [parse_value(part) for part in text.split(":")] if ":" in text and text[0] not in "{['\"" else None
    if bounds is None:
        return [parse_value(text)]
    if len(bounds) == 2 and all(type(bound) is int for bound in bounds) and bounds[0] <= bounds[1]:
        return list(range(bounds[0], bounds[1] + 1))
    if len(bounds) == 3 and all(type(bound) in (int, float) for bound in bounds):
        low, high, n = bounds
        if 0 < low < high < np.inf and type(n) is int and n >= 2:
            return [float(f"{value:.6g}") for value in np.geomspace(low, high, n)]
    raise RequestError(
        f"--grid {entry!r}: {text!r} is no range; 1:50 (whole numbers) or 0.01:100:9 (from, to, how many) is wanted"
    )


def _alphas(classifier, data):
    """At most 30 values of ccp_alpha, each of which prunes the tree of all rows to a different subtree."""
    tree = classifier
    X = data.X
    if hasattr(classifier, "model"):
        fitted = clone(classifier).fit(data.X, data.y)
        tree, X = fitted.model_, fitted.features(data.X)
    alphas = tree.cost_complexity_pruning_path(X, data.y).ccp_alphas
    between = np.unique(np.sqrt(alphas[:-1] * alphas[1:]))
    if len(between) > _ALPHAS - 1:
        between = between[np.unique(np.linspace(0, len(between) - 1, _ALPHAS - 1).astype(int))]
    return [0.0, *(float(f"{alpha:.6g}") for alpha in between if alpha > 0)]


def _error(result):
    return f"{result.error:.2%}, standard error {result.standard_error:.2%}"


def _share(value):
    return "not fitted" if np.isnan(value) else f"{value:.2%}"


def _text(params):
    shown = {name: f"{value:.6g}" if type(value) is float else value for name, value in params.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _table(found, params):
    """A line for each combination, in the order tried; only the best ones if there are more than 60."""
    order = range(len(params))
    if len(params) > 60:
        order = sorted(np.argsort(-found.mean_score, kind="stable")[:60])
    marks = {found.one_standard_error_index: "simplest within one standard error", found.best_index: "best"}
    if found.best_index == found.one_standard_error_index:
        marks = {found.best_index: "best, and simplest within one standard error"}
    lines = [
        (_text(params[i]), _share(1 - found.mean_score[i]), _share(found.standard_error[i]), marks.get(i, ""))
        for i in order
    ]
    return table_text(("parameters", "error", "std. error", ""), lines, left=(0, 3))


def _verdict(found, params):
    i = found.chosen_index
    spread = found.standard_error[i]
    return [f"chosen: {_text(params[i])}, error {1 - found.mean_score[i]:.2%}, standard error {spread:.2%}"]
