"""Huge numbers, one at a time, for every argument of every public function, class and method: each call answers, or
refuses with a sentence before it takes the memory or the time that the number asks for."""

import copy
import inspect
import itertools
from functools import partial

import numpy as np
import pytest
from every_estimator import ESTIMATORS, METHODS, X, Y, asked
from fuzz_functions import FUNCTIONS
from sentences import is_sentence, place
from test_one_wrong_argument import (
    ONESELF,
    TWO,
    UNTRIED,
    a_limit_of_memory,
    called_to_the_end,
    method_cases,
    right_values,
)

import fastclf
from fastclf import _validation

assert a_limit_of_memory  # a fixture for all tests of this module, too

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

HUGE = [10**9, 2**31, 2**40, 2**62, 2**63 - 1, 10**30]

GROUPS = np.arange(40) % 5


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """What needs 2 GB is refused, as on a small computer."""
    monkeypatch.setattr(_validation, "_memory", lambda: 2 << 30)


def refusals(call, given, names):
    """The exceptions, other than sentences, of calls with a huge number for one of the arguments `names`."""
    given = {name: value for name, value in given.items() if value is not inspect.Parameter.empty}
    found = {}
    for name, huge in itertools.product(names, HUGE):
        fresh = {key: copy.copy(value) for key, value in given.items() if hasattr(value, "fit")}
        try:
            call(**given | fresh | {name: huge})
        except Exception as error:
            if not is_sentence(error):
                found[name] = f"{huge}: {place(error)}: {type(error).__name__}: {str(error)[:100]}"
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_answers_or_refuses_a_huge_number(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a function may take a wrong path for the name of a new file
    function = FUNCTIONS[name]
    given = right_values(function, name, TWO)
    if any(each.kind is each.VAR_POSITIONAL for each in inspect.signature(function).parameters.values()):
        function = partial(function, X, Y)
    assert not refusals(called_to_the_end(function), given, set(given) - UNTRIED)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name in fastclf.__all__])
def test_a_fit_answers_or_refuses_a_huge_number(name):
    make, *data = ESTIMATORS[name]
    fitted = make().fit(*data)

    def call(**options):
        make().set_params(**options).fit(*data)
        fitted.set_params(**options)
        for method in METHODS:
            if hasattr(fitted, method):
                getattr(fitted, method)(asked(fitted))

    known = fitted.get_params(deep=False)
    assert not refusals(call, known, set(known) - UNTRIED)


@pytest.mark.parametrize(("name", "method"), list(method_cases()))
def test_a_method_answers_or_refuses_a_huge_number(name, method):
    make, rows, *targets = ESTIMATORS[name]
    fitted = make().fit(rows, *targets)
    values = TWO | {"X": rows, "queries": asked(fitted), "y": targets[0] if targets else None, "other": fitted}
    values["classes"] = None if values["y"] is None or values["y"].ndim > 1 else np.unique(values["y"])
    given = right_values(getattr(fitted, method), method, values)
    assert method in ONESELF or not refusals(
        lambda **options: getattr(copy.copy(fitted), method)(**options), given, set(given) - UNTRIED
    )


class Always:
    """A distribution whose draws are all the same."""

    def rvs(self, random_state=None):
        return 0.1


GRID, NB, LOGISTIC = {"var_smoothing": [0.1, 0.2]}, fastclf.GaussianNB(), fastclf.LogisticRegression()

