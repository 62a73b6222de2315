"""Build the compiled modules of fastclf: `src_cython/ROOM/NAME.pyx` becomes `fastclf.ROOM.NAME`.

The kernels in KERNELS are compiled once for each SIMD level, as `NAME`, `NAME_v3`, `NAME_v4`, ...; `fastclf/_simd.py`
loads the best one that the machine can run. All generated files are under `build/`.

Environment:
FASTCLF_DEBUG=1         bounds checks, assertions and filled unset variables, in a separate build folder
FASTCLF_LEVELS=native   only the level that this machine uses, in a separate build folder; or names of levels, "a,b"
FASTCLF_SANITIZE=address,undefined   or thread: with sanitizers, in a separate build folder (`make sanitize`)
FASTCLF_SYMBOLS=1       with symbols for debuggers and profilers: four times the size
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# The modules that are compiled once per level. Their sums have a stated order, which -fassociative-math would change.
KERNELS = {
    "embedding._building_blocks",
    "kernels._values",
    "linear_model._elastic_net",
    "linear_model._likelihood",
    "linear_model._perceptron",
    "linear_model._scores",
    "naive_bayes._joints",
    "neighbors._bits_scan",
    "neighbors._cells_build",
    "neighbors._cells_search",
    "neighbors._code_scan",
    "neighbors._encode",
    "neighbors._formula_scan",
    "neighbors._inverted_scan",
    "neighbors._kdtree_search",
    "neighbors._missing_scan",
    "neighbors._scan",
    "preprocessing._products",
    "sums._class_sums",
    "sums._moments",
    "sums._screens",
    "svm._cholesky",
    "svm._crammer_singer",
    "svm._pair_scores",
    "svm._pair_votes",
    "svm._small_pairs",
    "svm._small_planes",
    "svm._smo",
    "svm._soft_margin",
    "tree._grow",
}

# The kernels that vectors of 512 bits make no faster: they follow indices or single coordinates, or read rows once
# (_class_sums takes up to 1.7 times as long with them; _perceptron takes 1.1 to 1.4 times as long for two classes, and
# 0.93 times as long for five). In a build with all levels, whose size they would increase, the level v4 does without
# them.
SAME_AT_V3 = {
    "linear_model._elastic_net",
    "linear_model._perceptron",
    "neighbors._inverted_scan",
    "sums._class_sums",
    "svm._crammer_singer",
    "svm._soft_margin",
}

# The kernels that -O3 makes larger by up to two thirds, but not faster: their loops are written with vectors.
LIGHTER = {
    "naive_bayes._joints",
    "neighbors._bits_scan",
    "neighbors._cells_search",
    "neighbors._code_scan",
    "neighbors._formula_scan",
    "neighbors._kdtree_search",
    "neighbors._missing_scan",
    "svm._pair_votes",
    "svm._small_pairs",
    "svm._smo",
}

# The kernels that copies of loops and functions, for each value of a condition or argument, make larger by a tenth, but
# not faster.
UNSPLIT = {"neighbors._scan", "tree._grow"}
UNSPLIT_FLAGS = ["-fno-unswitch-loops", "-fno-ipa-cp-clone", "-fno-split-paths"]

# The kernels of codes, which products of bytes make faster.
CODES = {"neighbors._cells_build", "neighbors._cells_search", "neighbors._code_scan"}

# {level: (suffix of a module's name, compiler flags, the kernels that are compiled for the level)}
LEVELS = {
    "baseline": ("", [], KERNELS),
    "x86-64-v3": ("_v3", ["-march=x86-64-v3"], KERNELS),
    "x86-64-v4": (
        "_v4",
        ["-march=x86-64-v4", "-mprefer-vector-width=512"],
        KERNELS if os.environ.get("FASTCLF_LEVELS") else KERNELS - SAME_AT_V3,
    ),
    "x86-64-v4-vnni": (
        "_vnni",
        ["-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512"],
        CODES,
    ),
    # The baseline of arm64 has NEON's vectors, so that only products of codes gain by a higher level.
    "arm64-dotprod": ("_dotprod", ["-march=armv8.2-a+dotprod"], CODES),
}


def _set(name):
    return os.environ.get(name, "0") not in ("", "0")


SANITIZE = os.environ.get("FASTCLF_SANITIZE", "")
DEBUG = _set("FASTCLF_DEBUG")
SYMBOLS = DEBUG or bool(SANITIZE) or _set("FASTCLF_SYMBOLS")
WANTED = os.environ.get("FASTCLF_LEVELS", "")
KIND = SANITIZE.replace(",", "-") or ("debug" if DEBUG else "release")
WITH_SYMBOLS = SYMBOLS and KIND == "release"
BUILD = Path("build", "-".join([KIND, *["symbols"] * WITH_SYMBOLS, *filter(None, WANTED.split(","))]))
SOURCE = Path("src_cython")
BUILD_INFO = BUILD / "include" / "build_info.h"

FLAGS = ["-O1", "-ftrivial-auto-var-init=pattern"] if DEBUG else ["-O3"]
FLAGS += ["-g" if SYMBOLS else "-g0"]
# -fwrapv defines the overflow of signed integers, as the flags of Python's own build do.
SANITIZERS = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-fwrapv", "-O2"] if SANITIZE else []
FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wno-psabi"]
# Unwind tables, which only debuggers and profilers read, would be a twentieth of the size of a module.
FLAGS += [] if SYMBOLS else ["-fno-asynchronous-unwind-tables"]
# Calls of Python's functions without a jump table, and no names but that of the module's start, are smaller. So is code
# that leaves integers and pending exceptions to Python's own functions, which take some nanoseconds more for a call.
FLAGS += ["-fno-plt", "-fvisibility=hidden"]
FLAGS += ["-DCYTHON_USE_PYLONG_INTERNALS=0", "-DCYTHON_FAST_THREAD_STATE=0"]
MSVC_FLAGS = ["/O2", "/fp:precise"]
# Code and constants share pages, which saves 8 kB in each of a hundred modules.
LINK_FLAGS = (
    ["-Wl,--strip-all", "-Wl,-z,noseparate-code", "-Wl,--build-id=none"]
    if sys.platform == "linux" and not SYMBOLS
    else SANITIZERS[:1]
)

# Cython's code for typed memoryviews is compiled once for all modules: this halves the time of a build.
SHARED = "fastclf._memoryviews"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    # the signatures of compiled functions, which are internal, would take 8 kB of a wheel
    "embedsignature": DEBUG,
    "freethreading_compatible": True,
}


def write_if_changed(path, text):
    """Write a file, unless it has this text already: its old time stamp then saves a rebuild."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def extension(name, source):
    return Extension(
        f"fastclf.{name}",
        [str(source)],
        include_dirs=[str(SOURCE), str(BUILD_INFO.parent)],
        define_macros=[("FASTCLF_DEBUG", "1")] if DEBUG else [],
        extra_link_args=LINK_FLAGS,
    )


