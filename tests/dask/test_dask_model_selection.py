"""Cross-validation and tuning on Dask give the scores and the choice of one machine, to the last bit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from clusters import client, cluster, same_bits
from sklearn.linear_model import LogisticRegression as Theirs

import fastclf

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 4))
Y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + RNG.standard_normal(240) > 0, "yes", "no")
GROUPS = np.arange(240) // 8

NAMED = {
    "bayes": fastclf.GaussianNB(),  # naive Bayes has a shortcut that predicts all folds
    "tree": fastclf.DecisionTreeClassifier(max_depth=4, random_state=0),
    "logistic": fastclf.LogisticRegression(),
    "svc": fastclf.SVC(),
}


def same_results(found, wanted):
    times = {"fit_time", "score_time", "mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"}
    assert found.keys() == wanted.keys()
    for name in wanted.keys() - times - {"estimator", "params"}:
        same_bits(np.ma.getdata(found[name]), np.ma.getdata(wanted[name]), name)


@pytest.mark.parametrize(
    "options",
    [
        {"cv": 4},
        {"cv": 5, "random_state": 3, "repeats": 2, "scoring": ["accuracy", "roc_auc"], "return_train_score": True},
        {"cv": fastclf.GroupKFold(3), "groups": GROUPS, "params": {"sample_weight": np.arange(240.0) + 1}},
    ],
)
def test_scores_are_those_of_one_machine(cluster, options):
    found = cluster.module.cross_validate(NAMED, X, Y, **options)
    wanted = fastclf.cross_validate(NAMED, X, Y, **options)
    assert list(found) == list(wanted)
    for name in wanted:
        same_results(found[name], wanted[name])
        assert found[name].shortcut == wanted[name].shortcut
        assert found[name].error == wanted[name].error


def test_collections_and_estimators_of_other_libraries_are_evaluated(cluster, monkeypatch):
    plain_get, largest = cluster.Places.get, []

    def get(self, refs):
        found = plain_get(self, refs)
        largest.append(max(len(pickle.dumps(value)) for value in found))
        return found

    monkeypatch.setattr(cluster.Places, "get", get)
    rows, labels = cluster.cut(X, [100, 100, 40]), cluster.cut(Y, [70, 0, 170])
    found = cluster.module.cross_validate(Theirs(), rows, labels, cv=3)
    same_results(found, fastclf.cross_validate(Theirs(), X, Y, cv=3))
    assert max(largest) < X.nbytes  # the client receives no rows
    frame = cluster.table(pd.DataFrame(X, columns=list("abcd")), 3)
    found = cluster.module.tune(NAMED["tree"], {"max_depth": [1, 3]}, frame, labels, cv=3)
    wanted = fastclf.tune(NAMED["tree"], {"max_depth": [1, 3]}, frame.compute(), Y, cv=3)
    same_results(found, wanted)
    same_bits(found.estimator.predict(frame.compute()), wanted.estimator.predict(frame.compute()))
    assert found.estimator.feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (fastclf.KNeighborsClassifier(), {"n_neighbors": [1, 3, 9], "weights": ["uniform", "distance"]}),
        (
            fastclf.DecisionTreeClassifier(random_state=0),
            {"ccp_alpha": [0.0, 0.01, 0.1], "criterion": ["gini", "entropy"]},
        ),
        (fastclf.LogisticRegression(), {"C": [0.1, 1.0, 10.0]}),
    ],
)
def test_the_choice_is_that_of_one_machine(cluster, estimator, grid):
    options = {"cv": 4, "rule": "one_standard_error"}
    found = cluster.module.tune(estimator, grid, X, Y, **options)
    wanted = fastclf.tune(estimator, grid, X, Y, **options)
    same_results(found, wanted)
    assert found.chosen_params == wanted.chosen_params
    same_bits(found.estimator.predict(X), wanted.estimator.predict(X))


def test_a_killed_worker_changes_no_score(cluster, monkeypatch):
    with cluster.killing(monkeypatch, 1):
        found = cluster.module.cross_validate(NAMED["tree"], X, Y, cv=6)
    same_results(found, fastclf.cross_validate(NAMED["tree"], X, Y, cv=6))


def test_failed_fits_are_told_as_on_one_machine(cluster):
    with pytest.raises(ValueError, match="var_smoothing"):
        cluster.module.cross_validate(fastclf.GaussianNB(var_smoothing=-1.0), X, Y, cv=3)
    with pytest.raises(TypeError, match="an object, SVC"):
        cluster.module.cross_validate(fastclf.SVC, X, Y)
