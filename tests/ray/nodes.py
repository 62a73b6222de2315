"""A Ray of two nodes with one processor each, as the tests of `tests/dask` need a cluster."""

import sys
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

import fastclf.ray
from fastclf.ray.places import RayPlaces

_NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}

# By default, Ray tells after 15 s that a node is dead.
_CONFIG = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


def part_of(array, start, stop):
    return array.iloc[start:stop] if hasattr(array, "iloc") else array[start:stop]


def cut(array, sizes):
    """An array or data frame as Rows, whose partitions tasks return, so that they can be made again."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    whole = ray.put(array)
    part = ray.remote(part_of).options(max_retries=-1, num_cpus=1, scheduling_strategy="SPREAD")
    return fastclf.ray.Rows([part.remote(whole, int(i), int(j)) for i, j in pairwise(starts)])


class OnRay:
    """What tests need of a kind of cluster."""

    module, Places = fastclf.ray, RayPlaces

    def __init__(self, nodes):
        self._nodes = nodes

    @staticmethod
    def cut(array, sizes, columns=None):
        """An array as Rows with partitions of these lengths, which have all columns."""
        return cut(array, sizes)

    @staticmethod
    def table(frame, n):
        """A data frame, or a series of it, as Rows with n partitions, cut as Dask cuts it."""
        size = -(-len(frame) // n)
        return cut(frame, np.diff([min(size * i, len(frame)) for i in range(n + 1)]))

    @staticmethod
    def is_lazy(answer):
        return isinstance(answer, fastclf.ray.Rows)

    @contextmanager
    def killing(self, monkeypatch, number):
        """Within it, a node is killed while the client waits for the results of round `number`; another node joins."""
        plain_get, seen = RayPlaces.get, []

        def get(places, refs):
            if len(seen) == number:
                [node] = self._nodes.worker_nodes
                self._nodes.remove_node(node, allow_graceful=False)
                self._nodes.add_node(**_NODE)
            seen.append(1)
            return plain_get(places, refs)

        with monkeypatch.context() as patch:
            patch.setattr(RayPlaces, "get", get)
            yield seen
        assert len(seen) > number


@contextmanager
def two_nodes():
    """An OnRay, whose first node has the object store of this process."""
    # the workers cannot import test modules, so that functions of tests travel by value
    for name in [name for name in sys.modules if name.startswith("test_") or name in ("nodes", "clusters")]:
        ray.cloudpickle.register_pickle_by_value(sys.modules[name])
    nodes = Cluster(True, head_node_args=_NODE | {"include_dashboard": False, "_system_config": _CONFIG})
    try:
        nodes.add_node(**_NODE)
        ray.init(address=nodes.address, log_to_driver=False)
        yield OnRay(nodes)
    finally:
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture(scope="module")
def cluster():
    with two_nodes() as cluster:
        yield cluster
