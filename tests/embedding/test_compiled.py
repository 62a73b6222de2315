"""Compiled code outside fastclf that uses it: the examples of EMBEDDING.md and more, from many threads at once."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from conftest import CHECKOUT

import fastclf

pytestmark = pytest.mark.build

CC, CXX = shutil.which("gcc") or shutil.which("cc"), shutil.which("g++") or shutil.which("c++")
INCLUDE = ["-I", sysconfig.get_path("include"), "-I", fastclf.get_include()]
SHARED = ["-fPIC", "-shared", *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else [])]
STRICT = ["-O1", "-Wall", "-Wextra", "-Werror", *INCLUDE]
SANITIZE = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def example(language, word):
    """The code block of EMBEDDING.md that contains a word."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (CHECKOUT / "EMBEDDING.md").read_text(), re.DOTALL)
    return next(code for code in blocks if word in code)


CYTHON, NUMBA = example("cython", "cimport"), example("python", "njit")
SCORE, LABEL = example("c", "fastclf.h"), example("cpp", "fastclf.h")


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_c(folder, name, code, *flags, compiler=CC, end=".c"):
    source = folder / f"{name}{end}"
    source.write_text(code)
    made = folder / f"{name}{SUFFIX}"
    subprocess.run([compiler, *flags, *STRICT, *SHARED, str(source), "-o", str(made)], check=True)
    return made


def cythonized(folder, name, code):
    """The C file of a Cython module, translated where only the installed package is importable."""
    (folder / f"{name}.pyx").write_text(code)
    away = [path for path in sys.path if path and os.path.abspath(path) != str(CHECKOUT)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(away)}
    command = [sys.executable, "-m", "cython", "-3", f"{name}.pyx"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return folder / f"{name}.c"


def compile_cython(folder, name, code):
    source = cythonized(folder, name, code)
    made = folder / f"{name}{SUFFIX}"
    subprocess.run([CC, "-O1", "-w", *INCLUDE, *SHARED, str(source), "-o", str(made)], check=True)
    return made


def from_threads(work, n_threads=8):
    """The results of work(number) on many threads that start together."""
    barrier = Barrier(n_threads)

    def begin(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(begin, range(n_threads)))


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    return load(compile_cython(tmp_path_factory.mktemp("cython"), "search", CYTHON), "search")


def test_the_cython_example_finds_what_kneighbors_finds_from_8_threads(search):
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((3000, 10)), rng.standard_normal((64, 10))
    for algorithm in ("brute", "filter", "cells", "tree"):
        model = fastclf.NearestNeighbors(algorithm=algorithm).fit(X)
        embedded, expected = fastclf.embed(model), model.kneighbors(queries, n_neighbors=3)

        def work(number, embedded=embedded):
            return [search.search(embedded, np.ascontiguousarray(queries[number::8]), 3) for _ in range(5)]

        for number, found in enumerate(from_threads(work)):
            for distance, index in found:
                assert np.array_equal(distance, expected[0][number::8])
                assert np.array_equal(index, expected[1][number::8])


def test_the_cython_example_refuses_rows_of_another_length_and_too_many_neighbours(search):
    embedded = fastclf.embed(fastclf.NearestNeighbors().fit(np.eye(5)))
    with pytest.raises(ValueError, match="3 columns"):
        search.search(embedded, np.zeros((2, 3)), 1)
    with pytest.raises(ValueError, match="status 2"):
        search.search(embedded, np.zeros((2, 5)), 6)


def test_a_module_that_was_compiled_against_a_later_version_is_refused(tmp_path):
    header = tmp_path / "newer"
    header.mkdir()
    text = (Path(fastclf.get_include()) / "fastclf.h").read_text()
    (header / "fastclf.h").write_text(re.sub(r"#define FASTCLF_ABI \d+", "#define FASTCLF_ABI 99", text))
    made = compile_c(tmp_path, "score", SCORE, "-std=c99", "-I", str(header))
    with pytest.raises(ImportError, match=r"compiled for version 99 of fastclf's C interface; .* has version \d+"):
        load(made, "score")


def test_a_cython_module_that_was_compiled_against_a_later_version_is_refused(tmp_path):
    package = Path(fastclf.__file__).parent
    newer = tmp_path / "fastclf"
    newer.mkdir()
    (newer / "__init__.pxd").touch()
    text = (package / "capi.pxd").read_text()
    (newer / "capi.pxd").write_text(re.sub(r"FASTCLF_ABI = \d+", "FASTCLF_ABI = 99", text))
    with pytest.raises(ImportError, match=r"compiled for version 99 of fastclf's C interface; .* has version \d+"):
        load(compile_cython(tmp_path, "search", CYTHON), "search")


C_FLAGS = {
    "c99": (CC, ["-std=c99", "-pedantic"], ".c"),
    "c++17": (CXX, ["-std=c++17", "-Wno-missing-field-initializers"], ".cpp"),
}


@pytest.mark.parametrize("standard", C_FLAGS)
def test_the_c_example_scores_as_decision_function_from_8_threads(tmp_path, standard):
    compiler, flags, end = C_FLAGS[standard]
    score = load(compile_c(tmp_path, "score", SCORE, *flags, compiler=compiler, end=end), "score").score
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6))
    model = fastclf.LogisticRegression().fit(X, np.arange(500) % 3)
    embedded, expected = fastclf.embed(model), model.decision_function(X)
    for found in from_threads(lambda number: [score(embedded, X) for _ in range(5)]):
        assert all(np.array_equal(np.frombuffer(part).reshape(-1, 3), expected) for part in found)
    with pytest.raises(ValueError, match="status 1"):
        score(fastclf.embed(fastclf.GaussianNB().fit(X, np.arange(500) % 3)), X)
    with pytest.raises(TypeError, match=r"embedded is LogisticRegression\(\); the result of fastclf.embed is wanted"):
        score(model, X)


