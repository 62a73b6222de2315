"""
The certificate of an optimum
=============================

A fit stops when the optimality conditions are violated by at most ``tol``. ``duality_gap_`` bounds from above how
far the objective is from the least possible one, so that a user need not trust the solver: the distance from the
best objective known is never larger. With a smaller ``tol`` Newton's method ends this fit, and what is left is
rounding.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fastclf import SVC

X, y = make_moons(3000, noise=0.3, random_state=0)
tolerances = np.logspace(0.5, -1.6, 15)
models = [SVC(C=1, gamma=1.0, tol=tol, kernel_dtype="float64").fit(X, y) for tol in tolerances]
best = SVC(C=1, gamma=1.0, tol=1e-8, kernel_dtype="float64").fit(X, y).dual_objective_[0]

figure, ax = plt.subplots()
ax.loglog(tolerances, [model.duality_gap_ for model in models], "o-", label="duality gap")
ax.loglog(tolerances, [model.violation_ for model in models], "s-", label="violation")
ax.loglog(
    tolerances,
    [max(best - model.dual_objective_[0], 1e-15) for model in models],
    "^-",
    label="distance from the optimum",
)
ax.invert_xaxis()
ax.set(xlabel="tol", ylim=1e-3)
ax.legend()
