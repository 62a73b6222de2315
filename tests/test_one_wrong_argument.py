"""A call that is right except for one argument answers or refuses with a sentence, for every public function and every
public method, every argument, and the mistakes that users make."""

import copy
import inspect
import sys
from datetime import datetime
from functools import partial
from itertools import islice, product
from pathlib import Path

import numpy as np
import pandas
import pytest
from every_estimator import ESTIMATORS, METHODS, X, Y, asked
from fuzz_functions import COUNTS, FUNCTIONS, asks_for_much
from scipy.sparse import coo_array, csr_array
from sentences import JUNK, is_sentence, place

import fastclf

try:
    import resource
except ImportError:  # Python on Windows has no module `resource`
    resource = None

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def a_limit_of_memory():
    """A call that asks for more than 6 GB fails here, before the machine has none left."""
    size = Path("/proc/self/statm")
    if resource is None or not size.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(size.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (6 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


CODES = np.arange(40) % 3
PROBABLE = np.column_stack([X[:, 0], 5 - X[:, 0]]) / 5
OF_THREE = np.arange(1.0, 121).reshape(40, 3) / np.arange(1.0, 121).reshape(40, 3).sum(axis=1, keepdims=True)
RESULT = fastclf.cross_validate(fastclf.GaussianNB(), X, Y, cv=3)

# Right values of arguments by name, for data of two classes; THREE has values for data of three classes.
TWO = {
    "X": X,
    "y": Y,
    "y_true": Y,
    "y_pred": np.roll(Y, 1),
    "y1": Y,
    "y2": np.roll(Y, 1),
    "y_score": X[:, 0],
    "y_prob": PROBABLE[:, 1],
    "y_proba": PROBABLE,
    "pred_decision": X[:, 0] - 2,
    "pos_label": "yes",
    "labels": ["no", "yes"],
    "sample_weight": X[:, 1],
    "classes": ["no", "yes"],
    "groups": np.arange(40) % 5,
    "cost_matrix": [[0, 1], [3, 0]],
    "priors": [0.5, 0.5],
    "densities": [lambda x: x**2, lambda x: x],
    "counts": np.array([[3, 1], [0, 4]]),
    "test_fold": np.arange(40) % 3,
    "folds": np.arange(40) % 3,
    "n_groups": 1,
    "p": 2,
    "x": np.arange(40.0),
    "estimator": fastclf.GaussianNB(),
    "model": fastclf.LogisticRegression().fit(X, Y),
    "models": [fastclf.GaussianNB(), fastclf.BernoulliNB()],
    "one": RESULT,
    "other": RESULT,
    "param_grid": {"var_smoothing": [0.1, 0.2]},
    "param_distributions": {"var_smoothing": [0.1, 0.2]},
    "n_iter": 2,
    "score_func": fastclf.accuracy_score,
    "param_name": "var_smoothing",
    "param_range": [0.1, 0.2],
    "train_sizes": [0.5, 1.0],
    "test_size": 0.3,
    "train_size": 0.5,
    "shares": (0.6, 0.2, 0.2),
    "n_neighbors": 3,
    "radius": 1.0,
    "beta": 1.0,
    "Cs": [0.1, 1.0],
    "cv": 2,
    "n_splits": 3,
    "n_permutations": 2,
    "n_alphas": 2,
    "grid_resolution": 3,
    "random_state": 0,
    "stratify": Y,
    "scoring": "accuracy",
    "weights": "linear",
    "target_names": ["a", "b"],
    "class_names": ["a", "b"],
    "feature_names": ["a", "b", "c"],
    "input_features": ["a", "b", "c"],
    "warn_for": ("recall",),
    "params": {"sample_weight": np.ones(40)},
    "metric_params": {"p": 2},
    "simpler": lambda params: 1,
    "mask": np.arange(40) > 3,
    "rows": [0, 1],
    "queries": X[:5],
    "path": "file",
    "out_file": "file",
    "k_max": 3,
    "decision_tree": fastclf.DecisionTreeClassifier(max_depth=1).fit(X, Y),
    "columns": [X[:, 0], X[:, 1], Y],
    "names": ["a", "b", "c"],
    "graph": fastclf.kneighbors_graph(X, 3, mode="distance"),
}
THREE = {
    "y": CODES,
    "y_true": CODES,
    "y_pred": np.roll(CODES, 1),
    "y1": CODES,
    "y2": np.roll(CODES, 1),
    "y_score": OF_THREE,
    "y_proba": OF_THREE,
    "pred_decision": OF_THREE,
    "labels": [0, 1, 2],
    "classes": [0, 1, 2],
    "cost_matrix": 1 - np.eye(3),
    "average": "macro",
    "multi_class": "ovr",
    "pos_label": 1,
}
SEVERAL = {"y_true": OF_THREE > 0.3, "y_pred": OF_THREE > 0.34, "labels": [0, 2], "average": "macro"}
SEVERAL |= {"y_score": OF_THREE, "y_proba": OF_THREE, "samplewise": True, "pos_label": 1}

# Arguments that are left out, because wrong values would start threads or print.
UNTRIED = {"n_jobs", "verbose", "pre_dispatch", "deep", "ax"}

# Arguments that functions need in a special form.
SPECIAL = {
    "TreeDisplay.from_estimator": {"estimator": fastclf.DecisionTreeClassifier().fit(X, Y)},
    "DecisionBoundaryDisplay.from_estimator": {
        "estimator": fastclf.GaussianNB().fit(X[:, :2], Y),
        "X": X[:, :2],
        "feature_names": ["a", "b"],
    },
    "CalibrationDisplay.from_estimator": {"estimator": fastclf.GaussianNB().fit(X, Y)},
    "PruningDisplay.from_estimator": {"estimator": fastclf.DecisionTreeClassifier()},
    "PredictionErrorDisplay.from_estimator": {
        "estimator": fastclf.DecisionTreeRegressor().fit(X, X[:, 0]),
        "y": X[:, 0],
    },
    "PredictionErrorDisplay.from_predictions": {"y_true": X[:, 0], "y_pred": X[:, 1]},
    "auc": {"y": X[:, 0]},
    "LeavePOut": {"p": 1},
    "check_cv": {"random_state": None},
    "majority_error": {"folds": [(np.arange(20), np.arange(20, 40))]},
    "learning_curve": {"estimator": fastclf.GaussianNB()},
}
DEPRECATED = ["log_loss", "d2_log_loss_score", "DetCurveDisplay.from_predictions", "RocCurveDisplay.from_predictions"]
DEPRECATED += ["PrecisionRecallDisplay.from_predictions"]
SPECIAL |= {name: {"y_pred": "deprecated"} for name in DEPRECATED}
SPECIAL |= {name: {"random_state": None} for name in ("KFold", "GroupKFold", "StratifiedKFold", "StratifiedGroupKFold")}
SPECIAL |= {
    "tune": {"simpler": {"var_smoothing": "larger"}},
    "HoldOut": {"stratify": True},
    "TimeSeriesSplit": {"test_size": 3},
}
SPECIAL |= {
    f"{name}.from_estimator": {"estimator": fastclf.LogisticRegression().fit(X, Y)}
    for name in ("ConfusionMatrixDisplay", "DetCurveDisplay", "PrecisionRecallDisplay", "RocCurveDisplay")
}


class NoLength:
    """An iterable that has no length."""

    def __iter__(self):
        return iter([0, 1])


def mistakes(value):
    """Wrong values for an argument that has a right value."""
    yield from JUNK
    yield from (set(), {1, 2}, NoLength(), (each for each in [1, 2]), range(3), datetime(2020, 1, 1), slice(3), ...)
    yield from (np.array([None, 1]), np.array(["a", 1, None], object), np.array(["a", "b"]), np.array("a"))
    yield from (np.array(["2020-01-01", "NaT"], "M8[D]"), np.zeros(2, "i4,f8"), np.zeros((2, 2, 2)), np.array([2**63]))
    yield from (csr_array(np.eye(3)), coo_array(np.eye(40)), csr_array(np.zeros((0, 3))), coo_array(np.ones(40)))
    yield from ([[1, 2], [3]], [[]], [None], ["a"], [[1]], [object()], [1j], [np.nan], [{}], [[0, 1], None], "ab", {0})
    yield from (np.ma.array([1.0, 2.0], mask=[0, 1]), pandas.DataFrame({"a": [1, 2]}), pandas.Series([None, 1]))
    if isinstance(value, (list, np.ndarray)):
        array = np.asarray(value)
        yield from (array[:0], array[:-1], array[:1], array[0], array[..., None], array[None], array.tolist())
        yield from (array.repeat(2, axis=0), array.astype(object), array.astype(str), array.astype("S"), array.T)
        yield from (array[:, None].repeat(2, axis=1), array[::-1], np.asmatrix(array) if array.ndim < 3 else array)
        yield from (pandas.DataFrame(array) if array.ndim < 3 else array, array == array.flat[0], list(array))
        yield from (np.full(array.shape, None), np.full(array.shape, np.nan), np.full(array.shape, 0))
        yield from (np.where(np.arange(len(array)) > 1, None, array.astype(object).T).T, array.tolist() + [None])
        yield from (np.arange(len(array)), array.astype("M8[s]") if array.dtype.kind in "iu" else array)
        if array.dtype.kind in "fiu":
            yield from (array.astype(complex), -array, array * 1e308, array * np.nan, array.astype("g"), array > 2)
            yield from (csr_array(array.reshape(len(array), -1)), coo_array(array), array.astype("f2"), array * 1e-320)
            yield from (array.astype(">f8"), np.asfortranarray(array), array.astype(np.uint8), array.astype("i8"))
            yield array.astype("m8[s]") if array.dtype.kind == "i" else array[..., :1]


NUMBERS = {"y_true": X[:, 0] + 1, "y_pred": X[:, 1] + 1, "sample_weight": X[:, 1]}
GAINS = {"y_true": OF_THREE, "y_score": OF_THREE[::-1]}
SPECIAL |= {
    name: NUMBERS for name, function in FUNCTIONS.items() if function.__module__ == "fastclf.metrics.regression"
}
SPECIAL |= {name: GAINS for name in ("dcg_score", "ndcg_score")}
SPECIAL |= {name: SEVERAL for name in ("coverage_error", "label_ranking_average_precision_score", "label_ranking_loss")}
SPECIAL["metric_at_thresholds"] = {
    "metric_func": fastclf.accuracy_score,
    "metric_params": None,
    "y_true": 1 * (Y == "yes"),
}


def right_values(function, name, values):
    """{argument: a right value} for the arguments of a function; others than the required ones only if known."""
    known = values | SPECIAL.get(name, {})
    found = {}
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            found[each.name] = known.get(each.name, each.default)
    return found


def refusals(call, values):
    """The exceptions, other than sentences, of calls with one wrong argument."""
    found = {}
    for argument, right in values.items():
        for wrong in mistakes(right) if argument not in UNTRIED else []:
            if argument in COUNTS and asks_for_much(wrong):
                continue
            given = {name: value for name, value in values.items() if value is not inspect.Parameter.empty}
            given |= {name: copy.copy(value) for name, value in given.items() if hasattr(value, "fit")}
            try:
                call(**given | {argument: wrong})
            except Exception as error:
                if not is_sentence(error):
                    key = f"{place(error)}: {type(error).__name__}: {str(error)[:100]}"
                    found.setdefault(key, f"{argument} = {wrong!r:.100}")
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    return found


def called_to_the_end(function):
    """A function that, for a splitter, also makes the splits."""

    def call(**options):
        result = function(**options)
        if hasattr(result, "split") and not isinstance(result, str):
            list(islice(result.split(X, Y, np.arange(40) % 5), 20))

    return call


KINDS = {
    "two classes": (TWO, TWO),
    "three classes": (TWO | THREE, THREE),
    "several labels": (TWO | THREE | SEVERAL, SEVERAL),
}


def function_cases():
    """(name, kind) of each function, where some argument differs from that of two classes."""
    for name, (kind, (values, own)) in product(FUNCTIONS, KINDS.items()):
        if kind == "two classes" or set(right_values(FUNCTIONS[name], name, values)) & set(own):
            yield name, kind


@pytest.mark.parametrize(("name", "kind"), list(function_cases()))
def test_a_function_answers_or_refuses_a_wrong_argument(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a function may take a wrong path for the name of a new file
    function = FUNCTIONS[name]
    given = right_values(function, name, KINDS[kind][0])
    if any(each.kind is each.VAR_POSITIONAL for each in inspect.signature(function).parameters.values()):
        function = partial(function, X, Y)
    call = called_to_the_end(function)
    if kind == "two classes":  # a call with right values must give an answer
        call(**{name: value for name, value in given.items() if value is not inspect.Parameter.empty})
    assert not refusals(call, given)


# Methods without arguments of a user, or whose arguments are parameters, which tests/test_junk.py tries.
ONESELF = {"get_params", "set_params", "set_output", "get_metadata_routing"}


def method_cases():
    for name, (make, *_) in ESTIMATORS.items():
        methods = [method for method in dir(make()) if method[0] != "_" and method not in ONESELF]
        methods = [method for method in methods if not method.endswith("_request") and hasattr(make(), method)]
        yield from ((name, method) for method in methods if inspect.isfunction(getattr(type(make()), method, None)))


@pytest.mark.parametrize(("name", "method"), list(method_cases()))
def test_a_method_answers_or_refuses_a_wrong_argument(name, method):
    make, rows, *targets = ESTIMATORS[name]
    fitted = make().fit(rows, *targets)
    values = TWO | {"X": rows, "queries": asked(fitted), "y": targets[0] if targets else None, "other": fitted}
    values["classes"] = None if values["y"] is None or values["y"].ndim > 1 else np.unique(values["y"])

    def call(**options):
        model = copy.copy(fitted)
        return getattr(model, method)(**options)

    given = right_values(getattr(fitted, method), method, values)
    assert not refusals(call, given)


def parameter_cases():
    makes = [(name, make) for name, (make, *_) in ESTIMATORS.items() if name in fastclf.__all__]
    return [(name, parameter) for name, make in makes for parameter in make().get_params(deep=False)]


@pytest.mark.parametrize(("name", "parameter"), parameter_cases())
def test_a_fit_answers_or_refuses_a_wrong_parameter(name, parameter):
    make, *data = ESTIMATORS[name]
    fitted = make().fit(*data)

    def call(**options):
        fitted.set_params(**options)
        make().set_params(**options).fit(*data)
        for method in METHODS:
            if hasattr(fitted, method):
                getattr(fitted, method)(asked(fitted))

    right = fitted.get_params(deep=False)[parameter]
    assert not refusals(call, {parameter: TWO.get(parameter, right)})
    fitted.set_params(**{parameter: right})
