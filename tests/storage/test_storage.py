"""Files: the loaded object equals the saved one, damage is reported, and a file cannot do harm."""

import copy
import ctypes
import math
import os
import pickle
import stat
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas
import pytest
from every_estimator import same
from forge import assemble, parts
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import base

import fastclf
from fastclf import (
    KNeighborsClassifier,
    KNeighborsDensity,
    KNeighborsRegressor,
    NearestNeighbors,
    load,
    save,
)
from fastclf.neighbors import admit, scan
from fastclf.storage import file, state

pytestmark = pytest.mark.once

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (60, 3)).astype(np.float32)
Y = np.arange(60) % 3
QUERIES = RNG.standard_normal((20, 3)) + 4
WEIGHT = np.arange(60) % 4 / 2


def as_bytes(X):
    return np.packbits(X > 4, axis=1)


FITTED = {
    "search": lambda: NearestNeighbors(radius=np.inf, n_jobs=1).fit(X),
    "search, cosine, float64": lambda: NearestNeighbors(metric="cosine").fit(X.astype(float) + 0.5),
    "search, dot": lambda: NearestNeighbors(metric="dot").fit(X),
    "search, weighted minkowski": lambda: NearestNeighbors(p=3, metric_params={"w": [1, 0.1, 2]}).fit(X),
    "search, table": lambda: NearestNeighbors().fit(pandas.DataFrame(X, columns=["a", "ü", "\U0001f600"])),
    "search, filter": lambda: NearestNeighbors(n_neighbors=3, radius=2.0, algorithm="filter").fit(X),
    "search, cells": lambda: NearestNeighbors(n_neighbors=3, radius=2.0, algorithm="cells").fit(X),
    "search, filter, manhattan": lambda: NearestNeighbors(n_neighbors=3, p=1, algorithm="filter").fit(X),
    "search, bits": lambda: NearestNeighbors(radius=0.4, metric="hamming").fit(X > 4),
    "search, bits given": lambda: NearestNeighbors(metric="jaccard", metric_params={"n_bits": 3}).fit(as_bytes(X)),
    "search, sparse": lambda: NearestNeighbors(radius=2.0).fit(csr_array(X * (X > 3))),
    "search, sparse, cosine": lambda: NearestNeighbors(metric="cosine").fit(csr_array(X)),
    "search, sparse, without entries": lambda: NearestNeighbors(metric="dot").fit(csr_array(X * 0)),
    "search, sparse, removed": lambda: NearestNeighbors(p=1).fit(csr_array(X)).remove([5, 7]),
    "search, missing": lambda: NearestNeighbors(radius=3.0, metric="nan_euclidean").fit(np.where(X > 6, np.nan, X)),
    "search, missing, all added": lambda: (
        NearestNeighbors(metric="nan_euclidean").fit(X[:2]).partial_fit(np.where(X > 6, np.nan, X)).remove([0, 1])
    ),
    "search, tree": lambda: NearestNeighbors(radius=2.0, algorithm="tree").fit(X),
    "classes": lambda: KNeighborsClassifier(np.int64(3), weights="distance", ties="distance").fit(X, Y, WEIGHT),
    "classes, several": lambda: KNeighborsClassifier(p=np.float32(1)).fit(X, np.column_stack([Y, Y % 2 * 7])),
    "numbers": lambda: KNeighborsRegressor(metric="chebyshev").fit(X, Y / 3),
    "numbers, several": lambda: KNeighborsRegressor().fit(X, X / 3, WEIGHT),
    "density": lambda: KNeighborsDensity(working_memory=0.1).fit(X, sample_weight=WEIGHT),
}
ASKED = {"search, bits": QUERIES > 4, "search, bits given": as_bytes(QUERIES)}
LABELS = {
    "words": np.array(["a", "bb", "ü\U0001f600"]),
    "bytes": np.array([b"a", b"bb", b"\xff"]),
    "objects": np.array(["a", "bb", "\ud800"], dtype=object),
    "objects that are numbers": np.array([1, 2**80, -3.5], dtype=object),
    "bools": np.array([True, False, True]),
    "small ints": np.array([-1, 0, 127], dtype=np.int8),
    "large ints": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "whole floats": np.array([0.0, 1e300, -5.0]),
    "days": np.array(["2020-02-29", "1999-12-31", "2000-01-01"], dtype="M8[D]"),
    "durations": np.array([1, 5, -7], dtype="m8[25s]"),
}


