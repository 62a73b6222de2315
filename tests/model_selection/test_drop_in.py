"""Functions with scikit-learn's names return what scikit-learn's return, for all of its arguments."""

import warnings

import numpy as np
import pandas
import pytest
import sklearn
from scipy.sparse import coo_array, csr_matrix
from sklearn import model_selection
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import fastclf
from fastclf import GaussianNB, KNeighborsClassifier, LeastSquaresClassifier, LogisticRegression, NearestCentroid

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["ape", "bee", "cat"])[Y]
NUMBERS = tuple(part[:120] for part in load_diabetes(return_X_y=True))


def by_both(name, *arguments, **options):
    return (getattr(module, name)(*arguments, **options) for module in (fastclf, model_selection))


@pytest.mark.parametrize("cv", [None, 3, model_selection.ShuffleSplit(4, random_state=0)], ids=str)
@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (KNeighborsClassifier(), (X, NAMES)),
        (SVC(), (X, Y)),
        (Ridge(), NUMBERS),
        (GaussianNB(), (X.tolist(), Y.tolist())),
    ],
    ids=["ours", "theirs", "a regressor", "lists"],
)
def test_cross_validate_is_scikit_learns(estimator, data, cv):
    options = {"cv": cv, "return_train_score": True, "return_indices": True}
    found, expected = by_both("cross_validate", estimator, *data, **options)
    assert set(found) == set(expected)
    for side in ("test", "train"):
        np.testing.assert_array_equal(found[f"{side}_score"], expected[f"{side}_score"])
        for mine, theirs in zip(found["indices"][side], expected["indices"][side], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(*by_both("cross_val_score", estimator, *data, cv=cv))


@pytest.mark.parametrize(
    "scoring",
    [
        "balanced_accuracy",
        ["accuracy", "jaccard_macro"],
        {"own": make_scorer(f1_score, average="macro"), "loss": "neg_log_loss"},
        lambda model, X, y: {"a": 1.0, "b": model.score(X, y)},
    ],
    ids=["a name", "names", "a dict", "a function with several figures"],
)
def test_figures_are_named_as_scikit_learn_names_them(scoring):
    found, expected = by_both("cross_validate", GaussianNB(), X, Y, scoring=scoring)
    assert list(found) == list(expected)
    for key in expected:
        if key.startswith("test_"):
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-12)


@pytest.mark.parametrize("name", ["d2_brier_score", "d2_log_loss_score", "jaccard_weighted", "top_k_accuracy"])
def test_figures_of_several_classes_by_name_are_scikit_learns(name):
    np.testing.assert_allclose(*by_both("cross_val_score", GaussianNB(), X[:, :2], Y, scoring=name), rtol=1e-12)


@pytest.mark.parametrize("name", ["jaccard", "positive_likelihood_ratio", "neg_negative_likelihood_ratio"])
def test_figures_of_two_classes_by_name_are_scikit_learns(name):
    y = (Y + np.arange(150) % 7 // 6) % 2
    np.testing.assert_allclose(*by_both("cross_val_score", GaussianNB(), X, y, scoring=name), rtol=1e-12)


@pytest.mark.parametrize("name", ["explained_variance", "neg_max_error", "neg_median_absolute_error"])
def test_figures_of_numbers_by_name_are_scikit_learns(name):
    np.testing.assert_allclose(*by_both("cross_val_score", Ridge(), *NUMBERS, scoring=name), rtol=1e-12)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("labels", [Y, NAMES, Y > 0], ids=["ints", "texts", "bools"])
def test_predictions_are_scikit_learns(method, labels):
    estimator = KNeighborsClassifier(3) if method == "predict" else LogisticRegression(tol=1e-8)
    for cv in (None, model_selection.KFold(4, shuffle=True, random_state=1)):
        found, expected = by_both("cross_val_predict", estimator, X, labels, cv=cv, method=method)
        assert found.dtype == expected.dtype
        if method == "predict":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, atol=1e-7)


def test_predictions_of_leave_one_out_take_the_shortcut_of_the_method(monkeypatch):
    expected = model_selection.cross_val_predict(LeastSquaresClassifier(), X, NAMES, cv=model_selection.LeaveOneOut())
    monkeypatch.setattr(LeastSquaresClassifier, "fit", None)
    np.testing.assert_array_equal(fastclf.cross_val_predict(LeastSquaresClassifier(), X, NAMES, cv="loo"), expected)


