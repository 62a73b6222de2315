"""Decisions by cost: the cheapest label by probabilities, its mean cost, the best threshold of a score."""

import numpy as np

from .._described import described
from .._estimator import Classifier, clone
from .._state_table import Array, Part, declare, require_same
from .._threads import map_rows, rows_at
from .classification import averaged
from .contingency import as_costs
from .curves import count_by_threshold, read_scored
from .probabilities import read_probabilities
from .targets import documented


@documented
def expected_cost(y_true, y_proba, cost_matrix, *, labels=None, sample_weight=None):
    """The mean cost of the decisions with the least expected cost for the given probabilities.

    Parameters
    ----------
    {y_true}
    {y_proba}
    cost_matrix : array-like of shape (n_classes, n_classes)
        `cost_matrix[true, predicted]`.
    {all_labels}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import expected_cost
    >>> expected_cost(["ill", "well", "well"], [[0.3, 0.7], [0.2, 0.8], [0.0, 1.0]], [[0, 10], [1, 0]])
    0.3333333333333333
    """
    codes, proba, weight = read_probabilities(y_true, y_proba, labels, sample_weight)
    costs = as_costs(cost_matrix, proba.shape[1])
    return averaged(costs[codes, cheapest(proba, costs)], weight)


def cheapest(proba, cost_matrix):
    """The code of the class with the least expected cost for each row of probabilities; ties go to the first class."""
    return map_rows(lambda rows: (rows @ cost_matrix).argmin(axis=1), proba)


@documented
def best_threshold(y_true, y_score, cost_matrix=((0, 1), (1, 0)), *, pos_label=None, sample_weight=None):
    """The threshold of the score, from which on the positive class is predicted, with the least total cost.

    Parameters
    ----------
    {y_true_of_two}
    y_score : array-like of shape (n_samples,)
        Scores or probabilities of the positive class, for rows that the classifier was not fitted on.
    cost_matrix : array-like of shape (2, 2), default=((0, 1), (1, 0))
        `cost_matrix[true, predicted]`, the negative class first; by default the cost is the error rate.
    pos_label : label, default=None
        None means the second of the sorted labels.
    {sample_weight}

    Returns
    -------
    threshold : float
        Rows with a score of at least this are to be predicted as positive; of equally good thresholds the largest,
        which may be infinite. A threshold lies in the middle between two scores.
    cost : float
        The mean cost of a row at this threshold.

    Notes
    -----
    O(n log n): every threshold is tried.

    Examples
    --------
    >>> from fastclf import best_threshold
    >>> best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    (0.6000000000000001, 0.25)
    >>> best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], [[0, 1], [10, 0]])
    (0.2, 0.25)
    """
    rows = read_scored(y_true, y_score, pos_label, sample_weight, of_two=_second_label)
    costs = as_costs(cost_matrix, 2)
    # At the first threshold, infinity, no row is predicted as positive; at the last, the smallest score, every row.
    wrong, right, threshold = (np.append(first, rest) for first, rest in zip((0, 0, np.inf), count_by_threshold(rows)))
    negative, total = wrong[-1], right[-1]
    paid = costs[0, 1] * wrong + costs[0, 0] * (negative - wrong) + costs[1, 1] * right + costs[1, 0] * (total - right)
    best = int(paid.argmin())
    at = threshold[best]
    if 0 < best < len(threshold) - 1:
        middle = at / 2 + threshold[best + 1] / 2
        at = middle if middle > threshold[best + 1] else at
    return float(at), float(paid[best] / (negative + total))


def _second_label(pos_label, classes):
    return classes[-1] if pos_label is None else pos_label


class CostSensitiveClassifier(Classifier):
    """Decisions by cost: the label with the least expected cost, by the probabilities of any classifier.

        argmin over k of    sum_j p(j | x) cost_matrix[j, k]

    Parameters
    ----------
    estimator : estimator with `predict_proba`
        A clone of it is fitted.
    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        `cost_matrix[true, predicted]`, in the order of the sorted labels; None: every error costs 1.

    Attributes
    ----------
    estimator_ : the fitted estimator
    classes_ : ndarray of shape (n_classes,)
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    The decisions are as good as the probabilities, which `calibration_curve` can show.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning.

    Examples
    --------
    >>> from fastclf import CostSensitiveClassifier, GaussianNB
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["ill", "ill", "well", "well"]
    >>> plain = CostSensitiveClassifier(GaussianNB()).fit(X, y)
    >>> careful = CostSensitiveClassifier(GaussianNB(), cost_matrix=[[0, 100], [1, 0]]).fit(X, y)
    >>> plain.predict([[1.8]]), careful.predict([[1.8]])
    (array(['well'], dtype='<U4'), array(['ill'], dtype='<U4'))
    """

    _state_table = declare(
        classes_=Array("any", "n_classes"),
        cost_matrix_=Array("float64", "n_classes", "n_classes"),
        estimator_=Part(Classifier, "predict_proba"),
    )

    def __init__(self, estimator=None, *, cost_matrix=None):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self._given().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _given(self):
        if self.estimator is None:
            from ..naive_bayes.single import GaussianNB

            return GaussianNB()
        return self.estimator

    def fit(self, X, y, sample_weight=None):
        """Fit a clone of the estimator.

        Parameters
        ----------
        X, y : array-like, as for the estimator
        sample_weight : array-like of shape (n_samples,), default=None
            Passed on to the estimator, if given.

        Returns
        -------
        self
        """
        given = self._given()
        if not hasattr(given, "fit") or isinstance(given, type):
            raise TypeError(f"estimator is {described(given)}; an estimator with predict_proba is wanted")
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = clone(given).fit(X, y, **weights)
        if not hasattr(fitted, "predict_proba"):
            raise TypeError(
                f"estimator is {described(given)}, which has no predict_proba; an estimator that has it is wanted"
            )
        n = len(fitted.classes_)
        costs = 1.0 - np.eye(n) if self.cost_matrix is None else as_costs(self.cost_matrix, n)
        names = {"feature_names_in_": fitted.feature_names_in_} if hasattr(fitted, "feature_names_in_") else {}
        return self._become(
            estimator_=fitted,
            classes_=fitted.classes_,
            cost_matrix_=costs,
            n_features_in_=fitted.n_features_in_,
            **names,
        )

    def _check_rest(self, sizes, entries):
        require_same("n_features_in_", self, "estimator_")
        require_same("classes_", self, "estimator_")

    def predict_proba(self, X):
        """The probabilities of the estimator, of shape (n_samples, n_classes)."""
        self._require_fitted()
        return self.estimator_.predict_proba(X)

    def expected_costs(self, X):
        """The expected cost of predicting each label, of shape (n_samples, n_classes)."""
        return map_rows(lambda rows: rows @ self.cost_matrix_, self.predict_proba(X))

    def predict(self, X):
        """The label with the least expected cost for each row, of shape (n_samples,); ties go to the first label."""
        self._require_fitted()
        return rows_at(self.classes_, cheapest(self.predict_proba(X), self.cost_matrix_))
