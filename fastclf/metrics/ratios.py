"""Precision, recall, F-scores and Jaccard's index, for each label and averaged, and a report of them."""

from numbers import Real

import numpy as np

from .._exceptions import warn
from .._validation import (
    as_label_list,
    as_list,
    described,
    require_integer,
    require_number,
    require_strings,
    require_truth,
)
from .counts import count_for_average, count_indicators, count_labels
from .targets import as_target_pair, documented, encode_pair


def _as_zero_division(zero_division):
    if isinstance(zero_division, Real) and not isinstance(zero_division, bool):
        is_known = zero_division in (0, 1) or zero_division != zero_division
    else:
        is_known = isinstance(zero_division, str) and zero_division == "warn"
    if not is_known:
        raise ValueError(f"zero_division is {described(zero_division)}; 'warn', 0, 1 or nan is wanted")
    return zero_division


def _divided(part, whole, zero_division, told, average):
    """part / whole, or `zero_division` where whole is 0.

    `told` is (name of the ratio, kind of rows in the divisor) for the text of a warning; None for no warning.
    """
    empty = whole == 0
    ratio = np.divide(part, whole, out=np.zeros(np.shape(part)), where=~empty)
    if not empty.any():
        return ratio
    if zero_division != "warn":
        ratio[empty] = zero_division
    elif told is not None:
        name, rows = told
        these, those = ("samples", "labels") if average == "samples" else ("labels", "samples")
        where = "due to" if len(ratio) == 1 else f"in {these} with"
        warn(
            f"{name} is ill-defined and being set to 0.0 {where} no {rows} {those}. Use `zero_division` parameter to"
            " control this behavior.",
            "UndefinedMetricWarning",
        )
    return ratio


def _mean(values, weight):
    """The mean of the values that are not NaN; it is weighted, unless the weights of these values are all 0."""
    there = ~np.isnan(values)
    if not there.any():
        return float("nan")
    weight = None if weight is None or not weight[there].any() else weight[there]
    return float(np.average(values[there], weights=weight))


def _ratios(counts, beta, zero_division, warn_for, average):
    """Three arrays, precision, recall and F-score, with an entry for each label or row."""

    def told(key, name, rows):
        return (name, rows) if key in warned else None

    warned = warn_for if isinstance(warn_for, str) else require_strings(as_list(warn_for, "warn_for"), "warn_for")

    precision = _divided(
        counts.right, counts.predicted, zero_division, told("precision", "Precision", "predicted"), average
    )
    recall = _divided(counts.right, counts.true, zero_division, told("recall", "Recall", "true"), average)
    if np.isposinf(beta):
        return precision, recall, recall
    if beta == 0:
        return precision, recall, precision
    square = beta * beta
    score = _divided(
        (1 + square) * counts.right,
        square * counts.true + counts.predicted,
        zero_division,
        told("f-score", "F-score", "true nor predicted"),
        average,
    )
    return precision, recall, score


@documented
def precision_recall_fscore_support(
    y_true,
    y_pred,
    *,
    beta=1.0,
    labels=None,
    pos_label=1,
    average=None,
    warn_for=("precision", "recall", "f-score"),
    sample_weight=None,
    zero_division="warn",
):
    """Precision, recall, F-score, and the number of true rows, for each label or averaged.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    beta : float >= 0, default=1.0
        The weight of recall relative to precision in the F-score.
    {labels_to_average}
    warn_for : collection of {"precision", "recall", "f-score"}, default=all of them
        The figures that cause a warning if their denominator is 0.
    {sample_weight}
    {zero_division}

    Returns
    -------
    precision, recall, fbeta_score : float, or ndarray of shape (n_labels,)
    support : None, or ndarray of shape (n_labels,)
        The number, or weight, of the rows with the label; None if there is an `average`.

    Examples
    --------
    >>> from fastclf import precision_recall_fscore_support
    >>> y_true, y_pred = ["cat", "dog", "pig", "cat", "dog", "pig"], ["cat", "pig", "dog", "cat", "cat", "dog"]
    >>> precision, recall, score, support = precision_recall_fscore_support(y_true, y_pred, zero_division=0)
    >>> precision.round(2).tolist(), recall.tolist(), support.tolist()
    ([0.67, 0.0, 0.0], [1.0, 0.0, 0.0], [2, 2, 2])
    """
    beta, zero_division = require_number("beta", beta, 0), _as_zero_division(zero_division)
    counts, weight = count_for_average(y_true, y_pred, labels, pos_label, average, sample_weight)
    ratios = _ratios(counts, beta, zero_division, warn_for, average)
    if average is None:
        return *ratios, counts.true
    return *(_mean(ratio, weight) for ratio in ratios), None


# Arguments: more than 8, because the public functions that call this one pass on all of their arguments.
def _one_ratio(name, y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, beta=1.0):
    """The array `name` of `precision_recall_fscore_support`, without warnings about the other arrays."""
    found = precision_recall_fscore_support(
        y_true,
        y_pred,
        beta=beta,
        labels=labels,
        pos_label=pos_label,
        average=average,
        warn_for=(name,),
        sample_weight=sample_weight,
        zero_division=zero_division,
    )
    return found[("precision", "recall", "f-score").index(name)]


