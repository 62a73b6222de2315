"""What a call from compiled code costs: one query, one decision, one descent, in loops of C and of Numba.

A query of one row shows what it takes beyond the kernel.
"""

import ctypes
import itertools
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import fastclf
from fastclf.embedding import functions

CALLS = 2000

# Many calls of a function, one row after the other, as compiled code makes them.
LOOP = """
#include <fastclf.h>
typedef int (*rows_f)(const fastclf_model *, const double *, Py_ssize_t, void *, void *);
typedef int (*apply_f)(const fastclf_model *, const double *, Py_ssize_t, int64_t *);
typedef int (*nearest_f)(const fastclf_model *, const double *, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *, void *);
int each(void *call, const void *model, const double *rows, Py_ssize_t n, Py_ssize_t d, void *out, void *scratch)
{
    int status = 0;
    for (Py_ssize_t i = 0; i < n; i++) status |= ((rows_f)call)(model, rows + i * d, 1, out, scratch);
    return status;
}
int each_apply(void *call, const void *model, const double *rows, Py_ssize_t n, Py_ssize_t d, void *leaf)
{
    int status = 0;
    for (Py_ssize_t i = 0; i < n; i++) status |= ((apply_f)call)(model, rows + i * d, 1, leaf);
    return status;
}
int each_nearest(void *call, const void *model, const double *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                 double *distance, Py_ssize_t *index, void *scratch)
{
    int status = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        status |= ((nearest_f)call)(model, rows + i * d, 1, k, distance, index, scratch);
    return status;
}
"""


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    (folder / "loop.c").write_text(LOOP)
    include = ["-I", sysconfig.get_path("include"), "-I", fastclf.get_include()]
    command = [shutil.which("cc"), "-O2", "-w", *include, "-fPIC", "-shared", str(folder / "loop.c")]
    more = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    subprocess.run([*command, *more, "-o", str(folder / "loop.so")], check=True)
    return ctypes.CDLL(str(folder / "loop.so"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def times(record, benchmark, name, call, point, bytes_moved, flops):
    benchmark.group = f"embedding, {name}"
    record(
        lambda _: call(),
        itertools.repeat(None),
        point=point,
        axis="d",
        base=True,
        items=CALLS,
        item="call",
        bytes_moved=CALLS * bytes_moved,
        flops=CALLS * flops,
        threads=1,
        dtype="float64",
    )


def handle_arguments(name, embedded, rows):
    where = ctypes.c_void_p(functions()[name].address), ctypes.c_void_p(embedded.address)
    return *where, pointer(rows), ctypes.c_ssize_t(len(rows)), ctypes.c_ssize_t(rows.shape[1])


@pytest.mark.parametrize("n", [1, 1000])
@pytest.mark.parametrize("language", ["C", "Numba"])
def test_nearest(record, benchmark, loop, language, n):
    rng = np.random.default_rng(0)
    d, k = 10, min(n, 5)
    X, rows = rng.standard_normal((n, d)), rng.standard_normal((CALLS, d))
    embedded = fastclf.embed(fastclf.NearestNeighbors(algorithm="brute").fit(X))
    distance, index = np.empty((1, k)), np.empty((1, k), np.intp)
    scratch = np.empty(embedded.scratch_size(1, k), np.uint8)
    arguments = handle_arguments("nearest_d", embedded, rows)
    more = ctypes.c_ssize_t(k), pointer(distance), pointer(index), pointer(scratch)

    def call():
        return loop.each_nearest(*arguments, *more)

    if language == "Numba":
        import numba

        from fastclf.numba import nearest

        @numba.njit
        def each(embedded, rows, distance, index, scratch):
            status = 0
            for i in range(len(rows)):
                status |= nearest(embedded, rows[i : i + 1], distance, index, scratch)
            return status

        def call():
            return each(embedded, rows, distance, index, scratch)

    assert call() == 0
    point = {"n": n, "d": d, "k": k}
    times(record, benchmark, f"nearest of {n} x 10 from {language}", call, point, X.nbytes, 2 * X.size)


def test_decide(record, benchmark, loop):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((CALLS, 64))
    embedded = fastclf.embed(fastclf.LeastSquaresClassifier().fit(rows, rows[:, 0] > 0))
    out, scratch = np.empty(1), np.empty(embedded.scratch_size(), np.uint8)
    arguments = *handle_arguments("decide_d", embedded, rows), pointer(out), pointer(scratch)
    assert loop.each(*arguments) == 0
    times(record, benchmark, "decide", lambda: loop.each(*arguments), {"d": 64}, 2 * 8 * 64, 2 * 64)


def test_apply(record, benchmark, loop):
    """A tree of depth 20 whose nodes take 240 kB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 10))
    model = fastclf.DecisionTreeClassifier(max_depth=20, max_leaf_nodes=8192).fit(X, rng.integers(0, 2, len(X)))
    rows = np.ascontiguousarray(X[:CALLS])
    embedded, leaf = fastclf.embed(model), np.empty(1, np.int64)
    arguments = *handle_arguments("apply_d", embedded, rows), pointer(leaf)
    assert loop.each_apply(*arguments) == 0
    times(record, benchmark, "apply", lambda: loop.each_apply(*arguments), {"d": 10}, 20 * 24, 20)
