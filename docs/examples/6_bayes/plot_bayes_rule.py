"""
The Bayes rule and its risk
===========================

Where the distributions are known, nothing has to be learned: the rule of least expected cost is computed. The
shaded area is the probability of a mistake. With equal costs it is the risk, below which no classifier can fall. A
higher price for one kind of mistake moves the border, and the risk counts each mistake with its price.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from fastclf import BayesClassifier

priors, densities = [0.6, 0.4], [stats.norm(-1, 1), stats.norm(1.5, 0.8)]
x = np.linspace(-4.5, 4.5, 1000)
joint = [prior * density.pdf(x) for prior, density in zip(priors, densities)]
figure, axes = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True)
for ax, costs in zip(axes, ([[0, 1], [1, 0]], [[0, 1], [10, 0]])):
    rule = BayesClassifier(priors, densities, cost_matrix=costs)
    decided = rule.predict(x[:, None])
    for k in (0, 1):
        ax.plot(x, joint[k], label=f"prior {priors[k]} times the density of class {k}")
    ax.fill_between(x, 0, np.choose(decided, [joint[1], joint[0]]), color="0.8", label="mistakes")
    borders = x[np.flatnonzero(np.diff(decided))]
    for border in borders:
        ax.axvline(border, color="k", linestyle=":")
    ax.set_title(f"costs {costs}: risk {rule.risk().value:.3f}, border at {', '.join(f'{b:.2f}' for b in borders)}")
axes[0].legend(fontsize=8, loc="upper right")
