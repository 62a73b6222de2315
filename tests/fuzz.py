"""Random use of every estimator, forged files and mangled tables, until something breaks: `make fuzz MINUTES=60`.

        python tests/fuzz.py --minutes 60            random cases of all kinds
        python tests/fuzz.py --case calls:1234567    one case again, with all its steps printed

A case is determined by its number. Worker processes run cases; the main process detects that a worker crashes or hangs.
Further defects: an exception that is not a sentence of this library; an answer that differs from that of a model that
was only fitted, extended and reduced in the same way; a model that an interrupted or failed call has changed.
"""

import argparse
import contextlib
import copy
import faulthandler
import inspect
import io
import os
import pickle
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from every_call import calls
from every_estimator import ESTIMATORS, METHODS, answer, same
from forge import ALTER
from fuzz_functions import functions
from hard_rows import drawn_rows, drawn_targets, drawn_weights, n_rows, word_counts
from sentences import JUNK, Defect, is_sentence, strange

from fastclf import GeneralisedLinearClassifier, cli, load, save
from fastclf._estimator import clone
from fastclf._snapshot import is_state

# A worker counts as hanging after HANGS processor seconds without a finished case (a case takes milliseconds), or after
# IDLE seconds of the clock, because a worker that waits for a lock uses no processor time.
HANGS, IDLE = 60, 600

# The methods that answer from rows alone, without targets.
ALL_METHODS = (*METHODS, "predict_log_proba", "decision_path", "radius_neighbors", "kneighbors_graph", "expected_costs")

# A dict {parameter: values to try}; a parameter that is not listed keeps its value, or gets junk.
PARAMETERS = {
    "n_neighbors": [1, 2, 3, 7, 40, 41],
    "radius": [0.0, 0.5, 3.0, np.inf],
    "weights": ["uniform", "distance"],
    "ties": ["first", "distance"],
    "algorithm": ["auto", "brute", "filter", "cells", "tree", "kd_tree"],
    "metric": [
        "euclidean",
        "manhattan",
        "chebyshev",
        "cosine",
        "dot",
        "hamming",
        "jaccard",
        "nan_euclidean",
        "minkowski",
    ],
    "p": [1, 1.5, 2, 3, np.inf],
    "working_memory": [0.001, 1.0],
    "n_jobs": [None, 1, 2, -1],
    "C": [1e-3, 1.0, 1e3],
    "alpha": [0.0, 1e-10, 1.0, "cv"],
    "kernel": ["linear", "poly", "rbf", "sigmoid", "precomputed"],
    "gamma": ["scale", "auto", 0.1],
    "degree": [0, 1, 2, 3],
    "probability": [True, False],
    "decision_function_shape": ["ovo", "ovr"],
    "class_weight": [None, "balanced"],
    "loss": ["hinge", "squared_hinge"],
    "penalty": ["l1", "l2", None],
    "fit_intercept": [True, False],
    "max_iter": [1, 5, 1000],
    "tol": [None, 1e-3, 1e-9],
    "warm_start": [True, False],
    "shuffle": [True, False],
    "order": ["cyclic", "random", "batch"],
    "average": [False, "averaged", "voted", "pocket"],
    "multi_class": ["ovr", "joint", "multinomial"],
    "criterion": ["gini", "entropy", "error", "squared_error", "absolute_error"],
    "max_depth": [None, 1, 3],
    "min_samples_leaf": [1, 2, 0.1],
    "max_leaf_nodes": [None, 2, 5],
    "max_features": [None, "sqrt", 1],
    "ccp_alpha": [0.0, 0.01, "cv"],
    "var_smoothing": [0.0, 1e-9],
    "binarize": [None, 0.0, 1.5],
    "distributions": ["gaussian", "kernel", "mdl", "quantile", "bernoulli"],
    "n_components": [1, 3, 8, 100],
    "interaction_only": [True, False],
    "include_bias": [True, False],
    "drop": [None, "first", "if_binary"],
    "handle_unknown": ["error", "ignore"],
    "min_frequency": [None, 2, 0.2],
    "max_categories": [None, 2],
    "sparse_output": [True, False],
    "scale": [True, False],
    "nu": [0.01, 0.3, 0.9],
    "budget": [None, 1, 5],
    "l1_ratio": [0.0, 0.5, 1.0],
    "l1_ratios": [None, [0.0, 1.0]],
    "Cs": [1, 3, [0.1, 10.0]],
    "alphas": [[0.1, 1.0], np.array([1e-10, 1e10])],
    "cv": [None, 2, 3, 5],
    "solver": ["lbfgs", "newton-cg", "liblinear", "saga", "auto", "svd", "cholesky", "sparse_cg"],
    "dual": [True, False, "auto"],
    "intercept_scaling": [1.0, 0.01],
    "positive": [True, False],
    "early_stopping": [True, False],
    "validation_fraction": [0.1, 0.9],
    "n_iter_no_change": [1, 5],
    "break_ties": [True, False],
    "cache_size": [0.001, 200],
    "kernel_dtype": ["float32", "float64"],
    "shrinking": [True, False],
    "coef0": [0.0, 1.0, -1.0],
    "class_prior": [None, [0.5, 0.5], [1.0, 0.0]],
    "priors": [None, [0.5, 0.5], [1.0, 0.0]],
    "fit_prior": [True, False],
    "norm": [True, False],
    "force_alpha": [True, False],
    "min_categories": [None, 1, 9],
    "missing": ["error", "ignore"],
    "bins": [1, 5, 100],
    "splitter": ["best", "random"],
    "min_samples_split": [2, 10, 0.5],
    "min_weight_fraction_leaf": [0.0, 0.2],
    "min_impurity_decrease": [0.0, 0.1],
    "monotonic_cst": [None, [1, 0, -1]],
    "categorical_features": [None, [0], "from_dtype"],
    "cost_matrix": [None, [[0, 1], [3, 0]]],
    "one_se": [True, False],
    "mode": ["distance", "connectivity"],
    "outlier_label": [None, "most_frequent", "no", 0, 0.0],
    "leaf_size": [1, 30],
    "shrink_threshold": [None, 0.5, 1e9],
    "store_cv_results": [True, False],
    "categories": ["auto", [["0", "1", "2", "3", "4"]] * 3],
    "dtype": ["float32", "float64", np.int32],
}


