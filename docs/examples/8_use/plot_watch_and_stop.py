"""
The progress of a fit, watched and stopped
==========================================

Fits that may take long have a ``callback``. Here it records the violation of the optimality conditions of a support
vector machine, and ends the fit once the violation is small enough for the purpose. Ctrl-C ends a fit within 0.2
seconds, too, and leaves the estimator as it was.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fastclf import SVC

X, y = make_moons(6000, noise=0.3, random_state=0)
seen = []


def watch(step, total, violation):
    seen.append((step, violation))
    return violation < 0.05  # True ends the fit


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that the fit did not converge is intended
    model = SVC(C=100, gamma=2.0, callback=watch, tol=1e-6).fit(X, y)
print(f"violation left: {model.violation_:.3f}, duality gap {model.duality_gap_:.3g}")
steps, violations = np.transpose(seen)
figure, ax = plt.subplots()
ax.semilogy(steps, violations, "o-")
ax.axhline(0.05, color="0.5", linestyle=":")
ax.set(xlabel="steps of two rows", ylabel="violation")
