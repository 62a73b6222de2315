"""The command `fastclf compare`, whose functions the demo uses, too."""

import sys
import threading
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from .._threads import Progress
from .files import RequestError, blame
from .methods import listed, make, offered
from .options import Data, add_data, add_folds, add_running, command, folds, show, table_text
from .pictures import add_picture, check_picture

# The least number of seconds after which a message says that a method is slow. It must also have run longer than all
# methods before it together.
_SLOW = 10

# The methods to compare, as (shown name, method, parameters); methods that this build lacks are skipped.
CANDIDATES = [
    ("1-NN", "knn", ["n_neighbors=1"]),
    ("5-NN", "knn", ["n_neighbors=5"]),
    ("15-NN, weights 1/d", "knn", ["n_neighbors=15", "weights=distance"]),
    ("nearest centroid", "centroid", []),
    ("least squares", "least-squares", []),
    ("averaged perceptron", "perceptron", []),
    ("logistic regression", "logistic", []),
    ("linear SVM", "linear-svm", []),
    ("SVM, RBF, C = 1", "svm", []),
    ("SVM, RBF, C = 10", "svm", ["C=10"]),
    ("tree, 8 deep", "tree", ["max_depth=8", "criterion=entropy"]),
    ("tree", "tree", ["criterion=entropy"]),
    ("naive Bayes, normal", "bayes", []),
    ("naive Bayes, cuts", "bayes", ["distributions=mdl"]),
]


def register(commands):
    parser = command(
        commands,
        "compare",
        run,
        help="try all methods on the same folds and say which is best",
        description="Cross-validate every method, with usual parameters, on the same folds of DATA: error,"
        " standard error,"
        " time of a fit and of a query. The best is compared with each other one by the corrected resampled t test.",
        examples=[
            "fastclf compare data.csv",
            "fastclf compare data.csv --target species --cv 5 --repeat 2 --picture errors.png",
            "fastclf compare data.csv --models tree,bayes,knn",
        ],
    )
    add_data(parser)
    parser.add_argument("--models", metavar="A,B,...", help="only these methods, by the names listed below")
    add_folds(parser)
    add_picture(parser, "the errors")
    parser.epilog = f"{listed()}\n\n{parser.epilog}"
    add_running(parser)


def run(args):
    check_picture(args.picture)
    models = candidates(args.models, args.n_jobs)
    data = Data(args)
    data.require_classes()
    how = folds(args, data)
    results, missing = compare(models, data, how, int(not args.quiet))
    show(args, record(data, results, missing), f"{text(data, results)}\n\n{verdict(results)}")
    if args.picture is not None:
        draw({data.name: results}, args.picture)
    if missing:
        print(f"fastclf: interrupted: {', '.join(missing)} not finished", file=sys.stderr)
    return not missing


def candidates(names=None, n_jobs=None):
    """{name: unfitted classifier} for all methods, or for those in a list "a,b,..."."""
    wanted = None if names is None else [name.strip() for name in names.split(",")]
    for name in wanted or ():
        make(name)  # this call is made for its error, which names the known methods
    chosen = [entry for entry in CANDIDATES if entry[1] in (offered() if wanted is None else wanted)]
    found = {shown: make(method, settings, n_jobs) for shown, method, settings in chosen}
    for name in wanted or ():
        if name not in [method for _, method, _ in chosen]:
            found[name] = make(name, [], n_jobs)
    return found


