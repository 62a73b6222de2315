"""The estimator protocol: what scikit-learn's tools expect of an estimator, without importing scikit-learn."""

import copy
import functools
import inspect
import sys
import types
import warnings

import numpy as np

from ._validation import (
    as_matrix,
    as_numbers,
    as_sample_weight,
    feature_names,
    require_array,
    require_integer,
)


class _NotFittedError(ValueError, AttributeError):
    """The estimator is used before `fit`. With scikit-learn loaded, its NotFittedError is raised instead."""


def not_fitted_error(message):
    loaded = sys.modules.get("sklearn.exceptions")
    return (_NotFittedError if loaded is None else loaded.NotFittedError)(message)


def warn_unconverged(message, stacklevel):
    """Warn of a solution that is not the one asked for; with scikit-learn loaded, by its ConvergenceWarning."""
    loaded = sys.modules.get("sklearn.exceptions")
    warnings.warn(message, UserWarning if loaded is None else loaded.ConvergenceWarning, stacklevel=stacklevel)


def clone(estimator):
    """An unfitted copy with the same parameters, of our estimators and of anything else that has `get_params`."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        try:
            return copy.deepcopy(estimator)
        except (TypeError, ValueError):
            return estimator  # what cannot be copied, such as a compiled function, is shared
    if hasattr(estimator, "__sklearn_clone__"):
        return estimator.__sklearn_clone__()
    return type(estimator)(**{name: clone(value) for name, value in estimator.get_params(deep=False).items()})


class only_if:
    """Decorator of a method that an estimator has only where condition(estimator) holds."""

    def __init__(self, condition):
        self.condition = condition

    def __call__(self, method):
        self.method = method
        return functools.update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self.method
        if not self.condition(estimator):
            raise AttributeError(f"{estimator!r} has no {self.method.__name__}")
        return types.MethodType(self.method, estimator)


class Estimator:
    """Parameters by name, and the checks that every estimator shares.

    A subclass states its parameters in `__init__`, each with a default, and does nothing there but
    `self._take(locals())`.
    """

    def _take(self, arguments):
        """Store the parameters, unchanged and unchecked, as the protocol wants it."""
        vars(self).update({name: value for name, value in arguments.items() if name not in ("self", "__class__")})

    @classmethod
    def _parameter_names(cls):
        parameters = list(inspect.signature(cls.__init__).parameters)[1:]
        return sorted(parameters)

    def get_params(self, deep=True):
        """Parameters by name; with `deep`, those of nested estimators too, as `name__parameter`."""
        params = {}
        for name in self._parameter_names():
            value = getattr(self, name)
            params[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
        return params

    def set_params(self, **params):
        """Set parameters by name (`name__parameter` reaches into a nested estimator); returns the estimator."""
        names = self._parameter_names()
        nested = {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names}.")
            if inner:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            inner = getattr(self, name)
            if not hasattr(inner, "set_params"):
                raise ValueError(
                    f"{name} of {self} is {inner!r}, which has no parameters such as {next(iter(values))!r}"
                )
            inner.set_params(**values)
        return self

    def __sklearn_clone__(self):
        # scikit-learn's own way fails where a parameter, such as a compiled metric, cannot be copied
        return type(self)(**{name: clone(value) for name, value in self.get_params(deep=False).items()})

    def __repr__(self):
        signature = inspect.signature(type(self).__init__).parameters
        changed = []
        for name in self._parameter_names():
            value, default = getattr(self, name), signature[name].default
            if value is not default and repr(value) != repr(default):
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self):
        # Called by scikit-learn alone, so it is there.
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=None,
            input_tags=InputTags(),
        )

    def _require_fitted(self):
        if not hasattr(self, "n_features_in_"):
            name = type(self).__name__
            raise not_fitted_error(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )

    def _fitted_columns(self, X, array):
        """The attributes that `fit` sets about the columns of X."""
        columns = {"n_features_in_": array.shape[1]}
        names = feature_names(X)
        if names is not None:
            columns["feature_names_in_"] = names
        return columns

    _as_rows = staticmethod(as_matrix)

    def _new_samples(self, X, as_rows=None):
        """X, checked against what was fitted, as an array, by `_as_rows` or the function given."""
        name = type(self).__name__
        fitted = getattr(self, "feature_names_in_", None)
        names = None if isinstance(X, np.ndarray) else feature_names(X)
        if fitted is not None and names is None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4
            )
        elif fitted is None and names is not None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=4)
        elif fitted is not None and not np.array_equal(fitted, names):
            raise ValueError(_different_names(fitted, names))
        X = (as_rows or self._as_rows)(X, name)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features as input"
            )
        return X

    def _check_state(self):
        """Refuse, as ValueError, fitted attributes that do not fit together, as an altered file may hold them.

        A subclass checks all that its kernels rely on: dtypes, lengths, and that each index lies in its array.
        """
        require_integer("n_features_in_", self.n_features_in_, 1)
        if hasattr(self, "feature_names_in_"):
            require_array("feature_names_in_", self.feature_names_in_, [object], (self.n_features_in_,))

    def _become(self, **attributes):
        """Take on the state of a new fit, in place of all that an earlier one left."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]:
            delattr(self, name)
        vars(self).update(attributes)
        return self


def _different_names(fitted, names):
    message = "The feature names should match those that were passed during fit.\n"
    unexpected = sorted(set(names) - set(fitted))
    missing = sorted(set(fitted) - set(names))
    for title, group in (
        ("Feature names unseen at fit time:\n", unexpected),
        ("Feature names seen at fit time, yet now missing:\n", missing),
    ):
        if group:
            message += title + "".join(f"- {name}\n" for name in group[:5]) + ("- ...\n" if len(group) > 5 else "")
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _like(y, predicted):
    """y in the shape of the predictions."""
    y = np.asarray(y)
    if y.size != predicted.size or len(y) != len(predicted):
        raise ValueError(f"y has shape {y.shape} and X {len(predicted)} rows; the shape {predicted.shape} is wanted")
    return y.reshape(predicted.shape)


class Classifier(Estimator):
    """An estimator that predicts labels."""

    _estimator_type = "classifier"

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        return tags

    def score(self, X, y, sample_weight=None):
        """Share (weighted by `sample_weight`) of rows whose labels are all predicted right."""
        predicted = self.predict(X)
        right = _like(y, predicted) == predicted
        sample_weight = as_sample_weight(sample_weight, len(predicted))
        return float(np.average(right.all(axis=1) if right.ndim == 2 else right, weights=sample_weight))


class Regressor(Estimator):
    """An estimator that predicts numbers."""

    _estimator_type = "regressor"

    def __sklearn_tags__(self):
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination R^2, averaged over the outputs; at most 1, 0 for predicting the mean.

        An output that is constant in y counts as 1 if it is predicted exactly, else 0. NaN for a single row.
        """
        predicted = self.predict(X)
        y = as_numbers(_like(y, predicted))
        sample_weight = as_sample_weight(sample_weight, len(y))
        residual = y - predicted
        if len(y) < 2:
            warnings.warn("R^2 is not defined for fewer than two rows", stacklevel=2)
            return float("nan")
        unexplained = np.average(residual**2, axis=0, weights=sample_weight)
        total = np.average((y - np.average(y, axis=0, weights=sample_weight)) ** 2, axis=0, weights=sample_weight)
        constant = total == 0
        r2 = np.where(constant, unexplained == 0, 1 - unexplained / np.where(constant, 1, total))
        return float(np.mean(r2))
