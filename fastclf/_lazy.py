"""The public names. Each is loaded at its first use, so that the import of one estimator loads no other."""

import sys
from importlib import import_module

# The public names that each module defines. They are attributes of the package in whose folder the module is, and of
# fastclf.
_DEFINED = {
    "embedding.c_source": "export_c export_onnx",
    "embedding.handles": "embed get_include",
    "kernel_approximation.generalised": "GeneralisedLinearClassifier",
    "kernel_approximation.kernel_maps": "Nystroem RBFSampler",
    "linear_model.least_squares": "LeastSquaresClassifier",
    "linear_model.logistic": "LogisticRegression",
    "linear_model.logistic_cv": "LogisticRegressionCV",
    "linear_model.perceptron": "Perceptron",
    "linear_model.ridge": "RidgeClassifier RidgeClassifierCV",
    "metrics.areas": "average_precision_score roc_auc_score top_k_accuracy_score",
    "metrics.classification": "accuracy_score balanced_accuracy_score class_likelihood_ratios cohen_kappa_score"
    " confusion_matrix hamming_loss matthews_corrcoef multilabel_confusion_matrix zero_one_loss",
    "metrics.contingency": "ContingencyTable contingency_table",
    "metrics.costs": "CostSensitiveClassifier best_threshold expected_cost",
    "metrics.curves": "auc confusion_matrix_at_thresholds det_curve precision_recall_curve roc_curve",
    "metrics.probabilities": "brier_score_loss calibration_curve d2_brier_score d2_log_loss_score hinge_loss log_loss",
    "metrics.ranking": "coverage_error dcg_score label_ranking_average_precision_score label_ranking_loss"
    " metric_at_thresholds ndcg_score",
    "metrics.ratios": "classification_report f1_score fbeta_score jaccard_score precision_recall_fscore_support"
    " precision_score recall_score",
    "metrics.regression": "d2_absolute_error_score d2_pinball_score d2_tweedie_score explained_variance_score max_error"
    " mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance mean_pinball_loss mean_poisson_deviance"
    " mean_squared_error mean_squared_log_error mean_tweedie_deviance median_absolute_error r2_score"
    " root_mean_squared_error root_mean_squared_log_error",
    "metrics.scorers": "check_scoring get_scorer get_scorer_names make_scorer",
    "metrics.scoring": "cost_scorer",
    "model_selection.cross_validation": "cross_val_score cross_validate",
    "model_selection.curves": "learning_curve validation_curve",
    "model_selection.drawn_splits": "GroupShuffleSplit ShuffleSplit StratifiedShuffleSplit train_test_split",
    "model_selection.folds": "stratified_folds",
    "model_selection.left_out_splits": "LeaveOneGroupOut LeavePGroupsOut LeavePOut PredefinedSplit RepeatedKFold"
    " RepeatedStratifiedKFold TimeSeriesSplit",
    "model_selection.parameters": "ParameterGrid ParameterSampler",
    "model_selection.permutations": "permutation_test_score",
    "model_selection.predictions": "cross_val_predict",
    "model_selection.results": "majority_error paired_comparison",
    "model_selection.search": "GridSearchCV RandomizedSearchCV",
    "model_selection.splitters": "GroupKFold HoldOut KFold LeaveOneOut StratifiedKFold train_validation_test_split",
    "model_selection.stratified_groups": "StratifiedGroupKFold",
    "model_selection.thresholds": "FixedThresholdClassifier TunedThresholdClassifierCV",
    "model_selection.tuning": "tune",
    "naive_bayes.mixed": "NaiveBayes",
    "naive_bayes.rule": "BayesClassifier BayesOptimalClassifier",
    "naive_bayes.single": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB PoissonNB",
    "neighbors.centroid": "NearestCentroid",
    "neighbors.classifier": "KNeighborsClassifier",
    "neighbors.density": "KNeighborsDensity",
    "neighbors.graphs": "kneighbors_graph radius_neighbors_graph sort_graph_by_row_values",
    "neighbors.nearest": "NearestNeighbors",
    "neighbors.radius_classifier": "RadiusNeighborsClassifier",
    "neighbors.radius_regressor": "RadiusNeighborsRegressor",
    "neighbors.regressor": "KNeighborsRegressor",
    "neighbors.transformers": "KNeighborsTransformer RadiusNeighborsTransformer",
    "preprocessing.functions": "FunctionFeatures",
    "preprocessing.onehot": "OneHotEncoder",
    "preprocessing.polynomial": "PolynomialFeatures",
    "sklearn": "patch_sklearn unpatch_sklearn",
    "storage.file": "load save",
    "svm.kernel_perceptron": "KernelPerceptron",
    "svm.linear_svc": "LinearSVC",
    "svm.novikoff": "novikoff_bound",
    "svm.nu_svc": "NuSVC",
    "svm.svc": "SVC svm_path",
    "table": "TableClassifier",
    "tree.classifier": "DecisionTreeClassifier",
    "tree.density_tree": "DensityTree",
    "tree.regressor": "DecisionTreeRegressor",
}

# The public names that are attributes of a package such as fastclf.neighbors, but not of fastclf.
_IN_ITS_ROOM = {
    "display.binary": "CalibrationDisplay DetCurveDisplay PrecisionRecallDisplay RocCurveDisplay",
    "display.comparison": "ComparisonDisplay comparison_figure",
    "display.curves": "LearningCurveDisplay PruningDisplay QueryCostDisplay ValidationCurveDisplay",
    "display.matrix": "ConfusionMatrixDisplay",
    "display.models": "DecisionBoundaryDisplay TreeDisplay",
    "display.residuals": "PredictionErrorDisplay",
    "embedding.handles": "Embedded Function functions",
    "model_selection.folds": "check_cv",
    "model_selection.results": "CrossValidation CrossValidations PairedComparison",
    "model_selection.tuning": "Tuning",
    "svm.novikoff": "NovikoffBound",
    "tree.graph": "export_graphviz",
    "tree.picture": "plot_tree",
    "tree.text": "export_rules export_text rules",
}

# Public names that scikit-learn has in another package than fastclf; fastclf offers them in both packages.
_ELSEWHERE = {
    "calibration": "CalibrationDisplay calibration_curve",
    "inspection": "DecisionBoundaryDisplay",
    "metrics": "ConfusionMatrixDisplay DetCurveDisplay PrecisionRecallDisplay PredictionErrorDisplay RocCurveDisplay",
    "model_selection": "LearningCurveDisplay ValidationCurveDisplay",
}


def _by_name(*tables):
    """A dict {public name: the module that defines it}, from tables {module: its public names, with spaces between}."""
    return {name: module for table in tables for module, names in table.items() for name in names.split()}


_PUBLIC, _MODULES = _by_name(_DEFINED), _by_name(_DEFINED, _IN_ITS_ROOM)

# A dict {public name of fastclf: the package that defines it}.
ROOMS = {name: module.partition(".")[0] for name, module in sorted(_PUBLIC.items())}


def attach(package):
    """The functions `__getattr__` and `__dir__` and the list `__all__` of `package`, fastclf or one of its packages."""
    library, _, room = package.partition(".")
    if room:
        defined = {name for name, module in _MODULES.items() if module.startswith(f"{room}.")}
        names, packages = sorted({*defined, *_ELSEWHERE.get(room, "").split()}), ()
    else:
        names, packages = sorted(_PUBLIC), {*ROOMS.values(), "calibration", "display", "inspection"}

    def __getattr__(name):
        if name in packages:
            return import_module(f"{library}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{library}.{_MODULES[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: names, names
