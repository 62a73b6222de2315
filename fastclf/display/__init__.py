"""Pictures of results and models; matplotlib is imported when one is drawn, not before."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "ComparisonDisplay": "comparison",
        "ConfusionMatrixDisplay": "curves",
        "DecisionBoundaryDisplay": "models",
        "LearningCurveDisplay": "curves",
        "PrecisionRecallDisplay": "curves",
        "PruningDisplay": "curves",
        "QueryCostDisplay": "curves",
        "RocCurveDisplay": "curves",
        "TreeDisplay": "models",
        "ValidationCurveDisplay": "curves",
        "comparison_figure": "comparison",
    },
)
