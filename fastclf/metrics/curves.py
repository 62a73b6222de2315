"""Curves over all thresholds of a score: counts, ROC, precision and recall, detection errors."""

from typing import NamedTuple

import numpy as np

from .._exceptions import warn
from .._validation import as_label, as_numbers, as_sample_weight, encode_labels, require_truth
from .targets import as_scores, as_targets, documented, has_label, positive_label, require_same_length, stoppable


class Scored(NamedTuple):
    """The rows that a metric of scores compares."""

    positive: np.ndarray  # (n_samples,) bool: whether each row has the positive label
    score: np.ndarray  # (n_samples,) float64: the predicted score of the positive label
    weight: np.ndarray | None  # (n_samples,) float64: the weight of each row; None: all weights are 1


def read_scored(y_true, y_score, pos_label, sample_weight, of_two=positive_label):
    """The rows of weight above 0, as Scored; of_two(pos_label, classes) is the positive label."""
    y_true = as_targets(y_true, "y_true")
    score = as_scores(y_score)
    require_same_length(y_true=y_true, y_score=score)
    if y_true.ndim == 2 or score.ndim == 2:
        kind = "multilabel-indicator" if y_true.ndim == 2 else "y_score of several columns"
        raise ValueError(f"{kind} format is not supported; one label and one score per row are wanted")
    classes, pos_label = encode_labels(y_true)[0], as_label(pos_label, "pos_label")
    if len(classes) > 2 and pos_label is None:
        raise ValueError(
            f"multiclass format is not supported: y_true has {len(classes)} classes; pass two, or pos_label"
        )
    positive = has_label(y_true, of_two(pos_label, classes))
    weight = as_sample_weight(sample_weight, len(score))
    return without_zero_weights(Scored(positive, score, weight))


def without_zero_weights(rows):
    """The Scored rows whose weight is above 0."""
    if rows.weight is None or rows.weight.all():
        return rows
    kept = rows.weight > 0
    return Scored(*(part[kept] for part in rows))


def count_by_threshold(rows):
    """(wrong, right, threshold), for descending thresholds: numbers of rows whose score is at least the threshold.

    `right` counts positive and `wrong` negative rows; with weights they are sums of weights.
    """
    positive, score, weight = rows
    if weight is None:
        # np.sort of each class uses vector instructions, and a stable argsort merges the two sorted runs: 0.4 s for 10M
        # rows, where one argsort of all scores takes 1.7 s.
        runs = np.concatenate([np.sort(score[positive]), np.sort(score[~positive])])
        order = np.argsort(runs, kind="stable")[::-1]
        score, positive = runs[order], order < np.count_nonzero(positive)
    else:
        order = np.argsort(-score, kind="stable")
        score, positive, weight = score[order], positive[order], weight[order]
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    if weight is None:
        right = np.cumsum(positive)[last]
        return last + 1 - right, right, score[last]
    right, wrong = (np.cumsum(np.where(chosen, weight, 0))[last] for chosen in (positive, ~positive))
    return wrong, right, score[last]


def _share(part, name, rate):
    """Cumulative counts as shares of the last one, the total; NaN, with a warning, if the total is 0."""
    if part[-1] > 0:
        return part / part[-1]
    warn(
        f"No {name} samples in y_true, {rate} value should be meaningless and is NaN",
        "UndefinedMetricWarning",
    )
    return np.full(len(part), np.nan)


@documented
def confusion_matrix_at_thresholds(y_true, y_score, *, pos_label=None, sample_weight=None):
    """The counts of the 2 x 2 table at each threshold; rows with a score of at least the threshold are predicted as
    positive.

    Parameters
    ----------
    {y_true_of_two}
    {y_score}
    {pos_label}
    {sample_weight}

    Returns
    -------
    tns, fps, fns, tps : ndarray of shape (n_thresholds,)
        True negatives, false positives, false negatives, true positives; with weights, their sums.
    thresholds : ndarray of shape (n_thresholds,)
        The scores that occur, descending.

    Examples
    --------
    >>> from fastclf import confusion_matrix_at_thresholds
    >>> tns, fps, fns, tps, thresholds = confusion_matrix_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> tns.tolist(), fps.tolist(), fns.tolist(), tps.tolist()
    ([2, 1, 1, 0], [0, 1, 1, 2], [1, 1, 0, 0], [1, 1, 2, 2])
    """
    wrong, right, threshold = count_by_threshold(read_scored(y_true, y_score, pos_label, sample_weight))
    return wrong[-1] - wrong, wrong, right[-1] - right, right, threshold


@documented
def roc_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True):
    """The receiver operating characteristic (ROC) of scores: false against true positives, by threshold.

    Parameters
    ----------
    {y_true_of_two}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=True
        Whether to leave out points on a straight line between their neighbours.

    Returns
    -------
    fpr, tpr, thresholds : ndarray of shape (n_points,)
        Shares of the negative and of the positive rows with a score of at least the threshold; the first threshold is
        infinite. A share of zero rows is NaN, with a warning.

    Notes
    -----
    O(n log n).

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis.

    Examples
    --------
    >>> from fastclf import roc_curve
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), tpr.tolist(), thresholds.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], [inf, 0.8, 0.4, 0.35, 0.1])
    """
    drop = require_truth("drop_intermediate", drop_intermediate)
    return roc_points(read_scored(y_true, y_score, pos_label, sample_weight), drop)


