"""Numbers of rows that have a label, are predicted to have it, or both: what metrics of labels are computed from."""

from typing import NamedTuple

import numpy as np

from .._exceptions import warn
from .._validation import as_label, as_label_list, described
from .targets import as_target_pair, encode_pair

AVERAGES = (None, "micro", "macro", "weighted", "samples")


class Counts(NamedTuple):
    """Counts for each label, or for each row of indicators: integers, or float64 if the rows have weights."""

    right: np.ndarray  # for each label, the total weight of the rows that have the label and are predicted to have it
    true: np.ndarray  # for each label, the total weight of the rows that have the label
    predicted: np.ndarray  # for each label, the total weight of the rows that are predicted to have the label
    # the sum of all rows' weights; if each row is counted by itself, the number of labels times the row's weight
    total: object

    def together(self):
        """The counts summed over all labels, each of shape (1,)."""
        return Counts(*(np.atleast_1d(part.sum()) for part in self[:3]), self.total)


def places_among(known, labels):
    """The index of each label in `known`; -1 for a label that is not there, or is of another type."""
    place = {label: i for i, label in enumerate(known.tolist())}
    return np.array([place.get(label, -1) for label in as_label_list(labels).tolist()], np.intp)


def _require_columns(labels, n):
    """The user's `labels` as column numbers, after a check against the n columns of indicators."""
    columns = as_label_list(labels)
    if columns.size and (columns.dtype.kind not in "biuf" or not np.isfinite(columns).all()):
        raise TypeError(f"labels is {described(columns.tolist())}; column numbers are wanted if y_true has indicators")
    low, high = columns.min(initial=0), columns.max(initial=0)
    if low < 0 or high >= n:
        came = f"{low} < 0" if low < 0 else f"{high} > {n - 1}"
        raise ValueError(f"All labels must be in [0, n labels) for multilabel targets. Got {came}")
    return columns.astype(np.intp)


def count_indicators(y_true, y_pred, weight, labels=None, samplewise=False):
    """The Counts of each column (of each row, if `samplewise`) of two bool matrices, restricted to columns `labels`."""
    if labels is not None:
        columns = _require_columns(labels, y_true.shape[1])
        y_true, y_pred = y_true[:, columns], y_pred[:, columns]
    parts = y_true & y_pred, y_true, y_pred
    if samplewise:
        counts = [np.count_nonzero(part, axis=1) for part in parts]
        total = np.full(len(y_true), y_true.shape[1])
        return Counts(
            *(counts if weight is None else [count * weight for count in counts]),
            total if weight is None else total * weight,
        )
    return Counts(*(column_sums(part, weight) for part in parts), len(y_true) if weight is None else weight.sum())


def column_sums(indicators, weight):
    """The number of True values in each column of bools, or the summed weight of their rows."""
    if weight is None:
        return np.count_nonzero(indicators, axis=0)
    return np.array([weight[column].sum() for column in indicators.T])


def count_labels(y_true, y_pred, weight, labels=None):
    """The Counts of all labels that occur in one of two vectors, sorted, or of the given `labels`."""
    known, true, predicted = encode_pair(y_true, y_pred)
    return _picked(_count_codes(len(known), true, predicted, weight), known, labels)


def _count_codes(n, true, predicted, weight):
    same = true == predicted
    right = np.bincount(true[same], None if weight is None else weight[same], n)
    total = len(true) if weight is None else weight.sum()
    return Counts(right, np.bincount(true, weight, n), np.bincount(predicted, weight, n), total)


def _picked(counts, known, labels):
    if labels is None:
        return counts
    place = places_among(known, labels)
    return Counts(*(np.append(part, 0)[place].astype(part.dtype) for part in counts[:3]), counts.total)


def count_for_average(y_true, y_pred, labels, pos_label, average, sample_weight):
    """(Counts, weights for the average or None) for the labels that `average` refers to.

    The arguments are those of the public metrics, which `targets.py` describes.
    """
    require_average(average, (*AVERAGES, "binary"))
    pos_label = as_label(pos_label, "pos_label")
    y_true, y_pred, weight = as_target_pair(y_true, y_pred, sample_weight)
    if average != "binary" and pos_label not in (None, 1):
        warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). You may"
            " use labels=[pos_label] to specify a single positive class."
        )
    if y_true.ndim == 2:
        if average == "binary":
            kind = "multilabel-indicator"
            raise ValueError(_other_average(kind, AVERAGES))
        counts = count_indicators(y_true, y_pred, weight, labels, average == "samples")
    else:
        if average == "samples":
            raise ValueError(
                "Samplewise metrics are not available outside of multilabel classification. The targets are"
                " labels, one per row; another average is wanted"
            )
        known, true, predicted = encode_pair(y_true, y_pred)
        if average == "binary":
            labels = [_as_positive(pos_label, known)]
        counts = _picked(_count_codes(len(known), true, predicted, weight), known, labels)
    if average == "micro":
        counts = counts.together()
    return counts, {"weighted": counts.true, "samples": weight}.get(average)


def require_average(average, known, kind=None):
    """Refuse an `average` that is none of the known words and None; `kind` is the kind of targets, for the message."""
    if not (average is None or isinstance(average, str)) or average not in known:
        problems = "" if kind is None else f" for {kind} problems"
        raise ValueError(f"average must be one of {known}{problems}; average is {described(average)}")


def _as_positive(pos_label, known):
    """`pos_label`, after a check that it is one of two labels that occur."""
    if len(known) > 2:
        raise ValueError(_other_average("multiclass", AVERAGES[:-1]))
    require_known(pos_label, known)
    return pos_label


def require_known(pos_label, known):
    """Refuse a positive label that does not occur; it may be any label if only one label occurs."""
    pos_label = as_label(pos_label, "pos_label")
    if len(known) >= 2 and pos_label not in known.tolist():
        raise ValueError(f"pos_label={pos_label} is not a valid label. It should be one of {known}")


def _other_average(kind, averages):
    return f"Target is {kind} but average='binary'. Please choose another average setting, one of {list(averages)}."
