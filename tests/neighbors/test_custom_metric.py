"""Metrics passed by the user, compiled or with the triangle inequality, give the same answers as all pairs."""

import ctypes
import threading

import numpy as np
import pytest
import reference
from sklearn import base
from sklearn.model_selection import GridSearchCV

from fastclf import KNeighborsClassifier, NearestNeighbors, cross_validate
from fastclf._estimator import clone
from fastclf.neighbors import custom_metric, search

pytestmark = pytest.mark.once

DOUBLES = ctypes.POINTER(ctypes.c_double)
PLAIN = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES, ctypes.c_ssize_t)
FULL = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES, ctypes.c_ssize_t, ctypes.c_void_p)
SIGNATURE = "double (const double *query, const double *row, ptrdiff_t d, void *user_data)"


@PLAIN
def manhattan(q, x, d):
    return reference.distance(x[:d], q[:d], "manhattan")


@FULL
def scaled(q, x, d, user_data):
    return ctypes.cast(user_data, DOUBLES)[0] * reference.distance(x[:d], q[:d], "manhattan")


def capsule(function, name, user_data=None):
    api = ctypes.pythonapi
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    api.PyCapsule_SetContext.argtypes = [ctypes.py_object, ctypes.c_void_p]
    made = api.PyCapsule_New(ctypes.cast(function, ctypes.c_void_p), name, None)
    if user_data is not None:
        api.PyCapsule_SetContext(made, ctypes.cast(user_data, ctypes.c_void_p))
    return made


FACTOR = (ctypes.c_double * 1)(3.0)
NAME = SIGNATURE.encode()
PLAIN_NAME = b"double (double const *, double const *, Py_ssize_t)"  # Cython's spelling of the signature
COMPILED = {
    "ctypes": (manhattan, 1.0),
    "capsule": (capsule(manhattan, PLAIN_NAME), 1.0),
    "capsule with user_data": (capsule(scaled, NAME, FACTOR), 3.0),
}


def clusters(rng, n, d=4):
    return rng.standard_normal((12, d))[rng.integers(0, 12, n)] * 20 + rng.standard_normal((n, d))


def assert_same(got, want):
    for a, b in zip(got, want):
        if a.dtype == object:
            assert all(map(np.array_equal, a, b))
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("triangle", [False, True])
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_queries", [1, 12])
def test_a_compiled_metric_gives_what_the_textbook_does(rng, triangle, name, dtype, n_queries):
    metric, factor = COMPILED[name]
    X, Q = rng.standard_normal((80, 4)).astype(dtype), rng.standard_normal((n_queries, 4)).astype(dtype)
    D = factor * reference.distances(X, Q, "manhattan")
    model = NearestNeighbors(n_neighbors=5, metric=metric, metric_params={"triangle": triangle}).fit(X)
    assert_same(model.kneighbors(Q), reference.nearest(D, 5))
    radius = np.median(D)
    for found, far, row in zip(*model.radius_neighbors(Q, radius)[::-1], D):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= radius))
        np.testing.assert_array_equal(far, row[row <= radius])
    D = factor * reference.distances(X, X, "manhattan")
    assert_same(model.kneighbors(), reference.nearest(D, 5, own=np.arange(80)))


def test_scipys_low_level_callable_is_taken(rng):
    from scipy import LowLevelCallable

    X = rng.standard_normal((50, 3))
    expected = NearestNeighbors(metric="manhattan").fit(X).kneighbors()
    for function in (manhattan, capsule(manhattan, PLAIN_NAME)):
        assert_same(NearestNeighbors(metric=LowLevelCallable(function)).fit(X).kneighbors(), expected)


