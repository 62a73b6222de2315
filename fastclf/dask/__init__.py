"""Estimators on Dask: data of a cluster, with the answers of one machine to the last bit (needs `fastclf[dask]`)."""

import sys
from importlib import import_module
from importlib.util import find_spec

_MODULES = {
    name: module
    for module, names in {
        "centroid": "NearestCentroid",
        "lazy": "Lazy",
        "linear": "LeastSquaresClassifier RidgeClassifier",
        "logistic": "LogisticRegression",
        "model_selection": "cross_validate tune",
        "neighbors": "KNeighborsClassifier KNeighborsDensity KNeighborsRegressor NearestNeighbors"
        " RadiusNeighborsClassifier RadiusNeighborsRegressor load",
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
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise ImportError("fastclf.dask needs Dask: pip install 'fastclf[dask]'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__():
    return __all__
