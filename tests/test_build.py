"""The build: from the sdist alone, rebuilding only changed files, and with compilers that lack the x86 levels."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import CHECKOUT

from fastclf import _simd

pytestmark = pytest.mark.build


def run(*command, cwd, **environment):
    # PYTHONPATH is removed, so that only the packages built here can be found
    unwanted = {"PYTHONPATH", "FASTCLF_DEBUG", "FASTCLF_LEVELS", "FASTCLF_SYMBOLS"}
    inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=inherited | environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sdist, built from a copy of the checkout without any built files."""
    copy = tmp_path_factory.mktemp("checkout") / "fastclf"
    unwanted = shutil.ignore_patterns("build", ".git", ".venv", "__pycache__", "*.egg-info", ".*_cache")
    shutil.copytree(CHECKOUT, copy, ignore=unwanted)
    code = "import setuptools.build_meta as backend; backend.build_sdist('dist')"
    run(sys.executable, "-c", code, cwd=copy)
    (path,) = (copy / "dist").glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel, built from the sdist by pip in a separate environment."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def translated(sdist, tmp_path_factory):
    """The unpacked sdist, with the C files that Cython makes from it."""
    parent = tmp_path_factory.mktemp("translated")
    with tarfile.open(sdist) as archive:
        archive.extractall(parent, filter="data")
    (folder,) = parent.iterdir()
    run(sys.executable, "setup.py", "--quiet", "--version", cwd=folder)
    return folder


@pytest.fixture
def unpacked(translated, tmp_path):
    return shutil.copytree(translated, tmp_path / "fastclf")


def stand_in(folder, script):
    """A compiler that is a shell script."""
    path = folder / "cc"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return {"CC": str(path), "LDSHARED": f"{path} -shared"}


def test_the_wheel_of_the_sdist_installs_in_a_fresh_environment_and_runs_from_elsewhere(wheel, tmp_path):
    environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(sys.executable, "-m", "venv", environment, cwd=elsewhere)
    bin_folder = environment / ("Scripts" if os.name == "nt" else "bin")
    run(bin_folder / "pip", "install", "--quiet", wheel, cwd=elsewhere)
    code = (
        "import fastclf; print(fastclf.KNeighborsClassifier(1).fit([[1.0], [2.0]], ['a', 'b']).predict([[3.0]])[0]);"
        "from importlib.resources import files;"
        "print(files('fastclf').joinpath('_heap.pxd').is_file(), files('fastclf').joinpath('py.typed').is_file())"
    )
    assert run(bin_folder / "python", "-c", code, cwd=elsewhere).split() == ["b", "True", "True"]
    assert "SIMD" in run(bin_folder / "fastclf", "info", cwd=elsewhere)


