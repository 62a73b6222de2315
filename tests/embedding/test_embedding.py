"""Models behind raw pointers: compiled code gets the same results as the estimator's methods."""

import ctypes
import doctest
import gc
import re
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
from conftest import CHECKOUT, pairwise_grid

import fastclf
import fastclf.table
from fastclf import capi
from fastclf.embedding.handles import functions

pytestmark = pytest.mark.levels

OK, BAD_MODEL, BAD_SIZE, BAD_VALUE = range(4)
FLOATS = {np.float64: "d", np.float32: "f"}


def call(name, embedded, rows, *outputs, k=None):
    """Call a function of a model by ctypes; returns its status. The bytes after the scratch space must not change."""
    rows = np.ascontiguousarray(rows)
    n = len(rows)
    size = embedded.scratch_size(n, k or 1)
    scratch = np.full(size + 64, 171, np.uint8)
    function = functions()[f"{name}_{FLOATS[rows.dtype.type]}"].ctypes
    sizes = [n] if k is None else [n, k]
    more = [] if name == "apply" else [scratch.ctypes]
    status = function(embedded.address, rows.ctypes, *sizes, *(output.ctypes for output in outputs), *more)
    assert (scratch[size:] == 171).all()
    return status


def nearest(embedded, queries, k):
    distance, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.intp)
    assert call("nearest", embedded, queries, distance, index, k=k) == OK
    return distance, index


def scores(name, embedded, rows):
    out = np.empty((len(rows), embedded.n_outputs))
    assert call(name, embedded, rows, out) == OK
    return out


def labels(embedded, rows):
    code = np.empty(len(rows), np.intp)
    assert call("classify", embedded, rows, code) == OK
    return embedded.classes[code]


def check_neighbors(model, queries, k):
    embedded = fastclf.embed(model)
    for dtype in FLOATS:
        asked = queries.astype(dtype)
        for part in (asked, asked[:1]):
            distance, index = nearest(embedded, part, k)
            expected = model.kneighbors(part, n_neighbors=k)
            assert np.array_equal(distance, expected[0])
            assert np.array_equal(index, expected[1])


METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "hamming", "cosine", "dot", ("minkowski", 3)]


@pairwise_grid(dtype=FLOATS, metric=METRICS, d=[1, 7, 40])
def test_nearest_is_kneighbors_to_the_last_bit_for_every_metric(rng, metric, dtype, d):
    metric, p = metric if isinstance(metric, tuple) else (metric, 2)
    X = rng.integers(-3, 4, (300, d)).astype(dtype) / 3
    queries = np.concatenate([rng.standard_normal((37, d)), X[:3], np.zeros((1, d))])
    model = fastclf.NearestNeighbors(metric=metric, p=p, algorithm="brute").fit(X)
    check_neighbors(model, queries, 1)
    check_neighbors(model, queries, 9)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine", "dot"])
def test_nearest_through_a_filter_is_kneighbors(rng, metric, dtype):
    X = (rng.standard_normal((3000, 6)) @ rng.standard_normal((6, 40)) + 3).astype(dtype)
    queries = np.concatenate([X[:30] + 0.01, rng.standard_normal((5, 40))])
    if metric == "dot":
        queries[3] = 0
    model = fastclf.NearestNeighbors(metric=metric, algorithm="filter").fit(X)
    check_neighbors(model, queries, 5)
    check_neighbors(model, queries[:2], 200)  # for so many neighbours the search does not use the filter's codes


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", ("minkowski", 1.5)], ids=str)
def test_nearest_through_a_tree_is_kneighbors(rng, metric, dtype):
    metric, p = metric if isinstance(metric, tuple) else (metric, 2)
    X = rng.standard_normal((2000, 3)).round(1).astype(dtype)
    model = fastclf.NearestNeighbors(metric=metric, p=p, algorithm="tree").fit(X)
    check_neighbors(model, rng.standard_normal((70, 3)), 4)
    check_neighbors(model, rng.standard_normal((3, 3)), 50)


def test_a_filter_that_does_not_pay_falls_back_to_a_scan(rng):
    X = rng.standard_normal((4096, 64))
    model = fastclf.NearestNeighbors(algorithm="filter").fit(X)
    check_neighbors(model, 50 * rng.standard_normal((40, 64)), 10)


