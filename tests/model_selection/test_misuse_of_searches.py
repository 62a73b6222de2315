"""Searches and tuned thresholds: wrong parameters and assigned attributes are answered or refused with a sentence."""

import copy
import inspect
import threading
from functools import partial

import numpy as np
import pytest
from every_estimator import X, Y
from fuzz_functions import asks_for_much
from sentences import JUNK, is_sentence, place
from test_snapshot import others

from fastclf import (
    SVC,
    DensityTree,
    FixedThresholdClassifier,
    GaussianNB,
    GridSearchCV,
    KNeighborsClassifier,
    LeaveOneOut,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
    train_validation_test_split,
)
from fastclf._snapshot import is_state

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

GRIDS = [{"var_smoothing": []}, {"var_smoothing": ["a"]}, [{}], {"var_smoothing": 5}, {"unknown": [1]}]
GRID = {"var_smoothing": [1e-9, 0.1]}
MADE = {
    "grid": lambda: GridSearchCV(GaussianNB(), GRID, cv=2),
    "grid, two scorers": lambda: GridSearchCV(
        GaussianNB(), GRID, cv=2, scoring=["f1_macro", "accuracy"], refit="accuracy"
    ),
    "random": lambda: RandomizedSearchCV(GaussianNB(), GRID, n_iter=2, cv=2, random_state=0),
    "tuned": lambda: TunedThresholdClassifierCV(GaussianNB(), cv=2),
    "fixed": lambda: FixedThresholdClassifier(GaussianNB()),
}
ARGUMENTS = {"X": X, "y": Y}


def ask(model, method, given):
    return getattr(model, method)(*given)


def tell(call, found, what):
    """Call a function; an exception that is no sentence is noted in `found`."""
    try:
        call()
    except Exception as error:
        if not is_sentence(error):
            found[f"{place(error)}: {type(error).__name__}: {error}"] = what


@pytest.mark.parametrize("name", MADE)
def test_a_wrong_parameter_is_answered_or_refused(name):
    found, fitted = {}, MADE[name]().fit(X, Y)
    for parameter in fitted.get_params(deep=False):
        for wrong in [*JUNK, *GRIDS]:
            if parameter in ("verbose", "n_jobs") and asks_for_much(wrong):
                continue
            model = copy.copy(fitted).set_params(**{parameter: wrong})
            for method, given in [("fit", (X, Y)), ("predict", (X,)), ("score", (X, Y)), ("__repr__", ())]:
                call = partial(ask, model, method, given)
                tell(call, found, f"{method} with {parameter} = {wrong!r:.60}")
    assert not found


@pytest.mark.parametrize("name", MADE)
def test_an_assigned_attribute_is_used_or_refused(name):
    found, fitted = {}, MADE[name]().fit(X, Y)
    methods = [key for key, member in inspect.getmembers(type(fitted)) if key[0] != "_" and callable(member)]
    for key, value in [(key, value) for key, value in vars(fitted).items() if is_state(key)]:
        for other in [*others(value), [1, 2], {}, object(), lambda *given: 1.0]:
            model = copy.copy(fitted)
            setattr(model, key, other)
            for method in methods:
                called = getattr(model, method, None)
                if called is None or method in ("fit", "get_metadata_routing", "set_params") or "request" in method:
                    continue
                given = {name: ARGUMENTS[name] for name in inspect.signature(called).parameters if name in ARGUMENTS}
                tell(lambda called=called, given=given: called(**given), found, f"{method} with {key} = {other!r:.60}")
    assert not found


@pytest.mark.parametrize("name", MADE)
def test_while_one_thread_fits_another_gets_the_answers_of_a_whole_fit(name):
    fits = [(X, Y), (X[::2], Y[::2])]
    known, model = [MADE[name]().fit(*fit).predict(X).tolist() for fit in fits], MADE[name]().fit(*fits[0])
    wrong, ended = [], threading.Event()

    def ask():
        while not ended.is_set() and not wrong:
            try:
                answer = model.predict(X).tolist()
                wrong.extend([] if answer in known else [answer])
            except Exception as error:
                wrong.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for _ in range(5):
            for fit in fits:
                model.fit(*fit)
    finally:
        ended.set()
        thread.join()
    assert not wrong


def test_a_fit_that_a_callback_makes_in_a_search_does_not_mix_models():
    def refit(step, total, value):
        if len(calls) < 3:
            calls.append(step)
            search.set_params(estimator=SVC(C=7.0)).fit(X[:20], Y[:20])

    calls, search = [], GridSearchCV(SVC(callback=refit), {"C": [1.0, 2.0]}, cv=2)
    search.fit(X, Y)
    assert calls
    assert search.n_features_in_ == search.best_estimator_.n_features_in_ == 3
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_leave_one_out_of_no_row_is_refused():
    for rows in (X[:0], X[:1]):
        for function in (cross_val_predict, cross_validate):
            with pytest.raises(ValueError, match=f"Cannot perform LeaveOneOut with n_samples={len(rows)}"):
                function(GaussianNB(), rows, cv=LeaveOneOut())


@pytest.mark.parametrize("verbose", [np.zeros(0), np.zeros(2), "x", [1]])
def test_a_wrong_verbose_is_refused(verbose):
    calls = [
        lambda: cross_val_score(GaussianNB(), X, Y, verbose=verbose),
        lambda: learning_curve(GaussianNB(), X, Y, verbose=verbose),
        lambda: LogisticRegression(verbose=verbose).fit(X, Y),
        lambda: LogisticRegressionCV(verbose=verbose).fit(X, Y),
        lambda: SVC(verbose=verbose).fit(X, Y),
        lambda: LinearSVC(verbose=verbose).fit(X, Y),
        lambda: KNeighborsClassifier(verbose=verbose).fit(X, Y).predict(X),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"verbose is .*; a number is wanted"):
            call()


@pytest.mark.parametrize("rows", [{"a": 1}, dict.fromkeys(range(40)), b"a" * 40, set(range(40))])
def test_rows_that_are_no_list_are_refused(rows):
    for function in (train_test_split, train_validation_test_split):
        with pytest.raises((TypeError, ValueError)) as caught:
            function(rows, stratify=Y)
        assert is_sentence(caught.value)


def test_a_metric_of_labels_for_a_density_is_refused():
    with pytest.raises(AttributeError, match="which has no predict; one with it is wanted") as caught:
        cross_val_score(DensityTree(), X, Y, scoring=["accuracy", "f1_macro"], error_score="raise")
    assert is_sentence(caught.value)
