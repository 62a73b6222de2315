"""Voters and votes of the voted perceptrons, in primal and dual form.

A voter is the state of a hyperplane between two of its mistakes in training; it has one vote for each sample that was
processed in that state. `votes_` has the votes of all hyperplanes, one after another; `voter_starts_` has the index of
each hyperplane's first voter.
"""

import numpy as np


def first_samples(state):
    """For each hyperplane, the sample numbers at which its voters began."""
    return [np.cumsum(votes) - votes for votes in np.split(state["votes_"], state["voter_starts_"][1:-1])]


def votes_until(begun, ends):
    """`votes_` and `voter_starts_`; begun: the first samples of voters, ends: the last samples, for each hyperplane."""
    votes = [np.diff(np.append(first, end)) for first, end in zip(begun, ends)]
    starts = np.cumsum([0, *map(len, votes)])
    return {"votes_": np.concatenate(votes).astype(np.int64), "voter_starts_": starts.astype(np.int64)}


def mean_votes(right, state):
    """The mean vote for each row and hyperplane, (rows, hyperplanes).

    right[row, voter]: whether the voter's score of the row is positive.
    """
    votes, first = state["votes_"], state["voter_starts_"][:-1]
    return np.add.reduceat(np.where(right, votes, -votes), first, axis=1) / np.add.reduceat(votes, first)
