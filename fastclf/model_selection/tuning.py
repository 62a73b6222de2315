"""The choice of parameters: grids along the methods' own paths, the one-standard-error rule, curves."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from .._estimator import clone, path_parameters
from .._validation import as_numbers, require_choice
from .cross_validation import Asked, check_estimator
from .groups import Group

# In which direction a parameter makes a model simpler.
_SIMPLER = dict.fromkeys(
    ["alpha", "ccp_alpha", "min_impurity_decrease", "min_samples_leaf", "min_samples_split", "min_weight_fraction_leaf"]
    + ["n_neighbors", "shrink_threshold", "var_smoothing"],
    "larger",
) | dict.fromkeys(["C", "bins", "degree", "gamma", "max_depth", "max_features", "max_leaf_nodes"], "smaller")


class Tuning:
    """What :func:`tune` found.

    Attributes
    ----------
    params : list of dict
        Each combination of the grid.
    mean_score, standard_error : ndarray of shape (n_params,)
        Over the folds; `standard_error` is std(ddof=1) / sqrt(n_folds).
    scores : ndarray of shape (n_params, n_folds)
    best_index, one_standard_error_index : int
        The combination of the largest mean score, the first of equal ones; and the simplest of those whose mean score
        is at most one standard error (of the best) below it.
    best_params, one_standard_error_params, chosen_params : dict
        `chosen_params` is the one of them that `rule` says.
    estimator : estimator or None
        Fitted to all rows with `chosen_params`, unless `refit` is False or folds were left out.
    error : float
        1 - the mean score of `chosen_params`: too good, as it is the choice's own; see `outer`.
    outer : CrossValidation or None
        With `outer`: of the whole procedure, choice included, on folds that had no part in it; `outer_params` are the
        parameters that each fold chose.
    interrupted : bool
        Whether Ctrl-C or the callback left folds out.
    """

    def __init__(self, params, results, rule, simpler):
        self.params, self.results = params, results
        self.interrupted = any(result.interrupted for result in results)
        # those that all combinations have
        folds = sorted(set.intersection(*(set(result.finished) for result in results)))
        if not folds:
            raise RuntimeError("the callback or Ctrl-C stopped tune before it had finished a fold")
        self.scores = np.array([result._scores[np.isin(result.finished, folds)] for result in results])
        self.mean_score = self.scores.mean(axis=1)
        n = len(folds)
        self.standard_error = self.scores.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(params), np.nan)
        self.best_index = int(np.argmax(self.mean_score))
        self.one_standard_error_index = self._simplest(simpler)
        self.chosen_index = self.best_index if rule == "best" else self.one_standard_error_index
        self.outer = self.outer_params = self.estimator = None

    def _simplest(self, simpler):
        best = self.best_index
        spread = self.standard_error[best]
        near = np.flatnonzero(self.mean_score >= self.mean_score[best] - (0 if np.isnan(spread) else spread))

        def key(i):
            return simplicity(self.params[i], self.params, simpler), self.mean_score[i], -i

        return int(max(near.tolist(), key=key))

    @property
    def best_params(self):
        return self.params[self.best_index]

    @property
    def one_standard_error_params(self):
        return self.params[self.one_standard_error_index]

    @property
    def chosen_params(self):
        return self.params[self.chosen_index]

    @property
    def error(self):
        return float(1 - self.mean_score[self.chosen_index])

    def __repr__(self):
        return f"Tuning(chosen_params={self.chosen_params!r}, error={self.error:.4f})"


def simplicity(own, params, simpler):
    """How simple a combination of parameters is: the sum of its ranks in the parameters whose direction is known."""
    total = 0
    for name, value in own.items():
        direction = simpler.get(name, _SIMPLER.get(name.rpartition("__")[2]))
        values = [other[name] for other in params if name in other]
        if direction is None or not all(isinstance(v, (int, float, np.number)) or v is None for v in values):
            continue
        # None is no limit
        numbers = sorted({np.inf if v is None else float(v) for v in values}, reverse=direction == "smaller")
        total += numbers.index(np.inf if value is None else float(value))
    return total


def as_grids(grid):
    """A list of dicts of name to list of values."""
    grids = [grid] if isinstance(grid, Mapping) else list(grid)
    if not grids or not all(isinstance(own, Mapping) for own in grids):
        raise TypeError(f"grid is {grid!r}; a dict of parameter to list of values, or a list of these, is wanted")
    for own in grids:
        for name, values in own.items():
            if isinstance(values, str) or not hasattr(values, "__iter__") or len(list(values)) == 0:
                raise ValueError(f"grid[{name!r}] is {values!r}; a list of values is wanted")
    return [{name: list(values) for name, values in own.items()} for own in grids]


def groups_of(estimator, grids, shortcuts=True):
    """(params, groups, place): every combination; the Groups that make them; for each its group and place in it."""
    params, groups, place = [], [], []
    for grid in grids:
        path = next((name for name in grid if shortcuts and name in path_parameters(estimator)), None)
        others = [name for name in grid if name != path]
        numbers = {}
        for values in product(*grid.values()):
            own = dict(zip(grid, values))
            rest = tuple(grid[name].index(own[name]) for name in others)
            if rest not in numbers:
                numbers[rest] = len(groups)
                fixed = clone(estimator).set_params(**{name: own[name] for name in others})
                groups.append(Group(fixed, path, grid[path] if path else (None,), shortcuts))
            params.append(own)
            place.append((numbers[rest], grid[path].index(own[path]) if path else 0))
    return params, groups, place


def tune(
    estimator,
    grid,
    X,
    y,
    *,
    cv=10,
    repeats=1,
    groups=None,
    scoring=None,
    rule="best",
    simpler=None,
    outer=None,
    refit=True,
    n_jobs=None,
    random_state=0,
    shortcuts=True,
    verbose=0,
    callback=None,
):
    """Choose parameters by cross-validation, all combinations on the same folds.

    Along one parameter the work of a fold is shared, where the method can: nearest neighbours answer for all
    `n_neighbors` by one search (leave-one-out by one search in all), trees are grown once, from columns that are sorted
    once for all folds, and cut for each `ccp_alpha`, logistic regression and support vector machines start each `C` at
    the optimum of the one before (within `tol` of the same), and least squares fits each `alpha` once for all folds. So
    do the models of a `TableClassifier`, as `model__C`. The scores are those of the models fitted one by one.

    Parameters
    ----------
    estimator : estimator
        Cloned, not changed.
    grid : dict of str to list, or list of dicts
        Values by parameter; every combination is tried. `step__parameter` reaches into a pipeline.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, "loo", splitter or iterable, default=10
    repeats : int >= 1, default=1
    groups : array-like of shape (n_samples,), default=None
    scoring : str, callable, list or dict, default=None
    n_jobs : int or None, default=None
    random_state : int, Generator or None, default=0
    shortcuts : bool, default=True
    verbose : int, default=0
    callback : callable, optional
        All of them as for :func:`cross_validate`; of several figures the first decides.
    rule : {'best', 'one_standard_error'}, default='best'
        Which combination is chosen: that of the best mean score, or the simplest within one standard error of it.
    simpler : dict of str to {'larger', 'smaller'}, default=None
        Which values of a parameter make a simpler model, beside what is known of `n_neighbors`, `C`, `alpha`,
        `ccp_alpha`, `max_depth`, `min_samples_leaf`, `gamma` and the like. Of several parameters the ranks are added.
    outer : int, "loo", splitter or iterable, default=None
        Folds of a second cross-validation around the first, whose error is honest: the choice is made anew for each.
    refit : bool, default=True
        Whether `estimator` of the result is made.

    Returns
    -------
    Tuning

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, 3.4.3 (one standard error); Cawley,
    Talbot (2010), On over-fitting in model selection (nested).

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier, tune
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(100) % 2
    >>> X = rng.normal(size=(100, 2)) + 1.5 * y[:, None]
    >>> found = tune(KNeighborsClassifier(), {"n_neighbors": range(1, 31)}, X, y, rule="one_standard_error", outer=5)
    >>> found.best_params, found.one_standard_error_params
    ({'n_neighbors': 4}, {'n_neighbors': 4})
    >>> len(found.outer["test_score"])
    5
    """
    check_estimator(estimator)
    require_choice("rule", rule, ("best", "one_standard_error"))
    simpler = dict(simpler or {})
    for name, direction in simpler.items():
        require_choice(f"simpler[{name!r}]", direction, ("larger", "smaller"))
    params, own_groups, place = groups_of(estimator, as_grids(grid), shortcuts)
    asked = Asked(X, y, cv, repeats, groups, scoring, random_state)
    measured = asked.run(own_groups, n_jobs, verbose, callback, "tune")
    found = Tuning(params, [measured[g].result(v) for g, v in place], rule, simpler)
    if found.interrupted:
        return found
    if outer is not None:
        options = {"cv": cv, "repeats": repeats, "scoring": scoring, "rule": rule, "simpler": simpler}
        options |= {"n_jobs": n_jobs, "random_state": random_state, "shortcuts": shortcuts}
        chooser = _Chooser(estimator, grid, options, groups)
        around = Asked(X, y, outer, 1, groups, scoring, random_state, keep_models=True)
        [nested] = around.run([Group(chooser)], 1, verbose, callback, "outer folds")
        found.outer = nested.result(0)
        found.outer_params = [model.found_.chosen_params for model in found.outer.pop("estimator")]
    if refit:
        found.estimator = clone(estimator).set_params(**found.chosen_params).fit(asked.X, asked.y)
    return found


class _Chooser:
    """`tune` as an estimator, for the outer folds."""

    def __init__(self, estimator, grid, options, groups):
        self.estimator, self.grid, self.options, self.groups = estimator, grid, options, groups

    def __sklearn_clone__(self):
        return _Chooser(self.estimator, self.grid, self.options, self.groups)

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.found_ = tune(self.estimator, self.grid, X, y, **self.options)
        if self.found_.interrupted:
            raise KeyboardInterrupt  # which ends the outer folds as well
        self.fitted_ = self.found_.estimator
        return self

    def __getattr__(self, name):
        if name.startswith("__") or "fitted_" not in vars(self):
            raise AttributeError(name)
        return getattr(self.fitted_, name)

    def score(self, X, y):
        return self.fitted_.score(X, y)


def validation_curve(
    estimator, X, y, *, param_name, param_range, cv=10, groups=None, scoring=None, n_jobs=None, random_state=0
):
    """Scores on train and test rows by the value of one parameter, along the method's own path.

    Parameters
    ----------
    estimator : estimator
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, "loo", splitter or iterable, default=10
    groups : array-like of shape (n_samples,), default=None
    scoring : str, callable, list or dict, default=None
    n_jobs : int or None, default=None
    random_state : int, Generator or None, default=0
        All of them as for :func:`cross_validate`.
    param_name : str
    param_range : sequence of values

    Returns
    -------
    train_scores, test_scores : ndarray of shape (n_values, n_folds)
        As scikit-learn's `validation_curve` has them.

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier, validation_curve
    >>> X, y = [[float(i)] for i in range(20)], [0] * 10 + [1] * 10
    >>> train, test = validation_curve(
    ...     DecisionTreeClassifier(), X, y, param_name="ccp_alpha", param_range=[0.0, 0.6], cv=5
    ... )
    >>> train.mean(axis=1).tolist()
    [1.0, 0.5]
    """
    check_estimator(estimator)
    _, own_groups, place = groups_of(estimator, as_grids({param_name: param_range}))
    asked = Asked(X, y, cv, 1, groups, scoring, random_state, train_scores=True)
    measured = asked.run(own_groups, n_jobs)
    results = [measured[g].result(v) for g, v in place]
    return _both_sides(results)


def _both_sides(results):
    """(train scores, test scores), of the first figure, of shape (n_results, n_folds)."""
    name = next(key[5:] for key in results[0] if key.startswith("test_"))
    return tuple(np.array([result[f"{side}_{name}"] for result in results]) for side in ("train", "test"))


def learning_curve(
    estimator,
    X,
    y,
    *,
    train_sizes=(0.1, 0.325, 0.55, 0.775, 1.0),
    cv=10,
    groups=None,
    scoring=None,
    n_jobs=None,
    random_state=0,
    shuffle=False,
):
    """Scores on train and test rows by the number of rows that are fitted on.

    Parameters
    ----------
    estimator : estimator
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, "loo", splitter or iterable, default=10
    groups : array-like of shape (n_samples,), default=None
    scoring : str, callable, list or dict, default=None
    n_jobs : int or None, default=None
    random_state : int, Generator or None, default=0
        All of them as for :func:`cross_validate`.
    train_sizes : array-like, default=(0.1, 0.325, 0.55, 0.775, 1.0)
        Shares of the train rows of the smallest fold, in (0, 1], or numbers of rows.
    shuffle : bool, default=False
        Whether the rows fitted on are drawn, by `random_state`; else they are the first of each fold's train rows.

    Returns
    -------
    train_sizes_abs : ndarray of shape (n_sizes,)
        Ascending, each once.
    train_scores, test_scores : ndarray of shape (n_sizes, n_folds)
        As scikit-learn's `learning_curve` has them.

    Examples
    --------
    >>> from fastclf import NearestCentroid, learning_curve
    >>> X, y = [[float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> sizes, train, test = learning_curve(NearestCentroid(), X, y, train_sizes=[20, 30], cv=4)
    >>> sizes.tolist(), test.shape
    ([20, 30], (2, 4))
    """
    check_estimator(estimator)
    asked = Asked(X, y, cv, 1, groups, scoring, random_state, train_scores=True)
    folds = list(asked.folds)
    sizes = _as_sizes(train_sizes, min(len(asked.y[train]) for train, _ in folds))
    rng = np.random.default_rng(random_state)
    rows = np.arange(len(asked.y))
    folds = [(rng.permutation(rows[train]) if shuffle else rows[train], test) for train, test in folds]
    results = []
    for size in sizes:
        asked = Asked(X, y, [(train[:size], test) for train, test in folds], scoring=scoring, train_scores=True)
        [measured] = asked.run([Group(estimator)], n_jobs)
        results.append(measured.result(0))
    return sizes, *_both_sides(results)


def _as_sizes(train_sizes, n):
    sizes = np.asarray(train_sizes)
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"train_sizes is {train_sizes!r}; a list of shares or numbers of rows is wanted")
    if sizes.dtype.kind == "f":
        sizes = as_numbers(sizes)
        if not ((sizes > 0) & (sizes <= 1)).all():
            raise ValueError(f"train_sizes is {train_sizes!r}; shares above 0 up to 1 are wanted")
        sizes = np.clip((sizes * n).astype(np.intp), 1, n)
    if sizes.dtype.kind not in "iu" or sizes.min() < 1 or sizes.max() > n:
        raise ValueError(f"train_sizes is {train_sizes!r}; numbers from 1 to {n}, the train rows, are wanted")
    return np.unique(sizes)
