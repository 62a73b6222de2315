"""Tables as people have them: ids, many texts, decimal commas, dates, faults, repeated names, other encodings."""

import json
import sys
import time
from datetime import date, datetime
from datetime import time as dtime
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow.parquet
import pytest
from test_cli import refused

import fastclf
from fastclf import (
    DecisionTreeClassifier,
    FunctionFeatures,
    GeneralisedLinearClassifier,
    KNeighborsClassifier,
    LogisticRegression,
    NaiveBayes,
    TableClassifier,
    cli,
)
from fastclf.cli import columns, compare, text_formats
from fastclf.cli.explain import describe
from fastclf.cli.files import Reading, read, read_table
from fastclf.table import Table
from fastclf.tree import export_graphviz, export_rules, export_text

pytestmark = pytest.mark.once

RNG = np.random.default_rng(0)
N = 60
SIZE = RNG.normal(0, 10, N).round(1)
LABEL = np.where(SIZE > 0, "yes", "no")
DAYS = [date(2024, 1, 1 + i % 28) for i in range(N)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, header, *columns, mark=",", encoding="utf-8"):
    lines = [mark.join(map(str, cells)) for cells in zip(*columns, strict=True)]
    with open(name, "w", encoding=encoding) as file:
        file.write("\n".join([*([mark.join(header)] if header else []), *lines]) + "\n")


def told(capsys, *args, status=0):
    """(JSON result, messages) of a command."""
    capsys.readouterr()
    assert cli.main([*args, "--json", "--quiet"]) == status
    out, err = capsys.readouterr()
    return json.loads(out), err


# Tests of columns that only identify the rows


@pytest.mark.parametrize(("column", "reason"), [
    ([f"c-{i}" for i in range(N)], "60 different texts in 60 rows"),
    (range(7, N + 7), "it numbers the rows from 7 to 66"),
    (range(N, 0, -1), "it numbers the rows from 60 to 1"),
])  # fmt: skip
def test_an_id_is_left_out_with_one_line_and_kept_on_request(folder, capsys, column, reason):
    write("data.csv", ["id", "size", "label"], column, SIZE, LABEL)
    record, err = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3")
    assert record["columns"] == 1
    assert err == f"fastclf: column 'id' is left out: {reason} (--keep id uses it)\n"
    record, err = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3", "--keep", "id")
    assert record["columns"] == 2
    assert "left out" not in err


def test_no_column_is_an_id_that_could_tell_something(folder, capsys):
    few, sizes, last = RNG.integers(0, 30, N), np.arange(N) * 2, [*range(N - 1), 0]
    write("data.csv", ["city", "size", "number", "label"], [f"c{i}" for i in few], sizes, last, LABEL)
    record, err = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3")
    assert (record["columns"], err) == (3, "")


def test_a_table_of_ids_alone_keeps_them(folder, capsys):
    write("data.csv", ["id", "label"], range(N), LABEL)
    record, err = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3")
    assert (record["columns"], err) == (1, "")


def test_a_model_trained_without_the_id_predicts_rows_with_and_without_it(folder, capsys):
    write("data.csv", ["id", "size", "label"], range(N), SIZE, LABEL)
    write("other.csv", ["size"], SIZE)
    assert cli.main(["train", "data.csv", "--model", "tree", "--out", "model", "--quiet"]) == 0
    answers = [told(capsys, "predict", "model", name)[0]["predictions"] for name in ("data.csv", "other.csv")]
    assert answers[0] == answers[1] == LABEL.tolist()


def test_many_texts_are_compared_in_seconds_of_processor_time(folder, capsys):
    n = 4000
    texts = [f"t{i}" for i in RNG.integers(0, 3000, n)]
    write("data.csv", ["text", "size", "label"], texts, RNG.normal(size=n), RNG.integers(0, 2, n))
    start = time.process_time()
    record, _ = told(capsys, "compare", "data.csv", "--models", "knn,logistic,linear-svm,least-squares", "--cv", "2")
    assert len(record["methods"]) >= 4
    assert time.process_time() - start < 30


# Tests of sparse features, which columns with many categories become


@pytest.mark.parametrize(
    "name", ["KNeighborsClassifier", "LeastSquaresClassifier", "LogisticRegression", "LinearSVC", "SVC", "Perceptron"]
)
def test_sparse_features_give_the_answers_of_dense_ones(monkeypatch, name):
    texts = np.array([f"t{i}" for i in RNG.integers(0, 40, 300)], dtype=object)
    texts[::17] = None
    table = Table([RNG.normal(size=300), texts, np.where(RNG.random(300) < 0.1, np.nan, RNG.normal(size=300))])
    y = (table.columns[0] + np.array([len(str(text)) for text in texts]) > 2.5).astype(int)
    answers = []
    # without an order, a perceptron's intercept takes smaller steps on sparse rows
    parameters = {"order": "cyclic", "max_iter": 100} if name == "Perceptron" else {}
    for many in (0, 10**6):
        monkeypatch.setattr(fastclf.table, "_MANY_LEVELS", many)
        model = TableClassifier(getattr(fastclf, name)(**parameters)).fit(table, y)
        assert hasattr(model.features(table), "indptr") == (many == 0)
        answers.append(model.predict(table))
    assert (answers[0] == answers[1]).mean() > 0.99
    if name in ("KNeighborsClassifier", "SVC"):
        np.testing.assert_array_equal(*answers)


def test_the_memory_of_many_categories_is_that_of_the_entries():
    n = 20_000
    texts = np.array([f"t{i}" for i in RNG.integers(0, n, n)], dtype=object)
    table = Table([RNG.normal(size=n), texts])
    model = TableClassifier(LogisticRegression()).fit(table, RNG.integers(0, 2, n))
    assert model.features(table).data.nbytes < 1e6
    assert model.predict(table).shape == (n,)


