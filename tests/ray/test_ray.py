"""Estimators on Ray have the bits of the plain classes, for any partitions, also if a node dies (needs Ray)."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array
import numpy as np
import pytest

import fastclf
import fastclf.dask
import fastclf.ray

pytest.importorskip("ray.cluster_utils", reason="Ray has no wheels for every Python version and platform")
sys.path.append(str(Path(__file__).resolve().parents[1] / "dask"))  # for what the tests of both clusters share

import ray
from clusters import same_bits, same_state
from nodes import cluster, cut

from fastclf.dask.partitions import require_kind
from fastclf.dask.places import DaskPlaces
from fastclf.ray.places import RayPlaces

pytestmark = pytest.mark.once

N = 6000
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (N, 4)).astype(np.float32)
Y = np.array(["ant", "bee", "cicada"])[RNG.integers(0, 3, N)]
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
NUMBERS = RNG.standard_normal(N)
QUERIES = RNG.integers(0, 9, (100, 4)) + RNG.integers(0, 2, (100, 4)) / 2
CUTS = {"even": [N // 2, N // 2], "seven": [857] * 6 + [858], "empty": [0, 1, 2000, 0, N - 2001]}


def test_the_import_of_fastclf_does_not_import_ray():
    code = "import sys, fastclf, fastclf.ray, fastclf.dask; sys.exit('ray' in sys.modules or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ray_works_where_dask_is_not_imported():
    code = "import sys, fastclf.ray; fastclf.ray.GaussianNB, fastclf.ray.Rows; sys.exit('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_ray_has_all_that_dask_has():
    assert set(fastclf.ray.__all__) == {*fastclf.dask.__all__, "Rows"}


@pytest.mark.parametrize("name", fastclf.dask.__all__)
def test_constructors_are_those_on_dask_without_the_client(name):
    known, ours = (dict(inspect.signature(getattr(module, name)).parameters) for module in (fastclf.dask, fastclf.ray))
    known.pop("client", None)
    assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in known.items()}
    assert list(ours) == list(known)


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


@pytest.mark.parametrize("number", [0, 1])
def test_a_node_that_dies_in_any_round_and_one_that_joins_change_no_bit(cluster, monkeypatch, number):
    rows, labels, weight = (cut(array, CUTS["seven"]) for array in (X, Y, WEIGHT))
    with cluster.killing(monkeypatch, number):
        model = fastclf.ray.GaussianNB().fit(rows, labels, weight)
    same_state(model.to_local(), fastclf.GaussianNB().fit(X, Y, WEIGHT))


def fit_in_a_task(sizes):
    return fastclf.ray.GaussianNB().fit(cut(X, sizes), cut(Y, sizes)).to_local()


def test_a_fit_inside_a_task_ends_with_the_same_bits(cluster):
    found = ray.get(ray.remote(fit_in_a_task).options(num_cpus=0).remote(CUTS["even"]))
    same_state(found, fastclf.GaussianNB().fit(X, Y))


def sleepy(seconds):
    time.sleep(seconds)


def test_ctrl_c_is_obeyed_and_the_next_fit_has_the_same_bits(cluster):
    rows, labels, places = cut(X, CUTS["seven"]), cut(Y, CUTS["seven"]), RayPlaces()
    refs = [places.call(sleepy, 5, near=place.address) for place in places.places()]
    threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        places.get(refs)
    assert ray.wait(refs, num_returns=len(refs), timeout=0)[1]  # the tasks go on
    same_state(fastclf.ray.GaussianNB().fit(rows, labels).to_local(), fastclf.GaussianNB().fit(X, Y))


def test_folds_of_rows_are_evaluated_where_only_one_task_runs_at_a_time():
    code = (
        "import numpy as np, ray, fastclf, fastclf.ray\n"
        "ray.init('local', num_cpus=1, include_dashboard=False, log_to_driver=False)\n"
        "X, y = np.arange(60.0).reshape(30, 2) % 7, np.arange(30) % 2\n"
        "rows = [fastclf.ray.Rows([ray.put(part)]) for part in (X, y)]\n"
        "found = fastclf.ray.cross_validate(fastclf.SVC(), *rows, cv=3)['test_score']\n"
        "assert (found == fastclf.cross_validate(fastclf.SVC(), X, y, cv=3)['test_score']).all()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_rows_and_collections_of_dask_are_not_mixed(cluster):
    rows, array = cut(X, [N]), dask.array.from_array(X)
    with pytest.raises(TypeError, match=r"X is .*; fastclf\.ray\.Rows is wanted"):
        fastclf.ray.cross_validate(fastclf.GaussianNB(), array, Y)
    with pytest.raises(TypeError, match=r"X is .*; fastclf\.ray\.Rows is wanted"):
        fastclf.ray.SVC().fit(array, Y)
    with pytest.raises(TypeError, match=r"X is .*; a dask array or dataframe is wanted"):
        require_kind(DaskPlaces, {"X": rows, "y": None})


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