def test_rows_that_were_added_removed_or_weigh_nothing_are_found_as_the_estimator_finds_them(rng):
    X = rng.standard_normal((400, 5))
    model = fastclf.NearestNeighbors().fit(X).partial_fit(X[:50] + 0.1).remove([3, 420])
    check_neighbors(model, rng.standard_normal((20, 5)), 6)
    weight = (np.arange(400) % 3 > 0).astype(float)
    model = fastclf.KNeighborsRegressor().fit(X, X[:, 0], weight)
    check_neighbors(model, X[:20], 6)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("d", [1, 6, 67])
@pytest.mark.parametrize("dtype", FLOATS)
def test_linear_scores_are_those_of_decision_function(rng, n_classes, d, dtype):
    X, y = rng.standard_normal((210, d)).astype(dtype), np.arange(210) % n_classes
    linear = fastclf.LogisticRegression(), fastclf.LinearSVC(), fastclf.LeastSquaresClassifier()
    for model in (*linear, fastclf.Perceptron(random_state=0)):
        model.fit(X, y)
        embedded = fastclf.embed(model)
        found = scores("decide", embedded, X)
        expected = model.decision_function(X).reshape(len(X), -1)
        # a row that is passed alone gets the same bits as four rows that are scored together
        assert np.array_equal(found, expected)
        assert np.array_equal(scores("decide", embedded, X[:1]), expected[:1])
        assert np.array_equal(labels(embedded, X), model.predict(X))


def counts(rng):
    return rng.poisson([0.5, 2, 0, 5], (120, 4)).astype(float)


BAYES = {
    "gaussian": (fastclf.GaussianNB(), lambda rng: rng.standard_normal((120, 9))),
    "multinomial": (fastclf.MultinomialNB(), counts),
    "multinomial without smoothing": (fastclf.MultinomialNB(alpha=0), counts),
    "complement": (fastclf.ComplementNB(), counts),
    "complement, normed": (fastclf.ComplementNB(norm=True), counts),
    "bernoulli": (fastclf.BernoulliNB(), counts),
    "bernoulli without smoothing": (fastclf.BernoulliNB(alpha=0, binarize=0.5), counts),
    "bernoulli of ones": (fastclf.BernoulliNB(binarize=None), lambda rng: (counts(rng) > 1).astype(float)),
    "poisson": (fastclf.PoissonNB(), counts),
    "categorical": (fastclf.CategoricalNB(), counts),
}


