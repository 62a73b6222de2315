"""Naive Bayes with one distribution: scikit-learn's answers, in one read, for any type, offset and threads."""

import numpy as np
import pytest
import reference_bayes as reference
from scipy import sparse
from sklearn import datasets, naive_bayes

import fastclf
from fastclf import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB, _simd
from fastclf._estimator import clone
from fastclf._validation import encode_labels
from fastclf.naive_bayes import gaussian_leave_one_out, joints
from fastclf.sums import blocks, class_sums

pytestmark = pytest.mark.levels

METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]
COMMON = ["class_count_", "classes_", "n_features_in_"]
ATTRIBUTES = {
    "GaussianNB": ["theta_", "var_", "class_prior_", "epsilon_"],
    "BernoulliNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
    "MultinomialNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
    "ComplementNB": ["feature_count_", "feature_log_prob_", "class_log_prior_", "feature_all_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "class_log_prior_", "n_categories_"],
}


def rows(rng, name, n=300, d=7, n_classes=3):
    y = rng.integers(0, n_classes, n)
    if name == "GaussianNB":
        return rng.standard_normal((n, d)) * rng.uniform(0.1, 9, d) + y[:, None], y
    return rng.poisson(1 + y[:, None], (n, d)), y


def assert_like(ours, theirs, X, rtol=1e-9):
    for attribute in COMMON + ATTRIBUTES[type(ours).__name__]:
        got, wanted = getattr(ours, attribute), getattr(theirs, attribute)
        assert type(got) is list or np.shape(got) == np.shape(wanted)
        for one, other in zip(got, wanted) if isinstance(wanted, list) else [(got, wanted)]:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)
    for method in METHODS:
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=rtol, atol=1e-11)


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("shape", [(300, 7, 3), (40, 1, 2), (500, 33, 9), (9, 4, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_and_attributes_are_scikit_learns(rng, name, shape, weighted):
    X, y = rows(rng, name, *shape)
    weight = rng.integers(0, 4, len(X)) if weighted else None
    ours = getattr(fastclf, name)().fit(X, y, weight)
    assert_like(ours, getattr(naive_bayes, name)().fit(X, y, weight), X)


PARAMETERS = [
    ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}),
    ("GaussianNB", {"var_smoothing": 0.1}),
    ("ComplementNB", {"norm": True, "alpha": 0.3}),
    ("ComplementNB", {"alpha": np.linspace(0.1, 1, 7), "class_prior": [0.2, 0.3, 0.5]}),
    ("BernoulliNB", {"binarize": 1.5, "alpha": 0.1}),
    ("MultinomialNB", {"alpha": 0, "force_alpha": False}),
    ("MultinomialNB", {"alpha": np.linspace(0.1, 1, 7), "fit_prior": False}),
    ("MultinomialNB", {"class_prior": [0.2, 0.3, 0.5]}),
    ("CategoricalNB", {"alpha": 0.3, "min_categories": 12}),
    ("CategoricalNB", {"min_categories": [20, 1, 1, 30, 1, 1, 1], "fit_prior": False}),
]


@pytest.mark.parametrize(("name", "params"), PARAMETERS)
@pytest.mark.filterwarnings("ignore:alpha too small")
def test_parameters_mean_what_they_mean_in_scikit_learn(rng, name, params):
    X, y = rows(rng, name)
    assert_like(getattr(fastclf, name)(**params).fit(X, y), getattr(naive_bayes, name)(**params).fit(X, y), X)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_batches_give_the_fit_of_all_rows(rng, name):
    X, y = rows(rng, name)
    weight = rng.random(len(X))
    ours, theirs = getattr(fastclf, name)(), getattr(naive_bayes, name)()
    for start in range(0, 300, 100):
        part = slice(start, start + 100)
        for model in (ours, theirs):
            model.partial_fit(X[part], y[part], [0, 1, 2, 5], sample_weight=weight[part])
    # scikit-learn's n_categories_ is that of the last batch
    for attribute in set(COMMON + ATTRIBUTES[name]) - {"n_categories_"}:
        got, wanted = getattr(ours, attribute), getattr(theirs, attribute)
        for one, other in zip(got, wanted) if isinstance(wanted, list) else [(got, wanted)]:
            # scikit-learn's variances include the epsilons of earlier batches
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    whole = getattr(fastclf, name)().fit(X, y, weight)
    np.testing.assert_array_equal(whole.predict(X), ours.predict(X))


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
@pytest.mark.parametrize("weighted", [False, True])
def test_merged_models_are_the_fit_of_all_rows(rng, name, weighted):
    X, y = rows(rng, name)
    weight = rng.integers(0, 4, len(X)) if weighted else np.ones(len(X))
    parts = [
        getattr(fastclf, name)().partial_fit(X[p], y[p], [0, 1, 2], weight[p]) for p in (slice(90), slice(90, 300))
    ]
    merged, whole = parts[0].merge(parts[1]), getattr(fastclf, name)().fit(X, y, weight)
    np.testing.assert_array_equal(merged.class_count_, whole.class_count_)
    if name != "GaussianNB":
        counts = "category_count_" if name == "CategoricalNB" else "feature_count_"
        for one, other in zip(getattr(merged, counts), getattr(whole, counts)):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(merged.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-12)
    assert not np.array_equal(parts[0].predict_joint_log_proba(X), merged.predict_joint_log_proba(X))


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_predicted_by_a_fit_of_all_others(rng, name, weighted):
    X, y = rows(rng, name, 120, 4)
    y[:40] = 0  # all rows of class 0 are in one fold, so that the others lack this class
    if name == "GaussianNB":
        X[7] = 1e6  # a value so large that its subtraction from the sums would leave too few digits
    weight = rng.random(120) if weighted else None
    folds = np.array(["a", "b", "c"])[np.arange(120) // 40]
    model = getattr(fastclf, name)()
    for method in METHODS:
        expected = reference.predict_folds(model, X, y, folds, weight, method)
        found = model.predict_folds(X, y, folds, weight, method)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert not hasattr(model, "classes_")


def test_sparse_folds_are_those_of_dense_rows(rng):
    X, y = rows(rng, "MultinomialNB")
    found = MultinomialNB().predict_folds(sparse.csr_array(X), y, np.arange(300) % 7, method="predict_proba")
    expected = MultinomialNB().predict_folds(X, y, np.arange(300) % 7, method="predict_proba")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_class_that_no_other_fold_has_is_impossible():
    found = GaussianNB(priors=[0.2, 0.3, 0.5]).predict_folds(
        X, [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 2], method="predict_proba"
    )
    assert (found[:4] > 0).sum(axis=1).max() <= 3
    np.testing.assert_array_equal(found[4:, 2], 0)
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("name", ["BernoulliNB", "ComplementNB", "MultinomialNB", "PoissonNB"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_rows_give_the_answers_of_dense_ones(rng, name, dtype):
    X, y = rows(rng, name, d=40)
    X = (X * (rng.random(X.shape) < 0.2)).astype(dtype)
    for form in (sparse.csr_array, sparse.csc_matrix):
        ours, dense = (getattr(fastclf, name)().fit(Z, y) for Z in (form(X), X))
        for method in METHODS:
            np.testing.assert_allclose(
                getattr(ours, method)(form(X)), getattr(dense, method)(X), rtol=1e-12, atol=1e-12
            )
    assert (getattr(fastclf, name)().fit(sparse.csr_array(X.shape), y).predict_proba(form(X)) > 0).all()


@pytest.mark.parametrize("name", ["BernoulliNB", "ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("alpha", [1e-3, 2.0])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_any_share_of_counts_of_zero_gives_scikit_learns_answers(rng, name, share, alpha, sparse_rows):
    X = rng.poisson(3, (90, 900)) * (rng.random((90, 900)) < share)
    X[:, 0] = 1
    y = rng.integers(0, 40, 90)
    if name != "BernoulliNB":  # scikit-learn's takes one number only
        alpha = alpha * rng.uniform(0.1, 2, 900).round(1)
    rows = sparse.csr_array(X) if sparse_rows else X
    ours, theirs = (getattr(module, name)(alpha=alpha).fit(rows, y) for module in (fastclf, naive_bayes))
    assert_like(ours, theirs, rows[:7])


@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 9, 17])
@pytest.mark.parametrize("d", [1, 2, 7, 9, 30])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sparse_rows_read_the_last_columns_of_any_number_of_classes(rng, n_classes, d, order):
    X, y = rng.poisson(0.7, (60, d)), np.arange(60) % n_classes
    for model in (MultinomialNB(), fastclf.ComplementNB(), fastclf.BernoulliNB()):
        model.fit(X, y)
        model.feature_log_prob_ = np.array(model.feature_log_prob_, order=order)
        for n in (1, 60):
            found = model.predict_joint_log_proba(sparse.csr_array(X[:n]))
            np.testing.assert_allclose(found, model.predict_joint_log_proba(X[:n]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5])
def test_impossible_features_of_sparse_rows_are_impossible(n):
    X, y = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), [0, 1]
    model = MultinomialNB(alpha=0.0).fit(sparse.csr_array(X), y)
    Q = sparse.csr_array((np.array([1.0, 0.0] * n), np.array([0, 1] * n), 2 * np.arange(n + 1)), (n, 3))
    assert model.predict(Q).tolist() == [0] * n  # a count of 0 times log 0 is 0
    np.testing.assert_array_equal(model.predict_joint_log_proba(Q)[:, 1], -np.inf)


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
@pytest.mark.parametrize("dtype", ["f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f8", "?"])
def test_every_type_gives_the_answers_of_float64(rng, name, dtype):
    X, y = rows(rng, "MultinomialNB")
    X = X.astype(dtype)
    got, wanted = (getattr(fastclf, name)().fit(Z, y).predict_joint_log_proba(Z) for Z in (X, X.astype(float)))
    np.testing.assert_allclose(got, wanted, rtol=1e-13)


@pytest.mark.parametrize("layout", ["fortran", "strided", "read-only", "memory map"])
def test_any_layout_is_taken(rng, layout, tmp_path):
    X, y = rows(rng, "GaussianNB")
    Z = {
        "fortran": lambda: np.asfortranarray(X),
        "strided": lambda: np.repeat(X, 2, axis=0)[::2],
        "read-only": lambda: np.frombuffer(X.tobytes()).reshape(X.shape),
        "memory map": lambda: np.memmap(tmp_path / "x", X.dtype, "w+", shape=X.shape),
    }[layout]()
    if layout == "memory map":
        Z[:] = X
    np.testing.assert_array_equal(GaussianNB().fit(Z, y).predict_proba(Z), GaussianNB().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e12])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_offset_costs_no_digits(rng, offset, weighted):
    X, y = rng.standard_normal((5000, 3)) + offset, rng.integers(0, 3, 5000)
    weight = rng.random(5000) if weighted else None
    model = GaussianNB(var_smoothing=0).fit(X, y, weight)
    means, variances = reference.moments(X, y, weight)
    np.testing.assert_allclose(model.theta_, means, rtol=1e-15, atol=1e-14)
    np.testing.assert_allclose(model.var_, variances, rtol=1e-12)


def test_an_outlier_in_front_costs_no_more_than_its_rows(rng):
    X, y = rng.standard_normal((4000, 2)), np.zeros(4000, int)
    X[0] = 1e8
    np.testing.assert_allclose(GaussianNB(var_smoothing=0).fit(X, y).var_, reference.moments(X, y)[1], rtol=1e-10)


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
def test_threads_change_no_bit(rng, name, monkeypatch):
    X, y = rows(rng, name, 3001, 5)
    monkeypatch.setattr(class_sums, "_SPAN", 1 << 10)
    monkeypatch.setattr(class_sums, "_THREAD_WORK", 0)
    monkeypatch.setattr(blocks, "_THREAD_WORK", 0)
    monkeypatch.setattr(blocks, "_FIRST_WORK", 0)
    monkeypatch.setattr(blocks, "_THREAD_SECONDS", 1e-9)
    monkeypatch.setattr(blocks, "_RANGE_WORK", 1000)
    models = [getattr(fastclf, name)(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    X = np.tile(X, (3, 1))
    for method in METHODS:
        one, other = (getattr(model, method)(X) for model in models)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
def test_levels_agree(rng, name, monkeypatch):
    X, y = rows(rng, name)
    expected = getattr(fastclf, name)().fit(X, y).predict_joint_log_proba(X)
    for level in _simd.available():
        joint = _simd.load("naive_bayes._joints", level)
        monkeypatch.setattr(joints, "kernels", joint)
        monkeypatch.setattr(gaussian_leave_one_out, "kernels", joint)
        monkeypatch.setattr(class_sums, "kernels", _simd.load("sums._class_sums", level))
        np.testing.assert_allclose(
            getattr(fastclf, name)().fit(X, y).predict_joint_log_proba(X), expected, rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize(("data", "errors"), [("iris", 7), ("wine", 4)])
def test_leave_one_out_has_the_published_errors(data, errors):
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    assert (GaussianNB().leave_one_out(X, y) != y).sum() == errors


@pytest.mark.parametrize("params", [{}, {"priors": [0.1, 0.2, 0.7]}, {"var_smoothing": 1e-3}])
def test_leave_one_out_is_the_fit_of_all_other_rows(rng, params):
    X, y = rows(rng, "GaussianNB", 90, 4)
    y[:60] %= 2
    X[7] = 1e6  # a value so large that its subtraction from the sums leaves too few digits
    expected = reference.leave_one_out(GaussianNB(**params), X, y)
    np.testing.assert_array_equal(GaussianNB(**params).leave_one_out(X, y), expected)


@pytest.mark.parametrize("d", [1, 5, 33, 70])
@pytest.mark.parametrize("smoothing", [0, 1e-9, 0.5])
def test_leave_one_out_is_so_for_constant_columns_and_any_width(rng, d, smoothing):
    X, y = rng.standard_normal((60, d)), rng.integers(0, 2, 60)
    X[:, 0] *= y == 0  # column 0 is constant in one class
    model = GaussianNB(var_smoothing=smoothing)
    np.testing.assert_array_equal(model.leave_one_out(X, y), reference.leave_one_out(model, X, y))


def test_ten_thousand_columns_do_not_underflow(rng):
    X, y = rows(rng, "MultinomialNB", 60, 10_000)
    for name in [*ATTRIBUTES, "PoissonNB"]:
        model = getattr(fastclf, name)().fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()
        assert model.score(X, y) == 1


def test_a_category_never_seen_has_the_count_zero():
    X, y = [[0], [0], [1]], [0, 0, 1]
    model = CategoricalNB(alpha=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict_joint_log_proba([[9]]), np.log([[2 / 3 * 0.5 / 3, 1 / 3 * 0.5 / 2]]))
    np.testing.assert_array_equal(CategoricalNB(alpha=0).fit(X, y).predict_proba([[9], [1]]), [[0.5, 0.5], [0, 1]])


def test_without_smoothing_what_is_impossible_is_so_and_nothing_is_nan():
    X, y = np.array([[2, 0, 1], [1, 0, 1], [0, 3, 1]]), [0, 0, 1]
    for name in ("BernoulliNB", "MultinomialNB", "PoissonNB"):
        for form in (np.asarray, sparse.csr_array):
            found = getattr(fastclf, name)(alpha=0).fit(form(X), y).predict_proba(form(X))
            np.testing.assert_array_equal(found, [[1, 0], [1, 0], [0, 1]])
            assert not np.isnan(getattr(fastclf, name)(alpha=0).fit(form(X), y).predict_proba(form([[5, 5, 0]]))).any()


@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_few_rows_of_categories_have_the_bits_of_many(rng, n_classes):
    X, y = rng.integers(0, 7, (200, 40)), rng.integers(0, n_classes, 200)
    Q = rng.integers(0, 12, (100, 40))  # with categories that no row of the fit had
    model = CategoricalNB(alpha=0.3).fit(X, y)
    many = model.predict_joint_log_proba(Q)
    for dtype in (np.int64, np.uint8, np.float32):
        few = [model.predict_joint_log_proba(Q[i : i + 7].astype(dtype)) for i in range(0, 100, 7)]
        np.testing.assert_array_equal(np.concatenate(few), many)


@pytest.mark.parametrize("most", [2, 6, 7, 8, 20])
def test_categories_of_many_rows_have_the_probabilities_that_they_have_in_few(rng, most):
    X, y = rng.integers(7, size=(200, 4)), rng.integers(3, size=200)
    model = CategoricalNB(alpha=0.3, min_categories=[1, 1, 50, 1]).fit(X, y)
    Q = rng.integers(3, size=(40, 4))
    Q[::3, 1], Q[1::3, 2] = most, most
    few = np.concatenate([model.predict_joint_log_proba(row) for row in Q[:, None]])
    np.testing.assert_array_equal(model.predict_joint_log_proba(Q), few)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "PoissonNB", "CategoricalNB"])
def test_without_smoothing_a_class_that_no_row_has_yet_is_impossible(name):
    X = [[1, 2], [0, 1], [2, 1]]
    model = getattr(fastclf, name)(alpha=0).partial_fit(X, [1, 1, 2], classes=[0, 1, 2])
    weighted = getattr(fastclf, name)(alpha=0).fit([*X, [0, 0]], [1, 1, 2, 0], sample_weight=[1, 1, 1, 0])
    for fitted in (model, weighted):
        assert (fitted.predict_joint_log_proba(X)[:, 0] == -np.inf).all()
        assert (fitted.predict(X) > 0).all()


def test_without_smoothing_a_class_of_empty_rows_has_no_words():
    model = MultinomialNB(alpha=0).fit([[1, 2], [0, 0]], ["text", "empty"])
    np.testing.assert_array_equal(model.predict([[1, 2], [0, 0], [2, 0]]), ["text", "empty", "text"])


def test_a_variance_of_zero_is_the_limit_of_small_ones():
    model = GaussianNB(var_smoothing=0).fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba([[0.0], [1.0], [0.9]]), [[1, 0], [0, 1], [0, 1]])


def test_poisson_rates_are_means_with_rows_of_one_added(rng):
    X, y = rows(rng, "PoissonNB")
    model = PoissonNB(alpha=2).fit(X, y)
    rate = np.array([(X[y == k].sum(axis=0) + 2) / ((y == k).sum() + 2) for k in range(3)])
    np.testing.assert_allclose(model.rate_, rate, rtol=1e-14)
    joint = X @ np.log(rate).T - rate.sum(axis=1) + np.log(np.bincount(y) / len(y))
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-12)


@pytest.mark.parametrize("name", [*ATTRIBUTES, "PoissonNB"])
def test_a_saved_model_answers_alike(rng, name, tmp_path):
    X, y = rows(rng, name)
    model = getattr(fastclf, name)().fit(X, y)
    fastclf.save(model, tmp_path / "model")
    loaded = fastclf.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_strings_and_bools_are_labels(rng):
    X, y = rows(rng, "GaussianNB")
    far = y.astype(np.uint64) + np.uint64(2**63 + 5)
    for labels in (np.array(["b", "a", "c"])[y], y > 0, y >= 0, y.astype(float), (y + 10**12).astype(object), far):
        model = GaussianNB().fit(X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        np.testing.assert_array_equal(model.classes_[encode_labels(labels)[1]], labels)


X, Y = np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1]
BAD = {
    "nan": (lambda: GaussianNB().fit(np.where(X == 5, np.nan, X), Y), r"contains NaN \(row 2, column 1\)"),
    "nan asked": (lambda: GaussianNB().fit(X, Y).predict(np.where(X == 5, np.nan, X)), "contains NaN"),
    "infinity": (lambda: MultinomialNB().fit(np.where(X == 5, np.inf, X), Y), r"contains infinity \(row 2, column 1"),
    "infinity asked": (lambda: BernoulliNB().fit(X, Y).predict(np.where(X == 5, np.inf, X)), "contains infinity"),
    "overflow": (lambda: GaussianNB().fit(X * 1e300, Y), "so large that their variance is not finite"),
    "negative": (lambda: MultinomialNB().fit(-X, Y), "Negative values in data passed to MultinomialNB"),
    "negative count": (lambda: PoissonNB().fit(-X, Y), "Negative values in data passed to PoissonNB"),
    "negative count asked": (lambda: PoissonNB().fit(X, Y).predict(-X), "Negative values in data passed to PoissonNB"),
    "category": (lambda: CategoricalNB().fit(-X, Y), r"Negative .* -1.0 in row 0, column 1; categories"),
    "far category": (lambda: CategoricalNB().fit(X * 1e12, Y), "Values too large passed to CategoricalNB"),
    "huge category": (lambda: CategoricalNB().fit(X * 1e8, Y), "numbered without gaps are wanted"),
    "priors": (lambda: GaussianNB(priors=[0.5, 0.6]).fit(X, Y), "The sum of the priors should be 1"),
    "negative priors": (lambda: GaussianNB(priors=[-0.5, 1.5]).fit(X, Y), "Priors must be non-negative"),
    "priors by name": (lambda: GaussianNB(priors="uniform").fit(X, Y), "priors is 'uniform'; an array of 2 prob"),
    "number of priors": (lambda: BernoulliNB(class_prior=[1.0]).fit(X, Y), "Number of priors must match"),
    "alpha": (lambda: MultinomialNB(alpha=-1).fit(X, Y), "alpha is -1"),
    "alphas": (lambda: MultinomialNB(alpha=[1, 1, 1]).fit(X, Y), "Got 3 elements instead of 2"),
    "smoothing": (lambda: GaussianNB(var_smoothing=-1).fit(X, Y), "var_smoothing is -1"),
    "new class": (lambda: GaussianNB().partial_fit(X, Y, [0, 2]), r"label\(s\) \[1\] in y do not exist"),
    "no classes": (lambda: GaussianNB().partial_fit(X, Y), "classes must be passed on the first call"),
    "weights": (lambda: GaussianNB().fit(X, Y, np.zeros(6)), "sample_weight is zero for every row"),
    "sparse": (lambda: GaussianNB().fit(sparse.csr_array(X), Y), "sparse"),
    "merge": (lambda: GaussianNB().fit(X, Y).merge(GaussianNB().fit(X[:, :1], Y)), "a different number of columns"),
    "merge another": (lambda: GaussianNB().fit(X, Y).merge(PoissonNB().fit(X, Y)), "a fitted GaussianNB is wanted"),
    "folds": (lambda: GaussianNB().predict_folds(X, Y, [0, 1]), r"folds has shape \(2,\)"),
    "one fold": (lambda: GaussianNB().predict_folds(X, Y, np.zeros(6)), "at least two are wanted"),
    "weightless fold": (lambda: GaussianNB().predict_folds(X, Y, Y, [0, 0, 0, 1, 1, 1]), "at least two are wanted"),
    "method": (lambda: GaussianNB().predict_folds(X, Y, Y, method="score"), "method is 'score'"),
    "one row": (lambda: GaussianNB().leave_one_out(X[:1], Y[:1]), "at least two are wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    model = GaussianNB().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError):
        model.partial_fit(X * np.nan, Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("norm", [True, False])
def test_a_complement_without_counts_has_large_weights_and_no_answer_is_nan(norm):
    X = [[2, 0, 1], [0, 3, 0], [0, 3, 0]]
    model = ComplementNB(alpha=0, norm=norm).fit(X, ["a", "b", "b"])
    assert np.isfinite(model.feature_log_prob_).all()
    assert model.predict([[1, 0, 0], [0, 1, 0], [0, 0, 4]]).tolist() == ["a", "b", "a"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(("n_classes", "d"), [(2, 1), (2, 30), (30, 2), (30, 30)])
def test_weights_of_a_complement_count_all_other_classes(rng, n_classes, d):
    X, y = rng.exponential(size=(90, d)), np.arange(90) % n_classes
    weights = ComplementNB(alpha=0.5).fit(X, y).feature_log_prob_
    for k in range(n_classes):
        others = X[y != k].sum(axis=0) + 0.5
        np.testing.assert_allclose(weights[k], -np.log(others / others.sum()), rtol=1e-12, atol=1e-14)


def test_one_class_alone_has_its_prior_in_a_complement():
    X = np.array([[1, 2], [3, 0]])
    ours, theirs = (kind().fit(X, [7, 7]) for kind in (ComplementNB, naive_bayes.ComplementNB))
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X))
    assert ours.predict(X).tolist() == [7, 7]


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "PoissonNB"])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(("n", "n_classes"), [(6000, 60), (50_000, 3)])
def test_many_rows_and_classes_are_decided_as_by_their_log_joints(rng, name, n_jobs, n, n_classes):
    X, y = rng.integers(3, size=(n, 7)), rng.permutation(np.arange(n) % n_classes)
    model = getattr(fastclf, name)(n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)])
    bad = X.astype(float)
    bad[5000, 2] = np.nan
    with pytest.raises(ValueError, match="row 5000, column 2"):
        model.predict(bad)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "PoissonNB"])
