"""
Least squares pays for rows that are right by far
=================================================

The squared error also punishes scores that are far on the right side of the border. A cloud of such rows turns the line
of least squares, and moves the line between the centroids; logistic regression does not notice the cloud.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import LeastSquaresClassifier, LogisticRegression, NearestCentroid

rng = np.random.default_rng(1)
X = np.vstack([rng.normal([-1, 1], 0.6, (60, 2)), rng.normal([1, -1], 0.6, (60, 2))])
y = np.repeat([0, 1], 60)
far = rng.normal([6, -7], 0.6, (25, 2))
x = np.linspace(-4, 8, 2)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True)
for ax, (rows, labels) in zip(axes, [(X, y), (np.vstack([X, far]), np.r_[y, np.ones(25, int)])]):
    ax.scatter(*rows.T, c=np.where(labels, "C0", "C1"), s=8)
    for model, colour in ((LeastSquaresClassifier(), "C2"), (LogisticRegression(), "C3"), (NearestCentroid(), "C4")):
        model.fit(rows, labels)
        (a, b), c = model.coef_[0], model.intercept_[0]
        name = f"{type(model).__name__}: {np.sum(model.predict(rows) != labels)} wrong"
        ax.plot(x, -(a * x + c) / b, color=colour, label=name)
    ax.set(xlim=(-4, 8), ylim=(-9, 4))
    ax.legend(fontsize=8, loc="lower left")
axes[0].set_title("two clouds")
axes[1].set_title("and one far on the right side")
