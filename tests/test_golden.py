"""Answers that were written down once, on x86-64: every processor, compiler and SIMD level gives them again.

The distances and neighbours of k-NN have the same bits everywhere, so that the file golden.json holds their checksums.
The exceptions are two metrics that call functions of the system's C library, whose last bits differ between systems.
Other estimators are held to a table of tolerances. Where answers are meant to change, this program writes the file
again, with fastclf installed and from another folder: python tests/test_golden.py
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import fastclf
from fastclf import NearestNeighbors

pytestmark = pytest.mark.levels

FILE = Path(__file__).with_name("golden.json")

# {metric: parameters}. Variances and covariances are given, because NumPy's own sums differ between processors.
METRICS = {
    "euclidean": {},
    "sqeuclidean": {},
    "manhattan": {},
    "chebyshev": {},
    "cosine": {},
    "dot": {},
    "hamming": {},
    "canberra": {},
    "braycurtis": {},
    "correlation": {},
    "seuclidean": {"metric_params": {"V": np.arange(1, 20) / 8}},
    "mahalanobis": {"metric_params": {"VI": np.eye(19) + np.ones((19, 19)) / 32}},
    "nan_euclidean": {},
    "jaccard": {},
    "dice": {},
    "yule": {},
    "sokalsneath": {},
}
ALGORITHMS = {
    "euclidean": ["brute", "kd_tree", "filter", "cells"],
    "manhattan": ["brute", "kd_tree", "filter"],
    "cosine": ["brute", "filter"],
}

# The relative difference that an estimator's answers may have on another processor: for an iterative solver its
# tolerance says how near two solutions are; for other estimators the difference is rounding.
TOLERANCES = {
    "minkowski": 1e-13,
    "haversine": 1e-13,
    "GaussianNB": 1e-9,
    "LogisticRegression": 1e-6,
    "RidgeClassifier": 1e-8,
    "LinearSVC": 1e-3,
    "SVC": 1e-3,
    "Perceptron": 1e-9,
    "DecisionTreeClassifier": 1e-12,
    "NearestCentroid": 1e-9,
}


def numbers(n, d, dtype=np.float64, seed=1):
    """An n by d array of multiples of 1/64 between -16 and 16: the upper bits of splitmix64 hashes."""
    with np.errstate(over="ignore"):
        z = (np.arange(n * d, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (((z >> np.uint64(53)).astype(np.int64) - 1024) / 64).reshape(n, d).astype(dtype)


def rows(metric, dtype, n=1500):
    """Rows for a metric, among them some that are equal, and queries."""
    X = numbers(n + 40, 19, dtype)
    X[100:130] = X[:30]
    if metric in ("hamming", "jaccard", "dice", "yule", "sokalsneath"):
        X = (X > 0).astype(dtype)
    if metric == "nan_euclidean":
        X[numbers(*X.shape, seed=2) > 12] = np.nan
    if metric == "haversine":
        X = X[:, :2] / 16
    return X[40:], X[:40]


def cases():
    for metric in METRICS:
        for dtype in ("float32", "float64"):
            for algorithm in ALGORITHMS.get(metric, ["auto"]):
                yield f"{metric} {algorithm} {dtype}"


def nearest(case):
    """The checksum of the distances and indices of a case's neighbours."""
    metric, algorithm, dtype = case.split()
    X, queries = rows(metric, np.dtype(dtype))
    model = NearestNeighbors(n_neighbors=12, metric=metric, algorithm=algorithm, n_jobs=2, **METRICS[metric]).fit(X)
    digest = hashlib.sha256()
    for batch in (queries, queries[:1]):
        distances, indices = model.kneighbors(batch)
        digest.update(np.ascontiguousarray(distances, "<f8").tobytes() + np.ascontiguousarray(indices, "<i8").tobytes())
    return digest.hexdigest()


def labels(X):
    return np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1] * X[:, 2] / 16 > 0).astype(int) + (X[:, 3] > 8)]


def answers(name):
    """Numbers that an estimator gives for 20 rows."""
    X, queries = rows("euclidean", np.float64, 600)
    queries = queries[:20]
    if name == "minkowski":
        return NearestNeighbors(metric="minkowski", p=3).fit(X).kneighbors(queries)[0]
    if name == "haversine":
        X, queries = rows("haversine", np.float64)
        return NearestNeighbors(metric="haversine").fit(X).kneighbors(queries[:20])[0]
    # at the default tol, methods that approach the optimum from other sides differ by 1e-3
    model = getattr(fastclf, name)(**({"tol": 1e-9} if name == "LogisticRegression" else {}))
    model.fit(X / 16, labels(X))
    if hasattr(model, "decision_function"):
        return model.decision_function(queries / 16)
    return model.predict_proba(queries / 16)


@pytest.fixture(scope="module")
def golden():
    return json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("case", list(cases()))
def test_neighbours_have_the_bits_that_were_written_down(case, golden):
    assert nearest(case) == golden["bits"][case]


@pytest.mark.parametrize("name", TOLERANCES)
def test_answers_are_those_that_were_written_down_within_the_tolerance(name, golden):
    wanted = np.array(golden["numbers"][name])
    np.testing.assert_allclose(answers(name), wanted, rtol=TOLERANCES[name], atol=TOLERANCES[name])


if __name__ == "__main__":
    written = {
        "bits": {case: nearest(case) for case in cases()},
        "numbers": {name: np.asarray(answers(name)).tolist() for name in TOLERANCES},
    }
    FILE.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
