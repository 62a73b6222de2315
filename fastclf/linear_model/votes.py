"""What perceptrons in primal and dual form share: voters with their votes, and labels that come in parts.

A voter is what a plane was between two of its mistakes, and has a vote for each turn of that time. Planes have their
voters one plane after the other: `votes_` of all, and `voter_starts_`, where those of each plane begin.
"""

import numpy as np

from .._validation import encode_labels, require_array


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


def check_votes(state, n_planes):
    """Refuse what is not of `votes_until`."""
    votes, starts = state["votes_"], state["voter_starts_"]
    require_array("votes_", votes, [np.int64], (None,))
    require_array("voter_starts_", starts, [np.int64], (n_planes + 1,))
    if starts[0] != 0 or starts[-1] != len(votes) or (starts[1:] <= starts[:-1]).any():
        raise ValueError(f"voter_starts_ does not ascend from 0 to {len(votes)}")


def require_two(name, classes):
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"{name} has one class, {classes.tolist()[0]!r}; the number of classes has to be greater than one"
        )


def require_classes(classes):
    """Refuse a first `partial_fit` that is not told of all classes."""
    if classes is None:
        raise ValueError("classes is None; every label that will come is wanted at the first call of partial_fit")


def codes_among(y, classes):
    """The codes of labels of which each must be one of the classes, int32."""
    labels, codes = encode_labels(y)
    odd = ~np.isin(labels, classes)
    if odd.any():
        raise ValueError(f"y holds {labels[odd].tolist()[0]!r}; one of classes, {classes}, is wanted")
    return np.searchsorted(classes, labels)[codes].astype(np.intc)
