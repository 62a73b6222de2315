"""The filter's codes: their bound is never above a distance, for any data, and its answers are those of a scan."""

import ctypes
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fastclf import NearestNeighbors, _simd, load, save
from fastclf._threads import Progress
from fastclf.neighbors import code_filter
from fastclf.neighbors.admit import resolve_metric
from fastclf.neighbors.code_filter import Coder, Filter, rotated
from fastclf.neighbors.code_plan import plan
from fastclf.neighbors.metrics import names_with
from fastclf.neighbors.scan import Scan
from fastclf.neighbors.search import Search
from fastclf.neighbors.search_costs import most_measured

pytestmark = pytest.mark.levels

METRICS = names_with("coded")

DOUBLES = ctypes.POINTER(ctypes.c_double)
LOWEST = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES, ctypes.c_ssize_t)(lambda q, x, d: 0.0)


def coders(X, metric, rng):
    """Different codes of X: without projection, with fine and coarse steps, and on axes that are far from the best."""
    d = X.shape[1]
    w = X.astype(np.float64)
    if metric == "cosine":
        norm = np.sqrt((w * w).sum(axis=1, keepdims=True))
        w = w / np.where(norm > 0, norm, 1)
    center = w.mean(axis=0)
    largest = np.abs(w - center).max()
    scale = float(2.0 ** -np.ceil(np.log2(largest))) if 0 < largest < np.inf else 1.0
    for step in (1 / 127, 0.2 / 127):
        yield Coder(center, scale, step, metric == "manhattan")
    if metric == "manhattan":
        return
    for m in (3, 7):
        if m < d:
            axes = np.linalg.qr(rng.standard_normal((d, m)))[0]
            yield rotated(center, scale, axes, 1 / 127, 0.0 if metric == "dot" else 0.3)


