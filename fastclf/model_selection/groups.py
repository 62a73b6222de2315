"""Many models for the price of few: what our methods know about their own folds and parameters.

A Group is an estimator for several values of one parameter. Its models for a fold come from one piece of work where the
method has a path along the parameter, and the answers of all folds from one fit where it has a way to leave rows out.
Either is taken only where it gives the answers of the models that are fitted one by one.
"""

import copy
from functools import partial

import numpy as np

import fastclf

from .._estimator import Estimator, clone
from .._threads import n_threads
from .._validation import as_matrix, require_integer, require_number
from .folds import as_rows

# Answers of a fold are taken from the fit of all rows where the eigenvalues of 1 - H are above this.
_ALONE = 1e-6

# What the parameters of a table's model begin with.
_MODEL = "model__"

# Scores nearer to each other than this, of their size, are left to a fit of their own.
_TIE = 1e-7


def kind_of(estimator):
    """The class's name, if it is one of ours itself and no subclass."""
    name = type(estimator).__name__
    return name if type(estimator) is getattr(fastclf, name, None) else None


def path_parameter(estimator, names):
    """The one of these parameters along which the estimator's models cost less together, or None."""
    kind = kind_of(estimator)
    if kind == "TableClassifier":
        found = path_parameter(estimator._model(), [name[len(_MODEL) :] for name in names if name.startswith(_MODEL)])
        return None if found is None else _MODEL + found
    shared = {name for own, name in _PATHS if own == kind} | ({"alpha"} if kind == "LeastSquaresClassifier" else set())
    return next((name for name in names if name in shared), None)


