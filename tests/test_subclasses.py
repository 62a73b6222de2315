"""What a subclass defines is used: the methods that scikit-learn's estimators and splitters call for their answers."""

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.model_selection
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import fastclf
import fastclf.linear_model
import fastclf.model_selection
import fastclf.naive_bayes
import fastclf.neighbors
import fastclf.svm

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
Y2 = Y % 2


def both(module, name):
    """scikit-learn's class and ours."""
    return [getattr(getattr(package, module), name) for package in (sklearn, fastclf)]


def subclass(base, method, change):
    """A subclass whose method returns change(what the inherited method returns)."""

    def changed(self, *args, **kwargs):
        return change(getattr(super(cls, self), method)(*args, **kwargs))

    cls = type(f"Changed{base.__name__}", (base,), {method: changed})
    return cls


def answers(model, names=("predict", "predict_proba", "predict_log_proba")):
    return {name: getattr(model, name)(X[::7]) for name in names if hasattr(model, name)}


def require_the_same(one, other, tolerance):
    assert one.keys() == other.keys()
    assert one
    for name, value in one.items():
        np.testing.assert_allclose(other[name], value, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("y", [Y, Y2], ids=["three classes", "two classes"])
@pytest.mark.parametrize(
    ("module", "name", "parameters"),
    [
        ("linear_model", "LogisticRegression", {"tol": 1e-9, "max_iter": 10_000}),
        ("linear_model", "LogisticRegressionCV", {"tol": 1e-9, "max_iter": 10_000, "Cs": [1.0]}),
        ("linear_model", "RidgeClassifier", {}),
        ("linear_model", "RidgeClassifierCV", {}),
        ("svm", "LinearSVC", {"tol": 1e-9, "max_iter": 1_000_000}),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_subclass_s_decision_function_decides_the_predictions(module, name, parameters, y):
    theirs, ours = (
        subclass(
            base,
            "decision_function",
            lambda scores: scores - np.arange(scores.shape[-1]) if scores.ndim == 2 else scores - 1,
        )(**parameters).fit(X, y)
        for base in both(module, name)
    )
    require_the_same(answers(theirs), answers(ours), 2e-3)
    assert (ours.predict(X) != type(ours).__base__(**parameters).fit(X, y).predict(X)).any()


@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"])
def test_a_subclass_s_joint_log_likelihood_decides_the_answers_of_naive_bayes(name):
    data = X.round() if name == "CategoricalNB" else X
    theirs, ours = (
        subclass(base, "_joint_log_likelihood", lambda joint: joint - 2 * np.arange(3))().fit(data, Y)
        for base in both("naive_bayes", name)
    )
    if name == "CategoricalNB":
        np.testing.assert_array_equal(ours.predict(data), theirs.predict(data))
        return
    names = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
    require_the_same(answers(theirs, names), answers(ours, names), 1e-8)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distance: 1 / (1 + distance)])
@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor"])
def test_a_subclass_s_neighbours_vote(name, weights):
    def farther(found):
        # the first neighbour is left out; scikit-learn asks for the indices alone where it does not read distances
        return tuple(part[:, 1:] for part in found) if isinstance(found, tuple) else found[:, 1:]

    theirs, ours = (
        subclass(base, "kneighbors", farther)(2, weights=weights).fit(X, Y) for base in both("neighbors", name)
    )
    require_the_same(answers(theirs, ("predict", "predict_proba")), answers(ours, ("predict", "predict_proba")), 1e-12)


@pytest.mark.parametrize("name", ["RadiusNeighborsClassifier", "RadiusNeighborsRegressor"])
def test_a_subclass_s_neighbours_within_a_radius_vote(name):
    def without_first_rows(found):
        if not isinstance(found, tuple):
            found = found, found
        kept = np.empty((2, len(found[1])), object)
        for i, (distances, rows) in enumerate(zip(*found)):
            kept[:, i] = distances[rows % 3 > 0], rows[rows % 3 > 0]
        return tuple(kept)

    theirs, ours = (
        subclass(base, "radius_neighbors", without_first_rows)(2.0, weights="distance").fit(X, Y)
        for base in both("neighbors", name)
    )
    require_the_same(answers(theirs, ("predict", "predict_proba")), answers(ours, ("predict", "predict_proba")), 1e-12)


WRONG_NEIGHBORS = [
    None,
    (np.ones((3, 2)),),
    np.ones((2, 3, 2)),
    (np.ones((3, 2)), np.full((3, 2), 150)),
    (np.ones((3, 2)), np.full((3, 2), -1)),
    (np.ones((3, 2)), np.zeros((3, 2))),
    (np.ones((3, 2)), [["a", "b"]] * 3),
    (np.ones((3, 3)), np.zeros((3, 2), int)),
    (np.ones(3), np.zeros(3, int)),
    (np.full((3, 2), np.nan), np.zeros((3, 2), int)),
    (np.full((3, 2), 1j), np.zeros((3, 2), int)),
    ([["a", "b"]] * 3, np.zeros((3, 2), int)),
    (1.0, 0),
]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("method", ["kneighbors", "radius_neighbors"])
@pytest.mark.parametrize("found", WRONG_NEIGHBORS)
def test_neighbours_that_are_none_are_refused(found, method, kind, weights):
    base = getattr(fastclf, ("KNeighbors" if method == "kneighbors" else "RadiusNeighbors") + kind)
    wrong = type("Wrong", (base,), {method: lambda self, X=None, *rest, **named: found})
    with pytest.raises((TypeError, ValueError), match=f"^({method} returns|.* of {method})"):
        wrong(weights=weights).fit(X, Y).predict(X[:3])


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("KFold", "split"),
        ("KFold", "_iter_test_indices"),
        ("KFold", "_iter_test_masks"),
        ("StratifiedKFold", "split"),
        ("StratifiedKFold", "_iter_test_masks"),
        ("GroupKFold", "split"),
        ("GroupKFold", "_iter_test_indices"),
        ("LeaveOneOut", "split"),
        ("LeaveOneOut", "_iter_test_masks"),
        ("ShuffleSplit", "split"),
        ("ShuffleSplit", "_iter_indices"),
    ],
)
def test_folds_are_those_of_a_subclass_s_method(name, method):
    parameters = {"ShuffleSplit": {"random_state": 0, "n_splits": 3}, "LeaveOneOut": {}}.get(name, {"n_splits": 3})
    groups = np.arange(150) // 10 if name == "GroupKFold" else None

    def shorter(found):
        for each in list(found):
            if isinstance(each, tuple):
                yield tuple(part[:20] for part in each)
            else:
                yield each | (np.arange(30) == 4) if each.dtype == bool else each[1:]

    theirs, ours = both("model_selection", name)
    theirs, ours = (subclass(base, method, shorter)(**parameters) for base in (theirs, ours))
    data, y, groups = X[::5], Y[::5], None if groups is None else groups[::5]
    expected = [(a.tolist(), b.tolist()) for a, b in theirs.split(data, y, groups)]
    assert [(a.tolist(), b.tolist()) for a, b in ours.split(data, y, groups)] == expected
    result = fastclf.cross_validate(fastclf.GaussianNB(), data, y, cv=ours, groups=groups, return_indices=True)
    assert [test.tolist() for test in result["indices"]["test"]] == [test for _, test in expected]


