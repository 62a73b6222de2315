"""Metrics of probabilities and decision values: log loss, Brier score, hinge loss, calibration."""

import numpy as np

from .._exceptions import warn
from .._threads import aside_if_many
from .._validation import (
    as_array,
    as_label_list,
    as_sample_weight,
    described,
    encode_labels,
    require_choice,
    require_integer,
    require_memory,
)
from .classification import averaged
from .curves import read_scored
from .targets import (
    as_label_vector,
    as_scores,
    as_targets,
    documented,
    has_label,
    positive_label,
    require_same_length,
    target_kind,
)

# The number of bytes that a bin of a calibration curve takes: its edge, its count, its sums and their indices.
_BIN_BYTES = 50


def _require_probabilities(proba):
    if proba.size == 0:
        raise ValueError(f"y_prob has shape {proba.shape}; at least one row is wanted")
    if proba.max() > 1 + 1e-9:
        raise ValueError(f"y_prob contains values greater than 1: {proba.max()}; probabilities are wanted")
    if proba.min() < 0:
        raise ValueError(f"y_prob contains values less than 0: {proba.min()}; probabilities are wanted")


def read_probabilities(y_true, y_proba, labels, sample_weight=None):
    """The checked arguments, as (the code of each row's label, probabilities of all labels, weights or None).

    A single column of probabilities belongs to the second of two labels.
    """
    y_true, given = as_targets(y_true, "y_true"), as_array(y_proba, "y_proba")
    proba = as_scores(given, "y_proba")
    _require_probabilities(proba)
    require_same_length(y_proba=proba, y_true=y_true)
    weight = as_sample_weight(sample_weight, len(proba))
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    eps = np.finfo(given.dtype if given.dtype.kind == "f" else float).eps
    if not np.allclose(proba.sum(axis=1), 1, rtol=np.sqrt(eps), atol=0):
        warn("The y_prob values do not sum to one. Make sure to pass probabilities.")
    if y_true.ndim == 2:
        if y_true.dtype.kind != "b" or not (np.count_nonzero(y_true, axis=1) == 1).all():
            raise ValueError("Multioutput target data is not supported: y_true has a row of no or of several labels")
        if y_true.shape != proba.shape:
            raise ValueError(f"y_true has shape {y_true.shape} and y_proba {proba.shape}; the same shape is wanted")
        return y_true.argmax(axis=1), proba, weight
    classes = _all_labels(y_true, labels, proba.shape[1])
    return np.searchsorted(classes, y_true), proba, weight


def _all_labels(y_true, labels, n):
    """The sorted labels of n columns of probabilities: the given ones, otherwise those in y_true."""
    found = encode_labels(y_true)[0]
    if labels is None:
        if len(found) == 1:
            raise ValueError(
                f"y_true contains only one label ({found.tolist()[0]}). Please provide the list of all expected class"
                " labels explicitly through the labels argument."
            )
        if len(found) != n:
            raise ValueError(
                f"y_true and y_prob contain different number of classes: {len(found)} vs {n}. Please provide the true"
                f" labels explicitly through the labels argument. Classes found in y_true: {found}"
            )
        return found
    labels = as_label_list(labels)
    known, given = encode_labels(labels, "labels")[0], labels.tolist()
    if len(known) == 1:
        raise ValueError(f"The labels array needs to contain at least two labels. Got {known.tolist()}.")
    unknown = set(found.tolist()) - set(given)
    if unknown:
        raise ValueError(f"y_true contains values {unknown} not belonging to the passed labels {given}.")
    if len(known) != n:
        raise ValueError(
            "The number of classes in labels is different from that in y_prob. Classes found in labels:"
            f" {known}, and y_prob has {n} columns"
        )
    if known.tolist() != given:
        warn(
            f"Labels passed were {given}. But this function assumes labels are ordered lexicographically. Pass the"
            f" ordered labels={known.tolist()} and ensure that the columns of y_prob correspond to this ordering."
        )
    return known


def _one_name(y_proba, y_pred):
    """The probabilities, passed as `y_proba` or under their former name `y_pred`."""
    if isinstance(y_pred, str) and y_pred == "deprecated":
        return y_proba
    if y_proba is not None:
        raise ValueError(
            "Cannot use both `y_pred` and `y_proba`. `y_pred` is deprecated, use `y_proba`, which is the same."
        )
    warn(
        "`y_pred` was renamed to `y_proba` in version 1.9 and will be removed in 1.11 of scikit-learn; pass `y_proba`",
        FutureWarning,
    )
    return y_pred


