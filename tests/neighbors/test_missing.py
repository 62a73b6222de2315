"""Missing values: distances over the coordinates that both rows have equal the textbook loop to the last bit."""

import numpy as np
import pytest
import reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from test_neighbors import HOSTILE, peak_memory

from fastclf import (
    KNeighborsClassifier,
    KNeighborsDensity,
    KNeighborsRegressor,
    NearestNeighbors,
    _simd,
)
from fastclf.neighbors import missing_values, search

pytestmark = pytest.mark.levels


def rows(rng, n, d, dtype=np.float64, share=0.3):
    X = rng.standard_normal((n, d)).round(1)
    X[rng.random((n, d)) < share] = np.nan
    return X.astype(dtype)


def distances(X, Q):
    return reference.distances(X, Q, "nan_euclidean")


def assert_exact(X, Q, k):
    got = NearestNeighbors(n_neighbors=k, metric="nan_euclidean").fit(X).kneighbors(Q)
    expected = reference.nearest(distances(X, Q), k)
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_array_equal(got[0], expected[0])


@pairwise_grid(
    dtypes=["ff", "fd", "df", "dd"], shape=[(1, 1), (2, 3), (31, 1), (33, 2), (150, 7), (90, 40)], n_queries=[1, 9]
)
def test_answers_equal_the_textbook_loop_to_the_last_bit(rng, dtypes, shape, n_queries):
    X, Q = rows(rng, *shape, dtypes[0]), rows(rng, n_queries, shape[1], dtypes[1])
    assert_exact(X, Q, min(7, shape[0]))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hostile_scales_are_exact(rng, name, dtype):
    factor, offset = HOSTILE[name]
    X = (rng.uniform(-3, 3, (90, 6)) * factor + offset).astype(dtype)
    X[rng.random(X.shape) < 0.3] = np.nan
    assert_exact(X, np.concatenate([X[:4], X[-4:] * np.dtype(dtype).type(1.0001)]), 5)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 5), st.data())
def test_nasty_values_are_exact(n, d, n_queries, data):
    values = st.sampled_from([np.nan, np.nan, 0.0, -0.0, 1.0, 5e-324, 1e-160, 1e154, -1e300, 6e6, 0.1])
    pool = np.array(data.draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=1, max_size=6)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X, Q = (pool[rng.integers(0, len(pool), size)] for size in (n, n_queries))
    assert_exact(X, Q, rng.integers(1, n + 1))


def test_distances_are_scikit_learns_and_infinite_where_those_are_nan(rng):
    from sklearn.metrics.pairwise import nan_euclidean_distances

    X, Q = rows(rng, 200, 4, share=0.5), rows(rng, 20, 4, share=0.5)
    theirs = nan_euclidean_distances(Q, X)
    assert np.isnan(theirs).any()
    ours, index = NearestNeighbors(n_neighbors=200, metric="nan_euclidean").fit(X).kneighbors(Q)
    theirs = np.take_along_axis(theirs, index, axis=1)
    np.testing.assert_array_equal(np.isinf(ours), np.isnan(theirs))
    # scikit-learn subtracts squares, which loses digits
    np.testing.assert_allclose(ours[np.isfinite(ours)], theirs[np.isfinite(ours)], rtol=1e-6, atol=1e-6)


def test_with_nothing_missing_the_bits_are_those_of_euclidean(rng):
    X, Q = rng.standard_normal((300, 7)), rng.standard_normal((20, 7))
    for got, want in zip(
        NearestNeighbors(metric="nan_euclidean").fit(X).kneighbors(Q), NearestNeighbors().fit(X).kneighbors(Q)
    ):
        np.testing.assert_array_equal(got, want)


def test_rows_that_share_nothing_come_last_by_index():
    X = [[np.nan, 1.0], [5.0, np.nan], [np.nan, np.nan], [1.0, np.nan]]
    model = NearestNeighbors(n_neighbors=4, metric="nan_euclidean").fit(X)
    distances, indices = model.kneighbors([[0.0, np.nan], [np.nan, np.nan]])
    assert indices.tolist() == [[3, 1, 0, 2], [0, 1, 2, 3]]
    assert distances.tolist() == [[2**0.5, 50**0.5, np.inf, np.inf], [np.inf] * 4]
    assert model.radius_neighbors([[0.0, np.nan]], radius=1e308)[1][0].tolist() == [1, 3]
    assert model.radius_neighbors([[0.0, np.nan]], radius=np.inf)[1][0].tolist() == [0, 1, 2, 3]


