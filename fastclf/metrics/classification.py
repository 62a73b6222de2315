"""Agreement of predicted with true labels: shares, agreement beyond chance, tables of counts."""

from numbers import Real

import numpy as np

from .._exceptions import warn
from .._validation import as_array, described, require_choice, require_truth
from .contingency import agreement, correlation, divided
from .counts import count_indicators, count_labels, places_among
from .targets import as_target_pair, documented, encode_pair


def averaged(values, weight, normalize=True):
    """The weighted mean of the values, or their weighted sum."""
    if require_truth("normalize", normalize):
        return float(np.average(values, weights=weight))
    return float(values.sum() if weight is None else (values * weight).sum())


def _as_label_pair(y_true, y_pred, sample_weight):
    """The checked (y_true, y_pred, weights) of a metric for one label per row; several labels per row are refused."""
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    if y_true.ndim == 2:
        raise ValueError("multilabel-indicator is not supported; labels, one per row, are wanted")
    return y_true, y_pred, weight


@documented
def accuracy_score(y_true, y_pred, *, normalize=True, sample_weight=None):
    """The share of the rows that are predicted correctly, with all their labels if they have several.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    normalize : bool, default=True
        Whether to return the share; otherwise the number, or weight, of the rows.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import accuracy_score
    >>> accuracy_score(["ham", "ham", "spam"], ["ham", "spam", "spam"], normalize=False)
    2.0
    """
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    right = y_true == y_pred
    return averaged(right.all(axis=1) if right.ndim == 2 else right, weight, normalize)


@documented
def zero_one_loss(y_true, y_pred, *, normalize=True, sample_weight=None):
    """The share of the rows with a wrongly predicted label.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    normalize : bool, default=True
        Whether to return the share; otherwise the number, or weight, of the rows.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import zero_one_loss
    >>> zero_one_loss(["ham", "ham", "spam", "spam"], ["ham", "spam", "spam", "spam"])
    0.25
    """
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    wrong = y_true != y_pred
    return averaged(wrong.any(axis=1) if wrong.ndim == 2 else wrong, weight, normalize)


@documented
def hamming_loss(y_true, y_pred, *, sample_weight=None):
    """The share of the labels that are predicted wrongly: every indicator counts; otherwise there is one label per row.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import hamming_loss
    >>> hamming_loss([[0, 1], [1, 1]], [[0, 0], [1, 1]])
    0.25
    """
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    wrong = y_true != y_pred
    return averaged(wrong.mean(axis=1) if wrong.ndim == 2 and weight is not None else wrong, weight)


@documented
def balanced_accuracy_score(y_true, y_pred, *, sample_weight=None, adjusted=False):
    """The mean of the recalls of the classes that occur in `y_true`.

    Parameters
    ----------
    {y_true}
    {y_pred}
    {sample_weight}
    adjusted : bool, default=False
        Whether to rescale the mean, so that random predictions have 0 and perfect ones 1.

    Returns
    -------
    float

    References
    ----------
    Brodersen, Ong, Stephan, Buhmann (2010), The balanced accuracy and its posterior distribution.

    Examples
    --------
    >>> from fastclf import balanced_accuracy_score
    >>> balanced_accuracy_score([0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1])
    0.625
    """
    counts = count_labels(*_as_label_pair(y_true, y_pred, sample_weight))
    there = counts.true > 0
    if not there.all():
        warn("y_pred contains classes not in y_true")
    score = float((counts.right[there] / counts.true[there]).mean())
    chance = 1 / np.count_nonzero(there)
    return (score - chance) / (1 - chance) if require_truth("adjusted", adjusted) else score


@documented
def matthews_corrcoef(y_true, y_pred, *, sample_weight=None):
    """Matthews' correlation for two classes, Gorodkin's for more: 1 is perfect, 0 is no better than chance.

    Parameters
    ----------
    {y_true}
    {y_pred}
    {sample_weight}

    Returns
    -------
    float
        0 if all rows have one label, or all predictions are one label.

    References
    ----------
    Gorodkin (2004), Comparing two K-category assignments by a K-category correlation coefficient.

    Examples
    --------
    >>> from fastclf import matthews_corrcoef
    >>> round(matthews_corrcoef([1, 1, 1, -1], [1, -1, 1, 1]), 4)
    -0.3333
    """
    counts = count_labels(*_as_label_pair(y_true, y_pred, sample_weight))
    return correlation(counts.right.sum(), counts.true, counts.predicted)