def test_equal_classes_and_impossible_ones_are_decided_as_by_their_log_joints(rng, name):
    X = np.tile(rng.integers(3, size=(300, 9)), (10, 1))
    X[:, 4] = 0
    y = np.repeat(np.arange(10), 300)  # all classes have the same rows, so that all log joints of a row are equal
    for priors in (None, [0.5, 0.5, *[0] * 8]):
        with np.errstate(divide="ignore"):
            for alpha in (1e-3, 0) if name != "PoissonNB" else (1e-3,):
                model = getattr(fastclf, name)(alpha=alpha, class_prior=priors).fit(X, y)
                expected = model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)]
                np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.levels
def test_the_first_of_the_largest_log_joints_decides(rng):
    for n_classes in [1, 2, 3, 7, 8, 15, 16, 17, 31, 40]:
        joint = rng.integers(-3, 0, size=(200, n_classes)).astype(float)
        joint[:5] = -np.inf
        np.testing.assert_array_equal(joints.decide(joint, 1), joint.argmax(axis=1))


COUNTED = [MultinomialNB(), ComplementNB(), BernoulliNB(binarize=1.0), MultinomialNB(alpha=0.0), BernoulliNB(alpha=0.0)]


@pytest.mark.parametrize("model", [GaussianNB(), *COUNTED], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 17])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u2", "i8", "bool"])
def test_few_rows_are_decided_by_the_log_joints_of_many(model, n_classes, dtype, rng):
    X = rng.poisson(1.2, (150, 7)).astype(dtype)
    y = np.arange(150) % n_classes
    X[y == n_classes - 1] = X[y == 0][: (y == n_classes - 1).sum()]  # the first and the last class are nearly equal
    X[y == 1, 3] = 0  # a column that one class has no count of, and no variance in
    model = clone(model).fit(X, y)
    wanted = model.predict_joint_log_proba(X).argmax(axis=1)
    for few in (1, 2, 5):
        found = np.concatenate([model.predict(X[i : i + few]) for i in range(0, 150, few)])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("model", [GaussianNB(), *COUNTED[:3]], ids=repr)
