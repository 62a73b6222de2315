"""
Nearest shrunken centroids
==========================

Most features of these rows are noise. ``shrink_threshold`` moves the centroid of each class towards the mean of all
rows, until the centroids are equal in features that do not differ between classes: fewer features decide, and fewer
mistakes are made.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import NearestCentroid, cross_validate

rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = rng.normal(size=(60, 1000))
X[:, :20] += rng.normal(size=(3, 20))[y]  # only 20 features tell the classes apart

thresholds = np.linspace(0.1, 4, 25)
errors, used = [], []
for threshold in thresholds:
    model = NearestCentroid(shrink_threshold=threshold)
    errors.append(cross_validate(model, X, y, cv=10).error)
    used.append(np.any(model.fit(X, y).deviations_ != 0, axis=0).sum())

figure, (top, bottom) = plt.subplots(2, 1, sharex=True)
top.plot(thresholds, errors, "o-")
top.set(ylabel="10-fold error")
bottom.semilogy(thresholds, used, "o-", color="C1")
bottom.axhline(20, linestyle=":", color="0.5")
bottom.set(xlabel="shrink_threshold", ylabel="features used")
