"""What perceptrons in primal and dual form share: voters with their votes.

A voter is a hyperplane as it was between two of its mistakes in training, and has a vote for each sample that it met.
`votes_` are those of all hyperplanes, one after the other; `voter_starts_` says where the voters of each begin.
"""

import numpy as np


def first_samples(state):
    """For each hyperplane of a state the numbers of the samples at which its voters began."""
    return [np.cumsum(votes) - votes for votes in np.split(state["votes_"], state["voter_starts_"][1:-1])]


def votes_until(begun, ends):
    """The state, `votes_` and `voter_starts_`, of hyperplanes whose voters began at samples, the last of each ended."""
    votes = [np.diff(np.append(first, end)) for first, end in zip(begun, ends)]
    starts = np.cumsum([0, *map(len, votes)])
    return {"votes_": np.concatenate(votes).astype(np.int64), "voter_starts_": starts.astype(np.int64)}


def mean_votes(right, state):
    """The mean vote of each hyperplane's voters, (rows, hyperplanes); `right` (rows, voters) says who votes for it."""
    votes, first = state["votes_"], state["voter_starts_"][:-1]
    return np.add.reduceat(np.where(right, votes, -votes), first, axis=1) / np.add.reduceat(votes, first)
