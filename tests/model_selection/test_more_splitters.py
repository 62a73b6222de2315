"""Splitters that draw rows, or leave out groups or rows in turn, give the rows of scikit-learn's splitters."""

import itertools
import warnings

import numpy as np
import pandas
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn import model_selection as theirs
from sklearn.datasets import load_iris

import fastclf
from fastclf import GaussianNB, KNeighborsClassifier, cross_val_score, permutation_test_score, train_test_split

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
GROUPS = np.arange(150) // 7 % 9 / 4

CASES = [
    ("ShuffleSplit", {"n_splits": 3, "random_state": 4}),
    ("ShuffleSplit", {"test_size": 0.3, "train_size": 20, "random_state": 0}),
    ("ShuffleSplit", {"train_size": 0.25, "random_state": 0}),
    ("StratifiedShuffleSplit", {"n_splits": 3, "random_state": 4}),
    ("StratifiedShuffleSplit", {"test_size": 7, "train_size": 11, "random_state": 1}),
    ("GroupShuffleSplit", {"random_state": 2}),
    ("GroupShuffleSplit", {"test_size": 2, "n_splits": 2, "random_state": 2}),
    ("RepeatedKFold", {"n_splits": 4, "n_repeats": 2, "random_state": 0}),
    ("RepeatedStratifiedKFold", {"n_splits": 4, "n_repeats": 2, "random_state": 0}),
    ("LeaveOneGroupOut", {}),
    ("LeavePGroupsOut", {"n_groups": 3}),
    ("PredefinedSplit", {"test_fold": np.arange(150) % 4 - 1}),
    ("StratifiedGroupKFold", {"n_splits": 4}),
    ("StratifiedGroupKFold", {"n_splits": 3, "shuffle": True, "random_state": 8}),
    ("TimeSeriesSplit", {}),
    ("TimeSeriesSplit", {"n_splits": 3, "max_train_size": 20, "test_size": 10, "gap": 4}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_splits_are_scikit_learns_in_its_order(name, parameters):
    ours, other = (getattr(library, name)(**parameters) for library in (fastclf, theirs))
    groups = GROUPS if "Group" in name else None
    found = list(ours.split(X, Y, groups))
    for mine, expected in zip(found, other.split(X, Y, groups), strict=True):
        for side, wanted in zip(mine, expected):
            np.testing.assert_array_equal(side, wanted)
    assert ours.get_n_splits(X, Y, groups) == other.get_n_splits(X, Y, groups) == len(found)
    assert repr(ours).startswith(f"{name}(")


def test_sets_of_rows_are_left_out_in_their_order():
    found = [tuple(test.tolist()) for _, test in fastclf.LeavePOut(2).split(X[:7])]
    assert found == list(itertools.combinations(range(7), 2))
    assert fastclf.LeavePOut(3).get_n_splits(csr_array(X[:7])) == 35


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_splitters_work_in_scikit_learns_tools_and_in_ours(name, parameters):
    splitter, groups = getattr(fastclf, name)(**parameters), GROUPS if "Group" in name else None
    found = cross_val_score(GaussianNB(), X, Y, cv=splitter, groups=groups)
    np.testing.assert_array_equal(found, theirs.cross_val_score(GaussianNB(), X, Y, cv=splitter, groups=groups))
    sklearn.clone(theirs.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=splitter))
    request = splitter.get_metadata_routing().split.requests
    assert request == ({"groups": True} if groups is not None else {})


OPTIONS = [
    {},
    {"test_size": 0.4},
    {"train_size": 30},
    {"test_size": 10, "train_size": 0.5},
    {"shuffle": False},
    {"stratify": Y},
    {"stratify": Y.astype(str), "test_size": 31},
    {"stratify": np.stack([Y, Y > 0], axis=1)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
def test_parts_are_scikit_learns_in_the_containers_that_came(options):
    table = pandas.DataFrame(X, index=range(7, 157))
    given, options = (X, Y, table, csr_array(X), Y.tolist()), {"random_state": 3} | options
    found, expected = (split(*given, **options) for split in (train_test_split, theirs.train_test_split))
    assert len(found) == len(expected) == 10
    for mine, other in zip(found, expected):
        assert type(mine) is type(other)
        if isinstance(mine, pandas.DataFrame):
            pandas.testing.assert_frame_equal(mine, other)
        else:
            dense = [each.toarray() if hasattr(each, "toarray") else each for each in (mine, other)]
            np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize(
    "options",
    [
        {"test_size": 150},
        {"test_size": 1.0},
        {"train_size": 0.6, "test_size": 0.6},
        {"train_size": 100, "test_size": 60},
        {"train_size": 0.001},
        {"test_size": "half"},
        {"shuffle": False, "stratify": Y},
        {"stratify": np.append(Y[1:], 9)},
        {"stratify": Y, "test_size": 2},
        {"stratify": Y[1:]},
    ],
    ids=lambda options: "-".join(options),
)
def test_sizes_that_cannot_be_are_refused_where_scikit_learn_refuses_them(options):
    with pytest.raises(ValueError):
        theirs.train_test_split(X, Y, random_state=0, **options)
    with pytest.raises(ValueError) as caught:
        train_test_split(X, Y, random_state=0, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: list(fastclf.LeavePOut(150).split(X)), "p=150 must be strictly less than the number of samples=150"),
        (lambda: fastclf.LeavePOut(0).get_n_splits(X), "p is 0; at least 1 is wanted"),
        (lambda: fastclf.LeavePGroupsOut(0).get_n_splits(X, Y, Y), "n_groups is 0; at least 1 is wanted"),
        (lambda: list(fastclf.LeaveOneGroupOut().split(X, Y, Y * 0)), "fewer than 2 unique groups"),
        (lambda: list(fastclf.LeavePGroupsOut(3).split(X, Y, Y)), r"n_groups \(3\) numbers of unique groups"),
        (lambda: list(fastclf.LeaveOneGroupOut().split(X, Y, [])), r"Found array with 0 sample"),
        (lambda: list(fastclf.LeaveOneGroupOut().split(X)), "'groups' parameter should not be None"),
        (lambda: list(fastclf.TimeSeriesSplit(5).split(X[:5])), "number of folds=6 greater than the number"),
        (lambda: list(fastclf.TimeSeriesSplit(5, test_size=40).split(X)), "Too many splits=5"),
        (lambda: fastclf.RepeatedKFold(n_repeats=0), "repetitions must be greater than 0"),
        (lambda: fastclf.RepeatedKFold(n_repeats=1.5), "must be of Integral type"),
        (lambda: train_test_split(), "At least one array"),
        (lambda: train_test_split(X, Y[1:]), "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_split_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_scores_of_shuffled_labels_are_scikit_learns(groups):
    options = {"cv": 3, "n_permutations": 7, "random_state": 5, "scoring": "accuracy"}
    if groups is not None:
        options["cv"] = fastclf.GroupKFold(3)
    with warnings.catch_warnings(action="ignore"):
        found = permutation_test_score(KNeighborsClassifier(), X[:, :2], Y, groups=groups, **options)
        expected = theirs.permutation_test_score(KNeighborsClassifier(), X[:, :2], Y, groups=groups, **options)
    for mine, other in zip(found, expected):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_folds_that_are_given_once_serve_every_permutation():
    pairs = iter(list(fastclf.KFold(3, shuffle=True, random_state=0).split(X)))
    score, scores, pvalue = permutation_test_score(GaussianNB(), X, Y, cv=pairs, n_permutations=5, verbose=1)
    assert score > scores.max()
    assert pvalue == 1 / 6


def test_folds_of_stratified_groups_are_scikit_learns(rng):
    for seed in range(12):
        y, groups = rng.integers(0, 3, 60), rng.integers(0, 15, 60)
        options = {"n_splits": 5, "shuffle": seed % 2 == 0, "random_state": seed if seed % 2 == 0 else None}
        ours, other = (library.StratifiedGroupKFold(**options) for library in (fastclf, theirs))
        for mine, expected in zip(ours.split(y, y, groups), other.split(y, y, groups), strict=True):
            np.testing.assert_array_equal(mine[1], expected[1])


@pytest.mark.parametrize("classifier", [True, False])
@pytest.mark.parametrize("y", [None, [0, 1] * 10, ["a", "b", "c", "b"] * 5, np.linspace(0, 1, 20)])
@pytest.mark.parametrize("cv", [None, 3, theirs.ShuffleSplit(2, random_state=1), [([0, 1], [2])]])
def test_check_cv_gives_scikit_learns_splits(cv, y, classifier):
    X = np.zeros((20, 1))
    mine, yours = (module.check_cv(cv, y, classifier=classifier) for module in (fastclf.model_selection, theirs))
    assert mine.get_n_splits(X, y) == yours.get_n_splits(X, y)
    for one, other in zip(mine.split(X, y), yours.split(X, y), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("cv", ["loo", 2.5])
def test_check_cv_refuses_what_is_no_splitter(cv):
    with pytest.raises(ValueError, match="Expected `cv` as an integer"):
        fastclf.model_selection.check_cv(cv)
