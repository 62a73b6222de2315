"""Choice of parameters: grids with shortcuts along a parameter, one-standard-error rule, nested cross-validation."""

from collections.abc import Mapping
from itertools import product
from math import prod

import numpy as np

from .._estimator import clone, own, path_parameters
from .._exceptions import warn
from .._validation import as_list, described, require_choice, require_memory, require_strings, require_truth
from .candidates import Candidates
from .evaluation import Evaluation, Request, check_estimator, documented, tell_failures
from .results import deviation

# For each parameter, whether a larger or a smaller value makes the model simpler.
_SIMPLER = dict.fromkeys(
    ["alpha", "ccp_alpha", "min_impurity_decrease", "min_samples_leaf", "min_samples_split", "min_weight_fraction_leaf"]
    + ["lam", "n_neighbors", "radius", "shrink_threshold", "var_smoothing"],
    "larger",
) | dict.fromkeys(["C", "bins", "degree", "gamma", "max_depth", "max_features", "max_leaf_nodes"], "smaller")

# The number of bytes that a combination of parameters takes: its dict, its estimator and its scores, at the least.
COMBINATION_BYTES = 1000

# Mean scores whose relative difference is below this number are regarded as equal, because sums are rounded.
_ROUNDING = 1e-12


class Tuning(dict):
    """The result of :func:`tune`: the dict that scikit-learn's searches call ``cv_results_``, with more attributes.

    Keys
    ----
    params : list of dict
        Each combination of the grid.
    param_<name> : masked array of shape (n_params,)
        The values of one parameter, masked for combinations without it.
    mean_test_score, std_test_score : ndarray of shape (n_params,)
        Over the folds; `std_test_score` has ddof=0. If there are several figures, ``mean_test_<figure>`` and so on.
    rank_test_score : ndarray of int of shape (n_params,)
        1 is the best; combinations with equal mean scores share the smallest of their ranks.
    split<i>_test_score : ndarray of shape (n_params,)
        Of fold i.
    mean_fit_time, std_fit_time, mean_score_time, std_score_time : ndarray of shape (n_params,), seconds
    mean_train_score, std_train_score, split<i>_train_score
        Only if requested.

    Attributes
    ----------
    params : list of dict
        Each combination of the grid.
    mean_score, standard_error : ndarray of shape (n_params,)
        Over the folds; `standard_error` is std(ddof=1) / sqrt(n_folds).
    scores : ndarray of shape (n_params, n_folds)
    best_index, one_standard_error_index : int
        The combination with the largest mean score, of equal ones the simplest; and the simplest combination whose mean
        score is at most one standard error (of the best) below it. Of equally simple ones it is the first. See the
        argument `simpler` of :func:`tune`.
    best_params, one_standard_error_params, chosen_params : dict
        `chosen_params` is one of the other two, according to `rule`.
    estimator : estimator or None
        Fitted to all rows with `chosen_params`, unless `refit` is False, folds are missing, or that fit fails, of which
        a warning tells.
    best_index_, best_params_, best_score_, best_estimator_
        scikit-learn's names for the index, the parameters, the mean score and the fitted estimator of the choice.
    error : float
        1 - the mean score of `chosen_params`: too optimistic, because the same folds made the choice; see `outer`.
    outer : CrossValidation or None
        Only with `outer`: results of the whole procedure, choice included, on folds that were not used for the choice;
        its `outer_params` are the parameters chosen for each fold.
    interrupted : bool
        Whether folds are missing because of Ctrl-C or the callback.
    """

    def __init__(self, params, results, rule, simpler):
        self.params, self.results = params, results
        self.interrupted = any(result.interrupted for result in results)
        # If the search was stopped, only folds that were finished for all combinations count.
        folds = sorted(set.intersection(*(set(result.folds) for result in results)))
        if not folds:
            raise RuntimeError("the callback or Ctrl-C stopped tune before it had finished a fold")
        self._fill([np.isin(result.folds, folds) for result in results])
        self.scores = np.array([result.scores[np.isin(result.folds, folds)] for result in results])
        self.mean_score = self.scores.mean(axis=1)
        n = len(folds)
        self.standard_error = deviation(self.scores, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(params), np.nan)
        self.best_index = self._simplest(simpler)
        error = self.standard_error[self.best_index]
        self.one_standard_error_index = self._simplest(simpler, 0 if np.isnan(error) else error)
        self.chosen_index = self.best_index if rule == "best" else self.one_standard_error_index
        self.outer = self.outer_params = self.estimator = None

    def _fill(self, kept):
        """Add the keys of scikit-learn's `cv_results_`; kept[i]: a mask of the folds that count for combination i."""
        results = self.results
        for key in results[0]:
            if key == "estimator":
                continue
            values = np.array([result[key][folds] for result, folds in zip(results, kept)])
            self[f"mean_{key}"], self[f"std_{key}"] = values.mean(axis=1), deviation(values)
            if key.startswith(("test_", "train_")):
                side, _, figure = key.partition("_")
                self |= {f"split{i}_{side}_{figure}": column for i, column in enumerate(values.T)}
            if key.startswith("test_"):
                mean = np.nan_to_num(values.mean(axis=1), nan=-np.inf, neginf=-np.inf)
                self[f"rank_{key}"] = 1 + np.count_nonzero(mean > mean[:, None], axis=1).astype(np.int32)
        for name in dict.fromkeys(name for params in self.params for name in params):
            column = np.ma.masked_all(len(self.params), object)
            for i, params in enumerate(self.params):
                if name in params:
                    column[i] = params[name]
            self[f"param_{name}"] = column
        self["params"] = self.params

    def _simplest(self, simpler, below=0):
        """The simplest of the combinations whose mean score is at most `below` smaller than the best, but for rounding.

        A combination whose fits failed, with the score NaN, is chosen only if there is no other.
        """
        means = np.nan_to_num(self.mean_score, nan=-np.inf, neginf=-np.inf)
        best = means.max()
        near = np.flatnonzero(means >= best - below - _ROUNDING * abs(best)) if best > -np.inf else [0]
        ties = means if below else np.zeros(len(means))

        def key(i):
            return simplicity(self.params[i], self.params, simpler), ties[i], -i

        return int(max(near, key=key))

    @property
    def best_params(self):
        return self.params[self.best_index]

    @property
    def one_standard_error_params(self):
        return self.params[self.one_standard_error_index]

    @property
    def chosen_params(self):
        return self.params[self.chosen_index]

    best_params_ = chosen_params

    @property
    def best_index_(self):
        return self.chosen_index

    @property
    def best_score_(self):
        return float(self.mean_score[self.chosen_index])

    @property
    def best_estimator_(self):
        return self.estimator

    @property
    def cv_results_(self):
        return self

    @property
    def error(self):
        return 1 - self.best_score_

    def __repr__(self):
        return f"Tuning(chosen_params={self.chosen_params!r}, error={self.error:.4f})"