# Tests of columns of numbers and dates, and of faults in them


def test_decimal_commas_are_numbers(folder, capsys):
    commas = [f"{size}".replace(".", ",") for size in SIZE]
    write("data.csv", ["size", "price", "label"], commas, ["1.234,5", "1,5", "7"] * 20, LABEL, mark=";")
    table, _, _ = read_table(folder / "data.csv")
    np.testing.assert_array_equal(table.columns[0], SIZE)
    np.testing.assert_array_equal(table.columns[1], [1234.5, 1.5, 7] * 20)
    write("bare.csv", None, commas, commas, mark=";")
    X, names = read(folder / "bare.csv")
    assert names is None
    np.testing.assert_array_equal(X, np.column_stack([SIZE, SIZE]))


def test_the_separator_the_decimal_mark_and_the_encoding_can_be_given(folder, capsys):
    write("data.csv", ["größe", "farbe, text", "label"], SIZE, ["a,b", "ü,d"] * 30, LABEL, mark="#", encoding="latin-1")
    args = ["compare", "data.csv", "--models", "tree", "--cv", "3", "--sep", "#", "--encoding", "latin-1"]
    record, _ = told(capsys, *args)
    assert record["columns"] == 2
    assert record["methods"]["tree"]["error"] < 0.1
    assert "no text in UTF-8" in (text := refused(capsys, args[:-2] + ["--quiet"]))
    assert "--encoding latin-1" in text
    assert refused(capsys, [*args[:-1], "klingon"]).startswith("--encoding is 'klingon', which Python does not know")
    assert refused(capsys, [*args, "--sep", "##"]).startswith("--sep is '##'; one letter, or tab, is wanted")
    write("tab.csv", ["a", "label"], [f"{size}".replace(".", ",") for size in SIZE], LABEL, mark="\t")
    record, _ = told(capsys, "compare", "tab.csv", "--models", "tree", "--cv", "3", "--sep", "tab", "--decimal", ",")
    assert record["methods"]["tree"]["error"] < 0.1


def test_utf_16_is_read(folder):
    write("data.csv", ["größe", "label"], SIZE, LABEL, encoding="utf-16")
    table, _, _ = read_table(folder / "data.csv")
    assert table.names == ["größe"]
    np.testing.assert_array_equal(table.columns[0], SIZE)


@pytest.mark.parametrize(("lines", "mark"), [
    (["a,b;c", "1,5;2", "1,7;3"], ";"),
    (["a,b", '"x;y",1', '"z;",2'], ","),
    (["a\tb", "1,5\t2,5"], "\t"),
    (["a|b", "1|2"], "|"),
    (["a", "1"], ","),
    ([], ","),
])  # fmt: skip
def test_the_mark_between_cells_is_the_regular_one(folder, lines, mark):
    (folder / "data.csv").write_text("\n".join(lines))
    with open("data.csv") as file:
        assert text_formats._guessed(file, Reading()).separator == mark


def test_a_few_cells_that_are_no_numbers_are_missing_and_told(folder, capsys):
    cells = [*map(str, SIZE)]
    cells[3], cells[8] = "n.d.", "broken"
    write("data.csv", ["size", "label"], cells, LABEL)
    capsys.readouterr()
    assert cli.main(["compare", "data.csv", "--models", "tree", "--cv", "3"]) == 0
    err = capsys.readouterr().err
    assert "column 'size' holds numbers, but for 2 of 60 cells ('n.d.', 'broken'), which count as missing" in err
    record, _ = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3")
    assert record["methods"]["tree"]["error"] < 0.2


def test_codes_that_are_declared_categorical_stay_texts(folder, capsys):
    codes = [f"{i % 5}" for i in range(N - 2)] + ["2A", "2B"]
    write("data.csv", ["code", "size", "label"], codes, SIZE, LABEL)
    assert cli.main(["train", "data.csv", "--model", "tree", "--categorical", "code", "--out", "m", "--quiet"]) == 0
    assert fastclf.load("m").categories_[0] == ["0", "1", "2", "2A", "2B", "3", "4"]
    assert told(capsys, "predict", "m", "data.csv")[0]["error"] == 0


@pytest.mark.parametrize(("form", "first"), [
    ("%Y-%m-%d", 19723.0), ("%Y-%m-%dT%H:%M:%S", 19723.0), ("%Y-%m-%d 12:00", 19723.5),
    ("%Y-%m-%dT01:00:00+01:00", 19723.0), ("%d.%m.%Y", 19723.0), ("%d.%m.%Y 06:00", 19723.25), ("%Y/%m/%d", 19723.0),
])  # fmt: skip
def test_dates_are_days_since_1970(form, first):
    texts = np.array([*(day.strftime(form) for day in DAYS), None], dtype=object)
    table, notes, _ = columns.refined(Table([texts], ["day"]))
    assert table.columns[0][:3].tolist() == [first, first + 1, first + 2]
    assert np.isnan(table.columns[0][-1])
    assert notes == ["column 'day' holds dates: days since 1970-01-01"]


@pytest.mark.parametrize("texts", [["2024-01-01", "soon"], ["2024-13-01"], ["24-01-01"], ["13/01/2024", "01/13/2024"]])
def test_what_is_no_date_stays_a_text(texts):
    table, notes, memory = columns.refined(Table([np.array(texts, dtype=object)]))
    assert table.columns[0].tolist() == texts
    assert notes == []
    assert memory == columns.FRESH


