"""Figures of labels and of scores equal scikit-learn's, for labels of any type, weights and averages."""

import re
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from sklearn.exceptions import UndefinedMetricWarning

import fastclf

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning"),
    pytest.mark.filterwarnings("ignore:A single label was found"),
    pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true"),
]

NAMES = {"ints": np.array([3, -1, 7]), "texts": np.array(["b", "a", "c"]), "floats": np.array([0.0, 2.0, 1.0])}
LABELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30)
BITS = st.lists(st.tuples(*[st.booleans()] * 6, st.integers(1, 3)), min_size=1, max_size=20)

OF_LABELS = {
    "accuracy_score": [{}, {"normalize": False}],
    "zero_one_loss": [{}, {"normalize": False}],
    "hamming_loss": [{}],
    "balanced_accuracy_score": [{}],
    "matthews_corrcoef": [{}],
    "confusion_matrix": [{}, {"normalize": "true"}, {"normalize": "pred"}, {"normalize": "all"}],
    "multilabel_confusion_matrix": [{}],
    **{
        name: [{"average": average} for average in (None, "micro", "macro", "weighted")]
        for name in ("f1_score", "precision_score", "recall_score", "jaccard_score")
    },
    "fbeta_score": [{"beta": beta, "average": "macro"} for beta in (0, 0.5, 2, np.inf)],
    "precision_recall_fscore_support": [{}, {"average": "weighted", "beta": 2.0}],
    "classification_report": [{}, {"output_dict": True}, {"digits": 4}],
}


def compare(name, *arguments, **options):
    """Both answers are equal, or both functions raise the same type of error."""
    found, expected = getattr(fastclf, name), getattr(sklearn.metrics, name)
    try:
        wanted = expected(*arguments, **options)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error) if type(error) in (TypeError, ValueError) else ValueError):
            found(*arguments, **options)
        return
    answer = found(*arguments, **options)
    if isinstance(wanted, dict):
        assert list(answer) == list(wanted)
        for key, row in wanted.items():
            assert answer[key] == pytest.approx(row, nan_ok=True, rel=1e-12)
    elif isinstance(wanted, str):
        assert answer == wanted
    else:
        for mine, theirs in zip(*((each if isinstance(each, tuple) else (each,)) for each in (answer, wanted))):
            assert (mine is None) == (theirs is None)
            if theirs is not None:
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)
    if name == "confusion_matrix":
        assert answer.dtype == wanted.dtype


@given(LABELS, st.sampled_from(sorted(NAMES)), st.booleans(), st.sampled_from([None, [0], [2, 0], [1, 0, 2]]))
def test_figures_of_labels_are_scikit_learns(rows, kind, weighted, chosen):
    true, predicted, weight = (np.array(column) for column in zip(*rows))
    names = NAMES[kind]
    options = {"sample_weight": weight / 2} if weighted and weight.any() else {}
    for name, cases in OF_LABELS.items():
        for case in cases:
            # the report is compared only if some prediction is right: otherwise scikit-learn writes numbers of rows as
            # floats
            if name != "classification_report" or (true == predicted).any():
                compare(name, names[true], names[predicted], **case, **options)
            if chosen is not None and "average" in case:
                compare(name, names[true], names[predicted], labels=names[chosen], zero_division=0, **case, **options)
    for weights, labels in product((None, "linear", "quadratic"), (None, names[chosen])):
        if labels is None or chosen is not None:
            given_labels = {} if labels is None else {"labels": labels}
            compare("cohen_kappa_score", names[true], names[predicted], weights=weights, **given_labels, **options)


@given(LABELS, st.sampled_from(["ints", "texts"]), st.sampled_from(["warn", 0, 1, np.nan]))
def test_figures_of_the_positive_one_of_two_labels_are_scikit_learns(rows, kind, zero_division):
    true, predicted, _ = (np.array(column) for column in zip(*rows))
    names = NAMES[kind]
    for name in ("f1_score", "precision_score", "recall_score"):
        for pos_label in (names[0], names[1], 1):
            given_labels = names[true], names[predicted]
            compare(name, *given_labels, pos_label=pos_label, zero_division=zero_division)
    compare("class_likelihood_ratios", names[true], names[predicted])


