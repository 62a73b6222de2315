"""Tables from files: reading them, reading others for a trained model, and error messages."""

import csv
import doctest
import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet
from test_cli import NAMES, SPECIES, X, Y, refused, write_csv

import fastclf.table
from fastclf import NaiveBayes, cli, load
from fastclf.cli import text_formats
from fastclf.cli.files import Reading, read_table
from fastclf.table import Table, TableClassifier

pytestmark = pytest.mark.once

RNG = np.random.default_rng(0)
N = 120
AGE = RNG.integers(18, 80, N)
COLOUR = np.array(["red", "dark green", "", 'say "blue", ok'])[RNG.integers(0, 4, N)]
SIZE = np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(0, 1000, N).round(2))
LABEL = np.where((AGE > 50) ^ (COLOUR == "red"), "yes", "no")


def quoted(text):
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def mixed_lines(missing="?", delimiter=","):
    for age, colour, size, label in zip(AGE, COLOUR, SIZE, LABEL, strict=True):
        yield delimiter.join([str(age), quoted(colour), missing if size != size else repr(float(size)), label])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with iris.csv and the mixed table mixed.csv."""
    monkeypatch.chdir(tmp_path)
    write_csv(
        tmp_path / "iris.csv", [[*row, label] for row, label in zip(X, SPECIES, strict=True)], [*NAMES, "species"]
    )
    (tmp_path / "mixed.csv").write_text("\n".join(["age,colour,size,label", *mixed_lines()]) + "\n")
    return tmp_path


def train(*args):
    return cli.main(["train", *args, "--out", "model", "--quiet"])


def predict(capsys, *args):
    capsys.readouterr()
    assert cli.main(["predict", *args, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


# Tests of the values and columns that are read from files


def test_a_csv_has_columns_of_numbers_and_of_texts_with_missing_values(folder):
    table, y, called = read_table(folder / "mixed.csv")
    assert (table.names, called) == (["age", "colour", "size"], "label")
    np.testing.assert_array_equal(table.columns[0], AGE)
    assert table.columns[1].tolist() == [None if colour == "" else colour for colour in COLOUR]
    np.testing.assert_array_equal(table.columns[2], SIZE)
    np.testing.assert_array_equal(y, LABEL)


@pytest.mark.parametrize("form", ["semicolon.csv", "tabs.tsv", "packed.csv.gz", "bom.csv", "crlf.csv", "words.csv"])
def test_every_form_of_a_csv_is_read_alike(folder, form):
    delimiter = {"semicolon.csv": ";", "tabs.tsv": "\t"}.get(form, ",")
    missing = {"words.csv": " NA ", "crlf.csv": "null"}.get(form, "")
    end = "\r\n" if form == "crlf.csv" else "\n"
    text = end.join([delimiter.join(["age", "colour", "size", "label"]), *mixed_lines(missing, delimiter), ""])
    content = (b"\xef\xbb\xbf" if form == "bom.csv" else b"") + text.encode()
    (folder / form).write_bytes(gzip.compress(content) if form.endswith("gz") else content)
    table, y, _ = read_table(folder / form)
    known, labels, _ = read_table(folder / "mixed.csv")
    assert table.names == known.names
    for column, other in zip(table.columns, known.columns, strict=True):
        np.testing.assert_array_equal(column, other)
    np.testing.assert_array_equal(y, labels)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_a_parquet_table_is_read_as_its_csv(folder, library, monkeypatch):
    colour = [None if colour == "" else colour for colour in COLOUR]
    columns = {"age": AGE, "colour": pyarrow.array(colour).dictionary_encode(), "size": SIZE, "label": LABEL}
    parquet.write_table(pyarrow.table(columns), "mixed.parquet")
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    table, y, called = read_table(folder / "mixed.parquet")
    known, labels, _ = read_table(folder / "mixed.csv")
    assert (table.names, called) == (known.names, "label")
    categories = known.categories()
    np.testing.assert_array_equal(table.encode(categories), known.encode(categories))
    np.testing.assert_array_equal(y, labels)


def test_a_column_that_turns_out_to_hold_a_text_late_is_one_of_texts(folder):
    (folder / "late.csv").write_text("a,y\n" + "1.50,0\n" * 20_000 + "x,1\n")
    table, _, _ = read_table(folder / "late.csv")
    assert table.columns[0][[0, -1]].tolist() == ["1.5", "x"]


def test_a_libsvm_text_has_its_labels_and_zeros(folder):
    (folder / "a.libsvm").write_text("+1 1:0.5 3:-2 # a remark\n-1 qid:7 2:1e-3\n\n+1\n")
    table, y, _ = read_table(folder / "a.libsvm")
    np.testing.assert_array_equal(table.matrix, [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0]])
    assert y.tolist() == [1, -1, 1]


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_the_entries_of_a_libsvm_line_may_have_any_order(folder, monkeypatch, capsys, most):
    monkeypatch.setattr(text_formats, "_DENSE_NUMBERS", most)
    (folder / "a.libsvm").write_text("1 3:5 1:4\n0 2:6\n")
    np.testing.assert_array_equal(np.asarray(read_table(folder / "a.libsvm")[0].matrix), [[4, 0, 5], [0, 6, 0]])
    (folder / "a.libsvm").write_text("1 3:5 1:4 3:5\n0 2:6\n")
    assert "row 0 has the index 3 twice" in refused(capsys, ["evaluate", "a.libsvm", "--model", "tree", "--quiet"])


def test_the_labels_of_libsvms_own_example_are_read(data_file):
    table, y, _ = read_table(data_file("heart_scale.libsvm"))
    assert table.shape == (270, 13)
    assert sorted(set(y.tolist())) == [-1, 1]


@pytest.mark.parametrize(
    ("names", "target"), [("label,x", 0), ("x,Class", 1), ("y,x", 0), ("a,b", 1), ("target,label", 0)]
)
def test_the_column_of_labels_is_found_by_its_name_or_is_the_last(folder, names, target):
    (folder / "t.csv").write_text(f"{names}\n1,2\n3,4\n")
    assert read_table(folder / "t.csv")[1].tolist() == [[1, 3], [2, 4]][target]


def test_a_header_is_what_has_no_number_unless_it_is_told_otherwise(folder):
    (folder / "t.csv").write_text("red,a\nblue,b\nred,a\n")
    assert len(read_table(folder / "t.csv")[0]) == 2
    assert len(read_table(folder / "t.csv", reading=Reading(header=False))[0]) == 3
    (folder / "u.csv").write_text("0,1,y\n5,6,7\n")
    assert len(read_table(folder / "u.csv")[0]) == 2
    assert read_table(folder / "u.csv", reading=Reading(header=True))[0].names == ["0", "1"]


def test_standard_input_is_read_whatever_it_holds(folder):
    contents = {"csv": (folder / "iris.csv").read_bytes()}
    for kind, write in (("npz", lambda file: np.savez(file, X=X, y=SPECIES)), ("npy", lambda file: np.save(file, X))):
        file = io.BytesIO()
        write(file)
        contents[kind] = file.getvalue()
    contents["gz"] = gzip.compress(contents["csv"])
    contents["libsvm"] = "\n".join(
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row, label in zip(X, Y)
    ).encode()
    assert train("iris.csv", "--model", "knn") == 0
    expected = load("model").predict(X)
    for kind, content in contents.items():
        read = run_with(folder, content, "predict", "model", "-", "--quiet")
        assert (read.returncode, read.stderr.decode()) == (0, ""), kind
        assert read.stdout.decode().split() == expected.tolist(), kind


def run_with(cwd, content, *args):
    return subprocess.run([sys.executable, "-P", "-m", "fastclf", *args], cwd=cwd, input=content, capture_output=True)


# Tests of the commands train and predict


@pytest.mark.parametrize("model", ["tree", "knn", "bayes", "logistic", "least-squares", "centroid", "perceptron"])
def test_a_model_predicts_its_own_table_in_any_order_of_columns(folder, capsys, model):
    assert train("mixed.csv", "--model", model) == 0
    lines = predict(capsys, "model", "mixed.csv")
    saved = load("model")
    table, _, _ = read_table(folder / "mixed.csv")
    assert lines == saved.predict(table).tolist()
    rows = list(mixed_lines())
    turned = ["extra,size,label,colour,age"]
    turned += [f"1,{line[2]},{line[3]},{quoted(line[1])},{line[0]}" for line in csv.reader(rows)]
    (folder / "turned.csv").write_text("\n".join(turned))
    assert predict(capsys, "model", "turned.csv") == lines


def test_the_rule_of_a_mixed_table_is_learned_and_said(folder, capsys):
    assert train("mixed.csv", "--model", "tree") == 0
    assert load("model").predict(read_table(folder / "mixed.csv")[0]).tolist() == LABEL.tolist()
    capsys.readouterr()
    assert cli.main(["explain", "model"]) == 0
    out = capsys.readouterr().out
    assert "IF age > 50.5 AND (colour not in {red} OR colour is missing) THEN yes" in out
    assert cli.main(["train", "mixed.csv", "--model", "logistic", "--out", "model", "--quiet"]) == 0
    assert cli.main(["explain", "model"]) == 0
    assert "colour = red" in capsys.readouterr().out


def test_naive_bayes_takes_categories_and_missing_values_as_they_are(folder):
    assert train("mixed.csv", "--model", "bayes") == 0
    objects = np.empty((N, 3), dtype=object)
    objects[:, 0], objects[:, 2] = AGE.astype(float), SIZE
    objects[:, 1] = [None if colour == "" else colour for colour in COLOUR]
    known = NaiveBayes(["gaussian", "categorical", "gaussian"], missing="ignore").fit(objects, LABEL)
    loaded = load("model")
    table = read_table(folder / "mixed.csv")[0]
    np.testing.assert_allclose(loaded.predict_proba(table), known.predict_proba(objects), rtol=1e-12)


def test_new_categories_and_missing_values_are_answered(folder, capsys):
    for model in ("tree", "bayes", "knn"):
        assert train("mixed.csv", "--model", model) == 0
        (folder / "new.csv").write_text("age,colour,size\n30,purple,\n?,,?\n60,red,5\n")
        assert set(predict(capsys, "model", "new.csv")) <= {"yes", "no"}


def test_probabilities_and_json_hold_the_same(folder, capsys):
    assert train("iris.csv", "--model", "logistic") == 0
    rows = [line.split(",") for line in predict(capsys, "model", "iris.csv", "--proba")]
    assert rows[0] == ["prediction", "p(setosa)", "p(versicolor)", "p(virginica)"]
    record = json.loads("\n".join(predict(capsys, "model", "iris.csv", "--proba", "--json")))
    saved = load("model")
    assert record["classes"] == saved.classes_.tolist()
    assert record["predictions"] == [row[0] for row in rows[1:]] == saved.predict(X).tolist()
    np.testing.assert_array_equal(record["probabilities"], saved.predict_proba(X))
    np.testing.assert_array_equal([list(map(float, row[1:])) for row in rows[1:]], saved.predict_proba(X))
    assert record["error"] == np.mean(saved.predict(X) != SPECIES)


def test_labels_in_the_file_are_counted_on_stderr_and_an_output_file_is_written(folder, capsys):
    assert train("iris.csv", "--model", "knn", "--set", "n_neighbors=1") == 0
    capsys.readouterr()
    assert cli.main(["predict", "model", "iris.csv", "--out", "labels.txt"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "0 of 150 predictions differ from the labels" in err
    assert (folder / "labels.txt").read_text().split() == SPECIES.tolist()


def test_whole_numbers_are_labels_as_they_are(folder, capsys):
    np.save("iris.npy", np.column_stack([X, Y]))
    assert train("iris.npy", "--model", "tree") == 0
    assert load("model").classes_.dtype == np.int64
    np.save("new.npy", X)
    assert predict(capsys, "model", "new.npy") == [str(label) for label in Y]


def test_a_libsvm_file_with_fewer_columns_has_zeros_in_the_others(folder, capsys):
    (folder / "a.libsvm").write_text("1 1:1\n0 3:1\n1 1:2\n0 3:2 2:1\n")
    assert train("a.libsvm", "--model", "centroid") == 0
    (folder / "b.libsvm").write_text("1 1:5\n1 2:1\n")
    assert predict(capsys, "model", "b.libsvm") == ["1", "0"]


def test_a_model_of_the_python_interface_predicts_too(folder, capsys):
    model = fastclf.KNeighborsClassifier(3).fit(pandas.DataFrame(X, columns=NAMES), SPECIES)
    fastclf.save(model, "model")
    assert predict(capsys, "model", "iris.csv") == model.predict(pandas.DataFrame(X, columns=NAMES)).tolist()


def test_columns_are_dropped_taken_for_names_and_rows_with_holes_left_out(folder, capsys):
    assert cli.main(["train", "mixed.csv", "--model", "tree", "--out", "model", "--json", "--quiet",
                     "--drop", "colour", "--categorical", "age", "--missing", "drop"]) == 0  # fmt: skip
    record = json.loads(capsys.readouterr().out)
    # rows without a colour are used, because this column is dropped
    assert (record["rows"], record["columns"]) == (np.count_nonzero(SIZE == SIZE), 2)
    assert load("model").categories_[0] == sorted({str(age) for age in AGE[SIZE == SIZE]})


def test_a_setting_reaches_the_method(folder, capsys):
    assert train("iris.csv", "--model", "knn", "--set", "n_neighbors=7", "--set", "weights=distance") == 0
    assert repr(load("model").model_) == "KNeighborsClassifier(n_neighbors=7, weights='distance')"
    assert train("iris.csv", "--model", "GaussianNB") == 0
    assert isinstance(load("model").model_, fastclf.GaussianNB)


# Tests of the messages about files that cannot be read


def make_faulty(folder):
    train("mixed.csv", "--model", "tree")
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("age,colour,size,label\n")
    (folder / "one.csv").write_text("age,label\n3,yes\n")
    (folder / "same.csv").write_text("age,label\n3,yes\n4,yes\n5,yes\n6,yes\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "column.csv").write_text("age\n3\n4\n")
    (folder / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    (folder / "unlabelled.csv").write_text("a,label\n1,x\n2,\n")
    (folder / "words.csv").write_text("age,colour,size\nyoung,red,1\n")
    (folder / "less.csv").write_text("age,colour\n1,red\n")
    (folder / "bad.libsvm").write_text("1 1:2 0:3\n")
    (folder / "bad.parquet").write_text("junk")
    (folder / "bad.csv.gz").write_text("junk")
    (folder / "infinite.csv").write_text("a,label\n1,x\ninf,y\n2,x\n3,y\n")
    (folder / "junk").write_text("junk")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["train", "none.csv"], "none.csv: there is no such file"),
        (["train", "."], ". is a folder; a file is wanted"),
        (["train", "model"], "model can't be read; a name that ends in .csv"),
        (["train", "empty.csv"], "empty.csv: there are no rows; at least one is wanted"),
        (["train", "head.csv"], "head.csv: there are no rows; at least one is wanted"),
        (["train", "one.csv"], "one.csv: 'label' has 1 different values in 1 rows; a few classes are wanted"),
        (["train", "same.csv"], "same.csv: 'label' has 1 different values in 4 rows"),
        (["train", "mixed.csv", "--target", "size"], "mixed.csv: 'size' has no label in "),
        (["train", "iris.csv", "--target", "petal width"], None),
        (["train", "mixed.csv", "--target", "wealth"], "mixed.csv: there is no column 'wealth', only 'age', 'colour'"),
        (["train", "mixed.csv", "--drop", "wealth"], "mixed.csv: there is no column 'wealth'"),
        (["train", "binary.csv"], "binary.csv: this is no text in UTF-8"),
        (["train", "column.csv"], "column.csv: there is one column; labels and at least one other column are wanted"),
        (["train", "ragged.csv"], "ragged.csv: line 3 has 3 columns, the lines before it have 2"),
        (
            ["train", "unlabelled.csv"],
            "unlabelled.csv: 'label' has no label in 1 of 2 rows, the first of which is row 1",
        ),
        (["train", "infinite.csv"], "infinite.csv: "),
        (["train", "bad.libsvm"], "bad.libsvm: line 1 holds '0:3'; index:value is wanted"),
        (["train", "bad.parquet"], "bad.parquet: "),
        (["train", "bad.csv.gz"], "bad.csv.gz: "),
        (["train", "mixed.csv", "--model", "knm"], "there is no method 'knm'; one of knn, centroid,"),
        (["train", "mixed.csv", "--model", "NearestNeighbors"], "there is no method 'NearestNeighbors'"),
        (["train", "mixed.csv", "--set", "C"], "--set is 'C'; NAME=VALUE is wanted, such as C=10"),
        (["train", "mixed.csv", "--set", "depth=3"], "tree has no parameter 'depth', only "),
        (["train", "mixed.csv", "--set", "max_depth=-3"], "tree: max_depth is -3"),
        (["train", "mixed.csv", "--out", "no/model"], "--out is no/model, but there is no folder no"),
        (["train", "mixed.csv", "--out", "mixed.csv"], "--out mixed.csv would overwrite the data"),
        (["predict", "none", "mixed.csv"], "none: there is no such file"),
        (["predict", "junk", "mixed.csv"], "junk was not saved by fastclf"),
        (["predict", ".", "mixed.csv"], "path is '.', which is a directory"),
        (["predict", "model", "none.csv"], "none.csv: there is no such file"),
        (["predict", "model", "words.csv"], "words.csv: column 'age' holds 'young' (row 0); a number is wanted, as in"),
        (["predict", "model", "less.csv"], "less.csv: there is no column 'size'; one is wanted, as in training"),
        (["predict", "model", "ragged.csv"], "ragged.csv: line 3 has 3 columns"),
        (["predict", "model", "mixed.csv", "--target", "x"], "mixed.csv: there is no column 'x'"),
        (["explain", "junk"], "junk was not saved by fastclf"),
    ],
)
def test_a_wrong_request_is_one_sentence(folder, capsys, args, sentence):
    make_faulty(folder)
    capsys.readouterr()
    if args[0] == "train":
        args = [*args, *([] if "--model" in args else ["--model", "tree"])]
        args = [*args, "--quiet", *([] if "--out" in args else ["--out", "new"])]
    if sentence is None:
        assert cli.main(args) == 0
        return
    assert refused(capsys, args).startswith(sentence)
    assert not (folder / "new").exists()


def test_a_column_of_many_texts_is_warned_of(folder, capsys):
    lines = [f"{i},name {i},{'ab'[i % 2]}" for i in range(120)]
    (folder / "names.csv").write_text("\n".join(["x,name,label", *lines]))
    assert train("names.csv", "--model", "tree") == 0
    warning = "column 'name' has 120 different texts in 120 rows; --drop name leaves it out"
    assert warning in capsys.readouterr().err


def test_a_closed_pipe_ends_without_a_word(folder):
    assert train("iris.csv", "--model", "knn") == 0
    np.save("many.npy", np.tile(X, (2000, 1)))
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "fastclf", "predict", "model", "many.npy", "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout.readline() == b"setosa\n"
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait(60) == 1


# Tests of the estimator that the command line trains


def test_a_table_classifier_learns_from_data_frames():
    frame = pandas.DataFrame({"age": AGE, "colour": COLOUR, "size": SIZE})
    model = TableClassifier().fit(frame, LABEL)
    assert model.categories_[1] == sorted(set(COLOUR))
    assert model.predict(frame[["size", "age", "colour"]]).tolist() == LABEL.tolist()
    assert model.score(polars.from_pandas(frame), LABEL) == 1.0


@pytest.mark.parametrize("scale", [True, False, "auto"])
def test_scaling_is_that_of_the_training_rows(scale):
    uneven = X * [1, 1000, 1, 1]
    model = TableClassifier(fastclf.KNeighborsClassifier(1), scale=scale).fit(uneven[::2], SPECIES[::2])
    given = (uneven - uneven[::2].mean(axis=0)) / uneven[::2].std(axis=0) if scale else uneven
    known = fastclf.KNeighborsClassifier(1).fit(given[::2], SPECIES[::2])
    np.testing.assert_array_equal(model.predict(uneven), known.predict(given))


def test_even_columns_and_methods_without_units_are_left_as_they_are():
    for model, rows in ((fastclf.KNeighborsClassifier(), X), (fastclf.DecisionTreeClassifier(), X * [1, 1e6, 1, 1])):
        assert not TableClassifier(model).fit(rows, SPECIES).shifted_
        assert TableClassifier(model).takes_as_is(rows)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (TableClassifier(scale="yes"), "scale is 'yes'; True, False or 'auto' is wanted"),
        (TableClassifier(names=["a"]), "names has 1 entries; 4, one per column, are wanted"),
        (
            TableClassifier(categories=[None, ["a"], None, None]),
            "column 1 of X has a value that is no index of its 1 categories",
        ),
        (TableClassifier(categories=[None]), "categories has 1 entries; 4, one per column, are wanted"),
    ],
)
def test_wrong_parameters_of_a_table_classifier_are_told(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, SPECIES)


def test_the_example_of_the_table_classifier_runs():
    result = doctest.testmod(fastclf.table)
    assert result.attempted > 0
    assert result.failed == 0


def test_numbers_written_as_texts_are_numbers_where_training_had_some():
    model = TableClassifier().fit(Table([AGE.astype(float)], ["age"]), LABEL)
    given = np.array([None, *map(str, AGE[1:])], dtype=object)
    known = np.array([np.nan, *AGE[1:]])
    assert model.predict(Table([given], ["age"])).tolist() == model.predict(Table([known], ["age"])).tolist()


def test_columns_without_names_are_counted():
    model = TableClassifier().fit(Table([AGE.astype(float), COLOUR.astype(object)]), LABEL)
    with pytest.raises(ValueError, match="there are 1 columns; 2 are wanted, as in training"):
        model.predict(Table([AGE.astype(float)]))


# Tests of LIBSVM texts that would be too large as dense matrices


@pytest.fixture
def sparse_text(folder, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, (60, 6)) * (rng.random((60, 6)) < 0.4)
    X[0], X[1, 5] = 0, 2
    y = np.where(X[:, 0] + X[:, 1] > 1, 1, -1)
    lines = [f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for label, row in zip(y, X)]
    (folder / "a.libsvm").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(text_formats, "_DENSE_NUMBERS", 100)
    return X, y


def test_a_large_libsvm_text_is_sparse(folder, sparse_text):
    table, y, _ = read_table(folder / "a.libsvm")
    assert table.is_sparse
    assert (table.shape, len(table)) == ((60, 6), 60)
    np.testing.assert_array_equal(np.asarray(table.matrix), sparse_text[0])
    np.testing.assert_array_equal(y, sparse_text[1])
    assert table.without([]) is table
    np.testing.assert_array_equal(np.asarray(table.widened(8).matrix)[:, :6], sparse_text[0])


# a perceptron's intercept takes smaller steps on sparse rows
@pytest.mark.parametrize("model", ["svm", "linear-svm", "logistic", "knn", "tree", "MultinomialNB"])
def test_models_of_sparse_texts_are_those_of_dense_ones(folder, sparse_text, capsys, monkeypatch, model):
    def outputs():
        assert train("a.libsvm", "--model", model) == 0
        capsys.readouterr()
        assert cli.main(["predict", "model", "a.libsvm", "--quiet"]) == 0
        assert cli.main(["evaluate", "a.libsvm", "--model", model, "--cv", "5", "--json", "--quiet"]) == 0
        labels, brace, record = capsys.readouterr().out.partition("{")
        record = json.loads(brace + record)
        return labels, record["error"], record["table"]

    sparse = outputs()
    monkeypatch.setattr(text_formats, "_DENSE_NUMBERS", 1 << 20)
    assert outputs() == sparse


@pytest.mark.parametrize(
    ("line", "args", "words"),
    [
        ("1 2:3 2:4", [], "row 60 has the index 2 twice"),
        ("1 2:nan", [], "has NaN or infinity"),
        ("1 99999999:1", [], "there is the index 99999999; indices up to 16777216 are wanted"),
        ("1 1:1", ["--drop", "1"], "columns of a sparse matrix cannot be left out"),
        ("1 1:1", ["--categorical", "1"], "columns of a sparse matrix hold categories"),
    ],
)
def test_what_a_sparse_text_cannot_be_is_told(folder, sparse_text, capsys, line, args, words):
    with open(folder / "a.libsvm", "a") as file:
        file.write(line + "\n")
    assert words in refused(capsys, ["evaluate", "a.libsvm", "--model", "svm", "--quiet", *args])
