"""Metrics of scores that are one number: areas under curves, average precision, top-k accuracy."""

from itertools import combinations

import numpy as np

from .._exceptions import warn
from .._validation import (
    as_label,
    as_label_list,
    as_sample_weight,
    encode_labels,
    require_choice,
    require_integer,
    require_number,
)
from .classification import averaged
from .counts import AVERAGES, column_sums, require_average, require_known
from .curves import Scored, auc, precision_recall_points, roc_points, without_zero_weights
from .targets import as_scores, as_targets, documented, require_same_length, target_kind


def _indicators(y_true, classes):
    """A matrix of bools, rows by classes: whether the row has the class's label."""
    return y_true[:, None] == classes


def _read(y_true, y_score, sample_weight):
    """The arguments of a metric after checks, as (labels or indicators, scores, weights or None)."""
    y_true, score = as_targets(y_true, "y_true"), as_scores(y_score)
    require_same_length(y_true=y_true, y_score=score)
    return y_true, score, as_sample_weight(sample_weight, len(score))


def _require_indicators(y_true):
    """Refuse a matrix of labels other than indicators, which are bools."""
    if y_true.dtype.kind != "b":
        raise ValueError("multiclass-multioutput format is not supported; labels or indicators are wanted")


def _over_columns(area, indicators, score, average, weight):
    """The areas, by the function `area`, of labels' columns or, for average "samples", of rows; or their mean."""
    _require_indicators(indicators)
    if indicators.shape != score.shape:
        raise ValueError(
            f"y_score has shape {score.shape}; {indicators.shape}, a score for each indicator of y_true, is wanted"
        )
    if average == "micro":
        each = None if weight is None else np.repeat(weight, score.shape[1])
        return area(Scored(indicators.ravel(), score.ravel(), each))
    by_row = average == "samples"
    columns = zip(indicators, score) if by_row else zip(indicators.T, score.T)
    each = None if by_row else weight
    column_weight = weight if by_row else None
    if average == "weighted":
        column_weight = column_sums(indicators, weight)
        if not column_weight.any():
            return 0.0
    areas = np.array(
        [area(without_zero_weights(Scored(positive, column_score, each))) for positive, column_score in columns]
    )
    if average is None:
        return areas
    if column_weight is not None:
        # an undefined area, NaN, would make the mean NaN even with weight 0
        areas[column_weight == 0] = 0
    return float(np.average(areas, weights=column_weight))


def _roc_area(rows, max_fpr=None):
    """The area under the ROC curve of Scored rows, exact without weights; NaN if all rows are of one class."""
    n_positive = np.count_nonzero(rows.positive)
    if n_positive in (0, len(rows.positive)):
        warn(
            "Only one class is present in y_true. ROC AUC score is not defined in that case.", "UndefinedMetricWarning"
        )
        return float("nan")
    if max_fpr is not None and max_fpr != 1:
        return _partial_area(*roc_points(rows, True)[:2], max_fpr)
    if rows.weight is not None:
        return auc(*roc_points(rows, True)[:2])
    # The area is the share of the pairs (positive row, negative row) in which the positive row has the larger score; a
    # tie counts half. Each score of the smaller class is looked up in the sorted scores of the larger class.
    sides = np.sort(rows.score[rows.positive]), np.sort(rows.score[~rows.positive])
    few, many = sorted(sides, key=len)
    twice = sum(int(np.searchsorted(many, few, side).sum()) for side in ("left", "right"))
    total = 2 * len(few) * len(many)
    return (twice if few is sides[0] else total - twice) / total


def _partial_area(fpr, tpr, max_fpr):
    """The area under the ROC curve up to max_fpr, rescaled so that random scores have 0.5 and the best ones 1."""
    stop = np.searchsorted(fpr, max_fpr, side="right")
    end = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    area = auc(np.append(fpr[:stop], max_fpr), np.append(tpr[:stop], end))
    least = max_fpr * max_fpr / 2
    return 0.5 * (1 + (area - least) / (max_fpr - least))


