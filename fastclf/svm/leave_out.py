"""Binary classifiers without some of their rows, each from the one of all rows, whose alphas and kernel values it takes
along."""

import numpy as np

from .._folds import rows_of_folds
from .._threads import run
from ..linear_model.warm_path import ascending
from . import smo
from .dual import PROOF, Dual, add
from .pairs import limits_of, solved_dual

# Numbers of the binary classifiers of folds that are kept from one C to the next: of leave-one-out none are.
_KEPT = 1 << 22


class Unsolved(Exception):
    """A binary classifier did not reach its optimum."""


def fold_answers(models, X, y, fold):
    """The labels (n_models, n) of rows by the classifiers without the rows of their folds, of models that differ in C.

    None if a C is infinite, or a binary classifier does not reach its optimum.
    """
    order = ascending(models)
    models = [models[i] for i in order]
    if np.isinf(models[-1].C):
        return None
    X, problem, attributes, options = models[0]._shared(models, X, y)
    try:
        scores = fold_scores(problem, rows_of_folds(fold), options)
    except Unsolved:
        return None
    return attributes["classes_"][np.array([models[0]._chosen(own) for own in scores])[np.argsort(order)]]


def fold_scores(problem, tests, options):
    """Scores (n_Cs, n, n_pairs) of rows by the classifiers without them: each row is in one of `tests`.

    Where no support vector is left out, a binary classifier is that of all rows.
    """
    n_pairs = len(problem.pairs)
    scores = np.empty((len(problem.Cs), len(problem.codes), n_pairs))
    # the classifier of all rows is solved in each part, so that no more of them are made than keep the threads busy
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
        for own, C in zip(scores[:, :, p], problem.Cs):
            bounds = C[dual.rows]
            if C is not problem.Cs[0]:
                dual.move(bounds)
            yield from _solved(dual, steps, limits)
            _score(dual, np.concatenate([tests[i] for i in part]), place, own)
            free = dual.is_free().any()  # where none is, b hangs on rows that are no support vectors, too
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
                    _score(less, tests[i], place, own)
                    if keeps and less.gram is dual.gram:
                        before[i] = less
                    yield

    run(work, items, threads)
    return scores


def _solved(dual, steps, limits):
    yield from solved_dual(dual, steps, limits)
    if not dual.converged:
        raise Unsolved


def _score(dual, rows, place, scores_out):
    """Write the scores of some rows of the gram."""
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
    """A generator that returns the problem without these rows, which stay in it at bounds of 0, for their f."""
    less, C = dual.copy(), C.copy()
    C[rows] = 0
    less.bound(C)
    steps.begin(less)
    yield from steps.add(less, rows, less.set_coef(rows, np.zeros(len(rows))))
    # the sum of coef is to be 0 again: free rows, those first that gain most, take what went as far as they can
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