def roc_points(rows, drop_intermediate):
    """The points of the ROC curve of Scored rows, as (fpr, tpr, thresholds)."""
    wrong, right, threshold = count_by_threshold(rows)
    if drop_intermediate and len(wrong) > 2:
        bends = (np.diff(wrong, 2) != 0) | (np.diff(right, 2) != 0)
        kept = np.concatenate([[True], bends, [True]])
        wrong, right, threshold = wrong[kept], right[kept], threshold[kept]
    wrong, right = np.concatenate([[0], wrong]), np.concatenate([[0], right])
    return (
        _share(wrong, "negative", "false positive"),
        _share(right, "positive", "true positive"),
        np.concatenate([[np.inf], threshold]),
    )


def _where_right_changes(right):
    """A mask of a curve's points: both ends, and points whose number of true positives differs from a neighbour's."""
    changes = np.diff(right) != 0
    return np.concatenate([[True], changes[:-1] | changes[1:], [True]]) if len(right) > 2 else slice(None)


@documented
def precision_recall_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=False):
    """Precision and recall by threshold.

    Parameters
    ----------
    {y_true_of_two}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=False
        Whether to leave out thresholds whose neighbours both have the same recall.

    Returns
    -------
    precision, recall : ndarray of shape (n_thresholds + 1,)
        At ascending thresholds, followed by 1 and 0. If there is no positive row, recall is 1, with a warning.
    thresholds : ndarray of shape (n_thresholds,)

    Examples
    --------
    >>> from fastclf import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> precision.round(3).tolist(), recall.tolist()
    ([0.5, 0.667, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    """
    drop = require_truth("drop_intermediate", drop_intermediate)
    return precision_recall_points(read_scored(y_true, y_score, pos_label, sample_weight), drop)


def precision_recall_points(rows, drop_intermediate=False):
    """The points of the precision-recall curve of Scored rows, as (precision, recall, thresholds)."""
    wrong, right, threshold = count_by_threshold(rows)
    if drop_intermediate:
        kept = _where_right_changes(right)
        wrong, right, threshold = wrong[kept], right[kept], threshold[kept]
    precision = right / (right + wrong)
    if right[-1] > 0:
        recall = right / right[-1]
    else:
        warn("No positive class found in y_true, recall is set to one for all thresholds.")
        recall = np.ones(len(right))
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), threshold[::-1]


@documented
def det_curve(y_true, y_score, pos_label=None, sample_weight=None, drop_intermediate=False):
    """The detection errors of scores: false positives against false negatives, by threshold.

    Parameters
    ----------
    {y_true_of_two}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=False
        Whether to leave out thresholds whose neighbours both have the same share of false negatives.

    Returns
    -------
    fpr, fnr, thresholds : ndarray of shape (n_points,)
        Shares of the negative rows predicted as positive, and of the positive rows predicted as negative, at ascending
        thresholds: from the last without a false negative to the first without a false positive.

    References
    ----------
    Martin, Doddington, Kamm, Ordowski, Przybocki (1997), The DET curve in assessment of detection task performance.

    Examples
    --------
    >>> from fastclf import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), fnr.tolist(), thresholds.tolist()
    ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.35, 0.4, 0.8])
    """
    drop = require_truth("drop_intermediate", drop_intermediate)
    wrong, right, threshold = count_by_threshold(read_scored(y_true, y_score, pos_label, sample_weight))
    if wrong[-1] == 0 or right[-1] == 0:
        raise ValueError(
            "Only one class is present in y_true. Detection error tradeoff curve is not defined in that case; rows of"
            " both classes are wanted"
        )
    wrong, right = np.concatenate([[0], wrong]), np.concatenate([[0], right])
    threshold = np.concatenate([[np.inf], threshold])
    if drop:
        kept = _where_right_changes(right)
        wrong, right, threshold = wrong[kept], right[kept], threshold[kept]
    shown = slice(np.searchsorted(wrong, 0, side="right") - 1, np.searchsorted(right, right[-1]) + 1)
    fpr, fnr = wrong[shown] / wrong[-1], (right[-1] - right[shown]) / right[-1]
    return fpr[::-1], fnr[::-1], threshold[shown][::-1]


@stoppable
def auc(x, y):
    """The area under a curve through points, by trapezoids.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Ascending or descending.
    y : array-like of shape (n_points,)

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import auc
    >>> auc([0, 1, 3], [0, 1, 1])
    2.5
    """
    given, x, y = x, as_numbers(x), as_numbers(y)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"x has shape {x.shape} and y {y.shape}; vectors of one length, at least 2, are wanted")
    step = np.diff(x)
    if step.min() < 0 < step.max():
        raise ValueError(
            f"x is neither increasing nor decreasing : {np.asarray(given)}; ascending or descending values are wanted"
        )
    heights = y[1:] + y[:-1]
    return float(abs(np.sum(np.multiply(heights, step, out=heights))) / 2)
