"""The base of estimators on Dask: constructors, parameters, fits, and what is known after a fit."""

import asyncio
import functools
import inspect

from .._estimator import Estimator, clone
from .._exceptions import not_fitted_error
from .lazy import ROW_METHODS, lazily
from .partitions import is_collection, is_rows, require_kind
from .places import is_asynchronous, places_of

_CLIENT = """client : distributed.Client, default=None
    The cluster. None: within a task its cluster, otherwise Dask's default client."""


def constructor(plain, client=True):
    """The `__init__` of the class on a cluster: the parameters of the plain class and, if `client`, the client."""
    signature = inspect.signature(plain.__init__)
    if client:
        last = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        signature = signature.replace(parameters=[*signature.parameters.values(), last])

    def __init__(self, *args, **kwargs):
        taken = signature.bind(self, *args, **kwargs)
        taken.apply_defaults()
        own, *_ = taken.arguments
        vars(self).update({name: value for name, value in taken.arguments.items() if name != own})

    __init__.__signature__ = signature
    return __init__


def _answering(name, plain):
    """A method that passes X to the fitted estimator without Dask; the answer for a Dask collection is lazy."""
    documented = getattr(plain, name)

    @functools.wraps(documented)
    def method(self, X, **arguments):
        return lazily(self._known(), name)(X, **arguments)

    return method


def on_dask(plain, answers=ROW_METHODS):
    """A class decorator: the constructor, the documentation and the answers of a plain class, for its class on Dask."""

    def complete(cls):
        cls._plain, cls.__init__ = plain, constructor(plain)
        cls.__doc__ = (
            f"{cls.__doc__ or ''}\n\nParameters\n----------\n"
            f"Those of :class:`fastclf.{plain.__name__}`, and\n{_CLIENT}\n\n"
            f"Attributes\n----------\nThose of :class:`fastclf.{plain.__name__}`, as NumPy arrays with the same bits."
        )
        for name in answers:
            if hasattr(plain, name) and name not in vars(cls):
                setattr(cls, name, _answering(name, plain))
        return cls

    return complete


class OnDask:
    """The base of estimators on Dask. A subclass has a method _fit(places, X, y, sample_weight) -> fitted state.

    The fitted state is an object with the attributes of the plain estimator, usually the plain estimator itself.
    """

    _parameter_names = classmethod(Estimator._parameter_names.__func__)
    get_params, set_params, __repr__ = Estimator.get_params, Estimator.set_params, Estimator.__repr__

    @property
    def _estimator_type(self):
        return self._plain._estimator_type

    def _plain_unfitted(self):
        """An unfitted estimator of fastclf itself, without Dask, with the same parameters."""
        parameters = {name: clone(value) for name, value in self.get_params(deep=False).items() if name != "client"}
        return self._plain(**parameters)

    def _started(self):
        """An estimator of fastclf itself with the same parameters and, with `warm_start`, the state of the last fit."""
        model = self._plain_unfitted()
        if model.warm_start and "_fitted" in vars(self):
            return self.to_local().set_params(**model.get_params(deep=False))
        return model

    def __sklearn_clone__(self):
        client = {"client": self.client} if "client" in self.get_params(deep=False) else {}
        return type(self)(**self._plain_unfitted().get_params(deep=False), **client)

    def __getstate__(self):
        client = {"client": None} if "client" in vars(self) else {}
        return vars(self) | client  # a pickle leaves out the client, which cannot be sent to another process

    def fit(self, X, y=None, sample_weight=None):
        """Fit to the rows of collections.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Rows are numbered by the order of the partitions. X should be persisted, because several rounds read it.
        y : dask array or series of shape (n_samples,)
        sample_weight : dask array or series of shape (n_samples,), default=None

        Returns
        -------
        self
            If `client` is asynchronous, an awaitable of it.
        """
        return self._eagerly(self._fit_on, X, y, sample_weight)

    def _fit_on(self, places, X, y, sample_weight):
        require_kind(places, {"X": X, "y": y, "sample_weight": sample_weight})
        vars(self)["_fitted"] = self._fit(places, X, y, sample_weight)
        return self

    def _eagerly(self, f, *args):
        """The result of f(places, *args) on the client's workers; if the client is asynchronous, an awaitable of it."""

        def work():
            with places_of(self.client) as places:
                return f(places, *args)

        return asyncio.to_thread(work) if is_asynchronous(self.client) else work()

    def _known(self):
        if "_fitted" not in vars(self):
            name = type(self).__name__
            raise not_fitted_error(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )
        return self._fitted

    def __getattr__(self, name):
        if name.startswith("_") or "_fitted" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._fitted, name)

    def to_local(self):
        """The fitted plain estimator, with plain arrays."""
        return self._known().__sklearn_copy__() if hasattr(self._known(), "__sklearn_copy__") else _twin(self._known())

    def score(self, X, y, sample_weight=None):
        """The score of the plain estimator for arrays, and for collections the same, computed from lazy predictions."""
        if not is_collection(X):
            return self._known().score(X, y, sample_weight)
        values = self.predict(X), y, sample_weight
        if is_rows(X):
            predicted, *rest = (value.compute() if is_rows(value) else value for value in values)
        else:
            import dask

            predicted, *rest = dask.compute(*values)
        return _Answered(predicted, self._plain).score(None, *rest)


def _twin(model):
    twin = object.__new__(type(model))
    twin.__setstate__(model.__getstate__())
    return twin


class _Answered:
    """A stand-in for a fitted estimator whose predictions are known, for `score` of the class without Dask."""

    _is_ours = True

    def __init__(self, predicted, plain):
        self.predicted, self._score = predicted, inspect.unwrap(plain.score)

    def predict(self, X):
        return self.predicted

    def score(self, X, y, sample_weight):
        return self._score(self, X, y, sample_weight)
