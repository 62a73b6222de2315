"""Every estimator at its defaults against scikit-learn's, on shapes that a seed draws: make sweep SEED=7

A benchmark with known data can be tuned to; data from random seeds cannot. Each shape draws rows, columns, classes,
noise, scale, type, balance, zeros and a form, such as repeated rows or labels that are texts. A cell is a method on a
shape with a number of threads: a fit, predictions for a held-out fifth of the rows, and the prediction of one row, by
both libraries in turn, in a separate process; the median of the rounds counts. A cell is lost if ours has no answer
after `--cap` seconds. The summary has the geometric means of peer / ours, the number of cells below 1 (0.9 is noise on
two cores), the least ratio, and the cells with a worse answer. Whether more threads are slower than one is told by our
calls before the peer's first, whose threads go on for a while after a call. `--page` writes a table of all cells.
"""

import argparse
import html
import importlib
import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

# METHODS lists (name, scikit-learn's module, our parameters, theirs, the method called, kinds of data that are left
# out).
SPARSE, UNKNOWN, PLAIN = {"text"}, {"handle_unknown": "ignore"}, {"shuffle": False}
# In parameters, `estimators` replaces "threads" by the number of threads of the cell, and "radius" by a radius within
# which some neighbours lie.
THREADS, RADIUS = {"n_jobs": "threads"}, {"radius": "radius", "outlier_label": "most_frequent"}
CATEGORIES, MANHATTAN = {"min_categories": 100}, {"metric": "manhattan"}
BALANCED = {"class_weight": "balanced", "min_samples_leaf": 5}
SPARSE_WEIGHTS = {"penalty": "l1", "dual": False}
NUMBERS = SPARSE | {"numbers", "clusters", "many columns", "wide", "tiny"}
METHODS = {
    "knn": ("KNeighborsClassifier", "neighbors", {}, THREADS, "predict", set()),
    "knn regressor": ("KNeighborsRegressor", "neighbors", {}, THREADS, "predict", set()),
    "perceptron": ("Perceptron", "linear_model", PLAIN, PLAIN | THREADS, "predict", set()),
    "logistic": ("LogisticRegression", "linear_model", {"max_iter": 1000}, {"max_iter": 1000}, "predict", set()),
    "ridge": (("LeastSquaresClassifier", "RidgeClassifier"), "linear_model", {"alpha": 1.0}, {}, "predict", set()),
    "centroid": ("NearestCentroid", "neighbors", {}, {}, "predict", set()),
    "linearsvc": ("LinearSVC", "svm", {}, {}, "predict", set()),
    "linearsvc l1": ("LinearSVC", "svm", SPARSE_WEIGHTS, SPARSE_WEIGHTS, "predict", set()),
    "svc": ("SVC", "svm", {}, {}, "predict", set()),
    "svc C=100": ("SVC", "svm", {"C": 100}, {"C": 100}, "predict", set()),
    "svc linear": ("SVC", "svm", {"kernel": "linear"}, {"kernel": "linear"}, "predict", SPARSE),
    "tree": ("DecisionTreeClassifier", "tree", {}, {}, "predict", SPARSE),
    "tree regressor": ("DecisionTreeRegressor", "tree", {}, {}, "predict", SPARSE),
    "gaussian nb": ("GaussianNB", "naive_bayes", {}, {}, "predict", SPARSE),
    "multinomial nb": ("MultinomialNB", "naive_bayes", {}, {}, "predict", set()),
    "bernoulli nb": ("BernoulliNB", "naive_bayes", {}, {}, "predict", set()),
    "complement nb": ("ComplementNB", "naive_bayes", {}, {}, "predict", set()),
    "categorical nb": ("CategoricalNB", "naive_bayes", CATEGORIES, CATEGORIES, "predict", NUMBERS),
    "ridge classifier": ("RidgeClassifier", "linear_model", {}, {}, "predict", set()),
    "centroid manhattan": ("NearestCentroid", "neighbors", MANHATTAN, MANHATTAN, "predict", SPARSE),
    "radius": ("RadiusNeighborsClassifier", "neighbors", RADIUS, RADIUS | THREADS, "predict", SPARSE),
    "linearsvc hinge": ("LinearSVC", "svm", {"loss": "hinge"}, {"loss": "hinge"}, "predict", set()),
    "svc poly": ("SVC", "svm", {"kernel": "poly"}, {"kernel": "poly"}, "predict", set()),
    "tree balanced": ("DecisionTreeClassifier", "tree", BALANCED, BALANCED, "predict_proba", SPARSE),
    "rbf sampler": ("RBFSampler", "kernel_approximation", {"random_state": 0}, {"random_state": 0}, "transform", set()),
    "one-hot": ("OneHotEncoder", "preprocessing", UNKNOWN, UNKNOWN, "transform", NUMBERS),
    "polynomial": ("PolynomialFeatures", "preprocessing", {}, {}, "transform", SPARSE | {"many columns", "wide"}),
    "nystroem": ("Nystroem", "kernel_approximation", {"random_state": 0}, {"random_state": 0}, "transform", SPARSE),
}

