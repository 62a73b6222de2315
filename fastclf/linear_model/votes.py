"""What perceptrons in primal and dual form share: voters with their votes.

A voter is what a plane was between two of its mistakes, and has a vote for each turn of that time. Planes have their
voters one plane after the other: `votes_` of all, and `voter_starts_`, where those of each plane begin.
"""

import numpy as np


def first_turns(state):
    """For each plane of a state the turns at which its voters began."""
    return [np.cumsum(votes) - votes for votes in np.split(state["votes_"], state["voter_starts_"][1:-1])]


def votes_until(turns, ends):
    """The state, `votes_` and `voter_starts_`: a plane's voters began at its turns, and the last ended at its end."""
    votes = [np.diff(np.append(own, end)) for own, end in zip(turns, ends)]
    starts = np.cumsum([0, *map(len, votes)])
    return {"votes_": np.concatenate(votes).astype(np.int64), "voter_starts_": starts.astype(np.int64)}


def mean_votes(right, state):
    """The mean vote of each plane's voters, (rows, planes); `right` (rows, voters) says which vote for it."""
    votes, first = state["votes_"], state["voter_starts_"][:-1]
    return np.add.reduceat(np.where(right, votes, -votes), first, axis=1) / np.add.reduceat(votes, first)
