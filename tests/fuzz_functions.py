"""Random calls of the public functions: metrics, splits, cross-validation, tuning, graphs, embedding and pictures."""

import inspect
import os
import random
import sys
import tempfile
from itertools import islice
from pathlib import Path

import matplotlib
import numpy as np
from every_estimator import ESTIMATORS, X, Y
from hard_rows import drawn_rows, drawn_targets, drawn_weights
from sentences import JUNK, is_sentence, strange

import fastclf
from fastclf import DecisionTreeClassifier, display, metrics, tree
from fastclf.model_selection import check_cv
from fastclf.table import Table

matplotlib.use("agg")

# Functions that are not called here: they change this process, or have their own kinds of cases.
LEFT_OUT = {"patch_sklearn", "unpatch_sklearn", "load", "save", "get_include"}


def public_functions():
    """{name: function} of the package, of its displays and of its splitters."""
    found = {name: getattr(fastclf, name) for name in fastclf.__all__ if name not in LEFT_OUT}
    found = {name: value for name, value in found.items() if callable(value) and not hasattr(value, "fit")}
    for name in display.__all__:
        for key in ("from_estimator", "from_predictions"):
            if hasattr(getattr(display, name), key):
                found[f"{name}.{key}"] = getattr(getattr(display, name), key)
    found |= {name: getattr(tree, name) for name in tree.__all__ if inspect.isfunction(getattr(tree, name))}
    found |= {"check_cv": check_cv, "Table": Table}
    return found | {
        name: getattr(metrics, name) for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))
    }


FUNCTIONS = public_functions()

# A tree for several outputs.
TREES = DecisionTreeClassifier(max_depth=2).fit(X, np.column_stack([Y, X[:, 2] > 1]))

# Estimators whose fits take a millisecond.
QUICK = ["GaussianNB", "KNeighborsClassifier", "DecisionTreeClassifier", "LogisticRegression", "Perceptron", "SVC"]
QUICK += ["KNeighborsRegressor", "CostSensitiveClassifier", "DensityTree", "TableClassifier", "LinearSVC", "NaiveBayes"]

GRIDS = [
    {"n_neighbors": [1, 3]},
    {"C": [0.1, 1.0]},
    {"max_depth": [1, None]},
    {"alpha": [1.0]},
    {"n_neighbors": []},
    {},
]
SCORES = [None, "accuracy", "neg_log_loss", "roc_auc", "f1", "balanced_accuracy", "r2", ["accuracy", "f1"], "unknown"]

# Arguments that say how often work is done: with a huge number a call would never end, as the caller asked.
COUNTS = {"n_permutations"}


def asks_for_much(value):
    return isinstance(value, int) and value > 1000


# A dict {name of an argument: values to try}.
KNOWN = {
    "average": ["binary", "micro", "macro", "weighted", "samples", None],
    "normalize": [True, False, "true", "pred", "all", None],
    "zero_division": ["warn", 0, 1, np.nan],
    "labels": [None, ["no", "yes"], ["yes"], [0, 1, 2], [1], []],
    "pos_label": [None, 0, 1, "yes", "other"],
    "cost_matrix": [[[0, 1], [1, 0]], [[0, 1, 2]] * 3, [[0.0]], np.ones((2, 3))],
    "multi_class": ["raise", "ovr", "ovo"],
    "strategy": ["uniform", "quantile"],
    "weights": [None, "linear", "quadratic"],
    "cv": [None, 2, 3, 50, fastclf.KFold(3), fastclf.LeaveOneOut(), fastclf.ShuffleSplit(2), fastclf.GroupKFold(2)],
    "scoring": SCORES,
    "param_grid": GRIDS,
    "param_name": ["n_neighbors", "C", "max_depth", "unknown"],
    "param_range": [[1, 3], [0.1, 1.0], [], 3],
    "method": ["predict", "predict_proba", "decision_function", "transform"],
    "metric": ["minkowski", "euclidean", "cosine", "jaccard", "unknown"],
    "mode": ["connectivity", "distance"],
    "n_neighbors": [1, 3, 40],
    "radius": [0.0, 1.0, np.inf],
    "n_splits": [2, 3, 50],
    "n_permutations": [1, 5],
    "n_alphas": [1, 5],
    "test_size": [None, 0.3, 5, 1.0, 0],
    "train_size": [None, 0.3, 5],
    "train_sizes": [[0.5, 1.0], [5, 10], [0.0], []],
    "shares": [(0.6, 0.2, 0.2), (1, 0, 0), (0.5,)],
    "Cs": [[1.0], [0.1, 10.0], []],
    "groups": [None, np.arange(40) % 4, np.zeros(40)],
    "outer": [None, 2],
    "rule": ["best", "one_standard_error", "unknown"],
    "error_score": [np.nan, "raise", 0.0],
    "grid_resolution": [2, 10],
    "p": [1, 2, np.inf],
    "level": [0.95, 0.0, 1.0],
    "beta": [0.5, 1.0, 0.0],
    "k": [1, 2, 100],
    "max_fpr": [None, 0.1, 1.0],
    "random_state": [None, 0, 7],
    "verbose": [0],
    "n_jobs": [None, 1, 2],
    "pre_dispatch": ["2*n_jobs"],
    "name": ["model", "1", "", "a b"],
    "ax": [None],
    "feature_names": [None, ["a", "b", "c"], ["a"]],
    "class_names": [None, ["a", "b"], True],
    "label": ["all", "root", "none"],
    "max_depth": [None, 0, 1],
    "precision": [0, 3],
    "spacing": [1, 3],
    "decimals": [0, 2],
    "out_file": [None],
    "columns": [[X[:, 0], Y], [X[:, 0]], X.T],
    "names": [None, ["a", "b"], ["a"]],
    "params": [None, {"sample_weight": np.ones(40)}, {"unknown": 3}],
}

