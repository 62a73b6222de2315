"""The command line: its output, the files that it writes, and its error messages."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_iris

import fastclf
from fastclf import NearestNeighbors, _simd, cli
from fastclf.cli import files, search

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[Y]
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def command(*args, **environment):
    return [sys.executable, "-m", "fastclf", *map(str, args)], {**os.environ, **environment}


def run(cwd, *args, **environment):
    args, environment = command(*args, **environment)
    return subprocess.run(args, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def write_csv(path, rows, header=None):
    lines = ([header] if header else []) + [list(row) for row in rows]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


def write_parquet(path, columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with 150 rows to search, A, and 20 queries, B."""
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", X)
    np.save("B.npy", X[::8] + 0.05)
    return tmp_path


@pytest.fixture
def answer():
    return NearestNeighbors(n_neighbors=4).fit(X).kneighbors(X[::8] + 0.05)


def knn(train="A.npy", queries="B.npy", out="R.npz", *more):
    return cli.main(["knn", "--train", train, "--queries", queries, "-k", "4", "--out", out, "--quiet", *more])


def refused(capsys, args):
    """The one-sentence error message of a refused request."""
    assert cli.main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fastclf: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("fastclf: error: ").strip()


def test_info_names_version_level_threads_and_flags(tmp_path):
    done = run(tmp_path, "info", FASTCLF_NUM_THREADS="3")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"^fastclf +{re.escape(fastclf.__version__)} ", done.stdout, re.MULTILINE)
    levels = re.escape(f"{_simd.level()} (available: {', '.join(_simd.available())})")
    assert re.search(rf"^SIMD level +{levels}$", done.stdout, re.MULTILINE)
    assert re.search(r"^threads +3$", done.stdout, re.MULTILINE)
    for level, flags in _simd.build_info()["flags"].items():
        assert f"{level}: {flags}" in done.stdout


@pytest.mark.parametrize("args", [["info"], ["demo"], ["knn", "--train", "A", "--queries", "B", "--out", "R.npz"]])
def test_an_unknown_simd_level_is_one_sentence(tmp_path, args):
    done = run(tmp_path, *args, FASTCLF_SIMD="sse9")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"fastclf: error: .*FASTCLF_SIMD=sse9 is not a SIMD level; .*baseline.*\n", done.stderr)


def test_a_wrong_number_of_threads_in_the_environment_is_one_sentence(capsys, monkeypatch):
    monkeypatch.setenv("FASTCLF_NUM_THREADS", "many")
    assert "FASTCLF_NUM_THREADS=many" in refused(capsys, ["info"])


@pytest.mark.parametrize("args", [["--help"], ["info", "--help"], ["demo", "--help"], ["knn", "--help"], ["--version"]])
def test_help_is_on_stdout(capsys, args):
    assert cli.main(args) == 0
    out, err = capsys.readouterr()
    assert out
    assert err == ""


def test_no_command_prints_the_help(capsys):
    assert cli.main([]) == 0
    out, err = capsys.readouterr()
    assert "a first hour" in out
    assert err == ""


@pytest.mark.parametrize(("args", "meant"), [
    (["comapre", "data.csv"], "did you mean compare?"),
    (["compare", "data.csv", "--modles", "tree"], "did you mean --models?"),
    (["train", "data.csv", "--model", "tree", "--out", "m", "--scale", "yess"], "did you mean yes?"),
    (["train", "data.csv", "--model", "logstic", "--out", "m"], "did you mean logistic?"),
    (["train", "data.csv", "--model", "tree", "--set", "max_dept=3", "--out", "m"], "did you mean max_depth?"),
])  # fmt: skip
def test_a_misspelt_word_is_guessed(capsys, args, meant):
    assert cli.main(args) == 2
    assert meant in capsys.readouterr().err


def test_knn_writes_the_neighbours_and_tells_the_cost(folder, answer):
    done = run(folder, "knn", "--train", "A.npy", "--queries", "B.npy", "-k", 4, "--out", "R.npz", "--n-jobs", 2)
    assert done.returncode == 0, done.stderr
    assert "NearestNeighbors" in done.stderr
    assert re.fullmatch(
        r"19 queries, 150 rows x 4 columns, k = 4, euclidean: [\d.]+ s, [\d.]+ microseconds per query, 2 threads, "
        rf"SIMD level {_simd.level()}; written to R\.npz\n",
        done.stdout,
    )
    with np.load(folder / "R.npz") as result:
        np.testing.assert_array_equal(result["indices"], answer[1])
        np.testing.assert_array_equal(result["distances"], answer[0])


