"""Build, check and try wheels.

    python .ci/wheel.py build FOLDER [SOURCE]
    python .ci/wheel.py check WHEEL ...
    python .ci/wheel.py try WHEEL FOLDER [TESTS ...]

`build` makes the wheel of this Python from the tree SOURCE (default: this one) into FOLDER, and on Linux has auditwheel
name the oldest C library that it runs with. `check` holds wheels to their limits: sizes, no symbols, no sources. `try`
installs a wheel into a bare environment in FOLDER and runs the kernels' tests there: without a compiler on the PATH,
and without the package's sources.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_PACKED = 5_000_000
MOST_INSTALLED = 12_000_000
ROOMS = ["kernel_approximation", "kernels", "linear_model", "metrics", "model_selection", "naive_bayes", "neighbors"]
ROOMS += ["preprocessing", "storage", "sums", "svm", "tree"]
# The packages that the tests import. Tests that compile (`embedding/`, test_build.py) or read the sources
# (test_docs.py, ...) are not run on a wheel.
NEEDS = ["pytest", "pytest-xdist", "hypothesis", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "matplotlib"]


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def build(folder, source=ROOT):
    """The path of the wheel of this Python in `folder`, made from `source`."""
    raw = Path(folder, "raw")
    shutil.rmtree(raw, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    run(*pip, "--no-build-isolation", "--no-deps", "--wheel-dir", raw, source)
    [wheel] = raw.glob("*.whl")
    if sys.platform == "linux":
        repaired = raw / "repaired"
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        repair = [sys.executable, "-m", "auditwheel", "repair", "--zip-compression-level", "9"]
        repair += ["--wheel-dir", repaired, wheel]
        run(*repair, env=os.environ | {"PATH": tools})
        [wheel] = repaired.glob("*.whl")
    target = Path(folder, wheel.name)
    shutil.move(wheel, target)
    shutil.rmtree(raw)
    return target


def symbols(content):
    """The names of an ELF file's sections that only debuggers and linkers read."""
    return sorted(name.decode() for name in re.findall(rb"\.symtab|\.debug_\w+", content))


def faults(path):
    """Sentences that say in what a wheel is not as it must be."""
    with zipfile.ZipFile(path) as wheel:
        installed = sum(file.file_size for file in wheel.infolist())
        sizes = {"packed": (path.stat().st_size, MOST_PACKED), "installed": (installed, MOST_INSTALLED)}
        for kind, (size, most) in sizes.items():
            print(f"{path.name}: {size / 1e6:.2f} MB {kind}; {most / 1e6:g} MB is the most")
            if size > most:
                yield f"{size} bytes {kind}; {most} is the most"
        for name in wheel.namelist():
            if name.endswith((".c", ".pyx", ".o")) or name.startswith(("tests/", "src_cython/")):
                yield f"{name} is a source, which a wheel does not need"
            if name.endswith(".so") and symbols(wheel.read(name)):
                yield f"{name} has the sections {', '.join(symbols(wheel.read(name)))}, which only debuggers read"
        if not any(name.endswith("licenses/LICENSE") for name in wheel.namelist()):
            yield "it lacks the licence"
    if sys.platform == "linux" and "-linux_" in path.name:
        yield "auditwheel has not said which systems it is for"


def check(paths):
    """Print every fault of the wheels; the number of faults."""
    found = [f"{path.name}: {fault}" for path in paths for fault in faults(path)]
    print("\n".join(found), end="\n" if found else "")
    return len(found)


def bare(folder):
    """The path of a new environment's Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", folder / "environment")
    return folder / "environment" / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name


def try_out(wheel, folder, chosen):
    """Install a wheel where there is neither compiler nor source, and run the tests there."""
    python = bare(folder)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    run(*pip, wheel)
    path = {"PATH": str(python.parent)}
    without = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTCLF", "CC"))}
    code = "import fastclf; print(fastclf.KNeighborsClassifier(1).fit([[1.0], [2.0]], ['a', 'b']).predict([[3.0]])[0])"
    run(python, "-c", code, cwd=folder, env=without | path)
    run(python.parent / "fastclf", "info", cwd=folder, env=without | path)
    run(*pip, *NEEDS)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)  # this file declares the markers of pytest
    data = {"FASTCLF_DATA": os.environ.get("FASTCLF_DATA", str(ROOT.parent / "shared" / "data"))}
    tests = chosen or [f"tests/{room}" for room in ROOMS] + [
        f"tests/test_{name}.py" for name in ("golden", "simd", "threads")
    ]
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not build and not once"]
    pytest += ["-n", os.environ.get("WORKERS", "auto"), "--dist", "loadfile", "--no-loadscope-reorder"]
    run(*pytest, *tests, cwd=folder, env=without | path | data)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    if command == "build":
        built = build(*map(Path, arguments))
        sys.exit(1 if check([built]) else None)
    elif command == "check":
        sys.exit(1 if check(list(map(Path, arguments))) else None)
    elif command == "try":
        try_out(Path(arguments[0]).resolve(), Path(arguments[1]).resolve(), arguments[2:])
    else:
        sys.exit(__doc__)
