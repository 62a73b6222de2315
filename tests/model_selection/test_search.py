"""Searches choose what scikit-learn's choose, with its results; thresholds are scikit-learn's, too."""

import pickle

import numpy as np
import pytest
import sklearn.model_selection as theirs
from scipy.stats import uniform
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeClassifier

import fastclf

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(11)
X = RNG.normal(size=(90, 4))
Y = np.array(["no", "yes"])[(X[:, 0] + 0.7 * RNG.normal(size=90) > 0.3).astype(int)]
TWO = (Y == "yes").astype(int)
TIMES = ("fit_time", "score_time")
GRIDS = [
    (fastclf.KNeighborsClassifier(), {"n_neighbors": [1, 5, 9], "weights": ["uniform", "distance"]}),
    (fastclf.DecisionTreeClassifier(), [{"ccp_alpha": [0.0, 0.02, 0.1]}, {"max_depth": [2, None]}]),
    (make_pipeline(StandardScaler(), fastclf.LogisticRegression()), {"logisticregression__C": [0.01, 1.0]}),
    (Theirs(), {"C": [0.1, 1.0, 10.0]}),
]


def same_results(found, wanted):
    for key, value in wanted.items():
        if key == "params":
            assert found[key] == value
        elif key.startswith("param_"):
            assert found[key].dtype == value.dtype
            assert (found[key].mask == value.mask).all()
            assert found[key].compressed().tolist() == value.compressed().tolist()
        elif not key.endswith(TIMES):
            np.testing.assert_allclose(found[key], value, rtol=1e-12, err_msg=key)
    assert found.keys() == wanted.keys()


