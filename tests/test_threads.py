"""Threads: their number, survival of forks and errors, and the time until they stop."""

import ast
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
from conftest import seconds_to_obey_ctrl_c
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import fastclf
from fastclf import NearestNeighbors, _orders, _shuffles, _threads
from fastclf._csr import as_csr
from fastclf._threads import Progress, aside, each_aside_if_many, map_rows, n_cpus, n_numbers, n_threads, ranges, run
from fastclf.kernels.gamma import gamma_of
from fastclf.linear_model import likelihood, ridge
from fastclf.neighbors import kdtree

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    monkeypatch.delenv("FASTCLF_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_the_number_of_threads_follows_argument_then_environment_then_cpus(monkeypatch):
    monkeypatch.setattr(_threads, "n_cpus", lambda: 8)
    assert [n_threads(n) for n in (None, 1, 3, 99, -1, -2, -99)] == [8, 1, 3, 99, 8, 7, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert (n_threads(), n_threads(5), n_threads(-1)) == (3, 5, 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "30")
    assert n_threads() == 8
    monkeypatch.setenv("FASTCLF_NUM_THREADS", "2")
    assert (n_threads(), n_threads(5)) == (2, 5)


@pytest.mark.parametrize("algorithm", ["brute", "filter", "cells", "tree"])
def test_any_number_of_threads_can_be_asked_for(rng, algorithm):
    X = rng.standard_normal((20_000, 60), dtype=np.float32)
    few, many = (NearestNeighbors(algorithm=algorithm, n_jobs=n_jobs).fit(X) for n_jobs in (1, 10**30))
    for one, other in zip(few.kneighbors(X[:40]), many.kneighbors(X[:40])):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_a_bad_environment_is_named(monkeypatch, value):
    monkeypatch.setenv("FASTCLF_NUM_THREADS", value)
    with pytest.raises(ValueError, match=f"FASTCLF_NUM_THREADS={value} in the environment"):
        n_threads()


@pytest.mark.parametrize("n_jobs", [True, 1.5, "2"])
def test_n_jobs_that_is_no_whole_number_is_refused(n_jobs):
    with pytest.raises(TypeError, match="n_jobs is"):
        n_threads(n_jobs)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this platform has no CPU affinity")
def test_affinity_is_respected():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert n_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_the_quota_of_a_cgroup_is_respected(tmp_path):
    membership = tmp_path / "cgroup"
    membership.write_text("0::/outer/inner\n")
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    assert _threads._cgroup_cpus(membership, tmp_path) == float("inf")
    (tmp_path / "outer" / "cpu.max").write_text("250000 100000\n")
    (tmp_path / "outer" / "inner" / "cpu.max").write_text("max 100000\n")
    assert _threads._cgroup_cpus(membership, tmp_path) == 3
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert _threads._cgroup_cpus(membership, tmp_path) == 1


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_item_is_worked_on_once(threads):
    done = []

    def work(item):
        for part in range(3):
            done.append((item, part))
            yield

    run(work, range(50), threads)
    assert sorted(done) == [(item, part) for item in range(50) for part in range(3)]


def test_an_error_on_any_thread_stops_all_and_is_raised():
    started = threading.Barrier(2, timeout=10)

    def work(item):
        started.wait()
        if threading.current_thread() is not threading.main_thread():
            raise KeyError("raised in a thread")
        while True:
            yield

    with pytest.raises(KeyError, match="raised in a thread"):
        run(work, range(2), 2)


@pytest.mark.parametrize("inner_threads", [1, 3])
def test_an_error_ends_calls_within_calls_on_other_threads(inner_threads):
    under_way = threading.Event()
    left = []

    def endless(item):
        try:
            while True:
                under_way.set()
                yield
        finally:
            left.append(item)

    def work(item):
        if threading.current_thread() is threading.main_thread():
            assert under_way.wait(timeout=10)
            raise KeyError("raised by the caller")
        run(endless, range(inner_threads), inner_threads)
        yield

    with pytest.raises(KeyError, match="raised by the caller"):
        run(work, range(2), 2)
    assert 1 <= len(left) <= inner_threads


def test_calls_within_calls_do_not_wait_for_each_other():
    done = []

    def inner(item):
        done.append(item)
        yield

    def outer(item):
        run(inner, range(20), 40)
        yield

    run(outer, range(80), 80)
    assert len(done) == 80 * 20


def test_ranges_cover_everything_once_and_keep_their_limit():
    cuts = list(ranges(3, 1000, 7, limit=50))
    assert cuts[0] == (3, 10)
    assert [a for a, _ in cuts[1:]] == [b for _, b in cuts[:-1]]
    assert cuts[-1][1] == 1000
    assert max(b - a for a, b in cuts) <= 50


def test_many_python_threads_can_search_one_model(rng, monkeypatch):
    monkeypatch.setattr(kdtree, "_VISITS", 0)
    X = rng.standard_normal((3000, 4))
    model = NearestNeighbors(n_jobs=4).fit(X)
    expected = model.kneighbors(X[:200])[1]
    wrong = []

    def search():
        for _ in range(5):
            if not np.array_equal(model.kneighbors(X[:200])[1], expected):
                wrong.append(1)

    threads = [threading.Thread(target=search) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_searches_with_threads_of_its_own(rng, monkeypatch):
    monkeypatch.setattr(kdtree, "_VISITS", 0)
    X = rng.standard_normal((3000, 4))
    model = NearestNeighbors(n_jobs=3).fit(X)
    expected = model.kneighbors(X[:300])[1]
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if np.array_equal(model.kneighbors(X[:300])[1], expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


SEARCH_FOR_MINUTES = """
import sys, time
import numpy as np
from fastclf import NearestNeighbors
X = np.random.default_rng(0).standard_normal((400_000, 64)).astype(np.float32)
model = NearestNeighbors(n_neighbors=5, n_jobs={n_jobs}, metric={metric!r}, p=3).fit(X)
print("ready", flush=True)
try:
    model.{search}
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to another process")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("metric", "search"),
    [
        ("euclidean", "kneighbors(X)"),
        ("minkowski", "kneighbors(X)"),
        ("minkowski", "kneighbors(X[:20])"),
        ("euclidean", "kneighbors(X[:1000], 20_000)"),
        ("euclidean", "radius_neighbors(X[:3000], 99.0)"),
    ],
)
def test_ctrl_c_ends_a_search_at_once(n_jobs, metric, search):
    code = SEARCH_FOR_MINUTES.format(n_jobs=n_jobs, metric=metric, search=search)
    assert seconds_to_obey_ctrl_c(code) < 1.0


OTHER_ROWS = {
    "bits": "rng.random((500_000, 256)) < 0.5, metric='jaccard'",
    "sparse": "sparse.random_array((200_000, 5000), density=0.01, rng=rng, format='csr'), metric='manhattan'",
    "missing": "np.where((X := rng.random((200_000, 64))) < 0.1, np.nan, X), metric='nan_euclidean'",
    "compiled": "rng.random((300_000, 4)), metric=compiled()",
    "triangle": "rng.random((200_000, 9)), metric=compiled(), metric_params={'triangle': True}",
}


SEARCH_OTHER_ROWS = """
import time, numpy as np
from scipy import sparse
from fastclf import NearestNeighbors
def compiled():
    import numba
    numbers = numba.types.CPointer(numba.float64)
    return numba.cfunc(numba.float64(numbers, numbers, numba.intp))(lambda q, x, d: abs(q[0] - x[0]))
def search(X, **params):
    model = NearestNeighbors(n_jobs=2, **params).fit(X)
    print("ready", flush=True)
    try:
        model.kneighbors()
    except KeyboardInterrupt:
        print(time.time(), flush=True)
rng = np.random.default_rng(0)
search({rows})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to another process")
@pytest.mark.parametrize("name", OTHER_ROWS)
def test_ctrl_c_ends_a_search_of_other_rows_at_once(name):
    if "compiled()" in OTHER_ROWS[name]:
        pytest.importorskip("numba")
    code = SEARCH_OTHER_ROWS.format(rows=OTHER_ROWS[name])
    assert seconds_to_obey_ctrl_c(code) < 1.0


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a free-threaded Python is wanted")
def test_no_module_turns_the_gil_on():
    code = """
import importlib, pathlib, sys, sysconfig, fastclf
folder = pathlib.Path(fastclf.__file__).parent
for path in folder.rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")):
    importlib.import_module(".".join(path.relative_to(folder.parent).parts).partition(".cpython")[0])
    assert not sys._is_gil_enabled(), path
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_a_thread_that_outlives_the_main_one_still_searches():
    code = (
        "import threading, time, numpy as np\n"
        "from fastclf import NearestNeighbors\n"
        "from fastclf.neighbors import kdtree\n"
        "kdtree._VISITS = 0\n"
        "X = np.random.default_rng(0).standard_normal((3000, 4))\n"
        "model = NearestNeighbors(n_jobs=2).fit(X)\n"
        "def late():\n"
        "    time.sleep(0.5)\n"
        "    print(model.kneighbors(X)[1].shape)\n"
        "threading.Thread(target=late).start()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "(3000, 5)\n"


def test_progress_is_told_in_lines_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with Progress(10, "work", verbose=1) as progress:
        progress.advance(10)
    assert capsys.readouterr().err.startswith("work: 10 of 10 rows, 0.")
    with Progress(None, "work", verbose=1) as progress:
        progress.advance(3)
    assert capsys.readouterr().err.startswith("work: 3 steps, 0.")


def test_progress_is_told_by_tqdm(capsys):
    with Progress(10, "work", verbose=1) as progress:
        progress.advance(10)
    err = capsys.readouterr().err
    assert "work: 100%" in err
    assert "10 of 10 rows [" in err
    with Progress(None, "work", verbose=1) as progress:
        progress.advance(3)
    assert "work: 3 steps [" in capsys.readouterr().err


def test_ctrl_c_while_a_bar_is_drawn_lets_other_threads_draw(monkeypatch):
    with Progress(10, "work", verbose=1) as progress:

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        progress._bar.mininterval = 0
        with monkeypatch.context() as patch:
            patch.setattr(type(progress._bar), "display", interrupted)
            with pytest.raises(KeyboardInterrupt):
                progress.advance(1)
        other = threading.Thread(target=progress.advance, args=(1,), daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive()


@pytest.mark.parametrize("there", [True, False], ids=["tqdm", "lines"])
def test_a_search_tells_whole_queries(capsys, monkeypatch, there):
    if not there:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    X = np.random.default_rng(0).standard_normal((3000, 4))
    seen = []
    model = fastclf.NearestNeighbors(verbose=1, callback=lambda *told: seen.append(told[:2])).fit(X)
    model.kneighbors(X[:700])
    err = capsys.readouterr().err
    assert "700 of 700 queries" in err
    assert not re.search(r"\d[.]?\d*[kMG]", err)
    assert seen[-1] == (700 * 3000, 700 * 3000)


def test_what_is_done_aside_answers_raises_and_warns_as_a_call_does(monkeypatch):
    assert aside(divmod, 7, 4) == (1, 3)
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 7, 0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        aside(np.divide, np.ones(2), 0)
    for many in (1, 10**9):
        monkeypatch.setattr(_threads, "_MANY_NUMBERS", many)
        with pytest.warns(UserWarning, match="No negative samples") as caught:
            fastclf.roc_curve(np.ones(4), np.arange(4.0))
        assert caught[0].filename == __file__


def test_only_calls_with_large_arrays_take_another_thread():
    def thread(*_):
        return threading.current_thread()

    assert aside(thread, np.ones(100), None) is threading.main_thread()
    sparse = csr_array(np.ones((300, 300)))
    for arguments in ((np.ones(1 << 17),), (np.ones(100), np.ones(1 << 17)), (np.ones(100), sparse), (), (7,)):
        assert aside(thread, *arguments) is not threading.main_thread()


def test_items_that_are_made_aside_are_those_of_the_iterable_and_its_exception():
    def items(n):
        yield from range(n)
        raise ValueError("the end")

    for size in (1, 10**9):
        made = iter(each_aside_if_many(size, items, 3))
        assert [next(made) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="the end"):
            next(made)
    assert list(each_aside_if_many(10**9, list, [None, 5])) == [None, 5]


def test_the_numbers_of_a_container_are_counted():
    containers = [np.ones((3, 4)), [1, 2], csr_array(np.eye(5)), pandas.DataFrame({"a": [1]}), "abc", 3]
    assert [n_numbers(each) for each in containers] == [12, 2, 5, 1, 0, 0]


def test_python_exits_while_something_is_done_aside():
    code = "import fastclf._threads, signal, time\nsignal.alarm(1)\nfastclf._threads.aside(time.sleep, 60)"
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import signal\nsignal.signal(14, signal.default_int_handler)\n" + code],
                   stderr=subprocess.DEVNULL, check=False)  # fmt: skip
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_blocks_of_rows_have_the_answer_of_all_rows(monkeypatch, n):
    monkeypatch.setattr(_threads, "_BLOCK_NUMBERS", 12)
    X, y = np.random.default_rng(0).random((n, 3)), np.arange(n)
    np.testing.assert_array_equal(map_rows(lambda X, y: X[:, :2] + y[:, None], X, y), X[:, :2] + y[:, None])
    np.testing.assert_array_equal(map_rows(lambda X: X.argmax(axis=1), X), X.argmax(axis=1))


def _sums(rng):
    """Results that depend on sums over many rows, by name."""
    X = rng.standard_normal((300_000, 4)) + 3
    X[rng.random(X.shape) < 0.5] = 0
    few, weight, y = X[:20_000], rng.integers(1, 4, len(X)).astype(float), X @ [1.0, 2.0, 3.0, 4.0] > 15
    rows = as_csr(csr_array(X), "X")
    return {
        "gamma": lambda: gamma_of("scale", X),
        "gamma, weighted": lambda: gamma_of("scale", X, weight),
        "gamma, sparse": lambda: gamma_of("scale", rows),
        "gamma, sparse and weighted": lambda: gamma_of("scale", rows, weight),
        "mean of rows": lambda: ridge._mean(X, weight / weight.sum()),
        "Perceptron": lambda: fastclf.Perceptron(start="centroids", max_iter=1).fit(few, y[:20_000]).coef_,
        "LogisticRegression": lambda: fastclf.LogisticRegression().fit(csr_array(few), y[:20_000]).coef_,
    }


@pytest.mark.parametrize("name", _sums(np.random.default_rng(0)))
def test_the_duration_of_ranges_changes_no_bit_of_a_sum(monkeypatch, rng, name):
    monkeypatch.setattr(likelihood, "_ENTRIES", 1 << 10)
    monkeypatch.setattr(ridge, "_BLOCK_NUMBERS", 1 << 14)
    found = []
    for seconds in (0.0, 1e-4, 1e9):
        monkeypatch.setattr(_threads, "_RANGE_SECONDS", seconds)
        found.append(_sums(np.random.default_rng(0))[name]())
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_python_exits_after_ctrl_c_while_a_thread_of_the_pool_starts():
    code = """
import threading
from fastclf import _threads

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
try:
    _threads.run(lambda item: [None], range(4), 2)
except KeyboardInterrupt:
    print("interrupted")
threading.Thread.start = start
done = []
_threads.run(lambda item: [done.append(item)], range(4), 2)
print(sorted(done))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert told == "interrupted\n[0, 1, 2, 3]\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no timer that signals")
def test_python_exits_while_openblas_works_aside():
    code = """
import signal, sys
import numpy as np
from fastclf._threads import aside

signal.signal(signal.SIGALRM, signal.default_int_handler)
A = np.random.default_rng(0).standard_normal((1200, 1200))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    aside(np.linalg.svd, A)
except KeyboardInterrupt:
    sys.exit(7)
"""
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 7


def test_blocks_change_no_result(monkeypatch):
    rng = np.random.default_rng(0)
    values, counts = rng.random(40), rng.integers(9, size=40)
    counts[[0, 17, 39]] = 0, 50, 0
    table, places = rng.random((30, 3)), rng.integers(30, size=100)
    for size in (1, 7, 16, 1 << 18):
        monkeypatch.setattr(_threads, "_BLOCK_NUMBERS", size)
        assert_array_equal(_threads.repeated(values, counts), np.repeat(values, counts))
        assert_array_equal(_threads.rows_at(table, places), table[places])
        assert_array_equal(_threads.rows_at(values, places), values[places])
        assert_array_equal(np.concatenate(list(_threads.blocks(table))), table)
        assert all(np.array_equal(table[rows], block) for rows, block in _threads.numbered_blocks(table))
        assert _threads.all_finite(table)
        assert not _threads.all_finite(np.append(values, np.nan))


def test_calls_with_many_numbers_are_made_aside(monkeypatch):
    callers = []
    noted = _threads.aside_for_many(lambda *arrays: callers.append(threading.current_thread()))
    noted(np.zeros(10), None)
    monkeypatch.setattr(_threads, "_MANY_NUMBERS", 5)
    monkeypatch.setattr(_threads, "_FEW_NUMBERS", 5)
    noted(None, np.zeros(10))
    assert callers[0] is threading.current_thread()
    assert callers[1] is not threading.current_thread()


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64", "float64", "bool", "<U3", ">i4", "object"])
@pytest.mark.parametrize("n", [0, 1, 1000, (1 << 19) + 1])
def test_distinct_values_are_those_of_numpy(dtype, n):
    values = np.random.default_rng(n).integers(100, size=n).astype(dtype)
    found, expected = _threads.distinct(values), np.unique(values)
    assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("n", [2, 3, 257, 5000])
@pytest.mark.parametrize("size", [1, 100, 4096])
def test_shuffles_in_ranges_are_those_of_numpy(n, size, monkeypatch):
    monkeypatch.setattr(_shuffles, "_FEW", size)
    ours, numpys = np.random.RandomState(n), np.random.RandomState(n)
    rows, expected = np.arange(n) * 3, np.arange(n) * 3
    for _ in range(3):
        _shuffles.shuffle(ours, rows)
        numpys.shuffle(expected)
        assert_array_equal(rows, expected)
        assert_array_equal(_shuffles.permutation(ours, n), numpys.permutation(n))
        assert_array_equal(_shuffles.permutation(ours, rows), numpys.permutation(expected))
    assert ours.randint(1 << 30) == numpys.randint(1 << 30)


def test_a_shuffle_beyond_the_rows_is_refused():
    generator = np.random.RandomState(0)._bit_generator
    for start, stop in ((3, 0), (1, 2), (2, -1), (-1, -1)):
        with pytest.raises(ValueError, match="entries that are not there"):
            _orders.shuffle(generator, np.arange(3), start, stop)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_each_page_of_a_new_array_is_written(dtype):
    array = np.ones(3_000_001, dtype)
    assert _threads.with_pages(array) is array
    assert not array[:: 4096 // array.itemsize].any()
    assert len(_threads.with_pages(array[:0])) == 0


def test_no_python_runs_when_an_object_dies_as_ctrl_c_would_be_lost_there():
    for path in Path(fastclf.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert getattr(node, "name", None) != "__del__", path
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", None))
                assert called != "finalize", path
                assert called != "ref" or len(node.args) == 1, path
