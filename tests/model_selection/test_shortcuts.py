"""Every shortcut gives the answers of separate fits, and is used in all cases in which it does."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn import model_selection
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import fastclf
from fastclf import (
    SVC,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    GroupKFold,
    KFold,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LeastSquaresClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    RidgeClassifier,
    TableClassifier,
    cross_validate,
    tune,
)
from fastclf._estimator import Classifier, Estimator
from fastclf.model_selection.candidates import Candidates
from fastclf.model_selection.evaluation import Evaluation, Request
from fastclf.tree.sorted_columns import Sorted

pytestmark = pytest.mark.once

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
CANCER = tuple(array[:200] for array in load_breast_cancer(return_X_y=True))
NAMES = np.array(["ape", "bee", "cat"])
RNG = np.random.default_rng(3)


def loop(estimator, X, y, folds):
    """The pooled predictions of separate fits, computed in the slow, obvious way."""
    from fastclf._estimator import clone

    return np.concatenate([clone(estimator).fit(X[train], y[train]).predict(X[test]) for train, test in folds])


def answers(estimator, X, y, cv):
    """(pooled predictions by the shortcut, pooled predictions by separate fits)."""
    evaluation = Evaluation(Request(X, y, cv, random_state=None if cv == "loo" else 0), [Candidates(estimator)])
    [candidates] = evaluation.candidates
    found = candidates.all_answers(evaluation.X, evaluation.targets, evaluation.folds)
    assert found is not None, "the shortcut is not taken"
    return found[0], loop(estimator, X, y, evaluation.folds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(1),
        KNeighborsClassifier(8, ties="distance"),
        KNeighborsClassifier(5, weights="distance", metric="manhattan"),
        KNeighborsClassifier(4, algorithm="tree"),
        LeastSquaresClassifier(),
        LeastSquaresClassifier(alpha=3.0, fit_intercept=False),
        GaussianNB(),
        GaussianNB(priors=[0.2, 0.3, 0.5]),
        NaiveBayes("gaussian"),
        NaiveBayes("exponential"),
        SVC(gamma=0.01, tol=1e-6),
        SVC(gamma=0.1, C=1000, tol=1e-6, cache_size=0.01),
    ],
    ids=repr,
)
def test_leave_one_out_is_that_of_the_loop(estimator, dtype):
    for X, y in (IRIS, WINE):
        X, y = X[::2], y[::2]
        found, expected = answers(estimator, X.astype(dtype) + dtype(1), NAMES[y], "loo")
        np.testing.assert_array_equal(found, expected)


def test_leave_one_out_with_duplicates_and_a_tie_everywhere_is_that_of_the_loop():
    X = RNG.integers(0, 2, (40, 3)).astype(float)
    y = RNG.integers(0, 3, 40)
    for estimator in (KNeighborsClassifier(3), KNeighborsClassifier(6, weights="distance"), LeastSquaresClassifier()):
        np.testing.assert_array_equal(*answers(estimator, X, y, "loo"))


@pytest.mark.parametrize("cv", [2, 10, KFold(7)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 100.0])
def test_folds_of_least_squares_are_those_of_the_loop(cv, alpha):
    few = RNG.normal(size=(30, 50)), np.arange(30) % 3
    for X, y in (IRIS, WINE, CANCER, few):
        np.testing.assert_array_equal(*answers(LeastSquaresClassifier(alpha), X, y, cv))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_folds_of_machines_are_those_of_the_loop(n_jobs):
    for X, y in (WINE, CANCER):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        kernel, weight = ("rbf", None) if n_jobs == 1 else ("poly", {1: 3.0})
        estimator = SVC(kernel=kernel, gamma=0.05, coef0=1.0, class_weight=weight, tol=1e-6, n_jobs=n_jobs)
        for cv in (5, 30):
            np.testing.assert_array_equal(*answers(estimator, X, y, cv))
            found = tune(estimator, {"C": [100.0, 0.1, 3.0]}, X, y, cv=cv)
            slow = tune(estimator, {"C": [100.0, 0.1, 3.0]}, X, y, cv=cv, shortcuts=False)
            assert found.results[0].shortcut
            np.testing.assert_allclose(found.scores, slow.scores, rtol=1e-12)


def test_machines_whose_alphas_are_all_at_bounds_keep_the_intercept_of_the_loop():
    # without one row of class 1, all intercepts b from -1 to 1 are optimal
    same = np.ones((7, 2)), np.array([0, 0, 0, 1, 1, 1, 1])
    for (X, y), C, cv in (((WINE[0][::5], WINE[1][::5]), 0.1, 5), (same, 1.0, "loo")):
        np.testing.assert_array_equal(*answers(SVC(tol=1e-6, gamma=0.001, C=C), X, y, cv))


def outcome(generator):
    """The value that a generator returns."""

    def whole():
        found.append((yield from generator))

    found = []
    for _ in whole():
        pass
    return found[0]


def test_a_machine_without_rows_starts_near_its_optimum():
    from fastclf.svm import smo
    from fastclf.svm.leave_out import without
    from fastclf.svm.pairs import limits_of

    X, y = CANCER
    model = SVC(gamma=0.05, C=3.0, tol=1e-6)
    _, problem, _, options = model._shared([model], (X - X.mean(axis=0)) / X.std(axis=0), y)
    C, limits = problem.Cs[0], limits_of(options, problem.gram.dtype, 1, 1)
    dual = problem.dual((0, 1), C)
    steps = smo.steps_for(dual, limits, goes_on=True)
    for _ in smo.solve(dual, steps, limits):
        pass
    rows = dual.gram.X.matrix[dual.rows]
    K = dual.gram.kernel(rows, rows)
    for rows in (np.arange(7), np.flatnonzero(dual.coef)[:1], np.flatnonzero(np.abs(dual.coef) >= 3.0)[:4]):
        before = dual.coef.copy(), dual.f.copy()
        less = outcome(without(dual, steps, rows, C[dual.rows]))
        assert abs(less.coef.sum()) <= 1e-12 * less.total()
        assert ((less.coef >= less.lower) & (less.coef <= less.upper)).all()
        assert not less.coef[rows].any()
        np.testing.assert_allclose(less.f, K @ less.coef - less.y, atol=1e-4)
        start = less.objective()
        for _ in smo.solve(less, steps, limits):
            pass
        assert less.converged
        # the start is near the optimum; a start with all alphas 0 would have the objective 0
        assert 0.85 * less.objective() < start <= less.objective()
        np.testing.assert_array_equal(dual.coef, before[0])
        np.testing.assert_array_equal(dual.f, before[1])


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(kernel="sigmoid", gamma=0.01),
        SVC(gamma=0.1, max_iter=5),
        SVC(gamma=0.1, C=np.inf),
        SVC(class_weight="balanced"),
    ],
    ids=repr,
)
def test_machines_whose_optimum_hangs_on_more_are_fitted_one_by_one(estimator):
    evaluation = Evaluation(Request(*IRIS, 5), [])
    assert Candidates(estimator).all_answers(*IRIS, evaluation.folds) is None


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        MultinomialNB(),
        ComplementNB(),
        BernoulliNB(alpha=0.3),
        CategoricalNB(),
        NaiveBayes(),
        NaiveBayes("quantile"),
    ],
    ids=repr,
)
def test_folds_of_naive_bayes_are_those_of_the_loop(estimator):
    counts = RNG.poisson(3, (150, 4))
    for X in (counts, IRIS[0].round()):
        np.testing.assert_array_equal(*answers(estimator, X, IRIS[1], 5))


def test_rows_on_which_the_rank_hangs_are_fitted_without():
    X = RNG.normal(size=(40, 4))
    X[:, 3] = 0
    X[[5, 6], 3] = 1  # column 3 is nonzero in two rows only, which are in different folds
    y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
    X[5, 3] = 0
    for cv in ("loo", 5):
        np.testing.assert_array_equal(*answers(LeastSquaresClassifier(), X, y, cv))


def test_a_perfect_fit_of_two_ways_is_left_to_the_loop():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = np.array([0, 1, 1, 0] * 3)  # for these labels, an exclusive or, all scores are 0
    np.testing.assert_array_equal(*answers(LeastSquaresClassifier(), X, y, "loo"))


def test_repeated_folds_are_those_of_the_loop():
    X, y = WINE
    for estimator in (LeastSquaresClassifier(), KNeighborsClassifier(), GaussianNB()):
        fast = cross_validate(estimator, X, y, cv=5, repeats=3, random_state=0)
        slow = cross_validate(estimator, X, y, cv=5, repeats=3, random_state=0, shortcuts=False)
        assert len(fast["test_score"]) == 15
        np.testing.assert_allclose(fast["test_score"], slow["test_score"], rtol=1e-12)
        np.testing.assert_array_equal(fast.table.counts, slow.table.counts)


def test_results_by_a_shortcut_have_all_that_others_have():
    X, y = IRIS
    fast = cross_validate(KNeighborsClassifier(), X, y, cv="loo")
    slow = cross_validate(KNeighborsClassifier(), X, y, cv="loo", shortcuts=False)
    assert fast.shortcut
    assert not slow.shortcut
    assert set(fast) == set(slow)
    np.testing.assert_array_equal(fast["test_score"], slow["test_score"])
    np.testing.assert_array_equal((fast.n_train, fast.n_test), (slow.n_train, slow.n_test))
    assert fast.error == slow.error
    assert fast.standard_error == slow.standard_error
    np.testing.assert_array_equal(fast.table.counts, slow.table.counts)


@pytest.mark.parametrize(
    ("estimator", "X", "y", "cv"),
    [
        (KNeighborsClassifier(weights=lambda d: 1 / (1 + d)), *IRIS, "loo"),
        (KNeighborsClassifier(), *IRIS, 5),
        (LeastSquaresClassifier(), *IRIS, GroupKFold(3)),
        (NaiveBayes(), *IRIS, "loo"),
        (NaiveBayes({0: "gaussian"}), *IRIS, "loo"),
        (SVC(), *IRIS, "loo"),
        (BernoulliNB(), *IRIS, "loo"),
        (LeastSquaresClassifier(), IRIS[0][:101], IRIS[1][:101], 4),
        (DecisionTreeClassifier(), IRIS[0][::4], IRIS[1][::4], "loo"),
    ],
    ids=lambda value: "" if isinstance(value, np.ndarray) else repr(value)[:40],
)
def test_what_cannot_be_shown_to_be_equal_is_left_to_the_loop(estimator, X, y, cv):
    groups = IRIS[1] if isinstance(cv, GroupKFold) else None
    with warnings.catch_warnings(action="ignore"):
        assert not cross_validate(estimator, X, y, cv=cv, groups=groups).shortcut


def test_splitters_of_scikit_learn_and_pairs_of_indices_have_shortcuts_too():
    X, y = IRIS
    for cv in (model_selection.LeaveOneOut(), model_selection.KFold(5, shuffle=True, random_state=1)):
        np.testing.assert_array_equal(*answers(LeastSquaresClassifier(), X, y, cv))
        np.testing.assert_array_equal(*answers(LeastSquaresClassifier(), X, y, list(cv.split(X))))
    for pairs in (
        [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(50, 150))],
        [(np.arange(149, 49, -1), np.arange(50)), (np.arange(50), np.arange(50, 150))],
        [(np.arange(50, 150), np.arange(50))],
    ):
        assert not cross_validate(LeastSquaresClassifier(), X[::-1], np.tile([0, 1, 2], 50), cv=pairs).shortcut


def test_a_subclass_is_fitted_one_by_one():
    class Own(KNeighborsClassifier):
        def predict(self, X):
            return np.zeros(len(X), int)

    result = cross_validate(Own(), *IRIS, cv="loo")
    assert not result.shortcut
    assert result.error == pytest.approx(2 / 3)


# For each class with shortcuts an estimator and a grid, either of the parameter with the shortcut or of another one.
SHORT = [
    (KNeighborsClassifier(), {"n_neighbors": [1, 5]}),
    (KNeighborsRegressor(), {"n_neighbors": [1, 5]}),
    (DecisionTreeClassifier(), {"ccp_alpha": [0.0, 0.1]}),
    (DecisionTreeRegressor(), {"ccp_alpha": [0.0, 0.1]}),
    (LogisticRegression(), {"C": [10.0, 0.1]}),
    (LinearSVC(), {"C": [10.0, 0.1]}),
    (SVC(gamma=0.1), {"C": [10.0, 0.1]}),
    (LeastSquaresClassifier(), {"alpha": [0.0, 1.0]}),
    (RidgeClassifier(), {"alpha": [0.1, 1.0]}),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
    (BernoulliNB(), {"alpha": [0.1, 1.0]}),
    (CategoricalNB(), {"alpha": [0.1, 1.0]}),
    (MultinomialNB(), {"alpha": [0.1, 1.0]}),
    (ComplementNB(), {"alpha": [0.1, 1.0]}),
    (PoissonNB(), {"alpha": [0.1, 1.0]}),
    (NaiveBayes("gaussian"), {"var_smoothing": [1e-9, 1e-3]}),
    (TableClassifier(KNeighborsClassifier()), {"model__n_neighbors": [1, 5]}),
]


def counting(base, calls):
    """A subclass with only its own `fit` and `predict`, which count their calls and always predict 1."""

    class Own(base):
        def fit(self, X, y):
            calls.append("fit")
            return super().fit(X, y)

        def predict(self, X):
            calls.append("predict")
            return np.ones(len(X), int)

    return Own


def test_the_list_of_classes_with_shortcuts_is_complete():
    classes = [value for name in fastclf.__all__ if isinstance(value := getattr(fastclf, name), type)]
    short = {cls for cls in classes if issubclass(cls, Estimator) and cls._has_shortcuts}
    assert short == {type(estimator) for estimator, _ in SHORT}


@pytest.mark.parametrize(("estimator", "grid"), SHORT, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("cv", [4, "loo"])
def test_a_subclass_of_any_class_with_shortcuts_gets_the_loop(estimator, grid, cv):
    X, y = IRIS[0][::5].round(), IRIS[1][::5]
    calls = []
    own = counting(type(estimator), calls)(**estimator.get_params(deep=False))
    scoring = "neg_mean_squared_error" if "Regressor" in repr(estimator) else "accuracy"
    n_folds = len(y) if cv == "loo" else cv
    result = cross_validate(own, X, y, cv=cv, scoring=scoring, n_jobs=1)
    assert not result.shortcut
    assert calls == ["fit", "predict"] * n_folds
    assert abs(np.average(result["test_score"], weights=result.n_test)) == pytest.approx(
        np.mean(y == 1) if scoring == "accuracy" else np.mean((y - 1) ** 2)
    )
    del calls[:]
    found = tune(own, grid, X, y, cv=cv, scoring=scoring, refit=False, n_jobs=1)
    assert not any(own.shortcut for own in found.results)
    assert calls.count("fit") == calls.count("predict") == 2 * n_folds
    np.testing.assert_array_equal(found.scores[0], result["test_score"])


def test_a_subclass_in_a_table_gets_the_loop():
    calls = []
    own = TableClassifier(counting(KNeighborsClassifier, calls)())
    found = tune(own, {"model__n_neighbors": [1, 5]}, *IRIS, cv=4, refit=False, n_jobs=1)
    assert calls.count("fit") == calls.count("predict") == 8
    np.testing.assert_allclose(found.mean_score, 1 / 3, atol=0.01)


def test_a_class_that_is_declared_with_shortcuts_is_asked_for_them():
    class Offset(Classifier, shortcuts=True):
        """An estimator that predicts `offset`, and keeps a list of its calls."""

        _path_parameters = ("offset",)

        def __init__(self, offset=0, asked=None):
            self._take(locals())

        def __sklearn_clone__(self):
            return type(self)(self.offset, self.asked)

        def fit(self, X, y):
            return self._become(**self._fitted_columns(X, X), classes_=np.unique(y))

        def predict(self, X):
            return np.full(len(X), self.offset)

        def _fit_path(self, name, values, X, y, shared=None):
            self.asked.append((name, values, len(X), shared))
            return [Offset(self.offset if name is None else value, self.asked).fit(X, y) for value in values]

        def _predict_path(self, models, X):
            return np.array([model.offset for model in models])[:, None].repeat(len(X), axis=1)

        def _answers_without(self, name, values, X, y, fold):
            if name is None:
                return None
            self.asked.append((name, values, np.bincount(fold).tolist()))
            return [np.full(len(X), value) for value in values] if len(X) < 100 else None

        def _shared_columns(self, X, threads):
            return Told()

    class Told:
        def among(self, rows):
            return len(rows)

    class Inherits(Offset):
        pass

    X, y = IRIS
    few = X[::2], y[::2]
    asked = []
    found = tune(Offset(asked=asked), {"offset": [2, 0]}, *few, cv=3, refit=False, n_jobs=1)
    assert asked == [("offset", [2, 0], [25, 25, 25])]
    np.testing.assert_allclose(found.mean_score, 1 / 3)
    del asked[:]
    found = tune(Offset(asked=asked), {"offset": [2, 0]}, X, y, cv=3, refit=False, n_jobs=1)
    assert asked == [("offset", [2, 0], [50, 50, 50])] + 3 * [("offset", [2, 0], 100, 100)]
    np.testing.assert_allclose(found.mean_score, 1 / 3, atol=0.01)
    del asked[:]
    cross_validate(Offset(asked=asked), X, y, cv=3, n_jobs=1)
    assert asked == 3 * [(None, [None], 100, 100)]
    del asked[:]
    tune(Inherits(asked=asked), {"offset": [2, 0]}, X, y, cv=3, refit=False, n_jobs=1)
    tune(Offset(asked=asked), {"offset": [2, 0]}, X, y, cv=3, refit=False, n_jobs=1, shortcuts=False)
    assert asked == []


def test_model_selection_imports_the_root_and_metrics_alone():
    for path in Path(fastclf.model_selection.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("fastclf") for alias in node.names), path
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert not node.module.startswith("fastclf"), path
            elif isinstance(node, ast.ImportFrom) and node.level == 2:
                rooms = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
                assert all(room.startswith("_") or room == "metrics" for room in rooms), (path, rooms)


def test_figures_that_need_the_model_are_left_to_the_loop():
    result = cross_validate(GaussianNB(), *IRIS, cv="loo", scoring="neg_log_loss")
    assert not result.shortcut


GRIDS = [
    (KNeighborsClassifier(), {"n_neighbors": [7, 1, 20], "weights": ["uniform", "distance"]}),
    (KNeighborsClassifier(weights=lambda d: 1 / (1 + d)), {"n_neighbors": [1, 5]}),
    (DecisionTreeClassifier(), {"ccp_alpha": [0.0, 0.003, 0.01, 0.02, 0.3, 0.7]}),
    (DecisionTreeClassifier(max_leaf_nodes=9), {"ccp_alpha": [0.01, 0.0], "criterion": ["gini", "entropy"]}),
    (LeastSquaresClassifier(), {"alpha": [0.0, 1.0, 100.0]}),
    (BernoulliNB(), {"alpha": [0.1, 1.0]}),
    (SVC(tol=1e-6, gamma=0.001), {"C": [10.0, 0.1, 1.0]}),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
]


@pytest.mark.parametrize(("estimator", "grid"), GRIDS, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("cv", [5, "loo"])
def test_a_grid_has_the_scores_of_scikit_learns_grid_search(estimator, grid, cv):
    X, y = (array[::5] for array in WINE)
    folds = list(KFold(5, shuffle=True, random_state=0).split(X)) if cv == 5 else cv
    found = tune(estimator, grid, X, y, cv=folds)
    theirs = model_selection.LeaveOneOut() if cv == "loo" else folds
    search = model_selection.GridSearchCV(estimator, grid, cv=theirs).fit(X, y)
    expected = search.cv_results_
    place = [found.params.index(own) for own in expected["params"]]
    np.testing.assert_allclose(found.mean_score[place], expected["mean_test_score"], rtol=1e-12)
    n_folds = found.scores.shape[1]
    np.testing.assert_allclose(
        found.standard_error[place] * np.sqrt(n_folds - 1), expected["std_test_score"], atol=1e-12
    )
    assert found.mean_score[found.best_index] == pytest.approx(search.best_score_)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (KNeighborsClassifier(), {"model__n_neighbors": [1, 5, 20], "model__weights": ["uniform", "distance"]}),
        (DecisionTreeClassifier(), {"model__ccp_alpha": [0.0, 0.01, 0.1], "scale": [True, False]}),
        (LogisticRegression(tol=1e-9), {"model__C": [10.0, 0.1]}),
        (LeastSquaresClassifier(), {"model__alpha": [0.0, 100.0]}),
        (NaiveBayes(), {"model__distributions": ["gaussian", "mdl"]}),
    ],
    ids=repr,
)
def test_models_of_tables_have_paths_too(model, grid):
    X, y = WINE
    colours = np.array(["red", "green", None, "blue"], dtype=object)[RNG.integers(0, 4, len(y))]
    table = pandas.DataFrame(X[:, [0, 9, 12]], columns=list("abc"))
    table.loc[::7, "b"] = np.nan
    table["colour"] = np.where(RNG.random(len(y)) < 0.5, colours, NAMES[y])
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    found = tune(TableClassifier(model), grid, table, NAMES[y], cv=folds)
    slow = tune(TableClassifier(model), grid, table, NAMES[y], cv=folds, shortcuts=False)
    assert found.params == slow.params
    np.testing.assert_array_equal(found.scores, slow.scores)
    np.testing.assert_array_equal(found.estimator.predict(table), slow.estimator.predict(table))


def test_regressors_have_paths_too():
    X, y = WINE[0], WINE[0][:, 0] ** 2 + RNG.normal(size=len(WINE[0]))
    folds = list(KFold(4).split(X))
    for estimator, grid in [
        (KNeighborsRegressor(), {"n_neighbors": [1, 4, 9], "weights": ["uniform", "distance"]}),
        (DecisionTreeRegressor(), {"ccp_alpha": [0.0, 1.0, 50.0]}),
    ]:
        found = tune(estimator, grid, X, y, cv=folds)
        slow = tune(estimator, grid, X, y, cv=folds, shortcuts=False)
        place = [found.params.index(own) for own in slow.params]
        np.testing.assert_allclose(found.scores[place], slow.scores, rtol=1e-12)
    fast, slow = (
        cross_validate(KNeighborsRegressor(), X, y, cv="loo", scoring="neg_mean_squared_error", shortcuts=shortcuts)
        for shortcuts in (True, False)
    )
    assert fast.shortcut
    np.testing.assert_array_equal(fast["test_score"], slow["test_score"])


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(criterion="entropy", max_features=3, random_state=1, ccp_alpha="cv", cv=3),
        DecisionTreeClassifier(class_weight={"a": 0}),
        DecisionTreeRegressor(min_samples_leaf=0.02, ccp_alpha="cv", cv=3),
        DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_trees_of_folds_are_the_same_from_columns_that_are_sorted_once(monkeypatch, estimator, dtype):
    X = RNG.integers(-2, 3, (150, 7)) * (RNG.random((150, 7)) < RNG.random(7))
    X[:, 2] = abs(X[:, 2])
    X = X.astype(dtype)
    if dtype != "int64":
        X[:, 0] += RNG.random(150)
        X[RNG.random(150) < 0.1, 4] = np.nan
        X[::30, 5] = np.nan
    y = X[:, 0] + X[:, 1] + RNG.integers(0, 3, 150)
    y = np.array(list("abc"))[np.digitize(y, [0, 2])] if isinstance(estimator, DecisionTreeClassifier) else y
    sorts, sort = [], Sorted.__init__
    monkeypatch.setattr(Sorted, "__init__", lambda *args, **options: sorts.append(1) or sort(*args, **options))
    folds = KFold(5, shuffle=True, random_state=0)
    fast = cross_validate(estimator, X, y, cv=folds, return_estimator=True)
    plain = estimator.criterion != "absolute_error" and getattr(estimator, "class_weight", None) is None
    assert len(sorts) == (1 if plain else 5)
    slow = cross_validate(estimator, X, y, cv=folds, return_estimator=True, shortcuts=False)
    for ours, theirs in zip(fast["estimator"], slow["estimator"]):
        assert ours._nodes.keys() == theirs._nodes.keys()
        for name, array in ours._nodes.items():
            np.testing.assert_array_equal(array, theirs._nodes[name])
        np.testing.assert_array_equal(ours.features_with_missing_, theirs.features_with_missing_)


@pytest.mark.parametrize(
    ("estimator", "Cs"),
    [
        (LogisticRegression(tol=1e-9), [10.0, 0.01, 1.0, np.inf, 0.1]),
        (LogisticRegression(tol=1e-9, solver="lbfgs", class_weight="balanced"), [0.1, 1.0]),
        (LinearSVC(tol=1e-7), [10.0, 0.01, 1.0, 0.1]),
        (LinearSVC(tol=1e-7, intercept_scaling=None, fit_intercept=False), [1.0, 0.1]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n", [60, 400])
def test_warm_starts_end_at_the_optimum_of_each_penalty(estimator, Cs, n):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n] / 16, y[:n]
    X = X if n == 400 else np.hstack([X, np.tanh(X - 0.5)])  # the data have fewer rows than columns
    grid = {"C": Cs}
    folds = list(KFold(3).split(X))
    with warnings.catch_warnings(action="ignore"):
        found = tune(estimator, grid, X, y, cv=folds)
        slow = tune(estimator, grid, X, y, cv=folds, shortcuts=False)
    assert found.params == slow.params
    np.testing.assert_array_equal(found.scores, slow.scores)


def test_all_neighbors_at_once_are_those_one_by_one():
    X, y = IRIS
    for estimator in (
        KNeighborsClassifier(20),
        KNeighborsClassifier(20, weights="distance", ties="distance"),
        KNeighborsRegressor(20, weights="distance"),
    ):
        for weight in (None, RNG.choice([0.5, 1, 2], len(y))):
            fitted = estimator.fit(X, y, weight)
            found = fitted._predict_each(X[::2] + 0.01)
            for k in range(1, 21):
                expected = fitted.set_params(n_neighbors=k).predict(X[::2] + 0.01)
                np.testing.assert_allclose(found[k - 1], expected, rtol=1e-14)
            estimator.set_params(n_neighbors=20)
