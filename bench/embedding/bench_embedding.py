"""The cost of a call from compiled code: one query, one decision, one descent of a tree.

A search among a single row shows the overhead of a call.
"""

import itertools

import numpy as np
import pytest
from embedding import calls

import fastclf


def times(record, benchmark, name, call, rows, point, bytes_moved, flops):
    block = calls.in_passes(rows)
    n_calls = block.shape[0] * block.shape[1]
    benchmark.group = f"embedding, {name}"
    record(
        call,
        itertools.repeat(block),
        point=point,
        axis="d",
        base=True,
        items=n_calls,
        item="call",
        bytes_moved=n_calls * bytes_moved,
        flops=n_calls * flops,
        threads=1,
        dtype="float64",
    )


@pytest.mark.parametrize("n", [1, 1000])
@pytest.mark.parametrize("language", ["C", "Cython", "Numba"])
def test_nearest(record, benchmark, language, n):
    rng = np.random.default_rng(0)
    d, k = 10, min(n, 5)
    X, rows = rng.standard_normal((n, d)), rng.standard_normal((200, d))
    call = calls.nearest_loop(language, fastclf.embed(fastclf.NearestNeighbors(algorithm="brute").fit(X)), k)
    point = {"n": n, "d": d, "k": k}
    times(record, benchmark, f"nearest of {n} x 10 from {language}", call, rows, point, X.nbytes, 2 * X.size)


def test_decide(record, benchmark):
    rows = np.random.default_rng(0).standard_normal((200, 64))
    embedded = fastclf.embed(fastclf.LeastSquaresClassifier().fit(rows, rows[:, 0] > 0))
    call = calls.row_loop("decide_d", embedded, np.float64)
    times(record, benchmark, "decide", call, rows, {"d": 64}, 2 * 8 * 64, 2 * 64)


def test_apply(record, benchmark):
    model, rows = calls.deep_tree(2000)
    call = calls.row_loop("apply_d", fastclf.embed(model), np.int64)
    times(record, benchmark, "apply", call, rows, {"d": 10}, 20 * 24, 20)
