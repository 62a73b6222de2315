"""
Six distributions for one column
================================

Naive Bayes multiplies one density for each column. Which density fits is a choice: the column here is skewed and
has two bumps in one class. The curves are the probabilities of the class "late" that each choice leads to.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import NaiveBayes, cross_validate

rng = np.random.default_rng(0)
early = np.r_[rng.normal(4, 0.6, 300), rng.normal(9, 0.6, 300)]
late = rng.gamma(3, 2, 600)
X, y = np.r_[early, late][:, None], np.repeat(["early", "late"], 600)
grid = np.linspace(0, 16, 500)[:, None]

figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True)
for ax, name in zip(axes.flat, ("gaussian", "exponential", "histogram", "quantile", "mdl", "kernel")):
    model = NaiveBayes(name)
    error = cross_validate(model, X, y).error
    ax.plot(grid[:, 0], model.fit(X, y).predict_proba(grid)[:, 1])
    ax.plot(early, np.full(600, -0.04), "|", late, np.full(600, 1.04), "|", markersize=4, alpha=0.3)
    ax.set_title(f"{name}: 10-fold error {error:.1%}", fontsize=9)
axes[1, 1].set_xlabel("x")
