"""Decision trees for labels, by exact search of splits."""

import numpy as np

from .._estimator import Classifier
from .._sklearn_bases import NotRouted, joins
from .._state_table import Array, List, Size, SizeOf, declare, has, where
from .._threads import map_rows, ranges, rows_at
from .._validation import as_sample_weight, as_targets, encode_labels, require_choice
from .base import LABEL_CRITERIA, DecisionTree, Rule, document
from .growth import VALUES
from .parameters import as_cost_matrix, class_weighted, training
from .sorted_columns import Target

# The number of values of a block of rows that are copied at a time, so that they stay in a cache.
_COPIED_NUMBERS = 1 << 16


@joins("DecisionTreeClassifier", "sklearn.tree._classes", virtual=True)
@document
class DecisionTreeClassifier(DecisionTree, Classifier, shortcuts=True):
    """Decision tree for labels.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'misclassification'}, default='gini'
        The impurity that splits reduce; 'log_loss' is 'entropy', in bits.
    {shared}
    class_weight : dict, list of dict, 'balanced' or None, default=None
        Weight of the rows of each class, a factor of `sample_weight`; a class that is not named has 1. 'balanced':
        n_samples / (n_classes * number of rows of the class). A list has one entry for each output.
    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        cost_matrix[true, predicted], from 0 up; a leaf predicts the label with the least expected cost. None: every
        wrong label costs 1. For one output only.
    ccp_risk : {'impurity', 'error'}, default='impurity'
        The risk of a leaf in pruning: its impurity, as in scikit-learn, or the mean cost of its prediction, as in CART
        and rpart.
    cv_loss : {'error', 'deviance'}, default='error'
        With ccp_alpha='cv', what the folds are judged by: the cost of the predicted labels, or the deviance -2 log p,
        where p is the share of the true label in the leaf, but at least 2.2e-16.
    {end}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The sorted distinct labels; for several outputs a list of these.
    n_classes_ : int or list of int
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        Only where one is given.
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> model = DecisionTreeClassifier(criterion="entropy").fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.4, 9.0], [1.6, 9.0]])
    array(['a', 'b'], dtype='<U1')
    >>> float(model.tree_.threshold[0])
    1.5
    """

    _state_table = declare(
        n_outputs_=Size("n_outputs"),
        _labels=List("n_outputs", Array("any", None, least=1)),
        **where(
            has("cost_matrix_"),
            n_classes=SizeOf(lambda tree: len(tree.classes_)),
            cost_matrix_=Array("float64", "n_classes", "n_classes"),
        ),
    )

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        cost_matrix=None,
        ccp_alpha=0.0,
        lam=None,
        ccp_risk="impurity",
        cv_loss="error",
        cv=10,
        one_se=False,
        monotonic_cst=None,
        categorical_features="from_dtype",
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    __metadata_request__predict_proba = NotRouted(["check_input"])

    @property
    def _labels(self):
        """The array of classes of each output."""
        return self.classes_ if isinstance(self.classes_, list) else [self.classes_]

    @property
    def _n_classes(self):
        return np.array([len(labels) for labels in self._labels])

    @property
    def _n_values(self):
        return sum(len(labels) for labels in self._labels)

    def _fit_tree(self, X, y, sample_weight=None, orders=None):
        """Fit the tree; `orders`: the sorted columns of X as an `Orders`, used if all columns are numbers, or None."""
        name = type(self).__name__
        self._require_choices()
        matrix, categories = self._features(X)
        y = as_targets(y, len(matrix), name, labels=True, warns=False)
        weight = as_sample_weight(sample_weight, len(matrix))
        found = [encode_labels(column) for column in np.atleast_2d(y.T)]
        labels, codes = [classes for classes, _ in found], [column for _, column in found]
        data = training(matrix, *self._target(labels, codes, weight, y.ndim), categories)
        rule, fitted = self._rule(labels, data.target, y.ndim)
        if categories is not None:
            fitted["categories_"] = categories
        grown = self._grow(data, rule, orders)
        return self._become(**grown, **fitted, **self._fitted_columns(X, matrix))

    def _require_choices(self):
        """Refuse parameters that name no known criterion, risk or loss."""
        require_choice("criterion", self.criterion, [*LABEL_CRITERIA, "log_loss"])
        require_choice("ccp_risk", self.ccp_risk, ["impurity", "error"])
        require_choice("cv_loss", self.cv_loss, ["error", "deviance"])

    def _target(self, labels, codes, weight, ndim):
        """(`Target`, weights by row and class or None) of lists of labels and of codes, one for each output.

        ndim: the number of dimensions of y.
        """
        weight = class_weighted(self.class_weight, labels, codes, weight)
        first = np.cumsum([0, *map(len, labels)]).astype(np.int32)
        if ndim == 1:
            return Target(codes[0].astype(np.int32), None, first), weight
        return Target(None, (np.column_stack(codes) + first[:-1]).astype(np.float64), first), weight

    def _rule(self, labels, target, ndim):
        """(how leaves predict and what a prediction costs, {name of a fitted attribute such as `classes_`: its value}).

        labels: for each output of the target its distinct labels, in ascending order.
        """
        fitted = {
            "classes_": labels if ndim == 2 else labels[0],
            "n_classes_": [len(classes) for classes in labels] if ndim == 2 else len(labels[0]),
            "n_outputs_": len(labels),
        }
        cost = as_cost_matrix(self.cost_matrix, len(labels[0]), len(labels))
        if cost is not None:
            fitted["cost_matrix_"] = cost
        criterion, by_deviance = self.criterion.replace("log_loss", "entropy"), self.cv_loss == "deviance"
        return _LabelRule(criterion, _Decision(target.first_value, cost), self.ccp_risk, by_deviance, target), fitted

    @property
    def _decision(self):
        return _Decision(np.cumsum([0, *self._n_classes]), getattr(self, "cost_matrix_", None))

    def _risk(self):
        return self._decision.risk(self._nodes) if self.ccp_risk == "error" else None

    def predict(self, X, check_input=True):
        """The label of each row: the class with the largest weight in its leaf, the first one if there are several.

        With a cost matrix it is the class with the least expected cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        leaf = self._leaves(X)
        value = self._nodes["value"]
        few = len(leaf) < len(value)
        # for few rows, where conversions of types take most of the time, the class of the largest value is read
        # directly
        if few and self.n_outputs_ == 1 and not hasattr(self, "cost_matrix_"):
            return self.classes_[_largest(value, leaf)]
        best = self._decision.codes(value[leaf] if few else value)
        columns = [
            classes[codes] if few else rows_at(classes[codes], leaf) for classes, codes in zip(self._labels, best)
        ]
        return columns[0] if not isinstance(self.classes_, list) else np.column_stack(columns)

    def predict_proba(self, X, check_input=True):
        """The shares of the classes in each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes), float64, or a list of them, one for each output
        """
        leaf = self._leaves(X)
        shares = rows_at(self._nodes["value"], leaf)
        if not isinstance(self.classes_, list):
            return shares
        return [np.ascontiguousarray(part) for part in np.split(shares, np.cumsum(self._n_classes)[:-1], axis=1)]

    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`; -inf where the share of a class is 0."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [map_rows(np.log, part) for part in shares] if isinstance(shares, list) else map_rows(np.log, shares)


def _largest(value, rows):
    """The column of the largest number in each of the given rows, the first one if there are several."""
    size = 1 + _COPIED_NUMBERS // value.shape[1]
    if len(rows) <= size:
        return value[rows].argmax(axis=1)
    # blocks of rows are copied to the same memory, instead of all rows to new memory
    columns = np.empty(len(rows), np.intp)
    for start, stop in ranges(0, len(rows), size, size):
        value[rows[start:stop]].argmax(axis=1, out=columns[start:stop])
    return columns


def _shares(numbers, first):
    """The shares of the classes in each node, for each output; numbers: those of a `Part`.

    If there are bounds of the prediction, the share of the second class is clipped to them.
    """
    weights, bounds = numbers[:, VALUES : VALUES + first[-1]], numbers[:, VALUES + first[-1] :]
    shares = np.concatenate(
        [part / part.sum(axis=1, keepdims=True) for part in np.split(weights, first[1:-1], axis=1)], axis=1
    )
    if bounds.size:
        shares[:, 1] = np.clip(shares[:, 1], *bounds.T)
        shares[:, 0] = 1 - shares[:, 1]
    return shares


class _Decision:
    """The choice of a class from the shares of the classes in a node, by cost or by the largest share.

    Attributes
    ----------
    first : ndarray of shape (n_outputs + 1,), int
        The values of output o have the indices [first[o], first[o + 1]).
    cost : ndarray of shape (n_classes, n_classes), float64, or None
    """

    __slots__ = ("cost", "first")

    def __init__(self, first, cost):
        self.first, self.cost = first, cost

    def _outputs(self, shares):
        return [shares[:, a:b] for a, b in zip(self.first[:-1], self.first[1:])]

    def codes(self, shares):
        """The codes of the chosen classes, as a list with one array for each output."""
        if self.cost is not None:
            return [(shares @ self.cost).argmin(axis=1)]
        return [part.argmax(axis=1) for part in self._outputs(shares)]

    def risk(self, nodes):
        """The mean cost of the prediction of each node, for the rows in the node."""
        if self.cost is not None:
            return (nodes["value"] @ self.cost).min(axis=1)
        return np.mean([1 - part.max(axis=1) for part in self._outputs(nodes["value"])], axis=0)


class _LabelRule(Rule):
    """The `Rule` of a tree for labels: a `_Decision` chooses the class from the shares of the classes.

    by_deviance: whether the predictions are the shares themselves, with the deviance as their cost.
    """

    __slots__ = ("by_deviance", "criterion", "decision", "risk_is_error", "true")

    def __init__(self, criterion, decision, ccp_risk, by_deviance, target):
        self.criterion, self.decision, self.risk_is_error = criterion, decision, ccp_risk == "error"
        self.by_deviance = by_deviance
        self.true = target.codes[:, None] if target.y is None else target.y - decision.first[:-1]

    def values(self, nodes, numbers):
        return _shares(numbers, self.decision.first)

    def risk(self, nodes):
        return self.decision.risk(nodes) if self.risk_is_error else None

    def predictions(self, nodes):
        if self.by_deviance:
            return nodes["value"]
        return np.column_stack(self.decision.codes(nodes["value"]))

    def costs(self, rows, predicted):
        if self.by_deviance:
            place = (self.true[rows] + self.decision.first[:-1]).astype(np.intp)
            shares = np.take_along_axis(predicted, place, axis=1)
            return -2 * np.log(np.maximum(shares, np.finfo(np.float64).eps)).mean(axis=1)
        if self.decision.cost is not None:
            return self.decision.cost[self.true[rows, 0], predicted[:, 0]]
        return (self.true[rows] != predicted).mean(axis=1)
