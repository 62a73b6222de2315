"""Metrics with a formula of their own: equal to the textbook loop to the last bit, at every SIMD level."""

import numpy as np
import pytest
import reference
import reference_metrics
from hypothesis import given
from hypothesis import strategies as st

from fastclf import KNeighborsClassifier, NearestNeighbors, RadiusNeighborsClassifier, load, save

pytestmark = pytest.mark.levels

METRICS = sorted(reference_metrics.FORMULAS)


def params_of(rng, metric, d):
    if metric == "seuclidean":
        return {"V": rng.random(d) + 0.1}
    if metric == "mahalanobis":
        A = rng.standard_normal((d, d))
        return {"VI": A @ A.T}
    return {}


def width(metric, d):
    return 2 if metric == "haversine" else d


def assert_exact(X, Q, metric, params, k, **options):
    D = reference_metrics.distances(X, Q, metric, **params)
    model = NearestNeighbors(n_neighbors=k, metric=metric, metric_params=params or None, **options).fit(X)
    got, expected = model.kneighbors(Q), reference.nearest(D, k)
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_array_equal(got[0], expected[0])
    radius = np.median(D)
    distances, indices = model.radius_neighbors(Q, radius)
    for row, found, far in zip(D, indices, distances):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
        np.testing.assert_array_equal(far, row[row <= radius])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (16, 5), (17, 9), (150, 33)])
@pytest.mark.parametrize("dtypes", ["ff", "fd", "df", "dd"])
def test_answers_equal_the_textbook_loop_to_the_last_bit(rng, metric, shape, dtypes):
    n, d = shape[0], width(metric, shape[1])
    X, Q = rng.standard_normal((n, d)).astype(dtypes[0]), rng.standard_normal((7, d)).astype(dtypes[1])
    assert_exact(X, Q, metric, params_of(rng, metric, d), min(n, 6))


@pytest.mark.parametrize("metric", METRICS)
def test_duplicates_and_zeros_are_ordered_by_row(rng, metric):
    X = rng.integers(-1, 2, (90, width(metric, 3))).astype(float)
    assert_exact(X, X[:20], metric, params_of(rng, metric, X.shape[1]), 40)


@given(st.integers(1, 40), st.integers(1, 6), st.sampled_from(["canberra", "braycurtis", "correlation"]), st.data())
def test_nasty_values_are_measured(n, d, metric, data):
    values = st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-160, 1e154, -1e300, 1.7e308, -1.7e308, 6e6, 0.1])
    pool = np.array(data.draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=1, max_size=6)))
    X = pool[np.random.default_rng(n).integers(0, len(pool), n)]
    distances, _indices = NearestNeighbors(n_neighbors=n, metric=metric).fit(X).kneighbors(X)
    assert np.isfinite(distances).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (distances <= {"canberra": d, "braycurtis": 1, "correlation": 2}[metric]).all()
    if metric != "correlation":  # by correlation, a constant row has distance 1 from itself
        assert (distances[:, 0] == 0).all()


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e300])
@pytest.mark.parametrize("metric", ["canberra", "braycurtis", "correlation"])
def test_powers_of_two_change_no_distance(rng, metric, scale):
    X = rng.standard_normal((50, 4))
    scale = 2.0 ** round(np.log2(scale))
    plain, scaled = (
        NearestNeighbors(metric=metric).fit(X * factor).kneighbors(X[:9] * factor) for factor in (1, scale)
    )
    np.testing.assert_array_equal(plain[1], scaled[1])
    np.testing.assert_array_equal(plain[0], scaled[0])