@given(BITS, st.sampled_from([None, "micro", "macro", "weighted", "samples"]), st.booleans(), st.booleans())
def test_figures_of_indicators_are_scikit_learns(rows, average, weighted, sparse):
    *bits, weight = (np.array(column) for column in zip(*rows))
    true, predicted = (np.column_stack(part).astype(int) for part in (bits[:3], bits[3:]))
    form = csr_matrix if sparse else np.asarray
    options = {"sample_weight": weight} if weighted else {}
    for name in ("f1_score", "precision_score", "recall_score", "jaccard_score"):
        compare(name, form(true), form(predicted), average=average, **options)
        compare(name, form(true), form(predicted), average=average, labels=[2, 0], **options)
    for name in ("accuracy_score", "zero_one_loss", "hamming_loss", "multilabel_confusion_matrix"):
        compare(name, form(true), form(predicted), **options)
    compare("multilabel_confusion_matrix", form(true), form(predicted), samplewise=True, **options)
    compare("classification_report", form(true), form(predicted), **options)


SCORED = st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3), st.integers(0, 2)), min_size=2, max_size=30)


@given(SCORED, st.booleans(), st.booleans())
def test_curves_and_areas_are_scikit_learns_with_ties_and_weights(rows, weighted, drop_intermediate):
    true, score, weight = (np.array(column) for column in zip(*rows))
    options = {"sample_weight": weight} if weighted and weight.any() else {}
    with warnings.catch_warnings(action="ignore"):
        for name in ("roc_curve", "precision_recall_curve"):
            compare(name, true, score, drop_intermediate=drop_intermediate, **options)
        compare("confusion_matrix_at_thresholds", true, score, **options)
        compare("average_precision_score", true, score, **options)
        compare("hinge_loss", true, score, **options)
        kept = true[weight > 0] if options else true
        if len(np.unique(kept)) == len(np.unique(true)):
            compare("roc_auc_score", true, score, **options)
            compare("det_curve", true, score, drop_intermediate=drop_intermediate, **options)
        if len(np.unique(true)) == 2 and not options:
            compare("roc_auc_score", true, score, max_fpr=0.4)


@given(st.lists(st.tuples(st.integers(0, 2), *[st.integers(1, 5)] * 3), min_size=6, max_size=30), st.booleans())
def test_figures_of_probabilities_are_scikit_learns(rows, weighted):
    true, *given_scores = (np.array(column) for column in zip(*rows))
    true[:3] = [0, 1, 2]
    proba = np.column_stack(given_scores) / np.sum(given_scores, axis=0)[:, None]
    options = {"sample_weight": 1 + true % 2} if weighted else {}
    for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score", "hinge_loss"):
        compare(name, true, proba, **options)
        compare(name, np.minimum(true, 1), proba, labels=[0, 1, 2], **options)
    compare("log_loss", true, proba, normalize=False, **options)
    compare("brier_score_loss", true, proba, scale_by_half=True, **options)
    for name in ("brier_score_loss", "d2_brier_score", "log_loss"):
        compare(name, true > 0, proba[:, 0], **options)
    for k in (1, 2, 3):
        compare("top_k_accuracy_score", true, proba, k=k, **options)
    for average in ("micro", "macro", "weighted", None):
        compare("roc_auc_score", true, proba, multi_class="ovr", average=average, **options)
        compare("average_precision_score", true, proba, average=average, **options)
    for average in ("macro", "weighted"):
        compare("roc_auc_score", true, proba, multi_class="ovo", average=average)


@given(BITS, st.sampled_from([None, "micro", "macro", "weighted", "samples"]))
def test_areas_of_indicators_are_scikit_learns(rows, average):
    *bits, _ = (np.array(column) for column in zip(*rows))
    true, score = np.column_stack(bits[:3]).astype(int), np.column_stack(bits[3:]) + np.arange(3) / 7
    for name in ("roc_auc_score", "average_precision_score"):
        with warnings.catch_warnings(action="ignore"):
            compare(name, true, score, average=average)


@given(SCORED)
def test_the_area_is_the_share_of_the_pairs_in_order_to_the_last_bit(rows):
    true, score, _ = (np.array(column) for column in zip(*rows))
    positive, negative = score[true == 1], score[true == 0]
    if len(positive) and len(negative):
        gaps = positive[:, None] - negative
        expected = (2 * np.count_nonzero(gaps > 0) + np.count_nonzero(gaps == 0)) / (2 * gaps.size)
        assert fastclf.roc_auc_score(true, score) == fastclf.roc_auc_score(1 - true, -score) == expected


