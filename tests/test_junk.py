"""For any value of a parameter, a method answers or refuses with one sentence of this library."""

import copy
import inspect
import pickle
import types

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from every_call import calls
from every_estimator import ESTIMATORS, FITTED, MIXED, X, Y, asked
from forge import assemble, parts
from fuzz import ALL_METHODS
from sentences import JUNK, is_sentence, place

import fastclf
from fastclf import SVC, GaussianNB, NaiveBayes, NearestNeighbors, Perceptron, TableClassifier, display, load, save
from fastclf._validation import encode_labels

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

# Parameters without junk: the given number of threads is started, and progress is printed.
UNTRIED = ("n_jobs", "verbose")

# Methods about the settings of the estimator, not about what it has fitted.
ONESELF = ("get_params", "set_params", "set_output")


def called(function, *args):
    try:
        function(*args)
    except Exception as error:
        if not is_sentence(error):
            raise AssertionError(f"{place(error)}: {type(error).__name__}: {error}") from error


def methods(model):
    return [method for method in ALL_METHODS if hasattr(model, method)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_junk_in_a_parameter_gets_a_sentence(name):
    make, *data = ESTIMATORS[name]
    fitted = make().fit(*data)
    for parameter, value in fitted.get_params(deep=False).items():
        for junk in [] if parameter in UNTRIED else JUNK:
            model = make().set_params(**{parameter: junk})
            if "random_state" in model.get_params() and parameter != "random_state":
                model.set_params(random_state=0)
            # the fit with this parameter would take seconds
            if not (name == "svc, sparse" and isinstance(junk, float) and junk == 1e300):
                called(model.fit, *data)
                if hasattr(model, "partial_fit"):
                    called(model.partial_fit, *data[: 1 if name == "NearestNeighbors" else 2])
            fitted.set_params(**{parameter: junk})
            for each in (model, fitted):
                for method in methods(each):
                    called(getattr(each, method), asked(each))
            repr(fitted)
            fitted.set_params(**{parameter: value})


def almost(value):
    """Values of another type or shape than a fitted attribute has, with its contents."""
    yield [value]
    yield value, value
    if isinstance(value, tuple | list):
        yield from (list(value), tuple(value), value[:-1])
        if all(isinstance(each, int | float) for each in value):
            yield np.array(value)
    if isinstance(value, np.ndarray):
        yield from (value.tolist(), value.astype(object), value[None], value.ravel()[:1])
        yield value.astype(np.float16 if value.dtype.kind in "iuf" else object)
    if isinstance(value, int | float | str):
        yield from (str(value), np.array([value, value]))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fitted_attribute_of_another_type_gets_a_sentence(name):
    make, *data = ESTIMATORS[name]
    fitted, methods = make().fit(*data), calls(name)
    for attribute in vars(fitted).keys() - fitted.get_params(deep=False).keys():
        for value in almost(getattr(fitted, attribute)):
            model = copy.copy(fitted)
            setattr(model, attribute, value)
            for method in methods.values():
                called(method, model)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame, pyarrow.table], ids=lambda each: each.__module__)
def test_junk_in_a_parameter_gets_a_sentence_where_the_rows_are_a_data_frame_of_words(frame):
    X = frame({"size": np.arange(20.0), "day": ["2024-01-05", "2024-02-06"] * 10, "colour": ["red", "green"] * 10})
    y = np.repeat(["no", "yes"], 10)
    for parameter in TableClassifier().get_params(deep=False):
        for junk in JUNK:
            called(TableClassifier(**{parameter: junk}).fit, X, y)


@pytest.mark.parametrize("name", FITTED)
def test_every_public_method_works_on_a_snapshot(name):
    cls = type(FITTED[name]())
    for attribute in dir(cls):
        member = next(vars(each)[attribute] for each in cls.__mro__ if attribute in vars(each))
        member = member.fget if isinstance(member, property) else member
        if isinstance(member, types.FunctionType) and not attribute.startswith("_"):
            theirs = str(getattr(member, "__module__", "")).startswith("sklearn.")
            assert theirs or hasattr(member, "__wrapped__") or attribute in ONESELF, attribute


def test_what_is_assigned_before_a_fit_is_not_read():
    model = NearestNeighbors()
    model._scan, model.n_samples_fit_ = 3, 10
    with pytest.raises(ValueError, match="not fitted yet"):
        model.kneighbors([[0.0]])
    assert model.fit([[0.0], [1.0]]).kneighbors([[0.9]], 1)[1].tolist() == [[1]]


def test_more_memory_than_there_is_is_told_by_the_method():
    with pytest.raises(MemoryError, match=r"RBFSampler\.fit needs more memory than there is"):
        FITTED["RBFSampler"]().set_params(n_components=2**40).fit([[0.0], [1.0]])


