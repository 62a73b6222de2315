"""
Margins and support vectors
===========================

The hard margin is the widest strip between two classes; the rows on its edges are the support vectors, and alone
decide. A soft margin of a small C is wider, and pays for the rows within it.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import SVC
from fastclf.display import DecisionBoundaryDisplay

rng = np.random.default_rng(4)
X = np.vstack([rng.normal([-1.6, -1], 0.7, (40, 2)), rng.normal([1.6, 1], 0.7, (40, 2))])
y = np.repeat(["no", "yes"], 40)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharex=True, sharey=True)
for ax, C in zip(axes, (np.inf, 1, 0.02)):
    model = SVC(kernel="linear", C=C).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(
        f"C = {C}: {len(model.support_)} support vectors\nhalf width of the strip {model.margin_[0]:.2f}", fontsize=9
    )
    ax.set(xlabel="", ylabel="")
    if ax is not axes[0] and ax.get_legend() is not None:
        ax.get_legend().remove()
