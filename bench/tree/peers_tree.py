"""Trees compared with those of other libraries; `python bench/peers.py` runs the comparison."""

from dataclasses import replace
from functools import partial
from importlib import import_module

import data
import numpy as np
from comparison import Work, comparison, estimator, refused_fallback, same_labels


def close_fits(least, ours, theirs):
    (a, n_ours), (b, n_theirs) = ours[0], theirs[0]
    return bool(a >= b - least), f"training scores {a:.6f} and {b:.6f}, leaves {n_ours} and {n_theirs}"


class Fitted(tuple):
    """A fitted model, whose figures for the comparison are computed after the clock has stopped."""

    def __new__(cls, model, X, y):
        return super().__new__(cls, (model, X, y))

    def __iter__(self):
        model, X, y = self[0], self[1], self[2]
        yield model.score(X, y)
        trees = getattr(model, "estimators_", [model])
        yield sum(tree.get_n_leaves() for tree in trees) if hasattr(trees[0], "get_n_leaves") else "unknown"


def binned_forest(kind, X, y, threads, parameters):
    """A call that fits a forest of one tree to all rows and features, with thresholds among 256 bins per feature."""
    make = getattr(import_module("sklearnex.ensemble"), kind.replace("DecisionTree", "RandomForest"))
    model = make(n_estimators=1, bootstrap=False, max_features=None, n_jobs=threads, random_state=0, **parameters)
    with refused_fallback():
        model.fit(X[:100], y[:100])
    return lambda block: Fitted(model.fit(X, y), X, y)


def snapml_tree(X, y, threads, max_depth=None):
    """A call that fits Snap ML's tree, with exact thresholds."""
    kind = import_module("snapml").DecisionTreeClassifier
    model = kind(max_depth=max_depth, use_histograms=False, n_jobs=threads, random_state=0)
    return lambda block: Fitted(model.fit(X, y), X, y)


class YdfTree:
    """Yggdrasil's CART, without a share of the rows for pruning; its labels must be strings."""

    def __init__(self, threads, max_depth):
        ydf = import_module("ydf")
        ydf.verbose(0)
        options = {"min_examples": 1, "validation_ratio": 0.0, "num_threads": threads}
        self.learner = ydf.CartLearner("label", max_depth=-1 if max_depth is None else max_depth + 1, **options)

    def fit(self, X, y):
        self.model = self.learner.train({"x": X, "label": y})
        return self

    def score(self, X, y):
        return (self.model.predict_class({"x": X}) == y).mean()


def ydf_tree(X, y, threads, max_depth=None):
    """A call that fits Yggdrasil's CART, with exact thresholds."""
    tree, labels = YdfTree(threads, max_depth), y.astype(str)
    return lambda block: Fitted(tree.fit(X, labels), X, labels)


def lightgbm_tree(X, y, threads, max_depth):
    """A call that fits one of LightGBM's trees, with thresholds among 255 bins per feature and any number of rows."""
    kind = import_module("lightgbm").LGBMClassifier
    size = {"max_depth": max_depth, "num_leaves": 2**max_depth, "min_child_samples": 1, "min_child_weight": 0.0}
    model = kind(n_estimators=1, learning_rate=1.0, n_jobs=threads, verbose=-1, **size)
    return lambda block: Fitted(model.fit(X, y), X, y)


def with_more(work, **peers):
    """The Work with more peers."""
    return replace(work, peers=work.peers | peers)


def grown(X, y, threads, kind="DecisionTreeClassifier", **parameters):
    """The Work of one fit to all rows."""

    def fits(module, **own):
        make = getattr(import_module(module), kind)
        return lambda block: Fitted(make(**parameters, **own).fit(X, y), X, y)

    peers = {"sklearn": partial(fits, "sklearn.tree", random_state=0)}
    if "criterion" not in parameters:  # sklearnex has trees only for gini and squared errors
        peers["sklearnex"] = partial(binned_forest, kind, X, y, threads, parameters)
    return Work([X], partial(fits, "fastclf", n_jobs=threads), peers, partial(close_fits, 1e-3), items=1)


@comparison("Tree entropy to the end", threads=(1,), sklearn=15)
@comparison("Tree entropy to the end", threads=(2,), sklearn=25)
def tree_entropy(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale))
    return grown(X, y, threads, criterion="entropy")


@comparison("Tree gini to the end", threads=(1,), sklearn=15, sklearnex=1.3, snapml=4, ydf=4)
@comparison("Tree gini to the end", threads=(2,), sklearn=25, sklearnex=2, snapml=4, ydf=4)
def tree_gini(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale))
    work = grown(X, y, threads)
    return with_more(work, snapml=partial(snapml_tree, X, y, threads), ydf=partial(ydf_tree, X, y, threads))


