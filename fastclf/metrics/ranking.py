"""Metrics of rankings: several true labels, or gains, per row, against scores that order them."""

import numpy as np

from .._threads import distinct
from .._validation import (
    as_array,
    as_float64,
    as_sample_weight,
    described,
    require_integer,
    require_number,
    require_truth,
)
from .curves import count_by_threshold, read_scored
from .targets import as_scores, as_targets, documented, require_same_length, target_kind


def _read(y_true, y_score, sample_weight, several=True):
    """The checked (matrix of bools, matrix of scores, weights); several: whether one column is refused as y_true."""
    both = (("y_true", y_true), ("y_score", y_score))
    flat = [f"{name} has shape {np.shape(y)}" for name, y in both if _is_flat(y)]
    if flat:
        raise ValueError(
            f"Expected 2D array, got 1D array instead: {flat[0]}; this format is not supported, and"
            " (n_samples, n_labels) is wanted"
        )
    y_true, score = as_targets(y_true, "y_true"), as_scores(y_score)
    require_same_length(y_true=y_true, y_score=score)
    if y_true.ndim == 1 and not several and set(distinct(y_true).tolist()) <= {0, 1}:
        y_true = y_true[:, None] != 0  # a vector of 0 and 1 becomes a matrix of indicators with a single column
    if y_true.dtype.kind != "b" or y_true.ndim == 1:
        raise ValueError(f"{target_kind(y_true)} format is not supported; indicators of labels are wanted as y_true")
    score = score.reshape(len(score), -1)
    if y_true.shape != score.shape:
        raise ValueError(f"y_true and y_score have different shape: {y_true.shape} and {score.shape}")
    return y_true, score, as_sample_weight(sample_weight, len(score))


def _is_flat(y):
    return not hasattr(y, "nnz") and as_array(y, "y").ndim == 1


def _sorted_groups(score):
    """For each row (order, first, last): the columns by descending score, and the ends of each run of equal scores."""
    order = np.argsort(-score, axis=1, kind="stable")
    ranked = np.take_along_axis(score, order, axis=1)
    place, ends = np.arange(score.shape[1]), np.ones(score.shape, bool)
    ends[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    begins = np.ones(score.shape, bool)
    begins[:, 1:] = ends[:, :-1]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, score.shape[1])[:, ::-1], axis=1)[:, ::-1]
    return order, first, last


@documented
def coverage_error(y_true, y_score, *, sample_weight=None):
    """How far down a ranking one has to go to find all true labels, on average over the rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        Whether each label is true, as zeros and ones.
    y_score : array-like of shape (n_samples, n_labels)
        A score for each label; labels with equal scores count as found together.
    {sample_weight}

    Returns
    -------
    float
        The number of labels; 0 for a row without a true label.

    References
    ----------
    Tsoumakas, Katakis, Vlahavas (2010), Mining multi-label data.

    Examples
    --------
    >>> from fastclf import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])
    1.5
    """
    true, score, weight = _read(y_true, y_score, sample_weight)
    least = np.where(true, score, np.inf).min(axis=1, keepdims=True)
    return float(np.average(np.count_nonzero(score >= least, axis=1), weights=weight))


@documented
def label_ranking_average_precision_score(y_true, y_score, *, sample_weight=None):
    """For each true label the share of true labels among those ranked as high, averaged over labels, then over rows.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Whether each label is true, as zeros and ones.
    y_score : array-like of shape (n_samples, n_labels)
        A score for each label.
    {sample_weight}

    Returns
    -------
    float
        1 if all true labels are ranked above all others.

    References
    ----------
    Tsoumakas, Katakis, Vlahavas (2010), Mining multi-label data.

    Examples
    --------
    >>> from fastclf import label_ranking_average_precision_score
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.5]])
    0.5
    """
    true, score, weight = _read(y_true, y_score, sample_weight, several=False)
    order, _, last = _sorted_groups(score)
    found = np.take_along_axis(true, order, axis=1)
    share = np.take_along_axis(np.cumsum(found, axis=1), last, axis=1) / (last + 1)
    n_true = np.count_nonzero(true, axis=1)
    clear = (n_true == 0) | (n_true == true.shape[1])
    means = np.sum(np.where(found, share, 0), axis=1) / np.maximum(n_true, 1)
    return float(np.average(np.where(clear, 1.0, means), weights=weight))