@pytest.mark.parametrize("ending", ["npy", "npz", "one.npz", "csv", "header.csv", "quoted.csv", "parquet"])
def test_knn_gives_the_same_answer_from_every_format(folder, answer, ending):
    if ending == "npz":
        np.savez("A.npz", X=X, y=Y)
    elif ending == "one.npz":
        np.savez("A.one.npz", anything=X)
    elif ending == "parquet":
        write_parquet("A.parquet", dict(zip(NAMES, X.T, strict=True)))
    elif ending != "npy":
        header = {"csv": None, "header.csv": NAMES, "quoted.csv": [f'"{name}, cm"' for name in NAMES]}[ending]
        write_csv(folder / f"A.{ending}", X, header)
    assert knn(train=f"A.{ending}") == 0
    with np.load("R.npz") as result:
        np.testing.assert_array_equal(result["indices"], answer[1])
        np.testing.assert_array_equal(result["distances"], answer[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_csv_result_holds_the_same_bits_as_the_arrays(folder, dtype):
    np.save("A.npy", X.astype(dtype))
    np.save("B.npy", (X[::8] + 0.05).astype(dtype))
    assert knn() == 0
    assert knn(out="R.csv") == 0
    lines = (folder / "R.csv").read_text().splitlines()
    assert lines[0] == "index_1,index_2,index_3,index_4,distance_1,distance_2,distance_3,distance_4"
    table = np.array([line.split(",") for line in lines[1:]])
    with np.load("R.npz") as result:
        np.testing.assert_array_equal(table[:, :4].astype(int), result["indices"])
        np.testing.assert_array_equal(table[:, 4:].astype(result["distances"].dtype), result["distances"])


def test_metric_and_p_reach_the_search(folder, capsys):
    for more, options in (
        (["--metric", "manhattan"], {"metric": "manhattan"}),
        (["--p", "1.5"], {"p": 1.5}),
        (["--metric", "minkowski", "--p", "3"], {"p": 3}),
    ):
        assert knn("A.npy", "B.npy", "R.npz", *more) == 0
        distances, indices = NearestNeighbors(n_neighbors=4, **options).fit(X).kneighbors(np.load("B.npy"))
        with np.load("R.npz") as result:
            np.testing.assert_array_equal(result["indices"], indices)
            np.testing.assert_array_equal(result["distances"], distances)
    assert "minkowski" in capsys.readouterr().out


def test_an_index_gives_the_answer_of_the_rows_it_was_made_of(folder, capsys):
    assert cli.main(["index", "--train", "A.npy", "--out", "A.fclf", "--metric", "manhattan"]) == 0
    assert capsys.readouterr().out == "150 rows x 4 columns, manhattan; written to A.fclf\n"
    assert cli.main(["knn", "--index", "A.fclf", "--queries", "B.npy", "-k", "4", "--out", "R.npz", "--quiet"]) == 0
    assert "150 rows x 4 columns, k = 4, manhattan" in capsys.readouterr().out
    distances, indices = NearestNeighbors(n_neighbors=4, metric="manhattan").fit(X).kneighbors(np.load("B.npy"))
    with np.load("R.npz") as result:
        np.testing.assert_array_equal(result["indices"], indices)
        np.testing.assert_array_equal(result["distances"], distances)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--index", "none.fclf"], "none.fclf: there is no such file"),
        (["--index", "A.npy"], "A.npy was not saved by fastclf"),
        (["--index", "A.fclf", "--p", "3"], "--metric and --p are those of the index; leave them out"),
        (["--index", "A.fclf", "-k", "151"], "-k is 151; 1 to 150, the number of rows of A.fclf, is wanted"),
        (["--index", "A.fclf", "--queries", "narrow.npy"], "narrow.npy has 3 columns, but A.fclf has 4"),
    ],
)
def test_an_index_that_cannot_be_searched_so_is_one_sentence(folder, capsys, args, sentence):
    fastclf.save(NearestNeighbors().fit(X), "A.fclf")
    np.save("narrow.npy", X[:, :3])
    assert refused(capsys, ["knn", "--queries", "B.npy", "--out", "R.npz", *args]) == sentence


def test_quiet_leaves_stderr_empty(folder, capsys):
    assert knn() == 0
    assert capsys.readouterr().err == ""


def test_arrays_are_mapped_not_read(folder):
    matrix, names = files.read(folder / "A.npy")
    assert isinstance(matrix, np.memmap)
    assert names is None


