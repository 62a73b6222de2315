"""Estimators on Ray: data of a cluster, with the answers of one machine to the last bit (needs `fastclf[ray]`)."""

import sys
from importlib import import_module
from importlib.util import find_spec

# {name of an estimator: the module of fastclf.dask that defines its class on Dask, whose tasks also run on Ray}
_ESTIMATORS = {
    name: module
    for module, names in {
        "centroid": "NearestCentroid",
        "linear": "LeastSquaresClassifier RidgeClassifier",
        "logistic": "LogisticRegression",
        "perceptron": "Perceptron",
        "neighbors": "KNeighborsClassifier KNeighborsDensity KNeighborsRegressor NearestNeighbors"
        " RadiusNeighborsClassifier RadiusNeighborsRegressor",
        "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB PoissonNB",
        "svm": "LinearSVC SVC",
        "tree": "DecisionTreeClassifier DecisionTreeRegressor",
    }.items()
    for name in names.split()
}

# {public name that is no estimator: the module of fastclf.ray that defines it}
_OTHERS = {
    "Lazy": "lazy",
    "Rows": "rows",
    "cross_validate": "model_selection",
    "load": "estimators",
    "tune": "model_selection",
}

__all__ = sorted(_ESTIMATORS | _OTHERS)


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("ray") is None:
        raise ImportError("fastclf.ray needs Ray: pip install 'fastclf[ray]'")
    if name in _OTHERS:
        value = getattr(import_module(f"{__name__}.{_OTHERS[name]}"), name)
    else:
        on_dask = getattr(import_module(f"fastclf.dask.{_ESTIMATORS[name]}"), name)
        value = import_module(f"{__name__}.estimators").on_ray(on_dask, __name__)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__():
    return __all__