def simplicity(combination, params, simpler):
    """The simplicity of a combination: the sum of its ranks in the parameters whose simpler direction is known."""
    total = 0
    for name, value in combination.items():
        direction = simpler.get(name, _SIMPLER.get(name.rpartition("__")[2]))
        values = [other[name] for other in params if name in other]
        if direction is None or not all(isinstance(v, (int, float, np.number)) or v is None for v in values):
            continue
        # None, which stands for no limit (max_depth) or no penalty (shrink_threshold), counts as the least simple of
        # the parameter's values
        none = np.inf if direction == "smaller" else -np.inf
        numbers = sorted({none if v is None else float(v) for v in values}, reverse=direction == "smaller")
        total += numbers.index(none if value is None else float(value))
    return total


def as_grids(grid):
    """The grids as a list of dicts {name: list of values}, with sorted names, which is scikit-learn's order."""
    grids = [grid] if isinstance(grid, Mapping) else as_list(grid, "param_grid")
    if not grids or not all(isinstance(mapping, Mapping) for mapping in grids):
        raise TypeError(
            f"param_grid is {described(grid)}; a dict of parameter to list of values, or a list of these, is wanted"
        )
    for mapping in grids:
        require_strings(mapping, "param_grid")
    return [
        {name: _as_values(values, f"param_grid[{name!r}]") for name, values in sorted(mapping.items())}
        for mapping in grids
    ]


