"""Values of kernels between rows, dense or sparse, are those of the formula."""

import numpy as np
import pytest
import reference_svm as reference
from scipy.sparse import csr_array

from fastclf._csr import as_csr
from fastclf.kernels import values
from fastclf.kernels.values import Block, Kernel, Packed, Rows

pytestmark = pytest.mark.levels

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.1, "coef0": -0.5},
}


def rows(rng, n, d, share, dtype):
    X = rng.standard_normal((n, d)).astype(dtype)
    X[rng.random((n, d)) > share] = 0
    return X


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("share", [1.0, 0.15])
@pytest.mark.parametrize("sparse", [False, True])
def test_values_are_those_of_the_formula(rng, name, share, sparse):
    kernel = Kernel(name, **KERNELS[name])
    for n, m, d in [(1, 1, 1), (5, 3, 2), (130, 13, 9), (70, 40, 40)]:
        for dtype in (np.float32, np.float64):
            A, B = rows(rng, m, d, share, dtype), rows(rng, n, d, share, dtype)
            expected = reference.kernel_matrix(name, A, B, **KERNELS[name])
            if sparse:
                A, B = (as_csr(csr_array(X), "test") for X in (A, B))
            for precision, tolerance in ((np.float32, 2e-5), (np.float64, 1e-13)):
                got = kernel(A, B, precision)
                assert got.dtype == precision
                np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_values_of_far_and_equal_rows(rng):
    X = np.array([[0.0, 0.0], [1e3, 0.0], [0.0, 0.0]])
    for dtype, least in ((np.float32, 1e-37), (np.float64, 1e-307)):
        K = Kernel("rbf", 1.0)(X, X, dtype)
        assert K[0, 0] == K[0, 2] == 1
        assert 0 <= K[0, 1] <= least


@pytest.mark.parametrize("n_columns", [511, 512, 513, 1025, 2000])
@pytest.mark.parametrize("n_rows", [1, 4, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_many_columns_are_those_of_the_definition(rng, n_columns, n_rows, dtype):
    X = rng.integers(-8, 9, size=(70, n_columns)).astype(dtype)  # all sums are exact
    np.testing.assert_array_equal(Kernel("linear")(X[:n_rows], X, dtype), X[:n_rows] @ X.T)


def test_ranges_threads_and_lists_change_no_bit(rng, monkeypatch):
    X, kernel = rows(rng, 500, 20, 0.5, np.float32), Kernel("rbf", 0.1)
    expected = kernel(X[:40], X, np.float32, n_jobs=1)
    monkeypatch.setattr(values, "_THREAD_WORK", 0)
    monkeypatch.setattr(values, "_RANGE_WORK", 1000)
    np.testing.assert_array_equal(kernel(X[:40], X, np.float32, n_jobs=3), expected)
    Z, columns = Packed(Rows(X), np.arange(40), np.float32), rng.permutation(500)[:77]
    out = np.empty((40, 77), np.float32)
    values.fill(Block(kernel, Rows(X), Z, Z.all, columns), out, 2)
    np.testing.assert_array_equal(out, expected[:, columns])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("share", [1.0, 0.15])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_square_by_halves_has_the_bits_of_the_whole(rng, monkeypatch, name, share, sparse):
    X, kernel, chosen = rows(rng, 200, 20, share, np.float32), Kernel(name, **KERNELS[name]), rng.permutation(200)[:131]
    X = Rows(as_csr(csr_array(X), "test") if sparse else X)
    monkeypatch.setattr(values, "_THREAD_WORK", 0)
    monkeypatch.setattr(values, "_RANGE_WORK", 1000)
    for dtype in (np.float32, np.float64):
        Z = Packed(X, chosen, dtype)
        whole, halves = np.empty((2, 131, 136), dtype)
        block = Block(kernel, X, Z, Z.all, chosen)
        values.fill(block, whole, 1)
        for threads in (1, 3):
            halves[:] = np.nan
            values.fill(block, halves, threads, mirrored=True)
            np.testing.assert_array_equal(halves[:, :131], whole[:, :131])


def test_rows_without_entries_are_taken():
    X = as_csr(csr_array((3, 4)), "test")
    assert Kernel("linear")(X, X).tolist() == [[0] * 3] * 3
    np.testing.assert_allclose(Kernel("rbf")(X, np.ones((1, 4))), np.full((3, 1), np.exp(-4.0)), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_packed_alone_has_the_values_that_it_has_among_others(rng, dtype):
    X = rows(rng, 40, 300, 0.05, dtype)
    X[3] = 0
    X = as_csr(csr_array(X), "test")
    X.data[::5] = 0  # entries may be 0
    expected = Kernel("rbf", 0.1)(X, X, dtype)
    for i in range(40):
        np.testing.assert_array_equal(Kernel("rbf", 0.1)(X[i : i + 1], X, dtype)[0], expected[i])
