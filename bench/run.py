"""Run all benchmarks: python bench/run.py [--quick] [--check]

Without --check the run is stored in build/bench/latest.json (an earlier run moves to previous.json) and shown in
build/bench/index.html. With --check the run is compared with the stored one, by share of the machine's limit, and the
stored run is not changed.
"""

import argparse
import sys
from pathlib import Path

import check
import pytest
import report

BENCH = Path(__file__).resolve().parent
STORE = BENCH.parent / "build" / "bench"


def main():
    parser = argparse.ArgumentParser(description="Run all benchmarks.")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: under a minute in all")
    parser.add_argument("--check", action="store_true", help="compare with the stored run, do not replace it")
    options = parser.parse_args()
    stored, fresh = STORE / "latest.json", STORE / "fresh.json"
    if options.check and not stored.exists():
        return check.main([str(stored), str(fresh)])
    STORE.mkdir(parents=True, exist_ok=True)
    files = sorted(map(str, BENCH.glob("*/bench_*.py")))
    flags = ["-q", "-p", "no:cacheprovider", "--benchmark-quiet", f"--benchmark-json={fresh}"]
    status = pytest.main([*files, *flags, *["--quick"] * options.quick])
    if status:
        return int(status)
    if options.check:
        return check.main([str(stored), str(fresh)])
    if stored.exists():
        stored.replace(STORE / "previous.json")
    fresh.replace(stored)
    report.main([str(stored), str(STORE / "index.html")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
