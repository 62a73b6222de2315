"""Truncated, altered and malicious files: an error of one sentence or an answer, never an invalid memory access."""

import copy
import json
import math
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from every_estimator import same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from test_storage import X, assemble, attributes, parts

import fastclf
from fastclf import KNeighborsClassifier, NearestNeighbors, _simd, load, save
from fastclf.storage import state


# A small model with every kind of array that a search reads.
def small_model():
    small = np.array([[1.5, 2.0], [3.0, 0.5], [0.0, 1.0], [2.0, 2.0]], dtype=np.float32)
    return KNeighborsClassifier(2, metric="cosine").fit(small, ["a", "b", "b", "a"], [1, 0, 1, 2])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fclf"


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "model.fclf"
    save(small_model(), path)
    return path.read_bytes()


def use(path, may_refuse=(ValueError,), **options):
    """Load a file and use the model as far as possible; returns whether there was an answer."""
    told = None
    try:
        model = load(path, **options)
    except ValueError as error:
        told = str(error)
    if told is not None:
        assert str(path) in told
        assert "\n" not in told
        return False
    if _simd.build_info()["debug"]:
        before = small_model()._scan._given
        if not same(before.X, model._scan._given.X) or not same(before.metric.norm2, model._scan._given.metric.norm2):
            return True  # a debug build ends the process at a distance that is NaN
    with np.errstate(all="ignore"), suppress(*may_refuse):
        assert model.kneighbors([[1.0, 1.0]])[1].max() < 4
        assert len(model.predict([[1.0, 1.0], [2.0, 0.0], [0.0, 1.0]])) == 3
        assert model.predict_proba(None).shape[0] == 4
    return True


@pytest.mark.parametrize("verify", [False, True])
def test_a_file_with_any_byte_altered_is_refused_or_answers(small_file, path, verify):
    header_ends = 24 + struct.unpack("<8sIIII", small_file[:24])[2]
    for place in range(len(small_file)):
        for flip in (0x40, 0xFF):  # a change of the bit 0x40 can turn 1.5 into NaN
            altered = bytearray(small_file)
            altered[place] ^= flip
            path.write_bytes(altered)
            assert not use(path, verify=verify) or (place >= header_ends and not verify)


def test_a_file_cut_or_lengthened_anywhere_is_refused(small_file, path):
    for length in range(len(small_file)):
        path.write_bytes(small_file[:length])
        with pytest.raises(ValueError, match=r"model\.fclf (is cut short|is damaged|was not saved by fastclf)"):
            load(path)
    path.write_bytes(small_file + b"\0")
    with pytest.raises(ValueError, match=rf"the file has {len(small_file) + 1} bytes; {len(small_file)} are wanted"):
        load(path)


def test_a_file_of_a_newer_format_or_library_is_told(small_file, path):
    header, arrays = parts(small_file)
    path.write_bytes(assemble(header, arrays, version=2))
    with pytest.raises(
        ValueError, match=r"has format 2, but fastclf .* reads formats up to 1; a newer fastclf is wanted"
    ):
        load(path)
    header["library"], header["estimator"]["object"][0] = "9.0", "Oracle"
    path.write_bytes(assemble(header, arrays))
    with pytest.raises(
        ValueError,
        match=rf"holds a 'Oracle', which fastclf {fastclf.__version__} does not know \(written by fastclf 9.0,",
    ):
        load(path)


