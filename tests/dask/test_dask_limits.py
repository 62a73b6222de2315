"""Limits of memory, of bytes and of tasks on Dask, and workers that die or join in any round."""

import os
import pickle
import signal
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from clusters import client, cluster, cut, cuts, same_bits, same_state, two_workers
from distributed import Client, LocalCluster

import fastclf
import fastclf.dask
from fastclf.dask.places import DaskPlaces
from fastclf.sums.moments import moment_bounds

N = 30_011
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
WEIGHT = RNG.random(N)


@contextmanager
def counting(monkeypatch):
    """A list of (the name of the task, the bytes of its arguments), and one of the bytes of each result."""
    sent, received, plain_call, plain_get = [], [], DaskPlaces.call, DaskPlaces.get

    def call(self, f, *args, near=None):
        sent.append((f.__name__, _size(args)))
        return plain_call(self, f, *args, near=near)

    def get(self, refs):
        found = plain_get(self, refs)
        received.append(sum(len(pickle.dumps(value, 5)) for value in found))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(DaskPlaces, "call", call)
        patch.setattr(DaskPlaces, "get", get)
        yield sent, received


def _size(value):
    """The number of bytes of arguments, in which a reference counts as its key."""
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return len(value.key) if hasattr(value, "key") and hasattr(value, "status") else len(pickle.dumps(value, 5))


