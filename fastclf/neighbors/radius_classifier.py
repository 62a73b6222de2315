"""The classifier by all neighbours within a radius."""

import numpy as np

from .._estimator import Classifier
from .._exceptions import warn
from .._state_table import Value, declare
from .._threads import map_rows, ranges, rows_at
from .._validation import as_array, as_list, described
from .base import document
from .hits import Counts
from .radius_votes import RadiusVoters
from .target_rows import LabelledRows


def _require_labels(name, value):
    if value is not None and type(value) is not list:
        raise ValueError(f"{name} is a {type(value).__name__}; None or a list of labels is wanted")


@document
class RadiusNeighborsClassifier(LabelledRows, RadiusVoters, Classifier):
    """Classification by the vote of all rows within a radius.

    Parameters
    ----------
    radius : float >= 0, default=1.0
        Rows at exactly this distance vote too.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        A vote counts 1, or 1 / distance (if some neighbours are at distance 0, only these vote), or the function's
        value: it takes an array of arrays of distances, one for each query, and returns arrays of the same shapes. If
        some votes of a query are infinite, only these count.
    {shared}
    outlier_label : label, list of labels for several outputs, 'most_frequent' or None, default=None
        The label of a query without neighbours. 'most_frequent' is the label with the largest sum of `sample_weight`,
        the first in `classes_` if there are several; None refuses a query without neighbours. A label that is not in
        `classes_` has no probability.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    outlier_label_ : list of a label for each output, or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    ids_ : ndarray of shape (n_samples_fit_,)
        The id of each row, int64 or strings. Only if the rows were fitted with ids.
    outputs_2d_ : bool
        Whether y had several columns.
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    See Also
    --------
    KNeighborsClassifier : the vote of a number of rows.
    NearestNeighbors : the search itself, and what is exact about it.

    Examples
    --------
    >>> from fastclf import RadiusNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = RadiusNeighborsClassifier(radius=1.0, outlier_label="high").fit(X, y)
    >>> model.predict([[0.4], [9.0]]), model.predict_proba([[1.0]]).round(3)
    (array(['low', 'high'], dtype='<U4'), array([[0.333, 0.667]]))
    """

    _state_table = declare(outlier_label_=Value(_require_labels))

    def __init__(
        self,
        radius=1.0,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        outlier_label=None,
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def _fitted_attributes(self, X, y, sample_weight, ids):
        attributes = super()._fitted_attributes(X, y, sample_weight, ids)
        several = attributes["outputs_2d_"]
        classes = attributes["classes_"] if several else [attributes["classes_"]]
        return attributes | {
            "outlier_label_": self._outlier_labels(classes, attributes["_codes"], attributes["_weight"])
        }

    def _outlier_labels(self, classes, codes, weight):
        """The label of outliers for each output, in a list, by the parameter `outlier_label`; None if that is None."""
        label = self.outlier_label
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent":
            counts = [np.bincount(column, weight, len(names)) for column, names in zip(codes.T, classes)]
            return [names[count.argmax()] for names, count in zip(classes, counts)]
        labels = as_list(label, "outlier_label") if as_array(label, "outlier_label").ndim else [label] * len(classes)
        if len(labels) != len(classes):
            raise ValueError(
                f"The length of outlier_label: {described(label)} is inconsistent with the output length:"
                f" {len(classes)}"
            )
        for names, each in zip(classes, labels):
            if np.ndim(each):
                raise TypeError(
                    f"The outlier_label of classes {names} is supposed to be a scalar, got {described(each)}."
                )
            if np.append(names, each).dtype != names.dtype and names.dtype.kind not in "US":
                raise TypeError(f"The dtype of outlier_label {each} is inconsistent with classes {names} in y.")
            if names.dtype.kind in "US" and not isinstance(each, (str, bytes)):
                raise TypeError(f"The dtype of outlier_label {each} is inconsistent with classes {names} in y.")
        return labels

    def _elected(self, X, call, mask):
        """A pair: the shares of votes, (n_queries, n_classes), per output; a mask of the queries without neighbours."""
        shares = self._counted(X, call, mask)
        if shares is None:
            shares, outlier = self._shares(*self._circles(X, call, mask))
        else:
            outlier = np.empty(len(shares[0]), bool)
            for start, stop in ranges(0, len(outlier), max(1, (1 << 20) // sum(each.shape[1] for each in shares))):
                total = shares[0][start:stop].sum(axis=1)
                outlier[start:stop] = total == 0
                for share in shares:
                    share[start:stop] /= np.where(total == 0, 1, total)[:, None]
        if outlier.any() and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {np.flatnonzero(outlier)}, you can try using larger radius,"
                " giving a label for outliers, or considering removing them from your dataset."
            )
        return shares, outlier

    def _counted(self, X, call, mask):
        """For each output the number of neighbours of each class, (n_queries, n_classes), after a check of X and mask.

        None if votes are not counts of neighbours.
        """
        self._require_fitted()
        self._check_voting()
        if "radius_neighbors" in self._own_methods or self.weights != "uniform" or self._weight is not None:
            return None
        search = self._ask(X, call, mask)
        counts = [np.zeros((len(search.queries), len(classes))) for classes in self._classes]
        with search.progress:
            self._scan.within(search, float(self.radius), Counts(list(self._codes.T), counts))
        return counts

    def _shares(self, n, circles):
        """What `_elected` returns, from the votes of all neighbours of n queries, given as Circles."""
        shares = [np.zeros((n, len(classes))) for classes in self._classes]
        outlier = np.zeros(n, bool)
        for circle in circles:
            stop = circle.start + len(circle.total)
            outlier[circle.start : stop] = circle.total == 0
            total = np.where(circle.total > 0, circle.total, 1)[:, None]
            for codes, share in zip(self._codes.T, shares):
                places = circle.query * share.shape[1] + codes[circle.row]
                votes = np.bincount(places, circle.votes, minlength=len(total) * share.shape[1])
                share[circle.start : stop] = votes.reshape(len(total), -1) / total
        return shares, outlier

    def _warn_of_strange_labels(self, outlier):
        """Warn if there are queries without neighbours and their label is not among the classes."""
        for classes, label in zip(self._classes, self.outlier_label_ or ()):
            if outlier.any() and not (classes == label).any():
                warn(
                    f"Outlier label {label} is not in training classes. All class probabilities of outliers will be"
                    " assigned with 0."
                )

    def predict(self, X, *, mask=None):
        """The class with the most votes for each query; of several such classes, the first in `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (leave-one-out).
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may vote; None: all.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)

        Notes
        -----
        Memory beyond `working_memory`: 8 bytes per query and class.
        """
        shares, outlier = self._elected(X, "predict", mask)
        self._warn_of_strange_labels(outlier)
        winners = (map_rows(lambda rows: rows.argmax(axis=1), share) for share in shares)
        labels = [rows_at(classes, codes) for classes, codes in zip(self._classes, winners)]
        if outlier.any():
            for output, label in enumerate(self.outlier_label_):
                dtype = np.result_type(labels[output], np.asarray(label)) if isinstance(label, str) else None
                labels[output] = labels[output].astype(dtype or labels[output].dtype)
                labels[output][outlier] = label
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

    def predict_proba(self, X, *, mask=None):
        """The share of the votes that each class has.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself.
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may vote; None: all.

        Returns
        -------
        shares : ndarray of shape (n_queries, n_classes), columns as in `classes_`; for several outputs a list of them
            A query without neighbours has share 1 for `outlier_label`. If no class has this label, all its shares are
            0, with a warning.
        """
        shares, outlier = self._elected(X, "predict_proba", mask)
        self._warn_of_strange_labels(outlier)
        for classes, share, label in zip(self._classes, shares, self.outlier_label_ or ()):
            share[outlier] = classes == label
        return shares if self.outputs_2d_ else shares[0]
