"""Classification by nearest neighbours."""

import numpy as np

from .._estimator import Classifier
from .._state_table import Array, List, declare, require_positions
from .._validation import encode_labels
from . import _votes
from .base import document
from .labels import as_label_lists, join, leave
from .voting import Voters


@document
class KNeighborsClassifier(Voters, Classifier, shortcuts=True):
    """Classification by the vote of the k nearest rows.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, the number of nearest rows that vote.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        A vote counts 1, or 1 / distance (if some neighbours are at distance 0, only these vote), or the function's
        value: it takes the array of distances, of shape (n_queries, k), and returns one of the same shape.
    {shared}
    ties : {'first', 'distance'}, default='first'
        Between classes with equal votes: the first in `classes_`, as in scikit-learn, or the class whose voters have
        the smaller total distance (then the first).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    outputs_2d_ : bool
        Whether y had several columns.
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    See Also
    --------
    NearestNeighbors : the search itself, and the conditions for exact answers.

    References
    ----------
    Fix, Hodges (1951), Discriminatory analysis; Cover, Hart (1967), Nearest neighbor pattern classification.

    Examples
    --------
    >>> from fastclf import KNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = KNeighborsClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict([[0.9]]), model.predict_proba([[0.9]]).round(3)
    (array(['low'], dtype='<U4'), array([[0.333, 0.667]]))
    """

    _state_table = declare(
        _classes=List("n_outputs", Array("any", None)),
        _codes=Array("intp", "n_rows", "n_outputs"),  # the class of each row's labels
    )

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        ties="first",
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    _columns = (*Voters._columns, "_codes")

    _vote_choices = (("ties", ("first", "distance")),)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Keep the rows, by reference, and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels that can be sorted: ints, strings, bools.
        sample_weight : array-like of shape (n_samples,), default=None
            The multiplicity of each row, from 0 up: a row with weight 0 is ignored, 2 counts as a duplicate. Neighbours
            are taken until their weights add up to `n_neighbors`, the last one in part.

        Returns
        -------
        self
        """
        return self._become(**self._fitted_attributes(X, y, sample_weight))

    def _fitted_attributes(self, X, y, sample_weight):
        """The attributes of a fit, all checked. The estimator itself is not changed."""
        attributes, y = self._fit_rows(X, sample_weight, y, labels=True)
        classes, codes = zip(*map(encode_labels, y.reshape(len(y), -1).T))
        return attributes | {
            "classes_": list(classes) if y.ndim == 2 else classes[0],
            "outputs_2d_": y.ndim == 2,
            "_codes": np.stack(codes, axis=1),
            "_declared": None,
        }

    def _check_rest(self, sizes, entries):
        for classes, codes in zip(self._classes, self._codes.T if entries else ()):
            require_positions("_codes", codes, len(classes))

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Append rows (a copy of them) to the fitted rows; the first call is a fit.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New labels are added to `classes_`. Without `sample_weight` each row counts once.
        classes : array-like of labels, or a list of these for several outputs, default=None
            Labels that are kept in `classes_` even if no row has them. Never necessary.

        Returns
        -------
        self
            The same as if all rows had been fitted at once. O(d) per row, amortised; a new class costs O(n).
        """
        if self._is_fitted():
            n, attributes = self._add_rows(X, sample_weight)
            y = self._more_targets(y, n, (self._codes.shape[1],) if self.outputs_2d_ else ())
            codes, known, new = join(self._codes, self._classes, y.reshape(n, -1).T)
            self._extend(attributes, "_codes", codes, np.stack(new, axis=1))
            declared, several, update = self._declared, self.outputs_2d_, vars(self).update
        else:
            attributes = self._fitted_attributes(X, y, sample_weight)
            declared, several, update = None, attributes["outputs_2d_"], self._become
            known = attributes["classes_"] if several else [attributes["classes_"]]
        if classes is not None:
            labels = as_label_lists(classes, len(known), several)
            attributes["_codes"], known, _ = join(attributes["_codes"], known, labels)
            attributes["_declared"] = labels if declared is None else join(None, declared, labels)[1]
        update(**attributes | {"classes_": known if several else known[0]})
        return self

    def _without(self, rows):
        attributes = super()._without(rows)
        if attributes:
            codes, classes = leave(attributes["_codes"], self._classes, self._declared)
            attributes |= {"_codes": codes, "classes_": classes if self.outputs_2d_ else classes[0]}
        return attributes

    @property
    def _classes(self):
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def predict(self, X, *, mask=None):
        """The label of each query.

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
        Memory beyond `working_memory`: 16 bytes per class and thread.
        """
        search, k = self._ask_voters(X, "predict", mask)
        best = np.empty((len(self._classes), len(search.queries)), dtype=np.intp)

        def elect(ballot):
            ballot = self._weigh(ballot)
            for classes, codes, best_out in zip(self._classes, self._codes.T, best):
                _votes.elect(ballot, codes, len(classes), self.ties == "distance", best_out)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(elect, ballots)
        labels = [classes[codes] for classes, codes in zip(self._classes, best)]
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

    def _elect_each(self, ballot, output, best_out):
        """Set best_out[rows[q], k - 1] to the code of the class that the k nearest neighbours of query q elect."""
        codes, n_classes = self._codes[:, output], len(self._classes[output])
        _votes.elect_each(ballot, self._weight, codes, n_classes, self.ties == "distance", best_out)

    def _predict_each(self, X):
        search, k = self._ask_voters(X, "predict")
        best = np.empty((len(search.queries), k), dtype=np.intp)

        def elect(ballot):
            self._elect_each(self._weigh(ballot), 0, best)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(elect, ballots)
        return self.classes_[best.T]

    def predict_proba(self, X, *, mask=None):
        """The share of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself.
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may vote; None: all.

        Returns
        -------
        shares : ndarray of shape (n_queries, n_classes), columns as in `classes_`; for several outputs a list of them
        """
        search, k = self._ask_voters(X, "predict_proba", mask)
        shares = [np.empty((len(search.queries), len(classes))) for classes in self._classes]

        def share(ballot):
            ballot = self._weigh(ballot)
            for codes, share_out in zip(self._codes.T, shares):
                _votes.share(ballot, codes, share_out)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(share, ballots)
        return shares if self.outputs_2d_ else shares[0]

    def leave_one_out(self, k_max):
        """The leave-one-out error rate for every number of neighbours, by one search.

        Parameters
        ----------
        k_max : int
            The largest number of neighbours, from 1 to the number of fitted rows minus one.

        Returns
        -------
        error : ndarray of shape (k_max,), float64
            Entry k - 1 is the error rate with k neighbours: the share (weighted by the `sample_weight` of `fit`) of
            fitted rows for which `predict(None)` is wrong, in any output if there are several.

        Notes
        -----
        One search, and O(k_max) per row; with a function for `weights`, O(k_max^2).

        Examples
        --------
        >>> from fastclf import KNeighborsClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0]], ["a", "a", "a", "b", "b"]
        >>> KNeighborsClassifier().fit(X, y).leave_one_out(3)
        array([0. , 0.4, 0.4])
        """

        return self._leave_one_out(k_max)

    def _error_each(self, ballot, row, k_max):
        wrong, best = np.zeros((len(row), k_max), dtype=bool), np.empty((len(row), k_max), dtype=np.intp)
        for output, codes in enumerate(self._codes.T):
            self._elect_each(ballot, output, best)
            wrong |= best != codes[row][:, None]
        return wrong