@documented
def precision_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """The share of rows predicted to have a label that really have it.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {labels_to_average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from fastclf import precision_score
    >>> precision_score([0, 1, 1, 0], [1, 1, 1, 0]), precision_score([0, 1, 1, 0], [1, 1, 1, 0], average="macro")
    (0.6666666666666666, 0.8333333333333333)
    """
    return _one_ratio("precision", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@documented
def recall_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """The share of rows with a label that are predicted to have it.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {labels_to_average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from fastclf import recall_score
    >>> recall_score([0, 1, 1, 0], [1, 1, 1, 0]), recall_score([0, 1, 1, 0], [1, 1, 1, 0], average=None).tolist()
    (1.0, [0.5, 1.0])
    """
    return _one_ratio("recall", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@documented
def fbeta_score(
    y_true, y_pred, *, beta, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """The weighted harmonic mean of precision and recall: recall has `beta` times the weight of precision.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    beta : float >= 0
        0 is precision, infinity is recall.
    {labels_to_average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    References
    ----------
    van Rijsbergen (1979), Information retrieval, chapter 7.

    Examples
    --------
    >>> from fastclf import fbeta_score
    >>> fbeta_score([0, 1, 1, 0], [1, 1, 1, 0], beta=2)
    0.9090909090909091
    """
    return _one_ratio("f-score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, beta)


@documented
def f1_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """The harmonic mean of precision and recall.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {labels_to_average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from fastclf import f1_score
    >>> f1_score([0, 1, 1, 0], [1, 1, 1, 0]), f1_score(["a", "b", "b"], ["b", "b", "b"], pos_label="b")
    (0.8, 0.8)
    """
    return _one_ratio("f-score", y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@documented
def jaccard_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """The share of rows that both have a label and are predicted to have it, among those with either.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    {labels_to_average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    float, or ndarray of shape (n_labels,) if `average` is None

    Examples
    --------
    >>> from fastclf import jaccard_score
    >>> jaccard_score([0, 1, 1, 0], [1, 1, 1, 0])
    0.6666666666666666
    """
    zero_division = _as_zero_division(zero_division)
    counts, weight = count_for_average(y_true, y_pred, labels, pos_label, average, sample_weight)
    either = counts.true + counts.predicted - counts.right
    shares = _divided(counts.right, either, zero_division, ("Jaccard", "true or predicted"), average)
    return shares if average is None else _mean(shares, weight)


@documented
def classification_report(
    y_true,
    y_pred,
    *,
    labels=None,
    target_names=None,
    sample_weight=None,
    digits=2,
    output_dict=False,
    zero_division="warn",
):
    """A table of precision, recall, F1 and the number of true rows of each label, and their averages.

    Parameters
    ----------
    {y_true_or_indicators}
    {y_pred_or_indicators}
    labels : array-like, default=None
        The labels of the table, in its order; None means all that occur, sorted. For indicators, numbers of columns.
    target_names : list of str, default=None
        Names for the labels.
    {sample_weight}
    digits : int >= 0, default=2
        The number of decimal places in the text.
    output_dict : bool, default=False
        Whether to return the figures as a dict.
    {zero_division}

    Returns
    -------
    str, or dict of str to dict of str to float

    Examples
    --------
    >>> from fastclf import classification_report
    >>> print(classification_report(["ham", "ham", "spam"], ["ham", "spam", "spam"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             ham       1.00      0.50      0.67         2
            spam       0.50      1.00      0.67         1
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    zero_division, digits = _as_zero_division(zero_division), require_integer("digits", digits, 0, 1074)
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    several = y_true.ndim == 2
    known = np.arange(y_true.shape[1]) if several else encode_pair(y_true, y_pred)[0]
    shown = known if labels is None else as_label_list(labels)
    names = _row_names(shown, labels is not None, target_names)
    counts = (count_indicators if several else count_labels)(y_true, y_pred, weight, shown)
    averages = {
        "micro avg": (counts.together(), None),
        "macro avg": (counts, None),
        "weighted avg": (counts, counts.true),
    }
    if several:
        averages["samples avg"] = count_indicators(y_true, y_pred, weight, shown, True), weight
    warned = "precision", "recall", "f-score"
    rows = [(name, row) for name, *row in zip(names, *_ratios(counts, 1.0, zero_division, warned, None), counts.true)]
    support = counts.true.sum()
    for name, (basis, mean_weight) in averages.items():
        ratios = _ratios(basis, 1.0, zero_division, () if basis is counts else warned, name.split()[0])
        rows.append((name, [*(_mean(ratio, mean_weight) for ratio in ratios), support]))
    is_accuracy = not several and set(known.tolist()) <= set(shown.tolist())
    if is_accuracy:
        rows[len(names)] = "accuracy", rows[len(names)][1]
    heads = "precision", "recall", "f1-score", "support"
    if require_truth("output_dict", output_dict):
        found = {name: dict(zip(heads, map(float, row))) for name, row in rows}
        return found | ({"accuracy": found["accuracy"]["precision"]} if is_accuracy else {})
    return _report_text(heads, rows, len(names), digits)


def _row_names(labels, given, target_names):
    if target_names is None:
        return [str(label) for label in labels.tolist()]
    target_names = require_strings(as_list(target_names, "target_names"), "target_names")
    if len(labels) != len(target_names):
        if not given:
            raise ValueError(
                f"Number of classes, {len(labels)}, does not match size of target_names, {len(target_names)}. Try"
                " specifying the labels parameter"
            )
        warn(
            f"labels size, {len(labels)}, does not match size of target_names, {len(target_names)}; surplus"
            " names are left out"
        )
    return target_names


def _report_text(heads, rows, n_names, digits):
    width = max(len("weighted avg"), digits, *(len(name) for name, _ in rows))
    lines = [" ".join([" " * (width + 1), *(f"{head:>9}" for head in heads)]), ""]
    for place, (name, (*figures, support)) in enumerate(rows):
        cells = [f"{figure:>9.{digits}f}" for figure in figures]
        if place == n_names and name == "accuracy":
            cells[:2] = [" " * 9] * 2
        lines += [""] * (place == n_names)
        lines.append(" ".join([f"{name:>{width}} ", *cells, f"{support:>9}"]))
    return "\n".join(lines) + "\n"