def test_a_numba_cfunc_is_called_from_threads_and_can_be_cloned(rng, monkeypatch):
    numba = pytest.importorskip("numba")
    numbers = numba.types.CPointer(numba.float64)

    @numba.cfunc(numba.float64(numbers, numbers, numba.intp))
    def metric(q, x, d):
        s = 0.0
        for j in range(d):
            s += abs(x[j] - q[j])
        return s

    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    monkeypatch.setattr(custom_metric, "_THREAD_WORK", 0)
    X, Q = rng.standard_normal((4000, 5)), rng.standard_normal((90, 5))
    expected = NearestNeighbors(metric="manhattan").fit(X)
    for triangle in (False, True):
        for n_jobs in (1, 3):
            model = NearestNeighbors(metric=metric, metric_params={"triangle": triangle}, n_jobs=n_jobs)
            model = clone(model).fit(X)
            assert_same(model.kneighbors(Q), expected.kneighbors(Q))
            assert_same(model.kneighbors(Q[:2]), expected.kneighbors(Q[:2]))
            assert_same(model.radius_neighbors(Q, 1.2), expected.radius_neighbors(Q, 1.2))
    floats = numba.types.CPointer(numba.float32)
    wrong = numba.cfunc(numba.float64(floats, numbers, numba.intp))(lambda q, x, d: 0.0)
    with pytest.raises(TypeError, match=r"metric is a compiled function c_double \(.*c_float.*is wanted"):
        NearestNeighbors(metric=wrong).fit(X)


def test_a_compiled_metric_goes_through_cross_validations_and_searches(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0] > 0
    models = [KNeighborsClassifier(metric=metric) for metric in (manhattan, "manhattan")]
    assert base.clone(models[0]).metric is manhattan
    searches = [GridSearchCV(model, {"n_neighbors": [1, 3]}, cv=3).fit(X, y) for model in models]
    np.testing.assert_array_equal(*(search.cv_results_["mean_test_score"] for search in searches))
    np.testing.assert_array_equal(*(cross_validate(model, X, y, cv=3)["test_score"] for model in models))


def test_a_compiled_metric_is_called_from_several_threads(rng, monkeypatch):
    monkeypatch.setattr(search, "_THREAD_WORK", 0)
    monkeypatch.setattr(custom_metric, "_THREAD_WORK", 0)
    seen, together = set(), threading.Barrier(2, timeout=20)

    @PLAIN
    def metric(q, x, d):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            together.wait()
        return abs(q[0] - x[0])

    X = rng.standard_normal((1000, 1))
    model = NearestNeighbors(metric=metric, n_jobs=2).fit(X)
    assert_same(model.kneighbors(X[:2]), NearestNeighbors(metric="manhattan").fit(X).kneighbors(X[:2]))
    assert len(seen) == 2