@pytest.mark.parametrize("name", BAYES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_log_probabilities_are_those_of_naive_bayes(rng, name, dtype):
    model, make = BAYES[name]
    X = make(rng).astype(dtype)
    y = np.array(["a", "b", "c"])[np.arange(120) % 3]
    X[y == "b", 1] += 1
    model.fit(X[:90], y[:90])
    embedded = fastclf.embed(model)
    for rows in (X, X[-1:]):
        assert np.array_equal(scores("log_joint", embedded, rows), model.predict_joint_log_proba(rows))
        assert np.array_equal(scores("log_proba", embedded, rows), model.predict_log_proba(rows))
        assert np.array_equal(scores("proba", embedded, rows), model.predict_proba(rows))
        assert np.array_equal(labels(embedded, rows), model.predict(rows))


@pytest.mark.parametrize("dtype", FLOATS)
def test_leaves_classes_and_means_are_those_of_trees(rng, dtype):
    X = rng.standard_normal((500, 4)).round(1).astype(dtype)
    classifier = fastclf.DecisionTreeClassifier(max_leaf_nodes=40).fit(X, (X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 1))
    regressor = fastclf.DecisionTreeRegressor(max_depth=6).fit(X, X @ [1, -1, 2, 0.5])
    queries = rng.standard_normal((200, 4)).round(1).astype(dtype)
    for model in (classifier, regressor):
        embedded = fastclf.embed(model)
        for rows in (queries, queries[:1]):
            leaf = np.empty(len(rows), np.int64)
            assert call("apply", embedded, rows, leaf) == OK
            assert np.array_equal(leaf, model.apply(rows))
    embedded = fastclf.embed(classifier)
    assert np.array_equal(labels(embedded, queries), classifier.predict(queries))
    assert np.array_equal(scores("proba", embedded, queries), classifier.predict_proba(queries))
    found = np.empty(len(queries))
    assert call("estimate", fastclf.embed(regressor), queries, found) == OK
    assert np.array_equal(found, regressor.predict(queries))


@pytest.mark.parametrize("dtype", FLOATS)
def test_trees_send_what_is_missing_and_categories_where_the_estimator_does(rng, dtype):
    X = rng.standard_normal((500, 4)).round(1).astype(dtype)
    X[:, 0] = rng.integers(0, 70, 500)  # all 70 categories occur, so that each equals its code
    X[:, 3] = np.where(rng.random(500) < 0.3, np.nan, X[:, 3])
    y = (X[:, 0] % 3 == 1) + 2 * (np.nan_to_num(X[:, 3], nan=2) > 0.5)
    model = fastclf.DecisionTreeClassifier(max_depth=6, categorical_features=[0]).fit(X, y)
    assert np.array_equal(model.categories_[0], np.arange(70))
    queries = X[::2].copy()
    queries[::7, 0] = [np.nan] + [1e9] * (len(queries[::7]) - 1)
    queries[::5, 2] = np.nan
    embedded = fastclf.embed(model)
    for rows in (queries, *np.split(queries[:40], 40)):
        leaf = np.empty(len(rows), np.int64)
        assert call("apply", embedded, rows, leaf) == OK
        assert np.array_equal(leaf, model.apply(rows))
        assert np.array_equal(labels(embedded, rows), model.predict(rows))


def test_a_tree_with_costs_classifies_by_them_and_one_of_several_numbers_estimates_all(rng):
    X = rng.standard_normal((300, 3))
    y = rng.integers(0, 3, 300)
    model = fastclf.DecisionTreeClassifier(max_depth=4, cost_matrix=[[0, 1, 9], [1, 0, 1], [1, 1, 0]]).fit(X, y)
    assert np.array_equal(labels(fastclf.embed(model), X), model.predict(X))
    model = fastclf.DecisionTreeRegressor(max_depth=4).fit(X, X[:, :2])
    assert np.array_equal(scores("estimate", fastclf.embed(model), X), model.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_and_votes_are_those_of_support_vector_machines(rng, kernel, n_classes, dtype):
    X = rng.standard_normal((120, 5)).astype(dtype)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-0.7, 0.7, n_classes - 1))
    model = fastclf.SVC(kernel=kernel, gamma=0.1, coef0=0.5, kernel_dtype="float64", decision_function_shape="ovo")
    embedded = fastclf.embed(model.fit(X, y))
    for rows in (X, X[:1]):
        expected = model.decision_function(rows).reshape(len(rows), -1)
        assert np.allclose(scores("decide", embedded, rows), expected, rtol=1e-9, atol=1e-9)
        assert np.array_equal(labels(embedded, rows), model.predict(rows))


def some_models(rng):
    X = rng.standard_normal((300, 6))
    y = X[:, 0] > 0
    return X, [
        fastclf.KNeighborsClassifier(3).fit(X, y),
        fastclf.LogisticRegression().fit(X, y),
        fastclf.GaussianNB().fit(X, y),
        fastclf.DecisionTreeClassifier().fit(X, y),
    ]


def test_what_a_model_does_not_have_and_what_it_refuses_is_a_status(rng):
    X, models = some_models(rng)
    has = {"neighbors": {"nearest"}, "linear": {"decide", "classify"}}
    has["bayes"] = {"log_joint", "log_proba", "proba", "classify"}
    has["tree"] = {"apply", "proba", "classify"}
    odd = X[:3].copy()
    for embedded in map(fastclf.embed, models):
        for name in ("nearest", "decide", "log_joint", "log_proba", "proba", "classify", "apply", "estimate"):
            outputs = [np.empty((3, 8)) for _ in range(2 if name == "nearest" else 1)]
            k = 3 if name == "nearest" else None
            if name not in has[embedded.kind]:
                assert call(name, embedded, X[:3], *outputs, k=k) == BAD_MODEL
                continue
            assert call(name, embedded, X[:3], *outputs, k=k) == OK
            for value in (np.inf, -np.inf) if embedded.kind == "tree" else (np.nan, np.inf, -np.inf):
                odd[1, 4] = value
                assert call(name, embedded, odd, *outputs, k=k) == BAD_VALUE
            assert call(name, embedded, X[:0], *outputs, k=k) == OK
    embedded = fastclf.embed(models[0])
    nothing = np.empty(0)
    for k in (-1, 301):
        assert call("nearest", embedded, X[:1], nothing, nothing, k=k) == BAD_SIZE