def test_the_cplusplus_example_labels_as_predict_does_from_8_threads(tmp_path):
    label = load(compile_c(tmp_path, "label", LABEL, "-std=c++17", "-pthread", compiler=CXX, end=".cpp"), "label").label
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6))
    models = fastclf.DecisionTreeClassifier(), fastclf.LinearSVC(), fastclf.SVC(kernel_dtype="float64")
    for model in models:
        embedded, expected = fastclf.embed(model.fit(X, np.arange(500) % 3)), model.predict(X)
        for found in from_threads(lambda number, embedded=embedded: label(embedded, X)):
            assert np.array_equal(embedded.classes[np.frombuffer(found, np.intp)], expected)
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        label(embedded, X)
    with pytest.raises(ValueError, match="no labels"):
        label(fastclf.embed(fastclf.NearestNeighbors().fit(X[:5])), X)


THREADS = r"""
#include <fastclf.h>

#include <thread>
#include <vector>

// disagreements(embedded, rows): of 8 threads that classify all rows again and again, each holding a reference
static PyObject *disagreements(PyObject *, PyObject *args)
{
    PyObject *embedded;
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "Oy*", &embedded, &rows)) return nullptr;
    fastclf_model *model = fastclf->take(embedded);
    if (model == nullptr) return nullptr;
    const Py_ssize_t d = fastclf->n_features(model);
    const Py_ssize_t n = rows.len / (Py_ssize_t)sizeof(double) / d;
    const double *x = static_cast<const double *>(rows.buf);
    std::vector<std::vector<Py_ssize_t>> codes(8, std::vector<Py_ssize_t>(n));
    std::vector<int> status(8, -1);
    Py_BEGIN_ALLOW_THREADS
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++) {
        fastclf->retain(model);
        threads.emplace_back([&, t] {
            std::vector<char> scratch(fastclf->scratch_size(model, n, 1));
            for (int turn = 0; turn < 20; turn++) {
                status[t] = fastclf->classify_d(model, x, n, codes[t].data(), scratch.data());
                for (Py_ssize_t i = 0; i < n; i++) {
                    Py_ssize_t code;
                    fastclf->classify_d(model, x + i * d, 1, &code, scratch.data());
                    if (code != codes[t][i]) status[t] = 100;
                }
            }
            fastclf->release(model);
        });
    }
    for (std::thread &thread : threads) thread.join();
    Py_END_ALLOW_THREADS
    fastclf->release(model);
    PyBuffer_Release(&rows);
    PyObject *found = PyList_New(0);
    for (int t = 0; t < 8; t++) {
        const char *bytes = reinterpret_cast<const char *>(codes[t].data());
        PyObject *written = PyBytes_FromStringAndSize(bytes, n * (Py_ssize_t)sizeof(Py_ssize_t));
        PyObject *item = Py_BuildValue("iN", status[t], written);
        PyList_Append(found, item);
        Py_DECREF(item);
    }
    return found;
}

static PyMethodDef methods[] = {
    {"disagreements", disagreements, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "threads", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_threads(void) { return fastclf_import() < 0 ? nullptr : PyModule_Create(&module); }
"""


