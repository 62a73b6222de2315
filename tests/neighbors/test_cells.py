"""Cells: the answers of the textbook loop and of a scan, to the last bit, for any data and division of work."""

import pickle
import sys
import tracemalloc

import numpy as np
import pytest
import reference
from conftest import pairwise_grid, seconds_to_obey_ctrl_c
from hypothesis import assume, given
from hypothesis import strategies as st

from fastclf import KNeighborsClassifier, NearestNeighbors, _simd, load, save
from fastclf._state_table import check_state
from fastclf._threads import Progress
from fastclf.neighbors import cells, code_filter
from fastclf.neighbors.admit import resolve_metric
from fastclf.neighbors.cells import Cells
from fastclf.neighbors.code_filter import Filter
from fastclf.neighbors.code_plan import plan
from fastclf.neighbors.metrics import names_with
from fastclf.neighbors.scan import Scan
from fastclf.neighbors.search import Search

pytestmark = pytest.mark.levels

METRICS = names_with("celled")
PANEL = cells.builder.PANEL_ROWS


def clustered(rng, n, d, dtype="float64", n_clusters=20):
    centres = 5 * rng.standard_normal((n_clusters, d))
    return (centres[rng.integers(n_clusters, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def make(X, metric="euclidean", n_jobs=None):
    scan = Scan(X, resolve_metric(metric))
    coder = plan(X, scan.metric, force=True, share=1 / 32)
    return Cells(Filter(X, scan.metric, coder), n_jobs)


def progress(Q, X, callback=None):
    return Progress(len(Q) * len(X), "search", callback=callback)


def nearest(index, Q, k, self_row=None, allowed=None, seen=None, **means):
    """(distances, indices) of an index; the indices are the same if distances are not requested."""
    distances, indices, others = np.full((len(Q), k), np.nan), *np.full((2, len(Q), k), -1)
    for found in ((distances, indices), (None, others)):
        index.nearest(Search(Q, self_row, allowed, seen or progress(Q, index.X), **means), *found)
    np.testing.assert_array_equal(indices, others)
    return distances, indices


def assert_same(got, expected):
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_exact(X, Q, k, metric="euclidean", **limits):
    """A search by cells equals a scan, and each query alone the same, as it may take another way."""
    index = make(X, metric)
    expected = nearest(Scan(X, index.metric), Q, k, **limits)
    assert_same(nearest(index, Q, k, **limits), expected)
    for i in range(0, len(Q), 7):
        assert_same(nearest(index, Q[i : i + 1], k, **limits), [each[i : i + 1] for each in expected])


@pytest.fixture
def never_left(monkeypatch):
    """No query is left to the filter, whatever its range."""
    monkeypatch.setattr(cells, "_MOST_ALONE", 1.0)
    monkeypatch.setattr(cells, "_MOST_OF_MANY", 1.0)


def codes_by_place(index):
    width = index.plain.width
    panels = index.code.reshape(-1, width // 4, PANEL, 4).transpose(0, 2, 1, 3).reshape(-1, width)
    return panels.astype(np.int64) - 128


# Tests of the cells that are built


@pairwise_grid(
    dtype=["float32", "float64"],
    metric=METRICS,
    shape=[(1, 1), (2, 3), (31, 1), (700, 2), (9000, 5), (3000, 40)],
    kind=["clusters", "ties", "equal"],
)
def test_every_row_is_in_the_cell_of_its_nearest_centre_by_distance(rng, dtype, metric, shape, kind):
    X = clustered(rng, *shape)
    X = {"clusters": X, "ties": X.round(0), "equal": np.ones_like(X)}[kind].astype(dtype)
    index = make(X, metric)
    n, n_cells = len(X), len(index.centers)
    assert sorted(index.rows[index.rows < n]) == list(range(n))
    c, z = codes_by_place(index), index.centers.astype(np.int64)
    far = ((c[:, None] - z) ** 2).sum(axis=2)
    sizes = []
    for cell in range(n_cells):
        places = np.arange(index.starts[cell] * PANEL, index.starts[cell + 1] * PANEL)
        full = places[index.rows[places] < n]
        assert len(places) - len(full) < PANEL
        assert (full == places[: len(full)]).all()
        assert (far[full, cell] == far[full].min(axis=1)).all()
        assert (np.diff(far[full, cell]) >= 0).all()
        np.testing.assert_array_equal(
            index.first_key[index.starts[cell] : index.starts[cell + 1]], far[full[::PANEL], cell]
        )
        assert index.last_key[cell] == far[full[-1], cell]
        assert index.cell_slack[cell] >= index.plain.slack[index.rows[full] // index.plain.unit].max()
        np.testing.assert_array_equal(index.half[full], index.plain.half[index.rows[full]])
        sizes.append(len(full))
    assert sum(sizes) == n
    assert (index.rows[index.starts[-1] * PANEL :] == n).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_change_nothing_of_the_cells(rng, dtype, monkeypatch):
    X = clustered(rng, 20_000, 30, dtype)
    one = make(X, n_jobs=1)
    monkeypatch.setattr(cells, "_THREAD_WORK", 0)
    for n_jobs in (2, 5):
        other = make(X, n_jobs=n_jobs)
        for name, value in vars(one).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(value, vars(other)[name])


# Tests of searches for the nearest rows


@pairwise_grid(
    metric=METRICS,
    dtypes=["ff", "fd", "df", "dd"],
    shape=[(1, 1), (17, 2), (300, 1), (1000, 3), (5000, 12), (2000, 70), (40, 200)],
    k=[1, 5, 60],
)
def test_every_shape_is_exact(rng, never_left, metric, dtypes, shape, k):
    X = clustered(rng, *shape).astype(dtypes[0])
    Q = np.concatenate([X[:20] + 0.01, 5 * rng.standard_normal((30, shape[1]))]).astype(dtypes[1])
    assert_exact(X, Q, min(k, shape[0]), metric)


def test_answers_equal_the_textbook_loop_to_the_last_bit(rng):
    X, Q = clustered(rng, 500, 7).round(1), clustered(rng, 12, 7).round(1)
    for metric in METRICS:
        D = reference.distances(X, Q, metric)
        assert_same(nearest(make(X, metric), Q, 9), reference.nearest(D, 9))


HOSTILE = {
    "offset 1e8": lambda X: X + 1e8,
    "tiny": lambda X: X * 1e-30,
    "huge": lambda X: X * 1e30,
    "norms from 1e-30 to 1e30": lambda X: X * 10.0 ** np.linspace(-30, 30, len(X))[:, None],
    "one huge row": lambda X: np.where(np.arange(len(X))[:, None] == 7, 1e37, X),
    "constant columns": lambda X: np.where(np.arange(X.shape[1]) % 2, X, 7.0),
    "duplicates": lambda X: X[np.arange(len(X)) % 3],
    "all equal": lambda X: np.ones_like(X),
    "whole numbers": lambda X: X.round(0),
    "subnormal": lambda X: X * 1e-41,
    "one cluster and a far row": lambda X: np.where(np.arange(len(X))[:, None] == 3, 1e6, X * 1e-3),
}


@pairwise_grid(name=HOSTILE, metric=METRICS, dtype=["float32", "float64"], d=[1, 6, 50], k=[1, 20])
def test_hostile_data_are_exact(rng, never_left, name, metric, dtype, d, k):
    X = HOSTILE[name](clustered(rng, 1200, d)).astype(dtype)
    if metric == "cosine":
        size = np.abs(X.astype(float)).max(axis=1)
        X = X[(size > 1e-140) & (size < 1e140)]
    Q = np.concatenate([X[:12], X[-12:] * X.dtype.type(1.001), -X[3:7]])
    assert_exact(X, Q, k, metric)


@given(
    st.integers(1, 1500),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from(["euclidean", "sqeuclidean"]),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
    st.data(),
)
def test_nasty_values_are_exact(n, d, n_queries, metric, dtype, alone, data):
    nasty = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e-23, 1e19, 1e38, -3e38, 0.1, 6e6, 6000000.5])
    draw = st.lists(st.one_of(nasty, st.floats(-4, 4, width=32)), min_size=d, max_size=d)
    pool = np.array(data.draw(st.lists(draw, min_size=1, max_size=20)), dtype=dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    # each column of a row is drawn from the pool by itself, which makes many more different rows
    X, Q = (pool[rng.integers(0, len(pool), (size, d)), np.arange(d)] for size in (n, n_queries))
    allowed = None if rng.random() < 0.5 else (rng.random(n) < 0.7).astype(np.uint8)
    self_row = None if rng.random() < 0.5 else rng.integers(0, n, n_queries)
    findable = (n if allowed is None else int(allowed.sum())) - (self_row is not None)
    assume(findable > 0)
    k = int(rng.integers(1, min(findable, 50) + 1))
    with pytest.MonkeyPatch.context() as patch:
        if alone:
            patch.setattr(cells, "_MOST_OF_MANY", 1.0)
        index = make(X, metric)
        limits = {"self_row": self_row, "allowed": allowed}
        assert_same(nearest(index, Q, k, **limits), nearest(Scan(X, index.metric), Q, k, **limits))


@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_among_equal_rows_the_first_are_found(rng, never_left, distinct):
    X = rng.standard_normal((distinct, 4))[rng.integers(0, distinct, 3000)]
    assert_exact(X, np.concatenate([X[:3], rng.standard_normal((3, 4))]), 40)


def test_queries_far_outside_are_exact(rng, never_left):
    X = clustered(rng, 3000, 20)
    assert_exact(X, np.concatenate([X[:9] * 1e3, X[:9] * 1e9, X[:9] * 1e200]), 6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_batches_memory_budgets_and_levels_change_no_bit(rng, never_left, metric, dtype, monkeypatch):
    X, Q = clustered(rng, 9000, 24, dtype), clustered(rng, 150, 24, dtype)
    index = make(X, metric)
    expected = nearest(Scan(X, index.metric), Q, 6)
    monkeypatch.setattr(cells, "_THREAD_WORK", 0)
    for limits in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 7}, {"n_jobs": 2, "memory": 0.02}):
        assert_same(nearest(index, Q, 6, **limits), expected)
    with monkeypatch.context() as patch:
        patch.setattr(cells, "ranges", lambda start, stop, *sizes: ((i, i + 1) for i in range(start, stop)))
        assert_same(nearest(index, Q, 6), expected)
    for level in _simd.available():
        # codes are made and read by kernels of the same SIMD level
        monkeypatch.setattr(cells, "kernels", _simd.load("neighbors._cells_search", level))
        monkeypatch.setattr(cells, "builder", _simd.load("neighbors._cells_build", level))
        monkeypatch.setattr(code_filter, "encoder", _simd.load("neighbors._encode", level))
        monkeypatch.setattr(code_filter, "kernels", _simd.load("neighbors._code_scan", level))
        for each in (index, make(X, metric)):
            assert_same(nearest(each, Q, 6), expected)
            assert_same(nearest(each, Q[:1], 6), [every[:1] for every in expected])


@pytest.mark.parametrize("n_allowed", [1, 5, 2000])
def test_only_allowed_rows_are_found_however_few(rng, n_allowed):
    X, Q = clustered(rng, 9000, 6), clustered(rng, 20, 6)
    allowed = np.zeros(9000, np.uint8)
    allowed[rng.permutation(9000)[:n_allowed]] = 1
    assert_exact(X, Q, min(4, n_allowed), allowed=allowed)


def test_each_row_leaves_itself_out_by_row(rng):
    X = np.repeat(clustered(rng, 1000, 9), 2, axis=0)
    rows = np.arange(2000)
    index = make(X)
    expected = nearest(Scan(X, index.metric), X, 4, self_row=rows)
    assert_same(nearest(index, X, 4, self_row=rows), expected)
    assert (expected[0] == 0).any(), "duplicates of a row must be found"


def test_a_query_with_near_rows_in_most_cells_is_left_to_the_filter_and_no_other(rng, monkeypatch):
    answered = []
    plain_nearest = Filter.nearest

    def counting(self, search, *found):
        answered.append(len(search.queries))
        plain_nearest(self, search, *found)

    monkeypatch.setattr(Filter, "nearest", counting)
    few = clustered(rng, 20_000, 16, n_clusters=200)
    assert_exact(few, few[:50] + 0.1, 5)
    assert not answered
    none = rng.standard_normal((20_000, 64))
    index = make(none)
    Q = rng.standard_normal((100, 64))
    assert_same(nearest(index, Q, 5, n_jobs=1), nearest(Scan(none, index.metric), Q, 5))
    assert sum(answered) == 2 * 100
    answered.clear()
    mixed = np.concatenate([few, 100 + rng.standard_normal((8000, 16))])
    Q = np.concatenate([few[:30], 40 + 30 * rng.standard_normal((30, 16))])[rng.permutation(60)]
    assert_exact(mixed, Q, 5)


def test_many_neighbours_are_exact(rng):
    X = clustered(rng, 2000, 8)
    for k in (100, 125, 126, 2000):
        assert_exact(X, X[:8] + 0.1, k)


# Tests of the bounds on memory and time


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_of_a_search_is_bounded(rng, n_jobs):
    X, Q = clustered(rng, 20_000, 8), clustered(rng, 20_000, 8)
    index = make(X)
    # objects that are created once, such as the pool of threads, are not counted
    nearest(index, Q[:2000], 5, n_jobs=n_jobs)
    distances, indices = np.empty((20_000, 50)), np.empty((20_000, 50), np.intp)
    for answer in (distances, None):
        tracemalloc.start()
        index.nearest(Search(Q, None, None, progress(Q, X), n_jobs=n_jobs, memory=8), answer, indices)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert used < 8e6


@pytest.mark.parametrize("kind", ["clusters", "none"])
def test_progress_ends_at_the_total_and_a_callback_can_stop_a_search(rng, kind):
    X = clustered(rng, 3000, 8) if kind == "clusters" else rng.standard_normal((3000, 40))
    index = make(X)
    found = np.empty((3000, 5)), np.empty((3000, 5), np.intp)
    with progress(X, X, lambda *step: False) as seen:
        index.nearest(Search(X, None, None, seen), *found)
    assert seen.step == len(X) * len(X)
    with progress(X, X, lambda *step: True) as seen, pytest.raises(RuntimeError, match="stopped by callback at"):
        index.nearest(Search(X, None, None, seen), *found)


WORK_FOR_LONG = """
import sys, time
import numpy as np
from fastclf import NearestNeighbors
from fastclf.neighbors import cells
rng = np.random.default_rng(0)
X = 5 * rng.standard_normal((400, 32), dtype=np.float32)[rng.integers(400, size=400_000)]
X += rng.standard_normal(X.shape, dtype=np.float32)
model = NearestNeighbors(n_neighbors=50, algorithm="cells", n_jobs={n_jobs}).fit(X)
index = model._scan._given
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
    "work", ["cells.Cells(index.plain, {n_jobs})", "model.kneighbors(X)", "model.kneighbors(X[:1])"]
)
def test_ctrl_c_ends_work_at_once(n_jobs, work):
    code = WORK_FOR_LONG.format(work=work.format(n_jobs=n_jobs), n_jobs=n_jobs)
    assert seconds_to_obey_ctrl_c(code) < 1.0


# Tests of searches by cells through the estimators


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtypes", ["ff", "df", "fd"])
def test_an_estimator_gives_the_answers_of_a_scan(rng, metric, dtypes):
    X, Q = clustered(rng, 3000, 20, f"{dtypes[0]}4" if dtypes[0] == "f" else "f8"), clustered(rng, 40, 20, dtypes[1])
    X[2900:] = X[:100]
    plain, celled = (NearestNeighbors(n_neighbors=7, metric=metric, algorithm=a).fit(X) for a in ("brute", "cells"))
    assert type(celled._scan._given) is Cells
    mask = rng.random(len(X)) < 0.3
    for rows, k, allowed in ((Q, 7, None), (Q[:1], 3, None), (None, 4, None), (Q, 5, mask)):
        assert_same(celled.kneighbors(rows, k, mask=allowed), plain.kneighbors(rows, k, mask=allowed))
    radius = float(np.median(plain.kneighbors(Q)[0][:, -1]))
    for one, other in zip(celled.radius_neighbors(Q, radius), plain.radius_neighbors(Q, radius)):
        assert_same(one, other)
    assert_same(pickle.loads(pickle.dumps(celled)).kneighbors(Q), plain.kneighbors(Q))


def test_rows_can_be_added_and_removed(rng):
    X, more, Q = (clustered(rng, n, 12) for n in (4000, 900, 30))
    labels = np.arange(4900) % 3
    plain, celled = (KNeighborsClassifier(5, algorithm=a).fit(X, labels[:4000]) for a in ("brute", "cells"))
    for rows in (slice(0, 10), slice(10, 900)):
        for model in (plain, celled):
            model.partial_fit(more[rows], labels[4000:][rows])
        assert_same(celled.kneighbors(Q), plain.kneighbors(Q))
    for gone in (np.arange(0, 4900, 7), np.arange(2000), np.arange(1500)):
        for model in (plain, celled):
            model.remove(gone)
        assert_same(celled.kneighbors(Q), plain.kneighbors(Q))
        np.testing.assert_array_equal(celled.predict(Q), plain.predict(Q))


def test_a_metric_that_codes_do_not_bound_by_norms_is_refused_in_one_sentence(rng):
    with pytest.raises(
        ValueError, match="algorithm is 'cells' and metric 'manhattan', for which there is no index; one of"
    ):
        NearestNeighbors(algorithm="cells", metric="manhattan").fit(rng.standard_normal((50, 3)))


def test_rows_too_wide_for_codes_are_scanned(rng):
    X = rng.standard_normal((20, 140_000), dtype=np.float32)
    model = NearestNeighbors(n_neighbors=1, algorithm="cells").fit(X)
    assert type(model._scan._given) is Scan
    assert model.kneighbors(X[3:4])[1] == [[3]]


def test_a_saved_index_answers_the_same_and_an_altered_one_without_a_crash(rng, tmp_path):
    X = clustered(rng, 900, 12, "float32")
    Q = np.concatenate([X[:9], 3 * rng.standard_normal((9, 12), dtype=np.float32)])
    model = NearestNeighbors(n_neighbors=4, algorithm="cells", n_jobs=1).fit(X)
    path = tmp_path / "cells.fclf"
    save(model, path)
    assert type(load(path)._scan._given) is Cells
    assert_same(load(path).kneighbors(Q), model.kneighbors(Q))
    whole = path.read_bytes()
    begin = whole.index(b"}]}", 24) // 64 * 64
    answered = 0
    for place in rng.integers(begin, len(whole), 400):
        altered = bytearray(whole)
        altered[place] ^= int(rng.integers(1, 256))
        path.write_bytes(altered)
        with np.errstate(all="ignore"):
            try:
                got = load(path)
                # a debug build ends the process at a distance that is NaN, so X is not changed there
                if _simd.build_info()["debug"] and not np.isfinite(got._scan.X).all():
                    continue
                for rows in (Q, Q[:1], Q[-1:]):
                    assert got.kneighbors(rows)[1].max() < len(X)
                answered += 1
            except ValueError:
                continue
    assert answered > 100


def forged(name, value):
    def change(index):
        array = getattr(index, name).copy()
        array[tuple(value[:-1])] = value[-1]
        setattr(index, name, array)

    return change


@pytest.mark.parametrize(
    "change",
    [
        forged("rows", [3, 901]),
        forged("rows", [3, -1]),
        forged("starts", [1, 0]),
        forged("starts", [-1, 10**9]),
        forged("starts", [0, 1]),
        lambda index: setattr(index, "first_key", index.first_key[:-1]),
        lambda index: setattr(index, "code", index.code[:-64]),
        lambda index: setattr(index, "half", index.half.astype(np.int64)),
        lambda index: setattr(index, "center_code", index.center_code[:-4]),
        lambda index: setattr(index, "center_square", index.center_square[:-1]),
        lambda index: setattr(index, "centers", index.centers[:-1]),
        lambda index: setattr(index, "last_key", index.last_key[1:]),
        lambda index: setattr(index, "cell_slack", index.cell_slack[1:]),
        lambda index: setattr(index, "rows", index.rows[:-256]),
        lambda index: setattr(index, "slack", index.slack[:-1]),
        lambda index: setattr(index, "plain", make(index.X[:-1])),
        lambda index: setattr(index, "plain", Scan(index.X, index.metric)),
    ],
)
def test_state_that_does_not_fit_together_is_refused(rng, change):
    index = make(clustered(rng, 900, 12, "float32"))
    check_state(index)
    change(index)
    with pytest.raises(ValueError, match=r"wanted|outside|do not ascend|not what a fit makes"):
        check_state(index)


def test_an_exported_search_is_that_of_the_filter(rng):
    from fastclf.embedding.forms import form_of

    model = NearestNeighbors(algorithm="cells").fit(clustered(rng, 900, 12))
    assert form_of(model).is_filter


@pytest.mark.parametrize("seed", range(6))
def test_the_steps_of_a_callback_add_up_to_the_total_where_queries_are_left_to_the_filter(seed):
    rng = np.random.default_rng(seed)
    X, Q = (rng.standard_t(2, (n, 7)).astype(np.float32) for n in (5155, 40))
    steps = []
    model = NearestNeighbors(n_neighbors=19, algorithm="cells", n_jobs=1, callback=lambda *call: steps.append(call[:2]))
    model.fit(X).kneighbors(Q)
    assert steps[-1] == (len(Q) * len(X),) * 2
