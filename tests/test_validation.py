"""Validation of input: accepted values, refused values, and messages."""

import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from every_estimator import ESTIMATORS, METHODS, answer, same

import fastclf
from fastclf import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from fastclf._validation import as_matrix, encode_labels

pytestmark = pytest.mark.once

X = np.random.default_rng(0).integers(0, 9, (60, 3))
Y = np.arange(60) % 3


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def memory_map(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


CONTAINERS = {
    "list": lambda x, _: x.tolist(),
    "float32": lambda x, _: x.astype("f4"),
    "float16": lambda x, _: x.astype("f2"),
    "longdouble": lambda x, _: x.astype("g"),
    "int8": lambda x, _: x.astype("i1"),
    "uint64": lambda x, _: x.astype("u8"),
    "big endian": lambda x, _: x.astype(">f8"),
    "Fortran order": lambda x, _: np.asfortranarray(x.astype("f8")),
    "strided": lambda x, _: np.repeat(np.repeat(x.astype("f4"), 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda x, _: x.astype("f8")[::-1][::-1],
    "read-only": lambda x, _: np.frombuffer(x.astype("f8").tobytes()).reshape(x.shape),
    "memory map": lambda x, tmp_path: memory_map(tmp_path, x.astype("f4")),
    "DLPack": lambda x, _: OnlyDLPack(x.astype("f4")),
    "pandas": lambda x, _: pandas.DataFrame(x),
    "pandas nullable": lambda x, _: pandas.DataFrame(x).astype("Int64"),
    "polars": lambda x, _: polars.DataFrame(x),
    "pyarrow": lambda x, _: pyarrow.table({f"c{i}": x[:, i] for i in range(x.shape[1])}),
    "object": lambda x, _: x.astype(object),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
def test_every_container_of_numbers_gives_the_same_answer(kind, tmp_path):
    expected = KNeighborsClassifier(4).fit(X.astype(float), Y).predict_proba(X[:9].astype(float) + 0.25)
    model = KNeighborsClassifier(4).fit(CONTAINERS[kind](X, tmp_path), Y)
    np.testing.assert_array_equal(model.predict_proba(X[:9] + 0.25), expected)
    queries = CONTAINERS[kind](X, tmp_path)
    np.testing.assert_array_equal(NearestNeighbors().fit(X).kneighbors(queries)[1], model.kneighbors(X, 5)[1])


def test_arrays_in_native_form_are_not_copied(tmp_path):
    for array in (X.astype("f4"), X.astype("f8"), memory_map(tmp_path, X.astype("f4"))):
        assert np.shares_memory(as_matrix(array, "NearestNeighbors"), array)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"])[Y % 2],
        (Y % 2).astype(bool),
        pandas.Series(np.array(["no", "yes"])[Y % 2]),
        pandas.Categorical(np.array(["no", "yes"])[Y % 2]),
        polars.Series(np.array(["no", "yes"])[Y % 2]),
        np.array(["no", "yes"], dtype=object)[Y % 2],
        [["no", "yes"][i] for i in Y % 2],
        Y % 2 - 5.0,
    ],
    ids=["str", "bool", "pandas", "categorical", "polars", "object", "list", "whole floats"],
)
def test_labels_come_back_as_they_were(labels):
    model = KNeighborsClassifier(1).fit(X + np.arange(60)[:, None] * 100, labels)
    assert model.predict(X + np.arange(60)[:, None] * 100).tolist() == np.asarray(labels).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        pandas.Series(["1", "2"] * 30),
        pandas.Series(["1", "2"] * 30, dtype="string"),
        pandas.Series(["1", "2"] * 30, dtype="category"),
        pandas.Series([2**60, 2**60 + 1] * 30, dtype=object),
        pandas.Series(pandas.date_range("2020", periods=2, tz="UTC").tolist() * 30),
        pyarrow.array(["1", "2"] * 30),
        pyarrow.array(["a", "b"] * 30).dictionary_encode(),
        pyarrow.array([True, False] * 30),
        pyarrow.chunked_array([["a", "b"] * 15] * 2),
    ],
    ids=["str", "string", "categorical", "object", "times", "pyarrow", "dictionary", "pyarrow bool", "chunked"],
)
def test_labels_of_a_table_stay_what_they_are(labels):
    rows = np.arange(60.0)[:, None]
    model = KNeighborsClassifier(1).fit(rows, labels)
    assert model.predict(rows).tolist() == np.asarray(labels).tolist()
    assert model.score(rows, labels) == 1


