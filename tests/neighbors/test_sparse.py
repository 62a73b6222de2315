"""Sparse rows: the answers for the same rows made dense, to the last bit."""

import ctypes
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
import reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from test_neighbors import HOSTILE, peak_memory

from fastclf import KNeighborsClassifier, KNeighborsDensity, NearestNeighbors, _csr, _simd, load, save
from fastclf._csr import as_csr
from fastclf.neighbors import inverted_index, search

pytestmark = pytest.mark.levels

METRICS = ["euclidean", "sqeuclidean", "manhattan", "cosine", "dot"]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def rows(rng, n, d, density=0.3, dtype=np.float64):
    X = rng.standard_normal((n, d)).round(1) + 0.05
    return (X * (rng.random((n, d)) < density)).astype(dtype)


def assert_exact(X, Q, k, metric, model=None, queries=None):
    model = model or NearestNeighbors(n_neighbors=k, metric=metric).fit(sparse.csr_matrix(X))
    distances, indices = model.kneighbors(sparse.csr_matrix(Q) if queries is None else queries)
    expected = reference.nearest(reference.distances(X, Q, metric), k)
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtypes", ["ff", "fd", "df", "dd"])
@pytest.mark.parametrize("n_queries", [1, 9])
def test_answers_equal_the_textbook_loop_to_the_last_bit(rng, metric, dtypes, n_queries):
    X, Q = rows(rng, 150, 20, dtype=dtypes[0]), rows(rng, n_queries, 20, dtype=dtypes[1])
    X[3] = Q[0] = 0
    assert_exact(X, Q, 7, metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_queries", [1, 8])
def test_dense_with_sparse_and_sparse_with_dense_are_exact(rng, metric, dtype, n_queries):
    X, Q = rows(rng, 120, 15, dtype=dtype), rows(rng, n_queries, 15, dtype=dtype)
    assert_exact(X, Q, 7, metric, queries=Q)
    assert_exact(X, Q, 7, metric, NearestNeighbors(n_neighbors=7, metric=metric).fit(X))


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_taken(rng, kind, form):
    X, Q = rows(rng, 40, 12), rows(rng, 5, 12)
    make = getattr(sparse, f"{form}_{kind}")
    assert_exact(X, Q, 4, "euclidean", NearestNeighbors(n_neighbors=4).fit(make(X)), make(Q))


@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.uint8, np.longdouble])
def test_every_real_type_is_taken(rng, kind):
    X, Q = rng.integers(0, 2, (30, 9)), rng.integers(0, 2, (4, 9))
    assert_exact(X, Q, 4, "euclidean", NearestNeighbors(n_neighbors=4).fit(sparse.csr_array(X.astype(kind))))


def test_the_length_of_a_column_is_the_number_of_its_entries(rng, monkeypatch):
    monkeypatch.setattr(_csr, "_CHECK_ENTRIES", 7)
    X = sparse.random_array((40, 30), density=0.1, rng=rng, format="csr")
    for part in slice(None), slice(10, 25), slice(0, 0):
        found = as_csr(X, "test")[part].column_lengths()
        np.testing.assert_array_equal(found, (X.toarray()[part] != 0).sum(axis=0))


def test_many_unsorted_entries_are_put_in_order_in_pieces(rng):
    X = sparse.random_array((3000, 40), density=0.6, format="csr", rng=rng)
    assert X.nnz > _csr._SORT_ENTRIES
    turned = sparse.csr_array((X.data[::-1], X.indices[::-1], X.nnz - X.indptr[::-1]), X.shape)
    wanted, came = as_csr(X[::-1], "N"), as_csr(turned, "N")
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(came, name), getattr(wanted, name))