def test_numbers_that_naive_bayes_refuses_are_a_status(rng):
    y = np.arange(120) % 2
    for model in (fastclf.PoissonNB(), fastclf.CategoricalNB()):
        model.fit(counts(rng), y)
        assert call("log_joint", fastclf.embed(model), -np.ones((1, 4)), np.empty((1, 2))) == BAD_VALUE


def test_a_handle_keeps_its_model_through_fits_and_deletion_until_it_is_released(rng):
    X, models = some_models(rng)
    for model in models:
        embedded, name = fastclf.embed(model), type(model).__name__
        if embedded.kind == "neighbors":
            ask = lambda: nearest(embedded, X[:20], 3)[1]  # noqa: B023, E731
        else:
            ask = lambda: labels(embedded, X[:20])  # noqa: B023, E731
        before = ask()
        model.fit(rng.standard_normal((50, 6)), np.arange(50) % 2)
        del model
        gc.collect()
        assert np.array_equal(ask(), before), name


def test_arrays_are_let_go_with_the_last_reference(rng):
    import weakref

    X = rng.standard_normal((30, 2)).view()
    embedded = fastclf.embed(fastclf.NearestNeighbors(algorithm="brute").fit(X))
    gone = weakref.ref(X)
    del X
    gc.collect()
    assert gone() is not None
    address_of = {name: where for name, (where, _) in capi.addresses().items()}
    retain, release = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of[name]) for name in ("retain", "release"))
    address = embedded.address
    retain(address)
    del embedded
    gc.collect()
    assert gone() is not None
    release(address)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "model",
    [
        fastclf.NaiveBayes("kernel").fit([[0.0], [1.0]], [0, 1]),
        fastclf.Perceptron(average="voted").fit([[0.0], [1.0]], [0, 1]),
        fastclf.NearestCentroid(metric="manhattan").fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]),
        fastclf.NearestNeighbors(metric="jaccard").fit([[0.0], [1.0]]),
        fastclf.NearestNeighbors(metric=lambda a, b: 0.0).fit([[0.0], [1.0]]),
        fastclf.DecisionTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 1]]),
        "a model",
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_compiled_code_cannot_have_are_refused_in_one_sentence(model):
    with pytest.raises(TypeError, match=r"^model .* wanted"):
        fastclf.embed(model)


TABLE_MODELS = {
    "tree": fastclf.DecisionTreeClassifier(),
    "mixed bayes": fastclf.NaiveBayes("gaussian"),
    "chosen bayes": fastclf.NaiveBayes(),
    "cut bayes": fastclf.NaiveBayes("mdl"),
    "normal": fastclf.GaussianNB(),
    "logistic": fastclf.LogisticRegression(),
    "linear svm": fastclf.LinearSVC(),
    "svm": fastclf.SVC(),
    "quadratic": fastclf.GeneralisedLinearClassifier(),
}


def messy_table(rng, n_towns=3, n=300):
    town = np.array([*(f"town {i}" for i in range(n_towns)), None], dtype=object)[rng.integers(0, n_towns + 1, n)]
    size = np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n))
    counts = rng.poisson(30, n) * 100.0
    return fastclf.table.Table([town, size, counts], ["town", "size", "counts"]), (town == "town 1") ^ (size > 0)


