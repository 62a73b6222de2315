"""Parts of the kernel perceptron: support vectors and new rows in one list, a user's kernel, and voting."""

import numpy as np

from .._csr import Csr, as_scipy, is_sparse
from .._state_table import Array, Starts, Value, declare
from .._validation import as_float64, require_number
from ..linear_model.votes import first_samples, mean_votes, votes_until


def slots(support, rows):
    """(the rows in `support`, followed by each other row in `rows` once; the place of each of `rows` in that list)."""
    columns = np.concatenate([support, rows[~np.isin(rows, support)]])
    by_row = np.argsort(columns, kind="stable")
    return columns, by_row[np.searchsorted(columns, rows, sorter=by_row)].astype(np.intp)


def stacked(first, second):
    """The rows of `first` above those of `second`; sparse if one of them is sparse."""
    if not (isinstance(first, Csr) or isinstance(second, Csr)):
        return np.concatenate([first, second])
    first, second = (rows if isinstance(rows, Csr) else Csr.from_dense(rows) for rows in (first, second))
    return Csr(
        np.concatenate([first.indptr, first.indptr[-1] + second.indptr[1:]]),
        np.concatenate([first.indices[: first.size], second.indices[: second.size]]),
        np.concatenate([first.data[: first.size], second.data[: second.size]]),
        first.n_columns,
    )


def called(kernel, A, B):
    """Checked values of a user's kernel function, which is called with arrays, or SciPy matrices if X is sparse."""
    values = kernel(as_scipy(A), as_scipy(B))
    values = as_float64(values.toarray() if is_sparse(values) else values, "kernel's result")
    if values.shape != (len(A), len(B)):
        raise ValueError(f"kernel gave values of shape {values.shape}; {(len(A), len(B))} is wanted")
    if not np.isfinite(values).all():
        raise ValueError("kernel gave NaN or infinity; finite numbers are wanted")
    return values


# The fitted attributes of a voted perceptron, which `gather_votes` computes.
VOTES = declare(
    votes_=Array("int64", "n_voters"),
    voter_steps_=Array("float64", "n_voters"),
    voter_support_=Array("int64", "n_voters", below="n_support"),
    # for each hyperplane, the number of its first weight vector among all that vote
    voter_starts_=Starts("n_planes", "n_voters", full=True),
    _bias_=Value(require_number, 0),
)


def gather_votes(learner, before):
    """The voters of a `Learner`, hyperplane after hyperplane, from its log of mistakes.

    A voter is the hyperplane as it was between two mistakes, and has a vote for each sample until the second one. The
    hyperplane before its first mistake has no vote.
    before: the fitted attributes with the voters of earlier calls, or None.
    """
    n, log, support = len(learner.a), learner.log, learner.support
    if before is not None:
        hyperplane = np.repeat(np.arange(n), np.diff(before["voter_starts_"]))
        first = np.concatenate(first_samples(before))
        log = [(hyperplane, before["voter_support_"], before["voter_steps_"], first), *log]
    hyperplane, row, step, sample = map(np.concatenate, zip(*log))
    order = np.argsort(hyperplane, kind="stable")
    by_row = np.argsort(support, kind="stable")
    begun = np.split(sample[order], np.cumsum(np.bincount(hyperplane, minlength=n))[:-1])
    return {
        "voter_support_": by_row[np.searchsorted(support, row[order], sorter=by_row)].astype(np.int64),
        "voter_steps_": step[order],
        **votes_until(begun, [learner.t] * n),
        "_bias_": learner.bias,
    }


def voted(values, state):
    """The mean vote of each hyperplane's voters; values: kernel values (n_rows, n_support)."""
    changes = (values + state["_bias_"])[:, state["voter_support_"]] * state["voter_steps_"]
    right = [np.cumsum(each, axis=1) > 0 for each in np.split(changes, state["voter_starts_"][1:-1], axis=1)]
    return mean_votes(np.concatenate(right, axis=1), state)
