"""Count the C files that a change of each .pxd recompiles on x86-64: python .ci/recompiled.py [PART OF A NAME]...

A kernel counts once for each SIMD level of `setup.py`. With parts of names, the modules are listed, too.
"""

import os
import sys
from pathlib import Path

from Cython.Build.Dependencies import create_dependency_tree
from Cython.Compiler.Main import CompilationOptions, Context, default_options

ROOT = Path(__file__).resolve().parents[1]


def counts():
    """{.pxd: {module that depends on it: number of the module's C files}}."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    import setup

    options = CompilationOptions(default_options, include_path=[".", str(setup.SOURCE)])
    tree = create_dependency_tree(Context.from_options(options), quiet=True)
    levels = [kernels for level, (_, _, kernels) in setup.LEVELS.items() if not level.startswith("arm64")]
    found = {}
    for path in sorted(setup.SOURCE.rglob("*.pyx")):
        name = ".".join(path.relative_to(setup.SOURCE).with_suffix("").parts)
        for used in tree.all_dependencies(str(path)):
            if used.endswith(".pxd") and not Path(used).is_absolute():
                found.setdefault(os.path.normpath(used), {})[name] = sum(name in kernels for kernels in levels) or 1
    return found


def main(parts):
    for path, modules in sorted(counts().items(), key=lambda item: -sum(item[1].values())):
        if not parts or any(part in path for part in parts):
            names = f": {', '.join(modules)}" if parts else ""
            print(f"{sum(modules.values()):4} C files of {len(modules):2} modules  {path}{names}")


if __name__ == "__main__":
    main(sys.argv[1:])
