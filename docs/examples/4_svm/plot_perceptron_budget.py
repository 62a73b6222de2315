"""
A kernel perceptron with a budget
=================================

Each mistake of a kernel perceptron makes its row a support vector, and every prediction costs one kernel value for
each of them. ``budget`` limits their number: where one too many is found, the one with the smallest coefficients is
forgotten. The dots are medians over five orders of the rows: with too small a budget the last weights depend on the
order.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fastclf import KernelPerceptron

digits = load_digits()
X, y = digits.data / 16, digits.target >= 5
budgets = [20, 40, 80, 160, 320]
errors = []
for budget in budgets:
    models = [
        KernelPerceptron(gamma=0.5, budget=budget, max_iter=20, random_state=seed).fit(X[:1000], y[:1000])
        for seed in range(5)
    ]
    errors.append(np.median([1 - model.score(X[1000:], y[1000:]) for model in models]))
free = KernelPerceptron(gamma=0.5, random_state=0).fit(X[:1000], y[:1000])

figure, ax = plt.subplots()
ax.semilogx(budgets, errors, "o-", label="with a budget")
ax.axhline(
    1 - free.score(X[1000:], y[1000:]),
    linestyle="--",
    color="0.5",
    label=f"without: {len(free.support_)} support vectors",
)
ax.set(xlabel="support vectors allowed", ylabel="error on 797 digits", ylim=0, xticks=budgets, xticklabels=budgets)
ax.minorticks_off()
ax.legend()
