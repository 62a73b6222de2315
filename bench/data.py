"""Data for the benchmarks: generated from fixed seeds, or read from the data folder if it exists."""

import functools
import itertools
import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("FASTCLF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
_ROWS = 1 << 16  # the number of rows that are generated at a time


@functools.lru_cache(maxsize=1)
def clustered(n, n_queries, d=128, dtype="float32", inner=20):
    """X (n, d) and queries (n_queries, d) of intrinsic dimension `inner`; n = 1M, d = 128 is A of the figures.

    500 Gaussian clusters in `inner` dimensions, with centres N(0, 2^2), mapped by a random inner x d matrix; then 0.3
    N(0, 1) is added to each coordinate.
    """
    rng = np.random.default_rng(20)
    centres = 2 * rng.standard_normal((500, inner), dtype=np.float32)
    basis = rng.standard_normal((inner, d), dtype=np.float32)

    def draw(rows):
        out = np.empty((rows, d), dtype=dtype)
        for start in range(0, rows, _ROWS):
            block = out[start : start + _ROWS]
            points = centres[rng.integers(500, size=len(block))]
            points += rng.standard_normal(points.shape, dtype=np.float32)
            block[:] = points @ basis
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


def gaussian(n, n_queries, inner, stretch=1.0, d=128):
    """X (n, d) and queries (n_queries, d), float32: N(0, 1) in `inner` dimensions, rotated, plus 0.01 N(0, 1).

    Every 100th row of X is then multiplied by `stretch`.
    """
    rng = np.random.default_rng(inner)
    axes = np.linalg.qr(rng.standard_normal((d, inner)))[0].T.astype(np.float32)
    queries, X = (rng.standard_normal((size, inner), dtype=np.float32) @ axes for size in (n_queries, n))
    for rows in (queries, X):
        rows += np.float32(0.01) * rng.standard_normal(rows.shape, dtype=np.float32)
    X[::100] *= np.float32(stretch)
    return X, queries


@functools.lru_cache(maxsize=1)
def hyperplane(n, d, dtype="float64"):
    """X (n, d), standard normal, and labels 0 and 1 by a hyperplane through 0, with 5 % of the labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal(d) > 0).astype(np.int64)
    return X.astype(dtype, copy=False), np.where(rng.random(n) < 0.05, 1 - y, y)


def a9a():
    """X (32560, 123), SciPy's CSR of float64 ones, and y: the set a9a, or a generated one of the same shape."""
    from scipy.sparse import csr_matrix

    try:
        with np.load(FOLDER / "a9a.npz") as file:
            return csr_matrix(file["X_train"].astype(float)), file["y_train"]
    except FileNotFoundError:
        rng = np.random.default_rng(9)
        X = (rng.random((32560, 123)) < 0.11).astype(float)
        return csr_matrix(X), np.where(X @ rng.standard_normal(123) + rng.standard_normal(32560) > 0, 1, -1)


def a9a_test():
    """X (16281, 123), CSR of float64: the test rows of a9a, or generated ones."""
    from scipy.sparse import csr_matrix

    try:
        with np.load(FOLDER / "a9a.npz") as file:
            return csr_matrix(file["X_test"].astype(float))
    except FileNotFoundError:
        return a9a()[0][:16281]


def spambase():
    """X (4601, 57) float64, with columns of different scales, and y: the set spambase, or one of the same shape."""
    try:
        with np.load(FOLDER / "spambase.npz") as file:
            return file["X"].astype(float), file["y"]
    except FileNotFoundError:
        rng = np.random.default_rng(57)
        X = rng.exponential(np.geomspace(0.01, 100, 57), (4601, 57))
        return X, (np.log1p(X) @ rng.standard_normal(57) + rng.standard_normal(4601) > 0).astype(int)


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


@functools.lru_cache(maxsize=1)
def mnist_shifted():
    """X (247500, 784) and queries (100, 784), float32: 9900 digits, each shifted by -2..2 pixels in both directions.

    This is the set M of the published figures.
    """
    images, _ = mnist10k()
    X = np.empty((25, 9900, 28, 28), np.float32)
    for out, shift in zip(X, itertools.product(range(-2, 3), repeat=2)):
        out[:] = np.roll(images[:9900].reshape(-1, 28, 28), shift, axis=(1, 2))
    return X.reshape(-1, 784), images[9900:]


def _ten_clusters(n, d):
    rng = np.random.default_rng(10)
    y = rng.integers(10, size=n)
    centres = rng.random((10, d), dtype=np.float32)
    return np.clip(centres[y] + rng.normal(0, 0.5, (n, d)), 0, 1).astype(np.float32), y


def noisy(n, dtype="float32", d=30):
    """X (n, d), labels of which a tenth are flipped, and numeric targets: the same signal with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype)
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    labels = (signal > 0) ^ (rng.random(n) < 0.1)
    return X, labels.astype(int), signal + rng.standard_normal(n)
