"""A cluster of two processes with one thread each, and cuts of rows into partitions.

A test that takes the fixture `cluster` uses nothing of Dask itself, so that `tests/ray` runs it on Ray.
"""

import os
import signal
import sys
from contextlib import contextmanager
from itertools import pairwise

import cloudpickle
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import fastclf.dask
from fastclf.dask.places import DaskPlaces


@contextmanager
def two_workers(n_workers=2):
    """A Client of a new LocalCluster."""
    # the workers cannot import test modules, so that functions of tests travel by value
    for name in [name for name in sys.modules if name.startswith("test_") or name == "clusters"]:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


class OnDask:
    """What tests need of a kind of cluster."""

    module, Places = fastclf.dask, DaskPlaces

    def __init__(self, client):
        self._client = client

    @staticmethod
    def cut(array, sizes, columns=None):
        """An array as a collection with partitions of these lengths; columns: how many of them a chunk has."""
        return cut(array, sizes, columns)

    @staticmethod
    def table(frame, n):
        """A data frame, or a series of it, as a collection with n partitions."""
        import dask.dataframe as dd  # not above: workers under a limit of memory import this module

        return dd.from_pandas(frame, npartitions=n, sort=False)

    @staticmethod
    def is_lazy(answer):
        return isinstance(answer, da.Array)

    def killing(self, monkeypatch, number):
        return killing(monkeypatch, self._client, number)


@pytest.fixture(scope="module")
def cluster(client):
    return OnDask(client)


def rounds(cluster, monkeypatch, fit):
    """The number of rounds of a fit."""
    plain_get, seen = cluster.Places.get, []
    with monkeypatch.context() as patch:
        patch.setattr(cluster.Places, "get", lambda self, refs: seen.append(1) or plain_get(self, refs))
        fit()
    return len(seen)


def cuts(n):
    """Lengths of partitions of n rows: 1, 2, 7 and 64 of about equal size, uneven ones, empty ones, some of one row."""
    even = {p: np.diff([n * i // p for i in range(p + 1)]).tolist() for p in (1, 2, 7, 64)}
    return {
        **{f"{p} partitions": sizes for p, sizes in even.items()},
        "uneven": [n // 9, n // 2, n - n // 9 - n // 2],
        "empty and of one row": [0, 1, n // 3, 0, 1, n - n // 3 - 2, 0],
    }


def cut(array, sizes, columns=None):
    """An array as a persisted dask array with partitions of these lengths; sparse ones stay sparse."""
    if hasattr(array, "tocsr"):
        starts = np.concatenate([[0], np.cumsum(sizes)])
        parts = [array[i:j] for i, j in pairwise(starts)]
        blocks = [da.from_array(np.array(i), chunks=()).reshape(1, 1) for i in range(len(parts))]
        index = da.concatenate(blocks, axis=0)
        found = index.map_blocks(
            lambda block, parts: parts[int(block[0, 0])],
            parts,
            chunks=(tuple(sizes), (array.shape[1],)),
            meta=array[:0],
        )
        return found.persist()
    chunks = (tuple(sizes), *((columns or size) for size in array.shape[1:]))
    return da.from_array(array, chunks=chunks).persist()


def same_bits(one, other, where=""):
    """Require equal types, shapes and bits of two values, in all nested parts."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name, value in one.items():
            same_bits(value, other[name], f"{where}[{name!r}]")
        return
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other)):
            same_bits(a, b, f"{where}[{i}]")
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype, where
    assert one.shape == other.shape, where
    if one.dtype == object:
        for i, (a, b) in enumerate(zip(one.ravel(), other.ravel())):
            same_bits(a, b, f"{where}[{i}]") if isinstance(a, np.ndarray) else None
        assert all(isinstance(a, np.ndarray) for a in one.ravel()) or (one == other).all(), where
    else:
        assert one.tobytes() == other.tobytes(), where


def same_state(local, plain):
    """Require that a model of `to_local` has the attributes of the plain model, with equal bits."""
    assert type(local) is type(plain)
    assert vars(local).keys() == vars(plain).keys()
    for name, value in vars(plain).items():
        if name.endswith("_") or name.startswith("_"):
            same_bits(getattr(local, name), value, name)


def age():
    """(the time at which this process was started, its number)."""
    import psutil

    return psutil.Process().create_time(), os.getpid()


@contextmanager
def killing(monkeypatch, client, number):
    """Within it, one worker is killed while the client waits for the results of round `number`."""
    plain_get, seen = DaskPlaces.get, []

    def get(self, refs):
        if len(seen) == number:
            # the oldest worker is killed: if a worker dies directly after its start, Dask does not start another one
            os.kill(min(client.run(age).values())[1], signal.SIGKILL)
        seen.append(len(refs))
        return plain_get(self, refs)

    with monkeypatch.context() as patch:
        patch.setattr(DaskPlaces, "get", get)
        yield seen
    client.wait_for_workers(2, timeout=120)
    assert len(seen) > number
