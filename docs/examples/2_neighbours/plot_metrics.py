"""
The metric draws the borders
============================

One nearest neighbour under five metrics: the cells of ten rows. Under the Euclidean metric borders are straight lines;
under the others they bend, and the cosine metric depends on directions only.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import KNeighborsClassifier

rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, (10, 2))
x, y = np.meshgrid(np.linspace(-1.2, 1.2, 300), np.linspace(-1.2, 1.2, 300))
metrics = {
    "euclidean": {},
    "manhattan": {"metric": "manhattan"},
    "chebyshev": {"metric": "chebyshev"},
    "minkowski, p = 0.5": {"p": 0.5},
    "euclidean, weights 1 and 9": {"metric_params": {"w": [1, 9]}},
    "cosine": {"metric": "cosine"},
}
figure, axes = plt.subplots(2, 3, figsize=(8, 5.4), sharex=True, sharey=True)
for ax, (name, parameters) in zip(axes.flat, metrics.items()):
    model = KNeighborsClassifier(1, **parameters).fit(X, np.arange(10))
    cells = model.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    ax.imshow(cells, extent=(-1.2, 1.2, -1.2, 1.2), origin="lower", cmap="tab10", alpha=0.5)
    ax.plot(*X.T, "k.")
    ax.set_title(name, fontsize=9)
