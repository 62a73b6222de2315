"""Calls of embedded models from compiled code, one row after another, in loops of C, Cython and Numba.

Rows come as (passes, n, d): every pass calls the model for all of them; the answers (n, ...) are those of the last
pass.
"""

import ctypes
import functools
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import fastclf
from fastclf.embedding.handles import functions

C = """
#include <fastclf.h>
typedef int (*rows_f)(const fastclf_model *, const double *, Py_ssize_t, void *, void *);
typedef int (*nearest_f)(const fastclf_model *, const double *, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *, void *);
int each(void *call, const void *model, const double *rows, Py_ssize_t passes, Py_ssize_t n, Py_ssize_t d, char *out,
         Py_ssize_t width, void *scratch)
{
    int status = 0;
    while (passes--)
        for (Py_ssize_t i = 0; i < n; i++)
            status |= ((rows_f)call)(model, rows + i * d, 1, out + i * width, scratch);
    return status;
}
int each_nearest(void *call, const void *model, const double *rows, Py_ssize_t passes, Py_ssize_t n, Py_ssize_t d,
                 Py_ssize_t k, double *distance, Py_ssize_t *index, void *scratch)
{
    int status = 0;
    while (passes--)
        for (Py_ssize_t i = 0; i < n; i++)
            status |= ((nearest_f)call)(model, rows + i * d, 1, k, distance + i * k, index + i * k, scratch);
    return status;
}
"""

CYTHON = """
from fastclf.capi cimport fastclf_model, nearest_d, release, require_abi, take

require_abi()


def each_nearest(embedded, const double[:, ::1] rows, Py_ssize_t passes, double[:, ::1] distance,
                 Py_ssize_t[:, ::1] index, unsigned char[::1] scratch):
    cdef fastclf_model* model = take(embedded)
    cdef Py_ssize_t i, _
    cdef int status = 0
    with nogil:
        for _ in range(passes):
            for i in range(rows.shape[0]):
                status |= nearest_d(
                    model, &rows[i, 0], 1, distance.shape[1], &distance[i, 0], &index[i, 0], &scratch[0]
                )
    release(model)
    return status
"""


def _compiled(folder, source, end):
    include = ["-I", sysconfig.get_path("include"), "-I", fastclf.get_include()]
    more = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    made = str(Path(folder, f"each{end}"))
    subprocess.run(["cc", "-O2", "-w", *include, "-fPIC", "-shared", source, *more, "-o", made], cwd=folder, check=True)
    return made


@functools.cache
def _c():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "each.c").write_text(C)
        return ctypes.CDLL(_compiled(folder, "each.c", ".so"))


@functools.cache
def _cython():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "each.pyx").write_text(CYTHON)
        # Python must find the installed package here, not the unbuilt source above this folder.
        path = [str(Path(fastclf.__file__).parents[1]), *filter(os.path.isabs, sys.path)]
        subprocess.run(
            [sys.executable, "-P", "-m", "cython", "-3", "-X", "boundscheck=False", "each.pyx"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            check=True,
        )
        made = _compiled(folder, "each.c", sysconfig.get_config_var("EXT_SUFFIX"))
        spec = importlib.util.spec_from_file_location("each", made)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.each_nearest


@functools.cache
def _numba():
    import numba

    from fastclf.numba import nearest

    @numba.njit
    def each(embedded, rows, passes, distance, index, scratch):
        status = 0
        for _ in range(passes):
            for i in range(len(rows)):
                part = slice(i, i + 1)
                status |= nearest(embedded, rows[part], distance[part], index[part], scratch)
        return status

    return each


def _c_nearest(embedded, rows, passes, distance, index, scratch):
    where = ctypes.c_void_p(functions()["nearest_d"].address), ctypes.c_void_p(embedded.address)
    sizes = map(ctypes.c_ssize_t, (passes, *rows.shape, distance.shape[1]))
    return _c().each_nearest(*where, rows.ctypes, *sizes, distance.ctypes, index.ctypes, scratch.ctypes)


def nearest_loop(language, embedded, k):
    """A function of float64 rows that returns (distances, indices)."""
    search = {"C": lambda: _c_nearest, "Cython": _cython, "Numba": _numba}[language]()
    scratch = np.empty(embedded.scratch_size(1, k), np.uint8)

    def call(rows):
        n = rows.shape[1]
        distance, index = np.empty((n, k)), np.empty((n, k), np.intp)
        assert search(embedded, rows[0], len(rows), distance, index, scratch) == 0
        return distance, index

    return call


def row_loop(name, embedded, dtype):
    """A function of float64 rows that calls a function of the model in a C loop; it returns one number for each row."""
    function, scratch = ctypes.c_void_p(functions()[name].address), np.empty(embedded.scratch_size(), np.uint8)

    def call(rows):
        out = np.empty(rows.shape[1], dtype)
        *sizes, width = map(ctypes.c_ssize_t, (*rows.shape, out.itemsize))
        where = function, ctypes.c_void_p(embedded.address)
        assert _c().each(*where, rows.ctypes, *sizes, out.ctypes, width, scratch.ctypes) == 0
        return out

    return call


def in_passes(rows):
    """The rows, repeated for 10000 calls."""
    return np.broadcast_to(rows, (10_000 // len(rows), *rows.shape))


def deep_tree(n_rows, depth=20):
    """A tree whose nodes take 260 kB, and rows whose leaves have this depth."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 10))
    model = fastclf.DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=8192).fit(X, rng.integers(0, 2, len(X)))
    rows = X[model.tree_.depths[model.apply(X)] == depth]
    return model, np.ascontiguousarray(rows[rng.integers(0, len(rows), n_rows)])
