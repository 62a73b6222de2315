"""One snapshot per call: changes of an estimator during a call do not affect the call's result."""

import copy
import pickle
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from every_call import calls
from every_estimator import ESTIMATORS, FITTED, METHODS, Y, answer, answers, asked, other_rows, same
from sentences import is_sentence, place

import fastclf
from fastclf import KNeighborsClassifier, load, save
from fastclf._snapshot import is_state, snapshot

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

ADDED_TO = ["NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsDensity", "knn, filter"]
LEARNING_ON = ["Perceptron", "KernelPerceptron", "GaussianNB", "MultinomialNB", "CategoricalNB", "NaiveBayes"]


def all_answers(model):
    return list(answers(model))


def equal(one, other):
    return len(one) == len(other) and all(map(same, one, other))


def learn_more(model):
    """A function that calls `partial_fit` with the predicted rows and the labels of other rows."""
    rows = asked(model)
    model.partial_fit(rows, *([rows[:, 0]] if "Regressor" in type(model).__name__ else [Y[::-1][: len(rows)]]))


@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_model_is_what_its_table_of_state_says(name):
    FITTED[name]()._check_state()


@pytest.mark.parametrize("name", ADDED_TO + LEARNING_ON)
def test_a_snapshot_is_not_changed_by_what_the_model_learns_later(name):
    model = FITTED[name]()
    taken, before = snapshot(model), all_answers(model)
    learn_more(model)
    model._check_state()
    assert equal(all_answers(taken), before)
    assert not equal(all_answers(model), before)


@pytest.mark.parametrize("name", ADDED_TO)
def test_a_model_that_rows_were_added_to_is_saved(name, tmp_path):
    model = FITTED[name]()
    learn_more(model)
    save(model, tmp_path / "model.fclf")
    assert equal(all_answers(load(tmp_path / "model.fclf")), all_answers(model))
    model.remove([0, 3])
    save(model, tmp_path / "model.fclf")
    assert equal(all_answers(load(tmp_path / "model.fclf")), all_answers(model))


def others(value):
    """Values of other types, shapes and lengths than a fitted one."""
    if isinstance(value, np.ndarray):
        yield from [None, 3, np.zeros(()), value[:0], value[:1], value[..., :1], value.tolist(), value.astype(object)]
        yield from [np.repeat(value, 2, axis=0), value.astype("S9"), value[..., None], np.asfortranarray(value)]
    elif isinstance(value, (int, float)):
        yield from [None, "a", 0, 1, -1, 2**31, 2**62, 2**63, 1e300, float("nan"), np.array([1, 2])]
    else:
        yield from [None, [], {}, 0, "a", np.zeros(2)]


def refusal(model):
    """The sentence with which a model refuses to answer, or None."""
    try:
        all_answers(model)
    except (ValueError, TypeError) as error:
        return str(error)


@pytest.mark.parametrize("name", FITTED)
def test_an_assigned_attribute_is_used_or_refused_in_a_sentence(name):
    model = FITTED[name]()
    for key, value in [(key, value) for key, value in vars(model).items() if is_state(key)]:
        for other in others(value):
            setattr(model, key, other)
            said = refusal(model)
            assert said is None or any(word in said for word in (" is ", " has ", "expecting")), (key, other, said)
        delattr(model, key)
        said = refusal(model)
        assert said is None or any(word in said for word in ("missing", "no attribute", "not fitted", "wanted")), (
            key,
            said,
        )
        setattr(model, key, value)
    assert equal(all_answers(model), all_answers(FITTED[name]()))


@pytest.mark.parametrize("name", FITTED)
def test_no_method_breaks_on_an_assigned_attribute(name):
    model, found = FITTED[name](), {}
    methods = calls(name)
    for key, value in [(key, value) for key, value in vars(model).items() if is_state(key)]:
        for other in [*others(value), [1, 2], {}, object()]:
            setattr(model, key, other)
            for method, call in methods.items():
                try:
                    call(model)
                except Exception as error:
                    if not is_sentence(error):
                        found[f"{place(error)}: {error}"] = f"{method} with {key} = {other!r:.60}"
        setattr(model, key, value)
    assert not found


