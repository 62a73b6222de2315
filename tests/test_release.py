"""The scripts of a release: what they change in a tree, what they refuse, and archives that are the same every time."""

import ast
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from conftest import CHECKOUT

pytestmark = pytest.mark.once

TESTS = CHECKOUT / "tests"


def script(name):
    """A script of .ci as a module; the sdist has no such scripts."""
    path = CHECKOUT / ".ci" / f"{name}.py"
    if not path.exists():
        pytest.skip("the scripts of a release are in the repository alone")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release():
    return script("release")


@pytest.fixture
def tree(tmp_path, release):
    """The files that a release changes."""
    for name in release.CHANGED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, tmp_path / name)
    return tmp_path


def test_a_release_writes_version_and_date_into_every_file_that_has_them(release, tree):
    release.cut(tree, "7.1.0", "2031-02-03")
    texts = {name: (tree / name).read_text() for name in release.CHANGED}
    assert '__version__ = "7.1.0"\n' in texts["fastclf/__init__.py"]
    assert "\n## 7.1.0 (2031-02-03)\n" in texts["CHANGELOG.md"]
    assert "(unreleased)" not in texts["CHANGELOG.md"]
    assert "\nversion: 7.1.0\ndate-released: 2031-02-03\n" in texts["CITATION.cff"]
    assert "\n  version: 7.1.0\n" in texts["recipe/recipe.yaml"]


@pytest.mark.parametrize(
    ("version", "told"),
    [("", "VERSION is ''; three numbers"), ("1.0", "three numbers with dots"), ("0.0.9", "VERSION is 0.0.9; ")],
)
def test_a_version_that_is_none_or_too_old_is_refused(release, tree, version, told):
    with pytest.raises(SystemExit, match=told):
        release.cut(tree, version, "2031-02-03")


def test_a_changelog_without_new_entries_is_refused(release, tree):
    release.cut(tree, "7.1.0", "2031-02-03")
    with pytest.raises(SystemExit, match="an unreleased heading with changes below it is wanted"):
        release.cut(tree, "7.2.0", "2031-03-03")


def test_an_sdist_packed_again_has_the_same_bytes_whenever_its_files_were_written(release, tmp_path):
    packed = []
    for when in (1_000_000_000, 1_500_000_000):
        folder = tmp_path / str(when) / "fastclf-1"
        folder.mkdir(parents=True)
        names = ["b", "a"] if when == 1_000_000_000 else ["a", "b"]
        for name in names:
            (folder / name).write_text(name)
            os.utime(folder / name, (when, when))
        path = tmp_path / f"{when}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                archive.add(folder / name, f"fastclf-1/{name}")
        release.repacked(path, 1_700_000_000)
        packed.append(path.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(path) as archive:
        assert [(each.name, each.mtime) for each in archive] == [(f"fastclf-1/{n}", 1_700_000_000) for n in "ab"]


def test_a_wheel_that_is_too_large_or_has_sources_or_symbols_is_told_of(tmp_path):
    wheel = script("wheel")
    path = tmp_path / "fastclf-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fastclf/_scan.pyx", "")
        archive.writestr("fastclf/_scan.so", b"\x7fELF .symtab" + bytes(wheel.MOST_INSTALLED))
    told = "\n".join(wheel.faults(path))
    for fault in ("bytes installed", "_scan.pyx is a source", "has the sections .symtab", "it lacks the licence"):
        assert fault in told
    assert ("auditwheel has not said" in told) == (sys.platform == "linux")


def imported(paths):
    """The packages of others that the test files below the paths import when they are collected."""
    files = {file for path in paths for file in ([path] if path.suffix else path.rglob("test_*.py"))}
    todo, packages = list(files), set()
    while todo:
        for node in ast.parse(todo.pop().read_text("utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in (
                {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"fastclf", "joblib"}
            ):  # scikit-learn needs joblib
                own = [*TESTS.glob(f"{name}.py"), *TESTS.glob(f"*/{name}.py")]
                todo += [file for file in own if file not in files]
                files |= set(own)
                packages |= set() if own else {name}
    return {"scikit-learn" if name == "sklearn" else name for name in packages} - {"numpy"}


def test_whoever_runs_tests_elsewhere_installs_what_they_import():
    wheel, arm64 = script("wheel"), script("arm64")
    lists = {"wheel.py": (wheel.NEEDS, wheel.ROOMS), "arm64.py": (arm64.WHEELS, arm64.TESTS)}
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    for each in [settings, *(each for each in settings["overrides"] if "test-command" in each)]:
        command = each["test-command"].split()
        ignored = {CHECKOUT / word for option, word in itertools.pairwise(command) if option == "--ignore"}
        paths = {CHECKOUT / word for word in command if word.startswith("tests/")} - ignored
        files = {file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])} - ignored
        lists[f"cibuildwheel, {each.get('select', 'the rest')}"] = each["test-requires"], files
    makefile = (CHECKOUT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    [oldest] = re.findall(r"cython==\S+ .*", makefile)
    [rooms] = re.findall(r"^KERNEL_ROOMS := (.*)", makefile, re.MULTILINE)
    lists["Makefile"] = oldest.split(), rooms.split()
    for name, (installed, paths) in lists.items():
        missing = imported([TESTS / path for path in paths]) - set(installed)
        assert not missing, f"{name} does not install {', '.join(sorted(missing))}"


@pytest.mark.skipif(sys.platform == "win32", reason="make is a tool of Unix")
@pytest.mark.parametrize("target", ["demo", "check", "test-debug", "fuzz", "wheel", "test-oldest"])
def test_make_runs_in_a_folder_whose_name_has_spaces(tmp_path, target):
    folder = tmp_path / "my folder"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "setup.py", "fastclf", "src_cython"):
        (folder / name).symlink_to(CHECKOUT / name)
    command = ["make", "--dry-run", target, f"PYTHON={sys.executable}"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for command in result.stdout.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        split = [word for word in words if word.endswith("/my") or word.startswith("folder/")]
        assert not split, f"a name is split at its space in {command!r}"
