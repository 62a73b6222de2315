"""One epoch of the perceptron, compared with the time of one read of X."""

import itertools
import warnings

import data
import pytest

import fastclf
from fastclf._threads import n_threads

_SWEEPS = 5
_QUICK = 20  # the factor by which the option --quick reduces the number of rows


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


@pytest.mark.parametrize("n", [2000, 4000, 8000])
def test_kernel(record, benchmark, request, n):
    """An epoch of the kernel perceptron, compared with the kernel's products with the final support vectors."""
    n = n // (_QUICK if request.config.getoption("quick") else 1)
    X, _ = data.hyperplane(n, 64)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = fastclf.KernelPerceptron("poly", degree=2, gamma=1.0, max_iter=_SWEEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit warns that its last epoch had mistakes
        support = len(model.fit(X, y).support_)
        benchmark.group = "kernel perceptron, float64"
        record(
            lambda _: model.fit(X, y),
            itertools.repeat(None),
            point={"n": n, "d": 64},
            axis="n",
            base=n == 8000,
            items=_SWEEPS,
            item="sweep",
            bytes_moved=_SWEEPS * X.nbytes,
            flops=2 * _SWEEPS * n * support * 64,
            threads=n_threads(),
            dtype="float64",
        )
