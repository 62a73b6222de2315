"""What scores and probabilities are worth: ROC and precision-recall curves, log loss, Brier score, calibration."""

import numpy as np

from .._validation import as_array, as_numbers, as_sample_weight, encode_labels, require_choice, require_integer
from .contingency import as_label_vector


def _two_sides(y_true, y_score, pos_label, sample_weight):
    """(whether a row is positive, its score, its weight), of rows of two classes."""
    y_true = as_label_vector(y_true, "y_true")
    score = as_numbers(as_array(y_score, "y_score"))
    if score.shape != y_true.shape:
        raise ValueError(f"y_score has shape {score.shape}; {y_true.shape}, one score a row of y_true, is wanted")
    classes = encode_labels(y_true)[0]
    if len(classes) > 2:
        raise ValueError(f"y_true has {len(classes)} classes; two are wanted")
    if pos_label is None:
        pos_label = classes[-1] if len(classes) == 2 else 1
    elif not np.isin(pos_label, classes):
        raise ValueError(f"pos_label is {pos_label!r}; one of {classes.tolist()}, the labels of y_true, is wanted")
    weight = as_sample_weight(sample_weight, len(score))
    return y_true == pos_label, score, np.ones(len(score)) if weight is None else weight


def _counts_by_threshold(positive, score, weight):
    """(false positives, true positives, threshold) where a row from the threshold on is called positive, descending."""
    kept = weight > 0
    positive, score, weight = positive[kept], score[kept], weight[kept]
    order = np.argsort(-score, kind="stable")
    positive, score, weight = positive[order], score[order], weight[order]
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    right = np.cumsum(np.where(positive, weight, 0))[last]
    wrong = np.cumsum(np.where(positive, 0, weight))[last]
    return wrong, right, score[last]


def _share(part, whole, name):
    if whole <= 0:
        raise ValueError(f"y_true has no {name} row; rows of both classes are wanted")
    return part / whole


