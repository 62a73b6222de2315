"""The binary classifiers of all pairs of classes, fitted in threads, and what is learned of them."""

import sys
import threading
import time

import numpy as np

from .._threads import run
from . import small_pairs, smo
from .dual import HARD, PROOF, Dual, add
from .pair_scores import fit_sigmoid, pair_scores, pairs_of
from .small_pairs import SLOW, SOLVED, STOPPED, UNSOLVED, SmallPairs

# Folds of Platt's sigmoid.
_FOLDS = 5

# Rows of a working set at most, however small or large the cache is.
_LEAST_SET, _LARGEST_SET = 64, 2048

# Threads that pairs are dealt to at most, where each may want the memory of a Newton step.
_NEWTON_THREADS = 16

# A larger cache is no better than one of this size.
_MOST_CACHE = 1e18

# Seconds between two lines of what is shown.
_SHOW_SECONDS = 1.0


class Problem:
    """The pairs of classes of a fit.

    Parameters
    ----------
    gram : Gram or Table
    codes : ndarray of shape (n,)
        The class of each row of the gram; -1: the row is not there.
    Cs : list of ndarray of shape (n,)
        Bounds of alpha, one array for each C that is solved for.
    n_classes : int

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        The rows that are there, sorted by class.
    starts : ndarray of shape (n_classes + 1,), int64
        Where the rows of each class begin.
    pairs : list of (a, b)
    """

    def __init__(self, gram, codes, Cs, n_classes):
        self.gram, self.codes, self.Cs, self.n_classes = gram, codes, Cs, n_classes
        self.pairs = pairs_of(n_classes)
        order = np.argsort(codes, kind="stable")
        self.starts = np.searchsorted(codes[order], np.arange(n_classes + 1))
        self.rows = order[self.starts[0] :].astype(np.int64)
        self.starts -= self.starts[0]

    def class_rows(self, c):
        return self.rows[self.starts[c] : self.starts[c + 1]]

    def without(self, rows, C):
        """The problem of the other rows."""
        codes = self.codes.copy()
        codes[rows] = -1
        return Problem(self.gram, codes, [C], self.n_classes)

    def dual(self, pair, C, coef=None):
        """The dual of a pair (a, b), with y = 1 for a, but of two classes for b; coef: where it starts."""
        first, second = map(self.class_rows, pair)
        rows = np.concatenate([first, second])
        y = np.repeat([1.0, -1.0] if self.n_classes > 2 else [-1.0, 1.0], [len(first), len(second)])
        return Dual(self.gram, rows, y, C[rows], coef)


class Solutions:
    """What is known of each pair of a problem, for each C.

    rows, C, coef: see `pairs_t` of `_small_pairs.pyx`. proof: the numbers of `dual.PROOF`.
    """

    __slots__ = (
        "C",
        "coef",
        "max_iter",
        "n_steps",
        "patience",
        "proof",
        "reason",
        "rounding",
        "starts",
        "status",
        "tol",
    )

    def __init__(self, problem, options, coef=None):
        n_Cs, n_pairs, n = len(problem.Cs), len(problem.pairs), len(problem.rows)
        self.starts, self.C = problem.starts, np.array([C[problem.rows] for C in problem.Cs])
        self.coef = np.zeros((n_Cs, problem.n_classes - 1, n))
        if coef is not None:
            self.coef[0] = coef
        self.proof = np.zeros((n_Cs, n_pairs, len(PROOF)))
        self.n_steps, self.status = np.zeros((n_Cs, n_pairs), np.int64), np.full((n_Cs, n_pairs), UNSOLVED, np.int8)
        self.reason = ""  # why a pair was stopped
        self.tol, self.max_iter = options["tol"], options["max_iter"]
        self.rounding, self.patience = 0.0, 0  # of the kernel values; looks at rows, see `small_pairs`

    def n_solved(self):
        """The number of each pair's first C that are solved."""
        return ((self.status == SOLVED) | (self.status == STOPPED)).sum(axis=0)

    def of_pair(self, c, pair):
        """The two parts of coef that are a pair's."""
        a, b = pair
        rows = [slice(self.starts[k], self.starts[k + 1]) for k in pair]
        return self.coef[c, b - 1, rows[0]], self.coef[c, a, rows[1]]

    def keep(self, c, p, pair, dual):
        first, second = self.of_pair(c, pair)
        first[:], second[:] = np.split(dual.coef, [len(first)])
        self.proof[c, p], self.n_steps[c, p] = dual.prove(), dual.n_steps
        self.status[c, p] = SOLVED if dual.converged else STOPPED
        self.reason = self.reason or dual.reason

    def attributes(self, problem, c):
        """scikit-learn's attributes of all pairs."""
        proof = {name: self.proof[c, :, column] for name, column in PROOF.items()}
        support = np.flatnonzero(self.coef[c].any(axis=0))
        rows = problem.rows[support]
        return {
            "support_": rows.astype(np.int32),
            "n_support_": np.bincount(problem.codes[rows], minlength=problem.n_classes).astype(np.int32),
            "dual_coef_": self.coef[c].take(support, axis=1),
            "intercept_": proof["intercept"].copy(),
            "n_iter_": np.minimum(self.n_steps[c], 2**31 - 1).astype(np.int32),
            "violations_": proof["violation"].copy(),
            "violation_": float(proof["violation"].max()),
            "dual_objective_": proof["objective"].copy(),
            "duality_gap_": float(proof["gap"].max()),
            "margin_": proof["margin"].copy(),
            "_converged": bool((self.status[c] == SOLVED).all()),
            "_reason": self.reason,
        }


