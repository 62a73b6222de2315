"""Pictures show the numbers that they are named after."""

import doctest
import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC as SklearnSVC

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.figure  # noqa: E402

import fastclf  # noqa: E402
from fastclf import (  # noqa: E402  # noqa: E402
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KNeighborsClassifier,
    Perceptron,
    display,
)
from fastclf.display import binary, curves, matrix, models, residuals  # noqa: E402
from fastclf.table import Table, TableClassifier  # noqa: E402

pytestmark = pytest.mark.once

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
CANCER, SICK = load_breast_cancer(return_X_y=True)


@pytest.fixture
def ax():
    axes = matplotlib.figure.Figure().subplots()
    yield axes
    axes.figure.canvas.draw()


@pytest.mark.parametrize("module", [binary, curves, matrix, models, residuals])
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
    matplotlib.pyplot.close("all")


def test_the_confusion_table_shows_each_count(ax):
    model = GaussianNB().fit(X[::2], NAMES[::2])
    drawn = display.ConfusionMatrixDisplay.from_estimator(model, X, NAMES, ax=ax)
    counts = metrics.confusion_matrix(NAMES, model.predict(X))
    assert [[int(text.get_text()) for text in row] for row in drawn.text_] == counts.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == np.unique(NAMES).tolist()
    assert drawn.figure_ is ax.figure


@pytest.mark.parametrize("model", [GaussianNB(), Perceptron()], ids=["probabilities", "scores"])
def test_curves_of_an_estimator_are_those_of_its_scores(model, ax):
    model.fit(CANCER[::2], SICK[::2])
    score = model.predict_proba(CANCER)[:, 1] if hasattr(model, "predict_proba") else model.decision_function(CANCER)
    drawn = display.RocCurveDisplay.from_estimator(model, CANCER, SICK, ax=ax)
    np.testing.assert_allclose(drawn.line_.get_xydata().T, metrics.roc_curve(SICK, score)[:2])
    assert drawn.line_.get_label().endswith(f"(AUC = {metrics.roc_auc_score(SICK, score):.2f})")
    ax.clear()
    drawn = display.PrecisionRecallDisplay.from_estimator(model, CANCER, SICK, ax=ax)
    precision, recall, _ = metrics.precision_recall_curve(SICK, score)
    np.testing.assert_allclose(drawn.line_.get_xydata().T, (recall, precision))
    assert drawn.prevalence_pos_label == pytest.approx(SICK.mean())


def test_the_validation_curve_marks_the_best_and_the_simplest_near_it(ax):
    grid = {"param_name": "n_neighbors", "param_range": [30, 1, 10, 100]}
    drawn = display.ValidationCurveDisplay.from_estimator(
        KNeighborsClassifier(), X, Y, ax=ax, score_type="error", **grid
    )
    found = fastclf.tune(KNeighborsClassifier(), {"n_neighbors": [30, 1, 10, 100]}, X, Y)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    error = 1 - found.mean_score
    np.testing.assert_allclose(
        lines["left-out rows ± one standard error"], np.c_[[1, 10, 30, 100], error[[1, 2, 0, 3]]]
    )
    best = found.best_params["n_neighbors"]
    np.testing.assert_allclose(lines[f"best: {best}"], [[best, error[found.best_index]]])
    simple = found.one_standard_error_params["n_neighbors"]
    assert lines[f"simplest within one standard error: {simple}"][0, 0] == simple
    assert drawn.tuning.best_params == found.best_params


def test_values_that_are_no_numbers_are_named(ax):
    grid = {"param_name": "weights", "param_range": ["uniform", "distance"]}
    display.ValidationCurveDisplay.from_estimator(
        KNeighborsClassifier(), X, Y, cv=3, train=False, ax=ax, score_type="error", **grid
    )
    assert [label.get_text() for label in ax.get_xticklabels()] == ["uniform", "distance"]


def test_the_pruning_curve_tells_the_leaves(ax):
    drawn = display.PruningDisplay.from_estimator(DecisionTreeClassifier(), CANCER, SICK, cv=3, ax=ax)
    texts = {text.xy[0]: int(text.get_text()) for text in ax.texts}
    assert len(texts) > 3
    for alpha, n_leaves in texts.items():
        assert DecisionTreeClassifier(ccp_alpha=alpha).fit(CANCER, SICK).get_n_leaves() == n_leaves
    assert len(drawn.values) <= 50


