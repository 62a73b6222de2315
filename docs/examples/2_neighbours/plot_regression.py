"""
Regression by neighbours
========================

The mean of the k nearest targets is a step function. Weights 1 / distance let the curve go through every row. A
function of the distances, here the Epanechnikov kernel with the width of the farthest neighbour, gives a smooth
curve.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import KNeighborsRegressor


def epanechnikov(distances):
    return np.maximum(1 - (distances / (1.001 * distances[:, -1:])) ** 2, 0)


rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 80))[:, None]
y = np.sin(X[:, 0]) + rng.normal(scale=0.25, size=80)
grid = np.linspace(0, 10, 1000)[:, None]

figure, axes = plt.subplots(3, 1, figsize=(6.4, 6.4), sharex=True, sharey=True)
for ax, (name, weights) in zip(axes, [("uniform", "uniform"), ("1 / distance", "distance"), ("kernel", epanechnikov)]):
    model = KNeighborsRegressor(n_neighbors=12, weights=weights).fit(X, y)
    ax.plot(X[:, 0], y, ".", color="0.6")
    ax.plot(grid[:, 0], model.predict(grid))
    ax.set_title(f"weights: {name}, leave-one-out $R^2$ {model.score(None, y):.2f}")
