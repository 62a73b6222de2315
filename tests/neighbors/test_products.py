"""Screens by inner products change no bit: the rows found are those of the textbook loop, for any data."""

import numpy as np
import pytest
import reference

from fastclf import NearestNeighbors
from fastclf.neighbors import scan

pytestmark = pytest.mark.levels


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(scan, "_PRODUCTS", {"float32": 1, "float64": 1})


def assert_exact(X, Q, k, metric="euclidean", **options):
    """The k nearest rows, and the rows as near as the k-th, are those of the loop."""
    X, Q = np.ascontiguousarray(X), np.ascontiguousarray(Q)
    model = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute", **options).fit(X)
    D = reference.fast_distances(X, Q, metric)
    expected = reference.nearest(D, k)
    for found, wanted in zip(model.kneighbors(Q), expected):
        np.testing.assert_array_equal(found, wanted)
    assert_exact_within(model, Q, expected[0][:, -1], D)


def assert_exact_within(model, Q, radius, D):
    for distances, rows, d, most in zip(*model.radius_neighbors(Q, radius), D, radius):
        np.testing.assert_array_equal(rows, np.flatnonzero(d <= most))
        np.testing.assert_array_equal(distances, d[rows])


@pytest.fixture
def n_products(monkeypatch):
    """A list that gets the number of distances which each call of the kernel computes."""
    products, counts = scan.kernels.products, []

    def counted(*args):
        found = products(*args)
        counts.append(found[1])
        return found

    monkeypatch.setattr(scan.kernels, "products", counted)
    return counts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize(
    ("n", "d", "n_queries", "k"),
    [(80, 8, 16, 5), (97, 9, 17, 1), (500, 33, 40, 7), (64, 1024, 16, 4), (90, 1025, 23, 2), (40, 2500, 33, 2)],
)
def test_answers_are_those_of_the_loop(rng, n_products, dtype, metric, n, d, n_queries, k):
    X, Q = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((n_queries, d)).astype(dtype)
    assert_exact(X, Q, k, metric, n_jobs=1)
    assert n_products
    assert sum(n_products) < n * n_queries / 2
    # queries of another type than the rows, and many ties
    assert_exact(X, rng.standard_normal((n_queries, d)), k, metric)
    assert_exact(np.round(X), np.round(Q), k, metric)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1e-21, 1e-10, 1e10, 1e17, 1e18, 1e19, 1e21, 1e30, 3e37])
@pytest.mark.parametrize("offset", [0, 1, 1e6])
def test_no_row_is_lost_to_the_range_of_float32(rng, dtype, scale, offset):
    X, Q = (rng.standard_normal((n, 12)) + offset for n in (300, 20))
    with np.errstate(over="ignore"):
        X, Q = ((each * (scale / (1 + offset))).astype(dtype) for each in (X, Q))
    assert np.isfinite(X).all()
    assert_exact(X, Q, 3)


@pytest.mark.parametrize("far", [1e3, 1e19, 1e25, 1e200])
def test_a_few_rows_and_queries_may_be_far_away(rng, far):
    X, Q = rng.standard_normal((200, 10)), rng.standard_normal((20, 10))
    X[[3, 77]] *= far
    assert_exact(X, Q, 4)
    Q[5] *= far
    assert_exact(X, Q, 4)


def test_rows_nearer_than_float32_tells_apart_are_told_apart(rng):
    centre = rng.standard_normal((1, 16)) * 100
    X = centre + rng.standard_normal((300, 16)) * 1e-7
    Q = centre + rng.standard_normal((20, 16)) * 1e-7
    far = np.concatenate([X, -X])
    assert_exact(far, Q, 5)


def test_differences_go_on_where_products_rule_out_too_few_rows(rng, n_products, monkeypatch):
    monkeypatch.setattr(scan.Scan, "_cheap_range", lambda index, n_queries: 100)
    # far from each other, and the centre between them, so that float32 tells no two rows of a side apart
    X, Q = (np.where(np.arange(n) % 2, 1e6, -1e6)[:, None] + rng.standard_normal((n, 20)) for n in (1000, 20))
    NearestNeighbors(n_neighbors=5, algorithm="brute", n_jobs=1).fit(X).kneighbors(Q)
    assert len(n_products) == 1
    assert_exact(X, Q, 5)


def test_differences_go_on_where_most_rows_are_within_the_radius(rng, n_products, monkeypatch):
    monkeypatch.setattr(scan.Scan, "_cheap_range", lambda index, n_queries: 100)
    X, Q = rng.standard_normal((1000, 20)), rng.standard_normal((20, 20))
    model, D = NearestNeighbors(algorithm="brute", n_jobs=1).fit(X), reference.fast_distances(X, Q)
    for share, wanted in ((0.1, True), (0.5, False)):
        n_products.clear()
        assert_exact_within(model, Q, np.full(20, np.quantile(D, share)), D)
        assert (len(n_products) > 1) == wanted


@pytest.mark.parametrize(("share", "wanted"), [(0.0001, False), (0.1, True)])
def test_a_radius_that_holds_many_rows_is_searched_without_codes(rng, n_products, share, wanted):
    X, Q = rng.standard_normal((1000, 20)), rng.standard_normal((300, 20))
    D = reference.fast_distances(X, Q)
    model = NearestNeighbors(algorithm="filter").fit(X)
    n_products.clear()
    assert_exact_within(model, Q, np.full(300, np.quantile(D, share)), D)
    assert bool(n_products) == wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("largest", [1, 2, 7, 400, 3000])
