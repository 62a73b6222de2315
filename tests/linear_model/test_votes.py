"""Voters and their votes, which the perceptron and the kernel perceptron share."""

import numpy as np
import pytest

from fastclf import Perceptron
from fastclf._labels import encode_known
from fastclf.linear_model.votes import first_samples, mean_votes, votes_until


def test_a_voter_has_a_vote_for_each_sample_until_the_next():
    begun = [np.array([0, 3, 4]), np.array([2])]
    state = votes_until(begun, [9, 5])
    assert state["votes_"].tolist() == [3, 1, 5, 3]
    assert state["voter_starts_"].tolist() == [0, 3, 4]
    assert [first.tolist() for first in first_samples(state)] == [[0, 3, 4], [0]]


def test_votes_in_parts_are_the_votes_of_the_whole(rng):
    begun = [np.append(0, np.sort(rng.choice(np.arange(1, 50), 9, replace=False))) for _ in range(3)]
    part = votes_until([own[own < 20] for own in begun], [20] * 3)
    rest = [np.concatenate([first, own[own >= 20]]) for first, own in zip(first_samples(part), begun)]
    for name, whole in votes_until(begun, [50] * 3).items():
        np.testing.assert_array_equal(votes_until(rest, [50] * 3)[name], whole)


def test_the_mean_vote_is_that_of_the_loop(rng):
    state = votes_until([np.array([0, 1, 7]), np.array([0, 5])], [10, 10])
    right = rng.random((20, 5)) > 0.5
    for row, votes in zip(right, mean_votes(right, state)):
        for k, own in enumerate((slice(0, 3), slice(3, 5))):
            assert votes[k] == sum(v if yes else -v for v, yes in zip(state["votes_"][own], row[own])) / 10


@pytest.mark.parametrize("starts", [[0], [1, 3], [0, 0], [0, 10**6]])
def test_starts_that_do_not_fit_the_votes_are_refused(rng, starts):
    X = rng.standard_normal((60, 3))
    model = Perceptron(average="voted").fit(X, X[:, 0] > 0.3)
    model._check_state()
    model.voter_starts_ = np.array(starts, np.int64)
    with pytest.raises(ValueError, match="voter_starts_"):
        model._check_state()


def test_labels_are_codes_of_all_classes_and_no_others():
    classes = np.array(["a", "b", "c"])
    assert encode_known(classes, np.array(["c", "a", "c"])).tolist() == [2, 0, 2]
    with pytest.raises(ValueError, match=r"\['q'\] in y do not exist in the initial classes \['a' 'b' 'c'\]"):
        encode_known(classes, np.array(["c", "q"]))
