"""
A classifier inside Numba code
==============================

``embed`` gives a handle of a fitted model that compiled code calls by pointer, without the GIL and without an
allocation. Here a compiled loop asks a tree for the labels of rows with measurement noise: how often does the noise
change the label? The loop makes three million calls, on all CPUs.
"""

import matplotlib.pyplot as plt
import numba
import numpy as np
from sklearn.datasets import make_moons

import fastclf
from fastclf.numba import classify, make_scratch


@numba.njit(nogil=True, parallel=True)
def share_of_ones(embedded, rows, noise):
    """For each row the share of noisy copies that are labelled 1."""
    shares = np.empty(len(rows))
    for i in numba.prange(len(rows)):
        row, code, scratch = np.empty((1, 2)), np.empty(1, np.int64), make_scratch(embedded)
        ones = 0
        for draw in range(len(noise)):
            row[0, 0] = rows[i, 0] + noise[draw, 0]
            row[0, 1] = rows[i, 1] + noise[draw, 1]
            classify(embedded, row, code, scratch)
            ones += code[0]
        shares[i] = ones / len(noise)
    return shares


X, y = make_moons(1000, noise=0.2, random_state=0)
model = fastclf.DecisionTreeClassifier(min_samples_leaf=10).fit(X, y)
handle = fastclf.embed(model)
x, z = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.2, 1.7, 100))
noise = np.random.default_rng(0).normal(scale=0.1, size=(250, 2))
shares = share_of_ones(handle, np.column_stack([x.ravel(), z.ravel()]), noise)

figure, ax = plt.subplots()
contours = ax.contourf(x, z, shares.reshape(x.shape), levels=np.linspace(0, 1, 11), cmap="RdYlBu")
ax.scatter(*X.T, c=np.where(y, "C0", "C1"), s=3)
figure.colorbar(contours, label="share of noisy copies with label 1")
