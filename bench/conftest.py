"""What every benchmark shares: the option --quick, the measured limits, and the fixture `record`."""

from dataclasses import asdict

import limits
import numpy as np
import pytest

from fastclf import _simd


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="small sizes and few rounds: under a minute in all")


def pytest_benchmark_update_machine_info(config, machine_info):
    machine_info["limits"] = asdict(limits.measure())
    machine_info["simd"] = _simd.level()
    machine_info["numpy"] = np.__version__
    machine_info["quick"] = config.getoption("quick")


@pytest.fixture
def record(benchmark, request):
    """Time a call and store it beside the machine's limit for the same work.

    `record(call, inputs, point=, axis=, base=, items=, item=, bytes_moved=, flops=, threads=, dtype=, tail=0,
    rows_read=None)` calls with one of `inputs` after another. A call does `items` items (a query, a row); stored are
    the median seconds an item takes, the seconds that the limit allows it, and their ratio, the share. `point` holds
    the sizes by name, `axis` names the one that is varied, `base` tells whether it has its usual value. The exponent is
    fitted to the points where it is at least `tail`; `rows_read` is how many rows an item reads, where that is counted.
    `others` keeps the CPUs that other processes used meanwhile.
    """
    measured = limits.measure()
    budget, fewest = (0.1, 3) if request.config.getoption("quick") else (1.5, 4)

    def run(
        call, inputs, *, point, axis, base, items, item, bytes_moved, flops, threads, dtype, tail=0, rows_read=None
    ):
        first = max(limits.stopwatch(call, next(inputs))[0], 1e-6)
        others = limits.watch_others()
        benchmark.pedantic(
            call,
            setup=lambda: ((next(inputs),), {}),
            rounds=int(np.clip(budget / first, fewest, 500)),
            warmup_rounds=1,
        )
        if benchmark.stats is None:  # --benchmark-disable
            return
        least, bound = measured.seconds(bytes_moved, flops, dtype, threads)
        seconds = benchmark.stats.stats.median
        benchmark.extra_info.update(
            point,
            names=list(point),
            axis=axis,
            base=base,
            tail=tail,
            rows_read=rows_read,
            item=item,
            threads=threads,
            dtype=dtype,
            others=others(),
            seconds=seconds / items,
            limit_seconds=least / items,
            bound=bound,
            share=least / seconds,
        )

    return run
