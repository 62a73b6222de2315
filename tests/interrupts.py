"""The time that Ctrl-C waits in every public method of every estimator, and in functions of many rows: `make
interrupts`.

    python tests/interrupts.py                   all, each at a size at which it takes SECONDS
    python tests/interrupts.py roc_curve SVC     the cases whose names begin with these words
    python tests/interrupts.py --seconds 1       faster, at smaller sizes

Python handles a signal between two of its own instructions, so that the wait is the longest time between two of them. A
timer sends a signal every 5 ms; the longest time between two calls of the handler is the wait, wherever a run would be
interrupted. In the end the run is interrupted, and the time until it has ended counts too.

The wait is measured by the clock, which is what a user feels, and by the processor time of the main thread, to which
other programs add little. A case is late if its wait by processor time is above the promise, or its wait by the clock
while other programs were idle. Only the clock shows a function that keeps Python's lock on another thread. The table
names the line before which each wait ended: Python handles signals at calls and at the ends of loops, so that the cause
may be a line before it.
"""

import argparse
import atexit
import contextlib
import gc
import inspect
import io
import linecache
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from every_estimator import ESTIMATORS
from scipy.sparse import csr_array

import fastclf
from fastclf import cli, display, metrics

matplotlib.use("agg")

# The longest wait that the library promises, in seconds.
PROMISED = 0.2

# The largest number of values in an array that a test case makes.
MOST_NUMBERS = 6e7

RNG = np.random.default_rng(5)
WORDS = np.array(["red", "green", "blue", "grey", "black"])


def time_of_others():
    """The processor time, in seconds, that all programs but this one have taken; None where the system tells none."""
    try:
        user, nice, system, _, _, interrupts, more_interrupts, stolen, *_ = map(
            int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        )
    except (OSError, ValueError):
        return None
    busy = (user + nice + system + interrupts + more_interrupts + stolen) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])


class Knocks:
    """A timer during a call: the longest time between two calls of its handler; after `limit` seconds it interrupts."""

    def __init__(self, limit):
        self.limit, self.interrupted = limit, None
        # the longest time between two calls of the handler, and the most processor time of this thread between two
        # calls; each with (file, line) where the wait ended
        self.worst, self.place = 0.0, None
        self.worst_work, self.place_of_work = 0.0, None
        self.ended = False  # whether the call has ended, after which the handler does not interrupt
        self.quiet = True  # whether other programs took at most a tenth of a processor during the call

    def watch(self, call):
        others = time_of_others()
        self.began = self.last = time.perf_counter()
        self.worked = time.thread_time()
        signal.signal(signal.SIGALRM, self.answer)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
            call()
            self.ended = True
        except KeyboardInterrupt:
            self.note(
                time.perf_counter() - self.interrupted, time.thread_time() - self.worked, "to end once interrupted"
            )
        else:
            self.note(time.perf_counter() - self.last, time.thread_time() - self.worked, "the end")
        finally:
            self.ended = True
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.seconds = time.perf_counter() - self.began
        # the system counts hundredths of a second
        self.quiet = others is None or time_of_others() - others <= 0.05 + 0.1 * self.seconds

    @property
    def is_late(self):
        """Whether the wait is above the promise, not counting what other programs may have caused."""
        return self.worst_work > PROMISED or (self.quiet and self.worst > PROMISED)

    @property
    def where(self):
        """What was running in the longest wait by the clock, and in that by processor time if it is another line."""
        places = [self.place, self.place_of_work][: 1 + (self.place_of_work != self.place)]
        return "; ".join(place if isinstance(place, str) else line_of(*place) for place in places if place)

    def note(self, wait, work, place):
        if wait > self.worst:
            self.worst, self.place = wait, place
        if work > self.worst_work:
            self.worst_work, self.place_of_work = work, place

    def answer(self, number, frame):
        now = time.perf_counter()
        self.note(now - self.last, time.thread_time() - self.worked, place_in(frame))
        self.last, self.worked = time.perf_counter(), time.thread_time()
        if now - self.began > self.limit and self.interrupted is None and not self.ended:
            self.interrupted = now
            raise KeyboardInterrupt


PACKAGE = str(Path(fastclf.__file__).parent)


def place_in(frame):
    """(file, number of the line) of the library that was running."""
    while frame.f_back is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno


def line_of(name, number):
    """The text of a line, after its place."""
    return f"{name.removeprefix(PACKAGE + os.sep)}:{number} {linecache.getline(name, number).strip()[:70]}"


# The number of output values for each row, for methods whose output is larger than X.
WIDE = {
    "RBFSampler, sparse": 300,
    "Nystroem, sparse": 300,
    "PolynomialFeatures": 1800,
    "RBFSampler": 500,
    "Nystroem": 1500,
    "NaiveBayes.sample": 80,
}


def width_of(name):
    """The approximate number of values for each row of a case."""
    for wide, width in WIDE.items():
        if name.startswith(wide):
            return width
    if "." not in name:
        return 1
    return 50 if "sparse" in name else 200 if "LeastSquares" in name else 20


def rows_for(name, n):
    """(X, y) with n rows for an estimator."""
    if name == "OneHotEncoder":
        return WORDS[RNG.integers(5, size=(n, 4))], None
    if name.startswith("TableClassifier"):
        columns = [RNG.standard_normal(n), RNG.standard_normal(n), WORDS[RNG.integers(5, size=n)].astype(object)]
        return fastclf.table.Table(columns, ["age", "size", "colour"]), WORDS[RNG.integers(2, size=n)]
    if name == "CategoricalNB":
        return RNG.integers(4, size=(n, 20)), RNG.integers(3, size=n)
    if name.endswith("sparse"):
        columns = np.arange(0, 20_000, 400) + RNG.integers(400, size=(n, 50))
        X = csr_array((RNG.random(50 * n), columns.ravel(), np.arange(0, 50 * n + 1, 50)), shape=(n, 20_000))
        return X, RNG.integers(5, size=n)
    d = 200 if name == "LeastSquaresClassifier" else 20
    X = np.abs(RNG.standard_normal((n, d)))
    y = (
        X[:, 0] + RNG.random(n)
        if name.endswith("Regressor")
        else (X[:, 0] > X[:, 1] + 0.5 * RNG.standard_normal(n)) * 1
    )
    return X, y


MAKE = {
    "CostSensitiveClassifier": lambda: fastclf.CostSensitiveClassifier(
        fastclf.GaussianNB(), cost_matrix=[[0, 1], [3, 0]]
    ),
    "LogisticRegression, sparse": fastclf.LogisticRegression,
    "LinearSVC, sparse": fastclf.LinearSVC,
    "MultinomialNB, sparse": fastclf.MultinomialNB,
    "KNeighborsClassifier, sparse": fastclf.KNeighborsClassifier,
    "LeastSquaresClassifier, sparse": fastclf.LeastSquaresClassifier,
    "SVC, sparse": lambda: fastclf.SVC(kernel="linear"),
    "BernoulliNB, sparse": fastclf.BernoulliNB,
    "ComplementNB, sparse": fastclf.ComplementNB,
    "PoissonNB, sparse": fastclf.PoissonNB,
    "NearestCentroid, sparse": fastclf.NearestCentroid,
    "NearestCentroid, medians": lambda: fastclf.NearestCentroid("manhattan"),
    "NearestCentroid, medians, sparse": lambda: fastclf.NearestCentroid("manhattan"),
    "NearestNeighbors, sparse": fastclf.NearestNeighbors,
    "KNeighborsTransformer, sparse": fastclf.KNeighborsTransformer,
    "RadiusNeighborsClassifier, sparse": lambda: fastclf.RadiusNeighborsClassifier(6.0, outlier_label=0),
    "RadiusNeighborsTransformer, sparse": lambda: fastclf.RadiusNeighborsTransformer(radius=6.0),
    "Perceptron, sparse": fastclf.Perceptron,
    "KernelPerceptron, sparse": fastclf.KernelPerceptron,
    "NuSVC, sparse": lambda: fastclf.NuSVC(kernel="linear", nu=0.1),
    "RidgeClassifier, sparse": fastclf.RidgeClassifier,
    "RidgeClassifierCV, sparse": fastclf.RidgeClassifierCV,
    "LogisticRegressionCV, sparse": lambda: fastclf.LogisticRegressionCV(Cs=2, cv=2),
    "RBFSampler, sparse": lambda: fastclf.RBFSampler(n_components=300, random_state=0),
    "Nystroem, sparse": lambda: fastclf.Nystroem(n_components=300, random_state=0),
    "RadiusNeighborsClassifier": lambda: fastclf.RadiusNeighborsClassifier(4.0, outlier_label=0),
    "RadiusNeighborsRegressor": lambda: fastclf.RadiusNeighborsRegressor(4.0),
    "BayesOptimalClassifier": lambda: fastclf.BayesOptimalClassifier([fastclf.GaussianNB(), fastclf.BernoulliNB()]),
    "Nystroem": lambda: fastclf.Nystroem(n_components=1500, random_state=0),
    "RBFSampler": lambda: fastclf.RBFSampler(n_components=500, random_state=0),
    "PolynomialFeatures": lambda: fastclf.PolynomialFeatures(3),
    "SVC": lambda: fastclf.SVC(probability=True, random_state=0),
    "DecisionTreeClassifier, exact": lambda: fastclf.DecisionTreeClassifier(max_depth=8),
}