@pytest.mark.parametrize("d", [1, 50, 2**31 - 1, 2**45])
def test_entries_in_any_order_become_ascending_and_equal_places_are_added_in_order(rng, d):
    length = np.append(rng.integers(0, 40, 30), 1)
    indptr = np.concatenate([[0], np.cumsum(length)])
    places = rng.integers(0, d, indptr[-1] // 2 + 1)
    X = _csr.Csr(indptr, rng.choice(places, indptr[-1]), rng.standard_normal(indptr[-1]), d)
    wanted = []
    for first, last in pairwise(indptr):
        sums = {}
        for column, value in zip(X.indices[first:last].tolist(), X.data[first:last].tolist()):
            sums[column] = sums.get(column, 0.0) + value
        wanted.append(sorted(sums.items()))
    came = _csr._summed(X)
    for row, (first, last) in zip(wanted, pairwise(came.indptr)):
        assert row == list(zip(came.indices[first:last].tolist(), came.data[first:last].tolist()))


def test_64_bit_indices_unsorted_columns_duplicates_and_stored_zeros_are_taken(rng):
    X, Q = rows(rng, 40, 12), rows(rng, 5, 12)
    row, column = np.nonzero(X)
    value = X[row, column]
    order = rng.permutation(2 * len(row) + 20)
    # each value is stored as two entries, each half of the value, among some explicit zeros
    row = np.concatenate([row, row, rng.integers(0, 40, 20)])[order]
    column = np.concatenate([column, column, rng.integers(0, 12, 20)])[order]
    value = np.concatenate([value / 2, value / 2, np.zeros(20)])[order]
    by_row = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=40))])
    for kind in (np.int32, np.int64):
        messy = sparse.csr_matrix((40, 12))
        messy.data, messy.indices, messy.indptr = value[by_row], column[by_row].astype(kind), indptr.astype(kind)
        before = messy.indices.copy()
        for metric in METRICS:
            assert_exact(X, Q, 6, metric, NearestNeighbors(n_neighbors=6, metric=metric).fit(messy))
        np.testing.assert_array_equal(messy.indices, before)


def test_rows_are_kept_by_reference(rng):
    X = sparse.csr_matrix(rows(rng, 40, 12))
    assert np.shares_memory(NearestNeighbors().fit(X)._scan.X.data, X.data)


@pairwise_grid(name=HOSTILE, metric=METRICS, dtype=["float32", "float64"])
def test_hostile_scales_are_exact(rng, name, metric, dtype):
    factor, offset = HOSTILE[name]
    if metric == "dot" and dtype == "float32" and name == "largest float32":
        return  # both sparse and dense rows are refused
    X = ((rng.uniform(-3, 3, (150, 12)) * factor + offset) * (rng.random((150, 12)) < 0.4)).astype(dtype)
    assert_exact(X, np.concatenate([X[:5], X[-4:] * np.dtype(dtype).type(1.0001)]), 5, metric)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-160, 1e150, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan"])