@pytest.mark.parametrize("n_parts", [2, 64])
def test_tasks_and_bytes_of_a_fit_follow_their_formulas(client, monkeypatch, n_parts):
    sizes = [N * (i + 1) // n_parts - N * i // n_parts for i in range(n_parts)]
    rows, labels = cut(X, sizes), cut(Y, sizes)
    with counting(monkeypatch) as (sent, received):
        fastclf.dask.GaussianNB().fit(rows, labels)
    names = [name for name, _ in sent]
    bounds = moment_bounds(N, X.size, 2, 5)
    n_shared = names.count("taken")
    # each worker gets one task in each round; where partitions share a block, rows are copied: two copies for each
    # bound between partitions
    assert names.count("summaries") == 2
    assert names.count("block_sums") <= 2
    assert n_shared <= 2 * (n_parts - 1)
    # the sums of a block are a weight for each class, and a mean and a square for each class and column
    n_bytes = 8 * (len(bounds) - 1) * 2 * (1 + 2 * 5)
    assert received[-1] <= 1.1 * n_bytes + 400 * len(bounds)
    # the arguments of tasks are keys and parameters, and never rows
    assert sum(size for _, size in sent) < 3000 * len(names) + 600 * n_parts
    assert max(size for _, size in sent) < X.nbytes / 10


def test_tasks_and_bytes_of_a_search_follow_their_formulas(client, monkeypatch):
    model = fastclf.dask.NearestNeighbors(n_neighbors=7).fit(cut(X, cuts(N)["64 partitions"]))
    with counting(monkeypatch) as (sent, received):
        model.kneighbors(X[:500])
    assert [name for name, _ in sent] == ["nearest"] * 2
    assert len(received) == 1
    assert 16 * 500 * 7 * 2 <= received[0] <= 1.1 * 16 * 500 * 7 * 2
    assert sum(size for _, size in sent) < 3000


def test_the_graph_of_a_lazy_answer_has_the_model_once_and_two_tasks_a_partition():
    model = fastclf.KNeighborsClassifier().fit(X, Y)
    for n_parts in (4, 64):
        rows = da.from_delayed(dask.delayed(np.zeros)((N, 5)), (N, 5), float).rechunk((N // n_parts + 1, 5))
        graph = fastclf.dask.Lazy(model).predict(rows).__dask_graph__()
        own = [key for key in dict(graph) if "fastclf" in str(key)]
        assert len(own) <= 2 * n_parts + 1
        assert len(pickle.dumps(dict(graph))) < len(pickle.dumps(model)) + 2000 * n_parts + 10_000


FITS = {
    "GaussianNB": lambda module: (module.GaussianNB(), X, Y, WEIGHT),
    "CategoricalNB": lambda module: (module.CategoricalNB(), (np.abs(X) * 2).astype(int), Y, None),
    "NearestCentroid": lambda module: (module.NearestCentroid("manhattan"), X, Y, WEIGHT),
    "RadiusNeighborsClassifier": lambda module: (module.RadiusNeighborsClassifier(0.5, outlier_label=1), X, Y, WEIGHT),
}


def fitted_on_dask(name, sizes):
    model, *arrays = FITS[name](fastclf.dask)
    return model.fit(*(None if array is None else cut(array, sizes) for array in arrays))


@pytest.fixture(scope="module")
def four_workers():
    """A client of four workers, some of which may be dead or starting."""
    with two_workers(4) as own:
        yield own


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("GaussianNB", 0),
        ("GaussianNB", 0.5),
        ("GaussianNB", 1),
        ("CategoricalNB", 0.5),
        ("NearestCentroid", 1),
        ("RadiusNeighborsClassifier", 1),
    ],
)
def test_a_worker_killed_in_the_first_a_middle_or_the_last_round_changes_no_bit(four_workers, monkeypatch, name, share):
    sizes, plain_get, rounds, killed = cuts(N)["7 partitions"], DaskPlaces.get, [], []

    def get(self, refs):
        if len(rounds) == number:
            killed.append(min(four_workers.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)
        rounds.append(1)
        return plain_get(self, refs)

    number = None
    monkeypatch.setattr(DaskPlaces, "get", get)
    with four_workers.as_current():
        fitted_on_dask(name, sizes)
        number = round(share * (len(rounds) - 1))
        rounds.clear()
        model = fitted_on_dask(name, sizes)
        assert len(killed) == 1
        if name.startswith("Radius"):
            same_bits(model.predict(X[:50]), _plain(name).predict(X[:50]))
        else:
            same_state(model.to_local(), _plain(name))


def test_a_worker_that_joins_between_rounds_changes_no_bit(monkeypatch):
    with two_workers() as own:
        plain_get, seen = DaskPlaces.get, []

        def get(self, refs):
            if len(seen) == 1:
                own.cluster.scale(3)
                own.wait_for_workers(3)
            seen.append(1)
            return plain_get(self, refs)

        monkeypatch.setattr(DaskPlaces, "get", get)
        same_state(fitted_on_dask("GaussianNB", cuts(N)["7 partitions"]).to_local(), _plain("GaussianNB"))
        same_state(fitted_on_dask("NearestCentroid", cuts(N)["7 partitions"]).to_local(), _plain("NearestCentroid"))
        assert len(seen) > 2
        assert len(DaskPlaces(own).places()) == 3


def _plain(name):
    model, *arrays = FITS[name](fastclf)
    return model.fit(*arrays)


def _drawn(folder, n_files, n):
    """Write files of n rows of 64 float32 values each, 256 bytes a row; returns their paths."""
    paths = []
    for i in range(n_files):
        paths.append(str(folder / f"{i}.npy"))
        np.save(paths[-1], np.random.default_rng(i).standard_normal((n, 64), dtype=np.float32))
    return paths


def _labels(rows):
    return (rows[:, 0] > 0).astype(np.int64)


@pytest.mark.once
def test_rows_of_twice_the_memory_of_all_workers_are_fitted_from_files_and_from_maps(tmp_path, monkeypatch):
    # 1.2 GB under a limit of 300 MB a worker, of which a worker without data takes about 130 MB
    n_files, n = 64, 73_000
    paths = _drawn(tmp_path, n_files, n)
    bounds = moment_bounds(n * n_files, n * n_files * 64, 2, 64)
    assert len(bounds) > 1
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=300_000_000,
            local_directory=tmp_path,
        ) as cluster,
        Client(cluster) as own,
    ):
        pids = own.run(os.getpid)
        answers = []
        for mode in (None, "r"):
            load = dask.delayed(np.load, pure=True)
            rows = da.concatenate([da.from_delayed(load(path, mmap_mode=mode), (n, 64), np.float32) for path in paths])
            labels = rows.map_blocks(_labels, dtype=np.int64, drop_axis=1)
            assert rows.nbytes > 1.1e9
            answers.append(fastclf.dask.GaussianNB().fit(rows, labels.persist()).to_local())
        assert own.run(os.getpid) == pids  # the workers' processes are the same, so that none was killed
    whole = np.empty((n_files * n, 64), np.float32)
    for i, path in enumerate(paths):
        whole[i * n : (i + 1) * n] = np.load(path)
    plain = fastclf.GaussianNB().fit(whole, _labels(whole))
    for model in answers:
        same_state(model, plain)


def test_handwritten_digits_are_learned_with_the_answers_of_one_machine(client, data_file):
    with np.load(data_file("usps.npz")) as file:
        digits = {name: file[name] for name in file.files}
    train, labels, test = digits["X_train"], digits["y_train"], digits["X_test"]
    sizes = cuts(len(train))["7 partitions"]
    rows, y = cut(train, sizes), cut(labels, sizes)
    for name in ("GaussianNB", "NearestCentroid", "KNeighborsClassifier"):
        plain = getattr(fastclf, name)().fit(train, labels)
        model = getattr(fastclf.dask, name)().fit(rows, y)
        same_bits(model.predict(test), plain.predict(test))
        same_bits(model.predict(cut(test, cuts(len(test))["uneven"])).compute(), plain.predict(test))
    same_state(fastclf.dask.GaussianNB().fit(rows, y).to_local(), fastclf.GaussianNB().fit(train, labels))
