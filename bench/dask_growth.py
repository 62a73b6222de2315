"""A simulation of fits by GaussianNB of a billion rows on 1 to 1024 workers: python bench/dask_growth.py

It times, on this machine, the sums of a block of rows on one thread, the addition of a block's sums by the client, and
a round of many empty tasks on two workers, and adds these times up. No cluster of such a size has been measured.
"""

import time
from statistics import median

import numpy as np
from distributed import Client, LocalCluster

from fastclf.dask.places import DaskPlaces
from fastclf.sums.moments import joined_moments, moment_bounds, moment_spans

ROWS, FEATURES, CLASSES, THREADS = 10**9, 64, 2, 16

# The number of bytes per second that reach the client.
NETWORK = 1.25e9


def nothing():
    """The task of an empty round."""


def seconds(call, rounds=5):
    """(the median seconds of calls, the last result)."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = call()
        taken.append(time.perf_counter() - start)
    return median(taken), found


def per_task():
    """The seconds that a task of a round costs the scheduler and the client."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        places = DaskPlaces(client)
        return seconds(lambda: places.get([places.call(nothing) for _ in range(256)]))[0] / 256


def main():
    rng = np.random.default_rng(0)
    n = 1 << 19
    X, y = rng.standard_normal((n, FEATURES), dtype=np.float32), rng.integers(0, CLASSES, n).astype(np.int32)
    bounds = moment_bounds(n, X.size, CLASSES, FEATURES)
    summed, spans = seconds(lambda: list(moment_spans(X, y, None, CLASSES, 1, bounds)))
    folded, _ = seconds(lambda: joined_moments(spans, CLASSES, FEATURES))
    task = per_task()
    n_blocks = len(moment_bounds(ROWS, ROWS * FEATURES, CLASSES, FEATURES)) - 1
    n_bytes = n_blocks * sum(array.nbytes for array in spans[0])
    client = n_bytes / NETWORK + n_blocks * folded / len(spans)
    print(
        f"A SIMULATION from timed tasks: {ROWS:.0e} rows x {FEATURES} float32 in memory, {THREADS} threads a worker\n"
        f"timed here: {1e9 * summed / n:.1f} ns per row and thread, {1e3 * task:.2f} ms per task; {n_blocks} blocks,"
        f" {n_bytes / 1e6:.0f} MB of sums, {client:.2f} s for them\n\nworkers   seconds   times as fast"
    )
    first = None
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        # a fit takes two rounds of tasks: the first reads labels, the second sums rows
        whole = ROWS / workers / THREADS * summed / n + 2 * workers * task + client
        first = first or whole
        print(f"{workers:7d} {whole:9.2f} {first / whole:15.1f}")


if __name__ == "__main__":
    main()