def roc_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True):
    """The receiver operating characteristic of scores: false against true positives, by threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        The larger, the more a row looks positive.
    pos_label : label, default=None
        The positive class; None: the second in order.
    sample_weight : array-like of shape (n_samples,), default=None
    drop_intermediate : bool, default=True
        Leave out points on the line between their neighbours.

    Returns
    -------
    fpr, tpr, thresholds : ndarray of shape (n_points,)
        Shares of the negative and of the positive rows whose score is at least the threshold; the first is infinite.

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
    wrong, right, threshold = _counts_by_threshold(*_two_sides(y_true, y_score, pos_label, sample_weight))
    if drop_intermediate and len(wrong) > 2:
        bends = (np.diff(wrong, 2) != 0) | (np.diff(right, 2) != 0)
        kept = np.concatenate([[True], bends, [True]])
        wrong, right, threshold = wrong[kept], right[kept], threshold[kept]
    wrong, right = np.concatenate([[0], wrong]), np.concatenate([[0], right])
    return (
        _share(wrong, wrong[-1], "negative"),
        _share(right, right[-1], "positive"),
        np.concatenate([[np.inf], threshold]),
    )


def precision_recall_curve(y_true, y_score, *, pos_label=None, sample_weight=None):
    """Precision and recall by threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        The larger, the more a row looks positive.
    pos_label : label, default=None
        The positive class; None: the second in order.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    precision, recall : ndarray of shape (n_thresholds + 1,)
        At ascending thresholds, and at last 1 and 0.
    thresholds : ndarray of shape (n_thresholds,)

    Examples
    --------
    >>> from fastclf import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> precision.round(3).tolist(), recall.tolist()
    ([0.5, 0.667, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    """
    wrong, right, threshold = _counts_by_threshold(*_two_sides(y_true, y_score, pos_label, sample_weight))
    precision = right / (right + wrong)
    recall = _share(right, right[-1], "positive")
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), threshold[::-1]


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
    x, y = as_numbers(x), as_numbers(y)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"x has shape {x.shape} and y {y.shape}; two points at least are wanted")
    step = np.diff(x)
    if not ((step >= 0).all() or (step <= 0).all()):
        raise ValueError("x goes up and down; ascending or descending values are wanted")
    return float(abs(np.sum(step * (y[1:] + y[:-1]) / 2)))


def roc_auc_score(y_true, y_score, *, multi_class="ovr", sample_weight=None, labels=None):
    """The area under the ROC curve: how likely a positive row has a larger score than a negative one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_score : array-like of shape (n_samples,), or (n_samples, n_classes)
        For more than two classes a score each, such as probabilities.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        The mean over each class against the rest, or over all pairs of classes (Hand, Till), of more than two.
    sample_weight : array-like of shape (n_samples,), default=None
        Not for 'ovo'.
    labels : array-like of shape (n_classes,), default=None
        The columns of `y_score`; None: the sorted labels of `y_true`.

    Returns
    -------
    float

    References
    ----------
    Hand, Till (2001), A simple generalisation of the area under the ROC curve.

    Examples
    --------
    >>> from fastclf import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    y_true, score = as_label_vector(y_true, "y_true"), as_numbers(as_array(y_score, "y_score"))
    if score.ndim == 2 and score.shape[1] == 2:
        score = score[:, 1]
    if score.ndim == 1:
        return auc(*roc_curve(y_true, score, sample_weight=sample_weight)[:2])
    classes = _columns_of(y_true, score, labels)
    require_choice("multi_class", multi_class, ("ovr", "ovo"))
    absent = classes[~np.isin(classes, y_true)]
    if len(absent):
        raise ValueError(f"y_true has no row of class {absent.tolist()[0]!r}; rows of every class are wanted")
    if multi_class == "ovr":
        return float(
            np.mean(
                [
                    auc(*roc_curve(y_true == label, score[:, k], pos_label=True, sample_weight=sample_weight)[:2])
                    for k, label in enumerate(classes)
                ]
            )
        )
    if sample_weight is not None:
        raise ValueError("sample_weight is given with multi_class='ovo'; None is wanted")
    areas = []
    for a in range(len(classes)):
        for b in range(a + 1, len(classes)):
            pair = (y_true == classes[a]) | (y_true == classes[b])
            first, second = (
                auc(*roc_curve(y_true[pair] == classes[k], score[pair, k], pos_label=True)[:2]) for k in (a, b)
            )
            areas.append((first + second) / 2)
    return float(np.mean(areas))


def _columns_of(y_true, columns, labels):
    """The class of each column."""
    classes = encode_labels(y_true)[0] if labels is None else encode_labels(as_label_vector(labels, "labels"))[0]
    if columns.shape != (len(y_true), len(classes)):
        raise ValueError(
            f"the scores have shape {columns.shape}; ({len(y_true)}, {len(classes)}), one a row and class, is wanted"
        )
    unknown = ~np.isin(y_true, classes)
    if unknown.any():
        raise ValueError(
            f"labels leaves out {y_true[unknown].tolist()[0]!r}, which occurs; every label that occurs is wanted"
        )
    return classes


def average_precision_score(y_true, y_score, *, pos_label=None, sample_weight=None):
    """sum_t (recall_t - recall_{t-1}) precision_t: precision averaged over the positive rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        The larger, the more a row looks positive.
    pos_label : label, default=None
        The positive class; None: the second in order.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import average_precision_score
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    precision, recall, _ = precision_recall_curve(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return float(-np.sum(np.diff(recall) * precision[:-1]))


def _probabilities(y_true, y_proba, labels):
    """(the code of each row's class, probabilities of all classes)."""
    y_true, proba = as_label_vector(y_true, "y_true"), as_numbers(as_array(y_proba, "y_proba"))
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    if (proba < 0).any() or (proba > 1 + 1e-9).any():
        raise ValueError("y_proba has an entry outside of 0 to 1; probabilities are wanted")
    classes = _columns_of(y_true, proba, labels)
    if not np.allclose(proba.sum(axis=1), 1, atol=1e-6, rtol=0):
        raise ValueError("y_proba has a row whose sum is not 1; probabilities of all classes are wanted")
    return np.searchsorted(classes, y_true), proba


def log_loss(y_true, y_proba, *, labels=None, sample_weight=None):
    """Minus the mean logarithm of the probability that a row's label was given.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_proba : array-like of shape (n_samples, n_classes), or (n_samples,)
        Probabilities of the sorted labels; one number a row is that of the second of two. 0 counts as the smallest
        step from 1 of its type, so that the result is finite.
    labels : array-like of shape (n_classes,), default=None
        All classes, if not each occurs in `y_true`.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import log_loss
    >>> round(log_loss(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]]), 4)
    0.1643
    """
    given = as_array(y_proba, "y_proba").dtype
    codes, proba = _probabilities(y_true, y_proba, labels)
    eps = np.finfo(given if given.kind == "f" else float).eps
    loss = -np.log(np.clip(proba[np.arange(len(codes)), codes], eps, 1 - eps))
    return float(np.average(loss, weights=as_sample_weight(sample_weight, len(codes))))


def brier_score_loss(y_true, y_proba, *, labels=None, sample_weight=None):
    """The mean squared distance of probabilities from the truth.

    For two classes (p - [y is the second])^2, in [0, 1]; for more sum_k (p_k - [y is k])^2, in [0, 2].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_proba : array-like of shape (n_samples, n_classes), or (n_samples,)
        Probabilities of the sorted labels; one number a row is that of the second of two.
    labels : array-like of shape (n_classes,), default=None
        All classes, if not each occurs in `y_true`.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> from fastclf import brier_score_loss
    >>> round(brier_score_loss(["no", "yes"], [0.1, 0.8]), 4)
    0.025
    """
    codes, proba = _probabilities(y_true, y_proba, labels)
    gap = np.square(proba - (codes[:, None] == np.arange(proba.shape[1]))).sum(axis=1)
    loss = float(np.average(gap, weights=as_sample_weight(sample_weight, len(codes))))
    return loss / 2 if proba.shape[1] == 2 else loss


def calibration_curve(y_true, y_prob, *, pos_label=None, n_bins=5, strategy="uniform"):
    """How often rows with about the same probability of being positive are positive.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_prob : array-like of shape (n_samples,)
        Probability of the positive class.
    pos_label : label, default=None
        None: the second in order.
    n_bins : int >= 1, default=5
    strategy : {'uniform', 'quantile'}, default='uniform'
        Bins of equal widths, or of equally many rows.

    Returns
    -------
    prob_true, prob_pred : ndarray of shape (n_bins or fewer,)
        Of each bin with a row, the share of positive rows and the mean probability.

    Examples
    --------
    >>> from fastclf import calibration_curve
    >>> prob_true, prob_pred = calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> prob_true.tolist(), prob_pred.round(3).tolist()
    ([0.0, 1.0], [0.15, 0.8])
    """
    positive, proba, _ = _two_sides(y_true, y_prob, pos_label, None)
    if (proba < 0).any() or (proba > 1).any():
        raise ValueError("y_prob has an entry outside of 0 to 1; probabilities are wanted")
    n_bins = require_integer("n_bins", n_bins, 1)
    require_choice("strategy", strategy, ("uniform", "quantile"))
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.percentile(proba, edges * 100)
    bins = np.searchsorted(edges[1:-1], proba)
    count = np.bincount(bins, minlength=n_bins)
    there = count > 0
    return tuple(np.bincount(bins, values, n_bins)[there] / count[there] for values in (positive, proba))
