"""Added, removed and masked rows, and votes: always the same as if the remaining rows had been fitted at once."""

import copy
import pickle
import threading

import numpy as np
import pytest
import reference
from conftest import frees_at_once
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastclf import KNeighborsClassifier, KNeighborsDensity, KNeighborsRegressor, NearestNeighbors
from fastclf._threads import Progress
from fastclf.neighbors import living_rows, search
from fastclf.neighbors.admit import resolve_metric
from fastclf.neighbors.living_rows import SpareRows
from fastclf.neighbors.scan import Scan

METRICS = ["euclidean", "manhattan", "cosine", "dot", "hamming", "minkowski", "nan_euclidean"]
ESTIMATORS = [NearestNeighbors, KNeighborsClassifier, KNeighborsRegressor, KNeighborsDensity]


def assert_same(got, want):
    if isinstance(want, (tuple, list)) or (isinstance(want, np.ndarray) and want.dtype == object):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(got, want)


def grid(rng, n, dtype="float64", metric=None):
    """Rows with many duplicates and equal distances, without a zero row (for cosine).

    For nan_euclidean the rows have missing values.
    """
    X = rng.integers(1, 4, (n, 3)).astype(dtype)
    if metric == "nan_euclidean":
        X[rng.random(X.shape) < 0.4] = np.nan
    return X


# Functions that make one estimator of each kind and its targets, and call all its methods.


def make(kind, k, **params):
    if kind is NearestNeighbors:
        return NearestNeighbors(n_neighbors=k, radius=1.5, **params)
    return kind(k, **params)


def targets(kind, rng, n, labels="abc", outputs=1):
    if kind is KNeighborsClassifier:
        y = rng.choice(list(labels), (n, outputs))
    elif kind is KNeighborsRegressor:
        y = rng.standard_normal((n, outputs))
    else:
        return None
    return y[:, 0] if outputs == 1 else y


def call(kind, method, X, y=None, weight=None):
    arguments = [X] if y is None else [X, y]
    return method(*arguments) if kind is NearestNeighbors else method(*arguments, sample_weight=weight)


def answers(model, Q):
    n = model.n_samples_fit_
    allowed = n if model._weight is None else np.count_nonzero(model._weight)
    yield model.kneighbors(Q, n_neighbors=1)
    yield model.kneighbors(Q, n_neighbors=allowed)
    if allowed > 1:
        yield model.kneighbors(n_neighbors=allowed - 1)
        yield model.kneighbors(n_neighbors=1)
    if isinstance(model, NearestNeighbors):
        yield model.radius_neighbors(Q)
        yield model.radius_neighbors(sort_results=True)
        return
    reach = float(n) if model._weight is None else model._weight.sum()
    inner = reach - (1 if model._weight is None else model._weight.max())
    ask = [(Q, reach), (None, inner)]
    for X, limit in ask:
        if model.n_neighbors > limit:
            continue
        if isinstance(model, KNeighborsDensity):
            yield model.score_samples(X)
        else:
            yield model.predict(X)
        if isinstance(model, KNeighborsClassifier):
            yield model.classes_
            yield model.predict_proba(X)
    if not isinstance(model, KNeighborsDensity) and inner >= 1:
        yield model.leave_one_out(int(min(inner, 7)))