def test_of_whole_numbers_few_ties_are_measured_and_the_first_rows_win(rng, n_products, dtype, n_jobs, largest):
    X, Q = (rng.integers(-largest, largest + 1, (n, 9)).astype(dtype) for n in (900, 40))
    X[300:600] = X[rng.integers(0, 20, 300)]
    assert_exact(X, Q, 4, n_jobs=n_jobs)
    assert_exact(X, Q, 1, "sqeuclidean", n_jobs=n_jobs)
    assert_exact(X, X[::20], 7, n_jobs=n_jobs)
    n_products.clear()
    ties = np.eye(9, dtype=dtype)[rng.integers(0, 9, 900)] * min(largest, 1000)
    NearestNeighbors(n_neighbors=4, algorithm="brute", n_jobs=1).fit(ties).kneighbors(Q * 0)
    assert sum(n_products) < 900 * 40 / 20


def test_products_of_whole_numbers_go_on_after_a_short_first_range(rng, n_products, monkeypatch):
    monkeypatch.setattr(scan.Scan, "_cheap_range", lambda index, n_queries: 32)
    # most rows are equal, so that most of the first panel are as near as the nearest
    X = (rng.random((1200, 9)) < 0.03).astype(float)
    NearestNeighbors(n_neighbors=1, algorithm="brute", n_jobs=1).fit(X).kneighbors(X[:40])
    assert len(n_products) > 1
    assert_exact(X, X[:40], 1)


@pytest.mark.parametrize("at", [0, 100, 899])
@pytest.mark.parametrize("odd", [0.5, 1e-9, 2.0**-60, 1e4, 2.0**22 + 0.5, 2.0**30, 1e18, 1e200])
def test_a_row_of_other_numbers_ends_what_holds_of_whole_ones(rng, odd, at):
    X, Q = rng.integers(0, 3, (900, 9)).astype(float), rng.integers(0, 3, (40, 9)).astype(float)
    X[at, 4] = odd
    X[450] = X[at]
    assert_exact(X, Q, 4)
    assert_exact(X, np.concatenate([Q, X[at : at + 1]]), 4, n_jobs=1)


def test_masked_and_own_rows_of_whole_numbers_are_not_found(rng):
    X = rng.integers(0, 2, (400, 9)).astype(float)
    D = reference.fast_distances(X, X)
    model = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(X)
    for found, wanted in zip(model.kneighbors(), reference.nearest(D, 3, own=np.arange(400))):
        np.testing.assert_array_equal(found, wanted)
    mask = rng.random(400) < 0.3
    for found, wanted in zip(model.kneighbors(X, mask=mask), reference.nearest(D, 3, allowed=mask)):
        np.testing.assert_array_equal(found, wanted)
    # rows that were added, and a model whose first rows are gone
    model.partial_fit(X[:50])
    model.remove(np.arange(30))
    left = np.concatenate([X, X[:50]])[30:]
    distances, rows = reference.nearest(reference.fast_distances(left, X), 3)
    found = model.kneighbors(X)
    np.testing.assert_array_equal(found[0], distances)
    np.testing.assert_array_equal(found[1], rows)


def test_equal_rows_are_found_in_the_order_of_their_numbers(rng):
    X = np.repeat(rng.standard_normal((5, 24)), 60, axis=0)
    assert_exact(X, X[::15], 7)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_own_rows_and_masked_rows_are_not_found(rng, n_jobs):
    X = rng.standard_normal((400, 11))
    D = reference.fast_distances(X, X)
    model = NearestNeighbors(n_neighbors=3, algorithm="brute", n_jobs=n_jobs).fit(X)
    for found, wanted in zip(model.kneighbors(), reference.nearest(D, 3, own=np.arange(400))):
        np.testing.assert_array_equal(found, wanted)
    mask = rng.random(400) < 0.3
    for found, wanted in zip(model.kneighbors(X[:50], mask=mask), reference.nearest(D[:50], 3, allowed=mask)):
        np.testing.assert_array_equal(found, wanted)
    radius = np.quantile(D, 0.05)
    for i, (rows, masked) in enumerate(
        zip(*(model.radius_neighbors(radius=radius, return_distance=False, **given) for given in ({}, {"mask": mask})))
    ):
        near = (D[i] <= radius) & (np.arange(400) != i)
        np.testing.assert_array_equal(rows, np.flatnonzero(near))
        np.testing.assert_array_equal(masked, np.flatnonzero(near & mask))


def test_a_list_that_is_full_makes_room(rng, monkeypatch):
    monkeypatch.setattr(scan, "_list_capacity", lambda k: 4)
    # each row is nearer than all rows before it
    X = np.linspace(2, 1, 500)[:, None] * np.ones(8)
    assert_exact(X, rng.standard_normal((16, 8)) * 1e-3, 6)
    assert_exact(np.ones((500, 8)), np.zeros((16, 8)), 6)


@pytest.mark.parametrize(("n_queries", "k", "wanted"), [(15, 3, False), (16, 3, True), (16, 40, False)])
def test_only_many_queries_and_rows_are_screened_by_products(rng, n_products, n_queries, k, wanted):
    X = rng.standard_normal((500, 20))
    NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors(X[:n_queries])
    assert bool(n_products) == wanted
