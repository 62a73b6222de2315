"""What predictions are worth: tables of counts, curves, probabilities, costs."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "ConfusionMatrixDisplay": "..display.curves",
        "ContingencyTable": "contingency",
        "CostSensitiveClassifier": "costs",
        "PrecisionRecallDisplay": "..display.curves",
        "RocCurveDisplay": "..display.curves",
        "auc": "curves",
        "average_precision_score": "curves",
        "best_threshold": "costs",
        "brier_score_loss": "curves",
        "calibration_curve": "curves",
        "contingency_table": "contingency",
        "cost_scorer": "scoring",
        "expected_cost": "costs",
        "log_loss": "curves",
        "precision_recall_curve": "curves",
        "roc_auc_score": "curves",
        "roc_curve": "curves",
    },
)
