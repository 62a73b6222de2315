"""
A metric of your own, compiled
==============================

A metric can be any compiled function of two rows; here Numba makes one. It is called from all threads without the GIL.
The great-circle distance fulfils the triangle inequality, which ``triangle`` tells the search: most calls are then
saved.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from numba import carray, cfunc, types

from fastclf import NearestNeighbors

RADIUS = 6371.0  # the radius of the earth in kilometres


@cfunc(types.double(types.CPointer(types.double), types.CPointer(types.double), types.intp))
def great_circle(a, b, d):
    p, q = carray(a, 2), carray(b, 2)  # latitude, longitude in radians
    u = math.sin((p[0] - q[0]) / 2) ** 2
    v = math.cos(p[0]) * math.cos(q[0]) * math.sin((p[1] - q[1]) / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(min(1.0, u + v)))


rng = np.random.default_rng(0)
places = np.column_stack([np.arcsin(rng.uniform(-1, 1, 3000)), rng.uniform(-np.pi, np.pi, 3000)])
search = NearestNeighbors(n_neighbors=150, metric=great_circle, metric_params={"triangle": True}).fit(places)
query = np.radians([[70.0, 175.0]])  # near the date line
distances, indices = search.kneighbors(query)

latitude, longitude = np.degrees(places).T
figure, ax = plt.subplots(figsize=(7, 3.8))
ax.plot(longitude, latitude, ".", color="0.8", markersize=3)
points = ax.scatter(longitude[indices[0]], latitude[indices[0]], c=distances[0], s=12)
ax.plot(*np.degrees(query[0, ::-1]), "r*", markersize=12)
ax.set(xlabel="longitude", ylabel="latitude", title="the nearest places lie on both sides of the map")
figure.colorbar(points, label="kilometres")