@comparison("Tree gini float64 to the end", threads=(1,), sklearn=15)
@comparison("Tree gini float64 to the end", threads=(2,), sklearn=20)
def tree_gini_double(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale), "float64")
    return grown(X, y, threads)


@comparison("Tree gini depth 10", threads=(2,), sklearn=20, sklearnex=1.4, snapml=4, ydf=4, lightgbm=1)
def tree_depth_10(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale))
    kinds = {"snapml": snapml_tree, "ydf": ydf_tree, "lightgbm": lightgbm_tree}
    peers = {name: partial(kind, X, y, threads, max_depth=10) for name, kind in kinds.items()}
    return with_more(grown(X, y, threads, max_depth=10), **peers)


@comparison("Tree gini depth 10 float64", threads=(2,), sklearn=20)
def tree_depth_10_double(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale), "float64")
    return grown(X, y, threads, max_depth=10)


@comparison("Tree mnist10k", threads=(1, 2), sklearn=10, sklearnex=5)
def tree_mnist(scale, threads):
    X, y = data.mnist10k()
    n = int(10_000 * scale)
    return grown(X[:n], y[:n], threads)


@comparison("Tree regression", threads=(1, 2), sklearn=10, sklearnex=2)
def tree_regression(scale, threads):
    X, _, y = data.noisy(int(200_000 * scale))
    return grown(X, y, threads, "DecisionTreeRegressor")


@comparison("Tree two values a column", threads=(2,), sklearn=10)
def tree_two_values(scale, threads):
    rng = np.random.default_rng(0)
    n = int(1_000_000 * scale)
    X = rng.integers(0, 2, (n, 10)).astype(np.float32)
    return grown(X, rng.integers(0, 2, n), threads)


@comparison("Tree absolute error", threads=(2,))
def tree_distances(scale, threads):
    X, _, y = data.noisy(int(5_000 * scale))
    return grown(X, y, threads, "DecisionTreeRegressor", criterion="absolute_error")


@comparison("Tree pruned by 10 folds", threads=(1,), one_fit=1 / 12)
@comparison("Tree pruned by 10 folds", threads=(2,), one_fit=1 / 12)
def tree_folds(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale))

    def fits(**parameters):
        model = import_module("fastclf").DecisionTreeClassifier(n_jobs=threads, **parameters)
        return lambda block: model.fit(X, y).get_n_leaves()

    def agree(ours, theirs):
        return ours[0] < theirs[0], f"{ours[0]} leaves of {theirs[0]}"

    return Work([X], partial(fits, ccp_alpha="cv"), {"one fit": fits}, agree, items=1)


@comparison("Tree pruning path", threads=(1,), sklearn=100, its_fit=20)
def tree_path(scale, threads):
    X, y, _ = data.noisy(int(200_000 * scale))

    def paths(module):
        model = import_module(module).DecisionTreeClassifier(random_state=0).fit(X, y)
        if module == "fastclf":
            from fastclf.tree.pruning import weakest_links

            return lambda block: weakest_links(model._nodes).path["impurities"][-1]
        from sklearn.tree._tree import ccp_pruning_path

        return lambda block: ccp_pruning_path(model.tree_)["impurities"][-1]

    def fit():
        model = import_module("fastclf").DecisionTreeClassifier(n_jobs=threads)
        return lambda block: model.fit(X, y).tree_.impurity[0]

    def agree(ours, theirs):
        return bool(np.isclose(ours[0], theirs[0])), f"impurity of the root {ours[0]} and {theirs[0]}"

    peers = {"sklearn": partial(paths, "sklearn.tree"), "its fit": fit}
    return Work([X], partial(paths, "fastclf"), peers, agree, items=1)


def predicted(blocks, threads, calls):
    X, y, _ = data.noisy(200_000)
    peers = {"sklearn": partial(estimator, "sklearn.tree", "DecisionTreeClassifier", "predict", X, y, random_state=0)}
    ours = partial(estimator, "fastclf", "DecisionTreeClassifier", "predict", X, y, n_jobs=threads)
    return Work(blocks(X), ours, peers, same_labels, calls)


@comparison("Tree predict", threads=(1,), sklearn=2)
def tree_predict(scale, threads):
    return predicted(lambda X: [X], threads, 1)


@comparison("Tree predict a row", threads=(1,), sklearn=10)
def tree_predict_row(scale, threads):
    return predicted(lambda X: [X[i : i + 1] for i in range(1000)], threads, 100)