def test_the_wheel_carries_what_others_compile_against_and_no_source_of_ours(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    header = "fastclf/include/fastclf.h"
    for wanted in (
        "fastclf/_heap.pxd",
        "fastclf/capi.pxd",
        header,
        "fastclf/py.typed",
        "fastclf/neighbors/classifier.py",
    ):
        assert wanted in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    ours = [name for name in names if name.endswith((".c", ".pyx", ".h")) or name.startswith("tests")]
    assert ours == [header]


def compiled(folder):
    """Name and time of every compiled module below a build folder."""
    return {
        dotted(path.relative_to(package)): path.stat().st_mtime_ns
        for package in folder.glob("build/release/lib*/fastclf")
        for path in package.rglob("*.so")
    }


def dotted(path):
    """The name of a module in a package, from its file."""
    return ".".join([*path.parts[:-1], path.name.split(".")[0]])


def declarations(folder, file):
    """The names of the .pxd files that one of our source files reads, directly or indirectly."""
    found = set()
    text = (folder / "src_cython" / file).read_text()
    for name in re.findall(r"^from (?:fastclf\.)?((?:\w+\.)?_\w+) cimport", text, re.MULTILINE):
        found.add(name)
        declared = name.replace(".", "/") + ".pxd"
        if (folder / "src_cython" / declared).exists():
            found |= declarations(folder, declared)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in compiler is a shell script")
def test_a_change_rebuilds_exactly_what_depends_on_it(unpacked, tmp_path):
    # this test is about the list of compiled files, not about their content
    compiler = stand_in(tmp_path, 'while [ "$1" != -o ]; do shift; [ $# -gt 0 ] || exit 0; done; : > "$2"\n')

    def rebuilt_by(changed):
        before = compiled(unpacked)
        if changed:
            path = unpacked / changed
            path.write_text("# changed\n" + path.read_text())
        run(sys.executable, "setup.py", "build", cwd=unpacked, **compiler)
        after = compiled(unpacked)
        return {name for name in after if after[name] != before.get(name)}

    def levels(name):
        higher = (f"{name}_v", f"{name}_dotprod")
        return {module for module in everything if module == name or module.startswith(higher)}

    everything = rebuilt_by(None)
    folder = unpacked / "src_cython"
    sources = {dotted(path.relative_to(folder)) for path in folder.rglob("*.pyx")}
    assert {*sources, "_memoryviews"} <= everything
    assert rebuilt_by(None) == set()
    assert rebuilt_by("src_cython/_cpu.pyx") == {"_cpu"}
    assert rebuilt_by("src_cython/neighbors/_missing_scan.pyx") == levels("neighbors._missing_scan")
    assert rebuilt_by("fastclf/neighbors/classifier.py") == set()
    users = {name for name in sources if "_heap" in declarations(unpacked, name.replace(".", "/") + ".pyx")}
    assert {"neighbors._scan", "neighbors._code_scan"} <= users < sources
    assert rebuilt_by("fastclf/_heap.pxd") == set().union(*map(levels, users))
    assert not [path for folder in ("fastclf", "src_cython") for path in (unpacked / folder).rglob("*.[co]")]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in compiler is a shell script")
def test_levels_are_built_by_name_or_as_the_machine_has_them(unpacked, tmp_path):
    compiler = stand_in(
        tmp_path,
        'case "$*" in */native.[co]*) exec gcc "$@";; esac\n'
        'while [ "$1" != -o ]; do shift; [ $# -gt 0 ] || exit 0; done; : > "$2"\n',
    )

    def kernels(levels):
        run(sys.executable, "setup.py", "build", cwd=unpacked, FASTCLF_LEVELS=levels, **compiler)
        [library] = (unpacked / "build" / f"release-{levels.replace(',', '-')}").glob("lib*")
        return {path.name.split(".")[0] for path in library.rglob("_scan*.so")}

    suffixes = {"baseline": "", "x86-64-v3": "_v3", "x86-64-v4": "_v4", "x86-64-v4-vnni": "_v4"}
    assert kernels("baseline") == {"_scan"}
    assert kernels("native") == {f"_scan{suffixes[_simd.available()[-1]]}"}
    with pytest.raises(AssertionError, match="FASTCLF_LEVELS=avx9: avx9 is none of baseline"):
        kernels("avx9")


def test_the_wheel_is_small(wheel):
    packed = zipfile.ZipFile(wheel)
    assert wheel.stat().st_size < 5e6
    assert sum(file.file_size for file in packed.infolist()) < 12e6


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in compiler is a shell script")
def test_a_compiler_without_levels_or_vectors_builds_in_place_and_gives_the_same_answers(unpacked, tmp_path):
    compiler = stand_in(tmp_path, 'case "$*" in *-march*) exit 1;; esac\nexec gcc "$@"\n')
    compiler["CFLAGS"] = "-DFASTCLF_PLAIN_C"
    run(sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", cwd=unpacked, **compiler)
    code = "import fastclf; print(fastclf.KNeighborsClassifier.__module__, fastclf.__file__)"
    module, path = run(sys.executable, "-c", code, cwd=unpacked).split()
    assert module == "fastclf.neighbors.classifier"
    assert Path(path).parent == unpacked / "fastclf"

    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--target", site, "."]
    run(*install, cwd=unpacked, **compiler)
    code = "from fastclf import _simd; print(_simd.build_info()['levels'], _simd.available())"
    assert run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(site)) == "['baseline'] ['baseline']\n"
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    names = "neighbors/test_neighbors", "neighbors/test_filter", "neighbors/test_bits", "sums/test_moments"
    tests = [CHECKOUT / "tests" / f"{name}.py" for name in names]
    assert "passed" in run(*pytest_command, *tests, cwd=tmp_path, PYTHONPATH=str(site))


@pytest.mark.skipif(shutil.which("objdump") is None, reason="only objdump shows the instructions of a module")
def test_no_module_reads_more_bytes_of_a_mask_than_it_stored():
    """GCC 12 at -O1 under sanitizers stores 1 or 2 bytes of a mask, reads 4, and finds lanes that do not exist."""
    paths = [path for level in ("v4", "vnni") for path in Path(_simd.__file__).parent.rglob(f"*_{level}.*.so")]
    for path in paths:
        disassembly = ["objdump", "-d", "--no-show-raw-insn", str(path)]
        lines = subprocess.run(disassembly, capture_output=True, text=True, check=True).stdout.split("\n")
        stores = re.compile(r"\tkmov[bw] +%k\d,(\S*\(\S+\))")
        for number, line in enumerate(lines):
            if stored := stores.search(line):
                place = re.escape(stored[1])
                reads = re.compile(rf"\t(mov +{place},%(e|r\d+d)|(cmpl|testl|or|and|test) .*{place})")
                assert not any(map(reads.search, lines[number + 1 : number + 100])), f"{path.name}: {line}"
