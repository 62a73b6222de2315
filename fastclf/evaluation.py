"""Honest error estimates: how often a classifier is wrong on rows that it has not seen, and what that costs."""

import numpy as np

from ._contingency import ContingencyTable, contingency_table
from ._costs import CostSensitiveClassifier, best_threshold, expected_cost
from ._cross_validation import (
    CrossValidation,
    CrossValidations,
    PairedComparison,
    cross_validate,
    paired_comparison,
)
from ._curves import (
    auc,
    average_precision_score,
    brier_score_loss,
    calibration_curve,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)
from ._scoring import cost_scorer
from ._splitters import (
    GroupKFold,
    HoldOut,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    as_y,
    stratified_folds,
    train_validation_test_split,
)
from ._tuning import Tuning, learning_curve, tune, validation_curve

__all__ = [
    "ContingencyTable",
    "CostSensitiveClassifier",
    "CrossValidation",
    "CrossValidations",
    "GroupKFold",
    "HoldOut",
    "KFold",
    "LeaveOneOut",
    "PairedComparison",
    "StratifiedKFold",
    "Tuning",
    "auc",
    "average_precision_score",
    "best_threshold",
    "brier_score_loss",
    "calibration_curve",
    "contingency_table",
    "cost_scorer",
    "cross_validate",
    "expected_cost",
    "learning_curve",
    "log_loss",
    "majority_error",
    "paired_comparison",
    "precision_recall_curve",
    "roc_auc_score",
    "roc_curve",
    "stratified_folds",
    "train_validation_test_split",
    "tune",
    "validation_curve",
]


def majority_error(y, folds=None):
    """Error of always answering the most frequent class: what a classifier has to beat.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. Of equally frequent classes the first in sorted order is answered.
    folds : iterable of (train, test), optional
        The class is then counted on the train rows and the error on the test rows, averaged over the folds,
        as :func:`cross_validate` does. By default both are taken from all of y.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf.evaluation import majority_error
    >>> majority_error(["ham", "ham", "ham", "spam"])
    0.25
    """
    _, codes = np.unique(as_y(y), return_inverse=True)
    if folds is None:
        folds = [(slice(None), slice(None))]
    return float(np.mean([np.mean(codes[test] != np.bincount(codes[train]).argmax()) for train, test in folds]))