@pytest.mark.parametrize(("form", "order", "shown"), [
    ("%d/%m/%Y", "day", "13/01/2024"), ("%m/%d/%Y", "month", "01/13/2024"), ("%d-%m-%Y", "day", "13-01-2024"),
    ("%m/%d/%Y 12:00 AM", "month", "01/13/2024 12:00 AM"), ("%d/%m/%Y 00:00:00", "day", "13/01/2024 00:00:00"),
])  # fmt: skip
def test_a_number_above_12_tells_the_day_from_the_month(form, order, shown):
    texts = np.array([*(day.strftime(form) for day in DAYS), None], dtype=object)
    table, notes, memory = columns.refined(Table([texts], ["day"]))
    assert table.columns[0][:3].tolist() == [19723.0, 19724.0, 19725.0]
    assert notes == [f"column 'day' holds dates, {order} first ({shown}): days since 1970-01-01"]
    assert memory.orders == {"day": order}


def test_dates_in_an_open_order_stay_texts_unless_the_order_is_given():
    texts = ["01/02/2024", "03/04/2024 6:30 pm"]
    column = np.array(texts, dtype=object)
    table, notes, memory = columns.refined(Table([column]))
    assert table.columns[0].tolist() == texts
    assert memory.orders == {}
    assert notes == [
        "column 1 holds dates such as 01/02/2024, whose order is not certain, and which stay texts: --dates day-first"
        " or --dates month-first makes them days"
    ]
    for order, first in (("day", date(2024, 2, 1)), ("month", date(2024, 1, 2))):
        for given in ({"assumed": order}, {"memory": columns.FRESH._replace(orders={0: order})}):
            table, _, memory = columns.refined(Table([column]), **given)
            assert table.columns[0][0] == (first - date(1970, 1, 1)).days
            assert memory.orders == {0: order}


def test_few_cells_that_are_no_dates_are_missing():
    texts = ["soon", *map(str, DAYS), "2024-02-30"]
    table, notes, _ = columns.refined(Table([np.array(texts, dtype=object)], ["day"]))
    assert np.isnan(table.columns[0]).tolist() == [True, *[False] * N, True]
    assert notes[0].endswith(f"; 2 of {N + 2} cells ('soon', '2024-02-30') are no dates, and count as missing")


def test_the_order_of_day_and_month_is_that_of_the_training(folder, capsys):
    days = [date.fromordinal(738_000 + 3 * i) for i in range(N)]
    label = ["late" if day.year > 2021 else "early" for day in days]
    write("data.csv", ["day", "size", "label"], [day.strftime("%m/%d/%Y") for day in days], SIZE, label)
    assert cli.main(["train", "data.csv", "--model", "tree", "--out", "model"]) == 0
    assert "column 'day' holds dates, month first" in capsys.readouterr().err
    assert fastclf.load("model").date_orders == {"day": "month"}
    write("open.csv", ["day", "size"], ["01/12/2020", "12/01/2019"], [1, 1])
    assert told(capsys, "predict", "model", "open.csv")[0]["predictions"] == ["early", "early"]
    write("other.csv", ["day", "size"], ["25/12/2020"], [1])
    assert "column 'day' holds '25/12/2020'; month/day/year is wanted, as in training" in refused(
        capsys, ["predict", "model", "other.csv"]
    )
    write("open.csv", ["day", "size", "label"], ["01/02/2024", "03/04/2024"] * 30, [1, 2] * 30, ["a", "b"] * 30)
    trained = ["train", "open.csv", "--model", "tree", "--out", "model"]
    assert cli.main(trained) == 0
    assert "--dates day-first or --dates month-first makes them days" in capsys.readouterr().err
    assert cli.main([*trained, "--dates", "day-first"]) == 0
    assert "column 'day' holds dates, day first (01/02/2024)" in capsys.readouterr().err


def test_parts_of_dates_are_columns_in_training_and_in_prediction(folder, capsys):
    days = [date.fromordinal(738_000 + 3 * i) for i in range(N)]
    weekday = ["rest" if day.weekday() > 4 else "work" for day in days]
    write("data.csv", ["day", "size", "label"], days, SIZE, weekday)
    args = ["train", "data.csv", "--model", "tree", "--date-parts", "day", "--out", "model", "--quiet"]
    assert cli.main(args) == 0
    model = fastclf.load("model")
    assert model.feature_names_in_.tolist()[:3] == ["day", "day: year", "day: month"]
    assert told(capsys, "predict", "model", "data.csv")[0]["error"] == 0
    table, *_ = columns.refined(Table([np.array([*map(str, days)], dtype=object)], ["day"]), (), [0])
    parts = dict(zip(table.names, table.columns, strict=True))
    assert parts["day: weekday"].tolist() == [day.weekday() for day in days]
    assert parts["day: month"].tolist() == [day.month for day in days]
    assert parts["day: day of month"].tolist() == [day.day for day in days]
    assert refused(capsys, [*args[:4], "--date-parts", "size", *args[6:]]).endswith(
        "column 'size' holds no dates; 2024-12-31, 31.12.2024 and 31/12/2024 are dates"
    )


def test_names_that_occur_twice_are_numbered_with_a_warning(folder, capsys):
    write("data.csv", ["a", "a", "b", "a", "label"], SIZE, SIZE, SIZE, SIZE, LABEL)
    record, err = told(capsys, "compare", "data.csv", "--models", "tree", "--cv", "3")
    assert record["columns"] == 4
    assert "column 2 has the name of an earlier column; it is called 'a.1'" in err
    assert "column 4 has the name of an earlier column; it is called 'a.2'" in err


# Tests of tables of pandas and polars


MOMENTS = [datetime(2024, 1, 1 + i % 28, 6) for i in range(N)]