def test_a_cplusplus_program_classifies_as_predict_from_8_threads_of_its_own(tmp_path):
    threads = load(compile_c(tmp_path, "threads", THREADS, "-std=c++17", compiler=CXX, end=".cpp"), "threads")
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((200, 6)))
    y = (X[:, 0] > 0.6).astype(int) + (X[:, 1] > 0.9)
    for model in (
        fastclf.LeastSquaresClassifier(),
        fastclf.GaussianNB(),
        fastclf.MultinomialNB(),
        fastclf.DecisionTreeClassifier(),
    ):
        expected = model.fit(X, y).predict(X)
        for status, codes in threads.disagreements(fastclf.embed(model), X):
            assert status == 0
            assert np.array_equal(model.classes_[np.frombuffer(codes, np.intp)], expected)


RUN_SANITIZED = """
import numpy as np, fastclf, importlib.util, sys
def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
score, threads = load(sys.argv[1], "score"), load(sys.argv[2], "threads")
X = np.random.default_rng(0).standard_normal((37, 5))
model = fastclf.LeastSquaresClassifier().fit(X, np.arange(37) % 3)
found = np.frombuffer(score.score(fastclf.embed(model), X)).reshape(-1, 3)
assert np.array_equal(found, model.decision_function(X))
for model in (model, fastclf.DecisionTreeClassifier().fit(X, np.arange(37) % 3)):
    for status, codes in threads.disagreements(fastclf.embed(model), X):
        assert status == 0 and np.array_equal(np.frombuffer(codes, np.intp), model.predict(X))
print("clean")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a sanitizer cannot be loaded before Python")
def test_programs_that_embed_run_clean_under_sanitizers(tmp_path):
    runtime = subprocess.run([CC, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    sanitize = SANITIZE if os.path.isabs(runtime) else []
    score = compile_c(tmp_path, "score", SCORE, "-std=c99", *sanitize)
    threads = compile_c(tmp_path, "threads", THREADS, "-std=c++17", *sanitize, compiler=CXX, end=".cpp")
    preloaded = {}
    if sanitize:
        standard = subprocess.run([CXX, "-print-file-name=libstdc++.so"], capture_output=True, text=True).stdout.strip()
        preloaded = {"LD_PRELOAD": f"{runtime} {standard}", "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, "-P", "-c", RUN_SANITIZED, str(score), str(threads)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | preloaded)
    assert result.stdout == "clean\n", result.stderr


BLOCKS = """
# cython: language_level=3
from fastclf.capi cimport axpy_d, dot_d, heap_begin, heap_push, heap_sort, perceptron_epoch_d, require_abi
from libc.stdint cimport int64_t

require_abi()


def work(double[::1] x, double[::1] y, double[::1] distance, Py_ssize_t[::1] index):
    cdef Py_ssize_t i
    cdef double found
    with nogil:
        axpy_d(x.shape[0], 2, &x[0], &y[0])
        found = dot_d(&x[0], &y[0], x.shape[0])
        heap_begin(&distance[0], &index[0], distance.shape[0])
        for i in range(x.shape[0]):
            heap_push(&distance[0], &index[0], distance.shape[0], x[i], i)
        heap_sort(&distance[0], &index[0], distance.shape[0])
    return found


def learn(const double[:, ::1] X, const int[::1] code, double[::1] w):
    cdef double b = 0
    cdef int64_t mistakes = 0
    with nogil:
        perceptron_epoch_d(&X[0, 0], X.shape[0], X.shape[1], &code[0], NULL, 1, True, &w[0], &b, &mistakes)
    return b, mistakes
