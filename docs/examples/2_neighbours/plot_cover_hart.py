r"""
How near nearest neighbours come to the least risk
==================================================

Two classes with normal densities at -1 and 1: the least risk :math:`R^*` of any rule is known. With ever more rows
the error of one neighbour lies between :math:`R^*` and :math:`2 R^* (1 - R^*) \le 2 R^*` (Cover and Hart 1967), and
that of k neighbours, k odd, below :math:`R^* + 1 / \sqrt{k e}` (Devroye, Gyorfi and Lugosi 1996, theorem 5.6).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from fastclf import BayesClassifier, KNeighborsClassifier

rule = BayesClassifier([0.5, 0.5], [stats.norm(-1), stats.norm(1)])
risk = rule.risk().value
(X, y), (queries, labels) = rule.sample(10_000, random_state=1), rule.sample(10_000, random_state=2)
K = np.array([1, 3, 5, 9, 15, 25, 51])
errors = [1 - KNeighborsClassifier(k).fit(X, y).score(queries, labels) for k in K]
print(f"R* {risk:.4f}, one neighbour {errors[0]:.4f}, 2 R* (1 - R*) {2 * risk * (1 - risk):.4f}")

figure, ax = plt.subplots()
ax.semilogx(K, risk + 1 / np.sqrt(K * np.e), ":", color="0.5", label=r"$R^* + 1/\sqrt{ke}$")
ax.axhline(2 * risk * (1 - risk), linestyle="--", color="0.5", label=r"$2R^*(1 - R^*)$")
ax.semilogx(K, errors, "o-", label="k neighbours among 10,000 rows")
ax.axhline(risk, color="0.5", label="$R^*$")
ax.set(xlabel="k", ylabel="error", xticks=K, xticklabels=K, ylim=(0, 2.6 * risk))
ax.minorticks_off()
ax.legend(loc="lower left")