def test_a_cache_of_any_size_takes_no_more_than_the_kernel():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    for size in (1e300, float("inf"), 2**63):
        assert SVC(cache_size=size).fit(X, y).predict(X).tolist() == SVC().fit(X, y).predict(X).tolist()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_and_a_pickle_are_checked_too(duplicate):
    model = FITTED["PolynomialFeatures"]()
    model.order = "cyclic"
    with pytest.raises(ValueError, match="order is 'cyclic'; one of 'C', 'F' is wanted"):
        duplicate(model).transform(asked(model))
    model = FITTED["KNeighborsClassifier"]()
    model._codes = model._codes[:3]
    with pytest.raises(ValueError, match="_codes has shape"):
        duplicate(model).predict(asked(model))


def test_a_parameter_makes_the_attributes_that_it_concerns_be_checked():
    model = FITTED["Nystroem"]().set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="component_indices_ has"):
        model.transform(asked(model))


def test_after_a_fit_that_fails_parameters_are_still_checked():
    model = FITTED["SVC"]().set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="square matrix is wanted"):
        model.fit(np.zeros((2, 3)), [0, 1])
    with pytest.raises(ValueError, match="shape_fit_ is"):
        model.predict(asked(model))


@pytest.mark.parametrize("name", ["t_", "n_mistakes_", "radius_"])
def test_what_a_perceptron_goes_on_with_must_be_numbers(name):
    X, y = [[0.0], [1.0]], [0, 1]
    for junk in ({}, object(), "x", None, [], 1j, 10**30):
        model = Perceptron().fit(X, y)
        setattr(model, name, junk)
        with pytest.raises(ValueError, match=f"{name} is .*; (numbers are|a whole number is|1 to \\d+ is) wanted"):
            model.partial_fit(X, y)


def test_an_np_matrix_is_an_array():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]]), [0, 1, 1]
    for model in (NaiveBayes("mdl"), NaiveBayes(), GaussianNB()):
        expected = model.fit(X, y).predict_proba(X)
        assert np.array_equal(model.fit(np.asmatrix(X), y).predict_proba(np.asmatrix(X)), expected)


def test_later_rows_get_the_distributions_of_the_first_ones():
    first, more = [[0.5], [1.5], [2.25], [4.0]], [[0.0], [1.0], [1.0], [0.0]]
    model = NaiveBayes().partial_fit(first, [0, 1, 0, 1], classes=[0, 1])
    kinds = model.distributions_
    model.set_params(distributions="bernoulli").partial_fit(more, [0, 1, 1, 0])
    assert model.distributions_ == kinds
    expected = NaiveBayes("gaussian").fit(first + more, [0, 1, 0, 1, 0, 1, 1, 0]).predict_proba(first)
    assert np.allclose(model.predict_proba(first), expected)