@documented
def roc_auc_score(
    y_true, y_score, *, average="macro", sample_weight=None, max_fpr=None, multi_class="raise", labels=None
):
    """The area under the ROC curve: the probability that a positive row has a larger score than a negative one.

    Parameters
    ----------
    {y_true_or_indicators}
    y_score : array-like of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        Scores of the second of two sorted labels; for more than two labels the probability of each; for indicators a
        score for each.
    average : {"micro", "macro", "weighted", "samples"} or None, default="macro"
        For several classes or indicators: the area of all together, the mean, the mean weighted by the number of true
        rows, the mean over the rows, or one value for each.
    {sample_weight}
    max_fpr : float in (0, 1], default=None
        Only the curve up to this share of false positives counts, rescaled so that random scores have 0.5; for two
        classes.
    multi_class : {"raise", "ovr", "ovo"}, default="raise"
        More than two classes are refused, or each class is compared with the rest, or each pair of classes separately.
    labels : array-like of shape (n_classes,), default=None
        The sorted labels of the columns of `y_score`; None means the labels in `y_true`.

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None
        NaN, with a warning, if all rows are of one class.

    Notes
    -----
    O(n log n). For two classes without weights the area is exact: pairs are counted, no areas are summed.

    References
    ----------
    McClish (1989), Analyzing a portion of the ROC curve. Hand, Till (2001), A simple generalisation of the area under
    the ROC curve.

    Examples
    --------
    >>> from fastclf import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    require_choice("multi_class", multi_class, ("raise", "ovr", "ovo"))
    if max_fpr is not None and require_number("max_fpr", max_fpr, 0, open_low=True) > 1:
        raise ValueError(f"max_fpr is {max_fpr}; a number above 0 and up to 1 is wanted")
    y_true, score, _ = _read(y_true, y_score, None)
    classes = encode_labels(y_true)[0] if y_true.ndim == 1 else ()
    # for pairs of classes, weights are not read: they are not defined, and are refused after other checks
    weight = None if multi_class == "ovo" and len(classes) > 2 else as_sample_weight(sample_weight, len(score))
    if y_true.ndim == 2:
        require_average(average, AVERAGES)
        return _over_columns(lambda rows: _roc_area(rows, max_fpr), y_true, score, average, weight)
    if score.ndim == 2 and score.shape[1] == 2 and len(classes) <= 2:
        score = score[:, 1]
    if len(classes) <= 2 and score.ndim == 1:
        return _roc_area(without_zero_weights(Scored(y_true == classes[-1], score, weight)), max_fpr)
    if score.ndim == 1:
        raise ValueError(_ONE_COLUMN.format(len(score), len(classes)))
    if max_fpr is not None and max_fpr != 1:
        raise ValueError(
            "Partial AUC computation not available in multiclass setting, 'max_fpr' must be set to `None`, received"
            f" `max_fpr={max_fpr}` instead"
        )
    if multi_class == "raise":
        raise ValueError(f"multi_class must be in ('ovo', 'ovr') for {score.shape[1]} classes; it is 'raise'")
    require_average(average, _CLASS_AVERAGES[multi_class == "ovo" :], "multiclass")
    if not np.allclose(score.sum(axis=1), 1):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum up to 1.0 over classes"
        )
    columns = column_labels(y_true, score, labels, classes)
    if multi_class == "ovr":
        return _over_columns(_roc_area, _indicators(y_true, columns), score, average, weight)
    if sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this"
            " case"
        )
    if average is None:
        raise NotImplementedError("average=None is not implemented for multi_class='ovo'.")
    return _over_pairs(np.searchsorted(columns, y_true), score, average)


def _over_pairs(codes, score, average):
    """The mean ROC area of the pairs of classes; a pair's area is the mean of two, one by each class's scores."""
    areas, shares = [], []
    for a, b in combinations(np.unique(codes).tolist(), 2):
        pair = (codes == a) | (codes == b)
        areas.append(np.mean([_roc_area(Scored(codes[pair] == k, score[pair, k], None)) for k in (a, b)]))
        shares.append(np.mean(pair))
    return float(np.average(areas, weights=shares if average == "weighted" else None))


_CLASS_AVERAGES = ("micro", "macro", "weighted", None)  # the average "micro" is not defined for pairs of classes

_ONE_COLUMN = (
    "`y_score` needs to be of shape `(n_samples, n_classes)`, as y_true is multiclass; it has shape ({},), and y_true"
    " has {} classes"
)


def column_labels(y_true, score, labels, classes):
    """The sorted labels of the columns of scores: `labels`, or the classes of y_true."""
    n = score.shape[1]
    if labels is None:
        if len(classes) != n:
            raise ValueError(
                f"Number of classes in y_true not equal to the number of columns in 'y_score': y_true has"
                f" {len(classes)} and y_score {n}; pass the labels of the columns as `labels`"
            )
        return classes
    labels = as_label_list(labels)
    ordered = encode_labels(labels, "labels")[0]
    if len(ordered) != len(labels):
        raise ValueError(f"Parameter 'labels' must be unique; it is {labels.tolist()}")
    if (ordered != labels).any():
        raise ValueError(f"Parameter 'labels' must be ordered; it is {labels.tolist()}")
    if len(labels) != n:
        raise ValueError(f"Number of given labels, {len(labels)}, not equal to the number of columns in 'y_score', {n}")
    known = set(labels.tolist())
    unknown = [label for label in classes.tolist() if label not in known]
    if unknown:
        raise ValueError(f"'y_true' contains labels not in parameter 'labels': {unknown[0]!r}")
    return labels


@documented
def average_precision_score(y_true, y_score, *, average="macro", pos_label=1, sample_weight=None):
    """sum_t (recall_t - recall_{t-1}) precision_t: precision averaged over the positive rows.

    Parameters
    ----------
    {y_true_or_indicators}
    y_score : array-like of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        Scores of the positive class of two; for more than two labels, or for indicators, a score for each.
    average : {"micro", "macro", "weighted", "samples"} or None, default="macro"
        For several classes or indicators: the value of all together, the mean, the mean weighted by the number of true
        rows, the mean over the rows, or one value for each.
    pos_label : label, default=1
        The positive label of two.
    {sample_weight}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from fastclf import average_precision_score
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    y_true, score, weight = _read(y_true, y_score, sample_weight)
    require_average(average, AVERAGES)
    pos_label = as_label(pos_label, "pos_label")
    if y_true.ndim == 2:
        _require_indicators(y_true)
    classes = None if y_true.ndim == 2 else encode_labels(y_true)[0]
    if classes is not None and len(classes) <= 2:
        require_known(pos_label, classes)
        if score.ndim == 2:
            raise ValueError(f"y_score has shape {score.shape}; one score per row is wanted for two classes")
        return precision_area(without_zero_weights(Scored(y_true == pos_label, score, weight)))
    if pos_label != 1:
        kind = "multilabel-indicator" if classes is None else "multiclass"
        raise ValueError(
            f"Parameter pos_label is fixed to 1 for {kind} y_true. Do not set pos_label or set pos_label to 1."
        )
    if classes is not None:
        if score.ndim == 1:
            raise ValueError(_ONE_COLUMN.format(len(score), len(classes)))
        y_true = _indicators(y_true, classes)
    return _over_columns(precision_area, y_true, score, average, weight)


