"""Python's own switches: without docstrings and assertions, or with each warning an error, all is as usual."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.once

# Every public name of every module, but those of packages that need others (Dask, Ray, Numba and scikit-learn), and of
# modules for SIMD levels that the processor does not have.
NAMES = """
import importlib, pkgutil, fastclf
from fastclf import _simd
others = ("fastclf.dask", "fastclf.ray", "fastclf.numba", "fastclf.sklearn", "fastclf.__main__")
absent = tuple(suffix for level, suffix in _simd._SUFFIX.items() if suffix and level not in _simd.available())
for module in pkgutil.walk_packages(fastclf.__path__, "fastclf."):
    if not module.name.startswith(others) and not module.name.endswith(absent):
        found = importlib.import_module(module.name)
        for name in getattr(found, "__all__", ()):
            getattr(found, name)
"""

WORK = """
import fastclf
X, y = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]] * 5, ["a", "a", "b", "b"] * 5
for name in ("KNeighborsClassifier", "DecisionTreeClassifier", "GaussianNB", "LogisticRegression", "SVC"):
    model = getattr(fastclf, name)().fit(X, y)
    fastclf.save(model, f"{name} ü.fclf")
    if fastclf.load(f"{name} ü.fclf").predict(X).tolist() != model.predict(X).tolist():
        raise SystemExit(f"{name} answers otherwise from a file")
print("worked")
"""


def run(folder, *arguments):
    command = [sys.executable, "-P", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_public_name_is_there_without_docstrings(tmp_path):
    run(tmp_path, "-OO", "-c", NAMES)


@pytest.mark.parametrize(
    "switches",
    [("-OO",), ("-W", "error", "-bb", "-X", "dev", "-X", "warn_default_encoding")],
    ids=" ".join,
)
def test_estimators_work_with_switches_of_python(tmp_path, switches):
    assert run(tmp_path, *switches, "-c", WORK) == "worked\n"


def test_a_cluster_estimator_is_there_without_docstrings(tmp_path):
    pytest.importorskip("dask.array")
    run(tmp_path, "-OO", "-c", "import fastclf.dask; print(fastclf.dask.KNeighborsClassifier)")