def test_classes_and_codes_of_many_labels_are_those_of_one_sort(rng):
    for labels in (rng.integers(-9, 9, 100_000), rng.integers(0, 10**6, 100_000).astype(str), rng.random(50_000) < 0.5):
        for came, wanted in zip(encode_labels(labels), np.unique(labels, return_inverse=True)):
            np.testing.assert_array_equal(came, wanted)


def test_rows_that_are_copied_in_pieces_are_copied_whole(rng):
    X = rng.integers(-100, 100, (70_001, 33))
    for array in (np.asfortranarray(X, float), X.astype(np.float16), X, X.astype(">f8"), X.astype(object)[:5000]):
        copied = as_matrix(array, "NearestNeighbors")
        assert copied.flags.c_contiguous
        assert copied.dtype == (np.float32 if array.dtype == np.float16 else np.float64)
        np.testing.assert_array_equal(copied, X[: len(array)])


def test_column_names_are_remembered_and_compared():
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = KNeighborsClassifier().fit(table, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(table[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")


def test_assigning_none_to_the_feature_names_removes_them_as_tools_do():
    model = KNeighborsClassifier().fit(pandas.DataFrame(X, columns=["a", "b", "c"]), Y)
    model.feature_names_in_ = None
    assert not hasattr(model, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(model.predict(X), KNeighborsClassifier().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, np.nan, 2.0]], r"Input X contains NaN \(row 0, column 1\)"),
        ([[1.0, 0.0, 2.0], [np.inf, 0, 0]], r"Input X contains infinity \(row 1, column 0\)"),
        ([[1.0, "a", 2.0]], "X holds something that is not a number"),
        ([[1.0, None, 2.0]], "not a number|NaN"),
        ([[1.0, {}, 2.0]], "X holds something that is not a number"),
        ([[1j, 0, 2.0]], "Complex data not supported"),
        ([1.0, 2.0, 3.0], "Reshape your data"),
        (5.0, "Reshape your data"),
        ([[[1.0]]], r"X has shape \(1, 1, 1\)"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([[1.0, 2.0], [1.0]], "rows of equal length are wanted"),
        (np.array(["2020-01-01"], dtype="M8[D]")[:, None], "dtype datetime64"),
        ([[1.0, 2.0]], "X has 2 features, but NearestNeighbors is expecting 3 features"),
        (pandas.DataFrame({"a": [1.0], "b": [None], "c": [2.0]}), "contains NaN"),
        ("abc", "Reshape your data"),
        (pandas.DataFrame({"a": [1, pandas.NA]}, dtype="Int64").assign(b=1, c=2), r"NaN \(row 1, column 'a'\)"),
        (pandas.DataFrame({"a": [1.0], "b": ["x"], "c": [2.0]}), r"not a number \(row 0, column 'b': could not"),
        (np.ma.masked_equal([[1.0, 2.0, 3.0]], 2.0), "X is an array with masked entries"),
        (pandas.DataFrame({"a": [1.0], "b": pandas.Timestamp("2020"), "c": [2.0]}), r"number \(row 0, column 'b'"),
        (pyarrow.table({"a": [1.0], "b": pyarrow.array([1], pyarrow.date32())}), r"number \(row 0, column 'b'"),
    ],
)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_bad_rows_get_one_sentence(rows, sentence):
    model = NearestNeighbors().fit(X)
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.kneighbors(rows)
    if "expecting" not in sentence:
        with pytest.raises((ValueError, TypeError), match=sentence):
            NearestNeighbors().fit(rows)


def test_a_sparse_matrix_is_refused_by_name():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="X is a sparse matrix; a dense array is wanted"):
        NearestNeighbors(metric="jaccard").fit(csr_array(X))


