"""
Three measures of impurity
==========================

For two classes, with p the share of one of them, the Gini index and the entropy are strictly concave, so that every
split which changes shares reduces them. The error rate is not: a split can make purer nodes without fewer mistakes, and
a tree that is grown by errors stops early. Each line below is drawn from the impurities that fitted trees report for
their roots.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import DecisionTreeClassifier

shares = np.linspace(0, 1, 51)
figure, ax = plt.subplots()
for criterion in ("gini", "entropy", "misclassification"):
    roots = []
    for share in shares:
        y = np.arange(100) < round(100 * share)
        roots.append(DecisionTreeClassifier(criterion=criterion).fit(np.arange(100.0)[:, None], y).tree_.impurity[0])
    ax.plot(shares, roots, label=criterion)
ax.set(xlabel="share of the second class", ylabel="impurity")
ax.legend()
