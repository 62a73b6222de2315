"""
Which index pays in which dimension
===================================

The same 200,000 rows have 64 features, but lie near a subspace of fewer dimensions. All three ways to search return
the same neighbours to the last bit. A kd-tree of 64 coordinates loses its advantage within a few dimensions; the
filter of byte codes keeps it for longer, because it rotates the rows to their principal axes first. The times are
those of the machine that built this page.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from fastclf import NearestNeighbors


def seconds(model, queries):
    times = []
    for query in queries:
        started = time.perf_counter()
        model.kneighbors(query[None])
        times.append(time.perf_counter() - started)
    return np.median(times)


rng = np.random.default_rng(0)
dimensions = [1, 2, 4, 8, 16, 32]
found = {"brute": [], "filter": [], "tree": []}
for dimension in dimensions:
    basis = rng.normal(size=(dimension, 64)).astype(np.float32)
    X = rng.normal(size=(200_030, dimension)).astype(np.float32) @ basis
    X += 0.001 * rng.normal(size=X.shape).astype(np.float32)
    answers = []
    for name, times in found.items():
        model = NearestNeighbors(n_neighbors=10, algorithm=name, n_jobs=1).fit(X[30:])
        times.append(seconds(model, X[:30]))
        answers.append(model.kneighbors(X[:30]))
    assert all(np.array_equal(answer[1], answers[0][1]) for answer in answers)

figure, ax = plt.subplots()
for name, times in found.items():
    ax.loglog(dimensions, np.array(times) * 1e6, "o-", label=name)
ax.set(xlabel="dimensions of the subspace", ylabel="time of a query in microseconds")
ax.set(xticks=dimensions, xticklabels=dimensions)
ax.minorticks_off()
ax.legend()