def containers(tree):
    """Every list and dict in a tree."""
    if isinstance(tree, (list, dict)):
        yield tree
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(item)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.sampled_from([2**31, 2**63, 2**64, -(2**63), 10**30])
    | st.sampled_from(
        ["", "<f8", "<f4", "|u1", "<i8", "<U1", "|b1", "O", "cosine", "Scan", "Metric", "save", "nan", "inf"]
    )
    | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["float", "scalar", "array", "objects", "tuple", "dict", "object", "X", "metric"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(data=st.data())
def test_a_header_altered_with_right_checksums_is_refused_or_answers(small_file, tmp_path_factory, data):
    header, arrays = parts(small_file)
    for _ in range(data.draw(st.integers(1, 3))):
        inner = data.draw(st.sampled_from([tree for tree in containers(header) if tree]))
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
        change = data.draw(st.sampled_from(["replace", "delete", "copy"]))
        if change == "delete":
            del inner[key]
        elif change == "copy":
            inner[key] = copy.deepcopy(data.draw(st.sampled_from(list(containers(header)))))
        else:
            inner[key] = data.draw(json_values)
    path = tmp_path_factory.getbasetemp() / "altered.fclf"
    path.write_bytes(assemble(header, arrays))
    use(path, may_refuse=(ValueError, TypeError, AttributeError, OverflowError))


def altered(small_file, change):
    header, arrays = parts(small_file)
    change(attributes(header), header["arrays"])
    return assemble(header, arrays)


def set_scan(attributes, **values):
    attributes["_scan"]["object"][1]["_given"]["object"][1].update(values)


def set_metric(attributes, **values):
    attributes["_scan"]["object"][1]["_given"]["object"][1]["metric"]["object"][1].update(values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, arrays: set_metric(a, norm2=None), "norm2 is a NoneType; an array of dtype float64 is wanted"),
        (lambda a, arrays: set_metric(a, norm2=a["_allowed"]), "norm2 is an array of dtype uint8"),
        (lambda a, arrays: set_metric(a, name="none"), "metric is 'none'; one of"),
        (lambda a, arrays: set_metric(a, w=a["_weight"]), r"w has shape \(4,\); \(2,\) is wanted"),
        (lambda a, arrays: set_metric(a, p={"float": "nan"}), "p is nan; a number above 0 is wanted"),
        (lambda a, arrays: set_metric(a, strange=1), "TypeError: .*strange"),
        (lambda a, arrays: set_scan(a, X=a["_codes"]), "X is an array of dtype int64"),
        (lambda a, arrays: set_scan(a, X=None), "X is a NoneType"),
        (lambda a, arrays: a.update(_scan=None), "_scan is a NoneType; a Segments is wanted"),
        (lambda a, arrays: a.update(n_samples_fit_=5), r"_scan has shape \(4, 2\); \(5, 2\) is wanted"),
        (
            lambda a, arrays: a.update(_allowed=a["_weight"]),
            "_allowed is an array of dtype float64; .* uint8 is wanted",
        ),
        (lambda a, arrays: a.update(_weight={"array": 99}), "the header names array 99; the file has"),
        (lambda a, arrays: a.update(_weight={"array": -1}), "the header names array -1; the file has"),
        (lambda a, arrays: a.update(_weight={"array": True}), "a bool; a int is wanted"),
        (lambda a, arrays: a.update(classes_={"objects": [[1], ["a"]]}), "_codes has an entry outside of 0 to 0"),
        (lambda a, arrays: a.update(classes_="ab"), r"_classes\[0\] is a str; an array is wanted"),
        (lambda a, arrays: a.update(classes_={"objects": [[3], ["a"]]}), "cannot reshape"),
        (lambda a, arrays: a.pop("_codes"), "_codes of the KNeighborsClassifier is missing"),
        (lambda a, arrays: a.pop("n_features_in_"), "instance is not fitted yet"),
        (lambda a, arrays: arrays[0].__setitem__(0, "|O"), r"the header names the dtype '\|O'"),
        (lambda a, arrays: arrays[0].__setitem__(1, [-1]), "the header has an array of an impossible shape"),
        (lambda a, arrays: arrays[0].__setitem__(1, [2**62, 4]), "the header has an array of an impossible shape"),
        (lambda a, arrays: arrays[0].__setitem__(1, [2**62, 0]), "the header has an array of an impossible shape"),
        (lambda a, arrays: arrays[0].__setitem__(1, [2**40]), "bytes; .* are wanted"),
        (lambda a, arrays: arrays[0].__setitem__(1, [True]), "a bool; a int is wanted"),
        (lambda a, arrays: arrays.append(["<f8", []]), "bytes; .* are wanted"),
        (lambda a, arrays: a.update(_weight={"scalar": ["object", "00"]}), "the header names the dtype 'object'"),
        (lambda a, arrays: a.update(_weight=1.5), "the header has the number 1.5"),
        (lambda a, arrays: a.update(_weight=math.nan), "the header has the number NaN"),
        (lambda a, arrays: a.update(_weight={"float": "0x1p99999"}), "OverflowError"),
        (lambda a, arrays: a.update(_weight={"object": ["save", {}]}), "the file holds a 'save', which"),
        (lambda a, arrays: a.update(_weight={"object": ["__version__", {}]}), "the file holds a '__version__', which"),
        (lambda a, arrays: a.update(_weight={"lambda": [1, 2]}), "an entry of no known kind"),
    ],
)
def test_every_lie_of_a_header_is_told(small_file, path, change, words):
    path.write_bytes(altered(small_file, change))
    with pytest.raises(ValueError, match=rf"model\.fclf is damaged: .*{words}"):
        load(path)


# Tests of the conditions on arrays that each index relies on