@documented
def log_loss(y_true, y_proba=None, *, normalize=True, sample_weight=None, labels=None, y_pred="deprecated"):
    """Minus the mean logarithm of the probability given to each row's label.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities of the sorted labels; one number per row is the probability of the second of two labels. 0 is
        replaced by the machine epsilon of its type, so that the result is finite.
    normalize : bool, default=True
        Whether to return the mean; otherwise the sum.
    {sample_weight}
    {all_labels}
    y_pred : array-like
        The former name of `y_proba`.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import log_loss
    >>> round(log_loss(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]]), 4)
    0.1643
    """
    y_proba = as_array(_one_name(y_proba, y_pred), "y_proba")
    codes, proba, weight = read_probabilities(y_true, y_proba, labels, sample_weight)
    eps = np.finfo(y_proba.dtype if y_proba.dtype.kind == "f" else float).eps
    loss = -np.log(np.clip(proba[np.arange(len(codes)), codes], eps, 1 - eps))
    return averaged(loss, weight, normalize)


@documented
def d2_log_loss_score(y_true, y_proba=None, *, sample_weight=None, labels=None, y_pred="deprecated"):
    """1 minus the log loss divided by that of constant predictions, the shares of the labels; at most 1.

    Parameters
    ----------
    {y_true}
    {y_proba}
    {sample_weight}
    {all_labels}
    y_pred : array-like
        The former name of `y_proba`.

    Returns
    -------
    float
        NaN, with a warning, for a single row.

    Examples
    --------
    >>> from fastclf import d2_log_loss_score
    >>> round(d2_log_loss_score(["no", "yes", "yes"], [[0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]), 4)
    0.7111
    """
    y_proba = as_array(_one_name(y_proba, y_pred), "y_proba")
    return _over_shares(log_loss, y_true, y_proba, labels, sample_weight)


def _over_shares(loss, y_true, y_proba, labels, sample_weight):
    """The D^2 score 1 - loss / simple; simple: the loss if each label's share of the rows is its probability."""
    if y_proba.ndim > 0 and len(y_proba) < 2:
        warn("D^2 score is not well-defined with less than two samples.", "UndefinedMetricWarning")
        return float("nan")
    codes, proba, weight = read_probabilities(y_true, y_proba, labels, sample_weight)
    shares = np.bincount(codes, weight, proba.shape[1])
    constant = np.tile(shares / shares.sum(), (len(codes), 1))
    names = np.arange(proba.shape[1])
    mine, simple = (loss(codes, predicted, labels=names, sample_weight=weight) for predicted in (proba, constant))
    return _explained(mine, simple)


