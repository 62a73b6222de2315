"""Exact k-NN, float32, clustered data: cost of a query against n, d, k and the batch size, around one base point."""

import functools
import itertools

import data

import fastclf
from fastclf._threads import n_threads

BASE = {"n": 200_000, "d": 128, "k": 10, "m": 1000}
SWEEPS = {
    "n": (8_000, 40_000, 200_000, 1_000_000),
    "d": (8, 32, 128, 512),
    "k": (1, 3, 10, 30, 100),
    "m": (1, 8, 64, 256, 1000, 4000),
}


def pytest_generate_tests(metafunc):
    """Each point, asked in two ways: a batch on all threads, and one query at a time on one thread."""
    cases = {}
    for axis, values in SWEEPS.items():
        for value in values:
            point = {**BASE, axis: value}
            if metafunc.config.getoption("quick"):
                point["n"] //= 20
            for kind, m in (("batch", point["m"]), ("one query", 1)):
                if kind == "batch" or axis != "m":
                    name = f"{kind}-{axis}-{'-'.join(f'{key}{size}' for key, size in {**point, 'm': m}.items())}"
                    cases[name] = kind, axis, value == BASE[axis], {**point, "m": m}
    metafunc.parametrize("kind, axis, base, point", list(cases.values()), ids=list(cases))


@functools.lru_cache(maxsize=1)
def fitted(n, d):
    X, queries = data.clustered(n, max(SWEEPS["m"]), d)
    return fastclf.NearestNeighbors().fit(X), queries


def test_kneighbors(record, benchmark, kind, axis, base, point):
    threads = 1 if kind == "one query" else n_threads()
    n, d, k, m = point.values()
    model, queries = fitted(n, d)
    model.set_params(n_jobs=threads)
    benchmark.group = f"{kind}, {threads} thread{'s' * (threads > 1)}"
    record(
        lambda batch: model.kneighbors(batch, n_neighbors=k),
        itertools.cycle([queries[start : start + m] for start in range(0, len(queries) - m + 1, m)]),
        point=point,
        axis=axis,
        base=base,
        items=m,
        item="query",
        bytes_moved=n * d * queries.itemsize,
        flops=2 * n * d * m,
        threads=threads,
        dtype="float32",
    )