def test_a_column_of_which_all_is_missing_adds_nothing():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1]
    model = NaiveBayes("bernoulli", missing="ignore").partial_fit(X, y, classes=[0, 1])
    before = model.predict_proba(X)[:, 0]
    model.partial_fit(np.array([[np.nan, np.nan], [np.nan, np.nan], [np.nan, np.nan]]), y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.allclose(model.predict_proba(X)[:, 0], before)


def test_no_labels_are_refused():
    with pytest.raises(ValueError, match="y has 0 entries"):
        encode_labels(np.zeros(0, int))


def test_parameters_of_a_file_are_checked(tmp_path):
    cases = [("SVC", "degree", [3]), ("Nystroem", "gamma", "x"), ("PolynomialFeatures", "order", "K")]
    for name, parameter, junk in cases:
        model = FITTED[name]()
        save(model, tmp_path / "model.fclf")
        header, arrays = parts((tmp_path / "model.fclf").read_bytes())
        header["estimator"]["object"][1][parameter] = junk
        (tmp_path / "model.fclf").write_bytes(assemble(header, arrays))
        with pytest.raises(ValueError, match=f"is damaged: .*{parameter} is "):
            load(tmp_path / "model.fclf")
        vars(model)[parameter] = junk  # an assignment that bypasses the checks of __setattr__
        with pytest.raises((ValueError, TypeError), match=f"{parameter} is "):
            save(model, tmp_path / "model.fclf")


def test_forged_names_and_classes_are_refused(tmp_path):
    model = FITTED["TableClassifier"]()
    model.feature_names_in_ = np.array([np.zeros(2), "b", "c"], dtype=object)
    with pytest.raises(ValueError, match="feature_names_in_ has an entry that is no string"):
        model.predict(MIXED)
    model = FITTED["BayesOptimalClassifier"]()
    model.classes_ = model.classes_[::-1].copy()
    with pytest.raises(ValueError, match="classes_ has entries that do not ascend"):
        model.predict_proba(X[:2])


CALLS = {
    "ax is": lambda: display.RocCurveDisplay.from_predictions(Y == "no", X[:, 0], ax=np.zeros(2)),
    "which has no cost_complexity_pruning_path": lambda: display.PruningDisplay.from_estimator(SVC(), X, Y),
    "which has no predict": lambda: display.ConfusionMatrixDisplay.from_estimator(SVC, X, Y),
    "X is no array of numbers": lambda: display.DecisionBoundaryDisplay.from_estimator(GaussianNB(), "", Y),
    "densities is 3": lambda: fastclf.BayesClassifier([0.5, 0.5], 3),
    "zero_division is": lambda: fastclf.f1_score(Y, Y, pos_label="yes", zero_division=np.zeros(2)),
    "target_names is 1.0": lambda: fastclf.classification_report(Y, Y, target_names=1.0),
    "warn_for is 1.0": lambda: fastclf.precision_recall_fscore_support(Y, Y, warn_for=1.0),
    "at least one row": lambda: fastclf.log_loss([0], np.zeros((0, 2)), labels=[0, 1]),
    "rows are 3": lambda: fastclf.train_test_split(3),
    "inconsistent numbers of samples": lambda: list(fastclf.StratifiedKFold(2).split(X, Y[:10])),
    "shares is no array": lambda: fastclf.train_validation_test_split(X, shares="x"),
    "one is 1": lambda: fastclf.paired_comparison(1, 2),
    "pairs of indices": lambda: fastclf.majority_error(Y, [[1]]),
    "a C identifier": lambda: fastclf.export_c(FITTED["LinearSVC"](), "model.c", name=b"model"),
    "params is 3": lambda: fastclf.cross_validate(GaussianNB(), X, Y, params=3),
    "True or False": lambda: fastclf.cross_validate(GaussianNB(), X, Y, shortcuts=np.zeros(2)),
    "method has": lambda: fastclf.cross_val_predict(GaussianNB(), X, Y, method=np.zeros(2)),
    "param_grid has 3": lambda: fastclf.tune(GaussianNB(), {3: [1]}, X, Y),
    "random_state is": lambda: fastclf.train_validation_test_split(X, random_state={"a": 1}),
    "replace_undefined_by is": lambda: fastclf.class_likelihood_ratios([1, 1], [1, 1], replace_undefined_by=[1]),
    "normalize is": lambda: fastclf.accuracy_score(Y, Y, normalize=np.zeros(0)),
    "samplewise is": lambda: fastclf.multilabel_confusion_matrix(Y, Y, samplewise=np.zeros(2)),
    "Cs is 0.5": lambda: fastclf.svm_path(X, Y, 0.5),
    "at least one|0 feature": lambda: GaussianNB().fit(pyarrow.table({}), Y),
    "average is": lambda: fastclf.f1_score(Y, Y, average=np.zeros(2)),
    "include_self is": lambda: fastclf.kneighbors_graph(X, 1, include_self=np.zeros(2)),
    "cv is 3.0": lambda: fastclf.permutation_test_score(GaussianNB(), X, Y, cv=3.0),
    "simpler is 3": lambda: fastclf.tune(GaussianNB(), {"var_smoothing": [0.1]}, X, Y, simpler=3),
}


@pytest.mark.parametrize("said", CALLS)
def test_functions_refuse_junk_in_a_sentence(said):
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        CALLS[said]()
    assert is_sentence(caught.value)


def test_the_share_explained_of_one_label_alone_is_as_in_scikit_learn():
    for y, proba, expected in [([1, 1], [0.4, 0.3], -np.inf), ([1, 1], [1.0, 1.0], np.nan)]:
        both = np.column_stack([1 - np.array(proba), proba])
        assert np.array_equal(fastclf.d2_brier_score(y, proba, pos_label=1), expected, equal_nan=True)
        assert np.array_equal(fastclf.d2_brier_score(y, both, labels=[0, 1]), expected, equal_nan=True)


def test_a_table_is_not_taken_as_it_is():
    assert not FITTED["knn, table"]().takes_as_is(MIXED)


def takes_weights(make):
    return "sample_weight" in inspect.signature(make().fit).parameters


@pytest.mark.parametrize("name", [name for name, (make, *_) in ESTIMATORS.items() if takes_weights(make)])
def test_weights_whose_sum_is_beyond_float64_are_refused(name):
    make, X, *y = ESTIMATORS[name]
    with pytest.raises(ValueError, match="sum beyond 1e308; smaller weights are wanted"):
        make().fit(X, *y[:1], sample_weight=np.full(len(y[0]), 1e308))
