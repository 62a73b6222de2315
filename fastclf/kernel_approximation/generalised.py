"""Generalised linear classifiers: a linear model on the features of a map."""

import numpy as np

from .._estimator import Classifier, clone, only_if
from .._state_table import Part, declare, require_same
from .._validation import described, feature_names
from ..linear_model.least_squares import LeastSquaresClassifier
from ..preprocessing.base import FeatureMap
from ..preprocessing.functions import FunctionFeatures
from ..preprocessing.polynomial import PolynomialFeatures


class GeneralisedLinearClassifier(Classifier):
    """A classifier on the features of a map: the model is fitted to, and predicts from, `feature_map.transform(X)`.

    Parameters
    ----------
    feature_map : estimator with `fit` and `transform`, list of callables, or None, default=None
        A list holds functions phi_1, ..., phi_k of a row, as in x[0] * x[1], or of columns, as in X[:, 0] * X[:, 1];
        see FunctionFeatures. None is PolynomialFeatures(include_bias=False).
    model : classifier, default=None
        None is LeastSquaresClassifier().

    Attributes
    ----------
    feature_map_, model_ : the estimators, fitted clones of the parameters
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Memory: the map's output for all rows of X. `decision_function`, `predict_proba` and `predict_log_proba` exist if
    the model has them; parameters of the parts have names such as `model__alpha`.

    Examples
    --------
    XOR is linear in the product of its two inputs:

    >>> from fastclf import GeneralisedLinearClassifier, LeastSquaresClassifier, PolynomialFeatures
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = GeneralisedLinearClassifier(PolynomialFeatures(include_bias=False), LeastSquaresClassifier())
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])

    The map phi(x) = (x_1, x_2, x_1 x_2), a function for each feature:

    >>> phi = [lambda x: x[0], lambda x: x[1], lambda x: x[0] * x[1]]
    >>> GeneralisedLinearClassifier(phi).fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    _state_table = declare(feature_map_=Part(FeatureMap, "transform"), model_=Part(Classifier, "predict"))

    def _check_rest(self, sizes, entries):
        if hasattr(self.feature_map_, "n_features_in_"):
            require_same("n_features_in_", self, "feature_map_")
        require_same("classes_", self, "model_")

    def __init__(self, feature_map=None, model=None):
        self._take(locals())

    def _parts(self):
        feature_map = PolynomialFeatures(include_bias=False) if self.feature_map is None else self.feature_map
        parts = {
            "feature_map": FunctionFeatures(feature_map) if isinstance(feature_map, (list, tuple)) else feature_map,
            "model": LeastSquaresClassifier() if self.model is None else self.model,
        }
        for name, method in (("feature_map", "transform"), ("model", "predict")):
            if isinstance(parts[name], type) or not all(hasattr(parts[name], each) for each in ("fit", method)):
                functions = ", or a list of functions of a row," if name == "feature_map" else ""
                came = f"{name} is {described(parts[name])}"
                raise TypeError(f"{came}; an estimator with fit and {method}{functions} is wanted")
        return parts["feature_map"], parts["model"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self._parts()[0].__sklearn_tags__().input_tags
        tags.input_tags = inner
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the map, then the model on its features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, in the form that the map takes.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            For the model.

        Returns
        -------
        self
        """
        feature_map, model = map(clone, self._parts())
        feature_map.fit(X)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        model.fit(_mapped(feature_map, X), y, **weight)
        names = getattr(feature_map, "feature_names_in_", feature_names(X))
        columns = {} if names is None else {"feature_names_in_": names}
        columns["n_features_in_"] = getattr(feature_map, "n_features_in_", _width(X))
        return self._become(**columns, classes_=model.classes_, feature_map_=feature_map, model_=model)

    def _features(self, X):
        self._require_fitted()
        # feature maps of other libraries may not check the number of columns, so that it is checked for them
        if not isinstance(self.feature_map_, FeatureMap) and _width(X) != self.n_features_in_:
            raise ValueError(
                f"X has {_width(X)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as"
                " input"
            )
        return _mapped(self.feature_map_, X)

    def predict(self, X):
        """Labels of shape (n_samples,)."""
        features = self._features(X)
        return self.model_.predict(features)

    def _models_have(self, method):
        """Whether both the parameter `model` and the fitted model have a method."""
        model = self._parts()[1]
        return hasattr(model, method) and hasattr(getattr(self, "model_", model), method)

    @only_if(lambda model: model._models_have("decision_function"))
    def decision_function(self, X):
        """The model's scores."""
        features = self._features(X)
        return self.model_.decision_function(features)

    @only_if(lambda model: model._models_have("predict_proba"))
    def predict_proba(self, X):
        """The model's probabilities, of shape (n_samples, n_classes)."""
        features = self._features(X)
        return self.model_.predict_proba(features)

    @only_if(lambda model: model._models_have("predict_log_proba"))
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        features = self._features(X)
        return self.model_.predict_log_proba(features)


def _width(X):
    """The number of columns of X, a table, a sparse matrix or a list of rows; 1 for a list of texts."""
    shape = getattr(X, "shape", None) or np.asarray(X).shape
    return shape[1] if len(shape) == 2 else 1


def _mapped(feature_map, X):
    return getattr(feature_map, "_mapped", feature_map.transform)(X)