def coded(model, table):
    """The rows of a table as compiled code takes them."""
    return np.ascontiguousarray(table.encode(model.categories_, list(model.feature_names_in_)))


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_rows_of_a_table_are_encoded_completed_and_scaled_in_compiled_code(name, rng):
    table, y = messy_table(rng)
    model = fastclf.TableClassifier(TABLE_MODELS[name]).fit(table, np.where(y, "yes", "no"))
    embedded, rows = fastclf.embed(model), coded(model, table)
    assert embedded.n_features == 3
    assert embedded.columns == ["town", "size", "counts"]
    assert embedded.categories[0] == model.categories_[0]
    rows[:4, 0] = np.nan
    known = fastclf.table.Table([*table.columns], table.names)
    known.columns[0][:4] = ["new", "newer", "newest", None]
    assert np.array_equal(labels(embedded, rows), model.predict(known))
    if embedded.kind in ("bayes", "tree"):
        assert np.allclose(scores("proba", embedded, rows), model.predict_proba(known), rtol=1e-12, atol=1e-300)
    if hasattr(model, "decision_function"):
        assert np.allclose(scores("decide", embedded, rows)[:, 0], model.decision_function(known), rtol=1e-6, atol=1e-6)
    for n in (0, 1, 15, 16, 17, 33):
        assert np.array_equal(labels(embedded, rows[:n]), model.predict(known)[:n])
    rows[:3, 0] = 99, -1, 0.5  # these numbers stand for no category
    assert np.array_equal(labels(embedded, rows), model.predict(rows))
    rows[4, 1] = np.inf
    assert call("classify", embedded, rows, np.empty(len(rows), np.intp)) == BAD_VALUE


@pytest.mark.parametrize("n_towns", [3, 300])
def test_neighbours_of_rows_of_a_table_are_found_in_compiled_code(n_towns, rng):
    table, y = messy_table(rng, n_towns, 700)
    model = fastclf.TableClassifier(fastclf.KNeighborsClassifier()).fit(table, y)
    embedded, rows = fastclf.embed(model), coded(model, table)
    expected = model.model_.kneighbors(model.features(table), 4)
    for found, wanted in zip(nearest(embedded, rows, 4), expected):
        assert np.array_equal(found, wanted)
    assert functions()["n_rows"].ctypes(embedded.address) == 700


def test_a_tree_in_compiled_code_sends_unknown_categories_where_missing_values_go(rng):
    table, y = messy_table(rng)
    known = [["town 0", "town 1", "Paris", "town 2"], None, None]
    model = fastclf.TableClassifier(categories=known, names=table.names).fit(table, y)
    embedded, rows = fastclf.embed(model), coded(model, table)
    assert np.array_equal(labels(embedded, rows), model.predict(table))
    rows[:, 0] = 2
    table.columns[0][:] = "Paris"
    assert np.array_equal(labels(embedded, rows), model.predict(table))


def test_compiled_code_finds_the_category_of_a_text():
    words = np.array(["b", "ä", "", "7", "70", None], dtype=object)
    table = fastclf.table.Table([words, np.arange(6.0)], ["word", "size"])
    model = fastclf.TableClassifier(fastclf.LogisticRegression()).fit(table, [0, 1] * 3)
    embedded = fastclf.embed(model)
    category = functions()["category"].ctypes
    for code, text in enumerate(embedded.categories[0]):
        assert category(embedded.address, 0, text.encode()) == code
    assert category(embedded.address, 0, b"7.0") == embedded.categories[0].index("7")
    for column, text in ((0, b"c"), (0, b"0x7"), (0, None), (1, b"7"), (2, b"b"), (-1, b"b")):
        assert np.isnan(category(embedded.address, column, text))
    plain = fastclf.embed(fastclf.GaussianNB().fit([[0.0], [1.0]], [0, 1]))
    assert np.isnan(category(plain.address, 0, b"b"))


def test_products_of_columns_are_made_in_compiled_code(rng):
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] * X[:, 1] > 0.1) * 1
    model = fastclf.GeneralisedLinearClassifier().fit(X, y)
    assert np.array_equal(labels(fastclf.embed(model), X), model.predict(X))


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        fastclf.embed(fastclf.GaussianNB())


def test_what_is_not_for_embedding_does_not_load_the_c_interface():
    names = sorted(set(fastclf.__all__) - {"embed", "export_c", "export_onnx", "get_include", "__version__"})
    code = f"from fastclf import {', '.join(names)}; import sys; print('fastclf.capi' in sys.modules)"
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr


# Tests of the building blocks of solvers


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 5, 64, 1003])
def test_dot_and_axpy(rng, dtype, n):
    x, y = rng.standard_normal((2, n)).astype(dtype)
    end = FLOATS[dtype]
    found = functions()[f"dot_{end}"].ctypes(x.ctypes, y.ctypes, n)
    assert found == pytest.approx(x.astype(float) @ y.astype(float), rel=1e-12, abs=1e-12)
    expected = y + dtype(0.3) * x
    assert functions()[f"axpy_{end}"].ctypes(n, 0.3, x.ctypes, y.ctypes) == OK
    assert np.array_equal(y, expected)


