"""
Neighbours in a file that stays on disk
=======================================

A memory map is searched where it lies; no copy of it is made. ``save`` writes the fitted index, and ``load`` opens
it in milliseconds whatever its size, because the arrays of the file are memory maps again. Here the file has 100
MB; the same program searches files larger than memory.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fastclf import NearestNeighbors, load, save

folder = Path(tempfile.mkdtemp())
n, d = 400_000, 64
X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
rng = np.random.default_rng(0)
centres = rng.normal(scale=3, size=(50, d))
for start in range(0, n, 50_000):  # written in blocks, as data larger than memory would be
    X[start : start + 50_000] = centres[rng.integers(0, 50, 50_000)] + rng.normal(size=(50_000, d)) * np.geomspace(
        1, 0.1, d
    )
X.flush()
del X

rows = np.load(folder / "X.npy", mmap_mode="r")
seconds = {}


def clock(name, call):
    started = time.perf_counter()
    result = call()
    seconds[name] = time.perf_counter() - started
    return result


search = clock("fit", lambda: NearestNeighbors(n_neighbors=10).fit(rows))
clock("save", lambda: save(search, folder / "index.fclf"))
loaded = clock("load", lambda: load(folder / "index.fclf"))
queries = rows[:100] + np.float32(0.01)
found = clock("100 queries", lambda: loaded.kneighbors(queries))
assert np.array_equal(found[1][:, 0], np.arange(100))

figure, ax = plt.subplots(figsize=(6.4, 2.8))
ax.barh(list(seconds)[::-1], list(seconds.values())[::-1])
for name, value in seconds.items():
    ax.text(value, name, f" {value * 1e3:.1f} ms", va="center")
ax.set(xlabel="seconds", xlim=(0, 1.2 * max(seconds.values())))
