"""The classifier by the k nearest neighbours."""

import numpy as np

from .._estimator import Classifier
from .._threads import rows_at
from . import _votes
from .base import document
from .target_rows import LabelledRows
from .voting import Voters


@document
class KNeighborsClassifier(LabelledRows, Voters, Classifier, shortcuts=True):
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
    ids_ : ndarray of shape (n_samples_fit_,)
        The id of each row, int64 or strings. Only if the rows were fitted with ids.
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

    _vote_choices = (("ties", ("first", "distance")),)

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
        outputs = self._classes
        best = np.empty((len(outputs), len(search.queries)), dtype=np.intp)

        def elect(ballot):
            ballot = self._weigh(ballot)
            for classes, codes, best_out in zip(outputs, self._codes.T, best):
                _votes.elect(ballot, codes, len(classes), self.ties == "distance", best_out)
            yield

        with search.progress:
            for ballots in self._polls(search, k):
                self._count(elect, ballots)
        labels = [rows_at(classes, codes) for classes, codes in zip(outputs, best)]
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

    def _elect_each(self, ballot, output, best_out):
        """For each query and each k, write to best_out the code of the class that the k nearest neighbours elect."""
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
