"""Build, test and check a release in build/release-VERSION: python .ci/release.py VERSION [--dry] [--pythons P ...]

The committed tree is copied there, and only the copy gets the version, today's heading of CHANGELOG.md, CITATION.cff
and the recipe of conda-forge. From it come the sdist and, from the unpacked sdist, a wheel for each interpreter; each
is built twice, in two folders, and must have the same bytes. When all checks have passed, the changed files are copied
back, unless --dry was given, and the steps are printed that need a person's key.

The time stamp in all archives is midnight (UTC) of the release's date, so that anyone can build the same bytes from the
release's commit: SOURCE_DATE_EPOCH=$(date -u -d DATE +%s).
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGED = ["fastclf/__init__.py", "CHANGELOG.md", "CITATION.cff", "recipe/recipe.yaml"]
BY_HAND = """
{version} is built and checked in {folder}. What needs a person:
  1. git commit -am "Release {version}" && git tag -s v{version} -m "fastclf {version}" && git push --follow-tags
     The workflow "wheels" then builds the wheels of all platforms; download its artifacts into {dist}.
  2. Check each wheel (.ci/wheel.py check), add its line to {dist}/SHA256SUMS, and sign that list:
     gpg --detach-sign --armor SHA256SUMS
  3. twine upload {dist}/*.tar.gz {dist}/*.whl      (with a token of PyPI for the project)
  4. A release on the forge, with the files of {dist} and the section {version} of CHANGELOG.md
  5. A pull request to conda-forge's feedstock with recipe/recipe.yaml (its version and sha256 are filled in)
  6. A heading "## {next} (unreleased)" at the top of CHANGELOG.md
"""


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def output(*command, cwd=ROOT):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout


def parts(version):
    """(0, 2, 0) of "0.2.0"."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"VERSION is {version!r}; three numbers with dots are wanted: make release VERSION=0.2.0")
    return tuple(map(int, version.split(".")))


def replaced(path, pattern, new):
    """Replace the one place of a file that matches."""
    text, count = re.subn(pattern, new, path.read_text("utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{path} has {count} places like {pattern!r}; one is wanted")
    path.write_text(text, "utf-8")


def cut(tree, version, date):
    """Write the version and the date of a release into a copy of the tree."""
    parts(version)
    changelog = (tree / "CHANGELOG.md").read_text("utf-8")
    heading, body = re.search(r"^## (\S+ \(.*\))\n(.*?)(?=^## |\Z)", changelog, re.M | re.S).groups()
    if not heading.endswith("(unreleased)") or not body.strip():
        raise SystemExit(f"CHANGELOG.md begins with {heading!r}; an unreleased heading with changes below it is wanted")
    present = re.search(r'^__version__ = "(.*)"$', (tree / "fastclf/__init__.py").read_text("utf-8"), re.M)[1]
    released = re.findall(r"^## (\d+\.\d+\.\d+) \(\d", changelog, re.M)
    if parts(version) < parts(present) or version in released:
        raise SystemExit(f"VERSION is {version}; {present} is the present one, and {released} are released")
    replaced(tree / "CHANGELOG.md", rf"^## {re.escape(heading)}$", f"## {version} ({date})")
    replaced(tree / "fastclf/__init__.py", r'^__version__ = ".*"$', f'__version__ = "{version}"')
    replaced(tree / "CITATION.cff", r"^version: .*$", f"version: {version}")
    replaced(tree / "CITATION.cff", r"^date-released: .*$", f"date-released: {date}")
    replaced(tree / "recipe/recipe.yaml", r"^  version: \d.*$", f"  version: {version}")


def repacked(path, epoch):
    """Write an sdist again, with all times and owners the same and its files in order."""
    with tarfile.open(path) as archive:
        files = [(member, archive.extractfile(member).read()) for member in archive if member.isfile()]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, content in sorted(files, key=lambda file: file[0].name):
            plain = tarfile.TarInfo(member.name)
            plain.size, plain.mtime, plain.mode = len(content), epoch, 0o755 if member.mode & 0o100 else 0o644
            archive.addfile(plain, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def sdist(tree, folder, epoch):
    """The path of the sdist of a tree."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, cwd=tree)
    [path] = folder.glob("*.tar.gz")
    repacked(path, epoch)
    return path


def wheel(python, source, folder, name):
    """The path of the wheel that an interpreter builds from an sdist unpacked into a folder of its own."""
    place = folder / name
    with tarfile.open(source) as archive:
        archive.extractall(place, filter="data")
    [tree] = place.glob("fastclf-*")
    run(python, ROOT / ".ci" / "wheel.py", "build", place / "wheel", tree)
    [path] = (place / "wheel").glob("*.whl")
    return path


def same(first, second):
    """The first file, if the second has the same bytes; otherwise the end."""
    if first.name != second.name or first.read_bytes() != second.read_bytes():
        if first.suffix == ".whl":
            with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
                differ = [name for name in a.namelist() if name not in b.namelist() or a.read(name) != b.read(name)]
            print("these files differ:", *differ[:20])
        raise SystemExit(f"{first} and {second} have different bytes")
    print(f"{first.name}: the same bytes in two builds")
    return first


def licences(tree, wheels, target):
    """Write which licence each part of the wheels has; a part that nobody knows about is an end."""
    cython = output(sys.executable, "-c", "import Cython; print(Cython.__version__)").strip()
    lines = [
        "fastclf                   BSD-3-Clause (LICENSE)",
        f"C code made by Cython {cython}   Apache-2.0, which lays no claim to its output and the parts in it",
        "",
        "No other library is inside: the compiled modules link to the system's C library alone.",
        "",
        (tree / "LICENSE").read_text("utf-8"),
    ]
    for path in wheels:
        foreign = [
            name for name in zipfile.ZipFile(path).namelist() if not re.match(r"fastclf(/|-[\d.]+\.dist-info/)", name)
        ]
        if foreign:
            raise SystemExit(f"{path.name} has {', '.join(foreign[:5])}, whose licence is not listed")
    target.write_text("\n".join(lines), "utf-8")


def environment(python, folder):
    """An environment with the interpreter `python` and the packages that build a wheel; the path of its Python."""
    run(python, "-m", "venv", folder)
    made = folder / "bin" / "python"
    pip = [made, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    run(*pip, "--upgrade", "pip", "setuptools>=77", "cython>=3.1", "wheel")
    run(*pip, "--group", "dist", cwd=ROOT)
    return made


def checked(folder, source, wheels):
    """Check what is going to be uploaded, with others' tools and ours."""
    dist = folder / "dist"
    dist.mkdir()
    files = [Path(shutil.copy(path, dist)) for path in (source, *wheels)]
    wheels = files[1:]
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(sys.executable, "-m", "check_wheel_contents", "--toplevel", "fastclf", *wheels)
    run(sys.executable, ROOT / ".ci" / "wheel.py", "check", *wheels)
    licences(folder / "tree", wheels, dist / "LICENCES.txt")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(dist.iterdir())]
    (dist / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print((dist / "SHA256SUMS").read_text(), end="")
    return dist


def release(version, dry, pythons, tests):
    parts(version)
    if output("git", "status", "--porcelain").strip():
        if not dry:
            raise SystemExit("the tree has changes that are not committed; commit them, or try with DRY=1")
        print("changes that are not committed are not in this trial")
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    epoch = int(datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    folder = ROOT / "build" / f"release-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    tree = folder / "tree"
    run("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", tree)
    cut(tree, version, date)
    os.environ.setdefault("FASTCLF_DATA", str(ROOT.parent / "shared" / "data"))
    for target in tests.split():
        run("make", target, f"PYTHON={sys.executable}", f"VENV={folder / 'environment'}", cwd=tree)

    source = same(sdist(tree, folder / "sdist", epoch), sdist(tree, folder / "again", epoch))
    replaced(
        tree / "recipe/recipe.yaml", r"^  sha256: .*$", f"  sha256: {hashlib.sha256(source.read_bytes()).hexdigest()}"
    )
    wheels = []
    for i, python in enumerate(pythons or [sys.executable]):
        made = environment(python, folder / f"builder-{i}") if pythons else Path(python)
        wheels.append(same(*(wheel(made, source, folder, f"{name}-{i}") for name in ("built", "rebuilt"))))
        run(made, ROOT / ".ci" / "wheel.py", "try", wheels[-1], folder / f"bare-{i}")
    dist = checked(folder, source, wheels)
    if dry:
        print(f"DRY=1: nothing changed outside of {folder}")
    else:
        for name in CHANGED:
            shutil.copy(tree / name, ROOT / name)
    following = ".".join(map(str, (*parts(version)[:1], parts(version)[1] + 1, 0)))
    print(BY_HAND.format(version=version, folder=folder, dist=dist, next=following))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--pythons", nargs="+", default=[])
    parser.add_argument("--tests", default="lint test")
    given = parser.parse_args()
    release(given.version, given.dry, given.pythons, given.tests)