@documented
def label_ranking_loss(y_true, y_score, *, sample_weight=None):
    """The share of the pairs (true label, other label) in which the other one's score is not smaller.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Whether each label is true, as zeros and ones.
    y_score : array-like of shape (n_samples, n_labels)
        A score for each label.
    {sample_weight}

    Returns
    -------
    float
        The mean over the rows; 0 for a row whose labels are all true, or none.

    References
    ----------
    Tsoumakas, Katakis, Vlahavas (2010), Mining multi-label data.

    Examples
    --------
    >>> from fastclf import label_ranking_loss
    >>> label_ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    0.75
    """
    true, score, weight = _read(y_true, y_score, sample_weight)
    order, _, last = _sorted_groups(score)
    found = np.take_along_axis(true, order, axis=1)
    # for each label of a row, the number of wrong labels whose scores are at least as large as its own
    before = np.take_along_axis(np.cumsum(~found, axis=1), last, axis=1)
    n_true = np.count_nonzero(true, axis=1)
    n_pairs = n_true * (true.shape[1] - n_true)
    wrong = np.sum(np.where(found, before, 0), axis=1)
    return float(np.average(wrong / np.maximum(n_pairs, 1), weights=weight))


def _read_gains(y_true, y_score, sample_weight):
    """The checked (gains, scores, weights); gains and scores are matrices of float64 with more than one column."""
    gains, score = as_float64(y_true, "y_true"), as_float64(y_score, "y_score")
    for array, name in ((gains, "y_true"), (score, "y_score")):
        if not np.isfinite(array).all():
            raise ValueError(f"Input {name} contains NaN or infinity; finite numbers are wanted")
    if gains.ndim != 2 or gains.size == 0:
        formats = ("multilabel-indicator", "continuous-multioutput", "multiclass-multioutput")
        raise ValueError(
            f"Only {formats} formats are supported: y_true has shape {gains.shape}; (n_samples, n_labels) is wanted"
        )
    require_same_length(y_true=gains, y_score=score)
    if gains.shape != score.shape:
        raise ValueError(f"y_true has shape {gains.shape} and y_score {score.shape}; the same shape is wanted")
    return gains, score, as_sample_weight(sample_weight, len(score))


def _require_several(gains):
    if gains.shape[1] < 2:
        raise ValueError(
            f"Only rows of several labels can be ranked: y_true has shape {gains.shape}; more than 1 document is wanted"
        )


def _discounted(gains, score, k, log_base, ignore_ties):
    """The discounted cumulative gain of each row, in which equal scores share the mean of their discounts."""
    n = gains.shape[1]
    k = None if k is None else require_integer("k", k, 1)
    discount = 1 / (np.log(np.arange(n) + 2) / np.log(require_number("log_base", log_base, 0, open_low=True)))
    discount[k:] = discount[k:] if k is None else 0
    if require_truth("ignore_ties", ignore_ties):
        order = np.argsort(score, axis=1)[:, ::-1]
        return np.take_along_axis(gains, order, axis=1) @ discount
    order, first, last = _sorted_groups(score)
    sums = np.concatenate([[0.0], np.cumsum(discount)])
    shared = (sums[last + 1] - sums[first]) / (last + 1 - first)
    return np.sum(np.take_along_axis(gains, order, axis=1) * shared, axis=1)


@documented
def dcg_score(y_true, y_score, *, k=None, log_base=2, sample_weight=None, ignore_ties=False):
    """The discounted cumulative gain: gains in the order of the scores, divided by log(1 + rank), summed.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        The gain of each label.
    y_score : array-like of shape (n_samples, n_labels)
        The scores by which labels are ranked, the largest first.
    k : int >= 1, default=None
        Only the first k labels of the ranking count; None: all.
    log_base : float > 0, default=2
        The base of the logarithm.
    {sample_weight}
    ignore_ties : bool, default=False
        Whether to take equal scores in any order, which is faster; otherwise their gains are averaged.

    Returns
    -------
    float
        The mean over the rows.

    References
    ----------
    Jarvelin, Kekalainen (2002), Cumulated gain-based evaluation of IR techniques.

    Examples
    --------
    >>> from fastclf import dcg_score
    >>> round(dcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 4)
    9.4995
    """
    gains, score, weight = _read_gains(y_true, y_score, sample_weight)
    _require_several(gains)
    return float(np.average(_discounted(gains, score, k, log_base, ignore_ties), weights=weight))


