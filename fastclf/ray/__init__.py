"""Estimators on Ray: data of a cluster, with the answers of one machine to the last bit (needs `fastclf[ray]`)."""

import sys
from importlib import import_module
from importlib.util import find_spec

# {name of an estimator: the module of fastclf.dask that defines its class on Dask, whose tasks also run on Ray}
_MODULES = {
    name: module
    for module, names in {
        "centroid": "NearestCentroid",
        "linear": "LeastSquaresClassifier RidgeClassifier",
        "perceptron": "Perceptron",
        "neighbors": "KNeighborsClassifier KNeighborsDensity KNeighborsRegressor NearestNeighbors"
        " RadiusNeighborsClassifier RadiusNeighborsRegressor",
        "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB PoissonNB",
    }.items()
    for name in names.split()
}

__all__ = sorted([*_MODULES, "Rows"])


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("ray") is None:
        raise ImportError("fastclf.ray needs Ray: pip install 'fastclf[ray]'")
    if name == "Rows":
        value = import_module(f"{__name__}.rows").Rows
    else:
        on_dask = getattr(import_module(f"fastclf.dask.{_MODULES[name]}"), name)
        value = import_module(f"{__name__}.estimators").on_ray(on_dask, __name__)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__():
    return __all__
