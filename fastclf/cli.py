"""The command line: ``python -m fastclf info | demo | knn | index``.

Results go to stdout, progress and errors to stderr. Exit status: 0 done, 2 a mistake in the request, told in one
sentence, 130 interrupted.
"""

import argparse
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import numpy as np

import fastclf

from ._files import FORMATS, RequestError, blame, listing, read

# What the demo runs. Each entry takes keyword arguments (n_jobs) and returns an unfitted classifier.
CLASSIFIERS = {
    "1-NN": lambda **options: fastclf.KNeighborsClassifier(1, **options),
    "3-NN": lambda **options: fastclf.KNeighborsClassifier(3, **options),
    "5-NN": lambda **options: fastclf.KNeighborsClassifier(5, **options),
    "15-NN": lambda **options: fastclf.KNeighborsClassifier(15, **options),
    "15-NN, weights 1/d": lambda **options: fastclf.KNeighborsClassifier(15, weights="distance", **options),
}


def main(argv=None):
    """Run one command and return its exit status."""
    parser = make_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"fastclf: warning: {message}", file=sys.stderr)
        try:
            with blame("the kernels can't be loaded"):
                from . import _simd

                args.level = _simd.level()
            with blame("threads"):
                from ._threads import n_threads

                args.threads = n_threads(getattr(args, "n_jobs", None))
            args.run(args)
            sys.stdout.flush()
            return 0
        except RequestError as error:
            print("fastclf: error:", " ".join(str(error).split()), file=sys.stderr)
            return 2
        except OSError as error:
            print(f"fastclf: error: {error}", file=sys.stderr)
            return 2
        except MemoryError as error:
            print("fastclf: error: not enough memory:", error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("fastclf: interrupted", file=sys.stderr)
            return 130


def make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m fastclf",
        description="Classical classifiers with compiled kernels.",
        epilog="'python -m fastclf COMMAND --help' explains a command. The environment variables FASTCLF_SIMD and "
        "FASTCLF_NUM_THREADS choose the build of the kernels and the number of threads.",
    )
    parser.add_argument("--version", action="version", version=f"fastclf {fastclf.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    info = commands.add_parser("info", help="show version, SIMD level, threads and build flags")
    info.set_defaults(run=run_info)

    demo = commands.add_parser(
        "demo",
        help="cross-validate every classifier on real data",
        description="Cross-validate every classifier of the library on the same folds,\n"
        "print one table of errors and speeds, and draw it.",
        epilog="examples:\n  python -m fastclf demo\n  python -m fastclf demo --data iris.csv --target species",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument(
        "--data", type=Path, metavar="FILE",
        help=f"{FORMATS} (default: scikit-learn's digits and breast_cancer)",
    )  # fmt: skip
    demo.add_argument(
        "--target", metavar="COLUMN",
        help="the column that holds the class: its name, or its number counted from 0 (-1 is the last) where the "
        "file has no names; in an .npz the name of its array (default there: y, beside X)",
    )  # fmt: skip
    demo.add_argument("--cv", type=int, default=10, metavar="N", help="number of folds (default: 10)")
    demo.add_argument(
        "--out", type=Path, default=Path("fastclf-demo.png"), metavar="PICTURE",
        help="where the picture goes: .png, .pdf or .svg (default: %(default)s)",
    )  # fmt: skip
    demo.set_defaults(run=run_demo)

    knn = commands.add_parser(
        "knn",
        help="find the nearest rows of one file for every row of another",
        description="Find the K nearest rows of TRAIN, nearest first, for every row of QUERIES.\n"
        f"Both are matrices of numbers, one row per point: {FORMATS}.\n"
        "A .npy is memory-mapped; a .csv may have a header row; an .npz holds X or one array.",
        epilog="example:\n  python -m fastclf knn --train A.npy --queries B.npy -k 10 --out R.npz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    rows = knn.add_mutually_exclusive_group(required=True)
    rows.add_argument("--train", type=Path, help="the rows to search")
    rows.add_argument("--index", type=Path, help="the same, stored by 'fastclf index' or fastclf.save, with its metric")
    knn.add_argument("--queries", type=Path, required=True, help="the rows to find neighbours for")
    knn.add_argument("-k", type=int, default=5, help="neighbours per query (default: 5)")
    knn.add_argument(
        "--out", type=Path, required=True, metavar="RESULT",
        help=".npz with the arrays indices (row numbers in TRAIN, from 0) and distances, or .csv with the columns "
        "index_1 ... index_K, distance_1 ... distance_K; row i answers query i",
    )  # fmt: skip
    knn.set_defaults(run=run_knn)

    index = commands.add_parser(
        "index",
        help="store the rows of a file so that they are searched without delay",
        description="Store TRAIN, checked and ready, in one file, which 'knn --index' and fastclf.load open at once\n"
        "and search as a memory map.",
        epilog="example:\n  python -m fastclf index --train A.npy --out A.fclf\n"
        "  python -m fastclf knn --index A.fclf --queries B.npy -k 10 --out R.npz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    index.add_argument("--train", type=Path, required=True, help=f"the rows to search: {FORMATS}")
    index.add_argument("--out", type=Path, required=True, metavar="INDEX", help="the file, best called *.fclf")
    index.set_defaults(run=run_index)

    for command in (knn, index):
        command.add_argument("--metric", help="distance (default: euclidean, or minkowski with --p)")
        command.add_argument("--p", type=float, help="exponent of the minkowski distance")
    for command in (demo, knn):
        command.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: every CPU of the process)")
        command.add_argument("--quiet", action="store_true", help="show no progress")
    return parser


def run_info(args):
    from . import _simd

    build = _simd.build_info()
    print(f"fastclf     {fastclf.__version__} (NumPy {np.__version__}, Python {sys.version.split()[0]})")
    print(f"SIMD level  {args.level} (available: {', '.join(_simd.available())})")
    print(f"threads     {args.threads}")
    print(f"compiler    {build['compiler']}{', debug build' if build['debug'] else ''}")
    for level in build["levels"]:
        print(f"flags       {level}: {build['flags'][level]}")


def run_demo(args):
    from .display import ComparisonDisplay, comparison_figure
    from .evaluation import cross_validate, majority_error, stratified_folds

    check_out(args.out, (".png", ".pdf", ".svg"))
    if args.cv < 2:
        raise RequestError(f"--cv is {args.cv}; at least 2 folds are wanted")
    classifiers = {name: make(n_jobs=args.n_jobs) for name, make in CLASSIFIERS.items()}
    displays, lines = [], []
    for name, (X, y) in demo_data(args).items():
        if not args.quiet:
            print(f"{name}: {len(X)} rows x {X.shape[1]} columns, {args.cv} folds", file=sys.stderr)
        with blame(name):
            folds = list(stratified_folds(y, args.cv))
            results = cross_validate(classifiers, X, y, cv=folds, verbose=int(not args.quiet))
        baseline = majority_error(y, folds)
        displays.append(ComparisonDisplay(results, baseline=baseline, title=name))
        lines.append((name, "majority class", f"{baseline:.2%}", "", "", ""))
        for classifier, result in results.items():
            errors = f"{result.error:.2%}", f"{result.standard_error:.2%}"
            costs = f"{1e3 * np.mean(result['fit_time']):.2f}", f"{result.microseconds_per_query:.1f}"
            lines.append((name, classifier, *errors, *costs))
    print_table(("data", "classifier", "error", "std. error", "fit (ms)", "us/query"), lines)

    try:
        figure = comparison_figure(displays)
    except ImportError as error:
        print(f"fastclf: the picture is skipped: {error}", file=sys.stderr)
        return
    with blame(args.out):
        figure.savefig(args.out, dpi=150)
    print(f"\nThe picture is in {args.out}")


def make_search(args):
    """The unfitted search that --metric and --p ask for."""
    from ._metrics import METRICS

    metric = args.metric or ("euclidean" if args.p is None else "minkowski")
    if metric not in METRICS:
        raise RequestError(f"--metric is {metric!r}; one of {', '.join(METRICS)} is wanted")
    if args.p is not None and metric not in ("minkowski", "p"):
        raise RequestError(f"--p is given with --metric {metric}; it belongs to minkowski")
    if args.p is not None and not args.p > 0:
        raise RequestError(f"--p is {args.p}; a number above 0 is wanted")
    return fastclf.NearestNeighbors(metric=metric, p=args.p or 2)


def run_index(args):
    search = make_search(args)
    if args.out.resolve() == args.train.resolve():
        raise RequestError(f"--out {args.out} would overwrite an input")
    A, _, _ = read(args.train)
    with blame(args.train):
        search.fit(A)
    with blame(args.out):
        fastclf.save(search, args.out)
    print(f"{len(A)} rows x {A.shape[1]} columns, {search.metric}; written to {args.out}")


def open_index(args):
    if args.metric is not None or args.p is not None:
        raise RequestError("--metric and --p are those of the index; leave them out")
    if not args.index.exists():
        raise RequestError(f"{args.index}: there is no such file")
    try:
        search = fastclf.load(args.index)
    except ValueError as error:  # which names the file
        raise RequestError(str(error)) from error
    if not hasattr(search, "kneighbors"):
        raise RequestError(f"{args.index} holds a {type(search).__name__}; one with rows to search is wanted")
    return search


def run_knn(args):
    search = make_search(args) if args.index is None else open_index(args)
    source = args.train or args.index
    check_out(args.out, (".npz", ".csv"))
    if args.out.resolve() in (source.resolve(), args.queries.resolve()):
        raise RequestError(f"--out {args.out} would overwrite an input")
    names = None
    if args.index is None:
        A, _, names = read(args.train)
        n_rows, n_columns = A.shape
    else:
        n_rows, n_columns = search.n_samples_fit_, search.n_features_in_
    B, _, query_names = read(args.queries)
    if n_columns != B.shape[1]:
        raise RequestError(f"{args.queries} has {B.shape[1]} columns, but {source} has {n_columns}")
    if names and query_names and names != query_names:
        raise RequestError(f"{args.queries} has the columns {listing(query_names)}, but {source} {listing(names)}")
    if not 1 <= args.k <= n_rows:
        raise RequestError(f"-k is {args.k}; 1 to {n_rows}, the number of rows of {source}, is wanted")

    search.set_params(n_neighbors=args.k, n_jobs=args.n_jobs, verbose=int(not args.quiet))
    if args.index is None:
        with blame(args.train):
            search.fit(A)
    with suppress(ImportError):
        import tqdm  # noqa: F401  so that the time below is the search's
    start = perf_counter()
    with blame(args.queries):
        distances, indices = search.kneighbors(B)
    seconds = perf_counter() - start

    with blame(args.out):
        if args.out.suffix == ".npz":
            np.savez(args.out, indices=indices, distances=distances)
        else:
            head = ",".join(f"{what}_{i}" for what in ("index", "distance") for i in range(1, args.k + 1))
            fmt = ["%d"] * args.k + ["%.17g"] * args.k
            table = np.column_stack([indices, distances])
            np.savetxt(args.out, table, fmt=fmt, delimiter=",", header=head, comments="")
    print(
        f"{len(B)} queries, {n_rows} rows x {n_columns} columns, k = {args.k}, {search.metric}: {seconds:.3f} s, "
        f"{1e6 * seconds / len(B):.2f} microseconds per query, {args.threads} thread{'s' * (args.threads > 1)}, "
        f"SIMD level {args.level}; written to {args.out}"
    )


def demo_data(args):
    """The data sets of the demo: name -> (X, y)."""
    if args.data is not None:
        from ._validation import as_matrix

        target = "y" if args.target is None and args.data.suffix == ".npz" else args.target
        if target is None:
            raise RequestError("--data is given without --target; the column that holds the class is wanted")
        X, y, _ = read(args.data, target)
        n_classes = len(np.unique(y))
        if not 2 <= n_classes <= len(y) // 2:
            raise RequestError(
                f"{args.data}: {target!r} has {n_classes} different values in {len(y)} rows; a few classes are wanted"
            )
        with blame(args.data):
            return {args.data.name: (as_matrix(X, "the demo"), y)}
    if args.target is not None:
        raise RequestError("--target is given without --data; a file is wanted")
    try:
        from sklearn import datasets
    except ImportError as error:
        raise RequestError(
            "the demo's own data come with scikit-learn, which is not installed (pip install scikit-learn); "
            "--data FILE --target COLUMN runs without it"
        ) from error
    return {
        "digits": datasets.load_digits(return_X_y=True),
        "breast_cancer": datasets.load_breast_cancer(return_X_y=True),
    }


def check_out(path, endings):
    if path.suffix not in endings:
        raise RequestError(f"--out is {path}; a name that ends in {' or '.join(endings)} is wanted")
    if not path.parent.is_dir():
        raise RequestError(f"--out is {path}, but there is no folder {path.parent}")


def print_table(head, lines):
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    for line in (head, ["-" * width for width in widths], *lines):
        cells = [
            cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
