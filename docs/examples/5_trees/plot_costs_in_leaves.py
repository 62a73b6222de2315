"""
Mistakes with prices in a tree
==============================

``cost_matrix`` gives each leaf the label of the least expected cost. The splits do not change; where a missed case
costs ten times a false alarm, leaves with one case in ten already answer "ill".
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import DecisionTreeClassifier
from fastclf.display import DecisionBoundaryDisplay

rng = np.random.default_rng(0)
y = np.where(rng.uniform(size=400) < 0.25, "ill", "well")
X = rng.normal(size=(400, 2)) + 1.4 * (y == "ill")[:, None]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True)
for ax, costs in zip(axes, (None, [[0, 10], [1, 0]])):  # cost_matrix[true, predicted], "ill" first
    model = DecisionTreeClassifier(min_samples_leaf=15, cost_matrix=costs).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    missed = np.sum((y == "ill") & (model.predict(X) == "well"))
    alarms = np.sum((y == "well") & (model.predict(X) == "ill"))
    ax.set_title(f"costs {costs or 'equal'}\n{missed} missed, {alarms} false alarms", fontsize=9)
