"""
A graph of all pairs within a radius
====================================

``radius_neighbors_graph`` returns a sparse matrix with an entry for each pair of rows whose distance is at most the
radius. Called without queries, it has no entry for a row and itself. The largest connected component grows suddenly
with the radius.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import connected_components

from fastclf import NearestNeighbors

X = np.random.default_rng(0).uniform(size=(400, 2))
search = NearestNeighbors().fit(X)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4))
for ax, radius in zip(axes, (0.04, 0.06, 0.08)):
    graph = search.radius_neighbors_graph(radius=radius)
    _, part = connected_components(graph, directed=False)
    largest = np.bincount(part).argmax()
    i, j = graph.nonzero()
    ax.add_collection(LineCollection(np.stack([X[i], X[j]], axis=1), color="0.7", linewidth=0.6))
    ax.scatter(*X.T, s=8, c=np.where(part == largest, "C1", "C0"), zorder=2)
    ax.set_title(f"radius {radius}: the largest part has {np.sum(part == largest)} rows", fontsize=8)
    ax.set(xticks=[], yticks=[], aspect="equal")