@documented
def ndcg_score(y_true, y_score, *, k=None, sample_weight=None, ignore_ties=False):
    """The discounted cumulative gain of the ranking, divided by that of the best ranking.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        The gain of each label, from 0 up.
    y_score : array-like of shape (n_samples, n_labels)
        The scores by which labels are ranked, the largest first.
    k : int >= 1, default=None
        Only the first k labels of the ranking count; None: all.
    {sample_weight}
    ignore_ties : bool, default=False
        Whether to take equal scores in any order, which is faster; otherwise their gains are averaged.

    Returns
    -------
    float in [0, 1]
        The mean over the rows; 0 for a row without gains.

    References
    ----------
    Jarvelin, Kekalainen (2002), Cumulated gain-based evaluation of IR techniques.

    Examples
    --------
    >>> from fastclf import ndcg_score
    >>> round(ndcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 4)
    0.6957
    """
    gains, score, weight = _read_gains(y_true, y_score, sample_weight)
    if gains.min() < 0:
        raise ValueError("ndcg_score should not be used on negative y_true values.")
    if gains.shape[1] < 2:
        raise ValueError(
            f"Computing NDCG is only meaningful when there is more than 1 document. Got {gains.shape[1]} instead."
        )
    reached = _discounted(gains, score, k, 2, ignore_ties)
    best = _discounted(gains, gains, k, 2, ignore_ties=True)
    shares = np.where(best == 0, 0.0, reached / np.where(best == 0, 1, best))
    return float(np.average(shares, weights=weight))


@documented
def metric_at_thresholds(y_true, y_score, metric_func, *, sample_weight=None, metric_params=None):
    """A metric of labels for each threshold of a score.

    Parameters
    ----------
    {y_true_of_two}
    {y_score}
    metric_func : callable
        ``metric_func(y_true, y_pred, **metric_params)``, where `y_pred` is 1 for scores of at least the threshold, else
        0; with `sample_weight`, it is also passed.
    {sample_weight}
    metric_params : dict, default=None
        Further arguments of `metric_func`.

    Returns
    -------
    metric_values : ndarray of shape (n_thresholds, ...)
    thresholds : ndarray of shape (n_thresholds,)
        The scores that occur, descending.

    Examples
    --------
    >>> from fastclf import accuracy_score, metric_at_thresholds
    >>> values, thresholds = metric_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], accuracy_score)
    >>> values.tolist(), thresholds.tolist()
    ([0.75, 0.5, 0.75, 0.5], [0.8, 0.4, 0.35, 0.1])
    """
    if not callable(metric_func):
        raise TypeError(f"metric_func is {described(metric_func)}; a function of (y_true, y_pred) is wanted")
    if metric_params is not None and not isinstance(metric_params, dict):
        raise TypeError(f"metric_params is {described(metric_params)}; a dict or None is wanted")
    labels = as_targets(y_true, "y_true")
    # as in scikit-learn, the metric gets the rows by descending score
    rows = read_scored(y_true, y_score, labels.flat[0], sample_weight)
    _, _, thresholds = count_by_threshold(rows)
    score, weight = as_scores(y_score), as_sample_weight(sample_weight, len(labels))
    kept = np.argsort(-score, kind="stable")
    kept = kept if weight is None else kept[weight[kept] > 0]
    options = dict(metric_params or {}) | ({} if weight is None else {"sample_weight": weight[kept]})
    labels, score = labels[kept], score[kept]
    values = [metric_func(labels, (score >= threshold).astype(np.int32), **options) for threshold in thresholds]
    return np.asarray(values), thresholds