@pytest.mark.parametrize(("model", "grid"), GRIDS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("scoring", [None, "accuracy", fastclf.make_scorer(fastclf.f1_score, pos_label="yes")])
def test_a_grid_search_is_scikit_learns(model, grid, scoring):
    options = {"cv": 4, "scoring": scoring, "return_train_score": True}
    found, wanted = (room.GridSearchCV(clone(model), grid, **options).fit(X, Y) for room in (fastclf, theirs))
    same_results(found.cv_results_, wanted.cv_results_)
    for name in ("best_params_", "best_index_", "n_splits_", "multimetric_", "n_features_in_"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.best_score_ == pytest.approx(wanted.best_score_)
    assert found.score(X, Y) == wanted.score(X, Y)
    assert (found.predict(X) == wanted.predict(X)).all()
    assert (found.classes_ == wanted.classes_).all()
    assert hasattr(found, "decision_function") == hasattr(wanted, "decision_function")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "settings",
    [
        {"n_neighbors": range(1, 12), "weights": ["uniform", "distance"]},
        {"n_neighbors": [1, 2], "p": uniform(1, 3)},
        [{"n_neighbors": [1, 2]}, {"weights": ["distance"]}],
        {"leaf_size": range(1, 2000)},
    ],
)
def test_the_same_seed_draws_the_settings_of_scikit_learn(settings, seed):
    for n_iter in (1, 3, 20):
        found, wanted = (room.ParameterSampler(settings, n_iter, random_state=seed) for room in (fastclf, theirs))
        assert list(found) == list(wanted)
        assert len(found) == len(wanted)


def test_a_grid_has_scikit_learns_combinations():
    for grid in ({"b": [1, 2], "a": ["x", "y"]}, [{"a": [1]}, {}, {"b": [2, 3]}]):
        found, wanted = fastclf.ParameterGrid(grid), theirs.ParameterGrid(grid)
        assert list(found) == list(wanted)
        assert [found[i] for i in range(len(found))] == [wanted[i] for i in range(len(wanted))]


def test_a_randomized_search_is_scikit_learns():
    grid = {"n_neighbors": range(1, 30), "p": [1, 2]}
    options = {"n_iter": 6, "random_state": 3, "cv": 3}
    found, wanted = (
        room.RandomizedSearchCV(fastclf.KNeighborsClassifier(), grid, **options).fit(X, Y) for room in (fastclf, theirs)
    )
    same_results(found.cv_results_, wanted.cv_results_)
    assert found.best_params_ == wanted.best_params_


@pytest.mark.parametrize("refit", ["f1", False, lambda results: 1])
def test_several_scorers_are_scikit_learns(refit):
    options = {"scoring": {"acc": "accuracy", "f1": "f1"}, "refit": refit, "cv": 3}
    found, wanted = (
        room.GridSearchCV(Theirs(), {"C": [0.01, 1.0]}, **options).fit(X, TWO) for room in (fastclf, theirs)
    )
    same_results(found.cv_results_, wanted.cv_results_)
    for name in ("best_params_", "best_index_", "best_score_"):
        assert getattr(found, name, None) == getattr(wanted, name, None)
    assert hasattr(found, "predict") == hasattr(wanted, "predict")


def test_weights_reach_fits_and_scores():
    weight = RNG.integers(0, 4, 90)
    found, wanted = (
        room.GridSearchCV(Theirs(tol=1e-10), {"C": [0.01, 1.0]}, cv=3).fit(X, TWO, sample_weight=weight)
        for room in (fastclf, theirs)
    )
    same_results(found.cv_results_, wanted.cv_results_)


def test_groups_reach_the_splitter():
    groups = np.arange(90) % 7
    found, wanted = (
        room.GridSearchCV(Theirs(), {"C": [0.01, 1.0]}, cv=theirs.GroupKFold(3)).fit(X, TWO, groups=groups)
        for room in (fastclf, theirs)
    )
    same_results(found.cv_results_, wanted.cv_results_)


def test_a_search_is_an_estimator():
    search = fastclf.GridSearchCV(fastclf.KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3)
    assert is_classifier(search)
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(ValueError, match="not fitted"):
        search.predict(X)
    fitted = search.fit(X, Y)
    assert fitted is search
    copied = pickle.loads(pickle.dumps(search))
    assert (copied.predict(X) == search.predict(X)).all()
    assert not hasattr(clone(search), "best_estimator_")
    assert fastclf.cross_val_score(search, X, Y, cv=3).shape == (3,)
    assert theirs.cross_val_score(search, X, Y, cv=3).shape == (3,)
    with pytest.raises(TypeError, match="a file cannot hold"):
        fastclf.save(search, "search.fclf")


def test_a_failed_fit_leaves_a_search_as_it_was():
    search = fastclf.GridSearchCV(fastclf.KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3).fit(X, Y)
    before = search.cv_results_
    search.param_grid = {"n_neighbors": [0]}
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(X, Y)
    assert search.cv_results_ is before


def test_patched_searches_are_scikit_learns_for_isinstance():
    fastclf.patch_sklearn(["GridSearchCV"])
    try:
        assert theirs.GridSearchCV is fastclf.GridSearchCV
        assert isinstance(fastclf.GridSearchCV(Theirs(), {"C": [1]}), BaseSearchCV)
    finally:
        fastclf.unpatch_sklearn()


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", fastclf.make_scorer(fastclf.f1_score, pos_label=0)])
@pytest.mark.parametrize("cv", [None, 3, 0.4, "prefit"])
@pytest.mark.parametrize("response_method", ["auto", "decision_function"])
def test_tuned_thresholds_are_scikit_learns(scoring, cv, response_method):
    model = Theirs().fit(X, TWO)
    options = {"scoring": scoring, "cv": cv, "response_method": response_method, "random_state": 0}
    options |= {"store_cv_results": True, "refit": cv != "prefit"}
    found, wanted = (room.TunedThresholdClassifierCV(model, **options).fit(X, TWO) for room in (fastclf, theirs))
    assert found.best_threshold_ == pytest.approx(wanted.best_threshold_)
    assert found.best_score_ == pytest.approx(wanted.best_score_)
    np.testing.assert_allclose(found.cv_results_["scores"], wanted.cv_results_["scores"])
    assert (found.predict(X) == wanted.predict(X)).all()


@pytest.mark.parametrize("positive", [None, "no", "yes"])
@pytest.mark.parametrize("threshold", ["auto", 0.2, 0.9])
def test_fixed_thresholds_are_scikit_learns(positive, threshold):
    for method in ("auto", "decision_function"):
        options = {"threshold": threshold, "pos_label": positive, "response_method": method}
        found, wanted = (room.FixedThresholdClassifier(Theirs(), **options).fit(X, Y) for room in (fastclf, theirs))
        assert (found.predict(X) == wanted.predict(X)).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: fastclf.GridSearchCV(fastclf.GaussianNB(), {"var_smoothing": 3}).fit(X, Y),
        lambda: fastclf.GridSearchCV(fastclf.GaussianNB(), 3).fit(X, Y),
        lambda: fastclf.GridSearchCV(fastclf.GaussianNB(), {"unknown": [1]}).fit(X, Y),
        lambda: fastclf.GridSearchCV(3, {"C": [1]}).fit(X, Y),
        lambda: fastclf.GridSearchCV(fastclf.GaussianNB(), {}, scoring=["f1", "accuracy"]).fit(X, TWO),
        lambda: fastclf.RandomizedSearchCV(fastclf.GaussianNB(), {"var_smoothing": [1.0]}, n_iter=0).fit(X, Y),
        lambda: fastclf.FixedThresholdClassifier(fastclf.GaussianNB(), threshold="best").fit(X, Y).predict(X),
        lambda: fastclf.FixedThresholdClassifier(fastclf.GaussianNB()).fit(X, np.arange(90) % 3),
        lambda: fastclf.TunedThresholdClassifierCV(fastclf.GaussianNB(), cv=3, refit=False).fit(X, TWO),
        lambda: fastclf.TunedThresholdClassifierCV(fastclf.GaussianNB(), scoring=lambda m, X, y: 1).fit(X, TWO),
    ],
)
def test_junk_is_refused(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_estimators_of_other_libraries_draw_from_the_global_generator_in_scikit_learns_order():
    results = []
    for room in (fastclf, theirs):
        np.random.seed(3)  # noqa: NPY002 (the global generator is meant)
        search = room.GridSearchCV(ExtraTreeClassifier(), {"max_depth": [1, 3, None], "min_samples_leaf": [1, 5]}, cv=3)
        results.append(search.fit(X, Y).cv_results_["mean_test_score"])
    np.testing.assert_array_equal(*results)


class Plain:
    """An estimator that has only what a search needs, and does not tell its number of features."""

    def __init__(self, label=0):
        self.label = label

    def get_params(self, deep=True):
        return {"label": self.label}

    def set_params(self, label):
        self.label = label
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)

    def decision_function(self, X):
        return X[:, 0]

    def score(self, X, y):
        return np.mean(self.predict(X) == y)


def test_an_estimator_without_a_number_of_features_is_searched_and_tuned():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 3 // 2
    search = fastclf.GridSearchCV(Plain(), {"label": [0, 1]}, cv=3).fit(X, y)
    assert search.predict(X).tolist() == [0] * 30
    assert search.score(X, y) == 2 / 3
    tuned = fastclf.TunedThresholdClassifierCV(Plain(), cv=3).fit(X, y)
    assert len(tuned.predict(X)) == 30
    assert np.isfinite(tuned.best_threshold_)
    for model in (search, tuned):
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()