# The largest number of rows for methods with quadratic cost.
_QUADRATIC = 9000

REGRESSORS = {"knn regressor", "tree regressor"}
# For each step the seconds of its measurement, and the most rounds.
STEPS = {"fit": (2, 9), "ask": (1.5, 9), "row": (0.4, 60)}

# The kinds of data, with their shares in percent.
KINDS = {
    "numbers": 22,
    "clusters": 16,
    "digits": 11,
    "zeros and ones": 11,
    "text": 12,
    "many columns": 9,
    "wide": 8,
    "tiny": 11,
}

# The forms of a table that is not sparse, with their shares in percent.
FORMS = {
    "plain": 40,
    "skewed": 7,
    "constant columns": 7,
    "repeated rows": 7,
    "small numbers": 5,
    "large numbers": 5,
    "whole numbers": 7,
    "one-hot": 7,
    "by column": 5,
    "text labels": 5,
    "one common class": 5,
}


def draw(rng):
    """One shape of data."""
    kind = str(rng.choice(list(KINDS), p=np.array(list(KINDS.values())) / 100))
    form = "plain" if kind == "text" else str(rng.choice(list(FORMS), p=np.array(list(FORMS.values())) / 100))
    if kind in ("digits", "zeros and ones") and form in ("skewed", "small numbers", "large numbers"):
        form = "plain"  # the values of these kinds of data are categories, too, so that their form is not changed
    n_classes = round(2 * 100 ** (rng.random() ** 2))  # the number of classes is from 2 to 200, and mostly small
    n, d = int(10 ** rng.uniform(3, 4.6)), int(10 ** rng.uniform(0.5, 2.3))
    if kind == "wide":
        n, d, n_classes = int(10 ** rng.uniform(2, 3)), int(10 ** rng.uniform(3, 4)), min(n_classes, 10)
    elif kind == "many columns":
        n, d, n_classes = int(10 ** rng.uniform(3, 3.8)), int(10 ** rng.uniform(2.4, 3.2)), min(n_classes, 20)
    elif kind == "tiny":
        n, d, n_classes = int(rng.integers(40, 400)), int(rng.integers(2, 20)), min(n_classes, 4)
    elif kind == "text":
        n, d, n_classes = int(10 ** rng.uniform(3, 4)), int(10 ** rng.uniform(4, 4.8)), min(n_classes, 60)
    return {
        "kind": kind,
        "n": max(n, 8 * n_classes),
        "d": max(d, 2),
        "classes": n_classes,
        "noise": float(rng.choice([0, 0.05, 0.2])),
        "dtype": str(rng.choice(["float32", "float64"])),
        "scaled": bool(rng.random() < 0.7),
        "skew": float(rng.choice([0, 1])),
        "form": form,
        "seed": int(rng.integers(1 << 30)),
    }


def label(shape):
    form = "" if shape["form"] == "plain" else f", {shape['form']}"
    return f"{shape['kind']} {shape['n']} x {shape['d']}, {shape['classes']} classes, {shape['dtype']}{form}"