def test_a_nan_deep_in_a_large_array_is_found():
    large = np.zeros((300_000, 3), np.float32)
    large[299_999, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(row 299999, column 2\)"):
        NearestNeighbors().fit(large)
    large[299_999, 2] = 0
    large[:] = np.float32(3e38)  # the values are finite, but their sum overflows
    NearestNeighbors().fit(large)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed"),
        (np.zeros((60, 0)), "y has shape"),
        (np.full(60, np.nan), "Input y contains NaN"),
        (np.full(60, np.inf), "Input y contains infinity"),
        (np.zeros(60, complex), "Complex data not supported"),
    ],
)
def test_bad_targets_get_one_sentence(y, sentence):
    for estimator in (KNeighborsClassifier(), KNeighborsRegressor()):
        with pytest.raises((ValueError, TypeError), match=sentence):
            estimator.fit(X, y)


def test_importing_the_estimators_loads_nothing_but_numpy():
    code = (
        "import sys, fastclf; fastclf.KNeighborsClassifier; fastclf.cross_validate;"
        "print([m for m in ('sklearn', 'scipy', 'matplotlib', 'pandas', 'tqdm') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_scikit_learn_everything_works():
    code = (
        "import sys; sys.modules['sklearn'] = sys.modules['scipy'] = None\n"
        "import fastclf\n"
        "try: fastclf.KNeighborsClassifier().predict([[1]])\n"
        "except (ValueError, AttributeError) as error: print(error)\n"
        "print(fastclf.KNeighborsClassifier(1).fit([[1], [2]], ['a', 'b']).predict([[3]]))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "not fitted yet" in output
    assert "['b']" in output


def test_times_are_labels_but_no_numbers_and_none_is_missing():
    days = np.array(["2020-01-01", "NaT"], "M8[D]")
    with pytest.raises(ValueError, match="Input y contains NaT"):
        KNeighborsClassifier(1).fit([[0.0], [1.0]], days)
    with pytest.raises(TypeError, match=r"y has dtype datetime64\[D\]; numbers are wanted"):
        KNeighborsRegressor(1).fit([[0.0], [1.0]], days)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        KNeighborsClassifier(1).fit([[0.0], [1.0]], pyarrow.array([None, "a"]))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -2, 3, 0]),
        np.array([7], dtype=np.int8),
        np.array([-128, 127] * 200, dtype=np.int8),
        np.array([True, False, True]),
        np.array([True]),
        np.array([-(2**63), 2**63 - 1]),
        np.arange(70_000) * 2,
    ],
    ids=lambda labels: f"{labels.dtype}-{len(labels)}",
)
def test_labels_are_numbered_as_unique_does(labels):
    for got, want in zip(encode_labels(labels), np.unique(labels, return_inverse=True)):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil"])
