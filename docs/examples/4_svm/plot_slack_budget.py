"""
The margin by a budget of slack
===============================

``LinearSVC(budget=b)`` states the same problem in other words: the widest margin whose slacks add up to at most b.
The fit finds the C that belongs to the budget.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import LinearSVC

rng = np.random.default_rng(0)
y = np.repeat([-1, 1], 100)
X = rng.normal(size=(200, 2)) + 1.2 * y[:, None]
budgets = np.linspace(32, 140, 18)
models = [LinearSVC(loss="hinge", budget=b, intercept_scaling=None, tol=1e-6).fit(X, y) for b in budgets]
spent = [np.maximum(0, 1 - y * model.decision_function(X)).sum() for model in models]

figure, axes = plt.subplots(1, 3, figsize=(9, 3))
axes[0].plot(budgets, spent, "o-")
axes[0].set(xlabel="budget", ylabel="sum of the slacks")
axes[1].plot(budgets, [1 / np.linalg.norm(model.coef_) for model in models], "o-", color="C1")
axes[1].set(xlabel="budget", ylabel="margin 1 / |w|")
axes[2].semilogy(budgets, [model.C_[0] for model in models], "o-", color="C2")
axes[2].set(xlabel="budget", ylabel="C found")
