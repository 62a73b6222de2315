"""The figures and comparisons of cross_validate, tune, and the curves."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import model_selection
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as SklearnDecisionTreeClassifier

from fastclf import (
    SVC,
    ContingencyTable,
    DecisionTreeClassifier,
    GaussianNB,
    GroupKFold,
    KernelPerceptron,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LinearSVC,
    NearestCentroid,
    StratifiedKFold,
    TableClassifier,
    contingency_table,
    cost_scorer,
    cross_validate,
    learning_curve,
    paired_comparison,
    tune,
    validation_curve,
)
from fastclf.model_selection import student_t

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
CANCER = tuple(array[::2] for array in load_breast_cancer(return_X_y=True))
MANHATTAN = NearestCentroid(metric="manhattan")
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


@pytest.mark.parametrize("t", [-30.0, -2.5, -0.1, 0.0, 1e-9, 0.7, 3.0, 100.0])
@pytest.mark.parametrize("dof", [1, 2, 9, 99, 9999])
def test_students_t_is_scipys(t, dof):
    assert student_t.cdf(t, dof) == pytest.approx(stats.t.cdf(t, dof), rel=1e-9, abs=1e-15)
    for p in (0.025, 0.5, 0.9, 0.999):
        assert student_t.quantile(p, dof) == pytest.approx(stats.t.ppf(p, dof), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "scoring",
    ["accuracy", "balanced_accuracy", "matthews_corrcoef", "f1_macro", "precision_weighted", "recall_micro"]
    + ["neg_log_loss", "roc_auc_ovr", "roc_auc_ovo"],
)
def test_figures_of_several_classes_are_scikit_learns(scoring):
    found = cross_validate(GaussianNB(), X[:, :2], Y, cv=FOLDS, scoring=scoring, return_train_score=True)
    expected = model_selection.cross_validate(
        GaussianNB(), X[:, :2], Y, cv=FOLDS, scoring=scoring, return_train_score=True
    )
    for key in ("test_score", "train_score"):
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-12)


@pytest.mark.parametrize(
    "scoring",
    ["f1", "precision", "recall", "roc_auc", "average_precision", "neg_brier_score", "neg_log_loss"],
)
def test_figures_of_two_classes_are_scikit_learns(scoring):
    for estimator in (GaussianNB(), LinearDiscriminantAnalysis()):
        found = cross_validate(estimator, *CANCER, cv=FOLDS, scoring=scoring)
        expected = model_selection.cross_validate(estimator, *CANCER, cv=FOLDS, scoring=scoring)
        # the tolerance is larger for the log loss, because scikit-learn uses 1 - p, a rounded number, as the
        # probability of the first class
        rtol = 1e-6 if scoring == "neg_log_loss" else 1e-12
        np.testing.assert_allclose(found["test_score"], expected["test_score"], rtol=rtol)


@pytest.mark.parametrize(
    "scoring", ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", None]
)
def test_figures_of_numbers_are_scikit_learns(scoring):
    cv = model_selection.KFold(4)
    found = cross_validate(KNeighborsRegressor(), X[:, :3], X[:, 3], cv=cv, scoring=scoring)
    expected = model_selection.cross_validate(KNeighborsRegressor(), X[:, :3], X[:, 3], cv=cv, scoring=scoring)
    np.testing.assert_allclose(found["test_score"], expected["test_score"], rtol=1e-12)
    assert found.table is None


def test_several_figures_and_estimators_are_kept_as_scikit_learn_keeps_them():
    options = {"cv": FOLDS, "scoring": ["accuracy", "f1_macro"], "return_estimator": True, "return_indices": True}
    found = cross_validate(GaussianNB(), X, Y, **options)
    expected = model_selection.cross_validate(GaussianNB(), X, Y, **options)
    assert set(expected) <= set(found)
    np.testing.assert_allclose(found["test_f1_macro"], expected["test_f1_macro"])
    np.testing.assert_array_equal(found["estimator"][2].theta_, expected["estimator"][2].theta_)
    np.testing.assert_array_equal(found["indices"]["test"][1], expected["indices"]["test"][1])


def test_the_pooled_table_counts_every_answer():
    result = cross_validate(SklearnDecisionTreeClassifier(random_state=0), X, Y, cv=FOLDS)
    predicted = model_selection.cross_val_predict(SklearnDecisionTreeClassifier(random_state=0), X, Y, cv=FOLDS)
    np.testing.assert_array_equal(result.table.counts, contingency_table(Y, predicted).counts)
    assert isinstance(result.table, ContingencyTable)


def test_a_cost_is_a_figure():
    costs = np.array([[0, 2], [9, 0]])
    result = cross_validate(
        GaussianNB(), *CANCER, cv=FOLDS, scoring={"cost": cost_scorer(costs), "own": lambda m, X, y: 7}
    )
    assert np.average(result["test_cost"], weights=result.n_test) == pytest.approx(-result.table.cost(costs))
    assert result["test_own"].tolist() == [7] * 5


def test_the_interval_is_that_of_nadeau_and_bengio():
    results = cross_validate({"a": GaussianNB(), "b": NearestCentroid()}, X[:, :2], Y, cv=5, repeats=4)
    gaps = results["b"]["test_score"] - results["a"]["test_score"]
    spread = np.sqrt((1 / 20 + 30 / 120) * np.var(gaps, ddof=1))
    found = results.compare("a", "b", level=0.9)
    assert found.difference == pytest.approx(gaps.mean())
    assert found.standard_error == pytest.approx(spread)
    np.testing.assert_allclose((found.low, found.high), stats.t.interval(0.9, 19, gaps.mean(), spread))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(gaps.mean()) / spread, 19))
    assert results.winner == min(results, key=lambda name: results[name].error)


def test_an_estimator_is_as_good_as_itself():
    result = cross_validate(GaussianNB(), X, Y)
    found = paired_comparison(result, result)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    with pytest.raises(ValueError, match="same folds"):
        paired_comparison(result, cross_validate(GaussianNB(), X, Y, cv=3))


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_the_number_of_threads_changes_no_score(n_jobs):
    estimators = {"tree": DecisionTreeClassifier(), "sklearn": SklearnDecisionTreeClassifier(random_state=0)}
    expected = cross_validate(estimators, X, Y, n_jobs=1)
    found = cross_validate(estimators, X, Y, n_jobs=n_jobs)
    for name in estimators:
        np.testing.assert_array_equal(found[name]["test_score"], expected[name]["test_score"])
        np.testing.assert_array_equal(found[name].table.counts, expected[name].table.counts)


class Interrupted(KNeighborsClassifier):
    """An estimator whose fit of this number is interrupted by Ctrl-C."""

    def __init__(self, number=3, seen=None):
        super().__init__()
        self.number, self.seen = number, seen

    def fit(self, X, y):
        self.seen.append(1)
        if len(self.seen) == self.number:
            raise KeyboardInterrupt
        return super().fit(X, y)


class Seen(list):
    """A list that is shared by the clones of its owner."""

    def __deepcopy__(self, memo):
        return self


def test_ctrl_c_keeps_what_is_done():
    with pytest.warns(UserWarning, match="interrupted: the results hold 2 of 10 folds"):
        found = cross_validate(Interrupted(3, Seen()), X, Y, cv=10, n_jobs=1)
    expected = cross_validate(KNeighborsClassifier(), X, Y, cv=10)["test_score"][:2]
    np.testing.assert_array_equal(found["test_score"], expected)
    assert found.interrupted
    assert found.table.n == 30


def test_ctrl_c_leaves_a_grid_the_folds_that_all_combinations_have():
    with pytest.warns(UserWarning, match="interrupted"):
        found = tune(Interrupted(seen=Seen()), {"number": [60, 6]}, X, Y, n_jobs=1)
    assert found.scores.shape == (2, 2)
    assert found.interrupted
    assert found.estimator is None
    with pytest.raises(RuntimeError, match="before it had finished a fold"), warnings.catch_warnings(action="ignore"):
        tune(Interrupted(seen=Seen()), {"number": [60, 2]}, X, Y, n_jobs=1)


def test_ctrl_c_in_an_inner_fold_ends_the_outer_ones():
    seen = Seen()
    with pytest.warns(UserWarning, match="interrupted"):
        found = tune(Interrupted(seen=seen), {"number": [12]}, X, Y, cv=4, outer=5, n_jobs=1)
    assert found.outer.interrupted
    assert found.outer_params == [{"number": 12}]
    assert len(found.outer["test_score"]) == 1


def test_ctrl_c_before_anything_is_done_is_raised():
    with pytest.raises(KeyboardInterrupt):
        cross_validate(Interrupted(1, Seen()), X, Y, n_jobs=1)


def test_the_one_standard_error_rule_takes_the_simplest_near_the_best():
    wine = load_wine(return_X_y=True)
    found = tune(KNeighborsClassifier(), {"n_neighbors": range(1, 60)}, *wine, rule="one_standard_error")
    limit = found.mean_score.max() - found.standard_error[found.best_index]
    expected = max(k for k, score in zip(range(1, 60), found.mean_score) if score >= limit)
    assert found.chosen_params == found.one_standard_error_params == {"n_neighbors": expected}
    assert found.best_params == {"n_neighbors": 1 + int(np.argmax(found.mean_score))}
    assert found.estimator.n_neighbors == expected
    reverse = tune(KNeighborsClassifier(), {"n_neighbors": range(1, 60)}, *wine, simpler={"n_neighbors": "smaller"})
    smallest = min(k for k, score in zip(range(1, 60), found.mean_score) if score >= limit)
    assert reverse.one_standard_error_params == {"n_neighbors": smallest}


@pytest.mark.parametrize(("estimator", "name", "values", "simplest"), [
    (KNeighborsClassifier(), "n_neighbors", [1, 3, 5], 5),
    (DecisionTreeClassifier(), "max_depth", [None, 4, 1, 2], 1),
    (DecisionTreeClassifier(), "ccp_alpha", [0.0, 1e-3, 1e-2], 1e-2),
    (DecisionTreeClassifier(), "random_state", [3, 1, 2], 3),
])  # fmt: skip
@pytest.mark.parametrize("shortcuts", [True, False])
def test_of_equal_scores_the_simplest_model_is_chosen_and_then_the_first(estimator, name, values, simplest, shortcuts):
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    found = tune(estimator, {name: values}, X, X[:, 0] > 0, cv=4, shortcuts=shortcuts)
    assert (found.mean_score == 1).all()
    assert found.best_params == found.one_standard_error_params == {name: simplest}


def test_scores_that_differ_by_rounding_are_equal():
    given = {1: [0.1, 0.2, 0.3], 3: [0.3, 0.2, 0.1]}

    def scores(model, X, y):
        return given[model.n_neighbors].pop()

    X = np.arange(30.0)[:, None]
    found = tune(
        KNeighborsClassifier(), {"n_neighbors": [1, 3]}, X, X[:, 0] % 2, cv=3, scoring=scores, n_jobs=1, refit=False
    )
    assert found.mean_score[0] != found.mean_score[1]
    assert found.best_params == {"n_neighbors": 3}


@pytest.mark.parametrize("cv", [3, "loo"])
@pytest.mark.parametrize("shortcuts", [True, False])
@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:.* fits failed")
def test_a_setting_that_cannot_be_is_a_row_of_the_table(cv, shortcuts):
    X = np.arange(30.0)[:, None]
    y = (X[:, 0] > 14).astype(int)
    for estimator, name, values, bad in (
        (KNeighborsClassifier(), "n_neighbors", [1, 1000, 5], 1),
        (LinearSVC(), "budget", [1e-9, 1000.0], 0),
        (DecisionTreeClassifier(), "max_depth", [0, 1], 0),
    ):
        y_ = np.roll(y, 1) if name == "budget" else y
        found = tune(estimator, {name: values}, X, y_, cv=cv, shortcuts=shortcuts)
        assert np.flatnonzero(np.isnan(found.mean_score)).tolist() == [bad]
        assert found.estimator.predict(X).shape == (30,)


def test_where_no_setting_has_a_score_the_first_is_chosen():
    X = np.arange(30.0)[:, None]
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = tune(KNeighborsClassifier(), {"n_neighbors": [100, 90]}, X, X[:, 0] > 14, cv=3, refit=False)
    assert found.best_params == {"n_neighbors": 100}


def test_a_depth_without_limit_is_the_least_simple():
    grid = {"max_depth": [None, 3, 20]}
    found = tune(DecisionTreeClassifier(), grid, X, Y, rule="one_standard_error")
    assert found.chosen_params == {"max_depth": 3}


def test_the_outer_folds_have_no_part_in_the_choice():
    grid = {"n_neighbors": range(1, 20)}
    found = tune(KNeighborsClassifier(), grid, X[:, :2], Y, cv=4, outer=FOLDS)
    errors, chosen = [], []
    for train, test in FOLDS.split(X, Y):
        inner = tune(KNeighborsClassifier(), grid, X[train, :2], Y[train], cv=4)
        chosen.append(inner.chosen_params)
        errors.append(1 - inner.estimator.score(X[test, :2], Y[test]))
    assert found.outer_params == chosen
    assert found.outer.error == pytest.approx(np.mean(errors))
    assert found.outer.table.n == 150


def test_the_outer_folds_pass_on_groups_and_arguments_of_fit():
    groups, weight = np.arange(150) // 5, np.arange(150) % 2.0
    options = {"params": {"sample_weight": weight}, "cv": GroupKFold(4)}
    grid = {"var_smoothing": [1e-9, 1.0]}
    found = tune(GaussianNB(), grid, X[:, :2], Y, groups=groups, outer=GroupKFold(3), **options)
    errors = []
    for train, test in GroupKFold(3).split(X, Y, groups):
        options["params"] = {"sample_weight": weight[train]}
        inner = tune(GaussianNB(), grid, X[train, :2], Y[train], groups=groups[train], **options)
        errors.append(1 - inner.estimator.score(X[test, :2], Y[test]))
    assert found.outer.error == pytest.approx(np.mean(errors))


def test_values_that_are_equal_but_different_are_tried_each():
    grid = {"max_features": [1, 1.0], "max_depth": [2, 3]}
    found = tune(DecisionTreeClassifier(random_state=0), grid, X, Y, cv=FOLDS, refit=False)
    for params, scores in zip(found.params, found.scores):
        model = DecisionTreeClassifier(random_state=0, **params)
        np.testing.assert_array_equal(scores, cross_validate(model, X, Y, cv=FOLDS)["test_score"])
    assert [type(params["max_features"]) for params in found.params] == [int, float] * 2


@pytest.mark.parametrize("kind", [list, np.array])
def test_values_may_be_arrays(kind):
    grid = {"priors": [kind([0.8, 0.1, 0.1]), kind([0.1, 0.1, 0.8])]}
    found = tune(GaussianNB(), grid, X[:, :2], Y, cv=FOLDS, refit=False)
    for params, scores in zip(found.params, found.scores):
        np.testing.assert_array_equal(scores, cross_validate(GaussianNB(**params), X[:, :2], Y, cv=FOLDS)["test_score"])
    assert [list(value) for value in found["param_priors"]] == [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]


def test_pipelines_are_tuned_by_the_names_of_their_steps():
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier())
    grid = {"kneighborsclassifier__n_neighbors": [1, 9, 30]}
    found = tune(pipeline, grid, X, Y, cv=FOLDS, outer=3)
    search = model_selection.GridSearchCV(pipeline, grid, cv=FOLDS).fit(X, Y)
    np.testing.assert_allclose(found.mean_score, search.cv_results_["mean_test_score"])
    assert found.best_params == search.best_params_
    assert len(found.outer_params) == 3


def test_several_grids_are_tried_one_after_the_other():
    grids = [{"n_neighbors": [1, 2]}, {"weights": ["distance"], "n_neighbors": [3]}]
    found = tune(KNeighborsClassifier(), grids, X, Y, refit=False)
    expected = [{"n_neighbors": 1}, {"n_neighbors": 2}, {"weights": "distance", "n_neighbors": 3}]
    assert found.params == expected
    assert found.estimator is None


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (DecisionTreeClassifier(), "ccp_alpha", [0.0, 0.01, 0.1]),
        (KNeighborsClassifier(), "n_neighbors", [1, 5, 60]),
        (SklearnDecisionTreeClassifier(random_state=0), "max_depth", [1, 3]),
    ],
    ids=["pruning", "neighbours", "scikit-learn's tree"],
)
def test_validation_curves_are_scikit_learns(estimator, name, values):
    options = {"param_name": name, "param_range": values, "cv": FOLDS}
    found = validation_curve(estimator, X, Y, **options)
    expected = model_selection.validation_curve(estimator, X, Y, **options)
    np.testing.assert_allclose(found, expected)


def test_learning_curves_are_scikit_learns():
    options = {"train_sizes": [0.3, 0.5, 1.0], "cv": FOLDS}
    found = learning_curve(GaussianNB(), X, Y, **options)
    expected = model_selection.learning_curve(GaussianNB(), X, Y, **options)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other)
    shuffled = learning_curve(GaussianNB(), X, Y, shuffle=True, **options)
    assert (shuffled[1][0] != found[1][0]).any()


def raised_by(grid):
    tune(KNeighborsClassifier(), grid, X, Y, cv=10, error_score="raise")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tune(GaussianNB, {}, X, Y), TypeError, "is the class GaussianNB"),
        (lambda: tune(GaussianNB(), [], X, Y), TypeError, "param_grid is"),
        (lambda: tune(GaussianNB(), {"priors": 3}, X, Y), ValueError, r"param_grid\['priors'\] is 3"),
        (lambda: tune(GaussianNB(), {"nothing": [3]}, X, Y), ValueError, "nothing"),
        (lambda: tune(GaussianNB(), {"priors": [None]}, X, Y, rule="worst"), ValueError, "rule is 'worst'"),
        (lambda: tune(GaussianNB(), {"priors": [None]}, X, Y, simpler={"a": 1}), ValueError, "simpler"),
        (
            lambda: tune(KNeighborsClassifier(), {"n_neighbors": [0, 3]}, X, Y, error_score="raise"),
            ValueError,
            "n_neighbors is 0",
        ),
        (
            lambda: tune(KNeighborsClassifier(), {"n_neighbors": [3, 140]}, X, Y, cv=10, error_score="raise"),
            ValueError,
            "n_samples_fit = 135",
        ),
        (lambda: cross_validate(GaussianNB(), X, Y, scoring="wrong"), ValueError, "scoring is 'wrong'"),
        (lambda: cross_validate(GaussianNB(), X, Y, scoring=3), TypeError, "scoring is 3"),
        (lambda: cross_validate(GaussianNB(), X, Y, scoring=[]), ValueError, "must be unique strings.*Empty list"),
        (
            lambda: cross_validate(NearestCentroid(metric="manhattan"), X, Y, scoring="roc_auc", error_score="raise"),
            TypeError,
            "predict_proba",
        ),
        (lambda: learning_curve(GaussianNB(), X, Y, train_sizes=[0.0, 1.0]), ValueError, "train_sizes"),
        (lambda: learning_curve(GaussianNB(), X, Y, train_sizes=[1000]), ValueError, "numbers from 1 to"),
        (lambda: paired_comparison({}, {}, level=2), ValueError, "level is 2"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_of_equal_errors_the_larger_lambda_and_the_stronger_shrinking_are_chosen():
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(-9, 1, (30, 2)), rng.normal(9, 1, (30, 2))]
    y = np.repeat([0, 1], 30)
    for model, values in (
        (LinearSVC(), {"lam": [0.001, 0.1, 0.01]}),
        (DecisionTreeClassifier(), {"lam": [0, 1, 0.1]}),
        (NearestCentroid(), {"shrink_threshold": [None, 0.2, 0.1]}),
    ):
        [(name, grid)] = values.items()
        found = tune(model, values, X, y, cv=3)
        assert found.best_params_ == {name: max(value for value in grid if value is not None)}


def test_a_choice_that_cannot_be_fitted_to_all_rows_keeps_the_table():
    class Fussy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if len(y) == 150:
                raise ValueError("150 rows are too many")
            return super().fit(X, y, sample_weight)

    with pytest.warns(Warning, match="estimator is None: 150 rows are too many"):
        found = tune(Fussy(), {"var_smoothing": [1e-9, 1e-3]}, X, Y, cv=3)
    assert found.estimator is None
    assert np.isfinite(found.mean_score).all()
    with pytest.raises(ValueError, match="150 rows"):
        tune(Fussy(), {"var_smoothing": [1e-9, 1e-3]}, X, Y, cv=3, error_score="raise")


@pytest.mark.parametrize(("model", "name", "simplest"), [
    (SVC(kernel="linear"), "budget", 300.0),
    (LinearSVC(loss="hinge"), "budget", 300.0),
    (KernelPerceptron(random_state=0), "budget", 100),
    (make_pipeline(StandardScaler(), KernelPerceptron(random_state=0)), "kernelperceptron__budget", 100),
    (TableClassifier(SVC(kernel="linear")), "model__budget", 300.0),
])  # fmt: skip
def test_of_equal_budgets_that_of_the_simpler_model_is_chosen(model, name, simplest):
    rows = np.repeat([[0.0, 0.0], [9.0, 9.0]], 60, axis=0) + np.random.default_rng(0).normal(size=(120, 2))
    for values in ([100, 200, 300], [300, 100, 200]):
        kind = type(simplest)
        found = tune(model, {name: list(map(kind, values))}, rows, np.repeat([0, 1], 60), cv=FOLDS)
        assert (found.mean_score == found.mean_score[0]).all()
        assert found.best_params == {name: simplest}