def precision_area(rows):
    """The precision of Scored rows, averaged over the positive rows."""
    precision, recall, _ = precision_recall_points(rows)
    return float(max(0.0, -np.sum(np.diff(recall) * precision[:-1])))


@documented
def top_k_accuracy_score(y_true, y_score, *, k=2, normalize=True, sample_weight=None, labels=None):
    """The share of the rows whose label has one of the k largest scores.

    Parameters
    ----------
    {y_true}
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        A score for each label; for two labels scores of the second. Of equal scores the one of the last label counts as
        the largest.
    k : int >= 1, default=2
    normalize : bool, default=True
        Whether to return the share; otherwise the number, or weight, of the rows.
    {sample_weight}
    labels : array-like of shape (n_classes,), default=None
        The sorted labels of the columns of `y_score`; None means the labels in `y_true`.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import top_k_accuracy_score
    >>> top_k_accuracy_score([0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]], k=2)
    0.75
    """
    k = require_integer("k", k, 1)
    y_true, score, weight = _read(y_true, y_score, sample_weight)
    kind = target_kind(y_true)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y type must be 'binary' or 'multiclass', got {kind!r}")
    classes = encode_labels(y_true)[0]
    given = None if labels is None else as_label_list(labels)
    if score.ndim == 1:
        columns = classes if given is None else given
        if len(columns) > 2:
            raise ValueError(_ONE_COLUMN.format(len(score), len(columns)))
        chosen = score > (0.5 if score.min() >= 0 and score.max() <= 1 else 0)
        score = np.column_stack([~chosen, chosen])
        columns = columns if given is None else column_labels(y_true, score, given, classes)
    elif labels is None and kind == "binary" and score.shape[1] > 2:
        raise ValueError(
            f"`y_true` is binary while y_score is 2d with {score.shape[1]} classes. If `y_true` does not contain all"
            " the labels, `labels` must be provided"
        )
    else:
        wanted = classes if given is None else given
        if len(wanted) != score.shape[1] and np.array_equal(encode_labels(wanted, "labels")[0], wanted):
            named = "Number of classes in 'y_true'" if labels is None else "Number of given labels"
            raise ValueError(
                f"{named} ({len(wanted)}) not equal to the number of classes in 'y_score' ({score.shape[1]})."
            )
        columns = column_labels(y_true, score, labels, classes)
    n = score.shape[1]
    if k >= n:
        warn(
            f"'k' ({k}) greater than or equal to 'n_classes' ({n}) will result in a perfect score and is therefore"
            " meaningless.",
            "UndefinedMetricWarning",
        )
    codes = np.searchsorted(columns, y_true)
    true_score = score[np.arange(len(codes)), codes][:, None]
    above = np.count_nonzero(score > true_score, axis=1)
    tied_after = np.count_nonzero((score == true_score) & (np.arange(n) > codes[:, None]), axis=1)
    return averaged(above + tied_after < k, weight, normalize)