@given(LABELS)
def test_weight_2_is_a_duplicated_row(rows):
    true, predicted, weight = (np.array(column) for column in zip(*rows))
    if weight.any():
        repeated = np.repeat(true, weight), np.repeat(predicted, weight)
        for name in ("accuracy_score", "matthews_corrcoef", "balanced_accuracy_score"):
            figure = getattr(fastclf, name)
            assert figure(true, predicted, sample_weight=weight) == pytest.approx(figure(*repeated))


def test_whole_weights_are_counted_exactly():
    weight = np.array([2**62, 1, 1])
    assert fastclf.confusion_matrix([0, 0, 1], [0, 0, 1], sample_weight=weight).tolist() == [[2**62 + 1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["f1_score", "precision_score", "jaccard_score"])
def test_a_ratio_of_nothing_is_told(name):
    with pytest.warns(UndefinedMetricWarning, match="being set to 0.0"):
        assert getattr(fastclf, name)([0, 0], [0, 0]) == 0
    with warnings.catch_warnings(action="error"):
        assert getattr(fastclf, name)([0, 0], [0, 0], zero_division=1) == 1


TWO, SCORES, THREE = [0, 1, 1], [0.1, 0.5, 0.9], [0, 1, 2]
MATRIX, BOTH = np.full((3, 3), 1 / 3), np.array([[0, 1], [1, 1], [1, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.f1_score(TWO, TWO, zero_division=None), ValueError, "zero_division is None;"),
        (lambda m: m.f1_score(TWO, TWO, zero_division=np.ones(2)), ValueError, "zero_division is an array"),
        (lambda m: m.accuracy_score(coo_array(np.ones(3)), TWO), TypeError, "Sparse input is only supported"),
        (lambda m: m.class_likelihood_ratios(TWO, TWO, replace_undefined_by="x"), TypeError, "a number or a dict"),
        (lambda m: m.brier_score_loss(TWO, SCORES, scale_by_half=np.ones(2)), ValueError, "scale_by_half is an array"),
        (lambda m: m.roc_auc_score(TWO, [0.1, np.nan, 0.2]), ValueError, "Input y_score contains NaN"),
        (lambda m: m.log_loss(TWO, ["a", "b", "c"]), ValueError, "y_proba is no array of numbers"),
    ],
)
def test_an_argument_of_a_wrong_type_gets_one_sentence(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(fastclf)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.accuracy_score(TWO, [0, 1]), ValueError, "inconsistent numbers of samples: [3, 2]"),
        (lambda m: m.accuracy_score(TWO, BOTH), ValueError, "mix of binary and multilabel-indicator targets"),
        (lambda m: m.accuracy_score(TWO, SCORES), ValueError, "mix of binary and continuous targets"),
        (lambda m: m.accuracy_score(SCORES, SCORES), ValueError, "continuous is not supported"),
        (lambda m: m.accuracy_score(TWO, ["a", "b", "b"]), ValueError, "Mix of label input types (string and number)"),
        (lambda m: m.accuracy_score([b"a"], [b"a"]), TypeError, "represented as bytes is not supported"),
        (lambda m: m.f1_score(THREE, THREE), ValueError, "Target is multiclass but average='binary'"),
        (lambda m: m.f1_score(BOTH, BOTH), ValueError, "Target is multilabel-indicator but average='binary'"),
        (lambda m: m.f1_score(TWO, TWO, pos_label=5), ValueError, "pos_label=5 is not a valid label"),
        (lambda m: m.f1_score(TWO, TWO, average="mean"), ValueError, "average"),
        (lambda m: m.f1_score(TWO, TWO, zero_division=3), ValueError, "zero_division"),
        (lambda m: m.fbeta_score(TWO, TWO, beta=-1), ValueError, "beta"),
        (lambda m: m.f1_score(THREE, THREE, average="samples"), ValueError, "Samplewise metrics are not available"),
        (lambda m: m.confusion_matrix(TWO, TWO, labels=[]), ValueError, "should contain at least one label"),
        (lambda m: m.confusion_matrix(TWO, TWO, labels=[8]), ValueError, "must be in y_true"),
        (lambda m: m.confusion_matrix(BOTH, BOTH), ValueError, "multilabel-indicator is not supported"),
        (lambda m: m.cohen_kappa_score(TWO, TWO, labels=[8]), ValueError, "must be present in `y1`"),
        (lambda m: m.roc_curve(THREE, SCORES), ValueError, "multiclass format is not supported"),
        (lambda m: m.det_curve([1, 1, 1], SCORES), ValueError, "Only one class is present in y_true"),
        (lambda m: m.roc_auc_score(THREE, MATRIX), ValueError, "multi_class must be in ('ovo', 'ovr')"),
        (lambda m: m.roc_auc_score(THREE, 2 * MATRIX, multi_class="ovr"), ValueError, "need to be probabilities"),
        (lambda m: m.roc_auc_score(TWO, SCORES, max_fpr=2), ValueError, "max_fpr"),
        (lambda m: m.average_precision_score(TWO, SCORES, pos_label=2), ValueError, "pos_label=2 is not a valid label"),
        (lambda m: m.average_precision_score(THREE, MATRIX, pos_label=2), ValueError, "fixed to 1 for multiclass"),
        (lambda m: m.top_k_accuracy_score(SCORES, MATRIX), ValueError, "got 'continuous'"),
        (lambda m: m.brier_score_loss(THREE, SCORES), ValueError, "should be binary"),
        (lambda m: m.log_loss([1, 1], [[0.5, 0.5]] * 2), ValueError, "contains only one label (1)"),
        (lambda m: m.log_loss(TWO, MATRIX, labels=[0, 2, 3]), ValueError, "not belonging to the passed labels"),
        (
            lambda m: m.hinge_loss(THREE, SCORES),
            ValueError,
            "that is (3, 3). Got: (3,)",
        ),
    ],
)
def test_a_wrong_argument_gets_scikit_learns_sentence(call, error, message):
    for module in (sklearn.metrics, fastclf):
        with pytest.raises(error, match=re.escape(message)) as caught:
            call(module)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.f1_score([1, 2], [1, 2], pos_label=2, average="macro"),
            "Note that pos_label (set to 2)",
        ),
        (lambda m: m.log_loss([0, 1], [[0.5, 0.2], [0.5, 0.5]]), "The y_prob values do not sum to one"),
        (lambda m: m.log_loss(["a", "b"], [[0.5, 0.5]] * 2, labels=["b", "a"]), "Labels passed were ['b', 'a']"),
        (lambda m: m.log_loss([0, 1], y_pred=[0.5, 0.5]), "`y_pred` was renamed to `y_proba`"),
        (lambda m: m.roc_curve([1, 1], [0.1, 0.2]), "No negative samples in y_true"),
        (lambda m: m.precision_recall_curve([0, 0], [0.1, 0.2]), "No positive class found in y_true"),
        (lambda m: m.roc_auc_score([1, 1], [0.1, 0.2]), "Only one class is present in y_true"),
        (lambda m: m.balanced_accuracy_score([0, 0], [0, 1]), "y_pred contains classes not in y_true"),
        (lambda m: m.d2_log_loss_score([0], [[0.5, 0.5]]), "not well-defined with less than two samples"),
        (lambda m: m.top_k_accuracy_score(THREE, MATRIX, k=3), "'k' (3) greater than or equal to 'n_classes' (3)"),
    ],
)
@pytest.mark.filterwarnings("default")
def test_what_is_warned_of_is_what_scikit_learn_warns_of(call, message):
    kinds = []
    for module in (sklearn.metrics, fastclf):
        with pytest.warns(Warning, match=re.escape(message)) as caught:
            call(module)
        kinds.append({warning.category for warning in caught if message[:9] in str(warning.message)})
    assert kinds[0] == kinds[1]
    assert all(warning.filename == __file__ for warning in caught), "the warning is at the user's line"


def test_help_shows_all_of_a_shared_docstring():
    for name in (*OF_LABELS, "roc_curve", "roc_auc_score", "log_loss", "best_threshold"):
        text = getattr(fastclf, name).__doc__
        assert not re.search(r"^\{\w+\}$", text, re.MULTILINE)
        assert "sample_weight : array-like of shape (n_samples,), default=None\n    The weight of each row" in text


def test_names_of_figures_take_partial_functions():
    assert partial(fastclf.f1_score, average="macro")([0, 1, 2], [0, 1, 1]) == pytest.approx(5 / 9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["roc_curve", "precision_recall_curve", "brier_score_loss", "calibration_curve"])
def test_a_positive_label_beyond_64_bits_is_no_label_of_bools_and_of_integers(name):
    y, score = np.arange(6) % 2, np.linspace(0, 1, 6)
    of_bools, of_integers = (getattr(fastclf, name)(labels, score, pos_label=2**63) for labels in (y == 1, y))
    for found, wanted in zip(*([each] if np.isscalar(each) else each for each in (of_bools, of_integers))):
        np.testing.assert_array_equal(found, wanted)