@pytest.mark.parametrize("days", [
    pandas.Series(pandas.to_datetime(MOMENTS)),
    pandas.Series(pandas.to_datetime(MOMENTS)).astype("datetime64[s]"),
    pandas.Series(pandas.to_datetime(MOMENTS)).dt.tz_localize("UTC"),
    pandas.Series(MOMENTS, dtype=object),
    pandas.Series(pandas.to_timedelta([moment - datetime(1970, 1, 1) for moment in MOMENTS])),
    polars.Series(MOMENTS),
], ids=["ns", "s", "zone", "object", "duration", "polars"])  # fmt: skip
@pytest.mark.parametrize("make", [lambda: TableClassifier(NaiveBayes()), NaiveBayes, lambda: TableClassifier()])
def test_dates_in_tables_are_days(days, make):
    table = (
        pandas.DataFrame({"day": days, "size": SIZE})
        if isinstance(days, pandas.Series)
        else polars.DataFrame({"day": days, "size": SIZE})
    )
    model = make().fit(table, LABEL)
    numbers = pandas.DataFrame({"day": [19723.25 + i % 28 for i in range(N)], "size": SIZE})
    np.testing.assert_array_equal(model.predict(table), make().fit(numbers, LABEL).predict(numbers))


def test_dates_and_other_values_in_one_column_are_refused_by_its_name():
    table = pandas.DataFrame({"day": pandas.Series([DAYS[0], 3] * 10, dtype=object), "size": SIZE[:20]})
    with pytest.raises(TypeError, match="column 'day' of X holds dates and 3; values of one kind are wanted"):
        TableClassifier().fit(table, LABEL[:20])


def test_a_column_that_the_model_does_not_use_may_be_of_any_type():
    table = pandas.DataFrame({"size": SIZE})
    model = TableClassifier(DecisionTreeClassifier()).fit(table, LABEL)
    more = table.assign(odd=[{"a": 1}] * N, complex=1j)
    np.testing.assert_array_equal(model.predict(more), LABEL)


def test_messages_name_the_column():
    with pytest.raises(TypeError, match=r"column 'odd' of X holds \{\}"):
        TableClassifier().fit(pandas.DataFrame({"odd": [{}] * N, "size": SIZE}), LABEL)
    with pytest.raises(TypeError, match="column 'odd' of X has dtype complex"):
        NaiveBayes().fit(pandas.DataFrame({"size": SIZE, "odd": 1j}), LABEL)


# Tests of the command compare on such tables