def make_faulty_files(folder):
    """Files with one fault each; most are queries beside A.npy."""
    rows = X[:6].copy()
    np.save("narrow.npy", X[:, :3])
    np.save("vector.npy", X[0])
    np.save("empty.npy", X[:0])
    np.save("words.npy", SPECIES[:, None])
    np.save("objects.npy", np.array([[1, "a"]], dtype=object))
    np.savez("many.npz", first=X, second=X)
    rows[3, 2] = np.nan
    np.save("nan.npy", rows)
    write_csv(folder / "nan.csv", rows)
    (folder / "text.npy").write_text("no array")
    (folder / "text.npz").write_text("no archive")
    (folder / "cut.npy").write_bytes((folder / "A.npy").read_bytes()[:1000])
    (folder / "text.parquet").write_text("no table")
    (folder / "nothing.csv").write_text("")
    (folder / "header.csv").write_text("a,b,c,d\n")
    (folder / "word.csv").write_text("a,b,c,d\n1,2,3,4\n\n1,2,x,4\n")
    (folder / "first.csv").write_text("1,2,x,4\n1,2,3,4\n")
    (folder / "hole.csv").write_text("1,2,3,4\n1,,3,4\n")
    (folder / "short.csv").write_text("1,2,3,4\n1,2,3,4\n1,2,3\n")
    (folder / "long.csv").write_text("1,2,3,4\n1,2,3,4,5\n")
    (folder / "latin.csv").write_bytes(b"a,b,c,\xe9\n1,2,3,4\n")
    (folder / "mixed.csv").write_text("1,2,3,4\n1;2,2,3,4\n")
    (folder / "table.xlsx").write_text("")


@pytest.mark.parametrize(
    ("queries", "sentence"),
    [
        ("missing.npy", r"missing\.npy: there is no such file"),
        (".", r"\. is a folder; a file is wanted"),
        ("table.xlsx", r"table\.xlsx can't be read; a name that ends in"),
        ("narrow.npy", r"narrow\.npy has 3 columns, but A\.npy has 4"),
        ("vector.npy", r"vector\.npy: the shape is \(4,\); a matrix"),
        ("empty.npy", r"empty\.npy: the shape is \(0, 4\); a matrix"),
        ("words.npy", r"words\.npy: the type is <U10; real numbers"),
        ("objects.npy", r"objects\.npy: .*object"),
        ("many.npz", r"many\.npz: there is no array 'X', only 'first', 'second'"),
        ("nan.npy", r"nan\.npy: .*NaN \(row 3, column 2\)"),
        ("nan.csv", r"nan\.csv: .*NaN \(row 3, column 2\)"),
        ("text.npy", r"text\.npy: "),
        ("text.npz", r"text\.npz: this is not an \.npz file"),
        ("cut.npy", r"cut\.npy: "),
        ("nothing.csv", r"nothing\.csv: there are no rows; at least one is wanted"),
        ("header.csv", r"header\.csv: there are no rows; at least one is wanted"),
        ("word.csv", r"word\.csv: line 4, column 3 \('c'\) holds 'x'; a number is wanted"),
        ("first.csv", r"first\.csv: line 1, column 3 holds 'x'; a number is wanted"),
        ("hole.csv", r"hole\.csv: line 2, column 2 holds ''; a number is wanted"),
        ("short.csv", r"short\.csv: line 3 has 3 columns, the lines before it have 4"),
        ("long.csv", r"long\.csv: line 2 has 5 columns, the lines before it have 4"),
        ("latin.csv", r"latin\.csv: this is no text in UTF-8 \(byte 6"),
        ("mixed.csv", r"mixed\.csv: line 2, column 1 holds '1;2'; a number is wanted"),
    ],
)
def test_a_wrong_file_is_one_sentence(folder, capsys, queries, sentence):
    make_faulty_files(folder)
    assert re.search(sentence, refused(capsys, ["knn", "--train", "A.npy", "--queries", queries, "--out", "R.npz"]))
    assert not (folder / "R.npz").exists()


def test_a_file_that_is_no_parquet_table_is_one_sentence(folder, capsys):
    pytest.importorskip("pyarrow")
    make_faulty_files(folder)
    assert "text.parquet" in refused(capsys, ["knn", "--train", "text.parquet", "--queries", "B.npy", "--out", "R.npz"])


def test_a_fault_in_the_rows_to_search_names_their_file(folder, capsys):
    make_faulty_files(folder)
    sentence = refused(capsys, ["knn", "--train", "nan.npy", "--queries", "B.npy", "--out", "R.npz"])
    assert re.match(r"nan\.npy: .*NaN", sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", "0"], "-k is 0; 1 to 150, the number of rows of A.npy, is wanted"),
        (["-k", "151"], "-k is 151; 1 to 150"),
        (["--metric", "cosin"], "--metric is 'cosin'; one of "),
        (["--p", "0"], "--p is 0.0; a number above 0"),
        (["--p", "nan"], "--p is nan; a number above 0"),
        (["--n-jobs", "0"], "n_jobs is 0"),
        (["--out", "R.txt"], "--out is R.txt; a name that ends in .npz or .csv is wanted"),
        (["--out", "no/R.npz"], "--out is no/R.npz, but there is no folder no"),
        (["--out", "A.npz"], "would overwrite an input"),
    ],
)
def test_a_wrong_option_is_one_sentence(folder, capsys, options, sentence):
    np.savez("A.npz", X)
    train = "A.npz" if options[-1] == "A.npz" else "A.npy"
    args = ["knn", "--train", train, "--queries", "B.npy", "--out", "R.npz", *options]
    assert sentence in refused(capsys, args)


