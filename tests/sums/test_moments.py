"""Sums of products of columns: those of integers are exact, and ranges of rows change no bit."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from fastclf.sums import moments

pytestmark = pytest.mark.levels


def products(X, codes, weight, shift, bounds):
    """The result of `joined_products` for one block of rows, which are added in the ranges between the bounds."""
    sums = moments.product_sums(codes.max() + 1, X.shape[1])
    for start, stop in pairwise(bounds):
        moments.add_products(X, codes, weight, shift, start, stop, sums)
    return moments.joined_products([sums], X.shape[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(3, 1), (200, 5), (193, 17), (50, 255), (400, 257), (192, 700)])
def test_products_of_integers_are_exact(rng, dtype, weighted, shape):
    n, d = shape
    X, codes = rng.integers(-9, 10, shape), np.arange(n) % 3
    shift, weight = rng.integers(-3, 4, d), rng.choice([0, 1, 4], n) if weighted else np.ones(n, int)
    given = weight.astype(float) if weighted else None
    sums, gram = products(X.astype(dtype), codes, given, shift.astype(float), [0, n])
    rows = X - shift
    np.testing.assert_array_equal(gram, (rows * weight[:, None]).T @ rows)
    np.testing.assert_array_equal(sums, [(rows * weight[:, None])[codes == k].sum(axis=0) for k in range(3)])


@pytest.mark.parametrize("d", [6, 300])
def test_ranges_of_rows_change_no_bit_of_products(rng, d):
    X, codes, weight = rng.standard_normal((500, d)), np.arange(500) % 2, rng.random(500)
    whole = products(X, codes, weight, X[0], [0, 500])
    for parts in ([0, 1, 192, 500], [0, 250, 251, 500]):
        for found, wanted in zip(products(X, codes, weight, X[0], parts), whole):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(700, 260), (300, 411), (1200, 6)])
def test_threads_change_no_bit_of_products(rng, monkeypatch, shape, weighted):
    monkeypatch.setattr(moments, "_SHARED_WORK", 0)
    monkeypatch.setattr(moments, "_RANGE_NUMBERS", 1 << 15)
    X, codes, weight = rng.standard_normal(shape), np.arange(shape[0]) % 3, rng.random(shape[0]) if weighted else None
    done = []
    progress = SimpleNamespace(advance=done.append)
    found = [moments.products(X, codes, 3, weight, X[0], threads, progress) for threads in (1, 2, 3, 64)]
    assert sum(done) == 4 * shape[0]
    for others in found[1:]:
        np.testing.assert_array_equal(others[0], found[0][0])
        np.testing.assert_array_equal(others[1], found[0][1])
    np.testing.assert_array_equal(found[0][1], found[0][1].T)