def test_ctrl_c_leaves_the_table_of_the_methods_that_are_done(folder, capsys, monkeypatch):
    write("data.csv", ["size", "label"], SIZE, LABEL)

    def interrupted(self, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(fastclf.LogisticRegression, "fit", interrupted)
    monkeypatch.setattr(compare, "CANDIDATES", compare.CANDIDATES[::-1])
    args = ("compare", "data.csv", "--models", "tree,logistic,bayes", "--cv", "3")
    record, err = told(capsys, *args, status=1)
    assert set(record["methods"]) == {"naive Bayes, cuts", "naive Bayes, normal", "tree", "tree, 8 deep"}
    assert record["missing"] == ["logistic regression"]
    assert err.endswith("fastclf: interrupted: logistic regression not finished\n")


def test_a_method_that_takes_longer_than_the_others_is_told(folder, capsys, monkeypatch):
    write("data.csv", ["size", "label"], SIZE, LABEL)
    monkeypatch.setattr(compare, "_SLOW", 0.05)
    fit = fastclf.GaussianNB.fit

    def slow(self, *given):
        time.sleep(0.3)
        return fit(self, *given)

    monkeypatch.setattr(fastclf.GaussianNB, "fit", slow)
    assert cli.main(["compare", "data.csv", "--models", "GaussianNB", "--cv", "3"]) == 0
    assert "GaussianNB: running for 0 s, longer than all methods before it" in capsys.readouterr().err


def test_the_table_appears_as_methods_end(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    write("data.csv", ["size", "label"], SIZE, LABEL)
    assert cli.main(["compare", "data.csv", "--models", "tree,bayes", "--cv", "3"]) == 0
    err = capsys.readouterr().err
    assert [line.partition(":")[0] for line in err.splitlines() if "s of fits" in line] == [
        "tree, 8 deep", "tree", "naive Bayes, normal", "naive Bayes, cuts",
    ]  # fmt: skip


# Tests of settings of methods and of progress


@pytest.mark.parametrize("command", ["evaluate", "train", "tune"])
@pytest.mark.parametrize(("method", "setting", "reason"), [
    ("knn", "n_neighbors=many", "n_neighbors is 'many'; a whole number is wanted"),
    ("knn", "weights=far", "weights is 'far'; one of 'uniform', 'distance'"),
    ("svm", "C=-1", "C is -1; a number above 0"),
    ("tree", "max_depth=0", "max_depth is 0; at least 1"),
    ("tree", "max_features=root", "max_features is 'root'; one of 'sqrt', 'log2'"),
    ("bayes", "distributions=normal", "distributions is 'normal'; one of 'auto', 'gaussian'"),
    ("logistic", "solver=best", "solver is 'best'; one of 'auto'"),
])  # fmt: skip
def test_a_wrong_value_is_told_before_the_data_are_read(folder, capsys, command, method, setting, reason):
    out = ["--out", "model"] if command == "train" else []
    message = refused(capsys, [command, "absent.csv", "--model", method, "--set", setting, *out])
    assert message.startswith(f"{method}: {reason}")
    if command == "tune":
        assert refused(capsys, ["tune", "absent.csv", "--model", method, "--grid", setting]) == message


@pytest.mark.parametrize(("method", "setting"), [
    ("knn", "n_neighbors=500"), ("tree", "max_features=9"), ("tree", "ccp_alpha=cv"), ("svm", "C=inf"),
    ("bayes", "distributions=poisson"), ("knn", "metric=haversine"), ("tree", "cost_matrix=[[0,1,2],[1,0,1],[1,1,0]]"),
    ("tree", "categorical_features=[7]"), ("NuSVC", "nu=0.9"), ("svm", "kernel=precomputed"),
])  # fmt: skip
def test_a_value_that_some_data_suit_is_left_to_the_data(folder, capsys, method, setting):
    call = ["evaluate", "absent.csv", "--model", method, "--set", setting]
    assert "there is no such file" in refused(capsys, call)


def test_one_bar_counts_the_fits_of_all_methods_in_whole_numbers(folder, capsys):
    write("data.csv", ["size", "label"], SIZE, LABEL)
    capsys.readouterr()
    assert cli.main(["compare", "data.csv", "--models", "tree,bayes,centroid", "--cv", "3"]) == 0
    err = capsys.readouterr().err
    n = len(compare.candidates("tree,bayes,centroid"))
    assert f"{3 * n} of {3 * n} fits" in err
    bars = {line.split(":")[0] for line in err.replace("\r", "\n").splitlines() if " fits [" in line}
    assert bars == {"data.csv"}


def test_an_error_of_the_commonest_class_cannot_be_read_as_its_share(folder, capsys):
    write("data.csv", ["size", "label"], SIZE, ["a"] * 45 + ["b"] * 15)
    assert cli.main(["evaluate", "data.csv", "--model", "tree", "--cv", "3", "--quiet"]) == 0
    assert "error by the commonest class    25.00%" in capsys.readouterr().out
    assert cli.main(["compare", "data.csv", "--models", "tree", "--cv", "3", "--quiet"]) == 0
    assert "always the most frequent class  25.00%" in capsys.readouterr().out


# Tests of numbers with units and with marks between digits, and of the line that tells Excel the separator


@pytest.mark.parametrize(("cells", "numbers", "said"), [
    (["12,5 %", "3 %", "1.000,25 %"], [12.5, 3, 1000.25], "numbers with decimal commas, with the unit '%'"),
    (["5%", "17%", "-3%"], [5, 17, -3], "numbers, with the unit '%'"),
    (["$1,234.50", "-$3.00", "$12"], [1234.5, -3, 12], "numbers with a comma after the thousands, with the unit '$'"),
    (["1.234,50 €", "3 €", "\u22124,00 €"], [1234.5, 3, -4], "numbers with decimal commas, with the unit '€'"),
    (["EUR 12", "EUR 13.5", "7"], [12, 13.5, 7], "numbers, with the unit 'EUR'"),
    (["1 234,5", "12 345", "3"], [1234.5, 12345, 3], "numbers with decimal commas, with marks between the digits"),
    (["1\u202f234,5", "1\u00a0234", "0,5"], [1234.5, 1234, 0.5], "numbers with decimal commas, with marks between"),
    (["1'234.5", "1\u2019234", "9"], [1234.5, 1234, 9], "numbers, with marks between the digits"),
], ids=str)  # fmt: skip
def test_numbers_with_units_are_numbers(folder, cells, numbers, said):
    write("data.csv", ["price", "town", "label"], cells * 20, ["a", "b", "c"] * 20, LABEL, mark="\t")
    table, notes, _ = columns.refined(read_table(folder / "data.csv")[0])
    assert np.array_equal(table.columns[0], numbers * 20)
    assert notes[0].startswith(f"column 'price' holds {said}")
    assert table.columns[1].dtype == object


@pytest.mark.parametrize("cells", [
    ["5 %", "3 €", "1"], ["A 12", "B 13", "7"], ["12 Jan", "13 Feb", "3"], ["1 2", "3 4", "5 6"], ["%", "3 %", "4 %"],
    ["1,2,3 %", "1,2 %", "3 %"], ["10-20", "20-30", "30-40"],
], ids=str)  # fmt: skip
def test_texts_with_digits_stay_texts(cells):
    column = np.array(cells * 9, dtype=object)
    table, notes, _ = columns.refined(Table([column], ["x"]))
    assert table.columns[0] is column
    assert notes == []


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_the_line_that_tells_excel_the_mark_is_not_a_row(folder, mark, header):
    write("data.csv", ["a", "b"] if header else [], range(5), range(5, 10), mark=mark)
    expected, names = read(folder / "data.csv")
    text = (folder / "data.csv").read_text()
    (folder / "marked.csv").write_text(f"sep={mark}\n{text}")
    found, found_names = read(folder / "marked.csv")
    assert np.array_equal(found, expected)
    assert found_names == names
    table = read_table(folder / "marked.csv")[0]
    assert np.array_equal(table.columns[0], range(5))


def test_a_wrong_name_of_a_column_is_answered_with_the_nearest(folder, capsys):
    write("data.csv", ["size", "label"], SIZE, LABEL)
    assert refused(capsys, ["train", "data.csv", "--model", "tree", "--target", "lable", "--out", "m"]).endswith(
        "there is no column 'lable', only 'size', 'label'; did you mean label?"
    )


# How a file was read, which the model remembers


@pytest.mark.parametrize(("cells", "options", "numbers"), [
    (["12.345", "1.234"], ["--decimal", ","], [12345, 1234]),
    (["12.345", "1.234"], ["--decimal", "."], [12.345, 1.234]),
    (["12.345", "1.234"], [], [12.345, 1.234]),
    (["12.345", "1.5"], ["--decimal", ","], [12.345, 1.5]),
    (["0.345", "1.234"], ["--decimal", ","], [0.345, 1.234]),
    (["0,345", "1,234"], ["--decimal", ","], [0.345, 1.234]),
    (["12.345", "1,5"], ["--decimal", ","], [12345, 1.5]),
    (["12.345 €", "1.234 €"], ["--decimal", ","], [12345, 1234]),
    (["12,345", "1,234"], ["--decimal", "."], [12345, 1234]),
    (["12,345", "1,234"], ["--decimal", ","], [12.345, 1.234]),
])  # fmt: skip
@pytest.mark.parametrize("n", [4, 20_000])
def test_a_point_between_thousands_is_no_decimal_point(folder, cells, options, numbers, n):
    write("data.csv", ["x", "label"], cells * (n // 2), ["a", "b"] * (n // 2), mark=";")
    reading = Reading(decimal=options[-1] if options else None)
    table, *_ = columns.refined(read_table(folder / "data.csv", reading=reading)[0])
    assert table.columns[0].tolist() == numbers * (n // 2)
    if not any("€" in cell for cell in cells):
        write("numbers.csv", ["x"], cells, mark=";")
        options = Reading(separator=";", decimal=reading.decimal)
        if cells[0].count(",") == 0 or reading.decimal == ",":
            assert read(folder / "numbers.csv", options)[0].ravel().tolist() == numbers


def test_other_columns_tell_a_point_between_thousands_from_a_decimal_point(folder):
    write("comma.csv", ["x", "y", "label"], ["12.345", "1.234"], ["1,5", "2,25"], ["a", "b"], mark=";")
    assert read_table(folder / "comma.csv")[0].columns[0].tolist() == [12345, 1234]
    write("point.csv", ["x", "y", "label"], ["12.345", "1.234"], ["1.5", "2.25"], ["a", "b"], mark=";")
    assert read_table(folder / "point.csv")[0].columns[0].tolist() == [12.345, 1.234]
    cells = ["12.345"] * 20_000 + ["1,5"]
    write("late.csv", ["x", "label"], cells, ["a"] * 20_001, mark=";")
    assert read_table(folder / "late.csv")[0].columns[0].tolist() == [12345] * 20_000 + [1.5]
    write("fault.csv", ["x", "label"], ["12.300"] * 40_000 + ["?!"], ["a"] * 40_001, mark=";")
    table = columns.refined(read_table(folder / "fault.csv", reading=Reading(decimal=","))[0]).table
    assert table.columns[0][:-1].tolist() == [12300] * 40_000
    assert np.isnan(table.columns[0][-1])


def test_new_rows_are_read_as_those_of_the_training(folder, capsys):
    price = [f"{1000 + 37 * i:,}".replace(",", ".") + ("" if i % 2 else ",5") for i in range(N)]
    code = ["1,5" if i % 2 else "A7" for i in range(N)]
    size = [*map(str, range(N - 1)), "k. A."]
    day = [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2024" for i in range(N)]
    label = ["cheap" if i < N / 2 else "dear" for i in range(N)]
    head = ["Preis €", "code", "size", "day"]
    write("data.csv", [*head, "label"], price, code, size, day, label, mark=";", encoding="cp1252")
    args = ["--encoding", "cp1252", "--model", "tree", "--keep", "size", "--keep", "code", "--quiet"]
    assert cli.main(["train", "data.csv", *args, "--out", "model"]) == 0
    model = fastclf.load("model")
    assert model.feature_names_in_.tolist() == ["Preis €", "code", "size", "day"]
    assert model.reading == {
        "separator": ";", "encoding": "cp1252", "decimals": {"Preis €": ",", "size": ","}, "faulty": ["size"]
    }  # fmt: skip
    # one row at a time: no other row of the file shows how a cell is to be read
    for i in (0, 1, 40, N - 1):
        for mark, encoding in ((";", "cp1252"), (";", "utf-8"), ("|", "utf-8")):
            write("new.csv", head, *([column[i]] for column in (price, code, size, day)), mark=mark, encoding=encoding)
            capsys.readouterr()
            assert cli.main(["predict", "model", "new.csv", "--quiet"]) == 0
            assert capsys.readouterr().out.split() == [label[i]]
    write("other.csv", head, ["1000.5"], ["A7"], ["3"], ["13/02/2024"], mark=";")
    assert cli.main(["predict", "model", "other.csv", "--decimal", ".", "--quiet"]) == 0
    capsys.readouterr()
    write("wrong.csv", head, ["cheap"], ["A7"], ["3"], ["13/02/2024"], mark=";")
    assert refused(capsys, ["predict", "model", "wrong.csv", "--quiet"]).endswith("a number is wanted, as in training")


@pytest.mark.parametrize("order", ["day", "month", "year"])
def test_one_date_is_read_as_those_of_the_training(folder, capsys, order):
    form = {"day": "%d/%m/%Y", "month": "%m/%d/%Y", "year": "%Y-%m-%d"}[order]
    days = [date.fromordinal(738_000 + 3 * i) for i in range(N)]
    label = ["late" if i >= N / 2 else "early" for i in range(N)]
    write("data.csv", ["day", "size", "label"], [day.strftime(form) for day in days], SIZE, label)
    assert cli.main(["train", "data.csv", "--model", "tree", "--keep", "day", "--out", "model", "--quiet"]) == 0
    assert fastclf.load("model").date_orders == {"day": order}
    for day, known in zip(days, label):
        write("new.csv", ["day", "size"], [day.strftime(form)], [1])
        capsys.readouterr()
        assert cli.main(["predict", "model", "new.csv", "--quiet"]) == 0
        assert capsys.readouterr().out.split() == [known]


# Columns of any type


def test_a_column_that_is_not_used_may_be_of_any_type(folder, capsys):
    odd = {
        "blob": pyarrow.array([b"ab"] * N), "tags": pyarrow.array([[1, 2]] * N), "part": pyarrow.array([{"a": 1}] * N),
        "hour": pyarrow.array([dtime(1, 2)] * N),
    }  # fmt: skip
    price = pyarrow.array([None if i == 7 else Decimal(i) / 4 for i in range(N)], pyarrow.decimal128(10, 2))
    label = ["cheap" if i < N / 2 else "dear" for i in range(N)]
    pyarrow.parquet.write_table(pyarrow.table({"price": price, **odd, "label": label}), "data.parquet")
    drop = [word for name in odd for word in ("--drop", name)]
    assert cli.main(["train", "data.parquet", "--model", "tree", "--out", "model", "--quiet", *drop]) == 0
    assert fastclf.load("model").categories_ == [None]
    capsys.readouterr()
    assert cli.main(["predict", "model", "data.parquet", "--quiet"]) == 0
    assert capsys.readouterr().out.split()[8:] == label[8:]
    for name in odd:
        others = [word for other in odd if other != name for word in ("--drop", other)]
        message = refused(capsys, ["train", "data.parquet", "--model", "tree", "--out", "other", "--quiet", *others])
        assert f"column {name!r}" in message


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"a", 1j, (1, 2), np.array([1, 2])])
def test_a_column_of_a_table_that_holds_no_numbers_and_no_texts_is_named(value):
    table = pandas.DataFrame({"size": SIZE, "odd": [value] * N})
    with pytest.raises(TypeError, match="column 'odd'"):
        TableClassifier().fit(table, LABEL)
    TableClassifier().fit(table[["size"]], LABEL).predict(table)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_names_of_a_table_that_occur_twice_are_numbered_with_a_warning(kind):
    columns = [SIZE, np.arange(N), SIZE**2]
    if kind == "pandas":
        table = pandas.DataFrame(np.column_stack(columns), columns=["a", "b", "a"])
    else:
        table = pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], names=["a", "b", "a"])
    with pytest.warns(UserWarning, match="column 3 has the name of an earlier column; it is called 'a.1'"):
        model = TableClassifier().fit(table, LABEL)
    assert model.feature_names_in_.tolist() == ["a", "b", "a.1"]
    with pytest.warns(UserWarning, match=r"'a\.1'"):
        answers = model.predict(table)
    assert answers.tolist() == model.predict(Table(columns, ["a", "b", "a.1"])).tolist()


# Dates in tables, and in the rules of trees


@pytest.mark.parametrize(("form", "order"), [
    ("%d/%m/%Y", "day"), ("%m/%d/%Y", "month"), ("%Y-%m-%d", "year"), ("%d.%m.%Y", "day"), (None, "year"),
])  # fmt: skip
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_of_a_table_are_days_and_rules_show_dates(tmp_path, form, order, library):
    days = [date.fromordinal(738_000 + 3 * i) for i in range(N)]
    label = np.where(np.arange(N) < N / 2, "early", "late")
    make = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[library]

    def table(rows):
        return make({"day": [days[i].strftime(form) if form else days[i] for i in rows], "size": [1.0] * len(rows)})

    model = TableClassifier().fit(table(range(N)), label)
    assert model.categories_ == [None, None]
    assert model.dates_ == [order, None]
    fastclf.save(model, tmp_path / "model")
    for each in (model, fastclf.load(tmp_path / "model")):
        assert [each.predict(table([i]))[0] for i in range(N)] == label.tolist()
        assert "day <= 2021-10-25 12:00" in export_text(each)
        assert "IF day <= 2021-10-25 12:00 THEN early" in export_rules(each)
        assert "day <= 2021-10-25 12:00" in export_graphviz(each).replace("&le;", "<=")
        assert any("day <= 2021-10-25 12:00" in line for line in describe(each, 5)["text"])
    with pytest.raises(ValueError, match=r"column 'day' holds 'soon' .*; a date is wanted, as in training"):
        model.predict(make({"day": ["soon"], "size": [1.0]}))
    rows = np.arange(N)[:, None].astype(float)
    plain = TableClassifier(LogisticRegression()).fit(table(range(N)), label)
    assert plain.features(table(range(N)))[:, 0] == pytest.approx(plain.features(table([0]))[0, 0] + 3 * rows[:, 0])


def test_dates_of_a_table_in_an_open_order_are_categories_with_a_warning():
    table = pandas.DataFrame({"day": ["3/4/2024", "4/5/2024"]})
    with pytest.warns(UserWarning, match="column 'day' holds dates whose order of day and month is not certain"):
        assert TableClassifier().fit(table, [0, 1]).categories_ == [["3/4/2024", "4/5/2024"]]
    for order, month in (("day", 4), ("month", 3)):
        model = TableClassifier(LogisticRegression(), scale=False, date_orders={"day": order}).fit(table, [0, 1])
        assert date.fromordinal(719_163 + int(model.features(table)[0, 0])).month == month


def test_columns_of_separators_at_the_ends_of_lines_are_left_out(folder, capsys):
    numbers = [f"{i % 7},5" for i in range(N)]
    for name, end, empty in [("lines.csv", ";", ""), ("both.csv", ";;", ""), ("between.csv", "", ";")]:
        rows = [f"{number};{empty}{'ab'[i % 2]}{end}" for i, number in enumerate(numbers)]
        head = f"x;{empty}label{end if name != 'lines.csv' else ''}"
        (folder / name).write_text("\n".join([head, *rows]) + "\n")
        table, y, called = read_table(folder / name)
        # a column between others is kept, so that `--target` finds columns by their numbers in the file
        names = ["x", "column 2"] if empty else ["x"]
        assert (table.names, y[:2].tolist(), called) == (names, ["a", "b"], "label")
    write("index.csv", ["", "x", "label"], map(str, range(N)), numbers, ["a", "b"] * (N // 2), mark=";")
    assert read_table(folder / "index.csv")[0].names == ["column 1", "x"]
    assert capsys.readouterr().err == ""
    (folder / "long.csv").write_text("x;label\n1;a;;\n2;b;;3\n")
    assert "line 3 has 4 columns, the lines before it have 2" in refused(capsys, ["compare", "long.csv"])


def test_latin_1_is_read_as_such_where_windows_defines_no_character(folder):
    write("data.csv", ["x", "y"], ["a\x80", "b\x81"], ["a", "b"], encoding="latin-1")
    table = read_table(folder / "data.csv", reading=Reading(encoding="latin-1"))[0]
    assert table.columns[0].tolist() == ["a\x80", "b\x81"]


def test_latin_1_has_the_marks_that_windows_adds_to_it(folder):
    write("data.csv", ["Preis €", "y"], ["1 €", "2 €"], ["a", "b"], mark=";", encoding="cp1252")
    table = columns.refined(read_table(folder / "data.csv", reading=Reading(encoding="latin-1"))[0]).table
    assert (table.names, table.columns[0].tolist()) == (["Preis €"], [1, 2])


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["k.A.", "?!", *map(str, range(30))], [np.nan, np.nan, *range(30)]),
        (["unknown"] * 30 + [str(i) for i in range(31)], [np.nan] * 30 + [*range(31)]),
        (["unknown"] * 32 + [str(i) for i in range(31)], None),
        (["A4"] * 10 + [str(i) for i in range(31)], None),
        (["low", "high"] * 10 + ["1", "2", "3"] * 10, None),
    ],
)
def test_words_that_mark_missing_numbers_are_told_from_categories(cells, numbers):
    found = columns.refined(Table([np.array(cells, dtype=object)], ["x"]))
    if numbers is None:
        assert found.table.columns[0].tolist() == cells
    else:
        np.testing.assert_array_equal(found.table.columns[0], numbers)
        assert "count as missing" in found.notes[0]


def test_numbers_in_brackets_are_negative():
    for cells in (["(1,250.50 €)", "12.00 €", None], ["(1,250.50)", "12", None]):
        found = columns.refined(Table([np.array(cells, dtype=object)], ["x"]))
        np.testing.assert_array_equal(found.table.columns[0], [-1250.5, 12, np.nan])
        assert "brackets around negative ones" in found.notes[0]


def test_rows_without_a_label_can_be_left_out(folder, capsys):
    write("data.csv", ["x", "label"], [i % 9 for i in range(N)], ["", "b", "a", "b"] * (N // 4))
    assert "15 of 60 rows, the first of which is row 0" in refused(capsys, ["compare", "data.csv", "--quiet"])
    assert cli.main(["train", "data.csv", "--model", "tree", "--missing", "drop", "--out", "model"]) == 0
    assert "45 rows x 1 columns" in capsys.readouterr().err


def test_infinity_is_refused_by_the_name_of_its_column(folder, capsys):
    write(
        "data.csv", ["x", "sum", "label"], map(str, range(N)), ["1", "2", "inf", "4"] * (N // 4), ["a", "b"] * (N // 2)
    )
    for method in ("tree", "bayes", "knn"):
        assert "column 'sum' holds inf (row 2)" in refused(
            capsys, ["compare", "data.csv", "--keep", "x", "--models", method]
        )


def test_numbers_with_fractions_are_no_labels_of_a_large_table(folder, capsys):
    write("data.csv", ["x", "label"], [i % 9 for i in range(400)], [f"{i % 100}.5" for i in range(400)])
    assert "100 different values in 400 rows" in refused(capsys, ["compare", "data.csv", "--quiet"])


def test_rules_of_many_categories_are_short(folder, capsys):
    towns = [f"town{i % 40}" for i in range(400)]
    write("data.csv", ["town", "label"], towns, ["a" if i % 40 < 20 else "b" for i in range(400)])
    assert cli.main(["train", "data.csv", "--model", "tree", "--out", "model", "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["explain", "model"]) == 0
    assert "and 8 more} THEN a" in capsys.readouterr().out
    assert cli.main(["explain", "model", "--json"]) == 0
    conditions = [rule["conditions"] for rule in json.loads(capsys.readouterr().out)["rules"]]
    assert sorted(len(bound) for [[_, _, bound]] in conditions) == [20, 20]


def test_products_of_many_categories_stay_sparse():
    n = 1000
    texts = np.array([f"t{i}" for i in RNG.integers(0, 400, n)], dtype=object)
    table = Table([RNG.normal(size=n), texts])
    y = (table.columns[0] > 0).astype(int)
    model = TableClassifier(GeneralisedLinearClassifier(model=LogisticRegression())).fit(table, y)
    assert hasattr(model.features(table), "indptr")
    assert (model.predict(table) == y).mean() > 0.9
    dense = TableClassifier(GeneralisedLinearClassifier(FunctionFeatures(), LogisticRegression())).fit(table, y)
    assert isinstance(dense.features(table), np.ndarray)


def test_rows_of_a_table_have_ids_if_the_model_has_neighbours():
    table = pandas.DataFrame({"town": ["Ulm", "Bonn", "Ulm", "Bonn"], "size": [1.0, 2.0, 3.0, 4.0]})
    y, names = ["a", "b", "a", "b"], ["w", "x", "y", "z"]
    model = TableClassifier(KNeighborsClassifier(1)).fit(table, y, ids=names)
    nearest = model.model_.kneighbors(model.features(table), return_ids=True)[1]
    assert nearest.ravel().tolist() == names
    model.model_.remove(ids=["w"])
    assert model.model_.ids_.tolist() == names[1:]
    model.model_.partial_fit(model.features(table[:1]), y[:1], ids=["v"])
    assert model.model_.kneighbors(model.features(table[:1]), return_ids=True)[1].tolist() == [["v"]]
    with pytest.raises(TypeError, match="ids is given, which DecisionTreeClassifier does not take"):
        TableClassifier().fit(table, y, ids=names)