LABELS = [Y, np.arange(40) % 3, np.arange(40) % 2, Y == "yes", np.zeros(40, int), np.arange(40), X[:, 0]]


def functions(number, tell):
    """A public function answers or refuses with a sentence."""
    rng = random.Random(number)
    name = rng.choice(list(FUNCTIONS))
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    drawn = Arguments(rng)
    args, options, before = [], {}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # a function may take junk for the name of a new file, which is then written to this folder
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                args = [drawn.value(key) for key in ("X", "y")]
            elif parameter.kind is not parameter.VAR_KEYWORD and (
                parameter.default is parameter.empty or rng.random() < 0.3
            ):
                options[parameter.name] = (
                    Path(folder, "model.c") if parameter.name == "path" else drawn.value(parameter.name)
                )
        tell(f"{name} with " + ", ".join(f"{key}={value!r:.300}" for key, value in options.items()))
        try:
            result = function(*args, **options)
            if hasattr(result, "split"):
                list(islice(result.split(*(drawn.value(key) for key in ("X", "y", "groups"))), 20))
        except Exception as error:
            if not is_sentence(error):
                raise strange(error) from error
            tell(f"  refused: {str(error)[:150]}")
        finally:
            os.chdir(before)
            if "matplotlib.pyplot" in sys.modules:
                matplotlib.pyplot.close("all")


class Arguments:
    """Values for the arguments of one call, of 40 rows or of those that `drawn_rows` draws."""

    def __init__(self, rng):
        self.rng, self.n = rng, 40
        self.labels, self.X, self.numbers = rng.choice(LABELS), X, np.arange(40)
        if rng.random() < 0.3:
            self.X, self.numbers = drawn_rows(X, rng)

    def value(self, name):
        rng = self.rng
        if rng.random() < 0.08:
            return rng.choice([junk for junk in JUNK if name not in COUNTS or not asks_for_much(junk)])
        if name in ("X", "graph"):
            return self.X if name == "X" else fastclf.kneighbors_graph(X, 3, mode="distance")
        if name in ("y", "y_true", "y1", "stratify", "test_fold"):
            return self.targets(self.labels)
        if name in ("y_pred", "y2"):
            return self.targets(np.roll(self.labels, rng.randrange(3)))
        if name in ("y_score", "y_proba", "y_prob", "pred_decision", "x"):
            return self.scores()
        if name == "sample_weight":
            return rng.choice([None, drawn_weights(len(self.numbers), rng)])
        if name == "decision_tree":
            return rng.choice([DecisionTreeClassifier(max_depth=2).fit(X, Y), TREES, self.estimator()])
        if name in ("estimator", "model"):
            return self.estimator()
        if name in ("one", "other", "results", "displays"):
            return self.results(name)
        return rng.choice(KNOWN[name]) if name in KNOWN else rng.choice([True, False, 0, 1, 2, *JUNK])

    def targets(self, labels):
        return drawn_targets(labels, self.numbers, self.rng) if self.rng.random() < 0.5 else labels[self.numbers]

    def scores(self):
        """Scores or probabilities of one or several classes, often rounded so that they are equal."""
        rng, n = self.rng, len(self.numbers)
        random = np.random.default_rng(rng.randrange(2**32))
        k = rng.choice([0, 0, 1, 2, 3, len(np.unique(self.labels))])
        scores = random.dirichlet(np.ones(max(k, 1)), n) if k else random.random(n)
        scores = rng.choice([scores, scores, scores, scores.round(1), scores.astype("f4"), 3 - 6 * scores])
        return drawn_rows(scores, rng)[0] if rng.random() < 0.15 and n else scores

    def estimator(self):
        """An estimator, fitted or not, or a class of estimators, or none."""
        rng = self.rng
        make, *data = ESTIMATORS[rng.choice(QUICK)]
        return rng.choice([make(), make(), make().fit(*data), make().fit(*data), type(make())])

    def results(self, name):
        """Results of cross-validation, one or several."""
        result = fastclf.cross_validate(fastclf.GaussianNB(), X, Y, cv=3, repeats=self.rng.choice([1, 2]))
        return result if name in ("one", "other") else self.rng.choice([{"a": result}, [result], {}])
