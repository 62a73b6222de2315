"""The rooms: scikit-learn's names are in modules with scikit-learn's names, and imports follow the map."""

import importlib
import importlib.util
import re
import subprocess
import sys

import pytest
import sklearn
from conftest import CHECKOUT

import fastclf
from fastclf import _lazy

pytestmark = pytest.mark.once

ROOMS = ["calibration", "display", "embedding", "inspection", "kernel_approximation", "linear_model", "metrics"]
ROOMS += ["model_selection", "naive_bayes", "neighbors", "preprocessing", "storage", "svm", "tree"]


def public_names(room):
    return importlib.import_module(f"fastclf.{room}").__all__


def namesakes():
    """(module of scikit-learn, name) of each public name that scikit-learn has too."""
    ours = {name for room in ROOMS for name in public_names(room)} | set(fastclf.__all__)
    theirs = {
        module: importlib.import_module(f"sklearn.{module}")
        for module in set(sklearn.__all__) - {"experimental"}
        if importlib.util.find_spec(f"sklearn.{module}")
    }
    return sorted(
        (name, each) for name, module in theirs.items() for each in set(getattr(module, "__all__", ())) & ours
    )


@pytest.mark.parametrize(("module", "name"), namesakes())
def test_a_name_of_scikit_learns_is_found_where_scikit_learn_has_it(module, name):
    ours = getattr(importlib.import_module(f"fastclf.{module}"), name)
    assert name in importlib.import_module(f"fastclf.{module}").__all__
    assert ours is getattr(fastclf, name, ours)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_can_be_imported_and_is_listed(room):
    package = importlib.import_module(f"fastclf.{room}")
    assert package.__doc__.count("\n") == 0, "the first sentence says what the room is for"
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match=f"module 'fastclf.{room}' has no attribute 'nothing'"):
        _ = package.nothing


def test_each_public_name_is_that_of_its_room():
    for name, room in _lazy.ROOMS.items():
        assert getattr(fastclf, name) is getattr(importlib.import_module(f"fastclf.{room}"), name)
    assert sorted([*_lazy.ROOMS, "__version__"]) == fastclf.__all__


def test_rooms_are_attributes_that_are_loaded_when_they_are_first_asked_for():
    code = (
        "import sys, fastclf; loaded = {name for name in sys.modules if name.startswith('fastclf.')};"
        "print(sorted(loaded), fastclf.svm.LinearSVC.__name__, 'fastclf.svm.svc' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['fastclf._lazy'] LinearSVC False\n"


def lint(folder):
    return subprocess.run(
        [sys.executable, str(folder / ".ci" / "rooms.py")], capture_output=True, text=True, check=False
    )


@pytest.fixture
def checkout(tmp_path):
    """A copy of the files that the lint reads; skips in an sdist, which does not contain the script of the lint."""
    if not (CHECKOUT / ".ci" / "rooms.py").exists():
        pytest.skip("the script that checks imports against the map is in the repository only")
    for name in (".ci/rooms.py", "CONTRIBUTING.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((CHECKOUT / name).read_text())
    for folder in ("fastclf", "src_cython", "tests", "bench"):
        for path in (CHECKOUT / folder).rglob("*.p[yx]*"):
            if path.suffix in (".py", ".pyx", ".pxd"):
                copy = tmp_path / path.relative_to(CHECKOUT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(path.read_text())
    return tmp_path


def test_the_imports_are_those_of_the_map(checkout):
    result = lint(checkout)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("path", "line", "told"),
    [
        ("fastclf/tree/nodes.py", "from ..svm.svc import SVC", "tree.nodes imports svm.svc: tree may not import svm"),
        ("fastclf/tree/nodes.py", "from ..svm import SVC", "tree.nodes imports svm: tree may not import svm"),
        ("fastclf/_csr.py", "from .tree import rules", "_csr imports tree: the root may not import tree"),
        ("fastclf/_threads.py", "from . import _csr", "a circle: _threads -> _csr -> "),
        ("fastclf/strange/new.py", "", "strange: no such room is on the map"),
        ("tests/strange/test_new.py", "", "tests/strange: no such room is on the map"),
        ("CONTRIBUTING.md", "", "svm imports nothing of storage, which the map lets it"),
        ("src_cython/tree/_prune.pyx", "from svm._smo cimport x", "tree._prune imports svm._smo: tree may not"),
    ],
)
def test_an_import_that_the_map_does_not_allow_fails(checkout, path, line, told):
    changed = checkout / path
    changed.parent.mkdir(exist_ok=True)
    before = changed.read_text() if changed.exists() else ""
    changed.write_text(
        before.replace("`kernels`, `sums`, `linear_model` |", "`kernels`, `storage`, `sums`, `linear_model` |")
        + f"\n{line}\n"
    )
    result = lint(checkout)
    assert result.returncode == 1
    assert re.search(re.escape(told), result.stdout), result.stdout