def test_a_heap_keeps_the_smallest_pairs_in_order(rng):
    distance, index = np.empty(5), np.empty(5, np.intp)
    begin, push, sort = (functions()[f"heap_{name}"].ctypes for name in ("begin", "push", "sort"))
    assert begin(distance.ctypes, index.ctypes, 5) == OK
    pairs = [(float(a), i) for i, a in enumerate(rng.integers(0, 9, 40))]
    for a, i in pairs:
        assert push(distance.ctypes, index.ctypes, 5, a, i) == OK
    assert push(distance.ctypes, index.ctypes, 5, np.nan, 0) == BAD_VALUE
    assert sort(distance.ctypes, index.ctypes, 5) == OK
    assert list(zip(distance, index)) == sorted(pairs)[:5]
    assert begin(distance.ctypes, index.ctypes, 0) == BAD_SIZE


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (37, 5, 3), (64, 2, 40)])
def test_squared_distances_are_sums_in_order(rng, dtype, shape):
    n, m, d = shape
    X, Q = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((m, d)).astype(dtype)
    out = np.empty((m, n))
    size = functions()["squared_distances_scratch"].ctypes(d)
    scratch = np.full(size + 8, 171, np.uint8)
    function = functions()[f"squared_distances_{FLOATS[dtype]}"].ctypes
    assert function(X.ctypes, n, Q.ctypes, m, d, out.ctypes, scratch.ctypes) == OK
    expected = np.zeros((m, n))
    for j in range(d):
        expected += (X[:, j].astype(float) - Q[:, j].astype(float)[:, None]) ** 2
    assert np.array_equal(out, expected)
    assert (scratch[size:] == 171).all()