def test_predictions_for_several_labels_a_row_are_scikit_learns():
    rows, y = make_multilabel_classification(60, n_classes=3, random_state=0)
    for estimator, method in [
        (OneVsRestClassifier(SVC()), "decision_function"),
        (RandomForestClassifier(3, random_state=0), "predict_proba"),
    ]:
        found, expected = by_both("cross_val_predict", estimator, rows, y, method=method, cv=3)
        np.testing.assert_array_equal(found, expected)
    found, expected = by_both("cross_val_predict", OneVsRestClassifier(SVC()), csr_matrix(rows), csr_matrix(y), cv=3)
    assert found.format == expected.format
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_a_class_that_a_fold_lacks_has_a_column():
    for method in ("predict_proba", "predict_log_proba"):
        with pytest.warns(RuntimeWarning, match=r"training fold \(2\) does not match total number of classes \(3\)"):
            found, expected = by_both(
                "cross_val_predict", GaussianNB(), X, NAMES, cv=model_selection.KFold(3), method=method
            )
        np.testing.assert_array_equal(found, expected)
    options = {"cv": model_selection.KFold(3), "method": "decision_function"}
    with (
        pytest.raises(ValueError, match="Only 2 class/es in training fold, but 3"),
        warnings.catch_warnings(action="ignore"),
    ):
        fastclf.cross_val_predict(LogisticRegression(), X, Y, **options)


def test_arguments_of_fit_are_cut_to_the_rows_of_each_fold():
    weight = np.random.default_rng(0).random(150)
    for form in (np.asarray, list, pandas.Series):
        options = {"params": {"sample_weight": form(weight)}}
        np.testing.assert_array_equal(*by_both("cross_val_score", GaussianNB(), X[:, :2], Y, **options))
    plain = fastclf.cross_val_score(GaussianNB(), X[:, :2], Y)
    assert (fastclf.cross_val_score(GaussianNB(), X[:, :2], Y, **options) != plain).any()


class Picky(NearestCentroid):
    """A classifier that refuses rows of class 2."""

    def fit(self, X, y):
        if 2 in y:
            raise ValueError("no row of class 2 is wanted")
        return super().fit(X, y)


def test_fits_that_fail_have_the_error_score():
    pairs = [(np.arange(0, 100, 2), np.arange(1, 100, 2)), (np.arange(50, 150), np.arange(50))]
    for score in (np.nan, -3.0):
        with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 2.*ValueError: no row of class 2"):
            found, expected = by_both("cross_val_score", Picky(), X, Y, cv=pairs, error_score=score)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"^no row of class 2 is wanted$"):
        fastclf.cross_val_score(Picky(), X, Y, cv=pairs, error_score="raise")
    with pytest.raises(ValueError, match=r"All the 5 fits failed.*no row of class 2 is wanted"):
        fastclf.cross_val_score(Picky(), X, Y)


def test_a_value_that_cannot_be_fitted_is_not_chosen():
    with pytest.warns(FitFailedWarning, match="5 fits failed out of a total of 15"):
        found = fastclf.tune(KNeighborsClassifier(), {"n_neighbors": [0, 3, 5]}, X, Y)
    assert np.isnan(found.mean_score).tolist() == [True, False, False]
    assert found.chosen_params["n_neighbors"] in (3, 5)
    assert found.one_standard_error_params == {"n_neighbors": 5}


def test_a_scorer_that_fails_has_the_error_score():
    def fails(model, X, y):
        raise ValueError("no figure today")

    with pytest.warns(UserWarning, match="Scoring failed.*will be set to 7"):
        found = fastclf.cross_validate(GaussianNB(), X, Y, scoring={"a": fails, "b": "accuracy"}, error_score=7)
    assert found["test_a"].tolist() == [7] * 5
    assert (found["test_b"] > 0.9).all()


def test_a_fit_that_fails_does_not_decide_the_names_of_scores():
    pairs = [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))]
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        found = fastclf.cross_validate(Picky(), X, Y, cv=pairs, scoring=lambda model, X, y: {"rows": len(y)})
    np.testing.assert_array_equal(found["test_rows"], [np.nan, 50])
    assert "test_score" not in found


