"""A fit and a prediction of naive Bayes, compared with the time of one read of X."""

import itertools

import numpy as np
import pytest

from fastclf import GaussianNB
from fastclf._threads import n_threads

_QUICK = 20  # the factor by which the option --quick reduces the number of rows
_CLASSES = 5


@pytest.mark.parametrize("method", ["fit", "predict"])
@pytest.mark.parametrize("d", [16, 64, 256])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gaussian(record, benchmark, request, method, d, dtype):
    n = 64_000_000 // d // (_QUICK if request.config.getoption("quick") else 1)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d), dtype=dtype), rng.integers(0, _CLASSES, n)
    model = GaussianNB().fit(X, y)
    benchmark.group = f"GaussianNB {method}, {dtype}"
    record(
        lambda _: model.fit(X, y) if method == "fit" else model.predict(X),
        itertools.repeat(None),
        point={"n": n, "d": d},
        axis="d",
        base=d == 64,
        items=1,
        item=method,
        bytes_moved=X.nbytes,
        flops=4 * X.size * (1 if method == "fit" else _CLASSES),
        threads=n_threads(),
        dtype=dtype,
    )
