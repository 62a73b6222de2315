"""The commands `fastclf train` and `fastclf predict`."""

import csv
import io
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

import fastclf

from ..table import TableClassifier, texts
from .files import RequestError, as_labels, blame, read_table
from .methods import add_method, make
from .options import (
    DATA_HELP,
    Data,
    add_data,
    add_reading,
    add_running,
    as_trained,
    check_out,
    command,
    open_saved,
    reading_of,
    rendered,
    show,
)


def register(commands):
    train = command(
        commands,
        "train",
        run_train,
        help="learn from labelled examples and keep the model in a file",
        description="Fit a method to all examples of DATA and write the model into a file, which predict, explain and"
        " fastclf.load open. It holds the names of the columns, the categories and the labels, too; it is no pickle.",
        examples=[
            "fastclf train data.csv --target label --model svm --set C=10 --out model",
            "fastclf train data.csv --model tree --set max_depth=3 --drop id --out tree.fclf",
        ],
    )
    add_data(train)
    add_method(train)
    train.add_argument("--out", type=Path, required=True, metavar="MODEL", help="the file for the model")
    add_running(train)

    predict = command(
        commands,
        "predict",
        run_predict,
        help="label new rows by a model",
        description="Print a label for every row of NEW, in its order, one a line. NEW has the columns of the training"
        " data, by name and in any order, or without names in the same order. Other columns are ignored. If the"
        " labels are there too, the share of wrong predictions is told.",
        examples=[
            "fastclf predict model new.csv > labels.txt",
            "fastclf predict model new.csv --proba --out answers.csv",
            "cat new.csv | fastclf predict model - | sort | uniq -c",
        ],
        tables=False,
    )
    predict.add_argument("model", type=Path, metavar="MODEL", help="a file that train or fastclf.save has written")
    predict.add_argument("data", type=Path, metavar="NEW", help=f"the rows: {DATA_HELP}")
    predict.add_argument("--target", metavar="COLUMN", help="the column of labels, if NEW has it under another name")
    add_reading(predict)
    predict.add_argument(
        "--proba", action="store_true", help="print a header and the probability of each class beside the label"
    )
    predict.add_argument("--out", type=Path, metavar="FILE", help="write there, in place of standard output")
    add_running(predict)


def run_train(args):
    check_out(args.out)
    model = make(args.model, args.set, args.n_jobs)
    data = Data(args)
    data.require_classes()
    if str(args.data) != "-" and args.out.resolve() == args.data.resolve():
        raise RequestError(f"--out {args.out} would overwrite the data")
    if "verbose" in model.get_params() and not args.quiet:
        model.set_params(verbose=1)
    model = data.table_classifier(model)
    start = perf_counter()
    with blame(data.name):
        model.fit(data.X, data.y)
    seconds = perf_counter() - start
    for part in (model.model, model.model_):
        if "verbose" in part.get_params():
            part.set_params(verbose=0)
    with blame(data.name):
        error = float(np.mean(model.predict(data.X) != data.y))
    with blame(args.out):
        fastclf.save(model, args.out)
    record = {
        "model": repr(model.model),
        "rows": len(data.X),
        "columns": data.X.shape[1],
        "classes": model.classes_,
        "seconds": seconds,
        "training_error": error,
        "file": str(args.out),
    }
    show(
        args,
        record,
        f"{model.model!r} fitted in {seconds:.2f} s; it is wrong on {error:.2%} of its own {len(data.X)} rows"
        f" ('fastclf evaluate' tells how often on new ones); written to {args.out}",
    )


def read_new(args, model):
    """(matrix for the model, labels or None) from a file of new rows."""
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else list(names)
    categories = model.categories_ if isinstance(model, TableClassifier) else [None] * model.n_features_in_
    told, memory = reading_of(
        args, getattr(model, "reading", None), getattr(model, "date_orders", None), names, categories
    )
    table, y, _ = read_table(args.data, args.target, told, labelled=args.target is not None)
    with blame("standard input" if str(args.data) == "-" else args.data):
        target = getattr(model, "target", None)
        if y is None and table.names is not None and table.names.count(target) == 1 and target not in (names or []):
            place = table.names.index(target)
            column = table.columns[place]
            table = table.without([place])
            if None not in texts(column):
                y = as_labels(column, target)
        if table.names is not None and names is not None:
            extra = [name for name in table.names if name not in names]
            if extra and not args.quiet:
                print(f"fastclf: ignoring columns that the model has not seen: {', '.join(extra[:5])}", file=sys.stderr)
        table = as_trained(table.widened(model.n_features_in_), names, categories, memory)
        X = table.encode(categories, names)
    return X, y


def run_predict(args):
    if args.out is not None:
        check_out(args.out)
    model = open_saved(args.model, "predict", "a model that predicts")
    if args.proba and not hasattr(model, "predict_proba"):
        inner = model.model_ if isinstance(model, TableClassifier) else model
        raise RequestError(f"{args.model}: {type(inner).__name__} has no probabilities; leave --proba out")
    X, y = read_new(args, model)
    with blame(args.data):
        probabilities = model.predict_proba(X) if args.proba else None
        labels = model.predict(X)
    record = {"predictions": labels}
    if args.proba:
        record |= {"classes": model.classes_, "probabilities": probabilities}
    if y is not None:
        wrong = int(np.sum(labels.astype(str) != y.astype(str)))
        record["error"] = wrong / len(labels)
        if not args.quiet:
            share = f"{wrong} of {len(labels)} predictions differ from the labels in the file ({record['error']:.2%})"
            print(f"fastclf: {share}", file=sys.stderr)
    text = rendered(args, record, _lines(labels, model, probabilities))
    if args.out is None:
        print(text)
        return
    with blame(args.out):
        args.out.write_text(text + "\n", encoding="utf-8")


def _lines(labels, model, probabilities):
    """The predictions as text: one label per line, or a table with a header and the probabilities."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if probabilities is None:
        writer.writerows([label] for label in labels.tolist())
    else:
        writer.writerow(["prediction", *(f"p({label})" for label in model.classes_)])
        writer.writerows([label, *map(repr, row)] for label, row in zip(labels.tolist(), probabilities.tolist()))
    return out.getvalue()[:-1]