def compare(models, data, how, verbose=0):
    """(CrossValidations of the methods on the same folds, names of the methods that Ctrl-C left unfinished).

    Folds are processed one at a time, so that measured times are undisturbed. A method that refuses the data is left
    out, with a message. Ctrl-C before the end of the first method is raised.
    """
    from ..model_selection import CrossValidations, cross_validate

    results, refusals, start = CrossValidations(), [], perf_counter()
    n_folds = len(data.y) if how["cv"] == "loo" else how["cv"] * how.get("repeats", 1)
    with Progress(len(models) * n_folds, data.name, verbose, unit="fits") as progress:
        for done, (name, model) in enumerate(models.items()):
            try:
                with _told_if_slow(progress, name, perf_counter() - start):
                    found = cross_validate(
                        data.classifier(model), data.X, data.y, **how, n_jobs=1, shortcuts=False,
                        callback=lambda *_: progress.advance(),
                    )  # fmt: skip
                if found.interrupted:
                    raise KeyboardInterrupt
            except ValueError as error:
                refusals.append(f"{name} is left out: {error}")
            except KeyboardInterrupt:
                if not results:
                    raise
                return results, list(models)[done:]
            else:
                results[name] = found
                if verbose:
                    progress.write(f"{name}: error {found.error:.2%}, {np.sum(found['fit_time']):.1f} s of fits")
    if not results:
        raise RequestError(f"{data.name}: no method accepts these data; {refusals[0]}")
    for refusal in refusals:
        print(f"fastclf: {refusal}", file=sys.stderr)
    return results, []


@contextmanager
def _told_if_slow(progress, name, before):
    """Print a message once a method has run longer than `before` s, the time of all methods before it, and _SLOW s."""
    limit = max(_SLOW, before)
    line = f"{name}: running for {limit:.0f} s, longer than all methods before it; Ctrl-C shows what is finished"
    timer = threading.Timer(limit, progress.write, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _table(results):
    return next(iter(results.values())).table


def text(data, results):
    """The table of errors and times, with the best method first."""
    table = _table(results)
    lines = []
    for name in sorted(results, key=lambda name: results[name].error):
        result = results[name]
        errors = f"{result.error:.2%}", f"{result.standard_error:.2%}"
        times = f"{1e3 * np.mean(result['fit_time']):.2f}", f"{result.microseconds_per_query:.1f}"
        lines.append((name, *errors, *times))
    lines.append(("always the most frequent class", f"{table.majority_error:.2%}", "", "", ""))
    lines.append(("a draw by class shares", f"{table.proportional_error:.2%}", "", "", ""))
    return table_text((data.name, "error", "std. error", "fit (ms)", "us/query"), lines)


def verdict(results):
    """The winner, and the other methods that could be as good."""
    winner = results.winner
    if any(len(result["test_score"]) < 2 for result in results.values()):
        return f"least error: {winner}"
    rows = []
    for name in sorted(results, key=lambda name: results[name].error):
        if name != winner:
            found = results.compare(name, winner)
            says = "worse" if found.low > 0 else "could be as good"
            rows.append((name, f"{found.difference:+.2%}", f"{found.low:+.2%} to {found.high:+.2%}", says))
    if not rows:
        return f"only {winner} was tried"
    head = f"least error: {winner}; how much larger the other errors are, with 95 % intervals of the paired t test:"
    return f"{head}\n{table_text(('', 'difference', 'interval', ''), rows, left=(0, 3))}"


def record(data, results, missing=()):
    winner = results.winner
    table = _table(results)
    entries = {}
    for name, result in results.items():
        entries[name] = {
            "error": result.error,
            "standard_error": result.standard_error,
            "fold_errors": 1 - result["test_score"],
            "fit_seconds": float(np.mean(result["fit_time"])),
            "microseconds_per_query": result.microseconds_per_query,
        }
        if name != winner and len(result["test_score"]) > 1:
            entries[name]["against_the_winner"] = results.compare(name, winner)._asdict()
    return {
        "data": data.name,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "majority_error": table.majority_error,
        "random_error": table.proportional_error,
        "winner": winner,
        "methods": entries,
        "missing": missing,
    }


def draw(named_results, path):
    """One picture with a panel for each data set."""
    from ..display import ComparisonDisplay, comparison_figure

    displays = [
        ComparisonDisplay(results, baseline=_table(results).majority_error, title=name)
        for name, results in named_results.items()
    ]
    with blame(path):
        comparison_figure(displays).savefig(path, dpi=150)
