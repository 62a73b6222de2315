"""The command `fastclf demo`: every method on real data."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from .compare import candidates, compare, draw, record, text, verdict
from .files import FORMATS, RequestError
from .options import Data, add_running, check_out, command, show
from .pictures import ENDINGS

# The files of the data folder that the demo uses if they exist.
_FILES = ("spambase.npz", "adult_train.csv.gz", "usps.npz")


def register(commands):
    parser = command(
        commands,
        "demo",
        run,
        help="all methods on real data, in two minutes",
        description="Compare every method on scikit-learn's digits and breast_cancer and on the larger sets of the data"
        " folder ($FASTCLF_DATA, or shared/data beside this folder) where it is, or on your own file, as"
        " 'fastclf compare'"
        " does: the same 10 folds for all, errors beside those of guesses, times, the winner by a paired"
        " comparison, and a"
        " picture.",
        examples=["fastclf demo", "fastclf demo --data iris.csv --target species"],
        tables=False,
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help=f"{FORMATS} (default: the sets named above)")
    parser.add_argument(
        "--target", metavar="COLUMN", help="the column of labels (default: target, label, class or y, else the last)"
    )
    parser.add_argument("--cv", type=int, default=10, metavar="N", help="number of folds (default: 10)")
    parser.add_argument(
        "--rows", type=int, default=4000, metavar="N", help="of larger sets, that many rows are drawn (default: 4000)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("fastclf-demo.png"), metavar="PICTURE",
        help="where the picture goes: .png, .pdf or .svg (default: %(default)s)",
    )  # fmt: skip
    add_running(parser)


def run(args):
    check_out(args.out, ENDINGS)
    if args.cv < 2:
        raise RequestError(f"--cv is {args.cv}; at least 2 folds are wanted")
    if args.rows < 2 * args.cv:
        raise RequestError(f"--rows is {args.rows}; at least {2 * args.cv} are wanted for {args.cv} folds")
    models = candidates(n_jobs=args.n_jobs)
    found, records = {}, []
    for data in _sets(args):
        data.require_classes()
        if args.cv > len(data.y):
            raise RequestError(f"--cv is {args.cv}; 2 to {len(data.y)}, the number of rows, is wanted")
        found[data.name], missing = compare(
            models, data, {"cv": args.cv, "random_state": 0, "error_score": "raise"}, int(not args.quiet)
        )
        if missing:
            raise KeyboardInterrupt
        records.append(record(data, found[data.name]))
        if not args.json:
            print(f"{text(data, found[data.name])}\n\n{verdict(found[data.name])}\n", flush=True)
    best = {name: results.winner for name, results in found.items()}
    last = "\n".join(f"best on {name}: {winner} ({found[name][winner].error:.2%})" for name, winner in best.items())
    try:
        draw(found, args.out)
        last += f"\nThe picture is in {args.out}"
    except RequestError as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        print(f"fastclf: the picture is skipped: {error.__cause__}", file=sys.stderr)
    show(args, records, last)


def _sets(args):
    reading = Namespace(
        target=args.target, header=None, sep=None, decimal=None, encoding=None, drop=[], keep=[], categorical=[],
        date_parts=[], dates=None, missing="keep", scale="auto", quiet=args.quiet,
    )  # fmt: skip
    if args.data is not None:
        yield Data(reading, args.data)
        return
    if args.target is not None:
        raise RequestError("--target is given without --data; a file is wanted")
    yield from _bundled(reading)
    for path in _files():
        data = Data(reading, path)
        data.keep(args.rows)
        yield data


def _bundled(reading):
    try:
        from sklearn import datasets
    except ImportError as error:
        raise RequestError(
            "the demo's own data come with scikit-learn, which is not installed (pip install scikit-learn); "
            "--data FILE runs without it"
        ) from error
    for name in ("digits", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield Data.of(reading, name, X, y)


def _files():
    """The paths of the demo's files in the data folder, without those that do not exist."""
    folder = Path(os.environ.get("FASTCLF_DATA", Path("..", "shared", "data")))
    return [folder / name for name in _FILES if (folder / name).is_file()]