def _as_values(values, name):
    """The values of a parameter as a list, which must not be empty."""
    found = [] if isinstance(values, str) or not np.iterable(values) else as_list(values, name)
    if not found:
        raise ValueError(f"{name} is {described(values)}; a list of values is wanted")
    return found


def candidates_of(estimator, grids, shortcuts=True):
    """(all combinations, a list of Candidates, for each combination its index in the list and that of its value)."""
    n = sum(prod(map(len, grid.values())) for grid in grids)
    require_memory(COMBINATION_BYTES * n, f"a search over {n} combinations of parameters")
    params, candidates, place = [], [], []
    for grid in grids:
        path = next((name for name in grid if shortcuts and name in path_parameters(estimator)), None)
        others = [name for name in grid if name != path]
        numbers = {}
        for places in product(*(range(len(values)) for values in grid.values())):
            at = dict(zip(grid, places))
            rest = tuple(at[name] for name in others)
            if rest not in numbers:
                numbers[rest] = len(candidates)
                fixed = clone(estimator).set_params(**{name: own(grid[name][at[name]]) for name in others})
                candidates.append(Candidates(fixed, path, grid[path] if path else (None,), shortcuts))
            params.append({name: values[at[name]] for name, values in grid.items()})
            place.append((numbers[rest], at[path] if path else 0))
    return params, candidates, place


@documented
def tune(
    estimator,
    param_grid,
    X,
    y=None,
    *,
    scoring=None,
    n_jobs=None,
    refit=True,
    cv=None,
    verbose=0,
    pre_dispatch="2*n_jobs",
    error_score=np.nan,
    return_train_score=False,
    groups=None,
    params=None,
    rule="best",
    simpler=None,
    outer=None,
    repeats=1,
    random_state=None,
    shortcuts=True,
    callback=None,
):
    """Choose parameters by cross-validation, all combinations on the same folds.

    Along one parameter the work of a fold is shared, if the estimator can do this: nearest neighbours answer for all
    `n_neighbors` by one search (leave-one-out by a single search in all); trees are grown once, from columns that are
    sorted once for all folds, and pruned for each `ccp_alpha`; logistic regression and support vector machines start
    each `C` at the optimum of the previous one (the result is the same within `tol`); least squares fits each `alpha`
    once for all folds. The same holds for models inside a `TableClassifier`, with names such as `model__C`. The scores
    are those of models fitted one by one.

    Parameters
    ----------
    {estimator}
    param_grid : dict of str to list, or list of dicts
        Values for each parameter; every combination is tried. `step__parameter` names a parameter of a pipeline's step.
    {X}
    {y}
    {scoring}
        If there are several figures, the first decides.
    {n_jobs}
    refit : bool, default=True
        Whether to fit `estimator` of the result.
    {cv}
    {verbose}
    {pre_dispatch}
    {error_score}
    return_train_score : bool, default=False
        Whether the train rows are scored, too.
    {groups}
    {params}
    rule : {"best", "one_standard_error"}, default="best"
        The rule of choice: the combination with the best mean score, or the simplest within one standard error of it.
        Of combinations with equal mean scores the simplest is taken.
    simpler : dict of str to {"larger", "smaller"}, default=None
        The direction in which values of a parameter make a simpler model, in addition to the known directions of
        `n_neighbors`, `C`, `alpha`, `ccp_alpha`, `max_depth`, `min_samples_leaf`, `gamma` and others. Of
        SVC the larger `budget` is the simpler one (a smaller |w|), of KernelPerceptron the smaller one (fewer support
        vectors). The ranks of several parameters are added.
    outer : int, "loo", splitter or iterable, default=None
        Folds of an outer cross-validation, whose error is unbiased: the choice is repeated for each outer fold.
    {repeats}
    {random_state}
    {shortcuts}
    {callback}

    Returns
    -------
    Tuning
        scikit-learn's ``cv_results_``, with the choice in attributes.

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
    ({'n_neighbors': 6}, {'n_neighbors': 30})
    >>> len(found.outer["test_score"])
    5
    """
    check_estimator(estimator, scoring=scoring)
    require_choice("rule", rule, ("best", "one_standard_error"))
    refit, shortcuts = require_truth("refit", refit), require_truth("shortcuts", shortcuts)
    simpler = {} if simpler is None else simpler
    if not isinstance(simpler, Mapping):
        raise TypeError(f"simpler is {described(simpler)}; a dict of names to 'larger' or 'smaller' is wanted")
    for name, direction in simpler.items():
        require_choice(f"simpler[{name!r}]", direction, ("larger", "smaller"))
    combinations, candidates, place = candidates_of(estimator, as_grids(param_grid), shortcuts)
    request = Request(X, y, cv, groups, scoring, params, error_score, random_state, repeats, return_train_score)
    evaluation = Evaluation(request, candidates)
    measured = evaluation.run(n_jobs, verbose, callback, "tune")
    tell_failures(measured)
    directions = _own_directions(estimator, combinations) | dict(simpler)
    found = Tuning(combinations, [measured[g].result(v) for g, v in place], rule, directions)
    if found.interrupted:
        return found
    if outer is not None:
        options = {"cv": cv, "repeats": repeats, "scoring": scoring, "rule": rule, "simpler": simpler}
        options |= {"n_jobs": n_jobs, "random_state": random_state, "shortcuts": shortcuts, "error_score": error_score}
        chooser = _Chooser(estimator, param_grid, options)
        # The groups of an outer fold's train rows are passed to `tune` inside the fold as an argument of `fit`.
        given = dict(params or {}) | ({} if groups is None else {"tuned_groups": groups})
        request = Request(X, y, outer, groups, scoring, given, "raise", random_state)
        request.keep_models = request.keep_answers = True
        [nested] = Evaluation(request, [Candidates(chooser)]).run(1, verbose, callback, "outer folds")
        found.outer = nested.result(0)
        found.outer_params = [model.found_.chosen_params for model in found.outer.pop("estimator")]
    if refit:
        every = evaluation.part(np.arange(evaluation.n))
        chosen = Candidates(clone(estimator).set_params(**found.chosen_params))
        try:
            [found.estimator] = chosen.fit(every.X, every.y, params)
        except ValueError as error:
            if error_score == "raise":
                raise
            warn(
                f"{found.chosen_params}, the choice, can be fitted to the folds, but not to all rows, so that estimator"
                f" is None: {error}",
                "FitFailedWarning",
            )
    return found


