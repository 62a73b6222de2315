"""Products of features: sparse formats, indices beyond 32 bits, and refused degrees."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csc_matrix, csr_array, csr_matrix
from sklearn import preprocessing

from fastclf import PolynomialFeatures, load, save


def slow_place(columns, d, distinct):
    """The index of a product among those of its degree, from the numbers of products before it."""
    place, begin = 0, 0
    for i, column in enumerate(columns):
        rest = len(columns) - i - 1
        for earlier in range(begin, column):
            n = d - earlier - distinct
            place += math.comb(n, rest) if distinct else math.comb(n + rest - 1, rest)
        begin = column + distinct
    return place


@pytest.mark.parametrize("make", [csc_array, csc_matrix, csr_array, csr_matrix, coo_array])
@pytest.mark.parametrize("degree", [1, 2, 4, (2, 3)])
def test_columns_in_give_columns_out_and_every_other_format_rows(rng, make, degree):
    X = rng.integers(-2, 3, (30, 6)) * (rng.random((30, 6)) < 0.4)
    fitted = PolynomialFeatures(degree).fit(make(X))
    got = fitted.transform(make(X))
    assert got.format == ("csc" if make in (csc_array, csc_matrix) else "csr")
    np.testing.assert_array_equal(got.toarray(), fitted.transform(X))


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("d", [1300, 70_000, 2_000_003])
def test_products_of_wide_rows_are_at_their_places(rng, d, distinct, tmp_path):
    columns = np.unique(np.concatenate([rng.integers(0, d, 6), [0, d - 1]]))
    values = rng.uniform(1, 2, len(columns))
    X = csr_array((values, (np.zeros(len(columns), int), columns)), shape=(1, d))
    fitted = PolynomialFeatures((3, 3), interaction_only=distinct, include_bias=False).fit(X)
    save(fitted, tmp_path / "map")
    got = load(tmp_path / "map").transform(X)
    choose = itertools.combinations if distinct else itertools.combinations_with_replacement
    chosen = list(choose(range(len(columns)), 3))
    assert got.shape == (1, fitted.n_output_features_)
    assert fitted.n_output_features_ == (math.comb(d, 3) if distinct else math.comb(d + 2, 3))
    assert got.indices.dtype == got.indptr.dtype == (np.int32 if fitted.n_output_features_ < 2**31 else np.int64)
    np.testing.assert_allclose(got.data, [np.prod(values[list(c)]) for c in chosen])
    for product, index in list(zip(chosen, got.indices.tolist()))[:: 1 if d < 2000 else 40]:
        if d <= 70_000:
            assert index == slow_place(columns[list(product)].tolist(), d, distinct)
    assert (np.diff(got.indices) > 0).all()


def test_rows_of_more_columns_than_32_bits_have_products():
    d = 3_000_000_000
    X = csr_array((np.array([2.0, 3.0]), np.array([5, d - 1]), np.array([0, 2])), shape=(1, d))
    got = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    assert got.shape == (1, d + d * (d + 1) // 2)
    assert got.data.tolist() == [2, 3, 4, 6, 9]
    first = d + sum(d - j for j in range(5))
    assert got.indices.tolist() == [5, d - 1, first, first + d - 6, got.shape[1] - 1]


def test_interactions_of_nearly_all_features_have_the_places_that_dense_rows_give_them(rng):
    X = rng.uniform(1, 2, (3, 90)) * (rng.random((3, 90)) < 0.99)
    fitted = PolynomialFeatures((89, 90), interaction_only=True, include_bias=False).fit(X)
    slow = np.stack([np.prod(np.delete(X, 89 - j, axis=1), axis=1) for j in range(90)] + [np.prod(X, axis=1)], axis=1)
    np.testing.assert_allclose(fitted.transform(csr_array(X)).toarray(), slow)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_family_without_end_is_refused_before_any_work(sparse):
    X = csr_array((np.ones(1), ([0], [999])), shape=(1, 1000))
    for degree in (9, (500, 500), 10**6):
        with pytest.raises(ValueError, match=r"features which is too large to be indexed by int64"):
            PolynomialFeatures(degree).fit(X if sparse else X.toarray())
    with pytest.raises(ValueError, match=r"features which is too large to be indexed by int64"):
        PolynomialFeatures((500, 500), interaction_only=True).fit(X)
    # the fitted object stands for 1.4e15 products of columns
    fitted = PolynomialFeatures(6, interaction_only=True).fit(X)
    with pytest.raises(MemoryError):
        fitted.transform(X.toarray())
    assert fitted.transform(X).nnz == 2


@pytest.mark.parametrize("degree", [(-1, 2), (0, 1.5), (3, 2), (1, 2, 3), "2", 1.5, None])
def test_a_degree_that_is_none_is_refused_in_scikit_learns_words(degree):
    with pytest.raises(ValueError) as ours:
        PolynomialFeatures(degree).fit([[1.0]])
    with pytest.raises(ValueError) as theirs:
        preprocessing.PolynomialFeatures(degree).fit([[1.0]])
    if isinstance(degree, tuple):
        assert str(ours.value) == str(theirs.value)
