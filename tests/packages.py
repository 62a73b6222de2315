"""Packages that build on scikit-learn: their own tests, with scikit-learn's names replaced: python tests/packages.py

Each package's tests run with `patch_sklearn`; tests that fail then run without it, and those that pass without it are
the failures of ours. A line of `packages_ledger.txt`, "PACKAGE FILE::TEST  # reason", excuses those whose names begin
with it. The packages come from PyPI, and tests that they do not contain from GitHub; `make packages` prepares an
environment and runs all of it.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

GITHUB = "https://github.com/"
LEDGER = Path(__file__).with_name("packages_ledger.txt")


@dataclass(frozen=True)
class Package:
    """A package on PyPI, and where its tests are."""

    name: str
    version: str
    tests: tuple  # the arguments with which pytest runs the package's tests
    source: str = ""  # "owner/name@tag": where the tests are on GitHub; "": the tests are installed with the package
    needs: tuple = ()  # the packages that pip installs for the tests alone

    @property
    def folder(self):
        return self.source.partition("@")[0].partition("/")[2]


PACKAGES = [
    Package("imbalanced-learn", "0.14.2", ("--pyargs", "imblearn")),
    Package("mlxtend", "0.25.0", ("mlxtend",), "rasbt/mlxtend@v0.25.0"),
    Package("skops", "0.16.0", ("--pyargs", "skops"), needs=("rich",)),
    Package("feature-engine", "1.9.4", ("tests",), "feature-engine/feature_engine@v1.9.4"),
    Package("MAPIE", "1.6.0", ("--pyargs", "mapie")),
    Package("scikit-lego", "0.9.9", ("tests",), "koaning/scikit-lego@v0.9.9", ("cvxpy", "polars", "pytest-mock")),
    Package("category_encoders", "2.10.0", ("tests",), "scikit-learn-contrib/category_encoders@2.10.0"),
    Package("boruta", "0.4.3", ("boruta/test/unit_tests.py",), "scikit-learn-contrib/boruta_py@0.4.3"),
    Package("metric-learn", "0.7.0", ("test",), "scikit-learn-contrib/metric-learn@v0.7.0"),
    Package("pyriemann", "0.12", ("tests",), "pyRiemann/pyRiemann@v0.12"),
    Package("cleanlab", "2.9.0", ("tests",), "cleanlab/cleanlab@v2.9.0"),
    Package(
        "fairlearn",
        "0.14.0",
        ("test/unit/reductions/exponentiated_gradient/test_control_features.py",),
        "fairlearn/fairlearn@v0.14.0",
    ),
    Package("imodels", "3.0.0", ("tests",), "csinva/imodels@v3.0.0", ("six",)),
    Package("nilearn", "0.14.1", ("--pyargs", "nilearn.decoding")),
    Package("hdbscan", "0.8.44", ("--pyargs", "hdbscan")),
    Package("pyts", "0.14.1", ("--pyargs", "pyts.classification.tests.test_knn", "pyts.multivariate.classification")),
    Package(
        "skrub",
        "0.11.0",
        (
            "--pyargs",
            "skrub.tests.test_tabular_pipeline",
            "skrub.tests.test_table_vectorizer",
            "skrub.tests.test_interpolation_joiner",
            "skrub.tests.test_apply_to_cols",
        ),
    ),
]

# A pytest plugin that replaces the names before a package is imported, and writes the outcome of each test.
PLUGIN = """
import json, os
import fastclf

if os.environ["REPLACED"] == "yes":
    fastclf.patch_sklearn()
outcomes = {}

def pytest_collection_modifyitems(items):
    only = os.environ["ONLY"]
    if only:
        with open(only) as file:
            names = set(json.load(file))
        items[:] = [item for item in items if item.nodeid in names]

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        error = getattr(report.longrepr, "reprcrash", None)
        outcomes[report.nodeid] = [report.outcome, error.message.partition(chr(10))[0] if error else ""]

def pytest_collectreport(report):
    if report.outcome == "failed":
        outcomes[report.nodeid] = ["failed", str(report.longrepr).strip().rpartition(chr(10))[2]]

