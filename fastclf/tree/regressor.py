"""Decision trees that predict numbers."""

import numpy as np

from .._estimator import Regressor
from .._exceptions import warn
from .._sklearn_bases import joins
from .._state_table import Size, declare
from .._threads import rows_at
from .._validation import as_numbers, as_sample_weight, as_targets, require_choice, require_integer
from .base import DecisionTree, Rule, document
from .growth import BELOW, FEATURE, IMPURITY, VALUES
from .parameters import scaled, training
from .sorted_columns import Target


@joins("DecisionTreeRegressor", "sklearn.tree._classes", virtual=True)
@document
class DecisionTreeRegressor(DecisionTree, Regressor, shortcuts=True):
    """Decision tree for numbers.

    Parameters
    ----------
    criterion : {'squared_error', 'absolute_error', 'poisson'}, default='squared_error'
        The loss that splits reduce. 'absolute_error' takes O(n log n) per feature and level, and leaves predict
        medians; 'poisson' is half the deviance, for numbers from 0 up that are not all 0. scikit-learn's former
        'friedman_mse' means 'squared_error', with a FutureWarning.
    {shared}
    {end}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from fastclf import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 5.0, 6.0])
    >>> model.predict([[-1.0], [9.0]])
    array([1.5, 5.5])
    """

    _state_table = declare(n_outputs_=Size("n_outputs"))

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        lam=None,
        cv=10,
        one_se=False,
        monotonic_cst=None,
        categorical_features="from_dtype",
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        if isinstance(criterion, str) and criterion == "friedman_mse":
            criterion = "squared_error"
            warn(
                'Value `"friedman_mse"` for `criterion` is deprecated. It maps to `"squared_error"` as both were always'
                ' equivalent. Use `criterion="squared_error"` to remove this warning.',
                FutureWarning,
            )
        self._take(locals())

    @property
    def _n_classes(self):
        return np.ones(self.n_outputs_, np.int64)

    @property
    def _n_values(self):
        return require_integer("n_outputs_", self.n_outputs_, 1)

    def _fit_tree(self, X, y, sample_weight=None, orders=None):
        """Fit the tree; `orders`: the sorted columns of X as an `Orders`, used if all columns are numbers, or None."""
        name = type(self).__name__
        self._require_choices()
        matrix, categories = self._features(X)
        y = as_numbers(as_targets(y, len(matrix), name, labels=False)).reshape(len(matrix), -1)
        weight = as_sample_weight(sample_weight, len(matrix))
        target, centre, scale = self._target(y, weight)
        data = training(matrix, target, weight, categories)
        rule = NumberRule(self.criterion, y if data.rows is None else y[data.rows], centre, scale)
        grown = self._grow(data, rule, orders)
        if categories is not None:
            grown["categories_"] = categories
        return self._become(**grown, n_outputs_=y.shape[1], **self._fitted_columns(X, matrix))

    def _require_choices(self):
        """Refuse a criterion with an unknown name."""
        require_choice("criterion", self.criterion, ["squared_error", "absolute_error", "poisson"])

    def _target(self, y, weight):
        """The tuple (`Target`, centre, scale) for numbers y, (n, n_outputs); the target is (y - centre) / scale."""
        criterion, counted = self.criterion, y if weight is None else y[weight > 0]
        if criterion == "poisson" and (y < 0).any():
            raise ValueError("Some value(s) of y are negative which is not allowed for Poisson regression.")
        if criterion == "poisson" and not counted.any(axis=0).all():
            raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")
        _, centre, scale = scaled(counted, centred=criterion == "squared_error")
        # targets of rows of weight 0 may overflow, which has no effect, as they are not used
        with np.errstate(over="ignore"):
            unit = (y - centre) / scale
        return Target(None, unit, np.arange(y.shape[1] + 1, dtype=np.int32)), centre, scale

    def _compute_partial_dependence_recursion(self, grid, target_features):
        mean = np.zeros(len(grid))
        self.tree_.compute_partial_dependence(grid, target_features, mean)
        return mean

    def predict(self, X, check_input=True):
        """The mean of each row's leaf, or its median with criterion='absolute_error'.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        check_input : bool, default=True
            Ignored.

        Returns
        -------
        numbers : ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
        """
        leaf = self._leaves(X)
        values = rows_at(self._nodes["value"], leaf)
        return values[:, 0] if self.n_outputs_ == 1 else values


class NumberRule(Rule):
    """The `Rule` of a tree for numbers y = centre + scale y', which is grown on y'."""

    __slots__ = ("centre", "criterion", "impurity_unit", "scale", "y")

    def __init__(self, criterion, y, centre, scale):
        self.criterion, self.y, self.centre, self.scale = criterion, y, centre, scale
        self.impurity_unit = scale**2 if criterion == "squared_error" else scale

    def values(self, nodes, numbers):
        """The values of nodes in the units of y. A pure node predicts y exactly, unless a bound forbids that."""
        n_outputs = self.y.shape[1]
        value = numbers[:, VALUES : VALUES + n_outputs]
        # in `nodes`, the column BELOW of a pure node has the number of one of its rows, whose y the node predicts
        pure = (nodes[:, FEATURE] == -1) & (numbers[:, IMPURITY] == 0)
        if numbers.shape[1] > VALUES + n_outputs:
            unbounded, value = value, np.clip(value, numbers[:, -2:-1], numbers[:, -1:])
            pure &= (unbounded == value)[:, 0]
        value = self.centre + self.scale * value
        value[pure] = self.y[nodes[pure, BELOW]]
        return value

    def predictions(self, nodes):
        if self.criterion == "poisson" and not nodes["value"][0].all():
            raise ValueError(
                "y is 0 in all rows outside one of the folds; fewer folds (cv), or another random_state, are wanted"
            )
        return nodes["value"]

    def costs(self, rows, predicted):
        true = self.y[rows]
        if self.criterion == "squared_error":
            return ((true - predicted) ** 2).mean(axis=1)
        if self.criterion == "absolute_error":
            return abs(true - predicted).mean(axis=1)
        logs = np.log(np.where(true > 0, true, predicted) / predicted)
        return 2 * (true * logs - true + predicted).mean(axis=1)