class Watch:
    """Shows how a fit goes on, and tells a callback."""

    def __init__(self, verbose, callback):
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}; a function of (step, total, value) or None is wanted")
        self.verbose, self.callback = verbose, callback
        self.is_asked = bool(verbose) or callback is not None
        self.stopped, self.steps, self._seen = False, 0, {}
        self._lock = threading.Lock()
        self._told = time.monotonic()

    def tell(self, what, n_steps, violation, shown=""):
        """That so many steps were made for something that has a name; returns whether this ends the fit."""
        if not self.is_asked:
            return False
        with self._lock:
            self.steps += n_steps - self._seen.get(what, 0)
            self._seen[what] = n_steps
            if self.verbose and time.monotonic() - self._told > _SHOW_SECONDS:
                self._told = time.monotonic()
                self.show(what, n_steps, violation, shown)
            if self.callback is not None and not self.stopped and self.callback(self.steps, None, violation):
                self.stopped = True
            return self.stopped

    def show(self, what, n_steps, violation, shown=""):
        print(f"SVC {what}: {n_steps} steps, violation {violation:.2e}{shown}", file=sys.stderr)


def fit_pairs(problem, options, start, watch):
    """The attributes of a fit for each C. `start`: coef to begin with, or None."""
    found = Solutions(problem, options, start)
    solve_all(problem, options, found, watch)
    if watch.verbose:
        watch.show("in all", found.n_steps.sum(), found.proof[..., PROOF["violation"]].max())
    return [found.attributes(problem, c) for c in range(len(problem.Cs))]


def limits_of(options, dtype, n_pairs, threads):
    """What the solution of one of some pairs may take, where those are dealt to threads."""
    cache_bytes = min(options["cache_bytes"], _MOST_CACHE)
    # the matrix of a working set is a twelfth of the cache at most, whatever the number of threads
    largest = min(_LARGEST_SET, max(_LEAST_SET, int(np.sqrt(cache_bytes / 12 / dtype.itemsize))))
    # what is kept depends on the threads, and may; which method is taken must not
    kept, newton = cache_bytes / threads, cache_bytes / (1 if n_pairs == 1 else _NEWTON_THREADS)
    kept, newton = (max(0.0, part - dtype.itemsize * largest**2) for part in (kept, newton))
    inner = options["threads"] if n_pairs == 1 else 1
    return smo.Limits(options["tol"], options["max_iter"], options["shrinking"], inner, kept, newton, largest)


