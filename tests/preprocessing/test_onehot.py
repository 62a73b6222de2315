"""One-hot encoding with categories given by the user."""

import numpy as np
import pandas
import pytest
from sklearn import preprocessing

from fastclf import OneHotEncoder


@pytest.mark.parametrize("named", ["O", "U"])
@pytest.mark.parametrize("kind", ["O", "U", "S"])
def test_named_categories_have_the_type_of_the_column(kind, named):
    X = np.array([["b"], ["a"]], dtype=kind)
    categories = [np.array(["b", "longer", "a"], dtype=named)]
    encoder = OneHotEncoder(categories=categories, sparse_output=False).fit(X)
    assert encoder.categories_[0].dtype.kind == ("S" if kind == "S" else "O")
    assert encoder.transform(X).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert encoder.inverse_transform([[0, 0, 1]])[0, 0] == X[1, 0]


def test_a_table_of_objects_keeps_named_numbers_as_objects():
    X = np.array([["a", 0], ["b", 2]], dtype=object)
    encoder = OneHotEncoder(categories=[["a", "b"], [0, 1, 2]], handle_unknown="ignore").fit(X)
    assert encoder.inverse_transform([[0, 1, 0, 0, 1], [1, 0, 0, 0, 0]]).tolist() == [["b", 2], ["a", None]]


def test_numbers_are_named_in_any_order_and_never_rounded():
    encoder = OneHotEncoder(categories=[[2.5, 1, 3]], handle_unknown="ignore", sparse_output=False).fit([[1], [2]])
    assert encoder.transform([[1], [2], [3]]).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("parameters", [{"drop": ["a", "b"]}, {"categories": [["a", "b", "a"]]}])
def test_refusals_are_in_scikit_learns_words(parameters):
    X = np.array([["a"], ["b"]], dtype=object)
    with pytest.raises(ValueError) as ours:
        OneHotEncoder(**parameters).fit(X)
    with pytest.raises(ValueError) as theirs:
        preprocessing.OneHotEncoder(**parameters).fit(X)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("X", [[1, 2], np.array([3.0])], ids=["list", "array"])
def test_what_has_one_dimension_is_refused(X):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        OneHotEncoder().fit(X)


def test_a_series_is_refused():
    with pytest.raises(ValueError, match="Expected a 2-dimensional container but got <class 'pandas"):
        OneHotEncoder().fit(pandas.Series(["a"]))


@pytest.mark.parametrize("handle_unknown", ["ignore", "infrequent_if_exist", "warn"])
def test_warnings_tell_what_becomes_of_the_unknown(handle_unknown):
    ours, theirs = (
        kind(drop="first", handle_unknown=handle_unknown).fit([["a"], ["b"]])
        for kind in (OneHotEncoder, preprocessing.OneHotEncoder)
    )
    with pytest.warns(UserWarning, match="unknown") as told:
        ours.transform([["c"]])
    with pytest.warns(UserWarning, match="unknown") as expected:
        theirs.transform([["c"]])
    assert str(told[0].message) == str(expected[0].message)