def answers(model, queries=QUERIES):
    """All answers of a model."""
    for name in ("kneighbors", "radius_neighbors", "predict", "predict_proba", "score_samples"):
        if hasattr(model, name):
            for own in (queries, None):
                answer = getattr(model, name)(own)
                yield from answer if isinstance(answer, (tuple, list)) else [answer]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fclf"


def attributes(header):
    return header["estimator"]["object"][1]


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_is_loaded_is_what_was_saved(kind, path):
    model = FITTED[kind]()
    assert save(model, path) is None
    loaded = load(path, verify=True)
    assert same(model, loaded)
    assert same(model.get_params(), loaded.get_params())
    queries = ASKED.get(kind, QUERIES)
    assert all(map(same, answers(model, queries), answers(loaded, queries)))


@pytest.mark.parametrize("kind", FITTED)
def test_a_loaded_model_saves_the_same_file(kind, path, tmp_path):
    save(FITTED[kind](), path)
    save(load(str(path)), tmp_path / "other")
    assert path.read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind, path):
    model = KNeighborsClassifier(1).fit(X, LABELS[kind][Y])
    save(model, path)
    loaded = load(path)
    assert same(model.classes_, loaded.classes_)
    assert same(model.predict(QUERIES), loaded.predict(QUERIES))


def test_a_loaded_model_is_cloned_fitted_copied_and_pickled_as_any_other(path):
    model = FITTED["classes"]()
    save(model, path)
    loaded = load(path)
    assert same(base.clone(loaded).get_params(), model.get_params())
    for other in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert all(map(same, answers(model), answers(other)))
    loaded.fit(X + 1, Y)
    assert all(map(same, answers(loaded), answers(base.clone(model).fit(X + 1, Y))))


def test_arrays_are_read_only_maps_on_cache_lines_and_shared_ones_are_stored_once(path):
    save(NearestNeighbors(p=3, metric_params={"w": np.array([1.0, 2.0, 3.0])}).fit(X), path)
    loaded = load(path)
    assert loaded.metric_params["w"] is loaded._scan.metric.w is loaded.effective_metric_params_["w"]
    assert len(parts(path.read_bytes())[0]["arrays"]) == 2
    for array in (loaded._scan.X, loaded._scan.metric.w):
        assert isinstance(array, np.memmap)
        assert Path(array.filename) == path
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_opening_reads_no_rows(path):
    save(NearestNeighbors().fit(X), path)
    header, _ = parts(path.read_bytes())
    n = 1 << 25
    attributes(header)["n_samples_fit_"] = n
    header["arrays"] = [["<f4", [n, 3 * 64]]]
    attributes(header)["n_features_in_"] = 3 * 64
    content = assemble(header, b"")
    path.write_bytes(content)
    os.truncate(path, len(content) + 4 * n * 3 * 64)  # 26 GB of zeros, which take no space on disk
    tracemalloc.start()
    model = load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    assert model._scan.X[n // 2].sum() == 0


def test_saving_a_memory_map_takes_little_memory(path, tmp_path):
    rows = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1 << 18, 64))
    model = NearestNeighbors(algorithm="brute").fit(rows)
    tracemalloc.start()
    save(model, path)
    assert tracemalloc.get_traced_memory()[1] < 4 * file._CHUNK < rows.nbytes
    tracemalloc.stop()
    assert path.stat().st_size > rows.nbytes


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=[])),
    st.floats(width=32).map(np.float32),
    st.integers(-5, 5).map(np.int16),
    st.booleans().map(np.bool_),
    st.integers(-(2**62), 2**62).map(lambda i: np.datetime64(i, "us")),
)


@st.composite
def arrays(draw):
    """Arrays of every type and order of bytes, contiguous in C or not."""
    dtype = draw(st.sampled_from(["?", "i1", "u8", "f2", "f4", "f8", ">i4", "U3", ">U2", "S4", "M8[ms]", "m8[7D]"]))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    array = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    return draw(st.sampled_from([array, array.T, array[..., ::-1] if shape else array]))


