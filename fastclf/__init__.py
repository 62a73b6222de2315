"""Classical classifiers with compiled kernels: exact answers, fast, on plain NumPy arrays."""

__version__ = "0.1.0"

# Each public name and the module it is loaded from, when it is first asked for.
_ROOMS = {
    "BayesClassifier": "bayes_rule",
    "BayesOptimalClassifier": "bayes_rule",
    "BernoulliNB": "bayes",
    "CategoricalNB": "bayes",
    "DecisionTreeClassifier": "tree",
    "DecisionTreeRegressor": "tree",
    "GaussianNB": "bayes",
    "GeneralisedLinearClassifier": "generalised",
    "KNeighborsClassifier": "neighbors",
    "KNeighborsDensity": "density",
    "KNeighborsRegressor": "neighbors",
    "LeastSquaresClassifier": "least_squares",
    "LogisticRegression": "logistic",
    "MultinomialNB": "bayes",
    "NaiveBayes": "naive_bayes",
    "NearestCentroid": "centroid",
    "NearestNeighbors": "neighbors",
    "Nystroem": "features",
    "OneHotEncoder": "onehot",
    "Perceptron": "perceptron",
    "PoissonNB": "bayes",
    "PolynomialFeatures": "features",
    "RBFSampler": "features",
    "SVC": "svm",
    "cross_validate": "evaluation",
    "embed": "embedding",
    "export_c": "exporting",
    "export_onnx": "exporting",
    "get_include": "embedding",
    "load": "storage",
    "save": "storage",
    "svm_path": "svm",
}

__all__ = sorted([*_ROOMS, "__version__"])


def __getattr__(name):
    if name not in _ROOMS:
        raise AttributeError(f"module 'fastclf' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_ROOMS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
