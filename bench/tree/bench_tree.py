"""Growing a full tree, by number of rows, and predicting, by depth, compared with the machine's limits."""

import itertools
import math

import data
import pytest

import fastclf

_QUICK = 16  # the factor by which the option --quick reduces the number of rows


@pytest.mark.parametrize("n", [12_500, 25_000, 50_000, 100_000, 200_000])
def test_fit(record, benchmark, request, n):
    n //= _QUICK if request.config.getoption("quick") else 1
    X, y, _ = data.noisy(n)
    model = fastclf.DecisionTreeClassifier(n_jobs=1)
    # A tree has at least log2(n) levels; at each, the search reads every list, and the partition reads and writes it.
    levels = math.log2(n)
    benchmark.group = "tree, fit"
    record(
        lambda _: model.fit(X, y),
        itertools.repeat(None),
        point={"n": n, "d": X.shape[1]},
        axis="n",
        base=n >= 50_000,
        items=n,
        item="row",
        bytes_moved=24 * X.size * levels,
        flops=X.size * levels,
        threads=1,
        dtype="float32",
    )


@pytest.mark.parametrize("depth", [2, 4, 8, 16, 32])
def test_predict(record, benchmark, request, depth):
    n = 200_000 // (_QUICK if request.config.getoption("quick") else 1)
    X, y, _ = data.noisy(n)
    model = fastclf.DecisionTreeClassifier(n_jobs=1, max_depth=depth).fit(X, y)
    benchmark.group = "tree, predict"
    record(
        model.predict,
        itertools.repeat(X),
        point={"n": n, "depth": depth},
        axis="depth",
        base=depth == 16,
        items=n,
        item="row",
        bytes_moved=X.nbytes,
        flops=2 * n * min(depth, math.log2(n)),
        threads=1,
        dtype="float32",
    )