def test_the_learning_curve_shows_both_sides(ax):
    error = {"score_type": "error"}
    drawn = display.LearningCurveDisplay.from_estimator(
        GaussianNB(), X, Y, cv=3, train_sizes=[0.5, 1.0], ax=ax, **error
    )
    sizes, train, test = fastclf.learning_curve(GaussianNB(), X, Y, cv=3, train_sizes=[0.5, 1.0])
    for line, scores in zip(ax.lines, (test, train), strict=True):
        np.testing.assert_allclose(line.get_xydata(), np.c_[sizes, 1 - scores.mean(axis=1)])
    np.testing.assert_array_equal(drawn.train_sizes, sizes)


@pytest.mark.parametrize("kind", ["fill_between", "errorbar", None])
def test_curves_of_scores_are_drawn_as_scikit_learn_draws_them(kind):
    from sklearn import model_selection

    model, grid = KNeighborsClassifier(), {"param_name": "n_neighbors", "param_range": [1, 3, 40]}
    style = {"score_type": "both", "std_display_style": kind, "negate_score": True, "scoring": "accuracy", "cv": 3}
    for ours, theirs, options in (
        (display.LearningCurveDisplay, model_selection.LearningCurveDisplay, {"train_sizes": [0.6, 1.0]}),
        (display.ValidationCurveDisplay, model_selection.ValidationCurveDisplay, grid),
    ):
        a, b = (cls.from_estimator(model, X, NAMES, **options, **style) for cls in (ours, theirs))
        for line, other in zip(a.ax_.lines, b.ax_.lines, strict=True):
            assert np.allclose(line.get_xydata(), other.get_xydata())
        assert (a.ax_.get_xlabel(), a.ax_.get_ylabel()) == (b.ax_.get_xlabel(), b.ax_.get_ylabel())
        assert a.ax_.get_xscale() == b.ax_.get_xscale()
        assert [drawn is None for drawn in (a.lines_, a.errorbar_, a.fill_between_)] == [
            drawn is None for drawn in (b.lines_, b.errorbar_, b.fill_between_)
        ]
    matplotlib.pyplot.close("all")


def test_curves_are_drawn_from_scores_without_an_estimator(ax):
    scores = {"train_scores": np.ones((2, 3)), "test_scores": np.full((2, 3), 0.5)}
    drawn = display.ValidationCurveDisplay(param_name="C", param_range=[1, 2], score_name="hits", **scores).plot(ax)
    assert [line.get_ydata().tolist() for line in drawn.lines_] == [[1, 1], [0.5, 0.5]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("C", "hits")
    drawn = display.LearningCurveDisplay(train_sizes=[5, 9], score_name="hits", **scores).plot(ax, score_type="test")
    assert [line.get_ydata().tolist() for line in drawn.lines_] == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="score_type is 'error', and tuning is None"):
        display.ValidationCurveDisplay(param_name="C", param_range=[1, 2], **scores).plot(ax, score_type="error")
    with pytest.raises(TypeError, match="tuning is None; param_name"):
        display.ValidationCurveDisplay(param_name="C")