CRITERIA = ["gini", "entropy", "misclassification", "squared_error"]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_split_is_a_stump_of_the_decision_tree(rng, criterion, dtype, n_classes, weighted):
    regression = criterion == "squared_error"
    for n in (2, 3, 40, 200):
        x = np.sort(rng.integers(0, max(2, n // 3), n)).astype(dtype) / 7
        y = rng.standard_normal(n)
        code = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n)][:n].astype(np.intc)
        weight = rng.uniform(0.5, 2, n) if weighted else None
        cut, threshold, score = ctypes.c_ssize_t(), ctypes.c_double(np.nan), ctypes.c_double()
        k = 1 if regression else n_classes
        scratch = np.empty(functions()["best_split_scratch"].ctypes(n, k), np.uint8)
        status = functions()[f"best_split_{FLOATS[dtype]}"].ctypes(
            x.ctypes,
            None if regression else code.ctypes,
            y.ctypes if regression else None,
            None if weight is None else weight.ctypes,
            n,
            k,
            CRITERIA.index(criterion),
            1,
            ctypes.byref(cut),
            ctypes.byref(threshold),
            ctypes.byref(score),
            scratch.ctypes,
        )
        assert status == OK
        kind = fastclf.DecisionTreeRegressor if regression else fastclf.DecisionTreeClassifier
        stump = kind(criterion=criterion, max_depth=1).fit(x[:, None], y if regression else code, weight)
        if stump.get_depth() == 0:
            continue  # a tree does not split pure nodes, so that there is nothing to compare
        assert threshold.value == stump.tree_.threshold[0]
        assert cut.value == np.count_nonzero(x <= threshold.value)


def test_columns_that_are_not_ascending_or_classes_out_of_range_are_refused():
    scratch, out = np.empty(1000, np.uint8), (ctypes.c_double * 3)()
    split = functions()["best_split_d"].ctypes
    for x, code in (([2.0, 1.0], [0, 1]), ([1.0, np.nan], [0, 1]), ([1.0, 2.0], [0, 2]), ([1.0, 2.0], [-1, 1])):
        x, code = np.array(x), np.array(code, np.intc)
        where = [ctypes.addressof(out) + 8 * i for i in range(3)]
        assert split(x.ctypes, code.ctypes, None, None, 2, 2, 0, 1, *where, scratch.ctypes) == BAD_VALUE


def test_rows_that_weigh_nothing_have_no_best_split():
    x, code, weight = np.arange(4.0), np.array([0, 0, 1, 1], np.intc), np.zeros(4)
    cut, threshold, score = ctypes.c_ssize_t(), ctypes.c_double(), ctypes.c_double()
    out = [ctypes.byref(value) for value in (cut, threshold, score)]
    for criterion, name in enumerate(CRITERIA):
        classes, y = (None, x.ctypes) if name == "squared_error" else (code.ctypes, None)
        scratch = np.empty(functions()["best_split_scratch"].ctypes(4, 2), np.uint8)
        split = functions()["best_split_d"].ctypes
        assert split(x.ctypes, classes, y, weight.ctypes, 4, 2, criterion, 1, *out, scratch.ctypes) == OK
        assert cut.value == -1


def test_smo_steps_solve_the_dual_of_a_support_vector_machine(rng):
    n, C = 80, 2.0
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    alpha, grad, box, diagonal = np.zeros(n), -np.ones(n), np.full(n, C), np.ones(n)
    first, second, step = (functions()[f"smo_{name}"].ctypes for name in ("first", "second", "step"))
    i, j, violation = ctypes.c_ssize_t(), ctypes.c_ssize_t(), ctypes.c_double()
    state = [array.ctypes for array in (y, box, alpha, grad)]
    for _ in range(10_000):
        assert first(n, *state, ctypes.byref(i), ctypes.byref(violation)) == OK
        if violation.value < 1e-9:
            break
        assert second(n, *state, i, K[i.value].ctypes, diagonal.ctypes, ctypes.byref(j)) == OK
        assert step(n, *state, i, j, K[i.value].ctypes, K[j.value].ctypes) == OK
    assert violation.value < 1e-9
    Q = K * y[:, None] * y
    assert ((alpha >= 0) & (alpha <= C)).all()
    assert abs(alpha @ y) < 1e-9
    assert np.allclose(grad, Q @ alpha - 1)
    from sklearn.svm import SVC

    reference = SVC(C=C, gamma=0.5, tol=1e-9).fit(X, y)
    assert np.allclose(alpha[reference.support_], np.abs(reference.dual_coef_[0]), atol=1e-5)
    assert step(n, *state, 3, 3, K[3].ctypes, K[3].ctypes) == BAD_SIZE


@pytest.mark.parametrize("dtype", FLOATS)
def test_epochs_are_those_of_the_perceptron(rng, dtype):
    X = rng.standard_normal((500, 20)).astype(dtype)
    code = (X[:, 0] + 0.3 * rng.standard_normal(500) > 0).astype(np.intc)
    model = fastclf.Perceptron(shuffle=False, tol=None, max_iter=7).fit(X, code)
    w, b, mistakes = np.zeros(20), ctypes.c_double(0), ctypes.c_int64(0)
    epoch = functions()[f"perceptron_epoch_{FLOATS[dtype]}"].ctypes
    order = np.arange(500)
    for sweep in range(7):
        given = order.ctypes if sweep % 2 else None
        where = ctypes.byref(b), ctypes.byref(mistakes)
        assert epoch(X.ctypes, 500, 20, code.ctypes, given, 1.0, 1, w.ctypes, *where) == OK
    assert np.array_equal(w, model.coef_[0])
    assert b.value == model.intercept_[0]
    assert mistakes.value > 0
    made = mistakes.value
    assert epoch(None, 0, 20, None, None, 1.0, 1, w.ctypes, *where) == OK
    assert np.array_equal(w, model.coef_[0])
    assert mistakes.value == made


# Tests of the signatures of the C functions

GOLDEN = Path(__file__).with_name("capi.txt")


def words(text):
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).replace("*", " * ").split())


def test_no_signature_changes():
    listed = "".join(f"{name}: {signature}\n" for name, (_, signature) in capi.addresses().items())
    assert listed == GOLDEN.read_text(), "only additions at the end are allowed, with a larger FASTCLF_ABI"


def test_the_header_has_the_same_functions_in_the_same_order():
    header = (Path(fastclf.get_include()) / "fastclf.h").read_text()
    table = words(header[header.index("typedef struct {") : header.index("} fastclf_functions")])
    declared = re.findall(r"([\w *]+?) ?\( \* (\w+)\)\(([^)]*)\)", table)
    assert [name for _, name, _ in declared] == list(capi.addresses())
    for result, name, arguments in declared:
        if name in functions():
            kinds = [re.sub(r" ?\w+$", "", argument.strip()) for argument in arguments.split(",")]
            kinds = ["void"] if arguments == "void" else kinds
            assert words(f"{result} ({', '.join(kinds)})") == words(functions()[name].signature)


