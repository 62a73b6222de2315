"""What all benchmarks share: the option --quick, the measured limits, and the fixture `record`."""

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
    """Time a call, and store its time beside the machine's limit for the same work.

    `record(call, inputs, point=, axis=, base=, items=, item=, bytes_moved=, flops=, threads=, dtype=, tail=0,
    rows_read=None)` calls `call` with one of `inputs` after another. A call processes `items` items (queries or rows).
    The median seconds per item, the seconds at the limit, and their ratio, the share, are stored. `point` has the sizes
    by name; `axis` is the name of the size that is varied; `base` tells whether it has its usual value. The exponent is
    fitted to the points at which it is at least `tail`; `rows_read` is the counted number of rows that an item reads.
    `others` is the number of CPUs that other processes used meanwhile.
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
        if benchmark.stats is None:  # nothing was timed, because the option --benchmark-disable was given
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