@documented
def cohen_kappa_score(y1, y2, *, labels=None, weights=None, sample_weight=None, replace_undefined_by=np.nan):
    """Agreement beyond chance of two sets of labels for the same rows: 1 is complete, 0 is chance.

    Parameters
    ----------
    y1 : array-like of shape (n_samples,)
        Labels.
    y2 : array-like of shape (n_samples,)
        Labels of the same type.
    labels : array-like of shape (n_classes,), default=None
        The labels whose rows count; None means all labels that occur.
    weights : {"linear", "quadratic"} or None, default=None
        The disagreement of a pair of different labels: the distance of their places among the labels, its square, or,
        with None, the same for all pairs.
    {sample_weight}
    replace_undefined_by : float, default=nan
        The value where agreement is not defined, because all labels are equal.

    Returns
    -------
    float

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales.

    Examples
    --------
    >>> from fastclf import cohen_kappa_score
    >>> cohen_kappa_score(["no", "no", "yes", "yes"], ["no", "yes", "yes", "yes"])
    0.5
    """
    if weights is not None:
        require_choice("weights", weights, ("linear", "quadratic"))
    try:
        table = confusion_matrix(y1, y2, labels=labels, sample_weight=sample_weight).astype(float)
    except ValueError as error:
        if "must be in y_true" not in str(error):
            raise
        raise ValueError(
            "At least one label in `labels` must be present in `y1` (even though `cohen_kappa_score` is otherwise"
            f" agnostic to the order of `y1` and `y2`); labels is {described(labels)}"
        ) from None
    undefined = f"cohen_kappa_score is undefined and set to {replace_undefined_by}, which is `replace_undefined_by`."
    if not table.sum(axis=0).any():
        warn(
            "`y2` contains no labels that are present in both `y1` and `labels`. " + undefined,
            "UndefinedMetricWarning",
        )
        return replace_undefined_by
    place = np.arange(len(table))
    distance = np.abs(place[:, None] - place)
    cost = (distance > 0).astype(int) if weights is None else distance if weights == "linear" else distance**2
    found = agreement(table, cost)
    if found is None:
        warn("`y1`, `y2` and `labels` have only one label in common. " + undefined, "UndefinedMetricWarning")
        return replace_undefined_by
    return found


@documented
def confusion_matrix(y_true, y_pred, *, labels=None, sample_weight=None, normalize=None):
    """The number of rows for each pair of a true label (rows) and a predicted label (columns).

    Parameters
    ----------
    {y_true}
    {y_pred}
    labels : array-like of shape (n_classes,), default=None
        The order of rows and columns; other labels are left out. None means all labels that occur, sorted.
    {sample_weight}
    normalize : {"true", "pred", "all"} or None, default=None
        Divide by the sum of the row, of the column, or of the whole matrix.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        int64; float64 for shares, and for weights that are not whole.

    Examples
    --------
    >>> from fastclf import confusion_matrix
    >>> confusion_matrix(["ant", "bird", "cat", "cat"], ["ant", "cat", "cat", "cat"])
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 0, 2]])
    """
    y_true, y_pred, weight = _as_label_pair(y_true, y_pred, sample_weight)
    if normalize is not None:
        require_choice("normalize", normalize, ("true", "pred", "all"))
    known, true, predicted = encode_pair(y_true, y_pred)
    weight = _whole_weight(sample_weight, weight)
    n = len(known)
    if labels is not None:
        place = places_among(known, labels)
        n = len(place)
        if n == 0:
            raise ValueError("'labels' should contain at least one label.")
        new = np.full(len(known), -1)
        new[place[place >= 0]] = np.flatnonzero(place >= 0)
        true, predicted = new[true], new[predicted]
        if (true < 0).all():
            raise ValueError(f"At least one label specified must be in y_true; labels is {described(labels)}")
        kept = (true >= 0) & (predicted >= 0)
        true, predicted, weight = true[kept], predicted[kept], None if weight is None else weight[kept]
    elif n == 1:
        warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use"
            " the 'labels' parameter to pass all known labels."
        )
    cell = true * n + predicted
    if weight is None or weight.dtype.kind == "f":
        table = np.bincount(cell, weight, n * n).reshape(n, n)
    else:
        table = np.zeros((n, n), np.int64)
        np.add.at(table.ravel(), cell, weight)
    if normalize is None:
        return table
    return divided(table, table.sum(axis={"true": 1, "pred": 0, "all": None}[normalize], keepdims=True))


def _whole_weight(given, weight):
    """The weights as int64 if the given ones are whole numbers, so that sums are exact; otherwise unchanged."""
    given = None if given is None else as_array(given, "sample_weight")
    whole = given is not None and given.dtype.kind in "biu"
    return np.broadcast_to(given, weight.shape).astype(np.int64) if whole else weight


