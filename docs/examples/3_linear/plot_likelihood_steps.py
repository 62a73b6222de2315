"""
Gradient ascent beside Newton's method
======================================

Both methods climb the same concave log likelihood. Plain gradient ascent, as textbooks write it, takes hundreds of
passes over the rows; with second derivatives a handful of steps is enough. The callback of ``fit`` receives the
objective of each step.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from fastclf import LogisticRegression

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
figure, ax = plt.subplots()
paths = {}
for solver in ("gradient", "lbfgs", "newton-cholesky"):
    values = []

    def watch(step, total, value, values=values):
        values.append(value)

    model = LogisticRegression(solver=solver, max_iter=1000, tol=1e-10, callback=watch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gradient ascent is not at the optimum after 1000 steps, and says so
        model.fit(X, data.target)
    paths[solver] = np.array(values)
least = min(values.min() for values in paths.values())
for solver, values in paths.items():
    ax.loglog(np.arange(1, len(values) + 1), values - least + 1e-12, ".-", label=solver)
ax.set(xlabel="step over all rows", ylabel="objective above the optimum", ylim=1e-12)
ax.legend()
