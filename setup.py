"""Build the compiled modules of fastclf: every `src_cython/NAME.pyx` becomes `fastclf.NAME`.

The kernels in KERNELS are compiled once per SIMD level, as `fastclf.NAME`, `fastclf.NAME_v3`, `fastclf.NAME_v4`, ...;
`fastclf/_simd.py` loads the best that the machine can run. Everything generated stays under `build/`.

Environment: FASTCLF_DEBUG=1 builds with bounds checks, assertions and unset variables filled, in a folder of its own.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Compiled once per level. They sum coordinates in a stated order, so -fassociative-math is not among the flags.
KERNELS = {
    "_bayes",
    "_bits_kernel",
    "_blocks",
    "_cholesky",
    "_class_sums",
    "_codes",
    "_encode",
    "_kdtree_search",
    "_kernel_rows",
    "_linear_kernel",
    "_linear_svc",
    "_logistic",
    "_machine_scores",
    "_missing_kernel",
    "_moments_kernel",
    "_neighbors",
    "_perceptron",
    "_smo",
    "_sparse_kernel",
    "_tree",
}

# Level: (suffix of the module's name, flags, the kernels that gain by it).
LEVELS = {
    "baseline": ("", [], KERNELS),
    "x86-64-v3": ("_v3", ["-march=x86-64-v3"], KERNELS),
    "x86-64-v4": ("_v4", ["-march=x86-64-v4", "-mprefer-vector-width=512"], KERNELS),
    "x86-64-v4-vnni": (
        "_vnni",
        ["-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512"],
        {"_codes", "_encode"},  # both: what one adds to a product the other takes off
    ),
}

DEBUG = os.environ.get("FASTCLF_DEBUG", "0") not in ("", "0")
BUILD = Path("build", "debug" if DEBUG else "release")
SOURCE = Path("src_cython")
BUILD_INFO = BUILD / "include" / "build_info.h"

FLAGS = ["-O1", "-g", "-ftrivial-auto-var-init=pattern"] if DEBUG else ["-O3"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wno-psabi"]
MSVC_FLAGS = ["/O2", "/fp:precise"]

# What Cython writes for typed memoryviews, once for all modules instead of in each: half of the time of a build.
SHARED = "fastclf._memoryviews"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "embedsignature": True,
    "freethreading_compatible": True,
}


def write_if_changed(path, text):
    """Leave an unchanged file its time stamp, so that nothing is rebuilt for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def extension(name, source):
    return Extension(
        f"fastclf.{name}",
        [str(source)],
        include_dirs=[str(SOURCE), str(BUILD_INFO.parent)],
        define_macros=[("FASTCLF_DEBUG", "1")] if DEBUG else [],
    )


def modules():
    """Each module once, to be given to Cython."""
    found = [extension(path.stem, path) for path in sorted(SOURCE.glob("*.pyx"))]
    return [Extension(SHARED, ["_memoryviews.c"]), *found]


def copies(modules):
    """The C of each kernel under the name of each of its levels: Cython's part of a build is the slow one."""
    for module in modules:
        name = module.name.removeprefix("fastclf.")
        for suffix, flags, kernels in LEVELS.values():
            if flags and name in kernels:
                code = Path(module.sources[0]).read_text("utf-8")
                for old in (f'"fastclf.{name}"', f"PyInit_{name}"):
                    code = code.replace(old, old.replace(name, name + suffix))
                path = BUILD / "levels" / f"{name}{suffix}.c"
                write_if_changed(path, code)
                yield extension(name + suffix, path)


class BuildExtensions(build_ext):
    """Give each module the flags that this compiler takes, and leave out levels that it cannot make."""

    def takes(self, flags):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.c")
            source.write_text("int fastclf_empty;\n")
            try:
                self.compiler.compile([str(source)], output_dir=folder, extra_postargs=["-Werror", *flags])
            except Exception as error:  # distutils raises its own CompileError, which moves between versions
                if type(error).__name__ == "CompileError":
                    return False
                raise
        return True

    def build_extensions(self):
        if self.compiler.compiler_type == "msvc":
            flags = MSVC_FLAGS
            levels = ["baseline"]
        else:
            flags = [flag for flag in FLAGS if self.takes([flag])]
            x86 = platform.machine().lower() in ("x86_64", "amd64") and "arm64" not in os.environ.get("ARCHFLAGS", "")
            levels = [level for level, (_, extra, _) in LEVELS.items() if not extra or (x86 and self.takes(extra))]
        extra = {f"{name}{LEVELS[level][0]}": LEVELS[level][1] for level in levels for name in KERNELS}
        left_out = {f"{name}{suffix}" for name in KERNELS for suffix, _, _ in LEVELS.values()} - set(extra)
        kept = []
        for ext in self.extensions:
            name = ext.name.removeprefix("fastclf.")
            if name not in left_out:
                ext.extra_compile_args = flags + extra.get(name, [])
                ext.depends = [*ext.depends, *map(str, SOURCE.glob("*.h")), "setup.py"]
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
        """Delete what an earlier build left in the build folder and this one does not make."""
        made = {Path(self.get_ext_filename(ext.name)).name for ext in self.extensions}
        made |= {path.name for path in Path("fastclf").iterdir()}
        for path in Path(self.build_lib, "fastclf").glob("*.*"):
            if path.name not in made:
                path.unlink()

    def compiler_name(self):
        command = getattr(self.compiler, "compiler", None)
        if not command:
            return self.compiler.compiler_type
        first_line = subprocess.run([*command[:1], "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        return first_line or command[0]


if __name__ == "__main__":
    compiled = cythonize(
        modules(),
        build_dir=str(BUILD / "c"),
        include_path=[".", str(SOURCE)],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        nthreads=os.cpu_count(),
        quiet="--quiet" in sys.argv,
    )
    setup(
        ext_modules=[*compiled, *copies(compiled)],
        cmdclass={"build_ext": BuildExtensions},
        options={
            "build": {"build_base": str(BUILD)},
            "build_ext": {"parallel": os.cpu_count()},
        },
    )