"""


def test_building_blocks_work_inside_cython_without_the_gil(tmp_path):
    blocks = load(compile_cython(tmp_path, "blocks", BLOCKS), "blocks")
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 300))
    distance, index = np.empty(7), np.empty(7, np.intp)
    expected = x @ (y + 2 * x)
    assert blocks.work(x, y, distance, index) == pytest.approx(expected)
    assert np.array_equal(index, np.argsort(x)[:7])
    assert np.array_equal(distance, np.sort(x)[:7])
    X, w = rng.standard_normal((100, 8)), np.zeros(8)
    code = (X[:, 0] > 0).astype(np.intc)
    b, mistakes = blocks.learn(X, code, w)
    model = fastclf.Perceptron(shuffle=False, tol=None, max_iter=1).fit(X, code)
    assert np.array_equal(w, model.coef_[0])
    assert (b, mistakes > 0) == (model.intercept_[0], True)


def test_the_numba_example_runs_as_it_stands():
    exec(compile(NUMBA, "EMBEDDING.md", "exec"), {})


def test_numba_code_gets_what_the_methods_return_from_8_threads():
    import numba

    from fastclf import numba as compiled

    @numba.njit(nogil=True)
    def search(embedded, queries, distance, index):
        status = np.zeros(len(queries), np.int64)
        for i in range(len(queries)):
            scratch = compiled.make_scratch(embedded, 1, distance.shape[1])
            part = slice(i, i + 1)
            status[i] = compiled.nearest(embedded, queries[part], distance[part], index[part], scratch)
        return status.max()

    @numba.njit(nogil=True)
    def score(embedded, rows, out, codes):
        scratch = compiled.make_scratch(embedded, len(rows))
        return compiled.decide(embedded, rows, out, scratch) + compiled.classify(embedded, rows, codes, scratch)

    @numba.njit(nogil=True)
    def leaves(embedded, rows, leaf):
        return compiled.apply(embedded, rows, leaf)

    @numba.njit
    def blocks(X, Q, out, y):
        compiled.axpy(2.0, X[0], y)
        scratch = np.empty(10_000, np.uint8)
        return compiled.squared_distances(X, Q, out, scratch), compiled.dot(X[0], X[1])

    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((1000, 6)), rng.standard_normal((50, 6))
    model = fastclf.NearestNeighbors(algorithm="tree").fit(X)
    embedded, expected = fastclf.embed(model), model.kneighbors(queries, n_neighbors=4)

    def work(number):
        distance, index = np.empty((50, 4)), np.empty((50, 4), np.intp)
        return search(embedded, queries, distance, index), distance, index

    work(0)
    for status, distance, index in from_threads(work):
        assert status == 0
        assert np.array_equal(distance, expected[0])
        assert np.array_equal(index, expected[1])
    assert search(embedded, queries[:, :5].copy(), np.empty((50, 4)), np.empty((50, 4), np.intp)) == 2

    linear = fastclf.LeastSquaresClassifier().fit(X, np.arange(1000) % 3)
    for rows in (X, X.astype(np.float32)):
        out, codes = np.empty((1000, 3)), np.empty(1000, np.intp)
        assert score(fastclf.embed(linear), rows, out, codes) == 0
        assert np.array_equal(out, linear.decision_function(rows))
        assert np.array_equal(linear.classes_[codes], linear.predict(rows))
    tree = fastclf.DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0])
    leaf = np.empty(1000, np.int64)
    assert leaves(fastclf.embed(tree), X, leaf) == 0
    assert np.array_equal(leaf, tree.apply(X))
    out, y = np.empty((50, 1000)), np.zeros(6)
    status, product = blocks(X, queries, out, y)
    assert status == 0
    assert np.allclose(out, ((queries[:, None] - X) ** 2).sum(axis=2))
    assert np.array_equal(y, 2 * X[0])
    assert product == pytest.approx(X[0] @ X[1])
    with pytest.raises(TypeError, match="called from Python"):
        compiled.dot(y, y)
    with pytest.raises(numba.core.errors.TypingError, match="C-contiguous"):
        leaves(fastclf.embed(tree), np.asfortranarray(X), leaf)
