"""The base of all estimators: the methods and attributes that scikit-learn's tools expect, without scikit-learn."""

import copy
import functools
import inspect
import itertools
import types
from numbers import Real

import numpy as np

from ._exceptions import not_fitted_error, warn
from ._sklearn_bases import join, joins
from ._snapshot import ASSIGNED, is_fitted, mark_assigned, on_snapshots, tell_assigned
from ._state_table import DeclaredState, Names, Size, declare, has, where
from ._threads import aside_for_many
from ._validation import as_array, as_matrix, as_numbers, as_sample_weight, described, feature_names


def clone(estimator):
    """An unfitted copy, with the same parameters, of an estimator of this package or any object with `get_params`."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        try:
            return copy.deepcopy(estimator)
        except (TypeError, ValueError):
            return estimator  # an object that cannot be copied, such as a compiled function, is shared with the clone
    if hasattr(estimator, "__sklearn_clone__"):
        return estimator.__sklearn_clone__()
    return type(estimator)(**{name: clone(value) for name, value in estimator.get_params(deep=False).items()})


def variants(estimator, name, values):
    """Clones of the estimator, one for each value of the parameter `name`; if `name` is None, unchanged clones."""
    models = [clone(estimator) for _ in values]
    return models if name is None else [model.set_params(**{name: own(value)}) for model, value in zip(models, values)]


def own(value):
    """A parameter's value for one of several models: an estimator is cloned, because `set_params` may change it."""
    return clone(value) if hasattr(value, "get_params") and not isinstance(value, type) else value


def has_shortcuts(estimator):
    """Whether shortcuts for several fits may be used: the estimator's own class, not just a base, must have them."""
    return isinstance(estimator, Estimator) and type(estimator)._has_shortcuts


def path_parameters(estimator):
    """The names of the parameters of which an estimator tries several values by a shortcut; empty if it has none."""
    return estimator._path_parameters if has_shortcuts(estimator) else ()


def fit_each(estimator, name, values, X, y, shared=None):
    """A list with a fitted model for each value of a parameter, by the estimator's shortcut if it has one."""
    models = estimator._fit_path(name, values, X, y, shared)
    return [model.fit(X, y) for model in variants(estimator, name, values)] if models is None else models


# The attributes that scikit-learn adds to an estimator: requests for metadata, and the type of output of `transform`.
_REQUESTS = {"_metadata_request", "_sklearn_output_config"}


class only_if:
    """A decorator of a method that an estimator has only if condition(estimator) is true."""

    def __init__(self, condition):
        self.condition = condition

    def __call__(self, method):
        self.method = method
        return functools.update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self.method
        try:
            there = bool(self.condition(estimator))
        except (TypeError, ValueError):  # a parameter has a wrong value, about which `fit` raises an error
            there = False
        # an estimator that is a parameter of this one lacks an attribute that the condition reads
        except AttributeError as error:
            raise AttributeError(self._missing(estimator)) from error
        if not there:
            raise AttributeError(self._missing(estimator))
        return types.MethodType(self.method, estimator)

    def _missing(self, estimator):
        return f"This {type(estimator).__name__!r} has no attribute {self.method.__name__!r}"

    def on_snapshots(self, reads):
        """Make the method work on a snapshot, a copy of the estimator in its present state (`_snapshot.py`)."""
        self.method = reads(self.method)


class _NoConstraints:
    """`_parameter_constraints`, which scikit-learn reads: no constraints, because `fit` itself checks parameters."""

    def __get__(self, estimator, owner):
        return dict.fromkeys(owner._parameter_names(), "no_validation")


# The names of the parameters that may be arrays, lists, dicts, functions or objects; all others are numbers, strings or
# None.
_COMPOUND = {
    "Cs",
    "alpha",
    "alphas",
    "bounds",
    "callback",
    "categorical_features",
    "categories",
    "class_prior",
    "class_weight",
    "cost_matrix",
    "cv",
    "date_orders",
    "degree",
    "distributions",
    "drop",
    "dtype",
    "estimator",
    "evidence",
    "feature_map",
    "feature_name_combiner",
    "functions",
    "kernel",
    "kernel_params",
    "kernel_dtype",
    "l1_ratios",
    "metric",
    "metric_params",
    "min_categories",
    "model",
    "models",
    "monotonic_cst",
    "names",
    "outlier_label",
    "param_distributions",
    "param_grid",
    "pos_label",
    "prior",
    "priors",
    "random_state",
    "reading",
    "refit",
    "scoring",
    "thresholds",
    "weights",
}

