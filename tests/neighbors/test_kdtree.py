"""The kd-tree: the answers of the textbook loop and of a scan, to the last bit, for any data and division of work."""

import sys
import tracemalloc

import numpy as np
import pytest
import reference
from conftest import pairwise_grid, seconds_to_obey_ctrl_c
from hypothesis import assume, given
from hypothesis import strategies as st

from fastclf import NearestNeighbors, _simd
from fastclf._threads import Progress
from fastclf.neighbors import _kdtree_build, kdtree
from fastclf.neighbors.admit import resolve_metric
from fastclf.neighbors.hits import Lists
from fastclf.neighbors.kdtree import Tree, is_worth_a_tree
from fastclf.neighbors.scan import Scan
from fastclf.neighbors.search import Search

pytestmark = pytest.mark.levels

FAST_METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev"]
MINKOWSKI = {"p = 3": (3.0, None), "p = 0.5": (0.5, None), "weights": (1.5, [1.0, 0.5, 0.0, 2.0, 1.0, 3.0])}
LEAF = _kdtree_build.LEAF_ROWS


def make_metric(name, d):
    if name in MINKOWSKI:
        p, w = MINKOWSKI[name]
        return resolve_metric("minkowski", p, None if w is None else {"w": w[:d]})
    return resolve_metric(name)


def reference_distances(X, Q, metric):
    if metric.name == "minkowski":
        return reference.distances(X, Q, "minkowski", p=metric.p, w=metric.w)
    return reference.fast_distances(X, Q, metric.name)


def progress(Q, X, callback=None):
    return Progress(len(Q) * len(X), "search", callback=callback)


def asked(index, Q, self_row=None, allowed=None, seen=None, **means):
    """A Search of all rows of an index."""
    return Search(Q, self_row, allowed, seen or progress(Q, index.X), **means)


def nearest(index, Q, k, **limits):
    """(distances, indices) of an index; the indices are the same if distances are not requested."""
    distances, indices, others = np.full((len(Q), k), np.nan), *np.full((2, len(Q), k), -1)
    index.nearest(asked(index, Q, **limits), distances, indices)
    index.nearest(asked(index, Q, **limits), None, others)
    np.testing.assert_array_equal(indices, others)
    return distances, indices


def within(index, Q, radius, **limits):
    """A list with (indices, distances) for each query."""
    found = Lists.empty(len(Q))
    index.within(asked(index, Q, **limits), radius, found)
    return list(zip(found.indices, found.distances))


def assert_same(got, expected):
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_exact(X, Q, k, metric="euclidean", **limits):
    metric = make_metric(metric, X.shape[1])
    D = reference_distances(X, Q, metric)
    distances, indices = nearest(Tree(X, metric), Q, k, **limits)
    assert_same((distances, indices), reference.nearest(D, k))


# Tests of the structure of the tree


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (LEAF, 2), (LEAF + 1, 3), (17 * LEAF, 2), (9001, 3), (300 * LEAF - 1, 1)])
def test_every_row_is_in_one_leaf_and_every_box_fits_its_rows(rng, dtype, n, d):
    X = rng.standard_normal((n, d)).astype(dtype)
    tree = Tree(X, make_metric("euclidean", d))
    assert sorted(tree.rows) == list(range(n))
    boxes = []
    for leaf, panel in enumerate(tree.panels):
        rows = X[tree.rows[leaf * LEAF : (leaf + 1) * LEAF]]
        np.testing.assert_array_equal(panel.T[: len(rows)], rows)
        boxes.append((rows.min(axis=0), rows.max(axis=0)))
    node = 0
    while node == 0 or len(boxes) > 1:
        above = []
        for first in range(0, len(boxes), 16):
            low, high = map(np.array, zip(*boxes[first : first + 16]))
            np.testing.assert_array_equal(tree.boxes[node, 0, :, : len(low)], low.T)
            np.testing.assert_array_equal(tree.boxes[node, 1, :, : len(low)], high.T)
            above.append((low.min(axis=0), high.max(axis=0)))
            node += 1
        boxes = above
    assert node == len(tree.boxes)


def test_leaves_are_cut_at_the_median_of_the_widest_side(rng):
    X = rng.random((2 * 16 * LEAF, 2)) * [1, 100]
    rows = Tree(X, make_metric("euclidean", 2)).rows
    assert X[rows[: 16 * LEAF], 1].max() <= X[rows[16 * LEAF :], 1].min()
    sides = np.ptp(X[rows].reshape(-1, LEAF, 2), axis=1)
    assert (sides[:, 1] < 8 * sides[:, 0]).mean() > 0.9
    assert (sides[:, 0] < 8 * sides[:, 1]).mean() > 0.9