@pytest.mark.parametrize("metric", METRICS)
def test_threads_blocks_and_memory_change_no_bit(rng, metric):
    X = rng.standard_normal((3000, width(metric, 6)))
    params = params_of(rng, metric, X.shape[1])
    models = [
        NearestNeighbors(metric=metric, metric_params=params or None, **options).fit(X)
        for options in ({"n_jobs": 1}, {"n_jobs": 3}, {"n_jobs": 2, "working_memory": 0.01}, {"algorithm": "brute"})
    ]
    for n in (1, 300):
        answers = [model.kneighbors(X[:n] + 0.01) for model in models]
        for distances, indices in answers[1:]:
            np.testing.assert_array_equal(indices, answers[0][1])
            np.testing.assert_array_equal(distances, answers[0][0])


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_scikit_learn(rng, metric):
    from sklearn.neighbors import NearestNeighbors as Peer

    X = rng.random((200, width(metric, 5)))
    params = params_of(rng, metric, X.shape[1])
    ours, theirs = (
        cls(n_neighbors=9, metric=metric, metric_params=params or None, algorithm="brute")
        .fit(X)
        .kneighbors(X[:30] + 0.1)
        for cls in (NearestNeighbors, Peer)
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.parametrize("metric", METRICS)
def test_rows_come_and_go_and_files_keep_them(rng, metric, tmp_path):
    X, y = rng.standard_normal((60, width(metric, 3))), rng.integers(0, 100, 60).astype(str)
    params = params_of(rng, metric, X.shape[1]) or None
    model = KNeighborsClassifier(3, metric=metric, metric_params=params).fit(X[:20], y[:20])
    model.partial_fit(X[20:50], y[20:50]).partial_fit(X[50:], y[50:]).remove([0, 30, 59])
    left = np.delete(np.arange(60), [0, 30, 59])
    expected = KNeighborsClassifier(3, metric=metric, metric_params=params).fit(X[left], y[left])
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        np.testing.assert_array_equal(each.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(each.predict(None), expected.predict(None))


def test_read_only_memory_maps_are_searched(rng, tmp_path):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_exact(mapped, mapped[:5], "canberra", {}, 7)


@pytest.mark.parametrize(
    ("metric", "params", "match"),
    [
        ("seuclidean", None, "has no 'V'"),
        ("seuclidean", {"V": [1.0, 2.0]}, r"shape \(2,\); shape \(3,\) is wanted"),
        ("seuclidean", {"V": [1.0, 0.0, 1.0]}, "NaN, infinite, or not above 0; variances above 0"),
        ("seuclidean", {"V": [1.0, np.nan, 1.0]}, "NaN, infinite, or not above 0; variances above 0"),
        ("mahalanobis", None, "has no 'VI'"),
        ("mahalanobis", {"V": np.zeros((3, 3))}, "singular"),
        ("mahalanobis", {"VI": np.diag([1.0, -1.0, 1.0])}, "negative eigenvalue"),
        ("mahalanobis", {"VI": np.full((3, 3), np.inf)}, "NaN or infinity"),
        ("haversine", None, "only valid in 2 dimensions"),
        ("canberra", {"w": [1, 1, 1]}, "does not take"),
    ],
)
def test_parameters_that_give_no_distances_are_refused(metric, params, match):
    with pytest.raises(ValueError, match=match):
        NearestNeighbors(metric=metric, metric_params=params).fit(np.ones((4, 3)))


def test_v_of_mahalanobis_is_the_covariance_matrix(rng):
    X = rng.standard_normal((40, 3))
    V = np.cov(X.T)
    given, inverse = (
        NearestNeighbors(metric="mahalanobis", metric_params=params).fit(X).kneighbors(X)
        for params in ({"V": V}, {"VI": np.linalg.inv(V)})
    )
    np.testing.assert_array_equal(given[0], inverse[0])


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_rows_are_refused_by_name(rng, metric):
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match=f"Metric '{metric}' not valid for sparse input"):
        NearestNeighbors(metric=metric).fit(csr_array(np.eye(2)))


@pytest.mark.parametrize("metric", ["canberra", "braycurtis", "haversine"])
def test_ball_tree_stands_for_a_search_that_is_exact(rng, metric):
    X = rng.random((30, 2))
    assert_exact(X, X[:4], metric, {}, 5, algorithm="ball_tree")
    with pytest.raises(ValueError, match="kd_tree"):
        NearestNeighbors(metric=metric, algorithm="kd_tree").fit(X)


def test_one_row_and_one_class_and_a_hundred(rng):
    one = KNeighborsClassifier(1, metric="canberra").fit([[1.0, 2.0]], ["only"])
    assert one.predict([[0.0, 0.0]]) == ["only"]
    X, y = rng.random((300, 2)), np.arange(300) % 100
    D = reference_metrics.distances(X, X, "haversine")
    model = RadiusNeighborsClassifier(0.2, metric="haversine").fit(X, y)
    expected = [np.bincount(y[row <= 0.2], minlength=100) / (row <= 0.2).sum() for row in D]
    np.testing.assert_array_equal(model.predict_proba(X), expected)
