"""Models as C source and as ONNX graphs: compiled or run elsewhere, they give `predict`'s answers for every row."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import fastclf

CC = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.build

STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
COUNTS = RNG.poisson([0.5, 2, 0, 5], (400, 4)).astype(float)
SIGN = np.array(["no", 'yes "?"\n*/'])[(X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)]
THREE = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0) - 1
GRID = X.round(1)
LABELS = THREE.copy()
LABELS[COUNTS[:, 1] > 3] = 5
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, GRID)
# The first column has the codes of 70 categories, of which some do not occur in the 200 rows that are fitted.
MIXED = GAPS.copy()
MIXED[:, 0] = RNG.integers(0, 70, len(X))
MIXED[:, 3] = COUNTS[:, 1]
COST = np.array([[0, 1, 5], [1, 0, 1], [2, 1, 0]])


MODELS = {
    "logistic": (fastclf.LogisticRegression(), X, SIGN),
    "logistic of three": (fastclf.LogisticRegression(), X.astype(np.float32), THREE),
    "perceptron": (fastclf.Perceptron(random_state=0), X, THREE),
    "least squares": (fastclf.LeastSquaresClassifier(), X, THREE > 0),
    "centroid": (fastclf.NearestCentroid(), X, THREE.astype(float)),
    "gaussian": (fastclf.GaussianNB(), X, SIGN),
    "multinomial": (fastclf.MultinomialNB(alpha=0), COUNTS, LABELS),
    "complement": (fastclf.ComplementNB(), COUNTS, LABELS),
    "bernoulli": (fastclf.BernoulliNB(), COUNTS, LABELS),
    "bernoulli without smoothing": (fastclf.BernoulliNB(alpha=0, binarize=0.5), COUNTS, LABELS),
    "poisson": (fastclf.PoissonNB(), COUNTS, LABELS),
    "categorical": (fastclf.CategoricalNB(), COUNTS, LABELS),
    "mixed bayes": (
        fastclf.NaiveBayes(["categorical", "poisson", "bernoulli", "exponential", "mdl"]),
        np.column_stack([COUNTS[:, :2], COUNTS[:, 2] > 0, np.abs(X[:, 3:])]),
        LABELS,
    ),
    "bayes with gaps": (fastclf.NaiveBayes("gaussian", missing="ignore"), GAPS, THREE),
    "bayes of bins": (fastclf.NaiveBayes("quantile", alpha=0), GRID, THREE),
    "products": (fastclf.GeneralisedLinearClassifier(fastclf.PolynomialFeatures(3)), X, THREE),
    "tree": (fastclf.DecisionTreeClassifier(), GRID, THREE),
    "tree of one leaf": (fastclf.DecisionTreeClassifier(), GRID, np.zeros(400)),
    "regression tree": (fastclf.DecisionTreeRegressor(max_depth=5), X.astype(np.float32), X @ [1, 2, 0, 0, -1]),
    "tree with gaps": (fastclf.DecisionTreeClassifier(), GAPS, THREE),
    "tree of costs": (fastclf.DecisionTreeClassifier(max_depth=3, cost_matrix=COST), GAPS.astype(np.float32), THREE),
    "tree of two targets": (fastclf.DecisionTreeRegressor(max_depth=5), GAPS, X[:, :2]),
    "tree of categories": (fastclf.DecisionTreeClassifier(categorical_features=[0, 3]), MIXED, LABELS),
    "linear SVC": (fastclf.LinearSVC(), X, SIGN),
    "linear SVC of three": (fastclf.LinearSVC(loss="hinge", intercept_scaling=None), X.astype(np.float32), THREE),
    "machine": (fastclf.SVC(), X, SIGN),
    "machine of three": (fastclf.SVC(C=3, kernel="poly", coef0=1.0, decision_function_shape="ovo"), X, THREE),
    "linear machine": (fastclf.SVC(kernel="linear", decision_function_shape="ovo"), X.astype(np.float32), THREE),
    "sigmoid machine": (fastclf.SVC(kernel="sigmoid", gamma=0.05, decision_function_shape="ovo"), X, THREE),
    "neighbours": (fastclf.KNeighborsClassifier(4), GRID, SIGN),
    "neighbours by distance": (fastclf.KNeighborsClassifier(5, weights="distance"), GRID.astype(np.float32), THREE),
    "nearer neighbours": (fastclf.KNeighborsClassifier(4, ties="distance", metric="manhattan"), GRID, THREE),
    "regression by neighbours": (fastclf.KNeighborsRegressor(3, metric="chebyshev"), GRID, X[:, 0]),
    "regression by distance": (fastclf.KNeighborsRegressor(3, weights="distance"), GRID, X[:, 0]),
}
NEIGHBORS = [name for name in MODELS if "neighbours" in name or name == "regression by distance"]


def fitted(name):
    model, rows, y = MODELS[name]
    return model.fit(rows[:200], y[:200]), np.concatenate([rows, rows[:50] + rows[50:100]])


def answers(model, rows):
    """(predictions, scores or None)"""
    for method in ("predict_joint_log_proba", "decision_function", "predict_proba"):
        if hasattr(model, method) and not isinstance(model, fastclf.NearestCentroid):
            return model.predict(rows), getattr(model, method)(rows).reshape(len(rows), -1)
    return model.predict(rows), None


def coded(model, rows):
    """Rows in the form of the exported model: categories are replaced by their indices."""
    rows = np.array(rows, np.float64)
    for j, known in enumerate(getattr(model, "categories_", [])):
        if known is not None:
            place = np.minimum(np.searchsorted(known, rows[:, j]), len(known) - 1)
            rows[:, j] = np.where(known[place] == rows[:, j], place, np.nan)
    return rows


def close(found, expected, name):
    if "tree" in name or "neighbours" in name or "distance" in name:
        return np.array_equal(found, expected)
    # support vector machines may compute kernel values in float32
    tolerance = 1e-3 if "machine" in name else 1e-9
    return np.allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All models in one library, compiled with all warnings as errors: their names do not collide."""
    folder = tmp_path_factory.mktemp("models")
    sources = []
    for i, name in enumerate(MODELS):
        sources.append(folder / f"m{i}.c")
        fastclf.export_c(fitted(name)[0], sources[-1], name=f"m{i}")
    made = folder / "models.so"
    subprocess.run([CC, *STRICT, "-fPIC", "-shared", *map(str, sources), "-o", str(made), "-lm"], check=True)
    return ctypes.CDLL(str(made))