def test_a_coordinate_of_weight_zero_is_never_cut(rng):
    X = rng.random((64 * LEAF, 2)) * [1, 1e6]
    metric = resolve_metric("minkowski", 2, {"w": [1.0, 0.0]})
    by_first = X[Tree(X, metric).rows, 0].reshape(-1, LEAF)
    assert (by_first[:-1].max(axis=1) <= by_first[1:].min(axis=1)).all()


@pytest.mark.parametrize("kind", ["normal", "ties", "two values", "equal", "sorted", "organ pipe"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_key_of_a_rank_is_the_one_that_sorting_gives(rng, kind, dtype):
    for n in (1, 2, 63, 65, 1000, 30_000):
        keys = {
            "normal": lambda n: rng.standard_normal(n),
            "ties": lambda n: rng.integers(0, 9, n),
            "two values": lambda n: (np.arange(n) % 5 == 0) * 1.5,
            "equal": lambda n: np.full(n, -0.0),
            "sorted": lambda n: np.arange(n) * 0.1,
            "organ pipe": lambda n: -np.abs(np.arange(n) - n // 2),
        }[kind](n).astype(dtype)
        for rank in {0, n // 3, n // 2, n - 1}:
            key, n_less = _kdtree_build.select_key(keys, rank, np.empty_like(keys))
            assert key == np.sort(keys)[rank]
            assert n_less == (keys < key).sum()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_and_the_size_of_a_step_change_nothing_of_a_tree(rng, dtype, monkeypatch):
    X = rng.standard_normal((40_000, 3)).round(2).astype(dtype)
    metric = make_metric("euclidean", 3)
    one = Tree(X, metric, n_jobs=1)
    monkeypatch.setattr(kdtree, "_BUILD_LEAVES", 64)
    monkeypatch.setattr(kdtree, "_THREAD_WORK", 0)
    for n_jobs in (1, 2, 5):
        other = Tree(X, metric, n_jobs=n_jobs)
        assert_same((one.rows, one.panels, one.boxes), (other.rows, other.panels, other.boxes))


# Tests of searches for the nearest rows


@pairwise_grid(metric=[*FAST_METRICS, *MINKOWSKI], dtypes=["ff", "fd", "df", "dd"], d=[1, 2, 5])
def test_answers_equal_the_textbook_loop_to_the_last_bit(rng, metric, dtypes, d):
    X = rng.standard_normal((400, d)).round(1).astype(dtypes[0])
    Q = rng.standard_normal((9, d)).round(1).astype(dtypes[1])
    assert_exact(X, Q, 7, metric)


@pairwise_grid(
    metric=FAST_METRICS,
    dtype=["float32", "float64"],
    shape=[(1, 1), (2, 3), (31, 1), (33, 2), (600, 10), (5000, 3), (9000, 2), (700, 40)],
    n_queries=[1, 70],
)
def test_every_shape_is_exact(rng, metric, dtype, shape, n_queries):
    X, Q = rng.standard_normal(shape).astype(dtype), rng.standard_normal((n_queries, shape[1])).astype(dtype)
    assert_exact(X, Q, min(10, shape[0]), metric)


# (factor, offset) of uniform data with which other implementations fail.
HOSTILE = {
    "norms near 6e6": (1e3, 5e5),
    "offset 1e8": (1.0, 1e8),
    "tiny": (1e-30, 0.0),
    "huge": (1e30, 0.0),
    "subnormal": (1e-41, 0.0),
    "largest float32": (1e38, 0.0),
    "subnormal float64": (1e-322, 0.0),
    "huge float64": (1e300, 0.0),
}


@pairwise_grid(name=HOSTILE, metric=[*FAST_METRICS, *MINKOWSKI], dtype=["float32", "float64"], d=[1, 6])
def test_hostile_scales_are_exact(rng, name, metric, dtype, d):
    factor, offset = HOSTILE[name]
    X = rng.uniform(-3, 3, (400, d)) * factor + offset
    if dtype == "float32":
        X = np.clip(X, -3e38, 3e38).astype(dtype)
    with np.errstate(over="ignore"):
        Q = np.concatenate(
            [X[:4], np.clip(X[-4:] * X.dtype.type(1.0001), -3e38 if dtype == "float32" else -1e308, None)]
        )
    assert_exact(X, Q[np.isfinite(Q).all(axis=1)], 5, metric)


@pytest.mark.parametrize("n_queries", [1, 20])
def test_a_float64_query_is_not_rounded_to_float32_rows(n_queries):
    # The query 1 + 2^-30 rounds to 1 in float32, but is nearer to the row at 1 + 2^-23 than the query 1 is.
    X = np.repeat(np.array([[1.0], [1.0 + 2**-23], [1.0 - 2**-23]], dtype=np.float32), 50, axis=0)
    Q = np.full((n_queries, 1), 1 + 2**-24 + 2**-30)
    assert_exact(X, Q, 60)
    assert (nearest(Tree(X, make_metric("euclidean", 1)), Q, 1)[1] == 50).all()
    assert_exact(np.float32([[0.0], [3e38]]), np.full((n_queries, 1), 1e39), 2)


@pytest.mark.parametrize("metric", [*FAST_METRICS, *MINKOWSKI])
@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_among_equal_rows_the_first_are_found(rng, metric, distinct):
    X = rng.standard_normal((distinct, 4))[rng.integers(0, distinct, 3000)]
    assert_exact(X, np.concatenate([X[:3], rng.standard_normal((3, 4))]), 40, metric)


def test_a_constant_column_changes_nothing(rng):
    X = rng.standard_normal((3000, 3))
    X[:, 1] = 7.25
    assert_exact(X, X[:50] + 0.01, 5)


def test_all_rows_can_be_asked_for(rng):
    X = rng.standard_normal((700, 2)).round(1)
    assert_exact(X, X[:5], 700)
    assert_exact(X[:1], X[:5], 1)


def test_rows_sorted_from_far_to_near_are_exact(rng):
    X = rng.standard_normal((3000, 4)).astype(np.float32)
    X = X[np.argsort(-(X**2).sum(axis=1))]
    assert_exact(X, np.zeros((40, 4), np.float32), 9)


def test_queries_far_outside_are_exact(rng):
    X = rng.standard_normal((3000, 3))
    assert_exact(X, np.concatenate([X[:20] * 1e3, X[:20] * 1e9, X[:9] * 1e200]), 6)


nasty = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e-23, 1e19, 1e38, -3e38, 0.1, 6e6, 6000000.5])


@given(
    st.integers(1, 1500),
    st.integers(1, 6),
    st.integers(1, 12),
    st.sampled_from([*FAST_METRICS, "p = 3"]),
    st.sampled_from(["float32", "float64"]),
    st.data(),
)
def test_nasty_values_are_exact(n, d, n_queries, metric, dtype, data):
    draw = st.lists(st.one_of(nasty, st.floats(-4, 4, width=32)), min_size=d, max_size=d)
    pool = np.array(data.draw(st.lists(draw, min_size=1, max_size=20)), dtype=dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    # each coordinate of a row is drawn from the pool by itself, which makes many more different rows
    X, Q = (pool[rng.integers(0, len(pool), (size, d)), np.arange(d)] for size in (n, n_queries))
    metric = make_metric(metric, d)
    allowed = None if rng.random() < 0.5 else (rng.random(n) < 0.7).astype(np.uint8)
    self_row = None if rng.random() < 0.5 else rng.integers(0, n, n_queries)
    limits = {"self_row": self_row, "allowed": allowed}
    findable = (n if allowed is None else int(allowed.sum())) - (self_row is not None)
    assume(findable > 0)
    k = int(rng.integers(1, min(findable, 50) + 1))
    tree, scan = Tree(X, metric), Scan(X, metric)
    expected = nearest(scan, Q, k, **limits)
    assert_same(nearest(tree, Q, k, **limits), expected)
    for radius in {0.0, expected[0][0, -1], 1.0}:
        for got, want in zip(within(tree, Q, radius, **limits), within(scan, Q, radius, **limits)):
            assert_same(got, want)


@pytest.mark.parametrize("metric", [*FAST_METRICS, "weights"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_batches_memory_and_levels_change_no_bit(rng, metric, dtype, monkeypatch):
    X, Q = rng.standard_normal((20_000, 3)).astype(dtype), rng.standard_normal((300, 3)).astype(dtype)
    tree = Tree(X, make_metric(metric, 3))
    expected = nearest(Scan(X, tree.metric), Q, 6)
    near = within(Scan(X, tree.metric), Q, 0.3)
    monkeypatch.setattr(kdtree, "_VISITS", 0)
    for limits in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 7}, {"n_jobs": 2, "memory": 0.02}):
        assert_same(nearest(tree, Q, 6, **limits), expected)
        for got, want in zip(within(tree, Q, 0.3, **limits), near):
            assert_same(got, want)
    for level in _simd.available():
        kernels = _simd.load("neighbors._kdtree_search", level)
        monkeypatch.setattr(kdtree, "kernels", kernels)
        assert_same(nearest(tree, Q, 6), expected)
        assert_same(map(np.concatenate, zip(*(nearest(tree, q[None], 6) for q in Q[:20]))), [e[:20] for e in expected])


@pytest.mark.parametrize("n_allowed", [1, 5, 2000])
def test_only_allowed_rows_are_found_however_few(rng, n_allowed):
    X, Q = rng.standard_normal((9000, 2)), rng.standard_normal((20, 2))
    allowed = np.zeros(9000, np.uint8)
    allowed[rng.permutation(9000)[:n_allowed]] = 1
    tree = Tree(X, make_metric("euclidean", 2))
    D = reference.fast_distances(X, Q)
    k = min(4, n_allowed)
    assert_same(nearest(tree, Q, k, allowed=allowed), reference.nearest(D, k, allowed=allowed))
    for (index, distance), row in zip(within(tree, Q, 0.5, allowed=allowed), D):
        expected = np.flatnonzero((row <= 0.5) & (allowed == 1))
        assert_same((index, distance), (expected, row[expected]))


def test_each_row_leaves_itself_out_by_row(rng):
    X = rng.integers(0, 9, (2000, 2)).astype(float)
    rows = np.arange(2000)
    expected = reference.nearest(reference.fast_distances(X, X), 4, own=rows)
    assert_same(nearest(Tree(X, make_metric("euclidean", 2)), X, 4, self_row=rows), expected)
    assert (expected[0] == 0).any(), "duplicates of a row must be found"


# Tests of searches within a radius


@pytest.mark.parametrize("metric", [*FAST_METRICS, *MINKOWSKI])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_radius_finds_every_row_up_to_and_on_it_by_row(rng, metric, dtype):
    X = rng.integers(-4, 5, (1500, 3)).astype(dtype)
    Q = rng.integers(-4, 5, (20, 3)).astype(dtype)
    metric = make_metric(metric, 3)
    D = reference_distances(X, Q, metric)
    radius = np.sort(D[0])[30]
    for (index, distance), row in zip(within(Tree(X, metric), Q, radius), D):
        np.testing.assert_array_equal(index, np.flatnonzero(row <= radius))
        np.testing.assert_array_equal(distance, row[row <= radius])


def test_a_radius_can_hold_nothing_or_all_with_room_for_few_hits(rng):
    X, Q = rng.standard_normal((5000, 2)), rng.standard_normal((30, 2))
    tree = Tree(X, make_metric("euclidean", 2))
    assert all(len(index) == 0 for index, _ in within(tree, Q + 1e3, 1.0))
    D = reference.fast_distances(X, Q)
    for radius in (0.6, 2.0, 99.0):
        for (index, distance), row in zip(within(tree, Q, radius, memory=0.1), D):
            expected = np.flatnonzero(row <= radius)
            assert_same((index, distance), (expected, row[expected]))


# Tests of the bounds on memory and time


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_of_a_search_is_bounded(rng, n_jobs):
    X, Q = rng.standard_normal((20_000, 3)), rng.standard_normal((30_000, 3))
    tree = Tree(X, make_metric("euclidean", 3))
    # objects that are created once, such as the pool of threads, are not counted
    nearest(tree, Q[:2000], 5, n_jobs=n_jobs)
    distances, indices = np.empty((30_000, 50)), np.empty((30_000, 50), np.intp)
    hits = Lists.empty(50, measured=False)
    for answer in (distances, None):
        tracemalloc.start()
        tree.nearest(asked(tree, Q, n_jobs=n_jobs, memory=8), answer, indices)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert used < 8e6
    tracemalloc.start()
    tree.within(asked(tree, Q[:50], n_jobs=n_jobs, memory=8), 99.0, hits)
    used = tracemalloc.get_traced_memory()[1] - sum(found.nbytes for found in hits.indices)
    tracemalloc.stop()
    assert used < 8e6


def test_progress_ends_at_the_total_and_a_callback_can_stop_a_search(rng):
    X = rng.standard_normal((3000, 2))
    tree = Tree(X, make_metric("euclidean", 2))
    for search in (
        lambda seen: tree.nearest(asked(tree, X, seen=seen), None, np.empty((3000, 5), np.intp)),
        lambda seen: within(tree, X, 0.1, seen=seen),
        lambda seen: within(tree, X[:99], 9.0, seen=seen, memory=0.1),
    ):
        with progress(X, X, lambda *step: False) as seen:
            search(seen)
        assert seen.step in (len(X) * len(X), 99 * len(X))
        with progress(X, X, lambda *step: True) as seen, pytest.raises(RuntimeError, match="stopped by callback at"):
            search(seen)


WORK_FOR_LONG = """
import sys, time
import numpy as np
from fastclf.neighbors.admit import resolve_metric
from fastclf.neighbors.hits import Lists
from fastclf.neighbors.kdtree import Tree, is_worth_a_tree
from fastclf.neighbors.search import Search
from fastclf._threads import Progress
X = np.random.default_rng(0).standard_normal((300_000, 8), dtype=np.float32)
tree = Tree(X, resolve_metric("minkowski", 3))
search = Search(X, None, None, Progress(1, "search"), {n_jobs})
indices, hits = np.empty((300_000, 100), np.intp), Lists.empty(300_000, measured=False)
print("ready", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to another process")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "work",
    [
        "Tree(X, tree.metric, n_jobs={n_jobs})",
        "tree.nearest(search, None, indices)",
        "tree.within(search, 1.0, hits)",
        "tree.within(search, 9.0, hits)",
    ],
)
def test_ctrl_c_ends_work_at_once(n_jobs, work):
    code = WORK_FOR_LONG.format(work=work.format(n_jobs=n_jobs), n_jobs=n_jobs)
    assert seconds_to_obey_ctrl_c(code) < 1.0


@pytest.fixture
def n_visits(monkeypatch):
    """A list that gets the number of queries that each walk of a tree answers."""
    walk, counts = Tree._walk, []

    def counted(self, state):
        counts.append(len(state.homes))
        return walk(self, state)

    monkeypatch.setattr(Tree, "_walk", counted)
    return counts


def in_clusters(rng, n, d):
    centres = 3 * rng.standard_normal((20, d))
    return centres[rng.integers(0, 20, n)] + 0.2 * rng.standard_normal((n, d))


def near_a_surface(rng, n, d):
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.01 * rng.standard_normal((n, d))


def independent(rng, n, d):
    return rng.standard_normal((n, d))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize(
    ("make_rows", "is_walked"), [(in_clusters, True), (near_a_surface, True), (independent, False)]
)
def test_many_queries_are_scanned_where_the_tree_would_visit_too_many_leaves(
    rng, n_visits, dtype, metric, make_rows, is_walked
):
    rows = make_rows(rng, 9100, 24).astype(dtype)
    X, Q = rows[100:], rows[:100]
    tree, scan = (NearestNeighbors(algorithm=each, metric=metric).fit(X) for each in ("auto", "brute"))
    assert type(tree._scan._given) is Tree
    expected, got = (model.kneighbors(Q) for model in (scan, tree))
    np.testing.assert_array_equal(got, expected)
    assert sum(n_visits) == 100 * is_walked
    radius = float(np.median(expected[0][:, 2]))
    n_visits.clear()
    expected, got = (model.radius_neighbors(Q, radius) for model in (scan, tree))
    for distances, rows, others, other_rows in zip(*got, *expected):
        np.testing.assert_array_equal(distances, others)
        np.testing.assert_array_equal(rows, other_rows)
    assert sum(n_visits) == 100 * is_walked
    n_visits.clear()
    np.testing.assert_array_equal(tree.kneighbors(Q[:3]), scan.kneighbors(Q[:3]))
    assert sum(n_visits) == 3


@pytest.mark.parametrize("n", [60_000, 100_000])
def test_a_tree_is_worth_its_construction_where_trees_of_a_few_rows_prune_well(rng, n):
    metric = make_metric("euclidean", 20)
    assert is_worth_a_tree(in_clusters(rng, n, 20), metric, 5)
    assert is_worth_a_tree(near_a_surface(rng, n, 20).astype(np.float32), metric, 5)
    assert not is_worth_a_tree(independent(rng, n, 20), metric, 5)
    assert not is_worth_a_tree(np.sort(independent(rng, n, 20), axis=0), metric, n - 1)
