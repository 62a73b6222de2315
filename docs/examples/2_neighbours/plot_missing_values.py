"""
Neighbours of rows with missing values
======================================

``metric="nan_euclidean"`` measures the coordinates that both rows have, and scales the sum up to all of them. The
error grows slowly while more and more of the values are removed from the rows and from the queries.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fastclf import KNeighborsClassifier

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.data))
train, test = order[:1200], order[1200:]
shares = np.linspace(0, 0.9, 10)
errors = []
for share in shares:
    X = np.where(rng.uniform(size=digits.data.shape) < share, np.nan, digits.data)
    model = KNeighborsClassifier(5, metric="nan_euclidean").fit(X[train], digits.target[train])
    errors.append(1 - model.score(X[test], digits.target[test]))

figure, ax = plt.subplots()
ax.plot(shares, errors, "o-")
ax.set(xlabel="share of the values that is missing", ylabel="error on 597 digits", ylim=0)