def test_the_numbers_of_the_folds_have_scikit_learns_private_name():
    theirs, ours = (
        base(3, shuffle=True, random_state=0)._make_test_folds(X, Y)
        for base in both("model_selection", "StratifiedKFold")
    )
    np.testing.assert_array_equal(ours, theirs)


def test_the_scores_of_a_subclass_s_score_are_those_of_cross_validation():
    theirs, ours = (
        package.cross_validate(
            subclass(base, "score", lambda score: {"right": score, "wrong": 1 - score})(), X, Y, cv=3
        )
        for package, base in zip((sklearn.model_selection, fastclf), both("naive_bayes", "GaussianNB"))
    )
    assert list(ours) == list(theirs)
    for name in ("test_right", "test_wrong"):
        np.testing.assert_allclose(ours[name], theirs[name])


LINEAR = [
    ("linear_model", "LogisticRegression"),
    ("linear_model", "LogisticRegressionCV"),
    ("linear_model", "Perceptron"),
    ("linear_model", "RidgeClassifier"),
    ("linear_model", "RidgeClassifierCV"),
    ("svm", "LinearSVC"),
]


@pytest.mark.parametrize(("module", "name"), LINEAR)
@pytest.mark.parametrize("y", [Y, Y2], ids=["three classes", "two classes"])
@pytest.mark.parametrize("intercept", [0, np.float32(-2.5), "whole", "one"])
@pytest.mark.parametrize("dtype", [np.int64, bool, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("fitted", [False, True])
def test_coefficients_that_a_user_assigns_are_used(module, name, y, intercept, dtype, fitted):
    classes = np.unique(y)
    n_planes = len(classes) if len(classes) > 2 else 1
    coef = np.arange(4 * n_planes).reshape(n_planes, 4)[:, ::-1] % 5 - (0 if dtype is bool else 2)
    found = []
    for cls in both(module, name):
        model = cls()
        # scikit-learn's ridge classifiers predict with what their fits have learnt about labels
        if fitted or "Ridge" in name:
            model.fit(X, y)
        model.classes_, model.coef_ = classes, coef.astype(dtype)
        if isinstance(intercept, str):
            model.intercept_ = np.arange(n_planes) if intercept == "whole" else np.ones(1, int)
        else:
            model.intercept_ = intercept
        assert model.coef_.dtype == dtype
        scores = model.decision_function(X)
        assert model.coef_.dtype == dtype
        found.append(answers(model) | {"decision_function": scores})
    require_the_same(*found, 1e-6)


@pytest.mark.parametrize(("module", "name"), LINEAR)
def test_coefficients_without_classes_are_not_a_fit(module, name):
    model = both(module, name)[1]()
    model.coef_, model.intercept_ = np.zeros((1, 4)), np.zeros(1)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.classes_ = np.arange(3)
    with pytest.raises(ValueError, match=r"coef_ has shape \(1, 4\); \(3, 4\) is wanted"):
        model.predict(X)
    assert model.fit(X, Y).score(X, Y) > 0.6


@pytest.mark.parametrize(("module", "name"), LINEAR)
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"coef_": [[1.0, 2.0, 3.0, 4.0]] * 3}, "coef_ is a list|not fitted yet"),
        ({"coef_": [[1.0], [1.0, 2.0]]}, "coef_ is a list|not fitted yet"),
        ({"coef_": np.full((3, 4), "a")}, "coef_ is an array of dtype <U1"),
        ({"coef_": np.zeros(4)}, r"coef_ has shape \((1, 4|4,)\)|not fitted yet"),
        ({"classes_": [[0], [1, 2]]}, "classes_ does not form an array"),
        ({"classes_": 5}, r"classes_ has shape \(\)"),
        ({"classes_": np.zeros((3, 1))}, r"classes_ has shape \(3, 1\)"),
        ({"intercept_": np.zeros(0)}, r"intercept_ has shape \(0,\)"),
        ({"intercept_": "a"}, "intercept_ is a str"),
    ],
)
def test_wrong_coefficients_that_a_user_assigns_get_a_sentence(module, name, fitted, wrong, message):
    model = both(module, name)[1]()
    if fitted:
        model.fit(X, Y)
    # integers, so that all of them are looked at
    for attribute, value in (
        {"coef_": np.ones((3, 4), int), "intercept_": 0, "classes_": np.arange(3)} | wrong
    ).items():
        setattr(model, attribute, value)
    with pytest.raises((ValueError, NotFittedError), match=message):
        model.predict(X)


