import os
import signal
import subprocess
import sys
import time
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import fastclf
from fastclf import _simd

settings.register_profile(
    "fastclf", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fastclf")

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("FASTCLF_DATA", CHECKOUT.parent / "shared" / "data"))

# A test of the largest memory in use, which only a Python that frees at once keeps to.
frees_at_once = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="Python without its lock frees later what several threads have used",
)


def pytest_addoption(parser):
    parser.addoption("--mutations", type=int, default=500, help="altered files that are loaded (default: 500)")


@pytest.fixture
def mutations(request):
    return request.config.getoption("mutations")


def pytest_configure():
    assert Path(fastclf.__file__).parent != CHECKOUT / "fastclf", "the tests are for the installed package"
    # a background job of a shell ignores SIGINT unless it sets a handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    # builds take longest, so that they come first: the other tests run on another core in the meantime
    items.sort(key=lambda item: item.get_closest_marker("build") is None)


def pytest_report_header():
    debug = ", debug build" if _simd.build_info()["debug"] else ""
    return f"fastclf {fastclf.__version__} in {Path(fastclf.__file__).parent}, SIMD level {_simd.level()}{debug}"


def pairwise_grid(**axes):
    """Parametrize by some combinations of values: each value of an argument occurs with each value of every other one.

    Most defects show with two particular values at once, few need a third. The combinations are chosen greedily, and
    are the same every time.
    """
    names, values = list(axes), [list(each) for each in axes.values()]
    missing = {
        frozenset([(a, i), (b, j)])
        for a, b in combinations(range(len(names)), 2)
        for i, j in product(range(len(values[a])), range(len(values[b])))
    }
    rows = []
    while missing:
        row = dict(sorted(min(missing, key=sorted)))
        for axis in range(len(names)):
            if axis not in row:
                row[axis] = max(
                    range(len(values[axis])),
                    key=lambda i: (sum(frozenset([(axis, i), known]) in missing for known in row.items()), -i),
                )
        missing -= {frozenset(pair) for pair in combinations(row.items(), 2)}
        rows.append([values[axis][row[axis]] for axis in range(len(names))])
    return pytest.mark.parametrize(names, rows)


def seconds_to_obey_ctrl_c(code):
    """The time that `code` continues after SIGINT; it prints "ready", works, and prints time.time() once interrupted.

    0.2 s are promised on an idle machine; tests allow a busy machine 1 s, and up to three tries.
    """
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.7)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        seconds = float(process.communicate(timeout=30)[0]) - sent
        if seconds < 1.0:
            break
    return seconds


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_file():
    """Path of a file in the data folder; a test is skipped only if there is no such folder at all."""

    def find(name):
        if not DATA.is_dir():
            pytest.skip("the data folder (FASTCLF_DATA) is not there")
        assert (DATA / name).is_file(), f"{name} is missing from the data folder"
        return DATA / name

    return find
