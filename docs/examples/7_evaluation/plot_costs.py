"""
Costs and thresholds
====================

A missed case costs ten, a false alarm one. ``best_threshold`` tries every threshold on rows that the model has not
been fitted on; with true probabilities the best one is 1 / 11. ``CostSensitiveClassifier`` decides by expected
costs instead.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import CostSensitiveClassifier, LogisticRegression, best_threshold, contingency_table

rng = np.random.default_rng(0)
y = (rng.uniform(size=6000) < 0.2).astype(int)
X = rng.normal(size=(6000, 3)) + 0.9 * y[:, None]
costs = [[0, 1], [10, 0]]  # cost_matrix[true, predicted]
model = LogisticRegression().fit(X[:2000], y[:2000])
validation = model.predict_proba(X[2000:4000])[:, 1]
threshold, _ = best_threshold(y[2000:4000], validation, costs)
by_cost = CostSensitiveClassifier(LogisticRegression(), cost_matrix=costs).fit(X[:2000], y[:2000])
print("cost of a new row, label by probability 1/2:", contingency_table(y[4000:], model.predict(X[4000:])).cost(costs))
print("label of least expected cost:", contingency_table(y[4000:], by_cost.predict(X[4000:])).cost(costs))

thresholds = np.linspace(0, 1, 201)
test = model.predict_proba(X[4000:])[:, 1]
mean = [np.mean(np.where(test >= t, 1 - y[4000:], 10 * y[4000:])) for t in thresholds]
figure, ax = plt.subplots()
ax.plot(thresholds, mean)
ax.axvline(threshold, color="C1", label=f"best on the validation rows: {threshold:.3f}")
ax.axvline(1 / 11, color="0.5", linestyle=":", label="1 / 11")
ax.set(xlabel="threshold", ylabel="mean cost of a test row", ylim=0)
ax.legend()
