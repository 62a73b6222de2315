"""
Naive Bayes of parts that are merged
====================================

The statistics of naive Bayes add up. Four parts of the rows, which may lie on four machines, are fitted apart;
``merge`` gives the model of all rows, with the same means and variances but for rounding.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fastclf import GaussianNB

digits = load_digits()
X, y = digits.data, digits.target
parts = [GaussianNB().fit(X[i::4], y[i::4]) for i in range(4)]
merged = parts[0]
for part in parts[1:]:
    merged = merged.merge(part)
whole = GaussianNB().fit(X, y)
difference = np.abs(merged.theta_ - whole.theta_).max()
print(f"largest difference of a mean: {difference:.1e}")
assert np.array_equal(merged.predict(X), whole.predict(X))

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2))
for ax, mean in zip(axes.flat, merged.theta_):
    ax.imshow(mean.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
