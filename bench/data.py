"""The data of the benchmarks: generated from fixed seeds, or read from the data folder where it exists."""

import functools
import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("FASTCLF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
_ROWS = 1 << 16  # generated at a time


@functools.lru_cache(maxsize=1)
def clustered(n, n_queries, d=128, dtype="float32"):
    """X (n, d) and queries (n_queries, d) of intrinsic dimension 20: the set called A at n = 1M, d = 128.

    500 Gaussian clusters in 20 dimensions, centres N(0, 2^2), mapped by a random 20 x d matrix, plus 0.3 N(0, 1).
    """
    rng = np.random.default_rng(20)
    centres = 2 * rng.standard_normal((500, 20), dtype=np.float32)
    basis = rng.standard_normal((20, d), dtype=np.float32)

    def draw(rows):
        out = np.empty((rows, d), dtype=dtype)
        for start in range(0, rows, _ROWS):
            block = out[start : start + _ROWS]
            inner = centres[rng.integers(500, size=len(block))]
            inner += rng.standard_normal(inner.shape, dtype=np.float32)
            block[:] = inner @ basis
            block += np.float32(0.3) * rng.standard_normal(block.shape, dtype=np.float32)
        return out

    queries = draw(n_queries)
    return draw(n), queries


@functools.lru_cache(maxsize=1)
def iid(n, n_queries, d=128, dtype="float32"):
    """X (n, d) and queries (n_queries, d), standard normal: no structure that a search could use."""
    rng = np.random.default_rng(128)
    queries = rng.standard_normal((n_queries, d), dtype=dtype)
    return rng.standard_normal((n, d), dtype=dtype), queries


def usps():
    """X_train (7291, 256) float32, y_train, X_test (2007, 256) float32, y_test: USPS digits, or a set of that shape."""
    try:
        with np.load(FOLDER / "usps.npz") as file:
            return file["X_train"], file["y_train"], file["X_test"], file["y_test"]
    except FileNotFoundError:
        X, y = _ten_clusters(7291 + 2007, 256)
        return X[:7291], y[:7291], X[7291:], y[7291:]


def mnist10k():
    """X (10000, 784) float32 in 0..255 and y: MNIST's test digits, or a set of that shape."""
    try:
        with np.load(FOLDER / "mnist10k.npz") as file:
            return file["X"].astype(np.float32), file["y"]
    except FileNotFoundError:
        return _ten_clusters(10_000, 784)


def _ten_clusters(n, d):
    rng = np.random.default_rng(10)
    y = rng.integers(10, size=n)
    centres = rng.random((10, d), dtype=np.float32)
    return np.clip(centres[y] + rng.normal(0, 0.5, (n, d)), 0, 1).astype(np.float32), y