# Methods that take no time, or whose work is measured in another method.
QUICK = {"get_params", "set_params", "get_metadata_routing", "set_output", "get_depth", "get_n_leaves"}
QUICK |= {"set_fit_request", "set_score_request", "set_predict_request", "set_partial_fit_request", "takes_as_is"}
QUICK |= {"get_feature_names_out", "predict_folds", "kkt_violation"}


NOT_SPARSE = {("KNeighborsClassifier, sparse", "partial_fit"), ("KNeighborsClassifier, sparse", "leave_one_out")}


def arguments(name, method, model, n):
    """The arguments of a call of a method with n rows."""
    X, y = rows_for(name, n)
    if method == "merge":
        return [model]
    if method == "sample":
        return [n]
    if method == "remove":
        return [np.arange(min(n, getattr(model, "n_samples_fit_", 0)) // 2)]
    if method == "inverse_transform":
        return [model.transform(X)]
    if method == "leave_one_out" and name.startswith("KNeighbors"):
        return [3]
    if method == "rows_of":
        return [RNG.permutation(n)]
    taken = inspect.signature(getattr(type(model), method)).parameters
    return [X, y] if "y" in taken and y is not None else [X] if "X" in taken or "queries" in taken else []


def method_cases(name, make):
    """(name, function of n that returns a call) of all public methods."""
    cls = type(make())
    methods = [key for key in dir(cls) if not key.startswith("_") and key not in QUICK and callable(getattr(cls, key))]
    methods = [key for key in methods if hasattr(make(), key) and (name, key) not in NOT_SPARSE]
    for method in sorted(methods, key=lambda key: (key != "fit", key)):
        asks_itself = method in ("remove", "rows_of") or (method == "leave_one_out" and name.startswith("KNeighbors"))
        afresh = method in ("fit", "fit_transform", "leave_one_out", "cost_complexity_pruning_path") and not asks_itself

        def case(n, method=method, afresh=afresh, asks_itself=asks_itself):
            model, ids = make(), {"ids": np.arange(n)} if method == "rows_of" else {}
            if not afresh:
                model.fit(*rows_for(name, n if asks_itself else 2000), **ids)
            given = arguments(name, method, model, n)
            return lambda: getattr(model, method)(*given)

        yield f"{name}.{method}", case


def drawn(function, *draws, **options):
    """The case of a function of two arrays, each made by a function of the number of rows."""

    def case(n):
        y, z = (draw(n) for draw in draws)
        return lambda: function(y, z, **options)

    return case


def labels(n):
    return RNG.integers(5, size=n)


def words(n):
    return WORDS[RNG.integers(5, size=n)]


def of_labels(function, **options):
    return drawn(function, labels, labels, **options)


def of_words(function, **options):
    return drawn(function, words, words, **options)


def of_scores(function, **options):
    return drawn(function, lambda n: RNG.integers(2, size=n), RNG.random, **options)


def of_matrix(function):
    return drawn(function, lambda n: RNG.integers(3, size=n), lambda n: RNG.dirichlet([1.0] * 3, n))


FUNCTIONS = {
    "accuracy_score": of_labels(metrics.accuracy_score),
    "accuracy_score of words": of_words(metrics.accuracy_score),
    "confusion_matrix": of_labels(metrics.confusion_matrix),
    "f1_score": of_labels(metrics.f1_score, average="macro"),
    "matthews_corrcoef": of_labels(metrics.matthews_corrcoef),
    "classification_report of words": of_words(metrics.classification_report),
    "roc_curve": of_scores(metrics.roc_curve),
    "roc_auc_score": of_scores(metrics.roc_auc_score),
    "precision_recall_curve": of_scores(metrics.precision_recall_curve),
    "average_precision_score": of_scores(metrics.average_precision_score),
    "det_curve": of_scores(metrics.det_curve),
    "brier_score_loss": of_scores(metrics.brier_score_loss),
    "log_loss": of_matrix(metrics.log_loss),
    "calibration_curve": of_scores(metrics.calibration_curve),
    "top_k_accuracy_score": of_matrix(metrics.top_k_accuracy_score),
    "mean_squared_error": drawn(metrics.mean_squared_error, RNG.random, RNG.random),
    "median_absolute_error": drawn(metrics.median_absolute_error, RNG.random, RNG.random),
    "ndcg_score": drawn(metrics.ndcg_score, lambda n: RNG.integers(3, size=(n, 4)), lambda n: RNG.random((n, 4))),
    "best_threshold": of_scores(lambda y, z: metrics.best_threshold(y, z, [[0, 1], [2, 0]])),
}


def of_split(name):
    """The case of all folds of a splitter."""

    def case(n):
        X, y, groups = np.zeros((n, 1), np.int8), labels(n), RNG.integers(min(n // 2, 10), size=n)
        splitter = getattr(fastclf, name)()
        groups = groups if splitter._takes_groups else None
        return lambda: [None for _ in splitter.split(X, y, groups)]

    return case


def of_graph(n):
    """The case of a graph of ten neighbours for each row."""
    rows = n // 10
    indices, starts = RNG.integers(rows, size=10 * rows), np.arange(0, 10 * rows + 1, 10)
    graph = csr_array((RNG.random(10 * rows), indices, starts), shape=(rows, rows))
    return lambda: fastclf.sort_graph_by_row_values(graph)


def of_table(function):
    """The case of a function of rows with 20 columns, and of their labels."""

    def case(n):
        X, y = rows_for("a table", n // 20)
        return lambda: function(X, y)

    return case


SPLITTERS = ["KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "GroupKFold", "GroupShuffleSplit"]
SPLITTERS += [
    "StratifiedGroupKFold",
    "LeaveOneGroupOut",
    "TimeSeriesSplit",
    "RepeatedStratifiedKFold",
    "RepeatedKFold",
    "HoldOut",
]
FUNCTIONS |= {f"{name}.split": of_split(name) for name in SPLITTERS}
FUNCTIONS |= {name: of_labels(getattr(metrics, name)) for name in ["contingency_table", "cohen_kappa_score"]}
FUNCTIONS |= {name: of_words(getattr(metrics, name)) for name in ["hamming_loss", "balanced_accuracy_score"]}
FUNCTIONS |= {
    name: drawn(getattr(metrics, name), RNG.random, RNG.random)
    for name in ["d2_pinball_score", "d2_absolute_error_score", "r2_score", "mean_pinball_loss"]
}
FUNCTIONS |= {
    name: drawn(getattr(metrics, name), lambda n: RNG.integers(2, size=(n // 4, 4)), lambda n: RNG.random((n // 4, 4)))
    for name in ["dcg_score", "coverage_error", "label_ranking_loss", "label_ranking_average_precision_score"]
}
FUNCTIONS |= {
    name: of_labels(getattr(metrics, name), average="macro")
    for name in ["precision_recall_fscore_support", "jaccard_score", "recall_score"]
}
FUNCTIONS |= {
    "zero_one_loss of words": of_words(metrics.zero_one_loss),
    "multilabel_confusion_matrix": of_labels(metrics.multilabel_confusion_matrix),
    "class_likelihood_ratios": drawn(metrics.class_likelihood_ratios, *[lambda n: RNG.integers(2, size=n)] * 2),
    "metric_at_thresholds": of_scores(
        lambda y, z: metrics.metric_at_thresholds(y, np.round(z, 1), metrics.accuracy_score)
    ),
}
FUNCTIONS |= {
    name: of_scores(getattr(metrics, name))
    for name in ["hinge_loss", "d2_brier_score", "d2_log_loss_score", "confusion_matrix_at_thresholds"]
}
FUNCTIONS |= {
    name: drawn(getattr(metrics, name), RNG.random, lambda n: RNG.random(n) + 1)
    for name in [
        "max_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "explained_variance_score",
        "mean_poisson_deviance",
        "mean_squared_log_error",
        "root_mean_squared_error",
        "d2_tweedie_score",
    ]
}
FUNCTIONS |= {
    "sort_graph_by_row_values": of_graph,
    "train_test_split": of_table(lambda X, y: fastclf.train_test_split(X, y, stratify=y)),
    "cross_val_predict": of_table(lambda X, y: fastclf.cross_val_predict(fastclf.GaussianNB(), X, y)),
    "novikoff_bound": of_table(fastclf.novikoff_bound),
    "cross_val_score": of_table(lambda X, y: fastclf.cross_val_score(fastclf.GaussianNB(), X, y)),
    "svm_path": of_table(lambda X, y: fastclf.svm_path(X, y, [1.0, 10.0])),
    "validation_curve": of_table(
        lambda X, y: fastclf.validation_curve(
            fastclf.GaussianNB(), X, y, param_name="var_smoothing", param_range=[1e-9, 1.0]
        )
    ),
    "train_validation_test_split": of_table(fastclf.train_validation_test_split),
    "RandomizedSearchCV.fit": of_table(
        fastclf.RandomizedSearchCV(fastclf.LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2).fit
    ),
    "FixedThresholdClassifier.fit": of_table(fastclf.FixedThresholdClassifier(fastclf.GaussianNB()).fit),
    "GridSearchCV.fit": of_table(fastclf.GridSearchCV(fastclf.SVC(), {"C": [1.0, 10.0]}).fit),
    "TunedThresholdClassifierCV.fit": of_table(fastclf.TunedThresholdClassifierCV(fastclf.LogisticRegression()).fit),
}


def of_scored(function):
    """The case of a picture of labels and scores."""
    return of_scores(lambda y, z: function.from_predictions(y, z))


def of_large_tree(function):
    """The case of a text of a tree whose leaves are single rows."""

    def case(n):
        X, y = RNG.random((n // 20, 4)), RNG.integers(2, size=n // 20)
        model = fastclf.DecisionTreeClassifier().fit(X, y)
        return lambda: function(model)

    return case


def of_wide_machine(function):
    """The case of a function of an SVC with few support vectors of many features."""

    def case(n):
        model = fastclf.SVC(kernel="linear").fit(RNG.standard_normal((100, max(n // 100, 1))), np.arange(100) % 2)
        return lambda: function(model)

    return case


def of_neighbors(function):
    """The case of a function of a k-NN classifier with n numbers, of which a C file takes a million."""

    def case(n):
        model = fastclf.KNeighborsClassifier(algorithm="brute").fit(*rows_for("a table", min(n // 20, 50_000)))
        return lambda: function(model)

    return case


# The least number of rows of the cases "of many".
MANY = 3_000_000


def of_left_out(splitter, n_groups=None, at_least=0):
    """The case of the folds of a splitter of at least a number of rows, with groups if their number is given."""

    def case(n):
        n = max(n, at_least)
        X, groups = np.zeros((n, 1), np.int8), None
        if n_groups is not None:
            groups = np.arange(n) % (n // 2 if n_groups == "many" else n_groups)
        return lambda: [None for _ in splitter.split(X, groups=groups)]

    return case


def of_comparison(n):
    """The case of a comparison of two results on many folds."""
    n //= 20
    X, y, found = RNG.random((40, 2)), np.arange(40) % 2, []
    for _ in range(2):
        one = fastclf.cross_validate(fastclf.GaussianNB(), X, y, cv=2)
        one["test_score"], one.folds = RNG.random(n), list(range(n))
        one.n_train, one.n_test = np.full(n, 20), np.full(n, 20)
        found.append(one)
    return lambda: fastclf.paired_comparison(*found)


def of_picture(picture, model, **options):
    """The case of `from_estimator` of a display, with a fitted model and rows of two features."""

    def case(n):
        X, y = rows_for("a table", n)
        y = X[:, 0] if picture is display.PredictionErrorDisplay else y
        fitted = model.fit(X[:1000, :2], y[:1000])
        return lambda: picture.from_estimator(fitted, X[:, :2], y, **options)

    return case


def of_file(write):
    """The case of `save`, or `load`, of a model that holds n numbers."""

    def case(n):
        path, model = Path(tempfile.gettempdir(), f"interrupts-{os.getpid()}.fclf"), fastclf.NearestNeighbors()
        model.fit(RNG.random((n // 20, 20)))
        atexit.register(path.unlink, missing_ok=True)
        fastclf.save(model, path)
        return (lambda: fastclf.save(model, path)) if write else lambda: fastclf.load(path, verify=True)

    return case


def of_lists(function):
    """The case of a function of a list of rows, and of their labels as a list."""

    def case(n):
        X, y = rows_for("a table", n // 20)
        X, y = X.tolist(), y.tolist()
        return lambda: function(X, y)

    return case


def of_command(*options):
    """The case of a command on a table in a file."""

    def case(n):
        path, (X, y) = Path(tempfile.gettempdir(), f"interrupts-{os.getpid()}.csv"), rows_for("a table", n // 20)
        out = path.with_suffix(".fclf")
        for each in (path, out):
            atexit.register(each.unlink, missing_ok=True)
        names = ",".join(f"x{j}" for j in range(X.shape[1]))
        np.savetxt(path, np.column_stack([X, y]), "%.4f", ",", header=f"{names},label", comments="")
        given = [str(out) if each == "OUT" else each for each in options[1:]]

        def call():
            with contextlib.redirect_stdout(io.StringIO()):
                cli.main([options[0], str(path), *given, "--quiet"])

        return call

    return case


GAUSSIAN = fastclf.GaussianNB().fit(RNG.standard_normal((100, 20)), np.arange(100) % 2)
FUNCTIONS |= {
    "RocCurveDisplay.from_predictions": of_scored(display.RocCurveDisplay),
    "PrecisionRecallDisplay.from_predictions": of_scored(display.PrecisionRecallDisplay),
    "DetCurveDisplay.from_predictions": of_scored(display.DetCurveDisplay),
    "CalibrationDisplay.from_predictions": of_scored(display.CalibrationDisplay),
    "ConfusionMatrixDisplay.from_predictions": of_labels(display.ConfusionMatrixDisplay.from_predictions),
    "PredictionErrorDisplay.from_predictions": drawn(
        display.PredictionErrorDisplay.from_predictions, RNG.random, RNG.random
    ),
    "export_text of a tree": of_large_tree(lambda model: fastclf.tree.export_text(model, max_depth=1000)),
    "export_graphviz of a tree": of_large_tree(fastclf.tree.export_graphviz),
    "rules of a tree": of_large_tree(fastclf.tree.rules),
    "export_rules of a tree": of_large_tree(fastclf.tree.export_rules),
    "export_c of a tree": of_large_tree(lambda model: fastclf.export_c(model, os.devnull)),
    "embed of a tree": of_large_tree(fastclf.embed),
    "export_onnx of a tree": of_large_tree(lambda model: fastclf.export_onnx(model, os.devnull)),
    "export_onnx of an SVC": of_wide_machine(lambda model: fastclf.export_onnx(model, os.devnull)),
    "export_c of an SVC": of_wide_machine(lambda model: fastclf.export_c(model, os.devnull)),
    "export_c of a k-NN": of_neighbors(lambda model: fastclf.export_c(model, os.devnull)),
    "LeaveOneOut.split": of_left_out(fastclf.LeaveOneOut()),
    "LeavePOut.split": of_left_out(fastclf.LeavePOut(2)),
    "LeavePOut.split of half": of_left_out(fastclf.LeavePOut(MANY // 2), at_least=MANY),
    "LeaveOneOut.split of many": of_left_out(fastclf.LeaveOneOut(), at_least=MANY),
    "LeavePOut.split of many": of_left_out(fastclf.LeavePOut(2), at_least=MANY),
    "LeavePGroupsOut.split": of_left_out(fastclf.LeavePGroupsOut(2), 10),
    "LeavePGroupsOut.split of many": of_left_out(fastclf.LeavePGroupsOut(2), "many", MANY),
    "KFold.split of many, shuffled": of_left_out(fastclf.KFold(shuffle=True, random_state=0), at_least=2 * MANY),
    "ShuffleSplit.split of many": of_left_out(fastclf.ShuffleSplit(2, random_state=0), at_least=2 * MANY),
    "paired_comparison": of_comparison,
    "save": of_file(True),
    "load": of_file(False),
    "GaussianNB.fit of lists": of_lists(fastclf.GaussianNB().fit),
    "GaussianNB.predict of lists": of_lists(lambda X, y: GAUSSIAN.predict(X)),
    "KNeighborsClassifier.fit of lists": of_lists(fastclf.KNeighborsClassifier(algorithm="brute").fit),
    "accuracy_score of lists": drawn(metrics.accuracy_score, *[lambda n: words(n).tolist()] * 2),
    "cross_validate": of_table(lambda X, y: fastclf.cross_validate(fastclf.DecisionTreeClassifier(), X, y)),
    "tune": of_table(lambda X, y: fastclf.tune(fastclf.LogisticRegression(), {"C": [0.1, 1.0]}, X, y)),
    "permutation_test_score": of_table(lambda X, y: fastclf.permutation_test_score(fastclf.GaussianNB(), X, y)),
    "learning_curve": of_table(lambda X, y: fastclf.learning_curve(fastclf.GaussianNB(), X, y)),
    "fastclf train": of_command("train", "--model", "bayes", "--target", "label", "--out", "OUT"),
    "fastclf evaluate": of_command("evaluate", "--model", "tree", "--target", "label"),
}

FUNCTIONS |= {
    f"{name}.from_estimator": of_picture(getattr(display, name), fastclf.GaussianNB())
    for name in [
        "RocCurveDisplay",
        "PrecisionRecallDisplay",
        "DetCurveDisplay",
        "CalibrationDisplay",
        "ConfusionMatrixDisplay",
        "DecisionBoundaryDisplay",
        "LearningCurveDisplay",
    ]
}
FUNCTIONS |= {
    "PredictionErrorDisplay.from_estimator": of_picture(
        display.PredictionErrorDisplay, fastclf.DecisionTreeRegressor(max_depth=8)
    ),
    "ValidationCurveDisplay.from_estimator": of_picture(
        display.ValidationCurveDisplay, fastclf.GaussianNB(), param_name="var_smoothing", param_range=[1e-9, 1.0]
    ),
    "PruningDisplay.from_estimator": of_picture(
        display.PruningDisplay, fastclf.DecisionTreeClassifier(max_depth=5), n_alphas=3, cv=2
    ),
    "TreeDisplay.from_estimator": of_large_tree(display.TreeDisplay.from_estimator),
}


def cases():
    """{name: function of a number of rows that returns a call}."""
    found = {}
    for name, (make, *_) in ESTIMATORS.items():
        if name in fastclf.__all__:
            found.update(method_cases(name, MAKE.get(name, make)))
    for name in MAKE:
        if name.endswith(("sparse", "medians")):
            found.update(method_cases(name, MAKE[name]))
    return found | {name: FUNCTIONS[name] for name in FUNCTIONS}


def measured(case, seconds, most):
    """The Knocks of a call at a size at which it takes `seconds`, or else at the largest size; `rows` is the size."""
    n = min(2000, most)
    while True:
        call = case(n)
        gc.collect()
        knocks = Knocks(2 * seconds)
        knocks.watch(call)
        knocks.rows = n
        if knocks.seconds > seconds or 2 * n > most:
            return knocks
        n = int(min(most, n * min(16, max(2, 1.3 * seconds / max(knocks.seconds, 1e-6)))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    late = by_clock = 0
    for name, case in cases().items():
        if args.names and not name.startswith(tuple(args.names)):
            continue
        try:
            knocks = measured(case, args.seconds, int(MOST_NUMBERS / width_of(name)))
        except Exception as error:
            print(f"{name:45} {type(error).__name__}: {error}"[:200], flush=True)
            late += 1
            continue
        late += knocks.is_late
        by_clock += knocks.worst > PROMISED
        where = knocks.where if max(knocks.worst / 2, knocks.worst_work) > PROMISED / 4 else ""
        sizes = f"{knocks.worst:6.3f} s of {knocks.seconds:5.1f}, {knocks.worst_work:6.3f} s of the processor"
        busy = "" if knocks.quiet else ", with other programs"
        print(f"{name:45} {sizes}, {knocks.rows:>10} rows{busy}  {where}", flush=True)
    print(f"{late} late, and {by_clock} later than {PROMISED} s by the clock, also with other programs")
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