class Counting:
    """The Euclidean distance, with a count of its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, q, x):
        self.calls += 1
        return float(np.sqrt(((q - x) ** 2).sum()))


@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_triangle_inequality_spares_most_calls_on_clusters(rng, k):
    X, Q = clusters(rng, 2000), clusters(rng, 20)
    metric, every = Counting(), Counting()
    model = NearestNeighbors(n_neighbors=k, metric=metric, metric_params={"triangle": True}).fit(X)
    assert metric.calls == 16 * len(X)
    metric.calls = 0
    got = model.kneighbors(Q)
    assert_same(got, NearestNeighbors(n_neighbors=k, metric=every).fit(X).kneighbors(Q))
    assert every.calls == len(X) * len(Q)
    assert metric.calls < every.calls / 8
    metric.calls = 0
    found = model.radius_neighbors(Q, 1.0)
    assert_same(found, NearestNeighbors(metric=every).fit(X).radius_neighbors(Q, 1.0))
    assert metric.calls < every.calls / 8


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_rows_at_the_same_distance_are_not_pruned(rng, offset):
    X = rng.integers(0, 3, (300, 3)) + offset
    Q = rng.integers(0, 3, (20, 3)) + offset
    D = reference.distances(X, Q)
    model = NearestNeighbors(n_neighbors=7, metric=Counting(), metric_params={"triangle": True}).fit(X)
    assert_same(model.kneighbors(Q), reference.nearest(D, 7))
    for found, row in zip(model.radius_neighbors(Q, 1.0)[1], D):
        np.testing.assert_array_equal(found, np.flatnonzero(row <= 1))


def test_few_rows_equal_rows_and_infinite_distances_are_answered():
    params = {"metric": Counting(), "metric_params": {"triangle": True}}
    assert NearestNeighbors(n_neighbors=3, **params).fit([[1.0]] * 30).kneighbors()[1][:2].tolist() == [
        [1, 2, 3],
        [0, 2, 3],
    ]
    assert NearestNeighbors(n_neighbors=1, **params).fit([[1.0]]).kneighbors([[3.0]])[0] == 2

    def discrete(q, x):
        return 0.0 if q[0] == x[0] else np.inf

    model = NearestNeighbors(n_neighbors=4, metric=discrete, metric_params={"triangle": True}).fit(
        np.arange(40.0)[:, None]
    )
    assert model.kneighbors([[7.0]])[1].tolist() == [[7, 0, 1, 2]]
    assert model.radius_neighbors([[7.0]], 1e9)[1][0].tolist() == [7]


@pytest.mark.parametrize("metric", [manhattan, Counting()])
@pytest.mark.parametrize("triangle", [False, True])
def test_rows_of_weight_zero_are_not_found(rng, metric, triangle):
    X, weight = rng.standard_normal((60, 3)), np.arange(60) % 2
    name = "manhattan" if metric is manhattan else "euclidean"
    model = KNeighborsClassifier(4, metric=metric, metric_params={"triangle": triangle}).fit(X, weight, weight)
    expected = reference.nearest(reference.distances(X, X, name), 4, allowed=weight > 0)[1]
    np.testing.assert_array_equal(model.kneighbors(X)[1], expected)


@pytest.mark.parametrize("triangle", [False, True])
@pytest.mark.parametrize("metric", [manhattan, Counting()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_come_and_go_and_are_masked(rng, metric, triangle, dtype):
    X = rng.integers(0, 6, (300, 2)).astype("float64")
    params = {"n_neighbors": 6, "radius": 1.0}
    model = NearestNeighbors(metric=metric, metric_params={"triangle": triangle}, **params)
    model.fit(X[:80].astype(dtype)).partial_fit(X[80:200])
    for start in range(200, 300, 10):
        model.partial_fit(X[start : start + 10])
    gone = rng.random(300) < 0.3
    gone[[-1, -2]] = True, False
    model.remove(gone)
    if metric is manhattan or dtype == "float64":
        assert len(model._scan._parts()) == 3
    X = X[~gone]
    fresh = NearestNeighbors(metric="manhattan" if metric is manhattan else "euclidean", **params).fit(X)
    mask = rng.random(len(X)) < 0.1
    Q = rng.integers(0, 6, (9, 2)) + 0.5
    for queries, limits in ((Q, {}), (None, {}), (Q, {"mask": mask}), (None, {"mask": mask})):
        assert_same(model.kneighbors(queries, **limits), fresh.kneighbors(queries, **limits))
        assert_same(model.radius_neighbors(queries, **limits), fresh.radius_neighbors(queries, **limits))
    assert_same(model.kneighbors(n_neighbors=len(X) - 1), fresh.kneighbors(n_neighbors=len(X) - 1))


def test_added_rows_are_measured_from_pivots_only_as_often_as_their_buffer_moves(rng):
    metric = Counting()
    model = NearestNeighbors(metric=metric, metric_params={"triangle": True}).fit(clusters(rng, 100))
    model.partial_fit(clusters(rng, 200))
    metric.calls = 0
    for row in clusters(rng, 50):
        model.partial_fit(row[None])
    assert metric.calls == 0


def test_brute_force_measures_all_rows(rng):
    X, metric = clusters(rng, 200), Counting()
    model = NearestNeighbors(metric=metric, metric_params={"triangle": True}, algorithm="brute").fit(X)
    assert metric.calls == 0
    model.kneighbors(X[:3])
    assert metric.calls == 600


def test_the_least_memory_gives_the_same_answers(rng):
    X = rng.standard_normal((200, 3))
    for triangle in (False, True):
        params = {"metric": manhattan, "metric_params": {"triangle": triangle}}
        model = NearestNeighbors(working_memory=1e-9, n_jobs=2, **params).fit(X)
        assert_same(model.kneighbors(X[:9]), NearestNeighbors(metric="manhattan").fit(X).kneighbors(X[:9]))


def test_a_callback_can_stop_a_search(rng):
    X = rng.standard_normal((200, 3))
    for triangle in (False, True):
        params = {"metric": manhattan, "metric_params": {"triangle": triangle}, "callback": lambda *step: True}
        with pytest.raises(RuntimeError, match="stopped by callback"):
            NearestNeighbors(**params).fit(X).kneighbors(X)


def test_an_error_in_a_function_is_raised_as_it_is(rng):
    def metric(q, x):
        raise TypeError("of the function's own")

    for triangle in (False, True):
        with pytest.raises(TypeError, match="of the function's own"):
            NearestNeighbors(metric=metric, metric_params={"triangle": triangle}).fit(rng.random((9, 2))).kneighbors()


@PLAIN
def nan_at_seven(q, x, d):
    return float("nan") if x[0] == 7 else 0.0


@PLAIN
def below_zero(q, x, d):
    return -1.0 if x[0] == 7 else 0.001


BAD = {
    "nan": (
        lambda X: NearestNeighbors(metric=nan_at_seven).fit(X).kneighbors(X[:3]),
        "gives no number for query 0 and row 7; a number is wanted",
    ),
    "nan in a radius": (
        lambda X: NearestNeighbors(metric=nan_at_seven).fit(X).radius_neighbors(X[:3], 9.0),
        "gives no number for query 0 and row 7; a number is wanted",
    ),
    "nan in fit": (
        lambda X: NearestNeighbors(metric=nan_at_seven, metric_params={"triangle": True}).fit(X),
        "gives no number for row 0 of X and row 7; a number is wanted",
    ),
    "negative where votes are 1 / distance": (
        lambda X: KNeighborsClassifier(4, metric=below_zero, weights="distance").fit(X, X[:, 0] > 2).predict(X[:3]),
        "metric gives -1 for a query and its nearest row; distances from 0 up are wanted with weights='distance'",
    ),
    "name": (
        lambda X: NearestNeighbors(metric=capsule(manhattan, b"float (float *, float *)")).fit(X),
        r"metric is a PyCapsule named 'float \(float \*, float \*\)'; the signature 'double \(const double",
    ),
    "argument": (
        lambda X: NearestNeighbors(metric=capsule(manhattan, b"double (double *, double *, int)")).fit(X),
        "metric is a PyCapsule named",
    ),
    "result": (
        lambda X: NearestNeighbors(metric=ctypes.CFUNCTYPE(ctypes.c_int, DOUBLES)(abs)).fit(X),
        r"metric is a compiled function c_int \(LP_c_double\); double \(const double",
    ),
    "keywords": (
        lambda X: NearestNeighbors(metric=manhattan, metric_params={"p": 1}).fit(X),
        r"metric_params has \['p'\]",
    ),
    "triangle": (
        lambda X: NearestNeighbors(metric=max, metric_params={"triangle": "yes"}).fit(X),
        r"metric_params\['triangle'\] is 'yes'; True or False is wanted",
    ),
    "triangle elsewhere": (
        lambda X: NearestNeighbors(metric="cosine", metric_params={"triangle": True}).fit(X),
        r"metric_params has \['triangle'\], which metric='cosine' does not take",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(np.arange(20.0)[:, None])
    assert "\n" not in str(caught.value)
