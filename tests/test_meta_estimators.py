"""scikit-learn's meta-estimators and tools take our estimators as they take scikit-learn's own of the same names."""

import pickle
import warnings

import joblib
import numpy as np
import pandas
import polars
import pytest
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
import sklearn.tree
from sklearn import ensemble, feature_selection, inspection, model_selection, multiclass, multioutput
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.validation import check_is_fitted

import fastclf
import fastclf.sklearn

pytestmark = pytest.mark.once

# no two distances and no two splits are equal, so that no order breaks ties
X, Y = make_classification(60, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0)

# Fits by which both libraries reach the same optimum.
MODELS = {
    "KNeighborsClassifier": {},
    "NearestCentroid": {},
    "LogisticRegression": {"tol": 1e-9, "max_iter": 10_000},
    "RidgeClassifier": {},
    "SVC": {"tol": 1e-8, "gamma": 0.25},
    "GaussianNB": {},
    "DecisionTreeClassifier": {"max_depth": 1, "random_state": 0},
}


def _both(name):
    modules = (sklearn.neighbors, sklearn.linear_model, sklearn.svm, sklearn.naive_bayes, sklearn.tree)
    theirs = next(getattr(module, name) for module in modules if hasattr(module, name))
    # the classes by which `patch_sklearn` replaces scikit-learn's
    ours = fastclf.sklearn._shared()[name][1]
    return theirs(**MODELS[name]), ours(**MODELS[name])


def _grid(model):
    name = next(iter(model.get_params()))
    return {name: [model.get_params()[name]]}


def _two_labels():
    return np.column_stack([Y == 0, Y != 1]).astype(int)


def _some_unknown():
    return np.where(np.arange(len(Y)) % 5 == 0, -1, Y)


# Functions (model) -> numbers, which must be those of scikit-learn's model.
TOOLS = {
    "calibrated": lambda model: CalibratedClassifierCV(model, cv=3).fit(X, Y).predict_proba(X),
    "calibrated as it is": lambda model: (
        CalibratedClassifierCV(FrozenEstimator(model.fit(X, Y)), method="isotonic").fit(X, Y).predict_proba(X)
    ),
    "voting": lambda model: ensemble.VotingClassifier([("a", model), ("b", clone(model))]).fit(X, Y).predict(X),
    "stacking": lambda model: (
        ensemble.StackingClassifier([("a", model)], sklearn.naive_bayes.GaussianNB(), cv=3).fit(X, Y).predict(X)
    ),
    "end of a stack": lambda model: (
        ensemble.StackingClassifier([("a", sklearn.naive_bayes.GaussianNB())], model, cv=3).fit(X, Y).predict(X)
    ),
    "bagging": lambda model: (
        ensemble.BaggingClassifier(model, 3, max_features=0.5, oob_score=True, random_state=0)
        .fit(X, Y)
        .predict_proba(X)
    ),
    "boosting": lambda model: ensemble.AdaBoostClassifier(model, n_estimators=3).fit(X, Y).predict(X),
    "one against the rest": lambda model: multiclass.OneVsRestClassifier(model).fit(X, Y).predict(X),
    "one against one": lambda model: multiclass.OneVsOneClassifier(model).fit(X, Y).predict(X),
    "several outputs": lambda model: multioutput.MultiOutputClassifier(model).fit(X, _two_labels()).predict(X),
    "chain": lambda model: multioutput.ClassifierChain(model).fit(X, _two_labels()).predict(X),
    "self-training": lambda model: SelfTrainingClassifier(model).fit(X, _some_unknown()).predict(X),
    "columns by weights": lambda model: feature_selection.SelectFromModel(model).fit(X, Y).get_support(),
    "columns one by one": lambda model: feature_selection.RFE(model, n_features_to_select=2).fit(X, Y).ranking_,
    "columns by scores": lambda model: (
        feature_selection.SequentialFeatureSelector(model, n_features_to_select=2, cv=3).fit(X, Y).get_support()
    ),
    "permuted columns": lambda model: (
        inspection.permutation_importance(model.fit(X, Y), X, Y, n_repeats=2, random_state=0).importances
    ),
    "partial dependence": lambda model: (
        inspection.partial_dependence(model.fit(X, Y == 0), X, [0], grid_resolution=4).average
    ),
    "halving": lambda model: (
        model_selection.HalvingGridSearchCV(model, _grid(model), cv=2, min_resources=40, random_state=0)
        .fit(X, Y)
        .best_score_
    ),
    "grid": lambda model: (
        model_selection.GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=3).fit(X, Y).best_score_
    ),
    "cross-validation": lambda model: model_selection.cross_validate(
        model, X, Y, cv=3, scoring=["accuracy", "f1_macro"], return_train_score=True
    )["train_f1_macro"],
    "learning curve": lambda model: model_selection.learning_curve(
        model, X, Y, cv=3, train_sizes=[0.6, 1.0], shuffle=True, random_state=0
    )[2],
    "tuned threshold": lambda model: model_selection.TunedThresholdClassifierCV(model, cv=2).fit(X, Y == 1).predict(X),
    "processes": lambda model: joblib.Parallel(2)([joblib.delayed(model_selection.cross_val_score)(model, X, Y, cv=2)]),
    "frozen": lambda model: clone(FrozenEstimator(model.fit(X, Y))).fit(X[:9], Y[:9]).predict(X),
    "weights routed": lambda model: _routed(model),
}


def _routed(model):
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        params = {"sample_weight": np.arange(len(Y)) % 3 + 1.0}
        return model_selection.cross_val_score(make_pipeline(StandardScaler(), model), X, Y, cv=3, params=params)


def _outcome(tool, model):
    """The answer of a tool, or the type of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(TOOLS[tool](clone(model)), float)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", MODELS)
def test_a_tool_gives_the_answer_that_it_gives_with_scikit_learns_model(tool, name):
    theirs, ours = (_outcome(tool, model) for model in _both(name))
    if not isinstance(theirs, type):  # where scikit-learn's model is refused, ours may have what the tool wants
        assert not isinstance(ours, type), ours
        np.testing.assert_allclose(ours, theirs, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_tables_pass_their_names_through_a_pipeline(name):
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for container, table in (("pandas", frame), ("polars", polars.DataFrame(frame.to_dict("list")))):
        model = make_pipeline(StandardScaler().set_output(transform=container), _both(name)[1]).fit(table, Y)
        assert model[-1].feature_names_in_.tolist() == list("abcd")
        assert model.predict(table).shape == Y.shape


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_is_pickled_copied_and_drawn(name):
    model = _both(name)[1]
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(model)
    model.fit(X, Y)
    check_is_fitted(model)
    assert pickle.loads(pickle.dumps(model, protocol=5)).predict(X).tolist() == model.predict(X).tolist()
    assert name in model._repr_html_()
    assert name in make_pipeline(StandardScaler(), model)._repr_html_()
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_scikit_learns_functions_read_our_trees():
    ours = fastclf.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    told = sklearn.tree.export_text(ours)
    assert told == fastclf.tree.export_text(ours)
    assert "digraph" in sklearn.tree.export_graphviz(ours)
