"""cross_validate, its folds and baseline, and the picture of its results."""

import doctest
import warnings
from collections import Counter

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.neighbors import KNeighborsClassifier as SklearnKNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastclf
from fastclf import KNeighborsClassifier, KNeighborsRegressor, cross_validate, display, majority_error, stratified_folds
from fastclf.model_selection import CrossValidation

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)


class Seen(list):
    """A list that is shared by the clones of its owner."""

    def __deepcopy__(self, memo):
        return self


class Recorder:
    """A classifier that appends the rows of every fit and score to a shared list; it is right on even rows."""

    def __init__(self, name, seen):
        self.name = name
        self.seen = seen

    def get_params(self, deep=True):
        return {"name": self.name, "seen": self.seen}

    def fit(self, X, y):
        assert not hasattr(self, "fitted"), "a fold was given a fitted estimator"
        self.fitted = True
        self.seen.append((self.name, "fit", X[:, 0].tolist(), y.tolist()))
        return self

    def score(self, X, y):
        self.seen.append((self.name, "score", X[:, 0].tolist(), y.tolist()))
        return np.mean(X[:, 0] % 2 == 0)


@pytest.mark.parametrize("ours", [True, False], ids=["our k-NN", "scikit-learn's k-NN"])
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_scores_are_those_of_scikit_learns_cross_validate(load, ours):
    X, y = load(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=3)
    classifier = (KNeighborsClassifier if ours else SklearnKNeighborsClassifier)(3)
    expected = sklearn_cross_validate(SklearnKNeighborsClassifier(3), X, y, cv=cv)
    found = cross_validate(classifier, X, y, cv=cv)
    assert set(expected) <= set(found)
    np.testing.assert_array_equal(found["test_score"], expected["test_score"])
    np.testing.assert_array_equal(found.n_test, [len(test) for _, test in cv.split(X, y)])


def test_pipelines_of_scikit_learn_are_estimators_too():
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    folds = list(stratified_folds(Y, 5))
    expected = sklearn_cross_validate(pipeline, X, Y, cv=folds)["test_score"]
    np.testing.assert_array_equal(cross_validate(pipeline, X, Y, cv=folds)["test_score"], expected)


def test_an_int_means_the_shuffled_stratified_folds():
    expected = cross_validate(KNeighborsClassifier(), X, Y, cv=list(stratified_folds(Y, 7, random_state=4)))
    found = cross_validate(KNeighborsClassifier(), X, Y, cv=7, random_state=4)
    np.testing.assert_array_equal(found["test_score"], expected["test_score"])


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=60), st.integers(2, 12), st.integers(0, 5))
def test_folds_part_the_rows_and_spread_every_class_to_within_one(y, n_folds, random_state):
    y, n_folds = np.array(y), min(n_folds, len(y))
    with warnings.catch_warnings(action="ignore"):
        folds = list(stratified_folds(y, n_folds, random_state))
    assert len(folds) == n_folds
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(len(y)))
    for train, test in folds:
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(len(y)), test))
        np.testing.assert_array_equal(test, np.sort(test))
    for members in (y == y, *(y == label for label in np.unique(y))):
        counts = [np.count_nonzero(members[test]) for _, test in folds]
        assert max(counts) - min(counts) <= 1


def test_folds_depend_on_the_random_state_alone():
    def tests(random_state):
        return np.concatenate([test for _, test in stratified_folds(Y, 10, random_state)])

    np.testing.assert_array_equal(tests(1), tests(1))
    assert (tests(1) != tests(2)).any()


def test_a_class_with_fewer_members_than_folds_is_warned_about_and_used():
    with pytest.warns(UserWarning, match="only 2 members, fewer than the 5 folds"):
        folds = list(stratified_folds(["a"] * 9 + ["b"] * 2, 5))
    assert Counter(i for _, test in folds for i in test.tolist()) == Counter(range(11))


