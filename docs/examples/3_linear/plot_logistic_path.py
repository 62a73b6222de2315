"""
Logistic regression along C
===========================

A small C keeps all weights near 0; with a large C the likelihood alone decides. The dashed line is the choice of
the one-standard-error rule: the smallest C whose cross-validated error is within one standard error of the least.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from fastclf import LogisticRegression, tune

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
Cs = np.logspace(-4, 2, 25)
weights = np.array([LogisticRegression(C=C).fit(X, data.target).coef_[0] for C in Cs])
found = tune(LogisticRegression(), {"C": Cs}, X, data.target, rule="one_standard_error")

figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5.6))
top.semilogx(Cs, weights, linewidth=1)
top.set(ylabel="weights")
bottom.errorbar(Cs, 1 - found.mean_score, found.standard_error, fmt="o-", markersize=4, capsize=2)
bottom.set(xlabel="C", ylabel="10-fold error")
for ax in (top, bottom):
    ax.axvline(found.chosen_params["C"], color="0.5", linestyle="--")