@pytest.mark.parametrize("method", ["contourf", "contour", "pcolormesh"])
@pytest.mark.parametrize("response", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_answers_on_the_plane_are_drawn_as_scikit_learn_draws_them(method, response, n_classes):
    from sklearn.inspection import DecisionBoundaryDisplay

    some = np.isin(Y, range(n_classes))
    model = fastclf.LogisticRegression().fit(X[some, :2], NAMES[some])
    given = {"plot_method": method, "response_method": response, "grid_resolution": 20, "alpha": 0.5, "xlabel": "a"}
    drawn, other = (
        cls.from_estimator(model, X[some, :2], **given)
        for cls in (display.DecisionBoundaryDisplay, DecisionBoundaryDisplay)
    )
    assert np.array_equal(drawn.response, other.response)
    assert np.array_equal(drawn.xx0, other.xx0)
    assert drawn.n_classes == other.n_classes == n_classes
    assert type(drawn.surface_) is type(other.surface_)
    assert drawn.ax_.get_xlabel() == "a"
    if n_classes > 2:
        assert np.array_equal(drawn.multiclass_colors_, other.multiclass_colors_)
    matplotlib.pyplot.close("all")


def test_the_answers_of_a_regressor_are_drawn_on_the_plane(ax):
    model = fastclf.DecisionTreeRegressor(max_depth=2).fit(X[:, :2], X[:, 2])
    drawn = display.DecisionBoundaryDisplay.from_estimator(model, X[:, :2], response_method="auto", eps=0, ax=ax)
    assert set(np.unique(drawn.response)) <= set(model.predict(X[:, :2]))
    assert drawn.xx0.min() == X[:, 0].min()
    with pytest.raises(TypeError, match="response is None"):
        display.DecisionBoundaryDisplay(model)


@pytest.mark.parametrize("kind", ["residual_vs_predicted", "actual_vs_predicted"])
def test_errors_of_predicted_numbers_are_drawn_as_scikit_learn_draws_them(kind):
    model = fastclf.DecisionTreeRegressor(max_depth=3).fit(X[:, :2], X[:, 2])
    given = {"kind": kind, "subsample": 40, "random_state": 3}
    drawn, other = (
        cls.from_estimator(model, X[:, :2], X[:, 2], **given)
        for cls in (display.PredictionErrorDisplay, metrics.PredictionErrorDisplay)
    )
    assert np.array_equal(drawn.scatter_.get_offsets(), other.scatter_.get_offsets())
    assert np.array_equal(drawn.line_.get_xydata(), other.line_.get_xydata())
    assert (drawn.ax_.get_xlabel(), drawn.ax_.get_ylabel()) == (other.ax_.get_xlabel(), other.ax_.get_ylabel())
    matplotlib.pyplot.close("all")


def test_the_cost_of_a_query_is_drawn_beside_the_error(ax):
    results = fastclf.cross_validate({"near": KNeighborsClassifier(), "Bayes": GaussianNB()}, X, Y, cv=3)
    display.QueryCostDisplay.from_results(results, ax=ax)
    places = {text.get_text(): text.xy for text in ax.texts}
    assert places == {name: (own.microseconds_per_query, own.error) for name, own in results.items()}


def test_names_of_near_dots_do_not_cover_each_other(ax):
    results = {
        f"estimator {i}": SimpleNamespace(microseconds_per_query=1 + i / 50, error=0.1 + i / 1000, standard_error=0.02)
        for i in range(5)
    }
    display.QueryCostDisplay.from_results(results, ax=ax)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 5
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_regions_have_the_colours_of_the_answers(ax):
    model = GaussianNB().fit(X[:, :2], NAMES)
    drawn = display.DecisionBoundaryDisplay.from_estimator(model, X[:, :2], NAMES, grid_resolution=40, ax=ax)
    shown = drawn.surface_.get_array()
    xs, ys = np.linspace(*drawn.xlim, 40), np.linspace(*drawn.ylim, 40)
    answers = model.predict(np.array([[x, y] for y in ys for x in xs])).reshape(40, 40)
    palette = {tuple(shown[answers == name][0]): name for name in np.unique(answers)}
    assert len(palette) == 3
    assert all(palette[tuple(shown[i, j])] == answers[i, j] for i, j in np.ndindex(40, 40))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["setosa", "versicolor", "virginica", f"wrong: {(model.predict(X[:, :2]) != NAMES).sum()}"]


def test_a_tree_shows_a_box_for_each_leaf(ax):
    model = DecisionTreeClassifier().fit(X[:, 2:], NAMES)
    display.DecisionBoundaryDisplay.from_estimator(model, X[:, 2:], NAMES, grid_resolution=20, ax=ax)
    assert len(ax.patches) == model.get_n_leaves()
    for box in ax.patches:
        corners = box.get_xy() + np.array([[0.01], [0.99]]) * [box.get_width(), box.get_height()]
        assert len(np.unique(model.apply(corners))) == 1


def test_support_vectors_and_margins_are_drawn(ax):
    model = SklearnSVC(kernel="linear").fit(X[50:, 2:], NAMES[50:])
    display.DecisionBoundaryDisplay.from_estimator(model, X[50:, 2:], NAMES[50:], ax=ax)
    rings = [c for c in ax.collections if c.get_label() == f"support vectors: {len(model.support_)}"]
    np.testing.assert_allclose(rings[0].get_offsets(), model.support_vectors_)
    [contour] = [c for c in ax.collections if hasattr(c, "levels")]
    assert contour.levels.tolist() == [-1, 0, 1]


def test_a_frame_gives_the_names_of_the_axes(ax):
    frame = pytest.importorskip("pandas").DataFrame(X[:, 2:], columns=["length", "width"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.DecisionBoundaryDisplay.from_estimator(GaussianNB().fit(frame, NAMES), frame, NAMES, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")


def test_a_tree_is_drawn_with_its_questions_and_answers(ax):
    model = DecisionTreeClassifier(max_depth=2).fit(X, NAMES)
    display.TreeDisplay.from_estimator(model, feature_names=list("abcd"), ax=ax)
    words = [text.get_text() for text in ax.texts if text.get_text() not in ("yes", "no")]
    assert len(words) == model.tree_.node_count
    assert words[0] == f"c <= {model.tree_.threshold[0]:.6g}\nsetosa 33%\n150 rows"
    assert words[1] == "setosa 100%\n50 rows"


def crosses(line, box):
    """Whether a straight line crosses the inside of a box of the picture."""
    (x0, y0), (x1, y1) = line
    at = np.linspace(0, 1, 400)
    x, y = x0 + at * (x1 - x0), y0 + at * (y1 - y0)
    return bool(((x > box.x0 + 1) & (x < box.x1 - 1) & (y > box.y0 + 1) & (y < box.y1 - 1)).any())


@pytest.mark.parametrize(("depth", "size"), [(2, None), (2, (5, 4)), (4, None), (4, (16, 10)), (6, None)], ids=str)
def test_the_tree_of_a_table_has_texts_and_its_edges_and_boxes_do_not_overlap(depth, size):
    rng = np.random.default_rng(depth)
    towns = np.array([f"Saint-Germain {i}" for i in range(30)] + [None], dtype=object)
    town, age = rng.integers(0, 31, 900), rng.integers(18, 90, 900).astype(float)
    age[rng.random(900) < 0.2] = np.nan
    y = np.where((town % 3 == 0) ^ (np.isnan(age) | (age > 60)) ^ (rng.random(900) < 0.1), "5 $", "10 $")
    model = TableClassifier(DecisionTreeClassifier(max_depth=depth)).fit(Table([towns[town], age], ["town", "age"]), y)
    ax = None if size is None else matplotlib.figure.Figure(figsize=size).subplots()
    drawn = display.TreeDisplay.from_estimator(model, ax=ax)
    drawn.figure_.draw_without_rendering()
    texts = drawn.ax_.texts
    shown = "".join(text.get_text() for text in texts)
    assert "nan" not in shown
    assert "town in {Saint-Germain" in shown
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts if text.get_bbox_patch() is not None]
    answers = [text.get_window_extent() for text in texts if text.get_bbox_patch() is None]
    assert len(answers) == 2
    assert not any(a.overlaps(b) for a in answers for b in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    for line in drawn.ax_.lines:
        ends = line.get_transform().transform(line.get_xydata())
        assert not any(crosses(ends, answer) for answer in answers)
        # an edge is hidden behind the boxes that it joins, whose centres are its ends
        others = [box for box in boxes if not any(box.contains(*end) for end in ends)]
        assert len(others) == len(boxes) - 2
        assert not any(crosses(ends, box) for box in others)
    matplotlib.pyplot.close("all")


def test_a_tree_is_cut_at_a_depth(ax):
    model = DecisionTreeRegressor().fit(X[:, :3], X[:, 3])
    display.TreeDisplay.from_estimator(model, max_depth=1, ax=ax)
    words = [text.get_text() for text in ax.texts if text.get_text() not in ("yes", "no")]
    assert len(words) == 3
    assert all(word.endswith("...") for word in words[1:])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: display.ConfusionMatrixDisplay([1]), TypeError, "a ContingencyTable is wanted"),
        (lambda: display.RocCurveDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y), ValueError, "3 classes"),
        (lambda: display.DecisionBoundaryDisplay.from_estimator(GaussianNB().fit(X, Y), X), ValueError, "two features"),
        (lambda: display.TreeDisplay(GaussianNB().fit(X, Y)), TypeError, "a fitted decision tree is wanted"),
        (
            lambda: display.TreeDisplay(DecisionTreeClassifier().fit(X, Y), feature_names=["a"]),
            ValueError,
            "feature_names must contain 4 elements, got 1",
        ),
        (
            lambda: display.ValidationCurveDisplay(
                fastclf.tune(KNeighborsClassifier(), {"n_neighbors": [1], "weights": ["uniform"]}, X, Y)
            ),
            ValueError,
            "one parameter is wanted",
        ),
    ],
)
def test_a_wrong_argument_gets_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def two_figures():
    return (matplotlib.figure.Figure().subplots() for _ in range(2))


