"""How wrong a model is on rows that it has not seen: folds, cross-validation, tuning, curves."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "CrossValidation": "cross_validation",
        "CrossValidations": "cross_validation",
        "GroupKFold": "folds",
        "HoldOut": "folds",
        "KFold": "folds",
        "LearningCurveDisplay": "..display.curves",
        "LeaveOneOut": "folds",
        "PairedComparison": "cross_validation",
        "StratifiedKFold": "folds",
        "Tuning": "tuning",
        "ValidationCurveDisplay": "..display.curves",
        "cross_validate": "cross_validation",
        "learning_curve": "tuning",
        "majority_error": "cross_validation",
        "paired_comparison": "cross_validation",
        "stratified_folds": "folds",
        "train_validation_test_split": "folds",
        "tune": "tuning",
        "validation_curve": "tuning",
    },
)