GRIDS = [
    {"n_neighbors": [1, 5, 9], "weights": ["uniform", "distance"]},
    [{"n_neighbors": [1, 5]}, {"weights": ["distance"], "metric": ["manhattan", "cosine"]}],
]


@pytest.mark.parametrize("grid", GRIDS, ids=["one grid", "two grids"])
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_the_mapping_that_tune_returns_is_that_of_scikit_learns_search(grid, scoring):
    refit = True if scoring is None else "accuracy"
    search = model_selection.GridSearchCV(
        KNeighborsClassifier(), grid, scoring=scoring, refit=refit, return_train_score=True
    ).fit(X, NAMES)
    found = fastclf.tune(KNeighborsClassifier(), grid, X, NAMES, scoring=scoring, return_train_score=True)
    assert set(found) == set(search.cv_results_)
    assert found["params"] == search.cv_results_["params"]
    for key, expected in search.cv_results_.items():
        if "score" in key and "time" not in key:
            np.testing.assert_allclose(found[key], expected, rtol=1e-12)
        elif key.startswith("param_"):
            np.testing.assert_array_equal(np.ma.getmaskarray(found[key]), np.ma.getmaskarray(expected))
            assert found[key].compressed().tolist() == expected.compressed().tolist()
    # of equal scores scikit-learn takes the first model, tune the simplest
    ranks = search.cv_results_["rank_test_score" if scoring is None else "rank_test_accuracy"]
    best = [search.cv_results_["params"][i] for i in np.flatnonzero(ranks == 1)]
    assert found.best_params_ == max(best, key=lambda params: params.get("n_neighbors", 0))
    assert found.best_score_ == pytest.approx(search.best_score_)
    chosen = sklearn.base.clone(search.estimator).set_params(**found.best_params_).fit(X, NAMES)
    np.testing.assert_array_equal(found.best_estimator_.predict(X), chosen.predict(X))


@pytest.mark.parametrize("estimator", [GaussianNB(), SGDClassifier(max_iter=1, tol=None, shuffle=False)], ids=str)
def test_learning_curves_by_partial_fit_are_scikit_learns(estimator):
    options = {"exploit_incremental_learning": True, "shuffle": True, "random_state": 3, "return_times": True}
    found, expected = by_both("learning_curve", estimator, X, Y, train_sizes=[30, 60, 112], cv=4, **options)
    for mine, theirs in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert all((times >= 0).all() and times.shape == (3, 4) for times in found[3:])


def test_a_precomputed_kernel_is_cut_on_both_sides():
    options = {"kernel": "precomputed"}
    found, expected = by_both("cross_val_score", SVC(**options), X @ X.T, Y)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="square kernel matrix"):
        fastclf.cross_val_score(SVC(**options), X, Y)


def test_containers_reach_estimators_of_other_libraries_as_they_came():
    seen = []

    class Sees(SVC):
        def fit(self, X, y):
            seen.append((type(X), type(y)))
            return super().fit(np.asarray(X), np.asarray(y))

        def score(self, X, y):
            return 1.0

    for rows, labels in [(X.tolist(), Y.tolist()), (pandas.DataFrame(X), pandas.Series(Y)), (X, Y)]:
        fastclf.cross_val_score(Sees(), rows, labels, cv=2)
        assert seen[-1] == (type(rows), type(labels))
    fastclf.cross_val_score(SVC(), coo_array(X), Y, cv=2)


def test_metadata_is_routed_where_scikit_learn_routes_it():
    weight = np.random.default_rng(1).random(150)
    groups = np.repeat(np.arange(30), 5)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        params = {"sample_weight": weight, "groups": groups}
        splitters = fastclf.GroupKFold(4), model_selection.GroupKFold(4)
        found, expected = (
            module.cross_val_score(estimator, X, Y, cv=cv, params=params)
            for module, cv in zip((fastclf, model_selection), splitters)
        )
        np.testing.assert_allclose(found, expected)
        with pytest.raises(ValueError, match="`groups` can only be passed if metadata routing is not enabled"):
            fastclf.cross_val_score(estimator, X, Y, groups=groups)
        assert splitters[0].set_split_request(groups="other").get_metadata_routing().split.requests == {
            "groups": "other"
        }
