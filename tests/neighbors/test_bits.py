"""Packed bits: Hamming and Jaccard distances by counting equal the textbook loop to the last bit."""

import numpy as np
import pytest
import reference
import reference_metrics
from hypothesis import given
from hypothesis import strategies as st
from test_neighbors import peak_memory

from fastclf import KNeighborsClassifier, NearestNeighbors, _simd
from fastclf.neighbors import packed_bits, search

pytestmark = pytest.mark.levels

METRICS = ["hamming", "jaccard"]


def assert_exact(X, Q, k, metric, model=None):
    model = model or NearestNeighbors(n_neighbors=k, metric=metric).fit(X)
    distances, indices = model.kneighbors(Q)
    expected = reference.nearest(reference.fast_distances(X, Q, metric), k)
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


@pytest.mark.parametrize("metric", METRICS)
def test_the_vectorised_reference_is_the_textbook_loop(rng, metric):
    X, Q = rng.random((20, 5)) < 0.3, rng.random((7, 5)) < 0.3
    np.testing.assert_array_equal(reference.fast_distances(X, Q, metric), reference.distances(X, Q, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 7, 8, 9, 63, 64, 65, 128, 255, 511, 512, 513, 600, 1100])
def test_every_width_is_exact(rng, metric, d):
    X, Q = rng.random((40, d)) < 0.4, rng.random((5, d)) < 0.4
    X[3], X[7], Q[1], Q[2] = False, True, False, True
    assert_exact(X, Q, 6, metric)


@given(
    st.integers(1, 60), st.integers(1, 90), st.integers(1, 9), st.sampled_from(METRICS), st.floats(0, 1), st.integers(0)
)
def test_any_density_is_exact(n, d, n_queries, metric, share, seed):
    rng = np.random.default_rng(seed)
    assert_exact(rng.random((n, d)) < share, rng.random((n_queries, d)) < share, rng.integers(1, n + 1), metric)


@pytest.mark.parametrize("metric", METRICS)
def test_bits_are_the_numbers_of_scipy_and_scikit_learn(rng, metric):
    from scipy.spatial.distance import cdist
    from sklearn.neighbors import NearestNeighbors as Peer

    X, Q = rng.random((90, 40)) < 0.3, rng.random((8, 40)) < 0.3
    got = NearestNeighbors(n_neighbors=90, metric=metric).fit(X).kneighbors(Q)
    np.testing.assert_array_equal(got[0], np.sort(cdist(Q, X, metric), axis=1))
    np.testing.assert_allclose(got[0], Peer(n_neighbors=90, metric=metric).fit(X).kneighbors(Q)[0], rtol=1e-15)


@pytest.mark.parametrize("metric", reference_metrics.BITS)
@pytest.mark.parametrize("shape", [(1, 1), (40, 9), (70, 64), (33, 200)])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_counts_of_bits_make_the_other_metrics(rng, metric, shape, share):
    X, Q = rng.random(shape) < share, rng.random((6, shape[1])) < share
    X[0], Q[0], Q[1] = False, False, True
    D = reference_metrics.distances(X, Q, metric)
    k = min(9, len(X))
    model = NearestNeighbors(n_neighbors=k, metric=metric, n_jobs=2).fit(X)
    for queries in (Q, Q[:1]):  # many queries are searched in panels, a single one is not
        distances, indices = model.kneighbors(queries)
        expected = reference.nearest(D[: len(queries)], k)
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_array_equal(distances, expected[0])
    radius = np.median(D)
    for row, found in zip(D, model.radius_neighbors(Q, radius)[1]):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
    packed = NearestNeighbors(n_neighbors=k, metric=metric, metric_params={"n_bits": shape[1]})
    packed.fit(np.packbits(X, axis=1))
    np.testing.assert_array_equal(packed.kneighbors(np.packbits(Q, axis=1))[0], model.kneighbors(Q)[0])
    np.testing.assert_array_equal(model._fit_X, X)


@pytest.mark.parametrize("metric", ["rogerstanimoto", "russellrao", "sokalmichener"])
def test_other_metrics_of_bits_are_those_of_scikit_learn(rng, metric):
    from sklearn.neighbors import NearestNeighbors as Peer

    X, Q = rng.random((90, 40)) < 0.3, rng.random((8, 40)) < 0.3
    ours, theirs = (
        cls(n_neighbors=90, metric=metric, algorithm="ball_tree").fit(X).kneighbors(Q)[0]
        for cls in (NearestNeighbors, Peer)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8])
def test_hamming_of_bools_is_that_of_zeros_and_ones(rng, kind):
    X, Q = rng.random((300, 37)) < 0.5, rng.random((20, 37)) < 0.5
    expected = NearestNeighbors(metric="hamming").fit(X.astype(kind)).kneighbors(Q)
    for queries in (Q, Q.astype(kind)):
        for got, want in zip(NearestNeighbors(metric="hamming").fit(X).kneighbors(queries), expected):
            np.testing.assert_array_equal(got, want)


def test_jaccard_of_numbers_asks_which_are_not_zero(rng):
    X, Q = rng.integers(-1, 2, (50, 12)) * 0.5, rng.integers(-1, 2, (6, 12)) * 3
    assert_exact(X, Q, 9, "jaccard")
    assert_exact(X.astype(bool), Q, 9, "jaccard")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 8, 61, 1000])
def test_bits_that_the_user_packed_give_the_same(rng, metric, d):
    X, Q = rng.random((200, d)) < 0.2, rng.random((9, d)) < 0.2
    model = NearestNeighbors(metric=metric, metric_params={"n_bits": d}).fit(np.packbits(X, axis=1))
    assert model.n_features_in_ == (d + 7) // 8
    assert_exact(X, Q, 5, metric, _Packing(model))
    expected = NearestNeighbors(metric=metric).fit(X)
    for got, want in zip(model.kneighbors(), expected.kneighbors()):
        np.testing.assert_array_equal(got, want)