def test_coefficients_that_a_user_assigns_are_used():
    X = np.random.default_rng(0).standard_normal((50, 4))
    for cls in (fastclf.LogisticRegression, fastclf.LinearSVC, fastclf.Perceptron, fastclf.LeastSquaresClassifier):
        model = cls().fit(X, X[:, 0] > 0)
        model.coef_ = np.array([[0.0, 1.0, 0.0, 0.0]])
        model.intercept_ = np.array([0.5])
        assert np.array_equal(model.decision_function(X), X[:, 1] + 0.5)


def test_a_fit_takes_no_notice_of_what_was_assigned_before():
    X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]
    model = fastclf.LogisticRegression().fit(X, y)
    model.coef_ = None
    with pytest.raises(ValueError, match="coef_ is a NoneType"):
        model.predict(X)
    assert np.array_equal(model.fit(X, y).predict(X), y)


def test_a_callback_may_refit_the_model_that_answers():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30_000, 20)), rng.integers(3, size=30_000)
    model = KNeighborsClassifier(n_jobs=1).fit(X, y)
    expected, calls = model.predict(X[:3000]), []

    def refit(step, total, value):
        if not calls:
            model.set_params(callback=None).fit(X[:30, :5], y[:30])
        calls.append(step)

    answer = model.set_params(callback=refit).predict(X[:3000])
    assert calls
    assert np.array_equal(answer, expected)
    assert model.n_features_in_ == 5


def test_a_parameter_that_a_callback_sets_during_a_fit_stays():
    X = np.random.default_rng(0).standard_normal((4000, 5))

    def change(step, total, value):
        model.set_params(C=7.0, callback=None)

    model = fastclf.SVC(C=1.0, callback=change)
    model.fit(X, X[:, 0] > X[:, 1] ** 2)
    assert (model.C, model.callback) == (7.0, None)
    assert model.n_features_in_ == 5


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    for name in FITTED:
        model = FITTED[name]()
        before = dict(vars(model))
        with pytest.raises((ValueError, TypeError)):
            model.fit(np.full((4, 2), np.nan) if name != "OneHotEncoder" else np.zeros((0, 2)), [1, 2, 3])
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is value for key, value in before.items())


@pytest.fixture
def hurried():
    """A setting that makes threads switch as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def outcome(model, method):
    """The result of a method, or the sentence with which it refuses."""
    try:
        return answer(model, method)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", FITTED)
def test_while_one_thread_fits_another_gets_the_answers_of_a_whole_fit(name, hurried):
    make, *data = ESTIMATORS[name]
    fits = [data, other_rows(data)]
    known, errors, ended = [make().fit(*fit) for fit in fits], [], threading.Event()
    if name in ADDED_TO:
        known.append(make().fit(*fits[1]).remove([0, 5]))
    methods = [method for method in METHODS if hasattr(known[0], method)]
    expected = {method: [outcome(each, method) for each in known] for method in methods}
    model = make().fit(*data)

    def change():
        try:
            while not ended.is_set():
                for fit in fits:
                    model.fit(*fit)
                if name in ADDED_TO:
                    model.remove([0, 5])
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        stop = time.monotonic() + 0.3
        while time.monotonic() < stop:
            for method in methods:
                came = outcome(model, method)
                assert any(came == each if isinstance(came, str) else equal(came, each) for each in expected[method])
    finally:
        ended.set()
        thread.join()
    assert not errors


def test_attributes_of_a_subclass_outlive_fits_and_calls():
    class Counting(KNeighborsClassifier):
        def fit(self, X, y):
            self.n_rows_, self.label = len(X), "mine"
            super().fit(X, y)
            self.n_fits_ = getattr(self, "n_fits_", 0) + 1
            return self

        def predict_proba(self, X):
            self.n_asked_ = len(X)
            return super().predict_proba(X)

        def predict(self, X):
            return self.predict_proba(X).argmax(axis=1)

    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    model = Counting(1).fit(X, y).fit(X, y)
    assert (model.n_rows_, model.n_fits_, model.label) == (6, 2, "mine")
    assert model.score(X, y) == 1
    assert model.n_asked_ == 6


def test_attributes_that_a_user_adds_outlive_a_fit_and_stale_ones_of_a_fit_do_not():
    model = KNeighborsClassifier(1).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    model.note_ = "mine"
    model.fit([[0.0], [1.0]], [0, 1])
    assert model.note_ == "mine"
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("name", FITTED)
def test_a_copy_has_the_attributes_of_the_model_and_no_others(name):
    model = FITTED[name]()
    twin = pickle.loads(pickle.dumps(model))
    assert vars(twin).keys() == vars(copy.copy(model)).keys() == vars(model).keys()