def test_the_ends_of_float64_are_exact(rng, metric, scale):
    X = rng.integers(-9, 9, (90, 6)) * scale
    with np.errstate(over="ignore"):
        assert_exact(X, rng.integers(-9, 9, (8, 6)) * scale, 4, metric)
        assert_exact(X, rng.integers(-9, 9, (8, 6)) * 1.0, 4, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_and_queries_of_zeros_are_answered(metric):
    empty = sparse.csr_matrix((30, 4))
    model = NearestNeighbors(n_neighbors=3, metric=metric).fit(empty)
    distances, indices = model.kneighbors(empty[:5])
    assert (indices == [0, 1, 2]).all()
    assert (distances == (1 if metric == "cosine" else 0)).all()
    assert_exact(np.zeros((30, 4)), np.eye(4), 3, metric, model)


nasty = st.sampled_from([0.0, 0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e-23, 1e19, -3e37, 0.1, 6e6, 6000000.5])


@given(
    st.integers(1, 50), st.integers(1, 9), st.integers(1, 9), st.sampled_from(METRICS), st.sampled_from("fd"), st.data()
)
def test_nasty_values_are_exact(n, d, n_queries, metric, dtype, data):
    if metric in ("cosine", "dot"):
        values = st.sampled_from([0.0, 1.0, -1.0, 1e-30, 3e19, 0.1, 6000000.5])
    else:
        values = st.one_of(nasty, st.floats(-4, 4, width=32))
    draw = st.lists(values, min_size=d, max_size=d)
    pool = np.array(data.draw(st.lists(draw, min_size=1, max_size=6)), dtype=dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X, Q = (pool[rng.integers(0, len(pool), size)] for size in (n, n_queries))
    assert_exact(X, Q, rng.integers(1, n + 1), metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_batches_memory_and_levels_change_no_bit(rng, metric, dtype, monkeypatch):
    # X has more rows than a panel, the block of rows that a kernel screens at a time
    X = sparse.random_array((20_000, 60), density=0.1, rng=rng, format="csr", dtype=np.dtype(dtype))
    Q = sparse.random_array((80, 60), density=0.1, rng=rng, format="csr", dtype=np.dtype(dtype))
    model = NearestNeighbors(n_neighbors=6, metric=metric, n_jobs=1).fit(X)
    expected = NearestNeighbors(n_neighbors=6, metric=metric).fit(X.toarray()).kneighbors(Q.toarray())
    radius = expected[0].max()
    within = model.radius_neighbors(Q, radius)
    D = reference.distances(X[:300].toarray(), Q[:4].toarray(), metric)
    for found, far, row in zip(within[1], within[0], D):
        np.testing.assert_array_equal(found[found < 300], np.flatnonzero(row <= radius))
        np.testing.assert_array_equal(far[found < 300], row[row <= radius])

    def assert_same():
        for got, want in zip(model.kneighbors(Q), expected):
            np.testing.assert_array_equal(got, want)
        for got, want in zip(zip(*(model.kneighbors(Q[i : i + 1]) for i in range(9))), expected):
            np.testing.assert_array_equal(np.concatenate(got), want[:9])
        for got, want in zip(model.radius_neighbors(Q, radius), within):
            assert all(map(np.array_equal, got, want))

    assert_same()
    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    for params in ({"n_jobs": 3}, {"n_jobs": 2, "working_memory": 1}):
        model.set_params(**params)
        assert_same()
    for level in _simd.available():
        monkeypatch.setattr(inverted_index, "kernels", _simd.load("neighbors._inverted_scan", level))
        assert_same()


@pytest.mark.parametrize("metric", METRICS)
def test_each_row_leaves_itself_out_and_weight_zero_is_a_missing_row(rng, metric):
    X, y = rows(rng, 120, 9), np.arange(120) % 3
    D = reference.distances(X, X, metric)
    X = sparse.csr_matrix(X)
    for got, want in zip(
        NearestNeighbors(n_neighbors=4, metric=metric).fit(X).kneighbors(),
        reference.nearest(D, 4, own=np.arange(120)),
    ):
        np.testing.assert_array_equal(got, want)
    weight = (np.arange(120) % 2).astype(float)
    model = KNeighborsClassifier(4, metric=metric).fit(X, y, weight)
    expected = reference.nearest(D, 4, allowed=weight > 0)[1]
    np.testing.assert_array_equal(model.kneighbors(X, return_distance=False), expected)


def test_fractions_of_weights_and_densities_are_those_of_dense_rows(rng):
    X, y = rows(rng, 120, 9), np.arange(120) % 3
    weight = rng.choice([0.0, 0.05, 0.3, 1.7], 120)
    for model in (KNeighborsClassifier(5), KNeighborsDensity(5)):
        answer = "predict_proba" if hasattr(model, "predict_proba") else "score_samples"
        expected = getattr(model.fit(X, y, weight), answer)(X[:40])
        got = getattr(model.fit(sparse.csr_array(X), y, weight), answer)(sparse.csr_array(X[:40]))
        np.testing.assert_array_equal(got, expected)


def test_neighbours_are_scikit_learns(rng):
    from sklearn.neighbors import NearestNeighbors as Peer

    X = sparse.random_array((3000, 200), density=0.05, rng=rng, format="csr")
    Q = sparse.random_array((50, 200), density=0.05, rng=rng, format="csr")
    for metric in ("euclidean", "manhattan", "cosine"):
        ours = NearestNeighbors(metric=metric).fit(X).kneighbors(Q)
        theirs = Peer(metric=metric, algorithm="brute").fit(X).kneighbors(Q)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-9, err_msg=metric)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_is_bounded_and_nothing_is_made_dense(rng, n_jobs):
    X = sparse.random_array((20_000, 10_000), density=0.002, rng=rng, format="csr")
    Q = X[:3000]
    NearestNeighbors().fit(X[:10]).kneighbors(X[:3])
    model = NearestNeighbors(working_memory=4, n_jobs=n_jobs)
    used, _ = peak_memory(lambda: model.fit(X))
    columns = 12 * X.nnz + 8 * sum(X.shape) + 16 * len(X.indptr)
    assert used < columns + 5 * inverted_index._ENTRIES * 8
    assert used < X.shape[0] * X.shape[1] / 4
    used, result = peak_memory(lambda: model.kneighbors(Q))
    assert used < 4e6 + sum(part.nbytes for part in result) + 1e6


@pytest.mark.parametrize("metric", METRICS)
def test_an_altered_file_is_refused_or_answers_without_a_crash(rng, metric, tmp_path):
    X = sparse.random_array((120, 9), density=0.3, rng=rng, format="csr", dtype=np.float32)
    model = NearestNeighbors(n_neighbors=4, metric=metric, radius=0.6, n_jobs=1).fit(X)
    path = tmp_path / "sparse.fclf"
    save(model, path)
    whole = path.read_bytes()
    begin = whole.index(b"}]}", 24) // 64 * 64
    answered = 0
    for place in rng.integers(begin, len(whole), 150):
        altered = bytearray(whole)
        altered[place] ^= int(rng.integers(1, 256))
        path.write_bytes(altered)
        try:
            got = load(path)
        except ValueError:
            continue
        before, after = model._scan._given, got._scan._given
        unchanged = np.array_equal(after.X.data, before.X.data)
        unchanged &= metric != "cosine" or np.array_equal(after.metric.norm2, before.metric.norm2)
        if _simd.build_info()["debug"] and not unchanged:
            continue  # a debug build ends the process at a distance that is NaN
        answered += 1
        with np.errstate(all="ignore"), suppress(ValueError):
            assert got.kneighbors(X[:9])[1].max() < 120
            assert got.kneighbors()[1].max() < 120
            assert all(found.max(initial=0) < 120 for found in got.radius_neighbors(X[:3])[1])
    assert answered > 15


def broken(X, **parts):
    X = sparse.csr_matrix(X)
    for name, value in parts.items():
        setattr(X, name, value)
    return X


POINTER = ctypes.POINTER(ctypes.c_double)
LOWEST = ctypes.CFUNCTYPE(ctypes.c_double, POINTER, POINTER, ctypes.c_ssize_t)(lambda query, row, d: 0.0)

BAD = {
    "metric": (
        lambda X: NearestNeighbors(metric="chebyshev").fit(sparse.csr_matrix(X)),
        "X is a sparse matrix; one of",
    ),
    "p": (lambda X: NearestNeighbors(p=3).fit(sparse.csr_matrix(X)), "one of cosine, dot, euclidean, manhattan"),
    "compiled": (lambda X: NearestNeighbors(metric=LOWEST).fit(sparse.csr_matrix(X)), "X is a sparse matrix; a"),
    "jaccard": (lambda X: NearestNeighbors(metric="jaccard").fit(sparse.csr_matrix(X)), "X is a sparse matrix"),
    "nan": (
        lambda X: NearestNeighbors().fit(broken(X, data=np.array([1.0, 2.0, 3.0, np.nan]))),
        r"Input X contains NaN \(row 2, column 1\)",
    ),
    "infinite sum": (
        lambda X: NearestNeighbors().fit(sparse.coo_array(([1e308] * 2, ([0, 0], [1, 1])), shape=(9, 3))),
        "contains infinity",
    ),
    "column": (
        lambda X: NearestNeighbors().fit(broken(X, indices=np.array([0, 1, 2, 3]))),
        r"X.indices has 3; columns from 0 to 2",
    ),
    "negative column": (
        lambda X: NearestNeighbors().fit(broken(X, indices=np.array([0, 1, -1, 1]))),
        r"X.indices has -1; columns from 0 to 2",
    ),
    "descending": (
        lambda X: NearestNeighbors().fit(broken(X, indptr=np.array([0, 3, 2, 4]))),
        "X.indptr is not that of a CSR matrix",
    ),
    "too long": (
        lambda X: NearestNeighbors().fit(broken(X, indptr=np.array([0, 1, 2, 9]))),
        "X.indptr is not that of a CSR matrix",
    ),
    "data": (lambda X: NearestNeighbors().fit(broken(X, data=np.ones(3))), "X.data has 3 entries; 4, as"),
    "complex": (lambda X: NearestNeighbors().fit(sparse.csr_matrix(X * 1j)), "Complex data not supported"),
    "no rows": (lambda X: NearestNeighbors().fit(sparse.csr_matrix((0, 3))), r"Found array with 0 sample\(s\)"),
    "features": (
        lambda X: NearestNeighbors(n_neighbors=1).fit(sparse.csr_matrix(X)).kneighbors(sparse.csr_matrix((2, 4))),
        "X has 4 features, but NearestNeighbors is expecting 3",
    ),
    "norm": (
        lambda X: NearestNeighbors(metric="cosine").fit(sparse.csr_matrix(X * 1e200)),
        "row 0 of X has a squared norm of inf; for metric='cosine'",
    ),
    "callable and queries": (
        lambda X: NearestNeighbors(n_neighbors=1, metric=max).fit(X).kneighbors(sparse.csr_matrix(X)),
        "X is a sparse matrix; a dense array is wanted",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(name):
    call, sentence = BAD[name]
    with np.errstate(over="ignore"), pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(np.array([[1.0, 0, 0], [0, 2, 3], [0, 4, 0]]))
    assert "\n" not in str(caught.value)
