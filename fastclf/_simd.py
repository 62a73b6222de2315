"""Which build of a kernel to load: the best SIMD level of this machine, or the one that FASTCLF_SIMD names."""

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
_SUFFIX = {"baseline": "", "x86-64-v3": "_v3", "x86-64-v4": "_v4", "x86-64-v4-vnni": "_vnni"}


def available():
    """Names of the SIMD levels in this build that this machine can run, weakest first."""
    supported = _cpu.supported()
    return [level for level in INFO["levels"] if level in supported]


@functools.cache
def level():
    """Name of the level in use. Read once: FASTCLF_SIMD has no effect after the first kernel is loaded."""
    wanted = os.environ.get("FASTCLF_SIMD", "")
    levels = available()
    if wanted and wanted not in _SUFFIX:
        raise ImportError(f"FASTCLF_SIMD={wanted} is not a SIMD level; the levels are {', '.join(_SUFFIX)}")
    if wanted and wanted not in levels:
        reason = "is not in this build" if wanted not in INFO["levels"] else "is not supported by this processor"
        raise ImportError(f"FASTCLF_SIMD={wanted} {reason}; available here: {', '.join(levels)}")
    return wanted or levels[-1]


def load(name, at=None):
    """The compiled module fastclf.`name` at a SIMD level, by default the one in use, or at the next lower one built."""
    levels = available()
    built = [known for known in levels[: levels.index(at or level()) + 1] if name in INFO["kernels"][known]]
    return importlib.import_module(f"fastclf.{name}{_SUFFIX[built[-1]]}")


def build_info():
    """Compiler, flags per level and whether this is a debug build, as setup.py wrote it down."""
    return dict(INFO)