@pytest.mark.parametrize("name", MODELS)
def test_c_answers_as_predict_does_on_every_row(library, name):
    model, rows = fitted(name)
    prefix = f"m{list(MODELS).index(name)}"
    predict = getattr(library, f"{prefix}_predict")
    labels, expected = answers(model, rows)
    scores = np.empty((len(rows), 1 if expected is None else expected.shape[1]))
    if isinstance(model, fastclf.NearestCentroid):
        scores = np.empty((len(rows), 3))
    if not hasattr(model, "classes_"):
        scores = np.empty((len(rows), labels[0].size))
    asked = coded(model, rows)
    codes = [predict(row.ctypes, out.ctypes) for row, out in zip(asked, scores)]
    if hasattr(model, "classes_"):
        assert np.array_equal(model.classes_[codes], labels)
        assert expected is None or close(scores, expected, name)
    else:
        assert set(codes) == {0}
        assert np.array_equal(scores.reshape(labels.shape), labels)
    for odd in (np.inf, -np.inf) if "tree" in name or "gaps" in name else (np.nan, np.inf, -np.inf):
        row = asked[0].copy()
        row[-1] = odd
        assert predict(row.ctypes, scores[0].ctypes) == -1


def test_labels_are_written_as_c_has_them(library):
    text = fitted("logistic")[0].classes_
    found = (ctypes.c_char_p * 2).in_dll(library, "m0_classes")
    assert [label.decode() for label in found] == list(text)
    assert list((ctypes.c_longlong * 3).in_dll(library, "m1_classes")) == [-1, 0, 1]
    assert list((ctypes.c_double * 3).in_dll(library, "m4_classes")) == [-1, 0, 1]
    known = fitted("tree of categories")[0].categories_[3]
    listed = (ctypes.c_double * len(known)).in_dll(library, f"m{list(MODELS).index('tree of categories')}_categories_3")
    assert list(listed) == list(known)


