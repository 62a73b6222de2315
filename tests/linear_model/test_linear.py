"""The base of linear classifiers: scores and labels by the compiled kernel."""

import copy
import pickle
import sys
import tracemalloc

import numpy as np
import pytest
from conftest import seconds_to_obey_ctrl_c
from scipy.sparse import csr_array, csr_matrix, random_array

from fastclf import (
    LeastSquaresClassifier,
    LinearSVC,
    LogisticRegression,
    NearestCentroid,
    Perceptron,
    RidgeClassifier,
    _simd,
    load,
    save,
)
from fastclf._csr import as_csr
from fastclf.linear_model import scores
from fastclf.linear_model.scores import LinearClassifier, linear_codes, linear_scores
from fastclf.sums import blocks, screens

pytestmark = pytest.mark.levels

SHAPES = [(1, 1, 1), (3, 2, 1), (4, 8, 2), (5, 7, 3), (9, 16, 1), (10, 33, 5), (130, 64, 10)]
# many classes, which are scored several at a time if the columns are few
SHAPES += [(8, 5, 100), (33, 40, 8), (47, 3, 17), (40, 70, 33)]


def problem(rng, n, d, n_outputs, dtype=np.float64):
    X = rng.standard_normal((n, d)).astype(dtype)
    X[rng.random((n, d)) < 0.3] = 0
    return X, rng.standard_normal((n_outputs, d)), rng.standard_normal(n_outputs)


def slow_scores(X, coef, intercept):
    return np.array([[float(np.dot(x.astype(float), w)) + b for w, b in zip(coef, intercept)] for x in X])


def winners(scores):
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


