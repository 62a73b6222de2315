"""The command `fastclf evaluate`: how often a method is wrong on new rows."""

from pathlib import Path

import numpy as np

import fastclf

from .files import RequestError, blame
from .methods import add_method, make
from .options import Data, add_data, add_folds, add_running, command, folds, open_saved, show
from .pictures import add_picture, check_picture, save_picture
from .report import Report, read_costs


def register(commands):
    parser = command(
        commands,
        "evaluate",
        run,
        help="estimate how often a method is wrong on rows that it has not seen",
        description="Estimate by cross-validation how often a method is wrong on new rows: DATA is dealt out to"
        " N folds,"
        " and each fold is predicted by a model of the others. Or try a method, or a trained model, on a file"
        " of test rows.",
        examples=[
            "fastclf evaluate data.csv --model tree --cv 10 --repeat 3 --cost cost.csv",
            "fastclf evaluate data.csv --model knn --set n_neighbors=1 --cv loo",
            "fastclf evaluate train.csv --model bayes --test test.csv",
            "fastclf evaluate test.csv --model FILE     where FILE is what train has written",
        ],
    )
    add_data(parser)
    add_method(parser)
    add_folds(parser)
    add_picture(parser, "the table of true and predicted labels")
    parser.add_argument("--test", type=Path, metavar="FILE", help="learn from DATA, and count errors on these rows")
    parser.add_argument(
        "--cost", type=Path, metavar="FILE",
        help="a .csv with what each mistake costs: a line for each true class, a column for each predicted one, in "
        "sorted order, or named by a first line and column; decisions of least expected cost are then judged too",
    )  # fmt: skip
    add_running(parser)


def run(args):
    check_picture(args.picture)
    trained = Path(args.model).is_file()
    if trained:
        report = _try_trained(args)
    else:
        model = make(args.model, args.set, args.n_jobs)
        data = Data(args)
        data.require_classes()
        costs = None if args.cost is None else read_costs(args.cost, np.unique(data.y))
        if costs is not None and not hasattr(model, "predict_proba"):
            raise RequestError(
                f"--cost: {args.model} has no probabilities to decide by; choose a method with predict_proba"
            )
        report = (_cross_validated if args.test is None else _tested)(args, model, data, costs)
    if args.picture is not None:
        from ..display import ConfusionMatrixDisplay

        save_picture(ConfusionMatrixDisplay(report.counts), args.picture)
    show(args, report.record, report.text)
    return "interrupted" not in report.record


def _cross_validated(args, model, data, costs):
    from ..model_selection import cross_validate

    how = folds(args, data)
    loo = how["cv"] == "loo"
    shown = "leave-one-out" if loo else f"{how['cv']}-fold cross-validation"
    shown += f", {args.repeat} times" if args.repeat > 1 else ""
    classifier = data.classifier(model)
    scoring = None if loo else _scoring(classifier, data, how["cv"])
    how |= {"n_jobs": args.n_jobs, "verbose": int(not args.quiet)}
    with blame(data.name):
        result = cross_validate(classifier, data.X, data.y, scoring=scoring, **how)
        table = result.table
        report = Report(f"{model!r} on {data.name}: {shown}", model=repr(model), data=data.name, validation=shown)
        report.error(result.error, result.standard_error, table)
        for name in scoring or ():
            if name != "accuracy":
                report.figure(name, float(np.mean(np.abs(result[f"test_{name}"]))))
        report.record["seconds_per_fit"] = float(np.mean(result["fit_time"]))
        report.record["microseconds_per_query"] = result.microseconds_per_query
        report.table(table)
        if costs is not None:
            wary = fastclf.CostSensitiveClassifier(classifier, cost_matrix=costs)
            report.costs(costs, table, cross_validate(wary, data.X, data.y, **how).table)
    if result.interrupted:
        report.record["interrupted"] = True
        report.lines.append("\ninterrupted: these are the figures of the folds that were finished")
    return report


def _scoring(model, data, n_folds):
    """The scorers for `cross_validate`: accuracy, log loss, Brier score, and the ROC area if all folds can have it."""
    if not hasattr(model, "predict_proba"):
        return None
    scoring = {"accuracy": "accuracy", "log loss": "neg_log_loss", "Brier score": "neg_brier_score"}
    counts = np.unique(data.y, return_counts=True)[1]
    if len(counts) == 2 and counts.min() >= n_folds:
        scoring["area under the ROC curve"] = "roc_auc"
    return scoring


def _tested(args, model, data, costs):
    """A report on a method, fitted to the rows of DATA, for the rows of a test file."""
    test = Data(args, args.test, like=data)
    with blame(data.name):
        classifier = data.classifier(model).fit(data.X, data.y)
    with blame(test.name):
        return _judged(f"{model!r} of {data.name} on {test.name}", classifier, test.X, test.y, costs)


def _try_trained(args):
    """A report on a saved model for the rows of DATA."""
    from .train import read_new

    if args.set or args.test is not None:
        raise RequestError(f"--set and --test are given with the trained model {args.model}; leave them out")
    model = open_saved(Path(args.model), "predict", "a model that predicts")
    if not hasattr(model, "classes_"):
        raise RequestError(f"{args.model} holds a {type(model).__name__}; a classifier is wanted")
    X, y = read_new(args, model)
    if y is None:
        raise RequestError(f"{args.data}: there are no labels; --target names their column")
    costs = None if args.cost is None else read_costs(args.cost, model.classes_)
    with blame(args.data):
        return _judged(f"{args.model} on {args.data}", model, X, y, costs)


def _judged(title, model, X, y, costs):
    """A report on a fitted model's predictions for rows with known labels."""
    from ..metrics import brier_score_loss, contingency_table, log_loss, roc_auc_score

    y = y.astype(model.classes_.dtype) if y.dtype.kind != model.classes_.dtype.kind else y
    labels = np.union1d(model.classes_, y)
    table = contingency_table(y, model.predict(X), labels=labels)
    report = Report(title, model=title)
    report.error(table.error, float(np.sqrt(table.error * (1 - table.error) / len(y))), table)
    if hasattr(model, "predict_proba") and len(labels) == len(model.classes_):
        proba = model.predict_proba(X)
        report.figure("log loss", float(log_loss(y, proba, labels=labels)))
        report.figure("Brier score", float(brier_score_loss(y, proba, labels=labels)))
        if len(labels) == 2 and len(np.unique(y)) == 2:
            report.figure("area under the ROC curve", float(roc_auc_score(y, proba[:, 1], labels=labels)))
        if costs is not None:
            cheapest = labels[(proba @ costs).argmin(axis=1)]
            report.table(table)
            report.costs(costs, table, contingency_table(y, cheapest, labels=labels))
            return report
    report.table(table)
    return report
