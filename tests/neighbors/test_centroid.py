"""Nearest centroid: means and medians of the classes, and scikit-learn's answers."""

import warnings

import numpy as np
import pytest
import reference_centroid as reference
from conftest import pairwise_grid
from scipy.sparse import csc_array, csr_array
from sklearn.neighbors import NearestCentroid as Theirs

from fastclf import NearestCentroid, load, save
from fastclf.sums import blocks, moments

pytestmark = pytest.mark.levels

METRICS = ["euclidean", "manhattan"]
FITTED = ["centroids_", "within_class_std_dev_", "deviations_", "class_prior_", "classes_"]


def data(rng, n=300, d=7, n_classes=3, dtype=np.float64, offset=0.0):
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.standard_normal((n, d)) + 2 * rng.standard_normal((n_classes, d))[y] + offset
    return X.astype(dtype), y


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 1, 2), (40, 3, 2), (301, 5, 4), (5000, 33, 10)])
def test_centroids_spread_and_labels_are_those_of_the_reference(rng, metric, dtype, shape):
    X, y = data(rng, *shape, dtype)
    model = NearestCentroid(metric=metric).fit(X, y)
    centroids = reference.centroids(X, y, metric)
    np.testing.assert_allclose(model.centroids_, centroids, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.within_class_std_dev_, reference.within_class_std_dev(X, y, centroids), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X, centroids, np.unique(y), metric))


@pairwise_grid(
    metric=METRICS,
    shrink=[None, 0.3, 5.0],
    priors=["uniform", "empirical", [0.2, 0.5, 0.3]],
    make=[np.asarray, csr_array, csc_array],
)
def test_every_answer_is_scikit_learns(rng, metric, shrink, priors, make):
    X, y = data(rng)
    X[np.abs(X) < 0.8] = 0
    parameters = {"metric": metric, "shrink_threshold": shrink, "priors": priors}
    ours = NearestCentroid(**parameters).fit(make(X), y)
    theirs = Theirs(**parameters).fit(X, y)
    for name in FITTED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(ours.predict(make(X)), theirs.predict(X))
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(ours, name) == hasattr(theirs, name) == (metric == "euclidean")
        if metric == "euclidean":
            np.testing.assert_allclose(getattr(ours, name)(make(X)), getattr(theirs, name)(X), rtol=1e-9, atol=1e-10)


def test_two_classes_have_the_decision_of_scikit_learn(rng):
    X, y = data(rng, n_classes=2)
    for priors in ("uniform", [0.1, 0.9]):
        ours, theirs = NearestCentroid(priors=priors).fit(X, y), Theirs(priors=priors).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_two_classes_expose_the_separator_of_the_texts(rng):
    X, y = data(rng, n_classes=2)
    model = NearestCentroid().fit(X, y)
    n, p = model.centroids_
    np.testing.assert_allclose(model.coef_, [p - n])
    assert model.threshold_ == pytest.approx((p @ p - n @ n) / 2)
    assert model.intercept_.tolist() == [-model.threshold_]
    np.testing.assert_array_equal(model.predict(X), (X @ model.coef_[0] > model.threshold_).astype(int))


@pytest.mark.filterwarnings("ignore:.*zero standard deviation")
def test_the_worked_example_of_the_docstring_is_exact():
    model = NearestCentroid().fit([[0, 0], [2, 0], [4, 4], [6, 4]], ["n", "n", "p", "p"])
    assert (model.coef_.tolist(), model.threshold_) == ([[4.0, 4.0]], 20.0)
    # the point (3, 2) has the same distance from both centroids
    assert model.predict([[3, 2], [3, 2.1]]).tolist() == ["n", "p"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_weight_zero_is_a_missing_row_and_two_a_duplicated_one(rng, metric, make):
    X, y = data(rng, 90)
    X[np.abs(X) < 0.8] = 0
    weight = rng.integers(0, 4, 90)
    y[:5], weight[:5] = 9, 0  # all rows of class 9 have weight 0
    weighted = NearestCentroid(metric=metric).fit(make(X), y, weight)
    repeated = NearestCentroid(metric=metric).fit(*reference.repeated(X, y, weight))
    for name in FITTED:
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-10, atol=1e-13)


def test_a_large_offset_costs_no_digits_of_the_spread(rng):
    X, y = data(rng, 2000, offset=0.0)
    X = X.round(3)
    far = NearestCentroid().fit(X + 2.0**30, y)
    near = NearestCentroid().fit(X, y)
    np.testing.assert_allclose(far.within_class_std_dev_, near.within_class_std_dev_, rtol=1e-6)
    np.testing.assert_array_equal(far.predict(X + 2.0**30), near.predict(X))


