"""Tables of counts, curves and costs equal scikit-learn's, and fulfil their defining equations."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import calibration, metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB

import fastclf
from fastclf import ContingencyTable, CostSensitiveClassifier, GaussianNB, contingency_table

pytestmark = pytest.mark.once

RNG = np.random.default_rng(7)
NAMES = np.array(["ape", "bee", "cat"])


def labels_of(n_classes, n=200):
    true = RNG.integers(0, n_classes, n)
    return true, np.where(RNG.random(n) < 0.6, true, RNG.integers(0, n_classes, n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("text", [False, True])
def test_every_figure_of_a_table_is_scikit_learns(n_classes, weighted, text):
    true, predicted = labels_of(n_classes)
    weight = RNG.random(len(true)) if weighted else None
    names = np.array([f"class {k}" for k in range(n_classes)])
    if text:
        true, predicted = names[true], names[predicted]
    table = contingency_table(true, predicted, sample_weight=weight)
    given = {"sample_weight": weight}
    np.testing.assert_allclose(table.counts, metrics.confusion_matrix(true, predicted, **given))
    for ours, theirs in [
        (table.accuracy, metrics.accuracy_score),
        (table.error, metrics.zero_one_loss),
        (table.balanced_accuracy, metrics.balanced_accuracy_score),
        (table.kappa, metrics.cohen_kappa_score),
        (table.mcc, metrics.matthews_corrcoef),
    ]:
        assert ours == pytest.approx(theirs(true, predicted, **given), rel=1e-12)
    for ours, theirs in [
        (table.precision, metrics.precision_score),
        (table.recall, metrics.recall_score),
        (table.f1, metrics.f1_score),
    ]:
        for average in (None, "macro", "micro", "weighted"):
            np.testing.assert_allclose(ours(average), theirs(true, predicted, average=average, **given))
    if n_classes == 2:
        positive = table.labels[1]
        assert table.recall("binary") == pytest.approx(
            metrics.recall_score(true, predicted, pos_label=positive, **given)
        )
        tn, fp, fn, tp = metrics.confusion_matrix(true, predicted, **given).ravel()
        np.testing.assert_allclose([table.TN, table.FP, table.FN, table.TP], [tn, fp, fn, tp])
        assert table.specificity()[1] == pytest.approx(tn / (tn + fp))


def test_baselines_are_those_of_the_true_shares():
    table = ContingencyTable([[6, 0, 0], [1, 2, 0], [1, 0, 0]])
    assert table.majority_error == pytest.approx(0.4)
    assert table.uniform_error == pytest.approx(2 / 3)
    assert table.proportional_error == pytest.approx(1 - (0.36 + 0.09 + 0.01))


def test_all_figures_are_listed_with_the_baselines_beside():
    found = ContingencyTable([[50, 10], [5, 35]]).figures()
    assert found["error"] == pytest.approx(0.15)
    assert found["majority_error"] == pytest.approx(0.4)
    assert (found["TP"], found["FP"], found["FN"], found["TN"]) == (35, 10, 5, 50)
    assert found["specificity"] == pytest.approx(5 / 6)
    three = ContingencyTable(np.eye(3)).figures()
    assert set(found) - set(three) == {"precision", "recall", "f1", "specificity", "TP", "FP", "FN", "TN"}


def test_labels_give_the_order_and_those_without_rows():
    table = contingency_table(["b", "a"], ["a", "a"], labels=["c", "b", "a"])
    assert table.counts.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert table.balanced_accuracy == 0.5


def test_a_share_of_nothing_is_zero():
    table = ContingencyTable([[3, 0], [0, 0]])
    assert (table.mcc, table.kappa, table.recall("binary"), table.precision("binary"), table.f1("binary")) == (0,) * 5
    assert table.error == 0
    empty = ContingencyTable(np.zeros((2, 2)))
    assert (empty.accuracy, empty.majority_error, empty.balanced_accuracy) == (0, 1, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: contingency_table([0, 1], [0]), ValueError, r"\[2, 1\], which are those of y_true and y_pred"),
        (lambda: contingency_table([0, 1], ["a", "b"]), ValueError, "Mix of label input types"),
        (lambda: contingency_table([], []), ValueError, "y_true has shape"),
        (lambda: contingency_table([[0, 1]], [[0, 1]]), ValueError, "one label per row"),
        (lambda: contingency_table([0.0, np.nan], [0, 1]), ValueError, "y_true contains NaN"),
        (lambda: contingency_table([0, 1], [0, 1], labels=[0, 2]), ValueError, "leaves out 1,"),
        (lambda: contingency_table([0, 1], [0, 1], labels=[0, 0, 1]), ValueError, "different labels"),
        (lambda: ContingencyTable([[1, 2]]), ValueError, "counts has shape"),
        (lambda: ContingencyTable([[1, -2], [0, 0]]), ValueError, "numbers from 0 up"),
        (lambda: ContingencyTable(np.eye(3)).precision("binary"), ValueError, "3 classes"),
        (lambda: ContingencyTable(np.eye(3)).TP, AttributeError, "3 classes"),
        (lambda: ContingencyTable(np.eye(2)).cost([[0, 1]]), ValueError, "cost_matrix has shape"),
        (lambda: ContingencyTable(np.eye(2)).cost([[0, np.inf], [0, 0]]), ValueError, "finite costs"),
        (lambda: fastclf.roc_curve([0, 1, 2], [1, 2, 3]), ValueError, "3 classes"),
        (
            lambda: fastclf.roc_auc_score([0, 4], np.full((2, 3), 1 / 3), labels=[0, 1, 2], multi_class="ovr"),
            ValueError,
            "labels not in parameter 'labels': 4",
        ),
        (lambda: fastclf.roc_curve(["a", "b"], [1, 2]), ValueError, "pos_label is not specified"),
        (lambda: fastclf.roc_curve([0, 1], [1, np.nan]), ValueError, "NaN"),
        (lambda: fastclf.log_loss([0, 1], [0.5, 1.5]), ValueError, "greater than 1"),
        (lambda: fastclf.log_loss([0, 1], [0.5, -0.5]), ValueError, "less than 0"),
        (lambda: fastclf.log_loss([0, 1, 2], [[0.5, 0.5]] * 3), ValueError, "number of classes: 3 vs 2"),
        (lambda: fastclf.auc([0, 2, 1], [0, 1, 2]), ValueError, "neither increasing nor decreasing"),
        (lambda: fastclf.calibration_curve([0, 1], [0.5, 2]), ValueError, r"outside \[0, 1\]"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


SCORES = st.lists(st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 2)), min_size=2, max_size=40)


@settings(deadline=None)
@given(SCORES)
def test_curves_are_scikit_learns_with_ties_and_weights(rows):
    true, score, weight = (np.array(column) for column in zip(*rows))
    if len(np.unique(true[weight > 0])) < 2:
        return
    for given_weight in (None, weight):
        for ours, theirs in [
            (fastclf.roc_curve, metrics.roc_curve),
            (fastclf.precision_recall_curve, metrics.precision_recall_curve),
        ]:
            for mine, other in zip(
                ours(true, score, sample_weight=given_weight), theirs(true, score, sample_weight=given_weight)
            ):
                np.testing.assert_allclose(mine, other)
        area = metrics.roc_auc_score(true, score, sample_weight=given_weight)
        assert fastclf.roc_auc_score(true, score, sample_weight=given_weight) == pytest.approx(area)
        average = metrics.average_precision_score(true, score, sample_weight=given_weight)
        assert fastclf.average_precision_score(true, score, sample_weight=given_weight) == pytest.approx(average)


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_probabilities_are_scikit_learns(weighted):
    for load in (load_iris, load_breast_cancer):
        X, y = load(return_X_y=True)
        proba = SklearnGaussianNB().fit(X[::2], y[::2]).predict_proba(X)
        weight = RNG.random(len(y)) if weighted else None
        given = {"sample_weight": weight}
        assert fastclf.log_loss(y, proba, **given) == pytest.approx(metrics.log_loss(y, proba, **given))
        assert fastclf.brier_score_loss(y, proba, **given) == pytest.approx(metrics.brier_score_loss(y, proba, **given))
    assert fastclf.log_loss(y, proba[:, 1]) == pytest.approx(metrics.log_loss(y, proba[:, 1]))
    # a probability of 0 for the right label costs a finite amount; a label that does not occur is named in `labels`
    wrong = metrics.log_loss([0], [[0, 1.0]], labels=[0, 1])
    assert fastclf.log_loss([0], [[0.0, 1.0]], labels=[0, 1]) == pytest.approx(wrong)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_areas_of_several_classes_are_scikit_learns(multi_class):
    X, y = load_iris(return_X_y=True)
    proba = SklearnGaussianNB().fit(X[::2, :2], y[::2]).predict_proba(X[:, :2])
    expected = metrics.roc_auc_score(y, proba, multi_class=multi_class)
    assert fastclf.roc_auc_score(y, proba, multi_class=multi_class) == pytest.approx(expected)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_is_scikit_learns(strategy):
    true = RNG.random(300) < 0.4
    proba = np.clip(0.3 * true + 0.7 * RNG.random(300), 0, 1)
    ours = fastclf.calibration_curve(true, proba, n_bins=7, strategy=strategy)
    theirs = calibration.calibration_curve(true, proba, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(ours, theirs)


@settings(deadline=None)
@given(SCORES, st.lists(st.integers(0, 5), min_size=4, max_size=4))
def test_no_threshold_costs_less_than_the_best(rows, costs):
    true, score, _ = (np.array(column) for column in zip(*rows))
    if len(np.unique(true)) < 2:
        return
    costs = np.reshape(costs, (2, 2))
    threshold, cost = fastclf.best_threshold(true, score, costs)
    answers = score >= threshold
    assert costs[true.astype(int), answers.astype(int)].mean() == pytest.approx(cost)
    for other in [-10, *np.unique(score), 10]:
        assert costs[true.astype(int), (score >= other).astype(int)].mean() >= cost - 1e-12


def test_cost_sensitive_answers_are_the_cheapest_by_the_probabilities():
    X, y = load_iris(return_X_y=True)
    y = NAMES[y]
    costs = np.array([[0, 1, 9], [5, 0, 1], [1, 20, 0]])
    model = CostSensitiveClassifier(GaussianNB(), cost_matrix=costs).fit(X[:, :2], y)
    proba = GaussianNB().fit(X[:, :2], y).predict_proba(X[:, :2])
    expected = [NAMES[min(range(3), key=lambda k: sum(p[j] * costs[j, k] for j in range(3)))] for p in proba]
    np.testing.assert_array_equal(model.predict(X[:, :2]), expected)
    np.testing.assert_allclose(model.expected_costs(X[:, :2]), proba @ costs)
    table = contingency_table(y, model.predict(X[:, :2]))
    assert fastclf.expected_cost(y, proba, costs) == pytest.approx(table.cost(costs))
    plain = contingency_table(y, GaussianNB().fit(X[:, :2], y).predict(X[:, :2]))
    assert table.cost(costs) < plain.cost(costs)


def test_without_costs_the_most_probable_label_is_answered():
    X, y = load_iris(return_X_y=True)
    models = CostSensitiveClassifier(GaussianNB()), GaussianNB()
    np.testing.assert_array_equal(*(model.fit(X, y).predict(X) for model in models))


def test_an_estimator_without_probabilities_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="no predict_proba"):
        CostSensitiveClassifier(fastclf.NearestCentroid(metric="manhattan")).fit(X, y)
    with pytest.raises(ValueError, match="cost_matrix has shape"):
        CostSensitiveClassifier(GaussianNB(), cost_matrix=np.eye(2)).fit(X, y)


def test_a_cost_sensitive_classifier_is_stored_with_its_estimator(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = CostSensitiveClassifier(GaussianNB(), cost_matrix=1 - np.eye(3)).fit(X, y)
    fastclf.save(model, tmp_path / "model.fclf")
    np.testing.assert_array_equal(fastclf.load(tmp_path / "model.fclf").predict(X), model.predict(X))


def test_no_figure_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = contingency_table([0, 0, 1], [0, 0, 0])
        assert (table.precision("binary"), table.mcc) == (0, 0)
