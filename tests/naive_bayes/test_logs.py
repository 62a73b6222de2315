"""Logarithms of shares and of absence are those of extended precision, for any number of classes and columns."""

import numpy as np
import pytest

from fastclf.naive_bayes.joints import kernels

pytestmark = pytest.mark.levels

SIZES = [(1, 1), (2, 1), (3, 2), (1, 9), (2, 5), (4, 3), (5, 40), (8, 8), (7, 3), (12, 10), (16, 2), (6, 33)]


def shares(count, alpha, log_total):
    out = np.empty(count.shape[::-1])
    kernels.log_shares(count, np.atleast_1d(alpha), log_total, 0, count.shape[1], out)
    return out.T


@pytest.mark.parametrize(("n_classes", "d"), SIZES)
@pytest.mark.parametrize("per_column", [False, True])
def test_log_shares_are_those_of_extended_precision(rng, n_classes, d, per_column):
    count = rng.poisson(2, (n_classes, d)).astype(float)
    alpha = rng.uniform(0.01, 3, d) if per_column else 0.5
    total = rng.uniform(1, 1e6, n_classes)
    wanted = np.log((count + alpha).astype(np.longdouble)) - np.log(total.astype(np.longdouble))[:, None]
    np.testing.assert_allclose(shares(count, alpha, np.log(total)), wanted.astype(float), rtol=1e-14, atol=1e-15)


def test_logarithms_have_an_error_of_two_units_in_the_last_place_at_most(rng):
    x = np.concatenate(
        [np.exp(rng.uniform(-708, 709, 10_000)), 1 + rng.uniform(-0.5, 1, 10_000), 2.0 ** np.arange(-1022, 1024)]
    )
    wanted = np.log(x.astype(np.longdouble))
    error = np.abs(shares(x[None], 0.0, np.zeros(1))[0] - wanted) / np.spacing(np.abs(wanted.astype(float)))
    assert error.max() <= 2


@pytest.mark.parametrize("place", [0, 4, 16])
def test_subnormal_infinite_and_impossible_shares_have_their_logarithms(place):
    given = np.array([5e-324, 1e-310, np.inf, 1.7e308, 0.0, -1.0, np.nan])
    for x, wanted in zip(given, [*np.log(given[:4]), -np.inf, -np.inf, -np.inf]):
        count = np.ones((1, 17))
        count[0, place] = x
        found = shares(count, 0.0, np.zeros(1))[0]
        assert found[place] == wanted
        assert (np.delete(found, place) == 0).all()


def test_a_class_without_counts_has_no_possible_column():
    assert np.isneginf(shares(np.zeros((1, 9)), 0.0, np.array([-np.inf]))).all()


@pytest.mark.parametrize(("n_classes", "d"), SIZES)
def test_logarithms_of_absence_and_their_sums_are_those_of_extended_precision(rng, n_classes, d):
    p = 10 ** rng.uniform(-20, 0, (d, n_classes))
    p.ravel()[::5] = 1 - 10 ** rng.uniform(-12, -1, len(p.ravel()[::5]))
    there = np.log(p)
    wanted = np.log1p(-np.exp(there.astype(np.longdouble)))
    found = np.empty_like(there)
    sums = kernels.logs_of_absence(there, found)
    # p near 1 leaves few digits of 1 - p
    np.testing.assert_allclose(found, wanted.astype(float), rtol=1e-14, atol=1e-15 / (1 - p).min())
    np.testing.assert_allclose(sums, found.sum(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(sums, kernels.logs_of_absence(there))


def test_sums_keep_the_digits_of_columns_that_are_nearly_always_absent(rng):
    p = 10.0 ** rng.uniform(-20, -3, (1000, 5))
    p[::100, 3:] = 0.7  # in the last two classes, each hundredth column is present in most rows
    sums = kernels.logs_of_absence(np.log(p))
    np.testing.assert_allclose(sums, np.log1p(-p).sum(axis=0), rtol=1e-13)


def test_products_of_columns_that_are_nearly_certain_do_not_underflow():
    there = np.full((1000, 3), -(2.0**-53))
    there[:, 1] = np.log(0.999)
    there[:, 2] = -1e-5
    found = np.empty_like(there)
    sums = kernels.logs_of_absence(there, found)
    assert np.isfinite(sums).all()
    np.testing.assert_allclose(sums, found.sum(axis=0), rtol=1e-13)


def test_what_is_certain_is_never_absent_even_where_rounding_makes_it_more_than_certain():
    there = np.log(np.full((9, 2), 0.5))
    there[8] = 0.0, 1e-16
    found = np.empty_like(there)
    assert np.isneginf(kernels.logs_of_absence(there, found)).all()
    assert np.isneginf(found[8]).all()
    np.testing.assert_allclose(found[:8], np.log(0.5), rtol=1e-15)