def test_a_sparse_matrix_whose_indices_point_outside_is_refused(form):
    X = scipy.sparse.eye_array(4, format=form)
    if form == "coo":
        X.coords = (np.array([0, 1, 2, 3]), np.array([0, 1, 2, 90]))
    elif form == "lil":
        X.rows[3] = [90]
    else:
        X.indices = np.array([0, 1, 2, 90], X.indices.dtype)
    kept = X.indices if hasattr(X, "indices") else None
    for model in (fastclf.DecisionTreeRegressor(), fastclf.LogisticRegression()):
        with pytest.raises(ValueError, match=r"X is a sparse matrix with a fault|X.indices has 90"):
            model.fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="y_true is a sparse matrix with a fault"):
        fastclf.metrics.accuracy_score(X, X)
    assert getattr(X, "indices", None) is kept


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_every_format_of_sparse_rows_gives_the_same_tree(form):
    X = np.kron(np.eye(4), [[1.0, 2.0]])
    tree = fastclf.DecisionTreeRegressor().fit(X, [0.0, 1.0, 2.0, 3.0])
    sparse = fastclf.DecisionTreeRegressor().fit(scipy.sparse.coo_array(X).asformat(form), [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(sparse.predict(X), tree.predict(X))


@pytest.mark.parametrize("name", [
    "KNeighborsClassifier", "KNeighborsDensity", "LogisticRegression", "GaussianNB", "SVC", "LinearSVC", "Perceptron",
    "NearestCentroid", "LeastSquaresClassifier", "KernelPerceptron", "RidgeClassifier", "NaiveBayes", "DensityTree",
])  # fmt: skip
@pytest.mark.parametrize(("value", "what"), [
    (np.nan, "NaN"), (np.inf, "infinity"), ("tall", "tall|strings"), (-np.inf, "infinity"),
])  # fmt: skip
def test_a_message_about_a_cell_of_a_table_names_the_column(name, value, what):
    model = getattr(fastclf, name)()
    table = pandas.DataFrame(X.astype(float), columns=["age", "1", "two\\1"])
    for column in table:
        bad = table.astype(object if isinstance(value, str) else float)
        bad.loc[5, column] = value
        if isinstance(model, fastclf.NaiveBayes) and isinstance(value, str):
            bad[column] = "tall"
            model.set_params(distributions="gaussian")
        with pytest.raises((TypeError, ValueError), match=what) as told:
            model.fit(bad, Y)
        assert f"column {column!r}" in str(told.value)
        model.fit(table, Y)
        answer = model.predict if hasattr(model, "predict") else model.score_samples
        with pytest.raises((TypeError, ValueError), match=what) as told:
            answer(bad)
        assert f"column {column!r}" in str(told.value)
    with pytest.raises((TypeError, ValueError)) as told:
        model.fit(bad.to_numpy(), Y)
    assert "column 2" in str(told.value)


class Overriding(np.ndarray):
    """An array whose length, shape, size and dtype are not those of its data."""

    shape = property(lambda self: (100_000, 5)[: self.ndim])
    size = property(lambda self: 500_000)
    dtype = property(lambda self: np.dtype(np.float32))

    def __len__(self):
        return 100_000

    def __array_ufunc__(self, *args, **options):
        raise RuntimeError("no operation is supported")


OF_ARRAYS = [name for name, (_, *data) in ESTIMATORS.items() if all(isinstance(part, np.ndarray) for part in data)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_what_a_subclass_of_arrays_overrides_is_not_trusted(name):
    make, *data = ESTIMATORS[name]
    wanted, found = (make().fit(*[part.view(kind) for part in data]) for kind in (np.ndarray, Overriding))
    method = next(method for method in METHODS if hasattr(wanted, method))
    one, other = getattr(wanted, method)(data[0]), getattr(found, method)(data[0].view(Overriding))
    assert all(map(same, *[each if isinstance(each, tuple) else (each,) for each in (one, other)]))


def test_metrics_and_folds_do_not_trust_what_a_subclass_overrides():
    y, z = np.arange(40) % 3, np.arange(40) % 5 % 3
    assert fastclf.accuracy_score(y.view(Overriding), z.view(Overriding)) == fastclf.accuracy_score(y, z)
    for (train, test), (train_of_plain, test_of_plain) in zip(
        fastclf.StratifiedKFold().split(np.zeros(40), y.view(Overriding)), fastclf.StratifiedKFold().split(y, y)
    ):
        assert np.array_equal(train, train_of_plain)
        assert np.array_equal(test, test_of_plain)


def test_labels_that_cannot_be_compared_are_missing():
    y = np.array([Decimal("sNaN"), Decimal(1)] * 5, dtype=object)
    with pytest.raises(ValueError, match="y contains NaN or None; a label is wanted for every row"):
        fastclf.GaussianNB().fit(np.zeros((10, 2)), y)
    column = np.array([Decimal("sNaN"), Decimal(1), Decimal(2)] * 9, dtype=object)[:, None]
    known = np.array([np.nan, 1.0, 2.0] * 9)[:, None]
    model = fastclf.NaiveBayes(missing="ignore").fit(known, np.arange(27) % 2)
    assert np.array_equal(model.predict_proba(column), model.predict_proba(known))
    for label in (y[0], pandas.NA, None):
        with pytest.raises(ValueError, match="y_pred contains NaN or None"):
            fastclf.accuracy_score(["a", "b"], np.array(["a", label], dtype=object))


def test_rows_and_labels_that_cannot_be_split_are_refused_by_name():
    rows = [[1, 2], [1]] * 10
    with pytest.raises(ValueError, match=r"X does not form an array .*; rows of equal length are wanted"):
        fastclf.cross_val_score(fastclf.GaussianNB(), rows, np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"y has shape \(20, 2, 1\); .* is wanted"):
        next(fastclf.StratifiedShuffleSplit().split(rows, np.zeros((20, 2, 1))))
    with pytest.raises(TypeError, match=r"rows are .*; an array, a list or a table is wanted"):
        next(fastclf.KFold().split(np.ndarray))


# Of each kind of float, the bits of a NaN whose first use NumPy reports as an invalid operation.
SIGNALING = {np.float64: np.uint64(0x7FF0000000000001), np.float32: np.uint32(0x7F800001)}

TAKES_NAN = {
    "OneHotEncoder, unknown": lambda: fastclf.OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    "OneHotEncoder, rare": lambda: fastclf.OneHotEncoder(min_frequency=2, sparse_output=False, handle_unknown="warn"),
    "k-NN, missing": lambda: fastclf.KNeighborsClassifier(metric="nan_euclidean"),
    "Bayes, missing": lambda: fastclf.NaiveBayes(missing="ignore"),
    "Bayes, cuts": lambda: fastclf.NaiveBayes("mdl", missing="ignore"),
    "Bayes, counts": lambda: fastclf.NaiveBayes("categorical", missing="ignore"),
    "Bayes, table": lambda: fastclf.TableClassifier(fastclf.NaiveBayes()),
    "k-NN, table": lambda: fastclf.TableClassifier(fastclf.KNeighborsClassifier(), scale=True),
    "random tree": lambda: fastclf.DecisionTreeClassifier(splitter="random", random_state=0),
}


def outcome(function):
    """The answer of a call, or its exception, where every report of NumPy's and every warning of it is an error."""
    try:
        with warnings.catch_warnings(), np.errstate(invalid="raise"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            return function()
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def outcomes(model, rows):
    asked = [method for method in METHODS if hasattr(model, method)]
    return [outcome(lambda method=method: answer(model, method, rows)) for method in asked]


@pytest.mark.parametrize("dtype", SIGNALING)
@pytest.mark.parametrize("name", [*(name for name in ESTIMATORS if name != "nystroem, matrix"), *TAKES_NAN])
def test_a_signaling_nan_is_as_good_as_another_nan(name, dtype):
    make = TAKES_NAN.get(name) or ESTIMATORS[name][0]
    rows, y = np.random.default_rng(0).integers(3, size=(40, 4)).astype(dtype), np.arange(40) % 2
    quiet, signaling = rows.copy(), rows.copy()
    quiet[5, 1] = np.nan
    signaling.view(SIGNALING[dtype].dtype)[5, 1] = SIGNALING[dtype]
    fits = [outcome(lambda given=given: make().fit(given, y)) for given in (quiet, signaling)]
    models = [outcome(lambda: make().fit(rows, y))]
    if isinstance(fits[0], str):
        assert fits[0] == fits[1]
    else:
        models += fits
    models = [model for model in models if not isinstance(model, str)]
    found = [outcomes(model, given) for model in models for given in (quiet, signaling)]
    assert same(found[0], found[1])
    assert all(same(found[2], other) for other in found[3:])