def test_the_place_for_the_result_is_checked_before_any_file_is_read(folder, capsys, monkeypatch):
    monkeypatch.setattr(search, "read", lambda *_: pytest.fail("a file was read"))
    for out in ("R.txt", "no/R.npz"):
        assert "--out" in refused(capsys, ["knn", "--train", "A.npy", "--queries", "B.npy", "--out", out])


def test_columns_in_another_order_are_refused(folder, capsys):
    write_csv(folder / "A.csv", X, NAMES)
    write_csv(folder / "B.csv", X[:, ::-1], NAMES[::-1])
    sentence = refused(capsys, ["knn", "--train", "A.csv", "--queries", "B.csv", "--out", "R.npz"])
    assert sentence.startswith("B.csv has the columns 'petal width', ")


def test_parquet_wants_one_of_three_packages(folder, capsys, monkeypatch):
    for package in ("pyarrow", "pyarrow.parquet", "polars", "pandas"):
        monkeypatch.setitem(sys.modules, package, None)
    (folder / "A.parquet").write_bytes(b"")
    told = refused(capsys, ["knn", "--train", "A.parquet", "--queries", "B.npy", "--out", "R.npz"])
    assert told == (
        "A.parquet: a .parquet file needs pyarrow, polars or pandas, none of which is installed (pip install pyarrow)"
    )


@pytest.mark.parametrize(
    ("package", "args"),
    [
        ("sklearn", ["demo"]),
        ("matplotlib", ["compare", "A.csv", "--models", "tree", "--quiet", "--picture", "x.png"]),
    ],
)
def test_a_missing_package_is_one_sentence(folder, capsys, monkeypatch, package, args):
    monkeypatch.setitem(sys.modules, package, None)
    write_csv(folder / "A.csv", np.column_stack([X, Y]))
    assert "which is not installed (pip install" in refused(capsys, args)


@pytest.mark.parametrize(
    ("streams", "status", "words"),
    [
        ("<&-", 2, "standard input is closed"),
        ("<A.csv >&-", 2, "standard output is closed"),
        ("<A.csv >/dev/full", 1, "No space left on device"),
    ],
)
def test_a_stream_that_is_not_there_is_one_sentence(folder, streams, status, words):
    write_csv(folder / "A.csv", [[i, "ab"[i % 2]] for i in range(40)])
    args, _ = command("evaluate", "-", "--model", "tree", "--cv", "2", "--quiet")
    done = subprocess.run(f"exec {shlex.join(args)} {streams}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert words in done.stderr


def test_letters_that_the_output_does_not_have_are_named(folder):
    write_csv(folder / "A.csv", [[i, "äö"[i % 2]] for i in range(40)])
    done = run(folder, "evaluate", "A.csv", "--model", "tree", "--cv", "2", "--quiet", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fastclf: error: standard output in ascii cannot write '\\xe4'; PYTHONIOENCODING=utf-8 can\n"


def test_ctrl_c_ends_with_one_line_and_no_result(folder, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(NearestNeighbors, "kneighbors", interrupt)
    assert knn() == 1
    assert capsys.readouterr() == ("", "fastclf: interrupted\n")
    assert not (folder / "R.npz").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_a_search_under_way_obeys_ctrl_c(folder):
    rng = np.random.default_rng(0)
    np.save("large.npy", rng.random((200_000, 64), dtype=np.float32))
    args, environment = command("knn", "--train", "large.npy", "--queries", "large.npy", "--out", "R.npz")
    child = subprocess.Popen(args, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        seen = child.stderr.read(1)  # the first character of the progress bar shows that the search has started
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert seen
    assert (child.returncode, out) == (1, "")
    assert err.endswith("fastclf: interrupted\n")
    assert "Traceback" not in err
    assert not (folder / "R.npz").exists()


def test_training_rows_that_the_trained_model_cannot_predict_are_told_in_a_sentence(folder):
    write_csv(folder / "few.csv", [(1, "x"), (2, "y"), (3, "x")], header=["a", "label"])
    told = run(folder, "train", "few.csv", "--model", "knn", "--out", "m.fclf")
    assert told.returncode == 2
    assert "fastclf: error: few.csv: Expected n_neighbors <= n_samples_fit" in told.stderr
    assert not (folder / "m.fclf").exists()
