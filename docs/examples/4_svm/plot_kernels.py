"""
Four kernels on two spirals
===========================

A kernel chooses the space in which the separating hyperplane is sought. A linear kernel cannot follow the spirals,
a polynomial one does near the origin, and the width of the RBF kernel decides how far a support vector reaches.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import SVC
from fastclf.display import DecisionBoundaryDisplay

rng = np.random.default_rng(0)
t = np.sqrt(rng.uniform(0.05, 1, 300)) * 3 * np.pi
y = np.arange(300) % 2
X = np.column_stack([np.cos(t + np.pi * y), np.sin(t + np.pi * y)]) * t[:, None] / 5 + rng.normal(
    scale=0.07, size=(300, 2)
)
kernels = {
    "linear": {"kernel": "linear"},
    "polynomial, degree 5": {"kernel": "poly", "degree": 5, "coef0": 1},
    "RBF, gamma 0.5": {"gamma": 0.5},
    "RBF, gamma 20": {"gamma": 20},
}
figure, axes = plt.subplots(2, 2, figsize=(7, 6.6), sharex=True, sharey=True)
for ax, (name, parameters) in zip(axes.flat, kernels.items()):
    model = SVC(C=10, **parameters).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=200)
    ax.set_title(f"{name}: {len(model.support_)} support vectors", fontsize=9)
    ax.set(xlabel="", ylabel="")
    if ax.get_legend() is not None:
        ax.get_legend().remove()
