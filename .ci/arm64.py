"""Build for arm64, and run the kernels' tests under an emulator: python3.11 .ci/arm64.py [TESTS ...]

Wanted, on Debian 12: apt-get install qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross. Everything else is
fetched into build/arm64: Debian's Python for arm64, checked by apt against Debian's keys, and the arm64 wheels of NumPy
and of what the tests import. The interpreter that runs this script is Python 3.11 too, as that is Debian 12's.

FASTCLF_SIMD=baseline runs the tests without dot products. Each instruction is emulated, which takes 10 to 20 times as
long as on a processor: without TESTS only those run that reach a kernel of each kind. For a folder of the tests as
ROOM: make test-arm64 ROOM=neighbors.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

FOLDER = ROOT / "build" / "arm64"
SYSTEM, SITE, HOST = FOLDER / "system", FOLDER / "site", FOLDER / "host"
TRIPLE = "aarch64-linux-gnu"
PACKAGES = [
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libpython3.11-dev",
    "libc6",
    "libexpat1",
    "zlib1g",
    "libssl3",
    "libffi8",
    "libbz2-1.0",
    "liblzma5",
    "libsqlite3-0",
    "libgcc-s1",
    "libstdc++6",
    "libuuid1",
    "libcrypt1",
    "libgomp1",
]
# The instructions that compute with vectors; others only move them.
ARITHMETIC = r"\b(f?add|f?sub|f?mul|f?mla|fmls|fdiv|f?max|f?min|fcm\w+|fneg|fabs|smull2?|smlal2?|sdot|cnt|eor|and)\s+v"
WHEELS = ["numpy", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "pytest", "hypothesis"]
# Tests that start sys.executable as a process need a program that this processor can run.
WRAPPER = """#!/bin/sh
exec qemu-aarch64-static -0 {python} -L {system} {system}/usr/bin/python3.11 "$@"
"""
TESTS = [
    "test_golden.py",
    "test_simd.py",
    "kernels",
    "linear_model/test_linear.py",
    "naive_bayes/test_bayes.py",
    "neighbors/test_bits.py",
    "neighbors/test_cells.py",
    "neighbors/test_filter.py",
    "neighbors/test_formulas.py",
    "neighbors/test_kdtree.py",
    "neighbors/test_missing.py",
    "neighbors/test_neighbors.py",
    "neighbors/test_sparse.py",
    "sums",
    "svm/test_newton.py",
    "svm/test_svm.py",
    "tree/test_tree.py",
]


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def fetch_system():
    """Unpack Debian's arm64 packages, with package lists apart from those of this machine."""
    lists = FOLDER / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        (lists / folder).mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (lists / "sources.list").write_text(f"deb [signed-by={key}] http://deb.debian.org/debian bookworm main\n")
    (lists / "status").touch()
    settings = {
        "APT::Sandbox::User": "root",
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::Etc::sourcelist": lists / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": lists / "lists",
        "Dir::State::status": lists / "status",
        "Dir::Cache": lists / "cache",
    }
    apt = ["apt-get", "-qq", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    run(*apt, "update")
    run(*apt, "download", *PACKAGES, cwd=lists / "debs")
    for package in sorted((lists / "debs").glob("*.deb")):
        run("dpkg-deb", "-x", package, SYSTEM)
    python = SYSTEM / "usr" / "bin" / "python"
    python.write_text(WRAPPER.format(python=python, system=SYSTEM))
    python.chmod(0o755)
    HOST.mkdir(exist_ok=True)
    shutil.copy(SYSTEM / "usr" / "lib" / "python3.11" / f"_sysconfigdata__{TRIPLE}.py", HOST)


def fetch_wheels():
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--target", SITE]
    tags = [f"--platform=manylinux{tag}_aarch64" for tag in ("_2_28", "_2_27", "_2_17", "2014")]
    run(*pip, *tags, "--python-version=3.11", "--implementation=cp", "--only-binary=:all:", *WHEELS)


def build():
    """The folder of the package for arm64."""
    include = SYSTEM / "usr" / "include"
    environment = {
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": f"_sysconfigdata__{TRIPLE}",
        "PYTHONPATH": str(HOST),
        "CC": f"{TRIPLE}-gcc",
        "LDSHARED": f"{TRIPLE}-gcc -shared",
        "CFLAGS": f"-I{include / 'python3.11'} -I{include}",
    }
    run(sys.executable, "setup.py", "--quiet", "build", cwd=ROOT, env=os.environ | environment)
    [library] = (ROOT / "build" / "release").glob("lib.linux-aarch64*")
    return library


def vectors(library):
    """Fail unless each kernel has vector instructions, and some have those which make them fast; print the numbers."""
    sys.path.insert(0, str(ROOT))
    from setup import KERNELS

    wanted = {kernel.replace(".", "/"): ARITHMETIC for kernel in sorted(KERNELS)} | {
        "neighbors/_scan": r"\bfcmgt\b|\bfmul\s+v|\bfadd\s+v",
        "neighbors/_code_scan": r"\bsmull2?\s+v",
        "neighbors/_code_scan_dotprod": r"\bsdot\s+v",
        "neighbors/_bits_scan": r"\bcnt\s+v",
        "linear_model/_scores": r"\bfmla\s+v|\bfmul\s+v",
        "linear_model/_perceptron": r"\bfmla\s+v|\bfmul\s+v",
        "kernels/_values": r"\bfmla\s+v",
        "svm/_smo": r"\bfcmgt\s+v",
        "naive_bayes/_joints": r"\bf(add|mul|mla|sub)\s+v",
    }
    missing = []
    for name, instruction in wanted.items():
        [path] = (library / "fastclf").glob(f"{name}.cpython*.so")
        code = subprocess.run([f"{TRIPLE}-objdump", "-d", path], capture_output=True, text=True, check=True).stdout
        count = len(re.findall(instruction, code))
        print(f"{name}: {count} instructions with vectors, of {code.count(chr(10))}")
        missing += [name] if count < 4 else []
    if missing:
        sys.exit(f"no vectors in {', '.join(missing)}")


def test(library, tests):
    python = [SYSTEM / "usr" / "bin" / "python"]
    environment = {"PYTHONPATH": f"{library}:{SITE}", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    away = FOLDER / "away"
    away.mkdir(exist_ok=True)
    run(*python, "-m", "fastclf", "info", cwd=away, env=os.environ | environment)
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not build and not once"]
    paths = [test if test.startswith("-") else ROOT / "tests" / test for test in tests]
    run(*python, *pytest, *paths, cwd=away, env=os.environ | environment)


if __name__ == "__main__":
    if sys.version_info[:2] != (3, 11) or platform.machine() != "x86_64":
        sys.exit(
            "Python 3.11 on x86-64 Linux is wanted, as Debian 12's Python for arm64 is 3.11: make PYTHON=python3.11"
        )
    if not (HOST / f"_sysconfigdata__{TRIPLE}.py").exists():
        fetch_system()
    if not SITE.exists():
        fetch_wheels()
    library = build()
    vectors(library)
    test(library, sys.argv[1:] or TESTS)
