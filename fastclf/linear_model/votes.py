"""Voters and votes of the voted perceptrons, in primal and dual form.

A voter is a hyperplane at the state between two of its mistakes in training; it has one vote for each sample that it
met. `votes_` has the votes of all hyperplanes, one after another; `voter_starts_` has the index of each hyperplane's
first voter.
"""

import numpy as np


def first_samples(state):
    """For each hyperplane of a state, the number of the sample at which each of its voters began."""
    return [np.cumsum(votes) - votes for votes in np.split(state["votes_"], state["voter_starts_"][1:-1])]


def votes_until(begun, ends):
    """The state, `votes_` and `voter_starts_`, from the first samples `begun` of voters and the last samples `ends`."""
    votes = [np.diff(np.append(first, end)) for first, end in zip(begun, ends)]
    starts = np.cumsum([0, *map(len, votes)])
    return {"votes_": np.concatenate(votes).astype(np.int64), "voter_starts_": starts.astype(np.int64)}


def mean_votes(right, state):
    """The mean vote of each hyperplane's voters, (rows, hyperplanes).

    Right[row, voter] says whether the voter votes for it.
    """
    votes, first = state["votes_"], state["voter_starts_"][:-1]
    return np.add.reduceat(np.where(right, votes, -votes), first, axis=1) / np.add.reduceat(votes, first)
