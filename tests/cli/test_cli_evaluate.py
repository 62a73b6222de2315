"""evaluate, compare, tune and demo: their figures are those of the library, as text and as JSON."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, cohen_kappa_score, log_loss, roc_auc_score
from test_cli import SPECIES, X, Y, refused, write_csv
from test_cli_tables import LABEL, NAMES, folder  # noqa: F401

import fastclf
from fastclf import cli, contingency_table, cross_validate, load, tune
from fastclf.cli import compare
from fastclf.cli.tune import _grid
from fastclf.table import TableClassifier

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("folder")]

TWO = SPECIES != "setosa"


# The folds that the command line makes by default.
FOLDS = {"cv": 10, "random_state": 0}


def said(capsys, *args):
    """The text that a command prints."""
    capsys.readouterr()
    assert cli.main([*args, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def told(capsys, *args):
    """The JSON that a command prints, as a dict."""
    return json.loads(said(capsys, *args, "--json"))


# Tests of the command evaluate


def test_evaluate_gives_the_figures_of_cross_validate(capsys):
    record = told(capsys, "evaluate", "iris.csv", "--model", "tree", "--cv", "5", "--repeat", "2")
    known = cross_validate(fastclf.DecisionTreeClassifier(random_state=0), X, SPECIES, cv=5, repeats=2, random_state=0)
    assert (record["error"], record["standard_error"]) == (known.error, known.standard_error)
    np.testing.assert_array_equal(record["table"], known.table.counts)
    assert record["kappa"] == known.table.kappa
    np.testing.assert_array_equal(record["precision"], known.table.precision())
    text = said(capsys, "evaluate", "iris.csv", "--model", "tree", "--cv", "5", "--repeat", "2")
    assert f"{known.error:.2%}   standard error {known.standard_error:.2%}" in text
    assert "5-fold cross-validation, 2 times" in text
    assert "66.67%" in text  # the error of predicting the most frequent class for every row


def test_evaluate_scales_in_each_fold_alone(capsys):
    write_csv_uneven = X * [1, 1000, 1, 1]
    np.savez("uneven.npz", X=write_csv_uneven, y=SPECIES)
    known = cross_validate(
        TableClassifier(fastclf.KNeighborsClassifier(), scale=True), write_csv_uneven, SPECIES, **FOLDS
    )
    assert told(capsys, "evaluate", "uneven.npz", "--model", "knn")["error"] == known.error
    plain = cross_validate(fastclf.KNeighborsClassifier(), write_csv_uneven, SPECIES, **FOLDS)
    assert told(capsys, "evaluate", "uneven.npz", "--model", "knn", "--scale", "no")["error"] == plain.error


def test_leave_one_out_is_asked_for_by_name(capsys):
    record = told(capsys, "evaluate", "iris.csv", "--model", "knn", "--set", "n_neighbors=1", "--cv", "loo")
    known = cross_validate(fastclf.KNeighborsClassifier(1), X, SPECIES, cv="loo")
    assert record["error"] == known.error
    assert record["validation"] == "leave-one-out"


def test_a_test_file_and_a_trained_model_are_judged_alike_and_as_scikit_learn_does(capsys):
    np.savez("train.npz", X=X[::2], y=TWO[::2].astype(int))
    np.savez("test.npz", X=X[1::2], y=TWO[1::2].astype(int))
    model = fastclf.LogisticRegression(random_state=0).fit(X[::2], TWO[::2].astype(int))
    proba, y = model.predict_proba(X[1::2]), TWO[1::2].astype(int)
    assert cli.main(["train", "train.npz", "--model", "logistic", "--out", "model", "--quiet"]) == 0
    for args in (["train.npz", "--model", "logistic", "--test", "test.npz"], ["test.npz", "--model", "model"]):
        record = told(capsys, "evaluate", *args)
        assert record["error"] == np.mean(model.predict(X[1::2]) != y)
        assert record["log loss"] == pytest.approx(log_loss(y, proba), rel=1e-12)
        assert record["Brier score"] == pytest.approx(brier_score_loss(y, proba[:, 1]), rel=1e-12)
        assert record["area under the ROC curve"] == pytest.approx(roc_auc_score(y, proba[:, 1]), rel=1e-12)
        assert record["kappa"] == pytest.approx(cohen_kappa_score(y, model.predict(X[1::2])), rel=1e-12)
        np.testing.assert_array_equal(record["table"], contingency_table(y, model.predict(X[1::2])).counts)


COSTS = [[0, 1, 5], [2, 0, 1], [9, 3, 0]]


@pytest.mark.parametrize("named", [False, True])
def test_costs_are_counted_and_decisions_of_least_cost_judged(capsys, named, tmp_path):
    if named:
        order = [2, 0, 1]
        names = np.unique(SPECIES)
        rows = [[names[i], *(COSTS[i][j] for j in order)] for i in order]
        write_csv(tmp_path / "cost.csv", rows, ["true", *names[order]])
    else:
        write_csv(tmp_path / "cost.csv", COSTS)
    record = told(capsys, "evaluate", "iris.csv", "--model", "GaussianNB", "--cost", "cost.csv")
    plain = cross_validate(fastclf.GaussianNB(), X, SPECIES, **FOLDS).table.counts
    wary = fastclf.CostSensitiveClassifier(fastclf.GaussianNB(), cost_matrix=COSTS)
    by_cost = cross_validate(wary, X, SPECIES, **FOLDS).table.counts
    assert record["cost"] == pytest.approx(np.sum(plain * COSTS) / 150)
    assert record["cost_by_least_expected_cost"] == pytest.approx(np.sum(by_cost * COSTS) / 150)
    assert record["cost_of_the_cheapest_class"] == pytest.approx(np.mean(COSTS, axis=0).min())


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--cv", "ten"], "--cv is 'ten'; a number of folds, or loo, is wanted"),
        (["--cv", "1"], "--cv is 1; 2 to 150, the number of rows, is wanted"),
        (["--cv", "151"], "--cv is 151; 2 to 150, the number of rows, is wanted"),
        (["--repeat", "0"], "--repeat is 0; at least 1 is wanted"),
        (["--cv", "loo", "--repeat", "2"], "--repeat is given with --cv loo"),
        (["--seed", "-1"], "--seed is -1; a number from 0 up is wanted"),
        (["--cost", "none.csv"], "none.csv: No such file or directory"),
        (["--cost", "iris.csv"], "iris.csv: there are 151 lines; a square of costs for setosa, versicolor, "),
        (["--cost", "words.csv"], "words.csv: could not convert string to float: 'x'"),
        (["--model", "knn", "--cost", "nan.csv"], "nan.csv: there is a cost of NaN or infinity"),
        (["--model", "least-squares", "--cost", "square.csv"], "--cost: least-squares has no probabilities"),
        (["--test", "mixed.csv"], "mixed.csv: there is no column 'sepal length'; one is wanted, as in training"),
        (["--model", "model", "--set", "C=1"], "--set and --test are given with the trained model model"),
        (["--target", "-9"], "iris.csv: there is no column '-9', only 'sepal length'"),
    ],
)
def test_a_wrong_request_to_evaluate_is_one_sentence(capsys, tmp_path, args, sentence):
    write_csv(tmp_path / "words.csv", [[0, 1, "x"], [1, 0, 1], [1, 1, 0]])
    write_csv(tmp_path / "nan.csv", [[0, 1, "nan"], [1, 0, 1], [1, 1, 0]])
    write_csv(tmp_path / "square.csv", COSTS)
    fastclf.save(fastclf.GaussianNB().fit(X, SPECIES), "model")
    args = [*([] if "--model" in args else ["--model", "tree"]), *args]
    assert refused(capsys, ["evaluate", "iris.csv", "--quiet", *args]).startswith(sentence)


# Tests of the commands compare and demo


def test_compare_tries_every_method_that_there_is_on_the_same_folds(capsys):
    record = told(capsys, "compare", "iris.csv", "--cv", "3")
    models = compare.candidates()
    assert list(record["methods"]) == list(models)
    assert {method for _, method, _ in compare.CANDIDATES} >= {"knn", "tree", "bayes", "logistic", "svm"}
    known = cross_validate(models, X, SPECIES, cv=3, random_state=0)
    for name, found in record["methods"].items():
        assert found["error"] == known[name].error
        assert found["standard_error"] == known[name].standard_error
        if name != record["winner"]:
            pair = known.compare(name, record["winner"])
            assert found["against_the_winner"]["low"] == pair.low
    assert record["winner"] == known.winner
    assert record["majority_error"] == pytest.approx(2 / 3)


def test_compare_prints_a_table_and_a_verdict_and_draws(capsys, tmp_path):
    out = said(capsys, "compare", "iris.csv", "--models", "tree,GaussianNB", "--picture", "errors.png")
    lines = out.splitlines()
    assert lines[0].split() == ["iris.csv", "error", "std.", "error", "fit", "(ms)", "us/query"]
    assert {"GaussianNB", "tree", "tree, 8 deep", "always the most frequent class"} <= {
        re.split(r"  +", line)[0] for line in lines[2:]
    }
    assert "with 95 % intervals of the paired t test" in out
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_a_method_that_refuses_the_data_is_left_out(capsys):
    np.savez("negative.npz", X=X - 9, y=SPECIES)
    capsys.readouterr()
    assert cli.main(["compare", "negative.npz", "--models", "MultinomialNB,tree", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("fastclf: MultinomialNB is left out: ")
    assert "MultinomialNB" not in out
    told = refused(capsys, ["compare", "negative.npz", "--models", "MultinomialNB", "--quiet"])
    assert told.startswith("negative.npz: no method accepts these data; MultinomialNB is left out: ")


def test_the_demo_runs_on_the_users_file_with_its_baselines(capsys, tmp_path):
    out = said(capsys, "demo", "--data", "mixed.csv", "--cv", "3", "--out", "picture.png")
    majority = 1 - max(np.mean(LABEL == "yes"), np.mean(LABEL == "no"))
    assert f"most frequent class  {majority:.2%}" in out
    assert "best on mixed.csv: " in out
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_takes_the_data_folder_where_it_is(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(compare, "CANDIDATES", [("tree", "tree", ["max_depth=2"])])
    np.savez(tmp_path / "spambase.npz", X=np.tile(X, (3, 1)), y=np.tile(Y, 3))
    monkeypatch.setenv("FASTCLF_DATA", str(tmp_path))
    records = told(capsys, "demo", "--cv", "2", "--rows", "300")
    assert [record["data"] for record in records] == ["digits", "breast_cancer", "spambase.npz, 300 rows"]
    assert [record["rows"] for record in records] == [1797, 569, 300]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["compare", "iris.csv", "--models", "tree,forest"], "there is no method 'forest'"),
        (["compare", "iris.csv", "--picture", "x.txt"], "--picture is x.txt; a name that ends in .png or .pdf or .svg"),
        (["demo", "--target", "species"], "--target is given without --data"),
        (["demo", "--cv", "1"], "--cv is 1; at least 2 folds are wanted"),
        (["demo", "--rows", "5"], "--rows is 5; at least 20 are wanted for 10 folds"),
        (["demo", "--data", "none.csv"], "none.csv: there is no such file"),
        (["demo", "--data", "iris.csv", "--cv", "151"], "--cv is 151; 2 to 150, the number of rows, is wanted"),
        (["tune", "iris.csv", "--model", "tree", "--grid", "max_depth"], "--grid is 'max_depth'; NAME=VALUES is"),
        (["tune", "iris.csv", "--model", "tree", "--grid", "depth=1,2"], "tree has no parameter 'depth'"),
        (["tune", "iris.csv", "--model", "knn", "--grid", "n_neighbors=5:1"], "--grid 'n_neighbors=5:1': '5:1' is no"),
        (["tune", "iris.csv", "--model", "knn", "--grid", "n_neighbors=0"], "knn: n_neighbors is 0"),
        (["tune", "iris.csv", "--model", "knn", "--outer", "1"], "--outer is 1; 2 to 150 folds are wanted"),
        (["tune", "iris.csv", "--model", "BernoulliNB"], "--grid is wanted for BernoulliNB"),
    ],
)
def test_a_wrong_request_is_one_sentence(capsys, args, sentence):
    assert refused(capsys, [*args, "--quiet"]).startswith(sentence)


def test_the_demo_says_what_it_misses(capsys, monkeypatch):
    monkeypatch.setattr(compare, "CANDIDATES", [("tree", "tree", ["max_depth=2"])])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["demo", "--data", "iris.csv", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "most frequent class" in out
    assert re.fullmatch(r"fastclf: the picture is skipped: .*matplotlib.*not installed.*\n", err)


# Tests of the command tune


def test_tune_gives_the_choice_of_the_library(capsys):
    record = told(capsys, "tune", "iris.csv", "--model", "knn", "--grid", "n_neighbors=1:9", "--outer", "3")
    known = tune(fastclf.KNeighborsClassifier(), {"n_neighbors": range(1, 10)}, X, SPECIES, outer=3, **FOLDS)
    assert record["best"] == record["chosen"] == known.best_params
    assert record["one_standard_error"] == known.one_standard_error_params
    np.testing.assert_array_equal(record["error"], 1 - known.mean_score)
    assert record["outer_error"] == known.outer.error
    assert record["outer_params"] == known.outer_params


def test_a_setting_that_cannot_be_fitted_is_a_row_of_the_table(capsys):
    rng = np.random.default_rng(1)
    rows = [f"{a:.3f},{b:.3f},{label}" for a, b, label in zip(*rng.normal(size=(2, 80)), rng.choice(["x", "y"], 80))]
    Path("mixed_up.csv").write_text("\n".join(["a,b,label", *rows]))
    args = ("tune", "mixed_up.csv", "--model", "linear-svm", "--set", "loss=hinge", "--cv", "4")
    assert cli.main([*args, "--grid", "budget=0.001,200", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "budget=0.001  not fitted  not fitted" in out
    assert "chosen: budget=200" in out
    assert "4 fits failed out of a total of 8" in err
    assert cli.main([*args, "--grid", "budget=0.001", "--quiet"]) == 2


def test_tune_writes_the_model_of_its_choice(capsys):
    out = said(capsys, "tune", "mixed.csv", "--model", "tree", "--rule", "one-standard-error", "--out", "model")
    model = load("model")
    assert f"ccp_alpha={model.model_.ccp_alpha:.6g}; written to model" in out
    np.testing.assert_array_equal(model.feature_names_in_, ["age", "colour", "size"])


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        ("C=1,10", [1, 10]),
        ("C=1:3,10", [1, 2, 3, 10]),
        ("C=0.1:10:3", [0.1, 1, 10]),
        ("a=x,True,None,1e-3", ["x", True, None, 1e-3]),
        ("a=(1,2),[3]", [(1, 2), [3]]),
        ("a=inf", [np.inf]),
    ],
)
def test_a_grid_is_read(grid, values):
    [(_, found)] = _grid(Namespace(grid=[grid], model="m"), fastclf.GaussianNB(), None, None).items()
    assert found == values


@pytest.mark.parametrize("model", ["knn", "centroid", "least-squares", "logistic", "bayes", "tree", "perceptron"])
def test_every_method_has_a_grid_of_its_own(capsys, model):
    record = told(capsys, "tune", "iris.csv", "--model", model, "--cv", "2")
    assert len(record["error"]) == len(record["params"]) > 1


# Tests of the command explain


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("tree", ["THEN setosa   (50 training rows, 100.0% of them setosa", "share of the total gain by column"]),
        ("knn", ["the 5 nearest of 150 training rows (euclidean); every vote counts the same"]),
        ("logistic", ["score of setosa", "petal length", "(the constant)"]),
        ("centroid", ["the class whose centre is nearest", "petal length"]),
        ("bayes", ["share of each class: setosa 33.3%", "petal length (gaussian)", "setosa: mean 1.462"]),
        ("GaussianNB", ["sepal width: setosa mean 3.428"]),
        ("GeneralisedLinearClassifier", ["makes 14 of them", "petal length^2"]),
        ("BernoulliNB", ["no description is available for a BernoulliNB"]),
    ],
)
def test_a_model_is_explained_in_words(capsys, tmp_path, model, words):
    write_csv(tmp_path / "iris.csv", [[*row, label] for row, label in zip(X, SPECIES)], [*NAMES, "species"])
    assert cli.main(["train", "iris.csv", "--model", model, "--out", "model", "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["explain", "model"]) == 0
    out = capsys.readouterr().out
    assert "predicts 'species': setosa, versicolor, virginica" in out
    for text in words:
        assert text in out
    assert cli.main(["explain", "model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["setosa", "versicolor", "virginica"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_a_comparison_under_way_obeys_ctrl_c(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "large.npz", X=rng.random((40_000, 64)), y=rng.integers(0, 3, 40_000))
    args = [sys.executable, "-P", "-m", "fastclf", "compare", "large.npz"]
    child = subprocess.Popen(args, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert child.stderr.readline()
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 1
    if out:  # the interrupt came after the first methods of the comparison had ended
        assert out.startswith(b"large.npz")
        assert err.endswith(b" not finished\n")
    else:
        assert err.endswith(b"fastclf: interrupted\n")
    assert b"Traceback" not in err


@pytest.mark.parametrize("command", ["evaluate", "tune"])
def test_what_ctrl_c_left_is_told_with_status_1(capsys, monkeypatch, command):
    fits = []
    fit = fastclf.KNeighborsClassifier.fit

    def interrupted(self, *given):
        fits.append(self)
        if len(fits) > 3:
            raise KeyboardInterrupt
        return fit(self, *given)

    monkeypatch.setattr(fastclf.KNeighborsClassifier, "fit", interrupted)
    assert cli.main([command, "iris.csv", "--model", "knn", "--n-jobs", "1", "--json", "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["interrupted"]
    assert "interrupted: the results hold 3 of 10 folds" in err