def _explained(loss, simple):
    """The D^2 score 1 - loss / simple, `simple` being the loss of a constant prediction; NaN or -inf if it is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(1 - np.divide(loss, simple))


@documented
def brier_score_loss(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, scale_by_half="auto"):
    """The mean squared distance of probabilities from the truth.

    Parameters
    ----------
    {y_true}
    {y_proba}
    {sample_weight}
    pos_label : label, default=None
        The label of a single column of probabilities; None means the second, if labels are numbers.
    {all_labels}
    scale_by_half : bool or "auto", default="auto"
        Whether to halve the sum over the labels of (p_k - [y is k])^2, which is in [0, 2]; "auto" halves it for two
        labels, which gives (p - [y is the second])^2.

    Returns
    -------
    float

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> from fastclf import brier_score_loss
    >>> round(brier_score_loss(["no", "yes"], [0.1, 0.8], pos_label="yes"), 4)
    0.025
    """
    by_classes = isinstance(scale_by_half, str) and scale_by_half == "auto"
    if not by_classes and not isinstance(scale_by_half, (bool, np.bool_)):
        raise ValueError(f"scale_by_half is {described(scale_by_half)}; True, False or 'auto' is wanted")
    proba = as_scores(y_proba, "y_proba")
    if proba.ndim == 1:
        _require_probabilities(proba)
        y_true = _is_positive(y_true, proba, pos_label)
        gap, n_classes = 2 * np.square(proba - y_true), 2
        weight = as_sample_weight(sample_weight, len(gap))
    else:
        codes, proba, weight = read_probabilities(y_true, proba, labels, sample_weight)
        n_classes = proba.shape[1]
        gap = np.square(proba - (codes[:, None] == np.arange(n_classes))).sum(axis=1)
    halved = n_classes == 2 if by_classes else scale_by_half
    return averaged(gap, weight) / (2 if halved else 1)


def _is_positive(y_true, proba, pos_label):
    """A mask of the rows with the positive label, to which a single column of probabilities refers."""
    y_true = as_targets(y_true, "y_true")
    require_same_length(y_true=y_true, y_proba=proba)
    kind = target_kind(y_true)
    if kind != "binary":
        raise ValueError(
            f"The type of the target inferred from y_true is {kind} but should be binary according to the shape of"
            " y_prob."
        )
    classes = encode_labels(y_true)[0]
    try:
        return has_label(y_true, positive_label(pos_label, classes))
    except ValueError:
        if classes.dtype.kind not in "biuf":
            raise
        return y_true == classes[-1]


@documented
def d2_brier_score(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None):
    """1 minus the Brier score divided by that of constant predictions, the shares of the labels; at most 1.

    Parameters
    ----------
    {y_true}
    {y_proba}
    {sample_weight}
    pos_label : label, default=None
        The label of a single column of probabilities; None means the second, if labels are numbers.
    {all_labels}

    Returns
    -------
    float
        NaN, with a warning, for a single row.

    Examples
    --------
    >>> from fastclf import d2_brier_score
    >>> round(d2_brier_score([0, 1, 1], [0.2, 0.8, 0.9]), 4)
    0.865
    """
    proba = as_scores(y_proba, "y_proba")
    if proba.ndim == 2 or len(proba) < 2:
        return _over_shares(brier_score_loss, y_true, proba, labels, sample_weight)
    _require_probabilities(proba)
    positive, weight = _is_positive(y_true, proba, pos_label), as_sample_weight(sample_weight, len(proba))
    share = averaged(positive, weight)
    return _explained(averaged(np.square(proba - positive), weight), averaged(np.square(share - positive), weight))


@documented
def hinge_loss(y_true, pred_decision, *, labels=None, sample_weight=None):
    """The mean of max(0, 1 - margin), where the margin is the score of a row's label minus the best of another label.

    Parameters
    ----------
    {y_true}
    pred_decision : array-like of shape (n_samples,) or (n_samples, n_classes)
        The result of `decision_function`: for two labels the score of the second, whose negative is the first's score.
    {all_labels}
    {sample_weight}

    Returns
    -------
    float

    References
    ----------
    Crammer, Singer (2001), On the algorithmic implementation of multiclass kernel-based vector machines.

    Examples
    --------
    >>> from fastclf import hinge_loss
    >>> round(hinge_loss([-1, 1, 1], [-2.18, 2.36, 0.09]), 4)
    0.3033
    """
    y_true, scores = as_label_vector(y_true, "y_true"), as_scores(pred_decision, "pred_decision")
    require_same_length(y_true=y_true, pred_decision=scores)
    weight = as_sample_weight(sample_weight, len(scores))
    classes = encode_labels(y_true if labels is None else as_label_vector(labels, "labels"))[0]
    n, shape = len(classes), scores.shape
    if n > 2:
        wanted = f"that is ({len(y_true)}, {n}). Got: {shape}"
        if scores.ndim == 1:
            raise ValueError(
                "The shape of pred_decision cannot be 1d array with a multiclass target. pred_decision shape must be"
                f" (n_samples, n_classes), {wanted}"
            )
        if shape[1] != n:
            hint = (
                "" if labels is not None else "Please include all labels in y_true or pass labels as third argument. "
            )
            raise ValueError(
                f"{hint}The shape of pred_decision is not consistent with the number of classes. With a multiclass"
                f" target, pred_decision shape must be (n_samples, n_classes), {wanted}"
            )
        true_score = np.empty(len(y_true))
        best = np.full(len(y_true), -np.inf)
        for label, score in zip(classes, scores.T):
            right = y_true == label
            true_score[right] = score[right]
            np.maximum(best, score, out=best, where=~right)
        margin = true_score - best
    else:
        if scores.ndim == 2:
            raise ValueError(f"pred_decision has shape {shape}; one score per row is wanted for two labels")
        # if there is only one class, its rows count as negative, as in scikit-learn
        margin = np.where(y_true == classes[-1], scores, -scores) if n == 2 else -scores
    return averaged(np.maximum(1 - margin, 0), weight)


@documented
def calibration_curve(y_true, y_prob, *, pos_label=None, n_bins=5, strategy="uniform"):
    """The share of positive rows among rows with similar predicted probabilities.

    Parameters
    ----------
    {y_true_of_two}
    y_prob : array-like of shape (n_samples,)
        Probability of the positive class.
    {pos_label}
    n_bins : int >= 1, default=5
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal widths, or with equal numbers of rows.

    Returns
    -------
    prob_true, prob_pred : ndarray of shape (n_bins or fewer,)
        For each bin that has a row, the share of positive rows and the mean probability.

    Examples
    --------
    >>> from fastclf import calibration_curve
    >>> prob_true, prob_pred = calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> prob_true.tolist(), prob_pred.round(3).tolist()
    ([0.0, 1.0], [0.15, 0.8])
    """
    positive, proba, _ = read_scored(y_true, y_prob, pos_label, None)
    if proba.min() < 0 or proba.max() > 1:
        raise ValueError("y_prob has values outside [0, 1]; probabilities are wanted")
    n_bins = require_integer("n_bins", n_bins, 1)
    require_choice("strategy", strategy, ("uniform", "quantile"))
    require_memory(_BIN_BYTES * n_bins, f"a curve of n_bins={n_bins}")
    return aside_if_many(max(len(proba), n_bins), _calibration, positive, proba, n_bins, strategy)


def _calibration(positive, proba, n_bins, strategy):
    """The curve of `calibration_curve`; `positive` has 1 for each row of the positive class, else 0."""
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.percentile(proba, edges * 100)
    bins = np.searchsorted(edges[1:-1], proba)
    count = np.bincount(bins, minlength=n_bins)
    there = count > 0
    return tuple(np.bincount(bins, values, n_bins)[there] / count[there] for values in (positive, proba))
