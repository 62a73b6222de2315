"""
The one-standard-error rule
===========================

The least cross-validated error is partly luck. The rule takes the simplest model whose error is within one standard
error of the least: here more neighbours. The search answers for all numbers of neighbours at once.
"""

from sklearn.datasets import load_breast_cancer

from fastclf import KNeighborsClassifier, tune
from fastclf.display import ValidationCurveDisplay

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
grid = {"n_neighbors": range(1, 61)}
found = tune(KNeighborsClassifier(), grid, X, data.target, rule="one_standard_error", outer=5)
print("least error:", found.best_params, " simplest near to it:", found.one_standard_error_params)
print(f"error of the choice, by folds that had no part in it: {found.outer.error:.3f}")
display = ValidationCurveDisplay.from_estimator(
    KNeighborsClassifier(), X, data.target, param_name="n_neighbors", param_range=range(1, 61), score_type="error"
)
