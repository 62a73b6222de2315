"""scikit-learn's own tests, run on fastclf's estimators and functions of the same names: python tests/sklearn_suite.py

The test files that scikit-learn ships are copied and run with `patch_sklearn`. A failure is excused only by a line of
`sklearn_ledger.txt`, "FILE::TEST  # reason", which covers all tests whose names begin with it; a line that excuses
nothing is an error, too. Reasons: a private attribute of scikit-learn; the words of a message; a feature that is not
supported, as the page "From scikit-learn" says.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LEDGER = Path(__file__).with_name("sklearn_ledger.txt")

# The release of scikit-learn whose tests the ledger lists.
VERSION = "1.9"

# Test files of scikit-learn, by the module that they test.
FILES = [
    "inspection/_plot/boundary_decision_display",
    "kernel_approximation",
    "linear_model/logistic",
    "linear_model/perceptron",
    "linear_model/ridge",
    "metrics/_plot/common_curve_display",
    "metrics/_plot/confusion_matrix_display",
    "metrics/_plot/det_curve_display",
    "metrics/_plot/precision_recall_display",
    "metrics/_plot/predict_error_display",
    "metrics/_plot/roc_curve_display",
    "metrics/classification",
    "metrics/ranking",
    "metrics/regression",
    "metrics/score_objects",
    "model_selection/classification_threshold",
    "model_selection/plot",
    "model_selection/search",
    "model_selection/split",
    "model_selection/validation",
    "naive_bayes",
    "neighbors/nearest_centroid",
    "neighbors/neighbors",
    "neighbors/neighbors_pipeline",
    "preprocessing/encoders",
    "preprocessing/polynomial",
    "svm/sparse",
    "svm/svm",
    "tree/export",
    "tree/monotonic_tree",
    "tree/tree",
]

# A pytest plugin that replaces the names before the tests are imported, and writes the outcome of each test.
PLUGIN = """
import json, os
import fastclf.sklearn
import sklearn.ensemble, sklearn.model_selection, sklearn.pipeline, sklearn.multiclass, sklearn.semi_supervised

fastclf.sklearn.patch_sklearn(sorted(fastclf.sklearn._shared()))
outcomes = {}
environment = dict(os.environ)

def pytest_runtest_protocol(item):
    os.environ.pop("FASTCLF_NUM_THREADS", None)
    # these tests find `fit` on the stack of the thread that calls a scorer, so that no other thread may call it
    os.environ.update({"FASTCLF_NUM_THREADS": "1"} if "metadata" in item.name else environment)

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        error = getattr(report.longrepr, "reprcrash", None)
        outcomes[report.nodeid] = [report.outcome, error.message.partition(chr(10))[0] if error else ""]

def pytest_sessionfinish():
    with open("outcomes.json", "w") as file:
        json.dump(outcomes, file)
"""


def name_of(file):
    return f"test_{file.replace('/', '_')}.py"


def run(files):
    """{FILE::TEST: (outcome, the first line of its error)} for scikit-learn's tests in some files."""
    import sklearn

    home = Path(sklearn.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        tests = Path(folder, "suite")
        tests.mkdir()
        Path(tests, "__init__.py").touch()
        for file in files:
            place = Path(home, file).parent / "tests" / f"test_{Path(file).name}.py"
            shutil.copy(place, tests / name_of(file))
        Path(folder, "replaced_names.py").write_text(PLUGIN)
        path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-P", "-m", "pytest", "-p", "sklearn.conftest", "-p", "replaced_names", "-q"]
        command += ["-p", "no:cacheprovider", "--tb=line", "--continue-on-collection-errors", "suite"]
        told = subprocess.run(
            command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
        )
        outcomes = Path(folder, "outcomes.json")
        if not outcomes.exists():
            raise RuntimeError(f"scikit-learn's tests did not run: {told.stdout[-2000:]}{told.stderr[-2000:]}")
        return {name.removeprefix("suite/"): tuple(came) for name, came in json.loads(outcomes.read_text()).items()}


def ledger():
    """{beginning of test names: the excuse for their failure}."""
    lines = [line for line in LEDGER.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return dict(tuple(part.strip() for part in line.rsplit("  #", 1)) for line in lines)


# The beginning of an excuse that holds at some SIMD levels only, whose steps differ where candidates tie.
SOME_LEVELS = "SIMD levels differ:"


def judge(outcomes, files, excused):
    """(tests that fail without an excuse, lines of the ledger that excuse nothing) in these files.

    An excuse that begins with SOME_LEVELS may excuse nothing on this processor.
    """
    failed = {name for name, (outcome, _) in outcomes.items() if outcome == "failed"}
    ours = [line for line in excused if line.partition("::")[0] in map(name_of, files)]
    unexcused = sorted(name for name in failed if not any(name.startswith(line) for line in ours))
    wanted = [line for line in ours if not excused[line].startswith(SOME_LEVELS)]
    stale = [line for line in wanted if not any(name.startswith(line) for name in failed)]
    return unexcused, stale


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="files whose names hold this")
    parser.add_argument("--list", action="store_true", help="each failure and its first line")
    args = parser.parse_args()
    files = [file for file in FILES if args.only in file]
    outcomes = run(files)
    unexcused, stale = judge(outcomes, files, ledger())
    if args.list:
        print(*(f"{name} - {outcomes[name][1][:150]}" for name in unexcused), sep="\n")
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    by_file = collections.Counter(name.partition("::")[0] for name in unexcused)
    print(*(f"{count:5} unexcused in {file}" for file, count in sorted(by_file.items())), sep="\n")
    print(*(f"excuses nothing: {line}" for line in stale), sep="\n")
    share = counts["passed"] / max(1, counts["passed"] + counts["failed"])
    print(
        f"{counts['passed']} passed, {counts['failed']} failed ({share:.1%} pass), {len(unexcused)} without an excuse"
    )
    sys.exit(bool(unexcused or stale))


if __name__ == "__main__":
    main()