def solve_all(problem, options, found, watch):
    """Solve each pair for each C, which begins where the one before ends."""
    for gram in small_pairs.grams(problem, found):
        largest = limits_of(options, gram.dtype, 1, 1).largest_set
        SmallPairs(problem, gram, found, options["threads"], watch).solve(largest, options["cache_bytes"])
    n_Cs, solved = len(problem.Cs), found.n_solved()
    sizes = np.diff(problem.starts)[np.array(problem.pairs)].sum(axis=1)
    left = [p for p in np.argsort(-sizes, kind="stable") if solved[p] < n_Cs]
    threads = max(1, min(options["threads"], len(left), _NEWTON_THREADS))
    limits = limits_of(options, problem.gram.dtype, len(left), threads)

    def work(p):
        pair, first = problem.pairs[p], solved[p]
        hard = (problem.Cs[first] > HARD).any()
        coef = None if hard else np.concatenate(found.of_pair(first, pair))
        dual = problem.dual(pair, problem.Cs[first], coef)
        dual.n_steps = int(found.n_steps[first, p])
        if dual.coef.any():
            yield from dual.refresh(limits.threads)
        steps = smo.steps_for(dual, limits, goes_on=n_Cs > 1)
        steps.looks = small_pairs.PATIENCE if found.status[first, p] == SLOW else 0
        name = "" if len(problem.pairs) == 1 else "{} against {}".format(*pair)

        def report(dual, steps, gap):
            return watch.tell(name, dual.n_steps, gap, steps.shown())

        for c in range(first, n_Cs):
            if c > first:
                dual.move(problem.Cs[c][dual.rows])
            yield from solved_dual(dual, steps, limits, report)
            found.keep(c, p, pair, dual)
            yield

    run(work, left, threads)


def solved_dual(dual, steps, limits, report=None):
    """`smo.solve`, but what can't be separated is told to the user."""
    try:
        yield from smo.solve(dual, steps, limits, report)
    except smo.Inseparable as found:
        size = "infinite" if np.isinf(dual.upper - dual.lower).any() else "as good as infinite"
        raise ValueError(
            f"C is {size}, but no hyperplane separates the classes{found.reason}; a finite C is wanted"
        ) from None


def warm_coef(model, problem):
    """coef of all pairs as the model's last fit left it, or None where that was of other rows or classes."""
    if not hasattr(model, "support_") or model.shape_fit_[0] != len(problem.codes):
        return None
    if len(model.classes_) != problem.n_classes:
        return None
    all_rows = np.zeros((problem.n_classes - 1, len(problem.codes)))
    all_rows[:, model.support_] = model.dual_coef_
    return all_rows[:, problem.rows]


def scores_of(problem, found, rows):
    """Scores (len(rows), n_pairs) of some rows of the gram by solutions for the first C."""
    S = np.zeros((problem.n_classes, problem.n_classes - 1, len(rows)))
    for c in range(problem.n_classes):
        own = np.arange(problem.starts[c], problem.starts[c + 1])
        own = own[found.coef[0][:, own].any(axis=0)]
        for _ in add(problem.gram, problem.rows[own], found.coef[0][:, own], rows, S[c], 1):
            pass
    return pair_scores(S.transpose(2, 0, 1), found.proof[0, :, PROOF["intercept"]])


def fit_sigmoids(problem, C, options, seed, watch):
    """probA_ and probB_: a sigmoid for each pair, on the scores of five folds, each scored by a fit of the others."""
    n = len(problem.codes)
    fold_of = np.empty(n, np.intp)
    fold_of[np.random.default_rng(seed).permutation(n)] = np.arange(n) % _FOLDS
    scores = np.zeros((n, len(problem.pairs)))
    for fold in range(_FOLDS):
        held_out = fold_of == fold
        part = problem.without(held_out, C)
        found = Solutions(part, options)
        solve_all(part, options, found, watch)
        out = np.flatnonzero(held_out & (problem.codes >= 0))
        scores[out] = scores_of(part, found, out)
    A, B = np.empty(len(problem.pairs)), np.empty(len(problem.pairs))
    for p, (a, b) in enumerate(problem.pairs):
        rows = np.concatenate([problem.class_rows(a), problem.class_rows(b)])
        A[p], B[p] = fit_sigmoid(scores[rows, p], problem.codes[rows] == (a if problem.n_classes > 2 else b))
    return {"probA_": A, "probB_": B}


def hyperplanes(support, coef, n_support):
    """w of each pair (n_pairs, n_features), of the linear kernel."""
    X = np.asarray(support, np.float64)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    own = [slice(*ends[c : c + 2]) for c in range(len(n_support))]
    return np.stack(
        [coef[b - 1, own[a]] @ X[own[a]] + coef[a, own[b]] @ X[own[b]] for a, b in pairs_of(len(n_support))]
    )


def violation_of(problem, pair, coef):
    """The violation of a pair's coef (n_classes - 1, rows by class), from nothing in float64."""
    a, b = pair
    own = [slice(problem.starts[k], problem.starts[k + 1]) for k in pair]
    dual = problem.dual(pair, problem.Cs[0], np.concatenate([coef[b - 1, own[0]], coef[a, own[1]]]))
    for _ in dual.refresh(1):
        pass
    return float(dual.prove()[PROOF["violation"]])