values = st.recursive(
    scalars | arrays(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=values)
def test_every_value_that_is_taken_comes_back(value, tmp_path_factory):
    model = NearestNeighbors().fit(X).set_params(metric_params={"value": value})
    path = tmp_path_factory.getbasetemp() / "value.fclf"
    save(model, path)
    assert same(value, load(path, verify=True).metric_params["value"])


@pytest.mark.parametrize("dtype", ["f4", "i8", "M8[s]"])
def test_a_file_is_little_endian_and_is_read_in_the_order_of_the_machine(dtype):
    array = np.arange(6).astype(dtype)
    other = array.astype(array.dtype.newbyteorder("S"))
    little = array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert b"".join(file._pieces(array, 3)) == b"".join(file._pieces(other, 3)) == bytes(3) + little
    # these arrays are in the other byte order than this machine's
    read = state.view(np.frombuffer(other.tobytes(), np.uint8), other.dtype, (6,), 0, other.nbytes)
    assert same(array, read)
    assert not read.flags.writeable


class Index:
    """An index class that the library does not know yet."""

    def __init__(self, X):
        self.X, self.codes, self.scale = X, (X > 0).astype(np.int8), np.float32(0.1)
        self.metric = admit.resolve_metric("euclidean")
        self.plain = scan.Scan(X, admit.resolve_metric("cosine"))
        self.nearest, self.checked = [(1, None), [float("nan")]], 0

    def _check_state(self):
        self.checked += 1


def test_an_index_joins_by_one_line(path, monkeypatch):
    model = NearestNeighbors().fit(X)
    model._scan._given = Index(model._scan.X)
    with pytest.raises(TypeError, match=r"_scan._given is of type Index, which a file cannot hold"):
        save(model, path)
    monkeypatch.setattr(scan, "Index", Index, raising=False)
    monkeypatch.setitem(state._CLASSES, "Index", "neighbors.scan.Index")
    save(model, path)
    loaded = load(path)
    index = loaded._scan._given
    assert index.X is index.plain.X
    assert index.checked == 1
    index.checked = 0
    assert same(model, loaded)


def test_an_estimator_can_be_a_parameter_of_another(path):
    model = NearestNeighbors().fit(X)
    model.metric_params = {"fitted": FITTED["numbers"](), "not": KNeighborsClassifier(7)}
    save(model, path)
    inner = load(path).metric_params
    assert all(map(same, answers(inner["fitted"]), answers(FITTED["numbers"]())))
    assert repr(inner["not"]) == "KNeighborsClassifier(n_neighbors=7)"
    assert not hasattr(inner["not"], "n_features_in_")


def test_a_parameter_younger_than_the_file_has_its_default(path):
    save(KNeighborsClassifier(3).fit(X, Y), path)
    header, arrays = parts(path.read_bytes())
    del attributes(header)["ties"]
    path.write_bytes(assemble(header, arrays))
    assert same(load(path).get_params(), KNeighborsClassifier(3).get_params())


def fitted(**params):
    return KNeighborsClassifier(**params).fit(X, Y)


def with_attribute(value):
    model = fitted()
    model._extra = value
    return model


DOUBLES = ctypes.POINTER(ctypes.c_double)
COMPILED = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES, ctypes.c_ssize_t)(lambda q, x, d: 0.0)


class Own(KNeighborsClassifier):
    pass


