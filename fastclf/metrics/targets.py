"""Input of metrics: labels, indicators of several labels per row, scores and weights, checked together."""

import functools
from numbers import Integral

import numpy as np

from .._csr import sound
from .._document import document
from .._threads import aside_if_many, n_numbers
from .._validation import as_array, as_float64, as_sample_weight, encode_labels, require_labels

_described = document(
    y_true="""\
y_true : array-like of shape (n_samples,)
    The right labels.""",
    y_pred="""\
y_pred : array-like of shape (n_samples,)
    The predicted labels, of the same type.""",
    y_true_or_indicators="""\
y_true : array-like of shape (n_samples,), or array-like or sparse matrix of shape (n_samples, n_labels)
    The true labels; or, for several labels per row, whether each is true, as zeros and ones.""",
    y_pred_or_indicators="""\
y_pred : array-like of shape (n_samples,), or array-like or sparse matrix of shape (n_samples, n_labels)
    The predicted labels, in the same form.""",
    y_true_of_two="""\
y_true : array-like of shape (n_samples,)
    Labels of two classes.""",
    y_score="""\
y_score : array-like of shape (n_samples,)
    A larger score makes the positive class more likely.""",
    pos_label="""\
pos_label : label, default=None
    The positive class. None means 1 if the labels are among {0, 1} or among {-1, 1}; otherwise it must be given.""",
    y_proba="""\
y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
    Probabilities of the sorted labels; one number per row is the probability of the second of two labels.""",
    all_labels="""\
labels : array-like of shape (n_classes,), default=None
    All labels; required if some do not occur in `y_true`.""",
    sample_weight="""\
sample_weight : array-like of shape (n_samples,), default=None
    The weight of each row; None means 1.""",
    zero_division="""\
zero_division : {"warn", 0, 1, nan}, default="warn"
    The value of a ratio whose denominator is 0; "warn" means 0 and an UndefinedMetricWarning.""",
    labels_to_average="""\
labels : array-like, default=None
    The labels of the result, in its order; None means all that occur, sorted. For indicators, numbers of columns.
pos_label : label, default=1
    The label of the result if `average` is "binary".
average : {"binary", "micro", "macro", "weighted", "samples"} or None, default="binary"
    None: one value for each label. "binary": the value of `pos_label`, for two labels. "micro": the value for the
    summed counts of all labels. "macro": the mean over the labels. "weighted": the mean weighted by the number of true
    rows of each label. "samples": the mean over the rows, for indicators.""",
)


def stoppable(metric):
    """Make a metric obey Ctrl-C: large arrays are read in another thread, as one call of NumPy may take seconds."""

    @functools.wraps(metric)
    def call(*args, **options):
        return aside_if_many(max(map(n_numbers, (*args, *options.values())), default=0), metric, *args, **options)

    return call


def documented(metric):
    """Insert the shared descriptions of parameters into the docstring of a metric, and make the metric obey Ctrl-C."""
    return stoppable(_described(metric))


def as_targets(y, name):
    """Labels as a vector, or indicators of several labels per row as a matrix of bools."""
    if hasattr(y, "nnz") and hasattr(y, "toarray"):
        if len(y.shape) < 2 or y.shape[1] == 1:
            raise TypeError(
                "Sparse input is only supported when targets are of multilabel type;"
                f" {name} has one column, and a dense array is wanted (pass {name}.toarray())"
            )
        y = sound(y, name).toarray()
    y = as_array(y, name)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {y.shape}; (n_samples,), one label per row, is wanted")
    if y.size == 0:
        raise ValueError(
            f"Found empty input array (e.g., `y_true` or `y_pred`) while a minimum of 1 sample is required: {name} has"
            f" shape {y.shape}"
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input {name} contains {what}; a label is wanted for every row")
    require_labels(y.ravel(), name)
    if y.dtype.kind == "S" or isinstance(y.flat[0], bytes):
        raise TypeError(
            "Support for labels represented as bytes is not supported:"
            f" {name} holds {y.flat[0]!r}; strings or numbers are wanted"
        )
    return y != 0 if y.ndim == 2 and target_kind(y) == "multilabel-indicator" else y


def as_label_vector(y, name):
    """Labels of shape (n_samples,), at least one, without missing labels."""
    y = as_targets(y, name)
    if y.ndim != 1:
        raise ValueError(f"{name} has shape {y.shape}; (n_samples,), one label per row, is wanted")
    return y


def _is_continuous(y):
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())


