"""k-NN: equal to the textbook loop to the last bit, for any data, batch size, number of threads and SIMD level."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastclf import (
    KNeighborsClassifier,
    KNeighborsDensity,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    _simd,
)
from fastclf.neighbors import scan, search
from fastclf.neighbors.metrics import METRICS, NAMED
from fastclf.neighbors.packed_bits import PackedRows

pytestmark = pytest.mark.levels

FAST_METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "hamming"]
ALL_METRICS = [*FAST_METRICS, "cosine", "dot", "minkowski"]
PARAMS = {"minkowski": {"p": 3, "metric_params": {"w": [1.0, 0.5, 0.0, 2.0, 1.0]}}}


def reference_params(metric):
    return {"p": 3.0, "w": PARAMS["minkowski"]["metric_params"]["w"]} if metric == "minkowski" else {}


def assert_exact(X, Q, k, metric="euclidean", D=None, **params):
    if D is None:
        D = reference.fast_distances(X, Q, metric)
    expected_distances, expected_indices = reference.nearest(D, k)
    for algorithm in ["brute", "filter"] if NAMED[metric].coded else ["brute"]:
        model = NearestNeighbors(n_neighbors=k, metric=metric, algorithm=algorithm, **params).fit(X)
        distances, indices = model.kneighbors(Q)
        np.testing.assert_array_equal(indices, expected_indices)
        np.testing.assert_array_equal(distances, expected_distances)


# Metrics that need parameters, and metrics that take a fixed number of features.
NEEDED = {"seuclidean": {"V": np.ones(4)}, "mahalanobis": {"VI": np.eye(4)}}
FEATURES = {"haversine": 2, "precomputed": 30}

# Metrics that scikit-learn's ball tree accepts, but no tree of ours.
ONLY_IN_BALLS = {"braycurtis", "canberra", "dice", "hamming", "haversine", "jaccard", "mahalanobis", "rogerstanimoto"}
ONLY_IN_BALLS |= {"russellrao", "seuclidean", "sokalmichener", "sokalsneath"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_table_says_which_index_takes_a_metric(rng, metric):
    X = np.abs(rng.standard_normal((30, FEATURES.get(metric.name, 4))))
    sparse_X = sparse.csr_matrix(X.round(0))

    def takes(X, **params):
        try:
            NearestNeighbors(metric=metric.name, p=3, metric_params=NEEDED.get(metric.name), **params).fit(X)
        except (TypeError, ValueError):
            return False
        return True

    assert metric.scanned == (metric.code >= 0) == (metric.name in scan.kernels.CODES)
    assert takes(X)
    assert takes(X, algorithm="tree") == takes(X, algorithm="kd_tree") == metric.tree
    assert takes(X, algorithm="ball_tree") == (metric.tree or metric.name in ONLY_IN_BALLS)
    assert takes(X, algorithm="filter") == metric.coded
    assert takes(X, algorithm="cells") == metric.celled
    assert takes(sparse_X) == (metric.sparse or metric.precomputed)
    assert takes(np.where(X > 1, np.nan, X)) == metric.missing
    rows = NearestNeighbors(metric=metric.name, metric_params=NEEDED.get(metric.name)).fit(X > 0)._scan.some_rows
    assert isinstance(rows, PackedRows) == metric.packed


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_aliases_and_norms_by_their_p_are_the_metric(rng, metric):
    X = np.abs(rng.standard_normal((30, FEATURES.get(metric.name, 4))))
    found = NearestNeighbors(metric=metric.name, metric_params=NEEDED.get(metric.name)).fit(X).kneighbors(X)
    others = [NearestNeighbors(metric=name) for name in metric.aliases]
    others += [] if metric.norm is None else [NearestNeighbors(metric="minkowski", p=metric.norm)]
    for other in others:
        np.testing.assert_array_equal(other.fit(X).kneighbors(X), found)


@pytest.mark.parametrize("metric", FAST_METRICS)
def test_the_vectorised_reference_is_the_textbook_loop(rng, metric):
    X, Q = rng.standard_normal((20, 5)).round(1), rng.standard_normal((7, 5)).round(1)
    np.testing.assert_array_equal(reference.fast_distances(X, Q, metric), reference.distances(X, Q, metric))


@pairwise_grid(metric=ALL_METRICS, dtypes=["ff", "fd", "df", "dd"], n_queries=[1, 3, 9])
def test_answers_equal_the_textbook_loop_to_the_last_bit(rng, metric, dtypes, n_queries):
    X = rng.standard_normal((150, 5)).round(1).astype(dtypes[0])
    Q = rng.standard_normal((n_queries, 5)).round(1).astype(dtypes[1])
    D = reference.distances(X, Q, metric, **reference_params(metric))
    assert_exact(X, Q, 7, metric, D, **PARAMS.get(metric, {}))


@pairwise_grid(
    metric=FAST_METRICS,
    dtype=["float32", "float64"],
    shape=[(1, 1), (2, 3), (31, 1), (33, 2), (500, 16), (700, 33), (300, 130)],
    n_queries=[1, 2, 4, 5, 70],
)
def test_every_shape_is_exact(rng, metric, dtype, shape, n_queries):
    X, Q = rng.standard_normal(shape).astype(dtype), rng.standard_normal((n_queries, shape[1])).astype(dtype)
    if metric == "hamming":
        X, Q = X.round(), Q.round()
    assert_exact(X, Q, min(10, shape[0]), metric)


# (factor, offset) of standard normal data with which other implementations fail.
HOSTILE = {
    "norms near 6e6": (1e3, 5e5),
    "offset 1e8": (1.0, 1e8),
    "tiny": (1e-30, 0.0),
    "huge": (1e30, 0.0),
    "subnormal": (1e-41, 0.0),
    "largest float32": (1e38, 0.0),
}


@pairwise_grid(name=HOSTILE, metric=FAST_METRICS, dtype=["float32", "float64"], n_queries=[2, 40])
def test_hostile_scales_are_exact(rng, name, metric, dtype, n_queries):
    factor, offset = HOSTILE[name]
    X = (rng.uniform(-3, 3, (400, 40)) * factor + offset).astype(dtype)
    Q = np.concatenate([X[: n_queries // 2], X[-(n_queries // 2) :] * dtype_of(dtype)(1.0001)])
    assert_exact(X, Q, 5, metric)


@pairwise_grid(name=HOSTILE, metric=["cosine", "dot", "minkowski"], dtype=["float32", "float64"], n_queries=[2, 9])
def test_hostile_scales_are_exact_for_slow_metrics(rng, name, metric, dtype, n_queries):
    factor, offset = HOSTILE[name]
    X = (rng.uniform(-3, 3, (120, 5)) * factor + offset).astype(dtype)
    Q = np.concatenate([X[: n_queries // 2], X[-(n_queries // 2) :] * dtype_of(dtype)(1.0001)])
    if metric == "dot" and dtype == "float32" and name == "largest float32":
        with pytest.raises(ValueError, match=r"row 0 of X has a squared norm of .*; for metric='dot' one up to 1e\+76"):
            NearestNeighbors(metric=metric).fit(X)
        return
    D = reference.distances(X, Q, metric, **reference_params(metric))
    assert_exact(X, Q, 5, metric, D, **PARAMS.get(metric, {}))


def test_a_weight_of_zero_times_an_overflow_is_no_nan():
    X, w = [[1e200, 0], [0, 1], [-1e200, 2]], {"w": [0.0, 1.0]}
    for n_queries in (1, 5):
        model = NearestNeighbors(n_neighbors=3, p=2, metric_params=w).fit(X)
        distances, indices = model.kneighbors([[0.0, 0.0]] * n_queries)
        assert indices.tolist() == [[0, 1, 2]] * n_queries
        assert distances.tolist() == [[0, 1, 2]] * n_queries


def test_minkowski_distances_that_vanish_are_within_radius_zero(rng):
    X = rng.random((100, 2))
    model = NearestNeighbors(p=0.5, metric_params={"w": [1e-170] * 2}, n_neighbors=100).fit(X)
    assert (model.kneighbors([[0.0, 0.0]])[0] == 0).all()
    assert len(model.radius_neighbors([[0.0, 0.0]], radius=0.0)[1][0]) == 100


def dtype_of(name):
    return np.dtype(name).type


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-160, 1e150, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_ends_of_float64_are_exact(rng, metric, scale):
    X, Q = rng.integers(-9, 9, (90, 6)) * scale, rng.integers(-9, 9, (8, 6)) * scale
    assert_exact(X, Q, 4, metric)
    assert_exact(X, Q[:1], 4, metric)


@pytest.mark.parametrize("n_queries", [1, 20])
def test_a_float64_query_is_not_rounded_to_float32_rows(n_queries):
    # The query 1 + 2^-30 rounds to 1 in float32, but is nearer to the row at 1 + 2^-23 than the query 1 is.
    X = np.array([[1.0], [1.0 + 2**-23], [1.0 - 2**-23]], dtype=np.float32)
    Q = np.full((n_queries, 1), 1 + 2**-24 + 2**-30)
    assert_exact(X, Q, 3)
    assert (NearestNeighbors(n_neighbors=1).fit(X).kneighbors(Q)[1] == 1).all()
    assert_exact(np.float32([[0.0], [3e38]]), np.full((n_queries, 1), 1e39), 2)


@pytest.mark.parametrize("n_queries", [1, 2, 30, 300])
def test_an_exact_match_is_at_distance_zero_at_norms_of_6e6(rng, n_queries):
    X = (6e6 + rng.standard_normal((1000, 16))).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        distances, indices = NearestNeighbors(n_neighbors=1, metric=metric).fit(X).kneighbors(X[:n_queries])
        assert (distances == 0).all()
        if metric == "euclidean":
            assert (indices[:, 0] == np.arange(n_queries)).all()


@pytest.mark.parametrize("metric", ALL_METRICS)
@pytest.mark.parametrize("n_queries", [1, 50])
def test_when_all_rows_are_equal_the_first_ones_are_found(metric, n_queries):
    X = np.full((200, 5), 3.7, dtype=np.float32)
    model = NearestNeighbors(n_neighbors=3, metric=metric, **PARAMS.get(metric, {})).fit(X)
    assert (model.kneighbors(np.full((n_queries, 5), 1.5))[1] == [0, 1, 2]).all()
    assert (model.kneighbors(n_neighbors=2)[1][:2] == [[1, 2], [0, 2]]).all()


def test_distances_are_never_negative_or_nan(rng):
    X = rng.standard_normal((300, 8)).astype(np.float32) * np.float32(1e-3) + np.float32(1e4)
    for metric in [*FAST_METRICS, "cosine"]:
        distances = NearestNeighbors(metric=metric).fit(X).kneighbors(X)[0]
        assert (distances >= 0).all()


def test_rows_sorted_from_far_to_near_are_exact(rng):
    X = rng.standard_normal((3000, 6)).astype(np.float32)
    X = X[np.argsort(-(X**2).sum(axis=1))]
    assert_exact(X, np.zeros((40, 6), np.float32), 9)
    assert_exact(X, np.zeros((1, 6), np.float32), 9)


nasty = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e-23, 1e19, 1e38, -3e38, 0.1, 6e6, 6000000.5])


@given(
    st.integers(1, 70),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from(FAST_METRICS),
    st.sampled_from(["float32", "float64"]),
    st.data(),
)
def test_nasty_values_are_exact(n, d, n_queries, metric, dtype, data):
    draw = st.lists(st.one_of(nasty, st.floats(-4, 4, width=32)), min_size=d, max_size=d)
    pool = data.draw(st.lists(draw, min_size=1, max_size=6))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X, Q = (np.array(pool, dtype=dtype)[rng.integers(0, len(pool), size)] for size in (n, n_queries))
    assert_exact(X, Q, rng.integers(1, n + 1), metric)


@pytest.mark.parametrize("metric", ALL_METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_batches_memory_and_levels_change_no_bit(rng, metric, dtype, monkeypatch):
    X, Q = rng.standard_normal((5000, 5)).astype(dtype), rng.standard_normal((150, 5)).astype(dtype)
    model = NearestNeighbors(n_neighbors=6, metric=metric, n_jobs=1, **PARAMS.get(metric, {})).fit(X)
    expected = model.kneighbors(Q)

    def assert_same(answer):
        np.testing.assert_array_equal(answer[0], expected[0])
        np.testing.assert_array_equal(answer[1], expected[1])

    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    monkeypatch.setattr(scan, "_AT_ONCE", 0)
    for n_jobs in (2, 3, 7):
        assert_same(model.set_params(n_jobs=n_jobs).kneighbors(Q))
        for size in (1, 2, 6):
            pieces = [model.kneighbors(Q[i : i + size]) for i in range(0, 24, size)]
            expected_start = expected[0][:24], expected[1][:24]
            for got, want in zip(map(np.concatenate, zip(*pieces)), expected_start):
                np.testing.assert_array_equal(got, want)
    assert_same(model.set_params(working_memory=0.05).kneighbors(Q))
    for level in _simd.available():
        monkeypatch.setattr(scan, "kernels", _simd.load("neighbors._scan", level))
        assert_same(model.kneighbors(Q))
        assert_same([np.concatenate(part) for part in zip(*(model.kneighbors(q[None]) for q in Q))])


@pytest.mark.parametrize("metric", ALL_METRICS)
def test_without_queries_each_row_leaves_itself_out_by_row(rng, metric):
    X = rng.integers(0, 3, (120, 5)).astype(float) + 1.0
    D = reference.distances(X, X, metric, **reference_params(metric))
    expected = reference.nearest(D, 4, own=np.arange(120))
    got = NearestNeighbors(n_neighbors=4, metric=metric, **PARAMS.get(metric, {})).fit(X).kneighbors()
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_array_equal(got[0], expected[0])
    if metric != "dot":
        assert (got[0] == 0).any(), "duplicates of a row must be found"


@pairwise_grid(metric=ALL_METRICS, dtype=["float32", "float64"], n_queries=[1, 3, 60])
def test_a_radius_finds_every_row_up_to_and_on_it(rng, metric, dtype, n_queries):
    X = rng.integers(-2, 3, (300, 5)).astype(dtype)
    Q = rng.integers(-2, 3, (n_queries, 5)).astype(dtype)
    D = reference.distances(X, Q, metric, **reference_params(metric))
    radius = np.sort(D[0])[30]
    model = NearestNeighbors(radius=radius, metric=metric, **PARAMS.get(metric, {})).fit(X)
    for found, far, row in zip(*model.radius_neighbors(Q)[::-1], D):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
        np.testing.assert_array_equal(far, row[row <= radius])
    for found, far, row in zip(*model.radius_neighbors(Q, sort_results=True)[::-1], D):
        order = np.lexsort((np.arange(len(row)), row))
        np.testing.assert_array_equal(found, order[row[order] <= radius])
        np.testing.assert_array_equal(far, np.sort(row[row <= radius]))


def test_a_radius_search_can_find_nothing_or_leave_itself_out(rng):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    model = NearestNeighbors(radius=0.0).fit(X)
    assert [len(found) for found in model.radius_neighbors(X + 9, return_distance=False)] == [0] * 50
    assert [found.tolist() for found in model.radius_neighbors(X, return_distance=False)] == [[i] for i in range(50)]
    assert all(len(found) == 0 for found in model.radius_neighbors(return_distance=False))


def test_a_radius_search_is_the_same_in_any_cut(rng, monkeypatch):
    X, Q = rng.standard_normal((4000, 3)), rng.standard_normal((70, 3))
    expected = NearestNeighbors(radius=0.5, n_jobs=1).fit(X).radius_neighbors(Q)
    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    monkeypatch.setattr(scan, "_AT_ONCE", 0)
    for n_jobs, memory, n_queries in ((2, 256, 70), (3, 0.2, 70), (3, 256, 5), (2, 0.01, 1)):
        got = NearestNeighbors(radius=0.5, n_jobs=n_jobs, working_memory=memory).fit(X).radius_neighbors(Q[:n_queries])
        for i in range(n_queries):
            np.testing.assert_array_equal(got[0][i], expected[0][i])
            np.testing.assert_array_equal(got[1][i], expected[1][i])


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["numbers", "whole", "a few not whole"])
def test_rows_at_exactly_the_radius_are_found_with_and_without_distances(rng, kind, dtype, metric):
    X, Q = rng.standard_normal((2, 900, 12)).astype(dtype)
    if kind != "numbers":
        X, Q = np.rint(3 * X), np.rint(3 * Q)
    if kind == "a few not whole":
        X[500:503, 4] += 0.25
    Q, y = Q[:200], rng.integers(3, size=len(X))
    D = reference.fast_distances(X, Q, metric)
    for radius in (*np.sort(D, axis=None)[[0, 999, 40_000]], np.inf):
        options = {"radius": float(radius), "metric": metric, "algorithm": "brute"}
        model = NearestNeighbors(**options).fit(X)
        distances, indices = model.radius_neighbors(Q)
        shares = RadiusNeighborsClassifier(**options, outlier_label=0).fit(X, y).predict_proba(Q)
        for found, far, alone, share, row in zip(
            indices, distances, model.radius_neighbors(Q, return_distance=False), shares, D, strict=True
        ):
            np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
            np.testing.assert_array_equal(alone, found)
            np.testing.assert_array_equal(far, row[found])
            if len(found):
                np.testing.assert_array_equal(share, np.bincount(y[found], minlength=3) / len(found))


def test_a_graph_holds_the_neighbours(rng):
    X = rng.standard_normal((40, 3))
    model = NearestNeighbors(n_neighbors=4, radius=1.0).fit(X)
    distances, indices = model.kneighbors()
    graph = model.kneighbors_graph(mode="distance")
    assert graph.shape == (40, 40)
    np.testing.assert_array_equal(np.sort(graph.indices.reshape(40, 4)), np.sort(indices))
    np.testing.assert_array_equal(graph.toarray()[7, indices[7]], distances[7])
    assert (model.kneighbors_graph().data == 1).all()
    within = model.radius_neighbors_graph(mode="distance").toarray()
    D = reference.fast_distances(X, X)
    np.testing.assert_array_equal(within > 0, (D <= 1) & ~np.eye(40, dtype=bool))


def test_a_callable_metric_gives_what_the_built_in_one_does(rng):
    X, Q = rng.standard_normal((60, 4)), rng.standard_normal((5, 4))

    def metric(x, y, scale=1.0):
        return scale * reference.distance(x, y)

    model = NearestNeighbors(n_neighbors=3, radius=1.5, metric=metric, metric_params={"scale": 1.0}).fit(X)
    built_in = NearestNeighbors(n_neighbors=3, radius=1.5).fit(X)
    for got, want in zip(model.kneighbors(Q) + model.kneighbors(), built_in.kneighbors(Q) + built_in.kneighbors()):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(model.radius_neighbors(Q)[1], built_in.radius_neighbors(Q)[1]):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="gives no number for query 0 and row 0"):
        NearestNeighbors(metric=lambda x, y: float("nan")).fit(X).kneighbors(Q)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, np.inf])
def test_minkowski_is_scipys(rng, p):
    from scipy.spatial.distance import cdist

    X, Q = rng.standard_normal((50, 4)), rng.standard_normal((6, 4))
    distances, indices = NearestNeighbors(p=p).fit(X).kneighbors(Q)
    D = cdist(Q, X, "chebyshev") if np.isinf(p) else cdist(Q, X, "minkowski", p=p)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1)[:, :5])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :5], rtol=1e-13)


def test_names_of_metrics_mean_what_scikit_learn_means(rng):
    from sklearn.neighbors import NearestNeighbors as Peer

    X, Q = rng.standard_normal((80, 4)), rng.standard_normal((6, 4))
    for metric in ("l1", "l2", "cityblock", "manhattan", "euclidean", "sqeuclidean", "chebyshev", "cosine", "hamming"):
        ours = NearestNeighbors(metric=metric).fit(X).kneighbors(Q)
        theirs = Peer(metric=metric, algorithm="brute").fit(X).kneighbors(Q)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-12, err_msg=metric)
        if metric != "hamming":
            np.testing.assert_array_equal(ours[1], theirs[1], err_msg=metric)


def peak_memory(call):
    """(largest number of bytes used by a call, its result); the returned arrays are counted."""
    tracemalloc.start()
    result = call()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used, result


MEMORY = {
    "many queries": lambda rows: NearestNeighbors(n_neighbors=50).fit(rows(20_000, 8)).kneighbors(rows(2000, 8)),
    "large k": lambda rows: NearestNeighbors(n_neighbors=30_000).fit(rows(60_000, 2)).kneighbors(rows(8, 2)),
    "large d": lambda rows: NearestNeighbors(n_neighbors=3).fit(rows(20, 200_000)).kneighbors(rows(9, 200_000)),
    "full radius": lambda rows: NearestNeighbors(radius=99.0).fit(rows(20_000, 3)).radius_neighbors(rows(300, 3)),
    "classes": lambda rows: KNeighborsClassifier(3).fit(rows(20_000, 2), np.arange(20_000)).predict(rows(2000, 2)),
    "outputs": lambda rows: KNeighborsRegressor(50).fit(rows(5000, 2), rows(5000, 100)).predict(rows(2000, 2)),
    "weights": lambda rows: (
        KNeighborsClassifier(9).fit(rows(5000, 2), np.arange(5000) % 3, np.full(5000, 0.1)).predict(rows(2000, 2))
    ),
}


@pytest.mark.parametrize("memory", [1e-9, np.inf])
def test_the_least_and_the_most_memory_give_the_same_answers(rng, memory):
    X = rng.standard_normal((300, 3))
    expected, model = NearestNeighbors().fit(X), NearestNeighbors(working_memory=memory).fit(X)
    np.testing.assert_array_equal(model.kneighbors()[1], expected.kneighbors()[1])
    for got, want in zip(model.radius_neighbors()[1], expected.radius_neighbors()[1]):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_beyond_input_and_output_is_bounded(rng, name, n_jobs, monkeypatch):
    inputs = []

    def rows(n, d):
        inputs.append(rng.standard_normal((n, d), dtype=np.float32))
        return inputs[-1]

    for estimator in (NearestNeighbors, KNeighborsClassifier, KNeighborsRegressor):
        monkeypatch.setitem(estimator.__init__.__kwdefaults__, "working_memory", 8)
        monkeypatch.setitem(estimator.__init__.__kwdefaults__, "n_jobs", n_jobs)
    MEMORY[name](rows)  # objects that are created once, such as the pool of threads, are not counted
    inputs.clear()
    used, result = peak_memory(lambda: MEMORY[name](rows))
    results = result if isinstance(result, tuple) else (result,)
    output = sum(sum(a.nbytes + 200 for a in r) if r.dtype == object else r.nbytes for r in results)
    held = sum(a.nbytes for a in inputs) + output
    # the memory in bytes of the copies of y, codes and weights
    fitted = 2 * 8 * sum(len(a) for a in inputs) * (100 if name == "outputs" else 1)
    assert used < held + fitted + 8e6


# Tests of votes of neighbours


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_shares_equal_counting_one_by_one(rng, weights, k):
    X, Q = rng.integers(0, 4, (90, 3)).astype(float), rng.integers(0, 4, (40, 3)).astype(float)
    y = rng.choice(["a", "b", "c"], 90)
    classes, shares = reference.vote(reference.fast_distances(X, Q), y, k, weights)
    model = KNeighborsClassifier(k, weights=weights).fit(X, y)
    assert model.classes_.tolist() == classes.tolist()
    np.testing.assert_allclose(model.predict_proba(Q), shares, rtol=1e-12)
    clear = np.sort(shares)[:, -1] > np.sort(shares)[:, -2] + 1e-9
    np.testing.assert_array_equal(model.predict(Q)[clear], classes[shares.argmax(axis=1)][clear])


def test_of_tied_classes_the_first_or_the_nearer_is_predicted():
    X, y = [[0.0], [2.1], [5.0], [5.1]], ["b", "a", "b", "a"]
    assert KNeighborsClassifier(2).fit(X, y).predict([[0.9]]) == "a"
    assert KNeighborsClassifier(2, ties="distance").fit(X, y).predict([[0.9]]) == "b"
    assert KNeighborsClassifier(2, ties="distance").fit(X, y).predict([[1.2]]) == "a"
    assert KNeighborsClassifier(2, ties="distance").fit([[0.0], [2.0]], ["b", "a"]).predict([[1.0]]) == "a"


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_weight_zero_is_a_missing_row_and_two_a_duplicated_one(rng, weights):
    X, Q = rng.integers(0, 5, (80, 2)).astype(float), rng.integers(0, 5, (30, 2)).astype(float)
    y, target = rng.integers(0, 3, 80), rng.standard_normal(80)
    weight = rng.integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weight)
    for k in (1, 4, 7):
        weighted = KNeighborsClassifier(k, weights=weights).fit(X, y, weight)
        repeated = KNeighborsClassifier(k, weights=weights).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), rtol=1e-12)
        weighted = KNeighborsRegressor(k, weights=weights).fit(X, target, weight)
        repeated = KNeighborsRegressor(k, weights=weights).fit(X[rows], target[rows])
        np.testing.assert_allclose(weighted.predict(Q), repeated.predict(Q), rtol=1e-12)
        weighted, repeated = KNeighborsDensity(k).fit(X, None, weight), KNeighborsDensity(k).fit(X[rows])
        np.testing.assert_allclose(weighted.score_samples(Q), repeated.score_samples(Q), rtol=1e-12)


def test_fractions_are_taken_until_they_reach_k_the_last_in_part(rng):
    X, Q, y = rng.standard_normal((120, 3)), rng.standard_normal((25, 3)), rng.integers(0, 3, 120)
    weight = rng.choice([0.0, 0.05, 0.3, 1.7], 120)
    for k in (1, 3, 20):
        _, shares = reference.vote(reference.fast_distances(X, Q), y, k, weight=weight)
        np.testing.assert_allclose(KNeighborsClassifier(k).fit(X, y, weight).predict_proba(Q), shares, atol=1e-12)


def test_a_heavy_weight_does_not_swallow_a_light_one():
    for heavy in (1e12, 1e16):
        model = KNeighborsClassifier(1).fit([[0.0], [1.0]], ["a", "b"], [0.6, heavy])
        np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.6, 0.4]], rtol=1e-12)


def test_weights_that_add_up_to_k_but_for_rounding_reach_it():
    X = np.arange(12.0)[:, None]
    tenths, ones = KNeighborsDensity(1).fit(X, None, np.full(12, 0.1)), KNeighborsDensity(10).fit(X)
    difference = ones.score_samples([[0.0]]) - tenths.score_samples([[0.0]])
    np.testing.assert_allclose(difference, np.log(10) - np.log(12 / 1.2), atol=1e-12)


def test_rows_of_weight_zero_are_not_found(rng):
    X = rng.standard_normal((50, 3))
    weight = np.ones(50)
    weight[::2] = 0
    indices = KNeighborsClassifier(5).fit(X, np.arange(50) % 3, weight).kneighbors(X, return_distance=False)
    expected = reference.nearest(reference.fast_distances(X, X), 5, allowed=weight > 0)[1]
    np.testing.assert_array_equal(indices, expected)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_predictions_are_scikit_learns_on_digits(weights, k):
    from sklearn import neighbors
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    Y = np.stack([y, y % 3], axis=1)
    train, test = slice(0, 1200), slice(1200, None)
    for target in (y, Y):
        ours = KNeighborsClassifier(k, weights=weights).fit(X[train], target[train])
        theirs = neighbors.KNeighborsClassifier(k, weights=weights).fit(X[train], target[train])
        # A few squared distances (integers of five digits) are equal, and scikit-learn has no rule for ties.
        assert (ours.predict(X[test]) != theirs.predict(X[test])).mean() < 0.005
        assert (
            ours.score(X[test], target[test]) == (ours.predict(X[test]) == target[test]).reshape(597, -1).all(1).mean()
        )
        ours = KNeighborsRegressor(k, weights=weights).fit(X[train], target[train])
        theirs = neighbors.KNeighborsRegressor(k, weights=weights).fit(X[train], target[train])
        assert (np.abs(ours.predict(X[test]) - theirs.predict(X[test])) > 1e-9).mean() < 0.02
        assert abs(ours.score(X[test], target[test]) - theirs.score(X[test], target[test])) < 1e-3


def test_several_outputs_have_classes_and_shares_each(rng):
    X = rng.standard_normal((40, 3))
    Y = np.stack([rng.choice(["x", "y"], 40), rng.choice(["u", "v", "w"], 40)], axis=1)
    model = KNeighborsClassifier(3).fit(X, Y)
    assert [classes.tolist() for classes in model.classes_] == [["x", "y"], ["u", "v", "w"]]
    assert model.predict(X).shape == (40, 2)
    for output, shares in enumerate(model.predict_proba(X)):
        alone = KNeighborsClassifier(3).fit(X, Y[:, output])
        np.testing.assert_array_equal(shares, alone.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X)[:, output], alone.predict(X))


def test_a_column_of_targets_is_predicted_as_a_column():
    assert KNeighborsRegressor(1).fit([[0.0], [1.0]], [[3.0], [4.0]]).predict([[0.1]]).tolist() == [[3.0]]


def test_predicting_without_queries_leaves_each_row_out():
    X, y = [[0.0], [1.0], [1.5], [9.0]], [0, 1, 1, 0]
    assert KNeighborsClassifier(1).fit(X, y).predict(None).tolist() == [1, 1, 1, 1]
    assert KNeighborsRegressor(1).fit(X, y).predict(None).tolist() == [1, 1, 1, 1]


def test_one_class_and_one_row_are_answered():
    assert KNeighborsClassifier(1).fit([[1.0]], ["only"]).predict([[5.0]]).tolist() == ["only"]
    assert KNeighborsClassifier(2).fit([[1.0], [2.0]], [True, True]).predict_proba([[5.0]]).tolist() == [[1.0]]


def test_usps_has_the_published_error_of_the_nearest_neighbour(data_file):
    data = np.load(data_file("usps.npz"))
    model = KNeighborsClassifier(1).fit(data["X_train"], data["y_train"])
    error = (model.predict(data["X_test"]) != data["y_test"]).mean()
    assert round(100 * error, 2) == 5.63  # Keysers et al. report an error of 5.6 %


def test_wine_has_the_known_leave_one_out_accuracy():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert round(100 * (KNeighborsClassifier(1).fit(X, y).predict(None) == y).mean(), 2) == 95.51


# Tests of densities by neighbours


@pytest.mark.parametrize(("metric", "volume"), [("euclidean", 4 / 3 * np.pi), ("manhattan", 8 / 6), ("chebyshev", 8.0)])
def test_density_is_k_over_n_and_the_volume_of_the_ball(rng, metric, volume):
    X, Q = rng.standard_normal((200, 3)), rng.standard_normal((20, 3))
    radius = NearestNeighbors(n_neighbors=7, metric=metric).fit(X).kneighbors(Q)[0][:, -1]
    log_density = KNeighborsDensity(7, metric=metric).fit(X).score_samples(Q)
    np.testing.assert_allclose(np.exp(log_density), 7 / (200 * volume * radius**3), rtol=1e-12)


def test_density_in_many_dimensions_neither_over_nor_underflows(rng):
    X = rng.standard_normal((100, 2000))
    log_density = KNeighborsDensity(5).fit(X).score_samples(X[:3] + 1)
    assert np.isfinite(log_density).all()


def test_density_with_weighted_minkowski_rescales_the_axes(rng):
    X, w = rng.standard_normal((100, 2)), np.array([4.0, 0.25])
    weighted = KNeighborsDensity(5, p=2, metric_params={"w": w}).fit(X).score_samples(X[:9] + 0.1)
    scaled = KNeighborsDensity(5).fit(X * np.sqrt(w)).score_samples((X[:9] + 0.1) * np.sqrt(w))
    np.testing.assert_allclose(weighted, scaled + 0.5 * np.log(w).sum(), rtol=1e-9)


def test_density_leaves_each_row_out(rng):
    X = rng.standard_normal((30, 2))
    alone = [KNeighborsDensity(3).fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0] for i in range(30)]
    np.testing.assert_allclose(KNeighborsDensity(3).fit(X).score_samples(None), alone, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_density_within_a_mask_is_that_of_its_rows(rng, weighted):
    X, mask = rng.standard_normal((30, 2)), rng.random(30) < 0.7
    weight = rng.integers(0, 3, 30).astype(float) if weighted else np.ones(30)
    model = KNeighborsDensity(3).fit(X, sample_weight=weight if weighted else None)
    part = KNeighborsDensity(3).fit(X[mask], sample_weight=weight[mask] if weighted else None)
    np.testing.assert_allclose(model.score_samples(X[:5] + 0.1, mask=mask), part.score_samples(X[:5] + 0.1), rtol=1e-12)
    if not weighted:
        np.testing.assert_allclose(model.score_samples(None, mask=mask)[mask], part.score_samples(None), rtol=1e-12)


def test_density_on_k_duplicates_is_infinite():
    assert KNeighborsDensity(2).fit([[1.0], [1.0], [4.0]]).score_samples([[1.0]]) == np.inf


# Tests of arguments that are refused


def voters(X):
    return KNeighborsClassifier(3).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda X: NearestNeighbors(n_neighbors=0).fit(X), "n_neighbors is 0; at least 1 is wanted"),
        (lambda X: NearestNeighbors(n_neighbors=2.5).fit(X), "n_neighbors is 2.5; a whole number is wanted"),
        (lambda X: NearestNeighbors(n_neighbors=21).fit(X).kneighbors(X), "Expected n_neighbors <= n_samples_fit"),
        (lambda X: NearestNeighbors(n_neighbors=20).fit(X).kneighbors(), "without the row itself"),
        (lambda X: NearestNeighbors(metric="euclid").fit(X), "metric is 'euclid'; one of"),
        (lambda X: NearestNeighbors(p=0).fit(X), "p is 0; a number above 0 is wanted"),
        (lambda X: NearestNeighbors(p="2").fit(X), "p is '2'; a number is wanted"),
        (lambda X: NearestNeighbors(p=2 + 0j).fit(X), "a number is wanted"),
        (lambda X: NearestNeighbors(p=np.nan).fit(X), "a number above 0 is wanted"),
        (lambda X: NearestNeighbors(metric_params={"w": [1]}).fit(X), "metric_params\\['w'\\] has shape"),
        (lambda X: NearestNeighbors(metric="cosine", metric_params={"w": 1}).fit(X), "metric_params has \\['w'\\]"),
        (lambda X: NearestNeighbors(algorithm="fast").fit(X), "algorithm is 'fast'; one of"),
        (lambda X: NearestNeighbors(radius=-1).fit(X), "radius is -1; a number of at least 0 is wanted"),
        (lambda X: NearestNeighbors(n_jobs=0).fit(X).kneighbors(X), "n_jobs is 0"),
        (lambda X: NearestNeighbors(working_memory=0).fit(X), "working_memory is 0"),
        (lambda X: NearestNeighbors(working_memory=10**400).fit(X), "working_memory is beyond 1e308"),
        (lambda X: NearestNeighbors(radius=10**400).fit(X), "radius is beyond 1e308"),
        (lambda X: NearestNeighbors(callback=3).fit(X).kneighbors(X), "callback is 3"),
        (lambda X: NearestNeighbors().fit(X).set_params(working_memory=0).kneighbors(X), "working_memory is 0"),
        (lambda X: NearestNeighbors().fit(object()), "X is of type object; an array or a table"),
        (lambda X: NearestNeighbors(metric="cosine").fit(X * 1e200), "row 0 of X has a squared norm of inf"),
        (lambda X: KNeighborsClassifier(weights="near").fit(X, X[:, 0] > 0), "weights is 'near'; one of"),
        (lambda X: voters(X).set_params(weights="near").predict(X), "weights is 'near'; one of"),
        (lambda X: voters(X).set_params(weights="near").leave_one_out(3), "weights is 'near'; one of"),
        (lambda X: voters(X).set_params(weights=lambda d: "near").predict(X), "is not an array of numbers"),
        (lambda X: KNeighborsClassifier(ties="last").fit(X, X[:, 0] > 0), "ties is 'last'; one of"),
        (lambda X: KNeighborsClassifier().fit(X, X[:, 0]), "Unknown label type: continuous"),
        (lambda X: KNeighborsClassifier().fit(X, [1] * 19), "y has 19 entries and X 20 rows"),
        (lambda X: KNeighborsClassifier().fit(X, [1, "a"] * 10), None),
        (lambda X: KNeighborsClassifier().fit(X, [None] * 20), "y contains NaN or None"),
        (lambda X: KNeighborsClassifier().fit(X, np.array(["NaT"] * 20, "M8[D]").astype(object)), "y contains NaN or"),
        (lambda X: KNeighborsClassifier().fit(X, [1] * 20, np.zeros(20)), "sample_weight is zero for every row"),
        (
            lambda X: KNeighborsClassifier().fit(X, [1] * 20, -np.ones(20)),
            "sample_weight has an entry that is negative",
        ),
        (lambda X: KNeighborsClassifier().fit(X, [1] * 20, np.full(20, 0.1)).predict(X), "weights add up to 2"),
        (lambda X: KNeighborsRegressor().fit(X, np.array([1.0, None] * 10, dtype=object)), "y contains NaN"),
        (lambda X: KNeighborsRegressor().fit(X, ["1", "inf"] * 10), "y contains NaN or infinity"),
        (lambda X: KNeighborsRegressor().fit(X, X[:, 0]).score(X, X[:9, 0]), "y has shape"),
        (lambda X: KNeighborsRegressor().fit(X, X[:, 0]).score(X, X[:, 0], [1.0]), "sample_weight has shape"),
        (lambda X: NearestNeighbors(n_neighbors=None).fit(X).kneighbors(X), "n_neighbors is None"),
        (lambda X: NearestNeighbors(metric=lambda x, y: "far").fit(X).kneighbors(X), "gives no number"),
        (lambda X: NearestNeighbors(metric_params={"w": ["a", "b", "c"]}).fit(X), "numbers are wanted"),
        (lambda X: NearestNeighbors(n_jobs=0).fit(X), "n_jobs is 0"),
        (lambda X: KNeighborsRegressor().fit(X, ["a"] * 20), "y holds something that is not a number"),
        (lambda X: KNeighborsRegressor(weights=lambda d: d[0]).fit(X, X[:, 0]).predict(X), "has shape"),
        (lambda X: KNeighborsRegressor(weights=lambda d: -d).fit(X, X[:, 0]).predict(X), "negative, infinite or NaN"),
        (lambda X: KNeighborsDensity(metric="cosine").fit(X), "whose ball has no volume formula"),
    ],
)
def test_bad_arguments_get_one_sentence(rng, make, sentence):
    X = rng.standard_normal((20, 3))
    if sentence is None:
        assert make(X).classes_.tolist() == ["1", "a"]  # NumPy converts numbers beside strings to strings
        return
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        make(X)
    assert "\n" not in str(caught.value)


def test_a_failed_fit_leaves_the_estimator_as_it_was(rng):
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    model = KNeighborsClassifier(3).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((9, 2), np.nan), y[:9])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_callback_sees_progress_and_can_stop_a_search(rng):
    X = rng.standard_normal((2000, 4))
    seen = []
    NearestNeighbors(callback=lambda *step: seen.append(step)).fit(X).kneighbors(X)
    assert seen[-1] == (2000 * 2000, 2000 * 2000, None)
    assert all(a[0] < b[0] for a, b in pairwise(seen))
    with pytest.raises(RuntimeError, match="stopped by callback at"):
        NearestNeighbors(callback=lambda *step: True).fit(X).kneighbors(X)


@pytest.mark.parametrize("estimator", [
    KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier, RadiusNeighborsRegressor,
])  # fmt: skip
@pytest.mark.parametrize("argument", [{"y": [0, np.nan]}, {"y": [0]}, {"sample_weight": [1]}, {"ids": [1]}])
def test_wrong_targets_are_refused_before_the_index_is_built(estimator, argument, monkeypatch):
    def build(*arguments):
        raise AssertionError("the index was built")

    monkeypatch.setattr("fastclf.neighbors.base.Segments", build)
    with pytest.raises(ValueError, match=next(iter(argument))):
        estimator().fit(**{"X": [[0.0], [1.0]], "y": [0, 1]} | argument)