# Pairs (parameter, value): values by which scikit-learn marks parameters that it is about to drop; they mean False.
_GIVEN_UP = {("probability", "deprecated")}

_SCALARS = (type(None), str, Real, np.bool_)


@functools.cache
def _types_of_parameters(cls):
    """(names of a class's bool parameters; {name of a parameter for numbers or strings: the wanted type in words})."""
    ours = next(each for each in cls.__mro__ if each.__module__.partition(".")[0] == __package__)
    parameters = inspect.signature(ours.__init__).parameters.values()
    switches = [each.name for each in parameters if isinstance(each.default, bool) and each.name not in _COMPOUND]
    scalars = [each for each in parameters if each.name not in {"self", *switches} | _COMPOUND]
    return switches, {
        each.name: "a number" if isinstance(each.default, Real) else "a number, a string or None" for each in scalars
    }


def _is_outside(cls):
    """Whether a class is not defined in this package."""
    return cls.__module__.partition(".")[0] != __package__


@joins("BaseEstimator")
class Estimator(DeclaredState):
    """The base of all estimators: parameters by name, and checks.

    A subclass declares its parameters in `__init__`, each with a default. Its `__init__` only calls
    `self._take(locals())`.

    Shortcuts: `cross_validate` and `tune` fit a clone for each value of a parameter and each fold, and let it predict
    the fold's test rows. A class with a faster algorithm for the same answers is declared with `shortcuts=True`, as in
    `class SVC(Classifier, shortcuts=True)`, and overrides those of `_path_parameters`, `_fit_path`, `_predict_path`,
    `_answers_without` and `_shared_columns` that it can speed up. A subclass of such a class may override anything; it
    is fitted in the loop unless it is declared with `shortcuts=True` itself.
    """

    _state_table = declare(
        n_features_in_=Size("n_features"),
        **where(has("feature_names_in_"), feature_names_in_=Names("n_features")),
    )

    __slots__ = (ASSIGNED,)

    # _is_ours: whether the class is defined in this package.
    # _fitted_names: the names of the attributes that fits of this class have set so far. A user's subclass shares the
    # set of its nearest base class in this package.
    _is_ours = True
    # _own_methods: the names that a user's subclass and its mixins define themselves; empty for this package's classes.
    _fitted_names = _own_methods = frozenset()

    _estimator_type = None  # scikit-learn's name of the kind of estimator, such as "classifier"; None: no kind

    _has_shortcuts = False

    _mark_of_fit = "n_features_in_"  # the name of an attribute that every fitted object has

    # whether `save` takes fitted objects of this class; the class must then be callable without arguments
    _can_be_saved = True

    _parameter_constraints = _NoConstraints()

    # The public methods that change the fitted state; all other public methods only read the state.
    _changing = frozenset(["fit", "partial_fit", "remove", "fit_transform"])

    # The names of the parameters of which `_fit_path` or `_answers_without` tries several values faster than fits do.
    _path_parameters = ()

    # Pairs (parameter, "larger" or "smaller"), which say which values make a simpler model; only for parameters that in
    # another estimator have the opposite direction under the same name.
    _simpler = ()

    def __init_subclass__(cls, *, shortcuts=False, **options):
        super().__init_subclass__(**options)
        cls._has_shortcuts = shortcuts
        cls._is_ours = not _is_outside(cls)
        outside = itertools.takewhile(_is_outside, cls.__mro__)
        cls._own_methods = frozenset(name for each in outside for name in vars(each))
        if cls._is_ours:
            cls._fitted_names = set()
            on_snapshots(cls)

    def __setattr__(self, name, value):
        if name == "feature_names_in_" and value is None:
            # None means "no names" to tools such as shap, which assign it
            vars(self).pop(name, None)
        else:
            super().__setattr__(name, value)
        tell_assigned(self, name)

    def __getstate__(self):
        return vars(self).copy()

    def __setstate__(self, state):
        join()
        vars(self).update(state)
        mark_assigned(self, fitted=True)  # the first method call on a copied or unpickled object checks all attributes

    def __delattr__(self, name):
        super().__delattr__(name)
        tell_assigned(self, name)

    def _fit_path(self, name, values, X, y, shared=None):
        """A new model for each value of a parameter, equal to the result of a `fit`; None if there is no faster way.

        `name` is one of `_path_parameters`. `values` is the user's list, which is unchecked and in any order. X and y
        are the train rows of a fold, in the form that `fit` takes; `shared` is the result of `_shared_columns` for
        these rows. If `shared` is given, `name` may be None with `values` of length 1; then a model with the
        estimator's present parameters is wanted.
        """
        return

    def _predict_path(self, models, X):
        """A list with an array of predictions, of shape (n_queries,), for each of the fitted models."""
        return [model.predict(X) for model in models]

    def _answers_without(self, name, values, X, y, fold):
        """For each value of a parameter, the prediction for each row by a `fit` to the rows of the other folds.

        A prediction array has shape (n_samples,). The result is None if a shortcut is not faster than fits, or might
        give other predictions. `name` and `values` are as in `_fit_path`; if `name` is None, the estimator's present
        parameters are used. X and y have all rows. `fold`, of shape (n_samples,), has the number of each row's fold;
        `_folds.py` has functions of such an array.
        """
        return

    def _shared_columns(self, X, threads):
        """Data that fits to different subsets of the rows of X share, computed once on `threads` threads; or None.

        The method `among(rows)` of the result, for ascending row numbers, gives the argument `shared` of a `_fit_path`
        for these rows. Estimators with the same `_shared_columns` share one result. X is an array, a sparse matrix or a
        table's `iloc`.
        """
        return

    def _take(self, arguments):
        """Store the parameters unchanged and unchecked, as scikit-learn's protocol requires."""
        join()
        vars(self).update({name: value for name, value in arguments.items() if name not in ("self", "__class__")})

    @classmethod
    def _parameter_names(cls):
        parameters = list(inspect.signature(cls.__init__).parameters)[1:]
        return sorted(parameters)

    def get_params(self, deep=True):
        """A dict of the parameters; with `deep`, also the parameters of nested estimators, as `name__parameter`."""
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
                    f"{name} of {self} is {described(inner)}, which has no parameters such as {next(iter(values))!r}"
                )
            inner.set_params(**values)
        return self

    def __sklearn_clone__(self):
        # scikit-learn's `clone` calls this method in place of its usual way, which fails if a parameter, such as a
        # compiled metric, cannot be copied
        twin = type(self)(**{name: clone(value) for name, value in self.get_params(deep=False).items()})
        for name in _REQUESTS & vars(self).keys():
            vars(twin)[name] = copy.deepcopy(vars(self)[name])
        return twin

    def __repr__(self):
        signature = inspect.signature(type(self).__init__).parameters
        changed = []
        for name in self._parameter_names():
            value, default = getattr(self, name), signature[name].default
            if value is not default and repr(value) != repr(default):
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self):
        # scikit-learn may be imported, because only scikit-learn calls this method
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind is not None),
            transformer_tags=None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            input_tags=InputTags(),
        )

    def _require_parameters(self):
        """Refuse parameters of wrong types: truth values must be bools, and numbers must compare with numbers.

        The types follow from the parameters' names and defaults, and are checked before a method reads any parameter.
        `fit` checks further conditions itself. A class in which another method than `fit` reads a parameter overrides
        this method to check the parameter's further conditions.
        """
        switches, scalars = _types_of_parameters(type(self))
        attributes = vars(self)
        for name in switches:
            value = attributes.get(name)
            if isinstance(value, str) and (name, value) in _GIVEN_UP:
                continue
            if not (isinstance(value, (bool, Real, np.bool_)) and value in (0, 1)):
                raise TypeError(f"{name} is {described(value)}; True or False is wanted")
        for name, wanted in scalars.items():
            if not isinstance(attributes.get(name), _SCALARS):
                raise TypeError(f"{name} is {described(attributes[name])}; {wanted} is wanted")

    def _adapt(self, attributes):
        """A hook for subclasses: change a snapshot's attributes, a dict, where users assign others than fits do."""

    def _require_fitted(self):
        if not hasattr(self, "n_features_in_"):
            name = type(self).__name__
            raise not_fitted_error(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )

    def _fitted_columns(self, X, array):
        """The attributes about the columns of X that `fit` sets, such as n_features_in_."""
        columns = {"n_features_in_": array.shape[1]}
        names = None if isinstance(X, np.ndarray) else feature_names(X)
        if names is not None:
            columns["feature_names_in_"] = names
        return columns

    _as_rows = staticmethod(as_matrix)

    def _new_samples(self, X, as_rows=None):
        """X as a matrix, after a check of its columns against those of `fit`; as_rows: the function that converts X."""
        name = type(self).__name__
        fitted = getattr(self, "feature_names_in_", None)
        names = None if isinstance(X, np.ndarray) else feature_names(X)
        if fitted is not None and names is None:
            warn(f"X does not have valid feature names, but {name} was fitted with feature names")
        elif fitted is None and names is not None:
            warn(f"X has feature names, but {name} was fitted without feature names")
        elif fitted is not None and not np.array_equal(fitted, names):
            raise ValueError(_different_names(fitted, names))
        X = (as_rows or self._as_rows)(X, name)
        if len(X.shape) != 2:
            raise ValueError(f"X has shape {X.shape}; (n_samples, n_features) is wanted")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features as input."
            )
        return X

    def _become(self, **attributes):
        """Replace the whole fitted state by the attributes of a new fit; returns the estimator."""
        self._fitted_names.update(attributes.keys() - vars(self).keys())
        for name in [name for name in vars(self) if name[-1] == "_" and is_fitted(type(self), name)]:
            del vars(self)[name]
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
    """y in the shape of the predictions; a y with another number of entries is refused."""
    y = as_array(y, "y")
    if y.ndim == 0 or y.size != predicted.size or len(y) != len(predicted):
        raise ValueError(f"y has shape {y.shape} for {len(predicted)} rows of X; shape {predicted.shape} is wanted")
    return y.reshape(predicted.shape)


