"""A call of scikit-learn's is a call here: parameters, methods, fitted attributes, tags and metadata requests.

Each difference from scikit-learn has its reason here. A difference without a reason fails, and so does a reason
without a difference.
"""

import dataclasses
import inspect
import warnings

import numpy as np
import pytest
import sklearn
import sklearn_suite
from sklearn.utils import get_tags

import fastclf.sklearn

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        sklearn.__version__.rpartition(".")[0] != sklearn_suite.VERSION,
        reason=f"the differences are from scikit-learn {sklearn_suite.VERSION}",
    ),
]

SHARED = fastclf.sklearn._shared()
CLASSES = {name: pair for name, pair in SHARED.items() if isinstance(pair[0], type)}
ESTIMATORS = {name: pair for name, pair in CLASSES.items() if issubclass(pair[0], sklearn.base.BaseEstimator)}

_PICTURE = "draws fastclf's picture, of regions and rows, until an argument asks for scikit-learn's"
_TUNED = "an equal value, but for a display of a Tuning, which scikit-learn has not"
_SOLVER = "the solver is chosen by the data; every solver finds the same optimum, and stops at it"
_PROBABILITY = "probability stays, so that nothing warns that it goes"
_DEFAULT = "an equal value"
_INSIDE = "scikit-learn's helper, which is public by its name alone"
SIGNATURES = {
    "DecisionBoundaryDisplay.from_estimator: default of eps": _PICTURE,
    "DecisionBoundaryDisplay.from_estimator: default of grid_resolution": _PICTURE,
    "DecisionBoundaryDisplay.plot: default of plot_method": _PICTURE,
    "DecisionBoundaryDisplay.plot: order": _PICTURE,
    "LearningCurveDisplay.plot: default of score_type": _TUNED,
    "ValidationCurveDisplay.plot: default of score_type": _TUNED,
    "LogisticRegression: default of solver": _SOLVER,
    "LogisticRegression: default of max_iter": _SOLVER,
    "LogisticRegressionCV: default of solver": _SOLVER,
    "LogisticRegressionCV: default of max_iter": _SOLVER,
    "NuSVC: default of probability": _PROBABILITY,
    "SVC: default of probability": _PROBABILITY,
    "OneHotEncoder: default of dtype": _DEFAULT,
    "learning_curve: default of train_sizes": _DEFAULT,
    "LogisticRegressionCV.param": _INSIDE,
    "RidgeClassifierCV.param": _INSIDE,
    "NuSVC.unused_param": _INSIDE,
    "SVC.unused_param": _INSIDE,
    "Perceptron.loss_functions": _INSIDE,
    "GridSearchCV.n_features_in_": "an attribute of a fitted search, not of the class",
    "RandomizedSearchCV.n_features_in_": "an attribute of a fitted search, not of the class",
}
SIGNATURES |= {f"{name}.n_support_": "an attribute of a fitted machine" for name in ("SVC", "NuSVC")}
SIGNATURES |= {
    f"{name}.set_callbacks": "callbacks of scikit-learn 1.9 see the steps of its own solvers"
    for name in ("GridSearchCV", "RandomizedSearchCV", "LogisticRegression", "LogisticRegressionCV")
}

# Attributes that scikit-learn's objects have because their base class serves several estimators.
_OF_THE_BASE = "a parameter of another estimator with the same base class in scikit-learn"
ATTRIBUTES = {
    "KNeighborsClassifier.radius": _OF_THE_BASE,
    "KNeighborsRegressor.radius": _OF_THE_BASE,
    "KNeighborsTransformer.radius": _OF_THE_BASE,
    "DecisionTreeRegressor.class_weight": _OF_THE_BASE,
    "RidgeClassifierCV.alpha_per_target": _OF_THE_BASE,
    "RidgeClassifierCV.gcv_mode": _OF_THE_BASE,
    "SVC.nu": _OF_THE_BASE,
    "NuSVC.C": _OF_THE_BASE,
    "SVC.epsilon": _OF_THE_BASE,
    "NuSVC.epsilon": _OF_THE_BASE,
    "Perceptron.epsilon": _OF_THE_BASE,
    "Perceptron.learning_rate": _OF_THE_BASE,
    "Perceptron.loss": _OF_THE_BASE,
    "Perceptron.power_t": _OF_THE_BASE,
    "LogisticRegressionCV.l1_ratio_: dtype": "numbers; scikit-learn's hold the default None as an object",
    "LogisticRegressionCV.l1_ratios_: dtype": "numbers; scikit-learn's hold the default None as an object",
}
TAGS = {
    "RidgeClassifier.classifier_tags.multi_label": "takes one label a row",
    "RidgeClassifierCV.classifier_tags.multi_label": "takes one label a row",
    "NearestNeighbors.target_tags.multi_output": "y is ignored",
    "KNeighborsTransformer.target_tags.multi_output": "y is ignored",
    "RadiusNeighborsTransformer.target_tags.multi_output": "y is ignored",
    "OneHotEncoder.input_tags.string": "texts are taken, which scikit-learn's takes, too, and does not say",
    "PolynomialFeatures.transformer_tags.preserves_dtype": "float32 stays float32; scikit-learn's does not say so",
}