def pytest_sessionfinish():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(outcomes, file)
"""


def run(python, folder, package, more, replaced, only=None):
    """{test: (outcome, the first line of its error)} of a package's tests, or of those in `only`."""
    place = folder / package.folder if package.source else folder
    outcomes = folder / f"{package.name}-{'ours' if replaced else 'theirs'}.json"
    outcomes.unlink(missing_ok=True)
    (folder / "replaced_names.py").write_text(PLUGIN)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    names = folder / f"{package.name}-again.json"
    names.write_text(json.dumps(only))
    environment = {
        "PYTHONPATH": path,
        "REPLACED": "yes" if replaced else "no",
        "OUTCOMES": str(outcomes),
        "ONLY": str(names) if only else "",
    }
    command = [python, "-P", "-m", "pytest", "-p", "replaced_names", "-p", "no:cacheprovider", "-q", "--tb=short"]
    # names of tests begin at the package's folder, wherever that is
    command += ["--continue-on-collection-errors", "--rootdir", str(place), "-o", "addopts=", *package.tests, *more]
    with open(outcomes.with_suffix(".txt"), "w") as log:
        subprocess.run(command, cwd=place, env=os.environ | {"MPLBACKEND": "agg"} | environment, stdout=log, stderr=log)
    found = json.loads(outcomes.read_text()) if outcomes.exists() else {}
    if not found:
        raise RuntimeError(f"the tests of {package.name} did not run: see {log.name}")
    return {name: tuple(came) for name, came in found.items()}


def fetch(folder, package):
    """The package's tests from GitHub, unless they are in the folder already."""
    repository, _, tag = package.source.partition("@")
    if repository and not (folder / package.folder).exists():
        command = ["git", "clone", "-q", "--depth", "1", "-b", tag, GITHUB + repository, folder / package.folder]
        subprocess.run(command, check=True)


def judge(python, folder, package, more=()):
    """(tests passed, tests failed, [(test, error)] of the failures that scikit-learn has not) with the patch."""
    fetch(folder, package)
    ours = run(python, folder, package, more, replaced=True)
    failed = sorted(name for name, (outcome, _) in ours.items() if outcome == "failed")
    theirs = run(python, folder, package, more, replaced=False, only=failed) if failed else {}
    counts = collections.Counter(outcome for outcome, _ in ours.values())
    new = [(name, ours[name][1]) for name in failed if theirs.get(name, ("passed",))[0] != "failed"]
    return counts["passed"], len(failed), new


def ledger():
    """Beginnings of "PACKAGE FILE::TEST" of the failures that are excused."""
    lines = LEDGER.read_text("utf-8").splitlines()
    return tuple(line.rsplit("  #", 1)[0].strip() for line in lines if line and not line.startswith("#"))


def in_its_package(name):
    """The name of a test, without the folders above an installed package."""
    above, _, inside = name.partition("/site-packages/")
    return inside.partition("/")[2] if inside else above


def main():
    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", choices=[[], *names], help="packages to test; all of them by default")
    parser.add_argument("--folder", type=Path, default=Path("build/packages"), help="where tests and outcomes go")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the packages and fastclf")
    parser.add_argument("-k", default="", help="the tests whose names match, as pytest's -k")
    parser.add_argument("--needs", action="store_true", help="print what pip has to install, a line each, and stop")
    args = parser.parse_args()
    chosen = [package for package in PACKAGES if not args.packages or package.name in args.packages]
    if args.needs:
        print(
            *(line for package in chosen for line in (f"{package.name}=={package.version}", *package.needs)), sep="\n"
        )
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    # the path is not resolved, because the interpreter of an environment may be a link
    python = Path(args.python).absolute()
    total = 0
    for package in chosen:
        passed, failed, new = judge(python, args.folder.resolve(), package, ["-k", args.k] if args.k else ())
        told = (
            f"{package.name} {package.version}: {passed} pass, {failed} fail, {len(new)} of them not with scikit-learn"
        )
        new = [
            (name, error) for name, error in new if not f"{package.name} {in_its_package(name)}".startswith(ledger())
        ]
        total += len(new)
        print(f"{told}, {len(new)} without an excuse", flush=True)
        print(*(f"  {name} - {error[:200]}" for name, error in new), sep="\n", end="\n" if new else "")
    sys.exit(bool(total))


if __name__ == "__main__":
    main()