def _own_directions(estimator, combinations):
    """{parameter: "larger" or "smaller"}, the simpler direction that an estimator, or a part of it, declares."""
    if not hasattr(estimator, "get_params"):
        return {}
    parts, found = {"": estimator} | estimator.get_params(), {}
    for name in {name for combination in combinations for name in combination}:
        prefix, _, own_name = name.rpartition("__")
        direction = dict(getattr(parts.get(prefix), "_simpler", ())).get(own_name)
        if direction is not None:
            found[name] = direction
    return found


class _Chooser:
    """An estimator whose `fit` calls `tune`, to be evaluated on the outer folds of nested cross-validation."""

    def __init__(self, estimator, param_grid, options):
        self.estimator, self.param_grid, self.options = estimator, param_grid, options

    def __sklearn_clone__(self):
        return _Chooser(self.estimator, self.param_grid, self.options)

    def __sklearn_tags__(self):
        return self.estimator.__sklearn_tags__()

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y=None, tuned_groups=None, **params):
        self.found_ = tune(self.estimator, self.param_grid, X, y, groups=tuned_groups, params=params, **self.options)
        if self.found_.interrupted:
            raise KeyboardInterrupt  # if the search in a fold is stopped, the evaluation on the outer folds ends, too
        self.fitted_ = self.found_.estimator
        return self

    def __getattr__(self, name):
        if name.startswith("__") or "fitted_" not in vars(self):
            raise AttributeError(name)
        return getattr(self.fitted_, name)

    def score(self, X, y):
        return self.fitted_.score(X, y)
