"""TableClassifiers as C source and as ONNX graphs: from numbers and texts to labels, with missing and new values."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas
import pytest

import fastclf
from fastclf import TableClassifier
from fastclf.table import Table, texts

CC = shutil.which("cc") or shutil.which("gcc")
pytestmark = [pytest.mark.build, pytest.mark.once]

STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]

RNG = np.random.default_rng(0)
N = 400


def drawn(words):
    return np.array(words, dtype=object)[RNG.integers(0, len(words), N)]


TOWN = drawn(["Berlin", "Köln", 'M"ü\\n?', "Frankfurt am Main", "??/", "München", None])
CODE = drawn(["10115", "7", "07", "7.0", "x", None])
AGE = np.where(RNG.random(N) < 0.2, np.nan, RNG.integers(18, 90, N))
INCOME, COUNT = RNG.normal(3000, 900, N).round(), RNG.poisson(3, N) * 1.0
COUNT[:2] = 300, 1000
LABEL = np.where((np.char.startswith(TOWN.astype(str), "M") & ~(AGE < 40)) | (INCOME > 3800), "ja", 'n"ein')
LABEL[COUNT > 4] = "weiß nicht"
MESSY = Table(
    [TOWN, AGE, INCOME, CODE, np.full(N, np.nan), np.full(N, None, dtype=object), np.ones(N), COUNT],
    ["Stadt", "Alter", "label", "PLZ", "leer", "", "eins", "Zahl"],
)
KNOWN = np.arange(150)  # the rows to which models are fitted; the other rows have categories and values that these lack
ASKED = Table([np.where(RNG.random(N) < 0.1, "new", TOWN), *MESSY.columns[1:]], MESSY.names)

MODELS = {
    "tree": fastclf.DecisionTreeClassifier(),
    "bayes": fastclf.NaiveBayes("gaussian"),
    "chosen bayes": fastclf.NaiveBayes(),
    "cut bayes": fastclf.NaiveBayes("mdl"),
    "knn": fastclf.KNeighborsClassifier(),
    "weighted knn": fastclf.KNeighborsClassifier(7, weights="distance", metric="manhattan"),
    "centroid": fastclf.NearestCentroid(),  # its fit warns about columns that are constant in a class
    "least squares": fastclf.LeastSquaresClassifier(),
    "perceptron": fastclf.Perceptron(average="averaged", random_state=0),
    "logistic": fastclf.LogisticRegression(),
    "linear svm": fastclf.LinearSVC(),
    "svm": fastclf.SVC(),
    "quadratic": fastclf.GeneralisedLinearClassifier(),
    "normal": fastclf.GaussianNB(),
}


def fitted(name, scale="auto"):
    return TableClassifier(MODELS[name], scale=scale).fit(MESSY.rows(KNOWN), LABEL[KNOWN])


def compiled(model, folder):
    """The library of the C source of a model."""
    source, made = folder / "model.c", folder / "model.so"
    fastclf.export_c(model, source)
    subprocess.run([CC, *STRICT, "-fPIC", "-shared", str(source), "-o", str(made), "-lm"], check=True)
    return ctypes.CDLL(str(made))


def answers_by_texts(library, table):
    """The codes that C returns for rows of numbers and texts."""
    scores, codes = np.empty(64), []
    numbers = np.column_stack([np.zeros(len(table)) if c.dtype.kind == "O" else c for c in table.columns]).astype(float)
    words = [c if c.dtype.kind == "O" else [None] * len(table) for c in table.columns]
    for row, cells in zip(numbers, zip(*words)):
        cells = (ctypes.c_char_p * len(cells))(*[None if text is None else text.encode() for text in cells])
        codes.append(library.model_predict_texts(row.ctypes, cells, scores.ctypes))
    return np.array(codes)


def answers_by_codes(library, model, table):
    """The codes that C returns for rows of numbers and indices of categories."""
    scores = np.empty(64)
    rows = table.encode(model.categories_, list(model.feature_names_in_))
    return np.array([library.model_predict(row.ctypes, scores.ctypes) for row in np.ascontiguousarray(rows)])


def by_onnx(model, table, folder):
    import onnxruntime as runtime

    fastclf.export_onnx(model, folder / "model.onnx")
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    columns = [
        np.array(["" if text is None else text for text in texts(column)], object)
        if known is not None
        else column.astype(float)
        for column, known in zip(table.columns, model.categories_)
    ]
    names = [given.name for given in session.get_inputs()]
    return names, session.run(None, dict(zip(names, columns)))


@pytest.mark.parametrize("name", MODELS)
def test_c_predicts_every_row_of_a_messy_table(name, tmp_path):
    model = fitted(name)
    library = compiled(model, tmp_path)
    expected = model.predict(ASKED)
    assert np.array_equal(model.classes_[answers_by_texts(library, ASKED)], expected)
    assert np.array_equal(model.classes_[answers_by_codes(library, model, ASKED)], expected)


@pytest.mark.parametrize("name", [name for name in MODELS if "knn" not in name])
def test_onnx_predicts_every_row_of_a_messy_table(name, tmp_path):
    model = fitted(name)
    names, (labels, _) = by_onnx(model, ASKED, tmp_path)
    assert names == ["Stadt", "Alter", "column label", "PLZ", "leer", "column ", "eins", "Zahl"]
    assert np.array_equal(labels, model.predict(ASKED))


@pytest.mark.parametrize("scale", [True, False])
def test_scaled_and_plain_numbers_have_the_scores_of_the_model(scale, tmp_path):
    model = fitted("logistic", scale)
    library = compiled(model, tmp_path)
    scores = np.empty((N, 3))
    rows = ASKED.encode(model.categories_, list(model.feature_names_in_))
    for row, out in zip(rows, scores):
        assert library.model_predict(row.ctypes, out.ctypes) >= 0
    assert np.allclose(scores, model.decision_function(ASKED), rtol=1e-10, atol=1e-10)
    _, (_, found) = by_onnx(model, ASKED, tmp_path)
    assert np.allclose(found, scores, rtol=1e-10, atol=1e-10)


def test_the_library_names_columns_and_finds_categories(tmp_path):
    model = fitted("tree")
    library = compiled(model, tmp_path)
    names = (ctypes.c_char_p * 8).in_dll(library, "model_columns")
    assert [name.decode() for name in names] == list(model.feature_names_in_)
    known = model.categories_[0]
    listed = (ctypes.c_char_p * len(known)).in_dll(library, "model_categories_0")
    assert [text.decode() for text in listed] == known
    library.model_category.restype = ctypes.c_double

    def category(column, text):
        return library.model_category(ctypes.c_size_t(column), text if text is None else text.encode())

    assert [category(0, text) for text in known] == list(range(len(known)))
    seven = model.categories_[3].index("7")
    assert [category(3, text) for text in ("7", "07", "7.0", " 7", "7e0")] == [seven] * 5
    for column, text in ((0, "Bern"), (0, None), (0, ""), (3, "0x7"), (3, "7 x"), (3, ""), (1, "7"), (99, "7")):
        assert np.isnan(category(column, text))


def test_infinity_is_refused_and_columns_without_names_or_categories_are_taken(tmp_path):
    X = np.where(RNG.random((90, 3)) < 0.2, np.nan, RNG.standard_normal((90, 3)))
    y = np.nan_to_num(X[:, 0]) > 0
    for name in ("tree", "bayes", "logistic", "knn"):
        folder = tmp_path / name
        folder.mkdir()
        model = TableClassifier(MODELS[name]).fit(X[:60], y[:60])
        library = compiled(model, folder)
        scores = np.empty(8)
        codes = [library.model_predict(row.ctypes, scores.ctypes) for row in X]
        assert np.array_equal(model.classes_[codes], model.predict(X))
        row = X[0].copy()
        row[1] = np.inf
        assert library.model_predict(row.ctypes, scores.ctypes) == -1
        if name != "knn":
            names, (labels, _) = by_onnx(model, Table(X), folder)
            assert names == ["x0", "x1", "x2"]
            assert np.array_equal(labels, model.predict(X))


def test_a_tree_that_lacks_categories_of_the_table_goes_where_missing_values_go(tmp_path):
    colour, size = np.array(["red", "blue", "green", None] * 20, dtype=object), np.arange(80.0)
    kinds = ["black", "blue", "green", "red", "white"]
    model = TableClassifier(MODELS["tree"], names=["colour", "size"], categories=[kinds, None])
    some = colour != "green"
    model.fit(Table([colour[some], size[some]], ["colour", "size"]), (colour == "red")[some] ^ (size > 50)[some])
    asked = Table([np.append(colour, [*kinds, "new"]), np.append(size, [1.0] * 6)], ["colour", "size"])
    assert np.array_equal(model.classes_[answers_by_texts(compiled(model, tmp_path), asked)], model.predict(asked))
    assert np.array_equal(by_onnx(model, asked, tmp_path)[1][0], model.predict(asked))


def test_too_many_features_for_the_stack_are_refused(tmp_path):
    words = np.array([f"word {i}" for i in range(70_000)], dtype=object)
    model = TableClassifier(fastclf.NearestCentroid()).fit(Table([words], ["word"]), np.arange(70_000) % 2)
    with pytest.raises(ValueError, match="70000 features; at most 65536"):
        fastclf.export_c(model, tmp_path / "model.c")


@pytest.mark.parametrize("model", [fastclf.DecisionTreeClassifier(ccp_alpha=1e-4), MODELS["bayes"], MODELS["logistic"]])
def test_adult_with_its_unknown_values_is_predicted_alike(model, data_file, tmp_path):
    parts = []
    for part in ("train", "test"):
        frame = pandas.read_csv(data_file(f"adult_{part}.csv.gz"), na_values="?", skipinitialspace=True)
        frame["income"] = frame["income"].str.strip(" .")
        parts.append(frame)
    train, test = parts
    model = TableClassifier(model).fit(train.drop(columns="income"), train["income"].to_numpy(str))
    asked = test.drop(columns="income")
    table = Table.of(asked)
    expected = model.predict(asked)
    assert any((column == None).any() for column in table.columns if column.dtype.kind == "O")  # noqa: E711
    assert np.array_equal(model.classes_[answers_by_texts(compiled(model, tmp_path), table)], expected)
    assert np.array_equal(by_onnx(model, table, tmp_path)[1][0], expected)


@pytest.mark.parametrize("model", [fastclf.SVC(), fastclf.LogisticRegression(), fastclf.NearestCentroid()])
def test_categories_that_become_sparse_columns_are_exported_too(model, tmp_path):
    rng = np.random.default_rng(1)
    word = np.array([f"w{i}" for i in range(400)], dtype=object)[rng.integers(0, 400, 1500)]
    size = rng.standard_normal(1500)
    table = Table([word, size], ["word", "size"])
    model = TableClassifier(model).fit(table, size + (np.char.str_len(word.astype(str)) > 3) > 0)
    expected = model.predict(table)
    assert np.array_equal(model.classes_[answers_by_texts(compiled(model, tmp_path), table)], expected)
    assert np.array_equal(by_onnx(model, table, tmp_path)[1][0], expected)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_of_rows_with_sparse_categories_are_exported(weights, tmp_path):
    rng = np.random.default_rng(2)
    word = np.append([None], [f"w{i}" for i in range(300)]).astype(object)[rng.integers(0, 301, 900)]
    size = np.where(rng.random(900) < 0.1, np.nan, rng.standard_normal(900))
    table = Table([word, size], ["word", "size"])
    model = TableClassifier(fastclf.KNeighborsClassifier(weights=weights)).fit(table, rng.random(900) > 0.5)
    assert np.array_equal(model.classes_[answers_by_texts(compiled(model, tmp_path), table)], model.predict(table))