def _by_position(parameters):
    return [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


def _equal(value, other):
    if value is other:
        return True
    try:
        return bool(value == other) or bool(value != value and other != other)
    except ValueError:  # of arrays
        return False


def _signature_differences(name, theirs, ours):
    """What a call of scikit-learn's function may say that ours does not take, and defaults that are not equal."""
    theirs, ours = (
        {each.name: each for each in inspect.signature(of).parameters.values() if each.name != "self"}
        for of in (theirs, ours)
    )
    kinds = {each.kind for each in ours.values()}
    wanted, given = _by_position(theirs.values()), _by_position(ours.values())
    if wanted != given[: len(wanted)] and not set(wanted) - set(ours):
        yield f"{name}: order"
    for parameter in theirs.values():
        twin = ours.get(parameter.name)
        if twin is None:
            variable = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            taken = parameter.kind in kinds if variable else parameter.VAR_KEYWORD in kinds
            if not taken or parameter.name in wanted:
                yield f"{name}: no {parameter.name}"
        elif not _equal(parameter.default, twin.default) and parameter.default is not parameter.empty:
            yield f"{name}: default of {parameter.name}"
    for twin in ours.values():
        if (
            twin.name not in theirs
            and twin.default is twin.empty
            and twin.kind in (twin.POSITIONAL_OR_KEYWORD, twin.KEYWORD_ONLY)
        ):
            yield f"{name}: wants {twin.name}"


def _class_differences(name, theirs, ours):
    yield from _signature_differences(name, theirs, ours)
    for attribute in (each for each in dir(theirs) if not each.startswith("_")):
        method = getattr(theirs, attribute)
        if not hasattr(ours, attribute):
            yield f"{name}.{attribute}"
        elif callable(method):
            yield from _signature_differences(f"{name}.{attribute}", method, getattr(ours, attribute))


def _judge(differences, excused, names):
    """The differences must be those that are excused for these names."""
    assert set(differences) == {line for line in excused if line.partition(".")[0].partition(":")[0] in names}


@pytest.mark.parametrize("name", sorted(SHARED))
def test_a_call_of_scikit_learns_is_a_call_here(name):
    find = _class_differences if name in CLASSES else _signature_differences
    _judge(find(name, *SHARED[name]), SIGNATURES, [name])


def _unfitted(cls):
    """An estimator with the parameters of a call without arguments, or the fewest that a fit needs."""
    model, grid = sklearn.naive_bayes.GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}
    if cls.__name__.endswith("SearchCV"):
        return cls(model, grid, **{"n_iter": 2} if "Randomized" in cls.__name__ else {})
    if "Threshold" in cls.__name__:
        return cls(model)
    return cls(radius=10.0) if cls.__name__.startswith("Radius") else cls()


def _fitted(cls):
    X = np.random.default_rng(0).integers(0, 3, (40, 3)).astype(float)
    y = X[:, 0].astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _unfitted(cls).fit(X, y > 0 if "Threshold" in cls.__name__ else y)


def _attribute_differences(name, theirs, ours):
    """Fitted attributes of scikit-learn's estimator that ours lacks, or whose type, dtype or shape is not the same."""
    theirs, ours = _fitted(theirs), _fitted(ours)
    for attribute in (each for each in dir(theirs) if not each.startswith("_")):
        # the class's own attributes are in its signature, and some properties have values after other fits alone
        if (not attribute.endswith("_") and hasattr(type(theirs), attribute)) or not hasattr(theirs, attribute):
            continue
        if not hasattr(ours, attribute):
            yield f"{name}.{attribute}"
        elif attribute.endswith("_"):
            value, twin = getattr(theirs, attribute), getattr(ours, attribute)
            numbers = isinstance(value, np.ndarray) and isinstance(twin, np.ndarray)
            if isinstance(value, np.ndarray) != isinstance(twin, np.ndarray):
                yield f"{name}.{attribute}: type"
            elif numbers and value.shape != twin.shape and not attribute.startswith(("support", "dual_coef")):
                yield f"{name}.{attribute}: shape"
            elif numbers and value.dtype != twin.dtype:
                yield f"{name}.{attribute}: dtype"


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_fitted_attributes_of_scikit_learns_are_here(name):
    _judge(_attribute_differences(name, *ESTIMATORS[name]), ATTRIBUTES, [name])


def _leaves(path, value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(f"{path}.{key}", each)
    else:
        yield path, value


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_tags_are_scikit_learns(name):
    theirs, ours = (dict(_leaves(name, dataclasses.asdict(get_tags(_unfitted(cls))))) for cls in ESTIMATORS[name])
    differences = {path for path in theirs.keys() | ours.keys() if theirs.get(path) != ours.get(path)}
    # arrays of other libraries are not read here
    _judge(differences - {f"{name}.array_api_support"}, TAGS, [name])
