"""The time of SVC: of a fit by number of rows, and of a prediction by number of support vectors."""

import functools
import itertools

import data
import pytest

import fastclf
from fastclf._threads import n_threads

SIZES = (2_000, 4_000, 8_000, 16_000, 32_000)
_QUICK = 20


@functools.cache
def rows(n):
    X, y = data.a9a()
    return X[:n].toarray(), y[:n]


def machine(n, **parameters):
    X, y = rows(n)
    return fastclf.SVC(C=1.0, gamma=1 / 123, **parameters).fit(X, y)


def pytest_generate_tests(metafunc):
    fewer = _QUICK if metafunc.config.getoption("quick") else 1
    metafunc.parametrize("n", [n // fewer for n in SIZES])


def test_fit(record, benchmark, n):
    X, _ = rows(n)
    benchmark.group = f"SVC, a9a, rbf, C=1, fit, {n_threads()} threads"
    support = len(machine(n).support_)
    record(
        lambda _: machine(n),
        itertools.repeat(None),
        point={"n": n, "support vectors": support},
        items=n,
        item="row",
        bytes_moved=4 * n * support,
        flops=2 * n * support * X.shape[1],
        threads=n_threads(),
        dtype="float64",
        axis="n",
        base=n == SIZES[-1],
    )


@pytest.mark.parametrize("m", [1, 1000])
def test_predict(record, benchmark, n, m):
    X, _ = rows(n)
    model = machine(n)
    support = len(model.support_)
    benchmark.group = f"SVC, a9a, rbf, C=1, predict {m} rows, {n_threads()} threads"
    record(
        model.predict,
        itertools.repeat(X[:m]),
        point={"support vectors": support, "m": m},
        items=m,
        item="row",
        bytes_moved=support * X.shape[1] * 8,
        flops=2 * m * support * X.shape[1],
        threads=n_threads(),
        dtype="float64",
        axis="support vectors",
        base=n == SIZES[-1],
    )