# The methods that `any_method` does not call, because other steps of the fuzzer call them.
UNCALLED = {"get_params", "set_params", "set_output", "fit", "partial_fit", "remove"}


class Calls:
    """Random calls on one estimator, compared with a model that is only fitted, extended and reduced."""

    def __init__(self, number, tell):
        self.rng, self.tell = random.Random(number), tell
        self.name = self.rng.choice(list(ESTIMATORS))
        self.make, *self.data = ESTIMATORS[self.name]
        numbers = isinstance(self.data[0], np.ndarray) and self.data[0].dtype.kind == "f"
        # tables of 300 columns are not used for products of columns, which would take minutes
        expands = isinstance(self.make(), GeneralisedLinearClassifier)
        if numbers and self.rng.random() < 0.2 and not expands:
            self.data[0] = word_counts(self.rng, len(self.data[0]))
        self.model, self.history, self.armed = self.make(), None, False
        self.weighted = "sample_weight" in inspect.signature(self.make().fit).parameters
        self.refits = False  # whether a callback may refit the model
        self.steps = [self.fit] * 4 + [self.partial_fit, self.remove, self.ask] * 3
        self.steps += [self.set_params, self.assign, self.file, self.pickled, self.copied, self.together]
        self.steps += [self.interrupted, self.called_back, self.any_method, self.any_method]

    def run(self):
        self.fix_seed()
        self.attempt(self.model.fit, *self.data)
        self.history = [("fit", clone(self.model), self.data)]
        for _ in range(self.rng.randint(1, 12)):
            step = self.rng.choice(self.steps)
            self.tell(f"{self.name}: {step.__name__}")
            step()
        self.compare()

    def attempt(self, function, *args, **options):
        """(whether a call succeeded, its result); an exception must be a sentence, and must not change the model."""
        before, interrupted = dict(vars(self.model)), False
        try:
            with self.interruptible():
                return True, function(*args, **options)
        except KeyboardInterrupt:
            interrupted = True
            # the interrupt may have come before `interruptible` switched the alarm off
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        except Exception as error:
            if not is_sentence(error):
                raise strange(error) from error
            self.tell(f"  refused: {str(error)[:150]}")
        if not self.refits and not same_objects(vars(self.model), before):
            # the call was interrupted after its last step, so that the model must be the new one, complete
            if interrupted:
                return True, None
            raise Defect("a call that failed has changed the model")
        return False, None

    @contextlib.contextmanager
    def interruptible(self):
        """The timer of `interrupted` raises KeyboardInterrupt only here, where its effect on the model is known."""

        def interrupt(number, frame):
            if self.armed:
                self.armed = False
                raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def fix_seed(self):
        if "random_state" in self.model.get_params():
            self.model.set_params(random_state=0)

    def rows(self):
        """(some rows of the data, their numbers), often of another type, size or order, or with difficult values."""
        return drawn_rows(self.data[0], self.rng)

    def targets(self, numbers):
        """Targets and weights for these rows, sometimes of a wrong length or type, or with a single class."""
        parts = [drawn_targets(part, numbers, self.rng) for part in self.data[1:]]
        if len(parts) == 1 and self.weighted and self.rng.random() < 0.3:
            parts.append(drawn_weights(len(numbers), self.rng))
        return parts

    def fit(self):
        X, numbers = self.rows()
        args = [X, *self.targets(numbers)]
        warm = getattr(self.model, "warm_start", False)
        with_parameters = clone(self.model)
        if self.attempt(self.model.fit, *args)[0]:
            if not warm:
                self.history = [("fit", with_parameters, args)]
            else:
                # a fit with warm_start cannot be repeated, because the parameters of the first fit are unknown
                self.history = None

    def partial_fit(self):
        if hasattr(self.model, "partial_fit"):
            X, numbers = self.rows()
            args = [X, *self.targets(numbers)]
            if self.name == "NearestNeighbors":
                args = args[:1]
            fitted = hasattr(self.model, "n_features_in_")
            with_parameters = clone(self.model)
            if self.attempt(self.model.partial_fit, *args)[0] and self.history is not None:
                self.history = [*self.history, ("partial_fit", with_parameters, args)] if fitted else None

    def any_method(self):
        """A public method with arguments that are drawn by their names."""
        methods = [name for name in dir(type(self.model)) if name[0] != "_" and name not in UNCALLED]
        found = {name: getattr(type(self.model), name) for name in methods}
        methods = [name for name, member in found.items() if inspect.isfunction(member) or isinstance(member, property)]
        # scikit-learn's metadata routing adds methods with these names
        methods = [name for name in methods if not name.endswith("_request")]
        method = self.rng.choice(methods)
        X, numbers = self.rows()
        if isinstance(found[method], property):
            self.attempt(lambda: getattr(self.model, method))
            return
        taken = inspect.signature(getattr(type(self.model), method)).parameters
        options = {}
        for name, parameter in list(taken.items())[1:]:
            wanted = parameter.default is parameter.empty or self.rng.random() < 0.4
            if wanted and parameter.kind is not parameter.VAR_KEYWORD:
                options[name] = self.argument(name, X, numbers)
        self.tell(f"  {method} with {list(options)}")
        if self.attempt(lambda: getattr(self.model, method)(**options))[0] and method in type(self.model)._changing:
            self.history = None

    def argument(self, name, X, numbers):
        """A value for an argument of this name."""
        rng = self.rng
        if name == "X":
            return X
        if name == "y":
            return self.targets(numbers)[0] if self.data[1:] else None
        if name == "sample_weight":
            return drawn_weights(len(numbers), rng)
        if name == "other":
            return rng.choice([self.model, self.make().fit(*ESTIMATORS[self.name][1:]), self.make(), *JUNK])
        if name == "folds":
            return np.array([rng.randrange(-1, 4) for _ in numbers])
        if name == "mask":
            return np.array([rng.random() < 0.5 for _ in range(getattr(self.model, "n_samples_fit_", 3))])
        if name == "rows":
            return [rng.randrange(40)]
        known = {
            "method": ALL_METHODS,
            "transform": ["default", "pandas", "polars"],
            "classes": [["no", "yes"], [0, 1, 2]],
        }
        known |= {"mode": ["connectivity", "distance"], "random_state": [0, 7], "k_max": [1, 5, 39, 40], "n": [0, 1, 9]}
        known |= {"n_neighbors": [1, 5, 39, 41], "radius": [0.0, 1.0, np.inf], "input_features": [["a", "b", "c"]]}
        return rng.choice(known[name]) if name in known and rng.random() < 0.8 else rng.choice([True, False, *JUNK])

    def remove(self):
        if hasattr(self.model, "remove") and hasattr(self.model, "n_samples_fit_"):
            n = self.model.n_samples_fit_
            rows = [self.rng.randrange(-n, n) for _ in range(self.rng.choice([0, 1, 2, n // 2]))]
            if self.rng.random() < 0.2:
                rows = self.rng.choice(JUNK)
            with_parameters = clone(self.model)
            if self.attempt(self.model.remove, rows)[0] and self.history is not None:
                self.history = [*self.history, ("remove", with_parameters, [rows])]

    def ask(self):
        X, _ = self.rows()
        method = self.rng.choice([method for method in ALL_METHODS if hasattr(type(self.model), method)])
        options = {}
        if method in ("kneighbors", "radius_neighbors") and self.rng.random() < 0.5:
            n = self.rng.choice([40, n_rows(self.data[0]), getattr(self.model, "n_samples_fit_", 3)])
            mask = np.array([self.rng.random() < 0.5 for _ in range(n if isinstance(n, int) and 0 < n < 200 else 3)])
            options["mask"] = self.rng.choice([mask, mask[:-1], mask.astype(int), None])
        self.attempt(lambda: getattr(self.model, method)(X, **options))

    def set_params(self):
        known = self.model.get_params(deep=False)
        names = [
            name
            for name in known
            if name not in ("random_state", "callback", "verbose", "models", "model", "estimator")
        ]
        if not names:
            return
        name = self.rng.choice(names)
        junk = self.rng.random() < 0.25 or name not in PARAMETERS
        value = self.rng.choice(JUNK if junk else PARAMETERS[name])
        self.tell(f"  {name} = {value!r:.200}")
        self.model.set_params(**{name: value})
        if junk:  # call methods with the junk value, then restore the old value
            for step in (self.fit, self.ask):
                self.tell(f"  {step.__name__}")
                step()
            self.model.set_params(**{name: known[name]})

    def assign(self):
        state = {key: value for key, value in vars(self.model).items() if is_state(key)}
        if not state:
            return
        key = self.rng.choice(list(state))
        other = self.rng.choice([*JUNK, *self.changed(state[key])])
        self.tell(f"  {key} = {other!r:.200}")
        setattr(self.model, key, other)
        self.ask()
        self.partial_fit()
        self.history = None
        self.model = self.make()
        self.fix_seed()
        self.fit()

    def changed(self, value):
        if isinstance(value, np.ndarray) and value.ndim:
            twice = value.repeat(2, axis=0)
            return [value[:0], value[:-1], value[..., :1], twice, value.copy(), value[::-1], value.T] * 3
        return [value]

    def file(self):
        if not hasattr(self.model, "n_features_in_"):
            return
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.fclf"
            if self.attempt(save, self.model, path)[0]:
                self.model = load(path, verify=True)
                self.compare()

    def pickled(self):
        try:
            self.model = pickle.loads(pickle.dumps(self.model))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.tell(f"  not pickled: {error}")

    def copied(self):
        self.model = self.rng.choice([copy.copy, copy.deepcopy])(self.model)

    def together(self):
        """Fit the model in a thread, and call its methods meanwhile."""
        model, defects = self.model, []
        X, numbers = self.rows()
        args = [X, *self.targets(numbers)]
        change = self.rng.choice([name for name in ("fit", "partial_fit") if hasattr(model, name)])

        def fit():
            try:
                getattr(model, change)(*args[: 1 if self.name == "NearestNeighbors" else None])
                if hasattr(model, "remove"):
                    model.remove([0])
            except Exception as error:
                if not is_sentence(error):
                    defects.append(error)

        thread = threading.Thread(target=fit)
        thread.start()
        for _ in range(5):
            try:
                answer(model, self.rng.choice([method for method in METHODS if hasattr(model, method)] or ["fit"]))
            except Exception as error:
                if not is_sentence(error) and not isinstance(error, AttributeError):
                    defects.append(error)
        thread.join()
        self.history = None
        if defects:
            raise strange(defects[0]) from defects[0]

    def interrupted(self):
        """An interrupted call has either no effect on the model or its whole effect; `compare` looks which."""
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, 10 ** self.rng.uniform(-5, -2.3))
        self.rng.choice([self.fit, self.fit, self.partial_fit, self.remove, self.ask])()
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.compare()

    def called_back(self):
        if "callback" not in self.model.get_params():
            return
        kind, model = self.rng.randrange(4), self.model

        def callback(step, total, value):
            if kind == 0:
                raise ValueError("raised by the callback")
            if kind == 1:
                model.set_params(callback=None)
                X, numbers = self.rows()
                self.history = None
                model.fit(X, *self.targets(numbers))
            return kind == 2

        self.refits = kind == 1
        self.model.set_params(callback=callback)
        (self.fit if self.rng.random() < 0.5 else self.ask)()
        self.model.set_params(callback=None)
        # the history of calls is dropped, because its parameters would include the callback
        self.refits, self.history = False, None

    def compare(self):
        """Check that the model answers like one that was only fitted, extended and reduced."""
        if not self.history or not hasattr(self.model, "n_features_in_"):
            return
        plain = clone(self.history[0][1])
        for method, parameters, args in self.history:
            plain.set_params(**parameters.get_params(deep=False))
            try:
                getattr(plain, method)(*args)
            except Exception as error:
                if is_sentence(error):
                    return  # the repeated fit was refused, as the first fit was with these data or parameters
                raise
        plain.set_params(**self.model.get_params(deep=False))
        for method in METHODS:
            if hasattr(type(self.model), method):
                ours, its = self.outcome(self.model, method), self.outcome(plain, method)
                if type(ours) is not type(its) or not (
                    ours == its if isinstance(ours, str) else all(map(same, ours, its))
                ):
                    raise Defect(f"{method} of {self.model!r} is not that of a model made afresh: {ours} and {its}")

    def outcome(self, model, method):
        return outcome(model, method, self.data[0][:12] if hasattr(self.data[0], "tocsr") else None)


def same_objects(attributes, others):
    """Whether the fitted attributes are the same objects."""
    ids = [{key: id(value) for key, value in each.items() if is_state(key)} for each in (attributes, others)]
    return ids[0] == ids[1]


def outcome(model, method, rows=None):
    """What a method answers for a few rows, or the sentence with which it refuses them."""
    try:
        return answer(model, method, rows)
    except Exception as error:
        if not is_sentence(error) and not isinstance(error, AttributeError):
            raise strange(error) from error
        return str(error)


FILES, CALLS = {}, {}


def files(number, tell):
    """A forged file is refused with a sentence that names it, or every method answers or refuses with a sentence."""
    rng = random.Random(number)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.fclf")
        name = rng.choice(list(ESTIMATORS))
        if name not in FILES:
            make, *data = ESTIMATORS[name]
            save(make().fit(*data), path)
            FILES[name] = path.read_bytes()
        alter = rng.choice(ALTER)
        tell(f"{name}: {alter.__name__}")
        path.write_bytes(alter(FILES[name], rng))
        try:
            model = load(path, verify=rng.random() < 0.2)
        except ValueError as error:
            if str(path) not in str(error) or "\n" in str(error):
                raise Defect(f"refused without a sentence: {error}") from error
            return
        if name not in CALLS:
            CALLS[name] = calls(name)
        for method, call in CALLS[name].items():
            try:
                call(model)
            except Exception as error:
                if not is_sentence(error):
                    raise Defect(f"{method} of {name}: {strange(error)}") from error


TABLE = "age,colour,size,label\n" + "".join(
    f"{i % 7 + 0.5},{['red', 'green', 'blue'][i % 3]},{i * 37 % 11},{'yes' if i % 5 > 1 else 'no'}\n" for i in range(40)
)


def commands(number, tell):
    """The command line on mangled files ends with a status and a sentence, never with a traceback."""
    rng = random.Random(number)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            content = mangled(TABLE.encode(), rng)
            Path("t.csv").write_bytes(content)
            np.save("a.npy", np.arange(40.0).reshape(10, 4))
            Path("b.npy").write_bytes(mangled(Path("a.npy").read_bytes(), rng))
            args = rng.choice(
                [
                    ["evaluate", "t.csv", "--model", rng.choice(["knn", "tree", "logistic", "bayes"])],
                    ["train", "t.csv", "--model", rng.choice(["knn", "tree", "svm"]), "--out", "m.fclf"],
                    ["compare", "t.csv"],
                    ["tune", "t.csv", "--model", "knn"],
                    ["knn", "a.npy", "b.npy"],
                    ["knn", "b.npy", "a.npy"],
                    ["index", "b.npy", "--out", "i.fclf"],
                ]
            )
            tell(" ".join(args))
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                try:
                    status = cli.main(args)
                except SystemExit as error:
                    status = error.code
            if status not in (0, 1, 2, None) or "Traceback" in said.getvalue():
                raise Defect(f"status {status}: {said.getvalue()[-300:]}")
        except Defect:
            raise
        except Exception as error:
            raise strange(error) from error
        finally:
            os.chdir(before)


def mangled(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 3, 20])):
        place, change = rng.randrange(len(content) or 1), rng.randrange(4)
        if change == 0 and content:
            content[place] = rng.choice([0, 10, 34, 44, 45, 255, rng.randrange(256)])
        elif change == 1:
            del content[place : place + rng.choice([1, 5, 100])]
        elif change == 2:
            content[place:place] = rng.choice(
                [b"nan", b"1e999", b'"', b"\n\n", b",,,", "ü".encode(), b"\xff\xfe", b"9" * 400]
            )
        else:
            content += content[place : place + 50]
    return bytes(content)


KINDS = {"calls": lambda number, tell: Calls(number, tell).run(), "functions": functions}
KINDS |= {"files": files, "commands": commands}


def run_case(case, tell):
    kind, _, number = case.partition(":")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        KINDS[kind](int(number), tell)


def work(kinds, first):
    """Run cases one after another; print each case, and the defects."""
    faulthandler.enable()
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    for number in range(first, first + 10**9):
        case = f"{kinds[number % len(kinds)]}:{number}"
        print("case", case, flush=True)
        try:
            run_case(case, lambda step: None)
        except BaseException as error:
            print("defect", case, f"{type(error).__name__}: {error}".replace("\n", " ")[:300], flush=True)


def processor_seconds(pid):
    """The processor seconds of a process; seconds of the clock where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drive(minutes, kinds, first, most=None):
    """Watch a worker, and start another one if it crashes or hangs; returns the defective cases."""
    stop, wrong, n_cases = time.monotonic() + 60 * minutes, {}, 0
    while time.monotonic() < stop and n_cases != most:
        command = [sys.executable, __file__, "--worker", str(first), "--kinds", *kinds]
        # the pipe has no buffer, so that the selector is told of every line; where other programs have the processors,
        # OpenBLAS's threads would wait for each other for longer than HANGS
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=alone)
        chooser = selectors.DefaultSelector()
        chooser.register(worker.stdout, selectors.EVENT_READ)
        case = None
        while time.monotonic() < stop and n_cases != most:
            began, used = time.monotonic(), processor_seconds(worker.pid)
            while not chooser.select(5):
                if processor_seconds(worker.pid) - used > HANGS or time.monotonic() - began > IDLE:
                    break
            else:
                used = None
            if used is not None:
                wrong[case] = f"hangs: nothing for {time.monotonic() - began:.0f} s"
                break
            line = worker.stdout.readline().decode()
            if not line:
                wrong[case] = f"the process ended with {worker.wait()}: {worker.stderr.read().decode()[-300:]}"
                break
            word, case, *text = line.split(maxsplit=2)
            n_cases += word == "case"
            if word == "defect":
                wrong[case] = text[0].strip() if text else ""
                print(case, wrong[case], flush=True)
        if case in wrong:
            print(case, wrong[case], flush=True)
        worker.kill()
        worker.wait()
        first = int(case.partition(":")[2]) + 1 if case else first + 1
    print(f"{n_cases} cases, {len(wrong)} of them wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--cases", type=int, help="end after this number of cases")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--first", type=int, help="number of the first case (default: drawn at random)")
    parser.add_argument("--case", help="run one case, such as calls:17, in this process")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        faulthandler.enable()
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        run_case(args.case, lambda step: print(step, flush=True))
    elif args.worker is not None:
        work(args.kinds, args.worker)
    else:
        first = random.SystemRandom().randrange(10**12) if args.first is None else args.first
        sys.exit(1 if drive(args.minutes, args.kinds, first, args.cases) else 0)


if __name__ == "__main__":
    main()
