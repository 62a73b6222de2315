"""Binary SVMs for folds: each starts from the solution for all rows, and shares the cache of kernel values."""

import numpy as np

from .._folds import rows_of_folds
from .._threads import run
from ..linear_model.warm_path import ascending
from . import smo
from .dual import PROOF, Dual, add
from .pairs import limits_of, solved_dual

# The solutions of folds are kept from one C to the next if they have at most this number of coefficients.
_KEPT = 1 << 22


class Unsolved(Exception):
    """Raised if a binary classifier does not reach its optimum."""


def fold_answers(models, X, y, fold):
    """Predicted labels (n_models, n): each row is left out of the fit with its fold; the models differ in C alone.

    None if a C is infinite, or if a binary classifier does not reach its optimum.
    """
    order = ascending(models)
    models = [models[i] for i in order]
    if float(models[-1].C) == np.inf:
        return None
    X, problem, attributes, options = models[0]._shared(models, X, y)
    try:
        scores = fold_scores(problem, rows_of_folds(fold), options)
    except Unsolved:
        return None
    return attributes["classes_"][np.array([models[0]._chosen(each) for each in scores])[np.argsort(order)]]


def fold_scores(problem, tests, options):
    """Scores (n_Cs, n, n_pairs) of rows by classifiers that leave out their fold; tests: a list of rows for each fold.

    A classifier without a support vector in the fold is the same with and without the fold.
    """
    n_pairs = len(problem.pairs)
    scores = np.empty((len(problem.Cs), len(problem.codes), n_pairs))
    # the folds are divided into parts for the threads, and each part needs a solution for all rows: there are only as
    # many parts as keep all threads busy
    n_parts = min(len(tests), -(-options["threads"] // n_pairs))
    items = [(p, part) for p in range(n_pairs) for part in np.array_split(np.arange(len(tests)), n_parts)]
    threads = min(options["threads"], len(items))
    limits = limits_of(options, problem.gram.dtype, len(items), threads)

    def work(item):
        p, part = item
        dual = problem.dual(problem.pairs[p], problem.Cs[0])
        steps = smo.steps_for(dual, limits, goes_on=True)
        place = np.full(len(problem.codes), -1)
        place[dual.rows] = np.arange(len(dual))
        keeps, before = len(part) * len(dual) <= _KEPT, {}
        for out, C in zip(scores[:, :, p], problem.Cs):
            bounds = C[dual.rows]
            if C is not problem.Cs[0]:
                dual.move(bounds)
            yield from _solved(dual, steps, limits)
            _score(dual, np.concatenate([tests[i] for i in part]), place, out)
            # if no row is free (alpha between its bounds), rows that are no support vectors determine the intercept,
            # too
            free = dual.is_free().any()
            yield
            for i in part:
                inside = place[tests[i]]
                inside = inside[inside >= 0]
                last = before.pop(i, None)
                if dual.coef[inside].any() or not free:
                    less = yield from without(dual, steps, inside, bounds)
                    if last is not None:
                        last.move((less.upper - less.lower).copy())
                        less = max(less, last, key=Dual.objective)
                    yield from _solved(less, steps, limits)
                    _score(less, tests[i], place, out)
                    if keeps and less.gram is dual.gram:
                        before[i] = less
                    yield

    run(work, items, threads)
    return scores


def _solved(dual, steps, limits):
    """A generator: solve the dual problem, or raise `Unsolved` if the solver gives up."""
    yield from solved_dual(dual, steps, limits)
    if not dual.converged:
        raise Unsolved


def _score(dual, rows, place, scores_out):
    """Write the scores of the listed rows by a dual's solution; place: each row's index in the dual, -1 if none."""
    inside = rows[place[rows] >= 0]
    intercept = dual.prove()[PROOF["intercept"]]
    scores_out[inside] = dual.f[place[inside]] + dual.y[place[inside]] + intercept
    outside, support = rows[place[rows] < 0], np.flatnonzero(dual.coef)
    if len(outside):
        sums = np.zeros((1, len(outside)))
        for _ in add(dual.gram, dual.rows[support], dual.coef[support][None], outside, sums, 1):
            pass
        scores_out[outside] = sums[0] + intercept


def without(dual, steps, rows, C):
    """A generator that returns the dual without some rows: their bounds become 0, and f still has their scores."""
    less, C = dual.copy(), C.copy()
    C[rows] = 0
    less.bound(C)
    steps.begin(less)
    yield from steps.add(less, rows, less.set_coef(rows, np.zeros(len(rows))))
    # the coefficients of other rows change, so that the sum of all coefficients is 0 again: first those of free rows,
    # in the order of their gradients, each as far as its bounds allow
    excess = float(less.coef.sum())
    side = np.sign(excess)
    most = less.coef - less.lower if side > 0 else less.upper - less.coef
    order = np.lexsort((-side * less.f, ~less.is_free()))
    before = np.cumsum(most[order]) - most[order]
    taken = np.clip(abs(excess) - before, 0, most[order])
    used = order[taken > 0]
    change = less.set_coef(used, less.coef[used] - side * taken[taken > 0])
    yield from steps.add(less, used, change)
    return less