class _Packing:
    """A model whose methods get rows of bools, and pack them into bits for the model inside."""

    def __init__(self, model):
        self.model = model

    def kneighbors(self, Q):
        return self.model.kneighbors(np.packbits(Q, axis=1))


def test_packed_rows_are_kept_by_reference(rng):
    X = rng.integers(0, 256, (50, 16), dtype=np.uint8)
    model = NearestNeighbors(metric="hamming", metric_params={"n_bits": 128}).fit(X)
    assert np.shares_memory(model._scan.X.packed, X)


@pytest.mark.parametrize("metric", METRICS)
def test_threads_batches_memory_and_levels_change_no_bit(rng, metric, monkeypatch):
    X, Q = rng.random((2000, 90)) < 0.3, rng.random((150, 90)) < 0.3
    model = NearestNeighbors(n_neighbors=6, metric=metric, n_jobs=1).fit(X)
    expected = model.kneighbors(Q)
    radius = expected[0][:, -1].max()
    within = model.radius_neighbors(Q, radius)

    def assert_same():
        for got, want in zip(model.kneighbors(Q), expected):
            np.testing.assert_array_equal(got, want)
        for got, want in zip(zip(*(model.kneighbors(q[None]) for q in Q[:20])), expected):
            np.testing.assert_array_equal(np.concatenate(got), want[:20])
        for got, want in zip(model.radius_neighbors(Q, radius), within):
            assert all(map(np.array_equal, got, want))

    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    for params in ({"n_jobs": 3}, {"n_jobs": 2, "working_memory": 0.2}):
        model.set_params(**params)
        assert_same()
    for level in _simd.available():
        monkeypatch.setattr(packed_bits, "kernels", _simd.load("neighbors._bits_scan", level))
        assert_same()


@pytest.mark.parametrize("metric", METRICS)
def test_a_radius_finds_every_row_up_to_and_on_it(rng, metric):
    X, Q = rng.random((300, 20)) < 0.3, rng.random((30, 20)) < 0.3
    D = reference.fast_distances(X, Q, metric)
    for radius in (0.0, np.sort(D[0])[30], 1.0, 7.0):
        distances, indices = NearestNeighbors(metric=metric, radius=radius).fit(X).radius_neighbors(Q)
        for found, far, row in zip(indices, distances, D):
            np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
            np.testing.assert_array_equal(far, row[row <= radius])


@pytest.mark.parametrize("metric", METRICS)
def test_each_row_leaves_itself_out_and_weight_zero_is_a_missing_row(rng, metric):
    X, y = rng.random((120, 9)) < 0.5, np.arange(120) % 3
    D = reference.fast_distances(X, X, metric)
    expected = reference.nearest(D, 4, own=np.arange(120))
    for got, want in zip(NearestNeighbors(n_neighbors=4, metric=metric).fit(X).kneighbors(), expected):
        np.testing.assert_array_equal(got, want)
    weight = (np.arange(120) % 2).astype(float)
    indices = KNeighborsClassifier(4, metric=metric).fit(X, y, weight).kneighbors(X, return_distance=False)
    np.testing.assert_array_equal(indices, reference.nearest(D, 4, allowed=weight > 0)[1])


def test_memory_beyond_input_and_output_is_bounded(rng):
    X = rng.random((100_000, 80)) < 0.5
    Q = X[:3000]
    NearestNeighbors(metric="jaccard").fit(X[:10]).kneighbors(X[:3])
    model = NearestNeighbors(metric="jaccard", working_memory=2)
    used, _ = peak_memory(lambda: model.fit(X))
    assert used < 8e6 + X.size / 8
    used, result = peak_memory(lambda: model.kneighbors(Q))
    assert used < 2e6 + Q.size / 8 + sum(part.nbytes for part in result) + 1e6


BAD = {
    "hamming_params": (lambda X: NearestNeighbors(metric="hamming", metric_params={"v": 1}).fit(X), "does not take"),
    "jaccard_params": (lambda X: NearestNeighbors(metric="jaccard", metric_params={"v": 1}).fit(X), "does not take"),
    "half a bit": (
        lambda X: NearestNeighbors(metric="hamming").fit(X).kneighbors(np.full((1, 9), 0.5)),
        r"X has 0.5 \(row 0, column 0\), but NearestNeighbors was fitted on bools",
    ),
    "nan": (lambda X: NearestNeighbors(metric="jaccard").fit(X * np.nan), "contains NaN"),
    "too many features": (lambda X: NearestNeighbors(metric="jaccard").fit(X).kneighbors(X[:, 1:]), "X has 8 features"),
    "one dimension": (lambda X: NearestNeighbors(metric="jaccard").fit(X[0]), r"X has shape \(9,\)"),
    "n_bits of floats": (
        lambda X: NearestNeighbors(metric="jaccard", metric_params={"n_bits": 9}).fit(X * 1.0),
        "X has dtype float64 and 9 columns; .* uint8 and 2 columns",
    ),
    "n_bits too few": (
        lambda X: NearestNeighbors(metric="jaccard", metric_params={"n_bits": 6}).fit(np.full((2, 1), 5, np.uint8)),
        r"X has ones beyond bit 6 \(row 0\)",
    ),
    "n_bits no number": (
        lambda X: NearestNeighbors(metric="jaccard", metric_params={"n_bits": 6.5}).fit(X),
        r"metric_params\['n_bits'\] is 6.5; a whole number is wanted",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(rng.random((20, 9)) < 0.5)
    assert "\n" not in str(caught.value)