def test_a_column_constant_in_each_class_has_spread_zero_and_is_told():
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.7, 0.0], [0.7, 5.0]])
    with pytest.warns(UserWarning, match="at least 1 zero standard deviation"):
        model = NearestCentroid(priors="empirical").fit(X, [0, 0, 1, 1])
    assert model.within_class_std_dev_[0] == 0
    with pytest.warns(UserWarning, match="zero standard deviation"):
        theirs = Theirs(priors="empirical").fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X))


def test_one_row_a_class_gives_finite_answers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NearestCentroid(shrink_threshold=0.5, priors="empirical").fit([[0.0, 1.0], [3.0, 1.0]], [0, 1])
    assert model.predict([[1.0, 1.0], [2.0, 1.0]]).tolist() == [0, 1]
    assert np.isfinite(model.centroids_).all()


def test_threads_and_ranges_change_no_bit(rng, monkeypatch):
    X, y = data(rng, 20_000, 9)
    expected = NearestCentroid(n_jobs=1).fit(X, y)
    labels = expected.predict(X)
    monkeypatch.setattr(moments, "_RANGE_NUMBERS", 1000)
    monkeypatch.setattr(blocks, "_THREAD_WORK", 0)
    monkeypatch.setattr(blocks, "_FIRST_WORK", 0)
    monkeypatch.setattr(blocks, "_THREAD_SECONDS", 1e-9)
    monkeypatch.setattr(blocks, "_RANGE_WORK", 1000)
    for n_jobs in (1, 3):
        model = NearestCentroid(n_jobs=n_jobs).fit(X, y)
        for name in FITTED:
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
        np.testing.assert_array_equal(model.predict(X), labels)


@pytest.mark.parametrize("metric", METRICS)
def test_a_file_gives_back_what_was_saved(rng, metric, tmp_path):
    X, y = data(rng)
    model = NearestCentroid(metric=metric).fit(X, y)
    save(model, tmp_path / "model.fclf")
    back = load(tmp_path / "model.fclf")
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    back.centroids_ = back.centroids_[:, :-1].copy()
    with pytest.raises(ValueError, match="centroids_ has shape"):
        save(back, tmp_path / "model.fclf")


def test_a_stopped_or_failed_fit_leaves_the_estimator_as_it_was(rng):
    X, y = data(rng)
    model = NearestCentroid().fit(X, y)
    before = model.centroids_
    with pytest.raises(RuntimeError, match="stopped by callback"):
        model.set_params(callback=lambda step, total, value: True).fit(X + 1, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.set_params(callback=None).fit(X * np.nan, y)
    assert model.centroids_ is before


BAD = {
    "metric": (lambda X, y: NearestCentroid(metric="cosine").fit(X, y), "metric is 'cosine'; one of"),
    "shrink": (lambda X, y: NearestCentroid(shrink_threshold=0).fit(X, y), "shrink_threshold is 0; a number above 0"),
    "one class": (
        lambda X, y: NearestCentroid().fit(X, y * 0),
        "y has one class, 0; the number of classes has to be greater than one",
    ),
    "priors": (lambda X, y: NearestCentroid(priors=[1, 2]).fit(X, y), r"priors has shape \(2,\); \(3,\)"),
    "negative": (lambda X, y: NearestCentroid(priors=[1, -1, 1]).fit(X, y), "priors must be non-negative"),
    "constant": (lambda X, y: NearestCentroid().fit(X * 0, y), "All features have zero variance"),
    "weights": (lambda X, y: NearestCentroid().fit(X, y, y * 0), "sample_weight is zero for every row"),
    "nan": (lambda X, y: NearestCentroid().fit(np.where(X > 1, np.nan, X), y), r"contains NaN \(row \d+, column"),
    "huge": (lambda X, y: NearestCentroid().fit(X * 1e200, y), "values below 1e150 are wanted"),
    "nan query": (lambda X, y: NearestCentroid().fit(X, y).predict(X * np.nan), "X contains NaN"),
    "no scores": (
        lambda X, y: NearestCentroid(metric="manhattan").fit(X, y).predict_proba(X),
        "has no attribute .predict_proba",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError, AttributeError), match=sentence) as caught:
        call(*data(rng))
    assert "\n" not in str(caught.value)
