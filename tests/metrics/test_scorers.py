"""Scorers give scikit-learn's values, on its estimators and ours, by themselves and in cross-validation."""

import pickle

import numpy as np
import pytest
import sklearn.metrics
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection import cross_val_score as their_scores

import fastclf
from fastclf.metrics import scorers

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
TWO = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
THREE = TWO + (X[:, 1] > 0.5)
NUMBERS = np.exp(X[:, 0]) + 0.5
WEIGHT = RNG.integers(1, 4, 60)


class Positive(LinearRegression):
    """A regression whose predictions are above 0, as deviances and logarithms need them."""

    def predict(self, X):
        return np.abs(super().predict(X)) + 0.1


def targets_of(name):
    if any(part in name for part in ("error", "r2", "deviance", "explained", "absolute")):
        return NUMBERS
    return THREE if name.endswith(("macro", "micro", "weighted", "ovr", "ovo", "top_k_accuracy")) else TWO


@pytest.mark.parametrize("name", sorted(scorers.NAMED))
def test_scorers_by_name_are_scikit_learns(name):
    y = targets_of(name)
    model = (Positive() if y is NUMBERS else Theirs()).fit(X, y)
    if name.endswith("_samples"):
        return  # test_scorers_of_indicators tests the scorers of indicators
    found, wanted = fastclf.get_scorer(name), sklearn.metrics.get_scorer(name)
    assert found(model, X, y) == pytest.approx(wanted(model, X, y), rel=1e-12)
    if wanted._accept_sample_weight() and not (y is THREE and "ovo" in name):
        weighted = found(model, X, y, sample_weight=WEIGHT)
        assert weighted == pytest.approx(wanted(model, X, y, sample_weight=WEIGHT), rel=1e-12)
    assert repr(found) == repr(wanted)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


@pytest.mark.parametrize("name", [name for name in scorers.NAMED if name.endswith("_samples")])
def test_scorers_of_indicators_are_scikit_learns(name):
    y = np.column_stack([TWO, X[:, 1] > 0, X[:, 2] > 0]).astype(int)
    model = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert fastclf.get_scorer(name)(model, X, y) == sklearn.metrics.get_scorer(name)(model, X, y)


@pytest.mark.parametrize(
    "name", ["accuracy", "roc_auc", "neg_log_loss", "f1_macro", "neg_mean_absolute_percentage_error"]
)
def test_a_scorer_object_scores_folds_as_its_name_does(name):
    y = targets_of(name)
    model = fastclf.KNeighborsRegressor() if y is NUMBERS else fastclf.GaussianNB()
    by_name = fastclf.cross_val_score(model, X, y, cv=4, scoring=name)
    np.testing.assert_allclose(fastclf.cross_val_score(model, X, y, cv=4, scoring=fastclf.get_scorer(name)), by_name)
    np.testing.assert_allclose(their_scores(model, X, y, cv=4, scoring=fastclf.get_scorer(name)), by_name)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", ["decision_function", "predict"]])
@pytest.mark.parametrize("positive", [0, 1])
def test_a_made_scorer_passes_the_column_of_the_positive_class(method, positive):
    def mean(y, answers, pos_label=1):
        return float(np.mean(answers)) + float(np.mean(y == pos_label))

    made = [f(mean, response_method=method, greater_is_better=False, pos_label=positive) for f in makers()]
    values = [scorer(Theirs().fit(X, TWO), X, TWO) for scorer in made]
    assert values[0] == values[1]


def makers():
    return fastclf.make_scorer, sklearn.metrics.make_scorer


def test_several_scorers_give_a_dict():
    model = Theirs().fit(X, TWO)
    wanted = sklearn.metrics.check_scoring(model, ["accuracy", "roc_auc"])(model, X, TWO)
    assert fastclf.check_scoring(model, ["accuracy", "roc_auc"])(model, X, TWO) == pytest.approx(wanted)
    assert fastclf.check_scoring(model)(model, X, TWO) == model.score(X, TWO)


def test_of_two_classes_weights_count_for_pairs_of_classes_too():
    score = RNG.random(60)
    found = fastclf.roc_auc_score(TWO, score, multi_class="ovo", sample_weight=WEIGHT)
    assert found == pytest.approx(sklearn.metrics.roc_auc_score(TWO, score, sample_weight=WEIGHT))


@pytest.mark.parametrize("scoring", [fastclf.f1_score, sklearn.metrics.f1_score])
def test_a_metric_is_refused_where_a_scorer_is_wanted(scoring):
    for function in (fastclf.cross_val_score, lambda model, X, y, scoring: fastclf.check_scoring(model, scoring)):
        with pytest.raises(ValueError, match="make_scorer"):
            function(fastclf.GaussianNB(), X, TWO, scoring=scoring)


def test_junk_is_refused():
    for call in (
        lambda: fastclf.make_scorer(3),
        lambda: fastclf.make_scorer(fastclf.f1_score, response_method="predictt"),
        lambda: fastclf.get_scorer("unknown"),
        lambda: fastclf.get_scorer(3),
        lambda: fastclf.check_scoring(3),
        lambda: fastclf.check_scoring(None, ["accuracy", "accuracy"]),
        lambda: fastclf.check_scoring(None, {}),
        lambda: fastclf.check_scoring(None, [3]),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
