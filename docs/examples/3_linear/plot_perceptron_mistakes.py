r"""
The perceptron's mistakes against Novikoff's bound
==================================================

Rows within a ball of radius :math:`\rho` that a hyperplane separates with the margin :math:`\gamma` cause at most
:math:`(\rho / \gamma)^2` mistakes, in any order and any number of dimensions. Each dot is a drawn set of rows; none
lies above the line. The bound holds for the margin of every hyperplane that separates the rows: ``mistake_bound_``
takes the one found, so that a fit carries its own proof; here the hyperplane that labelled the rows gives a sharper
one.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import Perceptron

rng = np.random.default_rng(0)
mistakes, found, known = [], [], []
while len(mistakes) < 300:
    X = rng.uniform(-1, 1, (100, 2))
    X1 = np.column_stack([X, np.ones(100)])
    w = rng.normal(size=3) * [1, 1, 0.3]
    score = X1 @ w / np.linalg.norm(w)
    keep = np.abs(score) > rng.uniform(0.05, 0.6)  # leaves a gap between the classes
    y = score[keep] > 0
    if 0 < y.sum() < len(y):
        model = Perceptron(order="shuffled", random_state=len(mistakes), max_iter=10_000).fit(X[keep], y)
        mistakes.append(model.n_mistakes_)
        found.append(model.mistake_bound_)
        radius, margin = np.linalg.norm(X1[keep], axis=1).max(), np.abs(score[keep]).min()
        known.append((radius / margin) ** 2)

assert np.all(np.array(mistakes) <= np.minimum(found, known))
figure, ax = plt.subplots()
ax.loglog(found, mistakes, ".", color="0.75", label="margin of the hyperplane found")
ax.loglog(known, mistakes, ".", label="margin of the hyperplane that labelled the rows")
ends = np.array([1, max(found)])
ax.loglog(ends, ends, color="0.5", label=r"mistakes $= (\rho / \gamma)^2$")
ax.set(xlabel=r"bound $(\rho / \gamma)^2$", ylabel="mistakes made")
ax.legend()