@aside_for_many
def _share_right(y, predicted, sample_weight):
    """The weighted share of the rows whose labels are all predicted correctly."""
    right = _like(y, predicted) == predicted
    sample_weight = as_sample_weight(sample_weight, len(predicted))
    return float(np.average(right.all(axis=1) if right.ndim == 2 else right, weights=sample_weight))


@joins("ClassifierMixin")
class Classifier(Estimator):
    """An estimator that predicts labels."""

    _estimator_type = "classifier"

    def score(self, X, y, sample_weight=None):
        """The share (weighted by `sample_weight`) of the rows whose labels are all predicted correctly."""
        return _share_right(y, self.predict(X), sample_weight)


@joins("RegressorMixin")
class Regressor(Estimator):
    """An estimator that predicts numbers."""

    _estimator_type = "regressor"

    def score(self, X, y, sample_weight=None):
        """The coefficient of determination R^2, averaged over the outputs; at most 1, and 0 if the mean is predicted.

        An output that is constant in y counts as 1 if it is predicted exactly, otherwise as 0. The score of a single
        row is NaN.
        """
        return r_squared(y, self.predict(X), sample_weight)


@aside_for_many
def r_squared(y, predicted, sample_weight=None):
    """The coefficient of determination R^2 of predictions, weighted by `sample_weight`."""
    y = as_numbers(_like(y, predicted))
    sample_weight = as_sample_weight(sample_weight, len(y))
    residual = y - predicted
    if len(y) < 2:
        warn("R^2 is not defined for fewer than two rows")
        return float("nan")
    unexplained = np.average(residual**2, axis=0, weights=sample_weight)
    total = np.average((y - np.average(y, axis=0, weights=sample_weight)) ** 2, axis=0, weights=sample_weight)
    constant = total == 0
    r2 = np.where(constant, unexplained == 0, 1 - unexplained / np.where(constant, 1, total))
    return float(np.mean(r2))