def change_first(path, array, entry, value):
    """Alter one entry of the array that an attribute refers to by {"array": number}, with right checksums."""
    header, arrays = parts(path.read_bytes())
    dtype, _, start, stop = list(state.layout(header["arrays"], 0))[array(given(attributes(header)))["array"]]
    altered = np.frombuffer(arrays[start:stop], dtype).copy()
    altered[entry] = value
    path.write_bytes(assemble(header, arrays[:start] + altered.tobytes() + arrays[stop:]))


def given(attributes):
    return attributes["_scan"]["object"][1]["_given"]["object"][1]


def inner(name, entry):
    return lambda index: index[name]["object"][1][entry]


def sparse_model():
    return NearestNeighbors(n_neighbors=3, metric="cosine").fit(csr_array(X * (X > 2)))


def bits_model():
    return NearestNeighbors(metric="jaccard").fit(X > 4)


@pytest.mark.parametrize(
    ("make", "array", "entry", "value", "words"),
    [
        (sparse_model, inner("X", "indptr"), 0, 1, "indptr has an entry outside of 0 to .*, or does not ascend"),
        (sparse_model, inner("X", "indptr"), 5, 2**62, "indptr has an entry outside of"),
        (sparse_model, inner("X", "indptr"), -1, 2**40, "indptr has an entry outside of"),
        (sparse_model, inner("X", "indptr"), 7, -1, "indptr has an entry outside of"),
        (sparse_model, inner("X", "indices"), 4, 3, "indices has an entry outside of 0 to 2"),
        (sparse_model, inner("X", "indices"), 4, -1, "indices has an entry outside of 0 to 2"),
        (sparse_model, inner("_columns", "start"), 1, 2**40, "start has an entry outside of"),
        (sparse_model, inner("_columns", "row"), 3, 60, "row has an entry outside of 0 to 59"),
        (sparse_model, inner("_columns", "row"), 3, -1, "row has an entry outside of 0 to 59"),
        (sparse_model, inner("_columns", "row"), 3, 0, "row does not ascend in each column"),
        (bits_model, lambda index: index["_ones"], 1, -1, "_ones has an entry outside of 0 to 3"),
        (bits_model, lambda index: index["_ones"], 1, 4, "_ones has an entry outside of 0 to 3"),
    ],
)
def test_every_index_that_a_kernel_follows_is_checked(make, array, entry, value, words, path):
    save(make(), path)
    change_first(path, array, entry, value)
    with pytest.raises(ValueError, match=rf"model\.fclf is damaged: {words}"):
        load(path)


@pytest.mark.parametrize(
    ("make", "lie", "words"),
    [
        (
            bits_model,
            lambda g: g["X"]["object"][1].update(n_bits=20),
            r"packed has shape \(60, 1\); \(60, 3\) is wanted",
        ),
        (bits_model, lambda g: g["X"]["object"][1].update(packed=g["_ones"]), "packed is an array of dtype int32"),
        (bits_model, lambda g: g.update(_ones=None), "metric 'jaccard' does not fit _ones"),
        (bits_model, lambda g: g.update(_ones=g["X"]["object"][1]["packed"]), "_ones is an array of dtype uint8"),
        (bits_model, lambda g: g.update(X=None), "X is a NoneType; a PackedRows is wanted"),
        (sparse_model, lambda g: g.update(X=None), "X is a NoneType; a Csr is wanted"),
        (sparse_model, lambda g: g.update(_columns=g["X"]), "_columns is a Csr; a Columns is wanted"),
        (
            sparse_model,
            lambda g: g["X"]["object"][1].update(data=g["metric"]["object"][1]["norm2"]),
            r"data has shape \(60,\)",
        ),
        (
            sparse_model,
            lambda g: g["_columns"]["object"][1].update(shift=g["_columns"]["object"][1]["value"]),
            "shift is an array of dtype float32",
        ),
        (
            sparse_model,
            lambda g: g["X"]["object"][1].update(indptr=g["_columns"]["object"][1]["start"]),
            r"shape \(60,\); \(3,\) is wanted",
        ),
        (
            sparse_model,
            lambda g: g["X"]["object"][1].update(n_columns=4),
            r"_columns has shape \(60, 3\); \(60, 4\) is wanted",
        ),
        (sparse_model, lambda g: g["X"]["object"][1].update(n_columns=2), "indices has an entry outside of 0 to 1"),
        (
            sparse_model,
            lambda g: g["metric"]["object"][1].update(norm2=None),
            "norm2 is a NoneType; an array of dtype float64 is wanted",
        ),
        (sparse_model, lambda g: g["metric"]["object"][1].update(name="hamming"), "metric is 'hamming'; one of"),
    ],
)
def test_every_lie_about_packed_and_sparse_rows_is_told(make, lie, words, path):
    save(make(), path)
    header, arrays = parts(path.read_bytes())
    lie(given(attributes(header)))
    path.write_bytes(assemble(header, arrays))
    with pytest.raises(ValueError, match=rf"model\.fclf is damaged: .*{words}"):
        load(path)


