"""Exact k-NN, float32: time per query as one of n, d, k and the batch size varies, and for a wide range of n."""

import functools
import itertools

import data
from counted import rows_read

import fastclf
from fastclf._threads import n_threads

# The sweeps of one size at a time use clustered data of intrinsic dimension 20.
BASE = {"n": 200_000, "d": 128, "k": 10, "m": 1000}
SWEEPS = {
    "n": (8_000, 40_000, 200_000, 1_000_000),
    "d": (8, 32, 128, 512),
    "k": (1, 3, 10, 30, 100),
    "m": (1, 8, 64, 256, 1000, 4000),
}

# The growth of the cost with n is measured on clustered data of intrinsic dimension 10 and on data without structure.
GROWTH = {"n": 1_000_000, "d": 32, "k": 10, "m": 256}
SIZES = (1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
TAIL = 100_000

MAKE = {
    "clustered": data.clustered,
    "clustered 10": functools.partial(data.clustered, inner=10),
    "iid": data.iid,
}
# the set A of clustered rows is searched by cells at two numbers of rows
CELLS = {"n": 1_000_000, "d": 128, "k": 10, "m": 1000}
CELL_SIZES = (200_000, 1_000_000)

_QUICK = 20  # the factor by which the option --quick reduces the number of rows


def pytest_generate_tests(metafunc):
    """Run each point twice: with a batch on all threads, and with one query at a time on one thread."""
    fewer = _QUICK if metafunc.config.getoption("quick") else 1
    cases = {}

    def add(prefix, axis, base, point, **about):
        point = {**point, "n": point["n"] // fewer}
        for kind, m in (("batch", point["m"]), ("one query", 1)):
            if kind == "batch" or axis != "m":
                sizes = "-".join(f"{key}{size}" for key, size in {**point, "m": m}.items())
                cases[f"{prefix}{kind}-{axis}-{sizes}"] = {
                    "kind": kind,
                    "axis": axis,
                    "base": base,
                    "point": {**point, "m": m},
                    **about,
                }

    if metafunc.function is test_kneighbors:
        for axis, values in SWEEPS.items():
            for value in values:
                add("", axis, value == BASE[axis], {**BASE, axis: value})
    elif metafunc.function is test_cells:
        for n in CELL_SIZES:
            add("cells-", "n", n == CELLS["n"], {**CELLS, "n": n}, algorithm="cells")
    else:
        for rows, n in itertools.product(("clustered 10", "iid"), SIZES):
            add(f"{rows}-", "n", n == GROWTH["n"], {**GROWTH, "n": n}, rows=rows, tail=TAIL // fewer)
    metafunc.parametrize("case", list(cases.values()), ids=list(cases))


@functools.lru_cache(maxsize=1)
def fitted(rows, n, d, algorithm="auto"):
    X, queries = MAKE[rows](n, max(SWEEPS["m"]), d)
    return fastclf.NearestNeighbors(n_neighbors=10, algorithm=algorithm).fit(X), queries


def time_search(record, benchmark, kind, point, rows="clustered", title="", count=False, algorithm="auto", **about):
    threads = 1 if kind == "one query" else n_threads()
    n, d, k, m = point.values()
    model, queries = fitted(rows, n, d, algorithm)
    model.set_params(n_jobs=threads)
    blocks = [queries[start : start + m] for start in range(0, len(queries) - m + 1, m)]
    benchmark.group = f"{title}{kind}, {threads} thread{'s' * (threads > 1)}"
    if count:
        some = blocks[: -(-20 // m)]
        with rows_read() as read:
            for block in some:
                model.kneighbors(block, n_neighbors=k)
        about["rows_read"] = sum(read) / (m * len(some))
    record(
        lambda batch: model.kneighbors(batch, n_neighbors=k),
        itertools.cycle(blocks),
        point=point,
        items=m,
        item="query",
        bytes_moved=n * d * queries.itemsize,
        flops=2 * n * d * m,
        threads=threads,
        dtype="float32",
        **about,
    )


def test_kneighbors(record, benchmark, case):
    time_search(record, benchmark, **case)


def test_growth(record, benchmark, case):
    time_search(record, benchmark, title=f"{case['rows']}, ", count=True, **case)


def test_cells(record, benchmark, case):
    time_search(record, benchmark, title="cells, ", **case)