def modules():
    """An Extension for each module, as input for Cython."""
    sources = sorted(SOURCE.rglob("*.pyx"))
    found = [extension(".".join(path.relative_to(SOURCE).with_suffix("").parts), path) for path in sources]
    return [Extension(SHARED, ["_memoryviews.c"], extra_link_args=LINK_FLAGS), *found]


def copies(modules):
    """Yield an Extension for each kernel and higher level, from a copy of the C file that Cython took long to write."""
    for module in modules:
        name = module.name.removeprefix("fastclf.")
        for suffix, flags, kernels in LEVELS.values():
            if flags and name in kernels:
                code = Path(module.sources[0]).read_text("utf-8")
                code = code.replace(f'"fastclf.{name}"', f'"fastclf.{name}{suffix}"')
                init = f"PyInit_{name.rpartition('.')[2]}"
                code = code.replace(init, init + suffix)
                path = Path("build", KIND, "levels", f"{name}{suffix}.c")
                write_if_changed(path, code)
                yield extension(name + suffix, path)


class BuildExtensions(build_ext):
    """Compiles each module with the flags that this compiler accepts, and skips levels that it cannot compile."""

    def takes(self, flags):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.c")
            source.write_text("int fastclf_empty;\n")
            try:
                self.compiler.compile([str(source)], output_dir=folder, extra_postargs=["-Werror", *flags])
            except Exception as error:  # distutils raises its own CompileError, whose module differs between versions
                if type(error).__name__ == "CompileError":
                    return False
                raise
        return True

    def native(self):
        """The levels that this machine uses: its best one, and the next lower one if the best has few kernels."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "native.c")
            code = "has_v3() + 2 * has_v4() + 4 * has_vnni() + 8 * has_dotprod()"
            source.write_text(f'#include "levels.h"\nint main(void) {{ return {code}; }}\n')
            objects = self.compiler.compile([str(source)], output_dir=folder, include_dirs=[str(SOURCE)])
            program = str(Path(folder, "native"))
            self.compiler.link_executable(objects, program)
            has = subprocess.run([program]).returncode
        higher = [level for bit, level in enumerate(list(LEVELS)[1:]) if has >> bit & 1]
        names = ["baseline", *higher]
        return names[-1:] if LEVELS[names[-1]][2] == KERNELS else names[-2:]

    def build_extensions(self):
        if self.compiler.compiler_type == "msvc":
            flags = MSVC_FLAGS
            levels = ["baseline"]
        else:
            flags = [flag for flag in FLAGS if self.takes([flag])]
            # A compiler for another processor refuses the levels of this one.
            levels = [level for level, (_, extra, _) in LEVELS.items() if not extra or self.takes(extra)]
            if WANTED:
                wanted = self.native() if WANTED == "native" else WANTED.split(",")
                missing = sorted(set(wanted) - set(levels))
                if missing:
                    raise SystemExit(f"FASTCLF_LEVELS={WANTED}: {', '.join(missing)} is none of {', '.join(levels)}")
                levels = [level for level in levels if level in wanted]
        extra = {f"{name}{LEVELS[level][0]}": LEVELS[level][1] for level in levels for name in LEVELS[level][2]}
        # beside modules of higher levels, the others are compiled with -O2, which makes them a tenth smaller
        lighter = {}
        if not DEBUG and self.compiler.compiler_type != "msvc":
            names = [ext.name.removeprefix("fastclf.") for ext in self.extensions]
            lighter = {name: ["-O2"] for name in names if len(levels) > 1 and not extra.get(name)}
            lighter |= {f"{name}{LEVELS[level][0]}": ["-O2"] for level in levels for name in LIGHTER & LEVELS[level][2]}
            lighter["_memoryviews"] = ["-O1"]
            unsplit = [flag for flag in UNSPLIT_FLAGS if self.takes([flag])]
            for name in (f"{name}{LEVELS[level][0]}" for level in levels for name in UNSPLIT):
                lighter[name] = lighter.get(name, []) + unsplit
        left_out = {f"{name}{suffix}" for suffix, _, kernels in LEVELS.values() for name in kernels} - set(extra)
        kept = []
        for ext in self.extensions:
            name = ext.name.removeprefix("fastclf.")
            if name not in left_out:
                ext.extra_compile_args = flags + extra.get(name, []) + lighter.get(name, []) + SANITIZERS
                ext.depends = [*ext.depends, *map(str, SOURCE.rglob("*.h")), "setup.py"]
                if name == "_cpu":
                    ext.depends.append(str(BUILD_INFO))
                kept.append(ext)
        self.extensions = kept
        self.prune()
        info = {
            "compiler": self.compiler_name(),
            "debug": DEBUG,
            "levels": levels,
            "kernels": {level: sorted(LEVELS[level][2]) for level in levels},
            "flags": {level: " ".join(flags + LEVELS[level][1]) for level in levels},
        }
        write_if_changed(BUILD_INFO, f"#define FASTCLF_BUILD_INFO {json.dumps(json.dumps(info))}\n")
        super().build_extensions()

    def prune(self):
        """Delete files of earlier builds from the build folder, unless this build makes them too."""
        made = {Path(self.get_ext_filename(ext.name)) for ext in self.extensions}
        for path in Path(self.build_lib, "fastclf").rglob("*.*"):
            place = path.relative_to(self.build_lib)
            if path.is_file() and place not in made and not place.exists():
                path.unlink()

    def compiler_name(self):
        command = getattr(self.compiler, "compiler", None)
        if not command:
            return self.compiler.compiler_type
        first_line = subprocess.run([*command[:1], "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        return first_line or command[0]


def only_describes(arguments):
    """Whether setup.py is called for metadata or an sdist, which need no C files: these take minutes to make."""
    builds = {"bdist_wheel", "build", "build_clib", "build_ext", "develop", "editable_wheel", "install"}
    return bool({"dist_info", "egg_info", "sdist"} & set(arguments)) and not builds & set(arguments)


def translated():
    """An Extension for each module and level, with C files that Cython has made."""
    compiled = cythonize(
        modules(),
        build_dir=str(Path("build", KIND, "c")),
        include_path=[".", str(SOURCE)],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        nthreads=os.cpu_count(),
        quiet="--quiet" in sys.argv,
    )
    return [*compiled, *copies(compiled)]


if __name__ == "__main__":
    setup(
        ext_modules=[] if only_describes(sys.argv) else translated(),
        cmdclass={"build_ext": BuildExtensions},
        options={
            "build": {"build_base": str(BUILD)},
            "build_ext": {"parallel": os.cpu_count()},
        },
    )
