"""A picture of the table of true against predicted labels."""

import numpy as np

from .._validation import as_list, as_numbers, described, require_truth
from ..metrics.classification import confusion_matrix as table_of_counts
from ..metrics.contingency import ContingencyTable
from ..metrics.scorers import kind_of
from ..metrics.targets import as_target_pair, encode_pair
from .drawing import axes, finish, require_method


class ConfusionMatrixDisplay:
    """A table of true against predicted labels, a shade for each count.

    Parameters
    ----------
    confusion_matrix : array-like of shape (n_classes, n_classes) or ContingencyTable
        Numbers of rows, or shares; rows are true labels.
    display_labels : array-like of shape (n_classes,), default=None
        The labels; None: those of a ContingencyTable, or else numbers from 0.

    Attributes
    ----------
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text, of shape (n_classes, n_classes), or None
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"])
    >>> display.text_[1, 0].get_text()
    '1'
    """

    def __init__(self, confusion_matrix, *, display_labels=None):
        if isinstance(confusion_matrix, ContingencyTable):
            display_labels = confusion_matrix.labels if display_labels is None else display_labels
            confusion_matrix = confusion_matrix.counts
        if np.ndim(confusion_matrix) != 2 or len({*np.shape(confusion_matrix)}) != 1:
            raise TypeError(
                f"confusion_matrix is {described(confusion_matrix)}; a square matrix or a ContingencyTable is wanted"
            )
        as_numbers(confusion_matrix)
        self.confusion_matrix, self.display_labels = np.asarray(confusion_matrix), display_labels

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, labels=None, sample_weight=None, normalize=None, display_labels=None, **options
    ):
        """Draw the predictions of a fitted classifier for rows X with the labels y; `options` are those of `plot`."""
        require_method(estimator, "predict")
        if kind_of(estimator) not in ("classifier", None):
            raise ValueError(f"{cls.__name__}.from_estimator only supports classifiers; estimator is {estimator!r}")
        given = {"labels": labels, "sample_weight": sample_weight, "normalize": normalize}
        return cls.from_predictions(y, estimator.predict(X), display_labels=display_labels, **given, **options)

    @classmethod
    def from_predictions(
        cls, y_true, y_pred, *, labels=None, sample_weight=None, normalize=None, display_labels=None, **options
    ):
        """Draw the table of two arrays of labels; `normalize` is "true", "pred" or "all" for shares.

        `options` are those of `plot`.
        """
        counts = table_of_counts(y_true, y_pred, labels=labels, sample_weight=sample_weight, normalize=normalize)
        if display_labels is None:
            display_labels = encode_pair(*as_target_pair(y_true, y_pred)[:2])[0] if labels is None else labels
        return cls(counts, display_labels=display_labels).plot(**options)

    def plot(
        self,
        ax=None,
        *,
        include_values=True,
        cmap="viridis",
        xticks_rotation="horizontal",
        values_format=None,
        colorbar=True,
        im_kw=None,
        text_kw=None,
    ):
        """Draw into `ax`, by default into a new figure, and return self."""
        counts = self.confusion_matrix
        n = len(counts)
        labels = range(n) if self.display_labels is None else as_list(self.display_labels, "display_labels")
        if len(labels) != n:
            raise ValueError(
                f"display_labels has {len(labels)} labels; {n}, one for each row of the matrix, are wanted"
            )
        include_values, colorbar = (
            require_truth(*each) for each in (("include_values", include_values), ("colorbar", colorbar))
        )
        side = min(max(4.5, 3.0 + 0.45 * n), 12)
        ax = axes(ax, (side + 1, side))
        self.im_, self.text_ = ax.imshow(counts, **{"interpolation": "nearest", "cmap": cmap, **(im_kw or {})}), None
        if include_values:
            self._write(ax, values_format, text_kw or {})
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax)
        ax.set(xticks=np.arange(n), yticks=np.arange(n), xticklabels=labels, yticklabels=labels)
        ax.set(xlabel="Predicted label", ylabel="True label", ylim=(n - 0.5, -0.5))
        for text in ax.get_xticklabels():
            text.set_rotation(xticks_rotation)
        return finish(self, ax)

    def _write(self, ax, values_format, text_kw):
        """Write each number of the matrix into its field, light on a dark field and dark on a light one."""
        from matplotlib import cbook, text

        counts, low, high = self.confusion_matrix, self.im_.cmap(0), self.im_.cmap(1.0)
        middle, given = (counts.max() + counts.min()) / 2, cbook.normalize_kwargs(text_kw, text.Text)
        self.text_ = np.empty(counts.shape, object)
        for i, j in np.ndindex(*counts.shape):
            place = {"horizontalalignment": "center", "verticalalignment": "center"}
            colour = {"color": high if counts[i, j] < middle else low}
            self.text_[i, j] = ax.text(j, i, _as_text(counts[i, j], values_format), **{**place, **colour, **given})


def _as_text(value, values_format):
    if values_format is not None:
        return format(value, values_format)
    short = format(value, ".2g")
    whole = format(value, "d") if value.dtype.kind != "f" else short
    return whole if len(whole) < len(short) else short