ADDRESS = {"object": ["Room", {"_buffer": None, "address": 1, "user_data": 0, "takes_user_data": True}]}


@pytest.mark.parametrize("lie", [{"compiled": ADDRESS}, {"compiled": ADDRESS, "triangle": True}, {"function": ADDRESS}])
@pytest.mark.parametrize("where", ["given", "added"])
def test_no_address_from_a_file_is_called(lie, where, path):
    model = NearestNeighbors().fit(X)
    save(model if where == "given" else model.partial_fit(X).remove(np.arange(60)), path)
    header, arrays = parts(path.read_bytes())
    scan = attributes(header)["_scan"]["object"][1]
    assert (scan["_given"] is None) == (where == "added")
    (scan if where == "added" else given(attributes(header)))["metric"]["object"][1].update(lie)
    path.write_bytes(assemble(header, arrays))
    with pytest.raises(ValueError, match=r"model\.fclf is damaged: metric is a Metric or holds a function;"):
        load(path)


def test_a_header_nested_without_end_is_told(small_file, path):
    header, arrays = parts(small_file)
    attributes(header)["extra"] = "NEST"
    text = json.dumps(header).replace('"NEST"', "[" * 100_000 + "]" * 100_000).encode()
    start = struct.pack("<8sIII", b"\x89fclf\r\n\x1a", 1, len(text), zlib.crc32(arrays))
    path.write_bytes(start + struct.pack("<I", zlib.crc32(start + text)) + text + arrays)
    with pytest.raises(ValueError, match=r"is damaged: RecursionError"):
        load(path)


@pytest.mark.parametrize(
    ("labels", "value", "words"),
    [
        ([False, True], b"\x02", "an array of bools holds a byte above 1"),
        (["a", "b"], struct.pack("<I", 0x110000), "an array of strings holds an invalid character"),
    ],
)
def test_an_array_of_values_that_its_type_does_not_have_is_told(labels, value, words, path):
    save(KNeighborsClassifier(1).fit([[0.0], [1.0]], labels), path)
    header, arrays = parts(path.read_bytes())
    place = list(state.layout(header["arrays"], 0))[attributes(header)["classes_"]["array"]][2]
    path.write_bytes(assemble(header, arrays[:place] + value + arrays[place + len(value) :]))
    with pytest.raises(ValueError, match=words):
        load(path)


def test_label_codes_outside_of_the_classes_are_told(small_file, path):
    header, arrays = parts(small_file)
    place = list(state.layout(header["arrays"], 0))[attributes(header)["_codes"]["array"]][2]
    for code in (2, -1, 2**62, -(2**63)):
        path.write_bytes(assemble(header, arrays[:place] + struct.pack("<q", code) + arrays[place + 8 :]))
        with pytest.raises(ValueError, match="_codes has an entry outside of 0 to 1"):
            load(path)


@pytest.mark.skipif(
    _simd.build_info()["debug"], reason="a debug build ends the process at a distance that is no number"
)
@pytest.mark.parametrize("n_queries", [1, 30])
@pytest.mark.parametrize("metric", ["euclidean", "chebyshev", "minkowski", "cosine", "dot", "hamming"])
def test_rows_that_became_nan_after_fit_are_told_and_never_an_index(metric, n_queries):
    rows = X[:8] + 1
    model = NearestNeighbors(n_neighbors=8, metric=metric, p=3).fit(rows)
    rows[3] = np.nan
    indices = np.arange(8)[None]
    with suppress(ValueError):
        indices = model.kneighbors(X[:n_queries] + 1)[1]
    assert (np.sort(indices, axis=1) == np.arange(8)).all()


@pytest.mark.skipif(
    _simd.build_info()["debug"], reason="a debug build ends the process at a distance that is no number"
)
def test_a_query_without_enough_rows_says_why():
    rows = X[:8] + 1
    model = NearestNeighbors(n_neighbors=8).fit(rows)
    rows[3] = np.nan
    with pytest.raises(ValueError, match="X, or what was computed from it, has changed since fit"):
        model.kneighbors(X[:1])
