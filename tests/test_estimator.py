"""The estimator protocol: scikit-learn's own checks and tools accept every estimator."""

import copy
import pickle

import numpy as np
import pytest
from sklearn import base, ensemble, model_selection, pipeline, preprocessing
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import estimator_checks_generator

from fastclf import (
    SVC,
    BayesOptimalClassifier,
    BernoulliNB,
    CategoricalNB,
    CostSensitiveClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DensityTree,
    GaussianNB,
    GeneralisedLinearClassifier,
    KernelPerceptron,
    KNeighborsClassifier,
    KNeighborsDensity,
    KNeighborsRegressor,
    LeastSquaresClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    NearestCentroid,
    NearestNeighbors,
    NuSVC,
    Nystroem,
    OneHotEncoder,
    Perceptron,
    PoissonNB,
    PolynomialFeatures,
    RBFSampler,
    TableClassifier,
)
from fastclf._estimator import clone

pytestmark = pytest.mark.once

ESTIMATORS = [
    NearestNeighbors(),
    KNeighborsClassifier(),
    KNeighborsClassifier(weights="distance", ties="distance"),
    KNeighborsRegressor(),
    KNeighborsDensity(),
    KNeighborsClassifier(metric="nan_euclidean"),
    KernelPerceptron(),
    LinearSVC(),
    LinearSVC(loss="hinge", tol=1e-9),
    LogisticRegression(),
    LogisticRegression(solver="lbfgs"),
    NearestCentroid(),
    NearestCentroid(metric="manhattan", priors="empirical"),
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=1.0, fit_intercept=False),
    GeneralisedLinearClassifier(),
    PolynomialFeatures(),
    RBFSampler(random_state=0),
    Nystroem(random_state=0),
    OneHotEncoder(),
    Perceptron(),
    Perceptron(order="cyclic", average="averaged"),
    Perceptron(max_iter=20, multi_class="joint"),
    Perceptron(max_iter=20, average="voted"),
    Perceptron(max_iter=20, average="pocket", n_jobs=2),
    GaussianNB(),
    BernoulliNB(),
    MultinomialNB(),
    CategoricalNB(),
    PoissonNB(),
    NaiveBayes(),
    BayesOptimalClassifier([GaussianNB()]),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=9, max_features="sqrt", random_state=0),
    DecisionTreeRegressor(),
    CostSensitiveClassifier(GaussianNB()),
    SVC(tol=1e-9),
    SVC(kernel="linear", tol=1e-9, kernel_dtype="float64"),
    SVC(probability=True, random_state=0),
    NuSVC(nu=0.3, tol=1e-9),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=4),
    DensityTree(cv=2),
    TableClassifier(KNeighborsClassifier()),
]

# The answers of perceptrons depend on the order of rows, and weights are factors of their steps.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "weights multiply the step",
    "check_sample_weight_equivalence_on_sparse_data": "weights multiply the step",
    "check_class_weight_classifiers": "a large step for a class does not make wrong who learns jointly or is far",
}


def expected_failures(estimator):
    """{check: reason} of the checks that may fail for an estimator; None if none may."""
    if getattr(estimator, "probability", False):
        return {check: "folds are drawn of rows" for check in EXPECTED_FAILURES if "sample_weight" in check}
    if isinstance(estimator, NuSVC):
        return {"check_class_weight_classifiers": "a class whose rows weigh nothing has no share of support vectors"}
    if not isinstance(estimator, Perceptron | KernelPerceptron):
        return None
    return {
        check: reason
        for check, reason in EXPECTED_FAILURES.items()
        if "sample_weight" in check or getattr(estimator, "multi_class", "joint") == "joint"
    }


def checks():
    for estimator in ESTIMATORS:
        for instance, check in estimator_checks_generator(
            estimator,
            mark="skip",
            expected_failed_checks=expected_failures(estimator),
        ):
            # a functools.partial object has no __name__
            name = getattr(check, "func", check).__name__
            yield pytest.param(instance, check, id=f"{estimator}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_check_passes(estimator, check):
    check(clone(estimator))


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if hasattr(e, "n_neighbors")], ids=repr)
def test_clone_pickle_and_copy_keep_parameters_and_answers(estimator):
    X, y = load_iris(return_X_y=True)
    answer = next(name for name in ("kneighbors", "predict", "transform") if hasattr(estimator, name))
    estimator = base.clone(estimator)
    # estimators among the parameters are copied; copies are equal if their representations are
    parameters = [repr(each.get_params()) for each in (base.clone(estimator), estimator, clone(estimator))]
    assert len(set(parameters)) == 1
    fitted = estimator.fit(X, y)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        got, expected = getattr(other, answer)(X), getattr(fitted, answer)(X)
        if hasattr(got, "toarray"):
            got, expected = got.toarray(), expected.toarray()
        np.testing.assert_array_equal(got, expected)


def test_scikit_learns_tools_take_our_estimators():
    X, y = load_iris(return_X_y=True)
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), KNeighborsClassifier())
    grid = {"kneighborsclassifier__n_neighbors": [1, 5, 9], "kneighborsclassifier__weights": ["uniform", "distance"]}
    assert model_selection.GridSearchCV(steps, grid, cv=3).fit(X, y).best_score_ > 0.93
    voters = [("one", KNeighborsClassifier(1)), ("nine", KNeighborsClassifier(9))]
    assert ensemble.VotingClassifier(voters, voting="soft").fit(X, y).score(X, y) > 0.95
    assert base.is_classifier(KNeighborsClassifier())
    assert base.is_regressor(KNeighborsRegressor())
    scores = model_selection.cross_val_score(KNeighborsRegressor(), X, y, cv=5)
    assert scores.shape == (5,)


def test_repr_shows_what_was_changed():
    assert (
        repr(KNeighborsClassifier(3, weights="distance")) == "KNeighborsClassifier(n_neighbors=3, weights='distance')"
    )
    assert repr(NearestNeighbors()) == "NearestNeighbors()"


def test_a_subclass_adds_parameters_of_its_own():
    class Own(KNeighborsClassifier):
        def __init__(self, n_neighbors=5, extra=1):
            super().__init__(n_neighbors=n_neighbors)
            self.extra = extra

    assert base.clone(Own(3, extra=2)).get_params() == {"n_neighbors": 3, "extra": 2}
    assert Own(1).fit([[0.0], [1.0]], [0, 1]).predict([[0.9]]) == 1


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'neighbours' for estimator"):
        KNeighborsClassifier().set_params(neighbours=3)
    with pytest.raises(ValueError, match="is 'minkowski', which has no parameters such as 'q'"):
        KNeighborsClassifier().set_params(metric__q=3)


def test_use_before_fit_is_refused():
    from sklearn.exceptions import NotFittedError

    for use in ("kneighbors", "predict"):
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            getattr(KNeighborsClassifier(), use)([[1.0]])


def test_scores_are_scikit_learns(rng):
    from sklearn.metrics import accuracy_score, r2_score

    X, y, target = rng.standard_normal((60, 3)), rng.integers(0, 3, 60), rng.standard_normal((60, 2))
    weight = rng.random(60)
    model = KNeighborsClassifier(3).fit(X, y)
    assert model.score(X, y, weight) == pytest.approx(accuracy_score(y, model.predict(X), sample_weight=weight))
    model = KNeighborsRegressor(3).fit(X, target)
    assert model.score(X, target, weight) == pytest.approx(r2_score(target, model.predict(X), sample_weight=weight))