def test_a_file_compiles_as_cplusplus_and_runs_clean_under_sanitizers(tmp_path):
    names = ["tree of costs", "neighbours by distance", "bernoulli without smoothing", "categorical"]
    names += ["tree", "logistic of three"]
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    calls = []
    for i, name in enumerate(names):
        model, rows = fitted(name)
        fastclf.export_c(model, tmp_path / f"m{i}.c", name=f"m{i}")
        values = ", ".join("NAN" if np.isnan(v) else float(v).hex() for v in np.ravel(rows[:60]))
        codes = np.searchsorted(model.classes_, model.predict(rows[:60]))
        calls.append(f"""
    {{
        static const double rows[] = {{{values}}};
        static const int codes[] = {{{", ".join(map(str, codes))}}};
        double out[{len(model.classes_)}];
        for (int i = 0; i < 60; i++) wrong += m{i}_predict(rows + {rows.shape[1]} * i, out) != codes[i];
    }}""")
    declared = "#include <math.h>\n" + "".join(
        f"int m{i}_predict(const double *x, double *out);\n" for i in range(len(names))
    )
    main = f"{declared}int main(void)\n{{\n    int wrong = 0;{''.join(calls)}\n    return wrong;\n}}\n"
    (tmp_path / "main.c").write_text(main)
    sources = [str(tmp_path / name) for name in ("main.c", *(f"m{i}.c" for i in range(len(names))))]
    probe = [CC, *flags, "-x", "c", "-", "-o", str(tmp_path / "probe")]
    sanitize = flags if subprocess.run(probe, input=b"int main(void) { return 0; }").returncode == 0 else []
    subprocess.run([CC, *STRICT, "-g", *sanitize, *sources, "-o", str(tmp_path / "main"), "-lm"], check=True)
    subprocess.run([str(tmp_path / "main")], check=True)
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-fsyntax-only", "-x", "c++", *sources[1:]], check=True)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in NEIGHBORS])
def test_onnxruntime_answers_as_predict_does_on_every_row(name, tmp_path):
    import onnxruntime as runtime

    model, rows = fitted(name)
    path = tmp_path / "model.onnx"
    fastclf.export_onnx(model, path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found, scores = session.run(None, {"X": coded(model, rows)})
    labels, expected = answers(model, rows)
    assert found.shape == labels.shape
    assert np.array_equal(found, labels)
    assert expected is None or close(scores.reshape(len(rows), -1), expected, name)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (fastclf.KNeighborsClassifier(1, metric="cosine").fit([[1.0], [2.0]], [0, 1]), "metric"),
        (fastclf.KNeighborsClassifier(1, weights=np.exp).fit([[1.0], [2.0]], [0, 1]), "weights"),
        (fastclf.KNeighborsClassifier(1).fit([[1.0], [2.0]], [0, 1], [1.0, 2.0]), "sample_weight"),
        (fastclf.KNeighborsClassifier(1).fit([[1.0], [2.0]], [[0, 1], [1, 1]]), "one output"),
        (fastclf.KNeighborsClassifier(3).fit([[1.0], [2.0]], [0, 1]), "n_neighbors is 3"),
        (fastclf.KNeighborsClassifier(1).fit(np.zeros((1 << 19, 3)), np.zeros(1 << 19)), "1572864 numbers"),
        (fastclf.NearestNeighbors().fit([[1.0], [2.0]]), "classifier or regressor"),
        (fastclf.NaiveBayes("kernel").fit([[0.0], [1.0]], [0, 1]), "'kernel'"),
        (fastclf.NaiveBayes().fit(np.array([["a"], ["b"]]), [0, 1]), "columns of strings; a TableClassifier"),
        (fastclf.TableClassifier(fastclf.NaiveBayes("kernel")).fit([[0.0], [1.0]], [0, 1]), "'kernel'"),
        (fastclf.GeneralisedLinearClassifier([lambda x: x[0]]).fit([[0.0], [1.0]], [0, 1]), "PolynomialFeatures"),
        (fastclf.DecisionTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 1]]), "if a classifier, with one output"),
    ],
)
def test_what_has_no_c_source_is_refused_in_one_sentence(model, error, tmp_path):
    with pytest.raises((TypeError, ValueError), match=error):
        fastclf.export_c(model, tmp_path / "model.c")
    assert not (tmp_path / "model.c").exists()


def test_names_that_c_does_not_have_are_refused(tmp_path):
    for name in ("a-b", "1a", "", "a b", "é", 3):
        with pytest.raises(ValueError, match="C identifier"):
            fastclf.export_c(fitted("tree")[0], tmp_path / "model.c", name=name)


def test_what_onnx_has_no_operator_for_is_refused(tmp_path):
    with pytest.raises(TypeError, match="export_c"):
        fastclf.export_onnx(fitted("neighbours")[0], tmp_path / "model.onnx")
    table = fastclf.TableClassifier(fastclf.KNeighborsClassifier(1)).fit(X, SIGN)
    with pytest.raises(TypeError, match="export_c"):
        fastclf.export_onnx(table, tmp_path / "model.onnx")
    times = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
    with pytest.raises(TypeError, match="labels like"):
        fastclf.export_onnx(fastclf.GaussianNB().fit([[0.0], [1.0]], times), tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["tree", "machine of three", "tree of categories"])
def test_the_size_of_the_pieces_of_an_onnx_file_changes_no_byte(name, tmp_path, monkeypatch):
    import onnx

    from fastclf.embedding import onnx_file

    path = tmp_path / "model.onnx"
    fastclf.export_onnx(fitted(name)[0], path)
    whole = path.read_bytes()
    onnx.checker.check_model(onnx.load(path), full_check=True)
    monkeypatch.setattr(onnx_file, "_ITEMS", 3)
    monkeypatch.setattr(onnx_file, "_BYTES", 7)
    fastclf.export_onnx(fitted(name)[0], path)
    assert path.read_bytes() == whole
    monkeypatch.setattr(onnx_file, "_MOST_BYTES", len(whole) - 1)
    path.unlink()
    with pytest.raises(ValueError, match=f"{len(whole)} bytes as an ONNX graph"):
        fastclf.export_onnx(fitted(name)[0], path)
    assert not path.exists()
