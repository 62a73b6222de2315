"""Decision trees, which try every threshold of every feature, and their rules as text and pictures."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "DecisionTreeClassifier": "classifier",
        "DecisionTreeRegressor": "regressor",
        "DensityTree": "density_tree",
        "export_graphviz": "text",
        "export_rules": "text",
        "export_text": "text",
        "plot_tree": "text",
        "rules": "text",
    },
)