def target_kind(y):
    """scikit-learn's name for this type of target."""
    if _is_continuous(y):
        return "continuous-multioutput" if y.ndim == 2 else "continuous"
    if y.ndim == 1:
        return "binary" if len(encode_labels(y)[0]) <= 2 else "multiclass"
    few = y.dtype.kind in "biuf" and ((y == y.min()) | (y == y.max())).all()
    return "multilabel-indicator" if few else "multiclass-multioutput"


def require_same_length(**arrays):
    """Refuse arrays, passed by name, with different numbers of rows."""
    sizes = [len(array) for array in arrays.values()]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {sizes}, which are those of"
            f" {' and '.join(arrays)}; the same number is wanted"
        )


def as_target_pair(y_true, y_pred, sample_weight=None):
    """The checked (y_true, y_pred, weight): two vectors of labels of one type, or two bool matrices of indicators."""
    y_true, y_pred = as_targets(y_true, "y_true"), as_targets(y_pred, "y_pred")
    require_same_length(y_true=y_true, y_pred=y_pred)
    weight = as_sample_weight(sample_weight, len(y_true))
    usable = [y.dtype.kind == "b" if y.ndim == 2 else not _is_continuous(y) for y in (y_true, y_pred)]
    if y_true.ndim != y_pred.ndim or not all(usable):
        first, second = target_kind(y_true), target_kind(y_pred)
        if first == second:
            raise ValueError(f"{first} is not supported; labels, or indicators of labels, are wanted")
        raise ValueError(
            f"Classification metrics can't handle a mix of {first} and {second} targets; the same kind is wanted of"
            " y_true and y_pred"
        )
    if y_true.ndim == 1:
        _require_same_type(y_true, y_pred)
    elif y_true.shape != y_pred.shape:
        raise ValueError(f"y_true has shape {y_true.shape} and y_pred {y_pred.shape}; the same shape is wanted")
    return y_true, y_pred, weight


def _require_same_type(y_true, y_pred):
    """Refuse strings in one of two vectors of labels and another type in the other vector."""
    are_strings = [y.dtype.kind in "UT" or isinstance(y[0], str) for y in (y_true, y_pred)]
    if are_strings[0] != are_strings[1]:
        raise ValueError(
            f"Mix of label input types (string and number); Got {encode_labels(y_true, 'y_true')[0]} and"
            f" {encode_labels(y_pred, 'y_pred')[0]}. The same type is wanted of y_true and y_pred"
        )
    kinds = {y_true.dtype.kind, y_pred.dtype.kind}
    if len(kinds) == 2 and kinds & {"m", "M"} and "O" not in kinds:
        raise TypeError(f"y_true has dtype {y_true.dtype} and y_pred {y_pred.dtype}; the same type is wanted")


def encode_pair(y_true, y_pred):
    """(labels, codes of y_true, codes of y_pred) for two vectors of labels; `labels` has the labels of both, sorted."""
    (first, true), (second, predicted) = encode_labels(y_true), encode_labels(y_pred)
    if len(first) == len(second) and (first == second).all():
        return first, true, predicted
    labels = encode_labels(np.concatenate([first, second]), "y_pred")[0]
    return labels, np.searchsorted(labels, first)[true], np.searchsorted(labels, second)[predicted]


def positive_label(pos_label, classes):
    """The positive label: `pos_label`, or 1 if the classes are among {0, 1} or {-1, 1}."""
    if pos_label is not None:
        return pos_label
    usual = ([0, 1], [-1, 1], [0], [-1], [1])
    if classes.dtype.kind in "biuf" and classes.tolist() in usual:
        return 1
    raise ValueError(
        f"y_true takes value in {{{', '.join(map(repr, classes.tolist()))}}} and pos_label is not specified: either"
        " make y_true take value in {0, 1} or {-1, 1} or pass pos_label explicitly."
    )


def has_label(y, label):
    """Whether each entry of y is the label; bools, which NumPy cannot compare with integers of over 64 bits, too."""
    if y.dtype == bool and isinstance(label, Integral):
        return y == bool(label) if label in (0, 1) else np.zeros(y.shape, bool)
    return y == label


def as_scores(y_score, name="y_score"):
    """Finite scores as float64, of shape (n_samples,) or (n_samples, n_classes)."""
    score = as_float64(y_score, name)
    if score.ndim not in (1, 2) or score.size == 0:
        raise ValueError(
            f"{name} has shape {score.shape}; (n_samples,) or (n_samples, n_classes), with at least one row, is wanted"
        )
    if not np.isfinite(score).all():
        raise ValueError(f"Input {name} contains NaN or infinity; finite numbers are wanted")
    return score.ravel() if score.ndim == 2 and score.shape[1] == 1 else score
