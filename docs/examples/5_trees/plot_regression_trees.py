"""
Regression trees: means and medians
===================================

A tree predicts a constant in each leaf: the mean where splits reduce squared errors, the median where they reduce
absolute errors. A few outliers move means, not medians.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import DecisionTreeRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 150))[:, None]
y = np.sin(X[:, 0]) + rng.normal(scale=0.1, size=150)
y[rng.choice(150, 12, replace=False)] += 4

grid = np.linspace(0, 6, 1000)[:, None]
figure, ax = plt.subplots()
ax.plot(X[:, 0], y, ".", color="0.6")
for criterion in ("squared_error", "absolute_error"):
    model = DecisionTreeRegressor(criterion=criterion, max_leaf_nodes=8, min_samples_leaf=8).fit(X, y)
    ax.plot(grid[:, 0], model.predict(grid), label=criterion)
ax.plot(grid[:, 0], np.sin(grid[:, 0]), "k:", linewidth=1, label="without noise")
ax.legend()