def lower_bounds(index, Q):
    """The lower bound of each row's distance that follows from its code: shape (len(Q), n).

    The bound is the least tau at which the inequalities in `_code_bound.pxd` keep the row, computed independently.
    """
    queries = index._queries(Search(Q, None, None, Progress(0, "")))
    side = 8 if index.coder.absolute else 4
    n, width = len(index.X), index.width
    code = index.code.reshape(-1, width // side, 16, side).transpose(0, 2, 1, 3).reshape(-1, width)[:n]
    c = code.astype(np.int64) - 128
    slack = np.repeat(index.slack.astype(np.float64), index.unit)[:n]
    length = np.repeat(index.length.astype(np.float64), index.unit)[:n]
    assert (np.abs(c) <= 127).all()
    if index.coder.absolute:
        q = queries.code[: len(Q)].astype(np.int64) - 128
        far = np.abs(c - q[:, None]).sum(axis=2)
    else:
        q = queries.code[: len(Q)].view(np.int8).astype(np.int64)
        assert ((c * c).sum(axis=1) // 2 == index.half[:n]).all()
        far = np.sqrt(((c - q[:, None]) ** 2).sum(axis=2))
    with np.errstate(invalid="ignore", over="ignore"):
        if index.metric.name == "dot":
            most = q @ c.T + queries.length[:, None] * slack + queries.slack[:, None] * length
            return -most / queries.per[:, None] - queries.shift[:, None]
        tau = (far - slack - queries.slack[:, None]) / queries.per[:, None]
    return np.maximum(tau, 0)


def assert_bounded(X, Q, metric, rng):
    D = reference.distances(X, Q, metric)
    checked = 0
    for coder in coders(X, metric, rng):
        index = Filter(X, Scan(X, resolve_metric(metric)).metric, coder)
        # a single query is coded by another function than several queries, so that both are tried
        bound = np.concatenate([lower_bounds(index, Q[:1]), lower_bounds(index, Q)[1:]])
        if metric == "sqeuclidean":
            bound = bound**2
        elif metric == "cosine":
            bound = bound**2 / 2 - (2 * X.shape[1] + 8) * 1.2e-16
        up = 1 + 4 * (X.shape[1] + 8) * 2.0**-53
        with np.errstate(invalid="ignore"):
            assert not (bound > np.where(D >= 0, D * up, D / up) + 1e-155).any()
        checked += (np.isfinite(bound) & (bound > 0.5 * D) & (D > 0)).sum()
    return checked


HOSTILE = {
    "unit": lambda X: X,
    "offset 1e8": lambda X: X + 1e8,
    "tiny": lambda X: X * 1e-30,
    "huge": lambda X: X * 1e30,
    "norms from 1e-30 to 1e30": lambda X: X * 10.0 ** np.linspace(-30, 30, len(X))[:, None],
    "constant columns": lambda X: np.where(np.arange(X.shape[1]) % 2, X, 7.0),
    "duplicates": lambda X: X[np.arange(len(X)) % 3],
    "all equal": lambda X: np.ones_like(X),
    "zeros": lambda X: np.zeros_like(X),
    "one far row": lambda X: np.where(np.arange(len(X))[:, None] == 1, 1e6, X),
    "integers": lambda X: X.round(),
}


@pairwise_grid(name=HOSTILE, metric=METRICS, dtype=["float32", "float64"], shape=[(60, 12), (1, 5), (40, 1)])
def test_no_bound_exceeds_a_distance(rng, name, metric, dtype, shape):
    X = HOSTILE[name](rng.standard_normal(shape)).astype(dtype)
    Q = np.concatenate([X[:4], HOSTILE[name](rng.standard_normal((4, shape[1]))).astype(dtype)[:4], X[-1:] * 3])
    if metric == "cosine":
        keep = (Q.astype(float) ** 2).sum(axis=1)
        Q = Q[(keep == 0) | (keep > 1e-290)]
    checked = assert_bounded(X, Q, metric, rng)
    if name == "unit" and shape == (60, 12) and metric != "dot":
        assert checked > 200, "most bounds of such data must be good for something"


@pytest.mark.parametrize("metric", METRICS)
def test_no_bound_exceeds_a_distance_in_5000_dimensions(rng, metric):
    X = rng.standard_normal((20, 5000)).astype(np.float32)
    assert_bounded(X, X[:3] + np.float32(0.5), metric, rng)


def test_no_bound_exceeds_a_distance_where_every_sum_of_a_slack_rounds_down():
    d, step, ulp = 5000, 2.0**-7, 2.0**-13
    metric = resolve_metric("manhattan")
    for lost in np.linspace(0.25, 0.49, 8):
        # Once the sum is above 1024, adding the remainder beside a code of 11 loses nearly half an ulp each time.
        X = np.full((1, d), (11 - (np.floor(lost / ulp) + 0.49) * ulp) * step)
        index = Filter(X, metric, Coder(np.zeros(d), 1.0, step, True))
        Q = np.zeros((2, d))
        assert (lower_bounds(index, Q) <= reference.distances(X, Q, "manhattan")).all()


def test_no_bound_exceeds_a_distance_where_the_sample_of_the_plan_was_constant():
    metric = resolve_metric("euclidean")
    coder = plan(np.zeros((600, 8)), metric, force=True)
    Q = np.zeros((2, 8))
    for size in (2.0**-100, 2.0**-80, 2.0**-60, 2.0**-30, 1.0):
        for off in np.linspace(-1.5e-7, 1.5e-7, 31):
            X = np.full((1, 8), 100 / 127 * size * (1 + off))
            D = reference.distances(X, Q)
            assert (lower_bounds(Filter(X, metric, coder), Q) <= D * (1 + 1e-12)).all()


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    metric=st.sampled_from(METRICS),
    dtype=st.sampled_from(["float32", "float64"]),
    data=st.data(),
)
def test_no_bound_exceeds_a_distance_of_nasty_values(shape, metric, dtype, data):
    values = st.sampled_from([0.0, 1.0, -1.0, 1 / 3, 1e-30, -1e30, 1e15, 1 + 1e-7, 5e-39, 16777217.0])
    rows = st.lists(st.lists(values, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0])
    X, Q = (np.array(data.draw(rows), dtype) for _ in range(2))
    if metric == "cosine":
        X, Q = ((np.where(np.abs(a) < 1e-30, 0, a)).astype(dtype) for a in (X, Q))
    assert_bounded(X, Q, metric, np.random.default_rng(0))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtypes", ["ff", "fd", "dd"])
@pytest.mark.parametrize("n_queries", [1, 7])
def test_a_filtered_search_gives_the_bits_of_a_scan(rng, metric, dtypes, n_queries):
    inner = rng.standard_normal((4000, 6))
    X = (inner @ rng.standard_normal((6, 48)) + 0.1 * rng.standard_normal((4000, 48))).astype(dtypes[0])
    X[3000:3100] = X[:100]
    Q = np.concatenate([X[:n_queries:2], 2 * X[1:n_queries:2]]).astype(dtypes[1])
    parameters = {"n_neighbors": 12, "metric": metric}
    plain, filtered = (NearestNeighbors(**parameters, algorithm=algorithm).fit(X) for algorithm in ("brute", "filter"))
    assert type(filtered._scan._given) is Filter
    for rows, k in ((Q, 12), (None, 3)):
        expected, got = (model.kneighbors(rows, k) for model in (plain, filtered))
        np.testing.assert_array_equal(got[1], expected[1])
        np.testing.assert_array_equal(got[0], expected[0])
    radius = float(np.median(plain.kneighbors(Q, 12)[0][:, -1]))
    expected, got = (model.radius_neighbors(Q, radius) for model in (plain, filtered))
    for one, other in zip(got[0], expected[0]):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(got[1], expected[1]):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("algorithm", ["brute", "filter"])
@pytest.mark.parametrize("sizes", [(1e-170, 1.0), (1e-170, 1e150), (1e-165, 1e-150), (1e-160, 1e-160), (1.0, 1e-165)])
def test_products_of_rows_whose_squares_vanish_are_exact(rng, algorithm, sizes):
    X = rng.uniform(0.1, 1, (600, 5)) * sizes[0]
    X[1::2] = X[0] * (1 + rng.integers(0, 5, (300, 5)) * 2.0**-52)
    Q = rng.uniform(0.1, 1, (4, 5)) * sizes[1]
    D = reference.distances(X, Q, "dot")
    model = NearestNeighbors(metric="dot", algorithm=algorithm, radius=float(D[0, 9])).fit(X)
    for n_queries in (1, 4):
        for got, expected in zip(model.kneighbors(Q[:n_queries], 5), reference.nearest(D[:n_queries], 5)):
            np.testing.assert_array_equal(got, expected)
        for found, row in zip(model.radius_neighbors(Q[:n_queries])[1], D):
            np.testing.assert_array_equal(found, np.flatnonzero(row <= model.radius))


def test_far_queries_and_rows_in_order_of_distance_are_found(rng):
    X = rng.standard_normal((6000, 64)).astype(np.float32)
    X = X[np.argsort(-np.linalg.norm(X, axis=1))]
    Q = np.concatenate([np.zeros((1, 64)), X[:1] * 1e6, X[-1:], -X[5:6] * 50]).astype(np.float32)
    plain, filtered = (NearestNeighbors(algorithm=a).fit(X) for a in ("brute", "filter"))
    for rows in (Q, Q[:1], Q[1:2]):
        np.testing.assert_array_equal(filtered.kneighbors(rows), plain.kneighbors(rows))


def test_codes_take_a_third_of_the_rows_bytes_at_most(rng):
    X = rng.standard_normal((20_000, 128), dtype=np.float32)
    index = NearestNeighbors(algorithm="filter").fit(X)._scan._given
    arrays = [value for value in vars(index).values() if isinstance(value, np.ndarray) and value is not X]
    assert sum(array.nbytes for array in arrays) <= 0.35 * X.nbytes


def test_the_plan_takes_few_axes_where_few_matter_and_no_code_where_none_prunes(rng):
    few = rng.standard_normal((40_000, 5)) @ rng.standard_normal((5, 100)) + 0.01 * rng.standard_normal((40_000, 100))
    metric = resolve_metric("euclidean")
    coder = plan(few.astype(np.float32), metric)
    assert len(coder.axes) <= 16
    # distances between these rows are nearly equal, so that no bound can find the nearest row, and no filter is used
    same = np.eye(600, dtype=np.float32)
    assert plan(same, resolve_metric("euclidean")) is None


def test_rows_too_wide_for_the_proof_are_scanned(rng):
    X = rng.standard_normal((20, 140_000), dtype=np.float32)
    model = NearestNeighbors(n_neighbors=1, algorithm="filter", metric="manhattan").fit(X)
    assert type(model._scan._given) is Scan
    assert model.kneighbors(X[3:4])[1] == [[3]]


@pytest.mark.parametrize("algorithm", ["filter", "cells", "tree"])
@pytest.mark.parametrize(
    ("make_rows", "metric", "named"),
    [
        (np.abs, "hamming", "'hamming'"),
        (lambda X: X > 0, "hamming", "'hamming' on packed bits"),
        (lambda X: X > 0, "jaccard", "'jaccard' on packed bits"),
        (csr_array, "euclidean", "'euclidean' on a sparse matrix"),
        (np.abs, "nan_euclidean", "'nan_euclidean'"),
        (np.abs, math.dist, "<built-in function dist>"),
        (np.abs, LOWEST, "<CFunctionType object at .*>"),
    ],
)
def test_an_index_for_rows_without_one_is_refused_in_one_sentence(rng, algorithm, make_rows, metric, named):
    with pytest.raises(
        ValueError,
        match=f"^algorithm is '{algorithm}' and metric {named}, for which there is no index; one of .* is wanted$",
    ):
        NearestNeighbors(algorithm=algorithm, metric=metric).fit(make_rows(rng.standard_normal((50, 3))))


def test_a_filter_for_a_metric_without_one_is_refused_in_one_sentence(rng):
    with pytest.raises(
        ValueError, match="algorithm is 'filter' and metric 'chebyshev', for which there is no index; one of"
    ):
        NearestNeighbors(algorithm="filter", metric="chebyshev").fit(rng.standard_normal((50, 3)))


def n_measured(monkeypatch, model, Q, **parameters):
    """(for each query the number of rows whose distances are computed because of codes, the answer of kneighbors)"""
    passes = []

    class Watched(code_filter.FilterPass):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            passes.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(code_filter, "FilterPass", Watched)
        answer = model.kneighbors(Q, **parameters)
    return np.concatenate([each.n_measured for each in passes]) if passes else np.zeros(0), answer


def test_few_rows_are_measured_where_the_codes_are_good(rng, monkeypatch):
    X = rng.standard_normal((50_000, 32)).astype(np.float32)
    model = NearestNeighbors(n_neighbors=5, algorithm="filter", n_jobs=1).fit(X)
    measured, _ = n_measured(monkeypatch, model, X[:10])
    assert len(measured) == 10
    assert 10 * 5 <= measured.sum() < 0.05 * 10 * len(X)


@pytest.mark.parametrize("n_queries", [1, 12, 200])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_query_far_from_all_rows_is_given_up_and_scanned(rng, monkeypatch, n_queries, n_jobs):
    inner = rng.standard_normal((30_000, 4)).astype(np.float32)
    X = inner @ rng.standard_normal((4, 80)).astype(np.float32)
    Q = X[:n_queries] + 0
    Q[::5] += 100 * rng.standard_normal((len(Q[::5]), 80)).astype(np.float32)
    plain, filtered = (NearestNeighbors(algorithm=each, n_jobs=n_jobs).fit(X) for each in ("brute", "filter"))
    assert filtered._scan._given.coder.for_many
    measured, answer = n_measured(monkeypatch, filtered, Q)
    np.testing.assert_array_equal(answer, plain.kneighbors(Q))
    most = most_measured(30_000, 80, 5, filtered._scan._given.cost(n_queries))
    assert most < measured.max() <= 3 * most


def test_a_callback_can_stop_the_scan_of_queries_that_are_given_up(rng):
    X = rng.standard_normal((30_000, 4)) @ rng.standard_normal((4, 80))
    Q = X[:200] + 100 * rng.standard_normal((200, 80))
    steps = []

    def callback(step, total, value):
        steps.append((step, total))
        return sum(each == total for each, total in steps) == 2  # the second one comes from the scan

    index = NearestNeighbors(algorithm="filter", n_jobs=1).fit(X)._scan._given
    progress = Progress(len(Q) * len(X), "kneighbors", callback=callback)
    with pytest.raises(RuntimeError, match="kneighbors: stopped by callback at 100 %"), progress:
        index.nearest(Search(Q, None, None, progress, 1), np.empty((200, 5)), np.empty((200, 5), np.intp))
    assert [step for step, _ in steps] == sorted(step for step, _ in steps)
    assert steps[-1] == (len(Q) * len(X),) * 2


def test_rows_whose_sum_overflows_are_scanned(rng):
    X = np.clip(rng.standard_normal((2000, 20)) * 1e308, -1.7e308, 1.7e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan(X, resolve_metric("euclidean"), force=True) is None


def test_where_few_rows_may_be_found_the_answer_is_that_of_a_scan(rng):
    X = rng.standard_normal((20_000, 30))
    X[:, 6:] *= 0.01
    mask = np.zeros(len(X), bool)
    mask[rng.permutation(len(X))[:7]] = True
    plain, filtered = (NearestNeighbors(algorithm=each).fit(X) for each in ("brute", "filter"))
    for rows in X[:1], X[:40]:
        expected, got = (model.kneighbors(rows, 5, mask=mask) for model in (plain, filtered))
        np.testing.assert_array_equal(got, expected)


def test_codes_are_not_read_for_many_queries_where_a_scan_is_faster(rng, monkeypatch):
    X = rng.standard_t(2, (40_000, 30))
    model = NearestNeighbors(algorithm="filter", n_jobs=1).fit(X)
    plain = NearestNeighbors(algorithm="brute", n_jobs=1).fit(X)
    assert not model._scan._given.coder.for_many
    measured, answer = n_measured(monkeypatch, model, X[:100])
    assert len(measured) == 0
    np.testing.assert_array_equal(answer, plain.kneighbors(X[:100]))
    measured, answer = n_measured(monkeypatch, model, X[:3])
    assert len(measured) == 3
    np.testing.assert_array_equal(answer, plain.kneighbors(X[:3]))


def test_the_plan_knows_of_rows_that_are_measured_before_the_nearest_ones_are_found(rng, monkeypatch):
    # few axes tell the cluster of a query, but only once k rows of this cluster are found
    centres = rng.standard_normal((1000, 64))
    X = (centres[rng.integers(0, 1000, 100_000)] + 0.05 * rng.standard_normal((100_000, 64))).astype(np.float32)
    model = NearestNeighbors(n_neighbors=5, algorithm="filter", n_jobs=1).fit(X)
    measured, _ = n_measured(monkeypatch, model, X[:10])
    assert measured.mean() < 400


def test_a_saved_filter_answers_the_same_and_an_altered_one_without_a_crash(rng, tmp_path):
    X = rng.standard_normal((600, 12)).astype(np.float32)
    model = NearestNeighbors(n_neighbors=4, radius=2.5, algorithm="filter", n_jobs=1).fit(X)
    metric = model._scan._given.metric
    for coder in coders(X, "euclidean", rng):
        model._scan._given = Filter(X, metric, coder)
        path = tmp_path / "filter.fclf"
        save(model, path)
        for ask in ("kneighbors", "radius_neighbors"):
            for one, other in zip(getattr(load(path), ask)(X[:9]), getattr(model, ask)(X[:9])):
                np.testing.assert_array_equal(np.concatenate(list(one)), np.concatenate(list(other)))
        whole = path.read_bytes()
        begin = whole.index(b"}]}", 24) // 64 * 64
        # a debug build ends the process at a distance that is NaN, so X is not changed there
        places = rng.integers(begin, len(whole), 300)
        answered = 0
        for place in places:
            altered = bytearray(whole)
            altered[place] ^= int(rng.integers(1, 256))
            path.write_bytes(altered)
            with np.errstate(all="ignore"):
                try:
                    got = load(path)
                    if _simd.build_info()["debug"] and not np.isfinite(got._scan.X).all():
                        continue
                    assert got.kneighbors(X[:9])[1].max() < len(X)
                    assert all(found.max(initial=0) < len(X) for found in got.radius_neighbors(X[:3])[1])
                    answered += 1
                except ValueError:
                    continue
        assert answered > 100


MAPPED = """
import sys, threading, time
import numpy as np
from fastclf import NearestNeighbors, load, save

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) / 1000

def watch():
    while not done.is_set():
        peak.append(anonymous())
        time.sleep(0.002)

X = np.load(sys.argv[1], mmap_mode="r")
warm = np.random.default_rng(0).standard_normal((2000, X.shape[1]), dtype=np.float32)
NearestNeighbors(algorithm="filter", working_memory=16).fit(warm).kneighbors(warm[:300])  # pools, BLAS
before, peak, done = anonymous(), [], threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
model = NearestNeighbors(algorithm="filter", working_memory=16).fit(X)
distances, indices = model.kneighbors(X[::1000])
assert (indices[:, 0] == np.arange(0, len(X), 1000)).all() and (distances[:, 0] == 0).all()
save(model, sys.argv[2])
again = load(sys.argv[2]).kneighbors(X[::1000])
assert (again[1] == indices).all() and (again[0] == distances).all()
done.set()
watcher.join()
print(max(peak) - before, model._scan._given.code.nbytes / 1e6)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what memory is a file's")
def test_a_memory_map_is_fitted_and_searched_with_its_codes_in_memory_alone(rng, tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (150_000, 256))
    inner = rng.standard_normal((20, 256), dtype=np.float32)
    for start in range(0, len(X), 10_000):
        X[start : start + 10_000] = rng.standard_normal((10_000, 20), dtype=np.float32) @ inner
    X.flush()
    arguments = [sys.executable, "-P", "-c", MAPPED, str(tmp_path / "X.npy"), str(tmp_path / "X.fclf")]
    run = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    used, codes = map(float, run.stdout.split())
    assert used < codes + 48 < X.nbytes / 1e6 / 2, "the limit of a search, what reading and writing take, and codes"
