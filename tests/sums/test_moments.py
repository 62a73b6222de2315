"""Sums of products of columns: those of integers are exact, and ranges of rows change no bit."""

from itertools import pairwise

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