class Fitted(LinearClassifier):
    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def with_weights(self, coef, intercept):
        classes = np.arange(max(2, len(coef)))
        return self._become(coef_=coef, intercept_=intercept, classes_=classes, n_features_in_=coef.shape[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_and_codes_are_those_of_the_obvious_loop(rng, dtype, shape, sparse):
    X, coef, intercept = problem(rng, *shape, dtype)
    rows = as_csr(csr_array(X), "test") if sparse else X
    expected = slow_scores(X, coef, intercept)
    np.testing.assert_allclose(linear_scores(rows, coef, intercept), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(linear_codes(rows, coef, intercept), winners(expected))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("d", "n_outputs"), [(21, 1), (21, 2), (21, 5), (21, 19), (45, 61), (101, 53)])
def test_rows_alone_ranges_and_threads_give_the_same_bits(rng, monkeypatch, sparse, d, n_outputs):
    X, coef, intercept = problem(rng, 203, d, n_outputs)
    rows = as_csr(csr_array(X), "test") if sparse else X
    expected = linear_scores(rows, coef, intercept, 1)
    for i in range(9):
        np.testing.assert_array_equal(linear_scores(rows[i : i + 1], coef, intercept), expected[i : i + 1])
    monkeypatch.setattr(blocks, "_THREAD_WORK", 0)
    monkeypatch.setattr(blocks, "_FIRST_WORK", 0)
    monkeypatch.setattr(blocks, "_THREAD_SECONDS", 1e-9)
    monkeypatch.setattr(blocks, "_RANGE_WORK", 100)
    for n_jobs in (1, 2, 3):
        np.testing.assert_array_equal(linear_scores(rows, coef, intercept, n_jobs), expected)
        np.testing.assert_array_equal(linear_codes(rows, coef, intercept, n_jobs), winners(expected))


@pytest.mark.parametrize("level", _simd.available())
def test_every_level_is_right(rng, monkeypatch, level):
    monkeypatch.setattr(scores, "kernels", _simd.load("linear_model._scores", level))
    for shape in SHAPES:
        X, coef, intercept = problem(rng, *shape)
        slow = slow_scores(X, coef, intercept)
        np.testing.assert_allclose(linear_scores(X, coef, intercept), slow, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(linear_codes(X, coef, intercept), winners(slow))


@pytest.mark.parametrize("level", _simd.available())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cosines_are_right_for_angles_of_any_size_wherever_they_are(rng, level, dtype):
    kernels = _simd.load("linear_model._scores", level)
    angles = rng.standard_normal((40, 7)) * 10.0 ** rng.uniform(-9, 12, (40, 7))
    angles[0] = [0.0, -0.0, np.pi / 2, -np.pi, 2.0**20, np.nextafter(2.0**20, 2.0**21), 1e300]
    found, alone = np.empty(angles.shape, dtype), np.empty((1, 1), dtype)
    kernels.cosines(angles, 3.0, found)
    np.testing.assert_allclose(found, 3 * np.cos(angles), atol=1e-15 if dtype == "float64" else 3e-7, rtol=0)
    for angle, cosine in zip(angles.ravel(), found.ravel()):
        kernels.cosines(angle.reshape(1, 1), 3.0, alone)
        assert alone == cosine
    kernels.cosines(np.full((1, 1), np.nan), 3.0, alone)
    assert np.isnan(alone)


@pytest.mark.parametrize("level", _simd.available())
def test_gaussians_of_products_are_those_of_distances_wherever_they_are(rng, level):
    kernels = _simd.load("linear_model._scores", level)
    x, c = rng.standard_normal((30, 4)), rng.standard_normal((13, 4))
    products, squares = x @ c.T - 0.5 * (c**2).sum(axis=1), (x**2).sum(axis=1)
    found = products.copy()
    kernels.gaussians(found, squares, 0.7)
    distance = ((x[:, None] - c) ** 2).sum(axis=-1)
    np.testing.assert_allclose(found, np.exp(-0.7 * distance), rtol=1e-13)
    for i in range(30):
        one = products[i : i + 1, 5:6].copy()
        kernels.gaussians(one, squares[i : i + 1], 0.7)
        assert one == found[i, 5]
    # a square of a distance that rounding has made negative counts as 0; far away is 0, and what is unknown is NaN
    for product, square, wanted in (
        (0.5 + 1e-12, 1, 1), (-353, 0, np.exp(-706)), (-355, 0, 0), (-1e300, 1e308, 0), (0, np.inf, 0), (-np.inf, 1, 0),
        (np.inf, np.inf, np.nan), (np.nan, 1, np.nan),
    ):  # fmt: skip
        one = np.full((1, 1), product, float)
        kernels.gaussians(one, np.full(1, square, float), 1.0)
        np.testing.assert_allclose(one, wanted, rtol=1e-12)


@pytest.mark.parametrize("level", _simd.available())
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 8, 11, 64, 511, 512, 513, 1100])
@pytest.mark.parametrize("log_wanted", [False, True])
def test_shares_are_exponentials_divided_by_their_sum(rng, level, n_classes, log_wanted):
    kernels = _simd.load("linear_model._scores", level)
    Z = rng.standard_normal((300, n_classes)) * 10.0 ** rng.integers(-3, 4, (300, 1))
    Z[rng.random(Z.shape) < 0.1] = -np.inf
    Z[0], Z[1], Z[2] = -np.inf, 1e308, np.linspace(-740, 0, n_classes)
    above = np.where(np.isneginf(Z).all(axis=1, keepdims=True), 0.0, Z)
    above = (above - above.max(axis=1, keepdims=True)).astype(np.longdouble)
    wanted = above - np.log(np.exp(above).sum(axis=1, keepdims=True))
    found = Z.copy()
    kernels.shares(found, 0, 300, log_wanted)
    if log_wanted:
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
    else:
        np.testing.assert_allclose(found, np.exp(wanted), rtol=2e-13, atol=1e-307)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    for start, stop in [(0, 1), (7, 8), (100, 137), (299, 300)]:
        alone = Z[start:stop].copy()
        kernels.shares(alone, 0, stop - start, log_wanted)
        assert alone.tobytes() == found[start:stop].tobytes(), "the rows around a row change no bit"


@pytest.mark.parametrize("level", _simd.available())
@pytest.mark.parametrize("log_wanted", [False, True])
@pytest.mark.parametrize("others", [0, -np.inf])
def test_shares_of_a_row_with_nan_are_nan(level, log_wanted, others):
    for n_classes, place in [(1, 0), (2, 0), (2, 1), (9, 8), (600, 5)]:
        Z = np.zeros((3, n_classes))
        Z[1] = others
        Z[1, place] = np.nan
        _simd.load("linear_model._scores", level).shares(Z, 0, 3, log_wanted)
        assert np.isnan(Z[1]).all()
        assert not np.isnan(Z[[0, 2]]).any()


@pytest.mark.parametrize("shape", [(), (4, 0), (4, 2, 1)])
def test_wrong_scores_of_a_users_decision_function_get_a_sentence(shape):
    class Own(LogisticRegression):
        def decision_function(self, X):
            return np.zeros(shape)

    model = Own().fit(np.eye(4), [0, 1, 0, 1])
    for method in ("predict", "predict_proba", "predict_log_proba"):
        with pytest.raises(ValueError, match="decision_function gave an array of shape"):
            getattr(model, method)(np.eye(4))


def test_probabilities_of_centroids_are_those_of_a_users_logarithms():
    class Own(NearestCentroid):
        def predict_log_proba(self, X):
            return np.log(np.tile([0.25, 0.75], (len(X), 1)))

    model = Own().fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(model.predict_proba([[3.0], [4.0]]), [[0.25, 0.75]] * 2)


def test_of_equal_scores_the_first_class_wins_and_zero_is_the_first():
    X = np.array([[1.0], [2.0]])
    assert linear_codes(X, np.array([[1.0], [2.0], [2.0]]), np.zeros(3)).tolist() == [1, 1]
    assert linear_codes(X, np.array([[0.0], [0.0]]), np.zeros(2)).tolist() == [0, 0]
    assert linear_codes(X, np.array([[1.0]]), np.array([-1.0])).tolist() == [0, 1]


@pytest.mark.parametrize("n_rows", [1, 20])
@pytest.mark.parametrize("n_classes", [8, 9, 16, 23, 40])
def test_of_many_equal_scores_the_first_class_wins(rng, n_rows, n_classes):
    for _ in range(50):
        weights = rng.integers(-1, 2, n_classes) * rng.choice([1.0, -1.0])  # there may be 0.0 and -0.0
        found = linear_codes(np.ones((n_rows, 1)), weights[:, None], np.zeros(n_classes))
        assert found.tolist() == [weights.argmax()] * n_rows


def near_ties(X, coef, intercept):
    """Classes that float32 does not tell apart: their scores differ in the tenth digit."""
    close = coef[:1] + 1e-10 * coef
    return X, close, np.zeros(len(coef))


SCREENED = {
    "plain": lambda X, coef, intercept: (X, coef, intercept),
    "near ties": near_ties,
    "near ties by intercepts": lambda X, coef, intercept: (X, 0 * coef, 1 + 1e-12 * intercept),
    "equal classes": lambda X, coef, intercept: (X, coef[[0] * len(coef)], intercept[[0] * len(coef)]),
    "whole numbers": lambda X, coef, intercept: (X.round(0), coef.round(0), intercept.round(0)),
    "far intercepts": lambda X, coef, intercept: (X, coef, 1e9 + intercept),
    "cancelling": lambda X, coef, intercept: (1e6 + X, np.tile(coef[:, :1], coef.shape[1]) - 1e-6 * coef, intercept),
    "tiny rows": lambda X, coef, intercept: (X * X.dtype.type(1e-30), coef, 1e-38 * intercept),
    "subnormal products": lambda X, coef, intercept: (X * X.dtype.type(1e-24), 1e-20 * coef, 0 * intercept),
    "weights that float32 lacks": lambda X, coef, intercept: (X, 1e-60 * coef, 0 * intercept),
    "squares that float32 lacks": lambda X, coef, intercept: (X * X.dtype.type(1e25), coef, intercept),
    "products that float32 lacks": lambda X, coef, intercept: (X * X.dtype.type(1e18), 1e30 * coef, intercept),
    "huge weights": lambda X, coef, intercept: (X, 1e200 * coef, intercept),
    "huge intercepts": lambda X, coef, intercept: (X, coef, 1e200 * intercept),
    "one huge row": lambda X, coef, intercept: (np.where(np.arange(len(X))[:, None] == 1, 1e38, X), coef, intercept),
}


@pytest.mark.parametrize("level", _simd.available())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", SCREENED)
def test_classes_found_by_a_screen_have_the_largest_exact_scores(rng, monkeypatch, level, dtype, kind):
    monkeypatch.setattr(scores, "kernels", _simd.load("linear_model._scores", level))
    monkeypatch.setattr(screens, "kernels", _simd.load("sums._screens", level))
    for n, d, n_classes in ((1, 1, 2), (7, 3, 2), (9, 1, 40), (31, 5, 16), (100, 40, 17), (170, 33, 33), (64, 130, 70)):
        X, coef, intercept = SCREENED[kind](*problem(rng, n, d, n_classes, dtype))
        monkeypatch.setattr(screens, "_MANY_CLASSES", 1 << 60)
        expected = linear_codes(X, coef, intercept)
        np.testing.assert_array_equal(expected, winners(linear_scores(X, coef, intercept)))
        monkeypatch.setattr(screens, "_MANY_CLASSES", 2)
        for limit in ("_LEAST_PRODUCTS", "_LEAST_ROWS", "_LEAST_ANSWERS"):
            monkeypatch.setattr(screens, limit, 0)
        np.testing.assert_array_equal(linear_codes(X, coef, intercept), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_screen_lets_no_bad_number_pass(rng, monkeypatch, dtype, bad):
    for limit in ("_LEAST_PRODUCTS", "_LEAST_ROWS", "_LEAST_ANSWERS"):
        monkeypatch.setattr(screens, limit, 0)
    X, coef, intercept = problem(rng, 50, 6, 20, dtype)
    coef[:, 2] = 0
    model = Fitted().with_weights(coef, intercept)
    for place in ((0, 0), (17, 2), (49, 5)):
        wrong = X.copy()
        wrong[place] = bad
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            model.predict(wrong)


@pytest.mark.parametrize("n_planes", [1, 3, 5, 9])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_is_not_finite_is_refused_wherever_it_is(rng, bad, weight, n_planes):
    X, coef, intercept = problem(rng, 30, 5, n_planes)
    X[17, 4] = bad
    model = Fitted().with_weights(coef * weight, intercept)
    what = "NaN" if np.isnan(bad) else "infinity"
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=rf"Input X contains {what} \(row 17, column 4\); Fitted wants finite"):
            method(X)


def test_sums_of_one_class_that_overflow_on_their_way_have_their_sign():
    X = np.array([[1e200, -1e200], [1e200, -0.9e200], [1.0, 2.0], [-1e200, 0.9e200]])
    scores = linear_scores(X, np.array([[1e150, 1e150]]), np.zeros(1))
    assert scores.tolist() == [[0], [np.inf], [pytest.approx(3e150)], [-np.inf]]


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_that_overflow_on_their_way_have_their_sign(sparse):
    X = np.array([[1e200, -1e200], [1e200, -0.9e200], [1.0, 2.0], [-1e200, 1e200]])
    coef = np.array([[1e150, 1e150], [1e-300, 1e-300]])
    rows = as_csr(csr_array(X), "test") if sparse else X
    scores = linear_scores(rows, coef, np.array([0.5, 0.0]))
    assert not np.isnan(scores).any()
    assert scores[1, 0] == np.inf
    assert scores[2, 0] == pytest.approx(3e150)
    assert linear_codes(rows, coef, np.array([0.5, 0.0])).tolist() == [0, 0, 0, 0]
    assert linear_codes(rows, coef[:1] * [[1, 1]], np.array([0.0])).tolist() == [0, 1, 1, 0]


def test_float32_rows_are_summed_in_float64():
    X = np.full((1, 20_000), 0.1, np.float32)
    assert linear_scores(X, np.ones((1, 20_000)), np.zeros(1)) == pytest.approx(
        20_000 * float(np.float32(0.1)), rel=1e-13
    )


def test_read_only_strided_and_mapped_rows_are_taken(rng, tmp_path):
    X, coef, intercept = problem(rng, 40, 6, 3)
    model = Fitted().with_weights(coef, intercept)
    expected = model.predict(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    wide = np.zeros((80, 12))
    wide[::2, ::2] = X
    for rows in (mapped, np.asfortranarray(X), wide[::2, ::2], X.tolist()):
        np.testing.assert_array_equal(model.predict(rows), expected)


def test_predict_makes_no_array_of_scores(rng):
    X, coef, intercept = problem(rng, 20_000, 4, 50, np.float32)
    model = Fitted().with_weights(coef, intercept)
    model.predict(X)
    tracemalloc.start()
    model.predict(X)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20_000 * 8 * 3  # the codes and the labels may take this memory; scores of all rows would take 8 MB


def test_no_row_has_an_entry(rng):
    X = csr_array((3, 4))
    model = Fitted().with_weights(rng.standard_normal((3, 4)), np.array([0.0, 2.0, 1.0]))
    assert model.predict(X).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(model.decision_function(X), [[0.0, 2.0, 1.0]] * 3)


FITS = {
    "LogisticRegression(tol=1e-300, max_iter=10**9)": (20_000, 50),
    "Perceptron(tol=None, max_iter=10**9)": (20_000, 50),
    "LeastSquaresClassifier()": (20_000, 50),
    "LeastSquaresClassifier(alpha=1e-9)": (600, 1000),
    "NearestCentroid(metric='manhattan')": (20_000, 50),
    "Nystroem(n_components=700)": (1000, 30),
}


@pytest.mark.once
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to another process")
@pytest.mark.parametrize("model", FITS)
def test_a_fit_obeys_ctrl_c_at_once(model):
    n, d = FITS[model]
    code = f"""if True:
        import time
        import numpy as np
        from fastclf import *
        X = np.random.default_rng(0).standard_normal(({n}, {d}))
        y = np.arange({n}) % 3
        model = {model}
        print("ready", flush=True)
        try:
            while True:
                model.fit(X, y)
        except KeyboardInterrupt:
            print(time.time(), flush=True)
    """
    assert seconds_to_obey_ctrl_c(code) < 1.0


@pytest.mark.parametrize("n_outputs", [2, 8, 16, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_scores_have_the_same_bits_by_class_and_by_column(rng, dtype, n_outputs):
    X = as_csr(random_array((50, 400), density=0.1, rng=rng, format="csr", dtype=dtype), "test")
    coef, intercept = rng.standard_normal((n_outputs, 400)), rng.standard_normal(n_outputs)
    whole = linear_scores(X, coef, intercept)
    for i in range(50):  # for a single row, which has few entries, the coefficients are not transposed
        np.testing.assert_array_equal(linear_scores(X[i : i + 1], coef, intercept)[0], whole[i])
    np.testing.assert_allclose(whole, np.asarray(X, np.float64) @ coef.T + intercept, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [2, 3, 7, 8, 9, 16, 21, 33, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coef_dtype", [np.float32, np.float64])
def test_coefficients_of_either_order_give_sparse_rows_the_same_bits(rng, dtype, coef_dtype, n_outputs):
    X = as_csr(random_array((30, 50), density=0.3, rng=rng, format="csr", dtype=dtype), "test")
    # every row has an entry in the last column, from which a whole vector would reach beyond the coefficients
    X.indices[X.indptr[1:] - 1] = 49
    wide = rng.standard_normal((50, 3 * n_outputs)).astype(coef_dtype)
    views = [np.ascontiguousarray(wide[:, :n_outputs].T), np.asfortranarray(wide[:, :n_outputs].T)]
    intercept = rng.standard_normal(n_outputs)
    expected = np.empty((30, n_outputs))
    for coef in [*views, wide[:, :n_outputs].T]:
        found = np.empty((30, n_outputs))
        assert scores.kernels.score_sparse(X, X.data, coef, intercept, 0, 30, found) == 0
        expected = found if coef is views[0] else expected
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(linear_scores(X, coef, intercept), expected)
        np.testing.assert_array_equal(linear_codes(X, coef, intercept), winners(expected))
    np.testing.assert_allclose(expected, np.asarray(X, np.float64) @ views[0].T + intercept, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), LinearSVC(), RidgeClassifier(), LeastSquaresClassifier(), Perceptron(), NearestCentroid()],
    ids=lambda model: type(model).__name__,
)
def test_coefficients_of_a_sparse_fit_are_read_by_column_without_a_copy(rng, model, tmp_path):
    X = random_array((200, 3000), density=0.01, rng=rng, format="csr")
    y = np.arange(200) % 5
    model = model.fit(X, y)
    assert model.coef_.shape == (5, 3000)
    assert model.coef_.flags.f_contiguous
    expected = model.decision_function(X)
    save(model, tmp_path / "model")
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.coef_.flags.f_contiguous
        np.testing.assert_array_equal(other.decision_function(X), expected)
    np.testing.assert_allclose(model.decision_function(X.toarray()), expected, rtol=1e-9, atol=1e-9)
    queries = X.astype(np.float32)[:5]
    model.predict(queries)
    tracemalloc.start()
    model.predict(queries)
    assert tracemalloc.get_traced_memory()[1] < model.coef_.nbytes // 4
    tracemalloc.stop()
    model.coef_[:] = 0  # no copy of the coefficients is kept
    if not isinstance(model, NearestCentroid):
        np.testing.assert_array_equal(model.decision_function(X), np.tile(model.intercept_, (200, 1)))


def test_as_many_columns_as_classes_are_taken(rng):
    X = as_csr(random_array((50, 16), density=0.5, rng=rng, format="csr"), "test")
    coef, intercept = rng.standard_normal((16, 16)), rng.standard_normal(16)
    expected = np.asarray(X) @ coef.T + intercept
    np.testing.assert_allclose(linear_scores(X, coef, intercept), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", ["descending", "shuffled", "twice"])
@pytest.mark.parametrize("length", [3, 20, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_in_any_order_are_sorted(rng, order, length, dtype):
    columns = np.concatenate([np.sort(rng.choice(200, length, replace=False))[::-1] for _ in range(7)])
    if order != "descending":
        columns = np.concatenate([rng.permutation(part) for part in columns.reshape(7, -1)])
    if order == "twice":
        columns[1] = columns[0]
    data = rng.standard_normal(len(columns)).astype(dtype)
    given = csr_matrix((data, columns.astype(np.int32), np.arange(8) * length), (7, 200))
    before = columns.copy()
    found = as_csr(given, "test")
    np.testing.assert_array_equal(given.indices, before)
    np.testing.assert_array_equal(np.asarray(found), given.toarray())
    for i in range(7):
        assert (np.diff(found.indices[found.indptr[i] : found.indptr[i + 1]]) > 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 5, 12])
def test_few_sparse_rows_have_the_bits_of_many(rng, dtype, n_classes):
    X = random_array((60, 4000), density=0.01, format="csr", dtype=dtype, rng=rng)
    y = np.arange(60) % n_classes
    model = LogisticRegression().fit(X, y)
    together = model.decision_function(X)
    assert model.coef_.dtype == dtype
    alone = [model.decision_function(X[[i]]) for i in range(60)]
    np.testing.assert_array_equal(np.concatenate(alone), together)
    np.testing.assert_array_equal(np.concatenate([model.predict(X[[i]]) for i in range(60)]), model.predict(X))
    np.testing.assert_array_equal(
        model.decision_function(X[:1] * 0), model.intercept_[None] if n_classes > 2 else model.intercept_
    )
