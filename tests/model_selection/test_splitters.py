"""Folds equal scikit-learn's if it has the same splitter, and have the documented properties."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import model_selection
from sklearn.datasets import load_iris

from fastclf import (
    GroupKFold,
    HoldOut,
    KFold,
    KNeighborsClassifier,
    LeaveOneOut,
    StratifiedKFold,
    cross_validate,
    train_validation_test_split,
)

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=40), st.integers(2, 6), st.sampled_from([None, 0, 5]))
def test_folds_are_scikit_learns(y, n_splits, seed):
    y, rows = np.array(y), np.zeros((len(y), 1))
    options = {} if seed is None else {"shuffle": True, "random_state": seed}
    for ours, theirs in [
        (KFold, model_selection.KFold),
        (StratifiedKFold, model_selection.StratifiedKFold),
        (GroupKFold, model_selection.GroupKFold),
    ]:
        with warnings.catch_warnings(action="ignore"):
            try:
                expected = list(theirs(n_splits, **options).split(rows, y, groups=y))
            except ValueError:
                with pytest.raises(ValueError, match="n_splits="):
                    list(ours(n_splits, **options).split(rows, y, groups=y))
                continue
            found = list(ours(n_splits, **options).split(rows, y, groups=y))
        assert len(found) == len(expected) == ours(n_splits).get_n_splits(rows, y, y)
        for mine, other in zip(found, expected):
            for side, wanted in zip(mine, other):
                np.testing.assert_array_equal(side, np.sort(wanted))


def test_leave_one_out_leaves_out_each_row():
    found, expected = (own.LeaveOneOut().split(X) for own in (model_selection, __import__("fastclf")))
    for mine, other in zip(found, expected, strict=True):
        for side, wanted in zip(mine, other):
            np.testing.assert_array_equal(side, wanted)
    assert LeaveOneOut().get_n_splits(X) == 150


def test_our_splitters_work_in_scikit_learns_tools_and_its_in_ours():
    for ours, theirs in [
        (KFold(4, shuffle=True, random_state=1), model_selection.KFold(4, shuffle=True, random_state=1)),
        (StratifiedKFold(4), model_selection.StratifiedKFold(4)),
    ]:
        found = cross_validate(KNeighborsClassifier(), X, Y, cv=theirs)["test_score"]
        np.testing.assert_array_equal(cross_validate(KNeighborsClassifier(), X, Y, cv=ours)["test_score"], found)
        expected = model_selection.cross_val_score(KNeighborsClassifier(), X, Y, cv=ours)
        np.testing.assert_array_equal(found, expected)


def test_a_hold_out_has_the_size_and_the_shares_that_are_asked_for():
    for test_size, n_test in ((0.2, 30), (30, 30), (0.01, 2)):
        [(train, test)] = HoldOut(test_size).split(X, Y)
        assert len(test) == n_test
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(150))
    [(train, test)] = HoldOut(0.2).split(X, Y)
    assert np.bincount(Y[test]).tolist() == [10, 10, 10]
    folds = list(HoldOut(0.2, n_splits=3, stratify=False).split(X, Y))
    assert len({tuple(test) for _, test in folds}) == 3
    for again, first in zip(HoldOut(0.2, n_splits=3, stratify=False).split(X), folds):
        np.testing.assert_array_equal(again[1], first[1])
    assert cross_validate(KNeighborsClassifier(), X, Y, cv=HoldOut()).n_test.tolist() == [38]


@settings(deadline=None)
@given(st.lists(st.sampled_from("aab"), min_size=1, max_size=60), st.integers(0, 4), st.integers(0, 4))
def test_train_validation_and_test_rows_are_all_rows_with_the_shares_of_the_whole(y, first, second):
    y = np.array(y)
    shares = first / 8, second / 8, 1 - (first + second) / 8
    rows = np.arange(len(y))
    *parts, y_train, y_validation, y_test = train_validation_test_split(rows, y, shares=shares, stratify=y)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), rows)
    for part, labels, share in zip(parts, (y_train, y_validation, y_test), shares):
        np.testing.assert_array_equal(y[part], labels)
        assert abs(len(part) - share * len(y)) <= 1
        assert abs((labels == "b").sum() - share * (y == "b").sum()) <= 2


def test_rows_of_a_group_stay_together():
    groups = np.repeat(np.arange(30), 5)
    result = cross_validate(KNeighborsClassifier(), X, Y, cv=5, groups=groups, return_indices=True)
    expected = model_selection.cross_validate(
        KNeighborsClassifier(), X, Y, cv=model_selection.GroupKFold(5), groups=groups, return_indices=True
    )
    for test, wanted in zip(result["indices"]["test"], expected["indices"]["test"], strict=True):
        np.testing.assert_array_equal(test, wanted)
    np.testing.assert_array_equal(result["test_score"], expected["test_score"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KFold(1).split(X), "got n_splits=1"),
        (lambda: list(KFold(151).split(X)), "n_splits=151 greater than the number of samples: n_samples=150"),
        (lambda: KFold(random_state=3).split(X), "has no effect since shuffle is False"),
        (lambda: cross_validate(KNeighborsClassifier(), X, cv=StratifiedKFold(5)), "y is None"),
        (lambda: list(StratifiedKFold(60).split(X, Y)), "the largest class has 50"),
        (lambda: list(GroupKFold(3).split(X, Y)), "'groups' parameter should not be None"),
        (lambda: list(GroupKFold(3).split(X, Y, Y[1:])), "groups has 149 entries"),
        (lambda: list(GroupKFold(4).split(X, Y, Y)), "greater than the number of groups: 3"),
        (lambda: list(HoldOut(1.5).split(X)), "test_size is 1.5"),
        (lambda: list(HoldOut(150).split(X)), "a train row and a test row"),
        (lambda: train_validation_test_split(X, Y[1:]), "150, 149 rows"),
        (lambda: train_validation_test_split(X, shares=(0.5, 0.6, 0.2)), "whose sum is 1"),
        (lambda: train_validation_test_split(X, shares="abc"), "shares is no array of numbers"),
        (lambda: cross_validate(KNeighborsClassifier(), X, Y, cv=KFold(3), repeats=2), "repeats is 2"),
        (lambda: cross_validate(KNeighborsClassifier(), X, Y, repeats=0), "repeats is 0"),
        (lambda: cross_validate(KNeighborsClassifier(), X[:1], Y[:1], cv="loo"), "rows is 1"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