@documented
def multilabel_confusion_matrix(y_true, y_pred, *, sample_weight=None, labels=None, samplewise=False):
    """A 2 x 2 table for each label: rows with or without the label, by rows predicted with or without it.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {sample_weight}
    labels : array-like, default=None
        The labels, in the order of the result; None means all that occur, sorted. For indicators, numbers of columns.
    samplewise : bool, default=False
        Whether to return a table for each row, for indicators.

    Returns
    -------
    ndarray of shape (n_labels, 2, 2), or (n_samples, 2, 2)
        [[true negatives, false positives], [false negatives, true positives]].

    Examples
    --------
    >>> from fastclf import multilabel_confusion_matrix
    >>> multilabel_confusion_matrix(["a", "b", "b"], ["a", "b", "a"]).tolist()
    [[[1, 1], [0, 1]], [[1, 0], [1, 1]]]
    """
    samplewise = require_truth("samplewise", samplewise)
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    if y_true.ndim == 2:
        counts = count_indicators(y_true, y_pred, weight, labels, samplewise)
    elif samplewise:
        raise ValueError("Samplewise metrics are not available outside of multilabel classification.")
    else:
        counts = count_labels(y_true, y_pred, weight, labels)
    right, missed, mistaken = counts.right, counts.true - counts.right, counts.predicted - counts.right
    return np.array([counts.total - right - missed - mistaken, mistaken, missed, right]).T.reshape(-1, 2, 2)


@documented
def class_likelihood_ratios(y_true, y_pred, *, labels=None, sample_weight=None, replace_undefined_by=np.nan):
    """The factors by which a positive and a negative prediction change the odds that a row is positive; for two
    classes.

    Parameters
    ----------
    {y_true}
    {y_pred}
    labels : array-like of shape (2,), default=None
        The negative and the positive class; None means the two that occur, sorted.
    {sample_weight}
    replace_undefined_by : float or dict, default=nan
        The value of a ratio whose denominator is 0, or {"LR+": value of at least 1, "LR-": value from 0 to 1}.

    Returns
    -------
    (float, float)
        LR+, the recall divided by the share of negative rows predicted as positive; and LR-, the share of positive rows
        predicted as negative divided by the share of negative rows predicted as negative.

    Examples
    --------
    >>> from fastclf import class_likelihood_ratios
    >>> class_likelihood_ratios([0, 1, 0, 1, 0], [1, 1, 0, 0, 0])
    (1.5, 0.75)
    """
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    if y_true.ndim == 2 or len(encode_pair(y_true, y_pred)[0]) > 2:
        raise ValueError(
            "class_likelihood_ratios only supports binary classification problems, got targets of type:"
            f" {'multilabel-indicator' if y_true.ndim == 2 else 'multiclass'}"
        )
    values = _undefined_ratios(replace_undefined_by)
    table = confusion_matrix(y_true, y_pred, labels=labels, sample_weight=weight)
    if table.shape != (2, 2):
        raise ValueError(f"{len(table)} labels occur; two are wanted: pass both as `labels`")
    (tn, fp), (fn, tp) = table.tolist()
    if tp + fn == 0:
        warn(
            "No samples of the positive class are present in `y_true`. `positive_likelihood_ratio` and"
            " `negative_likelihood_ratio` are both set to `np.nan`.",
            "UndefinedMetricWarning",
        )
        return np.nan, np.nan
    shown = ["`np.nan`" if np.isnan(value) else f"`{value}`" for value in values]
    if fp == 0 and tp == 0:
        warn(
            f"No samples were predicted for the positive class and `positive_likelihood_ratio` is set to {shown[0]}.",
            "UndefinedMetricWarning",
        )
    elif fp == 0:
        warn(f"`positive_likelihood_ratio` is ill-defined and set to {shown[0]}.", "UndefinedMetricWarning")
    if tn == 0:
        warn(f"`negative_likelihood_ratio` is ill-defined and set to {shown[1]}.", "UndefinedMetricWarning")
    negative, positive = tn + fp, tp + fn
    return (
        tp / positive * (negative / fp) if fp else values[0],
        fn / positive * (negative / tn) if tn else values[1],
    )


def _undefined_ratios(given):
    """The values of an undefined LR+ and of an undefined LR-, from the argument `replace_undefined_by`."""
    if isinstance(given, Real):
        return float(given), float(given)
    if not isinstance(given, dict):
        raise TypeError(f"replace_undefined_by is {described(given)}; a number or a dict is wanted")
    positive, negative = (given.get(name) for name in ("LR+", "LR-"))
    numbers = all(isinstance(value, (int, float)) for value in (positive, negative))
    if not numbers or positive < 1 or not (np.isnan(negative) or 0 <= negative <= 1):
        raise ValueError(
            "The dictionary passed as `replace_undefined_by` needs to be in the form {'LR+': value_1, 'LR-': value_2},"
            f" with value_1 from 1 up and value_2 from 0 to 1, or nan; it is {given}"
        )
    return float(positive), float(negative)