def test_one_row_of_equally_probable_classes_gets_the_first(model, rng):
    X = rng.poisson(1.2, (40, 5)).astype(float)
    model = clone(model).fit(np.tile(X, (3, 1)), np.repeat([4, 5, 9], 40))
    assert {int(model.predict(row[None])[0]) for row in X} == {4}


@pytest.mark.parametrize("model", [GaussianNB(), *COUNTED], ids=repr)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_one_row_with_a_number_that_is_not_finite_is_refused(model, wrong, rng):
    X = rng.poisson(1.2, (40, 5)).astype(float)
    model = clone(model).fit(X, np.arange(40) % 2)
    X[0, 3] = wrong
    with pytest.raises(ValueError, match="row 0, column 3"):
        model.predict(X[:1])


def test_few_sparse_rows_of_bernoulli_have_the_answers_of_dense_ones(rng):
    X = (rng.random((80, 900)) < 0.05).astype(float)
    y = np.arange(80) % 3
    for alpha in (0.5, 0):
        model = fastclf.BernoulliNB(alpha=alpha).fit(X, y)
        joint = model.predict_joint_log_proba(X)
        for rows in ([3], np.arange(15), [0] * 20):
            found = model.predict_joint_log_proba(sparse.csr_array(X[rows]))
            np.testing.assert_allclose(found, joint[rows], rtol=1e-12)
