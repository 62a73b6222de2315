"""The scripts of a release: what they change in a tree, what they refuse, and archives that are the same every time."""

import importlib.util
import os
import shutil
import sys
import tarfile
import zipfile

import pytest
from conftest import CHECKOUT

pytestmark = pytest.mark.once


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
