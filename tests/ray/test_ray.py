"""Estimators on Ray have the bits of the plain classes, for any partitions, also if a node dies (needs Ray)."""

import inspect
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest

import fastclf
import fastclf.ray

pytest.importorskip("ray.cluster_utils", reason="Ray has no wheels for every Python version and platform")
ray, RayPlaces = import_module("ray"), import_module("fastclf.ray.places").RayPlaces

pytestmark = pytest.mark.once

N = 6000
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (N, 4)).astype(np.float32)
Y = np.array(["ant", "bee", "cicada"])[RNG.integers(0, 3, N)]
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
NUMBERS = RNG.standard_normal(N)
QUERIES = RNG.integers(0, 9, (100, 4)) + RNG.integers(0, 2, (100, 4)) / 2
CUTS = {"even": [N // 2, N // 2], "seven": [857] * 6 + [858], "empty": [0, 1, 2000, 0, N - 2001]}


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes with one processor each."""
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    node = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def part_of(array, start, stop):
    return array[start:stop]


def cut(array, sizes):
    """An array as Rows, whose partitions tasks return, so that they can be made again."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    whole = ray.put(array)
    part = ray.remote(part_of).options(max_retries=-1, num_cpus=1, scheduling_strategy="SPREAD")
    return fastclf.ray.Rows([part.remote(whole, int(i), int(j)) for i, j in pairwise(starts)])


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if one.dtype == object:
        assert all(np.array_equal(*pair) for pair in zip(one.ravel(), other.ravel(), strict=True))
    else:
        assert one.tobytes() == other.tobytes()


def same_state(local, plain):
    assert vars(local).keys() == vars(plain).keys()
    for name in vars(plain):
        if name.endswith("_") and not isinstance(getattr(plain, name), (list, dict)):
            same_bits(getattr(local, name), getattr(plain, name))


def test_the_import_of_fastclf_does_not_import_ray():
    code = "import sys, fastclf, fastclf.ray, fastclf.dask; sys.exit('ray' in sys.modules or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ray_works_where_dask_is_not_imported():
    code = "import sys, fastclf.ray; fastclf.ray.GaussianNB, fastclf.ray.Rows; sys.exit('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [name for name in fastclf.ray.__all__ if name != "Rows"])
def test_constructors_are_those_of_the_plain_classes(name):
    known = inspect.signature(getattr(fastclf, name)).parameters
    ours = inspect.signature(getattr(fastclf.ray, name)).parameters
    assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in known.items()}


@pytest.mark.parametrize("kind", CUTS)
def test_sums_have_the_bits_of_the_plain_fit_for_any_partitions(cluster, kind):
    for name in ("GaussianNB", "MultinomialNB", "CategoricalNB", "NearestCentroid", "RidgeClassifier", "Perceptron"):
        rows, labels = (X.astype(np.int64) if name == "CategoricalNB" else X), cut(Y, CUTS["even"])
        options = {"order": "cyclic", "max_iter": 3, "tol": None} if name == "Perceptron" else {}
        plain = getattr(fastclf, name)(**options).fit(rows, Y, sample_weight=WEIGHT)
        weight = cut(WEIGHT, CUTS[kind])
        model = getattr(fastclf.ray, name)(**options).fit(cut(rows, CUTS[kind]), labels, sample_weight=weight)
        same_state(model.to_local(), plain)
        same_bits(model.predict(QUERIES.astype(rows.dtype)), plain.predict(QUERIES.astype(rows.dtype)))
        same_bits(model.predict(cut(rows, CUTS["empty"])).compute(), plain.predict(rows))


@pytest.mark.parametrize("kind", CUTS)
def test_neighbours_and_votes_are_those_of_one_machine(cluster, kind, tmp_path):
    rows, labels = cut(X, CUTS[kind]), cut(Y, CUTS["seven"])
    plain, model = fastclf.NearestNeighbors().fit(X), fastclf.ray.NearestNeighbors().fit(rows)
    for found, wanted in zip(model.kneighbors(QUERIES), plain.kneighbors(QUERIES)):
        same_bits(found, wanted)
    queries = cut(QUERIES, [30, 0, 70])
    plain = fastclf.KNeighborsClassifier(9, weights="distance").fit(X, Y, WEIGHT)
    model = fastclf.ray.KNeighborsClassifier(9, weights="distance").fit(rows, labels, cut(WEIGHT, [N]))
    same_bits(model.predict_proba(QUERIES), plain.predict_proba(QUERIES))
    same_bits(model.predict(queries).compute(), plain.predict(QUERIES))
    assert model.score(queries, cut(plain.predict(QUERIES), [100])) == 1
    plain = fastclf.RadiusNeighborsRegressor(2.0).fit(X, NUMBERS)
    model = fastclf.ray.RadiusNeighborsRegressor(2.0).fit(rows, cut(NUMBERS, CUTS["empty"]))
    same_bits(model.predict(QUERIES), plain.predict(QUERIES))
    same_bits(model.predict(queries).compute(), plain.predict(QUERIES))


def test_a_node_that_dies_in_any_round_and_one_that_joins_change_no_bit(cluster, monkeypatch):
    plain_get, seen = RayPlaces.get, []
    plain = fastclf.GaussianNB().fit(X, Y, WEIGHT)
    for number in (0, 1):
        seen.clear()

        def get(self, refs, number=number):
            if len(seen) == number:
                cluster.remove_node(sorted(cluster.worker_nodes, key=str)[0], allow_graceful=False)
                cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
            seen.append(1)
            return plain_get(self, refs)

        rows, labels, weight = (cut(array, CUTS["seven"]) for array in (X, Y, WEIGHT))
        with monkeypatch.context() as patch:
            patch.setattr(RayPlaces, "get", get)
            model = fastclf.ray.GaussianNB().fit(rows, labels, weight)
        assert len(seen) > number
        same_state(model.to_local(), plain)


def fit_in_a_task(sizes):
    return fastclf.ray.GaussianNB().fit(cut(X, sizes), cut(Y, sizes)).to_local()


def test_a_fit_inside_a_task_ends_with_the_same_bits(cluster):
    found = ray.get(ray.remote(fit_in_a_task).options(num_cpus=0).remote(CUTS["even"]))
    same_state(found, fastclf.GaussianNB().fit(X, Y))


def test_errors_of_tasks_are_told_as_they_are(cluster):
    bad = X.copy()
    bad[3000, 1] = np.nan
    # the test is repeated, because other tasks of the round may run or have ended when the error comes
    for _ in range(10):
        with pytest.raises(ValueError, match=r"^Input X contains NaN"):
            fastclf.ray.GaussianNB().fit(cut(bad, [2000, N - 2000]), cut(Y, [N]))
    with pytest.raises(TypeError, match=r"X is .*; fastclf\.ray\.Rows is wanted"):
        fastclf.ray.GaussianNB().fit(X, Y)
    with pytest.raises(TypeError, match=r"refs is .*; a list of ray.ObjectRef"):
        fastclf.ray.Rows([X])
