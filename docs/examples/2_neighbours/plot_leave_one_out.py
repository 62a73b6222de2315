"""
The error of k-NN for every k
=============================

``leave_one_out(k_max)`` gives the leave-one-out error for each number of neighbours from 1 to ``k_max``, all of
them from one search. Below k = 3 the vote follows single noisy rows; with hundreds of neighbours it forgets where
the query is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from fastclf import KNeighborsClassifier, majority_error

figure, ax = plt.subplots()
for name, data in (("breast cancer", load_breast_cancer()), ("wine", load_wine())):
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    error = KNeighborsClassifier().fit(X, data.target).leave_one_out(len(X) - 1)
    k = np.arange(1, len(X))
    best = error.argmin()
    (line,) = ax.semilogx(k, error, label=f"{name}: least {error[best]:.1%} at k = {k[best]}")
    ax.plot(k[best], error[best], "o", color=line.get_color())
    ax.axhline(majority_error(data.target), color=line.get_color(), linestyle=":")
ax.set(xlabel="k", ylabel="leave-one-out error", title="dotted: the error of the most frequent class", ylim=0)
ax.legend()
