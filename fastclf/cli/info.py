"""The command `fastclf info`: version, SIMD level, threads and build flags."""

import sys

import numpy as np

import fastclf

from .options import add_running, command, show


def register(commands):
    parser = command(
        commands,
        "info",
        run,
        help="show version, SIMD level, threads and build flags",
        description="Show version, SIMD level, threads and build flags.",
        examples=["fastclf info"],
        tables=False,
    )
    add_running(parser, progress=False)


def run(args):
    from .. import _simd

    build = _simd.build_info()
    record = {
        "fastclf": fastclf.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "simd_level": args.level,
        "simd_levels": _simd.available(),
        "threads": args.threads,
        "compiler": build["compiler"],
        "debug": build["debug"],
        "flags": {level: build["flags"][level] for level in build["levels"]},
    }
    lines = [
        f"fastclf     {fastclf.__version__} (NumPy {np.__version__}, Python {record['python']})",
        f"SIMD level  {args.level} (available: {', '.join(_simd.available())})",
        f"threads     {args.threads}",
        f"compiler    {build['compiler']}{', debug build' if build['debug'] else ''}",
        *(f"flags       {level}: {flags}" for level, flags in record["flags"].items()),
    ]
    show(args, record, "\n".join(lines))
