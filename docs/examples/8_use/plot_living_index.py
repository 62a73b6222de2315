"""
Rows that come and go
=====================

An index of moving objects: each step adds the new rows by ``partial_fit`` and removes the oldest by ``remove``. At
every step a search gives the answers of an index that is fitted to the present rows. Row numbers count the present rows
in their order, so that an array of ids beside the index tells which object a number means.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import NearestNeighbors

rng = np.random.default_rng(0)
window, step = 2000, 100
rows = rng.normal(size=(window, 2))
ids = np.array([f"ship {i}" for i in range(window)])
search = NearestNeighbors(n_neighbors=1).fit(rows)
query = np.array([[1.0, 0.0]])
distances = []
for time in range(60):
    new = rng.normal(size=(step, 2)) + [0.05 * time, 0]
    search.partial_fit(new)
    search.remove(np.arange(step))  # the oldest rows have the first positions
    rows = np.vstack([rows, new])[step:]
    ids = np.r_[ids, [f"ship {window + step * time + i}" for i in range(step)]][step:]
    distance, index = search.kneighbors(query)
    expected = NearestNeighbors(n_neighbors=1).fit(rows).kneighbors(query)
    assert index[0, 0] == expected[1][0, 0]
    distances.append(distance[0, 0])
print("nearest at the end:", ids[index[0, 0]])

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
left.plot(*rows.T, ".", markersize=2)
left.plot(*query[0], "r*", markersize=10)
left.plot(*rows[index[0, 0]], "ko", fillstyle="none")
left.set_title("the rows at the end, the query, its neighbour", fontsize=9)
right.plot(distances)
right.set(xlabel="step", ylabel="distance of the nearest row")