class Group:
    """An estimator for each of some values of a parameter; name None: as it is.

    shortcuts=False fits every model by itself.
    """

    def __init__(self, estimator, name=None, values=(None,), shortcuts=True):
        self.estimator, self.name, self.values = estimator, name, list(values)
        kind = kind_of(estimator) if shortcuts else None
        self._path = _PATHS.get((kind, name), _one_by_one)
        if kind == "TableClassifier" and name is not None and name.startswith(_MODEL):
            self._path = _table_path
        self._whole = _WHOLE.get(kind)
        self.is_tree = kind in ("DecisionTreeClassifier", "DecisionTreeRegressor")
        self.orders = None

    def with_value(self, value):
        model = clone(self.estimator)
        return model if self.name is None else model.set_params(**{self.name: value})

    def sharing(self, threads):
        """The same, one of so many that run at a time, on as many CPUs as fall to it."""
        if not isinstance(self.estimator, Estimator) or getattr(self.estimator, "n_jobs", 1) is not None:
            return self
        group = copy.copy(self)
        group.estimator = clone(self.estimator).set_params(n_jobs=max(1, n_threads() // threads))
        return group

    def presorted(self, packed, rows):
        """The same, to be fitted to these rows of the columns that `packed_columns` sorted, if it did."""
        if packed is None or not self.is_tree:
            return self
        from ..tree.sorted_columns import Orders

        group = copy.copy(self)
        group.orders = Orders(packed, rows)
        return group

    def fitted(self, value, X, y):
        """The model for one value."""
        model = self.with_value(value)
        return model.fit(X, y) if self.orders is None else model._fit(X, y, orders=self.orders)

    def fit(self, X, y):
        """One fitted model for each value."""
        return self._path(self, X, y)

    def answers(self, models, X):
        """What each model predicts."""
        if self._path is _table_path:
            return self._inner(models[0].model_).answers([model.model_ for model in models], models[0].features(X))
        if self._path is _neighbor_path and len(models) > 1 and not callable(models[0].weights):
            return _neighbor_answers(models, X)
        return [model.predict(X) for model in models]

    def _inner(self, model):
        """The group of models in a table's classifiers."""
        return Group(model, self.name[len(_MODEL) :], self.values)

    def all_answers(self, X, y, folds):
        """What the models of each fold predict for its test rows, of shape (n_values, n_test rows in all), or None."""
        return None if self._whole is None else self._whole(self, X, y, folds)


def _one_by_one(group, X, y):
    return [group.fitted(value, X, y) for value in group.values]


# Models of tables: the columns that they see are made once.


def _table_path(group, X, y):
    fitted, features = clone(group.estimator)._prepared(X)
    models = []
    for value, model in zip(group.values, group._inner(fitted["model_"]).fit(features, y)):
        models.append(group.with_value(value)._become(**fitted | {"model_": model, "classes_": model.classes_}))
    return models


# Nearest neighbours: one index, and one search for the largest k.


def _neighbor_path(group, X, y):
    for k in group.values:
        require_integer("n_neighbors", k, 1)
    fitted = group.with_value(group.values[0]).fit(X, y)
    models = []
    for k in group.values:
        models.append(copy.copy(fitted))
        models[-1].n_neighbors = k
    return models


def _neighbor_answers(models, X):
    ks = np.array([model.n_neighbors for model in models])
    return models[ks.argmax()]._predict_each(X)[ks - 1]


def _neighbors_left_out(group, X, y, folds):
    if not folds.leave_one_out or group.name not in (None, "n_neighbors") or callable(group.estimator.weights):
        return None
    ks = [group.estimator.n_neighbors] if group.name is None else group.values
    if max(ks) >= len(y):
        return None
    models = _neighbor_path(Group(group.estimator, "n_neighbors", ks), X, y)
    return _neighbor_answers(models, None) if len(ks) > 1 else [models[0].predict(None)]


# Trees: columns are sorted once for all folds; each fold's tree is grown whole once, then cut.


def packed_columns(groups, X, folds, threads):
    """What the folds' trees have in common, or None."""
    trees = [group for group in groups if group.is_tree and group.estimator._shares_orders]
    matrix = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    if not trees or not matrix or folds.pairs is not None:
        return None
    from ..tree.sorted_columns import Packed

    return Packed.of_columns(as_matrix(X, type(trees[0].estimator).__name__, allow_nan=True), threads)


def _pruning_path(group, X, y):
    from ..tree.pruning import pruned, weakest_links

    if any(isinstance(alpha, str) for alpha in group.values):
        return _one_by_one(group, X, y)
    for alpha in group.values:
        require_number("ccp_alpha", alpha, 0)
    whole = group.fitted(0.0, X, y)
    links = weakest_links(whole._nodes, whole._risk())
    models = []
    for alpha in group.values:
        model = copy.copy(whole)
        model.ccp_alpha, model.ccp_alpha_ = alpha, float(alpha)
        if alpha > 0:
            model._nodes = pruned(whole._nodes, alpha, links)
        models.append(model)
    return models


# Logistic regression and linear machines: each penalty starts at the optimum of the next stronger one.


def _ascending(models):
    """The numbers of models, by their C."""
    return sorted(range(len(models)), key=lambda i: require_number("C", models[i].C, 0, open_low=True))


def _warm_path(group, X, y):
    models = [group.with_value(value) for value in group.values]
    models[0]._fit_each([models[i] for i in _ascending(models)], X, y)
    return models


def _plane_path(group, X, y):
    """Of squared losses alone: where they are not, a fit along C is no shorter."""
    model = group.estimator
    alone = model.loss != "squared_hinge" or model.lam is not None or model.budget is not None
    return (_one_by_one if alone else _warm_path)(group, X, y)


# Support vector machines: each C starts from the alphas of the one before, and each fold from those of all rows; a row
# that is no support vector changes nothing when it is left out.


def _machine_path(group, X, y):
    return (_warm_path if _has_one_optimum(group.estimator) else _one_by_one)(group, X, y)


def _machine_left_out(group, X, y, folds):
    from ..svm.leave_out import Unsolved, fold_answers

    model = group.estimator
    moving = (model.gamma == "scale" and model.kernel != "linear") or isinstance(model.class_weight, str)
    watched = model.verbose or model.callback is not None or model.max_iter != -1
    if moving or watched or not _has_one_optimum(model) or folds.pairs is not None or not _stays(y, folds):
        return None
    models = [group.with_value(value) for value in group.values]
    order = _ascending(models)
    models = [models[i] for i in order]
    if np.isinf(models[-1].C):
        return None
    try:
        answers = [fold_answers(models, X, y, fold)[:, np.argsort(fold, kind="stable")] for fold in folds.partitions]
    except Unsolved:
        return None
    return np.concatenate(answers, axis=1)[np.argsort(order)]


def _has_one_optimum(model):
    """Whether the kernel is positive definite, so that where a fit starts does not matter."""
    return not model.break_ties and (
        model.kernel in ("linear", "rbf") or (model.kernel == "poly" and 0 <= model.coef0 < np.inf)
    )


# Naive Bayes: rows are subtracted from the sums.

# More folds than this are not merged from the sums of each.
_MANY_FOLDS = 100


def _bayes_left_out(group, X, y, folds):
    model = group.estimator
    if group.name is not None or folds.pairs is not None or not _stays(y, folds):
        return None
    if folds.leave_one_out and hasattr(model, "leave_one_out"):
        return [clone(model).leave_one_out(X, y)] if _one_choice(model) else None
    if folds.n_folds > _MANY_FOLDS:
        return None
    return [_in_turn(folds, partial(model.predict_folds, X, y))]


def _one_choice(model):
    """Whether its distributions are the same whatever the rows are."""
    wanted = getattr(model, "distributions", "")
    # the columns that a dict does not name are "auto"
    return not isinstance(wanted, dict) and "auto" not in ([wanted] if isinstance(wanted, str) else list(wanted))


# Least squares: without the rows of a fold e becomes (1 - H)^-1 e, H = ZZ' being that of these rows.


def _squares_left_out(group, X, y, folds):
    if folds.pairs is not None or not _stays(y, folds):
        return None
    models = [group.with_value(value) for value in group.values]
    return [_in_turn(folds, partial(_squares_by_fold, model, X, y)) for model in models]


def _squares_by_fold(model, X, y, fold):
    """For each row the answer of the fit of all rows of other folds."""
    from ..linear_model.least_squares import _targets
    from ..linear_model.scores import chosen, linear_scores

    _, rows, codes, classes, *_ = model._checked(X, y, None)
    fitted, inverse, mean = model._solved(rows, codes, classes, None)
    n, rank = len(rows), inverse.shape[1]
    scores = linear_scores(rows, fitted["coef_"], fitted["intercept_"], model.n_jobs)
    target = _targets(codes, len(classes))
    Z = np.zeros((n, rank + bool(model.fit_intercept)))
    if rank:
        Z[:, :rank] = linear_scores(rows, inverse.T, -(mean @ inverse), model.n_jobs)
    Z[:, rank:] = 1 / np.sqrt(n)
    error, left = target - scores, np.full(target.shape, np.nan)
    order = np.argsort(fold, kind="stable")
    tests = np.split(order, np.cumsum(np.bincount(fold))[:-1])
    if len(tests) == n:
        rest = 1 - np.square(Z).sum(axis=1)
        sure = rest > _ALONE
        left[sure] = target[sure] - error[sure] / rest[sure, None]
    else:
        for test in tests:
            left[test] = target[test] - _without(Z[test], error[test])
    gap = np.abs(left[:, 0]) if len(classes) == 2 else np.diff(np.sort(left, axis=1)[:, -2:])[:, 0]
    sure = gap > _TIE * np.abs(target).max()
    codes = chosen(np.where(np.isnan(left), 0, left))
    answers = classes[codes]
    source = as_rows(X)
    for i in np.unique(fold[~sure]):
        test = tests[i]
        others = np.flatnonzero(fold != i)
        answers[test] = clone(model).fit(source[others], y[others]).predict(source[test])
    return answers


def _without(Z, error):
    """(1 - ZZ')^-1 error by the smaller of ZZ' and Z'Z; NaN where that is near to singular."""
    wide = len(Z) <= Z.shape[1]
    product = Z @ Z.T if wide else Z.T @ Z
    try:
        inverse = np.linalg.inv(np.eye(len(product)) - product)
    except np.linalg.LinAlgError:
        return np.full(error.shape, np.nan)
    # the norm of the inverse is at least 1 over the smallest eigenvalue
    if not np.linalg.norm(inverse) < 1 / _ALONE:
        return np.full(error.shape, np.nan)
    return inverse @ error if wide else error + Z @ (inverse @ (Z.T @ error))


def _stays(y, folds):
    """Whether each class has rows in two folds, so that none is ever left out whole."""
    codes = np.unique(y, return_inverse=True)[1]
    for fold in folds.partitions:
        pairs = np.unique(codes * np.int64(folds.n_folds) + fold)
        if np.bincount(pairs // folds.n_folds).min() < 2:
            return False
    return True


def _in_turn(folds, answers):
    """answers(fold) of each partition, one after the other, each in the order of its folds."""
    return np.concatenate([answers(fold)[np.argsort(fold, kind="stable")] for fold in folds.partitions])


# A method's path along a parameter: path(group, X, y) gives the fitted models.
_PATHS = {
    ("KNeighborsClassifier", "n_neighbors"): _neighbor_path,
    ("KNeighborsRegressor", "n_neighbors"): _neighbor_path,
    ("DecisionTreeClassifier", "ccp_alpha"): _pruning_path,
    ("DecisionTreeRegressor", "ccp_alpha"): _pruning_path,
    ("LogisticRegression", "C"): _warm_path,
    ("LinearSVC", "C"): _plane_path,
    ("SVC", "C"): _machine_path,
}

# A method's way to answer for all folds at once: whole(group, X, y, folds) gives an array for each value, or None.
_WHOLE = {
    "KNeighborsClassifier": _neighbors_left_out,
    "KNeighborsRegressor": _neighbors_left_out,
    "LeastSquaresClassifier": _squares_left_out,
    "SVC": _machine_left_out,
} | dict.fromkeys(
    ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "NaiveBayes", "PoissonNB"], _bayes_left_out
)
