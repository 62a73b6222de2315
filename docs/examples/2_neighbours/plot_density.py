"""
Densities by neighbours and by a tree
=====================================

The same 2000 rows from two normal distributions, and the density that they were drawn from. The k-NN density
follows every bump, and its tails are too heavy to integrate to 1. The density tree is piecewise constant, is pruned
by cross-validation, and is a density.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from fastclf import DensityTree, KNeighborsDensity

parts = [stats.multivariate_normal([-1.5, 0], 0.4), stats.multivariate_normal([1, 0.5], [[1, 0.7], [0.7, 1]])]
X = np.vstack([part.rvs(1000, random_state=seed) for seed, part in enumerate(parts)])
x, y = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-3, 4, 200))
grid = np.column_stack([x.ravel(), y.ravel()])

tree = DensityTree(min_samples_leaf=10, bounds=[[-4, -3], [4, 4]]).fit(X[np.all((X > [-4, -3]) & (X < [4, 4]), axis=1)])
found = {
    "true density": np.mean([part.pdf(grid) for part in parts], axis=0),
    "50 nearest neighbours": np.exp(KNeighborsDensity(n_neighbors=50).fit(X).score_samples(grid)),
    f"density tree, {np.sum(tree.tree_.children_left < 0)} leaves": np.exp(tree.score_samples(grid)),
}
cell = (x[0, 1] - x[0, 0]) * (y[1, 0] - y[0, 0])
figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharey=True)
for ax, (name, density) in zip(axes, found.items()):
    ax.pcolormesh(x, y, density.reshape(x.shape), vmin=0, vmax=0.25, cmap="viridis", rasterized=True)
    ax.set_title(f"{name}\nmass in the box {density.sum() * cell:.2f}", fontsize=9)