def test_the_header_and_the_declarations_have_the_same_constants():
    package = Path(fastclf.__file__).parent
    header = (package / "include" / "fastclf.h").read_text()
    declarations = (package / "capi.pxd").read_text()
    pattern = r"\b(FASTCLF_[A-Z_]+) = (\d+)"
    constants = dict(re.findall(pattern, declarations))
    assert constants.pop("FASTCLF_ABI") == re.search(r"#define FASTCLF_ABI (\d+)", header)[1]
    assert constants == dict(re.findall(pattern, header))
    assert functions()["abi"].ctypes() == int(re.search(r"#define FASTCLF_ABI (\d+)", header)[1])


def test_the_ctypes_example_runs():
    result = doctest.testfile(str(CHECKOUT / "EMBEDDING.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_functions_are_found_by_cffi_and_scipy(rng):
    import cffi
    import scipy

    x, y = rng.standard_normal((2, 9))
    ffi = cffi.FFI()
    ffi.cdef("typedef ptrdiff_t Py_ssize_t;")
    found = functions()["dot_d"]
    dot = ffi.cast(found.signature.replace(" (", " (*)("), found.address)
    cast = [ffi.cast("const double *", array.ctypes.data) for array in (x, y)]
    assert dot(*cast, 9) == pytest.approx(x @ y)
    low_level = scipy.LowLevelCallable.from_cython(capi, "dot_d")
    assert "double" in low_level.signature


# Tests of calls from several threads


def test_sixteen_threads_on_shared_models_get_what_one_gets(rng):
    X, models = some_models(rng)
    big = rng.standard_normal((2000, 6))
    models += [
        fastclf.KNeighborsRegressor().fit(X, X[:, 0]).partial_fit(X + 1, X[:, 1]),
        fastclf.NearestNeighbors(algorithm="filter").fit(big),
        fastclf.NearestNeighbors(algorithm="tree").fit(big),
        fastclf.NearestCentroid().fit(X, X[:, 0] > 0),
        fastclf.DecisionTreeRegressor().fit(X, X[:, 0]),
        fastclf.MultinomialNB().fit(abs(X), X[:, 0] > 0),
        fastclf.NaiveBayes(["kernel", "histogram", *["gaussian"] * 4]).fit(X, X[:, 0] > 0),
        fastclf.SVC().fit(X, X[:, 0] > 0),
        fastclf.LinearSVC().fit(X, X[:, 0] > 0),
        fastclf.Perceptron(random_state=0).fit(X, X[:, 0] > 0),
        fastclf.KernelPerceptron(random_state=0).fit(X, X[:, 0] > 0),
        fastclf.GeneralisedLinearClassifier().fit(X, X[:, 0] > 0),
    ]
    ask = [getattr(model, "predict", None) or model.kneighbors for model in models]
    expected = [method(X) for method in ask]
    handles = [(fastclf.embed(model), expected[i]) for i, model in enumerate(models[1:4], 1)]
    kinds = fastclf.GaussianNB, fastclf.LogisticRegression, fastclf.DecisionTreeClassifier, fastclf.SVC
    fits = {(kind, j): kind().fit(X, X[:, j] > 0).predict(X[:50]) for kind in kinds for j in range(6)}
    barrier, wrong = Barrier(16), []

    def work(number):
        barrier.wait()
        for turn in range(6):
            i = (number + turn) % len(ask)
            if not all(map(np.array_equal, np.atleast_2d(ask[i](X)), np.atleast_2d(expected[i]))):
                wrong.append(models[i])
            embedded, answer = handles[(number + turn) % 3]
            if not np.array_equal(labels(embedded, X), answer):
                wrong.append(embedded)
            # several fits run at once, each with several threads
            for kind in kinds:
                own = kind().fit(X, X[:, number % 6] > 0)
                if not np.array_equal(own.predict(X[:50]), fits[kind, number % 6]):
                    wrong.append(own)

    threads = [Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