def test_threads_batches_memory_and_levels_change_no_bit(rng, monkeypatch):
    X, Q = rows(rng, 3000, 5), rows(rng, 150, 5)
    model = NearestNeighbors(n_neighbors=6, metric="nan_euclidean", n_jobs=1).fit(X)
    expected, within = model.kneighbors(Q), model.radius_neighbors(Q, 1.0)

    def assert_same():
        for got, want in zip(model.kneighbors(Q), expected):
            np.testing.assert_array_equal(got, want)
        for got, want in zip(zip(*(model.kneighbors(q[None]) for q in Q[:20])), expected):
            np.testing.assert_array_equal(np.concatenate(got), want[:20])
        for got, want in zip(model.radius_neighbors(Q, 1.0), within):
            assert all(map(np.array_equal, got, want))

    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    for params in ({"n_jobs": 3}, {"n_jobs": 2, "working_memory": 0.2}):
        model.set_params(**params)
        assert_same()
    for level in _simd.available():
        monkeypatch.setattr(missing_values, "kernels", _simd.load("neighbors._missing_scan", level))
        assert_same()


def test_a_radius_finds_every_row_up_to_and_on_it(rng):
    X, Q = rows(rng, 300, 4), rows(rng, 30, 4)
    D = distances(X, Q)
    for radius in (0.0, np.sort(D[0])[30], 2.0):
        far, index = NearestNeighbors(metric="nan_euclidean", radius=radius).fit(X).radius_neighbors(Q)
        for found, length, row in zip(index, far, D):
            np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
            np.testing.assert_array_equal(length, row[row <= radius])


def test_each_row_leaves_itself_out_and_weight_zero_is_a_missing_row(rng):
    X, y = rows(rng, 120, 4), np.arange(120) % 3
    D = distances(X, X)
    model = NearestNeighbors(n_neighbors=4, metric="nan_euclidean").fit(X)
    for got, want in zip(model.kneighbors(), reference.nearest(D, 4, own=np.arange(120))):
        np.testing.assert_array_equal(got, want)
    weight = (np.arange(120) % 2).astype(float)
    indices = KNeighborsClassifier(4, metric="nan_euclidean").fit(X, y, weight).kneighbors(X)[1]
    np.testing.assert_array_equal(indices, reference.nearest(D, 4, allowed=weight > 0)[1])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_predictions_are_never_nan(rng, weights):
    X, y = rows(rng, 60, 2, share=0.6), rng.standard_normal(60)
    Q = np.concatenate([rows(rng, 20, 2, share=0.6), [[np.nan, np.nan]]])
    assert np.isfinite(KNeighborsRegressor(60, weights=weights, metric="nan_euclidean").fit(X, y).predict(Q)).all()
    model = KNeighborsClassifier(60, weights=weights, ties="distance", metric="nan_euclidean").fit(X, y > 0)
    np.testing.assert_allclose(model.predict_proba(Q).sum(axis=1), 1)


def test_tables_with_missing_numbers_are_taken():
    import pandas as pd

    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [0.0, 1.0, None]})
    X = [[1, 0], [np.nan, 1], [3, np.nan]]
    for got, want in zip(
        NearestNeighbors(n_neighbors=2, metric="nan_euclidean").fit(table).kneighbors(),
        NearestNeighbors(n_neighbors=2, metric="nan_euclidean").fit(X).kneighbors(),
    ):
        np.testing.assert_array_equal(got, want)


def test_scikit_learn_is_told_that_nan_is_allowed():
    assert KNeighborsClassifier(metric="nan_euclidean").__sklearn_tags__().input_tags.allow_nan
    assert not KNeighborsClassifier().__sklearn_tags__().input_tags.allow_nan


def test_memory_beyond_input_and_output_is_bounded(rng):
    X = rows(rng, 50_000, 8, np.float32)
    model = NearestNeighbors(metric="nan_euclidean", working_memory=2).fit(X)
    model.kneighbors(X[:3])
    used, result = peak_memory(lambda: model.kneighbors(X[:3000]))
    assert used < 2e6 + sum(part.nbytes for part in result) + 1e6


BAD = {
    "infinity": (lambda X: NearestNeighbors(metric="nan_euclidean").fit(X * np.inf), r"contains infinity \(row 0, col"),
    "infinite query": (
        lambda X: NearestNeighbors(metric="nan_euclidean").fit(X).kneighbors([[np.nan, np.inf]]),
        r"contains infinity \(row 0, column 1\); NearestNeighbors wants finite numbers or NaN",
    ),
    "params": (
        lambda X: NearestNeighbors(metric="nan_euclidean", metric_params={"w": [1, 1]}).fit(X),
        r"metric_params has \['w'\], which metric='nan_euclidean' does not take",
    ),
    "density": (lambda X: KNeighborsDensity(metric="nan_euclidean").fit(X), "whose ball has no volume formula"),
    "nan elsewhere": (lambda X: NearestNeighbors(metric="euclidean").fit(X * np.nan), "contains NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(rng.standard_normal((20, 2)))
    assert "\n" not in str(caught.value)
