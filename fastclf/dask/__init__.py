"""Estimators on Dask: data of a cluster, with the answers of one machine to the last bit (needs `fastclf[dask]`)."""

import sys
from importlib import import_module

_MODULES = {
    name: module
    for module, names in {
        "centroid": "NearestCentroid",
        "lazy": "Lazy",
        "linear": "LeastSquaresClassifier RidgeClassifier",
        "logistic": "LogisticRegression",
        "model_selection": "cross_validate tune",
        "neighbors": "KNeighborsClassifier KNeighborsDensity KNeighborsRegressor NearestNeighbors load",
        "perceptron": "Perceptron",
        "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB PoissonNB",
        "svm": "LinearSVC SVC",
        "tree": "DecisionTreeClassifier DecisionTreeRegressor",
    }.items()
    for name in names.split()
}

__all__ = sorted(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise ImportError("fastclf.dask needs Dask: pip install 'fastclf[dask]'") from error
    value = getattr(module, name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__():
    return __all__
