"""Labels, sample weights and class weights: every classifier accepts and refuses the same, with the same messages."""

import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight

import fastclf
from fastclf import (
    SVC,
    BayesOptimalClassifier,
    DecisionTreeClassifier,
    GaussianNB,
    KernelPerceptron,
    LeastSquaresClassifier,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    NearestCentroid,
    Perceptron,
)
from fastclf._labels import class_factors, declared_classes, encode_known
from fastclf._validation import as_seed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WEIGHTED = [DecisionTreeClassifier, KernelPerceptron, LinearSVC, LogisticRegression, Perceptron, SVC]
OF_TWO_CLASSES = [*WEIGHTED[1:], LeastSquaresClassifier, NearestCentroid]
OF_ONE_LABEL_A_ROW = [*OF_TWO_CLASSES, GaussianNB, NaiveBayes]
IN_PARTS = [GaussianNB, KernelPerceptron, NaiveBayes, Perceptron]

by_class = pytest.mark.parametrize("Classifier", WEIGHTED)


def rows(rng, n=90):
    y = rng.permutation(np.repeat(["a", "b", "c"], n // 3))
    return rng.standard_normal((n, 3)) + 2 * (y[:, None] == ["a", "b", "c"]), y


def answers(model, X):
    return getattr(model, "decision_function", getattr(model, "predict_proba", None))(X)


@pytest.mark.parametrize("given", [None, {}, {"a": 2.0}, {"c": 0, "a": 3}, {"a": 1, "b": 2, "c": 4, "d": 8}])
def test_class_weights_are_those_of_scikit_learn(given):
    classes = np.array(["a", "b", "c"])
    wanted = compute_class_weight(given, classes=classes, y=classes)
    np.testing.assert_array_equal(class_factors(given, classes, np.ones(3, int)), wanted)


def test_balanced_classes_are_equally_heavy(rng):
    codes, weight = np.repeat([0, 1, 2], [5, 9, 2]), rng.random(16)
    for w in (None, weight):
        heavy = np.bincount(codes, w)
        wanted = compute_class_weight("balanced", classes=np.arange(3), y=codes, sample_weight=w)
        np.testing.assert_allclose(class_factors("balanced", np.arange(3), heavy), wanted, rtol=1e-14)


@by_class
def test_a_class_that_is_not_named_counts_once(rng, Classifier):
    X, y = rows(rng)
    one, all_named = ({"b": 3.0}, {"a": 1, "b": 3, "c": 1.0})
    models = [Classifier(class_weight=given).fit(X, y) for given in (one, all_named)]
    np.testing.assert_array_equal(*(answers(model, X) for model in models))


@by_class
def test_a_dict_that_names_all_classes_may_name_more(rng, Classifier):
    X, y = rows(rng)
    models = [Classifier(class_weight={"a": 1, "b": 3, "c": 2} | more).fit(X, y) for more in ({}, {"d": 5})]
    np.testing.assert_array_equal(*(answers(model, X) for model in models))


BAD_CLASS_WEIGHTS = {
    "typo": ({"a": 1, "B": 2}, r"class_weight has 'B', which is no class; the classes are \['a', 'b', 'c'\]"),
    "kind": (3, "class_weight is 3; a dict, 'balanced' or None is wanted"),
    "word": ("even", "class_weight is 'even'; a dict, 'balanced' or None is wanted"),
    "negative": ({"a": -1}, r"class_weight\['a'\] is -1; a number of at least 0 is wanted"),
    "NaN": ({"a": np.nan}, r"class_weight\['a'\] is nan; a number of at least 0 is wanted"),
    "text": ({"a": "much"}, r"class_weight\['a'\] is 'much'; a number is wanted"),
    "infinite": ({"a": np.inf}, r"class_weight\['a'\] is inf; a finite number is wanted"),
    "nothing": ({"a": 0, "b": 0, "c": 0}, "class_weight is .*; a weight above 0 is wanted"),
}


@by_class
@pytest.mark.parametrize("name", BAD_CLASS_WEIGHTS)
def test_wrong_class_weights_get_the_same_sentence(rng, Classifier, name):
    given, sentence = BAD_CLASS_WEIGHTS[name]
    with pytest.raises((TypeError, ValueError), match=sentence):
        Classifier(class_weight=given).fit(*rows(rng))


def test_a_class_may_count_nothing_where_another_does(rng):
    X, y = rows(rng)
    for loss in ("hinge", "squared_hinge"):
        ours, theirs = (
            Estimator(loss=loss, class_weight={"a": 0}, tol=1e-8, max_iter=100_000).fit(X, y)
            for Estimator in (LinearSVC, svm.LinearSVC)
        )
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    tree = DecisionTreeClassifier(class_weight={"a": 0}).fit(X, y)
    assert not (tree.predict(X) == "a").any()
    assert np.isfinite(LogisticRegression(class_weight={"a": 0}).fit(X, y).coef_).all()
    with pytest.raises(ValueError, match=r"class_weight is \{'a': 0\}; a weight above 0 for each class is wanted"):
        SVC(class_weight={"a": 0}).fit(X, y)


@pytest.mark.parametrize("Classifier", OF_TWO_CLASSES)
def test_one_class_is_refused_with_its_label(rng, Classifier):
    X, y = rows(rng)
    sentence = "y has one class, 'a'; the number of classes has to be greater than one"
    for labels, weight in ((np.full(90, "a"), None), (y, (y == "a").astype(float))):
        with pytest.raises(ValueError, match=sentence):
            Classifier().fit(X, labels, sample_weight=weight)


@pytest.mark.parametrize("Classifier", [*OF_ONE_LABEL_A_ROW, DecisionTreeClassifier])
def test_weights_that_are_all_zero_are_refused(rng, Classifier):
    X, y = rows(rng)
    sentence = "sample_weight is zero for every row; a weight above 0 is wanted"
    with pytest.raises(ValueError, match=sentence):
        Classifier().fit(X, y, sample_weight=np.zeros(90))
    with pytest.raises(ValueError, match=sentence):
        Classifier().fit(X, y).score(X, y, np.zeros(90))
    if Classifier in IN_PARTS:
        with pytest.raises(ValueError, match=sentence):
            Classifier().partial_fit(X, y, ["a", "b", "c"], np.zeros(90))


@pytest.mark.parametrize("Classifier", OF_ONE_LABEL_A_ROW)
def test_a_matrix_of_labels_is_refused_and_a_column_is_a_vector(rng, Classifier):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=r"y has shape \(90, 2\); \(90,\), one label per row, is wanted"):
        Classifier().fit(X, np.column_stack([y, y]))
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as caught:
        column = Classifier().fit(X, y[:, None])
    assert {warning.filename for warning in caught} == {__file__}
    np.testing.assert_array_equal(column.predict(X), Classifier().fit(X, y).predict(X))


def test_models_that_are_averaged_take_one_label_a_row(rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=r"y has shape \(90, 2\); \(90,\), one label per row, is wanted"):
        BayesOptimalClassifier([GaussianNB()]).fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("Classifier", IN_PARTS)
def test_classes_are_declared_once(rng, Classifier):
    X, y = rows(rng)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        Classifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes has shape \(0,\); a list of labels is wanted"):
        Classifier().partial_fit(X, y, [])
    with pytest.raises(ValueError, match=r"The target label\(s\) \['c'\] in y do not exist in the initial classes"):
        Classifier().partial_fit(X, y, ["a", "b", "d"])
    model = Classifier().partial_fit(X, y, ["c", "a", "b"]).partial_fit(X, y, ["a", "b", "c"]).partial_fit(X, y)
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        model.partial_fit(X, y, ["a", "b"])
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("Classifier", [KernelPerceptron, Perceptron])
def test_a_row_of_weight_zero_is_missing_whatever_its_label(rng, Classifier):
    X, y = rows(rng)
    known, some = ["a", "b"], y != "c"
    one = Classifier().partial_fit(X, y, known, some.astype(float))
    np.testing.assert_array_equal(answers(one, X), answers(Classifier().partial_fit(X[some], y[some], known), X))


def test_known_labels_are_found_in_any_order_and_of_their_type_alone():
    assert encode_known(np.array(["a", "b", "d"]), np.array(["d", "a", "d"])).tolist() == [2, 0, 2]
    assert declared_classes([3, 1, 3], None).tolist() == [1, 3]
    for labels in ([1, 2], [0.5, 1], ["e"]):
        with pytest.raises((TypeError, ValueError)):
            encode_known(np.array(["1", "2"]), np.array(labels))


def test_a_warning_names_the_line_of_the_caller(rng):
    X, y = rows(rng)
    for model in (
        KernelPerceptron(max_iter=1),
        LinearSVC(max_iter=1, tol=1e-12),
        LogisticRegression(max_iter=1, tol=1e-12),
        Perceptron(max_iter=2, order="cyclic"),
        SVC(max_iter=1),
    ):
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, y)
        assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fastclf.cross_validate(SVC(max_iter=1), X, y, cv=3, n_jobs=1)
    assert __file__ in {warning.filename for warning in caught}


def test_every_form_of_a_random_state_is_a_seed():
    assert as_seed(7) == 7
    assert as_seed(None, 3) == 3
    for form in (np.random.RandomState, np.random.default_rng):
        assert as_seed(form(1), 3) == as_seed(form(1)) != as_seed(form(2))
    assert as_seed(None) != as_seed(None)
    for wrong in (-1, 0.5, "a", True):
        with pytest.raises((TypeError, ValueError), match=f"random_state is {wrong!r}; "):
            as_seed(wrong)


def test_a_wrong_random_state_is_refused_before_any_work(rng):
    X, y = rows(rng)
    with pytest.raises(TypeError, match="random_state is 'a'; a whole number is wanted"):
        SVC(probability=True, random_state="a").fit(X, y)
    with pytest.raises(TypeError, match="random_state is 'a'; a whole number is wanted"):
        list(fastclf.KFold(3, shuffle=True, random_state="a").split(X))
