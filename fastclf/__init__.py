"""Classical classifiers with compiled kernels: exact answers, fast, on plain NumPy arrays."""

__version__ = "0.1.0"

# Each public name and the module it is loaded from, when it is first asked for.
_ROOMS = {
    "BayesClassifier": "bayes_rule",
    "BayesOptimalClassifier": "bayes_rule",
    "BernoulliNB": "bayes",
    "CategoricalNB": "bayes",
    "ContingencyTable": "evaluation",
    "CostSensitiveClassifier": "evaluation",
    "DecisionTreeClassifier": "tree",
    "DecisionTreeRegressor": "tree",
    "DensityTree": "density_tree",
    "GaussianNB": "bayes",
    "GeneralisedLinearClassifier": "generalised",
    "GroupKFold": "evaluation",
    "HoldOut": "evaluation",
    "KFold": "evaluation",
    "KNeighborsClassifier": "neighbors",
    "KNeighborsDensity": "density",
    "KNeighborsRegressor": "neighbors",
    "KernelPerceptron": "kernel_perceptron",
    "LeastSquaresClassifier": "least_squares",
    "LeaveOneOut": "evaluation",
    "LinearSVC": "linear_svc",
    "LogisticRegression": "logistic",
    "MultinomialNB": "bayes",
    "NaiveBayes": "naive_bayes",
    "NearestCentroid": "centroid",
    "NearestNeighbors": "neighbors",
    "Nystroem": "features",
    "OneHotEncoder": "onehot",
    "Perceptron": "perceptron",
    "PoissonNB": "bayes",
    "PolynomialFeatures": "polynomial",
    "RBFSampler": "features",
    "SVC": "svm",
    "StratifiedKFold": "evaluation",
    "TableClassifier": "table",
    "auc": "evaluation",
    "average_precision_score": "evaluation",
    "best_threshold": "evaluation",
    "brier_score_loss": "evaluation",
    "calibration_curve": "evaluation",
    "contingency_table": "evaluation",
    "cost_scorer": "evaluation",
    "cross_validate": "evaluation",
    "embed": "embedding",
    "expected_cost": "evaluation",
    "export_c": "exporting",
    "export_onnx": "exporting",
    "get_include": "embedding",
    "learning_curve": "evaluation",
    "load": "storage",
    "log_loss": "evaluation",
    "majority_error": "evaluation",
    "paired_comparison": "evaluation",
    "precision_recall_curve": "evaluation",
    "roc_auc_score": "evaluation",
    "roc_curve": "evaluation",
    "save": "storage",
    "stratified_folds": "evaluation",
    "svm_path": "svm",
    "train_validation_test_split": "evaluation",
    "tune": "evaluation",
    "validation_curve": "evaluation",
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
