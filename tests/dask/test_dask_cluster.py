"""What holds for every estimator on Dask: kinds of collections, agreement of workers, death, tasks, interruption."""

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import client, cluster, cut, same_bits, same_state, two_workers
from distributed import Client

import fastclf
import fastclf.dask
from fastclf import _simd
from fastclf.dask import places
from fastclf.dask.places import DaskPlaces

N = 20_000
RNG = np.random.default_rng(1)
X = RNG.standard_normal((N, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def plain():
    return fastclf.GaussianNB().fit(X, Y)


def test_the_import_of_fastclf_does_not_import_dask():
    code = "import sys, fastclf, fastclf.dask; sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", fastclf.dask.__all__)
def test_constructors_are_those_of_the_plain_classes_and_client(name):
    cls = getattr(fastclf.dask, name)
    if not hasattr(fastclf, name) or not inspect.isclass(cls):
        return
    known = inspect.signature(getattr(fastclf, name)).parameters
    ours = dict(inspect.signature(cls).parameters)
    assert ours.pop("client").default is None
    assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in known.items()}
    assert list(ours) == list(known)


def test_chunks_of_unknown_size_and_shuffled_labels_of_other_cuts_are_counted(client):
    rows = da.concatenate([cut(X, [N // 2, N - N // 2]), cut(X[:9] * 0 + 99, [9])])
    kept = rows[rows[:, 0] < 50]  # the sizes of the collection's chunks are unknown
    assert np.isnan(kept.chunks[0]).all()
    model = fastclf.dask.GaussianNB().fit(kept, cut(Y, [5, 7000, N - 7005]))
    same_state(model.to_local(), plain())
    with pytest.raises(ValueError, match="inconsistent numbers of samples: y has 19999 entries and X 20000"):
        fastclf.dask.GaussianNB().fit(kept, cut(Y[:-1], [N - 1]))


def test_dataframes_keep_the_bits_and_their_names(client):
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=np.where(Y == 1, "yes", "no"))
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    model = fastclf.dask.GaussianNB().fit(frame[list("abcd")], frame["label"])
    same_state(model.to_local(), fastclf.GaussianNB().fit(table[list("abcd")], table["label"]))
    assert model.feature_names_in_.tolist() == list("abcd")
    predicted = model.predict(frame[list("abcd")])
    same_bits(
        predicted.compute(), fastclf.GaussianNB().fit(table[list("abcd")], table["label"]).predict(table[list("abcd")])
    )


def test_unknown_categories_are_refused_in_one_sentence(client):
    frame = dd.from_pandas(pd.DataFrame({"a": X[:50, 0], "c": ["u", "v"] * 25}), npartitions=2)
    frame["c"] = frame["c"].astype("category")
    with pytest.raises(ValueError, match=r"column 'c' of y has unknown categories.*categorize"):
        fastclf.dask.GaussianNB().fit(frame[["a"]], frame["c"])


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (X, TypeError, "a dask array or dataframe is wanted"),
        (dask.delayed(X), TypeError, "X is a Delayed.* of dask"),
        (da.from_array(Y), ValueError, "Expected 2D array, got 1D array"),
        (da.from_array(X[:0]), ValueError, r"Found array with 0 sample\(s\)"),
    ],
)
def test_other_data_are_refused_in_one_sentence(client, given, kind, message):
    with pytest.raises(kind, match=message):
        fastclf.dask.GaussianNB().fit(given, da.from_array(Y[: 0 if kind is ValueError and given.ndim == 2 else N]))


def test_plain_estimators_refuse_collections_and_name_fastclf_dask():
    for model in (fastclf.GaussianNB(), fastclf.KNeighborsClassifier(), fastclf.SVC(), fastclf.LogisticRegression()):
        with pytest.raises(TypeError, match=r"X is a dask Array; fastclf\.dask has"):
            model.fit(da.from_array(X[:50]), Y[:50])
        with pytest.raises(TypeError, match=r"y is a dask Array; fastclf\.dask has"):
            model.fit(X[:50], da.from_array(Y[:50]))


def test_a_worker_that_differs_is_named_with_what_to_set(cluster, monkeypatch):
    signature = places.signature()
    for name, value, advice in (
        ("NumPy", "1.0", "install NumPy 1.0 there"),
        ("the SIMD level", "x86-64-v4-vnni" if _simd.level() != "x86-64-v4-vnni" else "baseline", "set FASTCLF_SIMD="),
    ):
        told = signature | {name: value}
        rows, labels = cluster.cut(X, [N]), cluster.cut(Y, [N])
        monkeypatch.setattr(sys.modules[cluster.Places.__module__], "signature", lambda told=told: told)
        with pytest.raises(RuntimeError, match=rf"the (worker|node) .* has {name} .* and the client {value}.*{advice}"):
            cluster.module.GaussianNB().fit(rows, labels)
        monkeypatch.undo()


def test_without_a_client_one_sentence_says_what_to_do():
    code = (
        "import dask.array as da, numpy as np, fastclf.dask\n"
        "try: fastclf.dask.GaussianNB().fit(da.ones((3, 2)), da.ones(3))\n"
        "except ValueError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("client is None and there is no Dask client; client=distributed.Client(...) is wanted")


def fit_in_a_task(X, Y, sizes):
    return fastclf.dask.GaussianNB().fit(cut(X, sizes), cut(Y, sizes)).to_local()


def test_a_fit_inside_a_task_ends_with_the_same_bits(client):
    futures = [client.submit(fit_in_a_task, X, Y, sizes, pure=False) for sizes in ([N // 2, N // 2], [N], [5, N - 5])]
    for model in client.gather(futures):
        same_state(model, plain())


def test_two_fits_at_once_end_with_the_same_bits(cluster):
    found = {}

    def fit(i):
        rows, labels = cluster.cut(X, [N - i, i]), cluster.cut(Y, [N - i, i])
        found[i] = cluster.module.GaussianNB().fit(rows, labels).to_local()

    threads = [threading.Thread(target=fit, args=[i]) for i in (3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    for model in found.values():
        same_state(model, plain())


def test_an_asynchronous_client_gives_awaitables(client):
    async def work():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as own:
            rows, labels = da.from_array(X, chunks=(7000, 4)), da.from_array(Y, chunks=7000)
            return await fastclf.dask.GaussianNB(client=own).fit(rows, labels)

    same_state(asyncio.run(work()).to_local(), plain())


def test_a_client_that_is_not_the_default_one_is_enough():
    code = (
        "import dask.array as da, numpy as np, fastclf.dask\n"
        "from distributed import Client, LocalCluster\n"
        "with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:\n"
        "    with Client(cluster, set_as_default=False) as client:\n"
        "        X, y = da.from_array(np.arange(8.0).reshape(4, 2)), da.from_array(np.array([0, 0, 1, 1]))\n"
        "        print(fastclf.dask.GaussianNB(client=client).fit(X, y).theta_.tolist())\n"
        "        model = fastclf.dask.NearestNeighbors(n_neighbors=1, client=client).fit(X)\n"
        "        print(model.kneighbors([[0, 0]])[1].tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:2] == ["[[1.0, 2.0], [5.0, 6.0]]", "[[0]]"]


def test_a_killed_worker_and_a_joining_one_leave_the_lazy_answers_as_they_are(client):
    model = fastclf.dask.Lazy(plain())
    rows = cut(X, [N // 4] * 4)
    lazy = model.predict_proba(rows).persist()
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    same_bits(lazy.compute(), plain().predict_proba(X))
    client.wait_for_workers(2)


def sleepy(seconds):
    time.sleep(seconds)


def test_ctrl_c_cancels_the_tasks(client):
    shared = DaskPlaces(client)
    refs = [shared.call(sleepy, 20, near=place.address) for place in shared.places() for _ in range(3)]
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        shared.get(refs)
    assert time.monotonic() - start < 10
    assert all(ref.status == "cancelled" for ref in refs)


def test_without_a_worker_a_call_is_given_up(monkeypatch):
    monkeypatch.setattr(places, "_NO_WORKER_SECONDS", 1)
    with two_workers() as own:
        shared = DaskPlaces(own)
        ref = shared.call(sleepy, 60)
        own.cluster.scale(0)
        with pytest.raises(RuntimeError, match="no worker for 1 s"):
            shared.get([ref])


def test_the_loss_of_a_task_as_by_a_restart_of_the_cluster_is_told(client):
    shared = DaskPlaces(client)
    ref = shared.call(sleepy, 5)
    threading.Timer(0.5, client.cancel, [[ref]], {"force": True}).start()
    with pytest.raises(RuntimeError, match="restarted or lost data"):
        shared.get([ref])


def kill_the_only_holder(client, copy):
    """Let Dask drop the copies that no task waits for, and kill the worker that keeps one."""
    client.amm.run_once()
    deadline = time.monotonic() + 20
    while len(holders := client.who_has([copy])[copy.key]) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    [holder] = holders
    os.kill(client.run(os.getpid, workers=[holder])[holder], signal.SIGKILL)


def test_work_is_done_anew_with_new_copies_if_the_worker_that_has_the_last_one_dies():
    with two_workers() as own:
        shared, trials = DaskPlaces(own), []

        def work(copy):
            trials.append(copy)
            if len(trials) == 1:
                kill_the_only_holder(own, copy)
            return shared.get([shared.call(np.sum, copy)])

        assert shared.with_copies(np.arange(10), work) == [45]
        assert len(trials) == 2


def test_copies_that_are_lost_again_and_again_are_told(client):
    shared, trials = DaskPlaces(client), []

    def work(copy):
        trials.append(copy)
        ref = shared.call(sleepy, 20)
        client.cancel([ref], force=True)
        return shared.get([ref])

    with pytest.raises(RuntimeError, match="restarted or lost data"):
        shared.with_copies(np.arange(10), work)
    assert len(trials) == places._TRIALS