def make(shape):
    """(X, y) of a shape."""
    rng = np.random.default_rng(shape["seed"])
    n, d, n_classes, kind = shape["n"], shape["d"], shape["classes"], shape["kind"]
    share = np.arange(1, n_classes + 1) ** -shape["skew"]
    y = rng.choice(n_classes, n, p=share / share.sum())
    if kind == "text":
        X = text(rng, y, n, d).astype(shape["dtype"])
    else:
        hidden = min(d, 30)
        centres = rng.standard_normal((n_classes, hidden)) * (3 if kind == "clusters" else 1.2)
        mix = rng.standard_normal((hidden, d)) / math.sqrt(hidden)
        X = (centres[y] + rng.standard_normal((n, hidden))) @ mix + 0.3 * rng.standard_normal((n, d))
        if kind == "digits":
            X = np.clip(np.round(X * 4 + 4), 0, 16) * (rng.random(d) < 0.8)
        elif kind == "zeros and ones":
            X = np.quantile(X, 0.85, axis=0) < X
        elif shape["scaled"]:
            X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12)
        else:
            X = X * 10 ** rng.uniform(-2, 2, d) + rng.uniform(-5, 5, d)
        X, y = formed(shape["form"], rng, X, y)
        X = X if X.dtype == np.int64 else X.astype(shape["dtype"])
    y = np.where(rng.random(n) < shape["noise"], rng.choice(n_classes, n), y)
    y[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes  # every class gets rows, at least two
    order = rng.permutation(n)
    X, y = X[order], y[order]
    if shape["form"] == "text labels":
        y = np.array([f"class {k}" for k in range(n_classes)])[y]
    return np.asfortranarray(X) if shape["form"] == "by column" else X, y


def formed(form, rng, X, y):
    """(X, y) in a form of `FORMS`."""
    n, d = X.shape
    if form == "skewed":
        X = np.exp(1.5 * (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12))
    elif form == "constant columns":
        X[:, ::3] = X[0, ::3]
    elif form == "repeated rows":
        drawn = rng.integers(0, 1 + n // 8, n)
        X, y = X[drawn], y[drawn]
    elif form in ("small numbers", "large numbers"):
        X = X * (1e-6 if form == "small numbers" else 1e6)
    elif form == "whole numbers":
        X = np.round(5 * X).astype(np.int64)
    elif form == "one-hot":
        codes = np.clip(np.round(2 * X[:, : max(1, d // 8)] + 4), 0, 7)
        X = (codes[:, :, None] == np.arange(8)).reshape(n, -1)
    elif form == "one common class":
        y = np.where(rng.random(n) < 0.99, 0, y)
    return X, y


def text(rng, y, n, d):
    """Rows of unit length with the logarithms of word counts; a third of the words depend on the class."""
    import scipy.sparse as sp

    length = rng.integers(20, 200, n)
    indptr = np.concatenate([[0], np.cumsum(length)])
    common = (rng.zipf(1.3, indptr[-1]) - 1) % d
    topic = (np.repeat(y, length) * 7919 + rng.integers(0, 50, indptr[-1]) * 104729) % d
    X = sp.csr_matrix((np.ones(indptr[-1]), np.where(rng.random(indptr[-1]) < 0.3, topic, common), indptr), (n, d))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    return X


def radius_of(X):
    """The radius around a row of X in which a twentieth of the other rows are; 1.0 for sparse X."""
    if not isinstance(X, np.ndarray):
        return 1.0
    some = X[:200].astype(float)
    distance = [np.sqrt(((some - row) ** 2).sum(axis=1)) for row in some]
    return float(np.quantile(distance, 0.05)) + 1e-12


def estimators(method, threads, peer, radius):
    """{"ours", "theirs": a function that makes the unfitted estimator}."""
    names, module, ours, theirs, _, _ = METHODS[method]
    name, peers = names if isinstance(names, tuple) else (names, names)
    module = importlib.import_module(f"{'sklearnex' if peer == 'oneDAL' else 'sklearn'}.{module}")
    values = {"threads": threads, "radius": radius}
    ours, theirs = ({key: values.get(str(value), value) for key, value in each.items()} for each in (ours, theirs))
    return {
        "ours": lambda: getattr(importlib.import_module("fastclf"), name)(**ours),
        "theirs": lambda: getattr(module, peers)(**theirs),
    }


def rounds(calls, seconds, most):
    """The median time of each of some calls, which take turns for `seconds` seconds."""
    times = [[] for _ in calls]
    stop = time.perf_counter() + seconds
    while len(times[0]) < 2 or (len(times[0]) < most and time.perf_counter() < stop):
        for call, spent in zip(calls, times):
            start = time.perf_counter()
            call()
            spent.append(time.perf_counter() - start)
        if sum(map(sum, times)) > 10 * seconds:
            break
    return [float(np.median(spent)) for spent in times]


def peak(call):
    """The largest memory that NumPy and Python hold during a call, beyond the memory before it, in megabytes."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def logistic_loss(model, X, y):
    """The objective of logistic regression with C = 1, which both libraries minimise."""
    Z = X @ model.coef_.T + model.intercept_
    Z = np.column_stack([np.zeros(len(Z)), Z]) if Z.shape[1] == 1 else Z
    Z = Z - Z.max(axis=1, keepdims=True)
    own = Z[np.arange(len(Z)), np.searchsorted(model.classes_, y)]
    return float((np.log(np.exp(Z).sum(axis=1)) - own).sum() + 0.5 * (model.coef_**2).sum())


def cell(method, shape, threads, peer):
    """Measure a method on a shape, and print three lines: our first fit, the peer's first fit, all measurements.

    The lines that a process has printed before it is killed tell its caller which library was slow.
    """
    warnings.filterwarnings("ignore")
    X, y = make(shape)
    X = abs(X) if method in ("multinomial nb", "complement nb", "categorical nb") else X
    y = np.unique(y, return_inverse=True)[1].astype(float) if method in REGRESSORS else y
    cut = X.shape[0] * 4 // 5
    size = min(cut, _QUADRATIC) if method.startswith("svc") else cut
    train, targets, test, truth = X[:size], y[:size], X[cut:], y[cut:]
    made, ask = estimators(method, threads, peer, radius_of(X)), METHODS[method][4]

    def calls(*models):
        """For each step the calls of models, which are fitted."""
        return {
            "fit": [lambda model=model: model.fit(train, targets) for model in models],
            "ask": [lambda model=model: getattr(model, ask)(test) for model in models],
            "row": [lambda model=model: getattr(model, ask)(test[:1]) for model in models],
        }

    models = {}
    for who in ("ours", "theirs"):
        models[who] = made[who]()
        start = time.perf_counter()
        models[who].fit(train, targets)
        print(json.dumps({who: time.perf_counter() - start}), flush=True)
        if who == "ours":  # the peer's threads may be busy for some time after its calls
            alone = {step: rounds(once, 0.2, 2000)[0] for step, once in calls(models[who]).items()}
    ours, theirs = models["ours"], models["theirs"]
    both = calls(ours, theirs)
    result = {step: rounds(both[step], *limits) for step, limits in STEPS.items()}
    if method.startswith(("knn", "radius")):  # an index may be built by the fit or by the first query
        result["fit"] = [sum(pair) for pair in zip(result["fit"], result["ask"])]
        alone["fit"] += alone["ask"]
    result["alone"] = alone
    result["memory"] = [peak(call) for call in both["fit"]]
    if ask == "predict":
        result["score"] = [float(model.score(test, truth)) for model in (ours, theirs)]
    if method == "logistic":
        result["loss"] = [logistic_loss(model, train, targets) for model in (ours, theirs)]
    print(json.dumps(result), flush=True)


def measure(method, shape, threads, peer, cap):
    """The result of a cell in a separate process: None if ours failed, an empty dict if the peer was too slow."""
    environment = os.environ | dict.fromkeys(
        ["FASTCLF_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], str(threads)
    )
    command = [sys.executable, __file__, "--cell", json.dumps([method, shape, threads, peer])]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, error = process.communicate(timeout=4 * cap)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
    lines = [json.loads(line) for line in out.splitlines()]
    told = error.strip().splitlines()[-1:]
    if not lines or lines[0]["ours"] > cap or (process.returncode > 0 and len(lines) > 1):
        return None, told  # a single line has our time alone, because the peer failed
    return (lines[2] if len(lines) == 3 else {}), told


def is_worse(method, result):
    """Whether our answer is worse than the peer's by more than chance allows."""
    if "loss" in result:
        return result["loss"][0] > result["loss"][1] * (1 + 1e-4) + 1e-6
    # fastclf and scikit-learn break ties of splits differently, so that their trees differ
    margin = 0.15 if "tree" in method else 0.05
    return "score" in result and result["score"][0] < result["score"][1] - margin


def ratios_of(cells, step):
    return [cell["result"][step][1] / cell["result"][step][0] for cell in cells]


def key(cell, threads):
    return cell["method"], label(cell["shape"]), threads


def summary(cells):
    """Yield the lines of a summary of all cells."""
    measured = [cell for cell in cells if cell["result"]]
    for step in STEPS if measured else ():
        ratios = np.array(ratios_of(measured, step))
        last = measured[ratios.argmin()]
        yield (
            f"{step:3}: {len(ratios)} cells, geometric mean x{np.exp(np.log(ratios).mean()):.2f}, {(ratios < 1).sum()} "
            f"below 1, {(ratios < 0.9).sum()} below 0.9, least x{ratios.min():.2f} "
            f"({last['method']} on {label(last['shape'])}, {last['threads']} threads)"
        )
    alone = {key(cell, 1): cell["result"]["alone"] for cell in measured if cell["threads"] == 1}
    slower = [
        (spent / alone[key(cell, 1)][step], f"{step}, {cell['method']} on {label(cell['shape'])}")
        for cell in measured
        for step, spent in cell["result"]["alone"].items()
        if cell["threads"] > 1 and key(cell, 1) in alone
    ]
    if slower:
        most, where = max(slower)
        n = sum(ratio > 1.1 for ratio, _ in slower)
        yield f"more threads slower than one: {n} of {len(slower)}, at the most x{most:.2f} ({where})"
    lost = [f"{cell['method']} on {label(cell['shape'])} {cell['error']}" for cell in cells if cell["result"] is None]
    worse = [
        f"{cell['method']} on {label(cell['shape'])}: {cell['result'].get('loss') or cell['result']['score']}"
        for cell in measured
        if is_worse(cell["method"], cell["result"])
    ]
    yield f"no answer: {len(lost)} {'; '.join(lost)}"
    yield f"worse answers: {len(worse)} {'; '.join(worse)}"


def page(cells, lines):
    """All cells as a table of colours: green is faster than the peer, red slower."""

    def colour(ratio):
        return f"hsl({130 if ratio >= 1 else 5} 70% {95 - 45 * min(1.0, abs(math.log10(ratio))):.0f}%)"

    def shown(result):
        if result is None:
            return "<td class=lost>no answer</td>"
        ratios = [(step, result[step][1] / result[step][0]) for step in STEPS if step in result]
        spans = [
            f'<span style="background:{colour(ratio)}" title="{step}">{ratio:.2g}</span>' for step, ratio in ratios
        ]
        return f"<td>{''.join(spans)}</td>"

    columns = [(method, threads) for method in METHODS for threads in sorted({cell["threads"] for cell in cells})]
    rows = dict.fromkeys(label(cell["shape"]) for cell in cells)
    found = {key(cell, cell["threads"]): cell["result"] for cell in cells}
    body = ["<tr><th></th>" + "".join(f"<th>{html.escape(method)}<br>{threads}</th>" for method, threads in columns)]
    for row in rows:
        cells_of_row = [shown(found.get((method, row, threads), {})) for method, threads in columns]
        body.append(f"<tr><th>{html.escape(row)}</th>{''.join(cells_of_row)}")
    style = "body{font:13px sans-serif} th{text-align:left;font-weight:normal} .lost{background:#900;color:#fff}"
    style += "td span{display:block;padding:0 .4em;text-align:right}"
    told = "".join(f"<p>{html.escape(line)}</p>" for line in ["Peer's time over ours: fit, answers, one row.", *lines])
    head = f"<!doctype html><meta charset=utf-8><title>fastclf: sweep</title><style>{style}</style>"
    return f"{head}{told}<table>{''.join(body)}</table>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="of the shapes (default: another every time)")
    parser.add_argument("--shapes", type=int, default=12)
    parser.add_argument("--only", default=",".join(METHODS), help="methods, separated by commas")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peer", choices=["scikit-learn", "oneDAL"], default="scikit-learn")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds that one fit of ours may take")
    parser.add_argument("--page", type=Path, help="an HTML file that shows all cells")
    parser.add_argument("--json", type=Path, help="a file with all that was measured")
    parser.add_argument("--check", type=float, help="exit status 1 if a cell is below this, lost or worse")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        cell(*json.loads(args.cell))
        return
    seed = int.from_bytes(os.urandom(3)) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    rng = np.random.default_rng(seed)
    cells = []
    for shape in [draw(rng) for _ in range(args.shapes)]:
        for method in args.only.split(","):
            if shape["kind"] in METHODS[method][5]:
                continue
            for threads in map(int, args.threads.split(",")):
                result, error = measure(method, shape, threads, args.peer, args.cap)
                cells.append({"method": method, "shape": shape, "threads": threads, "result": result, "error": error})
                ratios = {step: result[step][1] / result[step][0] for step in STEPS} if result else {}
                shown = "  ".join(f"{step} x{ratio:7.2f}" for step, ratio in ratios.items()) or f"no answer {error}"
                spent = f"{result['fit'][0] * 1e3:9.2f} ms  {shown}" if result else shown
                print(f"{method:14} {threads} {label(shape):50} {spent}", flush=True)
    lines = list(summary(cells))
    print(*lines, sep="\n")
    if args.page:
        args.page.write_text(page(cells, lines), "utf-8")
    if args.json:
        args.json.write_text(json.dumps({"seed": seed, "cells": cells}), "utf-8")
    if args.check is not None:
        measured = [cell for cell in cells if cell["result"]]
        slow = any(ratio < args.check for step in STEPS for ratio in ratios_of(measured, step))
        worse = any(is_worse(cell["method"], cell["result"]) for cell in measured)
        sys.exit(slow or worse or any(cell["result"] is None for cell in cells))


if __name__ == "__main__":
    main()
