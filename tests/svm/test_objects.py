"""SVC and NuSVC with a kernel between objects that are no rows of numbers: texts, matrices, numbers one by one."""

import pickle

import numpy as np
import pandas
import pytest
import sklearn.svm
from sklearn.model_selection import cross_val_score as their_cross_val_score

from fastclf import SVC, NuSVC
from fastclf.model_selection import cross_val_score

TEXTS = ["A A", "A", "B", "B B", "A B", "A A B"] * 4
LABELS = np.array([1, 1, 2, 2, 1, 3] * 4)
MATRICES = np.random.default_rng(0).normal(size=(24, 3, 2)) + LABELS[:, None, None]


def letters(first, second):
    return np.array([[sum(a.count(x) * b.count(x) for x in "AB") for b in second] for a in first], float)


def traces(first, second):
    return np.einsum("aij,bij->ab", first, second)


CASES = {
    "list of texts": (letters, TEXTS),
    "array of texts": (letters, np.array(TEXTS)),
    "array of objects": (letters, np.array(TEXTS, dtype=object)),
    "series": (letters, pandas.Series(TEXTS)),
    "matrices": (traces, MATRICES),
    "ragged lists": (
        lambda first, second: np.outer([len(each) for each in first], [len(each) for each in second]) * 1.0,
        [[1] * length for length in range(24)],
    ),
    "numbers": (np.outer, np.arange(24.0)),
}


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("case", CASES)
def test_objects_are_fitted_as_the_table_of_their_kernel_values(cls, case):
    kernel, X = CASES[case]
    parameters = {"tol": 1e-8, "decision_function_shape": "ovo"} | ({"nu": 0.2} if cls is NuSVC else {})
    model, table = (cls(kernel=each, **parameters) for each in (kernel, "precomputed"))
    values = kernel(X, X)
    model.fit(X, LABELS)
    table.fit(values, LABELS)
    np.testing.assert_array_equal(model.decision_function(X), table.decision_function(values))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).predict(values[:7]), model.predict(X[:7]))
    np.testing.assert_array_equal(model.support_, table.support_)
    assert model.score(X, LABELS) == table.score(values, LABELS)
    if cls is SVC:  # LIBSVM's NuSVC gives up on some of these tables
        theirs = sklearn.svm.SVC(kernel=kernel, **parameters).fit(X, LABELS)
        np.testing.assert_allclose(theirs.decision_function(X), model.decision_function(X), atol=1e-5)


def test_the_kernel_sees_all_objects_in_one_call():
    sizes = []

    def kernel(first, second):
        sizes.append((len(first), len(second)))
        return letters(first, second)

    model = SVC(kernel=kernel).fit(TEXTS, LABELS)
    model.predict(TEXTS[:5])
    assert sizes == [(24, 24), (5, 24)]
    assert SVC(kernel=letters, tol=1e-6).fit(TEXTS, LABELS).kkt_violation(TEXTS, LABELS) <= 2e-6


@pytest.mark.parametrize("case", ["list of texts", "matrices"])
def test_objects_are_cross_validated_as_in_scikit_learn(case):
    kernel, X = CASES[case]
    model = SVC(kernel=kernel, tol=1e-8)
    assert cross_val_score(model, X, LABELS, cv=3).tolist() == their_cross_val_score(model, X, LABELS, cv=3).tolist()


def test_a_fit_of_rows_forgets_the_objects_and_other_objects_are_refused():
    model, altered = (SVC(kernel=letters).fit(TEXTS, LABELS) for _ in range(2))
    altered._fit_objects_ = TEXTS[:2]
    with pytest.raises(ValueError, match="the fit had 24 rows, and 2 are kept"):
        altered.predict(TEXTS)
    with pytest.raises(ValueError, match="y"):
        SVC(kernel=letters).fit(TEXTS, LABELS[:-1])
    rows = np.eye(4)
    assert model.set_params(kernel="linear").fit(rows, [0, 1, 0, 1]).predict(rows).tolist() == [0, 1, 0, 1]
    assert model._fit_objects_ is None


NO_SEQUENCES = {
    "None": None,
    "a number": 5,
    "a text": "A B",
    "an iterator": iter(TEXTS),
    "a dict": {"A": 1},
    "a set": {"A", "B"},
    "an empty list": [],
    "an array without an axis": np.array("A"),
    "no matrices": np.empty((0, 3, 2)),
}


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("what", NO_SEQUENCES)
def test_what_is_no_sequence_of_objects_is_refused_in_a_sentence(cls, what):
    X = NO_SEQUENCES[what]
    model = cls(kernel=letters).fit(TEXTS, LABELS)
    with pytest.raises((TypeError, ValueError), match=r"is wanted|minimum of 1 is required|are wanted"):
        cls(kernel=letters).fit(X, LABELS)
    with pytest.raises((TypeError, ValueError), match=r"is wanted|minimum of 1 is required|are wanted"):
        model.predict(X)