@pytest.mark.parametrize("name", ["RocCurveDisplay", "PrecisionRecallDisplay", "DetCurveDisplay", "CalibrationDisplay"])
@pytest.mark.parametrize("positive", [None, 0, 1])
def test_curves_of_two_classes_are_scikit_learns(name, positive):
    from sklearn.calibration import CalibrationDisplay

    theirs = CalibrationDisplay if name == "CalibrationDisplay" else getattr(metrics, name)
    model, options = GaussianNB().fit(CANCER[::2], SICK[::2]), {"pos_label": positive}
    if name[0] in "RP":
        options |= {"plot_chance_level": True, "despine": True, "curve_kwargs": {"c": "red"}}
    drawn = [
        each.from_estimator(model, CANCER, SICK, ax=ax, **options)
        for each, ax in zip((getattr(display, name), theirs), two_figures())
    ]
    for mine, wanted in zip(drawn[0].ax_.lines, drawn[1].ax_.lines, strict=True):
        np.testing.assert_allclose(mine.get_xydata(), wanted.get_xydata(), rtol=1e-9, atol=1e-12)
        assert mine.get_label() == wanted.get_label()
        assert mine.get_color() == wanted.get_color()
    assert drawn[0].ax_.get_xlabel() == drawn[1].ax_.get_xlabel()
    assert drawn[0].ax_.get_ylabel() == drawn[1].ax_.get_ylabel()