holds_itself = []
holds_itself.append(holds_itself)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (lambda: 5, TypeError, "estimator is 5; a fitted estimator of fastclf is wanted"),
        (lambda: KNeighborsClassifier, TypeError, "estimator is <class .*; a fitted estimator of fastclf is wanted"),
        (lambda: KNeighborsClassifier(), ValueError, "This KNeighborsClassifier instance is not fitted yet"),
        (lambda: fitted(metric=math.dist), TypeError, "^metric is <built-in function dist>, a function, which a file"),
        (lambda: fitted(metric=COMPILED), TypeError, "^metric is <CFunctionType .*>, a function, which a file"),
        (lambda: fitted(weights=np.exp), TypeError, "^weights is <ufunc 'exp'>, a function, which a file cannot hold"),
        (lambda: fitted(callback=max), TypeError, "^callback is <built-in function max>, a function"),
        (lambda: Own().fit(X, Y), TypeError, "^Own is of type Own, which a file cannot hold"),
        (lambda: with_attribute({1}), TypeError, "^_extra is of type set, which a file cannot hold"),
        (lambda: with_attribute([0, {"a": 1j}]), TypeError, r"^_extra\[1\]\['a'\] is of type complex, which a file"),
        (lambda: with_attribute({1, 2}), TypeError, "^_extra is of type set, which a file cannot hold"),
        (lambda: with_attribute(np.array([{}])), TypeError, "^an entry of _extra is of type dict, which a file"),
        (lambda: with_attribute(np.zeros(2, "g")), TypeError, "^_extra is an array of dtype .*, which a file cannot"),
        (lambda: with_attribute(np.zeros(2, "i4,f4")), TypeError, "^_extra is an array of dtype .*, which a file"),
        (lambda: with_attribute(np.ma.zeros(2)), TypeError, "^_extra is of type MaskedArray, which a file cannot hold"),
        (lambda: with_attribute(holds_itself), ValueError, "holds itself; a file cannot hold that"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_in_one_sentence_and_nothing_is_written(model, error, words, path):
    with pytest.raises(error, match=words) as told:
        save(model(), path)
    assert "\n" not in str(told.value)
    assert not list(path.parent.iterdir())


def test_a_place_where_no_file_can_be_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^path is .*model, but there is no folder .*none$"):
        save(fitted(), tmp_path / "none" / "model")
    for action in (load, lambda path: save(fitted(), path)):
        with pytest.raises(ValueError, match=r"which is a directory; the path of a file is wanted$"):
            action(tmp_path)
        with pytest.raises(TypeError, match=r"^path is 5; a str or path-like is wanted$"):
            action(5)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no pipes with names")
def test_a_pipe_is_neither_read_nor_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for action in (load, lambda path: save(fitted(), path)):
        with pytest.raises(ValueError, match=r"not a file$"):
            action(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("failing", ["_flush", "_pieces"])
def test_a_write_that_fails_leaves_the_old_file(error, failing, path, monkeypatch):
    save(fitted(), path)
    before = path.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(file, failing, fail)
    with pytest.raises(type(error)):
        save(FITTED["numbers"](), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows replaces no mapped file")
def test_a_file_can_be_replaced_and_deleted_while_it_is_searched(path):
    model = FITTED["classes"]()
    save(model, path)
    first = load(path)
    save(FITTED["numbers"](), path)
    assert all(map(same, answers(model), answers(first)))
    assert isinstance(load(path), KNeighborsRegressor)
    save(first, path)
    again = load(path)
    save(again, path)
    path.unlink()
    assert all(map(same, answers(model), answers(again)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither file modes nor links for all")
def test_the_mode_follows_the_umask_and_a_link_stays_a_link(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    before = os.umask(0o027)
    try:
        save(fitted(), tmp_path / "link")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "link", path]


@pytest.mark.parametrize("dtype", [">i8", ">f4", ">U3", ">M8[D]", "<i2"])
def test_labels_keep_their_byte_order(tmp_path, dtype):
    y = np.array([0, 1, 0, 1]).astype(dtype)
    model = KNeighborsClassifier(1).fit(np.eye(4), y)
    save(model, tmp_path / "m.fclf")
    again = load(tmp_path / "m.fclf", verify=True)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(np.eye(4)).dtype == model.predict(np.eye(4)).dtype
    np.testing.assert_array_equal(again.predict(np.eye(4)), y)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="this platform has no longer floats")
def test_labels_that_no_file_can_hold_are_refused_by_fit(tmp_path):
    y = np.array([0, 1, 0, 1], np.longdouble)
    for cls in (fastclf.KNeighborsClassifier, fastclf.GaussianNB, fastclf.DecisionTreeClassifier, fastclf.LinearSVC):
        with pytest.raises(TypeError, match=r"y has dtype .*128; labels of at most 64 bits are wanted"):
            cls().fit(np.eye(4), y)
    with pytest.raises(TypeError, match="classes has dtype"):
        fastclf.GaussianNB().partial_fit(np.eye(4), y.astype(float), classes=y[:2])
    encoder = fastclf.OneHotEncoder().fit(y[:, None])
    save(encoder, tmp_path / "m.fclf")
    assert same(load(tmp_path / "m.fclf").categories_, encoder.categories_)
