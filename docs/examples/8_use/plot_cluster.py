"""
A cluster of two workers
========================

Each of two processes has about half of the rows. It adds up its own blocks of rows, and the client adds these sums in
the order of the rows, so that the model has the bits of a fit on one machine. In the picture a region has the colour of
the class that the model answers, and a row the colour of the worker that holds it.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster, wait

import fastclf
from fastclf.dask import GaussianNB
from fastclf.display import DecisionBoundaryDisplay

rng = np.random.default_rng(0)
n = 800
y = rng.integers(0, 2, n)
X = rng.normal(size=(n, 2)) * np.where(y[:, None] == 1, [1.6, 0.5], [0.7, 1.1]) + np.where(y[:, None] == 1, 1.2, -0.8)

if __name__ == "__main__":  # each worker is a process, which imports this file
    plain = fastclf.GaussianNB().fit(X, y)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        rows, labels = client.persist([da.from_array(X, chunks=(50, 2)), da.from_array(y, chunks=50)])
        wait([rows, labels])
        model = GaussianNB().fit(rows, labels)
        local = model.to_local()
        same = np.array_equal(local.theta_, plain.theta_) and np.array_equal(local.var_, plain.var_)
        workers = sorted(client.scheduler_info()["workers"])
        holders = client.who_has(rows)  # key of a partition -> addresses of the workers that hold it
        holder = [workers.index(holders[key][0]) for [key] in rows.__dask_keys__()]
    print(f"partitions on each worker: {np.bincount(holder, minlength=2)}, the same bits as one machine: {same}")

    figure, ax = plt.subplots()
    DecisionBoundaryDisplay.from_estimator(plain, X, ax=ax)
    for worker in range(2):
        of = np.repeat(np.array(holder) == worker, 50)
        ax.scatter(*X[of].T, s=12, zorder=3, color=("C2", "C4")[worker], label=f"rows of worker {worker + 1}")
    ax.legend(loc="upper left", frameon=True)