@pytest.mark.parametrize("name", ["RocCurveDisplay", "PrecisionRecallDisplay"])
def test_curves_of_folds_are_scikit_learns(name):
    results = fastclf.cross_validate(GaussianNB(), CANCER, SICK, cv=3, return_estimator=True, return_indices=True)
    drawn = [
        getattr(room, name).from_cv_results(results, CANCER, SICK, ax=ax, plot_chance_level=True)
        for room, ax in zip((display, metrics), two_figures())
    ]
    for mine, wanted in zip(drawn[0].ax_.lines, drawn[1].ax_.lines, strict=True):
        np.testing.assert_allclose(mine.get_xydata(), wanted.get_xydata(), rtol=1e-12)
        assert mine.get_label() == wanted.get_label()


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_the_confusion_matrix_is_scikit_learns(normalize):
    model, options = GaussianNB().fit(X[::2], NAMES[::2]), {"normalize": normalize, "xticks_rotation": 45}
    drawn = [
        room.ConfusionMatrixDisplay.from_estimator(model, X, NAMES, ax=ax, cmap="Blues", **options)
        for room, ax in zip((display, metrics), two_figures())
    ]
    for mine, wanted in zip(drawn[0].text_.flat, drawn[1].text_.flat, strict=True):
        assert (mine.get_text(), mine.get_color()) == (wanted.get_text(), wanted.get_color())
    for side in ("get_xticklabels", "get_yticklabels"):
        mine, wanted = ([text.get_text() for text in getattr(each.ax_, side)()] for each in drawn)
        assert mine == wanted
    np.testing.assert_array_equal(drawn[0].confusion_matrix, drawn[1].confusion_matrix)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: display.ConfusionMatrixDisplay([[1]], display_labels=3).plot(), "display_labels is 3"),
        (lambda: display.ConfusionMatrixDisplay([[1]], display_labels=[1, 2]).plot(), "display_labels has 2 labels"),
        (lambda: display.ConfusionMatrixDisplay([[1]]).plot(colorbar=np.ones(2)), "colorbar is"),
        (lambda: display.CalibrationDisplay.from_predictions([0, 1], [0.1, 0.9], ref_line=np.ones(2)), "ref_line is"),
        (lambda: display.RocCurveDisplay([0, 1], [0, 1]).plot(plot_chance_level=np.ones(2)), "plot_chance_level is"),
    ],
)
def test_other_arguments_of_pictures_are_refused_with_one_sentence(call, told):
    with pytest.raises((TypeError, ValueError), match=told):
        call()
    matplotlib.pyplot.close("all")


def test_residuals_of_many_rows_are_drawn_and_numbers_that_are_not_finite_are_refused():
    values = np.arange(5000.0)
    drawn = display.PredictionErrorDisplay.from_predictions(values, values + 1)
    assert np.unique(drawn.y_true - drawn.y_pred).tolist() == [-1]
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        display.PredictionErrorDisplay.from_predictions(values, np.where(values > 4998, np.inf, values))
    matplotlib.pyplot.close("all")
