"""Private names of scikit-learn's estimators that converters of models (skl2onnx, m2cgen) read from a fitted one."""

import warnings

import numpy as np
import pytest

import fastclf
import fastclf.model_selection
from fastclf.metrics import make_scorer
from fastclf.neighbors import RadiusNeighborsClassifier

linear_model = pytest.importorskip("sklearn.linear_model", reason="the names are compared with scikit-learn's")
model_selection = pytest.importorskip("sklearn.model_selection")
neighbors = pytest.importorskip("sklearn.neighbors")
preprocessing = pytest.importorskip("sklearn.preprocessing")
svm = pytest.importorskip("sklearn.svm")


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    y = np.array(["b", "a", "c"])[np.arange(60) % 3]
    return rng.standard_normal((60, 4)) + (y == "b")[:, None], y


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.5])
def test_support_vector_machines_have_the_number_that_gamma_stands_for(data, name, gamma):
    ours = getattr(fastclf, name)(gamma=gamma).fit(*data)
    assert ours._gamma == pytest.approx(getattr(svm, name)(gamma=gamma).fit(*data)._gamma, rel=1e-6)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_sigmoids_of_a_fit_without_probabilities_are_empty(data, name, tmp_path):
    model = getattr(fastclf, name)()
    assert not hasattr(model, "probA_")
    fastclf.save(model.fit(*data), tmp_path / "model")
    for each in (model, fastclf.load(tmp_path / "model")):
        assert each.probA_.shape == each.probB_.shape == (0,)
    assert model.set_params(probability=True).fit(*data).probA_.shape == (3,)


@pytest.mark.parametrize("ours", [fastclf.KNeighborsClassifier(), RadiusNeighborsClassifier(3.0)])
@pytest.mark.parametrize("several", [False, True])
def test_voters_have_the_class_codes_of_their_rows(data, ours, several):
    X, y = data
    y = np.stack([y, y[::-1]], axis=1) if several else y
    theirs = getattr(neighbors, type(ours).__name__)().fit(X, y)
    assert ours.fit(X, y)._y.tolist() == theirs._y.tolist()


@pytest.mark.parametrize("degree", [2, (2, 3)])
def test_polynomial_features_have_the_arguments_of_their_combinations(data, degree):
    ours, theirs = (kind.PolynomialFeatures(degree).fit(data[0]) for kind in (fastclf, preprocessing))
    found, wanted = (
        list(each._combinations(4, each._min_degree, each._max_degree, each.interaction_only, each.include_bias))
        for each in (ours, theirs)
    )
    assert found == wanted


@pytest.mark.parametrize("options", [{}, {"drop": "first"}, {"max_categories": 2}, {"min_frequency": 15}])
@pytest.mark.parametrize("removed", [True, False])
def test_one_hot_encoders_have_the_categories_of_their_columns(options, removed):
    X = np.array([["a"] * 20 + ["b"] * 16 + ["c"] * 4 + ["d"] * 2], dtype=object).T
    ours, theirs = (kind.OneHotEncoder(**options).fit(X) for kind in (fastclf, preprocessing))
    assert bool(ours._infrequent_enabled) == bool(theirs._infrequent_enabled)
    found, wanted = (each._compute_transformed_categories(0, removed).tolist() for each in (ours, theirs))
    assert found == wanted


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_by_logistic_functions_of_the_scores_are_those_of_scikit_learn(data, n_classes):
    X, y = data
    kept = np.isin(y, ["a", "b", "c"][:n_classes])
    ours = fastclf.LogisticRegression().fit(X[kept], y[kept])
    theirs = linear_model.LogisticRegression().fit(X[kept], y[kept])
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    assert ours._predict_proba_lr(1000 * X) == pytest.approx(theirs._predict_proba_lr(1000 * X), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_sigmoids_mean_what_they_mean_in_scikit_learn(data, name, n_classes):
    X, y = data
    kept = np.isin(y, ["a", "b", "c"][:n_classes])
    kept[:30] &= y[:30] != "a"
    parameters = {"probability": True, "random_state": 0} | ({"nu": 0.3} if name == "NuSVC" else {})
    ours, theirs = (getattr(kind, name)(**parameters) for kind in (fastclf, svm))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = ours.fit(X[kept], y[kept]).predict_proba(X)
        theirs.fit(X[kept], y[kept])
    sign = 1 if n_classes > 2 else -1
    theirs.support_, theirs.support_vectors_, theirs._n_support = ours.support_, ours.support_vectors_, ours.n_support_
    theirs._dual_coef_, theirs._intercept_ = sign * ours.dual_coef_, sign * ours.intercept_
    theirs._probA, theirs._probB = ours.probA_, ours.probB_
    # LIBSVM finds probabilities by steps that end at a change of less than 0.005 / n_classes
    assert found == pytest.approx(theirs.predict_proba(X), abs=5e-3)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", make_scorer(fastclf.metrics.f1_score, pos_label="b")])
def test_tuned_thresholds_have_the_scorer_of_their_curve(data, scoring):
    X, y = data
    kept = y != "c"
    found = []
    for package in (fastclf.model_selection, model_selection):
        model = package.TunedThresholdClassifierCV(fastclf.GaussianNB(), scoring=scoring, cv=3)
        found.append(model.fit(X[kept], y[kept])._curve_scorer._get_pos_label())
    assert found[0] == found[1]