@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor"])
@pytest.mark.parametrize("precomputed", [False, True])
def test_a_subclass_of_neighbours_may_count_other_features(name, precomputed):
    found = []
    for base in both("neighbors", name):

        class OfSeries(base):
            """Neighbours of time series: a row has two numbers for each time, which its n_features_in_ counts."""

            def fit(self, X, y):
                super().fit(X, y)
                self.n_features_in_ = 2
                return self

            def kneighbors(self, X, n_neighbors=None, return_distance=True):
                D = X if precomputed else np.abs(X[:, None, :] - self._fit_X).sum(axis=2)
                order = np.argsort(D, axis=1, kind="stable")[:, : self.n_neighbors]
                return (np.take_along_axis(D, order, axis=1), order) if return_distance else order

        D = np.abs(X[:, None, :] - X).sum(axis=2)
        model = OfSeries(metric="euclidean", weights="distance")
        if precomputed:
            # parameters of the distances that somebody else computes are nobody's here
            model.set_params(metric="precomputed", metric_params={"window": 3})
        model.fit(D if precomputed else X, Y)
        found.append(model.predict(D[::7] if precomputed else X[::7]))
        assert model.n_features_in_ == 2
        assert model.effective_metric_params_ == ({"window": 3} if precomputed else {})
    np.testing.assert_allclose(*found)
