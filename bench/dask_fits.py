"""Times of fastclf.dask on two workers of this machine, beside one process with two threads: python bench/dask_fits.py

An empty round; naive Bayes, least squares, logistic regression and a tree of 2M x 64, persisted; k-NN of 1M x 64 with
10,000 queries, in 2 partitions and in 64. With --scale 0.1 the numbers of rows are a tenth. Answers are compared bit
for bit before times are printed.
"""

import argparse
import os
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "2")

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import fastclf
import fastclf.dask
from fastclf.dask.places import DaskPlaces

# (name, parameters, wanted time beside one process, attributes whose bits are compared) of fits
FITS = [
    ("GaussianNB", {}, "1.3 x + 0.3 s", ["theta_", "var_"]),
    ("LeastSquaresClassifier", {}, "1.3 x + 0.3 s", ["coef_", "intercept_"]),
    ("LogisticRegression", {}, "1.5 x", ["coef_", "intercept_"]),
    ("DecisionTreeClassifier", {"max_depth": 8}, "no figure", ["feature_importances_"]),
]


def nothing():
    """The task of an empty round."""


def timed(call, rounds):
    """(the median seconds of `rounds` calls, the last result)."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - start)
    return median(seconds), found


def empty_round(client):
    places = DaskPlaces(client)

    def ask():
        places.get([places.call(nothing, near=place.address) for place in places.places()])

    ask()
    return timed(ask, 30)[0]


def drawn(n, n_parts, seed):
    """Standard normal rows that tasks draw, the same in any number of partitions that divides 64."""
    rows = da.random.default_rng(seed).standard_normal((n, 64), chunks=(n // 64, 64)).astype(np.float32)
    rows = rows.rechunk((n // n_parts, 64)).persist()
    wait(rows)
    return rows


def compare(name, options, wanted, attributes, here, there, rounds):
    """Print the times of a fit of arrays in one process and of a fit of collections."""
    one, plain = timed(lambda: getattr(fastclf, name)(n_jobs=2, **options).fit(*here), rounds)
    two, model = timed(lambda: getattr(fastclf.dask, name)(**options).fit(*there), rounds)
    same = all(getattr(model, each).tobytes() == getattr(plain, each).tobytes() for each in attributes)
    print(f"{name}, {len(here[0])} x 64: {two:.2f} s, one process {one:.2f} s (wanted: {wanted}); same bits: {same}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rng = np.random.default_rng(2)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        print(f"an empty round: {1e3 * empty_round(client):.1f} ms (wanted: 25)")

        n = int(2e6 * arguments.scale) // 64 * 64
        rows = drawn(n, 8, 0)
        labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0).persist()
        X, y = rows.compute(), labels.compute()
        for fit in FITS:
            compare(*fit, (X, y), (rows, labels), arguments.rounds)

        n = int(1e6 * arguments.scale) // 64 * 64
        X, queries = drawn(n, 2, 1).compute(), rng.standard_normal((10_000, 64), dtype=np.float32)
        index = fastclf.NearestNeighbors(n_neighbors=10, n_jobs=2).fit(X)
        one, wanted = timed(lambda: index.kneighbors(queries), arguments.rounds)
        for n_parts in (2, 64):
            rows = drawn(n, n_parts, 1)
            model = fastclf.dask.NearestNeighbors(n_neighbors=10).fit(rows)
            two, found = timed(lambda model=model: model.kneighbors(queries), arguments.rounds)
            same = all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted))
            print(
                f"k-NN, {n} x 64, 10,000 queries, {n_parts} partitions: {two:.2f} s, one process {one:.2f} s"
                f" (wanted: 1.25 x); same bits: {same}"
            )


if __name__ == "__main__":
    main()