def test_a_regressor_gets_plain_folds_without_a_warning(recwarn):
    y = X[:, 0] + 0.01 * X[:, 1]
    found = cross_validate({"1-NN": KNeighborsRegressor(1), "linear": LinearRegression()}, X[:, :2], y)
    assert not recwarn
    assert found["linear"].error == pytest.approx(0, abs=1e-12)
    assert 0 < found["1-NN"].error < 1


def test_every_estimator_is_fitted_afresh_on_the_same_rows():
    seen = Seen()
    rows = np.arange(20.0)[:, None]
    y = np.arange(20) % 2
    estimators = {"one": Recorder("one", seen), "two": Recorder("two", seen)}
    cross_validate(estimators, rows, y, cv=4)
    one, two = ([entry[1:] for entry in seen if entry[0] == name] for name in estimators)
    assert one == two
    assert [entry[0] for entry in one] == ["fit", "score"] * 4
    for fit, score in zip(one[::2], one[1::2], strict=True):
        assert sorted(fit[1] + score[1]) == rows[:, 0].tolist()
        for _, row, label in (fit, score):
            assert label == [int(r) % 2 for r in row]
    assert not any(hasattr(estimator, "fitted") for estimator in estimators.values())


def test_one_estimator_gives_one_result_and_a_mapping_gives_a_dict_in_its_order():
    alone = cross_validate(KNeighborsClassifier(1), X, Y, cv=3)
    together = cross_validate({"b": KNeighborsClassifier(1), "a": KNeighborsClassifier(9)}, X, Y, cv=3)
    assert isinstance(alone, CrossValidation)
    assert list(together) == ["b", "a"]
    np.testing.assert_array_equal(together["b"]["test_score"], alone["test_score"])


def test_the_summary_follows_from_the_folds():
    result = CrossValidation(
        fit_time=np.ones(4),
        score_time=np.array([1e-3, 2e-3, 3e-3, 4e-3]),
        test_score=np.array([0.9, 0.8, 1.0, 0.7]),
    )
    result.n_test = np.array([10, 10, 10, 20])
    assert result.error == pytest.approx(0.15)
    assert result.standard_error == pytest.approx(np.sqrt(np.var([0.1, 0.2, 0.0, 0.3], ddof=1) / 4))
    assert result.microseconds_per_query == pytest.approx(200)


def test_one_fold_has_an_error_but_no_standard_error(recwarn):
    result = cross_validate(KNeighborsClassifier(), X, Y, cv=ShuffleSplit(1, random_state=0))
    assert 0 <= result.error < 0.2
    assert np.isnan(result.standard_error)
    assert not recwarn