@settings(max_examples=200)
@given(
    st.sampled_from(ESTIMATORS),
    st.sampled_from(METRICS),
    st.sampled_from(["uniform", "distance"]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.lists(
        st.tuples(st.sampled_from(["add", "one", "remove", "mask", "first", "search", "pickle"]), st.integers(0, 999)),
        min_size=6,
        max_size=14,
    ),
    st.integers(0, 999),
)
def test_any_history_gives_what_a_fit_of_the_same_rows_gives(
    kind, metric, weights, k, weighted, outputs, history, seed
):
    rng = np.random.default_rng(seed)
    params = {"metric": metric, "n_jobs": 1}
    if metric == "minkowski":
        params["p"] = 3
    if kind in (KNeighborsClassifier, KNeighborsRegressor) and metric != "dot":
        params["weights"] = weights
    if kind is KNeighborsClassifier:
        params["ties"] = ("first", "distance")[seed % 2]
    if kind is KNeighborsDensity and metric in ("cosine", "dot", "hamming", "nan_euclidean"):
        metric = params["metric"] = "chebyshev"
    weighted = weighted and kind is not NearestNeighbors

    def weight_of(n):
        return rng.choice([0.0, 0.5, 1.0, 2.0], n, p=[0.1, 0.2, 0.5, 0.2]) + (n == 9) if weighted else None

    X, y, weight = grid(rng, 9, "float32", metric), targets(kind, rng, 9, "ab", outputs), weight_of(9)
    model = make(kind, k, **params)
    call(kind, model.partial_fit, X, y, weight)
    for step, number in history:
        n = len(X)
        if step in ("add", "one"):
            m = 1 if step == "one" else 1 + number % 30
            more = grid(rng, m, ("float32", "float64")[number % 2], metric)
            more_y = targets(kind, rng, m, "bcd"[: 1 + number % 3], outputs)
            more_weight = weight_of(m) if number % 5 else None
            call(kind, model.partial_fit, more, more_y, more_weight)
            X = np.concatenate([X, more])
            y = None if y is None else np.concatenate([y, more_y])
            if weighted:
                weight = np.concatenate([weight, np.ones(m) if more_weight is None else more_weight])
        elif step == "search":
            model.kneighbors(X, n_neighbors=1)
        elif step == "pickle":
            model = pickle.loads(pickle.dumps(model))
        else:
            if step == "remove":
                rows = rng.integers(-n, n, number % n) if n > 1 else np.array([], int)
            elif step == "first":
                rows = np.arange(number % n)
            else:
                rows = rng.random(n) < number / 1000
            kept = np.delete(np.arange(n), rows)
            if len(kept) == 0 or (weighted and not weight[kept].any()):
                continue
            model.remove(rows)
            X, y, weight = (None if column is None else column[kept] for column in (X, y, weight))
    assert model.n_samples_fit_ == len(X)
    fresh = call(kind, make(kind, k, **params).fit, X, y, weight)
    Q = rng.integers(1, 5, (7, 3)).astype(float)
    assert_same(list(answers(model, Q)), list(answers(fresh, Q)))


@pytest.mark.parametrize("metric", METRICS)
def test_a_living_search_is_the_textbook_loop(rng, metric):
    X = grid(rng, 60, metric=metric)
    model = NearestNeighbors(metric=metric, p=3).fit(X[:20]).partial_fit(X[20:50]).partial_fit(X[50:])
    rows = rng.choice(60, 25, replace=False)
    model.remove(rows)
    D = reference.distances(np.delete(X, rows, axis=0), X[:11] + 0.5, metric, p=3.0)
    assert_same(model.kneighbors(X[:11] + 0.5), reference.nearest(D, 5))


def test_rows_are_found_whenever_they_were_added(rng):
    X = rng.standard_normal((60, 2))
    model = NearestNeighbors(n_neighbors=1).fit(X[:10])
    for i in range(10, 60):
        model.partial_fit(X[i : i + 1])
        assert model.kneighbors(X[: i + 1], return_distance=False).ravel().tolist() == list(range(i + 1))


def test_infinite_distances_are_no_missing_rows():
    X = np.array([[1e200], [-1e200], [3e200], [5e200]])
    model = NearestNeighbors(n_neighbors=3).fit(X[:2]).partial_fit(X[2:3]).partial_fit(X[3:])
    assert_same(model.kneighbors(), NearestNeighbors(n_neighbors=3).fit(X).kneighbors())
    assert (model.kneighbors()[0] == np.inf).all()


def living(rng, n=3000, d=4, kind=NearestNeighbors, **params):
    """(an estimator, its rows), after rows of the fit, of full segments and of the last segment were removed."""
    X = rng.integers(0, 9, (n, d)).astype(float)
    model = kind(**params).fit(X[: n // 3])
    model.partial_fit(X[n // 3 : n // 2])
    model.partial_fit(X[n // 2 :])
    for row in X[:5]:
        model.partial_fit(row[None])
    X = np.concatenate([X, X[:5]])
    gone = rng.random(len(X)) < 0.3
    gone[-3] = True
    assert len(model.remove(gone)._scan._parts()) == 3
    return model, X[~gone]


def test_a_search_keeps_its_mask_while_another_thread_searches_with_one(rng, monkeypatch):
    X = rng.standard_normal((30, 3))
    weight = (np.arange(30) % 3 > 0).astype(float)
    model = KNeighborsClassifier(2).fit(X, np.arange(30), sample_weight=weight).remove([4])
    want = model.kneighbors(X)
    kept = vars(model._scan).pop("_placed")
    other = np.ones(29, np.uint8), np.ones(30, np.uint8)
    # the attribute `_placed` changes after two reads, because another thread may replace it at any moment
    seen = iter([kept, kept] + [other] * 99)
    monkeypatch.setattr(living_rows.Segments, "_placed", property(lambda _: next(seen), lambda *_: None), raising=False)
    assert_same(model.kneighbors(X), want)


def test_threads_and_memory_change_nothing_in_a_living_search(rng, monkeypatch):
    model, X = living(rng, n_neighbors=7, radius=1.0)
    Q = rng.integers(0, 9, (70, 4)).astype(float)
    fresh = NearestNeighbors(n_neighbors=7, radius=1.0).fit(X)
    mask = rng.random(len(X)) < 0.5
    want = [fresh.kneighbors(Q), fresh.kneighbors(Q, mask=mask), fresh.radius_neighbors(Q), fresh.kneighbors()]
    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    monkeypatch.setattr(living_rows, "_BLOCK_QUERIES", 33)
    for n_jobs, memory in ((1, 256), (2, 256), (3, 0.05), (1, 1e-9), (2, np.inf)):
        model.set_params(n_jobs=n_jobs, working_memory=memory)
        got = [model.kneighbors(Q), model.kneighbors(Q, mask=mask), model.radius_neighbors(Q)]
        assert_same(got, want[:3])
    model.set_params(n_jobs=2, working_memory=1)
    assert_same(model.kneighbors(), want[3])


def test_a_callable_metric_sees_added_rows(rng):
    X = grid(rng, 30)

    def metric(a, b):
        assert a.dtype == b.dtype == np.float64
        return reference.distance(a, b)

    model = NearestNeighbors(metric=metric).fit(X[:10]).partial_fit(X[10:]).remove([0, 12])
    fresh = NearestNeighbors().fit(np.delete(X, [0, 12], axis=0))
    assert_same([model.kneighbors(X), model.kneighbors()], [fresh.kneighbors(X), fresh.kneighbors()])
    assert_same(model.radius_neighbors(X), fresh.radius_neighbors(X))


def test_a_callable_metric_is_called_with_rows_of_one_type(rng):
    X, seen = grid(rng, 30), set()

    def metric(a, b):
        seen.add(b.dtype)
        return reference.distance(a, b)

    model = NearestNeighbors(metric=metric).fit(X[:10].astype(np.float32)).partial_fit(X[10:].astype(np.float64))
    assert_same(model.kneighbors(X), NearestNeighbors().fit(X).kneighbors(X))
    assert seen == {np.dtype("float64")}


# Tests that the user's rows are not changed, and that memory is bounded


def test_a_read_only_map_is_neither_copied_nor_changed(rng, tmp_path):
    import tracemalloc

    np.save(tmp_path / "X.npy", rng.standard_normal((200_000, 8), dtype=np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    before = X[[0, -1]].copy()
    more = rng.standard_normal((100, 8), dtype=np.float32)
    tracemalloc.start()
    model = NearestNeighbors(n_neighbors=3, algorithm="brute", n_jobs=1, working_memory=1)
    model.fit(X).partial_fit(more).remove([0, 7, -1])
    found = model.kneighbors(more[:9], return_distance=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2
    assert (found[:, 0] == 200_000 - 2 + np.arange(9)).all()
    np.testing.assert_array_equal(X[[0, -1]], before)
    assert np.shares_memory(model._scan._given.X, X)


def test_the_callers_arrays_are_never_changed(rng):
    X, y, weight = grid(rng, 40), rng.integers(0, 3, 40), np.ones(40)
    more, more_y, more_weight = grid(rng, 9), rng.integers(2, 5, 9), np.zeros(9)
    mask = rng.random(49) < 0.5
    arrays = [X, y, weight, more, more_y, more_weight, mask]
    before = copy.deepcopy(arrays)
    for array in arrays:
        array.flags.writeable = False
    model = KNeighborsClassifier(2).fit(X, y, weight).partial_fit(more, more_y, sample_weight=more_weight)
    model.predict(X, mask=mask)
    model.remove(mask)
    assert_same(arrays, before)


def test_a_row_costs_a_move_of_the_buffer_only_now_and_then(rng):
    X = rng.standard_normal((2000, 3))
    model = KNeighborsClassifier(1).fit(X[:1000], np.arange(1000) % 7, np.ones(1000))
    moves = set()
    for i in range(1000, 2000):
        model.partial_fit(X[i : i + 1], [i % 7], sample_weight=[1.0])
        moves.add(tuple(id(column) for column in (model._scan._added.base, model._codes.base, model._weight.base)))
    assert len(moves) < 20
    assert len(model._scan._added.base) <= 1.5 * 1000 + 16
    np.testing.assert_array_equal(model.predict(X), np.arange(2000) % 7)


def test_holes_are_closed_up_in_own_rows_and_left_out_at_the_ends_of_given_ones(rng):
    X = rng.standard_normal((1000, 3))
    model = NearestNeighbors().fit(X[:500]).partial_fit(X[500:])
    model.remove(np.arange(500, 740))
    assert model._scan.n_places == 1000
    model.remove(np.arange(500, 520))
    assert model._scan.n_places == 740, "more than half of the own rows are gone"
    model.remove(np.arange(0, 300))
    assert model._scan.n_places == 440, "what is left of the given rows lies in their second half"
    assert np.shares_memory(model._scan._given.X, X)
    model.remove(np.arange(0, 200))
    assert model._scan.n_places == 240
    assert_same(model.kneighbors(X), NearestNeighbors().fit(X[760:]).kneighbors(X))
    assert_same(model.kneighbors(), NearestNeighbors().fit(X[760:]).kneighbors())
    model.partial_fit(X[:5]).remove(np.arange(240))
    assert_same(model.kneighbors(X), NearestNeighbors().fit(X[:5]).kneighbors(X))


def test_a_sliding_window_stays_small(rng):
    X = rng.standard_normal((3000, 2))
    model = NearestNeighbors(n_neighbors=3).fit(X[:100])
    for i in range(100, 3000, 20):
        model.partial_fit(X[i : i + 20]).remove(np.arange(20))
        assert model._scan.n_places <= 2 * 120 + 120
    assert_same(model.kneighbors(X), NearestNeighbors(n_neighbors=3).fit(X[-100:]).kneighbors(X))


@frees_at_once
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_of_a_living_search_is_bounded(rng, n_jobs):
    import tracemalloc

    model, X = living(rng, n=12_000, n_neighbors=50, n_jobs=n_jobs, working_memory=8)
    Q = rng.integers(0, 9, (12_000, 4)).astype(float)
    model.kneighbors(Q[:100])
    tracemalloc.start()
    held = sum(array.nbytes for array in model.kneighbors(Q))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < held + 8e6
    own = 2 * 8 * len(X)  # the memory for the row numbers and the places of the queries
    tracemalloc.start()
    held = sum(array.nbytes for array in model.kneighbors())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < held + 8e6 + own


def test_copies_part_ways(rng):
    X = rng.standard_normal((40, 3))
    model = NearestNeighbors(n_neighbors=3).fit(X[:10]).partial_fit(X[10:20])
    twins = [model, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for i, twin in enumerate(twins):
        for j in range(5):
            twin.partial_fit(X[20 + 5 * i + j][None])
    for i, twin in enumerate(twins):
        rows = np.concatenate([X[:20], X[20 + 5 * i : 25 + 5 * i]])
        assert_same(twin.kneighbors(X), NearestNeighbors(n_neighbors=3).fit(rows).kneighbors(X))


def test_an_index_is_made_anew_only_as_often_as_the_buffer_moves(rng):
    X = rng.standard_normal((1000, 3))
    made = []

    def build(rows, metric):
        made.append(len(rows))
        return Scan(rows, metric)

    segments = living_rows.Segments(X[:100], resolve_metric("euclidean"), build)
    for row in X[100:]:
        segments = segments.add(row[None])
    assert made[0] == 100
    assert len(made) < 15
    assert sum(made[1:]) < 4 * 900


def test_rows_that_are_no_array_can_be_removed_but_not_added_to(rng):
    class Rows:
        """Rows of a type that the library does not know, and an index of them."""

        kind, row_bytes = "rows in another form", 24

        def __init__(self, rows):
            self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

        def __len__(self):
            return len(self.rows)

    class Index(Scan):
        def __init__(self, X, metric):
            super().__init__(X.rows, metric)
            self.nearest, self.X = Scan(X.rows, metric).nearest, X

    X = rng.standard_normal((20, 3))
    segments = living_rows.Segments(Rows(X), resolve_metric("euclidean"), Index).remove(np.arange(15))
    found = np.empty((20, 2), np.intp)
    segments.nearest(search.Search(X, None, None, Progress(1, "")), None, found)
    assert_same(found, NearestNeighbors(n_neighbors=2).fit(X[15:]).kneighbors(X)[1])
    with pytest.raises(TypeError, match="rows cannot be added to rows in another form; an array is wanted"):
        segments.add(X)


def bits(rng, n):
    return rng.random((n, 30)) < 0.3, {"metric": "hamming"}


def packed(rng, n):
    return np.packbits(rng.random((n, 30)) < 0.3, axis=1), {"metric": "jaccard", "metric_params": {"n_bits": 30}}


def sparse_rows(rng, n):
    return sparse.random_array((n, 30), density=0.1, rng=rng, format="csr"), {"metric": "cosine"}


@pytest.mark.parametrize("make_rows", [bits, packed, sparse_rows])
def test_packed_and_sparse_rows_can_be_removed_and_masked(rng, make_rows):
    X, params = make_rows(rng, 200)
    y, mask, Q = np.arange(200) % 3, rng.random(150) < 0.5, X[:40]
    rows = rng.choice(200, 50, replace=False)
    left = np.delete(np.arange(200), rows)
    params |= {"n_neighbors": 4, "working_memory": 0.01}
    model, fresh = NearestNeighbors(radius=0.3, **params).fit(X), NearestNeighbors(radius=0.3, **params).fit(X[left])
    model.remove(rows)
    for ask in ("kneighbors", "radius_neighbors"):
        for queries in (Q, None):
            assert_same(getattr(model, ask)(queries), getattr(fresh, ask)(queries))
            assert_same(getattr(model, ask)(queries, mask=mask), getattr(fresh, ask)(queries, mask=mask))
    again = pickle.loads(pickle.dumps(model))
    assert_same(again.remove([0, 3]).kneighbors(), fresh.fit(X[np.delete(left, [0, 3])]).kneighbors())
    weight = rng.choice([0.0, 0.3, 1.0, 2.0], 200)
    model = KNeighborsClassifier(weights="distance", **params).fit(X, y, weight).remove(rows)
    fresh = KNeighborsClassifier(weights="distance", **params).fit(X[left], y[left], weight[left])
    assert_same(model.predict_proba(Q), fresh.predict_proba(Q))
    assert_same(model.predict_proba(None), fresh.predict_proba(None))
    assert_same(model.leave_one_out(9), fresh.leave_one_out(9))


@pytest.mark.parametrize("make_rows", [bits, packed, sparse_rows])
def test_rows_are_not_added_to_packed_or_sparse_ones(rng, make_rows):
    X, params = make_rows(rng, 20)
    model = NearestNeighbors(**params).partial_fit(X)
    state = dict(vars(model))
    kind = "a sparse matrix" if make_rows is sparse_rows else "packed bits"
    with pytest.raises(TypeError, match=f"^rows cannot be added to {kind}; an array is wanted$"):
        model.partial_fit(X)
    assert vars(model) == state


def test_sparse_rows_are_not_added_to_an_array(rng):
    model = NearestNeighbors().fit(grid(rng, 9))
    with pytest.raises(
        TypeError, match=r"^X is a sparse matrix, but the fitted rows are an array; an array is wanted$"
    ):
        model.partial_fit(sparse.csr_array(grid(rng, 2)))
    assert model.n_samples_fit_ == 9


# Tests of searches restricted by a mask


@pytest.mark.parametrize("weighted", [False, True])
def test_a_mask_gives_what_a_fit_of_its_rows_gives(rng, weighted):
    X, y, target = grid(rng, 80), rng.integers(0, 3, 80), rng.standard_normal((80, 2))
    mask = rng.random(80) < 0.4
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 80) if weighted else None
    some = None if weight is None else weight[mask]
    rows, Q = np.flatnonzero(mask), grid(rng, 9)
    model, fresh = NearestNeighbors(n_neighbors=4, radius=1.5).fit(X), NearestNeighbors(n_neighbors=4, radius=1.5)
    fresh.fit(X[mask])
    for ask in ("kneighbors", "radius_neighbors"):
        got, want = getattr(model, ask)(Q, mask=mask), getattr(fresh, ask)(Q)
        assert_same(got[0], want[0])
        assert_same(list(got[1]), [rows[found] for found in want[1]])
        graph, part = getattr(model, ask + "_graph")(Q, mask=mask), getattr(fresh, ask + "_graph")(Q)
        np.testing.assert_array_equal(graph.toarray()[:, mask], part.toarray())
        assert graph.toarray()[:, ~mask].sum() == 0
    D = reference.fast_distances(X, X)
    assert_same(model.kneighbors(mask=mask), reference.nearest(D, 4, own=np.arange(80), allowed=mask))
    for weights in ("uniform", "distance"):
        model = KNeighborsClassifier(4, weights=weights).fit(X, y, weight)
        fresh = KNeighborsClassifier(4, weights=weights).fit(X[mask], y[mask], some)
        assert_same(model.predict(Q, mask=mask), fresh.predict(Q))
        assert_same(model.predict_proba(Q, mask=mask), fresh.predict_proba(Q))
        model = KNeighborsRegressor(4, weights=weights).fit(X, target, weight)
        fresh = KNeighborsRegressor(4, weights=weights).fit(X[mask], target[mask], some)
        assert_same(model.predict(Q, mask=mask), fresh.predict(Q))


def test_a_mask_may_change_between_two_searches(rng):
    X = grid(rng, 30)
    model = KNeighborsClassifier(1).fit(X, np.arange(30) % 2, np.where(np.arange(30) % 3, 1.0, 0.0)).remove([2, 4])
    mask = np.zeros(28, bool)
    for row in np.flatnonzero(model._weight):
        mask[:] = False
        mask[row] = True
        assert model.kneighbors(X[:1], mask=mask, return_distance=False) == [[row]]


# Tests of the labels of added rows


def test_new_labels_join_the_classes_in_order(rng):
    X = rng.standard_normal((12, 2))
    model = KNeighborsClassifier(1).fit(X[:4], ["m", "z", "m", "z"])
    model.partial_fit(X[4:8], ["aaaa", "q", "z", "m"]).partial_fit(X[8:], ["m"] * 4)
    assert model.classes_.tolist() == ["aaaa", "m", "q", "z"]
    assert model.predict(X).tolist() == ["m", "z", "m", "z", "aaaa", "q", "z", "m", *"mmmm"]
    model.remove([5])
    assert model.classes_.tolist() == ["aaaa", "m", "z"]
    assert model.predict(X[4:5]).tolist() == ["aaaa"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([1, 2], [0, 7]),
        ([True, False], [3, 1]),
        ([1, 2], [2.0, 5.0]),
        (["b", "a"], ["ccc", "a"]),
        (np.array(["b", "a"], object), ["c", "a"]),
        (["b", "a"], np.array(["c", "a"], object)),
        (np.array([1, 2], np.int8), np.array([400, 2])),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), np.array(["2019-01-01", "2020-01-01"], "M8[D]")),
    ],
)
def test_classes_are_those_of_all_labels_together(first, then):
    X = np.arange(4.0)[:, None]
    both = np.concatenate([first, then])
    model = KNeighborsClassifier(1).fit(X[:2], first).partial_fit(X[2:], then)
    fresh = KNeighborsClassifier(1).fit(X, both)
    assert model.classes_.dtype == fresh.classes_.dtype
    assert_same(model.classes_, fresh.classes_)
    assert_same(model.predict(X), both)


def test_classes_that_are_named_are_there_without_rows(rng):
    X = rng.standard_normal((6, 2))
    model = KNeighborsClassifier(1).partial_fit(X[:2], ["b", "c"], classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X[:1]).tolist() == [[0, 1, 0]]
    model.partial_fit(X[2:4], ["d", "c"], classes=["a", "e"]).remove([0, 2])
    assert model.classes_.tolist() == ["a", "b", "c", "e"]
    assert model.predict(X[:4]).tolist() == ["c"] * 4
    Y = np.array([["x", "u"], ["y", "v"]])
    model = KNeighborsClassifier(1).partial_fit(X[:2], Y, classes=[["x", "y", "z"], ["u", "v"]])
    assert [classes.tolist() for classes in model.classes_] == [["x", "y", "z"], ["u", "v"]]
    assert_same(model.predict(X[:2]), Y)


# Tests of arguments that are refused


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda m, X: m.remove([3, 10]), "rows holds 10; numbers from -10 to 9 are wanted"),
        (lambda m, X: m.remove(-11), "rows holds -11; numbers from -10 to 9 are wanted"),
        (lambda m, X: m.remove(np.array([200], np.uint8)), "rows holds 200; numbers from -10 to 9 are wanted"),
        (lambda m, X: m.remove([0.5]), "rows has dtype float64 and shape \\(1,\\); row numbers or a mask are wanted"),
        (lambda m, X: m.remove([[1]]), "rows has dtype int64 and shape \\(1, 1\\); row numbers or a mask are wanted"),
        (lambda m, X: m.remove(np.ones(9, bool)), "rows is a mask of shape \\(9,\\); \\(10,\\)"),
        (lambda m, X: m.remove(np.arange(10)), "rows names all 10 rows; at least one must stay"),
        (lambda m, X: m.remove(np.ones(10, bool)), "rows names all 10 rows; at least one must stay"),
        (lambda m, X: m.remove([0, 1, 2]), "sample_weight is zero for every row"),
        (lambda m, X: m.partial_fit(X[:, :2], [1] * 10), "X has 2 features, but .* is expecting 3"),
        (lambda m, X: m.partial_fit(X * np.nan, [1] * 10), "Input X contains NaN"),
        (lambda m, X: m.partial_fit(X, [1] * 9), "y has 9 entries and X 10 rows"),
        (lambda m, X: m.partial_fit(X, None), "requires y to be passed"),
        (lambda m, X: m.partial_fit(X, ["a"] * 10), "y has dtype <U1 and classes_ int64; labels that sort together"),
        (lambda m, X: m.partial_fit(X, np.ones((10, 2), int)), r"y has shape \(10, 2\); shape \(10,\) is wanted"),
        (lambda m, X: m.partial_fit(X, X[:, 0]), "Unknown label type: continuous"),
        (lambda m, X: m.partial_fit(X, [1] * 10, sample_weight=[1.0]), "sample_weight has shape \\(1,\\)"),
        (lambda m, X: m.partial_fit(X, [1] * 10, classes=[]), "classes is \\[\\]; a list of labels is wanted"),
        (
            lambda m, X: m.partial_fit(X, [1] * 10, classes=[[1, 2]]),
            "classes is \\[\\[1, 2\\]\\]; a list of labels is wanted",
        ),
        (lambda m, X: m.kneighbors(X, mask=np.ones(9, bool)), "mask has dtype bool and shape \\(9,\\); bools of shape"),
        (lambda m, X: m.predict(X, mask=np.ones(10)), "mask has dtype float64 and shape \\(10,\\); bools of shape"),
        (lambda m, X: m.kneighbors(X, mask=np.arange(10) < 2), "n_neighbors = 3, n_samples_fit = 2"),
        (lambda m, X: m.kneighbors(mask=np.arange(10) < 3), "n_samples_fit = 2 without the row itself"),
        (lambda m, X: m.predict(X, mask=np.zeros(10, bool)), "the sample weights add up to 0"),
        (lambda m, X: m.leave_one_out(0), "k_max is 0; at least 1 is wanted"),
        (lambda m, X: m.leave_one_out(3), "k_max is 3, but the sample weights add up to 2 without the heaviest row"),
    ],
)
def test_a_refusal_is_one_sentence_and_changes_nothing(rng, use, sentence):
    X = rng.standard_normal((10, 3))
    weight = np.array([1.0] * 3 + [0.0] * 7)
    model = KNeighborsClassifier(3).fit(X, np.arange(10) % 2, weight)
    state, before = dict(vars(model)), model.predict_proba(X)
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        use(model, X)
    assert "\n" not in str(caught.value)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is state[name] for name in state)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_rows_that_the_metric_cannot_take_are_refused_when_they_are_added(rng):
    X = rng.standard_normal((10, 3))
    model = NearestNeighbors(metric="cosine").fit(X)
    with pytest.raises(ValueError, match="row 1 of X has a squared norm of inf"):
        model.partial_fit(X[:2] * [[1], [1e200]])
    assert model.n_samples_fit_ == 10


@pytest.mark.parametrize("change", ["add", "remove"])
def test_an_interrupted_change_leaves_the_estimator_as_it_was(rng, monkeypatch, change):
    X = rng.standard_normal((30, 3))
    model = KNeighborsRegressor(3).fit(X[:10], X[:10, 0]).partial_fit(X[10:20], X[10:20, 0])
    before = model.predict(X)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(living_rows.Segments, change, interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[20:], X[20:, 0]) if change == "add" else model.remove([1])
    assert_same(model.predict(X), before)
    model.partial_fit(X[20:], X[20:, 0]).remove([1])
    fresh = KNeighborsRegressor(3).fit(np.delete(X, 1, axis=0), np.delete(X[:, 0], 1))
    assert_same(model.predict(X), fresh.predict(X))


def test_nothing_to_remove_is_nothing(rng):
    X = rng.standard_normal((10, 3))
    model = NearestNeighbors().fit(X)
    assert_same(model.remove([]).remove(np.zeros(10, bool)).kneighbors(X), NearestNeighbors().fit(X).kneighbors(X))


def test_progress_adds_up_with_holes_and_a_callback_stops_a_living_search(rng):
    seen = []
    model, X = living(rng, n=900, callback=lambda *step: seen.append(step))
    model.kneighbors(X[:50])
    model.radius_neighbors(X[:50])
    assert all(step <= total for step, total, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    model.set_params(callback=lambda *_: True)
    with pytest.raises(RuntimeError, match="stopped by callback"):
        model.kneighbors(X)


# Tests of votes of neighbours


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_votes_are_summed_in_the_order_of_the_neighbours(rng, weights, weighted, k):
    X, Q = rng.integers(0, 4, (90, 3)) * 0.1, rng.integers(0, 4, (40, 3)) * 0.1
    codes, Y = rng.integers(0, 12, 90), rng.standard_normal((90, 2))
    codes[:12] = np.arange(12)
    weight = rng.choice([0.0, 0.1, 0.7, 1.0, 2.3], 90) if weighted else None
    ballots = [reference.ballot(row, k, weights, weight) for row in reference.fast_distances(X, Q)]
    for ties in ("first", "distance"):
        model = KNeighborsClassifier(k, weights=weights, ties=ties).fit(X, codes, weight)
        assert_same(model.predict(Q), np.array([reference.elect(b, codes, ties == "distance") for b in ballots]))
    assert_same(model.predict_proba(Q), np.array([reference.share(b, codes, 12) for b in ballots]))
    model = KNeighborsRegressor(k, weights=weights).fit(X, Y, weight)
    assert_same(model.predict(Q), np.array([reference.mean(b, Y) for b in ballots]))


def test_a_hundred_thousand_classes_take_no_array_of_queries_by_classes(rng):
    import tracemalloc

    X, Q = rng.standard_normal((100_000, 2)), rng.standard_normal((2000, 2))
    model = KNeighborsClassifier(2, n_jobs=1, working_memory=2, ties="distance").fit(X, np.arange(100_000))
    tracemalloc.start()
    got = model.predict(Q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_same(got, model.kneighbors(Q, n_neighbors=1, return_distance=False)[:, 0])
    assert peak < 2e6 + 16 * 100_000 + 3 * got.nbytes


# Tests of leave-one-out for every k


def ones(distance):
    return np.exp(-distance)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [None, "whole", "parts"])
@pytest.mark.parametrize("weights", ["uniform", "distance", ones])
@pytest.mark.parametrize("ties", ["first", "distance"])
def test_leave_one_out_is_the_naive_loop_for_every_k(rng, weights, ties, weighted, outputs):
    X = rng.integers(0, 4, (70, 2)).astype(np.float32)  # integers from 0 to 3 make equal rows and equal distances
    y, Y = rng.integers(0, 4, (70, outputs)), rng.standard_normal((70, outputs))
    if outputs == 1:
        y, Y = y[:, 0], Y[:, 0]
    weight = {"whole": rng.integers(0, 4, 70), "parts": rng.choice([0, 0.1, 0.5, 0.7, 3], 70), None: None}[weighted]
    model = KNeighborsClassifier(weights=weights, ties=ties).fit(X, y, weight)
    wrong, errors = [], []
    for k in range(1, 21):
        predicted = model.set_params(n_neighbors=k).predict(None)
        wrong.append(np.average((predicted != y).reshape(70, -1).any(axis=1), weights=weight))
    got = model.set_params(n_neighbors=5).leave_one_out(20)
    assert got.shape == (20,)
    np.testing.assert_allclose(got, wrong, rtol=0 if weight is None else 1e-12)
    model = KNeighborsRegressor(weights=weights).fit(X, Y, weight)
    for k in range(1, 21):
        predicted = model.set_params(n_neighbors=k).predict(None)
        errors.append(np.average(((predicted - Y) ** 2).reshape(70, -1).mean(axis=1), weights=weight))
    np.testing.assert_allclose(model.leave_one_out(20), errors, rtol=1e-12)


@given(st.integers(2, 25), st.integers(0, 9999), st.booleans(), st.booleans(), st.sampled_from(["uniform", "distance"]))
def test_leave_one_out_takes_nasty_ties(n, seed, nearer, weighted, weights):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0, 1.0 + 2**-52, 3.0, 1e-300, 1e300], (n, 1))
    y = rng.integers(0, 3, n)
    weight = rng.choice([0.5, 1.0, 1 / 3, 2.0], n) if weighted else None
    most = n - 1 if weight is None else int(weight.sum() - weight.max())
    if most < 1:
        return
    model = KNeighborsClassifier(weights=weights, ties=("first", "distance")[nearer]).fit(X, y, weight)
    wrong = [np.average(model.set_params(n_neighbors=k).predict(None) != y, weights=weight) for k in range(1, most + 1)]
    np.testing.assert_allclose(model.leave_one_out(most), wrong, rtol=1e-12, atol=0)


@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
def test_threads_and_memory_change_no_bit_of_leave_one_out(rng, kind, monkeypatch):
    X, y = rng.standard_normal((700, 3)), rng.integers(0, 5, 700)
    weight = rng.random(700)
    expected = kind(n_jobs=1).fit(X, y, weight).leave_one_out(9)
    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    for n_jobs, memory in ((2, 256), (3, 0.01), (1, 1e-9), (2, np.inf)):
        np.testing.assert_array_equal(
            kind(n_jobs=n_jobs, working_memory=memory).fit(X, y, weight).leave_one_out(9), expected
        )


def test_leave_one_out_of_usps_is_right_at_its_known_best_k(data_file):
    data = np.load(data_file("usps.npz"))
    X, y = data["X_train"][:1500], data["y_train"][:1500]
    model = KNeighborsClassifier().fit(X, y)
    error = model.leave_one_out(10)
    for k in (1, 3, 10):
        assert error[k - 1] == (model.set_params(n_neighbors=k).predict(None) != y).mean()


def test_spare_rows_are_claimed_by_one_of_two_threads():
    array, spare = SpareRows().extend(np.zeros((4, 2)), np.ones((1, 2)))
    first, again = spare.extend(array, np.full((1, 2), 2.0))
    # as if a second thread had read the same array before the first one extended it
    second, other = spare.extend(array, np.full((1, 2), 3.0))
    assert again is spare
    assert other is not spare
    assert (first[-1] == 2).all()
    assert (second[-1] == 3).all()
    third, _ = spare.extend(first, np.full((2, 2), 4.0))
    assert third.base is first.base
    np.testing.assert_array_equal(third[:, 0], [0, 0, 0, 0, 1, 2, 4, 4])


def test_rows_that_two_threads_add_at_once_do_not_mix():
    X = np.zeros((5, 3))
    for _ in range(30):
        model, barrier = NearestNeighbors(n_neighbors=1).fit(X).partial_fit(X), threading.Barrier(2)

        def add(value, model=model, barrier=barrier):
            barrier.wait()
            model.partial_fit(np.full((50, 3), value))

        threads = [threading.Thread(target=add, args=(value,)) for value in (1.0, 9.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # the call that ends last replaces the rows, so that all rows of at least one of the calls are there
        found = [model.kneighbors([[value] * 3], 50)[0].max() for value in (1.0, 9.0)]
        assert 0.0 in found
