"""Machines without some of their rows, each from the one of all rows, whose alphas and kernel values it takes along."""

import copy

import numpy as np

from .._folds import rows_of_folds
from .._threads import run
from ..kernels.values import BLOCK
from ..linear_model.warm_path import ascending
from .pairs import held_out_scores, outcome, solved
from .smo import Dual, at_bounds

# Numbers of the machines of folds that are kept from one C to the next: of leave-one-out none are.
_KEPT = 1 << 22


class Unsolved(Exception):
    """A machine did not reach its optimum."""


def fold_answers(models, X, y, fold):
    """The labels (n_models, n) of rows by the machines without the rows of their folds, of models that differ in C.

    None if a C is infinite, or a machine does not reach its optimum.
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
    """Scores (n_Cs, n, n_pairs) of rows by the machines without them: each row of the problem is in one of `tests`.

    Where no support vector is left out, a machine is that of all rows.
    """
    n_pairs, threads = len(problem.pairs), options["threads"]
    left = problem.share(options)
    problem.gram.threads = 1
    scores = np.empty((len(problem.Cs), len(problem.codes), n_pairs))
    # the machine of all rows is solved in each part, so that no more of them are made than keep the threads busy
    n_parts = min(len(tests), -(-threads // n_pairs))
    items = [(p, part) for p in range(n_pairs) for part in np.array_split(np.arange(len(tests)), n_parts)]

    kept = left / min(threads, len(items))

    def work(item):
        p, part = item
        y = problem.signs(problem.pairs[p])
        dual = problem.dual(problem.pairs[p], np.zeros(len(y)), goes_on=True)
        mine = np.sort(np.concatenate([tests[i] for i in part]))
        inner, other = mine[y[mine] != 0], mine[y[mine] == 0]
        keeps, before = len(part) * len(y) <= _KEPT, {}
        for own, C in zip(scores[:, :, p], problem.Cs):
            if C is not dual.C:
                dual.move(C)
            yield from _solved(dual, options, kept, n_pairs)
            own[inner] = dual.f[inner] + y[inner] + outcome(dual).intercept
            if len(other):
                own[other] = held_out_scores(dual, other)
            free = dual.n_free()  # where none is, b hangs on rows that are no support vectors, too
            yield
            for i in part:
                test = tests[i]
                inside, outside = test[y[test] != 0], test[y[test] == 0]
                last = before.pop(i, None)
                if dual.alpha[inside].any() or not free:
                    less = yield from without(dual, inside)
                    if last is not None:
                        last.move(less.C)
                        less = max(less, last, key=Dual.objective)
                    yield from _solved(less, options, kept, n_pairs)
                    own[inside] = less.f[inside] + y[inside] + outcome(less).intercept
                    if len(outside):
                        own[outside] = held_out_scores(less, outside)
                    if keeps and less.sides is dual.sides:  # one that took a cache of its own gives it back
                        before[i] = less
                    yield

    run(work, items, threads)
    return scores


def _solved(dual, options, kept, n_pairs):
    yield from solved(dual, options, kept, n_pairs)
    if not dual.converged:
        raise Unsolved


def without(dual, rows):
    """A generator that returns the problem without these rows, which stay in it at bounds of 0, for their f."""
    less = copy.copy(dual)
    less.C, less.alpha, less.f = dual.C.copy(), dual.alpha.copy(), dual.f.copy()
    less.C[rows] = 0
    less.n_steps, less.levels = 0, []
    yield from _add(less, rows, -less.alpha[rows])
    # y'alpha is to be 0 again: free rows, those first that gain most, take what went as far as there is room
    y, excess = less.y, -float(less.y @ less.alpha)
    side = np.sign(excess)
    room = np.where(y == side, less.C - less.alpha, np.where(y == -side, less.alpha, 0))
    order = np.lexsort((side * less.f, ~((less.alpha > 0) & (less.alpha < less.C))))
    room, before = room[order], np.cumsum(room[order]) - room[order]
    taken = np.clip(abs(excess) - before, 0, room)
    used = taken > 0
    yield from _add(less, order[used], side * y[order[used]] * taken[used])
    return less


def _add(dual, rows, change):
    """Change alpha of some rows, and f of all."""
    rows, change = rows[change != 0], change[change != 0]
    dual.alpha[rows] = at_bounds(dual.alpha[rows] + change, dual.C[rows])
    dual.noise = float(np.hypot(dual.noise, np.linalg.norm(change)))
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        Z = dual.gram.pack(rows[block])
        dual.add_kept(Z, np.arange(len(Z)), dual.y[rows[block]] * change[block], rows[block])
        yield
