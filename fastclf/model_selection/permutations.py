"""Whether an estimator has learned anything: its score beside those for shuffled labels."""

import numpy as np

from .._shuffles import permutation
from .._threads import Progress
from .._validation import as_list, as_random_state, require_integer, require_memory
from .cross_validation import cross_val_score
from .evaluation import documented
from .rows import n_rows, take_rows
from .splitters import as_groups


@documented
def permutation_test_score(
    estimator,
    X,
    y,
    *,
    groups=None,
    cv=None,
    n_permutations=100,
    n_jobs=None,
    random_state=0,
    verbose=0,
    scoring=None,
    params=None,
):
    """The score of an estimator, and its scores for shuffled labels: scikit-learn's permutation test.

    Parameters
    ----------
    {estimator}
    {X}
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    groups : array-like of shape (n_samples,), default=None
        Labels are shuffled only within each group; the splitter receives the groups, too.
    {cv}
    n_permutations : int >= 1, default=100
        The number of shuffles of the labels.
    {n_jobs}
    random_state : int, RandomState or None, default=0
        A whole number shuffles as it does in scikit-learn.
    {verbose}
    scoring : str or callable, default=None
        One figure, as for :func:`cross_validate`.
    {params}

    Returns
    -------
    score : float
        The mean of the scores on the folds.
    permutation_scores : ndarray of shape (n_permutations,)
        The mean scores for shuffled labels.
    pvalue : float
        The share of these scores, together with `score` itself, that are at least `score`.

    References
    ----------
    Ojala, Garriga (2010), Permutation tests for studying classifier performance.

    Examples
    --------
    >>> from fastclf import GaussianNB, permutation_test_score
    >>> X, y = [[float(i)] for i in range(20)], [i // 10 for i in range(20)]
    >>> score, scores, pvalue = permutation_test_score(GaussianNB(), X, y, cv=5)
    >>> score, scores.shape, pvalue < 0.05
    (0.9, (100,), True)
    """
    n_permutations = require_integer("n_permutations", n_permutations, 1)
    require_memory(8 * n_permutations, f"a test of n_permutations={n_permutations}")
    cv = cv if cv is None or isinstance(cv, int | str) or hasattr(cv, "split") else as_list(cv, "cv")
    options = {"groups": groups, "cv": cv, "n_jobs": n_jobs, "scoring": scoring, "params": params}
    rng, take = as_random_state(random_state), take_rows(y)

    def mean(labels):
        return float(cross_val_score(estimator, X, labels, error_score="raise", **options).mean())

    score, scores = mean(y), np.empty(n_permutations)
    with Progress(n_permutations, "permutations", verbose, unit="permutations") as progress:
        for i in range(n_permutations):
            scores[i] = mean(take(_shuffled(n_rows(y), groups, rng)))
            progress.advance(1)
    return score, scores, float((np.count_nonzero(scores >= score) + 1) / (n_permutations + 1))


def _shuffled(n, groups, rng):
    """The row numbers of n rows, shuffled within each group."""
    if groups is None:
        return permutation(rng, n)
    rows, codes = np.arange(n), as_groups(groups, n)[1]
    for k in range(codes.max() + 1):
        in_group = codes == k
        rows[in_group] = permutation(rng, rows[in_group])
    return rows
