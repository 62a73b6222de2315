"""Tables of true against predicted labels, and figures computed from them."""

import numpy as np

from .._validation import (
    as_array,
    as_float64,
    as_label_list,
    as_sample_weight,
    described,
    encode_labels,
    require_choice,
)
from .counts import places_among
from .targets import as_label_vector, as_target_pair, encode_pair, stoppable


def as_costs(cost_matrix, n_classes):
    """The checked cost_matrix[true, predicted], in float64."""
    costs = as_float64(cost_matrix, "cost_matrix")
    if costs.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix has shape {costs.shape}; {(n_classes, n_classes)}, by true and predicted class, is wanted"
        )
    if not np.isfinite(costs).all():
        raise ValueError("cost_matrix contains NaN or infinity; finite costs are wanted")
    return costs


def divided(a, b):
    """a / b, 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.asarray(b) != 0)


def agreement(table, cost):
    """Cohen's kappa: 1 - (cost of a table of counts) / (cost of independent labels with the same shares).

    None if the divisor is 0.
    """
    table = table.astype(float)
    by_chance = (cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum()
    return float(1 - (cost * table).sum() * table.sum() / by_chance) if by_chance > 0 else None


def correlation(right, true, predicted):
    """Matthews' (or Gorodkin's) correlation, from the numbers of right, of true and of predicted rows of each class."""
    right, true, predicted = float(right), true.astype(float), predicted.astype(float)
    n = true.sum()
    spread = (n * n - true @ true) * (n * n - predicted @ predicted)
    return float((n * right - true @ predicted) / np.sqrt(spread)) if spread > 0 else 0.0


@stoppable
def contingency_table(y_true, y_pred, *, labels=None, sample_weight=None):
    """Count the rows for each pair of true and predicted labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels.
    y_pred : array-like of shape (n_samples,)
        Labels of the same type.
    labels : array-like of shape (n_classes,), default=None
        The order of rows and columns, with all labels that occur; None: the labels that occur, sorted.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each row, from 0 up; None: 1.

    Returns
    -------
    ContingencyTable

    Examples
    --------
    >>> from fastclf import contingency_table
    >>> table = contingency_table(["ham", "ham", "spam", "spam", "spam"], ["ham", "spam", "spam", "spam", "ham"])
    >>> table.counts
    array([[1, 1],
           [1, 2]])
    >>> table.accuracy, table.TP, table.FP
    (0.6, 2, 1)
    """
    y_true, y_pred, weight = as_target_pair(as_label_vector(y_true, "y_true"), as_label_vector(y_pred, "y_pred"))
    known, true, predicted = encode_pair(y_true, y_pred)
    weight = as_sample_weight(sample_weight, len(true), all_zero=True)
    if labels is not None:
        given = as_label_list(labels)
        if len(encode_labels(given, "labels")[0]) != len(given):
            raise ValueError(f"labels is {described(given.tolist())}; a list of different labels is wanted")
        place = places_among(given, known)
        if (place < 0).any():
            missing = known[place < 0].tolist()[0]
            raise ValueError(f"labels leaves out {missing!r}, which occurs; every label that occurs is wanted")
        known, true, predicted = given, place[true], place[predicted]
    K = len(known)
    return ContingencyTable(np.bincount(true * K + predicted, weight, K * K).reshape(K, K), known)


class ContingencyTable:
    """Counts of true (rows) against predicted labels (columns), and figures computed from them.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_classes)
        From 0 up; sums of weights if rows have weights.
    labels : array-like of shape (n_classes,), default=None
        None: 0, 1, ...

    Attributes
    ----------
    counts : ndarray of shape (n_classes, n_classes)
    labels : ndarray of shape (n_classes,)
    n : the sum of all counts
    TP, FP, FN, TN : numbers
        For two classes; `labels[1]` is the positive one.
    accuracy, error : float
    balanced_accuracy : float
        The mean recall of the classes that occur.
    kappa : float
        Cohen's kappa: the accuracy beyond that of independent answers with the same shares, relative to the largest
        possible one.
    mcc : float
        Matthews' correlation; for more than two classes that of Gorodkin.
    majority_error, uniform_error, proportional_error : float
        Baselines: the error of always predicting the most frequent label, 1 - max p; of predicting each of K labels
        with equal probability, 1 - 1/K; of predicting each label as often as it occurs, 1 - sum p^2.

    Notes
    -----
    A share of zero rows, such as the precision of a label that was never predicted, is 0, as in scikit-learn.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales. Gorodkin (2004), Comparing two K-category assignments
    by a K-category correlation coefficient.

    Examples
    --------
    >>> from fastclf import ContingencyTable
    >>> table = ContingencyTable([[50, 10], [5, 35]], ["well", "ill"])
    >>> print(table)
    true \\ predicted  well  ill
    well                50   10
    ill                  5   35
    >>> table.recall("binary"), table.specificity().round(3).tolist()
    (0.875, [0.875, 0.833])
    """

    def __init__(self, counts, labels=None):
        counts = as_array(counts, "counts")
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or counts.size == 0:
            raise ValueError(f"counts has shape {counts.shape}; (n_classes, n_classes) is wanted")
        if counts.dtype.kind not in "biuf" or not (np.isfinite(counts) & (counts >= 0)).all():
            raise ValueError("counts has an entry that is negative or not finite; numbers from 0 up are wanted")
        self.counts = counts
        self.labels = np.arange(len(counts)) if labels is None else as_array(labels, "labels")
        if self.labels.shape != counts.shape[:1]:
            raise ValueError(f"labels has shape {self.labels.shape}; ({len(counts)},), one per class, is wanted")

    def __repr__(self):
        return f"ContingencyTable({self.counts.tolist()}, {self.labels.tolist()})"

    def __str__(self):
        head = ["true \\ predicted", *map(str, self.labels.tolist())]
        rows = ([str(label), *map("{:g}".format, row)] for label, row in zip(self.labels.tolist(), self.counts))
        lines = [head, *rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:]))])
            for line in lines
        )

    @property
    def n(self):
        return self.counts.sum().item()

    @property
    def _true(self):
        return self.counts.sum(axis=1)

    @property
    def _predicted(self):
        return self.counts.sum(axis=0)

    def _of_two(self, row, column):
        if len(self.counts) != 2:
            raise AttributeError(f"the table has {len(self.counts)} classes; TP, FP, FN and TN exist for two only")
        return self.counts[row, column].item()

    @property
    def TP(self):
        return self._of_two(1, 1)

    @property
    def FP(self):
        return self._of_two(0, 1)

    @property
    def FN(self):
        return self._of_two(1, 0)

    @property
    def TN(self):
        return self._of_two(0, 0)

    @property
    def accuracy(self):
        return float(divided(self.counts.trace(), self.n))

    @property
    def error(self):
        return float(divided(self.n - self.counts.trace(), self.n))

    @property
    def balanced_accuracy(self):
        there = self._true > 0
        return float(self.recall()[there].mean()) if there.any() else 0.0

    @property
    def kappa(self):
        found = agreement(self.counts, 1 - np.eye(len(self.counts)))
        return 0.0 if found is None else found

    @property
    def mcc(self):
        return correlation(self.counts.trace(), self._true, self._predicted)

    @property
    def majority_error(self):
        return 1 - float(divided(self._true.max(), self.n))

    @property
    def uniform_error(self):
        return 1 - 1 / len(self.counts)

    @property
    def proportional_error(self):
        return 1 - float(np.square(divided(self._true, self.n)).sum())

    def _averaged(self, value, total, average):
        """A ratio of each class, such as precision, by value(number right, total), or the average over the classes."""
        right = self.counts.diagonal()
        if average is None:
            return value(right, total)
        require_choice("average", average, ("binary", "macro", "micro", "weighted"))
        if average == "binary":
            if len(right) != 2:
                raise ValueError(f"average is 'binary', but there are {len(right)} classes; another average is wanted")
            return float(value(right, total)[1])
        if average == "micro":
            return float(value(right.sum(), total.sum()))
        shares = value(right, total)
        return float(shares.mean() if average == "macro" else divided(shares @ self._true, self.n))

    def precision(self, average=None):
        """The share of rows with a predicted label that really have it.

        Parameters
        ----------
        average : {'binary', 'macro', 'micro', 'weighted'} or None, default=None
            None: an array with one entry for each class; 'binary': the value of `labels[1]`, for two classes; 'macro':
            the mean; 'weighted': the mean weighted by the number of true rows; 'micro': the value for all rows
            together.

        Returns
        -------
        float, or ndarray of shape (n_classes,)
        """
        return self._averaged(divided, self._predicted, average)

    def recall(self, average=None):
        """The share of rows with a true label that are predicted to have it; `average` as for `precision`."""
        return self._averaged(divided, self._true, average)

    def f1(self, average=None):
        """The harmonic mean of precision and recall; `average` as for `precision`."""
        return self._averaged(lambda right, total: divided(2 * right, total), self._true + self._predicted, average)

    def specificity(self):
        """The share of rows with another true label that are not predicted to have this one, of shape (n_classes,)."""
        others = self.n - self._true
        return divided(others - self._predicted + self.counts.diagonal(), others)

    def figures(self):
        """A dict of all figures, and the baselines that a classifier should beat, by name."""
        names = ["accuracy", "error", "majority_error", "uniform_error", "proportional_error", "balanced_accuracy"]
        found = {name: getattr(self, name) for name in [*names, "kappa", "mcc"]}
        for name in ("precision", "recall", "f1"):
            found[f"{name}_macro"] = getattr(self, name)("macro")
        if len(self.counts) == 2:
            found |= {name: getattr(self, name)("binary") for name in ("precision", "recall", "f1")}
            found |= {"specificity": float(self.specificity()[1])}
            found |= {name: getattr(self, name) for name in ("TP", "FP", "FN", "TN")}
        return found

    def cost(self, cost_matrix):
        """The mean cost of a row.

        Parameters
        ----------
        cost_matrix : array-like of shape (n_classes, n_classes)
            `cost_matrix[true, predicted]`, in the order of `labels`.

        Returns
        -------
        float
        """
        return float(divided((self.counts * as_costs(cost_matrix, len(self.counts))).sum(), self.n))