# Calls that make a list, an array or a number of fits from a huge number n.
CALLS = {
    "GridSearchCV": lambda n: fastclf.GridSearchCV(NB, {"var_smoothing": range(1, n)}).fit(X, Y),
    "GridSearchCV, two": lambda n: fastclf.GridSearchCV(
        fastclf.SVC(), {"C": range(1, 10**5), "gamma": range(1, 10**5), "coef0": range(n)}
    ).fit(X, Y),
    "ParameterGrid": lambda n: len(fastclf.ParameterGrid({"a": range(n), "b": range(n)})),
    "ParameterGrid, first": lambda n: next(iter(fastclf.ParameterGrid({"a": range(n), "b": range(n)}))),
    "RandomizedSearchCV": lambda n: fastclf.RandomizedSearchCV(NB, {"var_smoothing": Always()}, n_iter=n).fit(X, Y),
    "RandomizedSearchCV, list": lambda n: fastclf.RandomizedSearchCV(NB, {"var_smoothing": range(1, n)}).fit(X, Y),
    "tune": lambda n: fastclf.tune(NB, {"var_smoothing": range(1, n)}, X, Y),
    "tune, C": lambda n: fastclf.tune(fastclf.SVC(), {"C": [1, n]}, X, Y),
    "validation_curve": lambda n: fastclf.validation_curve(
        NB, X, Y, param_name="var_smoothing", param_range=range(1, n)
    ),
    "learning_curve": lambda n: fastclf.learning_curve(NB, X, Y, train_sizes=range(1, n)),
    "learning_curve, one": lambda n: fastclf.learning_curve(NB, X, Y, train_sizes=[n]),
    "svm_path": lambda n: fastclf.svm_path(X, Y, Cs=range(1, n)),
    "LogisticRegressionCV": lambda n: fastclf.LogisticRegressionCV(Cs=range(1, n)).fit(X, Y),
    "RidgeClassifierCV": lambda n: fastclf.RidgeClassifierCV(alphas=range(1, n)).fit(X, Y),
    "TunedThresholdClassifierCV": lambda n: fastclf.TunedThresholdClassifierCV(LOGISTIC, thresholds=n).fit(X, Y),
    "TunedThresholdClassifierCV, range": lambda n: fastclf.TunedThresholdClassifierCV(
        LOGISTIC, thresholds=range(n)
    ).fit(X, Y),
    "FixedThresholdClassifier": lambda n: fastclf.FixedThresholdClassifier(LOGISTIC, threshold=n).fit(X, Y).predict(X),
    "OneHotEncoder": lambda n: fastclf.OneHotEncoder(categories=[range(n)] * 3).fit(X.astype(int)),
    "CategoricalNB": lambda n: fastclf.CategoricalNB(min_categories=[n, 1, 1]).fit(X.astype(int), Y),
    "predict": lambda n: fastclf.KNeighborsClassifier().fit(X, Y).predict(range(n)),
    "repeats": lambda n: fastclf.cross_validate(NB, X, Y, repeats=n),
    "LeavePOut": lambda n: fastclf.cross_validate(NB, X, Y, cv=fastclf.LeavePOut(20)),
    "LeavePGroupsOut": lambda n: fastclf.cross_validate(NB, X, Y, groups=np.arange(40), cv=fastclf.LeavePGroupsOut(20)),
    "RepeatedKFold": lambda n: fastclf.cross_validate(NB, X, Y, cv=fastclf.RepeatedKFold(n_repeats=n)),
    "cross_val_predict": lambda n: fastclf.cross_val_predict(NB, X, Y, cv=n),
    "thresholds of a tree": lambda n: fastclf.tune(fastclf.DecisionTreeClassifier(), {"max_depth": [n, 1]}, X, Y),
} | {
    f"{name}.n_splits": lambda n, name=name: fastclf.cross_validate(
        NB, X, Y, groups=GROUPS, cv=getattr(fastclf, name)(n_splits=n)
    )
    for name in ("KFold", "ShuffleSplit", "StratifiedShuffleSplit", "HoldOut", "GroupShuffleSplit", "TimeSeriesSplit")
}


@pytest.mark.parametrize("name", CALLS)
def test_lists_and_searches_of_a_huge_number_are_refused_at_once(name):
    assert not refusals(CALLS[name], {}, ["n"])


def test_a_list_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(_validation, "_memory", lambda: 1 << 24)
    with pytest.raises(MemoryError, match=r"Cs needs .* GB of memory; there are"):
        fastclf.svm_path(X, Y, Cs=itertools.count(1))


def test_a_long_list_is_the_array_that_numpy_makes_of_it():
    n = 100_000
    lists = [[0] * n + [0.5], [True] * n + [2], ["a"] * n + ["longer"], [[1, 2]] * n, [(1, 2.5)] * n, [b"a"] * n]
    lists += [[2**63] * n, [1] * n + ["a"], [None] * n, [0.5] * n + [None], [1] * n + [2**63], range(n)]
    lists += [[np.zeros(3, "f4")] * n, [np.float32(1)] * n, [1] * n + [1j], [[1] * n] * 2, [[]] * n, [True] * n + [0.5]]
    for given in lists:
        ours, theirs = _validation.as_array(given, "X"), np.asarray(given)
        assert ours.dtype == theirs.dtype, given[-1]
        assert np.array_equal(ours, theirs), given[-1]
    with pytest.raises(ValueError, match="rows of equal length are wanted"):
        _validation.as_array([[1, 2]] * n + [[1]], "X")
    with pytest.raises(ValueError, match="rows of equal length are wanted"):
        _validation.as_array([[1, 2]] * n + [1], "X")


def test_more_alphas_than_subtrees_are_all_of_them():
    trees = fastclf.DecisionTreeClassifier()
    drawn = [fastclf.display.PruningDisplay.from_estimator(trees, X, Y, n_alphas=n) for n in (50, 10**12)]
    assert np.array_equal(*[display.values for display in drawn])
