"""The choice of a kernel's build: for the best SIMD level of this machine, or for the level that FASTCLF_SIMD names."""

import functools
import importlib
import json
import os

try:
    from . import _cpu
except ImportError as error:
    raise ImportError(
        f"fastclf is not built in {os.path.dirname(__file__)}: if that is its source, run Python from another folder,"
        " or build it there with 'pip install --editable .'"
    ) from error

INFO = json.loads(_cpu.build_info())
_SUFFIX = {
    "baseline": "",
    "x86-64-v3": "_v3",
    "x86-64-v4": "_v4",
    "x86-64-v4-vnni": "_vnni",
    "arm64-dotprod": "_dotprod",
}


def available():
    """The names of the SIMD levels of this build that this processor supports, weakest first."""
    supported = _cpu.supported()
    return [level for level in INFO["levels"] if level in supported]


@functools.cache
def level():
    """The name of the SIMD level in use. FASTCLF_SIMD has no effect after the first kernel is loaded."""
    wanted = os.environ.get("FASTCLF_SIMD", "")
    levels = available()
    if wanted and wanted not in _SUFFIX:
        raise ImportError(f"FASTCLF_SIMD={wanted} is not a SIMD level; the levels are {', '.join(_SUFFIX)}")
    if wanted and wanted not in levels:
        reason = "is not in this build" if wanted not in INFO["levels"] else "is not supported by this processor"
        raise ImportError(f"FASTCLF_SIMD={wanted} {reason}; available here: {', '.join(levels)}")
    return wanted or levels[-1]


def load(name, at=None):
    """The compiled module fastclf.`name` for the SIMD level `at` (None: that in use) or the next lower one built."""
    levels = available()
    built = [known for known in levels[: levels.index(at or level()) + 1] if name in INFO["kernels"][known]]
    return importlib.import_module(f"fastclf.{name}{_SUFFIX[built[-1]]}")


def build_info():
    """A dict that setup.py has written: the compiler, the flags of each level, and whether this is a debug build."""
    return dict(INFO)
