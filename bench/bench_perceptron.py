"""One sweep of the perceptron, beside the time that one read of X takes."""

import itertools

import data
import pytest

import fastclf

_SWEEPS = 5
_QUICK = 20  # the factor by which --quick has fewer rows


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [16, 64, 256])
def test_fit(record, benchmark, request, d, dtype):
    n = 64_000_000 // d // (_QUICK if request.config.getoption("quick") else 1)
    X, y = data.hyperplane(n, d, dtype)
    model = fastclf.Perceptron(shuffle=False, tol=None, max_iter=_SWEEPS)
    benchmark.group = f"perceptron, {dtype}"
    record(
        lambda _: model.fit(X, y),
        itertools.repeat(None),
        point={"n": n, "d": d},
        axis="d",
        base=d == 64,
        items=_SWEEPS,
        item="sweep",
        bytes_moved=_SWEEPS * X.nbytes,
        flops=2 * _SWEEPS * X.size,
        threads=1,
        dtype=dtype,
    )