@pytest.mark.parametrize("labels", [Y, np.array(["b", "a", "a"])[Y], Y > 0, Y == 9], ids=["int", "str", "bool", "one"])
def test_the_baseline_is_the_most_frequent_class_of_the_training_rows(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    assert majority_error(labels) == pytest.approx(1 - shares.max())
    folds = list(stratified_folds(labels, 7))
    expected = sklearn_cross_validate(DummyClassifier(strategy="most_frequent"), X, labels, cv=folds)["test_score"]
    assert majority_error(labels, folds) == pytest.approx(1 - expected.mean())


def test_the_callback_hears_of_every_fold_of_every_estimator():
    heard = []
    estimators = {k: KNeighborsClassifier(k) for k in (1, 3)}
    cross_validate(estimators, X, Y, cv=3, callback=lambda step, total, value: heard.append((step, total)))
    assert heard == [(step, 6) for step in range(1, 7)]


def test_a_callback_that_returns_true_leaves_the_folds_finished_so_far():
    estimators = {k: KNeighborsClassifier(k) for k in (1, 3)}
    full = cross_validate(estimators, X, Y)
    part = cross_validate(estimators, X, Y, n_jobs=1, callback=lambda step, total, value: step == 5)
    for k, n_finished in ((1, 3), (3, 2)):
        np.testing.assert_array_equal(part[k]["test_score"], full[k]["test_score"][:n_finished])
    first = cross_validate(estimators, X, Y, n_jobs=1, callback=lambda *_: True)
    assert np.isnan(first[3].error)
    assert np.isnan(first[3].microseconds_per_query)


def test_progress_goes_to_stderr_only_when_asked_for(capsys):
    cross_validate(KNeighborsClassifier(), X, Y, cv=3)
    assert capsys.readouterr() == ("", "")
    cross_validate(KNeighborsClassifier(), X, Y, cv=3, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "cross-validation" in err


def as_memory_map(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def as_table(X, library):
    table = pytest.importorskip(library)
    columns = {f"column {i}": X[:, i] for i in range(X.shape[1])}
    return table.table(columns) if library == "pyarrow" else table.DataFrame(columns)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X, _: X.tolist(),
        lambda X, _: np.asfortranarray(X),
        as_memory_map,
        lambda X, _: as_table(X, "pandas"),
        lambda X, _: as_table(X, "polars"),
        lambda X, _: as_table(X, "pyarrow"),
    ],
    ids=["list", "Fortran order", "memory map", "pandas", "polars", "pyarrow"],
)
def test_the_container_of_X_changes_nothing(convert, tmp_path, recwarn):
    expected = cross_validate(KNeighborsClassifier(), X, Y)["test_score"]
    found = cross_validate(KNeighborsClassifier(), convert(X, tmp_path), Y)["test_score"]
    np.testing.assert_array_equal(found, expected)
    assert not recwarn


def test_sparse_rows_reach_an_estimator_that_takes_them():
    from scipy.sparse import coo_array

    expected = cross_validate(SklearnKNeighborsClassifier(), X, Y)["test_score"]
    found = cross_validate(SklearnKNeighborsClassifier(), coo_array(X), Y)["test_score"]
    np.testing.assert_array_equal(found, expected)


class NamedArrays(dict):
    """Rows of several arrays, each with a name, as a network with several inputs takes them."""

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else type(self)({k: v[key] for k, v in self.items()})

    def __len__(self):
        return self.shape[0]

    @property
    def shape(self):
        return next(iter(self.values())).shape[:1]


class OfNamedArrays(SklearnKNeighborsClassifier):
    def fit(self, X, y):
        assert isinstance(X, NamedArrays)
        return super().fit(np.hstack([X["petals"], X["sepals"]]), y)

    def predict(self, X):
        assert isinstance(X, NamedArrays)
        return super().predict(np.hstack([X["petals"], X["sepals"]]))


def test_rows_of_arrays_by_name_reach_an_estimator_that_takes_them():
    rows, model = NamedArrays(petals=X[:, :2], sepals=X[:, 2:]), OfNamedArrays()
    wanted = cross_validate(SklearnKNeighborsClassifier(), X, Y)["test_score"]
    np.testing.assert_array_equal(cross_validate(model, rows, Y)["test_score"], wanted)
    np.testing.assert_array_equal(fastclf.model_selection.cross_val_score(model, rows, Y), wanted)
    search = fastclf.model_selection.GridSearchCV(model, {"n_neighbors": [1, 5]}).fit(rows, Y)
    np.testing.assert_array_equal(search.predict(rows), search.best_estimator_.predict(rows))
    half, other = fastclf.model_selection.train_test_split(rows, test_size=0.5, random_state=0)
    assert isinstance(half, NamedArrays)
    assert len(half) + len(other) == len(X)


def test_a_pandas_frame_stays_a_frame_for_the_estimator():
    frame = as_table(X, "pandas")
    names = []

    class Named(SklearnKNeighborsClassifier):
        def score(self, X, y):
            names.append(list(X.columns) == list(self.feature_names_in_))
            return 1.0

    cross_validate(Named(), frame, Y, cv=3)
    assert names == [True] * 3


@pytest.mark.parametrize("library", [list, np.array, "pandas", "polars"])
def test_the_labels_may_be_of_any_sortable_kind(library):
    words = ["b", "a", "c"]
    labels = [words[code] for code in Y]
    labels = pytest.importorskip(library).Series(labels) if isinstance(library, str) else library(labels)
    folds = list(stratified_folds(Y))
    expected = cross_validate(KNeighborsClassifier(7), X, Y, cv=folds)["test_score"]
    np.testing.assert_allclose(cross_validate(KNeighborsClassifier(7), X, labels, cv=folds)["test_score"], expected)


def test_masks_slices_and_generators_of_folds_are_taken():
    mask = np.arange(len(Y)) % 3 == 0
    expected = cross_validate(KNeighborsClassifier(), X, Y, cv=[(np.flatnonzero(~mask), np.flatnonzero(mask))])
    for fold in ((~mask, mask), (np.flatnonzero(~mask), slice(0, None, 3))):
        found = cross_validate(KNeighborsClassifier(), X, Y, cv=(pair for pair in [fold]))
        np.testing.assert_array_equal(found["test_score"], expected["test_score"])


class Unfit:
    def get_params(self):
        return {}


KNN = KNeighborsClassifier()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((KNeighborsClassifier, X, Y), {}, TypeError, "is the class KNeighborsClassifier; an object"),
        (({"bad": Unfit()}, X, Y), {}, TypeError, r"estimator\['bad'\] is .* no fit method"),
        (([KNN], X, Y), {}, TypeError, "estimator is a list; an estimator or a mapping"),
        ((KNN, X, np.array([None, "a"], dtype=object)[Y % 2]), {}, ValueError, "y contains NaN or None"),
        ((KNN, X, pandas.Series([pandas.NA] + ["a"] * (len(Y) - 1), dtype="string")), {}, ValueError, "y contains NaN"),
        (({}, X, Y), {}, ValueError, "at least one estimator"),
        ((KNN, X, Y[1:]), {}, ValueError, r"inconsistent numbers of samples: \[150, 149\]"),
        ((KNN, 3.0, Y), {}, ValueError, r"X has shape \(\)"),
        ((KNN, X, X[:, :, None]), {}, ValueError, r"y has shape \(150, 4, 1\)"),
        ((KNN, X, Y), {"error_score": "zero"}, ValueError, "error_score is 'zero'"),
        ((KNeighborsClassifier(0), X, Y), {}, ValueError, "All the 5 fits failed.*ValueError: n_neighbors is 0"),
        ((Recorder("", []), X, Y), {"scoring": lambda model, X, y: "good"}, ValueError, "must return a number, got"),
        ((KNN, X[:0], []), {}, ValueError, r"y has shape \(0,\)"),
        ((KNN, X[:2], np.array([1, "a"], dtype=object)), {}, TypeError, "cannot be sorted"),
        ((KNN, X, Y), {"cv": 1}, ValueError, "cv is 1; at least 2 is wanted"),
        ((KNN, X, Y), {"cv": 151}, ValueError, "n_splits=151 greater than the number of samples: n_samples=150"),
        ((KNN, X, Y), {"cv": 2.0}, TypeError, r"cv is 2\.0"),
        ((KNN, X, Y), {"cv": True}, TypeError, "cv is True"),
        ((KNN, X, Y), {"cv": "ten"}, TypeError, "cv is 'ten'"),
        ((KNN, X, Y), {"cv": []}, ValueError, "no fold"),
        ((KNN, X, Y), {"cv": [([0, 1], [])]}, ValueError, "without rows"),
        ((KNN, X, Y), {"cv": [([0, 1], [150])]}, ValueError, "indices into 150 rows"),
        ((KNN, X, Y), {"cv": [(1, 2, 3)]}, ValueError, "pairs of indices"),
        ((KNN, X, Y), {"cv": GroupKFold(3)}, ValueError, "groups"),
        ((KNN, X, Y), {"callback": 3}, TypeError, "callback is 3"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(arguments, options, error, message):
    with pytest.raises(error, match=message) as caught:
        cross_validate(*arguments, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n_folds", [0, 1, 4])
def test_folds_are_refused_when_asked_for_not_when_used(n_folds):
    with pytest.raises(ValueError, match=f"n_folds is {n_folds}; 2 to 3 is wanted"):
        stratified_folds([0, 0, 1], n_folds)


def panel(results, **options):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    drawn = display.ComparisonDisplay.from_results(results, ax=figure.subplots(), **options)
    assert drawn.figure_ is figure
    figure.canvas.draw()
    return drawn.ax_


def test_the_picture_shows_each_error_with_its_standard_error_and_the_baseline():
    results = cross_validate({f"{k}-NN": KNeighborsClassifier(k) for k in (1, 5, 25)}, X, Y)
    ax = panel(results, baseline=majority_error(Y), title="iris")
    assert [label.get_text() for label in ax.get_yticklabels()] == list(results)
    assert ax.get_title(loc="left") == "iris"
    for i, (bar, result) in enumerate(zip(ax.containers, results.values(), strict=True)):
        assert bar.lines[0].get_xydata().tolist() == [[result.error, i]]
        (ends,) = bar.lines[2][0].get_segments()
        expected = [[result.error - result.standard_error, i], [result.error + result.standard_error, i]]
        np.testing.assert_allclose(ends, expected)
    (line,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert line.get_xdata() == pytest.approx([2 / 3, 2 / 3])
    texts = " ".join(text.get_text() for text in ax.texts)
    assert "always the majority class: 66.7%" in texts
    assert all(f"{result.error:.2%}" in texts for result in results.values())


@pytest.mark.parametrize("cv", [10, ShuffleSplit(1)], ids=["ten folds", "one fold"])
def test_an_error_of_zero_is_drawn_at_half_a_row(cv, recwarn):
    rows = np.r_[np.zeros((20, 2)), np.ones((20, 2))]
    result = cross_validate(KNeighborsClassifier(1), rows, [0] * 20 + [1] * 20, cv=cv)
    ax = panel({"1-NN": result})
    assert ax.containers[0].lines[0].get_xdata() == [0.5 / result.n_test.sum()]
    assert ax.get_xlim()[0] < 0.5 / result.n_test.sum() < ax.get_xlim()[1]
    assert not recwarn


def test_a_figure_has_a_panel_for_each_data_set():
    pytest.importorskip("matplotlib")
    results = cross_validate({"1-NN": KNeighborsClassifier(1)}, X, Y)
    figure = display.comparison_figure([display.ComparisonDisplay(results, title=name) for name in "ab"])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b"]


def test_a_picture_without_matplotlib_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match="needs matplotlib, which is not installed"):
        display.ComparisonDisplay.from_results({})


def test_the_examples_of_the_picture_run(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pytest.importorskip("matplotlib.pyplot")
    result = doctest.testmod(display.comparison)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_a_single_label_for_all_rows_is_refused_whatever_is_predicted(method):
    with pytest.raises(ValueError, match=r"y has shape \(\); \(n_samples,\), one label per row, is wanted"):
        fastclf.cross_val_predict(fastclf.GaussianNB(), [[1.0], [2.0]] * 5, 0.5, method=method)


@pytest.mark.parametrize("splitter", [fastclf.StratifiedKFold, fastclf.StratifiedGroupKFold])
def test_labels_of_other_rows_are_refused_by_stratified_folds(splitter):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(splitter(2).split(np.zeros((40, 1)), np.arange(39) % 2, np.arange(40) % 4))


FAULTY = sparse.csr_array(np.ones((40, 3)))
FAULTY.indptr[19] = 0


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: fastclf.train_test_split(X, y),
        lambda X, y: fastclf.train_validation_test_split(X),
        lambda X, y: fastclf.cross_validate(fastclf.GaussianNB(), X, y),
        lambda X, y: fastclf.cross_val_predict(fastclf.KNeighborsClassifier(), X, y),
        lambda X, y: fastclf.BayesOptimalClassifier([fastclf.BernoulliNB()]).fit(X, y),
    ],
    ids=["train_test_split", "train_validation_test_split", "cross_validate", "cross_val_predict", "BayesOptimal"],
)
def test_a_sparse_matrix_with_a_fault_is_refused_before_rows_are_taken(call):
    with pytest.raises(ValueError, match="is a sparse matrix with a fault"):
        call(FAULTY, np.arange(40) % 2)
